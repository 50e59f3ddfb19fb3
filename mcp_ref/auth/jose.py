"""JSON Web Tokens as text: their three parts, and the `Signer` that makes the third.

=================  =================  ==============================
``eyJhbGciOi...``  ``eyJpc3MiOi...``  ``dBjftJeZ4C...``
=================  =================  ==============================
header             claims             signature of "header.claims"
base64url(JSON)    base64url(JSON)    base64url(bytes)
=================  =================  ==============================

Nothing here decides that a token is to be believed: `split_jwt` takes it apart, `jws` checks the signature,
`mcp_ref.auth.server.verifiers` the rest. No error of this module shows any part of a token.

Signers. A client signs three things: ``private_key_jwt`` assertions, which show who the client is; assertions of
workloads that you make yourself; and DPoP proofs. Each is signed with a key of the client. Python's library has no such
signatures, and arithmetic with Python's integers takes a time that depends on the key, so it would leak the key. So
this package signs with shared secrets only (`HmacSigner`), and takes a `Signer` for the rest: an object with ``alg``,
``public_jwk`` and ``sign(data)``, perhaps with ``key_id``::

    from mcp_ref.auth import ClientCredentials, Signer

    class Key(Signer):
        alg = "ES256"
        public_jwk = {"kty": "EC", "crv": "P-256", "x": "...", "y": "..."}

        def sign(self, data):
            return hardware.sign(data)  # 64 bytes: r and s

    auth = ClientCredentials("my-service", signer=Key(), issuer="https://auth.example.com")

``examples/signers.py`` is a `Signer` over the ``openssl`` command, with a key that only ``openssl`` reads. It starts a
process for each signature, which takes some 10 ms. Over an installed ``cryptography``, which is faster (0.2 ms) and can
read keys with a passphrase::

    # not run: needs the package cryptography; tests/auth/test_readme_signers.py runs it where that is
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from mcp_ref.auth import Signer, b64url


    class CryptographySigner(Signer):
        alg = "ES256"

        def __init__(self, key, key_id=None):
            self.key, self.key_id = key, key_id
            numbers = key.public_key().public_numbers()
            self.public_jwk = {"kty": "EC", "crv": "P-256",
                               "x": b64url(numbers.x.to_bytes(32, "big")), "y": b64url(numbers.y.to_bytes(32, "big"))}

        def sign(self, data):
            pair = decode_dss_signature(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
            return b"".join(number.to_bytes(32, "big") for number in pair)


    with open("key.pem", "rb") as file:
        signer = CryptographySigner(serialization.load_pem_private_key(file.read(), password=None))

``dpop=signer`` of any grant binds its tokens to the key of that signer. The key may be new each time that the program
starts: ``OAuth(dpop=CryptographySigner(ec.generate_private_key(ec.SECP256R1())))``. A refresh token in a store then
ends with it, for it is bound too. (The ES256 signer of the tests, ``tests/conformance/es256.py``, is not constant-time.
It is good for tests and nothing else.)
"""

import hashlib
import hmac
from base64 import b64encode, urlsafe_b64decode
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ..jsontext import dumps, loads
from ..limits import DEFAULT
from ..options import strict_options

MIN_SECRET = 32
"""Bytes of a secret for HS256: not fewer than the hash has [RFC 7518 §3.2] MUST."""

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

_THUMBPRINT: Dict[str, Tuple[str, ...]] = {
    "EC": ("crv", "kty", "x", "y"),
    "RSA": ("e", "kty", "n"),
    "OKP": ("crv", "kty", "x"),
    "oct": ("k", "kty"),
}
"""Members of a key that make it what it is, in the order of their names [RFC 7638 §3.2] [RFC 8037 §2]."""


class Jwt(NamedTuple):
    """A token, taken apart. ``signed`` are the bytes that ``signature`` signs; neither is checked yet."""

    header: Dict[str, Any]
    claims: Dict[str, Any]
    signed: bytes
    signature: bytes

    def __repr__(self) -> str:
        return "Jwt(...)"


class Signer:
    """Signs bytes with one key. Derive from it; an object that has these four names will do as well.

    ``alg``: the algorithm's name in JWS [RFC 7518 §3.1]. ``public_jwk``: the public half of the key,
    ``{}`` for a shared secret. ``key_id``: the receiver's name for the key, the ``kid`` of the header; None: not said.
    """

    alg: str
    public_jwk: Dict[str, Any] = {}
    key_id: Optional[str] = None

    def sign(self, data: bytes) -> bytes:
        """Return the signature of these bytes as JWS wants it: for ES256 r and s in 32 bytes each, not DER [RFC 7518
        §3.4]."""
        raise NotImplementedError("%s must say how to sign" % type(self).__name__)


