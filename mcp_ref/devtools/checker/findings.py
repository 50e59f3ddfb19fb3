"""The findings of a checker: it asks the rules of each moment, keeps what they answer, and finds the cause of each.

`mcp_ref.devtools.checker.checker` makes the moments of events. Of findings that follow from each other the first is the
root; the others name it (`Finding.cause`) and are not counted.
"""

import re
from functools import lru_cache
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from ...requirements import Requirement, requirements
from ...methods import known_since
from ...revisions import Revision
from ...wiretrace.text import plain, shorten
from . import rules
from .bounds import Bounds, Forgetful
from .course import ADDED
from .observed import Message, ObservedConnection, ObservedEvent, ObservedExchange
from .rules import KEPT, Broken, CannotTell, Rule, Verdict

VIOLATION, WARNING, DISAGREE = "violation", "warning", "disagreement"

_EVIDENCE = 200
"""Characters of the evidence of a finding: there may be ids, methods and other text of a peer in it."""
_STATUS = r"(?<![#.\w-])[1-5]\d\d(?= (?:to|at|after|for|with|instead|was)\b)|(?<=with )[1-5]\d\d\b"
_LASTING = re.compile(r"-32\d{3}\b|\b20\d\d-\d\d-\d\d\b|%s|(\*\*\*[0-9a-f]{8}!?|[\w-]*\d[\w-]*(?:[.:]\w+)*)|[\w-]+"
                      % _STATUS)
"""Codes of errors, revisions and statuses of HTTP, which are the same in every session; as the group, masks and
words with digits, which may be others; and other words, so that the search goes on after each of them."""


class Finding(NamedTuple):
    """A rule that was broken, at one place of a trace."""

    rule: Rule
    verdict: str
    """``violation`` for a MUST, ``warning`` for a SHOULD, ``disagreement`` where page and schema differ."""
    party: str
    """client, server, recorder, proxy or environment."""
    evidence: str
    where: str
    """The member or the header field; "" if there is none."""
    number: int
    """The number of the message, 0 if it is about none."""
    exchange: int
    """The number of the HTTP exchange, 0 if it is about none."""
    connection: str
    time: float
    id: Any
    """The id of the message, None if it has none."""
    method: str
    revision: Optional[Revision]
    """The revision in force, None if it is not known."""
    line: int = 0
    """The line of the recording, 0 if it is not known."""
    cause: "Optional[Finding]" = None
    """The finding that this one follows from; None for a root cause."""

    @property
    def clause(self) -> Requirement:
        """The requirement as the revision in force states it: its page and heading there."""
        for row in (self.rule.requirement, *(requirements()[each] for each in self.rule.also)):
            if self.revision is not None and self.revision in row.stated:
                return row.stated_in(self.revision)
        return self.rule.requirement

    @property
    def key(self) -> str:
        """The stable id: that of the rule, a colon, and eight hexadecimal digits.

        They stand for the party, the member and the evidence, without what differs from one session to the next:
        masks, and words with digits in them, such as ids and times (`lasting`). So the same fault has the same id in
        every trace, whatever the method and however often, and another fault against the same rule has another one.
        """
        from hashlib import sha256

        said = "\n".join((self.rule.id, self.party, lasting(self.where), lasting(self.evidence)))
        return "%s:%s" % (self.rule.id, sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:8])


def lasting(text: str) -> str:
    """Return what of an evidence is the same in every session: words with digits are 0, but codes and revisions.

    >>> lasting("no request has the id req-17, error -32602")
    'no request has the id 0, error -32602'
    """
    return _LASTING.sub(lambda found: "0" if found.group(1) else found.group(), text)


class RuleTally(NamedTuple):
    """The result of one rule."""

    judged: int
    """The number of times that it was kept or broken."""
    broken: int
    """The number of times that it was broken, causes and consequences."""
    unsure: Tuple[str, ...]
    """The reasons why it could not be told, each once."""


class _RuleGroup:
    """The rules that are asked together, and what they have answered last, if none was broken.

    One message is much like the next, and so are the answers: they are compared as a whole, and counted once.
    """

    __slots__ = ("facts", "known", "rows", "decides", "judged", "usual", "times")

    def __init__(self, facts: Optional[rules.Facts], rows: Tuple[Rule, ...], decides: Tuple[rules.Decide, ...]) -> None:
        self.facts = facts
        self.known: Any = None
        """The facts to which the usual answers belong; None if there are none."""
        self.rows = rows
        self.decides = decides
        self.judged = [0] * len(rows)
        """The number of times that each rule was kept or broken."""
        self.usual: List[Verdict] = []
        self.times = 0
        """The number of times that the usual answers were given and are not counted yet."""

    def settle(self) -> None:
        """Add what is not counted yet."""
        for place, verdict in enumerate(self.usual) if self.times else ():
            if verdict is KEPT:
                self.judged[place] += self.times
        self.times = 0


