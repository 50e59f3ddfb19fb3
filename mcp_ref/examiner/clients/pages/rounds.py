"""Scenes of 2026-07-28: results that want input, kinds of results, the era of a server.

[2026-07-28 basic/patterns/mrtr], [2026-07-28 basic/index §ResultType],
[2026-07-28 basic/transports/stdio §Backward Compatibility].
"""

from typing import Any, Dict, List, Optional, Tuple

from ....errors import INVALID_PARAMS, METHOD_NOT_FOUND
from ....methods import CALL_TOOL, CREATE_MESSAGE, DISCOVER, ELICIT, INITIALIZE, LIST_ROOTS, LIST_TOOLS
from ....revisions import HANDSHAKE_REVISIONS
from ...scenes import KEPT, PIPE, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import ADD, Asked, Heard, Refusal, Script, Tool, text
from ..stage import SCENARIO, ClientStage, stateless_scene
from .features import FORM, SAMPLE, tool
from .questions import WITH_TOOLS

STATE = "{\"page\": 1, \"text\": \"\u00e9 \U0001f600 \\\\ %41 +\"} " + "=" * 300
ROUNDS = "sep-2322-client-request-state"
"""The scenario of the official suite in which calls are answered by rounds."""
ASKING = "test_mrtr_echo_state"
OTHER = "test_mrtr_unrelated"


def _asks(result: Any, script: Script) -> List[Heard]:
    """Have the first tool answer with a result that wants input, or with what a function of the script returns for one;
    return a list that gets the calls that follow."""
    retries: List[Heard] = []

    def play(asked: Asked) -> Any:
        if "inputResponses" in asked.params or "requestState" in asked.params:
            retries.append(asked.heard)
            return text("done")
        made = result(script) if callable(result) else result
        return {"resultType": "input_required", **made} if len(retries) < 3 else text("enough")

    script.tools = {ASKING: Tool({**ADD, "name": ASKING}, play), OTHER: tool(OTHER)}
    return retries


def retried(stage: ClientStage, result: Any) -> Tuple[Script, List[Heard]]:
    """Return what followed a result that wants input. Raises `NotExamined` if that tool was not called."""
    script = stage.script()
    retries = _asks(result, script)
    stage.run(script, SCENARIO if CALL_TOOL in stage.usual().methods else ROUNDS)
    if not any(each.params.get("name") == ASKING for each in script.sent(CALL_TOOL)):
        raise NotExamined("the client does not call the tool %s" % ASKING)
    return script, retries


def _form() -> Dict[str, Any]:
    return {"inputRequests": {"form": {"method": ELICIT, "params": {"mode": "form", **FORM}}}}


@stateless_scene("state", "mrtr.state-opaque", "mrtr.not-for-other-requests",
                 provokes="mrtr.state-echo mrtr.new-request-id mrtr.client-constructs-inputs")
def state(stage: ClientStage) -> Said:
    """A state that looks like JSON comes back as it was, with the answers, and in no other call."""
    stage.declares("elicitation")
    script, retries = retried(stage, {**_form(), "requestState": STATE})
    others = [each for each in script.sent(CALL_TOOL) if each.params.get("name") != ASKING]
    leaked = any("requestState" in each.params or "inputResponses" in each.params for each in others)
    same = [each.params.get("requestState") == STATE for each in retries]
    return {"mrtr.state-opaque": CannotTell("the client has not gone on") if not same else KEPT if all(
                same) else Broken("the state came back as %r" % (retries[0].params.get("requestState"),)),
            "mrtr.not-for-other-requests": Broken("a call of another tool had them, too") if leaked else (
                KEPT if others and retries else CannotTell("no other tool was called"))}


@stateless_scene("no-state", provokes="mrtr.no-state-if-absent mrtr.client-constructs-inputs")
def no_state(stage: ClientStage) -> Said:
    """A result that wants input has no state: none comes back."""
    stage.declares("elicitation")
    retried(stage, _form())
    return None


@stateless_scene("state-alone", "mrtr.state-opaque", provokes="mrtr.state-echo")
def state_alone(stage: ClientStage) -> Said:
    """A result has a state, and wants no input: the call comes again, with the state."""
    _, retries = retried(stage, {"requestState": STATE})
    if not retries:
        return CannotTell("the client has not gone on")
    return KEPT if all(each.params.get("requestState") == STATE for each in retries) else Broken(
        "the state came back as %r" % (retries[0].params.get("requestState"),))


_UNDECLARED: Tuple[Tuple[str, str, str, Dict[str, Any]], ...] = (
    ("roots", "roots.capability-per-request", LIST_ROOTS, {}),
    ("sampling", "sampling.capability-per-request", CREATE_MESSAGE, SAMPLE),
    ("elicitation", "elicit.capability-per-request", ELICIT, {"mode": "form", **FORM}))