class HmacSigner(Signer):
    """Signs with HMAC and SHA-256 under a secret that the receiver knows too.

    A text stands for its UTF-8 bytes. Raises ValueError if it has fewer than 32.
    """

    alg = "HS256"

    @strict_options
    def __init__(self, secret: Union[str, bytes], key_id: Optional[str] = None) -> None:
        self._secret = checked_secret(secret)
        self.key_id = key_id

    def sign(self, data: bytes) -> bytes:
        """Return the signature, 32 bytes."""
        return hmac.new(self._secret, data, hashlib.sha256).digest()


def checked_secret(secret: Union[str, bytes]) -> bytes:
    """Return a secret for HS256 as bytes. Raises ValueError if it is too short."""
    data = secret.encode("utf-8") if isinstance(secret, str) else bytes(secret)
    if len(data) < MIN_SECRET:
        raise ValueError("a secret for HS256 has at least %d bytes, this one %d [RFC 7518 §3.2]: make one with "
                         "secrets.token_urlsafe(32)" % (MIN_SECRET, len(data)))
    return data


def b64url(data: bytes) -> str:
    """Return these bytes in base64url without padding [RFC 7515 §2]."""
    return b64encode(data, b"-_").rstrip(b"=").decode("ascii")


def unb64url(text: str) -> bytes:
    """Return the bytes of a base64url text. Strict: each value has one text, so that none can be changed unnoticed.

    Raises ValueError for other characters, padding, a length that cannot be, and bits left over that are not zero.
    """
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        data = b"?"
    if data.translate(None, _ALPHABET) or len(data) % 4 == 1:
        raise ValueError("not base64url without padding [RFC 7515 §2]")
    value = urlsafe_b64decode(data + b"=" * (-len(data) % 4))
    if b64url(value) != text:
        raise ValueError("not base64url: bits left over [RFC 4648 §3.5]")
    return value


def make_jwt(signer: Signer, claims: Mapping[str, Any], header: Sequence[Tuple[str, Any]] = ()) -> str:
    """Make a signed token with these claims. ``header`` adds to ``alg``, ``typ`` (JWT, if not given) and ``kid``.

    Raises ValueError if ``header`` names an ``alg``, which is the signer's, or a value cannot be JSON.
    """
    fields: Dict[str, Any] = {"alg": signer.alg, "typ": "JWT"}
    if signer.key_id is not None:
        fields["kid"] = signer.key_id
    if any(name == "alg" for name, _ in header):
        raise ValueError("the alg of a header is that of its signer")
    fields.update(header)
    signed = ".".join(b64url(dumps(part).encode("ascii")) for part in (fields, dict(claims)))
    return "%s.%s" % (signed, b64url(signer.sign(signed.encode("ascii"))))


def split_jwt(token: str, max_bytes: int = DEFAULT.max_token_bytes) -> Jwt:
    """Return the parts of a token. Raises ValueError if it is none; the text does not show it.

    Header and claims are objects without repeated names [RFC 7515 §4] [RFC 7519 §4]; the header has an ``alg``.
    """
    if len(token) > max_bytes:
        raise ValueError("a token of %d characters exceeds max_token_bytes (%d)" % (len(token), max_bytes))
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("not a signed JWT: %d parts instead of 3 [RFC 7515 §7.1]" % len(parts))
    objects: List[Dict[str, Any]] = []
    for what, part in zip(("header", "claims"), parts):
        try:
            value = loads(unb64url(part))
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise ValueError("the %s of a JWT must be a JSON object in base64url" % what)
        objects.append(value)
    header, claims = objects
    if not isinstance(header.get("alg"), str):
        raise ValueError("the header of a JWT must say its alg [RFC 7515 §4.1.1]")
    return Jwt(header, claims, ("%s.%s" % (parts[0], parts[1])).encode("ascii"), unb64url(parts[2]))


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the name that a public key gives itself: SHA-256 over its members [RFC 7638 §3], in base64url.

    Raises ValueError for an unknown kind of key, or one with a member missing.
    """
    kind = jwk.get("kty")
    names = _THUMBPRINT.get(kind, ()) if isinstance(kind, str) else ()
    if not names or any(not isinstance(jwk.get(name), str) for name in names):
        raise ValueError("a key without what its kind has: %s" % (", ".join(names) or "kty"))
    text = dumps({name: jwk[name] for name in names})
    return b64url(hashlib.sha256(text.encode("ascii")).digest())
