"""A parser of HTTP/1.1 requests, without sockets, threads or clocks [RFC 9112].

A `RequestParser` belongs to one connection. Bytes go in by `feed`, however they are split. Whole requests come out of
`next`, one after the other. For anything else it raises `Refused`, which says what to answer; after that the connection
cannot be used any more, since it is not known where the next request begins.

Bodies that are held are counted (`body_budget`): by the parser while they come, and from then on by the caller of
`RequestParser.hand_over`.

The parser is strict wherever two readers could disagree on where a request ends, because that is how a request is
smuggled past a proxy. It refuses with 400: Content-Length beside Transfer-Encoding, more than one Content-Length (be
they equal), lists and signs and underscores in it, any transfer coding but one ``chunked``, and that from an HTTP/1.0
client; line ends other than CR LF, folded lines, space before a colon, control characters, no Host or two. Which other
fields may come once only is decided where they are read; see `Headers.repeated`.

`http.server` would not do: its ``parse_request`` takes most of that list (a bare LF ends a line, a folded line and a
space before the colon are repaired by `email`, a second Content-Length is overlooked). So the usual request line is
read here, and so are all fields; only an unusual request line goes through ``parse_request`` (see
`unusual_request_line`), which knows the versions and how to refuse them. This parser is faster, too: a head of ten
fields takes 6 microseconds here, its fields alone 18 in `email`.

Of chunks these are refused: sizes with a sign, ``0x``, an underscore or spaces, line ends other than CR LF, data
without its CR LF, and extensions and trailers that are more than a head may be. A body is refused, too, in which the
bytes around the data are more than that and a quarter of the data: each chunk costs as much as hundreds of bytes, and
only an attacker sends megabytes in pieces of a few bytes.
"""

import io
import re
from typing import Dict, List, NamedTuple, NoReturn, Optional, Tuple

from ...limits import DEFAULT, Limits
from ...urls import TOKEN, is_token
from ..message import Headers
from .body_budget import BodyBudget
from .responses import Refused, unusual_request_line

# --- The head ---------------------------------------------------------------------------------------------------------

_USUAL = re.compile(r"(%s) (/[!-~]*) HTTP/1\.([01])" % TOKEN).fullmatch
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?").fullmatch
_LENGTH = re.compile(r"[0-9]{1,19}").fullmatch
HARMLESS = bytes(code for code in range(256) if code == 9 or 32 <= code != 127)
"""The bytes that a line of a head may have."""
_MOST_NAMES = 512

_names: Dict[str, str] = {}
"""The field names as they came, and in lower case: checking one again costs more than remembering it."""


class RequestHead(NamedTuple):
    """The head of a request, and what it says about body and connection."""

    method: str
    target: str
    version: str
    headers: Headers
    length: int
    """Bytes of the body; -1: chunked."""
    close: bool
    """True if the client wants no further request on this connection, or cannot have one."""
    expects: bool
    """True if the client waits for ``100 Continue`` before it sends the body."""

    def __repr__(self) -> str:
        return "RequestHead(%s %s, %r)" % (self.method, self.target.partition("?")[0], self.headers)


def bad(reason: str) -> NoReturn:
    """Refuse the request as malformed."""
    raise Refused(400, reason)


def parse_head(block: bytes, limits: Limits = DEFAULT) -> RequestHead:
    """Read a head, given without the empty line at its end. Raises `Refused`."""
    lines = block.decode("latin-1").split("\r\n")
    if block.translate(None, HARMLESS) != b"\r\n" * (len(lines) - 1):
        bad("a control character, or a line that does not end with CR LF, in the head")
    if len(lines[0]) > limits.max_request_line_bytes:
        raise Refused(414, "request line of %d bytes exceeds max_request_line_bytes (%d)"
                      % (len(lines[0]), limits.max_request_line_bytes))
    if len(block) - len(lines[0]) > limits.max_header_bytes:
        raise Refused(431, "header fields of %d bytes exceed max_header_bytes (%d)"
                      % (len(block) - len(lines[0]), limits.max_header_bytes))
    if len(lines) - 1 > limits.max_header_fields:
        raise Refused(431, "%d header fields exceed max_header_fields (%d)"
                      % (len(lines) - 1, limits.max_header_fields))
    usual = _USUAL(lines[0])
    if usual is not None:
        method, target, minor = usual.groups()
        authority = None
    else:
        method, target, minor, authority = unusual_request_line(lines[0])
    fields = _fields(lines)
    modern = minor != "0"
    _check_host(fields, modern, authority)
    length = _body_length(fields, modern, limits)
    close, expects = not modern, False
    if "connection" in fields:
        options = [option.strip() for option in ",".join(fields["connection"]).lower().split(",")]
        close = close or "close" in options
    if "expect" in fields and modern:
        expects = _expectation(fields["expect"])
    headers = Headers.of(fields)
    return RequestHead(method, target, "HTTP/1.1" if modern else "HTTP/1.0", headers, length, close, expects)


