"""The threads that run the handlers of an HTTP server: the leader itself, and a pool for handlers that block.

Handing a request to another thread costs as much as a small request itself: the other one has to wake up, and both then
want the interpreter lock. So the thread that has read a request runs its handler, too, as long as handlers are quick
(`LeaderThread`; the pattern is called Leader/Followers). A *watcher* looks every millisecond, and when one handler has
kept the leading thread for ``promote_after``, a new thread takes the lead, and everything that waits with it; the old
one ends when its handler returns. For a while after that requests go to the pool: until the old one has returned, and
at least for PAUSE seconds, twice as long each time, until QUICK requests in a row gave no reason. So a handler that
blocks costs the others two milliseconds, once in a while. The watcher sleeps LINGER after the last request, not at
once, because waking it costs as much as a request.

The pool (`HandlerPool`) gets all that one look at the sockets brought at once, and one worker does it. The selector
thread also looks whether that is enough, because it wakes up anyway: `HandlerPool.look`. Two rules see to it that
handlers never keep away what could free them, which is answers, cancellations, DELETE and OPTIONS.

- A handler that waits for its client (`mcp_ref.threads.Wait`) does not count against ``max_workers``: another worker
  takes its place at once.
- When ``max_workers`` are at work all the same (handlers sleep, or wait for something else), a few further threads
  do what is queued: the *reserve*. In 0.6.0 they left handlers to the workers; as an oracle the engine runs quick ones.
"""

import threading
import time
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Sequence

from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.threads import GROWTH, WorkerPool, attempt, helpers

Job = Callable[[], None]
"""A piece of work. It does not raise."""

# --- The leading thread -----------------------------------------------------------------------------------------------

PAUSE = 0.05
LONGEST_PAUSE = 5.0
QUICK = 1000
LINGER = 0.05
"""Seconds, except QUICK, which counts requests. See the module."""


class LeaderThread:
    """The thread that runs the selector. ``step`` is one turn of its work, and returns False after the last one.

    The data that ``step`` works on belongs to the leading thread alone. That thread can lose the lead only in
    `run_inline`, while a handler runs, and touches none of that data there.
    """

    def __init__(self, name: str, step: Callable[[], bool], tick: float) -> None:
        self._name = name
        self._step = step
        self._tick = tick
        self._lock = threading.Lock()
        self._number = 0
        self._since = 0.0
        """The time at which the handler began that runs on the leading thread; 0 for none."""
        self._finished = 0
        self._inline_from = 0.0
        self._pause = PAUSE / 2
        self._stuck = 0
        self._over = threading.Event()
        self._watching = False
        self._alarm = threading.Lock()
        self._alarm.acquire()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="mcp-ref:watcher:%s" % name)
        self._leader = self._next()

    def start(self) -> None:
        """Start the threads."""
        self._leader.start()
        self._watcher.start()

    def _next(self) -> threading.Thread:
        self._number += 1
        name = "mcp-ref:selector:%s" % self._name
        return threading.Thread(target=self._lead, args=(self._number,), daemon=True, name=name)

    def _lead(self, number: int) -> None:
        while self._number == number:
            if not self._step():
                self._over.set()
                self._wake()
                return

    def join(self, seconds: float) -> None:
        """Wait at most so many seconds for the last step."""
        if self._over.wait(seconds):
            for thread in (self._leader, self._watcher):
                thread.join(1)

    # On the leading thread

    def can_run_inline(self) -> bool:
        """Return True if handlers have been quick, so that the next one may run on the leading thread."""
        return not self._inline_from or (not self._stuck and time.monotonic() >= self._inline_from)

    def run_inline(self, job: Job) -> bool:
        """Run a job on the leading thread. Return False if that thread has lost the lead meanwhile."""
        number = self._number
        # In this order: `_since` says that a handler runs before `_watching` is asked. `_watch` stores `_watching`
        # first and then looks at `_since`. So at least one of both sees the other, and no handler runs unwatched.
        self._since = time.monotonic()
        if not self._watching:
            self._watching = True
            self._wake()
        attempt(job)
        # Under the lock the watcher either has taken the lead away already, or cannot any more: `_since` is 0.
        with self._lock:
            if self._number != number:
                self._stuck -= 1
                return False
            self._since = 0.0
            self._finished += 1
            return True

    def _wake(self) -> None:
        try:
            self._alarm.release()
        except RuntimeError:
            pass  # it has been woken already

    # The watcher

    def _watch(self) -> None:
        quiet, seen, tick = 0.0, 0, self._tick
        while not self._over.is_set():
            if not self._watching:
                self._alarm.acquire()
                quiet = 0.0
            self._alarm.acquire(timeout=tick)
            with self._lock:
                now = time.monotonic()
                if self._since and now - self._since >= tick:
                    self._take_over(now)
                idle = not self._since and self._finished == seen
                seen = self._finished
                quiet = quiet + tick if idle else 0.0
                if quiet >= LINGER:
                    self._watching = False
                    if self._since:  # see `run_inline`
                        self._watching = True

    def _take_over(self, now: float) -> None:
        """Give the lead to a new thread; the lock is held, and the old one is inside `run_inline`."""
        before = self._leader, self._since
        self._leader, self._since = self._next(), 0.0
        self._stuck += 1
        self._pause = PAUSE if self._finished >= QUICK else min(2 * self._pause, LONGEST_PAUSE)
        self._finished = 0
        self._inline_from = now + self._pause
        try:
            self._leader.start()  # last: it acts on all of this at once
        except RuntimeError:  # no thread is left, so the old one keeps the lead
            self._leader, self._since = before
            self._stuck -= 1
            self._number -= 1


