"""The server on HTTP: Streamable HTTP at one path [2025-03-26..2025-11-25 basic/transports §Streamable HTTP]
[2026-07-28 basic/transports/streamable-http §Sending Messages].

::

    listener = server.listen("http://127.0.0.1:8000/mcp", token="secret")     # in the background
    listener.address                                                          # with the port that was chosen
    listener.close()

    server.run_http("127.0.0.1", 8000)                                        # until SIGTERM or Ctrl-C

This module joins independent parts: the endpoint, which answers requests
(`mcp_ref.streamable.server.endpoint`), the two addresses of HTTP+SSE for clients of 2024-11-05
(`mcp_ref.streamable.server.http_sse`), the HTTP/1.1 server that reads and writes for both
(`mcp_ref.http11.server.server`), and a timer for idle sessions and keep-alive.

Both eras are served at the same path: clients with sessions, and clients of 2026-07-28, whose requests have no session.
`refusals.HttpEras` decides the era of a request; ``Server(revisions=["2026-07-28"])``
serves the latter alone, and answers 405 to GET and DELETE.

`Server.run_http` has a table of the options, which `Server.listen`, `HttpListener` and `endpoint_of` share. A server
that other machines can reach should have one of ``auth``, ``token`` and ``authenticate``; a warning is logged if it has
none.
"""

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Optional, Sequence, Tuple, TypeVar, Union
from urllib.parse import urlsplit

from ...deadline import Deadline
from ...diagnostics.packagelog import get_logger, log_raised
from ...http11.message import Exchange
from ...http11.server.server import HttpServer
from ...methods import NAMED
from ...options import with_defaults
from ...protocol.streamable_http.header_values import LOOPBACK
from ...streamable.server.authenticate import Authenticate, Guard, OneToken
from ...streamable.server.endpoint import Endpoint
from ...threads import need, start_thread
from ...transports.base import Transport
from ...transports.tap import tap
from ...urls import is_loopback
from ..families import ENDPOINT, HTTP, takes_endpoint_options, takes_http_options
from .process import Termination, interrupted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...peer.dispatcher import Connection
    from ...protocol.streamable_http.mirrored import Mirrored
    from ...streamable.http_trace import HttpTrace
    from ...streamable.server.http_sse import SseEndpoint
    from ...streamable.server.own_routes import OwnRoute, OwnRoutes
    from ...wiretrace import Trace
    from ..families import EndpointOptions, HttpOptions
    from ..server import Server

_Served = TypeVar("_Served", "Endpoint", "SseEndpoint")
PATH = "/mcp"
IDENTIFYING: "Tuple[Literal['auth', 'token', 'authenticate'], ...]" = ("auth", "token", "authenticate")
"""The options by which clients show who they are; one of them may be given."""
_TICK = 1.0


