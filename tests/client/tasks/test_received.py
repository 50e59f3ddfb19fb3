"""Tasks that a server of 2025-11-25 has a client run, by raw messages."""
import contextlib
import itertools
import re
import threading
from dataclasses import replace

import pytest

from mcp_ref import connect
from mcp_ref.client import Client, ModelCard, Sampling
from mcp_ref.errors import RpcError
from mcp_ref.ext.tasks.client import receiver
from mcp_ref.host import Allow, Host, Policy
from mcp_ref.peer.executors import Inline
from mcp_ref.peer.main_thread import MainThreadQueue
from mcp_ref.server import Context, Server
from tests.support import sides
from tests.support.clocks import by_hand
from tests.support.conversation import BOUNDED
from tests.support.patience import WAIT
from tests.support.scene import Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import Gate, eventually, in_thread

RELATED = "io.modelcontextprotocol/related-task"
STATUS = "notifications/tasks/status"
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5}
ASK = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SAID = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}
"""What the client answers to SAMPLE."""
OFTEN = replace(BOUNDED, max_samplings_per_second=1e6, max_task_requests_per_second=1e6)


class Asking(Scene):
    """A server that asks; the client's model holds at ``gate`` while that is closed."""

    def __init__(self, model=None, ask=None, revision="2025-11-25", **options):
        self.gate, self.contexts = Gate(), []
        options.setdefault("sampling", Sampling(model or self._model, model="m"))
        options.setdefault("elicitation", ask or (lambda params, context: {"name": "Ada"}))
        options.setdefault("tasks", True)
        self._numbers = itertools.count(1)
        super().__init__(revision, {"ping": {}}, **options)

    def close(self):
        """End everything, and let nobody wait."""
        self.gate.open()
        super().close()

    def _model(self, params, context):
        self.contexts.append(context)
        self.gate.hold()
        return "yes"

    def send(self, method, params=None):
        """Send a request; return its id."""
        id = "r%d" % next(self._numbers)
        self.peer.request(id, method, params)
        return id

    def answer(self, id):
        """The answer to a request."""
        eventually(lambda: self.answered(id))
        return self.answered(id)[0]

    def answered(self, id):
        """The answers to a request that have come."""
        return [message for message in list(self.peer.seen) if message.get("id") == id and "method" not in message]

    def call(self, method, params=None):
        """Send a request; return its answer."""
        return self.answer(self.send(method, params))

    def begin(self, method="sampling/createMessage", params=None, **more):
        """Have a task made; return its id."""
        given = SAMPLE if method.startswith("sampling") else ASK
        return self.call(method, dict(given if params is None else params, task={}, **more))["result"]["task"]["taskId"]

    def get(self, id, method="tasks/get"):
        """Ask about a task."""
        return self.call(method, {"taskId": id})

    def until(self, id, status):
        """The task, once it has this status."""
        eventually(lambda: self.get(id)["result"]["status"] == status)
        return self.get(id)["result"]

    def told(self, method):
        """The params of the notifications of this kind that have come."""
        return [message["params"] for message in list(self.peer.seen) if message.get("method") == method]


@pytest.fixture
def clock(monkeypatch):
    """A clock by hand."""
    monkeypatch.setattr(receiver, "TICK", 0.005)
    return by_hand(monkeypatch)


# -- What is declared --------------------------------------------------------------------------


@pytest.mark.spec("tasks.declare-capability")
@pytest.mark.parametrize("offers, requests", [
    ({}, {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}),
    ({"elicitation": None}, {"sampling": {"createMessage": {}}}),
    ({"sampling": None}, {"elicitation": {"create": {}}}),
])
def test_what_there_are_callbacks_for_is_declared(offers, requests):
    options = dict({"sampling": lambda p, c: "x", "elicitation": lambda p, c: None}, **offers)
    with Scene("2025-11-25", {}, tasks=True, **options) as scene:
        assert scene.opening["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": requests}
        assert scene.client.capabilities["tasks"]["requests"] == requests


