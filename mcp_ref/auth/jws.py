"""Signatures checked (HS256, RS256, ES256) with Python's integers [RFC 7515 §5.2] [RFC 7518 §3], and key sets.

Checking a signature handles nothing secret but the shared secret of HS256, for which `hmac` is used; so it does not
matter that integers take a time that depends on their values. (Signing is another matter: see `jose.Signer`.) An ES256
signature costs 1 to 2 milliseconds, an RS256 one 0.1.

A `Key` is of one kind, and an algorithm of ALGORITHMS takes keys of one kind only. So a public key never serves as the
secret of HS256, whatever the header of a token says [RFC 8725 §2.1].

The rules for a key [RFC 7518 §6]:

====  ===========================================================================================
RSA   ``n`` odd, of 2048 to 8192 bits; ``e`` odd, of 2 to 32 bits; the private members are not read
EC    on the curve P-256; ``x`` and ``y`` of 32 bytes each, below its prime, and a point of it
oct   32 bytes or more
all   ``use``, if there is one, ``sig``; ``key_ops``, if there is one, with ``verify``
====  ===========================================================================================

Reading: zero bytes before ``n`` and ``e`` do not count, for some programs write them.

A `KeySet` is the keys of an authorization server, fetched when they are needed [RFC 7517 §5]:

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

import hashlib
import hmac
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from ..diagnostics.packagelog import get_logger
from ..errors import DiscoveryFailed
from ..limits import DEFAULT, Limits
from .fetch import CachedDocument, Fetcher, configured
from .jose import Jwt, checked_secret, unb64url

Point = Tuple[int, int, int]
"""A point in Jacobian coordinates: x/z², y/z³; z is 0 for the point at infinity."""

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
"""The prime of P-256 [FIPS 186-4 D.1.2.3]."""
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The number of its points."""
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
BASE: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    1,
)
INFINITY: Point = (1, 1, 0)

_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
"""The bytes before a SHA-256 hash in an RSA signature [RFC 8017 §9.2]."""


class Key(NamedTuple):
    """A checked key. ``kind`` is its ``kty``; ``numbers``: n and e, or x and y; ``secret`` that of oct."""

    kind: str
    key_id: Optional[str]
    alg: Optional[str]
    numbers: Tuple[int, int] = (0, 0)
    secret: bytes = b""

    def __repr__(self) -> str:
        return "Key(%s, key_id=%r)" % (self.kind, self.key_id)


def key_of(jwk: Mapping[str, Any]) -> Key:
    """Return the key of a JWK [RFC 7517 §4]. Raises ValueError for one that breaks a rule of the table above."""
    kind = jwk.get("kty")
    make = _KINDS.get(kind) if isinstance(kind, str) else None
    if make is None:
        raise ValueError("a key of a kind that is not known: it must be one of %s" % ", ".join(sorted(_KINDS)))
    if jwk.get("use", "sig") != "sig":
        raise ValueError("a key that is not for signatures")
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        raise ValueError("a key whose key_ops do not have verify")
    key_id, alg = jwk.get("kid"), jwk.get("alg")
    if not isinstance(key_id, (str, type(None))) or not isinstance(alg, (str, type(None))):
        raise ValueError("a key whose kid or alg is not a string")
    return make(jwk, key_id, alg)


def secret_key(secret: bytes) -> Key:
    """Return the key of HS256 with this secret."""
    return Key("oct", None, "HS256", secret=checked_secret(secret))


def fits(key: Key, alg: str) -> bool:
    """True if a key is one for this algorithm, by its kind and by its own ``alg``."""
    return alg in ALGORITHMS and ALGORITHMS[alg].kind == key.kind and key.alg in (None, alg)


def verifies(key: Key, alg: str, data: bytes, signature: bytes) -> bool:
    """True if this is the signature of ``data`` under ``key``. False for any other algorithm than the key's."""
    return fits(key, alg) and ALGORITHMS[alg].verify(key, data, signature)


# --- the kinds of keys ------------------------------------------------------------------------------------------------

def _bytes(jwk: Mapping[str, Any], name: str) -> bytes:
    """Return the bytes of a member in base64url."""
    value = jwk.get(name)
    if not isinstance(value, str):
        raise ValueError("a key without %s" % name)
    return unb64url(value)


