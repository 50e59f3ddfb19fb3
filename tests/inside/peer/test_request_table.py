"""The request table: ids, outcomes, deadlines, progress, and how waits end."""
import queue
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.deadline import Deadline
from mcp_ref.diagnostics.packagelog import Counters
from mcp_ref.errors import Busy, ConnectionLost, PeerError, RequestCancelled
from mcp_ref.jsonrpc import ErrorResponse, ResultResponse
from mcp_ref.limits import Limits
from mcp_ref.peer.request_table import Progress, RequestTable
from tests.support.patience import WAIT


@pytest.fixture
def table():
    counters = Counters()
    made = RequestTable(Limits(max_pending=3), counters)
    made.counters = counters
    return made


def add(table, method="m", seconds=5.0, **options):
    return table.add(method, Deadline(seconds), **options)


@pytest.mark.spec("jsonrpc.request-id-unique-session", "progress.token-unique")
def test_ids_are_integers_that_are_never_reused(table):
    ids = []
    for _ in range(100):
        pending = add(table)
        ids.append(pending.id)
        table.remove(pending)
    assert len(set(ids)) == 100 and all(type(id) is int for id in ids)


def test_an_answer_reaches_the_request_it_names(table):
    one, two = add(table), add(table)
    table.resolve(ResultResponse(two.id, {"n": 2}))
    table.resolve(ErrorResponse(one.id, -5, "no", {"d": 1}))
    assert two.answer(two.next(0)) == {"n": 2}
    with pytest.raises(PeerError) as caught:
        one.answer(one.next(0))
    error = caught.value
    assert (error.code, error.message, error.data, error.method, error.request_id) == (-5, "no", {"d": 1}, "m", one.id)


@pytest.mark.parametrize("answer, counted", [
    (ResultResponse(99, {}), "unknown response"),
    (ResultResponse("1", {}), "unknown response"),
    (ErrorResponse(0, -1, ""), "unknown response"),
    (ErrorResponse(None, -32700, "Parse error"), "error without id"),
])
def test_answers_to_nobody_are_counted_and_dropped(table, answer, counted):
    pending = add(table)
    table.resolve(answer)
    assert table.counters.snapshot() == {counted: 1} and len(table) == 1
    with pytest.raises(queue.Empty):
        pending.next(0)


def test_a_second_answer_and_a_late_one_are_counted_and_dropped(table):
    pending, given_up = add(table), add(table)
    table.resolve(ResultResponse(pending.id, {"n": 1}))
    table.resolve(ResultResponse(pending.id, {"n": 2}))
    table.remove(given_up)
    table.resolve(ResultResponse(given_up.id, {}))
    assert pending.next(0) == ResultResponse(pending.id, {"n": 1})
    assert table.counters.snapshot() == {"late response": 2}


def test_progress_comes_in_order_and_before_the_answer(table):
    pending = add(table)
    for value in (1, 2.5, 3):
        table.progress(pending.id, Progress(value, 3, None))
    table.resolve(ResultResponse(pending.id, {}))
    table.progress(pending.id, Progress(4, 3, None))
    got = [pending.next(0) for _ in range(4)]
    assert [item.value for item in got[:3]] == [1, 2.5, 3] and isinstance(got[3], ResultResponse)
    assert table.counters.snapshot() == {"progress for no request": 1}


@pytest.mark.spec("progress.track-tokens")
@pytest.mark.parametrize("token", [2, "1", "x", -1])
def test_progress_for_nobody_is_counted_and_dropped(table, token):
    pending = add(table)
    table.progress(token, Progress(1, None, None))
    assert table.counters.snapshot() == {"progress for no request": 1}
    with pytest.raises(queue.Empty):
        pending.next(0)


@pytest.mark.parametrize("values, kept", [
    ([1, 1], [1]), ([2, 1], [2]), ([1, 0.5, 2], [1, 2]), ([0, 0.1, 0.1], [0, 0.1]),
])
def test_progress_that_does_not_increase_is_dropped(table, values, kept):
    pending = add(table)
    for value in values:
        table.progress(pending.id, Progress(value, None, None))
    table.resolve(ResultResponse(pending.id, {}))
    got = []
    item = pending.next(0)
    while isinstance(item, Progress):
        got.append(item.value)
        item = pending.next(0)
    assert got == kept and table.counters["progress not increasing"] == len(values) - len(kept)


def test_progress_moves_the_deadline_up_to_the_ceiling(table, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    pending = table.add("m", Deadline(10, ceiling=25), idle=10)
    for at in (8.0, 16.0, 24.0):
        now[0] = at
        assert not pending.deadline.expired()
        pending.report(Progress(at, None, None))
    now[0] = 25.0
    assert pending.deadline.expired()


def test_without_leave_progress_does_not_move_the_deadline(table, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    pending = table.add("m", Deadline(10))
    now[0] = 9.0
    pending.report(Progress(1, None, None))
    now[0] = 10.0
    assert pending.deadline.expired() and table.expired() == [pending]


def test_the_end_frees_everybody_and_refuses_the_next(table):
    waiting = [add(table), add(table)]
    table.end("the server exited")
    table.end("again")
    for pending in waiting:
        with pytest.raises(ConnectionLost, match="the server exited"):
            pending.answer(pending.next(0))
    with pytest.raises(ConnectionLost, match="the server exited"):
        add(table)
    assert len(table) == 0


def test_a_full_table_says_so(table):
    for _ in range(3):
        add(table)
    with pytest.raises(Busy, match="max_pending"):
        add(table)


def test_a_request_is_given_up_once(table):
    pending = add(table)
    assert table.fail(pending.id, RequestCancelled("x")) is True
    assert table.fail(pending.id, RequestCancelled("y")) is False
    assert table.remove(pending) is False
    with pytest.raises(RequestCancelled, match="x"):
        pending.answer(pending.next(0))


def test_the_shortest_wait_ends(table):
    """`SimpleQueue.get` with a timeout that is over at once waits for ever before CPython 3.13."""
    for _ in range(3000):
        pending = add(table)
        for timeout in (1e-6, 0, 1e-9):
            with pytest.raises(queue.Empty):
                pending.next(timeout)
        table.resolve(ResultResponse(pending.id, {}))
        assert pending.next(1e-6) == ResultResponse(pending.id, {})
        with pytest.raises(queue.Empty):
            pending.next(1e-6)


@pytest.mark.race
def test_many_threads_get_their_own_answers():
    table = RequestTable()
    wrong = []

    def caller():
        for _ in range(50):
            pending = add(table)
            requests.put(pending.id)
            if pending.answer(pending.next(WAIT)) != {"for": pending.id}:
                wrong.append(pending.id)

    def answerer():
        for _ in range(400):
            id = requests.get(timeout=WAIT)
            table.resolve(ResultResponse(id, {"for": id}))

    requests = queue.SimpleQueue()
    threads = [threading.Thread(target=caller) for _ in range(8)] + [threading.Thread(target=answerer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not wrong and len(table) == 0
