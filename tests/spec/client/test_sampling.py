"""Sampling on the wire: our server and a scripted client, our client and a scripted server, and both of ours."""
import logging

import pytest

from mcp_ref.client import Client
from mcp_ref.client.sampling import ModelCard, Sampling
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, PeerError, PeerProtocolError, RpcError, ToolError
from mcp_ref.limits import Limits
from mcp_ref.messages.base import Annotations
from mcp_ref.messages.content import AudioContent, ImageContent, TextContent
from mcp_ref.messages.sampling import (
    CreateMessageResult, ModelHint, ModelPreferences, SamplingMessage, ToolChoice, ToolResultContent, ToolUseContent,
)
from mcp_ref.messages.tools import CallToolResult, Tool
from mcp_ref.server import Server
from mcp_ref.server.sampling import messages_of, rejected, sample
from mcp_ref.transports.memory import pair
from tests.support.questions import Asking, Offering
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, Gate, in_thread

METHOD = "sampling/createMessage"
NEWEST = "2025-11-25"
BEFORE_TOOLS = HANDSHAKE[:-1]
ALL = {"sampling": {"tools": {}, "context": {}}}
LOOK = {"name": "look", "inputSchema": {"type": "object"}}
ANSWER = {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "hi"}, "stopReason": "endTurn"}
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
before_tools = pytest.mark.parametrize("revision", BEFORE_TOOLS)


def text(words):
    """A text block on the wire."""
    return {"type": "text", "text": words}


def user(*content):
    """A user's message on the wire."""
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


def assistant(*content):
    """The assistant's."""
    return {"role": "assistant", "content": content[0] if len(content) == 1 else list(content)}


def use(id, **more):
    """A tool use on the wire."""
    return dict({"type": "tool_use", "id": id, "name": "look", "input": {}}, **more)


def result(id, **more):
    """A tool result on the wire."""
    return dict({"type": "tool_result", "toolUseId": id, "content": [text("seen")]}, **more)


def params(*messages, **more):
    """Params of a request on the wire."""
    return dict({"messages": list(messages) or [user(text("hello"))], "maxTokens": 10}, **more)


def wants(*uses):
    """A result on the wire that wants tools called."""
    return {"role": "assistant", "model": "m-1", "content": list(uses), "stopReason": "toolUse"}


def echo(asked, context):
    """A model that says how much it was told."""
    return "%d messages" % len(asked.messages)


# --- Declaring --------------------------------------------------------------------------------------------------------

DECLARED = [
    ({}, {}), ({"tools": True}, {"tools": {}}), ({"context": True}, {"context": {}}),
    ({"tools": True, "context": True}, {"tools": {}, "context": {}}),
]


@pytest.mark.spec("sampling.capability-init", "sampling.tools-capability")
@in_every_revision
@pytest.mark.parametrize("options, declared", DECLARED)
def test_the_client_declares_sampling_and_what_it_can_do(options, declared, revision):
    """[.. client/sampling §Capabilities] MUST, [2025-11-25.. client/sampling §Tools in Sampling] MUST"""
    with Offering(revision, sampling=Sampling(echo, **options), revisions=[revision]) as offering:
        assert offering.opening["capabilities"]["sampling"] == (declared if revision == NEWEST else {})


@in_every_revision
def test_a_client_without_sampling_declares_and_answers_nothing(revision):
    """[.. client/sampling §Capabilities]"""
    with Offering(revision) as offering:
        assert "sampling" not in offering.opening["capabilities"]
        assert offering.call(METHOD, params())["error"]["code"] == -32601


@in_every_revision
def test_the_server_sends_nothing_to_a_client_without_sampling(revision):
    """[.. client/sampling §Capabilities]"""
    with Asking(revision, {"roots": {}}) as asking, pytest.raises(CapabilityMissing, match="sampling") as caught:
        asking.ask(lambda ctx: ctx.sample("hello", 10))
    assert caught.value.capability == "sampling"


# --- A request and its answer -----------------------------------------------------------------------------------------

@in_every_revision
def test_everything_that_a_request_may_say_is_sent(revision):
    """[.. client/sampling §Creating Messages]"""
    with Asking(revision, ALL) as asking:
        preferences = ModelPreferences(cost_priority=0.1, speed_priority=0, intelligence_priority=1.0)
        answer = asking.ask(lambda ctx: ctx.sample(
            ["hello", TextContent("there"), ImageContent("aGk=", "image/png"),
             SamplingMessage("assistant", TextContent("yes?"))],
            100, system_prompt="Be brief.", model_preferences=preferences, hints=["sonnet", "claude"],
            include_context="none", temperature=0.5, stop_sequences=["END"], metadata={"key": [1]},
        ), ANSWER)
        assert answer == CreateMessageResult("assistant", "m-1", TextContent("hi"), "endTurn")
        assert asking.questions[0]["method"] == METHOD and asking.questions[0]["params"] == {
            "messages": [user(text("hello")), user(text("there")),
                         user({"type": "image", "data": "aGk=", "mimeType": "image/png"}), assistant(text("yes?"))],
            "maxTokens": 100, "systemPrompt": "Be brief.", "includeContext": "none", "temperature": 0.5,
            "stopSequences": ["END"], "metadata": {"key": [1]},
            "modelPreferences": {"hints": [{"name": "sonnet"}, {"name": "claude"}], "costPriority": 0.1,
                                 "speedPriority": 0, "intelligencePriority": 1.0},
        }


@in_every_revision
def test_nothing_that_was_not_said_is_sent(revision):
    """[.. client/sampling §Creating Messages]"""
    with Asking(revision, {"sampling": {}}) as asking:
        asking.ask(lambda ctx: ctx.sample("hello", 1), ANSWER)
        assert asking.questions[0]["params"] == {"messages": [user(text("hello"))], "maxTokens": 1}


