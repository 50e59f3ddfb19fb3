"""HTTP/1.1 as it passes: where messages end in a stream of bytes, and the events of each exchange [RFC 9112 §6].

A `Framer` belongs to one direction of one connection. It takes bytes as they come and gives `Piece`s: the same bytes,
cut at the places that matter, each with what it means. Bodies are not collected, and nothing but the beginning of a
head, or of a line of a chunked body, waits for more.

It judges nothing. Bytes that are no HTTP, or whose end cannot be told for sure (two lengths that differ, an unknown
transfer coding), are OPAQUE from there on: they are carried on, and nobody looks inside.

What a body is, its contents say: a JSON object with the member ``jsonrpc``, or an array of such, is a message. Whatever
else a client posts to a path to which it has posted messages is taken for a message, too, and recorded byte for byte;
anything else is a body: a metadata document, a form, an error page.

A body is recorded up to LONGEST_BODY bytes, of a longer one its beginning and how much is missing. A stream of events
may be of any length: that bounds each of its events alone. Bodies in gzip and deflate are recorded as they were before
that; in other codings as a gap.
"""

import re
import zlib
from itertools import count
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qsl

from ...jsontext import JsonError, loads
from ...wiretrace import BODY, CLIENT, END, GAP, OPEN, REQUEST, RESPONSE, SERVER, SSE_EVENT, TRANSPORT
from ...wiretrace.sse import SseBlock, SseSplitter
from .telling import EventWriter, canonical, header_fields, is_mirror

HEAD, INTERIM, DATA, MESSAGE_END, OPAQUE = "head", "interim", "data", "end", "opaque"
LONGEST_HEAD = 256 * 1024
"""The bytes of a head, or of a line between chunks, beyond which it is taken for something else."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\r?\n")
_REQUEST = re.compile(rb"([!-~]+) ([^ \r\n]+) HTTP/1\.[0-9]\Z")
_STATUS = re.compile(rb"HTTP/1\.[0-9] ([0-9]{3})(?: [^\r\n]*)?\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n\Z")


class MessageHead(NamedTuple):
    """The head of a message."""

    method: str
    """The method; of a response, that of its request."""
    target: str
    """The target; "" of a response."""
    status: int
    """The status; 0 of a request."""
    lines: List[bytes]
    """The lines as they were, with their ends; the first is the request or status line, the last one empty."""
    fields: List[Tuple[str, str]]
    """The names, as they were written, and values of the header fields."""


class Piece(NamedTuple):
    """Bytes that pass, and what they are."""

    kind: str
    """HEAD, INTERIM (a head after which another one follows), DATA of a body, MESSAGE_END of a message, or OPAQUE."""
    raw: bytes
    """The bytes; b"" for MESSAGE_END."""
    data: bytes = b""
    """For DATA, what of it belongs to the body: without sizes of chunks and trailers."""
    head: Optional[MessageHead] = None


class Framer:
    """The messages of one direction. ``method_of_next``: for responses, gives the method of the request that the next
    one answers, or None if there is none; None for requests.
    """

    def __init__(self, method_of_next: Optional[Callable[[], Optional[str]]] = None) -> None:
        self._method_of_next = method_of_next
        self._buffer = b""
        self._at = 0
        """The position in the buffer up to which its bytes have been given out."""
        self._step: Callable[[List[Piece]], bool] = self._head
        self._left = 0
        self._looked = 0

    @property
    def between(self) -> bool:
        """True if no message has begun, or the one before has ended."""
        return self._step == self._head and self._at == len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Take bytes, and yield the pieces that are complete with them. Exhaust it before the next call."""
        self._buffer = self._buffer[self._at:] + data if self._at < len(self._buffer) else data
        self._looked -= min(self._at, self._looked)
        self._at = 0
        more = True
        while more and self._at < len(self._buffer):
            pieces: List[Piece] = []
            more = self._step(pieces)
            yield from pieces

    def end(self) -> List[Piece]:
        """Return the pieces that are left when no more bytes come: the MESSAGE_END of a body that only this ends."""
        pieces: List[Piece] = []
        if self._step == self._until_end:
            pieces.append(Piece(MESSAGE_END, b""))
            self._step = self._head
        elif self._at < len(self._buffer):
            self._opaque(pieces)
        return pieces

    # The steps: each takes from the buffer, and returns False if it needs more

    def _head(self, pieces: List[Piece]) -> bool:
        begin = self._at
        while self._method_of_next is None and self._buffer[begin:begin + 1] in (b"\r", b"\n"):
            begin += 1  # empty lines before a request, which servers overlook [RFC 9112 §2.2]
        found = _HEAD_END.search(self._buffer, max(begin, self._looked))
        if found is None:
            self._looked = max(begin, len(self._buffer) - 3)
            return len(self._buffer) - self._at > LONGEST_HEAD and self._give_up(pieces)
        head = self._read(self._buffer[begin:found.end()])
        if head is None:
            return self._give_up(pieces)
        body = _body(head)
        if body is None:
            return self._give_up(pieces)
        raw = self._take(found.end() - self._at)
        if 100 <= head.status < 200:
            pieces.append(Piece(INTERIM, raw, head=head))
            return head.status != 101 or self._give_up(pieces)
        pieces.append(Piece(HEAD, raw, head=head))
        if head.method == "CONNECT" and (200 <= head.status < 300 or not head.status):
            return self._give_up(pieces)
        self._left = 0
        if body == "chunked":
            self._step = self._chunk
        elif body == "rest":
            self._step = self._until_end
        elif body:
            self._left = int(body)
            self._step = self._length
        else:
            pieces.append(Piece(MESSAGE_END, b""))
        return True

    def _read(self, raw: bytes) -> Optional[MessageHead]:
        ends = [found.end() for found in _LINE.finditer(raw)]
        lines = [raw[start:end] for start, end in zip([0] + ends, ends)]
        first = lines[0].rstrip(b"\r\n")
        fields: List[Tuple[str, str]] = []
        for line in lines[1:-1]:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not name or name[0] in " \t" or name[-1] in " \t":
                return None
            fields.append((name, value.strip(" \t\r\n")))
        if self._method_of_next is None:
            found = _REQUEST.match(first)
            return found and MessageHead(found.group(1).decode(), found.group(2).decode("latin-1"), 0, lines, fields)
        found, method = _STATUS.match(first), self._method_of_next()
        if found is None or method is None:
            return None
        return MessageHead(method, "", int(found.group(1)), lines, fields)

    def _length(self, pieces: List[Piece]) -> bool:
        raw = self._take(self._left)
        self._left -= len(raw)
        pieces.append(Piece(DATA, raw, raw))
        if not self._left:
            self._over(pieces)
        return True

    def _until_end(self, pieces: List[Piece]) -> bool:
        raw = self._take(len(self._buffer))
        pieces.append(Piece(DATA, raw, raw))
        return True

    def _chunk(self, pieces: List[Piece]) -> bool:
        line = self._line(pieces)
        if line is None:
            return False
        found = _CHUNK.match(line)
        if found is None:
            self._at -= len(line)
            return self._give_up(pieces)
        self._left = int(found.group(1), 16)
        self._step = self._chunk_data if self._left else self._trailers
        pieces.append(Piece(DATA, line))
        return True

    def _chunk_data(self, pieces: List[Piece]) -> bool:
        raw = self._take(self._left)
        self._left -= len(raw)
        pieces.append(Piece(DATA, raw, raw))
        if not self._left:
            self._step = self._chunk_end
        return True

    def _chunk_end(self, pieces: List[Piece]) -> bool:
        line = self._line(pieces)
        if line is None:
            return False
        if line.strip(b"\r\n"):
            self._at -= len(line)
            return self._give_up(pieces)
        pieces.append(Piece(DATA, line))
        self._step = self._chunk
        return True

    def _trailers(self, pieces: List[Piece]) -> bool:
        line = self._line(pieces)
        if line is None:
            return False
        pieces.append(Piece(DATA, line))
        if not line.strip(b"\r\n"):
            self._over(pieces)
        return True

    def _opaque(self, pieces: List[Piece]) -> bool:
        pieces.append(Piece(OPAQUE, self._take(len(self._buffer))))
        return True

    def _give_up(self, pieces: List[Piece]) -> bool:
        self._step = self._opaque
        return True

    def _over(self, pieces: List[Piece]) -> None:
        pieces.append(Piece(MESSAGE_END, b""))
        self._step = self._head

    def _take(self, count: int) -> bytes:
        raw = self._buffer[self._at:self._at + count]
        self._at += len(raw)
        return raw

    def _line(self, pieces: List[Piece]) -> Optional[bytes]:
        """Take a line; None if its end has not come. One that is too long ends the reading."""
        end = self._buffer.find(b"\n", self._at)
        if end >= 0:
            return self._take(end + 1 - self._at)
        if len(self._buffer) - self._at > LONGEST_HEAD:
            self._give_up(pieces)
            self._opaque(pieces)
        return None


