"""Serving over HTTP: Streamable HTTP at one path [2025-03-26..2025-11-25 basic/transports §Streamable HTTP]
[2026-07-28 basic/transports/streamable-http §Sending Messages].

::

    listener = server.listen("http://127.0.0.1:8000/mcp", token="secret")     # in the background
    listener.address                                                          # with the port that was found
    listener.close()

    server.run_http("127.0.0.1", 8000)                                        # until SIGTERM or Ctrl-C

Parts that know nothing of each other are joined here: the endpoint, which answers requests
(`mcp_ref.transports.http_endpoint`), beside it the two addresses of HTTP+SSE for clients of 2024-11-05
(`mcp_ref.transports.sse_endpoint`), the engine, which carries both (`mcp_ref.transports.http_server`), and a clock for
what has to happen while nobody asks.

Both eras are served at the same path: clients with sessions, and those of 2026-07-28, which have none and say all with
each request. Which a request is of says `mcp_ref.protocol.httpera`; ``Server(revisions=["2026-07-28"])`` serves the
latter alone, and answers 405 to GET and DELETE.

Options, of `Server.listen` and `Server.run_http` alike:

===================  ===============================================================================================
``auth``             a `mcp_ref.auth.ResourceServer`: clients show tokens of OAuth; by default that of the server
``token``            a secret that clients show as ``Authorization: Bearer ...``; compared in constant time
``authenticate``     ``f(headers) -> principal``, None for nobody we know; sessions belong to their principal
``allowed_hosts``    names under which clients may reach us; by default those of this machine, with any port, and the
                     one that ``auth`` has in its URL
``allowed_origins``  pages that may call us from a browser; likewise
``sessions``         ``"memory"``, or ``"none"``: each request stands alone, or a `Store` that processes share
``json_response``    True: never a stream in reply to a request, False: always one; by default as it comes
``poll_after``       seconds after which a stream is ended for the client to come back; by default never
``legacy``           False: no HTTP+SSE at ``/sse`` and ``/messages``, which needs one process for all of a session
``trusted_proxies``  addresses or networks of proxies, "unix" for a Unix socket: what they say in X-Forwarded-For is the
                     address of a client, for ``max_session_share``; by default nobody is believed
``fds``              descriptors of sockets that listen already, such as those that systemd hands over from 3 on
``ssl_context``      an `ssl.SSLContext`, for ``https``
``trace``            a `mcp_ref.wiretrace.Trace` that sees every message of every session, and HTTP
===================  ===============================================================================================

A server that other machines can reach should have one of the first three; one that has none is logged.
"""

import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union
from urllib.parse import urlsplit

from ..packagelog import get_logger
from ..peer.signals import Termination, interrupted
from ..peer.threads import start_thread
from ..protocol.headervalues import LOOPBACK
from ..transports.base import Transport
from ..transports.http_endpoint import Endpoint
from ..transports.http_exchange import Exchange
from ..transports.http_guard import Guard, OneToken
from ..transports.http_server import HttpServer
from ..transports.tap import tap
from ..usercode import log_raised

if TYPE_CHECKING:
    from ..peer.dispatcher import Connection
    from ..protocol.mirrored import Mirrored
    from ..transports.sse_endpoint import SseEndpoint
    from ..wiretrace import Trace
    from .server import Server

_Served = TypeVar("_Served", "Endpoint", "SseEndpoint")
PATH = "/mcp"
_TICK = 1.0
_LOOPBACK = ("127.", "localhost", "::1")


