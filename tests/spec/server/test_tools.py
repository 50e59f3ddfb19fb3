"""Tools of a server: what is declared and listed, what a call answers, and what an author may register."""
import json
from dataclasses import dataclass
from typing import Any, Dict, List

import pytest

from mcp_ref import Context, Limits, Server, ToolError, deadline
from mcp_ref.errors import RpcError
from mcp_ref.jsonschema import validate
from mcp_ref.messages.content import EmbeddedResource, TextContent, TextResourceContents
from mcp_ref.messages.tools import CallToolResult
from mcp_ref.server.registry.checks import tool_name_fault
from tests.support.serving import ask, over, served

OBJECT = {"type": "object"}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


def call(peer, name, arguments=None):
    return ask(peer, "tools/call", {"name": name, "arguments": arguments or {}})


def listed(peer):
    return {tool["name"]: tool for tool in ask(peer, "tools/list")["result"]["tools"]}


def texts(answer):
    return [block["text"] for block in answer["result"]["content"]]


def failed(answer):
    """The text of a result that says it failed."""
    assert answer["result"]["isError"] is True, answer
    text, = texts(answer)
    return text


# --- capability and list ----------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.capability")
@over("tools.capability")
def test_a_server_with_tools_declares_them(revision):
    """[.. server/tools §Capabilities] MUST"""
    server = Server("tools")
    server.tool(lambda: "x", name="x")
    with served(server, revision) as peer:
        assert peer.capabilities["tools"] == {"listChanged": True}
        assert list(listed(peer)) == ["x"] and texts(call(peer, "x")) == ["x"]


@pytest.mark.spec("tools.capability")
@over("tools.capability")
def test_a_server_that_declares_no_tools_has_none(revision):
    """[.. server/tools §Capabilities] MUST: what is not declared is not served."""
    server = Server("no tools")
    server.prompt(lambda: "x", name="x")
    with served(server, revision) as peer:
        assert "tools" not in peer.capabilities
        for method in ("tools/list", "tools/call"):
            assert ask(peer, method, {"name": "x"})["error"]["code"] == -32601


@pytest.mark.spec("tools.list-changed")
@over("tools.list-changed")
def test_clients_hear_of_new_and_removed_tools_and_then_see_them(revision):
    """[..2025-11-25 server/tools §List Changed Notification] SHOULD"""
    server = Server("changing")
    server.tool(lambda: "old", name="old")
    with served(server, revision) as peer:
        assert list(listed(peer)) == ["old"]
        server.tool(lambda: "new", name="new")
        assert peer.receive() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert list(listed(peer)) == ["old", "new"] and texts(call(peer, "new")) == ["new"]
        server.remove_tool("old")
        assert peer.receive() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert list(listed(peer)) == ["new"] and call(peer, "old")["error"]["code"] == -32602
        with pytest.raises((ValueError, KeyError)):
            server.remove_tool("old")
        with pytest.raises(ValueError):
            server.tool(lambda: "again", name="new")
        assert peer.barrier("nothing changed") == []


# --- input schemas ----------------------------------------------------------------------------------------------------

@dataclass
class Point:
    x: int


def schema_sources() -> Dict[str, Any]:
    """Functions, or functions with a schema, of every kind that makes an input schema."""
    def nothing(): return ""
    def context_only(ctx: Context): return ""
    def typed(a: int, b: List[str], c: Point, d: Dict[str, float]): return ""
    def untyped(a, b=None): return ""
    def explicit(**arguments): return ""
    return {
        "nothing": (nothing, None), "context_only": (context_only, None), "typed": (typed, None),
        "untyped": (untyped, None), "empty": (explicit, OBJECT),
        "closed": (explicit, dict(OBJECT, additionalProperties=False)),
        "draft": (explicit, dict(OBJECT, **{"$schema": "http://json-schema.org/draft-07/schema#"})),
        "refs": (explicit, {"type": "object", "$defs": {"n": {"type": "integer"}},
                            "properties": {"n": {"$ref": "#/$defs/n"}}}),
        "any_of": (explicit, dict(OBJECT, anyOf=[{"required": ["a"]}, {"required": ["b"]}])),
    }