_Table = Tuple[List[_RuleGroup], Tuple[Callable[[Any], None], ...]]
"""The rules to be asked, by the facts that they look at; and the functions of observers."""


class Verdicts:
    """The rules that a checker asks, and what they have answered."""

    def __init__(self, bounds: Bounds, recorded: FrozenSet[str], binding: bool = False) -> None:
        self._bounds = bounds
        self._recorded = recorded
        self._binding = binding
        self.findings: List[Finding] = []
        """The findings that are kept, in the order in which they were found: `Bounds.findings` of a rule and party."""
        self.fresh: List[Finding] = []
        """The findings since the list was replaced, kept or not."""
        self._tables: Dict[Tuple[str, str, Optional[int], bool, int], _Table] = {}
        self._kept: Dict[Tuple[str, str], int] = {}
        self._faults: Dict[Tuple[str, str], Dict[str, int]] = {}
        """The number of times that each fault was seen, by its key, of a rule and a party."""
        self._judged: Dict[str, int] = {}
        """The number of times that each rule was kept or broken; those of the tables are added by `_settle`."""
        self._broken: Dict[str, int] = {}
        self._unsure: Dict[str, Dict[str, None]] = {}
        self._subjects: "Forgetful[Any, List[Finding]]" = Forgetful(bounds.entries)

    def recorded(self, names: FrozenSet[str]) -> None:
        """Take what the trace has recorded, as its header says: rules that need more are not asked."""
        self._recorded = names
        self._clear()

    def _clear(self) -> None:
        self._settle()
        self._tables.clear()

    def _settle(self) -> None:
        for groups, _ in self._tables.values():
            for group in groups:
                group.settle()
                for place, row in enumerate(group.rows):
                    self._judged[row.id] = self._judged.get(row.id, 0) + group.judged[place]
                    group.judged[place] = 0

    def tallies(self, applies: Callable[[Rule], bool]) -> Dict[str, RuleTally]:
        """Return what came of each rule, by id. A rule that never applied has zeros.

        ``applies``: tells of a rule that was not asked, because too little was recorded, whether it could have been.
        """
        self._settle()
        found = {}
        for row in rules.load().values():
            unsure = list(self._unsure.get(row.id, ()))
            if not row.needs <= self._recorded and applies(row):
                unsure.append("not recorded: " + ", ".join(sorted(row.needs - self._recorded)))
            found[row.id] = RuleTally(self._judged.get(row.id, 0), self._broken.get(row.id, 0), tuple(unsure))
        return found

    def times(self, finding: Finding) -> int:
        """Return how often a fault was seen, kept or not; 0 if there are more faults than are counted."""
        return self._faults.get((finding.rule.id, finding.party), {}).get(finding.key, 0)

    def judge(
        self, moment: str, method: str, where: Optional[Revision], subject: Any, connection: ObservedConnection,
        seen: Optional[int] = None,
    ) -> None:
        """Ask the rules of a moment about its subject, and keep what they answer.

        ``seen``: the bits of `rules.circumstances` of the subject, if they are known.
        """
        beside = type(subject) is ObservedExchange and not subject.is_mcp
        key = (moment, method, None if where is None else where.rank, beside,
               rules.circumstances(subject) if seen is None else seen)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._table(*key)
        groups, notes = table
        broken: List[Tuple[Rule, Any]] = []
        for group in groups:
            if group.facts is not None:
                facts = group.facts(subject)
                if facts == group.known:
                    group.times += 1
                    continue
                group.known = facts
            said = [decide(subject) for decide in group.decides]
            if said == group.usual:
                group.times += 1
            else:
                broken += self._count(group, said)
        found: List[Tuple[Finding, List[Any]]] = []
        if broken:
            found = self._found(broken, subject, where, connection)
        for note in notes:
            note(subject)
        if found:
            self._add([finding for finding, _ in found], [places for _, places in found])

    def _found(self, broken: List[Tuple[Rule, Any]], subject: Any, where: Optional[Revision],
               connection: ObservedConnection) -> List[Tuple[Finding, List[Any]]]:
        """Return the findings of rules that were broken, each with where its causes are looked for."""
        found, order = [], list(rules.load())
        for row, verdict in sorted(broken, key=lambda one: order.index(one[0].id)):
            for each in verdict if isinstance(verdict, list) else [verdict]:
                made = each if isinstance(each, Broken) else Broken(str(each))
                finding = self._finding(row, made, subject, where, connection)
                found.append((finding, self._places(
                    finding, made.at or subject if isinstance(subject, ObservedConnection) else subject)))
        return found

    def _count(self, group: _RuleGroup, said: List[Verdict]) -> List[Tuple[Rule, Any]]:
        """Count answers that are not the usual ones, and return those that are faults."""
        group.settle()
        broken: List[Tuple[Rule, Any]] = []
        for place, (verdict, row) in enumerate(zip(said, group.rows)):
            if isinstance(verdict, CannotTell):
                reasons = self._unsure.setdefault(row.id, {})
                if len(reasons) < self._bounds.findings:
                    reasons[verdict.missing] = None
            elif verdict is not None:
                group.judged[place] += 1
                if verdict is not KEPT:
                    broken.append((row, verdict))
        group.usual = [] if broken else said
        if broken:
            group.known = None
        return broken

    def _table(self, moment: str, method: str, rank: Optional[int], beside: bool, seen: int) -> _Table:
        known = not method or bool(known_since(method)) or method in ADDED
        if not known and len(self._tables) > self._bounds.entries:
            self._clear()  # a peer that makes up methods
        asked, notes = _asked(moment, method if known else "unknown", rank, beside, seen, self._recorded, self._binding)
        return [_RuleGroup(*group) for group in asked], notes

    @staticmethod
    def _finding(row: Rule, made: Broken, subject: Any, where: Optional[Revision],
                 connection: ObservedConnection) -> Finding:
        at = made.at or (subject[0] if isinstance(subject, list) and subject else subject)
        message = at if isinstance(at, Message) else at.message if isinstance(at, ObservedEvent) else None
        exchange = at if isinstance(at, ObservedExchange) else getattr(at, "exchange", None)
        party = made.party or (row.party if row.party != rules.SENDER else getattr(message or at, "sender", ""))
        asked = exchange.request if exchange is not None else None
        found = Finding(
            row, "", party, shorten(plain(made.evidence), _EVIDENCE), made.where, message.index if message else 0,
            exchange.number if exchange is not None else 0, connection.name,
            message.time if message else exchange.opened if exchange is not None else connection.last_time,
            message.id if message else None, message.method if message else asked.method if asked else "",
            message.revision if message else where,
            message.line if message else exchange.line if exchange is not None else connection.line)
        return found._replace(
            verdict=DISAGREE if row.disagree else VIOLATION if "MUST" in found.clause.level else WARNING)

    def _add(self, broken: List[Finding], places: List[List[Any]]) -> None:
        """Add the findings of one moment; those that follow from another get it as their cause."""
        for finding, place in zip(broken, places):
            for where in place:
                known = self._subjects.get(where)
                if known is None:
                    known = self._subjects[where] = []
                if len(known) < self._bounds.findings:
                    known.append(finding)
        for number, cause in enumerate(_without_rings(broken, [
                self._cause(finding, place) for finding, place in zip(broken, places)])):
            finding = broken[number]
            if cause is not None:
                finding = finding._replace(cause=cause)
                for where in places[number]:  # what follows from it later has the same cause
                    known = self._subjects.get(where, ())
                    known[:] = [finding if each is broken[number] else each for each in known]
            self._broken[finding.rule.id] = self._broken.get(finding.rule.id, 0) + 1
            if self._keep(finding):
                self.findings.append(finding)
            self.fresh.append(finding)

    def _keep(self, finding: Finding) -> bool:
        """Count a finding, and tell whether it is kept: of each fault the first one is, too."""
        whose = finding.rule.id, finding.party
        count = self._kept[whose] = self._kept.get(whose, 0) + 1
        if finding.cause is not None:
            return count <= self._bounds.findings
        faults, key = self._faults.setdefault(whose, {}), finding.key
        first = key not in faults and len(faults) < self._bounds.findings
        if first or key in faults:
            faults[key] = faults.get(key, 0) + 1
        return first or count <= self._bounds.findings

    @staticmethod
    def _places(finding: Finding, subject: Any) -> List[Any]:
        """Return where causes of a finding are looked for: its message, the request of that, exchange and session."""
        places: List[Any] = []
        if finding.number:
            places.append(("message", finding.number))
        request = getattr(subject, "request", None)
        if isinstance(request, Message):
            places.append(("message", request.index))
        if finding.exchange and not isinstance(subject, ObservedEvent):
            places.append(("exchange", finding.exchange))
        holder = subject.exchange if isinstance(subject, ObservedEvent) else subject
        session = getattr(holder, "session", None) or getattr(holder, "default", None)
        if session is not None:
            places.append(("session", finding.connection, session.id))
        return places

    def _cause(self, finding: Finding, places: List[Any]) -> Optional[Finding]:
        for place in places:
            for other in self._subjects.get(place, ()):
                if place[0] == "exchange" and _are_apart(finding, other):
                    continue
                if other.rule.id != finding.rule.id and (_spoiled(finding, other, place) or any(
                        _leads(other, name, finding, place) for name in finding.rule.follows)):
                    while other.cause is not None:
                        other = other.cause
                    if other.rule.id != finding.rule.id:
                        return other  # type: ignore[no-any-return]
        return None


