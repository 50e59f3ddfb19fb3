"""Reports for programs: JSON, JUnit, SARIF, and the annotations of GitHub's workflow logs.

========  =======================================================================================================
name      form
========  =======================================================================================================
text      for people (`mcp_ref.checker.report`)
json      ``{"trace", "messages", "counts", "judged", "cannotTell", "findings", "stale"}``; see `as_json`
junit     an XML document of test suites: a suite for the trace, a test case for each rule that was judged
sarif     SARIF 2.1.0: rules with their citation and page, results with the message's number as the line of the trace
github    a line for each fault: ``::error title=...::text``, ``::warning``, ``::notice``
========  =======================================================================================================
"""

from typing import Any, Callable, Dict, List
from xml.etree import ElementTree

from ..jsontext import dumps
from .findings import DISAGREE, VIOLATION, WARNING, Finding
from .report import Group, Report, place_of

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {VIOLATION: "error", WARNING: "warning", DISAGREE: "note"}
_COMMANDS = {VIOLATION: "error", WARNING: "warning", DISAGREE: "notice"}


def as_json(report: Report) -> Dict[str, Any]:
    """Return the report as a JSON object.

    ``counts``: faults by verdict, ``accepted``, ``consequences``. ``judged``: the number of rules that had something to
    judge. ``cannotTell``: reasons by the id of the rule. ``findings``: the faults, the worst first; each has ``key``
    (the stable id), ``rule``, ``also``, ``level``, ``verdict``, ``party``, ``text``, ``citation``, ``reading``,
    ``disagreement``, ``accepted`` (null or the reason), ``count``, ``places`` and ``consequences``. A place has
    ``message``, ``exchange``, ``connection``, ``time``, ``id``, ``method``, ``revision``, ``evidence``, ``where``.
    """
    judged, missing = report.rules()
    return {
        "trace": report.name, "messages": report.checker.messages, "counts": report.counts(), "judged": judged,
        "cannotTell": {id: list(reasons) for id, reasons in missing.items()},
        "findings": [_group(group) for group in report.groups], "stale": report.stale,
    }


def _group(group: Group) -> Dict[str, Any]:
    first = group.finding
    return {
        "key": first.key, "rule": first.rule.id, "also": list(first.rule.also), "level": first.rule.requirement.level,
        "verdict": first.verdict, "party": first.party, "text": first.rule.text,
        "citation": first.rule.requirement.citation, "reading": first.rule.reading or None,
        "disagreement": first.rule.disagree or None, "accepted": group.accepted or None, "count": group.times,
        "places": [_place(each) for each in group.places],
        "consequences": [{"rule": each.rule.id, **_place(each)} for each in group.followers],
    }


def _place(finding: Finding) -> Dict[str, Any]:
    return {
        "message": finding.number or None, "exchange": finding.exchange or None,
        "connection": finding.connection or None, "time": finding.time, "id": finding.id,
        "method": finding.method or None, "revision": finding.revision and finding.revision.name,
        "evidence": finding.evidence, "where": finding.where or None,
    }


def as_junit(report: Report) -> str:
    """Return the report as a JUnit document."""
    judged = {id: tally for id, tally in report.checker.tallies().items() if tally.judged or tally.unsure}
    faults: Dict[str, List[Group]] = {}
    for group in report.groups:
        faults.setdefault(group.finding.rule.id, []).append(group)
    failing = {group.finding.rule.id for group in report.open()}
    suite = ElementTree.Element("testsuite", {
        "name": _xml(report.name or "trace"), "tests": str(len(judged)), "failures": str(len(failing)), "errors": "0",
        "skipped": str(sum(not tally.judged for tally in judged.values()))})
    for id, tally in judged.items():
        case = ElementTree.SubElement(suite, "testcase", {"classname": "mcp." + id.partition(".")[0], "name": id})
        if not tally.judged:
            ElementTree.SubElement(case, "skipped", {"message": _xml("; ".join(tally.unsure))})
        for group in faults.get(id, ()):
            if not group.accepted:
                failure = ElementTree.SubElement(case, "failure", {
                    "type": group.finding.verdict, "message": _xml(_sentence(group))})
                failure.text = _xml("\n".join("%s: %s" % (place_of(each), each.evidence) for each in group.places))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Return a text without the characters that XML 1.0 cannot have."""
    return "".join(sign if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or "\ue000" <= sign <= "\ufffd"
                   or sign > "\uffff" else "\ufffd" for sign in text)


def _sentence(group: Group) -> str:
    first = group.finding
    return "%s by the %s: %s: %s [%s]" % (
        first.verdict, first.party or "unknown party", first.rule.text.rstrip("."), first.evidence,
        first.rule.requirement.citation)


def as_sarif(report: Report) -> Dict[str, Any]:
    """Return the report as a SARIF 2.1.0 log."""
    from ..version import __version__

    used = list(dict.fromkeys(group.finding.rule for group in report.groups))
    places = {row.id: place for place, row in enumerate(used)}
    results = []
    for group in report.groups:
        first = group.finding
        result: Dict[str, Any] = {
            "ruleId": first.rule.id, "ruleIndex": places[first.rule.id], "level": _LEVELS[first.verdict],
            "message": {"text": "%s (%s)" % (_sentence(group), place_of(first))},
            "partialFingerprints": {"mcpRefKey/v1": first.key},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": report.name or "trace"},
                "region": {"startLine": max(first.number, 1)}}}],
            "occurrenceCount": group.times,
        }
        if group.accepted:
            result["suppressions"] = [{"kind": "external", "justification": group.accepted}]
        results.append(result)
    driver = {"name": "mcp_ref", "version": __version__, "rules": [{
        "id": row.id, "shortDescription": {"text": row.text}, "help": {"text": row.requirement.citation},
        "properties": {"level": row.requirement.level, "party": row.party}} for row in used]}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def as_github(report: Report) -> str:
    """Return a line for each fault that is not accepted, as GitHub's workflow logs show annotations."""
    lines = []
    for group in report.open(DISAGREE):
        first = group.finding
        text = "%s (%s; id %s)" % (_sentence(group), place_of(first), first.key)
        lines.append("::%s title=%s::%s\n" % (_COMMANDS[first.verdict], _escaped(first.rule.id, ":,"), _escaped(text)))
    return "".join(lines)


def _escaped(text: str, more: str = "") -> str:
    for sign in "%\r\n" + more:
        text = text.replace(sign, "%%%02X" % ord(sign))
    return text


FORMATS: Dict[str, Callable[[Report], str]] = {
    "text": lambda report: "\n".join(report.lines()) + "\n",
    "json": lambda report: dumps(as_json(report)) + "\n",
    "junit": as_junit,
    "sarif": lambda report: dumps(as_sarif(report)) + "\n",
    "github": as_github,
}
"""The names of the forms, and the functions that make their texts."""
