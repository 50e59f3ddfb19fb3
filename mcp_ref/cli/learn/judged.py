"""The answers of the checker for `explain`: the rule of a requirement with its traces drawn, the counts of a page.

The checker is loaded when one of these functions is called, not before.
"""

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional

from ...requirements import Requirement
from ...requirements import requirements as every_requirement
from ...wiretrace.text import shorten

if TYPE_CHECKING:
    from ...examiner.scenes import Scene

_WIDTH = 96
_MOMENTS = {
    "request": "a request", "notification": "a notification", "result": "a result", "error": "an error",
    "message": "any message", "asked": "a question of the server, however it travels",
    "answered": "an answer of the client to a question", "outcome": "the response to a request with such an answer",
    "tasked": "a message about a task",
    "odd": "an object that is no message of JSON-RPC", "noise": "bytes that are no JSON",
    "batch": "a batch, when its messages were seen", "head": "the head of an HTTP request",
    "response": "the head of an HTTP response", "end": "the end of an HTTP exchange", "event": "an SSE event",
    "process": "start, signal and exit of the server's process", "stderr": "a line of standard error",
    "finish": "the end of the connection, or of the trace",
}
"""Moment of a rule -> in words."""
_PARTIES = {"sender": "client or server, whoever does it", "client": "the client", "server": "the server"}
_LONGEST, _MOST = 160, 3
"""Characters and lines of a scene that the advice repeats."""
_DECIDED, _UNDECIDED, _PERMITS, _NONE = "decided", "undecided", "permits", "open"


def owned(id: str) -> Optional[Requirement]:
    """Return the row of a rule that is not in the specification's own list: a definition of the schema, or a row of an
    extension. None if there is no such rule.
    """
    if "." not in id:
        return None
    from ...checker import rules

    found = rules.load().get(id)
    return None if found is None else found.requirement


def scene_of(word: str) -> "Optional[Scene]":
    """Return the scene of the examiner that a word names: ``unknown-method``, ``scene:unknown-method``, or the id of a
    fault that a scene has found, ``lifecycle.base-required:unknown-method``. None if it names none.
    """
    from ...examiner.scenes import load

    return load().get(word.rpartition(":")[2])


def fault_of(word: str) -> str:
    """Return the requirement of a fault whose id a report has printed, ``progress.increases:1f2e3d4c``; "" for others.
    """
    id, _, rest = word.partition(":")
    return id if rest and (id in every_requirement() or owned(id) is not None) else ""


def rule_of(id: str) -> Dict[str, Any]:
    """Return the members ``rule`` and ``undecided`` of a requirement, as the docstring of `explain` describes them."""
    from ...checker import rules

    every = rules.load()
    found = every.get(id) or next((each for each in every.values() if id in each.also), None)
    return {"rule": None if found is None else _object(found), "undecided": rules.UNDECIDED.get(id)}


def _object(rule: Any) -> Dict[str, Any]:
    from ...checker.findings import DISAGREE, VIOLATION, WARNING
    from ...checker.scenes import traces
    from ...ladder import text
    from ...ladder.stretches import elided
    from ..judge.drawing import judged

    verdict = DISAGREE if rule.disagree else VIOLATION if "MUST" in rule.requirement.level else WARNING
    party = _PARTIES["sender" if rule.requirement.role == "both" else rule.party]
    (kept, _), (broken, findings) = (judged(events) for events in traces(rule.scene))
    found = next((each for each in findings if each.rule.id == rule.id), None)
    return {"id": rule.id, "also": list(rule.also), "text": rule.text, "party": party, "verdict": verdict,
            "moments": [_MOMENTS[each] for each in rule.on], "methods": [each for each in rule.methods or () if each],
            "needs": sorted(rule.needs), "reading": rule.reading or None, "disagreement": rule.disagree or None,
            "advice": _advice(rule, verdict, found),
            "kept": text.lines(elided(kept), _WIDTH), "broken": text.lines(elided(broken), _WIDTH)}


def _advice(rule: Any, verdict: str, found: Any) -> str:
    """Return what to look for, of which party, and what the trace that keeps the rule has in its place."""
    said = []
    if found is not None:
        what = "%s of " % found.where if found.where else ""
        what += found.method or ("HTTP requests" if found.exchange and not found.number else "its messages")
        said.append("Look where the %s makes or takes %s: %s shows the fault (%s)." % (
            found.party or "party", what, "message %d of the broken trace" % found.number if found.number
            else "the broken trace", found.evidence))
    right, wrong = (_lines(rule.scene, sign) for sign in "+-")
    if right and wrong:
        said.append("What is right, in place of %s, is %s." % (wrong, right))
    elif right or wrong:
        said.append("What is missing there is %s." % right if right else "What is too much there is %s." % wrong)
    said += ["(C is the client, S the server.)"] * bool(right or wrong)
    if verdict == "disagreement":
        said.append("As the texts disagree, it is no fault to do otherwise: an issue of the specification.")
    said.append("Then record the session again, and check it." + " Where there is a reason to stay with it, "
                "check --accept FILE takes the id in the report, with the reason." * (verdict != "violation"))
    return " ".join(said)


def _lines(scene: str, sign: str) -> str:
    """Return the first lines of a scene that only one of its traces has."""
    lines = [" ".join(line.strip()[1:].split()) for line in scene.splitlines() if line.strip()[:1] == sign]
    return ", then ".join(shorten(line, _LONGEST) for line in lines[:_MOST]) + ", and so on" * (len(lines) > _MOST)


def coverage(rows: Iterable[Requirement]) -> Dict[str, Any]:
    """Return how many of some requirements the checker decides, and those that nobody who only observes can decide."""
    from ...checker import rules

    decided = {id for rule in rules.load().values() for id in (rule.id, *rule.also)}
    found: Dict[str, List[str]] = {_DECIDED: [], _UNDECIDED: [], _PERMITS: [], _NONE: []}
    for row in rows:
        kind = (_DECIDED if row.id in decided else _UNDECIDED if row.id in rules.UNDECIDED
                else _NONE if row.binding else _PERMITS)
        found[kind].append(row.id)
    return {_DECIDED: len(found[_DECIDED]), _PERMITS: len(found[_PERMITS]), _NONE: len(found[_NONE]),
            _UNDECIDED: [{"id": id, "reason": rules.UNDECIDED[id]} for id in found[_UNDECIDED]]}
