"""The server's side of stdio: its streams belong to the protocol, whatever else runs in the process."""
import contextlib
import fcntl
import gc
import io
import json
import os
import socket
import struct
import subprocess
import sys
import termios
import threading
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref.errors import ConnectFailed, ConnectionLost
from mcp_ref.limits import Limits
from mcp_ref.transports.lines import fds
from mcp_ref.transports.lines.fds import FdReader, Wake
from mcp_ref.transports.lines.stdio import StdioServer
from tests.support.patience import WAIT
from tests.transports.makers import Running, child, collect, environment, opened, script, until

GIVEN_BACK = b"given back\n"


def run(command: List[str], data: bytes, env: Optional[Dict[str, str]] = None, **options: Any) -> Tuple[bytes, bytes]:
    """Give a server all of its input at once; everything it wrote to stdout and to stderr."""
    environ = dict(os.environ, PYTHONUNBUFFERED="", **environment(), **(env or {}))  # empty: stdout is buffered
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
                          timeout=WAIT, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def request(deed: str) -> bytes:
    return json.dumps({"do": deed}).encode()


STRAY = [  # what a tool does, and what must appear on stderr because of it
    ("print", b"printed"), ("print unflushed", b"printed and left in the buffer"), ("emoji", b"caf"),
    ("old stdout", b"written to the stdout of before"), ("os.write", b"written to 1"), ("C write", b"from C"),
    ("C puts", b"puts from C"), ("child writes", b"from a child"), ("system", b"from a shell"),
]


@pytest.mark.spec("stdio.server-stdout-only-mcp")
@pytest.mark.parametrize("deed, words", STRAY, ids=[deed for deed, _ in STRAY])
def test_whatever_writes_to_stdout_ends_up_on_stderr(deed: str, words: bytes) -> None:
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    messages = [b'{"before": 1}', request(deed), b'{"after": 1}']
    stdout, stderr = run(script("echo.py"), b"".join(message + b"\n" for message in messages))
    assert stdout == b"".join(message + b"\n" for message in messages) + GIVEN_BACK
    assert words in stderr


@pytest.mark.spec("stdio.server-stdout-only-mcp")
def test_what_was_printed_before_and_not_yet_written_ends_up_on_stderr_too() -> None:
    stdout, stderr = run([*script("echo.py"), "print", "print unflushed"], b"{}\n")
    assert stdout == b"{}\n" + GIVEN_BACK
    assert b"printed\nprinted and left in the buffer" in stderr


@pytest.mark.parametrize("deed, words", [("child reads", b"the child read 0 bytes"),
                                         ("input", b"input() ended at once")])
def test_nobody_else_can_read_the_clients_messages(deed: str, words: bytes) -> None:
    """The client is still there and goes on talking, so whoever reads its messages would wait for more of them."""
    with opened(child("echo.py")) as transport:
        for message in (request(deed), b'{"mine": 1}'):
            transport.write([message])
        assert Running(collect, transport, 2).result() == [request(deed), b'{"mine": 1}']
        until(lambda: words in transport.stderr_tail())


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at descriptors in /proc")
def test_the_private_descriptors_are_not_inherited() -> None:
    _, stderr = run(script("echo.py"), request("inheritable") + b"\n")
    assert b"a child has ['0', '1', '2', '3']" in stderr  # 3 is the listing's own