@pytest.mark.spec("tools.input-schema-object")
@over("tools.input-schema-object")
def test_every_listed_tool_has_an_object_schema(revision):
    """[2025-11-25.. server/tools §Tool] MUST"""
    server = Server("schemas")
    for name, (function, schema) in schema_sources().items():
        server.tool(function, name=name, input_schema=schema)
    with served(server, revision) as peer:
        tools = listed(peer)
    assert set(tools) == set(schema_sources())
    for tool in tools.values():
        assert isinstance(tool["inputSchema"], dict) and tool["inputSchema"]["type"] == "object"
        assert isinstance(validate({}, tool["inputSchema"]), list)  # a schema, and one that can be followed
    assert tools["closed"]["inputSchema"] == {"type": "object", "additionalProperties": False}


@pytest.mark.spec("tools.input-schema-object")
@pytest.mark.parametrize("schema, error, words", [
    ({}, ValueError, "input_schema.type"),
    ({"type": "array"}, ValueError, "arguments are an object"),
    ({"type": "string"}, ValueError, "input_schema.type"),
    ({"type": ["object", "null"]}, ValueError, "input_schema.type"),
    ({"type": None}, ValueError, "type"),
    ({"anyOf": [{"type": "object"}]}, ValueError, "input_schema.type"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, ValueError, "input_schema.type"),
    ({"properties": {}}, ValueError, "input_schema.type"),
    ({"type": "object", "properties": []}, ValueError, "properties"),
    ({"type": "object", "properties": {"a": True}}, ValueError, "input_schema.properties.a"),
    ({"type": "object", "properties": {"a": None}}, ValueError, "properties/a"),
    ({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "text"}}}}},
     ValueError, "properties/a/properties/b/type"),
    ({"type": "object", "properties": {"a": {"items": {"minimum": "3"}}}}, ValueError, "properties/a/items/minimum"),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}},
      "$defs": {"a": {"anyOf": [{"type": "string"}, {"required": "a"}]}}}, ValueError, "$defs/a/anyOf/1/required"),
    ({"type": "object", "required": "a"}, ValueError, "required"),
    ({"type": "object", "required": [1]}, ValueError, "required"),
    ({"type": "object", "$schema": 7}, ValueError, "$schema"),
    (True, TypeError, "a schema is a dict"), ([], TypeError, "a schema is a dict"), ("{}", TypeError, "dict, got str"),
])
def test_an_input_schema_that_is_not_one_of_an_object_is_refused_at_registration(schema, error, words):
    """[2025-11-25.. server/tools §Tool] MUST"""
    server = Server("refusing")
    with pytest.raises(error) as caught:
        server.tool(lambda **arguments: "", name="tool", input_schema=schema)
    assert words in str(caught.value)
    assert len(server.tools.listing) == 0


# --- validating arguments ---------------------------------------------------------------------------------------------

STRICT_SCHEMA = {
    "type": "object", "required": ["n"], "additionalProperties": False,
    "properties": {"n": {"type": "integer", "minimum": 1}, "words": {"type": "array", "items": {"type": "string"}}},
}


@pytest.mark.spec("tools.validate-inputs")
@pytest.mark.parametrize("arguments, place", [
    ({}, '"n"'), ({"n": "one"}, "arguments.n"), ({"n": 0}, "arguments.n"), ({"n": 1.5}, "arguments.n"),
    ({"n": True}, "arguments.n"),
    ({"n": None}, "arguments.n"), ({"n": 1, "more": 1}, "more"), ({"n": 1, "words": "a"}, "arguments.words"),
    ({"n": 1, "words": ["a", 2]}, "arguments.words[1]"),
    ({"n": [[1]]}, "arguments.n"), ({"n": {"n": 1}}, "arguments.n"), ({"N": 1}, "arguments.N"),
])
@over("tools.validate-inputs")
def test_arguments_that_do_not_fit_never_reach_the_tool(arguments, place, revision):
    """[.. server/tools §Security Considerations] MUST"""
    reached = []
    server = Server("validating", strict=True)

    @server.tool(input_schema=STRICT_SCHEMA)
    def explicit(**given):
        reached.append(given)

    with served(server, revision) as peer:
        answer = call(peer, "explicit", arguments)
        text = failed(answer) if revision >= "2025-11-25" else answer["error"]["message"]
        assert place in text and "explicit" in text and answer.get("error", {"code": -32602})["code"] == -32602
        assert reached == []
        assert "isError" not in call(peer, "explicit", {"n": 1, "words": ["a"]})["result"]
        assert reached == [{"n": 1, "words": ["a"]}]


