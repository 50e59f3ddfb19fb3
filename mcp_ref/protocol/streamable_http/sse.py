r"""Server-Sent Events: the text form in which HTTP streams carry messages [WHATWG HTML §9.2].

A stream is lines; a line is a field, ``name: value``; a blank line ends an event:

    >>> encode_event(b'{"jsonrpc":"2.0"}', id="7")
    b'id: 7\ndata: {"jsonrpc":"2.0"}\n\n'
    >>> parser = SseParser()
    >>> parser.feed(b'id: 7\r\ndata: {"json'), parser.feed(b'rpc":"2.0"}\r\n\r\n')
    ([], [SseEvent(data=b'{"jsonrpc":"2.0"}', event='message', id='7')])

Lines end in CR, LF or CRLF, and the bytes may be split anywhere. The parser keeps two values beside the events:
``last_id``, which a client sends back to have a stream resumed, and ``retry``, the time to wait before that. They are
set also where no ``data`` field makes an event. A block with empty data is an event: with an id and empty data a
server of 2025-11-25 begins a stream [2025-11-25 basic/transports §Sending Messages to the Server].
"""

from io import BytesIO
from typing import List, NamedTuple, Optional

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
