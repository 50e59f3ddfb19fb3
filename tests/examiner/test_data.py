"""What was found at servers of other makers, as `make examined` compares it: whole, and judged."""
import json
import pathlib
from typing import Any, Dict

import pytest

from mcp_ref.requirements import requirements
from mcp_ref.devtools.checker.rules import load as load_rules
from mcp_ref.revisions import REVISIONS

NAMES = {each.name for each in REVISIONS}


@pytest.fixture(scope="module")
def data() -> Dict[str, Any]:
    found: Dict[str, Any] = json.loads((pathlib.Path(__file__).parent / "data" / "servers.json").read_text("utf-8"))
    return found


def test_every_fault_is_judged(data: Dict[str, Any]) -> None:
    for row in data["faults"]:
        assert row["judgement"] and row["citation"] and row["evidence"], row
        assert row["id"] in requirements() or row["id"] in load_rules(), row
        assert row["level"].startswith(("MUST", "SHOULD")), row


def test_every_server_has_what_was_found(data: Dict[str, Any]) -> None:
    known = {(row["family"], row["key"]) for row in data["faults"]}
    named = {(server["family"], key) for server in data["servers"].values() for key in server["faults"]}
    assert known == named
    assert len({server["version"] for server in data["servers"].values()}) >= 15
    for name, server in data["servers"].items():
        assert server["revisions"] and set(server["revisions"]) <= NAMES, name
        assert all(set(spoken) <= set(server["revisions"]) for spoken in server["faults"].values()), name


def test_the_official_suite_agrees_or_there_is_a_reason(data: Dict[str, Any]) -> None:
    assert len(data["suite"]) > 50
    for row in data["suite"]:
        assert row["suite"] == row["examined"] or row["reason"], row
