"""A child process with pipes to its three streams: its start, its output, its end.

`mcp_ref.transports.lines.commands` finds the program; `mcp_ref.transports.lines.child` makes a transport of the process
and describes its faults. Nothing here deals with messages, so a `Process` can outlive a forgotten transport until it
is reaped.

POSIX: the child leads a session and a process group of its own. Windows (untested): a process group of
its own without a console window; only the process itself can be ended, not what it started.
"""

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Dict, List, Optional, Set, Union

from ...deadline import Deadline
from ...diagnostics import INDENT
from ...diagnostics.usercode import log_raised, name_of
from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from .commands import WINDOWS, command_line
from .fds import CAN_POLL, FdReader, FdWriter, Wake, above_standard, keep_from_forks, release_to_forks
from .stderr import EachLine, Lines, Receivers

StderrSink = Union[str, EachLine, Callable[[bytes], Any], IO[Any]]
"""The target of a child's stderr. ``"ring"``: only kept; ``"inherit"``: our own stderr, nothing kept; an `EachLine`,
see `mcp_ref.transports.lines.stderr`; a function that gets chunks of bytes; a file that they are written to as they
come."""

SETTLE = 0.5
"""The seconds that the end of a stream and the end of the process may lie apart, where both matter."""
_QUIET_MILLISECONDS = 50
"""The silence on a pipe of an ended process after which none of its output can be on its way."""
_LOOK_AFTER = 64
"""The reads of a busy pipe between two looks at whether the process still runs."""
_LAST_LINES = 8
_LAST_LINE = 200
"""The characters of each of the last lines that an error shows."""
_DRAIN_MILLISECONDS = 50
_KILL_WAIT = 5.0
"""The seconds that the system has to end a process after SIGKILL."""


# --- Noticing its end -------------------------------------------------------------------------------------------------

def watch_end(process: "subprocess.Popen[bytes]") -> int:
    """Return a descriptor that polls as readable once the process has ended; -1 where there is none.

    Linux has one for each process. Elsewhere, and before Python 3.9, a thread waits for the process and writes to a
    pipe. Without either (no descriptors or threads are left) only the ends of the streams tell.
    """
    if not CAN_POLL:
        return -1
    if hasattr(os, "pidfd_open"):
        try:
            return above_standard(os.pidfd_open(process.pid))
        except OSError:
            pass  # an old kernel, a sandbox, no descriptors left
    try:
        reading, writing = map(above_standard, os.pipe())
    except OSError:
        return -1
    keep_from_forks(writing)
    name = "mcp-ref:child:%d" % process.pid
    try:
        threading.Thread(target=_tell_end, args=(process, writing), name=name, daemon=True).start()
    except RuntimeError:
        release_to_forks(writing)
        os.close(writing)
        os.close(reading)
        return -1
    return reading


def _tell_end(process: "subprocess.Popen[bytes]", writing: int) -> None:
    """Wait for the process, and write to this descriptor, which is closed then."""
    try:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # the thread that wants its exit code reaps it
        else:
            process.wait()
    except OSError:
        pass  # it was reaped already
    release_to_forks(writing)
    try:
        os.write(writing, b"!")
    except OSError:
        pass  # the reader is gone
    os.close(writing)


class _Over(Exception):
    """The sign that the process has ended, and that nothing more comes on its pipe."""


class ChildReader(FdReader):
    """A reader of a pipe of a child, to its end, or until shortly after the end of the child.

    Another process that the child has started may hold the pipe open, and then the end of the stream never comes. What
    the child has written is in the pipe when it ends. So from then on a short silence counts as the end, and so does
    the time SETTLE if the other process goes on writing.

    ``ended``: a descriptor of `watch_end`, which belongs to the reader; -1 for none.
    """

    def __init__(self, number: int, wake: Wake, ended: int) -> None:
        super().__init__(number, wake)
        self._ended = ended
        self._until: Optional[Deadline] = None
        self._reads = 0
        if ended >= 0:
            self._poll = select.poll()
            self._poll.register(number, self._events)
            self._poll.register(wake.hold(), select.POLLIN)
            wake.release()  # the base class keeps it open as long as this reader is
            self._poll.register(ended, select.POLLIN)
            self._wait = self._wait_or_end

    def _wait_or_end(self) -> None:
        """Wait for bytes, for the wake or for the end of the process. Raises `_Over`."""
        if self._until is None:
            for number, _ in self._poll.poll():
                if number == self._ended:
                    self._poll.unregister(number)
                    self._until = Deadline(SETTLE)
        elif not self._poll.poll(_QUIET_MILLISECONDS):
            raise _Over

    def read(self) -> bytes:
        """Wait for bytes and return them, b"" at the end; see `FdReader.read`."""
        self._reads += 1
        if self._until is not None:
            if self._until.expired():
                return b""
        elif self._reads % _LOOK_AFTER == 0:
            self._eager = False
        try:
            return super().read()
        except _Over:
            return b""

    def _really_close(self) -> None:
        super()._really_close()
        if self._ended >= 0:
            os.close(self._ended)


