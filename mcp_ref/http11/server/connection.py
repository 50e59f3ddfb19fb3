"""One connection of the HTTP engine.

Who touches what: the selector thread reads, parses, and changes what the selector waits for. Any thread sends, as long
as nothing waits before it; what does not fit into the kernel's buffer waits in the outbox, and the selector
thread sends it. ``lock`` guards everything that both sides touch; nobody waits for a socket with it held, since
no socket here ever blocks.

A connection carries one exchange at a time. What a client sends ahead is kept unread in the parser, up to
PIPELINED bytes and then in the kernel, until the reply before it is on its way; so replies keep the order.
"""

import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Hashable, Optional

from ... import deadline
from .request_parser import RequestParser

if TYPE_CHECKING:
    from .exchange import HttpExchange
    from .reactor import Reactor

PIPELINED = 64 * 1024
"""Bytes of further requests that are kept while one is served; then reading pauses."""
_AT_ONCE = 1024 * 1024
"""Bytes that one connection may send before the selector thread turns to the others."""
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)


def bytes_of(piece: Any) -> Any:
    """Return the object that a piece of the outbox keeps in memory, though part of it may have been sent."""
    return piece.obj if type(piece) is memoryview else piece


class Connection:
    """A client's socket, its parser and its outbox."""

    secure = False
    wants_write = False

    __slots__ = ("sock", "peer", "reactor", "lock", "parser", "exchange", "outbox", "backlog", "stall", "deadline",
                 "gone", "last", "half_closed", "phase", "stage", "interest", "continued", "holds", "holder", "taken",
                 "waits_since")

    def __init__(self, sock: socket.socket, peer: str, reactor: "Reactor") -> None:
        self.sock = sock
        self.peer = peer
        self.reactor = reactor
        self.lock = threading.Lock()
        self.parser = RequestParser(reactor.limits, reactor.bodies)
        self.exchange: Optional["HttpExchange"] = None
        self.outbox: Deque[Any] = deque()
        self.backlog = 0
        self.stall: Optional[float] = None
        """When the client is let go if it goes on reading nothing of the outbox."""
        self.holds = 0
        """Bytes that the outbox keeps in memory; what was sent of a piece stays until all of it was."""
        self.holder: Hashable = None
        """The peer for which they are counted in the account, see `mcp_ref.transports.held`."""
        self.taken = 0
        """Bytes that the client has read of the outbox since it last was empty."""
        self.waits_since: Optional[float] = None
        """The time at which the outbox stopped being empty; None while it is empty."""
        self.deadline: Optional[float] = None
        """When it is let go if it goes on sending nothing."""
        self.gone = False
        self.last = False
        """Whether the connection ends once the outbox is empty."""
        self.half_closed = False
        """Whether the client has said that it sends no more."""
        # Of the selector thread alone:
        self.phase = "open"
        self.stage = "idle"
        self.interest = 0
        self.continued = False

    # Sockets; `tls` has another way

    def receive(self, size: int) -> Optional[bytes]:
        """What has come, b"" for the end, None for nothing yet. Raises OSError."""
        try:
            return self.sock.recv(size)
        except (BlockingIOError, InterruptedError):
            return None

    def transmit(self, data: Any) -> int:
        """Send what fits; how many bytes that was. Raises OSError."""
        try:
            return self.sock.send(data, _FLAGS)
        except (BlockingIOError, InterruptedError):
            return 0

    def handshake(self) -> bool:
        """Go on with a handshake; whether it is over. Raises OSError."""
        return True

    def end_writing(self) -> None:
        """Tell the client that nothing more comes."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was faster

    # With the lock held

    def push(self, data: Any) -> bool:
        """Send this, or keep it for the selector thread; False: the client is gone."""
        if self.gone:
            return False
        if self.outbox:
            self.outbox.append(data)
            self.backlog += len(data)
            self._hold(len(data))
            return True
        try:
            sent = self.transmit(data)
        except OSError:
            self.break_off()
            return False
        if sent < len(data):
            data = bytes(data)  # itself, unless somebody's handler gave something else
            self.outbox.append(memoryview(data)[sent:])
            self.backlog = len(data) - sent
            now = deadline.clock()
            self.waits_since, self.taken = now, 0
            self.holder = self if self.exchange is None or self.exchange.holder is None else self.exchange.holder
            self.stall = now + self.reactor.limits.http_write_timeout
            self._hold(len(data))
            self.reactor.command(self.reactor.update, self)  # after the outbox has it: the lock is not asked for there
        return True

    def flush(self) -> None:
        """Send what waits, as far as the client reads and others need not wait."""
        left = _AT_ONCE
        while self.outbox and left > 0:
            data = self.outbox[0]
            try:
                sent = self.transmit(data)
            except OSError:
                self.break_off()
                return
            if not sent:
                return
            left -= sent
            self.backlog -= sent
            self.taken += sent
            if sent == len(data):
                self.outbox.popleft()
                self._let_go(len(bytes_of(data)))
            else:
                self.outbox[0] = memoryview(data)[sent:]
            self.stall = deadline.clock() + self.reactor.limits.http_write_timeout if self.outbox else None
        if not self.outbox:
            self.waits_since = None

    def _hold(self, size: int) -> None:
        """Count ``size`` bytes that were put into the outbox; see `mcp_ref.transports.held`."""
        self.holds += size
        if not self.reactor.held.add(self.holder, size):
            self.reactor.too_much(self)

    def _let_go(self, size: int) -> None:
        """Count ``size`` bytes that left the outbox."""
        self.holds -= size
        self.reactor.held.free(self.holder, size)

    def let_go_of_outbox(self) -> None:
        """Empty the outbox without sending it."""
        self.outbox.clear()
        self.backlog = 0
        self.waits_since = None
        if self.holds:
            self._let_go(self.holds)

    def break_off(self) -> None:
        """Let the client go, without another word."""
        self.gone = True
        self.let_go_of_outbox()
        self.reactor.command(self.reactor.drop, self)

    def finished(self) -> None:
        """The reply of the current exchange is on its way."""
        self.exchange = None
        if self.gone:
            return
        if self.last or self.outbox or self.half_closed or self.parser.buffered or self.reactor.closing:
            self.reactor.command(self.reactor.proceed, self)
        else:
            self.deadline = deadline.clock() + self.reactor.limits.http_idle_timeout
