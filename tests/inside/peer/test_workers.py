"""The executors: order, promotion when handlers block, bounds, and how threads end."""
import threading
import weakref

import pytest

from mcp_ref import threads as module
from mcp_ref.errors import RpcError
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Job, Workers
from mcp_ref.server import Inline, MainThreadQueue
from mcp_ref.threads import Wait, count_waiting, start_thread
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually


class Note(Job):
    """A job that runs a function."""

    def __init__(self, function):
        self.function = function
        self.abandoned = None

    def run(self):
        self.function()

    def abandon(self, error):
        self.abandoned = error
        self.function()


class FakeOutbox:
    """Counts flushes."""

    def __init__(self):
        self.flushed = threading.Semaphore(0)

    def flush(self):
        self.flushed.release()

    flush_soon = flush


@pytest.fixture
def outbox():
    return FakeOutbox()


@pytest.fixture
def workers():
    made = Workers("test", Limits(max_workers=8))
    yield made
    made.close()


def test_quick_jobs_run_in_order_on_one_thread(workers, outbox):
    ran, done = [], threading.Event()
    jobs = [Note(lambda n=n: ran.append((n, threading.get_ident()))) for n in range(100)] + [Note(done.set)]
    workers.submit(jobs, outbox)
    assert done.wait(WAIT)
    assert [n for n, _ in ran] == list(range(100)) and len({ident for _, ident in ran}) == 1


@pytest.mark.parametrize("order", [("slow", "quick"), ("quick", "slow")])
def test_a_blocked_handler_delays_nobody(workers, outbox, order):
    gate, quick_done = threading.Event(), threading.Event()
    jobs = {"slow": Note(lambda: gate.wait(WAIT)), "quick": Note(quick_done.set)}
    workers.submit([jobs[name] for name in order], outbox)
    assert quick_done.wait(WAIT)
    assert outbox.flushed.acquire(timeout=WAIT), "the quick answer is written while the slow handler runs"
    gate.set()


def test_blocking_jobs_get_workers_up_to_the_bound(workers, outbox):
    gate, running = threading.Event(), threading.Semaphore(0)

    def block():
        running.release()
        gate.wait(WAIT)

    last = threading.Event()
    workers.submit([Note(block) for _ in range(12)] + [Note(last.set)], outbox)
    for _ in range(8):
        assert running.acquire(timeout=WAIT)
    assert workers.counts()[0] == 8 and not last.is_set()
    gate.set()
    assert last.wait(WAIT)


def test_jobs_that_wait_for_a_peer_do_not_count(workers, outbox):
    with Gate() as gate:
        def wait():
            with Wait(100), Wait(100):  # a callback of a wait may wait, too
                gate.hold()

        workers.submit([Note(wait) for _ in range(30)], outbox)
        gate.entered(30)
        threads, awake, queued = workers.counts()
        assert 30 <= threads <= 38 and queued == 0 and count_waiting() == 30
        quick = threading.Event()
        workers.submit([Note(quick.set)], outbox)
        assert quick.wait(WAIT)
    eventually(lambda: workers.counts()[:2] <= (8, 0) and workers._waiting == 0 and count_waiting() == 0)


def test_those_above_the_limit_keep_their_place(outbox):
    workers = Workers("test", Limits(max_workers=1))
    with Gate() as gate:
        def wait():
            with Wait(2):
                gate.hold()

        never = []
        workers.submit([Note(wait) for _ in range(3)] + [Note(lambda: never.append(1))], outbox)
        gate.entered(3)
        assert workers.counts() == (3, 1, 1) and count_waiting() == 2 and not never
    eventually(lambda: never == [1] and count_waiting() == 0)
    workers.close()


@pytest.mark.race
def test_waits_that_begin_and_end_all_the_time_leave_the_right_count(workers, outbox):
    done = threading.Semaphore(0)

    def wait():
        with Wait(1000):
            pass
        done.release()

    for _ in range(20):
        workers.submit([Note(wait) for _ in range(20)], outbox)
    for _ in range(400):
        assert done.acquire(timeout=WAIT)
    eventually(lambda: workers.counts()[1:] == (0, 0) and workers._waiting == 0 and count_waiting() == 0)
    assert workers.counts()[0] <= 8


