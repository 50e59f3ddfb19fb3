"""A `TaskStore` in a file that the processes of one machine share, by `sqlite3`.

::

    server = Server("jobs", tasks=Tasks(SqliteTasks("/run/mcp/tasks.db")))

The file holds what clients and users have said, so it is kept as safe as that of `mcp_ref.streamable.shared.sqlite`:
mode 0600, in a folder of this user. It must lie on a disk of this machine.

Leases run out by the monotonic clock, which all processes of a machine share. It begins anew when the machine starts:
the file holds the id of that start, and the first process after another start finds every task lost that was running.
"""

import json
import os
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple, Union

from ...sqlitefile import SqliteFile, boot, transaction, use_wal
from .store import TaskRecord, TaskRoom, TaskStore

if TYPE_CHECKING:
    import sqlite3

APPLICATION = 0x6D637074
"""The value of ``application_id``, which says that the file is ours."""
FORMAT = 1
_LOST = 1e-9
"""The end of a lease of a process that ran before the machine was started anew."""
_TABLES = """
CREATE TABLE tasks (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,
expires REAL, until REAL NOT NULL, size INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX tasks_owner ON tasks (owner, number);
CREATE INDEX tasks_until ON tasks (until) WHERE until > 0;
CREATE INDEX tasks_expires ON tasks (expires);
CREATE TABLE boots (boot TEXT NOT NULL);
INSERT INTO boots VALUES ('')
"""


class SqliteTasks(SqliteFile, TaskStore):
    """The store that keeps tasks in the file at ``path``, which is made if there is none.

    Raises OSError if there can be no file, ValueError for a file or folder of others, that others may read or write, or
    that is none of ours, and ImportError where Python was built without `sqlite3`.
    """

    instead = "use MemoryTasks, or a store of your own"
    kind = "store of tasks"

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        super().__init__(os.path.abspath(os.fspath(path)))

    def create(self, record: TaskRecord, room: TaskRoom) -> str:
        """Implement `TaskStore.create`."""
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
        """Implement `TaskStore.read`."""
        with self._reading() as database:
            return _found(database, id)

    def change(self, id: str, function: Callable[[TaskRecord], bool]) -> Optional[TaskRecord]:
        """Implement `TaskStore.change`."""
        with self._writing() as database:
            record = _found(database, id)
            if record is None or not function(record):
                return None
            database.execute("UPDATE tasks SET owner = ?, expires = ?, until = ?, size = ?, record = ? WHERE id = ?",
                             (*_columns(record), _text(record), id))
            return record

    def list(self, owner: str, after: int, most: int) -> "List[TaskRecord]":
        """Implement `TaskStore.list`."""
        with self._reading() as database:
            rows = database.execute("SELECT until, record FROM tasks WHERE owner = ? AND number > ? ORDER BY number"
                                    " LIMIT ?", (owner, after, most)).fetchall()
        return [_record(*row) for row in rows]

    def lost(self, now: float) -> "List[str]":
        """Implement `TaskStore.lost`."""
        with self._reading() as database:
            rows = database.execute("SELECT id FROM tasks WHERE until > 0 AND until < ?", (now,)).fetchall()
        return [row[0] for row in rows]

    def sweep(self, now: float) -> int:
        """Implement `TaskStore.sweep`."""
        with self._writing() as database:
            return database.execute("DELETE FROM tasks WHERE expires < ?", (now,)).rowcount

    def _prepare(self, database: "sqlite3.Connection") -> None:
        use_wal(database, lambda: _is_ours(database, self.path))
        now = boot()
        with transaction(database, "DEFERRED"):
            if _is_ours(database, self.path) and _started(database) == now:
                return
        with transaction(database):
            if not _is_ours(database, self.path):  # another process may have been quicker
                for statement in _TABLES.split(";"):
                    database.execute(statement)
                database.execute("PRAGMA application_id = %d" % APPLICATION)
                database.execute("PRAGMA user_version = %d" % FORMAT)
            if _started(database) != now:
                database.execute("UPDATE boots SET boot = ?", (now,))
                database.execute("UPDATE tasks SET until = ? WHERE until > 0", (_LOST,))


def _is_ours(database: "sqlite3.Connection", path: str) -> bool:
    """Return True for a file with our tables, False for an empty one. Raises ValueError for others."""
    format = database.execute("PRAGMA user_version").fetchall()[0][0]
    owner = database.execute("PRAGMA application_id").fetchall()[0][0]
    if (owner, format) == (APPLICATION, FORMAT):
        return True
    if owner or format or database.execute("SELECT count(*) FROM sqlite_master").fetchall()[0][0]:
        raise ValueError("%s is no store of tasks but another database (application id %d, format %d): pass another"
                         " path" % (path, owner, format))
    return False


def _started(database: "sqlite3.Connection") -> str:
    return str(database.execute("SELECT boot FROM boots").fetchall()[0][0])


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
