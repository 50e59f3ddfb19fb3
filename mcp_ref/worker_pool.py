"""The threads for HTTP handlers that block (quick ones run elsewhere: see `mcp_ref.http11.server.leader`), and for
logging.

Threads that hand each other the interpreter lock cost more than the work they share (the same insight as
`mcp_ref.peer.executors.workers`, which says what was measured). So the selector thread collects what one look at its
sockets brought, submits it all at once, and one worker does it. The selector thread also looks whether that is enough,
because it wakes up anyway: while work is queued and no job has *finished* for ``promote_after``, jobs must be blocking,
and 1, 4, 16 ... more workers wake up.

Two rules see to it that handlers never keep away what could free them: answers, cancellations, DELETE, OPTIONS.

- A handler that waits for its client (`mcp_ref.waiting`) does not count against ``max_workers``: another worker takes
  its place at once.
- When ``max_workers`` are at work all the same (handlers sleep, or wait for something else), a few further threads
  do what is queued: the *reserve*. They do all of a request but its handler, which they leave to the workers by
  `defer`. So a request that is deferred can be cancelled, and everything without a handler is done. Nobody has to
  guess beforehand what a request will be, which a client could make go wrong.
"""

import sys
import threading
import time
from collections import deque
from functools import partial
from typing import Any, Callable, Deque, List, Optional, Sequence, Set

from .limits import DEFAULT, Limits
from .waiting import ElasticPool, join

IDLE = 10.0
"""Seconds without work after which a thread ends."""
GROWTH = 4
"""Each look without progress wakes this many times as many workers as the one before."""

RESERVE = 4
"""Threads of the reserve. What they do is short, unless the application's ``authenticate`` is slow."""

Job = Callable[[], None]
"""Something to do; it does not raise."""


class _Deferred(threading.local):
    jobs: Optional[List[Job]] = None
    """What the job that runs on this thread leaves to the workers; None: this is no thread of the reserve."""
    pool: "Optional[Pool]" = None
    """The pool that this thread works for."""


_deferred = _Deferred()


def defer(function: Callable[..., None], *arguments: Any) -> bool:
    """Leave a call that may block to the workers, if this thread must not be kept; False: it may run here."""
    jobs = _deferred.jobs
    if jobs is None:
        return False
    jobs.append(partial(function, *arguments))
    return True


def spread(jobs: Sequence[Job]) -> bool:
    """Leave jobs that may block to the workers of the server that this thread works for; False: for none."""
    pool = _deferred.pool
    if pool is None:
        return False
    pool.leave(jobs)
    pool.wake()  # as after `defer`
    return True


def follow(job: Job) -> bool:
    """Have this done after what was deferred by the job that runs on this thread; False: nothing was."""
    return bool(_deferred.jobs) and defer(job)


def attempt(job: Job) -> None:
    """Run a job. Should it raise after all (the application's log handler may), that is reported; no thread ends."""
    try:
        job()
    except BaseException:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


class _Worker:
    """A worker thread's alarm clock."""

    __slots__ = ("alarm", "wanted")

    def __init__(self) -> None:
        self.alarm = threading.Lock()
        self.alarm.acquire()
        self.wanted = False


