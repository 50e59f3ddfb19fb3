"""Our client under attack: hostile MCP servers, authorization servers, programs and users of the same machine."""
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from mcp_ref import connect
from mcp_ref.auth.client.grant import Grant
from mcp_ref.auth.client.single_flight import NAME, Authorization
from mcp_ref.auth.client.store import MAX_FILE, FileStore
from mcp_ref.auth.client.token_endpoint import ClientInfo, CodeFlow, Token, assertion_fields
from mcp_ref.auth.discover import AuthorizationServer, Discovered
from mcp_ref.auth.fetch import checked
from mcp_ref.errors import AnswerLost, AuthError, DiscoveryFailed, McpError, TokenRefused, Unauthorized
from mcp_ref.ext.auth.dpop import Prover
from mcp_ref.http11.client.connect import Abandoned, HttpProxy
from mcp_ref.http11.message import Headers
from mcp_ref.limits import Limits
from mcp_ref.streamable.client.auth_provider import AuthRefusal, Authorizer, Authorizing, CancelScope
from tests.auth.test_oauth_session import REVISION, Key, Requests
from tests.support.auth_server import OUT, REFRESH, browser
from tests.support.authorized import BOUNDED, PATIENCE, Authorized
from tests.support.scripted_http import Request, ScriptedHttp
from tests.support.sides import Gate, eventually, in_thread

HURRIED = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE, auth_timeout=PATIENCE,
                 authorization_patience=0.2)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and kinds of files")
ESCAPE = "\x1b[2J\x07\r\n"


# --- what is handed to a browser --------------------------------------------------------------------------------------

def metadata(**members: Any) -> Dict[str, Any]:
    """A document of an authorization server, with these members in place of others."""
    place = "https://auth.example.com"
    return {"issuer": place, "authorization_endpoint": place + "/a", "token_endpoint": place + "/t", **members}


@pytest.mark.parametrize("sign", list("\"<>\\^`{|} \x00\x1b\x7f\n\u00e9"))
def test_what_a_shell_or_a_command_line_might_take_for_its_own_is_no_url(sign: str) -> None:
    """What a URL cannot be made of [RFC 3986 §2] does not get as far as the program that shows pages."""
    for place in ("https://auth.example.com/a%sb", "https://auth.example.com/a?b=%sc", "https://auth%s.example.com/"):
        with pytest.raises(DiscoveryFailed, match="authorization_endpoint"):
            AuthorizationServer.of(metadata(authorization_endpoint=place % sign))


@pytest.mark.parametrize("url", [
    "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "-new-tab", "--help", "ms-settings:x", "//x/a",
    "https:/auth.example.com/a", "https:auth.example.com", " https://auth.example.com/a", "http://auth.example.com/a",
    "https://auth.example.com@evil.example/a", "HTTPS", "",
])
def test_only_pages_are_shown_to_a_person(url: str) -> None:
    with pytest.raises(DiscoveryFailed, match="authorization_endpoint"):
        AuthorizationServer.of(metadata(authorization_endpoint=url))


def test_an_endpoint_cannot_bring_parameters_of_ours_along() -> None:
    evil = "https://auth.example.com/a?client%5Fid=evil&redirect_uri=https://evil.example&state=x&stat%65=y&keep=1"
    server = AuthorizationServer.of(metadata(authorization_endpoint=evil))
    flow = CodeFlow(Discovered("https://mcp.example.com", None, server, False), ClientInfo("me"), "http://x/")
    query = flow.url.partition("?")[2]
    assert "evil" not in query and query.count("state=") == 1 and "keep=1" in query


# --- whom documents make us ask ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("host", [
    "localhost", "LOCALHOST.", "a.localhost", "a.localhost.", "localhost.localdomain", "127.0.0.1", "127.0.0.1.",
    "127.1", "127.255.255.254", "2130706433", "0x7f000001", "0X7F.1", "0177.0.0.1", "0", "0.0.0.0", "0.0", "0.1.2.3",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[::ffff:0.0.0.0]", "[0::ffff:127.9.9.9]",
])
def test_this_machine_has_many_names_and_a_server_elsewhere_may_use_none(host: str) -> None:
    with pytest.raises(DiscoveryFailed):
        checked("https://%s/x" % host, "token_endpoint", here=False)
    if host.lower() not in ("localhost", "[::1]") and not (host.startswith("127.") and host.count(".") == 3):
        with pytest.raises(DiscoveryFailed):
            checked("http://%s/x" % host, "token_endpoint")


