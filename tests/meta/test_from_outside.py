"""Tests use the public names, the pure layers and the wire; what they know of the inside is counted, and only falls.

A test that imports an internal module, reads a private attribute or patches the package says how the package works, not
what it does: it has to be written again with each change inside. For each folder of tests `ALLOWED` has three counts:

imports   names that are imported from modules which neither `PUBLIC` nor `PURE` lists, and private names of any module;
          imports in programs that a test holds as text count as well
private   ``x._name``, where ``x`` is not ``self`` or ``cls`` and the same file does not define the name; ``getattr``
          with such a name, too. What `collections.namedtuple` documents does not count
patches   ``monkeypatch.setattr`` and its like, ``mock.patch``, and assignments to attributes of an imported name of the
          package. Patching `sys`, or a tool of the tests, does not count

A count that rises fails: test through the public names or the wire. One that fell fails until the table says so.
"""
import ast
import bisect
import functools
import re
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Set, Tuple

import pytest

from tests.meta.facts import PACKAGE, ROOT, expect_nothing, python_files, shown, text_of, tree_of
from tests.meta.test_readme import PAGES

PUBLIC: Dict[str, str] = {
    "mcp_ref": "what a program imports first",
    "mcp_ref.__main__": "the command line, run as a module",
    "mcp_ref.auth": "README, OAuth",
    "mcp_ref.devtools.checker": "README, the judge in Python",
    "mcp_ref.devtools.checker.live": "README: the manual of judging live sessions",
    "mcp_ref.devtools.checker.scenes": "the course: sessions written as text",
    "mcp_ref.cli.main": "the command line, called in this process",
    "mcp_ref.client": "README and examples/clients.md",
    "mcp_ref.host": "README, many servers",
    "mcp_ref.devtools.ladder": "the course: a drawing of what was traced",
    "mcp_ref.devtools.ladder.text": "the course, likewise",
    "mcp_ref.server": "README and examples/servers.md",
    "mcp_ref.ext.stores.contract": "examples/servers.md: the check of a store of one's own",
    "mcp_ref.stores": "what a store of one's own implements, as examples/deploy does",
    "mcp_ref.testing": "README, tests of servers",
    "mcp_ref.transports.base": "examples/clients.md: the base of a transport of one's own",
    "mcp_ref.transports.memory": "the course: two ends in one process",
    "mcp_ref.wiretrace": "the format that all tools read, and its writers",
    "mcp_ref.wiretrace.text": "the course: a trace for the eye",
}
"""Module or name -> where users meet it. Of a module its public names, `__all__` where it has one."""
PURE: Dict[str, str] = {
    "mcp_ref.codec": "frames to dataclasses: values in, values out",
    "mcp_ref.errors": "the exceptions and their codes",
    "mcp_ref.jsonrpc": "frames",
    "mcp_ref.jsonschema": "a language; the official suite is its test",
    "mcp_ref.jsontext": "bytes to JSON and back",
    "mcp_ref.limits": "one dataclass",
    "mcp_ref.messages": "dataclasses, one page each",
    "mcp_ref.methods": "a table",
    "mcp_ref.protocol": "rules without input or output",
    "mcp_ref.revisions": "a table",
    "mcp_ref.uritemplate": "a language; the official cases are its test",
    "mcp_ref.yaml": "a language; text to values",
}
"""Module, or folder with all that is below it -> why tests may import it: it has no state and does nothing."""
ALLOWED: Dict[str, Tuple[int, int, int]] = {
    "tests": (65, 28, 13),
    "tests/auth": (210, 22, 15),
    "tests/bench": (0, 1, 0),
    "tests/bridge": (7, 1, 0),
    "tests/checker": (81, 5, 2),
    "tests/cli": (130, 11, 39),
    "tests/client": (34, 35, 17),
    "tests/conformance": (7, 0, 2),
    "tests/deploy": (0, 8, 1),
    "tests/examiner": (111, 1, 16),
    "tests/examples": (0, 0, 1),
    "tests/frozen": (2, 2, 0),
    "tests/fuzz": (52, 3, 0),
    "tests/host": (27, 7, 5),
    "tests/inside": (87, 52, 48),
    "tests/inspector": (10, 0, 1),
    "tests/interop": (19, 5, 0),
    "tests/meta": (29, 4, 3),
    "tests/oracle": (29, 0, 1),
    "tests/peer": (20, 6, 11),
    "tests/playback": (8, 0, 0),
    "tests/protocol": (2, 5, 4),
    "tests/recorder": (20, 4, 8),
    "tests/server": (69, 38, 36),
    "tests/soak": (4, 1, 4),
    "tests/spec": (73, 15, 34),
    "tests/support": (44, 11, 5),
    "tests/tools": (8, 0, 0),
    "tests/transports": (145, 61, 37),
    "tests/typed": (1, 0, 0),
}
"""Folder of tests -> imports, private, patches. "tests" has the files that are in no folder."""

