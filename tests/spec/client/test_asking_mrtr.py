"""What a server may ask of a client, where it asks by its results: forms, links, the client's model, its roots.

The rules are those of the handshake era, on the wire of 2026-07-28, by raw requests.
"""
import json

import pytest

from mcp_ref.codec import encode
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, RpcError, ToolError
from mcp_ref.limits import Limits
from mcp_ref.messages.content import ImageContent, TextContent
from mcp_ref.messages.sampling import ModelPreferences, SamplingMessage, ToolChoice, ToolResultContent, ToolUseContent
from mcp_ref.messages.tools import Tool
from mcp_ref.revisions import LATEST
from tests.support.by_hand import EVERYTHING, MODEL_SAYS, ByHand, accept, asking_server, questions, said

LINK = "https://example.com/connect"


def asked(handler, capabilities=EVERYTHING):
    """What one call of a handler asks, which is one question; or its answer, as a text."""
    with ByHand(asking_server(handler), capabilities) as client:
        answer = client.call("tools/call")
        if answer.get("result", {}).get("resultType") != "input_required":
            return said(answer)
        request, = questions(answer).values()
        return request


# --- Elicitation ------------------------------------------------------------------------------------------------------

@pytest.mark.spec("elicit.supported-modes-only")
@pytest.mark.parametrize("capability, declared", [
    (None, set()), ({}, {"form"}), ({"form": {}}, {"form"}), ({"url": {}}, {"url"}),
    ({"form": {}, "url": {}}, {"form", "url"}),
])
def test_only_modes_that_the_client_declared_are_asked(capability, declared):
    """[2026-07-28 client/elicitation §Capabilities] MUST NOT"""
    capabilities = {} if capability is None else {"elicitation": capability}
    asks = {"form": lambda ctx: ctx.elicit("?", {"a": str}), "url": lambda ctx: ctx.elicit_url("?", LINK)}
    for mode, ask in asks.items():
        with ByHand(asking_server(ask), capabilities) as client:
            answer = client.call("tools/call")
            if mode in declared:
                assert questions(answer)["question-1"]["params"]["mode"] == mode
            else:
                assert answer["error"]["data"] == {"requiredCapabilities": {"elicitation": {mode: {}}}}


@pytest.mark.spec("elicit.param-mode", "elicit.param-message", "elicit.form-params")
def test_a_form_has_mode_message_and_schema():
    """[2026-07-28 client/elicitation §Form Mode Elicitation Requests] MUST"""
    request = asked(lambda ctx: ctx.elicit("Who are you?", {"name": str, "age": int}))
    assert request == {"method": "elicitation/create", "params": {
        "mode": "form", "message": "Who are you?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"]},
    }}


@pytest.mark.spec("elicit.param-mode", "elicit.param-message", "elicit.url-params")
def test_a_link_has_mode_message_and_url_and_no_id():
    """[2026-07-28 client/elicitation §URL Mode Elicitation Requests] MUST"""
    request = asked(lambda ctx: ctx.elicit_url("Connect", LINK, "mine"))
    assert request == {
        "method": "elicitation/create", "params": {"mode": "url", "message": "Connect", "url": LINK}}


@pytest.mark.spec("elicit.param-message")
@pytest.mark.parametrize("message", ["", "  \n", None, 3])
def test_a_question_without_words_is_not_asked(message):
    for ask in (lambda ctx: ctx.elicit(message, {}), lambda ctx: ctx.elicit_url(message, LINK)):
        assert "tells the user what is asked" in asked(ask)


@pytest.mark.spec("elicit.url-valid")
@pytest.mark.parametrize("url", [
    "", "x", "example.com", "javascript:alert(1)", "file:///etc/passwd", "https://", "https://a b.example/",
    "https://user:pass@example.com/", "https://example.com/\n", "https://example.com/\u00e9",
    "https://example.com:99999/", "https://example.com/" + "x" * 9000, None, 3,
], ids=lambda url: repr(url)[:40])
def test_what_is_no_valid_url_is_not_asked(url):
    """[2026-07-28 client/elicitation §URL Mode Elicitation Requests] MUST"""
    assert "LinkError: " in asked(lambda ctx: ctx.elicit_url("Connect", url))


