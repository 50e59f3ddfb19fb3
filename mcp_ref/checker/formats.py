"""Reports for programs: JSON, JUnit, SARIF, and the annotations of GitHub's workflow logs. Several are one document.

========  =======================================================================================================
name      form
========  =======================================================================================================
text      for people (`mcp_ref.checker.report`), an empty line between two
json      ``{"trace", "file", "note", "messages", "counts", "judged", "cannotTell", "findings", "unanswered", "noise",
          "stale"}``, see `as_json`; an array of these of several recordings
junit     an XML document of test suites: a suite for each recording, a test case for each rule that was judged
sarif     SARIF 2.1.0: rules with their citation and page; results with the line of the recording, and with the
          message, the HTTP exchange, the party and the revision as ``properties``
github    a line for each fault: ``::error file=...,line=...,title=...::text``, ``::warning``, ``::notice``
========  =======================================================================================================
"""

from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple
from urllib.parse import quote
from xml.etree import ElementTree

from ..jsontext import dumps
from .findings import DISAGREE, VIOLATION, WARNING, Finding
from .report import Group, Report, ending, noise_text, place_of

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {VIOLATION: "error", WARNING: "warning", DISAGREE: "note"}
_COMMANDS = {VIOLATION: "error", WARNING: "warning", DISAGREE: "notice"}


def as_json(report: Report) -> Dict[str, Any]:
    """Return the report as a JSON object.

    ``file``: null for a live check. ``note``: null, or what is to be known of the recording. ``counts``: faults by
    verdict, ``accepted``, ``consequences``. ``judged``: the number of rules that had something to judge.
    ``cannotTell``: reasons by the id of the rule. ``findings``: the faults, the worst first; each has ``key`` (the
    stable id), ``rule``, ``also``, ``level``, ``verdict``, ``party``, ``text``, ``citation``, ``url``, ``reading``,
    ``disagreement``, ``accepted`` (null or the reason), ``count``, ``places`` and ``consequences``. A place has
    ``message``, ``line`` (of the file), ``exchange``, ``connection``, ``time``, ``id``, ``method``, ``revision``,
    ``citation`` (in this revision), ``evidence``, ``where``. ``unanswered``: requests without a response, each of
    ``message``, ``line``, ``from``, ``id``, ``method``, ``time``, ``why``. ``noise``: the first lines that are no
    message, each of ``message``, ``line``, ``from``, ``time``, ``text``.
    """
    judged, missing = report.rules()
    checker = report.checker
    return {
        "trace": report.name, "file": report.file or None, "note": report.note or None, "messages": checker.messages,
        "counts": report.counts(), "judged": judged,
        "cannotTell": {id: list(reasons) for id, reasons in missing.items()},
        "findings": [_group(group) for group in report.groups],
        "unanswered": [{"message": each.index, "line": each.line or None, "from": each.sender, "id": each.id,
                        "method": each.method, "time": each.time, "why": ending(each)}
                       for each in checker.unanswered()],
        "noise": [{"message": each.index, "line": each.line or None, "from": each.sender, "time": each.time,
                   "text": noise_text(each)} for each in checker.noise],
        "stale": report.stale,
    }


def _group(group: Group) -> Dict[str, Any]:
    first = group.finding
    return {
        "key": first.key, "rule": first.rule.id, "also": list(first.rule.also), "level": first.clause.level,
        "verdict": first.verdict, "party": first.party, "text": first.rule.text,
        "citation": first.clause.citation, "url": first.clause.url or None, "reading": first.rule.reading or None,
        "disagreement": first.rule.disagree or None, "accepted": group.accepted or None, "count": group.times,
        "places": [_place(each) for each in group.places],
        "consequences": [{"rule": each.rule.id, **_place(each)} for each in group.followers],
    }


def _place(finding: Finding) -> Dict[str, Any]:
    return {
        "message": finding.number or None, "line": finding.line or None, "exchange": finding.exchange or None,
        "connection": finding.connection or None, "time": finding.time, "id": finding.id,
        "method": finding.method or None, "revision": finding.revision and finding.revision.name,
        "citation": finding.clause.citation, "evidence": finding.evidence, "where": finding.where or None,
    }


Case = Tuple[str, str, Sequence[Tuple[str, Dict[str, str], str]]]
"""A test case of JUnit: its class, its name, and what it has: tags with their attributes and their text."""


def junit(suites: Iterable[Tuple[Dict[str, str], Iterable[Case]]], name: Optional[str] = None) -> str:
    """Return a JUnit document of suites, each with its attributes and cases. ``name``: that of the whole."""
    root = ElementTree.Element("testsuites", {} if name is None else {"name": name})
    for members, cases in suites:
        suite = ElementTree.SubElement(root, "testsuite", members)
        for classname, name, parts in cases:
            case = ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": name})
            for tag, said, text in parts:
                ElementTree.SubElement(case, tag, said).text = text
    for element in root.iter():
        element.text = element.text and _xml(element.text)
        element.attrib.update((name, _xml(value)) for name, value in element.attrib.items())
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Return a text without the characters that XML 1.0 cannot have."""
    return "".join(sign if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or "\ue000" <= sign <= "\ufffd"
                   or sign > "\uffff" else "\ufffd" for sign in text)


def sarif(driver: Dict[str, Any], results: Sequence[Dict[str, Any]]) -> str:
    """Return a SARIF 2.1.0 log with one run, of a tool's description with its rules, and of its results."""
    return dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [
        {"tool": {"driver": driver}, "results": results}]}) + "\n"


