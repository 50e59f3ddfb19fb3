"""The files of this package and of its vendored copies.

Files are read from the folder, the zip archive or the bundle that the package was loaded from. The import graph is read
off the sources. It includes late imports (inside functions), ``import_module`` and the tables of names that a folder
loads late (`TABLES`), but not the imports for the type checker.

The manifest is `parts.MANIFEST`: ``{"package", "version", "only", "files": {path: sha256}}``. The originals are the
same files, in an archive beside it (`parts.ORIGINALS`), a fifth of their size: a server for pipes of 1.6 MB
has one of 0.3 MB. ``vendor --update`` needs of it the files that somebody has edited; without it, all others are
updated all the same. Its bytes depend on the files alone. A program that ships the copy can leave it out.

`MOVES` is the table of the files that have moved since an earlier version, three columns: the version with the new
path, the old path, the new one. Versions ascend. A file that was split has several rows, as has one that several were
merged into. A row of folders, which end with ``/``, is for all files below that have no row of their own; the longest
folder decides. Files that are just gone have no row.
"""

import ast
import hashlib
import json
import os
import re
from functools import lru_cache
from importlib import import_module
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from ...options import closest
from ...version import __version__
from ..output import one_line, open_file

MANIFEST = "vendored.json"
"""The file that `vendor` writes into a copy; no part of the package."""
ORIGINALS = "vendored.tar.bz2"
"""The archive that `vendor` writes beside it: the files of a copy as they were."""
ALWAYS = ("__init__.py", "version.py", "LICENSE", "py.typed")
"""The files of every part: `mcp_ref.__version__` stands in the second."""
TABLES = ("_HOMES", "_LATE")
"""The names of tables of public names that a folder loads late: name -> module."""


class Part(NamedTuple):
    """A feature that a program needs only if its author uses it. A slice has it if it is named beside the slice."""

    gives: str
    """The ways to use it, in the words of an author."""
    doors: Tuple[str, ...]
    """The modules and folders by which a program comes to it; late imports of them are not followed without the part.

    A module in their place raises ImportError and says how to add the part. What is imported at the top of a module
    that stays is copied all the same.
    """
    behind: Tuple[str, ...] = ()
    """More that is not followed. No module stands in its place, for a program comes to the doors first."""

    @property
    def words(self) -> FrozenSet[str]:
        """The names in the source of a program without which it cannot come to the part: those of `gives` that are not
        followed by a parenthesis or a dot, as ``Server`` and ``ctx`` are."""
        return frozenset(re.findall(r"(?<![\w-])[A-Za-z_][\w-]*(?![\w(.-])", self.gives))


SLICES: Dict[str, str] = {"stdio-server": "server"}
"""Name of a slice -> the module or folder that its program begins with.

A slice is what one kind of program can come to need without the PARTS: a server for pipes, with tools, resources,
prompts, completions, subscriptions and logs. A client and the messages are folders, of which a program may need all:
``--only client``, ``--only messages``.
"""
PARTS: Dict[str, Part] = {
    "asking": Part("ctx.elicit, ctx.elicit_url, ctx.sample, ctx.list_roots, UrlElicitationRequired",
                   ("server.elicitation", "server.sampling", "server.roots", "protocol.sampling")),
    "tasks": Part("Server(tasks=...), tool(task=...)", ("ext.tasks.server",), ("messages.extensions",)),
    "apps": Part("server.app, tool(ui=...), ctx.has_apps", ("ext.apps",)),
    "skills": Part("server.skills", ("ext.skills.server",), ("messages.extensions",)),
    "files": Part("server.directory", ("server.registry.directory",)),
    "extensions": Part("Server(extensions=...), Extension, server.method", ("peer.extension",)),
    "stores": Part("Store, SqliteStore, MemoryTasks, consume_state=True", ("stores", "ext.stores")),
    "traces": Part("Server(trace=...), Trace, to_text, to_file", ("wiretrace",), ("transports.tap",)),
    "visibility": Part("tool(visible=...), ctx.requester", ("server.registry.visibility",)),
    "log-handler": Part("server.log_handler", ("server.loghandler",)),
    "lifespan": Part("Server(lifespan=...)", ("server.serving.lifespan",)),
    "main-thread": Part("MainThreadQueue for Server(executor=...)", ("peer.main_thread",)),
    "sockets": Part("listen at tcp:// and unix:", ("server.serving.socket_listener",)),
    "http": Part("run_http, wsgi, handle, http_route, Server(auth=...), x-mcp-header, listen at http://",
                 ("server.serving.http_listener", "streamable", "protocol.streamable_http"),
                 ("peer.routing",)),
}
"""Name -> part that may be added to a slice: ``--only stdio-server,tasks``."""
_SIGNPOST = b'\"\"\"Left out of this copy.\"\"\"\n'
AGAIN = """
raise ImportError("the part %s (%s) is not in this copy (vendor --only %s); copy again with --only %s")
"""
"""The source in the place of what is left out: the part, what it gives, the parts that are there, those to ask for."""

