"""Signatures checked with integers (`mcp_ref/auth/jws.py`): vectors of the RFCs and of openssl, and hostile
tables."""
import base64
import hashlib
import hmac
import json
from typing import Any, Dict, Tuple

import pytest

from mcp_ref.auth import jws
from mcp_ref.auth.jose import b64url, split_jwt, unb64url
from mcp_ref.auth.jws import Key, key_of, secret_key, verifies
from tests.auth.test_jose import KEY as HMAC_KEY, TOKEN as HMAC_TOKEN
from tests.conformance.es256 import Es256Signer
from tests.support import rs256

PAYLOAD = HMAC_TOKEN.split(".")[1]
# [RFC 7515 §A.2] and [RFC 7515 §A.3]: the same claims, signed with public keys.
RSA = {
    "kty": "RSA", "e": "AQAB",
    "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ"
         "S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"
         "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD"
         "TW9gb54h4FRWyuXpoQ",
}
RSA_TOKEN = (
    "eyJhbGciOiJSUzI1NiJ9." + PAYLOAD + "."
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t"
    "1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j"
    "zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQ"
    "Ge77Rw"
)
EC = {
    "kty": "EC", "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
EC_TOKEN = ("eyJhbGciOiJFUzI1NiJ9." + PAYLOAD + "."
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
OCT = {"kty": "oct", "k": HMAC_KEY}
VECTORS = [(OCT, HMAC_TOKEN, "HS256"), (RSA, RSA_TOKEN, "RS256"), (EC, EC_TOKEN, "ES256")]
vectors = pytest.mark.parametrize("jwk, token, alg", VECTORS, ids=[alg for _, _, alg in VECTORS])


def jwk_ec(x: str, y: str) -> Dict[str, Any]:
    """A key of P-256 with these coordinates in hexadecimal."""
    return {"kty": "EC", "crv": "P-256", "x": b64url(bytes.fromhex(x)), "y": b64url(bytes.fromhex(y))}


# --- good signatures --------------------------------------------------------------------------------------------------

@vectors
def test_the_examples_of_the_rfc(jwk: Dict[str, Any], token: str, alg: str) -> None:
    jwt = split_jwt(token)
    assert jwt.header["alg"] == alg and verifies(key_of(jwk), alg, jwt.signed, jwt.signature)


# [RFC 6979 §A.2.5]
EC_6979 = jwk_ec("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6",
                 "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")


@pytest.mark.parametrize("message, r, s", [
    (b"sample", "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
     "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"),
    (b"test", "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
     "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"),
])
def test_the_deterministic_signatures_of_the_rfc(message: bytes, r: str, s: str) -> None:
    assert verifies(key_of(EC_6979), "ES256", message, bytes.fromhex(r + s))
    assert not verifies(key_of(EC_6979), "ES256", message + b"!", bytes.fromhex(r + s))


def test_what_the_openssl_command_signed() -> None:
    by_rsa = base64.b64decode(
        "mCQzH3d4y2jwTWa7Dd4+S7Drm721aoCUmCUUM096YXx5busygp40mTUhPA3HlhnKNhvZR6nSQBcNGOCm+XIktt/zDP0aX/tmQphuGZRE18NH"
        "+W63c8UYj99pNlTa0tapbh9Ly4+zqDKM621fCIrgI6KNKpyAToQgDdNdFvolqtPX0i6By+oRmXQfwZD0Gw/uZMR6ov7RG6YyaeXCNqnTa6xI"
        "JV61RQ14V7Q2yvFVxdrle4DmNj7nMgFLCN6BRDB9WyZKYXkqoUk6WIvMZNwLa2qGpSWNehv15Mk0j39HVDblFPBG2/F8HEFvSO0xGiT9XZ/b"
        "fVcOadYFiPy8YnLAeg==")
    assert verifies(key_of(rs256.Rs256Signer.public_jwk), "RS256", b"what was signed", by_rsa)
    by_ec = bytes.fromhex("EA7150D0321906366DFC877DF32A3D156F77CE9F0EF91EC30A4E8479DEA3732A"
                          "55952DFDA48CC2F97492079B92B0E2D9328C5C0368DFED2E2D7E7813D8046E47")
    key = jwk_ec("de728269c4138fa04bf048f39ef7f7a52066f9c2110fe4cfc6e516d6cdf4e290",
                 "f4efae77897704a601afff53414136b514c8824597939816846162b062532f55")
    assert verifies(key_of(key), "ES256", b"what was signed", by_ec)


@pytest.mark.parametrize("secret", [1, 2, 3, jws.ORDER - 1, jws.ORDER - 2, 2**128, 0xC0FFEE])
def test_keys_at_the_ends_of_the_range(secret: int) -> None:
    """With these the sums of points meet equal points, opposite ones and infinity."""
    signer = Es256Signer(secret)
    for message in (b"", b"one", b"two"):
        signature = signer.sign(message)
        assert verifies(key_of(signer.public_jwk), "ES256", message, signature)
        assert not verifies(key_of(signer.public_jwk), "ES256", message + b".", signature)


def test_the_other_half_of_a_signature_is_good_as_well() -> None:
    """(r, -s) is a signature under the same key; JWS does not forbid it [RFC 7518 §3.4]."""
    signer = Es256Signer(7)
    signature = signer.sign(b"data")
    other = signature[:32] + (jws.ORDER - int.from_bytes(signature[32:], "big")).to_bytes(32, "big")
    assert verifies(key_of(signer.public_jwk), "ES256", b"data", other)


# --- bad signatures ---------------------------------------------------------------------------------------------------

@vectors
def test_every_byte_of_a_signature_counts(jwk: Dict[str, Any], token: str, alg: str) -> None:
    key, jwt = key_of(jwk), split_jwt(token)
    for at in range(0, len(jwt.signature), 7):
        changed = bytearray(jwt.signature)
        changed[at] ^= 1 << at % 8
        assert not verifies(key, alg, jwt.signed, bytes(changed)), at


@vectors
def test_what_was_signed_counts(jwk: Dict[str, Any], token: str, alg: str) -> None:
    key, jwt = key_of(jwk), split_jwt(token)
    for data in (b"", jwt.signed[:-1], jwt.signed + b" ", jwt.signed.lower()):
        assert not verifies(key, alg, data, jwt.signature)


@vectors
def test_signatures_of_another_length(jwk: Dict[str, Any], token: str, alg: str) -> None:
    key, jwt = key_of(jwk), split_jwt(token)
    whole = jwt.signature
    for signature in (b"", b"\0", whole[:-1], whole[1:], whole + b"\0", b"\0" + whole, whole * 2, bytes(len(whole)),
                      b"\xff" * len(whole), whole[:31]):
        assert not verifies(key, alg, jwt.signed, signature)


@vectors
def test_an_algorithm_takes_its_own_kind_of_key_only(jwk: Dict[str, Any], token: str, alg: str) -> None:
    jwt = split_jwt(token)
    for other in ("HS256", "RS256", "ES256", "none", "None", "", "HS384", "RS512", "ES512", "PS256", "EdDSA", "hs256"):
        assert verifies(key_of(jwk), other, jwt.signed, jwt.signature) is (other == alg)


@pytest.mark.parametrize("secret", [
    json.dumps(rs256.Rs256Signer.public_jwk).encode(), unb64url(rs256.Rs256Signer.public_jwk["n"]),
    rs256.N.to_bytes(257, "big"), b"-----BEGIN PUBLIC KEY-----\n",
])
def test_a_public_key_is_no_secret(secret: bytes) -> None:
    """Whoever signs with HS256 under the bytes of a public key has no good signature [RFC 8725 §2.1]."""
    signature = hmac.new(secret, b"data", hashlib.sha256).digest()
    for alg in ("HS256", "RS256"):
        assert not verifies(key_of(rs256.Rs256Signer.public_jwk), alg, b"data", signature)


def test_no_empty_secret_signs() -> None:
    signature = hmac.new(b"", b"data", hashlib.sha256).digest()
    assert not verifies(key_of(EC), "HS256", b"data", signature)
    assert not verifies(Key("RSA", None, None), "HS256", b"data", signature)


N = jws.ORDER
_GOOD = Es256Signer(5).sign(b"data")
R, S = int.from_bytes(_GOOD[:32], "big"), int.from_bytes(_GOOD[32:], "big")


@pytest.mark.parametrize("r, s", [
    (0, 0), (0, S), (R, 0), (0, 1), (1, 0), (1, 1), (N, S), (R, N), (N, N), (N + 1, S), (R, N + 1), (N - 1, N - 1),
    (2**256 - 1, S), (R, 2**256 - 1), (N - R, S), (S, R), (jws.P, S), (jws.P - N, S),
])
def test_numbers_that_are_no_signature(r: int, s: int) -> None:
    """Zero in both is the signature that once was good for everything [CVE-2022-21449]."""
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    assert not verifies(key_of(Es256Signer(5).public_jwk), "ES256", b"data", signature)


def test_a_signature_in_der_is_none() -> None:
    der = bytes.fromhex("3045022100EA7150D0321906366DFC877DF32A3D156F77CE9F0EF91EC30A4E8479DEA3732A"
                        "022055952DFDA48CC2F97492079B92B0E2D9328C5C0368DFED2E2D7E7813D8046E47")
    assert not verifies(key_of(EC), "ES256", b"what was signed", der)


def test_a_sum_that_is_infinity_is_no_signature() -> None:
    """u1 * G + u2 * Q = 0 for the right r: no x to compare."""
    hashed = int.from_bytes(hashlib.sha256(b"data").digest(), "big")
    for secret in (1, 9):
        r = -hashed * pow(secret, -1, N) % N
        signature = r.to_bytes(32, "big") + (1).to_bytes(32, "big")
        assert not verifies(key_of(Es256Signer(secret).public_jwk), "ES256", b"data", signature)


def key_that_signed(data: bytes, r: int, s: int) -> Key:
    """The public key under which (r, s) is a good signature: (s * R - hash * G) / r for a point R at x = r."""
    hashed, inverse = int.from_bytes(hashlib.sha256(data).digest(), "big"), pow(r, -1, N)
    x, y, z = jws.sum_of_products(s * inverse % N, (r, _root(r), 1), -hashed * inverse % N, jws.BASE)
    return key_of(ec(x * pow(z, -2, jws.P) % jws.P, y * pow(z, -3, jws.P) % jws.P))


def test_each_signature_has_one_text() -> None:
    """Small numbers are 32 bytes as well, and the same ones modulo the order are others."""
    r, s = next(x for x in range(1, 100) if _root(x) is not None), 7
    key = key_that_signed(b"data", r, s)
    assert verifies(key, "ES256", b"data", r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    for signature in (r.to_bytes(32, "big") + s.to_bytes(31, "big"), r.to_bytes(32, "big") + bytes([s]),
                      r.to_bytes(32, "big") + s.to_bytes(33, "big"), r.to_bytes(33, "big") + s.to_bytes(32, "big"),
                      (r + N).to_bytes(32, "big") + s.to_bytes(32, "big"),
                      r.to_bytes(32, "big") + (s + N).to_bytes(32, "big")):
        assert not verifies(key, "ES256", b"data", signature)


DIGEST = hashlib.sha256(b"data").digest()
SHA1 = bytes.fromhex("3021300906052b0e03021a05000414")
WITHOUT_NULL = bytes.fromhex("302f300b0609608648016503040201" "0420")
RIGHT = rs256.padded(DIGEST)
TAIL = b"\0" + rs256.SHA256 + DIGEST
ENCODINGS = {
    "right": RIGHT,
    "type 2": b"\0\2" + RIGHT[2:],
    "type 0": b"\0\0" + bytes(256 - 2 - len(TAIL)) + TAIL,
    "another start": b"\1" + RIGHT[1:],
    "padding not all ones": RIGHT[:20] + b"\xfe" + RIGHT[21:],
    "short padding, rest behind": b"\0\1" + b"\xff" * 8 + TAIL + bytes(256 - 10 - len(TAIL)),
    "no padding": (b"\0\1" + TAIL).ljust(256, b"\0"),
    "no separator": b"\0\1" + (rs256.SHA256 + DIGEST).rjust(254, b"\xff"),
    "no DigestInfo": b"\0\1" + (b"\0" + DIGEST).rjust(254, b"\xff"),
    "DigestInfo without NULL": rs256.padded(DIGEST, WITHOUT_NULL),
    "DigestInfo of SHA-1": rs256.padded(DIGEST[:20], SHA1),
    "DigestInfo of SHA-1, 32 bytes": rs256.padded(DIGEST, SHA1),
    "rest in the parameters": rs256.padded(DIGEST, bytes.fromhex("3033300f06096086480165030402010502aaaa0420")),
    "another hash": rs256.padded(hashlib.sha256(b"date").digest()),
    "hash cut": rs256.padded(DIGEST[:31]),
    "only zeros": bytes(256),
}


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_only_the_one_encoding_of_rsa_is_good(name: str) -> None:
    signature = rs256.raw(ENCODINGS[name])
    good = verifies(key_of(rs256.Rs256Signer.public_jwk), "RS256", b"data", signature)
    assert good is (name == "right")


def test_a_number_above_the_modulus_is_no_signature() -> None:
    """It would be the same one modulo n."""
    key, numbers = key_of(rs256.Rs256Signer.public_jwk), range(12)
    signed = [(b"%d" % number, int.from_bytes(rs256.Rs256Signer().sign(b"%d" % number), "big")) for number in numbers]
    data, number = min(signed, key=lambda pair: pair[1])
    assert number + rs256.N < 2**2048 and verifies(key, "RS256", data, number.to_bytes(256, "big"))
    assert not verifies(key, "RS256", data, (number + rs256.N).to_bytes(256, "big"))
    assert not verifies(key, "RS256", data, number.to_bytes(257, "big"))


# --- keys -------------------------------------------------------------------------------------------------------------

def rsa(n: int, e: int, **more: Any) -> Dict[str, Any]:
    """An RSA key of these numbers."""
    return {"kty": "RSA", "n": b64url(n.to_bytes((n.bit_length() + 7) // 8 or 1, "big")),
            "e": b64url(e.to_bytes((e.bit_length() + 7) // 8 or 1, "big")), **more}


def ec(x: int, y: int, **more: Any) -> Dict[str, Any]:
    """A key with these coordinates, whether on the curve or not."""
    return {"kty": "EC", "crv": "P-256", "x": b64url(x.to_bytes(32, "big")), "y": b64url(y.to_bytes(32, "big")), **more}


X, Y = (int.from_bytes(unb64url(EC[name]), "big") for name in ("x", "y"))
BIG = 2**2048 + 1
BAD_KEYS: Tuple[Tuple[Dict[str, Any], str], ...] = (
    ({}, "kind"), ({"kty": None}, "kind"), ({"kty": ["RSA"]}, "kind"), ({"kty": "rsa"}, "kind"),
    ({"kty": "OKP"}, "kind"),
    ({**RSA, "use": "enc"}, "not for signatures"), ({**EC, "use": None}, "not for signatures"),
    ({**RSA, "key_ops": ["encrypt"]}, "do not have verify"), ({**RSA, "key_ops": []}, "do not have verify"),
    ({**RSA, "key_ops": "verify"}, "do not have verify"),
    ({**RSA, "kid": 7}, "kid"), ({**RSA, "alg": ["RS256"]}, "alg"),
    ({"kty": "RSA", "e": "AQAB"}, "without n"), ({"kty": "RSA", "n": RSA["n"]}, "without e"),
    ({**RSA, "n": 7}, "without n"), ({**RSA, "n": RSA["n"] + "="}, "base64url"), ({**RSA, "n": ""}, "0 bits"),
    (rsa(2**2047 - 1, 65537), "2047 bits"), (rsa(2**1023 + 1, 65537), "1024 bits"), (rsa(2**8192 + 1, 3), "8193 bits"),
    (rsa(2**2047, 65537), "is not allowed"), (rsa(BIG, 1), "is not allowed"), (rsa(BIG, 0), "is not allowed"),
    (rsa(BIG, 2), "is not allowed"), (rsa(BIG, 65536), "is not allowed"), (rsa(BIG, 2**32 + 1), "is not allowed"),
    (rsa(BIG, 2**2000 + 1), "is not allowed"),
    ({**EC, "crv": "P-384"}, "curve"), ({**EC, "crv": "secp256k1"}, "curve"), ({**EC, "crv": None}, "curve"),
    ({"kty": "EC", "crv": "P-256", "x": EC["x"]}, "without y"), ({**EC, "y": None}, "without y"),
    ({**EC, "x": "AAAA" + EC["x"]}, "32 bytes"), ({**EC, "x": ""}, "32 bytes"),
    ({**EC, "x": EC["x"][:-3]}, "32 bytes"),
    (ec(X, Y + 1), "not on the curve"), (ec(Y, X), "not on the curve"), (ec(0, 0), "not on the curve"),
    (ec(jws.P, Y), "not on the curve"), (ec(X, 0), "not on the curve"), (ec(2**256 - 1, 2**256 - 1), "not on the"),
    (ec(X, jws.P + 1), "not on the curve"),
    ({"kty": "oct"}, "without k"), ({"kty": "oct", "k": ""}, "at least 32"), ({"kty": "oct", "k": "AA"}, "at least 32"),
    ({"kty": "oct", "k": b64url(bytes(31))}, "at least 32"),
)


@pytest.mark.parametrize("jwk, words", BAD_KEYS, ids=[str(number) for number in range(len(BAD_KEYS))])
def test_keys_that_are_not_taken(jwk: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        key_of(jwk)


def test_a_coordinate_above_the_prime_is_none_although_it_means_the_same() -> None:
    """x = 5 is on the curve for some y, and 5 + P fits into 32 bytes."""
    small = next(x for x in range(1, 100) if (_root(x) is not None))
    y = _root(small) or 0
    assert key_of(ec(small, y)).numbers == (small, y)
    with pytest.raises(ValueError, match="not on the curve"):
        key_of(ec(small + jws.P, y))


def _root(x: int) -> Any:
    """y of the curve for this x, or None."""
    square = (x**3 - 3 * x + jws.B) % jws.P
    root = pow(square, (jws.P + 1) // 4, jws.P)
    return root if root * root % jws.P == square else None


@pytest.mark.parametrize("jwk", [
    {**RSA, "use": "sig"}, {**RSA, "key_ops": ["verify", "sign"]}, {**RSA, "alg": "RS256"}, {**RSA, "d": 7, "x5c": {}},
    rsa(BIG, 3), rsa(2**2047 + 1, 65537), rsa(2**8191 + 1, 2**32 - 1), {**RSA, "n": b64url(b"\0" + unb64url(RSA["n"]))},
    {**EC, "d": "", "x5u": 5}, {**OCT, "kid": ""},
])
def test_keys_that_are_taken(jwk: Dict[str, Any]) -> None:
    assert key_of(jwk).kind == jwk["kty"]


@pytest.mark.parametrize("jwk, alg, fits", [
    ({**RSA, "alg": "RS256"}, "RS256", True), ({**RSA, "alg": "PS256"}, "RS256", False),
    ({**RSA, "alg": "RS512"}, "RS256", False), ({**EC, "alg": "ES256"}, "ES256", True),
    ({**EC, "alg": "ECDH-ES"}, "ES256", False), ({**OCT, "alg": "HS512"}, "HS256", False),
    (RSA, "RS512", False), (RSA, "none", False),
])
def test_a_key_may_say_its_algorithm(jwk: Dict[str, Any], alg: str, fits: bool) -> None:
    assert jws.fits(key_of(jwk), alg) is fits


def test_a_key_does_not_show_itself() -> None:
    assert repr(secret_key(b"s" * 32)) == "Key(oct, key_id=None)"
    assert "ssss" not in repr(key_of({**OCT, "kid": "k", "k": b64url(b"s" * 32)}))
