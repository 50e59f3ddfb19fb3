"""The parts of HTTP messages that are not JSON: the values of header fields, and Server-Sent Events.

The functions for header fields take the text of a field: media types, hosts, origins, session ids. They never raise for
a text that a peer sends.

>>> accepts("application/json;q=0.5, text/*", "text/event-stream")
True
>>> Hosts(["localhost"]).allow("localhost:8000"), Hosts(["localhost"]).allow("evil.example")
(True, False)

Server-Sent Events are the text form in which HTTP streams carry messages [WHATWG HTML §9.2]. A stream is lines; a line
is a field, ``name: value``; a blank line ends an event:

>>> encode_event(b"{}", id="7").splitlines()
[b'id: 7', b'data: {}', b'']
>>> parser = SseParser()
>>> parser.feed(b"id: 7" + bytes([10])), parser.feed(b"data: {}" + bytes([10, 10]))
([], [SseEvent(data=b'{}', event='message', id='7')])

Lines end in CR, LF or CRLF, and the bytes may be split anywhere. The parser keeps two values beside the events:
``last_id``, which a client sends back to have a stream resumed, and ``retry``, the time to wait before that. They are
set also where no ``data`` field makes an event. A block with empty data is an event: with an id and empty data a server
of 2025-11-25 begins a stream [2025-11-25 basic/transports §Sending Messages to the Server].
"""

import re
from io import BytesIO
from typing import Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ...urls import is_token

LOOPBACK: Tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine, as they stand in a URL."""
Names = Union[Sequence[str], Callable[[], Iterable[str]]]
"""Names of hosts, or a function that returns those of now, for names that change while a server runs."""

_USUAL_PORTS = {"http": "80", "https": "443"}
_QUALITY = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")
_SESSION_ID = re.compile(r"[\x21-\x7e]+\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_NAME = re.compile(r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._\-]{1,255})\Z")


# -- Media types -------------------------------------------------------------------------------


def media_type(value: Optional[str]) -> str:
    """Return the media type of a Content-Type, in lower case, without parameters; "" if it is none [RFC 9110 §8.3]."""
    kind, slash, subtype = (value or "").partition(";")[0].strip().lower().partition("/")
    return "%s/%s" % (kind, subtype) if slash and is_token(kind) and is_token(subtype) else ""


def accepts(value: Optional[str], wanted: str) -> bool:
    """Return True if an Accept field takes a media type; the most exact range decides [RFC 9110 §12.5.1].

    A missing field (None) takes everything. A range with ``q=0`` takes nothing; a malformed one is ignored.
    """
    if value is None:
        return True
    kind = wanted.partition("/")[0]
    best, taken = -1, False
    for media, quality in _ranges(value):
        exactness = {wanted: 2, kind + "/*": 1, "*/*": 0}.get(media, -1)
        if exactness > best:
            best, taken = exactness, quality > 0
        elif exactness == best and exactness >= 0:
            taken = taken or quality > 0
    return taken


def _ranges(value: str) -> Iterable[Tuple[str, float]]:
    for part in value.split(","):
        media, *parameters = [piece.strip() for piece in part.split(";")]
        quality: Optional[float] = 1.0
        for parameter in parameters:
            name, _, number = parameter.partition("=")
            if name.strip().lower() == "q":
                quality = float(number) if _QUALITY.match(number.strip()) else None
        if quality is not None:
            yield media.lower(), quality


# -- Where a request was sent, and from where --------------------------------------------------


class Authority(NamedTuple):
    """Host and port of a URL, in lower case; an IPv6 address keeps its brackets. ``port`` "" is the scheme's own."""

    host: str
    port: str


def authority(value: str) -> Optional[Authority]:
    """Parse ``host:port``, the value of a Host field [RFC 9110 §7.2]. Returns None for any other text."""
    host, colon, port = value.strip(" \t").rpartition(":")
    if not colon or port.endswith("]"):
        host, colon, port = value.strip(" \t"), "", ""
    if not _NAME.match(host) or (colon and not _PORT.match(port)):
        return None
    return Authority(host.lower().rstrip("."), port)


