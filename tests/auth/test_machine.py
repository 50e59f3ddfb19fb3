"""Grants without a person (`mcp_ref.ext.auth.machine`): alone, and through a client of ours."""
import logging
import threading

import pytest

from mcp_ref.auth import ClientCredentials, EnterpriseManaged, FileStore, MemoryStore, WorkloadIdentity
from mcp_ref.auth.client.token_endpoint import ASSERTION_TYPE
from mcp_ref.auth.jose import HmacSigner, Signer, make_jwt, split_jwt
from mcp_ref.errors import DiscoveryFailed, InsufficientScope, RegistrationRefused, TokenRefused, Unauthorized
from mcp_ref.ext.auth.machine import ID_JAG, ID_TOKEN, JWT_BEARER, TOKEN_EXCHANGE, UNSAFE_ANY_ISSUER, meant_for
from tests.conformance.es256 import Es256Signer
from tests.support.auth_server import CREDENTIALS, EXCHANGE, REFRESH
from tests.support.authorized import Authorized, used
from tests.support.patience import WAIT
from tests.support.requirements_table import every_revision_of
from tests.support.scripted_grant import ISSUER, SERVER, ListContext, answer, found, server
from tests.support.scripted_web import reply_json

SECRET = "hush-hush-secret"
ID = "id-token-of-ada"
WORKLOAD = make_jwt(HmacSigner("w" * 32), {"sub": "job", "aud": [ISSUER]})
GIVEN = {"access_token": "given", "token_type": "Bearer"}
JAG = {"access_token": "the-jag", "issued_token_type": ID_JAG, "token_type": "N_A"}
REVISIONS = every_revision_of("auth.every-request")


class Ink(Signer):
    """Signs with ink."""

    alg = "ES256"
    public_jwk = {"kty": "EC", "crv": "P-256", "x": "x", "y": "y"}

    def sign(self, data):
        return b"ink"


def enterprise(**options):
    usual = {"id_token": ID, "idp_client_id": "idp-me", "idp_issuer": "https://idp.example",
             "idp_token_endpoint": "https://idp.example/token", "issuer": ISSUER}
    return EnterpriseManaged("me", SECRET, **{**usual, **options})


def of(scene):
    """The options of a grant for what this scene's authorization server issues."""
    return {"issuer": scene.issuing.issuer, "now": scene.clock}


def shown(sent):
    """How a client showed who it is in this request."""
    if "Authorization" in sent.headers:
        return "basic"
    return next((name for name in ("client_assertion", "client_secret", "client_id") if name in sent.form), None)


# --- client credentials -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scopes, scope", [(None, None), ([], None), (["a", "b"], "a b")])
def test_the_request_of_client_credentials(scopes, scope):
    """[RFC 6749 §4.4.2]"""
    context = ListContext(answer(GIVEN))
    token = ClientCredentials("me", SECRET, issuer=ISSUER).obtain(found(), scopes, context)
    sent, = context.fetched.sent
    assert sent.url == ISSUER + "/token"
    assert sent.form.pop("scope", None) == scope
    assert sent.form == {"grant_type": "client_credentials", "resource": SERVER, "client_id": "me"}
    assert (token.access_token, token.issuer, token.resource, token.client_id) == ("given", ISSUER, SERVER, "me")
    assert token.requested == scopes


@pytest.mark.parametrize("options, methods, way", [
    ({"client_secret": SECRET}, None, "basic"),
    ({"client_secret": SECRET}, ["client_secret_post"], "client_secret"),
    ({"client_secret": SECRET}, ["client_secret_post", "client_secret_basic"], "basic"),
    ({"client_secret": SECRET}, ["none"], "basic"),
    ({"client_secret": SECRET}, ["private_key_jwt"], "basic"),
    ({"client_secret": SECRET, "method": "client_secret_post"}, ["client_secret_basic"], "client_secret"),
    ({"signer": Ink()}, None, "client_assertion"),
    ({"signer": Ink()}, ["none", "client_secret_basic"], "client_assertion"),
    ({"signer": Ink()}, ["private_key_jwt", "client_secret_basic"], "client_assertion"),
    ({"signer": HmacSigner("s" * 32)}, ["client_secret_jwt"], "client_assertion"),
])
def test_how_the_client_shows_who_it_is(options, methods, way):
    """[RFC 8414 §2] token_endpoint_auth_methods_supported"""
    context = ListContext(answer(GIVEN))
    auth = ClientCredentials("me", issuer=ISSUER, **options)
    auth.obtain(found(token_endpoint_auth_methods_supported=methods), None, context)
    assert shown(context.fetched.sent[0]) == way