@in_every_revision
def test_one_block_in_a_list_goes_to_every_revision(revision):
    """[.. client/sampling §Messages]"""
    with Asking(revision, {"sampling": {}}) as asking:
        asking.ask(lambda ctx: ctx.sample(SamplingMessage("user", [TextContent("hello")]), 1), ANSWER)
        content = asking.questions[0]["params"]["messages"][0]["content"]
        assert content == ([text("hello")] if revision == NEWEST else text("hello"))


def test_a_conversation_goes_on_with_what_was_answered():
    """[.. client/sampling §Creating Messages]"""
    first = CreateMessageResult("assistant", "m", [TextContent("hi"), TextContent(" you")])
    assert messages_of(["hello", first, "bye"]) == [
        SamplingMessage("user", TextContent("hello")), SamplingMessage("assistant", first.content),
        SamplingMessage("user", TextContent("bye")),
    ]


@pytest.mark.parametrize("bad",
                         [None, 5, b"x", {"role": "user"}, ["x", None], ToolUseContent(id="1", name="x", input={})])
def test_what_is_no_message_is_refused(bad):
    """[.. client/sampling §Messages]"""
    with pytest.raises(TypeError, match="a message is"):
        messages_of(bad)


@pytest.mark.parametrize("more, error, words", [
    ({"hints": "sonnet"}, TypeError, "list of names"),
    ({"hints": ["a"], "model_preferences": ModelPreferences([ModelHint("b")])}, ValueError, "once"),
])
def test_hints_are_given_once_and_as_a_list(more, error, words):
    """[.. client/sampling §Model Hints]"""
    with Asking(NEWEST, {"sampling": {}}) as asking, pytest.raises(error, match=words):
        asking.ask(lambda ctx: ctx.sample("hello", 10, **more))


@in_every_revision
def test_the_callback_gets_the_request_and_its_answer_is_sent(revision):
    """[.. client/sampling §Creating Messages]"""
    seen = []

    def model(asked, context):
        seen.append((asked, context))
        return CreateMessageResult("assistant", "mine", TextContent("yes"), "maxTokens")

    with Offering(revision, sampling=model) as offering:
        answer = offering.call(METHOD, params(maxTokens=7, systemPrompt="Be brief.", temperature=1))
        assert answer["result"] == {"role": "assistant", "model": "mine", "content": text("yes"),
                                    "stopReason": "maxTokens"}
        (asked, context), = seen
        assert (asked.max_tokens, asked.system_prompt, asked.temperature) == (7, "Be brief.", 1)
        assert asked.messages == [SamplingMessage("user", TextContent("hello"))] and not context.cancelled.is_set()


PICTURE = ImageContent("aGk=", "image/png")
RETURNED = [
    ("yes", text("yes")), (TextContent("yes"), text("yes")),
    (PICTURE, {"type": "image", "data": "aGk=", "mimeType": "image/png"}), (["yes"], [text("yes")]),
    (SamplingMessage("assistant", TextContent("yes")), text("yes")),
]


@in_every_revision
@pytest.mark.parametrize("returned, content", RETURNED, ids=lambda value: type(value).__name__)
def test_a_callback_may_return_less_than_a_result(returned, content, revision):
    """[.. client/sampling §Creating Messages]"""
    with Offering(revision, sampling=Sampling(lambda asked, context: returned, model="mine")) as offering:
        if isinstance(content, list) and revision != NEWEST:
            content = content[0]
        expected = {"role": "assistant", "model": "mine", "content": content}
        assert offering.call(METHOD, params())["result"] == expected


@pytest.mark.spec("sampling.respect-hints")
@in_every_revision
@pytest.mark.parametrize("hint, name", [("haiku", "claude-haiku"), ("gpt", "claude-opus"), ("opus", "claude-opus")])
def test_the_model_that_suits_the_hints_is_chosen_and_named(hint, name, revision):
    """[.. client/sampling §Security Considerations] SHOULD"""
    chosen = []

    def model(asked, context):
        chosen.append(sampling.choose(asked).name)
        return "yes"

    sampling = Sampling(model, models=[ModelCard("claude-opus"), ModelCard("claude-haiku")])
    with Offering(revision, sampling=sampling) as offering:
        answer = offering.call(METHOD, params(modelPreferences={"hints": [{"name": hint}]}))
        assert answer["result"]["model"] == name and chosen == [name]


# --- What is refused before it is sent --------------------------------------------------------------------------------

UNSOUND = [
    {"max_tokens": 0}, {"max_tokens": -5}, {"temperature": -1}, {"stop_sequences": "END"}, {"include_context": "all"},
    {"model_preferences": ModelPreferences(cost_priority=1.5)}, {"messages": ImageContent("?", "image/png")},
    {"messages": ImageContent("aGk=", "text/html")}, {"messages": SamplingMessage("system", TextContent("x"))},
    {"messages": TextContent("x", Annotations(priority=1.5))}, {"messages": TextContent("x", Annotations(priority=-1))},
]


@pytest.mark.spec("sampling.validate-content")
@in_every_revision
@pytest.mark.parametrize("more", UNSOUND, ids=repr)
def test_the_server_sends_nothing_that_breaks_a_rule(more, revision):
    """[.. client/sampling §Security Considerations] SHOULD"""
    with Asking(revision, ALL) as asking, pytest.raises(LocalProtocolError):
        asking.ask(lambda ctx: ctx.sample(**dict({"messages": "hello", "max_tokens": 1}, **more)))


