"""Completion, the server's half: what is suggested, what is refused, and how much of it there may be."""
import enum
import itertools
import logging
from typing import Literal

import pytest

from mcp_ref import Context, Server, deadline
from mcp_ref.errors import RpcError
from mcp_ref.limits import Limits
from mcp_ref.messages.completion import Completion, PromptReference, ResourceTemplateReference
from mcp_ref.revisions import revision as revision_named
from mcp_ref.server.completion import ranked
from tests.support.requirements_table import HANDSHAKE, every_revision_of
from tests.support.scripted import ScriptedPeer
from tests.support.serving import assert_masked

every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
PROMPT = {"type": "ref/prompt", "name": "review"}
TEMPLATE = {"type": "ref/resource", "uri": "repo://{owner}/{name}"}


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


def make_server(function=None, **options):
    """A server with a prompt and a template, whose `language` and `name` this function completes."""
    server = Server("completing", **options)

    @server.prompt
    def review(language: str, framework: str = "") -> str:
        return language

    @server.resource("repo://{owner}/{name}")
    def repo(owner: str, name: str) -> str:
        return name

    server.resource("fixed://one")(lambda: "")
    if function is not None:
        server.completion("review", "language")(function)
        server.completion("repo://{owner}/{name}", "name")(function)
    return server


def talk(server, revision):
    peer = ScriptedPeer.of_server(server)
    peer.declared = peer.handshake(revision)["capabilities"]
    peer.barrier("ready")
    peer.ids = itertools.count(1)
    return peer


def ask(peer, ref, argument, value="", **more):
    """The answer to a request for completion."""
    params = dict(more, ref=ref, argument={"name": argument, "value": value})
    return peer.call(next(peer.ids), "completion/complete", params)


def suggested(peer, ref, argument, value="", **more):
    return ask(peer, ref, argument, value, **more)["result"]["completion"]


# -- Capability --------------------------------------------------------------------------------------------------------

@pytest.mark.spec("completion.capability")
@pytest.mark.parametrize("revision", every_revision_of("completion.capability"))
@pytest.mark.parametrize("offer", [
    lambda server, folder: server.completion("review", "language")(lambda value: []),
    lambda server, folder: server.completion(ResourceTemplateReference(TEMPLATE["uri"]), "owner")(lambda value: []),
    lambda server, folder: server.prompt(name="p")(choose_language),
    lambda server, folder: server.resource("c://{colour}")(choose_colour),
    lambda server, folder: server.resource("c://{word}/{colour}")(lambda word, colour: word) and server.resource(
        "d://{word}/{colour}")(choose_second),
    lambda server, folder: server.directory(folder, listed=False),
], ids=["prompt", "template", "Literal", "Enum", "the last variable of the last template", "directory"])
def test_a_server_that_completes_anything_declares_it(offer, revision, tmp_path):
    """[2025-03-26.. server/utilities/completion §Capabilities] MUST"""
    server = make_server()
    offer(server, tmp_path)
    with talk(server, revision) as peer:
        assert peer.declared["completions"] == {}
        assert "result" in ask(peer, PROMPT, "language")


def choose_language(language: Literal["python", "perl", "ruby", "Prolog"], strict: bool = False) -> str:
    return language


def choose_colour(colour: Colour) -> str:
    return colour.value


def choose_second(word: str, colour: Colour) -> str:
    return word


@every_revision
def test_the_oldest_revision_has_the_method_without_a_capability(revision):
    """[.. server/utilities/completion §Requesting Completions]"""
    with talk(make_server(lambda value: ["x"]), revision) as peer:
        assert ("completions" in peer.declared) is revision_named(revision).completions_capability
        assert suggested(peer, PROMPT, "language")["values"] == ["x"]


@pytest.mark.spec("completion.unsupported-error")
@pytest.mark.parametrize("revision", every_revision_of("completion.unsupported-error"))
@pytest.mark.parametrize("make", [make_server, lambda: Server("nothing at all")])
def test_a_server_that_completes_nothing_does_not_have_the_method(make, revision):
    """[2025-03-26.. server/utilities/completion §Error Handling] SHOULD"""
    with talk(make(), revision) as peer:
        assert "completions" not in peer.declared
        assert ask(peer, PROMPT, "language")["error"]["code"] == -32601


