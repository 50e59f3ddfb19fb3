"""Reports: a fault is said once, worst first, with its clause; programs get the same in their own forms."""
import json
from xml.etree import ElementTree

import pytest

from mcp_ref.checker import Bounds, Checker
from mcp_ref.checker.formats import FORMATS
from mcp_ref.checker.report import WIDTH, AcceptError, Report, read_accepted
from mcp_ref.checker.rules import RULES, load
from mcp_ref.checker.scenes import trace

load()
TWICE = """
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 2}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S notifications/progress {"progressToken": "nobody's", "progress": 1}
    S #1 {"content": []}
"""


def judged(scene=TWICE, name="session.jsonl", accepted=None, bounds=Bounds()):
    checker = Checker(bounds)
    checker.check(trace(scene, "-"))
    return Report(checker, name, accepted)


def test_a_fault_that_was_seen_twice_is_said_once_with_both_places():
    report = judged()
    assert [(group.finding.rule.id, group.times) for group in report.groups] == [
        ("progress.increases", 2), ("progress.token-active", 1)]
    text = "\n".join(report.lines())
    assert text.count("progress.increases [MUST], 2 times") == 1
    assert "message 6" in text and "message 7" in text
    assert report.counts() == {"violation": 2, "warning": 0, "disagreement": 0, "accepted": 0, "consequences": 0}


@pytest.mark.parametrize("id", sorted(RULES))
def test_the_text_of_every_rule_fits_the_width(id):
    lines = judged(RULES[id].scene).lines(unsure=True)
    assert [line for line in lines if len(line) > WIDTH] == []
    assert any(id in line for line in lines)


def test_the_id_of_a_finding_is_the_same_in_another_trace_and_differs_by_party():
    first = judged().groups[0].finding.key
    moved = judged(TWICE.replace("C #1", "C #7").replace("S #1", "S #7")).groups[0].finding.key
    turned = judged(TWICE.translate(str.maketrans("CS", "SC")).replace("tools/call", "sampling/createMessage"))
    assert first == moved
    assert first not in [group.finding.key for group in turned.groups]


def test_what_is_accepted_is_printed_with_the_reason_and_no_longer_counts():
    key = judged().groups[0].finding.key
    report = judged(accepted={key: "known, ticket 12", "progress.stops:00000000": "long gone"})
    assert [group.finding.rule.id for group in report.open()] == ["progress.token-active"]
    text = "\n".join(report.lines())
    assert "accepted: known, ticket 12" in text and report.stale == ["progress.stops:00000000"]
    assert "progress.stops:00000000" in text


@pytest.mark.parametrize("lines, found", [
    (["# a comment", "", "a.b:1234 why not", "  c.d:1   x  "], {"a.b:1234": "why not", "c.d:1": "x"}), ([], {})])
def test_accepted_findings_are_read(lines, found):
    assert read_accepted(lines) == found


def test_an_accepted_finding_needs_a_reason():
    with pytest.raises(AcceptError, match="line 2: after the id"):
        read_accepted(["a.b:1 why", "a.b:2"])


def test_findings_beyond_the_bound_are_counted():
    many = "\n".join(line * (50 if "progress\": 1}" in line and "p\"" in line else 1) for line in [
        each + "\n" for each in TWICE.splitlines()])
    report = judged(many, bounds=Bounds(findings=5))
    group = next(each for each in report.groups if each.finding.rule.id == "progress.increases")
    assert (len(group.places), group.times) == (5, 100)


def test_json_has_places_and_keys():
    found = json.loads(FORMATS["json"](judged()))
    assert found["counts"]["violation"] == 2 and found["trace"] == "session.jsonl"
    first = found["findings"][0]
    assert first["rule"] == "progress.increases" and first["party"] == "server" and len(first["places"]) == 2
    assert first["places"][0]["message"] == 6 and first["places"][0]["revision"] == "2025-06-18"


def test_junit_has_a_case_for_each_rule_that_was_judged():
    suite = ElementTree.fromstring(FORMATS["junit"](judged(name="a\x00<b>"))).find("testsuite")
    failing = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failing == {"progress.increases", "progress.token-active"}
    assert int(suite.get("failures")) == 2 and int(suite.get("tests")) == len(suite)


def test_sarif_names_rules_and_fingerprints():
    run = json.loads(FORMATS["sarif"](judged()))["runs"][0]
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "progress.increases"
    assert result["level"] == "error" and result["occurrenceCount"] == 2
    assert result["partialFingerprints"] == {"mcpRefKey/v1": judged().groups[0].finding.key}


def test_github_annotations_are_single_lines():
    lines = FORMATS["github"](judged()).splitlines()
    assert len(lines) == 2 and all(line.startswith("::error title=progress.") for line in lines)
