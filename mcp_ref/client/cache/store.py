"""Answers that a client keeps: under which key, for how long, how many, and who may be given them.

[2026-07-28 server/utilities/caching §Cacheable Model]. What may be kept at all, and under which key, says
`mcp_ref.protocol.caching`; lists, their pages and their changes are in `mcp_ref.client.cache.caches`.

An answer is fresh until its time is over, by the monotonic clock, counted from when it came
[2026-07-28 server/utilities/caching §Freshness Calculation]. Time that a request took is not given away: an answer is
stamped when it is read, in the thread that waited for it. A stale answer is never served, also not when asking anew
fails, which the page would allow: a caller that sees the error can decide, one that sees old data cannot. Nothing is
asked for before it is needed.

**Who may be given it.** A client is one principal: it keeps all answers for itself. Clients of one process may share
those that their servers call public::

    shared = SharedAnswers()
    with connect(url, token=ann, cache=shared) as first, connect(url, token=bob, cache=shared) as second: ...

A private answer never gets there [2026-07-28 server/utilities/caching §Cache Scope Field] MUST NOT. Reading: answers
are shared by clients that speak the same revision to the same address; a transport without one shares nothing.
"""

import threading
from collections import OrderedDict
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ... import deadline
from ...limits import DEFAULT, Limits
from ...options import spelt
from ...protocol.caching import PUBLIC, Hints, Key


Version = Tuple[int, int]
"""Of what a client keeps for itself, and of what it shares."""


class Kept(NamedTuple):
    """An answer and how long it is good for."""

    value: Any
    """The message."""
    until: float
    """When it ends to be fresh, by `deadline.clock`."""
    given: bool
    """Whether the server said for how long; if not, it is as fresh as announcements of changes let it be."""
    size: int
    """What it counts against the limit of its shelf."""


class Shelf:
    """Answers to one method, by key, oldest dropped first. Thread-safe; its lock is held for moments only.

    ``limit``: what the sizes of all may add up to; an answer that is larger alone is not kept.
    """

    def __init__(self, limit: int) -> None:
        self.version = 0
        """How often something was dropped because it had changed; what was asked for before is not kept."""
        self.stamp = 0
        """Another one whenever anything here is another."""
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: "OrderedDict[Key, Kept]" = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> Optional[Kept]:
        """What is kept under this key, fresh or not."""
        return self._kept.get(key)

    def put(self, key: Key, kept: Kept, version: int) -> None:
        """Keep an answer that was asked for at this version, if it is not out of date already."""
        with self._lock:
            if version != self.version:
                return
            self._remove(key)
            if kept.size > self._limit:
                return
            self._kept[key] = kept
            self._size += kept.size
            while self._size > self._limit:
                self._remove(next(iter(self._kept)))

    def changed(self, key: Optional[Key] = None) -> None:
        """The answer under this key is another one now; None: all are."""
        with self._lock:
            self.version += 1
            for each in list(self._kept) if key is None else [key]:
                self._remove(each)

    def drop(self, key: Key) -> None:
        """Keep this answer no longer; it need not have changed."""
        with self._lock:
            self._remove(key)

    def keys(self) -> Tuple[Key, ...]:
        """The keys, oldest first."""
        with self._lock:
            return tuple(self._kept)

    def _remove(self, key: Key) -> None:
        self.stamp += 1
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._size -= gone.size


class SharedAnswers:
    """Public answers of servers, for all the clients that are given this object as ``cache``. Thread-safe."""

    @spelt
    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._shelves: Dict[Tuple[str, str, str], Shelf] = {}

    def shelf(self, address: str, revision: str, method: str) -> Shelf:
        """The answers of one server to one method in one revision."""
        with self._lock:
            found = self._shelves.get((address, revision, method))
            if found is None:
                found = self._shelves[address, revision, method] = Shelf(room(method, self._limits))
            return found


class Answers:
    """What one client keeps of the answers of one server to one method. Thread-safe.

    ``shared``: where public ones go instead, so that others find them there.
    """

    def __init__(self, method: str, limit: int, shared: Optional[Shelf] = None) -> None:
        self.method = method
        self.told = False
        """Whether the server tells when an answer is another one now."""
        self._own = Shelf(limit)
        self._shared = shared
        self._shelves = (self._own,) if shared is None else (self._own, shared)

    @property
    def version(self) -> Version:
        """Another one after each change that was heard of; to be noted before asking."""
        return self._own.version, 0 if self._shared is None else self._shared.version

    @property
    def stamp(self) -> Version:
        """Another one whenever anything that is kept is another."""
        return self._own.stamp, 0 if self._shared is None else self._shared.stamp

    def last(self, key: Key) -> Any:
        """What the server answered last, fresh or not; None: that is not known."""
        for shelf in self._shelves:
            kept = shelf.get(key)
            if kept is not None:
                return kept.value
        return None

    def fresh(self, key: Key) -> Any:
        """What the server would answer now, as far as that can be known without asking; else None.

        [2026-07-28 server/utilities/caching §Time-to-Live (TTL) Field] SHOULD
        """
        for shelf in self._shelves:
            kept = shelf.get(key)
            if kept is not None and (deadline.clock() < kept.until if kept.given else self.told):
                return kept.value
        return None

    def keep(self, key: Key, value: Any, hints: Hints, size: int, version: Version) -> None:
        """Keep what came now. ``version``: as it was before this was asked for; ``size``: as limits count."""
        kept = Kept(value, deadline.clock() + hints.ttl, hints.given, size)
        shared = self._shared
        if shared is not None and hints.scope == PUBLIC:
            self._own.drop(key)
            shared.put(key, kept, version[1])
            return
        if shared is not None:
            shared.drop(key)
        self._own.put(key, kept, version[0])

    def withdraw(self, key: Key) -> None:
        """Share an answer no longer; this client keeps it."""
        kept = None if self._shared is None else self._shared.get(key)
        if self._shared is not None and kept is not None:
            self._shared.drop(key)
            self._own.put(key, kept, self._own.version)

    def drop(self, key: Key) -> None:
        """Keep an answer no longer; it need not have changed."""
        for shelf in self._shelves:
            shelf.drop(key)

    def changed(self, key: Optional[Key] = None) -> None:
        """The server says that an answer is another one now; None: that all are."""
        for shelf in self._shelves:
            shelf.changed(key)

    def keys(self) -> Tuple[Key, ...]:
        """The keys of what is kept."""
        return tuple(key for shelf in self._shelves for key in shelf.keys())


def room(method: str, limits: Limits) -> int:
    """The limit of a shelf: items of a list, bytes of what was read."""
    return limits.max_cached_resource_bytes if method == "resources/read" else limits.max_cached_items
