"""How a client asks a server: options, futures, pages, and what is remembered of the server.

The typed calls on top of it are in `mcp_ref.client.calls`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Set

from .. import deadline
from ..codec import ABSENT, DecodeError, decoder
from ..errors import ConnectionLost, LocalProtocolError, PeerProtocolError
from ..limits import Limits
from ..methods import lookup, result_class
from ..peer.dispatcher import Connection
from ..peer.request_table import ProgressCallback
from ..peer.role import Role
from ..revisions import Revision
from .caches import LISTS, Lists
from .subscriptions import Subscriptions

if TYPE_CHECKING:
    from ..peer.future import RequestFuture
    from .completion import Completions
    from .structured import ResultCheck

_UNSET: Any = object()
Reader = Callable[[Dict[str, Any]], Any]
"""Makes the message of a result object."""


def call_options(
    timeout: Optional[float] = _UNSET, progress: Optional[ProgressCallback] = None, extend_on_progress: bool = False
) -> Dict[str, Any]:
    """The options that every call takes, besides ``meta``, as `Connection.request` wants them.

    ``timeout``: seconds without an answer, after which the request is cancelled (default: ``request_timeout``; None:
    only the ceiling of the limits). ``progress(value, total, message)`` is called while the request is worked on: in
    the calling thread, or for futures on the executor. ``extend_on_progress``: each progress starts the timeout again.
    ``meta``: the `_meta` of the request.
    """
    options: Dict[str, Any] = {"timeout": timeout} if timeout is not _UNSET else {}
    if progress is not None:
        options["on_progress"] = progress
    if extend_on_progress:
        options["extend_on_progress"] = True
    return options


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

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, **options: Any) -> Dict[str, Any]:
        """Send any request and return the result object as it came; options as `Connection.request`.

        If the server has forgotten our HTTP session, a new one is begun and the request sent again, once.
        """
        connection = self.connection
        try:
            return connection.request(method, params, **options)
        except ConnectionLost as error:
            return self._renewed(connection, error).request(method, params, **options)

    def _renewed(self, ended: Connection, error: ConnectionLost) -> Connection:
        """The connection that takes the place of an ended one. Raises ``error`` where there can be none."""
        raise error

    def _call(
        self, method: str, params: Optional[Dict[str, Any]], read: Optional[Reader] = None,
        meta: Optional[Dict[str, Any]] = None, **options: Any
    ) -> Any:
        if meta is not None:
            params = dict(params or {}, _meta=meta)
        if options:
            options = call_options(**options)
        read = read or self._reader(method)
        return read(self.request(method, params, **options))

    def _submit(
        self, method: str, params: Dict[str, Any], read: Optional[Reader] = None,
        check: Optional[Callable[[Any], Any]] = None, meta: Optional[Dict[str, Any]] = None, **options: Any
    ) -> "RequestFuture":
        if self._futures is None:
            from . import futures

            self._futures = futures  # late, because most programs never use them
        if meta is not None:
            params = dict(params, _meta=meta)
        read = read or self._reader(method)
        if options:
            options = call_options(**options)

        def send(connection: Connection) -> "RequestFuture":
            if check is None:
                made = self._futures.RequestFuture(connection, read)
            else:
                made = self._futures.CheckedFuture(connection, read)
                made.check = check
            return made.send(method, params, **options)  # type: ignore[no-any-return]

        connection = self.connection
        try:
            return send(connection)
        except ConnectionLost as error:
            return send(self._renewed(connection, error))

    def _reader(self, method: str) -> Reader:
        """The function that makes the result's message of what came."""
        state = self.connection.state
        found: Optional[Reader] = state.get(method)
        if found is None:
            found = state[method] = _result_reader(method, self.revision)
        return found

    # Pages

    def _page(self, kind: str, cursor: Optional[str], **options: Any) -> Any:
        """One page of a list; one that is the whole list is remembered."""
        kept = self._lists[kind]
        version = kept.version
        method = LISTS[kind].method
        page = self._call(method, None if cursor is None else {"cursor": cursor}, self._page_reader(method), **options)
        if cursor is None and page.next_cursor is None:
            kept.keep(getattr(page, kind), version)
        return page

    def _page_reader(self, method: str) -> Reader:
        read, connection = self._reader(method), self.connection

        def read_page(result: Dict[str, Any]) -> Any:
            if not self.strict and result.get("nextCursor", ABSENT) is None:
                # Reading: what some servers write for *no more*. [2026-07-28 server/utilities/pagination
                # §Implementation Guidelines] says the same by asking for a non-null value.
                connection.counters.note("null cursor", "%s has a nextCursor that is null" % method)
                result = {name: item for name, item in result.items() if name != "nextCursor"}
            return read(result)

        return read_page

    def _all(self, kind: str, refresh: bool, options: Dict[str, Any]) -> Iterator[Any]:
        """The items of all pages, or those remembered; see `mcp_ref.client.caches`."""
        kept = self._lists[kind]
        known = None if refresh else kept.current()
        if known is not None:
            yield from known
            return
        version = kept.version
        items: List[Any] = []
        for page in self._pages(kind, options):
            found = getattr(page, kind)
            if len(items) <= self.limits.max_cached_items:
                items += found
            yield from found
        kept.keep(items, version)

    def _pages(self, kind: str, options: Dict[str, Any]) -> Iterator[Any]:
        """All pages of a list. It ends only where there is no next cursor, because "" is one.

        A cursor is handed back as it came, and nothing is assumed of it or of the size of a page
        [.. server/utilities/pagination §Implementation Guidelines] MUST; but one that came before leads in a circle.
        """
        seen: Set[Optional[str]] = set()
        cursor: Optional[str] = None
        spent = 0.0
        while True:
            start = deadline.clock()
            page = self._page(kind, cursor, **options)
            spent += deadline.clock() - start
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                raise _endless(kind, "the cursor %.80r came before" % cursor)
            seen.add(cursor)
            if len(seen) >= self.limits.max_pages:
                raise _endless(kind, "there are more pages than max_pages (%d)" % self.limits.max_pages)
            if spent > self.limits.request_ceiling:
                raise _endless(kind, "its pages took longer than request_ceiling (%g s)" % self.limits.request_ceiling)

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

    def _result_check(self) -> "ResultCheck":
        found = self._results
        if found is None:
            from .structured import ResultCheck

            def ask() -> None:
                for _ in self._all("tools", True, {}):
                    pass

            found = self._results = ResultCheck(self.connection, self._lists["tools"], ask, self.strict)
        return found

    def _known(self, name: str) -> Any:
        """What the handshake has put into the state of the connection."""
        found = self.connection.state.get(name)
        if found is None:
            raise LocalProtocolError("the client is not connected yet: open() is still shaking hands")
        return found


def _result_reader(method: str, revision: Revision) -> Reader:
    row = lookup(method, revision)
    if row is None:
        raise LocalProtocolError("revision %s has no request %s" % (revision, method))
    read = decoder(result_class(row), revision)

    def convert(result: Dict[str, Any]) -> Any:
        try:
            return read(result, "result")
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None

    return convert


def _endless(kind: str, why: str) -> PeerProtocolError:
    return PeerProtocolError("%s does not end: %s" % (LISTS[kind].method, why))
