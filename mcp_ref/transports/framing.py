"""Lines: how messages follow each other on a stream of bytes.

stdio and the sockets share this framing. A message is one line of UTF-8 JSON and ends with a
newline, so it holds none itself [..2025-11-25 basic/transports §stdio] MUST NOT. `frame` turns
messages into bytes, a `LineSplitter` turns arriving bytes back into messages, however they were
cut on the way. Nothing is decoded here: U+2028 or broken UTF-8 inside a line pass as they are.

====================================  ==========================================================
what arrives                          what comes out
====================================  ==========================================================
``{...}\\n``                           the line, as bytes
``{...}\\r\\n``                         the same: one carriage return before the newline is dropped
an empty line                         nothing
a line over ``max_message_bytes``     one `Rejected`, when the line ends; its bytes are not kept
a line that never ends                nothing. Reading: a message is delimited by its newline, so
                                      what was cut off is no message; see `LineSplitter.unfinished`
====================================  ==========================================================

The limit counts the bytes of the message, without its line end, and counts them the same however
they were split. A long line costs its own size once: it is collected in one growing buffer, which
is handed over without a copy, and not in a list of pieces that is joined at the end.
"""

from io import BytesIO
from typing import List, Optional, Sequence, cast

from ..errors import LocalProtocolError, Rejected
from .base import Received

_JOIN_BELOW = 64 * 1024
"""Messages under this size are copied together into one write; a larger one is sent from where it stands."""

_NEWLINE_INSIDE = "a message on a line-framed transport must not contain a newline"
_PAGE = "2025-11-25 basic/transports §stdio"


def frame(messages: Sequence[bytes]) -> List[bytes]:
    """The bytes to send for these messages, in order, as few pieces as do not need large copies.

    Raises `LocalProtocolError` if one contains a newline: the peer would take it for two.
    """
    if len(messages) == 1 and len(messages[0]) < _JOIN_BELOW:
        if b"\n" in messages[0]:
            raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
        return [messages[0] + b"\n"]
    if sum(map(len, messages)) < _JOIN_BELOW:
        if b"\n" in b"".join(messages):  # faster than looking at each
            raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
        return [b"\n".join((*messages, b""))]
    if any(b"\n" in message for message in messages):
        raise LocalProtocolError(_NEWLINE_INSIDE, _PAGE)
    return _pieces(messages)


def _pieces(messages: Sequence[bytes]) -> List[bytes]:
    """Small messages joined, large ones alone; the newline of a large one starts the next piece."""
    pieces: List[bytes] = []
    joined: List[bytes] = []
    size = 0
    for message in messages:
        size += len(message)
        if size >= _JOIN_BELOW:
            if joined:
                pieces.append(b"\n".join((*joined, b"")))
            pieces.append(message)
            joined, size = [b""], 0
        else:
            joined.append(message)
    if joined:
        pieces.append(b"\n".join((*joined, b"")))
    return pieces


class LineSplitter:
    """Splits bytes, chunk by chunk, into messages of at most ``max_message_bytes`` bytes.

    ``rejected`` counts the lines that were too long. One thread at a time.
    """

    __slots__ = ("rejected", "_limit", "_size", "_buffer", "_ends_in_return")

    def __init__(self, max_message_bytes: int) -> None:
        self.rejected = 0
        self._limit = max_message_bytes
        self._size = 0  # bytes of the unfinished line, kept or not
        self._buffer: Optional[BytesIO] = None  # the unfinished line; None: there is none, or it is too long
        self._ends_in_return = False

    @property
    def unfinished(self) -> int:
        """Bytes of the line whose end has not arrived."""
        return self._size

    def feed(self, chunk: bytes) -> List[Received]:
        """The messages which this chunk completes; [] if there are none."""
        if self._size:
            return self._continue(chunk)
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if tail:
            self._keep(tail)
        if len(chunk) > self._limit or b"\r" in chunk or not all(lines):
            return [item for item in map(self._checked, lines) if item]
        return cast("List[Received]", lines)

    def _continue(self, chunk: bytes) -> List[Received]:
        end = chunk.find(b"\n")
        if end < 0:
            self._keep(chunk)
            return []
        self._keep(chunk[:end])
        first = self._finish()
        items = self.feed(chunk[end + 1:])
        if first:
            items.insert(0, first)
        return items

    def _keep(self, part: bytes) -> None:
        """Add to the unfinished line. One byte over the limit is kept: it may turn out to be the carriage return."""
        if self._size == 0:
            self._buffer = BytesIO()
        self._size += len(part)
        if part:
            self._ends_in_return = part.endswith(b"\r")
        if self._size > self._limit + 1:
            self._buffer = None
        elif self._buffer is not None:
            self._buffer.write(part)

    def _finish(self) -> Optional[Received]:
        """The line that has just ended; None if it is blank."""
        buffer, size = self._buffer, self._size
        self._buffer, self._size = None, 0
        if buffer is None:
            return self._refused(size - self._ends_in_return)
        return self._checked(buffer.getvalue())  # the buffer's own bytes, not a copy

    def _checked(self, line: bytes) -> Optional[Received]:
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self._limit:
            return self._refused(len(line))
        return line or None

    def _refused(self, size: int) -> Rejected:
        self.rejected += 1
        return Rejected("message of %d bytes exceeds max_message_bytes (%d)" % (size, self._limit))
