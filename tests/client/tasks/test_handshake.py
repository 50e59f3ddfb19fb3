"""Tasks of 2025-11-25 at a client that has asked for them."""
import threading
from dataclasses import replace

import pytest

from mcp_ref.client import Sampling
from mcp_ref.errors import CapabilityMissing, LocalProtocolError, PeerError, RequestCancelled, RequestTimeout
from mcp_ref.ext.tasks.client import task as task_module
from tests.support.patience import WAIT
from tests.support.scene import SILENT, Failure, Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually, in_thread
from tests.support.tasks import AT_ONCE, CALLS, FORM, ID, HandshakeTasks, kept, payload, tool

RELATED = {"io.modelcontextprotocol/related-task": {"taskId": ID}}
HOUR = 3600000


# -- Which calls are tasks ---------------------------------------------------------------------


@pytest.mark.spec("tasks.tool-optional", "tasks.ttl-request", "tasks.only-if-declared")
def test_a_tool_is_started_as_a_task():
    with HandshakeTasks([kept()], payload("yes")) as scene:
        task = scene.client.start_tool("t", {"a": 1}, ttl=90)
        assert scene.params("tools/call") == [{"name": "t", "arguments": {"a": 1}, "task": {"ttl": 90000}}]
        assert (task.id, task.tool, task.status, task.ttl, task.poll_interval) == (ID, "t", "working", 60.0, 0.0)
        assert task.result(PATIENCE).text == "yes" and task.status == "completed"


@pytest.mark.spec("tasks.tools-call-capability", "tasks.only-if-declared", "tasks.none-without-capability",
                  "tasks.tool-forbidden")
@pytest.mark.parametrize("name, capabilities", [
    ("t", {"tools": {}}), ("must", {"tools": {}}), ("t", {"tools": {}, "tasks": {"list": {}, "cancel": {}}}),
    ("plain", CALLS), ("unlisted", CALLS),
])
def test_what_is_no_task_is_called_plainly_and_is_over(name, capabilities):
    with HandshakeTasks([], capabilities=capabilities) as scene:
        task = scene.client.start_tool(name)
        assert scene.params("tools/call") == [{"name": name}]
        assert task.id is None and task.done and task.result().text == "plain"


@pytest.mark.spec("tasks.tool-required", "tasks.tool-optional")
@pytest.mark.parametrize("form", ["call", "future"])
def test_a_tool_that_needs_a_task_gets_one_and_others_do_not(form):
    with HandshakeTasks([kept()], payload("yes")) as scene:
        def call(name):
            if form == "call":
                return scene.client.call_tool(name)
            return scene.client.submit_tool(name).result(PATIENCE)

        assert call("must").text == "yes" and call("t").text == "plain"
        assert scene.params("tools/call") == [{"name": "must", "task": {}}, {"name": "t"}]
        assert scene.asked.count("tools/list") == 1


def test_a_client_without_tasks_calls_every_tool_plainly():
    with HandshakeTasks([kept()], payload("yes"), tasks=False) as scene:
        for name in ("t", "must"):
            task = scene.client.start_tool(name)
            assert task.id is None and task.result(WAIT).text == scene.client.call_tool(name).text == "plain"
        assert all("task" not in params for params in scene.params("tools/call"))


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
def test_before_there_were_tasks_a_call_is_a_call(revision):
    with Scene(revision, {"tools/call": {"content": []}}) as scene:
        assert scene.client.start_tool("t").done and scene.asked == ["tools/call"]
        with pytest.raises(LocalProtocolError):
            scene.client.list_tasks()
        with pytest.raises(LocalProtocolError):
            scene.client.task(ID)


# -- Waiting -----------------------------------------------------------------------------------


@pytest.mark.spec("tasks.input-required-result-call", "tasks.poll-while-result-pending", "tasks.poll-until-terminal",
                  "tasks.keep-polling", "tasks.related-metadata-omitted", "tasks.respect-poll-interval")