@pytest.mark.spec("tools.validate-inputs")
@over("tools.validate-inputs")
def test_arguments_are_validated_by_the_signature_too(revision):
    """[.. server/tools §Security Considerations] MUST"""
    reached = []
    server = Server("validating")

    @server.tool
    def typed(n: int, words: List[str]):
        reached.append((n, words))

    with served(server, revision) as peer:
        for arguments in ({}, {"n": 1}, {"n": "x", "words": []}, {"n": 1, "words": [1]}, {"n": 1, "words": [], "z": 1}):
            answer = call(peer, "typed", arguments)
            assert answer["result"]["isError"] if "result" in answer else answer["error"]["code"] == -32602
        for broken in ([1], "x", 1, True):
            params = {"name": "typed", "arguments": broken}
            assert ask(peer, "tools/call", params)["error"]["code"] == -32602
        for params in ({}, {"name": 1}, {"name": None}, {"arguments": {}}):
            assert ask(peer, "tools/call", params)["error"]["code"] == -32602
        assert reached == []
        call(peer, "typed", {"n": 1, "words": ["a"]})
        assert reached == [(1, ["a"])]


# --- errors -----------------------------------------------------------------------------------------------------------

class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")


ERRORS = [
    (ToolError("try the other city"), "try the other city"),
    (ValueError("no such city"), "ValueError: no such city"),
    (KeyError("city"), "KeyError: 'city'"),
    (ZeroDivisionError(), "ZeroDivisionError"),
    (OSError(5, "disk"), "OSError: [Errno 5] disk"),
    (AssertionError("not so"), "AssertionError: not so"),
    (RecursionError("too deep"), "RecursionError: too deep"),
    (ValueError("no file \ud800\nhere"), "ValueError: no file \\ud800\nhere"),
    (ToolError("no file \udcff"), "no file \\udcff"),
    (Mute(), "Mute"),
]


@pytest.mark.spec("tools.errors-in-result")
@over("tools.errors-in-result")
def test_errors_of_a_tool_are_results_for_the_model(revision):
    """[..2025-11-25 server/tools §Error Handling], [2025-11-25 schema.json §CallToolResult] SHOULD"""
    server = Server("failing")

    @server.tool
    def fail(number: int):
        raise ERRORS[number][0]

    with served(server, revision) as peer:
        for number, (error, text) in enumerate(ERRORS):
            assert failed(call(peer, "fail", {"number": number})) == text
        assert peer.barrier("alive") == []


@pytest.mark.spec("tools.errors-in-result")
@over("tools.errors-in-result")
def test_errors_about_the_call_itself_are_protocol_errors(revision):
    """[..2025-11-25 server/tools §Error Handling]: unknown tools are; and what a tool asks to be one is passed on."""
    server = Server("failing")

    @server.tool
    def refuse():
        raise RpcError(-7, "Not now.", {"wait": 5})

    with served(server, revision) as peer:
        assert call(peer, "unknown tool")["error"] == {"code": -32602, "message": "Unknown tool: unknown tool"}
        assert call(peer, "a\nb" * 100)["error"]["message"].startswith("Unknown tool: a\\nba")
        assert call(peer, "refuse")["error"] == {"code": -7, "message": "Not now.", "data": {"wait": 5}}


def test_masked_errors_tell_no_type_and_no_text():
    server = Server("masking", mask_errors=True)

    @server.tool
    def fail(number: int):
        raise ERRORS[number][0]

    with served(server, "2025-11-25") as peer:
        answers = [call(peer, "fail", {"number": number}) for number in (0, 1, 2)]
        said, asked = list(map(failed, answers)), [repr(answer["id"]) for answer in answers[1:]]
        assert said == ["try the other city", *(
            "Internal error in tool 'fail' (request %s); the server's log has the details" % id for id in asked)]


# --- structured results -----------------------------------------------------------------------------------------------

def whole(structured=None, content=(), **members):
    return CallToolResult(list(content), structured_content=structured, **members)


BAD_RESULTS = [
    {}, {"x": "1"}, {"x": 1, "y": 2}, [1], 5, None, "text", {"x": float("nan")}, whole(), whole({"x": "1"}), whole([1]),
    whole({}), whole(content=[TextContent("only text")]), [TextContent("a block")],
]
GOOD_RESULTS = [{"x": 1}, Point(1), whole({"x": 1}), whole({"x": 1}, [TextContent("one")], is_error=False)]