Module = Tuple[str, ...]
"""A module by its path inside the package; () is the package itself."""


def package_name() -> str:
    """Return the name under which this package runs."""
    return __name__.rpartition(".cli.")[0]


def files() -> Dict[str, bytes]:
    """Return the package's files by their paths inside it, with ``/``."""
    package = import_module(package_name())
    folder = str(package.__path__[0])
    loader = package.__spec__.loader if package.__spec__ else None
    archive, bundled = getattr(loader, "archive", None), getattr(loader, "files", None)
    if isinstance(bundled, dict):  # `loader.BundleLoader`; what others call so is a function
        found = {path: data for path, data in bundled.items() if path != MANIFEST}
    else:
        found = _zipped(archive, folder) if archive else read_folder(folder)
    return {path: found[path] for path in sorted(found)}


@lru_cache(maxsize=None)
def module_names() -> FrozenSet[str]:
    """Return the names of the package's modules inside it, with dots; that of the package itself is ""."""
    return frozenset(".".join(module_of(path)) for path in files() if path.endswith(".py"))


def read_folder(folder: str) -> Dict[str, bytes]:
    """Return the files of a package in a folder, without compiled and hidden files and what `vendor` has added."""
    found = {}
    for place, names, here in os.walk(folder):
        names[:] = [name for name in names if _belongs(name)]
        for name in here:
            if _belongs(name):
                path = os.path.join(place, name)
                with open_file(path) as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = file.read()
    return {path: data for path, data in found.items() if path not in (MANIFEST, ORIGINALS)}


def _zipped(archive: str, folder: str) -> Dict[str, bytes]:
    import zipfile

    start = os.path.relpath(folder, archive).replace(os.sep, "/") + "/"
    with zipfile.ZipFile(archive) as opened:
        found = {name[len(start):]: opened.read(name) for name in opened.namelist()
                 if name.startswith(start) and not name.endswith("/")}
    return {path: data for path, data in found.items()
            if path not in (MANIFEST, ORIGINALS) and all(map(_belongs, path.split("/")))}


def _belongs(name: str) -> bool:
    return name != "__pycache__" and not name.startswith(".") and not name.endswith((".pyc", ".pyo"))


# The graph


def subset(all_files: Dict[str, bytes], names: List[str], again: str = AGAIN) -> Dict[str, bytes]:
    """Return the files that some modules or folders of the package need to work, their own among them.

    names: such as ``server`` or ``transports.lines.stdio``, or one of SLICES and the PARTS to add to it; none at all is
    everything. Data files go with their folder, those beside the package's ``__init__`` with the module of the same
    name. What is left out of a slice is there if another one of the names needs it. ``again``: the source that a module
    has in the place of what is left out: how to add it. Raises ValueError for a name that the package does not have,
    and for a part without a slice.
    """
    if not names:
        return dict(all_files)
    modules = {module_of(path): path for path in all_files if path.endswith(".py")}
    sliced = any(name in SLICES for name in names)
    found: Set[Module] = set()
    left_out: Dict[Module, str] = {}
    for name in names:
        if name in SLICES:
            needed, cut = _closure({tuple(SLICES[name].split("."))}, modules, all_files, _cuts(names))
            left_out.update(cut)
        elif sliced and name in PARTS:
            continue  # it has made the slice larger
        else:
            needed, _ = _closure(_below(name, modules), modules, all_files, {})
        found |= needed
    for part in set(left_out.values()):  # the folders of doors: each of two doors in `ext` has to name its own part
        for door in PARTS[part].doors:
            found.update(tuple(door.split(".")[:length]) for length in range(1, door.count(".") + 1))
    kept = {modules[module] for module in found}
    folders = {path.rpartition("/")[0] for path in kept}
    chosen = {path: data for path, data in all_files.items() if path in kept or path in ALWAYS
              or (not path.endswith(".py") and "/" in path and path.rpartition("/")[0] in folders)
              or path.rpartition(".")[0] + ".py" in kept}
    chosen.update((modules[module], _signpost(part, names, again)) for module, part in _places(left_out, found).items())
    return {path: chosen[path] for path in all_files if path in chosen}