def test_in_the_oldest_revision_too():
    """[2024-11-05 server/utilities/completion §Requesting Completions]"""
    with talk(make_server(), "2024-11-05") as peer:
        assert ask(peer, PROMPT, "language")["error"]["code"] == -32601


# -- Suggestions -------------------------------------------------------------------------------------------------------

@every_revision
@pytest.mark.parametrize("ref, argument", [(PROMPT, "language"), (TEMPLATE, "name")])
def test_the_function_gets_what_is_typed_and_its_suggestions_are_sent(ref, argument, revision):
    """[.. server/utilities/completion §Requesting Completions]"""
    seen = []

    def complete(value, ctx: Context):
        seen.append((value, ctx.request_id))
        return [value + "1", value + "2"]

    with talk(make_server(complete), revision) as peer:
        for typed in ["", "py", "p\u00fd \U0001f40d\n"]:
            assert suggested(peer, ref, argument, typed) == {
                "values": [typed + "1", typed + "2"], "total": 2, "hasMore": False}
    assert [value for value, _ in seen] == ["", "py", "p\u00fd \U0001f40d\n"] and [id for _, id in seen] == [1, 2, 3]


@pytest.mark.parametrize("reference", [
    "review", PromptReference("review"), "repo://{owner}/{name}", ResourceTemplateReference("repo://{owner}/{name}")])
def test_what_is_completed_is_named_by_a_text_or_a_reference(reference):
    """[.. server/utilities/completion §Reference Types]"""
    of_prompt = "review" in repr(reference)
    server = make_server()
    server.completion(reference, "language" if of_prompt else "owner")(lambda value: ["found"])
    with talk(server, "2025-11-25") as peer:
        found = [suggested(peer, PROMPT, "language")["values"], suggested(peer, TEMPLATE, "owner")["values"]]
    assert found == ([["found"], []] if of_prompt else [[], ["found"]])


@every_revision
def test_a_prompt_and_a_template_of_one_name_are_kept_apart(revision):
    """[.. server/utilities/completion §Reference Types]"""
    server, same = make_server(), "x://{language}"
    server.prompt(lambda language: "", name=same)
    server.resource(same)(lambda language: "")
    server.completion(PromptReference(same), "language")(lambda value: ["prompt"])
    server.completion(ResourceTemplateReference(same), "language")(lambda value: ["template"])
    with talk(server, revision) as peer:
        assert suggested(peer, {"type": "ref/prompt", "name": same}, "language")["values"] == ["prompt"]
        assert suggested(peer, {"type": "ref/resource", "uri": same}, "language")["values"] == ["template"]


@every_revision
def test_a_resource_may_be_named_by_a_uri_that_the_template_matches(revision):
    """[.. server/utilities/completion §Reference Types]"""
    with talk(make_server(lambda value: ["x"]), revision) as peer:
        assert suggested(peer, {"type": "ref/resource", "uri": "repo://ann/tools"}, "name")["values"] == ["x"]
        for uri in ["repo://ann", "repo://ann/a/b", "fixed://one", "repo://{owner}", "", "\u00e9", "x" * 10_000]:
            assert ask(peer, {"type": "ref/resource", "uri": uri}, "name")["error"]["code"] == -32602


@every_revision
def test_settled_arguments_are_passed_on_from_the_revision_that_has_them(revision):
    """[2025-06-18.. server/utilities/completion §Requesting Completions]"""
    seen = []

    def complete(value, arguments):
        seen.append(arguments)
        arguments["mine"] = "changed"
        return []

    has = revision_named(revision).completion_context
    with talk(make_server(complete), revision) as peer:
        for more in [{}, {"context": {}}, {"context": {"arguments": {}}},
                     {"context": {"arguments": {"framework": "flask", "language": "py"}}}]:
            assert suggested(peer, PROMPT, "language", "p", **more)["values"] == []
    full = {"framework": "flask", "language": "py", "mine": "changed"}
    assert seen == [{"mine": "changed"}] * 3 + [full if has else {"mine": "changed"}]


