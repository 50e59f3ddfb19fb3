"""Every example runs alone, asserts what it shows, and ends with 0."""
import ast
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support.patience import WAIT

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("[0-9]*.py")))
def test_example_runs_and_ends_well(name, tmp_path):
    done = subprocess.run([sys.executable, str(FOLDER / name)], cwd=str(tmp_path), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr


def test_the_index_has_every_example_once_in_order_and_says_how_to_run_it():
    rows = [line.split("|")[1:3] for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("| `")]
    named = [re.findall(r"examples/(\w+\.py)", run) for run, _ in rows]
    numbered = sorted(path.name for path in FOLDER.glob("[0-9]*.py"))
    assert [name for names in named for name in names][:len(numbered)] == numbered
    assert sorted(name for names in named for name in names) == sorted(path.name for path in FOLDER.glob("*.py"))
    assert all(run.strip().startswith("`python3 ") and about.strip() for run, about in rows)


def test_recipes_for_hosts_are_short_begin_with_how_to_install_them_and_stand_in_the_index():
    recipes = sorted((FOLDER / "hosts").glob("*.py"))
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[hosts/(\w+\.py)\]\(hosts/\1\) \|", index, re.M)
    assert recipes and sorted(rows) == [path.name for path in recipes]
    for path in recipes:
        text = path.read_text(encoding="utf-8")
        page = ast.get_docstring(ast.parse(text))
        assert len(text.splitlines()) <= 60, path.name
        assert "By hand" in page and "MCP_TOKEN=" in page and "mcp_ref config http://" in page, path.name


def test_the_echo_server_registers_as_many_tools_as_asked():
    from mcp_ref import connect

    with connect([sys.executable, str(FOLDER / "echo_server.py"), "--tools", "30"]) as client:
        assert len(list(client.tools())) == 34
        assert client.call_tool("echo_29", {"text": "x"}).content[0].text == "x"


OPENING = ["C initialize", "S result", "C notifications/initialized", "C tools/call"]
FORM = ["S elicitation/create", "C result"]
MODEL_AND_ROOTS = ["S sampling/createMessage", "C result", "S roots/list", "C result", "S result"]
LADDERS = {
    "2024-11-05": [*OPENING, *MODEL_AND_ROOTS],
    "2025-03-26": [*OPENING, *MODEL_AND_ROOTS],
    "2025-06-18": [*OPENING, *FORM, *MODEL_AND_ROOTS],
    "2025-11-25": [*OPENING, *FORM, *MODEL_AND_ROOTS],
    "2026-07-28": [
        "C server/discover", "S result", "C tools/call", "S input_required elicitation", "C tools/call + answers",
        "S input_required sampling", "C tools/call + answers", "S input_required roots", "C tools/call + answers",
        "S result",
    ],
}


@pytest.fixture(scope="module")
def deploying():
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("16_five_revisions")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("revision", sorted(LADDERS))
def test_one_unchanged_tool_asks_in_the_way_of_each_revision(deploying, revision):
    said, ladder = deploying.conversation(revision)
    assert said == "shop runs in eu-west as blue-whale, from file:///srv/shop"
    assert ["%s %s" % (rung.direction[0].upper(), rung.label) for rung in ladder] == LADDERS[revision]


def test_the_ladders_stand_side_by_side(deploying, capsys):
    deploying.main()
    title, *rows = capsys.readouterr().out.splitlines()
    assert title.split() == sorted(LADDERS)
    assert len(rows) == max(map(len, LADDERS.values()))
    assert "< input_required elicitation" in rows[3] and "tools/call + answers ------>" in rows[4]
