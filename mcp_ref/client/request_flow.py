"""The flow of one request of a caller: rounds of input, retries, extensions.

In the stateless era one call may be several requests on the wire. The server may ask something first
(`mcp_ref.client.mrtr`), its process may end, or it may answer with an error that says what to do. `RequestFlow` is the
state machine of all that. It sends nothing and starts no thread; a driver does, by its state:

==========  ====================================================  =================================================
state       what the driver does                                  what follows
==========  ====================================================  =================================================
SEND        calls `sent`, and sends ``params`` on ``connection``  `received` with the result, or `failed`
RETRY       calls `proceed` where a thread may wait: it may       SEND, perhaps on another connection
            start a process, or list the tools again
EXTEND      calls `proceed` where a thread may wait: an           DONE, or ANSWER
            extension may ask the server for more
ANSWER      calls `proceed` where callbacks of users run          SEND with the answers: a new round
DONE        hands over ``result``
==========  ====================================================  =================================================

There are two drivers: `Requests` in the thread that called, and `mcp_ref.client.futures.CallFuture` on the threads of
the connection. What a method raises is the outcome of the call.

Retries, in the stateless era: when a request fails, it is sent again, once, where that is safe.

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

In the handshake era a child that ended is an error: what it knew of the session is gone. `Client.reconnect` begins
another one, and with ``restart=True`` the next request does, see `Client.renewed`. A request is sent again only if the
server has forgotten the HTTP session.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from .. import deadline
from ..errors import (
    HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, AnswerLost, ConnectFailed, ConnectionLost,
    McpError, PeerError, RequestTimeout, TransportError,
)
from ..jsonrpc import shown
from ..limits import Limits
from ..messages.base import COMPLETE
from ..methods import CALL_TOOL
from ..peer.dispatcher import Connection
from ..protocol import lifecycle
from ..transports.base import Transport, successor
from .options import REQUEST_DEFAULTS

if TYPE_CHECKING:
    import threading

    from ..peer.extension import Waiting
    from .client import Client
    from .mrtr import InputRounds
    from .options import Options

Params = Optional[Dict[str, Any]]

# Retries

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
        transport = successor(ended.transport)
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
    owner: "Client", connection: Connection, error: McpError, method: str, params: Params
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


def final_error(owner: "Client", connection: Connection, error: McpError, method: str, params: Params) -> McpError:
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
    if method != CALL_TOOL:
        return method in REPEATABLE
    tools = connection.state["lists"]["tools"].named() or {}
    tool = tools.get((params or {}).get("name"))
    hints = None if tool is None else tool.annotations
    return hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)


# -- Errors that say what to do ----------------------------------------------------------------


def _list_tools(owner: "Client", connection: Connection, error: PeerError) -> None:
    """List the tools again: the server says that header fields do not fit the arguments of a tool.

    [2026-07-28 basic/transports/streamable-http §Client Behavior] SHOULD
    """
    if error.method != CALL_TOOL:
        raise error
    for _ in owner.tools(refresh=True):
        pass


def _change_version(owner: "Client", connection: Connection, error: PeerError) -> None:
    """Speak a version that the server names [2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD."""
    named = error.data.get("supported") if isinstance(error.data, dict) else None
    names = named if isinstance(named, list) else []
    revision = lifecycle.pick(names, lifecycle.without_handshake(owner.revisions))
    if revision is None:
        text = "%s; the server speaks %s" % (error.message, lifecycle.apart(names, owner.revisions))
        raise _with_text(error, text) from error
    if revision is not connection.session.rules:
        owner._handshake.assume(connection, revision)


def _explain_missing(owner: "Client", connection: Connection, error: PeerError) -> None:
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


_BY_CODE: Dict[int, Callable[["Client", Connection, PeerError], None]] = {
    HEADER_MISMATCH: _list_tools,
    UNSUPPORTED_PROTOCOL_VERSION: _change_version,
    MISSING_CLIENT_CAPABILITY: _explain_missing,
}
"""Error code -> the function that prepares for sending the request again; it raises where that would be in vain."""


SEND, RETRY, EXTEND, ANSWER, DONE = "send", "retry", "extend", "answer", "done"
"""The states of a `RequestFlow`."""


# The flow


class RequestFlow:
    """The state of one call. Used by one thread at a time; `cancel` by any.

    ``options``: those of the caller; with ``rounds="manual"`` what the server asks is given to the caller, who answers
    it later by another call. ``raw``: the first result is the outcome, whatever its type is. ``until``: a type of
    results at which the flow ends, too.
    """

    def __init__(
        self, owner: "Client", connection: Connection, method: str, params: Optional[Dict[str, Any]],
        options: "Options" = REQUEST_DEFAULTS, *, raw: bool = False, until: Optional[str] = None,
    ) -> None:
        self.state = SEND
        self.connection = connection
        self.options = options
        self.method = method
        self.params = params
        """The params of the round that is to be sent, or was sent last."""
        self.result: Any = None
        """The result object, as it came. In state DONE it may be an `InputRequiredResult` instead."""
        self.is_input_required = False
        """True if ``result`` is an `InputRequiredResult` for the caller."""
        self.is_plain = True
        """True while the answer depends on the first params only: it may be cached."""
        self._owner = owner
        self._raw = raw
        self._until = until
        self._first_params = params
        self._rounds: "Optional[InputRounds]" = None
        self._waiting: "Optional[Waiting]" = None
        self._cancelled: Optional[str] = None
        self._error: Optional[McpError] = None
        self._retried = False
        self._sent_at: Optional[float] = None
        self._seconds = 0.0

    def sent(self) -> None:
        """Note that the round is about to be sent: the time until its result counts against ``request_ceiling``."""
        if not self._raw:
            self._sent_at = deadline.clock()

    def received(self, result: Dict[str, Any]) -> None:
        """Take the result of a round; quick, so the reader may call it.

        Raises `RequestTimeout` if all rounds together took too long, and `PeerProtocolError` for a result that this
        request cannot have.
        """
        self._count_time()
        self.result = result
        rules = self.connection.session.rules
        if not self._raw and rules.tasks and "task" in (self.params or {}):
            self.state = EXTEND
            return
        if self._raw or result.get("resultType", COMPLETE) == COMPLETE or not rules.result_type:
            self.state = DONE
            return
        self.is_plain = False
        from .mrtr import extension_of

        if extension_of(self._owner, self.connection, result) is not None:
            self.state = EXTEND if result["resultType"] != self._until else DONE
        else:
            self._judge(result)

    def failed(self, error: McpError) -> None:
        """Take the error of a round. Raises what the caller gets, if the request is not sent again."""
        self._count_time()
        if self._retried or not isinstance(error, (PeerError, TransportError)):
            raise final_error(self._owner, self.connection, error, self.method, self.params)
        self._error = error
        self.state = RETRY

    def _count_time(self) -> None:
        """Add the time of an attempt. Raises `RequestTimeout` if all rounds together took too long.

        A request without rounds is bounded by the deadline of its connection, which pauses while a person is asked.
        """
        if self._sent_at is None:
            return
        self._seconds += deadline.clock() - self._sent_at
        self._sent_at = None
        ceiling = self._owner.limits.request_ceiling
        if self._rounds is not None and self._seconds > ceiling:
            raise RequestTimeout("%s: its rounds took longer than request_ceiling (%g s)" % (self.method, ceiling))

    def release(self) -> None:
        """Drop the params: the call has its outcome, and its future may be kept for long."""
        self.params = self._first_params = None

    def proceed(self) -> None:
        """Do what state RETRY, EXTEND or ANSWER calls for; takes as long as it takes.

        Raises the outcome of the call where there is nothing more to be done; `RequestCancelled` after `cancel`.
        """
        if self.state is EXTEND:
            self._judge(self._extended())
            return
        error = self._error
        if error is not None:  # in state RETRY
            self._error, self._retried = None, True
            self.connection = self._owner._retry_connection(self.connection, error, self.method, self.params)
        elif self._rounds is not None:
            self.params = self._rounds.answer(self.connection, self.result)
            self._retried = False
            self.connection = self._owner.connection  # another one, if it was renewed while the user was asked
        self.state = SEND

    def _extended(self) -> Dict[str, Any]:
        """Return what an extension makes of the result; `cancel` may come meanwhile."""
        from ..peer.extension import Waiting
        from .mrtr import extended

        options = self.options
        waiting = self._waiting = Waiting(options["timeout"], options["progress"], options["extend_on_progress"])
        if self._cancelled is not None:
            waiting.cancel(self._cancelled)
        if self.connection.session.rules.tasks:
            from ..ext.tasks.client.generations import finish

            return finish(self._owner, self.params or {}, self.result, waiting)
        return extended(self._owner, self.connection, self.method, self.params, self.result, waiting)

    def cancel(self, reason: str) -> None:
        """Ask the user nothing more; a question that is open now is withdrawn, and an extension is told."""
        self._cancelled = reason  # set before the next two are read; who sets these reads this after that
        if self._rounds is not None:
            self._rounds.cancel(reason)
        if self._waiting is not None:
            self._waiting.cancel(reason)

    def _judge(self, result: Dict[str, Any]) -> None:
        """Find out whether a result is the last one, or asks for input."""
        from .mrtr import InputRounds, required_input

        self.result = result
        required = required_input(self.method, result, self.connection.session.rules, self.connection.forgive)
        if required is None:
            self.state = DONE
        elif self.options.get("rounds") is not None:
            self.state, self.result, self.is_input_required = DONE, required, True
        else:
            self.state = ANSWER
            if self._rounds is None:
                self._rounds = InputRounds(self._owner, self.method, self._first_params)
                if self._cancelled is not None:
                    self._rounds.cancel(self._cancelled)
