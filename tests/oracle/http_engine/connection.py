"""A connection of the HTTP engine, and the exchange on it: a request whose handler is called, and its reply.

The selector thread reads, parses, and changes what the selector waits for. Any thread sends, as long as the outbox is
empty. Data that does not fit into the kernel's buffer waits in the outbox, and the selector thread sends it. ``lock``
guards everything that both sides touch. No thread waits for a socket with the lock held, since no socket here blocks.

A connection carries one exchange at a time. What a client sends ahead is kept unread in the parser, up to
PIPELINED bytes and then in the kernel, until the reply before it is on its way; so replies keep the order.

A reply goes out on the thread that has it, as far as the kernel takes it. Everything that could be taken for the end of
a reply is sent by one call with the connection's lock held, so several threads may send pieces of a stream.
"""

import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Hashable, Optional

from mcp_ref import deadline
from mcp_ref.diagnostics.packagelog import get_logger
from mcp_ref.limits import Limits
from mcp_ref.transports.held import MemoryAccount
from mcp_ref.transports.lines.fds import keep_socket_from_forks
from mcp_ref.http11.message import Exchange, HttpRequest, Pairs
from .body_budget import SMALL, BodyBudget, NoRoom, weight
from .request_parser import RequestHead, RequestParser
from .responses import LAST_CHUNK, has_body, refusal, reply_head, whole_reply

if TYPE_CHECKING:
    import logging

PIPELINED = 64 * 1024
"""The bytes of further requests that are kept while one is served; then reading pauses."""
_AT_ONCE = 1024 * 1024
"""Bytes that one connection may send before the selector thread turns to the others."""
_APART = 64 * 1024
"""Bodies from this size on are not copied behind their heads."""
_NEW, _STREAM, _DONE = range(3)
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)


def bytes_of(piece: Any) -> Any:
    """Return the object that a piece of the outbox keeps in memory, though part of it may have been sent."""
    return piece.obj if type(piece) is memoryview else piece


def get_log() -> "logging.Logger":
    """Return the logger of the engine."""
    return get_logger(__name__)


