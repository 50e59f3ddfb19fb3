"""The memory for request bodies of an HTTP engine, counted over all its connections together.

A body is counted from its first byte until one of these: its handler has returned and its reply has begun or is not
wanted any more; the request is refused; its connection ends before the body was whole. All bodies together stay below
``max_body_bytes_total``. A body that would be too much is refused, and what it had is freed. Nothing waits for room,
so nothing can wait for ever.

========================================  ======  ==================================================================
a body                                    status  when
========================================  ======  ==================================================================
with Content-Length, for which there is   503     before any of it is read, instead of ``100 Continue``
no room now
that grows while others do, or in chunks  503     at the byte for which there is no room
that would not fit if it were alone       413     as in the two rows above
========================================  ======  ==================================================================

A client that has said how much will come may never send it, so only bytes that came are counted. Bodies of up
to SMALL bytes have a quarter to themselves: a few clients with large ones cannot keep all others out. And when half
of what large ones may have is taken, a body gets no more time for having begun quickly; see `BodyBudget.scarce`.

Values take more memory than the JSON that they come from: 3 MB of ``{},`` are 85 MB. So a body above SMALL counts
more while it is handled, by VALUE bytes for each comma and opening bracket: see `weight`. Where there is no room for
that the request is answered 503, before it is parsed.

The count leaves out heads and requests that are sent ahead, which are bounded for each connection, and the values that
handlers make of bodies.
"""

import threading

from mcp_ref.limits import Limits
from .responses import Refused

SMALL = 16 * 1024
"""The size in bytes of a small body; with the default limits there is room for one of each connection."""

VALUE = 32
"""Bytes that a value takes at least, besides what is counted of its JSON."""
_FEW = 256


def weight(body: bytes, most: int) -> int:
    """Return about how many bytes the values of this JSON take besides it; more than ``most`` values are never made."""
    if len(body) <= SMALL:
        return 0
    return VALUE * min(most, sum(_count(body, sign) for sign in (b",", b"[", b"{")))


def _count(body: bytes, sign: bytes) -> int:
    """Count a sign: with `bytes.find` where there are few, as `bytes.count` takes 14 ms for 16 MiB."""
    found, at = 0, body.find(sign)
    while at >= 0 and found < _FEW:
        found, at = found + 1, body.find(sign, at + 1)
    return found if at < 0 else body.count(sign)


class NoRoom(Refused):
    """The refusal of a body for which there is no room."""


class BodyBudget:
    """The bytes that are held. Thread-safe."""

    __slots__ = ("held", "_most", "_most_large", "_lock")

    def __init__(self, limits: Limits) -> None:
        self.held = 0
        """The number of bytes that are held now."""
        self._most = limits.max_body_bytes_total
        self._most_large = self._most - self._most // 4
        self._lock = threading.Lock()

    @property
    def scarce(self) -> bool:
        """True if so much is held that clients which send slowly have to make room."""
        return 2 * self.held > self._most_large

    def check(self, more: int, size: int) -> None:
        """Raise `NoRoom` if so many bytes more, of a body of this size, have no room now."""
        most = self._most if size <= SMALL else self._most_large
        if size > most:
            raise NoRoom(413, "body of %d bytes exceeds what max_body_bytes_total (%d) leaves for one"
                         % (size, self._most))
        if self.held + more > most:
            raise NoRoom(503, "bodies of other requests have reached max_body_bytes_total (%d); try again later"
                         % self._most)

    def add(self, more: int, size: int) -> None:
        """Count so many bytes more of a body of this size. Raises `NoRoom`; then nothing is counted."""
        with self._lock:
            self.check(more, size)
            self.held += more

    def release(self, count: int) -> None:
        """Count so many bytes less."""
        with self._lock:
            self.held -= count