def test_the_assertion_is_for_the_issuer():
    """[RFC 7523 §3]"""
    context = ListContext(answer(GIVEN))
    ClientCredentials("me", signer=Ink(), issuer=ISSUER).obtain(found(), None, context)
    form = context.fetched.sent[0].form
    assert form["client_assertion_type"] == ASSERTION_TYPE
    claims = split_jwt(form["client_assertion"]).claims
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", ISSUER)


def test_an_algorithm_that_is_not_taken_is_not_tried():
    """[RFC 8414 §2] token_endpoint_auth_signing_alg_values_supported"""
    context = ListContext()
    place = found(token_endpoint_auth_signing_alg_values_supported=["RS256"])
    with pytest.raises(TokenRefused, match="RS256"):
        ClientCredentials("me", signer=Ink(), issuer=ISSUER).obtain(place, None, context)
    assert context.fetched.sent == []


@pytest.mark.parametrize("make", [
    lambda: ClientCredentials("me", issuer=ISSUER),
    lambda: ClientCredentials("me", "secret", signer=Ink(), issuer=ISSUER),
    lambda: EnterpriseManaged("me", "secret", id_token=ID, idp_client_id="x", issuer=ISSUER),
])
def test_what_does_not_go_together_is_refused(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("way", ["secret", "signature"])
def test_client_credentials_let_a_client_in(revision, way):
    """[RFC 6749 §4.4]"""
    with Authorized(revision) as scene:
        scene.protected.scopes = ["read"]
        method = None if way == "secret" else "private_key_jwt"
        scene.issuing.add_client("me", SECRET if way == "secret" else None, method)
        auth = ClientCredentials("me", *([SECRET] if way == "secret" else []), **of(scene),
                                 signer=None if way == "secret" else Es256Signer.generate())
        with used(scene, auth):
            pass
        assert scene.issuing.grants() == [CREDENTIALS] and scene.authorizations() == 0
        assert scene.posted()["scope"] == "read"
        assert scene.issuing.seen("/register") == []
        assert {"client_assertion", "client_assertion_type"} <= set(scene.posted()) or way == "secret"


def test_a_token_is_got_anew_before_it_ends():
    """Without a refresh token the grant itself is the way to another one."""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        with used(scene, ClientCredentials("me", SECRET, **of(scene))) as client:
            scene.clock.advance(3600 - 20)
            client.call_tool("echo", {"text": "x"})
        assert scene.issuing.grants() == [CREDENTIALS] * 2
        assert [status for _, status in scene.protected.checked].count(401) == 1


def test_a_refresh_token_is_used_where_there_is_one():
    """[RFC 6749 §6]"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)

        def refreshable(asked):
            claims = {"client_id": "me", "sub": "me", "scope": "", "aud": asked.form["resource"], "refreshable": True}
            return reply_json(scene.issuing.issue(claims)) if asked.form["grant_type"] == CREDENTIALS else None

        scene.issuing.answers["/token"] = refreshable
        with used(scene, ClientCredentials("me", SECRET, **of(scene))) as client:
            scene.clock.advance(3600 - 20)
            client.call_tool("echo", {"text": "x"})
        assert scene.issuing.grants() == [CREDENTIALS, REFRESH]


def test_more_scopes_are_asked_for_once():
    """[2026-07-28 basic/authorization/index §Step-Up Authorization Flow] MAY"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        scene.protected.scopes = ["read"]
        scene.protected.needs = {"tools/call:write": ["write"]}
        with used(scene, ClientCredentials("me", SECRET, **of(scene))) as client:
            assert client.call_tool("write", {"text": "x"}).text == "kept x"
            assert set(scene.posted()["scope"].split()) == {"read", "write"}
            scene.protected.needs = {"tools/call:write": ["admin"]}
            scene.issuing.granted = lambda scope: "read write"
            with pytest.raises(InsufficientScope):
                client.call_tool("write", {"text": "x"})
        assert len(scene.issuing.grants()) == 3


@pytest.mark.race
def test_threads_that_are_refused_at_once_get_one_token():
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        with used(scene, ClientCredentials("me", SECRET, **of(scene))) as client:
            scene.issuing.revoke()
            errors = []

            def call():
                try:
                    client.call_tool("echo", {"text": "x"})
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=call, name="caller-%d" % number) for number in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(WAIT)
        assert errors == []
        assert scene.issuing.grants() == [CREDENTIALS] * 2


