"""Protected servers through every shell, verifiers that fail, and what is published."""
import http.client
import io
import itertools
import json
import logging
import os
import socket
from urllib.parse import urlsplit

import pytest

from mcp_ref import Context, Server
from mcp_ref.auth import AccessToken, HmacSigner, JwtVerifier, Principal, ResourceServer
from mcp_ref.auth.jose import make_jwt
from mcp_ref.auth.server.access import ScopePolicy, checked_scopes
from mcp_ref.auth.server.resource_server import KEPT, RETRIED
from mcp_ref.errors import AuthError, DiscoveryFailed, McpError, Unauthorized
from mcp_ref.ext.stores.sqlite import SqliteStore
from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.limits import Limits
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.streamable.server.authenticate import AccessDenied, CallableGuard, Guard, OneToken, guard_of
from tests.support.auth_server import AuthorizationServer
from tests.support.clocks import by_hand
from tests.support.http_exchange import BOTH, exchange, opening, request
from tests.support.http_modern import STATELESS, enveloped, mirror
from tests.support.legacy_web import LegacyWeb
from tests.support.patience import WAIT
from tests.support.protected import DOCUMENT, ISSUER, METADATA, NOW, RESOURCE, Door, access, protected_server, tokens
from tests.support.requirements_table import HANDSHAKE
from tests.support.sides import eventually, in_thread, said

EVERY = HANDSHAKE[1:] + (STATELESS,)
every_revision = pytest.mark.parametrize("revision", EVERY)


def made(**options):
    return ResourceServer(RESOURCE, [ISSUER], tokens(), **{
        "server_metadata": METADATA, "now": lambda: NOW, "scopes": "read", "needs": {"tools/call:delete": "write"},
        **options})


# -- Every shell -------------------------------------------------------------------------------


class Engine:
    """The server on a socket."""

    def __init__(self, server):
        self.listener = HttpListener(server, "http://127.0.0.1:0/mcp")
        self.listener.open()
        self.host = urlsplit(self.listener.address).netloc

    def ask(self, method, path, headers, body, query=""):
        connection = http.client.HTTPConnection(self.host, timeout=WAIT)
        try:
            connection.request(method, path + ("?" + query if query else ""), body, {"Host": self.host, **headers})
            answer = connection.getresponse()
            return answer.status, Headers(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def close(self):
        self.listener.close(0)


class Handle:
    """The server mounted by `Server.handle`."""

    def __init__(self, server):
        self.server = server

    def ask(self, method, path, headers, body, query=""):
        answer = self.server.handle(method, path + ("?" + query if query else ""), headers, body or b"")
        return answer.status, Headers(answer.headers), b"".join(answer.chunks)

    def close(self):
        self.server.handler.close(0)


class Wsgi:
    """The server as a WSGI application."""

    def __init__(self, server):
        self.application = server.wsgi()

    def ask(self, method, path, headers, body, query=""):
        environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "SCRIPT_NAME": "",
                   "wsgi.input": io.BytesIO(body or b""), "CONTENT_LENGTH": str(len(body or b"")),
                   "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http", "wsgi.multithread": True}
        for name, value in {"Host": "localhost", **headers}.items():
            name = name.upper().replace("-", "_")
            environ[name if name == "CONTENT_TYPE" else "HTTP_" + name] = value
        begun = []
        answer = self.application(environ, lambda status, fields: begun.append((int(status[:3]), fields)))
        try:
            data = b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()
        return begun[0][0], Headers(begun[0][1]), data

    def close(self):
        self.application.close()


