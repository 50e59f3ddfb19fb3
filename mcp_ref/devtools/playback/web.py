"""The server's side of a recording over HTTP: Streamable HTTP for clients of both eras, and HTTP+SSE.

==========================  ========================================================================================
request                     what it gets
==========================  ========================================================================================
POST with `initialize`      a session id, and the answer as one body of JSON or as a stream
POST with another request   the same, in the session that it names; of a revision without sessions, in none
POST with no request        202
GET with a session id       a stream of what the server sends by itself
DELETE with a session id    204: the session is over
GET of ``/sse``             a stream of all that the server sends; its first event says where to POST
                            [2024-11-05 basic/transports §HTTP with SSE] MUST
POST to that place          202
==========================  ========================================================================================

A status by which the recorded server has refused a request is sent again; a request of an era that the recording does
not have gets 400. A Host or an Origin that is not this machine
is refused, as a web page may have sent the request [2025-06-18 basic/transports §Security Warning]. Header fields are
not judged: that is what the command `check` is for.
"""

import secrets
import threading
from functools import partial
from typing import Any, Dict, List, Optional

from ...errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from ...http11.message import Exchange
from ...http11.server.server import HttpServer
from ...jsontext import JsonError, dumps, loads
from ...limits import DEFAULT, Limits
from ...methods import INITIALIZE
from ...threads import need
from ...urls import is_loopback
from ..checker.observed import REQUEST, id_key, kind_of
from ..recorder.proxy import host_of
from .player import Book, Player, is_stateless
from .script import ANSWERS, Turn

_JSON = (("Content-Type", "application/json"),)
_STREAM = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"))
_SSE = "/sse"
_MOST_KEPT = 10_000
"""The messages that wait for a stream of a session, until its client opens one."""


class _PostReply:
    """The response to a POST: JSON if its answer is all there is, otherwise a stream until the last answer.

    With `begin` it is known whether there is more than the answer, which may come later.
    """

    def __init__(self, exchange: Exchange, wanted: List[Any], fields: List[Any]) -> None:
        self.exchange = exchange
        self._wanted = {id_key(id) for id in wanted}
        self._fields = fields
        self._kept: List[Dict[str, Any]] = []
        self._streams = self._awaits = self.over = False
        self._lock = threading.Lock()

    def send(self, message: Dict[str, Any]) -> bool:
        """Take a message; return False if it is too late for one."""
        with self._lock:
            if self.over:
                return False
            if kind_of(message) in ANSWERS:
                self._wanted.discard(id_key(message.get("id")))
            if self._awaits:
                self.over = True
                self.exchange.reply(200, [*_JSON, *self._fields], dumps(message).encode("ascii"))
                return True
            if not self._streams:
                self._kept.append(message)
                return True
            if self._wanted:
                self.exchange.send(event_of(message))
            else:
                self.over = True
                self.exchange.finish(event_of(message))
            return True

    @property
    def code(self) -> Any:
        """The code of the last message that waits, if it is an error."""
        return self._kept[-1].get("error", {}).get("code") if self._kept else None

    def begin(self, status: int, answer_only: bool) -> None:
        """Begin the response with what is there. ``status``: by which the recorded server has refused it, or 0.

        ``answer_only``: one answer is all that comes.
        """
        with self._lock:
            self._awaits = answer_only and not self._kept and not status
            if self._awaits:
                return
            alone = len(self._kept) == 1 and not self._wanted
            if alone or status:
                self.over = True
                body = dumps(self._kept[-1]).encode("ascii") if self._kept else b""
                self.exchange.reply(status or 200, [*_JSON, *self._fields], body)
                return
            self._streams = True
            self.exchange.start(200, [*_STREAM, *self._fields])
            data = b"".join(map(event_of, self._kept))
            self.over = not self._wanted
            if self.over:
                self.exchange.finish(data)
            elif data:
                self.exchange.send(data)


def event_of(message: Dict[str, Any]) -> bytes:
    """Return a message as an event of a stream."""
    return b"event: message\ndata: %s\n\n" % dumps(message).encode("ascii")


class _WebConversation:
    """A session, or all requests without one. ``alone``: its stream takes answers, too (HTTP+SSE)."""

    def __init__(self, book: Book, alone: bool = False) -> None:
        self.player = Player(book, self._send)
        self._alone = alone
        self._lock = threading.Lock()
        self._stream: Optional[Exchange] = None
        self._kept: List[bytes] = []

    def listen(self, exchange: Exchange, first: bytes = b"") -> None:
        """Take the response to a GET as the stream of the session. ``first``: what it begins with."""
        exchange.start(200, _STREAM)
        if first:
            exchange.send(first)
        with self._lock:
            before, self._stream = self._stream, exchange
            kept, self._kept = self._kept, []
            if kept:
                exchange.send(b"".join(kept))
        if before is not None:
            before.finish()

    def close(self) -> None:
        """End the stream and the pauses."""
        self.player.close()
        with self._lock:
            stream, self._stream = self._stream, None
        if stream is not None:
            stream.finish()

    def _send(self, message: Dict[str, Any], place: Any, apart: bool) -> None:
        if not (apart and self._stream is not None) and place is not None and place.send(message):
            return
        if kind_of(message) in ANSWERS and not self._alone:
            return  # of a request whose client has gone
        with self._lock:
            if self._stream is not None and self._stream.send(event_of(message)):
                return
            if len(self._kept) < _MOST_KEPT:
                self._kept.append(event_of(message))


