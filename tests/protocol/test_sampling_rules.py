"""The rules of sampling, as pure functions: conversations, content, parameters, results."""
import itertools
import random

import pytest

from mcp_ref.codec import decode, encode
from mcp_ref.errors import CapabilityMissing, LocalProtocolError
from mcp_ref.messages.content import AudioContent, EmbeddedResource, ImageContent, TextContent, TextResourceContents
from mcp_ref.messages.sampling import (
    CreateMessageRequestParams, CreateMessageResult, ModelPreferences, SamplingMessage, ToolChoice, ToolResultContent,
    ToolUseContent,
)
from mcp_ref.messages.tools import Tool
from mcp_ref.protocol.sampling import balance_faults, message_faults, request_faults, result_faults, tool_rounds
from mcp_ref.revisions import HANDSHAKE_REVISIONS, LATEST_HANDSHAKE, REVISIONS

EVERYTHING = {"sampling": {"tools": {}, "context": {}}}
WITH_TOOLS = [revision for revision in REVISIONS if revision.sampling_tools]
OLDER = [revision for revision in HANDSHAKE_REVISIONS if not revision.sampling_tools]
TEXT = TextContent("hello")
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS, ids=str)


# --- Conversations ----------------------------------------------------------------------------------------------------

def block(word):
    """`t` is text, `+1` the use of a tool with id 1, `-1` its result."""
    if word.startswith("+"):
        return ToolUseContent(id=word[1:], name="look", input={})
    if word.startswith("-"):
        return ToolResultContent(tool_use_id=word[1:], content=[TextContent("seen")])
    return TextContent(word)


def message(words):
    """`u t -1`: a user's message of these blocks; `u!t`: a block alone, not in a list."""
    role = {"u": "user", "a": "assistant"}[words[0]]
    if words[1:2] == "!":
        return SamplingMessage(role, block(words[2:]))
    return SamplingMessage(role, [block(word) for word in words[1:].split()])


def talk(text):
    """Messages, separated by `|`."""
    return [message(words.strip()) for words in text.split("|") if words.strip()]


IN_ORDER = [
    "", "u t", "a t", "u!t", "u", "a", "u t|a t|u t", "u t|u t|a t|a t",
    "u t|a +1|u -1", "u!t|a!+1|u!-1", "a +1|u -1", "a t +1 t|u -1", "u t|a +1 +2|u -1 -2", "u t|a +1 +2|u -2 -1",
    "u t|a +1|u -1|a t", "u t|a +1|u -1|u t", "u t|a +1|u -1|a +2|u -2", "u t|a +1|u -1|a +1|u -1",
    "u t|a +1 +2 +3|u -3 -1 -2|a +4|u -4|a t|u t", "a +|u -", "a +é|u -é",
]
OUT_OF_ORDER = [
    # a tool use without its results
    ("a +1", 1, "missing", "1"), ("u t|a +1", 2, "missing", "1"), ("a +1|u t", 1, "missing", "1"),
    ("a +1|u", 1, "missing", "1"), ("a +1|a t", 1, "missing", "1"), ("a +1|a +2|u -1 -2", 1, "missing", "1"),
    ("a +1|u t|u -1", 1, "missing", "1"), ("a +1|a t|u -1", 1, "missing", "1"), ("a +1 +2|u -1", 1, "missing", "2"),
    ("a +1 +2|u -2", 1, "missing", "1"), ("a +1 +2|u -1|u -2", 1, "missing", "2"),
    ("a +1|u -1|a +2", 3, "missing", "2"),
    ("a +1|u -1|a +2|u t", 3, "missing", "2"), ("a +1|u -1|a +2|u -1", 3, "missing", "2"),
    ("a +1 +2 +3|u -1 -3", 1, "missing", "2"), ("a +1|u!t", 1, "missing", "1"), ("a!+1|a!t", 1, "missing", "1"),
    ("a +A|u -a", 1, "missing", "A"),
    # results and something else
    ("a +1|u -1 t", 1, "mixed", ""), ("a +1|u t -1", 1, "mixed", ""), ("a +1 +2|u -1 t -2", 1, "mixed", ""),
    ("a +1|u -1|a +2|u t -2", 3, "mixed", ""), ("u t -1", 0, "mixed", ""),
    # results of nothing
    ("u -1", 0, "no tool use", "1"), ("u!-1", 0, "no tool use", "1"), ("u t|u -1", 1, "no tool use", "1"),
    ("a t|u -1", 1, "no tool use", "1"), ("a +1|u -1 -2", 1, "no tool use", "2"),
    ("a +1|u -1|u -1", 2, "no tool use", "1"), ("a +1|u -1|a t|u -1", 3, "no tool use", "1"),
    ("u -1|a +1|u -1", 0, "no tool use", "1"), ("a +1|u -1|a +2|u -2 -1", 3, "no tool use", "1"),
    # twice
    ("a +1 +1|u -1", 0, "twice", "1"), ("a +1 +1|u -1 -1", 0, "twice", "1"), ("a +1|u -1 -1", 1, "twice", "1"),
    ("a +1 +2|u -1 -2 -1", 1, "twice", "1"), ("a + +|u -", 0, "twice", ""),
    # the wrong role
    ("u +1|u -1", 0, "tool use is the assistant's", ""), ("a +1|a -1", 1, "tool results are the user's", ""),
    ("a -1", 0, "tool results are the user's", ""), ("u t +1|u -1", 0, "tool use is the assistant's", ""),
    ("a +1|u -1|a -1 +2|u -2", 2, "tool results are the user's", ""),
]


