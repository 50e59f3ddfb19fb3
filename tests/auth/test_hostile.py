"""Servers that lie, err, stall and redirect: our client ends with an error of its own that says nothing secret.

Each case changes one thing at servers that are fine otherwise. Whatever it is, connecting ends in time with an
`AuthError`; nobody else is asked; no token request is made that should not be; and neither the error (with all that led
to it), nor what was logged, nor the trace, nor any `repr` has a token, a code, a verifier, a state or a secret in it.
"""
import contextlib
import io
import logging
import re
import socket
import threading
import traceback
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

import pytest

from mcp_ref import connect
from mcp_ref.auth import ClientCredentials, EnterpriseManaged, WorkloadIdentity
from mcp_ref.auth.client.oauth import MAX_OPEN, RedirectListener
from mcp_ref.errors import AuthError, McpError
from mcp_ref.limits import Limits
from mcp_ref.wiretrace import JsonLinesSink, Trace
from tests.conformance.es256 import Es256Signer
from tests.support.auth_server import OUT, AuthorizationServer, Browser, Refusal, browser, fetched
from tests.support.authorized import BOUNDED, PATIENCE, Authorized, altered, used
from tests.support.scripted_web import CUT, Answer, Asked, Reply, ScriptedWeb, redirect, reply_html, reply_json

HURRIED = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE, auth_timeout=0.3, authorization_patience=0.3)
ALONE = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE, authorization_patience=0.3)
"""Servers have time, a person has not."""
TEN_MEGABYTES = 10 * 1024 * 1024
SCOPES = re.compile(r"[!#-\[\]-~]+( [!#-\[\]-~]+)*\Z")
"""[RFC 6749 §3.3]"""


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that anybody logs, with all that a formatter can show of it."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(name)s %(threadName)s %(message)s %(args)r"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


def told(error: BaseException) -> str:
    """Everything that an exception and those behind it can be made to say."""
    found, texts, seen = [error], [], set()
    while found:
        one = found.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), repr(getattr(one, "__dict__", ""))]
        found += [other for other in (one.__cause__, one.__context__) if other is not None]
    return "\n".join(texts + traceback.format_exception(type(error), error, error.__traceback__))


def assert_secret(issuings: Iterable[AuthorizationServer], *texts: str) -> None:
    """Nothing that was ever secret at these servers is in these texts."""
    for issuing in issuings:
        for asked in issuing.seen("/authorize"):
            issuing.secrets.update([asked.query["state"], asked.query["code_challenge"]])
        for secret in filter(None, issuing.secrets):
            for text in texts:
                at = text.find(secret)
                assert at < 0, "a secret is told: ...%s..." % text[max(0, at - 200):at + 200]


# --- documents --------------------------------------------------------------------------------------------------------

