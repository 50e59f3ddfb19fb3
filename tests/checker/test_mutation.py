"""The checker names the right rule, and one root, for sessions that `tests/checker/mutation.py` has broken."""
import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import RULES, load
from tests.checker import mutation

load()
BASES = mutation.bases()
SEED = 14
ENOUGH = 0.95
"""The share of visible faults of each part of the table that has to be named rightly."""


@pytest.mark.parametrize("base", BASES, ids=" ".join)
def test_legal_session_is_silent(base):
    checker = Checker()
    found = checker.check(BASES[base])
    assert [(each.rule.id, each.evidence, each.number) for each in found] == []
    assert sum(1 for each in checker.tallies().values() if each.judged) > 60, "too few rules have judged anything"


PARTS = sorted({way.part for way in mutation.ways()})


@pytest.mark.parametrize("part", PARTS)
def test_broken_sessions_have_the_right_rule_as_their_only_root(part):
    visible, wrong, hidden = 0, [], []
    for mutant in mutation.mutants(SEED, most=2, part=part):
        found = mutation.roots(mutant.events)
        visible += bool(mutant.way.rules)
        if not mutation.is_right(mutant, found):
            (wrong if mutant.way.rules else hidden).append("%s: expected %s, found %s" % (
                mutant.name, " or ".join(sorted(mutant.way.rules)) or "nothing", ", ".join(found) or "nothing"))
    print("\n%d of %d visible faults named rightly" % (visible - len(wrong), visible))
    assert len(wrong) <= (1 - ENOUGH) * visible, "\n".join(wrong)
    assert hidden == [], "what nobody can see is found"


def test_there_are_enough_ways_and_each_breaks_something():
    assert len(mutation.ways()) == len({way.name for way in mutation.ways()}) >= 200
    made = {mutant.way.name: mutant for mutant in mutation.mutants(SEED, most=1)}
    assert [way.name for way in mutation.ways() if way.name not in made] == [], "they apply to no session"
    assert sum(1 for mutant in mutation.mutants(SEED, most=2) if mutant.way.rules) >= 300
    assert [name for name, mutant in made.items() if mutant.events == BASES[mutant.base]] == [], "nothing is changed"


def test_the_table_names_rules_that_there_are():
    assert sorted({id for way in mutation.ways() for id in way.rules} - set(RULES)) == []
    assert [way.name for way in mutation.ways() if not way.rules and len(way.reason) < 20] == []


def test_another_seed_makes_other_sessions_and_the_same_seed_the_same():
    def events(seed):
        return [mutant.events for mutant in mutation.mutants(seed, most=1)]

    first = events(1)
    assert first == events(1)
    assert sum(one != other for one, other in zip(first, events(2))) > 100


@pytest.mark.parametrize("arguments, expected", [
    (["--list", "--only", "ping refused"], "ok   ping refused on stdio 2025-06-18: expected ping.respond; found ping"),
    (["--show", "ping refused on stdio 2025-06-18"], "ping.respond: "),
])
def test_command_shows_what_it_makes(arguments, expected, capsys):
    assert mutation.main(["--seed", "3", *arguments]) == 0
    assert expected in capsys.readouterr().out
