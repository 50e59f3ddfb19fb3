"""Safe access to the regular files below a folder, whatever names a client sends.

A file is named by its parts, ``("docs", "a.txt")``, each the name of one entry of a folder. No part is ever
given to the system as a path: every folder on the way is opened by itself, relative to the one before,
and symbolic links are not followed. So a name cannot lead out of the folder, and there is no
time between a check and its use in which a name could come to mean another file. Links that stay
inside are not followed either. Devices, sockets and FIFOs are no files, and opening them never waits.

On a platform that cannot open relative to a folder (`DescriptorTree` needs ``dir_fd`` and
``O_NOFOLLOW``), `PathTree` checks each name against the folder's own entries, which rules out every
other spelling of it, and compares the open file with the path again afterwards. A hard link is the
file itself and cannot be told from it.
"""

import errno
import os
import stat
from contextlib import contextmanager
from typing import Any, Callable, Generator, Iterator, List, Optional, Tuple

Parts = Tuple[str, ...]
Visits = Generator[Tuple[Parts, Optional[os.stat_result]], None, None]
"""The entries that `Tree.walk` yields: files with their status, and None for anything else."""

MAX_FOLDERS = 64
"""Folders inside folders; `DescriptorTree.walk` holds a descriptor for each."""
_CHUNK = 1024 * 1024
_NAME_SURROGATE = 0x20000000
"""The bit in the tag of a link on Windows: of symbolic links and junctions, not of placeholders of a cloud."""

_UNAVAILABLE = frozenset(
    getattr(errno, name) for name in (
        "ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "EMLINK", "EACCES", "EPERM", "ENAMETOOLONG", "EINVAL", "ENXIO",
        "ENODEV", "EILSEQ", "EOPNOTSUPP", "EWOULDBLOCK",
    ) if hasattr(errno, name)
)
"""The errors of the system for a file that is missing or forbidden; any other (no more descriptors) is a failure."""


class Missing(Exception):
    """The file does not exist, or may not be served."""


class TooLarge(Exception):
    """The file has more bytes than the limit."""


def is_name(part: str) -> bool:
    """Return True if this can be the name of an entry on any platform: no ``..``, separator or control character."""
    return part not in ("", ".", "..") and not any(sign < " " or sign in "/\\\x7f" for sign in part)


@contextmanager
def _missing() -> Iterator[None]:
    """Convert the system's errors for a file that is missing or forbidden to `Missing`."""
    try:
        yield
    except ValueError:  # a null character, or a name that the file system cannot spell
        raise Missing() from None
    except OSError as error:
        if error.errno not in _UNAVAILABLE:
            raise
        raise Missing() from None


def _flags(*names: str) -> int:
    """Return the sum of the flags of `os` that the platform has."""
    return sum(getattr(os, name, 0) for name in names)


