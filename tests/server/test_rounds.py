"""Handlers that ask where they run again in each round: what is asked again, what is kept, and how it ends."""
import base64
import contextlib
import enum
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, List, Literal, Optional

import pytest

from mcp_ref import stores as tasks
from mcp_ref.auth import ResourceServer
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, ToolError
from mcp_ref.ext.stores.sqlite import SqliteStore
from mcp_ref.jsontext import JsonError
from mcp_ref.limits import Limits
from mcp_ref.messages.elicitation import (
    ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, RequestedSchema, StringSchema,
)
from mcp_ref.messages.mrtr import CreateMessageRequest, ElicitRequest, InputRequiredResult, ListRootsRequest
from mcp_ref.messages.roots import ListRootsResult
from mcp_ref.messages.sampling import CreateMessageRequestParams, CreateMessageResult
from mcp_ref.protocol import envelope, requeststate
from mcp_ref.revisions import LATEST
from mcp_ref.server import Context, Server, UrlElicitationRequired, elicitation, mrtr
from mcp_ref.server.mrtr import ENVIRONMENT, InputRequired
from tests.support.asking import Asking
from tests.support.by_hand import EVERYTHING, MODEL_SAYS, ROOTS, ByHand, accept, asking_server, questions, said
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually, in_thread

NAME = {"name": str}


def run(handler, *rounds, **options):
    """Call a handler and answer its rounds, each a dict by key: the last answer, and the keys of each round."""
    with ByHand(asking_server(handler, **options)) as client:
        answer, asked = client.call("tools/call"), []
        for responses in rounds:
            asked.append(list(questions(answer)))
            answer = client.again(answer, responses)
        return answer, asked


def named(name):
    return accept(name=name)


# --- What runs again --------------------------------------------------------------------------------------------------

def test_what_stands_before_a_question_runs_again_with_its_ends():
    log = []

    @contextlib.contextmanager
    def entered():
        log.append("with")
        try:
            yield
        finally:
            log.append("exit")

    def go(ctx):
        log.append("start")
        with entered():
            try:
                ctx.elicit("A?", NAME)
                log.append("between")
            finally:
                log.append("finally")
        return ctx.elicit("B?", NAME)["name"]

    answer, asked = run(go, {"question-1": named("a")}, {"question-2": named("b")})
    assert said(answer) == "b" and asked == [["question-1"], ["question-2"]]
    assert log == ["start", "with", "finally", "exit"] + ["start", "with", "between", "finally", "exit"] * 2


@pytest.mark.parametrize("swallow", [BaseException, InputRequired])
@pytest.mark.parametrize("then", ["return", "raise", "ask"])
def test_a_handler_that_swallows_the_unwinding_only_wastes_what_it_returns(swallow, then):
    def go(ctx):
        try:
            return ctx.elicit("A?", NAME)["name"]
        except swallow:
            if then == "raise":
                raise ToolError("no answer")
            return "nobody" if then == "return" else ctx.elicit("B?", NAME)["name"]

    answer, asked = run(go, {"question-1": named("Ada")})
    assert said(answer) == "Ada" and asked == [["question-1"]]


def test_one_that_asks_in_its_finally_gets_to_that_question_in_the_end():
    def go(ctx):
        try:
            return ctx.elicit("A?", NAME)["name"]
        finally:
            ctx.elicit("B?", NAME)

    answer, asked = run(go, {"question-1": named("a")}, {"question-2": named("b")})
    assert said(answer) == "a" and asked == [["question-1"], ["question-2"]]


def test_unwinding_is_no_exception_that_careful_code_would_catch():
    assert not issubclass(InputRequired, Exception)

    def go(ctx):
        try:
            return ctx.elicit("A?", NAME)["name"]
        except Exception as error:
            return "caught %r" % error

    assert said(run(go, {"question-1": named("Ada")})[0]) == "Ada"


def test_asking_on_another_thread_comes_out_as_a_question_all_the_same():
    def go(ctx):
        outcome = in_thread(ctx.elicit, "A?", NAME)
        try:
            return outcome.get()["name"]
        except InputRequired:
            return "nobody"

    assert said(run(go, {"question-1": named("Ada")})[0]) == "Ada"


def test_a_question_of_another_request_is_a_clear_error():
    kept = []

    def go(ctx):
        if kept:
            return kept[0].elicit("A?", NAME)["name"]
        kept.append(ctx)
        return "kept"

    with ByHand(asking_server(go)) as client:
        client.call("tools/call")
        answer = client.call("tools/call")
        assert "asked" not in json.dumps(answer) and client.count("handler errors") == 1, "it is the author's mistake"
        assert answer["result"]["isError"] and "another request" in said(answer)


