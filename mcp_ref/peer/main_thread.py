"""An executor on the host's main thread, for hosts whose own interface may be touched only there.

The host creates a `MainThreadQueue`, gives it to a server or client as executor, and calls
``pump(max_ms)`` from a timer on the thread where handlers shall run. Where the host has a call of its own
that runs a function on that thread, ``post`` takes it, and no timer is needed:

=======================  ==============================================
host                     ``post``
=======================  ==============================================
an event loop (Jupyter)  ``loop.call_soon_threadsafe`` of ``asyncio``
LibreOffice              ``addCallback`` of ``AsyncCallback``
Blender, tkinter         none that every thread may call: use a timer
=======================  ==============================================

``examples/hosts/`` has a server for each. A host that does not pump does not hang its peer: a job that has
waited for ``stall_after`` seconds is answered with an error that says so.

The thread that pumps may wait for the peer, in a handler or not: the wait pumps, so that other handlers
go on meanwhile. Several connections may share a queue; the host closes it when it stops pumping.
"""

import threading
from collections import deque
from typing import Callable, Deque, Optional, Sequence, Tuple

from ..deadline import clock
from ..diagnostics.packagelog import log_raised
from ..errors import INTERNAL_ERROR, RpcError
from ..options import strict_options
from ..threads import start_thread
from .executors import Executor, Job
from .outbox import Outbox


class MainThreadQueue(Executor):
    """An executor that runs handlers inside `pump`, on whichever thread calls it, or inside what ``post`` calls.

    ``stall_after``: seconds after which a job that nobody has run is answered with an error. ``post``: called with
    a function, on any thread, for each job; the host then calls the function on its main thread.
    """

    needs_pump = True

    @strict_options
    def __init__(
        self, stall_after: float = 5.0, post: Optional[Callable[[Callable[[], None]], object]] = None
    ) -> None:
        self._stall_after = stall_after
        self._post = post
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._jobs: Deque[Tuple[float, Job, Outbox]] = deque()
        self._pumper: Optional[threading.Thread] = None
        self._depth = 0
        self._watched = False
        self._closed = False

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        now = clock()
        with self._lock:
            if self._closed:
                return False
            self._jobs.extend((now, job, outbox) for job in jobs)
            self._arrived.notify_all()
            watch, self._watched = not self._watched, True
        if watch:
            start_thread("mcp-ref:watchdog:main-thread-queue", self._watch)
        if self._post is not None:
            try:
                for _ in jobs:
                    self._post(self._run_one)
            except Exception as error:  # the reader goes on; the watchdog answers for jobs that no post runs
                log_raised("post of MainThreadQueue", error)
        return True

    @strict_options
    def pump(self, max_ms: float = 10.0) -> int:
        """Run queued handlers for about ``max_ms`` milliseconds, and return how many ran. Never waits for one.

        A handler that runs longer is not interrupted. Raises KeyboardInterrupt if one does.
        """
        return self._pump(clock() + max_ms / 1000.0)

    @strict_options
    def wait(self, timeout: Optional[float] = None) -> bool:
        """Sleep until there is something to pump. Return False after ``timeout`` seconds. For hosts without a timer."""
        with self._lock:
            return self._arrived.wait_for(lambda: bool(self._jobs) or self._closed, timeout) and bool(self._jobs)

    def in_worker(self) -> bool:
        return self._depth > 0 and self._pumper is threading.current_thread()

    def wait_hook(self) -> Optional[Callable[[float], None]]:
        return self._wait_pumping if self._pumper is threading.current_thread() else None

    def close(self) -> None:
        """Answer requests that wait, and those that still come, with an error."""
        with self._lock:
            self._closed = True
            left = list(self._jobs)
            self._jobs.clear()
            self._arrived.notify_all()
        for _, job, outbox in left:
            job.abandon(RpcError(INTERNAL_ERROR, "The host has closed its MainThreadQueue"))
            outbox.flush_soon()

    @property
    def closed(self) -> bool:
        """True after `close`; a pumping loop stops then."""
        return self._closed

    def _wait_pumping(self, seconds: float) -> None:
        if self.wait(seconds):
            self._pump(clock() + seconds)

    def _run_one(self) -> None:
        self._pump(0.0)

    def _pump(self, until: float) -> int:
        self._pumper = threading.current_thread()
        self._depth += 1
        ran = 0
        try:
            while not ran or clock() < until:
                with self._lock:
                    if not self._jobs:
                        break
                    _, job, outbox = self._jobs.popleft()
                ran += 1
                job.run()
                outbox.flush_soon()
        finally:
            self._depth -= 1
        return ran

    def _watch(self) -> None:
        """Answer for jobs that the host does not take. The thread ends when there are no jobs."""
        while True:
            with self._lock:
                if not self._jobs:
                    self._watched = False
                    return
                left = self._jobs[0][0] + self._stall_after - clock()
                if left > 0:
                    self._arrived.wait(left)
                    continue
                _, job, outbox = self._jobs.popleft()
            text = "The host has not pumped its MainThreadQueue for %g seconds" % self._stall_after
            job.abandon(RpcError(INTERNAL_ERROR, text))
            outbox.flush_soon()
