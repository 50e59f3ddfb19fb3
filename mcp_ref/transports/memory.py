"""A connection inside one process: two transports that hand each other bytes.

`pair` makes the two ends. Tests use it, and a host that runs a server in its own process; for them `InProcess` begins
the server's side, too. It keeps
the promises of a pipe, not only the convenient ones: what is written and not yet read is bounded
(by default as large as a pipe), so a writer waits for a reader; what was written before the end is
still delivered; after that reading returns None and writing raises.

Each direction is one `_Channel`: a queue with a condition, bounded by the bytes in it. A message
larger than the bound passes when the queue is empty. Bytes are handed over, never copied.

Where no threads can be started (`mcp_ref.threads`) the thread that writes has the other end read that at once, before
`MemoryTransport.write` returns. Then nothing waits, so nothing is bounded.
"""

import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..errors import ConnectionLost, Rejected
from ..limits import DEFAULT, Limits
from ..threads import available
from .base import Received, Transport

CAPACITY = 64 * 1024
"""The bytes that may wait in one direction, as in a pipe on Linux."""


def pair(limits: Limits = DEFAULT, capacity: int = CAPACITY) -> Tuple["MemoryTransport", "MemoryTransport"]:
    """Return two connected ends. ``capacity``: the bytes that may wait in each direction before a writer has to."""
    there, back = _Channel(capacity), _Channel(capacity)
    return MemoryTransport(back, there, limits), MemoryTransport(there, back, limits)


class _Channel:
    """A queue for one direction. Both ends use it; every access is under its condition."""

    parks = False
    """True if no thread waits here to read: see `park`."""
    _resume: Optional[Callable[[], None]] = None

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._changed = threading.Condition()
        self._waiting: List[bytes] = []
        self._size = 0
        self._ended = False

    def put(self, message: bytes) -> bool:
        """Add a message as soon as there is room. Returns False if the channel has ended."""
        with self._changed:
            while not (self.parks or self._ended) and self._waiting and self._size + len(message) > self._capacity:
                self._changed.wait()
            if self._ended:
                return False
            self._waiting.append(message)
            self._size += len(message)
            self._changed.notify_all()
            return True

    def has_room(self, size: int) -> bool:
        """Return True if messages of this size together can be put without waiting."""
        with self._changed:
            return self.parks or self._ended or self._size + size <= self._capacity

    def take(self) -> Optional[List[bytes]]:
        """Return everything that waits; wait for something, unless it parks. None once the channel has ended and is
        empty.
        """
        with self._changed:
            while not (self._waiting or self._ended or self.parks):
                self._changed.wait()
            taken, self._waiting, self._size = self._waiting, [], 0
            self._changed.notify_all()
            return None if self._ended and not taken else taken

    def park(self, resume: Callable[[], None]) -> bool:
        """Have this called, once, by `wake` when there is something to `take`. Returns False if there is already."""
        with self._changed:
            self.parks = True
            if self._waiting or self._ended:
                return False
            self._resume = resume
            return True

    def wake(self) -> None:
        """Have the end that parks here read."""
        with self._changed:
            resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def end(self, drop: bool) -> None:
        """End the channel; ``drop``: nobody will read what waits."""
        with self._changed:
            self._ended = True
            if drop:
                self._waiting, self._size = [], 0
            self._changed.notify_all()
        self.wake()


class MemoryTransport(Transport):
    """An end of a `pair`."""

    name = "memory"
    threadless = True
    same_machine = True

    def __init__(self, incoming: _Channel, outgoing: _Channel, limits: Limits) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._limits = limits
        self._limit = limits.max_message_bytes
        self._write_lock = threading.Lock()
        self._closed = False
        self._rejected = 0

    def read(self) -> Optional[List[Received]]:
        """Return the messages that wait; those that are too long as `Rejected`."""
        taken = self._incoming.take()
        return None if taken is None else [self._checked(message) for message in taken]

    def _checked(self, message: bytes) -> Received:
        if len(message) <= self._limit:
            return message
        self._rejected += 1
        return Rejected("message of %d bytes exceeds max_message_bytes (%d)" % (len(message), self._limit))

    def write(self, messages: Sequence[bytes]) -> None:
        """Hand the messages to the other end."""
        with self._write_lock:
            for message in messages:
                if not self._outgoing.put(message):
                    raise ConnectionLost(self.reason())
        if self._outgoing.parks:
            self._outgoing.wake()

    def park(self, resume: Callable[[], None]) -> bool:
        """Give up the reader's thread, only where no threads can be started; see `SocketTransport.park`."""
        return not available() and self._incoming.park(resume)

    def ready(self, size: int) -> bool:
        """Return True if so many bytes fit; False also while another thread writes."""
        if not self._write_lock.acquire(blocking=False):
            return False
        try:
            return self._outgoing.has_room(size)
        finally:
            self._write_lock.release()

    def close(self) -> None:
        """Close this end; the other one still gets what was written before."""
        self._closed = True
        self._incoming.end(drop=True)
        self._outgoing.end(drop=False)

    def reason(self) -> str:
        """Return which side has closed the connection."""
        return "the connection was closed" if self._closed else "the peer closed the connection"

    def counters(self) -> Dict[str, int]:
        """Return ``rejected``: the number of messages that were too long."""
        return {"rejected": self._rejected}


class InProcess(MemoryTransport):
    """The client's end of a connection to a server in this process, whose side begins when this one is opened.

    ``serve`` serves the transport that it gets in the background, as `Server.connect` does.
    """

    def __init__(self, serve: Callable[[Transport], Any], limits: Limits = DEFAULT, capacity: int = CAPACITY) -> None:
        there, back = _Channel(capacity), _Channel(capacity)
        super().__init__(back, there, limits)
        self._theirs = MemoryTransport(there, back, limits)
        self._serve = serve

    def open(self) -> None:
        """Have the server take the other end."""
        self._serve(self._theirs)

    def renew(self) -> Transport:
        """Return another connection to the same server, not open yet."""
        return InProcess(self._serve, self._limits)
