"""The way of one request of a client, from its params to its result: `RequestFlow.steps` has it from top to bottom.

In the stateless era one call may be several requests on the wire. The server may ask something first
(`mcp_ref.client.mrtr`), its process may end, or it may answer with an error that says what to do. `RequestFlow.steps`
is a generator. It stops where a thread has to wait, says for what, and goes on in whichever thread resumes it:

==========  ==================================================  ===================================================
step        the driver                                          where it goes on
==========  ==================================================  ===================================================
SEND        sends ``params`` on ``connection``, and hands in    a call: in the thread that called; a future: on the
            the result, or the error that came instead          reader, so nothing waits before the next step
RETRY       resumes it: it may start a process, or list the     a future: on a thread of its own
            tools again
EXTEND      resumes it: an extension may ask the server         the same
ANSWER      resumes it: callbacks of users run                  a future: on the executor, as progress callbacks do
==========  ==================================================  ===================================================

There are two drivers. `Requests.run` does it all in the thread that called; `mcp_ref.client.futures.CallFuture` has no
thread that waits, and hands over at each step.

Retries: when a request fails, it is sent again, once, where that is safe. In the stateless era:

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

from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Optional

from .. import deadline
from ..codec import DecodeError, decoder
from ..errors import (
    HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, AnswerLost, ConnectFailed, ConnectionLost,
    LocalProtocolError, McpError, PeerError, PeerProtocolError, RequestTimeout, TransportError,
)
from ..jsonrpc import shown
from ..limits import Limits
from ..messages.base import COMPLETE
from ..methods import CALL_TOOL, GET_PROMPT, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, PING, result_class
from ..peer.dispatcher import Connection
from ..protocol import lifecycle
from ..protocol.results import odd_priorities
from ..transports.base import Transport, successor
from .options import REQUEST_DEFAULTS, Keep, Reader

if TYPE_CHECKING:
    import threading

    from ..peer.extension import Extension, Waiting
    from ..peer.future import RequestFuture
    from ..peer.inflight import Incoming
    from .cache import ServerCache
    from .client import Client
    from .mrtr import InputRounds
    from .options import Options

Params = Optional[Dict[str, Any]]

MANUAL = "manual"
"""The value of ``rounds`` of a caller who answers what the server asks by himself."""
ANNOTATED: Dict[str, str] = {
    CALL_TOOL: "content", GET_PROMPT: "messages", LIST_RESOURCES: "resources",
    LIST_RESOURCE_TEMPLATES: "resource_templates",
}
"""The results with annotations in them -> the attribute they are in; [2025-06-18.. server/resources §Annotations]."""


class Requests:
    """Sends the requests of one client. Thread-safe: it keeps nothing but what is known of connections."""

    def __init__(self, owner: "Client") -> None:
        self._owner = owner

    def call(
        self, method: str, params: Params, options: "Options" = REQUEST_DEFAULTS, read: Optional[Reader] = None,
        keep: Optional[Keep] = None, until: Optional[str] = None, within: "Optional[Incoming]" = None,
    ) -> Any:
        """Send a request, wait, and return what ``read`` makes of its result (default: the reader of the method).

        ``keep``, ``until``: see `RequestFlow`. ``within``: see `run`. Returns an `InputRequiredResult` only to callers
        with ``rounds="manual"``.
        """
        connection = self._owner.connection
        params = _with_options(connection, method, params, options)
        if read is None:
            read = self.reader(method, connection)
        return self.run(RequestFlow(self._owner, connection, method, params, options, read, keep, until), within)

    def run(self, flow: "RequestFlow", within: "Optional[Incoming]" = None) -> Any:
        """Do all steps of a flow in the calling thread, and return its outcome. Each round has the whole ``timeout``.

        ``within``: the request of another peer that this one belongs to; its cancellation ends the wait. The traceback
        of an error starts here, so that a program's own call is not far above it.
        """
        steps, options = flow.steps(), flow.options
        outcome: Any = None
        try:
            while True:
                try:
                    step, outcome = steps.send(outcome), None
                except StopIteration as done:
                    return done.value
                if step is not flow.SEND:
                    continue
                try:
                    outcome = flow.connection.request(
                        flow.method, flow.params, options["timeout"], options["progress"],
                        options["extend_on_progress"], within)
                except (TransportError, PeerError) as error:
                    outcome = error
        except McpError as error:
            outcome = None  # the error refers to this frame: no circle
            raise error.with_traceback(None)

    def submit(
        self, method: str, params: Dict[str, Any], options: "Options" = REQUEST_DEFAULTS, read: Optional[Reader] = None,
        check: Optional[Callable[[Any], Any]] = None,
    ) -> "RequestFuture[Any]":
        """Send a request and return its future; ``check`` is called with the message by the thread that takes it."""
        from .futures import CallFuture  # late: most programs never use futures, and their import takes time

        connection = self._owner.connection
        read = read or self.reader(method, connection)
        return CallFuture(RequestFlow(
            self._owner, connection, method, _with_options(connection, method, params, options), options, read),
            check).start()

    def reader(self, method: str, connection: Connection) -> Reader:
        """Return the function that makes the message of a result of this method.

        Raises `LocalProtocolError` for a method that the revision does not have, and while the client is being opened:
        then only `ping` may be sent [..2025-11-25 basic/lifecycle §Initialization].
        """
        found: Optional[Reader] = connection.state.get(method)
        if found is None:
            if method != PING:
                known(connection)
            found = connection.state[method] = _result_reader(method, connection)
        if self._owner.server_info is not None or not connection.session.rules.stateless:
            return found
        read, meet = found, self._owner._handshake.meet

        def meet_and_read(result: Dict[str, Any]) -> Any:
            """Read a result; until the server's name is known, each may tell it."""
            meet(connection, result)
            return read(result)

        return meet_and_read


