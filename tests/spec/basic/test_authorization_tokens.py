"""basic/authorization, the client's tokens: how they are sent, for which resource, and how they are renewed.

Pages: basic/authorization §Access Token Usage, §Resource Parameter Implementation; from 2026-07-28 on
basic/authorization/index, there also §Refresh Tokens.
"""
from typing import Any, List

import pytest

from mcp_ref.errors import McpError
from tests.support.auth_server import CODE, OUT, REFRESH, ProtectedServer, demo_server
from tests.support.authorized import Authorized, used
from tests.support.requirements_table import every_revision_of
from tests.support.scripted_web import ScriptedWeb, redirect, reply_json
from tests.support.serving import over

STATELESS = "2026-07-28"


def first_refused_then(tokens: List[Any]) -> str:
    """The one Authorization field of all requests but the first, which had none."""
    assert tokens[0] is None and len(set(tokens[1:])) == 1
    return str(tokens[1])


# --- how they are sent ------------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.every-request", "auth.bearer-header", "auth.token-handling")
@over("auth.every-request")
def test_the_token_is_in_the_header_of_every_request(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            if revision != STATELESS:
                scene.protected.wait_for("/mcp", method="GET")
        assert first_refused_then(scene.protected.bearers()) == "Bearer " + next(iter(scene.issuing.tokens))
        methods = {one.method for one in scene.protected.seen(scene.protected.path)}
        assert methods == ({"POST"} if revision == STATELESS else {"POST", "GET", "DELETE"})


@pytest.mark.spec("auth.no-token-in-query")
@over("auth.no-token-in-query")
def test_no_token_is_in_a_url_or_a_body(revision: str) -> None:
    with Authorized(revision) as scene:
        with used(scene):
            pass
        token = next(iter(scene.issuing.tokens))
        for one in scene.issuing.seen() + scene.protected.seen():
            assert token not in one.target and token.encode() not in one.body


@pytest.mark.spec("auth.only-issued-tokens")
@over("auth.only-issued-tokens")
def test_a_server_gets_tokens_of_its_own_authorization_server_only(revision: str) -> None:
    with Authorized(revision) as scene, ProtectedServer(scene.more()) as other:
        oauth = scene.oauth()
        with used(scene, oauth), used(scene, oauth, url=other.url):
            pass
        for server in (scene.protected, other):
            assert first_refused_then(server.bearers())[len("Bearer "):] in server.issuing[0].tokens


@pytest.mark.spec("auth.only-issued-tokens")
@over("auth.only-issued-tokens")
def test_a_token_is_not_sent_to_another_origin(revision: str) -> None:
    with Authorized(revision) as scene, ScriptedWeb() as elsewhere:
        with scene.connect() as client:
            scene.protected.answers["/mcp"] = lambda asked: redirect(elsewhere.origin + "/mcp", 307)
            with pytest.raises(McpError):
                client.call_tool("echo", {"text": "hi"})
            del scene.protected.answers["/mcp"]
        token = next(iter(scene.issuing.tokens))
        assert not any(token in str(one) for one in elsewhere.seen())


@pytest.mark.spec("auth.only-issued-tokens")
@over("auth.only-issued-tokens")
def test_after_a_change_of_authorization_server_the_old_token_is_not_sent_again(revision: str) -> None:
    with Authorized(revision) as scene:
        with scene.connect() as client:
            second = scene.more()
            scene.protected.migrate(second)
            for _ in range(2):
                assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        *first, again, later = [one.headers["authorization"][len("Bearer "):]
                                for one in scene.protected.calls("tools/call")]
        assert {again, later} == set(second.tokens)
        if revision == STATELESS:  # before, something in the background may be refused first
            assert len(first) == 1 and first[0] in scene.issuing.tokens
        old, new = set(scene.issuing.tokens), set(second.tokens)
        assert not any(token in str(one) for one in second.seen() for token in old)
        assert not any(token in str(one) for one in scene.issuing.seen() for token in new)


@pytest.mark.spec("auth.optional", "auth.http-should-conform")
@over("auth.http-should-conform")
def test_where_nothing_is_asked_for_nothing_is_done(revision: str) -> None:
    with Authorized(revision) as scene:
        token = scene.issuing.issue({"aud": scene.protected.url})["access_token"]
        scene.protected.answers["/mcp"] = lambda asked: scene.protected.usual(
            asked._replace(headers=dict(asked.headers, authorization="Bearer " + token)))
        with used(scene):
            pass
        assert set(scene.protected.bearers()) == {None}
        assert {one.path for one in scene.issuing.seen()} <= {"/mcp"}


# --- for which resource -----------------------------------------------------------------------------------------------

@pytest.mark.spec("auth.resource-indicators", "auth.resource-in-both-requests", "auth.resource-identifies-server",
                  "auth.resource-always")
@over("auth.resource-in-both-requests")
def test_the_resource_is_in_authorization_and_token_requests(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.expires_in = 100
        with scene.connect() as client:
            scene.clock.advance(200)
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, REFRESH]
        assert scene.asked()["resource"] == scene.protected.url
        assert [one.form["resource"] for one in scene.issuing.seen("/token")] == [scene.protected.url] * 2


@pytest.mark.spec("auth.resource-always")
@over("auth.resource-always")
@pytest.mark.parametrize("announced", [OUT, False])
def test_the_resource_is_sent_whatever_the_authorization_server_says_of_it(revision: str, announced: Any) -> None:
    with Authorized(revision) as scene:
        scene.issuing.metadata["resource_indicators_supported"] = announced
        scene.issuing.metadata["protected_resources"] = announced if announced is OUT else []
        with used(scene):
            pass
        assert scene.asked()["resource"] == scene.posted()["resource"] == scene.protected.url


PUBLISHED = ["{origin}/mcp", "{origin}", "{origin}/", "{upper}/mcp"]


@pytest.mark.spec("auth.resource-identifies-server", "auth.resource-case-robust")
@over("auth.resource-case-robust")
@pytest.mark.parametrize("published", PUBLISHED)
def test_what_the_server_publishes_is_sent_as_it_is(revision: str, published: str) -> None:
    with Authorized(revision, host="localhost") as scene:
        origin = scene.protected.origin
        resource = published.format(origin=origin, upper=origin.replace("http://localhost", "HTTP://LocalHost"))
        scene.protected.document["resource"] = resource
        with used(scene):
            pass
        assert scene.asked()["resource"] == scene.posted()["resource"] == resource


@pytest.mark.spec("auth.resource-canonical", "auth.resource-case-robust")
@over("auth.resource-canonical")
def test_a_url_in_capitals_is_that_of_the_same_resource(revision: str) -> None:
    with Authorized(revision, host="localhost") as scene:
        url = scene.protected.url.replace("http://localhost", "HTTP://LOCALHOST")
        with used(scene, url=url):
            pass
        assert scene.asked()["resource"] == scene.posted()["resource"] == scene.protected.url


CANONICAL = [("/mcp", "{url}"), ("/mcp", "{url}#part"), ("/mcp/", "{url}"), ("/", "{url}"), ("/a/b", "{url}")]


@pytest.mark.spec("auth.resource-canonical", "auth.resource-no-trailing-slash", "auth.resource-most-specific")
@over("auth.resource-canonical")
@pytest.mark.parametrize("path,form", CANONICAL)
def test_without_a_published_name_it_is_the_url_in_canonical_form(revision: str, path: str, form: str) -> None:
    with Authorized("2025-03-26", path="", host="127.0.0.1") as scene:
        # the servers share an origin and publish no resource; the client speaks any revision
        protected = ProtectedServer(scene.issuing, web=scene.issuing.web, path=path, document_at=None,
                                    server=demo_server())
        scene.revision = revision
        expected = protected.origin + ("" if path == "/" else path)
        protected.document["resource"] = expected
        with protected, used(scene, url=form.format(url=protected.url)):
            pass
        assert scene.asked()["resource"] == scene.posted()["resource"] == expected


@pytest.mark.spec("auth.resource-most-specific")
@over("auth.resource-most-specific")
def test_of_two_published_names_the_one_of_the_endpoint_is_sent(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.protected.challenge["resource_metadata"] = OUT
        root = dict(scene.protected.document, resource=scene.protected.origin)
        scene.protected.web.serve("/.well-known/oauth-protected-resource", lambda asked: reply_json(root))
        with used(scene):
            pass
        assert scene.asked()["resource"] == scene.protected.url


OTHERS = ["https://evil.example.com/mcp", "{origin}/other", "{origin}/mc", "{origin}/mcp/more", "http://localhost:1/a",
          "mcp.example.com", "{origin}/mcp#part", ""]


@pytest.mark.spec("auth.resource-identifies-server")
@over("auth.resource-identifies-server")
@pytest.mark.parametrize("published", OTHERS)
def test_a_document_of_another_resource_is_not_used(revision: str, published: str) -> None:
    with Authorized(revision) as scene:
        scene.protected.document["resource"] = published.format(origin=scene.protected.origin)
        assert "resource" in str(scene.refused())
        assert scene.issuing.seen() == [] and scene.protected.seen(scene.protected.document_path)


# --- how they are renewed ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("revision", every_revision_of("auth.every-request"))
def test_an_old_token_is_renewed_before_it_is_refused_and_refresh_tokens_rotate(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.expires_in = 100
        with scene.connect() as client:
            for _ in range(3):
                scene.clock.advance(99)
                assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE] + [REFRESH] * 3 and scene.authorizations() == 1
        assert [status for _, status in scene.protected.checked].count(401) == 1
        refreshes = [one.form["refresh_token"] for one in scene.issuing.seen("/token")[1:]]
        assert len(set(refreshes)) == 3


def test_a_token_that_is_refused_early_is_renewed_by_refresh() -> None:
    with Authorized() as scene, scene.connect() as client:
        scene.issuing.revoke()
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, REFRESH] and scene.authorizations() == 1


@pytest.mark.parametrize("revision", every_revision_of("auth.every-request"))
def test_a_refresh_token_that_holds_no_more_leads_to_the_person(revision: str) -> None:
    with Authorized(revision) as scene, scene.connect() as client:
        scene.issuing.revoke_all()
        assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, REFRESH, CODE] and scene.authorizations() == 2