@pytest.mark.parametrize("text", IN_ORDER)
def test_a_conversation_in_order_has_no_fault(text):
    """[2025-11-25.. client/sampling §Tool Use and Result Balance] MUST"""
    for revision in WITH_TOOLS:
        assert list(message_faults(talk(text), revision)) == []


@pytest.mark.parametrize("text, place, words, id", OUT_OF_ORDER)
def test_a_conversation_out_of_order_names_the_message_and_the_id(text, place, words, id):
    """[2025-11-25.. client/sampling §Tool Use and Result Balance] MUST,
    [2025-11-25.. client/sampling §Tool Result Messages] MUST"""
    for revision in WITH_TOOLS:
        first = next(message_faults(talk(text), revision))
        assert first.path.startswith("messages[%d]" % place) and words in first.text, str(first)
        assert ('"%s"' % id in first.text) == bool(id) or id == ""
        with pytest.raises(LocalProtocolError, match=r"messages\[%d\].*2025-11-25\.\. client/sampling §" % place):
            first.refuse()


def in_order(messages):
    """The rule once more, in the words of the page and without any cleverness."""
    for number, one in enumerate(messages):
        content = one.content if isinstance(one.content, list) else [one.content]
        uses = [b.id for b in content if isinstance(b, ToolUseContent)]
        results = [b.tool_use_id for b in content if isinstance(b, ToolResultContent)]
        if results and (one.role != "user" or len(results) != len(content)):
            return False
        if uses and (one.role != "assistant" or len(set(uses)) != len(uses)):
            return False
        if results:
            before = messages[number - 1].content if number else []
            before = before if isinstance(before, list) else [before]
            if sorted(results) != sorted(b.id for b in before if isinstance(b, ToolUseContent)):
                return False
        if uses:
            after = messages[number + 1].content if number + 1 < len(messages) else []
            after = after if isinstance(after, list) else [after]
            if sorted(b.tool_use_id for b in after if isinstance(b, ToolResultContent)) != sorted(uses):
                return False
    return True


def test_every_short_conversation_is_judged_as_the_page_words_it():
    """[2025-11-25.. client/sampling §Tool Use and Result Balance] MUST"""
    kinds = ["u t", "a t", "u", "a +1", "a +1 +2", "a +1 +1", "a!+2", "u -1", "u -1 -2", "u -2", "u -1 t", "u -1 -1",
             "a -1",
             "u +1"]
    legal = 0
    for length in (1, 2, 3):
        for words in itertools.product(kinds, repeat=length):
            messages = [message(one) for one in words]
            expected = in_order(messages)
            legal += expected
            assert (next(balance_faults(messages), None) is None) == expected, words
    assert legal == 3 + (9 + 3) + (27 + 2 * 9)  # with 0, 1 or no room for more pairs of use and result


