"""Requests whose answers may come from the cache: lists, page by page or whole, and resources.

`mcp_ref.client.cache` says what is kept, and for how long.
"""

import marshal
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Sequence, Set

from .. import deadline
from ..errors import INVALID_PARAMS, PeerError, PeerProtocolError
from ..jsonrpc import shown
from ..methods import LIST_TOOLS
from ..peer.dispatcher import Connection
from ..protocol.results import TTL_MS, Hints, hints, key
from .cache import LISTS, MethodCache, ServerCache, Version
from .options import REQUEST_DEFAULTS, Reader
from .request_flow import Requests, known

if TYPE_CHECKING:
    from ..protocol.results import Key
    from .client import Client
    from .options import Options
    from .structured import ResultCheck


class CachedCalls:
    """Asks the cache first, and the server for what is not there. Thread-safe."""

    def __init__(self, owner: "Client", requests: Requests) -> None:
        self._owner = owner
        self._requests = requests

    @property
    def cache(self) -> ServerCache:
        """The cache of the server that the client is connected to. Raises `LocalProtocolError` if it is to none."""
        return known(self._owner.connection)

    def result_check(self) -> "ResultCheck":
        """Return the check of results of this server's tools."""
        cache = self.cache
        if cache.result_check is None:
            from .structured import ResultCheck

            cache.result_check = ResultCheck(
                self._owner.connection, cache["tools"], lambda: list(self.items("tools", True, REQUEST_DEFAULTS)),
                self._owner.strict)
        return cache.result_check

    # One answer

    def page(self, kind: str, cursor: Optional[str], refresh: bool, options: "Options") -> Any:
        """Return one page of a list; ``kind``: a key of LISTS, ``refresh``: True to ask in any case."""
        cache = self.cache[kind]

        def keep(key: "Key", page: Any, told: Hints, version: Version, result: Dict[str, Any]) -> None:
            if not cache.keep_page(cursor, page, told, version, size_of(result)):
                self._owner.connection.counters.note("mixed cache scope", "%s: its pages do not agree" % cache.method)

        params = None if cursor is None else {"cursor": cursor}
        return self._ask(cache, params, refresh, options, self._page_reader(cache.method), keep)

    def answer(
        self, method: str, params: Dict[str, Any], size: Callable[[Dict[str, Any]], int], refresh: bool,
        options: "Options", read: Optional[Reader] = None,
    ) -> Any:
        """Return the answer to a request that has no pages. ``size``: what a result counts."""
        cache = self.cache.others[method]

        def keep(key: "Key", message: Any, told: Hints, version: Version, result: Dict[str, Any]) -> None:
            if told.ttl > 0:
                cache.keep(key, message, told, size(result), version)

        return self._ask(cache, params, refresh, options, read, keep)

    def _ask(
        self, cache: MethodCache, params: Optional[Dict[str, Any]], refresh: bool, options: "Options",
        read: Optional[Reader], keep: "Callable[[Key, Any, Hints, Version, Dict[str, Any]], None]",
    ) -> Any:
        """Return an answer from the cache, or ask for it and keep it; some options make it one that must not be kept.
        """
        cache_key = _key_of(cache, params, options)
        if cache_key is None:
            return self._requests.call(cache.method, params, options, read)
        found = None if refresh else cache.fresh(cache_key)
        if found is not None:
            return found
        version = cache.version  # noted before asking: see `MethodCache.keep`

        def take(result: Dict[str, Any], message: Any) -> None:
            # An integer from 0 up, or it is taken as `hints` says
            # [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD
            ttl = result.get(TTL_MS, 0)
            if type(ttl) is not int or ttl < 0:
                self._owner.connection.counters.note(
                    "number out of range", "%s: ttlMs of %.40r" % (cache.method, ttl))
            keep(cache_key, message, hints(result), version, result)

        return self._requests.call(cache.method, params, options, read, take)

    # All pages

    def items(self, kind: str, refresh: bool, options: "Options") -> Iterator[Any]:
        """Yield the items of all pages of a list. It ends only where there is no next cursor, because "" is one.

        A cursor is handed back as it came, and nothing is assumed of it or of the size of a page
        [.. server/utilities/pagination §Implementation Guidelines] MUST; but one that came before leads in a circle.
        One that the server takes no longer makes all pages worthless: once, the list is read from its beginning, and
        items that were yielded before are left out
        [2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD.
        """
        cache, limits = self.cache[kind], self._owner.limits
        kept = None if refresh or _key_of(cache, None, options) is None else cache.current()
        if kept is not None:
            yield from kept
            return
        yielded: Set[str] = set()
        seen: Set[int] = set()  # hashes of cursors: nothing says how long one is
        cursor: Optional[str] = None
        spent, is_restarted = 0.0, False
        while True:
            start = deadline.clock()
            try:
                page = self.page(kind, cursor, refresh, options)
            except PeerError as error:
                if error.code != INVALID_PARAMS or cursor is None or is_restarted:
                    raise
                self.cache[kind].forget_pages()  # of the connection that there is now
                cursor, is_restarted = None, True
                seen.clear()
                continue
            spent += deadline.clock() - start
            for item in getattr(page, kind):
                name = getattr(item, LISTS[kind].named)
                if not is_restarted or name not in yielded:
                    yielded.add(name)
                    yield item
            cursor = page.next_cursor
            if cursor is None:
                return
            if hash(cursor) in seen:
                raise _endless(kind, "the cursor %.80r came before" % cursor)
            seen.add(hash(cursor))
            if len(seen) >= limits.max_pages:
                raise _endless(kind, "there are more pages than max_pages (%d)" % limits.max_pages)
            if spent > limits.request_ceiling:
                raise _endless(kind, "its pages took longer than request_ceiling (%g s)" % limits.request_ceiling)

    def _page_reader(self, method: str) -> Reader:
        connection = self._owner.connection
        read = self._requests.reader(method, connection)
        exchanges = connection.exchanges
        mirrors = exchanges is not None and exchanges.mirrors and connection.session.rules.stateless
        is_mirrored = method == LIST_TOOLS and mirrors

        def read_page(result: Dict[str, Any]) -> Any:
            if is_mirrored and isinstance(result.get("tools"), list):
                result = dict(result, tools=without_invalid(result["tools"], connection))
            return read(result)

        return read_page


