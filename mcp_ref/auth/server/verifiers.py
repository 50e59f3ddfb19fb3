"""Verifiers: the ways to find out that an access token is good, for `ResourceServer`, one line each.

::

    from mcp_ref.auth import Introspection, JwtVerifier

    JwtVerifier("https://auth.example.com")                                # keys: those that the issuer publishes
    JwtVerifier("https://auth.example.com", keys="https://auth.example.com/jwks")
    JwtVerifier("https://auth.example.com", keys=b"a secret of at least 32 bytes ..", algorithms=["HS256"])
    Introspection("https://auth.example.com/introspect", "me", "my secret")

A verifier is any callable from the text of a token to an `AccessToken`; it returns None, or raises `Unauthorized` with
the reason, if the token is not good. A verifier that cannot tell now (no keys to be had, no answer) raises another
`AuthError`. That the token is meant for this server is checked by `ResourceServer`, whichever verifier has verified it;
``audience`` here is for programs that use a verifier without a resource server.

The checks of a `JwtVerifier`, in this order [RFC 9068 §4] [RFC 8725]:

=============  ====================================================================================
form           three parts, strict base64url, objects without repeated names, ``max_token_bytes``
``alg``        one of ``algorithms``; that of the header only selects. ``none`` is none of them
``crit``       absent: no extension is understood here [RFC 7515 §4.1.11] MUST
``typ``        one of ``types``, without ``application/``, in any case; absent means JWT
``iss``        the issuer, character for character
signature      by a key of the issuer of the kind that ``alg`` wants; ``kid`` names it, if anything
               does. ``jwk``, ``jku``, ``x5c`` and ``x5u`` of the header are never looked at
``exp``        there, and not past; ``leeway`` seconds are allowed for clocks that differ (but `ResourceServer`,
               which looks at it with each request, allows none)
``nbf``        past, if it is there; the same ``leeway``
``aud``        has the audience, if one is wanted; texts all of it
``sub``        a text, if it is there; so are ``client_id``, ``azp`` and ``scope``
=============  ====================================================================================

Reading: ``JWT`` is taken for ``typ`` as well, since most issuers write that; tokens that are made for something else
have another ``typ`` or another ``aud``.

The claims are those of a JWT [RFC 7519 §4.1] [RFC 9068 §2.2], and the same of the answer of an introspection
[RFC 7662 §2.2]. One that is null counts as absent. Reading: the client is ``client_id``, or else ``azp``; the scopes
are ``scope``, one text with spaces [RFC 8693 §4.2], or else ``scp``, and either may be a list: authorization servers
differ.

Tokens that were verified before cost a look into a table (`CachedVerifier`). A token is remembered by its SHA-256
digest, never as it is: a good one until it expires, but ``seconds`` at most; a bad one for ten seconds, so that it
costs nothing to send it again and again, and a key that is new is soon seen. Both kinds have a table of
``max_cached_tokens`` each, from which the oldest go: made-up tokens do not drive out good ones. An error that is not
about the token (no keys, no answer) is not remembered.
"""

import threading
import time
from hashlib import sha256
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ... import deadline
from ...errors import AuthError, DiscoveryFailed, Unauthorized
from ...limits import DEFAULT, Limits
from ...options import strict_options
from ..discover import metadata_of
from ..fetch import Fetcher, basic, configured
from ..jose import split_jwt
from ..jws import ALGORITHMS, KeySet, secret_key
from .access import AccessToken, Verify

Now = Callable[[], float]


FAILURE_SECONDS = 10.0
"""Seconds for which it is remembered that a token is not good."""


class _CachedVerdict(NamedTuple):
    """A verifier's verdict on a token, and until when (monotonic) it counts."""

    access: Optional[AccessToken]
    reason: str
    until: float