def known(connection: Connection) -> "ServerCache":
    """Return the cache of the server, which the opening has put into the state of a connection.

    Raises `LocalProtocolError` while the client is being opened.
    """
    found: "Optional[ServerCache]" = connection.state.get("lists")
    if found is None:
        raise LocalProtocolError("the client is not connected yet: open() still finds out what the server speaks")
    return found


def _with_options(
    connection: Connection, method: str, params: Optional[Dict[str, Any]], options: "Options"
) -> Optional[Dict[str, Any]]:
    """Return the params of a call with what its options add to them. Raises `LocalProtocolError` for wrong options."""
    meta, rounds = options["meta"], options.get("rounds")
    if meta is not None:
        params = dict(params or {}, _meta=meta)
    if rounds is not None:
        is_manual(rounds)
    responses, state = options.get("input_responses"), options.get("request_state")
    if responses is None and state is None:
        return params
    from .mrtr import resumed  # late: most servers never ask

    return resumed(connection.session.rules, method, params, responses, state)


def is_manual(rounds: Optional[str]) -> bool:
    """True if the caller answers what the server asks. Raises `LocalProtocolError` for another word than ``manual``."""
    if rounds not in (None, MANUAL):
        raise LocalProtocolError("rounds is %r, or is left out, not %.80r" % (MANUAL, rounds))
    return rounds is not None