def test_a_question_of_a_request_that_runs_elsewhere_is_a_clear_error():
    kept, gate = [], Gate()

    def go(ctx):
        if kept:
            return kept[0].elicit("A?", NAME)["name"]
        kept.append(ctx)
        gate.hold()
        return "kept"

    with gate, ByHand(asking_server(go)) as client:
        params = {"name": "go", "arguments": {}, "_meta": envelope.fields(LATEST, EVERYTHING)}
        client.peer.send({"jsonrpc": "2.0", "id": "first", "method": "tools/call", "params": params})
        gate.entered()
        answer = client.call("tools/call")
        assert answer["result"]["isError"] and "another request" in said(answer)
        gate.open()
        assert questions(client.peer.answer_to("first")), "which is the request that was made to ask"


def test_a_principal_that_no_state_can_be_bound_to_is_a_clear_error():
    with ByHand(asking_server(lambda ctx: ctx.elicit("A?", NAME)["name"])) as client:
        answer = client.call("tools/call", principal=object())
        assert answer["result"]["isError"] and "have authenticate return a str" in said(answer)


def test_a_cancelled_request_asks_nothing():
    ends = []

    def go(ctx):
        gate.hold()
        try:
            ctx.elicit("A?", NAME)
        except BaseException as error:
            ends.append(type(error).__name__)
            raise

    with ByHand(asking_server(go)) as client, Gate() as gate:
        client.peer.begin("2026-07-28", EVERYTHING)
        client.peer.request("call", "tools/call", {"name": "go"})
        gate.entered()
        client.peer.notify("notifications/cancelled", {"requestId": "call"})
        client.peer.barrier()
        gate.open()
        eventually(lambda: ends and not len(client.connection.inflight))
        assert ends == ["RequestCancelled"] and [m for m in client.peer.seen if m.get("id") == "call"] == []


# --- Knowing questions again ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("key", [None, "name"])
def test_a_question_that_has_changed_is_asked_anew(key):
    asked = []

    def go(ctx):
        asked.append("Name %d?" % len(asked))
        return ctx.elicit(asked[-1], NAME, key=key)["name"]

    with ByHand(asking_server(go)) as client:
        answer = client.call("tools/call")
        for number in range(1, 4):
            (name, request), = questions(answer).items()
            assert (name, request["params"]["message"]) == (key or "question-1", asked[-1])
            answer = client.again(answer, {name: named("Ada")})
        assert len(asked) == 4


def test_an_answer_to_a_question_that_has_changed_since_is_not_used():
    texts = ["Delete the copy?", "Delete everything?"]

    def go(ctx):
        return ctx.elicit(texts[0], {"ok": bool}, key="sure").action

    with ByHand(asking_server(go)) as client:
        first = client.call("tools/call")
        texts.pop(0)
        second = client.again(first, sure=accept(ok=True))
        assert questions(second)["sure"]["params"]["message"] == "Delete everything?"
        assert said(client.again(second, sure=accept(ok=True))) == "accept"


@pytest.mark.parametrize("change", [
    lambda ctx: ctx.elicit("A?", {"name": int}), lambda ctx: ctx.elicit("A? ", NAME), lambda ctx: ctx.sample("A?", 1),
    lambda ctx: ctx.list_roots(), lambda ctx: ctx.elicit_url("A?", "https://example.com"),
    lambda ctx: ctx.elicit("A?", {"name": Optional[str]}),
])
def test_recorded_answers_are_matched_by_all_that_a_question_says(change):
    plan = [lambda ctx: ctx.elicit("A?", NAME)]

    def go(ctx):
        plan[0](ctx)
        return ctx.elicit("B?", NAME)["name"]

    with ByHand(asking_server(go)) as client:
        second = client.again(client.call("tools/call"), {"question-1": named("a")})
        assert list(questions(second)) == ["question-2"]
        plan[0] = change
        assert list(questions(client.again(second, {"question-2": named("b")}))) == ["question-1"]


def test_answers_that_the_handler_no_longer_asks_for_do_not_travel_on():
    plan = ["first", "second"]

    def go(ctx):
        for word in list(plan):
            ctx.elicit(word, NAME, key=word)
        return ctx.elicit("last", NAME, key="last")["name"]

    with ByHand(asking_server(go)) as client:
        answer = client.again(client.call("tools/call"), first=named("secret one"))
        answer = client.again(answer, second=named("two"))
        assert "secret one" in content_of(answer)
        plan.remove("first")
        again = client.again(answer, {})
        assert "secret one" not in content_of(again) and "two" in content_of(again)


