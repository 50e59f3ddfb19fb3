"""Processes started ahead of their scenes: a scene that wants a conversation of its own does not wait for the start.

Most of the time of an examination over pipes is that of the server's starts. So after the first conversation there is
always one process more, which nobody has talked to yet; and nobody waits for the end of one, either. Sockets and HTTP
have nothing to prepare.
"""

import threading
from collections import deque
from typing import Callable, Deque, Optional

from ..errors import McpError
from ..threads import start_thread
from .talk import Talk, Wire
from .wire import Pipe, Web

_CLOSING = 4
"""Conversations of a server that may be ending while others go on."""


class WiresAhead:
    """Open wires to one server; ``make``: makes one that is not open yet. One thread takes them."""

    def __init__(self, make: Callable[[], Wire]) -> None:
        self._make = make
        self._starting: Optional[threading.Thread] = None
        self._ahead: Optional[Pipe] = None

    def take(self) -> Wire:
        """Return a wire that nobody has used, and have the next one started. Raises `TransportError`."""
        wire = self._spare() or self._opened()
        if isinstance(wire, Pipe) and wire.pid is not None:
            self._starting = start_thread("mcp-ref:examiner", self._start)
        return wire

    def _opened(self) -> Wire:
        wire = self._make()
        if not isinstance(wire, Web):
            wire.open()
        return wire

    def _start(self) -> None:
        try:
            self._ahead = self._opened()  # type: ignore[assignment]
        except McpError:
            pass  # whoever needs one tries again, and hears why it fails

    def _spare(self) -> Optional[Pipe]:
        """Return the wire that was prepared, if there is one, and it has not ended by itself."""
        if self._starting is not None:
            self._starting.join()
        wire, self._ahead, self._starting = self._ahead, None, None
        if wire is not None and wire.ended:
            wire.close()
            return None
        return wire

    def close(self) -> None:
        """End the one that nobody has used."""
        wire = self._spare()
        if wire is not None:
            wire.close()


class Endings:
    """Conversations that are ending; at most a few at a time."""

    def __init__(self) -> None:
        self._threads: Deque[threading.Thread] = deque()

    def end(self, talk: Talk) -> None:
        """End a conversation; on a pipe without waiting for its end."""
        if not isinstance(talk.wire, Pipe):  # quick, and scenes send to streams that have ended
            talk.close()
            return
        if len(self._threads) >= _CLOSING:
            self._threads.popleft().join()
        self._threads.append(start_thread("mcp-ref:examiner", talk.close))

    def wait(self) -> None:
        """Wait until all have ended."""
        while self._threads:
            self._threads.popleft().join()
