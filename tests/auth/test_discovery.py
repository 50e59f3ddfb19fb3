"""Who issues tokens for a server: what `tests/spec/basic/test_authorization_discovery` does not see over loopback."""
from typing import Any, Dict, List, Optional, Tuple

import pytest

from mcp_ref.auth.discover import Discovered, discover, metadata_of, parse
from mcp_ref.auth.fetch import Fetcher, Fields, HttpAnswer
from mcp_ref.errors import AuthError, DiscoveryFailed, IssuerMismatch
from mcp_ref.jsontext import dumps

MCP = "https://mcp.example.com/mcp"
PRM = "https://mcp.example.com/.well-known/oauth-protected-resource"
AS = "https://as.example.com"
OAUTH = "/.well-known/oauth-authorization-server"
RESOURCE: Dict[str, Any] = {"resource": MCP, "authorization_servers": [AS]}
SERVER: Dict[str, Any] = {"issuer": AS, "token_endpoint": AS + "/token"}


class Pages(Fetcher):
    """These documents, and nothing else in the world: a value, or a status and a media type."""

    def __init__(self, pages: Dict[str, Any]) -> None:
        super().__init__()
        self.pages = pages
        self.asked: List[Tuple[str, Fields]] = []

    def get(self, url: str, headers: Fields = ()) -> HttpAnswer:
        self.asked.append((url, headers))
        page = self.pages.get(url, (404, "text/html"))
        if isinstance(page, AuthError):
            raise page
        if isinstance(page, tuple):
            fields = {"content-type": page[1]} if page[1] else {}
            return HttpAnswer(page[0], fields, b"{}" if page[0] == 200 else b"", url)
        return HttpAnswer(200, {"content-type": "application/json; charset=utf-8"}, dumps(page).encode(), url)

    @property
    def urls(self) -> List[str]:
        """What was asked."""
        return [url for url, _ in self.asked]


def found(pages: Dict[str, Any], url: str = MCP, challenge: Optional[str] = None, **options: Any) -> Discovered:
    return discover(Pages(pages), url, parse([challenge] if challenge else []), **options)


def failure(pages: Dict[str, Any], url: str = MCP, challenge: Optional[str] = None, **options: Any) -> AuthError:
    with pytest.raises(AuthError) as caught:
        found(pages, url, challenge, **options)
    return caught.value


def test_what_is_found() -> None:
    pages = Pages({PRM + "/mcp": RESOURCE, AS + OAUTH: SERVER})
    discovered = discover(pages, MCP)
    assert (discovered.resource, discovered.legacy) == (MCP, False)
    assert discovered.resource_document is not None and discovered.resource_document.raw == RESOURCE
    assert discovered.server.raw == SERVER
    assert pages.asked == [(url, [("MCP-Protocol-Version", "2026-07-28")]) for url in (PRM + "/mcp", AS + OAUTH)]


@pytest.mark.parametrize("url, resource", [
    ("https://MCP.example.com/mcp?key=s3cret#top", "https://mcp.example.com/mcp"),
    ("https://mcp.example.com:443/", "https://mcp.example.com"), ("https://mcp.example.com", "https://mcp.example.com"),
])
def test_where_nothing_is_published_the_origin_is_the_issuer(url: str, resource: str) -> None:
    """[2025-03-26 basic/authorization §Authorization Base URL] MUST"""
    pages = Pages({})
    discovered = discover(pages, url, revision="2025-03-26")
    assert (discovered.resource, discovered.resource_document, discovered.legacy) == (resource, None, True)
    assert discovered.server.issuer == "https://mcp.example.com"
    assert discovered.server.token_endpoint == "https://mcp.example.com/token"
    assert pages.urls[-1] == "https://mcp.example.com" + OAUTH and "s3cret" not in repr(pages.asked)
    assert {fields[0][1] for _, fields in pages.asked} == {"2025-03-26"}


@pytest.mark.parametrize("challenge, words", [
    ('Bearer resource_metadata="https://127.0.0.1/x"', "the resource_metadata of the challenge is on this machine"),
    ('Bearer resource_metadata="http://localhost:9/x"', "the resource_metadata of the challenge is on this machine"),
    ('Bearer resource_metadata="http://10.0.0.1/x"', "is not https"),
    ('Bearer resource_metadata="x"', "is no https URL"),
    ('Bearer resource_metadata=""', "is no URL"), ('Bearer resource_metadata="file:///etc/passwd"', "is no https URL"),
])
def test_a_server_elsewhere_cannot_send_us_to_this_machine(challenge: str, words: str) -> None:
    assert words in str(failure({}, challenge=challenge))


def test_nor_can_its_documents() -> None:
    here = {"authorization_servers": ["http://localhost:9"]}
    assert "authorization_servers[0] is on this machine" in str(failure({PRM: dict(RESOURCE, **here)}))
    for member in ("token_endpoint", "authorization_endpoint", "registration_endpoint", "jwks_uri"):
        pages = {PRM: RESOURCE, AS + OAUTH: dict(SERVER, **{member: "https://[::1]/x"})}
        assert "the %s is on this machine" % member in str(failure(pages))
    local = "http://127.0.0.1:8000/mcp"
    pages = {local.replace("/mcp", "/.well-known/oauth-protected-resource"): dict(RESOURCE, resource=local),
             AS + OAUTH: dict(SERVER, token_endpoint="http://127.0.0.1:9/token")}
    assert "the token_endpoint is on this machine" in str(failure(pages, local))


