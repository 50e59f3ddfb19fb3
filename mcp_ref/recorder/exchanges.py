"""Events of HTTP exchanges: heads, messages, streams of events, and bodies that are no messages.

What a body is, its contents say: a JSON object with the member ``jsonrpc``, or an array of such, is a message. Whatever
else a client posts to a path to which it has posted messages is taken for a message, too, and recorded byte for byte;
anything else is a body: a metadata document, a form, an error page.

A body is recorded up to LONGEST_BODY bytes, of a longer one its beginning and how much is missing. A stream of events
may be of any length: that bounds each of its events alone. Bodies in gzip and deflate are recorded as they were before
that; in other codings as a gap.
"""

import zlib
from itertools import count
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import parse_qsl

from ..jsontext import JsonError, loads
from ..wiretrace import BODY, CLIENT, END, GAP, OPEN, REQUEST, RESPONSE, SERVER, SSE_EVENT, TRANSPORT
from ..wiretrace.sse import SseBlock, SseSplitter
from .framing import Head
from .telling import Teller, canonical, header_fields, is_mirror

LONGEST_BODY = 16 * 1024 * 1024
"""The bytes of a body, or of an event in a stream, that are recorded."""
MOST_ENDPOINTS = 1000
"""The paths with messages that are remembered: a server that names one for each session has many."""
MOST_PAIRS = 10_000
"""The parameters of a form that are recorded."""
_SHOWN = 1000
_CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "windows-1252", "utf-16")
"""The charsets whose text is shown; `bytes.decode` has others that are none, such as escapes."""


def is_message(value: Any) -> bool:
    """Return True if a JSON value looks like a message, or a batch of messages."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and "jsonrpc" in item for item in value)
    return isinstance(value, dict) and "jsonrpc" in value


class HttpRecorder:
    """The exchanges of clients with one server. ``origin``: scheme, host and port of the server; ``path``: that of its
    MCP endpoint, if it is known.
    """

    def __init__(self, teller: Teller, origin: str, path: str = "", connection: str = "") -> None:
        self.teller = teller
        self.origin = origin
        self.connection = connection
        self.endpoints: Dict[str, None] = {path: None} if path.strip("/") else {}
        """The paths to which messages are posted, as far as it is known, the last MOST_ENDPOINTS."""
        self.numbers = count(1)
        self.opened: Dict[str, None] = {}
        """The transports whose use has been told."""

    def add(self, path: str) -> None:
        """Take it that messages are posted to this path."""
        if path not in self.endpoints:
            if len(self.endpoints) >= MOST_ENDPOINTS:
                del self.endpoints[next(iter(self.endpoints))]
            self.endpoints[path] = None

    def open(self, at: float, transport: str) -> None:
        """Tell once that a conversation has begun over this transport."""
        if transport not in self.opened:
            self.opened[transport] = None
            self.teller.tell(OPEN, at=at, connection=self.connection, more={"transport": transport})


_SPARE_EVENTS = 1000
"""The events that a stream may have beyond the number of its bytes on the wire; in honest ones each takes several."""


class ExchangeRecorder:
    """One exchange. The calls come in the order of what happened, each with its time, on the recording thread."""

    def __init__(self, http: HttpRecorder, decoded: bool = False) -> None:
        self._http = http
        self.decoded = decoded
        """True if bodies are as they were before they were compressed, whatever Content-Encoding says."""
        self._number = next(http.numbers)
        self._path = ""
        self._target = ""
        self._held: Optional[Tuple[float, Head]] = None
        """The head of the request, while it has not been told."""
        self._body: Dict[str, Optional["_Body"]] = {CLIENT: None, SERVER: None}
        self._over = True  # until it begins: where its beginning was lost, nothing is told

    def request(self, at: float, head: Head) -> None:
        """Record the head of the request."""
        self._over = False
        self._target, self._path = head.target, head.target.partition("?")[0]
        self._body[CLIENT] = _Whole(self, CLIENT, head.fields, head.method == "POST")
        self._held = at, head
        if not any(is_mirror(name) for name, _ in head.fields):
            self._tell_request()

    def _tell_request(self) -> None:
        """Tell of the request's head; one that repeats parts of the message waits for it, to know what is secret."""
        if self._held is None:
            return
        (at, head), self._held, body = self._held, None, self._body[CLIENT]
        seen = bytes(body.kept) if isinstance(body, _Whole) else b""
        self._tell(at, REQUEST, CLIENT, {
            "method": head.method, "target": head.target, "fields": self._http.teller.mirrored(head.fields, seen),
            "url": self._http.origin})

    def response(self, at: float, head: Head) -> None:
        """Record the head of the response."""
        if self._over:
            return
        self._tell_request()
        self._tell(at, RESPONSE, SERVER, {"status": head.status, "fields": head.fields})
        kind = media_type(head.fields)
        made = _Events if kind == "text/event-stream" and head.status == 200 else _Whole
        self._body[SERVER] = made(self, SERVER, head.fields)

    def interim(self, at: float, head: Head) -> None:
        """Record the head of a response that another one follows."""
        if self._over:
            return
        self._tell_request()
        self._tell(at, RESPONSE, SERVER, {"status": head.status, "fields": head.fields})

    def data(self, at: float, direction: str, data: bytes) -> None:
        """Record a part of a body."""
        body = self._body[direction]
        if body is not None:
            body.feed(at, data)

    def lost(self, at: float, direction: str, count: int) -> None:
        """Record that so many bytes were dropped: there was no time to record them."""
        body = self._body[direction]
        if body is not None:
            body.drop()
        self.tell(at, GAP, direction, {}, "%d bytes: the trace could not be written as fast as they came" % count)

    def body_end(self, at: float, direction: str) -> None:
        """Record that a body is whole."""
        self._tell_request()
        body, self._body[direction] = self._body[direction], None
        if body is not None:
            body.end(at, True)

    def end(self, at: float, direction: str, complete: bool, note: str = "") -> None:
        """Record that the exchange is over; the second call does nothing."""
        if self._over:
            return
        self._over = True
        self._tell_request()
        for party in (CLIENT, SERVER):
            body, self._body[party] = self._body[party], None
            if body is not None:
                body.end(at, False)
        self.tell(at, END, direction, {"complete": complete}, note)

    # For the bodies

    def tell(self, at: float, kind: str, direction: str, more: Dict[str, Any], text: str = "") -> None:
        """Tell of an event of this exchange."""
        self._http.teller.tell(kind, direction, at, text, self._http.connection, self._number, more)

    _tell = tell

    def message(self, at: float, direction: str, data: bytes, sse: Optional[Dict[str, Any]] = None) -> None:
        """Tell of a message of this exchange."""
        if sse is None and direction == CLIENT:
            self._http.add(self._path)
            if "http+sse" not in self._http.opened:
                self._http.open(at, "streamable-http")
        self._http.teller.message(direction, data, at, self._http.connection, self._number, sse)

    def posted_to_endpoint(self) -> bool:
        """Return True if messages have been posted to the path of this exchange."""
        return self._path in self._http.endpoints

    def learn(self, at: float, target: str) -> None:
        """Take it that the server has named the target to which messages are posted over HTTP+SSE."""
        from urllib.parse import urljoin, urlsplit

        self._http.open(at, "http+sse")
        try:
            self._http.add(urlsplit(urljoin(self._target, target)).path)
        except ValueError:
            pass  # no URL


