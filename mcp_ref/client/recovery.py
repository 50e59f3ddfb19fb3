"""What a client without handshake does by itself when a request fails: send it again, once, where that is safe.

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
§Client Behavior] SHOULD, [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD. Reading: may be sent
again what only asks (REPEATABLE), and calls of tools that say of themselves that once more does no harm; what was
certainly not sent is sent in any case. A process is started when the next request needs it.

In the handshake era a child that ended is an error: what it knew of the session is gone.
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

    from .client import Client

Params = Optional[Dict[str, Any]]

REPEATABLE = frozenset((
    "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
    "prompts/get", "completion/complete",
))
"""Requests that only ask. `tools/call` is one, too, if the tool says so."""
_LOST = (ConnectFailed, ConnectionLost, AnswerLost)
"""Nothing came; what a server says, be it a status of HTTP, is left as it is."""


class Restarts:
    """When a server that ended may be started again: not at once each time, and not for ever."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._times = 0
        self._since: Optional[float] = None

    def next(self, ended: Connection, error: McpError, stop: "threading.Event") -> Optional[Transport]:
        """The transport to the server's next life, after a wait that ``stop`` ends; None: it has none.

        Raises `ConnectionLost` if it ended too often. Used by one thread at a time.
        """
        fresh = ended.transport.renew()
        if fresh is None:
            return None
        limits, now = self._limits, deadline.clock()
        if self._since is not None and now - self._since >= limits.restart_healthy:
            self._times = 0
        if self._times >= limits.max_restarts:
            text = "the server was restarted %d times in a row, which is max_restarts; the last time %s"
            raise ConnectionLost(text % (self._times, error)) from error
        wait = limits.restart_delay * 2 ** (self._times - 1) if self._times else 0.0
        self._times += 1
        if stop.wait(wait):
            return None
        from ..diagnostics.packagelog import get_logger

        get_logger(__name__).warning("the server is started again (%d in a row): %s", self._times, error)
        self._since = deadline.clock()
        return fresh


def another(client: "Client", connection: Connection, error: McpError, method: str, params: Params) -> Connection:
    """The connection on which a request that failed is to be sent again. Raises what the caller gets, if it is not."""
    if isinstance(error, PeerError):
        handle = _BY_CODE.get(error.code)
        if handle is None:
            raise error
        handle(client, connection, error)
        return connection
    if not client.wanted or not isinstance(error, _LOST):
        raise error
    if not error.unsent and not _repeatable(connection, method, params):
        raise final(client, connection, error, method, params)
    if isinstance(error, ConnectionLost) and connection.table.ended:
        return client.renewed(connection, error)
    return connection


def final(client: "Client", connection: Connection, error: McpError, method: str, params: Params) -> McpError:
    """What the caller gets for an error of a request that is not sent again (any more)."""
    if not isinstance(error, _LOST) or not client.wanted or error.unsent:
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


def _list_again(client: "Client", connection: Connection, error: PeerError) -> None:
    """[2026-07-28 basic/transports/streamable-http §Client Behavior] SHOULD"""
    if error.method != "tools/call":
        raise error
    for _ in client.tools(refresh=True):
        pass


def _other_version(client: "Client", connection: Connection, error: PeerError) -> None:
    """[2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD"""
    named = error.data.get("supported") if isinstance(error.data, dict) else None
    names = named if isinstance(named, list) else []
    found = negotiation.pick(names, negotiation.without_handshake(client.revisions))
    if found is None:
        text = "%s; the server speaks %s" % (error.message, negotiation.apart(names, client.revisions))
        raise _saying(error, text) from error
    if found is not connection.session.rules:
        client.assume(connection, found)


def _missing(client: "Client", connection: Connection, error: PeerError) -> None:
    """[2026-07-28 basic/index §`_meta`]: what the server needs of us."""
    wanted = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    names = ", ".join(shown(str(name)) for name in wanted) if isinstance(wanted, dict) else ""
    declared = ", ".join(connection.session.capabilities) or "none"
    text = "%s; it needs the client capabilities %s, and this client declares %s: give Client(...) what answers them"
    raise _saying(error, text % (error.message, names or "(not named)", declared)) from error


def _saying(error: PeerError, message: str) -> PeerError:
    said = PeerError(error.code, message, error.data, error.method, error.request_id)
    said.status = error.status
    return said


_BY_CODE: Dict[int, Callable[["Client", Connection, PeerError], None]] = {
    HEADER_MISMATCH: _list_again,
    UNSUPPORTED_PROTOCOL_VERSION: _other_version,
    MISSING_CLIENT_CAPABILITY: _missing,
}
"""What is done before a request that got this error is sent again; it raises where that would be in vain."""