class CachedVerifier:
    """A verifier that asks another one only about tokens that are new to it. Thread-safe.

    ``seconds``: how long a good token is remembered at most. ``leeway``: seconds after its ``expires_at`` for which the
    other verifier takes it. ``now``: the wall clock.
    """

    def __init__(self, verify: Verify, *, seconds: float = 3600.0, leeway: float = 0.0, limits: Limits = DEFAULT,
                 now: Callable[[], float] = time.time) -> None:
        self._verify = verify
        self._seconds = seconds
        self._leeway = leeway
        self._capacity = limits.max_cached_tokens
        self._now = now
        self._good: Dict[bytes, _CachedVerdict] = {}
        self._bad: Dict[bytes, _CachedVerdict] = {}
        self._lock = threading.Lock()

    def __call__(self, token: str) -> Optional[AccessToken]:
        """Return the contents of a token, from the cache if it is there. Raises what the other verifier raises."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            table = self._good if digest in self._good else self._bad
            known = table.get(digest)
            if known is not None and self._expired(known):
                del table[digest]
                known = None
        if known is None:
            known = self._asked(token)
            table = self._bad if known.access is None else self._good
            with self._lock:
                table[digest] = known
                if len(table) > self._capacity:
                    del table[next(iter(table))]
        if known.reason:
            raise Unauthorized(known.reason)
        return known.access

    def _expired(self, known: _CachedVerdict) -> bool:
        until = known.access.expires_at if known.access is not None else None
        return deadline.clock() >= known.until or until is not None and self._now() >= until + self._leeway

    def _asked(self, token: str) -> _CachedVerdict:
        access, reason = None, ""
        try:
            access = self._verify(token)
        except Unauthorized as error:
            reason = str(error) or "the token is not good"
        seconds = self._seconds if access is not None else min(FAILURE_SECONDS, self._seconds)
        return _CachedVerdict(access, reason, deadline.clock() + seconds)


class _Verifier(CachedVerifier):
    """The common part of verifiers: verdicts are remembered for ``seconds`` at most, and claims are checked."""

    def __init__(self, audience: Optional[str], leeway: float, fetcher: Optional[Fetcher], limits: Limits, now: Now,
                 seconds: float = 3600.0) -> None:
        super().__init__(self.verify, seconds=seconds, leeway=leeway, limits=limits, now=now)
        self._audience = audience
        self._limits = limits
        self._fetcher = fetcher or Fetcher(limits)

    def verify(self, token: str) -> AccessToken:
        """Return the contents of a token. Raises `Unauthorized` if it is not good, another `AuthError` if it cannot be
        checked."""
        raise NotImplementedError

    def _access(self, claims: Dict[str, Any]) -> AccessToken:
        """Return the contents that verified claims say, after the checks of times and audience. Raises `Unauthorized`,
        also for a claim that is not of its type."""
        access = AccessToken(
            subject=_text(claims, "sub"),
            client_id=_text(claims, "client_id") or _text(claims, "azp"),
            issuer=_text(claims, "iss"),
            audience=_texts(claims, "aud", lambda text: [text]) or [],
            scopes=_scopes(claims),
            expires_at=_time(claims, "exp"),
            claims=claims,
        )
        now, since = self._now(), _time(claims, "nbf")
        if access.expires_at is not None and now >= access.expires_at + self._leeway:
            raise Unauthorized("the token has expired")
        if since is not None and now < since - self._leeway:
            raise Unauthorized("the token is not valid yet")
        if self._audience is not None and self._audience not in access.audience:
            raise Unauthorized("the token is not meant for this server")
        return access


class JwtVerifier(_Verifier):
    """Verifies tokens that are JWTs, by the table above. ``issuer``: exactly as tokens name it.

    ``keys``: a URL of a JSON Web Key Set, the set as JSON, a `KeySet`, or the secret of HS256; None: the issuer's
    metadata tells. ``algorithms``: of ``RS256`` and ``ES256``, or ``HS256`` alone, since its key is a secret.
    ``leeway``: seconds. Good tokens are remembered until they expire, but for an hour at most: so long may a token go
    on being good whose key was withdrawn, beside the time for which a `KeySet` keeps that. Raises ValueError for
    arguments that do not fit together.
    """

    @strict_options
    def __init__(
        self,
        issuer: str,
        *,
        keys: Union[None, str, bytes, Mapping[str, Any], KeySet] = None,
        audience: Optional[str] = None,
        algorithms: Sequence[str] = ("RS256", "ES256"),
        types: Sequence[str] = ("at+jwt", "JWT"),
        leeway: float = 30.0,
        fetcher: Optional[Fetcher] = None,
        limits: Limits = DEFAULT,
        now: Now = time.time,
    ) -> None:
        if isinstance(algorithms, str) or not algorithms or not set(algorithms) <= set(ALGORITHMS):
            raise ValueError("algorithms is a list of some of %s" % ", ".join(sorted(ALGORITHMS)))
        if "HS256" in algorithms and (len(set(algorithms)) > 1 or keys is None or isinstance(keys, str)):
            raise ValueError("HS256 goes with no other algorithm, and its key is passed: keys=b'...'")
        super().__init__(audience, leeway, fetcher, limits, now)
        self.issuer = issuer
        self._algorithms = frozenset(algorithms)
        self._types = frozenset(kind.lower() for kind in types)
        if isinstance(keys, bytes):
            self._keys = KeySet.of(secret_key(keys))
        elif isinstance(keys, KeySet):
            self._keys = keys
        else:
            if keys is None:
                configured(issuer, "issuer")
            self._keys = KeySet(self._key_url if keys is None else keys, self._fetcher, limits=limits)

    def __repr__(self) -> str:
        return "JwtVerifier(%r)" % self.issuer

    def verify(self, token: str) -> AccessToken:
        """Return the contents of a token. Raises `Unauthorized` if it is not good, `DiscoveryFailed` if there are no
        keys."""
        try:
            jwt = split_jwt(token, self._limits.max_token_bytes)
        except ValueError as error:
            raise Unauthorized(str(error)) from None
        # The signature, which costs milliseconds, is checked after all that costs nothing; the claims only after that.
        self._check_header(jwt.header)
        if jwt.claims.get("iss") != self.issuer:
            raise Unauthorized("the token is not of the issuer that is trusted here")
        if not self._keys.signed(jwt, jwt.header["alg"]):
            raise Unauthorized("the token is not signed with a key of its issuer")
        if jwt.claims.get("exp") is None:
            raise Unauthorized("the token does not say when it expires")
        return self._access(jwt.claims)

    def _check_header(self, header: Dict[str, Any]) -> None:
        if header["alg"] not in self._algorithms:
            raise Unauthorized("the token is signed with an algorithm that is not taken here")
        if "crit" in header:
            raise Unauthorized("the token needs an extension of JWS that is not known here")
        kind = header.get("typ", "JWT")
        plain = kind.lower() if isinstance(kind, str) else ""
        if (plain[len("application/"):] if plain.startswith("application/") else plain) not in self._types:
            raise Unauthorized("the token is not an access token by its typ")
        if not isinstance(header.get("kid", ""), str):
            raise Unauthorized("the token names its key by something that is not a string")

    def _key_url(self) -> str:
        found = metadata_of(self._fetcher, self.issuer).jwks_uri
        if found is None:
            raise DiscoveryFailed("the metadata of the issuer has no jwks_uri: pass keys=")
        return found


class Introspection(_Verifier):
    """Asks the authorization server about each token [RFC 7662 §2].

    ``endpoint``: its URL. ``client_id`` and ``client_secret``: of this server, there; sent as HTTP Basic, or in the
    form with ``method="client_secret_post"``. ``issuer``: the only ``iss`` that an answer may have, and the issuer of
    an answer without one. An answer is remembered for ``remember`` seconds: so long may a token go on being good after
    it was revoked. 0: every request asks. No more than half of ``max_workers`` requests ask at a time, others get an
    `AuthError`: if answers are slow, a client that makes up tokens must not hold all threads of a server. Raises
    ValueError for arguments that do not fit together.
    """

    @strict_options
    def __init__(
        self,
        endpoint: str,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        *,
        method: str = "client_secret_basic",
        issuer: Optional[str] = None,
        audience: Optional[str] = None,
        remember: float = 30.0,
        leeway: float = 30.0,
        fetcher: Optional[Fetcher] = None,
        limits: Limits = DEFAULT,
        now: Now = time.time,
    ) -> None:
        if method not in ("client_secret_basic", "client_secret_post"):
            raise ValueError("method is client_secret_basic or client_secret_post")
        if (client_id is None) != (client_secret is None):
            raise ValueError("client_id and client_secret go together")
        super().__init__(audience, leeway, fetcher, limits, now, seconds=remember)
        self._endpoint = configured(endpoint, "introspection endpoint")
        self._fields: List[Tuple[str, str]] = []
        self._headers: List[Tuple[str, str]] = []
        if client_id is not None and client_secret is not None:
            if method == "client_secret_basic":
                self._headers = [basic(client_id, client_secret)]
            else:
                self._fields = [("client_id", client_id), ("client_secret", client_secret)]
        self.issuer = issuer
        self._asking = threading.BoundedSemaphore(max(1, limits.max_workers // 2))

    def __repr__(self) -> str:
        return "Introspection(%r)" % self._endpoint.partition("?")[0]

    def verify(self, token: str) -> AccessToken:
        """Return the contents of a token. Raises `Unauthorized` if it is not active, `AuthError` if the endpoint does
        not answer."""
        if len(token) > self._limits.max_token_bytes:
            raise Unauthorized("a token of %d characters exceeds max_token_bytes (%d)"
                               % (len(token), self._limits.max_token_bytes))
        if not token.isascii() or not token.isprintable():
            raise Unauthorized("the token has characters that none has")
        claims = self._answer(token)
        if claims.get("active") is not True:
            raise Unauthorized("the token is not active")
        if claims.get("iss") is None:
            claims["iss"] = self.issuer
        if self.issuer is not None and claims["iss"] != self.issuer:
            raise Unauthorized("the token is not of the issuer that is trusted here")
        return self._access(claims)

    def _answer(self, token: str) -> Dict[str, Any]:
        """Return the answer of the endpoint. Raises `AuthError` if there is none."""
        fields = [("token", token), ("token_type_hint", "access_token"), *self._fields]
        if not self._asking.acquire(blocking=False):
            raise AuthError("half of max_workers are asking the introspection endpoint already")
        try:
            answer = self._fetcher.post_form(self._endpoint, fields, self._headers)
        finally:
            self._asking.release()
        if answer.status != 200:
            raise AuthError("the introspection endpoint answered HTTP %d%s" % (
                answer.status, ": it does not take our client_id and client_secret" if answer.status == 401 else ""))
        return answer.json("answer of the introspection endpoint")


_LATEST = 1e14
"""Seconds since 1970; a later time is none, and might be an integer that no arithmetic with fractions takes."""


def _text(claims: Mapping[str, Any], name: str) -> Optional[str]:
    found = claims.get(name)
    if found is not None and not isinstance(found, str):
        raise Unauthorized("the token's %s is not a string" % name)
    return found


def _texts(claims: Mapping[str, Any], name: str, of_text: Callable[[str], List[str]]) -> Optional[List[str]]:
    """Return a claim that is a list of strings, or one string from which ``of_text`` makes a list."""
    found = claims.get(name)
    if isinstance(found, str):
        return of_text(found)
    if found is not None and not (isinstance(found, list) and all(isinstance(item, str) for item in found)):
        raise Unauthorized("the token's %s is neither a string nor a list of strings" % name)
    return found


def _scopes(claims: Mapping[str, Any]) -> List[str]:
    found = _texts(claims, "scope", str.split)
    return (_texts(claims, "scp", str.split) or []) if found is None else found


def _time(claims: Mapping[str, Any], name: str) -> Optional[float]:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not abs(found) < _LATEST:
        raise Unauthorized("the token's %s is no time [RFC 7519 §2]" % name)
    return float(found)
