"""The bytes that an HTTP server has for a client that reads more slowly than they come.

A piece of a reply goes to the kernel at once, as far as it fits. The rest waits here, counted in the account of
`mcp_ref.transports.held`, until the selector thread (`parking`) finds room in the socket.
"""

from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Hashable, Optional

from ... import deadline

if TYPE_CHECKING:
    from .connection import Connection

_AT_ONCE = 1024 * 1024
"""Bytes that one connection may send before the selector thread turns to the others."""


class Outbox:
    """The outbox of one connection. All methods are called with the lock of the connection held."""

    __slots__ = ("pieces", "backlog", "held", "holder", "taken", "since", "stall", "_connection")

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self.pieces: Deque[Any] = deque()
        self.backlog = 0
        """Bytes that wait."""
        self.held = 0
        """Bytes that the pieces keep in memory; what was sent of a piece stays until all of it was."""
        self.holder: Hashable = None
        """The peer for which these bytes are counted; see `mcp_ref.transports.held`."""
        self.taken = 0
        """Bytes that the client has read since the outbox was last empty."""
        self.since: Optional[float] = None
        """The time at which the outbox stopped being empty; None while it is empty."""
        self.stall: Optional[float] = None
        """The time at which the connection is closed if the client reads nothing until then."""

    def push(self, data: Any) -> bool:
        """Send this, or keep it for the selector thread. Return False if the client is gone."""
        connection = self._connection
        if connection.gone:
            return False
        if self.pieces:
            self.pieces.append(data)
            self.backlog += len(data)
            self._hold(len(data))
            return True
        try:
            sent = connection.transmit(data)
        except OSError:
            connection.break_off()
            return False
        if sent < len(data):
            data = bytes(data)  # itself, unless the handler gave another type
            self.pieces.append(memoryview(data)[sent:])
            self.backlog = len(data) - sent
            now = deadline.clock()
            self.since, self.taken, self.stall = now, 0, now + connection.limits.http_write_timeout
            exchange = connection.exchange
            self.holder = connection if exchange is None or exchange.holder is None else exchange.holder
            self._hold(len(data))
            connection.parking.command(connection.parking.update, connection)
        return True

    def flush(self) -> None:
        """Send what waits, as far as the client reads, and not so much that other clients wait long."""
        connection, left = self._connection, _AT_ONCE
        while self.pieces and left > 0:
            data = self.pieces[0]
            try:
                sent = connection.transmit(data)
            except OSError:
                connection.break_off()
                return
            if not sent:
                return
            left -= sent
            self.backlog -= sent
            self.taken += sent
            if sent == len(data):
                self.pieces.popleft()
                self._free(len(getattr(data, "obj", data)))
            else:
                self.pieces[0] = memoryview(data)[sent:]
            self.stall = deadline.clock() + connection.limits.http_write_timeout
        if not self.pieces:
            self.since = self.stall = None

    def drop(self) -> None:
        """Forget what waits."""
        self.pieces.clear()
        self.backlog, self.since, self.stall = 0, None, None
        if self.held:
            self._free(self.held)

    def _hold(self, size: int) -> None:
        self.held += size
        if not self._connection.engine.held.add(self.holder, size):
            parking = self._connection.parking
            parking.command(parking.close_slow_readers, self.holder)

    def _free(self, size: int) -> None:
        self.held -= size
        self._connection.engine.held.free(self.holder, size)