@pytest.mark.parametrize("options", [{"tasks": True}, {"sampling": lambda p, c: "x"}])
def test_without_callbacks_or_without_being_asked_nothing_is_declared(options):
    with Scene("2025-11-25", {}, roots=[], **options) as scene:
        assert "tasks" not in scene.opening["capabilities"]
        scene.peer.request("g", "tasks/list")
        eventually(lambda: [seen for seen in scene.peer.seen if seen.get("id") == "g"])
        assert [seen for seen in scene.peer.seen if seen.get("id") == "g"][0]["error"]["code"] == -32601


@pytest.mark.spec("tasks.ignored-when-undeclared")
def test_a_kind_of_request_that_was_not_declared_is_answered_at_once():
    with Asking(elicitation=None, ask=None, roots=[]) as scene:
        assert "elicitation" not in scene.opening["capabilities"]["tasks"]["requests"]
        assert scene.call("roots/list", {"task": {"ttl": "x"}})["result"] == {"roots": []}
        assert scene.call("elicitation/create", dict(ASK, task={}))["error"]["code"] == -32601


@pytest.mark.spec("tasks.ignored-when-undeclared")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26", "2024-11-05"])
def test_other_revisions_have_no_tasks(revision):
    with Asking(revision=revision) as scene:
        scene.gate.open()
        assert scene.call("sampling/createMessage", dict(SAMPLE, task={"ttl": "x"}))["result"] == SAID
        for method in ("tasks/get", "tasks/list"):
            assert scene.call(method, {"taskId": "x"})["error"]["code"] == -32601
        assert "tasks" not in scene.client.capabilities


def test_where_there_is_no_handshake_nothing_is_declared():
    declared = Client(tasks=True, sampling=lambda p, c: "x", era="modern").capabilities
    assert "tasks" not in declared and "sampling" in declared


# -- From creation to result -------------------------------------------------------------------


@pytest.mark.spec("tasks.create-result", "tasks.create-result-promptly", "tasks.id-string", "tasks.id-by-receiver",
                  "tasks.id-unique", "tasks.id-entropy", "tasks.starts-working", "tasks.created-at",
                  "tasks.last-updated-at", "tasks.ttl-reported", "tasks.result-terminal", "tasks.result-success",
                  "tasks.result-exact", "tasks.result-related-metadata", "tasks.related-metadata",
                  "tasks.related-metadata-omitted-results", "tasks.list-complete")
def test_a_sampling_from_its_creation_to_its_result():
    with Asking() as scene:
        made = scene.call("sampling/createMessage", dict(SAMPLE, task={"ttl": 60000, "taskId": "mine"}))["result"]
        task = made["task"]
        assert made == {"task": task, "_meta": {RELATED: {"taskId": task["taskId"]}}}
        assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 60000, 1000)
        assert isinstance(task["taskId"], str) and len(task["taskId"]) >= 22 and task["taskId"] != "mine"
        assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z$", task[name]) for name in ("createdAt", "lastUpdatedAt"))
        assert scene.get(task["taskId"])["result"] == task
        ids = {scene.begin() for _ in range(5)}
        assert len(ids) == 5 and task["taskId"] not in ids
        assert scene.call("sampling/createMessage", dict(SAMPLE, maxTokens="x"))["error"]["code"] == -32602
        scene.gate.open()
        assert scene.until(task["taskId"], "completed").keys() == task.keys()
        for _ in range(2):
            result = scene.get(task["taskId"], "tasks/result")["result"]
            assert result == dict(SAID, _meta={RELATED: {"taskId": task["taskId"]}})
        assert scene.call("sampling/createMessage", SAMPLE)["result"] == SAID
        listed = scene.call("tasks/list")["result"]
        assert {each["taskId"] for each in listed.pop("tasks")} == ids | {task["taskId"]} and not listed


@pytest.mark.spec("tasks.result-exact", "tasks.related-metadata")
def test_an_elicitation_of_a_task_of_the_server():
    """The answers name the new task, not the one that the request belongs to."""
    with Asking() as scene:
        meta = {RELATED: {"taskId": "of-the-server"}}
        id = scene.begin("elicitation/create", _meta=meta)
        result = scene.get(id, "tasks/result")["result"]
        assert result == {"action": "accept", "content": {"name": "Ada"}, "_meta": {RELATED: {"taskId": id}}}
        assert scene.call("elicitation/create", dict(ASK, _meta=meta))["result"]["_meta"] == meta