@lru_cache(maxsize=4096)
def _asked(
    moment: str, method: str, rank: Optional[int], beside: bool, seen: int, recorded: FrozenSet[str],
    binding: bool,
) -> Tuple[Tuple[Tuple[Optional[rules.Facts], Tuple[Rule, ...], Tuple[rules.Decide, ...]], ...],
           Tuple[Callable[[Any], None], ...]]:
    """Return what `_RuleGroup` needs of the rules of one moment, and the functions of observers, for all checkers."""
    table: Dict[Optional[rules.Facts], List[Rule]] = {}
    for row in rules.matching(rules.load().values(), moment, method, rank, beside, seen):
        if row.needs <= recorded and (row.binds or not binding):
            table.setdefault(row.facts, []).append(row)
    return (tuple((facts, tuple(rows), tuple(row.decide for row in rows)) for facts, rows in table.items()),
            tuple(row.note for row in rules.matching(rules.OBSERVERS, moment, method, rank, seen=seen)))


def _without_rings(broken: List[Finding], causes: List[Optional[Finding]]) -> List[Optional[Finding]]:
    """Return the root cause of each finding of one moment; of rules that follow from each other the first is the root.
    """
    places = {id(finding): place for place, finding in enumerate(broken)}
    for start in range(len(broken)):
        passed, place = {start}, start
        while id(causes[place]) in places:
            place = places[id(causes[place])]
            if place in passed:
                causes[start] = None
                break
            passed.add(place)
    found: List[Optional[Finding]] = []
    for cause in causes:
        while id(cause) in places and causes[places[id(cause)]] is not None:
            cause = causes[places[id(cause)]]
        found.append(cause)
    return found


