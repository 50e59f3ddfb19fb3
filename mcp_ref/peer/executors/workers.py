"""The executors: who runs a handler.

=================  =====================================================================================
executor           use
=================  =====================================================================================
`Workers`          the default: threads, one awake at a time, more as soon as handlers block
`CallerRuns`       (in `caller_runs`) the default where POSTs bring the requests: runs on the thread that brought one
`Inline`           runs on the reader, for trivial handlers; one that waits for the peer is refused. The default
                   where no threads can be started
`MainThreadQueue`  (in `main_thread`) runs on a thread of the host's choice, which pumps
=================  =====================================================================================

Why one worker awake: threads that hand each other the interpreter lock cost more than the work they
share. Sixty-four trivial calls in flight run two to three times faster through one worker than
through many. So there is one, and a *watcher* that looks every millisecond: while work is queued and
no handler has *finished* since the last look, handlers must be blocking, and 1, 4, 16 ... more workers
wake up. Completed handlers count, not started ones; started ones would look like progress. The
watcher also flushes the answers that lie in the outbox while the worker is busy, so a finished
answer never waits behind a slow handler.

A worker whose handler waits for a peer (`mcp_ref.waiting`) is not awake and does not count against ``max_workers``:
another one takes its place at once, because the answer that it waits for may need one.

The watcher sleeps when there is nothing to watch. It goes to sleep LINGER after the last work, not at
once, because waking it costs as much as a small call.
"""

import threading
from collections import deque
from typing import Callable, Deque, List, Optional, Sequence

from ...errors import McpError
from ...limits import DEFAULT, Limits
from ...threads import start_thread
from ...waiting import ElasticPool, join
from ..outbox import Outbox

LINGER = 0.05
"""Seconds without work after which the watcher sleeps."""
IDLE = 10.0
"""Seconds without work after which a thread ends; an idle connection costs none."""
GROWTH = 4
"""Each look without progress wakes this many times as many workers as the one before."""


class Job:
    """A unit of work: `run` does it; `abandon` answers for it if it can never run. Neither raises."""

    __slots__ = ()

    def run(self) -> None:
        raise NotImplementedError

    def abandon(self, error: McpError) -> None:
        raise NotImplementedError


class Executor:
    """Base of the executors."""

    blocking = True
    """Whether jobs run where they may wait for a slow peer; false only on the reader itself."""
    pumped = False
    """Whether jobs run only while the host calls `MainThreadQueue.pump`."""

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Run these jobs, in this order where one thread runs them; their answers go to ``outbox``. Never blocks.

        False after `close`: none of them will run.
        """
        raise NotImplementedError

    def lend(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """`submit` by a thread that reads from nobody and may be kept: it may run the jobs itself."""
        return self.submit(jobs, outbox)

    def here(self) -> bool:
        """Whether the current thread is inside one of the jobs."""
        return False

    def may_wait(self) -> bool:
        """Whether the current thread may wait for the peer."""
        return True

    def waiting(self) -> Optional[Callable[[float], None]]:
        """What a wait on the current thread should do meanwhile: a function that works for up to so many seconds."""
        return None

    def close(self) -> None:
        """Take no more jobs, run those that wait (cancelled calls do nothing), then end the threads."""


class Inline(Executor):
    """Runs handlers on the thread that reads. A handler that waits for the peer would wait for ever: it is refused."""

    blocking = False

    def __init__(self) -> None:
        self._local = threading.local()  # each connection has a reader of its own

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        before, self._local.here = self.here(), True
        try:
            for job in jobs:
                job.run()
        finally:
            self._local.here = before
        outbox.flush_soon()
        return True

    def here(self) -> bool:
        return bool(getattr(self._local, "here", False))

    def may_wait(self) -> bool:
        return not self.here()


class _Worker:
    """A worker thread's alarm clock."""

    __slots__ = ("alarm", "wanted")

    def __init__(self) -> None:
        self.alarm = threading.Lock()
        self.alarm.acquire()
        self.wanted = False


def _ring(alarm: threading.Lock) -> None:
    """Wake the thread that waits for this lock; it does not matter if somebody else does so, too."""
    try:
        alarm.release()
    except RuntimeError:
        pass


