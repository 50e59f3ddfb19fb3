"""The shim `trace -- CMD`: it changes nothing, whatever both sides do, and records what they did."""
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import time

import pytest

import mcp_ref
from mcp_ref.devtools.recorder import telling
from mcp_ref.wiretrace import Trace, read
from tests.recorder.shimming import ECHO, SHIM, events, notes, process, python, said, shim
from tests.support.patience import WAIT

SECRET = "sk-abcdefghijklmnopqrstuvwx"
CAT = python("import os\nwhile True:\n    data = os.read(0, 65536)\n    if not data: break\n    os.write(1, data)")
"""A server that says back what it hears, piece by piece."""
WAITING = """
import os, select, signal, sys
%s
os.write(1, b'up\\n')
while True:  # CPython handles a signal that arrives just before a call blocks only when the call returns
    if select.select([0], [], [], 0.05)[0] and not os.read(0, 100):
        break
"""
"""A server that waits for signals, and for the end of its input."""


@pytest.fixture()
def out(tmp_path):
    return tmp_path / "trace.jsonl"


def finish(process, data=b""):
    """Output, errors and exit code after this input."""
    output, errors = process.communicate(data, timeout=WAIT)
    return output, errors, process.returncode


def child_ended(out):
    """Wait until the recording says that the child has ended."""
    deadline = time.monotonic() + WAIT
    while not (out.exists() and b'"exit"' in out.read_bytes()):
        assert time.monotonic() < deadline
        time.sleep(0.005)  # for a condition, bounded


@pytest.mark.parametrize("data", [
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"a":"\xc3\xa9"}\n', bytes(range(256)) * 300, b"no end", b"\n\n\r\n",
    b'{"a":1,"a":2}\n\xef\xbb\xbf{}\n{"a": 1}\r\n', b'{"text":"%s"}\n' % (b"x" * 10_000_000), b"",
], ids=["messages", "noise", "no final line end", "empty lines", "not canonical", "a line of 10 MB", "nothing"])
def test_bytes_pass_unaltered_and_are_all_recorded(out, data):
    output, errors, code = finish(shim(out, CAT), data)
    assert (output, errors, code) == (data, b"", 0)
    found = events(out)
    for party in ("client", "server"):
        recorded = said(found, party)
        if data.startswith((b'{"jsonrpc', b'{"text')):  # canonical ones are recorded as values
            assert [json.loads(line) for line in recorded.splitlines()] == [json.loads(line)
                                                                            for line in data.splitlines()]
        elif b'"a"' not in data:
            assert recorded == (data if data.endswith(b"\n") or not data else data + b"\n")
    assert notes(found, "transport") == ["the last line has no line end"] * (2 if data and data[-1:] != b"\n" else 0)
    assert not notes(found, "gap")


def test_bytes_that_are_no_canonical_message_are_recorded_as_they_were(out):
    finish(shim(out, CAT), b'{"a":1,"a":2}\n\xef\xbb\xbf{}\n{"b": 1}\r\n')
    found = [event for event in events(out) if event.direction == "client" and event.kind == "message"]
    assert [(event.message, event.text) for event in found] == [
        (None, '{"a":1,"a":2}'), ({}, "\ufeff{}"), ({"b": 1}, "")]


def test_a_piece_passes_before_its_line_is_whole(out):
    running = shim(out, CAT)
    for piece in (b'{"half', b'":', b"1}"):
        os.write(running.stdin.fileno(), piece)
        assert os.read(running.stdout.fileno(), 100) == piece
    finish(running)
    assert said(events(out), "server") == b'{"half":1}\n'


def test_a_longer_line_than_is_recorded_passes_and_is_a_gap(out, monkeypatch):
    size = 17 * 1024 * 1024
    output, _, code = finish(shim(out, CAT), b"x" * size + b"\nnext\n")
    assert code == 0 and len(output) == size + 6
    found = events(out)
    assert notes(found, "gap") == ["a line of %d bytes, of which more than %d are not recorded" % (size, 1 << 24)] * 2
    assert said(found, "server") == b"next\n"


@pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
def test_exit_code_is_the_childs(out, code):
    assert finish(shim(out, python("raise SystemExit(%d)" % code)))[2] == code
    assert process(events(out), "exit").more["code"] == code


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGHUP", "SIGINT", "SIGSEGV", "SIGPIPE"])
def test_shim_ends_by_the_signal_that_ended_the_child(out, name):
    number = getattr(signal, name)
    dying = "import os, signal\n"
    if name != "SIGKILL":
        dying += "signal.signal(signal.%s, signal.SIG_DFL)\n" % name
    assert finish(shim(out, python(dying + "os.kill(os.getpid(), %d)" % number)))[2] == -number
    found = events(out)
    assert process(found, "exit").more["code"] == -number
    assert notes(found, "close") == ["the server was ended by " + name]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signals_reach_the_child_which_decides_what_they_do(out, name):
    handler = "signal.signal(signal.%s, lambda *_: os._exit(9))" % name
    running = shim(out, python(WAITING % handler), start_new_session=True, preexec_fn=ready_for_signals)
    assert os.read(running.stdout.fileno(), 100) == b"up\n"
    running.send_signal(getattr(signal, name))
    assert running.wait(WAIT) == 9
    finish(running)
    assert process(events(out), "signal").more["signal"] == name[3:]


def test_ctrl_c_on_a_terminal_reaches_the_child_once(out):
    master, slave = pty.openpty()

    def own_terminal():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    running = shim(out, python(WAITING % "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted\\n'))"),
                   preexec_fn=own_terminal, pass_fds=(slave,))
    try:
        assert os.read(running.stdout.fileno(), 100) == b"up\n"
        os.write(master, b"\x03")
        assert os.read(running.stdout.fileno(), 100) == b"interrupted\n"
        assert finish(running)[::2] == (b"", 0)
    finally:
        os.close(master)
        os.close(slave)
    assert process(events(out), "signal") is None


