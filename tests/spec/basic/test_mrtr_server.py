"""Multi round-trip requests, the server's part: asking by the result of a request, and a state that nobody can alter.

[2026-07-28 basic/patterns/mrtr], on its wire, by raw requests.
"""
import gc
import json
import weakref

import pytest

from mcp_ref.errors import CapabilityMissing, LocalProtocolError, RpcError
from mcp_ref.limits import Limits
from mcp_ref.messages.elicitation import ElicitRequestFormParams, ElicitRequestURLParams, RequestedSchema, StringSchema
from mcp_ref.messages.mrtr import CreateMessageRequest, ElicitRequest, InputRequiredResult, ListRootsRequest
from mcp_ref.messages.roots import ListRootsRequestParams
from mcp_ref.messages.sampling import CreateMessageRequestParams
from mcp_ref.methods import methods
from mcp_ref.protocol.requeststate import REFUSAL
from mcp_ref.revisions import LATEST
from mcp_ref.server import Context, Server, mrtr
from tests.support.by_hand import CALLS, EVERYTHING, MODEL_SAYS, ROOTS, ByHand, accept, asking_server, questions, said

METHODS = list(CALLS)
REFUSED = {"code": -32602, "message": REFUSAL}
KEYS = ["a key that is long enough"]


def ask_name(ctx):
    """Asks one question under a key of its own choice."""
    return "Hello, %s" % ctx.elicit("What is your name?", {"name": str}, key="name")["name"]


def ask_all_kinds(ctx):
    """Asks one question of each kind, one after the other."""
    name = ctx.elicit("Name?", {"name": str})["name"]
    ctx.elicit_url("Connect", "https://example.com/connect")
    return "%s %s %s" % (name, ctx.sample("Greet", 10).text, [root.uri for root in ctx.list_roots()])


def ask_together(ctx):
    """The same at once."""
    answers = ctx.ask_all({
        "name": lambda: ctx.elicit("Name?", {"name": str})["name"],
        "link": lambda: ctx.elicit_url("Connect", "https://example.com/connect").action,
        "greeting": lambda: ctx.sample("Greet", 10).text, "roots": lambda: [root.uri for root in ctx.list_roots()],
    })
    return json.dumps(answers)


ANSWERS = {"name": accept(name="Ada"), "link": {"action": "accept"}, "greeting": MODEL_SAYS, "roots": ROOTS}


def by_kind(answer):
    """An answer to each question that was asked, by its method."""
    found = {}
    for key, request in questions(answer).items():
        url = request["params"].get("mode") == "url"
        found[key] = {"elicitation/create": {"action": "accept"} if url else accept(name="Ada"),
                      "sampling/createMessage": MODEL_SAYS, "roots/list": ROOTS}[request["method"]]
    return found


# --- Asking -----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("mrtr.required", "mrtr.no-server-requests")
@pytest.mark.parametrize("method", METHODS)
def test_the_server_sends_no_requests_and_asks_by_its_results(method):
    with ByHand(asking_server(ask_all_kinds)) as client:
        asked, answer = [], client.call(method)
        while answer["result"]["resultType"] == "input_required" and len(asked) < 9:
            asked += [request["method"] for request in questions(answer).values()]
            answer = client.again(answer, by_kind(answer))
        assert said(answer) == "Ada hello ['file:///home']"
        assert asked == ["elicitation/create", "elicitation/create", "sampling/createMessage", "roots/list"]
        assert [message for message in client.peer.seen if "method" in message] == []


@pytest.mark.spec("mrtr.no-server-requests")
@pytest.mark.parametrize("method", ["ping", "roots/list", "sampling/createMessage", "elicitation/create"])
def test_no_way_around_sends_a_request(method):
    def go(ctx):
        with pytest.raises(LocalProtocolError, match="no requests from server to client"):
            ctx.call(method, {})
        return "refused"

    with ByHand(asking_server(go)) as client:
        client.peer.handshake("2025-11-25", EVERYTHING)  # beside a session that could carry it
        assert said(client.call("tools/call")) == "refused"
        assert [message for message in client.peer.seen if "method" in message] == []


