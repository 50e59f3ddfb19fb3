"""Time left across several steps, on the monotonic clock, which tests can replace.

A wait that has several steps (connect, then read, then read again) shares one `Deadline` instead
of giving each step the whole timeout.
"""

import time
from typing import Callable, Optional

clock: Callable[[], float] = time.monotonic
"""The one clock of the package. A test sets ``mcp_ref.deadline.clock`` to a clock of its own."""


class Deadline:
    """A point in time, given as seconds from now; None means never.

    ``ceiling`` is a second point that `extend` cannot move past, also in seconds from now.
    """

    __slots__ = ("at", "ceiling")

    def __init__(self, seconds: Optional[float], ceiling: Optional[float] = None) -> None:
        now = clock()
        self.ceiling = None if ceiling is None else now + ceiling
        self.at = self._capped(None if seconds is None else now + seconds)

    def _capped(self, at: Optional[float]) -> Optional[float]:
        if at is None:
            return self.ceiling
        return at if self.ceiling is None or at < self.ceiling else self.ceiling

    def extend(self, seconds: Optional[float]) -> None:
        """Start again with ``seconds`` from now, but never past the ceiling."""
        self.at = self._capped(None if seconds is None else clock() + seconds)

    def left(self) -> Optional[float]:
        """Seconds left, never negative; None if there is no end."""
        return None if self.at is None else max(0.0, self.at - clock())

    def expired(self) -> bool:
        """Whether the point has passed."""
        return self.at is not None and clock() >= self.at
