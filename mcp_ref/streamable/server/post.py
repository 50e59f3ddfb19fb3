"""POSTs of a session: the first opens it, the others bring messages to its connection.

[2025-03-26..2025-11-25 basic/transports §Sending Messages to the Server] MUST. What comes before, and which session it
is, is the endpoint's business; where the answers go, that of `session`.
"""

from typing import TYPE_CHECKING, Any, Optional, Sequence

from ...http11.message import Exchange
from ...jsonrpc import Batch, Frame, Request, RequestId, id_key
from ...protocol.streamable_http import refusals
from ...protocol.streamable_http.refusals import Verdict
from .session import HttpSession

if TYPE_CHECKING:
    from .endpoint import Endpoint


def post_in_session(
    endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, frame: Frame, session: HttpSession, principal: Any
) -> None:
    """Answer one POST of this session; ``principal``: who sent it, by the credentials of this very request."""
    if isinstance(frame, Request):
        _ask(endpoint, exchange, verdict, session, frame, principal, (id_key(frame.id),))
    elif isinstance(frame, Batch):
        _batch(endpoint, exchange, verdict, session, frame, principal)
    else:
        tell(exchange, verdict, session, frame)


def tell(exchange: Exchange, verdict: Verdict, session: HttpSession, frame: Frame, principal: Any = None) -> None:
    """A message whose answer, if there is one, goes another way than in this reply."""
    jobs = session.receive(frame, exchange.request.body, principal=principal)
    exchange.reply(202, verdict.cors)
    session.connection.work(jobs)


def _batch(
    endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, session: HttpSession, batch: Batch, principal: Any
) -> None:
    """[2025-03-26 basic/transports §Sending Messages to the Server] MUST"""
    connection = session.connection
    found = refusals.kinds(batch)
    fault = refusals.batch_fault(found, connection.batching)
    if fault and (endpoint.strict or not connection.batching):
        endpoint.refuse(exchange, verdict, "batch", fault)
        return
    if fault:
        connection.counters.note("mixed batch", fault)
    if found.requests or found.broken:
        key: Any = object()
        keys = (key, *dict.fromkeys(map(id_key, found.requests)))
        _ask(endpoint, exchange, verdict, session, batch, principal, keys, key)
    else:
        tell(exchange, verdict, session, batch)


def _ask(
    endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, session: HttpSession, frame: Frame, principal: Any,
    keys: Sequence[Any], about: Optional[RequestId] = None,
) -> None:
    """A message with requests in it: the reply comes when they are answered, or before with something else."""
    if endpoint.closing:
        endpoint.refuse(exchange, verdict, "closing", id=getattr(frame, "id", None))
        return
    reason = session.expect(endpoint.stream(exchange, verdict, keys))
    if reason:
        found = "id is in use" if reason == "id in use" else ""
        endpoint.refuse(exchange, verdict, reason, found)
        return
    session.connection.work(session.receive(frame, exchange.request.body, about, principal=principal))


def open_session(
    endpoint: "Endpoint", exchange: Exchange, verdict: Verdict, frame: Request, principal: Any
) -> None:
    """Begin a session; its id goes with the result of `initialize`
    [2025-03-26..2025-11-25 basic/transports §Session Management]."""
    sessions = endpoint.sessions
    if endpoint.closing or sessions is None:
        endpoint.refuse(exchange, verdict, "closing", id=frame.id)
        return
    session = sessions.make(principal)
    if not endpoint.enter(exchange, verdict, session, frame.id):
        return
    try:
        connection = endpoint.connected(session)
        sessions.connected(session)
    except BaseException:
        sessions.remove(session)
        raise
    stream = endpoint.stream(exchange, verdict, (id_key(frame.id),))
    held = stream.held = []
    session.expect(stream)
    connection.work(session.receive(frame, exchange.request.body))
    stream.held = None
    if connection.session.revision is not None:
        endpoint.counters.add("sessions begun")
        stream.headers = (*verdict.cors, ("Mcp-Session-Id", session.id or ""))
        session.answer(stream, b"".join(held))
    else:
        session.answer(stream, b"".join(held))
        sessions.remove(session)
        connection.close("initialize was refused")
