"""The forms of a report: what those who read them need is there, with and without faults, and of hostile input."""
import json
import pathlib
import sys
from shlex import quote
from typing import Any, List
from xml.etree import ElementTree

import pytest

from mcp_ref.cli import main
from tests.cli.test_examine import BAD

SCENES = ["--only", "unknown-method", "--only", "ping", "--only", "bad-cursor"]
HOSTILE = ["--only", "hostile-cut:3", "--only", "hostile-cut:9", "--seed", "1"]
LEVELS = {"error", "warning", "note", "none"}


@pytest.fixture
def bad(tmp_path: pathlib.Path) -> List[str]:
    path = tmp_path / "a bad server.py"
    path.write_text(BAD)
    return ["%s %s" % (quote(sys.executable), quote(str(path))), "--revision", "2025-11-25"]


def said(capsys: Any, *words: str) -> str:
    assert main(["examine", *words]) in (0, 1)
    return str(capsys.readouterr().out)


@pytest.mark.parametrize("more", [SCENES, [*SCENES, *HOSTILE], HOSTILE], ids=["scenes", "both", "hostile"])
def test_sarif_has_what_its_schema_needs(capsys: Any, bad: List[str], more: List[str]) -> None:
    log = json.loads(said(capsys, *bad, *more, "--format", "sarif"))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert driver["name"] and len(ids) == len(set(ids)) and run["results"]
        for result in run["results"]:
            assert result["message"]["text"] and result["level"] in LEVELS and result["ruleId"] in ids
            assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]
            assert all(isinstance(each, str) for each in result["partialFingerprints"].values())
    assert any(result["level"] == "note" for result in log["runs"][0]["results"]) == (HOSTILE[0] in more and (
        HOSTILE[1] in more))


@pytest.mark.parametrize("more", [SCENES, [*SCENES, *HOSTILE]], ids=["scenes", "both"])
def test_junit_counts_what_it_has(capsys: Any, bad: List[str], more: List[str]) -> None:
    root = ElementTree.fromstring(said(capsys, *bad, *more, "--format", "junit"))
    assert root.tag == "testsuites" and root.get("name") and len(root) == 1 + (more is not SCENES)
    for suite in root:
        cases = list(suite)
        assert {case.tag for case in cases} == {"testcase"} and suite.get("name")
        assert int(suite.get("tests") or 0) == len(cases) > 0
        for attribute, tag in (("failures", "failure"), ("skipped", "skipped")):
            assert int(suite.get(attribute) or 0) == sum(case.find(tag) is not None for case in cases)
        assert all(case.get("name") and case.get("classname") for case in cases)
        assert {part.tag for case in cases for part in case} <= {"failure", "skipped", "system-out"}


def test_a_badge_has_its_four_members(capsys: Any, bad: List[str]) -> None:
    badge = json.loads(said(capsys, *bad, *SCENES, "--format", "badge"))
    assert badge == {"schemaVersion": 1, "label": "MCP", "message": "1 broken", "color": "red"}


def test_a_fault_ends_with_how_to_repeat_it_and_to_read_about_it(capsys: Any, bad: List[str]) -> None:
    lines = said(capsys, *bad, *SCENES).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("BROKEN: "))
    block = lines[at:lines.index("", at)]
    assert block[-2:] == ["  again: examine SERVER --revision 2025-11-25 --only unknown-method",
                          "  more: explain lifecycle.base-required:unknown-method"]
    assert max(map(len, lines)) <= 100
    assert main(["explain", "lifecycle.base-required:unknown-method"]) == 0


def test_a_report_without_faults_says_so(capsys: Any, bad: List[str]) -> None:
    assert "no fault was found" in said(capsys, *bad, "--only", "ping")


def test_the_list_tells_revisions_and_requirements(capsys: Any) -> None:
    lines = said(capsys, "-", "--list").splitlines()
    at = lines.index("no-session  (2025-03-26 to 2025-11-25; web)")
    assert lines[at + 2] == "    decides http.session-missing-400" and max(map(len, lines)) <= 100
