"""Content of every type on its way through a server, in every revision with a handshake: in the form that it has."""

import datetime
import decimal
import enum
import pathlib
import uuid

import pytest

from mcp_ref import Server
from mcp_ref.messages.base import Annotations, Icon
from mcp_ref.messages.content import (
    AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from mcp_ref.messages.prompts import GetPromptResult, PromptMessage
from mcp_ref.messages.tools import CallToolResult, ToolAnnotations
from mcp_ref.revisions import HANDSHAKE_REVISIONS
from mcp_ref.server.results import content_of, image, image_file
from tests.support.serving import ask, served

OBJECT = {"type": "object"}
NOTES = Annotations(["user"], 0.5, "2025-01-12T15:00:58Z")
META = {"com.example/kind": "test"}
ICONS = [Icon("https://example.com/i.svg", "image/svg+xml", ["any"], "dark")]
BLOCKS = [
    TextContent("text", NOTES, META),
    ImageContent("AAAA", "image/png", NOTES, META),
    AudioContent("AAAAAA==", "audio/wav", NOTES, META),
    ResourceLink("file:///a", "a", "The a", "what it is", "text/plain", 5, ICONS, NOTES, META),
    EmbeddedResource(TextResourceContents("file:///b", "b", "text/plain", META), NOTES, META),
]

each_revision = pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS, ids=str)


def expected(revision):
    """The blocks as a client of this revision gets them."""
    notes = {"audience": ["user"], "priority": 0.5}
    beside = {"annotations": notes}
    if revision.titles:  # the revision that brought titles brought times and `_meta` of blocks
        notes["lastModified"] = NOTES.last_modified
        beside["_meta"] = META
    audio = "[audio left out: audio/wav, 4 bytes; protocol revision 2024-11-05 has no audio]"
    link = "[resource] The a: file:///a (text/plain)\nwhat it is"
    linked = {"type": "resource_link", "uri": "file:///a", "name": "a", "title": "The a", "description": "what it is",
              "mimeType": "text/plain", "size": 5, **beside}
    if revision.icons:
        linked["icons"] = [{"src": ICONS[0].src, "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}]
    resource = {"uri": "file:///b", "text": "b", "mimeType": "text/plain"}
    return [
        {"type": "text", "text": "text", **beside},
        {"type": "image", "data": "AAAA", "mimeType": "image/png", **beside},
        {"type": "audio", "data": "AAAAAA==", "mimeType": "audio/wav", **beside} if revision.audio_content
        else {"type": "text", "text": audio, **beside},
        linked if revision.resource_links else {"type": "text", "text": link, **beside},
        {"type": "resource", "resource": dict(resource, _meta=META) if revision.titles else resource, **beside},
    ]


@each_revision
def test_blocks_arrive_in_the_form_that_the_revision_has(revision):
    """[.. server/tools §Tool Result], [.. server/prompts §PromptMessage]"""
    server = Server("content")
    server.resource("file:///b")(lambda: "b")
    server.tool(lambda: BLOCKS, name="some")
    server.tool(lambda: CallToolResult(BLOCKS), name="whole")
    server.prompt(lambda: BLOCKS, name="some")
    server.prompt(lambda: GetPromptResult([PromptMessage("assistant", block) for block in BLOCKS]), name="whole")
    with served(server, revision) as peer:
        for name in ("some", "whole"):
            assert ask(peer, "tools/call", {"name": name})["result"]["content"] == expected(revision)
            got = ask(peer, "prompts/get", {"name": name})["result"]["messages"]
            assert [message["content"] for message in got] == expected(revision)


@each_revision
def test_each_block_may_be_returned_alone(revision):
    """[.. server/tools §Tool Result]"""
    server = Server("content")
    server.tool(lambda number: BLOCKS[number], name="one")
    with served(server, revision) as peer:
        for number, block in enumerate(expected(revision)):
            result = ask(peer, "tools/call", {"name": "one", "arguments": {"number": number}})["result"]
            assert result == {"content": [block]}


@each_revision
def test_meta_of_results_arrives(revision):
    """[.. server/tools §Calling Tools]"""
    server = Server("content")
    server.tool(lambda: CallToolResult([TextContent("x")], meta=META), name="x")
    server.prompt(lambda: GetPromptResult([], "about", meta=META), name="x")
    with served(server, revision) as peer:
        assert ask(peer, "tools/call", {"name": "x"})["result"]["_meta"] == META
        got = ask(peer, "prompts/get", {"name": "x"})["result"]
        assert got == {"messages": [], "description": "about", "_meta": META}


OUTPUTS = [
    ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, "2"]),
    ({"type": "integer"}, 5, "5"), ({"type": ["object", "null"]}, None, 1), ({"enum": ["a", "b"]}, "a", "c"),
    ({}, [None], None),
]


@pytest.mark.parametrize("schema, value, wrong", OUTPUTS)
@each_revision
def test_structured_content_that_is_no_object_is_text_where_only_objects_are_known(revision, schema, value, wrong):
    """[2025-06-18..2025-11-25 server/tools §Structured Content]: it is a JSON object."""
    server = Server("outputs")
    server.tool(lambda right: value if right else wrong, name="tool", output_schema=schema)
    with served(server, revision) as peer:
        tool, = ask(peer, "tools/list")["result"]["tools"]
        assert "outputSchema" not in tool
        result = ask(peer, "tools/call", {"name": "tool", "arguments": {"right": True}})["result"]
        assert "structuredContent" not in result and not result.get("isError")
        texts = [block.text for block in content_of(value)] or ["null"]
        assert [block["text"] for block in result["content"]] == texts
        if schema:
            result = ask(peer, "tools/call", {"name": "tool", "arguments": {"right": False}})["result"]
            assert result["isError"] and "output schema" in result["content"][0]["text"]


