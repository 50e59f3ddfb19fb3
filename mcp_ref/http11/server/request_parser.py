"""HTTP/1.1 requests out of bytes, without sockets, threads or clocks [RFC 9112].

A `RequestParser` belongs to one connection. What arrives goes in by `feed`, however it is split; whole
requests come out of `next`, one after the other; `Refused` says what to answer to anything else, after
which the connection cannot be used any more, since nobody knows where the next request begins.

What is held of bodies is counted (`body_budget`): by the parser while they come, and from then on by whoever calls
`RequestParser.hand_over`.

The head is the business of `head`, which also says how strict this is, and why. Of chunks these are refused: sizes
with a sign, ``0x``, an underscore or spaces, line ends other than CR LF, data without its CR LF, and extensions and
trailers that are more than a head may be. So is a body in which what surrounds the data is more than that and a quarter
of the data: each chunk costs as much as hundreds of bytes, and nobody else sends megabytes in pieces of a few bytes.
"""

import io
import re
from typing import List, Optional, Tuple

from ...limits import DEFAULT, Limits
from ...urls import is_token
from .body_budget import Bodies
from .head import HARMLESS, Head, Heads, bad, check_size
from .stdlib import Refused

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t -~\x80-\xff]*)?").fullmatch
_USUAL_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,6})\r\n").match
_PART = 4
"""What surrounds the data of a chunked body may be a quarter of it, beyond ``max_header_bytes``."""
_EMPTY_LINES = re.compile(rb"^(?:\r\n)+").sub


