"""The examples in docstrings run as they stand.

`MANUALS` lists modules whose docstrings are manuals. Each block that follows a line with ``::`` at its end is run, in
the way that `test_readme` runs the blocks of README: as Python, or in a shell the lines that begin with ``$ ``. A block
whose first line is ``# not run: reason`` is not run; its names have to be there nevertheless. Examples with ``>>>`` are
run in every module that has some.
"""
import doctest
import importlib
import pathlib
from typing import Iterator, List, Tuple

import pytest

from tests.meta.facts import PACKAGE, ROOT, python_files, shown, text_of, tree_of
from tests.meta.test_readme import Block, run, undefined

MANUALS = ("mcp_ref/auth/__init__.py", "mcp_ref/auth/jose.py", "mcp_ref/auth/server/verifiers.py",
           "mcp_ref/devtools/checker/live.py")
NOT_RUN = "# not run:"


def literal_blocks(text: str, first: int = 1) -> Iterator[Block]:
    """The literal blocks of a docstring: what is indented below a line that ends with ``::``."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        number += 1
        if not lines[number - 1].endswith("::"):
            continue
        outer = len(lines[number - 1]) - len(lines[number - 1].lstrip())
        begin = number
        while number < len(lines) and (not lines[number].strip() or
                                       len(lines[number]) - len(lines[number].lstrip()) > outer):
            number += 1
        found = [line[outer + 4:] for line in lines[begin:number]]
        while found and not found[0].strip():
            found.pop(0)
            begin += 1
        reason = ""
        if found and found[0].startswith(NOT_RUN):
            reason = found.pop(0)[len(NOT_RUN):].strip()
            begin += 1
        language = "console" if any(line.startswith("$ ") for line in found) else "python"
        yield Block(first + begin, language, "\n".join(found).rstrip() + "\n", reason)


def blocks_of(path: pathlib.Path) -> List[Block]:
    """The blocks in the docstring of a module."""
    node = tree_of(path).body[0]
    value = getattr(getattr(node, "value", None), "value", None)
    return list(literal_blocks(value, node.lineno)) if isinstance(value, str) else []


ALL: List[Tuple[str, Block]] = [(name, block) for name in MANUALS for block in blocks_of(ROOT / name)]


def named(runs: bool) -> List[object]:
    """The blocks that are run, or those that are not, each with its place."""
    return [pytest.param(block, id="%s:%d" % (name, block.line)) for name, block in ALL if block.runs == runs]


@pytest.mark.parametrize("block", named(True))
def test_a_block_of_a_manual_runs(block: Block, tmp_path: pathlib.Path) -> None:
    done = run(block, tmp_path)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("block", named(False))
def test_a_block_that_is_not_run_says_why_and_has_all_that_it_uses(block: Block) -> None:
    assert block.reason
    if block.language == "python":
        assert undefined(block) == []


def test_each_manual_has_blocks() -> None:
    assert [name for name in MANUALS if name not in {name for name, block in ALL}] == []


@pytest.mark.parametrize("text, expected", [
    ("A page::\n\n    import mcp_ref\n    x = 1\n\nAnd more.", [(3, "python", "import mcp_ref\nx = 1\n", "")]),
    ("A::\n\n    a = 1\n\n    b = 2\n\nB::\n\n    c = 3\n",
     [(3, "python", "a = 1\n\nb = 2\n", ""), (9, "python", "c = 3\n", "")]),
    ("A::\n\n    # not run: opens a browser\n    a = 1\n", [(4, "python", "a = 1\n", "opens a browser")]),
    ("A::\n\n    $ ls\n    out\n", [(3, "console", "$ ls\nout\n", "")]),
    ("No block: here.\n", []),
])
def test_blocks_are_found(text: str, expected: List[Tuple[int, str, str, str]]) -> None:
    assert [tuple(block) for block in literal_blocks(text)] == expected


def test_a_block_that_fails_is_seen(tmp_path: pathlib.Path) -> None:
    block, = literal_blocks("A::\n\n    import mcp_ref.nothing\n")
    assert block.runs and run(block, tmp_path).returncode == 1


@pytest.mark.parametrize("path", [pytest.param(path, id=shown(path)) for path in python_files("mcp_ref")
                                  if ">>> " in text_of(path)])
def test_prompted_examples_hold(path: pathlib.Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
