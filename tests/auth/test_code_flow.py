"""The authorization request, what a redirect must say, and the exchange: tables, without sockets."""
import base64
import hashlib
from typing import Any, Dict, Optional
from urllib.parse import parse_qsl, urlencode

import pytest

from mcp_ref.auth.client.token_endpoint import ClientInfo, CodeFlow, TokenEndpoint, challenge_of, check_pkce, parameters
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch, TokenRefused
from mcp_ref.revisions import NAMES
from tests.support.scripted_grant import ISSUER, SERVER, ListFetcher, answer, found, server

REDIRECT = "http://localhost:7/callback"


def flow(scopes: Any = None, redirect_uri: str = REDIRECT, **members: Any) -> CodeFlow:
    return CodeFlow(found(**members), ClientInfo("me"), redirect_uri, scopes)


def came(begun: CodeFlow, **said: Any) -> str:
    fields = {"code": "c-1", "state": begun.state, **said}
    return REDIRECT + "?" + urlencode({name: value for name, value in fields.items() if value is not None})


# --- the request

def test_the_request_has_everything_once() -> None:
    begun = flow(["a", "b"])
    place, _, query = begun.url.partition("?")
    pairs = parse_qsl(query)
    assert place == ISSUER + "/authorize" and len(dict(pairs)) == len(pairs)
    assert dict(pairs) == {
        "response_type": "code", "client_id": "me", "redirect_uri": REDIRECT, "state": begun.state,
        "code_challenge": challenge_of(begun.verifier), "code_challenge_method": "S256", "resource": SERVER,
        "scope": "a b"}


def test_the_challenge_is_that_of_rfc_7636_appendix_b() -> None:
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    verifier = flow().verifier
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert challenge_of(verifier) == digest


def test_secrets_are_long_and_new_each_time() -> None:
    many = [flow() for _ in range(20)]
    assert len({each.state for each in many} | {each.verifier for each in many}) == 40
    assert all(43 <= len(each.verifier) <= 128 and len(each.state) >= 43 for each in many)
    assert not any(each.state in repr(each) or each.verifier in repr(each) for each in many)


def test_no_scope_is_named_where_none_is_wanted() -> None:
    assert "scope" not in dict(parse_qsl(flow().url)) and "scope=" not in flow([]).url


def test_refresh_tokens_of_openid_need_consent() -> None:
    assert "prompt=consent" in flow(["a", "offline_access"]).url and "prompt" not in flow(["a"]).url


def test_the_query_of_the_endpoint_stays_but_for_what_is_ours() -> None:
    begun = flow(authorization_endpoint=ISSUER + "/authorize?tenant=1&empty=&state=evil&resource=evil&request_uri=evil")
    pairs = parse_qsl(begun.url.partition("?")[2], keep_blank_values=True)
    assert len(dict(pairs)) == len(pairs) and "evil" not in begun.url
    assert (dict(pairs)["tenant"], dict(pairs)["empty"], dict(pairs)["state"]) == ("1", "", begun.state)


def test_the_resource_is_exactly_as_published() -> None:
    where = found()
    where.resource = "https://MCP.example:443"
    begun = CodeFlow(where, ClientInfo("me"), REDIRECT, None)
    assert dict(parse_qsl(begun.url.partition("?")[2]))["resource"] == "https://MCP.example:443"


# --- PKCE

@pytest.mark.parametrize("revision", [*NAMES, None])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_server_that_does_not_announce_pkce_is_refused_where_the_revision_says_so(
    revision: Optional[str], legacy: bool,
) -> None:
    silent = found(legacy=legacy, code_challenge_methods_supported=None)
    if legacy or revision in ("2024-11-05", "2025-03-26", "2025-06-18"):
        check_pkce(silent, revision)
    else:
        with pytest.raises(DiscoveryFailed, match=r"does not announce PKCE.*tolerate=\['unannounced-pkce'\]"):
            check_pkce(silent, revision, ["issuer-slash"])
        check_pkce(silent, revision, ["unannounced-pkce"])


@pytest.mark.parametrize("methods", [[], ["plain"], ["s256"]])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_server_without_s256_is_always_refused(methods: Any, legacy: bool) -> None:
    for revision in NAMES:
        with pytest.raises(DiscoveryFailed, match="S256"):
            check_pkce(found(legacy=legacy, code_challenge_methods_supported=methods), revision, ["unannounced-pkce"])
    check_pkce(found(code_challenge_methods_supported=["plain", "S256"]))


# --- the redirect

