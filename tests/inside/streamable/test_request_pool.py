"""The threads that send requests: none of their jobs is lost, and none of their places."""
import threading
import time
from typing import Callable, List

import pytest

from mcp_ref.http11.client import connection_pool
from mcp_ref.http11.client.connection_pool import RequestPool
from tests.support.patience import WAIT
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually


def test_a_place_is_given_to_who_waits_for_one_and_its_rest_is_done() -> None:
    pool = RequestPool("test", 1, lambda: None)
    done = threading.Semaphore(0)
    order: List[str] = []

    def job(name: str) -> Callable[[], None]:
        return lambda: (order.append(name), done.release())[1]

    try:
        assert pool.acquire_slot() and not pool.acquire_slot()
        assert pool.submit(job("waits"))
        pool.release_slot(job("rest"))
        assert done.acquire(timeout=PATIENCE) and done.acquire(timeout=PATIENCE)
        assert order == ["rest", "waits"]
        eventually(lambda: not pool._busy)
        assert pool.acquire_slot() and pool.submit(job("waits too"))
        pool.release_slot()
        assert done.acquire(timeout=PATIENCE) and order[-1] == "waits too"
        eventually(lambda: not pool._busy)
    finally:
        pool.close()
    assert not pool.acquire_slot()


def test_a_job_that_was_taken_while_no_thread_could_be_started_is_left_to_who_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = RequestPool("test", 1, lambda: None)

    def taken(count: int) -> None:
        pool._jobs.popleft()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_awaken", taken)
    assert pool.acquire_slot()
    pool.release_slot(lambda: None)
    assert pool._busy == 1 and not pool._later, "its place is given back by the thread that has the job"


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_job_that_waits_is_not_lost_where_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = RequestPool("test", 1, lambda: None)
    done = threading.Semaphore(0)
    try:
        assert pool.acquire_slot() and pool.submit(lambda: (done.release(), None)[1])
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_thread)
            pool.release_slot()  # whose own job is done: nothing to complain of
        pool.submit(lambda: (done.release(), None)[1])
        assert done.acquire(timeout=WAIT) and done.acquire(timeout=WAIT)
    finally:
        pool.close()


def test_of_those_that_rest_one_stays_while_others_do_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "REQUEST_IDLE", 0.02)
    rested: List[float] = []
    pool = RequestPool("test", 4, lambda: rested.append(time.monotonic()))
    try:
        with Gate() as gate:
            assert all([pool.submit(gate.hold) for _ in range(3)])
            gate.entered(3)
            assert pool.acquire_slot()
            pool.release_slot()
            last = pool._left = pool._left + 0.1  # as if another one had just been done then
        eventually(lambda: len(pool._idle) == 1 or rested)
        eventually(lambda: rested)
        assert len(rested) == 1 and rested[0] >= last + connection_pool.REQUEST_IDLE and not pool._idle
    finally:
        pool.close()


@pytest.mark.parametrize("possible", [True, False], ids=["", "no thread left"])
def test_somebody_says_that_they_rest_if_nobody_of_the_crew_has_done_anything(
        monkeypatch: pytest.MonkeyPatch, possible: bool) -> None:
    monkeypatch.setattr(connection_pool, "REQUEST_IDLE", 0.01)
    resting = threading.Event()
    pool = RequestPool("test", 1, resting.set)
    if not possible:
        monkeypatch.setattr(threading.Thread, "start", no_thread)
    try:
        assert pool.acquire_slot()
        pool.release_slot()
        assert resting.wait(PATIENCE if possible else 0.05) is possible and not pool._busy
    finally:
        pool.close()
