"""A `Store` in a file that the processes of one machine share, by `sqlite3`.

::

    store = SqliteStore("/run/mcp/mcp.db")
    server = Server("jobs", tasks=Tasks(store))
    application = server.wsgi(sessions=store)

The file is made with mode 0600. It must belong to the user of the process and be readable by nobody else, for it holds
what clients said of themselves, what was sent to them, and tasks with their results. The same holds for the two files
that SQLite keeps beside it. Only this user, root and the group of the folder may write in the folder, because others
could put their own files there. Session ids are in it only as digests. The file must lie on a disk of this machine, not
on a network file system, where the locks and the shared memory of SQLite do not work.

Every write is a ``BEGIN IMMEDIATE``: a transaction that begins by reading and then writes fails with "database is
locked" whenever another process was quicker, in spite of any timeout. Each process opens its own connections, also
after a fork: an inherited one is never touched, for even closing it would release the locks of the other process.

Each value of a record is a row, with the version at which it changed. A removed value stays for a while as a row
without a value, so that other processes learn of it. When _MOST_GONE such rows exist they are deleted, and a process
that has read the record before that reads all of it once.

Times are those of the monotonic clock, which all processes of a machine share and nobody can set. It begins anew when
the machine starts: the file holds the id of that start, and the first process after another start counts every session
as used at that moment, and finds every task lost that was running. Where the system has no such id, a time in the
future shows that the machine has started anew.
"""

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple, Union

from ... import deadline
from ...options import strict_options
from ...sqlitefile import SqliteFile, boot, transaction, use_wal
from ...stores import (
    FULL, IN, OUT, SENT, UNWANTED, Letter, Room, Store, StoredEvent, StoredRecord, TaskRecord, TaskRoom, Values,
)

if TYPE_CHECKING:
    import sqlite3