def content_of(answer):
    """What a client can read in a state."""
    payload = answer["result"]["requestState"].split(".")[2]
    return base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()


@pytest.mark.parametrize("key", ["", 7, b"name", ["name"], False])
@pytest.mark.parametrize("ask", [
    lambda ctx, key: ctx.elicit("A?", NAME, key=key), lambda ctx, key: ctx.sample("A?", 1, key=key),
    lambda ctx, key: ctx.list_roots(key=key), lambda ctx, key: ctx.elicit_url("A?", "https://example.com/", key=key),
    lambda ctx, key: ctx.once(key, int),
])
@pytest.mark.parametrize("era", ["stateless", "handshake"])
def test_a_key_is_a_text_in_every_era(ask, key, era):
    def go(ctx):
        with pytest.raises(ValueError, match="is a text that is not empty"):
            ask(ctx, key)
        return "refused"

    if era == "stateless":
        assert said(run(go)[0]) == "refused"
    else:
        with ByHand(asking_server(go)) as client:
            client.peer.handshake("2025-11-25", EVERYTHING)
            client.peer.request("x", "tools/call", {"name": "go"})
            assert client.peer.answer_to("x")["result"]["content"][0]["text"] == "refused"


def test_each_way_to_ask_takes_a_key():
    def go(ctx):
        ctx.elicit("A?", NAME, key="form")
        ctx.elicit_url("Go", "https://example.com/", key="link")
        ctx.sample("?", 1, key="model")
        return str(len(ctx.list_roots(key="places")))

    answer, asked = run(go, {"form": named("a")}, {"link": {"action": "accept"}}, {"model": MODEL_SAYS},
                        {"places": ROOTS})
    assert said(answer) == "1" and asked == [["form"], ["link"], ["model"], ["places"]]


# --- once -------------------------------------------------------------------------------------------------------------

class Size(enum.Enum):
    SMALL = "small"


@dataclass
class Ticket:
    number: int
    sizes: List[Size]


@pytest.mark.parametrize("value, became", [
    (7, 7), ("x", "x"), (None, None), (False, False), ({"a": (1, 2)}, {"a": [1, 2]}), ({1, 2}, [1, 2]),
    (Ticket(7, [Size.SMALL]), {"number": 7, "sizes": ["small"]}), ([], []), (b"x", "eA=="),
], ids=repr)
def test_a_value_is_computed_once_and_the_same_json_in_each_round(value, became):
    computed, got = [], []

    def go(ctx):
        got.append(ctx.once("value", lambda: computed.append(1) or value))
        return ctx.elicit("A?", NAME)["name"] + ctx.elicit("B?", NAME)["name"]

    answer, _ = run(go, {"question-1": named("a")}, {"question-2": named("b")})
    assert said(answer) == "ab" and computed == [1] and got == [became] * 3
    assert [type(each) for each in got] == [type(became)] * 3


def test_in_one_round_a_key_has_one_value():
    def go(ctx):
        return "%s %s %s" % (ctx.once("a", lambda: 1), ctx.once("a", lambda: 2), ctx.once("b", lambda: 3))

    assert said(run(go)[0]) == "1 1 3"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_in_a_handshake_session_it_is_computed_once_in_each_call(revision):
    computed = []

    def go(ctx):
        values = [ctx.once("a", lambda: computed.append(1) or {"n": (len(computed),)}) for _ in range(2)]
        return json.dumps(values)

    with ByHand(asking_server(go)) as client:
        client.peer.handshake(revision, {})
        for number in (1, 2):
            client.peer.request(number, "tools/call", {"name": "go"})
            text = client.peer.answer_to(number)["result"]["content"][0]["text"]
            assert text == json.dumps([{"n": [number]}] * 2)


def test_what_a_handler_does_to_a_value_or_an_answer_does_not_change_it():
    def go(ctx):
        value = ctx.once("list", lambda: [1])
        answer = ctx.elicit("A?", {"tags": List[Literal["x", "y", "z"]]})
        value.append(2)
        answer.content["tags"].append("z")
        answer["tags"].append("y")
        ctx.elicit("B?", NAME)
        return json.dumps([value, answer.content])

    answer, _ = run(go, {"question-1": accept(tags=["x"])}, {"question-2": named("b")})
    assert json.loads(said(answer))[0] == [1, 2] and said(answer).count('"x"') == 1 and said(answer).count('"z"') == 1


