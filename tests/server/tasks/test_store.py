"""The stores of tasks, and the test of their contract, which has to see each way of breaking it."""
import pytest

from mcp_ref.server.tasks import contract
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
