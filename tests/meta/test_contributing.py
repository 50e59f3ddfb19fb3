"""The page for contributors says what is true, and the docstring of the package is a complete reading order."""
import ast
import importlib.util
import pydoc
import re
from typing import Any

import pytest

from tests.meta.facts import PACKAGE, ROOT, expect_nothing

PAGE = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOOL = ROOT / "tests" / "tools" / "journeys.py"
ORDERS = ("", "jsonschema", "jsonschema/regex", "messages", "protocol", "uritemplate")
"""Folders whose docstring names each of their modules and folders: a reading order has to be complete."""
ATTEMPTS = 3
"""Recordings of a journey before it counts as another one: a busy machine can disturb a call."""
_spec: Any = importlib.util.spec_from_file_location("journeys", TOOL)
journeys: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(journeys)


@pytest.mark.parametrize("folder", ORDERS)
def test_a_reading_order_has_every_module(folder: str) -> None:
    path = PACKAGE / folder
    text = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8"))) or ""
    there = {each.stem for each in path.glob("*.py")} | {each.parent.name for each in path.glob("*/__init__.py")}
    named = set(re.findall(r"`(\w+)/?`", text)) | {"__init__", "__main__"}
    expect_nothing(["%s is not in the docstring of %s" % (name, folder or "mcp_ref") for name in sorted(there - named)])


def test_the_table_of_what_tests_share_has_every_module() -> None:
    support = ROOT / "tests" / "support"
    named = re.findall(r"^`(\w+)` ", (support / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert named == sorted(path.stem for path in support.glob("*.py") if path.stem != "__init__")


def test_what_the_page_points_to_is_there() -> None:
    named = re.findall(r"`([a-z_0-9]+(?:\.\w+)+)`", PAGE.split("## Where is ...")[1].split("\n#")[0])
    assert len(named) > 10
    expect_nothing(["%s is nowhere" % name for name in named if pydoc.locate("mcp_ref." + name) is None])
    assert pydoc.locate("mcp_ref.peer.inflight.Inflight.nowhere") is None


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("name", sorted(journeys.JOURNEYS))
def test_a_journey_passes_what_the_page_names_in_that_order(name: str) -> None:
    named = re.findall(r"^\d\. `([\w.]+)` ", PAGE.split("### %s\n" % name)[1].split("\n#")[0], re.MULTILINE)
    assert len(named) == 8
    for _ in range(ATTEMPTS):
        calls = journeys.in_a_process(name)
        if any([each for each in passed if each in named] == named for passed in calls):
            return
    expect_nothing(["%s passes no %s (python3 tests/tools/journeys.py)" % (name, each)
                    for each in named if each not in calls[-1]]
                   or ["%s: another order: %s" % (name, [each for each in calls[-1] if each in named])])


def test_a_function_is_where_a_thread_of_the_package_enters_it_first() -> None:
    file = str(PACKAGE / "jsonrpc.py")
    lines = {name: line for line, name in journeys.names_in(file).items()}
    seen = [("mcp-ref:reader:x", file, lines["parse"]), ("a stranger", file, lines["to_object"]),
            ("mcp-ref:reader:x", file, lines["encode"]), ("MainThread", file, lines["Malformed.__init__"]),
            ("MainThread", file, lines["parse"])]
    assert journeys.functions_of(seen) == ["jsonrpc.parse", "jsonrpc.encode", "jsonrpc.Malformed.__init__"]