def test_the_result_is_asked_for_early_and_the_status_beside_it():
    with HandshakeTasks([kept(), kept("input_required"), kept("working", "writing")]) as scene:
        task = scene.client.start_tool("t")
        waiter = in_thread(task.result, PATIENCE)
        eventually(lambda: task.message == "writing")
        assert scene.asked[2:4] == ["tasks/result", "tasks/get"] and scene.asked.count("tasks/result") == 1
        asked = scene.params("tasks/result") + scene.params("tasks/get")[:3]
        assert asked == 4 * [{"taskId": ID}]
        scene.end("yes")
        assert waiter.get().text == "yes"


def test_nothing_is_waited_for_once_the_result_is_here(monkeypatch):
    monkeypatch.setattr(task_module, "_SLICE", 3600.0)
    with HandshakeTasks([kept(pollInterval=HOUR)], payload("yes")) as scene:
        scene.client.start_tool("t")
        task = scene.client.task(ID)
        assert in_thread(task.result).get().text == "yes"


@pytest.mark.spec("tasks.respect-poll-interval")
def test_the_status_is_asked_for_no_more_often_than_the_server_wishes():
    calls = {"tools/call": {"task": kept(pollInterval=HOUR)}}
    with HandshakeTasks([kept()], payload("yes"), calls) as scene:
        assert scene.client.start_tool("t").result(PATIENCE).text == "yes"
        assert "tasks/get" not in scene.asked


def test_a_tool_that_failed_has_a_result():
    with HandshakeTasks([kept()], payload("no", isError=True)) as scene:
        task = scene.client.start_tool("t")
        assert task.result(PATIENCE).is_error and task.status == "failed"


@pytest.mark.parametrize("status", ["failed", "working"])
def test_an_error_of_the_call_is_raised(status):
    with HandshakeTasks([kept(status, "limit")], Failure(-32050, "quota")) as scene:
        task = scene.client.start_tool("t")
        with pytest.raises(PeerError, match="quota"):
            task.result(PATIENCE)


def test_a_task_that_was_cancelled_has_no_result():
    with HandshakeTasks([kept("cancelled", "no time")], Failure(-32603, "cancelled")) as scene:
        task = scene.client.start_tool("t")
        with pytest.raises(RequestCancelled, match="no time"):
            task.result(PATIENCE)
        assert task.status == "cancelled"


def test_a_result_that_is_lost_is_asked_for_again_when_the_task_is_over():
    with HandshakeTasks([kept()]) as scene:
        task = scene.client.start_tool("t")
        waiter = in_thread(task.result, PATIENCE)
        eventually(lambda: task._asked is not None)
        scene.client.connection.table.fail(task._asked.id, RequestTimeout("lost"))
        eventually(lambda: task._asked is None)
        assert scene.asked.count("tasks/result") == 1
        scene.states = [kept("completed")]
        eventually(lambda: scene.asked.count("tasks/result") == 2)
        scene.end("yes")
        assert waiter.get().text == "yes"


@pytest.mark.spec("tasks.no-reliance-on-notification")
def test_an_announcement_is_taken_where_it_comes():
    calls = {"tools/call": {"task": kept(pollInterval=HOUR)}}
    with HandshakeTasks([kept()], None, calls) as scene:
        task = scene.client.start_tool("t")
        scene.tell("notifications/tasks/status", kept("working", "half"))
        eventually(lambda: task.message == "half")
        scene.tell("notifications/tasks/status", dict(kept(), taskId="other"))
        eventually(lambda: scene.count("state of no task") == 1)
        scene.tell("notifications/tasks/status", kept("completed"))
        eventually(lambda: task.done)
        scene.tell("notifications/tasks/status", kept("working", "late"))
        assert task.status == "completed"


def test_a_task_is_taken_up_again_by_another_client():
    with HandshakeTasks([kept("completed", "ready")], payload("yes")) as scene:
        task = scene.client.task(ID, "t")
        assert task.done and task.message == "ready" and task.result(PATIENCE).text == "yes"


def test_a_text_for_the_model_until_then():
    key = "io.modelcontextprotocol/model-immediate-response"
    calls = {"tools/call": {"task": kept(), "_meta": {key: "It renders."}}}
    with HandshakeTasks([kept()], payload("yes"), calls) as scene:
        assert scene.client.start_tool("t").immediate_response == "It renders."


