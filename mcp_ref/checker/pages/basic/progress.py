"""Rules of progress notifications [..2025-11-25 basic/utilities/progress], [2026-07-28 basic/patterns/progress]."""

from typing import Any, Dict, Optional, Tuple

from ...bounds import Bounds, Forgetful
from ...observed import NOTIFICATION, REQUEST, RESULT, Message, id_key
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import is_integer, typed

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
