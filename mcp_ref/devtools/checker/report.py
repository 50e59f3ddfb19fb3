"""The report of a checked trace: findings grouped by cause, the worst first, for people and for programs.

A group is a fault: one rule, one party, one member and one evidence, whatever the method. It has one stable id
(`Finding.key` says what is in it), however often it was seen. Findings that follow from it are counted under it and
nowhere else. The text puts the faults of a party against the same rule together.

A project accepts a fault with a reason by a line in a file: the id, blanks, the reason. ``#`` begins a comment::

    progress.increases:1a2b3c4d   the device counts down; see our ticket 12

Several reports are one document in each of these forms (`FORMATS`):

========  =======================================================================================================
name      form
========  =======================================================================================================
text      for people, an empty line between two
json      ``{"trace", "file", "note", "messages", "counts", "judged", "cannotTell", "findings", "unanswered", "noise",
          "stale"}``, see `as_json`; an array of these of several recordings
junit     an XML document of test suites: a suite for each recording, a test case for each rule that was judged
sarif     SARIF 2.1.0: rules with their citation and page; results with the line of the recording, and with the
          message, the HTTP exchange, the party and the revision as ``properties``
github    a line for each fault: ``::error file=...,line=...,title=...::text``, ``::warning``, ``::notice``
========  =======================================================================================================

`junit` and `sarif` write the documents of the examiner, too.
"""

import json
from textwrap import wrap
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import quote
from xml.etree import ElementTree

from ...jsontext import dumps
from ...wiretrace.text import plain, shorten
from .checker import Checker
from .findings import DISAGREE, VIOLATION, WARNING, Finding
from .observed import Message

WIDTH = 100
"""Columns of the text."""
ORDER = (VIOLATION, WARNING, DISAGREE)
"""Verdicts, the worst first."""
_FAULTS = 6
"""Faults of a party against the same rule that the text shows."""
_PLACES = 4
"""Places of a fault that the text shows."""
_SHORT = 72
"""Characters of a line that is no message."""


class AcceptError(ValueError):
    """A line of a file of accepted findings cannot be read; the text says which."""


class FaultPlaces(NamedTuple):
    """A fault, and every place where it was seen."""

    finding: Finding
    """The first one."""
    places: List[Finding]
    """The findings that are kept."""
    times: int
    """The number of all of them."""
    followers: List[Finding]
    """The findings that follow from it."""
    accepted: str
    """The reason why it is accepted; "" if it is not."""