@each_revision
def test_an_object_under_a_schema_that_older_revisions_cannot_show_is_structured_content_all_the_same(revision):
    """[2025-06-18.. server/tools §Structured Content]"""
    server = Server("outputs")
    server.tool(lambda: {"a": 1}, name="tool", output_schema={"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})
    with served(server, revision) as peer:
        assert "outputSchema" not in ask(peer, "tools/list")["result"]["tools"][0]
        result = ask(peer, "tools/call", {"name": "tool"})["result"]
        assert result.get("structuredContent") == ({"a": 1} if revision.structured_content else None)
        assert result["content"] == [{"type": "text", "text": '{"a":1}'}]


@each_revision
def test_tools_are_shown_with_what_the_revision_has(revision):
    """[.. server/tools §Tool]"""
    server = Server("shown")

    @server.tool(title="Adder", icons=ICONS, meta=META, annotations=ToolAnnotations("Add!", True, False, None, False))
    def add(a: int) -> int:
        """Add."""
        return a

    shown = {"name": "add", "description": "Add.", "inputSchema": {
        "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    if revision.tool_annotations:
        shown["annotations"] = {
            "title": "Add!", "readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    if revision.titles:
        result = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
        shown.update(title="Adder", _meta=META, outputSchema=result)
    if revision.icons:
        shown["icons"] = [{"src": ICONS[0].src, "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}]
    with served(server, revision) as peer:
        tool, = ask(peer, "tools/list")["result"]["tools"]
        assert {key: value for key, value in tool["inputSchema"].items() if key in shown["inputSchema"]} == \
            shown["inputSchema"]
        assert dict(tool, inputSchema=shown["inputSchema"]) == shown


@pytest.mark.parametrize("value, place", [
    (ImageContent("AAA", "image/png"), "content.data"), (["x", ImageContent("AAAA", "png")], "content[1].mimeType"),
    (CallToolResult([TextContent("x"), AudioContent("A", "audio/wav")]), "content[1].data"),
    (CallToolResult(["text"]), "content[0]: expected a content block, got str"),
    (CallToolResult([], meta={"io.modelcontextprotocol/x": 1}), "_meta"),
    ([TextContent("x", meta={"?": 1})], "content[0]._meta"),
    (TextContent("x", Annotations(priority=2)), "content.annotations.priority"),
    (ResourceLink("no uri", "a"), "content.uri"), (b"bytes", "bytes have no type"),
    (PromptMessage("user", "x"), "PromptMessage"),
])
@each_revision
def test_content_that_may_not_be_sent_is_a_failure_of_the_tool_that_names_the_place(revision, value, place):
    """[.. server/tools §Tool Result]"""
    server = Server("wrong")
    server.tool(lambda: value, name="wrong")
    with served(server, revision) as peer:
        result = ask(peer, "tools/call", {"name": "wrong"})["result"]
        assert result["isError"] is True and len(result["content"]) == 1 and place in result["content"][0]["text"]


@pytest.mark.parametrize("options, error, words", [
    ({"icons": [Icon("javascript:x")]}, ValueError, "tool tool.icons[0].src"),
    ({"meta": {"dev.mcp/x": 1}}, ValueError, "tool tool._meta"), ({"meta": "x"}, TypeError, "tool tool._meta"),
    ({"annotations": {"readOnlyHint": True}}, TypeError, "tool tool.annotations: expected ToolAnnotations, got dict"),
    ({"annotations": ToolAnnotations(read_only_hint="yes")}, TypeError, "tool tool.annotations.read_only_hint"),
    ({"annotations": ToolAnnotations(open_world_hint=0)}, TypeError, "tool tool.annotations.open_world_hint"),
    ({"output_schema": True}, TypeError, "a schema is a dict"), ({"output_schema": {"type": "x"}}, ValueError, "type"),
])
def test_descriptions_of_tools_that_may_not_be_sent_are_refused_at_registration(options, error, words):
    server = Server("wrong")
    with pytest.raises(error) as caught:
        server.tool(lambda: "x", name="tool", **options)
    assert words in str(caught.value) and len(server.tools.listing) == 0


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize("value, text", [
    ("red", "red"), (datetime.date(2024, 1, 2), '"2024-01-02"'), (decimal.Decimal("1.50"), '"1.50"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'), (pathlib.PurePosixPath("/a"), '"/a"'),
    (Colour.RED, '"red"'), (datetime.timedelta(seconds=90), '"PT1M30S"'), (1.5, "1.5"), (["a"], '["a"]'),
])
def test_a_value_that_is_no_text_is_its_json_text(value, text):
    """See the table of `mcp_ref.server.results`."""
    assert [block.text for block in content_of(value)] == [text]


PIXEL = bytes.fromhex("89504e470d0a1a0a")


@pytest.mark.parametrize("name, mime_type", [
    ("a.png", "image/png"), ("a.JPG", "image/jpeg"), ("a.gif", "image/gif"), ("a.webp", "image/webp"),
    ("a.avif", "image/avif"), ("a.svg", "image/svg+xml")])
def test_an_image_file_is_a_block_of_the_type_that_its_suffix_says(tmp_path, name, mime_type):
    path = tmp_path / name
    path.write_bytes(PIXEL)
    assert image_file(path) == image_file(str(path)) == image(PIXEL, mime_type)


def test_a_file_that_is_no_image_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="a.txt: the suffix is none of an image; use image"):
        image_file(tmp_path / "a.txt")
    with pytest.raises(OSError):
        image_file(tmp_path / "a.png")
