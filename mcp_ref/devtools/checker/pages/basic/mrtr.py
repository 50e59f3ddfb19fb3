"""Rules of multi round-trip requests [2026-07-28 basic/patterns/mrtr]."""

import json
from typing import Any, Dict, List, Tuple, Union

from .....diagnostics.redaction import MASK
from .....methods import is_vendor
from .....wiretrace import SERVER
from ...observed import NOISE, REQUEST, Message, id_key
from ...rounds import (
    ATTEMPTS, INPUT_REQUIRED, STATE, PendingRound, RequestStates, candidates, goes_on, responses, round_of, target_of,
)
from ...rules import ANSWERED, ASKED, KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import members, short

UNDECIDED.update({
    "mrtr.state-integrity": "whether a state matters, and is protected, shows to its server only; traces mask it",
    "mrtr.state-principal": "a client that renews its token presents another one for the same principal",
    "mrtr.no-assumed-retry": "what a server expects leaves no message",
})

_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""The questions that a server may ask, with the capability of the client that each needs."""

_FORM = '{"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object", ' \
        '"properties": {"n": {"type": "string"}}}}}'
_ANSWER = '{"action": "accept", "content": {"n": "ann"}}'
_WORDS: Dict[str, Any] = {"form": _FORM, "answer": _ANSWER}


def scene(text: str) -> str:
    """Return a scene with the question and the answer filled in."""
    return "\n    on stdio 2026-07-28\n" + text % _WORDS


FIRST = """
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": %(form)s}, "requestState": "***0a1b2c3d"}
"""
DONE = """
    S #2 {"content": []}
"""


@rule("mrtr.no-server-requests", "mrtr.required", on=ASKED, party=SERVER,
      follows=("stdio.no-server-requests", "http.stream-no-server-requests"), scene="""
    on tcp 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
  - S #7 roots/list
  - C #7 {"roots": []}
  + S #1 {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"r": {"roots": []}}}
  + S #2 {"content": []}
""")
def no_requests(message: Message) -> Verdict:
    """A server sends no requests: it asks by its results."""
    return Broken("the server sends %s" % short(message.method), "method") if message.kind == REQUEST else KEPT


@rule("mrtr.no-other-requests", on=ASKED, scene="""
    on stdio 2026-07-28
  + C #1 tools/call {"name": "t", "arguments": {}}
  - C #1 server/discover
    S #1 {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}
""")
def only_three(message: Message) -> Verdict:
    """Only calls of tools, prompts and reads of resources are answered by a wish for input."""
    if message.result.get("resultType") != INPUT_REQUIRED or not message.method or is_vendor(message.method):
        return None
    if message.method in ATTEMPTS:
        return KEPT
    return Broken("%s is answered by a wish for input" % message.method, "result.resultType")


def _wants(message: Message) -> bool:
    return message.sender == SERVER and message.result.get("resultType") == INPUT_REQUIRED


@rule("mrtr.at-least-one", on=ASKED, scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"resultType": "input_required", "requestState": "***0a1b2c3d"}
  - S #1 {"resultType": "input_required"}
""")
def at_least_one(message: Message) -> Verdict:
    """A wish for input has questions or a state."""
    if not _wants(message):
        return None
    if "inputRequests" in message.result or "requestState" in message.result:
        return KEPT
    return Broken("neither inputRequests nor requestState", "result")


@rule("mrtr.keys-unique", on=(ASKED, NOISE), needs="bytes", scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}
  - S| {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "inputRequests": \
        {"r": {"method": "roots/list"}, "r": {"method": "roots/list"}}}}
""")
def unique(message: Message) -> Verdict:
    """No two questions of a result have the same key."""
    if message.kind != NOISE:
        return KEPT if _wants(message) and message.result.get("inputRequests") else None
    text = message.event.text
    if message.sender != SERVER or '"inputRequests"' not in text:
        return None
    twice: List[str] = []

    def pairs(found: List[Tuple[str, Any]]) -> Dict[str, Any]:
        for name, value in found:
            if name == "inputRequests" and isinstance(value, _Twice):
                twice.append(value.key)
        made = dict(found)
        if len(made) == len(found):
            return made
        names = [name for name, _ in found]
        return _Twice(made, next(name for place, name in enumerate(names) if name in names[:place]))

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    return Broken("the key %s is there twice" % short(twice[0], 40), "result.inputRequests") if twice else None


class _Twice(Dict[str, Any]):
    """An object that has a key twice."""

    def __init__(self, members: Dict[str, Any], key: str) -> None:
        super().__init__(members)
        self.key = key


def _needed(question: Any) -> str:
    """Return the capability that a question needs; "" if it is none of the three."""
    method = members(question).get("method")
    return _NEEDS.get(method, "") if isinstance(method, str) else ""


@rule("mrtr.request-types", on=ASKED, scene="""
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
  + S #1 {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}
  - S #1 {"resultType": "input_required", "inputRequests": {"r": {"method": "ping"}}}
