"""A signer for ES256 on Python integers, for the conformance suite and for tests. NOT FOR PRODUCTION.

It is not constant-time: how long a signature takes depends on the key, and who measures enough of them learns the key.
It holds the key in ordinary memory. The library ships no signer for public-key algorithms for these reasons;
the docstring of `mcp_ref.auth.Signer` shows two that are sound, over the `openssl` command and over an installed
`cryptography`.

    signer = Es256Signer.of_pem(pem)      # an unencrypted PKCS#8 key, "BEGIN PRIVATE KEY"
    signer = Es256Signer.generate()       # a new key, for DPoP

The curve is P-256 [FIPS 186-4 §D.1.2.3], y² = x³ - 3x + b modulo P, and the number of a signature is derived from key
and message [RFC 6979 §3.2], so that no bad random number can give the key away and RFC vectors can be tested.
Points are Jacobian, (X, Y, Z) for x = X/Z², y = Y/Z³, because a division costs as much as fifty multiplications.
`mcp_ref.auth.jws`, which verifies such signatures, has an arithmetic of its own: each is tested with the other.
"""
import base64
import hashlib
import hmac
import secrets
from typing import Iterator, Tuple

from mcp_ref.auth.jose import Signer, b64url

P = 2 ** 256 - 2 ** 224 + 2 ** 192 + 2 ** 96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
GX = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
GY = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5

Point = Tuple[int, int, int]
NOWHERE: Point = (1, 1, 0)


def doubled(point: Point) -> Point:
    """Twice a point, on a curve whose a is -3."""
    x, y, z = point
    square = z * z % P
    slope = 3 * (x - square) * (x + square)
    product = 4 * x * y * y % P
    new_x = (slope * slope - 2 * product) % P
    return new_x, (slope * (product - new_x) - 8 * pow(y, 4, P)) % P, 2 * y * z % P


def added(point: Point, x: int, y: int) -> Point:
    """A point and another one that is given by its plain coordinates, which is not the same and not its opposite."""
    x1, y1, z1 = point
    if not z1:
        return x, y, 1
    square = z1 * z1 % P
    width = (x * square - x1) % P
    height = (y * square * z1 - y1) % P
    width2 = width * width % P
    width3 = width2 * width % P
    new_x = (height * height - width3 - 2 * x1 * width2) % P
    return new_x, (height * (x1 * width2 - new_x) - y1 * width3) % P, z1 * width % P


def multiple(factor: int) -> Tuple[int, int]:
    """The base point so many times (1 to N - 1), in plain coordinates."""
    point = NOWHERE
    for bit in bin(factor)[2:]:
        point = doubled(point)
        if bit == "1":
            point = added(point, GX, GY)
    x, y, z = point
    inverse = pow(z, -1, P)
    return x * inverse ** 2 % P, y * inverse ** 3 % P


def octets(number: int) -> bytes:
    """The 32 bytes of a number, the highest first."""
    return number.to_bytes(32, "big")


def candidates(secret: int, digest: bytes) -> Iterator[int]:
    """The numbers to sign with, in their order; the first is nearly always good [RFC 6979 §3.2]."""
    def keyed(key: bytes, *parts: bytes) -> bytes:
        return hmac.new(key, b"".join(parts), hashlib.sha256).digest()

    value, key = b"\1" * 32, b"\0" * 32
    both = octets(secret) + octets(int.from_bytes(digest, "big") % N)
    for mark in (b"\0", b"\1"):
        key = keyed(key, value, mark, both)
        value = keyed(key, value)
    while True:
        value = keyed(key, value)
        number = int.from_bytes(value, "big")
        if 0 < number < N:
            yield number
        key = keyed(key, value, b"\0")
        value = keyed(key, value)


class Es256Signer(Signer):
    """ECDSA over P-256 with SHA-256 [RFC 7518 §3.4]; see the module's text for what it must not be used for."""

    alg = "ES256"

    def __init__(self, secret: int) -> None:
        if not 0 < secret < N:
            raise ValueError("no private key of P-256: it is out of range")
        self._secret = secret
        x, y = multiple(secret)
        self.public_jwk = {"kty": "EC", "crv": "P-256", "x": b64url(octets(x)), "y": b64url(octets(y))}

    @classmethod
    def generate(cls) -> "Es256Signer":
        """A signer with a new key."""
        return cls(secrets.randbelow(N - 1) + 1)

    @classmethod
    def of_pem(cls, pem: str) -> "Es256Signer":
        """The signer of a private key in PKCS#8 form; ValueError if the text is none, or one of another kind."""
        return cls(private_key(pem))

    def sign(self, data: bytes) -> bytes:
        """r and s, 32 bytes each [RFC 7518 §3.4]."""
        digest = hashlib.sha256(data).digest()
        for number in candidates(self._secret, digest):
            r = multiple(number)[0] % N
            s = pow(number, -1, N) * (int.from_bytes(digest, "big") + r * self._secret) % N
            if r and s:
                break
        return octets(r) + octets(s)


# Reading a key

P256 = bytes.fromhex("06072a8648ce3d0201" "06082a8648ce3d030107")
"""What kind of key it is, in DER: the object identifiers of elliptic-curve keys and of P-256 [RFC 5480 §2.1.1]."""
INTEGER, OCTETS, SEQUENCE = 0x02, 0x04, 0x30


def element(der: bytes, tag: int) -> Tuple[bytes, bytes]:
    """The content of the first element, which has to have this tag, and what comes after it."""
    if len(der) < 2 or der[0] != tag:
        raise ValueError("no PKCS#8 private key: its structure is another one")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    if len(der) < start + length:
        raise ValueError("no PKCS#8 private key: it is cut off")
    return der[start:start + length], der[start + length:]


def private_key(pem: str) -> int:
    """The number in an unencrypted private key [RFC 5208 §5] [RFC 5915 §3]; ValueError for anything else."""
    lines = pem.strip().splitlines()
    if len(lines) < 3 or lines[0] != "-----BEGIN PRIVATE KEY-----" or lines[-1] != "-----END PRIVATE KEY-----":
        raise ValueError("no PKCS#8 private key: it does not stand between BEGIN PRIVATE KEY and END PRIVATE KEY")
    whole, _ = element(base64.b64decode("".join(lines[1:-1]), validate=True), SEQUENCE)
    _, rest = element(whole, INTEGER)
    kind, rest = element(rest, SEQUENCE)
    if kind != P256:
        raise ValueError("no key of P-256: ES256 signs with no other")
    key, _ = element(element(rest, OCTETS)[0], SEQUENCE)
    _, rest = element(key, INTEGER)
    return int.from_bytes(element(rest, OCTETS)[0], "big")
