"""A `Store` in a file that the processes of one machine share, by `sqlite3`.

::

    application = server.wsgi(sessions=SqliteStore("/run/mcp/sessions.db"))

The file is made with mode 0600 and must stay readable by its owner alone: it holds what clients said of themselves, and
for moments messages. Ids of sessions are in it only as digests. It must lie on a disk of this machine, not on a network
file system, where the locks and the shared memory of SQLite do not work.

Every write is a ``BEGIN IMMEDIATE``: a transaction that begins by reading and then writes fails with "database is
locked" whenever another process was quicker, in spite of any time-out. Each process opens a connection of its own, also
after a fork: one that was inherited is left alone for ever, even to close it would let go of the other's locks.
"""

import json
import os
import stat
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Tuple, Union

from .store import OUT, Letter, Store, Values

if TYPE_CHECKING:
    import sqlite3

LETTER_SECONDS = 60.0
"""How long a letter is kept that nobody takes, unless it is one that waits: see `store.OUT`."""
FORMAT = 1
"""Of the tables, in ``user_version``."""
_BUSY_SECONDS = 10.0
"""How long to wait while others write; they need some 20 us each."""
_RETRY_SECONDS = 0.005
_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, used REAL NOT NULL,
record TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_used ON sessions (used);
CREATE TABLE IF NOT EXISTS letters (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, box TEXT NOT NULL,
subject TEXT NOT NULL, at REAL NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS letters_id ON letters (id, box);
CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY AUTOINCREMENT);
"""
_LETTERS = "SELECT number, id, box, subject FROM letters WHERE "


class _Opened:
    """The connection of one process, opened when it is first needed. One thread at a time uses it, for instants."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.database: "Optional[sqlite3.Connection]" = None


