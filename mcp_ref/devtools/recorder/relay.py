"""One connection of a client through the proxy, and the one to the server that belongs to it, on one thread.

Each connection of a client has a connection of its own to the server, made when its first request has come. So
whatever one side does to its connection can be done to the other: ends, half-closed ends, resets, keeping it for the
next request and not keeping it.

=====================================  ================================================================================
what happens                           what follows
=====================================  ================================================================================
bytes come                             they go on at once, a head as soon as it is whole
the other side takes them slowly       reading pauses at HIGH bytes
the server ends its side               the client gets what has come, and then the end
the client ends its side               the server's side ends after what has come; while a stream of events is open, or
                                       no answer is waited for, or over TLS: both connections
one side resets                        so do we, on the other
bytes that are no HTTP                 they go on as they are, and the trace has a gap
the server cannot be reached           502, and the trace says that it is ours
the host of a request is not allowed   403, see `proxy`
=====================================  ================================================================================
"""

import selectors
import socket
import struct
from collections import deque
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional

from ...errors import TransportError
from ...http11.client.connect import CancelScope
from ...http11.server.responses import refusal
from ...wiretrace import CLIENT, SERVER
from .exchanges import DATA, HEAD, INTERIM, OPAQUE, ExchangeRecorder, Framer, MessageHead, Piece, media_type
from .telling import Stream

if TYPE_CHECKING:
    from .proxy import Proxy

