"""Tasks of 2026-07-28 at a client: a call waits through its task."""
import json
import threading
from dataclasses import replace

import pytest

from mcp_ref import deadline
from mcp_ref.client import Extension, MainThreadQueue, connect
from mcp_ref.errors import (
    AnswerLost, HttpStatus, InputUnavailable, LocalProtocolError, PeerError, PeerProtocolError, RequestCancelled,
    RequestTimeout,
)
from mcp_ref.ext.tasks.client.generations import HTTP_STREAMS
from mcp_ref.ext.tasks.client.task import ToolTask
from mcp_ref.methods import TASKS
from mcp_ref.server import Server, Tasks
from tests.server.tasks.tasked import served
from tests.support import clocks
from tests.support.scene import SILENT, Failure, Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually, in_thread
from tests.support.tasks import AT_ONCE, ID, Served, StatelessTasks, asking, completed, failed, working

NAMED = {"action": "accept", "content": {"name": "Ada"}}


def calling(form, client, name="t", **options):
    """The result of a call, made in this thread or as a future."""
    if form == "call":
        return client.call_tool(name, **options)
    return client.submit_tool(name, **options).result(PATIENCE)


def pausing(monkeypatch):
    """The pauses of tasks, which are none: a clock is moved instead."""
    clock, pauses = clocks.by_hand(monkeypatch), []

    def pause(task, seconds, until):
        pauses.append(round(seconds, 3))
        clock.now += seconds

    monkeypatch.setattr(ToolTask, "_pause", pause)
    return pauses


each_form = pytest.mark.parametrize("form", ["call", "future"])


# -- Waiting -----------------------------------------------------------------------------------


@each_form
@pytest.mark.spec("tasks-ext.client-handles-both-results", "tasks-ext.poll-until-terminal")
def test_a_call_waits_through_its_task(form):
    with StatelessTasks([working(), working(), completed("yes")]) as scene:
        assert calling(form, scene.client).text == "yes"
        assert scene.asked == ["tools/call"] + 3 * ["tasks/get"]
        assert scene.params("tasks/get")[0] == {"taskId": ID}


@each_form
@pytest.mark.spec("tasks-ext.client-handles-both-results")
def test_a_call_that_is_answered_at_once_is_no_task(form):
    with StatelessTasks([], answers={"tools/call": {"content": [{"type": "text", "text": "now"}]}}) as scene:
        assert calling(form, scene.client).text == "now"
        assert scene.asked == ["tools/call"]


def test_a_task_without_an_id_is_not_asked_for():
    """Such as that of a call that was answered at once."""
    with StatelessTasks([], answers={"tools/call": {"content": []}}) as scene:
        task = scene.client.start_tool("t")
        with pytest.raises(TypeError, match="answered at once has no task"):
            scene.client.task(task.id)
        assert task.result().content == [] and scene.asked == ["tools/call"]


def test_the_extension_is_declared_with_each_request_and_may_be_left_out():
    with StatelessTasks([completed()]) as scene:
        scene.client.call_tool("t")
        declared = [message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]
                    for message in scene.requests]
        assert declared == 2 * [{TASKS: {}}]
    with StatelessTasks([completed()], tasks=False) as scene:
        assert "extensions" not in scene.opening["capabilities"]
    with Scene("2025-11-25") as scene:
        assert "extensions" not in scene.opening["capabilities"] and "tasks" not in scene.opening["capabilities"]


def test_an_extension_of_the_same_name_takes_the_place_of_ours():
    class Own(Extension):
        identifier = TASKS
        result_types = ("task",)

        def finish(self, client, method, params, result, waiting):
            return {"content": [{"type": "text", "text": "own"}]}

    with StatelessTasks([completed()], extensions=[Own()]) as scene:
        assert scene.client.call_tool("t").text == "own"


def test_a_tool_that_failed_is_a_result_and_an_error_is_an_error():
    with StatelessTasks([completed("no", isError=True)]) as scene:
        assert scene.client.call_tool("t").is_error
        scene.states = [failed(-32050, "quota")]
        with pytest.raises(PeerError) as caught:
            scene.client.call_tool("t")
        assert (caught.value.code, caught.value.message, caught.value.method) == (-32050, "quota", "tools/call")


