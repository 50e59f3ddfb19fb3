"""Scenes of 2026-07-28 about what a result that wants input has: odd states, a link, a question of an unknown kind.

[2026-07-28 basic/patterns/mrtr], [2026-07-28 client/elicitation §Safe URL Handling].
"""

from typing import Any, List, Tuple

from ....methods import CALL_TOOL, ELICIT
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import ADD, Asked, Tool, text
from ..stage import SCENARIO, ClientStage, stateless_scene
from .questions import LINK_PATH
from .rounds import ASKING, ROUNDS, retried

STATES: Tuple[str, ...] = (
    "", " \t\r\n ", "\x00\x01\x7f", "e\u0301 \u212b \ufeff\u2028 \U0001f600", "1e5", "null", "[1.0, 1.00]",
    "\\u0041 %00 &amp; +", "9" * 70_000)
UNKNOWN = "examiner/no-such-question"


@stateless_scene("odd-states", "mrtr.state-opaque", provokes="mrtr.state-echo mrtr.new-request-id")
def odd_states(stage: ClientStage) -> Said:
    """Tools answer with states of odd characters, an empty one among them: each comes back as it was."""
    script = stage.script()
    found: List[Verdict] = []

    def tool(name: str, state: str) -> Tool:
        asked_once: List[Any] = []

        def play(asked: Asked) -> Any:
            if not asked_once:
                asked_once.append(asked.id)
                return {"resultType": "input_required", "requestState": state}
            got = asked.params.get("requestState")
            # A call without a state may be another one, and not the first again.
            found.append(KEPT if got == state else CannotTell("no state came back") if got is None else Broken(
                "the state %.40r came back as %.40r" % (state, got)))
            return text("done")

        return Tool({**ADD, "name": name}, play)

    names = [ASKING] + ["%s_%d" % (ASKING, number) for number in range(1, len(STATES))]
    script.tools = {name: tool(name, state) for name, state in zip(names, STATES)}
    stage.run(script, SCENARIO if CALL_TOOL in stage.usual().methods else ROUNDS)
    if not script.sent(CALL_TOOL):
        raise NotExamined("the client calls no tool")
    return every(found) or CannotTell("the client has not gone on")


@stateless_scene("unknown-input", "mrtr.client-constructs-inputs")
def unknown_input(stage: ClientStage) -> Said:
    """A result wants input of a kind that there is not: the call does not come again without it."""
    _, retries = retried(stage, {"requestState": "examiner", "inputRequests": {
        "one": {"method": UNKNOWN, "params": {}}}})
    for each in retries:
        given = each.params.get("inputResponses")
        if not isinstance(given, dict) or "one" not in given:
            return Broken("the call came again, and %s was not answered" % UNKNOWN)
    return CannotTell("%s was answered with %s" % (UNKNOWN, retries[0].params["inputResponses"]["one"])
                      ) if retries else KEPT


@stateless_scene("link-input", "elicit.url-no-prefetch", wires="web", provokes="mrtr.client-constructs-inputs")
def link_input(stage: ClientStage) -> Said:
    """A result wants the user to open a link: it is not fetched before the user has accepted that."""
    stage.declares("elicitation", "url")
    script, retries = retried(stage, lambda script: {"requestState": "examiner", "inputRequests": {"one": {
        "method": ELICIT, "params": {"mode": "url", "message": "Open this", "url": script.base + LINK_PATH}}}})
    if not any(hit.endswith(LINK_PATH) for hit in script.hits):
        return KEPT
    given = [(each.params.get("inputResponses") or {}).get("one") for each in retries]
    accepted = any(isinstance(each, dict) and each.get("action") == "accept" for each in given)
    return CannotTell("the link was fetched, and accepted") if accepted else Broken(
        "the link was fetched, and not accepted")
