"""Scenes of 2026-07-28: results that want input, kinds of results, eras and versions, caches, subscriptions.

Results that want input have odd states, a link, a question of an unknown kind [2026-07-28 basic/patterns/mrtr],
[2026-07-28 client/elicitation §Safe URL Handling]. The others are about kinds of results
[2026-07-28 basic/index §ResultType], the era of a server
[2026-07-28 basic/transports/stdio §Backward Compatibility], the versions that an error names
[2026-07-28 basic/versioning §Protocol Version Negotiation], hints for caches [2026-07-28 server/utilities/caching], and
the streams of `subscriptions/listen` [2026-07-28 basic/patterns/subscriptions].
"""

from typing import Any, Dict, List, Optional, Tuple

from .....errors import INVALID_PARAMS, METHOD_NOT_FOUND
from .....methods import (
    ACKNOWLEDGED, CALL_TOOL, CREATE_MESSAGE, DISCOVER, ELICIT, INITIALIZE, LISTEN, LIST_CHANGED, LIST_ROOTS, LIST_TOOLS,
)
from .....revisions import HANDSHAKE_REVISIONS
from ....checker.observed import META_REVISION
from ...scenes import KEPT, PIPE, Broken, CannotTell, NotExamined, Said, Verdict, every
from ..script import (
    ADD, CUT, UNSUPPORTED_VERSION, ClientMessage, ClientRequest, ErrorAnswer, ScriptedTool, ServerScript, text,
)
from ..stage import SCENARIO, ClientRun, ClientStage, stateless_scene
from .features import FORM, LINK_PATH, SAMPLE, WITH_TOOLS, tool
from .opening import BASE, base, before

STATE = "{\"page\": 1, \"text\": \"\u00e9 \U0001f600 \\\\ %41 +\"} " + "=" * 300
ROUNDS = "sep-2322-client-request-state"
"""The scenario of the official suite in which calls are answered by rounds."""
ASKING = "test_mrtr_echo_state"
OTHER = "test_mrtr_unrelated"


def _asks(result: Any, script: ServerScript) -> List[ClientMessage]:
    """Have the first tool answer with a result that wants input, or with what a function of the script returns for one;
    return a list that gets the calls that follow."""
    retries: List[ClientMessage] = []

    def play(asked: ClientRequest) -> Any:
        if "inputResponses" in asked.params or "requestState" in asked.params:
            retries.append(asked.heard)
            return text("done")
        made = result(script) if callable(result) else result
        return {"resultType": "input_required", **made} if len(retries) < 3 else text("enough")

    script.tools = {ASKING: ScriptedTool({**ADD, "name": ASKING}, play), OTHER: tool(OTHER)}
    return retries


def retried(stage: ClientStage, result: Any) -> Tuple[ServerScript, List[ClientMessage]]:
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


def _paged(stage: ClientStage, kind: Any, script: Optional[ServerScript] = None) -> bool:
    """Return True if the client asks for the page after one whose result is of a kind; None: it does not say."""
    script = stage.script() if script is None else script
    stateless = script.revision.stateless

    def answer(asked: ClientRequest) -> Any:
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
    script = ServerScript(HANDSHAKE_REVISIONS[-1])
    script.probe = ErrorAnswer(METHOD_NOT_FOUND, "Method not found")
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
        script = ServerScript(HANDSHAKE_REVISIONS[-1])
        script.probe = ErrorAnswer(code, "not initialized")
        stage.run(script)
        if DISCOVER in [each.method for each in script.heard]:
            found[code] = any(each.method == INITIALIZE for each in script.heard)
    if not any(found.values()):
        return CannotTell("the client does not fall back to a handshake")
    return every([KEPT if well else Broken("server/discover was refused with %d, and no initialize followed" % code)
                  for code, well in found.items()])


STATES: Tuple[str, ...] = (
    "", " \t\r\n ", "\x00\x01\x7f", "e\u0301 \u212b \ufeff\u2028 \U0001f600", "1e5", "null", "[1.0, 1.00]",
    "\\u0041 %00 &amp; +", "9" * 70_000)
