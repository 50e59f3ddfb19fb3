"""How a client shows who it is with a signature instead of a secret: a JWT about itself [RFC 7523 §2.2, §3].

::

    POST /token
    grant_type=...&client_assertion_type=urn:...:jwt-bearer&client_assertion=eyJhbGciOi...

        {"alg": "ES256", "typ": "JWT", "kid": ...}
        {"iss": client id, "sub": client id, "aud": issuer, "iat": now, "exp": soon, "jti": never the same}

The authorization server knows the public key from registration or from the client's metadata document
[2025-11-25 basic/authorization §Client ID Metadata Documents]
[2026-07-28 basic/authorization/client-registration §Implementation Requirements] MAY.

Reading: RFC 7523 leaves open whether ``aud`` is the issuer or the URL of the token endpoint. It is the issuer here and
nothing else: a server that we are led to by mistake cannot then use the assertion at another one.
"""

import secrets
from typing import List, Optional, Sequence, Tuple

from ...errors import TokenRefused
from .issued import sayable
from .jose import Signer, make_jwt

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
"""[RFC 7523 §2.2]"""
LIFETIME = 60.0
"""Seconds that an assertion is good for: enough for one request, and for clocks that differ a little."""


def client_assertion(signer: Signer, client_id: str, issuer: str, now: float) -> str:
    """An assertion for one request, made ``now`` (seconds since 1970)."""
    return make_jwt(signer, {
        "iss": client_id, "sub": client_id, "aud": issuer,
        "iat": int(now), "exp": int(now + LIFETIME), "jti": secrets.token_urlsafe(16),
    })


def assertion_fields(signer: Signer, client_id: str, issuer: str, now: float,
                     algorithms: Optional[Sequence[str]] = None) -> List[Tuple[str, str]]:
    """The two fields of a token request. ``algorithms``: those that the server announces, None if it does not say.

    Raises `TokenRefused` before anything is signed where the server would not take the signer's algorithm
    [RFC 8414 §2].
    """
    if algorithms is not None and signer.alg not in algorithms:
        raise TokenRefused("the authorization server takes assertions signed with %s, and the signer signs with %s"
                           % (sayable(", ".join(algorithms)) or "nothing", signer.alg), "invalid_client")
    return [("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", client_assertion(signer, client_id, issuer, now))]