def test_a_task_that_the_server_cancels_ends_the_call():
    with StatelessTasks([dict(working("out of time"), status="cancelled")]) as scene:
        with pytest.raises(RequestCancelled, match="was cancelled: out of time"):
            scene.client.call_tool("t")
        assert "tasks/cancel" not in scene.asked


def test_a_task_that_is_over_when_it_is_announced_is_looked_at_at_once():
    with StatelessTasks([completed("yes")], dict(working(pollIntervalMs=3600000), status="completed")) as scene:
        assert scene.client.call_tool("t").text == "yes"


# -- What is no answer -------------------------------------------------------------------------


@each_form
@pytest.mark.spec("tasks-ext.client-rejects-task-for-unsupported-request")
def test_a_task_in_place_of_anything_but_a_call_is_no_answer(form):
    task = dict(working(), resultType="task")
    with StatelessTasks([completed()], answers={"prompts/get": task}, capabilities={
            "tools": {}, "prompts": {}, "extensions": {TASKS: {}}}) as scene:
        with pytest.raises(PeerProtocolError, match="the answer to prompts/get is a task, which only tools/call"):
            scene.client.get_prompt("p") if form == "call" else scene.client.submit_prompt("p").result(PATIENCE)
        assert "tasks/get" not in scene.asked


@each_form
@pytest.mark.parametrize("undeclared", ["client", "server"])
def test_a_task_that_a_side_has_not_declared_is_no_answer(form, undeclared):
    options = {"tasks": False} if undeclared == "client" else {"capabilities": {"tools": {}}}
    with StatelessTasks([completed()], **options) as scene:
        with pytest.raises(PeerProtocolError, match="resultType: 'task' is unknown"):
            calling(form, scene.client)


@pytest.mark.parametrize("state, words", [
    ({"taskId": ID, "status": "working"}, "createdAt"),
    (dict(completed(), taskId="another"), "asked for task %s, and got another" % ID),
    (dict(working(), status="paused"), "status"),
    (completed(resultType="input_required"), "is of type input_required"),
])
def test_a_state_of_another_form_ends_the_call(state, words):
    with StatelessTasks([state]) as scene:
        with pytest.raises(PeerProtocolError, match=words):
            scene.client.call_tool("t")


def test_an_announcement_of_another_form_ends_the_call():
    with StatelessTasks([completed()], {"taskId": 7}) as scene:
        with pytest.raises(PeerProtocolError, match="taskId: expected string"):
            scene.client.call_tool("t")


# -- The interval ------------------------------------------------------------------------------


@pytest.mark.spec("tasks-ext.respect-poll-interval")
def test_looks_are_as_far_apart_as_the_server_wished_last(monkeypatch):
    pauses = pausing(monkeypatch)
    states = [working(pollIntervalMs=7000), working(), working(pollIntervalMs=1), completed()]
    limits = replace(AT_ONCE, min_poll_interval=0.25, poll_interval=2.0, request_timeout=60.0)
    with StatelessTasks(states, working(pollIntervalMs=5000), limits=limits) as scene:
        scene.client.call_tool("t")
    assert pauses == [5.0, 7.0, 2.0, 0.25]


# -- Questions ---------------------------------------------------------------------------------


@each_form
@pytest.mark.spec("tasks-ext.client-answers-by-update", "tasks-ext.observe-after-update",
                  "tasks-ext.client-deduplicates-inputs", "tasks-ext.client-answers-once",
                  "tasks-ext.update-answers-outstanding-keys")
def test_questions_are_put_to_the_callback_once_each(form):
    """The server shows a question as long as it has not taken its answer in."""
    asked = []

    def ask(params, context):
        asked.append(params.message)
        return {"name": "Ada"}

    with StatelessTasks([asking("a"), asking("a"), asking("a", "b"), working(), completed("yes")],
                        elicitation=ask) as scene:
        assert calling(form, scene.client).text == "yes"
        assert scene.given == [{"a": NAMED}, {"b": NAMED}] and asked == ["Who?", "Who?"]
        assert scene.params("tasks/update")[0]["taskId"] == ID


