"""The wires of an examination: whatever bytes are given go out, and everything that comes back is kept.

A `Pipe` is a server that was started here, or a socket with the same framing; a `Web` is Streamable HTTP, an `Sse`
HTTP+SSE [2024-11-05 basic/transports §HTTP with SSE]. All tell a trace of all that passes, so that the checker judges
it. None knows what is allowed: that is what the scenes are for.

=========  ===================================  =========================================================
           what is sent                         what comes of it
=========  ===================================  =========================================================
`Pipe`     one line                             an answer if one comes, later, among other messages
`Web`      one HTTP request, mostly a `POST`    the response with its status; a stream is read as it comes
`Sse`      a `POST`                             a status; an answer if one comes, later, by the stream
=========  ===================================  =========================================================

Which of the two transports of HTTP an address serves is found out by `serves_sse`. Reading: the page of HTTP+SSE gives
no statuses. Each of 200 to 299 means that a message was taken.
"""

import threading
from copy import copy
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...deadline import clock
from ...errors import METHOD_NOT_FOUND, AnswerLost, ConnectFailed, ConnectionLost, TransportError
from ...http11.client.connect import CancelScope, Connector, server_url, server_url_from
from ...http11.client.connection_pool import ConnectionPool
from ...http11.client.response import Reply
from ...jsontext import JsonError, dumps, loads
from ...limits import DEFAULT
from ...methods import INITIALIZE, PING
from ...revisions import REVISIONS
from ...streamable.http_trace import HttpTrace
from ...threads import start_thread
from ...transports.base import Transport, why_ended
from ...transports.tap import tap
from ...version import __version__
from ...wiretrace import CLIENT, Trace
from ...wiretrace.sse import SseBlock, SseSplitter
from ...wiretrace.text import plain, shorten

Fields = Sequence[Tuple[str, str]]
_EVIDENCE = 120
"""Characters of an answer that are shown as evidence."""
UNDECLARED = "this client has declared no such capability"
"""The message of the error for what a server asks for; one that repeats it has failed because it has asked."""
LONGEST = 64 * 1024 * 1024
"""Bytes of a body, or of an event, that are read."""


@dataclass(frozen=True)
class Reaction:
    """An answer, or the reason why there is none."""

    message: Optional[Dict[str, Any]] = None
    """The response: a JSON object with ``result`` or ``error``; None if none came."""
    why: str = ""
    """The reason why no response came."""
    status: Optional[int] = None
    """The status of HTTP; None on a pipe, and where no response came."""
    fields: Fields = ()
    """The header fields of the HTTP response."""
    others: Tuple[Any, ...] = ()
    """The messages that came before it by the same HTTP response: notifications, requests of the server."""
    last_id: str = ""
    """The id of the last event of a stream that had one."""

    @property
    def result(self) -> Optional[Dict[str, Any]]:
        """The result, if it is an object."""
        found = (self.message or {}).get("result")
        return found if isinstance(found, dict) else None

    @property
    def error(self) -> Optional[Dict[str, Any]]:
        """The error, if it is an object."""
        found = (self.message or {}).get("error")
        return found if isinstance(found, dict) else None

    @property
    def code(self) -> Optional[int]:
        """The code of the error."""
        found = (self.error or {}).get("code")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def field(self, name: str) -> Optional[str]:
        """Return the value of a header field of the response."""
        return next((value for each, value in self.fields if each.lower() == name.lower()), None)

    def __str__(self) -> str:
        """Return what came, in a few words, for evidence."""
        status = "status %d" % self.status if self.status is not None else ""
        if self.message is None:
            return ", ".join(filter(None, [status, self.why])) or "no answer"
        if self.error is not None:
            said = "error %s %r" % (self.code, self.error.get("message"))
        else:
            said = "result " + dumps(self.message.get("result"))
        return shorten(plain(", ".join(filter(None, [status, said]))), _EVIDENCE)


def as_bytes(value: Any) -> bytes:
    """Return the bytes of a message: those given, or a JSON value as this package writes it."""
    return value if isinstance(value, bytes) else dumps(value).encode("utf-8")


def parsed(data: bytes) -> Any:
    """Return the JSON value of bytes; None for bytes that are none."""
    try:
        return loads(data)
    except JsonError:
        return None


def is_response(message: Any) -> bool:
    """Return True for an object that is a response, or would be one."""
    return isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)


