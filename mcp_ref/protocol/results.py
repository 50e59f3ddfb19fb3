"""The rules for results that arrive: which may be kept and for how long, and priorities that are out of range.

An answer is kept under its method and all of its params but `_meta`
[2026-07-28 server/utilities/caching §Cacheable Results]
[2026-07-28 server/utilities/caching §Cache Key] MUST NOT.

Reading: the members that a client puts into `_meta` by itself (version, identity, capabilities, log level, progress,
trace) do not change the result. Any other member may, so a request with more in its `_meta` is not looked up and its
answer is not kept.

The rules for annotations of one's own are in `mcp_ref.protocol.content`.
"""

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Tuple

from ..jsontext import JsonError, dumps
from ..methods import DISCOVER, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, LIST_TOOLS, READ_RESOURCE
from .envelope import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, TRACE_KEYS, VERSION

CACHEABLE = (
    DISCOVER, LIST_TOOLS, LIST_PROMPTS, LIST_RESOURCES, LIST_RESOURCE_TEMPLATES, READ_RESOURCE,
)
TTL_MS = "ttlMs"
SCOPE = "cacheScope"
PUBLIC = "public"
PRIVATE = "private"
SCOPES = (PUBLIC, PRIVATE)
MAX_TTL_MS = 2 ** 53 - 1
"""The largest integer that every receiver reads exactly: 285,000 years."""

DEPENDING = frozenset(("inputResponses", "requestState"))
"""Params that belong to the rounds of a request: its result depends on them beyond what was asked for."""
_OWN = frozenset((VERSION, CLIENT_INFO, CAPABILITIES, LOG_LEVEL, "progressToken", *TRACE_KEYS))


Key = Tuple[Tuple[str, str], ...]
"""Names and JSON texts of params."""


class Hints(NamedTuple):
    """The caching hints of a result."""

    ttl: float
    """Seconds for which the result is fresh; 0 if it may not be kept."""
    scope: str
    given: bool
    """True if the result has hints; a result of an earlier revision has none."""


def key(method: str, params: Optional[Mapping[str, Any]]) -> Optional[Key]:
    """Return the key under which the answer to a request is kept, beside its method; None if it must not be kept.

    A retry that carries answers or state has no key [2026-07-28 server/utilities/caching §Cache Key] MUST NOT.
    """
    if method not in CACHEABLE:
        return None
    if not params:
        return ()
    if not DEPENDING.isdisjoint(params) or not _OWN.issuperset(params.get("_meta") or ()):
        return None
    try:
        return tuple((name, dumps(params[name])) for name in sorted(params) if name != "_meta")
    except JsonError:
        return None  # params that cannot be sent raise an error when they are sent


def hints(result: Mapping[str, Any]) -> Hints:
    """Return the hints of a complete result, as it came.

    A number that is negative counts as 0 [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD.
    Reading: so does a value that is no number, and a scope other than "public" is private.
    """
    ttl = result.get(TTL_MS)
    seconds = min(ttl, MAX_TTL_MS) / 1000.0 if isinstance(ttl, (int, float)) and ttl > 0 and ttl is not True else 0.0
    return Hints(seconds, PUBLIC if result.get(SCOPE) == PUBLIC else PRIVATE, TTL_MS in result)


def odd_priorities(path: str, items: Any) -> Iterator[str]:
    """Describe each priority outside 0 to 1 [2025-06-18.. server/resources §Annotations], for the record.

    ``items``: one item that a peer has sent, or a list of them, such as content blocks or resources; ``path``: what
    the text calls them. Reading: a priority out of range is still a hint, so its item is taken all the same.
    """
    for number, item in enumerate(items if isinstance(items, list) else [items]):
        priority = getattr(getattr(item, "annotations", None), "priority", None)
        if priority is not None and not 0 <= priority <= 1:
            yield "%s[%d].annotations.priority of %.40r" % (path, number, priority)
        if hasattr(item, "content"):  # a message, or the result of a tool in one
            yield from odd_priorities("%s[%d].content" % (path, number), item.content)
