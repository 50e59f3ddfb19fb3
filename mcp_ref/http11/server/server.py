"""The HTTP/1.1 server: `http.server` with a selector for connections that are idle. It knows nothing of MCP.

::

    server = HttpServer(handler, "127.0.0.1", 0)   # handler(exchange) runs on the thread of its connection
    server.open()
    ... server.port ...
    server.close(grace=2.0)

==========================  ==============================================================================
thread                      what it does, and what frees it
==========================  ==============================================================================
``mcp-ref:selector:...``    `parking.Parking`: accepts, waits for all connections that have no thread, sends what
                            did not fit at once, and looks at the clock; blocks in the selector only
``mcp-ref:connection:...``  `connection.Connection`: reads the requests of one connection and runs the handler; leaves
                            when the client is silent, or when the handler has returned and the reply goes on
``mcp-ref:worker:...``      `parking.Errands`: `Exchange.on_close`, log records, requests of a batch; blocks in those
==========================  ==============================================================================

The classes are those of `http.server`: `Listener` is a `ThreadingHTTPServer`, which starts a thread for a connection
that carries something; `Connection` is a `BaseHTTPRequestHandler`. A silent connection and an open stream have no
thread. As many handlers may run as there are connections, so none waits for another one.

A reply is sent by the thread that has it, as far as it fits into the kernel's buffer. A client that goes away while its
request is served is noticed within a second; one that merely ends its side before the reply has begun (half-closed)
still gets it. The connection of a stream is ended when more than ``max_stream_bytes`` wait.
"""

import os
import socket
import threading
import time
from functools import partial
from http.server import ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ...diagnostics.packagelog import Counters, OncePerSecond
from ...errors import ConnectFailed
from ...limits import DEFAULT, Limits
from ...threads import helpers
from ...transports.held import MemoryAccount
from ...transports.lines.fds import raise_soft_limit
from ...transports.lines.listener import listen_on_port
from ...transports.lines.sockets import Address
from ..message import Exchange
from .body_budget import BodyBudget
from .connection import Connection, get_log
from .parking import Errands, Parking

_SPARE_DESCRIPTORS = 256
_AT_ONCE = 32
"""The connections that are accepted before others have their turn."""
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
        self.bodies = BodyBudget(limits)
        self.address: Tuple[str, int] = (host, port)
        """The host and the port; the port that was found, once it is open."""
        self.handler = handler
        """The function that is called for each request from `open` on."""
        self.ssl_context = ssl_context
        self.name = name
        self.draining = False
        """True once each reply is the last one of its connection."""
        self.closing = False
        self.counts = Counters(write=self._log_later, rule=OncePerSecond())
        """The counts of requests and connections that were refused or ended. Each kind is logged once a second: an
        attacker must not fill a disk."""
        self.note = self.counts.note
        self.errands = Errands("mcp-ref:worker:%s" % name, limits.max_workers)
        self.batches = Errands("mcp-ref:worker:%s" % name, limits.max_workers)
        """Threads for the requests of batches but the first of each, which the thread of the connection runs."""
        self.parking: Any = None
        """The selector thread, a `Parking`; None before `open`."""
        self._fds = tuple(fds)
        self._lock = threading.Lock()
        self._closed = False
        self._owner = 0

    def open(self) -> None:
        """Bind and start serving. Raises `ConnectFailed` that says what was tried."""
        self._owner = os.getpid()
        get_log()  # loads what it takes, which fails later if no descriptor is left, and that is worth a record
        sockets = [adopt(fd) for fd in self._fds] or listen(*self.address)
        self.address = (self.address[0], sockets[0].getsockname()[1])
        raise_soft_limit(self.limits.max_http_connections + _SPARE_DESCRIPTORS)
        try:
            self.parking = Parking(self)
            self.parking.start([Listener(sock, self, bool(self._fds)) for sock in sockets],
                               "%s:%d" % (self.name, self.port))
        except (OSError, RuntimeError):
            for sock in sockets:
                sock.close()
            if self.parking is not None:
                self.parking.release()
                self.parking = None
            raise

    def _log_later(self, kind: str, text: str, count: int) -> None:
        self.errands.run([lambda: get_log().info("%s (%s so far: %d)", text, kind, count)])

    @property
    def port(self) -> int:
        """The port; 0 before `open`, if none was chosen."""
        return self.address[1]

    @property
    def url(self) -> str:
        """The URL without a path, such as ``http://127.0.0.1:8000``."""
        host = "[%s]" % self.address[0] if ":" in self.address[0] else self.address[0]
        return "%s://%s:%d" % ("https" if self.ssl_context is not None else "http", host, self.port)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self.parking.connections) if self.parking is not None else 0

    @property
    def body_bytes(self) -> int:
        """The bytes of request bodies that are held, of all connections; see `body_budget`."""
        return self.bodies.held

    def counters(self) -> Dict[str, int]:
        """Return the numbers of requests and connections that were refused or ended, by reason."""
        return self.counts.snapshot()

    def drain(self) -> None:
        """Serve on, but end each connection with its next reply, so that clients go elsewhere."""
        self.draining = True

    def close(self, grace: float = 0.0) -> None:
        """Stop: accept nothing more, let running requests finish within ``grace`` seconds, then end what is left.

        Open streams that answer a GET are not waited for: they end, in order, when the rest has. Other streams count as
        running requests. Every exchange that was not finished gets its ``on_close``. Returns when the threads
        have ended, except those whose handler is stuck. A second call does nothing, nor does one in a forked copy of
        the process that serves. Do not call it from a handler: it would wait for itself, for as long as ``grace``.
        """
        if self._owner != os.getpid():
            return
        with self._lock:
            closed, self._closed = self._closed, True
        if self.parking is None or closed:
            return
        self.parking.command(self.parking.close, grace)
        self.parking.thread.join(grace + 10)
        end = time.monotonic() + max(0.1, min(grace, 1.0))
        for thread in self.parking.served() + self.batches.close() + self.errands.close():
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