@pytest.mark.parametrize("shell", [Engine, Handle, Wsgi])
@every_revision
def test_all_shells_guard_alike(shell, revision):
    server = protected_server(made())
    place = shell(server)
    try:
        session, ids = {}, itertools.count(1)

        def post(token, method, params=None, **more):
            message = request(next(ids), method, enveloped(params) if revision == STATELESS else params)
            fields = {"Content-Type": "application/json", "Accept": BOTH, **session, **more}
            if revision == STATELESS:
                fields.update(mirror(message))
            if token is not None:
                fields["Authorization"] = "Bearer " + token
            return place.ask("POST", "/mcp", fields, json.dumps(message).encode())

        def begin(token):
            if revision == STATELESS:
                return post(token, "server/discover")
            return post(token, "initialize", opening(revision)["params"])

        rows = [(None, 401, None), ("unknown", 401, "invalid_token"), ("elsewhere", 401, "invalid_token"),
                ("narrow", 403, "insufficient_scope"), ("a b", 400, "invalid_request")]
        for token, status, error in rows:
            found, headers, data = begin(token)
            challenge = Door.challenge(Answered(headers))
            assert (found, challenge.get("error")) == (status, error) and json.loads(data)["error"]["code"] == -32600
            assert challenge["resource_metadata"] == "https://mcp.example.com" + DOCUMENT + "/mcp"
        found, headers, _ = begin("good")
        assert found == 200
        if revision != STATELESS:
            session.update({"Mcp-Session-Id": headers.get("Mcp-Session-Id"), "MCP-Protocol-Version": revision})
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
            fields = {"Content-Type": "application/json", "Accept": BOTH, "Authorization": "Bearer good", **session}
            assert place.ask("POST", "/mcp", fields, note)[0] == 202
        call = {"name": "who", "arguments": {}}
        assert b"ada may read" in post("good", "tools/call", call)[2]
        assert post("good", "tools/call", {"name": "delete", "arguments": {}})[0] == 403
        assert place.ask("POST", "/mcp", {"Content-Type": "application/json", "Accept": BOTH}, b"{}",
                         "access_token=good")[0] == 400
        for path, status in ((DOCUMENT, 200), (DOCUMENT + "/mcp", 200), (DOCUMENT + "/x", 404),
                             ("/.well-known/oauth-authorization-server", 200), ("/authorize", 302)):
            found, headers, data = place.ask("GET", path, {}, None)
            assert found == status and (status == 404 or headers.get("Access-Control-Allow-Origin") == "*")
        assert place.ask("POST", "/token", {"Content-Type": "application/x-www-form-urlencoded"}, b"a=b")[0] == 307
        assert place.ask("HEAD", DOCUMENT, {}, None)[2] == b""
        assert server.ran == ["who"]
    finally:
        place.close()


class Answered:
    def __init__(self, headers):
        self.headers = headers


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_older_transport_is_guarded_too(revision):
    server = protected_server(made())
    guard = {"authenticate": server.auth}
    with LegacyWeb(server, None, **guard) as web:
        for token, status in ((None, 401), ("unknown", 401), ("narrow", 403)):
            refused = web.open({"Authorization": token and "Bearer " + token})
            assert refused.status == status and "resource_metadata" in Door.challenge(refused)
    with LegacyWeb(server, revision, {"Authorization": "Bearer good"}, **guard) as web:
        assert said(web.ask(1, "tools/call", {"name": "who", "arguments": {}})) == "ada may read"
        body = request(2, "tools/call", {"name": "delete", "arguments": {}})
        for token, status in ((None, 401), ("expired", 401), ("narrow", 403), ("good", 403), ("other", 404)):
            fields = {"Authorization": token and "Bearer " + token}
            assert web.handle(web.made("POST", web.address, body, fields)).status == status
    assert server.ran == ["who"]


@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_without_sessions_each_request_shows_its_token(revision):
    with Door(revision, endpoint={"sessions": "none"}, needs={"tools/call:delete": "write"}) as door:
        fields = {"MCP-Protocol-Version": revision}
        for tool, token, status in (("who", "good", 200), ("who", None, 401), ("delete", "good", 403)):
            body = request(1, "tools/call", {"name": tool, "arguments": {}})
            assert door.send(exchange("POST", {**door.fields(token), **fields}, body)).done().status == status
        assert door.server.ran == ["who"]