@pytest.mark.spec("sampling.tools-only-if-declared")
@in_every_revision
@pytest.mark.parametrize("more", [
    {"tools": [Tool("look", {"type": "object"})]}, {"tools": []}, {"tool_choice": "auto"},
    {"tool_choice": ToolChoice("none")},
    {"messages": [SamplingMessage("assistant", ToolUseContent(id="1", name="look", input={})),
                  SamplingMessage("user", ToolResultContent(tool_use_id="1", content=[]))]},
], ids=repr)
def test_tools_are_sent_only_to_a_client_that_declared_them(more, revision):
    """[2025-11-25.. client/sampling §Tools in Sampling] MUST NOT"""
    def ask(ctx):
        return ctx.sample(**dict({"messages": "hello", "max_tokens": 1}, **more))

    with Asking(revision, {"sampling": {"context": {}}}) as asking, pytest.raises(LocalProtocolError, match="tool"):
        asking.ask(ask)
    with Asking(revision, ALL) as asking:
        if revision == NEWEST:
            assert asking.ask(ask, ANSWER).model == "m-1"
        else:
            with pytest.raises(LocalProtocolError, match="revision %s has no tool" % revision):
                asking.ask(ask)


@pytest.mark.spec("sampling.include-context")
@in_every_revision
@pytest.mark.parametrize("value", ["thisServer", "allServers", "none"])
def test_context_is_asked_for_only_where_it_was_declared(value, revision):
    """[2025-11-25.. client/sampling §Capabilities] SHOULD NOT"""
    def ask(ctx):
        return ctx.sample("hello", 1, include_context=value)

    with Asking(revision, ALL) as asking:
        asking.ask(ask, ANSWER)
        assert asking.questions[0]["params"]["includeContext"] == value
    with Asking(revision, {"sampling": {"tools": {}}}) as asking:
        if revision == NEWEST and value != "none":
            with pytest.raises(CapabilityMissing, match="sampling.context"):
                asking.ask(ask)
        else:
            asking.ask(ask, ANSWER)


USE_1, USE_2 = ToolUseContent(id="1", name="look", input={}), ToolUseContent(id="2", name="look", input={})
RESULT_1, RESULT_2 = (ToolResultContent(tool_use_id=id, content=[TextContent("seen")]) for id in "12")
UNBALANCED = {
    "missing": [SamplingMessage("assistant", USE_1)],
    "one missing": [SamplingMessage("assistant", [USE_1, USE_2]), SamplingMessage("user", RESULT_1)],
    "too late": [SamplingMessage("assistant", USE_1), "first this", SamplingMessage("user", RESULT_1)],
    "mixed": [SamplingMessage("assistant", USE_1), SamplingMessage("user", [RESULT_1, TextContent("and")])],
    "of nothing": [SamplingMessage("user", RESULT_1)],
    "of another": [SamplingMessage("assistant", USE_1), SamplingMessage("user", RESULT_2)],
    "twice": [SamplingMessage("assistant", USE_1), SamplingMessage("user", [RESULT_1, RESULT_1])],
}


@pytest.mark.spec("sampling.tool-balance", "sampling.tool-results-only", "sampling.tool-use-id-match")
@pytest.mark.parametrize("name", UNBALANCED)
def test_the_server_sends_no_tool_use_without_its_results(name):
    """[2025-11-25.. client/sampling §Tool Use and Result Balance] MUST,
    [2025-11-25.. client/sampling §Tool Result Messages] MUST"""
    cited = r"messages\[\d\].*client/sampling §Tool"
    with Asking(NEWEST, ALL) as asking, pytest.raises(LocalProtocolError, match=cited):
        asking.ask(lambda ctx: ctx.sample(UNBALANCED[name], 10))


@pytest.mark.parametrize("revision, content", [
    ("2024-11-05", AudioContent("aGk=", "audio/wav")),
    *[(revision, [TextContent("a"), TextContent("b")]) for revision in BEFORE_TOOLS],
    *[(revision, []) for revision in BEFORE_TOOLS],
])
def test_the_server_sends_no_content_that_the_revision_lacks(revision, content):
    """[.. client/sampling §Messages]"""
    with Asking(revision, ALL) as asking, pytest.raises(LocalProtocolError, match="revision %s" % revision):
        asking.ask(lambda ctx: ctx.sample(SamplingMessage("user", content), 10))


# --- What is refused when it arrives ----------------------------------------------------------------------------------

REFUSED = [
    (None, "messages"), ({}, "messages"), ({"messages": [], "maxTokens": "x"}, "maxTokens"),
    (params(maxTokens=0), "params.maxTokens"), (params(maxTokens=1.5), "params.maxTokens"),
    (params(temperature=-1), "params.temperature"), (params(temperature="hot"), "params.temperature"),
    (params(modelPreferences={"speedPriority": "fast"}), "params.modelPreferences.speedPriority"),
    (params(includeContext="all"), "params.includeContext"),
    (params({"role": "system", "content": text("x")}), "messages[0].role"),
    (params(user({"type": "image", "data": "?", "mimeType": "image/png"})), "params.messages[0].content.data"),
    (params(user({"type": "image", "data": "aGk=", "mimeType": "x"})), "params.messages[0].content.mimeType"),
    (params(user({"type": "video", "data": "aGk="})), "params.messages[0].content"),
    (params(user("hello")), "messages[0].content"),
    (params(stopSequences="END"), "params.stopSequences"),
]


@pytest.mark.spec("sampling.validate-content")
@in_every_revision
@pytest.mark.parametrize("given, place", REFUSED, ids=lambda value: repr(value)[:50])
def test_the_client_refuses_what_breaks_a_rule(given, place, revision):
    """[.. client/sampling §Security Considerations] SHOULD"""
    with Offering(revision, sampling=Sampling(_never)) as offering:
        error = offering.call(METHOD, given)["error"]
        assert error["code"] == -32602 and place in error["message"], error