class HttpListener:
    """A server on HTTP in the background; see the module for the options. `open` starts it, `close` ends it.

    As a context manager it does both.
    """

    warns = True
    """True if `open` logs a warning that anybody may call. Set it to False before, to warn the operator otherwise."""

    @takes_http_options
    def __init__(self, server: "Server", address: str, **options: "Unpack[HttpOptions]") -> None:
        given = with_defaults(HttpListener.__init__, HTTP, options, self)
        ssl_context, trace = given["ssl_context"], given["trace"]
        parts = urlsplit(address)
        if (parts.scheme == "https") != (ssl_context is not None):
            raise ValueError("%s: https needs an ssl_context, and http has none" % address)
        if parts.query or parts.fragment or parts.username is not None:
            raise ValueError("%s: an address to listen on is scheme, host, port and path" % address)
        self.server = server
        self._path = parts.path or PATH
        of_endpoint: Any = {name: value for name, value in given.items() if name in ENDPOINT}
        self.endpoint = endpoint_of(server, path=self._path, **of_endpoint)
        shared_with = partial(_shared_options, server, given)
        self.legacy: "Optional[SseEndpoint]" = None
        if given["legacy"] and any(revision.handshake for revision in server.revisions):
            from ...streamable.server.http_sse import SseEndpoint

            http = _http_trace(server, trace, "http+sse")
            shared = shared_with(http)
            self.legacy = _attached(SseEndpoint(**shared), server, shared["connect"], http)
        self.own = self._own_routes(given["health"], given["metrics"], shared_with)
        host = parts.hostname or "127.0.0.1"
        handle = self.endpoint.handle if self.legacy is None and self.own is None else self._handle
        self.http = HttpServer(handle, host, parts.port or 0, limits=server.limits, ssl_context=ssl_context,
                               fds=given["fds"], held=server.held)
        self._open_to_all = server.auth is None and all(given[name] is None for name in IDENTIFYING)
        self._opened = False
        self._owner = os.getpid()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        need("listening at %s" % self.http.url)

    def open(self) -> None:
        """Bind the address and serve; no effect if it is open or closed. Raises `ConnectFailed` with the address."""
        with self._lock:
            if self._opened or self._closed.is_set():
                return
            self._opened = True
            self._owner = os.getpid()
            self.server.hold(self, self.http.open)
        if self.warns and self.is_open_to_all:
            get_logger(__name__).warning("%s can be reached from other machines, and nobody has to show who they are"
                                         ": pass auth=..., token=... or authenticate=...", self.address)
        start_thread("mcp-ref:tick:%d" % self.http.port, self._tick)

    @property
    def address(self) -> str:
        """The URL of the endpoint, with the port that was chosen."""
        return self.http.url + self._path

    @property
    def is_open_to_all(self) -> bool:
        """True if other machines can reach the server without authentication; valid once it is open."""
        return self._open_to_all and not is_loopback(self.http.address[0].lower())

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until the listener is closed. Returns False after ``timeout`` seconds."""
        return self._closed.wait(timeout)

    def close(self, grace: Optional[float] = None) -> None:
        """End the server. New requests get 503; running ones have ``grace`` seconds (default: ``shutdown_grace``).

        No effect in a forked copy of the process, which does not own the sessions.
        """
        if self._owner != os.getpid():
            return
        with self._lock:
            if self._closed.is_set():
                return
            grace = self.server.limits.shutdown_grace if grace is None else grace
            end = Deadline(grace)
            if self.own is not None:
                self.own.close()
            for endpoint in self._endpoints():
                endpoint.close(end.left() or 0.0)
            # What was cancelled by now still has an answer on its way.
            self.http.close(max(end.left() or 0.0, min(grace, self.server.limits.shutdown_grace)))
            self.server.let_go(self)
            self._closed.set()

    def __enter__(self) -> "HttpListener":
        self.open()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def _tick(self) -> None:
        while not self._closed.wait(_TICK):
            for endpoint in self._endpoints():
                try:
                    endpoint.tick()
                except Exception as error:
                    log_raised("keeping sessions", error)  # raised by a store of the user's, for example
            try:
                self.server.tick()
            except Exception as error:
                log_raised("keeping tasks", error)

    def _endpoints(self) -> "List[Union[Endpoint, SseEndpoint]]":
        return [self.endpoint] if self.legacy is None else [self.endpoint, self.legacy]

    def _own_routes(
        self, health: Optional[str], metrics: Optional[str],
        shared_with: "Callable[[Optional[HttpTrace]], Dict[str, Any]]",
    ) -> "Optional[OwnRoutes]":
        """Return the addresses of the author's own, and those of the options; None if there are none."""
        given: "List[OwnRoute]" = list(self.server.http_routes)
        if health is None and metrics is None and not given:
            return None
        from ...streamable.server import own_routes

        for path, make in ((health, own_routes.health), (metrics, own_routes.metrics)):
            if path is not None:
                given.append(own_routes.own_route("GET", path, make(self.server), "here"))
        taken = [self._path] if self.legacy is None else [self._path, *self.legacy.paths]
        return own_routes.OwnRoutes(given, self.server.limits, taken, shared_with(None))

    def _handle(self, exchange: Exchange) -> None:
        own = None if self.own is None else self.own.at(exchange.request.path)
        if own is not None:
            own.handle(exchange)
            return
        legacy = self.legacy
        if legacy is not None and exchange.request.path.rstrip("/") in legacy.paths:
            legacy.handle(exchange)
        else:
            self.endpoint.handle(exchange)


@takes_endpoint_options
def endpoint_of(server: "Server", **options: "Unpack[EndpointOptions]") -> Endpoint:
    """Return the endpoint of a server, for any HTTP server. Options as in the module, and those of `Endpoint`: ``path``
    (None: any), ``streams`` (True: a GET opens a stream) and ``delete`` (True: clients may end their sessions)."""
    given = with_defaults(endpoint_of, ENDPOINT, options)
    http = _http_trace(server, given["trace"], "streamable-http")
    shared = _shared_options(server, given, http)
    own: Any = {name: given[name] for name in (
        "path", "sessions", "json_response", "poll_after", "streams", "delete")}
    return _attached(Endpoint(
        mirrored=_mirrored_of(server), named=NAMED if server.extensions is None else server.extensions.named(),
        **own, **shared,
    ), server, shared["connect"], http)