def test_an_exception_is_not_kept():
    tries = []

    def go(ctx):
        try:
            ctx.once("ticket", lambda: tries.append(1) or 1 / 0)
        except ZeroDivisionError:
            pass
        return ctx.elicit("A?", NAME)["name"]

    assert said(run(go, {"question-1": named("a")})[0]) == "a" and tries == [1, 1]


@pytest.mark.parametrize("value, place", [(float("nan"), "\\$ is NaN"), ({"a": object()}, "\\$.a is of type object")])
def test_what_json_cannot_hold_is_refused_where_it_is(value, place):
    def go(ctx):
        with pytest.raises(JsonError, match=place):
            ctx.once("value", lambda: value)
        return "refused"

    assert said(run(go)[0]) == "refused"


def test_what_is_asked_inside_is_asked_once_and_the_numbers_of_others_stay():
    def go(ctx):
        both = ctx.once("both", lambda: ctx.elicit("A?", NAME)["name"] + ctx.elicit("B?", NAME)["name"])
        return both + ctx.elicit("C?", NAME)["name"] + ctx.elicit("D?", NAME)["name"]

    answer, asked = run(go, {"question-1": named("a")}, {"question-2": named("b")}, {"question-3": named("c")},
                        {"question-4": named("d")})
    assert said(answer) == "abcd" and asked == [["question-%d" % number] for number in range(1, 5)]
    last, _ = run(go, {"question-1": named("one")}, {"question-2": named("two")})
    assert "onetwo" in content_of(last) and '"one"' not in content_of(last)  # neither answer is needed any more


def test_the_state_says_what_was_answered_and_computed():
    """It is no secret: who writes handlers is told so where it matters."""
    for text in (Context.once.__doc__, mrtr.__doc__, requeststate.__doc__):
        words = " ".join(text.split())
        assert "can read it" in words or "can read what is in it" in words or "can read the answers" in words
    answer, _ = run(lambda ctx: [ctx.once("k", lambda: "visible"), ctx.elicit("A?", NAME), ctx.elicit("B?", NAME)],
                    {"question-1": named("seen")})
    assert "visible" in content_of(answer) and "seen" in content_of(answer)


# --- ask_all ----------------------------------------------------------------------------------------------------------

def test_several_questions_make_one_round():
    def go(ctx):
        first = ctx.ask_all({"a": lambda: ctx.elicit("A?", NAME)["name"], "n": lambda: 7,
                             "b": lambda: ctx.elicit("B?", NAME, key="other")["name"]})
        return json.dumps([first, ctx.elicit("C?", NAME)["name"]])

    answer, asked = run(go, {"a": named("x"), "other": named("y")}, {"question-1": named("z")})
    assert json.loads(said(answer)) == [{"a": "x", "n": 7, "b": "y"}, "z"] and asked == [["a", "other"], ["question-1"]]


def test_branches_go_on_each_at_its_own_pace():
    def chain(ctx, name, length):
        return [ctx.elicit("%s %d?" % (name, number), NAME)["name"] for number in range(length)]

    def go(ctx):
        return json.dumps(ctx.ask_all({"a": lambda: chain(ctx, "a", 1), "b": lambda: chain(ctx, "b", 3),
                                       "c": lambda: chain(ctx, "c", 2)}))

    answer, asked = run(go, {"a": named("1"), "b": named("2"), "c": named("3")}, {"b-2": named("4"), "c-2": named("5")},
                        {"b-3": named("6")})
    assert asked == [["a", "b", "c"], ["b-2", "c-2"], ["b-3"]]
    assert json.loads(said(answer)) == {"a": ["1"], "b": ["2", "4", "6"], "c": ["3", "5"]}


def test_branches_may_branch_again():
    def go(ctx):
        def inner():
            return ctx.ask_all({"x": lambda: ctx.elicit("X?", NAME)["name"],
                                "y": lambda: ctx.elicit("Y?", NAME)["name"]})
        return json.dumps(ctx.ask_all({"in": inner, "z": lambda: ctx.elicit("Z?", NAME)["name"]}))

    answer, asked = run(go, {"x": named("1"), "y": named("2"), "z": named("3")})
    assert asked == [["x", "y", "z"]] and json.loads(said(answer)) == {"in": {"x": "1", "y": "2"}, "z": "3"}


