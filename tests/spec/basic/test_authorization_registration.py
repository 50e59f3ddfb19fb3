"""Client registration, and whose credentials they are: basic/authorization §Client Registration Approaches
(2025-11-25), basic/authorization/client-registration (2026-07-28), §Dynamic Client Registration of the older pages.
"""
import base64
from typing import Any, Callable, Dict, List, Tuple

import pytest

from mcp_ref.auth import FileStore, MemoryStore
from mcp_ref.errors import AuthError, RegistrationRefused
from tests.support.auth_server import OUT, AuthorizationServer, ProtectedServer, browser
from tests.support.authorized import Authorized, used
from tests.support.requirements_table import every_revision_of
from tests.support.scripted_web import Reply, reply_html, reply_json
from tests.support.serving import over

STATELESS = "2026-07-28"
DOCUMENT = "https://app.example.com/oauth/client.json"
EVERY = every_revision_of("auth.pkce")


def basic_of(asked: Any) -> str:
    """Id and secret of HTTP Basic."""
    scheme, _, value = asked.headers["authorization"].partition(" ")
    assert scheme == "Basic"
    return base64.b64decode(value).decode()


# --- which way --------------------------------------------------------------------------------------------------------

def known(scene: Authorized) -> Dict[str, Any]:
    """A client that was registered beforehand."""
    scene.issuing.add_client("known", "its secret")
    return {"client_id": "known", "client_secret": "its secret"}


def documented(scene: Authorized) -> Dict[str, Any]:
    """A client with a metadata document, at a server that takes such."""
    scene.issuing.metadata["client_id_metadata_document_supported"] = True
    return {"client_metadata_url": DOCUMENT}


def unsupported(scene: Authorized) -> Dict[str, Any]:
    """The same at a server that does not say so."""
    return {"client_metadata_url": DOCUMENT}


def anonymous(scene: Authorized) -> Dict[str, Any]:
    """A client that nobody knows."""
    return {}


def first_of_all(scene: Authorized) -> Dict[str, Any]:
    """All of it at once."""
    return {**documented(scene), **known(scene)}


WAYS: List[Tuple[Callable[[Authorized], Dict[str, Any]], str]] = [
    (known, "known"), (first_of_all, "known"), (documented, DOCUMENT), (unsupported, "client-"), (anonymous, "client-")]


@pytest.mark.spec("auth.registration-preregistered", "auth.registration-cimd", "auth.registration-dcr",
                  "auth.cimd-check-advertised", "auth.cimd-support", "auth.cimd-fallback")
@over("auth.registration-preregistered")
@pytest.mark.parametrize("way,expected", WAYS)
def test_the_first_way_that_is_open_is_taken(revision: str, way: Any, expected: str) -> None:
    with Authorized(revision) as scene:
        with used(scene, **way(scene)):
            pass
        assert scene.asked()["client_id"].startswith(expected)
        assert len(scene.issuing.seen("/register")) == (expected == "client-")


@pytest.mark.spec("auth.client-id-first", "auth.dcr-may", "auth.dcr-should")
@pytest.mark.parametrize("revision", EVERY)
def test_a_client_that_nobody_knows_registers_before_it_asks(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene, client_name="Mine", client_uri="https://app.example.com"):
            pass
        paths = [one.path for one in scene.issuing.seen() if one.path in ("/register", "/authorize", "/token")]
        assert paths == ["/register", "/authorize", "/token"]
        wanted = scene.issuing.seen("/register")[0].json
        assert (wanted["client_name"], wanted["client_uri"]) == ("Mine", "https://app.example.com")
        assert wanted["response_types"] == ["code"]
        assert scene.asked()["client_id"] in scene.issuing.clients


