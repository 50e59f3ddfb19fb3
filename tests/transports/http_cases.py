"""Bytes that a client may send, and the statuses they are answered with: read by the parser and by the whole server.

An accepted case is followed by the end of the client's side, so () is what an unfinished request gets. A refused case
is not: the server must refuse it, and end the connection, without being told that nothing more comes.
"""
import random
from typing import List, NamedTuple, Tuple

from mcp_ref.limits import Limits

LIMITS = Limits(max_message_bytes=1000, max_request_line_bytes=100, max_header_bytes=600, max_header_fields=10)


def cut(data: bytes, seed: int) -> List[bytes]:
    """The bytes in pieces of random sizes."""
    places = sorted(random.Random(seed).sample(range(1, len(data)), min(4, len(data) - 1)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)])]


class Case(NamedTuple):
    name: str
    data: bytes
    statuses: Tuple[int, ...]
    bodies: Tuple[bytes, ...] = ()

    @property
    def refused(self) -> bool:
        return any(status >= 400 for status in self.statuses)


def request(*fields: str, line: str = "POST / HTTP/1.1", host: bool = True, body: bytes = b"") -> bytes:
    lines = [line, *(["Host: a"] if host else []), *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def chunked(body: bytes) -> bytes:
    return request("Transfer-Encoding: chunked", body=body)


def sized(length: str, body: bytes = b"") -> bytes:
    return request("Content-Length:" + length, body=body)


NEXT = request(line="GET /next HTTP/1.1")

ACCEPTED: List[Case] = [Case(name, data, statuses, bodies) for name, data, statuses, bodies in (
    ("nothing", b"", (), ()),
    ("an empty line only", b"\r\n", (), ()),
    ("half a head", b"GET / HTTP/1.1\r\nHost: a\r\n", (), ()),
    ("half a body", sized("5", b"abc"), (), ()),
    ("half a chunk", chunked(b"5\r\nabc"), (), ()),
    ("no last chunk", chunked(b"3\r\nabc\r\n"), (), ()),
    ("no end of the trailers", chunked(b"0\r\n"), (), ()),
    ("no body", request(), (200,), (b"",)),
    ("a body", sized("3", b"abc"), (200,), (b"abc",)),
    ("a length of zeros", sized("000", NEXT), (200, 200), (b"", b"")),
    ("a length with zeros in front", sized("003", b"abc"), (200,), (b"abc",)),
    ("a length between spaces", sized(" \t 3 \t ", b"abc"), (200,), (b"abc",)),
    ("the longest body", sized("1000", b"x" * 1000), (200,), (b"x" * 1000,)),
    ("no space after the colon", request("Content-Length:3", "X:y", body=b"abc"), (200,), (b"abc",)),
    ("an empty value", request("X:", "Y: "), (200,), (b"",)),
    ("bytes above ASCII in a value", request("X: \xe9\xff"), (200,), (b"",)),
    ("the longest fields", request("X: " + "y" * 586), (200,), (b"",)),
    ("a tab in a value", request("X: a\tb"), (200,), (b"",)),
    ("every sign of a token in a name", request("!#$%&'*+-.^_`|~09azAZ: x"), (200,), (b"",)),
    ("names in any case", request("cOnTeNt-LeNgTh: 3", body=b"abc"), (200,), (b"abc",)),
    ("an empty line first", b"\r\n" + request(), (200,), (b"",)),
    ("empty lines first", b"\r\n\r\n\r\n" + request(), (200,), (b"",)),
    ("an empty line between", sized("3", b"abc") + b"\r\n" + NEXT, (200, 200), (b"abc", b"")),
    ("two requests", sized("3", b"abc") + NEXT, (200, 200), (b"abc", b"")),
    ("three requests", NEXT + chunked(b"0\r\n\r\n") + NEXT, (200, 200, 200), (b"", b"", b"")),
    ("no request after close", request("Connection: close") + NEXT, (200,), (b"",)),
    ("close among others", request("Connection: keep-alive, CLOSE") + NEXT, (200,), (b"",)),
    ("close in the second field", request("Connection: te", "Connection: close") + NEXT, (200,), (b"",)),
    ("HTTP/1.0 ends", request(line="GET / HTTP/1.0") + NEXT, (200,), (b"",)),
    ("HTTP/1.0 keeps nothing alive", request("Connection: keep-alive", line="GET / HTTP/1.0") + NEXT, (200,), (b"",)),
    ("HTTP/1.0 needs no Host", request(line="GET / HTTP/1.0", host=False), (200,), (b"",)),
    ("HTTP/1.0 with a body", request("Content-Length: 3", line="POST / HTTP/1.0", body=b"abc"), (200,), (b"abc",)),
    ("HTTP/1.0 expects nothing", request("Expect: what it may", "Content-Length: 3", line="POST / HTTP/1.0",
                                         body=b"abc"), (200,), (b"abc",)),
    ("a later version", request(line="GET / HTTP/1.9") + NEXT, (200, 200), (b"", b"")),
    ("everything", request(line="OPTIONS * HTTP/1.1"), (200,), (b"",)),
    ("a whole URL", request(line="GET http://a/x HTTP/1.1"), (200,), (b"",)),
    ("a method nobody knows", request(line="BREW / HTTP/1.1"), (200,), (b"",)),
    ("an empty Host", request("Host:", host=False), (200,), (b"",)),
    ("a Host in brackets", request("Host: [::1]:80", host=False), (200,), (b"",)),
    ("the longest request line", request(line="GET /%s HTTP/1.1" % ("x" * 86)), (200,), (b"",)),
    ("the most fields", request(*["X: y"] * 9), (200,), (b"",)),
    ("chunks", chunked(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n") + NEXT, (200, 200), (b"abcde", b"")),
    ("chunks with the coding in capitals", request("Transfer-Encoding: CHUNKED", body=b"1\r\na\r\n0\r\n\r\n"), (200,),
     (b"a",)),
    ("hexadecimal sizes", chunked(b"00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n"), (200,),
     (b"0123456789" * 2,)),
    ("chunk extensions", chunked(b"1;a=b;c=\"d\"\r\nx\r\n1 ; e\r\ny\r\n0;f\r\n\r\n"), (200,), (b"xy",)),
    ("trailers", chunked(b"1\r\nx\r\n0\r\nA: b\r\nContent-Length: 7\r\n\r\n") + NEXT, (200, 200), (b"x", b"")),
    ("CR LF inside a chunk", chunked(b"4\r\n\r\n\r\n\r\n0\r\n\r\n"), (200,), (b"\r\n\r\n",)),
    ("chunks of a byte", chunked(b"1\r\nx\r\n" * 100 + b"0\r\n\r\n"), (200,), (b"x" * 100,)),
    ("large and small chunks", chunked(b"1A\r\n%b\r\n1\r\nx\r\n" % (b"y" * 26) * 37 + b"00\r\n\r\n"), (200,),
     ((b"y" * 26 + b"x") * 37,)),
    ("chunks of a byte with extensions", chunked(b"1;a=b\r\nx\r\n" * 50 + b"0\r\n\r\n"), (200,), (b"x" * 50,)),
)]

REFUSED: List[Case] = [Case(name, data, tuple(statuses)) for name, data, *statuses in (  # type: ignore[misc]
    ("garbage", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ("garbage with a bare LF", b"garbage\n", 400),
    ("a line of spaces", b"   \r\n\r\n", 400),
    ("a method only", b"GET\r\n\r\n", 400),
    ("HTTP/0.9", b"GET /\r\n\r\n", 400),
    ("HTTP/0.9 said aloud", request(line="GET / HTTP/0.9"), 400),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("HTTP/3", request(line="GET / HTTP/3.0"), 505),
    ("a version in small letters", request(line="GET / http/1.1"), 400),
    ("a version with a zero in front", request(line="GET / HTTP/01.1"), 400),
    ("a version of many digits", request(line="GET / HTTP/1.10"), 400),
    ("a version without a minor", request(line="GET / HTTP/1"), 400),
    ("two spaces", request(line="GET  / HTTP/1.1"), 400),
    ("a tab", request(line="GET\t/ HTTP/1.1"), 400),
    ("a space at the end", request(line="GET / HTTP/1.1 "), 400),
    ("a space at the beginning", request(line=" GET / HTTP/1.1"), 400),
    ("a space in the target", request(line="GET /a b HTTP/1.1"), 400),
    ("bytes above ASCII in the target", request(line="GET /\xe9 HTTP/1.1"), 400),
    ("a NUL in the target", request(line="GET /\0 HTTP/1.1"), 400),
    ("a target without a slash", request(line="GET x HTTP/1.1"), 400),
    ("a star for GET", request(line="GET * HTTP/1.1"), 400),
    ("another scheme", request(line="GET file:///etc/passwd HTTP/1.1"), 400),
    ("a URL with a user", request(line="GET http://u@a/ HTTP/1.1"), 400),
    ("a URL that is none", request(line="GET http://[a/ HTTP/1.1"), 400),
    ("a method with a sign that no token has", request(line="G@T / HTTP/1.1"), 400),
    ("no Host", request(host=False), 400),
    ("two Hosts", request("Host: a"), 400),
    ("a Host with a space", request("Host: a b", host=False), 400),
    ("a Host with a user", request("Host: u@a", host=False), 400),
    ("a Host with a path", request("Host: a/b", host=False), 400),
    ("a Host with two ports", request("Host: a:1:2", host=False), 400),
    ("both lengths", request("Content-Length: 3", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    ("both lengths, the other way", request("Transfer-Encoding: chunked", "Content-Length: 3", body=b"abc"), 400),
    ("two lengths", request("Content-Length: 3", "Content-Length: 4", body=b"abcd"), 400),
    ("two equal lengths", request("Content-Length: 3", "Content-Length: 3", body=b"abc"), 400),
    ("a list of lengths", sized("3, 4", b"abcd"), 400),
    ("a list of equal lengths", sized("3, 3", b"abc"), 400),
    ("a length with a plus", sized("+3", b"abc"), 400),
    ("a length with a minus", sized("-3", b"abc"), 400),
    ("a length with an underscore", sized("1_0", b"0123456789"), 400),
    ("a length with a space", sized("1 0", b"0123456789"), 400),
    ("a hexadecimal length", sized("0x3", b"abc"), 400),
    ("a length with a fraction", sized("3.0", b"abc"), 400),
    ("a length in other digits", request("Content-Length: \xb2", body=b"ab"), 400),
    ("an empty length", sized("", b"abc"), 400),
    ("a length of twenty digits", sized("1" * 20), 400),
    ("a body over the limit", sized("1001"), 413),
    ("a body far over the limit", sized("9" * 19), 413),
    ("a coding nobody asked for", request("Transfer-Encoding: gzip", body=b"abc"), 400),
    ("chunked before another", request("Transfer-Encoding: chunked, gzip", body=b"abc"), 400),
    ("another before chunked", request("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"), 400),
    ("chunked twice", request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"), 400),
    ("chunked twice in a list", request("Transfer-Encoding: chunked, chunked", body=b"0\r\n\r\n"), 400),
    ("chunked with a comma", request("Transfer-Encoding: chunked,", body=b"0\r\n\r\n"), 400),
    ("chunked with a parameter", request("Transfer-Encoding: chunked;a=b", body=b"0\r\n\r\n"), 400),
    ("chunked in quotes", request('Transfer-Encoding: "chunked"', body=b"0\r\n\r\n"), 400),
    ("xchunked", request("Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), 400),
    ("an empty coding", request("Transfer-Encoding:", body=b"0\r\n\r\n"), 400),
    ("chunked with a vertical tab", request("Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"), 400),
    ("chunked in HTTP/1.0", request("Transfer-Encoding: chunked", line="POST / HTTP/1.0", body=b"0\r\n\r\n"), 400),
    ("a bare LF after the request line", b"GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
    ("a bare LF after a field", b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400),
    ("bare LFs only", b"GET / HTTP/1.1\nHost: a\n\n", 400),
    ("a bare LF at the end of the head", b"GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("a bare CR in a value", request("X: a\rY: b"), 400),
    ("CR CR LF", b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
    ("a folded line", request("X: a", " b"), 400),
    ("a line folded with a tab", request("X: a", "\tb"), 400),
    ("a folded first line", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("a folded coding", request("Transfer-Encoding:", " chunked", body=b"0\r\n\r\n"), 400),
    ("a space before the colon", request("Content-Length : 3", body=b"abc"), 400),
    ("a tab before the colon", request("Content-Length\t: 3", body=b"abc"), 400),
    ("no name", request(": x"), 400),
    ("no colon", request("Content-Length"), 400),
    ("a name with a space in it", request("Content Length: 3"), 400),
    ("a name above ASCII", request("\xe9: 3"), 400),
    ("a name with a NUL", request("Content-Length\0: 3"), 400),
    ("a NUL in a value", request("X: a\0b"), 400),
    ("a DEL in a value", request("X: a\x7fb"), 400),
    ("an escape in a value", request("X: \x1b[2J"), 400),
    ("another expectation", request("Expect: 200-ok", "Content-Length: 3"), 417),
    ("two expectations", request("Expect: 100-continue", "Expect: 100-continue", "Content-Length: 3"), 417),
    ("a long request line", request(line="GET /%s HTTP/1.1" % ("x" * 87)), 414),
    ("an endless request line", b"GET /" + b"x" * 200, 414),
    ("many fields", request(*["X: y"] * 10), 431),
    ("a long field", request("X: " + "y" * 700), 431),
    ("a field that is just too long", request("X: " + "y" * 587), 431),
    ("a long field before a body of lines", request("X: " + "y" * 700, "Content-Length: 2", body=b"\n\n"), 431),
    ("an endless field", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 800, 431),
    ("a signed chunk size", chunked(b"+3\r\nabc\r\n0\r\n\r\n"), 400),
    ("a negative chunk size", chunked(b"-3\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size with 0x", chunked(b"0x3\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size with an underscore", chunked(b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n"), 400),
    ("a chunk size with a space before", chunked(b" 3\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size with a space behind", chunked(b"3 \r\nabc\r\n0\r\n\r\n"), 400),
    ("no chunk size", chunked(b"\r\nabc\r\n0\r\n\r\n"), 400),
    ("an extension without a chunk size", chunked(b";a=b\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size in words", chunked(b"three\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size of seventeen digits", chunked(b"0" * 16 + b"3\r\nabc\r\n0\r\n\r\n"), 400),
    ("the largest chunk size", chunked(b"f" * 16 + b"\r\n"), 413),
    ("chunks over the limit", chunked(b"200\r\n" + b"x" * 512 + b"\r\n1e9\r\n"), 413),
    ("a chunk that is longer", chunked(b"3\r\nabcd\r\n0\r\n\r\n"), 400),
    ("a chunk without its CR LF", chunked(b"3\r\nabcXX0\r\n\r\n"), 400),
    ("a chunk that is shorter", chunked(b"4\r\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk that ends with LF", chunked(b"3\r\nabc\n0\r\n\r\n"), 400),
    ("a chunk size that ends with LF", chunked(b"3\nabc\r\n0\r\n\r\n"), 400),
    ("a chunk size that ends with CR", chunked(b"3\rabc\r\n0\r\n\r\n"), 400),
    ("an extension with a bare LF", chunked(b"3;a\nb\r\nabc\r\n0\r\n\r\n"), 400),
    ("an extension with a NUL", chunked(b"3;\0\r\nabc\r\n0\r\n\r\n"), 400),
    ("an endless extension", chunked(b"3;" + b"a" * 700), 431),
    ("many extensions", chunked((b"1;" + b"a" * 100 + b"\r\nx\r\n") * 7), 431),
    ("endless trailers", chunked(b"0\r\n" + b"A: b\r\n" * 150), 431),
    ("a trailer without a colon", chunked(b"0\r\nabc\r\n\r\n"), 400),
    ("a trailer with a bare LF", chunked(b"0\r\nA: b\nC: d\r\n\r\n"), 400),
    ("a trailer with a space before the colon", chunked(b"0\r\nA : b\r\n\r\n"), 400),
    ("a folded trailer", chunked(b"0\r\nA: b\r\n c\r\n\r\n"), 400),
    ("a request that was smuggled by two lengths",
     request("Content-Length: 60", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + NEXT), 400),
    ("a request behind a good one", NEXT + b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 200, 505),
)]

CASES = ACCEPTED + REFUSED