def test_an_error_in_one_branch_is_the_error_and_asks_nothing():
    def go(ctx):
        try:
            ctx.ask_all({"a": lambda: ctx.elicit("A?", NAME), "b": lambda: 1 / 0})
        except ZeroDivisionError:
            return ctx.elicit("Then?", NAME)["name"]

    answer, asked = run(go, {"question-1": named("x")})
    assert said(answer) == "x" and asked == [["question-1"]]


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_in_a_handshake_session_they_are_asked_one_after_the_other(revision):
    def go(ctx):
        return json.dumps(ctx.ask_all({"a": lambda: ctx.elicit("A?", NAME)["name"],
                                       "b": lambda: ctx.elicit("B?", NAME)["name"]}))

    with Asking(revision, go) as asking:
        call = asking.call()
        for letter in "ab":
            question = asking.peer.receive(lambda message: "method" in message)
            assert question["params"]["message"] == letter.upper() + "?"
            asking.peer.respond(question["id"], named(letter))
        answer = asking.peer.answer_to(call)["result"]["content"][0]["text"]
        assert json.loads(answer) == {"a": "a", "b": "b"}


@pytest.mark.parametrize("wrong", [{"a": 7}, {7: lambda: 1}, {"": lambda: 1}, {"a": None}])
def test_what_is_no_question_is_refused(wrong):
    def go(ctx):
        with pytest.raises(TypeError, match="ask_all takes keys and functions"):
            ctx.ask_all(wrong)
        return "refused"

    assert said(run(go)[0]) == "refused"


def test_nothing_to_ask_is_nothing():
    assert said(run(lambda ctx: json.dumps(ctx.ask_all({})))[0]) == "{}"


# --- The features -----------------------------------------------------------------------------------------------------

def tool_use(id, name, **input):
    return {"role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": {"type": "tool_use", "id": id, "name": name, "input": input}}


def test_a_model_that_uses_tools_goes_on_over_rounds_and_no_tool_runs_twice():
    ran = []

    def weather(city: str) -> str:
        ran.append(city)
        return "rain in " + city

    def go(ctx):
        return ctx.sample_with_tools("What is it like?", 50, tools={"weather": weather}, key="model").text

    with ByHand(asking_server(go)) as client:
        answer = client.call("tools/call")
        answer = client.again(answer, {"model": tool_use("1", "weather", city="Rome")})
        talk = questions(answer)["model-2"]["params"]["messages"]
        assert talk[2]["content"][0]["content"][0]["text"] == "rain in Rome"
        answer = client.again(answer, {"model-2": tool_use("1", "weather", city="Oslo")})
        assert len(questions(answer)["model-3"]["params"]["messages"]) == 5
        assert said(client.again(answer, {"model-3": MODEL_SAYS})) == "hello" and ran == ["Rome", "Oslo"]


def test_a_tool_of_the_models_may_ask_too():
    def go(ctx):
        def confirm() -> str:
            return ctx.elicit("Sure?", NAME)["name"]
        text = ctx.sample_with_tools("Go", 50, tools={"confirm": confirm}).text
        return text + ctx.elicit("Last?", NAME)["name"]

    answer, asked = run(go, {"question-1": tool_use("1", "confirm")}, {"question-2": named("yes")},
                        {"question-3": MODEL_SAYS}, {"question-4": named("!")})
    assert said(answer) == "hello!" and asked == [["question-%d" % number] for number in range(1, 5)]


def test_roots_are_asked_for_in_each_request_and_kept_for_none():
    def go(ctx):
        return ",".join(root.uri for root in ctx.list_roots())

    with ByHand(asking_server(go), {"roots": {"listChanged": True}}) as client:
        for _ in range(2):
            first = client.call("tools/call")
            assert said(client.again(first, {"question-1": ROOTS})) == "file:///home"
        assert client.connection.state == {}


def test_links_have_no_ids_and_nobody_is_told_that_they_are_done():
    with ByHand(asking_server(lambda ctx: ctx.elicit_url("Go", "https://example.com/", "mine").action)) as client:
        first = client.call("tools/call")
        assert questions(first)["question-1"]["params"] == {
            "mode": "url", "message": "Go", "url": "https://example.com/"}
        assert said(client.again(first, {"question-1": {"action": "accept"}})) == "accept"
        assert client.connection.state == {}


