"""Each rule has two traces: all rules are silent about one, and this rule is the root of what is found in the other."""
import pytest

from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker import Checker, findings, rules
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import trace, traces
from mcp_ref.wiretrace import from_object, to_object

load()


def said(found):
    return ["%s%s: %s (message %d, exchange %d, %s, %s)" % (
        "  follows from %s: " % each.cause.rule.id if each.cause else "", each.rule.id, each.evidence, each.number,
        each.exchange, each.party, each.revision) for each in found]


def is_provoked(rule, finding):
    """True for what the other party has to break, so that this rule shows, and for what follows from that."""
    first = finding.cause or finding
    return any(first.rule.id == name or (name.endswith("*") and first.rule.id.startswith(name[:-1]))
               for name in rule.provoked)


@pytest.mark.parametrize("id", sorted(RULES))
def test_rule_names_the_trace_that_breaks_it_and_no_other(id):
    rule = RULES[id]
    kept, broken = traces(rule.scene)
    silent = Checker()
    silent.check(kept)
    assert [line for line, each in zip(said(silent.findings), silent.findings) if not is_provoked(rule, each)] == []
    assert silent.tallies()[id].judged, "the trace that keeps the rule has nothing that it could judge"
    checker = Checker()
    checker.check(broken)
    roots = {each.rule.id for each in checker.findings if each.cause is None and not is_provoked(rule, each)}
    assert roots == {id}, "\n".join(said(checker.findings))
    unused = [name for name in rule.provoked if not any(
        is_provoked(rule._replace(provoked=(name,)), each) for each in checker.findings)]
    assert unused == [], "nothing of the kind is provoked"


@pytest.mark.parametrize("id", sorted(RULES))
def test_scene_is_a_trace_that_can_be_written_and_read(id):
    for events in traces(RULES[id].scene):
        assert [from_object(to_object(event)) for event in events] == events


@pytest.mark.parametrize("id", sorted(RULES))
def test_rule_has_words_of_its_own_and_binds(id):
    rule = RULES[id]
    assert rule.text.endswith(".") and rule.text[0].isupper()
    assert all(requirements()[each].binding for each in (id, *rule.also) if each in requirements())


@pytest.mark.time_limit(180)
def test_circumstances_leave_out_only_what_has_nothing_to_say(monkeypatch):
    """With every rule asked about everything, the findings and the counts are the same."""
    assert any(row.when for row in load().values()) and any(row.when for row in rules.OBSERVERS)
    assert any(row.facts for row in load().values())

    def judged(row, sign):
        checker = Checker()
        checker.check(trace(row.scene, sign))
        return [(each.rule.id, each.number, each.evidence) for each in checker.findings], checker.tallies()

    quick = {(id, sign): judged(row, sign) for id, row in load().items() for sign in "+-"}
    everything = {id: row._replace(when=0, facts=None) for id, row in load().items()}
    monkeypatch.setattr(rules, "RULES", everything)
    monkeypatch.setattr(rules, "OBSERVERS", [row._replace(when=0) for row in rules.OBSERVERS])
    findings._asked.cache_clear()
    try:
        for id, row in everything.items():
            for sign in "+-":
                assert judged(row, sign) == quick[id, sign], id
    finally:
        findings._asked.cache_clear()


def test_rules_that_bind_find_no_less_when_they_are_asked_alone():
    """Recommendations are not asked then; what would follow from one is found, too."""
    for id, row in load().items():
        events = trace(row.scene, "-")
        every, binding = Checker(), Checker(binding=True)
        every.check(events)
        binding.check(events)
        roots = {(each.rule.id, each.number, each.evidence)
                 for each in every.findings if each.verdict == "violation" and each.cause is None}
        assert roots <= {(each.rule.id, each.number, each.evidence) for each in binding.findings}, id
        assert not [each for each in binding.findings if not each.rule.binds], id
