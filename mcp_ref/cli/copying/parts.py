"""What this package consists of: its files, wherever it was loaded from, and which module needs which.

Files are read from the folder or from the zip archive that the package lies in. The graph of imports is read
off the sources, late imports and ``import_module`` included, imports for the type checker not. So are the modules of
the names that a folder of the package loads late, by a table such as ``_HOMES``.
"""

import ast
import os
from functools import lru_cache
from importlib import import_module
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Set, Tuple

MANIFEST = "vendored.json"
"""Written by `vendor` into a copy; no part of the package."""
ALWAYS = ("__init__.py", "LICENSE", "py.typed")
TABLES = ("_HOMES", "_LATE")
"""What a folder calls its table of public names that are loaded late: name -> module."""


class Slice(NamedTuple):
    """A part of the package that is less than a folder."""

    module: str
    """What it begins with."""
    without: Tuple[str, ...]
    """Modules that this one could come to need, and that are left out: there is a module that says so when imported."""


SLICES: Dict[str, Slice] = {
    "stdio-server": Slice("server.serving.stdio", (
        "server.serving.http_listener", "streamable.server.call", "streamable.server.wsgi", "streamable.shared.sqlite",
        "streamable.shared.store")),
}
"""Name -> slice: a server for pipes and sockets, without HTTP."""
_LEFT_OUT = """\"\"\"Left out of this copy.\"\"\"

raise ImportError("%%s is not in this copy of mcp_ref, which was made with vendor --only %s: "
                  "--only %s has it" %% __name__)
"""

Module = Tuple[str, ...]
"""A module by its path inside the package; () is the package itself."""


def package_name() -> str:
    """The name under which this package runs."""
    return __name__.rpartition(".cli.")[0]


def version() -> str:
    """Its version."""
    return str(import_module(package_name()).__version__)


def files() -> Dict[str, bytes]:
    """The package's files by their paths inside it, with ``/``."""
    package = import_module(package_name())
    folder = str(package.__path__[0])
    archive = getattr(package.__spec__.loader if package.__spec__ else None, "archive", None)
    found = _zipped(archive, folder) if archive else read_folder(folder)
    return {path: found[path] for path in sorted(found)}


def read_folder(folder: str) -> Dict[str, bytes]:
    """The files of a package in a folder, without what Python and others leave there."""
    found = {}
    for place, names, here in os.walk(folder):
        names[:] = [name for name in names if _belongs(name)]
        for name in here:
            if _belongs(name):
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder).replace(os.sep, "/")] = file.read()
    found.pop(MANIFEST, None)
    return found


def _zipped(archive: str, folder: str) -> Dict[str, bytes]:
    import zipfile

    start = os.path.relpath(folder, archive).replace(os.sep, "/") + "/"
    with zipfile.ZipFile(archive) as opened:
        found = {name[len(start):]: opened.read(name) for name in opened.namelist()
                 if name.startswith(start) and not name.endswith("/")}
    return {path: data for path, data in found.items() if path != MANIFEST and all(map(_belongs, path.split("/")))}


def _belongs(name: str) -> bool:
    return name != "__pycache__" and not name.startswith(".") and not name.endswith((".pyc", ".pyo"))


# The graph


def subset(all_files: Dict[str, bytes], names: List[str]) -> Dict[str, bytes]:
    """The files that some modules or folders of the package need to work, their own among them.

    names: such as ``server`` or ``transports.lines.stdio``, or one of SLICES; none at all is everything. Data files go
    with their folder. What is left out of a slice is there if another one of the names needs it. Raises ValueError for
    a name that the package does not have.
    """
    if not names:
        return dict(all_files)
    modules = {_module_of(path): path for path in all_files if path.endswith(".py")}
    found: Set[Module] = set()
    left_out: Dict[str, bytes] = {}
    for name in names:
        part = SLICES.get(name, Slice(name, ()))
        start = tuple(part.module.split("."))
        below = {module for module in modules if module[: len(start)] == start}
        if not below:
            known = {module[0] for module in modules if module and module[0] != "__main__"}.union(SLICES)
            raise ValueError("there is no %s in this package; there are %s" % (name, ", ".join(sorted(known))))
        without = {tuple(each.split(".")) for each in part.without}
        found |= _closure(below, {module: modules[module] for module in modules if module not in without}, all_files)
        source = (_LEFT_OUT % (name, start[0])).encode("ascii")
        left_out.update((modules[module], source) for module in without)
    kept = {modules[module] for module in found}
    folders = {path.rpartition("/")[0] for path in kept}
    chosen = {path: data for path, data in all_files.items() if path in kept or path in ALWAYS
              or (not path.endswith(".py") and "/" in path and path.rpartition("/")[0] in folders)}
    return {path: chosen.get(path, left_out.get(path, b"")) for path in all_files if path in chosen or path in left_out}


def _module_of(path: str) -> Module:
    parts = tuple(path[: -len(".py")].split("/"))
    return parts[:-1] if parts[-1] == "__init__" else parts


def _closure(wanted: Set[Module], modules: Dict[Module, str], all_files: Dict[str, bytes]) -> Set[Module]:
    """These modules and all that importing and using them may load."""
    found: Set[Module] = set()
    left = list(wanted)
    while left:
        module = left.pop()
        if module in found:
            continue
        found.add(module)
        left += [module[:length] for length in range(len(module))]
        left += imports(module, modules[module].endswith("__init__.py"), all_files[modules[module]], frozenset(modules))
    return found


@lru_cache(maxsize=None)
def imports(module: Module, is_folder: bool, source: bytes, known: FrozenSet[Module]) -> Tuple[Module, ...]:
    """The modules of the package that one of them imports, early or late."""
    here = module if is_folder else module[:-1]
    found: List[Module] = []
    for node in _running(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
            targets = [base + (alias.name,) for alias in node.names]
            found += [target if target in known else base for target in targets]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module" and node.args:
            found += _by_name(node.args[0], here, known)
        elif isinstance(node, ast.Assign) and module and getattr(node.targets[0], "id", "") in TABLES:
            found += _by_table(node.value, here)
    return tuple(each for each in dict.fromkeys(found) if each in known)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside ``if TYPE_CHECKING:``."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        left += node.orelse if isinstance(node, ast.If) and typing else list(ast.iter_child_nodes(node))


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
    """What ``import_module`` may load: everything that begins with the constant part of the name.

    Where nothing is constant that is the whole folder of the caller. The package itself is left out: what its names
    stand for is loaded when somebody asks for them, and a part of the package has just some of them.
    """
    while isinstance(argument, ast.BinOp):
        argument = argument.left
    text = argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""
    start = here + tuple(part for part in text.partition("%")[0].strip(".").split(".") if part)
    return [module for module in known if start and module[: len(start)] == start]
