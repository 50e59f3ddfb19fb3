"""basic/authorization, how a client finds out who issues tokens for a server, and what it publishes about itself.

Pages: basic/authorization §Authorization Server Discovery (2025-03-26: §Server Metadata Discovery); from 2026-07-28 on
basic/authorization/authorization-server-discovery, and basic/authorization/client-registration for the client's own
document.
"""
from typing import Any, Dict, List, Optional, Sequence

import pytest

from mcp_ref import connect
from mcp_ref.auth import OAuth, client_metadata
from mcp_ref.auth.client.registration import check_client_metadata
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch
from tests.support.auth_server import (
    OAUTH_DOCUMENT, OPENID_DOCUMENT, OUT, RESOURCE_DOCUMENT, AuthorizationServer, ProtectedServer, browser,
)
from tests.support.authorized import BOUNDED
from tests.support.scripted_web import Asked, Reply, redirect, reply_html, reply_json
from tests.support.serving import over

STATELESS = "2026-07-28"
FLOW = ["/register", "/authorize", "/token"]


def use(protected: ProtectedServer, revision: str, **options: Any) -> None:
    """A client of ours speaks with this server, with a token."""
    auth = OAuth(authorize=browser, **options)
    with connect(protected.url, auth=auth, revisions=[revision], limits=BOUNDED) as client:
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"


def refused(protected: ProtectedServer, revision: str) -> AuthError:
    """A client of ours gets no token for this server: why."""
    with pytest.raises(AuthError) as caught:
        use(protected, revision)
    assert all(value is None for value in protected.bearers())
    return caught.value


def paths(requests: Sequence[Asked], method: str = "GET") -> List[str]:
    """What was asked for by this method, but for the MCP endpoint and the authorization itself."""
    return [one.path for one in requests if one.method == method and "mcp" != one.path[1:] and one.path not in FLOW]


def answering(value: Optional[str]) -> Any:
    """An endpoint whose challenge is ``value``; None: it has none."""
    fields = [] if value is None else [("WWW-Authenticate", value)]
    return lambda one: None if "authorization" in one.headers else reply_json({}, 401, fields)


# --- what the server publishes about itself ---------------------------------------------------------------------------

@pytest.mark.spec("auth.prm-client", "auth.prm-both-mechanisms", "auth.parse-www-authenticate")
@pytest.mark.parametrize("where", ["path", "root", "/custom/document.json"])
@over("auth.prm-client")
def test_the_document_is_where_the_challenge_says(revision: str, where: str) -> None:
    with AuthorizationServer() as issuing, ProtectedServer(issuing, document_at=where) as protected:
        protected.document["resource"] = protected.origin  # what is published counts, not what is asked
        use(protected, revision)
        assert paths(protected.seen()) == [protected.document_path]
        assert issuing.seen("/authorize")[0].query["resource"] == protected.origin


@pytest.mark.spec("auth.parse-www-authenticate")
@pytest.mark.parametrize("challenge", [
    'Basic realm="a, b", Bearer resource_metadata="{url}", DPoP algs="ES256"',
    'bearer  Resource_Metadata = "{url}" , scope="read"',
    'Negotiate YWJj==, Bearer realm="x \\", resource_metadata=\\"http://wrong\\"", resource_metadata="{url}"',
    'Bearer realm=My Site, resource_metadata="{url}"',
    'Bearer error="invalid_request", error_description="none, here", resource_metadata={url}',
])
@over("auth.parse-www-authenticate")
def test_a_challenge_may_be_written_in_any_way(revision: str, challenge: str) -> None:
    """[RFC 9110 §11.6.1] has many."""
    with AuthorizationServer() as issuing, ProtectedServer(issuing, document_at="/custom") as protected:
        protected.answers["/mcp"] = answering(challenge.format(url=protected.origin + "/custom"))
        use(protected, revision)
        assert paths(protected.seen()) == ["/custom"]


