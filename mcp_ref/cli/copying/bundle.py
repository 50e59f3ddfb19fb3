"""The command `bundle`: make one Python file of a program of one source file and the modules of this package it needs.

``bundle server.py -o one.py`` reads which names of the package that file imports, and puts the sources of the modules
behind them into ``one.py``, below a banner each, and the program below them. ``python3 one.py`` and ``import one`` do
what they do with the program, on CPython 3.8 and later, where nothing else is installed. The same program and the same
version of the package make the same bytes.

What stands in the file, in this order: its SHA-256 sum, the loader (`mcp_ref.cli.copying.loader`, which says how
tracebacks name a module, and where compiled modules are kept), the modules by their paths, the program as it is. Of
the program two things are changed, and no line moves: its docstring becomes ``__doc__ = ...``, and a ``from __future__
import`` goes to the top of the file.

A program with a server gets what every server for pipes needs, and each of the PARTS of `parts` of which it has a word:
`run_http` brings HTTP, ``tasks`` brings tasks.
Other modules that the program imports are not in the file, those beside it neither; a warning lists them. A program of
several files goes as a folder (`vendor` puts the package into it), or into an MCP bundle (``pack --include``).
Two bundles of one version may be imported into one process; of two versions the second raises ImportError.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import sys
import tokenize
from importlib import import_module
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Set, Tuple

from ...options import closest
from ...version import __version__
from ..output import DONE, Command, Commands, UsageError, note, open_file, program, replacing, say, say_json
from . import parts
from .loader import PROGRAM

_TEXTS, _LOADER = "__mcp_ref_bundle__", "__mcp_ref_loader__"
"""The names of a bundle's own variables; both are deleted before the program begins."""
_LOADER_PATH = "cli/copying/loader.py"
_WIDTH = 100
_SUM = re.compile(rb"\A(?:#![^\n]*\n)?# A bundle of mcp_ref[^\n]*\n# sha256 of the lines below: ([0-9a-f]{64})\n")
_HARD = re.compile(r"((?<![\\'])(?:[\\']*[\x00-\x08\x0b-\x1f\x7f]+|[\\']+\Z)|(?<!\\)\\*'{3,})")
"""The pieces of a text that cannot stand in ``r'''...'''`` as they are."""
_AGAIN = """
raise ImportError("the part %s (%s) is not in this bundle (%s); bundle the program again with --with %s")
"""


class BundleError(ValueError):
    """The program cannot be bundled, or the output is somebody's file; the text says what to do."""


