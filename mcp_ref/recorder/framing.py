"""The ends of HTTP/1.1 messages in a stream of bytes that pass [RFC 9112 §6].

A `Framer` belongs to one direction of one connection. It takes bytes as they come and gives `Piece`s: the same bytes,
cut at the places that matter, each with what it means. Bodies are not collected, and nothing but the beginning of a
head, or of a line of a chunked body, waits for more.

It judges nothing. Bytes that are no HTTP, or whose end cannot be told for sure (two lengths that differ, an unknown
transfer coding), are OPAQUE from there on: they are carried on, and nobody looks inside.
"""

import re
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple

HEAD, INTERIM, DATA, MESSAGE_END, OPAQUE = "head", "interim", "data", "end", "opaque"
LONGEST_HEAD = 256 * 1024
"""The bytes of a head, or of a line between chunks, beyond which it is taken for something else."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\r?\n")
_REQUEST = re.compile(rb"([!-~]+) ([^ \r\n]+) HTTP/1\.[0-9]\Z")
_STATUS = re.compile(rb"HTTP/1\.[0-9] ([0-9]{3})(?: [^\r\n]*)?\Z")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?\r?\n\Z")


class Head(NamedTuple):
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
    head: Optional[Head] = None


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

    def _read(self, raw: bytes) -> Optional[Head]:
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
            return found and Head(found.group(1).decode(), found.group(2).decode("latin-1"), 0, lines, fields)
        found, method = _STATUS.match(first), self._method_of_next()
        if found is None or method is None:
            return None
        return Head(method, "", int(found.group(1)), lines, fields)

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


def _body(head: Head) -> Optional[str]:
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
