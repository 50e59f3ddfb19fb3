"""The ES256 signer of the conformance fixture (`tests/conformance/es256.py`)."""
import base64
import shutil
import subprocess

import pytest

from mcp_ref.auth.jose import b64url, unb64url
from mcp_ref.auth.jws import key_of, verifies
from tests.conformance import es256
from tests.conformance.es256 import Es256Signer
from tests.support.patience import WAIT

# [RFC 6979 §A.2.5]: the key, then message, number, r and s of SHA-256.
SECRET = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
PUBLIC = ("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6",
          "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
SIGNED = {
    b"sample": ("A6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60",
                "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
                "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"),
    b"test": ("D16B6AE827F17175E040871A1C7EC3500192C4C92677336EC2537ACAEE0008E0",
              "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
              "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"),
}
# A key that the openssl command made, with and without its public half, and its public point.
PEM = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+h0u7bhrNpgJxedd
CsHT5l/JB2nrzuEYBb+K30OFlPehRANCAATU2jx8V0GCHlwxIde4U9gz0GDjIrkI
jA8YjUoqVpskm4FF45mwrKKTj5jYqKbtbMGpd7C76gnxVxuYGdb+yzjB
-----END PRIVATE KEY-----
"""
PRIVATE = "FA1D2EEDB86B369809C5E75D0AC1D3E65FC90769EBCEE11805BF8ADF438594F7"
POINT = ("D4DA3C7C5741821E5C3121D7B853D833D060E322B9088C0F188D4A2A569B249B",
         "8145E399B0ACA2938F98D8A8A6ED6CC1A977B0BBEA09F1571B9819D6FECB38C1")
SHORT = bytes.fromhex("3041020100" "301306072a8648ce3d020106082a8648ce3d030107" "0427302502010104" "20" + PRIVATE)
K256 = bytes.fromhex("303e020100" "301006072a8648ce3d020106052b8104000a" "0427302502010104" "20" + PRIVATE)  # secp256k1
P384 = """-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDegzm+I26QK7/OEtnG
fM34LMDw9mUm0ngb7twep0YtEa+Cf3xFqBVJioajc0P284ChZANiAASrRIcTS8e1
2dACcQdxnuoMJ/lUZP2aakml4bYy2lqMGdxnpebf6N18t3h/uTMAmK2bsNNsaAtz
9oBNSvkcde1OAudCW++uyDQfJ2HMdCG6mwrzVvGE/U4xSqyRW+Y63hk=
-----END PRIVATE KEY-----"""
ED25519 = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIBaEkZxNNTv9pg3tKiFK+4sX7pXHxhpVhk5rzxY94VNo
-----END PRIVATE KEY-----"""


def armoured(der: bytes, name: str = "PRIVATE KEY") -> str:
    return "-----BEGIN %s-----\n%s-----END %s-----\n" % (name, base64.encodebytes(der).decode(), name)


def point(signer):
    return tuple(unb64url(signer.public_jwk[name]).hex().upper() for name in "xy")


@pytest.mark.parametrize("message", SIGNED)
def test_it_signs_as_the_rfc_does(message):
    """[RFC 6979 §A.2.5]"""
    _, r, s = SIGNED[message]
    assert Es256Signer(SECRET).sign(message).hex().upper() == r + s


@pytest.mark.parametrize("message", SIGNED)
def test_the_number_of_a_signature_is_that_of_the_rfc(message):
    """[RFC 6979 §A.2.5]"""
    digest = es256.hashlib.sha256(message).digest()
    assert next(es256.candidates(SECRET, digest)) == int(SIGNED[message][0], 16)


def test_a_number_that_is_no_good_is_followed_by_another():
    """[RFC 6979 §3.2] h.3"""
    found = es256.candidates(SECRET, b"\1" * 32)
    assert len({next(found) for _ in range(5)}) == 5


def test_the_public_key_belongs_to_the_private_one():
    assert point(Es256Signer(SECRET)) == PUBLIC
    assert set(Es256Signer(SECRET).public_jwk) == {"kty", "crv", "x", "y"}


@pytest.mark.parametrize("factor", [1, 2, 3, 5, 2 ** 255 + 7, es256.N - 2, es256.N - 1])
def test_multiples_stay_on_the_curve(factor):
    """[FIPS 186-4 §D.1.2.3]"""
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    x, y = es256.multiple(factor)
    assert (y * y - x ** 3 + 3 * x - b) % es256.P == 0
    assert es256.multiple(es256.N - factor) == (x, es256.P - y)


@pytest.mark.parametrize("pem", [PEM, PEM.replace("\n", "\r\n"), "\n" + PEM.strip(), armoured(SHORT)])
def test_a_key_is_read(pem):
    """[RFC 5208 §5]"""
    assert es256.private_key(pem) == int(PRIVATE, 16)
    assert point(Es256Signer.of_pem(pem)) == POINT


@pytest.mark.parametrize("pem", [
    "", "hello", PEM[:60], P384, ED25519, PEM.replace("PRIVATE", "PUBLIC"), armoured(SHORT, "EC PRIVATE KEY"),
    armoured(K256), armoured(SHORT[:-1]), armoured(SHORT[:30]), armoured(b"\x31" + SHORT[1:]),
    armoured(SHORT[:-32] + bytes(32)),
    armoured(SHORT[:-32] + b"\xff" * 32), PEM.replace("MIGH", "M@GH"),
])
def test_what_is_no_such_key_is_refused(pem):
    with pytest.raises(ValueError):
        Es256Signer.of_pem(pem)


def test_every_new_key_is_another():
    assert Es256Signer.generate().public_jwk != Es256Signer.generate().public_jwk


def test_the_library_takes_its_signatures_and_no_others():
    """[RFC 7518 §3.4]"""
    signer = Es256Signer.generate()
    key = key_of(signer.public_jwk)
    for number in range(10):
        message = b"message %d" % number
        assert verifies(key, "ES256", message, signer.sign(message))
        assert not verifies(key, "ES256", message + b".", signer.sign(message))


def test_it_does_not_show_its_key():
    signer = Es256Signer.of_pem(PEM)
    assert PRIVATE.lower() not in repr(signer).lower() and str(int(PRIVATE, 16)) not in repr(signer)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
def test_openssl_takes_its_signatures(tmp_path):
    """A judge that is not ours. It wants DER: two integers in a sequence."""
    def number(part: bytes) -> bytes:
        part = part.lstrip(b"\0")
        part = b"\0" + part if part[0] & 0x80 else part
        return b"\x02" + bytes([len(part)]) + part

    (tmp_path / "key.pem").write_text(PEM)
    for message in (b"", b"sample", b"x" * 1000):
        signature = Es256Signer.of_pem(PEM).sign(message)
        both = number(signature[:32]) + number(signature[32:])
        (tmp_path / "signature").write_bytes(b"\x30" + bytes([len(both)]) + both)
        done = subprocess.run(["openssl", "dgst", "-sha256", "-prverify", str(tmp_path / "key.pem"), "-signature",
                               str(tmp_path / "signature")], input=message, stdout=subprocess.PIPE, timeout=WAIT)
        assert done.stdout.strip() == b"Verified OK"
    assert len(b64url(signature)) == 86
