"""A server that owns its process (`Server.run`, `Server.run_http`, the command line): SIGTERM, Ctrl-C, and stdio.

==============================  ======================================================================================
signal                          effect
==============================  ======================================================================================
SIGTERM                         New requests are refused. Running ones have `Limits.serve_grace` seconds, over stdio
                                `Limits.shutdown_grace`, and answers of the client are still read. Requests that run
                                longer are cancelled. `run` or `run_http` returns, and the program continues after it:
                                its ``finally``, ``with`` and `atexit` run, and it ends with 0
another SIGTERM before that     the process ends at once, with exit code 143, and nothing else of the program runs
Ctrl-C (SIGINT)                 running requests are cancelled, over stdio after `Limits.drain` seconds, and
                                `Interrupted` is raised: a KeyboardInterrupt that ends the program with exit code 130
                                and without a traceback. A second one ends the wait for handlers
==============================  ======================================================================================

SIGTERM is handled on the main thread only, while it serves, and only if the program has no handler of its own and
does not ignore the signal. Afterwards the handler from before is back.

The signal does not interrupt the main thread, which may run a handler (`Inline`, `MainThreadQueue`): its number is
written to a pipe at once (`signal.set_wakeup_fd`), which the thread ``mcp-ref:signals`` reads. That thread starts
another one (``mcp-ref:ending``), which ends the server, and continues to read.

On stdio `serve` serves one client until it disconnects [2025-11-25 basic/transports §stdio]. The main thread reads,
unless handlers run on it (`MainThreadQueue`); then the main thread runs handlers and another thread reads. When the
client has closed our input, running handlers get a short grace; if one is still stuck then, the process ends without
it, because no client is left and a non-daemon thread of a handler's own would keep the process alive. If a handler is
stuck after SIGTERM, that is logged, the program continues after `Server.run`, and has ``shutdown_grace`` seconds to
end; after that, and if the handler is stuck on the main thread itself, the process ends with exit code 1.
"""

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from ...deadline import clock
from ...diagnostics.packagelog import get_logger, settle
from ...threads import start_thread
from ...transports.base import Transport
from ...transports.lines.fds import above_standard

if TYPE_CHECKING:
    from ...peer.dispatcher import Connection
    from ...peer.main_thread import MainThreadQueue
    from ..server import Server

SAME_SECONDS = 0.2
"""Seconds within which a second SIGTERM counts as the same one: process managers signal a group of processes, and some
of these pass the signal on."""
KILLED = 128 + 15
"""The exit code after a second SIGTERM: the one that shells report for a process which the signal has killed."""
_INTERRUPTED = 130
_STOP, _LATE = 0, 255
"""Bytes in the pipe beside the numbers of signals: stop watching; and the handler in Python has run."""
_JOIN_SECONDS = 1.0


def child_code(module: str, function: str) -> str:
    """Return the text for ``python3 -c`` that calls a function of this package in a child: same path, same bundle."""
    package = sys.modules[__name__.rpartition(".server.")[0]]
    preface = getattr(package.__spec__.loader if package.__spec__ else None, "preface", "")
    return "import sys; sys.path[:] = %r; %sfrom importlib import import_module; import_module(%r).%s()" % (
        sys.path, preface, module, function)


class Interrupted(SystemExit, KeyboardInterrupt):
    """A Ctrl-C after which everything was closed in order. Uncaught, it ends the program with exit code 130."""

    def __init__(self) -> None:
        super().__init__()
        self.code = _INTERRUPTED


