"""Authorization, the server's side: what a protected server publishes, and whom it lets in with which token.

On every revision that states a rule, by the first request of its clients and by those of a session; no sockets (those
are in tests/auth/test_resource_server.py).
"""
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_ref import Context
from mcp_ref.auth import ResourceServer
from tests.support.http_exchange import exchange, request
from tests.support.http_modern import enveloped
from tests.support.protected import DOCUMENT, ISSUER, METADATA, NOW, REFUSED, RESOURCE, Door, access
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of
from tests.support.scripted import ScriptedPeer
from tests.support.sides import said

EVERY = HANDSHAKE[1:] + (STATELESS,)
"""The revisions that have authorization."""


def over(*ids):
    return pytest.mark.parametrize("revision", every_revision_of(*ids))


def path_of(url):
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc) == ("https", "mcp.example.com")
    return parts.path


# -- What is published -------------------------------------------------------------------------


@pytest.mark.spec("auth.prm-server", "auth.prm-via-well-known")
@over("auth.prm-server", "auth.prm-via-well-known")
def test_the_document_of_the_resource_is_at_both_places_for_everybody(revision):
    """[2025-06-18 basic/authorization §Overview]
    [2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
    [2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
    MUST"""
    with Door(revision, scopes="read", resource_name="Files", documentation="https://docs.example.com") as door:
        for path in (DOCUMENT + "/mcp", DOCUMENT):
            reply = door.get(path, headers={"Host": "anything.example", "MCP-Protocol-Version": revision})
            assert reply.status == 200 and reply.message == {
                "resource": RESOURCE, "authorization_servers": [ISSUER], "scopes_supported": ["read"],
                "bearer_methods_supported": ["header"], "resource_name": "Files",
                "resource_documentation": "https://docs.example.com"}
            assert door.get(path, "HEAD").status == 200
        assert [door.get(path).status for path in (DOCUMENT + "/other", DOCUMENT + "/mcp/")] == [404, 404]


@pytest.mark.spec("auth.prm-authorization-servers")
@over("auth.prm-authorization-servers")
def test_the_document_names_an_authorization_server(revision):
    """[2025-06-18..2025-11-25 basic/authorization §Authorization Server Location]
    [2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Location] MUST"""
    issuers = ["https://one.example.com", "https://two.example.com/tenant"]
    with Door(revision, issuers=issuers) as door:
        assert door.get(DOCUMENT).message["authorization_servers"] == issuers
    with pytest.raises(ValueError, match="at least one authorization server"):
        ResourceServer(RESOURCE, [], {}.get)


@pytest.mark.spec("auth.www-authenticate-401", "auth.prm-via-header")
@over("auth.www-authenticate-401", "auth.prm-via-header")
@pytest.mark.parametrize("resource", [RESOURCE, "https://mcp.example.com", "https://mcp.example.com/a/b"])
def test_a_refusal_says_where_the_document_is(revision, resource):
    """[2025-06-18 basic/authorization §Authorization Server Location]
    [2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
    [2026-07-28 basic/authorization/authorization-server-discovery §Protected Resource Metadata Discovery Requirements]
    MUST"""
    with Door(revision, resource) as door:
        for token in (None, "unknown"):
            refused = door.knock(token)
            assert refused.status == 401
            url = door.challenge(refused)["resource_metadata"]
            assert door.get(path_of(url)).message["resource"] == resource


@pytest.mark.spec("auth.scope-in-challenge")
@over("auth.scope-in-challenge")
def test_a_refusal_says_which_scopes_everything_needs(revision):
    """[2025-11-25 basic/authorization §Protected Resource Metadata Discovery Requirements]
    [2026-07-28 basic/authorization/index §Scope Selection Strategy] SHOULD"""
    with Door(revision, scopes=["read", "list"]) as door:
        for token in (None, "expired"):
            assert door.challenge(door.knock(token))["scope"] == "read list"
    with Door(revision) as door:
        assert "scope" not in door.challenge(door.knock(None))