def _http_trace(server: "Server", trace: "Optional[Trace]", transport: str) -> "Optional[HttpTrace]":
    """Return what reports the exchanges of one address to the trace, or that of the server; None without one."""
    trace = server.trace if trace is None else trace
    if trace is None:
        return None
    from ...streamable.http_trace import HttpTrace

    return HttpTrace(trace, transport=transport)


def _attached(
    endpoint: _Served, server: "Server", holder: object, http: "Optional[HttpTrace]"
) -> _Served:
    """Return the endpoint; at its end ``holder`` lets go of the server. A trace is told of its exchanges and its end.
    """
    end = endpoint.close

    def close(grace: float = 0.0) -> None:
        end(grace)
        server.let_go(holder)
        if http is not None:
            http.closed("server")

    setattr(endpoint, "close", close)
    if http is not None:
        from ...streamable.http_trace import traced

        setattr(endpoint, "handle", traced(endpoint.handle, http))
    return endpoint


def _shared_options(
    server: "Server", options: "Union[EndpointOptions, HttpOptions]", http: "Optional[HttpTrace]"
) -> Dict[str, Any]:
    """Return the arguments that both kinds of endpoint are made with."""
    server.resolve()
    if sum(options[name] is not None for name in IDENTIFYING) > 1:
        raise ValueError("pass one of auth, token and authenticate")
    asked: Union[Authenticate, Guard, None] = options["authenticate"]
    if options["token"] is not None:
        asked = OneToken(options["token"])
    elif asked is None:
        asked = server.auth if options["auth"] is None else options["auth"]
    allowed_hosts, allowed_origins = options["allowed_hosts"], options["allowed_origins"]
    if allowed_hosts is None:
        allowed_hosts = (*LOOPBACK, *asked.hosts) if isinstance(asked, Guard) else LOOPBACK

    def connect(transport: Transport) -> "Connection":
        server.hold(connect)  # until the endpoint is closed: an engine of WSGI begins to serve with its first request
        return server.connect(transport if http is None else tap(transport, http.trace, "server", http.connection))

    return dict(
        connect=connect, authenticate=asked, allowed_hosts=allowed_hosts,
        allowed_origins=LOOPBACK if allowed_origins is None else allowed_origins, limits=server.limits,
        strict=server.strict, held=server.held, trusted_proxies=options["trusted_proxies"],
        revisions=[revision.name for revision in server.revisions],
    )


def _mirrored_of(server: "Server") -> "Callable[[Any, Any, Any], Sequence[Mirrored]]":
    """Return a function that gives the arguments of a tool that are repeated in header fields, by the tool's name, for
    this principal and HTTP request.

    The first tool may be registered after the endpoint was made, so the tools are looked for until there are some. The
    tool is looked up here and again when it is called: between the two the request passes the endpoint and the
    dispatcher, which know nothing of tools, and another thread may remove the tool.
    """
    find: "Optional[Callable[[Any, Any, Any], Sequence[Mirrored]]]" = None

    def mirrored(name: Any, principal: Any, request: Any) -> "Sequence[Mirrored]":
        nonlocal find
        if find is None and server.has_feature("tools"):
            find = server.tools.mirrored
        return () if find is None else find(name, principal, request)

    return mirrored


@takes_http_options
def serve_http(
    server: "Server", address: str, ready: Optional[Callable[[str], Any]] = None, **options: "Unpack[HttpOptions]"
) -> None:
    """Serve until SIGTERM comes, then close in order and return; blocks. Raises `Interrupted` after a Ctrl-C.

    ``ready`` is called with the URL when clients can connect. `mcp_ref.server.serving.process` describes the signals.
    """
    given = with_defaults(serve_http, HTTP, options)
    try:
        listening = HttpListener(server, address, **given)
        # SIGTERM is handled before the socket listens: clients may connect at once, to a socket of systemd even before.
        ending = Termination(lambda: listening.close(server.limits.serve_grace))
        with ending as termination, listening as listener:
            if ready is not None and not termination.received.is_set():
                ready(listener.address)
            while not listener.wait(0.5) and not termination.acted.is_set():
                pass  # short waits: a Ctrl-C that comes just before a wait begins is handled only when the wait ends
    except KeyboardInterrupt:
        raise interrupted() from None