# --- whose credentials they are ---------------------------------------------------------------------------------------

GRANTS = {
    "client credentials": lambda **options: ClientCredentials("me", SECRET, **{"issuer": ISSUER, **options}),
    "enterprise": enterprise,
    "workload": lambda **options: WorkloadIdentity("opaque", **{"issuer": ISSUER, **options}),
    "workload with a name": lambda **options: WorkloadIdentity("opaque", "me", **{"issuer": ISSUER, **options}),
}


@pytest.mark.parametrize("grant", GRANTS)
@pytest.mark.parametrize("issuer", [None, ""])
def test_without_a_person_it_must_be_said_whose_the_credentials_are(grant, issuer):
    """[2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST: nobody else would notice
    that an MCP server names an authorization server which only wants to have them."""
    with pytest.raises(ValueError, match="needs issuer=.*no person would notice") as caught:
        GRANTS[grant](issuer=issuer)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("make", [
    lambda: ClientCredentials("me", SECRET), lambda: ClientCredentials("me", signer=Ink()),
    lambda: WorkloadIdentity("opaque"), lambda: WorkloadIdentity("opaque", "me"),
    lambda: EnterpriseManaged("me", SECRET, id_token=ID, idp_client_id="x", idp_issuer="https://idp.example"),
])
def test_a_grant_without_a_person_is_not_made_without_issuer(make):
    with pytest.raises(ValueError, match="needs issuer="):
        make()


@pytest.mark.parametrize("issuer", ["auth.example", "http://auth.example", "https://a@auth.example", "ftp://x", 7])
def test_an_issuer_is_a_url_that_may_be_asked(issuer):
    with pytest.raises(ValueError, match="issuer"):
        ClientCredentials("me", SECRET, issuer=issuer)


def test_a_made_up_server_gets_nothing_of_them():
    """The attack: a server of somebody's, which names an authorization server of his."""
    with Authorized() as scene:
        ours = scene.issuing.issuer
        evil = scene.more()
        evil.add_client("me", SECRET)
        scene.protected.document["authorization_servers"] = [evil.issuer]
        for auth in (ClientCredentials("me", SECRET, issuer=ours), WorkloadIdentity("opaque", issuer=ours)):
            assert isinstance(scene.refused(auth), RegistrationRefused)
        assert evil.seen("/token") == [] == scene.issuing.seen("/token")


@pytest.mark.parametrize("grant", GRANTS)
def test_nothing_goes_to_another_authorization_server_than_theirs(grant):
    """[2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST NOT"""
    context = ListContext()
    with pytest.raises(RegistrationRefused, match="https://other.example"):
        GRANTS[grant](issuer="https://other.example").obtain(found(), None, context)
    assert context.fetched.sent == []


@pytest.mark.parametrize("grant", GRANTS)
def test_without_a_name_they_belong_to_the_first_authorization_server(grant, tmp_path):
    """[2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST: also after a restart."""
    for attempt in range(2):
        store = FileStore(tmp_path / "tokens")
        answers = [answer(JAG)] * (grant == "enterprise") + [answer(GIVEN)]
        context = ListContext(*answers, store=store)
        GRANTS[grant](store=store, issuer=UNSAFE_ANY_ISSUER).obtain(found(), None, context)
        with pytest.raises(RegistrationRefused, match="auth.example"):
            other = found()
            other.server.issuer = "https://other.example"
            GRANTS[grant](store=store, issuer=UNSAFE_ANY_ISSUER).obtain(other, None, context)
        assert context.fetched.answers == []


