"""The retries of a client without handshake: when a request fails, it is sent again, once, where that is safe.

=====================================================  ============================================================
what came instead of the answer                        what is done
=====================================================  ============================================================
nothing, for the server's process ended                another process is started, `Restarts`; the request is sent
                                                       again if it may be, else `ConnectionLost`, ``may_have_run``
nothing, for a stream broke (HTTP)                     the same without a process
-32020, for `tools/call`                               the tools are listed again, then it is sent again
-32022                                                 it is sent again with a version that the server names
-32021                                                 `PeerError`, which says what to give the client
=====================================================  ============================================================

[2026-07-28 basic/transports/stdio §Unexpected Termination] SHOULD, [2026-07-28 basic/transports/streamable-http
§Client Behavior] SHOULD, [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD. Reading: a request that
only asks may be sent again (REPEATABLE), and so may a call of a tool that says of itself that a second call does no
harm; what was certainly not sent is sent in any case. A process is started when the next request needs it.

In the handshake era a child that ended is an error: what it knew of the session is gone. A request is sent again only
if the server has forgotten the HTTP session, see `Client.renewed`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from .. import deadline
from ..errors import (
    HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, AnswerLost, ConnectFailed, ConnectionLost,
    McpError, PeerError,
)
from ..jsonrpc import shown
from ..limits import Limits
from ..peer.dispatcher import Connection
from ..protocol import negotiation
from ..transports.base import Transport

if TYPE_CHECKING:
    import threading

    from .owner import Owner

Params = Optional[Dict[str, Any]]

REPEATABLE = frozenset((
    "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
    "prompts/get", "completion/complete",
))
"""Requests that only ask. `tools/call` is one, too, if the tool's annotations say so."""
_LOST = (ConnectFailed, ConnectionLost, AnswerLost)
"""The errors that mean: no answer came. An answer of the server, be it a status of HTTP, is none of these."""


class Restarts:
    """Decides when a server that ended is started again: the first time at once, then after longer and longer waits,
    and not more than ``max_restarts`` times in a row.

    A server that has lasted ``restart_healthy`` seconds begins a new row. Used by one thread at a time.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tries = 0
        self._started_at: Optional[float] = None

    def next(self, ended: Connection, error: McpError, stop: "threading.Event") -> Optional[Transport]:
        """Return the transport to the server's next process, after a wait that ``stop`` ends.

        None if this transport can start none, or the wait was ended. Raises `ConnectionLost` if it ended too often.
        """
        transport = ended.transport.renew()
        if transport is None:
            return None
        limits = self._limits
        if self._started_at is not None and deadline.clock() - self._started_at >= limits.restart_healthy:
            self._tries = 0
        if self._tries >= limits.max_restarts:
            text = "the server was restarted %d times in a row, which is max_restarts; the last time %s"
            raise ConnectionLost(text % (self._tries, error)) from error
        wait = deadline.backoff(limits.restart_delay, self._tries)
        self._tries += 1
        if stop.wait(wait):
            return None
        from ..diagnostics.packagelog import get_logger

        get_logger(__name__).warning("the server is started again (%d in a row): %s", self._tries, error)
        self._started_at = deadline.clock()
        return transport


def connection_for_retry(
    owner: "Owner", connection: Connection, error: McpError, method: str, params: Params
) -> Connection:
    """Return the connection on which a request that failed is to be sent again.

    It may start a process, or ask the server. Raises what the caller gets, if the request is not sent again.
    """
    if not connection.session.rules.stateless:
        if isinstance(error, ConnectionLost):
            return owner.renewed(connection, error)
        raise error
    if isinstance(error, PeerError):
        prepare = _BY_CODE.get(error.code)
        if prepare is None:
            raise error
        prepare(owner, connection, error)
        return connection
    if not owner.wanted or not isinstance(error, _LOST):
        raise error
    # It may have run: then it is sent again only if a second time does no harm.
    if not error.unsent and not _repeatable(connection, method, params):
        raise final_error(owner, connection, error, method, params)
    if isinstance(error, ConnectionLost) and connection.table.ended:
        return owner.renewed(connection, error)
    return connection


def final_error(owner: "Owner", connection: Connection, error: McpError, method: str, params: Params) -> McpError:
    """Return what the caller gets for an error of a request that is not sent again (any more).

    Where the request may have had an effect that a second one would repeat, that is a `ConnectionLost` with
    ``may_have_run``.
    """
    if not connection.session.rules.stateless:
        return error
    if not isinstance(error, _LOST) or not owner.wanted or error.unsent:
        return error
    if _repeatable(connection, method, params):
        return error
    lost = error if isinstance(error, ConnectionLost) else ConnectionLost(str(error))
    lost.may_have_run = True
    lost.__cause__ = None if lost is error else error
    return lost


def _repeatable(connection: Connection, method: str, params: Params) -> bool:
    if method != "tools/call":
        return method in REPEATABLE
    tools = connection.state["lists"]["tools"].named() or {}
    tool = tools.get((params or {}).get("name"))
    hints = None if tool is None else tool.annotations
    return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)


# -- Errors that say what to do ----------------------------------------------------------------


def _list_tools(owner: "Owner", connection: Connection, error: PeerError) -> None:
    """List the tools again: the server says that header fields do not fit the arguments of a tool.

    [2026-07-28 basic/transports/streamable-http §Client Behavior] SHOULD
    """
    if error.method != "tools/call":
        raise error
    for _ in owner.tools(refresh=True):
        pass


def _change_version(owner: "Owner", connection: Connection, error: PeerError) -> None:
    """Speak a version that the server names [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD."""
    named = error.data.get("supported") if isinstance(error.data, dict) else None
    names = named if isinstance(named, list) else []
    revision = negotiation.pick(names, negotiation.without_handshake(owner.revisions))
    if revision is None:
        text = "%s; the server speaks %s" % (error.message, negotiation.apart(names, owner.revisions))
        raise _with_text(error, text) from error
    if revision is not connection.session.rules:
        owner._handshake.assume(connection, revision)


def _explain_missing(owner: "Owner", connection: Connection, error: PeerError) -> None:
    """Raise an error that says which capabilities the server needs of us [2026-07-28 basic/index §`_meta`]."""
    wanted = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    names = ", ".join(shown(str(name)) for name in wanted) if isinstance(wanted, dict) else ""
    declared = ", ".join(connection.session.capabilities) or "none"
    text = "%s; it needs the client capabilities %s, and this client declares %s: give Client(...) what answers them"
    raise _with_text(error, text % (error.message, names or "(not named)", declared)) from error


def _with_text(error: PeerError, message: str) -> PeerError:
    changed = PeerError(error.code, message, error.data, error.method, error.request_id)
    changed.status = error.status
    return changed


_BY_CODE: Dict[int, Callable[["Owner", Connection, PeerError], None]] = {
    HEADER_MISMATCH: _list_tools,
    UNSUPPORTED_PROTOCOL_VERSION: _change_version,
    MISSING_CLIENT_CAPABILITY: _explain_missing,
}
"""Error code -> the function that prepares for sending the request again; it raises where that would be in vain."""