def big(kind: str = "application/json") -> Reply:
    """Ten megabytes of a JSON string, without a length."""
    pieces = [b'{"x": "'] + [b"x" * 65536] * (TEN_MEGABYTES // 65536) + [b'"}']
    return Reply(200, [("Content-Type", kind)], iter(pieces))


def announced() -> Reply:
    """An answer that says that it is ten megabytes, and has none of them."""
    return Reply(200, [("Content-Type", "application/json"), ("Content-Length", str(TEN_MEGABYTES))], iter([b"{"]))


def raw(body: bytes) -> Callable[[], Reply]:
    """An answer that calls itself JSON."""
    return lambda: Reply(200, [("Content-Type", "application/json")], body)


BROKEN: Dict[str, Callable[[], Reply]] = {
    "ten megabytes": big,
    "ten megabytes announced": announced,
    "HTML that calls itself JSON": raw(b"<!doctype html><h1>Hello</h1>"),
    "nothing": raw(b""),
    "half of it": raw(b'{"issuer": "http'),
    "an array": raw(b"[]"),
    "null": raw(b"null"),
    "a number": raw(b"1e999"),
    "not a number": raw(b'{"issuer": NaN}'),
    "deep": raw(b'{"a":' * 100000 + b"1" + b"}" * 100000),
    "not UTF-8": raw(b'{"issuer": "\xff\xfe"}'),
    "a member twice": raw(b'{"issuer": "http://127.0.0.1:1", "issuer": "http://127.0.0.1:2"}'),
    "long number": raw(b'{"issuer": ' + b"9" * 10000 + b"}"),
    "500": lambda: reply_html(500),
    "503": lambda: reply_json({}, 503, [("Retry-After", "86400")]),
    "cut off": lambda: CUT,
    "to a file": lambda: redirect("file:///etc/passwd"),
    "to data": lambda: redirect("data:application/json,{}"),
    "to another host": lambda: redirect("https://evil.example.com/x"),
    "to another host without a scheme": lambda: redirect("//evil.example.com/x"),
    "to another port": lambda: redirect("http://127.0.0.1:1/x"),
    "to somebody": lambda: redirect("http://evil@127.0.0.1:1/x"),
    "to nowhere": lambda: redirect("http://"),
    "to a broken URL": lambda: redirect("http://[::1/x"),
    "to itself": lambda: redirect(""),
}
FINAL = [name for name in BROKEN]
"""Every one of them ends the search: what is broken is no reason to look elsewhere."""


def at_resource(scene: Authorized, answer: Answer) -> None:
    """The document of the protected resource."""
    scene.protected.answers[scene.protected.document_path or ""] = answer


def at_issuer(scene: Authorized, answer: Answer) -> None:
    """That of the authorization server."""
    scene.issuing.answers["/.well-known/oauth-authorization-server"] = answer


@pytest.mark.parametrize("name", FINAL)
@pytest.mark.parametrize("place", [at_resource, at_issuer])
def test_documents_that_are_none(place: Any, name: str, log: io.StringIO) -> None:
    with Authorized() as scene:
        place(scene, lambda asked: BROKEN[name]())
        error = scene.refused()
        assert isinstance(error, AuthError)
        assert "evil@" not in told(error) and "passwd" not in str(error)
        assert name != "ten megabytes" or "max_auth_response_bytes" in str(error)
        assert not scene.issuing.seen("/register") and not scene.authorizations()
        assert_secret([scene.issuing], told(error), log.getvalue())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("place", [at_resource, at_issuer])
def test_another_host_is_never_asked(place: Any, status: int) -> None:
    with Authorized() as scene, ScriptedWeb() as evil:
        place(scene, lambda asked: redirect(evil.origin + asked.path, status))
        evil.serve("/.well-known/oauth-protected-resource/mcp", lambda asked: reply_json(scene.protected.document))
        evil.serve("/.well-known/oauth-authorization-server", lambda asked: reply_json(scene.issuing.metadata))
        assert isinstance(scene.refused(), AuthError)
        assert evil.requests == []


RESOURCES: List[Tuple[str, Any]] = [
    ("authorization_servers", OUT), ("authorization_servers", []), ("authorization_servers", "https://a.example.com"),
    ("authorization_servers", [7]), ("authorization_servers", [None]), ("authorization_servers", {"a": 1}),
    ("authorization_servers", ["file:///etc/passwd"]), ("authorization_servers", ["http://evil.example.com"]),
    ("authorization_servers", ["https://user:pw@evil.example.com"]), ("authorization_servers", ["javascript:alert(1)"]),
    ("authorization_servers", ["https://evil.example.com/?a=b"]), ("authorization_servers", ["/relative"]),
    ("authorization_servers", ["https://evil.example.com/#x"]), ("authorization_servers", ["https://"]),
    ("authorization_servers", ["http://127.0.0.1:99999"]), ("authorization_servers", ["http://127.0.0.1:1/\r\nX: y"]),
    ("resource", OUT), ("resource", 7), ("resource", ["a"]), ("scopes_supported", "read"), ("scopes_supported", [7]),
]


@pytest.mark.parametrize("member,value", RESOURCES)
def test_resource_documents_with_a_broken_member(member: str, value: Any) -> None:
    with Authorized() as scene:
        scene.protected.document[member] = value
        error = scene.refused()
        assert isinstance(error, AuthError) and "user:pw" not in told(error)
        assert not scene.issuing.seen("/register") and not scene.authorizations()


@pytest.mark.parametrize("scope", ["a b", "a\r\nb", "", " ", "\"", "\\", "\u00e4", "\x00", "a" * 5000])
@pytest.mark.parametrize("member", ["scopes_supported", "scope"])
def test_what_is_no_scope_is_not_asked_for(member: str, scope: str) -> None:
    with Authorized() as scene:
        if member == "scope" and scope.isprintable() and scope.isascii():
            scene.protected.challenge["scope"] = scope.replace("\\", "\\\\").replace('"', '\\"')
        else:
            scene.protected.document["scopes_supported"] = [scope, "fine"]
        try:
            with used(scene):
                pass
        except AuthError:
            assert not scene.authorizations()
        else:
            asked = scene.asked().get("scope")
            assert asked is None or SCOPES.match(asked)


METADATA: List[Tuple[str, Any]] = [
    ("issuer", OUT), ("issuer", "https://honest.example.com"), ("issuer", 7), ("issuer", ["{issuer}"]),
    ("issuer", "{issuer}/"), ("issuer", "{issuer}#"), ("issuer", ""),
    ("authorization_endpoint", OUT), ("authorization_endpoint", "file:///etc/passwd"),
    ("authorization_endpoint", "javascript:alert(1)"), ("authorization_endpoint", "http://evil.example.com/a"),
    ("authorization_endpoint", "https://user:pw@evil.example.com/a"), ("authorization_endpoint", "calc.exe"),
    ("authorization_endpoint", "-flag"), ("authorization_endpoint", "https://evil.example.com/a#b"),
    ("authorization_endpoint", 7), ("authorization_endpoint", "https://evil.example.com/a b"),
    ("token_endpoint", OUT), ("token_endpoint", "file:///etc/passwd"), ("token_endpoint", "http://evil.example.com/t"),
    ("token_endpoint", "{origin}\r\nX: y"), ("token_endpoint", ["{issuer}/token"]),
    ("registration_endpoint", "file:///etc/passwd"), ("registration_endpoint", "http://evil.example.com/r"),
    ("registration_endpoint", 7), ("code_challenge_methods_supported", "S256"),
    ("code_challenge_methods_supported", {"S256": True}),
]


@pytest.mark.parametrize("member,value", METADATA)
def test_metadata_with_a_broken_member(member: str, value: Any) -> None:
    with Authorized() as scene:
        opened: List[str] = []
        scene.issuing.metadata[member] = value.format(
            issuer=scene.issuing.issuer, origin=scene.issuing.origin) if isinstance(value, str) else value

        def visit(url: str) -> str:
            opened.append(url)
            return browser(url)

        error = scene.refused(authorize=visit)
        assert isinstance(error, AuthError) and "user:pw" not in told(error)
        assert opened == [] and not scene.issuing.seen("/token") and not scene.issuing.seen("/register")


CHALLENGES: List[str] = [
    "file:///etc/passwd", "http://evil.example.com/prm", "https://user:pw@evil.example.com/prm", "javascript:alert(1)",
    "//evil.example.com/prm", "/prm", "", "http://127.0.0.1:99999/prm", "http://[::1/prm"]


@pytest.mark.parametrize("url", CHALLENGES)
def test_challenges_that_lead_astray(url: str) -> None:
    with Authorized() as scene:
        scene.protected.challenge["resource_metadata"] = url
        error = scene.refused()
        assert isinstance(error, AuthError) and "user:pw" not in told(error)
        assert not scene.issuing.seen("/register") and not scene.authorizations()


FIELDS: List[str] = [
    "", ",", "Bearer", 'Bearer scope="', "Bearer realm=", "=", "\x01", "Bearer " + "a" * 7000, "Bearer a=b, " * 300,
    'Bearer scope="a", Bearer scope="b"', 'Basic realm="x", Bearer', 'Bearer error="invalid_token" scope="a"',
    "Negotiate YWJj, Bearer", 'Bearer scope="\\"', "Bearer scope=a b c", 'BEARER SCOPE="read"']


@pytest.mark.parametrize("field", FIELDS)
def test_challenges_that_cannot_be_read_end_in_an_error_or_in_the_usual_way(field: str) -> None:
    with Authorized() as scene:
        def refused(asked: Asked) -> Any:
            if "authorization" in asked.headers:
                return None
            return reply_json({}, 401, [("WWW-Authenticate", field)])

        scene.protected.answers["/mcp"] = refused
        try:
            with used(scene):
                pass
        except McpError:
            pass
        else:
            assert set(scene.asked().get("scope", "").split()) <= {"a", "b", "c", "read"}


# --- registration and tokens ------------------------------------------------------------------------------------------

ENDPOINTS = ["/register", "/token"]
SKIPPED = {"to itself"}


@pytest.mark.parametrize("name", [name for name in BROKEN if name not in SKIPPED])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoints_that_answer_with_nonsense(endpoint: str, name: str, log: io.StringIO) -> None:
    with Authorized() as scene:
        scene.issuing.answers[endpoint] = lambda asked: scene.issuing.usual(asked) and BROKEN[name]()
        error = scene.refused()
        assert isinstance(error, AuthError)
        assert scene.authorizations() == (endpoint == "/token")
        assert name != "ten megabytes" or "max_auth_response_bytes" in str(error)
        assert set(scene.protected.bearers()) == {None}
        assert_secret([scene.issuing], told(error), log.getvalue())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_what_is_posted_is_posted_to_nobody_else(endpoint: str, status: int) -> None:
    with Authorized() as scene, ScriptedWeb() as evil:
        scene.issuing.answers[endpoint] = lambda asked: redirect(evil.origin + endpoint, status)
        assert isinstance(scene.refused(), AuthError)
        assert evil.requests == [] and len(scene.issuing.seen(endpoint)) == 1


TOKENS: Dict[str, Dict[str, Any]] = {
    "no token": {"access_token": OUT}, "a number": {"access_token": 7}, "empty": {"access_token": ""},
    "null": {"access_token": None}, "a line end": {"access_token": "abc\r\nX-Evil: yes"},
    "a space": {"access_token": "abc def"}, "not ASCII": {"access_token": "t\u00f6ken"},
    "a kind of its own": {"token_type": "mac"}, "itself as its kind": {"token_type": "good-token"},
    "no kind that is text": {"token_type": 7},
    "bound to a key that nobody has": {"token_type": "DPoP"}, "an error as well": {"error": "invalid_grant"},
}


@pytest.mark.parametrize("name", TOKENS)
def test_tokens_that_cannot_be_used(name: str) -> None:
    with Authorized() as scene:
        usual: Dict[str, Any] = {"access_token": "good-token", "token_type": "Bearer", "expires_in": 60}
        members = {one: value for one, value in {**usual, **TOKENS[name]}.items() if value is not OUT}
        scene.issuing.answers["/token"] = lambda asked: reply_json(members)
        error = scene.refused()
        assert isinstance(error, AuthError) and "good-token" not in told(error) and "X-Evil" not in told(error)
        assert set(scene.protected.bearers()) == {None}
        assert len(scene.issuing.seen("/token")) == 1


ODD: Dict[str, Dict[str, Any]] = {
    "ends never": {"expires_in": OUT}, "ended before": {"expires_in": -5}, "text": {"expires_in": "3600"},
    "nonsense": {"expires_in": "soon"}, "very long": {"expires_in": 10 ** 30}, "null": {"expires_in": None},
    "a list": {"expires_in": [1]}, "a fraction": {"expires_in": 0.5}, "at once": {"expires_in": 0},
    "scope is a list": {"scope": ["a"]}, "refresh token is a number": {"refresh_token": 7},
    "refresh token is empty": {"refresh_token": ""}, "kind in capitals": {"token_type": "BEARER"},
    "more members": {"x" * 100: [{}] * 100, "id_token": "a.b.c"},
}


@pytest.mark.parametrize("name", ODD)
def test_answers_that_are_only_odd_are_taken(name: str) -> None:
    with Authorized() as scene:
        def odd(asked: Asked) -> Reply:
            made = scene.issuing.issue({"aud": scene.protected.url, "client_id": asked.form["client_id"]})
            return reply_json({one: value for one, value in {**made, **ODD[name]}.items() if value is not OUT})

        scene.issuing.answers["/token"] = odd
        with used(scene):
            pass


def test_what_a_server_says_of_a_refusal_is_told_without_our_secrets(log: io.StringIO) -> None:
    with Authorized() as scene:
        def echo(asked: Asked) -> Reply:
            scene.issuing.usual(asked)
            said = "you sent %s\r\n\x1b[2J\u202e%s" % (asked.body.decode(), asked.form)
            return reply_json({"error": "invalid_grant", "error_description": said, "error_uri": said}, 400)

        scene.issuing.answers["/token"] = echo
        error = scene.refused()
        assert "invalid_grant" in str(error) and "\n" not in str(error) and "\x1b" not in str(error)
        assert "\u202e" not in str(error) and len(str(error)) < 1000
        assert_secret([scene.issuing], told(error), log.getvalue())


def by_basic(scene: Authorized) -> Any:
    """A program with a secret, in the header."""
    scene.issuing.add_client("program", "its&secret=1", "client_secret_basic")
    return ClientCredentials("program", "its&secret=1", issuer=scene.issuing.issuer)


def by_post(scene: Authorized) -> Any:
    """The same, in the form."""
    scene.issuing.add_client("program", "its&secret=1", "client_secret_post")
    scene.issuing.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    return ClientCredentials("program", "its&secret=1", issuer=scene.issuing.issuer)


def by_key(scene: Authorized) -> Any:
    """A program that signs."""
    scene.issuing.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
    scene.issuing.clients["program"] = {"token_endpoint_auth_method": "private_key_jwt", "redirect_uris": []}
    return ClientCredentials("program", signer=Es256Signer.generate(), issuer=scene.issuing.issuer)


def by_workload(scene: Authorized) -> Any:
    """A program that its platform vouches for."""
    return WorkloadIdentity("opaque-assertion-of-the-platform", issuer=scene.issuing.issuer)


def by_company(scene: Authorized) -> Any:
    """A program of a company's person."""
    scene.issuing.add_client("program", "its&secret=1")
    return EnterpriseManaged("program", "its&secret=1", id_token="opaque-id-token-of-the-person",
                             idp_client_id="program", idp_client_secret="its&secret=1",
                             idp_token_endpoint=scene.issuing.issuer + "/token", issuer=scene.issuing.issuer)


@pytest.mark.parametrize("grant", [by_basic, by_post, by_key, by_workload, by_company])
def test_what_machines_show_is_not_told_either(grant: Any, log: io.StringIO) -> None:
    with Authorized() as scene:
        auth = grant(scene)

        def echo(asked: Asked) -> Reply:
            scene.issuing.usual(asked)
            shown = [asked.headers.get("authorization", "").partition(" ")[2]]
            shown += [asked.form.get(name, "") for name in ("client_secret", "assertion", "subject_token")]
            shown += [asked.form.get("client_assertion", "")]
            said = "sent " + " ".join(filter(None, shown))  # what is longest comes last, for long texts are cut
            return reply_json({"error": "invalid_grant", "error_description": said, "error_uri": said}, 400)

        scene.issuing.answers["/token"] = echo
        error = scene.refused(auth)
        sent = {"its&secret=1", "its%26secret%3D1", "opaque-assertion-of-the-platform", "opaque-id-token-of-the-person"}
        sent |= {one.headers["authorization"].partition(" ")[2] for one in scene.issuing.seen("/token")
                 if "authorization" in one.headers}
        scene.issuing.secrets |= sent
        assert scene.issuing.seen("/token") and isinstance(error, AuthError)
        assert_secret([scene.issuing], told(error), log.getvalue(), repr(auth))


def test_what_a_registration_says_is_told_without_the_secret_that_it_has(log: io.StringIO) -> None:
    with Authorized() as scene:
        scene.issuing.answers["/register"] = lambda asked: reply_json(
            {"client_secret": "secret-not-to-tell", "client_id": ["secret-not-to-tell"]}, 201)
        error = scene.refused()
        assert isinstance(error, AuthError) and "not-to-tell" not in told(error) + log.getvalue()


# --- redirects of the person ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("changes", [
    {"state": "wrong"}, {"state": None}, {"iss": "https://evil.example.com"}, {"iss": None}, {"code": None},
    {"code": ""}, {"error": "access_denied"}, {"error": "x\r\n\x1b[2J", "error_description": "\x00\u202e"}])
