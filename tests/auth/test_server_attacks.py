"""A protected server under attack: ways in without a good token, sessions of others, slow authorization servers."""
import itertools
import json
import socket
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import pytest

from mcp_ref import Server, connect
from mcp_ref.auth import AccessToken, HmacSigner, Introspection, JwtVerifier, OAuth, Principal, ResourceServer
from mcp_ref.auth.jose import make_jwt
from mcp_ref.auth.server.access import ScopePolicy
from mcp_ref.auth.server.resource_server import KEPT
from mcp_ref.errors import AuthError, DiscoveryFailed
from mcp_ref.limits import Limits
from mcp_ref.protocol.streamable_http.refusals import preflight
from mcp_ref.server.serving.http_listener import HttpListener
from tests.auth.test_jwks import OLD, OTHER, key_set, published, token_of
from tests.support.auth_server import AuthorizationServer, browser
from tests.support.clocks import Clock, by_hand
from tests.support.http_exchange import exchange, request
from tests.support.http_modern import STATELESS, enveloped, made
from tests.support.legacy_web import LegacyWeb
from tests.support.protected import ISSUER, NOW, RESOURCE, Door, access, protected_server, tokens
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted_web import Reply, reply_json
from tests.support.sides import Gate, eventually, in_thread, said

EVERY = HANDSHAKE[1:] + (STATELESS,)
every_revision = pytest.mark.parametrize("revision", EVERY)
METHODS = ("GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "get", "Post", "")
BODIES: Tuple[Any, ...] = (
    b"", b"{", [], [request(1, "tools/list")], request(1, "tools/list"), request(1, "initialize", {}),
    request(1, "subscriptions/listen", {}), {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return by_hand(monkeypatch)


@pytest.fixture
def issuing() -> Iterator[AuthorizationServer]:
    with AuthorizationServer() as server:
        server.keys = [published(OLD)]
        yield server


# --- no good token, no way in -----------------------------------------------------------------------------------------

def attempts(fields: Dict[str, Optional[str]]) -> Iterator[Any]:
    """Requests of every method to every spelling of the endpoint, with these fields."""
    for method, path in itertools.product(METHODS, ("/mcp", "/mcp/", "//mcp", "/mcp//", "/MCP", "/%6dcp", "/mcp;a")):
        for body in BODIES if method == "POST" and path == "/mcp" else (BODIES[4],):
            yield exchange(method, fields, body, path=path)


@every_revision
@pytest.mark.parametrize("token", [None, "unknown", "expired", "elsewhere", "foreign"])
def test_nothing_is_reached_without_a_good_token(revision: str, token: Optional[str]) -> None:
    with Door(revision) as door:
        session = None if revision == STATELESS else door.session("good")
        before = len(door.sessions)
        for more in ({}, {"Last-Event-ID": "0-0-0"}, {"X-HTTP-Method-Override": "GET"}, {"Origin": "http://localhost"},
                     {"X-Forwarded-Authorization": "Bearer good"}, {"Proxy-Authorization": "Bearer good"}):
            for asked in attempts({**door.fields(token, session), **more}):
                assert door.send(asked).status in (401, 404, 405, 415), asked
        assert door.server.ran == [] and len(door.sessions) == before
        assert set(door.endpoint.counters.snapshot()) <= {
            "sessions begun", "refused: principal", "refused: path", "refused: method", "refused: media type"}


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_a_session_is_of_no_use_to_another_principal(revision: str) -> None:
    with Door(revision) as door:
        session = door.session("good")
        for more in ({}, {"Last-Event-ID": "0-0-0"}):
            for method in ("GET", "POST", "DELETE"):
                for body in BODIES[1:] if method == "POST" else (b"",):
                    reply = door.send(exchange(method, {**door.fields("other", session), **more}, body))
                    assert reply.status in (404, 400) and not reply.streaming
                    assert "session" in json.dumps(reply.message)
        assert door.call("who", "good").status == 200


# --- one scope rule for all ways of asking ----------------------------------------------------------------------------

NEEDS = {"resources/subscribe": "watch", "resources/subscribe:file:///a": "watch:a", "prompts/get:secret": "plan",
         "resources/read:file:///{name}": "files"}


def of_prompt(name: Any) -> Dict[str, Any]:
    """The params of `completion/complete` for a prompt."""
    return {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "a", "value": ""}}


def of_template(uri: Any) -> Dict[str, Any]:
    """The params of `completion/complete` for a template."""
    return {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "a", "value": ""}}


@pytest.mark.parametrize("method, params, needed", [
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["file:///b"]}}, "watch files"),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["file:///b", "file:///a"]}},
     "watch files watch:a"),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": []}}, ""),
    ("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, ""),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": "file:///a"}}, ""),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": [7, None, {}]}}, "watch"),
    ("subscriptions/listen", {"notifications": [1]}, ""), ("subscriptions/listen", None, ""),
    ("completion/complete", of_prompt("secret"), "plan"), ("completion/complete", of_prompt("open"), ""),
    ("completion/complete", of_template("file:///{name}"), "files"), ("completion/complete", of_prompt([]), ""),
    ("completion/complete", {"ref": "secret"}, ""), ("completion/complete", {}, ""),
])
def test_other_ways_to_the_same_thing_need_the_same(method: str, params: Any, needed: str) -> None:
    assert ScopePolicy((), NEEDS).scopes_for([(method, params)]) == needed.split()


