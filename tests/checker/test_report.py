"""Reports: a fault is said once, worst first, with its clause; programs get the same in their own forms."""
import json
from xml.etree import ElementTree

import pytest

from mcp_ref.cli.judge.check import _recorded as recorded
from mcp_ref.devtools.checker import Bounds, Checker
from mcp_ref.devtools.checker.findings import lasting
from mcp_ref.devtools.checker.report import FORMATS, WIDTH, AcceptError, Report, read_accepted
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import trace

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
    found = json.loads(FORMATS["json"]([judged()]))
    assert found["counts"]["violation"] == 2 and found["trace"] == "session.jsonl"
    first = found["findings"][0]
    assert first["rule"] == "progress.increases" and first["party"] == "server" and len(first["places"]) == 2
    assert first["places"][0]["message"] == 6 and first["places"][0]["revision"] == "2025-06-18"


def test_junit_has_a_case_for_each_rule_that_was_judged():
    suite = ElementTree.fromstring(FORMATS["junit"]([judged(name="a\x00<b>")])).find("testsuite")
    failing = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failing == {"progress.increases", "progress.token-active"}
    assert int(suite.get("failures")) == 2 and int(suite.get("tests")) == len(suite)


def test_sarif_names_rules_and_fingerprints():
    run = json.loads(FORMATS["sarif"]([judged()]))["runs"][0]
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "progress.increases"
    assert result["level"] == "error" and result["occurrenceCount"] == 2
    assert result["partialFingerprints"] == {"mcpRefKey/v1": judged().groups[0].finding.key}


def test_github_annotations_are_single_lines():
    lines = FORMATS["github"]([judged()]).splitlines()
    assert len(lines) == 2 and all(line.startswith("::error title=progress.") for line in lines)


# Where a clause stands, and what a fault is

@pytest.mark.parametrize("revision, place, url", [
    ("2024-11-05", "2024-11-05 basic/messages §Responses", "2024-11-05/basic/messages#responses"),
    ("2025-03-26", "2025-03-26 basic/index §Responses", "2025-03-26/basic#responses"),
    ("2025-11-25", "2025-11-25 basic/index §Result Responses", "2025-11-25/basic#result-responses"),
])
def test_a_clause_is_cited_as_the_revision_in_force_has_it(revision, place, url):
    report = judged("""
        on stdio %s
        C #1 tools/call {"name": "slow"}
        S #9 {"content": []}
    """ % revision)
    group = next(each for each in report.groups if each.finding.rule.id == "jsonrpc.response-same-id")
    assert group.finding.clause.citation == place and group.finding.clause.url.endswith("/specification/" + url)
    text = "\n".join(report.lines())
    assert "[%s]" % place in text and url in text
    found = json.loads(FORMATS["json"]([report]))
    assert place in [each["citation"] for each in found["findings"]]


def test_a_member_that_is_missing_everywhere_is_one_fault_whatever_the_method():
    report = judged("""
        on stdio 2025-06-18
        C> {"id": 1, "method": "tools/list"}
        S #1 {"tools": []}
        C> {"id": 2, "method": "prompts/list"}
        S #2 {"prompts": []}
    """)
    assert [(group.finding.rule.id, group.times) for group in report.groups
            if group.finding.rule.id == "jsonrpc.follow-spec"] == [("jsonrpc.follow-spec", 2)]


def test_ids_of_faults_tell_evidence_apart_but_not_what_changes_from_session_to_session():
    texts = {"no request has the id req-17": "no request has the id 98231b-77", "404 to DELETE": "404 to DELETE",
             "result.tools[3].name": "result.tools[12].name", "***1a2b3c4d": "***ffffffff"}
    assert all(lasting(one) == lasting(other) for one, other in texts.items())
    assert lasting("404 to DELETE") != lasting("405 to DELETE")
    assert lasting("error -32602") != lasting("error -32603")
    assert lasting("2025-06-18 has it") != lasting("2025-11-25 has it")


def test_faults_of_a_rule_stand_together_and_only_the_first_are_shown():
    names = ["tool %s" % sign for sign in "abcdefgh"]
    report = judged("""
        on stdio 2025-11-25
        C #1 tools/list
        S #1 {"tools": [%s]}
    """ % ", ".join('{"name": "%s", "inputSchema": {"type": "object"}}' % name for name in names))
    assert len(report.groups) == 8 and len({group.finding.rule.id for group in report.groups}) == 1
    text = "\n".join(report.lines())
    assert text.count("WARNING by the server") == 1 and text.count("    id tools.") == 6
    assert "and 2 other faults, 2 times; --format json has all" in text


