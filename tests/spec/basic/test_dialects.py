"""Dialects of JSON Schema on the wire: arguments are checked by our server, structured content by our client.

The validator itself has tests of its own; here both parties use it by the dialect that a schema declares, or by 2020-12
[2025-11-25.. basic/index §JSON Schema Usage].
"""
import pytest

from mcp_ref import Server
from mcp_ref.errors import InvalidResult, PeerProtocolError
from mcp_ref.jsonschema import DRAFT_07, DRAFT_2020_12, UnsupportedDialect
from tests.support.requirements_table import STATELESS
from tests.support.scene import Scene
from tests.support.serving import ask, served

stated = pytest.mark.parametrize("revision", ["2025-11-25", STATELESS])

NEW_TUPLE = {"prefixItems": [{"type": "string"}]}
OLD_TUPLE = {"items": [{"type": "string"}]}
SCHEMAS = [
    # what it declares, how it says that the first item is text
    ({}, NEW_TUPLE), ({"$schema": DRAFT_2020_12}, NEW_TUPLE), ({"$schema": DRAFT_07 + "#"}, OLD_TUPLE),
]
SILENT = [({"$schema": DRAFT_07}, NEW_TUPLE)]
"""Here it says nothing: the dialect does not have the keyword."""
OTHERS = ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2019-09/schema",
          "https://example.com/own"]
ids = ["undeclared", "2020-12", "draft-07"]


def schema_of(declared, items):
    return dict({"type": "object", "properties": {"a": items}}, **declared)


@pytest.mark.spec("schema.support-2020-12", "schema.validate-by-dialect", "schema.dialect-explicit")
@pytest.mark.parametrize("declared, items", SCHEMAS + SILENT, ids=ids + ["draft-07 with a keyword of another"])
@stated
def test_a_server_checks_arguments_by_the_dialect_of_the_schema(revision, declared, items):
    """[2025-11-25.. basic/index §JSON Schema Usage] MUST"""
    reached = []
    server = Server("dialects")

    @server.tool(input_schema=schema_of(declared, items))
    def take(**given):
        reached.append(given["a"])

    with served(server, revision) as peer:
        answers = [ask(peer, "tools/call", {"name": "take", "arguments": {"a": value}})["result"].get("isError", False)
                   for value in (["text"], [1])]
    if (declared, items) in SILENT:
        assert answers == [False, False] and reached == [["text"], [1]]
    else:
        assert answers == [False, True] and reached == [["text"]]


@pytest.mark.spec("schema.support-2020-12", "schema.validate-by-dialect", "schema.dialect-explicit")
@pytest.mark.parametrize("declared, items", SCHEMAS + SILENT, ids=ids + ["draft-07 with a keyword of another"])
@stated
def test_a_client_checks_structured_content_by_the_dialect_of_the_schema(revision, declared, items):
    """[2025-11-25.. basic/index §JSON Schema Usage] MUST"""
    tool = {"name": "give", "inputSchema": {"type": "object"}, "outputSchema": schema_of(declared, items)}
    with Scene(revision, listing(tool, {"a": [1]})) as scene:
        if (declared, items) in SILENT:
            assert scene.client.call_tool("give").structured_content == {"a": [1]}
        else:
            with pytest.raises(InvalidResult):
                scene.client.call_tool("give")
        scene.answers["tools/call"] = {"content": [], "structuredContent": {"a": ["text"]}}
        assert scene.client.call_tool("give").structured_content == {"a": ["text"]}
        assert scene.count("unchecked result") == 0


def listing(tool, structured):
    """What a server answers that has this one tool."""
    return {"tools/list": {"tools": [tool], "ttlMs": 60000, "cacheScope": "private"},
            "tools/call": {"content": [], "structuredContent": structured}}


@pytest.mark.spec("schema.unsupported-dialect-error")
@pytest.mark.parametrize("uri", OTHERS)
@stated
def test_another_dialect_is_an_error_that_says_so(revision, uri):
    """[2025-11-25.. basic/index §JSON Schema Usage] MUST"""
    schema = schema_of({"$schema": uri}, NEW_TUPLE)
    with pytest.raises(UnsupportedDialect, match="unsupported schema dialect"):
        Server("dialects", revisions=[revision]).tool(lambda **given: "", name="take", input_schema=schema)
    tool = {"name": "give", "inputSchema": {"type": "object"}, "outputSchema": schema}
    with Scene(revision, listing(tool, {"a": [1]}), strict=True) as scene:
        with pytest.raises(PeerProtocolError, match="unsupported schema dialect"):
            scene.client.call_tool("give")
    with Scene(revision, listing(tool, {"a": [1]})) as scene:
        assert scene.client.call_tool("give").structured_content == {"a": [1]}
        assert scene.count("unchecked result") == 1