@pytest.mark.spec("tasks.result-blocks")
def test_a_result_waits_for_the_end():
    with Asking() as scene:
        id = scene.begin()
        waiting = [scene.send("tasks/result", {"taskId": id}) for _ in range(3)]
        assert scene.get(id)["result"]["status"] == "working"
        assert not any(scene.answered(each) for each in waiting)
        scene.gate.open()
        for each in waiting:
            assert scene.answer(each)["result"]["content"]["text"] == "yes"


def test_a_result_that_is_not_wanted_any_more_is_not_sent():
    with Asking() as scene:
        id = scene.begin()
        given_up, wanted = [scene.send("tasks/result", {"taskId": id}) for _ in range(2)]
        task = scene.client.connection.state["received tasks"]._tasks[id]
        eventually(lambda: len(task.waiting) == 2)
        scene.tell("notifications/cancelled", {"requestId": given_up})
        assert len(task.waiting) == 1
        scene.gate.open()
        assert "result" in scene.answer(wanted) and not scene.answered(given_up)
        eventually(lambda: scene.client.connection.inflight.wait_empty(0))


def test_a_request_that_is_cancelled_before_it_is_a_task_becomes_none(monkeypatch):
    gate, create = Gate(), receiver.ReceivedTasks.create

    def slow(self, *arguments):
        made = create(self, *arguments)
        gate.hold()
        return made

    monkeypatch.setattr(receiver.ReceivedTasks, "create", slow)
    with Asking() as scene:
        id = scene.send("sampling/createMessage", dict(SAMPLE, task={}))
        gate.entered()
        scene.tell("notifications/cancelled", {"requestId": id})
        gate.open()
        eventually(lambda: scene.call("tasks/list")["result"]["tasks"][0]["status"] == "cancelled")
        assert not scene.contexts and not scene.answered(id)


@pytest.mark.parametrize("given_up", [False, True])
def test_a_task_that_is_cancelled_before_it_was_announced_never_begins(monkeypatch, given_up):
    gate, create = Gate(), receiver.ReceivedTasks.create

    def slow(self, *arguments):
        made = create(self, *arguments)
        gate.hold()
        return made

    monkeypatch.setattr(receiver.ReceivedTasks, "create", slow)
    with Asking() as scene:
        request = scene.send("sampling/createMessage", dict(SAMPLE, task={}))
        gate.entered()
        id = scene.call("tasks/list")["result"]["tasks"][0]["taskId"]
        assert scene.get(id, "tasks/cancel")["result"]["status"] == "cancelled"
        if given_up:
            scene.tell("notifications/cancelled", {"requestId": request})
        gate.open()
        if not given_up:
            assert scene.answer(request)["result"]["task"]["status"] == "working"
        eventually(lambda: scene.client.connection.inflight.wait_empty(0))
        assert scene.get(id)["result"]["status"] == "cancelled" and not scene.contexts
        assert scene.count("handler errors") == 0


@pytest.mark.spec("tasks.status-notification-no-metadata", "tasks.terminal-final")
def test_the_end_is_announced():
    with Asking() as scene:
        scene.gate.open()
        id = scene.begin()
        eventually(lambda: scene.told(STATUS))
        assert scene.told(STATUS) == [scene.get(id)["result"]] and scene.told(STATUS)[0]["status"] == "completed"


@pytest.mark.spec("tasks.internal-error",
                  "tasks.result-error", "tasks.status-message-on-failure", "tasks.informative-errors")
@pytest.mark.parametrize("method, params, plain", [
    ("sampling/createMessage", SAMPLE, (-31050, "no more of it")),
    ("sampling/createMessage", dict(SAMPLE, maxTokens="x"), (-32602, "Invalid params: params.maxTokens")),
    ("elicitation/create", ASK, (-32603, "Internal error")),
])
def test_a_failure_is_that_of_a_plain_request(method, params, plain):
    def out(params, context):
        raise RpcError(-31050, "no more of it", {"left": 0})

    with Asking(out, lambda params, context: 1 / 0) as scene:
        id = scene.begin(method, params)
        end = scene.until(id, "failed")
        error = scene.get(id, "tasks/result")["error"]
        assert error["code"] == plain[0] and error["message"].startswith(plain[1])
        assert end["statusMessage"] == error["message"]
        assert scene.call(method, params)["error"] == error


