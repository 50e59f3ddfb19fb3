"""The server: what it offers, and how each request finds its way there.

A `Server` holds tools, resources and prompts (`mcp_ref.server.registry.registration`) and knows nothing of any one
connection; it can serve many at once. ROUTES says which part answers which request.
"""

import threading
from typing import (
    TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterable, List, Literal, Mapping, NoReturn, Optional, Sequence,
    Union,
)

from ..errors import RESERVED, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, LocalProtocolError, RpcError
from ..jsonrpc import shown
from ..limits import DEFAULT, Limits
from ..methods import ROOTS_CHANGED, is_vendor, lookup
from ..options import refuse, spelt
from ..peer.context import Route
from ..peer.dispatcher import Connection
from ..peer.executors import Executor
from ..protocol import lifecycle, negotiation
from ..revisions import Revision
from ..transports.base import Transport
from ..transports.held import Held
from .announcements import Announcements
from .context import Context
from .registry.checks import check_introduction, check_socket, check_texts, paging_of
from .registry.registration import Registration

if TYPE_CHECKING:
    import ssl

    from ..messages.base import Icon
    from ..peer.extension import Extension
    from ..streamable.server.authenticate import Authenticate, Guard
    from ..streamable.server.call import Answer
    from ..streamable.server.call import Caller as HttpCaller
    from ..streamable.server.session_table import SessionTable
    from ..streamable.server.wsgi import Application
    from ..streamable.shared.store import Store
    from ..transports.lines.listener import SocketListener
    from ..wiretrace import Trace
    from .loghandler import WireHandler
    from .mrtr.replay import States
    from .registry.caching import Cache
    from .results.stamp import Stamp
    from .serving.http_listener import HttpListener

_making = threading.Lock()
REVISED = frozenset((RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, *RESERVED))
"""Codes that mean something in some revisions only, or in none; see `mcp_ref.server.results.failures`."""


