"""Scenes about requests that ask for input first, and about their state [2026-07-28 basic/patterns/mrtr §Server
Requirements (Basic Workflow)]."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ...methods import CALL_TOOL, CREATE_MESSAGE, ELICIT, GET_PROMPT, LIST_ROOTS
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..stage import MANY, SceneStage
from ..talk import CAPABILITIES, Talk
from ..wire import Reaction
from .frames import survived

_ABLE: Dict[str, Any] = {CAPABILITIES: {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}}
ANSWERS: Dict[str, Dict[str, Any]] = {
    ELICIT: {"action": "decline"}, LIST_ROOTS: {"roots": []},
    CREATE_MESSAGE: {"role": "assistant", "content": {"type": "text", "text": "example"}, "model": "example"}}
"""The method of a question -> our answer."""
_JUNK: Tuple[Any, ...] = ("examiner-no-such-state", "", "\u00e9\U0001f600", "x" * 20000, 7, {"a": 1})


class Round(NamedTuple):
    """A request that was answered by a wish for input."""

    method: str
    params: Dict[str, Any]
    answers: Dict[str, Any]
    """The answers to its questions."""
    state: Any
    """The `requestState`; None if there is none."""

    def retry(self, talk: Talk, state: Any, most: Optional[int] = None) -> Reaction:
        """Send the request again with the answers and with a state; None: without one. ``most``: the number of
        answers, the first ones; None: all."""
        answers = dict(list(self.answers.items())[:most])
        more: Dict[str, Any] = {"inputResponses": answers} if answers else {}
        more.update({} if state is None else {"requestState": state})
        return talk.request(self.method, {**self.params, **more}, _ABLE)


def _rounds(stage: SceneStage) -> List[Round]:
    """Return the requests that ask for input. Raises `NotExamined` if there are none."""
    asked: List[Tuple[str, Dict[str, Any]]] = []
    if stage.offered.get("tools"):
        asked += [(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
                  for tool, arguments in stage.callable(most=MANY)]
    asked += [(GET_PROMPT, {"name": each.get("name")}) for each in stage.offered.get("prompts", ())[:5]
              if not any(part.get("required") for part in each.get("arguments") or () if isinstance(part, dict))]
    found = []
    for method, params in asked:
        result = stage.talk.request(method, params, _ABLE).result or {}
        questions = result.get("inputRequests")
        if result.get("resultType") == "input_required":
            found.append(Round(method, params, {
                key: ANSWERS.get(str((each or {}).get("method")), {}) for key, each in questions.items()
                if each is None or isinstance(each, dict)} if isinstance(questions, dict) else {},
                result.get("requestState")))
    if not found:
        raise NotExamined("nothing that may be asked for asks for input")
    return found


def _done(answer: Reaction) -> bool:
    """Return True for a result that is no other wish for input."""
    return answer.result is not None and answer.result.get("resultType") != "input_required"


def altered(state: str) -> List[str]:
    """Return a state with one character changed, at three places."""
    places = {len(state) // 4, len(state) // 2, len(state) * 3 // 4}
    return [state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1:] for place in sorted(places)]


@scene("input-round", provokes="mrtr.declared-capabilities-only jsonrpc.result-type-required mrtr.at-least-one "
       "mrtr.request-types mrtr.no-server-requests stdio.no-server-requests http.stream-no-server-requests "
       "mrtr.required elicit.param-message elicit.form-params", needs="tools",
       only=lambda revision: revision.stateless)
def input_round(stage: SceneStage) -> Said:
    """Requests that are answered by a wish for input are sent again with answers, for the checker to see."""
    for each in _rounds(stage):
        each.retry(stage.talk, each.state)
    return None


@scene("part-of-a-round", "mrtr.re-request-missing", needs="tools", only=lambda revision: revision.stateless)
def part_of_a_round(stage: SceneStage) -> Said:
    """A request that asks for several things and gets one of them is no error: it asks again for the others."""
    found: List[Verdict] = []
    for each in _rounds(stage):
        if len(each.answers) > 1:
            part = each.retry(stage.talk, each.state, 1)
            said = "%s with one of %d answers: %s" % (each.method, len(each.answers), part)
            found.append(KEPT if part.result is not None else Broken(said) if part.error is not None else
                         CannotTell(said))
    if not found:
        raise NotExamined("nothing that may be asked for asks for two things at once")
    return every(found)


@scene("altered-state", "mrtr.state-rejected", needs="tools", only=lambda revision: revision.stateless)
def altered_state(stage: SceneStage) -> Said:
    """A state that was altered is refused, or asked about again.

    Reading: a state that a server gives with its questions matters to it, as the checker has it, too. One of three
    places may hold a bit that means nothing.
    """
    found: List[Verdict] = []
    for each in _rounds(stage):
        if isinstance(each.state, str) and each.state:
            answers = [each.retry(stage.talk, state) for state in altered(each.state)]
            found.append(Broken("%s with an altered requestState: %s" % (each.method, answers[0]))
                         if all(_done(answer) for answer in answers) else KEPT)
    if not found:
        raise NotExamined("what asks for input has no requestState")
    return every(found)


@scene("junk-state", "mrtr.state-untrusted", needs="tools", only=lambda revision: revision.stateless)
def junk_state(stage: SceneStage) -> Said:
    """A state that the server has never given does no harm: it is refused or ignored, and the conversation goes on."""
    found: List[Verdict] = []
    talk = stage.talk
    for each in _rounds(stage)[:2]:
        for junk in _JUNK:
            answer = each.retry(talk, junk)
            if answer.message is None:
                found.append(Broken("requestState %.40r: %s" % (junk, answer)) if talk.wire.ended else
                             CannotTell("requestState %.40r: %s" % (junk, answer)))
            found.append(survived(talk, "a requestState that is none"))
    return every(found)