class Report:
    """The result of a check.

    ``checker``: it has seen the whole trace. ``name``: the name of the trace, for people. ``accepted``: reasons by the
    ids of findings. ``file``: the path of the recording; "" for a live check. ``note``: what people should know of the
    recording, such as that it broke off.
    """

    def __init__(self, checker: Checker, name: str = "", accepted: Any = None, file: str = "", note: str = "") -> None:
        self.checker = checker
        self.name = name
        self.file = file
        self.note = note
        self._accepted: Dict[str, str] = dict(accepted or {})
        self.groups = _grouped(checker, self._accepted)

    @property
    def stale(self) -> List[str]:
        """The ids that are accepted and were not found."""
        found = {group.finding.key for group in self.groups}
        return [key for key in self._accepted if key not in found]

    def open(self, level: str = WARNING) -> List[FaultPlaces]:
        """Return the faults at or above a level (a verdict) that are not accepted."""
        wanted = ORDER[:ORDER.index(level) + 1]
        return [group for group in self.groups if group.finding.verdict in wanted and not group.accepted]

    def counts(self) -> Dict[str, int]:
        """Return the numbers of faults by verdict, of those that are accepted, and of findings that follow."""
        found = {verdict: sum(group.finding.verdict == verdict and not group.accepted for group in self.groups)
                 for verdict in ORDER}
        found["accepted"] = sum(bool(group.accepted) for group in self.groups)
        found["consequences"] = sum(len(group.followers) for group in self.groups)
        return found

    def rules(self) -> Tuple[int, Dict[str, Tuple[str, ...]]]:
        """Return how many rules had something to judge, and by id why others could not be told."""
        tallies = self.checker.tallies()
        judged = sum(1 for tally in tallies.values() if tally.judged)
        return judged, {id: tally.unsure for id, tally in tallies.items() if tally.unsure}

    def lines(self, unsure: bool = False) -> List[str]:
        """Return the report for people, at most `WIDTH` columns wide. ``unsure``: list what could not be told, too."""
        counts = self.counts()
        judged, missing = self.rules()
        said = [_many(counts[VIOLATION], "violation"), _many(counts[WARNING], "warning")]
        said += [_many(counts[DISAGREE], "place") + " where the texts disagree"] * bool(counts[DISAGREE])
        said += ["%d accepted" % counts["accepted"]] * bool(counts["accepted"])
        head = "%s%s, %s" % (self.name and self.name + ": ", _many(self.checker.messages, "message"), self._kinds())
        found = wrap(head, WIDTH) + wrap(self.note, WIDTH) + ["%s; %s judged, %d cannot tell%s" % (
            ", ".join(said), _many(judged, "rule"), len(missing), " (--unsure lists them)" * (bool(missing) > unsure))]
        for groups in _by_rule(self.groups):
            found += ["", *_block(groups)]
        found += self._left()
        if self.stale:
            found += ["", "accepted, but not found:"] + ["  " + key for key in self.stale]
        if unsure and missing:
            found += ["", "cannot tell:"]
            for id, reasons in missing.items():
                found += wrap("%s: %s" % (id, "; ".join(reasons)), WIDTH, initial_indent="  ", subsequent_indent="    ")
        return found

    def _left(self) -> List[str]:
        """Return the lines about requests without a response, and about lines that are no message."""
        found = []
        left = self.checker.unanswered()
        if left:
            found += ["", "%s without a response:" % _many(len(left), "request")]
            for each in left[:_FAULTS]:
                found += _indented("message %d, %s of the %s, %.3f s: %s" % (
                    each.index, named(each.id, each.method), each.sender, each.time, ending(each)))
            found += ["  and %d more" % (len(left) - _FAULTS)] * (len(left) > _FAULTS)
        total = sum(sum(each.noise.values()) for each in self.checker.connections.values())
        if self.checker.noise:
            found += ["", "%s that %s no message of the protocol:" % (
                _many(total, "line"), "is" if total == 1 else "are")]
            for each in self.checker.noise:
                found.append("  " + shorten("message %d, the %s, %.3f s: %s" % (
                    each.index, each.sender, each.time, noise_text(each)), WIDTH - 2))
            found += ["  ..."] * (total > len(self.checker.noise))
        return found

    def _kinds(self) -> str:
        """Return the transports and revisions that were seen."""
        seen = self.checker.seen
        transports = sorted({transport for transport, _ in seen if transport}) or ["transport not recorded"]
        revisions = sorted({name for _, name in seen if name}) or ["revision not seen"]
        return "%s over %s" % (", ".join(revisions), ", ".join(transports))


def ending(request: Message) -> str:
    """Return why a request has no response, as far as that was recorded."""
    connection = request.connection
    if connection.transport == "streamable-http" and request.exchange is not None and (
            request.exchange.ended is not None):
        return "its HTTP exchange ended without it"
    if connection.exit:
        return "the server's process ended (%s)" % connection.exit
    if connection.closed is not None:
        return "the %s closed the connection" % connection.closed_by if connection.closed_by else (
            "the connection was closed")
    return "the recording ends"


def noise_text(line: Message) -> str:
    """Return the beginning of a line that is no message."""
    text = line.event.text or str(line.event.message)
    return shorten(plain(text), _SHORT)


def _grouped(checker: Checker, accepted: Dict[str, str]) -> List[FaultPlaces]:
    roots: Dict[str, List[Finding]] = {}
    followers: Dict[str, List[Finding]] = {}
    for finding in checker.findings:
        if finding.cause is None:
            roots.setdefault(finding.key, []).append(finding)
        else:
            followers.setdefault(finding.cause.key, []).append(finding)
    groups = [FaultPlaces(places[0], places, max(len(places), checker.times(places[0])), followers.get(key, []),
                          accepted.get(key, "")) for key, places in roots.items()]
    return sorted(groups, key=lambda group: (
        bool(group.accepted), ORDER.index(group.finding.verdict), -group.times, group.finding.number))


