"""The option --trace of the commands: text, text in full, a file; and what `connect` and `Server` take for trace."""
import io
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
from typing import Any, List

import pytest

from mcp_ref import Server, connect
from mcp_ref.cli.output import only_with_equals
from mcp_ref.errors import McpError
from mcp_ref.wiretrace import Event, Trace, read, to_text
from tests.cli.running import SERVER as ECHO, here, run
from tests.meta.facts import ROOT
from tests.support.patience import WAIT
from tests.transports.makers import until

CALL = ["call", ECHO, "add", "a=1", "b=2"]


@pytest.mark.parametrize("words, read_as", [
    (["ping", "--trace", "SERVER"], ["ping", "--trace=", "SERVER"]),
    (["--trace"], ["--trace="]), (["--trace=full"], ["--trace=full"]), (["--trace=a b"], ["--trace=a b"]),
    (["--", "--trace", "x"], ["--", "--trace=", "x"]),
    (["call", "a", "--", "--trace"], ["call", "a", "--", "--trace"]),
])
def test_only_an_equals_sign_gives_the_option_a_value(words: List[str], read_as: List[str]) -> None:
    assert only_with_equals(words) == read_as


@pytest.mark.parametrize("words", [["--trace", *CALL[1:]], [*CALL[1:], "--trace"], [CALL[1], "--trace", *CALL[2:]]])
def test_the_word_after_the_option_is_none_of_its(words: List[str], capsys: pytest.CaptureFixture) -> None:
    code, out, err = here(capsys, "call", *words)
    assert (code, out) == (0, "3\n") and "C> tools/call" in err


def test_full_shortens_nothing(capsys: pytest.CaptureFixture) -> None:
    text = "x" * 3000
    code, out, short = here(capsys, "call", ECHO, "echo", "text=" + text, "--trace")
    code, out, full = here(capsys, "call", ECHO, "echo", "text=" + text, "--trace=full")
    assert text not in short and full.count(text) >= 2 and "more..." in short and "more..." not in full


