"""Rules of batches, which one revision has [2025-03-26 basic/index §Batching]."""

from typing import Any

from ....methods import INITIALIZE
from ....wiretrace import CLIENT
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, NOISE, NOTIFICATION, ODD, REQUEST, RESULT, Batch, Message
from ...rules import BATCH, KEPT, Broken, CannotTell, Verdict, observe, rule

_ASKS = (REQUEST, NOTIFICATION)
_LONG = 50
"""Messages in a batch above which a receiver may refuse it for its size."""
_REFUSED = (-32700, -32600)


class Batches:
    """The batches of a connection that were sent last, by their sender."""

    def __init__(self) -> None:
        self.last: "Forgetful[str, Batch]" = Forgetful(Bounds().messages)


@rule("batch.initialize-not-batched", on=REQUEST, method=INITIALIZE, scene="""
    on stdio 2025-03-26 bare
  + C> {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26", \
"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}
  - C> [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26", \
"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}]
    S #1 {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
""")
def initialize_not_batched(message: Message) -> Verdict:
    """The request `initialize` is sent alone, not in a batch."""
    if message.sender != CLIENT:
        return None
    return KEPT if message.batch is None else "in a batch of %d messages" % message.batch[1]


@rule("batch.receive", on=(RESULT, ERROR), scene="""
    on stdio 2025-03-26
    C> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
  + S> [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 2, "result": {}}]
  - S> {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "Batches are not supported"}}
""")
def receive(message: Message) -> Verdict:
    """A batch is taken as what it is: it is not refused as a whole."""
    request = message.request
    if request is not None:
        refused = request.batch is not None and message.kind == ERROR and message.error.get("code") == -32700
        return None if request.batch is None else Broken(
            "the error -32700 for a message of a batch") if refused else KEPT
    batch: Any = message.connection.state(Batches).last.get(message.receiver)
    if batch is None or message.kind != ERROR or message.id is not None or (
            message.error.get("code") not in _REFUSED):
        return None
    if not batch or any(each.kind in (ODD, NOISE) or each.reused or (
            each.kind == REQUEST and type(each.id) not in (str, int))
                        for each in batch) or _mixed(batch) or len(batch) > _LONG or any(
            each.method == INITIALIZE for each in batch):
        return CannotTell("whether the batch was refused for what is wrong with it")
    if message.exchange is not batch.exchange and batch.exchange is not None:
        return None
    if batch.exchange is not None and (batch.exchange.status not in (200, 400) or (
            batch.exchange.header("mcp-session-id") is None and message.connection.latest is not None)):
        return CannotTell("whether it was refused for its header fields")
    return Broken("the error %d for a batch of %d messages" % (message.error["code"], len(batch)))


def _mixed(batch: Batch) -> bool:
    """Return True if a batch has both responses and requests or notifications."""
    return len({each.kind in _ASKS for each in batch}) > 1


@rule("http.batch-body-requests", "http.batch-body-responses", "http.batch-body-single", on=BATCH, scene="""
    on http 2025-03-26
  + C [1]> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
  + S [1] #1 {}
  - C [1]> []
  - S [1] 400 {}
  - S [1] end
""")
def batch_body(batch: Batch) -> Verdict:
    """The body of a POST is one message, requests and notifications in an array, or responses in one."""
    if batch.sender != CLIENT or not batch.session.connection.http:
        return None
    if not batch:
        return "an empty batch"
    return "responses and other messages in one batch" if _mixed(batch) else KEPT


@observe(on=BATCH)
def remember_batch(batch: Batch) -> None:
    """Note a batch that comes after the handshake: before it no batch needs to be taken."""
    if batch.session.initialize_result is not None:
        batch.session.connection.state(Batches).last[batch.sender] = batch
