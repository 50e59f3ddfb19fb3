"""HTTP requests that are hostile below the protocol: heads, chunks, and what comes slowly or not to its end.

Each is written to a connection of its own, byte for byte. Most have to be refused: they are no requests of HTTP
[RFC 9112]. Those that are only odd may be answered. A server that waits for the rest of what does not come has done
nothing wrong.
"""

import time
from typing import Dict, Iterator, List, NamedTuple, Optional

from ....errors import TransportError
from ....http11.client.connect import CancelScope, Connector
from ....http11.client.response import BROKEN, Reply
from ....jsontext import dumps
from ..talk import ExaminerConversation

SECONDS = 1.0
"""The time for which an answer is waited for on one connection."""
_LENGTH = 100_000
_PIECES = 10


class RawRequest(NamedTuple):
    """Bytes of one connection."""

    what: str
    data: bytes
    refuse: bool
    """True if it must not get a result."""
    slow: bool = False
    """True if it comes in pieces, over some time."""


class RawAnswer(NamedTuple):
    """The answer on one connection."""

    status: Optional[int]
    body: bytes
    why: str


def _text(talk: ExaminerConversation, like: Dict[str, object]) -> bytes:
    return dumps(like).encode("ascii")


def _head(talk: ExaminerConversation, like: Dict[str, object], length: Optional[int], first: str = "") -> List[bytes]:
    """Return the lines of a legal head; ``length``: that of the body, None: not said."""
    where = talk.web.where
    lines = [first or "POST %s HTTP/1.1" % where.target, "Host: " + where.authority]
    lines += ["%s: %s" % pair for pair in (*talk.web.fields, *talk.header_fields(like, {}))]
    lines += [] if length is None else ["Content-Length: %d" % length]
    return [line.encode("latin-1") for line in lines]


def _whole(lines: List[bytes], body: bytes, end: bytes = b"\r\n") -> bytes:
    return end.join(lines) + end + end + body


