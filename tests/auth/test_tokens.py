"""The token endpoint: how a client shows who it is, what an answer becomes, and what a refusal may say."""
import base64
import json
from typing import Any, Dict, List, Optional
from urllib.parse import quote_plus

import pytest

from mcp_ref.auth.client.token_endpoint import ClientInfo, Token, TokenEndpoint, method_for, union
from mcp_ref.auth.jose import HmacSigner, Signer, split_jwt
from mcp_ref.errors import TokenRefused
from mcp_ref.ext.auth.dpop import Prover
from tests.support.scripted_grant import ISSUER, NOW, ListFetcher, answer, server

GIVEN = {"access_token": "at-1", "token_type": "Bearer"}
SECRET = "s3cr3t-value"


class KeySigner(Signer):
    """Signs nothing in earnest."""

    alg = "ES256"
    public_jwk = {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}

    def sign(self, data: bytes) -> bytes:
        return b"0" * 64


def endpoint(fetcher: Any, client: Optional[ClientInfo] = None, **more: Any) -> TokenEndpoint:
    members = more.pop("members", {})
    return TokenEndpoint(fetcher, server(**members), client or ClientInfo("me"), now=lambda: NOW, **more)


def request(value: Any, status: int = 200, **more: Any) -> Token:
    fields = [("grant_type", "authorization_code"), ("code", "the-code-1"), ("resource", "r")]
    return endpoint(ListFetcher(answer(value, status))).request(fields, **more)


# --- authentication

def sent_as(client: ClientInfo, **more: Any) -> Any:
    fetcher = ListFetcher(answer(GIVEN))
    endpoint(fetcher, client, **more).request([("grant_type", "x")])
    return fetcher.sent[0]


def test_a_public_client_only_says_its_name() -> None:
    sent = sent_as(ClientInfo("me"))
    assert sent.url == ISSUER + "/token"
    assert sent.form == {"grant_type": "x", "client_id": "me"} and sent.headers == {}


def test_without_a_client_id_nothing_is_said() -> None:
    assert sent_as(ClientInfo("")).form == {"grant_type": "x"}


def test_basic_encodes_id_and_secret_as_in_a_form() -> None:
    sent = sent_as(ClientInfo("a:b c", "pä/ss:%", "client_secret_basic"))
    assert sent.form == {"grant_type": "x", "client_id": "a:b c"}
    scheme, _, value = sent.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(value)) == ("Basic", b"a%3Ab+c:p%C3%A4%2Fss%3A%25")


def test_post_puts_both_into_the_form() -> None:
    sent = sent_as(ClientInfo("me", SECRET, "client_secret_post"))
    assert sent.form == {"grant_type": "x", "client_id": "me", "client_secret": SECRET} and sent.headers == {}


def test_an_assertion_is_for_this_issuer_and_new_each_time() -> None:
    client, seen = ClientInfo("me", method="private_key_jwt"), []
    for _ in range(2):
        sent = sent_as(client, signer=KeySigner())
        claims = split_jwt(sent.form["client_assertion"]).claims
        assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", ISSUER)
        seen.append(claims["jti"])
    assert seen[0] != seen[1]


@pytest.mark.parametrize("method", ["private_key_jwt", "client_secret_jwt", "tls_client_auth", "x"])
def test_a_method_that_we_cannot_do_is_refused_before_anything_is_sent(method: str) -> None:
    fetcher = ListFetcher()
    with pytest.raises(TokenRefused, match="signer|unknown"):
        endpoint(fetcher, ClientInfo("me", SECRET, method)).request([("grant_type", "x")])
    assert not fetcher.sent


def test_credentials_of_another_issuer_are_not_shown() -> None:
    fetcher = ListFetcher()
    client = ClientInfo("me", SECRET, "client_secret_post", issuer="https://other.example")
    with pytest.raises(TokenRefused, match="belong to https://other.example"):
        endpoint(fetcher, client).request([("grant_type", "x")])
    assert not fetcher.sent


@pytest.mark.parametrize(("taken", "secret", "signer", "method"), [
    (None, None, None, "none"),
    (None, "s", None, "client_secret_basic"),
    (["none"], "s", None, "none"),
    (["client_secret_post"], "s", None, "client_secret_post"),
    (["client_secret_post", "client_secret_basic"], "s", None, "client_secret_basic"),
    (["client_secret_post", "client_secret_basic"], None, None, "none"),
    (["private_key_jwt"], "s", None, "client_secret_basic"),
    (["private_key_jwt", "none"], None, KeySigner(), "private_key_jwt"),
    (["client_secret_basic"], "s", KeySigner(), "private_key_jwt"),
    (None, None, HmacSigner("x" * 32), "client_secret_jwt"),
    ([], "s", None, "client_secret_basic"),
])
def test_the_method_is_the_first_that_both_sides_have(
    taken: Optional[List[str]], secret: Optional[str], signer: Optional[Signer], method: str,
) -> None:
    assert method_for(server(token_endpoint_auth_methods_supported=taken), secret, signer) == method


# --- what comes