@pytest.mark.spec("auth.registration-prompt")
@over("auth.registration-prompt")
def test_where_no_way_is_open_the_user_is_asked(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.metadata["registration_endpoint"] = OUT
        scene.issuing.add_client("typed in", "and its secret")
        asked: List[Any] = []

        def ask(*arguments: Any) -> Any:
            asked.append(arguments)
            return "typed in", "and its secret"

        with used(scene, ask_client=ask):
            pass
        assert scene.issuing.issuer in str(asked) and len(asked) == 1
        assert scene.asked()["client_id"] == "typed in"


@pytest.mark.spec("auth.registration-prompt")
@pytest.mark.parametrize("revision", EVERY)
def test_without_anybody_to_ask_the_error_says_what_to_pass(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.metadata["registration_endpoint"] = OUT
        error = scene.refused()
        assert isinstance(error, RegistrationRefused)
        assert "client_id" in str(error) and scene.issuing.issuer in str(error)
        assert scene.authorizations() == 0


@pytest.mark.spec("auth.static-credentials")
@over("auth.static-credentials")
@pytest.mark.parametrize("secret,methods", [
    (None, OUT), ("s", OUT), ("s", ["client_secret_basic"]), ("s", ["client_secret_post"]),
    ("a b:c%d&é+", ["client_secret_basic"]), ("a b:c%d&é+", ["client_secret_post"])])
def test_credentials_that_were_given_are_used(revision: str, secret: Any, methods: Any) -> None:
    with Authorized(revision) as scene:
        method = None if methods is OUT else methods[0]
        scene.issuing.metadata["token_endpoint_auth_methods_supported"] = methods
        scene.issuing.add_client("me:too", secret, method)
        with used(scene, client_id="me:too", client_secret=secret):
            pass
        assert scene.issuing.seen("/register") == [] and len(scene.issuing.seen("/token")) == 1


# --- what is registered -----------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.refresh-grant-type")
@pytest.mark.parametrize("revision", EVERY)
def test_refresh_tokens_are_among_the_grant_types(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            pass
        assert scene.issuing.seen("/register")[0].json["grant_types"] == ["authorization_code", "refresh_token"]


REDIRECTS = [(None, "native"), ("http://localhost/callback", "native"), ("http://127.0.0.1:4711/back", "native"),
             ("http://[::1]:4711/back", "native"), ("https://app.example.com/back", "web")]


@pytest.mark.spec("auth.dcr-application-type", "auth.dcr-application-type-native", "auth.dcr-application-type-web",
                  "auth.redirect-registered")
@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize("uri,kind", REDIRECTS)
def test_the_application_type_is_that_of_the_redirect(revision: str, uri: Any, kind: str) -> None:
    with Authorized(revision) as scene:
        with used(scene, **({} if uri is None else {"redirect_uri": uri})):
            pass
        wanted = scene.issuing.seen("/register")[0].json
        assert wanted["application_type"] == kind
        assert scene.asked()["redirect_uri"] in wanted["redirect_uris"]
        assert scene.asked()["redirect_uri"] == scene.posted()["redirect_uri"]


@pytest.mark.spec("auth.redirect-https-or-localhost")
@over("auth.redirect-https-or-localhost")
def test_the_redirect_leads_to_this_machine_unless_it_is_told_otherwise(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            pass
        assert scene.asked()["redirect_uri"].startswith("http://localhost")


@pytest.mark.spec("auth.redirect-https-or-localhost")
@pytest.mark.parametrize("uri", ["http://example.com/back", "http://localhost.example.com/back", "ftp://localhost/x",
                                 "http://10.0.0.1/back", "myapp:back", "/back", "", "https://example.com/back#part",
                                 "http://user@localhost/back", "https://example.com/ba ck", "javascript:alert(1)"])
def test_other_redirects_are_not_taken(uri: str) -> None:
    with Authorized() as scene:
        with pytest.raises(ValueError):
            scene.oauth(redirect_uri=uri)


REFUSALS: List[Tuple[Reply, List[str]]] = [
    (reply_json({"error": "invalid_redirect_uri", "error_description": "no loopback for web"}, 400),
     ["invalid_redirect_uri", "no loopback for web"]),
    (reply_json({"error": "invalid_client_metadata"}, 400), ["invalid_client_metadata"]),
    (reply_json({}, 403), ["403"]), (reply_html(500), ["500"]), (reply_json({"client_id": ""}, 201), []),
    (reply_json({"client_id": 7}, 201), []), (reply_json([], 201), []), (reply_html(200), [])]


@pytest.mark.spec("auth.dcr-handle-failure", "auth.dcr-surface-error")
@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_a_registration_that_is_refused_is_told_with_its_reason(revision: str, number: int) -> None:
    reply, words = REFUSALS[number]
    with Authorized(revision) as scene:
        scene.issuing.answers["/register"] = lambda asked: reply
        error = scene.refused()
        assert isinstance(error, AuthError)
        text = str(error)
        assert scene.issuing.issuer in text or scene.issuing.origin in text
        assert all(word in text for word in words), text
        assert scene.authorizations() == 0 and 1 <= len(scene.issuing.seen("/register")) <= 2


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
def test_the_method_that_the_registration_says_is_used(method: str) -> None:
    with Authorized() as scene:
        def register(asked: Any) -> Reply:
            made = {"client_id": "c", "client_secret": "s3cret", "token_endpoint_auth_method": method,
                    "redirect_uris": asked.json["redirect_uris"]}
            scene.issuing.clients["c"] = dict(made, client_secret="" if method == "none" else "s3cret")
            return reply_json(made, 201)

        scene.issuing.answers["/register"] = register
        with used(scene):
            pass
        asked = scene.issuing.seen("/token")[0]
        shown = {"client_secret_basic": lambda: basic_of(asked) == "c:s3cret",
                 "client_secret_post": lambda: asked.form["client_secret"] == "s3cret",
                 "none": lambda: asked.form["client_id"] == "c" and "s3cret" not in str(asked)}
        assert shown[method]()


# --- whose credentials ------------------------------------------------------------------------------------------------

def names_of(issuing: AuthorizationServer) -> str:
    """Everything that an authorization server was asked, as text."""
    return "\n".join(map(str, issuing.seen()))


@pytest.mark.spec("auth.registration-per-as", "auth.credentials-keyed-by-issuer")
@pytest.mark.parametrize("revision", EVERY)
def test_each_authorization_server_has_its_own_registration(revision: str) -> None:
    with Authorized(revision) as scene, ProtectedServer(scene.more()) as other:
        oauth = scene.oauth()
        with used(scene, oauth), used(scene, oauth, url=other.url):
            pass
        servers = [scene.issuing, other.issuing[0]]
        assert [len(one.seen("/register")) for one in servers] == [1, 1]
        for mine, others in (servers, servers[::-1]):
            (client_id,), secrets = mine.clients, mine.secrets
            assert client_id not in names_of(others)
            assert not any(secret in names_of(others) for secret in secrets)


@pytest.mark.spec("auth.registration-per-as", "auth.credentials-keyed-by-issuer")
@pytest.mark.parametrize("kept", ["memory", "file"])
def test_a_registration_is_kept_for_its_issuer(kept: str, tmp_path: Any) -> None:
    with Authorized() as scene, ProtectedServer(scene.issuing) as same:
        def oauth() -> Any:
            return scene.oauth(store=memory if kept == "memory" else FileStore(str(tmp_path / "tokens.json")))

        memory = MemoryStore()
        with used(scene, oauth()):
            pass
        with used(scene, oauth()):
            pass
        assert (len(scene.issuing.seen("/register")), scene.authorizations()) == (1, 1)
        with used(scene, oauth(), url=same.url):
            pass
        assert (len(scene.issuing.seen("/register")), scene.authorizations()) == (1, 2)


@pytest.mark.spec("auth.credentials-no-reuse", "auth.credentials-re-register", "auth.credentials-keyed-by-issuer")
@pytest.mark.parametrize("running", [True, False])
def test_another_authorization_server_is_registered_at_anew_and_gets_nothing_of_the_first(running: bool) -> None:
    with Authorized(STATELESS) as scene:
        oauth, second = scene.oauth(), scene.more()
        if running:
            with scene.connect(oauth) as client:
                scene.protected.migrate(second)
                assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        else:
            with used(scene, oauth):
                pass
            scene.protected.migrate(second)
            with used(scene, oauth):
                pass
        assert len(second.seen("/register")) == 1 and second.seen("/authorize")
        first = set(scene.issuing.clients) | scene.issuing.secrets
        assert not any(text in names_of(second) for text in first)


@pytest.mark.spec("auth.credentials-no-reuse")
def test_a_client_with_a_document_is_the_same_everywhere() -> None:
    with Authorized(STATELESS) as scene:
        second = scene.more()
        for issuing in (scene.issuing, second):
            issuing.metadata["client_id_metadata_document_supported"] = True
        with scene.connect(client_metadata_url=DOCUMENT) as client:
            scene.protected.migrate(second)
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert second.seen("/authorize")[0].query["client_id"] == DOCUMENT and second.seen("/register") == []
        assert not any(secret in names_of(second) for secret in scene.issuing.secrets)


@pytest.mark.spec("auth.credentials-mismatch-error", "auth.credentials-no-reuse")
@pytest.mark.parametrize("named", [True, False])
def test_credentials_of_the_first_are_an_error_at_the_second(named: bool) -> None:
    with Authorized(STATELESS) as scene:
        scene.issuing.add_client("mine", "its secret")
        second = scene.more()
        second.add_client("mine", "its secret")
        oauth = scene.oauth(client_id="mine", client_secret="its secret",
                            **({"issuer": scene.issuing.issuer} if named else {}))
        with scene.connect(oauth) as client:
            scene.protected.migrate(second)
            with pytest.raises(AuthError) as caught:
                client.call_tool("echo", {"text": "hi"})
        assert scene.issuing.issuer in str(caught.value) and second.issuer in str(caught.value)
        assert "its secret" not in str(caught.value)
        assert not second.seen("/authorize") and not second.seen("/token")
        assert "mine" not in names_of(second) and "secret" not in names_of(second)


@pytest.mark.spec("auth.credentials-mismatch-error")
def test_credentials_of_another_issuer_are_an_error_from_the_beginning() -> None:
    with Authorized(STATELESS) as scene:
        scene.issuing.add_client("mine", "its secret")
        error = scene.refused(client_id="mine", client_secret="its secret", issuer="https://other.example.com")
        assert "https://other.example.com" in str(error) and "its secret" not in str(error)
        assert scene.authorizations() == 0 and not scene.issuing.seen("/token")


def test_a_registration_that_the_server_has_forgotten_is_made_again() -> None:
    with Authorized(STATELESS) as scene, scene.connect() as client:
        scene.issuing.clients.clear()
        scene.issuing.revoke_all()
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert len(scene.issuing.seen("/register")) == 2


@pytest.mark.spec("auth.cimd-private-key-jwt")
@over("auth.cimd-private-key-jwt")
def test_a_client_with_a_document_may_sign(revision: str) -> None:
    from tests.conformance.es256 import Es256Signer

    with Authorized(revision) as scene:
        scene.issuing.metadata["client_id_metadata_document_supported"] = True
        scene.issuing.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt", "none"]
        scene.issuing.clients[DOCUMENT] = {"redirect_uris": None, "token_endpoint_auth_method": "private_key_jwt"}
        with used(scene, client_metadata_url=DOCUMENT, signer=Es256Signer.generate()):
            pass
        assert scene.posted()["client_assertion"].count(".") == 2


def test_what_the_browser_is_to_open_is_the_only_thing_that_the_callback_gets() -> None:
    with Authorized() as scene:
        urls: List[str] = []

        def visit(url: str) -> str:
            urls.append(url)
            return browser(url)

        with used(scene, authorize=visit):
            pass
        assert len(urls) == 1 and urls[0].startswith(scene.issuing.issuer + "/authorize?")