def test_a_listener_needs_what_a_subscriber_needs() -> None:
    with Door(STATELESS, needs={"resources/subscribe": "watch"}) as door:
        params = {"notifications": {"resourceSubscriptions": ["file:///a"]}}
        refused = door.send(made(request(1, "subscriptions/listen", enveloped(params)), door.fields("good")))
        assert refused.status == 403 and door.challenge(refused)["scope"] == "watch"


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_over_the_older_transport_scopes_come_before_what_is_wrong_with_a_body(revision: str) -> None:
    server = protected_server(ResourceServer(RESOURCE, ["https://auth.example.com"], tokens(), scopes="read",
                                             publish_server_metadata=False, now=lambda: NOW))
    with LegacyWeb(server, revision, {"Authorization": "Bearer good"}, authenticate=server.auth) as web:
        for body in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1}'):
            asked = web.made("POST", web.address, body, {"Authorization": "Bearer narrow"})
            assert web.handle(asked).status == 403
            asked = web.made("POST", web.address, body, {"Authorization": "Bearer good"})
            assert web.handle(asked).status == 400


@every_revision
def test_a_refused_response_does_not_look_like_the_refusal_of_a_request_with_its_id(revision: str) -> None:
    with Door(revision, scopes="read") as door:
        for token, status in (("narrow", 403), ("good", 400)):
            for response in ({"result": {}}, {"error": {"code": 1, "message": "no"}}):
                refused = door.send(exchange("POST", door.fields(token), {"jsonrpc": "2.0", "id": 1, **response}))
                assert refused.status == status and "id" not in refused.message


# --- who is who -------------------------------------------------------------------------------------------------------

def test_no_two_principals_are_the_same() -> None:
    texts: List[Optional[str]] = [None, "", "null", '"', '","', '"]', "a", "a,b", "\\", "\\u0061", "\ud800", "\u00e9",
                                  "token x"]
    seen: Set[str] = set()
    for issuer, subject, client in itertools.product(texts, repeat=3):
        seen.add(Principal.of(AccessToken(subject, client, issuer), "one"))
    without = [Principal.of(AccessToken(None, None, issuer), token) for issuer in texts for token in ("one", "two")]
    assert len(seen) == len(texts) ** 3 - (len(texts) - 1)  # those that name nobody are known by their token alone
    assert len(set(without)) == 2 and len(seen.intersection(without)) == 1


@pytest.mark.parametrize("thumbprint", [7, "", ["x"], {}, True])
@pytest.mark.parametrize("dpop", [False, True])
def test_a_token_bound_to_what_is_no_key_is_of_no_use(thumbprint: Any, dpop: bool) -> None:
    with Door(STATELESS, dpop=dpop) as door:
        door.tokens["bound"] = access(claims={"cnf": {"jkt": thumbprint}})
        assert door.knock("bound").status == 401