@pytest.mark.spec("auth.no-offline-access")
@pytest.mark.parametrize("revision", EVERY)
def test_nobody_is_told_to_ask_for_offline_access(revision):
    """[2026-07-28 basic/authorization/index §Refresh Tokens] SHOULD NOT"""
    options = {"scopes": "read offline_access", "needs": {"tools/call": ["offline_access", "write"]}}
    with Door(revision, scopes_supported=["offline_access", "read", "write"], **options) as door:
        assert door.get(DOCUMENT).message["scopes_supported"] == ["read", "write"]
        assert door.challenge(door.knock(None))["scope"] == "read"
        assert door.challenge(door.call("who", "good"))["scope"] == "read write"
    with Door(revision, needs=lambda method, params: ["offline_access"]) as door:
        assert door.call("who", "good").status == 200


# -- 2025-03-26: the server is where clients look for the authorization server -------------------


@pytest.mark.spec("auth.as-metadata-server", "auth.base-url-metadata")
@over("auth.as-metadata-server", "auth.base-url-metadata")
def test_metadata_of_the_authorization_server_are_at_the_origin(revision):
    """[2025-03-26 basic/authorization §Authorization Base URL] MUST,
    [2025-03-26 basic/authorization §Server Metadata Discovery] SHOULD"""
    with Door(revision, "https://api.example.com/v1/mcp", endpoint={"path": "/v1/mcp"}) as door:
        found = door.get("/.well-known/oauth-authorization-server", headers={"MCP-Protocol-Version": revision}).message
        for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint"):
            assert found[name] == METADATA[name]
        assert found["issuer"] == "https://api.example.com"  # RFC 8414 §3.3: that of whom was asked
        assert "authorization_response_iss_parameter_supported" not in found
        for path in ("/v1/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/v1/mcp"):
            assert door.get(path).status == 404
    with Door(revision, publish_server_metadata=False) as door:
        assert door.get("/.well-known/oauth-authorization-server").status == 404


@pytest.mark.spec("auth.fallback-server")
@over("auth.fallback-server")
@pytest.mark.parametrize("path, method, status, endpoint", [
    ("/authorize", "GET", 302, ISSUER + "/login?tenant=a&"), ("/token", "POST", 307, ISSUER + "/issue?"),
    ("/register", "POST", 307, ISSUER + "/clients?")])
def test_the_default_endpoints_lead_to_those_of_the_authorization_server(revision, path, method, status, endpoint):
    """[2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST"""
    query = "response_type=code&state=x%20y"
    with Door(revision) as door:
        reply = door.get(path, method, {"MCP-Protocol-Version": revision}, query)
        assert reply.status == status and reply.headers.get("Location") == endpoint + query
        assert parse_qs(urlsplit(endpoint + query).query)["state"] == ["x y"]
        assert door.get(path, method).headers.get("Location") == endpoint[:-1]
        assert door.get(path, "PUT").status == 405
        assert door.get("/v1" + path, method).status == 404


# -- Who is let in -----------------------------------------------------------------------------


@pytest.mark.spec("auth.unauthorized-401", "auth.status-401")
@over("auth.unauthorized-401", "auth.status-401")
@pytest.mark.parametrize("shown", [None, "Basic YWRhOng=", "good", "DPoP good", ""])
def test_who_shows_no_token_is_not_let_in_and_not_accused_of_a_bad_one(revision, shown):
    """[2025-03-26 basic/authorization §Example: authorization code grant] MUST"""
    with Door(revision) as door:
        refused = door.knock(None, {"Authorization": shown})
        assert refused.status == 401 and "error" not in door.challenge(refused)
        assert door.tokens.asked == [] and door.endpoint.counters.snapshot() == {"refused: principal": 1}


@pytest.mark.spec("auth.no-other-tokens",
                  "auth.validate-tokens", "auth.invalid-token-401", "auth.validation-failure-response",
                  "auth.status-401")
@over("auth.validate-tokens", "auth.invalid-token-401", "auth.validation-failure-response")
@pytest.mark.parametrize("token", REFUSED)
def test_a_token_that_is_not_good_is_refused_on_every_request(revision, token):
    """[2025-03-26..2025-11-25 basic/authorization §Token Handling]
    [2026-07-28 basic/authorization/index §Token Handling] MUST"""
    with Door(revision) as door:
        replies = [door.knock(token), door.call("who", token)]
        if revision != STATELESS:
            session = door.session("good")
            replies += [door.send(exchange(method, door.fields(token, session))) for method in ("GET", "DELETE")]
        for refused in replies:
            assert refused.status == 401 and door.challenge(refused)["error"] == "invalid_token"
            assert token not in repr(refused.message["error"]) + repr(door.challenge(refused)) or token == "expired"
        assert door.server.ran == []
        assert said(door.call("who", "good").message) == "ada may read"


