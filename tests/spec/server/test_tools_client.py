"""Tools as a client uses them: names, time-outs, and results that are checked before anybody uses them."""
import itertools
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.errors import InvalidResult, PeerProtocolError, RequestTimeout
from mcp_ref.jsonschema import errors
from mcp_ref.limits import Limits
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of
from tests.support.scene import SILENT, Failure, Scene, paged, tool
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

TEXT = {"type": "text", "text": "x"}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

WAYS = {
    "call": lambda client, *args, **options: client.call_tool(*args, **options),
    "submit": lambda client, *args, **options: client.submit_tool(*args, **options).result(PATIENCE),
}
each_way = pytest.mark.parametrize("call", list(WAYS.values()), ids=list(WAYS))


def structured(value, **more):
    return dict({"content": [TEXT], "structuredContent": value}, **more)


# --- Annotations ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("priority, counted", [(1.5, 1), (-1, 1), (2, 1), (0, 0), (1, 0), (0.5, 0)])
@pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])
def test_priorities_out_of_range_are_counted_and_what_has_them_is_delivered(revision, priority, counted):
    """[2025-06-18.. server/resources §Annotations]: from 0 to 1."""
    hint = {"annotations": {"priority": priority}}
    hints = {"ttlMs": 0, "cacheScope": "private"} if revision == STATELESS else {}
    block = dict(TEXT, **hint)
    asks = {
        "tools/call": ({"content": [TEXT, block]}, lambda client: client.call_tool("x").content[1]),
        "prompts/get": ({"messages": [{"role": "user", "content": block}]},
                        lambda client: client.get_prompt("x").messages[0].content),
        "resources/list": (dict(hints, resources=[dict(hint, uri="a:b", name="b")]),
                           lambda client: client.resources()[0]),
        "resources/templates/list": (dict(hints, resourceTemplates=[dict(hint, uriTemplate="a:{b}", name="b")]),
                                     lambda client: client.resource_templates()[0]),
    }
    for method, (answer, ask) in asks.items():
        with Scene(revision, {method: answer}) as scene:
            assert ask(scene.client).annotations.priority == priority, method
            assert scene.count("number out of range") == counted, method
    with Scene(revision, {"tools/call": asks["tools/call"][0]}) as scene:
        scene.client.submit_tool("x").result(PATIENCE)
        assert scene.count("number out of range") == counted


# --- Names ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.name-case-sensitive")
@each_way
@pytest.mark.parametrize("revision", every_revision_of("tools.name-case-sensitive"))
def test_names_that_differ_in_case_are_two_tools(revision, call):
    """[2025-11-25 server/tools §Tool Names] SHOULD"""
    tools = [tool("get", POINT), tool("Get"), tool("GET")]
    answers = {"tools/list": {"tools": tools}, "tools/call": structured({"x": "no integer"})}
    with Scene(revision, answers) as scene:
        assert [scene.client.tool(name).name for name in ("GET", "get", "Get")] == ["GET", "get", "Get"]
        with pytest.raises(LookupError, match="no tool 'gEt'; it has GET, Get, get"):
            scene.client.tool("gEt")
        assert call(scene.client, "Get").structured_content == {"x": "no integer"}, "that is the schema of get"
        with pytest.raises(InvalidResult):
            call(scene.client, "get")
        assert [params["name"] for params in scene.params("tools/call")] == ["Get", "get"]


def test_a_tool_that_is_not_there_is_refused_with_the_names_of_some_that_are():
    names = ["t%02d" % number for number in range(30)]
    for listed, known in (([], "none"), (names[:20], ", ".join(names[:20])), (names[::-1], ", ".join(names[:20]))):
        with Scene(answers={"tools/list": {"tools": [tool(name) for name in listed]}}) as scene:
            with pytest.raises(LookupError) as caught:
                scene.client.tool("absent")
            assert str(caught.value) == "the server has no tool 'absent'; it has " + known
    with Scene(answers={"tools/list": {"tools": [tool("search"), tool("fetch")]}}) as scene:
        with pytest.raises(LookupError, match="it has fetch, search; did you mean 'search'\\?$"):
            scene.client.tool("serch")


