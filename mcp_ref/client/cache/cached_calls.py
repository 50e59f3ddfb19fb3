"""Requests whose answers may come from memory: lists, page by page or whole, and resources.

What is remembered, and for how long, is told in `mcp_ref.client.cache.caches`.
"""

import marshal
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Set

from ... import deadline
from ...errors import INVALID_PARAMS, PeerError, PeerProtocolError
from ...protocol.caching import TTL_MS, hints, key
from ..requests import PLAIN, Asking, Options
from .caches import LISTS
from .store import Answers, SharedAnswers

if TYPE_CHECKING:
    from ...protocol.caching import Key
    from ..requests import Reader
    from ..structured import ResultCheck

_AGAIN: Any = object()
"""Stands for: all pages once more, from the first one on."""


class Remembering(Asking):
    """The part of a `Client` that asks only for what it does not know."""

    cache: Optional[SharedAnswers] = None
    """Where public answers are shared with other clients."""

    def forget(self) -> None:
        """Remember no answer of the server any more.

        For whoever changes what the server takes us for, such as a token: what it told one principal may not be given
        to another [2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT.
        """
        self._lists.forget()

    def _result_check(self) -> "ResultCheck":
        found = self._results
        if found is None:
            from ..structured import ResultCheck

            def ask() -> None:
                for _ in self._all("tools", True, PLAIN):
                    pass

            found = self._results = ResultCheck(self.connection, self._lists["tools"], ask, self.strict)
        return found

    # One answer

    def _page(self, kind: str, cursor: Optional[str], refresh: bool, options: Options) -> Any:
        """One page of a list."""
        kept = self._lists[kind]
        params = None if cursor is None else {"cursor": cursor}
        place = _key_of(kept, params, options)
        found = None if refresh or place is None else kept.fresh(place)
        if found is not None:
            return found
        version = kept.version

        def keep(result: Dict[str, Any], page: Any) -> None:
            self._check_ttl(kept.method, result)
            if not kept.keep_page(cursor, page, hints(result), version, size_of(result)):
                self.connection.counters.note("mixed cache scope", "%s: its pages do not agree" % kept.method)

        return self._call(
            kept.method, params, options, self._page_reader(kept.method), keep if place is not None else None)

    def _remembered(
        self, method: str, params: Dict[str, Any], size: Any, refresh: bool, options: Options,
        read: "Optional[Reader]" = None,
    ) -> Any:
        """The answer to a request that has no pages. ``size``: what it counts, or a function of the result."""
        kept = self._lists.others[method]
        place = _key_of(kept, params, options)
        found = None if refresh or place is None else kept.fresh(place)
        if found is not None:
            return found
        version = kept.version

        def keep(result: Dict[str, Any], made: Any) -> None:
            self._check_ttl(method, result)
            found = hints(result)
            if found.ttl > 0 and place is not None:
                kept.keep(place, made, found, size(result) if callable(size) else size, version)

        return self._call(method, params, options, read, keep if place is not None else None)

    def _check_ttl(self, method: str, result: Dict[str, Any]) -> None:
        """Count a time to live that is no integer from 0 up; it is taken as `hints` says
        [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD."""
        ttl = result.get(TTL_MS, 0)
        if type(ttl) is not int or ttl < 0:
            self.connection.counters.note("number out of range", "%s: ttlMs of %.40r" % (method, ttl))

    # All pages

    def _all(self, kind: str, refresh: bool, options: Options) -> Iterator[Any]:
        """The items of all pages, those remembered and those not."""
        kept = self._lists[kind]
        known = None if refresh or _key_of(kept, None, options) is None else kept.current()
        if known is not None:
            yield from known
            return
        shown: Set[str] = set()
        again = False
        named = LISTS[kind].named
        for page in self._pages(kind, refresh, options):
            if page is _AGAIN:
                again = True
                continue
            for item in getattr(page, kind):
                name = getattr(item, named)
                if again and name in shown:
                    continue
                shown.add(name)
                yield item

    def _pages(self, kind: str, refresh: bool, options: Options) -> Iterator[Any]:
        """All pages of a list. It ends only where there is no next cursor, because "" is one.

        A cursor is handed back as it came, and nothing is assumed of it or of the size of a page
        [.. server/utilities/pagination §Implementation Guidelines] MUST; but one that came before leads in a circle.
        One that the server takes no longer makes all pages worthless: once, the list is read from its beginning
        [2026-07-28 server/utilities/caching §Interaction with Pagination] SHOULD.
        """
        seen: Set[int] = set()  # hashes: nothing says how long a cursor is
        cursor: Optional[str] = None
        spent, restarted = 0.0, False
        while True:
            start = deadline.clock()
            try:
                page = self._page(kind, cursor, refresh, options)
            except PeerError as error:
                if error.code != INVALID_PARAMS or cursor is None or restarted:
                    raise
                self._lists[kind].forget()
                cursor, restarted = None, True
                seen.clear()
                yield _AGAIN
                continue
            spent += deadline.clock() - start
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            if hash(cursor) in seen:
                raise _endless(kind, "the cursor %.80r came before" % cursor)
            seen.add(hash(cursor))
            if len(seen) >= self.limits.max_pages:
                raise _endless(kind, "there are more pages than max_pages (%d)" % self.limits.max_pages)
            if spent > self.limits.request_ceiling:
                raise _endless(kind, "its pages took longer than request_ceiling (%g s)" % self.limits.request_ceiling)


def _key_of(kept: Answers, params: Optional[Dict[str, Any]], options: Options) -> "Optional[Key]":
    """Under what an answer is kept; None: the caller asks for more than this."""
    if options.input_responses is not None or options.request_state is not None:
        return None
    return key(kept.method, params if not options.meta else dict(params or {}, _meta=options.meta))


def size_of(result: Dict[str, Any]) -> int:
    """Return about how many bytes a page takes, by `marshal`, which is faster than `json`."""
    try:
        return len(marshal.dumps(result))
    except ValueError:  # nested deeper than it goes
        return 1 << 62


def bytes_of(result: Dict[str, Any]) -> int:
    """About how many bytes the contents of a resource take."""
    contents = result.get("contents", ())
    return 1024 + sum(len(part.get("text") or part.get("blob") or "") for part in contents)


def _endless(kind: str, why: str) -> PeerProtocolError:
    return PeerProtocolError("%s does not end: %s" % (LISTS[kind].method, why))
