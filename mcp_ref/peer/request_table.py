"""The blocking request table: our requests that wait for an answer.

All state of outgoing requests lives here and changes only inside the methods of `RequestTable`,
under one lock that is held for a few instructions and never while anything waits. Each request is
a `Pending` with a small queue of its own. The thread that called `request()` has nothing else to do,
so it takes progress and then the answer out of that queue: order is kept, and callbacks run in
the caller's thread.

A wait ends in one of these ways:

- the answer: a `ResultResponse`, or an `ErrorResponse` (raised as `PeerError`);
- the deadline: `RequestTimeout`; progress may move it, up to a ceiling that nothing moves
  [2025-03-26..2025-11-25 basic/lifecycle §Timeouts] [2026-07-28 basic/patterns/cancellation §Timeouts] SHOULD,
  [..2025-11-25 basic/lifecycle §Error Handling] SHOULD;
- a cancellation by another thread, or of the request in whose handler we wait: `RequestCancelled`;
- the end of the connection: `ConnectionLost`, with the reason.

An id is never used twice in one connection [2024-11-05 basic/messages §Requests]
[2025-03-26..2025-11-25 basic/index §Requests] MUST NOT; they count
from 1. The id is also the progress token, which makes tokens unique across active requests.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Set, Union

from ..deadline import Deadline
from ..diagnostics.packagelog import Counters
from ..errors import Busy, ConnectionLost, McpError, PeerError, RequestTimeout
from ..jsonrpc import ErrorResponse, RequestId, ResultResponse
from ..limits import DEFAULT, Limits
from ..transports.lines.fds import FORKED

if TYPE_CHECKING:
    from ..transports.base import Outgoing

ProgressCallback = Callable[[float, Optional[float], Optional[str]], object]
"""A function that is called with progress, total and message."""

_LONG_PROGRESS = 16 * 1024
"""The characters of a progress message above which it does not wait behind others."""
Outcome = Union[ResultResponse, ErrorResponse, McpError]


class Progress:
    """A progress notification, in the queue of the request it belongs to."""

    __slots__ = ("value", "total", "message")

    def __init__(self, value: float, total: Optional[float], message: Optional[str]) -> None:
        self.value = value
        self.total = total
        self.message = message


class Pending:
    """A request of ours that has no answer yet."""

    __slots__ = (
        "id", "method", "deadline", "idle", "on_progress", "last_progress", "settle", "about", "paused", "message",
        "as_task", "target", "seconds", "_queue",
    )

    def __init__(
        self,
        id: int,
        method: str,
        deadline: Deadline,
        idle: Optional[float],
        on_progress: Optional[ProgressCallback],
        settle: "Optional[Settle]",
    ) -> None:
        self.id = id
        self.method = method
        self.deadline = deadline
        self.idle = idle
        """The seconds by which progress moves the deadline; None: it does not."""
        self.on_progress = on_progress
        self.last_progress: Optional[float] = None
        self.settle = settle
        """The function that takes what arrives, instead of the queue, for requests that no thread waits for
        (futures)."""
        self.about: Optional[RequestId] = None
        """The peer's request that it belongs to; its cancellation does, too."""
        self.paused = False
        """True while its clock is paused, because it waits for a person here before it goes out."""
        self.message: "Optional[Outgoing]" = None
        """The message that was sent, or is still to be, over an `ExchangeTransport`."""
        self.as_task = False
        """True if it asks for a task (2025-11-25), see `RequestTable.let_go`."""
        self.target: Any = None
        """The name or URI in its params, for people."""
        self.seconds: Optional[float] = None
        """The time that it was given."""
        self._queue: "Optional[SimpleQueue[Union[Outcome, Progress]]]" = SimpleQueue() if settle is None else None

    def deliver(self, item: Union[Outcome, Progress]) -> None:
        """Hand over progress or the outcome; called once, by the thread that took the request out of the table."""
        if isinstance(item, (ResultResponse, ErrorResponse)):
            self.message = None  # a future may be kept for long after its answer; a failure is still to be withdrawn
        if self.settle is not None:
            self.settle(self, item)
        elif self._queue is not None:
            self._queue.put(item)

    @property
    def waiting(self) -> int:
        """The number of items that arrived and were not taken; 0 for a request that is settled by a function."""
        return 0 if self._queue is None else self._queue.qsize()

    def next(self, timeout: Optional[float]) -> Union[Outcome, Progress]:
        """Return what arrives next. Raises `queue.Empty` after ``timeout`` seconds."""
        if self._queue is None:
            raise TypeError("nobody can wait for a request that is settled by a function")
        try:
            return self._queue.get_nowait()  # and takes the queue's inner lock, without which the next line,
        except Empty:  # before CPython 3.13, waits for ever if the time is over by the time it looks at the clock
            return self._queue.get(timeout=timeout)

    def extend(self) -> None:
        """Move the deadline, if progress may."""
        if self.idle is not None:
            self.deadline.extend(self.idle)

    def report(self, progress: Progress) -> None:
        """Move the deadline, if progress may, and call the callback."""
        self.extend()
        if self.on_progress is not None:
            self.on_progress(progress.value, progress.total, progress.message)

    def answer(self, outcome: Outcome) -> Dict[str, Any]:
        """Return the result object, or raise the exception that this outcome is."""
        if isinstance(outcome, ResultResponse):
            return outcome.result  # type: ignore[return-value]  # what arrives is never `Encoded`
        if isinstance(outcome, ErrorResponse):
            raise PeerError(outcome.code, outcome.message, outcome.data, self.method, self.id)
        raise outcome


