"""The trace of HTTP: the head of each request and response, and what is in them, told with the number of the exchange.

The client tells of the requests that it sends, the server of those that it receives, in the order of the wire. A body
is a message of the protocol, several in a stream of SSE events, or something else: a metadata document, a form, an
error page. The connection is all HTTP traffic of one client, or of all clients of one address of a server. What the
HTTP server refuses before there is a request (a head that is none, a body that is too long) is not told.
"""

import re
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Hashable, Iterable, List, Optional, Set, Tuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..http11.message import Exchange, Pairs
from ..jsontext import JsonError, loads
from ..wiretrace import BODY, CLIENT, CLOSE, END, GAP, OPEN, REQUEST, RESPONSE, SERVER, SSE_EVENT
from ..wiretrace.sse import SseSplitter

if TYPE_CHECKING:
    from ..wiretrace import Trace

LONGEST = 64 * 1024 * 1024
"""The bytes of a message that are held back until its end has come; a longer one is not recorded."""
_LONGEST_BODY = 64 * 1024
"""The bytes of other bodies that are shown."""
_FORM = "application/x-www-form-urlencoded"
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json").fullmatch


class HttpTrace:
    """The reports of HTTP into a `Trace`, for one connection; see the module. Thread-safe.

    ``connection``: its name; None: a new one, which begins with the first request. ``transport``: its name then.
    """

    def __init__(self, trace: "Trace", connection: Optional[str] = None, transport: str = "") -> None:
        self.trace = trace
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._name = connection
        self._transport = transport
        self._begun = connection is not None

    @property
    def connection(self) -> str:
        """The name of the connection."""
        with self._lock:
            if self._name is None:
                self._name = self.trace.connection()
            return self._name

    def request(
        self, method: str, target: str, fields: Iterable[Tuple[str, str]], body: Optional[bytes], url: str = "",
        document: bool = False,
    ) -> "ExchangeTrace":
        """Tell of a request, and return what tells of its response. ``url``: scheme and authority of the server.

        ``document``: the bodies are no messages of the protocol, but documents and forms of authorization.
        """
        if not self._begun:
            with self._opening:  # no other thread's request comes before it
                if not self._begun:
                    self.opened(self._transport)
        return ExchangeTrace(self, method, target, fields, body, url, document)

    def visited(self, url: str, party: str = "") -> None:
        """Tell of a request of a user agent, made for ``party``: of its response nothing is known here."""
        parts = urlsplit(url)
        target = urlunsplit(("", "", parts.path or "/", parts.query, parts.fragment))
        place: Dict[str, Any] = {"connection": self.connection, "exchange": next(self.trace.exchanges)}
        self.trace.tell(REQUEST, party, {"method": "GET", "target": target,
                                         "url": "%s://%s" % (parts.scheme, parts.netloc)}, **place)
        self.trace.tell(END, "", {"complete": False}, "made by a user agent: the response is not recorded", **place)

    def opened(self, transport: str) -> None:
        """Tell that the connection begins, with the transport that it is now known to speak."""
        self.trace.tell(OPEN, members={"transport": transport}, connection=self.connection)
        self._begun = True

    def closed(self, party: str) -> None:
        """Tell of the end of a connection that has begun here."""
        if self._transport and self._begun:
            self._begun = False
            self.trace.tell(CLOSE, party, connection=self.connection)
            self.trace.disconnected()

    def finding(self, name: str, text: str) -> None:
        """Tell of an anomaly that was counted."""
        self.trace.finding("%s: %s" % (name, text), "", self.connection)