@pytest.mark.parametrize("host", [
    "example.com", "example.com.", "127.0.0.1.example.com", "localhost.example.com", "notlocalhost", "10.0.0.1",
    "169.254.1.1", "[2001:db8::1]", "[fe80::1]", "[::ffff:10.0.0.1]", "0x7f.example.com", "1e100.net", "128.0.0.1",
])
def test_others_are_asked(host: str) -> None:
    assert checked("https://%s/x" % host, "token_endpoint", here=False)


# --- what is said about it --------------------------------------------------------------------------------------------

def test_what_servers_announce_is_told_without_what_moves_a_cursor() -> None:
    with pytest.raises(TokenRefused) as caught:
        assertion_fields(Key(), "me", "https://auth.example.com", 0.0, [ESCAPE + "x" * 100000])
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1000
    with Authorized(REVISION) as scene:
        scene.issuing.metadata["dpop_signing_alg_values_supported"] = [ESCAPE + "x" * 100000]
        error = scene.refused(dpop=Key())
        assert isinstance(error, Unauthorized) and "dpop=" in str(error)
        assert str(error).isprintable() and len(str(error)) < 1000


@pytest.mark.parametrize("status", [400, 401, 403, 500])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
@pytest.mark.parametrize("way", ["auth", "token"])
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(status: int, kind: str, way: str) -> None:
    class Fixed(Authorizing, Authorizer):
        """One token."""

        def authorizer(self, url: str, **options: Any) -> Authorizer:
            return self

        def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Any:
            return (("Authorization", "Bearer eyJ.secret-token"),)

        def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
            return False

    def echo(request: Request) -> None:
        text = "I do not like %s" % request.headers["authorization"]
        error = {"jsonrpc": "2.0", "id": request.message["id"], "error": {"code": -32000, "message": text}}
        request.reply(status, (text if kind == "text/plain" else json.dumps(error)).encode("ascii"), kind)

    with ScriptedHttp() as server:
        server.on["tools/call"] = echo
        options: Dict[str, Any] = {"auth": Fixed()} if way == "auth" else {"token": "eyJ.secret-token"}
        with connect(server.url, era="2025-11-25", check_results=False, **options) as client:
            with pytest.raises(McpError, match="I do not like") as caught:
                client.call_tool("it")
        assert "secret-token" not in str(caught.value) + repr(caught.value)