class Program(NamedTuple):
    """A program that is to be bundled."""

    path: str
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The name of its file."""
        return os.path.basename(self.path)


def _bundle(options: Any) -> int:
    target = os.path.realpath(options.output)
    source = read_program(options.program)
    _refuse_relative(source)
    _may_write(target, source, options.force)
    extra = [name for names in options.extra for name in names.split(",") if name]
    if extra and options.all:
        raise UsageError("--with and --all exclude each other")
    only = [] if options.all else sorted({*needed(source), *extra})
    if not only and not options.all:
        raise UsageError(_nothing_of_it(source))
    texts = _texts(only)
    data = bundle(source, texts).encode("utf-8")
    with replacing(target, os.stat(source.path).st_mode & 0o777) as file:
        file.write(data)
    others = list(_others(source))
    for text in others:
        note("mcp_ref: warning: %s" % text)
    modules = sum(path.endswith(".py") for path in texts)
    if options.json:
        say_json({"target": target, "version": __version__, "only": only, "modules": modules, "bytes": len(data),
                  "warnings": others})
    else:
        say("%s: %s and %d modules of mcp_ref %s (parts: %s), %d KB" % (
            options.output, source.name, modules, __version__, ", ".join(only) or "all", len(data) >> 10))
    return DONE


# The program


def read_program(path: str) -> Program:
    """Return the program in a file. Raises `UsageError` without the file, and `BundleError` for what is no program."""
    if not os.path.isfile(path):
        raise UsageError("there is no file %s; the command is: %s bundle FILE -o one.py" % (path, program()))
    try:
        with tokenize.open(path) as file:
            text = file.read()
        tree = ast.parse(text)
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BundleError("%s:%s is no Python %d.%d: %s; correct it first" % (
            path, error.lineno or 1, *sys.version_info[:2], error.msg)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise BundleError("%s is no Python source: %s" % (path, error)) from None
    if _TEXTS in text:
        raise BundleError("%s is a bundle already: bundle the program that it was made of" % path)
    return Program(path, text, tree)


def _refuse_relative(source: Program) -> None:
    """Raise `BundleError` for a relative import."""
    for node in _nodes(source.tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise BundleError("%s:%d has a relative import, and a bundle is a module without a package; write it as "
                              "an absolute one" % (source.path, node.lineno))


def needed(source: Program) -> Set[str]:
    """Return the parts of the package that a program imports, as `parts.subset` takes them.

    Raises `BundleError` for an import of what the package does not have.
    """
    package = parts.package_name()
    modules = parts.module_names()
    homes: Dict[str, str] = {name: home[1:] for name, home in import_module(package)._HOMES.items()}
    found = _attributes(source.tree, package, homes, modules)
    imports = False
    for node in _nodes(source.tree):
        for module, name in _imported(node):
            if not (module + ".").startswith(package + "."):
                continue
            imports = True
            inside = module[len(package) + 1:]
            sought = inside or (name if name not in homes else "")
            if sought not in ("", "*", "__version__") and sought not in modules:
                meant = closest(sought, modules | set(homes))
                raise BundleError("%s:%d imports %s, which %s %s does not have%s" % (
                    source.path, getattr(node, "lineno", 0), sought, package, __version__,
                    "; did you mean %s?" % meant if meant else ""))
            if inside:
                found |= {each for each in (inside, inside + "." + name) if each in modules}
            else:
                found |= set(homes.values()) if name == "*" else {homes.get(name, name)} & modules - {""}
    return _sliced(found, _words(source.tree)) or {"version"} if imports else set()


def _imported(node: ast.AST) -> Iterator[Tuple[str, str]]:
    """Yield what a node imports: a module, and the name that is taken from it or ""."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from ((node.module or "", alias.name) for alias in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
        named = node.args[0] if node.args else None
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            yield named.value, ""


def _attributes(tree: ast.Module, package: str, homes: Dict[str, str], modules: FrozenSet[str]) -> Set[str]:
    """Return the parts behind ``mcp_ref.NAME``. Whatever else is done with the package needs all of its names."""
    local = {alias.asname or package for node in _nodes(tree) if isinstance(node, ast.Import) for alias in node.names
             if alias.name == package or (not alias.asname and alias.name.startswith(package + "."))}
    found: Set[str] = set()
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in local:
            found |= {homes.get(node.attr, node.attr)} & modules
        elif isinstance(node, ast.Name) and node.id in local and id(node) not in plain:
            found |= set(homes.values())
    return found


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    return (node for node, late in parts.running(tree))


def _words(tree: ast.Module) -> Set[str]:
    """Return all names of a program, and its texts that are names."""
    found: Set[str] = set()
    for node in ast.walk(tree):
        found.update(value for value in (
            getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None),
            getattr(node, "name", None), getattr(node, "value", None)) if isinstance(value, str))
    return found


def _sliced(found: Set[str], words: Set[str]) -> Set[str]:
    """Return the modules with a slice in the place of each that begins one, and the parts of which there are words."""
    for name, start in parts.SLICES.items():
        if start in found:
            added = {part for part, row in parts.PARTS.items() if row.words & words}
            found = found - {start} | {name} | added
    return found


def _nothing_of_it(source: Program) -> str:
    """Return what is wrong with a program that does not import the package itself."""
    said = "%s itself imports nothing of %s" % (source.name, parts.package_name())
    beside = ", ".join(name for name in sorted(_other_modules(source)) if _is_beside(source, name))
    if not beside:
        return said + ", so it runs without a bundle; --with PART,... or --all puts parts of the package in anyway"
    return ("%s, and only that file of the program goes in, not the modules beside it (%s): make it one file; or take "
            "vendor for a folder with the package, or pack --include for hosts; or name parts by --with PART,..., and "
            "keep those modules beside the bundle" % (said, beside))