def test_a_user_who_rejects_and_one_who_declines():
    sampling = Sampling(lambda params, context: "yes", model="m", approve_request=lambda params, context: False)
    with Asking(ask=lambda params, context: False, sampling=sampling) as scene:
        id = scene.begin()
        assert scene.get(id, "tasks/result")["error"] == {"code": -1, "message": "User rejected sampling request"}
        assert scene.get(id)["result"]["status"] == "failed"
        id = scene.begin("elicitation/create")
        assert scene.get(id, "tasks/result")["result"]["action"] == "decline"
        assert scene.get(id)["result"]["status"] == "completed"


@pytest.mark.spec("tasks.invalid-id", "tasks.id-param-authoritative", "tasks.related-metadata-ignored",
                  "tasks.informative-errors")
def test_the_parameter_names_the_task():
    with Asking() as scene:
        scene.gate.open()
        first, second = scene.begin(), scene.begin()
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            error = scene.get("nobody's", method)["error"]
            assert (error["code"], error["message"]) == (-32602, "Task not found")
            for params in ({}, {"taskId": 5}, {"taskId": None}, {"taskId": [first]}):
                assert scene.call(method, params)["error"]["code"] == -32602
        params = {"taskId": first, "_meta": {RELATED: {"taskId": second}}}
        assert scene.call("tasks/get", params)["result"]["taskId"] == first
        assert scene.call("tasks/result", params)["result"]["_meta"][RELATED] == {"taskId": first}
        assert scene.count("unknown task") == 3


@pytest.mark.spec("tasks.bind-context", "tasks.context-rejected", "tasks.context-list",
                  "tasks.no-list-without-identity")
def test_the_tasks_of_one_server_are_unknown_to_another():
    with Asking() as scene, Asking(sampling=Sampling(lambda params, context: "x", model="m")) as another:
        id, own = scene.begin(), another.begin()
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert another.get(id, method)["error"] == {"code": -32602, "message": "Task not found"}
        assert [each["taskId"] for each in another.call("tasks/list")["result"]["tasks"]] == [own]
        assert scene.get(id)["result"]["status"] == "working"


@pytest.mark.parametrize("task, said", [
    (5, "params.task: expected object, got integer"), ("x", "params.task: expected object, got string"),
    ({"ttl": "soon"}, "params.task.ttl: expected integer, got string"),
])
def test_a_task_that_is_none_is_refused_by_its_name(task, said):
    with Asking() as scene:
        for method, params in (("sampling/createMessage", SAMPLE), ("elicitation/create", ASK)):
            error = scene.call(method, dict(params, task=task))["error"]
            assert error["code"] == -32602 and said in error["message"]
        assert scene.call("tasks/list")["result"] == {"tasks": []} and not scene.contexts


# -- Cancellation ------------------------------------------------------------------------------


@pytest.mark.spec("tasks.cancel-terminal-error", "tasks.cancel-stop", "tasks.cancel-transition", "tasks.cancel-final",
                  "tasks.result-terminal")
def test_a_task_is_cancelled():
    seen, gate = [], Gate()

    def model(params, context):
        seen.append(context.cancelled.wait(PATIENCE))
        gate.hold()
        return "late"

    with Asking(model) as scene:
        id = scene.begin()
        waiting = scene.send("tasks/result", {"taskId": id})
        eventually(lambda: scene.client.connection.state["received tasks"]._tasks[id].waiting)
        answer = scene.get(id, "tasks/cancel")["result"]
        assert (answer["taskId"], answer["status"]) == (id, "cancelled") and "_meta" not in answer
        error = {"code": -32603, "message": "The task was cancelled"}
        assert scene.answer(waiting)["error"] == error
        gate.open()
        eventually(lambda: scene.count("late task results") == 1)
        assert seen == [True] and scene.get(id)["result"] == answer
        assert scene.get(id, "tasks/result")["error"] == error
        again = scene.get(id, "tasks/cancel")["error"]
        assert again == {"code": -32602, "message": "Cannot cancel task: it is cancelled already"}
        assert scene.told(STATUS) == []
        done = scene.begin("elicitation/create")
        scene.until(done, "completed")
        assert "completed" in scene.get(done, "tasks/cancel")["error"]["message"]