class _Body:
    """A body that arrives in parts."""

    def __init__(self, exchange: ExchangeRecorder, direction: str, fields: List[Tuple[str, str]],
                 posted: bool = False) -> None:
        self._exchange = exchange
        self._direction = direction
        self._posted = posted
        self._kind = media_type(fields)
        self._charset = header_fields(fields, "content-type").partition("charset=")[2].strip('" ') or "utf-8"
        coding = header_fields(fields, "content-encoding").strip().lower()
        self._decoder: Any = None
        self._unreadable = ""
        self._size = self._wire = 0
        if exchange.decoded:
            return
        if coding in ("gzip", "x-gzip", "deflate"):
            self._decoder = zlib.decompressobj(47 if coding != "deflate" else 15)
        elif coding not in ("", "identity"):
            self._unreadable = coding

    def feed(self, at: float, data: bytes) -> None:
        """Take a part."""
        if self._unreadable:
            self._size += len(data)
            return
        self._wire += len(data)
        while data and not self._unreadable:
            part, data = self._decoded(data)
            if part:
                self._size += len(part)
                self._take(at, part)

    def _decoded(self, data: bytes) -> Tuple[bytes, bytes]:
        """Return a part before it was compressed, and what is left to do; a megabyte at a time, for it may be huge."""
        if self._decoder is None:
            return data, b""
        try:
            if self._decoder.eof:  # its `unused_data` would keep all that follows
                return b"", b""
            part = self._decoder.decompress(data, 1024 * 1024)
            return part, self._decoder.unconsumed_tail
        except zlib.error:
            self._unreadable = "a broken compression"
            return b"", b""

    def end(self, at: float, complete: bool) -> None:
        """Take it that no more comes."""
        if self._unreadable:
            self._gap(at, "the body, in %s" % self._unreadable)
        else:
            self._finish(at, complete)

    def drop(self) -> None:
        """Take it that bytes are missing here."""
        self._lose()
        if self._decoder is not None:
            self._unreadable = "a compression of which a part is missing"

    def _gap(self, at: float, text: str) -> None:
        self._exchange.tell(at, GAP, self._direction, {}, text)

    def _take(self, at: float, data: bytes) -> None:
        raise NotImplementedError

    def _finish(self, at: float, complete: bool) -> None:
        raise NotImplementedError

    def _lose(self) -> None:
        raise NotImplementedError


