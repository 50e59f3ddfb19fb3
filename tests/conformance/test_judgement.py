"""What `make conformance` makes of results: nothing that is not listed passes, and nothing listed may lack."""
import importlib
import json
import pathlib
import sys
from typing import Any, Dict, List

import pytest

TOOLS = str(pathlib.Path(__file__).resolve().parents[1] / "tools")


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, TOOLS)  # the tools import one another by their bare names
    try:
        return importlib.import_module("conformance")
    finally:
        sys.path.remove(TOOLS)


def check(name: str, status: str = "SUCCESS", **more: Any) -> Dict[str, Any]:
    return {"id": name, "status": status, **more}


EXPECTED = {"ping": ["INFO session", "ping"], "list": ["list"]}
GOOD = {"ping": [check("ping"), check("session", "INFO"), check("ping")], "list": [check("list")]}


def judged(tool: Any, **changed: Any) -> List[str]:
    checks = {**GOOD, **changed}
    return list(tool.judge({name: made for name, made in checks.items() if made is not None}, EXPECTED))


def test_what_is_listed_passes_however_often_a_check_was_made(tool):
    assert judged(tool) == []


@pytest.mark.parametrize("changed, problem", [
    ({"list": [check("list"), check("list", "FAILURE", errorMessage="no name")]}, "list: list: FAILURE no name {}"),
    ({"list": [check("list"), check("other", "WARNING", details={"a": 1})]}, 'list: other: WARNING  {"a": 1}'),
    ({"list": [check("list"), check("list", "ODD")]}, "list: list: ODD  {}"),
    ({"list": None}, "list: has not run"),
    ({"more": [check("more")]}, "more: is not in expected.json"),
    ({"list": []}, "list: lacks the check: list"),
    ({"ping": [check("ping")]}, "ping: lacks the check: INFO session"),
    ({"list": [check("list", "SKIPPED")]}, "list: a check not in expected.json: SKIPPED list"),
    ({"list": [check("list", "SKIPPED", description="Lists.")]}, "list: list: SKIPPED, and no reason is known: Lists."),
    ({"ping": [*GOOD["ping"], check("new")]}, "ping: a check not in expected.json: new"),
])
def test_everything_else_is_a_problem(tool, changed, problem):
    assert problem in judged(tool, **changed)


def test_the_results_of_a_scenario_are_found_in_its_folder_whatever_its_name(tool, tmp_path):
    for name in ("sse-retry-2026-11-21T22-48-14-610Z", "auth/metadata-var1-2026-11-21T22-48-14-610Z"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "checks.json").write_text(json.dumps([check(name[:4])]))
    assert tool.read(tmp_path) == {"sse-retry": [check("sse-")], "auth/metadata-var1": [check("auth")]}


LIST = """Required for 2025-11-25 (48 scenarios, frozen; run at the 2025-11-25 wire):

Server scenarios (test against a server):
  - ping

Client scenarios (test against a client):
  - initialize [2025-06-18,2025-11-25]
  - auth/metadata-default

Run and reported, but never scored:
  extension (6):
    - auth/dpop [client]
    - server-sse-polling [server]
"""


def test_the_scenarios_for_clients_are_read_from_the_suites_own_list(tool, monkeypatch):
    class Done:
        stdout = LIST

    monkeypatch.setattr(tool.Suite, "call", lambda self, *arguments: Done)
    found = tool.Suite("node", "index.js").client_scenarios(["--requirements", "2025-11-25"])
    assert found == ["initialize", "auth/metadata-default", "auth/dpop"]


def test_no_scenario_is_left_out_without_a_reason_and_none_is_made_up(tool, monkeypatch):
    monkeypatch.setattr(tool, "LEFT_OUT", {"tasks-": "it is not there yet"})
    leg = "client 2025-06-18"
    chosen = list(tool.CLIENT_LEGS[leg][1])
    available = [*chosen, "tasks-x", "surprise"]
    assert list(tool.left_out(leg, available)) == ["surprise: neither chosen nor left out for a reason"]
    chosen.remove("tools_call")
    assert list(tool.left_out(leg, chosen)) == ["tools_call: the suite has no such scenario"]


def test_what_is_skipped_for_a_known_reason_passes_if_it_is_listed(tool):
    for description in tool.SKIPPED:
        made = {"ping": [check("ping", "SKIPPED", description=description)]}
        assert not list(tool.judge(made, {"ping": ["SKIPPED ping"]}))
        assert list(tool.judge(made, {"ping": ["ping"]})) == [
            "ping: lacks the check: ping", "ping: a check not in expected.json: SKIPPED ping"]


def test_a_reason_to_skip_names_a_test_of_our_own_that_exists(tool):
    for reason in tool.SKIPPED.values():
        path, name = reason.rsplit(" ", 1)[1].split("::")
        assert "def %s(" % name in (tool.ROOT / path).read_text(encoding="utf-8")


def test_the_leg_that_is_asked_for_everything_leaves_out_what_no_other_leg_has(tool):
    chosen = [name for _, names in tool.CLIENT_LEGS.values() for name in names]
    assert list(tool.left_out("client 2026-07-28 all", [*chosen, "surprise"])) == [
        "surprise: neither chosen nor left out for a reason"]


def test_every_leg_has_its_list(tool):
    assert sorted(json.loads(tool.EXPECTED.read_text())) == sorted([*tool.SERVER_LEGS, *tool.CLIENT_LEGS])
