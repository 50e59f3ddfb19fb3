"""The layout is a reading order: a module imports from lower levels only.

`LAYERS` is that order as data, one level per line, from the bottom. A name is a module or a folder of `mcp_ref`, or
one of `mcp_ref.ext` or `mcp_ref.devtools`. Names of one level do not import each other, unless `BESIDE` lists the
pair. Inside a folder imports go either way as long as no circle arises. Imports inside functions count like any other:
a circle kept alive by a late import is one. Imports for the type checker alone go down the layers too, but make no
circle: nothing is loaded.

The core loads nothing of the wings. `DOORS` are the modules of the core that look up an extension when somebody uses
it; they do so inside a function.
"""
import ast
import functools
import pathlib
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

import pytest

from mcp_ref.cli import HOMES
from tests.meta.facts import (
    PACKAGE, expect_nothing, imported_names, python_files, shown, statements, text_of, tree_of,
)

LAYERS: Tuple[Tuple[str, ...], ...] = (
    ("version", "revisions", "deadline", "urls", "sqlitefile", "yaml"),
    ("diagnostics", "options", "requirements"),
    ("limits", "deprecations"),
    ("errors",),
    ("jsontext", "uritemplate", "jsonschema", "model", "threads"),
    ("jsonrpc", "readers"),
    ("codec", "forgiving"),
    ("messages",),
    ("methods",),
    ("protocol", "wiretrace"),
    ("transports", "stores"),
    ("http11",),
    ("streamable",),
    ("peer",),
    ("server", "client", "auth"),
    ("host", "testing"),
    ("ext/skills", "ext/tasks", "ext/apps", "ext/stores", "ext/auth"),
    ("devtools/ladder", "devtools/recorder", "devtools/checker"),
    ("devtools/bridge", "devtools/inspector", "devtools/crosscheck", "devtools/examiner"),
    ("devtools/playback",),
    ("cli",),
    ("__main__",),
)
WINGS = ("ext", "devtools", "cli", "__main__")
DOORS: Dict[str, Tuple[str, ...]] = {
    "auth": ("ext/auth",),
    "client": ("ext/tasks", "ext/skills"),
    "host": ("ext/skills",),
    "server": ("ext/tasks", "ext/skills", "ext/apps", "ext/stores"),
    "streamable": ("ext/stores",),
}
"""Folder of the core -> the extensions that it looks up when they are used."""
BESIDE: Set[Tuple[str, str]] = {("codec", "forgiving")}  # (importer, imported) of one level
# The judge is independent of what it judges.
CHECKER_MAY_USE = {"devtools/checker", "wiretrace"}.union(*LAYERS[:9])
# The examiner talks to what it examines, by nothing that knows what is right.
EXAMINER_MAY_NOT_USE = {"peer", "server", "client", "host", "auth", "protocol"}
MOST_MODULES = 22
MOST_LINES = 500
# Modules that have one importer, which loads them at once, and that are still better read by themselves.
APART: Dict[str, str] = {
    "devtools/checker/pages/basic/mrtr": "a page of the specification",
    "devtools/examiner/clients/stub": "a program that clients start",
}
# HTTP/1.1 is a library of its own, and knows nothing of what is sent over it.
HTTP_MAY_NOT_USE = {"revisions", "model", "readers", "jsontext", "jsonrpc", "codec", "messages", "methods", "protocol"}

LEVEL: Dict[str, int] = {name: number for number, names in enumerate(LAYERS) for name in names}
MODULES: Dict[Tuple[str, ...], pathlib.Path] = {}
for _path in python_files("mcp_ref"):
    _parts = _path.relative_to(PACKAGE).with_suffix("").parts
    MODULES[_parts[:-1] if _parts[-1] == "__init__" else _parts] = _path


class Edge(NamedTuple):
    """One import of one module of the package by another; () is the package itself."""

    importer: Tuple[str, ...]
    imported: Tuple[str, ...]
    line: int
    kind: str  # eager, late (inside a function) or typing

    def __str__(self) -> str:
        names = ["/".join(part) or "the package" for part in (self.importer, self.imported)]
        return "%s:%d imports %s" % (names[0], self.line, names[1])