_OPEN_FILE = os.O_RDONLY | _flags("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
_OPEN_FOLDER = os.O_RDONLY | _flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")


class Tree:
    """The files below ``root``, a real path. In subclasses an open folder is a descriptor or a checked path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def _top(self) -> Any:
        """Open the root, and return it."""
        raise NotImplementedError

    def _below(self, folder: Any, name: str) -> Any:
        """Open the folder of this name in an open folder, and return it. Raises OSError or `Missing`."""
        raise NotImplementedError

    def _open(self, folder: Any, name: str) -> int:
        """Return a descriptor of a regular file in an open folder. Raises OSError or `Missing`."""
        raise NotImplementedError

    def _leave(self, folder: Any) -> None:
        """Close an open folder."""

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[Any]:
        """Return a context manager with the open folder of this path."""
        if len(parts) > MAX_FOLDERS or not all(map(is_name, parts)):
            raise Missing()
        folder = self._top()
        try:
            for part in parts:
                below = self._below(folder, part)
                self._leave(folder)
                folder = below
            yield folder
        finally:
            self._leave(folder)

    def read(self, parts: Parts, limit: int) -> bytes:
        """Return the bytes of a file. Raises `Missing`, `TooLarge` above ``limit`` bytes, OSError otherwise."""
        if not is_name(parts[-1]):
            raise Missing()
        with _missing():
            with self._folder(parts[:-1]) as folder:
                fd = self._open(folder, parts[-1])
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise Missing()
                if status.st_size > limit:
                    raise TooLarge()
                return _read(fd, limit)
            finally:
                os.close(fd)

    def entries(self, parts: Parts) -> List[Tuple[str, bool]]:
        """Return the entries of a folder by name: files (False) and folders (True). Raises `Missing`."""
        with _missing(), self._folder(parts) as folder:
            kinds = [(entry.name, _status(entry)) for entry in _sorted(folder)]
        return [(name, stat.S_ISDIR(status.st_mode)) for name, status in kinds
                if status is not None and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))]

    def walk(self, after: Parts, enter: Callable[[Parts], bool]) -> Visits:
        """Yield the entries below the root behind ``after``, in order of the parts; ``enter`` chooses folders to enter.

        An entry that disappears meanwhile is left out. Close the generator if it is not exhausted. Raises `Missing` if
        the root is gone.
        """
        with _missing():
            folder = self._top()
        yield from self._walk(folder, (), after, enter)

    def _walk(self, folder: Any, above: Parts, after: Parts, enter: Callable[[Parts], bool]) -> Visits:
        """Yield the entries below an open folder, and close it at the end."""
        try:
            try:
                entries = _sorted(folder)
            except OSError:
                return  # the folder disappeared meanwhile
            for entry in entries:
                if after and entry.name < after[0]:
                    continue
                parts, status = above + (entry.name,), _status(entry)
                seen = bool(after) and entry.name == after[0]
                if not seen:
                    yield parts, status if status is not None and stat.S_ISREG(status.st_mode) else None
                if status is None or not stat.S_ISDIR(status.st_mode) or len(parts) > MAX_FOLDERS or not enter(parts):
                    continue
                try:
                    below = self._below(folder, entry.name)
                except (OSError, Missing):
                    continue
                yield from self._walk(below, parts, after[1:] if seen else (), enter)
        finally:
            self._leave(folder)


class DescriptorTree(Tree):
    """A tree whose open folders are descriptors, each opened relative to the one above it without following links."""

    @staticmethod
    def works() -> bool:
        """Return True if the platform can open files relative to a folder."""
        return {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd and \
            hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")

    def _top(self) -> int:
        return os.open(self.root, _OPEN_FOLDER)

    def _below(self, folder: int, name: str) -> int:
        return os.open(name, _OPEN_FOLDER, dir_fd=folder)

    def _open(self, folder: int, name: str) -> int:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Missing()  # before it is opened: opening a device can have an effect
        return os.open(name, _OPEN_FILE, dir_fd=folder)

    def _leave(self, folder: int) -> None:
        os.close(folder)


class PathTree(Tree):
    """A tree whose open folders are checked paths, for platforms without `DescriptorTree`."""

    def _top(self) -> str:
        _unlinked(self.root)
        return self.root

    def _below(self, folder: str, name: str) -> str:
        path = self._entry(folder, name)
        if not stat.S_ISDIR(_unlinked(path).st_mode):
            raise Missing()
        return path

    def _open(self, folder: str, name: str) -> int:
        path = self._entry(folder, name)
        if not stat.S_ISREG(_unlinked(path).st_mode):
            raise Missing()
        fd = os.open(path, _OPEN_FILE)
        try:
            if os.path.realpath(path) != path or not os.path.samestat(os.fstat(fd), os.lstat(path)):
                raise Missing()  # a folder or the file was replaced after the check
        except BaseException:
            os.close(fd)
            raise
        return fd

    @staticmethod
    def _entry(folder: str, name: str) -> str:
        """Return the path of an entry of a folder, by the name that the folder's listing has.

        Another spelling (case, a short name, a stream, a trailing dot) is in no listing.
        """
        if name not in os.listdir(folder):
            raise Missing()
        return os.path.join(folder, name)


def _unlinked(path: str) -> os.stat_result:
    """Return the status of a path. Raises `Missing` for a link."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) & _NAME_SURROGATE:
        raise Missing()
    return status


def _sorted(folder: Any) -> "List[os.DirEntry[str]]":
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _status(entry: "os.DirEntry[str]") -> Optional[os.stat_result]:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _read(fd: int, limit: int) -> bytes:
    """Read to the end, without trusting the size: files of the kernel have none, and others may grow."""
    chunks: List[bytes] = []
    left = limit + 1
    while left > 0:
        chunk = os.read(fd, min(left, _CHUNK))
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        left -= len(chunk)
    raise TooLarge()
