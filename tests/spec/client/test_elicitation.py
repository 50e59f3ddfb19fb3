"""Questions to the user as forms, of our server and to our client, in the revisions that have them; and modes."""
import pytest

from mcp_ref.client.elicitation import Elicitation
from mcp_ref.errors import PeerError, RpcError
from mcp_ref.limits import Limits
from mcp_ref.messages.elicitation import ElicitResult
from tests.support.asking import CREATE, Asked, Asking, form_params, url_params
from tests.support.requirements_table import HANDSHAKE, STATELESS, every_revision_of
from tests.support.sides import said

FORMS = HANDSHAKE[2:]
LINKS = "2025-11-25"
TEXT = {"type": "string"}
LINK = "https://example.com/connect?id=7"

in_form_revisions = pytest.mark.parametrize("revision", FORMS)


def ask_form(ctx):
    return ctx.elicit("Who?", {"name": str})["name"]


def ask_url(ctx):
    return ctx.elicit_url("Connect", LINK, "e1").action


# --- Our server asks: what may be sent at all ------------------------------------------------------------------------

MODES = [
    (None, {}),
    ({}, {"form"}),
    ({"form": {}}, {"form"}),
    ({"url": {}}, {"url"}),
    ({"form": {}, "url": {}}, {"form", "url"}),
]


@pytest.mark.spec("elicit.supported-modes-only")
@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("capability, declared", MODES)
def test_our_server_asks_only_in_modes_that_the_client_declared(capability, declared, revision):
    """[2025-11-25 client/elicitation §Capabilities] MUST NOT"""
    able = {"form": revision in FORMS and "form" in declared, "url": revision == LINKS and "url" in declared}
    for mode, handler in (("form", ask_form), ("url", ask_url)):
        with Asking(revision, handler, capability) as asking:
            if able[mode]:
                assert asking.question()["params"].get("mode", "form") == mode
                content = {"content": {"name": "Ada"}} if mode == "form" else {}
                asking.answer(dict({"action": "accept"}, **content))
            else:
                answer = asking.outcome()
                assert answer["result"]["isError"] and "cannot be asked" in said(answer)


@pytest.mark.spec("elicit.param-mode", "elicit.param-message", "elicit.form-params", "elicit.mode-omitted")
@pytest.mark.parametrize("revision", every_revision_of("elicit.param-mode"))
def test_a_form_of_ours_has_mode_message_and_schema(revision):
    """[2025-11-25 client/elicitation §Form Mode Elicitation Requests] MUST"""
    with Asking(revision, lambda ctx: ctx.elicit("Who are you?", {"name": str, "age": int})["name"]) as asking:
        params = asking.question()["params"]
        fields = {"name": TEXT, "age": {"type": "integer"}}
        schema = {"type": "object", "properties": fields, "required": ["name", "age"]}
        assert params == {"mode": "form", "message": "Who are you?", "requestedSchema": schema}
        assert said(asking.answer({"action": "accept", "content": {"name": "Ada", "age": 36}})) == "Ada"


def test_a_form_of_ours_has_no_mode_in_the_revision_without_modes():
    with Asking("2025-06-18", ask_form, {}) as asking:
        assert set(asking.question()["params"]) == {"message", "requestedSchema"}
        asking.answer({"action": "cancel"})


@pytest.mark.parametrize("message", ["", "  \n", None, 3, b"x"])
@pytest.mark.parametrize("ask", [lambda ctx, message: ctx.elicit(message, {}),
                                 lambda ctx, message: ctx.elicit_url(message, LINK)], ids=["form", "url"])
def test_a_question_without_words_is_not_sent(ask, message):
    with Asking(LINKS, lambda ctx: ask(ctx, message)) as asking:
        assert "tells the user what is asked" in said(asking.outcome())


# --- Our server asks: what comes back ---------------------------------------------------------------------------------

@in_form_revisions
def test_the_three_actions_are_kept_apart(revision):
    """[2025-06-18..2025-11-25 client/elicitation §Response Actions]"""
    def handler(ctx):
        answer = ctx.elicit("Who?", {"name": str})
        return "%s %s %s" % (answer.action, bool(answer), answer.content)

    with Asking(revision, handler, {}) as asking:
        for result, text in (({"action": "accept", "content": {"name": "A"}}, "accept True {'name': 'A'}"),
                             ({"action": "decline"}, "decline False {}"), ({"action": "cancel"}, "cancel False {}"),
                             ({"action": "decline", "content": {"name": "A"}}, "decline False {}"),
                             ({"action": "cancel", "content": {"x": 1}}, "cancel False {}")):
            asking.question()
            assert said(asking.answer(result)) == text