class Workers(Executor, ElasticPool):
    """Threads that run handlers; see the module for when how many of them are awake.

    A worker blocks in a handler, in a write to a slow peer, or on its alarm; the first two end with the
    connection, the third with `close`.
    """

    def __init__(self, name: str = "workers", limits: Limits = DEFAULT) -> None:
        self._name = name
        self._limits = limits
        self._lock = threading.Lock()
        self._jobs: Deque[Job] = deque()
        self._idle: List[_Worker] = []
        self._threads = 0
        self._awake = 0
        self._waiting = 0
        """Workers whose handlers wait for a peer; they are among the threads, and not awake."""
        self._finished = 0
        self._outbox: Optional[Outbox] = None
        self._watching = False
        self._watcher: Optional[threading.Lock] = None
        self._closed = False
        self._local = threading.local()

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._outbox = outbox
            self._jobs.extend(jobs)
            alone = not self._awake
            if alone:
                self._awaken(1)
            watch = not self._watching and not (alone and len(jobs) == 1 and self._awake)
            self._watching = self._watching or watch
        if watch:
            self._wake_watcher()
        return True

    def here(self) -> bool:
        return bool(getattr(self._local, "here", False))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._awaken(len(self._idle))  # each finds nothing more to do, and ends
            watcher = self._watcher
        if watcher is not None:
            _ring(watcher)

    def counts(self) -> "tuple[int, int, int]":
        """Threads, awake ones, queued jobs; for tests and diagnostics."""
        with self._lock:
            return self._threads, self._awake, len(self._jobs)

    def _flush(self) -> None:
        if self._outbox is not None:
            self._outbox.flush()

    # Workers

    def _awaken(self, count: int) -> None:
        """Wake idle workers and start new ones; called with the lock held."""
        for _ in range(count):
            if self._idle:
                worker = self._idle.pop()
                worker.wanted = True
                worker.alarm.release()
            elif self._threads - self._waiting < self._limits.max_workers:
                try:
                    start_thread("mcp-ref:worker:%s" % self._name, self._work, _Worker())
                except RuntimeError:  # the system has no thread left; the watcher tries again
                    if not self._threads:
                        raise
                    return
                self._threads += 1
            else:
                return
            self._awake += 1

    def _work(self, worker: _Worker) -> None:
        self._local.here = True
        join(self)
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                self._flush()
                if not self._park(worker):
                    return
                continue
            job.run()
            del job  # it holds a request, and the answers of a batch
            self._finished += 1  # unlocked: the watcher only asks whether it changed

    def _park(self, worker: _Worker) -> bool:
        """Sleep until there is work; False: end this thread."""
        with self._lock:
            if self._jobs:
                return True
            self._awake -= 1
            # Those that worked for handlers that waited are too many when these work again.
            if self._closed or self._threads - self._waiting > self._limits.max_workers:
                self._threads -= 1
                return False
            worker.wanted = False
            self._idle.append(worker)
        while not worker.alarm.acquire(timeout=IDLE):
            with self._lock:
                if not worker.wanted:
                    self._idle.remove(worker)
                    self._threads -= 1
                    return False
        return True

    def wait_begins(self) -> None:
        with self._lock:
            self._awake -= 1
            self._waiting += 1
            if self._jobs and not self._awake:
                self._awaken(1)

    def wait_ends(self) -> None:
        with self._lock:
            self._awake += 1
            self._waiting -= 1

    # The watcher

    def _wake_watcher(self) -> None:
        with self._lock:
            watcher = self._watcher
            if watcher is None:
                watcher = self._watcher = threading.Lock()
                watcher.acquire()
                start_thread("mcp-ref:watcher:%s" % self._name, self._watch, watcher)
                return
        _ring(watcher)

    def _watch(self, alarm: threading.Lock) -> None:
        quiet = 0.0
        finished, growth = self._finished, 1
        tick = self._limits.promote_after
        while True:
            alarm.acquire(timeout=tick)
            if self._closed:
                self._promote(self._limits.max_workers)  # what is queued still runs, whoever is stuck
                return
            blocked = finished == self._finished
            finished = self._finished
            quiet = 0.0 if self._awake else quiet + tick
            if blocked and (self._awake or self._jobs):
                self._flush()
                growth = self._promote(growth)
            else:
                growth = 1
            if (quiet or (blocked and not self._jobs)) and self._sleep(quiet):
                if not self._rest(alarm):
                    return
                finished, growth, quiet = self._finished, 1, 0.0

    def _rest(self, alarm: threading.Lock) -> bool:
        """Sleep until woken; False: nobody came for so long that this thread ends, and the next one is new."""
        while not alarm.acquire(timeout=IDLE):
            with self._lock:
                if not self._watching:
                    self._watcher = None
                    return False
        return True

    def _promote(self, count: int) -> int:
        with self._lock:
            if not self._jobs:
                return 1
            self._awaken(min(count, len(self._jobs)))
        return count * GROWTH

    def _sleep(self, quiet: float) -> bool:
        """Whether the watcher may sleep: nothing is queued, and it has been quiet, or all that runs was flushed."""
        with self._lock:
            if self._jobs or (quiet < LINGER and not (self._awake and quiet == 0.0)):
                return False
            self._watching = False
            return True