def test_sessions_in_a_store_belong_to_a_principal_whatever_its_token(tmp_path):
    def place():
        return Door("2025-11-25", endpoint={"sessions": SqliteStore(str(tmp_path / "sessions"))})

    with place() as one, place() as two:
        two.sessions["good"] = one.session("good")
        two.tokens["fresh"] = access(scopes=["read", "more"])
        assert said(two.call("who", "fresh").message) == "ada may read more"
        assert two.call("who", "other").status == 404


@pytest.mark.parametrize("token, status", [("good", 200), ("fresh", 200), ("other", 200)])
def test_a_state_is_of_use_to_its_principal_only(token, status):
    with Door(STATELESS) as door:
        door.tokens["fresh"] = access(scopes=["read", "more"], expires_at=NOW + 900)

        @door.server.tool
        def deploy(ctx: Context) -> str:
            """Asks first."""
            return str(ctx.elicit("Which region?", {"region": str})["region"])

        params = {"name": "deploy", "arguments": {}}
        meta = {"capabilities": {"elicitation": {"form": {}}}}

        def ask(shown, more):
            message = request(1, "tools/call", enveloped({**params, **more}, **meta))
            return door.send(exchange("POST", {**door.fields(shown), **mirror(message)}, message)).message

        first = ask("good", {})["result"]
        (key,) = first["inputRequests"]
        answer = {"inputResponses": {key: {"action": "accept", "content": {"region": "eu"}}},
                  "requestState": first["requestState"]}
        second = ask(token, answer)
        assert ("error" in second) == (token == "other")
        assert token == "other" or said(second) == "eu"


# -- Verifiers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("error, status, told", [
    (Unauthorized("the \"secret-x\" token\n is revoked \u00e9"), 401, "the  ...  token  is revoked  "),
    (Unauthorized("x" * 500), 401, "x" * 200), (AuthError("secret-x: no answer"), 503, None),
    (DiscoveryFailed("no keys"), 503, None), (ValueError("secret-x"), 500, None), (KeyError("secret-x"), 500, None)])
def test_a_verifier_that_raises(error, status, told, caplog):
    with Door(STATELESS) as door, caplog.at_level(logging.DEBUG):
        door.tokens["secret-x"] = error
        refused = door.knock("secret-x")
        assert refused.status == status
        shown = repr(refused.raw) + repr(refused.headers.pairs())
        assert "secret-x" not in shown + caplog.text
        if told is not None:
            assert door.challenge(refused)["error_description"] == told
        else:
            assert "WWW-Authenticate" not in refused.headers and caplog.text
        assert status != 503 or refused.headers.get("Retry-After")
        assert status != 500 or type(error).__name__ in caplog.text
        assert status != 500 or "in __call__\n    raise found" in caplog.text, "down to the author's own line"


def test_a_verifier_that_returns_something_else_is_at_fault(caplog):
    with Door(STATELESS, verify=lambda token: {"sub": token}) as door:
        refused = door.knock("secret-x")
        assert refused.status == 500 and "not a dict" in caplog.text and "secret-x" not in caplog.text


def test_needs_and_implies_that_fail_let_nobody_in(caplog):
    with Door(STATELESS, needs=lambda method, params: 1 / 0) as door:
        assert door.knock("good").status == 500
    with Door(STATELESS, scopes="x", implies=lambda scopes: 1 / 0) as door:
        assert door.knock("good").status == 500
    with Door(STATELESS, needs=lambda method, params: 'not "a" scope') as door:
        assert door.knock("good").status == 500
        assert door.server.ran == []


