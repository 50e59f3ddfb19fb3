"""Rules of pings [..2025-11-25 basic/utilities/ping]."""

from typing import Any, Dict, List, Optional, Union

from .....methods import PING
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, REQUEST, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, MESSAGE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule

UNDECIDED.update({
    "ping.periodic": "the page names no period, so that in a longer trace there might be one",
    "ping.configurable": "the configuration of a product is not in the trace",
    "ping.log-failures": "the logs of a party are not in the trace",
})

_PROMPT = 30.0
"""Seconds within which an answer is prompt: the page names no time."""
_FAILED = 600.0
"""Seconds after which a ping without answer has timed out for everybody."""


class Pings:
    """The pings of a connection."""

    def __init__(self) -> None:
        self.open: Dict[str, Optional[Message]] = {CLIENT: None, SERVER: None}
        """By sender: the oldest ping without answer."""


@rule("ping.respond", "lifecycle.base-required", on=(RESULT, ERROR, FINISH), method=(PING, ""), party=SERVER,
      follows="jsonrpc.*", reading="an answer within %d seconds is prompt" % _PROMPT, scene="""
    on stdio 2025-06-18
    C #1 ping
  + S #1 {}
  - S #1 !-32601 "Method not found"
""")
def respond(subject: Any) -> Verdict:
    """A ping is answered promptly, with an empty result."""
    if isinstance(subject, ObservedConnection):
        return _unanswered(subject)
    if subject.request is None or subject.method != PING:
        return None
    verdict: Union[str, None] = None
    if subject.kind == ERROR:
        if subject.exchange is not None and (subject.exchange.status or 0) >= 400:
            return CannotTell("whether the error is about the session, not the ping")
        if subject.request.data.get("params", {}) != {} and subject.error.get("code") != -32601:
            return CannotTell("whether the error is about the params of the ping")
        verdict = "an error"
    elif set(subject.result) - {"_meta"}:
        verdict = "a result with members"
    elif subject.time - subject.request.time > _PROMPT:
        verdict = "the answer took %.0f seconds" % (subject.time - subject.request.time)
    return KEPT if verdict is None else Broken(verdict, party=subject.sender)


def _unanswered(connection: ObservedConnection) -> Verdict:
    pings, found = connection.state(Pings), []
    for asker, other in ((CLIENT, SERVER), (SERVER, CLIENT)):
        ping, last = pings.open[asker], connection.last.get(other)
        if ping is not None and ping.answer is None and ping.cancelled is None and connection.recorded and (
                last is not None and last.time - ping.time > _PROMPT) and ping.exchange is None:
            found.append(Broken("no answer, but other messages %.0f seconds later" % (last.time - ping.time),
                                party=other, at=ping))
    verdicts: List[Union[str, Broken]] = list(found)
    return verdicts or None


@rule("ping.timeout-is-failure", on=REQUEST, follows="session:ping.respond",
      reading="a ping without answer for %d minutes has failed" % (_FAILED // 60), scene="""
    on stdio 2025-06-18
    C #1 ping
  + @ 5
  + S #1 {}
    @ 700
    C #2 tools/list {}
""")
def timeout_is_failure(message: Message) -> Verdict:
    """A party whose ping has no answer takes the connection for dead, and does not go on with it."""
    pings = message.connection.state(Pings)
    ping = pings.open[message.sender]
    if ping is None or message.connection.http:
        return None
    if ping.answer is not None or ping.cancelled is not None:
        return KEPT
    if message.method == PING or message.time - ping.time <= _FAILED:
        return KEPT
    pings.open[message.sender] = None
    return "%s, and a ping had no answer for %.0f seconds" % (message.method, message.time - ping.time)


@observe(on=MESSAGE, method=PING)
def remember_ping(message: Message) -> None:
    """Note pings."""
    pings = message.connection.state(Pings)
    if message.kind == REQUEST:
        before = pings.open[message.sender]
        if before is None or before.answer is not None:
            pings.open[message.sender] = message
