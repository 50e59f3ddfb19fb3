"""A connection of the HTTP server, and a request on it. A thread serves the connection while it carries something.

`Connection` is a request handler of `http.server` that differs from the original in three ways:

- It reads with `request_parser`, which refuses requests that two readers could understand in two ways.
  `BaseHTTPRequestHandler` repairs some of them, and request smuggling lives on such repairs.
- It never blocks in a read or a write. If the client is silent for LINGER seconds, even in the middle of a head or a
  body, the thread leaves. The selector thread (`parking`) waits for the next bytes, and another thread goes on.
- A reply may outlive the call of the handler. The thread leaves then, too, and any thread may send the rest.

===========================================  ========================================================================
what                                         who may touch it
===========================================  ========================================================================
parser, stage, deadline, drained,            the thread of the connection, while there is no exchange; the selector
half_closed                                  thread while there is one, with the lock, and while there is no thread
outbox, exchange, running, thread, gone,     any thread, with the lock
watched, close_connection
interest, phase                              the selector thread; during a handshake `phase` is the thread's
===========================================  ========================================================================
"""

import io
import socket
import threading
from typing import TYPE_CHECKING, Any, Optional

from ... import deadline, threads
from ...diagnostics.packagelog import get_logger
from ...transports.lines.fds import keep_socket_from_forks, wait_ready
from ..message import Exchange, HttpRequest, Pairs, check_fields
from .body_budget import SMALL, NoRoom, weight
from .outbox import Outbox
from .request_parser import RequestHead, RequestParser
from .responses import CONTINUE, LAST_CHUNK, RETRY_AFTER, Refused, RequestShape, WITHOUT_BODY, has_body, refusal

if TYPE_CHECKING:
    import logging

    from .server import Listener

LINGER = 0.05
"""The seconds for which a silent connection keeps its thread."""
_READ = 64 * 1024
"""More than a TLS record: so nothing that was decrypted waits where `select` does not see it."""
_READ_BODY = 1024 * 1024
"""The bytes of a body that are read at once."""
_BODY_RATE = 1024
"""Bytes of a body that earn it another second."""
_APART = 64 * 1024
"""Bodies from this size on are not copied behind their heads."""
_NEW, _STREAM, _DONE = range(3)
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)


def get_log() -> "logging.Logger":
    """Return the logger of the HTTP server."""
    return get_logger(__name__)


