"""Rules of cancellation and timeouts [..2025-11-25 basic/utilities/cancellation],
[2026-07-28 basic/patterns/cancellation].
"""

from typing import Any, Optional

from .....methods import CANCELLED, INITIALIZE, LISTEN, PROGRESS
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOTIFICATION, RESULT, Message, ObservedConnection, ObservedExchange
from ...rules import END, FINISH, KEPT, PROCESS, UNDECIDED, Broken, CannotTell, Happening, Verdict, observe, rule
from ...values import shown
from .utilities import request_of_token

_WISH = "the wish to end a request is inside the client: one that waits on looks the same"
_INSIDE = "the work and the memory of a receiver are inside it, and a trace shows neither"

UNDECIDED.update({
    "cancel.client-notifies": _WISH,
    "cancel.stdio-notification": _WISH,
    "cancel.stop-processing": _INSIDE,
    "cancel.free-resources": _INSIDE,
    "cancel.http-disconnect-cancels": _INSIDE,
    "cancel.ignore-late-response": "a party that ignores a response does nothing that could be seen",
    "cancel.log-reason": "the logs of a party are not in the trace",
    "timeout.configurable": "an interface for programs is not in the trace",
})

LATENCY = 5.0
"""Seconds within which a message may have been under way when another one was sent: no page names a time."""
_HUNG = 2 * 3600.0
"""Seconds without an answer after which a request without timeout is taken to have none."""
_ENDLESS = 24 * 3600.0
"""Seconds after which a request that has progress is taken to have no last timeout."""
_CRASH = 2.0
"""Seconds after a cancellation within which an exit of the server is taken to come from it."""
_LONG_LIVED = (LISTEN, "tasks/result")
"""Requests that wait for what may take any time."""