def _other_modules(source: Program) -> Dict[str, int]:
    """Return the modules and packages that a program imports, without this one, each with its first line."""
    lines: Dict[str, int] = {}
    for node in _nodes(source.tree):
        for name, _ in _imported(node):
            lines.setdefault(name.split(".")[0], getattr(node, "lineno", 0))
    lines.pop(parts.package_name().split(".")[0], None)
    return lines


def _is_beside(source: Program, name: str) -> bool:
    place = os.path.join(os.path.dirname(os.path.abspath(source.path)), name)
    return os.path.exists(place + ".py") or os.path.isdir(place)


def _others(source: Program) -> Iterator[str]:
    """Yield what the bundle does not have and the program seems to need: modules, and its place among other files."""
    lines = _other_modules(source)
    for name in sorted(lines):
        if _is_beside(source, name):
            yield ("line %d imports %s, which stands beside the program and is not in the bundle: put it beside the "
                   "bundle; --with adds what it needs of the package" % (lines[name], name))
        elif not _is_standard(name):
            yield "line %d imports %s, which is not in the bundle: it has to be installed where the bundle runs" % (
                lines[name], name)


def _is_standard(name: str) -> bool:
    listed = getattr(sys, "stdlib_module_names", None)  # CPython 3.10
    if listed is not None:
        return name in listed
    if name in sys.builtin_module_names:
        return True  # `find_spec` knows no origin of sys and builtins before Python 3.10
    from importlib.util import find_spec
    from sysconfig import get_paths

    spec = find_spec(name)
    origin = (spec.origin or "") if spec else ""
    return origin in ("built-in", "frozen") or (
        origin.startswith(get_paths()["stdlib"] + os.sep) and "site-packages" not in origin)


# The file


def _texts(only: List[str]) -> Dict[str, str]:
    """Return the texts of a bundle by their paths, those of the package below its name."""
    start = parts.package_name().split(".")
    try:
        chosen = parts.subset(parts.files(), only, _AGAIN)
    except ValueError as error:
        raise UsageError("--with: %s" % error) from None
    chosen[parts.MANIFEST] = (json.dumps({"package": "mcp_ref", "version": __version__, "only": only, "bundle": True})
                              + "\n").encode("ascii")
    found = {"/".join(start[:length] + ["__init__.py"]): "" for length in range(1, len(start))}
    found.update(("/".join(start + [path]), data.decode("utf-8")) for path, data in chosen.items())
    return {path: found[path] for path in sorted(found)}


