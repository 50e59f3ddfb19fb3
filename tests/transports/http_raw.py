"""HTTP as bytes, for tests: connections that send what no client would, and the replies that came."""
import contextlib
import http.client
import io
import logging
import pathlib
import queue
import socket
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import pytest

from mcp_ref import deadline
from mcp_ref.http11.message import Exchange
from mcp_ref.http11.server.server import HttpServer
from tests.support.patience import WAIT

CERTIFICATE = pathlib.Path(__file__).resolve().parents[1] / "data" / "tls" / "localhost.pem"
"""Key and certificate of ``localhost`` and both loopback addresses, for tests only; valid for a hundred years."""


class Reply(NamedTuple):
    status: int
    headers: Dict[str, str]
    body: bytes


class _Bytes:
    """What `http.client` takes for a socket."""

    def __init__(self, data: bytes) -> None:
        self.stream = io.BytesIO(data)
        self.stream.close = lambda: None  # type: ignore[method-assign]

    def makefile(self, mode: str) -> io.BytesIO:
        return self.stream


def replies(data: bytes, methods: Sequence[str] = ()) -> List[Reply]:
    """All replies in the bytes, read by `http.client`; interim ones have no body and are listed, too."""
    source = _Bytes(data)
    found: List[Reply] = []
    while source.stream.tell() < len(data):
        if data[source.stream.tell():].startswith(b"HTTP/1.1 100 Continue\r\n\r\n"):
            source.stream.seek(25, io.SEEK_CUR)
            found.append(Reply(100, {}, b""))
            continue
        method = methods[len(found)] if len(found) < len(methods) else "GET"
        response = http.client.HTTPResponse(source, method=method)  # type: ignore[arg-type]
        response.begin()
        found.append(Reply(response.status, {name.lower(): value for name, value in response.getheaders()},
                           response.read()))
    return found


class Raw:
    """A connection that sends bytes as they are."""

    def __init__(self, address: Tuple[str, int], sock: Optional[socket.socket] = None) -> None:
        self.sock = sock if sock is not None else socket.create_connection(address, WAIT)
        self.sock.settimeout(WAIT)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: Any) -> None:
        self.sock.close()

    def send(self, *pieces: bytes) -> None:
        """Each piece in a packet of its own. It is no error if nobody takes them any more."""
        for piece in pieces:
            try:
                self.sock.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                return

    def end(self) -> None:
        """Say that nothing more is sent."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Go away without a word."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def until(self, mark: bytes) -> bytes:
        """What came up to and with this mark."""
        while mark not in self._left:
            data = self.sock.recv(65536)
            if not data:
                raise AssertionError("the end came after %r" % self._left[-200:])
            self._left += data
        before, _, self._left = self._left.partition(mark)
        return before + mark

    def rest(self) -> bytes:
        """All that comes until the server ends the connection."""
        pieces = [self._left]
        while pieces[-1] or len(pieces) == 1:
            pieces.append(self.sock.recv(1 << 20))
        self._left = b""
        return b"".join(pieces)


def post(body: bytes = b"", path: str = "/", *more: str) -> bytes:
    """A POST with a Content-Length."""
    lines = ["POST %s HTTP/1.1" % path, "Host: localhost", "Content-Length: %d" % len(body), *more, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def get(path: str = "/", *more: str) -> bytes:
    """A GET."""
    return "\r\n".join(["GET %s HTTP/1.1" % path, "Host: localhost", *more, "", ""]).encode("latin-1")


def echo(exchange: Exchange) -> None:
    """Answers with method, target, and body."""
    request = exchange.request
    exchange.reply(200, [("Content-Type", "text/plain")],
                   ("%s %s?%s " % (request.method, request.path, request.query)).encode() + request.body)


@contextlib.contextmanager
def serving(handler: Callable[[Exchange], None] = echo, grace: float = 0.0, **options: Any) -> Iterator[HttpServer]:
    """A server on a free port of the loopback address; closed at the end."""
    server = HttpServer(handler, options.pop("host", "127.0.0.1"), options.pop("port", 0), **options)
    server.open()
    try:
        yield server
    finally:
        server.close(grace)


def still_serves(server: HttpServer) -> None:
    """Fail unless another client gets its answer."""
    with Raw(server.address) as raw:
        raw.send(get("/still", "Connection: close"))
        assert [reply.status for reply in replies(raw.rest())] == [200]


def accepts(server: HttpServer) -> bool:
    """Whether the server takes connections."""
    try:
        socket.create_connection(server.address, WAIT).close()
    except OSError:
        return False
    return True


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that has no event; bounded."""
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.0005)
    return condition()


class Streams:
    """A handler that begins a stream for each GET, leaves it open, and counts what happens to it."""

    def __init__(self) -> None:
        self.begun: "queue.Queue[Exchange]" = queue.Queue()
        self.closed: "queue.Queue[Exchange]" = queue.Queue()

    def __call__(self, exchange: Exchange) -> None:
        if exchange.request.path != "/stream":
            echo(exchange)
            return
        exchange.on_close = lambda: self.closed.put(exchange)
        exchange.start(200, [("Content-Type", "text/event-stream")])
        self.begun.put(exchange)

    def next(self) -> Exchange:
        return self.begun.get(timeout=WAIT)


class Clock:
    """The package's clock, which goes on by itself, and by leaps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        self._stopped = 0.0
        monkeypatch.setattr(deadline, "clock", lambda: (self._stopped or time.monotonic()) + self._ahead)

    def stop(self) -> None:
        """Let it go on by leaps only."""
        self._stopped = time.monotonic()

    def pass_by(self, seconds: float) -> None:
        """Let time pass. A server looks at the clock once a second, as clocks on walls have it."""
        self._ahead += seconds

    def leap(self, server: HttpServer, seconds: float) -> None:
        """Let time pass, and wait until the server has looked at the clock.

        That shows when it gives up a body that does not come, for which ``http_body_timeout`` has to be shorter.
        """
        assert server.limits.http_body_timeout < seconds
        with Raw(server.address) as raw:
            raw.send(post(b"", "/", "Expect: 100-continue").replace(b"Content-Length: 0", b"Content-Length: 1"))
            raw.until(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._ahead += seconds
            raw.sock.settimeout(2.0)
            try:
                raw.until(b"HTTP/1.1 408 ")
            except socket.timeout:  # it began to count after it had said that
                self._ahead += server.limits.http_body_timeout
                raw.sock.settimeout(WAIT)
                raw.until(b"HTTP/1.1 408 ")


@contextlib.contextmanager
def records(caplog: Any) -> Iterator[List[logging.LogRecord]]:
    """What the package logs meanwhile."""
    with caplog.at_level(logging.DEBUG, "mcp_ref"):
        yield caplog.records