@in_form_revisions
@pytest.mark.parametrize("action, verb", [("decline", "declined"), ("cancel", "cancelled")])
def test_a_tool_that_reads_an_answer_which_is_none_tells_the_model_so(action, verb, revision):
    with Asking(revision, ask_form, {}) as asking:
        asking.question()
        answer = asking.answer({"action": action})
        assert answer["result"]["isError"] and said(answer) == "The user %s: Who?" % verb


UNFIT = [
    (None, "missing"),
    ({}, "missing"),
    ({"name": 3}, "name"),
    ({"name": True}, "name"),
    ({"name": "Ada", "age": "s3cret"}, "age"),
    ({"name": "Ada", "age": 1.5}, "age"),
    ({"name": "Ada", "age": 200}, "age: does not fit maximum 150"),
    ({"name": "", "age": 3}, "name: does not fit minLength 1"),
    ({"name": "Ada", "mail": "s3cret"}, "mail: does not fit format email"),
    ({"name": "Ada", "size": "s3cret"}, "size: does not fit enum s, m"),
]


@pytest.mark.spec("elicit.server-validates", "elicit.both-validate")
@pytest.mark.parametrize("revision", every_revision_of("elicit.server-validates", "elicit.both-validate"))
@pytest.mark.parametrize("content, words", UNFIT)
def test_our_server_refuses_an_answer_that_does_not_fit_the_form(content, words, revision):
    """[2025-11-25 client/elicitation §Form Mode Security] SHOULD,
    [2025-06-18 client/elicitation §Security Considerations] SHOULD"""
    fields = {
        "name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "maximum": 150},
        "mail": {"type": "string", "format": "email"}, "size": {"type": "string", "enum": ["s", "m"]}}
    schema = {"type": "object", "properties": fields, "required": ["name"]}
    reached = []
    with Asking(revision, lambda ctx: reached.append(ctx.elicit("Who?", schema)), {}) as asking:
        asked = asking.question()
        result = {"action": "accept"} if content is None else {"action": "accept", "content": content}
        if revision == STATELESS:  # the client is asked again
            asking.peer.respond(asked["id"], result)
            again = asking.peer.receive()
            assert (again["method"], again["params"]) == (CREATE, asked["params"]) and reached == []
            return
        answer = asking.answer(result)
        assert answer["result"]["isError"] and "does not fit the form" in said(answer) and words in said(answer)
        assert reached == [] and "s3cret" not in said(answer)


@in_form_revisions
@pytest.mark.parametrize("result", [
    {}, {"action": "yes"}, {"action": True}, {"action": None}, {"action": "ACCEPT"}, {"action": ["accept"]},
    {"action": "accept", "content": [1]}, {"action": "accept", "content": "x"}, {"action": "accept", "content": 5},
    {"action": "accept", "content": {"name": None}}, {"action": "accept", "content": {"name": {"a": 1}}},
    {"action": "accept", "content": {"name": [1]}},
])
def test_an_answer_that_is_none_at_all_is_the_clients_fault(result, revision):
    with Asking(revision, ask_form, {}) as asking:
        asking.question()
        answer = asking.answer(result)
        assert answer["result"]["isError"]
        assert "PeerProtocolError: the answer to elicitation/create: result" in said(answer)


@in_form_revisions
def test_what_was_not_asked_for_does_not_reach_the_handler(revision):
    with Asking(revision, lambda ctx: sorted(ctx.elicit("Who?", {"name": str}).content), {}) as asking:
        asking.question()
        text = said(asking.answer({"action": "accept", "content": {"name": "Ada", "admin": True}}))
        assert text == "['name']" and asking.connection.counters["unasked answer"] == 1


@in_form_revisions
def test_an_error_instead_of_an_answer_reaches_the_handler(revision):
    def handler(ctx):
        try:
            return ctx.elicit("Who?", {}).action
        except PeerError as error:
            return "%d %s" % (error.code, error.message)

    with Asking(revision, handler, {}) as asking:
        asking.question()
        assert said(asking.refuse(-32603, "Internal error")) == "-32603 Internal error"


