"""The client: one connection to one server. What it asks for is in `mcp_ref.client.calls`, what it offers in `offers`.
"""

import threading
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from ..codec import DecodeError, decode, encode
from ..errors import ConnectionLost, LocalProtocolError, PeerProtocolError
from ..jsonrpc import json_type
from ..limits import DEFAULT, Limits
from ..messages.base import Icon, Implementation
from ..messages.lifecycle import ClientCapabilities, InitializeRequestParams, InitializeResult, Settings
from ..methods import params_class
from ..peer.context import Route
from ..peer.dispatcher import Connection
from ..peer.workers import Executor
from ..protocol import lifecycle, negotiation
from ..revisions import Revision
from ..transports.base import Transport
from .caches import Lists
from .calls import Calls
from .offers import Offers
from .subscriptions import Subscriptions, UpdateCallback

Self = TypeVar("Self", bound="Client")
NotificationCallback = Callable[[str, Dict[str, Any]], None]
"""Called with method and params."""
LogCallback = Callable[[str, Any, Optional[str]], None]
"""Called with level, data (any JSON value) and the logger's name."""


class Client(Calls):
    """A client of one server. Made by `connect`, or made and then opened on a transport.

    ``name``, ``version``, ``title``, ``description``, ``website_url`` and ``icons`` introduce it. ``revisions``: names
    of those to speak, newest preferred (default: all with a handshake).

    What it does for the server, each declared if it is given: ``roots`` (paths, ``file:`` URIs, or a
    `mcp_ref.client.roots.Roots`), ``sampling`` and ``elicitation`` (a function ``(params, context)``, or a
    `mcp_ref.client.sampling.Sampling`, `mcp_ref.client.elicitation.Elicitation`); ``experimental`` capabilities by
    name; ``capabilities``: more that a subclass declares because it answers the requests itself.

    What it hears, one at a time and in order: ``on_log(level, data, logger)``, ``on_update(uri)`` for each resource
    that changed, ``on_notification(method, params)`` for whatever the server announces.

    ``check_results``: whether results of tools are checked, see `mcp_ref.client.structured`. ``executor``: who runs
    callbacks. ``strict`` refuses what real but careless servers send.
    ``keepalive``: seconds between pings, which end the connection when unanswered (default: no pings).
    """

    party = lifecycle.CLIENT

    def __init__(
        self,
        name: str = "mcp_ref",
        version: str = "0",
        *,
        title: Optional[str] = None,
        description: Optional[str] = None,
        website_url: Optional[str] = None,
        icons: Optional[List[Icon]] = None,
        revisions: Optional[Sequence[Union[str, Revision]]] = None,
        roots: Any = None,
        sampling: Any = None,
        elicitation: Any = None,
        experimental: Optional[Dict[str, Settings]] = None,
        capabilities: Optional[ClientCapabilities] = None,
        on_log: Optional[LogCallback] = None,
        on_update: Optional[UpdateCallback] = None,
        on_notification: Optional[NotificationCallback] = None,
        limits: Limits = DEFAULT,
        executor: Optional[Executor] = None,
        strict: bool = False,
        check_results: bool = True,
        keepalive: Optional[float] = None,
    ) -> None:
        self.info = Implementation(name, version, title, description, website_url, icons)
        self.revisions = negotiation.supported(revisions)
        self.offers = Offers({"roots": roots, "sampling": sampling, "elicitation": elicitation})
        self.capabilities = self.offers.declare(capabilities, experimental, self.revisions[-1])
        self.on_log = on_log
        self.on_update = on_update
        self.on_notification = on_notification
        self.limits = limits
        self.executor = executor
        self.strict = strict
        self.check_results = check_results
        self.keepalive = keepalive
        self.server_info: Optional[Implementation] = None
        """Who the server says it is; known after `open`."""
        self.server_capabilities: Mapping[str, Any] = {}
        self.instructions: Optional[str] = None
        """How the server wants to be used; for the model."""
        self._renewing = threading.Lock()
        self._wanted = False  # between `open` and `close`

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
        connection = Connection(transport, self, self.limits, self.executor, lenient=not self.strict)
        self._wanted = True
        self._connection = connection.start()
        try:
            self._shake_hands(connection)
        except BaseException:
            self.close()
            raise
        return self

    def _renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """Begin a new session where the server has forgotten the old one; whoever comes first does it for all.

        [2025-03-26..2025-11-25 basic/transports §Session Management] MUST. Reading: when there is something
        to say again. Only what the server has refused because of the session, or what was not sent at all, is sent
        again. What a server remembers of a session is gone with it: subscriptions, the level of log messages.
        """
        if not error.unsent:
            raise error
        with self._renewing:
            if self._connection is not ended and self._connection is not None:
                return self._connection
            fresh = ended.transport.again() if self._wanted else None
            if fresh is None:
                raise error
            ended.close()
            ended.wait_closed(self.limits.shutdown_grace)
            connection = Connection(fresh, self, self.limits, self.executor, lenient=not self.strict).start()
            try:
                self._shake_hands(connection)
                if not self._wanted:  # closed meanwhile
                    raise error
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return connection

    def _shake_hands(self, connection: Connection) -> None:
        """[..2025-11-25 basic/lifecycle §Initialization] MUST: who we are and what we can, then `initialized`."""
        offered = self.revisions[-1]
        opening = encode(InitializeRequestParams(offered.name, self.capabilities, self.info), offered)
        session = connection.session
        session.capabilities = opening["capabilities"]
        answer = connection.request("initialize", opening, timeout=self.limits.initialize_timeout)
        agreed = negotiation.accept(_stated(answer), self.revisions)
        try:
            result = decode(InitializeResult, answer, agreed, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to initialize: %s" % error, negotiation.CITATION) from None
        session.capabilities = encode(self.capabilities, agreed)
        session.peer_capabilities = self.server_capabilities = answer["capabilities"]
        session.peer_info = answer["serverInfo"]
        session.instructions = self.instructions = result.instructions
        self.server_info = result.server_info
        connection.state["lists"] = Lists(self.server_capabilities, self.limits.max_cached_items)
        connection.state["subscriptions"] = Subscriptions(self.limits.max_subscriptions)
        self._results = None  # it is about the server of the connection before
        connection.agree(agreed)
        connection.transport.agreed(agreed)
        connection.notify("notifications/initialized")
        connection.keep_alive()
        self.opened(connection)

    def close(self) -> None:
        """End the connection and, if there is one, the child process. From any thread, as often as one likes."""
        self._wanted = False
        if self._connection is not None:
            self._connection.close()
            self._connection.wait_closed(self.limits.shutdown_grace + self.limits.terminate_grace + 1.0)

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

    def usable_icons(self, item: Any, **options: Any) -> List[Icon]:
        """The icons of a tool, resource, template, prompt, or of ``server_info`` that may be shown without harm.

        Those that come whole, and those of the server's own origin; options: see `mcp_ref.client.icons`
        [2025-11-25.. basic/index §`icons`] MUST.
        """
        from .icons import usable_icons

        return usable_icons(item, self.origin, limits=self.limits, **options)

    # What the server sends (see `Role`)

    def opened(self, connection: Connection) -> None:
        """Roots and others may announce things from now on."""
        self.offers.attach(self, connection)

    def closed(self, connection: Connection, reason: str) -> None:
        """And from now on no more."""
        self.offers.detach(self)

    def route(self, connection: Connection, method: str) -> Optional[Route]:
        """How a request of the server is answered."""
        return super().route(connection, method) or self.offers.route(self, connection, method)

    def arrived(self, connection: Connection, method: str, params: Dict[str, Any]) -> bool:
        """Forget at once what has changed, and stop a flood of log messages
        [.. server/utilities/logging §Security] SHOULD."""
        if method == "notifications/message" and not connection.rate("max_log_messages_per_second").take():
            text = "more than max_log_messages_per_second (%g)" % self.limits.max_log_messages_per_second
            connection.counters.note("dropped log message", text)
            return False
        if "lists" in connection.state:
            connection.state["lists"].heard(method)
        return True

    def notification(self, connection: Connection, method: str, params: Dict[str, Any]) -> None:
        """Tell who wants to hear of it: our callbacks, the offers, the user; what breaks its form is dropped
        [.. server/utilities/logging §Security] SHOULD."""
        row = connection.session.lookup(method)
        if row is None:
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
                connection.counters.note("handler errors", "a callback for %s raised" % method, error)

    def _listeners(
        self, connection: Connection, method: str, params: Dict[str, Any], message: Any
    ) -> List[Callable[[], None]]:
        found: List[Callable[[], None]] = []
        if method in LISTENERS:
            found += LISTENERS[method](self, connection, message)
        heard = self.offers.notifications.get(method)
        if heard is not None:
            found.append(partial(heard, connection, params))
        if self.on_notification is not None:
            found.append(partial(self.on_notification, method, params))
        return found

    def _log_listeners(self, connection: Connection, message: Any) -> List[Callable[[], None]]:
        return [partial(self.on_log, message.level, message.data, message.logger)] if self.on_log is not None else []

    def _update_listeners(self, connection: Connection, message: Any) -> List[Callable[[], None]]:
        wanted: List[UpdateCallback] = connection.state["subscriptions"].listeners(message.uri)
        if self.on_update is not None:
            wanted.append(self.on_update)
        return [partial(tell, message.uri) for tell in wanted]


def _stated(answer: Dict[str, Any]) -> str:
    """The revision that an answer to initialize states, which decides how the rest of it is read."""
    stated = answer.get("protocolVersion")
    if not isinstance(stated, str):
        got = json_type(stated) if "protocolVersion" in answer else "nothing"
        text = "the answer to initialize: result.protocolVersion: expected string, got %s" % got
        raise PeerProtocolError(text, negotiation.CITATION)
    return stated


LISTENERS: Dict[str, Callable[[Client, Connection, Any], List[Callable[[], None]]]] = {
    "notifications/message": Client._log_listeners,
    "notifications/resources/updated": Client._update_listeners,
}
"""Who hears of a notification besides the offers and ``on_notification``."""