KINDS = ("imports", "private", "patches")
OF_NAMEDTUPLES = {"_replace", "_asdict", "_fields", "_make", "_field_defaults"}
PRIVATE = re.compile(r"_(?!_)\w")
PATCHING = {"setattr", "delattr", "setitem", "delitem", "object", "dict", "multiple"}
REACHING = {"getattr", "setattr", "hasattr", "delattr"}
WORTH_READING = re.compile(r"mcp_ref|patch|import|(?<!self)\._[A-Za-z]|[\"']_[A-Za-z]|\w\.\w+(?:, .*)? = ")
"""What stands on a line of each place; the other lines are not read, which saves half of the time."""
DEFINING = re.compile(r"\b(?:def|class) (_\w+)|(?:^(?: {4})?|\bself\.)(_\w+)(?:, [^=\n]*|: [^=\n]*)? = ", re.MULTILINE)
IN_TEXT = re.compile(r"^[ \t>.]*(?:from (mcp_ref(?:\.\w+)*) import \(?([\w, ]+)|import (mcp_ref(?:\.\w+)*))",
                     re.MULTILINE)


class Place(NamedTuple):
    """Where a test knows of the inside: the kind, a number of `KINDS`, and what it is."""

    kind: int
    file: str
    line: int
    what: str


@functools.lru_cache(maxsize=None)
def exported(module: str) -> FrozenSet[str]:
    """The `__all__` of a module; nothing where it has none."""
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return frozenset(name for node in tree_of(path).body if isinstance(node, ast.Assign)
                     and ast.dump(node.targets[0]) == ast.dump(ast.Name("__all__", ast.Store()))
                     for name in ast.literal_eval(node.value))


@functools.lru_cache(maxsize=None)
def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


@functools.lru_cache(maxsize=None)
def is_inside(module: str, name: str = "") -> bool:
    """Whether a module, or a name in it, is for the package alone."""
    if is_module("%s.%s" % (module, name)):
        module, name = "%s.%s" % (module, name), ""
    if module.split(".")[0] != "mcp_ref" or name == "__version__" or "%s.%s" % (module, name) in PUBLIC:
        return False
    if PRIVATE.match(name):
        return True
    if module in PUBLIC:
        return bool(name and exported(module)) and name not in exported(module)
    parts = module.split(".")
    return not any(".".join(parts[:length]) in PURE for length in range(2, len(parts) + 1))


