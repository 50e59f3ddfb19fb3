"""The report of an examination: faults with their clauses, and a table of what came of the requirements.

A fault that was found in several revisions is one. With a baseline, an earlier report as JSON, a fault that was known
then is marked, and only new ones count.

========  ======================================================================================================
form      what it is
========  ======================================================================================================
text      for people, at most 100 columns
json      ``{"server", "revisions", "faults"}`` (for a client ``"client"``), see `as_json`; a later `--baseline`
junit     a test suite for each revision, a test case for each requirement
sarif     SARIF 2.1.0: the faults as results
badge     ``{"schemaVersion", "label", "message", "color"}``, as the makers of badges read it
========  ======================================================================================================
"""

from textwrap import wrap
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ...requirements import Requirement, requirements
from ...jsontext import dumps
from ...wiretrace import CLIENT, SERVER
from ...wiretrace.text import plain, shorten
from ..checker.report import Case, junit, sarif
from .causes import ServerFault, like
from .examination import BROKEN, KEPT, NOT_EXAMINED, STATES, UNSURE, WARNED, Chapter
from .hostile import FRAGILE
from .scenes import load

if TYPE_CHECKING:
    from .hostile.told import HostileReport

WIDTH = 100
_MOST = 3
"""The faults with the same cause that are told."""
FORM = 1
"""The version of the report as JSON."""


class FaultGroup(NamedTuple):
    """A fault, and the revisions in which it was found."""

    id: str
    key: str
    level: str
    """broken or warned."""
    evidence: str
    where: str
    """The message or the exchange of the trace; "" if the scene has decided."""
    scene: str
    """The scene in which it was seen first; "" for the opening and the end."""
    revisions: List[str]
    requirement: Requirement
    known: bool
    """True if the baseline has it, and all that have the same cause."""
    others: List[ServerFault]
    """The faults that have the same cause."""

    @property
    def keys(self) -> List[str]:
        """The stable ids of all of them."""
        return list(dict.fromkeys([self.key, *(each.key for each in self.others)]))

    @property
    def also(self) -> List[str]:
        """The other requirements that the same cause breaks."""
        return list(dict.fromkeys(each.id for each in self.others if each.id != self.id))


