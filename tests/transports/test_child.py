"""The client's side of stdio: a child process that may do anything, and must always end."""
import contextlib
import errno
import gc
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Iterator, List, Optional

import pytest

from mcp_ref.errors import ConnectFailed, ConnectionLost, LocalProtocolError
from mcp_ref.limits import Limits
from mcp_ref.transports.lines import process
from mcp_ref.transports.lines.child import StdioChild, looks_like_json
from tests.support.patience import WAIT
from tests.transports.makers import (
    CHILDREN, QUICK, Running, child, collect, environment, opened, script, until,
)

SLOW = {"shutdown_grace": WAIT, "terminate_grace": WAIT}
MIB = 1024 * 1024


def stubborn(*words: str, grace: Any = QUICK, **options: Any) -> StdioChild:
    """A server that does what the words say; see children/stubborn.py."""
    return child("stubborn.py", *words, limits=Limits(**grace), **options)


class Alive:
    """Where processes that are not our children say that they live; `ended` waits for all of them to be gone."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, "alive")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen(10)
        self._listening.settimeout(WAIT)
        self._held: List[socket.socket] = []

    def pid(self) -> int:
        """Wait for the next one; its process id."""
        held, _ = self._listening.accept()
        held.settimeout(WAIT)
        self._held.append(held)
        text = b""
        while not text.endswith(b"\n"):
            text += held.recv(1)
        return int(text)

    def ended(self) -> bytes:
        """Wait for the end of the first one; what it still said. Fails where it lives on."""
        said = b""
        with self._held.pop(0) as held:
            while True:
                try:
                    more = held.recv(100)
                except ConnectionResetError:
                    return said
                if not more:
                    return said
                said += more

    def lives(self) -> bool:
        """Whether the first one still does."""
        self._held[0].setblocking(False)
        try:
            return bool(self._held[0].recv(1))
        except BlockingIOError:
            return True
        finally:
            self._held[0].settimeout(WAIT)

    def close(self) -> None:
        for held in (self._listening, *self._held):
            held.close()


def code_of(transport: Any) -> Optional[int]:
    """The code that the child left with; None while it runs."""
    code: Optional[int] = transport._child.process.poll()
    return code


@pytest.fixture
def alive() -> Iterator[Alive]:
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Alive(folder)) as made:
        yield made


# --- Ending -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("stdio.shutdown-close-input", "stdio.shutdown-wait")
def test_close_closes_stdin_and_waits_for_the_child(alive: Alive) -> None:
    """[..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD"""
    with opened(stubborn("connect", alive.path, "say", "{}", "wait", "exit", "3", grace=SLOW)) as transport:
        alive.pid()
        assert transport.read() == [b"{}"]
        transport.close()
        assert code_of(transport) == 3  # it left by itself, and has been waited for
        assert alive.ended() == b""


@pytest.mark.spec("stdio.shutdown-sigterm", "stdio.shutdown-force")
def test_a_child_that_stays_gets_sigterm(alive: Alive) -> None:
    """[..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD"""
    grace = {"shutdown_grace": 0.1, "terminate_grace": WAIT}
    words = ["connect", alive.path, "on-term", "terminated", "say", "{}", "stay"]
    with opened(stubborn(*words, grace=grace)) as transport:
        alive.pid()
        assert transport.read() == [b"{}"]
        transport.close()
        assert alive.ended() == b"terminated"


@pytest.mark.spec("stdio.shutdown-sigkill", "stdio.shutdown-force")
def test_a_child_that_ignores_sigterm_is_killed_and_its_children_with_it(alive: Alive) -> None:
    """[..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD"""
    with opened(stubborn("deaf", "connect", alive.path, "grandchild", alive.path, "stay")) as transport:
        assert alive.pid() == transport.pid and alive.pid() != transport.pid
        transport.close()
        assert code_of(transport) == -signal.SIGKILL
        assert alive.ended() == alive.ended() == b""


def test_a_child_that_left_when_asked_may_leave_others_behind(alive: Alive) -> None:
    """Someone may have opened a browser; who holds our pipes must not keep `close` waiting either."""
    with opened(stubborn("grandchild", alive.path, "wait", grace=SLOW)) as transport:
        grandchild = alive.pid()
        reading = Running(transport.read)
        started = time.monotonic()
        transport.close()
        assert time.monotonic() - started < WAIT / 2
        assert reading.result() is None
        assert alive.lives()
        os.kill(grandchild, signal.SIGKILL)
        assert alive.ended() == b""


ENDS = pytest.mark.parametrize("pidfd", [True, False])


def read_all(transport: StdioChild) -> List[Any]:
    """Everything up to the end."""
    found: List[Any] = []
    while True:
        items = transport.read()
        if items is None:
            return found
        found += items


@ENDS
def test_the_end_of_a_child_is_noticed_while_another_process_holds_its_streams(
    alive: Alive, pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    words = ["grandchild", alive.path, "say", '{"its": "last"}', "err", "last words", "die", "9"]
    with opened(stubborn(*words, grace=SLOW)) as transport:
        grandchild = alive.pid()
        assert Running(read_all, transport).result() == [b'{"its": "last"}']
        assert alive.lives()
        started = time.monotonic()
        assert transport.reason() == "server was killed by SIGKILL; last stderr lines: last words"
        transport.close()
        assert time.monotonic() - started < WAIT / 4
        os.kill(grandchild, signal.SIGKILL)
        assert alive.ended() == b""


@ENDS
def test_the_end_of_a_child_is_noticed_though_another_process_never_stops_writing(
    alive: Alive, pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with opened(stubborn("chatty", alive.path, "die", "9", grace=SLOW)) as transport:
        grandchild = alive.pid()
        assert {b"{}"} >= set(Running(read_all, transport).result())
        assert transport.reason().startswith("server was killed by SIGKILL")
        os.kill(grandchild, signal.SIGKILL)


@ENDS
def test_the_thread_and_the_descriptors_of_a_child_are_gone_after_close(
    pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    with opened(stubborn("say", "{}", "wait", grace=SLOW)) as transport:
        transport.read()
    until(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()) == before)


def test_without_descriptors_or_threads_the_streams_tell_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "watch_end", lambda child: -1)
    with opened(stubborn("say", "{}", "exit", "3")) as transport:
        assert read_all(transport) == [b"{}"] and transport.reason() == "server exited with code 3"


def test_the_child_is_alone_in_its_session_and_group() -> None:
    with opened(stubborn("say", "{}", "wait")) as transport:
        transport.read()
        assert os.getpgid(transport.pid) == os.getsid(transport.pid) == transport.pid != os.getpgid(0)


def test_a_child_with_much_to_say_is_not_kept_from_leaving() -> None:
    """Nobody reads any more, and its last words are larger than the pipe."""
    big = "{" + "x" * 100_000
    with opened(stubborn("wait", "say", big, "say", big, "exit", "5", grace=SLOW)) as transport:
        transport.close()
        assert code_of(transport) == 5


@pytest.mark.race
def test_close_from_many_threads_while_others_read_and_write() -> None:
    with opened(stubborn("wait")) as transport:
        reading = Running(transport.read)
        writing = Running(transport.write, [b"x" * 10 * MIB])
        closing = [Running(transport.close) for _ in range(4)]
        assert reading.result() is None
        with contextlib.suppress(ConnectionLost):
            writing.result()
        for running in closing:
            running.result()
        assert code_of(transport) is not None


def test_close_inside_close_from_a_signal_handler_does_not_wait_for_itself() -> None:
    grace = {"shutdown_grace": 0.3, "terminate_grace": 0.1}
    with opened(stubborn("deaf", "say", "{}", "stay", grace=grace)) as transport:
        transport.read()
        before = signal.signal(signal.SIGALRM, lambda number, frame: transport.close())
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            transport.close()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert code_of(transport) == -signal.SIGKILL


def test_an_interrupted_close_can_be_taken_up_again() -> None:
    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    transport = stubborn("deaf", "say", "{}", "stay", grace={"shutdown_grace": WAIT, "terminate_grace": 0.1})
    with opened(transport):
        transport.read()
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                transport.close()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        transport.limits = Limits(**QUICK)
        transport.close()
        assert code_of(transport) == -signal.SIGKILL


def test_closed_before_it_was_opened_leaves_no_child() -> None:
    """Another thread may close while `open` is at work."""
    transport = stubborn("wait")
    transport.close()
    transport.open()
    assert code_of(transport) is not None
    assert transport.read() is None


def test_a_forgotten_child_reads_the_end_of_its_stdin(alive: Alive) -> None:
    transport = stubborn("connect", alive.path, "wait")
    transport.open()
    alive.pid()
    del transport
    gc.collect()
    assert alive.ended() == b""
    until(lambda: process.sweep() or not process._LIVE)


# --- Our own end ------------------------------------------------------------------------------------------------------

def parent(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(script("parent.py", *words), stdout=subprocess.PIPE, env=dict(os.environ, **environment()))


def test_a_child_of_a_killed_parent_reads_the_end_of_its_stdin(alive: Alive) -> None:
    with parent("killed", alive.path) as program:
        alive.pid()
        assert program.stdout is not None and program.stdout.readline() == b"ready\n"
        program.kill()
        assert alive.ended() == b""


def test_children_that_nobody_closed_are_ended_at_exit(alive: Alive) -> None:
    with parent("forgetful", alive.path) as program:
        alive.pid()
        alive.pid()
        assert program.wait(WAIT) == 0
        assert alive.ended() == alive.ended() == b""


@pytest.mark.parametrize("trouble", ["sigpipe", "no_streams"])
def test_a_parent_in_trouble(alive: Alive, trouble: str) -> None:
    with parent(trouble, alive.path) as program:
        alive.pid()
        assert program.wait(WAIT) == 0


def test_a_forked_copy_of_the_parent_neither_keeps_nor_ends_the_child(alive: Alive) -> None:
    with parent("forks", alive.path) as program:
        alive.pid()
        assert program.wait(WAIT) == 0
        assert program.stdout is not None and program.stdout.read() == b"copied\n"


# --- What the child says on stderr ------------------------------------------------------------------------------------

def test_ten_megabytes_on_stderr_without_a_newline_stop_nobody() -> None:
    with opened(stubborn("flood", "10000000", "say", '{"first": "answer"}', "wait", grace=SLOW)) as transport:
        assert transport.read() == [b'{"first": "answer"}']
        transport.close()
        assert transport.stderr_tail() == b"f" * 64 * 1024


@pytest.mark.spec("stdio.stderr-client-handling")
def test_stderr_is_captured_forwarded_or_ignored(capfd: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    """[..2025-11-25 basic/transports §stdio] MAY"""
    chunks: List[bytes] = []
    text, binary = io.StringIO(), (tmp_path / "log").open("wb")
    with binary:
        for sink in ("ring", "inherit", chunks.append, text, TextFile(text), binary):
            with opened(stubborn("err", "caf\xe9", "wait", grace=SLOW, stderr=sink)) as transport:
                transport.close()
                assert transport.stderr_tail() == (b"" if sink == "inherit" else "caf\xe9\n".encode())
    assert capfd.readouterr().err == "caf\xe9\n"
    assert b"".join(chunks) == (tmp_path / "log").read_bytes() == "caf\xe9\n".encode()
    assert text.getvalue() == "caf\xe9\n" * 2


class TextFile:
    """As little of a text file as there can be."""

    encoding = "ascii"

    def __init__(self, target: Any) -> None:
        self.write = target.write


def test_a_receiver_of_stderr_that_fails_gets_no_more_and_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    calls: List[bytes] = []

    def fail(chunk: bytes) -> None:
        calls.append(chunk)
        raise ValueError("no")

    with caplog.at_level(logging.ERROR), opened(stubborn("flood", "300000", "say", "{}", "wait", grace=SLOW,
                                                         stderr=fail)) as transport:
        assert transport.read() == [b"{}"]
        transport.close()
        assert len(calls) == 1 and len(transport.stderr_tail()) == 64 * 1024
    assert "gets no more" in caplog.text


def test_a_receiver_of_stderr_may_close_the_transport() -> None:
    closed = threading.Event()

    def close(chunk: bytes) -> None:
        transport.close()
        closed.set()

    transport = stubborn("err", "fatal", "wait", stderr=close)
    with opened(transport):
        assert transport.read() is None
        assert closed.wait(WAIT)


def test_nonsense_for_stderr_is_refused_at_once() -> None:
    for nonsense in ("rings", 7, None):
        with pytest.raises(ValueError, match="stderr must be"):
            StdioChild("true", stderr=nonsense)  # type: ignore[arg-type]


@pytest.mark.spec("stdio.stderr-not-error")
def test_text_on_stderr_is_not_taken_for_an_error() -> None:
    """[2025-11-25 basic/transports §stdio] SHOULD NOT"""
    words = ["err", "ERROR: Traceback (most recent call last): fatal!", "say", "{}", "echo"]
    with opened(stubborn(*words, grace=SLOW)) as transport:
        assert transport.read() == [b"{}"]
        until(lambda: b"fatal" in transport.stderr_tail())
        transport.write([b'{"still": "here"}'])
        assert transport.read() == [b'{"still": "here"}']
        transport.close()
        assert transport.reason() == "the connection was closed"


# --- Why it ended -----------------------------------------------------------------------------------------------------

REASONS = [
    (["err", "first", "err", "last words", "exit", "1"],
     "server exited with code 1; last stderr lines:\n    first\n    last words"),
    (["err", "\n".join("%d " % number + "x" * 300 for number in range(99)), "exit", "1"],
     "server exited with code 1; last stderr lines:" + "".join(
         "\n    ...%s" % ("x" * 197) for _ in range(8))),
    (["exit", "0"], "server exited with code 0"),
    (["err", "a\tb\x1b[31m\r", "err", "", "exit", "2"], "server exited with code 2; last stderr lines: a?b?[31m"),
    (["err", "  File x\n    call()\n\n\x1b[2JValueError", "exit", "1"],
     "server exited with code 1; last stderr lines:\n      File x\n        call()\n    ?[2JValueError"),
    (["die", "9"], "server was killed by SIGKILL"),
    (["err", "oh", "die", "11"], "server was killed by SIGSEGV; last stderr lines: oh"),
    (["die", "40"], "server was killed by signal 40"),
    (["close", "wait"], "server closed its output"),
]


@pytest.mark.spec("stdio.server-may-exit")
@pytest.mark.parametrize("words, expected", REASONS, ids=[expected[:40] for _, expected in REASONS])
def test_the_reason_has_the_code_and_the_last_lines(words: List[str], expected: str) -> None:
    """[..2025-11-25 basic/lifecycle §Shutdown > stdio] MAY"""
    with opened(stubborn(*words)) as transport:
        assert transport.read() is None
        assert transport.reason() == expected
        transport.close()
        assert transport.reason() == expected  # and not that we ended it


def test_the_reason_after_a_broken_pipe_is_the_childs_end() -> None:
    with opened(stubborn("err", "bad config", "exit", "4")) as transport:
        until(lambda: code_of(transport) is not None)
        with pytest.raises(ConnectionLost, match="server exited with code 4; last stderr lines: bad config"):
            transport.write([b"{}"])


def test_a_long_last_line_is_cut_at_the_front() -> None:
    with opened(stubborn("flood", "100000", "err", "THE END", "exit", "1")) as transport:
        assert transport.read() is None
        reason = transport.reason()
        assert len(reason) < 300 and "lines: ...fff" in reason and reason.endswith("fffTHE END")


# --- What the child says on stdout ------------------------------------------------------------------------------------

NOISE = ["Server ready", "[INFO] listening", "[1] job", "  npm warn deprecated", "\x1b[32mgreen\x1b[0m", "caf\xe9", "}",
         '"text"', "null", "[", "[ ", "  ", "Content-Length: 5"]
NO_NOISE = ["{}", ' {"a": 1}', "[]", '[{"a": 1}]', "[ {}", "{broken", "[[", "\t[\t{", "\ufeff{}"]


@pytest.mark.parametrize("line", NOISE)
def test_a_line_that_cannot_be_a_message_is_noise(line: str) -> None:
    assert not looks_like_json(line.encode())


@pytest.mark.parametrize("line", NO_NOISE)
def test_a_line_that_may_be_a_message_is_not(line: str) -> None:
    assert looks_like_json(line.encode())


def test_noise_is_counted_logged_kept_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    lines = ["banner", '{"first": 1}', "[INFO] more", "x" * 5000, '{"second": 2}']
    words = [word for line in lines for word in ("say", line)]
    seen: List[bytes] = []
    with caplog.at_level(logging.WARNING), opened(stubborn(*words, "wait", grace=SLOW)) as transport:
        transport.on_noise = seen.append
        assert collect(transport, 2) == [b'{"first": 1}', b'{"second": 2}']
        assert transport.counters() == {"cut": 0, "noise": 3, "rejected": 0, "unfinished": 0}
        assert list(transport.noise) == [b"banner", b"[INFO] more", b"x" * 1000]
        assert seen == [b"banner", b"[INFO] more", b"x" * 5000]
    assert "banner" in caplog.text and all(record.name == "mcp_ref.transports.lines.child" for record in caplog.records)


def test_one_line_of_noise_is_logged_as_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), opened(stubborn("say", "banner", "say", "{}", "wait")) as transport:
        assert transport.read() == [b"{}"]
    assert [record.getMessage() for record in caplog.records] == [
        "skipped 1 line on the server's stdout that is no message; the first: b'banner'"]


def test_a_flood_of_noise_takes_linear_time_and_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    words = ["say", "x\n" * 60_000, "say", "{}", "wait"]
    with caplog.at_level(logging.WARNING), opened(stubborn(*words, grace=SLOW)) as transport:
        assert transport.read() == [b"{}"]
        assert transport.counters()["noise"] == 60_000 and len(transport.noise) == 100
    assert len(caplog.records) < 200


def test_bytes_pass_both_ways_while_stderr_is_flooded() -> None:
    with opened(child("echo.py")) as transport:
        transport.write([b'{"do": "flood"}', "{\"\": \"\U0001F600\u2028\"}".encode(), b'{"\xff": 1}'])
        assert collect(transport, 3)[1:] == ["{\"\": \"\U0001F600\u2028\"}".encode(), b'{"\xff": 1}']


# --- Large messages ---------------------------------------------------------------------------------------------------

def test_64_mib_in_both_directions_at_once() -> None:
    size = 64 * MIB
    with opened(child("talker.py", str(size))) as transport:
        message = b'{"": "%s"}' % (b"m" * (size - 8))
        writing = Running(transport.write, [message])
        received, told = collect(transport, 2)
        writing.result()
        assert isinstance(received, bytes) and len(received) == size and received[:10] == b'{"": "tttt'
        assert told == b'{"received": %d}' % size


@pytest.mark.spec("stdio.client-stdin-only-mcp")
def test_only_messages_go_to_the_childs_stdin(tmp_path: Any) -> None:
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    with opened(StdioChild(["sh", "-c", "cat > heard"], cwd=tmp_path, limits=Limits(**SLOW))) as transport:
        transport.write([b'{"one": 1}', b'{"two": 2}'])
        with pytest.raises(LocalProtocolError):
            transport.write([b"{\n}"])
        transport.write([b'{"three": 3}'])
        transport.close()
    assert (tmp_path / "heard").read_bytes() == b'{"one": 1}\n{"two": 2}\n{"three": 3}\n'


# --- Starting ---------------------------------------------------------------------------------------------------------

@pytest.mark.spec("stdio.client-support")
@pytest.mark.parametrize("as_text", [True, False])
def test_a_command_is_a_list_or_a_line_as_for_a_shell(as_text: bool) -> None:
    """[..2025-11-25 basic/transports] SHOULD"""
    words = script("stubborn.py", "say", "{\"a b\": '\"'}", "wait")
    command: Any = " ".join("'%s'" % word.replace("'", "'\"'\"'") for word in words) if as_text else words
    with opened(StdioChild(command)) as transport:
        assert transport.read() == [b"{\"a b\": '\"'}"]


@pytest.mark.parametrize("command, words", [
    ("no-such-program-at-all --x", "'no-such-program-at-all': not found; looked in the child's PATH: /bin:/usr/bin"),
    (["/no/such/program"], "'/no/such/program': there is no such file; looked at /no/such/program"),
    (["./tool"], "'./tool': there is no such file; looked at "),
    ([str(CHILDREN / "echo.py")], 'it is not executable: write "python3 '),
    ("", "the command is empty"), ([], "the command is empty"), ([""], "the command is empty"),
    ("sh 'unclosed", "No closing quotation"),
])
def test_a_command_that_cannot_be_started_says_where_it_was_looked_for(command: Any, words: str) -> None:
    transport = StdioChild(command, env={"PATH": "/bin:/usr/bin"})
    with pytest.raises(ConnectFailed, match="cannot start") as caught:
        transport.open()
    assert words in str(caught.value)
    transport.close()
    assert transport.read() is None and transport.pid is None


BELONGS = {"server.py": 'write "python3 server.py"', "x y.js": "write \"node 'x y.js'\"", "units.mcpb": "pack --check"}


@pytest.mark.parametrize("name", BELONGS)
def test_a_file_of_the_folder_that_is_no_program_says_what_to_write(name: str, tmp_path: Any) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(ConnectFailed) as caught:
        StdioChild([name], cwd=tmp_path).open()
    assert "%s is a file in %s, not a program: " % (name, tmp_path) in str(caught.value)
    assert BELONGS[name] in str(caught.value) and "PATH" not in str(caught.value)


def test_a_misspelt_program_is_recognised_and_a_long_path_is_cut_between_folders(tmp_path: Any) -> None:
    make_program(tmp_path / "programs" / "pythonic", "x")
    folders = [str(tmp_path / "programs"), *("/no/such/folder/%02d" % number for number in range(20))]
    with pytest.raises(ConnectFailed) as caught:
        StdioChild(["pyhtonic"], env={"PATH": os.pathsep.join(folders)}).open()
    text = str(caught.value)
    quoted, more = text.partition("the child's PATH: ")[2].split(" and ")
    assert "(did you mean pythonic?)" in text
    assert quoted.split(":") == folders[:len(quoted.split(":"))] and len(quoted) <= max(100, len(folders[0]))
    assert more == "%d more" % (len(folders) - len(quoted.split(":")))
    with pytest.raises(ConnectFailed, match=r"no such file \(did you mean pythonic\?\); looked at"):
        StdioChild([str(tmp_path / "programs" / "pythonc")]).open()


def test_a_folder_that_is_missing_and_a_file_that_is_no_program(tmp_path: Any) -> None:
    with pytest.raises(ConnectFailed, match="the folder .*nowhere does not exist"):
        StdioChild([sys.executable], cwd=tmp_path / "nowhere").open()
    (tmp_path / "text").write_bytes(b"\x00\x01\x02 no program")
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(ConnectFailed, match="cannot start .*(Exec format|format) error"):
        StdioChild([str(tmp_path / "text")]).open()


def make_program(path: Any, says: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\necho '{\"%s\": \"'$0'\"}'\nexec cat\n" % says)
    path.chmod(0o755)


def test_the_childs_path_decides_and_not_ours(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make_program(tmp_path / "ours" / "tool", "ours")
    make_program(tmp_path / "theirs" / "tool", "theirs")
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path / "ours", os.environ["PATH"]))
    for env, expected in ((None, "ours"), ({"PATH": "%s:/bin:/usr/bin" % (tmp_path / "theirs")}, "theirs")):
        with opened(StdioChild(["tool"], env=env)) as transport:
            assert transport.read() == [os.fsencode('{"%s": "%s"}' % (expected, tmp_path / expected / "tool"))]
    with pytest.raises(ConnectFailed, match="not found"):
        StdioChild(["tool"], inherit_env=False).open()


def test_a_relative_program_is_relative_to_the_childs_folder(tmp_path: Any) -> None:
    make_program(tmp_path / "bin" / "tool", "here")
    with opened(StdioChild("./bin/tool", cwd=tmp_path)) as transport:
        assert b"here" in transport.read()[0]


ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"
SECRETS = {"MCP_REF_STATE_KEYS": "a-key-that-signs", "AWS_SECRET_ACCESS_KEY": "not for a server"}


def environment_of(inherit: Any, **env: str) -> Any:
    """What a child finds in its environment."""
    with opened(StdioChild([sys.executable, "-c", ENVIRONMENT], env=env, inherit_env=inherit)) as transport:
        return json.loads(transport.read()[0])


def test_a_child_inherits_a_short_list_unless_it_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_TIME", "C")
    usual = environment_of(None, EXTRA="\xe9 b")
    assert not set(SECRETS) & set(usual)
    assert usual["PATH"] == os.environ["PATH"] and usual["LC_TIME"] == "C" and usual["EXTRA"] == "\xe9 b"
    everything = environment_of(True)
    assert everything["AWS_SECRET_ACCESS_KEY"] == "not for a server" and "MCP_REF_STATE_KEYS" not in everything
    assert "PATH" not in environment_of(False, EXTRA="x")
    assert environment_of(None, **SECRETS)["MCP_REF_STATE_KEYS"] == "a-key-that-signs"  # who says so gets it


@pytest.mark.parametrize("windows, short", [
    (False, ["HOME", "LANG", "LANGUAGE", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"]),
    (True, ["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "Path",
            "SYSTEMDRIVE", "SystemRoot", "TEMP", "TZ", "USERNAME", "USERPROFILE"]),
])
def test_the_short_list_is_that_of_the_official_sdks_and_what_tells_the_language(
    windows: bool, short: List[str]
) -> None:
    ours = dict.fromkeys(short, "value")
    ours.update({name: "value" for name in ("PYTHONPATH", "LD_PRELOAD", "mcp_ref_token", "GITHUB_TOKEN", "LCX")})
    assert sorted(process.child_environment(None, None, ours, windows)) == sorted(short)
    assert process.child_environment(None, None, {"PATH": "() { :; }"}, windows) == {}  # a function of the shell
    assert process.child_environment({"PATH": "x"}, None, ours, windows)["PATH"] == "x"
    assert "mcp_ref_token" not in process.child_environment(None, True, ours, windows)


def test_a_child_is_reaped_even_if_there_are_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ConnectFailed, match="can't start new thread"):
        stubborn("stay").open()
    assert not process._LIVE


def test_no_descriptors_left_is_connect_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(3))
    real = os.pipe

    def scarce() -> Any:
        if next(calls, None) is None:
            raise OSError(errno.EMFILE, "Too many open files")
        return real()

    monkeypatch.setattr(os, "pipe", scarce)
    with pytest.raises(ConnectFailed, match="Too many open files"):
        stubborn("wait").open()