@pytest.mark.spec("auth.prm-well-known-order", "auth.prm-both-mechanisms")
@pytest.mark.parametrize("challenge", [None, "Bearer", 'Bearer scope="read"', 'Basic resource_metadata="http://x/"'])
@pytest.mark.parametrize("document_at, path, expected", [
    ("path", "/public/server", ["/public/server"]), ("root", "/public/server", ["/public/server", ""]),
    ("root", "/", [""]),
])
@over("auth.prm-well-known-order")
def test_otherwise_it_is_at_the_path_or_at_the_root(
        revision: str, document_at: str, path: str, expected: List[str], challenge: Optional[str]) -> None:
    with AuthorizationServer() as issuing, ProtectedServer(issuing, document_at=document_at, path=path) as protected:
        protected.answers[path] = answering(challenge)
        use(protected, revision)
        found = [where for where in paths(protected.seen()) if where != path]
        assert found == [RESOURCE_DOCUMENT + where for where in expected]


@pytest.mark.spec("auth.prm-both-mechanisms")
@over("auth.prm-both-mechanisms")
def test_a_place_that_the_challenge_names_is_the_only_one(revision: str) -> None:
    """Reading: where a challenge says so, the document is there or nowhere."""
    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        protected.answers["/mcp"] = answering('Bearer resource_metadata="%s/gone"' % protected.origin)
        error = refused(protected, revision)
        assert isinstance(error, DiscoveryFailed) and "%s/gone" % protected.origin in str(error)
        assert paths(protected.seen()) == ["/gone"] and not issuing.seen()


@pytest.mark.spec("auth.prm-client", "auth.resource-identifies-server")
@pytest.mark.parametrize("members, words", [
    ({"resource": "https://evil.example.com/mcp"}, "that of another resource: https://evil.example.com/mcp"),
    ({"resource": "{url}x"}, "that of another resource"), ({"resource": "{url}/deeper"}, "that of another resource"),
    ({"resource": OUT}, "resource: is missing"), ({"resource": 3}, "resource: expected string"),
    ({"authorization_servers": []}, "names no authorization server"),
    ({"authorization_servers": OUT}, "names no authorization server"),
    ({"authorization_servers": ["http://as.example.com"]}, "is not https"),
    ({"authorization_servers": ["file:///etc/passwd"]}, "is no https URL"),
])
@over("auth.prm-client")
def test_a_document_that_is_not_ours_or_broken_is_not_used(revision: str, members: Dict[str, Any], words: str) -> None:
    """[RFC 9728 §3.3]"""
    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        protected.document.update((name, value.format(url=protected.url) if isinstance(value, str) else value)
                                  for name, value in members.items())
        error = refused(protected, revision)
        assert isinstance(error, DiscoveryFailed) and words in str(error)
        assert len(paths(protected.seen())) == 1 and not issuing.seen()


# --- what the authorization server publishes about itself -------------------------------------------------------------

OAUTH, OPENID = OAUTH_DOCUMENT, OPENID_DOCUMENT
LOOKED_AT = {
    "": {"oauth": [OAUTH], "openid": [OAUTH, OPENID], None: [OAUTH, OPENID]},
    "/tenant1": {"oauth": [OAUTH + "/tenant1"], "openid": [OAUTH + "/tenant1", OPENID + "/tenant1"],
                 "appended": [OAUTH + "/tenant1", OPENID + "/tenant1", "/tenant1" + OPENID],
                 None: [OAUTH + "/tenant1", OPENID + "/tenant1", "/tenant1" + OPENID]},
    "/a/b": {"appended": [OAUTH + "/a/b", OPENID + "/a/b", "/a/b" + OPENID]},
}
"""By the path of the issuer and the place of its document: what is asked, in order."""


@pytest.mark.spec("auth.as-discovery-multiple", "auth.as-metadata-both", "auth.as-discovery-path-oauth",
                  "auth.as-discovery-path-oidc-insert", "auth.as-discovery-path-oidc-append",
                  "auth.as-discovery-root-oauth", "auth.as-discovery-root-oidc")
