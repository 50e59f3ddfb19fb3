"""The contributor's map says what is true: its floors, its journeys, its table of these tests.

The journeys are recorded anew, see `tests/tools/journeys.py`; its ``--write`` puts what it records on the page.
"""
import ast
import importlib.util
import pathlib
import re
import subprocess
import sys
from typing import Any, List, Tuple

import pytest

from tests.meta.facts import PACKAGE, ROOT, expect_nothing
from tests.meta.test_layers import LAYERS
from tests.support.patience import WAIT

PAGE = (PACKAGE / "contributing.py").read_text(encoding="utf-8")
TOOL = ROOT / "tests" / "tools" / "journeys.py"
ORDERS = ("", "jsonschema", "jsonschema/regex", "messages", "protocol", "uritemplate")
"""Folders whose docstring names each of their modules and folders: a reading order has to be complete."""
ATTEMPTS = 3
"""Recordings of a journey before it counts as another one: a busy machine can disturb most calls of one recording."""
_spec: Any = importlib.util.spec_from_file_location("journeys", TOOL)
journeys: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(journeys)


def floors() -> List[Tuple[str, ...]]:
    """Return the names of the page, floor by floor."""
    found: List[List[str]] = []
    for number, name in re.findall(r"^(\d*) +`(\w+)`  ", PAGE, re.MULTILINE):
        if number:
            assert int(number) == len(found) + 1
            found.append([])
        found[-1].append(name)
    return [tuple(names) for names in found]


def test_the_floors_are_those_of_the_layers() -> None:
    there = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    wanted = [tuple(name for name in names if name in there) for names in LAYERS]
    assert [set(names) for names in floors()] == [set(names) for names in wanted if names]


def test_the_table_of_tests_has_each_of_them() -> None:
    section = PAGE.split("What the tests of the tree guard\n")[1].split("\n``tests/support``")[0]
    named = re.findall(r"^``(\w+)`` ", section, re.MULTILINE)
    assert named == sorted(path.stem[len("test_"):] for path in pathlib.Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("folder", ORDERS)
def test_a_reading_order_has_every_module(folder: str) -> None:
    path = PACKAGE / folder
    text = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8"))) or ""
    there = {each.stem for each in path.glob("*.py")} | {each.parent.name for each in path.glob("*/__init__.py")}
    named = set(re.findall(r"`(\w+)/?`", text)) | {"__init__", "__main__", "contributing"}
    expect_nothing(["%s is not in the docstring of %s" % (name, folder or "mcp_ref") for name in sorted(there - named)])


def test_the_table_of_what_tests_share_has_every_module() -> None:
    support = ROOT / "tests" / "support"
    named = re.findall(r"^`(\w+)` ", (support / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert named == sorted(path.stem for path in support.glob("*.py") if path.stem != "__init__")


def test_nothing_loads_the_page() -> None:
    code = "import sys, mcp_ref.server, mcp_ref.client; assert 'mcp_ref.contributing' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=str(ROOT), check=True, timeout=WAIT)


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("name", sorted(journeys.JOURNEYS))
def test_a_journey_goes_where_the_page_says(name: str) -> None:
    page = journeys.written().get(name, [])
    for _ in range(ATTEMPTS):
        recorded = journeys.in_a_process(name)
        if recorded == page:
            return
    lost = ["- %s: %s.%s" % hop for hop in page if hop not in recorded]
    new = ["+ %s: %s.%s" % hop for hop in recorded if hop not in page]
    expect_nothing(["%s goes another way now (python3 tests/tools/journeys.py --write):" % name,
                    *(lost + new or ["the same hops in another order"])])


def test_a_hop_is_the_first_function_of_a_thread_in_a_module() -> None:
    file = str(PACKAGE / "jsonrpc.py")
    lines = {name: line for line, name in journeys.names_in(file).items()}
    seen = [("mcp-ref:reader:x", file, lines["parse"]), ("mcp-ref:reader:x", file, lines["encode"]),
            ("MainThread", file, lines["Malformed.__init__"]), ("MainThread", file, lines["encode"]),
            ("a stranger", file, lines["encode"])]
    assert [tuple(hop) for hop in journeys.hops_of(seen)] == [
        ("reader", "jsonrpc", "parse"), ("caller", "jsonrpc", "encode")]
    assert journeys.longest_module("peer.outbox.Outbox.put") == "peer.outbox"
