"""Which sessions there are: the table behind an endpoint.

`SessionTable` keeps them in this process. Another place is a subclass away, such as `http_store`: the endpoint uses the
methods below and nothing else.
"""

import secrets
import threading
from typing import Any, Dict, List, Optional

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

    shared = False
    """Whether other processes have them, too."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._sessions: Dict[str, HttpSession] = {}

    def make(self, principal: Any) -> HttpSession:
        """A session that begins, with an id of its own."""
        return HttpSession(new_id(), principal, self._limits)

    def add(self, session: HttpSession) -> bool:
        """Enter a session; False: ``max_sessions`` are there."""
        with self._lock:
            if session.id is None or len(self._sessions) >= self._limits.max_sessions:
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

    def connected(self, session: HttpSession) -> None:
        """A session that begins has got its connection."""

    def let_go(self, session: HttpSession) -> bool:
        """This process has done with it, since it was idle for too long or the process ends; as `remove`."""
        return self.remove(session)

    def idle(self, session: HttpSession, now: float) -> bool:
        """Whether nobody has used it for too long."""
        return session.used + self._limits.session_idle <= now

    def tick(self, now: float) -> None:
        """About once a second."""

    def close(self) -> None:
        """The endpoint has been closed, and every session let go."""

    def all(self) -> List[HttpSession]:
        """Those that are open now."""
        with self._lock:
            return list(self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._sessions)
