"""Requests that a server answers by questions first: the client's side.

[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)]. The server is scripted; each test plays on all
three requests that may be answered so, as calls that wait and as futures.
"""
import json
import threading
from concurrent.futures import CancelledError

import pytest

from mcp_ref import deadline
from mcp_ref.client import Client
from mcp_ref.errors import (
    InputUnavailable, LocalProtocolError, PeerError, PeerProtocolError, RequestCancelled, RequestTimeout, RpcError,
)
from mcp_ref.limits import Limits
from mcp_ref.messages.elicitation import ElicitResult
from mcp_ref.messages.mrtr import InputRequiredResult
from mcp_ref.peer.context import Route
from mcp_ref.peer.main_thread import MainThreadQueue
from mcp_ref.transports.memory import pair
from tests.support.conversation import BOUNDED
from tests.support.scene import SILENT, Failure, Scene, rounds
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import Gate, eventually, in_thread

STATELESS = "2026-07-28"
TEXT = {"type": "text", "text": "done"}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM = {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": NAME}}
MODEL = {"method": "sampling/createMessage", "params": {
    "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5}}
ROOTS = {"method": "roots/list"}
ADA = {"action": "accept", "content": {"name": "Ada"}}

CALLS = {
    "tools/call": ({"content": [TEXT]}, lambda c, **o: c.call_tool("t", {"a": 1}, **o),
                   lambda c, **o: c.submit_tool("t", {"a": 1}, **o)),
    "prompts/get": ({"messages": []}, lambda c, **o: c.get_prompt("p", {"a": "1"}, **o),
                    lambda c, **o: c.submit_prompt("p", {"a": "1"}, **o)),
    "resources/read": ({"contents": [], "ttlMs": 0, "cacheScope": "private"},
                       lambda c, **o: c.read_resource("x:y", **o), lambda c, **o: c.submit_resource("x:y", **o)),
}
"""Method -> a complete result, the call that waits, and the one that gives a future."""
EVERY = [(method, form) for method in CALLS for form in ("call", "future")]
each_call = pytest.mark.parametrize("method, form", EVERY, ids=["%s-%s" % pair for pair in EVERY])


def required(requests=None, state=None):
    """A result that asks these."""
    result = {"resultType": "input_required"}
    if requests is not None:
        result["inputRequests"] = requests
    if state is not None:
        result["requestState"] = state
    return result


def stage(answers, **options):
    """A client that answers everything, and a server that answers so."""
    options.setdefault("elicitation", lambda params, context: {"name": "Ada"})
    options.setdefault("sampling", model)
    options.setdefault("roots", ["/disk/project"])
    return Scene(STATELESS, answers, **options)


def model(params, context):
    """A model's answer, with the name that it must have."""
    from mcp_ref.messages.content import TextContent
    from mcp_ref.messages.sampling import CreateMessageResult

    return CreateMessageResult("assistant", "m", TextContent("yes"))


def run(scene, method, form, **options):
    """Make the call of this method, and wait for what it gives."""
    _, call, submit = CALLS[method]
    return call(scene.client, **options) if form == "call" else submit(scene.client, **options).result(PATIENCE)


def sent(scene, method):
    """The requests of this method, as the server got them."""
    return [message for message in scene.requests if message["method"] == method]


def bare(params):
    """Params without what each request says of the client."""
    return {name: value for name, value in params.items() if name != "_meta"}


# --- The rounds -------------------------------------------------------------------------------


@pytest.mark.spec("mrtr.client-constructs-inputs", "mrtr.state-echo", "mrtr.new-request-id")
@each_call
def test_all_inputs_are_there_before_the_request_is_sent_again(method, form):
    """[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST"""
    complete = CALLS[method][0]
    asked = {"who": FORM, "what": MODEL, "where": ROOTS}
    with stage({method: rounds(required(asked, "state 1"), complete)}, sampling=model) as scene:
        run(scene, method, form)
        first, second = sent(scene, method)
    assert first["id"] != second["id"]
    responses = second["params"]["inputResponses"]
    assert list(responses) == ["who", "what", "where"]
    assert responses["who"] == ADA
    assert responses["what"] == {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}
    assert responses["where"]["roots"] == [{"uri": "file:///disk/project"}]
    assert second["params"]["requestState"] == "state 1"
    kept = bare(second["params"])
    del kept["inputResponses"], kept["requestState"]
    assert kept == bare(first["params"]), "the same request otherwise"


@pytest.mark.spec("mrtr.retry-immediately", "mrtr.new-request-id")
@each_call
def test_a_result_with_a_state_alone_is_answered_at_once(method, form):
    """[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MAY"""
    asked = []
    complete = CALLS[method][0]
    with stage({method: rounds(required(state="later"), complete)}, elicitation=lambda p, c: asked.append(p)) as scene:
        run(scene, method, form)
        first, second = sent(scene, method)
    assert asked == [] and "inputResponses" not in second["params"] and second["params"]["requestState"] == "later"
    assert first["id"] != second["id"]


STATES = ["", " ", "{\"a\":1}", "null", "0", "A" * 70_000, "\u00e9\U0001f600\u2028\x00\x7f", "eyJ.a.b\n\t\"\\"]


@pytest.mark.spec("mrtr.state-echo", "mrtr.state-opaque")
@pytest.mark.parametrize("form", ["call", "future"])
@pytest.mark.parametrize("state", STATES, ids=[ascii(state[:12]) for state in STATES])
def test_a_state_goes_back_as_it_came(state, form):
    """[2026-07-28 basic/patterns/mrtr §InputRequiredResult] MUST NOT: it is not looked at, whatever it looks like."""
    with stage({"tools/call": rounds(required({"who": FORM}, state), {"content": []})}) as scene:
        run(scene, "tools/call", form)
        assert sent(scene, "tools/call")[1]["params"]["requestState"] == state


@pytest.mark.spec("mrtr.no-state-if-absent", "mrtr.state-echo")
@each_call
def test_only_the_state_of_the_round_before_goes_back(method, form):
    """[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST NOT"""
    answer = rounds(required({"a": FORM}), required({"b": FORM}, "two"), required({"c": FORM}), CALLS[method][0])
    with stage({method: answer}) as scene:
        run(scene, method, form)
        params = [message["params"] for message in sent(scene, method)]
    assert [p.get("requestState", "none") for p in params] == ["none", "none", "two", "none"]
    assert [list(p.get("inputResponses", ())) for p in params] == [[], ["a"], ["b"], ["c"]]


@pytest.mark.spec("mrtr.new-request-id")
@each_call
def test_no_two_rounds_have_the_same_id(method, form):
    """[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST"""
    answer = rounds(*[required({"a": FORM}, "s%d" % number) for number in range(5)], CALLS[method][0])
    with stage({method: answer}) as scene:
        run(scene, method, form)
        ids = [message["id"] for message in sent(scene, method)]
    assert len(ids) == 6 == len(set(ids))


@pytest.mark.spec("mrtr.not-for-other-requests")
def test_what_belongs_to_one_request_is_in_no_other():
    """[2026-07-28 basic/patterns/mrtr §Client Requirements (Basic Workflow)] MUST NOT: also in parallel."""
    def answer(params):
        name = params["name"]
        if not name.startswith("asking"):
            return {"content": []}
        if "inputResponses" in params:
            assert params["requestState"] == "state of %s" % name and list(params["inputResponses"]) == [name]
            return {"content": []}
        return required({name: FORM}, "state of %s" % name)

    with Gate() as gate:
        def ask(params, context):
            gate.hold()
            return {"name": "Ada"}

        with stage({"tools/call": answer, "tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"}},
                   elicitation=ask) as scene:
            waiting = [in_thread(scene.client.call_tool, "asking%d" % number) for number in range(3)]
            futures = [scene.client.submit_tool("asking%d" % number) for number in range(3, 6)]
            gate.entered(6)
            scene.client.call_tool("other")
            scene.client.list_tools()
            gate.open()
            for outcome in waiting:
                outcome.get()
            for future in futures:
                future.result(PATIENCE)
            for message in scene.requests:
                mine = message["params"].get("name", "")
                assert ("requestState" in message["params"]) <= mine.startswith("asking"), message
        assert len(scene.requests) == 14


@each_call
def test_meta_progress_and_its_callback_are_those_of_each_round(method, form):
    """Reading: the caller asked for them once, and cannot know of rounds."""
    seen, scenes = [], []

    def tell(value, result):
        def answer(params):
            token = params["_meta"]["progressToken"]
            scenes[0].peer.notify("notifications/progress", {"progressToken": token, "progress": value})
            return result
        return answer

    both = rounds(tell(1, required({"a": FORM})), tell(1, CALLS[method][0]))
    with stage({method: lambda params: both(params)(params)}) as scene:
        scenes.append(scene)
        run(scene, method, form, meta={"com.example/trace": 7}, progress=lambda *told: seen.append(told))
        eventually(lambda: len(seen) == 2)
        metas = [message["params"]["_meta"] for message in sent(scene, method)]
        ids = [message["id"] for message in sent(scene, method)]
    assert [meta["com.example/trace"] for meta in metas] == [7, 7]
    assert [meta["progressToken"] for meta in metas] == ids
    assert all("io.modelcontextprotocol/protocolVersion" in meta for meta in metas)


def test_questions_of_a_round_are_put_one_after_the_other_in_the_servers_order():
    """Reading: no user sees two questions at once."""
    order, inside = [], []

    def ask(params, context):
        inside.append(params.message)
        assert len(inside) == 1
        order.append((params.message, context.request_id))
        inside.remove(params.message)
        return {"name": params.message}

    keys = ["z", "a", "m", "10", "9"]
    asked = {key: {"method": FORM["method"], "params": dict(FORM["params"], message=key)} for key in keys}
    for form in ("call", "future"):
        order.clear()
        with stage({"tools/call": rounds(required(asked), {"content": []})}, elicitation=ask) as scene:
            run(scene, "tools/call", form)
            responses = sent(scene, "tools/call")[1]["params"]["inputResponses"]
        assert order == [(key, key) for key in keys]
        assert {key: answer["content"]["name"] for key, answer in responses.items()} == dict(zip(keys, keys))


@pytest.mark.parametrize("action, said", [(False, "decline"), (None, "cancel")])
def test_a_user_who_will_not_say_is_an_answer(action, said):
    """[2026-07-28 client/elicitation §Response Actions]"""
    with stage({"tools/call": rounds(required({"who": FORM}), {"content": []})},
               elicitation=lambda params, context: action) as scene:
        run(scene, "tools/call", "call")
        assert sent(scene, "tools/call")[1]["params"]["inputResponses"] == {"who": {"action": said}}


@pytest.mark.parametrize("form", ["call", "future"])
def test_callbacks_never_run_on_the_reader(form):
    """A callback may itself ask the server."""
    threads = []

    def ask(params, context):
        threads.append(threading.current_thread().name)
        assert scene.client.call_tool("inner").content == []
        return {"name": "Ada"}

    def answer(params):
        return {"content": []} if params["name"] == "inner" or "inputResponses" in params else required({"a": FORM})

    with stage({"tools/call": answer}, elicitation=ask) as scene:
        run(scene, "tools/call", form)
    assert len(threads) == 1 and "reader" not in threads[0], threads


@pytest.mark.parametrize("form", ["call", "future"])
def test_where_there_is_a_main_thread_it_is_the_one_that_asks(form):
    """As in the handshake era: see `mcp_ref.peer.main_thread`."""
    threads = []
    queue = MainThreadQueue()

    def ask(params, context):
        threads.append(threading.current_thread())
        return {"name": "Ada"}

    answers = {"tools/call": rounds(required({"who": FORM}), {"content": []})}
    with stage(answers, elicitation=ask, executor=queue) as scene:
        outcome = in_thread(run, scene, "tools/call", form)
        while not outcome.over:
            queue.wait(0.01)
            queue.pump()
        outcome.get()
    queue.close()
    assert threads == [threading.main_thread()]


def test_a_call_by_the_main_thread_itself_pumps_while_it_waits():
    queue = MainThreadQueue()
    queue.pump()  # so that it is known whose it is
    with stage({"tools/call": rounds(required({"who": FORM}), {"content": []})}, executor=queue) as scene:
        assert scene.client.call_tool("t").content == []
    queue.close()


def test_whoever_waits_for_a_main_thread_that_is_gone_is_told_that_nobody_could_be_asked():
    queue = MainThreadQueue()
    reached = []
    answers = {"tools/call": required({"who": FORM})}
    with stage(answers, elicitation=lambda params, context: reached.append(params), executor=queue) as scene:
        calling = in_thread(scene.client.call_tool, "t")
        assert queue.wait(PATIENCE)  # the question is there, and is never taken
        queue.close()
        with pytest.raises(InputUnavailable, match="nobody could be asked: .*closed its MainThreadQueue"):
            calling.get()
        with pytest.raises(InputUnavailable, match="the executor is closed"):
            scene.client.call_tool("t")
    assert reached == []


# --- What is no answer ------------------------------------------------------------------------


@pytest.mark.spec("jsonrpc.result-type-unknown-invalid", "jsonrpc.result-type-known-set")
@pytest.mark.parametrize("kind", ["", "Complete", "partial", "task", "input-required", None, 1, [], {"a": 1}], ids=repr)
@each_call
def test_a_result_of_an_unknown_kind_is_invalid(method, form, kind):
    """[2026-07-28 basic/index §ResultType] MUST"""
    with stage({method: dict(CALLS[method][0], resultType=kind)}, strict=kind is None) as scene:
        with pytest.raises(PeerProtocolError, match="resultType"):
            run(scene, method, form)
        assert len(sent(scene, method)) == 1


@pytest.mark.spec("jsonrpc.result-type-absent-complete")
@each_call
def test_a_result_without_a_kind_is_complete(method, form):
    """[2026-07-28 basic/index §ResultType] MUST"""
    left = [CALLS[method][0]]
    with stage({method: lambda params: SILENT}) as scene:
        outcome = in_thread(run, scene, method, form)
        eventually(lambda: sent(scene, method))
        raw = {"jsonrpc": "2.0", "id": sent(scene, method)[0]["id"], "result": left[0]}
        assert "resultType" not in left[0]
        scene.peer.send(raw)
        outcome.get()


OTHERS = {
    "tools/list": lambda c: c.list_tools(), "resources/list": lambda c: c.list_resources(),
    "resources/templates/list": lambda c: c.list_resource_templates(), "prompts/list": lambda c: c.list_prompts(),
    "server/discover": lambda c: c.discover(), "completion/complete": lambda c: c.complete("p", "a", "x"),
}


@pytest.mark.parametrize("method", OTHERS)
def test_no_other_request_may_be_answered_by_questions(method):
    """[2026-07-28 basic/patterns/mrtr §Supported Requests] MUST NOT"""
    capabilities = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    with stage({method: required({"who": FORM}, "s")}, capabilities=capabilities) as scene:
        with pytest.raises(PeerProtocolError, match="asks for input"):
            OTHERS[method](scene.client)
        assert len(sent(scene, method)) == 1


WRONG = {
    "neither": (required(), "neither inputRequests nor requestState"),
    "no object": (required([FORM]), "result.inputRequests"),
    "no request": (required({"a": 5}), "result.inputRequests"),
    "no method": (required({"a": {"params": {}}}), "result.inputRequests"),
    "another method": (required({"a": {"method": "ping"}}), "result.inputRequests"),
    "a tool call": (required({"a": {"method": "tools/call", "params": {"name": "x"}}}), "result.inputRequests"),
    "no params": (required({"a": {"method": "sampling/createMessage"}}), "result.inputRequests"),
    "state": (dict(required({"a": FORM}), requestState=5), "result.requestState"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("form", ["call", "future"])
def test_questions_of_another_form_are_the_servers_fault(case, form):
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST"""
    asked = []
    result, place = WRONG[case]
    with stage({"tools/call": result}, elicitation=lambda p, c: asked.append(p)) as scene:
        with pytest.raises(PeerProtocolError) as caught:
            run(scene, "tools/call", form)
        assert place in str(caught.value) and asked == [] and len(scene.requests) == 1


UNDECLARED = {
    "elicitation": (FORM, {"elicitation": None, "sampling": model}),
    "sampling": (MODEL, {"sampling": None}),
    "roots": (ROOTS, {"roots": None, "sampling": model}),
    "mode": ({"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://example.com/"}},
             {"sampling": model}),
    "tools": ({"method": "sampling/createMessage", "params": dict(
        MODEL["params"], tools=[{"name": "t", "inputSchema": {"type": "object"}}])}, {"sampling": model}),
}


@pytest.mark.parametrize("case", UNDECLARED)
@pytest.mark.parametrize("form", ["call", "future"])
def test_a_question_of_a_kind_that_was_not_declared_is_the_servers_fault(case, form):
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST NOT"""
    question, options = UNDECLARED[case]
    with stage({"tools/call": required({"q": question}, "s")}, **options) as scene:
        with pytest.raises(PeerProtocolError, match="declare"):
            run(scene, "tools/call", form)
        assert len(scene.requests) == 1


@pytest.mark.parametrize("form", ["call", "future"])
def test_nobody_is_asked_anything_of_a_round_that_asks_for_something_undeclared(form):
    asked = []
    with stage({"tools/call": required({"a": FORM, "b": MODEL})}, sampling=None,
               elicitation=lambda p, c: asked.append(p)) as scene:
        with pytest.raises(PeerProtocolError, match="sampling/createMessage, which this client did not declare"):
            run(scene, "tools/call", form)
    assert asked == []


def test_what_a_client_could_answer_but_did_not_declare_is_not_answered():
    """[2026-07-28 basic/patterns/mrtr §Server Requirements (Basic Workflow)] MUST NOT"""
    answered = []

    class Secretive(Client):
        """Would answer anything."""

        def route(self, connection, method, revision):
            return Route(lambda context, params: answered.append(method) or {"roots": []})

    client = Secretive(era="modern", limits=BOUNDED)
    with Scene(STATELESS, {"tools/call": required({"q": ROOTS})}, client=client) as scene:
        with pytest.raises(PeerProtocolError, match="declare"):
            scene.client.call_tool("t")
    assert answered == []


def explode(params, context):
    raise ZeroDivisionError("oh")


def reject(params, context):
    raise RpcError(-1, "User rejected sampling request")


@pytest.mark.parametrize("form", ["call", "future"])
@pytest.mark.parametrize("question, options, cause, text", [
    (FORM, {"elicitation": explode}, ZeroDivisionError, "oh"),
    (MODEL, {"sampling": reject}, RpcError, "rejected"),
    (FORM, {"elicitation": lambda p, c: 5}, TypeError, "callback returned int"),
    (FORM, {"limits": Limits(max_elicitations_per_second=1e-9)}, RpcError, "max_elicitations_per_second"),
], ids=["raises", "rejected", "nonsense", "rate"])
def test_a_question_without_an_answer_ends_the_request(form, question, options, cause, text):
    """[2026-07-28 client/sampling §Error Handling]: the server waits for nothing."""
    options = dict({"sampling": model}, **options)
    with stage({"tools/call": required({"q 1": question}, "s")}, **options) as scene:
        if text.startswith("max_"):
            scene.client.connection.rate(text).take()
        with pytest.raises(InputUnavailable, match=text) as caught:
            run(scene, "tools/call", form)
        error = caught.value
        assert (error.key, error.method) == ("q 1", question["method"]) and isinstance(error.__cause__, cause)
        assert len(scene.requests) == 1 and scene.notifications == []


@pytest.mark.parametrize("form", ["call", "future"])
def test_a_server_that_asks_for_ever_is_an_error_that_names_the_limit(form):
    with stage({"tools/call": required({"q": FORM}, "s")}, limits=Limits(max_input_rounds=3)) as scene:
        with pytest.raises(PeerProtocolError, match=r"max_input_rounds \(3\)"):
            run(scene, "tools/call", form)
        assert len(scene.requests) == 4


@each_call
def test_an_error_in_a_later_round_is_the_error_of_the_call(method, form):
    with stage({method: rounds(required({"q": FORM}), Failure(-32602, "bad state"))}) as scene:
        with pytest.raises(PeerError, match="bad state") as caught:
            run(scene, method, form)
        assert caught.value.request_id == sent(scene, method)[1]["id"]


# --- Time, and giving up ----------------------------------------------------------------------


class Clock:
    """A clock that stands still unless it is put forward."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(deadline, "clock", lambda: self.now)


@pytest.mark.spec("timeout.maximum")
@pytest.mark.parametrize("form", ["call", "future"])
def test_the_time_that_a_user_takes_is_nobodys_timeout(monkeypatch, form):
    clock = Clock(monkeypatch)

    def think(params, context):
        clock.now += 100_000.0
        return {"name": "Ada"}

    answer = rounds(required({"a": FORM}), required({"b": FORM}), {"content": []})
    with stage({"tools/call": answer}, elicitation=think) as scene:
        run(scene, "tools/call", form, timeout=5.0)
        assert len(scene.requests) == 3


@pytest.mark.spec("timeout.maximum")
@pytest.mark.parametrize("form", ["call", "future"])
def test_all_rounds_together_have_a_ceiling(monkeypatch, form):
    """[2026-07-28 basic/patterns/cancellation §Timeouts] SHOULD"""
    clock = Clock(monkeypatch)

    def slow(params):
        clock.now += 400.0
        return required({"a": FORM})

    with stage({"tools/call": slow}, limits=Limits(request_ceiling=1000.0, request_timeout=900.0)) as scene:
        with pytest.raises(RequestTimeout, match=r"request_ceiling \(1000 s\)"):
            run(scene, "tools/call", form)
        assert 3 <= len(scene.requests) <= 4


@pytest.mark.spec("timeout.cancel")
def test_each_round_has_its_own_timeout():
    """[2026-07-28 basic/patterns/cancellation §Timeouts] SHOULD"""
    answer = rounds(required({"a": FORM}), SILENT)
    with stage({"tools/call": answer}) as scene:
        with pytest.raises(RequestTimeout):
            scene.client.call_tool("t", timeout=0.05)
        eventually(lambda: scene.notifications)
        first, second = scene.requests
        assert [note["params"]["requestId"] for note in scene.notifications] == [second["id"]] != [first["id"]]


def test_a_future_is_cancelled_on_the_wire_in_any_round():
    answer = rounds(required({"a": FORM}), SILENT)
    with stage({"tools/call": answer}) as scene:
        future = scene.client.submit_tool("t")
        eventually(lambda: len(scene.requests) == 2)
        assert future.cancel() and future.cancelled()
        eventually(lambda: scene.notifications)
        assert scene.notifications[0]["params"]["requestId"] == scene.requests[1]["id"]


@pytest.mark.race
def test_a_future_that_is_cancelled_while_the_user_is_asked_asks_no_more():
    noticed = threading.Event()
    with Gate() as gate:
        def ask(params, context):
            gate.hold()
            assert context.cancelled.wait(PATIENCE)
            noticed.set()
            context.check()

        asked = {"a": FORM, "b": FORM}
        with stage({"tools/call": required(asked, "s")}, elicitation=ask) as scene:
            future = scene.client.submit_tool("t")
            gate.entered()
            assert future.cancel() and future.cancelled()
            gate.open()
            assert noticed.wait(PATIENCE)
            scene.client.ping()
            assert len(sent(scene, "tools/call")) == 1 and scene.notifications == [], "nothing was on its way"
            assert not gate.passed(), "and the other question was not put"


@pytest.mark.race
@pytest.mark.parametrize("form", ["call", "future"])
def test_closing_the_client_ends_the_asking(form):
    with Gate() as gate:
        def ask(params, context):
            gate.hold()
            assert context.cancelled.wait(PATIENCE)
            context.check()

        with stage({"tools/call": required({"a": FORM}, "s")}, elicitation=ask) as scene:
            outcome = in_thread(run, scene, "tools/call", form)
            gate.entered()
            gate.open()
            scene.client.close()
            with pytest.raises((RequestCancelled, CancelledError)):
                outcome.get()
            assert len(scene.requests) == 1


# --- By hand ----------------------------------------------------------------------------------


@each_call
def test_by_hand_the_caller_gets_what_is_asked_and_may_go_on_elsewhere(method, form):
    """The state is all that connects the rounds, so another client may send the next."""
    complete = CALLS[method][0]
    with stage({method: required({"who": FORM}, "s1")}, elicitation=explode, roots=None, sampling=None) as scene:
        found = run(scene, method, form, rounds="manual")
        assert isinstance(found, InputRequiredResult) and found.request_state == "s1"
        assert list(found.input_requests) == ["who"]
        assert found.input_requests["who"].params.message == "Who?"
        assert len(scene.requests) == 1
    for given in (ADA, ElicitResult("accept", {"name": "Ada"})):
        with stage({method: complete}) as scene:
            answered = run(scene, method, form, rounds="manual", input_responses={"who": given}, request_state="s1")
            assert not isinstance(answered, InputRequiredResult)
            params = bare(scene.requests[0]["params"])
            assert params["inputResponses"] == {"who": ADA} and params["requestState"] == "s1"


@pytest.mark.spec("mrtr.no-state-if-absent")
@pytest.mark.parametrize("form", ["call", "future"])
def test_what_a_caller_gives_at_once_does_not_stay_for_later_rounds(form):
    """[2026-07-28 basic/patterns/mrtr §InputResponses]: the keys are those of the questions before; so is the state."""
    answer = rounds(required({"b": FORM}), required(state="s1"), {"content": []})
    with stage({"tools/call": answer}) as scene:
        run(scene, "tools/call", form, input_responses={"a": ADA}, request_state="s0")
        params = [message["params"] for message in scene.requests]
    assert [list(p.get("inputResponses", ())) for p in params] == [["a"], ["b"], []]
    assert [p.get("requestState", "none") for p in params] == ["s0", "none", "s1"]


def test_only_requests_that_may_be_answered_by_questions_take_answers():
    with stage({}) as scene:
        for call in (lambda c: c.list_tools(input_responses={}), lambda c: c.discover(request_state="s")):
            with pytest.raises(TypeError, match="has no option '(input_responses|request_state)'"):
                call(scene.client)
        with pytest.raises(LocalProtocolError, match="rounds is"):
            scene.client.call_tool("t", rounds="twice")
        assert scene.requests == []


def test_sessions_with_a_handshake_know_no_answers():
    with Scene("2025-11-25", {"tools/call": {"content": [], "resultType": "partial"}}) as scene:
        with pytest.raises(LocalProtocolError, match="takes no input_responses"):
            scene.client.call_tool("t", input_responses={"a": ADA})
        assert scene.client.call_tool("t", rounds="manual").result_type == "partial", "and no kinds of results"


def test_a_raw_request_gives_what_came():
    with stage({"tools/call": required({"a": FORM}, "s")}) as scene:
        assert scene.client.request("tools/call", {"name": "t"}) == required({"a": FORM}, "s")


# --- Hostile ----------------------------------------------------------------------------------


def test_a_thousand_questions_of_a_round_are_answered_or_stopped_by_the_rate():
    asked = {"q%d" % number: ROOTS for number in range(1000)}
    with stage({"tools/call": rounds(required(asked), {"content": []})}) as scene:
        scene.client.call_tool("t")
        assert len(scene.requests[1]["params"]["inputResponses"]) == 1000
    asked = {"q%d" % number: FORM for number in range(1000)}
    with stage({"tools/call": rounds(required(asked), {"content": []})}) as scene:
        with pytest.raises(InputUnavailable, match="max_elicitations_per_second"):
            scene.client.call_tool("t")


def test_keys_may_be_any_text():
    keys = ["", "__proto__", "a" * 10_000, "\u202e", "0", "-", "a.b/c"]
    with stage({"tools/call": rounds(required({key: ROOTS for key in keys}), {"content": []})}) as scene:
        scene.client.call_tool("t")
        assert list(scene.requests[1]["params"]["inputResponses"]) == keys


def test_a_request_of_the_server_itself_is_left_unanswered():
    """[2026-07-28 basic/transports/stdio §Sending Messages] MUST NOT: a client writes no responses."""
    with stage({"tools/call": {"content": []}}) as scene:
        scene.peer.request(7, "elicitation/create", FORM["params"])
        scene.peer.request("x", "ping")
        scene.peer.send(b"{broken", b'{"jsonrpc":"2.0","id":5,"method":7}', b"[]")
        scene.client.call_tool("t")
        scene.client.call_tool("t")
        assert all("method" in message for message in scene.peer.wire), scene.peer.wire
        assert scene.client.connection.counters["refused request"] == 2
        assert scene.client.connection.counters["malformed message"] == 3


def test_clients_declare_what_they_answer():
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        opening = in_thread(Client(era="modern", sampling=model, roots=[], elicitation=explode, tasks=False).open, ours)
        declared = peer.accept_handshake(STATELESS)["capabilities"]
        client = opening.get()
        client.close()
    assert json.loads(json.dumps(declared)) == {"roots": {}, "sampling": {}, "elicitation": {"form": {}}}