def _fields(lines: List[str]) -> Dict[str, List[str]]:
    """Return the names in lower case and their values. The first of the lines is the request line."""
    fields: Dict[str, List[str]] = {}
    known = _names.get
    for number in range(1, len(lines)):
        name, colon, value = lines[number].partition(":")
        lower = known(name) or _field_name(name, colon)
        if not colon:
            bad("a header line without a colon")
        if lower in fields:
            fields[lower].append(value.strip(" \t"))
        else:
            fields[lower] = [value.strip(" \t")]
    return fields


def _field_name(name: str, colon: str) -> str:
    if name[:1] in (" ", "\t"):
        bad("a folded header line")
    if colon and name[-1:] in (" ", "\t"):
        bad("space between a field name and its colon")
    if not is_token(name):
        bad("a header line that does not begin with a field name and a colon")
    lower = name.lower()
    if len(_names) < _MOST_NAMES and len(name) < 64:
        _names[name] = lower
    return lower


def _check_host(fields: Dict[str, List[str]], modern: bool, authority: Optional[str]) -> None:
    """Refuse a head without exactly one Host; the host of a target that is a URL replaces it [RFC 9112 §3.2]."""
    hosts = fields.get("host", [])
    if len(hosts) > 1 or (modern and not hosts):
        bad("two Host fields" if hosts else "no Host field")
    if authority is not None:
        fields["host"] = [authority]
    for host in fields.get("host", ()):
        if not _HOST(host):
            bad("a Host field that names no host")


def _body_length(fields: Dict[str, List[str]], modern: bool, limits: Limits) -> int:
    """Return the bytes of the body, -1 for a chunked one [RFC 9112 §6.3]."""
    lengths = fields.get("content-length")
    codings = fields.get("transfer-encoding")
    if codings is not None:
        if lengths is not None:
            bad("both Content-Length and Transfer-Encoding")
        if not modern:
            bad("Transfer-Encoding in HTTP/1.0")
        if len(codings) != 1 or codings[0].lower() != "chunked":
            bad("a Transfer-Encoding other than chunked")
        return -1
    if lengths is None:
        return 0
    if len(lengths) != 1 or not _LENGTH(lengths[0]):
        bad("more than one Content-Length" if len(lengths) > 1 else "a Content-Length that is no number")
    length = int(lengths[0])
    check_size(length, limits)
    return length


def check_size(length: int, limits: Limits) -> None:
    """Refuse a body that is too large."""
    if length > limits.max_message_bytes:
        raise Refused(413, "body of %d bytes exceeds max_message_bytes (%d)" % (length, limits.max_message_bytes))


def _expectation(values: List[str]) -> bool:
    if [value.lower() for value in values] != ["100-continue"]:
        raise Refused(417, "an expectation other than 100-continue")
    return True


# --- The whole request ------------------------------------------------------------------------------------------------

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t -~\x80-\xff]*)?").fullmatch
_USUAL_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,6})\r\n").match
_PART = 4
"""The bytes around the data of a chunked body may be a quarter of it, beyond ``max_header_bytes``."""
_EMPTY_LINES = re.compile(rb"^(?:\r\n)+").sub