@pytest.mark.spec("elicit.server-validates")
@pytest.mark.parametrize("content", [
    None, {}, {"name": 3}, {"name": True}, {"name": "Ada", "age": "old"}, {"name": "Ada", "age": 1.5},
    {"name": "Ada", "age": 200}, {"name": "", "age": 3}, {"name": "Ada", "mail": "no mail"},
    {"name": "Ada", "size": "x"}, {"name": ["Ada"]},
])
def test_an_answer_that_does_not_fit_never_reaches_the_handler(content):
    """[2026-07-28 client/elicitation §Form Mode Security] SHOULD"""
    schema = {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "maximum": 150},
        "mail": {"type": "string", "format": "email"}, "size": {"type": "string", "enum": ["s", "m"]}}}
    reached = []
    with ByHand(asking_server(lambda ctx: str(reached.append(ctx.elicit("Who?", schema).content)))) as client:
        first = client.call("tools/call")
        answer = {"action": "accept"} if content is None else {"action": "accept", "content": content}
        second = client.again(first, {"question-1": answer})
        assert questions(second) == questions(first) and reached == []
        client.again(second, {"question-1": accept(name="Ada", age=3)})
        assert reached == [{"name": "Ada", "age": 3}]


@pytest.mark.spec("elicit.handle-decline")
@pytest.mark.parametrize("action, verb", [("decline", "declined"), ("cancel", "cancelled")])
def test_who_declines_is_answered_in_words_and_not_asked_again(action, verb):
    """[2026-07-28 client/elicitation §Error Handling] MUST"""
    with ByHand(asking_server(lambda ctx: ctx.elicit("Your name?", {"name": str})["name"])) as client:
        answer = client.again(client.call("tools/call"), {"question-1": {"action": action}})
        assert answer["result"]["isError"] and said(answer) == "The user %s: Your name?" % verb


@pytest.mark.spec("elicit.handle-decline")
@pytest.mark.parametrize("broken", [
    {"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}}, {"error": {"code": -32603}}, {}, None,
    {"action": "refuse"}, [], "decline",
], ids=json.dumps)
def test_a_client_that_fails_to_ask_its_user_leaves_the_server_well(broken):
    """[2026-07-28 client/elicitation §Error Handling] MUST: also what is no answer has an end, and harms no other."""
    with ByHand(asking_server(lambda ctx: "hello " + ctx.elicit("Your name?", {"name": str})["name"])) as client:
        first = client.call("tools/call")
        answer = client.again(first, {"question-1": broken})
        assert answer["error"]["code"] == -32602 and 'inputResponses["question-1"]' in answer["error"]["message"]
        nothing = client.again(first, {})  # nobody could be asked
        assert questions(nothing) == questions(first)
        assert said(client.again(nothing, {"question-1": accept(name="Ada")})) == "hello Ada"


# --- Sampling ---------------------------------------------------------------------------------------------------------

@pytest.mark.spec("sampling.message-role-content")
def test_every_message_has_a_role_and_content():
    """[2026-07-28 client/sampling §Messages] MUST"""
    talk = ["hello", SamplingMessage("assistant", TextContent("hi")), ImageContent("aGk=", "image/png")]
    request = asked(lambda ctx: ctx.sample(talk, 10))
    assert request == {"method": "sampling/createMessage", "params": {"maxTokens": 10, "messages": [
        {"role": "user", "content": {"type": "text", "text": "hello"}},
        {"role": "assistant", "content": {"type": "text", "text": "hi"}},
        {"role": "user", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}},
    ]}}
    for wrong in (SamplingMessage("system", TextContent("x")), SamplingMessage("user", None), 7):
        assert isinstance(asked(lambda ctx: ctx.sample(wrong, 10)), str)


@pytest.mark.spec("sampling.validate-content")
@pytest.mark.parametrize("more", [
    {"max_tokens": 0}, {"temperature": -1}, {"stop_sequences": "END"}, {"include_context": "all"},
    {"model_preferences": ModelPreferences(cost_priority=1.5)}, {"messages": ImageContent("?", "image/png")},
    {"messages": ImageContent("aGk=", "text/html")},
], ids=repr)
def test_a_question_that_breaks_a_rule_is_not_asked(more):
    """[2026-07-28 client/sampling §Security Considerations] SHOULD"""
    assert "LocalProtocolError" in asked(lambda ctx: ctx.sample(**dict({"messages": "hello", "max_tokens": 1}, **more)))


