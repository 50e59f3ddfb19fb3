"""The queue of messages that an HTTP client has received and not read yet, and what it looks up in message bytes."""

import threading
from typing import List

from ...jsontext import JsonError, loads
from ...limits import DEFAULT, Limits
from ...transports.base import Received

CAPACITY = 1024 * 1024
"""The bytes of messages that may wait for a thread, and of those that may wait to be read, before senders wait."""


class Inbox:
    """A queue of what has arrived and was not read yet, bounded by bytes. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._alarm = threading.Lock()
        self._alarm.acquire()
        self._asleep = False
        self._items: List[Received] = []
        self._size = 0
        self._ended = False

    def put(self, *items: Received) -> bool:
        """Add these items, as soon as there is room. Returns False after the end: they are dropped."""
        size = sum(len(item) for item in items if isinstance(item, bytes))
        with self._lock:
            while self._items and self._size + size > self._capacity and not self._ended:
                self._room.wait()
            if self._ended:
                return False
            self._items += items
            self._size += size
            self._wake()
            return True

    @property
    def quiet(self) -> bool:
        """True if all that came has been read, and the reader waits for more."""
        return self._asleep

    def _wake(self) -> None:
        if self._asleep:
            self._asleep = False
            self._alarm.release()

    def take(self) -> List[Received]:
        """Wait for something to arrive and return everything; [] once the queue has ended and all was taken."""
        while True:
            with self._lock:
                if self._items or self._ended:
                    taken, self._items, self._size = self._items, [], 0
                    self._room.notify_all()
                    return taken
                self._asleep = True
            self._alarm.acquire()

    def end(self, drop: bool) -> None:
        """End the queue; ``drop``: empty it, too, unless it has ended before."""
        with self._lock:
            if drop and not self._ended:
                self._items, self._size = [], 0
            self._ended = True
            self._room.notify_all()
            self._wake()


def is_answer(data: bytes, limits: Limits = DEFAULT) -> bool:
    """Return True if a server's message is, or holds, the answer to a request."""
    if b'"method"' not in data:
        return True
    try:
        value = loads(data, limits)
    except JsonError:
        return False
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "method" not in item for item in items)