@in_form_revisions
def test_a_question_ends_when_the_call_it_belongs_to_is_cancelled(revision):
    with Asking(revision, ask_form, {}) as asking:
        question = asking.question()
        asking.peer.notify("notifications/cancelled", {"requestId": asking._call})
        notice = asking.peer.receive(lambda message: message.get("method") == "notifications/cancelled")
        assert notice["params"]["requestId"] == question["id"]


FORM_DOWN = {
    "colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}], "default": "#f00", "title": "Colour"},
    "plain": {"type": "string", "enum": ["a"], "default": "a"}, "text": {"type": "string", "default": "x"},
    "yes": {"type": "boolean", "default": True},
}


def test_a_form_written_once_goes_down_to_2025_06_18():
    """[2025-06-18 client/elicitation §Supported Schema Types]"""
    with Asking("2025-06-18", lambda ctx: sorted(ctx.elicit("?", FORM_DOWN).value.items()), {}) as asking:
        assert asking.question()["params"]["requestedSchema"]["properties"] == {
            "colour": {"type": "string", "enum": ["#f00"], "enumNames": ["Red"], "title": "Colour"},
            "plain": {"type": "string", "enum": ["a"]}, "text": {"type": "string"},
            "yes": {"type": "boolean", "default": True}}
        text = said(asking.answer({"action": "accept", "content": {"plain": "a"}}))
        assert text == "[('colour', '#f00'), ('plain', 'a'), ('text', 'x'), ('yes', True)]"


def test_a_form_written_once_goes_out_whole_in_2025_11_25():
    with Asking(LINKS, lambda ctx: ctx.elicit("?", FORM_DOWN).action) as asking:
        assert asking.question()["params"]["requestedSchema"]["properties"] == FORM_DOWN
        asking.answer({"action": "cancel"})


def test_a_choice_of_several_cannot_be_asked_in_2025_06_18():
    schema = {"several": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}
    with Asking("2025-06-18", lambda ctx: ctx.elicit("?", schema), {}) as asking:
        assert "a choice of several values cannot be sent in revision 2025-06-18" in said(asking.outcome())


@in_form_revisions
@pytest.mark.parametrize("form, words", [
    ({"a": {"type": "object"}}, "form.properties.a: a field is"),
    ({"a": {"type": "string", "const": "x"}}, "keyword const"),
    ({"type": "object", "properties": {}, "required": ["x"]}, "no field x"),
    ({"a": dict}, "form.properties.a: a field is"),
    ({"a": bytes}, "contentEncoding"),
    ({"a": object()}, "has no JSON form"),
    ("name", "TypeError: a form is a dict"),
    (None, "TypeError: a form is a dict"),
    ([str], "TypeError: a form is a dict"),
    (int, "TypeError: a form is a dataclass"),
], ids=str)
def test_a_form_that_is_none_is_not_sent(form, words, revision):
    with Asking(revision, lambda ctx: ctx.elicit("?", form), {}) as asking:
        assert words in said(asking.outcome())


# --- Our client: what it declares ------------------------------------------------------------------------------------

def yes(*ignored):
    return True


@pytest.mark.spec("elicit.capability-init")
@pytest.mark.parametrize("revision", every_revision_of("elicit.capability-init"))
@pytest.mark.parametrize("elicitation, declared", [
    (yes, {"form": {}}),
    (Elicitation(yes), {"form": {}}),
    (Elicitation(url=yes), {"url": {}}),
    (Elicitation(yes, yes), {"form": {}, "url": {}}),
], ids=["function", "form", "url", "both"])
def test_our_client_declares_what_it_has_callbacks_for(elicitation, declared, revision):
    """[2025-06-18..2025-11-25 client/elicitation §Capabilities] MUST"""
    with Asked(revision, elicitation) as asked:
        assert asked.declared["elicitation"] == declared


@pytest.mark.spec("elicit.capability-init")
@pytest.mark.parametrize("revision", every_revision_of("elicit.capability-init"))
def test_our_client_declares_forms_by_an_empty_object_to_whoever_is_offered_the_older_revision(revision):
    with Asked("2025-06-18", yes, revisions=["2025-06-18"]) as asked:
        assert asked.declared["elicitation"] == {}


@in_form_revisions
def test_without_callbacks_nothing_is_declared_and_nothing_answered(revision):
    with Asked(revision, None) as asked:
        assert "elicitation" not in asked.declared
        assert asked.ask(form_params({}))["error"]["code"] == -32601