@pytest.mark.parametrize("env", [{"LC_ALL": "C", "PYTHONIOENCODING": "cp1252"},
                                 {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
                                 {"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}],
                         ids=["cp1252", "ascii", "POSIX"])
def test_bytes_pass_whatever_the_locale_says(env: Dict[str, str]) -> None:
    lines = ['{"": "\U0001F600 \u2028\u2029\x85 caf\xe9"}'.encode(), b'{"": "\xff\xc0\x80\xed\xa0\x80"}',
             b'{"": "\x1c\x0b"}', request("emoji")]
    stdout, _ = run(script("echo.py"), b"".join(line + b"\r\n" for line in lines), env)
    assert stdout == b"".join(line + b"\n" for line in lines) + GIVEN_BACK


def test_a_stdout_that_the_program_replaced_stays_replaced() -> None:
    stdout, _ = run(script("echo.py"), request("replace stdout") + b"\n{}\n")
    assert stdout == request("replace stdout") + b"\n{}\n"  # "given back" went where the program said


@pytest.mark.spec("stdio.stderr-logging")
def test_stderr_is_free_for_text() -> None:
    """[..2025-11-25 basic/transports §stdio] MAY"""
    stdout, stderr = run(script("echo.py"), b"{}\n")
    assert stdout == b"{}\n" + GIVEN_BACK and b"the client closed the input" in stderr


def test_a_line_without_its_end_is_no_message() -> None:
    stdout, stderr = run([*script("echo.py"), "log"], b'{"whole": 1}\n{"cut": 1}')
    assert stdout == b'{"whole": 1}\n' + GIVEN_BACK
    assert b"in the middle of a message; its first 10 bytes were dropped" in stderr


@pytest.mark.parametrize("number, error", [(0, b"no standard input"), (1, b"no standard output")])
def test_a_process_without_streams_has_no_stdio_and_says_so(number: int, error: bytes) -> None:
    code = ("import os; os.close(%d)\nfrom mcp_ref.transports.lines.stdio import StdioServer\n"
            "from mcp_ref.errors import ConnectFailed\n"
            "try: StdioServer().open()\nexcept ConnectFailed as error: os.write(2, str(error).encode())")
    _, stderr = run([sys.executable, "-c", code % number], b"")
    assert error in stderr


@pytest.mark.parametrize("missing", [
    "sys.stdout = None", "sys.stderr = None", "sys.stdout = sys.stderr = sys.stdin = None",
    "os.close(2); sys.stderr = None", "sys.stdout = io.StringIO()", "sys.stdout.close()",
    "sys.stdout = type('Console', (), {'write': print, 'flush': lambda self: None})()",
])
def test_missing_python_streams_do_not_matter(missing: str) -> None:
    code = """
import io, os, sys
%s
from mcp_ref.transports.lines.stdio import StdioServer
t = StdioServer()
t.open()
try: print("stray")
except Exception: pass
os.write(1, b"stray")
while True:
    items = t.read()
    if items is None: break
    t.write(items)
t.close()
os.write(1, b"given back")
""" % missing
    stdout, stderr = run([sys.executable, "-c", code], b"{}\n")
    assert stdout == b"{}\ngiven back"
    assert b"stray" in stderr or "os.close(2)" in missing


# --- Kinds of descriptors ---------------------------------------------------------------------------------------------

def test_stdin_and_stdout_may_be_files(tmp_path: Any) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"{}\n" + b'{"": "' + b"x" * 3_000_000 + b'"}\n')
    with source.open("rb") as stdin, target.open("wb") as stdout:
        subprocess.run(script("echo.py"), stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, check=True,
                       env=dict(os.environ, **environment()), timeout=WAIT)
    assert target.read_bytes() == source.read_bytes() + GIVEN_BACK


@pytest.mark.parametrize("kind", ["socket", "non-blocking socket", "terminal"])
def test_stdin_and_stdout_may_be_sockets_or_terminals(kind: str) -> None:
    """Node gives its children sockets; who shares an open file may have made it non-blocking."""
    if kind == "terminal":
        import pty
        import tty

        ours, theirs = pty.openpty()
        tty.setraw(theirs)
    else:
        near, far = socket.socketpair()
        ours, theirs = near.detach(), far.detach()
        os.set_blocking(theirs, "non" not in kind)
    message = b'{"": "' + b"x" * (100_000 if kind == "terminal" else 5_000_000) + b'"}\n'
    process = subprocess.Popen(script("echo.py"), stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                               env=dict(os.environ, **environment()))
    os.close(theirs)
    writing = Running(_write_all, ours, message)
    arrived = b""
    while len(arrived) < len(message):
        arrived += os.read(ours, 65536)
    writing.result()
    assert arrived == message
    os.close(ours)
    process.wait(WAIT)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view):]


@pytest.fixture
def pipes() -> Iterator[Tuple[StdioServer, int, int]]:
    """A transport on two pipes, and the other ends: to write to it, to read from it."""
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    transport = StdioServer(descriptors=(stdin, stdout))
    with opened(transport):
        yield transport, to_stdin, from_stdout
    for number in (to_stdin, from_stdout):
        try:
            os.close(number)
        except OSError:
            pass  # the test did it


def test_a_broken_pipe_is_connection_lost_and_says_so(pipes: Tuple[StdioServer, int, int]) -> None:
    transport, _, from_stdout = pipes
    os.close(from_stdout)
    with pytest.raises(ConnectionLost, match="the peer has gone .*Broken pipe"):
        transport.write([b"{}"])
    with pytest.raises(ConnectionLost, match="the peer has gone"):
        transport.write([b"{}"])


def queued(number: int) -> int:
    """Bytes that wait to be read from this descriptor."""
    return int(struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, bytes(4)))[0])


