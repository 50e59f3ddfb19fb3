"""The server: its options, the ways to serve, and the table from each method to its route.

A `Server` holds tools, resources and prompts (`mcp_ref.server.registry.registration`) and has no state of a single
connection; it can serve many at once. ROUTES names, for each request, the part that answers it.
"""

import threading
from collections import Counter
from typing import (
    TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterable, List, Literal, Mapping, NoReturn, Optional, Sequence,
    TypeVar, Union,
)

from ..codec import encode
from ..errors import RESERVED, RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, LocalProtocolError, RpcError
from ..jsonrpc import shown
from ..limits import DEFAULT, Limits
from ..methods import LIST_CHANGED, ROOTS_CHANGED, is_vendor, lookup
from ..options import refuse, strict_options, with_defaults
from ..peer.context import RequestTally, Route
from ..peer.dispatcher import Connection
from ..peer.executors import Executor
from ..protocol import lifecycle
from ..revisions import Revision
from ..transports.base import Transport
from .announcements import Announcements, tell_all
from .context import Context
from .families import HTTP, WSGI, takes_http_options, takes_wsgi_options
from .registry.checks import check_introduction, check_texts, paging_of, visible_of
from .registry.registration import Registration

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from ..ext.tasks.server.engine import Tasks
    from ..http11.message import HttpRequest
    from ..messages.base import Icon
    from ..peer.extension import Extension
    from ..stores import Store
    from ..streamable.server.authenticate import Guard
    from ..streamable.server.own_routes import OwnRoute
    from ..streamable.server.wsgi import Application, Caller as HttpCaller, WsgiReply
    from ..transports.held import MemoryAccount
    from ..transports.lines.listener import SocketListener
    from ..wiretrace import Trace
    from .families import EndpointOptions, HttpOptions
    from .loghandler import WireHandler
    from .mrtr import States
    from .registry.around import Hook
    from .registry.caching import Cache
    from .results import CommonMembers
    from .serving import lifespan as lifespans
    from .serving.http_listener import HttpListener

_making = threading.Lock()
Hooking = TypeVar("Hooking", bound="Hook")
REVISED = frozenset((RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED, *RESERVED))
"""Error codes that mean something in some revisions only, or in none; see `mcp_ref.server.results`."""