def _body(head: MessageHead) -> Optional[str]:
    """Return how the body ends: "", digits of a length, "chunked", "rest"; None if that cannot be told for sure."""
    codings = [value.lower() for name, value in head.fields if name.lower() == "transfer-encoding"]
    lengths = {value for name, value in head.fields if name.lower() == "content-length"}
    if codings and codings != ["chunked"] or codings and lengths or len(lengths) > 1:
        return None
    if lengths and not all(value.isascii() and value.isdigit() and len(value) < 19 for value in lengths):
        return None
    if head.status and (head.method == "HEAD" or head.status in (204, 304) or head.status < 200):
        return ""
    if codings:
        return "chunked"
    if lengths:
        length = int(lengths.pop())
        return str(length) if length else ""
    return "rest" if head.status else ""


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

    def __init__(self, teller: EventWriter, origin: str, path: str = "", connection: str = "") -> None:
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
        self._held: Optional[Tuple[float, MessageHead]] = None
        """The head of the request, while it has not been told."""
        self._body: Dict[str, Optional["_Body"]] = {CLIENT: None, SERVER: None}
        self._over = True  # until it begins: where its beginning was lost, nothing is told

    def request(self, at: float, head: MessageHead) -> None:
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

    def response(self, at: float, head: MessageHead) -> None:
        """Record the head of the response."""
        if self._over:
            return
        self._tell_request()
        self._tell(at, RESPONSE, SERVER, {"status": head.status, "fields": head.fields})
        kind = media_type(head.fields)
        made = _Events if kind == "text/event-stream" and head.status == 200 else _Whole
        self._body[SERVER] = made(self, SERVER, head.fields)

    def interim(self, at: float, head: MessageHead) -> None:
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