def test_an_answer_without_a_task_to_a_call_with_one_is_wrong():
    with HandshakeTasks([kept()], None, {"tools/call": {"content": []}}) as scene:
        with pytest.raises(Exception, match="the answer to tools/call with a task: result.task"):
            scene.client.start_tool("t")


# -- Questions ---------------------------------------------------------------------------------


@pytest.mark.spec("tasks.related-metadata", "tasks.related-metadata-elicitation", "tasks.messages-any-stream")
def test_the_answer_to_a_question_of_a_task_names_the_task():
    with HandshakeTasks([kept()], elicitation=lambda params, context: {"name": "Ada"}) as scene:
        task = scene.client.start_tool("t")
        waiter = in_thread(task.result, PATIENCE)
        eventually(lambda: "tasks/result" in scene.asked)
        for meta in (RELATED, {}):
            scene.peer.send({"jsonrpc": "2.0", "id": "q%d" % len(meta), "method": "elicitation/create",
                             "params": {"message": "Who?", "requestedSchema": FORM, "_meta": meta}})
        eventually(lambda: len([seen for seen in scene.peer.seen if "result" in seen and "method" not in seen]) == 2)
        answers = {seen["id"]: seen["result"] for seen in scene.peer.seen if "result" in seen}
        assert answers["q1"] == {"action": "accept", "content": {"name": "Ada"}, "_meta": RELATED}
        assert "_meta" not in answers["q0"]
        scene.end("yes")
        assert waiter.get().text == "yes"


# -- Progress ----------------------------------------------------------------------------------


@pytest.mark.spec("tasks.progress-token-lifetime", "tasks.progress-same-token")
def test_progress_comes_by_the_token_of_the_call_as_long_as_the_task_lasts():
    steps = []
    with HandshakeTasks([kept()]) as scene:
        task = scene.client.start_tool("t", progress=lambda *step: steps.append(step))
        token = scene.requests[-1]["params"]["_meta"]["progressToken"]
        waiter = in_thread(task.result, PATIENCE)
        for value in (1, 2):
            scene.tell("notifications/progress", {"progressToken": token, "progress": value, "total": 2})
        eventually(lambda: steps == [(1, 2, None), (2, 2, None)])
        scene.states = [kept("working", "half")]  # says the same once more
        eventually(lambda: task.message == "half")
        scene.end("yes")
        assert waiter.get().text == "yes"
        scene.tell("notifications/progress", {"progressToken": token, "progress": 3})
        assert scene.count("progress for no request") == 1 and len(steps) == 2


def test_progress_of_a_future_comes_too():
    steps, two = [], threading.Event()

    def step(value, total, message):
        steps.append(value)
        if value == 2:
            two.set()

    with HandshakeTasks([kept()]) as scene:
        future = scene.client.submit_tool("must", progress=step)
        eventually(lambda: "tasks/result" in scene.asked)
        token = next(each for each in scene.requests if each["method"] == "tools/call")["params"]["_meta"][
            "progressToken"]
        for value in (1, 2):
            scene.tell("notifications/progress", {"progressToken": token, "progress": value})
        assert two.wait(PATIENCE) and steps == [1, 2]
        scene.end("yes")
        assert future.result(PATIENCE).text == "yes"
        assert not scene.client.connection.table._tasks


# -- The end -----------------------------------------------------------------------------------


@pytest.mark.spec("tasks.cancel-not-notification")
def test_a_task_is_cancelled_by_a_request():
    with HandshakeTasks([kept()]) as scene:
        task = scene.client.start_tool("t")
        task.cancel()
        assert scene.params("tasks/cancel") == [{"taskId": ID}]
        assert (task.status, task.message) == ("cancelled", "by request") and task.wait(PATIENCE)
        task.cancel()
        assert scene.asked.count("tasks/cancel") == 1


@pytest.mark.spec("tasks.cancel-not-notification")
@pytest.mark.parametrize("form", ["call", "future"])
def test_a_call_that_is_given_up_cancels_its_task(form):
    with HandshakeTasks([kept()]) as scene:
        if form == "call":
            with pytest.raises(RequestTimeout):
                scene.client.call_tool("must", timeout=0.1)
        else:
            future = scene.client.submit_tool("must")
            eventually(lambda: "tasks/result" in scene.asked)
            assert future.cancel()
        eventually(lambda: "tasks/cancel" in scene.asked)
        begun = [message["id"] for message in scene.requests if message["method"] == "tools/call"]
        assert not [each for each in scene.notifications if each["params"].get("requestId") in begun]


