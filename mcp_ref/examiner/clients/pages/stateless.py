"""Scenes of 2026-07-28: the versions that an error names, hints for caches, streams of `subscriptions/listen`.

[2026-07-28 basic/versioning §Protocol Version Negotiation], [2026-07-28 server/utilities/caching],
[2026-07-28 basic/patterns/subscriptions].
"""

from typing import Any, Dict, List, Optional, Tuple

from ....checker.observed import META_REVISION
from ....methods import ACKNOWLEDGED, CALL_TOOL, LISTEN, LIST_CHANGED, LIST_TOOLS
from ...scenes import KEPT, Broken, NotExamined, Said, Verdict, every
from ..script import ADD, CUT, UNSUPPORTED_VERSION, Asked, Refusal, text
from ..stage import ClientRun, ClientStage, stateless_scene
from .manners import BASE, base, before

LATER, EARLIER = "2099-12-31", "1999-01-01"
MOST_REPEATS = 5
_BRIEF, _LONG = 100, 1.2
"""The milliseconds for which a list is fresh, and the seconds for which a call lasts after that."""
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def _refused(stage: ClientStage, supported: List[str], times: int) -> Tuple[ClientRun, int]:
    """Return a run whose first requests are refused with -32022, and the number of those that were."""
    script, refused = stage.script(), []  # type: Any, List[str]
    kept = dict(script.answers)

    def first(asked: Asked) -> Any:
        if len(refused) == times:
            return kept[asked.method](asked)
        refused.append(asked.method)
        return Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", {
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

    def call(asked: Asked) -> Any:
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

def _acknowledged(asked: Asked, notifications: Dict[str, Any]) -> None:
    asked.note(ACKNOWLEDGED, {"_meta": {SUBSCRIPTION: asked.id}, "notifications": notifications})


@stateless_scene("listen-subset", "subscribe.client-checks-ack", needs=LISTEN)
def listen_subset(stage: ClientStage) -> Said:
    """A subscription is acknowledged, and nothing of what was asked for: the client goes on without."""
    script = stage.script()
    kept = script.answers[LISTEN]

    def answer(asked: Asked) -> Any:
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

    def answer(asked: Asked) -> Any:
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

    def end(asked: Asked) -> Any:
        _acknowledged(asked, asked.params.get("notifications") or {})
        return {"_meta": {SUBSCRIPTION: asked.id}}

    for answer in (lambda asked: Refusal(-32603, "no place for more subscriptions"), end):
        script = stage.script()
        script.answers[LISTEN] = answer
        run = stage.run(script)
        found.append(stage.goes_on(run, "after the end of a subscription"))
    return base(stage, every(found))


@stateless_scene("listen-foreign", *BASE, needs=LISTEN, wires="pipe")
def listen_foreign(stage: ClientStage) -> Said:
    """Changes are told in the name of a subscription that there is not, and without any name: the client goes on."""
    script = stage.script()

    def say(asked: Asked) -> None:
        for method in LIST_CHANGED.values():
            asked.note(method, {"_meta": {SUBSCRIPTION: "examiner-no-subscription"}})
            asked.note(method, {"_meta": {SUBSCRIPTION: [7]}})

    before(script, LIST_TOOLS, say)
    verdict = stage.goes_on(stage.run(script), "after changes for no subscription")
    return base(stage, verdict)