def use(id, name="look", **input):
    """A wish of the model's."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def wants(*content):
    """An answer of a model that wants tools."""
    return dict(MODEL_SAYS, content=list(content), stopReason="toolUse")


@pytest.mark.spec("sampling.validate-content")
@pytest.mark.parametrize("answer", [
    dict(MODEL_SAYS, role="user"), dict(MODEL_SAYS, stopReason="toolUse"), wants(use("1")),
    dict(MODEL_SAYS, content={"type": "image", "data": "?", "mimeType": "image/png"}),
    dict(MODEL_SAYS, content={"type": "image", "data": "aGk=", "mimeType": "text/html"}),
], ids=lambda answer: json.dumps(answer)[-60:])
def test_an_answer_that_breaks_a_rule_never_reaches_the_handler(answer):
    """[2026-07-28 client/sampling §Security Considerations] SHOULD"""
    reached = []
    with ByHand(asking_server(lambda ctx: str(reached.append(ctx.sample("hello", 10))))) as client:
        first = client.call("tools/call")
        assert questions(client.again(first, {"question-1": answer})) == questions(first) and reached == []


USE_1, USE_2 = ToolUseContent(id="1", name="look", input={}), ToolUseContent(id="2", name="look", input={})
RESULT_1, RESULT_2 = (ToolResultContent(tool_use_id=id, content=[TextContent("seen")]) for id in "12")


@pytest.mark.spec("sampling.tools-only-if-declared")
@pytest.mark.parametrize("more", [
    {"tools": [Tool("look", {"type": "object"})]}, {"tools": []}, {"tool_choice": "auto"},
    {"tool_choice": ToolChoice("none")},
    {"messages": [SamplingMessage("assistant", USE_1), SamplingMessage("user", RESULT_1)]},
], ids=repr)
def test_tools_are_offered_only_to_a_client_that_declared_them(more):
    """[2026-07-28 client/sampling §Tools in Sampling] MUST NOT"""
    def ask(ctx):
        try:
            return ctx.sample(**dict({"messages": "hello", "max_tokens": 1}, **more))
        except CapabilityMissing as error:
            return "lacks " + error.capability

    assert asked(ask, {"sampling": {"context": {}}}) == "lacks sampling.tools"
    assert asked(ask)["method"] == "sampling/createMessage"


@pytest.mark.spec("sampling.include-context")
@pytest.mark.parametrize("value", ["thisServer", "allServers", "none"])
def test_context_is_asked_for_only_where_it_was_declared(value):
    """[2026-07-28 client/sampling §Capabilities] SHOULD NOT"""
    def ask(ctx):
        try:
            return ctx.sample("hello", 1, include_context=value)
        except CapabilityMissing as error:
            return "lacks " + error.capability

    assert asked(ask)["params"]["includeContext"] == value
    lacking = asked(ask, {"sampling": {"tools": {}}})
    assert lacking == "lacks sampling.context" if value != "none" else lacking["params"]["includeContext"] == "none"


@pytest.mark.spec("sampling.tool-balance", "sampling.tool-results-only", "sampling.tool-use-id-match")
@pytest.mark.parametrize("talk", [
    [SamplingMessage("assistant", USE_1)],
    [SamplingMessage("assistant", [USE_1, USE_2]), SamplingMessage("user", RESULT_1)],
    [SamplingMessage("assistant", USE_1), "first this", SamplingMessage("user", RESULT_1)],
    [SamplingMessage("assistant", USE_1), SamplingMessage("user", [RESULT_1, TextContent("and")])],
    [SamplingMessage("user", RESULT_1)], [SamplingMessage("assistant", USE_1), SamplingMessage("user", RESULT_2)],
    [SamplingMessage("assistant", USE_1), SamplingMessage("user", [RESULT_1, RESULT_1])],
], ids=["missing", "one missing", "too late", "mixed", "of nothing", "of another", "twice"])
def test_no_tool_use_is_told_without_its_results(talk):
    """[2026-07-28 client/sampling §Tool Use and Result Balance] MUST,
    [2026-07-28 client/sampling §Tool Result Messages] MUST"""
    found = []

    def ask(ctx):
        try:
            ctx.sample(talk, 10)
        except LocalProtocolError as error:
            found.append(error.citation)
            return "refused"

    assert asked(ask) == "refused" and "client/sampling §Tool" in found[0]


def out_of_paper():
    """Fail in words for the model."""
    raise ToolError("out of paper")


def refuse():
    """Break in the protocol's own words."""
    raise RpcError(-7, "not today")


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.spec("sampling.tool-use-answered", "sampling.tool-balance", "sampling.tool-results-only",
                  "sampling.tool-use-id-match", "sampling.tool-result-conforms")
