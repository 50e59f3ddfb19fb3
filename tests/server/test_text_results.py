"""Results that are one plain text, which are encoded by a template: they are those that the message would give."""
import pytest

from mcp_ref.codec import encode
from mcp_ref.jsonrpc import Encoded, decoded
from mcp_ref.messages.content import TextContent
from mcp_ref.messages.tools import CallToolResult
from mcp_ref.revisions import REVISIONS
from mcp_ref.server import Server, current
from mcp_ref.testing import connected

TEXTS = ["", "plain", 'quotes " and \\ and \n', "%s {0} \"text\":\"\"", "\u00e9\u4e2d\U0001f600\x00\u2028"]


class Name(str):
    """A subclass of str."""


def texts():
    """A server whose tools give a text back, and note what they were called by."""
    server = Server("texts", version="1")

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool(meta={"com.example/a": 1})
    def described(text: str) -> str:
        return text

    @server.tool
    def named(text: str) -> str:
        return Name(text)

    return server


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_encoded_as_its_message_is(revision, text):
    with connected(texts(), revisions=[revision.name]) as client:
        for tool in ("echo", "described", "named"):
            result = client.call_tool(tool, {"text": text})
            assert [block.text for block in result.content] == [text] and not result.is_error
            assert encode(result, revision)["content"] == encode(
                CallToolResult(content=[TextContent(text=text)]), revision)["content"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_template_has_every_member_of_the_message(revision):
    server, seen = texts(), []

    @server.tool
    def look() -> str:
        context = current()
        route = server.tools.call_route(context.session.rules)
        params = dict(context.request.params, name="echo", arguments={"text": "x"})
        seen.append(route.call(context, params))
        return ""

    with connected(server, revisions=[revision.name]) as client:
        client.call_tool("look")
    [made] = seen
    assert type(made) is Encoded
    assert decoded(made) == encode(CallToolResult(content=[TextContent(text="x")]), revision)