def test_long_random_conversations_are_judged_as_the_page_words_it():
    """[2025-11-25.. client/sampling §Tool Use and Result Balance] MUST"""
    chance = random.Random(20251125)
    verdicts = []
    for _ in range(2000):
        messages = []
        for _ in range(chance.randrange(1, 6)):
            ids = chance.sample("12345", chance.randrange(1, 4))
            messages += [SamplingMessage("assistant", [block("+" + id) for id in ids]),
                         SamplingMessage("user", [block("-" + id) for id in chance.sample(ids, len(ids))])]
            if chance.random() < 0.5:
                messages.append(message(chance.choice(["u t", "a t"])))
        if chance.random() < 0.6:  # one thing goes wrong
            place = chance.randrange(len(messages))
            change = chance.choice(["drop", "repeat", "swap", "cut", "other"])
            if change == "drop":
                del messages[place]
            elif change == "repeat":
                messages.insert(place, messages[place])
            elif change == "swap":
                messages[place - 1], messages[place] = messages[place], messages[place - 1]
            elif change == "cut":
                messages[place] = SamplingMessage(messages[place].role, list(messages[place].content)[:-1])
            else:
                messages[place] = message(chance.choice(["u t -1", "a +9", "u -9", "u t"]))
        expected = in_order(messages)
        verdicts.append(expected)
        assert (next(balance_faults(messages), None) is None) == expected, messages
    assert 700 < sum(verdicts) < 1300  # both kinds were there


def test_a_hostile_number_of_ids_takes_no_long_time():
    """[.. client/sampling §Security Considerations] SHOULD"""
    many = 30_000
    uses = [ToolUseContent(id="u%d" % number, name="x", input={}) for number in range(many)]
    results = [ToolResultContent(tool_use_id="r%d" % number, content=[]) for number in range(many)]
    messages = [SamplingMessage("assistant", uses), SamplingMessage("user", results)]
    faults = list(balance_faults(messages))
    assert [fault.path for fault in faults] == ["messages[1]", "messages[1].content"]
    assert all(len(fault.text) < 200 for fault in faults)


def test_rounds_are_messages_with_tool_use():
    """[2025-11-25.. client/sampling §Security Considerations] SHOULD"""
    assert tool_rounds(talk("u t|a +1 +2|u -1 -2|a t|u t|a +1|u -1")) == 2 and tool_rounds(talk("u t|a t")) == 0


# --- Content ----------------------------------------------------------------------------------------------------------

DATA = "aGVsbG8="
IMAGE = ImageContent(data=DATA, mime_type="image/png")
AUDIO = AudioContent(data=DATA, mime_type="audio/wav")
EMBEDDED = EmbeddedResource(TextResourceContents("test://x", "x"))
SINCE = [
    (TEXT, "2024-11-05"), (IMAGE, "2024-11-05"), (AUDIO, "2025-03-26"), ([TEXT], "2024-11-05"),
    ([TEXT, IMAGE], "2025-11-25"),
    ([], "2025-11-25"), ([AUDIO], "2025-03-26"),
]


@in_every_revision
@pytest.mark.parametrize("content, since", SINCE, ids=lambda value: repr(value)[:40])
def test_content_is_of_the_types_that_the_revision_has(content, since, revision):
    """[.. client/sampling §Messages]"""
    faults = list(message_faults([SamplingMessage("user", content)], revision))
    assert (faults == []) == (revision.name >= since), faults
    assert all("revision %s" % revision in fault.text for fault in faults)