def test_a_token_has_all_that_the_answer_says() -> None:
    token = request({**GIVEN, "token_type": "bearer", "expires_in": 3600, "refresh_token": "rt", "scope": "a b a",
                     "more": 1}, requested=["a", "b", "c"])
    assert (token.access_token, token.token_type, token.refresh_token) == ("at-1", "Bearer", "rt")
    assert (token.scopes, token.requested, token.known_scopes) == (["a", "b"], ["a", "b", "c"], ["a", "b", "c"])
    assert (token.issuer, token.resource, token.client_id) == (ISSUER, "r", "me")
    assert (token.expires_at, token.renew_at) == (NOW + 3600, NOW + 3570)


def test_what_the_answer_does_not_say_is_not_assumed() -> None:
    token = request(GIVEN)
    assert (token.expires_at, token.renew_at, token.refresh_token, token.scopes) == (None, None, None, None)
    assert request(GIVEN, requested=["a"]).scopes == ["a"]  # as asked for, if it says nothing [RFC 6749 §5.1]


def test_the_scopes_asked_for_are_those_of_the_form() -> None:
    fetcher = ListFetcher(answer(GIVEN))
    token = endpoint(fetcher).request([("grant_type", "x"), ("scope", "a b")])
    assert (token.requested, token.scopes) == (["a", "b"], ["a", "b"])


@pytest.mark.parametrize(("expires_in", "life", "early"), [
    (3600, 3600, 30), ("3600", 3600, 30), (10, 10, 1), (0, 0, 0), (300.5, 300.5, 30), (-1, None, None),
    (True, None, None), ("x", None, None), (None, None, None), (1e300, None, None), ([], None, None),
    ("9" * 50, None, None), ("\xb2", None, None), ("\u0663\u0660", None, None),
])
def test_a_token_is_renewed_a_little_before_its_end(expires_in: Any, life: Any, early: Any) -> None:
    token = request({**GIVEN, "expires_in": expires_in})
    assert token.expires_at == (None if life is None else NOW + life)
    assert token.renew_at == (None if life is None else pytest.approx(NOW + life - early))


@pytest.mark.parametrize("value", [
    {}, {"token_type": "Bearer"}, {"access_token": ""}, {"access_token": 3}, {"access_token": "a b"},
    {"access_token": "a\r\nX: y"}, {"access_token": "é"}, {**GIVEN, "token_type": "mac"}, {**GIVEN, "token_type": 1},
    {**GIVEN, "token_type": "DPoP"}, {**GIVEN, "token_type": None}, {**GIVEN, "error": "invalid_grant"},
])
def test_an_answer_without_a_usable_token_is_refused(value: Dict[str, Any]) -> None:
    with pytest.raises(TokenRefused):
        request(value)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff", b"null"])
@pytest.mark.parametrize("status", [200, 302, 400, 500])
def test_an_answer_that_is_no_object_is_refused(body: bytes, status: int) -> None:
    with pytest.raises(TokenRefused) as raised:
        request(body, status)
    assert raised.value.error == ""


@pytest.mark.parametrize("status", [200, 201, 203])
def test_any_success_with_a_token_is_a_token(status: int) -> None:
    assert request(GIVEN, status).access_token == GIVEN["access_token"]


def test_a_missing_type_is_bearer() -> None:
    assert request({"access_token": "at-1"}).token_type == "Bearer"


# --- refusals

def test_a_refusal_has_the_code_and_what_was_said() -> None:
    with pytest.raises(TokenRefused) as raised:
        request({"error": "invalid_grant", "error_description": "the code is old"}, 400)
    assert (raised.value.error, raised.value.description) == ("invalid_grant", "the code is old")
    assert str(raised.value) == ISSUER + " gives no token: invalid_grant (the code is old)"


def test_nothing_of_what_we_sent_and_nothing_odd_is_in_a_refusal() -> None:
    fields = [("grant_type", "authorization_code"), ("code", "the-code-1"), ("code_verifier", "the-verifier-1")]
    said = "code the-code-1\x1b[31m\n\"the-verifier-1\" %s  eyJhbGciOiJI.eyJzdWIi.c2ln" % SECRET + "x" * 5000
    fetcher = ListFetcher(answer({"error": "bad the-code-1", "error_description": said}, 400))
    with pytest.raises(TokenRefused) as raised:
        endpoint(fetcher, ClientInfo("me", SECRET, "client_secret_basic")).request(fields)
    text = str(raised.value) + raised.value.error + raised.value.description
    assert not any(secret in text for secret in ("the-code-1", "the-verifier-1", SECRET, "eyJ", "\x1b", "\n", '"'))
    assert len(raised.value.description) <= 200 and raised.value.description.startswith("code *** [31m")


ODD = "s3cret of+ours/="


@pytest.mark.parametrize("said", [ODD, quote_plus(ODD), ODD.replace(" ", "\n"), "the/code+1", quote_plus("the/code+1"),
                                  base64.b64encode(("me:" + quote_plus(ODD)).encode()).decode()])
