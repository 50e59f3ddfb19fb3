"""Rules of batches [2025-03-26 basic/index §Batching], and of progress [..2025-11-25 basic/utilities/progress].

Only one revision has batches. In 2026-07-28 the page about progress is [2026-07-28 basic/patterns/progress].
"""

from typing import Any, Dict, Optional, Tuple

from .....methods import INITIALIZE
from .....wiretrace import CLIENT
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, NOISE, NOTIFICATION, ODD, REQUEST, RESULT, Message, ObservedBatch, id_key
from ...rules import BATCH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import is_integer, typed

_ASKS = (REQUEST, NOTIFICATION)
_LONG = 50
"""Messages in a batch above which a receiver may refuse it for its size."""
_REFUSED = (-32700, -32600)


class Batches:
    """The batches of a connection that were sent last, by their sender."""

    def __init__(self) -> None:
        self.last: "Forgetful[str, ObservedBatch]" = Forgetful(Bounds().messages)


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


def _mixed(batch: ObservedBatch) -> bool:
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
def batch_body(batch: ObservedBatch) -> Verdict:
    """The body of a POST is one message, requests and notifications in an array, or responses in one."""
    if batch.sender != CLIENT or not batch.session.connection.http:
        return None
    if not batch:
        return "an empty batch"
    return "responses and other messages in one batch" if _mixed(batch) else KEPT


@observe(on=BATCH)
def remember_batch(batch: ObservedBatch) -> None:
    """Note a batch that comes after the handshake: before it no batch needs to be taken."""
    if batch.session.initialize_result is not None:
        batch.session.connection.state(Batches).last[batch.sender] = batch


UNDECIDED.update({
    "progress.track-tokens": "a table inside the party; what it forgets shows as progress for unknown tokens",
})


CROSSING = 5.0
"""Seconds within which messages on different streams of HTTP may overtake each other."""
FLOOD = 1000
"""Notifications of one kind in a second; the pages name no number."""


class Tokens:
    """The progress tokens of a session: by the party that has given them, the request and the last value."""

    def __init__(self) -> None:
        self.given: "Dict[str, Forgetful[Any, Message]]" = {
            party: Forgetful(Bounds().entries) for party in ("client", "server")}
        self.last: "Forgetful[Any, float]" = Forgetful(Bounds().entries)
        self.rates: "Forgetful[Any, Tuple[float, int]]" = Forgetful(Bounds().entries)
        """By request: the beginning of a second, and how many notifications it has had."""


def request_of_token(message: Message) -> Optional[Message]:
    """Return the request whose token a progress notification has; None if none is known.

    Over HTTP that is the one whose stream brings it: without sessions several clients may use the same token.
    """
    own = message.exchange.request if message.exchange is not None else None
    if own is not None and id_key(own.meta.get("progressToken")) == id_key(message.params.get("progressToken")):
        return own
    origin = message.exchange.notes.get("origin") if message.exchange is not None else None
    if origin is not None and origin.request is not None and id_key(origin.request.meta.get("progressToken")) == id_key(
            message.params.get("progressToken")):
        return origin.request  # type: ignore[no-any-return]
    tokens = message.session.state(Tokens)
    found: Optional[Message] = tokens.given[message.receiver].get(id_key(message.params.get("progressToken")))
    return found


def _is_token(value: Any) -> bool:
    return type(value) in (str, int)


@rule("progress.token-type", on=(REQUEST, NOTIFICATION), when="progress", scene="""
    on stdio 2025-06-18
  + C #1 tools/call {"name": "slow", "_meta": {"progressToken": 1}}
  - C #1 tools/call {"name": "slow", "_meta": {"progressToken": true}}
    S #1 {"content": []}
""")
def token_type(message: Message) -> Verdict:
    """A progress token is a string or an integer."""
    if message.kind == REQUEST and "progressToken" in message.meta:
        token = message.meta["progressToken"]
    elif message.method == "notifications/progress" and "progressToken" in message.params:
        token = message.params["progressToken"]
    else:
        return None
    return KEPT if isinstance(token, str) or is_integer(token) else "the token is %s" % typed(token)