def test_what_is_accepted_is_no_longer_called_a_violation():
    plain = judged()
    text = "\n".join(judged(accepted={group.finding.key: "known" for group in plain.groups}).lines())
    assert "VIOLATION" in "\n".join(plain.lines()) and "VIOLATION" not in text and "accepted: known" in text


# Requests without a response, and lines that are no message

def test_requests_of_a_server_that_died_are_named_with_the_reason():
    report = judged("""
        on stdio 2025-06-18
        C #"1" tools/call {"name": "slow"}
        C #1 tools/list
        S #1 {"tools": []}
        * server process {"did": "exit", "code": 3}
        * server close {}
    """)
    text = "\n".join(report.lines())
    assert '1 request without a response:' in text and '#"1" tools/call of the client' in text and "exit code 3" in text
    assert [each["id"] for each in json.loads(FORMATS["json"]([report]))["unanswered"]] == ["1"]


@pytest.mark.parametrize("end, why", [
    ("", "the recording ends"), ("* server close {}", "the server closed the connection"),
    ("* client close {}", "the client closed the connection"), ("* - close {}", "the connection was closed"),
    ('* server process {"did": "exit", "code": 3}', "the server's process ended (exit code 3)"),
])
def test_why_a_request_has_no_response_is_said_as_far_as_it_is_known(end, why):
    text = judged("\n on stdio 2025-06-18\n C #1 tools/list\n %s" % end).lines()
    assert [line.partition(" s: ")[2] for line in text if "tools/list of the client" in line] == [why]


@pytest.mark.parametrize("number, shown, more", [
    (1, 1, None), (6, 6, None), (7, 6, "and 1 more"), (9, 6, "and 3 more"),
])
def test_the_first_requests_without_a_response_are_shown_and_the_others_counted(number, shown, more):
    text = judged("\n on stdio 2025-06-18\n" + "\n".join(" C #%d tools/list" % each for each in range(number))).lines()
    assert "%d request%s without a response:" % (number, "" if number == 1 else "s") in text
    assert len([line for line in text if "tools/list of the client" in line]) == shown
    assert [line.strip() for line in text if line.startswith("  and ")] == ([more] if more else [])


@pytest.mark.parametrize("number, shown, head", [
    (1, 1, "1 line that is no message of the protocol:"), (5, 5, "5 lines that are no message of the protocol:"),
    (6, 5, "6 lines that are no message of the protocol:"),
])
def test_lines_that_are_no_message_are_counted(number, shown, head):
    text = judged("\n on stdio 2025-06-18\n" + "\n".join(" S| line %d" % each for each in range(number))).lines()
    assert head in text and len([line for line in text if ": line " in line]) == shown
    assert ("  ..." in text) == (number > shown)


def test_the_head_counts_what_the_groups_are_and_a_level_takes_those_at_or_above_it():
    warned = """
        on stdio 2025-11-25
        C #1 tools/list
        S #1 {"tools": [{"name": "tool a", "inputSchema": {"type": "object"}}]}
        S #7 {}
    """
    report = judged(warned, name="")
    counts = report.counts()
    assert (counts["violation"], counts["warning"], counts["accepted"]) == (1, 1, 0)
    assert [group.finding.verdict for group in report.groups] == ["violation", "warning"], "the worst first"
    assert len(report.open()) == len(report.open("disagreement")) == 2 and report.open("violation") == report.groups[:1]
    head, numbers = report.lines()[:2]
    assert head.startswith("%d messages, 2025-11-25 over stdio" % report.checker.messages)
    assert numbers.startswith("1 violation, 1 warning; ") and "accepted" not in numbers
    keys = [group.finding.key for group in report.groups]
    accepted = judged(warned, accepted={keys[0]: "known"})
    assert [group.finding.key for group in accepted.groups] == keys[::-1], "what is accepted comes last"
    assert accepted.lines()[1].startswith("0 violations, 1 warning, 1 accepted; ") and accepted.open("violation") == []
    assert accepted.stale == [] and "accepted, but not found:" not in accepted.lines()


