"""A file of SQLite that the processes of one machine share: who may have it, and how it is opened, read and written.

`mcp_ref.ext.stores.sqlite` keeps sessions and tasks in one; the rules that the file and its folder have to keep to are
in its docstring.
"""

import os
import stat
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable, Dict, Iterator, Optional, Tuple

if TYPE_CHECKING:
    import sqlite3

_BUSY_SECONDS = 10.0
"""The seconds to wait while others write; a write takes some 20 us."""
_RETRY_SECONDS = 0.005
_BESIDE = ("", "-wal", "-shm", "-journal")
"""The files of a database, by how their names end."""


class _Opened:
    """The connection of one process, opened when it is first needed. One thread at a time uses it, for moments."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.database: "Optional[sqlite3.Connection]" = None


class SqliteFile:
    """The file at ``path``; a subclass says what is in it, by `_prepare`. Each process has two connections of its own,
    because a writer that waits for another process would keep its readers waiting.

    ``instead`` ends the text of the ImportError where Python was built without `sqlite3`; ``kind``: what the file is.
    """

    instead = ""
    kind = "database of ours"

    def __init__(self, path: "str") -> None:
        self.path = path
        self._opened: Dict[Tuple[int, bool], _Opened] = {}
        """The connections, by the id of the process and whether it writes there."""
        database = self._open()
        database.close()  # whoever makes the store may fork before it uses it

    def close(self) -> None:
        """Close what this process has open; the next use opens it again."""
        for writes in (False, True):
            opened = self._opened.get((os.getpid(), writes))
            if opened is not None:
                with opened.lock:
                    database, opened.database = opened.database, None
                    if database is not None:
                        database.close()

    def _prepare(self, database: "sqlite3.Connection") -> None:
        """Set up the connection, and the tables where the file is new."""
        raise NotImplementedError

    @contextmanager
    def _reading(self, writes: bool = False) -> "Iterator[sqlite3.Connection]":
        key = os.getpid(), writes
        opened = self._opened.get(key)
        if opened is None:  # what the parent of this process has opened stays in the dict, so that nothing closes it
            opened = self._opened.setdefault(key, _Opened())
        with opened.lock:
            if opened.database is None:
                opened.database = self._open()
            yield opened.database

    @contextmanager
    def _writing(self) -> "Iterator[sqlite3.Connection]":
        with self._reading(True) as database, transaction(database):
            yield database

    def _open(self) -> "sqlite3.Connection":
        try:
            import sqlite3
        except ImportError as error:
            raise ImportError("this Python was built without sqlite3, which %s needs: %s" % (
                type(self).__name__, self.instead)) from error
        _make(self.path)
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(database)
        except sqlite3.DatabaseError as error:
            database.close()
            raise ValueError("%s is no %s: %s" % (self.path, self.kind, error)) from error
        except BaseException:
            database.close()
            raise
        return database


def use_wal(database: "sqlite3.Connection", check: Callable[[], object]) -> None:
    """Have readers and writers not wait for each other. ``check`` raises for a file that may not be written into."""
    import sqlite3

    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            with transaction(database, "DEFERRED"):
                check()  # before anything is written into a file that is none of ours
            database.execute("PRAGMA journal_mode = WAL").fetchall()
            break
        except sqlite3.OperationalError:  # the one step that does not wait by itself while others do the same
            if time.monotonic() > end:
                raise
            time.sleep(_RETRY_SECONDS)
    database.execute("PRAGMA synchronous = NORMAL").fetchall()  # a loss of power loses the latest writes


def boot() -> str:
    """Return the id of the start since which the monotonic clock counts; "" if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def _make(path: str) -> None:
    """Make the file for its owner alone, or check that it, the files beside it and its folder are safe."""
    _check_folder(os.path.dirname(path))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600))
    except FileExistsError:
        pass  # and it is not opened: closing it would release the locks that SQLite has on it in this process [POSIX]
    for end in _BESIDE:
        try:
            found = os.lstat(path + end)
        except FileNotFoundError:
            continue
        _check_file(path + end, found)


def _check_file(path: str, found: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("%s must be a file, and no link: remove it, or pass another path" % path)
    if found.st_uid != os.geteuid():
        raise ValueError("%s belongs to another user (%d, and this process is of %d): remove it, or pass another path"
                         % (path, found.st_uid, os.geteuid()))
    if found.st_mode & 0o077:
        raise ValueError("%s must be a file that only its owner can read: chmod 600 it" % path)


def _check_folder(folder: str) -> None:
    if sys.platform == "win32":
        return
    found = os.stat(folder)
    if found.st_uid not in (0, os.geteuid()):
        raise ValueError("the folder %s belongs to another user (%d), who can change what is in it: pass a path in a"
                         " folder of your own" % (folder, found.st_uid))
    if found.st_mode & 0o002:
        raise ValueError("anybody may write in the folder %s (mode %o): pass a path in a folder of your own, such as"
                         " one of mode 700 in it" % (folder, found.st_mode & 0o7777))


@contextmanager
def transaction(database: "sqlite3.Connection", kind: str = "IMMEDIATE") -> Iterator[None]:
    """The context of a transaction, which ends with it: kept, or undone if something was raised."""
    database.execute("BEGIN " + kind)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # SQLite has ended it by itself where the disk is full
            database.execute("ROLLBACK")
        raise
