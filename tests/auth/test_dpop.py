"""Proofs that a client holds the key of its token (`mcp_ref.ext.auth.dpop`)."""
import hashlib
import threading

import pytest

from mcp_ref.auth.jose import HmacSigner, Signer, b64url, split_jwt, thumbprint
from mcp_ref.ext.auth.dpop import MAX_ORIGINS, Prover
from tests.conformance.es256 import Es256Signer
from tests.support.patience import WAIT

PRIVATE = 1234567890123456789012345678901234567890
KEY = Es256Signer(PRIVATE)
URL = "https://mcp.example.com/mcp"


class Quick(Signer):
    """Takes no time to sign."""

    alg = "ES256"
    public_jwk = KEY.public_jwk

    def sign(self, data):
        return b"quick"


def proof(prover, *arguments):
    return split_jwt(prover.proof(*arguments))


def test_a_proof_is_about_one_request():
    """[RFC 9449 §4.2]"""
    made = proof(Prover(KEY, lambda: 1700000000.9), "POST", URL)
    assert made.header == {"alg": "ES256", "typ": "dpop+jwt", "jwk": KEY.public_jwk}
    assert len(made.signature) == 64
    assert len(made.claims.pop("jti")) >= 16
    assert made.claims == {"htm": "POST", "htu": URL, "iat": 1700000000}


@pytest.mark.parametrize("url, htu", [
    (URL, URL),
    (URL + "?a=b&c=d", URL),
    (URL + "#there", URL),
    (URL + "?a#b", URL),
    ("https://MCP.example.com:8443/A%2Fb/", "https://mcp.example.com:8443/A%2Fb/"),
    ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
    ("http://localhost:3000", "http://localhost:3000/"),
])
def test_the_url_is_without_query_and_fragment(url, htu):
    """[RFC 9449 §4.2] htu"""
    assert proof(Prover(Quick()), "GET", url).claims["htu"] == htu


@pytest.mark.parametrize("token", ["abc", "tokén"])
def test_with_a_token_comes_its_hash(token):
    """[RFC 9449 §4.2] ath"""
    made = proof(Prover(Quick()), "POST", URL, token)
    assert made.claims["ath"] == b64url(hashlib.sha256(token.encode()).digest())
    assert "ath" not in proof(Prover(Quick()), "POST", URL).claims


def test_the_hash_of_the_rfc():
    """[RFC 9449 §7.1] its example"""
    token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
    assert proof(Prover(Quick()), "GET", URL, token).claims["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"


def test_the_fields_of_a_request():
    """[RFC 9449 §7.1]"""
    prover = Prover(Quick())
    (name, value), = prover.fields("POST", URL)
    assert name == "DPoP" and "ath" not in split_jwt(value).claims
    fields = dict(prover.fields("POST", URL, "abc"))
    assert list(fields) == ["Authorization", "DPoP"]
    assert fields["Authorization"] == "DPoP abc"
    assert "ath" in split_jwt(fields["DPoP"]).claims


@pytest.mark.race
def test_no_two_proofs_are_the_same_whoever_makes_them():
    """[RFC 9449 §4.2] jti MUST"""
    prover = Prover(Quick(), lambda: 1.0)
    seen = []

    def work():
        for number in range(20):
            prover.learn_nonce(URL, {"dpop-nonce": "n%d" % number})
            seen.append(prover.proof("POST", URL, "abc"))

    threads = [threading.Thread(target=work, name="prover-%d" % number) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert len({split_jwt(made).claims["jti"] for made in seen}) == 80


def test_the_thumbprint_is_that_of_the_key():
    """[RFC 9449 §6.1]"""
    assert Prover(KEY).thumbprint == thumbprint(KEY.public_jwk)


# Nonces

def test_a_nonce_goes_into_the_next_proofs_for_its_origin():
    """[RFC 9449 §8, §9]"""
    prover = Prover(Quick())
    assert prover.learn_nonce(URL, {"dpop-nonce": "one", "content-type": "x"})
    assert proof(prover, "POST", URL).claims["nonce"] == "one"
    assert proof(prover, "GET", "https://MCP.example.com:443/other").claims["nonce"] == "one"
    for elsewhere in ("https://auth.example.com/mcp", "http://mcp.example.com/mcp", "https://mcp.example.com:8443/mcp"):
        assert "nonce" not in proof(prover, "POST", elsewhere).claims


def test_a_newer_nonce_takes_its_place():
    """[RFC 9449 §8.2]"""
    prover = Prover(Quick())
    assert prover.learn_nonce(URL, {"dpop-nonce": "one"})
    assert not prover.learn_nonce(URL, {"dpop-nonce": "one"}), "making the request again would be in vain"
    assert not prover.learn_nonce(URL, {}), "no news is no change"
    assert proof(prover, "POST", URL).claims["nonce"] == "one"
    assert prover.learn_nonce(URL, {"dpop-nonce": "two"})
    assert proof(prover, "POST", URL).claims["nonce"] == "two"


@pytest.mark.parametrize("nonce", ["", "a b", "a, b", 'a"b', "a\\b", "a\nb", "a\n", "\u00e4", "x" * 1025])
def test_what_is_no_nonce_is_ignored(nonce):
    """[RFC 9449 §8.1]"""
    prover = Prover(Quick())
    assert not prover.learn_nonce(URL, {"dpop-nonce": nonce})
    assert "nonce" not in proof(prover, "POST", URL).claims


def test_every_character_of_a_nonce():
    """[RFC 9449 §8.1]"""
    nonce = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"\\')
    prover = Prover(Quick())
    assert prover.learn_nonce(URL, {"dpop-nonce": nonce})
    assert proof(prover, "POST", URL).claims["nonce"] == nonce


def test_nonces_of_many_servers_are_not_all_kept():
    prover = Prover(Quick())
    for number in range(MAX_ORIGINS + 5):
        assert prover.learn_nonce("https://s%d.example.com/" % number, {"dpop-nonce": "n"})
    kept = [number for number in range(MAX_ORIGINS + 5)
            if "nonce" in proof(prover, "GET", "https://s%d.example.com/" % number).claims]
    assert kept == list(range(5, MAX_ORIGINS + 5))


# What may not sign

def with_members(**members):
    class Odd(Quick):
        alg = members.pop("alg", "ES256")
        public_jwk = {**KEY.public_jwk, **members}

    return Odd()


@pytest.mark.parametrize("signer", [HmacSigner("x" * 32), with_members(alg="none"), with_members(d="x"),
                                    with_members(k="x"), with_members(kty="oct", k="x"), with_members(p="x")])
def test_a_signer_that_would_prove_nothing_or_give_the_key_away_is_refused(signer):
    """[RFC 9449 §4.2]"""
    with pytest.raises(ValueError):
        Prover(signer)


@pytest.mark.parametrize("algorithms, suits", [(None, True), (["ES256"], True), (["RS256", "ES256"], True),
                                               (["RS256"], False), ([], False)])
def test_whether_a_server_takes_the_algorithm(algorithms, suits):
    """[RFC 9449 §5.1]"""
    assert Prover(KEY).accepted_by(algorithms) is suits


def test_it_shows_neither_key_nor_nonce():
    prover = Prover(KEY)
    prover.learn_nonce(URL, {"dpop-nonce": "hush-hush"})
    assert "hush" not in repr(prover) and str(PRIVATE) not in repr(prover)
