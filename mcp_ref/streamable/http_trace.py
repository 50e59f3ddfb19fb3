"""The trace of HTTP beside the messages: requests and their statuses, header fields, streams of events.

::

    ~~ POST /mcp (MCP-Protocol-Version: 2025-06-18, Mcp-Session-Id: ~0f3a97c1) -> 200 text/event-stream
    ~~ S  stream 1 opened: tools/call
    ~~ S  stream 1: id p7-0, retry 1000
    ~~ S  stream 1 closed after 2 events

Each exchange has a line, written when its status is known: the client traces the requests that it sends, the server
those that it receives. The trace numbers the streams. No line holds a secret: of a session id it has a digest, so that
equal ids look equal; of an authorization only that there was one; of a challenge the known parameters; and addresses
have no query.
"""

import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Sequence, Tuple

from ..http11.message import Exchange, Pairs
from ..wiretrace import CLIENT, SERVER, shorten

if TYPE_CHECKING:
    from ..protocol.streamable_http.sse import SseEvent
    from ..wiretrace import Trace

_LONGEST = 120
_REQUEST = ("mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id")
_REPLY = ("mcp-session-id", "mcp-protocol-version", "location", "www-authenticate", "retry-after", "allow")
"""The header fields that are shown, in this order."""
_NAMES = {"mcp-protocol-version": "MCP-Protocol-Version", "last-event-id": "Last-Event-ID",
          "www-authenticate": "WWW-Authenticate"}
_CHALLENGE = re.compile(r'([A-Za-z0-9_-]{1,40}) ?= ?("(?:[^"\\]|\\.)*"|[^\s,"]+)')
_HARMLESS = ("error", "scope", "realm", "resource_metadata")
"""The parameters of a challenge that are shown."""
_FIELD = re.compile(rb"^(id|retry|event): ([^\r\n]*)$", re.MULTILINE)


def digest_of(session: str) -> str:
    """Return a short text for the id of a session: equal for equal ids, and useless to attackers."""
    from hashlib import sha256

    return "~" + sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _place(target: str) -> str:
    """Return an address without the secrets in its query; a session id there becomes its digest."""
    path, mark, query = target.partition("?")
    found = re.search(r"(?:^|&)(sessionId|session_id)=([^&#]+)", query)
    return shorten(path, _LONGEST) + (
        "?%s=%s" % (found.group(1), digest_of(found.group(2))) if found else "?..." if mark else "")


def _shown(name: str, value: str) -> str:
    if name == "mcp-session-id":
        return digest_of(value)
    if name == "location":
        return _place(value)
    if name == "www-authenticate":
        scheme = value.strip().partition(" ")[0]
        given = [(found.group(1), found.group(2).strip('"')) for found in _CHALLENGE.finditer(value[:2000])]
        said = ["%s=%s" % (key, shorten(text, _LONGEST) if key.lower() in _HARMLESS else "***") for key, text in given]
        return shorten(scheme, 40) + (": " + " ".join(said) if said else "")
    return shorten(value, _LONGEST)


def _fields(pairs: Iterable[Tuple[str, str]], wanted: Sequence[str]) -> str:
    """Return the wanted header fields in brackets, with a blank before; "" for none."""
    found: List[Tuple[str, str]] = []
    authorized = False
    for name, value in pairs:
        name = name.lower()
        authorized = authorized or (wanted is _REQUEST and name == "authorization")
        if name in wanted:
            found.append((name, value))
    found.sort(key=lambda field: wanted.index(field[0]))
    texts = ["%s: %s" % (_NAMES.get(name) or name.title(), _shown(name, value)) for name, value in found]
    texts += ["with authorization"] * authorized
    return " (%s)" % ", ".join(texts) if texts else ""


def _media(pairs: Iterable[Tuple[str, str]]) -> str:
    for name, value in pairs:
        if name.lower() == "content-type":
            return " " + shorten(value.partition(";")[0].strip(), 80)
    return ""


class HttpTrace:
    """The writer of HTTP lines into a `Trace`, for the exchanges of one party; see the module. Thread-safe."""

    def __init__(self, trace: "Trace") -> None:
        self.trace = trace

    def exchanged(
        self, method: str, target: str, fields: Pairs, status: int, answer: Pairs, why: str = "",
    ) -> None:
        """Write a line for a request and the head of its reply; ``why``: the text of a refusal."""
        self.trace.transport("%s %s%s -> %d%s%s%s" % (
            shorten(method, 40), _place(target), _fields(fields, _REQUEST), status, _media(answer),
            _fields(answer, _REPLY), why and ": " + shorten(why, 200)))

    def failed(self, method: str, target: str, fields: Pairs, error: BaseException) -> None:
        """Write a line for a request that has no reply."""
        self.trace.transport("%s %s%s -> no reply: %s" % (method, _place(target), _fields(fields, _REQUEST), error))

    def finding(self, name: str, text: str) -> None:
        """Write a line for an anomaly that was counted."""
        self.trace.finding("%s: %s" % (name, text))

    def stream(self, what: str) -> "StreamTrace":
        """Return the trace of a stream of events that begins; ``what``: its purpose."""
        return StreamTrace(self.trace, what)