class RequestParser:
    """The requests of one connection; see the module. Not thread-safe.

    ``bodies``: what all parsers of one engine share; by default one of its own.
    """

    __slots__ = ("limits", "received", "_bodies", "_heads", "_held", "_buffer", "_looked", "_head", "_first", "_sink",
                 "_missing", "_step", "_declared", "_overhead")

    def __init__(self, limits: Limits = DEFAULT, bodies: Optional[Bodies] = None) -> None:
        self.limits = limits
        self._bodies = Bodies(limits) if bodies is None else bodies
        self._heads = Heads(limits)
        self._held = 0
        """Bytes of bodies that are counted and have not been handed over."""
        self._buffer = b""
        self._looked = 0
        """Where the search for the end of the head goes on."""
        self._begin()

    def _begin(self) -> None:
        self._head: Optional[Head] = None
        self._first = b""
        self._sink: Optional[io.BytesIO] = None
        self._missing = 0
        self._step = "size"
        self._declared = 0
        self._overhead = 0
        self.received = 0
        """Bytes of the current request's body so far."""

    @property
    def buffered(self) -> int:
        """Bytes that came and belong to nothing that was handed out."""
        return len(self._buffer)

    @property
    def missing(self) -> int:
        """Bytes that the current body, or chunk, is known to want still."""
        return max(0, self._missing)

    @property
    def stage(self) -> str:
        """What is being read: ``idle`` (no byte of a request has come), ``head`` or ``body``."""
        return "body" if self._head is not None else "head" if self._buffer else "idle"

    @property
    def waits_for_continue(self) -> bool:
        """Whether the client holds its body back until it is told to send it."""
        head = self._head
        return head is not None and head.expects and not (self._buffer or self.received or self._declared)

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self._buffer = self._buffer + data if self._buffer else data

    def next(self) -> Optional[Tuple[Head, bytes]]:
        """The next whole request, head and body; None until more arrives. Raises `Refused`."""
        head = self._head
        if head is None:
            head = self._head = self._take_head()
            if head is None:
                return None
            self._missing = head.length
            if head.length > 0:
                self._bodies.check(head.length, head.length)
        if head.length == 0:
            self._head = None
            return head, b""
        if not (self._chunks() if head.length < 0 else self._take(head.length)):
            return None
        body = self._first if self._sink is None else self._sink.getvalue()
        self._begin()
        return head, body

    def hand_over(self) -> int:
        """How many bytes are counted of what `next` has returned. Whoever asks has to release them."""
        held, self._held = self._held, 0
        return held

    def discard(self) -> None:
        """Let go what is held, because nobody wants it any more. Again: nothing happens."""
        self._buffer, self._first, self._sink = b"", b"", None
        self._heads.forget()
        held = self.hand_over()
        if held:
            self._bodies.release(held)

    def _take_head(self) -> Optional[Head]:
        buffer = self._buffer
        if buffer[:2] == b"\r\n":  # left over from a body that was counted wrongly [RFC 9112 §2.2]
            buffer = self._buffer = _EMPTY_LINES(b"", buffer, 1)
        end = buffer.find(b"\r\n\r\n", self._looked)
        limit = self.limits.max_header_bytes + self.limits.max_request_line_bytes
        if end < 0 or end > limit:
            self._check_beginning(buffer if end < 0 else buffer[:end], limit)
            self._looked = max(0, len(buffer) - 3)
            return None
        self._looked = 0
        self._buffer = buffer[end + 4:]
        return self._heads.read(buffer[:end])

    def _check_beginning(self, head: bytes, limit: int) -> None:
        """Refuse what can only become worse, instead of waiting for the rest of it."""
        limits = self.limits
        if head.count(b"\n") != head.count(b"\r\n"):
            bad("a line that does not end with CR LF")
        line = head.find(b"\r\n")
        if (len(head) if line < 0 else line) > limits.max_request_line_bytes + 1:
            raise Refused(414, "request line exceeds max_request_line_bytes (%d)" % limits.max_request_line_bytes)
        if len(head) > limit:
            raise Refused(431, "head exceeds max_header_bytes (%d)" % limits.max_header_bytes)

    def _take(self, length: int) -> bool:
        """Move what is there of a body, or of a chunk, to its parts; whether that was all of it."""
        buffer, missing = self._buffer, self._missing
        if len(buffer) <= missing:
            piece, self._buffer = buffer, b""
        else:
            piece, self._buffer = buffer[:missing], buffer[missing:]
        if piece:
            self._keep(piece, length)
            self._missing = missing - len(piece)
        return not self._missing

    def _keep(self, piece: bytes, size: int) -> None:
        """Put a piece to a body of this size, as far as that is known.

        `io.BytesIO` copies it while it is in the cache, and hands out its own bytes.
        """
        self._bodies.add(len(piece), size)
        self._held += len(piece)
        self.received += len(piece)
        if self._sink is not None:
            self._sink.write(piece)
        elif not self._first:
            self._first = piece
        else:
            self._sink = io.BytesIO()
            self._sink.write(self._first)
            self._sink.write(piece)

    # Chunks [RFC 9112 §7.1]

    def _chunks(self) -> bool:
        """Decode what is there; whether the last chunk and the trailers have come."""
        buffer, position, step = self._buffer, 0, self._step
        missing = max(0, self._missing)
        pieces: List[bytes] = []
        while step != "done":
            if step == "size":
                position = self._whole_chunks(buffer, position, pieces)
            if step == "data":
                piece = buffer[position:position + missing]
                if not piece:
                    break
                pieces.append(piece)
                position += len(piece)
                missing -= len(piece)
                step = "data" if missing else "end"
            elif step == "end":
                mark = buffer[position:position + 2]
                if mark != b"\r\n"[:len(mark)]:
                    bad("a chunk that is longer than its size")
                if len(mark) < 2:
                    break
                position += 2
                step = "size"
            else:
                end = self._line_end(buffer, position)
                if end < 0:
                    break
                line, position = buffer[position:end], end + 2
                if step == "size":
                    missing = self._chunk_size(line)
                    step = "data" if missing else "trailers"
                else:
                    step = self._trailer(line)
        self._buffer, self._missing, self._step = buffer[position:], missing, step
        if pieces:
            self._keep(b"".join(pieces), self._declared)
        return step == "done"

    def _whole_chunks(self, buffer: bytes, position: int, pieces: List[bytes]) -> int:
        """Take the chunks that are here from their size to their end, if they look as most do; where the others begin.

        Bytes that are here already are counted with the piece that all of these become.
        """
        begin, data = position, 0
        most = self.limits.max_message_bytes - self._declared
        while True:
            found = _USUAL_CHUNK(buffer, position)
            if found is None:
                break
            size, start = int(found.group(1), 16), found.end()
            end = start + size
            if not size or buffer[end:end + 2] != b"\r\n" or data + size > most:
                break
            pieces.append(buffer[start:end])
            data += size
            position = end + 2
        self._declared += data
        self._overhead += position - begin - data
        return position

    def _line_end(self, buffer: bytes, start: int) -> int:
        """Where the line ends, -1 if its end has not come."""
        end = buffer.find(b"\r\n", start)
        length = (len(buffer) if end < 0 else end) - start
        if self._overhead + length > self.limits.max_header_bytes + self._declared // _PART:
            raise Refused(431, "what surrounds the chunks exceeds max_header_bytes (%d) and a quarter of their data"
                          % self.limits.max_header_bytes)
        if end < 0 and buffer.find(b"\n", start) >= 0:
            bad("a line that does not end with CR LF among the chunks")
        return end

    def _chunk_size(self, line: bytes) -> int:
        found = _CHUNK(line)
        if found is None:
            bad("a chunk size that is no hexadecimal number")
        digits = found.group(1)
        self._overhead += len(line) + 4
        size = int(digits, 16)
        self._declared += size
        check_size(self._declared, self.limits)
        self._bodies.check(size, self._declared)
        return size

    def _trailer(self, line: bytes) -> str:
        """Check a trailer field, which is then dropped [RFC 9110 §6.5.1]."""
        if not line:
            return "done"
        self._overhead += len(line) + 2
        name, colon, _ = line.decode("latin-1").partition(":")
        if not colon or not is_token(name) or line.translate(None, HARMLESS):
            bad("a trailer that is no field")
        return "trailers"
