"""The account of the memory that the peers of a server make it hold, over all its transports and sessions.

Only what stays is counted, and only while it does: a reply that the socket takes at once costs nothing here.

===============================================  =====================================================================
what is held                                     when there is no room for it
===============================================  =====================================================================
events that were sent and may be sent again      the session's oldest go, and what is gone cannot be resumed; with
                                                 the next row, they have half of the room
messages that wait for a stream of a session     the session's oldest go; it is told how many of its own it missed
replies that a client does not read              connections are closed, those first that read most slowly
subscriptions of a session or a stream           the request is refused
what a client says of itself in `initialize`     the request is refused
large requests over TCP and Unix sockets         the request is refused as busy; so is a line without an end, when its
                                                 end comes, and what has come of it is dropped
messages that wait to be written to TCP and      senders wait; a client that is told something unasked is cut off
Unix sockets
===============================================  =====================================================================

Bounds: ``max_held_bytes`` for all, ``max_held_bytes_per_peer`` for each peer. A peer is a client that authenticated,
over all its sessions and connections; else, and where all show the same secret (``token=``), a session; else a
connection. A quarter of the room is for peers that hold up to SMALL bytes: a few who hold much cannot keep all others
out. A peer that holds nothing may have one thing that is larger than ``max_held_bytes_per_peer``, such as a long reply.

A message to many (`SharedMessage`) is one piece of memory, however many wait for it, and is counted so.

Bodies of HTTP requests have an account of their own, `mcp_ref.http11.server.body_budget`.
"""

import threading
from typing import Any, Dict, Hashable

from ..limits import Limits

SMALL = 64 * 1024
"""The bytes up to which a peer may use the last quarter of the room, too."""
SLOT = 64
"""The bytes that a place in a queue costs, whatever stands in it."""


class SharedMessage(bytes):
    """A message that goes to many peers."""

    __slots__ = ()


class MemoryAccount:
    """The account of one server. Thread-safe; its lock is held for moments only, and nothing is called meanwhile.

    ``counters``: how often there was no room, by what it was for.
    """

    __slots__ = ("total", "counters", "_most", "_most_large", "_most_of_one", "_peers", "_places", "_lock")

    def __init__(self, limits: Limits) -> None:
        self.total = 0
        """The bytes that are held now."""
        self.counters: Dict[str, int] = {}
        self._most = limits.max_held_bytes
        self._most_large = self._most - self._most // 4
        self._most_of_one = limits.max_held_bytes_per_peer
        self._peers: Dict[Hashable, int] = {}
        self._places: Dict[int, int] = {}
        """The number of queues in which a `SharedMessage` waits, by its `id`: nothing else has that id meanwhile."""
        self._lock = threading.Lock()

    def take(self, peer: Hashable, size: int, what: str, spare: bool = False) -> bool:
        """Count ``size`` more bytes for this peer. Returns False, and counts nothing, without room.

        ``what`` names it in the counters. ``spare``: it can be done without, so it has only half of the room.
        """
        if not size:
            return True
        with self._lock:
            before = self._peers.get(peer, 0)
            most = self._most // 2 if spare else self._most if before + size <= SMALL else self._most_large
            if self.total + size > most or (before and before + size > self._most_of_one):
                self.counters[what] = self.counters.get(what, 0) + 1
                return False
            self._peers[peer] = before + size
            self.total += size
            return True

    def add(self, peer: Hashable, size: int) -> bool:
        """Count bytes that are held already. Returns False where that passes a limit: something has to be dropped."""
        with self._lock:
            before = self._peers.get(peer, 0)
            self._peers[peer] = before + size
            self.total += size
            return self.total <= self._most and (not before or before + size <= self._most_of_one)

    def free(self, peer: Hashable, size: int) -> None:
        """Count ``size`` fewer bytes for this peer."""
        if size:
            with self._lock:
                self._free(peer, size)

    def _free(self, peer: Hashable, size: int) -> None:
        self.total -= size
        left = self._peers[peer] - size
        if left:
            self._peers[peer] = left
        else:
            del self._peers[peer]

    def crowded(self) -> bool:
        """Return True if more than ``max_held_bytes`` are held."""
        return self.total > self._most

    def greedy(self, peer: Hashable) -> bool:
        """Return True if this peer makes us hold more than ``max_held_bytes_per_peer``."""
        return self._peers.get(peer, 0) > self._most_of_one

    @property
    def scarce(self) -> bool:
        """True while so much is held that peers which read or send slowly get no more time."""
        return self.total > self._most_large

    def of(self, peer: Hashable) -> int:
        """Return the bytes that this peer makes us hold."""
        return self._peers.get(peer, 0)

    # Messages in queues

    def queue(self, peer: Hashable, message: bytes, what: str, spare: bool = False) -> bool:
        """Count a message that is put into a queue, as `take`."""
        if type(message) is not SharedMessage:
            return self.take(peer, SLOT + len(message), what, spare)
        if not self.take(peer, SLOT, what, spare):
            return False
        with self._lock:
            places = self._places[id(message)] = self._places.get(id(message), 0) + 1
            if places == 1:
                self._peers[SharedMessage] = self._peers.get(SharedMessage, 0) + len(message)
                self.total += len(message)
        return True

    def unqueue(self, peer: Hashable, message: bytes) -> None:
        """Count no more a message that was taken out of a queue, as `free`."""
        if type(message) is not SharedMessage:
            self.free(peer, SLOT + len(message))
            return
        with self._lock:
            self._free(peer, SLOT)
            places = self._places.pop(id(message)) - 1
            if places:
                self._places[id(message)] = places
            else:
                self._free(SharedMessage, len(message))


def peer_of(principal: Any, otherwise: Hashable) -> Hashable:
    """Return the key of a peer in the account: its principal, where it has authenticated, else ``otherwise``."""
    if principal is None:
        return otherwise
    return "principal", str(principal) if isinstance(principal, str) else (
        principal if isinstance(principal, Hashable) else repr(principal))