def _are_apart(finding: Finding, other: Finding) -> bool:
    """Tell whether two faults are of two messages of one party, which may share a stream and nothing else."""
    return bool(finding.number and other.number) and (
        finding.number != other.number and finding.party == other.party)


def _leads(other: Finding, follows: str, finding: Finding, place: Any) -> bool:
    """Tell whether a finding at a place is the cause of another by one of the names that its rule follows."""
    scope, _, name = ("", "", follows) if ":" not in follows else follows.partition(":")
    if (scope in ("session", "same")) != (place[0] == "session") or not _fits(other.rule.id, name):
        return False
    if scope == "same":  # what is said at one message at once, the other names tell apart
        return (other.where, other.party) == (finding.where, finding.party) and other.number != finding.number
    return scope != "here" or (place == ("message", finding.number) and _touch(finding.where, other.where) and (
        name != "*" or "here:*" not in other.rule.follows))


def _spoiled(finding: Finding, other: Finding, place: Any) -> bool:
    """Tell whether a message is not known for what it is, for another fault at it, its request or its exchange."""
    return other.rule.spoils and not finding.rule.spoils and _touch(finding.where, other.where) and (
        place[0] == "message" or (place[0] == "exchange" and not finding.number))


def _touch(first: str, second: str) -> bool:
    """Tell whether two members may be one, or one in the other: "" is the whole, and a name alone stands anywhere."""
    if "jsonrpc" in (first, second):  # a message with another version is one nevertheless
        return first == second
    ways = [where.replace("[", ".[").split(".") for where in (first, second)]
    parts = [way[0] in ("params", "result", "error") for way in ways]
    if any(parts) and any(where.startswith("capabilities.") for where in (first, second)):
        return all("capabilities" in way for way in ways)  # what a party has not declared is not in what it sends
    if not all(parts):
        return True
    return all(one == another for one, another in zip(*ways))


def _fits(id: str, name: str) -> bool:
    return id.startswith(name[:-1]) if name.endswith("*") else id == name