def _key_of(cache: MethodCache, params: Optional[Dict[str, Any]], options: "Options") -> "Optional[Key]":
    """Return the key of an answer; None if the caller's options make it one that must not be kept."""
    if options.get("input_responses") is not None or options.get("request_state") is not None:
        return None
    meta = options["meta"]
    return key(cache.method, params if not meta else dict(params or {}, _meta=meta))


def size_of(result: Dict[str, Any]) -> int:
    """Return about how many bytes a page takes, by `marshal`, which is faster than `json`."""
    try:
        return len(marshal.dumps(result))
    except ValueError:  # nested deeper than it can go
        return 1 << 62


def bytes_of(result: Dict[str, Any]) -> int:
    """Return about how many bytes the contents of a resource take."""
    contents = result.get("contents", ())
    return 1024 + sum(len(part.get("text") or part.get("blob") or "") for part in contents)


def _endless(kind: str, reason: str) -> PeerProtocolError:
    return PeerProtocolError("%s does not end: %s" % (LISTS[kind].method, reason))


def without_invalid(tools: Sequence[Any], connection: Connection) -> Sequence[Any]:
    """Return the tools of a list, as on the wire, but for those whose annotations break the rules; these are logged.

    [2026-07-28 basic/transports/streamable-http §Schema Extension] MUST
    """
    from ..protocol.streamable_http.mirrored import annotations

    valid = []
    for tool in tools:
        try:
            annotations(tool.get("inputSchema") if isinstance(tool, dict) else None)
        except ValueError as error:
            connection.counters.note("refused tool", "%s: %s" % (shown(str(tool.get("name"))), error))
        else:
            valid.append(tool)
    return valid