class ListeningWire:
    """A wire on which messages come at any time: what was heard on it so far.

    A thread of its own reads. It answers what the server asks: `ping` with a result, everything else with -32601, since
    no capability is declared, unless a scene has an answer; ``oblige`` may be set to answer otherwise.
    """

    is_web = False

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.messages: List[Any] = []
        """Everything that was received and is JSON, in order; a batch is one."""
        self.ended = ""
        """The reason why the connection is over; "" while it is not."""
        self.results: Dict[str, Any] = {}
        """Method of the server's -> the result that it gets."""
        self.oblige: Callable[[Dict[str, Any]], Any] = lambda request: self.send(answer_to(request, self.results))
        """Is called with each request of the server, on the thread that reads; it answers it."""

    @property
    def pid(self) -> Optional[int]:
        """The process id of the server, if it is a process that was started here."""
        return None

    def send(self, value: Any, fields: Fields = ()) -> Optional[Reaction]:
        """Send a message; return None, or the reason why it was not taken. ``fields``: those of HTTP."""
        raise NotImplementedError

    def _hear(self, values: Sequence[Any], ended: str = "") -> None:
        """Take messages that have come, or the end."""
        with self._changed:
            self.messages += [value for value in values if value is not None]
            self.ended = self.ended or ended
            self._changed.notify_all()
        for value in values:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict) and isinstance(each.get("method"), str) and "id" in each:
                    self.oblige(each)

    def wait(self, wanted: Callable[[Any], Any], seconds: float, since: int = 0) -> Any:
        """Wait for a message for which a function is true; return it, or None if none comes in time.

        ``since``: the number of messages that are not looked at.
        """
        until = clock() + seconds
        with self._changed:
            while True:
                for message in self.messages[since:]:
                    if wanted(message):
                        return message
                since = len(self.messages)
                left = until - clock()
                if self.ended or left <= 0:
                    return None
                self._changed.wait(left)


class Pipe(ListeningWire):
    """Lines to and from a server: standard streams of a process, or a socket."""

    kind = "pipe"

    def __init__(self, transport: Transport, trace: Trace) -> None:
        super().__init__()
        self.child = transport
        self._transport = tap(transport, trace, CLIENT)

    @property
    def pid(self) -> Optional[int]:
        """Return the id of the process; see `ListeningWire.pid`."""
        return getattr(self.child, "pid", None)

    def open(self) -> None:
        """Start the process or connect. Raises `TransportError`."""
        self._transport.open()
        start_thread("mcp-ref:examiner", self._read)

    def _read(self) -> None:
        while not self.ended:
            items = self._transport.read()
            self._hear([parsed(item) for item in items or () if isinstance(item, bytes)],
                       "" if items is not None else why_ended(self._transport) or "the connection ended")

    def send(self, value: Any, fields: Fields = ()) -> Optional[Reaction]:
        """Send one line; see `ListeningWire.send`."""
        try:
            self._transport.write([as_bytes(value)])
            return None
        except TransportError as error:
            self.ended = self.ended or str(error)
            return Reaction(why=self.ended)

    def close(self) -> None:
        """End the connection, and the process with it."""
        self._transport.close()


def answer_to(request: Dict[str, Any], results: Dict[str, Any]) -> Dict[str, Any]:
    """Return our response to a request of the server; ``results``: method -> result."""
    response: Dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == PING or request["method"] in results:
        response["result"] = results.get(request["method"], {})
    else:
        response["error"] = {"code": METHOD_NOT_FOUND, "message": UNDECLARED}
    return response


def exchanged(
    pool: ConnectionPool, seen: Any, request: Tuple[str, str, Tuple[Tuple[str, str], ...], Optional[bytes]],
    seconds: float, read: Callable[[Any, Fields], Reaction],
) -> Reaction:
    """Send an HTTP request, and return what a function reads of the response, or why there is none.

    ``seen``: the exchange in the trace. ``request``: method, target, header fields and body.
    """
    scope = CancelScope()
    try:
        reply = pool.send(*request, scope, seconds)
    except (ConnectFailed, ConnectionLost, AnswerLost) as error:
        seen.lost(error)
        return Reaction(why="no response: %s" % error)
    pairs = reply.headers.pairs()
    seen.response(reply.status, pairs)
    reply.seen = seen
    try:
        return read(reply, pairs)
    except (TransportError, OSError) as error:
        return Reaction(None, str(error), reply.status, pairs)
    finally:
        scope.gone = scope.gone or not reply.complete
        pool.finish(reply, scope)