def test_a_file_gets_json_lines_and_standard_error_what_it_gets_without(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wire.jsonl"
    done = run("call", *CALL[1:], "--trace=%s" % path)
    assert (done.returncode, done.out, done.err) == (0, "3\n", "")
    events = list(read(path))
    assert [events[0].kind, events[1].kind, events[-1].kind] == ["trace", "process", "close"]
    assert set(events[0].more["recorded"]) >= {"start", "both", "bytes", "end", "process", "stderr"}
    assert "tools/call" in [event.message.get("method") for event in events if event.kind == "message"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("words, said", [
    (["run", "server.py", "--http", "127.0.0.1:0", "--workers", "2", "--trace=x"], "--trace=FILE is for one process"),
])
def test_wrong_usage_is_named(words: List[str], said: str, capsys: pytest.CaptureFixture) -> None:
    code, out, err = here(capsys, *words)
    assert code == 2 and said in err


def test_run_records_to_a_file_too(tmp_path: pathlib.Path) -> None:
    server, path = tmp_path / "server.py", tmp_path / "wire.jsonl"
    server.write_text("from mcp_ref import Server\nserver = Server('x')\n")
    done = run("run", str(server), "--trace=%s" % path, input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert done.returncode == 0 and json.loads(done.out)["id"] == 1
    kinds = [event.kind for event in read(path)]
    assert kinds == ["trace", "open", "message", "message", "close"]


SERVER = "from mcp_ref import Server\nserver = Server('x'%s)\nif __name__ == '__main__':\n    server.run()\n"
RECORDERS = {
    "trace --out": lambda app, file: ["-m", "mcp_ref", "trace", "--out", file, "--", sys.executable, app],
    "run --trace=": lambda app, file: ["-m", "mcp_ref", "run", app, "--trace=" + file],
    "Server(trace=)": lambda app, file: [app],
    "ping --trace=": lambda app, file: ["-m", "mcp_ref", "ping", ECHO, "--trace=" + file],
}


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("place, said", [
    ("there", "taken.jsonl is there already: the trace is in .*taken-3.jsonl$"),
    ("nowhere/x.jsonl", "cannot be written: No such file or directory: the trace is in .*/tmp/x.jsonl$"),
    ("tmp", "cannot be written: it is a folder; name a new file: the trace is in .*/tmp/tmp$"),
    (os.devnull, "cannot be written: it is no regular file; name a new file: the trace is in .*/tmp/null$"),
    ("nowhere/no-temporary-folder", "nothing is recorded$"),
    ("full disk", "trace ends here|trace is not whole"),
])
@pytest.mark.parametrize("recorder", RECORDERS)
def test_a_recorder_never_stands_in_the_way(recorder: str, place: str, said: str, tmp_path: pathlib.Path) -> None:
    def fill() -> None:
        if place == "full disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # a write to any file is refused

    resource = pytest.importorskip("resource")
    taken = [tmp_path / name for name in ("taken.jsonl", "taken-2.jsonl")]
    for each in taken:
        each.write_text("mine")
    (tmp_path / "tmp").mkdir()
    file, app = tmp_path / ("taken.jsonl" if place == "there" else place), tmp_path / "app.py"
    app.write_text(SERVER % (", trace=%r" % str(file) if recorder == "Server(trace=)" else ""))
    environment = dict(os.environ, PYTHONPATH=str(ROOT), TMPDIR=str(tmp_path / "tmp"), PYTHONDONTWRITEBYTECODE="1")
    if "no-temporary" in place:
        (tmp_path / "sitecustomize.py").write_text(
            "import tempfile\ndef gettempdir():\n    raise FileNotFoundError(2, 'No usable one')\n"
            "tempfile.gettempdir = gettempdir\n")
        environment["PYTHONPATH"] += os.pathsep + str(tmp_path)
    done = subprocess.run(
        [sys.executable, *RECORDERS[recorder](str(app), str(file))], env=environment, timeout=WAIT, preexec_fn=fill,
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    err = done.stderr.decode()
    assert done.returncode == 0 and (recorder.startswith("ping") or json.loads(done.stdout)["id"] == 1), err
    assert len(re.findall(said, err, re.MULTILINE)) == len(err.splitlines()) == 1, err
    found = re.search("the trace is in (.*)", err)
    if found:
        assert [event.kind for event in read(found.group(1))][-1] == "close"
    assert [each.read_text() for each in taken] == ["mine"] * 2


# --- connect and Server -----------------------------------------------------------------------------------------------

def served(**options: Any) -> Server:
    server = Server("traced", **options)

    @server.tool
    def echo(text: str) -> str:
        return text

    return server


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_connect_takes_the_path_of_a_file(kind: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wire.jsonl"
    with connect(served(), trace=kind(path)) as client:
        client.call_tool("echo", {"text": "hi"})
    assert [event.kind for event in read(path)][-1] == "close"


def test_connect_masks_what_it_was_given_as_secrets_everywhere() -> None:
    events: List[Event] = []
    key = "key-of-the-environment"
    code = "import os, sys; sys.exit('started with %s' % os.environ['API_KEY'])"
    with pytest.raises(McpError, match=key):
        connect([sys.executable, "-c", code], env={"API_KEY": key}, trace=Trace(events.append))
    until(lambda: any(event.kind == "stderr" for event in events))
    assert key not in repr(events)


@pytest.mark.parametrize("address", ["memory", "tcp://127.0.0.1:0", "http://127.0.0.1:0/mcp"])
def test_a_server_with_a_trace_records_each_connection_once(address: str) -> None:
    events: List[Event] = []
    server = served(trace=Trace(events.append))
    if address == "memory":
        with connect(server) as client:
            client.call_tool("echo", {"text": "hi"})
    else:
        with server.listen(address) as listener, connect(listener.address) as client:
            client.call_tool("echo", {"text": "hi"})
    until(lambda: any(event.kind == "close" for event in events))
    asked = [event.message.get("method") for event in events if event.kind == "message" and event.direction == "client"]
    assert asked.count("tools/call") == 1 and [event.kind for event in events].count("open") == 1
    assert (address[:4] == "http") == any(event.kind == "request" for event in events)


def test_what_is_given_with_the_listener_comes_before_that_of_the_server() -> None:
    ours: List[Event] = []
    theirs: List[Event] = []
    server = served(trace=Trace(ours.append))
    with server.listen("http://127.0.0.1:0/mcp", trace=Trace(theirs.append)) as listener:
        with connect(listener.address) as client:
            client.ping()
    assert not ours and any(event.kind == "request" for event in theirs)


def test_a_server_takes_the_path_of_a_file_and_no_stream(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wire.jsonl"
    with connect(served(trace=path)) as client:
        client.ping()
    until(lambda: list(read(path))[-1].kind == "close")
    with pytest.raises(TypeError, match="trace is a Trace, such as .*to_text"):
        Server("x", trace=io.StringIO())  # type: ignore[arg-type]
    with connect(served(trace=to_text(io.StringIO()))) as client:
        client.ping()
