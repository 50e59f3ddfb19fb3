"""What keeps the library portable and readable: the grammar of 3.8, the standard library alone, names, docstrings."""
import ast
import functools
import os
import pathlib
import subprocess
import sys
import sysconfig
from typing import Callable, Dict, Iterable, Iterator, List, Set, Union

import pytest

from tests.meta.facts import ROOT, expect_nothing, imported_names, python_files, shown, statements, tree_of
from tests.support.patience import WAIT
from tests.tools import interpreters

ALL = python_files("mcp_ref", "tests", "examples")
TOOLS = ROOT / "tests" / "tools"
HOSTS = ROOT / "tests" / "hosts"  # whose walks `make interop` uses, too
BENCH = ROOT / "tests" / "bench"  # whose modules the soak uses, too
EXAMPLES = ROOT / "examples"  # whose course the tool that writes its page uses
MAX_FUNCTION_LINES = 60
PARTS = 4  # to read all files takes longer than one test may on a busy machine
SELF_EVIDENT_LINES = 8  # a public function of no more lines may go without a docstring
# In the standard library of some systems or versions only.
OF_ONE_SYSTEM = {"msvcrt", "winreg", "_winapi", "fcntl", "resource", "termios", "tty", "pwd", "grp", "pty",
                 "annotationlib"}
# These run in environments of their own, beside the packages that they test.
WITH_FOREIGN_PACKAGES = ("tests/interop/official_client_v", "tests/interop/official_server_v",
                         "tests/interop/official_everything", "tests/interop/official_authorization",
                         "tests/interop/mounted", "tests/interop/http_heads", "tests/interop/yaml_readers",
                         "tests/interop/foreign_client", "tests/interop/fastmcp_",
                         "tests/interop/examined_client.py", "tests/interop/examined_tiny", "tests/interop/odd_clients",
                         "tests/hosts/official_client", "tests/hosts/notebook", "examples/hosts/in_",
                         "examples/deploy/redis_store", "examples/deploy/app", "tests/deploy/load_app",
                         "tests/typed")  # these for type checkers alone
ALLOWED_BESIDE: Dict[str, Set[str]] = {
    "mcp_ref": set(), "examples": {"mcp_ref"}, "tests": {"mcp_ref", "pytest", "tests"},
}


def expect_clean(paths: Iterable[pathlib.Path], check: Callable[[pathlib.Path], Iterable[str]]) -> None:
    """Fail with what a check finds in some files: for each finding the file, and what the check says."""
    expect_nothing(["%s:%s" % (shown(path), finding) for path in paths for finding in check(path)])


def newer_grammar(path: pathlib.Path) -> Iterator[str]:
    """The first thing in a file that 3.8 could not read, as far as a newer grammar can tell."""
    try:
        tree_of(path)
    except SyntaxError as error:
        yield "%s: %s" % (error.lineno, error.msg)