def test_nor_can_it_move_the_cursor_where_a_stream_is_not_resumed() -> None:
    def call(request: Request) -> None:
        request.begin_events()
        request.event(b"", id="0", retry=10)
        request.end_events()

    def listen(request: Request) -> None:
        status = b"400 " + b"\x1b[2J" + b"x" * 60000 if "last-event-id" in request.headers else b"405 No"
        request.send(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")

    with ScriptedHttp() as server:
        server.on["tools/call"], server.on["GET"] = call, listen
        with connect(server.url, era="2025-11-25", check_results=False) as client:
            with pytest.raises(AnswerLost, match="does not resume") as caught:
                client.call_tool("it")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1000


def test_a_proxy_does_not_show_the_password_for_it() -> None:
    assert "c2VjcmV0" not in repr(HttpProxy("proxy.example.com", 8080, "Basic c2VjcmV0"))


# --- how often a person is asked --------------------------------------------------------------------------------------

class Obliging(Authorizing, Authorizer):
    """Gets a token whenever a server wants one, as a person does who always says yes."""

    def __init__(self) -> None:
        self.refusals: List[AuthRefusal] = []

    def authorizer(self, url: str, **options: Any) -> Authorizer:
        return self

    def fields(self, method: str, url: str, cancel_scope: CancelScope) -> Any:
        return ()

    def refused(self, refusal: AuthRefusal, cancel_scope: CancelScope) -> bool:
        self.refusals.append(refusal)
        return True


def every_other(request: Request, seen: List[Request]) -> bool:
    """Refuse each first attempt; whether this one was let in."""
    seen.append(request)
    if len(seen) % 2:
        request.reply(401)
        return False
    request.begin_events()
    return True


def test_a_stream_that_nobody_asked_for_does_not_open_one_page_after_the_other() -> None:
    """The stream of the server begins again whenever it ends: each time with a refusal, where the server is so."""
    seen: List[Request] = []

    def listen(request: Request) -> None:
        if every_other(request, seen):
            request.event(b"", id=str(len(seen)), retry=10)
            request.end_events()

    auth = Obliging()
    with ScriptedHttp() as server:
        server.on["GET"] = listen
        with connect(server.url, auth=auth, era="2025-11-25", check_results=False) as client:
            server.wait_for("GET", 6)
            client.ping()
    assert len(auth.refusals) == 1


def test_a_request_that_is_resumed_again_and_again_is_one_request() -> None:
    seen: List[Request] = []

    def call(request: Request) -> None:
        request.begin_events()
        request.event(b"", id="0", retry=10)
        request.end_events()

    def resume(request: Request) -> None:
        if "last-event-id" not in request.headers:
            request.reply(405)
        elif every_other(request, seen):
            request.event(b"", id=str(len(seen)), retry=10)
            request.end_events()

    auth = Obliging()
    with ScriptedHttp() as server:
        server.on["tools/call"], server.on["GET"] = call, resume
        with connect(server.url, auth=auth, era="2025-11-25", check_results=False,
                     limits=Limits(max_authorizations=2, request_timeout=PATIENCE)) as client:
            with pytest.raises(Unauthorized, match="max_authorizations"):
                client.call_tool("it")
            client.ping()
    assert [refusal.tries for refusal in auth.refusals] == [0, 1]


def test_a_callback_that_never_returns_holds_nobody_for_ever() -> None:
    """The time of a person does not count, so it must have an end of its own; and the next one begins anew."""
    with Authorized(REVISION) as scene, Gate() as gate:
        stuck: List[str] = []

        def authorize(url: str) -> str:
            if not stuck:
                stuck.append(url)
                gate.hold()
            return browser(url)

        oauth = scene.oauth(authorize=authorize)
        error = scene.refused(oauth, limits=HURRIED)
        assert isinstance(error, Unauthorized) and "authorization_patience" in str(error)
        with scene.connect(oauth, limits=HURRIED) as client:
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        gate.open()


def test_so_it_is_with_one_that_asks_for_a_client() -> None:
    with Authorized(REVISION) as scene, Gate() as gate:
        scene.issuing.metadata["registration_endpoint"] = OUT

        def ask(issuer: str) -> Optional[Tuple[str, Optional[str]]]:
            gate.hold()
            return None

        error = scene.refused(ask_client=ask, limits=HURRIED)
        assert isinstance(error, Unauthorized) and "authorization_patience" in str(error)
        gate.open()


def test_who_leaves_a_callback_does_not_leave_it_to_the_next_one() -> None:
    with Authorized(REVISION) as scene, Gate() as gate:
        stuck: List[str] = []

        def authorize(url: str) -> str:
            if not stuck:
                stuck.append(url)
                gate.hold()
            return browser(url)

        requests = Requests(scene, authorize=authorize)
        cancel_scope = CancelScope()
        left = in_thread(lambda: requests.send(cancel_scope))
        eventually(lambda: bool(stuck))
        cancel_scope.cancel()
        with pytest.raises(Abandoned):
            left.get()
        eventually(lambda: NAME not in [thread.name for thread in threading.enumerate()])
        assert requests.send() and scene.authorizations() == 1
        gate.open()


# --- tokens ending, machines of others --------------------------------------------------------------------------------

def test_a_refresh_token_that_another_program_has_exchanged_is_not_shown_again(tmp_path: Path) -> None:
    """Nor where the token that came with the new one has ended meanwhile: rotation would end all of them."""
    with Authorized(REVISION) as scene:
        one, two = (Requests(scene, store=FileStore(tmp_path / "t")) for _ in range(2))
        assert one.send() == two.send()
        scene.issuing.revoke()
        assert one.send()
        scene.clock.advance(4000)
        scene.issuing.revoke()
        assert two.send() and scene.authorizations() == 1 and two.refusals == 1
        shown = [asked.form["refresh_token"] for asked in scene.issuing.seen("/token")
                 if asked.form["grant_type"] == REFRESH]
        assert len(shown) == len(set(shown)) == 2


class Failing(Grant):
    """A grant of a program whose own part fails after the first time."""

    def __init__(self, scene: Authorized) -> None:
        super().__init__(now=scene.clock)
        self.calls = 0

    def obtain(self, found: Discovered, scopes: Optional[List[str]], context: Authorization) -> Token:
        self.calls += 1
        if self.calls > 1:
            raise ValueError("the file with the assertion is not there just now")
        now = self.now()
        return Token("good", expires_at=now + 60, issuer=found.server.issuer, renew_at=now + 50)


def test_a_failure_of_the_program_before_a_token_ends_leaves_it_in_use() -> None:
    with Authorized(REVISION) as scene:
        grant = Failing(scene)
        session = grant.authorizer(scene.protected.url, limits=BOUNDED)
        refusal = AuthRefusal(401, (), Headers(), "POST", scene.protected.url, (), REVISION, 0)
        assert session.refused(refusal, CancelScope())
        scene.clock.advance(55)
        for _ in range(2):
            assert session.fields("POST", scene.protected.url, CancelScope()) == (("Authorization", "Bearer good"),)
        assert grant.calls == 2


def test_two_nonces_are_none() -> None:
    with Authorized(REVISION) as scene:
        session = scene.oauth(dpop=Key()).authorizer(scene.protected.url, limits=BOUNDED)
        challenge = 'DPoP error="use_dpop_nonce"'
        fields = (("Authorization", "DPoP t"), ("DPoP", Prover(Key()).proof("POST", scene.protected.url, "t")))
        headers = Headers([("DPoP-Nonce", "one"), ("DPoP-Nonce", "two")])
        refusal = AuthRefusal(401, (challenge,), headers, "POST", scene.protected.url, fields, REVISION, 0)
        assert session.refused(refusal, CancelScope()) and scene.authorizations() == 1


# --- the file of tokens -----------------------------------------------------------------------------------------------

@POSIX
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(str(tmp_path / "t"), 0o600)
    errors: List[BaseException] = []

    def read() -> None:
        try:
            FileStore(tmp_path / "t").get("token", "a")
        except AuthError as error:
            errors.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(PATIENCE / 5)
    stuck = thread.is_alive()
    if stuck:
        os.close(os.open(str(tmp_path / "t"), os.O_WRONLY))
        thread.join(PATIENCE)
    assert not stuck and "no file" in str(errors[0])


@POSIX
def test_nor_is_anything_else_read_that_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "t").symlink_to("/dev/null")
    with pytest.raises(AuthError, match="no file"):
        FileStore(tmp_path / "t").get("token", "a")