class ExchangeTrace:
    """The reports of one exchange: its request at once, then `response`, `data`, and `end`. Thread-safe."""

    def __init__(
        self, http: HttpTrace, method: str, target: str, fields: Iterable[Tuple[str, str]], body: Optional[bytes],
        url: str, document: bool,
    ) -> None:
        self._trace = http.trace
        self._connection = http.connection
        self._number = next(http.trace.exchanges)
        self._method, self._document = method, document
        self._lock = threading.RLock()
        self._body = bytearray()
        self._size = 0
        self._events: Optional[SseSplitter] = None
        self._status = 0
        self._kind = ""
        self._answered = self._over = False
        fields = [(name, value) for name, value in fields]
        self._tell(REQUEST, CLIENT, {"method": method, "target": target, "fields": self._mirrored(fields, body),
                                     "url": url or None})
        if body and document:
            self._tell_body(CLIENT, body, _media(fields))
        elif body:
            self._message(CLIENT, body)

    def _tell(self, kind: str, party: str, members: Dict[str, Any], note: str = "") -> None:
        self._trace.tell(kind, party, members, note, self._connection, self._number)

    def _message(self, party: str, data: bytes, sse: Optional[Dict[str, Any]] = None) -> None:
        self._trace.message(party, data, self._connection, self._number, sse)

    def _mirrored(self, fields: List[Tuple[str, str]], body: Optional[bytes]) -> List[Tuple[str, str]]:
        """Mask the fields that repeat secrets of the message: by its members' names they are known to be some."""
        masker = self._trace.masker
        if not any(_is_mirror(name) for name, _ in fields):
            return fields
        try:
            found: Set[str] = masker.message(loads(body or b""))[1]
        except JsonError:  # what is secret in it cannot be told
            return [(name, masker.mask(value) if _is_mirror(name) else value) for name, value in fields]
        return [(name, masker.field(name, value, found) if _is_mirror(name) else value) for name, value in fields]

    def response(self, status: int, fields: Iterable[Tuple[str, str]]) -> None:
        """Tell of the head of the response."""
        fields = list(fields)
        with self._lock:
            self._answered, self._status, self._kind = True, status, _media(fields)
            if self._kind == "text/event-stream" and not self._document:
                self._events = SseSplitter(LONGEST)
            self._tell(RESPONSE, SERVER, {"status": status, "fields": fields})

    def data(self, data: bytes) -> None:
        """Tell of the next piece of the response's body."""
        with self._lock:
            if self._events is not None:
                self._stream(self._events, data)
            elif data:
                self._size += len(data)
                if self._size <= LONGEST:
                    self._body += data

    def _stream(self, events: SseSplitter, data: bytes) -> None:
        for block in events.feed(data):
            if block is None:
                self._tell(GAP, "", {}, "an event of more than %d bytes" % LONGEST)
            elif block.is_message:
                self._message(SERVER, block.data or b"", block.fields)
            else:
                text = None if block.data is None else block.data.decode("utf-8", "replace")
                self._tell(SSE_EVENT, SERVER, {**block.fields, "data": text})

    def end(self, party: str, complete: bool = True, note: str = "") -> None:
        """Tell of the body, if it was no stream, and of the end of the exchange. A second call does nothing."""
        with self._lock:
            if self._over:
                return
            self._over = True
            body, self._body = bytes(self._body), bytearray()
            if self._size > LONGEST:
                self._tell(GAP, "", {}, "a body of %d bytes" % self._size)
            elif body and not complete:
                self._tell(GAP, "", {}, "a body that ended early, after %d bytes" % len(body))
            elif body and self._is_message(body):
                self._message(SERVER, body)
            elif body:
                self._tell_body(SERVER, body, self._kind)
            self._tell(END, party, {"complete": complete}, note)

    def lost(self, error: BaseException, party: str = "") -> None:
        """Tell that no response came."""
        self.end(party, False, "no response: %s" % error)

    def _is_message(self, body: bytes) -> bool:
        if self._document or not _JSON(self._kind):
            return False
        if self._method == "POST" and self._status < 300:
            return True
        try:
            value = loads(body)
        except JsonError:
            return False
        first = value[0] if isinstance(value, list) and value else value
        return isinstance(first, dict) and "jsonrpc" in first

    def _tell_body(self, party: str, body: bytes, kind: str) -> None:
        """Tell of a body that is no message, in the form in which its parts can be told."""
        if kind == _FORM:
            self._tell(BODY, party, {"form": parse_qsl(body.decode("utf-8", "replace"), True)})
            return
        try:
            if len(body) <= _LONGEST_BODY and (_JSON(kind) or body[:1] in b"{["):
                self._tell(BODY, party, {"json": loads(body)})
                return
        except JsonError:
            pass
        size = len(body) if len(body) > _LONGEST_BODY else None
        try:
            text = body[:_LONGEST_BODY].decode("utf-8", "strict" if size is None else "ignore")
            self._tell(BODY, party, {"text": text, "size": size})
        except UnicodeDecodeError:
            from base64 import b64encode

            self._tell(BODY, party, {"base64": b64encode(body[:_LONGEST_BODY]).decode("ascii"), "size": size})


def _is_mirror(name: str) -> bool:
    return name.lower().startswith("mcp-param-")


def _media(fields: Iterable[Tuple[str, str]]) -> str:
    for name, value in fields:
        if name.lower() == "content-type":
            return value.partition(";")[0].strip().lower()
    return ""


class TracedExchange(Exchange):
    """An exchange of a server that writes its trace; the inner exchange does the work."""

    def __init__(self, inner: Exchange, http: HttpTrace) -> None:
        self.inner = inner
        super().__init__(inner.request)
        request = inner.request
        target = request.root + request.path + ("?" + request.query if request.query else "")
        host = request.headers.get("host")
        url = host and "%s://%s" % ("https" if request.secure else "http", host)
        self._seen = http.request(request.method, target, request.headers.pairs(), request.body, url or "")

    @property
    def holder(self) -> Hashable:
        """The peer for which an unread reply is counted."""
        return self.inner.holder

    @holder.setter
    def holder(self, holder: Hashable) -> None:
        self.inner.holder = holder

    @property
    def gone(self) -> bool:  # type: ignore[override]
        """True if the client is known to be gone."""
        return self.inner.gone

    @property
    def on_close(self) -> Optional[Callable[[], None]]:
        """Return the `on_close` of the inner exchange."""
        return self.inner.on_close

    @on_close.setter
    def on_close(self, told: Optional[Callable[[], None]]) -> None:
        if told is None:
            self.inner.on_close = None
            return

        def closed() -> None:
            self._left()
            told()

        self.inner.on_close = closed

    def _left(self) -> None:
        self._seen.end(CLIENT, False, "the client has gone")

    def watch(self) -> None:
        self.inner.watch()

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        self._seen.response(status, headers)
        self._seen.data(body)
        self._seen.end(SERVER)
        self.inner.reply(status, headers, body)

    def start(self, status: int, headers: Pairs = ()) -> None:
        self._seen.response(status, headers)
        self.inner.start(status, headers)

    def send(self, data: bytes) -> bool:
        self._seen.data(data)
        taken = self.inner.send(data)
        if not taken:
            self._left()
        return taken

    def finish(self, data: bytes = b"") -> None:
        if data:
            self._seen.data(data)
        self._seen.end(SERVER)
        self.inner.finish(data)


def traced(handle: Callable[[Exchange], Any], http: HttpTrace) -> Callable[[Exchange], Any]:
    """Return a handler that traces its exchanges."""
    return lambda exchange: handle(TracedExchange(exchange, http))
