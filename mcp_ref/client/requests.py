"""How a client asks a server: options, futures, pages, and what is remembered of the server.

The typed calls on top of it are in `mcp_ref.client.calls`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, NamedTuple, NoReturn, Optional

from ..codec import ABSENT, DecodeError, decoder
from ..errors import ConnectionLost, LocalProtocolError, McpError, PeerError, PeerProtocolError, TransportError
from ..limits import Limits
from ..messages.base import COMPLETE
from ..methods import result_class
from ..options import REQUEST_TIMEOUT, refuse, spelt
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..peer.role import Role
from ..protocol.items import odd_priorities
from ..revisions import Revision
from .cache.caches import Lists
from .recovery import another, final
from .subscriptions import Subscriptions

if TYPE_CHECKING:
    from ..peer.future import RequestFuture
    from ..peer.inflight import Incoming
    from .completion import Completions
    from .structured import ResultCheck

Reader = Callable[[Dict[str, Any]], Any]
"""Makes the message of a result object."""
Keep = Callable[[Dict[str, Any], Any], None]
"""Remembers a result object and the message of it."""


class Options(NamedTuple):
    """How a request is sent and waited for; what the caller of `mcp_ref.client.calls` has said."""

    timeout: Optional[float] = REQUEST_TIMEOUT
    progress: Optional[ProgressCallback] = None
    extend_on_progress: bool = False
    meta: Optional[Dict[str, Any]] = None
    rounds: Optional[str] = None
    input_responses: Optional[Mapping[str, Any]] = None
    request_state: Optional[str] = None


PLAIN = Options()


class Asking(Role):
    """The part of a `Client` that sends requests and reads the answers."""

    limits: Limits
    strict: bool
    check_results: bool
    _connection: Optional[Connection] = None
    _futures: Any = None
    _results: "Optional[ResultCheck]" = None

    @property
    def connection(self) -> Connection:
        """The connection. Raises `LocalProtocolError` before `open`."""
        if self._connection is None:
            raise LocalProtocolError("the client is not connected: call open(transport), or use connect(...)")
        return self._connection

    @property
    def revision(self) -> Revision:
        """The agreed revision."""
        return self.connection.session.rules

    def request(
        self,
        method: str,
        params: Optional[Dict[str, Any]] = None,
        timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: Optional[ProgressCallback] = None,
        extend_on_progress: bool = False,
        within: "Optional[Incoming]" = None,
        **unknown: NoReturn,
    ) -> Dict[str, Any]:
        """Send any request and return the result object as it came; options as `Connection.request`.

        Also a vendor's, such as ``acme/search``: a name with a prefix that no method of the specification has. A server
        that does not know it answers with -32601, which is a `PeerError`.

        If the server has forgotten our HTTP session, a new one is begun and the request sent again, once; without a
        handshake also in the cases of `mcp_ref.client.recovery`.
        """
        if unknown:
            refuse(Asking.request, unknown)
        connection = self.connection
        try:
            return connection.request(method, params, timeout, on_progress, extend_on_progress, within)
        except (TransportError, PeerError) as error:
            connection = self._another(connection, error, method, params)
        try:
            return connection.request(method, params, timeout, on_progress, extend_on_progress, within)
        except (TransportError, PeerError) as error:
            raise self._final(connection, error, method, params)

    @spelt
    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification, one of the specification's or a vendor's such as ``acme/event``; nobody answers.

        Raises `LocalProtocolError` if it may not be sent now.
        """
        self.connection.notify(method, params)

    def _another(
        self, connection: Connection, error: McpError, method: str, params: Optional[Dict[str, Any]]
    ) -> Connection:
        """The connection on which a request that failed is to be sent again. Raises the error, if it is not."""
        if connection.session.rules.stateless:
            return another(self, connection, error, method, params)  # type: ignore[arg-type]
        if isinstance(error, ConnectionLost):
            return self.renewed(connection, error)
        raise error

    def _final(
        self, connection: Connection, error: McpError, method: str, params: Optional[Dict[str, Any]]
    ) -> McpError:
        """What the caller gets for an error of a request that was sent again."""
        if not connection.session.rules.stateless:
            return error
        return final(self, connection, error, method, params)  # type: ignore[arg-type]

    def renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """The connection that takes the place of an ended one. Raises ``error`` where there can be none."""
        raise error

    def _call(
        self, method: str, params: Optional[Dict[str, Any]], options: Options = PLAIN, read: Optional[Reader] = None,
        keep: Optional[Keep] = None,
    ) -> Any:
        """Send a request of this client's user, and give what ``read`` makes of the result.

        ``keep`` is given both, if they may be remembered: not where the server asked something first
        [2026-07-28 server/utilities/caching §Cache Key] MUST NOT.
        """
        timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state = options
        if meta is not None:
            params = dict(params or {}, _meta=meta)
        if input_responses is not None or request_state is not None or rounds is not None:
            params = self._resumed(method, params, rounds, input_responses, request_state)
        read = read or self._reader(method)
        result = self.request(method, params, timeout, progress, extend_on_progress)
        if result.get("resultType", COMPLETE) != COMPLETE and self.revision.result_type:
            from .rounds import finish

            return finish(self, method, params, result, read, options)  # type: ignore[arg-type]
        made = read(result)
        if keep is not None:
            keep(result, made)
        return made

    def _resumed(
        self, method: str, params: Optional[Dict[str, Any]], rounds: Optional[str],
        input_responses: Optional[Mapping[str, Any]], request_state: Optional[str],
    ) -> Dict[str, Any]:
        from .rounds import resumed

        return resumed(self.revision, method, params, rounds, input_responses, request_state)

    def _submit(
        self, method: str, params: Dict[str, Any], options: Options = PLAIN, read: Optional[Reader] = None,
        check: Optional[Callable[[Any], Any]] = None,
    ) -> "RequestFuture[Any]":
        """`_call` as a future; ``check`` is for who takes its result."""
        if self._futures is None:
            from . import futures

            self._futures = futures  # late, because most programs never use them
        timeout, progress, extend_on_progress, meta, rounds, input_responses, request_state = options
        if meta is not None:
            params = dict(params, _meta=meta)
        if input_responses is not None or request_state is not None or rounds is not None:
            params = self._resumed(method, params, rounds, input_responses, request_state)
        read = read or self._reader(method)
        if self.revision.stateless:
            from .futures import LastingFuture

            return LastingFuture(self, read, check, method, params, options).start()  # type: ignore[arg-type]

        def send(connection: Connection) -> "RequestFuture[Any]":
            if check is None:
                made = self._futures.RequestFuture(connection, read)
            else:
                made = self._futures.CheckedFuture(connection, read)
                made.check = check
            made.send(method, params, timeout, progress, extend_on_progress)
            return made  # type: ignore[no-any-return]

        connection = self.connection
        try:
            return send(connection)
        except ConnectionLost as error:
            return send(self.renewed(connection, error))

    def _reader(self, method: str) -> Reader:
        """The function that makes the result's message of what came."""
        state = self.connection.state
        found: Optional[Reader] = state.get(method)
        if found is None:
            if method != "ping":  # [..2025-11-25 basic/lifecycle §Initialization]: that may be sent before
                self._known("lists")
            found = state[method] = _result_reader(method, self.connection)
        return found

    # Pages

    def _page_reader(self, method: str) -> Reader:
        read, connection = self._reader(method), self.connection
        exchanges = connection.exchanges
        mirrors = exchanges is not None and exchanges.mirrors and connection.session.rules.stateless
        picky = method == "tools/list" and mirrors

        def read_page(result: Dict[str, Any]) -> Any:
            if picky and isinstance(result.get("tools"), list):
                from .mirroring import without_invalid

                result = dict(result, tools=without_invalid(result["tools"], connection))
            if not self.strict and result.get("nextCursor", ABSENT) is None:
                # Reading: what some servers write for *no more*. [2026-07-28 server/utilities/pagination
                # §Implementation Guidelines] says the same by asking for a non-null value.
                connection.counters.note("null cursor", "%s has a nextCursor that is null" % method)
                result = {name: item for name, item in result.items() if name != "nextCursor"}
            return read(result)

        return read_page

    # What is known of this server

    @property
    def _lists(self) -> Lists:
        return self._known("lists")  # type: ignore[no-any-return]

    @property
    def _subscriptions(self) -> Subscriptions:
        return self._known("subscriptions")  # type: ignore[no-any-return]

    @property
    def _completions(self) -> "Completions":
        state = self.connection.state
        if "completions" not in state:
            from .completion import Completions

            state.setdefault("completions", Completions(self.connection, self._lists, self.strict))
        return state["completions"]  # type: ignore[no-any-return]

    def _known(self, name: str) -> Any:
        """What the opening has put into the state of the connection."""
        found = self.connection.state.get(name)
        if found is None:
            raise LocalProtocolError("the client is not connected yet: open() still finds out what the server speaks")
        return found


ANNOTATED: Dict[str, str] = {
    "tools/call": "content", "prompts/get": "messages", "resources/list": "resources",
    "resources/templates/list": "resource_templates",
}
"""Results with annotations in them, and where; [2025-06-18.. server/resources §Annotations]."""


def _result_reader(method: str, connection: Connection) -> Reader:
    session, annotated = connection.session, ANNOTATED.get(method)
    row, revision = session.lookup(method), session.rules
    if row is None:
        raise LocalProtocolError("revision %s has no request %s" % (revision, method))
    read = decoder(result_class(row), revision)

    def convert(result: Dict[str, Any]) -> Any:
        try:
            made = read(result, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None
        if annotated is not None:
            for odd in odd_priorities(annotated, getattr(made, annotated, [])):
                connection.counters.note("number out of range", "%s: %s" % (method, odd))
        return made

    return convert
