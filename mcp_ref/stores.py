"""The contract of a store: one place for what several processes share, so that any of them may answer any request.

::

    store = SqliteStore("/run/mcp/mcp.db")
    server = Server("jobs", tasks=Tasks(store))
    server.run_http(sessions=store)

`mcp_ref.ext.stores.sqlite.SqliteStore` is the store for the processes of one machine. Another (Redis, say) is a
subclass of `Store` that implements the methods below, and that `mcp_ref.ext.stores.contract.check` is satisfied with.
They have five parts; a store that is used for one of them only needs no others:

=========  =======================================================================================================
sessions   `create_session`, `read_session`, `update_session`, `remove_session`, `sweep_sessions`, `count_sessions`:
           records by id. A record has named JSON values, and each subscription is a value of its own, so a change
           writes, and a reader parses, what has changed
mailbox    `expect`, `forget`, `send`, `news`, `waiting`, `take`, `version`, `number`: letters from one process to
           another, with a client's answer that came to the wrong one, or a message that waits for a stream
events     `keep`, `kept`, `unkeep`: what was sent on a stream of a session, for a client that comes back with
           `Last-Event-ID` to any process
tasks      `clock`, `create`, `read`, `change`, `list`, `lost`, `sweep`: see `TaskStore`
states     `spend`: the states of requests that were used, for ``Server(consume_state=store)``
=========  =======================================================================================================

Every method is atomic towards all other processes. Ids of sessions are digests: the store never learns the ids that
clients show.
An exception of a method ends the request that needed it with status 500; while letters are polled it is logged.

Times are those of a monotonic clock: a correction of the wall clock ends no session and keeps none alive.

A store knows no rules of tasks: `TaskStore.change` reads, changes and writes a `TaskRecord` in one step, and a function
that it is given decides what may change. A process that runs a task holds its *lease*: ``lease`` is the number of the
run, ``until`` the time at which it runs out unless the process renews it. A task that waits for input, or has ended,
has none. So one process at a time runs a task; `TaskStore.lost` finds those whose process has died, and what a process
does after it has lost its lease is refused, because the number has changed.
"""

import threading
import time
from copy import copy
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from . import deadline
from .options import strict_options
from .protocol.extensions import FINAL, WORKING
from .revisions import revision

wall_clock: Callable[[], float] = time.time


class TaskRecord:
    """A task as it is stored; all members are JSON values. Members are replaced and never changed in place."""

    def __init__(
        self, id: str, owner: str, request: Dict[str, Any], ttl: Optional[float], poll: float, created: float,
    ) -> None:
        self.id = id
        self.number = 0
        """The place in the order of creation; set by the store."""
        self.owner = owner
        """The principal as JSON text; "" where there is none."""
        self.request = request
        """The request, and what held for it: ``method``, ``params``, ``revision``, ``capabilities``, ``client``."""
        self.ttl = ttl
        """Seconds from the creation for which the task is kept; None: for ever."""
        self.poll = poll
        """Seconds to wait between two looks."""
        self.created = self.updated = created
        """Times in seconds since 1970."""
        self.status = WORKING
        self.message: Optional[str] = None
        self.lease = 1
        self.until = 0.0
        """The time of `TaskStore.clock` at which the lease runs out; 0.0: no process holds it."""
        self.questions: Dict[str, Dict[str, Any]] = {}
        """Key -> ``name``, ``digest`` and ``request`` of each question that has no answer."""
        self.memory: Dict[str, Any] = {}
        """The values that the handler needs when it runs again; see `mcp_ref.ext.tasks.server.running`."""
        self.outcome: Optional[Dict[str, Any]] = None
        """The answer of the request, once there is one: ``result`` or ``error``."""
        self.size = 0
        """Bytes of request, memory and outcome."""

    @property
    def final(self) -> bool:
        """True if the task has ended, which no change undoes [2025-11-25 basic/utilities/tasks §Task Status Lifecycle]
        MUST NOT."""
        return self.status in FINAL

    @property
    def expires(self) -> float:
        """The time, in seconds since 1970, after which the task may be deleted."""
        return float("inf") if self.ttl is None else self.created + self.ttl

    @property
    def in_session(self) -> bool:
        """True for a task of 2025-11-25, False for one of the extension."""
        return revision(self.request["revision"]).tasks

    @classmethod
    def of(cls, members: Dict[str, Any]) -> "TaskRecord":
        """Return the record with these members, which `vars` of a record has returned."""
        made = cls.__new__(cls)
        made.__dict__.update(members)
        return made


class TaskRoom(NamedTuple):
    """The room for tasks in a store; names of `mcp_ref.Limits`."""

    max_tasks: int
    max_tasks_per_principal: int
    max_tasks_bytes: int