class Web:
    """HTTP requests to a server, one at a time or from several threads; each as it is given.

    ``fields``: header fields that every request gets, such as a token.
    """

    kind = "web"
    is_web = True
    ended = ""
    document = False
    """True if bodies are documents, and no messages of the protocol."""

    def __init__(self, url: str, trace: Trace, fields: Fields = (), cafile: Optional[str] = None) -> None:
        self.where = server_url(url)
        self.fields = tuple(fields)
        self.connector = Connector(self.where, DEFAULT.connect_timeout, cafile=cafile)
        self._pool = ConnectionPool(self.connector, 1.0)
        self.trace = HttpTrace(trace, None, "streamable-http")
        self.oblige: Callable[[Dict[str, Any]], None] = lambda request: None
        """Called with each request of the server that comes by a stream."""

    def stranger(self) -> "Web":
        """Return the same wire without the token that each request gets."""
        made = copy(self)
        made.fields = tuple(field for field in self.fields if field[0].lower() != "authorization")
        return made

    def get(self, target: str, seconds: float) -> Reaction:
        """Get a document, which is no message of the protocol; an object of JSON is the `Reaction.message`."""
        made = copy(self)
        made.where = self.where._replace(path=target, query="")
        made.document = True
        return made.send("GET", (("Accept", "application/json"),), None, seconds, lambda value: isinstance(value, dict))

    def send(
        self, method: str, fields: Fields, body: Optional[bytes], seconds: float, wanted: Optional[Callable[
            [Any], Any]] = None, host: str = "", head: bool = False, cut: int = 0,
    ) -> Reaction:
        """Send a request and return what came of it. A stream is read until a message is wanted, or to its end.

        ``seconds``: those without a message after which it is given up, whatever keeps it alive. ``wanted``: tells the
        message that is waited for; by default the first response. ``host``: in the place of that of the URL. ``head``:
        do not read what a stream carries. ``cut``: give up a stream after so many events; 0: never.
        """
        target = self.where.target
        every = (("Host", host or self.where.authority), *self.fields, *fields)
        seen = self.trace.request(method, target, [*every, *_framing(body)], body, self.where.origin, self.document)
        return exchanged(self._pool, seen, (method, target, every, body), seconds, lambda reply, pairs: self._body(
            reply, pairs, wanted or is_response, head, cut, seconds))

    def _body(self, reply: Any, pairs: Fields, wanted: Callable[[Any], Any], head: bool, cut: int,
              seconds: float) -> Reaction:
        kind = (reply.headers.lower("content-type") or "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            body = reply.whole(LONGEST)
            value = parsed(body)
            values = value if isinstance(value, list) else [value]
            found = next((each for each in values if wanted(each)), None)
            why = "" if found is not None else "a body that is no response: %r" % body[:60] if body else "an empty body"
            return Reaction(found, why, reply.status, pairs, tuple(each for each in values if each is not found))
        if head:
            return Reaction(None, "a stream, which was not read", reply.status, pairs)
        events, others, last = SseSplitter(LONGEST), [], ""  # type: SseSplitter, List[Any], str
        until = clock() + seconds
        while True:
            data = reply.piece()
            for block in events.feed(data):
                until = clock() + seconds if block is not None and block.is_message else until
                last = str((block.fields if block is not None else {}).get("id") or last)
                message = parsed(block.data or b"") if block is not None and block.is_message else None
                for each in message if isinstance(message, list) else [message]:
                    if each is not None and wanted(each):
                        return Reaction(each, "", reply.status, pairs, tuple(others), last)
                    others += [each] if each is not None else []
                    if isinstance(each, dict) and isinstance(each.get("method"), str) and "id" in each:
                        self.oblige(each)
                cut -= 1
                if not cut:
                    return Reaction(None, "given up", reply.status, pairs, tuple(others), last)
            if not data or clock() > until:
                why = "no message in %g s" % seconds if data else "the stream ended without it"
                return Reaction(None, why, reply.status, pairs, tuple(others), last)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()
        self.trace.closed(CLIENT)


def _framing(body: Optional[bytes]) -> Fields:
    return () if body is None else (("Content-Length", str(len(body))),)


_OPENING = 10.0
"""Seconds for which the `endpoint` event is waited for."""
_PROBE = 3.0
"""Seconds in which the first event of a stream has to come, for an address to be taken for one of HTTP+SSE."""


class Sse(ListeningWire):
    """HTTP+SSE to a server. ``fields``: header fields that every request gets, such as a token."""

    kind = "sse"

    def __init__(self, url: str, trace: Trace, fields: Fields = (), cafile: Optional[str] = None) -> None:
        super().__init__()
        self.where = server_url(url)
        self.fields = tuple(fields)
        self._pool = ConnectionPool(Connector(self.where, DEFAULT.connect_timeout, cafile=cafile), 1.0)
        self.trace = HttpTrace(trace, None, "http+sse")
        self._scope = CancelScope()
        self._begun = threading.Event()
        self.target = ""
        """Path and query of the address for messages."""
        self.status: Optional[int] = None
        """The status of the stream."""
        self.events: List[Tuple[str, str]] = []
        """Name and data of the events of the stream that are no messages, in order."""
        self.first = ""
        """The name of the first event."""

    def open(self, seconds: float = _OPENING) -> None:
        """Open the stream, and wait for the address for messages. Raises `TransportError`."""
        start_thread("mcp-ref:examiner", self._listen)
        self._begun.wait(seconds)
        if not self.target:
            why = self.ended or "no endpoint event in %g s" % seconds
            self.close()
            raise ConnectFailed("%s: %s" % (self.where.origin + self.where.path, why))

    def _listen(self) -> None:
        fields = (("Host", self.where.authority), *self.fields, ("Accept", "text/event-stream"))
        seen = self.trace.request("GET", self.where.target, fields, None, self.where.origin)
        try:
            reply = self._pool.send("GET", self.where.target, fields, None, self._scope)
        except (ConnectFailed, ConnectionLost, AnswerLost) as error:
            seen.lost(error)
            self._over(str(error))
            return
        self.status = reply.status
        seen.response(reply.status, reply.headers.pairs())
        reply.seen = seen
        try:
            self._events(reply)
        except (TransportError, OSError) as error:
            self._over(str(error))
        finally:
            self._scope.gone = True
            self._pool.finish(reply, self._scope)

    def _events(self, reply: Reply) -> None:
        kind = (reply.headers.lower("content-type") or "").partition(";")[0].strip().lower()
        if reply.status != 200 or kind != "text/event-stream":
            self._over("GET: status %d, Content-Type %r" % (reply.status, kind))
            return
        blocks = SseSplitter(LONGEST)
        while True:
            data = reply.piece()
            for block in blocks.feed(data):
                if block is not None:
                    self._take(block)
            if not data:
                self._over("the server closed the stream")
                return

    def _take(self, block: SseBlock) -> None:
        name = block.fields.get("event") or "message"
        text = (block.data or b"").decode("utf-8", "replace")
        self.first = self.first or name
        if block.is_message:
            self._hear([parsed(block.data or b"")])
            return
        self.events.append((name, text))
        if name == "endpoint" and not self.target and not self.ended:
            try:
                goal = server_url_from(self.where.url, text, "the endpoint event has")
            except ConnectFailed as error:
                self._over(str(error))
                return
            if goal.origin != self.where.origin:  # a token goes to nobody else
                self._over("the endpoint event names another origin, %s" % goal.origin)
                return
            self.target = goal.target
            self._begun.set()

    def _over(self, why: str) -> None:
        self._hear([], why)
        self._begun.set()

    def send(self, value: Any, fields: Fields = ()) -> Optional[Reaction]:
        """Post a message to the address of the stream; see `ListeningWire.send`."""
        answer = self.post(value, fields)
        return None if answer.status is not None and answer.status // 100 == 2 else answer

    def post(self, value: Any, fields: Fields = (), seconds: float = _OPENING) -> Reaction:
        """Post a message, and return what came of the POST itself, whatever its status."""
        body = as_bytes(value)
        given = {name.lower() for name, _ in fields}
        host = () if "host" in given else (("Host", self.where.authority),)
        kind = () if "content-type" in given else (("Content-Type", "application/json"),)
        every = (*host, *self.fields, *kind, *fields)
        seen = self.trace.request("POST", self.target, [*every, ("Content-Length", str(len(body)))], body,
                                  self.where.origin)
        return exchanged(self._pool, seen, ("POST", self.target, every, body), seconds, _taken)

    def close(self) -> None:
        """End the stream, and the session with it."""
        self._scope.cancel()
        self._pool.close()
        self._hear([], "closed here")
        self.trace.closed(CLIENT)


def _taken(reply: Any, pairs: Fields) -> Reaction:
    """Return what came of a POST: its status, and a response in its body, which has no place there."""
    found = parsed(reply.whole(LONGEST))
    response = found if isinstance(found, dict) and ("result" in found or "error" in found) else None
    why = "the message was taken" if reply.status // 100 == 2 else "the message was not taken"
    return Reaction(response, "" if response else why, reply.status, pairs)


def serves_sse(url: str, fields: Fields = (), cafile: Optional[str] = None) -> bool:
    """Return True if an address serves HTTP+SSE, and not Streamable HTTP.

    GET opens a stream that begins with the `endpoint` event, and a POST of `initialize` to the same address is refused
    [2025-03-26..2025-11-25 basic/transports §Backwards Compatibility]. The other way round than the page has it: most
    servers of Streamable HTTP refuse such a GET, and so have no session for nothing.
    """
    wire = Sse(url, Trace(lambda event: None), fields, cafile)
    try:
        wire.open(_PROBE)
        wire.target = wire.where.target
        answer = wire.post({"jsonrpc": "2.0", "id": 1, "method": INITIALIZE, "params": {
            "protocolVersion": REVISIONS[0].name, "capabilities": {},
            "clientInfo": {"name": "mcp_ref examiner", "version": __version__}}},
            (("Accept", "application/json, text/event-stream"),))
        return answer.status is None or answer.status >= 400
    except TransportError:
        return False
    finally:
        wire.close()
