"""basic/authorization, the authorization code flow: PKCE, `state`, and which redirects count (`iss`).

Pages: basic/authorization §Authorization Code Protection and §Open Redirection; from 2026-07-28 on
basic/authorization/security-considerations and basic/authorization/index §Authorization Response Validation.
"""
import re
from typing import Any, List
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch
from tests.support.auth_server import OUT, ProtectedServer, Refusal, browser, challenge_of
from tests.support.authorized import Authorized, altered, used
from tests.support.serving import over

STATELESS = "2026-07-28"
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}\Z")


# --- PKCE -------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.pkce", "auth.pkce-s256")
@over("auth.pkce")
def test_pkce_with_s256_and_a_fresh_verifier_each_time(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            pass
        with used(scene):
            pass
        asked, posted = scene.issuing.seen("/authorize"), scene.issuing.seen("/token")
        assert len(asked) == len(posted) == 2
        for one, other in zip(asked, posted):
            assert one.query["code_challenge_method"] == "S256"
            assert VERIFIER.match(other.form["code_verifier"])
            assert challenge_of(other.form["code_verifier"]) == one.query["code_challenge"]
        assert posted[0].form["code_verifier"] != posted[1].form["code_verifier"]
        for one in scene.issuing.seen():
            assert one.path == "/token" or posted[0].form["code_verifier"] not in str(one)


METHODS: List[Any] = [OUT, [], ["plain"], None, "S256", ["s256"]]


@pytest.mark.spec("auth.pkce-verify-support", "auth.pkce-absent-refuse", "auth.pkce-oidc-verify",
                  "auth.pkce-oidc-absent-refuse")
@over("auth.pkce-absent-refuse")
@pytest.mark.parametrize("place", ["oauth", "openid"])
@pytest.mark.parametrize("methods", METHODS)
def test_a_server_that_does_not_announce_s256_is_refused(revision: str, place: str, methods: Any) -> None:
    with Authorized(revision, places=[place]) as scene:
        scene.issuing.metadata["code_challenge_methods_supported"] = methods
        error = scene.refused()
        assert "S256" in str(error) or "code_challenge_methods_supported" in str(error)
        assert scene.authorizations() == 0 and not scene.issuing.seen("/register")


@pytest.mark.spec("auth.pkce-verify-support", "auth.pkce-oidc-verify")
@over("auth.pkce-verify-support")
@pytest.mark.parametrize("place", ["oauth", "openid", "appended"])
def test_a_server_that_announces_it_among_others_is_taken(revision: str, place: str) -> None:
    with Authorized(revision, path="/tenant1" if place == "appended" else "", places=[place]) as scene:
        scene.issuing.metadata["code_challenge_methods_supported"] = ["plain", "S256"]
        with used(scene):
            pass
        assert scene.asked()["code_challenge_method"] == "S256"


# --- state ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.state")
@over("auth.state")
def test_the_state_is_long_and_another_one_each_time(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            pass
        with used(scene):
            pass
        states = {one.query["state"] for one in scene.issuing.seen("/authorize")}
        assert len(states) == 2 and min(map(len, states)) >= 22


@pytest.mark.spec("auth.state")
@over("auth.state")
@pytest.mark.parametrize("change", [None, "", "wrong", "x" * 43])
def test_an_answer_with_another_state_is_discarded(revision: str, change: Any) -> None:
    with Authorized(revision) as scene:
        error = scene.refused(authorize=altered(state=change))
        assert isinstance(error, AuthError) and not scene.issuing.seen("/token")
        assert_nothing_secret(scene, error)


@pytest.mark.spec("auth.state")
@over("auth.state")
def test_an_error_with_another_state_is_not_shown(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.error = Refusal("access_denied", "call the hotline to pay")
        error = scene.refused(authorize=altered(state="wrong"))
        assert "hotline" not in str(error) and "access_denied" not in str(error)


def assert_nothing_secret(scene: Authorized, error: BaseException) -> None:
    seen: Any = error
    while seen is not None:
        text = "%s %r %r" % (seen, seen, getattr(seen, "__dict__", None))
        assert not [secret for secret in scene.issuing.secrets if secret and secret in text], text
        seen = seen.__cause__ or seen.__context__


# --- iss --------------------------------------------------------------------------------------------------------------

RIGHT, ABSENT, WRONG = "right", "absent", "wrong"
TABLE = [
    pytest.param(True, RIGHT, True, marks=pytest.mark.spec("auth.iss-compare-advertised")),
    pytest.param(True, WRONG, False, marks=pytest.mark.spec("auth.iss-compare-advertised", "auth.iss-record")),
    pytest.param(True, ABSENT, False, marks=pytest.mark.spec("auth.iss-missing-rejected")),
    pytest.param(False, RIGHT, True, marks=pytest.mark.spec("auth.iss-compare-unadvertised")),
    pytest.param(False, WRONG, False, marks=pytest.mark.spec("auth.iss-compare-unadvertised", "auth.iss-record")),
    pytest.param(False, ABSENT, True, marks=pytest.mark.spec("auth.iss-absent-proceed")),
    pytest.param(OUT, RIGHT, True, marks=pytest.mark.spec("auth.iss-compare-unadvertised")),
    pytest.param(OUT, WRONG, False, marks=pytest.mark.spec("auth.iss-compare-unadvertised")),
    pytest.param(OUT, ABSENT, True, marks=pytest.mark.spec("auth.iss-absent-proceed")),
]


@pytest.mark.parametrize("advertised,given,proceeds", TABLE)
def test_the_issuer_of_an_answer(advertised: Any, given: str, proceeds: bool) -> None:
    with Authorized(STATELESS) as scene:
        scene.issuing.metadata["authorization_response_iss_parameter_supported"] = advertised
        scene.issuing.iss = {RIGHT: scene.issuing.issuer, ABSENT: OUT, WRONG: "https://evil.example.com"}[given]
        if proceeds:
            with used(scene):
                pass
        else:
            error = scene.refused()
            assert isinstance(error, IssuerMismatch) and "evil" not in str(error)
            assert_nothing_secret(scene, error)
        assert len(scene.issuing.seen("/authorize")) == 1
        assert len(scene.issuing.seen("/token")) == proceeds


NEARLY = ["{issuer}/", "HTTP{rest}", "http://LOCALHOST{port}{path}", "{issuer}?", "{issuer}#", "{origin}/./tenant1",
          "{origin}/%74enant1", "{origin}/Tenant1", " {issuer}", "{issuer} ", "{origin}", ""]


@pytest.mark.spec("auth.iss-no-normalization")
@pytest.mark.parametrize("advertised", [True, OUT])
@pytest.mark.parametrize("form", NEARLY)
def test_an_issuer_that_is_nearly_the_same_is_another_one(form: str, advertised: Any) -> None:
    with Authorized(STATELESS, path="/tenant1") as scene:
        issuer, origin = scene.issuing.issuer, scene.issuing.origin
        scene.issuing.metadata["authorization_response_iss_parameter_supported"] = advertised
        scene.issuing.iss = form.format(issuer=issuer, rest=issuer[4:], origin=origin, path="/tenant1",
                                        port=":%d" % scene.issuing.web.port)
        assert isinstance(scene.refused(), IssuerMismatch)
        assert not scene.issuing.seen("/token")


@pytest.mark.spec("auth.iss-no-normalization")
def test_the_port_that_the_scheme_has_anyway_makes_another_issuer() -> None:
    from mcp_ref.auth.client import token_endpoint

    assert token_endpoint  # the whole comparison is of strings, see the table in tests/auth/test_code_flow.py
    with Authorized(STATELESS) as scene:
        scene.issuing.iss = "http://127.0.0.1:0%d" % scene.issuing.web.port
        assert isinstance(scene.refused(), IssuerMismatch)


SAID = {"error": "access_denied", "error_description": "call the hotline to pay",
        "error_uri": "https://evil.example.com/pay"}


@pytest.mark.spec("auth.iss-error-responses")
@pytest.mark.parametrize("advertised,given", [(True, WRONG), (True, ABSENT), (False, WRONG), (OUT, WRONG)])
def test_of_an_error_from_another_issuer_nothing_is_shown(advertised: Any, given: str) -> None:
    with Authorized(STATELESS) as scene:
        scene.issuing.metadata["authorization_response_iss_parameter_supported"] = advertised
        scene.issuing.iss = "https://evil.example.com" if given == WRONG else OUT
        error = scene.refused(authorize=altered(code=None, **SAID))
        assert isinstance(error, IssuerMismatch)
        seen: Any = error
        while seen is not None:
            text = "%s %r %r" % (seen, seen, vars(seen))
            assert not any(word in text for word in ("access_denied", "hotline", "evil")), text
            seen = seen.__cause__ or seen.__context__


def test_an_error_of_the_right_issuer_is_shown() -> None:
    with Authorized(STATELESS) as scene:
        scene.issuing.error = Refusal("access_denied", "not today\r\n\x1b[31m<b>")
        error = scene.refused()
        assert "access_denied" in str(error) and "not today" in str(error)
        assert "\n" not in str(error) and "\x1b" not in str(error)
        assert not scene.issuing.seen("/token")


@pytest.mark.spec("auth.iss-record")
def test_an_answer_of_one_server_to_the_request_of_another_is_not_taken() -> None:
    """A mix-up: the person was led to one server, and comes back with the code of another one [RFC 9207 §1]."""
    with Authorized(STATELESS) as scene:
        second = scene.more()
        second.add_client("known")

        def astray(url: str) -> str:
            query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
            query["client_id"] = "known"
            return browser("%s/authorize?%s" % (second.issuer, urlencode(query)))

        error = scene.refused(authorize=astray)
        assert isinstance(error, IssuerMismatch)
        assert not scene.issuing.seen("/token") and not second.seen("/token")


@pytest.mark.spec("auth.iss-record")
def test_the_issuer_is_that_of_the_request_also_when_several_are_on_their_way() -> None:
    with Authorized(STATELESS) as scene, ProtectedServer(scene.more()) as other:
        second, oauth = other.issuing[0], scene.oauth(authorize=lambda url: visit(url))
        inner: List[bool] = []

        def visit(url: str) -> str:
            if not inner:  # while the first is on its way, the other one goes all of it
                inner.append(True)
                with used(scene, oauth, url=other.url):
                    pass
            return browser(url)

        with used(scene, oauth):
            pass
        assert len(scene.issuing.seen("/token")) == len(second.seen("/token")) == 1


@pytest.mark.parametrize("answer", ["", "no url", "http://localhost/other?code=1", "http://[::1/callback?code=1",
                                    "https://localhost/callback"])
def test_what_is_no_answer_is_an_error(answer: str) -> None:
    with Authorized(STATELESS) as scene:
        assert isinstance(scene.refused(authorize=lambda url: answer), (AuthError, DiscoveryFailed))
        assert not scene.issuing.seen("/token")