class TaskStore:
    """The base of the stores; see the module. Thread-safe; each method is atomic towards all other processes.

    What `create` has returned for, `read` finds from then on, in every process.
    """

    shared = True
    """False if no other process sees the store, so that leases need not be renewed."""

    def clock(self) -> float:
        """Return the time by which leases run out, the same in all processes that share the store."""
        return deadline.clock()

    def now(self) -> float:
        """Return the time in seconds since 1970, the same in all processes that share the store.

        Tasks and states expire by it. A store of several machines returns the time of one clock, because the clocks of
        the machines differ.
        """
        return wall_clock()

    def create(self, record: TaskRecord, room: TaskRoom) -> str:
        """Enter a task, and set its ``number``. Returns "", or the name of the limit that leaves no room for it."""
        raise NotImplementedError

    def read(self, id: str) -> Optional[TaskRecord]:
        """Return a task, also an expired one that is still there; None if there is none of this id."""
        raise NotImplementedError

    def change(self, id: str, function: Callable[[TaskRecord], bool]) -> Optional[TaskRecord]:
        """Have ``function`` change a task, and keep that if it returns True. Returns the changed task.

        Returns None if there is no such task, or if the function has returned False. Between what the function is given
        and what is kept nobody else changes the task; the function may be called more than once for that.
        """
        raise NotImplementedError

    def list(self, owner: str, after: int, most: int) -> "List[TaskRecord]":
        """Return up to ``most`` tasks of this owner with a larger number than ``after``, by number."""
        raise NotImplementedError

    def lost(self, now: float) -> "List[str]":
        """Return the ids of the tasks whose lease ran out before this time of `clock`."""
        raise NotImplementedError

    def sweep(self, now: float) -> int:
        """Delete the tasks that expired before ``now`` (seconds since 1970); return their number."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what this process has open; the next use opens it again."""


class MemoryTasks(TaskStore):
    """The store of one process: its tasks end with it."""

    shared = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: Dict[str, TaskRecord] = {}
        self._counts: Dict[str, int] = {}
        """Owner -> the number of its tasks."""
        self._bytes = 0
        self._numbers = 0

    def create(self, record: TaskRecord, room: TaskRoom) -> str:
        with self._lock:
            counted = (len(self._records), self._counts.get(record.owner, 0), self._bytes)
            for name, limit, count in zip(room._fields, room, counted):
                if count >= limit:
                    return name
            self._numbers += 1
            record.number = self._numbers
            self._records[record.id] = copy(record)
            self._counts[record.owner] = counted[1] + 1
            self._bytes += record.size
        return ""

    def read(self, id: str) -> Optional[TaskRecord]:
        with self._lock:
            found = self._records.get(id)
            return None if found is None else copy(found)

    def change(self, id: str, function: Callable[[TaskRecord], bool]) -> Optional[TaskRecord]:
        with self._lock:
            found = self._records.get(id)
            if found is None:
                return None
            changed = copy(found)
            if not function(changed):
                return None
            self._bytes += changed.size - found.size
            self._records[id] = changed
            return copy(changed)

    def list(self, owner: str, after: int, most: int) -> "List[TaskRecord]":
        with self._lock:
            found = [each for each in self._records.values() if each.owner == owner and each.number > after]
            return [copy(each) for each in found[:most]]

    def lost(self, now: float) -> "List[str]":
        with self._lock:
            return [each.id for each in self._records.values() if 0.0 < each.until < now]

    def sweep(self, now: float) -> int:
        with self._lock:
            found = [each for each in self._records.values() if each.expires < now]
            for record in found:
                del self._records[record.id]
                self._bytes -= record.size
                self._counts[record.owner] -= 1
                if not self._counts[record.owner]:
                    del self._counts[record.owner]
        return len(found)

    def __len__(self) -> int:
        return len(self._records)


Values = Dict[str, Any]
"""The named JSON values of a record. None stands for a value that is not there (any more)."""
IN, NOTES, OUT, STREAMS = "in", "notes", "out", "streams"
"""The boxes: answers of clients; other messages for a waiting process (progress, cancellations, the end of a session);
messages that wait for a stream as long as their session lives; and what processes tell each other of a stream."""
SENT, UNWANTED, FULL = "sent", "unwanted", "full"
"""The results of `Store.send`, `Store.keep` and `Store.spend`: it is stored; no process waits for the letter, another
one goes on with the stream, the state was used before; there is no room."""


class StoredRecord(NamedTuple):
    """The result of `Store.read_session`."""

    version: int
    """The version: 1 at first, and one more after each `Store.update_session` that changed something."""
    values: Values
    """The values that have changed since the version that was asked about."""
    whole: bool
    """True if these are all values of the record, so that any other is gone."""


class Letter(NamedTuple):
    """A letter without its content."""

    number: int
    """The number of the letter; later ones have larger numbers."""
    id: str
    """The id of the session."""
    box: str
    """IN, NOTES or OUT."""
    subject: str
    """The subject, by which a process knows if the letter is for it."""