@in_every_revision
@pytest.mark.parametrize("priority", [7, -0.5])
def test_the_client_counts_priorities_out_of_range_and_takes_the_request(priority, revision):
    """[.. client/sampling §Capability Priorities]; a ``strict`` client refuses it."""
    given = params(modelPreferences={"speedPriority": priority})
    with Offering(revision, sampling=Sampling(lambda asked, context: "hi", model="m-1")) as offering:
        assert offering.call(METHOD, given)["result"]["content"]["text"] == "hi"
        assert offering.count("number out of range") == 1
    with Offering(revision, sampling=Sampling(_never), strict=True) as offering:
        assert "modelPreferences.speedPriority" in offering.call(METHOD, given)["error"]["message"]


@in_every_revision
@pytest.mark.parametrize("priority, counted", [(1.5, 1), (-1, 1), (0, 0), (1, 0)])
def test_the_client_counts_annotations_with_a_priority_out_of_range_and_takes_the_request(priority, counted, revision):
    """[2025-06-18.. server/resources §Annotations]"""
    given = params(user({"type": "text", "text": "x", "annotations": {"priority": priority}}))
    with Offering(revision, sampling=Sampling(lambda asked, context: asked.messages[0].text, model="m-1")) as offering:
        assert offering.call(METHOD, given)["result"]["content"]["text"] == "x"
        assert offering.count("number out of range") == counted


def _never(asked, context):
    raise AssertionError("the model was asked")


@pytest.mark.parametrize("revision, given", [
    ("2024-11-05", params(user({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}))),
    *[(revision, params(user(text("a"), text("b")))) for revision in BEFORE_TOOLS],
    *[(revision, params(user({"role": "user", "content": [text("a")]}))) for revision in BEFORE_TOOLS],
    *[(revision, params(assistant(use("1")), user(result("1")))) for revision in BEFORE_TOOLS],
])
def test_the_client_refuses_content_that_the_revision_lacks(revision, given):
    """[.. client/sampling §Messages]"""
    with Offering(revision, sampling=Sampling(_never, tools=True)) as offering:
        error = offering.call(METHOD, given)["error"]
        assert error["code"] == -32602 and "messages[0].content" in error["message"], error


@pytest.mark.spec("sampling.tools-undeclared-error")
@pytest.mark.parametrize("more", [
    {"tools": [LOOK]}, {"tools": []}, {"toolChoice": {"mode": "auto"}}, {"toolChoice": {}},
    {"tools": [LOOK], "toolChoice": {"mode": "none"}},
    {"messages": [assistant(use("1")), user(result("1"))]},
], ids=repr)
def test_tools_that_were_not_declared_are_an_error(more):
    """[2025-11-25.. client/sampling §Tools in Sampling] MUST"""
    with Offering(NEWEST, sampling=Sampling(_never, context=True)) as offering:
        error = offering.call(METHOD, params(**more))["error"]
        assert error["code"] == -32602 and "sampling.tools" in error["message"]
    with Offering(NEWEST, sampling=Sampling(echo, tools=True, model="m")) as offering:
        assert offering.call(METHOD, params(**more))["result"]["model"] == "m"


@before_tools
def test_before_tools_came_their_members_are_unknown_ones(revision):
    """[..2025-06-18 client/sampling §Creating Messages]"""
    seen = []
    with Offering(revision,
                  sampling=Sampling(lambda asked, context: seen.append(asked) or "yes", model="m")) as offering:
        assert "result" in offering.call(METHOD, params(tools=[LOOK], toolChoice={"mode": "required"}))
        assert seen[0].tools is None and seen[0].tool_choice is None


@in_every_revision
@pytest.mark.parametrize("value", ["thisServer", "allServers"])
def test_context_that_was_not_declared_is_left_out(value, revision):
    """[2025-11-25.. client/sampling §Capabilities]"""
    seen = []
    sampling = Sampling(lambda asked, context: seen.append(asked.include_context) or "yes", model="m")
    with Offering(revision, sampling=sampling) as offering:
        assert "result" in offering.call(METHOD, params(includeContext=value))
        declared = revision != NEWEST
        assert seen == [value if declared else "none"] and offering.count("undeclared context") == (not declared)
    with Offering(revision, sampling=sampling, strict=True) as offering:
        answer = offering.call(METHOD, params(includeContext=value))
        assert ("result" in answer) == declared and (declared or answer["error"]["code"] == -32602)
    sampling.context = True
    with Offering(revision, sampling=sampling) as offering:
        assert "result" in offering.call(METHOD, params(includeContext=value)) and seen[-1] == value


MISSING = [
    params(assistant(use("1"))), params(assistant(use("1")), user(text("and?"))),
    params(assistant(use("1")), assistant(text("so"))),
    params(assistant(use("1"), use("2")), user(result("1"))),
    params(user(text("hi")), assistant(use("1"), use("2")), user(result("2"))),
    params(assistant(use("1")), user(text("wait")), user(result("1"))),
    params(assistant(use("1"), text("hm")), user(result("2"))),
]
MIXED = [
    params(assistant(use("1")), user(result("1"), text("and?"))),
    params(assistant(use("1")), user(text("here:"), result("1"))),
    params(user(result("1"), text("x"))),
    params(assistant(use("1"), use("2")), user(result("1"), text("x"), result("2"))),
]


@pytest.mark.spec("sampling.tool-result-missing-error")
@pytest.mark.parametrize("given", MISSING, ids=lambda value: repr(value)[12:80])
def test_a_missing_tool_result_is_an_error(given):
    """[2025-11-25 client/sampling §Error Handling] SHOULD"""
    with Offering(NEWEST, sampling=Sampling(_never, tools=True)) as offering:
        error = offering.call(METHOD, given)["error"]
        assert error["code"] == -32602 and "tool result missing in request" in error["message"]


