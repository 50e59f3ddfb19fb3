"""The tree as a whole: what stands at the top, and what no file may contain."""
import re

import pytest

from tests.meta.facts import ROOT, TOP_LEVEL, expect_nothing, files, shown

MADE_HERE = {"build", "dist", "mcp_ref.egg-info", "__pycache__"}  # ignored by git
# Brackets keep these patterns from finding themselves.
OF_ONE_MACHINE = re.compile(r"/w[o]rk/|/r[o]ot/|/h[o]me/[a-z]|/tmp/[b]ash|py[p]i\.org|registry\.npm[j]s|pythonh[o]sted")


def test_top_level_holds_what_it_should_and_nothing_else() -> None:
    present = {entry.name for entry in ROOT.iterdir() if not entry.name.startswith(".")} - MADE_HERE
    expect_nothing(["unexpected: " + name for name in sorted(present - TOP_LEVEL)]
                   + ["missing: " + name for name in sorted(TOP_LEVEL - present)])


def test_no_file_names_a_path_of_one_machine_or_a_registry_host() -> None:
    expect_nothing(["%s:%d: %s" % (shown(path), number, line.strip()[:100])
                    for path in files()
                    for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1)
                    if OF_ONE_MACHINE.search(line)])


def test_nothing_but_ci_looks_for_a_folder_beside_the_checkout() -> None:
    """A clone stands alone: the variables of `tests.support.outside` name what is not part of the project."""
    beside = re.compile(r"\.\./s[h]ared|ROOT\.pare[n]t\b")
    expect_nothing(["%s: %s" % (shown(path), found) for path in files() if shown(path) != ".ci/run"
                    for found in beside.findall(path.read_bytes().decode("utf-8", "replace"))])


@pytest.mark.parametrize("name", ["setup.cfg", "Makefile", "mcp_ref/LICENSE", "mcp_ref/py.typed", ".ci/run"])
def test_fixed_file_is_there(name: str) -> None:
    assert (ROOT / name).is_file()


def test_the_table_of_what_tests_use_is_whole() -> None:
    folder = ROOT / "tests" / "support"
    table = set(re.findall(r"^`(\w+)` ", (folder / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE))
    assert table == {path.stem for path in folder.glob("*.py")} - {"__init__"}