@pytest.mark.parametrize("url", ["no link", "ftp://example.com/", "https://\u00e9.example/", "", "https://a b"])
def test_what_is_no_link_is_not_asked(url):
    answer, _ = run(lambda ctx: ctx.elicit_url("Go", url).action)
    assert answer["result"]["isError"]


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
@pytest.mark.parametrize("actions, text", [
    (["accept", "accept"], "The user has agreed to follow a link, and is not done there yet: One; Two"),
    (["accept", "decline"], "The user would have to follow a link first, and did not want to: One; Two"),
    (["cancel", "cancel"], "The user would have to follow a link first, and did not want to: One; Two"),
])
def test_links_that_are_required_are_asked_for_and_then_the_handler_runs_again(method, actions, text):
    done = []

    def go(ctx):
        if not done:
            raise UrlElicitationRequired([("One", "https://example.com/1"), ("Two", "https://example.com/2")])
        return "went on"

    with ByHand(asking_server(go)) as client:
        first = client.call(method)
        assert {key: request["params"] for key, request in questions(first).items()} == {
            "link-1": {"mode": "url", "message": "One", "url": "https://example.com/1"},
            "link-2": {"mode": "url", "message": "Two", "url": "https://example.com/2"},
        }
        answers = {"link-%d" % number: {"action": action} for number, action in enumerate(actions, 1)}
        assert said(client.again(first, answers)) == text
        assert "-32042" not in json.dumps(client.peer.seen)
        done.append(True)
        assert said(client.again(first, answers)) == "went on"


def test_a_required_link_that_is_none_is_the_authors_mistake():
    from mcp_ref.server import RpcError

    def go(ctx):
        raise RpcError(-32042, "go there", {"elicitations": []})

    answer, _ = run(go)
    assert answer["result"]["isError"] and "UrlElicitationRequired" in said(answer)


def test_a_missing_capability_of_another_server_is_not_the_clients():
    def go(ctx):
        raise CapabilityMissing("that server has no resources", "resources.subscribe")

    answer, _ = run(go)
    assert answer["result"]["isError"] and "that server" in said(answer)


# --- By hand ----------------------------------------------------------------------------------------------------------

FIELDS = RequestedSchema({"name": StringSchema()})
FORM = ElicitRequest(ElicitRequestFormParams(message="Who?", requested_schema=FIELDS))
MODEL = CreateMessageRequest(CreateMessageRequestParams([], 10))


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_handler_may_do_its_rounds_by_hand(method):
    def go(ctx):
        answers, state = ctx.input_responses, ctx.request_state
        if state is None:
            return InputRequiredResult({"who": FORM, "what": MODEL, "where": ListRootsRequest()}, "step 1")
        if state == "step 1":
            kinds = [type(answers[key]) for key in ("who", "what", "where")]
            assert kinds == [ElicitResult, CreateMessageResult, ListRootsResult], kinds
            return InputRequiredResult(request_state="step 2 for " + answers["who"].content["name"])
        assert answers == {}
        return state

    with ByHand(asking_server(go)) as client:
        first = client.call(method)
        assert list(questions(first)) == ["who", "what", "where"]
        second = client.again(first, who=named("Ada"), what=MODEL_SAYS, where=ROOTS)
        assert "inputRequests" not in second["result"]
        assert said(client.again(second)) == "step 2 for Ada"


def test_by_hand_and_by_replay_go_together():
    def go(ctx):
        name = ctx.elicit("Name?", NAME)["name"]
        if ctx.request_state is None:
            return InputRequiredResult(request_state="more")
        return name + ctx.request_state

    answer, asked = run(go, {"question-1": named("Ada ")}, {})
    assert said(answer) == "Ada more" and asked == [["question-1"], []]


def test_a_state_by_hand_may_be_an_empty_text():
    def go(ctx):
        return InputRequiredResult(request_state="") if ctx.request_state is None else repr(ctx.request_state)

    with ByHand(asking_server(go)) as client:
        assert said(client.again(client.call("tools/call"))) == "''"


def test_answers_that_are_none_are_left_out():
    def go(ctx):
        return json.dumps(sorted(ctx.input_responses))

    with ByHand(asking_server(go)) as client:
        responses = {"a": named("x"), "b": 7, "c": {}, "d": {"action": "perhaps"}, "e": None, "f": ROOTS}
        assert said(client.call("tools/call", inputResponses=responses)) == '["a", "f"]'
        assert said(client.call("tools/call")) == "[]"


@pytest.mark.parametrize("wrong, error", [
    (lambda: {"x": ElicitRequest(ElicitRequestURLParams(message="Go", url="nowhere"))}, "link"),
    (lambda: {"x": ElicitRequest(ElicitRequestFormParams(message=" ", requested_schema=FIELDS))}, "message"),
    (lambda: {"x": CreateMessageRequest(CreateMessageRequestParams([], 0))}, "maxTokens"),
    (lambda: {"x": {"method": "ping"}}, "message was expected"),
])
def test_what_is_written_by_hand_is_held_to_the_same_rules(wrong, error):
    answer, _ = run(lambda ctx: InputRequiredResult(wrong()))
    assert answer["result"]["isError"] and error in said(answer)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_by_hand_there_is_nothing_in_a_handshake_session(revision):
    def go(ctx):
        assert ctx.input_responses == {} and ctx.request_state is None
        return InputRequiredResult({"who": FORM})

    with ByHand(asking_server(go)) as client:
        client.peer.handshake(revision, EVERYTHING)
        client.peer.request("x", "tools/call", {"name": "go"})
        result = client.peer.answer_to("x")["result"]
        assert result["isError"] and "has no InputRequiredResult" in result["content"][0]["text"]


