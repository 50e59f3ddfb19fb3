"""Tools, resources and prompts as a client sees them, in every revision with a handshake."""
import base64
import json
from dataclasses import dataclass
from typing import Dict, List, Optional

import pytest

from mcp_ref import Context, Server, ToolError
from mcp_ref.errors import RpcError
from mcp_ref.messages.content import (
    AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from mcp_ref.messages.prompts import PromptMessage
from mcp_ref.messages.tools import CallToolResult, ToolAnnotations
from mcp_ref.revisions import HANDSHAKE_REVISIONS, revision
from mcp_ref.server.results import audio, blob, image
from tests.support.scripted import ScriptedPeer

REVISIONS = [str(r) for r in HANDSHAKE_REVISIONS]
PNG = b"\x89PNG\x00\xff"


@dataclass
class Point:
    x: int
    y: float = 0.5


def make_server(**options):
    server = Server("features", "1", **options)
    add_tools(server)
    add_failing_tools(server)
    add_resources_and_prompts(server)
    return server


def add_tools(server):
    @server.tool
    def echo(text: str) -> str:
        """Give back the text."""
        return text

    @server.tool(title="Adder", annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int = 1) -> int:
        return a + b

    @server.tool
    def point(x: int) -> Point:
        return Point(x)

    @server.tool
    def stats() -> Dict[str, float]:
        return {"mean": float("nan")}

    @server.tool
    def names(of: List[str], first: Optional[str] = None) -> List[str]:
        return ([first] if first else []) + of

    @server.tool(structured=False)
    def everything() -> list:
        return [
            "text", image(PNG, "image/png"), audio(PNG, "audio/wav"), blob("file:///a", PNG),
            EmbeddedResource(TextResourceContents("file:///b", "b")), ResourceLink("file:///c", "c"),
        ]


def add_failing_tools(server):
    @server.tool
    def fail(how: str):
        raise {"tool": ToolError("try later"), "value": ValueError("bad value"), "rpc": RpcError(-5, "own", [1]),
               "exit": SystemExit(3)}[how]

    @server.tool(input_schema={"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}})
    def explicit(**arguments):
        return json.dumps(arguments)

    @server.tool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    def promised(n: str) -> dict:
        return {"n": int(n) if n.isdigit() else n}

    @server.tool
    def whole() -> CallToolResult:
        return CallToolResult([TextContent("x")], is_error=True)

    @server.tool
    def logs(ctx: Context) -> None:
        ctx.log("warning", {"a": 1}, "here")
        ctx.log("debug", "quiet")


def add_resources_and_prompts(server):
    @server.resource("config://app", mime_type="application/json", title="Config")
    def config() -> dict:
        """The settings."""
        return {"a": 1}

    @server.resource("data://bytes")
    def data() -> bytes:
        return PNG

    @server.resource("user://{name}/{part}")
    def user(name: str, part: str, ctx: Context) -> str:
        assert ctx.request_id is not None
        return "%s:%s" % (name, part)

    @server.resource("square://{n}")
    def square(n: int) -> Point:
        return Point(n * n)

    @server.prompt
    def review(code: str, lines: int = 1) -> str:
        """Review some code."""
        return "%s %d" % (code, lines + 1)

    @server.prompt(name="talk", title="Talk")
    def conversation() -> list:
        return [PromptMessage("assistant", TextContent("hi")), "hello", image(PNG, "image/png")]


@pytest.fixture(params=REVISIONS)
def peer(request):
    with ScriptedPeer.of_server(make_server()) as made:
        made.handshake(request.param)
        made.revision = revision(request.param)
        yield made


def call(peer, name, arguments=None, id=1):
    return peer.call(id, "tools/call", {"name": name, **({} if arguments is None else {"arguments": arguments})})


def text_of(answer):
    return [block.get("text") for block in answer["result"]["content"]]


def test_tools_are_listed_with_what_the_revision_has(peer):
    listed = {tool["name"]: tool for tool in peer.call(1, "tools/list")["result"]["tools"]}
    assert list(listed)[:2] == ["echo", "add"], "in the order of registration"
    assert listed["echo"]["description"] == "Give back the text."
    assert listed["add"]["inputSchema"]["required"] == ["a"]
    assert ("title" in listed["add"]) is peer.revision.titles
    assert ("annotations" in listed["add"]) is peer.revision.tool_annotations
    assert ("outputSchema" in listed["point"]) is peer.revision.structured_content


@pytest.mark.parametrize("name, arguments, texts, structured", [
    ("echo", {"text": "h\u00e9 \U0001f600 \u2028"}, ["h\u00e9 \U0001f600 \u2028"], None),
    ("add", {"a": 2, "b": 3}, ["5"], {"result": 5}),
    ("add", {"a": 2}, ["3"], {"result": 3}),
    ("point", {"x": 1}, ['{"x":1,"y":0.5}'], {"x": 1, "y": 0.5}),
    ("names", {"of": ["a"], "first": "b"}, ['["b","a"]'], {"result": ["b", "a"]}),
    ("explicit", {"n": 4}, ['{"n": 4}'], None),
    ("promised", {"n": "5"}, ['{"n":5}'], {"n": 5}),
    ("logs", None, [], None),
])
def test_results_are_text_and_structured_content(peer, name, arguments, texts, structured):
    answer = call(peer, name, arguments)
    assert text_of(answer) == texts and not answer["result"].get("isError")
    assert answer["result"].get("structuredContent") == (structured if peer.revision.structured_content else None)


def test_every_content_type_arrives_in_the_form_the_revision_has(peer):
    blocks = call(peer, "everything")["result"]["content"]
    kinds = [block["type"] for block in blocks]
    assert kinds[:2] == ["text", "image"] and kinds[3:5] == ["resource", "resource"] and len(kinds) == 6
    assert base64.b64decode(blocks[1]["data"]) == PNG and base64.b64decode(blocks[3]["resource"]["blob"]) == PNG
    assert (kinds[2] == "audio") is peer.revision.audio_content
    assert (kinds[5] == "resource_link") is peer.revision.resource_links


@pytest.mark.parametrize("arguments, place", [
    ({}, "a"), ({"a": "x"}, "arguments.a"), ({"a": 1.5}, "arguments.a"), ({"a": None}, "arguments.a"),
    ({"a": True}, "arguments.a"),
])
def test_arguments_that_do_not_fit_are_told_by_place(peer, arguments, place):
    answer = call(peer, "add", arguments)
    if peer.revision.tool_input_errors_are_results:
        assert answer["result"]["isError"] is True and place in text_of(answer)[0]
    else:
        assert answer["error"]["code"] == -32602 and place in answer["error"]["message"]


def test_arguments_that_are_no_object_are_refused(peer):
    error = call(peer, "add", [1])["error"]
    assert error["code"] == -32602 and "params.arguments: expected object, got array" in error["message"]


def test_stringified_arguments_are_mended_and_counted(peer):
    answer = call(peer, "names", {"of": '["a", "b"]'})
    assert text_of(answer) == ['["a","b"]']
    assert peer.connection.counters["stringified argument"] == 1


def test_strict_servers_mend_nothing():
    with ScriptedPeer.of_server(make_server(strict=True)) as peer:
        peer.handshake("2025-11-25")
        assert call(peer, "names", {"of": '["a"]'})["result"]["isError"] is True


@pytest.mark.parametrize("how, text", [("tool", "try later"), ("value", "ValueError: bad value")])
def test_a_tool_that_fails_is_a_result_for_the_model(peer, how, text):
    answer = call(peer, "fail", {"how": how})
    assert answer["result"]["isError"] is True and text_of(answer) == [text]


def test_masked_errors_tell_only_what_the_tool_wanted_to_tell():
    with ScriptedPeer.of_server(make_server(mask_errors=True)) as peer:
        peer.handshake("2025-11-25")
        assert text_of(call(peer, "fail", {"how": "value"}, 1)) == [
            "Internal error in tool 'fail' (request 1); the server's log has the details"]
        assert text_of(call(peer, "fail", {"how": "tool"}, 2)) == ["try later"]


def test_other_failures_of_a_tool_are_errors_and_the_connection_lives(peer):
    assert call(peer, "fail", {"how": "rpc"}, 1)["error"] == {"code": -5, "message": "own", "data": [1]}
    assert call(peer, "fail", {"how": "exit"}, 2)["error"] == {
        "code": -32603, "message": "Internal error in tool 'fail': SystemExit: 3"}
    assert peer.call(3, "nope")["error"]["code"] == -32601
    assert call(peer, "nope", {}, 4)["error"]["code"] == -32602
    assert call(peer, "whole", {}, 5)["result"]["isError"] is True
    assert text_of(call(peer, "echo", {"text": "on"}, 6)) == ["on"]


def test_a_result_that_json_cannot_hold_names_the_place(peer):
    answer = call(peer, "stats")
    assert answer["result"]["isError"] is True and "mean is NaN" in text_of(answer)[0]


def test_a_structured_result_unlike_its_schema_is_a_failure(peer):
    answer = call(peer, "promised", {"n": "x"})
    assert answer["result"]["isError"] is True and "structuredContent.n" in text_of(answer)[0]


def test_resources_and_templates_are_listed_and_read(peer):
    listed = peer.call(1, "resources/list")["result"]["resources"]
    assert [item["uri"] for item in listed] == ["config://app", "data://bytes"]
    assert ("title" in listed[0]) is peer.revision.titles
    templates = peer.call(2, "resources/templates/list")["result"]["resourceTemplates"]
    assert [item["uriTemplate"] for item in templates] == ["user://{name}/{part}", "square://{n}"]
    read = [peer.call(3 + n, "resources/read", {"uri": uri})["result"]["contents"] for n, uri in enumerate(
        ["config://app", "data://bytes", "user://ann/a%20b", "square://12"])]
    assert read[0] == [{"uri": "config://app", "text": '{"a":1}', "mimeType": "application/json"}]
    assert base64.b64decode(read[1][0]["blob"]) == PNG
    assert read[2][0]["text"] == "ann:a b"
    assert json.loads(read[3][0]["text"]) == {"x": 144, "y": 0.5}


@pytest.mark.parametrize("uri", ["nope://x", "config://app/more", "user://a", "user://a/b/c", "square://x"])
def test_an_unknown_resource_is_answered_with_the_code_of_the_revision(peer, uri):
    error = peer.call(1, "resources/read", {"uri": uri})["error"]
    assert error["code"] == peer.revision.resource_not_found_code and error["data"] == {"uri": uri}


def test_prompts_are_listed_and_got(peer):
    listed = {prompt["name"]: prompt for prompt in peer.call(1, "prompts/list")["result"]["prompts"]}
    assert listed["review"]["arguments"] == [{"name": "code", "required": True}, {"name": "lines"}]
    got = peer.call(2, "prompts/get", {"name": "review", "arguments": {"code": "x", "lines": "41"}})["result"]
    assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "x 42"}}]
    talk = peer.call(3, "prompts/get", {"name": "talk"})["result"]["messages"]
    assert [(m["role"], m["content"]["type"]) for m in talk] == [
        ("assistant", "text"), ("user", "text"), ("user", "image")]


