"""The executors: which thread runs a handler.

=================  =====================================================================================
executor           use
=================  =====================================================================================
`Workers`          the default: threads, one awake at a time, more as soon as handlers block
`CallerRuns`       the default where POSTs bring the requests: runs a handler on the thread that brought its request
`Inline`           runs on the reader, for trivial handlers; one that waits for the peer is refused. The default
                   where no threads can be started
`MainThreadQueue`  (in `main_thread`) runs on a thread of the host's choice, which pumps
=================  =====================================================================================

Sixty-four trivial calls in flight run two to three times faster through one worker than through many. So one is awake
(`mcp_ref.threads.WorkerPool` says why), and a *watcher* looks every millisecond whether more have to be. The watcher
also flushes the answers that lie in the outbox while the worker is busy, so a finished answer never waits behind a slow
handler. It goes to sleep LINGER after the last work, not at once, because waking it costs as much as a small call.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from functools import partial
from operator import methodcaller
from typing import Any, Callable, Optional, Sequence

from ..errors import McpError
from ..limits import DEFAULT, Limits
from ..threads import GROWTH, WorkerPool, spread, start_thread
from .outbox import Outbox

LINGER = 0.05
"""Seconds without work after which the watcher sleeps."""


class Job:
    """A unit of work: `run` does it; `abandon` answers for it if it can never run. Neither raises."""

    __slots__ = ()

    def run(self) -> None:
        """Do the work."""
        raise NotImplementedError

    def abandon(self, error: McpError) -> None:
        """Answer with this error, because the job will not run."""
        raise NotImplementedError


class Executor:
    """The base of the executors."""

    blocking = True
    """True if jobs run where they may wait for a slow peer; False only where they run on the reader itself."""
    needs_pump = False
    """True if jobs run only while the host calls `MainThreadQueue.pump`."""

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Run these jobs, in this order where one thread runs them; their answers go to ``outbox``. Never blocks.

        Return False after `close`: none of them will run.
        """
        raise NotImplementedError

    def run_or_submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Do the same as `submit`, perhaps on the calling thread.

        Call it only on a thread that is no connection's reader and may be kept.
        """
        return self.submit(jobs, outbox)

    def in_worker(self) -> bool:
        """Return True if the current thread is inside one of the jobs."""
        return False

    def may_wait(self) -> bool:
        """Return True if the current thread may wait for the peer."""
        return True

    def wait_hook(self) -> Optional[Callable[[float], None]]:
        """Return what a wait on the current thread should do meanwhile: a function that works for up to so many
        seconds. Return None if there is nothing to do."""
        return None

    def close(self) -> None:
        """Take no more jobs, run those that wait (cancelled calls do nothing), then end the threads."""


class Inline(Executor):
    """Runs handlers on the thread that reads. A handler that waits for the peer would wait for ever: it is refused."""

    blocking = False

    def __init__(self) -> None:
        self._local = threading.local()  # each connection has a reader of its own

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Run the jobs before it returns; see `Executor.submit`."""
        before, self._local.here = self.in_worker(), True
        try:
            for job in jobs:
                job.run()
        finally:
            self._local.here = before
        outbox.flush_soon()
        return True

    def in_worker(self) -> bool:
        """Return what `Executor.here` says."""
        return bool(getattr(self._local, "here", False))

    def may_wait(self) -> bool:
        """Return False inside a job: the answer would have to be read by this thread."""
        return not self.in_worker()