def _below(name: str, modules: Iterable[Module]) -> Set[Module]:
    """Return the modules that a name stands for. Raises ValueError if there are none."""
    start = tuple(name.split("."))
    below = {module for module in modules if module[: len(start)] == start}
    if not below and name in PARTS:
        raise ValueError("%s is a part to add to another: --only %s,%s" % (name, " or ".join(SLICES), name))
    if not below:
        known = {module[0] for module in modules if module and module[0] != "__main__"}.union(SLICES)
        raise ValueError("there is no %s in this package; %sthere are %s" % (
            name, _meant(name, known), ", ".join(sorted(known))))
    return below


def _cuts(names: Sequence[str]) -> Dict[str, str]:
    """Return the modules and folders of the PARTS that are not named: path -> the name of its part."""
    return {path: name for name, part in PARTS.items() if name not in names for path in part.doors + part.behind}


def _places(left_out: Dict[Module, str], found: Set[Module]) -> Dict[Module, str]:
    """Return the modules that stand for what is left out, each with the name of the part.

    Importing a.b.c begins with a: the first of these that is not here says that something is left out.
    """
    return {next(module[:length] for length in range(1, len(module) + 1) if module[:length] not in found): part
            for module, part in left_out.items() if module not in found and _is_door(module, part)}


def _is_door(module: Module, part: str) -> bool:
    return any(module[: len(door)] == door for door in (tuple(path.split(".")) for path in PARTS[part].doors))


def _signpost(part: str, names: Sequence[str], again: str) -> bytes:
    """Return the module that says that a part is left out."""
    says = again % (part, PARTS[part].gives, ",".join(names), ",".join([*names, part]))
    return _SIGNPOST + says.encode("ascii")


def places(files: Dict[str, bytes]) -> List[Module]:
    """Return the modules among some files that stand for what is left out."""
    return [module_of(path) for path, data in files.items() if data.startswith(_SIGNPOST)]


def lacking(files: Dict[str, bytes]) -> List[str]:
    """Return the names of the PARTS that are left out of some files."""
    return [part for part in PARTS if any(_is_door(module, part) for module in places(files))]


def _meant(name: str, known: Set[str]) -> str:
    """Return the question for the part that was probably meant, one with the word in it or of nearly the same name."""
    close = [each for each in sorted(known) if name in each.split("-")] or [closest(name, known)]
    return "did you mean %s? " % close[0] if close[0] else ""


def module_of(path: str) -> Module:
    parts = tuple(path[: -len(".py")].split("/"))
    return parts[:-1] if parts[-1] == "__init__" else parts


def _closure(wanted: Set[Module], modules: Dict[Module, str], all_files: Dict[str, bytes],
             cuts: Dict[str, str]) -> Tuple[Set[Module], Dict[Module, str]]:
    """Return these modules and all that importing and using them may load; and what a cut leaves out, with its part.

    A module is left out if it lies below a cut and is imported late only.
    """
    known = frozenset(modules)
    found: Set[Module] = set()
    cut: Dict[Module, str] = {}
    left = list(wanted)
    while left:
        module = left.pop()
        if module in found:
            continue
        found.add(module)
        left += [module[:length] for length in range(len(module))]
        path = modules[module]
        for imported, late in edges(module, path.endswith("__init__.py"), all_files[path], known):
            part = _cut(imported, cuts) if late else None
            if part is None:
                left.append(imported)
            else:
                cut[imported] = part
    return found, {module: part for module, part in cut.items() if module not in found}


