"""The table of the sessions of an endpoint.

`SessionTable` keeps them in this process. A subclass may keep them elsewhere, as
`mcp_ref.streamable.shared.table` does: the endpoint uses only the methods below.
"""

import secrets
import threading
from itertools import islice
from typing import Any, Dict, Hashable, List, Optional, Tuple

from ...limits import Limits
from ...protocol.lifecycle import OPERATING
from .session import HttpSession

ID_BYTES = 24
"""The number of random bytes in a session id, which are 32 characters of base64."""


_CANDIDATES, _LOOKS = 64, 16
"""The number of sessions that are examined together when one has to make room, and the number of such rounds."""


class _Owned:
    """The sessions of one owner, in the order in which they began."""

    __slots__ = ("all", "fresh")

    def __init__(self) -> None:
        self.all: Dict[HttpSession, None] = {}
        self.fresh: Dict[HttpSession, None] = {}
        """The sessions whose handshake was not over when they were last examined."""


def new_id() -> str:
    """Return a new session id that nobody can guess, of visible ASCII
    [2025-03-26..2025-11-25 basic/transports §Session Management] MUST, SHOULD."""
    return secrets.token_urlsafe(ID_BYTES)


class SessionTable:
    """The sessions in the memory of this process. Thread-safe."""

    shared = False
    """True if other processes have these sessions, too."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._sessions: Dict[str, HttpSession] = {}
        self._owned: Dict[Hashable, _Owned] = {}
        self._fresh: Dict[HttpSession, None] = {}
        self._share = max(1, int(limits.max_sessions * limits.max_session_share))

    def make(self, principal: Any) -> HttpSession:
        """Make a session with a new id."""
        return HttpSession(new_id(), principal, self._limits)

    def add(self, session: HttpSession) -> bool:
        """Enter a session. Returns False if there is no room, and `why_full` says why."""
        with self._lock:
            if session.id is None or len(self._sessions) >= self._limits.max_sessions:
                return False
            owned = self._owned.get(session.owner)
            if owned is None:
                owned = self._owned[session.owner] = _Owned()
            elif session.owner is not None and len(owned.all) >= self._share:
                return False
            self._sessions[session.id] = session
            owned.all[session] = owned.fresh[session] = self._fresh[session] = None
        return True

    def why_full(self, session: HttpSession) -> Tuple[str, str]:
        """Return why there is no room: a key of REFUSALS, and the value for its text."""
        with self._lock:
            share = len(self._sessions) < self._limits.max_sessions
        return ("full share", str(self._share)) if share else ("full", str(self._limits.max_sessions))

    def replaceable(self, session: HttpSession) -> Optional[HttpSession]:
        """Return a session that may end so that there is room for this one; None if there is none.

        Sessions whose handshake was never finished come first, the oldest of them before the others; only those of the
        owner, if it has its share. Then comes an idle session of the owner that has most, unless that is this owner.
        """
        with self._lock:
            owned = self._owned.get(session.owner) or _Owned()
            shared = session.owner is not None and len(owned.all) >= self._share
        found = self._idle_one(owned.fresh if shared else self._fresh, True)
        if found is not None or shared:
            return found
        with self._lock:
            known = [self._owned[owner] for owner in self._owned if owner is not None]
            most = max(known, key=lambda found: len(found.all), default=owned)
        return self._idle_one(most.all, False) if len(most.all) > len(owned.all) + 1 else None

    def _idle_one(self, sessions: Dict[HttpSession, None], unfinished: bool) -> Optional[HttpSession]:
        """Return a session that is not busy: of the first few the least recently used one, else of the next few.

        An owner that keeps some sessions busy cannot keep its others from making room. ``unfinished``: consider only
        sessions whose handshake is not over.
        """
        for _ in range(_LOOKS):
            with self._lock:
                few = self._unfinished(sessions) if unfinished else list(islice(sessions, _CANDIDATES))
            idle = [found for found in few if found.connection is not None and not found.busy]  # without the lock
            if idle:
                return min(idle, key=lambda found: found.used)
            with self._lock:
                if len(sessions) <= len(few):
                    break
                for session in few:
                    if session in sessions:
                        del sessions[session]
                        sessions[session] = None  # the others come first from now on
        return None

    def _unfinished(self, fresh: Dict[HttpSession, None]) -> List[HttpSession]:
        """Return the oldest of these whose handshake is not over; the others are removed from ``fresh``."""
        found: List[HttpSession] = []
        while fresh and not found:
            for session in list(islice(fresh, _CANDIDATES)):
                if session.connection is not None and session.connection.session.phase == OPERATING:
                    self._finished(session)
                else:
                    found.append(session)
        return found

    def _finished(self, session: HttpSession) -> None:
        self._fresh.pop(session, None)
        owned = self._owned.get(session.owner)
        if owned is not None:
            owned.fresh.pop(session, None)

    def get(self, id: str) -> Optional[HttpSession]:
        """Return the session of this id, None if it has ended."""
        with self._lock:
            return self._sessions.get(id)

    def remove(self, session: HttpSession) -> bool:
        """Take out a session that has ended. Returns False if it was not there any more."""
        with self._lock:
            if session.id is None or self._sessions.pop(session.id, None) is None:
                return False
            self._finished(session)
            owned = self._owned.get(session.owner)
            if owned is not None:
                owned.all.pop(session, None)
                if not owned.all:
                    del self._owned[session.owner]
        return True

    def connected(self, session: HttpSession) -> None:
        """Note that a session that begins has its connection."""

    def release(self, session: HttpSession) -> bool:
        """Take out a session that is over for this process: it was idle for too long, or the process ends."""
        return self.remove(session)

    def is_idle(self, session: HttpSession, now: float) -> bool:
        """Return True if the session was unused for ``session_idle`` seconds."""
        return session.used + self._limits.session_idle <= now

    def tick(self, now: float) -> None:
        """Do what is due; called about once a second."""

    def close(self) -> None:
        """Free what the table holds, after the endpoint was closed and every session released."""

    def all(self) -> List[HttpSession]:
        """Return the open sessions."""
        with self._lock:
            return list(self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._sessions)
