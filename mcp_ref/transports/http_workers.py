"""The threads for HTTP handlers that block (quick ones run elsewhere: see `http_lead`), and for logging.

Threads that hand each other the interpreter lock cost more than the work they share (the same insight as
`mcp_ref.peer.workers`, which says what was measured). So the selector thread collects what one look at its sockets
brought, submits it all at once, and one worker does it. The selector thread also looks whether that is enough, because
it wakes up anyway: while work is queued and no job has *finished* for ``promote_after``, jobs must be blocking, and 1,
4, 16 ... more workers wake up.
"""

import sys
import threading
import time
from collections import deque
from typing import Callable, Deque, List, Optional, Sequence, Set

from ..limits import DEFAULT, Limits

IDLE = 10.0
"""Seconds without work after which a thread ends."""
GROWTH = 4
"""Each look without progress wakes this many times as many workers as the one before."""

Job = Callable[[], None]
"""Something to do; it does not raise."""


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


class Pool:
    """Threads that run jobs. `submit` and `look` are for one thread, the selector's; `close` for any."""

    def __init__(self, name: str = "http", limits: Limits = DEFAULT) -> None:
        self._name = name
        self._limits = limits
        self._lock = threading.Lock()
        self._jobs: Deque[Job] = deque()
        self._idle: List[_Worker] = []
        self._threads: Set[threading.Thread] = set()
        self._awake = 0
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

    def look(self) -> Optional[float]:
        """Wake more workers if those awake are stuck; seconds until the next look, None while nothing waits."""
        if not self._jobs:
            self._growth = 0
            return None
        now = time.monotonic()  # not the clock of `mcp_ref.deadline`: this is about threads, and no test may stop it
        tick = self._limits.promote_after
        if not self._growth or self._finished != self._seen:
            self._seen, self._since, self._growth = self._finished, now, 1
        elif now - self._since >= tick:
            with self._lock:
                self._awaken(min(self._growth, len(self._jobs)))
            self._since = now
            self._growth *= GROWTH
        return tick

    def counts(self) -> "tuple[int, int, int]":
        """Threads, awake ones, queued jobs; for tests and diagnostics."""
        with self._lock:
            return len(self._threads), self._awake, len(self._jobs)

    def close(self, seconds: float) -> bool:
        """Run what is queued, and end the threads; whether all have ended within so many seconds."""
        end = time.monotonic() + seconds
        with self._lock:
            self._closed = True
            self._awaken(max(1 if self._jobs else 0, len(self._idle)))
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in threads if thread is not threading.current_thread())

    def _awaken(self, count: int) -> None:
        """Wake idle workers and start new ones; called with the lock held."""
        for _ in range(count):
            if self._idle:
                worker = self._idle.pop()
                worker.wanted = True
                worker.alarm.release()
            elif len(self._threads) < self._limits.max_workers:
                thread = threading.Thread(target=self._work, args=(_Worker(),), daemon=True,
                                          name="mcp-ref:worker:%s" % self._name)
                try:
                    thread.start()
                except RuntimeError:  # the system has no thread left; `look` tries again
                    return
                self._threads.add(thread)
            else:
                return
            self._awake += 1

    def _work(self, worker: _Worker) -> None:
        while True:
            try:
                job = self._jobs.popleft()
            except IndexError:
                if not self._park(worker):
                    return
                continue
            attempt(job)
            del job  # it holds a request, and its body
            self._finished += 1  # unlocked: `look` only asks whether it changed

    def _park(self, worker: _Worker) -> bool:
        """Sleep until there is work; False: end this thread."""
        with self._lock:
            if self._jobs:
                return True
            self._awake -= 1
            if self._closed:
                return self._leave()
            worker.wanted = False
            self._idle.append(worker)
        while not worker.alarm.acquire(timeout=IDLE):
            with self._lock:
                if not worker.wanted:
                    self._idle.remove(worker)
                    return self._leave()
        return True

    def _leave(self) -> bool:
        self._threads.discard(threading.current_thread())
        return False