@pytest.mark.spec("auth.validate-tokens", "auth.invalid-token-401")
@over("auth.validate-tokens")
def test_a_token_that_expires_is_of_no_use_from_then_on(revision):
    """[2025-03-26..2025-11-25 basic/authorization §Token Handling]
    [2026-07-28 basic/authorization/index §Token Handling] MUST"""
    clock = [NOW]
    with Door(revision, now=lambda: clock[0]) as door:
        for moment, status in ((NOW, 200), (NOW + 59.9, 200), (NOW + 60, 401), (NOW + 1000, 401)):
            clock[0] = moment
            assert door.call("who", "good").status == status


@pytest.mark.spec("auth.audience", "auth.audience-rejected", "auth.only-own-tokens", "auth.no-other-tokens")
@over("auth.audience", "auth.audience-rejected", "auth.only-own-tokens", "auth.no-other-tokens")
@pytest.mark.parametrize("audience, status", [
    ([RESOURCE], 200), (["https://other.example.com/mcp", RESOURCE], 200), ([], 401), ([RESOURCE + "/more"], 401),
    (["https://mcp.example.com"], 401), (["http://mcp.example.com/mcp"], 401),
    (["https://mcp.example.com:8443/mcp"], 401), ([RESOURCE + "?tenant=b"], 401), ([RESOURCE + "#x"], 401),
    (["app"], 401), (["mcp.example.com/mcp"], 401),
    (["https://mcp.example.com@evil.example/mcp"], 401), (["https://mcp.example.com.evil.example/mcp"], 401)])
def test_only_tokens_made_for_this_server_are_taken(revision, audience, status):
    """[2025-06-18..2025-11-25 basic/authorization §Token Handling]
    [2026-07-28 basic/authorization/index §Token Handling] MUST"""
    with Door(revision) as door:
        door.tokens["token"] = access(audience=audience)
        assert door.knock("token").status == status


@pytest.mark.spec("auth.resource-case-robust")
@over("auth.resource-case-robust")
def test_scheme_and_host_are_taken_in_any_case(revision):
    """[2025-06-18..2025-11-25 basic/authorization §Canonical Server URI]
    [2026-07-28 basic/authorization/index §Canonical Server URI] SHOULD"""
    with Door(revision, "HTTPS://MCP.Example.COM/mcp") as door:
        assert door.get(DOCUMENT + "/mcp").message["resource"] == RESOURCE
        for spelled, status in ((RESOURCE, 200), ("HTTPS://MCP.EXAMPLE.COM/mcp", 200),
                                ("https://mcp.example.com:443/mcp", 200), ("https://mcp.example.com/MCP", 401)):
            door.tokens["token"] = access(audience=[spelled])
            assert door.knock("token").status == status


@pytest.mark.spec("auth.audience-before-processing")
@over("auth.audience-before-processing")
def test_nothing_is_done_or_told_before_the_token_is_known_to_be_good(revision):
    """[2025-06-18..2025-11-25 basic/authorization §Access Token Privilege Restriction]
    [2026-07-28 basic/authorization/security-considerations §Access Token Privilege Restriction] MUST"""
    with Door(revision) as door:
        door.call("who", "good")
        ran, known = list(door.server.ran), len(door.sessions)
        bodies = [b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1}', request(1, "no/such/method")]
        replies = [door.call("delete", "elsewhere"), door.call("no such tool", "elsewhere")]
        for session in (None, "unknown", *door.sessions.values()):
            fields = {**door.fields("elsewhere", session or None), "MCP-Protocol-Version": revision}
            replies += [door.send(exchange("POST", fields, body)) for body in bodies]
        assert {reply.status for reply in replies} == {401}  # whatever it is, and whether or not there is such a thing
        assert len({reply.raw for reply in replies}) == 1
        assert door.server.ran == ran and len(door.sessions) == known


