"""The part of a client that sends requests and reads results, behind the typed calls of `mcp_ref.client.calls`.

A call goes ``Calls.call_tool`` > `Requests.call` > ``Connection.request``, and back through the reader of the method.
Only what the first answer does not settle goes on in a `mcp_ref.client.request_flow.RequestFlow`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional

from ..codec import DecodeError, decoder
from ..errors import LocalProtocolError, McpError, PeerError, PeerProtocolError, TransportError
from ..messages.base import COMPLETE
from ..methods import CALL_TOOL, GET_PROMPT, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, PING, result_class
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..protocol.items import odd_priorities
from ..revisions import Revision
from .options import PLAIN, Keep, Options, Reader
from .request_flow import DONE, SEND, RequestFlow

if TYPE_CHECKING:
    from ..peer.future import RequestFuture
    from ..peer.inflight import Incoming
    from .client import Client

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

    def request(
        self, method: str, params: Optional[Dict[str, Any]], timeout: Optional[float],
        on_progress: Optional[ProgressCallback], extend_on_progress: bool, within: "Optional[Incoming]",
    ) -> Dict[str, Any]:
        """Send any request and return its result object, as `Client.request` does."""
        flow = RequestFlow(self._owner, self._owner.connection, method, params, raw=True)
        self._run(flow, timeout, on_progress, extend_on_progress, within)
        return flow.result  # type: ignore[no-any-return]

    def call(
        self, method: str, params: Optional[Dict[str, Any]], options: Options = PLAIN, read: Optional[Reader] = None,
        keep: Optional[Keep] = None,
    ) -> Any:
        """Send a request, wait, and return what ``read`` makes of its result (default: the reader of the method).

        ``keep`` gets the result and the message, if they may be cached: not where the server has asked something first
        [2026-07-28 server/utilities/caching §Cache Key] MUST NOT. Returns an `InputRequiredResult` only to callers with
        ``rounds="manual"``.
        """
        timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state = options
        connection = self._owner.connection
        if meta is not None:
            params = dict(params or {}, _meta=meta)
        if input_responses is not None or request_state is not None or rounds is not None:
            params = _resumed(connection.session.rules, method, params, rounds, input_responses, request_state)
        if read is None:
            read = self.reader(method, connection)
        # The first attempt is made here, without a flow: nearly all calls end with it.
        try:
            result = connection.request(method, params, timeout, progress, extend_on_progress)
        except (TransportError, PeerError) as error:
            flow = RequestFlow(self._owner, connection, method, params, options, manual=rounds == MANUAL)
            flow.failed(error)
        else:
            if result.get("resultType", COMPLETE) == COMPLETE or not connection.session.rules.result_type:
                message = read(result)
                if keep is not None:
                    keep(result, message)
                return message
            flow = RequestFlow(self._owner, connection, method, params, options, manual=rounds == MANUAL)
            flow.received(result)
        self._run(flow, timeout, progress, extend_on_progress)
        if flow.is_input_required:
            return flow.result
        message = read(flow.result)
        if keep is not None and flow.is_plain:
            keep(flow.result, message)
        return message

    def _run(
        self, flow: RequestFlow, timeout: Optional[float], progress: Optional[ProgressCallback],
        extend_on_progress: bool, within: "Optional[Incoming]" = None,
    ) -> None:
        """Drive a flow in the calling thread until it is done. Each round has the whole ``timeout``.

        The traceback of an error starts here, so that a program's own call is not far above it.
        """
        try:
            while flow.state is not DONE:
                if flow.state is not SEND:
                    flow.proceed()
                    continue
                flow.sent()
                try:
                    result = flow.connection.request(
                        flow.method, flow.params, timeout, progress, extend_on_progress, within)
                except (TransportError, PeerError) as error:
                    flow.failed(error)
                else:
                    flow.received(result)
        except McpError as error:
            raise error.with_traceback(None)

    def submit(
        self, method: str, params: Dict[str, Any], options: Options = PLAIN, read: Optional[Reader] = None,
        check: Optional[Callable[[Any], Any]] = None,
    ) -> "RequestFuture[Any]":
        """Send a request and return its future; ``check`` is called with the message by the thread that takes it."""
        if self._future_class is None:
            from .futures import CallFuture  # late: most programs never use futures, and their import takes time

            self._future_class = CallFuture
        read = read or self.reader(method, self._owner.connection)
        flow = self._flow(method, params, options)
        return self._future_class(flow, read, check, options).start()  # type: ignore[no-any-return]

    def until(
        self, kind: Optional[str], method: str, params: Dict[str, Any], options: Options,
        within: "Optional[Incoming]" = None,
    ) -> Dict[str, Any]:
        """Send a request, wait, and return its result object, which may be of this type of an extension, too.

        ``within``: the request of another peer that this one belongs to; its cancellation ends the wait.
        """
        self.reader(method, self._owner.connection)  # raises while the client is being opened
        flow = self._flow(method, params, options, kind)
        self._run(flow, options.timeout, options.progress, options.extend_on_progress, within)
        return flow.result  # type: ignore[no-any-return]

    def _flow(
        self, method: str, params: Dict[str, Any], options: Options, until: Optional[str] = None
    ) -> RequestFlow:
        _, _, _, meta, rounds, input_responses, request_state = options
        connection = self._owner.connection
        if meta is not None:
            params = dict(params, _meta=meta)
        if input_responses is not None or request_state is not None or rounds is not None:
            params = _resumed(connection.session.rules, method, params, rounds, input_responses, request_state)
        return RequestFlow(
            self._owner, connection, method, params, options, manual=rounds == MANUAL, until=until)

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


def _resumed(
    revision: Revision, method: str, params: Optional[Dict[str, Any]], rounds: Optional[str],
    input_responses: Optional[Mapping[str, Any]], request_state: Optional[str],
) -> Dict[str, Any]:
    from .mrtr import resumed  # late: most servers never ask

    if rounds not in (None, MANUAL):
        raise LocalProtocolError("rounds is %r, or is left out, not %.80r" % (MANUAL, rounds))
    return resumed(revision, method, params, input_responses, request_state)


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