class Site:
    """An HTTP server that plays a recording. ``host``, ``port``: as of `HttpServer`."""

    def __init__(self, book: Book, host: str = "127.0.0.1", port: int = 0, limits: Limits = DEFAULT) -> None:
        self._book = book
        self._local = is_loopback(host)
        self._sessions: Dict[str, _WebConversation] = {}
        self._streams: Dict[str, _WebConversation] = {}
        """The sessions over HTTP+SSE, by the query of the place for their messages."""
        self._stateless = _WebConversation(book)
        self._server = HttpServer(self._handle, host, port, limits=limits, name="replay")

    @property
    def url(self) -> str:
        """The URL to give to clients, with the path of the recorded endpoint."""
        paths = [turn.message.exchange.path for turn in self._book.script.turns
                 if turn.message.exchange is not None and turn.message.session.connection.transport != "http+sse"]
        return self._server.url + (paths[0] if paths else "/mcp")

    @property
    def sse_url(self) -> str:
        """The URL to give to clients that speak HTTP+SSE."""
        return self._server.url + _SSE

    def open(self) -> None:
        """Listen. Raises `ConnectFailed`, `NoThreads`."""
        need("replaying over HTTP")
        self._server.open()

    def close(self) -> None:
        """End all connections."""
        for talk in (self._stateless, *self._sessions.values(), *self._streams.values()):
            talk.player.close()
        self._server.close()

    def _handle(self, exchange: Exchange) -> None:
        foreign = self._foreign(exchange)
        if foreign:
            exchange.reply(403, _JSON, dumps({"error": foreign}).encode("ascii"))
            return
        session = exchange.request.headers.get("mcp-session-id")
        if session is None and exchange.request.path == _SSE and self._by_stream(exchange):
            return
        if session is not None and session not in self._sessions:
            _fail(exchange, 404, "there is no such session here; begin with initialize")
        elif exchange.request.method == "POST":
            self._post(exchange, session)
        elif session is not None and exchange.request.method == "GET":
            self._sessions[session].listen(exchange)
        elif session is not None and exchange.request.method == "DELETE":
            self._sessions.pop(session).close()
            exchange.reply(204)
        else:
            exchange.reply(405, [("Allow", "POST")])

    def _foreign(self, exchange: Exchange) -> str:
        """Return why a request may be a web page's, which is at home elsewhere; "" if it is not."""
        for name in ("host", "origin"):
            value = exchange.request.headers.get(name)
            host = host_of((value or "").rpartition("//")[2])
            if value is not None and self._local and not is_loopback(host):
                return "%s is %.100r, which is not this machine" % (name, value)
        return ""

    def _by_stream(self, exchange: Exchange) -> bool:
        """Do what a request of HTTP+SSE wants; False for one that is none."""
        place, method = exchange.request.query, exchange.request.method
        if method == "GET":
            name, talk = "session=" + secrets.token_urlsafe(18), _WebConversation(self._book, alone=True)
            self._streams[name] = talk

            def gone() -> None:
                self._streams.pop(name, None)
                talk.player.close()

            exchange.on_close = gone
            talk.listen(exchange, b"event: endpoint\ndata: %s?%s\n\n" % (_SSE.encode(), name.encode()))
        elif method == "POST" and place in self._streams:
            messages = _messages_of(exchange)
            if messages is not None:
                exchange.reply(202)
                for each in messages:
                    self._streams[place].player.receive(each, None)
        elif method == "POST" and place:
            _fail(exchange, 404, "there is no such session here; begin with a GET of %s" % _SSE)
        else:
            return False
        return True

    def _post(self, exchange: Exchange, session: Optional[str]) -> None:
        messages = _messages_of(exchange)
        if messages is None:
            return
        requests = [each for each in messages if kind_of(each) == REQUEST]
        talk, fields = self._stateless, []
        if session is not None:
            talk = self._sessions[session]
        elif any(each["method"] == INITIALIZE for each in requests):
            talk, name = _WebConversation(self._book), secrets.token_urlsafe(18)
            self._sessions[name] = talk
            fields = [("Mcp-Session-Id", name)]
        reply = _PostReply(exchange, [each["id"] for each in requests], fields) if requests else None
        turns = [(each, talk.player.receive(each, reply)) for each in messages]
        if reply is None:
            exchange.reply(202)
            return
        for each in requests:
            if is_stateless(each) is not False:
                # Going away cancels [2026-07-28 basic/patterns/cancellation §Transport-Specific Cancellation].
                exchange.on_close = partial(talk.player.leave, each["id"], reply)
        steps = [step for _, turn in turns if turn is not None for step in turn.steps]
        reply.begin(_status(turns, reply), len(steps) == 1 and steps[0].message.kind in ANSWERS)


def _status(turns: Any, reply: _PostReply) -> int:
    """Return the status of the response to messages and the turns that they begin; 0 where it is the usual one.

    A method that is not there is refused by 404, too, where there is no handshake
    [2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST.
    """
    for message, turn in turns:
        if kind_of(message) == REQUEST:
            if isinstance(turn, Turn) and turn.refusal:
                return turn.refusal
            if turn is None and is_stateless(message) is not False:
                return {METHOD_NOT_FOUND: 404, INVALID_REQUEST: 400}.get(reply.code, 0)
    return 0


def _messages_of(exchange: Exchange) -> Optional[List[Any]]:
    """Return the messages in the body of a POST; None for a body that is refused."""
    try:
        value = loads(exchange.request.body)
    except JsonError as error:
        _fail(exchange, 400, "Parse error: %s" % error, PARSE_ERROR)
        return None
    return value if isinstance(value, list) and value else [value]


def _fail(exchange: Exchange, status: int, text: str, code: int = INVALID_REQUEST) -> None:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    exchange.reply(status, _JSON, dumps(body).encode("ascii"))