class ExaminationReport:
    """The result of an examination of a server or a client, which ``server`` names. ``baseline``: the keys of faults
    that were known before. ``hostile``: what came of hostile input, if it was sent.
    """

    def __init__(self, chapters: List[Chapter], server: str = "", baseline: Optional[List[str]] = None,
                 hostile: "Optional[HostileReport]" = None) -> None:
        self.chapters = chapters
        self.hostile = hostile
        self.server = server
        self.party = chapters[0].party if chapters else SERVER
        self._baseline = frozenset(baseline or ())
        self.compares = baseline is not None
        self.rows = {chapter.revision.name: [] if chapter.refused else chapter.rows() for chapter in chapters}
        self.groups = self._grouped()

    def _grouped(self) -> List[FaultGroup]:
        found: List[FaultGroup] = []
        places: Dict[Tuple[str, str], FaultGroup] = {}
        for chapter in self.chapters:
            for fault in chapter.faults:
                requirement = _requirement(fault.id, chapter)
                marks = [(each.id, each.key) for each in fault.every]
                marks += [(like(each.id), each.scene) for each in fault.every if each.scene]
                group = next((places[mark] for mark in marks if mark in places), None)
                if group is None:
                    level = BROKEN if "MUST" in requirement.level else WARNED
                    group = FaultGroup(fault.id, fault.key, level, fault.evidence, fault.where, fault.scene, [],
                                       requirement, False, [])
                    found.append(group)
                places.update((mark, group) for mark in marks)
                if chapter.revision.name not in group.revisions:
                    group.revisions.append(chapter.revision.name)
                known = set(group.keys)
                group.others.extend(each for each in fault.every if each.key not in known)
        return sorted((each._replace(known=self._baseline.issuperset(each.keys)) for each in found),
                      key=lambda each: (each.level != BROKEN, each.id))

    @property
    def examined(self) -> bool:
        """True if at least one revision was."""
        return self.hostile is not None or any(not chapter.refused for chapter in self.chapters)

    def failed(self, level: str = BROKEN) -> bool:
        """Return True if there is a fault at or above a level (broken, warned, fragile) that the baseline does not
        have."""
        if level == FRAGILE and self.hostile is not None and self.hostile.groups:
            return True
        return any(not group.known and (group.level == BROKEN or level != BROKEN) for group in self.groups)

    def gone(self) -> List[str]:
        """Return the keys of the baseline that were not found again."""
        found = {key for group in self.groups for key in group.keys}
        return sorted(key for key in self._baseline if key not in found)

    def counts(self, revision: str) -> Dict[str, int]:
        """Return how many requirements of a revision are in which state."""
        found = {state: 0 for state in STATES}
        for row in self.rows[revision]:
            found[row.state] += 1
        return found

    def lines(self, whole: bool = False) -> List[str]:
        """Return the report for people. ``whole``: with every requirement that was not examined, or cannot be told."""
        broken, warned = (sum(group.level == level for group in self.groups) for level in (BROKEN, WARNED))
        name = self.server and shorten(plain(self.server), WIDTH - 38) + ": "
        found = ["%s%d broken, %d warned" % (name, broken, warned)]
        if self.hostile is not None:
            found[0] += ", %d fragile" % len(self.hostile.groups)
        if not self.examined:
            found = ["%sno revision is spoken%s" % (name, "" if self.party == CLIENT else (
                "; python3 -m mcp_ref doctor SERVER looks for the cause"))]
        if self.chapters:
            found += ["", "requirements of each revision, by what came of them (one fault may break several):"]
            found += ["%-12s%s" % ("revision", "".join("%14s" % state for state in STATES))]
        for chapter in self.chapters:
            name = chapter.revision.name
            if chapter.refused:
                found += wrap("%-12snot spoken: %s" % (name, plain(chapter.refused)), WIDTH,
                              subsequent_indent=" " * 12)
                continue
            counts = self.counts(name)
            found.append("%-12s%s" % (name, "".join("%14d" % counts[state] for state in STATES)))
        if self.chapters and self.examined and not self.groups:
            found += ["", "no fault was found: what was examined is kept"]
        for group in self.groups:
            found += ["", *_block(group, self.party)]
        if self.hostile is not None:
            found += self.hostile.lines(WIDTH)
        found += self._unplayed()
        if self.groups:
            found += ["", "the messages: the line behind again, with --trace=FILE; then ladder FILE draws them"]
        if self.compares and self.gone():
            found += ["", "in the baseline, and not found again:"] + ["  " + key for key in self.gone()]
        if whole:
            found += self._left()
        return found

    def _unplayed(self) -> List[str]:
        """Return the lines about scenes that were not played, by the reason."""
        reasons: Dict[str, Dict[str, None]] = {}
        for chapter in self.chapters:
            for scene, why in chapter.scenes.items():
                if why:
                    reasons.setdefault(why, {})[scene] = None
        found = ["", "not played:"] if reasons else []
        for why, scenes in reasons.items():
            found += wrap("%s (%s)" % (plain(why), ", ".join(scenes)), WIDTH, initial_indent="  ",
                          subsequent_indent="    ", break_on_hyphens=False)
        return found

    def _left(self) -> List[str]:
        found: List[str] = []
        for state in (UNSURE, NOT_EXAMINED):
            reasons: Dict[str, Dict[str, List[str]]] = {}
            for name, rows in self.rows.items():
                for row in rows:
                    if row.state == state:
                        reasons.setdefault(row.said, {}).setdefault(row.requirement.id, []).append(name)
            for said, ids in reasons.items():
                found += ["", *wrap("%s: %s" % (state, plain(said)), WIDTH)]
                found += wrap(", ".join(ids), WIDTH, initial_indent="  ", subsequent_indent="  ",
                              break_on_hyphens=False)
        return found


def _requirement(id: str, chapter: Chapter) -> Requirement:
    from ..checker.rules import load as load_rules

    found = requirements().get(id)
    return (found if found is not None else load_rules()[id].requirement).stated_in(chapter.revision)


def _block(group: FaultGroup, party: str) -> List[str]:
    title = "%s: %s [%s]%s" % (group.level.upper(), group.id, group.requirement.level, ", known" * group.known)
    scene = load(party).get(group.scene)
    body = [", ".join(group.revisions), plain(": ".join(filter(None, (group.where, group.evidence)))),
            _same(group), "scene %s: %s" % (scene.name, scene.text) if scene is not None else "",
            "[%s]" % group.requirement.citation, group.requirement.url, "id " + group.key]
    if group.where:  # the checker has found it, and says what it wants
        body.insert(2, _wanted(group.id))
    peer = "--client CLIENT" if party == CLIENT else "SERVER"
    body[-1] = "again: examine %s --revision %s --only %s" % (
        peer, group.revisions[0], group.key if scene is None else scene.name)
    body.append("more: explain " + group.key)
    found = [title]
    for text in filter(None, body):
        found += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False,
                      break_long_words=False)
    return found


def _same(group: FaultGroup) -> str:
    """Return a line about the faults with the same cause; "" if there are none."""
    said = list(dict.fromkeys("%s: %s" % (each.id, each.evidence) for each in group.others))
    more = " (and %d more)" % (len(said) - _MOST) if len(said) > _MOST else ""
    return "the same cause: %s%s" % ("; ".join(said[:_MOST]), more) if said else ""


def _wanted(id: str) -> str:
    """Return the rule of the checker for a requirement, in a sentence; "" if there is none."""
    from ..checker.rules import load as load_rules

    found = load_rules().get(id)
    return "" if found is None else "wanted: " + found.text


