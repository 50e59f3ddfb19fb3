"""What the transports of an HTTP server have in common: messages are brought to them, and nobody reads."""

import threading
from typing import Any, Callable, Dict, List, Optional

from ..limits import Limits
from .base import Received, Transport


class HttpRouted(Transport):
    """Carries what POSTs bring and what their replies take back; a subclass says where a message goes. Thread-safe."""

    name = "http"
    routed = True
    threadless = True

    def __init__(self, limits: Limits) -> None:
        self.connection: Any = None
        """The `Connection` over this transport, set by who makes it."""
        self._limits = limits
        self._lock = threading.RLock()  # an exchange may find out that the client is gone while it is given something
        self._resume: Optional[Callable[[], None]] = None
        self.ended = False
        """Whether it was closed."""
        self._counts: Dict[str, int] = {}

    def read(self) -> Optional[List[Received]]:
        """The end, for nothing else is ever read."""
        return None

    def park(self, resume: Callable[[], None]) -> bool:
        """Nobody has to read until this ends; see `Transport.park`."""
        with self._lock:
            self._resume = resume
            ended = self.ended
        if ended:
            self._wake()
        return True

    def _wake(self) -> None:
        """It has ended: whoever is to see to that may."""
        with self._lock:
            resume, self._resume = self._resume, None
        if resume is not None:
            resume()

    def counters(self) -> Dict[str, int]:
        """What was dropped, by reason."""
        with self._lock:
            return dict(self._counts)

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