@pytest.mark.spec("sampling.tool-result-mixed-error")
@pytest.mark.parametrize("given", MIXED, ids=lambda value: repr(value)[12:80])
def test_tool_results_mixed_with_other_content_are_an_error(given):
    """[2025-11-25 client/sampling §Error Handling] SHOULD"""
    with Offering(NEWEST, sampling=Sampling(_never, tools=True)) as offering:
        error = offering.call(METHOD, given)["error"]
        assert error["code"] == -32602 and "mixed with other content" in error["message"]


# --- The user decides -------------------------------------------------------------------------------------------------

@pytest.mark.spec("sampling.rejected-error", "sampling.errors", "sampling.approval-controls", "sampling.human-in-loop")
@in_every_revision
@pytest.mark.parametrize("hook", ["approve_request", "approve_result"])
def test_what_the_user_rejects_is_an_error_of_its_own(hook, revision):
    """[.. client/sampling §Error Handling] SHOULD, [.. client/sampling §User Interaction Model] SHOULD"""
    asked = []
    model = lambda given, context: asked.append(given) or "secret"  # noqa: E731
    with Offering(revision, sampling=Sampling(model, model="m", **{hook: lambda *shown: False})) as offering:
        error = offering.call(METHOD, params())["error"]
        assert error == {"code": -1, "message": "User rejected sampling request"}
        assert len(asked) == (hook == "approve_result")


@pytest.mark.spec("sampling.rejected-error", "sampling.errors")
@in_every_revision
def test_the_server_can_tell_a_rejection_from_other_errors(revision):
    """[.. client/sampling §Error Handling]"""
    with Asking(revision, ALL) as asking:
        for code, says in ((-1, True), (-32603, False)):
            asking.start(lambda ctx: ctx.sample("hello", 1))
            error = {"code": code, "message": "User rejected sampling request"}
            asking.peer.send({"jsonrpc": "2.0", "id": asking.question()["id"], "error": error})
            with pytest.raises(PeerError) as caught:
                asking.outcome()
            assert caught.value.code == code and rejected(caught.value) == says
        assert not rejected(LocalProtocolError("no"))


@pytest.mark.spec("sampling.ui-edit", "sampling.ui-review", "sampling.ui-response-review")
@in_every_revision
def test_the_user_sees_and_may_change_request_and_result(revision):
    """[.. client/sampling §User Interaction Model] SHOULD"""
    seen = []

    def request(asked, context):
        seen.append(asked.messages[0].content.text)
        asked.messages = [SamplingMessage("user", TextContent("changed"))]
        return asked

    def model(asked, context):
        return "said " + asked.messages[0].content.text

    def delivered(written, asked, context):
        seen.append((written.content.text, asked.messages[0].content.text))
        return CreateMessageResult("assistant", written.model, TextContent("censored"))

    sampling = Sampling(model, model="m", approve_request=request, approve_result=delivered)
    with Offering(revision, sampling=sampling) as offering:
        answer = offering.call(METHOD, params())["result"]
        assert seen == ["hello", ("said changed", "changed")] and answer["content"] == text("censored")
    seen.clear()
    sampling.approve_request = sampling.approve_result = lambda *shown: seen.append(len(shown)) or True
    with Offering(revision, sampling=sampling) as offering:
        assert offering.call(METHOD, params())["result"]["content"] == text("said hello") and seen == [2, 3]


@pytest.mark.parametrize("hook", ["approve_request", "approve_result"])
@pytest.mark.parametrize("answer", [None, 1, 0, "yes", {}])
def test_an_approval_that_is_neither_yes_nor_no_lets_nothing_through(hook, answer):
    """[.. client/sampling §Security Considerations] SHOULD"""
    sampling = Sampling(lambda asked, context: "secret", model="m", **{hook: lambda *shown: answer})
    with Offering(NEWEST, sampling=sampling) as offering:
        assert offering.call(METHOD, params())["error"] == {"code": -32603, "message": "Internal error"}


# --- What the callback may not return ---------------------------------------------------------------------------------

def _raises(asked, context):
    raise ValueError("the password is hunter2")


BAD_RESULTS = [
    None, 5, b"x", {"role": "assistant"}, ImageContent("?", "image/png"), SamplingMessage("user", TextContent("x")),
    CreateMessageResult("assistant", None, TextContent("x")), CreateMessageResult("system", "m", TextContent("x")),
    CreateMessageResult("assistant", "m", TextContent("x"), "toolUse"), ToolUseContent(id="1", name="look", input={}),
    ToolResultContent(tool_use_id="1", content=[]),
]


@pytest.mark.spec("sampling.validate-content")
@in_every_revision
@pytest.mark.parametrize("returned", BAD_RESULTS + [_raises], ids=lambda value: repr(value)[:50])
def test_what_the_callback_may_not_return_is_an_internal_error_without_text(returned, revision, caplog):
    """[.. client/sampling §Security Considerations] SHOULD"""
    model = returned if callable(returned) else lambda asked, context: returned
    with caplog.at_level(logging.CRITICAL), Offering(revision, sampling=Sampling(model, model="m")) as offering:
        assert offering.call(METHOD, params())["error"] == {"code": -32603, "message": "Internal error"}
        assert offering.count("handler errors") == 1