@pytest.mark.spec("tools.output-schema-conform")
@over("tools.output-schema-conform")
def test_a_result_that_does_not_fit_the_output_schema_is_never_sent(revision):
    """[2025-06-18.. server/tools §Output Schema] MUST"""
    server = Server("promising")
    server.tool(lambda number: BAD_RESULTS[number], name="bad", output_schema=POINT)
    with served(server, revision) as peer:
        assert listed(peer)["bad"]["outputSchema"] == POINT
        for number in range(len(BAD_RESULTS)):
            answer = call(peer, "bad", {"number": number})
            assert failed(answer) and "structuredContent" not in answer["result"], BAD_RESULTS[number]
            if isinstance(BAD_RESULTS[number], CallToolResult) and not BAD_RESULTS[number].has_structured_content:
                assert "has no structured content" in failed(answer)
        assert server.tools.counters["bad tool results"] >= 5


@pytest.mark.spec("tools.output-schema-conform")
@over("tools.output-schema-conform")
def test_results_of_tools_with_an_output_schema_fit_it(revision):
    """[2025-06-18.. server/tools §Output Schema] MUST"""
    server = Server("promising")
    server.tool(lambda number: GOOD_RESULTS[number], name="good", output_schema=POINT)

    @server.tool
    def numbers() -> List[int]:
        return [1, 2]

    @server.tool
    def point() -> Point:
        return Point(3)

    @server.tool
    def lying() -> Point:
        return {"x": "three"}

    with served(server, revision) as peer:
        schemas = {name: tool["outputSchema"] for name, tool in listed(peer).items()}
        calls = [("good", {"number": number}) for number in range(len(GOOD_RESULTS))]
        for name, arguments in calls + [("numbers", {}), ("point", {})]:
            result = call(peer, name, arguments)["result"]
            assert not result.get("isError") and validate(result["structuredContent"], schemas[name]) == []
        assert "structuredContent.x" in failed(call(peer, "lying"))


def test_a_result_that_says_it_failed_needs_no_structured_content():
    """[2025-06-18.. server/tools §Error Handling]"""
    server = Server("failing")
    server.tool(lambda: whole(content=[TextContent("no luck")], is_error=True), name="fail", output_schema=POINT)
    with served(server, "2025-11-25") as peer:
        assert failed(call(peer, "fail")) == "no luck"


@pytest.mark.spec("tools.structured-text-fallback")
@pytest.mark.parametrize("value, structured", [
    ({"x": 1}, {"x": 1}), (Point(2), {"x": 2}), (whole({"x": 1}), {"x": 1}), (whole({}), {}),
    (whole({"x": ["\u00e9 \U0001f600"]}), {"x": ["\u00e9 \U0001f600"]}),
])
@over("tools.structured-text-fallback")
def test_structured_content_is_also_there_as_text(value, structured, revision):
    """[2025-06-18.. server/tools §Structured Content] SHOULD"""
    server = Server("both")
    server.tool(lambda: value, name="both", output_schema=OBJECT)
    with served(server, revision) as peer:
        result = call(peer, "both")["result"]
        block, = result["content"]
        assert block["type"] == "text" and json.loads(block["text"]) == structured
        assert result["structuredContent"] == structured


@pytest.mark.spec("tools.structured-text-fallback")
@over("tools.structured-text-fallback")
def test_wrapped_values_are_there_as_text_without_their_wrapping(revision):
    """[2025-06-18.. server/tools §Structured Content] SHOULD"""
    def number() -> int: return 5
    def flag() -> bool: return True
    def words() -> List[str]: return ["a"]

    server = Server("both")
    for function in (number, flag, words):
        server.tool(function)
    with served(server, revision) as peer:
        for function in (number, flag, words):
            result = call(peer, function.__name__)["result"]
            assert json.loads(result["content"][0]["text"]) == function()
            assert result["structuredContent"] == {"result": function()}


# --- embedded resources -----------------------------------------------------------------------------------------------

def embedding(**options):
    server = Server("embedding", **options)
    block = EmbeddedResource(TextResourceContents("file:///a.txt", "text"))
    server.tool(lambda: [block, "and more"], name="embed")
    server.tool(lambda: whole(content=[block]), name="whole")
    return server


