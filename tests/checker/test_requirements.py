"""Every binding requirement has a rule, or a reason why nobody who only observes can decide it."""
from mcp_ref.checker.rules import RULES, UNDECIDED, load
from mcp_ref.requirements import requirements

load()
DECIDED = {each for rule in RULES.values() for each in (rule.id, *rule.also)}


def test_no_requirement_is_decided_and_undecided():
    assert DECIDED & set(UNDECIDED) == set()


def test_ids_and_reasons_are_of_the_list():
    assert [id for id in UNDECIDED if id not in requirements() or len(UNDECIDED[id]) < 20] == []