def interrupted() -> BaseException:
    """Return the exception to raise after a Ctrl-C: `Interrupted`; at an interactive prompt KeyboardInterrupt, because
    `Interrupted` would end the prompt."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return KeyboardInterrupt()
    # From 3.14 on an uncaught exception is asked for KeyboardInterrupt before SystemExit, and so would show a traceback
    # and end the process by the signal. An excepthook that raises SystemExit has its way in all versions.
    if sys.version_info >= (3, 14) and not isinstance(sys.excepthook, _ExitQuietly):
        sys.excepthook = _ExitQuietly(sys.excepthook)
    return Interrupted()


class _ExitQuietly:
    """An excepthook that ends the program by `Interrupted` as by `SystemExit`; other exceptions go to the one before.
    """

    def __init__(self, before: Callable[..., object]) -> None:
        self._before = before

    def __call__(self, kind: Any, error: BaseException, trace: Any) -> None:
        if isinstance(error, Interrupted):
            raise SystemExit(error.code)
        self._before(kind, error, trace)


class Termination:
    """A context manager that handles SIGTERM, if it may: see the module. ``act`` is then called on a thread of its own.

    ``received``: set when the signal has come; ``acted``: set when ``act`` has returned or raised.
    """

    def __init__(self, act: Callable[[], Any]) -> None:
        self.received = threading.Event()
        self.acted = threading.Event()
        self._act = act
        self._ends: Optional[Tuple[int, int]] = None
        self._wakes = False
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> "Termination":
        if os.name != "posix" or threading.current_thread() is not threading.main_thread():
            return self
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return self
        read, write = map(above_standard, os.pipe())
        os.set_blocking(write, False)
        self._ends = read, write
        self._thread = start_thread("mcp-ref:signals", self._watch, read)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._wakes = before == -1
        if not self._wakes:  # an event loop of the program uses the descriptor
            signal.set_wakeup_fd(before)
        HEARING.append(self.forget)
        signal.signal(signal.SIGTERM, self._hear)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._ends is None:
            return
        os.write(self._ends[1], bytes([_STOP]))
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        self.forget()

    def forget(self) -> None:
        """Restore the handler and the descriptor from before. Called in a forked copy, too, which has no thread."""
        HEARING.remove(self.forget)
        ends, self._ends = self._ends, None
        if signal.getsignal(signal.SIGTERM) == self._hear:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self._wakes:
            now = signal.set_wakeup_fd(-1)
            if ends is None or now != ends[1]:  # another part of the program has set another one meanwhile
                signal.set_wakeup_fd(now)
        for end in ends or ():
            os.close(end)

    def _hear(self, number: int, frame: Any) -> None:
        """Handle the signal, on the main thread between any two instructions.

        The number is in the pipe by now, unless another part of the program has the wakeup descriptor: then it is
        written here.
        """
        ends = self._ends
        if ends is not None:
            try:
                os.write(ends[1], bytes([_LATE if self._wakes else number]))
            except BlockingIOError:
                pass  # it is full of signals

    def _watch(self, read: int) -> None:
        came = 0.0
        while True:
            heard = os.read(read, 64)
            if _STOP in heard:
                return
            if not (signal.SIGTERM in heard or _LATE in heard) or signal.getsignal(signal.SIGTERM) != self._hear:
                continue  # another signal; or the program has set a handler of its own since then
            if not self.received.is_set():
                came = clock()
                self.received.set()
                start_thread("mcp-ref:ending", self._end)
            elif signal.SIGTERM in heard and clock() - came >= SAME_SECONDS:
                leave_at_once(KILLED)

    def _end(self) -> None:
        try:
            self._act()
        finally:
            self.acted.set()


_LOG_SECONDS = 0.5
"""Seconds to wait until standard error has the last log records."""
HEARING: List[Callable[[], None]] = []
"""Functions that stop the handling of SIGTERM; a forked copy of this process calls them."""
_forking = threading.local()


# A forked copy of this process is no server: SIGTERM ends it as it ends other programs. The signal is blocked from
# before the fork until the copy has dropped its handlers. Otherwise a SIGTERM for the copy that comes in between would
# be written to the pipe, which both processes share, and would end the original.

def _before_fork() -> None:
    if HEARING:
        _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _after_fork() -> None:
    mask, _forking.mask = getattr(_forking, "mask", None), None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_fork() -> None:
    try:
        for forget in list(HEARING):
            forget()
        HEARING.clear()
    finally:
        _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_fork)


def print_for_user(text: str) -> None:
    """Print a line for the person at the terminal, on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def leave_at_once(code: int) -> None:
    """Flush what was printed and logged, and end the process at once."""
    settle(_LOG_SECONDS)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError, RuntimeError):
            pass  # the reader is gone, or another thread is writing
    os._exit(code)


def leave_later(code: int, seconds: float) -> None:
    """End the process after ``seconds`` if it has not ended before: a handler that is stuck may keep it alive."""
    def wait() -> None:
        threading.Event().wait(seconds)
        leave_at_once(code)

    start_thread("mcp-ref:exit", wait)


_MARGIN = 2.0
"""Seconds that the end of a connection may take in addition to the grace of its handlers."""


def serve(server: "Server", transport: Transport, exit_when_stuck: bool = True) -> None:
    """Serve one client over this transport on the current thread. Raises `Interrupted` after a Ctrl-C, once closed.

    ``exit_when_stuck``: end the process if a handler is still running after the end.
    """
    connection = server.connection(transport)
    termination = Termination(lambda: _end(connection))
    server.hold(termination)
    try:
        if exit_when_stuck:
            _greet_a_person(server)
        transport.open()
        with termination:
            try:
                if server.executor is not None and server.executor.needs_pump:
                    queue: "MainThreadQueue" = server.executor  # type: ignore[assignment]  # nothing else is pumped
                    _pump(connection, queue, exit_when_stuck, termination)
                else:
                    connection.run()
            finally:
                connection.close()
                connection.wait_closed(server.limits.shutdown_grace + server.limits.drain)
    except KeyboardInterrupt:
        raise interrupted() from None
    finally:
        server.let_go(termination)
    if not exit_when_stuck:
        return
    if not len(connection.inflight):
        return
    if not termination.received.is_set():
        leave_at_once(0)
    _complain(connection)
    leave_later(1, server.limits.shutdown_grace)


def _greet_a_person(server: "Server") -> None:
    """Print a hint on standard error if standard input is a terminal: a person has started the server, not a client."""
    try:
        by_hand = os.isatty(0)
    except OSError:
        return
    if by_hand:
        print_for_user("%s waits for a client: MCP messages on standard input, one JSON object in each line."
                       " A client starts it by itself; Ctrl-C ends it." % server.identity[0])


def _end(connection: "Connection") -> None:
    """Shut the connection down after SIGTERM; end the process if the thread that reads is stuck in a handler."""
    limits = connection.limits
    connection.shut_down("the process was told to end (SIGTERM)", limits.shutdown_grace)
    if not connection.wait_closed(2 * limits.shutdown_grace + _MARGIN):  # a handler blocks the thread that reads
        _complain(connection)
        leave_at_once(1)


def _complain(connection: "Connection") -> None:
    get_logger(__name__).warning("%d requests are still running, shutdown_grace (%g s) after they were cancelled: they"
                                 " are left behind", len(connection.inflight), connection.limits.shutdown_grace)


def _pump(
    connection: "Connection", queue: "MainThreadQueue", exit_when_stuck: bool, termination: Termination
) -> None:
    def read() -> None:
        try:
            connection.run()
        finally:
            queue.close()
            if exit_when_stuck and len(connection.inflight):  # here, too, as the main thread may be what is stuck
                if termination.received.is_set():
                    _complain(connection)
                leave_at_once(int(termination.received.is_set()))

    start_thread("mcp-ref:reader:%s" % connection.transport.name, read)
    while not queue.closed:
        if queue.wait(0.5):
            queue.pump()
