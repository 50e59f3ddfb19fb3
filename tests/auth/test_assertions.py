"""Assertions by which a client shows who it is (`mcp_ref.auth.client.token_endpoint`)."""
import pytest

from mcp_ref.auth.client.token_endpoint import ASSERTION_TYPE, LIFETIME, assertion_fields, client_assertion, method_of
from mcp_ref.auth.jose import HmacSigner, Signer, split_jwt
from mcp_ref.errors import TokenRefused

ISSUER = "https://auth.example.com/tenant"


class Scribble(Signer):
    """Signs with ink."""

    alg = "ES256"
    public_jwk = {"kty": "EC"}
    key_id = "ink"

    def sign(self, data):
        return b"ink"


def test_an_assertion_says_who_where_and_when():
    """[RFC 7523 §3]"""
    token = split_jwt(client_assertion(Scribble(), "me", ISSUER, 1000.7))
    assert token.header == {"alg": "ES256", "typ": "JWT", "kid": "ink"}
    assert token.signature == b"ink"
    assert token.claims.pop("jti")
    assert token.claims == {"iss": "me", "sub": "me", "aud": ISSUER, "iat": 1000, "exp": int(1000.7 + LIFETIME)}


def test_no_two_assertions_are_the_same():
    """[RFC 7523 §3] item 7"""
    made = {split_jwt(client_assertion(Scribble(), "me", ISSUER, 1000.0)).claims["jti"] for _ in range(50)}
    assert len(made) == 50


@pytest.mark.parametrize("issuer", [ISSUER, ISSUER + "/", "https://AUTH.example.com:443"])
def test_the_audience_is_the_issuer_as_it_is_written(issuer):
    """[RFC 7523 §3] item 3"""
    assert split_jwt(client_assertion(Scribble(), "me", issuer, 0)).claims["aud"] == issuer


@pytest.mark.parametrize("algorithms", [None, ["ES256"], ["RS256", "ES256"]])
def test_the_fields_of_a_request(algorithms):
    """[RFC 7523 §2.2]"""
    fields = dict(assertion_fields(Scribble(), "me", ISSUER, 5.0, algorithms))
    assert list(fields) == ["client_assertion_type", "client_assertion"]
    assert fields["client_assertion_type"] == ASSERTION_TYPE
    assert fields["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert split_jwt(fields["client_assertion"]).claims["iss"] == "me"


@pytest.mark.parametrize("algorithms", [[], ["RS256"], ["es256"]])
def test_an_algorithm_that_the_server_does_not_take_is_not_tried(algorithms):
    """[RFC 8414 §2]"""
    class Never(Scribble):
        def sign(self, data):
            raise AssertionError("nothing is to be signed")

    with pytest.raises(TokenRefused, match="ES256") as caught:
        assertion_fields(Never(), "me", ISSUER, 5.0, algorithms)
    assert caught.value.error == "invalid_client"


@pytest.mark.parametrize("signer, method", [(Scribble(), "private_key_jwt"),
                                            (HmacSigner("x" * 32), "client_secret_jwt")])
def test_the_name_of_the_method(signer, method):
    """[OpenID Connect Core 1.0 §9]"""
    assert method_of(signer) == method
