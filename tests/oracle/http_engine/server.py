"""The HTTP/1.1 server: an engine that knows nothing of MCP.

::

    server = HttpServer(handler, "127.0.0.1", 0)   # handler(exchange) runs on a worker
    server.open()
    ... server.port ...
    server.close(grace=2.0)

========================  ================================================================================
thread                    what it does, and what frees it
========================  ================================================================================
``mcp-ref:selector:...``  the selector thread (`reactor`): accepts, reads and parses (`request_parser`) all
                          connections, sends what did not fit at once; blocks in the selector. Runs handlers as long as
                          they are quick, and loses its place to another thread when one is not (`leader`)
``mcp-ref:watcher:...``   sees that a handler keeps the selector thread; sleeps while there are no requests
``mcp-ref:worker:...``    `leader.HandlerPool`: run handlers while they are slow, `Exchange.on_close`,
                          and log; block in those. A few in reserve do what has no handler when all others are kept
========================  ================================================================================

A reply is sent by the thread that has it, as far as it fits into the kernel's buffer.

A silent connection and an open stream have no thread: they are a socket in the selector and an
`connection.ClientConnection`. A client that goes away while its request is served is noticed when its connection is
reset, or when it ends its side while a stream is open; a client that merely ends its side before the reply
has begun (half-closed) still gets it. The connection of a stream is ended when more than ``max_stream_bytes`` wait.

`http.server` gives request lines of unusual form, refusals, phrases and dates (`responses`); usual requests are
parsed and answered without it. See there and in `request_parser` for why.

Measured (2 busy cores, CPython 3.11, small POST, the handler parses its JSON), as ratios against
`http.server.ThreadingHTTPServer` with the same handler in the same run. One connection: p50 30 us against 74 (0.4; it
was 0.8 while each request went to a worker). 32 connections: 29,000 requests a second against 9,200 (3.2), of which
the server needs 23 us of processor time each, the floor 92. 16 MiB there and back: 1.0. An open stream costs 2 KB.
What the profile says, of the time for one request: a third is the kernel's ``send``, a tenth its ``recv``; a
quarter goes into the head, half of it for its ten fields. With 32 connections one look at the selector brings 18.
"""

import os
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from mcp_ref.errors import ConnectFailed
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.transports.held import MemoryAccount
from mcp_ref.transports.lines.fds import raise_soft_limit
from mcp_ref.transports.lines.listener import listen_on_port
from mcp_ref.transports.lines.sockets import Address
from mcp_ref.http11.message import Exchange
from .leader import HandlerPool
from .reactor import Reactor

_SPARE_DESCRIPTORS = 256
_BACKLOG = 1024
"""The connections that may wait to be accepted; one that finds no place tries again after a second."""


