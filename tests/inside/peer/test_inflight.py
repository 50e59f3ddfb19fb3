"""Requests of the peer: duplicates, cancellation, and whether an answer is still wanted."""
import sys
import threading

import pytest

from mcp_ref.errors import RequestCancelled
from mcp_ref.jsonrpc import id_key
from mcp_ref.peer import inflight
from mcp_ref.peer.inflight import Inflight, RecentIds


def test_an_id_in_flight_is_not_entered_twice():
    table = Inflight()
    assert table.begin(1) is not None
    assert table.begin(1) is None
    assert table.begin("1") is not None
    assert len(table) == 2


def test_an_answer_is_wanted_unless_the_cancellation_came_first():
    table = Inflight()
    kept, dropped = table.begin(1), table.begin(2)
    assert table.cancel(2, "why") is True
    assert table.finish(kept) is True
    assert table.finish(dropped) is False
    assert table.cancel(1) is False and table.cancel(2) is False and table.cancel("x") is False
    assert dropped.reason == "why" and kept.cancelled is False


def test_the_handler_hears_of_the_cancellation():
    table = Inflight()
    incoming = table.begin("a")
    heard = []
    incoming.check()
    incoming.watch(lambda: heard.append(1))
    removed = lambda: heard.append(2)  # noqa: E731
    incoming.watch(removed)
    incoming.unwatch(removed)
    table.cancel("a", "changed my mind")
    incoming.watch(lambda: heard.append(3))
    assert heard == [1, 3]
    with pytest.raises(RequestCancelled, match="changed my mind"):
        incoming.check()


def test_waiting_for_emptiness_ends_when_the_last_answer_is_out():
    table = Inflight()
    incoming = table.begin(1)
    assert table.wait_empty(0) is False
    table.finish(incoming)
    assert table.wait_empty(0) is False, "finished, but its answer is not in the outbox yet"
    threading.Timer(0, table.release).start()
    assert table.wait_empty(10) is True


def test_the_end_cancels_everything():
    table = Inflight()
    incoming = [table.begin(n) for n in range(5)]
    table.cancel(3, "own reason")
    assert table.cancel_all("gone") == 4
    assert [i.reason for i in incoming] == ["gone", "gone", "gone", "own reason", "gone"]


@pytest.mark.parametrize("ids, fresh", [
    ([1, 2, 3, 1, 2, 3, 4], [1, 1, 1, 0, 0, 0, 1]),
    ([5, 4, 6, 5, 4, 7], [1, 1, 1, 0, 0, 1]),
    ([0, 2, 1, 2, 3, 0], [1, 1, 1, 0, 1, 0]),
    (["a", "b", "a", 1, "1"], [1, 1, 0, 1, 1]),
    ([-1, 0, -1, 10**30, 10**30], [1, 1, 0, 1, 0]),
    ([1700000000000, 1700000000001, 1700000000000], [1, 1, 0]),
])
def test_used_ids_are_remembered(ids, fresh):
    history = RecentIds()
    assert [history.add(id) for id in ids] == [bool(f) for f in fresh]


def test_memory_of_ids_is_bounded(monkeypatch):
    monkeypatch.setattr(inflight, "REMEMBERED", 100)
    history = RecentIds()
    for number in range(100_000):
        assert history.add(number)
    assert history._others is None, "a sequence costs nothing"
    for number in range(1000):
        assert history.add("x%d" % number)
    assert len(history._others) == 100
    assert history.add("x999") is False and history.add("x0") is True


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="NOT RUN: PyPy has no sys.getsizeof")
def test_of_a_long_id_little_is_kept():
    history = RecentIds()
    for number in range(inflight.REMEMBERED):
        assert history.add("\U0001f600" * 1000 + str(number)) and history.add(10 ** 4000 + number)
    assert all(sys.getsizeof(kept) < 50 for kept in history._others)
    assert history.add("\U0001f600" * 1000 + str(number)) is False and history.add(10 ** 4000 + number) is False


SAME_HASH = [k * sys.hash_info.modulus for k in range(-500, 501) if k]


def test_ids_with_one_hash_are_kept_apart_by_another():
    """0.5.0 compared each with all others: 40 times the work for a request."""
    assert len(set(map(hash, SAME_HASH))) == 1
    assert len({hash(id_key(id)) for id in SAME_HASH}) > 990
    assert [id_key(id) for id in (0, -1, 2**53, 2**61 - 2, "1", "x")] == [0, -1, 2**53, 2**61 - 2, "1", "x"]
    table, history = Inflight(), RecentIds()
    for id in SAME_HASH:
        incoming = table.begin(id)
        assert incoming.id == id and table.begin(id) is None and id in table
        assert history.add(id) is True and history.add(id) is False
    assert len(set(map(hash, table.incoming))) > 990 and len(set(map(hash, history._others))) > 250
    assert table.ids() == SAME_HASH
    assert table.cancel(SAME_HASH[0]) and table.finish(incoming) and incoming.id not in table
