"""What other threads want from the HTTP engine's selector thread, and what it has to say itself.

`Mailbox` is the queue of commands with the socket pair that wakes the selector. `Notices` counts what was refused or
let go, and logs it, the same kind once a second at most: an attacker must not fill a disk.
"""

import selectors
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Counter, Deque, Dict, Tuple

from ... import deadline
from ...diagnostics.packagelog import get_logger
from .leader import Job

if TYPE_CHECKING:
    import logging

_NOTICE_SECONDS = 1.0


class Mailbox:
    """Commands for the selector's thread; `put` is for any thread, the rest for that one."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._woken, self._wake = socket.socketpair()
        for sock in (self._woken, self._wake):
            sock.setblocking(False)
        selector.register(self._woken, selectors.EVENT_READ, self._empty)
        self._ringing = False
        self._commands: Deque[Tuple[Any, ...]] = deque()

    def put(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have this called. Never waits."""
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
        self._ringing = False  # before the queue is emptied: whoever comes from here on rings again

    def take(self) -> Tuple[Any, ...]:
        """The next command and its arguments; () for none."""
        return self._commands.popleft() if self._commands else ()

    def close(self) -> None:
        """Nobody listens any more."""
        self._woken.close()
        self._wake.close()


class Notices:
    """What was refused or let go; ``run`` has a job done where it may block."""

    def __init__(self, run: Callable[[Job], None]) -> None:
        get_log()  # loads what it takes, which fails later if no descriptor is left, and that is worth a record
        self.counters: Counter[str] = Counter()
        self._run = run
        self._said: Dict[str, float] = {}

    def note(self, kind: str, text: str) -> None:
        """Count it, and perhaps log it."""
        self.counters[kind] += 1
        count, now = self.counters[kind], deadline.clock()
        if now - self._said.get(kind, -_NOTICE_SECONDS) >= _NOTICE_SECONDS:
            self._said[kind] = now
            self._run(lambda: get_log().info("%s (%s so far: %d)", text, kind, count))


def get_log() -> "logging.Logger":
    """The logger of the engine."""
    return get_logger(__name__)