class Connection(RequestShape):
    """A client's connection. `handle` serves it, on a thread that `socketserver.ThreadingMixIn` has started."""

    secure = False
    wants_write = False
    """True while a TLS handshake waits for room to write."""
    request_version = "HTTP/1.1"
    command = ""

    def __init__(self, sock: socket.socket, peer: str, listener: "Listener") -> None:
        """Set up the connection. Unlike the original, which serves all of it here."""
        keep_socket_from_forks(sock)
        self.sock = sock
        self.peer = peer
        self.listener = listener
        self.engine = engine = listener.engine
        self.limits = engine.limits
        self.parking = engine.parking
        self.lock = threading.Lock()
        self.parser = RequestParser(engine.limits, engine.bodies)
        self.outbox = Outbox(self)
        self.exchange: Optional["HttpExchange"] = None
        """The request whose reply is not finished."""
        self.running: Optional["HttpExchange"] = None
        """The request whose handler runs on the thread of the connection."""
        self.thread: Optional[threading.Thread] = None
        """The thread that serves the connection; None while it is parked."""
        self.gone = False
        """True if the client cannot be reached any more, or is not to be."""
        self.close_connection = False
        """True if the connection ends once the outbox is empty."""
        self.half_closed = False
        """True if the client has said that it sends no more."""
        self.drained = True
        """True if the parser has no whole request left."""
        self.stage = "idle"
        """The part of a request that is being read: ``idle``, ``head`` or ``body``."""
        self.deadline: Optional[float] = None
        """The time at which that must have come."""
        self.phase = "open"
        """``handshake`` before, ``lingering`` after the last reply, until the client has read it."""
        self.interest = 0
        """The events that the selector waits for."""
        self.watched = False
        """True if the selector thread looks for the client's end although a thread runs its request."""

    # The socket; `tls` has another way

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

    def shut_down(self) -> None:
        """End both sides, so that a thread that waits for the client wakes up."""
        try:
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)  # that of `ssl` takes away what a handshake still uses
        except OSError:
            pass  # it has ended

    def close(self) -> None:
        """Free the socket and what was read of a request. No thread serves the connection."""
        self.parser.discard()
        self.sock.close()

    # Serving, on the connection's thread

    def handle(self) -> None:
        """Serve requests until the client is silent, or a reply goes on without this thread."""
        try:
            while self.handle_one_request():
                pass
        except OSError as error:
            if self.phase == "handshake":
                self.engine.note("TLS handshakes that failed", "%s: %s" % (self.peer, error))
            with self.lock:
                self.break_off()

    def handle_one_request(self) -> bool:  # type: ignore[override]
        """Read a request and call the handler. Return False if the thread can do nothing more here."""
        found = self.parser_next()
        self.drained = found is None
        if found is None:
            return False
        with self.lock:
            if self.gone:
                return False
            self.stage, self.deadline = "idle", None
            self.exchange = self.running = exchange = HttpExchange(self, *found)
        exchange.run()
        with self.lock:
            if self.thread is not threading.current_thread():
                return False  # the reply was over, and another thread goes on here
            self.running, self.watched = None, False
            return not (self.exchange or self.outbox.pieces or self.close_connection or self.gone)

    def parser_next(self) -> Any:
        """Return head and body of the next request; None if it has not come yet, was refused, or never comes."""
        while self.phase == "handshake":
            if self.handshake():
                self.phase = "open"
                self.deadline = deadline.clock() + self.limits.http_header_timeout
            elif self.expired() or not wait_ready(self.sock, LINGER, self.wants_write):
                return None
        parser = self.parser
        while True:
            try:
                found = parser.next()
                if found is not None and self.engine.closing:
                    self.command = found[0].method
                    raise Refused(503, "the server is shutting down")
            except Refused as refused:
                if isinstance(refused, NoRoom):
                    self.engine.note("bodies without room", "%s: %s" % (self.peer, refused.reason))
                self.refuse(refused)
                return None
            if found is not None or self.half_closed or self.gone:
                return found
            self._expect()
            if self.expired() or not wait_ready(self.sock, LINGER):
                return None
            with self.lock:
                data = None if self.gone else self.receive(max(_READ, min(_READ_BODY, parser.missing)))
            if data:
                parser.feed(data)
            elif data is not None:
                self.half_closed = True

    def _expect(self) -> None:
        """Note what the client has to send next, and until when."""
        stage = self.parser.stage
        if stage != self.stage or self.deadline is None:
            limits = self.limits
            self.deadline = deadline.clock() + {"idle": limits.http_idle_timeout, "head": limits.http_header_timeout,
                                                "body": limits.http_body_timeout}[stage]
            if stage == "body" and self.parser.waits_for_continue:
                with self.lock:
                    self.outbox.push(CONTINUE)
            self.stage = stage

    def expired(self) -> bool:
        """Return True if the client took too long to send what it has to; then the connection ends.

        Called on the thread that waits for the client: its own, or the selector thread.
        """
        now, due = deadline.clock(), self.deadline
        if due is not None and self.phase == "open" and self.stage == "body" and not self.engine.bodies.scarce:
            due += self.parser.received / _BODY_RATE
        if due is None or now < due:
            return False
        if self.phase == "open" and self.stage != "idle":
            self.refuse(Refused(408, "the %s took longer than http_%s_timeout"
                                % (self.stage, "header" if self.stage == "head" else self.stage)))
            return True
        if self.phase == "handshake":
            self.engine.note("TLS handshakes given up", "%s: no handshake within tls_handshake_timeout (%g s)"
                             % (self.peer, self.limits.tls_handshake_timeout))
        with self.lock:
            self.break_off()
        return True

    def refuse(self, refused: Refused) -> None:
        """Answer a request that nothing can follow on this connection."""
        self.engine.note("requests answered %d" % refused.status,
                         "%s: %d, %s" % (self.peer, refused.status, refused.reason))
        self.parser.discard()
        with self.lock:
            self.deadline, self.close_connection = None, True
            self.outbox.push(refusal(refused.status, refused.reason, self.command))

    # With the lock held

    def head(self, status: int, headers: Pairs, framing: Pairs = ()) -> bytes:
        """Return the head of a reply. ``framing``: the header field that says how the body ends.

        Raises ValueError for a status or a header that cannot be sent.
        """
        check_fields(headers)
        if not 200 <= status <= 999:
            raise ValueError("%r is no status of a final reply" % (status,))
        self.wfile, last = io.BytesIO(), self.close_connection
        try:
            self.send_response_only(status)
            self.send_header("Date", self.date_time_string())
            closing = (("Connection", "close"),) if self.close_connection else ()
            for name, value in (*framing, *closing, *headers):
                self.send_header(name, value)
        except ValueError:
            self.flush_headers()  # half of a head must not begin the next one
            raise
        finally:
            self.close_connection = self.close_connection or last  # `send_header` goes by a field of the handler's, too
        self.end_headers()
        return self.wfile.getvalue()

    def finished(self) -> None:
        """End the current exchange: its reply has been sent or is in the outbox. Then the next request may begin."""
        self.exchange = None
        self.deadline = None if self.outbox.pieces else deadline.clock() + self.limits.http_idle_timeout
        if self.thread is None and not self.gone:
            self.parking.command(self.parking.proceed, self)

    def break_off(self) -> None:
        """End the connection without sending what waits. The selector thread closes it."""
        self.gone = True
        self.outbox.drop()
        self.parking.command(self.parking.drop, self)