@pytest.mark.parametrize("params, text", [
    ({"name": "nope"}, "nope"), ({"name": "review"}, "code"),
    ({"name": "review", "arguments": {"code": "x", "z": "1"}}, "z"),
    ({"name": "review", "arguments": {"code": "x", "lines": "many"}}, "lines"),
    ({"name": "review", "arguments": {"code": 5}}, "params.arguments.code"), ({}, "name"),
])
def test_prompts_with_wrong_names_or_arguments_are_refused(peer, params, text):
    error = peer.call(1, "prompts/get", params)["error"]
    assert error["code"] == -32602 and text in error["message"]


def test_log_messages_pass_the_level_that_the_client_set(peer):
    call(peer, "logs", {}, 1)
    levels = [m["params"]["level"] for m in peer.seen if m.get("method") == "notifications/message"]
    assert levels == ["warning", "debug"]
    assert peer.call(2, "logging/setLevel", {"level": "error"}) == {"jsonrpc": "2.0", "id": 2, "result": {}}
    start = len(peer.seen)
    call(peer, "logs", {}, 3)
    assert not [m for m in peer.seen[start:] if m.get("method")]
    assert peer.call(4, "logging/setLevel", {"level": "loud"})["error"]["code"] == -32602


def test_pages_survive_insertions_and_refuse_foreign_cursors():
    server = Server("pages", page_size=2)
    for number in range(5):
        server.tool(lambda: "x", name="t%d" % number)
    server.prompt(lambda: "x", name="t1")
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake("2025-11-25")
        names, cursor, id = [], None, 0
        while True:
            id += 1
            page = peer.call(id, "tools/list", {} if cursor is None else {"cursor": cursor})["result"]
            names += [tool["name"] for tool in page["tools"]]
            cursor = page.get("nextCursor")
            if id == 1:
                server.tool(lambda: "x", name="tlate")
            if cursor is None:
                break
        assert names == ["t0", "t1", "t2", "t3", "t4", "tlate"]
        first = peer.call("a", "tools/list")["result"]["nextCursor"]
        for number, foreign in enumerate(["", "x", first[:-1], "\u00e9", "AAAA"]):
            assert peer.call("c%d" % number, "tools/list", {"cursor": foreign})["error"]["code"] == -32602
        assert peer.call("d", "prompts/list", {"cursor": first})["error"]["code"] == -32602