@pytest.mark.spec("tasks-ext.input-like-standalone-request")
def test_a_question_has_the_rules_of_any_other():
    """What the callback returns is held against the form; a rate that is exceeded ends the call, and so the task."""
    with StatelessTasks([asking("a")], elicitation=lambda params, context: {"other": 1}) as scene:
        with pytest.raises(InputUnavailable):
            scene.client.call_tool("t")
        eventually(lambda: "tasks/cancel" in scene.asked)
        assert scene.given == []
    limits = replace(AT_ONCE, max_elicitations_per_second=0.0)
    with StatelessTasks([asking("a"), asking("b")], limits=limits,
                        elicitation=lambda params, context: "decline") as scene:
        with pytest.raises(InputUnavailable, match="max_elicitations_per_second"):
            scene.client.call_tool("t")
        assert scene.given == [{"a": {"action": "decline"}}]


@pytest.mark.spec("tasks-ext.input-like-standalone-request")
@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage"])
def test_a_question_that_was_not_declared_is_put_to_nobody_and_the_task_is_cancelled(method):
    with StatelessTasks([asking("a")]) as scene:
        with pytest.raises(PeerProtocolError, match="which this client did not declare"):
            scene.client.call_tool("t")
        eventually(lambda: "tasks/cancel" in scene.asked)


def test_a_server_that_asks_for_ever_is_left():
    numbers = iter(range(100))
    with StatelessTasks([None], answers={"tasks/get": lambda params: asking("q%d" % next(numbers))},
                        limits=replace(AT_ONCE, max_input_rounds=3), elicitation=lambda params, context: True) as scene:
        with pytest.raises(PeerProtocolError, match=r"max_input_rounds \(3\)"):
            scene.client.call_tool("t")
        assert len(scene.given) == 3


def test_a_thread_that_pumps_is_asked_while_it_waits():
    queue, threads = MainThreadQueue(), []

    def ask(params, context):
        threads.append(threading.current_thread())
        return {"name": "Ada"}

    with StatelessTasks([asking("a"), working(), completed("yes")], executor=queue, elicitation=ask) as scene:
        queue.pump(0)  # from now on this is the thread that pumps
        assert scene.client.call_tool("t").text == "yes"
    queue.close()
    assert threads == [threading.current_thread()]


# -- The end of a call -------------------------------------------------------------------------


@pytest.mark.spec("tasks-ext.no-cancelled-notification-for-task")
def test_a_call_whose_time_is_over_cancels_its_task():
    with StatelessTasks([working()]) as scene:
        with pytest.raises(RequestTimeout, match="task %s of tools/call is working still" % ID):
            scene.client.call_tool("t", timeout=0.05)
        eventually(lambda: "tasks/cancel" in scene.asked)
        assert scene.params("tasks/cancel") == [{"taskId": ID}]
        calls = [message["id"] for message in scene.requests if message["method"] == "tools/call"]
        assert not [each for each in scene.notifications if each["params"]["requestId"] in calls]


@pytest.mark.spec("tasks-ext.no-cancelled-notification-for-task")
def test_a_future_that_is_cancelled_cancels_its_task():
    with StatelessTasks([working(pollIntervalMs=3600000)], working(pollIntervalMs=3600000)) as scene:
        future = scene.client.submit_tool("t")
        eventually(lambda: future._flow._waiting is not None and future._flow._waiting._watchers)
        assert future.cancel() and future.cancelled()
        eventually(lambda: "tasks/cancel" in scene.asked)
        assert scene.notifications == []


def test_a_user_who_is_being_asked_is_told_that_the_call_was_cancelled():
    asked, told = threading.Event(), threading.Event()

    def ask(params, context):
        asked.set()
        assert context.cancelled.wait(PATIENCE)
        told.set()

    with StatelessTasks([asking("a")], elicitation=ask) as scene:
        future = scene.client.submit_tool("t")
        assert asked.wait(PATIENCE)
        future.cancel()
        assert told.wait(PATIENCE)
        eventually(lambda: "tasks/cancel" in scene.asked)


