"""The part of the report about hostile input: a table of the attacks, and what was fragile, grouped by attack and kind.

Fragile is no violation: no clause of the specification says what becomes of most of this. Where one does, it is cited.
"""

from textwrap import wrap
from typing import Any, Dict, List, NamedTuple, Tuple

from ....requirements import requirements
from ....revisions import Revision
from ....wiretrace.text import plain
from . import FRAGILE
from .trial import ERROR, KEEPS, KINDS, RESULT, STOPS, AttackResult, Trial, Weakness

_CLAUSES = {RESULT: "jsonrpc.follow-spec", ERROR: "jsonrpc.follow-spec"}
"""Kind -> the requirement that says something about it."""
_HTTP = ("hostile-heads", "hostile-chunks", "hostile-cuts")
"""The attacks below the protocol."""
_SHOWN = 8
"""Numbers of inputs that are named."""


class WeaknessGroup(NamedTuple):
    """The weaknesses of one kind under one attack, in all revisions."""

    attack: str
    kind: str
    found: List[Tuple[Revision, Weakness]]

    @property
    def what(self) -> str:
        """The kind, for people."""
        return KINDS[self.kind]

    @property
    def clause(self) -> str:
        """The citation of the requirement that is concerned; "" if there is none."""
        id = _CLAUSES.get(self.kind)
        if id and self.attack in _HTTP:
            return "RFC 9112"
        return requirements()[id].stated_in(self.found[0][0]).citation if id else ""

    def again(self, seed: int) -> str:
        """Return the options that repeat the first of them."""
        revision, first = self.found[0]
        number = ":%d" % first.number if first.number else ""
        return "--revision %s --seed %d --only %s%s" % (revision, seed, self.attack, number)


class HostileReport:
    """The results of the trials with one seed."""

    def __init__(self, seed: int, trials: List[Trial]) -> None:
        self.seed = seed
        self.trials = trials
        self.results: List[AttackResult] = [each for trial in trials for each in trial.results]
        found: Dict[Tuple[int, str], WeaknessGroup] = {}
        for result in self.results:
            for each in result.weaknesses:
                key = (list(KINDS).index(each.kind), each.attack)
                found.setdefault(key, WeaknessGroup(each.attack, each.kind, [])).found.append((result.revision, each))
        self.groups = [found[key] for key in sorted(found)]

    def lines(self, width: int) -> List[str]:
        """Return the lines of the report."""
        found = ["", "hostile input, seed %d (fragile is no violation; a clause is cited where there is one):"
                 % self.seed]
        found.append("%-20s%14s%10s%10s%14s" % ("attack", "inputs sent", "alive", "answered", "back"))
        rows: Dict[str, List[AttackResult]] = {}
        for result in self.results:
            rows.setdefault(result.name, []).append(result)
        for name, results in rows.items():
            sent = "%d of %d" % (sum(each.sent for each in results), sum(each.all for each in results))
            verdicts = [columns(each) for each in results]
            found.append(("%-20s%14s%10s%10s%14s" % (name, sent, *map(_worst, zip(*verdicts)))).rstrip())
        for trial in self.trials:
            if trial.gone:
                found += wrap("the server was gone, and nothing more was sent: %s" % plain(trial.gone), width)
        for group in self.groups:
            found += ["", *self._block(group, width)]
        return found

    def _block(self, group: WeaknessGroup, width: int) -> List[str]:
        revisions = dict.fromkeys(str(revision) for revision, _ in group.found)
        numbers = list(dict.fromkeys(str(each.number) for _, each in group.found if each.number))
        more = ", ..." if len(numbers) > _SHOWN else ""
        first = group.found[0][1]
        body = [", ".join(revisions), "input%s %s%s" % (
            "s" * (len(numbers) > 1), ", ".join(numbers[:_SHOWN]), more) if numbers else "",
            plain("%s: %s" % (first.sent, first.evidence) if first.sent else first.evidence),
            "[%s]" % group.clause if group.clause else "robustness: no clause",
            "again: examine SERVER " + group.again(self.seed)]
        found = ["%s: %s: %s" % (FRAGILE.upper(), group.attack, group.what)]
        for text in filter(None, body):
            found += wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        return found

    def as_json(self) -> Dict[str, Any]:
        """Return it as a JSON object.

        ``attacks``: each of ``name``, ``revision``, ``sent``, ``all``, ``alive``, ``answered``, ``back`` (yes, no,
        cannot tell). ``weaknesses``: each of ``attack``, ``kind``, ``what``, ``revision``, ``number``, ``evidence``,
        ``sent``, ``citation``. ``gone``: why no more was sent, by revision.
        """
        return {
            "seed": self.seed,
            "attacks": [{"name": each.name, "revision": each.revision.name, "sent": each.sent, "all": each.all,
                         **dict(zip(("alive", "answered", "back"), columns(each)))} for each in self.results],
            "weaknesses": [{
                "attack": group.attack, "kind": group.kind, "what": group.what, "revision": revision.name,
                "number": each.number or None, "evidence": each.evidence, "sent": each.sent or None,
                "citation": group.clause or None} for group in self.groups for revision, each in group.found],
            "gone": {trial.revision.name: trial.gone for trial in self.trials if trial.gone},
        }


def columns(result: AttackResult) -> Tuple[str, str, str]:
    """Return the verdicts on an attack: alive, answered, back."""
    others = [kind for kind in KINDS if kind not in (STOPS, KEEPS)]
    return ("no" if result.has(STOPS) else "yes", "no" if result.has(*others) else "yes",
            "cannot tell" if result.back is None else "yes" if result.back else "no")


def _worst(verdicts: Tuple[str, ...]) -> str:
    return next(each for each in ("no", "cannot tell", "yes") if each in verdicts)
