"""A shim: starts a server, stands between its standard streams and ours, and records what passes.

Bytes go on as they come, unaltered and without waiting for whole lines. Three threads carry them, one for each stream,
with ``read`` and ``write`` alone (measured against one thread with ``poll``: a call takes 20 microseconds more than
without a shim, and 22 with ``poll``). A fourth one waits for the end of the child, and a fifth records, see `telling`.

=============================================  ========================================================================
what happens                                   what follows
=============================================  ========================================================================
our standard input ends                        the child's is closed
the child closes its standard input            ours becomes the null device: who writes to it gets EPIPE, as without us
the child closes its standard output           ours is closed
who reads our standard output closes it        the child's pipe is closed: its next write fails, as without us
the child ends                                 what it has written is still passed on, then we end with its exit code
the child is killed by a signal                we end by the same signal
SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2     the child gets it, and we go on until it ends. What was ignored when we
                                               began stays ignored, by both
SIGINT                                         the same, unless we are in the foreground of a terminal: its Ctrl-C has
                                               reached the child, too
we are killed                                  the child's standard input ends
=============================================  ========================================================================

The child is in our process group and has our environment, folder and descriptors, as it would without us; so a signal
to the group reaches it twice, the second time from us. A process that the child leaves behind and that still holds its
standard output is read until it has been silent for a quarter of a second.
"""

import os
import select
import signal
import subprocess
import sys
import threading
from typing import Any, List, Optional, Sequence

from ...errors import ConnectFailed
from ...threads import start_thread
from ...transports.lines.fds import CAN_POLL
from ...transports.lines.process import command_line, find_program
from ...wiretrace import CLIENT, CLOSE, GAP, OPEN, PROCESS, SERVER, STDERR, TRANSPORT
from .telling import Backlog, EventWriter, Stream, stuck

RECORDED = ("start", "both", "times", "bytes", "end", "process", "stderr")
PASSED_ON = tuple(name for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
                  if hasattr(signal, name))
"""The signals that the child gets from us."""
FINISH_SECONDS = 30.0
"""The seconds that recording may take after the child has ended."""
SILENT_SECONDS = 0.25
"""The seconds of silence after which a process that the child has left behind is not read any more."""
LONGEST_LINE = 16 * 1024 * 1024
"""The bytes of a line that are recorded; of a longer one it is recorded how long it was."""
LONGEST_STDERR = 64 * 1024
"""The bytes of a line on standard error that are recorded."""
_SIZE = 64 * 1024
_LOOK = 0.05
_SLICE = 0.5
"""Seconds of one wait for the end of the child."""


# The events of lines: messages, whatever else a party writes, and what has no end


class Lines:
    """Joins bytes to lines and records each with the time of its last byte: as a message, or as a line of stderr."""

    def __init__(self, teller: EventWriter, direction: str, stderr: bool = False) -> None:
        self._teller = teller
        self._direction = direction
        self._stderr = stderr
        self._longest = LONGEST_STDERR if stderr else LONGEST_LINE
        self._what = "line on standard error" if stderr else "line"
        self._line = bytearray()
        self._size = 0

    def feed(self, at: float, data: bytes) -> None:
        """Take bytes that came at this time."""
        start, end = 0, data.find(b"\n")
        while end >= 0:
            self._keep(data[start:end])
            self._end_line(at)
            start, end = end + 1, data.find(b"\n", end + 1)
        if start < len(data):
            self._keep(data[start:])

    def lost(self, at: float, count: int) -> None:
        """Take it that so many bytes were dropped; the line that they begin, are in or end is recorded as a gap."""
        if self._size:
            self._end_line(at)
        self._teller.tell(GAP, self._direction, at, "%d bytes were not recorded: the trace could not be written as fast"
                          " as they came; what follows may begin inside a line" % count)

    def end(self, at: float) -> None:
        """Take it that nothing more comes."""
        if self._size:
            self._end_line(at)
            self._teller.tell(TRANSPORT, self._direction, at, "the last %s has no line end" % self._what)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._line += part
        else:
            self._line = bytearray()

    def _end_line(self, at: float) -> None:
        size, data = self._size, bytes(self._line)
        self._line, self._size = bytearray(), 0
        if size > self._longest:
            self._teller.tell(GAP, self._direction, at, "a %s of %d bytes, of which more than %d are not recorded" % (
                self._what, size, self._longest))
        elif self._stderr:
            self._teller.tell(STDERR, SERVER, at, data.rstrip(b"\r").decode("utf-8", "backslashreplace"))
        else:
            self._teller.message(self._direction, data, at)


# The shim