def test_every_tool_use_is_answered_by_a_result_of_its_own_in_the_next_round():
    """[2026-07-28 client/sampling §Security Considerations] MUST"""
    tools = {"add": add, "broken": out_of_paper, "refusing": refuse}
    uses = [use("a", "add", a=2, b=3), use("b", "add", a="x"), use("c", "nothing"), use("d", "broken"),
            use("e", "refusing"), use("f", "add", a=1, b=1)]
    with ByHand(asking_server(lambda ctx: ctx.sample_with_tools("go on", 50, tools=tools).text)) as client:
        answer = client.again(client.call("tools/call"), {"question-1": wants(*uses)})
        talk = questions(answer)["question-2"]["params"]["messages"]
        assert talk[1] == {"role": "assistant", "content": uses} and talk[2]["role"] == "user" and len(talk) == 3
        results = talk[2]["content"]
        assert [(one["type"], one["toolUseId"]) for one in results] == [("tool_result", each["id"]) for each in uses]
        assert results[0] == {"type": "tool_result", "toolUseId": "a", "structuredContent": {"result": 5},
                              "content": [{"type": "text", "text": "5"}]}
        failed = {one["toolUseId"]: one["content"][0]["text"] for one in results if one.get("isError")}
        assert sorted(failed) == ["b", "c", "d", "e"] and failed["d"] == "out of paper" and failed["e"] == "not today"
        assert said(client.again(answer, {"question-2": MODEL_SAYS})) == "hello"


@pytest.mark.spec("sampling.iteration-limits")
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_after_the_last_round_the_model_must_answer_without_tools(limit):
    """[2026-07-28 client/sampling §Security Considerations] SHOULD"""
    server = asking_server(lambda ctx: ctx.sample_with_tools("?", 5, tools={"look": lambda: "seen"}).text,
                           limits=Limits(max_tool_iterations=limit, max_input_rounds=limit + 2))
    with ByHand(server) as client:
        answer, choices = client.call("tools/call"), []
        for number in range(limit):
            (key, request), = questions(answer).items()
            choices.append(request["params"].get("toolChoice"))
            answer = client.again(answer, {key: wants(use("u%d" % number))})
        (key, request), = questions(answer).items()
        assert choices == [None] * limit and request["params"]["toolChoice"] == {"mode": "none"}
        assert questions(client.again(answer, {key: wants(use("again"))}))[key] == request  # and no tool is called
        assert said(client.again(answer, {key: MODEL_SAYS})) == "hello"


# --- Roots ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("roots.check-capability")
@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}, {"elicitation": {"form": {}}}])
def test_a_client_without_roots_is_not_asked_for_them(capabilities):
    """[2026-07-28 client/roots §Implementation Guidelines] SHOULD"""
    def ask(ctx):
        try:
            return ctx.list_roots()
        except CapabilityMissing as error:
            return "lacks " + error.capability

    assert asked(ask, capabilities) == "lacks roots"
    assert asked(ask, dict(capabilities, roots={})) == {"method": "roots/list", "params": {}}


@pytest.mark.parametrize("uri", ["https://example.com/", "file:///a/../b", "file:///a/%2e%2e/b", "no uri", "file:a"])
def test_a_root_that_could_lead_elsewhere_is_left_out_or_asked_for_again(uri):
    """[2026-07-28 client/roots §Root] MUST"""
    given = {"roots": [{"uri": uri}, {"uri": "file:///home"}]}

    def go(ctx):
        return json.dumps([encode(root, LATEST) for root in ctx.list_roots()])

    with ByHand(asking_server(go)) as client:
        lenient = client.again(client.call("tools/call"), {"question-1": given})
        assert json.loads(said(lenient)) == [{"uri": "file:///home"}]
    with ByHand(asking_server(go, strict=True)) as client:
        assert list(questions(client.again(client.call("tools/call"), {"question-1": given}))) == ["question-1"]
