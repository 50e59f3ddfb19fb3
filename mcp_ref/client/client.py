"""The client: one connection to one server, from `Client.open` to `Client.close`.

Its calls block until the answer is there and may be made from any number of threads; ``submit_*`` returns a future
instead. `mcp_ref.client.options` describes the options of all of them. What arrives is checked against the agreed
revision; an answer that does not fit raises `PeerProtocolError`, which says where.

`mcp_ref.client.request_flow` has the way of a request, `mcp_ref.client.client_capabilities` the features that a client
has for its server.
"""

import threading
from functools import partial
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, MutableMapping, NoReturn, Optional, Sequence, Tuple, TypeVar,
    Union, overload,
)

from ..codec import DecodeError, decode, encode
from ..diagnostics.packagelog import name_of
from ..errors import ConnectionLost, LocalProtocolError, McpError
from ..jsonrpc import Notification, shown
from ..messages.base import Icon, Implementation
from ..methods import (
    CALL_TOOL, COMPLETE, DISCOVER, GET_PROMPT, LIST_TASKS, PING, READ_RESOURCE, RESOURCE_UPDATED, SET_LOG_LEVEL,
    SUBSCRIBE, TASK_STATUS, UNSUBSCRIBE, is_vendor, params_class,
)
from ..options import REQUEST_TIMEOUT, closest, refuse, strict_options, with_defaults
from ..peer.context import Context, Route, log_raised
from ..peer.dispatcher import Connection
from ..peer.inflight import Inflight
from ..peer.request_table import ProgressCallback
from ..peer.role import Role
from ..protocol import lifecycle
from ..protocol.lifecycle import UNDECLARED, extensions_in, has
from ..revisions import Revision
from ..transports.base import Transport, successor, was_read
from ..version import __version__
from .cache import by_name
from .cached_calls import CachedCalls, bytes_of
from .client_capabilities import REQUESTS, Offers
from .opening import DEFAULT_ERA, Handshake, Opening
from .options import (
    CALL_DEFAULTS, CLIENT_DEFAULTS, REQUEST_DEFAULTS, UpdateCallback, takes_call_options, takes_client_options,
    takes_request_options,
)
from .request_flow import RequestFlow, Requests, Restarts, connection_for_retry, is_manual, known

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..ext.skills.client import LoadedSkill
    from ..ext.tasks.client.task import ToolTask
    from ..jsonrpc import RequestId
    from ..messages.completion import CompleteResult, Ref
    from ..messages.discover import DiscoverResult
    from ..messages.extensions.skills import Skill
    from ..messages.mrtr import InputRequiredResult
    from ..messages.prompts import GetPromptResult, ListPromptsResult, Prompt
    from ..messages.resources import (
        ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult, Resource, ResourceTemplate,
    )
    from ..messages.tasks import ListTasksResult
    from ..messages.tools import CallToolResult, ListToolsResult, Tool
    from ..peer.extension import Extension, VendorMethods
    from ..peer.future import RequestFuture
    from ..peer.inflight import Incoming
    from .completion import CompletionCache
    from .options import CallOptions, ClientOptions, ManualOptions, Options, RequestOptions
    from .subscriptions import Listening, Subscription

Self = TypeVar("Self", bound="Client")
Handler = TypeVar("Handler", bound=Callable[[Dict[str, Any], Context], Optional[Dict[str, Any]]])