@pytest.mark.spec("elicit.one-mode")
@pytest.mark.parametrize("revision", every_revision_of("elicit.one-mode"))
def test_elicitation_without_a_mode_cannot_be_made(revision):
    """[2025-11-25 client/elicitation §Capabilities] MUST"""
    with pytest.raises(ValueError, match="form=..., url=... or both"):
        Elicitation()
    with pytest.raises(ValueError, match="form=..., url=... or both"):
        Elicitation(approve=yes)
    for wrong in ({"open_url": yes}, {"on_complete": yes}):
        with pytest.raises(ValueError, match="need url"):
            Elicitation(yes, **wrong)


@pytest.mark.spec("elicit.undeclared-mode-error")
@pytest.mark.parametrize("revision", every_revision_of("elicit.undeclared-mode-error"))
@pytest.mark.parametrize("have, params", [
    ("form", url_params()),
    ("url", form_params({}, mode="form")),
    ("url", form_params({})),
    ("both", form_params({}, mode="voice")),
    ("both", form_params({}, mode="")),
    ("both", form_params({}, mode=None)),
    ("both", form_params({}, mode=3)),
    ("both", form_params({}, mode=["form"])),
    ("both", form_params({}, mode="FORM")),
    ("form", url_params(mode="Url")),
])
def test_a_mode_that_was_not_declared_is_refused(have, params, revision):
    """[2025-11-25 client/elicitation §Error Handling] MUST"""
    called = []
    callbacks = {mode: lambda *given: called.append(given) for mode in ("form", "url") if have in (mode, "both")}
    with Asked(revision, Elicitation(**callbacks)) as asked:
        error = asked.ask(params)["error"]
        assert error["code"] == -32602 and "was not declared" in error["message"] and called == []


def test_a_client_for_links_alone_is_asked_for_no_forms_in_2025_06_18():
    with Asked("2025-06-18", Elicitation(url=yes)) as asked:
        assert asked.ask(form_params({}))["error"]["code"] == -32602
        assert asked.ask(url_params())["error"]["code"] == -32602


@pytest.mark.spec("elicit.mode-default-form")
@in_form_revisions
@pytest.mark.parametrize("have", [Elicitation(lambda params, context: {"a": "form"}),
                                  Elicitation(lambda params, context: {"a": "form"}, yes)], ids=["form", "both"])
def test_a_question_without_mode_is_a_form(have, revision):
    """[2025-11-25 client/elicitation §Elicitation Requests] MUST"""
    with Asked(revision, have) as asked:
        answer = asked.ask(form_params({"a": TEXT}))
        assert answer["result"] == {"action": "accept", "content": {"a": "form"}}


# --- Our client: forms -----------------------------------------------------------------------------------------------