@pytest.mark.parametrize("how", ["issuer", "store"])
def test_of_several_authorization_servers_theirs_is_chosen(how):
    """[2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Location]"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        store = MemoryStore()
        if how == "store":
            store.set("issuer", "me", {"issuer": scene.issuing.issuer})
        scene.protected.document["authorization_servers"] = [scene.more().issuer, scene.issuing.issuer]
        issuer = scene.issuing.issuer if how == "issuer" else UNSAFE_ANY_ISSUER
        with used(scene, ClientCredentials("me", SECRET, issuer=issuer, store=store, now=scene.clock)):
            pass
        assert scene.issuing.grants() == [CREDENTIALS]


def test_a_server_that_moves_to_another_authorization_server_does_not_get_them():
    """[2026-07-28 basic/authorization/client-registration §Authorization Server Binding] MUST NOT"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        other = scene.more()
        with used(scene, ClientCredentials("me", SECRET, **of(scene))) as client:
            scene.protected.migrate(other)
            with pytest.raises(RegistrationRefused):
                client.call_tool("echo", {"text": "x"})
        assert other.seen("/token") == []


def test_tokens_of_different_clients_in_one_store_are_kept_apart():
    store = MemoryStore()
    accounts = {GRANTS[name](store=store).account for name in GRANTS}
    accounts.update(grant.account for grant in (ClientCredentials("you", SECRET, issuer=ISSUER), enterprise(user="ada"),
                                                enterprise(user="bob"), WorkloadIdentity("x", "you", issuer=ISSUER)))
    assert len(accounts) == len(GRANTS) + 4


# --- enterprise-managed authorization ---------------------------------------------------------------------------------

def test_the_two_requests_of_a_person_whom_a_company_knows():
    """[RFC 8693 §2.1] [RFC 7523 §2.1]"""
    context = ListContext(answer(JAG), answer(GIVEN))
    token = enterprise().obtain(found(), ["read"], context)
    exchange, bearer = context.fetched.sent
    assert exchange.url == "https://idp.example/token"
    assert exchange.form == {
        "grant_type": TOKEN_EXCHANGE, "requested_token_type": ID_JAG, "subject_token": ID,
        "subject_token_type": ID_TOKEN, "audience": ISSUER, "resource": SERVER, "scope": "read", "client_id": "idp-me",
    }
    assert SECRET not in str(exchange.headers)
    assert bearer.url == ISSUER + "/token"
    assert bearer.form == {"grant_type": JWT_BEARER, "assertion": "the-jag", "resource": SERVER, "scope": "read",
                           "client_id": "me"}
    assert shown(bearer) == "basic"
    assert token.access_token == "given" and token.client_id == "me"


def test_the_names_of_the_types():
    assert TOKEN_EXCHANGE == "urn:ietf:params:oauth:grant-type:token-exchange"
    assert JWT_BEARER == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert ID_TOKEN == "urn:ietf:params:oauth:token-type:id_token"
    assert ID_JAG == "urn:ietf:params:oauth:token-type:id-jag"


def test_the_identity_provider_may_want_a_secret_of_its_own():
    context = ListContext(answer(JAG), answer(GIVEN))
    enterprise(idp_client_secret="idp-secret").obtain(found(), None, context)
    assert shown(context.fetched.sent[0]) == "basic"
    assert context.fetched.sent[0].headers["Authorization"] != context.fetched.sent[1].headers["Authorization"]


def test_an_id_token_may_come_from_a_callable_each_time():
    context = ListContext(answer(JAG), answer(GIVEN), answer(JAG), answer(GIVEN))
    tokens = ["first", "second"]
    grant = enterprise(id_token=lambda: tokens.pop(0), subject_token_type="urn:ietf:params:oauth:token-type:saml2")
    for _ in range(2):
        grant.obtain(found(), None, context)
    forms = [sent.form for sent in context.fetched.sent[::2]]
    assert [form["subject_token"] for form in forms] == ["first", "second"]
    assert forms[0]["subject_token_type"] == "urn:ietf:params:oauth:token-type:saml2"