@pytest.mark.parametrize("unsure", [False, True])
def test_what_cannot_be_told_is_counted_and_listed_when_asked_for(unsure):
    report = judged('\n on stdio 2026-07-28 late\n C #1 tools/list {}\n S #1 {"tools": []}')
    judged_rules, missing = report.rules()
    lines = report.lines(unsure=unsure)
    assert missing and judged_rules and "%d rules judged, %d cannot tell%s" % (
        judged_rules, len(missing), "" if unsure else " (--unsure lists them)") in "\n".join(lines)
    assert ("cannot tell:" in lines) == unsure and ("(--unsure" in lines[1]) is not unsure
    assert all(any(line.startswith("  %s: " % id) for line in lines) == unsure for id in missing)


def test_the_first_lines_that_are_no_message_are_shown_shortened():
    lines = "\n".join("    S| Listening on port %d" % number for number in range(8))
    text = judged("\n    on stdio 2025-06-18\n%s\n    S| %s\n" % (lines, "x" * 500)).lines()
    shown = [line for line in text if "Listening on port" in line]
    assert len(shown) == 5 and "9 lines that are no message of the protocol:" in text and max(map(len, text)) <= WIDTH


def test_only_rules_that_could_apply_cannot_tell():
    without_http = judged("""
        on stdio 2025-06-18 late
        C #1 tools/list
        S #1 {"tools": []}
    """)
    missing = without_http.rules()[1]
    assert not [id for id in missing if id.partition(".")[0] in ("http", "auth")]
    assert not [id for id, reasons in missing.items() if RULES[id].methods == ("resources/read",)]


# Several recordings, and their lines

def lines_of(scene, tmp_path, name, before=""):
    from mcp_ref.wiretrace import to_object

    path = tmp_path / name
    path.write_text(before + "".join(json.dumps(to_object(event)) + "\n" for event in trace(scene, "-")))
    return path


@pytest.mark.parametrize("before", ["", "# recorded by hand\n\n"])
def test_lines_are_those_of_the_file_and_the_message_is_a_property(tmp_path, before):
    path = lines_of(TWICE, tmp_path, "a b.jsonl", before)
    report = recorded(str(path), {})
    found = [number for number, line in enumerate(path.read_text().splitlines(), 1) if '"progress": 1}' in line]
    result = json.loads(FORMATS["sarif"]([report]))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == found[0] and place["artifactLocation"]["uri"].endswith("a%20b.jsonl")
    assert result["properties"]["message"] == 6 and found[0] != 6
    annotation = FORMATS["github"]([report]).splitlines()[0]
    assert "file=%s,line=%d," % (path, found[0]) in annotation
    assert json.loads(FORMATS["json"]([report]))["findings"][0]["places"][0]["line"] == found[0]


def test_several_recordings_are_one_document():
    reports = [judged(name="one.jsonl"), judged(name="two.jsonl")]
    suites = ElementTree.fromstring(FORMATS["junit"](reports))
    assert [suite.get("name") for suite in suites] == ["one.jsonl", "two.jsonl"]
    run, = json.loads(FORMATS["sarif"](reports))["runs"]
    assert {result["properties"]["trace"] for result in run["results"]} == {"one.jsonl", "two.jsonl"}
    assert len(json.loads(FORMATS["json"](reports))) == 2


def test_a_recording_that_broke_off_is_judged_as_far_as_it_is_whole(tmp_path):
    path = lines_of(TWICE, tmp_path, "cut.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    report = recorded(str(path), {})
    assert "the recording broke off there" in "\n".join(report.lines())
    assert "progress.increases" in [group.finding.rule.id for group in report.groups]


def test_a_second_header_begins_another_session(tmp_path):
    one = lines_of("""
        on stdio 2025-06-18
        C #1 tools/list
        S #1 {"tools": []}
    """, tmp_path, "one.jsonl").read_text()
    (tmp_path / "both.jsonl").write_text(one + one)
    assert recorded(str(tmp_path / "both.jsonl"), {}).groups == []


@pytest.mark.parametrize("status, left", [(404, 0), (200, 1)])
def test_a_request_that_http_refuses_has_got_an_answer(status, left):
    report = judged("""
        on http 2025-11-25
        C [3] #1 tools/list
        S [3] %d {"Content-Type": "application/json"}
        S [3] end
    """ % status)
    assert len(report.checker.unanswered()) == left
    assert ("its HTTP exchange ended without it" in "\n".join(report.lines())) == bool(left)
