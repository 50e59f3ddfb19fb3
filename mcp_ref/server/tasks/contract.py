"""The test of the contract of `TaskStore`, for the authors of other stores.

    def test_my_store():
        check(lambda: MyTasks("redis://127.0.0.1"))
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ...protocol.tasks import COMPLETED, INPUT_REQUIRED
from .store import TaskRecord, TaskRoom, TaskStore

_WIDE = TaskRoom(1000, 1000, 1 << 30)
_WRITERS = 8
_EACH = 25


def check(make: Callable[[], TaskStore]) -> None:
    """Raise AssertionError, with what was expected, where a store does not keep to the contract.

    ``make`` returns a new object for the same storage each time it is called, as two processes would have it; or the
    same object, for a store of one process. The storage is empty at first.
    """
    for part in (_records, _changes, _room, _lists, _leases, _expiry, _races):
        stores = make(), make()
        try:
            part(*stores)
        finally:
            for store in stores:
                store.sweep(float("inf"))
                store.close()


def _new(id: str, owner: str = "", ttl: float = 100.0, size: int = 10) -> TaskRecord:
    made = TaskRecord(id, owner, {"method": "tools/call", "params": {"text": "\u00e9 \U0001f600"}}, ttl, 2.0, 1000.0)
    made.size = size
    return made


def _expect(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError("%s: expected %r, found %r" % (what, expected, found))


def _records(one: TaskStore, two: TaskStore) -> None:
    _expect("read of no task", one.read("a"), None)
    made = _new("a", '"ada"')
    _expect("create", one.create(made, _WIDE), "")
    found = two.read("a")
    _expect("what another process reads at once", None if found is None else vars(found), vars(made))


def _changes(one: TaskStore, two: TaskStore) -> None:
    one.create(_new("a"), _WIDE)

    def asks(record: TaskRecord) -> bool:
        record.status, record.questions, record.until = INPUT_REQUIRED, {"k": {"request": {}}}, 5.0
        record.memory, record.outcome, record.message = {"answers": {}}, {"result": {"content": []}}, "text"
        record.size = 20
        return True

    def refuses(record: TaskRecord) -> bool:
        record.status = COMPLETED
        return False

    changed = one.change("a", asks)
    found = two.read("a")
    if changed is None or found is None:
        raise AssertionError("change: the task is not there")
    _expect("what change returns", vars(changed), vars(found))
    _expect("members after a change", [found.status, found.questions, found.memory, found.outcome, found.message],
            [INPUT_REQUIRED, {"k": {"request": {}}}, {"answers": {}}, {"result": {"content": []}}, "text"])
    _expect("a change whose function returns False", two.change("a", refuses), None)
    again = one.read("a")
    _expect("the status after that", None if again is None else again.status, INPUT_REQUIRED)
    _expect("a change of no task", one.change("b", asks), None)


def _room(one: TaskStore, two: TaskStore) -> None:
    one.create(_new("a", "ada"), _WIDE)
    _expect("tasks of a principal", two.create(_new("b", "ada"), TaskRoom(9, 1, 99)), "max_tasks_per_principal")
    _expect("tasks of another", two.create(_new("b", "bob"), TaskRoom(9, 1, 99)), "")
    _expect("tasks of all", one.create(_new("c", "cid"), TaskRoom(2, 1, 99)), "max_tasks")
    _expect("bytes of all", one.create(_new("c", "cid"), TaskRoom(9, 1, 20)), "max_tasks_bytes")
    _expect("a task that was refused", two.read("c"), None)


def _lists(one: TaskStore, two: TaskStore) -> None:
    for number in range(5):
        (one, two)[number % 2].create(_new("t%d" % number, "ada" if number != 2 else "bob"), _WIDE)
    first = two.list("ada", 0, 3)
    _expect("the first page", [record.id for record in first], ["t0", "t1", "t3"])
    _expect("the rest", [record.id for record in one.list("ada", first[-1].number, 3)], ["t4"])
    _expect("the list of nobody", one.list("cid", 0, 3), [])


def _leases(one: TaskStore, two: TaskStore) -> None:
    def hold(until: float) -> Callable[[TaskRecord], bool]:
        def change(record: TaskRecord) -> bool:
            record.until = until
            return True

        return change

    now = one.clock()
    for id, until in (("past", now - 1.0), ("held", two.clock() + 100.0), ("free", 0.0)):
        one.create(_new(id), _WIDE)
        one.change(id, hold(until))
    _expect("the lost tasks", two.lost(now), ["past"])


def _expiry(one: TaskStore, two: TaskStore) -> None:
    one.create(_new("short", "ada", 10.0), _WIDE)
    one.create(_new("long", "ada", 100.0), _WIDE)
    _expect("a sweep before its time", two.sweep(1009.0), 0)
    _expect("a sweep", two.sweep(1011.0), 1)
    _expect("what is left", [record.id for record in one.list("ada", 0, 9)], ["long"])
    _expect("room after a sweep", one.create(_new("next", "ada"), TaskRoom(2, 2, 99)), "")


def _races(one: TaskStore, two: TaskStore) -> None:
    """Changes at once are not lost."""
    one.create(_new("a"), _WIDE)

    def add(record: TaskRecord) -> bool:
        record.lease += 1
        return True

    def work(number: int) -> None:
        for _ in range(_EACH):
            (one, two)[number % 2].change("a", add)

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(work, range(_WRITERS)))
    found = one.read("a")
    _expect("changes at once", None if found is None else found.lease, 1 + _WRITERS * _EACH)