class Server(Registration):
    """A server of any number of clients.

    ``name`` and ``version`` introduce the server; ``title``, ``description``, ``website_url`` and ``icons`` do so to
    people. ``instructions`` tell the model how to use it. ``revisions``: names of the revisions to speak (default: all
    five, at the same time on the same connections; see `mcp_ref.peer.role`). ``identify=False`` leaves the
    server's name out of results, where every result has it (2026-07-28).
    ``strict`` refuses the mistakes of real but careless clients: see ``explain --readings``.
    ``mask_errors``: True to send clients a fixed text for an exception of a handler, in place of its type and text;
    False to send type and text. Default: masked for clients that may be on another machine (HTTP, WSGI, `handle`, TCP),
    not on stdio, in memory and on Unix sockets. The text of a `ToolError` is always sent, and the log has every
    exception; see `mcp_ref.server.results`.
    ``executor``: the `MainThreadQueue` or `Inline` that runs handlers; by default each
    connection has worker threads of its own. ``page_size``: items in a page of a list (default: all).
    ``order``: the order of lists, by "registration" or by "name" (or URI).
    ``keepalive``: seconds between pings to each client, whose connection ends if one is not answered (default: no
    pings). ``features``: names of features that are declared to clients although nothing of them may be registered yet:
    "tools", "resources", "prompts", "completions", "logging". Clients are notified of later registrations.
    ``cache``: how long clients may cache lists and resources (2026-07-28), a `Cache` for all or a dict by method; see
    `mcp_ref.server.registry.caching`. ``experimental``: capabilities outside the specification, name -> settings,
    declared as they are. ``extensions``: methods beyond the protocol, see `mcp_ref.peer.extension`.
    ``state_keys``: the secrets, strings or bytes, that sign the state which travels through clients between the rounds
    of a request that asks for input (2026-07-28): the first key signs, all of them verify. Several processes that serve
    the same clients need the same keys; default: those in the environment variable MCP_REF_STATE_KEYS, separated by
    commas, else a random key of this process. A state is refused by a server with another ``name``, or another
    resource of ``auth``. ``state_ttl``: seconds for which a state is accepted (default 900).
    ``consume_state``: True lets each state be used once, and a `Store` once in all processes that share it; a function
    is called with the id of each state that comes back, and False refuses that. See `mcp_ref.server.mrtr`.
    ``auth``: a `mcp_ref.auth.ResourceServer`, which demands tokens of clients over HTTP;
    over stdio nobody presents tokens [2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
    [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT.
    ``trace``: a `mcp_ref.wiretrace.Trace` of every connection, or the path of a file to record them in.
    ``tasks``: the `Tasks` by which tools with the option ``task`` run; see `mcp_ref.ext.tasks.server`.
    ``lifespan``: a function that takes the server and returns a context manager, which is open while the server serves;
    handlers find what it yields in `Context.lifespan`. See `mcp_ref.server.serving.lifespan`.
    ``on_roots_changed(connection)`` is called when a client announces that its roots have changed, and
    ``on_log_level(connection, level)`` when it asks for log messages from this level up; raising refuses that.
    Raises TypeError or ValueError for a value that may not be sent: a name that is no text, a broken icon.
    """

    party = lifecycle.SERVER
    _stamps: "Dict[Revision, CommonMembers]"
    _tallies: Dict[str, RequestTally]
    _hooks: "List[Hook]"
    _noted: "Counter[str]"

    @strict_options
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
        consume_state: "Union[None, bool, Callable[[str], bool], Store]" = None,
        auth: "Optional[Guard]" = None,
        trace: "Union[Trace, str, os.PathLike[str], None]" = None,
        tasks: "Optional[Tasks]" = None,
        lifespan: "Optional[Callable[[Any], ContextManager[Any]]]" = None,
    ) -> None:
        check_texts("Server", name=name, version=version, title=title, description=description,
                    instructions=instructions)
        check_introduction(website_url, icons, experimental)
        self.identity = (name, version, title, description, website_url, icons)
        self.instructions, self.experimental, self.caches = instructions, experimental, {}
        self.revisions = lifecycle.supported(revisions)
        self.limits, self.executor = limits, executor
        self.strict, self.mask_errors = strict, mask_errors
        self._paging, self.keepalive = paging_of(page_size, order), keepalive
        self.on_roots_changed, self.on_log_level, self.identify = on_roots_changed, on_log_level, identify
        if cache is not None:
            from .registry.caching import by_method

            self.caches = by_method(cache)
        if extensions:
            self._extend(extensions)
        self._state_options = (state_keys, state_ttl, consume_state)
        self._states: "Optional[States]" = None
        if self._state_options != (None, None, None):
            self.states  # made now, so that wrong options raise here
        self.auth, self.trace = auth, None
        if trace is not None:
            from ..wiretrace import trace_of

            self.trace = trace_of(trace)
        self._features, self._announcements = {}, Announcements()
        self._stamps, self._declared, self._tallies, self._noted, self._hooks = {}, {}, {}, Counter(), []
        if tasks is not None:
            self._bind(tasks)
        self._lifespan: "Optional[lifespans.Lifespan]" = None
        if lifespan is not None:
            from .serving.lifespan import Lifespan

            self._lifespan = Lifespan(lifespan, self)
        self._promise(features)

    def __repr__(self) -> str:
        clients = len(self._announcements.connections)
        return "<%s %s %s, %d connection%s>" % (
            type(self).__name__, shown(self.identity[0], 60), shown(self.identity[1], 40), clients,
            "" if clients == 1 else "s")

    # Notifications

    @property
    def connections(self) -> List[Connection]:
        """The connections to clients that are operating now, oldest first."""
        return self._announcements.connections

    def announce_once(self) -> ContextManager[None]:
        """Return a context manager at whose end all changes made within are announced, one notification for each list.
        """
        return self._announcements.once()

    @strict_options
    def broadcast(
        self, method: str, params: Optional[Dict[str, Any]] = None,
        wanted: Optional[Callable[[Connection], bool]] = None,
    ) -> int:
        """Send a notification to all clients that may be sent it and for which ``wanted`` is true; return their number.

        Clients without a handshake (2026-07-28) are not among them: they get notifications of the changes that they
        listen to, and no others. A server of that revision alone raises `LocalProtocolError` for a vendor's
        notification. `Context.notify` sends one while a request is answered; see `mcp_ref.peer.extension`.
        """
        if is_vendor(method) and not any(revision.handshake for revision in self.revisions):
            raise LocalProtocolError(
                "%s: a server of revision %s tells clients unasked of changes only; send it by ctx.notify, while a "
                "request of theirs is answered" % (method, self.revisions[-1]),
                "2026-07-28 basic/patterns/subscriptions §Notification Filter")
        return tell_all([each for each in self.connections if wanted is None or wanted(each)], method, params)

    def resource_updated(self, uri: str) -> None:
        """Notify the clients that have subscribed to this resource that it has changed.

        Raises ValueError for a text that is no URI, if there may be subscriptions.
        """
        notified = [self._features[name] for name in ("subscriptions", "listeners") if name in self._features]
        if notified:
            from ..protocol.uris import fault

            wrong = fault(uri, DEFAULT.max_uri_length)
            if wrong is not None:
                raise ValueError("%r is not the URI of a resource: %s" % (uri, wrong))
        if notified:
            seen_by = self.resources.seen_by(uri) if self.has_feature("resources") else None
        for feature in notified:
            feature.updated(uri, seen_by)

    @strict_options
    def lists_changed(self, *features: str, visible: Optional[Callable[..., Any]] = None) -> None:
        """Notify clients that they see other members of these lists than before: "tools", "resources", "prompts".

        Without ``features`` of all three. For what an option ``visible`` of a member depends on, such as a role that
        was given or taken away; registering and removing is announced without this. ``visible``: a function like those,
        which says whom to notify; None: every client. See `mcp_ref.server.registry.visibility`. Raises ValueError for
        another name.
        """
        for feature in features:
            if feature not in LIST_CHANGED:
                raise ValueError("%.80r is no list: name some of %s" % (feature, ", ".join(LIST_CHANGED)))
        shown = visible_of("lists_changed", visible)
        for feature in features or tuple(LIST_CHANGED):
            self._announcements.changed(feature, shown)

    @strict_options
    def log(self, level: str, data: Any, logger: Optional[str] = None) -> int:
        """Send a log message to every client whose level admits it, and return their number. As `Context.log`."""
        from .logs import log

        return log(self, level, data, logger)

    @strict_options
    def log_handler(self, level: int = 0, redact: bool = True, traceback: bool = False) -> "WireHandler":
        """Return a `logging.Handler` that sends records to clients; options: `mcp_ref.server.loghandler.WireHandler`.
        """
        from .loghandler import WireHandler

        return WireHandler(self, level, redact, traceback)

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Notify the client that was asked to visit a URL that the user is done there; see `Context.elicit_url`."""
        from .elicitation import complete

        complete(self, elicitation_id)

    # Serving

    def run(self) -> None:
        """Serve one client over standard input and output until it disconnects. Blocks.

        Everything that the program prints or writes to standard output meanwhile goes to standard error, and so does
        the log, from WARNING up, unless the program has set up `logging`. If a handler is still stuck
        ``shutdown_grace`` seconds after the client disconnected, the process ends without it. SIGTERM lets running
        calls end, and this method returns; Ctrl-C raises KeyboardInterrupt without a traceback: see
        `mcp_ref.server.serving.process`.
        """
        from ..diagnostics.packagelog import is_one_stream, own_process
        from ..threads import need
        from ..transports.lines.stdio import StdioServer
        from .serving.process import serve

        need("server.run()")
        own_process(not is_one_stream(1, 2))  # with 2>&1 log records would be written between the messages
        serve(self, StdioServer(self.limits))

    def connect(self, transport: Transport) -> Connection:
        """Serve one client over this transport, in the background. Raises `ConnectFailed`, or as ``lifespan`` does."""
        made = self.connection(transport)
        return self.hold(made, made.start)  # type: ignore[no-any-return]

    @strict_options
    def hold(self, holder: object, begin: Optional[Callable[[], Any]] = None) -> Any:
        """Keep ``lifespan`` open until `let_go` is called with the same object. Raises what entering it raises.

        ``begin``: a function that is called then, and whose result is returned; if it raises, the holder lets go. All
        ways of serving do this by themselves; a server that is served in another way needs it.
        """
        if self._lifespan is not None:
            self._lifespan.hold(holder)
        try:
            return None if begin is None else begin()
        except BaseException:
            self.let_go(holder)
            raise

    def let_go(self, holder: object) -> None:
        """Let ``lifespan`` be left once nobody else holds it open; see `hold`."""
        if self._lifespan is not None:
            self._lifespan.let_go(holder)

    @property
    def lifespan(self) -> Any:
        """The value that ``lifespan`` has yielded, while the server serves. In handlers: `Context.lifespan`."""
        return None if self._lifespan is None else self._lifespan.value

    @takes_http_options
    def run_http(
        self, host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp", *,
        ready: Optional[Callable[[str], Any]] = None, **options: "Unpack[HttpOptions]",
    ) -> None:
        """Serve any number of clients over HTTP until SIGTERM or Ctrl-C, see `mcp_ref.server.serving.process`. Blocks.

        The log goes to standard error, from WARNING up, unless the program has set up `logging`. Raises `ConnectFailed`
        if the address cannot be bound.

        ===================  ====================  ==================================================================
        option               default               meaning
        ===================  ====================  ==================================================================
        ``host``             this machine          where to listen; "0.0.0.0" is every IPv4 address of the machine
        ``port``             8000                  0 is any free one; ``ready`` gets the URL with it
        ``path``             "/mcp"                of the endpoint
        ``ready``            none                  a function that is called with the URL when clients can connect
        ``auth``             that of the server    a `mcp_ref.auth.ResourceServer`: clients show tokens of OAuth
        ``token``            no token              a secret that clients send as ``Authorization: Bearer``; it is
                                                   compared in constant time
        ``authenticate``     all clients pass      ``f(headers) -> principal``, None for an unknown client; sessions
                                                   belong to their principal
        ``allowed_hosts``    this machine, any     names by which clients may call this server; by default also the
                             port                  one in the URL of ``auth``
        ``allowed_origins``  this machine, any     pages that may call this server from a browser; this option and
                             port                  the one before may be a function that returns those of now, for
                                                   names that change: ``allowed_origins=lambda: origins``
        ``sessions``         "memory"              "none": requests have no session; or a `Store` that processes
                                                   share, such as `SqliteStore`
        ``json_response``    as needed             True: never a stream in reply to a request, False: always one
        ``poll_after``       never                 seconds until a stream is ended for the client to reconnect
        ``legacy``           True                  HTTP+SSE at ``/sse`` and ``/messages``, too, which needs one process
                                                   for all requests of a session
        ``fds``              a new socket          descriptors of sockets that listen already, such as those that
                                                   systemd passes from 3 on
        ``ssl_context``      no TLS                an `ssl.SSLContext` with a certificate, for ``https``
        ``trusted_proxies``  none                  addresses or networks of proxies, "unix" for a Unix socket: their
                                                   X-Forwarded-For has the address of a client, for
                                                   ``max_session_share``
        ``trace``            that of the server    a `mcp_ref.wiretrace.Trace` that sees every message, and HTTP
        ``health``           none                  a path that answers 200 while the server serves, and one with
        ``metrics``                                `statistics` for Prometheus; see `http_route`, ``access="here"``
        ===================  ====================  ==================================================================
        """
        given = with_defaults(Server.run_http, HTTP, options)
        from ..diagnostics.packagelog import own_process
        from .serving.http_listener import serve_http

        own_process()
        scheme = "http" if given["ssl_context"] is None else "https"
        serve_http(self, "%s://%s:%d%s" % (scheme, "[%s]" % host if ":" in host else host, port, path), ready, **given)

    @takes_wsgi_options
    def wsgi(self, **options: "Unpack[EndpointOptions]") -> "Application":
        """Return a WSGI application that serves this server at ``/mcp``, for any WSGI engine; see
        `mcp_ref.streamable.server.wsgi`.

        Options: as `run_http`, and ``path`` (None: any); ``streams=True`` lets clients open a
        stream with GET, each of which holds a thread of the engine; ``delete=False`` forbids clients to end sessions.
        """
        given = with_defaults(Server.wsgi, WSGI, options)
        from ..streamable.server.wsgi import Application
        from .serving.http_listener import endpoint_of

        return Application(endpoint_of(self, **given))

    def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, peer: str = "",
        **unknown: NoReturn
    ) -> "WsgiReply":
        """Answer one HTTP request to ``/mcp``, for use in any framework: returns ``status``, ``headers``, ``chunks``.

        ``peer``: the address of the client; without it the limits of an address (``max_session_share``) do not hold.
        `handler` answers; close it in the end.
        """
        if unknown:
            refuse(Server.handle, unknown)
        return self.handler.call(method, path, headers, body, peer=peer)

    @property
    def handler(self) -> "HttpCaller":
        """The caller that `handle` uses, with the default options of `run_http`; made when first used.

        For other options make ``Caller(endpoint_of(server, ...))``. ``handler.close(grace)`` ends its sessions.
        """
        if "handler" not in self._features:
            from ..streamable.server.wsgi import Caller
            from .serving.http_listener import endpoint_of

            self._features.setdefault("handler", Caller(endpoint_of(self, streams=False)))
        return self._features["handler"]  # type: ignore[no-any-return]

    @takes_http_options
    def listen(
        self, address: str, idle_after: float = 1.0, **options: "Unpack[HttpOptions]"
    ) -> "Union[SocketListener, HttpListener]":
        """Serve any number of clients in the background, on ``http://host:port/path``, ``tcp://host:port`` or
        ``unix:///path``.

        Port 0 is any free port; the listener's ``address`` has its number, and its ``close`` ends it and every
        connection. Options of HTTP: as `run_http`. On the two others there is no authentication: listen on
        loopback or in a folder of your own. A connection that was silent for ``idle_after`` seconds uses no thread
        until data comes. Raises `ConnectFailed`, and ValueError for a server with ``auth`` on ``tcp://``.
        """
        given = with_defaults(Server.listen, HTTP, options)
        self.resolve()
        if address.startswith(("http://", "https://")):
            from .serving.http_listener import HttpListener

            service = HttpListener(self, address, **given)
            service.open()
            return service
        refused = sorted(name for name, value in given.items() if value not in (HTTP[name], []))  # type: ignore
        if refused:
            raise TypeError("%s takes no option %s" % (address, ", ".join(refused)))
        from .serving.socket_listener import ServerListener

        listener = ServerListener(self, address, idle_after)
        listener.open()
        return listener

    def connection(self, transport: Transport) -> Connection:
        """Return a connection over this transport that has not been started. Raises as `resolve`."""
        self.resolve()
        if self.trace is not None:
            from ..transports.tap import Tap, tap

            if not isinstance(transport, Tap):  # over HTTP it is one already
                transport = tap(transport, self.trace, "server")
        made = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        made.context_class = Context
        return made

    def resolve(self) -> None:
        """Resolve the annotations that were not defined yet at registration; called before serving starts.

        Raises `Unresolved`, a TypeError, for an annotation of a tool or a prompt that is still undefined: the author
        has to know, as a client would get an internal error only. Raises ValueError for a tool whose page is missing.
        """
        for name in ("tools", "prompts", "apps"):
            if name in self._features:
                self._features[name].resolve()

    # HTTP

    @strict_options
    def http_route(
        self, method: str, path: str, function: Optional[Callable[["HttpRequest"], Any]] = None, *,
        access: str = "clients",
    ) -> Any:
        """Have a function answer the HTTP requests of a method to a path, beside the endpoint; a decorator, too.

        `run_http` and `listen` serve it, from then on. ``access``: "clients", "here" or "everybody". See
        `mcp_ref.streamable.server.own_routes`. Raises TypeError or ValueError for a route that cannot be.
        """
        from ..streamable.server.own_routes import own_route

        def register(function: Any) -> Any:
            self._features.setdefault("http routes", []).append(own_route(method, path, function, access))
            return function

        return register if function is None else register(function)

    @property
    def http_routes(self) -> "Sequence[OwnRoute]":
        """The routes of `http_route`."""
        return self._features.get("http routes", ())  # type: ignore[no-any-return]

    # Observing

    @strict_options
    def around(self, function: "Hooking" = None) -> "Hooking":  # type: ignore[assignment]
        """Have a function called around every request, ``function(method, params, principal, proceed)``; a decorator.

        See `mcp_ref.server.registry.around`. Raises `LocalProtocolError` once a request has been answered, TypeError
        for what is no plain function of these four.
        """
        from .registry.around import checked

        if self._tallies:
            raise LocalProtocolError("%s has answered requests already: register hooks before it serves"
                                     % self.identity[0])
        self._hooks.append(checked(function))
        return function

    def statistics(self) -> Dict[str, Any]:
        """Return what this process has counted since the server was made, as JSON values.

        ``requests``: method -> ``answered``, ``failed`` and ``seconds`` (in handlers); ``connections``: those that are
        operating; ``inflight``: requests that have no answer yet, on these; ``notes``: what went wrong with peers, by
        name (`Counters`), on these and those that have ended.
        """
        open_now, notes = self.connections, Counter(self._noted)
        for connection in open_now:
            notes.update(connection.counters.snapshot())
        return {
            "requests": {method: {"answered": tally.answered, "failed": tally.failed, "seconds": tally.seconds}
                         for method, tally in sorted(self._tallies.items())},
            "connections": len(open_now), "inflight": sum(len(each.inflight) for each in open_now),
            "notes": dict(notes),
        }

    # Answering (see `Role`)

    def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        """Return the route of this request in this revision, None if there is none; see ROUTES."""
        made = self._core_route(connection, method, revision)
        if self.extensions is not None:
            made = self.extensions.route(self, method, revision, made)
        if made is None:
            return None
        if self._hooks:
            from .registry.around import wrapped

            made = wrapped(method, made, self._hooks)
        made = self._tallies.setdefault(method, RequestTally()).on(made)
        return self._stamp(revision).on(made) if revision.stateless else made

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
        from .mrtr import wrap

        return wrap(made, method, revision)

    @property
    def states(self) -> "States":
        """The keys and options by which states are signed, made when first needed and shared by all connections."""
        if self._states is None:
            from .mrtr import States

            with _making:
                self._states = self._states or States(*self._state_options)
        return self._states

    def stamp(self, result: Any, revision: Revision) -> Any:
        """Return a deferred result with the members that every result has. Other results are stamped by their route."""
        return self._stamp(revision)(result) if revision.stateless else result

    def _stamp(self, revision: Revision) -> "CommonMembers":
        found = self._stamps.get(revision)
        if found is None:
            from .results import CommonMembers

            found = self._stamps[revision] = CommonMembers(self, revision)
        return found

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """Return the capabilities for a client without a handshake, as on the wire. Do not change the dict."""
        # The cache is replaced whenever an item is registered (`Registration._changing`); features are never removed.
        key = (revision, len(self._features))
        known = self._declared
        found = known.get(key)
        if found is None:
            from .handshake import capabilities

            found = known[key] = self.with_extensions(encode(capabilities(self, revision), revision), revision)
            self._declared_stateless = True
        return found

    def answer_error(self, context: Any, error: RpcError, in_tool: bool) -> Exception:
        """Return the error that this client may be sent for an `RpcError`; see `mcp_ref.server.results`."""
        if error.code not in REVISED:
            return error
        from .results import revised

        return revised(context, error, in_tool)

    def answer_errors(self, context: Any, error: BaseException) -> RpcError:
        """Return the error for an exception of a handler; see `Role.answer_errors` and
        `mcp_ref.server.results`."""
        from .results import failed

        request = context.request
        return failed(context, self.handler_of(request.method, request.params or {}, context.session.rules), error)

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """Return the name of the author's function that answers this message, for the log; see `Role.handler_of`."""
        from .results import handler_of

        return handler_of(self, method, params, revision)

    def hides(self, connection: Connection) -> bool:
        """Return True if this client gets neither the type nor the text of exceptions; see ``mask_errors``."""
        return not connection.transport.same_machine if self.mask_errors is None else self.mask_errors

    def on_open(self, connection: Connection) -> None:
        """Add a client to those that are notified."""
        self._announcements.opened(connection)

    def export_state(self, connection: Connection, uris: Iterable[str]) -> Dict[str, Any]:
        """Return the state of a session as JSON values; see `Role.export_state`."""
        from .handshake import export_state

        return export_state(self, connection, uris)

    def import_state(self, connection: Connection, kept: Dict[str, Any], whole: bool) -> None:
        """Take over the state of a session; see `Role.import_state`."""
        from .handshake import import_state

        import_state(self, connection, kept, whole)

    def on_closing(self, connection: Connection) -> bool:
        """End the streams of `subscriptions/listen` on this connection, and waits for tasks; True if there were any
        [2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD."""
        ended = "listeners" in self._features and self.listeners.end(connection) > 0
        return "tasks" in self._features and self.tasks.closing(connection) or ended

    def tick(self) -> None:
        """Do what has to be done from time to time; a listener calls it about once a second."""
        if "tasks" in self._features:
            self.tasks.tick()

    def missed(self, connection: Connection, count: int) -> None:
        """Tell a client how many messages it missed while it had no stream; see `Role.missed`."""
        from .logs import tell_missed

        tell_missed(connection, count)

    @property
    def held(self) -> "MemoryAccount":
        """The account of the memory that clients make this server hold, over all its listeners."""
        from ..transports.held import MemoryAccount

        return self._features.setdefault("held", MemoryAccount(self.limits))  # type: ignore[no-any-return]

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Forget everything of a client that has disconnected."""
        self._announcements.closed(connection)
        if "subscriptions" in self._features:
            self.subscriptions.forget(connection)
        if "introduction" in connection.state:
            from .handshake import forget

            forget(connection)
        with _making:
            self._noted.update(connection.counters.snapshot())
        self.let_go(connection)

    def on_notification_read(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Drop the cached roots as soon as a change is announced [..2025-11-25 client/roots §Root List Changes]."""
        if method == ROOTS_CHANGED and "roots" in connection.state:
            connection.state["roots"].drop()
        return True

    def hears(self, method: str) -> bool:
        """Return True if a function was registered for this vendor's notification; see `Role.hears`."""
        return "vendor" in self._features and self._features["vendor"].hears(method)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Handle a client's notification: a change of its roots, an extension's or a vendor's notification."""
        if self.extensions is not None:
            self.extensions.heard(connection, method, params)
        if "vendor" in self._features:
            self._features["vendor"].heard(connection, method, params)
        if method == ROOTS_CHANGED and self.on_roots_changed is not None:
            self.on_roots_changed(connection)


