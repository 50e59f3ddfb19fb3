"""A recording proxy before a server that does what a test says, byte by byte."""
import contextlib
import socket
import threading
from typing import Any, Iterator, List, Optional

from mcp_ref.devtools.recorder.proxy import RECORDED, Proxy
from mcp_ref.devtools.recorder.telling import EventWriter
from mcp_ref.wiretrace import Event
from tests.support.patience import WAIT


class Upstream:
    """A listening socket; a test accepts its connections, reads and writes."""

    def __init__(self, context: Any = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(WAIT)
        self.context = context
        self.authority = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.taken: List[socket.socket] = []

    @property
    def url(self) -> str:
        """The URL of the MCP endpoint."""
        return "%s://%s/mcp" % ("https" if self.context else "http", self.authority)

    def accept(self) -> socket.socket:
        """The next connection."""
        sock = self.listener.accept()[0]
        sock.settimeout(WAIT)
        if self.context is not None:
            sock = self.context.wrap_socket(sock, server_side=True)
        self.taken.append(sock)
        return sock

    def close(self) -> None:
        """Close everything."""
        for sock in [*self.taken, self.listener]:
            sock.close()


class Recorded:
    """A running proxy, and the events that it has recorded; complete after `close`."""

    def __init__(self, url: str, host: str = "127.0.0.1", **options: Any) -> None:
        self.events: List[Event] = []
        self.proxy = Proxy(EventWriter(self._take, "test", RECORDED), host, 0, url, **options)
        self._seen = threading.Condition()
        self.proxy.open()
        self._clients: List[socket.socket] = []
        self._thread = threading.Thread(target=self.proxy.serve)
        self._thread.start()

    def _take(self, event: Event) -> None:
        self.events.append(event)
        if hasattr(self, "_seen"):
            with self._seen:
                self._seen.notify_all()

    def wait(self, kind: str, count: int = 1) -> None:
        """Wait until so many events of a kind are recorded."""
        with self._seen:
            assert self._seen.wait_for(lambda: len(self.of(kind)) >= count, WAIT), self.events

    def of(self, kind: str, direction: Optional[str] = None) -> List[Event]:
        """The events of a kind, and of a party."""
        return [event for event in self.events if event.kind == kind and direction in (None, event.direction)]

    def client(self) -> socket.socket:
        """A connection to the proxy."""
        sock = socket.create_connection(("127.0.0.1", self.proxy.port), WAIT)
        self._clients.append(sock)
        return sock

    def close(self) -> None:
        """End it; everything is recorded then."""
        self.proxy.close()
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        for sock in self._clients:
            sock.close()


@contextlib.contextmanager
def proxied(context: Any = None, **options: Any) -> Iterator[Any]:
    """An `Upstream`, and a `Recorded` before it."""
    upstream = Upstream(context)
    recorded = Recorded(upstream.url, **options)
    try:
        yield upstream, recorded
    finally:
        recorded.close()
        upstream.close()


def receive(sock: socket.socket, until: bytes) -> bytes:
    """What comes up to and with these bytes."""
    data = b""
    while not data.endswith(until):
        part = sock.recv(1)  # what comes behind is left
        assert part, "ended after %r" % data[-200:]
        data += part
    return data


def exactly(sock: socket.socket, count: int) -> bytes:
    """So many bytes."""
    data = bytearray()
    while len(data) < count:
        part = sock.recv(min(1 << 20, count - len(data)))
        assert part, "ended after %d bytes" % len(data)
        data += part
    return bytes(data)


def rest(sock: socket.socket) -> bytes:
    """What comes up to the end."""
    data = b""
    while True:
        part = sock.recv(65536)
        if not part:
            return data
        data += part