class Pool(ElasticPool):
    """Threads that run jobs. `submit` and `look` are for one thread, the selector's; `close` for any.

    ``wake``: has the selector's thread look, called by any thread.
    """

    def __init__(self, name: str = "http", limits: Limits = DEFAULT) -> None:
        self._name = name
        self._limits = limits
        self._most = limits.max_workers
        self.wake: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._jobs: Deque[Job] = deque()
        self._left: Deque[Job] = deque()
        """Jobs that are not for the reserve; the workers take them first."""
        self._idle: List[_Worker] = []
        self._resting: List[_Worker] = []
        """Those of the reserve that are idle."""
        self._threads: Set[threading.Thread] = set()
        self._reserve: Set[threading.Thread] = set()
        self._awake = 0
        self._waiting = 0
        """Workers whose handlers wait for a peer; they are among the threads, and not awake."""
        self._finished = 0
        self._closed = False
        # Of the selector thread alone:
        self._seen = 0
        self._since = 0.0
        self._growth = 1

    def submit(self, jobs: Sequence[Job]) -> None:
        """Have these run, in this order where one thread runs them. Never waits."""
        with self._lock:
            self._jobs.extend(jobs)
            if not self._awake:
                self._awaken(1)
            elif self._awake >= self._most:
                self._call_reserve(1)

    def leave(self, jobs: Sequence[Job]) -> None:
        """The same for jobs that may block and free nobody; from any thread."""
        with self._lock:
            self._left.extend(jobs)
            if not self._awake:
                self._awaken(1)

    def adopt(self) -> None:
        """The calling thread works for this pool, too: it runs jobs that the pool has not seen."""
        _deferred.pool = self

    def look(self) -> Optional[float]:
        """Wake more workers if those awake are stuck; seconds until the next look, None while nothing waits."""
        if not self._jobs and not self._left:
            self._growth = 0
            return None
        now = time.monotonic()  # not the clock of `mcp_ref.deadline`: this is about threads, and no test may stop it
        tick = self._limits.promote_after
        if not self._growth or self._finished != self._seen:
            self._seen, self._since, self._growth = self._finished, now, 1
        elif now - self._since >= tick:
            with self._lock:
                self._awaken(min(self._growth, len(self._jobs) + len(self._left)))
                if self._jobs and self._awake >= self._most:
                    self._call_reserve(self._growth)
            self._since = now
            self._growth *= GROWTH
        return tick

    def counts(self) -> "tuple[int, int, int]":
        """Threads, awake ones, queued jobs; for tests and diagnostics. The reserve is not among the threads."""
        with self._lock:
            return len(self._threads), self._awake, len(self._jobs) + len(self._left)

    def close(self, seconds: float) -> bool:
        """Run what is queued, and end the threads; whether all have ended within so many seconds."""
        end = time.monotonic() + seconds
        with self._lock:
            self._closed = True
            self._awaken(max(1 if self._jobs or self._left else 0, len(self._idle)))
            self._call_reserve(len(self._resting))
            threads = list(self._threads | self._reserve)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in threads if thread is not threading.current_thread())

    def wait_begins(self) -> None:
        """See `ElasticPool`."""
        with self._lock:
            self._awake -= 1
            self._waiting += 1
            if not self._awake and (self._jobs or self._left):
                self._awaken(1)  # otherwise `look` does, if those awake are stuck

    def wait_ends(self) -> None:
        """See `ElasticPool`."""
        with self._lock:
            self._awake += 1
            self._waiting -= 1

    def _awaken(self, count: int) -> None:
        """Wake idle workers and start new ones; called with the lock held."""
        for _ in range(count):
            if self._idle:
                _ring(self._idle.pop())
            elif len(self._threads) - self._waiting >= self._most or not self._start(self._threads, self._work):
                return
            self._awake += 1

    def _call_reserve(self, count: int) -> None:
        """The same for threads of the reserve."""
        for _ in range(count):
            if self._resting:
                _ring(self._resting.pop())
            elif len(self._reserve) >= RESERVE or not self._start(self._reserve, self._work_in_reserve):
                return

    def _start(self, threads: Set[threading.Thread], work: Callable[[_Worker], None]) -> bool:
        """Start a thread; False: the system has none left, and `look` tries again."""
        thread = threading.Thread(target=work, args=(_Worker(),), daemon=True, name="mcp-ref:worker:%s" % self._name)
        try:
            thread.start()
        except RuntimeError:
            return False
        threads.add(thread)
        return True

    def _next(self) -> Optional[Job]:
        """What a worker does next."""
        for jobs in (self._left, self._jobs):
            try:
                return jobs.popleft()
            except IndexError:
                pass
        return None

    def _work(self, worker: _Worker) -> None:
        join(self)
        self.adopt()
        while True:
            job = self._next()
            if job is None:
                if not self._park(worker):
                    return
                continue
            attempt(job)
            del job  # it holds a request, and its body
            self._finished += 1  # unlocked: `look` only asks whether it changed

    def _park(self, worker: _Worker) -> bool:
        """Sleep until there is work; False: end this thread."""
        with self._lock:
            if self._jobs or self._left:
                return True
            self._awake -= 1
            # Those that worked for handlers that waited are too many when these work again.
            if self._closed or len(self._threads) - self._waiting > self._most:
                return self._end(self._threads)
            worker.wanted = False
            self._idle.append(worker)
        return self._sleep(worker, self._idle, self._threads)

    def _work_in_reserve(self, worker: _Worker) -> None:
        _deferred.jobs = []
        self.adopt()
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                with self._lock:
                    if self._jobs:
                        continue
                    if self._closed:
                        self._end(self._reserve)
                        return
                    worker.wanted = False
                    self._resting.append(worker)
                if not self._sleep(worker, self._resting, self._reserve):
                    return
                continue
            attempt(job)
            del job
            jobs, _deferred.jobs = _deferred.jobs, []
            if jobs:
                self.leave([partial(_run_all, jobs)])
                self.wake()  # the selector's thread may sleep, and has to see whether the workers are stuck

    def _sleep(self, worker: _Worker, idle: List[_Worker], threads: Set[threading.Thread]) -> bool:
        """Wait for the alarm; False: it did not come, and this thread is to end."""
        while not worker.alarm.acquire(timeout=IDLE):
            with self._lock:
                if not worker.wanted:
                    idle.remove(worker)
                    return self._end(threads)
        return True

    def _end(self, threads: Set[threading.Thread]) -> bool:
        threads.discard(threading.current_thread())
        return False


def _ring(worker: _Worker) -> None:
    worker.wanted = True
    worker.alarm.release()


def _run_all(jobs: Sequence[Job]) -> None:
    for job in jobs:
        attempt(job)