def test_a_worker_that_sleeps_keeps_nothing_of_its_last_job(workers, outbox, monkeypatch):
    monkeypatch.setattr(module, "IDLE", 1000.0)
    job = Note(lambda: None)
    gone = weakref.ref(job)
    workers.submit([job], outbox)
    del job
    eventually(lambda: workers.counts()[1] == 0)
    eventually(lambda: gone() is None)


def test_where_no_thread_is_left_the_others_do_the_work_later(outbox, monkeypatch):
    workers, started = Workers("test", Limits(max_workers=8)), []

    def start(name, function, *arguments):
        if "worker" in name and started:
            raise RuntimeError("can't start new thread")
        started.append(name)
        return start_thread(name, function, *arguments)

    monkeypatch.setattr(module, "start_thread", start)
    with Gate() as gate:
        def wait():
            with Wait(100):
                gate.hold()

        workers.submit([Note(wait)], outbox)
        gate.entered()
        done = threading.Event()
        workers.submit([Note(done.set)], outbox)
        assert workers.counts() == (1, 0, 1) and not done.is_set()
        gate.open()
        assert done.wait(WAIT)
    workers.close()


def test_no_more_than_one_worker_wakes_for_quick_work(outbox):
    workers = Workers("test", Limits(promote_after=5.0))  # so that a busy machine makes no quick job look slow
    for _ in range(50):
        done = threading.Event()
        workers.submit([Note(done.set)], outbox)
        assert done.wait(WAIT)
    assert workers.counts()[0] <= 2
    workers.close()


def test_workers_end_on_close_and_take_no_more(workers, outbox):
    done, never = threading.Event(), []
    workers.submit([Note(done.set)], outbox)
    assert done.wait(WAIT)
    workers.close()
    workers.submit([Note(lambda: never.append(1))], outbox)
    for thread in threading.enumerate():
        if thread.name.startswith("mcp-ref:"):
            thread.join(WAIT)
            assert not thread.is_alive()
    assert never == []


@pytest.mark.race
def test_every_job_runs_once_whoever_submits_it(workers, outbox):
    ran, lock, done = [], threading.Lock(), threading.Semaphore(0)

    def job(name):
        def run():
            with lock:
                ran.append(name)
            done.release()
        return Note(run)

    def submitter(name):
        for number in range(100):
            workers.submit([job((name, number)), job((name, -number - 1))], outbox)

    threads = [threading.Thread(target=submitter, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    for _ in range(800):
        assert done.acquire(timeout=WAIT)
    assert len(ran) == len(set(ran)) == 800


@pytest.mark.race
def test_work_that_arrives_while_the_last_worker_goes_to_sleep_is_not_forgotten(workers, outbox):
    for _ in range(300):
        done = threading.Event()
        workers.submit([Note(done.set)], outbox)
        assert done.wait(WAIT)


def test_inline_runs_on_the_caller_and_forbids_waiting(outbox):
    inline, seen = Inline(), []
    inline.submit([Note(lambda: seen.append((threading.get_ident(), inline.may_wait())))], outbox)
    assert seen == [(threading.get_ident(), False)] and inline.may_wait() is True
    assert outbox.flushed.acquire(timeout=0)


def test_a_main_thread_queue_runs_where_it_is_pumped(outbox):
    queue, seen = MainThreadQueue(), []
    thread = threading.Thread(target=lambda: queue.submit([Note(lambda: seen.append(threading.get_ident()))], outbox))
    thread.start()
    assert queue.wait(WAIT)
    thread.join(WAIT)
    assert seen == []
    assert queue.pump() == 1 and queue.pump() == 0
    assert seen == [threading.get_ident()]
    queue.close()


def test_pumping_stops_after_its_time(outbox, monkeypatch):
    from mcp_ref.peer import main_thread

    now = [0.0]
    monkeypatch.setattr(main_thread, "clock", lambda: now[0])
    queue = MainThreadQueue(stall_after=1000)

    def tick():
        now[0] += 0.004

    queue.submit([Note(tick) for _ in range(10)], outbox)
    assert queue.pump(max_ms=10) == 3
    assert queue.pump(max_ms=0) == 1
    queue.close()


def test_a_host_that_does_not_pump_gets_an_error_answered_for_it(outbox):
    queue, done = MainThreadQueue(stall_after=0.02), threading.Event()
    job = Note(done.set)
    queue.submit([job], outbox)
    assert done.wait(WAIT)
    assert isinstance(job.abandoned, RpcError) and "not pumped its MainThreadQueue for 0.02" in job.abandoned.message
    assert queue.pump() == 0
    queue.close()
