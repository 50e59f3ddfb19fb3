"""Which sessions there are: the table behind an endpoint.

`SessionTable` keeps them in this process. Another place is a subclass away, such as `mcp_ref.streamable.shared.table`:
the endpoint uses the methods below and nothing else.
"""

import secrets
import threading
from itertools import islice
from typing import Any, Dict, Hashable, List, Optional, Tuple

from ...limits import Limits
from ...protocol.lifecycle import OPERATING
from .session import HttpSession

ID_BYTES = 24
"""Of randomness in a session id; 32 characters of base64."""


_CANDIDATES, _LOOKS = 64, 16
"""Sessions that are looked at together when one has to make room, and how often others are if none of them can."""


class _Owned:
    """The sessions of one owner, in the order in which they began."""

    __slots__ = ("all", "fresh")

    def __init__(self) -> None:
        self.all: Dict[HttpSession, None] = {}
        self.fresh: Dict[HttpSession, None] = {}
        """Those whose handshake was not over when they were last looked at."""


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
        self._owned: Dict[Hashable, _Owned] = {}
        self._fresh: Dict[HttpSession, None] = {}
        self._share = max(1, int(limits.max_sessions * limits.max_session_share))

    def make(self, principal: Any) -> HttpSession:
        """A session that begins, with an id of its own."""
        return HttpSession(new_id(), principal, self._limits)

    def add(self, session: HttpSession) -> bool:
        """Enter a session; False: there is no room for it, and `full` says why."""
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
        """Why there is no room: a key of REFUSALS, and what goes into its text."""
        with self._lock:
            share = len(self._sessions) < self._limits.max_sessions
        return ("full share", str(self._share)) if share else ("full", str(self._limits.max_sessions))

    def replaceable(self, session: HttpSession) -> Optional[HttpSession]:
        """One that may end so that there is room for this one; None: there is none.

        First those whose handshake was never finished, the oldest before the others; of the owner alone, if he has his
        share. Then an idle one of the owner who has most, unless that is who wants another one.
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
        """One of these that nobody uses now: of the first few that which was used least lately, else of the next few.

        Who keeps some of his sessions busy does not keep the others from making room. ``unfinished``: only those whose
        handshake is not over.
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
        """The oldest of these whose handshake is not over; those of which it is are taken out on the way."""
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
        """The session of this id, if it has not ended."""
        with self._lock:
            return self._sessions.get(id)

    def remove(self, session: HttpSession) -> bool:
        """It has ended; False if it had before."""
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
        """A session that begins has got its connection."""

    def release(self, session: HttpSession) -> bool:
        """This process has done with it, since it was idle for too long or the process ends; as `remove`."""
        return self.remove(session)

    def is_idle(self, session: HttpSession, now: float) -> bool:
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
