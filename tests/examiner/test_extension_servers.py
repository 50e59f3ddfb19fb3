"""The examiner and skills and apps: what our server has of them is read, and everything is kept."""
import pathlib

import pytest

from mcp_ref import Server
from mcp_ref.devtools.examiner.examination import BROKEN, KEPT
from tests.examiner.test_servers import LAST, code, examined, fails
from tests.support.skill_folders import make_folder

SCENES = ["skills", "skill-directories", "apps"]


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Server:
    made = Server("extensions", "1")
    made.skills(make_folder(tmp_path))

    @made.tool(read_only=True, ui="ui://clock/page")
    def clock() -> str:
        return "12:00"

    made.app("ui://clock/page", "<!DOCTYPE html><html><body></body></html>")
    return made


def test_our_extensions_keep_everything(server: Server) -> None:
    chapter = examined(server, LAST, SCENES)
    assert not chapter.refused and chapter.faults == []
    assert chapter.scenes == {name: "" for name in SCENES}
    kept = {row.requirement.id for row in chapter.rows() if row.state == KEPT}
    assert {"skills.skill-md-at-root", "apps.tool-resource-exists"} <= kept


def test_a_page_that_is_not_there_is_named(server: Server) -> None:
    chapter = examined(server, LAST, ["apps"], lambda request, response: code(-32602)(request, fails(
        "resources/read")(request, response)))
    assert "apps.tool-resource-exists" in {row.requirement.id for row in chapter.rows() if row.state == BROKEN}


def test_a_server_without_extensions_is_not_examined() -> None:
    chapter = examined(Server("plain", "1"), LAST, SCENES)
    assert chapter.faults == [] and all(chapter.scenes.values())