@pytest.mark.parametrize("revision", OLDER, ids=str)
@pytest.mark.parametrize("text", ["a!+1", "u!-1"])
def test_before_tools_their_blocks_are_no_content(text, revision):
    """[..2025-06-18 client/sampling §Messages]"""
    first = next(message_faults(talk(text), revision))
    assert first.path == "messages[0].content" and "tool_" in first.text


BAD_CONTENT = [
    (ImageContent(data="a", mime_type="image/png"), "data"),
    (ImageContent(data="aGVs bG8=", mime_type="image/png"), "data"),
    (ImageContent(data="aGVsbG8", mime_type="image/png"), "data"),
    (ImageContent(data="aGVsbG8=\n", mime_type="image/png"), "data"),
    (ImageContent(data="é===", mime_type="image/png"), "data"),
    (ImageContent(data="data:;base64,aGk=", mime_type="image/png"), "data"),
    (ImageContent(data=b"aGk=", mime_type="image/png"), "data"), (ImageContent(data=DATA, mime_type="png"), "mimeType"),
    (ImageContent(data=DATA, mime_type="audio/wav"), "mimeType"), (ImageContent(data=DATA, mime_type=""), "mimeType"),
    (ImageContent(data=DATA, mime_type="text/html"), "mimeType"),
    (ImageContent(data=DATA, mime_type="image/"), "mimeType"),
    (ImageContent(data=DATA, mime_type="image/png\r\nX: y"), "mimeType"),
    (ImageContent(data=DATA, mime_type=None), "mimeType"),
    (AudioContent(data="?", mime_type="audio/wav"), "data"),
    (AudioContent(data=DATA, mime_type="image/png"), "mimeType"),
    (TextContent(None), "text"), (TextContent(b"x"), "text"), ("just text", ""), (None, ""), (EMBEDDED, ""),
    ({"type": "text"}, ""),
]


@pytest.mark.parametrize("bad, member", BAD_CONTENT, ids=lambda value: repr(value)[:60])
def test_bad_content_is_named_by_its_path(bad, member):
    """[.. client/sampling §Security Considerations] SHOULD"""
    for revision in REVISIONS[1:]:
        place = "messages[1].content" + ("." + member if member else "")
        faults = list(message_faults([SamplingMessage("user", TEXT), SamplingMessage("user", bad)], revision))
        assert [fault.path for fault in faults] == [place], faults
    place = "messages[0].content[1]" + ("." + member if member else "")
    faults = list(message_faults([SamplingMessage("user", [TEXT, bad])], LATEST_HANDSHAKE))
    assert [fault.path for fault in faults] == [place], faults


@pytest.mark.parametrize("mime_type", ["image/png", "IMAGE/PNG", "image/svg+xml", 'image/png; q="a b"'])
def test_types_of_images_are_taken_in_all_their_forms(mime_type):
    """[.. client/sampling §Image Content]"""
    assert list(message_faults([SamplingMessage("user", ImageContent("", mime_type))], REVISIONS[0])) == []


def test_what_a_tool_gave_back_is_looked_into():
    """[2025-11-25.. client/sampling §Tool Result Messages]"""
    result = ToolResultContent(tool_use_id="1", content=[EMBEDDED, ImageContent(data="?", mime_type="image/png")])
    messages = [message("a +1"), SamplingMessage("user", [result])]
    assert next(message_faults(messages, LATEST_HANDSHAKE)).path == "messages[1].content[0].content[1].data"


@in_every_revision
@pytest.mark.parametrize("role", ["system", "User", "tool", "", None, 1])
def test_there_are_two_roles(role, revision):
    """[.. client/sampling §Messages]"""
    assert next(message_faults([SamplingMessage(role, TEXT)], revision)).path == "messages[0].role"


# --- Parameters -------------------------------------------------------------------------------------------------------

def asked(messages="u!t", max_tokens=10, **more):
    """Params of a request."""
    return CreateMessageRequestParams(talk(messages), max_tokens, **more)


def paths(params, revision=LATEST_HANDSHAKE, capabilities=EVERYTHING):
    """Where the faults of a request are."""
    return [fault.path for fault in request_faults(params, revision, capabilities)]


