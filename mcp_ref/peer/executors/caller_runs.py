"""The executor that runs a handler on the thread that brought its request, as a worker of an HTTP server does."""

import threading
from functools import partial
from typing import Optional, Sequence

from ...limits import DEFAULT, Limits
from ...worker_pool import defer, spread
from ..outbox import Outbox
from .workers import Executor, Job, Workers

_lent = threading.local()
"""``to``: the `CallerRuns` that the current thread is lent to."""


class CallerRuns(Executor):
    """Runs a handler on the thread that brought the request, where that is not the reader: a worker of an HTTP server.

    Handing over to another thread costs more than a small call. A handler here may wait for the peer, for its answer
    comes on another thread. All but the first of several jobs (a batch) go to the workers of that server, so that
    batches have no more threads than ``max_workers`` either. What nobody lends a thread for goes to `Workers`. A thread
    that must not be kept leaves the job to another one (`mcp_ref.worker_pool.defer`).
    """

    def __init__(self, name: str = "workers", limits: Limits = DEFAULT) -> None:
        self._name = name
        self._limits = limits
        self._lock = threading.Lock()
        self._workers: Optional[Workers] = None
        self._closed = False

    def submit(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        with self._lock:
            if self._closed:
                return False
            if self._workers is None:
                self._workers = Workers(self._name, self._limits)
        return self._workers.submit(jobs, outbox)

    def lend(self, jobs: Sequence[Job], outbox: Outbox) -> bool:
        if self._closed:
            return False
        if len(jobs) > 1 and not spread([partial(self._run, job) for job in jobs[1:]]):
            if not self.submit(jobs[1:], outbox):
                return False
        if not defer(self._run, jobs[0]):
            self._run(jobs[0])
        return True

    def _run(self, job: Job) -> None:
        before, _lent.to = getattr(_lent, "to", None), self
        try:
            job.run()
        finally:
            _lent.to = before

    def here(self) -> bool:
        return getattr(_lent, "to", None) is self or (self._workers is not None and self._workers.here())

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._workers is not None:
            self._workers.close()