@pytest.mark.parametrize("part", range(PARTS))
def test_files_are_written_in_the_grammar_of_38(part: int) -> None:
    expect_clean(ALL[part::PARTS], newer_grammar)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_38_itself_compiles_every_file(part: int) -> None:
    """A newer parser lets some newer grammar pass (a `with` in parentheses): only 3.8 knows for sure."""
    found = interpreters.find((3, 8)) or pytest.skip("there is no CPython 3.8 here to compile with")
    code = "import sys\nfor path in sys.stdin.read().split('\\0'):\n" \
           "    compile(open(path, 'rb').read(), path, 'exec', dont_inherit=True)"
    names = "\0".join(map(str, ALL[part::PARTS]))
    done = subprocess.run([found.path, "-c", code], input=names.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")


@functools.lru_cache(maxsize=None)
def stdlib_names() -> Set[str]:
    """Top-level names of the standard library of this version."""
    known: Set[str] = set(getattr(sys, "stdlib_module_names", ()))  # from 3.10
    if known:
        return known
    folder = sysconfig.get_paths()["stdlib"]
    found = {name.split(".")[0] for name in os.listdir(folder) + os.listdir(os.path.join(folder, "lib-dynload"))}
    return found | set(sys.builtin_module_names) - {"site-packages", "__pycache__"}


def foreign(nodes: Iterable[ast.AST], allowed: Set[str]) -> Iterator[str]:
    """Line and name of each absolute import that is neither allowed nor in this version's standard library."""
    fine = allowed | OF_ONE_SYSTEM | stdlib_names()
    for node in nodes:
        for name in {name.split(".")[0] for name in imported_names(node)} - fine:
            yield "%d: %s" % (getattr(node, "lineno"), name)


def foreign_in(path: pathlib.Path) -> Iterator[str]:
    """The same for a file, by the folder it stands in."""
    folder = shown(path).split("/")[0]
    folders = {"tests": (path.parent, TOOLS, HOSTS, BENCH, EXAMPLES), "examples": (path.parent,)}.get(folder, ())
    scripts = [script for each in folders for script in each.glob("*.py")]
    beside = {script.stem for script in scripts}
    if not shown(path).startswith(WITH_FOREIGN_PACKAGES):
        nodes = list(statements(tree_of(path)))
        unread = [part for node in nodes if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
                  for part in node.body if getattr(part, "module", "") == "typing_extensions"]  # type checkers have it
        yield from foreign([node for node in nodes if node not in unread], ALLOWED_BESIDE[folder] | beside)


def test_files_import_the_standard_library_only() -> None:
    expect_clean(ALL, foreign_in)


def test_no_file_is_named_like_a_module_of_the_standard_library() -> None:
    taken = stdlib_names()
    expect_nothing([shown(path) for path in ALL
                    if taken & set(path.relative_to(ROOT).with_suffix("").parts) - {"__init__", "__main__"}])


def test_modules_have_a_docstring() -> None:
    """It is the page that a reader of the module begins with."""
    expect_nothing([shown(path) for path in ALL if not ast.get_docstring(tree_of(path))])


def public_without_docstring(tree: ast.Module) -> Iterator[str]:
    """Public classes and functions of a module, and public methods of its public classes, that say nothing.

    Very short functions may, and so may the methods of a class with bases, which say it.
    """
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            inside = [part for part in node.body if isinstance(part, ast.FunctionDef) and isinstance(node, ast.ClassDef)
                      and not node.bases and not part.name.startswith("_") and not overrides(part)]
            yield from ("%d: %s" % (part.lineno, part.name) for part in [node, *inside]
                        if not ast.get_docstring(part) and not self_evident(part))


def self_evident(node: Union[ast.FunctionDef, ast.ClassDef]) -> bool:
    """Is it a function of a few lines?"""
    return isinstance(node, ast.FunctionDef) and lines_of(node) <= SELF_EVIDENT_LINES


def lines_of(node: ast.AST) -> int:
    """How many lines it takes."""
    return int(getattr(node, "end_lineno") - getattr(node, "lineno") + 1)


def overrides(function: ast.FunctionDef) -> bool:
    """Is it one of several declarations, or a property's setter? The other one tells."""
    marks = [getattr(mark, "attr", getattr(mark, "id", "")) for mark in function.decorator_list]
    return bool({"overload", "setter"} & set(marks))


def test_public_names_have_docstrings() -> None:
    expect_clean(python_files("mcp_ref"), lambda path: public_without_docstring(tree_of(path)))


def long_functions(nodes: Iterable[ast.AST]) -> List[str]:
    """Functions with more lines than one can read at a time; a signature counts as one, for options are a list."""
    sizes = [(lines_of(node) - max(0, node.body[0].lineno - node.lineno - 1), node) for node in nodes
             if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return ["%d: %s has %d lines" % (node.lineno, node.name, size) for size, node in sizes if size > MAX_FUNCTION_LINES]


def test_functions_are_short() -> None:
    """Which table or layer is missing where one is not?"""
    expect_clean(ALL, lambda path: long_functions(statements(tree_of(path))))


def test_library_checks_with_if_and_raise() -> None:
    """`-O` would disarm an `assert`."""
    expect_clean(python_files("mcp_ref"), lambda path: [
        "%d: assert" % node.lineno for node in statements(tree_of(path)) if isinstance(node, ast.Assert)])


@pytest.mark.parametrize("line, names", [
    ("import json, requests", ["requests"]), ("from yaml.x import y", ["yaml"]), ("from . import z", []),
    ("def f():\n    import numpy.linalg", ["numpy"]), ("import fcntl", []), ("import pytest", ["pytest"]),
])
def test_the_checker_sees_foreign_imports(line: str, names: List[str]) -> None:
    assert [found.split()[1] for found in foreign(statements(ast.parse(line)), set())] == names


def test_the_checker_sees_long_functions_and_missing_docstrings() -> None:
    long = "def f():\n" + "    pass\n" * 60
    assert long_functions(statements(ast.parse(long))) == ["1: f has 61 lines"]
    assert not long_functions(statements(ast.parse(long[:-9])))
    body = "(*x):\n" + "    pass\n" * 8
    text = "class A:\n  x = 1\n  def b%s  def _c%sdef d%sdef _e%sdef f(): pass" % (body, body, body, body)
    assert list(public_without_docstring(ast.parse(text))) == ["1: A", "3: b", "21: d"]


@pytest.mark.parametrize("text", ["match x:\n    case 1: pass", "type X = int", "try: pass\nexcept* E: pass"])
def test_the_checker_sees_newer_grammar(text: str) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(text, feature_version=(3, 8))