@pytest.mark.spec("completion.sorted")
@pytest.mark.parametrize("revision", every_revision_of("completion.sorted"))
@pytest.mark.parametrize("values", [
    ["b", "a", "c"], ("z", "y"), {"q": 1, "p": 2}, ["same", "same"], [], ["\u00e9", ""]])
def test_the_order_of_the_function_is_kept(values, revision):
    """[.. server/utilities/completion §Implementation Considerations] SHOULD"""
    for function in (lambda value: values, lambda value: iter(values), lambda value: Completion(list(values))):
        with talk(make_server(function), revision) as peer:
            assert suggested(peer, PROMPT, "language")["values"] == list(values)


@pytest.mark.spec("completion.sorted")
@pytest.mark.parametrize("revision", every_revision_of("completion.sorted"))
@pytest.mark.parametrize("typed, values", [
    ("", ["python", "perl", "ruby", "Prolog"]), ("p", ["python", "perl", "Prolog"]),
    ("P", ["python", "perl", "Prolog"]), ("pe", ["perl"]), ("y", ["python", "ruby"]), ("r", ["ruby", "perl", "Prolog"]),
    ("python", ["python"]), ("x", []), ("PYTHON ", []),
])
def test_values_that_an_annotation_lists_are_suggested_best_first(typed, values, revision):
    """[.. server/utilities/completion §Implementation Considerations] SHOULD"""
    server = make_server()
    server.prompt(name="choose")(choose_language)
    with talk(server, revision) as peer:
        assert suggested(peer, {"type": "ref/prompt", "name": "choose"}, "language", typed) == {
            "values": values, "total": len(values), "hasMore": False}


@every_revision
def test_enums_and_booleans_complete_by_themselves_and_a_function_of_ones_own_wins(revision):
    server = make_server()
    server.prompt(name="choose")(choose_language)
    server.resource("c://{colour}")(choose_colour)
    server.resource("d://{colour}")(choose_colour)
    server.completion("d://{colour}", "colour")(lambda value: ["mine"])
    with talk(server, revision) as peer:
        assert suggested(peer, {"type": "ref/prompt", "name": "choose"}, "strict")["values"] == ["false", "true"]
        assert suggested(peer, {"type": "ref/resource", "uri": "c://{colour}"}, "colour", "g")["values"] == ["green"]
        assert suggested(peer, {"type": "ref/resource", "uri": "d://{colour}"}, "colour", "g")["values"] == ["mine"]


def test_ranking_puts_beginnings_before_occurrences_and_keeps_the_rest_of_the_order():
    assert ranked(["bar", "Abc", "cab", "abd"], "AB") == ["Abc", "abd", "cab"]


# -- Amounts -----------------------------------------------------------------------------------------------------------

def numbers(stop=None):
    return (str(number) for number in itertools.islice(itertools.count(), stop))


@every_revision
@pytest.mark.parametrize("made, sent, total, more", [
    (lambda: list(numbers(99)), 99, 99, False), (lambda: list(numbers(100)), 100, 100, False),
    (lambda: list(numbers(101)), 100, 101, True), (lambda: tuple(numbers(5000)), 100, 5000, True),
    (lambda: numbers(99), 99, 99, False), (lambda: numbers(100), 100, 100, False),
    (lambda: numbers(101), 100, None, True), (numbers, 100, None, True),
    (lambda: itertools.repeat("x"), 100, None, True),
    (lambda: Completion(list(numbers(101))), 100, 101, True), (lambda: Completion(list(numbers(3))), 3, None, None),
    (lambda: Completion(list(numbers(3)), 50, True), 3, 50, True), (lambda: Completion(["a"], 1, False), 1, 1, False),
    (lambda: Completion(list(numbers(101)), 7, False), 100, 101, True),
    (lambda: Completion(list(numbers(101)), 1000), 100, 1000, True), (lambda: Completion(["a", "b"], 1), 2, 2, None),
], ids=range(16))
def test_at_most_a_hundred_are_sent_and_the_rest_is_counted(made, sent, total, more, revision):
    """[.. server/utilities/completion §Completion Results]"""
    with talk(make_server(lambda value: made()), revision) as peer:
        found = suggested(peer, PROMPT, "language")
        assert (len(found["values"]), found.get("total"), found.get("hasMore")) == (sent, total, more)