@pytest.mark.spec("tasks.cancel-not-notification")
def test_a_task_is_not_cancelled_by_a_notification():
    with Asking() as scene:
        request = scene.send("sampling/createMessage", dict(SAMPLE, task={}))
        id = scene.answer(request)["result"]["task"]["taskId"]
        eventually(lambda: scene.contexts)
        scene.tell("notifications/cancelled", {"requestId": request})
        assert scene.get(id)["result"]["status"] == "working" and not scene.contexts[0].cancelled.is_set()


def test_a_queued_task_that_is_cancelled_never_begins():
    with Asking(limits=replace(BOUNDED, max_running_tasks=2)) as scene:
        ids = [scene.begin() for _ in range(5)]
        eventually(lambda: len(scene.contexts) == 2)
        tasks = scene.client.connection.state["received tasks"]
        eventually(lambda: len(tasks._queue) == 3)
        assert scene.get(ids[3], "tasks/cancel")["result"]["status"] == "cancelled" and len(tasks._queue) == 2
        assert {scene.get(id)["result"]["status"] for id in ids} == {"working", "cancelled"}
        scene.gate.open()
        for id in ids[:3] + ids[4:]:
            scene.until(id, "completed")
        assert len(scene.contexts) == 4
        eventually(lambda: not tasks._running)


def test_a_cancellation_and_the_end_of_the_callback_at_once():
    """Whichever is first, what is told before and after is the same."""
    with Asking(limits=OFTEN) as scene:
        for _ in range(20):
            scene.gate = Gate()
            id = scene.begin()
            scene.gate.entered()
            opening = in_thread(scene.gate.open)
            answer = scene.get(id, "tasks/cancel")
            opening.get()
            status = scene.get(id)["result"]["status"]
            end = scene.get(id, "tasks/result")
            assert (status == "cancelled") == ("result" in answer) == ("error" in end)


# -- While it runs -----------------------------------------------------------------------------


@pytest.mark.spec("tasks.progress-token-lifetime", "tasks.progress-same-token", "tasks.progress-stops",
                  "tasks.related-metadata")
def test_progress_goes_on_under_the_same_token():
    gate, contexts = Gate(), []

    def model(params, context):
        contexts.append(context)
        context.progress(1, 4)
        context.notify("acme/said", {"x": 1})
        gate.hold()
        context.progress(2, 4, "half")
        return "yes"

    with Asking(model) as scene:
        id = scene.begin(_meta={"progressToken": "p"})
        related = {RELATED: {"taskId": id}}
        eventually(lambda: scene.told("acme/said"))
        assert scene.told("acme/said") == [{"x": 1, "_meta": related}]
        assert scene.get(id)["result"]["statusMessage"] == "1 of 4"
        gate.open()
        assert scene.until(id, "completed")["statusMessage"] == "half"
        contexts[0].progress(3, 4)
        scene.client.ping()
        assert scene.told("notifications/progress") == [
            {"progressToken": "p", "progress": 1, "total": 4, "_meta": related},
            {"progressToken": "p", "progress": 2, "total": 4, "message": "half", "_meta": related}]
        scene.begin()
        eventually(lambda: len(contexts) == 2)
        scene.client.ping()
        assert len(scene.told("notifications/progress")) == 2  # nobody asked for more


@pytest.mark.spec("tasks.related-metadata",
                  "tasks.input-required", "tasks.input-required-metadata", "tasks.input-required-leave",
                  "tasks.from-working", "tasks.from-input-required")
def test_a_callback_that_needs_something_of_the_server():
    gate, served = Gate(), Gate()

    def model(params, context):
        context.call("acme/which", {"a": 1})
        gate.hold()
        return "yes"

    def which(params):
        served.hold()
        return {}

    with Asking(model) as scene:
        scene.answers["acme/which"] = which
        id = scene.begin()
        served.entered()
        held = scene.send("tasks/get", {"taskId": id})  # the server's thread is in `which`
        related = {RELATED: {"taskId": id}}
        assert scene.params("acme/which") == [{"a": 1, "_meta": related}]
        served.open()
        assert scene.answer(held)["result"]["status"] == "input_required"
        gate.entered()
        assert scene.get(id)["result"]["status"] == "working"
        gate.open()
        scene.until(id, "completed")