def test_a_file_that_is_far_too_long_is_not_read(tmp_path: Path) -> None:
    with open(str(tmp_path / "t"), "wb") as file:
        file.truncate(MAX_FILE + 1)
    (tmp_path / "t").chmod(0o600)
    with pytest.raises(AuthError, match="%d bytes" % MAX_FILE):
        FileStore(tmp_path / "t").get("token", "a")


@POSIX
def test_a_file_that_belongs_to_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path / "t")
    store.set("token", "a", {"b": 1})
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(AuthError, match="belongs to another user"):
        store.get("token", "a")
    with pytest.raises(AuthError, match="belongs to another user"):
        store.set("token", "a", {"b": 2})


@POSIX
def test_a_link_in_the_place_of_the_file_is_replaced_and_its_target_is_not(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    FileStore(target).set("token", "a", {"b": 1})
    before = target.read_bytes()
    (tmp_path / "t").symlink_to(target)
    FileStore(tmp_path / "t").set("token", "a", {"b": 2})
    assert target.read_bytes() == before and not (tmp_path / "t").is_symlink()


@POSIX
@pytest.mark.parametrize("suffix", [".lock", ".refresh"])
def test_a_link_in_the_place_of_a_lock_makes_no_file_elsewhere(tmp_path: Path, suffix: str) -> None:
    (tmp_path / ("t" + suffix)).symlink_to(tmp_path / "elsewhere")
    store = FileStore(tmp_path / "t")
    with pytest.raises(AuthError, match="cannot be kept"):
        if suffix == ".lock":
            store.set("token", "a", {"b": 1})
        with store.exclusive(lambda seconds: None):
            pass
    assert not (tmp_path / "elsewhere").exists()
