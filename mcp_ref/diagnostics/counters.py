"""Counts of what was dropped, refused or tolerated; nothing is silent.

Every odd message raises a count and writes one log record (`logging` under this package's name).
A peer that repeats itself must not flood the log: after LOUD records of one kind only every
thousandth is written, with the count so far.
"""

import threading
from typing import Callable, Dict, Optional

LOUD = 10
"""Log records of one kind that are written before they become rare."""


def is_told(count: int) -> bool:
    """Whether the log tells of what has happened so many times now."""
    return count <= LOUD or count % 1000 == 0


class Counters:
    """Thread-safe named counts; ``told``: gets whatever is noted, each time, such as `Transport.finding`."""

    def __init__(self, told: Optional[Callable[[str, str, Optional[BaseException]], None]] = None) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._counts: Dict[str, int] = {}

    def add(self, name: str) -> int:
        """Count one more, and return the count."""
        with self._lock:
            count = self._counts[name] = self._counts.get(name, 0) + 1
        return count

    def note(self, name: str, text: str) -> None:
        """Count one more and log it, the first times and then every thousandth time.

        For what peers send. What code of our users raises goes to `mcp_ref.diagnostics.usercode`, which keeps silent
        about nothing. Never raises, whatever filters and handlers the program has: the reader calls it.
        """
        count = self.add(name)
        if self._told is not None:
            self._told(name, text, None)
        if is_told(count):
            try:
                _log(name, text, count)
            except Exception:
                self.add("log records lost")

    def snapshot(self) -> Dict[str, int]:
        """A copy of all counts."""
        with self._lock:
            return dict(self._counts)

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counts.get(name, 0)


def _log(name: str, text: str, count: int) -> None:
    from .packagelog import get_logger
    from .usercode import one_line

    said = one_line(text)  # a peer's words may be in it
    # Named for those who read and configure logs, wherever this module is.
    get_logger(__name__.rpartition(".diagnostics.")[0] + ".peer").warning("%s: %s (count %d)", name, said, count)