def _rsa(jwk: Mapping[str, Any], key_id: Optional[str], alg: Optional[str]) -> Key:
    n, e = (int.from_bytes(_bytes(jwk, name), "big") for name in ("n", "e"))
    if not 2048 <= n.bit_length() <= 8192:
        raise ValueError("an RSA key of %d bits: it must have 2048 to 8192 [RFC 7518 §3.3]" % n.bit_length())
    if not (n & 1 and e & 1 and 2 <= e.bit_length() <= 32):
        raise ValueError("an RSA key with an exponent or a modulus that is not allowed")
    return Key("RSA", key_id, alg, (n, e))


def _ec(jwk: Mapping[str, Any], key_id: Optional[str], alg: Optional[str]) -> Key:
    if jwk.get("crv") != "P-256":
        raise ValueError("a key on a curve that is not known: it must be P-256")
    octets = [_bytes(jwk, name) for name in ("x", "y")]
    if any(len(number) != 32 for number in octets):
        raise ValueError("a P-256 key whose x or y has not 32 bytes [RFC 7518 §6.2.1.2]")
    x, y = (int.from_bytes(number, "big") for number in octets)
    if not on_curve(x, y):
        raise ValueError("a P-256 key that is not on the curve")
    return Key("EC", key_id, alg, (x, y))


def _oct(jwk: Mapping[str, Any], key_id: Optional[str], alg: Optional[str]) -> Key:
    return Key("oct", key_id, alg, secret=checked_secret(_bytes(jwk, "k")))


_KINDS: Dict[str, Callable[[Mapping[str, Any], Optional[str], Optional[str]], Key]] = {
    "RSA": _rsa,
    "EC": _ec,
    "oct": _oct,
}


# --- the algorithms ---------------------------------------------------------------------------------------------------

def _hs256(key: Key, data: bytes, signature: bytes) -> bool:
    """Check an HMAC, compared in constant time [RFC 7518 §3.2]."""
    return hmac.compare_digest(hmac.new(key.secret, data, hashlib.sha256).digest(), signature)


