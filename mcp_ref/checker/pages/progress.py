"""Rules of progress notifications [..2025-11-25 basic/utilities/progress], [2026-07-28 basic/patterns/progress]."""

from typing import Any, Dict, Optional

from ..bounds import Bounds, Forgetful
from ..observed import NOTIFICATION, REQUEST, Message, id_key
from ..rules import KEPT, CannotTell, Verdict, observe, rule

UNDECIDED = {
    "progress.track-tokens": "a table inside the party; what it forgets shows as progress for unknown tokens",
}


class Tokens:
    """The progress tokens of a session: by the party that has given them, the request and the last value."""

    def __init__(self) -> None:
        self.given: "Dict[str, Forgetful[Any, Message]]" = {
            party: Forgetful(Bounds().entries) for party in ("client", "server")}
        self.last: "Forgetful[Any, float]" = Forgetful(Bounds().entries)


def _request_of(message: Message) -> Optional[Message]:
    """Return the request whose token a progress notification has; None if there is none."""
    tokens = message.session.state(Tokens)
    found: Optional[Message] = tokens.given[message.receiver].get(id_key(message.params.get("progressToken")))
    return found


def _is_token(value: Any) -> bool:
    return type(value) in (str, int)


@rule("progress.token-type", on=(REQUEST, NOTIFICATION), scene="""
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
    return KEPT if _is_token(token) else "the token is %s" % type(token).__name__


@rule("progress.token-active", on=NOTIFICATION, method="notifications/progress", follows="progress.token-type",
      scene="""
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
    if _request_of(message) is not None:
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
    value, request = message.params.get("progress"), _request_of(message)
    last = message.session.state(Tokens).last.get(id_key(request and request.index))
    if last is None or type(value) not in (int, float):
        return None
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
    request = _request_of(message)
    if request is None:
        return None
    return KEPT if request.answer is None else "the request #%s was answered before" % request.id


@observe(on=REQUEST)
def remember_token(message: Message) -> None:
    """Note the token of a request."""
    token = message.meta.get("progressToken")
    if _is_token(token):
        message.session.state(Tokens).given[message.sender][id_key(token)] = message


@observe(on=NOTIFICATION, method="notifications/progress")
def remember_value(message: Message) -> None:
    """Note the value of a progress notification."""
    value, request = message.params.get("progress"), _request_of(message)
    if request is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        message.session.state(Tokens).last[id_key(request.index)] = value