def origin(value: str) -> Optional[Tuple[str, Authority]]:
    """Parse an Origin field into scheme and authority. Returns None for ``null`` and any other text [RFC 6454 §7]."""
    scheme, separator, rest = value.strip(" \t").partition("://")
    found = authority(rest) if separator and is_token(scheme) else None
    if found is None:
        return None
    scheme = scheme.lower()
    return scheme, found._replace(port="") if found.port == _USUAL_PORTS.get(scheme) else found


_Row = Tuple[str, Authority]


class Hosts:
    """The hosts that are allowed: ``example.com`` with any port, ``example.com:8000``, ``*`` for all.

    A name with a scheme, ``https://example.com``, is an origin as browsers send it, with the scheme's own port if it
    names none. Raises ValueError for a malformed name, and TypeError for a text in place of a list.

    ``names`` may be a function without parameters, which is called for each request that has the field: what it returns
    is allowed from then on, and nothing else. It has to be quick. What it raises is logged, and allows nothing; a
    malformed name among others is logged, and left out.
    """

    def __init__(self, names: Names) -> None:
        self._now: Optional[Callable[[], Iterable[str]]] = names if callable(names) else None
        self._read: Tuple[Tuple[str, ...], List[_Row]] = ((), [])
        """The names as they were read last, and their rows: one tuple, which threads replace."""
        if not callable(names):
            given = _listing(names)
            self._read = given, [_row(name) for name in given if name != "*"]

    @property
    def changing(self) -> bool:
        """True if a function says for each request which names are allowed."""
        return self._now is not None

    @property
    def names(self) -> List[str]:
        """The names that are allowed now."""
        return list(self._rows()[0])

    def allow(self, value: str) -> bool:
        """Return True if a Host field is allowed."""
        return self._allows("", authority(value))

    def allow_origin(self, value: str) -> bool:
        """Return True if an Origin field is allowed."""
        return self._allows(*(origin(value) or ("", None)))

    def _allows(self, scheme: str, found: Optional[Authority]) -> bool:
        names, rows = self._rows()
        return "*" in names or found is not None and any(
            (scheme, found) == (wanted, row) if wanted else row.host == found.host and row.port in ("", found.port)
            for wanted, row in rows
        )

    def _rows(self) -> Tuple[Tuple[str, ...], List[_Row]]:
        """Return the names that are allowed now, and what they stand for."""
        if self._now is None:
            return self._read
        try:
            names = _listing(self._now())
        except Exception as error:
            _log("the function of allowed names", error)
            return (), []
        if names != self._read[0]:
            rows = []
            for name in names:
                try:
                    rows += [] if name == "*" else [_row(name)]
                except ValueError as error:
                    _log("a name that is allowed from now on", error)
            self._read = names, rows
        return self._read


def _listing(names: Iterable[str]) -> Tuple[str, ...]:
    """Return the names as a tuple. Raises TypeError for a single text, whose letters would be names."""
    if isinstance(names, str):
        raise TypeError("allowed names are a list such as [%r], got the text %r" % (names, names))
    return tuple(names)


def _log(who: str, error: Exception) -> None:
    from ...diagnostics.packagelog import log_raised

    log_raised(who, error)


def _row(name: str) -> _Row:
    """Parse an allowed name into scheme, "" for none, and authority."""
    if not isinstance(name, str):
        raise ValueError("%r is no host: a name is a text such as example.com" % (name,))
    found = origin(name) if "://" in name else None
    bare = authority(name) if "://" not in name else None
    if found is None and bare is None:
        raise ValueError("%r is no host: write example.com, example.com:8000, https://example.com or *" % name)
    return found or ("", bare)  # type: ignore[return-value]


# -- Other values ------------------------------------------------------------------------------


def is_session_id(value: str) -> bool:
    """Return True for visible ASCII [2025-03-26..2025-11-25 basic/transports §Session Management] MUST. Some ids carry
    state and are long; ``max_header_bytes`` bounds them as it does all headers."""
    return _SESSION_ID.match(value) is not None


def bearer(value: Optional[str]) -> Optional[str]:
    """Return the token of an Authorization field of the scheme Bearer [RFC 6750 §2.1]; None if there is none."""
    scheme, _, token = (value or "").strip().partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token and " " not in token else None