# -- The list ----------------------------------------------------------------------------------


@pytest.mark.spec("tasks.list-pagination", "tasks.list-next-cursor", "tasks.list-complete", "tasks.list-invalid-cursor")
def test_the_list_has_pages():
    with Asking(limits=OFTEN) as scene:
        scene.gate.open()
        ids = [scene.begin() for _ in range(205)]
        found, params, pages = [], {}, 0
        while pages < 9:
            page = scene.call("tasks/list", params)["result"]
            found += [task["taskId"] for task in page["tasks"]]
            pages += 1
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert found == ids and pages == 3
        for wrong in ("", "x", "0", "-1", "01", "206", "\u00b2", "\u0661", "9" * 500):
            error = scene.call("tasks/list", {"cursor": wrong})["error"]
            assert error["code"] == -32602 and "cursor" in error["message"]


# -- Limits and expiry -------------------------------------------------------------------------


@pytest.mark.spec("tasks.limit-ttl", "tasks.ttl-reported")
@pytest.mark.parametrize("asked, kept", [
    ({}, 100_000), ({"ttl": 10 ** 9}, 100_000), ({"ttl": 10 ** 400}, 100_000), ({"ttl": 50_000}, 50_000),
    ({"ttl": 0}, 1000), ({"ttl": -5}, 1000),
])
def test_a_task_is_kept_for_as_long_as_is_asked_up_to_a_limit(asked, kept):
    with Asking(limits=replace(BOUNDED, max_task_ttl=100)) as scene:
        made = scene.call("sampling/createMessage", dict(SAMPLE, task=asked))["result"]["task"]
        assert made["ttl"] == kept == scene.get(made["taskId"])["result"]["ttl"]


@pytest.mark.spec("tasks.limit-concurrent", "tasks.rate-limit", "tasks.informative-errors")
@pytest.mark.parametrize("limit, value", [("max_tasks_per_principal", 3), ("max_tasks_bytes", 200)])
def test_a_server_that_wants_too_many(limit, value):
    with Asking(limits=replace(BOUNDED, **{limit: value})) as scene:
        for _ in range(3):
            scene.begin()
        error = scene.call("sampling/createMessage", dict(SAMPLE, task={}))["error"]
        assert error["code"] == -32603 and "%s (%d)" % (limit, value) in error["message"]
        scene.gate.open()
        assert scene.call("sampling/createMessage", SAMPLE)["result"] == SAID


@pytest.mark.spec("tasks.rate-limit")
def test_a_server_that_guesses_ids(clock):
    with Asking(limits=replace(BOUNDED, max_task_requests_per_second=5)) as scene:
        found = [scene.get("x")["error"] for _ in range(20)]
        assert any("max_task_requests_per_second" in error["message"] for error in found)
        for method, params in (("tasks/list", None), ("sampling/createMessage", dict(SAMPLE, task={}))):
            assert any("max_task_requests_per_second" in scene.call(method, params)["error"]["message"]
                       for _ in range(3))


@pytest.mark.spec("tasks.internal-error")
def test_what_is_too_large():
    with Asking(lambda params, context: "x" * params.max_tokens,
                limits=replace(BOUNDED, max_task_bytes=1000)) as scene:
        error = scene.call("sampling/createMessage", dict(SAMPLE, systemPrompt="x" * 1000, task={}))["error"]
        assert error["code"] == -32602 and "max_task_bytes is 1000; send it without task" in error["message"]
        id = scene.begin(params=dict(SAMPLE, maxTokens=2000))
        assert "max_task_bytes is 1000" in scene.until(id, "failed")["statusMessage"]
        assert scene.get(id, "tasks/result")["error"]["code"] == -32603


def test_only_so_many_run_and_the_rest_waits_its_turn():
    with Asking(limits=replace(OFTEN, max_running_tasks=3)) as scene:
        ids = [scene.begin() for _ in range(50)]
        eventually(lambda: len(scene.contexts) == 3)
        waiting = [scene.send("tasks/result", {"taskId": id}) for id in ids]
        assert scene.get(ids[-1])["result"]["status"] == "working" and len(scene.contexts) == 3
        scene.gate.open()
        assert all(scene.answer(each)["result"]["content"]["text"] == "yes" for each in waiting)