def ready_for_signals():
    """Undo what a shell and nohup do for what they run in the background."""
    for name in ("SIGINT", "SIGQUIT", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def test_a_child_that_ignores_sigterm_lives_on_until_its_input_ends(out):
    running = shim(out, python(WAITING % "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'no\\n'))"))
    assert os.read(running.stdout.fileno(), 100) == b"up\n"
    for _ in range(2):
        running.terminate()
        assert os.read(running.stdout.fileno(), 100) == b"no\n" and running.poll() is None
    assert finish(running)[2] == 0


def test_a_child_that_dies_mid_line_loses_nothing(out):
    output, errors, code = finish(shim(out, python(
        "import os; os.write(2, b'half an err'); os.write(1, b'{\"jsonrpc\": \"2'); os._exit(3)")))
    assert (output, errors, code) == (b'{"jsonrpc": "2', b"half an err", 3)
    found = events(out)
    assert said(found, "server") == b'{"jsonrpc": "2\n' and notes(found, "stderr") == ["half an err"]


def test_a_killed_shim_ends_the_childs_input(out):
    running = shim(out, python("import os\nos.write(1, b'%d\\n' % os.getpid())\nos.read(0, 1)\nos.write(1, b'end')"))
    child = int(os.read(running.stdout.fileno(), 100))
    running.kill()
    running.communicate(timeout=WAIT)
    deadline = time.monotonic() + WAIT
    while alive(child):
        assert time.monotonic() < deadline, "the child is still there"
        time.sleep(0.005)  # for a condition, bounded


def alive(number):
    try:
        with open("/proc/%d/stat" % number, encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_end_of_input_is_passed_on_while_output_goes_on(out):
    running = shim(out, python("import os\nwhile os.read(0, 100): pass\nos.write(1, b'after the end\\n')"))
    assert finish(running, b"x\n")[0] == b"after the end\n"
    found = events(out)
    assert process(found, "stdin-closed").direction == "client"
    assert [event.direction for event in found if event.kind == "close"] == ["client"]


def test_a_child_that_closes_its_output_closes_ours_and_runs_on(out):
    running = shim(out, python("import os\nos.write(1, b'bye')\nos.close(1)\nos.read(0, 1)\nos._exit(4)"))
    assert running.stdout.read() == b"bye" and running.poll() is None
    assert finish(running, b"x")[2] == 4


def test_a_reader_that_closes_our_output_closes_the_childs(out):
    endless = "import os, sys\ntry:\n    while True: os.write(1, b'x' * 1000 + b'\\n')\n"
    running = shim(out, python(endless + "except BrokenPipeError: os._exit(5)"))
    assert os.read(running.stdout.fileno(), 10)
    running.stdout.close()
    assert running.wait(WAIT) == 5
    running.stdin.close()
    running.stderr.close()
    found = events(out)
    assert any("were not delivered: the client has closed" in note for note in notes(found, "gap"))
    assert [event.direction for event in found if event.kind == "close"] == ["client"]


def test_a_child_that_closes_its_input_closes_ours(out):
    running = shim(out, python("import os, signal\nos.close(0)\nos.write(1, b'closed\\n')\nsignal.pause()"))
    assert os.read(running.stdout.fileno(), 100) == b"closed\n"
    with pytest.raises(BrokenPipeError):
        while True:
            os.write(running.stdin.fileno(), b"x\n")
    assert running.poll() is None
    running.stdin.close()
    running.terminate()
    assert running.wait(WAIT) == -signal.SIGTERM
    running.stdout.close()
    running.stderr.close()
    assert "the server has closed its standard input" in notes(events(out), "gap")[0]


def test_a_slow_reader_gets_everything_after_the_child_has_ended(out):
    running = shim(out, python("import os; os.write(1, b'x' * 60000); os.write(1, b'x' * 60000)"))
    child_ended(out)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.3)  # 56 KB do not fit into our pipe
    assert process(events(out), "exit").more["code"] == 0
    assert running.stdout.read() == b"x" * 120_000
    assert finish(running)[2] == 0


def test_a_signal_ends_the_shim_where_only_a_slow_reader_keeps_it(out):
    running = shim(out, python("import os; os.write(1, b'x' * 60000); os.write(1, b'x' * 60000)"))
    child_ended(out)
    running.terminate()
    assert running.wait(WAIT) == -signal.SIGTERM
    running.communicate(timeout=WAIT)


def test_another_process_that_holds_the_output_does_not_keep_the_shim(out):
    holding = ("import os, subprocess, sys\n"  # the other process ends with the shim, which holds its input
               "subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'])\n"
               "os.write(1, b'parent is done\\n')")
    running = shim(out, python(holding))
    assert os.read(running.stdout.fileno(), 100) == b"parent is done\n"
    assert running.wait(WAIT) == 0
    running.communicate(timeout=WAIT)


def test_standard_error_passes_and_is_recorded_with_secrets_masked(out):
    output, errors, _ = finish(shim(out, python(
        "import os; os.write(2, b'key %s\\n\\xff\\n')" % SECRET)))
    assert errors == b"key %s\n\xff\n" % SECRET.encode()
    first, second = notes(events(out), "stderr")
    assert re.fullmatch(r"key \*\*\*[0-9a-f]{8}", first) and second == "\\xff"
    assert SECRET.encode() not in out.read_bytes().replace(b"\\", b"")[out.read_bytes().index(b"stderr"):]


def test_secrets_in_messages_and_in_the_command_are_masked(out):
    line = b'{"jsonrpc":"2.0","id":1,"result":{"access_token":"%s"}}\n' % SECRET.encode()
    output = finish(shim(out, [*CAT, "--api-key", "hunter2", "TOKEN=hunter2"]), line)[0]
    assert output == line
    assert SECRET.encode() not in out.read_bytes() and b"hunter2" not in out.read_bytes()


def test_a_trace_file_that_blocks_does_not_block_the_session(tmp_path):
    fifo = tmp_path / "slow"  # nobody reads it: it takes 64 KiB, and then no more
    os.mkfifo(str(fifo))
    data = b"%s\n" % (b"x" * 1_000_000) * 30
    code = ("import os, sys\nfrom mcp_ref.devtools.recorder import shim, telling\n"
            "from mcp_ref.wiretrace import JsonLinesSink\n"
            "shim.FINISH_SECONDS = 0.2\nstream = os.fdopen(os.open(%r, os.O_RDWR), 'w')\n"
            "teller = telling.EventWriter(JsonLinesSink(stream), 'test', shim.RECORDED)\n"
            "os._exit(shim.Shim(sys.argv[1:], teller).run())\n") % str(fifo)
    running = subprocess.Popen([*python(code), *CAT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    output, _ = running.communicate(data, timeout=WAIT)
    assert output == data and running.returncode == 0


def test_what_was_dropped_is_counted_and_what_follows_is_recorded(monkeypatch):
    monkeypatch.setattr(telling, "FEW", 2)
    waiting, seen = telling.Backlog(most=1000), []
    stream = telling.Stream(waiting, lambda at, count: seen.append(count))
    for _ in range(2):
        gate, taken, done = threading.Event(), threading.Event(), threading.Event()

        def take(at, what):
            taken.set()
            gate.wait(WAIT)
            seen.append(what)

        stream.put(take, 0, 100)
        assert taken.wait(WAIT)
        for number in range(1, 20):
            stream.put(take, number, 100)
        gate.set()
        waiting.put(lambda at, _: done.set())
        assert done.wait(WAIT)
    assert waiting.close(10)
    assert seen == [0, 1, 2, 3, 4, 5, 1400] * 2


def test_a_full_disk_ends_the_trace_and_not_the_session():
    code = ("import os, sys\nfrom mcp_ref.devtools.recorder import shim, telling\nfrom mcp_ref.wiretrace import *\n"
            "stream = open('/dev/full', 'w')\n"
            "teller = telling.EventWriter(JsonLinesSink(stream), 'test', shim.RECORDED)\n"
            "code = shim.Shim(sys.argv[1:], teller).run()\nprint(teller.failure, file=sys.stderr)\nos._exit(code)\n")
    running = subprocess.Popen([*python(code), *CAT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    output, errors = running.communicate(b"x\n", timeout=WAIT)
    assert (output, running.returncode) == (b"x\n", 0) and b"No space left" in errors


def test_the_trace_has_a_name_that_is_told_and_files_are_not_overwritten(tmp_path):
    environment = dict(os.environ, PYTHONPATH=str(SHIM and mcp_ref.__path__[0].rpartition(os.sep)[0]))
    done = subprocess.run([*SHIM, "--", *CAT], input=b"{}\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=str(tmp_path), env=environment, timeout=WAIT)
    (made,) = tmp_path.iterdir()
    assert done.returncode == 0 and done.stdout == b"{}\n" and made.name.startswith("mcp-trace-20")
    assert str(made) in done.stderr.decode() and made.stat().st_mode & 0o777 == 0o600
    before = made.read_bytes()
    _, errors, code = finish(shim(made, CAT))
    assert code == 0 and b"-2.jsonl" in errors and made.read_bytes() == before


def test_a_program_that_is_not_there_is_told_and_no_file_is_made(out, monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep + "/secret-folder")
    output, errors, code = finish(shim(out, ["no-such-server"]))
    assert code == 3 and output == b"" and b"cannot start 'no-such-server': not found" in errors
    assert not out.exists() and b"secret-folder" not in errors


def test_a_client_that_reads_no_standard_error_does_not_hold_the_shim(out):
    code = "import sys\nfor line in sys.stdin: print('{\"x\":\"%s\"}' % ('x' * 100), flush=True)"
    started = [(shim("-", python(command)), expected) for command, expected in (
        (code + "\nsys.exit(7)", 7), (code + "\nimport os; os.kill(os.getpid(), 15)", -15))]
    for running, _ in started:
        running.stdin.write(b"{}\n" * 2000)
        running.stdin.close()
    for running, _ in started:
        for _ in range(2000):
            assert running.stdout.readline()
    for running, expected in started:
        assert running.wait(WAIT) == expected
        running.stdout.close()
        running.stderr.close()


def test_text_for_people_goes_to_standard_error(out):
    output, errors, _ = finish(shim("-", CAT), b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert output == b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    assert b"C> ping #1\n" in errors and b"S> ping #1\n" in errors and errors.isascii()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_session_of_our_client_is_the_same_through_the_shim(out, revision):
    def session(command):
        seen = []
        with mcp_ref.connect(command, revisions=[revision], trace=Trace(seen.append)) as client:
            assert client.call_tool("echo", {"text": "hello"}) and client.list_tools()
        return [(event.direction, event.data()) for event in seen if event.kind == "message"]

    through = session([*SHIM, "--out", str(out), "--", *ECHO])
    assert through == session(ECHO) and len(through) >= 4
    found = events(out)
    for party in ("client", "server"):  # in the order of the wire
        assert said(found, party) == b"".join(data + b"\n" for direction, data in through if direction == party)
    assert process(found, "exit").more["code"] == 0


def test_the_header_says_what_is_recorded(out):
    finish(shim(out, CAT))
    header = next(read(out))
    assert header.more["recorded"] == ["start", "both", "times", "bytes", "end", "process", "stderr"]


@pytest.mark.parametrize("words, complaint", [
    ([], "trace takes one of"), (["--"], "follows the command"), (["--keep-host", "--", "x"], "are for --http"),
    (["--from", "client", "--", "x"], "--from client|server is for"),
    (["--http", "8000"], "--http takes 2 values: --http LISTEN URL"),
    (["python3", "x.py"], "comes after --: trace -- python3 x.py"),
    (["--http", "99999", "http://127.0.0.1:1/mcp"], "0 to 65535"), (["--http", "0", "ftp://127.0.0.1/"], "ftp"),
    (["--convert", "a", "b", "--", "x"], "trace takes one of"),
])
def test_wrong_usage_says_what_to_write(words, complaint):
    done = subprocess.run([*SHIM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=WAIT)
    assert done.returncode == 2 and complaint in done.stderr.decode(), sys.stderr.write(done.stderr.decode())
    assert b"the trace is in" not in done.stderr  # no file was made
