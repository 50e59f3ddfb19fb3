"""The code flow with a person: what may be configured, the browser and its way back, and how it goes wrong."""
import logging
import threading
import webbrowser
from typing import Any, Dict, Iterator, List
from urllib.parse import urlsplit

import pytest

from mcp_ref.auth import MemoryStore, OAuth
from mcp_ref.auth.client import registration
from mcp_ref.auth.client.oauth import RedirectListener
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch, RegistrationRefused, TokenRefused, Unauthorized
from mcp_ref.limits import Limits
from tests.support.auth_server import OUT, Browser, Refusal as Refused, browser, fetched
from tests.support.authorized import Authorized, altered, used
from tests.support.scripted_web import reply_html, reply_json

REVISION = "2026-07-28"


@pytest.fixture
def scene() -> Iterator[Authorized]:
    with Authorized(REVISION) as made:
        yield made


@pytest.fixture
def person() -> Iterator[Browser]:
    with Browser() as made:
        yield made


def listening(scene: Authorized, person: Any, **options: Any) -> OAuth:
    return OAuth(**{"open_browser": person.open, "now": scene.clock, **options})


# --- what may be configured

@pytest.mark.parametrize("options", [
    {"client_secret": "s"}, {"issuer": "https://auth.example"}, {"authorize": browser, "open_browser": print},
    {"client_metadata_url": "http://app.example/client.json"}, {"client_metadata_url": "https://app.example"},
    {"redirect_uri": "http://app.example/callback", "authorize": browser},
    {"redirect_uri": "https://app.example/callback"},
    {"redirect_uri": "myapp://callback", "authorize": browser}, {"redirect_uri": "http://localhost/callback?x=y"},
    {"redirect_uri": "http://localhost/callback#x", "authorize": browser}, {"redirect_uri": "x"},
    {"redirect_uri": "http://localhost:99999/callback"},
])
def test_what_does_not_go_together_is_a_value_error(options: Dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        OAuth(**options)


@pytest.mark.parametrize(("given", "uri"), [
    (None, "http://localhost/callback"), ("http://127.0.0.1/x", "http://127.0.0.1/x"),
    ("http://localhost:7", "http://localhost:7/"), ("http://[::1]:7/x", "http://[::1]:7/x"),
])
def test_redirect_uris_on_this_machine(given: Any, uri: str) -> None:
    assert OAuth(redirect_uri=given).redirect_uri == uri
    assert OAuth(redirect_uri="https://app.example/cb", authorize=browser).redirect_uri == "https://app.example/cb"


def test_no_secret_is_in_a_repr() -> None:
    grant = OAuth("my-id", "my-secret", store=MemoryStore())
    assert "my-secret" not in repr(grant) + repr(grant.store) + repr(vars(grant))


# --- the listener

def test_the_browser_is_opened_and_comes_back(scene: Authorized, person: Browser) -> None:
    with used(scene, listening(scene, person)):
        pass
    assert len(person.urls) == 1 and scene.authorizations() == 1
    redirect = urlsplit(scene.asked()["redirect_uri"])
    assert (redirect.scheme, redirect.hostname, redirect.path) == ("http", "localhost", "/callback")
    assert scene.issuing.seen("/register")[0].json["redirect_uris"] == [redirect.geturl()]
    person.close()
    assert person.pages[0][0] == 200 and b"Access allowed" in person.pages[0][2]
    with pytest.raises(OSError):
        fetched(redirect.geturl())


def test_the_page_tells_of_a_failure_and_nothing_else(scene: Authorized) -> None:
    scene.issuing.error = Refused("access_denied", "<script>you may not")
    with Browser() as person:
        with pytest.raises(TokenRefused, match="you may not"):
            scene.connect(listening(scene, person))
    status, _, body = person.pages[0]
    assert status == 200 and b"Access not allowed" in body and b"script" not in body and b"denied" not in body


def test_a_failing_exchange_is_told_as_well(scene: Authorized) -> None:
    scene.issuing.answers["/token"] = lambda asked: reply_json({"error": "invalid_grant"}, 400)
    with Browser() as person:
        with pytest.raises(TokenRefused, match="invalid_grant"):
            scene.connect(listening(scene, person))
    assert b"Access not allowed" in person.pages[0][2]


def test_the_same_port_serves_the_next_time_for_it_is_registered(scene: Authorized, person: Browser) -> None:
    store = MemoryStore()
    for _ in range(2):
        with used(scene, listening(scene, person, store=store)):
            scene.issuing.revoke_all()
    first, second = (asked.query["redirect_uri"] for asked in scene.issuing.seen("/authorize"))
    assert first == second and len(scene.issuing.seen("/register")) == 1


def test_where_that_port_is_taken_another_one_is_registered(scene: Authorized, person: Browser) -> None:
    store = MemoryStore()
    with used(scene, listening(scene, person, store=store)):
        scene.issuing.revoke_all()
    port = urlsplit(scene.asked()["redirect_uri"]).port or 0
    with RedirectListener(port=port):
        with used(scene, listening(scene, person, store=store)):
            pass
    assert urlsplit(scene.asked()["redirect_uri"]).port != port and len(scene.issuing.seen("/register")) == 2


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_host_port_and_path_may_be_fixed(scene: Authorized, person: Browser, host: str) -> None:
    with RedirectListener() as free:
        port = free.port
    uri = "http://%s:%d/some/where" % (host, port)
    with used(scene, listening(scene, person, redirect_uri=uri)):
        pass
    assert scene.asked()["redirect_uri"] == uri == scene.posted()["redirect_uri"]


def test_strangers_at_the_listener_change_nothing(scene: Authorized) -> None:
    def before(location: str) -> str:
        place = location.partition("?")[0]
        for stray in (location.replace("state=", "state=x"), place, location.replace("/callback", "/")):
            assert fetched(stray)[0] == 404
        return location

    with Browser(before) as person:
        with used(scene, listening(scene, person)):
            pass


def test_a_person_has_so_long_and_then_registers_anew(scene: Authorized, person: Browser) -> None:
    store, shown = MemoryStore(), []
    with pytest.raises(Unauthorized, match="authorization_patience"):
        scene.connect(OAuth(open_browser=shown.append, store=store), limits=Limits(authorization_patience=0.05))
    with used(scene, listening(scene, person, store=store)):
        pass
    assert len(shown) == 1 and len(scene.issuing.seen("/register")) == 2


def test_by_default_the_browser_of_the_system_is_opened(
    scene: Authorized, person: Browser, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webbrowser, "open", person.open)
    with used(scene, OAuth()):
        assert len(person.urls) == 1


def test_where_there_is_no_browser_the_error_says_what_to_pass(
    scene: Authorized, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(AuthError, match="open_browser="):
        scene.connect(OAuth())


# --- a browser of the program's own

def test_with_a_callback_nothing_listens(scene: Authorized) -> None:
    seen: List[str] = []

    def authorize(url: str) -> str:
        seen.append(url)
        assert threading.current_thread().name == "mcp-ref:asking"
        return browser(url)

    with used(scene, OAuth(authorize=authorize, redirect_uri="https://app.example/callback")):
        pass
    assert len(seen) == 1 and scene.asked()["redirect_uri"] == "https://app.example/callback"
    assert scene.issuing.seen("/register")[0].json["application_type"] == "web"


def test_an_error_of_the_callback_is_the_outcome(scene: Authorized) -> None:
    def authorize(url: str) -> str:
        raise RuntimeError("no window: " + url)

    with pytest.raises(AuthError, match="RuntimeError") as raised:
        scene.connect(OAuth(authorize=authorize))
    assert "state=" not in str(raised.value)


@pytest.mark.parametrize("back", ["", "http://localhost/callback", "http://evil.example/callback?code=x", "%s&x=\n"])
def test_a_callback_that_returns_something_else_is_refused(scene: Authorized, back: str) -> None:
    with pytest.raises(TokenRefused):
        scene.connect(OAuth(authorize=lambda url: back.replace("%s", "")))
    assert not scene.issuing.seen("/token")


# --- before and after the browser

def test_nobody_is_bothered_where_it_cannot_work(scene: Authorized) -> None:
    def never(url: str) -> str:
        raise AssertionError("asked")

    for member, error in (("code_challenge_methods_supported", "PKCE"),
                          ("authorization_endpoint", "authorization_endpoint")):
        saved, scene.issuing.metadata[member] = scene.issuing.metadata[member], OUT
        with pytest.raises(DiscoveryFailed, match=error):
            scene.connect(OAuth(authorize=never))
        scene.issuing.metadata[member] = saved
    assert not scene.issuing.seen("/register")
    scene.issuing.metadata["registration_endpoint"] = OUT
    with pytest.raises(RegistrationRefused, match="client_id="):
        scene.connect(OAuth(authorize=never))


@pytest.mark.parametrize(("error", "again"), [
    ("invalid_client", True), ("unauthorized_client", True), ("invalid_scope", True), ("access_denied", False),
    ("invalid_grant", False), ("server_error", False),
])
@pytest.mark.parametrize("where", ["redirect", "token"])
def test_a_client_that_is_not_known_any_more_registers_anew(
    scene: Authorized, error: str, again: bool, where: str,
) -> None:
    store = MemoryStore()
    if where == "redirect":
        scene.issuing.error = Refused(error)
    else:
        scene.issuing.answers["/token"] = lambda asked: reply_json({"error": error}, 400)
    with pytest.raises(TokenRefused):
        scene.connect(scene.oauth(store=store))
    scene.issuing.error = None
    scene.issuing.answers.pop("/token", None)
    scene.issuing.answers["/token"] = lambda asked: None
    with used(scene, scene.oauth(store=store)):
        pass
    assert len(scene.issuing.seen("/register")) == 1 + again


@pytest.mark.parametrize("changes", [{"iss": "https://evil.example"}, {"iss": None}, {"state": "x"}, {"state": None}])
def test_a_code_that_is_not_for_us_goes_nowhere(scene: Authorized, changes: Dict[str, Any]) -> None:
    with pytest.raises((IssuerMismatch, TokenRefused)):
        scene.connect(OAuth(authorize=altered(**changes)))
    assert not scene.issuing.seen("/token")


def test_a_broken_registration_is_told(scene: Authorized) -> None:
    scene.issuing.answers["/register"] = lambda asked: reply_html(500)
    with pytest.raises(RegistrationRefused, match="status 500"):
        scene.connect(scene.oauth())


def test_of_several_servers_that_of_the_credentials_is_chosen(scene: Authorized) -> None:
    second = scene.more()
    second.add_client("mine")
    scene.protected.issuing.append(second)
    scene.protected.document["authorization_servers"] = [scene.issuing.issuer, second.issuer]
    with used(scene, scene.oauth(client_id="mine", issuer=second.issuer)):
        pass
    assert len(second.seen("/token")) == 1 and not scene.issuing.seen()
    with pytest.raises(DiscoveryFailed, match="is not an authorization server of"):
        scene.connect(scene.oauth(choose_server=lambda issuers: "https://evil.example"))


def test_a_person_may_be_asked_for_a_client(scene: Authorized) -> None:
    scene.issuing.metadata["registration_endpoint"] = OUT
    scene.issuing.add_client("theirs", "their-secret")
    asked: List[str] = []

    def ask(issuer: str) -> Any:
        asked.append(issuer)
        return "theirs", "their-secret"

    with used(scene, scene.oauth(ask_client=ask)):
        pass
    assert asked == [scene.issuing.issuer]
    assert scene.issuing.seen("/token")[0].headers["authorization"].startswith("Basic ")


def test_nothing_secret_is_logged_or_kept_in_an_error(scene: Authorized, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with used(scene, scene.oauth()):
        scene.issuing.revoke()
    scene.issuing.answers["/token"] = lambda asked: reply_json(
        {"error": "invalid_grant", "error_description": " ".join(asked.form.values())}, 400)
    with pytest.raises(TokenRefused) as raised:
        scene.connect(scene.oauth())
    text = caplog.text + str(raised.value) + repr(raised.value) + raised.value.description
    assert scene.issuing.secrets and not [secret for secret in scene.issuing.secrets if secret in text]


# --- how the client authenticates: some servers list two ways and know a client by one of them

@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_authenticates_by_the_method_it_is_registered_for(scene: Authorized, method: str) -> None:
    scene.issuing.add_client("mine", "my-secret", method)
    assert set(registration.METHODS) <= set(scene.issuing.metadata["token_endpoint_auth_methods_supported"])
    grant = scene.oauth(client_id="mine", client_secret="my-secret", issuer=scene.issuing.issuer, method=method)
    with scene.connect(grant) as client:
        scene.issuing.revoke()
        assert client.call_tool("echo", {"text": "again"}).text == "again"
    assert scene.issuing.grants() == ["authorization_code", "refresh_token"]
    ways = [("authorization" in asked.headers, "client_secret" in asked.form) for asked in scene.issuing.seen("/token")]
    assert ways == [(method == "client_secret_basic", method == "client_secret_post")] * 2


def test_without_a_method_the_first_that_the_server_lists_is_taken(scene: Authorized) -> None:
    scene.issuing.add_client("mine", "my-secret", "client_secret_post")
    with pytest.raises(TokenRefused, match="invalid_client"):
        scene.connect(scene.oauth(client_id="mine", client_secret="my-secret", issuer=scene.issuing.issuer))


@pytest.mark.parametrize("method", registration.METHODS)
def test_a_registration_asks_for_the_method_and_keeps_it(scene: Authorized, method: str) -> None:
    store = MemoryStore()
    for _ in range(2):
        with used(scene, scene.oauth(method=method, store=store)):
            scene.issuing.revoke_all()
    assert [asked.json["token_endpoint_auth_method"] for asked in scene.issuing.seen("/register")] == [method]
    assert (store.get("client", scene.issuing.issuer) or {})["method"] == method
    assert {"client_secret" in asked.form for asked in scene.issuing.seen("/token")} == {method == "client_secret_post"}


def test_what_the_server_answers_to_a_registration_holds(scene: Authorized) -> None:
    scene.issuing.add_client("given", "given-secret", "client_secret_basic")
    scene.issuing.answers["/register"] = lambda asked: reply_json(dict(
        asked.json, client_id="given", client_secret="given-secret", token_endpoint_auth_method="client_secret_basic"))
    with used(scene, scene.oauth(method="client_secret_post")):
        pass
    assert scene.issuing.seen("/token")[0].headers["authorization"].startswith("Basic ")


def test_an_answer_without_a_method_leaves_ours(scene: Authorized) -> None:
    scene.issuing.add_client("given", "given-secret", "client_secret_post")
    scene.issuing.answers["/register"] = lambda asked: reply_json(
        {"client_id": "given", "client_secret": "given-secret"}, 201)
    with used(scene, scene.oauth(method="client_secret_post")):
        pass
    assert scene.issuing.seen("/token")[0].form["client_secret"] == "given-secret"


def test_credentials_that_a_person_gives_authenticate_by_the_method(scene: Authorized) -> None:
    scene.issuing.metadata["registration_endpoint"] = OUT
    scene.issuing.add_client("theirs", "their-secret", "client_secret_post")
    store = MemoryStore()
    store.set("client", scene.issuing.issuer, {"client_id": "theirs", "client_secret": "their-secret",
                                               "method": "client_secret_basic", "issuer": scene.issuing.issuer})
    for kept in (store, MemoryStore()):  # from a time without method=, and now
        with used(scene, scene.oauth(ask_client=lambda issuer: ("theirs", "their-secret"), store=kept,
                                     method="client_secret_post")):
            scene.issuing.revoke_all()
    assert {asked.form["client_secret"] for asked in scene.issuing.seen("/token")} == {"their-secret"}


@pytest.mark.parametrize(("options", "said"), [
    ({"method": "client_secret_pots"}, "did you mean 'client_secret_post'"),
    ({"method": "private_key_jwt"}, "signer= has its own"), ({"method": ""}, "no way to authenticate"),
    ({"client_id": "x", "client_secret": "s", "method": "none"}, "shows no client_secret"),
    ({"client_id": "x", "method": "client_secret_post"}, "needs the client_secret"),
    ({"client_metadata_url": "https://app.example/client.json", "method": "client_secret_basic"}, "needs a secret"),
    ({"signer": object(), "method": "none"}, "signer= takes the place of method="),
])
def test_methods_that_do_not_go_together_with_the_rest(options: Dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OAuth(**options)