def heads(talk: ExaminerConversation, like: Dict[str, object]) -> Iterator[RawRequest]:
    """Write request lines and header fields that are not allowed, doubled, folded, too long, too many."""
    body, target = _text(talk, like), talk.web.where.target
    good = _head(talk, like, len(body))
    for first in ("POST", "POST %s" % target, "POST  %s HTTP/1.1" % target, "POST %s HTTP/1.1 x" % target,
                  "/ POST HTTP/1.1",
                  "POST %s HTTP/9.9" % target, "POST %s HTTP/1" % target, "POST %s http/1.1" % target,
                  " POST %s HTTP/1.1" % target,
                  "P\0ST %s HTTP/1.1" % target, "POST %s\0 HTTP/1.1" % target, "POST %s\xe9 HTTP/1.1" % target, "{}",
                  "\x16\x03\x01",
                  "POST http://%s@evil.example/ HTTP/1.1" % talk.web.where.authority, "PRI * HTTP/2.0"):
        yield RawRequest("request line %.40r" % first, _whole(_head(talk, like, len(body), first), body), True)
    for line in (b"no colon", b": no name", b"Na me: x", b"Name : x", b"N\0me: x", b"Name: a\0b", b"N\xe9me: x",
                 b"Name: a\rb",
                 b" folded: x", b"Content-Length: 1", b"Content-Length: -1", b"Content-Length: +1",
                 b"Content-Length: 1_0",
                 b"Content-Length: 0x10", b"Content-Length: 99999999999999999999", b"Content-Length: 1, 2",
                 b"Content-Length:",
                 b"Host: another.example", b"Host: a b", b"Transfer-Encoding: chunked", b"Transfer-Encoding: x",
                 b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding : chunked"):
        yield RawRequest("header line %r" % line, _whole([*good, line], body), True)
    yield RawRequest("no Host", _whole([line for line in good if not line.startswith(b"Host")], body), True)
    yield RawRequest("a header line of %d bytes" % _LENGTH, _whole([*good, b"X-Long: " + b"x" * _LENGTH], body), False)
    yield RawRequest("a name of %d bytes" % _LENGTH, _whole([*good, b"x" * _LENGTH + b": x"], body), False)
    many = [b"X-%d: x" % number for number in range(5_000)]
    yield RawRequest("5000 header lines", _whole([*good, *many], body), False)
    yield RawRequest("a target of %d bytes" % _LENGTH, _whole(_head(
        talk, like, len(body), "POST %s?%s HTTP/1.1" % (target, "x" * _LENGTH)), body), False)
    yield RawRequest("lines that end with LF", _whole(good, body, b"\n"), False)
    yield RawRequest("lines that end with CR", _whole(good, body, b"\r"), True)
    yield RawRequest("empty lines before it", b"\r\n\r\n" + _whole(good, body), False)


def chunks(talk: ExaminerConversation, like: Dict[str, object]) -> Iterator[RawRequest]:
    """Write bodies in chunks whose sizes are no numbers, too large, negative, without ends, with more behind."""
    body = _text(talk, like)
    good = [*_head(talk, like, None), b"Transfer-Encoding: chunked"]
    size = b"%x" % len(body)
    for what, chunk, refuse in (
            ("a size that is none", b"x\r\n" + body, True), ("no size", b"\r\n" + body, True),
            ("a negative size", b"-5\r\n" + body, True), ("a size with 0x", b"0x" + size + b"\r\n" + body, True),
            ("a size with an underscore", b"1_0\r\n" + body, True),
            ("a size with a sign", b"+" + size + b"\r\n" + body, True),
            ("a size of 20 digits", b"f" * 20 + b"\r\n" + body, True),
            ("a size of %d digits" % _LENGTH, b"0" * _LENGTH, False),
            ("an extension of %d bytes" % _LENGTH,
             size + b";x=" + b"y" * _LENGTH + b"\r\n" + body + b"\r\n0\r\n\r\n", False),
            ("a chunk without its end", size + b"\r\n" + body + b"0\r\n\r\n", True),
            ("a chunk that is longer than its size", b"3\r\n" + body + b"\r\n0\r\n\r\n", True),
            ("no last chunk", size + b"\r\n" + body + b"\r\n", True),
            ("a chunk for each byte", b"".join(b"1\r\n%c\r\n" % code for code in body) + b"0\r\n\r\n", False),
            ("trailers", size + b"\r\n" + body + b"\r\n0\r\nX: y\r\nContent-Length: 3\r\n\r\n", False),
            ("1000 trailers", size + b"\r\n" + body + b"\r\n0\r\n" + b"X: y\r\n" * 1_000 + b"\r\n", False),
            ("chunks with LF", size + b"\n" + body + b"\n0\n\n", False)):
        yield RawRequest("chunks: " + what, _whole(good, chunk), refuse)


def cuts(talk: ExaminerConversation, like: Dict[str, object]) -> Iterator[RawRequest]:
    """End the connection in the middle of a request, or send it slowly."""
    body = _text(talk, like)
    data = _whole(_head(talk, like, len(body)), body)
    for end in range(0, len(data), max(1, len(data) // 24)):
        yield RawRequest("a request that ends after %d of %d bytes" % (end, len(data)), data[:end], True)
    yield RawRequest("a body shorter than Content-Length", _whole(_head(talk, like, len(body) + 50), body), True)
    yield RawRequest("a body longer than Content-Length", _whole(_head(talk, like, len(body) - 1), body), True)
    yield RawRequest("a request in slow pieces", data, False, True)


def exchange(connector: Connector, asked: RawRequest) -> RawAnswer:
    """Send the bytes on a connection of their own, and return what comes back."""
    try:
        sock = connector.dial(CancelScope())
    except TransportError as error:
        return RawAnswer(None, b"", "no connection: %s" % error)
    try:
        sock.settimeout(SECONDS)
        size = max(1, len(asked.data) // _PIECES)
        for at in range(0, len(asked.data), size if asked.slow else len(asked.data) or 1):
            sock.sendall(asked.data[at:at + size] if asked.slow else asked.data)
            if asked.slow:
                time.sleep(SECONDS / _PIECES)
        if asked.what.startswith("a request that ends"):
            return RawAnswer(None, b"", "cut by us")
        reply = Reply(sock, "POST")
        reply.begin()
        kind = reply.headers.lower("content-type") or ""
        body = reply.piece() if kind.startswith("text/event-stream") else reply.whole(1 << 20)
        return RawAnswer(reply.status, body, "")
    except (*BROKEN, TransportError) as error:
        return RawAnswer(None, b"", "no answer: %s" % (str(error) or type(error).__name__))
    finally:
        sock.close()
