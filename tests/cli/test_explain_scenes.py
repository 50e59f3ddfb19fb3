"""`explain` of a scene of the examiner, and of a fault that its report names."""
import json

import pytest

from mcp_ref.cli import main
from mcp_ref.cli.learn.explain import describe
from mcp_ref.requirements import requirements
from mcp_ref.devtools.examiner.scenes import load
from mcp_ref.revisions import revision


@pytest.mark.parametrize("name", list(load()))
def test_every_scene_is_known_with_its_requirements(name: str) -> None:
    found, row = describe("scene:" + name), load()[name]
    assert found["kind"] == "scene" and found["text"] == row.text
    assert [each["id"] for each in found["decides"]] == [
        id for id in row.ids if row.ranks.intersection(requirements()[id].ranks())]
    assert [each["id"] for each in found["provokes"]] == list(row.provokes)


def test_a_scene_says_what_is_sent_the_clauses_and_how_to_play_it_alone(capsys) -> None:
    assert main(["explain", "unknown-method"]) == 0
    out = capsys.readouterr().out
    assert "unknown-method  scene" in out and "-32601" in out and "--only unknown-method" in out
    assert requirements()["lifecycle.base-required"].citation.split(" ", 1)[1] in out


def test_a_word_that_is_no_scene_alone_is_one_with_its_kind() -> None:
    assert describe("ping")["kind"] == "method" and describe("scene:ping")["name"] == "ping"


def test_the_id_of_a_fault_leads_to_its_scene_or_requirement() -> None:
    found = describe("lifecycle.base-required:unknown-method")
    assert (found["kind"], found["name"], found["asked"]) == (
        "scene", "unknown-method", "lifecycle.base-required:unknown-method")
    found = describe("progress.increases:1f2e3d4c")
    assert (found["kind"], found["id"]) == ("requirement", "progress.increases")


def test_a_scene_in_one_revision(capsys) -> None:
    assert describe("scene:unknown-method", [revision("2026-07-28")])["revisions"] == ["2026-07-28"]
    assert main(["explain", "scene:session-ids", "--revision", "2026-07-28"]) == 2
    assert main(["explain", "no-such.rule:1f2e3d4c"]) == 2
    assert main(["explain", "scene:unknown-method", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wires"] == ["pipe", "web", "sse"]
