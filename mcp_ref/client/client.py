"""The client: one connection to one server, from `Client.open` to `Client.close`.

Its typed calls are in `mcp_ref.client.calls`, what it does for the server in `mcp_ref.client.client_capabilities`.
"""

import threading
from functools import partial
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, List, Mapping, MutableMapping, NoReturn, Optional, Sequence, TypeVar, Union,
)

from ..codec import DecodeError, decode, encode
from ..diagnostics.packagelog import name_of
from ..errors import ConnectionLost, LocalProtocolError, McpError
from ..jsonrpc import Notification, shown
from ..messages.base import Icon, Implementation
from ..methods import RESOURCE_UPDATED, SET_LOG_LEVEL, SUBSCRIBE, TASK_STATUS, is_vendor, params_class
from ..options import REQUEST_TIMEOUT, refuse, spelt, with_defaults
from ..peer.context import Context, Route, log_raised
from ..peer.dispatcher import Connection
from ..peer.inflight import Inflight
from ..peer.request_table import ProgressCallback
from ..protocol import lifecycle
from ..protocol.lifecycle import UNDECLARED, extensions_in
from ..revisions import Revision
from ..transports.base import Transport, successor, was_read
from ..version import __version__
from .cached_calls import CachedCalls
from .calls import Calls
from .client_capabilities import REQUESTS, Offers
from .opening import DEFAULT_ERA, Handshake, Opening
from .options import CLIENT_DEFAULTS, UpdateCallback, takes_client_options
from .request_flow import RequestFlow, Requests, Restarts, connection_for_retry

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..ext.skills.client import LoadedSkill
    from ..jsonrpc import RequestId
    from ..messages.extensions.skills import Skill
    from ..messages.resources import Resource
    from ..peer.extension import Extension, VendorMethods
    from ..peer.inflight import Incoming
    from .options import ClientOptions
    from .subscriptions import Subscription

Self = TypeVar("Self", bound="Client")
Handler = TypeVar("Handler", bound=Callable[[Dict[str, Any], Context], Optional[Dict[str, Any]]])


class Client(Calls):
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
        self._handshake = Handshake(self, self.info, partial(
            self.offers.declare, options["capabilities"], options["experimental"]), cache)
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
        self._handshake.reset()
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
        advised = ConnectionLost("%s\n%s" % (error, self.advice))
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

    @spelt
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

    @spelt
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

    @spelt
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

    @spelt
    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Make a function answer requests of a vendor's server: ``@client.method("acme/ask")``.

        It gets the params and a context, as the other callbacks of a client do, ``ask(params, context)``, and returns
        a dict; None is {}. An exception is logged, and the server gets -32603; an `RpcError` is sent as it is. A server
        asks by ``ctx.call("acme/ask", {...})``, which it cannot in 2026-07-28; see `mcp_ref.peer.extension`. To answer
        from the first moment on, register before `open`. Raises ValueError as `Server.method`.
        """
        def register(function: Handler) -> Handler:
            if self._vendor is None:
                from ..peer.extension import VendorMethods

                self._vendor = VendorMethods()
            self._vendor.add(name, function, _route_of)
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
        if connection.session.rules.stateless and not self._streamed(connection, method, params):
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
        for callback in self._callbacks_for(connection, method, params, message):
            try:
                callback()
            except Exception as error:
                log_raised(connection, self._shown_callback(callback), error, method)

    def _shown_callback(self, callback: "partial[Any]") -> str:
        """Return a name for a callback, for log records: the option of `Client` and the function."""
        option = next((name for name in CALLBACKS if callback.func == getattr(self, name)), "")
        return ("%s callback %s" % (option, name_of(callback))).strip()

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """Return a name for the user's code that answers a request; see `Role.handler_of`."""
        option = REQUESTS.get(method)
        return super().handler_of(method, params, revision) if option is None else "%s callback" % option

    def _streamed(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """True if a notification is one that needs no stream, or names one of ours."""
        from .subscriptions import STREAMED

        if method not in STREAMED:
            return True
        if self._listening is None:
            connection.counters.note("notification of no stream", "%s, and nothing was asked for" % method)
            return False
        return self._listening.accepts(connection, method, params)

    def on_stream_ended(self, connection: Connection, id: "RequestId", reason: str) -> bool:
        """Take that the server ends a stream of ours; False if it is none. See `mcp_ref.client.subscriptions`."""
        return self._listening is not None and self._listening.on_stream_ended(connection, id, reason)

    def _callbacks_for(
        self, connection: Connection, method: str, params: Dict[str, Any], message: Any
    ) -> "List[partial[Any]]":
        callbacks: "List[partial[Any]]" = []
        if method in LISTENERS:
            callbacks += LISTENERS[method](self, connection, message)
        of_offer = self.offers.notifications.get(method)
        if of_offer is not None:
            callbacks.append(partial(of_offer, connection, params))
        if self.extensions is not None:
            callbacks.append(partial(self.extensions.heard, connection, method, params))
        if self.on_notification is not None:
            callbacks.append(partial(self.on_notification, method, params))
        return callbacks

    def _log_callbacks(self, connection: Connection, message: Any) -> "List[partial[Any]]":
        return [partial(self.on_log, message.level, message.data, message.logger)] if self.on_log is not None else []

    def _update_callbacks(self, connection: Connection, message: Any) -> "List[partial[Any]]":
        stream = connection.session.rules.stateless and self._listening
        subscriptions = stream or connection.state.get("subscriptions")
        callbacks: List[UpdateCallback] = [] if subscriptions is None else subscriptions.listeners(message.uri)
        if self.on_update is not None:
            callbacks.append(self.on_update)
        return [partial(callback, message.uri) for callback in callbacks]

    def _task_callbacks(self, connection: Connection, message: Any) -> "List[partial[Any]]":
        from ..ext.tasks.client.task import tell

        return [partial(tell, connection, encode(message, connection.session.rules))]


def _route_of(name: str, function: Callable[[Dict[str, Any], Context], Any]) -> Route:
    """Return how a vendor's request is answered."""
    from ..peer.extension import checked_result

    return Route(lambda context, params: checked_result(name, function(params, context)))


def _name_of(transport: Transport) -> str:
    """Return the key of a server in ``eras``; "" where nothing names it."""
    return transport.origin or transport.address or ""


CALLBACKS = ("on_log", "on_update", "on_notification")
"""The options of `Client` that take notifications."""
LISTENERS: "Dict[str, Callable[[Client, Connection, Any], List[partial[Any]]]]" = {
    "notifications/message": Client._log_callbacks,
    "notifications/resources/updated": Client._update_callbacks,
    TASK_STATUS: Client._task_callbacks,
}
"""Notification -> the callbacks for it, besides those of the offers and ``on_notification``."""