def test_the_time_of_a_person_does_not_count_and_a_change_starts_the_timeout_again(monkeypatch):
    clock = clocks.by_hand(monkeypatch)

    def ask(params, context):
        clock.now += 100.0
        return {"name": "Ada"}

    def changing(params):
        clock.now += 0.8
        return states.pop(0)

    states = [asking("a"), working("1"), working("2"), completed("yes")]
    with StatelessTasks([], answers={"tasks/get": changing}, elicitation=ask) as scene:
        assert scene.client.call_tool("t", timeout=1.0, extend_on_progress=True).text == "yes"
        states += [asking("b"), working("1"), working("2"), completed("yes")]
        with pytest.raises(RequestTimeout):
            scene.client.call_tool("t", timeout=1.0)


def test_messages_of_the_task_are_progress():
    steps = []
    states = [working("reading"), working("reading"), working("writing"), completed()]
    with StatelessTasks(states, working("queued")) as scene:
        scene.client.call_tool("t", progress=lambda *step: steps.append(step))
    assert steps == [(1, None, "queued"), (2, None, "reading"), (3, None, "writing")]


# -- Looks that are lost -----------------------------------------------------------------------


class Losing(StatelessTasks):
    """Its client does not get the answers to the first looks."""

    def __init__(self, errors, **options):
        super().__init__([completed("yes")], **options)
        self.errors, send = list(errors), self.client.request

        def request(method, *arguments, **options):
            if method in ("tasks/get", "tasks/update") and self.errors:
                raise self.errors.pop(0)
            return send(method, *arguments, **options)

        self.client.request = request


def test_a_look_that_is_lost_is_made_again_a_few_times():
    with Losing([AnswerLost("gone"), HttpStatus("busy", 503), RequestTimeout("slow")]) as scene:
        assert scene.client.call_tool("t").text == "yes" and scene.count("lost look") == 3
    with Losing(4 * [AnswerLost("gone")]) as scene:
        with pytest.raises(AnswerLost):
            scene.client.call_tool("t")


def test_a_status_that_does_not_pass_ends_the_call():
    with Losing([HttpStatus("forbidden", 403)]) as scene:
        with pytest.raises(HttpStatus):
            scene.client.call_tool("t")
        assert scene.errors == []


def test_an_answer_that_is_lost_is_sent_again():
    with Losing([], elicitation=lambda params, context: {"name": "Ada"}) as scene:
        scene.states.insert(0, asking("a"))
        task = scene.client.start_tool("t")
        task.refresh()
        scene.errors = [AnswerLost("gone")]
        assert task.result(PATIENCE).text == "yes" and scene.given == [{"a": NAMED}]


# -- Tasks in the hands of the caller ----------------------------------------------------------


def test_a_tool_is_started_and_waited_for():
    with StatelessTasks([working("half"), completed("yes")], working("queued", pollIntervalMs=3000)) as scene:
        task = scene.client.start_tool("t", {"a": 1})
        assert (task.id, task.tool, task.status, task.message, task.done) == (ID, "t", "working", "queued", False)
        assert (task.ttl, task.poll_interval, task.created_at[:4]) == (60.0, 3.0, "2026")
        assert scene.asked == ["tools/call"] and scene.params("tools/call") == [{"name": "t", "arguments": {"a": 1}}]
        assert task.refresh() is task and task.message == "half"
        assert task.wait(PATIENCE) and task.done and task.status == "completed"
        assert task.result(0).text == "yes" and repr(task) == "<task %s of t, completed>" % ID
        looks = scene.asked.count("tasks/get")
        task.cancel()  # nothing to cancel
        assert task.refresh().wait() and scene.asked.count("tasks/get") == looks and "tasks/cancel" not in scene.asked


def test_a_tool_that_is_answered_at_once_gives_a_task_that_is_over():
    with StatelessTasks([], answers={"tools/call": {"content": [{"type": "text", "text": "now"}]}}) as scene:
        task = scene.client.start_tool("t")
        assert task.id is None and task.done and task.wait() and task.result().text == "now"
        assert repr(task) == "<task without an id of t, completed>"