class Listener(ThreadingHTTPServer):
    """A listening socket of an `HttpServer`, and the threads for its connections.

    `parking.Parking` does what `serve_forever` does elsewhere: one thread serves all listeners and waits for idle
    connections, too. So `process_request` is called for a connection whenever something comes on it after a silence.

    ``shared``: other processes accept from the socket, too. Each takes one connection at a time then, so that all get
    some.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, sock: Any, engine: HttpServer, shared: bool) -> None:
        """Set up a server for a socket that listens already."""
        BaseServer.__init__(self, sock.getsockname(), Connection)
        self.socket = sock
        self.engine = engine
        self._shared = shared
        self._connect: Callable[[socket.socket, str, Listener], Connection] = Connection
        if engine.ssl_context is not None:
            from .tls import TlsConnection

            self._connect = partial(TlsConnection, context=engine.ssl_context)

    def accept(self) -> None:
        """Accept the connections that wait."""
        parking = self.engine.parking
        for _ in range(1 if self._shared else _AT_ONCE):
            try:
                sock, address = self.get_request()
            except OSError as error:
                parking.exhausted(error)
                return
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection = self._connect(sock, str(address[0]), self)
            except (OSError, ValueError):  # the client has gone already
                sock.close()
            else:
                parking.take(connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on this thread."""
        connection: Connection = request
        connection.thread = threading.current_thread()
        connection.thread.name = "mcp-ref:connection:%s" % self.engine.name
        helpers.run = self.engine.batches.run
        connection.handle()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a mistake of ours, which ends one connection."""
        self.engine.counts.add("internal errors")
        with request.lock:
            request.break_off()
        get_log().exception("a mistake in the HTTP server")

    def shutdown_request(self, request: Any) -> None:
        """Give the connection back to the selector thread, which closes it where it has ended."""
        connection, parking, thread = request, self.engine.parking, threading.current_thread()
        with connection.lock:
            if connection.thread is not thread:  # `Parking._watch` has taken the connection from it
                parking.detached.discard(thread)
                return
            connection.thread = connection.running = None
        parking.command(parking.park, connection)
        if parking.over:
            connection.close()

    def server_close(self) -> None:
        """Accept nothing more."""
        try:
            if not self._shared:
                self.socket.shutdown(socket.SHUT_RDWR)  # a forked copy of this process may hold it open
        except OSError:
            pass  # not every system knows how
        super().server_close()


def adopt(fd: int) -> Any:
    """Return the listening socket of this descriptor. Raises `ConnectFailed` if it is none."""
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