def test_a_server_that_waits_for_too_much():
    with Asking(limits=replace(OFTEN, max_inflight=5)) as scene:
        id = scene.begin()
        scene.gate.entered()  # the run counts, too
        waiting = [scene.send("tasks/result", {"taskId": id}) for _ in range(20)]
        eventually(lambda: sum(len(scene.answered(each)) for each in waiting) == 16)
        refused = [scene.answered(each)[0]["error"] for each in waiting if scene.answered(each)]
        assert all("max_inflight (5)" in error["message"] for error in refused)
        assert scene.get(id)["result"]["status"] == "working"


def test_thousands_of_tasks(monkeypatch):
    monkeypatch.setattr(sides, "PATIENCE", WAIT)  # the gate is closed for as long as they take
    with Asking(limits=replace(OFTEN, max_running_tasks=4)) as scene:
        sent = []
        for _ in range(6):  # no more at once than may be in flight: max_inflight is another limit
            start = len(scene.peer.seen)
            sent += [scene.send("sampling/createMessage", dict(SAMPLE, task={})) for _ in range(500)]
            eventually(lambda: sum("method" not in each for each in scene.peer.seen[start:]) == 500)
        made = [scene.answered(id)[0] for id in sent[:10] + sent[-10:]]
        assert all("result" in each for each in made[:10])
        assert all("max_tasks_per_principal (2000)" in each["error"]["message"] for each in made[10:])
        scene.gate.entered(4)
        assert scene.client.ping(timeout=WAIT) is None and len(scene.contexts) == 4
        tasks, closing = scene.client.connection.state["received tasks"], in_thread(scene.client.close)
        eventually(lambda: all(context.cancelled.is_set() for context in scene.contexts))
        scene.gate.open()
        closing.get()
    eventually(lambda: not tasks._queue and not tasks._running)
    assert len(scene.contexts) == 4 and not len(scene.client.connection.inflight)


@pytest.mark.spec("tasks.clean-up")
def test_a_task_expires(clock):
    with Asking() as scene:
        short, long = [scene.call("sampling/createMessage", dict(SAMPLE, task={"ttl": ttl}))["result"]["task"]
                       for ttl in (10_000, 90_000)]
        eventually(lambda: len(scene.contexts) == 2)
        waiting = scene.send("tasks/result", {"taskId": short["taskId"]})
        tasks = scene.client.connection.state["received tasks"]
        eventually(lambda: tasks._tasks[short["taskId"]].waiting)
        clock.now += 20
        assert scene.answer(waiting)["error"] == {"code": -32602, "message": "Task has expired"}
        eventually(lambda: [context for context in scene.contexts if context.cancelled.is_set()])
        assert scene.get(short["taskId"])["error"]["message"] == "Task not found"
        assert [each["taskId"] for each in scene.call("tasks/list")["result"]["tasks"]] == [long["taskId"]]
        scene.gate.open()
        scene.until(long["taskId"], "completed")
        eventually(lambda: scene.count("late task results") == 1)
        clock.now += 90
        eventually(lambda: not tasks._tasks and not tasks._watching)
        assert tasks._bytes == 0
        id = scene.begin()  # and another thread looks
        clock.now += receiver.TTL + 1
        eventually(lambda: not tasks._tasks)
        assert scene.get(id)["error"]["code"] == -32602


@pytest.mark.spec("tasks.clean-up")
def test_an_expired_task_is_not_there_before_it_is_deleted(clock, monkeypatch):
    monkeypatch.setattr(receiver, "available", lambda: False)
    with Asking(limits=replace(BOUNDED, max_tasks_per_principal=1)) as scene:
        scene.gate.open()
        id = scene.begin()
        scene.until(id, "completed")
        clock.now += receiver.TTL + 1
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert scene.get(id, method)["error"] == {"code": -32602, "message": "Task has expired"}
        assert scene.call("tasks/list")["result"] == {"tasks": []}
        assert scene.begin() != id


# -- The end, logs, executors ------------------------------------------------------------------