class _Whole(_Body):
    """A body that is one thing: a message, or a document."""

    def __init__(self, exchange: ExchangeRecorder, direction: str, fields: List[Tuple[str, str]],
                 posted: bool = False) -> None:
        super().__init__(exchange, direction, fields, posted)
        self.kept = bytearray()
        self._whole = True

    def _take(self, at: float, data: bytes) -> None:
        if self._whole:
            self.kept += data[:LONGEST_BODY - len(self.kept)]

    def _lose(self) -> None:
        self._whole = False

    def _finish(self, at: float, complete: bool) -> None:
        data, self.kept = bytes(self.kept), bytearray()
        if not data:
            return
        if len(data) < self._size or not self._whole or not complete:
            self._document(at, data, False)
            if len(data) < self._size:
                self._gap(at, "all but the first %d of the %d bytes of a body" % (len(data), self._size))
            return
        value = canonical(data) if b"jsonrpc" in data else None
        sent = self._direction == CLIENT and self._posted and self._exchange.posted_to_endpoint()
        if sent and self._kind != "application/x-www-form-urlencoded" or is_message(value):
            self._exchange.message(at, self._direction, data)
        else:
            self._document(at, data, True)

    def _document(self, at: float, data: bytes, whole: bool) -> None:
        more: Dict[str, Any] = {}
        if self._kind == "application/x-www-form-urlencoded":  # of one that is cut, the last value may be a part
            *pairs, last = data.split(b"&", MOST_PAIRS)
            whole = whole and len(pairs) < MOST_PAIRS
            form = b"&".join(pairs if len(pairs) == MOST_PAIRS else (*pairs, last))
            more["form"] = [list(pair) for pair in parse_qsl(form.decode("utf-8", "replace"), True)]
        elif whole and self._kind.endswith(("/json", "+json")):
            try:
                more["json"] = loads(data)
            except JsonError:
                pass
        if not more or more.get("json", 0) is None:
            more.update(text_or_base64(data, self._charset))
        if not whole:
            more["size"] = self._size
        self._exchange.tell(at, BODY, self._direction, more)


class _Events(_Body):
    """A stream of events."""

    def __init__(self, exchange: ExchangeRecorder, direction: str, fields: List[Tuple[str, str]],
                 posted: bool = False) -> None:
        super().__init__(exchange, direction, fields, posted)
        self._splitter = SseSplitter(LONGEST_BODY)
        self._count = 0

    def _take(self, at: float, data: bytes) -> None:
        for block in self._splitter.feed(data):
            self._count += 1
            if self._count > self._wire + _SPARE_EVENTS:  # a hostile server would fill the disk
                self._unreadable = "a compression that has more events than bytes, from event %d on" % self._count
                return
            self._event(at, block)

    def _event(self, at: float, block: Optional[SseBlock]) -> None:
        if block is None:
            self._gap(at, "an event of more than %d bytes" % LONGEST_BODY)
        elif block.is_message:
            self._exchange.message(at, self._direction, block.data or b"", block.fields)
        else:
            text = None if block.data is None else block.data.decode("utf-8", "backslashreplace")
            if block.fields.get("event") == "endpoint" and text:
                self._exchange.learn(at, text)
            self._exchange.tell(at, SSE_EVENT, self._direction, {**block.fields, "data": text})

    def _finish(self, at: float, complete: bool) -> None:
        if self._splitter.rest.strip():
            self._exchange.tell(at, TRANSPORT, self._direction, {}, "the stream ended inside an event: %s" %
                                self._splitter.rest[:_SHOWN].decode("utf-8", "backslashreplace"))

    def _lose(self) -> None:
        self._splitter = SseSplitter(LONGEST_BODY)


def media_type(fields: List[Tuple[str, str]]) -> str:
    """Return the media type of a body, in lower case and without parameters; "" if it is not said."""
    return header_fields(fields, "content-type").partition(";")[0].strip().lower()


def text_or_base64(data: bytes, charset: str = "utf-8") -> Dict[str, Any]:
    """Return the member ``text`` for bytes that are text, otherwise ``base64``."""
    try:
        if charset.lower() not in _CHARSETS:
            raise LookupError(charset)
        return {"text": data.decode(charset)}
    except (ValueError, LookupError):
        from base64 import b64encode

        return {"base64": b64encode(data).decode("ascii")}