UNKNOWN = "examiner/no-such-question"


@stateless_scene("odd-states", "mrtr.state-opaque", provokes="mrtr.state-echo mrtr.new-request-id")
def odd_states(stage: ClientStage) -> Said:
    """Tools answer with states of odd characters, an empty one among them: each comes back as it was."""
    script = stage.script()
    found: List[Verdict] = []

    def tool(name: str, state: str) -> ScriptedTool:
        asked_once: List[Any] = []

        def play(asked: ClientRequest) -> Any:
            if not asked_once:
                asked_once.append(asked.id)
                return {"resultType": "input_required", "requestState": state}
            got = asked.params.get("requestState")
            # A call without a state may be another one, and not the first again.
            found.append(KEPT if got == state else CannotTell("no state came back") if got is None else Broken(
                "the state %.40r came back as %.40r" % (state, got)))
            return text("done")

        return ScriptedTool({**ADD, "name": name}, play)

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


LATER, EARLIER = "2099-12-31", "1999-01-01"
MOST_REPEATS = 5
_BRIEF, _LONG = 100, 1.2
"""The milliseconds for which a list is fresh, and the seconds for which a call lasts after that."""
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def _refused(stage: ClientStage, supported: List[str], times: int) -> Tuple[ClientRun, int]:
    """Return a run whose first requests are refused with -32022, and the number of those that were."""
    script, refused = stage.script(), []  # type: Any, List[str]
    kept = dict(script.answers)

    def first(asked: ClientRequest) -> Any:
        if len(refused) == times:
            return kept[asked.method](asked)
        refused.append(asked.method)
        return ErrorAnswer(UNSUPPORTED_VERSION, "Unsupported protocol version", {
            "supported": supported, "requested": stage.revision.name}, 400)

    script.answers = dict.fromkeys(kept, first)
    run = stage.run(script)
    if not refused:
        raise NotExamined("the client has sent no request")
    return run, len(refused)


@stateless_scene("supported-list", "version.select-supported")
def supported_list(stage: ClientStage) -> Said:
    """Requests are refused with -32022: the list has the revision between two that there are not, and the request comes
    again in the revision; or the list has none that there is, and nothing is asked in it, nor without end."""
    run, _ = _refused(stage, [LATER, stage.revision.name, EARLIER], 1)
    later = [each for each in run.heard if each.is_request][1:]
    found: List[Verdict] = [KEPT if any(each.meta.get(META_REVISION) == stage.revision.name for each in later)
                            else Broken("after -32022 with %s nothing was asked in it" % stage.revision)]
    run, count = _refused(stage, [LATER], 1_000_000)
    for heard in (later, run.heard):
        wrong = {str(each.meta.get(META_REVISION)) for each in heard}.intersection((LATER, EARLIER))
        found.append(Broken("after -32022 %s was asked for" % ", ".join(wrong)) if wrong else KEPT)
    methods = [each.method for each in run.heard if each.is_request]
    most = max(map(methods.count, methods))
    found.append(KEPT if most < MOST_REPEATS else Broken(
        "the same request came %d times, though no revision is supported that there is" % most))
    return every(found)


_TTLS: Tuple[Tuple[str, Optional[int], str], ...] = (
    ("cache.ttl-absent", None, "no ttlMs"), ("cache.ttl-negative", -1, "a negative ttlMs"))


@stateless_scene("odd-ttl", "cache.ttl-absent", "cache.ttl-negative", needs=LIST_TOOLS)
def odd_ttl(stage: ClientStage) -> Said:
    """The hint for caches is absent, or negative: the client takes the result for one that is not fresh."""
    found: Dict[str, Verdict] = {}
    for id, value, what in _TTLS:
        script = stage.script()
        script.answers[LIST_TOOLS] = lambda asked, value=value: {  # type: ignore[misc]
            "tools": [ADD], "ttlMs": value}
        found[id] = stage.goes_on(stage.run(script), "after a list with " + what)
    return found