CERTIFICATE = "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"
UNCHECKED = [{"x5t#S256": CERTIFICATE}, {"x5t#S256": None}, {"jwk": {"kty": "EC"}}, {"kid": "1"}, {"jku": "https://a/"},
             {"jwe": "x"}, {"jkt": "x", "x5t#S256": CERTIFICATE}, {"osc": {}}, {"": 1}, "x5t#S256", ["x5t#S256"], 7]


@pytest.mark.parametrize("confirmation", UNCHECKED)
@pytest.mark.parametrize("dpop", [False, True, "required"])
def test_a_token_bound_to_what_is_not_checked_is_not_taken_for_a_plain_one(confirmation: Any, dpop: Any) -> None:
    """[RFC 8705 §3]: a certificate-bound token in the hands of a thief, who has no such certificate."""
    with Door(STATELESS, dpop=dpop) as door:
        door.tokens["bound"] = access(claims={"cnf": confirmation})
        for scheme in ("Bearer", "DPoP"):
            assert door.knock(None, {"Authorization": scheme + " bound"}).status == 401
    with Door(STATELESS) as door:
        door.tokens["bound"] = access(claims={"cnf": confirmation})
        refused = door.knock("bound")
        assert door.challenge(refused)["error"] == "invalid_token"
        assert "bound (cnf) to something that is not checked here" in door.challenge(refused)["error_description"]


@pytest.mark.parametrize("claims", [{}, {"cnf": None}, {"cnf": {}}, {"x5t#S256": CERTIFICATE}])
def test_a_token_that_is_not_bound_is_taken(claims: Any) -> None:
    with Door(STATELESS) as door:
        door.tokens["plain"] = access(claims=claims)
        assert door.knock("plain").status == 200


def test_a_verifier_of_jwts_does_not_make_a_bound_token_plain() -> None:
    secret = b"a secret of thirty-two characters"
    claims = {"iss": ISSUER, "sub": "ada", "aud": RESOURCE, "exp": NOW + 60, "cnf": {"x5t#S256": CERTIFICATE}}
    verify = JwtVerifier(ISSUER, keys=secret, algorithms=["HS256"], now=lambda: NOW)
    with Door(STATELESS, verify=verify) as door:
        assert door.knock(make_jwt(HmacSigner(secret.decode()), claims)).status == 401
        del claims["cnf"]
        assert door.knock(make_jwt(HmacSigner(secret.decode()), claims)).status == 200


def test_tokens_of_one_client_that_do_not_name_a_person_are_not_one_principal() -> None:
    """[RFC 9068 §2.2] They may be of two persons who use that client: a session of one is none of the other's."""
    with Door("2025-11-25") as door:
        door.tokens["one"], door.tokens["two"] = access(subject=None), access(subject=None)
        door.session("one")
        assert door.call("delete", "one", "one").status == 200
        assert door.call("delete", "two", "one").status == 404
    first, second = (Principal.of(access(subject=None), token) for token in ("one", "two"))
    assert first != second and first == Principal.of(access(subject=None, scopes=[]), "one") and "one" not in first


# --- authorization servers that are slow ------------------------------------------------------------------------------

def held(issuing: AuthorizationServer, path: str, reply: Callable[[Any], Reply]) -> Any:
    """Have answers at this path wait at a gate."""
    gate = issuing.gate()

    def slowly(asked: Any) -> Reply:
        gate.passing()
        return reply(asked)

    issuing.answers[path] = slowly
    return gate


