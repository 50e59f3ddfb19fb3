"""The commands of other threads and the new connections that the HTTP engine's selector waits for."""

import errno
import selectors
import socket
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple

from mcp_ref import deadline

_PAUSE_SECONDS = 1.0
_AT_ONCE = 32
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class CommandQueue:
    """A queue of commands for the selector thread. `put` is for any thread, the rest for the selector thread."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._woken, self._wake = socket.socketpair()
        for sock in (self._woken, self._wake):
            sock.setblocking(False)
        selector.register(self._woken, selectors.EVENT_READ, self._empty)
        self._ringing = False
        self._commands: Deque[Tuple[Any, ...]] = deque()

    def put(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called on the selector thread. Never waits."""
        self._commands.append((function, *arguments))
        if not self._ringing:
            self._ringing = True
            try:
                self._wake.send(b"!")
            except OSError:
                pass  # full, or over: it is awake anyway

    def _empty(self) -> None:
        try:
            while len(self._woken.recv(1024)) == 1024:
                pass
        except BlockingIOError:
            pass
        # Before the queue is emptied: a command that comes from here on wakes the selector again.
        self._ringing = False

    def take(self) -> Tuple[Any, ...]:
        """Return the next command and its arguments, or ()."""
        return self._commands.popleft() if self._commands else ()

    def close(self) -> None:
        """Close the sockets that wake the selector."""
        self._woken.close()
        self._wake.close()


class Acceptor:
    """The listening sockets in a selector. ``take(socket, peer)`` is called for each connection; all on its thread.

    ``take`` may raise OSError or ValueError for a connection that was reset already; it is closed. ``note(kind, text)``
    is called at each pause.
    """

    def __init__(self, selector: selectors.BaseSelector, take: Callable[[socket.socket, str], None],
                 note: Callable[[str, str], None]) -> None:
        self._selector = selector
        self._take = take
        self._note = note
        self._listeners: List[socket.socket] = []
        self._shared = False
        self._paused: Optional[float] = None

    @property
    def paused(self) -> bool:
        """True while it waits for a free descriptor."""
        return self._paused is not None

    def listen(self, listeners: List[socket.socket], shared: bool = False) -> None:
        """Accept connections from these, which belong to the acceptor from now on.

        ``shared``: other processes accept from them, too. Each takes one at a time then, so that all get some.
        """
        self._listeners, self._shared = listeners, shared
        self._register()

    def freed(self) -> None:
        """Note that a descriptor was freed, and end a pause."""
        if self._paused is not None:
            self._register()

    def look(self, now: float) -> None:
        """Try again after a pause; others may have freed descriptors."""
        if self._paused is not None and now >= self._paused:
            self._register()

    def _register(self) -> None:
        self._paused = None
        for listener in self._listeners:
            self._selector.register(listener, selectors.EVENT_READ, lambda sock=listener: self._accept(sock))

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(1 if self._shared else _AT_ONCE):
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(error)
                return
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._take(sock, str(address[0]))
            except (OSError, ValueError):
                sock.close()

    def _pause(self, error: OSError) -> None:
        if self._paused is None:  # another listener may have noticed it in the same turn
            for listener in self._listeners:
                self._selector.unregister(listener)
        self._paused = deadline.clock() + _PAUSE_SECONDS
        self._note("pauses of accepting", "cannot accept connections for a while: %s" % error)

    def close(self) -> None:
        """Accept nothing more."""
        for listener in self._listeners:
            if self._paused is None:
                self._selector.unregister(listener)
            try:
                if not self._shared:
                    listener.shutdown(socket.SHUT_RDWR)  # a forked copy of this process may hold it open
            except OSError:
                pass  # not every system knows how
            listener.close()
        self._listeners = []
        self._paused = None