# --- Time-outs --------------------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.call-timeout")
@pytest.mark.parametrize("limits, options", [
    (Limits(request_ceiling=WAIT), {"timeout": 0.01}),
    (Limits(request_ceiling=WAIT, request_timeout=0.01), {}),
    (Limits(request_ceiling=0.01), {"timeout": None}),
])
@each_way
@pytest.mark.parametrize("revision", every_revision_of("tools.call-timeout"))
def test_a_call_that_gets_no_answer_ends_and_is_cancelled(revision, call, limits, options):
    """[.. server/tools §Security Considerations] SHOULD"""
    with Scene(revision, {"tools/call": SILENT}) as scene:
        scene.client.connection.limits = limits  # only now: the handshake has all the time that it needs
        start = deadline.clock()
        with pytest.raises(RequestTimeout, match="tools/call"):
            call(scene.client, "slow", **options)
        assert deadline.clock() - start < WAIT / 2, "it ended at the ceiling"
        eventually(lambda: scene.notifications)
        assert [note["method"] for note in scene.notifications] == ["notifications/cancelled"]
        assert scene.notifications[0]["params"]["requestId"] == scene.requests[0]["id"]


# --- Results ----------------------------------------------------------------------------------------------------------

BROKEN = [
    ({}, "result.content: expected array, got nothing"),
    ({"content": None}, "result.content: expected array, got null"),
    ({"content": {}}, "result.content: expected array, got object"),
    ({"content": ["text"]}, "result.content[0]: expected object"),
    ({"content": [{}]}, "result.content[0].type"),
    ({"content": [{"type": "smell"}]}, "result.content[0].type"),
    ({"content": [TEXT, {"type": "text"}]}, "result.content[1].text: expected string, got nothing"),
    ({"content": [{"type": "text", "text": 5}]}, "result.content[0].text: expected string, got integer"),
    ({"content": [{"type": "image", "data": "aGk="}]}, "result.content[0].mimeType"),
    ({"content": [{"type": "image", "mimeType": "image/png"}]}, "result.content[0].data"),
    ({"content": [{"type": "resource", "resource": {"uri": "x:y"}}]}, "result.content[0].resource"),
    ({"content": [{"type": "resource", "resource": {"text": "no uri"}}]}, "result.content[0].resource.uri"),
    ({"content": [], "isError": "yes"}, "result.isError: expected boolean, got string"),
    ({"content": [dict(TEXT, annotations={"audience": ["everybody"]})]}, "result.content[0].annotations.audience[0]"),
    ({"content": [dict(TEXT, annotations=5)]}, "result.content[0].annotations: expected object"),
    ({"content": [], "_meta": 5}, "result._meta: expected object, got integer"),
    ({"content": [{"type": "image", "data": "not base64!", "mimeType": "image/png"}]}, "content[0].data is not base64"),
    ({"content": [TEXT, {"type": "image", "data": "aGk", "mimeType": "x/y"}]}, "content[1].data is not base64"),
    ({"content": [{"type": "image", "data": "a=Gk", "mimeType": "x/y"}]}, "content[0].data is not base64"),
    ({"content": [{"type": "image", "data": "====", "mimeType": "x/y"}]}, "content[0].data is not base64"),
    ({"content": [{"type": "image", "data": "aGk-", "mimeType": "x/y"}]}, "content[0].data is not base64"),
    ({"content": [{"type": "image", "data": "aGk\u00e9", "mimeType": "x/y"}]}, "content[0].data is not base64"),
    ({"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": "?"}}]}, "content[0].resource.blob is no"),
]
SINCE_AUDIO = [
    ({"content": [{"type": "audio", "data": "aGk=="}]}, "result.content[0].mimeType"),
    ({"content": [{"type": "audio", "data": "aGk==", "mimeType": "audio/wav"}]}, "content[0].data is not base64"),
]
STRUCTURED_OBJECTS = [
    ({"content": [], "structuredContent": [1]}, "result.structuredContent: expected object, got array"),
    ({"content": [], "structuredContent": 5}, "result.structuredContent: expected object, got integer"),
]
SINCE_LINKS = [
    ({"content": [{"type": "resource_link", "uri": "x:y"}]}, "result.content[0].name"),
]
ROWS = [(revision, result, words) for revision in every_revision_of("tools.validate-results") for result, words in
        BROKEN + SINCE_AUDIO * (revision > "2024-11-05") + SINCE_LINKS * (revision > "2025-03-26")
        + STRUCTURED_OBJECTS * ("2025-03-26" < revision < STATELESS)]


