"""The tokens that clients show to the soaked server: JWTs that are signed with a secret, good and bad ones."""
import base64
import hmac
import json
import time
from typing import Any, Dict, Optional

AUDIENCE, ISSUER = "https://soak.example/mcp", "https://issuer.example"
SECRET = b"the secret of this soak, which is none"


def token_of(kind: str, person: str) -> Optional[str]:
    """A token of this kind; None: none at all. Any kind that is not named here is good."""
    if kind in ("none", "garbage"):
        return None if kind == "none" else "x" * 40
    claims: Dict[str, Any] = {"iss": ISSUER, "sub": person, "aud": AUDIENCE, "exp": int(time.time()) + 3600}
    if kind == "expired":
        claims["exp"] -= 7200
    elif kind == "for others":
        claims["aud"] = "https://other.example/mcp"
    said = b".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "at+jwt"}, claims))
    key = SECRET if kind != "unknown" else SECRET[::-1]
    return (said + b"." + _base64(hmac.new(key, said, "sha256").digest())).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