def edges_of(module: Tuple[str, ...], is_folder: bool, tree: ast.AST) -> Iterator[Edge]:
    """The imports inside the package that one module makes, at its top or inside functions."""
    nodes = list(statements(tree))
    kinds = {id(inner): "late" for node in nodes if isinstance(node, ast.FunctionDef) for inner in statements(node)}
    kinds.update({id(inner): "typing" for node in nodes if isinstance(node, ast.If)
                  and "TYPE_CHECKING" in ast.dump(node.test) for part in node.body for inner in statements(part)})
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            here = module if is_folder else module[:-1]
            base = here[:len(here) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
            for alias in node.names:
                target = base + (alias.name,)
                yield Edge(module, target if target in MODULES else base, node.lineno, kinds.get(id(node), "eager"))


@functools.lru_cache(maxsize=None)
def edges() -> List[Edge]:
    """All imports inside the package, a statement that takes several names from one module once."""
    return list(dict.fromkeys(edge for module, path in MODULES.items()
                              for edge in edges_of(module, path.name == "__init__.py", tree_of(path))))


def name_of(module: Tuple[str, ...]) -> str:
    """Return the name by which LAYERS has a module."""
    return "/".join(module[:2]) if module[0] in ("ext", "devtools") else module[0]


def fault(edge: Edge) -> str:
    """What an import breaks; "" where it is in order."""
    if not edge.importer:
        return "is eager: importing the package must load nothing" if edge.kind == "eager" else ""
    if not edge.imported:
        return ""  # its version, say; it loads nothing itself
    importer, imported = name_of(edge.importer), name_of(edge.imported)
    if importer == imported or (importer, imported) in BESIDE or "/".join(edge.imported) in WINGS:
        return ""
    if importer not in LEVEL or imported not in LEVEL:
        return "has no level: add it to LAYERS"
    if importer == "http11" and imported in HTTP_MAY_NOT_USE:
        return "makes HTTP know what is sent over it"
    if imported.split("/")[0] in WINGS and importer.split("/")[0] not in WINGS:
        if imported not in DOORS.get(importer, ()):
            return "makes the core know a wing"
        return "loads an extension that nobody has asked for" if edge.kind == "eager" else ""
    if importer == "devtools/checker" and imported not in CHECKER_MAY_USE:
        return "makes the judge depend on what it judges"
    if importer == "devtools/examiner" and imported in EXAMINER_MAY_NOT_USE:
        return "makes the examiner depend on what it examines"
    return "" if LEVEL[imported] < LEVEL[importer] else "goes up or sideways"


def test_every_module_has_a_level() -> None:
    names = {name_of(module) for module in MODULES if module and "/".join(module) not in ("ext", "devtools")}
    expect_nothing(["add to LAYERS: " + name for name in names - set(LEVEL)])


def test_imports_go_down_the_layers() -> None:
    wrong = ["%s: %s" % (edge, fault(edge)) for edge in edges() if fault(edge)]
    expect_nothing(wrong)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: Dict[Tuple[str, ...], Set[Tuple[str, ...]]] = {module: set() for module in MODULES}
    for edge in edges():
        if edge.importer and edge.imported and edge.importer != edge.imported and edge.kind != "typing":
            graph[edge.importer].add(edge.imported)
    expect_nothing(["in a circle: " + "/".join(module) for module in circle(graph)])


def circle(graph: Dict[Tuple[str, ...], Set[Tuple[str, ...]]]) -> List[Tuple[str, ...]]:
    """Modules that are part of, or stand between, circles of imports: what is left without the loose ends."""
    left = dict(graph)
    while True:
        imported = set().union(*left.values()) if left else set()
        inner = {module for module, names in left.items() if names & set(left) and module in imported}
        if len(inner) == len(left):
            return sorted(left)
        left = {module: left[module] & inner for module in inner}


def test_no_folder_has_more_modules_than_a_reader_can_look_over() -> None:
    count: Dict[pathlib.Path, int] = {}
    for path in MODULES.values():
        count[path.parent] = count.get(path.parent, 0) + 1
    expect_nothing(["%s: %d modules" % (shown(folder), most) for folder, most in count.items() if most > MOST_MODULES])


def test_a_module_with_one_importer_has_a_reason_to_be_one() -> None:
    """Loaded late, so that programs start quickly; the first of its folder; a command; or else too long for both."""
    importers: Dict[Tuple[str, ...], Set[Edge]] = {}
    for edge in edges():
        if edge.imported and edge.imported != edge.importer:
            importers.setdefault(edge.imported, set()).add(edge)
    commands = {("cli", *home.strip(".").split(".")) for home, _ in HOMES.values()}
    alone = set()
    for module, found in importers.items():
        by = {edge.importer for edge in found}
        together = sum(text_of(MODULES[each]).count("\n") for each in (module, *by)) if len(by) == 1 else MOST_LINES
        if (together < MOST_LINES and any(edge.kind == "eager" for edge in found) and module[:-1] not in by
                and module not in commands and MODULES[module].name != "__init__.py"):
            alone.add("/".join(module))
    expect_nothing(["%s has one importer: put it there" % name for name in sorted(alone - set(APART))])
    expect_nothing(["%s is no exception any more" % name for name in sorted(set(APART) - alone)])


def test_imports_inside_the_package_are_relative() -> None:
    expect_nothing(["%s:%d" % (shown(path), getattr(node, "lineno"))
                    for path in MODULES.values() for node in statements(tree_of(path))
                    for name in imported_names(node) if name.split(".")[0] == PACKAGE.name])


@pytest.mark.parametrize("module, line, verdict", [
    ("transports/lines/stdio", "from ...jsonrpc import Request", ""),
    ("transports/lines/stdio", "from ..base import Transport", ""),
    ("transports/lines/stdio", "def f():\n    from ...peer import dispatcher", "goes up or sideways"),
    ("server/tools", "from ..client import tools", "goes up or sideways"),
    ("server/tools", "from .. import __version__", ""),
    ("jsonrpc", "from .readers import read", "goes up or sideways"),
    ("codec", "from . import methods", "goes up or sideways"),
    ("devtools/checker/rules", "from ...protocol import lifecycle", "makes the judge depend on what it judges"),
    ("devtools/checker/rules", "from ...wiretrace import Event", ""),
    ("devtools/examiner/talk", "from ...client import Client", "makes the examiner depend on what it examines"),
    ("http11/server/parking", "from ...protocol import httprules", "makes HTTP know what is sent over it"),
    ("http11/server/parking", "from ...limits import Limits", ""),
    ("server/tools", "def f():\n    from ..ext.tasks.server import engine", ""),
    ("server/tools", "from ..ext.tasks.server import engine", "loads an extension that nobody has asked for"),
    ("client/roots", "def f():\n    from ..ext.stores import sqlite", "makes the core know a wing"),
    ("server/tools", "def f():\n    from ..devtools.checker import rules", "makes the core know a wing"),
    ("ext/apps", "from ..devtools.checker import rules", "goes up or sideways"),
    ("novel", "from . import errors", "has no level: add it to LAYERS"),
])
def test_the_checker_sees_what_breaks_the_order(module: str, line: str, verdict: str,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("methods", "errors", "peer", "protocol", "client"):
        monkeypatch.setitem(MODULES, (name,), PACKAGE / name)
    found = [fault(edge) for edge in edges_of(tuple(module.split("/")), False, ast.parse(line))]
    assert found == [verdict]


@pytest.mark.parametrize("line, kind", [
    ("from .server import Server", "eager"),
    ("if TYPE_CHECKING:\n    from .server import Server", "typing"),
    ("def __getattr__(name):\n    from .server import Server", "late"),
])
def test_the_package_itself_may_import_only_late(line: str, kind: str) -> None:
    edge, = edges_of((), True, ast.parse(line))
    assert edge.kind == kind and bool(fault(edge)) == (kind == "eager")


def test_a_circle_is_found() -> None:
    assert circle({("a",): {("b",)}, ("b",): {("c",)}, ("c",): {("b",)}, ("d",): set()}) == [("b",), ("c",)]
