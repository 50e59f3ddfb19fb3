"""DPoP: tokens that are of no use to a thief, because each request proves that its sender holds their key [RFC 9449].

::

    POST /mcp
    Authorization: DPoP eyJ...           the token, which names the key's thumbprint
    DPoP: eyJ...                         the proof, made for this request alone

        {"typ": "dpop+jwt", "alg": "ES256", "jwk": {the public key}}
        {"htm": "POST", "htu": the URL, "iat": now, "jti": never the same, "ath": hash of the token, "nonce": ...}

A client makes proofs with a `Prover`. A server may want its own ``nonce`` in the proofs, so that no one makes them in
advance: it refuses with ``use_dpop_nonce`` and sends one in the field ``DPoP-Nonce``, and another one with any answer
later (`Prover.learn_nonce`). The request is then made again, once [RFC 9449 §8, §9].

A protected server checks proofs with a `ProofChecker` [RFC 9449 §4.3]. A proof is good for a request with the method
and address that it names, with the token that it names, for `SECONDS` around the time that it names, and once: a thief
who has seen it cannot use it again.

Reading: used proofs are remembered by this process until they are too old, and RFC 9449 §11.1 leaves the rest to the
server. None is forgotten earlier: while ``max_proofs_per_key`` or ``max_proofs`` are remembered, further requests are
refused until some have become too old. Only a proof by the key that its token is bound to is remembered, so only
clients that have been given tokens can fill this memory. There is no nonce of the server's, for proofs made in advance
are of little use when they are good for a minute. The signature is checked in Python: that costs some 2 ms with ES256.
"""

import hashlib
import re
import secrets
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ...auth.fetch import origin, split
from ...auth.jose import Signer, b64url, make_jwt, split_jwt, thumbprint
from ...auth.jws import PUBLIC_KEY_ALGORITHMS, fits, key_of, verifies
from ...errors import AuthError, DiscoveryFailed
from ...http11.message import Headers, HttpRequest
from ...limits import DEFAULT, Limits

AnyHeaders = Union[Mapping[str, str], Headers]

USE_NONCE = "use_dpop_nonce"
"""The error of a server that wants a nonce of its own [RFC 9449 §8]."""
PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
"""Members of a JWK that must stay secret [RFC 7518 §6]."""
MAX_ORIGINS = 16
"""Servers whose nonces are kept: one of resources and its authorization servers are two or three."""

_NONCE = re.compile(r"[!#-\[\]-~]{1,1024}\Z")
"""The form of a nonce [RFC 9449 §8.1], no longer than is of any use."""


class Prover:
    """Makes the proofs of one key. Thread-safe.

    ``signer`` signs with a private key; ``now`` is the time in seconds since 1970. Raises ValueError for a signer of
    shared secrets, and for one whose ``public_jwk`` shows its private half [RFC 9449 §4.2] MUST NOT.
    """

    def __init__(self, signer: Signer, now: Callable[[], float] = time.time) -> None:
        if signer.alg == "none" or signer.alg.startswith("HS"):
            raise ValueError("DPoP needs a signer with a private key, such as ES256, not %s" % signer.alg)
        shown = PRIVATE.intersection(signer.public_jwk)
        if shown:
            raise ValueError("the public_jwk of the signer shows its private key: %s" % ", ".join(sorted(shown)))
        self.thumbprint = thumbprint(signer.public_jwk)
        self._signer = signer
        self._now = now
        self._nonces: Dict[str, str] = {}
        self._lock = threading.Lock()

    def proof(self, method: str, url: str, token: Optional[str] = None) -> str:
        """Make the proof for one request, never to be used for another. ``token``: the access token sent with it."""
        target = split(url.partition("#")[0], "URL")
        claims: Dict[str, Any] = {
            "jti": secrets.token_urlsafe(16), "htm": method, "htu": target.origin + (target.path or "/"),
            "iat": int(self._now()),
        }
        if token is not None:
            claims["ath"] = b64url(hashlib.sha256(token.encode("utf-8")).digest())
        with self._lock:
            nonce = self._nonces.get(target.origin)
        if nonce is not None:
            claims["nonce"] = nonce
        return make_jwt(self._signer, claims, [("typ", "dpop+jwt"), ("jwk", self._signer.public_jwk)])

    def fields(self, method: str, url: str, token: Optional[str] = None) -> List[Tuple[str, str]]:
        """Return the header fields of a request: the proof, and with ``token`` the field that carries it [RFC 9449
        §7.1]."""
        fields = [("DPoP", self.proof(method, url, token))]
        return fields if token is None else [("Authorization", "DPoP " + token), *fields]

    def learn_nonce(self, url: str, headers: AnyHeaders, sent: Optional[Sequence[Tuple[str, str]]] = None) -> bool:
        """Keep the nonce of an answer from this URL for the next proof. ``headers``: by lower-case names.

        Returns True if it is a new nonce, other than that of the proof in ``sent``, the header fields of the request
        (None: than the last one that was learned). Then a request that was refused for want of it may be made again,
        also if another thread has learned it meanwhile. A field that is no nonce is ignored, as are two of them in one
        answer [RFC 9449 §8.1].
        """
        nonce = headers.get("dpop-nonce") or ""
        if not _NONCE.match(nonce):
            return False
        server = origin(url)
        with self._lock:
            new = self._nonces.pop(server, None) != nonce
            self._nonces[server] = nonce
            while len(self._nonces) > MAX_ORIGINS:
                del self._nonces[next(iter(self._nonces))]
        if sent is None:
            return new
        proof = dict(sent).get("DPoP")
        return proof is not None and split_jwt(proof).claims.get("nonce") != nonce

    def accepted_by(self, algorithms: Optional[Sequence[str]]) -> bool:
        """True if a server that announces these algorithms takes our proofs. None: it does not say, so it may."""
        return algorithms is None or self._signer.alg in algorithms