@stateless_scene("undeclared-input", *(row[1] for row in _UNDECLARED))
def undeclared_input(stage: ClientStage) -> Said:
    """A result wants input of a kind that the client has not declared: it is not given."""
    declared = stage.usual().script.declared
    found: Dict[str, Verdict] = {}
    for name, id, method, params in _UNDECLARED:
        if name in declared:
            continue
        _, retries = retried(stage, {"inputRequests": {"one": {"method": method, "params": params}},
                                     "requestState": STATE})
        given = any("one" in (each.params.get("inputResponses") or {}) for each in retries)
        found[id] = Broken("%s, which is not declared, was answered" % method) if given else KEPT
    return found


@stateless_scene("input-with-tools", "sampling.tools-undeclared-error")
def input_with_tools(stage: ClientStage) -> Said:
    """A result wants an answer of the model with tools, which the client has not declared: it is not given."""
    if "tools" in (stage.declares("sampling") or {}):
        raise NotExamined("the client declares sampling.tools")
    _, retries = retried(stage, {"inputRequests": {"one": {"method": CREATE_MESSAGE, "params": WITH_TOOLS}}})
    given = [(each.params.get("inputResponses") or {}).get("one") for each in retries]
    return Broken("sampling with tools, which is not declared, was answered: %s" % (given[0],)) if any(
        isinstance(each, dict) and "role" in each for each in given) else KEPT


def _paged(stage: ClientStage, kind: Any, script: Optional[Script] = None) -> bool:
    """Return True if the client asks for the page after one whose result is of a kind; None: it does not say."""
    script = stage.script() if script is None else script
    stateless = script.revision.stateless

    def answer(asked: Asked) -> Any:
        if "cursor" in asked.params:
            return {"tools": []}
        return {"tools": [ADD], "nextCursor": "second", **({"resultType": kind} if stateless else {})}

    script.answers[LIST_TOOLS] = answer
    stage.run(script)
    return any("cursor" in each.params for each in script.sent(LIST_TOOLS))


@stateless_scene("result-types", "jsonrpc.result-type-absent-complete", "jsonrpc.result-type-unknown-invalid",
                 "jsonrpc.result-type-known-set", needs=LIST_TOOLS)
def result_types(stage: ClientStage) -> Said:
    """A page without a result type is complete, and one of an unknown type is no page: its cursor is not followed."""
    if not _paged(stage, "complete"):
        return dict.fromkeys(("jsonrpc.result-type-absent-complete", "jsonrpc.result-type-unknown-invalid",
                              "jsonrpc.result-type-known-set"), CannotTell(
                                  "the client has not asked for a second page"))
    unknown = Broken("the client goes on behind a page of the type \"examiner-unknown\"") if _paged(
        stage, "examiner-unknown") else KEPT
    return {"jsonrpc.result-type-absent-complete": KEPT if _paged(stage, None) else _of_an_earlier_server(stage),
            "jsonrpc.result-type-unknown-invalid": unknown, "jsonrpc.result-type-known-set": unknown}


def _of_an_earlier_server(stage: ClientStage) -> Verdict:
    """Return the verdict on a client that takes no page without a result type from a server of this revision.

    Reading: the clause is for the results of earlier servers, as the changelog of the revision says; from a server of
    this revision, which must name the type, the client may refuse them.
    """
    script = Script(HANDSHAKE_REVISIONS[-1])
    script.probe = Refusal(METHOD_NOT_FOUND, "Method not found")
    if stage.wire == PIPE and _paged(stage, None, script):
        return KEPT
    if stage.wire == PIPE and script.sent(LIST_TOOLS):
        return Broken("the client does not go on behind a page of an earlier server, which has no result type")
    return CannotTell("a page without a result type was refused, of a server that has to name it")


@stateless_scene("legacy-server", "stdio.fallback-any-error", wires="pipe")
def legacy_server(stage: ClientStage) -> Said:
    """A server that does not know `server/discover` says so in several ways: each is followed by `initialize`."""
    found: Dict[int, bool] = {}
    for code in (METHOD_NOT_FOUND, INVALID_PARAMS, -32000, -32002, -1):
        script = Script(HANDSHAKE_REVISIONS[-1])
        script.probe = Refusal(code, "not initialized")
        stage.run(script)
        if DISCOVER in [each.method for each in script.heard]:
            found[code] = any(each.method == INITIALIZE for each in script.heard)
    if not any(found.values()):
        return CannotTell("the client does not fall back to a handshake")
    return every([KEPT if well else Broken("server/discover was refused with %d, and no initialize followed" % code)
                  for code, well in found.items()])
