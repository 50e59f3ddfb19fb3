"""The client: one connection to one server. What it asks for is in `mcp_ref.client.calls`, what it offers in
`client_capabilities`.
"""

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, MutableMapping, Optional, Sequence, TypeVar, Union

from .. import __version__
from ..codec import DecodeError, decode
from ..diagnostics.usercode import name_of
from ..errors import ConnectionLost, LocalProtocolError
from ..jsonrpc import shown
from ..limits import DEFAULT, Limits
from ..messages.base import Icon, Implementation
from ..messages.lifecycle import ClientCapabilities, Settings
from ..methods import is_vendor, params_class
from ..options import spelt
from ..peer.context import Context, Route
from ..peer.dispatcher import Connection
from ..peer.executors import Executor
from ..peer.inflight import Inflight
from ..peer.raised import log as log_raised
from ..protocol import lifecycle, negotiation
from ..revisions import Revision
from ..transports.base import Transport
from .cache.store import SharedAnswers
from .client_capabilities import REQUESTS, Offers
from .era import DEFAULT_ERA, Opening
from .handshake import Greeting
from .recovery import Restarts
from .subscriptions import UpdateCallback

if TYPE_CHECKING:
    from ..jsonrpc import RequestId
    from ..peer.extension import Extension
    from ..peer.vendor import VendorMethods
    from .client_capabilities import GivenElicitation, GivenRoots, GivenSampling
    from .listening import Listening, Wish

Self = TypeVar("Self", bound="Client")
Handler = TypeVar("Handler", bound=Callable[[Dict[str, Any], Context], Optional[Dict[str, Any]]])
NotificationCallback = Callable[[str, Dict[str, Any]], object]
"""Called with method and params."""
LogCallback = Callable[[str, Any, Optional[str]], object]
"""Called with level, data (any JSON value) and the logger's name."""