def _cut(module: Module, cuts: Dict[str, str]) -> Optional[str]:
    """Return the part below whose cut a module lies; None for a module that is needed."""
    steps = (".".join(module[:length]) for length in range(1, len(module) + 1))
    return next((cuts[step] for step in steps if step in cuts), None)


@lru_cache(maxsize=None)
def edges(
    module: Module, is_folder: bool, source: bytes, known: FrozenSet[Module]
) -> Tuple[Tuple[Module, bool], ...]:
    """Return the modules of the package that one of them imports, each with True if it is imported late.

    Late are imports inside functions, by ``import_module``, and those of a table of TABLES.
    """
    here = module if is_folder else module[:-1]
    found: List[Tuple[Module, bool]] = []
    nodes = list(running(ast.parse(source)))
    table = next((node.value for node, _ in nodes if isinstance(node, ast.Assign) and module
                  and getattr(node.targets[0], "id", "") in TABLES), None)
    if table is not None:
        found += [(each, True) for each in _by_table(table, here)]
    for node, late in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
            targets = [base + (alias.name,) for alias in node.names]
            found += [(target if target in known else base, late) for target in targets]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module" and node.args \
                and table is None:  # whose names those are
            found += [(each, True) for each in _by_name(node.args[0], here, known)]
    return tuple(each for each in dict.fromkeys(found) if each[0] in known)


def running(tree: ast.AST) -> Iterator[Tuple[ast.AST, bool]]:
    """Walk all nodes but those inside ``if TYPE_CHECKING:``, each with True if it stands inside a function."""
    left = [(tree, False)]
    while left:
        node, late = left.pop()
        yield node, late
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        inside = node.orelse if isinstance(node, ast.If) and typing else list(ast.iter_child_nodes(node))
        left += [(each, late or isinstance(node, (ast.FunctionDef, ast.Lambda))) for each in inside]


