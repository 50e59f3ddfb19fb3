"""What the checks of the tree read: its files, the specification's requirement list, and which rows the tests claim.

The list of requirements lives in the specification's folder: tests that read it are marked ``needs("specification")``.
"""
import ast
import csv
import functools
import gc
import pathlib
import re
import subprocess
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Set, Tuple

import pytest

from tests.support.outside import SPEC

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "mcp_ref"
BLOCKS = ("body", "handlers", "orelse", "finalbody")
"""The fields of a statement, a module or an ``except`` that have statements."""
TOP_LEVEL = {"setup.cfg", "mcp_ref", "tests", "examples", "Makefile", "README.md"}

freeze: Callable[[], None] = getattr(gc, "freeze", lambda: None)  # PyPy has none


@functools.lru_cache(maxsize=None)
def files() -> Tuple[pathlib.Path, ...]:
    """Every file that git tracks or would add; without git (a copy of the tree), all below the top level's names."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=str(ROOT),
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.decode("utf-8").split("\0") if name]
    else:
        found = [path for name in sorted(TOP_LEVEL) for path in [ROOT / name, *sorted((ROOT / name).rglob("*"))]]
    return tuple(path for path in found if path.is_file() and path.suffix != ".pyc")


def python_files(*folders: str) -> List[pathlib.Path]:
    """The Python files below some folders of the checkout."""
    return [path for path in files() if path.suffix == ".py" and shown(path).split("/")[0] in folders]


def shown(path: pathlib.Path) -> str:
    """A file as a failure names it: below the checkout."""
    return path.relative_to(ROOT).as_posix()


@functools.lru_cache(maxsize=None)
def text_of(path: pathlib.Path) -> str:
    """A file's text."""
    return path.read_text(encoding="utf-8")


@functools.lru_cache(maxsize=None)
def tree_of(path: pathlib.Path) -> ast.Module:
    """A Python file's syntax tree, read with the grammar of 3.8.

    All trees together are millions of objects, which the garbage collector would go through again and again: each tree
    is kept out of its sight. `tests/conftest.py` forgets them when the last test of a folder is over.
    """
    gc.disable()
    try:
        return ast.parse(text_of(path), shown(path), feature_version=(3, 8))
    finally:
        freeze()
        gc.enable()


@functools.lru_cache(maxsize=None)
def nodes_of(path: pathlib.Path) -> List[ast.AST]:
    """All nodes of that tree."""
    return list(ast.walk(tree_of(path)))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that `ast.walk` finds, expressions aside: all imports, functions and classes, in its order."""
    left = [tree]
    for node in left:
        yield node
        for block in BLOCKS:
            left += getattr(node, block, ())


def forget_trees() -> None:
    """Give the memory back."""
    nodes_of.cache_clear()
    tree_of.cache_clear()


def imported_names(node: ast.AST) -> List[str]:
    """Absolute names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def expect_nothing(found: List[str]) -> None:
    """Fail with one line per finding."""
    if found:
        pytest.fail("\n".join(found), pytrace=False)


class Requirement(NamedTuple):
    """A row of the specification's requirement list."""

    id: str
    level: str
    revisions: Tuple[str, ...]
    role: str
    area: str
    testable: str


@functools.lru_cache(maxsize=None)
def requirements() -> Dict[str, Requirement]:
    """The requirement list by id, with the rows of the extensions."""
    found: Dict[str, Requirement] = {}
    for table in (SPEC / "requirements.tsv", SPEC.parent / "spec-ext" / "requirements.tsv"):
        with open(str(table), encoding="utf-8", newline="") as rows:
            found.update((row["id"], Requirement(
                row["id"], row["level"], tuple(row["revisions"].split(",")), row["role"], row["area"], row["testable"],
            )) for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))
    return found


@functools.lru_cache(maxsize=None)
def claims() -> Dict[str, str]:
    """Requirement id -> `file:line` of a `spec` marker that names it (read from the source, so every form counts)."""
    found: Dict[str, str] = {}
    for path in _with_markers():
        for call in _spec_markers(nodes_of(path)):
            for part in [part for argument in call.args for part in ast.walk(argument)]:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found.setdefault(part.value, "%s:%d" % (shown(path), call.lineno))
    return found


@functools.lru_cache(maxsize=None)
def claims_without_handshake() -> FrozenSet[str]:
    """The requirement ids that a test claims which runs on the wire of the stateless era.

    Such a test says so: by `every_revision_of`, `over` or `STATELESS` somewhere in it, or by a name that its module
    makes with these; or by "stateless", "modern" or "mrtr" in the name of its file.
    """
    found: Set[str] = set()
    for path in _with_markers():
        whole = any(word in path.name for word in ("stateless", "modern", "mrtr"))
        tree = tree_of(path)
        telling = {"every_revision_of", "STATELESS", "over"}
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.Assign) and _names(node.value) & telling:
                telling = telling.union(*map(_names, node.targets))
        for function in statements(tree):
            if isinstance(function, ast.FunctionDef) and (whole or _names(function) & telling):
                for call in _spec_markers(ast.walk(function)):
                    found.update(part.value for argument in call.args for part in ast.walk(argument)
                                 if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return frozenset(found)


def _with_markers() -> List[pathlib.Path]:
    return [path for path in python_files("tests") if "spec(" in text_of(path)]


def _names(function: ast.AST) -> Set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def _spec_markers(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and "spec" in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
            yield node


class Citation(NamedTuple):
    """A citation of the specification as it stands in a text; `heading` is "" where only a page is cited."""

    window: str
    page: str
    heading: str
    line: int


DATE = r"20\d\d-\d\d-\d\d"
START = re.compile(r"\[(?=(?:(?:\.\.)?%s(?:\.\.)?(?:%s)?|\.\.)\s)([^\[\]]*)\]" % (DATE, DATE))
FORM = re.compile(r"(%s|%s\.\.|\.\.%s|%s\.\.%s|\.\.) ([^\s§]+)(?: §(.+))?$" % (DATE, DATE, DATE, DATE, DATE))


def citations(text: str) -> Iterator[Citation]:
    """Every citation of the specification in a text; a broken line inside one (in a comment too) counts as a space.

    What begins like one, a bracket and a revision, but is not of the form `[<revisions> <page> §<Heading>]` comes with
    an empty page.
    """
    for found in START.finditer(text):
        inside = re.sub(r"\s*\n\s*(?:#:?\s*)?", " ", found.group(1))
        form = FORM.match(inside)
        window, page, heading = form.groups("") if form else (inside, "", "")
        yield Citation(window, page, heading, text.count("\n", 0, found.start()) + 1)