class Client(Greeting):
    """A client of one server. Made by `connect`, or made and then opened on a transport.

    ``name``, ``version``, ``title``, ``description``, ``website_url`` and ``icons`` introduce it.

    What it speaks, newest preferred: ``era`` is ``"auto"`` (whatever the server does; the default), ``"modern"`` (no
    handshake), ``"legacy"`` (with one) or the name of a revision; ``revisions`` names those to choose from (default:
    all five).
    ``eras``: what is known of servers, a mapping of names to names that may outlive this client; see
    `mcp_ref.client.era`.

    What it does for the server, each declared if it is given: ``roots`` (paths, ``file:`` URIs, or a
    `mcp_ref.client.roots.Roots`), ``sampling`` and ``elicitation`` (a function ``(params, context)``, or a
    `mcp_ref.client.sampling.Sampling`, `mcp_ref.client.elicitation.Elicitation`); ``experimental`` capabilities by
    name; ``capabilities``: more that a subclass declares because it answers the requests itself.

    What it hears, one at a time and in order: ``on_log(level, data, logger)``, ``on_update(uri)`` for each resource
    that changed, ``on_notification(method, params)`` for whatever the server announces, also
    what is outside of the specification, such as ``acme/event``.

    ``extensions``: what it does beyond the protocol, see `mcp_ref.peer.extension`.
    ``cache``: a `SharedAnswers`, where this client and others share what servers say is public; see
    `mcp_ref.client.cache.store`. ``check_results``: whether results of tools are checked, see
    `mcp_ref.client.structured`. ``executor``: who runs callbacks. ``strict`` refuses what real but careless servers
    send. ``keepalive``: seconds between pings, which end the connection when unanswered (default: no pings).
    """

    party = lifecycle.CLIENT

    @spelt
    def __init__(
        self,
        name: str = "mcp_ref",
        version: str = __version__,
        *,
        title: Optional[str] = None,
        description: Optional[str] = None,
        website_url: Optional[str] = None,
        icons: Optional[List[Icon]] = None,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        era: Optional[str] = None,
        eras: Optional[MutableMapping[str, str]] = None,
        roots: "GivenRoots" = None,
        sampling: "GivenSampling" = None,
        elicitation: "GivenElicitation" = None,
        experimental: Optional[Dict[str, Settings]] = None,
        capabilities: Optional[ClientCapabilities] = None,
        on_log: Optional[LogCallback] = None,
        on_update: Optional[UpdateCallback] = None,
        on_notification: Optional[NotificationCallback] = None,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        strict: bool = False,
        check_results: bool = True,
        cache: Optional[SharedAnswers] = None,
        extensions: "Optional[Sequence[Extension]]" = None,
        keepalive: Optional[float] = None,
    ) -> None:
        self.info = Implementation(name, version, title, description, website_url, icons)
        self.revisions = negotiation.spoken(era, revisions, DEFAULT_ERA)
        self.eras: MutableMapping[str, str] = {} if eras is None else eras
        self.offers = Offers({"roots": roots, "sampling": sampling, "elicitation": elicitation})
        self.offered = partial(self.offers.declare, capabilities, experimental)
        """What is declared to who speaks a revision."""
        self.on_log = on_log
        self.on_update = on_update
        self.on_notification = on_notification
        self.limits = limits
        self.executor = executor
        self.strict = strict
        self.check_results = check_results
        self.cache = cache
        if extensions:
            self._extend(extensions)
        self.keepalive = keepalive
        self._vendor: "Optional[VendorMethods]" = None
        self.questions = Inflight()
        """What servers ask by their results and is being answered; see `mcp_ref.client.rounds`."""
        self._restarts = Restarts(limits)
        self._ending = threading.Event()
        self._ending.set()  # cleared between `open` and `close`
        self._renewing = threading.Lock()
        self._coming: Optional[Connection] = None  # the connection that was begun last
        self._listening: "Optional[Listening]" = None
        self._making = threading.Lock()

    def __repr__(self) -> str:
        """Who the server is, the revision, and what became of the connection; what the server said is cut."""
        connection, server = self._connection, self.server_info
        if connection is None:
            return "<%s, not connected>" % type(self).__name__
        name = shown("%s %s" % (server.name, server.version), 60) if server is not None else "a server without a name"
        state = "closed" if self._ending.is_set() else "lost" if connection.closed else "open"
        return "<%s of %s, %s, %s>" % (type(self).__name__, name, connection.session.rules.name, state)

    # Life

    def open(self, transport: Transport) -> "Client":
        """Connect over this transport and shake hands; on any failure the transport is closed. After `close` it may be
        done again.

        Raises `ConnectFailed`, `ConnectionLost` with the server's last words, `RequestTimeout`, `PeerProtocolError` if
        there is no revision in common, or `LocalProtocolError` if this client is connected already.
        """
        if self._connection is not None and not self._connection.closed:
            transport.close()
            raise LocalProtocolError("the client is connected already: close() it first, or make another one")
        self._listening = None
        self._ending.clear()
        self._log_level = None
        try:
            self._converse(transport, self.eras.get(_name_of(transport)))
        except BaseException:
            self.close()
            raise
        return self

    def _converse(self, transport: Transport, known: Optional[str], before: Optional[Connection] = None) -> None:
        """Begin a conversation on this transport, which is closed if that fails.

        ``known``: the revision that was spoken with the server the last time. ``before``: the connection whose place
        this one takes.
        """
        connection = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        if before is not None:
            connection.table.follow(before.table)
        connection.start()
        self._coming = connection
        if before is None:
            self._connection = connection
        opening = Opening(self, connection, known)
        try:
            if self.wanted:  # or `close` came before it knew of this connection
                opening.run()
            if not self.wanted:
                raise ConnectionLost("the client was closed meanwhile")
        except BaseException as error:
            connection.close()
            connection.wait_closed(self.limits.shutdown_grace)
            fresh = self._another_try(opening, transport, error)
            if fresh is None:
                raise
        else:
            self._connection = connection
            self._remember(transport, connection.session.rules)
            self.opened(connection)
            return
        self._converse(fresh, negotiation.with_handshake(self.revisions)[-1].name, before)

    def _another_try(self, opening: Opening, transport: Transport, error: BaseException) -> Optional[Transport]:
        """Where to begin with a handshake, if the server may have ended because we did not."""
        return transport.renew() if opening.guessing and self.wanted and isinstance(error, ConnectionLost) else None

    def _remember(self, transport: Transport, revision: Revision) -> None:
        """[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD"""
        name = _name_of(transport)
        if name:
            self.eras[name] = revision.name

    def renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """The connection that takes the place of one that has ended; whoever comes first makes it, for all.

        In the handshake era there is one where the server has forgotten the session
        [2025-03-26..2025-11-25 basic/transports §Session Management] MUST. Reading: when there is something
        to say again. Only what the server has refused because of the session, or what was not sent at all, is sent
        again. What a server remembers of a session is gone with it: subscriptions, the level of log messages.
        In the stateless era: see `mcp_ref.client.recovery`.
        """
        stateless = ended.session.rules.stateless
        if not error.unsent and not stateless:
            raise error
        with self._renewing:
            if self._connection is not ended and self._connection is not None:
                return self._connection
            fresh = ended.exchanges.reopen() if self.wanted and ended.exchanges is not None else None
            if fresh is None and stateless and self.wanted:
                fresh = self._restarts.next(ended, error, self._ending)
            if fresh is None:
                raise error
            ended.close()
            ended.wait_closed(self.limits.shutdown_grace)
            self._converse(fresh, ended.session.rules.name, ended)
            return self.connection

    def close(self) -> None:
        """End the connection and, if there is one, the child process. From any thread, as often as one likes."""
        self._ending.set()
        self.questions.cancel_all("the client was closed")
        listening = self._listening
        if listening is not None:
            listening.close()
        if self._coming is not None:
            self._coming.close()
        if self._connection is not None:
            self._connection.close()
            self._connection.wait_closed(self.limits.shutdown_grace + self.limits.terminate_grace + 1.0)
        if listening is not None:
            listening.wait_closed(self.limits.shutdown_grace)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    @property
    def origin(self) -> Optional[str]:
        """Where the server is, such as ``https://example.com``; None where that means nothing, as for a child process.

        What belongs to the server's own origin may be trusted more than the rest of the world: see `usable_icons`.
        """
        return self.connection.transport.origin

    @spelt
    def usable_icons(self, item: Any, *, trusted: Sequence[str] = (), svg: bool = False) -> List[Icon]:
        """The icons of a tool, resource, template, prompt, or of ``server_info`` that may be shown without harm.

        Those that come whole, and those of the server's own origin. ``trusted``: names of other hosts whose icons may
        be shown; ``svg``: whether SVG may. See `mcp_ref.client.icons` [2025-11-25.. basic/index §`icons`] MUST.
        """
        from .icons import usable_icons

        return usable_icons(item, self.origin, trusted=trusted, svg=svg, limits=self.limits)

    @spelt
    def listen(
        self, *features: str, uris: Sequence[str] = (), callback: Optional[UpdateCallback] = None
    ) -> "Wish":
        """Hear of changes of lists (``"tools"``, ``"prompts"``, ``"resources"``) and of the resources at ``uris``.

        Until the wish is closed; it is a context manager. ``callback(uri)`` and ``on_update`` hear of resources,
        ``on_notification`` of everything. Where there is a handshake, servers tell of lists unasked. Raises
        `PeerError`, `RequestTimeout`, `ConnectionLost`, and `Busy` at ``max_subscriptions``; see
        `mcp_ref.client.listening`.
        """
        from .listening import Listening

        return Listening.begin(self, features, uris, callback)

    @spelt
    def method(self, name: str) -> Callable[[Handler], Handler]:
        """Make a function answer requests of a vendor's server: ``@client.method("acme/ask")``.

        It gets the params and a context, as the other callbacks of a client do, ``ask(params, context)``, and returns
        a dict; None is {}. What it raises is logged, and the server gets -32603; `RpcError` is that error. A server
        asks by ``ctx.call("acme/ask", {...})``, which it cannot in 2026-07-28; see `mcp_ref.peer.vendor`. To answer
        from the first moment on, register before `open`. Raises ValueError as `Server.method`.
        """
        def register(function: Handler) -> Handler:
            if self._vendor is None:
                from ..peer.vendor import VendorMethods

                self._vendor = VendorMethods()
            self._vendor.add(name, function, _route_of)
            return function

        return register

    @property
    def listening(self) -> "Listening":
        """What it listens to, where it has to ask for that; see `mcp_ref.client.listening`."""
        if self._listening is None:
            from .listening import Listening

            with self._making:
                self._listening = self._listening or Listening(self)
        return self._listening

    @property
    def capabilities(self) -> Dict[str, Any]:
        """What this client declares, a JSON object; what its server does is in ``server_capabilities``, likewise.

        To the server that it is connected to; before that, to one of the newest revision that this client speaks.
        """
        session = None if self._connection is None else self._connection.session
        if session is None or session.revision is None:
            return self.declared(self.revisions[-1])
        return dict(session.capabilities)

    @property
    def wanted(self) -> bool:
        """Whether this client is to be connected: it was opened, and has not been closed since."""
        return not self._ending.is_set()

    # What the server sends (see `Role`)

    def opened(self, connection: Connection) -> None:
        """Roots and others may announce things from now on; and who listened, listens again."""
        self.offers.attach(self, connection)
        if self._listening is not None:
            self._listening.resume()

    def closed(self, connection: Connection, reason: str) -> None:
        """And from now on no more."""
        self.offers.detach(self)

    def route(self, connection: Connection, method: str, revision: Revision) -> Optional[Route]:
        """How a request of the server is answered."""
        found = super().route(connection, method, revision) or self.offers.route(self, method, revision)
        return self._vendor.route(method) if found is None and self._vendor is not None else found

    def arrived(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Forget at once what has changed, and stop a flood of log messages
        [.. server/utilities/logging §Security] SHOULD; and what belongs to no stream, where there are streams."""
        if connection.session.rules.stateless and not self._streamed(connection, method, params):
            return False
        if method == "notifications/message" and not connection.rate("max_log_messages_per_second").take():
            text = "more than max_log_messages_per_second (%g)" % self.limits.max_log_messages_per_second
            connection.counters.note("dropped log message", text)
            return False
        if "lists" in connection.state:
            connection.state["lists"].heard(method, params)
        return True

    def hears(self, method: str) -> bool:
        """See `Role.hears`."""
        return self.on_notification is not None and is_vendor(method)

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Tell who wants to hear of it: our callbacks, the offers, the user; what breaks its form is dropped
        [.. server/utilities/logging §Security] SHOULD."""
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
            message = decode(params_class(row), params, connection.session.rules)
        except DecodeError as error:
            connection.counters.note("malformed notification", "%s: %s" % (method, error))
            return
        for tell in self._listeners(connection, method, params, message):
            try:
                tell()
            except Exception as error:
                log_raised(connection, self._whose(tell), error, method)

    def _whose(self, tell: "partial[Any]") -> str:
        """What a callback is to our user."""
        option = next((name for name in CALLBACKS if tell.func == getattr(self, name)), "")
        return ("%s callback %s" % (option, name_of(tell))).strip()

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """See `Role.handler_of`."""
        asked = REQUESTS.get(method)
        return super().handler_of(method, params, revision) if asked is None else "%s callback" % asked

    def _streamed(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Whether a notification is one that does not need a stream, or names one of ours."""
        from .listening import STREAMED

        if method not in STREAMED:
            return True
        if self._listening is None:
            connection.counters.note("notification of no stream", "%s, and nothing was asked for" % method)
            return False
        return self._listening.accepts(connection, method, params)

    def torn_down(self, connection: Connection, id: "RequestId", reason: str) -> bool:
        """The server ends a stream of ours; see `mcp_ref.client.listening`."""
        return self._listening is not None and self._listening.torn_down(connection, id, reason)

    def _listeners(
        self, connection: Connection, method: str, params: Dict[str, Any], message: Any
    ) -> "List[partial[Any]]":
        found: "List[partial[Any]]" = []
        if method in LISTENERS:
            found += LISTENERS[method](self, connection, message)
        heard = self.offers.notifications.get(method)
        if heard is not None:
            found.append(partial(heard, connection, params))
        if self.extensions is not None:
            found.append(partial(self.extensions.heard, connection, method, params))
        if self.on_notification is not None:
            found.append(partial(self.on_notification, method, params))
        return found

    def _log_listeners(self, connection: Connection, message: Any) -> "List[partial[Any]]":
        return [partial(self.on_log, message.level, message.data, message.logger)] if self.on_log is not None else []

    def _update_listeners(self, connection: Connection, message: Any) -> "List[partial[Any]]":
        stream = connection.session.rules.stateless and self._listening
        wanted: List[UpdateCallback] = (stream or connection.state["subscriptions"]).listeners(message.uri)
        if self.on_update is not None:
            wanted.append(self.on_update)
        return [partial(tell, message.uri) for tell in wanted]


def _route_of(name: str, function: Callable[[Dict[str, Any], Context], Any]) -> Route:
    """How a vendor's request is answered."""
    from ..peer.vendor import checked_result

    return Route(lambda context, params: checked_result(name, function(params, context)))


def _name_of(transport: Transport) -> str:
    """What a server is called in ``eras``; "" where nothing names it."""
    return transport.origin or transport.address or ""


CALLBACKS = ("on_log", "on_update", "on_notification")
"""Options of `Client` that hear of notifications."""
LISTENERS: "Dict[str, Callable[[Client, Connection, Any], List[partial[Any]]]]" = {
    "notifications/message": Client._log_listeners,
    "notifications/resources/updated": Client._update_listeners,
}
"""Who hears of a notification besides the offers and ``on_notification``."""