@pytest.mark.spec("mrtr.may-respond")
@pytest.mark.parametrize("method", [
    pytest.param("tools/call", marks=pytest.mark.spec("mrtr.on-tools-call")),
    pytest.param("resources/read", marks=pytest.mark.spec("mrtr.on-resources-read")),
    pytest.param("prompts/get", marks=pytest.mark.spec("mrtr.on-prompts-get")),
])
def test_these_requests_may_ask(method):
    with ByHand(asking_server(ask_name)) as client:
        first = client.call(method)
        assert questions(first) == {"name": {"method": "elicitation/create", "params": {
            "mode": "form", "message": "What is your name?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        }}}
        assert said(client.again(first, name=accept(name="Ada"))) == "Hello, Ada"


@pytest.mark.spec("mrtr.no-other-requests")
@pytest.mark.parametrize("method", [
    row.name for row in methods(LATEST)
    if row.kind == "request" and row.sender == "client" and row.name not in CALLS and row.name != "subscriptions/listen"
])
def test_no_other_request_asks(method):
    seen = []

    def asking(value, context: Context):
        try:
            return [context.elicit("Which?", {"name": str}, key="name")["name"]]
        except LocalProtocolError as error:
            seen.append(str(error))
            raise

    server = asking_server(ask_name)
    server.prompt(lambda topic: topic, name="about")
    server.completion("about", "topic")(asking)
    params = {}
    if method == "completion/complete":
        params = {"ref": {"type": "ref/prompt", "name": "about"}, "argument": {"name": "topic", "value": "x"}}
    with ByHand(server) as client:
        answer = client.call(method, params, inputResponses={"name": accept(name="Ada")})
        if method == "completion/complete":
            assert answer["error"]["code"] == -32603
            assert "only tools, prompts and resources can do that" in answer["error"]["message"]
            assert "only tools, prompts and resources can do that" in seen[0]
        else:
            assert answer["result"]["resultType"] == "complete"


@pytest.mark.spec("mrtr.no-other-requests")
@pytest.mark.parametrize("member", [{"inputResponses": None}, {"requestState": "r1.a.b.c"}, {"requestState": 7}])
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list"])
def test_what_belongs_to_rounds_means_nothing_to_other_requests(method, member):
    with ByHand(asking_server(ask_name)) as client:
        assert client.call(method, {}, **member)["result"]["resultType"] == "complete"


# --- What is asked ----------------------------------------------------------------------------------------------------

FORM = ElicitRequestFormParams(message="Who?", requested_schema=RequestedSchema(properties={"name": StringSchema()}))
LINK = ElicitRequestURLParams(message="Go", url="https://example.com/")
SAMPLE = CreateMessageRequestParams([], 10)
BY_HAND = {"form": ElicitRequest(FORM), "link": ElicitRequest(LINK), "model": CreateMessageRequest(SAMPLE),
           "roots": ListRootsRequest(ListRootsRequestParams()), "bare": ListRootsRequest()}


@pytest.mark.spec("mrtr.at-least-one")
@pytest.mark.parametrize("asks, members", [
    (ask_name, {"inputRequests", "requestState"}),
    (ask_together, {"inputRequests", "requestState"}),
    pytest.param(lambda ctx: InputRequiredResult(BY_HAND), {"inputRequests"},
                 marks=pytest.mark.spec("mrtr.may-input-requests")),
    pytest.param(lambda ctx: InputRequiredResult(request_state="later"), {"requestState"},
                 marks=pytest.mark.spec("mrtr.may-request-state")),
    (lambda ctx: InputRequiredResult(BY_HAND, "mine"), {"inputRequests", "requestState"}),
], ids=["one", "together", "requests", "state", "both"])
def test_a_result_that_asks_has_requests_or_a_state(asks, members):
    for method in METHODS:
        with ByHand(asking_server(asks)) as client:
            result = client.call(method)["result"]
            assert result["resultType"] == "input_required"
            assert set(result) - {"resultType", "_meta"} == members


@pytest.mark.spec("mrtr.at-least-one")
@pytest.mark.parametrize("empty", [InputRequiredResult(), InputRequiredResult({})])
@pytest.mark.parametrize("method", METHODS)
def test_one_that_has_neither_is_not_sent(method, empty):
    with ByHand(asking_server(lambda ctx: empty)) as client:
        answer = client.call(method)
        failed = answer.get("error") or answer["result"].get("isError")
        assert failed and "input_required" not in json.dumps(answer)


@pytest.mark.spec("mrtr.keys-unique")
def test_no_two_questions_of_a_request_have_the_same_key():
    def go(ctx):
        for number in range(3):
            ctx.elicit("Age %d?" % number, {"name": str}, key="age")
            ctx.elicit("Size %d?" % number, {"name": str})
        answers = ctx.ask_all({
            "age": lambda: ctx.elicit("Last?", {"name": str}),
            "question-2": lambda: [ctx.elicit("A?", {"name": str}), ctx.elicit("B?", {"name": str})],
        })
        return str(len(answers))

    with ByHand(asking_server(go)) as client:
        keys, answer = [], client.call("tools/call")
        while answer["result"]["resultType"] == "input_required" and len(keys) < 20:
            keys += list(questions(answer))
            answer = client.again(answer, by_kind(answer))
        assert keys == ["age", "question-1", "age-2", "question-2", "age-3", "question-3", "age-4", "question-2-2",
                        "question-2-3"]


@pytest.mark.spec("mrtr.request-types")
@pytest.mark.parametrize("method", [row.name for row in methods(LATEST)] + ["ping", "nothing/known"])
def test_nothing_else_can_be_asked(method):
    askable = ("elicitation/create", "sampling/createMessage", "roots/list")
    params = {"elicitation/create": FORM, "sampling/createMessage": SAMPLE}.get(method, ListRootsRequestParams())

    def go(ctx):
        try:
            ctx.ask(method, params)
        except LocalProtocolError as error:
            return str(error)

    with ByHand(asking_server(go)) as client:
        answer = client.call("tools/call")
        if method in askable:
            request, = questions(answer).values()
            assert request["method"] == method
        else:
            assert "is nothing that a server may ask" in said(answer)


# --- Only what was declared -------------------------------------------------------------------------------------------

NEEDS = {
    "form": (lambda ctx: ctx.elicit("?", {"name": str}), {"elicitation": {"form": {}}}),
    "link": (lambda ctx: ctx.elicit_url("?", "https://example.com/"), {"elicitation": {"url": {}}}),
    "required link": (lambda ctx: _require_link(), {"elicitation": {"url": {}}}),
    "sampling": (lambda ctx: ctx.sample("?", 1), {"sampling": {}}),
    "sampling tools": (
        lambda ctx: ctx.sample_with_tools("?", 1, tools={"f": lambda: "x"}), {"sampling": {"tools": {}}}),
    "sampling context": (lambda ctx: ctx.sample("?", 1, include_context="thisServer"), {"sampling": {"context": {}}}),
    "roots": (lambda ctx: ctx.list_roots(), {"roots": {}}),
    "by hand": (lambda ctx: InputRequiredResult({"x": ElicitRequest(LINK)}), {"elicitation": {"url": {}}}),
    "model by hand": (lambda ctx: InputRequiredResult({"x": CreateMessageRequest(SAMPLE)}), {"sampling": {}}),
    "roots by hand": (lambda ctx: InputRequiredResult({"x": ListRootsRequest()}), {"roots": {}}),
    "by itself": (lambda ctx: _lacks("sampling"), {"sampling": {}}),
}


def _require_link():
    from mcp_ref.server import UrlElicitationRequired

    raise UrlElicitationRequired([("?", "https://example.com/")])


def _lacks(capability):
    raise CapabilityMissing("this tool needs it", capability)


def without(required):
    """Capabilities that lack just this."""
    (name, inner), = required.items()
    left = {key: value for key, value in EVERYTHING.items() if key != name}
    if inner:
        left[name] = {key: {} for key in EVERYTHING[name] if key not in inner}
    return left


@pytest.mark.spec("mrtr.declared-capabilities-only")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", NEEDS)
def test_what_the_client_did_not_declare_is_not_asked_but_named_in_an_error(kind, method):
    ask, required = NEEDS[kind]
    with ByHand(asking_server(ask)) as client:
        error = client.call(method, capabilities=without(required))["error"]
        assert error["code"] == -32021 and error["data"] == {"requiredCapabilities": required}
        nothing = client.call(method, capabilities={})["error"]
        assert nothing["code"] == -32021 and list(nothing["data"]["requiredCapabilities"]) == list(required)
        if kind != "by itself":
            assert questions(client.call(method, capabilities=EVERYTHING))


@pytest.mark.spec("mrtr.declared-capabilities-only")
def test_what_an_earlier_request_declared_does_not_count():
    with ByHand(asking_server(ask_all_kinds)) as client:
        first = client.call("tools/call")
        client.capabilities = {"elicitation": {}}
        error = client.again(first, by_kind(first))["error"]
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
        client.peer.handshake("2025-11-25", EVERYTHING)
        assert client.call("tools/call", capabilities={})["error"]["code"] == -32021


@pytest.mark.spec("mrtr.declared-capabilities-only")
def test_a_handler_may_do_with_what_is_there():
    def go(ctx):
        try:
            return ask_name(ctx)
        except CapabilityMissing:
            return ctx.sample("Invent a name", 10).text

    with ByHand(asking_server(go), {"sampling": {}}) as client:
        first = client.call("tools/call")
        assert [request["method"] for request in questions(first).values()] == ["sampling/createMessage"]
        assert said(client.again(first, by_kind(first))) == "hello"


@pytest.mark.spec("mrtr.declared-capabilities-only")
def test_among_several_questions_none_is_asked_where_one_may_not_be():
    with ByHand(asking_server(ask_together)) as client:
        answer = client.call("tools/call", capabilities={"elicitation": {"form": {}, "url": {}}, "roots": {}})
        assert answer["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


# --- The state --------------------------------------------------------------------------------------------------------

def tampered(token):
    """Tokens that are not the one that was given."""
    form, key, payload, signature = token.split(".")
    swapped = "A" if payload[5] != "A" else "B"
    return {
        "appended": token + "-TAMPERED", "cut": token[:-1], "half": token[:len(token) // 2], "empty": "",
        "twice": token * 2,
        "payload": ".".join((form, key, payload[:5] + swapped + payload[6:], signature)),
        "unsigned": ".".join((form, key, payload, "")), "key": ".".join((form, "AAAAAAAA", payload, signature)),
        "signature": token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), "number": 7, "null": None, "object": {"a": 1},
        "array": [token], "words": "let me in", "other signs": "\u2028\u00e9\U0001f600", "long": "x" * 300_000,
        "bomb": ".".join((form, key, "W1tb" * 50_000, signature)),
    }


@pytest.mark.spec("mrtr.state-untrusted", "mrtr.state-integrity", "mrtr.state-rejected")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("how", tampered("a.b.cccccccc.dd"))
def test_an_altered_state_is_refused(how, method):
    with ByHand(asking_server(ask_name)) as client:
        first = client.call(method)
        first["result"]["requestState"] = tampered(first["result"]["requestState"])[how]
        assert client.again(first, name=accept(name="Ada"))["error"] == REFUSED
        assert client.count("refused request state") == 1


@pytest.mark.spec("mrtr.state-untrusted", "mrtr.state-rejected")
@pytest.mark.parametrize("method", METHODS)
def test_it_is_refused_by_a_handler_that_asks_nothing_too(method):
    ran = []
    with ByHand(asking_server(lambda ctx: str(ran.append(1)))) as client:
        assert client.call(method, requestState="r1.a.b.c")["error"] == REFUSED
        assert ran == []


@pytest.mark.spec("mrtr.state-integrity", "mrtr.state-rejected")
def test_a_client_cannot_give_itself_a_better_answer():
    import base64

    def go(ctx):
        rank = ctx.once("rank", lambda: "guest")
        return "%s is %s" % (ctx.elicit("Name?", {"name": str})["name"], rank)

    with ByHand(asking_server(go)) as client:
        first = client.call("tools/call")
        form, key, payload, signature = first["result"]["requestState"].split(".")
        plain = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        forged = base64.urlsafe_b64encode(plain.replace(b"guest", b"admin")).decode().rstrip("=")
        assert b"guest" in plain and forged != payload
        assert said(client.again(first, {"question-1": accept(name="Eve")})) == "Eve is guest"
        first["result"]["requestState"] = ".".join((form, key, forged, signature))
        assert client.again(first, {"question-1": accept(name="Eve")})["error"] == REFUSED


@pytest.mark.spec("mrtr.state-integrity", "mrtr.state-rejected")
def test_a_state_of_a_server_with_other_keys_is_refused():
    with ByHand(asking_server(ask_name)) as client, ByHand(asking_server(ask_name)) as other:
        first, theirs = client.call("tools/call"), other.call("tools/call")
        first["result"]["requestState"] = theirs["result"]["requestState"]
        assert client.again(first, name=accept(name="Ada"))["error"] == REFUSED


@pytest.mark.spec("mrtr.state-principal")
@pytest.mark.parametrize("theirs", ["bob", None, "ann ", ["ann"]])
@pytest.mark.parametrize("ours", ["ann", {"sub": "ann", "scope": ["a"]}])
def test_a_state_is_of_no_use_to_another_principal(ours, theirs):
    with ByHand(asking_server(ask_name)) as client:
        first = client.call("tools/call", principal=ours)
        more = {"requestState": first["result"]["requestState"], "inputResponses": {"name": accept(name="Ada")}}
        assert client.call("tools/call", principal=theirs, **more)["error"] == REFUSED
        assert said(client.call("tools/call", principal=ours, **more)) == "Hello, Ada"


@pytest.mark.spec("mrtr.state-expiry")
@pytest.mark.parametrize("ttl, later, good", [(None, 899, True), (None, 901, False), (60, 58, True), (60, 61, False)])
def test_a_state_is_good_for_a_short_time_only(ttl, later, good, monkeypatch):
    now = [1_000_000.5]
    monkeypatch.setattr(mrtr, "wall_clock", lambda: now[0])
    with ByHand(asking_server(ask_name, state_ttl=ttl)) as client:
        first = client.call("tools/call")
        now[0] += later
        last = client.again(first, name=accept(name="Ada"))
        assert said(last) == ("Hello, Ada" if good else REFUSAL)


@pytest.mark.spec("mrtr.state-request-binding")
def test_a_state_belongs_to_one_request():
    server = asking_server(ask_name)

    @server.tool
    def other(ctx: Context) -> str:
        return ask_name(ctx)

    @server.tool
    def pay(amount: int, ctx: Context) -> str:
        return "%s paid %d" % (ctx.elicit("Name?", {"name": str}, key="name")["name"], amount)

    @server.prompt(name="other")
    def prompt(ctx: Context) -> str:
        return ask_name(ctx)

    small, large = ({"name": "pay", "arguments": {"amount": amount}} for amount in (1, 1_000_000))
    with ByHand(server) as client:
        states = {
            method: client.call(method)["result"]["requestState"] for method in METHODS
        }
        states["small"] = client.call("tools/call", small)["result"]["requestState"]
        requests = {method: (method, None) for method in METHODS}
        requests.update(small=("tools/call", small), large=("tools/call", large))
        requests.update(other=("tools/call", {"name": "other"}), prompt=("prompts/get", {"name": "other"}))
        for whose in ("other", "prompt"):  # the same params of two methods
            states[whose] = client.call(*requests[whose])["result"]["requestState"]
        answers = {"name": accept(name="Ada")}
        for mine, (method, params) in requests.items():
            for whose, state in states.items():
                got = client.call(method, params, requestState=state, inputResponses=answers)
                assert ("error" not in got) == (mine == whose), (mine, whose)
                assert got.get("error") in (None, REFUSED)


@pytest.mark.spec("mrtr.state-single-use")
def test_an_author_can_see_to_it_that_a_state_is_used_once():
    used, redeemed = set(), []

    def first_time(id):
        known = id in used
        used.add(id)
        return not known

    def redeem(ctx):
        name = ctx.elicit("Name?", {"name": str}, key="name")["name"]
        redeemed.append(name)
        return "redeemed"

    with ByHand(asking_server(redeem, consume_state=first_time)) as client:
        first = client.call("tools/call")
        assert client.again(first, name=7)["error"]["code"] == -32602  # used up, all the same
        assert client.again(first, name=accept(name="Ada"))["error"] == REFUSED
        again = client.call("tools/call")
        assert said(client.again(again, name=accept(name="Ada"))) == "redeemed"
        assert client.again(again, name=accept(name="Ada"))["error"] == REFUSED
        assert redeemed == ["Ada"] and len(used) == 2


@pytest.mark.spec("mrtr.no-assumed-retry")
def test_nothing_waits_for_a_client_that_does_not_come_back():
    class Held:
        """What a handler had when it asked."""

    alive = []

    def go(ctx):
        held = Held()
        alive.append(weakref.ref(held))
        return ask_name(ctx)

    with ByHand(asking_server(go, limits=Limits(max_workers=1, max_inflight=1))) as client:
        for _ in range(20):
            assert questions(client.call("tools/call"))
        assert len(client.connection.inflight) == 0
        gc.collect()
        assert len(alive) == 20 and [one for one in alive if one() is not None] == []
        assert client.connection.state == {}


@pytest.mark.spec("mrtr.no-assumed-retry")
def test_another_process_with_the_same_keys_can_go_on():
    with ByHand(asking_server(ask_all_kinds, state_keys=KEYS)) as client:
        answer = client.call("tools/call")
    rounds_made = 0
    while answer["result"]["resultType"] == "input_required" and rounds_made < 9:
        with ByHand(asking_server(ask_all_kinds, state_keys=KEYS)) as other:
            answer = other.call("tools/call", requestState=answer["result"]["requestState"],
                                inputResponses=by_kind(answer))
        rounds_made += 1
    assert said(answer) == "Ada hello ['file:///home']" and rounds_made == 4


@pytest.mark.spec("mrtr.repeat")
def test_a_handler_may_ask_until_it_has_what_it_needs():
    def go(ctx):
        tries = 0
        while True:
            tries += 1
            age = ctx.elicit("Your age?", {"age": int}, key="age")["age"]
            if age > 0:
                return "%d after %d" % (age, tries)

    with ByHand(asking_server(go)) as client:
        answer = client.call("tools/call")
        for age in (-1, -2, 0):
            key, = questions(answer)
            answer = client.again(answer, {key: accept(age=age)})
        key, = questions(answer)
        assert said(client.again(answer, {key: accept(age=7)})) == "7 after 4"


# --- What comes back --------------------------------------------------------------------------------------------------

@pytest.mark.spec("mrtr.validate-responses", "mrtr.protocol-errors")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("responses, kind", [
    (None, "null"), ([], "array"), ("x", "string"), (7, "integer"), (True, "boolean"), ([{"name": accept()}], "array"),
])
def test_responses_that_are_no_object_are_refused(responses, kind, method):
    with ByHand(asking_server(ask_name)) as client:
        expected = {"code": -32602, "message": "Invalid params: params.inputResponses: expected object, got %s" % kind}
        assert client.call(method, inputResponses=responses)["error"] == expected
        state = client.call(method)["result"]["requestState"]
        assert client.call(method, inputResponses=responses, requestState=state)["error"] == expected


WRONG = [
    ("form", 12345, ": expected object, got integer"), ("form", None, ": expected object, got null"),
    ("form", "Ada", ": expected object, got string"), ("form", [1], ": expected object, got array"),
    ("form", {}, ".action: expected"), ("form", {"action": "maybe"}, ".action: expected"),
    ("form", {"action": "accept", "content": 7}, ".content: expected object, got integer"),
    ("form", {"action": "accept", "content": {"name": {"a": 1}}}, ".content.name: expected"),
    ("form", MODEL_SAYS, ".action: expected"), ("form", ROOTS, ".action: expected"),
    ("model", accept(name="x"), ".content.type: expected"), ("model", 7, ": expected object, got integer"),
    ("model", {"role": "assistant", "model": "m"}, ".content: expected"),
    ("model", dict(MODEL_SAYS, role="system"), ".role: expected"),
    ("roots", accept(name="x"), ".roots: expected"), ("roots", {"roots": {}}, ".roots: expected array, got object"),
    ("roots", {"roots": [7]}, ".roots[0]: expected object, got integer"),
    ("roots", None, ": expected object, got null"),
]
ASK = {"form": ask_name, "model": lambda ctx: ctx.sample("?", 10, key="name").text,
       "roots": lambda ctx: str(len(ctx.list_roots(key="name")))}


@pytest.mark.spec("mrtr.validate-responses", "mrtr.protocol-errors")
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind, answer, fault", WRONG)
def test_an_answer_of_the_wrong_type_is_an_error_that_names_the_place(kind, answer, fault, early):
    with ByHand(asking_server(ASK[kind])) as client:
        if early:
            got = client.call("tools/call", inputResponses={"name": answer})
        else:
            got = client.again(client.call("tools/call"), name=answer)
        assert got["error"]["code"] == -32602
        assert got["error"]["message"].startswith("Invalid params: params.inputResponses.name" + fault)


@pytest.mark.spec("mrtr.validate-responses", "mrtr.protocol-errors")
def test_a_handler_that_catches_everything_does_not_hide_it():
    def go(ctx):
        try:
            return ask_name(ctx)
        except BaseException:
            return "somebody"

    with ByHand(asking_server(go)) as client:
        assert client.again(client.call("tools/call"), name=7)["error"]["code"] == -32602


@pytest.mark.spec("mrtr.validate-responses", "mrtr.re-request-missing")
@pytest.mark.parametrize("kind, answer", [
    ("form", {"action": "accept"}), ("form", {"action": "accept", "content": {}}), ("form", accept(name=5)),
    ("form", accept(name=["x"])), ("form", accept(other="x")),
    ("model", dict(MODEL_SAYS, role="user")),
    ("model", dict(MODEL_SAYS, content={"type": "image", "data": "!", "mimeType": "x"})),
])
def test_an_answer_that_does_not_fit_the_question_is_asked_for_again(kind, answer):
    with ByHand(asking_server(ASK[kind])) as client:
        first = client.call("tools/call")
        second = client.again(first, name=answer)
        assert questions(second) == questions(first) and client.count("unusable answer") == 1
        assert said(client.again(second, by_kind(second))) in ("Hello, Ada", "hello")


@pytest.mark.spec("mrtr.ignore-unexpected")
@pytest.mark.parametrize("extra", [7, None, {}, "x", [1], accept(name="Eve"), {"action": 7}])
@pytest.mark.parametrize("method", METHODS)
def test_answers_that_nobody_asked_for_are_ignored(method, extra):
    with ByHand(asking_server(ask_name)) as client:
        alone = client.call(method, inputResponses={"other": extra, "question-1": extra, "": extra})
        assert list(questions(alone)) == ["name"]
        done = client.again(alone, {"other": extra, "name": accept(name="Ada"), "question-7": extra})
        assert said(done) == "Hello, Ada"
        also = {"action": "accept", "content": {"name": "Ada", "more": "x"}, "unknown": 7}
        assert said(client.again(alone, name=also)) == "Hello, Ada"


@pytest.mark.spec("mrtr.ignore-unexpected")
def test_an_answer_under_a_key_of_the_authors_is_taken_before_it_was_asked_for():
    with ByHand(asking_server(ask_name)) as client:
        assert said(client.call("tools/call", inputResponses={"name": accept(name="Ada"), "x": 1})) == "Hello, Ada"


@pytest.mark.spec("mrtr.re-request-missing")
@pytest.mark.parametrize("given", [[], ["name"], ["link", "greeting"], ["greeting", "name", "roots"]])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_missing_is_asked_for_again_and_nothing_else(method, given):
    with ByHand(asking_server(ask_together)) as client:
        first = client.call(method)
        assert list(questions(first)) == list(ANSWERS)
        second = client.again(first, {key: ANSWERS[key] for key in given})
        assert questions(second) == {key: request for key, request in questions(first).items() if key not in given}
        third = client.again(second, {key: ANSWERS[key] for key in ANSWERS if key not in given})
        assert json.loads(said(third)) == {
            "name": "Ada", "link": "accept", "greeting": "hello", "roots": ["file:///home"],
        }


@pytest.mark.spec("mrtr.re-request-missing")
def test_a_retry_with_the_state_alone_asks_again():
    with ByHand(asking_server(ask_name)) as client:
        first = client.call("tools/call")
        second = client.call("tools/call", requestState=first["result"]["requestState"])
        assert questions(second) == questions(first)
        assert second["result"]["requestState"] != first["result"]["requestState"]


@pytest.mark.spec("elicit.via-mrtr")
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_an_elicitation_and_each_of_its_ends(action):
    with ByHand(asking_server(lambda ctx: ctx.elicit("Sure?", {"ok": bool}, key="sure").action)) as client:
        first = client.call("tools/call")
        assert questions(first)["sure"]["method"] == "elicitation/create"
        assert said(client.again(first, sure=dict(accept(ok=True), action=action))) == action


# --- Limits -----------------------------------------------------------------------------------------------------------

def test_rounds_are_counted():
    def go(ctx):
        for number in range(100):
            ctx.elicit("%d?" % number, {"name": str})
        return "never"

    with ByHand(asking_server(go, limits=Limits(max_input_rounds=3))) as client:
        answer = client.call("tools/call")
        for _ in range(2):
            answer = client.again(answer, by_kind(answer))
        last = client.again(answer, by_kind(answer))
        assert last["result"]["isError"] and "max_input_rounds" in said(last)


def test_what_has_to_be_remembered_is_bounded():
    def go(ctx):
        ctx.once("large", lambda: "x" * 5000)
        return ask_name(ctx)

    with ByHand(asking_server(go, limits=Limits(max_state_bytes=4000))) as client:
        answer = client.call("tools/call")
        assert answer["result"]["isError"] and "max_state_bytes is 4000" in said(answer)


def test_the_limits_can_be_caught_like_any_other_error():
    def go(ctx):
        try:
            return ask_name(ctx)
        except LocalProtocolError:
            return "then not"

    with ByHand(asking_server(go, limits=Limits(max_state_bytes=10))) as client:
        assert said(client.call("tools/call")) == "then not"


def test_an_error_of_the_author_stays_what_it_is():
    def go(ctx):
        ask_name(ctx)
        raise RpcError(7, "mine", {"x": 1})

    with ByHand(asking_server(go)) as client:
        answer = client.again(client.call("tools/call"), name=accept(name="Ada"))
        assert answer["error"] == {"code": 7, "message": "mine", "data": {"x": 1}}


def test_a_server_of_the_handshake_era_takes_the_members_for_nothing():
    server = Server("old", revisions=["2025-11-25"])
    server.tool(lambda: "done", name="go")
    with ByHand(server) as client:
        client.peer.handshake("2025-11-25", EVERYTHING)
        params = {"name": "go", "requestState": "x", "inputResponses": None}
        assert client.peer.call("old", "tools/call", params)["result"]["content"][0]["text"] == "done"