def test_redirects_that_somebody_changed(changes: Dict[str, Any], log: io.StringIO) -> None:
    with Authorized() as scene:
        error = scene.refused(authorize=altered(**changes))
        assert isinstance(error, AuthError)
        assert not {"\n", "\x1b", "\x00", "\u202e"} & set(str(error))
        assert not scene.issuing.seen("/token") and set(scene.protected.bearers()) == {None}
        assert_secret([scene.issuing], told(error), log.getvalue())


@pytest.mark.parametrize("name", ["state", "code", "iss"])
def test_a_parameter_that_comes_twice_counts_for_nothing(name: str) -> None:
    with Authorized() as scene:
        assert isinstance(scene.refused(authorize=lambda url: browser(url) + "&%s=again" % name), AuthError)
        assert not scene.issuing.seen("/token")


def test_the_code_of_one_answer_is_used_once() -> None:
    with Authorized() as scene:
        answers: List[str] = []

        def same(url: str) -> str:
            if not answers:
                answers.append(browser(url))
            return answers[0]

        with scene.connect(authorize=same) as client:
            scene.issuing.revoke_all()
            with pytest.raises(AuthError):  # its state was that of the first request
                client.call_tool("echo", {"text": "hi"})
        assert len(scene.issuing.seen("/token")) == 2  # the code, and the refresh token that holds no more


