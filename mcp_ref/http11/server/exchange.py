"""One exchange on a connection of the HTTP engine: the handler is called, and its reply is sent.

A reply goes out on the thread that has it, as far as the kernel takes it. Everything that could be taken for the end of
a reply is sent by one call with the connection's lock held, so several threads may send pieces of a stream.
"""

import threading
from typing import Optional

from ...threads import follow
from ..message import Exchange, HttpRequest, Pairs
from .body_budget import SMALL, NoRoom, weight
from .commands import get_log
from .connection import Connection
from .head import Head
from .responses import LAST_CHUNK, has_body, reply_head, whole_reply
from .stdlib import refusal

_APART = 64 * 1024
"""Bodies from this size on are not copied behind their heads."""
_NEW, _STREAM, _DONE = range(3)


class HttpExchange(Exchange):
    """See `Exchange`. A head begun by `start` goes out with the first piece, or when the handler returns."""

    def __init__(self, connection: Connection, head: Head, body: bytes) -> None:
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
        self._held = connection.parser.hand_over()  # last: before, the parser still answers for it

    @property
    def ends_with_client(self) -> bool:
        """Whether a client that ends its side is gone: its reply is a stream that has begun, or it is watched."""
        return self._state == _STREAM or self._watched

    @property
    def endless(self) -> bool:
        """Whether this is a stream that need not end by itself: the answer to a GET."""
        return self._state == _STREAM and self.request.method == "GET"

    def run(self) -> None:
        """Call the handler; on a worker."""
        self._thread = threading.get_ident()
        try:
            if self._held <= SMALL or self._has_room():
                self._connection.reactor.handler(self)
        except BaseException:  # SystemExit ends no thread of ours either
            self._failed()
        finally:
            if not follow(self._has_returned):
                self._has_returned()
        self._thread = None
        if self._unsent:
            self.send(b"")

    def _has_room(self) -> bool:
        """Count the values that a large body is parsed into. Returns False, after a refusal, if there is no room."""
        reactor = self._connection.reactor
        more = weight(self.request.body, reactor.limits.max_nodes)
        with self._connection.lock:
            if not self._held:  # let go meanwhile: the client is gone
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
        """The handler has, and what it deferred is done."""
        self._returned = True
        if self._held:
            with self._connection.lock:
                self.let_go()

    def let_go(self) -> None:
        """Let the body go if nobody needs it any more (see `body_budget`); ask again when that may have changed. Lock
        held."""
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

    def _give_up(self, connection: Connection) -> None:
        with connection.lock:
            if self._state == _NEW:
                self._state, connection.last = _DONE, True
                if not connection.gone:
                    connection.push(refusal(500, "", self.request.method))
                    connection.finished()
            elif self._state == _STREAM:  # half of a reply must not look like a whole one
                connection.break_off()

    def watch(self) -> None:
        """See `Exchange.watch`."""
        connection = self._connection
        with connection.lock:
            self._watched = True
            ended = connection.half_closed
        if ended:
            connection.reactor.command(connection.reactor.leave, connection, self)

    def _ends(self) -> bool:
        return self._close or self._connection.reactor.draining

    def _begin(self, state: int, ends: bool) -> bool:
        """Take the right to reply; False: nobody is there any more. Lock held."""
        if self._state != _NEW and not self._connection.gone:
            raise RuntimeError("this exchange has its reply already")
        if self._state != _NEW or self._connection.gone:
            return False
        self._state = state
        self.let_go()
        self._connection.last = self._connection.last or ends
        return True

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """See `Exchange.reply`; ValueError for a header that cannot be sent, RuntimeError for a second reply."""
        ends = self._ends()
        head, body = whole_reply(self.request.method, status, headers, body, ends)
        connection = self._connection
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
        """See `Exchange.start`; raises as `reply` does."""
        silent = not has_body(self.request.method, status)
        ends = self._ends() or (not silent and not self._chunked)
        framing = "Transfer-Encoding: chunked\r\n" if self._chunked and not silent else ""
        head = reply_head(status, headers, framing, ends)
        connection = self._connection
        with connection.lock:
            if not self._begin(_STREAM, ends):
                return
            self._silent = silent
            self._unsent = head
        if self._thread != threading.get_ident():
            self.send(b"")

    def send(self, data: bytes) -> bool:
        """See `Exchange.send`; False also after `finish`."""
        connection = self._connection
        with connection.lock:
            if self._state != _STREAM or connection.gone:
                return False
            if connection.backlog > connection.reactor.limits.max_stream_bytes:
                connection.reactor.too_slow(connection)
                return False
            return self._put(data)

    def _put(self, data: bytes, end: bytes = b"") -> bool:
        """Send a piece, and ``end`` behind it, behind the head if that was held back. Lock held."""
        before, self._unsent = self._unsent, b""
        if self._silent:
            data = end = b""
        if data and self._chunked:
            before += b"%x\r\n" % len(data)
            end = b"\r\n" + end
        pieces = (before, data, end) if len(data) >= _APART else (before + data + end,)
        return all([self._connection.push(piece) for piece in pieces if piece])

    def finish(self, data: bytes = b"") -> None:
        """See `Exchange.finish`; again: nothing happens."""
        connection = self._connection
        with connection.lock:
            if self._state != _STREAM or connection.gone:
                return
            self._put(data, LAST_CHUNK if self._chunked else b"")
            self._state = _DONE
            connection.finished()

    def end(self) -> bytes:
        """End the stream from the engine's side; what is to be sent last. Lock held."""
        self._state = _DONE
        unsent, self._unsent = self._unsent, b""
        return unsent + (LAST_CHUNK if self._chunked and not self._silent else b"")

    def lose(self) -> None:
        """The client is gone: tell whoever wants to know. On a worker, without the lock."""
        self._state = _DONE
        self.gone = True
        if self.on_close is not None:
            try:
                self.on_close()
            except BaseException:
                get_log().exception("on_close of %s %s failed", self.request.method, self.request.path)
