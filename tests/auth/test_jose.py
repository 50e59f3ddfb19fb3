"""JSON Web Tokens as text (`mcp_ref/auth/jose.py`)."""
import json
from typing import Any, Dict, List

import pytest

from mcp_ref.auth.jose import HmacSigner, Jwt, Signer, b64url, make_jwt, split_jwt, thumbprint, unb64url

# [RFC 7515 §A.1]: header, claims and key, as they stand there.
HEADER = b'{"typ":"JWT",\r\n "alg":"HS256"}'
CLAIMS = b'{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}'
KEY = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
SIGNED = b64url(HEADER) + "." + b64url(CLAIMS)
TOKEN = SIGNED + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"


def text_of(header: Any, claims: Any = None, signature: str = "AAAA") -> str:
    """A token with these parts; bytes go in as they are."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims or {})]
    return ".".join([b64url(part) for part in parts] + [signature])


@pytest.mark.parametrize("data, text", [
    (b"", ""), (b"f", "Zg"), (b"fo", "Zm8"), (b"foo", "Zm9v"), (b"\xfb\xff\xfe", "-__-"), (bytes(3), "AAAA"),
    (bytes([3, 236, 255, 224, 193]), "A-z_4ME"),  # [RFC 7515 §C]
])
def test_base64url_both_ways(data: bytes, text: str) -> None:
    assert (b64url(data), unb64url(text)) == (text, data)


@pytest.mark.parametrize("text", [
    "Zg==", "Zg=", "=", "Z", "Zm9vZ", "Zm9v\n", " Zm9v", "Zm9 v", "Zm+v", "Zm/v", "Zm9v.", "Zm\u00e9v", "Zm\u0131v",
    "Zh", "Zm9", "Zm9v-x9", "\ud800",
])
def test_each_value_has_one_text(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        unb64url(text)
    assert "base64url" in str(caught.value) and type(caught.value) is ValueError


def test_the_hmac_of_the_rfc() -> None:
    signer = HmacSigner(unb64url(KEY))
    assert b64url(signer.sign(SIGNED.encode("ascii"))) == TOKEN.rpartition(".")[2]
    assert split_jwt(TOKEN) == Jwt(json.loads(HEADER), json.loads(CLAIMS), SIGNED.encode("ascii"),
                                   signer.sign(SIGNED.encode("ascii")))


@pytest.mark.parametrize("secret, fine", [
    ("x" * 31, False), ("x" * 32, True), ("\u00e9" * 16, True), (b"\0" * 31, False), (b"\0" * 32, True), ("", False),
])
def test_a_secret_is_as_long_as_its_hash(secret: Any, fine: bool) -> None:
    if fine:
        assert len(HmacSigner(secret).sign(b"data")) == 32
        return
    with pytest.raises(ValueError, match=r"at least 32 bytes, this one %d" % len(secret)):
        HmacSigner(secret)


class Plain(Signer):
    """Signs nothing much."""

    alg = "ES256"

    def sign(self, data: bytes) -> bytes:
        return data[:2]


def test_a_token_is_made_of_header_claims_and_signature() -> None:
    made = split_jwt(make_jwt(Plain(), {"sub": "\u00e9", "n": [1, {"a": None}]}))
    assert made.header == {"alg": "ES256", "typ": "JWT"} and made.claims == {"sub": "\u00e9", "n": [1, {"a": None}]}
    assert made.signature == made.signed[:2] == b"ey"


def test_the_header_is_added_to_but_its_alg_is_the_signers() -> None:
    signer = HmacSigner("s" * 32, key_id="k1")
    header = split_jwt(make_jwt(signer, {}, [("typ", "dpop+jwt"), ("jwk", {"kty": "EC"})])).header
    assert header == {"alg": "HS256", "typ": "dpop+jwt", "kid": "k1", "jwk": {"kty": "EC"}}
    with pytest.raises(ValueError, match="alg"):
        make_jwt(signer, {}, [("alg", "none")])


def test_what_json_cannot_say_is_not_signed() -> None:
    with pytest.raises(ValueError, match=r"\$.exp is Infinity"):
        make_jwt(Plain(), {"exp": float("inf")})


def test_a_signer_has_to_say_how() -> None:
    with pytest.raises(NotImplementedError, match="Signer must say how to sign"):
        Signer().sign(b"")


NOT_TOKENS = [
    "", ".", "..", "...", "a", "a.b", "secret", TOKEN + ".", "." + TOKEN, TOKEN + "\n", " " + TOKEN, TOKEN + "=",
    TOKEN[:-1] + "l",  # another text of the same signature
    TOKEN.replace(".", ". "), "\u00e9" + TOKEN, TOKEN + "\u00e9", TOKEN + "\ud800",
    ".".join([*TOKEN.split("."), "x", "y"]),  # five parts: encrypted
    "." + b64url(CLAIMS) + ".", b64url(HEADER) + "..",
    text_of({}), text_of({"alg": None}), text_of({"alg": 1}), text_of({"alg": ["HS256"]}), text_of([]), text_of("x"),
    text_of({"alg": "HS256"}, []) + "x", text_of({"alg": "HS256"}, "text"), text_of({"alg": "HS256"}, b"null"),
    text_of(b'{"alg":"HS256","alg":"none"}'), text_of({"alg": "HS256"}, b'{"aud":"me","aud":"you"}'),
    text_of(b'{"alg":"HS256"'), text_of(b"\xff"), text_of(b'\xef\xbb\xbf{"alg":"HS256"}'),
    text_of(b'{"alg":"\\ud800"}'),
    text_of({"alg": "HS256"}, b'{"exp":NaN}'), text_of({"alg": "HS256"}, b'{"exp":1e999}'),
    text_of({"alg": "HS256"}, b"[" * 9000), text_of({"alg": "HS256"}, b'{"a":' * 200 + b"1" + b"}" * 200),
    text_of({"alg": "HS256"}, {}, "Zg=="), text_of({"alg": "HS256"}, {}, "Zh"),
]


@pytest.mark.parametrize("number", range(len(NOT_TOKENS)))
def test_what_is_no_token_is_refused_without_showing_it(number: int) -> None:
    token = NOT_TOKENS[number]
    with pytest.raises(ValueError) as caught:
        split_jwt(token)
    said = str(caught.value)
    assert type(caught.value) is ValueError and caught.value.__cause__ is None and len(said) < 120
    assert not any(part in said for part in token.split(".") if len(part) > 3)


@pytest.mark.parametrize("more, fine", [(0, True), (1, False)])
def test_a_token_has_a_limit(more: int, fine: bool) -> None:
    token = text_of({"alg": "HS256"}, {}, "A" * 4)
    token += "A" * (4000 - len(token) + 4 * more - len(token) % 4)
    if fine:
        assert split_jwt(token, len(token)).claims == {}
    else:
        with pytest.raises(ValueError, match="exceeds max_token_bytes"):
            split_jwt(token, len(token) - 1)


def test_a_token_taken_apart_hides_what_it_says() -> None:
    assert repr(split_jwt(TOKEN)) == "Jwt(...)"


# [RFC 7638 §3.1] and [RFC 8037 §A.3]
RSA = {
    "kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
    "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3"
         "oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA"
         "ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-"
         "kEgU8awapJzKnqDKgw",
}
OKP = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


@pytest.mark.parametrize("jwk, name", [
    (RSA, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
    ({**RSA, "use": "sig", "d": "x"}, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
    (OKP, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
])
def test_a_key_names_itself(jwk: Dict[str, Any], name: str) -> None:
    assert thumbprint(jwk) == name


UNNAMED: List[Dict[str, Any]] = [{}, {"kty": "DSA"}, {"kty": ["RSA"]}, {"kty": "RSA", "n": "x"},
                                 {"kty": "RSA", "n": 3, "e": "AQAB"}]


@pytest.mark.parametrize("jwk", UNNAMED)
def test_a_key_without_its_members_has_no_name(jwk: Dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a key without"):
        thumbprint(jwk)