def test_completions_cannot_ask_by_hand_either():
    server = Server("x")
    server.prompt(lambda topic: topic, name="about")
    server.completion("about", "topic")(lambda value: InputRequiredResult({"who": FORM}))
    params = {"ref": {"type": "ref/prompt", "name": "about"}, "argument": {"name": "topic", "value": "x"}}
    with ByHand(server) as client:
        assert client.call("completion/complete", params)["error"]["code"] == -32603


# --- The server's options ---------------------------------------------------------------------------------------------

def state_of(server):
    with ByHand(server) as client:
        return client.call("tools/call")["result"]["requestState"]


def accepts(server, state):
    with ByHand(server) as client:
        return "result" in client.call("tools/call", requestState=state)


def asks(**options):
    return asking_server(lambda ctx: ctx.elicit("A?", NAME)["name"], **options)


def test_keys_may_be_changed_one_after_the_other():
    old, new = "the old key, long enough", "the new key, long enough"
    before, between, after = ([old], [new, old], [new])
    assert accepts(asks(state_keys=between), state_of(asks(state_keys=before)))
    assert accepts(asks(state_keys=after), state_of(asks(state_keys=between)))
    assert not accepts(asks(state_keys=after), state_of(asks(state_keys=before)))


def test_keys_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, " one key from outside , another from outside,")
    state = state_of(asks())
    assert accepts(asks(state_keys=["one key from outside"]), state)
    assert not accepts(asks(state_keys=["another from outside"]), state)
    assert not accepts(asks(), state_of(asks(state_keys=["a key of the author's"])))


@pytest.mark.parametrize("ours, theirs, good", [
    ({}, {}, True), ({"version": "1"}, {"version": "2"}, True), ({"title": "A"}, {"title": "B"}, True),
    ({}, {"name": "another"}, False), ({}, {"auth": "https://a.example/mcp"}, False),
    ({"auth": "https://a.example/mcp"}, {"auth": "https://a.example/mcp"}, True),
    ({"auth": "https://a.example/mcp"}, {"auth": "https://b.example/mcp"}, False),
])
def test_a_state_is_of_no_use_at_another_server_with_the_same_keys_and_a_tool_of_that_name(ours, theirs, good):
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)]: workers of one server share them."""
    def made(name="asks", auth=None, **options):
        server = Server(name, state_keys=["one key for all servers here"], **options)

        @server.tool
        def go(ctx: Context) -> str:
            return ctx.elicit("A?", NAME)["name"]

        if auth is not None:
            server.auth = ResourceServer(auth, ["https://issuer.example"], lambda token: None)
        return server

    assert accepts(made(**theirs), state_of(made(**ours))) is good


def test_without_keys_each_process_has_its_own(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    server = asks()
    assert accepts(server, state_of(server)) and not accepts(asks(), state_of(server))


def test_all_threads_of_a_process_get_the_same_keys():
    server, together, seen = asks(), threading.Barrier(8), []

    def look():
        together.wait(WAIT)
        seen.append(server.states)

    for outcome in [in_thread(look) for _ in range(8)]:
        outcome.get()
    assert len({id(one) for one in seen}) == 1


@pytest.mark.parametrize("options, error", [
    ({"state_keys": []}, ValueError), ({"state_keys": ["short"]}, ValueError), ({"state_keys": "a" * 40}, TypeError),
    ({"state_ttl": 0}, ValueError), ({"state_ttl": -1}, ValueError), ({"state_ttl": float("nan")}, ValueError),
    ({"state_ttl": "soon"}, ValueError), ({"consume_state": 7}, TypeError),
])
def test_bad_options_are_told_to_the_author_at_once(options, error):
    with pytest.raises(error):
        Server("x", **options)


@pytest.mark.parametrize("verdict, good", [(True, True), (1, True), (False, False), (None, False), (0, False)])
def test_a_state_is_used_only_if_the_author_says_so(verdict, good):
    seen = []
    server = asks(consume_state=lambda id: seen.append(id) or verdict)
    assert accepts(server, state_of(server)) == good and len(seen) == 1
    assert not accepts(server, "r1.x.y.z") and len(seen) == 1  # asked only about states that are ours


def spending(tmp_path, number):
    """Two servers as two processes would be, and a server with a memory of its own."""
    store = [SqliteStore(tmp_path / "states.db") for _ in range(2)] if number == 2 else [True]
    return [asks(consume_state=each, state_keys=["0123456789abcdef"], limits=Limits(max_spent_states=2))
            for each in store], store


@pytest.mark.parametrize("number", [1, 2])
def test_a_state_is_used_once_in_all_processes(number, tmp_path, monkeypatch):
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST"""
    now = time.time()
    servers, stores = spending(tmp_path, number)
    for module in (mrtr, tasks):
        monkeypatch.setattr(module, "wall_clock", lambda: now)
    states = [state_of(servers[0]) for _ in range(4)]
    for first in (0, 1):
        order = servers[first:] + servers[:first]
        assert [accepts(server, states[first]) for server in order + order] == [True] + [False] * (2 * number - 1)
    assert not accepts(servers[0], states[2]), "max_spent_states are remembered"
    now += mrtr.TTL
    assert accepts(servers[-1], state_of(servers[0])), "the others have expired"
    for store in stores:
        if store is not True:
            store.close()