def test_with_several_issuers_a_token_says_whose_it_is(caplog):
    issuers = [ISSUER, "https://two.example.com"]
    with Door(STATELESS, issuers=issuers) as door:
        door.tokens.update(second=access(issuer=issuers[1]), none=access(issuer=None),
                           slash=access(issuer=ISSUER + "/"))
        assert [door.knock(token).status for token in ("good", "second", "none", "slash")] == [200, 200, 500, 401]
        assert "AccessToken.issuer" in caplog.text
    with Door(STATELESS) as door:
        door.tokens["none"] = access(issuer=None)
        assert said(door.call("who", "none").message) == "ada may read"


def test_other_names_that_tokens_may_have_for_this_server():
    with Door(STATELESS, audience=["api://files", "HTTPS://old.example.com/mcp"]) as door:
        rows = {"api://files": 200, "https://old.example.com/mcp": 200, RESOURCE: 200, "api://other": 401}
        for name, status in rows.items():
            door.tokens["token"] = access(audience=[name])
            assert door.knock("token").status == status
    with Door(STATELESS, audience="api://files") as door:
        door.tokens["token"] = access(audience=["a"])
        assert door.knock("token").status == 401


@pytest.mark.parametrize("expires_at, status", [
    (None, 200), (float("inf"), 200), (float("nan"), 401), (0, 401), (NOW + 0.5, 200), (-1, 401)])
def test_expiry(expires_at, status):
    with Door(STATELESS) as door:
        door.tokens["token"] = access(expires_at=expires_at)
        assert door.knock("token").status == status


# -- What is published -------------------------------------------------------------------------


def test_metadata_are_fetched_when_they_are_wanted_and_kept(monkeypatch):
    clock = by_hand(monkeypatch)
    with AuthorizationServer() as issuing:
        auth = ResourceServer(RESOURCE, [issuing.issuer], tokens())
        guard = DocumentClient(auth)
        assert issuing.seen() == []
        for _ in range(3):
            found = guard.get("/.well-known/oauth-authorization-server").message
            assert found["token_endpoint"] == issuing.issuer + "/token" and found["issuer"] == "https://mcp.example.com"
        assert guard.get("/token", "POST").headers.get("Location") == issuing.issuer + "/token"
        assert len(issuing.seen()) == 1
        del issuing.metadata["registration_endpoint"]
        clock.now += KEPT
        assert guard.get("/register", "POST").status == 404 and len(issuing.seen()) == 2
    clock.now += KEPT
    assert guard.get("/token", "POST").status == 307  # what was known stays good
    assert guard.get("/authorize").status == 302


def test_metadata_that_cannot_be_had(caplog, monkeypatch):
    clock = by_hand(monkeypatch)
    with AuthorizationServer() as issuing:
        issuing.metadata["issuer"] = "https://evil.example.com"
        guard = DocumentClient(ResourceServer(RESOURCE, [issuing.issuer], tokens()))
        for path in ("/.well-known/oauth-authorization-server", "/authorize"):
            refused = guard.get(path)
            assert refused.status == 503 and refused.headers.get("Retry-After")
        asked = len(issuing.seen())
        assert guard.get("/authorize").status == 503 and len(issuing.seen()) == asked  # not for each request
        assert "metadata of the authorization server" in caplog.text
        issuing.metadata["issuer"] = issuing.issuer
        clock.now += RETRIED
        assert guard.get("/authorize").status == 302
        assert guard.get(DOCUMENT).status == 200


def test_few_requests_wait_for_metadata():
    with AuthorizationServer() as issuing:
        gate = issuing.gate()
        issuing.answers["/.well-known/oauth-authorization-server"] = lambda asked: gate.passing()
        guard = DocumentClient(ResourceServer(RESOURCE, [issuing.issuer], tokens()))
        waiting = [in_thread(guard.get, "/authorize") for _ in range(4)]
        issuing.wait_for("/.well-known/oauth-authorization-server")
        eventually(lambda: guard.metadata._waiting == 3)
        assert guard.get("/authorize").status == 503
        assert guard.get(DOCUMENT).status == 200
        gate.open()
        assert [outcome.get().status for outcome in waiting] == [302] * 4
        assert len(issuing.seen()) == 1