@every_revision
@pytest.mark.parametrize("limit, sent", [(3, 3), (100, 100), (1000, 100)])
def test_the_limit_may_be_lower_and_never_higher(limit, sent, revision):
    """[.. server/utilities/completion §Completion Results]"""
    taken = []
    server = make_server(lambda value: counted(taken), limits=Limits(max_completion_values=limit))
    with talk(server, revision) as peer:
        found = suggested(peer, PROMPT, "language")
    assert len(found["values"]) == sent and found["hasMore"] is True and len(taken) == sent + 1


def counted(taken):
    """An endless iterator that notes what is taken from it."""
    for number in itertools.count():
        taken.append(number)
        yield str(number)


# -- Refusals ----------------------------------------------------------------------------------------------------------

GOOD = {"ref": PROMPT, "argument": {"name": "language", "value": ""}}
BAD_PARAMS = [
    ({}, "params.ref"), ({"ref": PROMPT}, "params.argument"), ({"argument": GOOD["argument"]}, "params.ref"),
    (dict(GOOD, ref=None), "params.ref"), (dict(GOOD, ref="review"), "params.ref"), (dict(GOOD, ref=[]), "params.ref"),
    (dict(GOOD, ref={}), "params.ref"), (dict(GOOD, ref={"name": "review"}), "params.ref"),
    (dict(GOOD, ref={"type": "ref/prompt"}), "params.ref"), (dict(GOOD, ref={"type": "ref/resource"}), "params.ref"),
    (dict(GOOD, ref={"type": "ref/tool", "name": "review"}), "params.ref"),
    (dict(GOOD, ref={"type": "ref/prompt", "name": 5}), "params.ref.name"),
    (dict(GOOD, ref={"type": "ref/prompt", "name": None}), "params.ref.name"),
    (dict(GOOD, ref={"type": "ref/resource", "uri": ["x"]}), "params.ref.uri"),
    (dict(GOOD, argument=None), "params.argument"), (dict(GOOD, argument="language"), "params.argument"),
    (dict(GOOD, argument={}), "params.argument"), (dict(GOOD, argument={"name": "language"}), "params.argument"),
    (dict(GOOD, argument={"value": ""}), "params.argument"),
    (dict(GOOD, argument={"name": "language", "value": None}), "params.argument.value"),
    (dict(GOOD, argument={"name": "language", "value": 3}), "params.argument.value"),
    (dict(GOOD, argument={"name": "language", "value": {}}), "params.argument.value"),
    (dict(GOOD, argument={"name": 1, "value": ""}), "params.argument.name"),
    (dict(GOOD, argument={"name": "nothing", "value": ""}), "params.argument.name"),
    (dict(GOOD, argument={"name": "", "value": ""}), "params.argument.name"),
    (dict(GOOD, argument={"name": "Language", "value": ""}), "params.argument.name"),
    (dict(GOOD, argument={"name": "language\u0000", "value": ""}), "params.argument.name"),
    (dict(GOOD, argument={"name": "a" * 5000, "value": ""}), "params.argument.name"),
]
BAD_CONTEXT = [
    ({"arguments": [1]}, "params.context.arguments"), ({"arguments": "x"}, "params.context.arguments"),
    ({"arguments": {"framework": 1}}, "params.context.arguments.framework"),
    ({"arguments": {"framework": None}}, "params.context.arguments.framework"),
    ({"arguments": {"framework": ["flask"]}}, "params.context.arguments.framework"),
    ({"arguments": {"nothing": "x"}}, "params.context.arguments"), ([1], "params.context"), ("x", "params.context"),
]