@rule("progress.token-active", on=NOTIFICATION, method="notifications/progress",
      follows=("progress.token-type", "session:progress.token-type", "tasks.progress-same-token"), scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
  + S notifications/progress {"progressToken": "p", "progress": 1}
  - S notifications/progress {"progressToken": "q", "progress": 1}
    S #1 {"content": []}
""")
def token_active(message: Message) -> Verdict:
    """A progress notification names a token that was given with a request of its receiver."""
    token = message.params.get("progressToken")
    if not _is_token(token):
        return None
    if request_of_token(message) is not None:
        return KEPT
    tokens = message.session.state(Tokens)
    if not message.session.from_start or tokens.given[message.receiver].forgot:
        return CannotTell("the requests before")
    return "no request had the token"


@rule("progress.increases", on=NOTIFICATION, method="notifications/progress", scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
  + S notifications/progress {"progressToken": "p", "progress": 2}
  - S notifications/progress {"progressToken": "p", "progress": 1}
    S #1 {"content": []}
""")
def increases(message: Message) -> Verdict:
    """The progress of a token rises with each notification."""
    value, request = message.params.get("progress"), request_of_token(message)
    last = message.session.state(Tokens).last.get(id_key(request and request.index))
    if last is None or type(value) not in (int, float):
        return None
    if value <= last and message.sender == "client" and message.exchange is not None:
        return CannotTell("whether two POSTs have overtaken each other, or one was sent again")
    return KEPT if value > last else "progress %s after %s" % (value, last)


@rule("progress.stops", "progress.token-in-progress", on=NOTIFICATION, method="notifications/progress", scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
  + S notifications/progress {"progressToken": "p", "progress": 1}
    S #1 {"content": []}
  - S notifications/progress {"progressToken": "p", "progress": 1}
""")
def stops(message: Message) -> Verdict:
    """Progress ends with the response to its request."""
    request = request_of_token(message)
    if request is None or "task" in request.notes:  # the token of a task lives on with it
        return None
    if request.answer is not None and message.exchange is not None and (
            message.sender == "client" or message.exchange is not request.exchange) and (
            message.sender == "client" or message.connection.transport != "http+sse") and (
            message.time - request.answered <= CROSSING):
        return CannotTell("which of response and notification was sent first: they came by different streams")
    return KEPT if request.answer is None else "the request #%s was answered before" % request.id


@rule("progress.token-unique", on=REQUEST, when="progress", follows="progress.token-type", scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": 1}}
  + C #2 tools/call {"name": "slow", "_meta": {"progressToken": 2}}
  - C #2 tools/call {"name": "slow", "_meta": {"progressToken": 1}}
    S #1 {"content": []}
    S #2 {"content": []}
""")
def token_unique(message: Message) -> Verdict:
    """No request has the token of another request of its sender that is under way."""
    token = message.meta.get("progressToken")
    if not _is_token(token):
        return None
    before = message.session.state(Tokens).given[message.sender].get(id_key(token))
    if before is None or before.answer is not None or before.cancelled is not None:
        return KEPT
    if message.connection.http and message.session.id is None:
        return CannotTell("which client sent the request: several may share the connection")
    if before.exchange is not None and before.exchange.ended is not None:
        return KEPT
    return Broken("the request #%s has the token %s, too" % (before.id, token), "params._meta.progressToken")


@rule("progress.rate-limit", on=NOTIFICATION, method="notifications/progress", needs="times",
      reading="more than %d notifications for one request in a second are a flood" % FLOOD, scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
  - repeat 1001 S notifications/progress {"progressToken": "p", "progress": 1000<n>}
    S #1 {"content": []}
""")
def rate_limit(message: Message) -> Verdict:
    """The progress of a request is not a flood of notifications."""
    request = request_of_token(message)
    return None if request is None else flooded(message, message.session.state(Tokens).rates, request.index)


def flooded(message: Message, rates: "Forgetful[Any, Tuple[float, int]]", key: Any) -> Verdict:
    """Return the verdict about one more notification of a kind: more than `FLOOD` in a second break a rule, once."""
    since, count = rates.get(key) or (message.time, 0)
    if message.time - since >= 1:
        since, count = message.time, 0
    rates[key] = since, count + 1
    return "%d notifications in a second" % (FLOOD + 1) if count == FLOOD else KEPT


@observe(on=RESULT, when="task")
def remember_task(message: Message) -> None:
    """Note that a request has become a task, whose progress goes on."""
    if message.request is not None and isinstance(message.result.get("task"), dict):
        message.request.notes["task"] = True


@observe(on=REQUEST, when="progress")
def remember_token(message: Message) -> None:
    """Note the token of a request."""
    token = message.meta.get("progressToken")
    if _is_token(token):
        message.session.state(Tokens).given[message.sender][id_key(token)] = message


@observe(on=NOTIFICATION, method="notifications/progress")
def remember_value(message: Message) -> None:
    """Note the value of a progress notification."""
    value, request = message.params.get("progress"), request_of_token(message)
    if request is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        message.session.state(Tokens).last[id_key(request.index)] = value