""")
def three_kinds(message: Message) -> Verdict:
    """A question is one for input of the user, a sample of the model, or the roots."""
    asked = members(message.result.get("inputRequests")) if _wants(message) else {}
    found: List[Union[str, Broken]] = [
        Broken("the method is %s" % short(members(value).get("method")), "result.inputRequests.%s.method" % key[:40])
        for key, value in asked.items() if not _needed(value)]
    return found or (KEPT if asked else None)


# The next attempt


@rule("mrtr.client-constructs-inputs", on=ANSWERED, scene=scene(FIRST + """
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  - C #2 tools/call {"name": "t", "arguments": {}, "requestState": "***0a1b2c3d"}
""" + DONE))
def answers_first(message: Message) -> Verdict:
    """A client that was asked something has answers when it tries again."""
    found = round_of(message)
    if found is None or not found.questions or message.notes.get("tied") != STATE or target_of(message) != found.target:
        return None
    return KEPT if responses(message) else Broken("another attempt without answers", "params.inputResponses")


def _alike(message: Message) -> List[PendingRound]:
    """Return the rounds that an attempt may answer by its keys; [] if its state says which one."""
    return [] if message.notes.get("tied") == STATE and message.notes.get("round") else candidates(message)


def strange(message: Message) -> Verdict:
    """Return CannotTell if a state that is not known may come from before the trace, or hides behind a mask."""
    if message.params.get("requestState") == MASK or not message.session.from_start or (
            message.connection.trace.state(RequestStates).rounds.forgot):
        return CannotTell("the states that were given before")
    return None


@rule("mrtr.state-echo", "mrtr.state-opaque", on=ANSWERED, scene=scene(FIRST + """
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  - C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***99999999"}
    S #2 !-32602 "Invalid state"
"""))
def echoes(message: Message) -> Verdict:
    """A client gives back the state of a result as it got it."""
    if not goes_on(message):
        return None
    found, given = round_of(message), message.params.get("requestState")
    if found is not None and message.notes.get("tied") == STATE:
        return KEPT if target_of(message) == found.target else None
    alike = _alike(message)
    if not alike or not all(isinstance(each.state, str) for each in alike):
        return None
    if "requestState" not in message.params:
        return Broken("the state of the result is missing", "params.requestState")
    if not isinstance(given, str):
        return None
    return strange(message) or Broken("another state than that of the result", "params.requestState")


@rule("mrtr.no-state-if-absent", on=ANSWERED, scene=scene("""
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": %(form)s}}
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}}
  - C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
    S #2 {"content": []}
"""))
def no_state(message: Message) -> Verdict:
    """A client sends no state where the result had none."""
    alike = candidates(message)
    if not alike or "requestState" not in message.params:
        return KEPT if alike and alike[0].state is None else None
    found = round_of(message)
    if message.notes.get("tied") == STATE and found is not None:
        if found in alike or not found.retried or found.target != target_of(message):
            return None
        return None if alike[0].state is not None else Broken("the state of an earlier result", "params.requestState")
    if any(each.state is not None for each in alike):
        return None
    return strange(message) or Broken("a state, and the result had none", "params.requestState")


@rule("mrtr.new-request-id", on=ANSWERED, scene=scene(FIRST + """
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  + S #2 {"content": []}
  - C #1 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  - S #1 {"content": []}
"""))
def new_id(message: Message) -> Verdict:
    """Another attempt has an id of its own."""
    found = round_of(message)
    if found is None or found.request.connection is not message.connection:
        return None
    if message.connection.http and message.notes.get("tied") != STATE:
        return CannotTell("which client sent the request: several may share the connection")
    return KEPT if id_key(found.request.id) != id_key(message.id) else Broken("the id of the first attempt", "id")


@rule("mrtr.not-for-other-requests", on=ANSWERED, scene=scene(FIRST + """
  + C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  - C #2 tools/call {"name": "u", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
    S #2 !-32602 "Invalid state"
"""))
def same_request(message: Message) -> Verdict:
    """A state goes back with the request that it was given for."""
    found = round_of(message)
    if found is None or message.notes.get("tied") != STATE:
        return None
    if found.target == target_of(message):
        return KEPT
    return Broken("the state of %s %s" % (found.target[0], short(found.target[1])), "params.requestState")
