"""Threads that do one job at a time, and wait for the next one for a while.

Named ``mcp-ref:request:*`` and daemons. One that has nothing to do for IDLE seconds ends, so an idle client costs none;
but the last of them stays while others do jobs in their place.
"""

import threading
import time
from collections import deque
from typing import Callable, Deque, List, Optional

Job = Callable[[], object]
IDLE = 5.0
"""Seconds."""


def _nothing() -> None:
    """The job of a thread that is there to rest; see `Crew._have_rested`."""


class _Member:
    """A thread: its job comes into ``job``, and if it is idle its alarm rings then."""

    __slots__ = ("alarm", "job", "urgent")

    def __init__(self, job: Job, urgent: bool) -> None:
        self.alarm = threading.Lock()
        self.alarm.acquire()
        self.job: Optional[Job] = job
        self.urgent = urgent


class Crew:
    """Does ``size`` jobs at a time, and urgent ones besides. Jobs must not raise.

    ``resting``: called by the last of its threads that was idle, when it ends.
    """

    def __init__(self, name: str, size: int, resting: Job) -> None:
        self._name = name
        self._size = size
        self._resting = resting
        self._lock = threading.Lock()
        self._idle: List[_Member] = []
        self._waiting: Deque[Job] = deque()
        self._busy = 0  # with jobs that are not urgent
        self._closed = False
        self._left = 0.0  # when a thread that is none of ours was last done

    def submit(self, job: Job, urgent: bool = False) -> bool:
        """Have this done, later if there is enough to do; ``urgent``: never later. False: the crew is closed."""
        with self._lock:
            if self._closed:
                return False
            if not urgent and self._busy >= self._size:
                self._waiting.append(job)
                return True
            member = self._rested(job, urgent)
            self._busy += not urgent
        self._set_to_work(member, job, urgent)
        return True

    def _rested(self, job: Job, urgent: bool) -> Optional[_Member]:
        """An idle thread, which has this job now; None where there is none. The lock is held."""
        member = self._idle.pop() if self._idle else None  # the one that came last: its memory is warm
        if member is not None:
            member.job, member.urgent = job, urgent
        return member

    def _set_to_work(self, member: Optional[_Member], job: Job, urgent: bool) -> None:
        if member is not None:
            member.alarm.release()
        else:
            self._start(_Member(job, urgent))

    def take_place(self) -> bool:
        """Count a job that the calling thread does itself, up to `leave_place`; False: there is enough to do, or the
        crew is closed."""
        with self._lock:
            if self._closed or self._busy >= self._size:
                return False
            self._busy += 1
            return True

    def leave_place(self, rest: Optional[Job] = None) -> None:
        """That job is done, but for the ``rest``, which one of our threads does at once."""
        with self._lock:
            self._left = time.monotonic()
            job = rest or (self._waiting.popleft() if self._waiting else None)
            if job is None:
                self._busy -= 1
                if self._busy or self._idle or self._closed:
                    return
            member = None if job is None else self._rested(job, False)
        if job is None:
            self._have_rested()
            return
        try:
            self._set_to_work(member, job, False)
        except RuntimeError:  # no thread is left, so it waits for the next one that is done
            with self._lock:
                self._waiting.appendleft(job)

    def _have_rested(self) -> None:
        """Start a thread that has nothing to do, for it will say so."""
        try:
            self._start(_Member(_nothing, True))
        except RuntimeError:
            pass  # then it is not said

    def _start(self, member: _Member) -> None:
        name = "mcp-ref:request:%s" % self._name
        try:
            threading.Thread(target=self._work, args=(member,), name=name, daemon=True).start()
        except RuntimeError:  # the interpreter ends, or the system has no more threads
            with self._lock:
                self._busy -= not member.urgent
            raise

    def _work(self, member: _Member) -> None:
        while member.job is not None:
            member.job()
            member.job = None  # it may hold a lot
            self._next(member)

    def _next(self, member: _Member) -> None:
        """See to the next job of this thread; none: it may end."""
        with self._lock:
            if not member.urgent:
                if self._waiting:
                    member.job = self._waiting.popleft()
                    return
                self._busy -= 1
            if self._closed:
                return
            self._idle.append(member)
        wait = IDLE
        while not member.alarm.acquire(timeout=wait):
            with self._lock:
                if member not in self._idle:  # somebody is just about to ring
                    wait = -1.0
                    continue
                last = len(self._idle) == 1
                wait = self._left + IDLE - time.monotonic() if last else 0.0
                if wait > 0.0:
                    continue
                self._idle.remove(member)
            if last:
                self._resting()
            return

    def close(self) -> None:
        """Let the idle threads end, and the others after what they do; jobs that wait are still done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for member in idle:
            member.alarm.release()
