"""The tasks of 2026-07-28, by raw messages."""
import re

import pytest

from mcp_ref import Limits
from mcp_ref.methods import TASKS
from mcp_ref.server import Context, Server, Tasks
from tests.support.by_hand import EVERYTHING, accept, questions
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually

from .tasked import DECLARED, Extended, served, text

STATES = {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "resultType", "_meta"}


def test_it_is_declared():
    with Extended(served()) as client:
        found = client.call("server/discover", {})["result"]["capabilities"]
        assert found["extensions"] == {TASKS: {}} and "tasks" not in found
    with Extended(Server("without")) as client:
        assert "extensions" not in client.call("server/discover", {})["result"]["capabilities"]


@pytest.mark.spec("tasks-ext.result-type-task-on-create", "tasks-ext.get-working", "tasks-ext.get-completed",
                  "tasks-ext.get-result-type-complete", "tasks-ext.completed-carries-request-result",
                  "tasks-ext.id-unguessable")
def test_a_task_from_its_creation_to_its_result():
    server = served(tasks=Tasks(ttl=60, poll=0.5))
    with Extended(server) as client:
        made = client.tool("hold", text="all")["result"]
        assert set(made) == STATES and made["resultType"] == "task" and made["status"] == "working"
        assert made["ttlMs"] == 60_000 and made["pollIntervalMs"] == 500
        assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z$", made[name]) for name in ("createdAt", "lastUpdatedAt"))
        now = client.get(made["taskId"])["result"]
        assert now == dict(made, resultType="complete")
        server.gate.open()
        end = client.until(made["taskId"])
        assert end["status"] == "completed" and end["resultType"] == "complete"
        assert end["result"] == {"content": [{"type": "text", "text": "all"}], "resultType": "complete"}
        assert end["createdAt"] == made["createdAt"] and end["lastUpdatedAt"] >= made["createdAt"]
        again = client.tool("hold")["result"]
        assert again["taskId"] != made["taskId"] and len(made["taskId"]) >= 22


@pytest.mark.parametrize("answers", [{}, {"who": accept(name="Ada")}, {"nobody asked": accept(x="y")}])
@pytest.mark.parametrize("status", ["working", "completed", "input_required"])
def test_answers_to_what_was_not_asked_change_nothing_and_run_nothing_again(status, answers):
    """[2026-07-28 extensions/tasks/tasks §Task Update Requests]"""
    server, runs, gate = Server("counted"), [], Gate()

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        runs.append(status)
        if status == "input_required":
            ctx.elicit("Go on?", {"yes": bool}, key="go on")
        if status == "working":
            gate.hold()
        return "done"

    with gate, Extended(server) as client:
        id = client.begin("work")
        before = client.until(id, status)
        if status == "working":
            gate.entered()
        for _ in range(3):
            client.update(id, **answers)
        assert client.get(id)["result"] == before
        if status == "input_required":
            client.update(id, **{"go on": accept(yes=True)})
        gate.open()
        assert text(client.until(id)["result"]) == "done"
    assert len(runs) == (2 if status == "input_required" else 1)


@pytest.mark.parametrize("ttl, told", [(None, None), (60, 60_000), (0.5, 500)])
def test_every_state_of_a_task_has_its_lifetime_and_null_if_it_has_no_end(ttl, told):
    """[2026-07-28 extensions/tasks/tasks §Task Polling]"""
    server = served(tasks=Tasks(ttl=ttl, poll=0.25))
    with Extended(server) as client:
        made = client.tool("hold")["result"]
        states = [made, client.get(made["taskId"])["result"], client.until(client.begin("asks"), "input_required"),
                  client.until(client.begin("quick"))]
        assert {each["status"] for each in states} == {"working", "input_required", "completed"}
        assert all("ttlMs" in each and each["ttlMs"] == told for each in states)
        server.gate.open()


@pytest.mark.spec("tasks-ext.no-task-for-undeclared", "tasks-ext.missing-capability-error",
                  "tasks-ext.task-methods-undeclared-error", "tasks-ext.result-type-task-only-on-create")
