"""How often something may happen: a bucket of permissions that fills at an even rate.

Both roles limit what the other may ask for, each by the limit that names it (`mcp_ref.limits`); a
refusal says which. Servers limit tool calls [.. server/tools §Security Considerations] MUST.
"""

import threading
from typing import Optional

from .. import deadline


class Rate:
    """``per_second`` permissions a second in the long run, and up to ``burst`` (default: a second's worth) at once.

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
        """Whether it is as good as new."""
        with self._lock:
            return self._left + (deadline.clock() - self._at) * self.per_second >= self._burst

    def take(self) -> bool:
        """Take one permission; False if there is none left now."""
        with self._lock:
            now = deadline.clock()
            left = min(self._burst, self._left + (now - self._at) * self.per_second)
            self._at = now
            allowed = left >= 1.0
            self._left = left - 1.0 if allowed else left
            return allowed