def _listen(server: Server, revision: Revision) -> Route:
    return server.listeners.route(revision)  # type: ignore[no-any-return]


def _initialize(server: Server, revision: Revision) -> Route:
    from .handshake import initialize_route

    return initialize_route(server)


def _set_level(server: Server, revision: Revision) -> Route:
    from .logs import set_level_route

    return set_level_route(server, revision)


def _discover(server: Server, revision: Revision) -> Route:
    from .handshake import discover_route

    return discover_route(server, revision)


def _call_tool(server: Server, revision: Revision) -> Route:
    made: Route = server.tools.call_route(revision)
    if revision.tasks and server.has_feature("tasks"):
        made = server.tasks.sessions.augmented(made)
    return made


ROUTES: Dict[str, Any] = {
    "initialize": ("", _initialize),
    "server/discover": ("", _discover),
    "tools/list": ("tools", lambda server, revision: server.tools.listing.route(revision)),
    "tools/call": ("tools", _call_tool),
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
    "tasks/get": ("tasks", lambda server, revision: server.tasks.sessions.get_route()),
    "tasks/result": ("tasks", lambda server, revision: server.tasks.sessions.result_route()),
    "tasks/list": ("tasks", lambda server, revision: server.tasks.sessions.list_route()),
    "tasks/cancel": ("tasks", lambda server, revision: server.tasks.sessions.cancel_route()),
}
"""Request -> the feature that must have been registered ("" for none), and the function that makes the route for a
revision."""
