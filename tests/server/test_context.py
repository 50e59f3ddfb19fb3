"""What a handler asks of the client: one way to ask, forms written as Python types, and what an answer is."""
import datetime
import enum
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Set, TypedDict, Union

import pytest

from mcp_ref.errors import (
    CapabilityMissing, LocalProtocolError, McpError, PeerError, PeerProtocolError, RequestCancelled, RequestTimeout,
    ToolError,
)
from mcp_ref.messages.elicitation import (
    BooleanSchema, ElicitRequestFormParams, ElicitResult, EnumOption, NumberSchema, RequestedSchema, StringSchema,
    TitledSingleSelectEnumSchema,
)
from mcp_ref.messages.roots import ListRootsRequestParams
from mcp_ref.options import REQUEST_TIMEOUT
from mcp_ref.protocol.elicitation import FormError, LinkError
from mcp_ref.server.elicitation import Answer, NotAccepted, prepare
from tests.support.asking import Asking
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, said

CREATE = "elicitation/create"
QUESTION = ElicitRequestFormParams(message="?", requested_schema=RequestedSchema(properties={}))


# --- ask --------------------------------------------------------------------------------------------------------------

def outcome_of(call):
    """A handler that says what a call raises, as type and text, or gives."""
    def handler(ctx):
        try:
            return repr(call(ctx))
        except Exception as error:
            return "%s: %s" % (type(error).__name__, error)
    return handler