def test_what_is_asked_before_a_task_begins_is_answered_first():
    first = {"resultType": "input_required", "requestState": "s", "inputRequests": asking("a")["inputRequests"]}
    task = dict(working(), resultType="task")
    with StatelessTasks([completed("yes")], elicitation=lambda params, context: {"name": "Ada"}, answers={
            "tools/call": lambda params: task if "requestState" in params else first}) as scene:
        assert scene.client.start_tool("t").result(PATIENCE).text == "yes"
        assert scene.params("tools/call")[1]["inputResponses"] == {"a": NAMED}


def test_waiting_for_a_short_time_does_not_end_the_task():
    with StatelessTasks([working()]) as scene:
        task = scene.client.start_tool("t")
        assert not task.wait(0.02)
        with pytest.raises(RequestTimeout, match="is working still"):
            task.result(0.02)
        assert "tasks/cancel" not in scene.asked


def test_a_task_is_taken_up_again_by_another_client():
    with StatelessTasks([working(), completed("yes")]) as scene:
        task = scene.client.task(ID, "t")
        assert task.id == ID and task.status == "working" and task.result(PATIENCE).text == "yes"


def test_a_task_that_the_server_does_not_know_cannot_be_taken_up():
    with StatelessTasks([], answers={"tasks/get": Failure(-32602, "Task not found")}) as scene:
        with pytest.raises(PeerError, match="Task not found"):
            scene.client.task("other")


@pytest.mark.spec("tasks-ext.update-answers-outstanding-keys")
@pytest.mark.sends_illegal("elicit.capability-per-request", why="it declares nothing, and answers what it was asked")
def test_the_caller_may_answer_by_himself():
    with StatelessTasks([asking("a", "b"), asking("b"), asking("b"), completed("yes")]) as scene:
        task = scene.client.start_tool("t", rounds="manual")
        assert task.wait(PATIENCE) and not task.done and sorted(task.questions) == ["a", "b"]
        with pytest.raises(LocalProtocolError, match="no open question c; it has a, b"):
            task.answer({"c": NAMED})
        with pytest.raises(LocalProtocolError, match=r"no result before .*: a \(elicitation/create: Who"):
            task.result(PATIENCE)
        task.answer({"a": NAMED})
        assert list(task.questions) == ["b"] and task.refresh().wait(PATIENCE) and list(task.questions) == ["b"]
        with pytest.raises(LocalProtocolError):
            task.answer({"a": NAMED})
        task.answer({"b": NAMED})
        assert task.result(PATIENCE).text == "yes" and scene.given == [{"a": NAMED}, {"b": NAMED}]


@pytest.mark.sends_illegal("elicit.capability-per-request", why="it declares nothing, and answers what it was asked")
def test_questions_stay_open_if_the_server_refuses_the_answers():
    refusals = [Failure(-32602, "Invalid params: the form wants another name")]

    def update(params):
        return refusals.pop() if refusals else {}

    with StatelessTasks([asking("a", "b"), asking("b"), completed("yes")], answers={"tasks/update": update}) as scene:
        task = scene.client.start_tool("t", rounds="manual")
        assert task.wait(PATIENCE)
        with pytest.raises(ValueError, match='the answer to a.*; a form is answered by {"action": "accept"'):
            task.answer({"a": {"name": "Ada"}})
        assert sorted(task.questions) == ["a", "b"] and scene.given == []
        with pytest.raises(PeerError, match="another name"):
            task.answer({"a": NAMED})
        assert sorted(task.questions) == ["a", "b"]
        for wrong in ("ab", ["a"], None):
            with pytest.raises(TypeError, match="answers by their keys, such as {'a': ...}"):
                task.answer(wrong)
        task.answer({"a": NAMED})
        assert list(task.questions) == ["b"]
        task.answer({"b": NAMED})
        assert task.result(PATIENCE).text == "yes" and scene.given[1:] == [{"a": NAMED}, {"b": NAMED}]


def test_a_task_is_cancelled_by_its_caller():
    with StatelessTasks([working(), dict(working("by you"), status="cancelled")]) as scene:
        task = scene.client.start_tool("t")
        task.cancel()
        assert scene.params("tasks/cancel") == [{"taskId": ID}] and not task.done
        assert task.wait(PATIENCE) and task.status == "cancelled"
        with pytest.raises(RequestCancelled, match="by you"):
            task.result()