OUTSIDE = [
    {"type": "object"}, {"type": "object", "properties": {"x": TEXT}}, {"type": "array", "items": TEXT},
    {"type": "null"},
    {"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}, {"$ref": "#/x"}, {}, True, "string", None,
    {"type": "string", "format": "password"}, {"type": "string", "minLength": "x"}, {"type": "number", "enum": [1]},
    {"type": "string", "enum": ["a"], "enumNames": []}, {"type": "string", "pattern": "("},
]


@in_form_revisions
@pytest.mark.parametrize("field", OUTSIDE, ids=str)
def test_a_form_outside_the_subset_is_refused_before_the_user_is_asked(field, revision):
    """[2025-06-18 client/elicitation §Request Schema], [2025-11-25 client/elicitation §Requested Schema]"""
    called = []
    with Asked(revision, lambda *given: called.append(given)) as asked:
        error = asked.ask(form_params({"f": field}))["error"]
        assert error["code"] == -32602 and error["message"].startswith("Invalid params: params.requestedSchema")
        assert called == []


@in_form_revisions
@pytest.mark.parametrize("params", [
    {}, {"message": "x"}, {"requestedSchema": {"type": "object", "properties": {}}},
    {"message": 3, "requestedSchema": {"type": "object", "properties": {}}}, {"message": "x", "requestedSchema": []},
    {"message": "x", "requestedSchema": {}}, {"message": "x", "requestedSchema": {"type": "object"}},
    form_params({}, required=["x"]), form_params({}, required="x"), form_params([1]),
], ids=str)
def test_params_that_are_no_form_are_refused(params, revision):
    with Asked(revision, yes) as asked:
        assert asked.ask(params)["error"]["code"] == -32602


@pytest.mark.parametrize("field", [{"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
                                   {"type": "array", "items": {"type": "string", "enum": ["a"]}},
                                   {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}])
def test_choices_of_2025_11_25_are_outside_the_subset_of_2025_06_18(field):
    with Asked("2025-06-18", lambda params, context: {"f": "a"}) as asked:
        assert asked.ask(form_params({"f": field}))["error"]["code"] == -32602
    value = ["a"] if field["type"] == "array" else "a"
    with Asked(LINKS, lambda params, context: {"f": value}) as asked:
        assert asked.ask(form_params({"f": field}))["result"]["content"] == {"f": value}


RETURNS = [
    ({"f": "x"}, {"action": "accept", "content": {"f": "x"}}),
    ({}, {"action": "accept", "content": {}}),
    (True, {"action": "accept", "content": {}}),
    ("accept", {"action": "accept", "content": {}}),
    (ElicitResult("accept", {"f": "x"}), {"action": "accept", "content": {"f": "x"}}),
    (ElicitResult("accept"), {"action": "accept", "content": {}}),
    (ElicitResult("accept", {"f": "x"}, meta={"example.com/a": 1}),
     {"action": "accept", "content": {"f": "x"}, "_meta": {"example.com/a": 1}}),
    (False, {"action": "decline"}),
    ("decline", {"action": "decline"}),
    (ElicitResult("decline", {"f": "secret"}), {"action": "decline"}),
    (None, {"action": "cancel"}),
    ("cancel", {"action": "cancel"}),
    (ElicitResult("cancel"), {"action": "cancel"}),
]


@in_form_revisions
@pytest.mark.parametrize("returned, result", RETURNS)
def test_what_the_callback_returns_is_what_the_user_did(returned, result, revision):
    """[2025-06-18..2025-11-25 client/elicitation §Response Actions]"""
    with Asked(revision, lambda params, context: returned) as asked:
        assert asked.ask(form_params({"f": TEXT}))["result"] == result


@in_form_revisions
@pytest.mark.parametrize("returned", ["yes", "", 1, 0, [], [("f", "x")], object(), "Accept", b"accept", 1.0])
def test_anything_else_is_the_callbacks_mistake_and_no_consent(returned, revision, caplog):
    with Asked(revision, Elicitation(lambda *given: returned, lambda *given: returned)) as asked:
        for params in [form_params({"f": TEXT})] + ([url_params()] if revision == LINKS else []):
            assert asked.ask(params)["error"] == {"code": -32603, "message": "Internal error"}
    assert "an elicitation callback returned" in caplog.text


@in_form_revisions
def test_the_callback_sees_the_question_and_the_context_of_the_request(revision):
    seen = []
    with Asked(revision, lambda params, context: seen.append((params, context))) as asked:
        asked.ask(form_params({"f": {"type": "string", "title": "F"}}, ["f"], message="Why not?"))
        params, context = seen[0]
        assert params.message == "Why not?" and params.requested_schema.properties["f"].title == "F"
        assert params.requested_schema.required == ["f"]
        assert context.connection is asked.client.connection and not context.cancelled.is_set()


@in_form_revisions
def test_an_exception_of_the_callback_is_an_internal_error_without_its_text(revision, caplog):
    def broken(params, context):
        raise OSError("s3cret")

    with Asked(revision, broken) as asked:
        assert asked.ask(form_params({}))["error"] == {"code": -32603, "message": "Internal error"}
        assert asked.count("handler errors") == 1


@in_form_revisions
def test_a_callback_may_answer_with_an_error_of_its_own(revision):
    def refuse(params, context):
        raise RpcError(-32000, "nobody is here")

    with Asked(revision, refuse) as asked:
        assert asked.ask(form_params({}))["error"] == {"code": -32000, "message": "nobody is here"}


WITH_DEFAULTS = {
    "t": {"type": "string", "default": "x"}, "n": {"type": "number", "default": 2},
    "e": {"type": "string", "enum": ["a", "b"], "default": "b"}, "b": {"type": "boolean", "default": False},
    "none": {"type": "string"}, "odd": {"type": "string", "minLength": 5, "default": "x"},
}


@pytest.mark.parametrize("revision, filled", [
    ("2025-06-18", {"b": False}), ("2025-11-25", {"t": "x", "n": 2, "e": "b", "b": False})])
def test_what_the_user_left_out_has_its_default_where_the_revision_has_one(revision, filled):
    """[2025-06-18 client/elicitation §Supported Schema Types], [2025-11-25 client/elicitation §Requested Schema]"""
    with Asked(revision, lambda params, context: {}) as asked:
        assert asked.ask(form_params(WITH_DEFAULTS))["result"] == {"action": "accept", "content": filled}
    entered = {"t": "", "b": True, "none": "y"}
    with Asked(revision, lambda params, context: dict(entered)) as asked:
        assert asked.ask(form_params(WITH_DEFAULTS))["result"]["content"] == dict(filled, **entered)
    with Asked(revision, lambda params, context: None) as asked:
        assert asked.ask(form_params(WITH_DEFAULTS))["result"] == {"action": "cancel"}


@pytest.mark.spec("elicit.client-validates", "elicit.both-validate")
@pytest.mark.parametrize("revision", every_revision_of("elicit.client-validates", "elicit.both-validate"))
@pytest.mark.parametrize("entered, words", [(content or {}, words) for content, words in UNFIT] + [
    ({"name": "Ada", "more": "x"}, "more: no field of the form"), ({"name": None}, "name"),
    ({"name": object()}, "name"),
    ({"name": ["Ada"]}, "name"), ({"name": {"a": 1}}, "name")])
def test_our_client_sends_no_answer_that_does_not_fit_the_form(entered, words, revision, caplog):
    """[2025-11-25 client/elicitation §Form Mode Security] SHOULD,
    [2025-06-18 client/elicitation §Security Considerations] SHOULD"""
    fields = {
        "name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "maximum": 150},
        "mail": {"type": "string", "format": "email"}, "size": {"type": "string", "enum": ["s", "m"]}}
    with Asked(revision, lambda params, context: dict(entered)) as asked:
        error = asked.ask(form_params(fields, ["name"]))["error"]
    if revision == STATELESS:  # nothing is sent, and the caller is told
        assert "what does not fit the form" in error["message"] and words in error["message"]
        assert "s3cret" not in error["message"] + caplog.text
        return
    assert error == {"code": -32603, "message": "Internal error"}
    assert "what does not fit the form" in caplog.text and words in caplog.text and "s3cret" not in caplog.text


@pytest.mark.sends_illegal("schema.json", why="its content has whole numbers only, in both revisions: a known erratum")
@in_form_revisions
def test_a_number_may_have_a_fraction(revision):
    with Asked(revision, lambda params, context: {"n": 1.5}) as asked:
        assert asked.ask(form_params({"n": {"type": "number"}}))["result"]["content"] == {"n": 1.5}


@pytest.mark.spec("elicit.rate-limit")
@pytest.mark.parametrize("revision", every_revision_of("elicit.rate-limit"))
@pytest.mark.parametrize("params", [form_params({}), url_params()], ids=["form", "url"])
def test_a_server_that_asks_too_often_is_refused(params, revision):
    """[2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD"""
    called = []

    def ask(*given):
        called.append(given)

    if revision != LINKS:
        params = form_params({})
    with Asked(revision, Elicitation(ask, ask), Limits(max_elicitations_per_second=0.001)) as asked:
        assert asked.ask(params)["result"] == {"action": "cancel"}
        error = asked.ask(params)["error"]
        assert error["code"] == -32603 and "max_elicitations_per_second" in error["message"]
        assert len(called) == 1


@in_form_revisions
@pytest.mark.parametrize("verdict, asked_then", [
    (True, True), (False, False), (None, False), ("yes", False), (1, False)])
def test_nobody_is_asked_what_was_not_approved(verdict, asked_then, revision):
    """[2025-06-18..2025-11-25 client/elicitation §Security Considerations] SHOULD"""
    called, seen = [], []

    def approve(request, context):
        seen.append(request)
        return verdict

    have = Elicitation(lambda *given: called.append(1), lambda *given: called.append(1), approve=approve)
    with Asked(revision, have) as asked:
        for params in [form_params({})] + ([url_params()] if revision == LINKS else []):
            called.clear()
            result = asked.ask(params)["result"]
            assert result == {"action": "cancel" if asked_then else "decline"} and bool(called) == asked_then
        assert seen[-1].message == "Please"
