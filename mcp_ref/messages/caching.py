"""Hints on how long a result may be kept, and by whom. [2026-07-28 server/utilities/caching §Cacheable Model]

The hints are required in the results of lists, reads and discovery. A result without them counts as *stale at
once*, as the page says; Reading: and as private, which is the safe choice.
"""

from typing import Any, Literal, Optional

from ..codec import Model, member, message
from ..revisions import R2026_07_28
from .base import MetaObject, result_meta, result_type

CacheScope = Literal["public", "private"]


def ttl_ms() -> Any:
    """Declare the member ``ttl_ms``: milliseconds for which the result is fresh; 0 means not at all."""
    return member(default=0, since=R2026_07_28, required=((None, None),), assume=True)


def cache_scope() -> Any:
    """Declare the member ``cache_scope``: the kept result may serve every client, or only the same principal."""
    return member(default="private", since=R2026_07_28, required=((None, None),), assume=True)


@message
class CacheableResult(Model):
    """The base of every result that may be kept. [2026-07-28 server/utilities/caching §Cacheable Results]"""

    since = R2026_07_28

    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()