@pytest.mark.spec("tools.embedded-resources-capability")
@over("tools.embedded-resources-capability")
def test_a_server_that_embeds_resources_declares_resources(revision):
    """[2025-06-18.. server/tools §Embedded Resources] SHOULD"""
    server = embedding(strict=True)
    server.resource("file:///a.txt")(lambda: "text")
    with served(server, revision) as peer:
        assert "resources" in peer.capabilities
        for name in ("embed", "whole"):
            block = call(peer, name)["result"]["content"][0]
            assert block["resource"] == {"uri": "file:///a.txt", "text": "text", "mimeType": "text/plain"}
        assert peer.connection.counters["embedded resource"] == 0


@pytest.mark.spec("tools.embedded-resources-capability")
@over("tools.embedded-resources-capability")
def test_a_strict_server_without_resources_embeds_none(revision):
    """[2025-06-18.. server/tools §Embedded Resources] SHOULD"""
    with served(embedding(strict=True), revision) as peer:
        assert "resources" not in peer.capabilities
        for name in ("embed", "whole"):
            assert "resources capability" in failed(call(peer, name))


@pytest.mark.spec("tools.embedded-resources-capability")
@over("tools.embedded-resources-capability")
def test_a_lenient_server_that_embeds_resources_without_declaring_them_counts_it(revision, caplog):
    """[2025-06-18.. server/tools §Embedded Resources] SHOULD"""
    with served(embedding(), revision) as peer:
        assert call(peer, "embed")["result"]["content"][0]["type"] == "resource"
        assert peer.connection.counters["embedded resource"] == 1
    assert "register a resource" in caplog.text and "embed" in caplog.text


# --- names ------------------------------------------------------------------------------------------------------------

ALLOWED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
ASCII_AND_OTHERS = [chr(code) for code in range(128)] + ["\u00e9", "\u0661", "\u212a", "\uff21", "\U0001f600", "\ud800"]


def registered(name, strict=False):
    """The warning or the refusal that registering a tool of this name brings; "" for neither."""
    server = Server("names", strict=strict)
    try:
        server.tool(lambda: "x", name=name)
    except (UserWarning, ValueError) as error:  # warnings are errors in these tests
        assert isinstance(error, ValueError) == strict
        return str(error)
    return ""


@pytest.mark.spec("tools.name-length")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("length, fine", [(1, True), (2, True), (127, True), (128, True), (129, False), (4000, False)])
def test_names_of_1_to_128_characters_are_fine(length, fine, strict):
    """[2025-11-25.. server/tools §Tool Names] SHOULD"""
    said = registered("n" * length, strict)
    assert (said == "") == fine
    assert fine or "1 to 128" in said and "server/tools §Tool Names" in said


@pytest.mark.spec("tools.name-charset", "tools.name-no-special")
@pytest.mark.parametrize("strict", [False, True])
def test_names_of_letters_digits_and_three_signs_are_fine_and_no_others(strict):
    """[2025-11-25.. server/tools §Tool Names] SHOULD"""
    for sign in ASCII_AND_OTHERS:
        for name in (sign, "get" + sign, sign + "get", "get%suser" % sign):
            said = registered(name, strict)
            assert (said == "") == (sign in ALLOWED), (name, said)
            assert not said or ascii(sign) in said and "server/tools §Tool Names" in said and said.isprintable()
    for name in ("getUser", "DATA_EXPORT_v2", "admin.tools.list"):
        assert registered(name, strict) == "" == tool_name_fault(name)


def test_a_name_that_only_brings_a_warning_makes_a_tool_all_the_same():
    server = Server("names")
    with pytest.warns(UserWarning, match="tool name '.*' has '[ ,]'") as caught:
        server.tool(lambda: "x", name="get user")

        @server.tool(name="a,b")
        def decorated():
            return "y"

    assert [warning.filename for warning in caught] == [__file__] * 2, "it names the line of the author"
    with served(server, "2025-11-25") as peer:
        assert texts(call(peer, "get user")) == ["x"] and texts(call(peer, "a,b")) == ["y"]


