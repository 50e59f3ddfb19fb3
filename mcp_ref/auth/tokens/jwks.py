"""The keys of an authorization server, fetched when they are needed [RFC 7517 §5].

===============================================  ===================================================================
event                                            action
===============================================  ===================================================================
the first token comes                            the set is fetched
a token names a key that is not in the set,      the set is fetched again, if the last fetch is ``pause`` seconds
or names none and no key fits                    ago: keys may have changed, and tokens are made up easily
the set is older than ``lifetime``               the set is fetched again, so that a withdrawn key goes; one thread
                                                 does that, for others the keys at hand serve meanwhile
fetching fails                                   the keys at hand serve up to twice their lifetime; then, or
                                                 without any, `DiscoveryFailed`. Fetched again after ``pause``
a key cannot be read, or is of an unknown kind   it is left out, with a line in the log [RFC 7517 §5] SHOULD
a fetched set has a shared secret (``oct``)      it is left out: a published text is no secret
===============================================  ===================================================================

Threads that need a newer set than the one at hand while it is fetched wait for that one fetch, MAX_WAITING at most: for
others there are no keys now. Threads whose key is known do not wait.
"""

import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Union

from ... import deadline
from ...errors import AuthError, DiscoveryFailed
from ...limits import DEFAULT, Limits
from ..discovery.fetch import Fetcher
from ..urls import checked
from .jose import Jwt
from .jws import Key, fits, key_of, verifies

MAX_KEYS = 100
"""Keys of one set; servers have two or three."""
MAX_WAITING = 16
"""Threads that wait for one fetch, or half of ``max_workers`` if that is less: a client that makes up names of keys
must not hold all threads of a server."""
MAX_TRIED = 8
"""Keys that one signature is tried with, if the token does not name its key."""


class _Set(NamedTuple):
    """The keys of one fetch and its time; None: there was no fetch yet."""

    at: float
    keys: Optional[List[Key]]