class _Reader:
    """Finds the places in one file."""

    def __init__(self, file: str, text: str, tree: ast.AST) -> None:
        self._file = file
        self._places: List[Place] = []
        lines = [number for number, line in enumerate(text.splitlines(), 1) if WORTH_READING.search(line)]
        self._nodes = list(_walk(tree, lines))
        self._ours: Set[str] = set()
        """Names that are imported from the package."""
        self._not_ours = {"self", "cls", "os", "sys"}
        """Names whose attributes are not counted: of the tests, their tools, and `sys`."""
        self._defined = {name for names in DEFINING.findall(text) for name in names}
        """The private names that this file defines."""

    def places(self) -> List[Place]:
        for node in self._nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
        for node in self._nodes:
            if isinstance(node, ast.Attribute):
                self._attribute(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "mcp_ref" in node.value:
                self._text(node)
        return self._places

    def _note(self, kind: int, node: ast.AST, what: str) -> None:
        self._places.append(Place(kind, self._file, getattr(node, "lineno", 0), what))

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._imported(node, alias.asname or alias.name.split(".")[0], alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self._imported(node, alias.asname or alias.name, "." * node.level + (node.module or ""), alias.name)

    def _imported(self, node: ast.AST, bound: str, module: str, name: str) -> None:
        first = module.split(".")[0]
        if first == "mcp_ref":
            self._ours.add(bound)
            if is_inside(module, name):
                self._note(0, node, "%s.%s" % (module, name) if name else module)
        elif first in ("", "tests") or (ROOT / "tests" / "tools" / (first + ".py")).is_file():
            self._not_ours.add(bound)

    def _text(self, node: ast.Constant) -> None:
        for module, names, alone in IN_TEXT.findall(node.value):
            for name in (names or "").replace(",", " ").split() if module else [""]:
                if is_inside(module or alone, name):
                    self._note(0, node, "%s.%s in a text" % (module or alone, name))

    def _attribute(self, node: ast.Attribute) -> None:
        if self._is_private(node.attr) and not (isinstance(node.value, ast.Name) and node.value.id in self._not_ours):
            self._note(1, node, "." + node.attr)
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id in self._ours:
            self._note(2, node, "%s.%s = ..." % (node.value.id, node.attr))

    def _is_private(self, name: str) -> bool:
        return bool(PRIVATE.match(name)) and name not in self._defined and name not in OF_NAMEDTUPLES

    def _call(self, node: ast.Call) -> None:
        function, texts = node.func, [_text_of(argument) for argument in node.args[:2]]
        if isinstance(function, ast.Name):
            if function.id in REACHING and len(texts) > 1 and self._is_private(texts[1]):
                self._note(1, node, "%s(..., %r)" % (function.id, texts[1]))
            elif function.id in ("patch", "import_module") and texts:
                self._named(node, function.id, texts[0])
        elif isinstance(function, ast.Attribute):
            root = _root(function)
            if function.attr in ("patch", "import_module") and texts:
                self._named(node, function.attr, texts[0])
            elif (root in ("monkeypatch", "mock", "patch") and function.attr in PATCHING and node.args
                  and _root(node.args[0]) not in self._not_ours - {"self", "cls", "os"}
                  and not (function.attr.endswith("item") and _root(node.args[0]) not in self._ours)):
                self._note(2, node, "%s.%s(%s)" % (root, function.attr, texts[0] or _root(node.args[0])))

    def _named(self, node: ast.Call, function: str, text: str) -> None:
        """Note a call of ``patch`` or ``import_module`` that names a module."""
        if function == "patch" and text.startswith("mcp_ref"):
            self._note(2, node, "patch(%r)" % text)
        elif function == "import_module" and text.startswith("mcp_ref") and is_inside(text):
            self._note(0, node, text)


def _walk(tree: ast.AST, lines: List[int]) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, without the statements in which none of these lines is."""
    left = [tree]
    for node in left:
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", None) or [node]
            at = bisect.bisect_left(lines, decorators[0].lineno)
            if at == len(lines) or lines[at] > (getattr(node, "end_lineno", 0) or 0):
                continue
        yield node
        for value in vars(node).values():
            if value.__class__ is list:
                left += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                left.append(value)


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes begins with."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def folder_of(file: str) -> str:
    """The folder below `tests` of a file."""
    return "/".join(file.split("/")[:-1][:2])


@functools.lru_cache(maxsize=None)
def places() -> Dict[str, List[Place]]:
    """The places of each folder."""
    found: Dict[str, List[Place]] = {}
    for path in python_files("tests"):
        if shown(path) == "tests/meta/test_from_outside.py":
            continue  # the cases below
        found.setdefault(folder_of(shown(path)), []).extend(
            _Reader(shown(path), text_of(path), tree_of(path)).places())
    return found


def counts(folder: str) -> Tuple[int, ...]:
    """The three counts of a folder."""
    return tuple(sum(place.kind == kind for place in places()[folder]) for kind in range(len(KINDS)))


def test_what_tests_know_of_the_inside_only_falls() -> None:
    wrong = []
    for folder in sorted(set(places()) | set(ALLOWED)):
        allowed, found = ALLOWED.get(folder, (0, 0, 0)), counts(folder) if folder in places() else (0, 0, 0)
        for kind, name in enumerate(KINDS):
            if found[kind] > allowed[kind]:
                wrong.append("%s: %s rose from %d to %d: use public names or the wire. All there are:" % (
                    folder, name, allowed[kind], found[kind]))
                wrong += ["  %s:%d %s" % place[1:] for place in places()[folder] if place.kind == kind]
            elif found[kind] < allowed[kind]:
                wrong.append("%s: %s fell from %d to %d: lower the table" % (
                    folder, name, allowed[kind], found[kind]))
        if found != allowed:
            wrong.append('    "%s": (%s),' % (folder, ", ".join(map(str, found))))
    expect_nothing(wrong)


@pytest.mark.parametrize("text, expected", [
    ("from mcp_ref import Server, connect, __version__, client\nfrom mcp_ref.client import Sampling", (0, 0, 0)),
    ("from mcp_ref.messages.tools import Tool\nimport mcp_ref.jsonschema", (0, 0, 0)),
    ("from mcp_ref.peer import dispatcher\nfrom mcp_ref.peer.dispatcher import Connection", (2, 0, 0)),
    ("import mcp_ref.peer.dispatcher", (1, 0, 0)),
    ("from mcp_ref.client import calls, MOST", (2, 0, 0)),
    ("from mcp_ref.jsontext import _BLOCK", (1, 0, 0)),
    ("from mcp_ref.cli import HOMES, main", (1, 0, 0)),
    ("def test():\n    importlib.import_module('mcp_ref.peer.dispatcher')", (1, 0, 0)),
    ("@parametrize('text', ['''\n  from mcp_ref.peer import dispatcher, words\n'''])\ndef f(): pass", (2, 0, 0)),
    ("client._first\nclient.tasks._queue.put(1)\ngetattr(client, '_x')", (0, 3, 0)),
    ("os._exit(1)\nrow._replace(a=1)\nself._x\nvalue.__class__", (0, 0, 0)),
    ("class Own:\n    def _x(self): self._y = self._z\n    _w: int = 1\nOwn()._x()._y._w", (0, 0, 0)),
    ("from tests.support import faults\nfaults._x", (0, 0, 0)),
    ("monkeypatch.setattr(time, 'monotonic', f)\nmonkeypatch.setattr('mcp_ref.deadline.clock', f)", (0, 0, 2)),
    ("monkeypatch.setattr(sys, 'argv', [])\nmonkeypatch.setenv('A', 'B')\nmonkeypatch.setitem(x, 1, 2)", (0, 0, 0)),
    ("mock.patch('mcp_ref.x.y')\nmock.patch.object(client, 'x')\n@patch('mcp_ref.x')\ndef f(): pass", (0, 0, 3)),
    ("from mcp_ref.limits import Limits\nLimits.x = 1\nlimits = Limits()\nlimits.x = 1", (0, 0, 1)),
])
def test_each_kind_is_seen(text: str, expected: Tuple[int, ...]) -> None:
    found = [place.kind for place in _Reader("x.py", text, ast.parse(text)).places()]
    assert tuple(map(found.count, range(len(KINDS)))) == expected


def test_what_is_public_is_there_and_shown_to_users() -> None:
    read = "\n".join(text_of(path) for path in [*PAGES, PACKAGE / "__init__.py", *python_files("examples")])
    commands = {"mcp_ref.cli.main": "-m mcp_ref", "mcp_ref.__main__": "-m mcp_ref"}
    expect_nothing(["%s is shown nowhere" % name for name in PUBLIC if commands.get(name, name) not in read]
                   + ["there is no " + name for name in [*PUBLIC, *PURE]
                      if not is_module(name) and name not in commands])