def test_states_expire_by_the_clock_of_their_store(tmp_path, monkeypatch):
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST"""
    servers, stores = spending(tmp_path, 2)
    state = state_of(servers[0])
    monkeypatch.setattr(mrtr, "wall_clock", lambda: time.time() + 2 * mrtr.TTL)
    assert accepts(servers[1], state), "the clock of its host is ahead"
    monkeypatch.setattr(SqliteStore, "now", lambda store: 1 / 0)
    with ByHand(servers[0]) as client:
        assert client.call("tools/call", requestState=state)["error"]["code"] == -32603
    for store in stores:
        store.close()


def test_a_store_that_fails_lets_no_state_pass(tmp_path, monkeypatch):
    (server, _), stores = spending(tmp_path, 2)
    monkeypatch.setattr(SqliteStore, "spend", lambda *arguments: 1 / 0)
    state = state_of(server)
    with ByHand(server) as client:
        assert client.call("tools/call", requestState=state)["error"]["code"] == -32603


# --- Costs ------------------------------------------------------------------------------------------------------------

def test_a_call_that_asks_nothing_digests_and_signs_nothing(monkeypatch):
    for name in ("digest", "bind", "seal", "unseal"):
        monkeypatch.setattr(requeststate, name, lambda *arguments: pytest.fail("worked for nothing"))
    server = asking_server(lambda ctx: "plain")
    assert said(run(lambda ctx: "plain")[0]) == "plain"
    assert server._states is None


def test_a_form_is_compiled_once(monkeypatch):
    made = []
    real = elicitation.read_form
    monkeypatch.setattr(elicitation, "read_form", lambda *a, **k: made.append(1) or real(*a, **k))
    run(lambda ctx: ctx.elicit("A?", {"a_form_of_its_own": str})["a_form_of_its_own"], {"question-1": accept()})
    assert made == [1]


@dataclass
class Person:
    name: str


FORMS: List[Any] = [
    {"a": str}, {"b": str}, {"a": int}, {"a": bool}, {"a": float}, {"a": Optional[str]}, {"a": str, "b": str},
    {"b": str, "a": str}, {"a": Literal["x"]}, {"a": Literal["y"]}, {"a": List[Literal["x"]]},
    {"a": {"type": "string"}}, {"a": {"type": "string", "title": "A"}}, {"a": {"type": "integer"}}, {"a": Size}, Person,
    {"type": "object", "properties": {"a": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
]


def test_forms_that_differ_are_kept_apart():
    elicitation._PREPARED.clear()
    alone = []
    for form in FORMS:
        elicitation._PREPARED.clear()
        alone.append(json.dumps(elicitation.prepare(form).form.schema))
    together = [json.dumps(elicitation.prepare(form).form.schema) for form in FORMS * 2]
    assert together == alone * 2


def test_the_forms_that_are_kept_are_bounded():
    for number in range(elicitation._MOST_PREPARED + 10):
        elicitation.prepare({"field%d" % number: str})
    assert len(elicitation._PREPARED) <= elicitation._MOST_PREPARED


def test_limits_have_names():
    assert Limits().max_state_bytes > 100_000 and Limits().max_input_rounds > 10


def test_an_error_in_the_capability_check_is_no_state():
    def go(ctx):
        with pytest.raises(LocalProtocolError, match="ask"):
            ctx.ask("ping", FORM.params)
        return ctx.elicit("A?", NAME)["name"]

    assert said(run(go, {"question-1": named("a")})[0]) == "a"
