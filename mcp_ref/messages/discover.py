"""Discovery: the identity and the capabilities of a server without handshake. [2026-07-28 server/discover §Response]

Also the details of the two errors by which such a server refuses a request whose `_meta` it cannot
serve: [2026-07-28 basic/versioning §Protocol Version Negotiation], [2026-07-28 basic/index §Error Codes].
"""

from typing import List, Optional

from ..codec import Model, member, message
from ..revisions import R2026_07_28
from .base import MetaObject, result_meta, result_type
from .caching import CacheScope, cache_scope, ttl_ms
from .lifecycle import ClientCapabilities, ServerCapabilities


@message
class DiscoverResult(Model):
    """The result of `server/discover`. [2026-07-28 server/discover §DiscoverResult]"""

    since = R2026_07_28

    supported_versions: List[str]
    capabilities: ServerCapabilities
    instructions: Optional[str] = member(default=None)
    """Instructions for the model: the use of this server."""
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class UnsupportedProtocolVersionErrorData(Model):
    """The ``data`` of error -32022. [2026-07-28 basic/versioning §Protocol Version Negotiation]"""

    since = R2026_07_28

    supported: List[str]
    requested: str


@message
class MissingRequiredClientCapabilityErrorData(Model):
    """The ``data`` of error -32021. [2026-07-28 basic/index §Error Codes]"""

    since = R2026_07_28

    required_capabilities: ClientCapabilities