def test_the_result_of_a_task_is_checked_as_that_of_a_call():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    listed = {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}],
              "ttlMs": 60000, "cacheScope": "private"}
    with StatelessTasks([completed(structuredContent={"n": "x"})], answers={"tools/list": listed}) as scene:
        task = scene.client.start_tool("t")
        with pytest.raises(PeerProtocolError, match="structuredContent"):
            task.result(PATIENCE)
        assert scene.client.task(ID).result().structured_content == {"n": "x"}  # of an unknown tool


@pytest.mark.parametrize("call", [lambda client: client.start_tool("t", rounds="auto"),
                                  lambda client: client.task(ID, rounds="auto")])
def test_rounds_is_manual_or_left_out(call):
    with StatelessTasks([completed()]) as scene:
        with pytest.raises(LocalProtocolError, match="rounds is 'manual', or is left out"):
            call(scene.client)
        assert scene.asked == []


def test_a_state_that_is_announced_wakes_who_waits():
    """Without a look: the client would wait for an hour."""
    with StatelessTasks([working()], working(pollIntervalMs=3600000)) as scene:
        task = scene.client.start_tool("t")
        waiter = in_thread(lambda: task.result(PATIENCE).text)
        scene.tell("notifications/tasks", completed("yes"))
        assert waiter.get() == "yes" and "tasks/get" not in scene.asked
        scene.tell("notifications/tasks", dict(completed(), taskId="other"))
        eventually(lambda: scene.count("state of no task") == 1)


# -- Told by the server ------------------------------------------------------------------------


class Telling(StatelessTasks):
    """Its server agrees to tell of these ids; `told` sends a state on the stream."""

    def __init__(self, states, agreed, *created, **options):
        self.agreed, self.stream = agreed, None
        super().__init__(states, *created, answers={"subscriptions/listen": SILENT}, **options)

    def _answer(self, message):
        super()._answer(message)
        if message["method"] == "subscriptions/listen":
            self.stream = message["id"]
            self.peer.notify("notifications/subscriptions/acknowledged", self.on_stream(
                {"notifications": {"taskIds": self.agreed}}))

    def on_stream(self, params):
        return dict(params, _meta={"io.modelcontextprotocol/subscriptionId": self.stream})


HOUR = {"pollIntervalMs": 3600000}


def test_a_task_of_which_the_server_tells_is_looked_at_more_and_more_rarely(monkeypatch):
    """A look that brings news shows that the server does not tell them."""
    pauses = pausing(monkeypatch)
    states = [working(pollIntervalMs=1000)] * 7 + [working("half done", pollIntervalMs=1000)] * 2 + [completed()]
    limits = replace(AT_ONCE, request_timeout=3600.0)
    with Telling(states, [ID], working(pollIntervalMs=1000), limits=limits) as scene:
        task = scene.client.start_tool("t")
        with task.listen() as subscription:
            assert scene.params("subscriptions/listen") == [{"notifications": {"taskIds": [ID]}}]
            assert subscription.agreed.more
            task.result()
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 32.0, 1.0, 2.0]
    assert scene.asked.count("subscriptions/listen") == 1


@each_form
def test_a_call_is_told_by_itself_that_its_task_is_over(form):
    """Without a look: the next one would come in an hour. The stream ends with the call."""
    with Telling([working(**HOUR)], [ID], working(**HOUR)) as scene:
        waiter = in_thread(lambda: calling(form, scene.client, timeout=None).text)
        eventually(lambda: scene.stream is not None)
        scene.tell("notifications/tasks", scene.on_stream(completed("yes")))
        assert waiter.get() == "yes"
        assert scene.asked == ["tools/call", "subscriptions/listen"]
        assert scene.params("subscriptions/listen") == [{"notifications": {"taskIds": [ID]}}]
        scene.client.ping()
        eventually(lambda: [message["params"]["requestId"] for message in scene.notifications] == [scene.stream])


