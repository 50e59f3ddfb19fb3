"""The connection of an HTTP server that has to go when there are too many, or when clients read too slowly."""

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Dict, Hashable, Optional, Tuple

from ... import deadline
from ...limits import Limits
from .owners import network_of

if TYPE_CHECKING:
    from .connection import Connection
    from .outbox import Outbox

LINGER_SECONDS = 3.0
"""The seconds for which a client may go on sending after the last reply. Closing at once would reset the connection,
and the reply would be lost with it [RFC 9112 §9.6]."""
_NEW_SECONDS = 1.0
"""Seconds that a reply may wait before its client counts as slow."""
_CANDIDATES, _LOOKS = 64, 16
"""The number of connections that are compared when one has to make room, and of attempts with others."""
_SLOW_SECONDS = 1.0
"""The seconds after which a handshake or a request that is not whole may have to make room."""


def choose_for_room(connections: "Dict[Connection, None]", peer: str) -> "Optional[Connection]":
    """Return the connection that makes room for one of this client, or None if none may be closed.

    Of a few connections without a request, the one is closed that has been silent for longest; those that never
    sent one come first, since they may be silent for less time. If none is silent, a stream of the client that has
    most connections.
    """
    now = deadline.clock()
    for _ in range(_LOOKS):
        few = list(islice(connections, _CANDIDATES))
        for connection in few:
            del connections[connection]
            connections[connection] = None  # the others come first next time
        silent = [connection for connection in few if _is_silent(connection, now)]
        if silent:
            return min(silent, key=lambda found: found.deadline or now)
    return _stream_of_most(connections, peer)


def _is_silent(connection: "Connection", now: float) -> bool:
    """Return True if a client has no request here, or is slow: to send one, or to disconnect after a last reply."""
    if connection.exchange is not None or connection.outbox.pieces or connection.gone:
        return False
    limits, stage = connection.limits, connection.stage
    if connection.phase == "open" and stage == "idle":
        return not connection.parser.unread and connection.thread is None
    allowed = {"handshake": limits.tls_handshake_timeout, "lingering": LINGER_SECONDS}.get(
        connection.phase, limits.http_header_timeout if stage == "head" else limits.http_body_timeout)
    return now - ((connection.deadline or now) - allowed) >= _SLOW_SECONDS


def _stream_of_most(connections: "Dict[Connection, None]", peer: str) -> "Optional[Connection]":
    """Return a stream that answers a GET, of the client with most connections; None if that is ``peer``."""
    def network(peer: str) -> Hashable:
        return network_of(peer) or peer

    crowds = Counter(network(connection.peer) for connection in connections)
    most, count = crowds.most_common(1)[0] if crowds else (None, 0)
    if count <= crowds[network(peer)] + 1:
        return None
    for connection in connections:
        exchange = connection.exchange
        if exchange is not None and exchange.endless and network(connection.peer) == most:
            return connection
    return None


def patience(outbox: "Outbox", engine: Any) -> float:
    """Return the time at which a client is too slow, if it reads no more until then.

    A client that reads a byte now and then puts off `Outbox.stall` for ever. So only what it has read earns it time, as
    with bodies; and nothing does while memory is scarce.
    """
    limits: Limits = engine.limits
    earned = 0.0
    if not engine.held.scarce:
        earned = outbox.taken / limits.min_read_rate if limits.min_read_rate > 0 else float("inf")
    return (outbox.since or 0.0) + limits.http_write_timeout + earned


def pace(connection: "Connection") -> Tuple[bool, float, float]:
    """Return how fast a client reads, to be compared: the least is to go first."""
    outbox, now = connection.outbox, deadline.clock()
    since = outbox.since or now
    new = now - since < _NEW_SECONDS
    return new, outbox.taken if new else outbox.taken / (now - since), since
