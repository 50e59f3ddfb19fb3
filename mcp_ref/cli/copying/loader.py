"""The loader in a bundle: it imports modules whose sources stand in the bundle as text.

`bundle` copies this file into each bundle, where the last line of the sources runs it; the package imports it nowhere.

A traceback shows a module of a bundle as ``one.py/mcp_ref.server.server.py`` and the line of the module, as it is in
the package; in the bundle that line stands as far below the module's banner. `linecache`, `traceback`, `logging`, `pdb`
and `inspect` get the lines from here. The display of an uncaught exception of CPython 3.8 to 3.12, which is written in
C, names module and line, and shows no text, as for a zip archive.

Python compiles all modules at each start, unless it may keep them: ``__pycache__/one.py`` beside the bundle, or
below ``sys.pycache_prefix``. ``-B`` and ``PYTHONDONTWRITEBYTECODE`` forbid to write there, ``-I`` also to read there.
Beside the bundle they are kept in folders only that belong to the user or to root, and that not everybody may write to:
who can put a compiled module there, runs code as the user.
"""

import os
import sys
from binascii import crc32
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any, Dict, Iterator, Optional, Tuple

PROGRAM = "\n# ==== the program: "
"""The beginning of the last banner: what stands before it makes the package importable, and runs nothing."""


class BundleFinder:
    """Finds the modules of one bundle; a member of `sys.meta_path`."""

    def __init__(self, texts: Dict[str, str], file: Optional[str]) -> None:
        """Take the sources and data files by their paths, and the bundle's file, where there is one."""
        self.texts = texts
        self.file = None if file is None else os.path.abspath(file)
        self.root = (self.file or "bundle") + os.sep
        self.paths: Dict[str, str] = {}
        for path in texts:
            if path.endswith(".py"):
                name = path[: -len(".py")].replace("/", ".")
                self.paths[name[: -len(".__init__")] if name.endswith(".__init__") else name] = path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        """Return the spec of a module of the bundle; None for any other."""
        inside = self.paths.get(name)
        if inside is None:
            return None
        file = self.root + inside.replace("/", ".")
        is_package = inside.endswith("/__init__.py")
        spec = ModuleSpec(name, BundleLoader(name, file, self, inside), origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [self.root + inside.rpartition("/")[0].replace("/", os.sep)]
        return spec

    def folder(self, path: str) -> "BundleFolder":
        """Return what `pkgutil` lists a folder of the bundle by. Raises ImportError for any other; a path hook."""
        if not path.startswith(self.root):
            raise ImportError("%s is not in this bundle" % path)
        return BundleFolder(self, path[len(self.root):].replace(os.sep, "/"))

    def kept(self, path: str) -> str:
        """Return the path of a compiled module; its folder is made. Raises OSError where nothing may be kept."""
        if not path.startswith(self.root):
            return path  # below sys.pycache_prefix
        if self.file is None or sys.flags.isolated:
            raise OSError("nothing is kept for this bundle")
        folder, name = os.path.split(self.file)
        for part in ("__pycache__", name):
            folder = os.path.join(folder, part)
            if not (sys.flags.dont_write_bytecode or os.path.isdir(folder)):
                os.mkdir(folder, 0o755)
            found = os.lstat(folder)
            if hasattr(os, "geteuid") and (found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o002):
                raise OSError("%s may be written by others" % folder)
        return os.path.join(folder, os.path.basename(path))


class BundleFolder:
    """Lists the modules of one folder of a bundle; `BundleFinder` finds them before anybody asks here."""

    def __init__(self, finder: BundleFinder, inside: str) -> None:
        self.finder = finder
        self.inside = inside

    def find_spec(self, name: str, target: Any = None) -> Optional[ModuleSpec]:
        """Return None."""
        return None

    def iter_modules(self, prefix: str = "") -> Iterator[Tuple[str, bool]]:
        """Yield the names of the modules, each with True for a folder."""
        start = self.inside.replace("/", ".") + "."
        for name, path in self.finder.paths.items():
            if name.startswith(start) and "." not in name[len(start):]:
                yield prefix + name[len(start):], path.endswith("/__init__.py")


class BundleLoader(SourceFileLoader):
    """Loads one module of a bundle, and the data files of its folder."""

    def __init__(self, name: str, file: str, finder: BundleFinder, inside: str) -> None:
        super().__init__(name, file)
        self.finder = finder
        self.inside = inside

    def is_package(self, fullname: str) -> bool:
        """Return True for a folder."""
        return self.inside.endswith("/__init__.py")

    def get_data(self, path: Any) -> bytes:
        """Return the source, a file of the module's folder, or the compiled module. Raises OSError."""
        if path == self.path:
            return self.finder.texts[self.inside].encode("utf-8")
        if path.endswith(".pyc"):
            with open(self.finder.kept(path), "rb") as file:
                return file.read()
        name = path[len(self.finder.root):].replace(os.sep, "/")
        found = self.finder.texts.get(self.inside.rpartition("/")[0] + "/" + name)
        if found is None:
            raise OSError("there is no %s in this bundle" % path)
        return found.encode("utf-8")

    def path_stats(self, path: Any) -> Dict[str, Any]:
        """Return what tells one source from another, in the place of a file's time: a sum over the text itself.

        So a bundle that was edited, or copied with an old date, never gets what was compiled from another text.
        """
        text = self.get_data(path)
        return {"mtime": crc32(text), "size": len(text)}

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Keep a compiled module, if that can be done."""
        beside = "%s.%d" % (path, os.getpid())
        try:
            path = self.finder.kept(path)
            beside = "%s.%d" % (path, os.getpid())
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(beside, "xb") as file:
                file.write(data)
            os.replace(beside, path)
        except OSError:
            try:
                os.unlink(beside)
            except OSError:
                pass

    # For `mcp_ref` itself

    @property
    def files(self) -> Dict[str, bytes]:
        """The files of the package that are in the bundle, by their paths inside the package."""
        start = self.inside.rpartition("/")[0] + "/"
        return {path[len(start):]: text.encode("utf-8") for path, text in self.finder.texts.items()
                if path.startswith(start)}

    @property
    def preface(self) -> str:
        """The statement that makes the package importable in another process, and runs nothing of the program."""
        if self.finder.file is None:
            raise OSError("this bundle is no file, so no other process can import from it")
        return ("file = %r; text = open(file, encoding='utf-8').read(); "
                "exec(compile(text[:text.index(%r)], file, 'exec'), {'__file__': file}); "
                % (self.finder.file, PROGRAM))


def install(texts: Dict[str, str], file: Optional[str], package: str, version: str) -> None:
    """Make the modules of a bundle importable. Raises ImportError if the package is there in another version."""
    loaded = sys.modules.get(package)
    finder: Any = BundleFinder(texts, file)
    there = getattr(loaded, "__version__", None)
    if loaded is None:
        sys.meta_path.insert(0, finder)
    elif there != version:
        raise ImportError("%s holds %s %s, and version %s is loaded already, from %s; run it as a process of its own, "
                          "or bundle it again with that version" % (file, package, version, there, loaded.__file__))
    else:
        sys.meta_path.append(finder)  # for the modules that the one that is loaded may lack
    sys.path_hooks.append(finder.folder)