@pytest.mark.parametrize("revision", HANDSHAKE[2:])
def test_ask_writes_the_params_for_the_revision_and_reads_the_result(revision):
    params = ElicitRequestFormParams(message="?", requested_schema=RequestedSchema(properties={}), mode="form")
    seen = []
    with Asking(revision, lambda ctx: seen.append(ctx.ask(CREATE, params)), {}) as asking:
        sent = asking.question()["params"]
        assert sent.pop("mode", None) == (None if revision == "2025-06-18" else "form")
        assert sent == {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        asking.answer({"action": "decline"})
        assert seen == [ElicitResult("decline")]


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_ask_sends_nothing_that_the_client_cannot_answer(revision):
    def call(ctx):
        return ctx.ask("roots/list", ListRootsRequestParams())

    with Asking(revision, outcome_of(call), {}) as asking:
        assert said(asking.outcome()).startswith("CapabilityMissing: roots/list needs the capability roots")


@pytest.mark.parametrize("revision", HANDSHAKE[:2])
def test_ask_sends_nothing_that_the_revision_does_not_have(revision):
    with Asking(revision, outcome_of(lambda ctx: ctx.ask(CREATE, QUESTION))) as asking:
        assert said(asking.outcome()).startswith("LocalProtocolError: revision %s has no request" % revision)


def test_ask_sends_nothing_that_is_incomplete():
    with Asking("2025-11-25", outcome_of(lambda ctx: ctx.ask(CREATE, ElicitRequestFormParams.__new__(
            ElicitRequestFormParams)))) as asking:
        assert said(asking.outcome()).startswith("Unrepresentable: ElicitRequestFormParams.message")


@pytest.mark.parametrize("result", [{}, {"action": 1}, {"action": "x"}, {"action": "accept", "content": 3}])
def test_a_result_that_does_not_fit_its_method_is_the_clients_fault(result):
    with Asking("2025-11-25", outcome_of(lambda ctx: ctx.ask(CREATE, QUESTION))) as asking:
        asking.question()
        assert said(asking.answer(result)).startswith("PeerProtocolError: the answer to elicitation/create: result.")


@pytest.mark.parametrize("ask", [
    lambda ctx, timeout: ctx.ask(CREATE, QUESTION, timeout), lambda ctx, timeout: ctx.elicit("?", {}, timeout),
    lambda ctx, timeout: ctx.elicit_url("?", "https://example.com/", timeout=timeout),
], ids=["ask", "elicit", "elicit_url"])
def test_a_question_is_given_up_after_its_timeout_and_taken_back(ask):
    with Asking("2025-11-25", outcome_of(lambda ctx: ask(ctx, 0.01))) as asking:
        question = asking.question()
        notice = asking.peer.receive()
        assert notice["method"] == "notifications/cancelled" and notice["params"]["requestId"] == question["id"]
        assert said(asking.peer.receive()).startswith("RequestTimeout: ")


def test_people_take_their_time_so_only_the_ceiling_ends_a_question(monkeypatch):
    given = []

    def call(self, method, params, timeout):
        given.append(timeout)
        return {"action": "cancel"}

    monkeypatch.setattr("mcp_ref.peer.context.Context.call", call)
    handlers = [lambda ctx: ctx.elicit("?", {}), lambda ctx: ctx.elicit_url("?", "https://example.com/"),
                lambda ctx: ctx.elicit("?", {}, timeout=5), lambda ctx: ctx.ask(CREATE, QUESTION)]
    for handler in handlers:
        with Asking("2025-11-25", handler) as asking:
            asking.outcome()
    assert given == [None, None, 5, REQUEST_TIMEOUT]


def test_nothing_is_asked_for_a_call_that_was_cancelled():
    ended = threading.Event()

    def handler(ctx):
        gate.hold()
        assert ctx.cancelled.wait(PATIENCE)
        with pytest.raises(RequestCancelled):
            ctx.elicit("?", {})
        ended.set()

    with Gate() as gate, Asking("2025-11-25", handler) as asking:
        call = asking.call()
        gate.entered()
        asking.peer.notify("notifications/cancelled", {"requestId": call})
        gate.open()
        assert ended.wait(PATIENCE) and asking.peer.barrier("after") == []


@pytest.mark.parametrize("error", [
    CapabilityMissing, FormError, LinkError, NotAccepted, PeerProtocolError, PeerError, RequestTimeout])
def test_what_asking_raises_can_be_caught_as_one(error):
    assert issubclass(error, McpError)


# --- Forms written as Python types ------------------------------------------------------------------------------------

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Trip:
    """A trip.

    Args:
        to: where
    """

    to: str
    on: datetime.date
    by: Literal["air", "sea"] = "air"
    extras: List[Literal["wifi", "meal"]] = field(default_factory=list)
    note: Optional[str] = None


class Size(TypedDict):
    width: int
    height: float


@pytest.mark.parametrize("annotation, schema, entered, value", [
    (str, {"type": "string"}, "x", "x"),
    (int, {"type": "integer"}, 3.0, 3),
    (float, {"type": "number"}, 2, 2.0),
    (bool, {"type": "boolean"}, True, True),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Colour, {"type": "string", "enum": ["red", "blue"]}, "blue", Colour.BLUE),
    (List[Colour], {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}}, ["red"], [Colour.RED]),
    (Set[Literal["a", "b"]], {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a", "a"], {"a"}),
    (datetime.date, {"type": "string", "format": "date"}, "2024-02-29", datetime.date(2024, 2, 29)),
    ({"type": "string", "format": "email"}, {"type": "string", "format": "email"}, "a@example.com", "a@example.com"),
    (StringSchema(min_length=1), {"type": "string", "minLength": 1}, "x", "x"),
    (NumberSchema("integer", minimum=0), {"type": "integer", "minimum": 0}, 0, 0),
    (TitledSingleSelectEnumSchema(one_of=[EnumOption("a", "A")]),
     {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "a", "a"),
], ids=str)
def test_a_field_of_a_form_is_a_type_a_schema_or_a_message(annotation, schema, entered, value):
    made = prepare({"f": annotation})
    assert made.form.schema == {"type": "object", "properties": {"f": schema}, "required": ["f"]}
    assert made.form.problems({"f": entered}) == [] and made.form.problems({})
    read = made.read({"f": entered})["f"]
    assert read == value and type(read) is type(value)


def test_fields_that_are_optional_or_have_a_default_may_be_left_out():
    made = prepare({"a": Optional[int], "b": {"type": "string", "default": "x"}, "c": BooleanSchema(default=True)})
    assert "required" not in made.form.schema and made.form.problems({}) == []
    assert made.read({**made.form.defaults(), **{}}) == {"a": None, "b": "x", "c": True}


@pytest.mark.parametrize("annotation", [
    dict, Dict[str, int], Size, List[str], List[int], Any, object, bytes, Union[int, str], Literal[1, 2], datetime.time,
    Optional[Size], Trip, None, 3, object(), {"type": "object"}, {}, RequestedSchema(properties={}),
], ids=str)
def test_a_field_that_no_form_can_have_is_refused(annotation):
    with pytest.raises((FormError, TypeError)):
        prepare({"f": annotation})


def test_a_dataclass_is_a_form_whose_value_is_an_instance():
    made = prepare(Trip)
    assert made.form.schema == {"type": "object", "required": ["to", "on"], "properties": {
        "to": {"type": "string", "description": "where"}, "on": {"type": "string", "format": "date"},
        "by": {"type": "string", "enum": ["air", "sea"], "default": "air"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["wifi", "meal"]}, "default": []},
        "note": {"type": "string"}}}
    entered = {"to": "Oslo", "on": "2024-02-29", "extras": ["wifi"]}
    assert made.read({**made.form.defaults(), **entered}) == Trip("Oslo", datetime.date(2024, 2, 29), extras=["wifi"])


def test_a_typed_dict_is_a_form_whose_value_is_a_dict():
    made = prepare(Size)
    assert made.form.schema["required"] == ["width", "height"]
    assert made.read({"width": 3.0, "height": 2}) == {"width": 3, "height": 2.0}


@pytest.mark.parametrize("form", [
    RequestedSchema(properties={"a": StringSchema()}, required=["a"]),
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    {"a": str},
], ids=["message", "schema", "closed schema", "names"])
def test_one_form_can_be_written_in_several_ways(form):
    expected = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert prepare(form).form.schema == expected


def test_a_form_may_have_fields_called_like_the_words_of_a_schema():
    made = prepare({"type": str, "properties": int, "required": bool})
    assert list(made.form.schema["properties"]) == ["type", "properties", "required"]


def test_an_empty_form_asks_for_a_yes():
    assert prepare({}).form.schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("revision", HANDSHAKE[2:])
def test_a_value_that_cannot_be_made_is_no_answer(revision):
    class Even(int):
        def __new__(cls, value):
            if value % 2:
                raise ValueError("it is odd")
            return int.__new__(cls, value)

    with Asking(revision, lambda ctx: ctx.elicit("?", {"n": Even})["n"], {}) as asking:
        asking.question()
        assert said(asking.answer({"action": "accept", "content": {"n": 4}})) == "4"
        asking.question()
        answer = asking.answer({"action": "accept", "content": {"n": 3}})
        assert answer["result"]["isError"] and "does not fit the form: n: it is odd" in said(answer)


@pytest.mark.parametrize("revision", HANDSHAKE[2:])
def test_an_answer_becomes_the_value_of_its_form(revision):
    values = []

    def handler(ctx):
        values.append(ctx.elicit("?", {"colour": Colour, "yes": bool, "note": Optional[str]}))

    with Asking(revision, handler, {}) as asking:
        asking.question()
        asking.answer({"action": "accept", "content": {"colour": "red", "yes": False}})
    answer = values[0]
    assert answer and answer.value == {"colour": Colour.RED, "yes": False, "note": None}
    assert answer.content == {"colour": "red", "yes": False} and answer["colour"] is Colour.RED


# --- Answers ----------------------------------------------------------------------------------------------------------

def test_an_answer_is_true_when_the_user_agreed_even_to_nothing():
    assert Answer("accept", {}, {}, "?")
    assert not Answer("decline", {}, None, "?") and not Answer("cancel", {}, None, "?")


def test_a_field_of_an_answer_is_read_by_its_name():
    answer = Answer("accept", {"a": 1}, {"a": 1, "b": None}, "?")
    assert answer["a"] == 1 and answer["b"] is None
    with pytest.raises(KeyError):
        answer["c"]
    assert Answer("accept", {"to": "Oslo"}, Trip("Oslo", datetime.date.min), "?")["to"] == "Oslo"


@pytest.mark.parametrize("action, text", [
    ("decline", "The user declined: Who?"), ("cancel", "The user cancelled: Who?")])
@pytest.mark.parametrize("read", [lambda answer: answer.value, lambda answer: answer["a"]], ids=["value", "field"])
def test_an_answer_that_is_none_says_so_when_it_is_read(read, action, text):
    with pytest.raises(NotAccepted) as caught:
        read(Answer(action, {}, None, "Who?"))
    assert str(caught.value) == text and isinstance(caught.value, (ToolError, LookupError))


def test_what_was_entered_does_not_show_by_accident():
    assert "s3cret" not in repr(Answer("accept", {"a": "s3cret"}, {"a": "s3cret"}, "?"))


# --- Start-up ---------------------------------------------------------------------------------------------------------

def test_a_server_that_asks_nothing_loads_nothing_for_it():
    program = "import sys, mcp_ref.server; print(sorted(m for m in sys.modules if 'elicit' in m or 'links' in m))"
    found = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, timeout=WAIT)
    assert found.stdout.strip() == b"[]"


def test_form_errors_say_that_nothing_was_sent():
    assert issubclass(FormError, LocalProtocolError)
