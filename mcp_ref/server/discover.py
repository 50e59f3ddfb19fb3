"""`server/discover`: what this server speaks, is and can do, for who asks before anything else.

[2026-07-28 server/discover §Response], [2026-07-28 basic/versioning §Protocol Version Negotiation] MUST. And `Stamp`,
by which every other result of that era says who it comes from, too.
"""

from typing import TYPE_CHECKING, Any, Dict

from ..codec import encode
from ..jsonrpc import Encoded
from ..jsontext import dumps
from ..messages.base import Implementation, RequestParams
from ..messages.discover import DiscoverResult
from ..peer.context import Context, Route
from ..peer.params import params_reader
from ..protocol.envelope import SERVER_INFO
from ..revisions import Revision
from .current import CURRENT
from .initialize import capabilities

if TYPE_CHECKING:
    from .server import Server


def route(server: "Server", revision: Revision) -> Route:
    """Answers `server/discover`, on the reader: it takes no time and runs no code of the author's."""
    read = params_reader(RequestParams, revision)
    cache = server.caches.get("server/discover")

    def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
        read(params)
        supported = [known.name for known in reversed(server.revisions)]
        hints = {} if cache is None else cache.hints
        result = DiscoverResult(supported, capabilities(server, revision), server.instructions, **hints)
        if server.identify:
            result.meta = {SERVER_INFO: encode(Implementation(*server.identity), revision)}
        made = encode(result, revision)
        server.with_extensions(made["capabilities"], revision)
        return made

    return Route(answer, inline=True)


class Stamp:
    """Puts what every result has into a result: the type, and unless the server is told not to, who answers.

    [2026-07-28 basic/index §ResultType] MUST, [2026-07-28 basic/index §`_meta`] SHOULD.
    """

    def __init__(self, server: "Server", revision: Revision) -> None:
        self._own: Dict[str, Any] = {}
        if server.identify:  # briefly: what is for people to see and to read, `server/discover` tells
            self._own[SERVER_INFO] = encode(Implementation(*server.identity[:3]), revision)
        self._tail = ',"_meta":%s}' % dumps(self._own)

    def __call__(self, result: Any) -> Any:
        """The result as it is sent; the one that was given stays as it is. Raises `JsonError`."""
        if isinstance(result, Encoded):  # a page of a list: it has members, and no `_meta` of its own
            return Encoded(result[:-1] + self._tail) if self._own else result
        made = result if "resultType" in result else dict(result, resultType="complete")
        text = dumps(made) if self._own else ""
        if text and '"_meta"' not in text:  # as most are: nothing is to be merged, nor looked at again
            return Encoded(text[:-1] + self._tail)
        if self._own:
            meta = made.get("_meta")
            made = dict(made, _meta=dict(self._own, **meta) if meta else self._own)
        return made

    def on(self, route: Route) -> Route:
        """A route whose results are stamped."""
        call, fault = route.call, route.fault
        if route.deferred:
            return route

        def stamped(context: Context, params: Dict[str, Any]) -> Any:
            before = CURRENT.set(context)
            try:
                return self(call(context, params))
            finally:
                CURRENT.reset(before)

        def stamped_fault(context: Context, error: Exception) -> Any:
            result = None if fault is None else fault(context, error)
            return None if result is None else self(result)

        return Route(stamped, None if fault is None else stamped_fault, route.inline)