@pytest.mark.spec("tasks.cancel-not-notification")
def test_a_call_with_a_task_that_has_no_answer_is_not_cancelled_by_a_notification():
    with HandshakeTasks([kept()], None, {"tools/call": SILENT}, limits=replace(AT_ONCE, request_timeout=0.05)) as scene:
        with pytest.raises(RequestTimeout):
            scene.client.start_tool("t")
        scene.client.ping(timeout=PATIENCE)
        assert scene.notifications == []


def test_a_server_that_cancels_none_is_not_asked_to():
    capabilities = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
    with HandshakeTasks([kept()], capabilities=capabilities) as scene:
        with pytest.raises(CapabilityMissing):
            scene.client.start_tool("t").cancel()
        with pytest.raises(RequestTimeout):
            scene.client.call_tool("must", timeout=0.05)
        assert "tasks/cancel" not in scene.asked


def test_the_caller_cannot_answer_by_himself():
    with HandshakeTasks([kept()]) as scene:
        with pytest.raises(LocalProtocolError, match="in revision 2025-11-25 the callbacks of the client answer"):
            scene.client.start_tool("t").answer({"a": {}})


@pytest.mark.spec("tasks.list-cursor-opaque")
def test_tasks_are_listed_page_by_page():
    pages = {None: {"tasks": [kept()], "nextCursor": " c:1 "}, " c:1 ": {"tasks": [kept("failed", "no")]}}
    with HandshakeTasks([], None, {"tasks/list": lambda params: pages[params.get("cursor")]}) as scene:
        first = scene.client.list_tasks()
        second = scene.client.list_tasks(first.next_cursor)
        assert [task.status for task in first.tasks + second.tasks] == ["working", "failed"]
        assert second.next_cursor is None and scene.params("tasks/list") == [{}, {"cursor": " c:1 "}]


def test_tools_are_listed_once_to_know_what_they_say_of_tasks():
    with HandshakeTasks([kept()], payload("yes"), {"tools/list": {"tools": [tool("t", "optional")]}}) as scene:
        scene.client.tools()
        scene.client.start_tool("t").result(PATIENCE)
        scene.client.call_tool("t")
        assert scene.asked.count("tools/list") == 1


@pytest.mark.spec("tasks.requestor-log", "tasks.requestor-track")
def test_what_becomes_of_a_task_is_logged(caplog):
    caplog.set_level("INFO", "mcp_ref")
    with HandshakeTasks([kept()]) as scene:
        scene.client.start_tool("t").cancel()
    lines = [record.getMessage() for record in caplog.records if ID in record.getMessage()]
    assert lines == ["task %s of tool t: %s" % (ID, what) for what in ("working", "cancelled by its caller",
                                                                       "cancelled")]


@pytest.mark.spec("tasks.ignored-when-undeclared", "tasks.declare-capability")
@pytest.mark.parametrize("method, params, answer", [
    ("elicitation/create", {"message": "Who?", "requestedSchema": FORM},
     {"action": "accept", "content": {"name": "A"}}),
    ("sampling/createMessage", {"messages": [], "maxTokens": 5},
     {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}),
])
def test_a_client_runs_no_request_as_a_task_and_says_so(method, params, answer):
    """It answers as if there were no ``task``, and knows no tasks of its own."""
    with HandshakeTasks([kept()], sampling=Sampling(lambda params, context: "yes", model="m"),
                        elicitation=lambda params, context: {"name": "A"}) as scene:
        assert "tasks" not in scene.opening["capabilities"]
        scene.peer.request("q", method, dict(params, task={"ttl": 1000}))
        scene.peer.request("g", "tasks/get", {"taskId": ID})
        eventually(lambda: len([seen for seen in scene.peer.seen if seen.get("id") in ("q", "g")]) == 2)
        found = {seen["id"]: seen for seen in scene.peer.seen if seen.get("id") in ("q", "g")}
        assert found["q"]["result"] == answer and found["g"]["error"]["code"] == -32601