class Server(Registration):
    """A server of any number of clients.

    ``name`` and ``version`` introduce it; ``title``, ``description``, ``website_url`` and ``icons`` do so to people.
    ``instructions`` tell the model how to use it. ``revisions``: names of those to speak (default: all five, at the
    same time on the same connections; see `mcp_ref.peer.stateless`). ``identify=False`` leaves the server's name out of
    results, where every result has it (2026-07-28).
    ``strict`` refuses what real but careless clients send: see ``explain --readings``.
    ``mask_errors``: whether a client gets a fixed text for an exception of a handler, in the place of type and text.
    None: where it may be on another machine (HTTP, WSGI, `handle`, TCP), and not on stdio, in memory and on Unix
    sockets; True, False: everywhere, nowhere. The text of a `ToolError` is always told, and the log has every
    exception; see `mcp_ref.server.results.failures`.
    ``executor``: who runs handlers, a `MainThreadQueue` or `Inline`; by default each
    connection has worker threads of its own. ``page_size``: items in a page of a list (default: all).
    ``order``: of lists, that of "registration", or by "name" (or URI).
    ``keepalive``: seconds between pings to each client, which end its connection when unanswered (default: no pings).
    ``features``: names of what is declared to clients although nothing of it may be registered yet: "tools",
    "resources", "prompts", "completions", "logging". What is registered later is announced to them.
    ``cache``: how long clients may keep lists and resources (2026-07-28), a `Cache` for all or a dict by method; see
    `mcp_ref.server.registry.caching`. ``experimental``: capabilities outside the specification, name -> settings,
    declared as they are. ``extensions``: what it does beyond the protocol, see `mcp_ref.peer.extension`.
    ``state_keys``: the secrets, strings or bytes, that sign what travels through clients between the rounds of a
    request which asks for input (2026-07-28): the first one signs, all of them verify. Several processes that serve
    the same clients need the same; default: those in the environment variable MCP_REF_STATE_KEYS, separated by commas,
    else a random one of this process. States are of no use at a server with another ``name``, or another resource of
    ``auth``. ``state_ttl``: seconds for which a client may come back (default 900).
    ``consume_state(id)`` is called with the id of each state that comes back, and says whether it may be used: a
    function that remembers makes each one good for one time only. See `mcp_ref.server.mrtr.rounds`.
    ``auth``: whom clients have to ask for tokens before they are let in over HTTP, a `mcp_ref.auth.ResourceServer`;
    over stdio nobody shows tokens [2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
    [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT.
    ``on_roots_changed(connection)`` is called when a client says that its roots have changed, and
    ``on_log_level(connection, level)`` when it asks for log messages from this level up; raising refuses that.
    Raises TypeError or ValueError for what no client may see: a name that is no text, a broken icon.
    """

    party = lifecycle.SERVER

    @spelt
    def __init__(
        self,
        name: str,
        version: str = "0",
        *,
        title: Optional[str] = None,
        description: Optional[str] = None,
        website_url: Optional[str] = None,
        icons: "Optional[List[Icon]]" = None,
        instructions: Optional[str] = None,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        strict: bool = False,
        mask_errors: Optional[bool] = None,
        page_size: Optional[int] = None,
        order: "Literal['registration', 'name']" = "registration",
        keepalive: Optional[float] = None,
        features: Sequence[str] = (),
        experimental: Optional[Dict[str, Dict[str, Any]]] = None,
        on_roots_changed: Optional[Callable[[Connection], None]] = None,
        on_log_level: Optional[Callable[[Connection, str], None]] = None,
        identify: bool = True,
        cache: "Union[Cache, Mapping[str, Cache], None]" = None,
        extensions: "Optional[Sequence[Extension]]" = None,
        state_keys: Optional[Sequence[Union[str, bytes]]] = None,
        state_ttl: Optional[float] = None,
        consume_state: Optional[Callable[[str], bool]] = None,
        auth: "Optional[Guard]" = None,
    ) -> None:
        check_texts("Server", name=name, version=version, title=title, description=description,
                    instructions=instructions)
        check_introduction(website_url, icons, experimental)
        self.identity = (name, version, title, description, website_url, icons)
        self.instructions = instructions
        self.revisions = negotiation.supported(revisions)
        self.limits = limits
        self.executor = executor
        self.strict, self.mask_errors = strict, mask_errors
        self._paging, self.keepalive = paging_of(page_size, order), keepalive
        self.experimental = experimental
        self.on_roots_changed, self.on_log_level = on_roots_changed, on_log_level
        self.identify = identify
        self.caches = {}
        if cache is not None:
            from .registry.caching import by_method

            self.caches = by_method(cache)
        if extensions:
            self._extend(extensions)
        self._state_options = (state_keys, state_ttl, consume_state)
        self._states: "Optional[States]" = None
        if self._state_options != (None, None, None):
            self.states  # now, so that the author is told of what is wrong
        self.auth = auth
        self._features: Dict[str, Any] = {}
        self._announcements = Announcements()
        self._stamps: "Dict[Revision, Stamp]" = {}
        self._declared: Dict[Any, Dict[str, Any]] = {}
        self._promise(features)

    def __repr__(self) -> str:
        clients = len(self._announcements.connections)
        return "<%s %s %s, %d connection%s>" % (
            type(self).__name__, shown(self.identity[0], 60), shown(self.identity[1], 40), clients,
            "" if clients == 1 else "s")

    # Telling clients

    @property
    def connections(self) -> List[Connection]:
        """The connections to clients that are operating now."""
        return self._announcements.connections

    def announce_once(self) -> ContextManager[None]:
        """``with server.announce_once():`` several changes of a list are announced as one, at the end."""
        return self._announcements.once()

    @spelt
    def broadcast(
        self, method: str, params: Optional[Dict[str, Any]] = None,
        wanted: Optional[Callable[[Connection], bool]] = None,
    ) -> int:
        """Send a notification to every client that may be sent it and for which ``wanted`` is true; to how many.

        Where there is no handshake, clients are told unasked of nothing but the changes that they listen to: they are
        not among those, and a server that speaks nothing else (2026-07-28) raises `LocalProtocolError` for a vendor's
        notification. `Context.notify` sends one while a request is answered; see `mcp_ref.peer.vendor`.
        """
        if is_vendor(method) and not any(revision.handshake for revision in self.revisions):
            raise LocalProtocolError(
                "%s: a server of revision %s tells clients unasked of changes only; send it by ctx.notify, while a "
                "request of theirs is answered" % (method, self.revisions[-1]),
                "2026-07-28 basic/patterns/subscriptions §Notification Filter")
        return self._announcements.broadcast(method, params, wanted)

    def resource_updated(self, uri: str) -> None:
        """Tell the clients that have subscribed to this resource that it has changed.

        Raises ValueError for what is no URI, where any client may hear of it.
        """
        told = [self._features[name] for name in ("subscriptions", "listeners") if name in self._features]
        if told:
            from ..protocol.uris import fault

            wrong = fault(uri, DEFAULT.max_uri_length)
            if wrong is not None:
                raise ValueError("%r is not the URI of a resource: %s" % (uri, wrong))
        for feature in told:
            feature.updated(uri)

    @spelt
    def log(self, level: str, data: Any, logger: Optional[str] = None) -> int:
        """Send a log message to every client whose level lets it through; to how many. As `Context.log`."""
        from .logs import log

        return log(self, level, data, logger)

    @spelt
    def log_handler(self, level: int = 0, redact: bool = True, traceback: bool = False) -> "WireHandler":
        """A `logging.Handler` that sends records to the clients; options: `mcp_ref.server.loghandler.WireHandler`."""
        from .loghandler import WireHandler

        return WireHandler(self, level, redact, traceback)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that was asked to visit a URL that the user is done there; see `Context.elicit_url`."""
        from .elicitation_url import complete

        complete(self, elicitation_id)

    # Serving

    def run(self) -> None:
        """Serve one client over standard input and output, until it goes away. Blocks.

        Whatever prints or writes to standard output meanwhile ends up on standard error, and so does the log, from
        WARNING up, unless the program has set up `logging`. If a handler is still stuck ``shutdown_grace`` seconds
        after the client went, the process ends without it. SIGTERM lets running calls end, and this returns; Ctrl-C
        raises KeyboardInterrupt without a traceback: see `mcp_ref.server.serving.signals`.
        """
        from ..diagnostics.packagelog import is_one_stream, own_process
        from ..threads import need
        from ..transports.lines.stdio import StdioServer
        from .serving.stdio import serve

        need("server.run()")
        if not is_one_stream(1, 2):  # with 2>&1 the log would get in between the messages
            own_process()
        serve(self, StdioServer(self.limits))

    def connect(self, transport: Transport) -> Connection:
        """Serve one client over this transport, in the background. Raises `ConnectFailed`."""
        return self.connection(transport).start()

    @spelt
    def run_http(
        self, host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp", *,
        ready: Optional[Callable[[str], Any]] = None,
        auth: "Optional[Guard]" = None, token: Optional[str] = None,
        authenticate: "Optional[Authenticate]" = None, allowed_hosts: Optional[Sequence[str]] = None,
        allowed_origins: Optional[Sequence[str]] = None, sessions: "Union[str, SessionTable, Store]" = "memory",
        json_response: Optional[bool] = None, poll_after: Optional[float] = None, legacy: bool = True,
        fds: Sequence[int] = (), ssl_context: "Optional[ssl.SSLContext]" = None,
        trusted_proxies: Sequence[str] = (), trace: "Optional[Trace]" = None,
    ) -> None:
        """Serve any number of clients over HTTP until SIGTERM or Ctrl-C, see `mcp_ref.server.serving.signals`. Blocks.

        The log goes to standard error, from WARNING up, unless the program has set up `logging`. Raises `ConnectFailed`
        if there is no serving at this address.

        ===================  ====================  ==================================================================
        option               default               meaning
        ===================  ====================  ==================================================================
        ``host``             this machine          where to listen; "0.0.0.0" is every IPv4 address of the machine
        ``port``             8000                  0 is any free one, and ``ready`` is told which
        ``path``             "/mcp"                of the endpoint
        ``ready``            nobody is told        a function that is called with the URL when clients can connect
        ``auth``             that of the server    a `mcp_ref.auth.ResourceServer`: clients show tokens of OAuth
        ``token``            nobody needs one      a secret, shown as ``Authorization: Bearer``; one compares in
                                                   constant time
        ``authenticate``     everybody may come    ``f(headers) -> principal``, None for nobody we know; sessions
                                                   belong to their principal
        ``allowed_hosts``    this machine, any     names under which clients may reach us; by default also the one in
                             port                  the URL of ``auth``
        ``allowed_origins``  this machine, any     pages that may call us from a browser
                             port
        ``sessions``         "memory"              "none": each request stands alone; or a `Store` that processes
                                                   share, such as `SqliteStore`
        ``json_response``    as it comes           True: never a stream in reply to a request, False: always one
        ``poll_after``       never                 seconds until a stream is ended for the client to come back
        ``legacy``           True                  HTTP+SSE at ``/sse`` and ``/messages``, too, which needs one process
                                                   for all of a session
        ``fds``              a socket of its own   descriptors of sockets that listen already, such as those that
                                                   systemd hands over from 3 on
        ``ssl_context``      no TLS                an `ssl.SSLContext` with a certificate, for ``https``
        ``trusted_proxies``  nobody is believed    addresses or networks of proxies, "unix" for a Unix socket: what
                                                   they say in X-Forwarded-For is the address of a client, for
                                                   ``max_session_share``
        ``trace``            no trace              a `mcp_ref.wiretrace.Trace` that sees every message, and HTTP
        ===================  ====================  ==================================================================
        """
        from ..diagnostics.packagelog import own_process
        from .serving.http_listener import serve_http

        own_process()
        scheme = "http" if ssl_context is None else "https"
        serve_http(
            self, "%s://%s:%d%s" % (scheme, "[%s]" % host if ":" in host else host, port, path), ready, auth=auth,
            token=token, authenticate=authenticate, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins,
            sessions=sessions, json_response=json_response, poll_after=poll_after, legacy=legacy, fds=fds,
            ssl_context=ssl_context, trusted_proxies=trusted_proxies, trace=trace,
        )

    @spelt
    def wsgi(
        self, *, path: Optional[str] = "/mcp", auth: "Optional[Guard]" = None, token: Optional[str] = None,
        authenticate: "Optional[Authenticate]" = None, allowed_hosts: Optional[Sequence[str]] = None,
        allowed_origins: Optional[Sequence[str]] = None, sessions: "Union[str, SessionTable, Store]" = "memory",
        json_response: Optional[bool] = None, poll_after: Optional[float] = None, streams: bool = False,
        delete: bool = True, trusted_proxies: Sequence[str] = (), trace: "Optional[Trace]" = None,
    ) -> "Application":
        """A WSGI application that serves this server at ``/mcp``, for any WSGI engine; see
        `mcp_ref.streamable.server.wsgi`.

        Options: as `run_http`, and ``path`` (None: any); ``streams=True`` lets clients open a
        stream with GET, each of which holds a thread of the engine; ``delete=False`` does not let them end sessions.
        """
        from ..streamable.server.wsgi import application
        from .serving.http_listener import endpoint_of

        return application(endpoint_of(
            self, path=path, auth=auth, token=token, authenticate=authenticate, allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins, sessions=sessions, json_response=json_response, poll_after=poll_after,
            streams=streams, delete=delete, trusted_proxies=trusted_proxies, trace=trace,
        ))

    def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", **unknown: NoReturn
    ) -> "Answer":
        """Answer one HTTP request, for mounting in any framework: ``status``, ``headers``, ``chunks``.

        At ``/mcp``, by `handler`, which is to be closed in the end.
        """
        if unknown:
            refuse(Server.handle, unknown)
        return self.handler.call(method, path, headers, body)

    @property
    def handler(self) -> "HttpCaller":
        """What `handle` calls, with the default options of `run_http`; made when first used.

        For other options make one: ``Caller(endpoint_of(server, ...))``. ``handler.close(grace)`` ends its sessions.
        """
        if "handler" not in self._features:
            from ..streamable.server.call import Caller
            from .serving.http_listener import endpoint_of

            self._features.setdefault("handler", Caller(endpoint_of(self, streams=False)))
        return self._features["handler"]  # type: ignore[no-any-return]

    @spelt
    def listen(
        self, address: str, idle_after: float = 1.0, *, auth: "Optional[Guard]" = None, token: Optional[str] = None,
        authenticate: "Optional[Authenticate]" = None, allowed_hosts: Optional[Sequence[str]] = None,
        allowed_origins: Optional[Sequence[str]] = None, sessions: "Union[str, SessionTable, Store]" = "memory",
        json_response: Optional[bool] = None, poll_after: Optional[float] = None, legacy: bool = True,
        fds: Sequence[int] = (), ssl_context: "Optional[ssl.SSLContext]" = None,
        trusted_proxies: Sequence[str] = (), trace: "Optional[Trace]" = None,
    ) -> "Union[SocketListener, HttpListener]":
        """Serve any number of clients in the background, on ``http://host:port/path``, ``tcp://host:port`` or
        ``unix:///path``.

        Port 0 is any free one; the listener's ``address`` tells which, and its ``close`` ends it and every connection.
        Options of HTTP: as `run_http`. On the two others there is no authentication: listen on
        loopback or in a folder of your own. A connection that was silent for ``idle_after`` seconds costs no thread
        until something comes. Raises `ConnectFailed`, and ValueError for a server with ``auth`` on ``tcp://``.
        """
        self.resolve()
        options: Dict[str, Any] = dict(
            auth=auth, token=token, authenticate=authenticate, allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins, json_response=json_response, poll_after=poll_after,
            ssl_context=ssl_context, trace=trace,
        )
        if address.startswith(("http://", "https://")):
            from .serving.http_listener import HttpListener

            service = HttpListener(
                self, address, sessions=sessions, legacy=legacy, fds=fds, trusted_proxies=trusted_proxies, **options)
            service.open()
            return service
        options.update(sessions=sessions if sessions != "memory" else None, legacy=None if legacy else legacy,
                       fds=fds or None, trusted_proxies=trusted_proxies or None)
        given = sorted(name for name, value in options.items() if value is not None)
        if given:
            raise TypeError("%s takes no option %s" % (address, ", ".join(given)))
        check_socket(self.auth, address)
        from ..transports.lines.listener import SocketListener

        listener = SocketListener(address, self.connect, self.limits, idle_after, self.held)
        listener.open()
        return listener

    def connection(self, transport: Transport) -> Connection:
        """A connection over this transport that has not been started. Raises as `resolve`."""
        self.resolve()
        made = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        made.context_class = Context
        return made

    def resolve(self) -> None:
        """Look at annotations that were left until now; called before serving, whoever serves.

        Raises `Unresolved`, a TypeError, for one of a tool or a prompt that means nothing: the author has to know, as a
        client could only be told of an internal error.
        """
        for name in ("tools", "prompts"):
            if name in self._features:
                self._features[name].resolve()

    # Answering (see `Role`)

    def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        """How this request is answered in this revision; see ROUTES."""
        made = self._core_route(connection, method, revision)
        if self.extensions is not None:
            made = self.extensions.route(self, method, revision, made)
        if made is None or not revision.stateless:
            return made
        return self._stamp(revision).on(made)

    def _core_route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        row = ROUTES.get(method)
        if row is None:
            if "vendor" in self._features:
                found: Optional[Route] = self._features["vendor"].route(method)
                if found is not None:
                    return found
            return super().route(connection, method, revision)
        feature, make = row
        if feature and feature not in self._features or lookup(method, revision) is None:
            return None
        made: Optional[Route] = make(self, revision)
        if made is None or not revision.stateless:
            return made
        from .mrtr.rounds import wrap

        return wrap(made, method, revision)

    @property
    def states(self) -> "States":
        """How states are signed, made when first needed; the keys of the process are the same for all connections."""
        if self._states is None:
            from .mrtr.replay import States

            with _making:
                self._states = self._states or States(*self._state_options)
        return self._states

    def stamp(self, result: Any, revision: Revision) -> Any:
        """See `Role.stamp`; others are stamped by their route."""
        return self._stamp(revision)(result) if revision.stateless else result

    def _stamp(self, revision: Revision) -> "Stamp":
        found = self._stamps.get(revision)
        if found is None:
            from .results.stamp import Stamp

            found = self._stamps[revision] = Stamp(self, revision)
        return found

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """What it declares to a client that is served without a handshake; not to be changed."""
        key = (revision, len(self._features))  # features come and never go; see `Registration._changing`, too
        known = self._declared  # another one as soon as something is registered
        found = known.get(key)
        if found is None:
            from .initialize import declared

            found = known[key] = declared(self, revision)
            self._spoken = True
        return found

    def answer_error(self, context: Any, error: RpcError, in_tool: bool) -> Exception:
        """Not every client may be sent every error: see `mcp_ref.server.results.failures`."""
        if error.code not in REVISED:
            return error
        from .results.failures import revised

        return revised(context, error, in_tool)

    def answer_errors(self, context: Any, error: BaseException) -> RpcError:
        """See `Role.answer_errors`; the text is as `mcp_ref.server.results.failures` says."""
        from .results.failures import failed

        request = context.request
        return failed(context, self.handler_of(request.method, request.params or {}, context.session.rules), error)

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """See `Role.handler_of`."""
        from .results.failures import handler_of

        return handler_of(self, method, params, revision)

    def hides(self, connection: Connection) -> bool:
        """Whether the client of this connection is told neither type nor text of exceptions; see ``mask_errors``."""
        return not connection.transport.same_machine if self.mask_errors is None else self.mask_errors

    def opened(self, connection: Connection) -> None:
        """A client is there."""
        self._announcements.opened(connection)

    def keep(self, connection: Connection, uris: Iterable[str]) -> Dict[str, Any]:
        """See `Role.keep`."""
        from .session_state import export_state

        return export_state(self, connection, uris)

    def restore(self, connection: Connection, kept: Dict[str, Any], whole: bool) -> None:
        """See `Role.restore`."""
        from .session_state import import_state

        import_state(self, connection, kept, whole)

    def ending(self, connection: Connection) -> bool:
        """End the streams of who listens on this connection
        [2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD."""
        return "listeners" in self._features and self.listeners.end(connection) > 0

    def missed(self, connection: Connection, count: int) -> None:
        """See `Role.missed`."""
        from .logs import tell_missed

        tell_missed(connection, count)

    @property
    def held(self) -> Held:
        """The account of what clients make this server hold, over all its listeners."""
        return self._features.setdefault("held", Held(self.limits))  # type: ignore[no-any-return]

    def closed(self, connection: Connection, reason: str) -> None:
        """A client is gone; nothing of it is kept."""
        self._announcements.closed(connection)
        if "subscriptions" in self._features:
            self.subscriptions.forget(connection)
        if "introduction" in connection.state:
            from .initialize import forget

            forget(connection)

    def arrived(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Forget at once the roots of a client that has others now [..2025-11-25 client/roots §Root List Changes]."""
        if method == ROOTS_CHANGED and "roots" in connection.state:
            connection.state["roots"].drop()
        return True

    def hears(self, method: str) -> bool:
        """See `Role.hears`."""
        return "vendor" in self._features and self._features["vendor"].hears(method)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """What a client announces: that its roots are others now, or what an extension adds."""
        if self.extensions is not None:
            self.extensions.heard(connection, method, params)
        if "vendor" in self._features:
            self._features["vendor"].heard(connection, method, params)
        if method == ROOTS_CHANGED and self.on_roots_changed is not None:
            self.on_roots_changed(connection)


def _listen(server: Server, revision: Revision) -> Route:
    return server.listeners.route(revision)  # type: ignore[no-any-return]


def _initialize(server: Server, revision: Revision) -> Route:
    from .initialize import route

    return route(server)


def _set_level(server: Server, revision: Revision) -> Route:
    from .logs import set_level_route

    return set_level_route(server, revision)


def _discover(server: Server, revision: Revision) -> Route:
    from .discover import route

    return route(server, revision)


ROUTES: Dict[str, Any] = {
    "initialize": ("", _initialize),
    "server/discover": ("", _discover),
    "tools/list": ("tools", lambda server, revision: server.tools.list_route(revision)),
    "tools/call": ("tools", lambda server, revision: server.tools.call_route(revision)),
    "resources/list": ("resources", lambda server, revision: server.resources.list_route(revision)),
    "resources/templates/list": ("resources", lambda server, revision: server.resources.templates.route(revision)),
    "resources/read": ("resources", lambda server, revision: server.resources.read_route(revision)),
    "resources/subscribe": (
        "resources", lambda server, revision: server.subscriptions.subscribe_route(server, revision)),
    "resources/unsubscribe": (
        "resources", lambda server, revision: server.subscriptions.unsubscribe_route(server, revision)),
    "completion/complete": (
        "", lambda server, revision: server.completions.route(revision) if server.completes else None),
    "prompts/list": ("prompts", lambda server, revision: server.prompts.listing.route(revision)),
    "prompts/get": ("prompts", lambda server, revision: server.prompts.get_route(revision)),
    "logging/setLevel": ("", _set_level),
    "subscriptions/listen": ("", _listen),
}
"""Request -> the feature that must be there, and how its route is made for a revision."""