class Workers(Executor, WorkerPool):
    """Threads that run handlers, and one that watches whether they block.

    A worker blocks in a handler, in a write to a slow peer, or on its alarm. The first two end with the connection, the
    third with `close`.
    """

    def __init__(self, name: str = "workers", limits: Limits = DEFAULT) -> None:
        WorkerPool.__init__(self, "mcp-ref:worker:%s" % name, limits.max_workers)
        self._name = name
        self._tick = limits.promote_after
        self._outbox: Optional[Outbox] = None
        self._watching = False
        """True while the watcher looks; otherwise it sleeps, or there is none. Guarded by the pool's lock."""
        self._watcher: Optional[threading.Lock] = None
        """The alarm of the watcher's thread; None if there is no such thread."""
        self._local = threading.local()

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Queue the jobs; see `Executor.submit`."""
        with self._lock:
            if self._closed:
                return False
            self._outbox = outbox
            self._jobs.extend(jobs)
            alone = not self._awake
            if alone:
                self._awaken(1)
            # A single job for a worker that just woke up is the usual case. Nothing waits behind it, and the worker
            # flushes its answer, so there is nothing to watch.
            watch = not self._watching and not (alone and len(jobs) == 1 and self._awake)
            self._watching = self._watching or watch
        if watch:
            self._wake_watcher()
        return True

    def in_worker(self) -> bool:
        """Return what `Executor.here` says."""
        return bool(getattr(self._local, "here", False))

    def close(self) -> None:
        """End the threads; see `Executor.close`."""
        with self._lock:
            self._close()
            watcher = self._watcher
        if watcher is not None:
            _ring(watcher)

    # On the workers

    def _work(self, worker: Any) -> None:
        self._local.here = True
        super()._work(worker)

    _run = staticmethod(methodcaller("run"))  # of a `Job`

    def _park(self, worker: Any) -> bool:
        if self._outbox is not None:
            self._outbox.flush()  # before it may sleep: the answers of all jobs that it has run
        return super()._park(worker)

    # On the watcher

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
        """Look once in each ``promote_after``: promote workers and flush the outbox while no job finishes."""
        quiet = 0.0
        finished, growth = self._finished, 1
        tick = self._tick
        while True:
            alarm.acquire(timeout=tick)
            if self._closed:
                self.promote(self._most)  # what is queued still runs, even if others are stuck
                return
            blocked = finished == self._finished
            finished = self._finished
            quiet = 0.0 if self._awake else quiet + tick
            if blocked and (self._awake or self._jobs):
                if self._outbox is not None:
                    self._outbox.flush()
                growth = self._grow(growth)
            else:
                growth = 1
            if (quiet or (blocked and not self._jobs)) and self._may_sleep(quiet):
                if not self._sleep(alarm):
                    return
                finished, growth, quiet = self._finished, 1, 0.0

    def _grow(self, growth: int) -> int:
        """Wake so many workers more. Return how many the next look without progress is to wake."""
        with self._lock:
            if not self._jobs:
                return 1
            self._awaken(min(growth, len(self._jobs)))
        return growth * GROWTH

    def _may_sleep(self, quiet: float) -> bool:
        """Return True if nothing is queued, and it has been quiet or all that runs was flushed.

        Then `submit` has to wake the watcher.
        """
        with self._lock:
            if self._jobs or (quiet < LINGER and not (self._awake and quiet == 0.0)):
                return False
            self._watching = False
            return True

    def _sleep(self, alarm: threading.Lock) -> bool:
        """Sleep until woken. Return False after IDLE seconds: this thread ends, and the next watcher is a new one."""
        while not alarm.acquire(timeout=self._idle_seconds()):
            with self._lock:
                if not self._watching:
                    self._watcher = None
                    return False
        return True


def _ring(alarm: threading.Lock) -> None:
    """Wake the thread that waits for this lock. If another thread has woken it already, nothing happens."""
    try:
        alarm.release()
    except RuntimeError:
        pass


_lent = threading.local()
"""The executor that the current thread is lent to, in ``to``."""


class CallerRuns(Executor):
    """Runs a handler on the thread that brought the request, where that is not the reader: that of an HTTP connection.

    Handing over to another thread costs more than a small call. A handler here may wait for the peer, for its answer
    comes on another thread. All but the first of several jobs (a batch) go to workers that the server has for them, so
    that all batches together have at most ``max_workers`` threads. Jobs for which no thread is lent go to `Workers`.
    """

    def __init__(self, name: str = "workers", limits: Limits = DEFAULT) -> None:
        self._name = name
        self._limits = limits
        self._lock = threading.Lock()
        self._workers: Optional[Workers] = None
        self._closed = False

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Hand the jobs to the workers of the server, or to `Workers`; see `Executor.submit`."""
        with self._lock:
            if self._closed:
                return False
            if spread([partial(self._run, job) for job in jobs]):
                return True
            if self._workers is None:
                self._workers = Workers(self._name, self._limits)
        return self._workers.submit(jobs, outbox)

    def run_or_submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        """Run the first job here, and hand the others to workers; see `Executor.run_or_submit`."""
        if self._closed or (len(jobs) > 1 and not self.submit(jobs[1:], outbox)):
            return False
        self._run(jobs[0])
        return True

    def _run(self, job: Job) -> None:
        before, _lent.to = getattr(_lent, "to", None), self
        try:
            job.run()
        finally:
            _lent.to = before

    def in_worker(self) -> bool:
        """Return what `Executor.here` says."""
        return getattr(_lent, "to", None) is self or (self._workers is not None and self._workers.in_worker())

    def close(self) -> None:
        """End the threads of its own; see `Executor.close`."""
        with self._lock:
            self._closed = True
        if self._workers is not None:
            self._workers.close()