class Shim:
    """A child, and the threads that carry its bytes. ``command``: the program and its arguments.

    ``descriptors``: our ends, for input, output and errors. ``seconds``: how long recording may take in the end.
    """

    def __init__(self, command: Sequence[str], teller: EventWriter, descriptors: Sequence[int] = (0, 1, 2),
                 seconds: Optional[float] = None) -> None:
        self._command = list(command)
        self._teller = teller
        self._seconds = FINISH_SECONDS if seconds is None else seconds
        self._input, self._output, self._errors = descriptors
        self.recorded = True
        """False if there was not enough time to record everything."""
        self._child: "Optional[subprocess.Popen[bytes]]" = None
        self._early: List[int] = []
        """The signals that came before there was a child."""
        self._busy = False
        """True while the child's output is being written, which may wait for its reader."""
        self._first = ""
        """The party that ended the conversation."""

    def run(self) -> int:
        """Start the child and carry bytes until it ends. Return its exit code, negative for a signal.

        Raises `ConnectFailed` if it cannot be started. Call this on the main thread, once.
        """
        try:
            program = located(self._command[0])
        except ConnectFailed as error:
            self._teller.tell(CLOSE, text=str(error))
            raise
        before = {number: signal.signal(number, self._signalled)
                  for number in [int(getattr(signal, name)) for name in PASSED_ON]
                  if signal.getsignal(number) != signal.SIG_IGN}
        self._backlog = Backlog()
        try:
            child = self._start(program)
            for number in self._early:
                self._pass_on(child, number)
            return self._carry(child)
        finally:
            self.recorded = self._backlog.close(self._seconds)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _start(self, program: str) -> "subprocess.Popen[bytes]":
        tell, put = self._teller.tell, self._backlog.put
        put(lambda at, _: tell(OPEN, at=at, more={"transport": "stdio"}), None)
        line = command_line([program] + self._command[1:])
        words: Any = line if isinstance(line, str) else self._command
        try:
            child = subprocess.Popen(words, executable=None if line is words else program, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, close_fds=False)
        except OSError as error:
            why = error.strerror or str(error)
            put(lambda at, _: tell(CLOSE, at=at, text="the server could not be started: %s" % why), None)
            raise ConnectFailed("cannot start %r: %s" % (self._command[0], why)) from None
        put(lambda at, _: tell(
            PROCESS, SERVER, at, more={"did": "start", "command": self._command}), None)
        self._child = child
        return child

    def _carry(self, child: "subprocess.Popen[bytes]") -> int:
        output = start_thread("mcp-ref:shim:stdout", self._carry_output, child)
        errors = start_thread("mcp-ref:shim:stderr", self._carry_errors, child)
        start_thread("mcp-ref:shim:stdin", self._carry_input, child)
        # Not here: a signal that comes just before this thread blocks is handled only when it goes on, and would not be
        # passed on to the child.
        ending = start_thread("mcp-ref:shim:exit", child.wait)
        while ending.is_alive():
            ending.join(_SLICE)
        code = child.wait()
        tell = self._teller.tell
        self._backlog.put(lambda at, _: tell(PROCESS, SERVER, at, more={"did": "exit", "code": code}), None)
        self._ended_by(SERVER)
        for thread, source in ((output, child.stdout), (errors, child.stderr)):
            self._wait(thread, source)
        first = self._first
        self._backlog.put(lambda at, _: tell(CLOSE, first, at, text=fate(code)), None)
        return code

    def _wait(self, thread: threading.Thread, source: Any) -> None:
        """Wait until a thread has passed on what the child has left, but not for others that hold its pipe silently."""
        silent = 0.0
        while silent < SILENT_SECONDS:
            thread.join(_LOOK)
            if not thread.is_alive():
                return
            busy = self._busy or (CAN_POLL and _has_more(source))
            silent = 0.0 if busy else silent + _LOOK

    # The three directions, each on a thread

    def _carry_input(self, child: "subprocess.Popen[bytes]") -> None:
        target: Any = child.stdin
        lines = Lines(self._teller, CLIENT)
        stream = Stream(self._backlog, lines.lost)
        taken = self._copy(self._input, target.fileno(), stream, lines)
        if taken is None:
            self._backlog.put(lambda at, _: lines.end(at), None)
            self._ended_by(CLIENT)
            tell = self._teller.tell
            self._backlog.put(lambda at, _: tell(PROCESS, CLIENT, at, more={"did": "stdin-closed"}), None)
        else:
            self._undelivered(lines, CLIENT, taken, "the server has closed its standard input")
            _silence(self._input)
        _close(target)

    def _carry_output(self, child: "subprocess.Popen[bytes]") -> None:
        source: Any = child.stdout
        lines = Lines(self._teller, SERVER)
        stream = Stream(self._backlog, lines.lost)
        taken = self._copy(source.fileno(), self._output, stream, lines, True)
        if taken is None:
            self._backlog.put(lambda at, _: lines.end(at), None)
            self._ended_by(SERVER)
        else:
            self._undelivered(lines, SERVER, taken, "the client has closed the server's standard output")
            self._ended_by(CLIENT)
        _silence(self._output)
        _close(source)

    def _carry_errors(self, child: "subprocess.Popen[bytes]") -> None:
        source: Any = child.stderr
        lines = Lines(self._teller, SERVER, stderr=True)
        stream = Stream(self._backlog, lines.lost)
        if self._copy(source.fileno(), self._errors, stream, lines) is None:
            self._backlog.put(lambda at, _: lines.end(at), None)
        _close(source)

    def _copy(self, source: int, target: int, stream: Stream, lines: Lines, watched: bool = False) -> Optional[int]:
        """Carry bytes until the source ends: None; or until the target is closed: bytes that it has not taken."""
        read, write, put, feed = os.read, os.write, stream.put, lines.feed
        while True:
            try:
                data = read(source, _SIZE)
            except BlockingIOError:  # whoever made our input has made it non-blocking
                select.select([source], [], [])
                continue
            except OSError:  # a terminal that is gone
                return None
            if not data:
                return None
            put(feed, data, len(data))  # before it is written, so that a request is recorded before its answer
            if watched:
                self._busy = True
            try:
                sent = write(target, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                return len(data)
            if sent < len(data):
                left = _write_rest(target, memoryview(data)[sent:])
                if left:
                    return left
            if watched:
                self._busy = False

    def _undelivered(self, lines: Lines, direction: str, count: int, why: str) -> None:
        tell = self._teller.tell
        self._busy = False
        self._backlog.put(lambda at, _: lines.end(at), None)
        self._backlog.put(lambda at, _: tell(
            GAP, direction, at, "the last %d bytes were not delivered: %s" % (count, why)), None)

    def _ended_by(self, party: str) -> None:
        self._first = self._first or party

    # Signals

    def _signalled(self, number: int, frame: Any) -> None:
        """Handle a signal; the main thread calls this."""
        if self._child is None:
            self._early.append(number)
        else:
            self._pass_on(self._child, number)

    def _pass_on(self, child: "subprocess.Popen[bytes]", number: int) -> None:
        if number == signal.SIGINT and from_terminal():
            return
        name = signal.Signals(number).name[3:]
        tell = self._teller.tell
        self._backlog.put(lambda at, _: tell(PROCESS, "", at, more={"did": "signal", "signal": name}), None)
        if child.returncode is None:
            child.send_signal(number)
        else:  # it has ended, and we wait for a reader of what it has left
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def from_terminal() -> bool:
    """Return True if we are in the foreground of a terminal, whose Ctrl-C reaches all processes there."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def located(program: str) -> str:
    """Return the path of a program. Raises `ConnectFailed`, which does not show the environment: it may be recorded."""
    try:
        return find_program(program, os.environ, None)
    except ConnectFailed:
        if os.path.dirname(program):
            raise
        raise ConnectFailed("cannot start %r: not found in the folders of PATH" % program) from None


def takes_more(number: int) -> bool:
    """Return True unless a write to this descriptor would wait for its reader."""
    try:
        return not CAN_POLL or bool(select.select([], [number], [], 0)[1])
    except (OSError, ValueError):
        return True


def end_as(code: int) -> int:
    """End this process as a child has ended: by the signal, if ``code`` is negative; otherwise return the code.

    Where the recorder is stuck, with a sink that never returns, the process ends at once: an end of the usual kind
    would wait for the lock of the stream.
    """
    waits = stuck()
    if waits and (code >= 0 or os.name == "nt"):
        os._exit(code & 0xFF)
    if code >= 0 or os.name == "nt":
        return code
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    except (ImportError, OSError, ValueError):
        pass  # then there may be a core file of ours beside the child's
    for stream in () if waits else (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # nobody reads it
    try:
        signal.signal(-code, signal.SIG_DFL)
    except OSError:
        pass  # SIGKILL and SIGSTOP have no handlers
    os.kill(os.getpid(), -code)
    return 128 - code  # it was one that does not end a process


def fate(code: int) -> str:
    """Return how a process has ended, in words."""
    if code >= 0:
        return "the server ended with exit code %d" % code
    try:
        return "the server was ended by %s" % signal.Signals(-code).name
    except ValueError:
        return "the server was ended by signal %d" % -code


def _write_rest(target: int, rest: memoryview) -> int:
    """Write bytes to a descriptor that has not taken them at once; return how many it will never take."""
    while rest:
        try:
            if CAN_POLL:
                select.select([], [target], [])
            rest = rest[os.write(target, rest):]
        except BlockingIOError:
            pass
        except OSError:
            return len(rest)
    return 0


def _has_more(source: Any) -> bool:
    try:
        return bool(select.select([source], [], [], 0)[0])
    except (OSError, ValueError):  # closed meanwhile
        return False


def _silence(number: int) -> None:
    """Make a descriptor of ours the null device: the other end sees that it is closed, and no file gets its number."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(null, number)
    finally:
        os.close(null)


def _close(file: Any) -> None:
    try:
        file.close()
    except OSError:
        pass
