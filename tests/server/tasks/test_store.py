"""The stores of tasks, and the test of their contract, which has to see each way of breaking it."""
import pytest

from mcp_ref.server import SqliteStore, SqliteTasks, Tasks
from mcp_ref.server.tasks import contract, sqlite
from mcp_ref.server.tasks.store import MemoryTasks, TaskRecord, TaskRoom

WIDE = TaskRoom(1000, 1000, 1 << 30)


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


# --- In a file --------------------------------------------------------------------------------------------------------

@pytest.fixture
def path(tmp_path):
    return tmp_path / "tasks.db"


def test_the_store_in_a_file_keeps_to_the_contract(path):
    contract.check(lambda: SqliteTasks(path))


def test_the_file_is_for_its_owner_alone(path, tmp_path):
    store = SqliteTasks(path)
    store.create(TaskRecord("a", "", {}, None, 1.0, 1.0), WIDE)
    store.close()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(ValueError, match="chmod 600"):
        SqliteTasks(path)
    other = tmp_path / "other.db"
    other.write_bytes(b"a text that is no database at all " * 50)
    other.chmod(0o600)
    with pytest.raises(ValueError, match="no store of tasks"):
        SqliteTasks(other)
    SqliteStore(tmp_path / "sessions.db").close()
    with pytest.raises(ValueError, match="another database"):
        SqliteTasks(tmp_path / "sessions.db")


def test_after_another_start_of_the_machine_nothing_runs(path, monkeypatch):
    monkeypatch.setattr(sqlite, "boot", lambda: "first")
    store = SqliteTasks(path)
    for id, until in (("ran", 1e12), ("waits", 0.0)):
        store.create(TaskRecord(id, "", {}, None, 1.0, 1.0), WIDE)

        def hold(record, until=until):
            record.until = until
            return True

        store.change(id, hold)
    assert store.lost(store.clock()) == []
    store.close()
    monkeypatch.setattr(sqlite, "boot", lambda: "second")
    store = SqliteTasks(path)
    assert store.lost(store.clock()) == ["ran"] and 0.0 < store.read("ran").until < store.clock()
    store.close()


@pytest.mark.parametrize("options, error", [
    ({"store": "tasks.db"}, "TaskStore, such as SqliteTasks"), ({"store": True}, "TaskStore"),
    ({"ttl": True}, "ttl of Tasks"), ({"ttl": "60"}, "ttl of Tasks"), ({"ttl": float("inf")}, "above 0"),
    ({"ttl": float("nan")}, "above 0"), ({"ttl": 0}, "above 0"), ({"ttl": -1.0}, "above 0"),
    ({"poll": None}, "poll of Tasks"), ({"poll": 0}, "above 0"), ({"poll": float("inf")}, "above 0"),
])
def test_tasks_that_could_not_be_kept_are_refused_where_they_are_made(options, error):
    with pytest.raises((TypeError, ValueError), match=error):
        Tasks(**options)
    assert Tasks(ttl=None).ttl is None and Tasks(ttl=1, poll=0.5).ttl == 1
