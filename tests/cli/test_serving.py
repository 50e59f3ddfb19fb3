"""`run`: the server of a file, over stdio and on a socket."""
import os
import signal
import subprocess
import sys

import pytest

from mcp_ref import connect

from tests.support.children import heed_interrupts, interrupt
from tests.support.patience import WAIT

from .running import ROOT, here, one_line_of, run

MINE = """
import helper
from mcp_ref import Server
print("a banner on standard output")
mine = Server("mine")
mine.tool(lambda: helper.HERE, name="where")
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "helper.py").write_text("HERE = 'here'\n")
    made = tmp_path / "mine.py"
    made.write_text(MINE)
    return made


def test_run_serves_the_server_of_a_file_with_its_neighbours_and_in_spite_of_prints(file, capsys):
    code, out, err = here(capsys, "call", "where", "--", sys.executable, "-m", "mcp_ref", "run", str(file))
    assert (code, out) == (0, "here\n"), err


def test_run_shows_the_wire_as_the_server_sees_it(file):
    done = run("run", str(file), "--trace", input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert done.returncode == 0 and b'"id":1' in done.stdout
    assert "C> ping #1" in done.err and "S> result #1 ping" in done.err and "a banner" in done.err


@pytest.mark.parametrize("options", [
    ["--listen", "tcp://127.0.0.1:0"], ["--http", "127.0.0.1:0"], ["--http", "127.0.0.1:0", "--stateless"],
])
def test_run_serves_on_a_socket_until_interrupted(options, file):
    process = subprocess.Popen([sys.executable, "-m", "mcp_ref", "run", str(file), *options, "--trace"], cwd=str(ROOT),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=heed_interrupts)
    try:
        lines = iter(process.stderr.readline, b"")
        address = next(line for line in lines if b"ing on " in line).split()[2].rstrip(b";").decode()
        for _ in range(2):
            with connect(address) as client:
                assert client.call_tool("where").content[0].text == "here"
        interrupt(process)
        out, err = process.communicate(timeout=WAIT)
        assert process.returncode == 130 and out == b"" and b"\nmcp_ref: interrupted\n" in err
        assert b"C> tools/call" in err and b"Traceback" not in err
    finally:
        process.kill()
        process.communicate(timeout=WAIT)


@pytest.mark.parametrize("source, options, code, words", [
    ("x = 1\n", [], 2, "has 0 servers"),
    ("from mcp_ref import Server\na, b = Server('a'), Server('b')\n", [], 2, "has 2 servers; name the one"),
    ("from mcp_ref import Server\na, b = Server('a'), Server('b')\n", ["--name", "c"], 2, "--name VARIABLE"),
    ("x = 1\nboom()\n", [], 1, "mine.py:2 raised NameError"),
    ("x = (\n", [], 1, "mine.py:1 raised SyntaxError"),
    ("raise SystemError('no')\n", [], 1, "raised SystemError: no"),
    (None, [], 2, "there is no file"),
    (MINE, ["--listen", "tcp://256.0.0.1:0"], 3, "256.0.0.1"),
    ("from mcp_ref import Server\nfrom mcp_ref.auth import ResourceServer\n"
     "server = Server('a', auth=ResourceServer('https://a.example/mcp', 'https://as.example', lambda token: None))\n",
     ["--listen", "tcp://127.0.0.1:0"], 2, "this server has auth, and on tcp://127.0.0.1:0 nobody could show a token"),
    (MINE, ["--http", "8000"], 2, "--http takes HOST:PORT"),
    (MINE, ["--http", "127.0.0.1:\xb2"], 2, "--http takes HOST:PORT"),
    (MINE, ["--http", "256.0.0.1:0"], 3, "256.0.0.1"),
])
def test_run_says_in_one_line_what_is_wrong_with_the_file(source, options, code, words, file, capsys):
    if source is None:
        file.unlink()
    else:
        file.write_text(source)
    found, out, err = here(capsys, "run", str(file), *options)
    assert (found, out) == (code, "") and words in err.replace(str(file.parent), "")
    assert "mcp_ref: " in err and "Traceback" not in err
    assert source == MINE or one_line_of(err)


def test_the_only_server_or_the_named_one_is_served(file, capsys):
    file.write_text("from mcp_ref import Server\na, b = Server('a'), Server('b')\nsame = b\n"
                    "b.tool(lambda: 'b', name='which')\n")
    words = ["--", sys.executable, "-m", "mcp_ref", "run", str(file), "--name", "b"]
    assert here(capsys, "call", "which", *words)[1] == "b\n"


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    """`run` puts the file's folder on the path of its process, which here is ours."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("helper", None)


STRIKES = """
import os, signal, threading

def strike(go, number):
    os.read(go, 1)
    signal.pthread_kill(threading.get_ident(), number)

go = os.environ.pop("GO", "")
if go:
    threading.Thread(target=strike, args=(int(go), int(os.environ["NUMBER"])), daemon=True).start()
"""
"""A signal that interrupts no wait of the main thread, as one that comes just before the wait begins."""
TRACE = """{"trace": 1, "recorded": []}
{"time": 0, "from": "client", "message": {"jsonrpc": "2.0", "id": 1, "method": "ping"}}
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words, ready", [
    (["trace", "--", sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"], "up"),
    (["trace", "--http", "127.0.0.1:0", "http://127.0.0.1:9/mcp"], "give clients"),
    (["inspect", "--no-open"], "http://127.0.0.1"),
    (["replay", "TRACE", "--as-server", "--http", "0"], "replaying on"),
    (["run", "FILE", "--http", "127.0.0.1:0"], "serving on"),
    (["run", "FILE", "--http", "127.0.0.1:0", "--workers", "1"], "serving on"),
    (["run", "FILE", "--listen", "tcp://127.0.0.1:0"], "listening on"),
], ids=" ".join)
def test_a_signal_just_before_a_wait_is_not_lost(words, ready, number, file, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STRIKES)
    (tmp_path / "trace.jsonl").write_text(TRACE)
    named = {"FILE": str(file), "TRACE": str(tmp_path / "trace.jsonl")}
    reading, go = os.pipe()
    environment = dict(os.environ, GO=str(reading), NUMBER=str(int(number)),
                       PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    process = subprocess.Popen(
        [sys.executable, "-m", "mcp_ref", *[named.get(word, word) for word in words]], cwd=str(tmp_path),
        env=environment, pass_fds=[reading], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=heed_interrupts)
    try:
        said = next(line for line in iter(process.stdout.readline, b"") if ready in line.decode())
        os.write(go, b"!")
        said += process.communicate(timeout=WAIT)[0]
        assert b"Fatal" not in said and (b"Traceback" not in said or words[1] == "--"), said
    finally:
        process.kill()
        process.communicate()
        os.close(reading)
        os.close(go)