@pytest.mark.parametrize("wrong", [
    {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}, {"issued_token_type": None},
    {"access_token": None}, {"access_token": ""}, {"access_token": 7},
])
def test_what_is_no_assertion_goes_no_further(wrong):
    """[RFC 8693 §2.2.1] issued_token_type"""
    context = ListContext(answer({**JAG, **wrong}))
    with pytest.raises(TokenRefused, match="idp.example"):
        enterprise().obtain(found(), None, context)
    assert len(context.fetched.sent) == 1


def test_a_refusal_of_the_identity_provider_is_the_outcome():
    context = ListContext(answer({"error": "access_denied", "error_description": "not you, " + ID}, 400))
    with pytest.raises(TokenRefused, match="idp.example.*access_denied") as caught:
        enterprise().obtain(found(), None, context)
    assert len(context.fetched.sent) == 1
    assert ID not in str(caught.value) and caught.value.error == "access_denied"


def two_servers(scene, idp):
    scene.issuing.add_client("me", SECRET)
    idp.add_client("idp-me")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("place", [{"idp_token_endpoint": None}, {"idp_issuer": None}, {}])
def test_a_company_lets_its_people_in(revision, place):
    with Authorized(revision) as scene:
        idp = scene.more(places=("openid",))
        two_servers(scene, idp)
        whole = {"idp_issuer": idp.issuer, "idp_token_endpoint": idp.issuer + "/token", **place}
        with used(scene, enterprise(**of(scene), **whole)):
            pass
        assert idp.grants() == [EXCHANGE] and scene.issuing.grants() == [JWT_BEARER]
        asked = idp.seen("/token")[0].form
        assert (asked["audience"], asked["resource"]) == (scene.issuing.issuer, scene.posted()["resource"])
        assert scene.authorizations() == 0


def test_metadata_of_another_identity_provider_is_not_used():
    """[RFC 8414 §3.3]"""
    with Authorized() as scene:
        idp = scene.more(places=("openid",))
        two_servers(scene, idp)
        idp.metadata["issuer"] = "https://other.example"
        error = scene.refused(enterprise(idp_issuer=idp.issuer, idp_token_endpoint=None, **of(scene)))
        assert type(error).__name__ == "IssuerMismatch"
        assert idp.seen("/token") == []


def test_the_identity_provider_has_to_be_asked_over_https():
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        error = scene.refused(enterprise(idp_token_endpoint="http://idp.example/token", **of(scene)))
        assert isinstance(error, DiscoveryFailed) and "https" in str(error)


# --- workload identity ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("client_id", [None, "job"])
def test_the_request_of_a_workload(client_id):
    """[RFC 7523 §2.1] [RFC 7521 §4.1]"""
    context = ListContext(answer(GIVEN))
    token = WorkloadIdentity(WORKLOAD, client_id, issuer=ISSUER).obtain(found(), ["read"], context)
    sent, = context.fetched.sent
    assert sent.form.pop("client_id", None) == client_id
    assert sent.form == {"grant_type": JWT_BEARER, "assertion": WORKLOAD, "resource": SERVER, "scope": "read"}
    assert sent.headers == {} and token.client_id == (client_id or "")


@pytest.mark.parametrize("options, way", [
    ({"client_secret": SECRET}, "basic"), ({"signer": Ink()}, "client_assertion"),
])
def test_a_workload_may_have_credentials_besides(options, way):
    """[RFC 7521 §4.1]"""
    context = ListContext(answer(GIVEN))
    WorkloadIdentity(WORKLOAD, "job", issuer=ISSUER, **options).obtain(found(), None, context)
    assert shown(context.fetched.sent[0]) == way


