"""Readers and writers of file descriptors that another thread can interrupt.

A thread that sits in ``os.read`` on an empty pipe, or in ``os.write`` on a full one, cannot be freed
by closing the descriptor; worse, the number may be given to another file while the thread still
uses it. Four measures solve this for stdio and for child processes:

- `Wake`: a pipe of its own. Every wait is a ``poll`` on the descriptor and on the wake, and closing
  the transport makes the wake readable for good.
- `Descriptor`: knows which threads use it; the last one that leaves closes it.
- A forked copy of this process (``multiprocessing`` makes one) must not hold a connection open, nor write to one: in
  it, our descriptors become the null device, and transports know that they cannot be used any more.
- Writes never block in the kernel. If the open file is ours alone it is non-blocking. If other processes may share
  it (stdout: they would share the flag, too) `private_pipe` opens the same pipe again. If that is impossible, pieces
  are so small that a pipe which polls as writable takes them whole.

The poll costs 0.4 microseconds for each wake-up. Reads are 64 KiB; while they come back full they
grow to 256 KiB, and so does the pipe: 16 MiB there and back took 57 ms with pipes of 64 KiB, 23 ms with
256 KiB, 21 ms with 1 MiB. A user's pipes may hold 64 MiB together before the kernel makes
new ones tiny, so 256 KiB it is, and only for a pipe that has carried a large message.

Where there is no ``poll`` (Windows; this part is not tested there) reads and writes simply block: a
reader then ends when the other side does, not before.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import os
import select
import stat
import sys
import threading
from typing import Any, Callable, Optional, Set
from weakref import WeakSet

SMALLEST_READ = 64 * 1024
LARGEST_READ = 256 * 1024
_PIPE_SIZE = 256 * 1024
_SET_PIPE_SIZE = 1031
_GET_PIPE_SIZE = 1032
"""The constants F_SETPIPE_SZ and F_GETPIPE_SZ of Linux, which `fcntl` has names for since 3.10."""
_SOCKET_SLICE = 32 * 1024
"""The bytes that a stream socket takes if it polls as writable: three quarters of its buffer are free."""

CAN_POLL = hasattr(select, "poll")


def wait_ready(sock: Any, seconds: Optional[float], for_writing: bool = False) -> bool:
    """Wait until a socket has something to read, be it the end, or room to write. Return False on a timeout."""
    if not CAN_POLL:
        return any(select.select([] if for_writing else [sock], [sock] if for_writing else [], [], seconds))
    poll = select.poll()
    poll.register(sock, select.POLLOUT if for_writing else select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


_PRIVATE: Set[int] = set()


def keep_from_forks(number: int) -> None:
    """Make this descriptor the null device in forked copies of this process, until `release_to_forks`."""
    _PRIVATE.add(number)


def release_to_forks(number: int) -> None:
    """Undo `keep_from_forks`. Call this before the descriptor is closed."""
    _PRIVATE.discard(number)


_PRIVATE_SOCKETS: "WeakSet[Any]" = WeakSet()
_TOLD: "WeakSet[Any]" = WeakSet()
FORKED = "it belongs to the process that this one was forked from: connect anew"
"""The reason why a connection cannot be used in a forked copy of the process."""


def keep_socket_from_forks(sock: Any) -> None:
    """Make this socket the null device in forked copies of this process, as long as it is open."""
    _PRIVATE_SOCKETS.add(sock)


def tell_of_fork(transport: Any) -> None:
    """Have the ``forked`` of this object called in forked copies of this process, as long as it lives.

    In the copy there is one thread, and locks that another one held are held for ever.
    """
    _TOLD.add(transport)


def _silence_forked_copy() -> None:
    numbers = list(_PRIVATE) + [sock.fileno() for sock in _PRIVATE_SOCKETS]
    if numbers:
        null = os.open(os.devnull, os.O_RDWR)
        for number in numbers:
            if number >= 0:  # not closed meanwhile
                os.dup2(null, number, inheritable=False)
        os.close(null)
    for transport in list(_TOLD):
        transport.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_silence_forked_copy)


class Closed(OSError):
    """The error of a descriptor that its own side has closed."""


class Wake:
    """The end of every wait of one transport, once and for good. Several descriptors share it."""

    def __init__(self) -> None:
        self.done = False
        self._holders = 0
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._pipe = tuple(map(above_standard, os.pipe())) if CAN_POLL else None

    def hold(self) -> int:
        """Keep it open until `release`. Return the descriptor to poll, -1 where there is no polling."""
        with self._lock:
            self._holders += 1
        return self._pipe[0] if self._pipe else -1

    def release(self) -> None:
        """Undo one `hold`; the last one closes it."""
        with self._lock:
            self._holders -= 1
            if self._holders or self._pipe is None:
                return
            ends, self._pipe = self._pipe, None
        for number in ends:
            os.close(number)

    def set(self) -> None:
        """End all waits, present and later ones."""
        with self._lock:
            if not self.done:
                self.done = True
                if self._pipe is not None and self._owner == os.getpid():  # a forked copy must not wake the original
                    os.write(self._pipe[1], b"!")  # never read, so it wakes everybody


class Descriptor:
    """A file or socket that a reader and a writer use. Any thread may close it; the last one that leaves it does so.

    The reader raises its flag ``reading`` before it looks at ``closing``, and lowers it before it looks again;
    so does the writer with ``writing``; `close` sets ``closing`` before it looks at the flags. So each sees the
    other or is seen, without a lock, and a signal handler may call `close` anywhere. There is one reader and
    one writer at a time. A thread that waits inside must be woken by other means.
    """

    __slots__ = ("reading", "writing", "closing", "_to_do")

    def __init__(self, really_close: Callable[[], Any]) -> None:
        self.reading = False
        self.writing = False
        self.closing = False
        self._to_do = [really_close]

    def close(self) -> None:
        """Close it, now or when the last thread leaves it."""
        self.closing = True
        self.settle()

    def settle(self) -> None:
        """Close it if that is due. A thread calls this that leaves it and finds ``closing`` set."""
        if self.closing and not self.reading and not self.writing:
            try:
                really_close = self._to_do.pop()
            except IndexError:
                return  # another thread was here at the same moment
            really_close()


class _End:
    """An end of a stream: a descriptor and the wake that frees threads which wait for it. Owns ``number``."""

    _events = 0

    def __init__(self, number: int, wake: Wake) -> None:
        self.number = number
        self.wake = wake
        self.descriptor = Descriptor(self._really_close)
        self._enlarged = False
        self._wait: Callable[..., Any] = _waiter(number, wake.hold(), self._events)
        keep_from_forks(number)

    def _really_close(self) -> None:
        release_to_forks(self.number)
        os.close(self.number)
        self.wake.release()

    def close(self) -> None:
        """Close the descriptor as soon as no thread uses it; see `Wake.set`."""
        self.descriptor.close()

    def _enlarge(self) -> None:
        if not self._enlarged:
            self._enlarged = True
            _enlarge_pipe(self.number)


class FdReader(_End):
    """A reader of a descriptor, for one thread."""

    _events = select.POLLIN if CAN_POLL else 0

    def __init__(self, number: int, wake: Wake) -> None:
        super().__init__(number, wake)
        self._size = SMALLEST_READ
        self._may_try = CAN_POLL and not os.get_blocking(number)
        self._eager = False  # under load: try before waiting, which saves every other system call

    def read(self) -> bytes:
        """Wait for bytes and return them, b"" at the end. Raises `Closed` after the wake, and OSError."""
        descriptor = self.descriptor
        descriptor.reading = True
        try:
            while not descriptor.closing:
                if not self._eager:
                    self._wait()
                if self.wake.done:
                    break
                try:
                    chunk = os.read(self.number, self._size)
                except BlockingIOError:  # nothing there; or another process reads it, and was faster
                    self._eager = False
                    continue
                if self._may_try and chunk.count(b"\n") > 1:
                    self._eager = True
                if len(chunk) == self._size or self._size != SMALLEST_READ:
                    self._adapt(len(chunk))
                return chunk
            raise Closed("closed")
        finally:
            descriptor.reading = False
            if descriptor.closing:
                descriptor.settle()

    def _adapt(self, got: int) -> None:
        """Adapt the size of the next read: a large buffer costs 10 microseconds each time, so it must be used."""
        if got == self._size:
            self._enlarge()
            self._size = min(LARGEST_READ, 2 * self._size)
        elif got < SMALLEST_READ // 2:
            self._size = SMALLEST_READ

    def drain(self, milliseconds: int) -> bool:
        """Wait that long for bytes and throw them away. Return True at the end.

        For the thread that is about to close it; takes no notice of the wake. The open file is non-blocking.
        """
        try:
            poll = select.poll()
            poll.register(self.number, self._events)
            return bool(poll.poll(milliseconds)) and not os.read(self.number, LARGEST_READ)
        except BlockingIOError:
            return False
        except OSError:
            return True


class FdWriter(_End):
    """A writer of a descriptor, for one thread at a time, in `ready` as well.

    ``non_blocking``: the open file is in that mode. Otherwise it is written in pieces that do not block.
    """

    _events = select.POLLOUT if CAN_POLL else 0

    def __init__(self, number: int, wake: Wake, non_blocking: bool) -> None:
        super().__init__(number, wake)
        self._at_once = non_blocking or not CAN_POLL
        self._slice = LARGEST_READ if self._at_once else _safe_slice(number)
        self._os_write = pipe_write()
        self._capacity = 0  # of the pipe, once it was asked for; -1: unknown
        self.is_atomic = self._at_once and CAN_POLL and stat.S_ISFIFO(os.fstat(number).st_mode)
        """True if a small write goes through whole or not at all, without a poll: to a non-blocking pipe."""

    def write_at_once(self, data: bytes) -> bool:
        """Write everything if that needs no waiting. Return False if nothing was written. Only where it `is_atomic`."""
        if len(data) > select.PIPE_BUF:
            if not self.ready(len(data)):
                return False
            self.write(data)
            return True
        descriptor = self.descriptor
        descriptor.writing = True
        try:
            if descriptor.closing or self.wake.done:
                raise Closed("closed")
            self._os_write(self.number, data)
            return True
        except BlockingIOError:
            return False
        finally:
            descriptor.writing = False
            if descriptor.closing:
                descriptor.settle()

    def unread(self) -> int:
        """Return how many bytes are in the pipe that nobody has read; 0 where the system does not tell."""
        try:
            import fcntl
            import termios

            return int.from_bytes(fcntl.ioctl(self.number, termios.FIONREAD, bytes(4)), sys.byteorder)
        except (ImportError, OSError):
            return 0

    def write(self, data: bytes) -> None:
        """Write everything, waiting for the reader. Raises `Closed` after the wake, and OSError (EPIPE)."""
        descriptor = self.descriptor
        descriptor.writing = True
        try:
            if descriptor.closing or self.wake.done:
                raise Closed("closed")
            sent = 0
            if self._at_once:
                try:
                    sent = self._os_write(self.number, data)
                except BlockingIOError:
                    pass
            if sent < len(data):
                self._write_rest(memoryview(data), sent)
        finally:
            descriptor.writing = False
            if descriptor.closing:
                descriptor.settle()

    def _write_rest(self, data: memoryview, sent: int) -> None:
        if len(data) - sent >= SMALLEST_READ:
            self._enlarge()
        while sent < len(data):
            self._wait()
            if self.wake.done:
                raise Closed("closed")
            try:
                sent += self._os_write(self.number, data[sent:sent + self._slice])
            except BlockingIOError:
                pass

    def ready(self, size: int) -> bool:
        """Return True if so many bytes can surely be written without waiting.

        A descriptor that polls as writable takes few bytes, an empty pipe many.
        """
        if not CAN_POLL:
            return False
        descriptor = self.descriptor
        descriptor.writing = True
        try:
            if descriptor.closing or size <= select.PIPE_BUF:
                return descriptor.closing or bool(self._wait(0))  # closed: writing says so at once
            return size <= LARGEST_READ and self._room_when_empty() >= size
        finally:
            descriptor.writing = False
            if descriptor.closing:
                descriptor.settle()

    def _room_when_empty(self) -> int:
        import fcntl
        import termios

        if self._capacity == 0:
            self._capacity = _pipe_capacity(self.number)
        if self._capacity < 0 or any(fcntl.ioctl(self.number, termios.FIONREAD, bytes(4))):
            return 0
        return self._capacity

    def _enlarge(self) -> None:
        super()._enlarge()
        self._capacity = 0


def _waiter(number: int, wake_number: int, events: int) -> Callable[..., Any]:
    """Return a function that waits until the descriptor is ready or the wake is set."""
    if not CAN_POLL:
        return lambda: None
    poll = select.poll()
    poll.register(number, events)
    poll.register(wake_number, select.POLLIN)
    return poll.poll


def pipe_write() -> Callable[[int, Any], int]:
    """Return ``os.write``, or one that a broken pipe cannot kill.

    Python ignores SIGPIPE from the start. A program may have changed that, and one that embeds Python
    may never have had it; its default is to end the process.
    """
    import signal

    if not hasattr(signal, "SIGPIPE") or signal.getsignal(signal.SIGPIPE) != signal.SIG_DFL:
        return os.write

    def write(number: int, data: Any) -> int:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        try:
            return os.write(number, data)
        except BrokenPipeError:
            if signal.SIGPIPE in signal.sigpending() and signal.SIGPIPE not in before:
                signal.sigwait({signal.SIGPIPE})  # it is pending for this thread: take it away
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return write


def above_standard(number: int) -> int:
    """Return this descriptor, or in its place a copy with a number above 2.

    A process that was started without some of its standard streams gets those numbers for the next files
    it opens, and then a stray ``print`` writes into them.
    """
    if number > 2:
        return number
    try:
        return above_standard(os.dup(number))
    finally:
        os.close(number)


def private_pipe(number: int) -> Optional[int]:
    """Return a non-blocking descriptor for the same pipe, whose mode no other process shares, or None.

    Only Linux has them, and only for pipes.
    """
    try:
        if not stat.S_ISFIFO(os.fstat(number).st_mode):
            return None  # opening a file or a terminal again is not the same
        return os.open("/proc/self/fd/%d" % number, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return None


def _safe_slice(number: int) -> int:
    """Return how many bytes can be written without blocking to a descriptor that polls as writable [POSIX]."""
    mode = os.fstat(number).st_mode
    if stat.S_ISSOCK(mode):
        return _SOCKET_SLICE
    return LARGEST_READ if stat.S_ISREG(mode) else select.PIPE_BUF


def _enlarge_pipe(number: int) -> None:
    try:
        import fcntl

        if fcntl.fcntl(number, _GET_PIPE_SIZE) < _PIPE_SIZE:
            fcntl.fcntl(number, _SET_PIPE_SIZE, _PIPE_SIZE)
    except (ImportError, OSError):
        pass  # not a pipe, not Linux, or the user's allowance is used up: it works without


def _pipe_capacity(number: int) -> int:
    """Return how many bytes an empty pipe takes; -1 if it is no pipe, or anywhere but on Linux."""
    try:
        import fcntl

        return fcntl.fcntl(number, _GET_PIPE_SIZE) if sys.platform == "linux" else -1
    except (ImportError, OSError):
        return -1


def raise_soft_limit(wanted: int) -> int:
    """Allow this process so many descriptors, as far as its owner allows it. Return how many it may have."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):
            return soft
    return max(soft, most)