def bundle(source: Program, texts: Dict[str, str]) -> str:
    """Return the text of a bundle. Raises `BundleError` for a program that does not compile at its end."""
    body, future = _as_end(source)
    lines = [
        "# Each module of the package stands below a banner with its path; line N of it is N lines below the banner.",
        "# Tracebacks name a module as FILE/%s.folder.module.py, with its own line. The program is at the end."
        % parts.package_name(),
        "from __future__ import %s" % ", ".join(future) if future else "",
        "%s = {}" % _TEXTS,
        _entry("loader.py", parts.files()[_LOADER_PATH].decode("utf-8"))]
    lines += [_entry(path, text) for path, text in texts.items()]
    lines += [
        _banner("the start"), "%s = {'__name__': %r}" % (_LOADER, _LOADER),
        "exec(compile(%s.pop('loader.py'), 'the loader of a bundle', 'exec'), %s)" % (_TEXTS, _LOADER),
        "%s['install'](%s, globals().get('__file__'), %r, %r)" % (_LOADER, _TEXTS, parts.package_name(), __version__),
        "del %s, %s" % (_TEXTS, _LOADER)]
    end = PROGRAM + source.name.encode("unicode_escape").decode("ascii")
    text = "\n".join(lines) + end + " " + "=" * (_WIDTH - len(end)) + "\n" + body
    first = source.text.split("\n", 1)[0]
    head = "%s\n# A bundle of mcp_ref %s and %s\n# sha256 of the lines below: %s\n" % (
        first if first.startswith("#!") else "#!/usr/bin/env python3", __version__,
        source.name.encode("unicode_escape").decode("ascii"), hashlib.sha256(text.encode("utf-8")).hexdigest())
    try:
        compile(head + text, source.name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise BundleError("%s cannot stand in a bundle: %s; it has to compile behind other statements" % (
            source.path, error.msg)) from None
    return head + text


def _banner(title: str) -> str:
    return ("# ==== %s " % title).ljust(_WIDTH, "=")


def _entry(path: str, text: str) -> str:
    return "%s\n%s[%r] = %s" % (_banner(path), _TEXTS, path, literal(text))


def literal(text: str) -> str:
    """Return the text as a literal that can be read: its lines are those of the text."""
    pieces = _HARD.split(text)
    return " ".join(repr(piece) if at % 2 else "r'''%s'''" % piece
                    for at, piece in enumerate(pieces) if piece) or "''"


def _as_end(source: Program) -> Tuple[str, List[str]]:
    """Return the program as it stands behind other statements, line for line, and the features of ``__future__``."""
    data = source.text.encode("utf-8")
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    edits: List[Tuple[int, int, bytes]] = []
    future: Set[str] = set()
    for node in source.tree.body:
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future.update(alias.name for alias in node.names)
            edits.append((begin, end, b"pass" + b" \\\n" * data.count(b"\n", begin, end)))
        elif node is source.tree.body[0] and ast.get_docstring(source.tree, clean=False) is not None:
            edits.append((begin, begin, b"__doc__ = "))
    for begin, end, new in reversed(edits):
        data = data[:begin] + new + data[end:]
    text = data.decode("utf-8")
    return text + ("" if text.endswith("\n") else "\n"), sorted(future)


def _may_write(target: str, source: Program, force: bool) -> None:
    """Raise rather than overwrite the program, or what somebody wrote or changed, or hide the package."""
    if os.path.isdir(target):
        raise UsageError("-o %s is a folder; name the file: -o %s" % (target, os.path.join(target, "one.py")))
    if os.path.exists(target) and not os.path.isfile(target):  # with --force a file would take a device's place
        raise UsageError("-o %s is no regular file; name a file: -o one.py" % target)
    if os.path.exists(target) and os.path.samefile(target, source.path):
        raise UsageError("-o %s is the program itself; name another file" % target)
    stem = os.path.splitext(os.path.basename(target))[0]
    if stem == parts.package_name().split(".")[0]:
        raise UsageError("-o %s: a file of this name hides the package; name it otherwise" % target)
    if not os.path.lexists(target) or force:
        return
    with open_file(target) as file:
        data = file.read()
    found = _SUM.match(data)
    if found is None:
        raise BundleError("%s is there and was not made by bundle; --force replaces it" % target)
    if hashlib.sha256(data[found.end():]).hexdigest().encode("ascii") != found.group(1):
        raise BundleError("%s was changed by hand since it was made; --force replaces it" % target)


_EXAMPLES = """examples:
  bundle server.py -o one.py                  then: python3 one.py, where nothing is installed
  bundle server.py -o one.py --with testing   more of the package than the program's imports show
  bundle server.py -o one.py --all            all of the package
"""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("program", metavar="FILE", help="the program, one source file such as server.py; "
                        "modules beside it are not put in (for those: pack --include, or vendor)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True,
                        help="where the bundle goes; one that is there is replaced unless somebody changed it")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="PART,...",
                        help="put these parts in, too: any module or folder of the package, such as client")
    parser.add_argument("--all", action="store_true", help="put all of the package in")
    parser.add_argument("--force", action="store_true", help="replace what is there, whoever made it")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"bundle": Command(_bundle, _options)}