@pytest.mark.spec("tools.validate-results")
@pytest.mark.parametrize("revision, result, words", ROWS)
def test_a_result_that_is_none_reaches_nobody(revision, result, words):
    """[.. server/tools §Security Considerations] SHOULD"""
    with Scene(revision, {"tools/call": result}, strict="content[1]" in words) as scene:
        for call in WAYS.values():
            with pytest.raises(PeerProtocolError) as caught:
                call(scene.client, "x")
            assert words in str(caught.value)
        assert scene.asked == ["tools/call"] * 2, "a result without structure is no reason to list the tools"


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_block_that_is_no_base64_is_left_out_where_others_are(revision):
    result = {"content": [TEXT, {"type": "image", "data": "aGk", "mimeType": "x/y"}]}
    with Scene(revision, {"tools/call": result}) as scene:
        assert [block.text for block in scene.client.call_tool("x").content] == [TEXT["text"]]
        assert scene.count("forgiven item") == 1


@pytest.mark.parametrize("data", ["", "aGk=", "aA==", "aGkh", "+/+/", "A" * 40_000])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_base64_is_taken(revision, data):
    result = {"content": [{"type": "image", "data": data, "mimeType": "image/png"},
                          {"type": "resource", "resource": {"uri": "x:y", "blob": data}}]}
    with Scene(revision, {"tools/call": result}, strict=True) as scene:
        assert scene.client.call_tool("x").content[0].data == data


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_base64_in_lines_is_taken_by_a_lenient_client_only(revision):
    result = {"content": [{"type": "image", "data": "aGkh\r\naGkh\n", "mimeType": "image/png"}]}
    with Scene(revision, {"tools/call": result}) as scene:
        assert scene.client.call_tool("x").content[0].data == "aGkh\r\naGkh\n" and scene.count("wrapped base64") == 1
    with Scene(revision, {"tools/call": result}, strict=True) as scene:
        with pytest.raises(InvalidResult, match="not base64"):
            scene.client.call_tool("x")


# --- Output schemas ---------------------------------------------------------------------------------------------------

BAD = [
    ({}, "structuredContent: "), ({"x": "1"}, "structuredContent.x: expected integer, got string"),
    ({"x": None}, "structuredContent.x: expected integer, got null"), ({"x": 1.5}, "structuredContent.x: expected int"),
    ({"x": True}, "structuredContent.x: expected integer, got boolean"), ({"y": 1}, "structuredContent: "),
]


@pytest.mark.spec("tools.output-schema-client-validates")
@pytest.mark.parametrize("value, words", BAD)
@each_way
@pytest.mark.parametrize("told", [True, False], ids=["announces", "does not announce"])
@pytest.mark.parametrize("revision", every_revision_of("tools.output-schema-client-validates"))
def test_structured_content_is_held_against_the_output_schema(revision, told, call, value, words):
    """[2025-06-18..2025-11-25 server/tools §Output Schema] SHOULD"""
    answers = {"tools/list": paged("tools", [[tool("other")], [tool("point", POINT)]]),
               "tools/call": structured(value)}
    with Scene(revision, answers, {"tools": {"listChanged": told}}) as scene:
        with pytest.raises(InvalidResult) as caught:
            call(scene.client, "point")
        assert words in str(caught.value) and "tool point" in str(caught.value)
        assert caught.value.result.structured_content == value and caught.value.result.content[0].text == "x"
        answers["tools/call"] = structured({"x": 1, "more": None})
        assert call(scene.client, "point").structured_content == {"x": 1, "more": None}


