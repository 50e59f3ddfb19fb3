"""A vendored copy of this package: its files, its manifest, and the originals by which a later version is merged.

The manifest is `parts.MANIFEST`: ``{"package", "version", "only", "files": {path: sha256}}``. The originals are the
same files, in an archive beside it (`parts.ORIGINALS`), a fifth of their size: a server for pipes of 1.6 MB
has one of 0.3 MB. ``vendor --update`` needs of it the files that somebody has edited; without it, all others are
updated all the same. Its bytes depend on the files alone. A program that ships the copy can leave it out.

`MOVES` is the table of the files that have moved since an earlier version, three columns: the version with the new
path, the old path, the new one. Versions ascend. A file that was split has several rows, as has one that several were
merged into. A row of folders, which end with ``/``, is for all files below that have no row of their own; the longest
folder decides. Files that are just gone have no row.
"""

import hashlib
import json
import os
import re
from typing import Callable, Dict, List, NamedTuple, Tuple

from ...version import __version__
from ..output import one_line, open_file
from . import parts
from .parts import MANIFEST, ORIGINALS


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
    there = parts.read_folder(target)
    changed = [path for path in listed if path in there and digest(there[path]) != listed[path]]
    return Copy(target, version, parts_since(version, only), there, changed, sorted(set(listed) - set(there)),
                sorted(set(there) - set(listed)), listed)


def moves_since(version: str) -> Callable[[str], List[str]]:
    """Return a function that returns the files which a file of an earlier version has become, those that exist."""
    tables: Dict[str, Dict[str, List[str]]] = {}
    here = parts.files() if version != __version__ else {}
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
        found += [".".join(parts.module_of(place)) for place in places] or [name]
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
