"""Rules of what servers make of another attempt [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)],
[2026-07-28 basic/patterns/mrtr §Error Handling].
"""

import re
from typing import Any, Optional

from .....wiretrace import SERVER
from ...observed import ERROR, RESULT, Message
from ...rounds import ATTEMPTS, INPUT_REQUIRED, STATE, PendingRound, candidates, responses, round_of, target_of
from ...rules import KEPT, OUTCOME, Broken, CannotTell, Verdict, rule
from ...values import short
from ..server.tools import succeeded
from .mrtr import FIRST, scene, strange

_OLD = 86400.0
"""Seconds after which an expiry is not short any more: a day."""
_UNEXPECTED = re.compile(r"\b(?:unexpected|unknown|unrecognized|additional|extra)\b", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:missing|required|not provided|lacks)\b", re.IGNORECASE)
_BAD = FIRST + """
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": "yes", "requestState": "***0a1b2c3d"}
"""


def _round(message: Message) -> Optional[PendingRound]:
    """Return the round that the request of a response has gone on with."""
    return round_of(message.request) if message.request is not None else None


def _by_state(message: Message) -> Optional[PendingRound]:
    """Return the round, if its state is in the request."""
    found = _round(message)
    return found if message.request is not None and message.request.notes.get("tied") == STATE else None


def _done(message: Message) -> bool:
    return message.kind == RESULT and succeeded(message)


@rule("mrtr.state-rejected", "mrtr.state-untrusted", on=OUTCOME, party=SERVER,
      provoked="mrtr.state-echo", reading="a state that a server gives with its questions matters to it", scene=scene(
          FIRST + """
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***99999999"}
  + S #2 !-32602 "Invalid state"
  - S #2 {"content": []}
"""))
def rejects(message: Message) -> Verdict:
    """A server refuses a state that it has not given."""
    request = message.request
    state = request.params.get("requestState") if request is not None else None
    if request is None or not isinstance(state, str) or _by_state(message) is not None:
        return None
    alike = candidates(request)
    if not alike or not all(isinstance(each.state, str) for each in alike):
        return None
    if message.kind == ERROR:
        return KEPT
    unsure = strange(request)
    if isinstance(unsure, CannotTell) or not _done(message):
        return unsure
    return Broken("the request succeeds with a state that was not given", "params.requestState")


@rule("mrtr.state-expiry", on=OUTCOME, party=SERVER,
      reading="a state that is a day old has outlived a short expiry", scene=scene(FIRST + """
    @ 100000
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  + S #2 !-32602 "The state has expired"
  - S #2 {"content": []}
"""))
def expires(message: Message) -> Verdict:
    """A server refuses a state that is old."""
    found, request = _by_state(message), message.request
    if found is None or request is None or request.time - found.result.time < _OLD:
        return None
    if message.kind == ERROR:
        return KEPT
    hours = (request.time - found.result.time) // 3600
    return Broken("a state of %d hours ago is taken" % hours, "params.requestState") if _done(message) else None


@rule("mrtr.state-request-binding", on=OUTCOME, party=SERVER,
      provoked="mrtr.not-for-other-requests", scene=scene(FIRST + """
    C #2 tools/call {"name": "u", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  + S #2 !-32602 "Invalid state"
  - S #2 {"content": []}
"""))
def binds(message: Message) -> Verdict:
    """A server refuses the state of another request."""
    found, request = _by_state(message), message.request
    if found is None or request is None or target_of(request) == found.target:
        return None
    if message.kind == ERROR:
        return KEPT
    return Broken("the state of %s %s is taken" % (found.target[0], short(found.target[1])),
                  "params.requestState") if _done(message) else None


def _malformed(message: Message) -> bool:
    """Return whether the answers of the request are no object, or one to a question is none: others are ignored."""
    if message.request is None or message.method not in ATTEMPTS:
        return False
    given: Any = message.request.params.get("inputResponses", {})
    found = _round(message)
    asked = found.questions if found is not None else {}
    return not isinstance(given, dict) or not all(isinstance(given.get(key, {}), dict) for key in asked)


@rule("mrtr.validate-responses", on=OUTCOME, party=SERVER,
      provoked="mrtr.client-constructs-inputs", scene=scene(_BAD + """
  + S #2 !-32602 "Invalid params"
  - S #2 {"content": []}
"""))
def validates(message: Message) -> Verdict:
    """A server does not take what is no object of answers."""
    if not _malformed(message):
        return None
    if message.kind == ERROR:
        return KEPT
    return Broken("the request succeeds, and inputResponses has another type", "params.inputResponses") if _done(
        message) else None


@rule("mrtr.protocol-errors", on=OUTCOME, party=SERVER,
      provoked="mrtr.client-constructs-inputs", scene=scene(_BAD + """
  + S #2 !-32602 "Invalid params"
  - S #2 {"content": [{"type": "text", "text": "Invalid params"}], "isError": true}
"""))
def protocol_error(message: Message) -> Verdict:
    """An attempt that is malformed is answered by an error of the protocol."""
    if not _malformed(message):
        return None
    if message.kind == ERROR:
        return KEPT
    asks = message.result.get("resultType") == INPUT_REQUIRED
    if not asks and message.result.get("isError") is not True:
        return None
    return Broken("answered by %s" % ("a wish for input" if asks else "a result with isError"), "result")


@rule("mrtr.ignore-unexpected", on=OUTCOME, party=SERVER,
      reading="the cause is read off the text of the error", scene=scene(FIRST + """
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s, "b": %(answer)s}, \
        "requestState": "***0a1b2c3d"}
  + S #2 {"content": []}
  - S #2 !-32602 "Unexpected input response b"
"""))
def ignores(message: Message) -> Verdict:
    """A server passes over answers to what it has not asked."""
    found, request = _round(message), message.request
    if found is None or request is None or not found.questions:
        return None
    given = responses(request)
    extra = [key for key in given if key not in found.questions]
    if not extra or any(key not in given for key in found.questions):
        return None
    if message.kind == RESULT:
        return KEPT
    text = message.error.get("message")
    if not isinstance(text, str) or _UNEXPECTED.search(text) is None:
        return None
    return Broken("error: %s" % short(text), "params.inputResponses." + extra[0][:40])


@rule("mrtr.re-request-missing", on=OUTCOME, party=SERVER,
      reading="the cause is read off the text of the error", scene=scene("""
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": %(form)s, "b": %(form)s}}
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}}
  + S #2 {"resultType": "input_required", "inputRequests": {"b": %(form)s}}
  - S #2 !-32602 "Missing input response b"
"""))
def asks_again(message: Message) -> Verdict:
    """A server that lacks an answer asks again for it."""
    found, request = _round(message), message.request
    if found is None or request is None:
        return None
    given = responses(request)
    lacking = [key for key in found.questions if key not in given]
    if not lacking or not given:
        return None
    if message.kind == RESULT:
        return KEPT if message.result.get("resultType") == INPUT_REQUIRED else None
    text = message.error.get("message")
    if not isinstance(text, str) or _MISSING.search(text) is None:
        return None
    return Broken("error: %s" % short(text), "params.inputResponses." + lacking[0][:40])
