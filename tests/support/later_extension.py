"""An extension as one module: tools named ``..._later`` answer with a ticket, and the client fetches the rest.

    server = Server("x", extensions=[Later(limit=3)])
    client = Client(extensions=[Later()])

It adds two requests, a notification in each direction, a type of result, a setting and a name in `_meta`. Who has not
declared it calls the same tools and gets their results at once.
"""
import itertools
import threading
from typing import Any, Dict, List, Optional, Tuple

from mcp_ref.codec import Model, decode, encode, member, message
from mcp_ref.jsonrpc import decoded
from mcp_ref.messages.base import MetaObject, request_meta, result_meta, result_type
from mcp_ref.methods import CLIENT, NOTIFICATION, REQUEST, SERVER, Method
from mcp_ref.revisions import R2026_07_28
from mcp_ref.server import Extension, Route

IDENTIFIER = "com.example/later"
FETCH, COUNT = "com.example/later/fetch", "com.example/later/count"
TAKEN, DROPPED = "notifications/com.example/later/taken", "notifications/com.example/later/dropped"
KIND = "com.example/ticket"
FILTER = "com.example/tickets"
KEY = "io.modelcontextprotocol/later"
PAGE = "https://example.com/later"


@message
class TicketParams(Model):
    """Which result, or which one is of no interest any more."""

    ticket: str
    meta: Optional[MetaObject] = request_meta()


@message
class CountParams(Model):
    """Nothing."""

    meta: Optional[MetaObject] = request_meta()


@message
class Anything(Model):
    """The result of a tool, as it is."""

    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class CountResult(Model):
    """How many results wait."""

    waiting: int
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class TakenParams(Model):
    """A ticket was given out."""

    ticket: str = member(default="")
    meta: Optional[MetaObject] = member(default=None)


def _request(name: str, params: Any, result: Any, named: Optional[str] = None) -> Method:
    return Method(name, REQUEST, CLIENT, params, result, R2026_07_28, None, PAGE, named=named)


class Later(Extension):
    """See the module; ``limit``: results that may wait. What it heard stands in ``heard_of``."""

    identifier = IDENTIFIER
    methods = (
        _request(FETCH, TicketParams, Anything, "ticket"), _request(COUNT, CountParams, CountResult),
        Method(TAKEN, NOTIFICATION, SERVER, TakenParams, None, R2026_07_28, None, PAGE),
        Method(DROPPED, NOTIFICATION, CLIENT, TakenParams, None, R2026_07_28, None, PAGE),
    )
    result_types = (KIND,)
    meta_keys = (KEY,)
    filters = (FILTER,)

    def __init__(self, limit: int = 10) -> None:
        self.limit = limit
        self.heard_of: List[Tuple[str, Any]] = []
        self.changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._waiting: Dict[str, Any] = {}

    def settings(self, role: Any) -> Dict[str, Any]:
        """The server says how many results may wait."""
        return {"limit": self.limit} if role.party == "server" else {}

    # The server's side

    def route(self, role: Any, method: str, revision: Any) -> Optional[Route]:
        """Both requests; a client answers none."""
        if role.party != "server":
            return None
        made = {FETCH: self._fetch, COUNT: self._count}[method]
        params = {FETCH: TicketParams, COUNT: CountParams}[method]
        return Route(lambda context, given: made(decode(params, given, revision), revision))

    def _fetch(self, params: TicketParams, revision: Any) -> Any:
        return dict(self._waiting.pop(params.ticket), _meta={KEY: params.ticket})

    def _count(self, params: CountParams, revision: Any) -> Any:
        return encode(CountResult(len(self._waiting)), revision)

    def adapt(self, role: Any, method: str, revision: Any, route: Route) -> Route:
        """A ticket instead of a result, for who knows what that is, as long as there is room."""
        if method != "tools/call" or role.party != "server":
            return route

        def call(context: Any, params: Dict[str, Any]) -> Any:
            result = route.call(context, params)
            wanted = params.get("name", "").endswith("_later") and IDENTIFIER in context.extensions
            if not wanted or len(self._waiting) >= self.limit:
                return result
            ticket = "t%d" % next(self._numbers)
            self._waiting[ticket] = decoded(result)
            context.notify(TAKEN, {"ticket": ticket})
            return {"resultType": KIND, "ticket": ticket}

        return Route(call, route.fault)

    def agree(self, context: Any, member: str, texts: Any) -> Any:
        """It tells of tickets that wait."""
        return [text for text in texts if text in self._waiting]

    # Both

    def heard(self, connection: Any, method: str, params: Dict[str, Any]) -> None:
        """Note it."""
        with self.changed:
            self.heard_of.append((method, params.get("ticket")))
            self.changed.notify_all()

    # The client's side

    def finish(
        self, client: Any, method: str, params: Any, result: Dict[str, Any], waiting: Any
    ) -> Dict[str, Any]:
        """Fetch what the ticket is for."""
        fetched: Dict[str, Any] = client.request(FETCH, {"ticket": result["ticket"]})
        client.connection.notify(DROPPED, {"ticket": result["ticket"]})
        return fetched