@pytest.mark.race
def test_made_up_tokens_do_not_hold_all_threads(issuing: AuthorizationServer) -> None:
    """Half of ``max_workers`` ask about tokens; a token that is known goes through all the while."""
    issuing.add_client("me", "s3cret")
    verify = Introspection(issuing.origin + "/introspect", "me", "s3cret", limits=Limits(max_workers=4))
    issuing.tokens["known"] = {"sub": "ada"}
    assert verify("known") is not None
    gate = held(issuing, "/introspect", lambda asked: reply_json({"active": False}))
    waiting = [in_thread(verify, "made up %d" % number) for number in range(2)]
    issuing.wait_for("/introspect", 3)
    late = in_thread(verify, "one more")
    with pytest.raises(AuthError, match="max_workers"):
        late.get()
    assert verify("known") is not None
    gate.open()
    for outcome in waiting:
        with pytest.raises(AuthError, match="not active"):
            outcome.get()
    with pytest.raises(AuthError, match="not active"):
        verify("later")


@pytest.mark.race
def test_keys_at_hand_serve_while_they_are_fetched_again(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing, lifetime=600.0)
    assert keys.signed(token_of(OLD), "ES256")
    gate = held(issuing, "/jwks", lambda asked: reply_json({"keys": issuing.keys}))
    clock.now += 600.0
    fetching = in_thread(keys.signed, token_of(OLD), "ES256")
    gate.wait_arrived()
    meanwhile = in_thread(keys.signed, token_of(OLD), "ES256")
    assert meanwhile.get() is True
    gate.open()
    assert fetching.get() is True and keys.signed(token_of(OLD), "ES256") and len(issuing.seen("/jwks")) == 2


@pytest.mark.race
def test_made_up_names_of_keys_do_not_hold_all_threads(issuing: AuthorizationServer, clock: Clock) -> None:
    keys = key_set(issuing, limits=Limits(max_workers=4))
    assert keys.signed(token_of(OLD), "ES256")
    gate = held(issuing, "/jwks", lambda asked: reply_json({"keys": issuing.keys}))
    clock.now += 30.0
    waiting = [in_thread(keys.signed, token_of(OTHER), "ES256") for _ in range(3)]
    gate.wait_arrived()
    eventually(lambda: keys._published._waiting == 2)
    late = in_thread(keys.signed, token_of(OTHER), "ES256")
    with pytest.raises(DiscoveryFailed, match="being fetched"):
        late.get()
    assert keys.signed(token_of(OLD), "ES256")
    gate.open()
    assert [outcome.get() for outcome in waiting] == [False] * 3


@pytest.mark.race
def test_metadata_at_hand_serve_while_they_are_fetched_again(issuing: AuthorizationServer, clock: Clock) -> None:
    auth = ResourceServer(RESOURCE, [issuing.issuer], tokens())

    def ask() -> Optional[int]:
        asked = exchange("GET", path="/authorize")
        assert auth.answers(asked)
        return asked.status

    assert ask() == 302
    gate = held(issuing, "/.well-known/oauth-authorization-server", lambda asked: reply_json(issuing.metadata))
    clock.now += KEPT
    fetching = in_thread(ask)
    gate.wait_arrived()
    meanwhile = [in_thread(ask) for _ in range(6)]
    assert [outcome.get() for outcome in meanwhile] == [302] * 6
    gate.open()
    assert fetching.get() == 302


# --- streams that are open when a token expires -----------------------------------------------------------------------

def announce(server: Server, name: str) -> None:
    """Have clients told that the list of tools has changed."""

    @server.tool(name=name)
    def more() -> str:
        """One more tool."""
        return ""


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_nobody_goes_on_listening_with_a_token_that_has_expired(revision: str) -> None:
    now = [NOW]
    with Door(revision, now=lambda: now[0]) as door:
        door.tokens["fresh"] = access(expires_at=NOW + 600)
        session = door.session("good")
        stream = door.send(exchange("GET", door.fields("good", session)))
        now[0] += 59
        door.endpoint.tick()
        announce(door.server, "one")
        stream.wait(lambda: b"list_changed" in stream.raw)
        assert not stream.finished
        now[0] += 1
        door.endpoint.tick()
        assert stream.finished
        told = stream.raw
        announce(door.server, "two")
        assert stream.raw == told and door.send(exchange("GET", door.fields("good", session))).status == 401
        again = door.send(exchange("GET", door.fields("fresh", session)))
        again.wait(lambda: b"list_changed" in again.raw)  # what was missed
        door.endpoint.tick()
        assert not again.finished and door.call("who", "fresh").status == 200


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_a_stream_goes_on_where_the_session_has_shown_a_fresh_token(revision: str) -> None:
    now = [NOW]
    with Door(revision, now=lambda: now[0]) as door:
        door.tokens["fresh"] = access(expires_at=NOW + 600)
        stream = door.send(exchange("GET", door.fields("good", door.session("good"))))
        assert door.call("who", "fresh").status == 200
        now[0] += 60
        door.endpoint.tick()
        announce(door.server, "one")
        stream.wait(lambda: b"list_changed" in stream.raw)
        assert not stream.finished