def test_tasks_end_with_the_connection():
    with Asking() as scene:
        for _ in range(3):
            id = scene.begin()
        eventually(lambda: len(scene.contexts) == 3)
        scene.send("tasks/result", {"taskId": id})
        closing = in_thread(scene.client.close)
        assert all(context.cancelled.wait(PATIENCE) for context in scene.contexts)
        scene.gate.open()
        closing.get()
        assert not len(scene.client.connection.inflight)


@pytest.mark.spec("tasks.audit-log")
def test_the_life_of_a_task_is_logged(caplog):
    caplog.set_level("INFO", "mcp_ref.ext.tasks.client")
    with Asking() as scene:
        scene.gate.open()
        id = scene.begin()
        scene.get(id, "tasks/result")
        scene.get(id)
        lines = [record.getMessage() for record in caplog.records if id[:8] in record.getMessage()]
        assert [line.split()[-1] for line in lines][:2] == ["created", "completed"] and "retrieved" in lines[-1]
        assert id not in caplog.text, "the whole id is as good as a password"


@pytest.mark.spec("tasks.internal-error")
def test_a_failure_of_ours_is_an_internal_error(monkeypatch):
    def broken(*_):
        raise OSError("no")

    monkeypatch.setattr(receiver.ReceivedTasks, "find", broken)
    with Asking() as scene:
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            error = scene.get("x", method)["error"]
            assert error["code"] == -32603 and error["message"].startswith("Internal error")


def test_callbacks_run_where_the_executor_has_them_run():
    queue, threads = MainThreadQueue(), []

    def model(params, context):
        threads.append(threading.current_thread())
        return "yes"

    def use():
        with Asking(model, executor=queue) as scene:
            return scene.get(scene.begin(), "tasks/result")["result"]["content"]["text"]

    user = in_thread(use)
    while not user.over:
        queue.wait(0.01)
        queue.pump()
    queue.close()
    assert user.get() == "yes" and threads == [threading.current_thread()]


def test_a_callback_that_is_interrupted_on_the_main_thread():
    queue, errors = MainThreadQueue(), []

    def model(params, context):
        raise KeyboardInterrupt

    def use():
        with Asking(model, executor=queue) as scene:
            return scene.until(scene.begin(), "failed")["statusMessage"]

    user = in_thread(use)
    while not user.over:
        queue.wait(0.01)
        try:
            queue.pump()
        except KeyboardInterrupt as error:
            errors.append(error)
    queue.close()
    assert user.get() == "Internal error" and len(errors) == 1


def test_callbacks_that_run_on_the_reader():
    with Asking(executor=Inline()) as scene:
        id = scene.begin()  # the server is sent the task before the reader is busy
        scene.gate.open()
        assert scene.get(id, "tasks/result")["result"]["content"]["text"] == "yes"
        seen = [message for message in scene.peer.seen if message.get("method") == STATUS or "task" in
                message.get("result", {})]
        assert ["method" in message for message in seen] == [False, True]


# -- With our own server and host --------------------------------------------------------------


def requestor():
    """A server whose tool has the client's model write by a task, as `Context.call` lets it."""
    server = Server("asks")

    @server.tool
    def write(ctx: Context) -> str:
        made = ctx.call("sampling/createMessage", dict(SAMPLE, task={"ttl": 60000}))["task"]
        result = ctx.call("tasks/result", {"taskId": made["taskId"]})
        state = ctx.call("tasks/get", {"taskId": made["taskId"]})
        return "%s: %s" % (state["status"], result["content"]["text"])

    return server


@pytest.mark.parametrize("over_http", [False, True])
def test_our_server_asks_by_a_task(over_http):
    server = requestor()
    options = {"era": "legacy", "tasks": True, "sampling": Sampling(lambda params, context: "yes", model="m")}
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(server.listen("http://127.0.0.1:0")).address if over_http else server
        client = stack.enter_context(connect(target, **options))
        assert client.call_tool("write").text == "completed: yes"


def test_a_host_runs_tasks_for_its_servers():
    host = Host(tasks=True, era="legacy", sampling=lambda request: "yes", models=[ModelCard("m")],
                policy=Policy(sampling=lambda question: Allow(), tool_call=lambda question: Allow()))
    with host:
        host.connect("one", requestor())
        assert host.call_tool("one__write").text == "completed: yes"