class HttpExchange(Exchange):
    """A request on a connection, and its reply; see `Exchange`.

    The head that `start` begins is sent with the first piece, or when the handler returns.
    """

    def __init__(self, connection: Connection, head: RequestHead, body: bytes) -> None:
        path, _, query = head.target.partition("?")
        super().__init__(HttpRequest(head.method, path, head.headers, body, query, head.version, connection.peer,
                                     connection.secure))
        self._connection = connection
        self._close = head.close
        self._state = _NEW
        self._unsent = b""
        self._chunked = head.version != "HTTP/1.0"
        self._silent = False
        self._watched = False
        self._returned = False
        self.began = deadline.clock()
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
        """Call the handler."""
        connection, copies = self._connection, threads.copies
        try:
            if self._held <= SMALL or self._has_room():
                connection.engine.handler(self)
        except BaseException:  # SystemExit ends no thread of ours either
            try:
                get_log().exception("the handler of %s %s failed", self.request.method, self.request.path)
            finally:
                self._give_up()
        finally:
            if threads.copies != copies:
                threads.end_copy()
            with connection.lock:
                self._returned = True
                self.release_body()
                if self._unsent and not connection.gone:
                    self._put(b"")

    def _has_room(self) -> bool:
        """Count the values that a large body is parsed into. Return False, after a refusal, if there is no room."""
        connection = self._connection
        bodies = connection.engine.bodies
        more = weight(self.request.body, connection.limits.max_nodes)
        with connection.lock:
            if not self._held:  # freed meanwhile: the client is gone
                return False
            try:
                bodies.add(more, self._held + more)
            except NoRoom as refused:
                status, why = refused.status, refused.reason
            else:
                self._held += more
                return True
        connection.engine.note("bodies without room", "%s: %s" % (connection.peer, why))
        again = (("Retry-After", RETRY_AFTER[status]),) if status in RETRY_AFTER else ()
        fields = (("Content-Type", "text/plain"), *again)
        self.reply(status, fields, ("%s\n" % why).encode("ascii"))
        return False

    def release_body(self) -> None:
        """Free the body if it is not needed any more; see `body_budget`. The lock is held.

        Called whenever that may have changed.
        """
        if self._held and self._returned and (self._state != _NEW or self._connection.gone):
            held, self._held = self._held, 0
            if self._state != _DONE:  # otherwise all of this exchange is over
                self.request = self.request._replace(body=b"")
            self._connection.engine.bodies.release(held)

    def _give_up(self) -> None:
        """Answer 500, or break off a reply that has begun: half of one must not look like a whole one."""
        connection = self._connection
        with connection.lock:
            if self._state == _NEW:
                self._state, connection.close_connection = _DONE, True
                if not connection.gone:
                    connection.outbox.push(refusal(500, "", self.request.method))
                    connection.finished()
            elif self._state == _STREAM:
                connection.break_off()

    def watch(self) -> None:
        """Watch the client; see `Exchange.watch`."""
        connection = self._connection
        with connection.lock:
            self._watched = True
            if connection.half_closed:
                connection.parking.command(connection.parking.leave, connection, self)

    def _begin(self) -> bool:
        """Take the right to reply, with the lock held. Return False if the client is gone.

        Raises RuntimeError if it was taken already.
        """
        if self._state != _NEW and not self._connection.gone:
            raise RuntimeError("this exchange has its reply already")
        if self._state != _NEW or self._connection.gone:
            return False
        if self._close or self._connection.engine.draining:
            self._connection.close_connection = True
        return True

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Send a whole reply; see `Exchange.reply`.

        Raises ValueError for a header that cannot be sent, RuntimeError for a second reply.
        """
        connection = self._connection
        with connection.lock:
            if not self._begin():
                return
            head = connection.head(status, headers, () if status in WITHOUT_BODY else
                                   (("Content-Length", str(len(body))),))
            self._state = _DONE
            if self._returned:
                self.release_body()
            if not has_body(self.request.method, status):
                body = b""
            if len(body) < _APART:
                connection.outbox.push(head + body)
            else:
                connection.outbox.push(head)
                connection.outbox.push(body)
            connection.finished()

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Begin a stream; see `Exchange.start`. Raises as `reply` does."""
        connection = self._connection
        with connection.lock:
            if not self._begin():
                return
            silent = not has_body(self.request.method, status)
            if not silent and not self._chunked:
                connection.close_connection = True
            self._unsent = connection.head(status, headers, (("Transfer-Encoding", "chunked"),)
                                           if self._chunked and not silent else ())
            self._state, self._silent = _STREAM, silent
            if self._returned:
                self.release_body()
            if connection.thread is not threading.current_thread():
                self._put(b"")

    def send(self, data: bytes) -> bool:
        """Send a piece; see `Exchange.send`. Return False also after `finish`."""
        connection = self._connection
        with connection.lock:
            if self._state != _STREAM or connection.gone:
                return False
            most = connection.limits.max_stream_bytes
            if connection.outbox.backlog > most:
                connection.break_off()
                connection.engine.note(
                    "slow readers", "%s reads too slowly: more than max_stream_bytes (%d) wait for it"
                    % (connection.peer, most))
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
        return all([self._connection.outbox.push(piece) for piece in pieces if piece])

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
        """End the stream from the server's side, and return the bytes to be sent last. The lock is held."""
        self._state = _DONE
        unsent, self._unsent = self._unsent, b""
        return unsent + (LAST_CHUNK if self._chunked and not self._silent else b"")

    def lose(self) -> None:
        """Call ``on_close``, because the client is gone. On a thread that may wait, without the lock."""
        self._state = _DONE
        self.gone = True
        if self.on_close is not None:
            try:
                self.on_close()
            except BaseException:
                get_log().exception("on_close of %s %s failed", self.request.method, self.request.path)
