"""The head of an HTTP/1.1 request: request line, fields, and what they say about the rest [RFC 9112].

Strict wherever two readers could disagree on where a request ends, because that is how one is smuggled past a proxy.
Refused with 400: Content-Length beside Transfer-Encoding, more than one Content-Length (be they equal), lists
and signs and underscores in it, any transfer coding but one ``chunked``, and that from an HTTP/1.0 client; line ends
other than CR LF, folded lines, space before a colon, control characters, no Host or two. Which other fields may come
once only is the business of who goes by them; see `Headers.repeated`.

Why not `http.server`: its ``parse_request`` takes most of that list (a bare LF ends a line, a folded line and a space
before the colon are repaired by `email`, a second Content-Length is overlooked). So the usual request line is read
here, and so are all fields; only an unusual request line goes through ``parse_request`` (see
`stdlib.unusual_request_line`), which knows the versions and how to refuse them. It is faster, too:
a head of ten fields takes 6 microseconds here, its fields alone 18 in `email`. And as a client says the same each time,
but for the length of the body, a connection reads that only once (see `Heads`).
"""

import re
from typing import Dict, List, NamedTuple, NoReturn, Optional

from ...limits import DEFAULT, Limits
from ...urls import TOKEN, is_token
from ..message import Headers
from .stdlib import Refused, unusual_request_line

_USUAL = re.compile(r"(%s) (/[!-~]*) HTTP/1\.([01])" % TOKEN).fullmatch
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?").fullmatch
_LENGTH = re.compile(r"[0-9]{1,19}").fullmatch
_USUAL_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ?([0-9]{1,19})(?=\r\n|\Z)").search
HARMLESS = bytes(code for code in range(256) if code == 9 or 32 <= code != 127)
"""What a line of a head may consist of."""
_MOST_DIGITS = 19
_MOST_NAMES = 512
_REMEMBERED = 2048
"""Bytes of a head that is remembered; an idle connection keeps no more of it."""

_names: Dict[str, str] = {}
"""Field names as they came, and in lower case: checking one again costs more than remembering it."""


class Head(NamedTuple):
    """The head of a request, and what it says about the rest."""

    method: str
    target: str
    version: str
    headers: Headers
    length: int
    """Bytes of the body; -1: chunked."""
    close: bool
    """Whether the client wants no further request on this connection, or cannot have one."""
    expects: bool
    """Whether the client waits for ``100 Continue`` before it sends the body."""

    def __repr__(self) -> str:
        return "Head(%s %s, %r)" % (self.method, self.target.partition("?")[0], self.headers)


class Heads:
    """The heads of the requests of one connection, one after the other; gives what `parse_head` gives for each.

    What it has read of a head serves for the next ones that differ in the digits of Content-Length alone. That they do
    is compared byte by byte, so nothing is let through that would be refused otherwise. Not thread-safe.
    """

    __slots__ = ("_limits", "_before", "_after", "_head")

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self.forget()

    def forget(self) -> None:
        """Keep nothing of what has come."""
        self._before = self._after = b""
        self._head: Optional[Head] = None

    def read(self, block: bytes) -> Head:
        """Read a head, given without the empty line at its end. Raises `Refused`."""
        same = self._head
        if same is not None and block.startswith(self._before) and block.endswith(self._after):
            digits = block[len(self._before):len(block) - len(self._after)]
            if digits.isdigit() and len(digits) <= _MOST_DIGITS:
                return self._with_length(same, digits.decode("ascii"))
        head = parse_head(block, self._limits)
        longest = min(_REMEMBERED, self._limits.max_header_bytes - _MOST_DIGITS)
        usual = _USUAL_LENGTH(block) if len(block) <= longest else None
        if usual is not None:
            self._before, self._after, self._head = block[:usual.start(1)], block[usual.end(1):], head
        return head

    def _with_length(self, same: Head, digits: str) -> Head:
        """That head, with these digits as its Content-Length."""
        if same.headers.lower("content-length") == digits:
            return same
        length = int(digits)
        check_size(length, self._limits)
        headers = same.headers.having("content-length", digits)
        return Head(same.method, same.target, same.version, headers, length, same.close, same.expects)


def bad(reason: str) -> NoReturn:
    """Refuse the request as malformed."""
    raise Refused(400, reason)


def parse_head(block: bytes, limits: Limits = DEFAULT) -> Head:
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
    return Head(method, target, "HTTP/1.1" if modern else "HTTP/1.0", headers, length, close, expects)


def _fields(lines: List[str]) -> Dict[str, List[str]]:
    """Names in lower case and their values; the first of the lines is none of them."""
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
    """[RFC 9112 §3.2]: exactly one Host; a target with a host in it says it better."""
    hosts = fields.get("host", [])
    if len(hosts) > 1 or (modern and not hosts):
        bad("two Host fields" if hosts else "no Host field")
    if authority is not None:
        fields["host"] = [authority]
    for host in fields.get("host", ()):
        if not _HOST(host):
            bad("a Host field that names no host")


def _body_length(fields: Dict[str, List[str]], modern: bool, limits: Limits) -> int:
    """Bytes of the body, -1 for a chunked one [RFC 9112 §6.3]."""
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