HIGH = 256 * 1024
"""The bytes that may wait for one side before the other one is not read any more."""
MOST_OPEN = 1000
"""The requests without an answer after which the client is not read any more."""
LINGER_SECONDS = 2.0
"""The seconds for which a client may go on sending after we have refused its request."""
_SIZE = 64 * 1024
"""Bytes to read at a time: more than a TLS record has, so that TLS keeps nothing back of which no selector knows."""
_RESET = struct.pack("ii", 1, 0)
_HOP = ("proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "upgrade")
_KEPT_OPTIONS = ("close", "keep-alive")
_FRAMING = {"content-length", "transfer-encoding", "host"}
"""Fields that no option of `Connection` takes away: without them the body would be read as another request."""
_Selector: Any = getattr(selectors, "PollSelector", selectors.SelectSelector)  # it needs no descriptor of its own


class Side:
    """One of the two sockets: what waits to be sent to it, and how far it has come to an end."""

    def __init__(self, sock: Any, party: str) -> None:
        self.sock = sock
        self.party = party
        self.waiting = bytearray()
        self.ended = False
        """True if nothing more comes from it."""
        self.finishing = False
        """True if nothing more is to be sent to it, once what waits has been."""
        self.finished = False
        self.wants_write = False
        """True if TLS wants to send before it can read."""
        self.interest = 0
        sock.setblocking(False)

    @property
    def secure(self) -> bool:
        """True if the socket speaks TLS."""
        return hasattr(self.sock, "pending")

    def receive(self) -> Optional[bytes]:
        """Return bytes that have come, b"" at the end, None if there are none. Raises `ConnectionBroken`."""
        try:
            self.wants_write = False
            return bytes(self.sock.recv(_SIZE))
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            kind = type(error).__name__
            if kind in ("SSLWantReadError", "SSLWantWriteError"):
                self.wants_write = kind == "SSLWantWriteError"
                return None
            raise ConnectionBroken(self, error) from None

    def transmit(self) -> None:
        """Send what fits. Raises `ConnectionBroken`."""
        while self.waiting:
            try:
                sent = self.sock.send(bytes(self.waiting[:_SIZE]))
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError"):
                    return
                raise ConnectionBroken(self, error) from None
            del self.waiting[:sent]
        if self.finishing and not self.finished:
            self.finished = True
            try:
                if not self.secure:
                    self.sock.shutdown(socket.SHUT_WR)
            except OSError as error:
                raise ConnectionBroken(self, error) from None

    def reset(self) -> None:
        """Have the closing of the socket reset the connection."""
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        except OSError:
            pass  # it is gone


class ConnectionBroken(Exception):
    """A side whose connection was reset, or failed in another way."""

    def __init__(self, side: Side, error: OSError) -> None:
        super().__init__("the %s has reset the connection: %s" % (side.party, error.strerror or error))
        self.side = side


class Relay:
    """A connection of a client; see the module. `run` returns when it is over, `stop` ends it from another thread."""

    def __init__(self, proxy: "Proxy", sock: socket.socket) -> None:
        self._proxy = proxy
        self._client = Side(sock, CLIENT)
        self._server: Optional[Side] = None
        self._scope = CancelScope()
        self._requests = Framer()
        self._responses = Framer(lambda: self._open[0].method if self._open else None)
        self._open: Deque[_Exchange] = deque()
        """The exchanges that have no whole response."""
        self._sending: Optional[_Exchange] = None
        """The exchange whose request is being sent."""
        self._streaming = False
        """True while the response is a stream of events."""
        self._stopped = False
        self.running = False
        """True once its thread has begun with it."""
        self._blind: Dict[str, bool] = {}

    def stop(self) -> None:
        """End both connections; any thread may call this."""
        self._stopped = True
        self._scope.cancel()
        try:
            self._client.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over

    def run(self) -> None:
        """Carry bytes until the connection is over."""
        party, why = "", ""
        try:
            party, why = self._carry()
        except _Refused as refused:
            self._refuse(refused)
        except TransportError as error:
            self._refuse(_Refused(502, "%s, to which this proxy passes requests on: %s" % (
                self._proxy.upstream.origin, error)))
        finally:
            for exchange in self._open:
                exchange.end(party, False, why or "the recorder has ended")
            for side in (self._client, self._server):
                if side is not None:
                    self._scope.detach()
                    side.sock.close()

    # The loop

    def _carry(self) -> Any:
        """Return the party that ended the connection, and how."""
        with _Selector() as selector:
            self._watch(selector)
            while True:
                for key, _ in selector.select():
                    if self._stopped:
                        return "", "the recorder was ended"
                    try:
                        done = self._serve(key.data)
                    except ConnectionBroken as broken:
                        return self._reset_other(broken)
                    if done is not None:
                        return done
                self._watch(selector)

    def _watch(self, selector: Any) -> None:
        """Tell the selector what each side is waited for; nothing is read for a side that is slow."""
        client, server = self._client, self._server
        for side, other in ((client, server), (server, client)):
            if side is None:
                continue
            interest = 0
            if not side.ended and (other is None or len(other.waiting) < HIGH) and (
                    side is server or len(self._open) < MOST_OPEN):
                interest |= selectors.EVENT_READ
            if side.waiting or side.wants_write or side.finishing and not side.finished:
                interest |= selectors.EVENT_WRITE
            if interest == side.interest:
                continue
            if not side.interest:
                selector.register(side.sock, interest, side)
            elif interest:
                selector.modify(side.sock, interest, side)
            else:
                selector.unregister(side.sock)
            side.interest = interest

    def _serve(self, side: Side) -> Any:
        """Do what can be done on one side. Return None, or the party that ended the connection, and how."""
        side.transmit()
        data = None if side.ended else side.receive()
        if data:
            (self._from_client if side is self._client else self._from_server)(data)
        elif data is not None:
            side.ended = True
            self._end_of(side)
        for each in (self._server, self._client):
            if each is not None:
                each.transmit()
        return self._over()

    def _end_of(self, side: Side) -> None:
        """Pass on that a side sends no more."""
        if side is self._client:
            if self._server is not None:
                self._server.finishing = True
            return
        for piece in self._responses.end():
            self._response_piece(piece)
        self._client.finishing = True

    def _over(self) -> Any:
        client, server = self._client, self._server
        if server is not None and server.ended and not client.waiting:
            return SERVER, "the server has closed the connection"
        if client.ended and (server is None or self._streaming or not self._open and not server.waiting
                             or server.secure and not server.waiting):
            return CLIENT, "the client has closed the connection"
        return None

    def _reset_other(self, broken: ConnectionBroken) -> Any:
        """Do to the other side what has happened to one."""
        if self._stopped:
            return "", "the recorder was ended"
        other = self._server if broken.side is self._client else self._client
        if other is not None:
            try:
                other.transmit()  # what has come before
            except ConnectionBroken:
                pass
            other.reset()
        return broken.side.party, str(broken)

    # From the client

    def _from_client(self, data: bytes) -> None:
        for piece in self._requests.feed(data):
            if piece.kind == HEAD and piece.head is not None:
                self._begin(piece.head)
                self._to_server(self._proxy.request_head(piece.head))
                continue
            if piece.kind == OPAQUE and self._proxy.connector.absolute:
                raise _Refused(400, "this is no HTTP/1.1, or its end cannot be told, and a proxy is on the way")
            if piece.raw:
                self._to_server(piece.raw)
            if piece.kind == OPAQUE:
                self._unread(CLIENT, len(piece.raw))
            elif self._sending is not None and piece.kind == DATA:
                self._sending.data(CLIENT, piece.data)
            elif self._sending is not None:
                self._sending.body_end(CLIENT)
                self._sending = None

    def _begin(self, head: MessageHead) -> None:
        exchange = self._sending = _Exchange(self._proxy, head)
        self._open.append(exchange)
        why = self._proxy.refusal_of(head)
        if why:
            raise _Refused(403, why)

    def _to_server(self, data: bytes) -> None:
        if self._server is None:
            self._server = Side(self._proxy.connector.dial(self._scope), SERVER)
        self._server.waiting += data

    # From the server

    def _from_server(self, data: bytes) -> None:
        for piece in self._responses.feed(data):
            self._response_piece(piece)

    def _response_piece(self, piece: Piece) -> None:
        if piece.head is not None:
            self._client.waiting += b"".join(passed_on(piece.head))
        else:
            self._client.waiting += piece.raw
        if piece.kind == OPAQUE:
            self._unread(SERVER, len(piece.raw))
        elif not self._open:
            return
        elif piece.head is not None:
            self._open[0].head(piece.head, piece.kind == INTERIM)
            self._streaming = media_type(piece.head.fields) == "text/event-stream"
        elif piece.kind == DATA:
            self._open[0].data(SERVER, piece.data)
        else:
            self._streaming = False
            exchange = self._open.popleft()
            exchange.body_end(SERVER)
            exchange.end(SERVER, True)

    def _unread(self, party: str, count: int) -> None:
        """Record once for each side that its bytes are not understood."""
        if not self._blind.get(party):
            self._blind[party] = True
            self._proxy.gap(party, "%d bytes, and what follows on this connection: no HTTP/1.1, or none whose end can "
                            "be told" % count)

    def _refuse(self, refused: "_Refused") -> None:
        """Answer in place of the server, and wait until the client has read it."""
        if self._open:
            self._open[-1].end("", False, "the recorder answered %d: %s" % (refused.status, refused))
            self._open.pop()
        sock = self._client.sock
        try:
            sock.settimeout(LINGER_SECONDS)
            sock.sendall(bytes(self._client.waiting) + refusal(refused.status, str(refused)))
            sock.shutdown(socket.SHUT_WR)
            until = monotonic() + LINGER_SECONDS
            while not self._stopped and monotonic() < until and sock.recv(_SIZE):
                pass  # closing while more comes would reset the connection, and the answer with it
        except OSError:
            pass


class _Refused(Exception):
    """A request that we answer ourselves."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Exchange:
    """An exchange as the relay's thread sees it: it puts what it has seen into the backlog."""

    def __init__(self, proxy: "Proxy", head: MessageHead) -> None:
        self.method = head.method
        self._recorder = recorder = ExchangeRecorder(proxy.http)
        self._streams = {party: Stream(proxy.backlog, partial(_lost, recorder, party)) for party in (CLIENT, SERVER)}
        self._takes = {party: partial(_data, recorder, party) for party in (CLIENT, SERVER)}
        self._streams[CLIENT].put(recorder.request, head, _size(head))

    def head(self, head: MessageHead, interim: bool) -> None:
        """Record the head of a response."""
        take = self._recorder.interim if interim else self._recorder.response
        self._streams[SERVER].put(take, head, _size(head))

    def data(self, party: str, data: bytes) -> None:
        """Record a part of a body."""
        if data:
            self._streams[party].put(self._takes[party], data, len(data))

    def body_end(self, party: str) -> None:
        """Record the end of a body."""
        self._streams[party].put(self._recorder.body_end, party, 0)

    def end(self, party: str, complete: bool, note: str = "") -> None:
        """Record the end of the exchange."""
        recorder = self._recorder
        self._streams[SERVER].put(lambda at, _: recorder.end(at, party, complete, note), None, 0)


def _size(head: MessageHead) -> int:
    return sum(map(len, head.lines))


def _data(recorder: ExchangeRecorder, party: str, at: float, data: bytes) -> None:
    recorder.data(at, party, data)


def _lost(recorder: ExchangeRecorder, party: str, at: float, count: int) -> None:
    recorder.lost(at, party, count)


def passed_on(head: MessageHead, host: Optional[str] = None) -> List[bytes]:
    """Return the lines of a head without the fields that are for one connection alone [RFC 9110 §7.6.1].

    Of Connection the options ``close`` and ``keep-alive`` stay, and Keep-Alive with them: the two connections live and
    end together, so what one side says of its own holds for both. Transfer-Encoding stays, for chunks pass as they
    are. ``host``: the value that Host gets, or None.
    """
    options = [option.strip().lower() for name, value in head.fields if name.lower() == "connection"
               for option in value.split(",")]
    kept = [option for option in options if option in _KEPT_OPTIONS]
    dropped = set(_HOP).union(option for option in options if option not in _KEPT_OPTIONS) - _FRAMING
    lines, said = head.lines[:1], False
    for line, (name, _) in zip(head.lines[1:-1], head.fields):
        lower = name.lower()
        if lower == "connection":
            if kept == options:
                lines.append(line)
            elif kept and not said:
                lines.append(("Connection: %s\r\n" % ", ".join(kept)).encode("ascii"))
            said = True
        elif lower == "host" and host is not None:
            lines.append(line[:len(name)] + (": %s\r\n" % host).encode("latin-1"))
        elif lower not in dropped:
            lines.append(line)
    return lines + head.lines[-1:]
