"""Proofs that a request comes from who holds the key of its token, as a protected server checks them [RFC 9449 §4.3].

`mcp_ref.auth.tokens.dpop` makes such proofs. One is good for a request with the method and address that it names, with
the token that it names, for `SECONDS` around the time that it names, and once: who has seen one cannot use it again.

Reading: what was used is remembered by this process until it is too old, and RFC 9449 §11.1 leaves the rest to the
server. Nothing is forgotten earlier: where ``max_proofs_per_key`` or ``max_proofs`` are remembered, further requests
are refused until some have become too old. Only a proof by the key that its token is bound to is remembered, so nobody
can fill this memory but who has been given tokens. There is no nonce of the server's, for proofs made in advance are of
little use where they are good for a minute. The signature is checked in Python: that costs some 2 ms with ES256.
"""

import hashlib
import threading
from typing import Any, Callable, Dict, NamedTuple, Set, Tuple

from ...errors import AuthError, DiscoveryFailed
from ...http11.message import HttpRequest
from ...limits import DEFAULT, Limits
from ..tokens.dpop import PRIVATE
from ..tokens.jose import b64url, split_jwt, thumbprint
from ..tokens.jws import fits, key_of, verifies
from ..urls import origin, split

ALGORITHMS = ("ES256", "RS256")
"""Those that are taken; all have a public key [RFC 9449 §4.2] MUST."""
SECONDS = 60.0
"""How old a proof may be, or how young."""
_SWEEP = 1.0
"""Seconds between two searches for what can be forgotten in the middle of a full memory."""


class Proof(NamedTuple):
    """A proof that was found good: the thumbprint of its key, what tells it from others, and until when it is good."""

    thumbprint: str
    digest: bytes
    until: float


class Proofs:
    """Checks the proofs of requests to the resource at this URL. Thread-safe."""

    def __init__(self, resource: str, now: Callable[[], float], limits: Limits = DEFAULT) -> None:
        self._resource = resource
        self._now = now
        self._limits = limits
        self._lock = threading.Lock()
        self._used: Dict[bytes, Tuple[float, str]] = {}
        self._by_key: Dict[str, int] = {}
        self._swept = float("-inf")

    def check(self, request: HttpRequest, token: str) -> Proof:
        """The proof of this request. Raises ValueError, whose text shows nothing.

        It is not remembered; `use` does that, once it is known that the token is bound to its key.
        """
        fields = request.headers.get_all("dpop")
        if len(fields) != 1:
            raise ValueError("the proof is one field DPoP")
        proof = split_jwt(fields[0])
        header, claims = proof.header, proof.claims
        jwk = header.get("jwk")
        if header.get("typ") != "dpop+jwt" or header["alg"] not in ALGORITHMS or "crit" in header:
            raise ValueError("the proof is not of a kind that is taken here")
        if not isinstance(jwk, dict) or PRIVATE.intersection(jwk):
            raise ValueError("the proof has no public key in it")
        key = key_of(jwk)
        if not fits(key, header["alg"]) or not verifies(key, header["alg"], proof.signed, proof.signature):
            raise ValueError("the proof is not signed with the key in it")
        if claims.get("htm") != request.method or _bare(claims.get("htu")) not in self._addresses(request):
            raise ValueError("the proof is for another request")
        if claims.get("ath") != b64url(hashlib.sha256(token.encode("utf-8")).digest()):
            raise ValueError("the proof is for another token")
        made = claims.get("iat")
        now = self._now()  # compared, not subtracted: an integer may be too large for that
        if isinstance(made, bool) or not isinstance(made, (int, float)) or not now - SECONDS <= made <= now + SECONDS:
            raise ValueError("the proof was not made just now")
        jti, found = claims.get("jti"), thumbprint(jwk)
        if not isinstance(jti, str) or not jti:
            raise ValueError("the proof has no jti")
        digest = hashlib.sha256(("%s %s" % (found, jti)).encode("utf-8", "backslashreplace")).digest()
        return Proof(found, digest, made + SECONDS)

    def _addresses(self, request: HttpRequest) -> Set[str]:
        """How a client may call what it asks: by the resource, or where that is a whole site by a path of it."""
        return {_bare(self._resource), _bare(origin(self._resource) + request.root + request.path)}

    def use(self, proof: Proof) -> bool:
        """Remember a proof; False: it was used before. Raises `AuthError` where there is no room to remember it."""
        now, limits, key = self._now(), self._limits, proof.thumbprint
        with self._lock:
            self._forget(now)
            if proof.digest in self._used or proof.until < now:  # too old by now: it may have been forgotten just so
                return False
            if self._full(key) and not self._swept <= now < self._swept + _SWEEP:
                self._swept = now
                self._forget(now, everywhere=True)
            if self._by_key.get(key, 0) >= limits.max_proofs_per_key:
                raise AuthError("max_proofs_per_key (%d) proofs of one key are remembered" % limits.max_proofs_per_key)
            if len(self._used) >= limits.max_proofs:
                raise AuthError("max_proofs (%d) proofs are remembered" % limits.max_proofs)
            self._used[proof.digest] = proof.until, key
            self._by_key[key] = self._by_key.get(key, 0) + 1
            return True

    def _full(self, key: str) -> bool:
        limits = self._limits
        return len(self._used) >= limits.max_proofs or self._by_key.get(key, 0) >= limits.max_proofs_per_key

    def _forget(self, now: float, everywhere: bool = False) -> None:
        """Forget what is too old: from the oldest on, up to one that is not, or all of it."""
        gone = []
        for digest, (until, key) in self._used.items():
            if until < now:
                gone.append((digest, key))
            elif not everywhere:
                break
        for digest, key in gone:
            del self._used[digest]
            self._by_key[key] -= 1
            if not self._by_key[key]:
                del self._by_key[key]


def _bare(url: Any) -> str:
    """An address as it is compared: without query and fragment, scheme and host in any case [RFC 9449 §4.3]."""
    try:
        parts = split(str(url).partition("#")[0], "htu")
    except DiscoveryFailed:
        return ""
    return parts.origin + (parts.path or "/")
