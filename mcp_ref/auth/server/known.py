"""Tokens that were verified already, so that a request costs a look into a table.

A token is remembered by its SHA-256 digest, never as it is. A good one until it expires, but ``seconds`` at most; one
that is none for ten seconds, so that it costs nothing to send it again and again, and a key that is new is soon seen.
Both kinds have a table of ``max_cached_tokens`` each, from which the oldest go: made-up tokens do not drive out good
ones. An error that is not about the token (no keys, no answer) is not remembered.
"""

import threading
import time
from hashlib import sha256
from typing import Callable, Dict, NamedTuple, Optional

from ... import deadline
from ...errors import Unauthorized
from ...limits import DEFAULT, Limits
from .access import AccessToken, Verify

FAILURE_SECONDS = 10.0
"""How long it is remembered that a token is none."""


class _Known(NamedTuple):
    """What a verifier said of a token, and until when (monotonic) that is taken for true."""

    access: Optional[AccessToken]
    reason: str
    until: float


class Cached:
    """A verifier that asks another one only of tokens that are new to it. Thread-safe.

    ``seconds``: how long a good token is remembered at most. ``leeway``: seconds after its ``expires_at`` for which the
    other one takes it. ``now``: the wall clock.
    """

    def __init__(self, verify: Verify, *, seconds: float = 3600.0, leeway: float = 0.0, limits: Limits = DEFAULT,
                 now: Callable[[], float] = time.time) -> None:
        self._verify = verify
        self._seconds = seconds
        self._leeway = leeway
        self._most = limits.max_cached_tokens
        self._now = now
        self._good: Dict[bytes, _Known] = {}
        self._bad: Dict[bytes, _Known] = {}
        self._lock = threading.Lock()

    def __call__(self, token: str) -> Optional[AccessToken]:
        """What the token says; None or `Unauthorized` if it is not good, as the other verifier said."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._remembered(digest)
        if known is None:
            known = self._asked(token)
            self._remember(digest, known)
        if known.reason:
            raise Unauthorized(known.reason)
        return known.access

    def _remembered(self, digest: bytes) -> Optional[_Known]:
        with self._lock:
            table = self._good if digest in self._good else self._bad
            known = table.get(digest)
            if known is None or not self._expired(known):
                return known
            del table[digest]
            return None

    def _expired(self, known: _Known) -> bool:
        until = known.access.expires_at if known.access is not None else None
        return deadline.clock() >= known.until or until is not None and self._now() >= until + self._leeway

    def _asked(self, token: str) -> _Known:
        access, reason = None, ""
        try:
            access = self._verify(token)
        except Unauthorized as error:
            reason = str(error) or "the token is not good"
        seconds = self._seconds if access is not None else min(FAILURE_SECONDS, self._seconds)
        return _Known(access, reason, deadline.clock() + seconds)

    def _remember(self, digest: bytes, known: _Known) -> None:
        table = self._bad if known.access is None else self._good
        with self._lock:
            table[digest] = known
            if len(table) > self._most:
                del table[next(iter(table))]
