"""A rate limiter: a bucket of permissions that fills at an even rate (token bucket).

Both roles limit what the other may ask for, each by the limit that names it (`mcp_ref.limits`); a
refusal names the limit. Servers limit tool calls [.. server/tools §Security Considerations] MUST.
"""

import threading
from typing import Optional

from .. import deadline


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
        self._at = deadline.clock()
        self._lock = threading.Lock()

    def full(self) -> bool:
        """Return True if the bucket is full, as that of a new limiter is."""
        with self._lock:
            return self._left + (deadline.clock() - self._at) * self.per_second >= self._burst

    def take(self) -> bool:
        """Take one permission. Returns False if there is none left now."""
        with self._lock:
            now = deadline.clock()
            left = min(self._burst, self._left + (now - self._at) * self.per_second)
            self._at = now
            allowed = left >= 1.0
            self._left = left - 1.0 if allowed else left
            return allowed