# --- The pool ---------------------------------------------------------------------------------------------------------

RESERVE = 4
"""The number of threads in the reserve. Their jobs are short, unless the application's ``authenticate`` is slow."""


class HandlerPool(WorkerPool):
    """The workers of one HTTP server. `submit` and `look` are for one thread, the selector's; the others for any.

    ``wake``: wakes the selector's thread, so that it looks; called by any thread.
    """

    def __init__(self, name: str = "http", limits: Limits = DEFAULT) -> None:
        super().__init__("mcp-ref:worker:%s" % name, limits.max_workers)
        self._tick = limits.promote_after
        self.wake: Callable[[], None] = lambda: None
        self._left: Deque[Job] = deque()
        """The jobs that are not for the reserve; the workers take them first."""
        self._next = self._take
        self._reserve = _Reserve(self, self._jobs, self._thread_name)
        # Of the selector thread alone:
        self._seen = 0
        self._since = 0.0
        self._growth = 1

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue jobs. One thread runs them in this order. Never waits."""
        with self._lock:
            self._jobs.extend(jobs)
            if not self._awake:
                self._awaken(1)
            elif self._awake >= self._most:
                self._reserve.call(1)

    def leave(self, jobs: Sequence[Job]) -> None:
        """Have jobs run that may block and free nobody, so the reserve does not take them. Never waits."""
        with self._lock:
            self._left.extend(jobs)
            if not self._awake:
                self._awaken(1)

    def adopt(self) -> None:
        """Let the calling thread work for this pool, too, on jobs that the pool has not seen: `spread` leads here."""
        helpers.run = self.leave_and_wake

    def leave_and_wake(self, jobs: Sequence[Job]) -> None:
        """Do the same as `leave` on a thread that is not the selector's, which may sleep and has to look."""
        self.leave(jobs)
        self.wake()

    def look(self) -> Optional[float]:
        """Wake more workers if those awake are stuck. Return the seconds until the next look, None if nothing waits.
        """
        if not self._jobs and not self._left:
            self._growth = 0
            return None
        now = time.monotonic()  # not the clock of `mcp_ref.deadline`: this is about threads, and no test may stop it
        if not self._growth or self._finished != self._seen:
            self._seen, self._since, self._growth = self._finished, now, 1
        elif now - self._since >= self._tick:
            with self._lock:
                self._awaken(min(self._growth, self._queued()))
                if self._jobs and self._awake >= self._most:
                    self._reserve.call(self._growth)
            self._since = now
            self._growth *= GROWTH
        return self._tick

    def close(self, seconds: float) -> bool:
        """Run what is queued, and end the threads. Return True if all have ended within so many seconds."""
        end = time.monotonic() + seconds
        with self._lock:
            self._closed = True
            self._awaken(max(1 if self._queued() else 0, len(self._idle)))
            threads = list(self._threads) + self._reserve.close()
        threads = [thread for thread in threads if thread is not threading.current_thread()]
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _queued(self) -> int:
        return len(self._jobs) + len(self._left)

    def _take(self) -> Any:
        try:
            return self._left.popleft()
        except IndexError:
            return self._jobs.popleft()

    def _run(self, job: Job) -> None:
        attempt(job)

    def _must_start(self) -> bool:
        return False  # `look` tries again

    def _work(self, worker: Any) -> None:
        self.adopt()
        super()._work(worker)


class _Reserve(WorkerPool):
    """The reserve of a pool: up to RESERVE threads, which take jobs from the pool's queue and leave handlers to it.

    Its lock is taken while the pool's is held, never the other way round.
    """

    elastic = False

    def __init__(self, pool: HandlerPool, jobs: Deque[Job], thread_name: str) -> None:
        super().__init__(thread_name, RESERVE)
        self._pool = pool
        self._jobs = jobs
        self._next = jobs.popleft

    def call(self, count: int) -> None:
        """Wake so many threads of the reserve, or start them."""
        with self._lock:
            self._awaken(count)

    def close(self) -> List[threading.Thread]:
        """End the threads, and return them."""
        with self._lock:
            self._close()
            return list(self._threads)

    def _must_start(self) -> bool:
        return False

    def _work(self, worker: Any) -> None:
        self._pool.adopt()
        super()._work(worker)

    def _run(self, job: Job) -> None:
        attempt(job)