@pytest.mark.parametrize("revision, returned", [
    ("2024-11-05", AudioContent("aGk=", "audio/wav")), *[(revision, ["a", "b"]) for revision in BEFORE_TOOLS],
])
def test_the_client_answers_nothing_that_the_revision_lacks(revision, returned):
    """[.. client/sampling §Messages]"""
    with Offering(revision, sampling=Sampling(lambda asked, context: returned, model="m")) as offering:
        assert offering.call(METHOD, params())["error"]["code"] == -32603


@pytest.mark.spec("sampling.tool-choice-none")
@pytest.mark.parametrize("more, stop_reason, fine", [
    ({"tools": [LOOK]}, "toolUse", True), ({"tools": [LOOK]}, None, True), ({"tools": [LOOK]}, "endTurn", False),
    ({"tools": [LOOK]}, "tool_use", False), ({"tools": [LOOK], "toolChoice": {"mode": "none"}}, "toolUse", False),
    ({"tools": [LOOK], "toolChoice": {"mode": "required"}}, "toolUse", True), ({"tools": []}, "toolUse", False),
    ({}, "toolUse", False),
])
def test_the_model_uses_tools_only_where_it_may_and_says_so(more, stop_reason, fine):
    """[2025-11-25.. client/sampling §Tool Choice Modes] MUST NOT"""
    returned = CreateMessageResult("assistant", "m", [ToolUseContent(id="1", name="look", input={"at": 1})],
                                   stop_reason)
    with Offering(NEWEST, sampling=Sampling(lambda asked, context: returned, tools=True)) as offering:
        answer = offering.call(METHOD, params(**more))
        if fine:
            assert answer["result"] == dict(wants(use("1", input={"at": 1})), model="m")
        else:
            assert answer["error"]["code"] == -32603
        assert returned.stop_reason == stop_reason


def test_an_error_of_the_callback_is_sent_as_it_is():
    """[.. client/sampling §Error Handling]"""
    def model(asked, context):
        raise RpcError(-5, "No credit", {"left": 0})

    with Offering(NEWEST, sampling=Sampling(model)) as offering:
        assert offering.call(METHOD, params())["error"] == {"code": -5, "message": "No credit", "data": {"left": 0}}


@in_every_revision
def test_a_model_without_a_name_is_a_mistake_of_the_host(revision, caplog):
    """[.. client/sampling §Creating Messages]"""
    with Offering(revision, sampling=echo) as offering:
        assert offering.call(METHOD, params())["error"]["code"] == -32603
    assert "give Sampling(..., model=...)" in caplog.text


def test_a_cancelled_request_is_not_shown_to_the_user_again():
    """[..2025-11-25 basic/utilities/cancellation] SHOULD"""
    shown = []
    with Gate() as gate:
        sampling = Sampling(lambda asked, context: gate.hold() or "late", model="m",
                            approve_result=lambda *given: shown.append(given) or True)
        with Offering(NEWEST, sampling=sampling) as offering:
            offering.peer.request(1, METHOD, params())
            gate.entered()
            offering.peer.notify("notifications/cancelled", {"requestId": 1})
            offering.said()
            gate.open()
            assert offering.client.connection.inflight.wait_empty(PATIENCE) and shown == [] and offering.said() == []


# --- What the server takes for an answer ------------------------------------------------------------------------------

BAD_ANSWERS = [
    {}, dict(ANSWER, role="system"), dict(ANSWER, role="user"), dict(ANSWER, model=None), dict(ANSWER, content=None),
    dict(ANSWER, content="text"), dict(ANSWER, content={"type": "image", "data": "?", "mimeType": "image/png"}),
    dict(ANSWER, content={"type": "image", "data": "aGk=", "mimeType": "text/html"}),
    dict(ANSWER, stopReason="toolUse"),
    dict(ANSWER, content=use("1"), stopReason="toolUse"), dict(ANSWER, content=result("1")), dict(ANSWER, stopReason=5),
]


@pytest.mark.spec("sampling.validate-content")
@in_every_revision
@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=lambda value: repr(value)[-60:])
def test_an_answer_that_breaks_a_rule_is_the_clients_fault(answer, revision):
    """[.. client/sampling §Security Considerations] SHOULD"""
    with Asking(revision, ALL) as asking, pytest.raises(PeerProtocolError, match=METHOD):
        asking.ask(lambda ctx: ctx.sample("hello", 10), answer)


@pytest.mark.parametrize("revision, content", [
    ("2024-11-05", {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}),
    *[(revision, [text("a"), text("b")]) for revision in BEFORE_TOOLS],
])
def test_an_answer_with_content_that_the_revision_lacks_is_the_clients_fault(revision, content):
    """[.. client/sampling §Messages]"""
    with Asking(revision, ALL) as asking, pytest.raises(PeerProtocolError):
        asking.ask(lambda ctx: ctx.sample("hello", 10), dict(ANSWER, content=content))


@in_every_revision
@pytest.mark.parametrize("priority, counted", [(1.5, 1), (-1, 1), (1, 0)])
def test_the_server_counts_a_priority_out_of_range_and_takes_the_answer(priority, counted, revision):
    """[2025-06-18.. server/resources §Annotations]"""
    answer = dict(ANSWER, content=dict(text("a"), annotations={"priority": priority}))
    with Asking(revision, ALL) as asking:
        def ask(ctx):
            said = ctx.sample("hello", 10).content.annotations.priority
            return said, ctx.connection.counters["number out of range"]

        assert asking.ask(ask, answer) == (priority, counted)


def test_a_stop_reason_may_be_any_word():
    """[.. client/sampling §Creating Messages]"""
    with Asking(NEWEST, ALL) as asking:
        assert asking.ask(lambda ctx: ctx.sample("x", 1),
                          dict(ANSWER, stopReason="a word of its own")).stop_reason[0] == "a"


