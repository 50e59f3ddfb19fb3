"""HTTP as the benchmark and the soak see it: requests as prebuilt bytes, answers as bytes whose end is looked for.

As little as possible happens between the clock and the socket: heads are not parsed before the clock stops.
"""
import re
import selectors
import socket
from typing import Iterable, List, NamedTuple, Optional, Sequence

from peer import CHUNK, WrongAnswer

SECONDS = 120.0
_LARGE = 1 << 20
_LENGTH = re.compile(rb"\r\nContent-Length: *(\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\nTransfer-Encoding: *chunked\r\n", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_VERSION = "2025-11-25"


class Answer(NamedTuple):
    """A reply in parts. `head` is all of it, status line among it."""

    status: int
    head: bytes
    body: bytes

    def field(self, name: str) -> Optional[str]:
        """Value of a header field."""
        found = re.search(b"\r\n" + name.encode() + b": *([^\r]*)", self.head, re.IGNORECASE)
        return found.group(1).decode("latin-1") if found else None

    @property
    def message(self) -> bytes:
        """The JSON-RPC message: the body, or what the last event with data in it says."""
        if b"text/event-stream" not in self.head:
            return self.body
        said = [line[5:].strip() for line in self.body.splitlines() if line.startswith(b"data:")]
        return next((line for line in reversed(said) if line), b"")


def end_of(data: bytes) -> int:
    """Where the reply ends that begins with this; 0: its end cannot be told yet."""
    head = data.find(b"\r\n\r\n")
    if head < 0:
        return 0
    length = _LENGTH.search(data, 0, head + 2)
    if length:
        return head + 4 + int(length.group(1))
    if _CHUNKED.search(data, 0, head + 2):
        last = data.find(_LAST_CHUNK, head + 2)
        return last + len(_LAST_CHUNK) if last >= 0 else 0
    return head + 4  # 204, or a stream that ends with its connection


def parts_of(data: bytes) -> Answer:
    """A whole reply, in parts. WrongAnswer where it is none."""
    head, _, body = data.partition(b"\r\n\r\n")
    try:
        status = int(head.split(b" ", 2)[1])
    except (IndexError, ValueError):
        raise WrongAnswer("no reply: %r" % data[:300]) from None
    head += b"\r\n"
    return Answer(status, head, unchunked(body) if _CHUNKED.search(head) else body)


def unchunked(body: bytes) -> bytes:
    """The data of chunks, as far as they have come."""
    parts: List[bytes] = []
    at = 0
    while True:
        line = body.find(b"\r\n", at)
        if line < 0:
            return b"".join(parts)
        size = int(body[at:line], 16)
        parts.append(body[line + 2:line + 2 + size])
        at = line + 4 + size
        if not size:
            return b"".join(parts)


class Line:
    """A connection to a server that waits for each answer."""

    def __init__(self, host: str, port: int, tls: bool = False) -> None:
        self.sock = socket.create_connection((host, port), SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            import ssl

            self.sock = ssl._create_unverified_context().wrap_socket(self.sock)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *exception: object) -> None:
        self.sock.close()

    def raw(self, request: bytes) -> bytes:
        """Send a request and return the bytes of its reply."""
        self.sock.sendall(request)
        data = self.sock.recv(CHUNK)
        end = end_of(data)
        return data if end == len(data) and end else self._rest(data, end)

    def _rest(self, data: bytes, end: int) -> bytes:
        found = bytearray(data)
        while not end or len(found) < end:
            more = self.sock.recv(_LARGE)
            if not more:
                raise WrongAnswer("the connection ended within a reply: %r" % bytes(found[:300]))
            found += more
            end = end or end_of(bytes(found))
        if len(found) != end:
            raise WrongAnswer("more than one reply: %r" % bytes(found[end:end + 300]))
        return bytes(found)

    def ask(self, request: bytes) -> Answer:
        """The same, in parts."""
        return parts_of(self.raw(request))


class Target(NamedTuple):
    """Where requests go."""

    host: str
    port: int
    path: str
    tls: bool = False

    def line(self) -> Line:
        """A new connection."""
        return Line(self.host, self.port, self.tls)

    def request(
        self, method: str, body: bytes = b"", session: Optional[str] = None, fields: Sequence[str] = ()
    ) -> bytes:
        """A whole request, as a careful client makes it. `fields` are further header lines."""
        lines = ["%s %s HTTP/1.1" % (method, self.path), "Host: %s:%d" % (self.host, self.port),
                 "Accept: %s" % ("text/event-stream" if method == "GET" else "application/json, text/event-stream")]
        if body:
            lines += ["Content-Type: application/json", "Content-Length: %d" % len(body)]
        if session is not None:
            lines += ["Mcp-Session-Id: " + session, "MCP-Protocol-Version: " + _VERSION]
        return "\r\n".join([*lines, *fields, "", ""]).encode() + body

    def stream(self, session: Optional[str] = None, fields: Sequence[str] = ()) -> socket.socket:
        """The connection of an open GET stream, its head read."""
        return self.streamed(self.request("GET", session=session, fields=fields))

    def streamed(self, request: bytes) -> socket.socket:
        """The connection of a request that a stream answers, its head read."""
        line = self.line()
        line.sock.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            more = line.sock.recv(CHUNK)
            if not more:
                raise WrongAnswer("no stream: %r" % data)
            data += more
        if parts_of(data).status != 200:
            raise WrongAnswer("no stream: %r" % data[:300])
        return line.sock


def together(lines: Sequence[Line], requests: Iterable[bytes]) -> List[bytes]:
    """Send the requests over all connections at once, each its next one when it has its answer; return the replies.

    One thread, which never blocks.
    """
    waiting, replies, open_now = iter(requests), [], 0
    with selectors.DefaultSelector() as selector:
        for line, request in zip(lines, waiting):
            line.sock.setblocking(False)
            selector.register(line.sock, selectors.EVENT_READ, [line.sock, b""])
            line.sock.send(request)
            open_now += 1
        while open_now:
            ready = selector.select(SECONDS)
            if not ready:
                raise WrongAnswer("no answer for %d seconds" % SECONDS)
            for key, _ in ready:
                sock, before = key.data
                data = before + sock.recv(CHUNK)
                end = end_of(data)
                if not end or len(data) < end:
                    if data == before:
                        raise WrongAnswer("the connection ended within a reply: %r" % data[:300])
                    key.data[1] = data
                    continue
                key.data[1] = b""
                replies.append(data)
                request_next = next(waiting, None)
                if request_next is None:
                    open_now -= 1
                elif sock.send(request_next) != len(request_next):
                    raise WrongAnswer("a small request did not fit")
    for line in lines:
        line.sock.settimeout(SECONDS)
    return replies