def test_a_listener_is_cut_off_when_its_token_expires_and_no_other_request() -> None:
    now = [NOW]
    with Door(STATELESS, now=lambda: now[0]) as door:
        door.tokens["longer"] = access(subject="eve", expires_at=NOW + 600)
        gate = Gate()

        @door.server.tool
        def wait() -> str:
            """Until the test goes on."""
            gate.hold()
            return "done"

        def listen(token: str) -> Any:
            params = {"notifications": {"toolsListChanged": True}}
            return door.send(made(request(7, "subscriptions/listen", enveloped(params)), door.fields(token)))

        with gate:
            short, long = listen("good"), listen("longer")
            call = request(8, "tools/call", enveloped({"name": "wait", "arguments": {}}))
            running = in_thread(door.send, made(call, door.fields("good")))
            gate.entered()
            for stream in (short, long):
                stream.wait(lambda stream=stream: b"acknowledged" in stream.raw)
            now[0] += 60
            door.endpoint.tick()
            announce(door.server, "one")
            long.wait(lambda: b"list_changed" in long.raw)
            assert short.finished and b"list_changed" not in short.raw and not long.finished
            assert [(each["method"], each["params"]["requestId"]) for each in short.messages()[1:]] == [
                ("notifications/cancelled", 7)], "the client is told, and gets no result"
        assert said(running.get().message) == "done"


@every_revision
def test_our_client_comes_back_with_another_token_and_hears_the_rest(revision: str) -> None:
    later = [0.0]
    with AuthorizationServer() as issuing, socket.create_server(("127.0.0.1", 0)) as listening:
        url = "http://127.0.0.1:%d/mcp" % listening.getsockname()[1]
        mint, issuing.expires_in = issuing.mint, 600

        def now() -> float:
            return time.time() + later[0]

        def expiring(claims: Dict[str, Any]) -> str:
            claims["exp"] = now() + 600
            return mint(claims)

        issuing.mint = expiring
        issuing.add_client("resource", "secret")
        verify = Introspection(issuing.issuer + "/introspect", "resource", "secret", issuer=issuing.issuer, remember=0)
        auth = ResourceServer(url, [issuing.issuer], verify, now=now)
        server = protected_server(auth, [revision])
        told: List[Any] = []
        limits = Limits(stream_retry=0.01)
        with HttpListener(server, url, fds=[listening.detach()], legacy=False) as listener, connect(
                url, auth=OAuth(authorize=browser, now=now), on_notification=lambda *said: told.append(said),
                limits=limits) as client:
            client.call_tool("who")
            if revision == STATELESS:
                client.listen("tools")
            announce(server, "one")
            eventually(lambda: len(told) == 1)
            later[0] = 1000.0
            listener.endpoint.tick()
            eventually(lambda: len(issuing.seen("/token")) == 2)
            if revision == STATELESS:
                eventually(lambda: len(server.listeners) == 1)
            announce(server, "two")
            eventually(lambda: len(told) == 2)
            assert len(issuing.seen("/authorize")) == 1 and client.call_tool("who") is not None


# --- browsers ---------------------------------------------------------------------------------------------------------

def test_a_page_may_send_a_proof() -> None:
    assert dict(preflight("POST", "Authorization, DPoP"))["Access-Control-Allow-Headers"] == "authorization, dpop"