class StreamTrace:
    """The trace of one stream of events, as long as one connection carries it."""

    def __init__(self, trace: "Trace", what: str) -> None:
        self._trace = trace
        self._name = "stream %d" % next(trace.numbers)
        self._events = 0
        self._retry: Optional[int] = None
        self._over = False
        trace.transport("%s opened: %s" % (self._name, shorten(what, _LONGEST)), SERVER)

    def events(self, events: "Sequence[SseEvent]", retry: Optional[int]) -> None:
        """Write lines for events that have come; ``retry``: the last such value of the stream, in milliseconds."""
        for event in events:
            self._event(event.event, event.id, retry if retry != self._retry else None, event.data)
            self._retry = retry

    def sent(self, data: bytes) -> None:
        """Write lines for the events in these bytes, which were sent; comments are left out."""
        for block in data.split(b"\n\n"):
            if b"data:" in block:
                found = {name: value.decode("utf-8", "replace") for name, value in _FIELD.findall(block)}
                retry = found.get(b"retry")
                self._event(found.get(b"event", "message"), found.get(b"id"), int(retry) if retry else None,
                            block.partition(b"data: ")[2])

    def _event(self, kind: str, id: Optional[str], retry: Optional[int], data: bytes) -> None:
        self._events += 1
        said = [] if kind == "message" else ["event " + shorten(kind, 40)]
        if kind == "endpoint":
            said[0] += " " + _place(data.decode("utf-8", "replace"))
        said += [] if id is None else ["id " + shorten(id, _LONGEST)]
        said += [] if retry is None else ["retry %d" % retry]
        if said:
            self._trace.transport("%s: %s%s" % (self._name, ", ".join(said), "" if data else ", no data"), SERVER)

    def closed(self, why: str = "", party: str = SERVER) -> None:
        """Write a line for the end of the stream. The second call does nothing."""
        if not self._over:
            self._over = True
            self._trace.transport("%s closed after %d event%s%s" % (
                self._name, self._events, "s" * (self._events != 1), why and ": " + shorten(why, 200)), party)


class TracedExchange(Exchange):
    """An exchange of a server that writes its trace; the inner exchange does the work."""

    def __init__(self, inner: Exchange, trace: HttpTrace) -> None:
        self.inner = inner
        self._trace = trace
        self._stream: Optional[StreamTrace] = None
        super().__init__(inner.request)

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
            if self._stream is not None:
                self._stream.closed("the client has gone", CLIENT)
            told()

        self.inner.on_close = closed

    def _tell(self, status: int, headers: Pairs, why: str = "") -> None:
        request = self.request
        target = request.path + ("?" + request.query if request.query else "")
        self._trace.exchanged(request.method, target, request.headers.pairs(), status, headers, why)

    def watch(self) -> None:
        """Implement `Exchange.watch`."""
        self.inner.watch()

    def reply(self, status: int, headers: Pairs = (), body: bytes = b"") -> None:
        """Implement `Exchange.reply`."""
        self._tell(status, headers, body[:1000].decode("utf-8", "replace") if status >= 400 else "")
        self.inner.reply(status, headers, body)

    def start(self, status: int, headers: Pairs = ()) -> None:
        """Implement `Exchange.start`."""
        self._tell(status, headers)
        self._stream = self._trace.stream("the reply to %s" % self.request.method)
        self.inner.start(status, headers)

    def send(self, data: bytes) -> bool:
        """Implement `Exchange.send`."""
        if self._stream is not None:
            self._stream.sent(data)
        taken = self.inner.send(data)
        if not taken and self._stream is not None:
            self._stream.closed("the client has gone", CLIENT)
        return taken

    def finish(self, data: bytes = b"") -> None:
        """Implement `Exchange.finish`."""
        if self._stream is not None:
            self._stream.sent(data)
            self._stream.closed()
        self.inner.finish(data)


def traced(handle: Callable[[Exchange], Any], trace: "Optional[Trace]") -> Callable[[Exchange], Any]:
    """Return a handler that traces its exchanges; ``handle`` itself if there is no trace."""
    if trace is None:
        return handle
    seen = HttpTrace(trace)
    return lambda exchange: handle(TracedExchange(exchange, seen))
