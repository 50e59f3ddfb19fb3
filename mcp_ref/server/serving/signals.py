"""SIGTERM and Ctrl-C for a server that owns its process: `Server.run`, `Server.run_http`, the command line.

==============================  ======================================================================================
signal                          effect
==============================  ======================================================================================
SIGTERM                         New requests are refused. Running ones have `Limits.shutdown_grace` seconds, and
                                answers of the client are still read. Requests that run longer are cancelled. `run` or
                                `run_http` returns, and the program continues after it: its ``finally``, ``with`` and
                                `atexit` run, and it ends with 0
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
"""

import os
import signal
import sys
import threading
from typing import Any, Callable, List, Optional, Protocol, Tuple

from ...deadline import clock
from ...diagnostics.packagelog import settle
from ...threads import start_thread
from ...transports.lines.fds import above_standard

SAME_SECONDS = 0.2
"""Seconds within which a second SIGTERM counts as the same one: process managers signal a group of processes, and some
of these pass the signal on."""
KILLED = 128 + 15
"""The exit code after a second SIGTERM: the one that shells report for a process which the signal has killed."""
_INTERRUPTED = 130
_STOP, _LATE = 0, 255
"""Bytes in the pipe beside the numbers of signals: stop watching; and the handler in Python has run."""
_JOIN_SECONDS = 1.0


class Interrupted(SystemExit, KeyboardInterrupt):
    """A Ctrl-C after which everything was closed in order. Uncaught, it ends the program with exit code 130."""

    def __init__(self) -> None:
        super().__init__()
        self.code = _INTERRUPTED


def interrupted() -> BaseException:
    """Return the exception to raise after a Ctrl-C: `Interrupted`; at an interactive prompt KeyboardInterrupt, because
    `Interrupted` would end the prompt."""
    return KeyboardInterrupt() if hasattr(sys, "ps1") or sys.flags.interactive else Interrupted()


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
        HEARING.append(self)
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
        HEARING.remove(self)
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


class Hearing(Protocol):
    """An object that handles SIGTERM in this process."""

    def forget(self) -> None:
        """Stop handling it: this is a forked copy."""


_LOG_SECONDS = 0.5
"""Seconds to wait until standard error has the last log records."""
HEARING: List[Hearing] = []
"""The objects that handle SIGTERM now. In a forked copy of this process they stop."""
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
        for heard in list(HEARING):
            heard.forget()
        HEARING.clear()
    finally:
        _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_fork)


def tell(text: str) -> None:
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