GOOD_PARAMS = [
    {}, {"max_tokens": 1}, {"max_tokens": 10**9}, {"temperature": 0}, {"temperature": 0.7}, {"temperature": 2.0},
    {"stop_sequences": []}, {"stop_sequences": ["a", ""]}, {"include_context": "none"},
    {"include_context": "thisServer"},
    {"include_context": "allServers"}, {"model_preferences": ModelPreferences()},
    {"model_preferences": ModelPreferences([], 0, 1, 0.5)}, {"messages": ""},
]
NAN, HUGE = float("nan"), float("inf")
BAD_PARAMS = [
    ({"max_tokens": value}, "maxTokens") for value in (0, -1, -10**30, 1.5, True, None, "10", NAN)
] + [
    ({"temperature": value}, "temperature") for value in (-0.1, NAN, HUGE, -HUGE, True, "1")
] + [
    ({"stop_sequences": value}, "stopSequences") for value in ("END", [1], [None], 5)
] + [
    ({"include_context": value}, "includeContext") for value in ("all", "thisserver", "")
] + [
    ({"model_preferences": ModelPreferences(None, **{name + "_priority": value})}, "modelPreferences.%sPriority" % name)
    for name in ("cost", "speed", "intelligence") for value in (-0.01, 1.01, 100, NAN, HUGE, True, "0.5")
]


@in_every_revision
@pytest.mark.parametrize("more", GOOD_PARAMS, ids=repr)
def test_good_parameters_have_no_fault(more, revision):
    """[.. client/sampling §Creating Messages]"""
    assert paths(asked(**more), revision) == []


@in_every_revision
@pytest.mark.parametrize("more, path", BAD_PARAMS, ids=lambda value: repr(value)[:60])
def test_bad_parameters_are_named(more, path, revision):
    """[.. client/sampling §Capability Priorities]"""
    assert set(paths(asked(**more), revision, EVERYTHING)) == {path}


LOOK = Tool("look", {"type": "object"})
TOOLED = [
    {"tools": [LOOK]}, {"tools": []}, {"tool_choice": ToolChoice("auto")},
    {"tools": [LOOK], "tool_choice": ToolChoice("none")},
    {"messages": "a +1|u -1"}, {"messages": "a +1|u -1", "tools": [LOOK]},
]


@pytest.mark.parametrize("more", TOOLED, ids=lambda value: repr(value)[:60])
def test_tools_need_their_capability(more):
    """[2025-11-25.. client/sampling §Tools in Sampling] MUST NOT"""
    for revision in WITH_TOOLS:
        assert paths(asked(**more), revision, {"sampling": {"tools": {}}}) == []
        for declared in ({"sampling": {}}, {"sampling": {"context": {}}}, {"sampling": {}, "tools": {}}):
            fault = next(request_faults(asked(**more), revision, declared))
            assert fault.capability == "sampling.tools"
            with pytest.raises(CapabilityMissing, match="sampling.tools.*Tools in Sampling"):
                fault.refuse()


@pytest.mark.parametrize("revision", OLDER, ids=str)
@pytest.mark.parametrize("more", TOOLED, ids=lambda value: repr(value)[:60])
def test_before_they_came_no_capability_brings_tools(more, revision):
    """[..2025-06-18 client/sampling §Creating Messages]"""
    fault = next(request_faults(asked(**more), revision, EVERYTHING))
    assert "revision %s has no tool" % revision in fault.text and not fault.capability


@pytest.mark.parametrize("more, path", [
    ({"tools": [LOOK, LOOK]}, "tools[1].name"), ({"tool_choice": ToolChoice("required")}, "toolChoice"),
    ({"tools": [], "tool_choice": ToolChoice("required")}, "toolChoice"),
    ({"tools": [LOOK], "tool_choice": ToolChoice("any")}, "toolChoice.mode"),
])
def test_tools_that_cannot_be_used_are_named(more, path):
    """[2025-11-25.. client/sampling §Tool Choice Modes]"""
    assert paths(asked(**more)) == [path]