@pytest.mark.spec("completion.validate-inputs", "completion.validate-should")
@pytest.mark.parametrize("revision", every_revision_of("completion.validate-inputs", "completion.validate-should"))
def test_params_that_do_not_fit_are_refused_with_the_path_and_reach_no_function(revision):
    """[.. server/utilities/completion §Security] MUST"""
    reached, rules = [], revision_named(revision)
    context = [(dict(GOOD, context=value), path) for value, path in BAD_CONTEXT]
    with talk(make_server(lambda value, arguments: reached.append(value)), revision) as peer:
        for number, (params, path) in enumerate(BAD_PARAMS + (context if rules.completion_context else [])):
            error = peer.call("bad %d" % number, "completion/complete", params)["error"]
            assert error["code"] == -32602 and path in error["message"], params
            assert len(error["message"]) < 300 and error["message"].isprintable()
        assert peer.call("none", "completion/complete")["error"]["code"] == -32602
    assert reached == []


@pytest.mark.spec("completion.invalid-prompt")
@pytest.mark.parametrize("revision", every_revision_of("completion.invalid-prompt"))
@pytest.mark.parametrize("ref", [
    {"type": "ref/prompt", "name": "nothing"}, {"type": "ref/prompt", "name": ""},
    {"type": "ref/prompt", "name": "Review"}, {"type": "ref/prompt", "name": "repo://{owner}/{name}"},
    {"type": "ref/prompt", "name": "a\nb\u2028" * 500}, {"type": "ref/resource", "uri": "review"},
    {"type": "ref/resource", "uri": "repo://{owner}/{other}"}, {"type": "ref/resource", "uri": "repo://{owner"},
])
def test_a_prompt_or_template_that_is_not_there_is_invalid(ref, revision):
    """[2025-03-26.. server/utilities/completion §Error Handling] SHOULD"""
    reached = []
    with talk(make_server(reached.append), revision) as peer:
        for argument in ["language", "name"]:
            error = ask(peer, ref, argument)["error"]
            assert error["code"] == -32602 and "Unknown" in error["message"] and error["message"].isprintable()
    assert reached == []


@pytest.mark.spec("completion.invalid-prompt")
@pytest.mark.parametrize("revision", every_revision_of("completion.invalid-prompt"))
@pytest.mark.parametrize("ref", [PROMPT, TEMPLATE])
def test_without_any_prompt_or_template_none_is_known(ref, revision):
    """[2025-03-26.. server/utilities/completion §Error Handling] SHOULD"""
    server = Server("gone")
    server.prompt(lambda language: "", name="review")
    server.completion("review", "language")(lambda value: ["x"])
    server.remove_prompt("review")
    with talk(server, revision) as peer:
        assert "completions" in peer.declared and "resources" not in peer.declared
        assert ask(peer, ref, "language")["error"]["code"] == -32602
        assert not server.has_feature("resources")


@pytest.mark.spec("completion.missing-arguments")
@pytest.mark.parametrize("revision", every_revision_of("completion.missing-arguments"))
@pytest.mark.parametrize("argument", [None, {}, {"name": "language"}, {"value": "x"}])
def test_a_missing_argument_is_invalid(argument, revision):
    """[2025-03-26.. server/utilities/completion §Error Handling] SHOULD"""
    params = {"ref": PROMPT} if argument is None else {"ref": PROMPT, "argument": argument}
    with talk(make_server(lambda value: []), revision) as peer:
        assert peer.call(1, "completion/complete", params)["error"]["code"] == -32602


@every_revision
def test_a_known_argument_that_nobody_completes_has_no_suggestions(revision):
    """[.. server/utilities/completion §Completion Results]"""
    with talk(make_server(lambda value: ["x"]), revision) as peer:
        for ref, argument in [(PROMPT, "framework"), (TEMPLATE, "owner")]:
            assert suggested(peer, ref, argument, "x") == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.spec("completion.internal-error")
@pytest.mark.parametrize("revision", every_revision_of("completion.internal-error"))
@pytest.mark.parametrize("value", [
    lambda: 1 / 0, lambda: None, lambda: "text", lambda: b"bytes", lambda: 5, lambda: [1], lambda: ["a", None],
    lambda: (1 / number for number in [1, 0]), lambda: Completion([3]), lambda: [b"secret"],
], ids=range(10))
def test_a_failing_function_is_an_internal_error_without_its_text(value, revision, caplog):
    """[2025-03-26.. server/utilities/completion §Error Handling] SHOULD"""
    server = make_server(lambda typed: value())
    server.mask_errors = True
    with talk(server, revision) as peer, caplog.at_level(logging.ERROR):
        assert_masked(ask(peer, PROMPT, "language")["error"])
        assert "result" in ask(peer, PROMPT, "framework")
    assert [record for record in caplog.records if record.exc_info]


