"""Limits of what the checker holds in memory, whatever the length of a trace, and containers that forget the oldest.

A rule that looks for something that was forgotten cannot tell: `Forgetful.forgot` and `UsedIds.forgot` say so.
"""

from bisect import bisect_right
from collections import OrderedDict
from typing import Any, Generic, List, NamedTuple, Optional, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Bounds(NamedTuple):
    """The limits of one checker.

    ==================  =========  ============================================================================
    name                default    what it bounds
    ==================  =========  ============================================================================
    connections         1,024      connections that are open at once
    sessions            4,096      sessions of one connection
    pending             16,384     requests of one connection that have no answer yet
    answered            4,096      requests of one connection whose answer is remembered
    exchanges           4,096      HTTP exchanges of one connection that are not over, and as many that are
    messages            256        messages of one exchange that are remembered
    ids                 65,536     runs of integer ids, and string ids, of one party of one connection
    entries             16,384     entries of each table of a rule (tools, cursors, tokens ...) in one session
    findings            64         findings of one rule about one party that are kept, and as many faults of which the
                                   first one is; the others are counted
    ==================  =========  ============================================================================
    """

    connections: int = 1024
    sessions: int = 4096
    pending: int = 16384
    answered: int = 4096
    exchanges: int = 4096
    messages: int = 256
    ids: int = 65536
    entries: int = 16384
    findings: int = 64


class Forgetful(Generic[Key, Value]):
    """A dictionary of at most ``most`` entries, which forgets the entry that was set first."""

    __slots__ = ("_entries", "_most", "forgot")

    def __init__(self, most: int) -> None:
        self._entries: "OrderedDict[Key, Value]" = OrderedDict()
        self._most = most
        self.forgot = False
        """True if an entry was forgotten."""

    def __setitem__(self, key: Key, value: Value) -> None:
        self._entries[key] = value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)
            self.forgot = True

    def push(self, key: Key, value: Value) -> Optional[Value]:
        """Set an entry, and return the value of the one that is forgotten for it; None if none is."""
        self._entries[key] = value
        if len(self._entries) <= self._most:
            return None
        self.forgot = True
        return self._entries.popitem(last=False)[1]

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, default: Any = None) -> Any:
        """Return the value of a key, or ``default``."""
        return self._entries.get(key, default)

    def pop(self, key: Key) -> Optional[Value]:
        """Remove a key and return its value; None if it is not there."""
        return self._entries.pop(key, None)

    def keys(self) -> List[Key]:
        """Return the keys, oldest first."""
        return list(self._entries)

    def values(self) -> List[Value]:
        """Return the values, oldest first."""
        return list(self._entries.values())


class UsedIds:
    """The ids that were used: integers as runs of successive ones, strings one by one."""

    __slots__ = ("_starts", "_ends", "_strings", "_most", "forgot")

    def __init__(self, most: int) -> None:
        self._starts: List[int] = []
        self._ends: List[int] = []
        self._strings: "Forgetful[str, None]" = Forgetful(most)
        self._most = most
        self.forgot = False
        """True if an id was forgotten."""

    def add(self, id: Any) -> bool:
        """Add an id, and return True if it is new."""
        if isinstance(id, str):
            if id in self._strings:
                return False
            self._strings[id] = None
            self.forgot = self.forgot or self._strings.forgot
            return True
        if self._ends and id == self._ends[-1] + 1:  # as nearly always
            self._ends[-1] = id
            return True
        at = bisect_right(self._starts, id) - 1
        if at >= 0 and id <= self._ends[at]:
            return False
        joins_left = at >= 0 and self._ends[at] == id - 1
        joins_right = at + 1 < len(self._starts) and self._starts[at + 1] == id + 1
        if joins_left and joins_right:
            self._ends[at] = self._ends.pop(at + 1)
            del self._starts[at + 1]
        elif joins_left:
            self._ends[at] = id
        elif joins_right:
            self._starts[at + 1] = id
        else:
            self._starts.insert(at + 1, id)
            self._ends.insert(at + 1, id)
            if len(self._starts) > self._most:
                del self._starts[0], self._ends[0]
                self.forgot = True
        return True

    def __contains__(self, id: Any) -> bool:
        if isinstance(id, str):
            return id in self._strings
        at = bisect_right(self._starts, id) - 1
        return at >= 0 and bool(id <= self._ends[at])
