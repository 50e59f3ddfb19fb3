"""A little of `make fuzz` with fixed seeds, and whether the machine that finds things does find them."""
import random
import re

import pytest

from tests.fuzz import run
from tests.fuzz.engine import Broken, Target, explore, failure_of, make_case, run_case, shrink, simpler_than
from tests.fuzz.inventing import mutated, mutated_bytes, value
from tests.fuzz.targets import TARGETS

CASES = {"server": 25, "client": 25, "alone": 50, "told": 25, "schemas": 400, "forms": 300, "sampling": 300,
         "jwts": 500, "keys": 500, "answers": 500, "challenges": 500}
SEED = 20260728


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
@pytest.mark.sends_illegal("*", why="a peer that is asked anything answers what it was asked")
def test_some_cases_of_each_target(target):
    report = explore(target, SEED, cases=CASES.get(target.name, 1000))
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.cases == CASES.get(target.name, 1000)


def test_a_case_is_the_same_every_time():
    for target in TARGETS:
        assert repr(make_case(target, 7, 3)) == repr(make_case(target, 7, 3))
        assert len({repr(make_case(target, 7, number)) for number in range(20)}) > 5


def test_a_case_that_fails_gets_small():
    def check(case):
        if "\x00" in case[0] and 7 in case[1].get("a", []):
            raise Broken("both: %r" % (case,))

    target = Target("t", lambda source: None, check)
    big = ("xyz\x00" * 9, {"a": [1, 2, 7, [8]], "b": {"c": None}, "d": "text"}, 12)
    case, failure = shrink(target, big, failure_of(target, big))
    assert case == ("\x00", {"a": [7]}, 0) and failure.kind == "broken: both"


def test_shrinking_keeps_to_one_kind_of_failure():
    def check(case):
        if len(case) > 3:
            raise Broken("long: x")
        if case:
            raise ValueError("short")

    target = Target("t", lambda source: None, check)
    assert shrink(target, "abcdefgh", failure_of(target, "abcdefgh"))[0] == "aaaa"


def test_exceptions_slowness_and_broken_rules_are_found():
    def odd(case):
        if case % 10 == 3:
            raise KeyError("three")
        if case % 10 == 4:
            raise Broken("four: %d" % case)

    target = Target("odd", lambda source: source.randrange(100), odd)
    report = explore(target, 1, cases=200)
    assert {finding.failure.kind for finding in report.findings} == {
        "KeyError in odd of test_fuzz_quick.py", "broken: four"}
    finding = report.findings[0]
    assert "--only odd --seed 1 --case %d" % finding.number in str(finding)
    assert run_case(target, 1, finding.number).failure.kind == finding.failure.kind
    slow = Target("slow", lambda source: 0, lambda case: sum(range(300000)), seconds=0.0)
    assert explore(slow, 1, cases=2).findings[0].failure.kind == "slow"


@pytest.mark.parametrize("case", [b"abc", "abc", [1, [2]], {"a": {"b": 1}}, ("ab", 3), 12, 1.5])
def test_simpler_cases_are_of_the_same_kind_and_others(case):
    simpler = list(simpler_than(case))
    assert simpler and case not in simpler
    assert all(type(each) is type(case) for each in simpler)
    assert not isinstance(case, tuple) or all(len(each) == len(case) for each in simpler)


def test_mutations_leave_the_original_alone_and_change_most():
    source = random.Random(1)
    changed = 0
    for _ in range(200):
        tree = {"a": [1, {"b": "c"}], "d": value(source)}
        before = repr(tree)
        changed += repr(mutated(source, tree, 2)) != before
        assert repr(tree) == before
    assert changed > 150
    assert sum(mutated_bytes(source, b'{"a":1}') != b'{"a":1}' for _ in range(100)) > 80


def test_the_tool_prints_the_seed_and_what_was_found(capsys, monkeypatch):
    def check(case):
        raise Broken("no: %d" % case)

    broken = Target("broken", lambda source: source.randrange(1000), check)
    monkeypatch.setattr(run, "TARGETS", (TARGETS[0], broken))
    assert run.main(["--seconds", "0.1", "--seed", "5", "--only", "lines"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("seed 5\n") and "nothing found" in out
    assert run.main(["--seconds", "0.1"]) == 1
    out = capsys.readouterr().out
    seed = re.match(r"seed (\d+)\n", out).group(1)
    assert "1 FOUND" in out and "again: --only broken --seed %s --case 0" % seed in out and "case: 0" in out
    assert run.main(["--only", "broken", "--seed", seed, "--case", "0"]) == 1
    assert "broken: no" in capsys.readouterr().out