def test_a_listener_takes_the_answer_with_its_state_only(log: io.StringIO) -> None:
    with Authorized() as scene:
        strangers: List[int] = []

        def first_strangers(location: str) -> str:
            base = location.partition("?")[0]
            for other in (base, base + "?code=evil&state=evil", base + "/x" + location[len(base):],
                          base + "?error=access_denied&state=evil"):
                strangers.append(fetched(other)[0])
            return location

        with Browser(first_strangers) as opened, used(scene, authorize=None, open_browser=opened.open):
            pass
        assert strangers == [404] * 4
        (status, headers, page), = opened.pages
        assert status == 200 and headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
        assert_secret([scene.issuing], page.decode(), log.getvalue(), repr(headers))


def test_a_listener_survives_more_connections_than_it_keeps() -> None:
    with contextlib.ExitStack() as closing, RedirectListener() as redirect:
        socks: List[socket.socket] = []
        rounds: List[bool] = []

        def another() -> None:
            socks.append(closing.enter_context(socket.create_connection(("127.0.0.1", redirect.port), PATIENCE)))

        def pause(seconds: float) -> None:
            rounds.append(True)
            if len(rounds) > MAX_OPEN:  # all of them are here: the oldest one has something to say when it has to go
                socks[-MAX_OPEN].sendall(b"G")
                another()
            if len(rounds) == 3 * MAX_OPEN:
                socks[-1].sendall(b"GET /callback?state=s&code=c HTTP/1.1\r\n\r\n")

        for _ in range(MAX_OPEN):
            another()
        assert redirect.wait("s", PATIENCE, pause).endswith("/callback?state=s&code=c")


