"""The regular files below a folder, and nothing else, whatever the names that a peer gives.

A file is named by its parts, ``("docs", "a.txt")``, each one name of a folder's entry. No part is ever
handed to the system as a path: every folder on the way is opened by itself, relative to the one before,
and what is a symbolic link at that moment is not followed. So there is no path to climb out of, and no
time between a check and its use in which a name could come to mean something else. Links that stay
inside are not followed either. Devices, sockets and FIFOs are no files, and opening them never waits.

Where the platform cannot open relative to a folder (`DescriptorTree` needs ``dir_fd`` and
``O_NOFOLLOW``), `PathTree` checks each name against the folder's own entries, which rules out every
other spelling of it, and compares the open file with the path once more afterwards. A hard link is the
file itself and cannot be told from it.
"""

import errno
import os
import stat
from contextlib import contextmanager
from typing import Any, Callable, Generator, Iterator, List, Optional, Tuple

Parts = Tuple[str, ...]
Visits = Generator[Tuple[Parts, Optional[os.stat_result]], None, None]
"""What `Tree.walk` comes by: files with their status, and None for anything else."""

MAX_FOLDERS = 64
"""Folders inside folders; `DescriptorTree.walk` holds a descriptor for each."""
_CHUNK = 1024 * 1024
_NAME_SURROGATE = 0x20000000
"""Set in the tag of what leads elsewhere on Windows: symbolic links and junctions, but no placeholders of a cloud."""

_UNAVAILABLE = frozenset(
    getattr(errno, name) for name in (
        "ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "EMLINK", "EACCES", "EPERM", "ENAMETOOLONG", "EINVAL", "ENXIO",
        "ENODEV", "EILSEQ", "EOPNOTSUPP", "EWOULDBLOCK",
    ) if hasattr(errno, name)
)
"""What the system says of a file that is not there for us; anything else (no more descriptors) is a failure."""


class Missing(Exception):
    """There is no such file for the peer, for whatever reason."""


class TooLarge(Exception):
    """The file has more bytes than wanted."""


def is_name(part: str) -> bool:
    """Whether this can be the name of an entry, on any platform: no way up, no separator, no control character."""
    return part not in ("", ".", "..") and not any(sign < " " or sign in "/\\\x7f" for sign in part)


@contextmanager
def _missing() -> Iterator[None]:
    """Turns what the system says of a file that is not there into `Missing`."""
    try:
        yield
    except ValueError:  # a null character, or a name that the file system cannot spell
        raise Missing() from None
    except OSError as error:
        if error.errno not in _UNAVAILABLE:
            raise
        raise Missing() from None


def _flags(*names: str) -> int:
    """Those of these flags that the platform has."""
    return sum(getattr(os, name, 0) for name in names)


_OPEN_FILE = os.O_RDONLY | _flags("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
_OPEN_FOLDER = os.O_RDONLY | _flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")


class Tree:
    """The files below ``root``, a real path. Subclasses say what a folder on the way is: a descriptor or a path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def _top(self) -> Any:
        """The root, opened."""
        raise NotImplementedError

    def _below(self, folder: Any, name: str) -> Any:
        """A folder of this name in an open folder, opened. Raises OSError or `Missing`."""
        raise NotImplementedError

    def _open(self, folder: Any, name: str) -> int:
        """A descriptor of a regular file in an open folder. Raises OSError or `Missing`."""
        raise NotImplementedError

    def _leave(self, folder: Any) -> None:
        """Close an open folder."""

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[Any]:
        """The folder that these parts lead to, open for as long as it is needed."""
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

    def read(self, parts: Parts, most: int) -> bytes:
        """The bytes of a file. Raises `Missing`, `TooLarge` for more than ``most``, OSError for a failing system."""
        if not is_name(parts[-1]):
            raise Missing()
        with _missing():
            with self._folder(parts[:-1]) as folder:
                fd = self._open(folder, parts[-1])
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise Missing()
                if status.st_size > most:
                    raise TooLarge()
                return _read(fd, most)
            finally:
                os.close(fd)

    def entries(self, parts: Parts) -> List[Tuple[str, bool]]:
        """What a folder holds, in order of names: files (False) and folders (True). Raises `Missing`."""
        with _missing(), self._folder(parts) as folder:
            kinds = [(entry.name, _status(entry)) for entry in _sorted(folder)]
        return [(name, stat.S_ISDIR(status.st_mode)) for name, status in kinds
                if status is not None and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))]

    def walk(self, after: Parts, enter: Callable[[Parts], bool]) -> Visits:
        """Everything below the root in order of the parts, behind ``after``; ``enter`` says which folders to enter.

        What disappears meanwhile is left out. Close it where it is not used up. Raises `Missing` without the root.
        """
        with _missing():
            folder = self._top()
        yield from self._walk(folder, (), after, enter)

    def _walk(self, folder: Any, above: Parts, after: Parts, enter: Callable[[Parts], bool]) -> Visits:
        """What is below an open folder, which is closed at the end."""
        try:
            try:
                entries = _sorted(folder)
            except OSError:
                return  # it went meanwhile
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
    """Each folder is opened relative to the one above it, and closed to links at that moment."""

    @staticmethod
    def works() -> bool:
        """Whether the platform has what it takes."""
        return {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd and \
            hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")

    def _top(self) -> int:
        return os.open(self.root, _OPEN_FOLDER)

    def _below(self, folder: int, name: str) -> int:
        return os.open(name, _OPEN_FOLDER, dir_fd=folder)

    def _open(self, folder: int, name: str) -> int:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise Missing()  # not even opened: opening a device can have an effect
        return os.open(name, _OPEN_FILE, dir_fd=folder)

    def _leave(self, folder: int) -> None:
        os.close(folder)


class PathTree(Tree):
    """A folder is a path that was checked; for platforms that know nothing better."""

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
                raise Missing()  # something on the way was replaced after it had been looked at
        except BaseException:
            os.close(fd)
            raise
        return fd

    @staticmethod
    def _entry(folder: str, name: str) -> str:
        """The path of an entry. Other spellings (case, a short name, a stream, a trailing dot) are in no listing."""
        if name not in os.listdir(folder):
            raise Missing()
        return os.path.join(folder, name)


def _unlinked(path: str) -> os.stat_result:
    """The status of what is no link. Raises `Missing` for one."""
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


def _read(fd: int, most: int) -> bytes:
    """Up to the end: files of a kernel have no size, and others grow."""
    chunks: List[bytes] = []
    left = most + 1
    while left > 0:
        chunk = os.read(fd, min(left, _CHUNK))
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        left -= len(chunk)
    raise TooLarge()
