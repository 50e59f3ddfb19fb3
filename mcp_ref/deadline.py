"""Deadlines across several steps, and rates per second, on the monotonic clock, which tests can replace.

A wait that has several steps (connect, then read, then read again) shares one `Deadline` instead
of giving each step the whole timeout.

A `Rate` is a bucket of permissions that fills at an even rate (token bucket). Both roles limit what the other may ask
for, each by the limit that names it (`mcp_ref.limits`); a refusal names the limit. Servers limit tool calls
[.. server/tools §Security Considerations] MUST.
"""

import threading
import time
from typing import Any, Callable, Dict, Hashable, Optional, Tuple

clock: Callable[[], float] = time.monotonic
"""The one clock of the package. A test sets ``mcp_ref.deadline.clock`` to a clock of its own."""


def backoff(first: float, tries: int, longest: float = float("inf")) -> float:
    """Return the seconds to wait before an attempt, after ``tries`` attempts in vain: 0 before the first one.

    Then ``first``, and twice as long each time, up to ``longest``.
    """
    return min(longest, first * 2.0 ** min(tries - 1, 30)) if tries > 0 else 0.0


class Deadline:
    """A point in time, given as seconds from now; None means never.

    ``ceiling`` is a second point that `extend` cannot move past, also in seconds from now. Between `stop` and `resume`
    neither comes nearer.
    """

    __slots__ = ("at", "ceiling", "_stopped")

    def __init__(self, seconds: Optional[float], ceiling: Optional[float] = None) -> None:
        now = clock()
        self._stopped: Optional[Tuple[Optional[float], Optional[float]]] = None  # what was left, and of the ceiling
        self.ceiling = None if ceiling is None else now + ceiling
        if seconds is None or (ceiling is not None and not seconds < ceiling):
            self.at = self.ceiling
        else:
            self.at = now + seconds

    def extend(self, seconds: Optional[float]) -> None:
        """Start again with ``seconds`` from now, but never past the ceiling."""
        if self._stopped is None:
            at = None if seconds is None else clock() + seconds
            self.at = self.ceiling if at is None or self.ceiling is not None and not at < self.ceiling else at
        else:
            most = self._stopped[1]
            self._stopped = (most if seconds is None or (most is not None and most < seconds) else seconds, most)

    def stop(self) -> None:
        """Stop the clock until `resume`: there is no end meanwhile. A second call does nothing."""
        if self._stopped is None:
            now = clock()
            self._stopped = (None if self.at is None else self.at - now,
                             None if self.ceiling is None else self.ceiling - now)
            self.at = self.ceiling = None

    def resume(self) -> None:
        """Start the clock again, with as many seconds left as there were."""
        if self._stopped is not None:
            now = clock()
            left, most = self._stopped
            self._stopped = None
            self.ceiling = None if most is None else now + most
            self.at = None if left is None else now + left

    def left(self) -> Optional[float]:
        """Return the seconds left, never negative, or None if there is no end."""
        return None if self.at is None else max(0.0, self.at - clock())

    def expired(self) -> bool:
        """Return True if the point has passed."""
        return self.at is not None and clock() >= self.at


class Rate:
    """A limit of ``per_second`` permissions a second in the long run, and up to ``burst`` (default: one second's) at
    once.

    Thread-safe. A rate of zero or less permits nothing after the first burst of one.
    """

    __slots__ = ("per_second", "_burst", "_left", "_at", "_lock")

    def __init__(self, per_second: float, burst: Optional[float] = None) -> None:
        self.per_second = per_second
        self._burst = max(1.0, per_second if burst is None else burst)
        self._left = self._burst
        self._at = clock()
        self._lock = threading.Lock()

    def full(self) -> bool:
        """Return True if the bucket is full, as that of a new limiter is."""
        with self._lock:
            return self._left + (clock() - self._at) * self.per_second >= self._burst

    def take(self) -> bool:
        """Take one permission. Returns False if there is none left now."""
        with self._lock:
            now = clock()
            left = min(self._burst, self._left + (now - self._at) * self.per_second)
            self._at = now
            allowed = left >= 1.0
            self._left = left - 1.0 if allowed else left
            return allowed


_FEW, _MOST = 128, 10_000
"""The numbers of limiters of one connection: so many are kept, and so many at most of those whose bucket is not full.
"""


class Rates:
    """The rate limiters of one connection, each for a limit, and for a principal where several share it.

    ``limits``: its `mcp_ref.limits.Limits`.
    """

    def __init__(self, limits: Any) -> None:
        self.limits = limits
        self.kept: Dict[Any, Rate] = {}
        self._due = _FEW

    def get(self, name: str, who: Any = None) -> Rate:
        """Return the limiter for the limit of this name (a field of `Limits`), and for this principal."""
        key: Any = name
        if who is not None:  # a text that has more to it (`auth.Principal`) is not kept, just its text
            key = name, str(who) if isinstance(who, str) else who if isinstance(who, Hashable) else repr(who)
        found = self.kept.get(key)
        if found is None:
            if len(self.kept) >= self._due:
                self._forget()
            found = self.kept.setdefault(key, Rate(getattr(self.limits, name)))
        return found

    def _forget(self) -> None:
        """Forget the limiters whose bucket is full, as a new one's is: most are of principals that are long gone."""
        for key, rate in self.kept.copy().items():
            if rate.full():
                self.kept.pop(key, None)
        if len(self.kept) >= _MOST:
            self.kept.clear()
        self._due = min(_MOST, max(_FEW, 2 * len(self.kept)))