@pytest.mark.spec("tools.output-schema-client-validates")
@each_way
@pytest.mark.parametrize("revision", every_revision_of("tools.output-schema-client-validates"))
def test_a_tool_with_a_schema_that_gives_no_structure_has_not_kept_its_word(revision, call):
    """[2025-06-18..2025-11-25 server/tools §Output Schema] SHOULD"""
    answers = {"tools/list": {"tools": [tool("point", POINT), tool("free")]}, "tools/call": {"content": [TEXT]}}
    with Scene(revision, answers) as scene:
        list(scene.client.tools())
        with pytest.raises(InvalidResult, match="structuredContent: missing"):
            call(scene.client, "point")
        assert call(scene.client, "free").content[0].text == "x"
        answers["tools/call"] = {"content": [TEXT], "isError": True}
        assert call(scene.client, "point").is_error
        answers["tools/call"] = structured({"x": "wrong, but it failed"}, isError=True)
        assert call(scene.client, "point").is_error
        assert scene.asked.count("tools/list") == (2 if revision == STATELESS else 1), "who is not told looks again"


@pytest.mark.parametrize("told", [True, False], ids=["announces", "does not announce"])
@each_way
def test_the_tools_are_listed_once_for_all_results(call, told):
    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": structured({"x": 1})}
    with Scene(answers=answers, capabilities={"tools": {"listChanged": told}}) as scene:
        for _ in range(3):
            call(scene.client, "point")
        assert scene.asked.count("tools/list") == 1
        assert call(scene.client, "unlisted").structured_content == {"x": 1}
        assert scene.count("unchecked result") == 1 and scene.asked.count("tools/list") == 1


@pytest.mark.parametrize("revision", HANDSHAKE[:2])
def test_revisions_without_structured_content_have_nothing_to_check(revision):
    with Scene(revision, {"tools/call": structured({"x": "any"})}) as scene:
        scene.client.call_tool("point")
        assert scene.asked == ["tools/call"]


@each_way
def test_a_client_that_checks_no_results_asks_nothing_and_refuses_nothing(call):
    answers = {"tools/call": structured({"x": "any"}, content=[{"type": "image", "data": "!", "mimeType": "x/y"}])}
    with Scene(answers=answers, check_results=False) as scene:
        assert call(scene.client, "point").structured_content == {"x": "any"}
        assert scene.asked == ["tools/call"]


@each_way
@pytest.mark.parametrize("answer", [Failure(-32601), Failure(-32603), {"tools": 5}, {"tools": [], "nextCursor": 5}])
def test_a_server_that_cannot_list_loses_no_result(call, answer):
    with Scene(answers={"tools/list": answer, "tools/call": structured({"x": "any"})}) as scene:
        for _ in range(3):
            assert call(scene.client, "point").structured_content == {"x": "any"}
        assert scene.count("unchecked result") == 3 and scene.asked.count("tools/list") == 1