@pytest.mark.parametrize("how", ["refused", "agreed to nothing"])
def test_a_server_that_tells_of_no_tasks_is_asked_once(how, monkeypatch, caplog):
    """And each look comes when it would have come without a stream."""
    pauses = pausing(monkeypatch)
    made = StatelessTasks if how == "refused" else lambda *arguments, **options: Telling(
        arguments[0], [], *arguments[1:], **options)
    limits = replace(AT_ONCE, request_timeout=600.0)
    with made([working(pollIntervalMs=2000)], working(pollIntervalMs=2000), limits=limits) as scene:
        for _ in range(3):
            scene.states = [working(pollIntervalMs=2000), working(pollIntervalMs=2000), completed()]
            scene.client.call_tool("t")
        assert pauses == 3 * [2.0, 2.0, 2.0]
        assert scene.asked.count("subscriptions/listen") == 1
    assert not caplog.records


def test_a_stream_that_ends_is_not_waited_for(monkeypatch):
    """The next look comes when it would have come without it."""
    with Telling([working(**HOUR)], [ID], working(**HOUR)) as scene:
        task = scene.client.start_tool("t")
        waiter = in_thread(lambda: task.result().text)
        eventually(task._is_told)
        task._silent = 3
        scene.tell("notifications/tasks", scene.on_stream(working("still", **HOUR)))
        eventually(lambda: task._due - deadline.clock() > 7 * 3600)
        scene.peer.respond(scene.stream, {})
        scene.client.ping()
        assert task._due - deadline.clock() < 3601 and not task._is_told()
        assert scene.count("streams of tasks that ended") == 1
        scene.tell("notifications/tasks", completed("yes"))
        assert waiter.get() == "yes" and scene.asked.count("subscriptions/listen") == 1


def test_between_two_waits_nothing_is_told():
    """So the next wait does not rely on the stream, which has ended with the one before."""
    with Telling([working(**HOUR)], [ID], working(**HOUR)) as scene:
        task = scene.client.start_tool("t", rounds="manual")
        waiter = in_thread(task.wait)
        eventually(task._is_told)
        task._silent = 5
        scene.tell("notifications/tasks", scene.on_stream(asking("a", **HOUR)))
        assert waiter.get() is True and task.questions and not task._is_told()
        assert task._due - deadline.clock() < 3601


def test_nobody_is_told_who_looks_soon_or_waits_for_a_moment():
    with Telling([working(), completed()], [ID], working(**HOUR)) as scene:
        assert not scene.client.start_tool("t").wait(0.01)
        assert scene.client.task(ID).result(PATIENCE)
        assert "subscriptions/listen" not in scene.asked


# -- Over HTTP ---------------------------------------------------------------------------------


@pytest.mark.spec("tasks-ext.http-name-header-is-task-id")
def test_over_http_each_request_about_a_task_names_it_in_its_head(tmp_path):
    """The server compares, and would answer -32020."""
    states, seen = (working(pollIntervalMs=0), asking("a"), completed("yes")), tmp_path / "trace.jsonl"
    server = Server("x", extensions=[Served(*states)])
    server.tool(name="t")(lambda: "never")
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, limits=AT_ONCE, trace=str(seen),
                     elicitation=lambda params, context: {"name": "Ada"}) as client:
            assert client.call_tool("t").text == "yes"
    heads = [dict(map(tuple, line["fields"])) for line in map(json.loads, seen.read_text(encoding="utf-8").splitlines())
             if line.get("kind") == "request"]
    named = [(head["Mcp-Method"], head["Mcp-Name"]) for head in heads if head["Mcp-Method"].startswith("tasks/")]
    assert named == [(method, ID) for method in ("tasks/get", "tasks/get", "tasks/update", "tasks/get")]


def test_over_http_a_client_has_few_streams_for_tasks():
    server = served(tasks=Tasks(poll=0.6))
    with server.listen("http://127.0.0.1:0/mcp") as listener, connect(listener.address) as client:
        waiters = [in_thread(lambda: client.call_tool("hold").text) for _ in range(HTTP_STREAMS + 2)]
        for _ in waiters:
            server.gate.wait_entered()
        eventually(lambda: len(server.listeners) == HTTP_STREAMS)
        server.gate.open()
        assert [waiter.get() for waiter in waiters] == len(waiters) * ["done"]
        eventually(lambda: not len(server.listeners))
