"""`server/discover`: the revisions, identity and capabilities of this server, for a client without a handshake.

[2026-07-28 server/discover §Response], [2026-07-28 basic/versioning §Protocol Version Negotiation] MUST.
"""

from typing import TYPE_CHECKING, Any, Dict

from ..codec import encode
from ..messages.base import Implementation, RequestParams
from ..messages.discover import DiscoverResult
from ..methods import DISCOVER
from ..peer.context import Context, Route, params_reader
from ..protocol.envelope import SERVER_INFO
from ..revisions import Revision
from .initialize import capabilities

if TYPE_CHECKING:
    from .server import Server


def discover_route(server: "Server", revision: Revision) -> Route:
    """Return the route of `server/discover`. It runs on the reader: it is quick and calls no author's code."""
    read = params_reader(RequestParams, revision)
    cache = server.caches.get(DISCOVER)

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        read(params, context)
        supported = [known.name for known in reversed(server.revisions)]
        hints = {} if cache is None else cache.hints
        result = DiscoverResult(supported, capabilities(server, revision), server.instructions, **hints)
        if server.identify:
            result.meta = {SERVER_INFO: encode(Implementation(*server.identity), revision)}
        made = encode(result, revision)
        server.with_extensions(made["capabilities"], revision)
        return made

    return Route(answer, inline=True)
