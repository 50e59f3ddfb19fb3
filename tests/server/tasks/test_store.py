"""The stores of tasks, and the test of their contract, which has to see each way of breaking it."""
import pytest

from mcp_ref.ext.stores import contract, sqlite
from mcp_ref.server import Server, SqliteStore, Tasks
from mcp_ref.stores import MemoryTasks, TaskRecord, TaskRoom
from tests.support.http_exchange import Web
from tests.support.sides import eventually

from .tasked import served

WIDE = TaskRoom(1000, 1000, 1 << 30)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tasks.db"


def test_the_store_in_memory_keeps_to_the_contract():
    store = MemoryTasks()
    contract.check(lambda: store)
    assert not len(store) and not store._counts and not store._bytes, "something is left"


class _Forgets(MemoryTasks):
    def create(self, record, room):
        return ""


class _KeepsRefused(MemoryTasks):
    def change(self, id, function):
        return super().change(id, lambda record: bool(function(record)) or True)


class _HasRoom(MemoryTasks):
    def create(self, record, room):
        return super().create(record, WIDE)


class _ListsAll(MemoryTasks):
    def list(self, owner, after, most):
        return [self.read(id) for id in self._records]


class _LosesNone(MemoryTasks):
    def lost(self, now):
        return []


class _SweepsAll(MemoryTasks):
    def sweep(self, now):
        return super().sweep(float("inf"))


@pytest.mark.parametrize("broken", [_Forgets, _KeepsRefused, _HasRoom, _ListsAll, _LosesNone, _SweepsAll])
def test_a_store_that_breaks_the_contract_is_told_what_it_breaks(broken):
    store = broken()
    with pytest.raises(AssertionError, match="expected|is not there"):
        contract.check(lambda: store)


def test_what_a_store_was_given_is_not_changed_behind_its_back():
    store, record = MemoryTasks(), TaskRecord("a", "", {}, None, 1.0, 1.0)
    store.create(record, WIDE)
    record.status = "failed"
    read = store.read("a")
    assert read.status == "working"
    read.status = "failed"
    assert store.read("a").status == "working" and store.list("", 0, 5)[0].status == "working"


class _SaysNotWhatHasChanged(SqliteStore):
    def read_session(self, id, idle, since=0):
        return super().read_session(id, idle, 0)._replace(whole=False) if super().read_session(id, idle) else None


class _KeepsLetters(SqliteStore):
    def take(self, number):
        with self._reading() as database:
            row = database.execute("SELECT content FROM letters WHERE number = ?", (number,)).fetchone()
        return row and row[0]


class _TakesAnyAnswer(SqliteStore):
    def send(self, id, box, subject, content, room, question=None):
        return super().send(id, box, subject, content, room)


class _HasRoomForLetters(SqliteStore):
    def send(self, id, box, subject, content, room, question=None):
        return super().send(id, box, subject, content, room._replace(letters=999), question)


class _KeepsAnyPlace(SqliteStore):
    def keep(self, id, event, room, seconds):
        became = super().keep(id, event, room, seconds)
        return "sent" if self.read_session(id, 100.0) else became


class _MixesStreams(SqliteStore):
    def kept(self, id, kind, stream, place):
        return super().kept(id, kind, stream, place) + super().kept(id, "g", stream, place)


class _KeepsForEver(SqliteStore):
    def keep(self, id, event, room, seconds):
        return super().keep(id, event, room, seconds + 50.0)


class _KeepsEventsOfAll(SqliteStore):
    def keep(self, id, event, room, seconds):
        return super().keep(id, event, room._replace(total=1 << 40), seconds)


class _UnkeepsAny(SqliteStore):
    def unkeep(self, id, kind, stream, place):
        with self._writing() as database:
            return database.execute("DELETE FROM events WHERE id = ? AND place = ?", (id, place)).rowcount > 0


class _SweepsNoEvents(SqliteStore):
    def remove_session(self, id):
        with self._writing() as database:
            database.execute("DROP TRIGGER IF EXISTS ended")
        return super().remove_session(id)


class _KeepsNoneAsText(SqliteStore):
    def create_session(self, id, values, most, idle):
        return super().create_session(id, {name: values[name] or "" for name in values}, most, idle)


class _IsDeafWhenItBeginsAnew(SqliteStore):
    def news(self, since):
        return [letter for letter in super().news(0) if letter.number > since]


class _RepeatsNumbers(SqliteStore):
    def number(self):
        return 1 + super().number() // 2


