"""The hints for how long clients may cache an answer, and for whom [2026-07-28 server/utilities/caching].

::

    Server("demo", cache=Cache(ttl=300, scope="public"))                  # everything that may be kept
    Server("demo", cache={"tools/list": Cache(300, "public")})            # by method
    @server.resource("config://app", cache=Cache(ttl=60))                 # one resource, template or directory

A handler of a resource may also return a `ReadResourceResult` with hints of its own, which take precedence.

The complete results of six methods carry the hints [2026-07-28 server/utilities/caching §Cacheable Results] MUST. The
hint of a list is that of all its pages, so that they have one scope
[2026-07-28 server/utilities/caching §Interaction with Pagination] MUST. Revisions with a handshake have no hints.

Reading: without a hint of the author nothing may be cached (0 seconds) and nothing be shared (private). The page gives
no default; a list that is the same for everybody may well be public, but only its author knows that. Reading, too: a
result that depends on answers of the user is never cached, whatever the hint of the resource is: it depends on more
than its URI [2026-07-28 server/utilities/caching §Cache Key].

A public answer may be given to anybody, also by a server that authenticates clients: the scope protects nothing
[2026-07-28 server/utilities/caching §Security Considerations] MUST NOT.
"""

from copy import copy
from typing import Any, Dict, Mapping, Optional, Union

from ...messages.resources import ReadResourceResult
from ...options import strict_options
from ...protocol.results import CACHEABLE, DEPENDING, MAX_TTL_MS, PRIVATE, SCOPES, TTL_MS


class Cache:
    """A hint: an answer is fresh for ``ttl`` seconds, for everybody ("public") or for the same principal ("private").

    Do not change it. Raises TypeError or ValueError for another ttl or scope.
    """

    __slots__ = ("ttl", "scope", "hints")

    @strict_options
    def __init__(self, ttl: float = 0.0, scope: str = PRIVATE) -> None:
        if type(ttl) not in (int, float):
            raise TypeError("Cache: ttl is a number of seconds, got %.80r" % (ttl,))
        if not 0 <= ttl * 1000 <= MAX_TTL_MS:
            # [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] MUST
            raise ValueError("Cache: ttl is a number of seconds from 0 to %d, got %r" % (MAX_TTL_MS // 1000, ttl))
        if scope not in SCOPES:
            raise ValueError('Cache: scope is "public" or "private", got %.80r' % (scope,))
        self.ttl = ttl
        self.scope = scope
        self.hints: Dict[str, Any] = {"ttl_ms": round(ttl * 1000), "cache_scope": scope}
        """The members that a result gets: attribute -> value."""

    def __repr__(self) -> str:
        return "Cache(ttl=%r, scope=%r)" % (self.ttl, self.scope)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cache) and self.hints == other.hints

    def __hash__(self) -> int:
        return hash((self.ttl, self.scope))


def by_method(cache: Union[Cache, Mapping[str, Cache], None]) -> Dict[str, Cache]:
    """Return the hints of a server by method. Raises TypeError or ValueError for a method that is none of the six."""
    if cache is None:
        return {}
    if isinstance(cache, Cache):
        return dict.fromkeys(CACHEABLE, cache)
    if not isinstance(cache, Mapping):
        raise TypeError("Server: cache is a Cache, or a dict of method and Cache, got %.80r" % (cache,))
    for method, hint in cache.items():
        if method not in CACHEABLE:
            raise ValueError("Server: cache: %.80r may not be kept; these may: %s" % (method, ", ".join(CACHEABLE)))
        check_hint("Server: cache of " + method, hint)
    return dict(cache)


def check_hint(where: str, cache: Any) -> None:
    """Raise TypeError for a value that is no `Cache`; ``where`` begins the text."""
    if not isinstance(cache, Cache):
        raise TypeError("%s: cache is a Cache(ttl=..., scope=...), got %.80r" % (where, cache))


def check_own(result: ReadResourceResult) -> None:
    """Raise ValueError for hints, in a result that an author made, that no client could use."""
    if type(result.ttl_ms) is not int or not 0 <= result.ttl_ms <= MAX_TTL_MS:
        raise ValueError("%s: expected milliseconds from 0 to %d, got %r" % (TTL_MS, MAX_TTL_MS, result.ttl_ms))
    if result.cache_scope not in SCOPES:
        raise ValueError('cacheScope: expected "public" or "private", got %.80r' % (result.cache_scope,))


def hinted(
    result: ReadResourceResult, cache: Optional[Cache], asked: Optional[Mapping[str, Any]], private: bool = False
) -> ReadResourceResult:
    """Return the result of a read with the hints that hold for it. ``asked``: the params of the request as it came.
    ``private``: not everybody may read it, so that it is not shared.

    Hints that an author wrote into the result stay, unless the result depends on answers of the user.
    """
    depends = asked is not None and not DEPENDING.isdisjoint(asked)
    own, made = (result.ttl_ms, result.cache_scope) != (0, PRIVATE), result
    if depends and own or not (depends or own or cache is None):
        hints = {} if depends or cache is None else cache.hints
        made = ReadResourceResult(result.contents, meta=result.meta, **hints)
        if result.extra:
            made.extra = result.extra
    if private and made.cache_scope != PRIVATE:
        made = copy(made)
        made.cache_scope = "private"
    return made
