"""Decisions: what each answer of a policy means, what holds without one, and approvals that are remembered."""
import pytest

from mcp_ref.host import (
    Allow, AllowListed, AskOnce, Deny, ElicitationRequest, HostTool, Policy, RootsRequest, SamplingRequest,
    SamplingResult, ToolCall, allow, approval_key,
)
from mcp_ref.messages.tools import Tool


def call(name="read", definition="1", server="files", **more):
    tool = Tool(name, {"type": "object"})
    return ToolCall(HostTool(server, name, "%s__%s" % (server, name), tool, None, None, False, definition), {}, **more)


QUESTIONS = {
    "tool_call": call(),
    "sampling": SamplingRequest("files", None, None, None),
    "sampling_result": SamplingResult("files", None, None),
    "elicitation": ElicitationRequest("files", "form", None, None),
    "roots": RootsRequest("files", []),
}
ANSWERS = [
    (True, Allow()), (False, Deny()), (Allow({"a": 1}), Allow({"a": 1})), (Deny("no"), Deny("no")),
]
NO_ANSWERS = [None, 1, 0, "yes", "", {}, {"allow": True}, [True], Allow, Deny, object()]


class Rude(Exception):
    def __str__(self):
        raise RuntimeError("not even a text")


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("answer, decision", ANSWERS)
def test_an_answer_is_what_it_says(kind, answer, decision):
    assert Policy(**{kind: lambda question: answer}).decide(QUESTIONS[kind]) == decision


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("answer", NO_ANSWERS, ids=repr)
def test_what_is_no_answer_denies(kind, answer):
    assert isinstance(Policy(**{kind: lambda question: answer}).decide(QUESTIONS[kind]), Deny)


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("error", [ValueError("x"), KeyError(), RecursionError(), Rude()], ids=type)
def test_a_policy_that_raises_denies(kind, error):
    def broken(question):
        raise error

    decision = Policy(**{kind: broken}).decide(QUESTIONS[kind])
    assert isinstance(decision, Deny) and type(error).__name__ in decision.reason


def test_ctrl_c_is_nobodys_answer():
    def interrupted(question):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Policy(tool_call=interrupted).decide(call())


@pytest.mark.parametrize("kind, allows", [
    ("tool_call", False), ("sampling", False), ("sampling_result", True), ("elicitation", True), ("roots", True),
])
@pytest.mark.spec("sampling.approval-controls", "tools.human-in-loop", "sampling.human-in-loop")
def test_without_a_function_the_safe_thing_holds(kind, allows):
    """[.. index §Security and Trust & Safety > Key Principles]"""
    decision = Policy().decide(QUESTIONS[kind])
    assert isinstance(decision, Allow) is allows
    assert allows or "Policy(%s=" % kind in decision.reason, "it says what to do"


def asked(answers):
    """A function that asks, and the questions it got."""
    seen = []
    given = iter(answers)

    def ask(question):
        seen.append(question)
        return next(given)

    return ask, seen


def test_a_yes_holds_for_one_definition_of_one_tool_of_one_server():
    ask, seen = asked([True] * 4)
    once = AskOnce(ask)
    different = [call(), call(definition="2"), call("write"), call(server="other")]
    for _ in range(3):
        for question in different:
            assert once(question) in (True, Allow())
    assert seen == different


@pytest.mark.parametrize("answer", [False, Deny("no"), None, "yes", Allow({"path": "x"})], ids=repr)
def test_anything_but_a_plain_yes_is_asked_again(answer):
    ask, seen = asked([answer, True])
    once = AskOnce(ask)
    policy = Policy(tool_call=once)
    first = policy.decide(call())
    assert first == answer if isinstance(answer, (Allow, Deny)) else isinstance(first, Deny)
    assert policy.decide(call()) == Allow() and len(seen) == 2


def test_approvals_can_be_kept_elsewhere_and_taken_back():
    ask, seen = asked([True, True])
    kept = set()
    assert AskOnce(ask, kept)(call()) == Allow()
    assert kept == {approval_key(call())} == {'["files", "read", "1"]'}
    again = AskOnce(ask, kept)
    assert again(call()) == Allow() and len(seen) == 1
    again.forget(call())
    assert again(call()) == Allow() and len(seen) == 2


@pytest.mark.parametrize("question, allowed", [
    (call(), True), (call("write"), False), (call(server="other"), False), (call("Read"), False),
])
def test_a_list_allows_what_is_on_it(question, allowed):
    assert isinstance(AllowListed(["files__read"])(question), Allow) is allowed


def test_a_listed_tool_that_changes_is_not_on_the_list_any_more():
    listed = AllowListed(["files__read"])
    assert listed(call()) == Allow()
    assert listed(call(definition="2")) == Deny("its definition has changed")
    assert listed(call()) == Allow()


@pytest.mark.parametrize("question", [call("write"), call(definition="2")])
def test_what_is_not_listed_is_for_the_other_function(question):
    ask, seen = asked([Deny("asked")])
    listed = AllowListed(["files__read"], otherwise=ask)
    assert listed(call()) == Allow() and seen == []
    assert listed(question) == Deny("asked") and seen == [question]


@pytest.mark.parametrize("helper", [
    lambda broken: AskOnce(broken), lambda broken: AllowListed([], otherwise=broken),
])
def test_a_helper_around_a_function_that_raises_denies(helper):
    assert isinstance(Policy(tool_call=helper(lambda question: 1 / 0)).decide(call()), Deny)


def test_everything_can_be_allowed():
    assert all(Policy(**{kind: allow}).decide(question) == Allow() for kind, question in QUESTIONS.items())
