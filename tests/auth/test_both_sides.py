"""Our client, our protected server, and an authorization server between them, on sockets."""
import contextlib
import socket

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.auth import Introspection, OAuth, ResourceServer
from mcp_ref.errors import AuthError, McpError
from mcp_ref.server.serving.http_listener import HttpListener
from tests.support.auth_server import OUT, AuthorizationServer, browser
from tests.support.requirements_table import HANDSHAKE, STATELESS

EVERY = HANDSHAKE[1:] + (STATELESS,)
every_revision = pytest.mark.parametrize("revision", EVERY)


@contextlib.contextmanager
def place(issuing, revision, make=ResourceServer, **options):
    """A protected server of this revision, which asks this authorization server about tokens; its URL and calls."""
    listening = socket.create_server(("127.0.0.1", 0))
    url = "http://127.0.0.1:%d/mcp" % listening.getsockname()[1]
    issuing.add_client("resource", "secret")
    verify = Introspection(issuing.issuer + "/introspect", "resource", "secret", issuer=issuing.issuer, remember=0)
    auth = make(url, [issuing.issuer], verify, **options)
    server = Server("protected", auth=auth, revisions=[revision])
    calls = []

    @server.tool
    def read(ctx: Context) -> str:
        """Who reads."""
        calls.append(("read", ctx.principal.scopes))
        return str(ctx.principal.subject)

    @server.tool
    def write(ctx: Context) -> str:
        """Who writes."""
        calls.append(("write", ctx.principal.scopes))
        return str(ctx.principal)

    with HttpListener(server, url, fds=[listening.detach()], legacy=False):
        yield url, calls


def text(result):
    return result.content[0].text


@every_revision
def test_a_client_finds_its_way_in_and_gets_more_when_it_needs_more(revision):
    options = {"scopes": ["read"], "needs": {"tools/call:write": ["write"]}}
    with AuthorizationServer() as issuing, place(issuing, revision, **options) as (url, calls):
        with connect(url, auth=OAuth(authorize=browser)) as client:
            assert client.revision.name == revision
            first = text(client.call_tool("read"))
            assert text(client.call_tool("read")) == first and len(issuing.seen("/authorize")) == 1
            who = text(client.call_tool("write"))
            assert first in who and len(issuing.seen("/authorize")) == 2
            asked = [set(one.query["scope"].split()) for one in issuing.seen("/authorize")]
            assert asked == [{"read"}, {"read", "write"}]
            assert {one.query["resource"] for one in issuing.seen("/authorize")} == {url}
        assert [name for name, _ in calls] == ["read", "read", "write"]
        assert [set(scopes) for _, scopes in calls] == [{"read"}, {"read"}, {"read", "write"}]


@every_revision
def test_a_token_that_is_revoked_is_replaced_and_the_session_goes_on(revision):
    with AuthorizationServer() as issuing, place(issuing, revision) as (url, calls):
        with connect(url, auth=OAuth(authorize=browser)) as client:
            first = text(client.call_tool("read"))
            issuing.revoke()
            assert text(client.call_tool("read")) == first
            assert len(issuing.seen("/authorize")) == 1  # there was a refresh token
            issuing.revoke_all()
            assert text(client.call_tool("read")) == first
            assert len(issuing.seen("/authorize")) == 2 and len(calls) == 3


@every_revision
def test_a_token_for_somebody_else_is_of_no_use(revision):
    with AuthorizationServer() as issuing, place(issuing, revision) as (url, calls):
        mint = issuing.mint

        def wrong(claims):
            claims["aud"] = "https://other.example.com/mcp"
            return mint(claims)

        issuing.mint = wrong
        with pytest.raises(McpError) as raised, connect(url, auth=OAuth(authorize=browser)) as client:
            client.call_tool("read")
        assert isinstance(raised.value, AuthError) and calls == []


class Old(ResourceServer):
    """One that publishes only what 2025-03-26 knows."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._pages.document_url = ""

    def answers(self, exchange):
        return "protected-resource" not in exchange.request.path and super().answers(exchange)


@every_revision
def test_without_a_document_a_client_goes_the_way_of_the_first_revision(revision):
    with AuthorizationServer() as issuing, place(issuing, revision, Old) as (url, calls):
        issuing.iss = OUT
        with connect(url, auth=OAuth(authorize=browser)) as client:
            assert text(client.call_tool("read"))
        assert len(calls) == 1 and issuing.seen("/authorize")[0].query["resource"] == url


def test_with_no_way_to_a_token_nothing_is_done():
    with AuthorizationServer() as issuing, place(issuing, STATELESS) as (url, calls):
        for options in ({}, {"token": "guessed"}):
            with pytest.raises(McpError) as raised, connect(url, **options) as client:
                client.call_tool("read")
            assert "401" in str(raised.value) and "guessed" not in str(raised.value)
        assert calls == []
