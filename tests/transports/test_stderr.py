"""The stderr of a child, line by line: what is shown of it, where, and that nothing of it stops anybody."""
import fcntl
import io
import os
import re
import subprocess
import sys
import threading
from typing import Any, List, Type

import pytest

from mcp_ref import Host, connect
from mcp_ref.errors import ConnectFailed, McpError
from mcp_ref.limits import Limits
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.lines.fds import Wake
from mcp_ref.transports.lines.process import ChildReader
from mcp_ref.transports.lines.stderr import EachLine, TextLineSplitter, PrefixWriter, Stderr, printable, receiver
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.support.patience import WAIT
from tests.support.sides import in_thread
from tests.transports.makers import ROOT, child, opened, until

QUICK = Limits(shutdown_grace=WAIT, terminate_grace=WAIT)
SERVER = """
import os, sys
sys.path.insert(0, %r)
os.write(2, b"starting \\x1b[2Jnow\\n")
from mcp_ref import Server
server = Server("noisy")

@server.tool
def say(text: str) -> str:
    print(text, file=sys.stderr, flush=True)
    print("printed " + text, flush=True)
    return text

server.run()
""" % str(ROOT)
NOISY = [sys.executable, "-c", SERVER]


def lines_of(*chunks: bytes, longest: int = 100) -> List[str]:
    """What is told of these bytes."""
    told: List[str] = []
    lines = TextLineSplitter(longest, told.append)
    for chunk in chunks:
        lines.feed(chunk)
    lines.finish()
    return told


@pytest.mark.parametrize("chunks, told", [
    ([b"a\nb\n"], ["a", "b"]), ([b"a", b"b\nc"], ["ab", "c"]), ([b"a\r\nb\rc\n"], ["a", "b", "c"]),
    ([b"a\r", b"\nb"], ["a", "b"]), ([b"a\r", b"b"], ["a", "b"]), ([b"a\n\n b\r"], ["a", "", " b"]), ([b""], []),
    ([b"\xc3", b"\xa9\n\xff\n"], ["\xe9", "\\xff"]), ([b"\r", b"\r", b"\n"], ["", ""]),
])
def test_lines_end_as_they_do_anywhere(chunks: List[bytes], told: List[str]) -> None:
    assert lines_of(*chunks) == told


def test_the_last_words_of_a_child_are_waited_for() -> None:
    """They may still be in the pipe when it has ended."""
    taken, go = threading.Event(), threading.Event()

    def sink(chunk: bytes) -> None:
        taken.set()
        go.wait(WAIT)

    reading, writing = os.pipe()
    stderr = Stderr(sink, Limits())
    stderr.settle(WAIT)  # it has not begun: there is nothing to wait for
    stderr.start(ChildReader(reading, Wake(), -1))
    os.write(writing, b"last\n")
    assert taken.wait(WAIT)
    stderr.settle(0.01)
    assert stderr.last_words() == "last", "not for ever"
    settling = in_thread(lambda: (stderr.settle(WAIT), stderr.last_words())[1])
    os.write(writing, b" words\n")
    os.close(writing)
    go.set()
    assert settling.get() == "\n    last\n     words"


def test_a_long_line_is_cut_once_and_holds_no_memory() -> None:
    told: List[str] = []
    lines = TextLineSplitter(10, told.append)
    for _ in range(1000):
        lines.feed(b"x" * 1000)
        assert len(lines._rest) <= 11
    lines.feed(b"end\nnext\n" + b"y" * 11 + b"\nlast")
    lines.finish()
    note = " ... (max_stderr_line_bytes is 10)"
    assert told == ["x" * 10 + note, "next", "y" * 10 + note, "last"] and lines.cut == 2


@pytest.mark.parametrize("line, shown", [
    ("plain \xe9 \u65e5", "plain \xe9 \u65e5"), ("a\tb", "a\tb"), ("\x1b[31mred\x07\x9b", "\\x1b[31mred\\x07\\x9b"),
    ("\u202e \u2028", "\\u202e \\u2028"), ("a\x00\x7f", "a\\x00\\x7f"),
])
def test_nothing_that_is_shown_can_steer_a_terminal(line: str, shown: str) -> None:
    assert printable(line) == shown


class Ascii(io.StringIO):
    encoding = "ascii"  # type: ignore[assignment]


