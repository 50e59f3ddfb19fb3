"""Who runs the selector: one thread has the lead, and loses it when a handler keeps it.

Handing a request to another thread costs as much as a small request itself: the other one has to wake up, and both then
want the interpreter lock. So the thread that has read a request runs its handler, too, as long as handlers are
quick. A *watcher* looks every millisecond, and when one handler has kept the leading thread for ``promote_after``,
a new thread takes the lead, and everything that waits with it; the old one ends when its handler returns. For a
while after that requests go to workers (see `mcp_ref.worker_pool`): until the old one has returned, and at least for
PAUSE seconds, twice as long each time, until QUICK requests in a row gave no reason.

So a handler that blocks costs the others two milliseconds, once in a while. The watcher sleeps LINGER after the last
request, not at once, because waking it costs as much as a request.
"""

import threading
import time
from typing import Callable

from ...worker_pool import Job, attempt

PAUSE = 0.05
LONGEST_PAUSE = 5.0
QUICK = 1000
LINGER = 0.05
"""Seconds; see the module."""


class Lead:
    """The leading thread. ``step`` is one turn of its work; False: it was the last one.

    What the leading thread works on belongs to it alone: `run` is the only place where the lead can change.
    """

    def __init__(self, name: str, step: Callable[[], bool], tick: float) -> None:
        self._name = name
        self._step = step
        self._tick = tick
        self._lock = threading.Lock()
        self._number = 0
        self._since = 0.0
        """When the handler began that runs on the leading thread; 0 for none."""
        self._finished = 0
        self._calm_from = 0.0
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
        """Wait for the last step."""
        if self._over.wait(seconds):
            for thread in (self._leader, self._watcher):
                thread.join(1)

    # On the leading thread

    def calm(self) -> bool:
        """Whether handlers have been quick, so that `run` is the way."""
        return not self._calm_from or (not self._stuck and time.monotonic() >= self._calm_from)

    def run(self, job: Job) -> bool:
        """Run this; whether the lead is still ours afterwards."""
        number = self._number
        self._since = time.monotonic()
        if not self._watching:
            self._watching = True
            self._wake()
        attempt(job)
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
                    if self._since:  # `run` first says so, then asks whether somebody watches; so one sees the other
                        self._watching = True

    def _take_over(self, now: float) -> None:
        """Give the lead to a new thread; the lock is held, and the old one is inside `run`."""
        before = self._leader, self._since
        self._leader, self._since = self._next(), 0.0
        self._stuck += 1
        self._pause = PAUSE if self._finished >= QUICK else min(2 * self._pause, LONGEST_PAUSE)
        self._finished = 0
        self._calm_from = now + self._pause
        try:
            self._leader.start()  # last: it acts on all of this at once
        except RuntimeError:  # no thread is left, so the old one keeps the lead
            self._leader, self._since = before
            self._stuck -= 1
            self._number -= 1