def _by_rule(groups: List[FaultPlaces]) -> Iterable[List[FaultPlaces]]:
    """Return the groups, those together that are of one rule, party, verdict and reason for which they are accepted."""
    found: Dict[Any, List[FaultPlaces]] = {}
    for group in groups:
        first = group.finding
        found.setdefault((first.rule.id, first.party, first.verdict, group.accepted), []).append(group)
    return found.values()


def _block(groups: List[FaultPlaces]) -> List[str]:
    """Return the lines about the faults of one party against one rule."""
    first, accepted = groups[0].finding, groups[0].accepted
    times = sum(group.times for group in groups)
    title = "%s [%s]%s" % (first.rule.id, first.clause.level, "" if times == 1 else ", %d times" % times)
    by = "by the %s" % (first.party or "unknown party")
    if accepted:
        found = wrap("accepted: " + accepted, WIDTH, subsequent_indent="  ") + _indented("%s %s" % (title, by))
    else:
        found = ["%s %s: %s" % (first.verdict.upper(), by, title)]
    found += _indented(first.rule.text)
    for group in groups[:_FAULTS]:
        found += _fault(group)
    if len(groups) > _FAULTS:
        found += _indented("and %s, %s; --format json has all" % (
            _many(len(groups) - _FAULTS, "other fault"),
            _many(sum(group.times for group in groups[_FAULTS:]), "time")))
    for title, said in (("reading", first.rule.reading), ("the texts disagree", first.rule.disagree)):
        if said:
            found += _indented("%s: %s" % (title, said))
    followers = [each for group in groups for each in group.followers]
    if followers:
        ids = sorted({each.rule.id for each in followers})
        found += _indented("follows from it: %s (%s)" % (", ".join(ids), _many(len(followers), "finding")))
    return found + _cited(groups)


def _fault(group: FaultPlaces) -> List[str]:
    """Return the lines about one fault: its places, and its id."""
    found = []
    for place in group.places[:_PLACES]:
        found += _indented("%s: %s%s" % (place_of(place), place.evidence, place.where and " (%s)" % place.where))
    more = group.times - _PLACES
    if more > 0:
        found.append("    and %d more" % more)
    return found + ["    id %s" % group.finding.key]


def _cited(groups: List[FaultPlaces]) -> List[str]:
    """Return the clauses that were broken, each once, with their addresses: what is too long for a line is left out."""
    clauses = dict.fromkeys(place.clause for group in groups for place in group.places)
    found = []
    for each in clauses:
        found += _indented("[%s]" % each.citation)
        found += ["  " + url for url in (each.url, each.url.partition("#")[0]) if url and len(url) < WIDTH - 1][:1]
    return found


def _indented(text: str) -> List[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def place_of(finding: Finding) -> str:
    """Return where a finding is: the message, its id and method, the exchange, the time, the revision."""
    said = ["message %d" % finding.number] * bool(finding.number)
    said += ["HTTP exchange %d" % finding.exchange] * bool(finding.exchange)
    said += ["connection %s" % finding.connection] * bool(finding.connection)
    said += [named(finding.id, finding.method)] * (finding.id is not None or bool(finding.method))
    return "%s, %.3f s, %s" % (
        ", ".join(said) or "the connection", finding.time, finding.revision or "revision not known")


def named(id: Any, method: str) -> str:
    """Return the id of a message as JSON has it, behind #, and its method."""
    return " ".join(["#" + plain(shorten(json.dumps(id), _SHORT))] * (id is not None) + [plain(method)] * bool(method))


def _many(count: int, noun: str) -> str:
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def read_accepted(lines: Iterable[str]) -> Dict[str, str]:
    """Return the reasons by id from the lines of a file. Raises `AcceptError` for a line without a reason."""
    found = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if line and not line.startswith("#"):
            key, _, reason = line.partition(" ")
            if not reason.strip():
                raise AcceptError("line %d: after the id of the finding follows the reason why it is accepted" % number)
            found[key] = reason.strip()
    return found


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


def _group(group: FaultPlaces) -> Dict[str, Any]:
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


def _sentence(group: FaultPlaces) -> str:
    first = group.finding
    return "%s by the %s: %s: %s [%s]" % (
        first.verdict, first.party or "unknown party", first.rule.text.rstrip("."), first.evidence,
        first.clause.citation)


def as_sarif(reports: Sequence[Report]) -> str:
    """Return the reports as a SARIF 2.1.0 log with one run."""
    from ...version import __version__

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