UNUSABLE = {
    "invalid": {"type": "object", "properties": {"x": {"type": "whole number"}}},
    "of another dialect": {"$schema": "https://example.com/own", "type": "object"},
    "elsewhere": {"type": "object", "$ref": "https://example.com/point.json"},
    "too deep": {"type": "object", "properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}]}},
                 "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}},
    "a pattern that is refused": {"type": "object", "properties": {"x": {"pattern": r"(a)\1"}}},
}


@pytest.mark.parametrize("schema", list(UNUSABLE.values()), ids=list(UNUSABLE))
@each_way
def test_a_schema_that_cannot_be_used_says_nothing_unless_the_client_is_strict(call, schema):
    answers = {"tools/list": {"tools": [tool("point", schema)]}, "tools/call": structured({"x": "b"})}
    with Scene(answers=answers) as scene:
        for _ in range(2):
            assert call(scene.client, "point").structured_content == {"x": "b"}
        assert scene.count("unchecked result") == 2
    with Scene(answers=answers, strict=True) as scene:
        for _ in range(2):
            with pytest.raises(PeerProtocolError, match="output schema cannot be used"):
                call(scene.client, "point")


def hostile(levels):
    """A schema whose validation doubles at each level: ``allOf`` of two references to the next one."""
    schemas = {"d%d" % n: {"allOf": [{"$ref": "#/$defs/d%d" % (n + 1)}] * 2} for n in range(levels)}
    schemas["d%d" % levels] = {"type": "integer"}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": schemas}


def test_a_schema_that_would_take_for_ever_holds_up_neither_the_reader_nor_the_caller_for_long(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(errors, "clock", lambda: next(ticks) * 0.01)  # a second of it is over sooner
    answers = {"tools/list": {"tools": [tool("point", hostile(60))]}, "tools/call": structured({"x": 1})}
    with Scene(answers=answers) as scene:
        future = scene.client.submit_tool("point")
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        assert done.wait(PATIENCE), "it is done when its result is here, not when that is checked"
        scene.client.ping(timeout=PATIENCE)
        assert future.result(PATIENCE).structured_content == {"x": 1} and scene.count("unchecked result") == 1


def test_a_list_that_was_asked_for_by_hand_is_remembered_too():
    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": structured({"x": "no"})}
    with Scene(answers=answers) as scene:
        scene.client.list_tools()
        with pytest.raises(InvalidResult):
            scene.client.call_tool("point")
        assert scene.asked == ["tools/list", "tools/call"]


def test_a_server_that_announces_nothing_may_have_changed_the_schema():
    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": structured({"x": "text"})}
    with Scene(answers=answers, capabilities={"tools": {}}) as scene:
        list(scene.client.tools())
        answers["tools/list"] = {"tools": [tool("point", {"type": "object"})]}
        assert scene.client.call_tool("point").structured_content == {"x": "text"}
        assert scene.asked == ["tools/list", "tools/call", "tools/list"]
        answers["tools/list"] = Failure(-32603)
        answers["tools/call"] = {"content": []}
        with pytest.raises(InvalidResult):
            scene.client.call_tool("point")


def test_a_list_that_changes_during_a_call_is_no_reason_to_refuse_its_result():
    def call(params):
        scene.peer.notify("notifications/tools/list_changed")
        return structured({"x": "by the old schema"})

    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": call}
    with Scene(answers=answers) as scene:
        list(scene.client.tools())
        assert scene.client.call_tool("point").structured_content == {"x": "by the old schema"}
        assert scene.count("unchecked result") == 1
        answers["tools/call"] = structured({"x": "still"})
        with pytest.raises(InvalidResult):
            scene.client.call_tool("point")


def test_a_future_is_checked_once_and_says_the_same_each_time():
    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": structured({"x": "no"})}
    with Scene(answers=answers, capabilities={"tools": {"listChanged": True}}) as scene:
        future = scene.client.submit_tool("point")
        error = future.exception(PATIENCE)
        assert isinstance(error, InvalidResult) and future.exception() is error
        with pytest.raises(InvalidResult):
            future.result()
        assert future.done() and not future.cancelled() and scene.asked.count("tools/list") == 1
        answers["tools/call"] = structured({"x": 1})
        good = scene.client.submit_tool("point")
        assert good.result(PATIENCE) is good.result() and good.exception() is None


def test_the_same_in_a_callback_of_the_future():
    answers = {"tools/list": {"tools": [tool("point", POINT)]}, "tools/call": structured({"x": "no"})}
    with Scene(answers=answers) as scene:
        found, done = [], threading.Event()

        def heard(future):
            found.append(future.exception())
            done.set()

        scene.client.submit_tool("point").add_done_callback(heard)
        assert done.wait(PATIENCE) and isinstance(found[0], InvalidResult)