@pytest.mark.parametrize("broken", [
    _SaysNotWhatHasChanged, _KeepsLetters, _TakesAnyAnswer, _HasRoomForLetters, _KeepsAnyPlace, _MixesStreams,
    _KeepsForEver, _KeepsEventsOfAll, _UnkeepsAny, _SweepsNoEvents, _KeepsNoneAsText, _IsDeafWhenItBeginsAnew,
    _RepeatsNumbers])
def test_a_store_of_sessions_that_breaks_the_contract_is_told_so(broken, path):
    with pytest.raises(AssertionError, match="expected"):
        contract.check(lambda: broken(path))


# --- In a file --------------------------------------------------------------------------------------------------------

def test_the_store_in_a_file_keeps_to_the_contract(path):
    contract.check(lambda: SqliteStore(path))
    store = SqliteStore(path)
    with store._reading() as database:
        tables = ("sessions", "entries", "questions", "letters", "events", "tasks")
        left = [database.execute("SELECT count(*) FROM " + table).fetchone()[0] for table in tables]
        held = database.execute("SELECT sum(size) FROM boxes").fetchone()[0]
    store.close()
    assert not any(left) and not held, "something is left"


def test_one_store_keeps_sessions_and_tasks(path):
    """Created in one process, seen and answered in another one, in a session that both have."""
    stores = [SqliteStore(path) for _ in range(2)]
    servers = [served(tasks=Tasks(store)) for store in stores]
    with Web(servers[0], None, sessions=stores[0]) as one, Web(servers[1], None, sessions=stores[1]) as two:
        one.open("2025-11-25")
        two.headers.update(one.headers)
        id = one.ask(1, "tools/call", {"name": "hold", "task": {}}).answer()["result"]["task"]["taskId"]
        assert two.ask(2, "tasks/get", {"taskId": id}).answer()["result"]["status"] == "working"
        servers[0].gate.open()
        assert "done" in str(two.begin(3, "tasks/result", {"taskId": id}).answer()["result"])
    eventually(lambda: not any(server.tasks._watching for server in servers))
    for store in stores:
        store.close()


def test_the_file_is_for_its_owner_alone(path, tmp_path):
    store = SqliteStore(path)
    store.create(TaskRecord("a", "", {}, None, 1.0, 1.0), WIDE)
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        SqliteStore(path)
    other = tmp_path / "other.db"
    other.write_bytes(b"a text that is no database at all " * 50)
    other.chmod(0o600)
    with pytest.raises(ValueError, match="no store of ours"):
        SqliteStore(other)


def test_after_another_start_of_the_machine_nothing_runs(path, monkeypatch):
    monkeypatch.setattr(sqlite, "boot", lambda: "first")
    store = SqliteStore(path)
    for id, until in (("ran", 1e12), ("waits", 0.0)):
        store.create(TaskRecord(id, "", {}, None, 1.0, 1.0), WIDE)

        def hold(record, until=until):
            record.until = until
            return True

        store.change(id, hold)
    assert store.lost(store.clock()) == []
    store.close()
    monkeypatch.setattr(sqlite, "boot", lambda: "second")
    store = SqliteStore(path)
    assert store.lost(store.clock()) == ["ran"] and 0.0 < store.read("ran").until < store.clock()
    store.close()


@pytest.mark.parametrize("options, error", [
    ({"store": "tasks.db"}, "TaskStore, such as SqliteStore"), ({"store": True}, "TaskStore"),
    ({"ttl": True}, "ttl of Tasks"), ({"ttl": "60"}, "ttl of Tasks"), ({"ttl": float("inf")}, "above 0"),
    ({"ttl": float("nan")}, "above 0"), ({"ttl": 0}, "above 0"), ({"ttl": -1.0}, "above 0"),
    ({"poll": None}, "poll of Tasks"), ({"poll": 0}, "above 0"), ({"poll": float("inf")}, "above 0"),
])
def test_tasks_that_could_not_be_kept_are_refused_where_they_are_made(options, error):
    with pytest.raises((TypeError, ValueError), match=error):
        Tasks(**options)
    assert Tasks(ttl=None).ttl is None and Tasks(ttl=1, poll=0.5).ttl == 1


def test_what_are_no_tasks_is_said_when_a_server_is_made():
    with pytest.raises(TypeError, match=r"tasks is an object of Tasks, such as Tasks\(ttl=3600\), got True"):
        Server("x", tasks=True)