def _rs256(key: Key, data: bytes, signature: bytes) -> bool:
    """Check RSASSA-PKCS1-v1_5 with SHA-256: the encoding is made and compared, never parsed [RFC 8017 §8.2.2]."""
    n, e = key.numbers
    length = (n.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != length or number >= n:
        return False
    tail = b"\0" + _DIGEST_INFO + hashlib.sha256(data).digest()
    return pow(number, e, n).to_bytes(length, "big") == b"\0\1" + tail.rjust(length - 2, b"\xff")


def _es256(key: Key, data: bytes, signature: bytes) -> bool:
    """Check ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each [RFC 7518 §3.4] [FIPS 186-4 §6.4]."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if len(signature) != 64 or not (0 < r < ORDER and 0 < s < ORDER):
        return False
    inverse = pow(s, -1, ORDER)
    hashed = int.from_bytes(hashlib.sha256(data).digest(), "big")
    x, _, z = sum_of_products(hashed * inverse % ORDER, BASE, r * inverse % ORDER, key.numbers + (1,))
    return z != 0 and x * pow(z, -2, P) % P % ORDER == r


class Algorithm(NamedTuple):
    """A row of ALGORITHMS: the kind of its keys, and the check."""

    kind: str
    verify: Callable[[Key, bytes, bytes], bool]


ALGORITHMS: Dict[str, Algorithm] = {
    "HS256": Algorithm("oct", _hs256),
    "RS256": Algorithm("RSA", _rs256),
    "ES256": Algorithm("EC", _es256),
}
"""Algorithms by their names in JWS; a signature by any other, ``none`` among them, is never good."""
PUBLIC_KEY_ALGORITHMS = ("ES256", "RS256")
"""The algorithms whose keys have a public half; a DPoP proof takes no others [RFC 9449 §4.2] MUST."""


# --- the curve P-256 --------------------------------------------------------------------------------------------------

def on_curve(x: int, y: int) -> bool:
    """True if (x, y) is a point of the curve: y² = x³ - 3x + b."""
    return 0 <= x < P and 0 <= y < P and (y * y - (x * x - 3) * x - B) % P == 0


def doubled(point: Point) -> Point:
    """Return twice a point, by the formulas for a = -3."""
    x, y, z = point
    gamma = y * y % P
    beta = x * gamma % P
    squared = z * z % P
    alpha = 3 * (x - squared) * (x + squared) % P
    new_x = (alpha * alpha - 8 * beta) % P
    return new_x, (alpha * (4 * beta - new_x) - 8 * gamma * gamma) % P, 2 * y * z % P


def added(one: Point, other: Point) -> Point:
    """Return the sum of two points."""
    if not one[2] or not other[2]:
        return other if not one[2] else one
    (x1, y1, z1), (x2, y2, z2) = one, other
    square1, square2 = z1 * z1 % P, z2 * z2 % P
    u1, u2 = x1 * square2 % P, x2 * square1 % P
    s1, s2 = y1 * square2 * z2 % P, y2 * square1 * z1 % P
    h, r = (u2 - u1) % P, (s2 - s1) % P
    if h == 0:
        return doubled(one) if r == 0 else INFINITY
    h2 = h * h % P
    h3, v = h * h2 % P, u1 * h2 % P
    x3 = (r * r - h3 - 2 * v) % P
    return x3, (r * (v - x3) - s1 * h3) % P, h * z1 * z2 % P


def sum_of_products(a: int, one: Point, b: int, other: Point) -> Point:
    """Return ``a * one + b * other``, both at once: one doubling for each bit of the longer factor."""
    table = {("1", "0"): one, ("0", "1"): other, ("1", "1"): added(one, other)}
    total = INFINITY
    for pair in zip(format(a, "0256b"), format(b, "0256b")):
        total = doubled(total)
        if pair in table:
            total = added(total, table[pair])
    return total


MAX_KEYS = 100
"""Keys of one set; servers have two or three."""
MAX_WAITING = 16
"""Threads that wait for one fetch, or half of ``max_workers`` if that is less: a client that makes up names of keys
must not hold all threads of a server."""
MAX_TRIED = 8
"""Keys that one signature is tried with, if the token does not name its key."""


class KeySet:
    """Keys to check signatures with. Thread-safe.

    ``source``: the URL of a JSON Web Key Set, a callable that finds that URL out, or the set itself as JSON (one key
    alone will do). ``lifetime`` and ``pause`` are seconds; see the table above. Raises ValueError for a set that cannot
    be read, or a URL that must not be asked.
    """

    def __init__(self, source: Union[str, Callable[[], str], Mapping[str, Any]], fetcher: Optional[Fetcher] = None, *,
                 limits: Limits = DEFAULT, lifetime: float = 3600.0, pause: float = 30.0) -> None:
        self._keys: List[Key] = []
        self._published: Optional[CachedDocument[List[Key]]] = None
        if isinstance(source, Mapping):
            self._keys = [key_of(jwk) for jwk in _members({"keys": [source]} if "kty" in source else source)]
            return
        self._url = configured(source, "URL of the keys") if isinstance(source, str) else source
        self._fetcher = fetcher or Fetcher(limits)
        self._published = CachedDocument(
            self._fetch, "keys to check tokens with", get_logger(__name__).warning, lifetime=lifetime,
            longest=2 * lifetime, pause=pause, max_waiting=min(MAX_WAITING, limits.max_workers // 2),
            patience=limits.auth_timeout)

    @classmethod
    def of(cls, *keys: Key) -> "KeySet":
        """Make a set of keys at hand."""
        made = cls({"keys": []})
        made._keys = list(keys)
        return made

    def signed(self, jwt: Jwt, alg: str) -> bool:
        """True if one of the keys signed this token by ``alg``; of the header only the key's name counts.

        Raises `DiscoveryFailed` if there are no keys to be had.
        """
        keys = self._keys if self._published is None else self._published.get()
        verdict = _verdict(keys, jwt, alg)
        if verdict is None and self._published is not None:
            newer = self._published.newer(keys)
            verdict = newer is not keys and _verdict(newer, jwt, alg)
        return bool(verdict)

    def _fetch(self) -> List[Key]:
        answer = self._fetcher.get(self._url if isinstance(self._url, str) else self._url())
        if answer.status != 200:
            raise DiscoveryFailed("the key set cannot be fetched: HTTP %d" % answer.status)
        try:
            return _readable(_members(answer.json("the key set")))
        except ValueError as error:
            raise DiscoveryFailed(str(error)) from None


def _verdict(keys: List[Key], jwt: Jwt, alg: str) -> Optional[bool]:
    """Return True if one of the keys signed the token; None if the key that the token names is not among them.

    A key without a name may be any.
    """
    key_id = jwt.header.get("kid")
    fitting = [key for key in keys if fits(key, alg) and (key_id is None or key.key_id in (None, key_id))]
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
            get_logger(__name__).warning("key %d of the set is left out: %s", number, error)
    return keys