@pytest.mark.parametrize("register, text", [
    (lambda s: s.tool(lambda: 1), "name"),
    (lambda s: (s.tool(lambda: 1, name="a"), s.tool(lambda: 1, name="a")), "already"),
    (lambda s: s.resource("config")(lambda: 1), "absolute URI"),
    (lambda s: s.resource("x://{a}")(lambda: 1), "takes nothing"),
    (lambda s: s.resource("x://{a}")(lambda a, b: 1), "takes a, b"),
    (lambda s: s.resource("x://{a}{b}")(lambda a, b: 1), ""),
    (lambda s: s.resource("x://{a")(lambda a: 1), ""),
    (lambda s: s.tool(lambda: 1, name="a", input_schema={"$schema": "x:draft-04"}), "draft-04"),
    (lambda s: s.tool(lambda: 1, name="a", input_schema={"$ref": "http://example.com/x"}), "example.com"),
    (lambda s: s.tool(lambda: 1, name="a", output_schema={"type": "nothing"}), "#/type"),
    (lambda s: Server("x", revisions=["2020-01-01"]), "unknown protocol revision"),
    (lambda s: Server("x", revisions=[]), "no revision was chosen"),
])
def test_registration_mistakes_are_told_at_once(register, text):
    with pytest.raises(ValueError) as caught:
        register(Server("x"))
    assert text in str(caught.value)


def test_a_server_without_tools_has_no_tools():
    with ScriptedPeer.of_server(Server("empty")) as peer:
        assert peer.handshake("2025-11-25")["capabilities"] == {"logging": {}}
        for number, method in enumerate(["tools/list", "resources/read", "prompts/get", "completion/complete"]):
            assert peer.call(number, method, {})["error"]["code"] == -32601


def test_unused_content_classes_are_constants_of_the_wire():
    assert ImageContent(data="", mime_type="image/png").type == "image"
    assert AudioContent(data="", mime_type="audio/wav").type == "audio"