@stateless_scene("brief-ttl", "cache.no-polling", provokes="cache.ttl-positive", needs=CALL_TOOL)
def brief_ttl(stage: ClientStage) -> Said:
    """A list is fresh for a tenth of a second, and a call lasts longer: the list is not fetched meanwhile, each time
    that it is no longer fresh."""
    script, during = stage.script(), []  # type: Any, List[int]

    def call(asked: ClientRequest) -> Any:
        since = len(script.heard)
        script.pause(_LONG)
        during.append(sum(each.method == LIST_TOOLS for each in script.heard[since:]))
        return text("done")

    script.answers[LIST_TOOLS] = lambda asked: {"tools": [ADD], "ttlMs": _BRIEF}
    script.answers[CALL_TOOL] = call
    stage.run(script)
    if not during:
        raise NotExamined("the client has called no tool")
    return KEPT if max(during) < MOST_REPEATS else Broken(
        "during a call of %g s the list was fetched %d times; ttlMs is %d" % (_LONG, max(during), _BRIEF))


# Subscriptions

def _acknowledged(asked: ClientRequest, notifications: Dict[str, Any]) -> None:
    asked.note(ACKNOWLEDGED, {"_meta": {SUBSCRIPTION: asked.id}, "notifications": notifications})


@stateless_scene("listen-subset", "subscribe.client-checks-ack", needs=LISTEN)
def listen_subset(stage: ClientStage) -> Said:
    """A subscription is acknowledged, and nothing of what was asked for: the client goes on without."""
    script = stage.script()
    kept = script.answers[LISTEN]

    def answer(asked: ClientRequest) -> Any:
        asked.params = {**asked.params, "notifications": {}}
        return kept(asked)

    script.answers[LISTEN] = answer
    return stage.goes_on(stage.run(script), "after an acknowledgment without any of what was asked for")


@stateless_scene("listen-cut", *BASE, wires="web", needs=LISTEN)
def listen_cut(stage: ClientStage) -> Said:
    """The stream of a subscription ends without an answer: the first before it is acknowledged, the second behind that.
    """
    script, count = stage.script(), []  # type: Any, List[Any]
    kept = script.answers[LISTEN]

    def answer(asked: ClientRequest) -> Any:
        count.append(asked.id)
        if len(count) > 2:
            return kept(asked)
        if len(count) == 2:
            _acknowledged(asked, asked.params.get("notifications") or {})
        return CUT

    script.answers[LISTEN] = answer
    return base(stage, stage.goes_on(stage.run(script), "after the stream of a subscription had ended"))


@stateless_scene("listen-refused", *BASE, needs=LISTEN)
def listen_refused(stage: ClientStage) -> Said:
    """A subscription is refused; or it is ended by an answer, behind its acknowledgment: the client goes on."""
    found: List[Verdict] = []

    def end(asked: ClientRequest) -> Any:
        _acknowledged(asked, asked.params.get("notifications") or {})
        return {"_meta": {SUBSCRIPTION: asked.id}}

    for answer in (lambda asked: ErrorAnswer(-32603, "no place for more subscriptions"), end):
        script = stage.script()
        script.answers[LISTEN] = answer
        run = stage.run(script)
        found.append(stage.goes_on(run, "after the end of a subscription"))
    return base(stage, every(found))


@stateless_scene("listen-foreign", *BASE, needs=LISTEN, wires="pipe")
def listen_foreign(stage: ClientStage) -> Said:
    """Changes are told in the name of a subscription that there is not, and without any name: the client goes on."""
    script = stage.script()

    def say(asked: ClientRequest) -> None:
        for method in LIST_CHANGED.values():
            asked.note(method, {"_meta": {SUBSCRIPTION: "examiner-no-subscription"}})
            asked.note(method, {"_meta": {SUBSCRIPTION: [7]}})

    before(script, LIST_TOOLS, say)
    verdict = stage.goes_on(stage.run(script), "after changes for no subscription")
    return base(stage, verdict)