class Engine:
    """The engine that a connection belongs to, as the connection sees it; the one engine is `reactor.Reactor`."""

    handler: Callable[[Exchange], None]
    limits: Limits
    bodies: BodyBudget
    held: MemoryAccount
    draining = False
    """True once each reply is the last one of its connection."""
    closing = False

    # For any thread; none of these waits

    def command(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have the selector thread call a function, such as one of those below."""
        raise NotImplementedError

    def too_slow(self, connection: "ClientConnection") -> None:
        """End the connection of a client that reads too slowly. Its lock is held."""
        raise NotImplementedError

    def too_much(self, connection: "ClientConnection") -> None:
        """Have room made: what waits for this client exceeds a limit of `mcp_ref.transports.held`. Its lock is held."""
        raise NotImplementedError

    # For the selector thread alone

    def update(self, connection: "ClientConnection") -> None:
        """Register with the selector what this connection waits for: reading, writing, both or nothing."""
        raise NotImplementedError

    def proceed(self, connection: "ClientConnection") -> None:
        """Continue after a reply, with the next request or with the end of the connection."""
        raise NotImplementedError

    def drop(self, connection: "ClientConnection") -> None:
        """Free all that a connection holds which is gone, and tell its exchange. A second call does nothing."""
        raise NotImplementedError

    def leave(self, connection: "ClientConnection", exchange: "HttpExchange") -> None:
        """Close a connection whose client had ended its side before this exchange was watched."""
        raise NotImplementedError

    def no_room(self, connection: "ClientConnection", why: str) -> None:
        """Count and log a body for which there was no room."""
        raise NotImplementedError


class ClientConnection:
    """A client's socket, its parser and its outbox."""

    secure = False
    wants_write = False

    __slots__ = ("sock", "peer", "reactor", "lock", "parser", "exchange", "outbox", "backlog", "stall", "deadline",
                 "gone", "last", "half_closed", "phase", "stage", "interest", "continued", "holds", "holder", "taken",
                 "waits_since")

    def __init__(self, sock: socket.socket, peer: str, reactor: Engine) -> None:
        keep_socket_from_forks(sock)
        self.sock = sock
        self.peer = peer
        self.reactor = reactor
        self.lock = threading.Lock()
        self.parser = RequestParser(reactor.limits, reactor.bodies)
        self.exchange: Optional["HttpExchange"] = None
        self.outbox: Deque[Any] = deque()
        self.backlog = 0
        self.stall: Optional[float] = None
        """The time at which the connection is closed if the client reads nothing of the outbox until then."""
        self.holds = 0
        """Bytes that the outbox keeps in memory; what was sent of a piece stays until all of it was."""
        self.holder: Hashable = None
        """The peer for which these bytes are counted; see `mcp_ref.transports.held`."""
        self.taken = 0
        """Bytes that the client has read of the outbox since it last was empty."""
        self.waits_since: Optional[float] = None
        """The time at which the outbox stopped being empty; None while it is empty."""
        self.deadline: Optional[float] = None
        """The time at which the connection is closed if the client sends nothing until then."""
        self.gone = False
        self.last = False
        """True if the connection ends once the outbox is empty."""
        self.half_closed = False
        """True if the client has said that it sends no more."""
        # Of the selector thread alone:
        self.phase = "open"
        self.stage = "idle"
        self.interest = 0
        self.continued = False

    # Sockets; `tls` has another way

    def receive(self, size: int) -> Optional[bytes]:
        """Return the bytes that have come, b"" at the end, None if there are none yet. Raises OSError."""
        try:
            return self.sock.recv(size)
        except (BlockingIOError, InterruptedError):
            return None

    def transmit(self, data: Any) -> int:
        """Send what fits, and return how many bytes that was. Raises OSError."""
        try:
            return self.sock.send(data, _FLAGS)
        except (BlockingIOError, InterruptedError):
            return 0

    def handshake(self) -> bool:
        """Go on with a handshake. Return True when it is over. Raises OSError."""
        return True

    def end_writing(self) -> None:
        """Tell the client that nothing more comes."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was faster

    # With the lock held

    def push(self, data: Any) -> bool:
        """Send this, or keep it for the selector thread. Return False if the client is gone."""
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
            data = bytes(data)  # itself, unless the handler gave another type
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
        """Send what waits, as far as the client reads, and not so much that other clients wait long."""
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
                self._release(len(bytes_of(data)))
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

    def _release(self, size: int) -> None:
        """Count ``size`` bytes that left the outbox."""
        self.holds -= size
        self.reactor.held.free(self.holder, size)

    def drop_outbox(self) -> None:
        """Empty the outbox without sending it."""
        self.outbox.clear()
        self.backlog = 0
        self.waits_since = None
        if self.holds:
            self._release(self.holds)

    def break_off(self) -> None:
        """End the connection without sending what waits. The selector thread closes it."""
        self.gone = True
        self.drop_outbox()
        self.reactor.command(self.reactor.drop, self)

    def finished(self) -> None:
        """End the current exchange: its reply has been sent or is in the outbox. Then the next request may begin."""
        self.exchange = None
        if self.gone:
            return
        if self.last or self.outbox or self.half_closed or self.parser.unread or self.reactor.closing:
            self.reactor.command(self.reactor.proceed, self)
        else:
            self.deadline = deadline.clock() + self.reactor.limits.http_idle_timeout


class HttpExchange(Exchange):
    """A request on a connection, and its reply; see `Exchange`.

    The head that `start` begins is sent with the first piece, or when the handler returns.
    """

    def __init__(self, connection: ClientConnection, head: RequestHead, body: bytes) -> None:
        path, _, query = head.target.partition("?")
        super().__init__(HttpRequest(head.method, path, head.headers, body, query, head.version, connection.peer,
                                     connection.secure))
        self._connection = connection
        self._close = head.close
        self._state = _NEW
        self._unsent = b""
        self._thread: Optional[int] = None
        self._chunked = head.version != "HTTP/1.0"
        self._silent = False
        self._watched = False
        self._returned = False
        self._held = connection.parser.hand_over()  # last: until here the parser has to release it

    @property
    def ends_with_client(self) -> bool:
        """True if a client that ends its side counts as gone: the reply is a stream that has begun, or is watched."""
        return self._state == _STREAM or self._watched

    @property
    def endless(self) -> bool:
        """True for a stream that need not end by itself: the answer to a GET."""
        return self._state == _STREAM and self.request.method == "GET"

    def run(self) -> None:
        """Call the handler, on a worker or on the selector thread."""
        self._thread = threading.get_ident()
        try:
            if self._held <= SMALL or self._has_room():
                self._connection.reactor.handler(self)
        except BaseException:  # SystemExit ends no thread of ours either
            self._failed()
        finally:
            self._has_returned()
        self._thread = None
        if self._unsent:
            self.send(b"")

    def _has_room(self) -> bool:
        """Count the values that a large body is parsed into. Return False, after a refusal, if there is no room."""
        reactor = self._connection.reactor
        more = weight(self.request.body, reactor.limits.max_nodes)
        with self._connection.lock:
            if not self._held:  # freed meanwhile: the client is gone
                return False
            try:
                reactor.bodies.add(more, self._held + more)
            except NoRoom as refused:
                status, why = refused.status, refused.reason
            else:
                self._held += more
                return True
        reactor.command(reactor.no_room, self._connection, why)
        fields = (("Content-Type", "text/plain"), *((("Retry-After", "5"),) if status == 503 else ()))
        self.reply(status, fields, ("%s\n" % why).encode("ascii"))
        return False

    def _has_returned(self) -> None:
        """Note that the handler has returned, and that the calls which it deferred are done."""
        self._returned = True
        if self._held:
            with self._connection.lock:
                self.release_body()

    def release_body(self) -> None:
        """Free the body if it is not needed any more; see `body_budget`. The lock is held.

        Called whenever that may have changed.
        """
        if self._held and self._returned and (self._state != _NEW or self._connection.gone):
            held, self._held = self._held, 0
            if self._state != _DONE:  # otherwise all of this exchange is over
                self.request = self.request._replace(body=b"")
            self._connection.reactor.bodies.release(held)

    def _failed(self) -> None:
        connection = self._connection
        try:
            get_log().exception("the handler of %s %s failed", self.request.method, self.request.path)
        finally:
            self._give_up(connection)

    def _give_up(self, connection: ClientConnection) -> None:
        with connection.lock:
            if self._state == _NEW:
                self._state, connection.last = _DONE, True
                if not connection.gone:
                    connection.push(refusal(500, "", self.request.method))
                    connection.finished()
            elif self._state == _STREAM:  # half of a reply must not look like a whole one
                connection.break_off()

    def watch(self) -> None:
        """Watch the client; see `Exchange.watch`."""
        connection = self._connection
        with connection.lock:
            self._watched = True
            ended = connection.half_closed
        if ended:
            connection.reactor.command(connection.reactor.leave, connection, self)

    def _begin(self, state: int, ends: bool) -> bool:
        """Take the right to reply, with the lock held. Return False if the client is gone.

        Raises RuntimeError if it was taken already.
        """
        if self._state != _NEW and not self._connection.gone:
            raise RuntimeError("this exchange has its reply already")
        if self._state != _NEW or self._connection.gone:
            return False
        self._state = state
        if self._returned:
            self.release_body()
        self._connection.last = self._connection.last or ends
        return True

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Send a whole reply; see `Exchange.reply`.

        Raises ValueError for a header that cannot be sent, RuntimeError for a second reply.
        """
        connection = self._connection
        ends = self._close or connection.reactor.draining
        head, body = whole_reply(self.request.method, status, headers, body, ends)
        with connection.lock:
            if not self._begin(_DONE, ends):
                return
            if len(body) < _APART:
                connection.push(head + body)
            else:
                connection.push(head)
                connection.push(body)
            connection.finished()

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Begin a stream; see `Exchange.start`. Raises as `reply` does."""
        connection = self._connection
        silent = not has_body(self.request.method, status)
        ends = self._close or connection.reactor.draining or (not silent and not self._chunked)
        framing = "Transfer-Encoding: chunked\r\n" if self._chunked and not silent else ""
        head = reply_head(status, headers, framing, ends)
        with connection.lock:
            if not self._begin(_STREAM, ends):
                return
            self._silent = silent
            self._unsent = head
        if self._thread != threading.get_ident():
            self.send(b"")

    def send(self, data: bytes) -> bool:
        """Send a piece; see `Exchange.send`. Return False also after `finish`."""
        connection = self._connection
        with connection.lock:
            if self._state != _STREAM or connection.gone:
                return False
            if connection.backlog > connection.reactor.limits.max_stream_bytes:
                connection.reactor.too_slow(connection)
                return False
            return self._put(data)

    def _put(self, data: bytes, end: bytes = b"") -> bool:
        """Send a piece, after the head if that was held back, and ``end`` after it. The lock is held."""
        before, self._unsent = self._unsent, b""
        if self._silent:
            data = end = b""
        if data and self._chunked:
            before += b"%x\r\n" % len(data)
            end = b"\r\n" + end
        pieces = (before, data, end) if len(data) >= _APART else (before + data + end,)
        return all([self._connection.push(piece) for piece in pieces if piece])

    def finish(self, data: bytes = b"") -> None:
        """End the stream; see `Exchange.finish`. A second call does nothing."""
        connection = self._connection
        with connection.lock:
            if self._state != _STREAM or connection.gone:
                return
            self._put(data, LAST_CHUNK if self._chunked else b"")
            self._state = _DONE
            connection.finished()

    def end(self) -> bytes:
        """End the stream from the engine's side, and return the bytes to be sent last. The lock is held."""
        self._state = _DONE
        unsent, self._unsent = self._unsent, b""
        return unsent + (LAST_CHUNK if self._chunked and not self._silent else b"")

    def lose(self) -> None:
        """Call ``on_close``, because the client is gone. On a worker, without the lock."""
        self._state = _DONE
        self.gone = True
        if self.on_close is not None:
            try:
                self.on_close()
            except BaseException:
                get_log().exception("on_close of %s %s failed", self.request.method, self.request.path)