def _by_table(table: ast.AST, here: Module) -> List[Module]:
    """The modules of a table of names. The package's own is left out, as in `_by_name`."""
    texts = [value.value for value in getattr(table, "values", ())
             if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    found = []
    for text in texts:
        path = text.lstrip(".")
        found.append(here[: len(here) - (len(text) - len(path)) + 1] + tuple(path.split(".")))
    return found


def _by_name(argument: ast.AST, here: Module, known: FrozenSet[Module]) -> List[Module]:
    """Return the modules that ``import_module`` may load: all that begin with the constant part of the name.

    Where no part is constant, that is the whole folder of the caller. The package itself is left out: its public names
    load modules of all folders, and a part of the package has only some of them.
    """
    while isinstance(argument, ast.BinOp):
        argument = argument.left
    text = argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""
    start = here + tuple(part for part in text.partition("%")[0].strip(".").split(".") if part)
    return [module for module in known if start and module[: len(start)] == start]


MOVES = "cli/copying/moves.tsv"
"""The table of moved files, by its path inside the package."""
_LARGEST = 1 << 24
"""Bytes of a file of the originals; what claims to be larger is none of ours."""
_MARKS = re.compile(rb"^(<{7} local|>{7} mcp_ref \S+)\r?$", re.MULTILINE)
"""The marks of a conflict, see `mcp_ref.cli.copying.update`."""


class VendorError(ValueError):
    """The copy is missing, was changed or cannot be read; the text says what to do."""


class Copy(NamedTuple):
    """A vendored copy as it is now, compared with its manifest."""

    target: str
    version: str
    only: List[str]
    files: Dict[str, bytes]
    changed: List[str]
    missing: List[str]
    extra: List[str]
    listed: Dict[str, str]
    """The manifest: the sums of the files as they were copied, by their paths."""

    @property
    def edited(self) -> List[str]:
        """The differences from the manifest, one line for each file."""
        return ["%-8s %s" % (word, one_line(path)) for word, paths in (
            ("changed", self.changed), ("missing", self.missing), ("extra", self.extra)) for path in paths]

    @property
    def marked(self) -> List[str]:
        """The paths of the files that still have the marks of a conflict of an earlier update."""
        return [path for path in self.changed + self.extra if _MARKS.search(self.files[path])]


def with_manifest(chosen: Dict[str, bytes], only: List[str]) -> Dict[str, bytes]:
    """Return the files with their manifest."""
    listed = {path: digest(data) for path, data in chosen.items()}
    manifest = {"package": "mcp_ref", "version": __version__, "only": only, "files": listed}
    return dict(chosen, **{MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode("ascii")})


def read_copy(target: str) -> Copy:
    """Return a copy, compared with its manifest. Raises `VendorError` where there is no copy."""
    try:
        with open_file(os.path.join(target, MANIFEST)) as file:
            manifest = json.loads(file.read().decode("utf-8"))
        listed = {str(path): str(summed) for path, summed in manifest["files"].items()}
        version, only = str(manifest["version"]), [str(name) for name in manifest["only"]]
    except OSError as error:
        raise VendorError("there is no vendored copy at %s (%s: %s)" % (target, MANIFEST, error.strerror)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise VendorError("%s of %s cannot be read; --force copies anew" % (MANIFEST, target)) from None
    there = read_folder(target)
    changed = [path for path in listed if path in there and digest(there[path]) != listed[path]]
    return Copy(target, version, parts_since(version, only), there, changed, sorted(set(listed) - set(there)),
                sorted(set(there) - set(listed)), listed)


def moves_since(version: str) -> Callable[[str], List[str]]:
    """Return a function that returns the files which a file of an earlier version has become, those that exist."""
    tables: Dict[str, Dict[str, List[str]]] = {}
    here = files() if version != __version__ else {}
    for line in here.get(MOVES, b"").decode("ascii").splitlines():
        since, _, row = line.partition("\t")
        if row and _numbers(version) < _numbers(since):
            old, _, new = row.partition("\t")
            tables.setdefault(since, {}).setdefault(old, []).append(new)

    def moved(path: str) -> List[str]:
        paths = [path]
        for table in tables.values():
            paths = [new for each in paths for new in _step(each, table)]
        return [each for each in dict.fromkeys(paths) if not tables or each in here]

    return moved


def _step(path: str, table: Dict[str, List[str]]) -> List[str]:
    """Return the paths in one version of a file of the version before."""
    for length in range(len(path), 0, -1):
        row = table.get(path[:length]) if length == len(path) or path[length - 1] == "/" else None
        if row is not None:
            return [new + path[length:] for new in row]
    return [path]


def _numbers(version: str) -> List[int]:
    return [int(number) for number in re.findall("[0-9]+", version)]


def parts_since(version: str, only: List[str]) -> List[str]:
    """Return the names by which this version has the parts of a copy of an earlier one."""
    moved, found = moves_since(version), []
    for name in only:
        path = name.replace(".", "/")
        places = [place for source in (path + ".py", path + "/__init__.py") for place in moved(source)
                  if place != source]
        found += [".".join(module_of(place)) for place in places] or [name]
    return list(dict.fromkeys(found))


def digest(data: bytes) -> str:
    """Return the sum by which a manifest knows a file."""
    return hashlib.sha256(data).hexdigest()


def packed(files: Dict[str, bytes]) -> bytes:
    """Return the archive of the originals. Raises ImportError for a Python without `bz2`."""
    import bz2
    import io
    import tarfile

    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(files):
            entry = tarfile.TarInfo(path)  # its time is 0
            entry.size = len(files[path])
            archive.addfile(entry, io.BytesIO(files[path]))
    return bz2.compress(stream.getvalue())


def originals(copy: Copy, paths: List[str]) -> Tuple[Dict[str, bytes], str]:
    """Return those of the files that the archive of the originals has, as the manifest knows them, and what is wrong
    with the archive."""
    import tarfile

    found, wrong = {}, ""
    try:
        with open_file(os.path.join(copy.target, ORIGINALS)) as source, tarfile.open(
                fileobj=source, mode="r:bz2") as archive:
            for entry in archive:
                if entry.name in paths and entry.isfile() and entry.size <= _LARGEST:
                    file = archive.extractfile(entry)
                    data = file.read() if file is not None else b""
                    if digest(data) == copy.listed[entry.name]:
                        found[entry.name] = data
                    else:
                        wrong = "is that of another copy"
    except FileNotFoundError:
        wrong = "is not there"
    except (OSError, EOFError, tarfile.TarError, ValueError):
        wrong = "cannot be read"
    return found, wrong or "does not have them"
