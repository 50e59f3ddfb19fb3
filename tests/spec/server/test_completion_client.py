"""Completion as a client asks for it: checked, not too often, not twice, and taken as it comes."""
import pytest

from mcp_ref import deadline
from mcp_ref.errors import Busy, CapabilityMissing, LocalProtocolError, PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from mcp_ref.messages.completion import PromptReference, ResourceTemplateReference
from tests.support.requirements_table import HANDSHAKE, every_revision_of
from tests.support.scene import Failure, Scene
from tests.support.scripted import PATIENCE

METHOD = "completion/complete"
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)
WAYS = {
    "complete": lambda client, *args, **options: client.complete(*args, **options),
    "submit": lambda client, *args, **options: client.submit_completion(*args, **options).result(PATIENCE),
}
each_way = pytest.mark.parametrize("complete", list(WAYS.values()), ids=list(WAYS))


def suggesting(*values, **more):
    return {"completion": dict({"values": list(values)}, **more)}


class ManualClock:
    def __init__(self, monkeypatch):
        self.now = 5000.0
        monkeypatch.setattr(deadline, "clock", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return ManualClock(monkeypatch)


# --- What is asked ----------------------------------------------------------------------------------------------------

PROMPT, TEMPLATE = {"type": "ref/prompt", "name": "review"}, {"type": "ref/resource", "uri": "file:///{path}"}


@pytest.mark.parametrize("ref, wire", [
    ("review", PROMPT), (PromptReference("review"), PROMPT),
    ("file:///{path}", TEMPLATE), (ResourceTemplateReference("file:///{path}"), TEMPLATE),
    ("mailto:{path}", {"type": "ref/resource", "uri": "mailto:{path}"}),
    ("test://plain", {"type": "ref/resource", "uri": "test://plain"}),
    ("urn:prompt", {"type": "ref/prompt", "name": "urn:prompt"}),
    (PromptReference("odd {name}"), {"type": "ref/prompt", "name": "odd {name}"}),
])
@each_way
@each_revision
def test_a_reference_is_a_prompt_or_a_template(revision, complete, ref, wire):
    """[.. server/utilities/completion §Reference Types]"""
    with Scene(revision, {METHOD: suggesting("a", "b", total=7, hasMore=True)}) as scene:
        completion = complete(scene.client, ref, "path", "").completion
        assert (completion.values, completion.total, completion.has_more) == (["a", "b"], 7, True)
        assert scene.params(METHOD) == [{"ref": wire, "argument": {"name": "path", "value": ""}}]


@each_way
@each_revision
def test_settled_arguments_are_sent_where_the_revision_carries_them(revision, complete):
    """[2025-06-18..2025-11-25 server/utilities/completion §Requesting Completions]"""
    with Scene(revision, {METHOD: suggesting()}) as scene:
        complete(scene.client, "review", "framework", "fla", {"language": "python"})
        assert ("context" in scene.params(METHOD)[0]) == (revision >= "2025-06-18")
        assert scene.params(METHOD)[0].get("context", {"arguments": {"language": "python"}}) == {
            "arguments": {"language": "python"}}
        complete(scene.client, "review", "framework", "f", {})
        assert "context" not in scene.params(METHOD)[1]


BAD = [
    (("", "a", "v"), "ref must be a str that is not empty"), ((None, "a", "v"), "ref is the name"),
    ((5, "a", "v"), "ref is the name"), ((PromptReference(""), "a", "v"), "ref must be a str"),
    ((PromptReference(5), "a", "v"), "ref must be a str"), (("p", "", "v"), "argument must be"),
    (("p", 5, "v"), "argument must be"), (("p", None, "v"), "argument must be"), (("p", "a", 5), "value must be"),
    (("p", "a", None), "value must be"), (("p", "a", b"v"), "value must be"),
    (("p", "a", "v", ["x"]), "arguments must be a mapping"), (("p", "a", "v", {"x": 5}), "arguments: names and values"),
    (("p", "a", "v", {"x": None}), "arguments: names and values"), (("p", "a", "v", {5: "x"}), "arguments: names"),
    (("file:///{path}", "other", "v"), "no variable 'other'; it has path"),
    (("file:///{path", "path", "v"), "no URI template"), (("{+a,b*}{?c}", "d", "v"), "it has a, b, c"),
]


@pytest.mark.spec("completion.validate-inputs")
@pytest.mark.parametrize("arguments, words", BAD)
@each_way
@pytest.mark.parametrize("revision", every_revision_of("completion.validate-inputs"))
def test_what_may_not_be_asked_is_not_sent(revision, complete, arguments, words):
    """[.. server/utilities/completion §Security] MUST"""
    with Scene(revision, {METHOD: suggesting("a")}) as scene:
        with pytest.raises(LocalProtocolError) as caught:
            complete(scene.client, *arguments)
        assert words in str(caught.value) and "server/utilities/completion §Security" in str(caught.value)
        scene.client.ping()
        assert scene.asked == []


@each_way
@pytest.mark.parametrize("revision", HANDSHAKE[1:])
def test_a_server_without_the_capability_is_not_asked(revision, complete):
    with Scene(revision, capabilities={"prompts": {}}) as scene:
        with pytest.raises(CapabilityMissing, match="completions"):
            complete(scene.client, "p", "a", "v")


# --- How often --------------------------------------------------------------------------------------------------------

@pytest.mark.spec("completion.rate-limit")
@each_way
@pytest.mark.parametrize("revision", every_revision_of("completion.rate-limit"))
def test_no_more_is_asked_in_a_second_than_the_limit(revision, complete, clock):
    """[.. server/utilities/completion §Security] MUST"""
    with Scene(revision, {METHOD: suggesting("a")}, limits=Limits(max_completions_per_second=3)) as scene:
        for number in range(3):
            complete(scene.client, "p", "a", str(number))
        with pytest.raises(Busy, match="max_completions_per_second"):
            complete(scene.client, "p", "a", "3")
        assert len(scene.asked) == 3
        assert complete(scene.client, "p", "a", "0").completion.values == ["a"], "what is remembered costs nothing"
        clock.now += 0.34
        complete(scene.client, "p", "a", "3")
        with pytest.raises(Busy):
            complete(scene.client, "p", "a", "4")
        assert len(scene.asked) == 4


# --- What is remembered -----------------------------------------------------------------------------------------------

QUESTIONS = [
    ("p", "a", "v"), ("q", "a", "v"), ("p", "b", "v"), ("p", "a", "w"), ("p", "a", ""), ("test://{a}", "a", "v"),
]
IN_CONTEXT = [("p", "a", "v", {"x": "1"}), ("p", "a", "v", {"x": "2"}), ("p", "a", "v", {"y": "1"}),
              ("p", "a", "v", {"x": "1", "y": "1"})]


@pytest.mark.spec("completion.cache")
@each_way
@pytest.mark.parametrize("revision", every_revision_of("completion.cache"))
def test_a_question_is_asked_once(revision, complete, clock):
    """[.. server/utilities/completion §Implementation Considerations] SHOULD"""
    questions = QUESTIONS + IN_CONTEXT * (revision >= "2025-06-18")

    def answer(params):
        return suggesting(repr(sorted(params.items())))

    with Scene(revision, {METHOD: answer}) as scene:
        first = [complete(scene.client, *question).completion.values for question in questions]
        assert len({values[0] for values in first}) == len(questions) == len(scene.asked)
        again = [complete(scene.client, *question).completion.values for question in questions]
        assert again == first and len(scene.asked) == len(questions)
        complete(scene.client, "p", "a", "v", refresh=True)
        assert len(scene.asked) == len(questions) + 1


@pytest.mark.parametrize("changed", ["prompts", "resources"])
@each_way
@each_revision
def test_a_change_of_what_is_completed_makes_the_answers_old(revision, complete, changed):
    with Scene(revision, {METHOD: suggesting("old")}) as scene:
        complete(scene.client, "p", "a", "v")
        scene.answers[METHOD] = suggesting("new")
        scene.tell("notifications/tools/list_changed")
        assert complete(scene.client, "p", "a", "v").completion.values == ["old"]
        scene.tell("notifications/%s/list_changed" % changed)
        assert complete(scene.client, "p", "a", "v").completion.values == ["new"]
        assert complete(scene.client, "p", "a", "v").completion.values == ["new"] and len(scene.asked) == 2


@pytest.mark.race
@each_way
def test_an_answer_that_was_old_when_it_came_is_not_remembered(complete):
    def answer(params):
        scene.peer.notify("notifications/prompts/list_changed")
        scene.answers[METHOD] = suggesting("new")
        return suggesting("old")

    with Scene(answers={METHOD: answer}) as scene:
        assert complete(scene.client, "p", "a", "v").completion.values == ["old"]
        assert complete(scene.client, "p", "a", "v").completion.values == ["new"]


def test_answers_grow_old(clock):
    limits = Limits(cached_completion_seconds=5.0)
    with Scene(answers={METHOD: suggesting("a")}, limits=limits) as scene:
        for passed, asked in ((0.0, 1), (4.9, 1), (0.2, 2), (4.9, 2), (5.0, 3)):
            clock.now += passed
            scene.client.complete("p", "a", "v")
            assert len(scene.asked) == asked


def test_the_oldest_answers_are_dropped_first():
    with Scene(answers={METHOD: suggesting("a")}, limits=Limits(max_cached_completions=2)) as scene:
        for value, asked in (("1", 1), ("2", 2), ("1", 2), ("3", 3), ("2", 3), ("1", 4), ("3", 4)):
            scene.client.complete("p", "a", value)
            assert len(scene.asked) == asked, value


def test_an_error_is_not_remembered():
    with Scene(answers={METHOD: Failure(-32602, "no such prompt")}) as scene:
        for complete in WAYS.values():
            with pytest.raises(PeerError, match="no such prompt"):
                complete(scene.client, "p", "a", "v")
        scene.answers[METHOD] = suggesting("a")
        assert scene.client.complete("p", "a", "v").completion.values == ["a"]


# --- What comes -------------------------------------------------------------------------------------------------------

PARTIAL = [
    ({}, []), ({"completion": None}, []), ({"completion": {}}, []), ({"completion": {"values": None}}, []),
    ({"completion": {"total": 3}}, []), ({"completion": {"values": ["a"], "total": None, "hasMore": None}}, ["a"]),
    ({"completion": {"values": ["a"], "hasMore": True}}, ["a"]), ({"completion": {"values": [], "total": 5}}, []),
]


@pytest.mark.spec("completion.partial-results")
@pytest.mark.parametrize("result, values", PARTIAL)
@each_way
@pytest.mark.parametrize("revision", every_revision_of("completion.partial-results"))
def test_what_is_missing_is_empty(revision, complete, result, values):
    """[.. server/utilities/completion §Implementation Considerations] SHOULD"""
    with Scene(revision, {METHOD: result}) as scene:
        completion = complete(scene.client, "p", "a", "v").completion
        assert completion.values == values
        whole = result.get("completion") or {}
        assert (completion.total, completion.has_more) == (whole.get("total"), whole.get("hasMore"))
        assert scene.count("incomplete completion") == int("values" not in whole or None in whole.values())


@pytest.mark.parametrize("result", [PARTIAL[n][0] for n in (0, 1, 2, 3, 4, 5)])
@each_way
def test_a_strict_client_wants_it_whole(complete, result):
    with Scene(answers={METHOD: result}, strict=True) as scene:
        with pytest.raises(PeerProtocolError):
            complete(scene.client, "p", "a", "v")


@pytest.mark.parametrize("result", [
    {"completion": []}, {"completion": "a"}, {"completion": {"values": "a"}}, {"completion": {"values": [1]}},
    {"completion": {"values": [], "total": "3"}}, {"completion": {"values": [], "hasMore": 1}},
])
@each_way
@each_revision
def test_what_is_wrong_is_an_error_that_says_where(revision, complete, result):
    with Scene(revision, {METHOD: result}) as scene:
        with pytest.raises(PeerProtocolError, match=r"result\.completion"):
            complete(scene.client, "p", "a", "v")


@each_way
@each_revision
def test_more_values_than_allowed_are_cut_off(revision, complete):
    """[.. server/utilities/completion §Completion Results]"""
    values = [str(n) for n in range(150)]
    with Scene(revision, {METHOD: suggesting(*values, total=150, hasMore=False)}) as scene:
        completion = complete(scene.client, "p", "a", "v").completion
        assert completion.values == values[:100] and completion.has_more and completion.total == 150
        assert scene.count("too many completions") == 1
    with Scene(revision, {METHOD: suggesting(*values[:100], hasMore=False)}, strict=True) as scene:
        assert len(complete(scene.client, "p", "a", "v").completion.values) == 100
        scene.answers[METHOD] = suggesting(*values[:101])
        with pytest.raises(PeerProtocolError, match="101 values"):
            complete(scene.client, "p", "a", "w")


def test_a_remembered_answer_is_a_future_that_is_done():
    with Scene(answers={METHOD: suggesting("a")}) as scene:
        scene.client.complete("p", "a", "v")
        future = scene.client.submit_completion("p", "a", "v")
        assert future.done() and not future.cancel() and future.result().completion.values == ["a"]
        assert len(scene.asked) == 1