class RequestParser:
    """The requests of one connection; see the module. Not thread-safe.

    ``bodies``: the budget that all parsers of one engine share; by default one of its own.
    """

    __slots__ = ("limits", "received", "unread", "missing", "_bodies", "_held", "_looked", "_head", "_first",
                 "_sink", "_step", "_declared", "_overhead")

    def __init__(self, limits: Limits = DEFAULT, bodies: Optional[BodyBudget] = None) -> None:
        self.limits = limits
        self._bodies = BodyBudget(limits) if bodies is None else bodies
        self._held = 0
        """Bytes of bodies that are counted and have not been handed over."""
        self.unread = b""
        """The bytes that came and belong to nothing that was handed out."""
        self._looked = 0
        """The position at which the search for the end of the head goes on."""
        self._begin()

    def _begin(self) -> None:
        self._head: Optional[RequestHead] = None
        self._first = b""
        self._sink: Optional[io.BytesIO] = None
        self.missing = 0
        """Bytes that the current body, or chunk, is known to want still; below 0 if nothing is known."""
        self._step = "size"
        self._declared = 0
        self._overhead = 0
        self.received = 0
        """Bytes of the current request's body so far."""

    @property
    def stage(self) -> str:
        """The part that is being read: ``idle`` (no byte of a request has come), ``head`` or ``body``."""
        return "body" if self._head is not None else "head" if self.unread else "idle"

    @property
    def waits_for_continue(self) -> bool:
        """True if the client holds its body back until it gets ``100 Continue``."""
        head = self._head
        return head is not None and head.expects and not (self.unread or self.received or self._declared)

    def feed(self, data: bytes) -> None:
        """Take bytes that arrived."""
        self.unread = self.unread + data if self.unread else data

    def next(self) -> Optional[Tuple[RequestHead, bytes]]:
        """Return the next whole request, head and body, or None until more arrives. Raises `Refused`."""
        head = self._head
        if head is None:
            # The head, once its end has come.
            buffer = self.unread
            if buffer[:2] == b"\r\n":  # left over from a body that was counted wrongly [RFC 9112 §2.2]
                buffer = self.unread = _EMPTY_LINES(b"", buffer, 1)
            end = buffer.find(b"\r\n\r\n", self._looked)
            limit = self.limits.max_header_bytes + self.limits.max_request_line_bytes
            if end < 0 or end > limit:
                self._check_beginning(buffer if end < 0 else buffer[:end], limit)
                self._looked = max(0, len(buffer) - 3)
                return None
            self._looked = 0
            self.unread = buffer[end + 4:]
            head = self._head = parse_head(buffer[:end], self.limits)
            if head.length == 0:
                self._head = None
                return head, b""
            self.missing = head.length
            if head.length > len(self.unread):  # a body that is all here is checked when it is counted
                self._bodies.check(head.length, head.length)
        if head.length < 0:
            if not self._chunks():
                return None
        else:
            # What has come of the body, as far as it belongs to it.
            piece, missing = self.unread[:self.missing], self.missing
            if piece:
                self.unread = self.unread[missing:]
                self._keep(piece, head.length)
                self.missing = missing = missing - len(piece)
            if missing:
                return None
        body = self._first if self._sink is None else self._sink.getvalue()
        self._begin()
        return head, body

    def hand_over(self) -> int:
        """Return how many bytes are counted for the request that `next` returned. The caller has to release them."""
        held, self._held = self._held, 0
        return held

    def discard(self) -> None:
        """Free what is held, because the connection ends. A second call does nothing."""
        self.unread, self._first, self._sink = b"", b"", None
        held = self.hand_over()
        if held:
            self._bodies.release(held)

    def _check_beginning(self, head: bytes, limit: int) -> None:
        """Refuse a head that is wrong already, instead of waiting for the rest of it."""
        limits = self.limits
        if head.count(b"\n") != head.count(b"\r\n"):
            bad("a line that does not end with CR LF")
        line = head.find(b"\r\n")
        if (len(head) if line < 0 else line) > limits.max_request_line_bytes + 1:
            raise Refused(414, "request line exceeds max_request_line_bytes (%d)" % limits.max_request_line_bytes)
        if len(head) > limit:
            raise Refused(431, "head exceeds max_header_bytes (%d)" % limits.max_header_bytes)

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
        """Decode the chunks that are there. Return True if the last chunk and the trailers have come."""
        buffer, position, step = self.unread, 0, self._step
        missing = max(0, self.missing)
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
        self.unread, self.missing, self._step = buffer[position:], missing, step
        if pieces:
            self._keep(b"".join(pieces), self._declared)
        return step == "done"

    def _whole_chunks(self, buffer: bytes, position: int, pieces: List[bytes]) -> int:
        """Take the chunks that are here whole, if they look as most do. Return the position where the others begin.

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
        """Return the position where the line ends, -1 if its end has not come."""
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
