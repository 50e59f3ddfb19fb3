"""The contract of a store of tasks, and the store in memory.

A store keeps a `TaskRecord` by its id. It knows no rules of tasks: `TaskStore.change` reads, changes and writes a
record in one step, and what may change is decided by the function that it is given. Every `mcp_ref.stores.store.Store`
is a `TaskStore`, too.

A process that runs a task holds its *lease*: ``lease`` is the number of the run, ``until`` the time at which it runs
out unless the process renews it. A task that waits for input, or has ended, has none. So each task is run by one
process at a time; one whose process has died is found by `TaskStore.lost`; and what a process does after it has lost
its lease is refused, because the number has changed.
"""

import threading
import time
from copy import copy
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from .. import deadline
from ..protocol.tasks import FINAL, WORKING
from ..revisions import revision

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
        """The values that the handler needs when it runs again; see `mcp_ref.server.tasks.running`."""
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