SECONDS = 60.0
"""Seconds before and after its time for which a proof is good."""
_SWEEP = 1.0
"""Seconds between two searches through a full memory for proofs that are too old."""


class Proof(NamedTuple):
    """A good proof: the thumbprint of its key, a digest that tells it from others, and the time until which it is good.
    """

    thumbprint: str
    digest: bytes
    until: float


class ProofChecker:
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
        """Return the proof of this request. Raises ValueError, whose text shows nothing of it.

        The proof is not remembered yet: `use` does that, once it is known that the token is bound to its key.
        """
        # The checks of [RFC 9449 §4.3] by their numbers there; 10, the nonce, is not used here (see the module).
        # 1 and 2: one field, one well-formed JWT.
        fields = request.headers.get_all("dpop")
        if len(fields) != 1:
            raise ValueError("the proof is one field DPoP")
        proof = split_jwt(fields[0])
        header, claims = proof.header, proof.claims
        # 4, 5 and 7: the type, an asymmetric algorithm, a key without its private half.
        jwk = header.get("jwk")
        if header.get("typ") != "dpop+jwt" or header["alg"] not in PUBLIC_KEY_ALGORITHMS or "crit" in header:
            raise ValueError("the proof is not of a kind that is taken here")
        if not isinstance(jwk, dict) or PRIVATE.intersection(jwk):
            raise ValueError("the proof has no public key in it")
        # 6: the signature, by the key in the proof itself.
        key = key_of(jwk)
        if not fits(key, header["alg"]) or not verifies(key, header["alg"], proof.signed, proof.signature):
            raise ValueError("the proof is not signed with the key in it")
        # 8, 9 and 12: made for this request and this token.
        # A client calls the resource, or if that is a whole site a path of it.
        addresses = _bare(self._resource), _bare(origin(self._resource) + request.root + request.path)
        if claims.get("htm") != request.method or _bare(claims.get("htu")) not in addresses:
            raise ValueError("the proof is for another request")
        if claims.get("ath") != b64url(hashlib.sha256(token.encode("utf-8")).digest()):
            raise ValueError("the proof is for another token")
        # 11 and 3: made just now, and with a name of its own, so that it can be taken once.
        made = claims.get("iat")
        now = self._now()  # compared, not subtracted: an integer may be too large for that
        if isinstance(made, bool) or not isinstance(made, (int, float)) or not now - SECONDS <= made <= now + SECONDS:
            raise ValueError("the proof was not made just now")
        jti, found = claims.get("jti"), thumbprint(jwk)
        if not isinstance(jti, str) or not jti:
            raise ValueError("the proof has no jti")
        digest = hashlib.sha256(("%s %s" % (found, jti)).encode("utf-8", "backslashreplace")).digest()
        return Proof(found, digest, made + SECONDS)

    def use(self, proof: Proof) -> bool:
        """Remember a proof. Returns False if it was used before. Raises `AuthError` if there is no room to remember it.
        """
        now, limits, key = self._now(), self._limits, proof.thumbprint
        with self._lock:
            self._forget(now)
            if proof.digest in self._used or proof.until < now:  # an old one may just have been forgotten
                return False
            full = len(self._used) >= limits.max_proofs or self._by_key.get(key, 0) >= limits.max_proofs_per_key
            if full and not self._swept <= now < self._swept + _SWEEP:
                self._swept = now
                self._forget(now, everywhere=True)
            if self._by_key.get(key, 0) >= limits.max_proofs_per_key:
                raise AuthError("max_proofs_per_key (%d) proofs of one key are remembered" % limits.max_proofs_per_key)
            if len(self._used) >= limits.max_proofs:
                raise AuthError("max_proofs (%d) proofs are remembered" % limits.max_proofs)
            self._used[proof.digest] = proof.until, key
            self._by_key[key] = self._by_key.get(key, 0) + 1
            return True

    def _forget(self, now: float, everywhere: bool = False) -> None:
        """Forget proofs that are too old: from the oldest on, up to one that is not, or (``everywhere``) all of them.
        """
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
    """Return an address as it is compared: without query and fragment, scheme and host in any case [RFC 9449 §4.3]."""
    try:
        parts = split(str(url).partition("#")[0], "htu")
    except DiscoveryFailed:
        return ""
    return parts.origin + (parts.path or "/")