@pytest.mark.spec("auth.iss-no-normalization")
@pytest.mark.parametrize(("announced", "issuer", "error"), [
    (True, ISSUER, None), (True, None, IssuerMismatch), (True, "https://evil.example", IssuerMismatch),
    (False, ISSUER, None), (False, None, None), (False, "https://evil.example", IssuerMismatch),
    (False, ISSUER + "/", IssuerMismatch), (True, ISSUER + "/", IssuerMismatch), (True, ISSUER.upper(), IssuerMismatch),
    (True, ISSUER + ":443", IssuerMismatch), (True, "https://%61uth.example", IssuerMismatch),
    *((announced, other, IssuerMismatch) for announced in (True, False) for other in (
        "", ISSUER + ":80", ISSUER + ":", "HTTPS" + ISSUER[5:], ISSUER.replace("auth", "AUTH"), ISSUER + "/.",
        ISSUER + "?", ISSUER + "#", " " + ISSUER, ISSUER.replace(".", "%2E"), ISSUER.replace("https", "http"))),
])
@pytest.mark.parametrize("refused", [False, True])
def test_the_issuer_is_compared_as_a_string(announced: bool, issuer: Any, error: Any, refused: bool) -> None:
    begun = flow(iss_parameter_supported=announced)
    said: Dict[str, Any] = {"code": None, "error": "access_denied", "error_description": "shown-only-if-trusted",
                            "error_uri": "https://shown.example"} if refused else {}
    url = came(begun, iss=issuer, **said)
    if error is None and not refused:
        assert begun.code(url) == "c-1"
        return
    with pytest.raises(AuthError) as raised:
        begun.code(url)
    assert type(raised.value) is (error or TokenRefused)
    shown = "access_denied" in str(raised.value) or "shown" in str(raised.value)
    assert shown is (error is None), "nothing of a redirect from somebody else is shown"


@pytest.mark.parametrize("state", [None, "", "x", "STATE", "é"])
@pytest.mark.parametrize("refused", [False, True])
def test_a_redirect_with_another_state_is_discarded(state: Any, refused: bool) -> None:
    begun = flow()
    said: Dict[str, Any] = {"error": "access_denied"} if refused else {}
    with pytest.raises(TokenRefused, match="its state is another") as raised:
        begun.code(came(begun, state=begun.state.upper() if state == "STATE" else state, **said))
    assert raised.value.error == "" and "access_denied" not in str(raised.value)
    assert begun.state not in str(raised.value)


@pytest.mark.parametrize("more", ["&state={state}", "&code=c-2", "&iss=x&iss=x", "&error=a&error=a"])
def test_a_parameter_that_comes_twice_spoils_the_redirect(more: str) -> None:
    begun = flow()
    with pytest.raises(TokenRefused):
        begun.code(came(begun) + more.format(state=begun.state))


@pytest.mark.parametrize("place", [
    "http://localhost:8/callback", "http://localhost:7/callback/", "http://localhost:7/Callback",
    "https://localhost:7/callback",
    "http://127.0.0.1:7/callback", "/callback", "", "http://localhost:7",
])
def test_a_redirect_to_another_place_is_discarded(place: str) -> None:
    begun = flow()
    with pytest.raises(TokenRefused, match="another place"):
        begun.code(place + "?" + came(begun).partition("?")[2])


def test_an_error_is_shown_in_harmless_words_and_without_secrets() -> None:
    begun = CodeFlow(found(), ClientInfo("me", "s3cret/1", "client_secret_basic"), REDIRECT)
    with pytest.raises(TokenRefused) as raised:
        said = "no\x1b[1m: %s c-10000 s3cret/1 s3cret%%2F1 bWU6czNjcmV0JTJGMQ==" % begun.state
        begun.code(came(begun, error="access_denied", code="c-10000", error_description=said))
    assert raised.value.description == "no [1m: *** *** *** *** ***"
    assert raised.value.error == "access_denied" and "\x1b" not in str(raised.value)
    assert begun.state not in str(raised.value) and "c-10000" not in str(raised.value)


@pytest.mark.parametrize("code", [None, ""])
def test_a_redirect_without_a_code_is_refused(code: Any) -> None:
    begun = flow()
    with pytest.raises(TokenRefused, match="without a code"):
        begun.code(came(begun, code=code))


@pytest.mark.parametrize("query", ["a=1&a=1", "a=%ff", "a=\ud800", "&".join("a%d=1" % n for n in range(101))])
def test_a_query_that_is_odd_has_no_parameters(query: str) -> None:
    assert parameters(query) is None and parameters("a=1&b=") == {"a": "1", "b": ""}


# --- the exchange

def test_the_exchange_proves_that_the_request_was_ours() -> None:
    begun, fetcher = flow(["a"]), ListFetcher(answer({"access_token": "at", "token_type": "Bearer"}))
    carrier: Any = fetcher
    token = begun.exchange("c-1", TokenEndpoint(carrier, server(), ClientInfo("me")))
    assert fetcher.sent[0].form == {
        "grant_type": "authorization_code", "code": "c-1", "redirect_uri": REDIRECT, "code_verifier": begun.verifier,
        "resource": SERVER, "client_id": "me"}
    assert (token.requested, token.scopes, token.resource) == (["a"], ["a"], SERVER)