class SqliteStore(Store):
    """Keeps sessions in the file at ``path``, which is made if there is none.

    Raises OSError if that is not possible, ValueError for a file that others may read or that is none of ours, and
    ImportError where Python was built without `sqlite3`.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._opened: Dict[int, _Opened] = {}
        _make(self.path)
        database = self._open()
        database.close()  # whoever makes the store may fork before it uses it

    # Sessions

    def create(self, id: str, values: Values, most: int, idle: float) -> bool:
        """See `Store.create`."""
        now = time.time()
        with self._writing() as database:
            if _count(database) >= most:
                _sweep(database, now - idle)
                if _count(database) >= most:
                    return False
            row = (id, now, json.dumps(values))
            database.execute("INSERT INTO sessions (id, version, used, record) VALUES (?, 1, ?, ?)", row)
        return True

    def read(self, id: str, idle: float) -> Optional[Tuple[int, Values]]:
        """See `Store.read`."""
        now = time.time()
        with self._reading() as database:
            row = database.execute("SELECT version, used, record FROM sessions WHERE id = ?", (id,)).fetchone()
        if row is None or row[1] + idle <= now:
            return None
        if row[1] + idle / 20 <= now:
            with self._writing() as database:
                database.execute("UPDATE sessions SET used = ? WHERE id = ?", (now, id))
        return row[0], json.loads(row[2])

    def update(self, id: str, changes: Values) -> bool:
        """See `Store.update`."""
        with self._writing() as database:
            row = database.execute("SELECT record FROM sessions WHERE id = ?", (id,)).fetchone()
            if row is None:
                return False
            record = dict(json.loads(row[0]), **changes)
            kept = json.dumps({name: value for name, value in record.items() if value is not None})
            database.execute("UPDATE sessions SET version = version + 1, used = ?, record = ? WHERE id = ?",
                             (time.time(), kept, id))
        return True

    def remove(self, id: str) -> bool:
        """See `Store.remove`."""
        with self._writing() as database:
            database.execute("DELETE FROM letters WHERE id = ?", (id,))
            return database.execute("DELETE FROM sessions WHERE id = ?", (id,)).rowcount > 0

    def sweep(self, idle: float) -> int:
        """See `Store.sweep`."""
        now = time.time()
        with self._writing() as database:
            found = _sweep(database, now - idle)
            database.execute("DELETE FROM letters WHERE at <= ? AND (box <> ? OR id NOT IN"
                             " (SELECT id FROM sessions))", (now - LETTER_SECONDS, OUT))
        return found

    def count(self) -> int:
        """See `Store.count`."""
        with self._reading() as database:
            return _count(database)

    def close(self) -> None:
        """See `Store.close`."""
        opened = self._opened.get(os.getpid())
        if opened is not None:
            with opened.lock:
                database, opened.database = opened.database, None
                if database is not None:
                    database.close()

    # The mailbox

    def send(self, id: str, box: str, subject: str, content: bytes, most: int, most_bytes: int) -> None:
        """See `Store.send`."""
        with self._writing() as database:
            database.execute("INSERT INTO letters (id, box, subject, at, content) VALUES (?, ?, ?, ?, ?)",
                             (id, box, subject, time.time(), content))
            rows = database.execute("SELECT number, length(content) FROM letters WHERE id = ? AND box = ?"
                                    " ORDER BY number", (id, box)).fetchall()
            size = sum(length for _, length in rows)
            for place, (number, length) in enumerate(rows[:-1]):
                if len(rows) - place <= most and size <= most_bytes:
                    break
                size -= length
                database.execute("DELETE FROM letters WHERE number = ?", (number,))

    def news(self, since: int) -> List[Letter]:
        """See `Store.news`."""
        with self._reading() as database:
            rows = database.execute(_LETTERS + "number > ? ORDER BY number", (since,)).fetchall()
        return [Letter(*row) for row in rows]

    def waiting(self, id: str) -> List[Letter]:
        """See `Store.waiting`."""
        with self._reading() as database:
            rows = database.execute(_LETTERS + "id = ? AND box = ? ORDER BY number", (id, OUT)).fetchall()
        return [Letter(*row) for row in rows]

    def take(self, number: int) -> Optional[bytes]:
        """See `Store.take`."""
        with self._writing() as database:
            row = database.execute("SELECT content FROM letters WHERE number = ?", (number,)).fetchone()
            if row is not None:
                database.execute("DELETE FROM letters WHERE number = ?", (number,))
        return None if row is None else bytes(row[0])

    def version(self) -> int:
        """See `Store.version`; 3 us."""
        with self._reading() as database:
            return int(database.execute("PRAGMA data_version").fetchone()[0])

    def number(self) -> int:
        """See `Store.number`."""
        with self._writing() as database:
            number = database.execute("INSERT INTO numbers DEFAULT VALUES").lastrowid or 0
            database.execute("DELETE FROM numbers WHERE number < ?", (number,))
        return number

    # The file

    @contextmanager
    def _reading(self) -> "Iterator[sqlite3.Connection]":
        opened = self._opened.get(os.getpid())
        if opened is None:  # what the parent of this process has opened stays in the dict, so that nothing closes it
            opened = self._opened.setdefault(os.getpid(), _Opened())
        with opened.lock:
            if opened.database is None:
                opened.database = self._open()
            yield opened.database

    @contextmanager
    def _writing(self) -> "Iterator[sqlite3.Connection]":
        with self._reading() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def _open(self) -> "sqlite3.Connection":
        try:
            import sqlite3
        except ImportError as error:
            raise ImportError("this Python was built without sqlite3, which SqliteStore needs: use sessions='none',"
                              " one process, or a store of your own") from error
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(database)
        except sqlite3.DatabaseError as error:
            database.close()
            raise ValueError("%s is no store of sessions: %s" % (self.path, error)) from error
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, database: "sqlite3.Connection") -> None:
        """Settings of the connection, and the tables where the file is new."""
        import sqlite3

        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                database.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError:  # the one step that does not wait by itself while others do the same
                if time.monotonic() > end:
                    raise
                time.sleep(_RETRY_SECONDS)
        database.execute("PRAGMA synchronous = NORMAL")  # a loss of power loses sessions and nothing else
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise ValueError("%s has format %d, not %d, of another version: remove it" % (self.path, found, FORMAT))
        if not found:
            database.execute("BEGIN IMMEDIATE")
            for statement in _TABLES.split(";"):
                database.execute(statement)
            database.execute("PRAGMA user_version = %d" % FORMAT)
            database.execute("COMMIT")


def _make(path: str) -> None:
    """Make the file, for its owner alone; or see to it that it is so."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, flags, 0o600)
    try:
        found = os.fstat(file)
        if os.name == "posix" and (found.st_mode & 0o077 or not stat.S_ISREG(found.st_mode)):
            raise ValueError("%s must be a file that only its owner can read: chmod 600 it" % path)
    finally:
        os.close(file)


def _count(database: "sqlite3.Connection") -> int:
    return int(database.execute("SELECT count(*) FROM sessions").fetchone()[0])


def _sweep(database: "sqlite3.Connection", before: float) -> int:
    database.execute("DELETE FROM letters WHERE id IN (SELECT id FROM sessions WHERE used <= ?)", (before,))
    return database.execute("DELETE FROM sessions WHERE used <= ?", (before,)).rowcount