@pytest.mark.spec("auth.refresh-not-assumed")
@pytest.mark.parametrize("revision", every_revision_of("auth.every-request"))
def test_without_a_refresh_token_an_old_token_leads_to_the_person(revision: str) -> None:
    with Authorized(revision) as scene:
        scene.issuing.refreshes, scene.issuing.expires_in = False, 100
        with scene.connect() as client:
            scene.clock.advance(101)
            scene.issuing.revoke()
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, CODE] and scene.authorizations() == 2


@pytest.mark.spec("auth.refresh-not-assumed")
def test_an_answer_to_a_refresh_may_come_without_another_refresh_token() -> None:
    with Authorized() as scene, scene.connect() as client:
        scene.issuing.refreshes = False  # the next answers have none: the one that there is stays
        issued = dict(scene.issuing.refresh_tokens)
        for _ in range(2):
            scene.issuing.refresh_tokens.update(issued)
            scene.issuing.revoke()
            assert client.call_tool("echo", {"text": "hi"}).text == "hi"
        assert scene.issuing.grants() == [CODE, REFRESH, REFRESH] and scene.authorizations() == 1


@pytest.mark.spec("auth.refresh-confidential")
def test_a_refresh_token_goes_to_the_token_endpoint_of_its_issuer_only() -> None:
    with Authorized() as scene:
        with scene.connect() as client:
            refresh = next(iter(scene.issuing.refresh_tokens))
            scene.issuing.revoke()
            client.call_tool("echo", {"text": "hi"})
            scene.protected.migrate(scene.more())
            client.call_tool("echo", {"text": "hi"})
        second = scene.protected.issuing[0]
        assert [one.path for one in scene.issuing.seen() if refresh in str(one)] == ["/token"]
        assert not any("refresh-" in str(one) for one in scene.protected.seen() + second.seen())


@pytest.mark.spec("auth.refresh-offline-access")
@pytest.mark.parametrize("listed", [True, False])
def test_offline_access_is_asked_for_where_the_authorization_server_lists_it(listed: bool) -> None:
    with Authorized(STATELESS) as scene:
        scene.protected.scopes = ["read"]
        scene.issuing.metadata["scopes_supported"] = ["read", "offline_access"] if listed else ["read"]
        with used(scene):
            pass
        assert set(scene.asked()["scope"].split()) == {"read"} | ({"offline_access"} if listed else set())
