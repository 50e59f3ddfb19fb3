"""Proofs that a request comes from who holds the key of its token, as a protected server checks them [RFC 9449 §4.3].

`mcp_ref.auth.dpop` makes such proofs. One is good for a request with the method and address that it names, with the
token that it names, for `SECONDS` around the time that it names, and once: who has seen one cannot use it again.

Reading: what was used is remembered by this process, and at most `REMEMBERED` of it, oldest forgotten first; RFC 9449
§11.1 leaves that to the server. There is no nonce of the server's, for proofs made in advance are of little use where
they are good for a minute. The signature is checked in Python: that costs some 2 ms with ES256.
"""

import hashlib
import threading
from typing import Any, Callable, Dict, Set

from ..errors import DiscoveryFailed
from ..transports.http_exchange import HttpRequest
from .dpop import PRIVATE
from .jose import b64url, split_jwt, thumbprint
from .jws import fits, key_of, verifies
from .urls import origin, split

ALGORITHMS = ("ES256", "RS256")
"""Those that are taken; all have a public key [RFC 9449 §4.2] MUST."""
SECONDS = 60.0
"""How old a proof may be, or how young."""
REMEMBERED = 100_000


class Proofs:
    """Checks the proofs of requests to the resource at this URL. Thread-safe."""

    def __init__(self, resource: str, now: Callable[[], float]) -> None:
        self._resource = resource
        self._now = now
        self._lock = threading.Lock()
        self._used: Dict[bytes, float] = {}

    def check(self, request: HttpRequest, token: str) -> str:
        """The thumbprint of the key that this request is proved with. Raises ValueError, whose text shows nothing."""
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
        found = thumbprint(jwk)
        self._once(claims.get("jti"), found, made + SECONDS)
        return found

    def _addresses(self, request: HttpRequest) -> Set[str]:
        """How a client may call what it asks: by the resource, or where that is a whole site by a path of it."""
        return {_bare(self._resource), _bare(origin(self._resource) + request.root + request.path)}

    def _once(self, jti: Any, found: str, until: float) -> None:
        if not isinstance(jti, str) or not jti:
            raise ValueError("the proof has no jti")
        digest = hashlib.sha256(("%s %s" % (found, jti)).encode("utf-8", "backslashreplace")).digest()
        now = self._now()
        with self._lock:
            if digest in self._used:
                raise ValueError("the proof was used before")
            self._used[digest] = until
            while self._used:
                oldest = next(iter(self._used))
                if len(self._used) <= REMEMBERED and self._used[oldest] >= now:
                    break
                del self._used[oldest]


def _bare(url: Any) -> str:
    """An address as it is compared: without query and fragment, scheme and host in any case [RFC 9449 §4.3]."""
    try:
        parts = split(str(url).partition("#")[0], "htu")
    except DiscoveryFailed:
        return ""
    return parts.origin + (parts.path or "/")