class DocumentClient:
    """Asks for the pages of a guard."""

    def __init__(self, auth):
        self.auth = auth
        self.metadata = auth._pages._metadata

    def get(self, path, method="GET", **options):
        asked = exchange(method, path=path, **options)
        assert self.auth.answers(asked)
        return asked


def test_pages_answer_browsers_and_no_other_methods():
    guard = DocumentClient(made())
    preflight = guard.get(DOCUMENT, "OPTIONS", headers={"Access-Control-Request-Headers": "mcp-protocol-version, x"})
    assert preflight.status == 204 and preflight.headers.get("Access-Control-Allow-Origin") == "*"
    assert preflight.headers.get("Access-Control-Allow-Headers") == "mcp-protocol-version"
    assert preflight.headers.get("Allow") == "GET, HEAD, OPTIONS"
    for path, method in ((DOCUMENT, "POST"), ("/authorize", "POST"), ("/token", "GET"), ("/register", "DELETE")):
        assert guard.get(path, method).status == 405
    below = exchange("GET", path="/mcp")
    below.request = below.request._replace(path=DOCUMENT[len("/.well-known"):], root="/.well-known")
    assert guard.auth.answers(below) and below.status == 200
    odd = exchange("GET", path="/authorize")
    odd.request = odd.request._replace(query="a=b\r\nSet-Cookie: x")
    assert guard.auth.answers(odd) and odd.status == 400


def test_the_endpoint_wins_where_it_has_the_path_of_a_page():
    auth = ResourceServer("https://mcp.example.com/token", [ISSUER], tokens(), server_metadata=METADATA)
    assert not auth.answers(exchange("POST", path="/token"))
    assert auth.answers(exchange("GET", path=DOCUMENT + "/token"))


# -- What cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, options, why", [
    (("http://mcp.example.com/mcp", [ISSUER]), {}, "is not https"),
    (("mcp.example.com", [ISSUER]), {}, "no https URL"), ((RESOURCE, ["ftp://x"]), {}, "authorization server"),
    ((RESOURCE + "#x", [ISSUER]), {}, "fragment"), (("https://u:p@mcp.example.com", [ISSUER]), {}, "user or password"),
    ((RESOURCE, []), {}, "at least one"), ((RESOURCE, [ISSUER]), {"scopes": 'a"b'}, "no scope"),
    ((RESOURCE, [ISSUER]), {"scopes": "a  b"}, "no scope"), ((RESOURCE, [ISSUER]), {"scopes": [1]}, "no scope"),
    ((RESOURCE, [ISSUER]), {"needs": {"tool/call": "x"}}, "no method tool/call"),
    ((RESOURCE, [ISSUER]), {"needs": {"tools/list:x": "x"}}, "names can follow"),
    ((RESOURCE, [ISSUER]), {"needs": {"tools/call:": "x"}}, "names can follow"),
    ((RESOURCE, [ISSUER]), {"realm": "a\nb"}, "printable"),
    ((RESOURCE, [ISSUER]), {"server_metadata": {"issuer": ISSUER}}, "token_endpoint")])
def test_what_an_author_is_told(arguments, options, why):
    with pytest.raises(ValueError, match=why):
        ResourceServer(*arguments, tokens(), **options)


def test_one_way_to_know_clients(caplog):
    server = Server("x", auth=made())
    for options in ({"token": "a", "authenticate": len}, {"token": "a", "auth": made()},
                    {"authenticate": len, "auth": made()}):
        with pytest.raises(ValueError, match="one of auth, token and authenticate"):
            HttpListener(server, "http://127.0.0.1:0/mcp", **options)
    guards = {"given": made(), "of the server": None}
    for auth in guards.values():
        listener = HttpListener(server, "http://127.0.0.1:0/mcp", auth=auth)
        assert listener.endpoint.guard is (auth or server.auth)
    assert isinstance(HttpListener(server, "http://127.0.0.1:0/mcp", token="a").endpoint.guard, OneToken)