def _lost(request: Message) -> bool:
    """Return True if the exchange that carried the response was cut, left or refused: then it may be lost."""
    by = request.notes.get("by")
    return by is not None and (by.complete is False or by.ended_by == CLIENT or (
        request.sender == SERVER and by.status is not None and by.status // 100 != 2))


class Invalid:
    """The last cancellation of a client that named no request under way."""

    def __init__(self) -> None:
        self.why = ""
        """``unknown``, ``completed`` or ``malformed``; "" if there is none, or other messages have come since."""
        self.message: Optional[Message] = None
        self.stopping = False
        """True once the client has closed the server's input, or sent it a signal."""


def _is_id(value: Any) -> bool:
    return type(value) in (str, int)


def _named(message: Message) -> Optional[Message]:
    """Return the request of its sender that a cancellation names; None if it is of another session, or not known."""
    request = message.request
    return request if request is not None and request.session is message.session else None


def _issued(message: Message) -> Verdict:
    """Return the verdict about the direction of a cancellation."""
    id = message.params.get("requestId")
    if not _is_id(id):
        return None
    request = _named(message)
    if request is not None and request.sender != message.sender and (
            not message.session.from_start or message.connection.ids[message.sender].forgot):
        return CannotTell("the requests before")
    if request is not None:
        return KEPT if request.sender == message.sender else Broken(
            "the request #%s was sent by the %s" % (request.id, request.sender), "params.requestId")
    known = message.connection.ids[message.sender]
    if not message.session.from_start or known.forgot or id in known or message.connection.http:
        return CannotTell("the requests before")
    return Broken("no request has the id %s" % shown(id), "params.requestId")


@rule("cancel.same-direction", on=NOTIFICATION, method=CANCELLED, scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "arguments": {}}
  + C notifications/cancelled {"requestId": 1}
  - S notifications/cancelled {"requestId": 1}
""")
def same_direction(message: Message) -> Verdict:
    """A cancellation names a request that its sender has sent."""
    return _issued(message)


@rule("cancel.client-issued", on=NOTIFICATION, method=CANCELLED, scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "slow", "arguments": {}}
  + C notifications/cancelled {"requestId": 1}
  - C notifications/cancelled {"requestId": 99}
""")
def client_issued(message: Message) -> Verdict:
    """A client's cancellation names a request that it has sent."""
    return _issued(message) if message.sender == CLIENT else None


@rule("cancel.server-no-other-purpose", "cancel.server-references-listen", on=NOTIFICATION, method=CANCELLED,
      scene="""
    on stdio 2026-07-28
  + C #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
  + S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
"notifications": {"toolsListChanged": true}}
  - C #1 tools/call {"name": "slow", "arguments": {}}
    S notifications/cancelled {"requestId": 1}
""")
def server_no_other_purpose(message: Message) -> Verdict:
    """A server cancels nothing but a subscription, which it ends."""
    if message.sender != SERVER or not _is_id(message.params.get("requestId")):
        return None
    request = _named(message)
    if request is None:
        verdict = _issued(message)
        id = message.params["requestId"]
        known = message.connection.ids[CLIENT]
        return verdict if not isinstance(verdict, Broken) or (id not in known and not known.forgot) else CannotTell(
            "the requests before")
    return KEPT if request.sender == CLIENT and request.method == LISTEN else Broken(
        "the request #%s is %s" % (request.id, request.method), "params.requestId")


@rule("cancel.in-progress-only", "cancel.in-flight", on=NOTIFICATION, method=CANCELLED,
      reading="%d seconds after the response its receiver knows that the request is over" % LATENCY,
      follows=("cancel.no-initialize", "cancel.server-no-other-purpose", "tasks.*", "tasks-ext.*"), scene="""
    on stdio 2025-06-18
    C #3 tools/call {"name": "slow", "arguments": {}}
  - S #3 {"content": []}
    @ 60
    C notifications/cancelled {"requestId": 3}
    C #4 ping
    S #4 {}
""")
def in_progress_only(message: Message) -> Verdict:
    """Only a request that may still be under way is cancelled."""
    request = _named(message)
    if request is None or request.sender != message.sender or "task" in request.notes:
        return None
    if request.answer is None:
        return KEPT
    late = message.time - request.answered
    if message.connection.http and message.session.id is None:
        return CannotTell("which client sent the request: several may share the connection")
    if _lost(request):
        return CannotTell("whether the response has reached its receiver")
    return Broken("the response to #%s came %.0f seconds before" % (request.id, late), "params.requestId") if (
        late > LATENCY) else CannotTell("which of response and cancellation was sent first")


@rule("cancel.no-initialize", on=NOTIFICATION, method=CANCELLED, scene="""
    on stdio 2025-06-18 bare
    C #0 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
  - C notifications/cancelled {"requestId": 0}
    S #0 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
  + C #1 tools/call {"name": "slow", "arguments": {}}
  + C notifications/cancelled {"requestId": 1}
""")
def no_initialize(message: Message) -> Verdict:
    """A client does not cancel `initialize`."""
    request = _named(message)
    if request is None or message.sender != CLIENT or request.sender != CLIENT:
        return None
    return KEPT if request.method != INITIALIZE else Broken("#%s is initialize" % request.id, "params.requestId")


@rule("cancel.request-id-required", on=NOTIFICATION, method=CANCELLED, scene="""
    on stdio 2025-11-25
    C #1 tools/call {"name": "slow", "arguments": {}}
  + C notifications/cancelled {"requestId": 1}
  - C notifications/cancelled {"reason": "too slow"}
""")
def request_id_required(message: Message) -> Verdict:
    """A cancellation says which request it is about."""
    return KEPT if "requestId" in message.params else Broken("no requestId", "params.requestId")


def _late(message: Message, request: Optional[Message]) -> Verdict:
    """Return the verdict about a message for a request that was cancelled."""
    if request is None or request.method in _LONG_LIVED or "cancelled" not in request.notes:
        return None
    late = message.time - request.notes["cancelled"]
    return "%.0f seconds after #%s was cancelled" % (late, request.id) if late > LATENCY else CannotTell(
        "whether the message was under way already")


def _silent(connection: ObservedConnection) -> Verdict:
    """Return KEPT if a request was cancelled and has had no response."""
    return KEPT if any("cancelled" in each.notes for party in (CLIENT, SERVER)
                       for each in connection.pending[party].values()) else None


@rule("cancel.no-response", on=(RESULT, ERROR, FINISH),
      when="cancelled", party=SERVER, follows="cancel.no-further-messages",
      reading="a response more than %d seconds after the cancellation was not under way; that a request could not be "
              "cancelled is not known" % LATENCY, scene="""
    on stdio 2025-06-18
    C #5 tools/call {"name": "slow", "arguments": {}}
    C notifications/cancelled {"requestId": 5}
    @ 20
  - S #5 {"content": []}
    C #6 ping
    S #6 {}
""")
def no_response(subject: Any) -> Verdict:
    """A request that was cancelled has no response any more."""
    if isinstance(subject, ObservedConnection):
        return _silent(subject)
    verdict = _late(subject, subject.request)
    return Broken(verdict, party=subject.sender) if isinstance(verdict, str) else verdict


@rule("cancel.no-further-messages", on=(RESULT, ERROR, NOTIFICATION, FINISH), when="cancelled",
      reading="a message more than %d seconds after the cancellation was not under way" % LATENCY, scene="""
    on stdio 2026-07-28
    C #5 tools/call {"name": "slow", "arguments": {}, "_meta": {"progressToken": "p"}}
    C notifications/cancelled {"requestId": 5}
    @ 20
  - S notifications/progress {"progressToken": "p", "progress": 1}
    C #6 tools/list {}
    S #6 {"tools": []}
""")
def no_further_messages(subject: Any) -> Verdict:
    """On stdio a server sends nothing more for a request that was cancelled."""
    if isinstance(subject, ObservedConnection):
        return _silent(subject) if subject.transport == "stdio" else None
    if subject.connection.transport != "stdio" or subject.sender != SERVER:
        return None
    request = subject.request if subject.kind != NOTIFICATION else None
    if subject.method == PROGRESS:
        request = request_of_token(subject)
    return _late(subject, request)


def _survives(subject: Any, why: str) -> Verdict:
    """Return the verdict about what a server does after a cancellation that it should ignore."""
    happening = isinstance(subject, Happening)
    invalid = subject.connection.state(Invalid)
    if invalid.why != why or invalid.message is None:
        return None
    if not happening:
        return KEPT if subject.sender == SERVER else None
    if subject.event.more.get("did") != "exit" or invalid.stopping or (
            subject.event.time - invalid.message.time > _CRASH):
        return None
    return Broken("the server exited with %s after it" % shown(subject.event.more.get("code")), at=invalid.message)


@rule("cancel.ignore-unknown", on=(PROCESS, RESULT), when="cancelled", party=SERVER, needs="process",
      provoked="cancel.same-direction", scene="""
    on stdio 2025-06-18
    C notifications/cancelled {"requestId": 99}
  + C #2 ping
  + S #2 {}
  - * server process {"did": "exit", "code": 1}
""")
def ignore_unknown(subject: Any) -> Verdict:
    """A server goes on when an unknown request is cancelled."""
    return _survives(subject, "unknown")


@rule("cancel.ignore-completed", "cancel.race", on=(PROCESS, RESULT),
      when="cancelled", party=SERVER, needs="process", scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "quick", "arguments": {}}
    S #1 {"content": []}
    C notifications/cancelled {"requestId": 1}
  + C #2 ping
  + S #2 {}
  - * server process {"did": "exit", "code": 1}
""")
def ignore_completed(subject: Any) -> Verdict:
    """A server goes on when a request is cancelled that it has answered: the two may have crossed."""
    return _survives(subject, "completed")


@rule("cancel.ignore-malformed", on=(PROCESS, RESULT), when="cancelled", party=SERVER, needs="process",
      provoked="schema.params", scene="""
    on stdio 2025-06-18
    C notifications/cancelled {"requestId": {}}
  + C #2 ping
  + S #2 {}
  - * server process {"did": "exit", "code": 1}
""")
def ignore_malformed(subject: Any) -> Verdict:
    """A server goes on when a cancellation is malformed."""
    return _survives(subject, "malformed")


@rule("cancel.server-subscription-teardown", "subscribe.graceful-close", on=END, method=LISTEN, party=SERVER,
      needs="http end", reading="a stream that ends with the response to its request needs no cancellation besides",
      scene="""
    on http 2026-07-28
    C [1] #1 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S [1] stream
    S [1] notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, \
"notifications": {"toolsListChanged": true}}
  + S [1] notifications/cancelled {"requestId": 1, "_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    S [1] end
""")
def server_subscription_teardown(exchange: ObservedExchange) -> Verdict:
    """A server that ends a subscription says so: it answers the request that opened it, or cancels it."""
    asked = exchange.request
    if asked is None or exchange.status != 200 or not exchange.stream or asked.answer == ERROR:
        return None
    if asked.answer == RESULT or asked.cancelled is not None:
        return KEPT
    if exchange.ended_by != SERVER:
        return None
    if exchange.complete is not True:
        return CannotTell("whether the server ended the stream, or it broke")
    return "the stream of #%s ended without a word" % asked.id


@rule("timeout.establish", "timeout.cancel", on=FINISH, party=CLIENT, follows="tools.call-timeout",
      reading="a request that waits for %d hours has no timeout" % (_HUNG // 3600), scene="""
    on stdio 2025-06-18
    C #1 resources/read {"uri": "file:///slow"}
    @ 7300
  + C notifications/cancelled {"requestId": 1}
    C #2 ping
    S #2 {}
""")
def establish(connection: ObservedConnection) -> Verdict:
    """A request has a timeout: without an answer it is cancelled at some time."""
    kept = None
    for party in (CLIENT, SERVER):
        for request in connection.pending[party].values():
            if request.cancelled is not None:
                kept = KEPT
            elif connection.last_time - request.time > _HUNG and request.method not in _LONG_LIVED and (
                    "progress" not in request.notes) and (request.exchange is None or request.exchange.ended is None):
                return Broken("%s has waited for %.0f seconds" % (
                    request.method, connection.last_time - request.time), party=party, at=request)
    return kept


@rule("timeout.maximum", on=NOTIFICATION, method=(PROGRESS, CANCELLED), party=CLIENT,
      reading="a request that waits for %d hours, with progress, has no last timeout" % (_ENDLESS // 3600), scene="""
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "arguments": {}, "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
    @ 80000
    S notifications/progress {"progressToken": "p", "progress": 2}
  + C notifications/cancelled {"requestId": 1}
  - @ 10000
  - S notifications/progress {"progressToken": "p", "progress": 3}
""")
def maximum(message: Message) -> Verdict:
    """A request does not wait for ever, even if it has progress."""
    if message.method == CANCELLED:
        cancelled = _named(message)
        return KEPT if cancelled is not None and "progress" in cancelled.notes else None
    request = request_of_token(message)
    if request is None or request.answer is not None or request.cancelled is not None or "endless" in request.notes:
        return None
    if message.time - request.time <= _ENDLESS or request.method in _LONG_LIVED:
        return None
    request.notes["endless"] = True
    return Broken("%s has waited for %.0f seconds" % (request.method, message.time - request.time),
                  party=request.sender, at=request)


@observe(on=NOTIFICATION, method=CANCELLED)
def remember_cancellation(message: Message) -> None:
    """Note what a cancellation is about."""
    id, request = message.params.get("requestId"), _named(message)
    if request is not None and request.sender == message.sender and request.answer is None:
        request.notes.setdefault("cancelled", message.time)
    invalid = message.connection.state(Invalid)
    if message.sender == CLIENT:
        known = message.connection.ids[CLIENT]
        invalid.why = "malformed" if not _is_id(id) else "unknown" if request is None and id not in known else (
            "completed" if request is not None and request.answer is not None else "")
        invalid.message = message


@observe(on=NOTIFICATION, method=PROGRESS)
def remember_progress(message: Message) -> None:
    """Note that a request has had progress."""
    request = request_of_token(message)
    if request is not None:
        request.notes["progress"] = True


@observe(on=(RESULT, ERROR))
def forget_cancellation(message: Message) -> None:
    """Note that the server goes on."""
    if message.request is not None and message.request.answer is None:
        message.request.notes["by"] = message.exchange
    if message.sender == SERVER:
        message.connection.state(Invalid).why = ""


@observe(on=PROCESS)
def remember_stop(happening: Happening) -> None:
    """Note that the client ends the server's process."""
    if happening.event.more.get("did") in ("stdin-closed", "signal"):
        happening.connection.state(Invalid).stopping = True
