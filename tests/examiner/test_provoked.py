"""What an observer cannot decide of a server, or only in part, the examiner provokes: a scene for each row at MUST.

The rows and what would provoke them are those of a first judgement that lies beside the specification, observer.tsv.
What no scene exercises stands in NOT_PROVOKED, with the reason.
"""
import csv
from typing import Any, Dict, List

import pytest

from mcp_ref.devtools.examiner.scenes import load
from tests.support.outside import SPEC

LIST = SPEC.parent / "observer.tsv"
REQUIREMENTS = [SPEC / "requirements.tsv", SPEC.parent / "spec-ext" / "requirements.tsv"]
_TOKEN = "it needs a second token, with other scopes, and one is all that the examiner is given"
_IDENTITY = "it needs two identities, and one token is all that the examiner is given"
NOT_PROVOKED: Dict[str, str] = {
    "auth.fallback-server": "a client would have to be registered, and a code asked for, at the server's own "
                            "authorization server",
    "auth.scope-hierarchy": _TOKEN,
    "auth.status-403": _TOKEN,
    "tasks-ext.authorize-each-request": _IDENTITY,
    "tasks.bind-context": _IDENTITY,
    "tasks.context-rejected": _IDENTITY,
    "tasks.no-reliance-on-notification": "it binds who has begun a task, and no task is begun at the examiner, which "
                                         "declares no tasks",
}


def exercised() -> Dict[str, List[str]]:
    """Requirement -> the scenes that decide or provoke it."""
    found: Dict[str, List[str]] = {}
    for name, row in load().items():
        for id in (*row.ids, *row.provokes):
            found.setdefault(id, []).append(name)
    return found


def read(path: Any) -> List[Dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.needs("specification")
def test_what_can_be_provoked_is_provoked() -> None:
    wire = {row["id"] for path in REQUIREMENTS for row in read(path)
            if row["testable"] == "wire" and row["role"] in ("server", "both") and "MUST" in row["level"]}
    asked = {row["id"]: row["provoke"] for row in read(LIST)
             if row["id"] in wire and row["decidable"] != "yes" and row["provoke"]}
    assert len(asked) > 90
    open_rows = {id: text for id, text in asked.items() if id not in exercised()}
    assert {id: open_rows[id] for id in sorted(set(open_rows) - set(NOT_PROVOKED))} == {}
    assert set(NOT_PROVOKED) <= set(asked)


@pytest.mark.parametrize("id", sorted(NOT_PROVOKED))
def test_what_is_left_out_has_a_reason_and_no_scene(id: str) -> None:
    assert NOT_PROVOKED[id] and id not in exercised()