@pytest.mark.parametrize("answered", [
    lambda said: {"error": said}, lambda said: {"error": "x", "error_description": said},
    lambda said: {"access_token": "at", "token_type": said}, lambda said: {"access_token": said, "token_type": said}])
def test_a_server_that_says_again_what_it_was_sent_is_not_quoted(said: str, answered: Any) -> None:
    fetcher = ListFetcher(answer(answered("so: %s." % said)))
    with pytest.raises(TokenRefused) as raised:
        endpoint(fetcher, ClientInfo("me", ODD, "client_secret_basic")).request([("code", "the/code+1")])
    for text in (str(raised.value), raised.value.error, raised.value.description):
        assert said not in text and ODD not in text
    assert "so: ***." in str(raised.value) or "without an access token" in str(raised.value)


def test_a_method_that_tells_a_secret_is_not_quoted() -> None:
    with pytest.raises(TokenRefused) as raised:
        endpoint(ListFetcher(), ClientInfo("me", ODD, "the " + quote_plus(ODD))).request([("code", "c")])
    assert str(raised.value).endswith("unknown here: the ***")


@pytest.mark.parametrize("said", [None, 1, [], {}, "", "é€"])
def test_descriptions_that_are_none_are_left_out(said: Any) -> None:
    with pytest.raises(TokenRefused) as raised:
        request({"error": "invalid_grant", "error_description": said}, 400)
    assert raised.value.description == "" and str(raised.value).endswith("invalid_grant")


# --- DPoP

def test_a_nonce_is_learned_and_the_request_made_once_more_with_another_proof() -> None:
    refusal = answer({"error": "use_dpop_nonce"}, 400, dpop_nonce="n-1")
    fetcher = ListFetcher(refusal, answer({**GIVEN, "token_type": "DPoP"}))
    token = endpoint(fetcher, prover=Prover(KeySigner(), lambda: NOW)).request([("grant_type", "x")])
    first, second = (split_jwt(sent.headers["DPoP"]).claims for sent in fetcher.sent)
    assert "nonce" not in first and second["nonce"] == "n-1" and first["jti"] != second["jti"]
    assert token.token_type == "DPoP" and second["htu"] == ISSUER + "/token"


def test_a_nonce_that_never_suits_is_no_loop() -> None:
    fetcher = ListFetcher(*[answer({"error": "use_dpop_nonce"}, 400, dpop_nonce="n-%d" % n) for n in range(5)])
    with pytest.raises(TokenRefused) as raised:
        endpoint(fetcher, prover=Prover(KeySigner(), lambda: NOW)).request([("grant_type", "x")])
    assert raised.value.error == "use_dpop_nonce" and len(fetcher.sent) == 2


def test_a_token_that_is_not_bound_is_refused_where_one_was_wanted() -> None:
    fetcher = ListFetcher(answer(GIVEN))
    with pytest.raises(TokenRefused, match="not bound to a key"):
        endpoint(fetcher, prover=Prover(KeySigner(), lambda: NOW)).request([("grant_type", "x")])


# --- what is kept

TOKEN = Token("at-1", "DPoP", NOW + 5, "rt-1", ["a"], ISSUER, "r", "me", ["a", "b"], NOW)
CLIENT = ClientInfo("me", SECRET, "client_secret_post", ISSUER, NOW + 5, True, ["http://localhost:7/callback"],
                    ["a", "b"])


def test_tokens_and_clients_come_back_from_json() -> None:
    assert Token.of_json(json.loads(json.dumps(TOKEN.to_json()))) == TOKEN
    assert Token.of_json(Token("x").to_json()) == Token("x")
    assert ClientInfo.of_json(json.loads(json.dumps(CLIENT.to_json()))) == CLIENT
    assert ClientInfo.of_json(ClientInfo("x").to_json()) == ClientInfo("x")


@pytest.mark.parametrize("record", [
    {}, {"access_token": 1}, {"access_token": "a b"}, {"access_token": "a\n"},
    {"access_token": "a", "token_type": "mac"},
    {"access_token": "a"},
])
def test_a_record_that_is_no_token_is_none(record: Dict[str, Any]) -> None:
    assert Token.of_json(record) is None


def test_odd_members_of_records_are_left_out() -> None:
    token = Token.of_json({"access_token": "a", "token_type": "Bearer", "expires_at": "soon", "scopes": ["x", 1],
                           "issuer": 3, "requested": "x"})
    assert token == Token("a", scopes=["x"])
    assert ClientInfo.of_json({"client_id": ""}) is None and ClientInfo.of_json({}) is None
    assert ClientInfo.of_json({"client_id": "x", "registered": "yes", "expires_at": "?", "redirect_uris": [1]}) == \
        ClientInfo("x", redirect_uris=[])


def test_nothing_secret_is_in_a_repr() -> None:
    text = repr(TOKEN) + repr(CLIENT)
    assert not any(secret in text for secret in ("at-1", "rt-1", SECRET)) and ISSUER in text


def test_a_union_keeps_the_order_of_first_appearance() -> None:
    assert union(["b", "a"], None, ["a", "c"], []) == ["b", "a", "c"] and union(None) == []