def test_streams_of_text_and_of_bytes_get_the_lines_with_a_prefix() -> None:
    text, data, ascii_ = io.StringIO(), io.BytesIO(), Ascii()
    for stream in (text, data, ascii_):
        receiver(stream, "files").tell("caf\xe9 \x1b")
    assert text.getvalue() == "files| caf\xe9 \\x1b\n" and data.getvalue() == "files| caf\xe9 \\x1b\n".encode()
    assert ascii_.getvalue() == "files| caf\\xe9 \\x1b\n"


@pytest.mark.parametrize("nonsense", [True, 7, "quiet", b"x", ["x"]])
def test_what_is_no_place_for_lines_is_refused_at_once(nonsense: Any) -> None:
    with pytest.raises(TypeError, match="stderr is None"):
        connect(NOISY, stderr=nonsense)


# --- What a program sees ----------------------------------------------------------------------------------------------

def test_connect_shows_what_a_server_writes_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with connect(NOISY) as client:
        client.call_tool("say", {"text": "hello"})
    shown = capfd.readouterr()
    assert shown.err == "server| starting \\x1b[2Jnow\nserver| hello\nserver| printed hello\n" and shown.out == ""


def test_connect_shows_it_where_the_program_has_put_its_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    there = io.StringIO()
    monkeypatch.setattr(sys, "stderr", there)
    with connect(NOISY):
        pass
    assert there.getvalue() == "server| starting \\x1b[2Jnow\n"
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    with connect(NOISY) as client:
        assert client.call_tool("say", {"text": "x"}).content[0].text == "x"  # type: ignore[union-attr]


def test_connect_can_be_told_to_show_nothing_or_to_give_the_lines(capfd: pytest.CaptureFixture[str]) -> None:
    told: List[str] = []
    for stderr in (False, told.append):
        with connect(NOISY, stderr=stderr) as client:
            client.call_tool("say", {"text": "hello"})
    assert capfd.readouterr().err == "" and told == ["starting \x1b[2Jnow", "hello", "printed hello"]
    with pytest.raises(McpError, match="last stderr lines: oh no"):
        connect([sys.executable, "-c", "import sys; sys.exit('oh no')"], stderr=False)


def test_a_host_shows_it_with_the_name_of_the_server(capfd: pytest.CaptureFixture[str]) -> None:
    told: List[str] = []
    config = {"mcpServers": {"files": {"command": NOISY[0], "args": NOISY[1:]}}}
    with Host.from_config(config) as host:
        host.connect("other", NOISY, stderr=told.append)
        assert sorted(host.clients) == ["files", "other"]
    assert capfd.readouterr().err == "files| starting \\x1b[2Jnow\n" and told == ["starting \x1b[2Jnow"]
    with Host.from_config(config, stderr=False):
        pass
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_function_that_fails_gets_no_more_and_the_trace_goes_on(
    error: Type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    events: List[Any] = []

    def fail(line: str) -> None:
        raise error(line)

    transport = child("stubborn.py", "err", "one", "err", "two", "wait", stderr=EachLine(fail), limits=QUICK)
    with opened(tap(transport, Trace(events.append), "client")):
        until(lambda: [event.text for event in events if event.kind == "stderr"] == ["one", "two"])
    assert caplog.text.count("gets no more") == 1
    assert {event.direction for event in events if event.kind == "stderr"} == {"server"}


def test_a_trace_shows_the_lines_of_each_process_once_and_without_secrets() -> None:
    events: List[Any] = []
    transport = child("stubborn.py", "err", "API_KEY=hunter2 \x1b[2J", "exit", "1", stderr="ring", limits=QUICK)
    seen = tap(transport, Trace(events.append), "client")
    for _ in range(2):
        with opened(seen):
            assert seen.read() is None
        renewed = seen.renew()
        assert renewed is not None
        seen = renewed
    first, second = [event for event in events if event.kind == "stderr"]
    assert re.fullmatch(r"API_KEY=\*\*\*[0-9a-f]{8} \x1b\[2J", first.text) and first.text == second.text
    assert (first.connection, second.connection) == ("", "2"), "each process is a connection of its own"
    assert [event.more["did"] for event in events if event.kind == "process"] == ["start", "exit"] * 2


# --- A flood ----------------------------------------------------------------------------------------------------------

def test_a_stderr_of_ours_that_nobody_reads_stops_neither_the_child_nor_us() -> None:
    """Ours is a pipe, full from the start; the child says more than any pipe holds, and then its message."""
    program = ("import sys; sys.path.insert(0, %r)\n"
               "from mcp_ref.transports.lines.child import StdioChild\n"
               "from mcp_ref.transports.lines.stderr import receiver\n"
               "words = [sys.executable, '-c', 'import os\\n'\n"
               "         'for _ in range(3000): os.write(2, b\"x\" * 99 + b\"\\\\n\")\\n'\n"
               "         'os.write(1, b\"{}\\\\n\")\\nos.read(0, 1)']\n"
               "transport = StdioChild(words, stderr=receiver(None, 'server'))\n"
               "transport.open()\n"
               "print(transport.read(), flush=True)\n"
               "transport.close()\n" % str(ROOT))
    reading, writing = os.pipe()
    try:
        size = fcntl.fcntl(writing, 1032) if sys.platform == "linux" else 65536
        os.write(writing, b"-" * size)
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=writing, timeout=WAIT)
    finally:
        os.close(writing)
        os.close(reading)
    assert done.stdout == b"[b'{}']\n" and done.returncode == 0