class Client(Role):
    """A client of one server. `connect` makes one and opens it; or make one, and `open` it on a transport.

    ``name``, ``version``, ``title``, ``description``, ``website_url`` and ``icons`` introduce it.

    The revisions that it speaks, newest preferred: ``era`` is ``"auto"`` (whatever the server does; the default),
    ``"modern"`` (no handshake), ``"legacy"`` (with one) or the name of a revision; ``revisions`` names those to choose
    from (default: all five).
    ``eras``: the revisions that servers were found to speak, a mapping of addresses to names that may outlive this
    client; see `mcp_ref.client.opening`.

    The features that it has for the server, each declared if it is given: ``roots`` (paths, ``file:`` URIs, or a
    `mcp_ref.client.roots.Roots`), ``sampling`` and ``elicitation`` (a function ``(params, context)``, or a
    `mcp_ref.client.sampling.Sampling`, `mcp_ref.client.elicitation.Elicitation`); ``experimental`` capabilities by
    name; ``capabilities``: more that a subclass declares because it answers the requests itself.

    The callbacks for notifications, called one at a time and in order: ``on_log(level, data, logger)``;
    ``on_update(uri)`` for each resource that changed; ``on_notification(method, params)`` for all that the server
    announces, also what is outside of the specification, such as ``acme/event``.

    ``extensions``: features beyond the protocol, see `mcp_ref.peer.extension`. ``tasks``: False to declare that no call
    may become a task; True to let servers of 2025-11-25 make tasks of what they ask the model and the user; see
    `mcp_ref.ext.tasks.client`.
    ``cache``: a `SharedAnswers`, where this client and others share what servers say is public; see
    `mcp_ref.client.cache`. ``check_results``: False to leave results of tools unchecked, see
    `mcp_ref.client.structured`. ``executor``: runs the callbacks. ``strict``: True to refuse what real but careless
    servers send. ``keepalive``: seconds between pings, which end the connection when unanswered (default: no pings).
    ``restart``: True to do as `reconnect` where a request finds that a server with a handshake has ended; see there.
    ``tolerate``: faults of a server that you accept: ``"undeclared-capabilities"``, see
    `mcp_ref.protocol.lifecycle`.

    All calls take ``timeout`` (seconds), ``progress``, ``extend_on_progress`` and ``meta``, as
    `mcp_ref.client.options.RequestOptions` describes them. They raise `PeerError` for a JSON-RPC error,
    `RequestTimeout` and `ConnectionLost`; before anything is sent `LocalProtocolError`, for what the server has not
    declared, or may not be asked.
    """

    party = lifecycle.CLIENT
    server_info: Optional[Implementation] = None
    """The server's name and version; known after `open`, if it says them."""
    server_capabilities: Mapping[str, Any] = {}
    """The capabilities that the server has declared, a JSON object as it came: ``"tools" in
    client.server_capabilities``; known after `open`, {} where a server does not say. Those of the client are in
    ``capabilities``."""
    instructions: Optional[str] = None
    """A text on how to use the server; for the model."""
    _connection: Optional[Connection] = None
    _listening: "Optional[Listening]" = None
    _tasks: "Optional[MutableMapping[str, ToolTask]]" = None
    """The tasks that somebody holds, by id."""

    @takes_client_options
    def __init__(
        self, name: str = "mcp_ref", version: str = __version__, **options: "Unpack[ClientOptions]"
    ) -> None:
        options = with_defaults(Client.__init__, CLIENT_DEFAULTS, options, self)
        self.info = Implementation(
            name, version, options["title"], options["description"], options["website_url"], options["icons"])
        self.revisions = lifecycle.spoken(options["era"], options["revisions"], DEFAULT_ERA)
        eras, tasks, cache = options["eras"], options["tasks"], options["cache"]
        self.eras: MutableMapping[str, str] = {} if eras is None else eras
        self.offers = Offers({name: options.get(name) for name in ("roots", "sampling", "elicitation")}, tasks is True)
        self.on_log, self.on_update = options["on_log"], options["on_update"]
        self.on_notification = options["on_notification"]
        self.limits = options["limits"]
        self.executor = options["executor"]
        self.strict = options["strict"]
        self.check_results = options["check_results"]
        self.cache = cache
        self._takes_tasks = tasks is not False
        self._extend(options["extensions"] or (), self._takes_tasks)
        self.keepalive = options["keepalive"]
        self.restart = options["restart"]
        self.tolerate = frozenset(options["tolerate"])
        if isinstance(options["tolerate"], str) or not self.tolerate.issubset([UNDECLARED]):
            raise ValueError("tolerate is a list of %r, not %r" % (UNDECLARED, options["tolerate"]))
        self.advice = "" if self.restart else (
            "client.reconnect() starts it again; with connect(..., restart=True) the next request does")
        """The line of `ConnectionLost` that says how to go on after the server has ended; "" for none."""
        self._vendor: "Optional[VendorMethods]" = None
        self.questions = Inflight()
        """The questions of the server in its results that are being answered; see `mcp_ref.client.mrtr`."""
        self._requests = Requests(self)
        self._cached = CachedCalls(self, self._requests)
        self._handshake = Handshake(self, partial(
            self.offers.declare, options["capabilities"], options["experimental"]))
        self._restarts = Restarts(self.limits)
        self._closing = threading.Event()
        self._closing.set()  # cleared between `open` and `close`
        self._renewing = threading.Lock()
        """A lock that is held while a connection takes the place of one that has ended: the first of the threads that
        need it makes it, and the others wait."""
        self._opening: Optional[Connection] = None
        """The connection that was begun last: `close` must end it, also while it is being opened."""
        self._making = threading.Lock()

    def _extend(self, extensions: "Sequence[Extension]", tasks: bool = False) -> None:
        if tasks and self.revisions[-1].stateless:
            from ..ext.tasks.client.extension import with_tasks

            extensions = with_tasks(extensions)
        if extensions:
            super()._extend(extensions)

    def __repr__(self) -> str:
        """Return the server's name, cut to 60 characters, the revision, and the state of the connection."""
        connection, server = self._connection, self.server_info
        if connection is None:
            return "<%s, not connected>" % type(self).__name__
        name = shown("%s %s" % (server.name, server.version), 60) if server is not None else "a server without a name"
        state = "closed" if self._closing.is_set() else "lost" if connection.closed else "open"
        return "<%s of %s, %s, %s>" % (type(self).__name__, name, connection.session.rules.name, state)

    # From `open` to `close`

    @property
    def connection(self) -> Connection:
        """The connection. Raises `LocalProtocolError` before `open`."""
        if self._connection is None:
            raise LocalProtocolError("the client is not connected: call open(transport), or use connect(...)")
        return self._connection

    @property
    def revision(self) -> Revision:
        """The agreed revision."""
        return self.connection.session.rules

    @property
    def listening(self) -> "Listening":
        """The subscriptions, where the client has to ask for them; see `mcp_ref.client.subscriptions`."""
        if self._listening is None:
            from .subscriptions import Listening

            with self._making:  # two threads that subscribe first share one
                self._listening = self._listening or Listening(self)
        return self._listening

    def open(self, transport: Transport) -> "Client":
        """Connect over this transport and open the session; on any failure the transport is closed. After `close` the
        client may be opened again.

        Raises `ConnectFailed`, `ConnectionLost` with the server's last words, `RequestTimeout`, `PeerProtocolError` if
        there is no revision in common, or `LocalProtocolError` if this client is connected already.
        """
        if self._connection is not None and not self._connection.closed:
            transport.close()
            raise LocalProtocolError("the client is connected already: close() it first, or make another one")
        self._listening = None
        self._closing.clear()
        self._handshake.log_level = None
        try:
            self._connect(transport, self.eras.get(_name_of(transport)))
        except BaseException:
            self.close()
            raise
        return self

    def _connect(self, transport: Transport, known: Optional[str], before: Optional[Connection] = None) -> None:
        """Open a connection on this transport, which is closed if that fails.

        ``known``: the revision that was spoken with the server the last time. ``before``: the connection whose place
        this one takes.
        """
        connection = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        if before is not None:
            connection.table.follow(before.table)
        connection.start()
        self._opening = connection
        if before is None:
            # Early: `ping` may be sent while the session is being opened. A connection in place of another one is set
            # at the end: until then other threads find the ended one, and wait in `renewed`.
            self._connection = connection
        opening = Opening(self, connection, known)
        try:
            if self.wanted:  # otherwise `close` came before `_opening` was set, and has not closed this connection
                opening.run()
            if not self.wanted:
                raise ConnectionLost("the client was closed meanwhile")
        except BaseException as error:
            connection.close()
            connection.wait_closed(self.limits.shutdown_grace)
            # A server of the handshake era may end when it is sent anything but `initialize`: begin again with that.
            # One that ended before it read the request ended for reasons of its own, and would do so again.
            retry = opening.is_guessing and self.wanted and isinstance(error, ConnectionLost)
            fresh = successor(transport) if retry and was_read(transport) else None
            if fresh is None:
                raise
        else:
            self._connection = connection
            name = _name_of(transport)
            if name:
                # [2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD
                self.eras[name] = connection.session.rules.name
            self.on_open(connection)
            if before is not None and not connection.session.rules.stateless:
                self._ask_again(connection, before)
            return
        self._connect(fresh, lifecycle.with_handshake(self.revisions)[-1].name, before)

    def renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """Return the connection that takes the place of one that has ended; the first caller makes it, for all.

        In the handshake era there is one where the server has forgotten the session
        [2025-03-26..2025-11-25 basic/transports §Session Management] MUST, and with ``restart=True`` where it has
        ended. Reading: as soon as there is something to send again. Only what the server has refused because of the
        session, or what was not sent at all, is sent again. In the stateless era: see `mcp_ref.client.request_flow`.
        Raises ``error`` where there can be no connection, and what `open` raises.
        """
        restarts = self.restart or ended.session.rules.stateless
        if not error.unsent and not ended.session.rules.stateless:
            raise self._with_advice(ended, error)
        with self._renewing:
            # All requests of a connection fail together. The first thread here makes the new connection; each of the
            # others finds it when it gets the lock.
            if self._connection is not ended and self._connection is not None:
                return self._connection
            transport: Optional[Transport] = None
            if self.wanted and ended.exchanges is not None:
                transport = ended.exchanges.reopen()
            if transport is None and restarts and self.wanted:
                transport = self._restarts.next(ended, error, self._closing)
            if transport is None:
                raise self._with_advice(ended, error)
            self._replace(ended, transport)
            return self.connection

    def _replace(self, ended: Connection, transport: Transport) -> None:
        ended.close()
        ended.wait_closed(self.limits.shutdown_grace)
        self._connect(transport, ended.session.rules.name, ended)

    def _with_advice(self, ended: Connection, error: ConnectionLost) -> ConnectionLost:
        """Return an error that says, too, how to go on after the server has ended."""
        if not (self.advice and self.wanted and ended.table.ended) or successor(ended.transport) is None:
            return error
        advised = type(error)("%s\n%s" % (error, self.advice))
        advised.unsent, advised.left = error.unsent, error.left
        return advised

    def reconnect(self: Self) -> Self:
        """Open another connection to the same server, with the same options, and return this client.

        For a server that has ended, or that is stuck: a command is started again, as a process of its own, a session is
        begun anew, with the revision that was spoken. What still waits for an answer gets `ConnectionLost`, and nothing
        is sent again. Caches are empty then. The level of log messages is set again, and what was subscribed to is
        subscribed to again and reported as changed once; what else the server remembered is gone. A client that was
        closed is opened anew, without all that.

        With ``restart=True`` the next request does this for a server that has ended, at most ``max_restarts`` times
        in a row: only for what has not been sent, so nothing runs twice.
        Raises what `open` raises, and `LocalProtocolError` for a transport of your own that has no ``renew``.
        """
        with self._renewing:
            ended = self.connection
            transport = successor(ended.transport)
            if transport is None:
                text = "a %s transport cannot be opened a second time: it has no renew(); give open() another one"
                raise LocalProtocolError(text % ended.transport.name)
            if self.wanted:
                self._replace(ended, transport)
                return self
        self.open(transport)
        return self

    def _ask_again(self, connection: Connection, before: Connection) -> None:
        """Ask for what the server remembered of the session before; what cannot be asked for is logged."""
        subscriptions = before.state.get("subscriptions")
        wanted = [] if self._handshake.log_level is None else [(SET_LOG_LEVEL, {"level": self._handshake.log_level})]
        if subscriptions is not None:
            connection.state["subscriptions"] = subscriptions
            wanted += [(SUBSCRIBE, {"uri": uri}) for uri in subscriptions.uris()]
        for method, params in wanted:
            try:
                connection.request(method, params)
            except McpError as error:
                connection.counters.note("not asked again", "%s %s: %s" % (method, shown(str(params)), error))
                continue
            if method == SUBSCRIBE:  # what changed meanwhile is unknown
                connection.hear(Notification(RESOURCE_UPDATED, params))

    def _retry_connection(
        self, connection: Connection, error: McpError, method: str, params: Optional[Dict[str, Any]]
    ) -> Connection:
        """Return the connection on which a request that failed is sent again. Raises if it is not; for subclasses."""
        return connection_for_retry(self, connection, error)

    def close(self) -> None:
        """End the connection and, if there is one, the child process. From any thread, any number of times."""
        self.hang_up()
        if self._connection is not None:
            self._connection.wait_closed(self.limits.shutdown_grace + self.limits.terminate_grace + 1.0)
        if self._listening is not None:
            self._listening.wait_closed(self.limits.shutdown_grace)

    def hang_up(self) -> None:
        """Do as `close`, without waiting for what runs in this process."""
        # In this order: from `_closing` on nothing is begun anew; then the callbacks and the thread that could begin
        # something end; then the connections. `_opening` may be one that `_connection` is not yet.
        self._closing.set()
        self.questions.cancel_all("the client was closed")
        if self._listening is not None:
            self._listening.close()
        if self._opening is not None:
            self._opening.close()
        if self._connection is not None:
            self._connection.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    # Calls, in the order of the pages

    @takes_request_options
    def ping(self, **options: "Unpack[RequestOptions]") -> None:
        """Ask for an empty answer, to see that the server works [..2025-11-25 basic/utilities/ping §Message Format].

        Without a handshake there is no `ping`; every server answers `server/discover`, so it is asked that.
        """
        options = with_defaults(Client.ping, REQUEST_DEFAULTS, options)
        self._requests.call(DISCOVER if self.revision.stateless else PING, None, options)

    # Tools

    @takes_request_options
    def list_tools(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListToolsResult":
        """Return one page of tools; ``cursor`` is the ``next_cursor`` of the page before.

        From the cache, while the server would answer the same: see `mcp_ref.client.cache`. ``refresh=True`` asks;
        this holds for every page and list, and for `read_resource`.
        """
        options = with_defaults(Client.list_tools, REQUEST_DEFAULTS, options)
        return self._cached.page("tools", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def tools(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Tool]":
        """Return all tools: a list, made of all pages, at most ``max_pages`` of them.

        From the cache, as far as that is fresh: see `list_tools`, which returns the pages one by one. ``refresh`` asks,
        from the first page on.
        """
        options = with_defaults(Client.tools, REQUEST_DEFAULTS, options)
        return list(self._cached.items("tools", refresh, options))

    @takes_request_options
    def tool(self, name: str, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "Tool":
        """Return the tool of exactly this name [2025-11-25.. server/tools §Tool Names]; asks as `tools` does.

        ``refresh``: as `tools`. Raises LookupError, which names some of the tools.
        """
        options = with_defaults(Client.tool, REQUEST_DEFAULTS, options)
        cache = self._cached.cache["tools"]
        tools = cache.named() if cache.current() is not None and options["meta"] is None and not refresh else None
        if tools is None:
            tools = by_name(list(self._cached.items("tools", refresh, options)))
        if name not in tools:
            names = ", ".join(sorted(tools)[:20]) or "none"
            near = closest(name, tools)
            raise LookupError("the server has no tool %.200r; it has %.1000s%s" % (
                name, names, near and "; did you mean %.200r?" % near))
        tool: Tool = tools[name]
        return tool

    @overload
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "CallToolResult": ...

    @overload
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[CallToolResult, InputRequiredResult]": ...

    @takes_call_options
    def call_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[Options]"
    ) -> "Union[CallToolResult, InputRequiredResult]":
        """Call a tool and wait for its result; that of a tool that failed has a true ``is_error``.

        The result is checked, see `mcp_ref.client.structured`: `InvalidResult` for one that is not what the tool's
        output schema says; ``check_results=False`` of the client leaves that out.

        The options: `mcp_ref.client.options.RequestOptions`, and where the server may ask something first,
        `mcp_ref.client.options.AnswerOptions`.
        """
        options = with_defaults(Client.call_tool, CALL_DEFAULTS, options)
        params = _named(name, arguments)
        if "tasks" in self.server_capabilities and self._task_support(name) == "required":
            from ..ext.tasks.client.generations import call_as_task

            return call_as_task(self, params, options)
        if not self.check_results:
            return self._requests.call(CALL_TOOL, params, options)  # type: ignore[no-any-return]
        check = self._cached.result_check()
        version = check.tools.version  # of the list, before the call: it may change during it
        return check(name, self._requests.call(CALL_TOOL, params, options), version)  # type: ignore[no-any-return]

    @overload
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[CallOptions]"
    ) -> "RequestFuture[CallToolResult]": ...

    @overload
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[CallToolResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, **options: "Unpack[Options]"
    ) -> "RequestFuture[Any]":
        """Call a tool as `call_tool`, and return a `concurrent.futures.Future`, whose ``cancel`` cancels on the wire.

        The result is checked when it is taken, by the thread that takes it.
        """
        options = with_defaults(Client.submit_tool, CALL_DEFAULTS, options)
        params = _named(name, arguments)
        if "tasks" in self.server_capabilities and self._task_support(name) == "required":
            params["task"] = {}
        if not self.check_results:
            return self._requests.submit(CALL_TOOL, params, options)
        check = self._cached.result_check()
        version = check.tools.version
        return self._requests.submit(CALL_TOOL, params, options, check=lambda result: check(name, result, version))

    # Resources

    @takes_request_options
    def list_resources(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListResourcesResult":
        """Return one page of resources, as `list_tools`."""
        options = with_defaults(Client.list_resources, REQUEST_DEFAULTS, options)
        return self._cached.page("resources", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def resources(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Resource]":
        """Return all resources, as `tools`."""
        options = with_defaults(Client.resources, REQUEST_DEFAULTS, options)
        return list(self._cached.items("resources", refresh, options))

    @takes_request_options
    def list_resource_templates(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListResourceTemplatesResult":
        """Return one page of resource templates, as `list_tools`."""
        options = with_defaults(Client.list_resource_templates, REQUEST_DEFAULTS, options)
        return self._cached.page("resource_templates", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def resource_templates(
        self, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "List[ResourceTemplate]":
        """Return all resource templates, as `tools`."""
        options = with_defaults(Client.resource_templates, REQUEST_DEFAULTS, options)
        return list(self._cached.items("resource_templates", refresh, options))

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[CallOptions]"
    ) -> "ReadResourceResult": ...

    @overload
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[ManualOptions]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]": ...

    @takes_call_options
    def read_resource(
        self, uri: str, refresh: bool = False, **options: "Unpack[Options]"
    ) -> "Union[ReadResourceResult, InputRequiredResult]":
        """Return the contents of a resource, from the cache while the server said that they are good and not changed.

        ``refresh`` asks. With ``rounds="manual"`` the result may be an `InputRequiredResult`.
        """
        options = with_defaults(Client.read_resource, CALL_DEFAULTS, options)
        return self._cached.answer(  # type: ignore[no-any-return]
            READ_RESOURCE, {"uri": uri}, bytes_of, refresh, options)

    @overload
    def submit_resource(self, uri: str, **options: "Unpack[CallOptions]") -> "RequestFuture[ReadResourceResult]": ...

    @overload
    def submit_resource(
        self, uri: str, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[ReadResourceResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_resource(self, uri: str, **options: "Unpack[Options]") -> "RequestFuture[Any]":
        """Read a resource as `read_resource`, and return a future; it asks always."""
        options = with_defaults(Client.submit_resource, CALL_DEFAULTS, options)
        return self._requests.submit(READ_RESOURCE, {"uri": uri}, options)

    @takes_request_options
    def subscribe_resource(
        self, uri: str, callback: Optional[UpdateCallback] = None, **options: "Unpack[RequestOptions]"
    ) -> None:
        """Subscribe to a resource: ``callback(uri)``, and ``on_update`` of the client, are called when it changes.

        A second call for the same URI replaces the callback. Raises `Busy` at ``max_subscriptions``
        [..2025-11-25 server/resources §Subscriptions].
        """
        options = with_defaults(Client.subscribe_resource, REQUEST_DEFAULTS, options)
        known(self.connection)
        if self.revision.stateless:
            self.listening.subscribe(uri, callback)
            return
        from .subscriptions import HandshakeSubscriptions

        undo = HandshakeSubscriptions.of(self.connection).add(uri, callback)
        try:
            self._requests.call(SUBSCRIBE, {"uri": uri}, options)
        except BaseException:
            undo()
            raise

    @takes_request_options
    def unsubscribe_resource(self, uri: str, **options: "Unpack[RequestOptions]") -> None:
        """End a subscription [..2025-11-25 server/resources §Subscriptions]; its callback is not called any more."""
        options = with_defaults(Client.unsubscribe_resource, REQUEST_DEFAULTS, options)
        known(self.connection)
        if self.revision.stateless:
            self.listening.unsubscribe(uri)
            return
        from .subscriptions import HandshakeSubscriptions

        HandshakeSubscriptions.of(self.connection).remove(uri)
        self._requests.call(UNSUBSCRIBE, {"uri": uri}, options)

    # Prompts

    @takes_request_options
    def list_prompts(
        self, cursor: Optional[str] = None, *, refresh: bool = False, **options: "Unpack[RequestOptions]"
    ) -> "ListPromptsResult":
        """Return one page of prompts, as `list_tools`."""
        options = with_defaults(Client.list_prompts, REQUEST_DEFAULTS, options)
        return self._cached.page("prompts", cursor, refresh, options)  # type: ignore[no-any-return]

    @takes_request_options
    def prompts(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "List[Prompt]":
        """Return all prompts, as `tools`."""
        options = with_defaults(Client.prompts, REQUEST_DEFAULTS, options)
        return list(self._cached.items("prompts", refresh, options))

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "GetPromptResult": ...

    @overload
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "Union[GetPromptResult, InputRequiredResult]": ...

    @takes_call_options
    def get_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[Options]"
    ) -> "Union[GetPromptResult, InputRequiredResult]":
        """Return the messages of a prompt; with ``rounds="manual"`` perhaps an `InputRequiredResult`."""
        options = with_defaults(Client.get_prompt, CALL_DEFAULTS, options)
        return self._requests.call(GET_PROMPT, _named(name, arguments), options)  # type: ignore[no-any-return]

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[CallOptions]"
    ) -> "RequestFuture[GetPromptResult]": ...

    @overload
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[ManualOptions]"
    ) -> "RequestFuture[Union[GetPromptResult, InputRequiredResult]]": ...

    @takes_call_options
    def submit_prompt(
        self, name: str, arguments: Optional[Dict[str, str]] = None, **options: "Unpack[Options]"
    ) -> "RequestFuture[Any]":
        """Get a prompt as `get_prompt`, and return a future."""
        options = with_defaults(Client.submit_prompt, CALL_DEFAULTS, options)
        return self._requests.submit(GET_PROMPT, _named(name, arguments), options)

    # Utilities

    @property
    def _completions(self) -> "CompletionCache":
        state = self.connection.state
        if "completions" not in state:
            from .completion import CompletionCache

            state.setdefault("completions", CompletionCache(self.connection, self._cached.cache, self.strict))
        return state["completions"]  # type: ignore[no-any-return]

    @takes_request_options
    def complete(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None, refresh: bool =
        False, **options: "Unpack[RequestOptions]"
    ) -> "CompleteResult":
        """Return suggestions for an argument typed so far [.. server/utilities/completion §Requesting Completions].

        ``ref``: a prompt by its name, or a resource template by its URI (or a `PromptReference`,
        `ResourceTemplateReference`). ``arguments``: those that are settled already, for revisions that carry them. An
        answer may come from the cache, for a while; ``refresh`` asks. Raises `Busy` at ``max_completions_per_second``.
        """
        options = with_defaults(Client.complete, REQUEST_DEFAULTS, options)
        params, answer, read = self._completions.ask(ref, argument, value, arguments, refresh)
        if answer is not None:
            return answer
        return self._requests.call(COMPLETE, params, options, read)  # type: ignore[no-any-return]

    @takes_request_options
    def submit_completion(
        self, ref: "Ref", argument: str, value: str, arguments: Optional[Mapping[str, str]] = None, refresh: bool =
        False, **options: "Unpack[RequestOptions]"
    ) -> "RequestFuture[CompleteResult]":
        """Ask as `complete`, and return a future; a cached answer is there at once."""
        options = with_defaults(Client.submit_completion, REQUEST_DEFAULTS, options)
        params, answer, read = self._completions.ask(ref, argument, value, arguments, refresh)
        if answer is None:
            return self._requests.submit(COMPLETE, params, options, read)
        from ..peer.future import RequestFuture

        done: "RequestFuture[CompleteResult]" = RequestFuture(self.connection, read)
        done.set_result(answer)
        return done

    @takes_request_options
    def set_log_level(self, level: str, **options: "Unpack[RequestOptions]") -> None:
        """Ask for log messages of this level and above [..2025-11-25 server/utilities/logging §Setting Log Level].

        Without a handshake each request says so from now on; a call may ask for something else by its ``meta``
        [2026-07-28 server/utilities/logging §Per-request log level].
        """
        options = with_defaults(Client.set_log_level, REQUEST_DEFAULTS, options)
        from ..messages.logs import LEVELS

        if level not in LEVELS:
            raise LocalProtocolError("log level %.80r: it is one of %s" % (level, ", ".join(LEVELS)))
        if self.revision.stateless:
            known(self.connection)
            self._handshake.set_log_level(self.connection, level)
        else:
            self._requests.call(SET_LOG_LEVEL, {"level": level}, options)
            self._handshake.log_level = level

    @takes_request_options
    def discover(self, refresh: bool = False, **options: "Unpack[RequestOptions]") -> "DiscoverResult":
        """Ask the server what it is and what it can do; `open` has done so, and this asks anew.

        From the cache, as long as the server said that its answer is good; ``refresh`` asks. What the server says that
        it can do holds from then on: a feature that it had not declared before may be asked for.

        [2026-07-28 server/discover §When to Call] MAY. Older revisions have no such request: `LocalProtocolError`.
        """
        options = with_defaults(Client.discover, REQUEST_DEFAULTS, options)
        connection = self.connection

        def read(result: Dict[str, Any]) -> Any:
            answer = self._requests.reader(DISCOVER, connection)(result)
            self._handshake.learn(connection, result)
            return answer

        return self._cached.answer(  # type: ignore[no-any-return]
            DISCOVER, {}, lambda result: 1, refresh, options, read)

    # Tasks

    @takes_request_options
    def start_tool(
        self, name: str, arguments: Optional[Dict[str, Any]] = None, *,
        ttl: Optional[float] = None, rounds: Optional[str] = None, **options: "Unpack[RequestOptions]",
    ) -> "ToolTask":
        """Call a tool, and return the task as soon as the server has begun it, see `mcp_ref.ext.tasks.client`.

        Where the server, or the tool, has no tasks, the answer is waited for, and the task that is returned is over.
        ``ttl``: the seconds for which the server should keep the task (2025-11-25; later servers decide by themselves).
        The other options hold until the task has begun; ``progress`` is also called with each new message of the task,
        in the thread that waits for it.
        ``rounds="manual"``: the caller answers what the task asks, by `ToolTask.answer`; what is asked before it begins
        goes to the callbacks.
        """
        options = with_defaults(Client.start_tool, REQUEST_DEFAULTS, options)
        manual = is_manual(rounds)
        params = _named(name, arguments)
        if self._task_support(name) != "forbidden":
            from ..ext.tasks.client.generations import start

            return start(self, params, ttl, options)
        from ..ext.tasks.client.generations import StatelessTask

        known(self.connection)
        result = self._requests.call(CALL_TOOL, params, options, lambda result: result, until="task")
        if result.get("resultType") != "task" or not self.revision.stateless:
            return StatelessTask.finished(self, result, name)
        return StatelessTask.created(self, result, name, manual, options["progress"])

    @strict_options
    def task(
        self, id: str, tool: Optional[str] = None, *, progress: "Optional[ProgressCallback]" = None,
        rounds: Optional[str] = None,
    ) -> "ToolTask":
        """Take up a task that was begun before, perhaps by another process; the server is asked how it is.

        ``tool``: the name of the tool, by which the result is checked. ``progress``, ``rounds``: as `start_tool`.
        Raises `PeerError` for an id that the server does not know (any more), and TypeError for no id, such as that of
        a call that was answered at once.
        """
        if not isinstance(id, str):
            raise TypeError("a task's id is a str, not %.80r: a call that was answered at once has no task" % (id,))
        manual = is_manual(rounds)
        from ..ext.tasks.client.generations import HandshakeTask, StatelessTask

        cls = StatelessTask if self.revision.stateless else HandshakeTask
        return cls(self, id, tool, manual, progress).refresh()

    @takes_request_options
    def list_tasks(
        self, cursor: Optional[str] = None, **options: "Unpack[RequestOptions]"
    ) -> "ListTasksResult":
        """Return one page of the tasks that the server has for us [2025-11-25 basic/utilities/tasks §Listing Tasks].

        ``cursor`` is the ``next_cursor`` of the page before. Other revisions have no such list: `LocalProtocolError`.
        """
        options = with_defaults(Client.list_tasks, REQUEST_DEFAULTS, options)
        params = {} if cursor is None else {"cursor": cursor}
        return self._requests.call(LIST_TASKS, params, options)  # type: ignore[no-any-return]

    def _task_support(self, name: str) -> str:
        """Return what a tool says of tasks in 2025-11-25: ``forbidden``, ``optional`` or ``required``.

        They are forbidden, too, if the server runs no calls as tasks, or this client was made with ``tasks=False``
        [2025-11-25 basic/utilities/tasks §Tool-Level Negotiation] MUST.
        """
        runs = self.connection.session.rules.tasks and has(self.server_capabilities, "tasks.requests.tools.call")
        if not runs or not self._takes_tasks:
            return "forbidden"
        tools = self._cached.cache["tools"].named()
        if tools is None:
            tools = by_name(self.tools())
        execution = getattr(tools.get(name), "execution", None)
        return execution.task_support or "forbidden" if execution is not None else "forbidden"

    # Any message

    def request(
        self,
        method: str,
        params: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        within: "Optional[Incoming]" = None,
        **unknown: NoReturn,
    ) -> Dict[str, Any]:
        """Send any request and return the result object as it came; options as `Connection.request`.

        Also a vendor's, such as ``acme/search``: a name with a prefix that no method of the specification has. A server
        that does not know it answers with -32601, which is a `PeerError`.

        If the server has forgotten our HTTP session, a new one is begun and the request sent again, once; without a
        handshake also in the cases of `mcp_ref.client.request_flow`.
        """
        if unknown:
            refuse(Client.request, unknown)
        flow = RequestFlow(self, self.connection, method, params, {
            "timeout": timeout, "progress": on_progress, "extend_on_progress": extend_on_progress}, read=None)
        return self._requests.run(flow, within)  # type: ignore[no-any-return]

    @strict_options
    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification, one of the specification's or a vendor's such as ``acme/event``; nobody answers.

        Raises `LocalProtocolError` if it may not be sent now.
        """
        self.connection.notify(method, params)

    # The server and this client

    def forget(self) -> None:
        """Forget all cached answers of the server.

        For a program that changes what the server takes it for, such as a token: what the server told one principal may
        not be given to another [2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT.
        """
        self._cached.cache.forget()

    @property
    def server_extensions(self) -> Dict[str, Dict[str, Any]]:
        """The extensions that the server has declared: identifier -> settings.

        [2026-07-28 basic/versioning §Extension Negotiation]
        """
        return extensions_in(self.server_capabilities)

    @property
    def origin(self) -> Optional[str]:
        """The origin of the server, such as ``https://example.com``; None where it has none, as a child process.

        What belongs to the server's own origin may be trusted more than the rest of the world: see `usable_icons`.
        """
        return self.connection.transport.origin

    @strict_options
    def usable_icons(self, item: Any, *, trusted: Sequence[str] = (), svg: bool = False) -> List[Icon]:
        """Return the icons of a tool, resource, template, prompt, or of ``server_info`` that may be shown without harm.

        Those that come whole, and those of the server's own origin. ``trusted``: names of other hosts whose icons may
        be shown; ``svg``: True if SVG may. See `mcp_ref.client.icons` [2025-11-25.. basic/index §`icons`] MUST.
        """
        from .icons import usable_icons

        return usable_icons(item, self.origin, trusted=trusted, svg=svg, limits=self.limits)

    def skills(self) -> "List[Skill]":
        """Return the entries of the skills that the server lists; nothing of them is read. See
        `mcp_ref.ext.skills.client`.

        A server may list only some, and `skill` asks for one by its URI
        [2026-07-28 extensions/skills/skills §Listing Skills]. Raises `CapabilityMissing` if the server has none.
        """
        from ..ext.skills.client import list_skills

        return list_skills(self)

    def skill(self, uri: str) -> "Skill":
        """Return the entry of the skill whose ``SKILL.md`` has this URI. Raises ValueError for the URI of another file,
        `PeerError` -32602 for one that is no skill's, and as `skills`."""
        from ..ext.skills.client import get_skill

        return get_skill(self, uri)

    def load_skill(self, skill: "Union[str, Skill]") -> "LoadedSkill":
        """Read and verify the ``SKILL.md`` of a skill, given its URI or its entry, and return the skill.

        Raises `UnverifiedSkill` if it is not what the entry says, and as `skill`; see `mcp_ref.ext.skills.client`.
        """
        from ..ext.skills.client import load_skill

        return load_skill(self, skill)

    def read_directory(self, uri: str) -> "List[Resource]":
        """Return the files and folders in a folder of the server, such as ``skill://pdf/templates``. Raises
        `CapabilityMissing` if it cannot be asked, and `PeerError` -32602 for what is no folder."""
        from ..ext.skills.client import read_directory

        return read_directory(self, uri)

    @strict_options
    def listen(
        self, *features: str, uris: Sequence[str] = (), callback: Optional[UpdateCallback] = None,
        more: Mapping[str, Sequence[str]] = {},
    ) -> "Subscription":
        """Listen to changes of lists (``"tools"``, ``"prompts"``, ``"resources"``) and of the resources at ``uris``.

        Until the subscription is closed; it is a context manager. ``callback(uri)`` and ``on_update`` are called for
        resources, ``on_notification`` for all. ``more``: a member of the filter that an extension adds -> texts, such
        as ids; the extension hears of them. Where there is a handshake, servers tell of lists unasked, and there is no
        filter: `LocalProtocolError`. Raises `PeerError`, `RequestTimeout`, `ConnectionLost`, and `Busy` at
        ``max_subscriptions``; see `mcp_ref.client.subscriptions`.
        """
        from .subscriptions import FEATURES, HandshakeSubscription, ChangeFilter

        unknown = set(features) - set(FEATURES)
        if unknown or isinstance(uris, str):
            raise TypeError("listen to tools, prompts, resources, and a list of uris; not %r" % (unknown or uris,))
        wanted = ChangeFilter(frozenset(features), frozenset(uris), frozenset(
            (member, text) for member, texts in more.items() for text in texts))
        if self.revision.stateless:
            return self.listening.add(wanted, callback)
        if more:
            raise LocalProtocolError("revision %s has no filter that could have %s" % (self.revision, ", ".join(more)))
        return HandshakeSubscription(self, wanted, callback)

    @strict_options
    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Make a function answer requests of a vendor's server: ``@client.method("acme/ask")``.

        It gets the params and a context, as the other callbacks of a client do, ``ask(params, context)``, and returns
        a dict; None is {}. An exception is logged, and the server gets -32603; an `RpcError` is sent as it is. A server
        asks by ``ctx.call("acme/ask", {...})``, which it cannot in 2026-07-28; see `mcp_ref.peer.extension`. To answer
        from the first moment on, register before `open`. Raises ValueError as `Server.method`.
        """
        def register(function: Handler) -> Handler:
            from ..peer.extension import VendorMethods, checked_result

            if self._vendor is None:
                self._vendor = VendorMethods()
            self._vendor.add(name, function, lambda name, function: Route(
                lambda context, params: checked_result(name, function(params, context))))
            return function

        return register

    @property
    def capabilities(self) -> Dict[str, Any]:
        """The capabilities that this client declares, a JSON object; those of its server: ``server_capabilities``.

        To the server that it is connected to; before that, to one of the newest revision that this client speaks.
        """
        session = None if self._connection is None else self._connection.session
        if session is None or session.revision is None:
            return self.declared(self.revisions[-1])
        return dict(session.capabilities)

    @property
    def wanted(self) -> bool:
        """True if this client is to be connected: it was opened, and has not been closed since."""
        return not self._closing.is_set()

    # Messages of the server (see `Role`)

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """Return the capabilities that this client declares in a revision, as on the wire."""
        return self._handshake.capabilities(revision, revision)

    def on_open(self, connection: Connection) -> None:
        """Let roots and others announce changes from now on, and listen again to what was listened to."""
        self.offers.attach(self, connection)
        if self._listening is not None:
            self._listening.resume()

    def on_closed(self, connection: Connection, reason: str) -> None:
        """Let roots and others announce nothing more: the connection has ended."""
        self.offers.detach(self)

    def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        """Return how a request of the server is answered; None if it is not."""
        route = super().route(connection, method, revision) or self.offers.route(self, method, revision)
        return self._vendor.route(method) if route is None and self._vendor is not None else route

    def on_notification_read(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Forget at once what has changed; drop a flood of log messages [.. server/utilities/logging §Security] SHOULD,
        and, where there are streams, what belongs to none."""
        if connection.session.rules.stateless:
            from .subscriptions import STREAMED

            listening = self._listening
            if method in STREAMED and listening is None:
                connection.counters.note("notification of no stream", "%s, and nothing was asked for" % method)
                return False
            if method in STREAMED and not listening.accepts(connection, method, params):  # type: ignore[union-attr]
                return False
        if method == "notifications/message" and not connection.rate("max_log_messages_per_second").take():
            text = "more than max_log_messages_per_second (%g)" % self.limits.max_log_messages_per_second
            connection.counters.note("dropped log message", text)
            return False
        if "lists" in connection.state:
            connection.state["lists"].on_notification(method, params)
        return True

    def hears(self, method: str) -> bool:
        """Return True for a vendor's notification, if there is an ``on_notification``; see `Role.hears`."""
        return self.on_notification is not None and is_vendor(method)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Call the callbacks for a notification, of roots and others, of extensions, of the user. One that breaks its
        form is dropped [.. server/utilities/logging §Security] SHOULD."""
        row = connection.session.lookup(method)
        if row is None and self.hears(method):
            try:
                self.on_notification(method, params)  # type: ignore[misc]
            except Exception as error:
                log_raised(connection, "on_notification callback %s" % name_of(self.on_notification), error, method)
            return
        if row is None or self.extensions is not None and self.extensions.undeclared(connection, row):
            return
        try:
            message = decode(params_class(row), params, connection.session.rules, forgive=connection.forgive)
        except DecodeError as error:
            connection.counters.note("malformed notification", "%s: %s" % (method, error))
            return
        for option, callback in self._callbacks_for(connection, method, params, message):
            try:
                callback()
            except Exception as error:
                log_raised(connection, ("%s callback %s" % (option, name_of(callback))).strip(), error, method)

    def _callbacks_for(
        self, connection: Connection, method: str, params: Dict[str, Any], message: Any
    ) -> "List[Tuple[str, partial[Any]]]":
        """Return what takes a notification, each with the option of `Client` that has given it, "" for another one."""
        callbacks: "List[Tuple[str, partial[Any]]]" = []
        if method == "notifications/message" and self.on_log is not None:
            callbacks.append(("on_log", partial(self.on_log, message.level, message.data, message.logger)))
        elif method == RESOURCE_UPDATED:
            stream = connection.session.rules.stateless and self._listening
            subscriptions = stream or connection.state.get("subscriptions")
            for listener in () if subscriptions is None else subscriptions.listeners(message.uri):
                callbacks.append(("", partial(listener, message.uri)))
            if self.on_update is not None:
                callbacks.append(("on_update", partial(self.on_update, message.uri)))
        elif method == TASK_STATUS:
            from ..ext.tasks.client.task import deliver_state

            callbacks.append(("", partial(deliver_state, connection, encode(message, connection.session.rules))))
        of_offer = self.offers.notifications.get(method)
        if of_offer is not None:
            callbacks.append(("", partial(of_offer, connection, params)))
        if self.extensions is not None:
            callbacks.append(("", partial(self.extensions.heard, connection, method, params)))
        if self.on_notification is not None:
            callbacks.append(("on_notification", partial(self.on_notification, method, params)))
        return callbacks

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """Return a name for the user's code that answers a request; see `Role.handler_of`."""
        option = REQUESTS.get(method)
        return super().handler_of(method, params, revision) if option is None else "%s callback" % option

    def on_stream_ended(self, connection: Connection, id: "RequestId", reason: str) -> bool:
        """Take that the server ends a stream of ours; False if it is none. See `mcp_ref.client.subscriptions`."""
        return self._listening is not None and self._listening.on_stream_ended(connection, id, reason)


def _named(name: str, arguments: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def _name_of(transport: Transport) -> str:
    """Return the key of a server in ``eras``; "" where nothing names it."""
    return transport.origin or transport.address or ""