def _result_reader(method: str, connection: Connection) -> Reader:
    session, annotated = connection.session, ANNOTATED.get(method)
    row, revision = session.lookup(method), session.rules
    if row is None:
        raise LocalProtocolError("revision %s has no request %s" % (revision, method))
    decode_result = decoder(result_class(row), revision)

    def read(result: Dict[str, Any]) -> Any:
        try:
            message = decode_result(result, "result", connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None
        if annotated is not None:
            for odd in odd_priorities(annotated, getattr(message, annotated, [])):
                connection.counters.note("number out of range", "%s: %s" % (method, odd))
        return message

    return read


# -- The flow ----------------------------------------------------------------------------------


class RequestFlow:
    """One call of a client. Used by one thread at a time; `cancel` by any.

    ``options``: those of the caller; with ``rounds="manual"`` what the server asks is given to the caller, who answers
    it later by another call. ``read`` makes the message of the last result; None: the first result object is the
    outcome, whatever its type is. ``keep`` gets result and message, if they may be cached: not where the server has
    asked something first [2026-07-28 server/utilities/caching §Cache Key] MUST NOT. ``until``: a type of results at
    which the flow ends, too.
    """

    SEND, RETRY, EXTEND, ANSWER = "send", "retry", "extend", "answer"
    """The steps."""
    _rounds: "Optional[InputRounds]" = None
    _waiting: "Optional[Waiting]" = None
    _cancelled: Optional[str] = None

    def __init__(
        self, owner: "Client", connection: Connection, method: str, params: Params, options: "Options",
        read: Optional[Reader], keep: Optional[Keep] = None, until: Optional[str] = None,
    ) -> None:
        self.connection = connection
        self.options = options
        self.method = method
        self.params = params
        """The params of the round that is to be sent, or was sent last; None after the end."""
        self._owner = owner
        self._read = read
        self._keep = keep
        self._until = until

    def steps(self) -> Generator[str, Any, Any]:
        """Yield each step, see above; SEND takes the result object, or the error that came instead of it.

        Returns the outcome of the call, or raises it.
        """
        owner, method, first_params = self._owner, self.method, self.params
        seconds, is_again, is_plain = 0.0, False, True
        try:
            while True:
                began = deadline.clock()
                result = yield self.SEND
                seconds += deadline.clock() - began  # without the time that users take to answer
                # A request without rounds is bounded by the deadline of its connection, which pauses for a person, too.
                if self._rounds is not None and seconds > owner.limits.request_ceiling:
                    raise RequestTimeout("%s: its rounds took longer than request_ceiling (%g s)" % (
                        method, owner.limits.request_ceiling))
                connection = self.connection
                if isinstance(result, McpError):
                    if is_again or not _may_be_sent_again(owner, connection, result, method, self.params):
                        raise _final_error(owner, connection, result, method, self.params)
                    yield self.RETRY
                    self.connection = owner._retry_connection(connection, result, method, self.params)
                    is_again = True
                    continue
                if self._read is None:
                    return result
                rules = connection.session.rules
                if rules.tasks and "task" in (self.params or {}):
                    yield self.EXTEND
                    from ..ext.tasks.client.generations import HandshakeTask

                    task = HandshakeTask.created(owner, result, (self.params or {})["name"])
                    result = task.settled(self._patience())
                elif rules.result_type and result.get("resultType", COMPLETE) != COMPLETE:
                    is_plain = False
                    if self._extension_of(result) is not None:
                        if result["resultType"] == self._until:
                            return result
                        yield self.EXTEND
                        result = self._extended(result)
                    from .mrtr import InputRounds, required_input  # late: most servers never ask

                    required = required_input(method, result, rules, connection.forgive)
                    if required is not None and self.options.get("rounds") is not None:
                        return required
                    if required is not None:
                        rounds = self._rounds = self._rounds or InputRounds(owner, method, first_params)
                        if self._cancelled is not None:  # read after `_rounds` is set, see `cancel`
                            rounds.cancel(self._cancelled)
                        yield self.ANSWER
                        self.params = rounds.answer(connection, result)
                        self.connection = owner.connection  # another one, if it was renewed while the user was asked
                        is_again = False
                        continue
                message = self._read(result)
                if self._keep is not None and is_plain:
                    self._keep(result, message)
                return message
        finally:
            self.params = None  # a future may be kept for long

    def _extension_of(self, result: Dict[str, Any]) -> "Optional[Extension]":
        """Return the extension, declared by both sides, that adds the type of this result; None if there is none
        [2026-07-28 basic/index §ResultType] MUST."""
        kind, extensions, session = result.get("resultType", COMPLETE), self._owner.extensions, self.connection.session
        if kind in (COMPLETE, "input_required") or extensions is None or not isinstance(kind, str):
            return None
        return extensions.of_result(kind, session.peer_capabilities, session.rules)

    def _extended(self, result: Dict[str, Any]) -> Dict[str, Any]:
        """Return what extensions make of a result of a type that they add. It may take long: they may ask the server.
        """
        waiting = self._patience()
        for _ in range(self._owner.limits.max_input_rounds):
            extension = self._extension_of(result)
            if extension is None:
                break
            result = extension.finish(self._owner, self.method, self.params, result, waiting)
        return result

    def _patience(self) -> "Waiting":
        """Return how long the caller waits for an extension; `cancel` may end that."""
        from ..peer.extension import Waiting

        options = self.options
        waiting = self._waiting = Waiting(options["timeout"], options["progress"], options["extend_on_progress"])
        if self._cancelled is not None:
            waiting.cancel(self._cancelled)
        return waiting

    def cancel(self, reason: str) -> None:
        """Ask the user nothing more; a question that is open now is withdrawn, and an extension is told."""
        self._cancelled = reason  # set before the next two are read; who sets these reads this after that
        if self._rounds is not None:
            self._rounds.cancel(reason)
        if self._waiting is not None:
            self._waiting.cancel(reason)


# -- Retries -----------------------------------------------------------------------------------

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


def _may_be_sent_again(
    owner: "Client", connection: Connection, error: McpError, method: str, params: Params
) -> bool:
    """True if a request that failed is sent again, as far as that is known without waiting; see the table above."""
    if isinstance(error, PeerError):
        return connection.session.rules.stateless and error.code in _BY_CODE
    if not connection.session.rules.stateless:
        return isinstance(error, ConnectionLost) and error.unsent
    return isinstance(error, _LOST) and owner.wanted and not _may_have_run(owner, connection, error, method, params)


def connection_for_retry(owner: "Client", connection: Connection, error: McpError) -> Connection:
    """Return the connection on which a request that failed, and may be sent again, is to be sent.

    It may start a process, or ask the server. Raises what the caller gets, if the request is not sent again.
    """
    if isinstance(error, PeerError):
        _BY_CODE[error.code](owner, connection, error)
    elif isinstance(error, ConnectionLost) and (connection.table.ended or not connection.session.rules.stateless):
        return owner.renewed(connection, error)
    return connection


def _final_error(owner: "Client", connection: Connection, error: McpError, method: str, params: Params) -> McpError:
    """Return what the caller gets for an error of a request that is not sent again (any more).

    Where the request may have had an effect that a second one would repeat, that is a `ConnectionLost` with
    ``may_have_run``; in the handshake era the error says how to go on.
    """
    if isinstance(error, ConnectionLost) and not connection.session.rules.stateless:
        return owner._with_advice(connection, error)
    if not _may_have_run(owner, connection, error, method, params):
        return error
    lost = error if isinstance(error, ConnectionLost) else ConnectionLost(str(error))
    lost.may_have_run = True
    lost.__cause__ = None if lost is error else error
    return lost


def _may_have_run(owner: "Client", connection: Connection, error: McpError, method: str, params: Params) -> bool:
    """True if a request that got no answer may have had an effect that a second one would repeat. In the handshake era
    callers are not told: there a request is sent again only if it was certainly not sent."""
    if not connection.session.rules.stateless or not isinstance(error, _LOST) or error.unsent or not owner.wanted:
        return False
    if method != CALL_TOOL:
        return method not in REPEATABLE
    tools = connection.state["lists"]["tools"].named() or {}
    tool = tools.get((params or {}).get("name"))
    hints = None if tool is None else tool.annotations
    return hints is None or not (hints.read_only_hint or hints.idempotent_hint)


def _list_tools(owner: "Client", connection: Connection, error: PeerError) -> None:
    """List the tools again: the server says that header fields do not fit the arguments of a tool.

    [2026-07-28 basic/transports/streamable-http §Client Behavior] SHOULD
    """
    if error.method != CALL_TOOL:
        raise error
    owner.tools(refresh=True)


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