class StoredEvent(NamedTuple):
    """An event of a stream."""

    kind: str
    """The kind of stream, a text of one letter."""
    stream: int
    """The number of the stream, below 2**53."""
    place: int
    """The place of the event in its stream; later ones have larger places."""
    data: bytes
    final: bool = False
    """True if nothing comes after it on this stream."""
    about: str = ""
    """The requests that the stream answers, as JSON."""


class Room(NamedTuple):
    """The room in a box, or for events. The first letter, and the newest event, always fit into the part of a session.
    """

    letters: int
    """The number of letters, or events, of one session."""
    bytes: int
    """The bytes of one session."""
    total: int
    """The bytes of all sessions together."""
    newest: bool = False
    """True if the oldest letters of the session make room for a new one; else the new one is refused."""


class Store(TaskStore):
    """The base of the stores; see the module. Thread-safe; a forked process may use it like the one it came from."""

    # Sessions

    def create_session(self, id: str, values: Values, most: int, idle: float) -> bool:
        """Enter a session; a value of None is left out.

        Returns False if there are ``most`` that were used within the last ``idle`` seconds.
        """
        raise NotImplementedError

    @strict_options
    def read_session(self, id: str, idle: float, since: int = 0) -> Optional[StoredRecord]:
        """Read the values of a session that have changed since that version (0: all). Returns None without a session.

        Reading counts as use, and a session that is unused for ``idle`` seconds is gone.
        """
        raise NotImplementedError

    def update_session(self, id: str, changes: Values) -> int:
        """Change these values of a record and no others; None removes one. Returns the version, 0 without a session."""
        raise NotImplementedError

    def remove_session(self, id: str) -> bool:
        """Remove a session with its letters, questions and events. Returns False if it had ended before."""
        raise NotImplementedError

    def sweep_sessions(self, idle: float) -> int:
        """Remove the sessions that were unused for ``idle`` seconds, and old letters and events. Returns the number of
        sessions.

        A table calls it every few seconds.
        """
        raise NotImplementedError

    def count_sessions(self) -> int:
        """Count the sessions."""
        raise NotImplementedError

    # The mailbox

    def expect(self, id: str, question: int) -> None:
        """Note that a process waits for the answer to its request of this id."""
        raise NotImplementedError

    def forget(self, id: str, question: int) -> None:
        """Note that no process waits for this answer any more."""
        raise NotImplementedError

    @strict_options
    def send(
        self, id: str, box: str, subject: str, content: bytes, room: Room, question: Optional[int] = None
    ) -> str:
        """Leave a letter for the other processes. Returns SENT, UNWANTED or FULL.

        ``question``: the request that it is about; the letter is UNWANTED if no process expects its answer. A letter in
        the box IN is that answer, so no other one is expected after it.
        """
        raise NotImplementedError

    def news(self, since: int) -> List[Letter]:
        """Return all letters with a larger number, in order; simply all, if no letter of this store has had ``since``.

        Then the store has begun anew, or from an older copy, and would have nothing to tell for long.
        """
        raise NotImplementedError

    def waiting(self, id: str) -> List[Letter]:
        """Return all letters in the box OUT of this session, in order."""
        raise NotImplementedError

    def take(self, number: int) -> Optional[bytes]:
        """Take the content of a letter. Returns None if another process was first."""
        raise NotImplementedError

    def version(self) -> int:
        """Return a number that changes when another process may have changed anything. It is called often."""
        raise NotImplementedError

    def number(self) -> int:
        """Return a number that was never given before, from 1 on; each process asks for one."""
        raise NotImplementedError

    # Events

    def keep(self, id: str, event: StoredEvent, room: Room, seconds: float) -> str:
        """Keep an event of a session for some seconds. Returns SENT, UNWANTED or FULL.

        It is UNWANTED if the stream has an event of this place or a later one, and where there is no session. The
        oldest events of the session make room for it; it is FULL if that is not enough room over all sessions.
        """
        raise NotImplementedError

    def kept(self, id: str, kind: str, stream: int, place: int) -> List[StoredEvent]:
        """Return the events of this stream and no other, from this place on, in order."""
        raise NotImplementedError

    def unkeep(self, id: str, kind: str, stream: int, place: int) -> bool:
        """Remove an event that was not sent after all. Returns False if the stream has a later one, which stays, or has
        none of this place."""
        raise NotImplementedError

    # States

    def spend(self, id: str, until: float, now: float, most: int) -> str:
        """Note that a state was used, and remember it until then. Returns SENT, UNWANTED if it was used before, or FULL
        if ``most`` are remembered. Times are in seconds since 1970
        [2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST."""
        raise NotImplementedError


class SpentStates:
    """The states that were used in this process, where no store is given for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: Dict[str, float] = {}

    def spend(self, id: str, until: float, now: float, most: int) -> str:
        """Do what `Store.spend` does."""
        with self._lock:
            if id in self._until:
                return UNWANTED
            if len(self._until) >= most:
                self._until = {known: end for known, end in self._until.items() if end > now}
            if len(self._until) >= most:
                return FULL
            self._until[id] = until
        return SENT
