"""Which sessions there are: the table behind an endpoint.

`SessionTable` keeps them in this process. Another place is a subclass away: the endpoint uses the five methods below
and nothing else.
"""

import secrets
import threading
from typing import Dict, List, Optional

from ..limits import Limits
from .http_session import HttpSession

ID_BYTES = 24
"""Of randomness in a session id; 32 characters of base64."""


def new_id() -> str:
    """A session id that nobody can guess, of visible ASCII
    [2025-03-26..2025-11-25 basic/transports §Session Management] MUST, SHOULD."""
    return secrets.token_urlsafe(ID_BYTES)


class SessionTable:
    """The sessions in the memory of this process. Thread-safe."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.max_sessions
        self._lock = threading.Lock()
        self._sessions: Dict[str, HttpSession] = {}

    def add(self, session: HttpSession) -> bool:
        """Enter a session; False: ``max_sessions`` are there."""
        with self._lock:
            if session.id is None or len(self._sessions) >= self._limit:
                return False
            self._sessions[session.id] = session
        return True

    def get(self, id: str) -> Optional[HttpSession]:
        """The session of this id, if it has not ended."""
        with self._lock:
            return self._sessions.get(id)

    def remove(self, session: HttpSession) -> bool:
        """It has ended; False if it had before."""
        with self._lock:
            return session.id is not None and self._sessions.pop(session.id, None) is not None

    def all(self) -> List[HttpSession]:
        """Those that are open now."""
        with self._lock:
            return list(self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._sessions)