class HttpListener:
    """A server on HTTP, in the background; see the module for ``options``. `open` begins, `close` ends it.

    As a context manager it does both.
    """

    warns = True
    """Whether `open` logs that anybody may call; set before it, by who tells the operator in another way."""

    def __init__(
        self, server: "Server", address: str, *, ssl_context: Any = None, legacy: bool = True,
        fds: Sequence[int] = (), **options: Any
    ) -> None:
        parts = urlsplit(address)
        if (parts.scheme == "https") != (ssl_context is not None):
            raise ValueError("%s: https needs an ssl_context, and http has none" % address)
        if parts.query or parts.fragment or parts.username is not None:
            raise ValueError("%s: an address to listen on is scheme, host, port and path" % address)
        self.server = server
        self.endpoint = endpoint_of(server, path=parts.path or PATH, **options)
        legacy = legacy and any(revision.handshake for revision in server.revisions)
        self.legacy = _legacy_of(server, options) if legacy else None
        host = parts.hostname or "127.0.0.1"
        handle = self.endpoint.handle if self.legacy is None else self._handle
        self.http = HttpServer(handle, host, parts.port or 0, limits=server.limits, ssl_context=ssl_context, fds=fds,
                               held=server.held)
        self._path = parts.path or PATH
        self._open_to_all = not _guarded(server, **options)
        self._opened = False
        self._owner = os.getpid()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Bind and serve; again: nothing happens. Raises `ConnectFailed` that says what was tried."""
        if self._opened:
            return
        self._opened = True
        self._owner = os.getpid()
        self.http.open()
        if self.warns and self.is_open_to_all:
            get_logger(__name__).warning("%s can be reached from other machines, and nobody has to show who they are"
                                         ": pass auth=..., token=... or authenticate=...", self.address)
        start_thread("mcp-ref:tick:%d" % self.http.port, self._tick)

    @property
    def address(self) -> str:
        """The URL of the endpoint, with the port that was found."""
        return self.http.url + self._path

    @property
    def is_open_to_all(self) -> bool:
        """Whether other machines can reach it and nobody has to show who they are; once it is open."""
        return self._open_to_all and not self.http.address[0].startswith(_LOOPBACK)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until it is closed; False after ``timeout`` seconds."""
        return self._closed.wait(timeout)

    def close(self, grace: Optional[float] = None) -> None:
        """End it; new requests get 503 while those that run have ``grace`` seconds (default: ``shutdown_grace``).

        In a forked copy of the process that serves, nothing happens: the sessions are not its own.
        """
        if self._owner != os.getpid():
            return
        with self._lock:
            if self._closed.is_set():
                return
            grace = self.server.limits.shutdown_grace if grace is None else grace
            for endpoint in self._endpoints():
                endpoint.close(grace)
            self.http.close(grace)
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
                    log_raised("keeping sessions", error)  # a store of the user's, say

    def _endpoints(self) -> "List[Union[Endpoint, SseEndpoint]]":
        return [self.endpoint] if self.legacy is None else [self.endpoint, self.legacy]

    def _handle(self, exchange: Exchange) -> None:
        legacy = self.legacy is not None and self.legacy.serves(exchange.request.path)
        self._endpoints()[legacy].handle(exchange)


def endpoint_of(server: "Server", **options: Any) -> Endpoint:
    """The endpoint of a server, for any shell; options as in the module, but for ``legacy`` and ``ssl_context``."""
    return _traced(Endpoint(mirrored=_mirrored_of(server), **_options_of(server, **options)), options)


def _legacy_of(server: "Server", options: Dict[str, Any]) -> "SseEndpoint":
    from ..transports.sse_endpoint import SseEndpoint

    streamable = {"sessions", "json_response", "poll_after", "streams", "delete"}
    shared = {name: value for name, value in options.items() if name not in streamable}
    return _traced(SseEndpoint(**_options_of(server, **shared)), options)


def _traced(endpoint: _Served, options: Dict[str, Any]) -> _Served:
    """The endpoint, whose exchanges the trace sees if there is one."""
    if options.get("trace") is not None:
        from ..transports.http_trace import traced

        setattr(endpoint, "handle", traced(endpoint.handle, options["trace"]))
    return endpoint


def _options_of(
    server: "Server", *, token: Optional[str] = None, authenticate: Any = None, auth: Optional[Guard] = None,
    trace: "Optional[Trace]" = None, **options: Any
) -> Dict[str, Any]:
    """What both kinds of endpoint are made with."""
    server.resolve()
    if sum(given is not None for given in (token, authenticate, auth)) > 1:
        raise ValueError("pass one of auth, token and authenticate")
    options["authenticate"] = authenticate
    if token is not None:
        options["authenticate"] = OneToken(token)
    elif authenticate is None:
        guard = options["authenticate"] = server.auth if auth is None else auth
        if guard is not None and guard.hosts:
            options.setdefault("allowed_hosts", (*LOOPBACK, *guard.hosts))

    def connect(transport: Transport) -> "Connection":
        return server.connect(tap(transport, trace, "server"))

    revisions = [revision.name for revision in server.revisions]
    options.setdefault("held", server.held)
    return dict(options, connect=connect, limits=server.limits, strict=server.strict, revisions=revisions)


def _mirrored_of(server: "Server") -> "Callable[[Any], Sequence[Mirrored]]":
    """Which arguments of a tool are repeated in header fields, by its name; whatever a client says that is."""

    find: Any = None

    def mirrored(name: Any) -> "Sequence[Mirrored]":
        nonlocal find
        if find is None and server.has_feature("tools"):
            find = server.tools.listing.get
        tool = find(name) if find is not None and type(name) is str else None
        return tool.mirrored or () if tool is not None else ()

    return mirrored


def _guarded(server: "Server", token: Any = None, authenticate: Any = None, auth: Any = None, **options: Any) -> bool:
    """Whether clients have to show who they are."""
    return any(given is not None for given in (token, authenticate, auth, server.auth))


def serve_http(
    server: "Server", address: str, ready: Optional[Callable[[str], Any]] = None, **options: Any
) -> None:
    """Serve until SIGTERM comes, then close in order and return; blocks. Raises `Interrupted` after a Ctrl-C.

    ``ready`` is called with the URL when clients can connect. What the signals do says `mcp_ref.peer.signals`.
    """
    try:
        with HttpListener(server, address, **options) as listener, Termination(listener.close) as termination:
            if ready is not None:
                ready(listener.address)
            while not listener.wait(0.5) and not termination.acted.is_set():
                pass  # a Ctrl-C that comes just before a wait begins is seen only when it ends
    except KeyboardInterrupt:
        raise interrupted() from None