@pytest.mark.parametrize("path, place", [(path, place) for path, each in LOOKED_AT.items() for place in each])
@over("auth.as-discovery-multiple")
def test_the_places_of_a_document_are_asked_in_the_order_of_the_page(
        revision: str, path: str, place: Optional[str]) -> None:
    with AuthorizationServer(path, [place] if place else []) as issuing, ProtectedServer(issuing) as protected:
        if place is not None:
            use(protected, revision)
            assert [one.path for one in issuing.seen()[-2:]] == [path + "/authorize", path + "/token"]
        else:
            error = refused(protected, revision)
            assert isinstance(error, DiscoveryFailed) and "has no metadata at: " in str(error)
        found = [one.path for one in issuing.seen() if "well-known" in one.path]
        assert found == LOOKED_AT[path][place]


@pytest.mark.spec("auth.as-discovery-multiple")
@pytest.mark.parametrize("answer", [reply_html(), reply_html(404), reply_json({"error": "not_found"}, 404),
                                    Reply(401), Reply(403), Reply(405), Reply(410)])
@over("auth.as-discovery-multiple")
def test_a_place_without_a_document_is_passed_over(revision: str, answer: Reply) -> None:
    with AuthorizationServer("", ["openid"]) as issuing, ProtectedServer(issuing) as protected:
        issuing.answers[OAUTH] = lambda one: answer
        use(protected, revision)
        assert [one.path for one in issuing.seen()][:2] == [OAUTH, OPENID]


@pytest.mark.spec("auth.as-metadata-client")
@over("auth.as-metadata-client")
def test_the_endpoints_are_those_of_the_metadata(revision: str) -> None:
    """[RFC 8414 §3]"""
    with AuthorizationServer() as issuing:
        shared = {"web": issuing.web, "document_at": None} if revision == "2025-03-26" else {}
        with ProtectedServer(issuing, **shared) as protected:  # type: ignore[arg-type]
            for name, place in (("authorization", "authorize"), ("token", "token"), ("registration", "register")):
                issuing.metadata[name + "_endpoint"] = issuing.origin + "/elsewhere/" + place
                issuing.web.serve("/elsewhere/" + place, getattr(issuing, "_" + place))
            use(protected, revision)
            asked = [one.path for one in issuing.seen()]
            assert [one for one in asked if "elsewhere" in one] == ["/elsewhere" + one for one in FLOW]
            assert not set(asked) & set(FLOW)


OTHERS = ["https://honest.example", "{issuer}/", "{origin}/other", "{ISSUER}", "http://localhost:{port}{path}",
          "{issuer}?", "{issuer}#", " {issuer}", "{issuer}%2F", "", OUT, None, 3, ["{issuer}"]]
"""Issuers that are not the one that was asked for, however little they differ."""


@pytest.mark.spec("auth.as-issuer-match", "auth.as-issuer-mismatch-rejected")
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("path, place", [("", "oauth"), ("", "openid"), ("/tenant1", "oauth"),
                                         ("/tenant1", "appended")])
def test_metadata_of_another_issuer_is_not_used(path: str, place: str, other: Any) -> None:
    """[2026-07-28 basic/authorization/authorization-server-discovery §Authorization Server Metadata Discovery] MUST"""
    with AuthorizationServer(path, [place]) as issuing, ProtectedServer(issuing) as protected:
        if isinstance(other, str):
            other = other.format(issuer=issuing.issuer, origin=issuing.origin, port=issuing.web.port, path=path,
                                 ISSUER=issuing.issuer.replace("h", "H"))
        issuing.metadata["issuer"] = other
        assert isinstance(refused(protected, STATELESS), IssuerMismatch)
        assert all("well-known" in one.path for one in issuing.seen())


@pytest.mark.spec("auth.as-issuer-match")
@pytest.mark.parametrize("path", ["", "/tenant1"])
@pytest.mark.parametrize("published, itself, same", [("", "", True), ("/", "/", True), ("/", "", False)])
def test_an_issuer_is_compared_as_the_server_published_it(path: str, published: str, itself: str, same: bool) -> None:
    with AuthorizationServer(path) as issuing, ProtectedServer(issuing) as protected:
        protected.document["authorization_servers"] = [issuing.issuer + published]
        issuing.metadata["issuer"] = issuing.iss = issuing.issuer + itself
        if same:
            use(protected, STATELESS)
        else:
            assert isinstance(refused(protected, STATELESS), IssuerMismatch)
            use(protected, STATELESS, tolerate=["issuer-slash"])


