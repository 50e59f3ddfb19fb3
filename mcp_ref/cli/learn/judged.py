"""The answers of the checker for `explain`: the rule of a requirement with its traces drawn, the counts of a page.

The checker is loaded when one of these functions is called, not before.
"""

from typing import Any, Dict, Iterable, List, Optional

from ...requirements import Requirement

_WIDTH = 96
_MOMENTS = {
    "request": "a request", "notification": "a notification", "result": "a result", "error": "an error",
    "message": "any message", "asked": "a question of the server, however it travels",
    "answered": "an answer of the client to a question", "outcome": "the response to a request with such an answer",
    "odd": "an object that is no message of JSON-RPC", "noise": "bytes that are no JSON",
    "batch": "a batch, when its messages were seen", "head": "the head of an HTTP request",
    "response": "the head of an HTTP response", "end": "the end of an HTTP exchange", "event": "an SSE event",
    "process": "start, signal and exit of the server's process", "stderr": "a line of standard error",
    "finish": "the end of the connection, or of the trace",
}
"""Moment of a rule -> in words."""
_PARTIES = {"sender": "the sender of the message, client or server"}
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
    from ...ladder.conversation import elided
    from ..judge.ladder import judged

    verdict = DISAGREE if rule.disagree else VIOLATION if "MUST" in rule.requirement.level else WARNING
    party = _PARTIES.get(rule.party, "the " + rule.party)
    kept, broken = (text.lines(elided(judged(events)), _WIDTH) for events in traces(rule.scene))
    return {"id": rule.id, "also": list(rule.also), "text": rule.text, "party": party, "verdict": verdict,
            "moments": [_MOMENTS[each] for each in rule.on], "methods": list(rule.methods or ()),
            "needs": sorted(rule.needs), "reading": rule.reading or None, "disagreement": rule.disagree or None,
            "advice": _advice(party, rule.text, verdict, rule.id), "kept": kept, "broken": broken}


def _advice(party: str, text: str, verdict: str, id: str) -> str:
    said = "It is for %s to see to it: %s" % (party, text[:1].lower() + text[1:])
    if verdict == "disagreement":
        return said + " As the texts disagree, it is no fault to do otherwise: an issue of the specification."
    if verdict == "warning":
        return said + " Where there is a reason not to, check --accept FILE takes it."
    return said


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