# --- The process ------------------------------------------------------------------------------------------------------

class Process:
    """The child, and the way it is ended. It outlives a forgotten transport until it is reaped."""

    def __init__(self, process: "subprocess.Popen[bytes]", stdin: FdWriter, stdout: FdReader,
                 stderr: "Stderr") -> None:
        self.process = process
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._owner = os.getpid()
        _LIVE.add(self)

    def ours(self) -> bool:
        """Return False in a forked copy of this process: the child is not its child."""
        return self._owner == os.getpid()

    def release(self) -> None:
        """Free every thread that waits, and close our ends, the child's stdin above all. Waits for nothing."""
        self.stdin.wake.set()
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()

    def wait(self, seconds: float) -> bool:
        """Return True if it has ended, after at most that time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        _LIVE.discard(self)
        return True

    def leave(self, seconds: float) -> bool:
        """Wait for its end while throwing away its output. Return True if it has ended."""
        deadline = Deadline(seconds)
        while CAN_POLL and not deadline.expired():
            if self.stdout.drain(_DRAIN_MILLISECONDS):
                break
            if self.wait(0):  # another process, a child of the child perhaps, keeps its stdout open
                return True
        return self.wait(deadline.left() or 0)

    def signal(self, name: str) -> None:
        """Send SIGTERM or SIGKILL to its whole group. On Windows end the process, whatever the name."""
        try:
            if WINDOWS:
                self.process.terminate()
            elif self.process.returncode is None:  # until it is reaped, its number belongs to it
                os.killpg(self.process.pid, getattr(signal, name))
        except (ProcessLookupError, PermissionError):
            pass  # ended meanwhile

    def end(self, grace: float, terminate_grace: float) -> None:
        """End it [..2025-11-25 basic/lifecycle §Shutdown > stdio] SHOULD: close stdin, wait, SIGTERM, wait, SIGKILL."""
        self.stdin.close()
        if self.leave(grace):
            return
        self.signal("SIGTERM")
        if self.leave(terminate_grace):
            return
        self.signal("SIGKILL")
        self.leave(_KILL_WAIT)

    def fate(self, seconds: float) -> str:
        """Return the text that says how it ended; "" if it still runs after that time."""
        if not self.wait(seconds):
            return ""
        code = self.process.returncode
        if code >= 0:
            return "server exited with code %d" % code
        try:
            return "server was killed by %s" % signal.Signals(-code).name
        except ValueError:
            return "server was killed by signal %d" % -code


_LIVE: Set[Process] = set()
"""The children that have not been reaped."""


def sweep() -> None:
    """Reap the children of forgotten transports that have ended."""
    for child in list(_LIVE):
        if child.ours():
            child.wait(0)


@atexit.register
def _end_all() -> None:
    """End the children that are left, all at the same time. Starts no thread and takes no lock that user code may hold.
    """
    children = [child for child in list(_LIVE) if child.ours()]
    for child in children:
        child.release()
    for name, seconds in (("", DEFAULT.shutdown_grace), ("SIGTERM", DEFAULT.terminate_grace), ("SIGKILL", _KILL_WAIT)):
        deadline = Deadline(seconds)
        for child in children:
            if name:
                child.signal(name)
        children = [child for child in children if not child.wait(deadline.left() or 0)]


# --- stderr -----------------------------------------------------------------------------------------------------------

class Stderr:
    """A reader of the child's stderr, with a thread of its own. It keeps the tail; ``on_line`` gets each line."""

    def __init__(self, sink: StderrSink, limits: Limits, on_line: Optional[Callable[[str], Any]] = None) -> None:
        self.tail = b""
        self._keep = max(1, limits.stderr_tail_bytes)
        self._sink = None if isinstance(sink, (str, EachLine)) else _sink(sink)
        tells = ([sink.tell] if isinstance(sink, EachLine) else []) + ([on_line] if on_line is not None else [])
        self._lines = Lines(limits.max_stderr_line_bytes, Receivers(*tells)) if tells else None
        self._thread: Optional[threading.Thread] = None

    def start(self, wake: Wake, number: Optional[int], ended: int) -> None:
        """Drain this descriptor. None: there is nothing to drain, as the child has our own stderr.

        ``ended``: see `ChildReader`.
        """
        wake.hold()
        try:
            if number is not None:
                self._reader = ChildReader(number, wake, ended)
                self._thread = threading.Thread(target=self._drain, name="mcp-ref:stderr:child", daemon=True)
                self._thread.start()
        finally:
            wake.release()

    def _drain(self) -> None:
        try:
            while True:
                chunk = self._reader.read()
                if not chunk:
                    break
                self.tail = (self.tail + chunk)[-self._keep:]
                self._pass_on(chunk)
        except OSError:
            pass  # closed
        if self._lines is not None:
            self._lines.finish()
        self._reader.close()

    @property
    def cut(self) -> int:
        """The number of lines that were longer than ``max_stderr_line_bytes``."""
        return self._lines.cut if self._lines is not None else 0

    def _pass_on(self, chunk: bytes) -> None:
        if self._lines is not None:
            self._lines.feed(chunk)
        if self._sink is not None:
            try:
                self._sink(chunk)
            except Exception as error:
                sink, self._sink = self._sink, None
                log_raised("receiver %s of a child's stderr, which gets no more," % name_of(sink), error)

    def settle(self, seconds: float) -> None:
        """Wait at most that long for its end."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def close(self) -> None:
        """End the thread, also if another process keeps the pipe open."""
        if self._thread is not None:
            self._reader.wake.set()
            self._reader.close()

    def last_words(self) -> str:
        """Return the last lines of the tail, each indented on a line of its own; a single one as it is; "" for none."""
        text = self.tail[-4 * _LAST_LINES * _LAST_LINE:].decode("utf-8", "replace")
        lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
        shown = ["".join(character if character.isprintable() else "?" for character in line) for line in lines]
        shown = [line if len(line) <= _LAST_LINE else "..." + line[3 - _LAST_LINE:] for line in shown]
        return "".join(INDENT + line for line in shown) if len(shown) > 1 else "".join(shown).strip()


def _sink(target: Union[Callable[[bytes], Any], IO[Any]]) -> Callable[[bytes], Any]:
    """Return the function that a chunk is given to."""
    write = getattr(target, "write", None)
    if write is None:
        return target  # type: ignore[return-value]
    text = hasattr(target, "encoding")

    def to_file(chunk: bytes) -> None:
        write(chunk.decode("utf-8", "replace") if text else chunk)
        flush = getattr(target, "flush", None)
        if flush is not None:
            flush()

    return to_file


# --- Starting it ------------------------------------------------------------------------------------------------------

def spawn(
    words: List[str], env: Dict[str, str], cwd: Optional[str], stderr: StderrSink, limits: Limits,
    on_line: Optional[Callable[[str], Any]] = None,
) -> Process:
    """Start the process and connect to it. ``on_line``: see `Stderr`.

    Raises `ConnectFailed`; then nothing is left open.
    """
    line = command_line(words)
    theirs: List[int] = []
    ours: List[int] = []
    wakes: List[Wake] = []
    try:
        wakes += [Wake(), Wake()]  # first, so that nothing can fail once the process runs
        for read_end_is_theirs in (True, False) if stderr == "inherit" else (True, False, False):
            reading, writing = map(above_standard, os.pipe())
            theirs.append(reading if read_end_is_theirs else writing)
            ours.append(writing if read_end_is_theirs else reading)
        process = _popen(line, env, cwd, theirs)
    except (OSError, ValueError) as error:  # ValueError: a NUL in a word
        for number in ours:
            os.close(number)
        for wake in wakes:
            wake.hold()
            wake.release()
        raise ConnectFailed("cannot start %r: %s" % (words[0], _why_not(error, cwd))) from error
    finally:
        for number in theirs:
            os.close(number)
    if CAN_POLL:
        for number in ours:
            os.set_blocking(number, False)  # these open files are ours alone
    ended = watch_end(process)
    writer, reader = FdWriter(ours[0], wakes[0], CAN_POLL), ChildReader(ours[1], wakes[0], ended)
    child = Process(process, writer, reader, Stderr(stderr, limits, on_line))
    try:
        child.stderr.start(wakes[1], ours[2] if len(ours) > 2 else None, _copy_of(ended) if len(ours) > 2 else -1)
    except RuntimeError as error:  # no more threads
        child.release()
        child.signal("SIGKILL")
        child.wait(_KILL_WAIT)
        raise ConnectFailed("cannot start %r: %s" % (words[0], error)) from error
    return child


def _copy_of(number: int) -> int:
    """Return another descriptor for the same process; -1 if there is none, or none is left."""
    try:
        return above_standard(os.dup(number)) if number >= 0 else -1
    except OSError:
        return -1


def _popen(
    line: Union[str, List[str]], env: Dict[str, str], cwd: Optional[str], streams: List[int]
) -> "subprocess.Popen[bytes]":
    options: Dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(line, stdin=streams[0], stdout=streams[1], stderr=streams[2] if len(streams) > 2 else None,
                            env=env, cwd=cwd, bufsize=0, close_fds=True, **options)


def _why_not(error: Exception, cwd: Optional[str]) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return "the folder %s does not exist" % cwd
    return str(error)