@in_every_revision
@pytest.mark.parametrize("value", ["thisServer", "allServers"])
def test_context_needs_its_capability_since_there_is_one(value, revision):
    """[2025-11-25.. client/sampling §Capabilities] SHOULD NOT"""
    fault = next(request_faults(asked(include_context=value), revision, {"sampling": {"tools": {}}}), None)
    assert (fault is None) == (revision.name < "2025-11-25")
    assert fault is None or fault.capability == "sampling.context"


@pytest.mark.parametrize("declared", [{}, {"roots": {}}, {"tools": {}}, {"sampling": None}, {"sampling": False}])
def test_nothing_goes_without_sampling(declared):
    """[.. client/sampling §Capabilities] MUST"""
    for revision in REVISIONS:
        assert next(request_faults(asked(), revision, declared)).capability == "sampling"


# --- Results ----------------------------------------------------------------------------------------------------------

PLAIN, OFFERED = asked(), asked(tools=[LOOK])
FORBIDDEN = asked(tools=[LOOK], tool_choice=ToolChoice("none"))
USE = ToolUseContent(id="1", name="look", input={})
RESULTS = [
    (CreateMessageResult("assistant", "m", TEXT), PLAIN, ""),
    (CreateMessageResult("assistant", "m", []), PLAIN, ""),
    (CreateMessageResult("assistant", "", [TEXT, IMAGE], "a word of its own"), PLAIN, ""),
    (CreateMessageResult("assistant", "m", [TEXT, USE], "toolUse"), OFFERED, ""),
    (CreateMessageResult("assistant", "m", USE), OFFERED, ""),
    (CreateMessageResult("assistant", "m", TEXT, "endTurn"), FORBIDDEN, ""),
    (CreateMessageResult("user", "m", TEXT), PLAIN, "role"),
    (CreateMessageResult("assistant", None, TEXT), PLAIN, "model"),
    (CreateMessageResult("assistant", "m", None), PLAIN, "content"),
    (CreateMessageResult("assistant", "m", [TEXT, "text"]), PLAIN, "content[1]"),
    (CreateMessageResult("assistant", "m", [ImageContent("?", "image/png")]), PLAIN, "content[0].data"),
    (CreateMessageResult("assistant", "m", [block("-1")]), OFFERED, "content"),
    (CreateMessageResult("assistant", "m", USE, "toolUse"), PLAIN, "content"),
    (CreateMessageResult("assistant", "m", USE, "toolUse"), FORBIDDEN, "content"),
    (CreateMessageResult("assistant", "m", [USE, USE], "toolUse"), OFFERED, "content"),
    (CreateMessageResult("assistant", "m", TEXT, "toolUse"), OFFERED, "stopReason"),
]


@pytest.mark.parametrize("result, params, path", RESULTS, ids=lambda value: repr(value)[:70])
def test_a_result_must_be_an_answer_to_its_request(result, params, path):
    """[2025-11-25.. client/sampling §Tool Choice Modes] MUST NOT, [.. client/sampling §Creating Messages]"""
    for revision in WITH_TOOLS:
        assert [fault.path for fault in result_faults(result, params, revision)] == ([path] if path else [])


@pytest.mark.parametrize("revision", OLDER, ids=str)
@pytest.mark.parametrize("content", [[TEXT, TEXT], [], USE], ids=lambda value: repr(value)[:40])
def test_a_result_of_an_older_revision_has_one_block_of_the_older_types(content, revision):
    """[..2025-06-18 client/sampling §Messages]"""
    assert next(result_faults(CreateMessageResult("assistant", "m", content), PLAIN, revision)).path == "content"


def test_the_example_of_the_page_is_in_order_once_decoded():
    """[2025-11-25 client/sampling §Multi-turn Tool Loop]"""
    params = asked("u!t|a +call_abc +call_def|u -call_abc -call_def", 1000, tools=[LOOK])
    wire = encode(params, LATEST_HANDSHAKE)
    assert paths(decode(CreateMessageRequestParams, wire, LATEST_HANDSHAKE)) == []