def test_nothing_that_came_by_the_redirect_is_on_the_page() -> None:
    with Authorized() as scene:
        scene.issuing.error = Refusal("access_denied", "<script>alert(1)</script>")
        with Browser() as opened:
            error = scene.refused(authorize=None, open_browser=opened.open)
        assert "access_denied" in str(error)
        assert b"<script" not in opened.pages[0][2] and b"alert" not in opened.pages[0][2]


# --- what takes too long ----------------------------------------------------------------------------------------------

PLACES: Dict[str, Callable[[Authorized], Tuple[Any, str]]] = {
    "resource": lambda scene: (scene.protected, scene.protected.document_path or ""),
    "issuer": lambda scene: (scene.issuing, "/.well-known/oauth-authorization-server"),
    "registration": lambda scene: (scene.issuing, "/register"),
    "token": lambda scene: (scene.issuing, "/token"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_answer_that_does_not_come(place: str) -> None:
    with Authorized() as scene:
        server, path = PLACES[place](scene)
        gate = server.gate()
        server.answers[path] = lambda asked: gate.passing()
        error = scene.refused(limits=HURRIED)
        assert isinstance(error, AuthError) and "auth_timeout" in str(error)
        gate.open()


@pytest.mark.parametrize("place", PLACES)
def test_an_answer_that_comes_in_drops(place: str) -> None:
    with Authorized() as scene:
        server, path = PLACES[place](scene)
        gate = server.gate()

        def drops() -> Iterator[bytes]:
            for _ in range(100):
                yield b" "
                if gate.opened.wait(0.05):
                    return

        server.answers[path] = lambda asked: Reply(200, [("Content-Type", "application/json")], drops())
        error = scene.refused(limits=HURRIED)
        assert isinstance(error, AuthError) and "auth_timeout" in str(error)
        gate.open()


def test_a_person_who_never_comes_back() -> None:
    with Authorized() as scene:
        error = scene.refused(authorize=None, open_browser=lambda url: True, limits=ALONE)
        assert isinstance(error, AuthError) and "authorization_patience" in str(error)
        assert not scene.issuing.seen("/token")


def test_a_browser_that_cannot_be_opened() -> None:
    with Authorized() as scene:
        error = scene.refused(authorize=None, open_browser=lambda url: False, limits=ALONE)
        assert isinstance(error, AuthError)
        assert_secret([scene.issuing], told(error))


@pytest.mark.parametrize("option", ["open_browser", "authorize"])
def test_what_a_callback_raises_is_the_cause_and_is_not_logged(option: str, log: io.StringIO) -> None:
    class Mine(Exception):
        """Nobody else's."""

    def failing(url: str) -> str:
        raise Mine(url)

    with Authorized() as scene:
        error = scene.refused(**{"authorize": None, option: failing})
        assert isinstance(error, AuthError) and isinstance(error.__cause__, Mine)
        assert "Mine" in str(error) and "authorize?" not in log.getvalue() + str(error)


# --- closing ----------------------------------------------------------------------------------------------------------

def test_closing_asks_nobody() -> None:
    with Authorized("2025-11-25") as scene:
        with used(scene):
            asked = scene.authorizations()
            scene.issuing.revoke_all()
        assert scene.authorizations() == asked


def test_closing_while_a_person_is_asked_ends_at_once() -> None:
    with Authorized() as scene, Browser() as opened:
        away, asked = threading.Event(), threading.Event()
        errors: List[BaseException] = []

        def opening(url: str) -> bool:
            if not away.is_set():
                return opened.open(url)
            asked.set()  # and nobody ever comes back
            return True

        def call() -> None:
            try:
                client.call_tool("echo", {"text": "hi"})
            except BaseException as error:
                errors.append(error)

        with used(scene, authorize=None, open_browser=opening) as client:
            away.set()
            scene.issuing.revoke_all()
            thread = threading.Thread(target=call)
            thread.start()
            assert asked.wait(PATIENCE)
            client.close()
            thread.join(PATIENCE)
            assert not thread.is_alive() and len(errors) == 1 and isinstance(errors[0], McpError)
        assert scene.issuing.grants().count("authorization_code") == 1


# --- nothing is told --------------------------------------------------------------------------------------------------

def test_neither_log_nor_trace_nor_repr_tells_anything(log: io.StringIO, tmp_path: Any) -> None:
    from mcp_ref.auth import FileStore

    path = tmp_path / "tokens.json"
    text = io.StringIO()
    with Authorized("2025-11-25") as scene:
        scene.issuing.add_client("known", "secret-of-known")
        store = FileStore(str(path))
        oauth = scene.oauth(client_id="known", client_secret="secret-of-known", store=store)
        trace = Trace(JsonLinesSink(text))
        with connect(scene.protected.url, auth=oauth, trace=trace, limits=BOUNDED, revisions=["2025-11-25"]) as client:
            client.call_tool("echo", {"text": "hi"})
            scene.issuing.revoke()
            client.call_tool("echo", {"text": "hi"})
            scene.protected.needs = {"tools/call:write": ["write"]}
            client.call_tool("write", {"text": "hi"})
            shown = "%r %r %r" % (oauth, store, client)
        assert scene.issuing.grants() == ["authorization_code", "refresh_token", "authorization_code"]
        assert "tools/call" in text.getvalue()
        assert_secret([scene.issuing], log.getvalue(), text.getvalue(), shown)
        assert "uthorization:" not in text.getvalue()
        assert path.stat().st_mode & 0o777 == 0o600
