"""The report of a checked trace: findings grouped by cause, the worst first, as text for people.

A group is a fault: one rule, one party, one method and one member. It has one stable id (`Finding.key`), however often
it was seen. Findings that follow from it are counted under it and nowhere else.

A project accepts a fault with a reason by a line in a file: the id, blanks, the reason. ``#`` begins a comment::

    progress.increases:1a2b3c4d   the device counts down; see our ticket 12
"""

from textwrap import wrap
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

from .checker import Checker
from .findings import DISAGREE, VIOLATION, WARNING, Finding

WIDTH = 100
"""Columns of the text."""
ORDER = (VIOLATION, WARNING, DISAGREE)
"""Verdicts, the worst first."""
_SHOWN = 6


class AcceptError(ValueError):
    """A line of a file of accepted findings cannot be read; the text says which."""


class Group(NamedTuple):
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
    ids of findings.
    """

    def __init__(self, checker: Checker, name: str = "", accepted: Any = None) -> None:
        self.checker = checker
        self.name = name
        self._accepted: Dict[str, str] = dict(accepted or {})
        self.groups = _grouped(checker, self._accepted)

    @property
    def stale(self) -> List[str]:
        """The ids that are accepted and were not found."""
        found = {group.finding.key for group in self.groups}
        return [key for key in self._accepted if key not in found]

    def open(self, level: str = WARNING) -> List[Group]:
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
        found = wrap(head, WIDTH) + ["%s; %s judged, %d cannot tell" % (
            ", ".join(said), _many(judged, "rule"), len(missing))]
        for group in self.groups:
            found += ["", *_group_lines(group)]
        if self.stale:
            found += ["", "accepted, but not found:"] + ["  " + key for key in self.stale]
        if unsure and missing:
            found += ["", "cannot tell:"]
            for id, reasons in missing.items():
                found += wrap("%s: %s" % (id, "; ".join(reasons)), WIDTH, initial_indent="  ", subsequent_indent="    ")
        return found

    def _kinds(self) -> str:
        """Return the transports and revisions that were seen."""
        seen = self.checker.seen
        transports = sorted({transport for transport, _ in seen if transport}) or ["transport not recorded"]
        revisions = sorted({name for _, name in seen if name}) or ["revision not seen"]
        return "%s over %s" % (", ".join(revisions), ", ".join(transports))


def _grouped(checker: Checker, accepted: Dict[str, str]) -> List[Group]:
    roots: Dict[str, List[Finding]] = {}
    followers: Dict[str, List[Finding]] = {}
    for finding in checker.findings:
        if finding.cause is None:
            roots.setdefault(finding.key, []).append(finding)
        else:
            followers.setdefault(finding.cause.key, []).append(finding)
    groups = []
    for key, places in roots.items():
        count = len(places)
        if count >= checker.bounds.findings:  # the others were counted only
            count = max(count, checker.counted(places[0].rule, places[0].party))
        groups.append(Group(places[0], places, count, followers.get(key, []), accepted.get(key, "")))
    return sorted(groups, key=lambda group: (
        bool(group.accepted), ORDER.index(group.finding.verdict), -group.times, group.finding.number))


def _group_lines(group: Group) -> List[str]:
    first = group.finding
    title = "%s by the %s" % (first.verdict.upper(), first.party or "unknown party")
    times = "" if group.times == 1 else ", %d times" % group.times
    found = ["%s: %s [%s]%s" % (title, first.rule.id, first.rule.requirement.level, times)]
    found += _indented(first.rule.text)
    for place in group.places[:_SHOWN]:
        found += _indented("%s: %s%s" % (place_of(place), place.evidence, place.where and " (%s)" % place.where))
    if group.times > _SHOWN:
        found += _indented("and %d more" % (group.times - _SHOWN))
    if first.rule.reading:
        found += _indented("reading: " + first.rule.reading)
    if first.rule.disagree:
        found += _indented("the texts disagree: " + first.rule.disagree)
    if group.followers:
        ids = sorted({each.rule.id for each in group.followers})
        found += _indented("follows from it: %s (%s)" % (", ".join(ids), _many(len(group.followers), "finding")))
    if group.accepted:
        found += _indented("accepted: " + group.accepted)
    found += _indented("[%s]  id %s" % (first.rule.requirement.citation, first.key))
    return found


def _indented(text: str) -> List[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def place_of(finding: Finding) -> str:
    """Return where a finding is: the message, its id and method, the exchange, the time, the revision."""
    said = ["message %d" % finding.number] * bool(finding.number)
    said += ["HTTP exchange %d" % finding.exchange] * bool(finding.exchange)
    said += ["connection %s" % finding.connection] * bool(finding.connection)
    named = " ".join(["#%s" % finding.id] * (finding.id is not None) + [finding.method] * bool(finding.method))
    said += [named] * bool(named)
    return "%s, %.3f s, %s" % (
        ", ".join(said) or "the connection", finding.time, finding.revision or "revision not known")


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