Settle = Callable[[Pending, Union[Outcome, Progress]], None]
"""A function that takes what arrives for a request, on the reader; it must not block."""


class RequestTable:
    """The requests of ours that have no answer yet, by id."""

    def __init__(self, limits: Limits = DEFAULT, counters: Optional[Counters] = None) -> None:
        self._lock = threading.Lock()
        self._pending: Dict[RequestId, Pending] = {}
        self._tasks: Dict[RequestId, Pending] = {}
        """The requests that have become tasks and whose progress somebody wants."""
        self._last_id = 0
        self.ids: Optional[Callable[[], int]] = None
        """The source of ids, if others send requests to the same peer, too; by default they count from 1."""
        self._unusable = (0, "")
        """The last id that was given when a message came that could not be used, and why it could not."""
        self.unwanted: Set[RequestId] = set()
        """The ids of requests whose answers are dropped without a word: a healthy peer answers these as well."""
        self._ended: Optional[str] = None
        self._limits = limits
        self._counters = counters or Counters()

    def follow(self, other: "RequestTable") -> None:
        """Go on with the ids of a connection whose place this takes, so that a request that is sent again has a new
        one."""
        self._last_id = max(self._last_id, other._last_id)

    def add(
        self,
        method: str,
        deadline: Deadline,
        idle: Optional[float] = None,
        on_progress: Optional[ProgressCallback] = None,
        settle: Optional[Settle] = None,
    ) -> Pending:
        """Enter a new request. Raises `ConnectionLost` after the end, `Busy` when the table is full."""
        with self._lock:
            if self._ended is not None:
                lost = ConnectionLost("%s was not sent: %s" % (method, self._ended))
                lost.unsent = True
                raise lost
            if len(self._pending) >= self._limits.max_pending:
                raise Busy("%d requests wait for an answer; the limit is max_pending" % len(self._pending))
            self._last_id = self._last_id + 1 if self.ids is None else self.ids()
            pending = self._pending[self._last_id] = Pending(self._last_id, method, deadline, idle, on_progress, settle)
        return pending

    def remove(self, pending: Pending) -> bool:
        """Give up a request. Returns False if it has its outcome already, so that no cancellation is due."""
        with self._lock:
            return self._pending.pop(pending.id, None) is not None

    def resolve(self, answer: Union[ResultResponse, ErrorResponse]) -> None:
        """Deliver an answer; a late, unknown or second one is counted and dropped, never fatal
        [..2025-11-25 basic/utilities/cancellation §Timing Considerations] MUST
        [2026-07-28 basic/patterns/cancellation §Timing Considerations] MUST."""
        with self._lock:
            pending = self._pending.pop(answer.id, None) if answer.id is not None else None
            if pending is not None and pending.as_task and pending.on_progress is not None \
                    and isinstance(answer, ResultResponse) and len(self._tasks) < self._limits.max_pending:
                self._tasks[pending.id] = pending
        if pending is not None:
            pending.deliver(answer)
        elif answer.id in self.unwanted:
            self.unwanted.discard(answer.id)  # a second answer is one too many
        elif answer.id is None:
            text = getattr(answer, "message", "")
            self.note("error without id", "the peer could not read a message of ours: %.200s" % text)
        else:
            late = type(answer.id) is int and 0 < answer.id <= self._last_id
            kind = "late response" if late else "unknown response"
            self.note(kind, "dropped the answer to request %.80r%s" % (
                answer.id, "" if late or type(answer.id) is int else "; its id is a string, and ours are numbers"))

    def note(self, kind: str, text: str) -> None:
        """Count a message that may have been the answer to a request, but is of no use to any."""
        self._unusable = self._last_id, "%s: %s" % (kind, text)
        self._counters.note(kind, text)

    def useless(self, pending: Optional[Pending] = None) -> str:
        """Return the last message since this request, or at all, that was of no use, as the end of an error text."""
        last, unusable = self._unusable
        known = unusable and (pending is None or last >= pending.id)
        return "; what came last could not be used: %s" % unusable if known else ""

    def timed_out(self, pending: Pending, words: str = "") -> RequestTimeout:
        """Return the exception for a deadline that has passed; ``words``: more that the peer has said."""
        return RequestTimeout("%s%s (request %d) got no answer in time%s%s%s" % (
            pending.method, "" if pending.target is None else " of %.80r" % pending.target, pending.id,
            "" if pending.seconds is None else " (%g s)" % pending.seconds,
            self.useless(pending), words))

    def let_go(self, pending: Pending) -> None:
        """Take no more progress for a request that has become a task: the task is over.

        Until then its token is good [2025-11-25 basic/utilities/progress §Behavior Requirements] MUST.
        """
        with self._lock:
            self._tasks.pop(pending.id, None)

    def fail(self, id: RequestId, error: McpError) -> bool:
        """End one request with an error of our own. Returns False if there is no such request."""
        with self._lock:
            pending = self._pending.pop(id, None)
        if pending is None:
            return False
        pending.deliver(error)
        return True

    def progress(self, token: RequestId, progress: Progress) -> None:
        """Deliver progress to the request of this token; progress for no request is counted and dropped.

        The value must increase [2025-11-25 basic/utilities/progress §Progress Flow] MUST; a value that does not is
        dropped.
        """
        with self._lock:
            pending = self._pending.get(token) or self._tasks.get(token)
            last = None if pending is None else pending.last_progress
            if pending is not None and (last is None or progress.value > last):
                pending.last_progress, fresh = progress.value, pending
            else:
                fresh = None
        if fresh is not None and not self._has_room(fresh, progress):
            self._counters.note("dropped progress", "max_inflight (%d) steps of request %d are waiting, or this is long"
                                % (self._limits.max_inflight, fresh.id))
        elif fresh is not None:
            fresh.deliver(progress)  # before the answer, which the same thread reads
        elif pending is None:
            self._counters.note("progress for no request", "dropped progress with token %.80r" % (token,))
        else:
            self._counters.note("progress not increasing", "%r after %r, token %.80r" % (progress.value, last, token))

    def _has_room(self, pending: Pending, progress: Progress) -> bool:
        """Return True if progress may wait in the queue of its request; a long message may only wait alone."""
        waiting = pending.waiting
        return waiting < self._limits.max_inflight and not (
            waiting and progress.message is not None and len(progress.message) > _LONG_PROGRESS)

    def pause_clock(self, id: RequestId, begins: bool) -> Optional[Pending]:
        """Pause the clock of this request (``begins``), or resume it. Returns the request, if it has no answer yet."""
        with self._lock:
            pending = self._pending.get(id)
            if pending is not None:
                pending.paused = begins
                if begins:
                    pending.deadline.stop()
                else:
                    pending.deadline.resume()
        return pending

    def start(self, pending: Pending, deadline: Deadline) -> None:
        """Set another deadline of a request, paused if the clock of the request is paused already."""
        pending.deadline = deadline
        if pending.paused:
            with self._lock:
                if pending.paused:
                    deadline.stop()

    def find(self, id: RequestId) -> Optional[Pending]:
        """Return the request with this id, while it waits for its answer; else None."""
        with self._lock:
            return self._pending.get(id)

    def active(self, token: RequestId) -> bool:
        """Return True if a request with this id waits for its answer."""
        return self.find(token) is not None

    def waiting(self) -> List[Pending]:
        """Return the requests that have no answer yet."""
        with self._lock:
            return list(self._pending.values())

    def expired(self) -> List[Pending]:
        """Return the requests whose deadline has passed."""
        return [pending for pending in self.waiting() if pending.deadline.expired()]

    def next_deadline(self) -> Optional[Deadline]:
        """Return the deadline that passes first; None if no request has one."""
        with self._lock:
            deadlines = [p.deadline for p in self._pending.values() if p.deadline.at is not None]
        return min(deadlines, key=lambda deadline: deadline.at or 0.0) if deadlines else None

    def end(self, reason: str, unsent: Callable[[RequestId], bool] = lambda id: False) -> None:
        """End every request with `ConnectionLost`; later ones get it at once. ``unsent``: as in `ExchangeTransport`."""
        with self._lock:
            if self._ended is None:
                self._ended = reason
            waiting = list(self._pending.values())
            self._pending.clear()
            self._tasks.clear()
        for pending in waiting:
            lost = ConnectionLost("%s (request %d): %s" % (pending.method, pending.id, self._ended))
            lost.unsent = unsent(pending.id)
            pending.deliver(lost)

    def forked(self) -> None:
        """End every request, for this is a forked copy of the process that made the connection: no thread reads here.

        Called as `mcp_ref.transports.lines.fds.tell_of_fork` says.
        """
        self._lock = threading.Lock()
        self._pending.clear()
        self._ended = self._ended or FORKED

    @property
    def empty(self) -> bool:
        """True if every request has its answer."""
        return not self._pending

    @property
    def ended(self) -> bool:
        """True once the connection has ended."""
        return self._ended is not None

    def __len__(self) -> int:
        with self._lock:
            return len(self._pending)
