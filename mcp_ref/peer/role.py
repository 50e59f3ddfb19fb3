"""What a role, a server or a client, supplies to its connections."""

from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Sequence, Tuple

from ..errors import INTERNAL_ERROR, RpcError, TooManyQuestions
from ..jsonrpc import RequestId, shown
from ..methods import lookup
from ..revisions import Revision
from .context import Context, Route
from .raised import report

if TYPE_CHECKING:
    from .dispatcher import Connection
    from .extension import Extension, Extensions


class Role:
    """What a server or client supplies to its connections; every method may be overridden, and none is for users.

    So `dir` of a server or client, and what completes names by it, leaves the methods of this class out.
    """

    party = ""
    """``"client"`` or ``"server"``."""
    keepalive: Optional[float] = None
    """Seconds between pings to the peer; None: no pings. See `mcp_ref.peer.keepalive`."""

    extensions: "Optional[Extensions]" = None
    """What it does beyond the protocol; None: nothing."""
    revisions: Tuple[Revision, ...] = ()
    """Those that it speaks, oldest first."""

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in METHODS]

    def route(self, connection: "Connection", method: str, revision: Revision) -> Optional[Route]:
        """How this request is answered in this revision; None: method not found. Kept once the session is operating.

        Both sides answer ping, at once and emptily [..2025-11-25 basic/utilities/ping §Behavior Requirements] MUST.
        """
        if method == "ping" and lookup("ping", revision) is not None:
            return Route(lambda context, params: {}, inline=True)
        return None

    def _extend(self, extensions: "Sequence[Extension]") -> None:
        from .extension import Extensions

        self.extensions = Extensions(extensions)

    def with_extensions(self, capabilities: Dict[str, Any], revision: Revision) -> Dict[str, Any]:
        """The same capabilities, as on the wire of this revision, with the extensions declared in them."""
        found = None if self.extensions is None else self.extensions.declared(self, revision)
        if found:
            capabilities["extensions"] = dict(capabilities.get("extensions") or {}, **found)
        return capabilities

    def declared(self, revision: Revision) -> Dict[str, Any]:
        """What this side declares to a peer of this revision, where no handshake says so."""
        return {}

    def arrived(self, connection: "Connection", method: str, params: Dict[str, Any]) -> bool:
        """A notification that the dispatcher does not handle itself has just been read; False: drop it.

        On the reader, before any later message is looked at: quick, free of user code, and it raises nothing.
        """
        return True

    def hears(self, method: str) -> bool:
        """Whether somebody is to hear of a notification that is outside of the specification and of extensions."""
        return False

    def notification(self, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """A notification that `arrived` took; called in order, on a worker."""

    def torn_down(self, connection: "Connection", id: RequestId, reason: str) -> bool:
        """The peer says that it ends a stream which a request of ours opened; False: it is none of ours."""
        return False

    def refused(self, method: str) -> Optional[RpcError]:
        """The error for a request without a route, if it should be another than -32601."""
        return None

    def answer_error(self, context: Context, error: RpcError, in_tool: bool) -> Exception:
        """The error that a handler wants to be sent, or what it becomes where this peer may not be sent it.

        ``in_tool``: other exceptions of this handler become results.
        """
        return error

    def answer_errors(self, context: Context, error: BaseException) -> RpcError:
        """Log an exception of a handler, and say what it becomes on the wire: nothing of its text, but for limits."""
        if isinstance(error, TooManyQuestions):
            return RpcError(INTERNAL_ERROR, "Busy: %s" % error)
        report(context, self.handler_of(context.request.method, context.request.params or {}, context.session.rules),
               error)
        return RpcError(INTERNAL_ERROR, "Internal error")

    def handler_of(self, method: str, params: Dict[str, Any], revision: Revision) -> str:
        """What of the author's code takes this message, for log records: its kind and its name. Raises nothing."""
        return "handler of %s" % shown(method)

    def stamp(self, result: Any, revision: Revision) -> Any:
        """A deferred result with what every one of this revision has."""
        return result

    def opened(self, connection: "Connection") -> None:
        """The connection is operating."""

    def keep(self, connection: "Connection", uris: Iterable[str]) -> Dict[str, Any]:
        """What is remembered of the peer, in JSON: for a session that goes on in another process.

        ``uris``: the resources whose subscriptions may have changed.
        """
        return {}

    def restore(self, connection: "Connection", kept: Dict[str, Any], whole: bool) -> None:
        """Remember what `keep` has said, in whichever process: all of it (``whole``), or what has changed."""

    def ending(self, connection: "Connection") -> bool:
        """The connection is about to be closed in order: what is deferred is to be answered now; whether there was any.

        Called more than once, from any thread.
        """
        return False

    def missed(self, connection: "Connection", count: int) -> None:
        """Tell the peer that ``count`` messages to it were dropped while it had no stream open; it has one now."""

    def closed(self, connection: "Connection", reason: str) -> None:
        """The connection has ended."""


METHODS = frozenset(name for name, value in vars(Role).items() if callable(value) and not name.startswith("_"))
"""What connections call."""