@pytest.mark.spec("auth.no-other-tokens")
@over("auth.no-other-tokens")
def test_no_handler_gets_the_token_to_pass_it_on(revision):
    """[2025-06-18..2025-11-25 basic/authorization §Token Handling]
    [2026-07-28 basic/authorization/index §Token Handling] MUST NOT"""
    secret, seen = "s3cret-token", []

    def look(ctx):
        values = [getattr(ctx, name) for name in dir(ctx) if not name.startswith("_")]
        values += [getattr(ctx.principal, name) for name in dir(ctx.principal) if not name.startswith("__")]
        values += [vars(ctx.principal), vars(ctx.principal.access), ctx.request.params, ctx.session.__dict__]
        seen.append(repr([value for value in values if not callable(value)]))

    with Door(revision) as door:
        door.tokens[secret] = access(claims={"sub": "ada"})

        @door.server.tool
        def spy(ctx: Context) -> str:
            """Look around."""
            look(ctx)
            return ctx.principal

        answer = door.call("spy", secret)
        assert said(answer.message) == '["%s","ada","app"]' % ISSUER
        assert "ada" in seen[0] and secret not in seen[0] + repr(answer.raw)


# -- What is malformed -------------------------------------------------------------------------


@pytest.mark.spec("auth.status-400", "auth.validation-failure-response")
@over("auth.status-400", "auth.validation-failure-response")
@pytest.mark.parametrize("headers, query, more", [
    ({"Authorization": "Bearer"}, "", ()), ({"Authorization": "Bearer  "}, "", ()),
    ({"Authorization": "Bearer good good"}, "", ()), ({"Authorization": "Bearer good, Bearer good"}, "", ()),
    ({"Authorization": "Bearer g\u00f6od"}, "", ()), ({"Authorization": "Bearer " + "x" * 50_000}, "", ()),
    ({"Authorization": "Bearer good"}, "", (("Authorization", "Bearer good"),)),
    ({"Authorization": "Bearer good"}, "access_token=good", ()), ({}, "access_token=good", ()),
    ({}, "a=b&access_token", ())])
def test_authorization_that_cannot_be_read_is_a_bad_request(revision, headers, query, more):
    """[2025-03-26..2025-11-25 basic/authorization §Error Handling]
    [2026-07-28 basic/authorization/index §Error Handling] MUST; [RFC 6750 §3.1]"""
    with Door(revision) as door:
        refused = door.knock(None, headers, query, more)
        assert refused.status == 400 and door.challenge(refused)["error"] == "invalid_request"
        assert door.tokens.asked == [] and "good" not in repr(refused.message)


# -- Scopes ------------------------------------------------------------------------------------

NEEDS = {"tools/call:delete": ["files:delete", "write"], "tools/call": "call"}


@pytest.mark.spec("auth.insufficient-scope-403", "auth.insufficient-scope-error", "auth.insufficient-scope-scope",
                  "auth.insufficient-scope-resource-metadata", "auth.insufficient-scope-description",
                  "auth.scope-for-operation", "auth.scope-single-challenge", "auth.status-403")
@over("auth.insufficient-scope-403", "auth.status-403")
def test_a_token_that_does_not_allow_enough(revision):
    """[2025-11-25 basic/authorization §Runtime Insufficient Scope Errors]
    [2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD"""
    with Door(revision, scopes="read", needs=NEEDS) as door:
        rows = [("narrow", "who", "read call"), ("good", "who", "read call"),
                ("good", "delete", "read call files:delete write")]
        for token, tool, scopes in rows:
            refused = door.call(tool, token)
            assert refused.status == 403 and refused.message["id"] is not None
            challenge = door.challenge(refused)
            assert (challenge["error"], challenge["scope"]) == ("insufficient_scope", scopes)
            assert challenge["error_description"] == "this needs the scopes " + scopes
            assert door.get(path_of(challenge["resource_metadata"])).status == 200
        assert door.server.ran == []
        door.tokens["enough"] = access(scopes="write call read files:delete more".split())
        assert door.call("delete", "enough").status == 200  # in the same session: it is the same person
        assert door.ask("tools/list", {}, "good").status == 200