# --- Limits -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("sampling.rate-limit")
@in_every_revision
def test_more_requests_than_the_rate_allows_are_refused(revision, monkeypatch):
    """[.. client/sampling §Security Considerations] SHOULD"""
    now = [100.0]
    monkeypatch.setattr("mcp_ref.deadline.clock", lambda: now[0])
    limits = Limits(max_samplings_per_second=3, request_timeout=10**6)
    with Offering(revision, sampling=Sampling(echo, model="m"), limits=limits) as offering:
        answers = [offering.call(METHOD, params()) for _ in range(5)]
        assert ["result" in answer for answer in answers] == [True] * 3 + [False] * 2
        error = answers[-1]["error"]
        assert error["code"] == -32603 and "max_samplings_per_second (3)" in error["message"]
        now[0] += 0.4
        assert ["result" in offering.call(METHOD, params()) for _ in range(2)] == [True, False]
        assert offering.count("sampling above the rate") == 3


def rounds(number):
    """A conversation with so many rounds of tool use."""
    told = [user(text("hi"))]
    for count in range(number):
        told += [assistant(use("u%d" % count)), user(result("u%d" % count))]
    return told


@pytest.mark.spec("sampling.iteration-limits")
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_client_refuses_a_loop_that_does_not_end(limit):
    """[2025-11-25.. client/sampling §Security Considerations] SHOULD"""
    sampling = Sampling(echo, tools=True, model="m")
    with Offering(NEWEST, sampling=sampling, limits=Limits(max_tool_iterations=limit)) as offering:
        assert "result" in offering.call(METHOD, params(*rounds(limit), tools=[LOOK]))
        error = offering.call(METHOD, params(*rounds(limit + 1), tools=[LOOK]))["error"]
        assert error["code"] == -32602 and "max_tool_iterations is %d" % limit in error["message"]


# --- The loop ---------------------------------------------------------------------------------------------------------

def at_work(server):
    """Give the server some tools."""
    calls = []

    @server.tool
    def add(a: int, b: int) -> int:
        """Add."""
        calls.append((a, b))
        return a + b

    @server.tool
    def broken() -> str:
        """Break."""
        raise ToolError("out of paper")

    @server.tool
    def secretive() -> str:
        """Break without a word for others."""
        raise ValueError("hunter2")

    @server.tool
    def refusing() -> str:
        """Break in the protocol's own words."""
        raise RpcError(-7, "not today")

    @server.tool(output_schema={"type": "object", "required": ["sum"]})
    def promised() -> dict:
        """Break its promise."""
        return {"difference": 1}

    return calls


NAMES = ["add", "broken", "secretive", "refusing", "promised"]


@pytest.mark.spec("sampling.tool-use-answered", "sampling.tool-balance", "sampling.tool-results-only",
                  "sampling.tool-use-id-match", "sampling.tool-result-conforms")
def test_every_tool_use_is_answered_by_a_result_of_its_own_whatever_happens():
    """[2025-11-25.. client/sampling §Security Considerations] MUST,
    [2025-11-25.. client/sampling §Tool Use and Result Balance] MUST"""
    uses = [
        use("a", name="add", input={"a": 2, "b": 3}), use("b", name="add", input={"a": "x"}), use("c", name="nothing"),
        use("d", name="broken"), use("e", name="secretive"), use("f", name="refusing"), use("g", name="promised"),
        use("h", name="go"), use("i", name="add", input={"a": 1, "b": 1}), use("é", name="add", input={}),
    ]
    with Asking(NEWEST, ALL, at_work, mask_errors=True) as asking:
        answer = asking.ask(lambda ctx: ctx.sample_with_tools("go on", 50, tools=NAMES, system_prompt="S"),
                            wants(text("let me see"), *uses), ANSWER)
        assert answer.text == "hi" and asking.prepared == [(2, 3), (1, 1)]
        first, second = (question["params"] for question in asking.questions)
        assert [tool["name"] for tool in first["tools"]] == NAMES and first["messages"] == [user(text("go on"))]
        assert second["tools"] == first["tools"] and second["systemPrompt"] == "S" and second["maxTokens"] == 50
        assert second["messages"][:2] == [user(text("go on")), assistant(text("let me see"), *uses)]
        results = second["messages"][2]["content"]
        assert second["messages"][2]["role"] == "user" and len(second["messages"]) == 3
        assert [(one["type"], one["toolUseId"]) for one in results] == [("tool_result", one["id"]) for one in uses]
        failed = {one["toolUseId"]: one["content"][0]["text"] for one in results if one.get("isError")}
        assert results[0]["structuredContent"] == {"result": 5} and results[0]["content"] == [text("5")]
        assert sorted(failed) == sorted("bcdefghé")
        assert all("structuredContent" not in one for one in results if one.get("isError"))
        assert (failed["c"], failed["h"]) == ("Unknown tool: nothing", "Unknown tool: go")
        assert (failed["d"], failed["f"]) == ("out of paper", "not today")
        assert failed["e"].startswith("Internal error in tool 'secretive' (request ") and "hunter2" not in failed["e"]
        assert "output schema" in failed["g"]


def test_functions_become_tools_of_one_question():
    """[2025-11-25.. client/sampling §Multi-turn Tool Loop]"""
    def weather(city: str) -> str:
        """What it is like there."""
        return "rain in " + city

    with Asking(NEWEST, ALL) as asking:
        asking.ask(lambda ctx: ctx.sample_with_tools("?", 50, tools={"get_weather": weather}),
                   wants(use("1", name="get_weather", input={"city": "Paris"})), ANSWER)
        first, second = (question["params"] for question in asking.questions)
        assert [(tool["name"], tool["description"]) for tool in first["tools"]] == [("get_weather",
                                                                                     "What it is like there.")]
        assert second["messages"][-1]["content"][0]["content"] == [text("rain in Paris")]
        assert [tool.name for tool in asking.server.tools.listing.values()] == ["go"]


