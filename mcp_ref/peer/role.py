"""The base of the two roles: what a server or a client supplies to its connections.

Stateless requests
------------------

Each names its revision, and what its sender can do. A server that speaks such a revision takes them at any time, also
beside a handshake session on the same connection
[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] MAY. Nothing of one request is
left when it is answered [2026-07-28 basic/index §Statelessness] MUST NOT: it has a `Session` of its own.

=============================================  ===============================================================
a request that comes                           is
=============================================  ===============================================================
with the members of `envelope` in `_meta`      stateless
without, `initialize` or in a session          one of the handshake era
without, before any handshake                  malformed, -32602; but a ping is answered as ever
`initialize`, to a server without that era     refused, -32022 with what the server speaks
=============================================  ===============================================================

Pings
-----

Both sides answer a ping. A side that is given an interval (``Server("demo", keepalive=30.0)``) also sends one from time
to time, so that a peer that hangs is noticed before it is needed. A peer that ends is noticed without pings, and each
ping costs the other side something, so it is off otherwise. The frequency is the user's choice
[..2025-11-25 basic/utilities/ping §Implementation Considerations] SHOULD.

A ping that has no answer after one more interval ends the connection, and a log record says why; waiting callers
get `ConnectionLost` with that reason [..2025-11-25 basic/utilities/ping §Error Handling] SHOULD. An error is an
answer, too: the peer is there.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Sequence, Tuple, Union

from ..diagnostics.packagelog import get_logger
from ..errors import INTERNAL_ERROR, METHOD_NOT_FOUND, McpError, PeerError, RequestTimeout, RpcError, TooManyQuestions
from ..jsonrpc import Request, RequestId, shown
from ..methods import INITIALIZE, PING, REQUEST, WIRE, lookup
from ..protocol import envelope, lifecycle
from ..revisions import Revision
from ..threads import start_thread
from .context import Context, Route, report
from .session import Session

if TYPE_CHECKING:
    from .dispatcher import Connection
    from .extension import Extension, Extensions


class Role:
    """A server or a client, as its connections see it. Every method may be overridden, and none is for users.

    So `dir` of a server or client, by which names are completed, leaves the methods of this class out.
    """

    party = ""
    """The side, ``"client"`` or ``"server"``."""
    keepalive: Optional[float] = None
    """Seconds between pings to the peer; None: no pings. See `keep_alive`."""

    extensions: "Optional[Extensions]" = None
    """The extensions of this side; None: it has none."""
    revisions: Tuple[Revision, ...] = ()
    """The revisions that it speaks, oldest first."""

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in METHODS]

    def route(self, connection: "Connection", method: str, revision: Revision) -> Optional[Route]:
        """Return how this request is answered in this revision; None: method not found.

        The route is kept once the session is operating.

        Both sides answer ping, at once and emptily [..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST.
        """
        if method == PING and lookup(PING, revision) is not None:
            return Route(lambda context, params: {}, inline=True)
        return None

    def _extend(self, extensions: "Sequence[Extension]") -> None:
        from .extension import Extensions

        if self.extensions is None:
            self.extensions = Extensions(extensions)
            return
        for extension in extensions:
            self.extensions.add(extension)

    def with_extensions(self, capabilities: Dict[str, Any], revision: Revision) -> Dict[str, Any]:
        """Return the same capabilities, as on the wire of this revision, with the extensions declared in them."""
        found = None if self.extensions is None else self.extensions.declared(self, revision)
        if found:
            capabilities["extensions"] = dict(capabilities.get("extensions") or {}, **found)
        return capabilities

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """Return the capabilities that this side declares to a peer of this revision, where there is no handshake."""
        return {}

    def on_notification_read(self, connection: "Connection", method: str, params: Dict[str, Any]) -> bool:
        """Look at a notification that has just been read, and that the dispatcher does not handle. Returns False to
        drop it.

        Called on the reader, before any later message is looked at: quick, free of user code, and it raises nothing.
        """
        return True

    def hears(self, method: str) -> bool:
        """Return True if a notification that is outside of the specification and of extensions has a listener."""
        return False

    def notification(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Handle a notification that `arrived` took. Called in order, on a worker."""

    def on_stream_ended(self, connection: "Connection", id: RequestId, reason: str) -> bool:
        """End a stream that a request of ours has opened, because the peer says so. Returns False if it is none of
        ours."""
        return False

    def refused(self, method: str) -> Optional[RpcError]:
        """Return the error for a request without a route, if it should be another than -32601; else None."""
        return None

    def answer_error(self, context: Context, error: RpcError, in_tool: bool) -> Exception:
        """Return the error that a handler has raised to be sent, or another one if this peer may not be sent it.

        ``in_tool``: other exceptions of this handler become results.
        """
        return error

    def answer_errors(self, context: Context, error: BaseException) -> RpcError:
        """Log an exception of a handler. Returns the error for the peer, which has nothing of its text, but for
        limits."""
        if isinstance(error, TooManyQuestions):
            return RpcError(INTERNAL_ERROR, "Busy: %s" % error)
        report(context, self.handler_of(context.request.method, context.request.params or {}, context.session.rules),
               error)
        return RpcError(INTERNAL_ERROR, "Internal error")

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """Return the kind and the name of the author's code that takes this message, for log records. Raises
        nothing."""
        return "handler of %s" % shown(method)

    def stamp(self, result: Any, revision: Revision) -> Any:
        """Return a deferred result with the members that every result of this revision has."""
        return result

    def on_open(self, connection: "Connection") -> None:
        """Note that the connection is operating."""

    def export_state(self, connection: "Connection", uris: Iterable[str]) -> Dict[str, Any]:
        """Return what is remembered of the peer, as JSON, for a session that goes on in another process.

        ``uris``: the resources whose subscriptions may have changed.
        """
        return {}

    def import_state(self, connection: "Connection", kept: Dict[str, Any], whole: bool) -> None:
        """Take over what `export_state` has returned in another process: all of it (``whole``), or what has changed."""

    def on_closing(self, connection: "Connection") -> bool:
        """Answer the deferred requests now, for the connection is about to be closed in order.

        Returns True if there were any. Called more than once, from any thread.
        """
        return False

    def missed(self, connection: "Connection", count: int) -> None:
        """Tell the peer that ``count`` messages to it were dropped while it had no stream open; it has one now."""

    def on_closed(self, connection: "Connection", reason: str) -> None:
        """Note that the connection has ended."""


METHODS = frozenset(name for name, value in vars(Role).items() if callable(value) and not name.startswith("_"))
"""The names of the methods that connections call."""


# Pings


def keep_alive(connection: "Connection", interval: float) -> None:
    """Ping the peer every ``interval`` seconds, on a thread of its own, until the connection ends."""
    start_thread("mcp-ref:keepalive:%s" % connection.transport.name, _ping, connection, interval)


def _ping(connection: "Connection", interval: float) -> None:
    while not connection.wait_closed(interval):
        try:
            connection.request(PING, timeout=interval)
        except PeerError:
            continue
        except RequestTimeout:
            reason = "the peer did not answer a ping within %g seconds" % interval
            get_logger(__name__).warning("%s: %s", connection.transport.name, reason)
            connection.counters.add("failed ping")
            connection.close(reason)
            return
        except McpError:
            return  # the connection has ended


# Stateless requests


def admit(
    connection: "Connection", request: Request, principal: Any
) -> Tuple[Union[RpcError, Route], Optional[Session]]:
    """Return the route of such a request, or its refusal; and its session. ``principal``: the sender."""
    role, method = connection.role, request.method
    try:
        if method == INITIALIZE and not envelope.carries(request.params):
            raise envelope.unsupported((request.params or {}).get("protocolVersion"), role.revisions)
        found = envelope.read(request.params, role.revisions)
    except RpcError as refusal:
        return refusal, None
    request.params["_meta"] = envelope.checked(request.params["_meta"])  # type: ignore[index]
    route = connection.stateless_routes.get((method, found.revision)) or _find_route(connection, method, found)
    if route is None:
        return role.refused(method) or RpcError(METHOD_NOT_FOUND, "Method not found: %s" % shown(method)), None
    lenient = connection.session.lenient
    session = Session.of_request(found, role.declared(found.revision), lenient, principal)
    session.extensions = role.extensions
    return route, session


def _find_route(connection: "Connection", method: str, found: envelope.Envelope) -> Optional[Route]:
    row = lookup(method, found.revision)
    if row is not None and (row.kind != REQUEST or row.sender == lifecycle.SERVER or row.carrier != WIRE):
        return None
    route = connection.role.route(connection, method, found.revision)
    if route is not None:
        connection.stateless_routes[method, found.revision] = route
    return route