def as_junit(reports: Sequence[Report]) -> str:
    """Return the reports as a JUnit document."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + junit(map(_suite, reports))


def _suite(report: Report) -> Tuple[Dict[str, str], List[Case]]:
    judged = {id: tally for id, tally in report.checker.tallies().items() if tally.judged or tally.unsure}
    parts: Dict[str, List[Tuple[str, Dict[str, str], str]]] = {
        id: [] if tally.judged else [("skipped", {"message": "; ".join(tally.unsure)}, "")]
        for id, tally in judged.items()}
    for group in report.groups:
        if not group.accepted:
            parts[group.finding.rule.id].append((
                "failure", {"type": group.finding.verdict, "message": _sentence(group)},
                "\n".join("%s: %s" % (place_of(each), each.evidence) for each in group.places)))
    return {"name": report.name or "trace", "tests": str(len(judged)),
            "failures": str(len({group.finding.rule.id for group in report.open()})), "errors": "0",
            "skipped": str(sum(not tally.judged for tally in judged.values()))}, [
        ("mcp." + id.partition(".")[0], id, each) for id, each in parts.items()]


def _sentence(group: Group) -> str:
    first = group.finding
    return "%s by the %s: %s: %s [%s]" % (
        first.verdict, first.party or "unknown party", first.rule.text.rstrip("."), first.evidence,
        first.clause.citation)


def as_sarif(reports: Sequence[Report]) -> str:
    """Return the reports as a SARIF 2.1.0 log with one run."""
    from ..version import __version__

    groups = [(report, group) for report in reports for group in report.groups]
    used = list(dict.fromkeys(group.finding.rule for _, group in groups))
    places = {row.id: place for place, row in enumerate(used)}
    results = []
    for report, group in groups:
        first = group.finding
        result: Dict[str, Any] = {
            "ruleId": first.rule.id, "ruleIndex": places[first.rule.id], "level": _LEVELS[first.verdict],
            "message": {"text": "%s (%s)" % (_sentence(group), place_of(first))},
            "partialFingerprints": {"mcpRefKey/v1": first.key},
            "locations": [_location(report, first)],
            "occurrenceCount": group.times,
            "properties": {"trace": report.name, "message": first.number or None, "exchange": first.exchange or None,
                           "party": first.party, "method": first.method or None,
                           "revision": first.revision and first.revision.name, "url": first.clause.url or None},
        }
        if group.accepted:
            result["suppressions"] = [{"kind": "external", "justification": group.accepted}]
        results.append(result)
    driver = {"name": "mcp_ref", "version": __version__, "rules": [{
        "id": row.id, "shortDescription": {"text": row.text}, "help": {"text": row.requirement.citation},
        "properties": {"level": row.requirement.level, "party": row.party}} for row in used]}
    return sarif(driver, results)


def _location(report: Report, finding: Finding) -> Dict[str, Any]:
    """Return the place in the file; of a live check, which has none, the place in the conversation."""
    if not report.file:
        return {"logicalLocations": [{"fullyQualifiedName": "%s: %s" % (report.name, place_of(finding))}]}
    place: Dict[str, Any] = {"artifactLocation": {"uri": quote(report.file.replace("\\", "/"), safe="/:")}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {"physicalLocation": place}


def as_github(reports: Sequence[Report]) -> str:
    """Return a line for each fault that is not accepted, as GitHub's workflow logs show annotations."""
    lines = []
    for report in reports:
        for group in report.open(DISAGREE):
            first = group.finding
            where = [("file", report.file)] * bool(report.file)
            where += [("line", str(first.line))] * bool(report.file and first.line)
            members = ",".join("%s=%s" % (name, _escaped(value, ":,")) for name, value in [
                *where, ("title", first.rule.id)])
            text = "%s (%s; id %s)" % (_sentence(group), place_of(first), first.key)
            lines.append("::%s %s::%s\n" % (_COMMANDS[first.verdict], members, _escaped(text)))
    return "".join(lines)


def _escaped(text: str, more: str = "") -> str:
    for sign in "%\r\n" + more:
        text = text.replace(sign, "%%%02X" % ord(sign))
    return text


def _json(reports: Sequence[Report]) -> str:
    return dumps([as_json(each) for each in reports] if len(reports) != 1 else as_json(reports[0])) + "\n"


FORMATS: Dict[str, Callable[[Sequence[Report]], str]] = {
    "text": lambda reports: "\n\n".join("\n".join(report.lines()) for report in reports) + "\n",
    "json": _json,
    "junit": as_junit,
    "sarif": as_sarif,
    "github": as_github,
}
"""The names of the forms, and the functions that make one text of reports."""