def test_an_assertion_may_come_from_a_callable_for_each_issuer():
    context = ListContext(answer(GIVEN), answer(GIVEN))
    asked = []

    def fresh(issuer):
        asked.append(issuer)
        return "assertion-%d" % len(asked)

    grant = WorkloadIdentity(fresh, issuer=ISSUER)
    for _ in range(2):
        grant.obtain(found(), None, context)
    assert asked == [ISSUER] * 2
    assert [sent.form["assertion"] for sent in context.fetched.sent] == ["assertion-1", "assertion-2"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_workload_is_let_in(revision):
    with Authorized(revision) as scene:
        with used(scene, WorkloadIdentity(addressed(scene.issuing.issuer), **of(scene))):
            pass
        assert scene.issuing.grants() == [JWT_BEARER]
        assert scene.issuing.seen("/register") == [] and scene.authorizations() == 0


FINAL = ["invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]


@pytest.mark.parametrize("error", FINAL)
def test_after_a_refusal_nothing_else_is_tried(error):
    """Neither again, nor with another grant, nor by registering."""
    with Authorized() as scene:
        scene.issuing.answers["/token"] = lambda asked: reply_json({"error": error}, 400)
        auth = WorkloadIdentity("opaque", **of(scene))
        for _ in range(2):
            refused = scene.refused(auth)
            assert isinstance(refused, TokenRefused) and refused.error == error
        assert scene.issuing.grants() == [JWT_BEARER]
        assert scene.issuing.seen("/register") == [] and scene.authorizations() == 0


@pytest.mark.parametrize("error, status", [("temporarily_unavailable", 503), ("", 500)])
def test_what_passes_does_not_speak_against_the_assertion(error, status):
    context = ListContext(answer({"error": error} if error else b"", status), answer(GIVEN))
    grant = WorkloadIdentity("opaque", issuer=ISSUER)
    with pytest.raises(TokenRefused):
        grant.obtain(found(), None, context)
    assert grant.obtain(found(), None, context).access_token == "given"


def test_a_new_assertion_is_shown_after_a_refusal():
    context = ListContext(answer({"error": "invalid_grant"}, 400), answer(GIVEN))
    assertions = ["old", "new"]
    grant = WorkloadIdentity(lambda issuer: assertions.pop(0), issuer=ISSUER)
    with pytest.raises(TokenRefused):
        grant.obtain(found(), None, context)
    assert grant.obtain(found(), None, context).access_token == "given"


def addressed(audience):
    return make_jwt(HmacSigner("w" * 32), {"sub": "job"} if audience is None else {"sub": "job", "aud": audience})


@pytest.mark.parametrize("audience, meant", [
    (ISSUER, True), (ISSUER + "/", True), (ISSUER + "/token", True), ([ISSUER, "https://other.example"], True),
    ("https://AUTH.example:443", True), ("https://tokens.example/token", True),
    ("api://exchange", True), (["https://other.example", "workloads"], True), (None, True), (7, True), ([], True),
    ("https://other.example", False), (["https://other.example", "http://auth.example"], False),
    ("https://auth.example:8443", False), ("https://auth.example.evil.example", False), ("https://", False),
    ("https://auth.example@evil.example", False),
])
def test_whom_an_assertion_is_meant_for(audience, meant):
    """[RFC 7523 §3] item 3"""
    place = server()
    place.token_endpoint = "https://tokens.example/token"
    assert meant_for(addressed(audience), place) is meant


@pytest.mark.parametrize("text", ["", "opaque", "a.b.c", "a.b"])
def test_an_assertion_that_cannot_be_read_may_be_meant_for_anybody(text):
    assert meant_for(text, server())


def test_an_assertion_for_another_authorization_server_is_not_sent():
    """Who got it could show it there."""
    context = ListContext()
    with pytest.raises(TokenRefused, match="not sent") as caught:
        WorkloadIdentity(addressed("https://other.example"), issuer=ISSUER).obtain(found(), None, context)
    assert context.fetched.sent == [] and "eyJ" not in str(caught.value)


# --- DPoP -------------------------------------------------------------------------------------------------------------

class Counting(Es256Signer):
    """Counts."""

    signed = 0

    def sign(self, data):
        self.signed += 1
        return super().sign(data)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("nonces", [False, True])
def test_tokens_are_bound_to_a_key(revision, nonces):
    """[RFC 9449 §5, §7, §8, §9]"""
    with Authorized(revision) as scene:
        scene.issuing.add_client("me", SECRET)
        if nonces:
            scene.issuing.nonce, scene.protected.nonce = "nonce-of-as", "nonce-of-rs"
        key = Counting.generate()
        with used(scene, ClientCredentials("me", SECRET, dpop=key, **of(scene))):
            pass
        proofs = [one.headers["dpop"] for one in scene.issuing.seen("/token")]
        assert scene.issuing.grants() == [CREDENTIALS] * (2 if nonces else 1)
        assert "ath" not in split_jwt(proofs[-1]).claims
        sent = [one for one in scene.protected.seen(scene.protected.path) if "authorization" in one.headers]
        assert len(sent) >= 2 and all(one.headers["authorization"].startswith("DPoP ") for one in sent)
        proofs += [one.headers["dpop"] for one in sent]
        claims = [split_jwt(proof).claims for proof in proofs]
        assert len({one["jti"] for one in claims}) == len(proofs) <= key.signed
        assert all(one["htu"] == scene.protected.url for one in claims[len(claims) - len(sent):])
        assert [one["htm"] for one in claims[len(claims) - len(sent):]] == [one.method for one in sent]
        assert all(split_jwt(proof).header["jwk"] == key.public_jwk for proof in proofs)
        assert ("nonce" in claims[-1]) is nonces


def test_a_nonce_that_changes_is_taken_up():
    """[RFC 9449 §8.2, §9]"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        scene.protected.nonce = "one"
        auth = ClientCredentials("me", SECRET, dpop=Es256Signer.generate(), **of(scene))
        with used(scene, auth) as client:
            scene.protected.nonce = "two"
            assert client.call_tool("echo", {"text": "x"}).text == "x"
        assert scene.issuing.grants() == [CREDENTIALS]


def test_a_server_that_always_wants_another_nonce_does_not_get_all_it_wants():
    """[RFC 9449 §8]: the request is made again with the nonce; not for ever."""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        made = []

        def never(asked):
            made.append(len(made))
            return reply_json({"error": "use_dpop_nonce"}, 400, [("DPoP-Nonce", "n%d" % len(made))])

        scene.issuing.answers["/token"] = never
        error = scene.refused(ClientCredentials("me", SECRET, dpop=Es256Signer.generate(), **of(scene)))
        assert isinstance(error, TokenRefused) and error.error == "use_dpop_nonce"
        assert len(made) == 2


def test_a_token_that_is_not_bound_is_not_used_in_place_of_one_that_is():
    """[RFC 9449 §5]"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        scene.issuing.answers["/token"] = lambda asked: reply_json(GIVEN)
        error = scene.refused(ClientCredentials("me", SECRET, dpop=Es256Signer.generate(), **of(scene)))
        assert isinstance(error, TokenRefused) and "bound" in str(error)
        assert set(scene.protected.bearers()) == {None}


def test_an_algorithm_that_the_server_does_not_take_is_not_used():
    """[RFC 9449 §5.1]"""
    with Authorized() as scene:
        scene.issuing.add_client("me", SECRET)
        scene.issuing.metadata["dpop_signing_alg_values_supported"] = ["PS256"]
        error = scene.refused(ClientCredentials("me", SECRET, dpop=Es256Signer.generate(), **of(scene)))
        assert isinstance(error, Unauthorized) and "PS256" in str(error)
        assert scene.issuing.seen("/token") == []


# --- secrets ----------------------------------------------------------------------------------------------------------

def test_nothing_secret_is_shown(caplog):
    assertion = addressed("anybody")
    grants = [ClientCredentials("me", SECRET, issuer=ISSUER), ClientCredentials("me", signer=Ink(), issuer=ISSUER),
              enterprise(), WorkloadIdentity(assertion, "me", issuer=ISSUER)]
    hidden = [SECRET, ID, assertion, "the-jag"]
    with caplog.at_level(logging.DEBUG):
        for grant in grants:
            for sent in range(2):
                echo = {"error": "invalid_grant", "error_description": " ".join(hidden)}
                context = ListContext(*[answer(JAG)] * sent, answer(echo, 400), answer(echo, 400))
                with pytest.raises(TokenRefused) as caught:
                    grant.obtain(found(), None, context)
                form = context.fetched.sent[-1].form if context.fetched.sent else {}
                texts = [str(caught.value), repr(caught.value), caught.value.description, repr(grant), caplog.text]
                assertions = [form["client_assertion"]] if "client_assertion" in form else []
                mine = [SECRET] * (grant is grants[0]) + [assertion] + assertions
                for text in texts:
                    assert not any(secret in text for secret in mine)
                    if grant is grants[2]:
                        assert not any(secret in text for secret in ([SECRET, "the-jag"] if sent else [ID]))