def test_only_who_declares_it_gets_a_task():
    server = served()
    server.gate.open()
    with Extended(server) as client:
        assert text(client.tool("plain", name="x")["result"]) == "Hello, x!"
        assert text(client.tool("hold", EVERYTHING)["result"]) == "done"
        error = client.tool("fails", EVERYTHING)["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert client.call(method, {"taskId": "x", "inputResponses": {}}, EVERYTHING)["error"]["code"] == -32021
        result = client.call("tools/call", {"name": "plain", "arguments": {"name": "x"}, "task": {"ttl": 5}})["result"]
        assert result["resultType"] == "complete"
        for method in ("tasks/result", "tasks/list"):
            assert client.call(method, {"taskId": "x"})["error"]["code"] == -32601


@pytest.mark.spec("tasks-ext.tool-error-is-completed", "tasks-ext.failed-only-for-protocol-errors",
                  "tasks-ext.get-failed", "tasks-ext.failed-carries-request-error", "tasks-ext.failed-status-message")
def test_a_tool_that_fails_completes_and_an_error_fails():
    with Extended(served()) as client:
        end = client.until(client.begin("fails"))
        assert end["status"] == "completed" and end["result"]["isError"] is True
        assert "it has failed" in text(end["result"])
        end = client.until(client.begin("breaks"))
        assert end["status"] == "failed" and "result" not in end
        assert end["error"] == {"code": -31050, "message": "no more of it", "data": {"left": 0}}
        assert end["statusMessage"] == "no more of it"


@pytest.mark.spec("tasks-ext.get-input-required", "tasks-ext.update-empty-ack",
                  "tasks-ext.update-result-type-complete", "tasks-ext.update-ignores-unknown-keys")
def test_questions_of_a_task():
    server = served()
    with Extended(server) as client:
        id = client.begin("asks")
        asked = client.until(id, "input_required")
        assert list(asked["inputRequests"]) == ["who"]
        assert asked["inputRequests"]["who"]["method"] == "elicitation/create"
        assert asked["inputRequests"]["who"]["params"]["message"] == "Who?"
        assert client.get(id)["result"] == asked
        ack = client.update(id, who=accept(name="Ada"), nobody=accept(), sure=accept(sure=True))["result"]
        assert set(ack) == {"resultType", "_meta"} and ack["resultType"] == "complete"
        asked = client.until(id, "input_required")
        assert list(asked["inputRequests"]) == ["sure"]
        assert asked["inputRequests"]["sure"]["params"]["message"] == "Sure, Ada?"
        client.update(id, who=accept(name="Bob"), sure=accept(sure=True))
        assert text(client.until(id)["result"]) == "Ada: True"
        assert server.tickets == ["Ada"], "computed once"


@pytest.mark.spec("tasks-ext.get-all-outstanding-inputs", "tasks-ext.update-partial-answers")
def test_part_of_the_answers_leaves_the_rest_open():
    with Extended(served()) as client:
        id = client.begin("several")
        assert set(client.until(id, "input_required")["inputRequests"]) == {"a", "b"}
        client.update(id, a=accept(x="1"))
        now = client.get(id)["result"]
        assert now["status"] == "input_required" and list(now["inputRequests"]) == ["b"]
        client.update(id, a=accept(x="9"), b=accept(x="2"))
        assert text(client.until(id)["result"]) == "12"


@pytest.mark.spec("tasks-ext.input-key-unique-per-task", "tasks-ext.input-key-not-reused")
def test_a_key_is_never_used_twice():
    server = Server("again")

    @server.tool(task="optional")
    def insist(ctx: Context) -> int:
        return ctx.elicit("How many?", {"n": int}, key="n")["n"]

    with Extended(server) as client:
        id, seen = client.begin("insist"), []
        for _ in range(3):
            seen += client.until(id, "input_required")["inputRequests"]
            client.update(id, **{seen[-1]: accept(n="many")})  # no number: the handler asks again
            eventually(lambda: seen[-1] not in client.get(id)["result"].get("inputRequests", {}))
        assert len(set(seen)) == 3
        key = list(client.until(id, "input_required")["inputRequests"])[0]
        client.update(id, **{key: accept(n=3)})
        assert client.until(id)["result"]["structuredContent"] == {"result": 3}


def test_an_answer_that_is_none_is_refused_and_changes_nothing():
    with Extended(served()) as client:
        id = client.begin("asks")
        client.until(id, "input_required")
        error = client.update(id, who={"action": 7})["error"]
        assert error["code"] == -32602 and "inputResponses.who" in error["message"]
        assert list(client.get(id)["result"]["inputRequests"]) == ["who"]
        error = client.call("tasks/update", {"taskId": id, "inputResponses": []})["error"]
        assert error["code"] == -32602 and "expected object" in error["message"]


def test_asking_without_end_is_an_error():
    server = Server("endless", limits=Limits(max_input_rounds=2))

    @server.tool(task="optional")
    def endless(ctx: Context) -> str:
        for number in range(5):
            ctx.elicit("%d?" % number, {"n": int})
        return "never"

    with Extended(server) as client:
        id = client.begin("endless")
        for _ in range(2):
            key = list(client.until(id, "input_required")["inputRequests"])[0]
            client.update(id, **{key: accept(n=1)})
            eventually(lambda: key not in client.get(id)["result"].get("inputRequests", {}))
        assert "max_input_rounds" in text(client.until(id)["result"])


@pytest.mark.spec("tasks-ext.cancel-empty-ack", "tasks-ext.cancel-result-type-complete", "tasks-ext.get-cancelled")
def test_cancellation_is_acknowledged_and_final():
    server, seen = served(), []

    @server.tool(task="optional")
    def long(ctx: Context) -> str:
        seen.append(ctx.cancelled.wait(WAIT))
        return "late"

    with Extended(server) as client:
        id = client.begin("long")
        ack = client.get(id, "tasks/cancel")["result"]
        assert set(ack) == {"resultType", "_meta"}
        end = client.until(id)
        assert end["status"] == "cancelled" and "result" not in end and "error" not in end
        eventually(lambda: seen == [True])
        eventually(lambda: client.count("late task results") == 1)
        assert client.get(id)["result"] == end, "a late result changes nothing"
        assert client.get(id, "tasks/cancel")["result"]["resultType"] == "complete"
        assert client.get(id)["result"] == end
        id = client.begin("asks")
        client.until(id, "input_required")
        client.get(id, "tasks/cancel")
        assert client.get(id)["result"]["status"] == "cancelled"


@pytest.mark.spec("tasks-ext.get-unknown-task-error", "tasks-ext.update-unknown-task-error",
                  "tasks-ext.cancel-unknown-task-error", "tasks-ext.informative-errors")
def test_an_unknown_task_is_refused_by_each_method():
    with Extended(served()) as client:
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            error = client.call(method, {"taskId": "nobody's", "inputResponses": {}})["error"]
            assert (error["code"], error["message"]) == (-32602, "Task not found")
            assert client.call(method, {})["error"]["code"] == -32602


@pytest.mark.spec("tasks-ext.authorize-each-request")
def test_a_task_belongs_to_its_principal():
    server = served()
    server.gate.open()
    with Extended(server) as client:
        id = client.tool("hold", principal="ada")["result"]["taskId"]
        assert client.get(id, principal="ada")["result"]["taskId"] == id
        for principal in ("bob", None):
            for method in ("tasks/get", "tasks/cancel"):
                assert client.get(id, method, principal=principal)["error"]["code"] == -32602
        eventually(lambda: client.get(id, principal="ada")["result"]["status"] == "completed")


@pytest.mark.spec("tasks-ext.no-progress-or-log-on-listen-stream")
def test_progress_is_the_message_of_a_task_and_nothing_else_is_sent():
    server = Server("progress")
    reached = []

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        ctx.progress(1, 4)
        ctx.log("error", "not sent")
        ctx.progress(2, 4, "half")
        reached.append(1)
        ctx.cancelled.wait(WAIT)
        return ""

    with Extended(server) as client:
        meta = {"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}
        id = client.begin("work")
        eventually(lambda: reached)
        assert client.get(id)["result"]["statusMessage"] == "half"
        assert client.count("log messages of tasks") == 1
        assert not [message for message in client.peer.seen if "method" in message], meta
        client.get(id, "tasks/cancel")


@pytest.mark.spec("tasks-ext.mrtr-before-create-result")
def test_a_function_may_ask_before_there_is_a_task():
    server = Server("first")

    def decide(ctx, arguments):
        return ctx.elicit("Your name?", {"name": str}, key="name")["name"] != "nobody"

    @server.tool(task=decide)
    def greet(ctx: Context) -> str:
        name = ctx.elicit("Your name?", {"name": str}, key="name")["name"]
        return "Hello, %s! %s" % (name, ctx.elicit("And?", {"name": str}, key="name")["name"])

    with Extended(server) as client:
        first = client.tool("greet")
        assert list(questions(first)) == ["name"] and "taskId" not in first["result"]
        made = client.again(first, name=accept(name="Alice"))["result"]
        assert made["resultType"] == "task" and not {"requestState", "inputRequests"} & set(made)
        asked = client.until(made["taskId"], "input_required")
        assert [question["params"]["message"] for question in asked["inputRequests"].values()] == ["And?"]
        client.update(made["taskId"], **{key: accept(name="Bye") for key in asked["inputRequests"]})
        assert text(client.until(made["taskId"])["result"]) == "Hello, Alice! Bye"
        plain = client.again(client.tool("greet"), name=accept(name="nobody"))
        assert plain["result"]["resultType"] == "input_required", "no task, but a round"


@pytest.mark.spec("tasks-ext.durable-before-create-result", "tasks-ext.create-waits-for-consistency")
def test_a_task_is_there_before_it_is_announced():
    server = served()
    server.gate.open()
    with Extended(server) as client:
        found, create = [], server.tasks.store.create

        def first(record, room):
            found.append(server.tasks.store.read(record.id))
            refused = create(record, room)
            found.append(server.tasks.store.read(record.id).id)
            return refused

        server.tasks.store.create = first
        assert client.begin("quick") == found[1] and found[0] is None


@pytest.mark.parametrize("limits, name", [
    (Limits(max_tasks_per_principal=1), "max_tasks_per_principal"), (Limits(max_tasks=1), "max_tasks"),
    (Limits(max_tasks_bytes=10), "max_tasks_bytes"), (Limits(max_task_bytes=200), "max_task_bytes"),
])
def test_room_for_tasks(limits, name):
    server = served(limits=limits)
    with Extended(server) as client:
        for _ in range(2):
            answer = client.tool("quick")
        assert name in answer["error"]["message"] and answer["error"]["code"] in (-32603, -32602)


def test_a_result_that_is_too_long_fails_the_task():
    with Extended(served(limits=Limits(max_task_bytes=2000))) as client:
        end = client.until(client.begin("quick", text="x"))
        assert end["status"] == "completed"
        server = Server("long", limits=Limits(max_task_bytes=2000))
    server.tool(lambda: "x" * 3000, name="long", task="optional")
    with Extended(server) as client:
        end = client.until(client.begin("long"))
        assert end["status"] == "failed" and "max_task_bytes" in end["statusMessage"]


def test_requests_about_tasks_have_a_rate():
    with Extended(served(limits=Limits(max_task_requests_per_second=2))) as client:
        codes = [client.get("x").get("error", {}).get("code") for _ in range(8)]
        assert -32603 in codes


def test_an_expired_task_is_gone(monkeypatch):
    from mcp_ref import stores

    now = [1000.0]
    monkeypatch.setattr(stores, "wall_clock", lambda: now[0])
    server = served(tasks=Tasks(ttl=10))
    with Extended(server) as client:
        id = client.begin("quick")
        client.until(id)
        now[0] += 9
        assert client.get(id)["result"]["status"] == "completed"
        now[0] += 2
        error = client.get(id)["error"]
        assert (error["code"], error["message"]) == (-32602, "Task has expired")
        now[0] += 5
        assert client.get(id)["error"]["message"] == "Task not found"
        assert len(server.tasks.store) == 0, "the expired one was swept"


def test_more_tasks_than_may_run_are_queued():
    server = served(limits=Limits(max_running_tasks=2))
    with Extended(server) as client:
        ids = [client.begin("hold", text=str(number)) for number in range(6)]
        server.gate.wait_entered()
        server.gate.wait_entered()
        assert [client.get(id)["result"]["status"] for id in ids] == ["working"] * 6
        client.get(ids[5], "tasks/cancel")
        server.gate.open()
        assert [text(client.until(id)["result"]) for id in ids[:5]] == list("01234")
        assert client.get(ids[5])["result"]["status"] == "cancelled"


@pytest.mark.spec("tasks-ext.push-status-notifications")
def test_listening_to_tasks():
    server = served()
    with Extended(server) as client:
        id, strange = client.begin("hold"), "nobody's"
        client.peer.begin("2026-07-28", DECLARED)
        client.peer.listen(taskIds=[id, strange])
        agreed = client.peer.seen[-1]["params"]["notifications"]
        assert agreed == {"taskIds": [id]}
        client.peer.envelope = None
        server.gate.open()
        told = client.peer.receive(lambda message: message.get("method") == "notifications/tasks")["params"]
        assert told["status"] == "completed" and text(told["result"]) == "done" and "resultType" not in told
        assert told["_meta"] == {"io.modelcontextprotocol/subscriptionId": "listening"}
        got = client.get(id)["result"]
        assert {**told, "resultType": "complete", "_meta": got["_meta"]} == got


@pytest.mark.spec("tasks-ext.push-status-notifications")
@pytest.mark.parametrize("tool, status", [("quick", "completed"), ("asks", "input_required")])
def test_a_stream_begins_with_what_has_become_of_a_task_before(tool, status):
    """Else its client would learn that by polling only."""
    with Extended(served()) as client:
        id = client.begin(tool)
        client.until(id, status)
        client.peer.begin("2026-07-28", DECLARED)
        client.peer.listen(taskIds=[id])
        told = client.peer.receive(lambda message: message.get("method") == "notifications/tasks")["params"]
        assert told["status"] == status
        methods = [message.get("method") for message in client.peer.seen]
        assert methods.index("notifications/subscriptions/acknowledged") < methods.index("notifications/tasks")


@pytest.mark.spec("tasks-ext.listen-undeclared-error")
def test_listening_without_the_declaration_is_refused():
    with Extended(served()) as client:
        error = client.call("subscriptions/listen", {"notifications": {"taskIds": ["x"]}}, EVERYTHING)["error"]
        assert error["code"] == -32021 and error["data"]["requiredCapabilities"]["extensions"] == {TASKS: {}}


def test_the_option_task():
    server = Server("options")
    with pytest.raises(ValueError, match='task is "forbidden", "optional"'):
        server.tool(lambda: 1, name="x", task="maybe")
    server.tool(lambda: 1, name="y", task="forbidden")
    assert "execution" not in server.tools.listing.get("y").described
    mine = Tasks()
    Server("one", tasks=mine)
    with pytest.raises(ValueError, match="belong to a server already"):
        Server("two", tasks=mine)
    for wrong in ({"ttl": 0}, {"poll": -1}):
        with pytest.raises(ValueError, match="above 0"):
            Tasks(**wrong)


@pytest.mark.spec("tasks-ext.internal-error-code")
def test_a_store_that_fails_is_an_internal_error():
    server = served()

    def broken(*_):
        raise OSError("the disk is gone")

    with Extended(server) as client:
        server.tasks.store.read = broken
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            assert client.call(method, {"taskId": "x", "inputResponses": {}})["error"]["code"] == -32603


def test_a_function_that_decides_sees_arguments_that_fit_alone():
    server, seen = Server("deciding"), []

    @server.tool(task=lambda ctx, arguments: seen.append(arguments) or arguments["n"] > 1)
    def work(n: int) -> str:
        return "did %d" % n

    with Extended(server) as client:
        for wrong in ({}, {"n": []}):
            result = client.tool("work", **wrong)["result"]
            assert result["isError"] and "Invalid arguments for tool work" in result["content"][0]["text"]
        assert seen == []
        assert client.tool("work", n=1)["result"]["content"][0]["text"] == "did 1"
        assert client.until(client.begin("work", n=2))["result"]["content"][0]["text"] == "did 2"
        assert seen == [{"n": 1}, {"n": 2}]
