"""Handlers that wait for their peer: how many there are, and who works in their place.

A pool of threads has a bound, and a handler that waits keeps its thread. If such threads counted, as many open
questions as the bound would stop everything, and the answers to these questions with it. So whoever waits for a peer
does so inside a `Wait`. If the thread belongs to a pool, the pool lets another thread work meanwhile, as the
``ManagedBlocker`` of Java's ``ForkJoinPool`` does.

What bounds them then: ``max_waiting`` in the whole process, ``max_questions`` for each client (`Tally`).
"""

import threading
from types import TracebackType
from typing import Dict, Hashable, Optional, Type


class ElasticPool:
    """What a pool does for threads of its own that wait; both methods are called on such a thread and never block."""

    def wait_begins(self) -> None:
        """The calling thread works no more, until `wait_ends`."""
        raise NotImplementedError

    def wait_ends(self) -> None:
        """The calling thread works again, at once, however many others do."""
        raise NotImplementedError


class _Thread(threading.local):
    pool: Optional[ElasticPool] = None


_thread = _Thread()
_lock = threading.Lock()
_count = 0


def join(pool: ElasticPool) -> None:
    """The calling thread belongs to this pool, for as long as it lives."""
    _thread.pool = pool


def count() -> int:
    """How many threads of pools wait for a peer in this process."""
    return _count


class Wait:
    """Surrounds a wait for a peer, which must be bounded elsewhere. Waits inside waits count once.

    Where ``most`` threads wait already, this one keeps its place in the pool.
    """

    __slots__ = ("_most", "_pool")

    def __init__(self, most: int) -> None:
        self._most = most
        self._pool: Optional[ElasticPool] = None

    def __enter__(self) -> None:
        global _count
        pool = _thread.pool
        if pool is None:
            return
        with _lock:
            if _count >= self._most:
                return
            _count += 1
        _thread.pool, self._pool = None, pool
        pool.wait_begins()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        global _count
        pool = self._pool
        if pool is None:
            return
        _thread.pool = pool
        pool.wait_ends()
        with _lock:
            _count -= 1


class Tally:
    """How much there is of something for each key, ``most`` at a time; ``name`` is that of the limit. Thread-safe."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self._lock = threading.Lock()
        self._counts: Dict[Hashable, int] = {}

    def enter(self, key: Hashable) -> bool:
        """Count one more of this key; False: there are as many as there may be, and nothing is counted."""
        with self._lock:
            found = self._counts.get(key, 0)
            if found >= self.most:
                return False
            self._counts[key] = found + 1
        return True

    def leave(self, key: Hashable) -> None:
        """Take back an `enter` that was True."""
        with self._lock:
            found = self._counts[key] - 1
            if found:
                self._counts[key] = found
            else:
                del self._counts[key]

    def __getitem__(self, key: Hashable) -> int:
        with self._lock:
            return self._counts.get(key, 0)

    def __len__(self) -> int:
        """How many keys there are of which anything is counted."""
        with self._lock:
            return len(self._counts)
