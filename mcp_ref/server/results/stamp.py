"""The members that every result of 2026-07-28 has: its type, and the server that it comes from.

[2026-07-28 basic/index §Result Responses] MUST, [2026-07-28 basic/index §ResultType] MUST, [2026-07-28 basic/index
§`_meta`] SHOULD. `Server.route` wraps each route of that revision in a `Stamp`. The wrapper also sets `CURRENT`, the
request that the thread answers, because every stateless request passes it; `mcp_ref.server.logs` finds the request
there.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Dict, Optional

from ...codec import encode
from ...jsonrpc import Encoded
from ...jsontext import dumps
from ...messages.base import Implementation
from ...peer.context import Context, Route
from ...protocol.envelope import SERVER_INFO
from ...revisions import Revision

if TYPE_CHECKING:
    from ..interface import ServerInterface

CURRENT: "ContextVar[Optional[Context]]" = ContextVar("the stateless request that this thread answers", default=None)
"""The context of the stateless request that this thread is answering, for code of the author's that is given none, such
as a handler of `logging`. Requests of a session do not set it: their messages go to the session."""


class Stamp:
    """Add ``resultType`` and, unless ``Server(identify=False)``, the server's name and version to each result.

    Only the first three members of the identity are sent; `server/discover` has the others, which are for people.
    """

    def __init__(self, server: "ServerInterface", revision: Revision) -> None:
        self._own: Dict[str, Any] = {}
        if server.identify:
            self._own[SERVER_INFO] = encode(Implementation(*server.identity[:3]), revision)
        self._tail = ',"_meta":%s}' % dumps(self._own)

    def __call__(self, result: Any) -> Any:
        """Return the result with the members added; the given dict is not changed. Raises `JsonError`.

        A result without a `_meta` of its own, as most are, is returned as text, so that it is not encoded again.
        """
        if isinstance(result, Encoded):  # a page of a list: it has members, and no `_meta` of its own
            return Encoded(result[:-1] + self._tail) if self._own else result
        made = result if "resultType" in result else dict(result, resultType="complete")
        text = dumps(made) if self._own else ""
        if text and '"_meta"' not in text:  # no `_meta` to merge
            return Encoded(text[:-1] + self._tail)
        if self._own:
            meta = made.get("_meta")
            made = dict(made, _meta=dict(self._own, **meta) if meta else self._own)
        return made

    def on(self, route: Route) -> Route:
        """Return a route with the same function whose results are stamped. A deferred route stays as it is."""
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