@pytest.mark.parametrize("kind", ["own open file", "shared open file", "shared socket"])
def test_large_messages_pass_in_pieces_and_close_frees_who_waits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the open file cannot be opened again (not Linux), it must stay blocking, and yet no write may block."""
    if kind != "own open file":
        monkeypatch.setattr("mcp_ref.transports.lines.stdio.private_pipe", lambda number: None)
    stdin, to_stdin = os.pipe()
    from_stdout, stdout = [end.detach() for end in socket.socketpair()] if "socket" in kind else os.pipe()
    transport = StdioServer(descriptors=(stdin, stdout))
    with opened(transport):
        assert os.get_blocking(stdout)
        message = b'{"": "' + os.urandom(1_000_000).hex().encode() + b'"}'
        writing = Running(transport.write, [message])
        arrived = b""
        while len(arrived) <= len(message):
            arrived += os.read(from_stdout, 1000)
        writing.result()
        assert arrived == message + b"\n"
        stuck = Running(transport.write, [message])
        until(lambda: queued(from_stdout) >= 60_000)
        transport.close()
        with pytest.raises(ConnectionLost, match="was closed"):
            stuck.result()
    os.close(to_stdin)
    os.close(from_stdout)


def test_the_mode_of_a_shared_stdout_is_left_alone(pipes: Tuple[StdioServer, int, int]) -> None:
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    shared = os.dup(stdout)
    with opened(StdioServer(descriptors=(stdin, stdout))) as transport:
        transport.write([b"{}"])
        assert os.get_blocking(shared)
    for number in (to_stdin, from_stdout, shared):
        os.close(number)


def test_a_write_that_was_interrupted_ends_the_connection(pipes: Tuple[StdioServer, int, int]) -> None:
    """After Ctrl-C in the middle of a message nobody knows what the peer has got of it."""
    transport, _, _ = pipes

    def interrupted(data: bytes) -> None:
        raise KeyboardInterrupt

    send, transport._send = transport._send, interrupted
    with pytest.raises(KeyboardInterrupt):
        transport.write([b"{}"])
    transport._send = send
    with pytest.raises(ConnectionLost, match="interrupted"):
        transport.write([b"{}"])


def test_ready_knows_what_fits_into_a_pipe(pipes: Tuple[StdioServer, int, int]) -> None:
    transport, _, from_stdout = pipes
    assert transport.ready(4096) and transport.ready(65536)
    assert not transport.ready(10_000_000)
    transport.write([b"x" * 100])
    assert transport.ready(4096) and not transport.ready(65536)
    os.read(from_stdout, 1000)
    assert transport.ready(65536)
    while transport.ready(4096):
        transport.write([b"x" * 4095])
    assert not transport.ready(1)
    transport.close()
    with pytest.raises(ConnectionLost):
        transport.write([b"{}"])


def test_reading_stays_right_while_buffers_grow_and_shrink(pipes: Tuple[StdioServer, int, int]) -> None:
    transport, to_stdin, _ = pipes
    sizes = [10, 3_000_000, 5, 70_000, 1, 1, 600_000, 2]
    writing = Running(_write_all, to_stdin, b"".join(b"m" * size + b"\n" for size in sizes))
    assert [len(item) for item in collect(transport, len(sizes)) if isinstance(item, bytes)] == sizes
    writing.result()


def test_the_end_of_the_input_is_noticed_and_the_last_answers_still_go_out(pipes: Tuple[StdioServer, int, int]) -> None:
    transport, to_stdin, from_stdout = pipes
    os.write(to_stdin, b"{}\n")
    os.close(to_stdin)
    assert transport.read() == [b"{}"] and transport.read() is None
    transport.write([b'{"answer": 1}'])
    assert os.read(from_stdout, 100) == b'{"answer": 1}\n'
    assert transport.reason() == "the client closed the input"
    assert transport.counters() == {"rejected": 0, "unfinished": 0}


def test_rejected_and_unfinished_are_counted() -> None:
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    with opened(StdioServer(Limits(max_message_bytes=3), descriptors=(stdin, stdout))) as transport:
        os.write(to_stdin, b"1234\n12345\n12")
        os.close(to_stdin)
        assert len(collect(transport)) == 2
        assert transport.counters() == {"rejected": 2, "unfinished": 1}
    os.close(from_stdout)


def test_a_forgotten_transport_closes_its_descriptors() -> None:
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    transport = StdioServer(descriptors=(stdin, stdout))
    transport.open()
    del transport
    gc.collect()
    assert os.read(from_stdout, 1) == b""
    os.close(to_stdin)
    os.close(from_stdout)


def test_reading_and_writing_before_open_says_that_it_is_closed() -> None:
    transport = StdioServer(descriptors=(-1, -1))
    assert transport.read() is None and not transport.ready(1)
    with pytest.raises(ConnectionLost):
        transport.write([b"{}"])
    transport.close()


# --- The guard, in this process ---------------------------------------------------------------------------------------

@contextlib.contextmanager
def standard_streams() -> Iterator[Tuple[int, int]]:
    """Descriptors 0 and 1 of this process are pipes for a while; their other ends.

    Not a fixture: between the phases of a test pytest moves descriptor 1 itself.
    """
    saved = os.dup(0), os.dup(1)
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.close(stdin)
    os.close(stdout)
    try:
        yield to_stdin, from_stdout
    finally:
        for number, copy in enumerate(saved):
            os.dup2(copy, number)
            os.close(copy)
        os.close(to_stdin)
        os.close(from_stdout)


def test_one_transport_at_a_time_and_another_one_afterwards() -> None:
    with standard_streams() as (to_stdin, from_stdout):
        with opened(StdioServer()):
            with pytest.raises(ConnectFailed, match="already served"):
                StdioServer().open()
        os.write(to_stdin, b"{}\n")
        with opened(StdioServer()) as transport:
            transport.write(transport.read())
        assert os.read(from_stdout, 100) == b"{}\n"


def test_close_gives_the_streams_back_while_a_reader_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with standard_streams() as (to_stdin, from_stdout):
        before = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", before)
        transport = StdioServer()
        transport.open()
        reading = Running(transport.read)
        assert sys.stdout is sys.stderr
        transport.close()
        assert sys.stdout is before
        assert reading.result() is None
        os.write(to_stdin, b"mine again")
        os.write(1, b"mine, too")
        assert os.read(0, 100) == b"mine again" and os.read(from_stdout, 100) == b"mine, too"


def test_a_forgotten_guard_gives_the_streams_back() -> None:
    with standard_streams() as (_, from_stdout):
        transport = StdioServer()
        transport.open()
        del transport
        gc.collect()
        os.write(1, b"mine again")
        assert os.read(from_stdout, 100) == b"mine again"


def test_a_closed_transport_can_be_closed_before_it_is_opened() -> None:
    """Another thread may close while `open` is at work: then nothing stays taken."""
    with standard_streams():
        transport = StdioServer()
        transport.close()
        transport.open()
        assert transport.read() is None
        with opened(StdioServer()):
            pass


# --- Descriptors ------------------------------------------------------------------------------------------------------

@pytest.mark.race
def test_a_descriptor_is_closed_by_the_last_one_out_and_never_twice() -> None:
    for _ in range(100):
        closed: List[int] = []
        descriptor = fds.Descriptor(lambda: closed.append(7))
        start = threading.Barrier(4)

        def use(flag: str) -> None:
            start.wait(WAIT)
            for _ in range(20):
                setattr(descriptor, flag, True)
                if not descriptor.closing:
                    assert not closed
                setattr(descriptor, flag, False)
                if descriptor.closing:
                    descriptor.settle()
                    return

        def close() -> None:
            start.wait(WAIT)
            descriptor.close()

        for thread in [Running(use, "reading"), Running(use, "writing"), Running(close), Running(close)]:
            thread.result()
        assert closed == [7]


@pytest.mark.parametrize("flag", ["reading", "writing"])
def test_a_descriptor_stays_open_while_somebody_is_inside(flag: str) -> None:
    closed: List[int] = []
    descriptor = fds.Descriptor(lambda: closed.append(7))
    setattr(descriptor, flag, True)
    descriptor.close()
    assert not closed
    setattr(descriptor, flag, False)
    descriptor.settle()
    descriptor.close()
    assert closed == [7]


def test_another_reader_of_a_non_blocking_file_may_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    reader = FdReader(reading, Wake())
    real, failures = os.read, [BlockingIOError()]

    def read(number: int, size: int) -> bytes:
        if failures:
            raise failures.pop()
        return real(number, size)

    os.write(writing, b"for the second attempt")
    monkeypatch.setattr(os, "read", read)
    assert reader.read() == b"for the second attempt"
    reader.close()
    os.close(writing)


def test_a_forked_copy_does_not_wake_the_original(monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the pipe of the wake; without care the original would read a descriptor that has nothing."""
    wake = Wake()
    number = wake.hold()
    with monkeypatch.context() as copied:
        copied.setattr(os, "getpid", lambda: -1)
        wake.set()
    assert queued(number) == 0
    wake.release()


def test_a_wake_frees_all_who_wait_now_and_later() -> None:
    ends = [os.pipe() for _ in range(3)]
    wake = Wake()
    readers = [FdReader(reading, wake) for reading, _ in ends]
    waiting = [Running(reader.read) for reader in readers[:2]]
    wake.set()
    wake.set()
    for running in [*waiting, Running(readers[2].read)]:
        with pytest.raises(fds.Closed):
            running.result()
    for reader, (_, writing) in zip(readers, ends):
        reader.close()
        reader.close()
        os.close(writing)