def as_json(report: ExaminationReport) -> Dict[str, Any]:
    """Return the report as a JSON object.

    ``revisions``: by name an object of ``spoken`` (or null and ``why``), ``totals``, ``scenes`` (null or why it was not
    played) and ``requirements`` (state, and what is said of it). ``faults``: ``key``, ``id``, ``level``, ``state``,
    ``evidence``, ``where``, ``scene``, ``revisions``, ``citation``, ``url``, ``known``, and of what has the same cause:
    ``also``, the other requirements, and ``keys``, all keys. ``gone``: keys of the baseline.
    """
    return {
        "examination": FORM, report.party: report.server or None,
        "revisions": {chapter.revision.name: {
            "spoken": not chapter.refused, "why": chapter.refused or None,
            "totals": report.counts(chapter.revision.name),
            "scenes": {name: why or None for name, why in chapter.scenes.items()},
            "requirements": {row.requirement.id: {"state": row.state, "said": row.said or None}
                             for row in report.rows[chapter.revision.name]},
        } for chapter in report.chapters},
        "faults": [{"key": group.key, "id": group.id, "level": group.requirement.level, "state": group.level,
                    "evidence": group.evidence, "where": group.where or None, "scene": group.scene or None,
                    "revisions": group.revisions,
                    "citation": group.requirement.citation, "url": group.requirement.url or None,
                    "known": group.known, "also": group.also, "keys": group.keys} for group in report.groups],
        "gone": report.gone(), "hostile": None if report.hostile is None else report.hostile.as_json(),
    }


def as_junit(report: ExaminationReport) -> str:
    """Return the report as a JUnit document. What is fragile is told, and no failure."""
    suites: List[Tuple[Dict[str, str], List[Case]]] = []
    for chapter in report.chapters:
        name = chapter.revision.name
        counts = report.counts(name)
        suites.append(({"name": name, "tests": str(len(report.rows[name])), "failures": str(counts[BROKEN]),
                        "skipped": str(counts[UNSURE] + counts[NOT_EXAMINED])},
                       [(row.requirement.page, row.requirement.id, _told(row.state, plain(row.said)))
                        for row in report.rows[name]]))
    if report.hostile is not None:
        results = report.hostile.results
        suites.append(({"name": "hostile, seed %d" % report.hostile.seed, "failures": "0", "skipped": "0",
                        "tests": str(len(results))}, [
            (result.revision.name, result.name, [("system-out", {}, plain("\n".join(
                "%s %d: %s: %s" % (FRAGILE, each.number, each.kind, each.evidence)
                for each in result.weaknesses)))] if result.weaknesses else []) for result in results]))
    return junit(suites, name="mcp_ref examine " + plain(report.server))


def _told(state: str, said: str) -> List[Tuple[str, Dict[str, str], str]]:
    """Return what the test case of a requirement in this state has."""
    if state == BROKEN:
        return [("failure", {"message": said}, "")]
    if state in (UNSURE, NOT_EXAMINED):
        return [("skipped", {"message": "%s: %s" % (state, said)}, "")]
    return [("system-out", {}, "warned: " + said)] if state == WARNED else []


def as_sarif(report: ExaminationReport) -> str:
    """Return the faults as a document of SARIF 2.1.0."""
    rules = {group.id: group.requirement for group in report.groups}
    weak = [] if report.hostile is None else report.hostile.groups
    place = [{"logicalLocations": [{"fullyQualifiedName": report.server or report.party}]}]
    return sarif({"name": "mcp_ref examine", "rules": [
        {"id": id, "shortDescription": {"text": "%s %s" % (row.level, row.citation)},
         **({"helpUri": row.url} if row.url else {})} for id, row in rules.items()] + [
        {"id": id, "shortDescription": {"text": "hostile input, no violation"}}
        for id in dict.fromkeys(group.attack for group in weak)]}, [{
            "ruleId": group.id, "level": "error" if group.level == BROKEN else "warning",
            "message": {"text": ": ".join(filter(None, (group.where, group.evidence)))},
            "partialFingerprints": {"mcp_ref/key": group.key},
            "properties": {"revisions": group.revisions, report.party: report.server},
            "locations": place,
        } for group in report.groups] + [{
            "ruleId": group.attack, "level": "note", "locations": place,
            "message": {"text": "%s: %s" % (group.what, group.found[0][1].evidence)},
            "partialFingerprints": {"mcp_ref/key": "%s:%s" % (group.attack, group.kind)},
        } for group in weak])


def as_badge(report: ExaminationReport) -> str:
    """Return a summary as JSON, as the makers of badges read it."""
    broken = sum(group.level == BROKEN for group in report.groups)
    spoken = sum(not chapter.refused for chapter in report.chapters)
    message = "%d broken" % broken if broken else "%d revisions kept" % spoken
    return dumps({"schemaVersion": 1, "label": "MCP", "message": message if spoken else "not spoken",
                  "color": "red" if broken or not spoken else "brightgreen"}) + "\n"


FORMS: Dict[str, Callable[[ExaminationReport], str]] = {
    "text": lambda report: "\n".join(report.lines()) + "\n",
    "json": lambda report: dumps(as_json(report)) + "\n",
    "junit": as_junit, "sarif": as_sarif, "badge": as_badge,
}
__all__ = ["FORM", "FORMS", "FaultGroup", "KEPT", "ExaminationReport", "as_json"]