class HttpServer:
    """Serves HTTP on a host and a port (0: any free one); ``handler(exchange)`` is called for each request.

    ``ssl_context``: an `ssl.SSLContext` makes it HTTPS. ``name`` shows up in thread names. ``fds``: descriptors of
    sockets that listen already and that other processes may serve, too; they belong to the server, and it binds none.
    ``held``: the account of what clients make us hold, by default one of its own.
    The host ``localhost`` means both loopback addresses, as far as the system has them.
    """

    def __init__(self, handler: Callable[[Exchange], None], host: str = "127.0.0.1", port: int = 0, *,
                 limits: Limits = DEFAULT, ssl_context: Any = None, name: str = "http",
                 fds: Sequence[int] = (), held: Optional[MemoryAccount] = None) -> None:
        self.limits = limits
        self.held = MemoryAccount(limits) if held is None else held
        self.address: Tuple[str, int] = (host, port)
        """The host and the port; the port that was found, once it is open."""
        self.handler = handler
        """The function that is called for each request from `open` on."""
        self._ssl_context = ssl_context
        self._name = name
        self._fds = tuple(fds)
        self._lock = threading.Lock()
        self._pool = HandlerPool(name, limits)
        self._reactor: Optional[Reactor] = None
        self._closed = False
        self._owner = 0

    def open(self) -> None:
        """Bind and start serving. Raises `ConnectFailed` that says what was tried."""
        self._owner = os.getpid()
        sockets = [adopt(fd) for fd in self._fds] or listen(*self.address)
        self.address = (self.address[0], sockets[0].getsockname()[1])
        raise_soft_limit(self.limits.max_http_connections + _SPARE_DESCRIPTORS)
        try:
            self._reactor = Reactor(self.handler, self._pool, self.limits, self._ssl_context,
                                    "%s:%d" % (self._name, self.port), self.held)
        except OSError:
            for sock in sockets:
                sock.close()
            raise
        self._reactor.acceptor.listen(sockets, bool(self._fds))
        self._reactor.start()

    @property
    def port(self) -> int:
        """The port; 0 before `open`, if none was chosen."""
        return self.address[1]

    @property
    def url(self) -> str:
        """The URL without a path, such as ``http://127.0.0.1:8000``."""
        host = "[%s]" % self.address[0] if ":" in self.address[0] else self.address[0]
        return "%s://%s:%d" % ("https" if self._ssl_context is not None else "http", host, self.port)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._reactor.connections) if self._reactor is not None else 0

    @property
    def body_bytes(self) -> int:
        """The bytes of request bodies that are held, of all connections; see `body_budget`."""
        return self._reactor.bodies.held if self._reactor is not None else 0

    def counters(self) -> Dict[str, int]:
        """Return the numbers of requests and connections that were refused or ended, by reason."""
        return self._reactor.counters.snapshot() if self._reactor is not None else {}

    def drain(self) -> None:
        """Serve on, but end each connection with its next reply, so that clients go elsewhere."""
        if self._reactor is not None:
            self._reactor.draining = True

    def close(self, grace: float = 0.0) -> None:
        """Stop: accept nothing more, let running requests finish within ``grace`` seconds, then end what is left.

        Open streams that answer a GET are not waited for: they end, in order, when the rest has. Other streams count as
        running requests. Every exchange that was not finished gets its ``on_close``. Returns when the threads
        have ended, except workers whose handler is stuck. A second call does nothing, nor does one in a forked copy of
        the process that serves. Do not call it from a handler: it would wait for itself, for as long as ``grace``.
        """
        if self._owner != os.getpid():
            return
        with self._lock:
            reactor, closed = self._reactor, self._closed
            self._closed = True
        if reactor is None or closed:
            return
        reactor.command(reactor.close, grace)
        reactor.join(grace + 10)
        self._pool.close(max(0.1, min(grace, 1.0)))


def adopt(fd: int) -> Any:
    """Return the listening socket of this descriptor. Raises `ConnectFailed` if it is none."""
    import socket

    try:
        found = socket.socket(fileno=fd)
    except (OSError, ValueError) as error:
        raise ConnectFailed("descriptor %d is no socket: %s" % (fd, error)) from None
    if found.family not in (socket.AF_INET, socket.AF_INET6) or not found.getsockopt(
            socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        found.close()
        raise ConnectFailed("descriptor %d is no socket that listens on a host and port" % fd)
    found.setblocking(False)
    return found


def listen(host: str, port: int) -> List[Any]:
    """Return the listening sockets of a host and port. Raises `ConnectFailed`.

    No name is looked up but ``host`` itself, unlike in ``HTTPServer.server_bind``.
    """
    first = listen_on_port(Address("", host, port), _BACKLOG)
    if host != "localhost":
        return [first]
    other = "::1" if first.getsockname()[0] != "::1" else "127.0.0.1"
    try:
        return [first, listen_on_port(Address("", other, first.getsockname()[1]), _BACKLOG)]
    except ConnectFailed:
        return [first]  # no such address here, or another program has the port there