def test_a_protected_server_is_not_served_where_nobody_can_show_a_token(caplog, tmp_path):
    """[2026-07-28 basic/authorization/index §Protocol Requirements] No caller gets in by another door."""
    server = Server("x", auth=made())
    for address in ("tcp://127.0.0.1:0", "tcp://0.0.0.0:0", "tcp://[::1]:0"):
        with pytest.raises(ValueError, match="this server has auth, and on tcp://.* nobody could show a token"):
            server.listen(address)
    assert "auth is for HTTP" not in caplog.text
    if hasattr(socket, "AF_UNIX"):
        with server.listen("unix://%s/s" % tmp_path):
            assert "auth is for HTTP" in caplog.text and os.stat(str(tmp_path / "s")).st_mode & 0o077 == 0
    with Server("x").listen("tcp://127.0.0.1:0") as listener:
        assert listener.address


def test_the_name_in_the_url_is_allowed_as_a_host():
    with Door(STATELESS) as door:
        for host, status in (("mcp.example.com", 200), ("mcp.example.com:443", 200), ("localhost", 200),
                             ("other.example.com", 403)):
            assert door.knock("good", {"Host": host}).status == status
    with Door(STATELESS, endpoint={"allowed_hosts": ["other.example.com"]}) as door:
        assert door.knock("good", {"Host": "mcp.example.com"}).status == 403
    with Door(STATELESS, "http://[::1]:8000/mcp") as door:
        assert door.auth.hosts == ("[::1]",) and door.get(DOCUMENT + "/mcp").status == 200


# -- Parts -------------------------------------------------------------------------------------


def test_access_tokens_and_principals_show_what_they_may():
    token = access(claims={"email": "ada@example.com", "cnf": {"jkt": "abc"}})
    assert "ada@example.com" not in repr(token) and "subject='ada'" in repr(token) and token.thumbprint == "abc"
    assert AccessToken(claims={"cnf": "x"}).thumbprint is None is AccessToken().thumbprint
    assert token == access(claims=dict(token.claims)) != access()
    principal = Principal.of(token, "secret-x")
    assert principal == Principal.of(access(scopes=[], expires_at=None), "another")
    assert isinstance(principal, str) and json.loads(json.dumps(principal)) == principal
    assert (principal.subject, principal.client_id, principal.issuer, principal.scopes, principal.expires_at,
            principal.claims) == ("ada", "app", ISSUER, ["read"], NOW + 60, token.claims)
    names = [Principal.of(access(**members), "t") for members in (
        {}, {"subject": "a"}, {"subject": None}, {"client_id": None}, {"issuer": "https://x"},
        {"subject": 'ada","app'}, {"subject": None, "client_id": None})]
    assert len(set(names)) == len(names)
    nobody = AccessToken()
    assert Principal.of(nobody, "one") != Principal.of(nobody, "two") and "one" not in Principal.of(nobody, "one")


@pytest.mark.parametrize("messages, needed", [
    ([], ["a"]), ([("ping", None)], ["a"]), ([("tools/call", {"name": "x"})], ["a", "c", "x1", "x2"]),
    ([("tools/call", {"name": "y"})], ["a", "c"]), ([("tools/call", {"name": ["x"]})], ["a", "c"]),
    ([("tools/call", None)], ["a", "c"]), ([("prompts/get", {"name": "x"})], ["a"]),
    ([("resources/read", {"uri": "file:///a:b"})], ["a", "r"]), ([("resources/subscribe", {"uri": "u"})], ["a", "s"]),
    ([("ping", {}), ("resources/read", {"uri": "file:///a:b"}), ("tools/call", {"name": "x"})],
     ["a", "r", "c", "x1", "x2"])])
