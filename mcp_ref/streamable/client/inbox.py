"""What an HTTP client has received and not read yet, and what it has to know of messages to send and receive them."""

import threading
from typing import List, Optional

from ...jsontext import JsonError, loads
from ...limits import DEFAULT, Limits
from ...transports.base import Received

CAPACITY = 1024 * 1024
"""Bytes of messages that may wait for a thread, and of messages that may wait to be read, before others have to."""


class Inbox:
    """What has arrived and was not read yet. Thread-safe."""

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
        """Add these, as soon as there is room; after the end they go nowhere: False."""
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
        """Whether all that came has been read, and the reader waits for more."""
        return self._asleep

    def _wake(self) -> None:
        if self._asleep:
            self._asleep = False
            self._alarm.release()

    def take(self) -> List[Received]:
        """Everything that has arrived; waits for something; [] once it has ended and all was taken."""
        while True:
            with self._lock:
                if self._items or self._ended:
                    taken, self._items, self._size = self._items, [], 0
                    self._room.notify_all()
                    return taken
                self._asleep = True
            self._alarm.acquire()

    def end(self, drop: bool) -> None:
        """Nothing more comes; ``drop``: nobody wants what is there, unless it has ended before."""
        with self._lock:
            if drop and not self._ended:
                self._items, self._size = [], 0
            self._ended = True
            self._room.notify_all()
            self._wake()


def offered(message: Optional[bytes]) -> Optional[str]:
    """The revision that a message offers, if it is an `initialize`."""
    try:
        name = loads(message or b"null")["params"]["protocolVersion"]
    except (JsonError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def is_answer(data: bytes, limits: Limits = DEFAULT) -> bool:
    """Whether what a server sent is, or holds, the answer to a request."""
    if b'"method"' not in data:
        return True
    try:
        value = loads(data, limits)
    except JsonError:
        return False
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and "method" not in item for item in items)