_BOM = b"\xef\xbb\xbf"
_LONGEST_ID = 4096
"""The bytes of the id of an event; a longer one, which no header field could carry back, is ignored."""
_MAX_RETRY_DIGITS = 9
"""The digits of ``retry``; a longer number is more than eleven days and is ignored."""


class SseEvent(NamedTuple):
    """An event that was dispatched."""

    data: bytes
    """UTF-8 text; several ``data`` lines are joined by LF."""
    event: str = "message"
    """The type of the event."""
    id: Optional[str] = None
    """The last id of the stream, that of this event or an earlier one."""


def encode_event(
    data: bytes, id: Optional[str] = None, event: Optional[str] = None, retry: Optional[int] = None
) -> bytes:
    """Encode one event; ``retry`` is in milliseconds.

    Raises ValueError for a line end or NUL in ``id`` or ``event``.
    """
    fields = []
    for name, value in (("event", event), ("id", id)):
        if value is not None:
            if "\n" in value or "\r" in value or "\0" in value:
                raise ValueError("%s %.80r has a line end or NUL in it" % (name, value))
            fields.append(b"%s: %s\n" % (name.encode("ascii"), value.encode("utf-8")))
    if retry is not None:
        fields.append(b"retry: %d\n" % retry)
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        fields += [b"data: %s\n" % line for line in lines]
    else:
        fields.append(b"data: %s\n" % data)
    return b"%s\n" % b"".join(fields)


def comment(text: str = "") -> bytes:
    """Encode a comment, which is sent so that no proxy takes the stream for dead."""
    return b": %s\n\n" % text.encode("utf-8") if text else b":\n\n"


class SseParser:
    """The parser of a stream, which is fed piece by piece.

    ``max_bytes`` limits one line, and the data of one event. Beyond it `feed` raises ValueError; the stream is over.
    """

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self.last_id: Optional[str] = None
        self.retry: Optional[int] = None
        """The milliseconds to wait before resuming; None until the server sends them."""
        self._max = max_bytes
        self._start: Optional[bytes] = b""
        self._line: Optional[BytesIO] = None
        """The line whose end has not come, in one buffer: a list of pieces would take up to 50 times its size."""
        self._length = 0
        self._skip_newline = False
        self._data: List[bytes] = []
        self._size = 0
        self._event = ""
        self._id: Optional[str] = None

    def feed(self, chunk: bytes) -> List[SseEvent]:
        """Return the events that end in these bytes."""
        if self._start is not None:
            chunk = self._without_bom(chunk)
        if self._skip_newline and chunk:
            self._skip_newline = False
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
        if not chunk:
            return []
        if b"\r" in chunk:
            self._skip_newline = chunk[-1:] == b"\r"
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        events: List[SseEvent] = []
        for line in lines:
            if self._line is not None:
                self._keep(line)
                line, self._line, self._length = self._line.getvalue(), None, 0
            self._take(line, events)
        if rest:
            self._keep(rest)
        return events

    def _without_bom(self, chunk: bytes) -> bytes:
        start = (self._start or b"") + chunk
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start[len(_BOM):] if start.startswith(_BOM) else start

    def _keep(self, part: bytes) -> None:
        self._length += len(part)
        self._bound(self._length)
        if self._line is None:
            self._line = BytesIO()
        self._line.write(part)

    def _bound(self, size: int) -> None:
        if size > self._max:
            raise ValueError("an event of more than %d bytes exceeds max_message_bytes" % self._max)

    def _take(self, line: bytes, events: List[SseEvent]) -> None:
        """Handle one whole line."""
        if not line:
            self._dispatch(events)
            return
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._size += len(value) + 1
            self._bound(self._size)
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value and len(value) <= _LONGEST_ID:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self.retry = int(value)

    def _dispatch(self, events: List[SseEvent]) -> None:
        self.last_id = self._id
        if self._data:
            events.append(SseEvent(b"\n".join(self._data), self._event or "message", self.last_id))
        self._data, self._size, self._event = [], 0, ""