def test_what_messages_need(messages, needed):
    needs = ScopePolicy("a", {"tools/call": "c", "tools/call:x": ["x1", "x2", "a"], "resources/read:file:///a:b": "r",
                        "resources/subscribe:u": "s"})
    assert needs.scopes_for(messages) == needed


def test_scope_lists():
    assert checked_scopes(None) == checked_scopes([]) == []
    assert checked_scopes("b a b offline_access") == ["b", "a"] == checked_scopes(iter(["b", "a", "offline_access"]))


def test_guards():
    assert guard_of(None) is None and isinstance(guard_of(len), CallableGuard)
    guard = Guard()
    assert guard_of(guard) is guard and guard.admit(HttpRequest("GET", "/", Headers())) is None
    assert guard.allows(None, None) is None and not guard.answers(exchange("GET"))


@pytest.mark.parametrize("field, status", [
    ("Bearer \nt0ken", 400), ("Bearer t0ken\r", 400), ("Bearer \xa0t0ken", 400), ("\x85Bearer t0ken", 401),
    ("Bearer\xa0t0ken", 401), (" bearer  t0ken\t", None)])
def test_only_blanks_stand_around_a_token(field, status):
    known = {"t0ken": access(expires_at=None)}
    guard = ResourceServer("https://mcp.example.com/mcp", "https://auth.example.com", known.get)
    asked = HttpRequest("POST", "/mcp", Headers([("Authorization", field)]))
    if status is None:
        assert guard.admit(asked).subject == "ada"
    else:
        with pytest.raises(AccessDenied) as raised:
            guard.admit(asked)
        assert raised.value.status == status


MISTYPED = {"subject": 1, "client_id": ["x"], "issuer": {}, "audience": "https://mcp.example.com/mcp", "scopes": "read",
            "expires_at": "1e9", "claims": None}


@pytest.mark.parametrize("name, value", [
    *MISTYPED.items(), ("audience", [["x"]]), ("scopes", [1]), ("expires_at", True)])
def test_a_verifier_that_passes_on_claims_of_the_wrong_type_is_at_fault(name, value):
    found = access(**{name: value})
    guard = ResourceServer("https://mcp.example.com/mcp", "https://auth.example.com", lambda token: found)
    with pytest.raises(McpError, match="AccessToken whose %s is not of its type" % name):
        guard.admit(HttpRequest("POST", "/mcp", Headers([("Authorization", "Bearer t0ken")])))
    assert access(scopes=("read",), audience={"x"}, expires_at=None, subject=None).misfit is None


def test_limits_of_the_server_bound_a_token():
    with Door(STATELESS, limits=Limits(max_token_bytes=10)) as door:
        door.tokens["x" * 11] = door.tokens["x" * 10] = access()
        assert [door.knock("x" * length).status for length in (10, 11)] == [200, 400]
    assert issubclass(Unauthorized, McpError)


@every_revision
def test_signed_tokens(revision):
    signer = HmacSigner(b"x" * 32)
    verify = JwtVerifier(ISSUER, keys=b"x" * 32, algorithms=["HS256"], now=lambda: NOW)
    claims = {"iss": ISSUER, "sub": "ada", "client_id": "app", "aud": RESOURCE, "scope": "read list", "exp": NOW + 60}
    rows = [({}, 200), ({"aud": ["x", RESOURCE]}, 200), ({"aud": "https://other.example.com/mcp"}, 401),
            ({"exp": NOW}, 401), ({"iss": "https://evil.example.com"}, 401), ({"scope": "list"}, 403)]
    with Door(revision, verify=verify, scopes="read") as door:
        for changes, status in rows:
            assert door.knock(make_jwt(signer, dict(claims, **changes))).status == status
        assert door.knock(make_jwt(HmacSigner(b"y" * 32), claims)).status == 401
        token = make_jwt(signer, claims)
        assert said(door.call("who", token, opener=token).message) == "ada may read list"