def test_lines_that_were_left_out_are_counted_when_there_is_room_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    full = 0
    try:
        while True:
            full += os.write(writing, b"-" * 512)
    except BlockingIOError:
        pass
    with os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb", 0) as other:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sys, "__stderr__", stream)
        write = PrefixWriter("server| ")
        for number in range(5):
            write("lost %d" % number)
        while full:
            full -= len(other.read(full))
        write("found")
        assert other.read(1000) == b"server| ... 5 lines were left out, because they were not read\nserver| found\n"


def test_a_stderr_of_ours_that_is_closed_hurts_nobody() -> None:
    program = ("import os, sys; sys.path.insert(0, %r); os.close(2)\n"
               "from mcp_ref.transports.lines.stderr import PrefixWriter\n"
               "for line in 'ab': PrefixWriter('x| ')(line)\nprint('well')" % str(ROOT))
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=WAIT)
    assert done.stdout == b"well\n" and done.returncode == 0


def test_a_program_that_leaves_while_a_server_floods_its_stderr_ends_in_order() -> None:
    """The thread that passes the lines on must not hold a lock that the interpreter needs at exit."""
    program = ("import sys, threading; sys.path.insert(0, %r)\n"
               "from mcp_ref.transports.lines.child import StdioChild\n"
               "from mcp_ref.transports.lines.stderr import receiver\n"
               "flood = 'import os\\nwhile 1: os.write(2, b\"x\" * 99 + b\"\\\\n\")'\n"
               "transport = StdioChild([sys.executable, '-c', flood],\n"
               "                       stderr=receiver(None, 'server'))\n"
               "transport.open()\n"
               "while not transport.stderr_tail(): threading.Event().wait(0.01)\n" % str(ROOT))
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stderr is not None and running.stdout is not None
    pumped: List[bytes] = []
    pumping = threading.Thread(target=lambda: pumped.append(running.stderr.read()[-300:]))  # type: ignore[union-attr]
    pumping.start()
    assert running.wait(WAIT) == 0
    pumping.join(WAIT)
    running.stdout.close()
    running.stderr.close()
    assert b"Fatal" not in pumped[0]


def test_a_command_that_is_not_there_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConnectFailed):
        connect(["no-such-program-at-all"])
    assert capfd.readouterr().err == ""


def test_start_of_a_child_is_told_before_what_it_writes() -> None:
    told: List[str] = []
    written = threading.Event()

    def on_stderr(line: str) -> None:
        told.append(line)
        written.set()

    def on_process(did: str, what: Any) -> None:
        if did == "start":
            written.wait(0.3)  # room for the thread that reads, if it runs already
        told.append(did)

    transport = StdioChild([sys.executable, "-c", "import os; os.write(2, b'early\\n'); os.read(0, 1)"], limits=QUICK)
    transport.on_stderr, transport.on_process = on_stderr, on_process
    transport.open()
    try:
        assert written.wait(WAIT)
    finally:
        transport.close()
    assert told[:2] == ["start", "early"]