def test_one_of_several_issuers_is_chosen() -> None:
    second = "https://second.example.com/"
    pages = {PRM: dict(RESOURCE, authorization_servers=[AS, second]), AS + OAUTH: SERVER,
             second[:-1] + OAUTH: {"issuer": second, "token_endpoint": second + "token"}}
    assert found(pages).server.issuer == AS
    offered: List[List[str]] = []

    def prefer(issuers: List[str]) -> str:
        offered.append(list(issuers))
        return issuers.pop()  # the list is the caller's

    assert found(pages, prefer=prefer).server.issuer == second and offered == [[AS, second]]
    error = failure(pages, prefer=lambda issuers: "https://third.example.com/?s3cret")
    assert isinstance(error, DiscoveryFailed) and "names: https://as.example.com, https://second" in str(error)
    assert "s3cret" not in str(error)


def test_a_choice_may_be_refused() -> None:
    def prefer(issuers: List[str]) -> str:
        raise DiscoveryFailed("not these: %s" % issuers)

    assert "not these" in str(failure({PRM: RESOURCE}, prefer=prefer))


@pytest.mark.parametrize("kind, taken", [
    ("application/json", True), ("Application/JSON; charset=utf-8", True), ("application/problem+json", True),
    ("", True),
    ("text/json", True), ("application/octet-stream", True), ("text/html", False),
    ("text/plain; x=application/json", True),  # files without an extension
])
def test_only_what_calls_itself_json_is_a_document(kind: str, taken: bool) -> None:
    pages = Pages({AS + OAUTH: (200, kind), AS + "/.well-known/openid-configuration": SERVER})
    if taken:
        with pytest.raises(IssuerMismatch):  # {} has no issuer
            metadata_of(pages, AS)
    else:
        assert metadata_of(pages, AS).issuer == AS
    assert len(pages.urls) == (1 if taken else 2)


def test_a_text_that_is_no_object_is_no_document() -> None:
    class Texts(Pages):
        def get(self, url: str, headers: Fields = ()) -> HttpAnswer:
            return super().get(url, headers)._replace(body=b"Not found")

    with pytest.raises(DiscoveryFailed, match="no such document: it answers 200, text/plain"):
        discover(Texts({PRM: (200, "text/plain")}), MCP, parse(['Bearer resource_metadata="%s"' % PRM]))


@pytest.mark.parametrize("asked, named", [
    (AS, AS + "/"), (AS + "/", AS), (AS + "/a", AS + "/a/"), (AS + "/a/", AS + "/a")])
def test_a_final_slash_is_told_and_can_be_tolerated(asked: str, named: str) -> None:
    class Anywhere(Pages):
        def get(self, url: str, headers: Fields = ()) -> HttpAnswer:
            return super().get(PRM if "protected" in url else AS + OAUTH, headers)

    pages = {PRM: dict(RESOURCE, authorization_servers=[asked]), AS + OAUTH: dict(SERVER, issuer=named)}
    with pytest.raises(IssuerMismatch, match=r"only the final slash differs.*tolerate=\['issuer-slash'\]"):
        discover(Anywhere(pages), MCP)
    assert discover(Anywhere(pages), MCP, slash_tolerant=True).server.issuer == named
    pages[AS + OAUTH] = dict(SERVER, issuer=named + "x")
    with pytest.raises(IssuerMismatch) as caught:
        discover(Anywhere(pages), MCP, slash_tolerant=True)
    assert "slash" not in str(caught.value)


@pytest.mark.parametrize("status", [201, 204, 300, 302, 304, 408, 425, 429, 500, 502, 503, 599])
def test_a_server_that_fails_does_not_make_us_ask_elsewhere(status: int) -> None:
    pages = Pages({PRM + "/mcp": (status, "text/html"), PRM: RESOURCE, AS + OAUTH: SERVER})
    with pytest.raises(DiscoveryFailed, match="%s/mcp answered %d" % (PRM, status)):
        discover(pages, MCP)
    assert pages.urls == [PRM + "/mcp"]


def test_no_answer_is_no_answer() -> None:
    error = AuthError("no answer from somebody")
    assert failure({PRM + "/mcp": error, PRM: RESOURCE}) is error
    assert failure({PRM: RESOURCE, AS + OAUTH: error}) is error


def test_what_is_wrong_says_nothing_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    for pages in ({}, {PRM: dict(RESOURCE, resource="https://evil.example/?s3cret")},
                  {PRM: RESOURCE, AS + OAUTH: dict(SERVER, issuer="https://evil.example/?s3cret")},
                  {PRM: (500, "")}):  # type: Dict[str, Any]
        for challenge in (None, 'Bearer resource_metadata="%s?s3cret"' % PRM):
            if pages or challenge:
                assert "s3cret" not in str(failure(pages, MCP + "?key=s3cret", challenge)) + caplog.text
    assert "no protected resource metadata at %s: it answers 404, text/html" % PRM in caplog.text


@pytest.mark.parametrize("url", ["http://mcp.example.com/mcp", "ftp://mcp.example.com/", "mcp",
                                 "https://u:p@mcp.example.com/"])
def test_for_other_servers_there_are_no_tokens(url: str) -> None:
    pages = Pages({})
    with pytest.raises(DiscoveryFailed, match="the URL of the server"):
        discover(pages, url)
    assert not pages.urls


def test_the_metadata_of_one_issuer() -> None:
    assert metadata_of(Pages({AS + OAUTH: SERVER}), AS).token_endpoint == AS + "/token"
    with pytest.raises(IssuerMismatch, match="asked of https://other.example is that of another issuer: %s" % AS):
        metadata_of(Pages({"https://other.example" + OAUTH: SERVER}), "https://other.example")
    with pytest.raises(DiscoveryFailed, match="has no metadata at: https://as.example.com/.well-known/oauth.*, https"):
        metadata_of(Pages({}), AS)
