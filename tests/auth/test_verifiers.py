"""Who knows whether a token is good (`mcp_ref/auth/server/verifiers.py`, `claims.py` and `known.py`)."""
import json
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref import Server
from mcp_ref.auth.jose import HmacSigner, Jwt, Signer, b64url, make_jwt
from mcp_ref.auth.jws import KeySet
from mcp_ref.auth.server.access import AccessToken
from mcp_ref.auth.server.resource_server import ResourceServer
from mcp_ref.auth.server.verifiers import FAILURE_SECONDS, CachedVerifier, Introspection, JwtVerifier
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch, Unauthorized
from mcp_ref.limits import Limits
from tests.conformance.es256 import Es256Signer
from tests.support.auth_server import OUT, AuthorizationServer
from tests.support.clocks import Clock, by_hand
from tests.support.rs256 import Rs256Signer
from tests.support.scripted_web import CUT, Reply, redirect, reply_html, reply_json

ISSUER = "https://auth.example.com"
HERE = "https://mcp.example.com/mcp"
NOW = 1_700_000_000.0
SECRET = b"a secret of thirty-two bytes ..."
EC, RSA, HMAC = Es256Signer(77), Rs256Signer(), HmacSigner(SECRET)
CLAIMS: Dict[str, Any] = {"iss": ISSUER, "sub": "ada", "aud": HERE, "exp": NOW + 600, "client_id": "program",
                          "scope": "read write"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return by_hand(monkeypatch, NOW)


def claims(**more: Any) -> Dict[str, Any]:
    """The usual claims, with these changes; `OUT`: without it."""
    return {name: value for name, value in {**CLAIMS, **more}.items() if value is not OUT}


def verifier(**more: Any) -> JwtVerifier:
    """A verifier that knows the public keys here."""
    settings: Dict[str, Any] = {"keys": {"keys": [EC.public_jwk, RSA.public_jwk]}, "now": lambda: NOW, **more}
    return JwtVerifier(ISSUER, **settings)


def refusal_of(verify: Callable[[str], Any], token: str) -> str:
    """Why a token is refused; it must not say what the token is."""
    with pytest.raises(Unauthorized) as caught:
        verify(token)
    said = str(caught.value)
    assert not any(part in said for part in token.split(".") if len(part) > 2) and len(said) < 150
    return said


# --- JWTs -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("signer", [EC, RSA])
def test_a_good_token(signer: Signer) -> None:
    access = verifier(audience=HERE)(make_jwt(signer, CLAIMS))
    assert access == AccessToken("ada", "program", ISSUER, [HERE], ["read", "write"], NOW + 600, CLAIMS)


def test_a_token_under_a_shared_secret() -> None:
    verify = JwtVerifier(ISSUER, keys=SECRET, algorithms=["HS256"], now=lambda: NOW)
    access = verify(make_jwt(HMAC, CLAIMS))
    assert access is not None and access.subject == "ada"
    assert "not signed" in refusal_of(verify, make_jwt(HmacSigner(b"another" * 5), CLAIMS))
    assert "algorithm" in refusal_of(verify, make_jwt(EC, CLAIMS))


Table = List[Tuple[Dict[str, Any], Optional[str]]]
CLAIM_CASES: Table = [
    ({}, None), ({"nbf": NOW}, None), ({"iat": NOW + 9999}, None), ({"exp": NOW + 0.5}, None),
    ({"exp": NOW - 29.5}, None), ({"exp": NOW - 30}, "has expired"), ({"exp": 0}, "has expired"),
    ({"exp": -1e13}, "has expired"),
    ({"exp": OUT}, "does not say when"), ({"exp": None}, "does not say when"),
    ({"exp": str(NOW + 9)}, "exp is no time"),
    ({"exp": True}, "exp is no time"), ({"exp": [NOW + 9]}, "exp is no time"), ({"exp": 10**400}, "exp is no time"),
    ({"exp": 1e300}, "exp is no time"), ({"exp": -10**20}, "exp is no time"),
    ({"nbf": NOW + 30}, None), ({"nbf": NOW + 31}, "not valid yet"), ({"nbf": "x"}, "nbf is no time"),
    ({"nbf": 10**400}, "nbf is no time"), ({"nbf": False}, "nbf is no time"),
    ({"iss": OUT}, "issuer"), ({"iss": None}, "issuer"), ({"iss": ISSUER + "/"}, "issuer"), ({"iss": "evil"}, "issuer"),
    ({"iss": ISSUER.upper()}, "issuer"), ({"iss": [ISSUER]}, "issuer"), ({"iss": {"a": ISSUER}}, "issuer"),
    ({"aud": [HERE]}, None), ({"aud": ["you", HERE]}, None), ({"aud": "you"}, "not meant"), ({"aud": []}, "not meant"),
    ({"aud": OUT}, "not meant"), ({"aud": None}, "not meant"), ({"aud": HERE + "/"}, "not meant"),
    ({"aud": HERE + " you"}, "not meant"), ({"aud": 7}, "aud is neither"), ({"aud": [HERE, 7]}, "aud is neither"),
    ({"aud": {HERE: 1}}, "aud is neither"), ({"aud": [[HERE]]}, "aud is neither"),
    ({"sub": OUT}, None), ({"sub": 7}, "sub is not a string"), ({"sub": ["ada"]}, "sub is not a string"),
    ({"client_id": 7}, "client_id is not a string"), ({"client_id": OUT, "azp": {}}, "azp is not a string"),
    ({"scope": 7}, "scope is neither"), ({"scope": ["read", None]}, "scope is neither"),
    ({"scope": {"read": 1}}, "scope is neither"), ({"scope": OUT, "scp": 7}, "scp is neither"),
]


@pytest.mark.parametrize("number", range(len(CLAIM_CASES)))
def test_what_is_checked_of_the_claims(number: int) -> None:
    more, words = CLAIM_CASES[number]
    token, verify = make_jwt(EC, claims(**more)), verifier(audience=HERE)
    if words is None:
        assert verify(token) is not None
    else:
        assert words in refusal_of(verify, token)


def test_the_audience_may_be_left_to_the_resource_server() -> None:
    access = verifier()(make_jwt(EC, claims(aud=["you"])))
    assert access is not None and access.audience == ["you"]


@pytest.mark.parametrize("more, client, scopes", [
    ({}, "program", ["read", "write"]), ({"scope": OUT}, "program", []), ({"scope": None}, "program", []),
    ({"scope": "  a  b "}, "program", ["a", "b"]), ({"scope": ["a b", "c"]}, "program", ["a b", "c"]),
    ({"scope": "", "scp": "x"}, "program", []), ({"scope": OUT, "scp": "x y"}, "program", ["x", "y"]),
    ({"scope": OUT, "scp": ["x"]}, "program", ["x"]),
    ({"azp": "other"}, "program", ["read", "write"]), ({"client_id": OUT, "azp": "other"}, "other", ["read", "write"]),
    ({"client_id": OUT}, None, ["read", "write"]),
])
def test_the_words_of_authorization_servers(more: Dict[str, Any], client: Optional[str], scopes: List[str]) -> None:
    access = verifier()(make_jwt(EC, claims(**more)))
    assert access is not None and (access.client_id, access.scopes) == (client, scopes)


HEADER_CASES: Table = [
    ({}, None), ({"typ": "at+jwt"}, None), ({"typ": "application/at+jwt"}, None), ({"typ": "AT+JWT"}, None),
    ({"typ": "jwt"}, None), ({"kid": "any"}, None), ({"cty": "x", "x5t": 7}, None), ({"jwk": EC.public_jwk}, None),
    ({"typ": "dpop+jwt"}, "typ"), ({"typ": "logout+jwt"}, "typ"), ({"typ": "JWE"}, "typ"), ({"typ": ""}, "typ"),
    ({"typ": None}, "typ"), ({"typ": ["JWT"]}, "typ"), ({"typ": "application/application/jwt"}, "typ"),
    ({"crit": ["exp"]}, "extension"), ({"crit": []}, "extension"), ({"crit": None}, "extension"),
    ({"crit": ["b64"], "b64": False}, "extension"), ({"kid": 7}, "not a string"), ({"kid": ["a"]}, "not a string"),
    ({"kid": None}, "not a string"),
]


@pytest.mark.parametrize("number", range(len(HEADER_CASES)))
def test_what_is_checked_of_the_header(number: int) -> None:
    more, words = HEADER_CASES[number]
    token, verify = make_jwt(EC, CLAIMS, list(more.items())), verifier()
    if words is None:
        assert verify(token) is not None
    else:
        assert words in refusal_of(verify, token)


def test_a_header_need_not_say_its_type() -> None:
    assert verifier()(forged(EC, {"alg": "ES256"})) is not None
    assert "typ" in refusal_of(verifier(types=["at+jwt"]), forged(EC, {"alg": "ES256"}))
    assert "typ" in refusal_of(verifier(types=["at+jwt"]), make_jwt(EC, CLAIMS))
    assert verifier(types=["at+jwt"])(make_jwt(EC, CLAIMS, [("typ", "at+JWT")])) is not None


def forged(signer: Optional[Signer], header: Dict[str, Any], signature: bytes = b"") -> str:
    """A token whose header says what it likes."""
    signed = b64url(json.dumps(header).encode()) + "." + b64url(json.dumps(CLAIMS).encode())
    return signed + "." + b64url(signature if signer is None else signer.sign(signed.encode("ascii")))


FORGED = {
    "none": forged(None, {"alg": "none"}),
    "None": forged(None, {"alg": "None"}),
    "none with a signature": forged(EC, {"alg": "none"}),
    "no alg": forged(EC, {}),
    "empty signature": forged(None, {"alg": "ES256"}),
    "zeros": forged(None, {"alg": "ES256"}, bytes(64)),
    "zeros for RSA": forged(None, {"alg": "RS256"}, bytes(256)),
    "another algorithm than signed": forged(EC, {"alg": "RS256"}),
    "likewise": forged(RSA, {"alg": "ES256"}),
    "an unknown algorithm": forged(EC, {"alg": "ES512"}),
    "alg in small letters": forged(EC, {"alg": "es256"}),
    "alg in a list": forged(EC, {"alg": ["ES256"]}),
    "secret: the public key as JSON": forged(HmacSigner(json.dumps(EC.public_jwk)), {"alg": "HS256"}),
    "secret: the modulus": forged(HmacSigner(RSA.public_jwk["n"]), {"alg": "HS256"}),
    "secret: zeros": forged(HmacSigner(bytes(32)), {"alg": "HS256"}),
    "a key of its own": forged(Es256Signer(78), {"alg": "ES256", "jwk": Es256Signer(78).public_jwk}),
    "a key elsewhere": forged(Es256Signer(78), {"alg": "ES256", "jku": "https://evil.example/jwks", "kid": "x"}),
    "a certificate of its own": forged(RSA, {"alg": "ES256", "x5c": ["AAAA"]}),
    "other claims": make_jwt(EC, CLAIMS).split(".")[0] + "." + b64url(b'{"iss":"x"}') + "." + b64url(bytes(64)),
    "nothing": "", "no token": "secret-of-somebody", "encrypted": "a.b.c.d.e",
    "not ASCII": "\u00e9.\u00e9.\u00e9", "too long": make_jwt(EC, claims(x="x" * 60000)),
}


@pytest.mark.parametrize("name", list(FORGED))
@pytest.mark.parametrize("algorithms", [["ES256"], ["RS256", "ES256"]])
def test_forged_tokens(name: str, algorithms: List[str]) -> None:
    refusal_of(verifier(algorithms=algorithms), FORGED[name])


@pytest.mark.parametrize("algorithms, signer, fine", [
    (["ES256"], EC, True), (["ES256"], RSA, False), (["RS256"], RSA, True), (["RS256"], EC, False),
])
def test_the_algorithm_is_pinned(algorithms: List[str], signer: Signer, fine: bool) -> None:
    verify, token = verifier(algorithms=algorithms), make_jwt(signer, CLAIMS)
    if fine:
        assert verify(token) is not None
    else:
        assert "algorithm" in refusal_of(verify, token)


@pytest.mark.parametrize("more, words", [
    ({"algorithms": []}, "list of some"), ({"algorithms": ["none"]}, "list of some"),
    ({"algorithms": "RS256"}, "list of some"), ({"algorithms": ["RS256", "RS512"]}, "list of some"),
    ({"algorithms": ["HS256", "RS256"], "keys": SECRET}, "goes with no other"),
    ({"algorithms": ["HS256"], "keys": None}, "its key is passed"),
    ({"algorithms": ["HS256"], "keys": "https://auth.example.com/jwks"}, "its key is passed"),
    ({"algorithms": ["HS256"], "keys": b"short"}, "at least 32"), ({"keys": {"keys": [{"kty": "EC"}]}}, "P-256"),
    ({"keys": {}}, "list of objects"), ({"keys": "http://auth.example.com/jwks"}, "URL of the keys"),
])
def test_what_cannot_be_configured(more: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        verifier(**more)


@pytest.mark.parametrize("url", ["", "auth.example.com", "http://auth.example.com", "https://me:secret@example.com"])
def test_what_must_not_be_asked_is_refused_at_once(url: str) -> None:
    for make in (JwtVerifier, lambda endpoint: Introspection(endpoint)):
        with pytest.raises(ValueError) as caught:
            make(url)
        assert "secret" not in str(caught.value)
    assert JwtVerifier("joe", keys=EC.public_jwk).issuer == "joe"


def test_verifiers_do_not_show_secrets() -> None:
    assert repr(JwtVerifier(ISSUER, keys=SECRET, algorithms=["HS256"])) == "JwtVerifier('https://auth.example.com')"
    introspection = Introspection("https://auth.example.com/introspect?key=hidden", "me", "hidden")
    assert repr(introspection) == "Introspection('https://auth.example.com/introspect')"


# --- with an authorization server -------------------------------------------------------------------------------------

@pytest.fixture
def issuing() -> Iterator[AuthorizationServer]:
    with AuthorizationServer("/tenant") as server:
        server.keys = [EC.public_jwk]
        server.add_client("resource server", "s3cret: +%/\u00e9")
        server.add_client("posting", "another secret", "client_secret_post")
        yield server


def own(issuing: AuthorizationServer, **more: Any) -> str:
    """A token of this server."""
    return make_jwt(EC, claims(iss=issuing.issuer, **more))


def test_the_issuer_tells_where_its_keys_are(issuing: AuthorizationServer) -> None:
    verify = JwtVerifier(issuing.issuer, now=lambda: NOW)
    for number in range(3):
        access = verify(own(issuing, sub="user %d" % number))
        assert access is not None and access.subject == "user %d" % number
    assert [asked.path for asked in issuing.seen()] == [
        "/.well-known/oauth-authorization-server/tenant", "/tenant/jwks"]


@pytest.mark.parametrize("member, value, error", [
    ("jwks_uri", OUT, "no jwks_uri"), ("issuer", "https://evil.example", "another issuer"),
    ("jwks_uri", "http://example.com/jwks", "jwks_uri"), ("jwks_uri", "file:///etc/passwd", "jwks_uri"),
])
def test_an_issuer_that_does_not_tell(issuing: AuthorizationServer, member: str, value: Any, error: str) -> None:
    issuing.metadata[member] = value
    with pytest.raises(DiscoveryFailed, match="no keys to check tokens with: .*" + error):
        JwtVerifier(issuing.issuer, now=lambda: NOW)(own(issuing))


def test_what_is_no_token_asks_nobody(issuing: AuthorizationServer) -> None:
    verify = JwtVerifier(issuing.issuer, now=lambda: NOW)
    for token in (*FORGED.values(), make_jwt(EC, CLAIMS), make_jwt(EC, CLAIMS, [("crit", ["x"])])):
        refusal_of(verify, token)
    assert issuing.seen() == []


def test_keys_that_are_not_to_be_had_are_not_the_tokens_fault(issuing: AuthorizationServer, clock: Clock) -> None:
    issuing.answers["/jwks"] = lambda asked: CUT
    verify, token = JwtVerifier(issuing.issuer, now=clock), own(issuing)
    for _ in range(2):
        with pytest.raises(DiscoveryFailed):
            verify(token)
    del issuing.answers["/jwks"]
    clock.now += 30.0
    assert verify(token) is not None


def introspection(issuing: AuthorizationServer, **more: Any) -> Introspection:
    """A verifier that asks this server."""
    settings = {"client_id": "resource server", "client_secret": "s3cret: +%/\u00e9", "now": lambda: NOW, **more}
    return Introspection(issuing.metadata["introspection_endpoint"], **settings)


def test_the_server_is_asked_about_a_token(issuing: AuthorizationServer) -> None:
    issuing.tokens["t0ken"] = claims(iss=issuing.issuer)
    access = introspection(issuing, issuer=issuing.issuer, audience=HERE)("t0ken")
    assert access == AccessToken("ada", "program", issuing.issuer, [HERE], ["read", "write"], NOW + 600,
                                 claims(iss=issuing.issuer, active=True))
    asked, = issuing.seen("/introspect")
    assert (asked.method, asked.form) == ("POST", {"token": "t0ken", "token_type_hint": "access_token"})
    assert asked.headers["authorization"].startswith("Basic ") and asked.headers["accept"] == "application/json"


def test_the_secret_may_be_posted(issuing: AuthorizationServer) -> None:
    issuing.tokens["t0ken"] = claims()
    verify = introspection(issuing, client_id="posting", client_secret="another secret", method="client_secret_post")
    assert verify("t0ken") is not None and "authorization" not in issuing.seen("/introspect")[0].headers


@pytest.mark.parametrize("more, words", [
    ({"method": "private_key_jwt"}, "method"), ({"client_id": None}, "together"), ({"client_secret": None}, "together"),
])
def test_what_introspection_cannot_be_told(issuing: AuthorizationServer, more: Dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        introspection(issuing, **more)


ANSWERS: Table = [
    ({"active": True}, None), ({"active": True, "iss": OUT}, None), ({"active": True, "iss": None}, None),
    ({"active": True, "exp": OUT}, None), ({"active": True, "nbf": NOW - 5}, None),
    ({"active": False}, "not active"), ({}, "not active"), ({"active": None}, "not active"),
    ({"active": "true"}, "not active"), ({"active": 1}, "not active"), ({"active": [True]}, "not active"),
    ({"active": True, "exp": NOW - 31}, "expired"), ({"active": True, "nbf": NOW + 31}, "not valid yet"),
    ({"active": True, "exp": "soon"}, "exp is no time"), ({"active": True, "iss": "https://evil.example"}, "issuer"),
    ({"active": True, "aud": "you"}, "not meant"), ({"active": True, "aud": OUT}, "not meant"),
    ({"active": True, "sub": 7}, "sub is not"), ({"active": True, "scope": 7}, "scope is neither"),
]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_what_the_answer_may_say(number: int, issuing: AuthorizationServer) -> None:
    more, words = ANSWERS[number]
    issuing.answers["/introspect"] = lambda asked: reply_json(claims(**more))
    verify = introspection(issuing, issuer=ISSUER, audience=HERE)
    if words is None:
        access = verify("t0ken")
        assert access is not None and access.issuer == ISSUER
    else:
        assert words in refusal_of(verify, "t0ken")


NO_ANSWERS: List[Tuple[Callable[[Any], Reply], str]] = [
    (lambda asked: reply_json({"error": "invalid_client"}, 401), "does not take our client_id"),
    (lambda asked: reply_json(claims(active=True), 500), "HTTP 500"),
    (lambda asked: reply_json(claims(active=True), 201), "HTTP 201"),
    (lambda asked: redirect("https://evil.example/"), "HTTP 302"), (lambda asked: redirect("/introspect", 307), "307"),
    (lambda asked: reply_html(), "no JSON"), (lambda asked: reply_json([{"active": True}]), "expected object"),
    (lambda asked: Reply(200, (), b'{"active":false,"active":true}'), "duplicate"), (lambda asked: CUT, "no answer"),
    (lambda asked: Reply(200, (), b" " * 2**21), "max_auth_response_bytes"),
]


@pytest.mark.parametrize("number", range(len(NO_ANSWERS)))
def test_no_answer_is_not_the_tokens_fault(number: int, issuing: AuthorizationServer) -> None:
    """The error says nothing of the token or of our secret, and is not remembered."""
    reply, words = NO_ANSWERS[number]
    verify = introspection(issuing)
    issuing.answers["/introspect"] = reply
    issuing.tokens["t0ken"] = claims()
    with pytest.raises(AuthError, match=words) as caught:
        verify("t0ken")
    assert not isinstance(caught.value, (Unauthorized, IssuerMismatch))
    assert "t0ken" not in str(caught.value) and "s3cret" not in str(caught.value)
    del issuing.answers["/introspect"]
    assert verify("t0ken") is not None


@pytest.mark.parametrize("token", ["\u00e9", "a\nb", "\ud800", "x" * 50000, "\x00"])
def test_what_cannot_be_a_token_is_not_asked_for(token: str, issuing: AuthorizationServer) -> None:
    with pytest.raises(Unauthorized):
        introspection(issuing)(token)
    assert issuing.seen() == []


@pytest.mark.parametrize("remember, asked", [(30.0, 1), (0.0, 3)])
def test_a_revoked_token_is_good_no_longer_than_said(remember: float, asked: int, issuing: AuthorizationServer,
                                                     clock: Clock) -> None:
    issuing.tokens["t0ken"] = claims()
    verify = introspection(issuing, remember=remember, now=clock)
    for _ in range(3):
        assert verify("t0ken") is not None
    assert len(issuing.seen("/introspect")) == asked
    issuing.revoke()
    clock.now += remember
    assert "not active" in refusal_of(verify, "t0ken")


# --- behind a protected server ----------------------------------------------------------------------------------------

INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}).encode()


@pytest.fixture
def ask(issuing: AuthorizationServer, clock: Clock) -> Iterator[Callable[[str], Tuple[int, str]]]:
    """Sends a protected server a request with a token; returns status and challenge."""
    verify = JwtVerifier(issuing.issuer, now=clock)
    server = Server("protected", auth=ResourceServer(HERE, [issuing.issuer], verify, now=clock))
    fields = {"host": "mcp.example.com", "content-type": "application/json",
              "accept": "application/json, text/event-stream"}

    def made(token: str) -> Tuple[int, str]:
        answer = server.handle("POST", "/mcp", dict(fields, authorization="Bearer " + token), INITIALIZE)
        b"".join(answer.chunks)
        return answer.status, dict(answer.headers).get("WWW-Authenticate", "")

    yield made
    server.handler.close(0.0)


@pytest.mark.parametrize("name", [name for name in FORGED if name not in ("nothing", "not ASCII", "too long")])
def test_a_forged_token_lets_nobody_in(name: str, ask: Any) -> None:
    status, challenge = ask(FORGED[name])
    assert status == 401 and 'error="invalid_token"' in challenge
    assert not any(part in challenge for part in FORGED[name].split(".") if len(part) > 5)


def test_the_life_of_a_key(ask: Any, issuing: AuthorizationServer, clock: Clock) -> None:
    """It is published, tokens are signed with it, another one follows, and in the end it is no good any more."""
    new = Es256Signer(78)
    new.key_id, issuing.keys = "new", [dict(EC.public_jwk, kid="old")]

    def by_new(**more: Any) -> str:
        return make_jwt(new, claims(iss=issuing.issuer, exp=clock.now + 9999, **more))

    assert ask(own(issuing, sub="one", exp=NOW + 9999))[0] == 200
    assert ask(by_new(sub="early"))[0] == 401
    issuing.keys.append(dict(new.public_jwk, kid="new"))
    clock.now += 30.0
    assert ask(by_new(sub="two"))[0] == 200 and ask(by_new(sub="early"))[0] == 200
    del issuing.keys[0]
    clock.now += 3600.0
    assert ask(own(issuing, sub="one", exp=NOW + 9999))[0] == 401 and ask(by_new(sub="two"))[0] == 200


def test_a_server_without_keys_says_that_it_cannot_tell(ask: Any, issuing: AuthorizationServer, clock: Clock) -> None:
    issuing.answers["/jwks"] = lambda asked: reply_html(500)
    assert ask(own(issuing)) == (503, "")
    del issuing.answers["/jwks"]
    clock.now += 30.0
    assert ask(own(issuing))[0] == 200


@pytest.mark.parametrize("more, status", [
    ({}, 200), ({"aud": "https://other.example.com/mcp"}, 401), ({"aud": OUT}, 401), ({"exp": NOW}, 401),
    ({"exp": NOW - 10}, 401), ({"exp": NOW + 1}, 200), ({"iss": ISSUER}, 401), ({"nbf": NOW + 60}, 401),
])
def test_what_a_protected_server_lets_in(more: Dict[str, Any], status: int, ask: Any,
                                         issuing: AuthorizationServer) -> None:
    assert ask(make_jwt(EC, claims(**{"iss": issuing.issuer, **more})))[0] == status


# --- what is remembered -----------------------------------------------------------------------------------------------

class Counted:
    """A verifier that counts what it is asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: List[str] = []

    def __call__(self, token: str) -> Optional[AccessToken]:
        self.asked.append(token)
        answer = self.answers.get(token)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


def test_a_good_token_is_asked_for_once_until_it_expires(clock: Clock) -> None:
    verify = Counted(a=AccessToken("ada", expires_at=NOW + 100))
    cached = CachedVerifier(verify, now=clock)
    for _ in range(3):
        assert cached("a") is verify.answers["a"]
    clock.now += 99.9
    cached("a")
    assert len(verify.asked) == 1
    clock.now += 0.1
    cached("a")
    assert len(verify.asked) == 2


@pytest.mark.parametrize("access, settings, seconds", [
    (AccessToken("ada"), {}, 3600.0), (AccessToken("ada", expires_at=NOW + 9e9), {}, 3600.0),
    (AccessToken("ada", expires_at=NOW + 50), {"seconds": 20.0}, 20.0),
    (AccessToken("ada", expires_at=NOW + 10), {"seconds": 20.0}, 10.0),
    (AccessToken("ada", expires_at=NOW + 10), {"seconds": 20.0, "leeway": 5.0}, 15.0),
    (None, {}, FAILURE_SECONDS), (None, {"seconds": 3.0}, 3.0), (Unauthorized("no"), {}, FAILURE_SECONDS),
])
def test_how_long_it_is_remembered(access: Any, settings: Dict[str, Any], seconds: float, clock: Clock) -> None:
    verify = Counted(a=access)
    cached = CachedVerifier(verify, now=clock, **settings)

    def ask() -> None:
        try:
            assert cached("a") is (None if isinstance(access, Exception) else access)
        except Unauthorized as error:
            assert str(error) == str(access)

    ask()
    clock.now += seconds - 0.1
    ask()
    assert len(verify.asked) == 1
    clock.now += 0.1
    ask()
    assert len(verify.asked) == 2


def test_made_up_tokens_do_not_drive_out_good_ones(clock: Clock) -> None:
    verify = Counted(good=AccessToken("ada"))
    cached = CachedVerifier(verify, limits=Limits(max_cached_tokens=5), now=clock)
    cached("good")
    for number in range(100):
        assert cached("made up %d" % number) is None
    assert cached("good") is not None and verify.asked.count("good") == 1
    assert sum(map(len, (cached._good, cached._bad))) == 6


def test_no_more_than_so_many_good_ones_are_kept(clock: Clock) -> None:
    verify = Counted(**{"t%d" % number: AccessToken("ada") for number in range(10)})
    cached = CachedVerifier(verify, limits=Limits(max_cached_tokens=5), now=clock)
    for number in range(10):
        cached("t%d" % number)
    assert len(cached._good) == 5
    cached("t9"), cached("t5"), cached("t4")
    assert verify.asked[10:] == ["t4"]


def test_the_token_itself_is_not_kept(clock: Clock) -> None:
    cached = CachedVerifier(Counted(**{"s3cret-token": AccessToken("ada")}), now=clock)
    cached("s3cret-token"), cached("another s3cret")
    assert "s3cret" not in repr(vars(cached)["_good"]) + repr(vars(cached)["_bad"])


@pytest.mark.parametrize("fault", [AuthError("not now"), DiscoveryFailed("no keys"), KeyError("a bug")])
def test_what_is_not_about_the_token_is_not_remembered(fault: Exception, clock: Clock) -> None:
    verify = Counted(a=fault)
    cached = CachedVerifier(verify, now=clock)
    for _ in range(2):
        with pytest.raises(type(fault)):
            cached("a")
    assert verify.asked == ["a", "a"]


def test_a_verifier_remembers(clock: Clock) -> None:
    """Signatures take milliseconds; the second look at a token takes none, until it expires."""
    checked: List[str] = []

    class Watched(KeySet):
        def signed(self, jwt: Jwt, alg: str) -> bool:
            checked.append(alg)
            return super().signed(jwt, alg)

    verify, token = JwtVerifier(ISSUER, keys=Watched(EC.public_jwk), now=clock), make_jwt(EC, CLAIMS)
    for _ in range(5):
        assert verify(token) is not None
    assert len(checked) == 1
    clock.now += 630.0
    assert "expired" in refusal_of(verify, token)
