"""Tokens that are of no use to a thief: each request shows that we hold the key that its token is bound to [RFC 9449].

::

    POST /mcp
    Authorization: DPoP eyJ...           the token, which names the key's thumbprint
    DPoP: eyJ...                         the proof, made for this request alone

        {"typ": "dpop+jwt", "alg": "ES256", "jwk": {the public key}}
        {"htm": "POST", "htu": the URL, "iat": now, "jti": never the same, "ath": hash of the token, "nonce": ...}

A server may want its own ``nonce`` in the proofs, so that nobody makes them in advance: it refuses with
``use_dpop_nonce`` and sends one in the field ``DPoP-Nonce``, and another one with any answer later (`Prover.learn`).
The request is then made again, once [RFC 9449 §8, §9].

`Prover` may be used by many threads.
"""

import hashlib
import re
import secrets
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ...http11.message import Headers
from ..urls import origin, split
from .jose import Signer, b64url, make_jwt, split_jwt, thumbprint

AnyHeaders = Union[Mapping[str, str], Headers]

USE_NONCE = "use_dpop_nonce"
"""The error of a server that wants a nonce of its own [RFC 9449 §8]."""
PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))
"""Members of a JWK that nobody else may see [RFC 7518 §6]."""
MAX_ORIGINS = 16
"""Servers whose nonces are kept: one of resources and its authorization servers are two or three."""

_NONCE = re.compile(r"[!#-\[\]-~]{1,1024}\Z")
"""What RFC 9449 §8.1 lets a nonce be made of; and not longer than any use of it."""


class Prover:
    """Makes the proofs of one key. ``signer`` signs with a private key; ``now`` is the time in seconds since 1970.

    Raises ValueError for a signer of shared secrets, and for one whose ``public_jwk`` shows its private half
    [RFC 9449 §4.2] MUST NOT.
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
        """The proof for one request, never to be used for another; ``token``: the access token sent with it."""
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
        """The header fields of a request: the proof, and with ``token`` the field that carries it [RFC 9449 §7.1]."""
        fields = [("DPoP", self.proof(method, url, token))]
        return fields if token is None else [("Authorization", "DPoP " + token), *fields]

    def learn(self, url: str, headers: AnyHeaders, sent: Optional[Sequence[Tuple[str, str]]] = None) -> bool:
        """Keep the nonce of an answer from this URL for the next proof; ``headers`` by lower-case names.

        Whether it is a new one, not that of the proof in ``sent``, the header fields of the request (None: than the
        last one that was learned): then a request that was refused for want of it may be made again, also if somebody
        else has learned it meanwhile. What is no nonce is ignored, as are two of them in one answer [RFC 9449 §8.1].
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

    def suits(self, algorithms: Optional[Sequence[str]]) -> bool:
        """Whether a server that announces these algorithms takes our proofs; None: it does not say, so it may."""
        return algorithms is None or self._signer.alg in algorithms
