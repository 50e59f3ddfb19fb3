"""POSTs that stand alone: an endpoint without sessions, for deployments where any process may get any request.

Each POST has a connection of its own that is operating at once, by the revision that the version header names. Nothing
is known of the client: the handshake was with somebody else, or was forgotten. So the client cannot be asked anything:
its answer would be another POST, which knows nothing of the question. What a handler says to the client before it
answers still travels in the reply.
"""

from typing import TYPE_CHECKING, Any, List

from ...http11.message import Exchange
from ...jsonrpc import Batch, Frame, Notification, Request, id_key
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.refusals import Verdict
from ...revisions import R2025_03_26, revision
from .session import HttpSession

if TYPE_CHECKING:
    from .endpoint import Endpoint

ASSUMED = R2025_03_26
"""The revision of a client that sends no version header
[2025-06-18..2025-11-25 basic/transports §Protocol Version Header] SHOULD."""
WHY = "sessions='none' (--stateless) has no way back to the client: its answer could reach another process"


def post_alone(endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, frame: Frame, principal: Any) -> None:
    """Answer one POST."""
    version = exchange.request.headers.get("mcp-protocol-version")
    opening = isinstance(frame, Request) and frame.method == "initialize"
    fault = "" if version is None or opening else refusals.version_fault(version, endpoint.revisions, None, False)
    if fault:
        endpoint.refuse(exchange, verdict, "version", fault)
        return
    rules = revision(ASSUMED if version is None or opening else version)
    keys: List[Any] = []
    about: Any = None
    if isinstance(frame, Request):
        keys = [id_key(frame.id)]
    elif isinstance(frame, Batch):
        found = refusals.kinds(frame)
        fault = refusals.batch_fault(found, rules.batching)
        if fault and (endpoint.strict or not rules.batching):
            endpoint.refuse(exchange, verdict, "batch", fault)
            return
        if found.requests or found.broken:
            about = object()
            keys = [about, *dict.fromkeys(map(id_key, found.requests))]
    elif not isinstance(frame, Notification):
        endpoint.refuse(exchange, verdict, "body", "Invalid request: no request waits for this response: " + WHY)
        return
    if not keys:
        exchange.reply(202, verdict.cors)  # there is nobody whom it could concern
    elif endpoint.closing:
        endpoint.refuse(exchange, verdict, "closing", id=getattr(frame, "id", None))
    else:
        session = HttpSession(None, principal, endpoint.limits)
        connection = endpoint.connected(session)
        if not opening:
            connection.assume(rules, WHY)
        session.expect(endpoint.stream(exchange, verdict, keys))
        endpoint.alone(session)
        connection.work(connection.receive(frame, exchange.request.body, about))
        session.when_answered(lambda: endpoint.end(session, "the request was answered"))
