"""Who leads: a handler that keeps the leading thread loses the lead, however often; one thread works at a time."""
import queue
import threading
from typing import Callable, List, Optional

import pytest

from mcp_ref.http11.server.leader import LeaderThread
from tests.support.patience import WAIT
from tests.transports.http_raw import until


class Work:
    """A loop that runs what is put in; None ends it."""

    def __init__(self) -> None:
        self.todo: "queue.Queue[Optional[Callable[[], None]]]" = queue.Queue()
        self.inside = threading.Lock()
        self.lead = LeaderThread("test", self.step, 0.001)

    def step(self) -> bool:
        assert self.inside.acquire(timeout=0), "two threads lead"
        job = self.todo.get(timeout=WAIT)
        self.inside.release()
        return job is not None and (self.lead.run_inline(job) or True)


@pytest.fixture
def work() -> Work:
    return Work()


def end(work: Work) -> None:
    work.todo.put(None)
    work.lead.join(WAIT)


def test_quick_jobs_stay_on_one_thread_and_slow_ones_disturb_the_calm(work: Work) -> None:
    threads = set()
    done, gate = threading.Event(), threading.Event()
    for _ in range(100):
        work.todo.put(lambda: threads.add(threading.current_thread()))
    work.todo.put(done.set)
    work.lead._tick = 0.1  # so that a busy machine makes no quick job look slow
    work.lead.start()
    assert done.wait(WAIT) and len(threads) < 5
    until(work.lead.can_run_inline)
    work.todo.put(lambda: gate.wait(WAIT) and None)
    until(lambda: not work.lead.can_run_inline())
    work.lead._inline_from = 1e-9  # long ago; but the slow one is still at work
    assert not work.lead.can_run_inline()
    gate.set()
    until(work.lead.can_run_inline)
    end(work)


def test_a_job_that_raises_is_reported_and_ends_nothing(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: List[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: reported.append(arguments.exc_type))
    threads: List[threading.Thread] = []

    def fail() -> None:
        threads.append(threading.current_thread())
        raise IndexError

    work.todo.put(fail)
    work.todo.put(lambda: threads.append(threading.current_thread()))
    work.lead.start()
    until(lambda: len(threads) == 2)
    assert threads[0] is threads[1] and reported == [IndexError]
    end(work)


def test_without_threads_the_old_one_keeps_the_lead(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    refused, after = threading.Event(), threading.Event()
    work.lead.start()
    start = threading.Thread.start

    def none_left(thread: threading.Thread) -> None:
        refused.set()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    work.todo.put(lambda: refused.wait(WAIT) and None)
    assert refused.wait(WAIT)
    monkeypatch.setattr(threading.Thread, "start", start)
    work.todo.put(after.set)
    assert after.wait(WAIT)
    end(work)