@every_revision
def test_an_error_that_the_function_chooses_goes_out_as_it_is(revision):
    def complete(value):
        raise RpcError(-32602, "Log in first", {"value": value})

    with talk(make_server(complete), revision) as peer:
        error = ask(peer, PROMPT, "language", "x")["error"]
        assert error == {"code": -32602, "message": "Log in first", "data": {"value": "x"}}


@pytest.mark.spec("completion.rate-limit", "completion.rate-limit-should")
@pytest.mark.parametrize("revision", every_revision_of("completion.rate-limit", "completion.rate-limit-should"))
def test_each_client_may_ask_so_often_and_the_refusal_names_the_limit(revision, monkeypatch):
    """[.. server/utilities/completion §Security] MUST"""
    now, reached = [1000.0], []
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    server = make_server(lambda value: [str(reached.append(value))], limits=Limits(max_completions_per_second=5))
    with talk(server, revision) as peer, talk(server, revision) as other:
        answers = [ask(peer, PROMPT, "language") for _ in range(8)]
        assert ["result" in answer for answer in answers] == [True] * 5 + [False] * 3 and len(reached) == 5
        error = answers[-1]["error"]
        assert error["code"] == -32603 and "max_completions_per_second (5)" in error["message"]
        assert "result" in ask(other, PROMPT, "language")
        now[0] += 0.5
        assert ["result" in ask(peer, PROMPT, "language") for _ in range(3)] == [True, True, False]


# -- Registration ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("ref, argument, function, error, words", [
    ("review", "nothing", lambda value: [], ValueError, "no argument 'nothing'"),
    ("repo://{owner}/{name}", "nothing", lambda value: [], ValueError, "it has owner, name"),
    (PromptReference("review"), "name", lambda value: [], ValueError, "language, framework"),
    ("review", "language", lambda: [], ValueError, "give it a parameter"),
    ("review", "language", lambda arguments: [], ValueError, "give it a parameter"),
    ("review", "language", lambda ctx: [], ValueError, "give it a parameter"),
    ("review", "language", lambda value, other: [], ValueError, "not also other"),
    ("review", "language", None, TypeError, ""),
    ("", "language", lambda value: [], TypeError, "a prompt's name"),
    (None, "language", lambda value: [], TypeError, "a prompt's name"),
    ({"type": "ref/prompt", "name": "review"}, "language", lambda value: [], TypeError, "a prompt's name"),
])
def test_mistakes_show_when_a_completion_is_registered(ref, argument, function, error, words):
    with pytest.raises(error) as caught:
        make_server().completion(ref, argument)(function)
    assert words in str(caught.value)


def test_an_argument_has_one_completion():
    server = make_server(lambda value: [])
    with pytest.raises(ValueError, match="already"):
        server.completion("review", "language")(lambda value: [])


@pytest.mark.parametrize("ref, words", [
    ("later", "there is no prompt or resource template 'later' to complete arguments of; register it before"),
    (PromptReference("later"), "there is no prompt 'later'"),
    (ResourceTemplateReference("later://{a}"), "there is no resource template 'later://{a}'"),
    (PromptReference(TEMPLATE["uri"]), "there is no prompt '"),
])
def test_a_completion_of_what_is_not_there_is_refused(ref, words):
    with pytest.raises(ValueError) as caught:
        make_server().completion(ref, "a")(lambda value: [])
    assert words in str(caught.value)


def test_a_completion_keeps_its_function():
    """[.. server/utilities/completion §Requesting Completions]"""
    server = Server("x")
    server.prompt(lambda a: "", name="later")

    @server.completion("later", "a")
    def complete(value, extra="default", *, ctx):
        return [value, extra, str(ctx.request_id)]

    assert complete("x", ctx=type("C", (), {"request_id": 0})) == ["x", "default", "0"]
    with talk(server, "2025-11-25") as peer:
        assert suggested(peer, {"type": "ref/prompt", "name": "later"}, "a", "x")["values"] == ["x", "default", "1"]
