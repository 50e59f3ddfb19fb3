"""What an observer cannot decide of a client, or only in part: a scene for each row at MUST, or the reason for none.

See `test_provoked`, which has the same for servers.
"""
from typing import Dict, Set

import pytest

from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.wiretrace import CLIENT
from tests.examiner.test_provoked import LIST, REQUIREMENTS, read

_RECEIVES = "it binds who runs a task: the scripted server asks a client for none, beside one that is not declared"
_IDENTITY = "it binds who runs tasks for several identities, which a client does not: it has one server"
FAMILIES: Dict[str, str] = {
    "skills.": "the scripted server has no skills",
    "apps.": "the scripted server has no pages",
}
"""The beginnings of ids that no scene for clients is about yet, with the reason."""
NOT_PROVOKED: Dict[str, str] = {
    **dict.fromkeys(("tasks.bind-context", "tasks.context-rejected", "tasks.context-list"), _IDENTITY),
    **dict.fromkeys((
        "tasks.ttl-reported", "tasks.result-exact", "tasks.result-error", "tasks.id-param-authoritative",
        "tasks.related-metadata-ignored", "tasks.list-next-cursor", "tasks.progress-token-lifetime",
        "tasks.id-entropy"), _RECEIVES),
    "tasks.related-metadata-elicitation": "it binds who asks in the name of a task, which is the server",
    "tasks-ext.client-handles-both-results": "the scripted server does not have that extension",
    "completion.validate-inputs": "it binds who answers completion/complete, which is the server",
    "errors.reserved-range-meaning": "a client of that revision sends no responses, and so no codes",
    "extension.fallback": "the scripted server has no extension that a client could use",
    "roots.list-changed": "nothing that a server sends changes the roots of a client",
}


def exercised() -> Set[str]:
    return {id for row in load(CLIENT).values() for id in (*row.ids, *row.provokes)}


@pytest.mark.needs("specification")
def test_what_can_be_provoked_of_clients_is_provoked() -> None:
    wire = {row["id"] for path in REQUIREMENTS for row in read(path)
            if row["testable"] == "wire" and row["role"] in ("client", "both") and "MUST" in row["level"]}
    asked = {row["id"]: row["provoke"] for row in read(LIST)
             if row["id"] in wire and row["decidable"] != "yes" and row["provoke"]}
    assert len(asked) > 60
    left = {id for id in asked if id not in exercised() and not id.startswith(tuple(FAMILIES))}
    assert {id: asked[id] for id in sorted(left - set(NOT_PROVOKED))} == {}
    assert set(NOT_PROVOKED) <= set(asked) and all(any(id.startswith(each) for id in asked) for each in FAMILIES)


@pytest.mark.parametrize("id", sorted(NOT_PROVOKED))
def test_what_is_left_out_of_clients_has_a_reason_and_no_scene(id: str) -> None:
    assert NOT_PROVOKED[id] and id not in exercised()