class KeySet:
    """Keys to check signatures with. Thread-safe.

    ``source``: the URL of a JSON Web Key Set, a callable that finds that URL out, or the set itself as JSON (one key
    alone will do). ``lifetime`` and ``pause`` are seconds; see the table above. Raises ValueError for a set that cannot
    be read, or a URL that must not be asked.
    """

    def __init__(self, source: Union[str, Callable[[], str], Mapping[str, Any]], fetcher: Optional[Fetcher] = None, *,
                 limits: Limits = DEFAULT, lifetime: float = 3600.0, pause: float = 30.0) -> None:
        self._url: Union[None, str, Callable[[], str]] = None
        self._set = _Set(0.0, None)
        if isinstance(source, Mapping):
            jwks = _members({"keys": [source]} if "kty" in source else source)
            self._set = _Set(0.0, [key_of(jwk) for jwk in jwks])
        else:
            self._url = configured(source, "URL of the keys") if isinstance(source, str) else source
            self._fetcher = fetcher or Fetcher(limits)
            self._patience = limits.auth_timeout
            self._max_waiting = min(MAX_WAITING, limits.max_workers // 2)
        self._lifetime = lifetime
        self._pause = pause
        self._next: Optional[float] = None
        self._failure = ""
        self._fetching = False
        self._waiting = 0
        # Guards all of these. It is never held while keys are fetched: `_fetching` keeps the other threads out then.
        self._fetched = threading.Condition()

    @classmethod
    def of(cls, *keys: Key) -> "KeySet":
        """Make a set of keys at hand."""
        made = cls({"keys": []})
        made._set = _Set(0.0, list(keys))
        return made

    def signed(self, jwt: Jwt, alg: str) -> bool:
        """True if one of the keys signed this token by ``alg``; of the header only the key's name counts.

        Raises `DiscoveryFailed` if there are no keys to be had.
        """
        found = self._current()
        verdict = _verdict(found, jwt, alg)
        if verdict is None:
            newer = self._newer(found)
            verdict = newer is not found and _verdict(newer, jwt, alg)
        return bool(verdict)

    def _current(self) -> _Set:
        """Return the set, fetched if it is too old."""
        found = self._set
        if self._url is None:
            return found
        if not self._younger(found, self._lifetime):
            found = self._newer(found, wait=not self._younger(found, 2 * self._lifetime))
        if not self._younger(found, 2 * self._lifetime):
            raise DiscoveryFailed("there are no keys to check tokens with: %s" % self._failure)
        return found

    @staticmethod
    def _younger(found: _Set, seconds: float) -> bool:
        return found.keys is not None and deadline.clock() - found.at < seconds

    def _newer(self, seen: _Set, wait: bool = True) -> _Set:
        """Return a newer set than ``seen`` if one can be had now, else the one at hand.

        One thread fetches; others ``wait`` for it, or return the set at hand.
        """
        if self._url is None:
            return seen
        with self._fetched:
            if self._fetching and not wait:
                return self._set
            if self._fetching:
                if self._waiting >= self._max_waiting:
                    raise DiscoveryFailed("the keys to check tokens with are being fetched, and too many requests "
                                          "wait for them")
                self._waiting += 1
                try:
                    self._fetched.wait_for(lambda: not self._fetching, self._patience)
                finally:
                    self._waiting -= 1
                return self._set
            if self._set is not seen or not (self._next is None or deadline.clock() >= self._next):
                return self._set
            self._fetching = True
        keys, failure = None, "fetching was interrupted"
        try:
            keys, failure = self._fetch(self._url if isinstance(self._url, str) else self._url()), ""
        except AuthError as error:
            failure = str(error)
            _log("the keys to check tokens with could not be fetched: %s", error)
        finally:
            with self._fetched:
                self._failure = failure
                if keys is not None:
                    self._set = _Set(deadline.clock(), keys)
                self._next = deadline.clock() + self._pause
                self._fetching = False
                self._fetched.notify_all()
        return self._set

    def _fetch(self, url: str) -> List[Key]:
        answer = self._fetcher.get(url)
        if answer.status != 200:
            raise DiscoveryFailed("the key set cannot be fetched: HTTP %d" % answer.status)
        try:
            return _readable(_members(answer.json("the key set")))
        except ValueError as error:
            raise DiscoveryFailed(str(error)) from None


def configured(url: str, what: str) -> str:
    """Return a URL that the program passes. Raises ValueError, naming ``what`` it is, if it must not be asked."""
    try:
        return checked(url, what)
    except DiscoveryFailed as error:
        raise ValueError(str(error)) from None


def _verdict(found: _Set, jwt: Jwt, alg: str) -> Optional[bool]:
    """Return True if a key of this set signed the token; None if the set lacks the key that the token names.

    A key without a name may be any.
    """
    key_id = jwt.header.get("kid")
    fitting = [key for key in found.keys or () if fits(key, alg) and (key_id is None or key.key_id in (None, key_id))]
    if any(verifies(key, alg, jwt.signed, jwt.signature) for key in fitting[:MAX_TRIED]):
        return True
    return False if key_id is not None and any(key.key_id == key_id for key in fitting) else None


def _members(document: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """Return the keys of a set, unread. Raises ValueError if it is none."""
    jwks = document.get("keys")
    if not isinstance(jwks, list) or not all(isinstance(jwk, Mapping) for jwk in jwks):
        raise ValueError("a key set must have a list of objects, keys [RFC 7517 §5.1]")
    if len(jwks) > MAX_KEYS:
        raise ValueError("a key set of %d keys: at most %d are read" % (len(jwks), MAX_KEYS))
    return jwks


def _readable(jwks: List[Mapping[str, Any]]) -> List[Key]:
    """Return the keys of a published set that can be used."""
    keys: List[Key] = []
    for number, jwk in enumerate(jwks):
        try:
            key = key_of(jwk)
            if key.kind == "oct":
                raise ValueError("a shared secret, published")
            keys.append(key)
        except ValueError as error:
            _log("key %d of the set is left out: %s", number, error)
    return keys


def _log(text: str, *values: Any) -> None:
    from ...diagnostics.packagelog import get_logger

    get_logger(__name__).warning(text, *values)