@pytest.mark.spec("auth.insufficient-scope-403", "auth.status-403")
@over("auth.insufficient-scope-403", "auth.status-403")
def test_what_everything_needs_is_needed_for_everything(revision):
    """[2025-11-25 basic/authorization §Runtime Insufficient Scope Errors]
    [2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD"""
    with Door(revision, scopes="read", needs={"ping": "more"}) as door:
        replies = [door.knock("narrow"), door.ask("tools/list", {}, "narrow")]
        fields = door.fields("narrow", None if revision == STATELESS else door.session("good"))
        bodies = [b"{", {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
                  {"jsonrpc": "2.0", "id": 7, "result": {}}]
        replies += [door.send(exchange("POST", fields, body)) for body in bodies]
        if revision != STATELESS:
            replies += [door.send(exchange(method, fields)) for method in ("GET", "DELETE")]
        for refused in replies:
            assert refused.status == 403 and door.challenge(refused)["scope"] == "read"
        if revision == "2025-03-26":
            batch = [request(1, "tools/list"), request(2, "ping")]
            refused = door.send(exchange("POST", door.fields("good", door.session("good")), batch))
            assert refused.status == 403 and door.challenge(refused)["scope"] == "read more"


@pytest.mark.spec("auth.scope-single-challenge", "auth.scope-for-operation")
@pytest.mark.parametrize("revision", EVERY)
def test_what_a_request_needs_may_depend_on_all_of_it_and_is_told_at_once(revision):
    """[2026-07-28 basic/authorization/index §Runtime Insufficient Scope Errors] SHOULD"""
    def needs(method, params):
        if method == "tools/call":
            return ["files:%s" % params["arguments"].get("name", "any"), "call"]
        return None

    with Door(revision, scopes="read", needs=needs) as door:
        assert door.challenge(door.call("delete", "narrow", name="x"))["scope"] == "read files:x call"
        door.tokens["y"] = access(scopes=["read", "call", "files:y"])
        assert [door.call("delete", "y", name=name).status for name in ("x", "y")] == [403, 200]


@pytest.mark.spec("auth.scope-hierarchy")
@pytest.mark.parametrize("revision", EVERY)
def test_a_broad_scope_stands_for_narrow_ones(revision):
    """[2026-07-28 basic/authorization/index §Step-Up Authorization Flow] MUST"""
    def implies(scopes):
        return {"read", "call", "write", "files:delete"} if "admin" in scopes else {"read"} if "write" in scopes else ()

    with Door(revision, scopes="read", needs=NEEDS, implies=implies) as door:
        door.tokens["admin"] = access(scopes=["admin"])
        door.tokens["writer"] = access(scopes=["write", "call"])
        for token, tool, status in (("admin", "who", 200), ("admin", "delete", 200), ("writer", "who", 200),
                                    ("writer", "delete", 403), ("good", "who", 403)):
            assert door.call(tool, token).status == status
        assert said(door.call("who", "writer").message) == "ada may write call"  # what is implied is not granted


# -- Whose sessions and states they are --------------------------------------------------------


@pytest.mark.spec("auth.validate-tokens")
@over("auth.validate-tokens")
def test_a_session_belongs_to_who_began_it_and_outlives_the_token(revision):
    """[2025-03-26..2025-11-25 basic/transports §Session Management],
    [2025-03-26..2025-11-25 basic/authorization §Token Handling]
    [2026-07-28 basic/authorization/index §Token Handling] MUST"""
    with Door(revision) as door:
        door.tokens["fresh"] = access(scopes=["read", "more"], claims={"jti": "2"})
        assert said(door.call("who", "good").message) == "ada may read"
        assert said(door.call("who", "fresh").message) == "ada may read more"  # of this token, not of the first
        assert said(door.call("who", "good").message) == "ada may read"
        for different in (access(subject="bob"), access(client_id="other app"), access(subject=None, client_id=None)):
            door.tokens["different"] = different
            assert door.call("who", "different").status == (200 if revision == STATELESS else 404)


@pytest.mark.spec("auth.stdio-should-not")
@pytest.mark.parametrize("revision", EVERY)
def test_over_stdio_nobody_shows_a_token(revision):
    """[2025-03-26..2025-11-25 basic/authorization §Protocol Requirements]
    [2026-07-28 basic/authorization/index §Protocol Requirements] SHOULD NOT"""
    with Door(revision) as door, ScriptedPeer.of_server(door.server) as peer:
        if revision != STATELESS:
            peer.handshake(revision)
        tools = peer.call(1, "tools/list", enveloped() if revision == STATELESS else None)["result"]["tools"]
        assert sorted(tool["name"] for tool in tools) == ["delete", "who"] and door.tokens.asked == []
