"""The peer's requests that we are working on, and how they are cancelled.

Each is an `Incoming`: the id, the cancel flag, and who wants to know of a cancellation. The reader
enters it before the handler is queued and applies a cancellation as soon as it is read, ahead of
every queue [2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD. `finish` decides, under the same
lock, whether the answer is still wanted, so that no answer follows a cancellation that came first.

An id that is in use already is dropped, because an error with that id would look like the first
request's answer.

One that was used before and is not in use any more breaks a rule for who sends it
[2024-11-05 basic/messages §Requests] [2025-03-26..2025-11-25 basic/index §Requests] MUST NOT. Reading: what becomes of
it here is not said, and nothing is mixed up by it. A lenient session answers, as others do, and counts; a strict one
refuses. `RecentIds` finds nearly all of them in little memory, so a strict session, too, lets one through that has come
long ago.
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import threading
from typing import Any, Callable, Dict, List, Optional

from ..errors import RequestCancelled
from ..jsonrpc import RequestId, id_key

REMEMBERED = 256
"""The number of ids out of sequence that a connection remembers; the oldest are forgotten first."""


class Incoming:
    """A request of the peer's, and its cancellation."""

    __slots__ = ("id", "key", "principal", "cancelled", "reason", "done", "after", "_lock", "_watchers")

    def __init__(self, id: RequestId, key: Any, lock: threading.Lock) -> None:
        self.id = id
        self.key = key
        """The key in `Inflight`, see `id_key`."""
        self.principal: Any = None
        """The sender, if the transport says that of each request; None: the owner of the session."""
        self.cancelled = False
        self.reason: Optional[str] = None
        self.done = False
        """True once the answer is out, or will never be: nothing more may be sent for this request."""
        self.after: Optional[Callable[[], None]] = None
        """A function that is called when the answer is on its way, or when there will be none."""
        self._lock = lock
        self._watchers: Optional[List[Callable[[], None]]] = None

    def watch(self, callback: Callable[[], None], first: bool = False) -> None:
        """Call ``callback`` when this is cancelled, at once if it is already; it must not block.

        ``first``: before the others, for one that sends a message, because the others may wake the handler, which ends
        the stream that the message takes.
        """
        with self._lock:
            if not self.cancelled:
                if self._watchers is None:
                    self._watchers = []
                self._watchers.insert(0 if first else len(self._watchers), callback)
                return
        callback()

    def unwatch(self, callback: Callable[[], None]) -> None:
        """Take back a `watch`."""
        with self._lock:
            if self._watchers is not None and callback in self._watchers:
                self._watchers.remove(callback)

    def while_wanted(self, action: Callable[[], None]) -> bool:
        """Call ``action`` if this is neither answered nor cancelled. It must neither block nor use the table.

        The request is neither answered nor cancelled meanwhile, for the lock of the table is held. So a message that
        ``action`` puts into the outbox comes before the answer.
        """
        with self._lock:
            if self.done or self.cancelled:
                return False
            action()
        return True

    def check(self) -> None:
        """Raise `RequestCancelled` if this was cancelled."""
        if self.cancelled:
            raise RequestCancelled(self.reason or "cancelled by the peer")

    def _take_watchers(self) -> List[Callable[[], None]]:
        watchers, self._watchers = self._watchers or [], None
        return watchers


class RecentIds:
    """The ids that were used, as far as they are remembered: an upward sequence, and REMEMBERED others.

    The sequence is two integers, however long it is; of the others the hashes are kept, whatever their size.
    """

    __slots__ = ("_next", "_start", "_others")

    def __init__(self) -> None:
        self._next: Optional[int] = None
        self._start = 0
        self._others: Optional[Dict[int, None]] = None

    def add(self, id: RequestId) -> bool:
        """Enter an id. Returns False if it is known to have been used before."""
        if type(id) is int:
            if id == self._next:
                self._next = id + 1 if not self._others else _end_of_sequence(id + 1, self._others)
                return True
            if self._next is None:
                self._start, self._next = id, id + 1
                return True
            if self._start <= id < self._next:
                return False
        key = id_key(id)
        if type(key) is not int:
            key = hash(key)
        others = self._others
        if others is None:
            others = self._others = {}
        elif key in others:
            return False
        others[key] = None
        if len(others) > REMEMBERED:
            del others[next(iter(others))]
        return True


def _end_of_sequence(number: int, others: Dict[int, None]) -> int:
    """Return the first number from here on that is none of ``others``; those before it are taken out."""
    while number in others:
        del others[number]
        number += 1
    return number


class Inflight:
    """The requests of the peer that have no answer yet, by id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._empty: Optional[threading.Condition] = None  # there once somebody waits for it
        self._busy = 0
        self.incoming: Dict[Any, Incoming] = {}
        """The requests by `id_key` of their ids. Others than this class only ask how many there are, which is one step
        of the interpreter."""

    def begin(self, id: RequestId) -> Optional[Incoming]:
        """Enter a request. Returns None if one with this id is in flight."""
        key = id_key(id)
        with self._lock:
            if key in self.incoming:
                return None
            incoming = self.incoming[key] = Incoming(id, key, self._lock)
            self._busy += 1
        return incoming

    def __contains__(self, id: RequestId) -> bool:
        key = id_key(id)
        with self._lock:
            return key in self.incoming

    def ids(self) -> List[RequestId]:
        """Return their ids."""
        with self._lock:
            return [incoming.id for incoming in self.incoming.values()]

    def finish(self, incoming: Incoming) -> bool:
        """Take a request out. Returns True if its answer is wanted: it was not cancelled
        [2026-07-28 basic/transports/stdio §Cancellation] MUST NOT.

        `release` has to follow when the answer is on its way.
        """
        with self._lock:
            incoming.done = True
            del self.incoming[incoming.key]
            return not incoming.cancelled

    def release(self) -> None:
        """Note that the answer of a finished request is in the outbox, or that there is none."""
        with self._lock:
            self._busy -= 1
            if self._empty is not None and not self._busy:
                self._empty.notify_all()

    def cancel(self, id: RequestId, reason: Optional[str] = None) -> bool:
        """Cancel a request. Returns False if there is none with this id (any more)
        [..2025-11-25 basic/utilities/cancellation §Timing Considerations] MUST
        [2026-07-28 basic/patterns/cancellation §Timing Considerations] MUST."""
        key = id_key(id)
        with self._lock:
            incoming = self.incoming.get(key)
            if incoming is None or incoming.cancelled:
                return False
            incoming.reason = reason
            incoming.cancelled = True
            watchers = incoming._take_watchers()
        for callback in watchers:
            callback()
        return True

    def cancel_all(self, reason: str) -> int:
        """Cancel every request, because the connection ends. Returns how many there were."""
        return sum(self.cancel(id, reason) for id in self.ids())

    def wait_empty(self, timeout: float) -> bool:
        """Wait until every request is answered. Returns False after ``timeout`` seconds."""
        with self._lock:
            if self._empty is None:
                self._empty = threading.Condition(self._lock)
            return self._empty.wait_for(lambda: not self._busy, timeout)

    def __len__(self) -> int:
        return len(self.incoming)
