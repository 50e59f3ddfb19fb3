"""The base of the two roles: what a server or a client supplies to its connections."""

from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Sequence, Tuple

from ..errors import INTERNAL_ERROR, RpcError, TooManyQuestions
from ..jsonrpc import RequestId, shown
from ..methods import PING, lookup
from ..revisions import Revision
from .context import Context, Route, report

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
    """Seconds between pings to the peer; None: no pings. See `mcp_ref.peer.keepalive`."""

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

        self.extensions = Extensions(extensions)

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