LETTER_SECONDS = 60.0
"""The seconds for which a letter is kept that no process takes, unless it waits for a stream: see `OUT`."""
FORMAT = 3
"""The format of the tables, in ``user_version``. Format 1 is that of 0.5.0; format 2 had sessions and letters only."""
APPLICATION = 0x6D637073
"""The value of ``application_id`` from format 2 on, which says that the file is ours."""
_MOST_GONE = 1000
"""The number of removed values of one session that may be there as rows."""
_LOST = 1e-9
"""The end of a lease of a process that ran before the machine was started anew."""
_OVERHEAD = 256
"""The bytes that a letter counts beside its content, for the limits."""
_LARGEST = (1 << 63) - 1
_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, base INTEGER NOT NULL, gone INTEGER NOT NULL,
used REAL NOT NULL, events INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX sessions_used ON sessions (used);
CREATE TABLE entries (id TEXT NOT NULL, digest BLOB NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, value TEXT,
PRIMARY KEY (id, digest)) WITHOUT ROWID;
CREATE INDEX entries_version ON entries (id, version);
CREATE TABLE questions (id TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (id, number)) WITHOUT ROWID;
CREATE TABLE letters (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, box TEXT NOT NULL,
subject TEXT NOT NULL, at REAL NOT NULL, size INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX letters_id ON letters (id, box);
CREATE TABLE events (number INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, stream INTEGER NOT NULL,
place INTEGER NOT NULL, until REAL NOT NULL, seconds REAL NOT NULL, size INTEGER NOT NULL, final INTEGER NOT NULL,
about TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_place ON events (id, kind, stream, place);
CREATE INDEX events_until ON events (until);
CREATE TABLE tasks (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
expires REAL, until REAL NOT NULL, size INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX tasks_owner ON tasks (owner, number);
CREATE INDEX tasks_until ON tasks (until) WHERE until > 0;
CREATE INDEX tasks_expires ON tasks (expires);
CREATE TABLE spent (id TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX spent_until ON spent (until);
CREATE TABLE boxes (box TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE numbers (number INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE boots (boot TEXT NOT NULL);
INSERT INTO boxes VALUES ('in', 0), ('notes', 0), ('out', 0), ('streams', 0), ('events', 0);
INSERT INTO boots VALUES ('')
"""
_TRIGGERS = (
    "CREATE TRIGGER ended AFTER DELETE ON sessions BEGIN DELETE FROM entries WHERE id = old.id;"
    " DELETE FROM questions WHERE id = old.id; DELETE FROM letters WHERE id = old.id;"
    " DELETE FROM events WHERE id = old.id; END",
    "CREATE TRIGGER sent AFTER INSERT ON letters BEGIN"
    " UPDATE boxes SET size = size + new.size WHERE box = new.box; END",
    "CREATE TRIGGER taken AFTER DELETE ON letters BEGIN"
    " UPDATE boxes SET size = size - old.size WHERE box = old.box; END",
    "CREATE TRIGGER kept AFTER INSERT ON events BEGIN"
    " UPDATE boxes SET size = size + new.size WHERE box = 'events';"
    " UPDATE sessions SET events = events + 1, bytes = bytes + new.size WHERE id = new.id; END",
    "CREATE TRIGGER dropped AFTER DELETE ON events BEGIN"
    " UPDATE boxes SET size = size - old.size WHERE box = 'events';"
    " UPDATE sessions SET events = events - 1, bytes = bytes - old.size WHERE id = old.id; END",
)
_FORMAT_1 = {"sessions": ["id", "version", "used", "record"], "numbers": ["number"], "sqlite_sequence": ["name", "seq"],
             "letters": ["number", "id", "box", "subject", "at", "content"]}
"""The tables of format 1 and their columns."""
_LETTERS = "SELECT number, id, box, subject FROM letters WHERE "


class SqliteStore(SqliteFile, Store):
    """The store that keeps all its parts in the file at ``path``, which is made if there is none.

    The sessions end that are in a file of an older version of this package, and the file is converted. Raises OSError
    if there can be no file, ValueError for a file or folder of others, that others may read or write, or that is none
    of ours, and ImportError where Python was built without `sqlite3`.
    """

    instead = "keep sessions and tasks in one process, or in a store of your own"
    kind = "store of ours"

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        super().__init__(os.path.abspath(os.fspath(path)))

    # Sessions

    def create_session(self, id: str, values: Values, most: int, idle: float) -> bool:
        now = _clock()
        with self._writing() as database:
            if _count(database) >= most:
                _sweep(database, now - idle)
                if _count(database) >= most:
                    return False
            database.execute("INSERT INTO sessions (id, version, base, gone, used) VALUES (?, 1, 0, 0, ?)", (id, now))
            database.executemany("INSERT INTO entries (id, digest, version, name, value) VALUES (?, ?, 1, ?, ?)",
                                 [(id, _digest(name), name, json.dumps(value)) for name, value in values.items()
                                  if value is not None])
        return True

    @strict_options
    def read_session(self, id: str, idle: float, since: int = 0) -> Optional[StoredRecord]:
        """Takes 5 us where nothing has changed."""
        now = _clock()
        with self._reading() as database:
            row = database.execute("SELECT version, base, used FROM sessions WHERE id = ?", (id,)).fetchone()
            if row is None or row[2] + idle <= now:
                return None
            version, base, used = row
            whole = since < max(base, 1)
            found = []
            if version != since:  # what changes between this query and the one before is read again next time
                found = database.execute("SELECT name, value FROM entries WHERE id = ? AND version > ?",
                                         (id, 0 if whole else since)).fetchall()
        if used + idle / 20 <= now:
            with self._writing() as database:
                database.execute("UPDATE sessions SET used = ? WHERE id = ?", (now, id))
        values = {name: None if value is None else json.loads(value) for name, value in found}
        return StoredRecord(version, values, whole)

    def update_session(self, id: str, changes: Values) -> int:
        with self._writing() as database:
            row = database.execute("SELECT version, gone FROM sessions WHERE id = ?", (id,)).fetchone()
            if row is None:
                return 0
            before, gone = row
            version, after = before + 1, gone
            rows = []
            for name in changes:
                digest = _digest(name)
                value = None if changes[name] is None else json.dumps(changes[name])
                known = database.execute("SELECT value FROM entries WHERE id = ? AND digest = ?",
                                         (id, digest)).fetchone()
                if known == (value,) or (known is None and value is None):
                    continue
                after += (value is None) - (known == (None,))
                rows.append((id, digest, version, name, value))
            if not rows:
                return int(before)
            database.executemany("INSERT OR REPLACE INTO entries (id, digest, version, name, value)"
                                 " VALUES (?, ?, ?, ?, ?)", rows)
            base = ""
            if after > _MOST_GONE:
                database.execute("DELETE FROM entries WHERE id = ? AND value IS NULL", (id,))
                after, base = 0, ", base = %d" % version
            database.execute("UPDATE sessions SET version = ?, gone = ?, used = ?%s WHERE id = ?" % base,
                             (version, after, _clock(), id))
        return int(version)

    def remove_session(self, id: str) -> bool:
        with self._writing() as database:
            return database.execute("DELETE FROM sessions WHERE id = ?", (id,)).rowcount > 0

    def sweep_sessions(self, idle: float) -> int:
        now = _clock()
        with self._writing() as database:
            found = _sweep(database, now - idle)
            database.execute("DELETE FROM letters WHERE at <= ? AND (box <> ? OR id NOT IN"
                             " (SELECT id FROM sessions))", (now - LETTER_SECONDS, OUT))
            database.execute("DELETE FROM events WHERE until <= ?", (now,))
        return found

    def count_sessions(self) -> int:
        with self._reading() as database:
            return _count(database)

    # The mailbox

    def expect(self, id: str, question: int) -> None:
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO questions (id, number) SELECT id, ? FROM sessions WHERE id = ?",
                             (question, id))

    def forget(self, id: str, question: int) -> None:
        with self._writing() as database:
            database.execute("DELETE FROM questions WHERE id = ? AND number = ?", (id, question))

    @strict_options
    def send(
        self, id: str, box: str, subject: str, content: bytes, room: Room, question: Optional[int] = None
    ) -> str:
        if question is not None and not self._is_expected(id, question):
            return UNWANTED  # without a write: whoever makes up answers keeps nobody else from writing
        size = len(content) + len(subject) + _OVERHEAD
        with self._writing() as database:
            if question is not None and box == IN:
                if not database.execute("SELECT count(*) FROM questions WHERE id = ? AND number = ?",
                                        (id, question)).fetchone()[0]:
                    return UNWANTED
            rows = database.execute("SELECT number, size FROM letters WHERE id = ? AND box = ? ORDER BY number",
                                    (id, box)).fetchall()
            held = sum(length for _, length in rows)
            while rows and (len(rows) >= room.letters or held + size > room.bytes):
                if not room.newest:
                    return FULL
                number, length = rows.pop(0)
                held -= length
                database.execute("DELETE FROM letters WHERE number = ?", (number,))
            total = database.execute("SELECT size FROM boxes WHERE box = ?", (box,)).fetchone()[0]
            if total and total + size > room.total:
                return FULL
            database.execute("INSERT INTO letters (id, box, subject, at, size, content) VALUES (?, ?, ?, ?, ?, ?)",
                             (id, box, subject, _clock(), size, content))
            if question is not None and box == IN:
                database.execute("DELETE FROM questions WHERE id = ? AND number = ?", (id, question))
        return SENT

    def _is_expected(self, id: str, question: int) -> bool:
        if not 0 < question <= _LARGEST:
            return False
        with self._reading() as database:
            return bool(database.execute("SELECT count(*) FROM questions WHERE id = ? AND number = ?",
                                         (id, question)).fetchone()[0])

    def news(self, since: int) -> List[Letter]:
        with self._reading() as database:
            last = database.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'letters'").fetchone()[0] or 0
            since = since if since <= last else 0
            rows = database.execute(_LETTERS + "number > ? ORDER BY number", (since,)).fetchall()
        return [Letter(*row) for row in rows]

    def waiting(self, id: str) -> List[Letter]:
        with self._reading() as database:
            rows = database.execute(_LETTERS + "id = ? AND box = ? ORDER BY number", (id, OUT)).fetchall()
        return [Letter(*row) for row in rows]

    def take(self, number: int) -> Optional[bytes]:
        with self._writing() as database:
            row = database.execute("SELECT content FROM letters WHERE number = ?", (number,)).fetchone()
            if row is not None:
                database.execute("DELETE FROM letters WHERE number = ?", (number,))
        return None if row is None else bytes(row[0])

    def version(self) -> int:
        """Takes 3 us."""
        with self._reading() as database:
            return int(database.execute("PRAGMA data_version").fetchone()[0])

    def number(self) -> int:
        with self._writing() as database:
            number = database.execute("INSERT INTO numbers DEFAULT VALUES").lastrowid or 0
            database.execute("DELETE FROM numbers WHERE number < ?", (number,))
        return number

    # Events

    def keep(self, id: str, event: StoredEvent, room: Room, seconds: float) -> str:
        """Takes 80 us."""
        kind, stream, place, data, final, about = event
        size, now = len(data) + len(about) + _OVERHEAD, _clock()
        with self._writing() as database:
            row = database.execute("SELECT events, bytes FROM sessions WHERE id = ?", (id,)).fetchone()
            if row is None or database.execute(
                    "SELECT count(*) FROM events WHERE id = ? AND kind = ? AND stream = ? AND place >= ?",
                    (id, kind, stream, place)).fetchone()[0]:
                return UNWANTED
            events, held = row
            total = database.execute("SELECT size FROM boxes WHERE box = 'events'").fetchone()[0]
            while events and (events >= room.letters or held + size > room.bytes or total + size > room.total):
                oldest, length = database.execute(
                    "SELECT number, size FROM events WHERE id = ? ORDER BY number LIMIT 1", (id,)).fetchone()
                database.execute("DELETE FROM events WHERE number = ?", (oldest,))
                events, held, total = events - 1, held - length, total - length
            if total and total + size > room.total:
                return FULL
            database.execute("INSERT INTO events (id, kind, stream, place, until, seconds, size, final, about, data)"
                             " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             (id, kind, stream, place, now + seconds, seconds, size, final, about, data))
        return SENT

    def kept(self, id: str, kind: str, stream: int, place: int) -> List[StoredEvent]:
        with self._reading() as database:
            rows = database.execute("SELECT place, data, final, about FROM events WHERE id = ? AND kind = ? AND"
                                    " stream = ? AND place >= ? AND until > ? ORDER BY place",
                                    (id, kind, stream, place, _clock())).fetchall()
        return [StoredEvent(kind, stream, at, bytes(data), bool(final), about) for at, data, final, about in rows]

    def unkeep(self, id: str, kind: str, stream: int, place: int) -> bool:
        with self._writing() as database:
            return database.execute(
                "DELETE FROM events WHERE id = ? AND kind = ? AND stream = ? AND place = ? AND NOT EXISTS (SELECT 1"
                " FROM events WHERE id = ? AND kind = ? AND stream = ? AND place > ?)",
                2 * (id, kind, stream, place)).rowcount > 0

    # Tasks

    def create(self, record: TaskRecord, room: TaskRoom) -> str:
        with self._writing() as database:
            tasks, size = database.execute("SELECT count(*), coalesce(sum(size), 0) FROM tasks").fetchone()
            own = database.execute("SELECT count(*) FROM tasks WHERE owner = ?", (record.owner,)).fetchone()[0]
            for name, limit, count in zip(room._fields, room, (tasks, own, size)):
                if count >= limit:
                    return name
            record.number = database.execute(
                "INSERT INTO tasks (id, owner, expires, until, size, record) VALUES (?, ?, ?, ?, ?, '')",
                (record.id, *_columns(record))).lastrowid or 0
            database.execute("UPDATE tasks SET record = ? WHERE id = ?", (_text(record), record.id))
        return ""

    def read(self, id: str) -> Optional[TaskRecord]:
        with self._reading() as database:
            return _found(database, id)

    def change(self, id: str, function: Callable[[TaskRecord], bool]) -> Optional[TaskRecord]:
        with self._writing() as database:
            record = _found(database, id)
            if record is None or not function(record):
                return None
            database.execute("UPDATE tasks SET owner = ?, expires = ?, until = ?, size = ?, record = ? WHERE id = ?",
                             (*_columns(record), _text(record), id))
            return record

    def list(self, owner: str, after: int, most: int) -> "List[TaskRecord]":
        with self._reading() as database:
            rows = database.execute("SELECT until, record FROM tasks WHERE owner = ? AND number > ? ORDER BY number"
                                    " LIMIT ?", (owner, after, most)).fetchall()
        return [_record(*row) for row in rows]

    def lost(self, now: float) -> "List[str]":
        with self._reading() as database:
            rows = database.execute("SELECT id FROM tasks WHERE until > 0 AND until < ?", (now,)).fetchall()
        return [row[0] for row in rows]

    def sweep(self, now: float) -> int:
        with self._writing() as database:
            return database.execute("DELETE FROM tasks WHERE expires < ?", (now,)).rowcount

    # States

    def spend(self, id: str, until: float, now: float, most: int) -> str:
        with self._writing() as database:
            database.execute("DELETE FROM spent WHERE until <= ?", (now,))
            if database.execute("SELECT count(*) FROM spent WHERE id = ?", (id,)).fetchone()[0]:
                return UNWANTED
            if database.execute("SELECT count(*) FROM spent").fetchone()[0] >= most:
                return FULL
            database.execute("INSERT INTO spent (id, until) VALUES (?, ?)", (id, until))
        return SENT

    # The file

    def _prepare(self, database: "sqlite3.Connection") -> None:
        """Set up the connection, and the tables where the file is new or of an older format."""
        use_wal(database, lambda: _kind_of(database, self.path))
        now_boot = boot()
        with transaction(database, "DEFERRED"):
            if _kind_of(database, self.path) == FORMAT and _started(database) == now_boot and not _is_ahead(database):
                return
        old = None
        with transaction(database):
            found = _kind_of(database, self.path)  # another process may have been quicker
            if found != FORMAT:
                old = (found, _count(database)) if found else None
                _make_tables(database)
            if _started(database) != now_boot or _is_ahead(database):
                now = _clock()
                database.execute("UPDATE boots SET boot = ?", (now_boot,))
                database.execute("UPDATE sessions SET used = ?", (now,))
                database.execute("UPDATE letters SET at = ?", (now,))
                database.execute("UPDATE events SET until = ? + seconds", (now,))
                database.execute("UPDATE tasks SET until = ? WHERE until > 0", (_LOST,))
        if old is not None:
            from ...diagnostics.packagelog import get_logger

            get_logger(__name__).warning("%s was of an older version of this package (format %d); it is of format %d"
                                         " now, and the %d sessions in it have ended",
                                         self.path, old[0], FORMAT, old[1])


def _kind_of(database: "sqlite3.Connection", path: str) -> int:
    """Return the format of a file of ours, 0 for an empty one. Raises ValueError for other files."""
    format = database.execute("PRAGMA user_version").fetchall()[0][0]
    owner = database.execute("PRAGMA application_id").fetchall()[0][0]
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()}
    if owner == APPLICATION and format > FORMAT:
        raise ValueError("%s has format %d, of a later version of this package, which reads %d: use that version, or"
                         " remove the file, and its sessions end" % (path, format, FORMAT))
    if owner == APPLICATION and format >= 2:
        return int(format)
    if not owner and not format and not tables:
        return 0
    if not owner and format == 1 and tables == set(_FORMAT_1) and all(
            [row[1] for row in database.execute("PRAGMA table_info(%s)" % name).fetchall()] == _FORMAT_1[name]
            for name in _FORMAT_1):
        return 1
    raise ValueError("%s is no store of ours but another database (application id %d, format %d): pass another path"
                     % (path, owner, format))


def _make_tables(database: "sqlite3.Connection") -> None:
    old = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
    for row in old:
        database.execute("DROP TABLE %s" % row)
    for statement in (*_TABLES.split(";"), *_TRIGGERS):
        database.execute(statement)
    database.execute("PRAGMA application_id = %d" % APPLICATION)
    database.execute("PRAGMA user_version = %d" % FORMAT)


def _clock() -> float:
    """Return the time in seconds since the machine started, the same in every process; see the module."""
    return deadline.clock()


def _started(database: "sqlite3.Connection") -> str:
    return str(database.execute("SELECT boot FROM boots").fetchall()[0][0])


def _is_ahead(database: "sqlite3.Connection") -> bool:
    """Return True if a session was used in the future, so that the clock has begun anew since then."""
    latest = database.execute("SELECT max(used) FROM sessions").fetchall()[0][0]
    return latest is not None and latest > _clock()


def _digest(name: str) -> bytes:
    """Return the key of a value. A name may be as long as a URI, and the key is in every index."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()


def _count(database: "sqlite3.Connection") -> int:
    return int(database.execute("SELECT count(*) FROM sessions").fetchone()[0])


def _sweep(database: "sqlite3.Connection", before: float) -> int:
    return database.execute("DELETE FROM sessions WHERE used <= ?", (before,)).rowcount


def _columns(record: TaskRecord) -> Tuple[Any, ...]:
    return record.owner, None if record.ttl is None else record.expires, record.until, record.size


def _text(record: TaskRecord) -> str:
    return json.dumps(vars(record))


def _found(database: "sqlite3.Connection", id: str) -> Optional[TaskRecord]:
    row = database.execute("SELECT until, record FROM tasks WHERE id = ?", (id,)).fetchone()
    return None if row is None else _record(*row)


def _record(until: float, text: str) -> TaskRecord:
    made = TaskRecord.of(json.loads(text))
    made.until = until  # another start of the machine changes the column alone
    return made
