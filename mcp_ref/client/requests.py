"""The part of a client that sends requests and reads results, behind the typed calls of `mcp_ref.client.calls`.

A call goes ``Calls.call_tool`` > `Requests.call` > ``Connection.request``, and back through the reader of the method.
Only what the first answer does not settle goes on in a `mcp_ref.client.request_flow.RequestFlow`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional

from ..codec import DecodeError, decoder
from ..errors import LocalProtocolError, McpError, PeerError, PeerProtocolError, TransportError
from ..messages.base import COMPLETE
from ..methods import CALL_TOOL, GET_PROMPT, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, PING, result_class
from ..peer.dispatcher import Connection
from ..protocol.results import odd_priorities
from .options import REQUEST_DEFAULTS, Keep, Reader
from .request_flow import DONE, SEND, RequestFlow

if TYPE_CHECKING:
    from ..peer.future import RequestFuture
    from ..peer.inflight import Incoming
    from .client import Client
    from .options import Options

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
        self._future_class: Any = None

    def call(
        self, method: str, params: Optional[Dict[str, Any]], options: "Options" = REQUEST_DEFAULTS,
        read: Optional[Reader] = None, keep: Optional[Keep] = None,
    ) -> Any:
        """Send a request, wait, and return what ``read`` makes of its result (default: the reader of the method).

        ``keep`` gets the result and the message, if they may be cached: not where the server has asked something first
        [2026-07-28 server/utilities/caching §Cache Key] MUST NOT. Returns an `InputRequiredResult` only to callers with
        ``rounds="manual"``.
        """
        connection = self._owner.connection
        params = _with_options(connection, method, params, options)
        if read is None:
            read = self.reader(method, connection)
        # The first attempt is made here, without a flow: nearly all calls end with it.
        try:
            result = connection.request(
                method, params, options["timeout"], options["progress"], options["extend_on_progress"])
        except (TransportError, PeerError) as error:
            flow = RequestFlow(self._owner, connection, method, params, options)
            flow.failed(error)
        else:
            if result.get("resultType", COMPLETE) == COMPLETE or not connection.session.rules.result_type:
                message = read(result)
                if keep is not None:
                    keep(result, message)
                return message
            flow = RequestFlow(self._owner, connection, method, params, options)
            flow.received(result)
        self.run(flow)
        if flow.is_input_required:
            return flow.result
        message = read(flow.result)
        if keep is not None and flow.is_plain:
            keep(flow.result, message)
        return message

    def run(self, flow: RequestFlow, within: "Optional[Incoming]" = None) -> None:
        """Drive a flow in the calling thread until it is done. Each round has the whole ``timeout``.

        ``within``: the request of another peer that this one belongs to; its cancellation ends the wait. The traceback
        of an error starts here, so that a program's own call is not far above it.
        """
        options = flow.options
        try:
            while flow.state is not DONE:
                if flow.state is not SEND:
                    flow.proceed()
                    continue
                flow.sent()
                try:
                    result = flow.connection.request(
                        flow.method, flow.params, options["timeout"], options["progress"],
                        options["extend_on_progress"], within)
                except (TransportError, PeerError) as error:
                    flow.failed(error)
                else:
                    flow.received(result)
        except McpError as error:
            raise error.with_traceback(None)

    def submit(
        self, method: str, params: Dict[str, Any], options: "Options" = REQUEST_DEFAULTS, read: Optional[Reader] = None,
        check: Optional[Callable[[Any], Any]] = None,
    ) -> "RequestFuture[Any]":
        """Send a request and return its future; ``check`` is called with the message by the thread that takes it."""
        if self._future_class is None:
            from .futures import CallFuture  # late: most programs never use futures, and their import takes time

            self._future_class = CallFuture
        connection = self._owner.connection
        read = read or self.reader(method, connection)
        flow = RequestFlow(
            self._owner, connection, method, _with_options(connection, method, params, options), options)
        return self._future_class(flow, read, check).start()  # type: ignore[no-any-return]

    def until(
        self, kind: Optional[str], method: str, params: Dict[str, Any], options: "Options",
        within: "Optional[Incoming]" = None,
    ) -> Dict[str, Any]:
        """Send a request, wait, and return its result object, which may be of this type of an extension, too.

        ``within``: see `run`.
        """
        connection = self._owner.connection
        self.reader(method, connection)  # raises while the client is being opened
        flow = RequestFlow(
            self._owner, connection, method, _with_options(connection, method, params, options), options, until=kind)
        self.run(flow, within)
        return flow.result  # type: ignore[no-any-return]

    def reader(self, method: str, connection: Connection) -> Reader:
        """Return the function that makes the message of a result of this method.

        Raises `LocalProtocolError` for a method that the revision does not have, and while the client is being opened:
        then only `ping` may be sent [..2025-11-25 basic/lifecycle §Initialization].
        """
        found: Optional[Reader] = connection.state.get(method)
        if found is None:
            if method != PING:
                known(connection, "lists")
            found = connection.state[method] = _result_reader(method, connection)
        if self._owner.server_info is not None or not connection.session.rules.stateless:
            return found
        read, meet = found, self._owner._handshake.meet

        def meet_and_read(result: Dict[str, Any]) -> Any:
            """Read a result; until the server's name is known, each may tell it."""
            meet(connection, result)
            return read(result)

        return meet_and_read


def known(connection: Connection, name: str) -> Any:
    """Return what the opening has put into the state of a connection under this name.

    Raises `LocalProtocolError` while the client is being opened.
    """
    found = connection.state.get(name)
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
    responses, state = options.get("input_responses"), options.get("request_state")
    if responses is None and state is None and rounds is None:
        return params
    from .mrtr import resumed  # late: most servers never ask

    is_manual(rounds)
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
