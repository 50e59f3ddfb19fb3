"""A backlog of what was seen on the wire and waits to be recorded.

A thread that carries bytes may not wait for a disk, for a terminal, or for JSON to be parsed. It puts what it has seen
here, which takes less than a microsecond, and one thread records it a moment later. Where that one falls behind,
because the file is slow, further bytes are dropped and counted: the trace gets a gap, and the wire goes on.

A `Stream` is one sender of such bytes; what is dropped is dropped, and counted, for each of them alone.
"""

import threading
from collections import deque
from typing import Any, Callable, Deque, Tuple

from .. import deadline
from ..threads import start_thread

MOST_WAITING = 64 * 1024 * 1024
"""The bytes that may wait to be recorded."""
DELAY = 0.02
"""The seconds for which what was seen may wait while there is more: many events are recorded in one go, and in between
the interpreter belongs to the threads that carry bytes."""
_ENTRY = 250
"""The bytes that an entry takes besides its data."""

Take = Callable[[float, Any], None]
"""A function that records something that was seen at this time of `deadline.clock`."""


class Backlog:
    """The entries, and the thread that records them. ``most``: see `MOST_WAITING`."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.most = most
        self.waiting = 0
        """The bytes of streams that wait."""
        self.lock = threading.Lock()
        """Guards `waiting`."""
        self.idle = False
        self._entries: Deque[Tuple[Take, float, Any]] = deque()
        self._wake = threading.Lock()
        """Held while there is nothing to do: released by `put`, which a signal handler may call, too."""
        self._wake.acquire()
        self._closing = threading.Event()
        self._thread = start_thread("mcp-ref:recorder", self._run)

    def put(self, take: Take, what: Any) -> None:
        """Have ``take(time, what)`` called by the recording thread, after all that was put before."""
        self._entries.append((take, deadline.clock(), what))
        if self.idle:
            self._awaken()

    def _awaken(self) -> None:
        self.idle = False
        try:
            self._wake.release()
        except RuntimeError:
            pass  # another thread was quicker

    def close(self, seconds: float) -> bool:
        """Record what waits, and end. Return False if that takes longer than so many seconds; the rest is lost."""
        self._closing.set()
        self._awaken()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            while self._entries:
                take, at, what = self._entries.popleft()
                take(at, what)
            if self._closing.is_set():
                if not self._entries:
                    return
                continue
            self.idle = True
            if not (self._entries or self._closing.is_set()):  # what came since the loop has awoken nobody
                self._wake.acquire()
            self.idle = False
            self._closing.wait(DELAY)


class Stream:
    """Bytes of one sender; ``take(time, what)`` records them, ``lost(time, count)`` that some were dropped."""

    def __init__(self, backlog: Backlog, take: Take, lost: Callable[[float, int], None]) -> None:
        self._backlog = backlog
        self._record = take
        self._lose = lost
        self._dropped = 0

    def put(self, what: Any, size: int) -> None:
        """Put in something of so many bytes, or drop it if too much waits."""
        backlog = self._backlog
        with backlog.lock:
            fits = backlog.waiting <= backlog.most
            if fits:
                backlog.waiting += size + _ENTRY
            else:
                self._dropped += size
                known = self._dropped > size
        if fits:
            backlog.put(self._take, (what, size))
        elif not known:
            backlog.put(self._gap, None)

    def _take(self, at: float, entry: Tuple[Any, int]) -> None:
        self._record(at, entry[0])
        with self._backlog.lock:
            self._backlog.waiting -= entry[1] + _ENTRY

    def _gap(self, at: float, _: Any) -> None:
        with self._backlog.lock:
            count, self._dropped = self._dropped, 0
        self._lose(at, count)