@pytest.mark.spec("sampling.preserve-meta")
def test_the_meta_of_tool_use_and_of_tool_results_is_kept():
    """[2025-11-25.. client/sampling §Sampling with Tools] SHOULD"""
    def look():
        return CallToolResult(content=[TextContent("seen")], meta={"com.example/of": "result"})

    noted = use("1", _meta={"com.example/cache": [1, {"deep": None}]}, more="unknown")
    with Asking(NEWEST, ALL) as asking:
        asking.ask(lambda ctx: ctx.sample_with_tools("?", 5, tools={"look": look}), wants(noted), ANSWER)
        told = asking.questions[1]["params"]["messages"]
        assert told[1]["content"] == [noted] and told[2]["content"][0]["_meta"] == {"com.example/of": "result"}
    seen = []
    sampling = Sampling(lambda asked, context: seen.append(asked.messages) or "yes", tools=True, model="m")
    with Offering(NEWEST, sampling=sampling) as offering:
        given = params(assistant(noted), user(result("1", _meta={"com.example/of": "result"})))
        assert "result" in offering.call(METHOD, given)
        assert seen[0][0].content.meta == noted["_meta"] and seen[0][1].content.meta == {"com.example/of": "result"}


@pytest.mark.spec("sampling.iteration-limits")
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_after_the_last_round_the_model_must_answer_without_tools(limit):
    """[2025-11-25.. client/sampling §Multi-turn Tool Loop],
    [2025-11-25.. client/sampling §Security Considerations] SHOULD"""
    answers = [wants(use("u%d" % number)) for number in range(limit)]
    loop = lambda ctx: ctx.sample_with_tools("?", 5, tools={"look": lambda: "seen"})  # noqa: E731
    with Asking(NEWEST, ALL, limits=Limits(max_tool_iterations=limit, request_timeout=PATIENCE)) as asking:
        asking.ask(loop, *answers, ANSWER)
        choices = [question["params"].get("toolChoice", {}).get("mode") for question in asking.questions]
        assert choices == [None] * limit + ["none"]
        assert all(question["params"]["tools"] for question in asking.questions)
        with pytest.raises(PeerProtocolError, match=r"after %d rounds \(max_tool_iterations\)" % limit):
            asking.ask(loop, *answers, wants(use("again")))
        assert len(asking.questions) == limit + 1


def test_a_limit_of_its_own_and_a_tool_that_must_be_used_first():
    """[2025-11-25.. client/sampling §Tool Choice Modes]"""
    loop = lambda ctx: ctx.sample_with_tools(  # noqa: E731
        "?", 5, tools={"look": lambda: "seen"}, tool_choice="required", max_tool_iterations=2)
    with Asking(NEWEST, ALL) as asking:
        asking.ask(loop, wants(use("1")), wants(use("1")), ANSWER)
        modes = [question["params"].get("toolChoice", {}).get("mode") for question in asking.questions]
        assert modes == ["required", None, "none"]


@pytest.mark.parametrize("tools, error", [("look", TypeError), (["look"], KeyError), (["go", "look"], KeyError)])
def test_tools_that_the_server_does_not_have_are_told_at_once(tools, error):
    """[2025-11-25.. client/sampling §Tools in Sampling]"""
    with Asking(NEWEST, ALL) as asking, pytest.raises(error, match="look"):
        asking.ask(lambda ctx: ctx.sample_with_tools("?", 5, tools=tools))


@pytest.mark.parametrize("revision, declared",
                         [(NEWEST, {"sampling": {}})] + [(revision, ALL) for revision in BEFORE_TOOLS])
def test_the_loop_needs_the_capability(revision, declared):
    """[2025-11-25.. client/sampling §Tools in Sampling] MUST NOT"""
    with Asking(revision, declared) as asking, pytest.raises(LocalProtocolError, match="tools"):
        asking.ask(lambda ctx: ctx.sample_with_tools("?", 5, tools={"look": lambda: "seen"}))


def test_a_cancelled_loop_asks_nothing_more():
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    with Gate() as gate, Asking(NEWEST, ALL) as asking:
        asking.start(lambda ctx: ctx.sample_with_tools("?", 5, tools={"look": lambda: gate.hold() or ctx.check()}))
        asking.peer.respond(asking.question()["id"], wants(use("1")))
        gate.entered()
        asking.peer.notify("notifications/cancelled", {"requestId": asking.call})
        asking.peer.barrier("read")
        gate.open()
        assert asking.connection.inflight.wait_empty(PATIENCE)
        assert asking.peer.barrier("nothing more") == []


# --- Both of ours -----------------------------------------------------------------------------------------------------

@in_every_revision
def test_a_server_and_a_client_of_ours_understand_each_other(revision):
    """[.. client/sampling §Message Flow]"""
    server = Server("asking")

    @server.tool
    def summarize(words: str, ctx) -> str:
        """Ask the client's model."""
        return sample(ctx, words, 5, hints=["m"]).text

    def model(asked, context):
        return "%s (%d)" % (asked.messages[0].content.text.upper(), asked.max_tokens)

    near, far = pair()
    serving = server.connect(far)
    client = Client(sampling=Sampling(model, model="m"), revisions=[revision])
    with client:
        client.open(near)
        calls = [in_thread(client.call_tool, "summarize", {"words": "w%d" % number}) for number in range(8)]
        said = [call.get().content[0].text for call in calls]
        assert said == ["W%d (5)" % number for number in range(8)]
    serving.close()
    assert serving.wait_closed(PATIENCE)
