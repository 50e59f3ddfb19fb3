"""The test of the contract of `Store`, for the authors of other stores.

    def test_my_store():
        check(lambda: MyStore("redis://127.0.0.1"))

The first argument of each part is one process's store, the second another's on the same storage.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Sequence

from ...protocol.extensions import COMPLETED, INPUT_REQUIRED
from ...stores import (
    FULL, IN, NOTES, OUT, SENT, UNWANTED, Room, Store, StoredEvent, TaskRecord, TaskRoom, TaskStore, Values,
)

_WIDE = TaskRoom(1000, 1000, 1 << 30)
_ROOM = Room(1000, 1 << 20, 1 << 30)
_WRITERS = 8
_EACH = 25
_LARGE = b"x" * 10_000
SERVED: Sequence[Values] = (
    {"principal": None},
    {"revision": "2025-06-18", "phase": "answered", "client": {"name": "a client", "version": "0"},
     "capabilities": {"elicitation": {}, "sampling": {}, "roots": {"listChanged": True}}},
    {"phase": "operating"}, {"log_level": 4}, {"subscribed config://app": True}, {"subscribed config://app": None},
    {"told": {"notifications/roots/list_changed": 1}},
)
"""The values that a server has stored of a session of an anonymous client: at its beginning, and then each change."""


def check(make: Callable[[], TaskStore]) -> None:
    """Raise AssertionError, with what was expected, where a store does not keep to the contract.

    ``make`` returns a new object for the same storage each time it is called, as two processes would have it; or the
    same object, for a store of one process. The storage is empty at first. Of a store that is only a `TaskStore` the
    part about tasks is tested.
    """
    parts: List[Callable[[Any, Any], None]] = [_clocks, _tasks, _changes, _room, _lists, _leases, _expiry, _races]
    for part in parts + ([_sessions, _served, _uses, _updates, _letters, _bounds, _questions, _takers, _news,
                          _begun_anew, _events, _event_bounds, _keepers, _states] if isinstance(make(), Store) else []):
        stores: Any = make(), make()
        try:
            part(*stores)
        finally:
            for store in stores:
                if isinstance(store, Store):
                    store.sweep_sessions(0.0)
                    for letter in store.news(0):
                        store.take(letter.number)
                store.sweep(float("inf"))
                store.close()


def _expect(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError("%s: expected %r, found %r" % (what, expected, found))


def _at_once(work: Callable[[int], Any]) -> List[Any]:
    with ThreadPoolExecutor(_WRITERS) as pool:
        return list(pool.map(work, range(_WRITERS)))


# -- Tasks -------------------------------------------------------------------------------------


def _new(id: str, owner: str = "", ttl: float = 100.0, size: int = 10) -> TaskRecord:
    made = TaskRecord(id, owner, {"method": "tools/call", "params": {"text": "\u00e9 \U0001f600"}}, ttl, 2.0, 1000.0)
    made.size = size
    return made


def _clocks(one: TaskStore, two: TaskStore) -> None:
    """The processes may be on machines whose clocks differ."""
    for name in ("now", "clock"):
        read = [getattr((one, two)[turn % 2], name)() for turn in range(2 * _WRITERS)]
        _expect("the times of %s, read in turns" % name, read, sorted(read))


def _tasks(one: TaskStore, two: TaskStore) -> None:
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

    _at_once(work)
    found = one.read("a")
    _expect("changes at once", None if found is None else found.lease, 1 + _WRITERS * _EACH)


# -- Sessions ----------------------------------------------------------------------------------


def _sessions(one: Store, two: Store) -> None:
    _expect("read_session of no session", one.read_session("a", 100.0), None)
    _expect("update_session of no session", one.update_session("a", {"x": 1}), 0)
    _expect("remove_session of no session", one.remove_session("a"), False)
    _expect("create_session", one.create_session("a", {"x": 1, "\u00e9": [None, "\U0001f600"]}, 9, 100.0), True)
    _expect("what another process reads at once", two.read_session("a", 100.0),
            (1, {"x": 1, "\u00e9": [None, "\U0001f600"]}, True))
    _expect("the version after a change", two.update_session("a", {"x": None, "y": {"z": 2}}), 2)
    _expect("the version after a change to what is there", one.update_session("a", {"y": {"z": 2}, "none": None}), 2)
    record = one.read_session("a", 100.0, 1)
    if record is None:
        raise AssertionError("read_session: the session is not there")
    _expect("what has changed", (record.version, record.values.get("x"), record.values["y"]), (2, None, {"z": 2}))
    _expect("what has not changed", "\u00e9" in record.values, record.whole)
    _expect("remove_session", two.remove_session("a"), True)
    _expect("a session that was removed elsewhere", one.read_session("a", 100.0), None)


def _served(one: Store, two: Store) -> None:
    """Every process reads what a server stores."""
    one.create_session("a", SERVED[0], 9, 100.0)
    known: Dict[str, Any] = dict(SERVED[0])
    for version, changes in enumerate(SERVED[1:], 2):
        _expect("the version", (one, two)[version % 2].update_session("a", changes), version)
        known.update(changes)
        latest, whole = one.read_session("a", 100.0, version - 1), two.read_session("a", 100.0)
        _expect("what has changed", None if latest is None else latest.values, changes)
        _expect("all of it", None if whole is None else {name: whole.values.get(name) for name in known}, known)
    one.remove_session("a")


def _uses(one: Store, two: Store) -> None:
    one.create_session("a", {}, 9, 100.0)
    _expect("a session above the number", two.create_session("b", {}, 1, 100.0), False)
    _expect("a session above the number while the others are unused", two.create_session("b", {}, 1, 0.0), True)
    _expect("count_sessions", one.count_sessions(), 1)
    _expect("a session that is unused", one.read_session("b", 0.0), None)
    _expect("a sweep before its time", one.sweep_sessions(100.0), 0)
    one.send("b", OUT, "s", b"", _ROOM)
    one.keep("b", _event(0), _ROOM, 100.0)
    _expect("a sweep", one.sweep_sessions(0.0), 1)
    _expect("the letters and events after it", (two.waiting("b"), two.kept("b", "p", 1, 0)), ([], []))


def _updates(one: Store, two: Store) -> None:
    """Changes at once are not lost."""
    one.create_session("a", {}, 9, 100.0)
    _at_once(lambda writer: [(one, two)[writer % 2].update_session("a", {"%d %d" % (writer, number): number})
                             for number in range(_EACH)])
    found = one.read_session("a", 100.0)
    _expect("values and version after changes at once", None if found is None else (len(found.values), found.version),
            (_WRITERS * _EACH, 1 + _WRITERS * _EACH))
    one.remove_session("a")


# -- The mailbox -------------------------------------------------------------------------------


def _letters(one: Store, two: Store) -> None:
    one.create_session("a", {}, 9, 100.0)
    _expect("send", one.send("a", NOTES, "first", b"1", _ROOM), SENT)
    two.send("a", OUT, "second", b"\x00\xff", _ROOM)
    two.send("b", OUT, "third", b"", _ROOM)
    found = one.news(0)
    _expect("news", [letter[1:] for letter in found],
            [("a", NOTES, "first"), ("a", OUT, "second"), ("b", OUT, "third")])
    numbers = [letter.number for letter in found]
    _expect("the numbers of letters", numbers, sorted(set(numbers)))
    _expect("later news", one.news(numbers[0]), found[1:])
    _expect("what waits for a stream", one.waiting("a"), found[1:2])
    _expect("take", two.take(numbers[1]), b"\x00\xff")
    _expect("take of what was taken", one.take(numbers[1]), None)
    one.remove_session("a")
    _expect("news after the end of a session", [letter.id for letter in two.news(0)], ["b"])
    two.take(numbers[2])
    one.send("b", NOTES, "fourth", b"", _ROOM)
    _expect("a later number", two.news(numbers[2])[0].number > numbers[2], True)


def _bounds(one: Store, two: Store) -> None:
    room = Room(2, 1 << 20, 1 << 20)
    _expect("letters above the number", [(one, two)[place % 2].send("a", NOTES, "s", b"", room) for place in range(3)],
            [SENT, SENT, FULL])
    _expect("a letter of another session", one.send("b", NOTES, "s", b"", room), SENT)
    _expect("a letter in another box", one.send("a", OUT, "0", b"", room._replace(newest=True)), SENT)
    for subject in "12":
        two.send("a", OUT, subject, b"", room._replace(newest=True))
    _expect("the newest letters", [letter.subject for letter in one.waiting("a")], ["1", "2"])
    _expect("a letter above the bytes", one.send("c", NOTES, "s", _LARGE, Room(9, 100, 1 << 20)), SENT)
    _expect("one more", one.send("c", NOTES, "s", b"", Room(9, 100, 1 << 20)), FULL)
    _expect("a letter above the bytes of all", two.send("d", NOTES, "s", _LARGE, Room(9, 1 << 20, len(_LARGE))), FULL)


def _questions(one: Store, two: Store) -> None:
    one.create_session("a", {}, 9, 100.0)
    _expect("an answer to no question", two.send("a", IN, "s", b"", _ROOM, 7), UNWANTED)
    one.expect("a", 7)
    one.expect("a", 8)
    one.forget("a", 8)
    _expect("an answer of another session", two.send("b", IN, "s", b"", _ROOM, 7), UNWANTED)
    _expect("a note about a question", two.send("a", NOTES, "s", b"", _ROOM, 7), SENT)
    _expect("the answer, and again", [two.send("a", IN, "s", b"", _ROOM, 7) for _ in range(2)], [SENT, UNWANTED])
    numbers = (8, 0, -1, 1 << 70)
    found = [two.send("a", IN, "s", b"", _ROOM, number) for number in numbers]
    _expect("answers that nobody expects", found, 4 * [UNWANTED])


def _takers(one: Store, two: Store) -> None:
    """One of many has a letter."""
    for number in range(_EACH):
        one.send("a", NOTES, "s", b"%d" % number, _ROOM)
    letters = two.news(0)
    found = _at_once(lambda taker: [(one, two)[taker % 2].take(letter.number) for letter in letters])
    taken = [content for each in found for content in each if content is not None]
    _expect("letters taken at once", sorted(taken), sorted(b"%d" % number for number in range(_EACH)))


def _news(one: Store, two: Store) -> None:
    before = two.version()
    one.send("a", NOTES, "s", b"", _ROOM)
    _expect("a version after another process has sent something", two.version() != before, True)
    found = [number for each in _at_once(lambda _: [one.number(), two.number()]) for number in each]
    _expect("numbers that were given before", (len(set(found)), min(found) > 0), (len(found), True))


def _begun_anew(one: Store, two: Store) -> None:
    """A process may know a later number than any that the store has given, which was restored from an older copy."""
    one.send("a", NOTES, "s", b"", _ROOM)
    found = two.news(0)
    _expect("news since a number that no letter has had", (len(found), two.news(1 << 40)), (1, found))


# -- Events ------------------------------------------------------------------------------------


def _event(place: int, data: bytes = b"", stream: int = 1, kind: str = "p", final: bool = False) -> StoredEvent:
    return StoredEvent(kind, stream, place, data, final, '"7"')


def _events(one: Store, two: Store) -> None:
    _expect("an event of no session", one.keep("a", _event(0), _ROOM, 100.0), UNWANTED)
    one.create_session("a", {}, 9, 100.0)
    one.create_session("b", {}, 9, 100.0)
    events = [_event(0), _event(1, b"\x00\xff"), _event(4, b"x", final=True)]
    others = [_event(0, b"g", kind="g"), _event(0, b"2", (1 << 53) - 1)]
    _expect("keep", [one.keep("a", event, _ROOM, 100.0) for event in events + others], 5 * [SENT])
    two.keep("b", _event(0, b"b"), _ROOM, 100.0)
    _expect("events of places that are over", [two.keep("a", _event(place), _ROOM, 100.0) for place in (4, 2)],
            2 * [UNWANTED])
    _expect("the events of a stream", two.kept("a", "p", 1, 0), events)
    _expect("those from a place on", two.kept("a", "p", 1, 2), events[2:])
    _expect("those of a kind", two.kept("a", "g", 1, 0), others[:1])
    _expect("those of another stream", one.kept("a", "p", (1 << 53) - 1, 0), others[1:])
    _expect("unkeep of one that has a later one", one.unkeep("a", "p", 1, 1), False)
    _expect("unkeep of none", one.unkeep("a", "p", 1, 5), False)
    _expect("unkeep of the latest", two.unkeep("a", "p", 1, 4), True)
    _expect("events without it", one.kept("a", "p", 1, 0), events[:2])
    one.remove_session("a")
    _expect("events after the end of a session", (two.kept("a", "p", 1, 0), len(two.kept("b", "p", 1, 0))), ([], 1))


def _event_bounds(one: Store, two: Store) -> None:
    for id, room in (("a", Room(2, 1 << 20, 1 << 20)), ("b", Room(9, 2 * len(_LARGE) + 2000, 1 << 20))):
        one.create_session(id, {}, 9, 100.0)
        for place in range(4):
            _expect("keep above the bounds", (one, two)[place % 2].keep(id, _event(place, _LARGE), room, 100.0), SENT)
        _expect("the newest events", [event.place for event in two.kept(id, "p", 1, 0)], [2, 3])
    room = Room(9, 9, 1 << 20)
    _expect("an event above the bytes of its session", one.keep("a", _event(4, 2 * _LARGE), room, 9.0), SENT)
    _expect("what is left", [event.place for event in two.kept("a", "p", 1, 0)], [4])
    one.create_session("c", {}, 9, 100.0)
    room = Room(9, 1 << 20, 4 * len(_LARGE))
    _expect("an event above the bytes of all", one.keep("c", _event(0, _LARGE), room, 9.0), FULL)
    _expect("an event that was not kept", two.kept("c", "p", 1, 0), [])
    one.keep("c", _event(0), _ROOM, 0.0)
    one.keep("c", _event(1), _ROOM, 100.0)
    _expect("an event whose time is over", [event.place for event in two.kept("c", "p", 1, 0)], [1])


def _keepers(one: Store, two: Store) -> None:
    """One of many has a place."""
    one.create_session("a", {}, 9, 100.0)
    found = _at_once(lambda keeper: [(one, two)[keeper % 2].keep("a", _event(place), _ROOM, 100.0)
                                     for place in range(_EACH)])
    _expect("places taken at once", sum(each.count(SENT) for each in found) <= _EACH, True)
    _expect("the last place", found and two.kept("a", "p", 1, _EACH - 1), [_event(_EACH - 1)])


# -- States ------------------------------------------------------------------------------------


def _states(one: Store, two: Store) -> None:
    found = _at_once(lambda writer: (one, two)[writer % 2].spend("a", 2000.0, 1000.0, 9))
    _expect("a state used at once", sorted(found), [SENT] + (_WRITERS - 1) * [UNWANTED])
    _expect("another state", two.spend("b", 1500.0, 1000.0, 2), SENT)
    _expect("a state above the number", one.spend("c", 2000.0, 1499.0, 2), FULL)
    _expect("a state when one has expired", one.spend("c", 2000.0, 1500.0, 2), SENT)
    _expect("a state that was used", two.spend("a", 2000.0, 1999.0, 9), UNWANTED)
    one.spend("d", 0.0, 3000.0, 9)