@pytest.mark.spec("tools.name-case-sensitive")
@over("tools.name-case-sensitive")
def test_names_that_differ_in_case_are_two_tools(revision):
    """[2025-11-25.. server/tools §Tool Names] SHOULD"""
    server = Server("names")
    for name in ("echo", "Echo", "ECHO"):
        server.tool(lambda name=name: name, name=name, input_schema=OBJECT)
    with served(server, revision) as peer:
        assert list(listed(peer)) == ["echo", "Echo", "ECHO"]
        assert [texts(call(peer, name)) for name in listed(peer)] == [["echo"], ["Echo"], ["ECHO"]]
        for other in ("eCHO", "echo ", " echo", "ech", "echoo"):
            assert call(peer, other)["error"]["code"] == -32602


@pytest.mark.spec("tools.name-unique")
@over("tools.name-unique")
def test_a_name_is_given_once(revision):
    """[2025-11-25.. server/tools §Tool Names] SHOULD"""
    server = Server("names")
    server.tool(lambda: "first", name="same")
    with pytest.raises(ValueError, match="'same' already"):
        server.tool(lambda: "second", name="same")
    with served(server, revision) as peer:
        assert [tool["name"] for tool in ask(peer, "tools/list")["result"]["tools"]] == ["same"]
        assert texts(call(peer, "same")) == ["first"]
        server.remove_tool("same")
        server.tool(lambda: "third", name="same")
        assert texts(call(peer, "same")) == ["third"]


# --- rates ------------------------------------------------------------------------------------------------------------

class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(deadline, "clock", lambda: self.now)


def counting(**options):
    """A server that counts its calls, and its count."""
    server = Server("counting", **options)
    calls = []
    server.tool(lambda: calls.append("free"), name="free")
    server.tool(lambda: calls.append("rare"), name="rare", rate=2)
    return server, calls


@pytest.mark.spec("tools.rate-limit")
@over("tools.rate-limit")
def test_calls_of_one_client_above_its_rate_are_refused(revision, monkeypatch):
    """[.. server/tools §Security Considerations] MUST"""
    server, calls = counting(limits=Limits(max_tool_calls_per_second=3))
    with served(server, revision) as peer, served(server, revision) as other:
        clock = Clock(monkeypatch)
        answers = [call(peer, "free") for _ in range(5)]
        assert [answer["result"].get("isError", False) for answer in answers] == [False] * 3 + [True] * 2
        assert "max_tool_calls_per_second" in failed(answers[4]) and calls == ["free"] * 3
        assert "max_tool_calls_per_second" in failed(call(peer, "unknown")), "what is not there costs a call, too"
        assert peer.connection.counters["tool calls above the rate"] == 3
        assert not call(other, "free")["result"].get("isError"), "another client is not held back"
        clock.now += 1 / 3 + 0.001
        assert [call(peer, "free")["result"].get("isError", False) for _ in range(2)] == [False, True]


@pytest.mark.spec("tools.rate-limit")
@over("tools.rate-limit")
def test_calls_of_one_tool_above_its_rate_are_refused_whoever_calls(revision, monkeypatch):
    """[.. server/tools §Security Considerations] MUST"""
    server, calls = counting()
    with served(server, revision) as peer, served(server, revision) as other:
        server.tools.listing.get("rare").rate._at = 1000.0  # its bucket was made with another clock
        clock = Clock(monkeypatch)
        assert not call(peer, "rare")["result"].get("isError") and not call(other, "rare")["result"].get("isError")
        assert "tool rare, which takes 2 a second (rate)" in failed(call(peer, "rare"))
        assert "rate" in failed(call(other, "rare")) and calls == ["rare"] * 2
        assert not call(peer, "free")["result"].get("isError"), "other tools are not held back"
        clock.now += 0.51
        assert not call(other, "rare")["result"].get("isError")


@pytest.mark.spec("tools.rate-limit")
def test_every_client_has_a_rate_by_default():
    """[.. server/tools §Security Considerations] MUST"""
    assert 0 < Limits().max_tool_calls_per_second < float("inf")
    server, _ = counting()
    with served(server, "2025-11-25") as peer:
        call(peer, "free")
        assert peer.connection.rate("max_tool_calls_per_second").per_second == Limits().max_tool_calls_per_second


@pytest.mark.parametrize("rate, error", [
    (0, ValueError), (-1, ValueError), (float("nan"), ValueError), ("1", TypeError),
])
def test_a_rate_is_a_positive_number(rate, error):
    with pytest.raises(error):
        Server("rates").tool(lambda: "", name="tool", rate=rate)
