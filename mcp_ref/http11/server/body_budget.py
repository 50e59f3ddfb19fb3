"""How much of request bodies an HTTP engine holds, over all its connections together.

A body is counted from its first byte until nobody needs it any more: its handler has returned and its reply has begun,
or nobody waits for one; or it is refused; or its connection ends before it was whole. All of it together stays below
``max_body_bytes_total``. What would be more is refused, and lets go what it had; nobody waits for room, so nobody can
wait forever.

========================================  ======  ==================================================================
a body                                    status  when
========================================  ======  ==================================================================
with Content-Length, for which there is   503     before any of it is read, instead of ``100 Continue``
no room now
that grows while others do, or in chunks  503     at the byte for which there is no room
that would not fit if it were alone       413     likewise
========================================  ======  ==================================================================

Who has said how much will come has not sent it yet, and may never do, so only bytes that came are counted. Bodies of up
to SMALL bytes have a quarter to themselves: a few clients with large ones cannot keep all others out. And when half
of what large ones may have is taken, a body gets no more time for having begun quickly; see `BodyBudget.scarce`.

Values take more memory than the JSON that they come from: 3 MB of ``{},`` are 85 MB. So a body above SMALL counts
more while it is handled, by VALUE bytes for each comma and opening bracket: see `weight`. Where there is no room for
that the request is answered 503, before it is parsed.

Not in it: heads and what a client sends ahead, which are bounded for each connection, and what handlers make of bodies.
"""

import threading

from ...limits import Limits
from .responses import Refused

SMALL = 16 * 1024
"""Bytes; with the default limits there is room for such a body of each connection."""

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
    """A body for which there is no room."""


class BodyBudget:
    """The bytes that are held. Thread-safe."""

    __slots__ = ("held", "_most", "_most_large", "_lock")

    def __init__(self, limits: Limits) -> None:
        self.held = 0
        """How many there are now."""
        self._most = limits.max_body_bytes_total
        self._most_large = self._most - self._most // 4
        self._lock = threading.Lock()

    @property
    def scarce(self) -> bool:
        """Whether so much is held that who sends slowly has to make room."""
        return 2 * self.held > self._most_large

    def check(self, more: int, size: int) -> None:
        """Whether so many bytes more, of a body of this size, have room now; raises `NoRoom` where not."""
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
        """So many bytes have been let go."""
        with self._lock:
            self.held -= count