# --- documents are asked for with care --------------------------------------------------------------------------------

@pytest.mark.spec("auth.communication-security", "auth.https-endpoints")
@pytest.mark.parametrize("member", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
@pytest.mark.parametrize("url", ["http://as.example.com/x", "http://127.0.0.1.evil.example/x", "file:///etc/passwd"])
@over("auth.prm-client")
def test_no_endpoint_is_used_that_is_neither_https_nor_on_this_machine(revision: str, url: str, member: str) -> None:
    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        issuing.metadata[member] = url
        error = refused(protected, revision)
        assert isinstance(error, DiscoveryFailed) and member in str(error)
        assert [one.path for one in issuing.seen()] == [OAUTH]


@pytest.mark.parametrize("answer, words", [
    (redirect("https://other.example.com/x"), "another origin"), (redirect("file:///etc/passwd"), "no https URL"),
    (redirect("http://other.example.com/x"), "is not https"), (reply_json([]), "expected object, got array"),
    (Reply(200, [("Content-Type", "application/json")], b"{"), "is no JSON"), (reply_json({}, 500), "answered 500"),
    (Reply(200, [("Content-Type", "application/json")], b" " * (2 << 20)), "max_auth_response_bytes"),
    (Reply(503), "answered 503"), (Reply(204), "answered 204"), (Reply(302), "answered 302"),
])
@pytest.mark.parametrize("which", ["resource", "issuer"])
@over("auth.prm-client")
def test_a_document_that_cannot_be_had_ends_it(revision: str, which: str, answer: Reply, words: str) -> None:
    with AuthorizationServer() as issuing, ProtectedServer(issuing) as protected:
        if which == "resource":
            protected.answers[RESOURCE_DOCUMENT + "/mcp"] = lambda one: answer
        else:
            issuing.answers[OAUTH] = lambda one: answer
        error = refused(protected, revision)
        assert isinstance(error, DiscoveryFailed) and words in str(error)
        assert [one.path for one in issuing.seen()] == ([] if which == "resource" else [OAUTH])
        assert len(paths(protected.seen())) == 1


# --- 2025-03-26: the server is its own authorization server -----------------------------------------------------------

@pytest.mark.spec("auth.base-url", "auth.metadata-before-fallback", "auth.as-metadata-client")
@pytest.mark.parametrize("path", ["/mcp", "/v1/server", "/"])
@pytest.mark.parametrize("slash", ["", "/"])
@over("auth.base-url")
def test_its_metadata_is_at_the_root(revision: str, path: str, slash: str) -> None:
    with AuthorizationServer() as issuing:
        issuing.metadata["issuer"] = issuing.issuer = issuing.iss = issuing.origin + slash
        issuing.metadata["authorization_endpoint"] = issuing.origin + "/oauth/authorize"
        issuing.web.serve("/oauth/authorize", issuing._authorize)
        with ProtectedServer(issuing, web=issuing.web, document_at=None, path=path) as protected:
            protected.document["resource"] = protected.url[:-1] if path == "/" else protected.url
            use(protected, revision)
        asked = [one.path for one in issuing.seen()]
        assert [one for one in asked if "oauth" in one and "resource" not in one] == [OAUTH, "/oauth/authorize"]
        assert "/register" in asked and "/token" in asked


@pytest.mark.spec("auth.fallback-authorize", "auth.fallback-token", "auth.fallback-register", "auth.base-url",
                  "auth.metadata-before-fallback")
@pytest.mark.parametrize("path", ["/mcp", "/v1/server"])
@over("auth.fallback-authorize")
def test_without_metadata_its_endpoints_are_at_the_root(revision: str, path: str) -> None:
    """[2025-03-26 basic/authorization §Fallbacks for Servers without Metadata Discovery] MUST"""
    with AuthorizationServer("", []) as issuing:
        with ProtectedServer(issuing, web=issuing.web, document_at=None, path=path) as protected:
            use(protected, revision)
        asked = [(one.method, one.path) for one in issuing.seen() if one.path != path]
        assert asked == [("GET", RESOURCE_DOCUMENT + path), ("GET", RESOURCE_DOCUMENT), ("GET", OAUTH),
                         ("POST", "/register"), ("GET", "/authorize"), ("POST", "/token")]


@pytest.mark.spec("auth.discovery-version-header")
@pytest.mark.parametrize("places", [["oauth"], []])
@over("auth.discovery-version-header")
def test_the_version_is_in_the_header_of_discovery(revision: str, places: List[str]) -> None:
    with AuthorizationServer("", places) as issuing:
        with ProtectedServer(issuing, web=issuing.web, document_at=None) as protected:
            use(protected, revision)
        asked = [one for one in issuing.seen() if "well-known" in one.path]
        assert OAUTH in [one.path for one in asked]
        assert {one.headers.get("mcp-protocol-version") for one in asked} == {revision}


@pytest.mark.parametrize("issuer", ["https://honest.example", "{origin}//", "{origin}/x", OUT])
def test_there_too_metadata_of_another_issuer_is_not_used(issuer: Any) -> None:
    """[RFC 8414 §3.3]"""
    with AuthorizationServer() as issuing:
        issuing.metadata["issuer"] = issuer if issuer is OUT else issuer.format(origin=issuing.origin)
        with ProtectedServer(issuing, web=issuing.web, document_at=None) as protected:
            assert isinstance(refused(protected, "2025-03-26"), IssuerMismatch)
        assert not [one for one in issuing.seen() if one.path in FLOW]


# --- what the client publishes about itself ---------------------------------------------------------------------------

URL = "https://app.example.com/oauth/client.json"
DOCUMENT: Dict[str, Any] = {"client_id": URL, "client_name": "Mine", "redirect_uris": ["http://localhost/callback"]}


@pytest.mark.spec("auth.cimd-url-https")
@pytest.mark.parametrize("url, good", [
    (URL, True), ("https://example.com/client.json", True), ("http://example.com/client.json", False),
    ("http://localhost/client.json", False), ("https://example.com", False), ("https://example.com/", False),
    ("https://example.com?client.json", False), ("ftp://example.com/client.json", False), ("client.json", False),
])
@over("auth.cimd-url-https")
def test_the_url_of_a_client_is_https_and_has_a_path(revision: str, url: str, good: bool) -> None:
    """[2025-11-25 basic/authorization §Implementation Requirements] MUST"""
    for make in (lambda: client_metadata(url, "Mine", ["http://localhost/callback"]),
                 lambda: check_client_metadata(url, dict(DOCUMENT, client_id=url)),
                 lambda: OAuth(client_metadata_url=url)):
        if good:
            make()
        else:
            with pytest.raises(ValueError, match="client ID URL"):
                make()


@pytest.mark.spec("auth.cimd-properties")
@pytest.mark.parametrize("name", ["client_id", "client_name", "redirect_uris"])
@pytest.mark.parametrize("value", [OUT, None, "", []])
@over("auth.cimd-properties")
def test_a_document_without_name_or_redirects_is_refused(revision: str, name: str, value: Any) -> None:
    document = {key: item for key, item in dict(DOCUMENT, **{name: value}).items() if item is not OUT}
    with pytest.raises(ValueError, match="without " + name):
        check_client_metadata(URL, document)
    made = client_metadata(URL, "Mine", ["http://localhost/callback"])
    assert {key: made[key] for key in DOCUMENT} == DOCUMENT


@pytest.mark.spec("auth.cimd-client-id-match")
@pytest.mark.parametrize("client_id", [URL + "/", URL + "?", URL.replace("app", "App"), URL.replace("https", "HTTPS"),
                                       URL.replace(".com/", ".com:443/"), URL.replace("client", "%63lient"), "mine"])
@over("auth.cimd-client-id-match")
def test_a_document_names_the_url_at_which_it_is(revision: str, client_id: str) -> None:
    with pytest.raises(ValueError, match="client_id is not exactly the URL of the document"):
        check_client_metadata(URL, dict(DOCUMENT, client_id=client_id))
    assert client_metadata(URL, "Mine", ["http://localhost/callback"])["client_id"] == URL
