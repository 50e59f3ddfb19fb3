"""The tasks of 2025-11-25, by raw messages in memory; over HTTP: `test_http.py`."""
import re

import pytest

from mcp_ref import Limits, connect, stores
from mcp_ref.errors import PeerError
from mcp_ref.ext.tasks.server import engine
from mcp_ref.server import Context, Server, Tasks
from tests.support.by_hand import EVERYTHING, accept
from tests.support.patience import WAIT
from tests.support.sides import eventually

from .tasked import RELATED, Extended, Session, served, text

DONE = {"content": [{"type": "text", "text": "done"}]}


@pytest.mark.spec("tasks.declare-capability")
def test_the_capability_and_what_tools_say():
    with Session(served()) as client:
        assert client.opened["capabilities"]["tasks"] == {
            "list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        assert "extensions" not in client.opened["capabilities"]
        tools = {tool["name"]: tool.get("execution") for tool in client.call("tools/list")["result"]["tools"]}
        assert tools["plain"] is None and tools["hold"] == {"taskSupport": "optional"}
        assert tools["fails"] == {"taskSupport": "required"}


@pytest.mark.spec("tasks.create-result", "tasks.id-string", "tasks.id-by-receiver", "tasks.id-unique",
                  "tasks.created-at", "tasks.last-updated-at", "tasks.ttl-reported", "tasks.starts-working",
                  "tasks.create-result-promptly", "tasks.id-entropy", "tasks.result-terminal", "tasks.result-exact",
                  "tasks.result-success",
                  "tasks.result-related-metadata", "tasks.related-metadata-omitted-results", "tasks.related-metadata")
def test_a_task_from_its_creation_to_its_result():
    server = served(tasks=Tasks(ttl=60, poll=0.5))
    with Session(server) as client:
        made = client.tool("hold", task={})["result"]
        assert made["_meta"][RELATED] == {"taskId": made["task"]["taskId"]} and "content" not in made
        task = made["task"]
        assert task["status"] == "working" and task["ttl"] == 60_000 and task["pollInterval"] == 500
        assert isinstance(task["taskId"], str) and len(task["taskId"]) >= 22
        assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z$", task[name]) for name in ("createdAt", "lastUpdatedAt"))
        assert client.get(task["taskId"])["result"] == task
        ids = {client.begin("hold", task={"ttl": 5000}) for _ in range(20)}
        assert len(ids) == 20 and task["taskId"] not in ids
        server.gate.open()
        assert client.until(task["taskId"])["status"] == "completed"
        result = client.get(task["taskId"], "tasks/result")["result"]
        assert result == dict(DONE, _meta={RELATED: {"taskId": task["taskId"]}})
        assert text(client.tool("hold")["result"]) == "done", "a call without task is an ordinary one"
        listed = client.call("tasks/list")["result"]["tasks"]
        assert {each["taskId"] for each in listed} == ids | {task["taskId"]}
        assert not any("_meta" in each for each in listed) and "_meta" not in client.get(task["taskId"])["result"]


@pytest.mark.spec("tasks.ttl-reported")
@pytest.mark.parametrize("ttl, asked, told", [
    (None, {}, None), (None, {"ttl": 5000}, 5000), (60, {}, 60_000), (60, {"ttl": 5000}, 5000), (0.5, {}, 500),
])
def test_every_state_of_a_task_has_its_lifetime_and_null_if_it_has_no_end(ttl, asked, told):
    server = served(tasks=Tasks(ttl=ttl, poll=0.25))
    with Session(server) as client:
        made = client.tool("hold", task=asked)["result"]["task"]
        waiting = client.begin("asks", task=asked)
        client.until(waiting, "input_required")
        ended = client.begin("quick", task=asked)
        client.until(ended)
        listed = client.call("tasks/list")["result"]["tasks"]
        states = [made, *listed, *(client.get(each["taskId"])["result"] for each in listed),
                  client.get(made["taskId"], "tasks/cancel")["result"]]
        told_of = [message["params"] for message in client.peer.seen
                   if message.get("method") == "notifications/tasks/status"]
        assert {each["status"] for each in states} == {"working", "input_required", "completed", "cancelled"}
        assert told_of and all("ttl" in each and each["ttl"] == told for each in states + told_of)
        server.gate.open()


@pytest.mark.spec("tasks.result-blocks")
def test_a_result_waits_for_the_end_of_the_task():
    server = served()
    with Session(server) as client:
        id = client.begin("hold")
        waiting = [client.send("tasks/result", {"taskId": id}) for _ in range(3)]
        assert client.get(id)["result"]["status"] == "working"
        assert not [message for message in client.peer.seen if message.get("id") in waiting]
        server.gate.open()
        for each in waiting:
            assert text(client.answer_to(each)["result"]) == "done"


def test_a_result_that_is_not_wanted_any_more_is_not_sent():
    server = served()
    with Session(server) as client:
        id = client.begin("hold")
        waiting = client.send("tasks/result", {"taskId": id})
        client.get(id)
        client.peer.notify("notifications/cancelled", {"requestId": waiting})
        eventually(lambda: not server.tasks.sessions.waited())
        server.gate.open()
        client.until(id)
        assert not [message for message in client.peer.seen if message.get("id") == waiting]
        client.begin("quick")
        held = client.begin("asks")
        client.send("tasks/result", {"taskId": held})
    eventually(lambda: not server.tasks.sessions.waited())


@pytest.mark.spec("tasks.tool-forbidden-error", "tasks.tool-required-error", "tasks.informative-errors")
def test_what_a_tool_allows():
    with Session(served()) as client:
        error = client.tool("plain", {"name": "x"}, task={})["error"]
        assert error["code"] == -32601 and "plain" in error["message"]
        error = client.tool("fails")["error"]
        assert error["code"] == -32601 and "fails" in error["message"]
        assert client.tool("nothing", task={})["error"]["code"] == -32602


@pytest.mark.parametrize("task, said", [
    (5, "params.task: expected object, got integer"), ("x", "params.task: expected object, got string"),
    ({"ttl": "soon"}, "params.task.ttl: expected integer, got string"),
])
def test_a_task_that_is_none_is_refused_by_its_name(task, said):
    with Session(served()) as client:
        error = client.tool("quick", task=task)["error"]
        assert error["code"] == -32602 and said in error["message"]
        assert client.get("none")["error"]["code"] == -32602


@pytest.mark.spec("tasks.ignored-when-undeclared")
def test_a_server_without_tasks_ignores_the_member():
    server = Server("without")
    server.tool(lambda: "done", name="go")
    with Session(server) as client:
        assert "tasks" not in client.opened["capabilities"]
        assert text(client.tool("go", task={"ttl": 5})["result"]) == "done"
        assert client.get("x")["error"]["code"] == -32601


@pytest.mark.spec("tasks.related-metadata", "tasks.result-error", "tasks.status-message-on-failure")
def test_failures():
    with Session(served()) as client:
        id = client.begin("breaks")
        end = client.until(id)
        assert end["status"] == "failed" and end["statusMessage"] == "no more of it"
        error = client.get(id, "tasks/result")["error"]
        assert error == {"code": -31050, "message": "no more of it", "data": {"left": 0}}
        id = client.begin("fails")
        end = client.until(id)
        assert end["status"] == "failed" and "it has failed" in end["statusMessage"]
        result = client.get(id, "tasks/result")["result"]
        assert result["isError"] is True and result["_meta"] == {RELATED: {"taskId": id}}


@pytest.mark.spec("tasks.related-metadata",
                  "tasks.input-required", "tasks.input-required-metadata", "tasks.input-required-leave",
                  "tasks.related-metadata-elicitation", "tasks.from-working", "tasks.from-input-required",
                  "tasks.terminal-final")
def test_questions_of_a_task():
    server = served()
    with Session(server) as client:
        id = client.begin("asks")
        asked = client.question()
        assert asked["method"] == "elicitation/create" and asked["params"]["message"] == "Who?"
        assert asked["params"]["_meta"][RELATED] == {"taskId": id}
        assert client.get(id)["result"]["status"] == "input_required"
        assert not [run for run in server.tasks._runs], "it holds no thread"
        client.peer.respond(asked["id"], accept(name="Ada"))
        asked = client.question()
        assert asked["params"]["message"] == "Sure, Ada?"
        client.peer.respond(asked["id"], accept(sure=True))
        assert text(client.get(id, "tasks/result")["result"]) == "Ada: True"
        assert server.tickets == ["Ada"]
        notified = [message["params"] for message in client.peer.seen
                    if message.get("method") == "notifications/tasks/status"]
        assert [each["status"] for each in notified] == [
            "input_required", "working", "input_required", "working", "completed"]


@pytest.mark.spec("tasks.status-notification-no-metadata")
def test_notifications_of_a_status_have_the_task_and_no_related_task():
    with Session(served()) as client:
        id = client.begin("quick")
        client.get(id, "tasks/result")
        told = [message["params"] for message in client.peer.seen
                if message.get("method") == "notifications/tasks/status"]
        assert told == [client.get(id)["result"]]


def test_several_questions_are_asked_at_once():
    with Session(served()) as client:
        id = client.begin("several")
        asked = [client.question(), client.question()]
        for question in reversed(asked):
            client.peer.respond(question["id"], accept(x=question["params"]["message"]))
        assert text(client.get(id, "tasks/result")["result"]) == "A?B?"


def test_a_client_that_answers_by_an_error():
    with Session(served()) as client:
        id = client.begin("asks")
        asked = client.question()
        client.peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "nobody is here"}})
        result = client.get(id, "tasks/result")["result"]
        assert result["isError"] and "nobody is here" in text(result)


def test_a_client_that_cannot_be_asked():
    with Session(served(), {}) as client:
        id = client.begin("asks")
        result = client.get(id, "tasks/result")["result"]
        assert result["isError"] and "elicitation" in text(result)


@pytest.mark.spec("tasks.cancel-terminal-error", "tasks.cancel-stop", "tasks.cancel-transition", "tasks.cancel-final")
def test_cancellation():
    server, seen = served(), []

    @server.tool(task="optional")
    def long(ctx: Context) -> str:
        seen.append(ctx.cancelled.wait(WAIT))
        return "late"

    with Session(server) as client:
        id = client.begin("long")
        waiting = client.send("tasks/result", {"taskId": id})
        answer = client.get(id, "tasks/cancel")["result"]
        assert answer["status"] == "cancelled" and answer["taskId"] == id and "_meta" not in answer
        assert "cancelled" in client.answer_to(waiting)["error"]["message"]
        eventually(lambda: seen == [True])
        eventually(lambda: client.peer.connection.counters["late task results"] == 1)
        assert client.get(id)["result"] == answer
        error = client.get(id, "tasks/cancel")["error"]
        assert error["code"] == -32602 and "cancelled" in error["message"]
        done = client.begin("quick")
        client.until(done)
        assert "completed" in client.get(done, "tasks/cancel")["error"]["message"]
        asking = client.begin("asks")
        asked = client.question()
        client.get(asking, "tasks/cancel")
        withdrawn = [message["params"] for message in client.peer.seen
                     if message.get("method") == "notifications/cancelled"]
        assert [each["requestId"] for each in withdrawn] == [asked["id"]]


@pytest.mark.spec("tasks.invalid-id")
def test_unknown_tasks():
    with Session(served()) as client:
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            error = client.get("nobody's", method)["error"]
            assert (error["code"], error["message"]) == (-32602, "Task not found")
            assert client.call(method, {})["error"]["code"] == -32602


@pytest.mark.spec("tasks.id-param-authoritative", "tasks.related-metadata-ignored")
def test_the_parameter_names_the_task_and_not_the_metadata():
    server = served()
    server.gate.open()
    with Session(server) as client:
        first, second = client.begin("quick"), client.begin("asks")
        meta = {RELATED: {"taskId": second}}
        for method in ("tasks/get", "tasks/result"):
            answer = client.call(method, {"taskId": first, "_meta": meta})["result"]
            assert answer.get("taskId", answer.get("_meta", {}).get(RELATED, {}).get("taskId")) == first
        assert client.call("tasks/cancel", {"taskId": second, "_meta": {RELATED: {"taskId": first}}})["result"][
            "taskId"] == second


@pytest.mark.spec("tasks.list-pagination", "tasks.list-next-cursor", "tasks.list-complete", "tasks.list-invalid-cursor")
def test_lists_have_pages():
    server = served()
    server.gate.open()
    with Session(server) as client:
        ids = [client.begin("hold") for _ in range(205)]
        found, params, pages = [], {}, 0
        while True:
            page = client.call("tasks/list", params)["result"]
            found += [task["taskId"] for task in page["tasks"]]
            pages += 1
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert found == ids and pages == 3
        for wrong in ("", "x", "dGFza3MgeA==", "\u00e9", "x" * 500):
            error = client.call("tasks/list", {"cursor": wrong})["error"]
            assert error["code"] == -32602 and "cursor" in error["message"]


@pytest.mark.spec("tasks.related-metadata",
                  "tasks.progress-token-lifetime", "tasks.progress-same-token", "tasks.progress-stops")
def test_progress_goes_on_under_the_same_token():
    server, go = Server("progress"), []

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        ctx.progress(1, 4)
        ctx.log("error", "logged")
        ctx.notify("acme/said", {"x": 1})
        go.append(ctx)
        ctx.elicit("Go on?", {"yes": bool})
        ctx.progress(2, 4, "half")
        return ""

    with Session(server) as client:
        id = client.begin("work", _meta={"progressToken": "p"})
        asked = client.question()
        assert client.get(id)["result"]["statusMessage"] == "1 of 4"
        client.peer.respond(asked["id"], accept(yes=True))
        client.get(id, "tasks/result")
        sent = {}
        for message in client.peer.seen:
            sent.setdefault(message.get("method"), []).append(message.get("params"))
        related = {RELATED: {"taskId": id}}
        assert [(each["progressToken"], each["progress"]) for each in sent["notifications/progress"]] == [
            ("p", 1), ("p", 2)]  # the second run begins with 1 again, which was told
        assert sent["notifications/progress"][0] == {"progressToken": "p", "progress": 1, "total": 4, "_meta": related}
        assert sent["notifications/message"][0] == {"level": "error", "data": "logged", "_meta": related}
        assert sent["acme/said"][0] == {"x": 1, "_meta": related}
        go[-1].progress(3, 4)  # a thread that goes on after the end
        assert client.peer.barrier() == []


@pytest.mark.spec("tasks.related-metadata")
def test_a_plain_request_of_a_task_names_the_task():
    """[2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST"""
    server = Server("asking")

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        return str(len(ctx.call("roots/list")["roots"]))

    with Session(server) as client:
        id = client.begin("work")
        asked = client.question()
        assert (asked["method"], asked["params"]["_meta"]) == ("roots/list", {RELATED: {"taskId": id}})
        client.peer.respond(asked["id"], {"roots": []})
        assert text(client.get(id, "tasks/result")["result"]) == "0"


def test_no_progress_without_a_token():
    server = Server("progress")

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        ctx.progress(1, 4)
        return ""

    with Session(server) as client:
        client.get(client.begin("work"), "tasks/result")
        assert not [message for message in client.peer.seen if message.get("method") == "notifications/progress"]


@pytest.mark.spec("tasks.internal-error", "tasks.limit-ttl", "tasks.limit-concurrent", "tasks.rate-limit")
def test_limits_of_what_a_client_asks_for():
    limits = Limits(max_task_ttl=100, max_tasks_per_principal=3, max_task_requests_per_second=5)
    with Session(served(limits=limits)) as client:
        assert client.tool("quick", task={"ttl": 10 ** 9})["result"]["task"]["ttl"] == 100_000
        assert client.tool("quick", task={"ttl": 50_000})["result"]["task"]["ttl"] == 50_000
        assert client.tool("quick", task={"ttl": 0})["result"]["task"]["ttl"] == 2000
        error = client.tool("quick", task={})["error"]
        assert error["code"] == -32603 and "max_tasks_per_principal (3)" in error["message"]
        answers = [client.get("x")["error"] for _ in range(20)]
        assert any("max_task_requests_per_second" in error["message"] for error in answers)
        assert client.tool("quick", task={"ttl": "long"})["error"]["code"] == -32602


@pytest.mark.spec("tasks.clean-up")
def test_who_waits_for_a_task_that_expires_is_told(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(stores, "wall_clock", lambda: now[0])
    monkeypatch.setattr("mcp_ref.ext.tasks.server.engine.TICK", 0.01)
    server, seen = served(tasks=Tasks(ttl=10)), []

    @server.tool(task="optional")
    def long(ctx: Context) -> str:
        seen.append(ctx.cancelled.wait(WAIT))
        return "late"

    with Session(server) as client:
        id = client.begin("long")
        waiting = client.send("tasks/result", {"taskId": id})
        client.get(id)
        now[0] += 20
        assert "expired" in client.answer_to(waiting)["error"]["message"]
        eventually(lambda: seen == [True] and not len(server.tasks.store))


@pytest.mark.spec("tasks.audit-log")
def test_the_life_of_a_task_is_logged(caplog):
    caplog.set_level("INFO", "mcp_ref.ext.tasks.server")
    with Session(served()) as client:
        id = client.begin("quick")
        client.get(id, "tasks/result")
        client.get(id)
        words = [record.getMessage() for record in caplog.records if id[:8] in record.getMessage()]
        assert [line.split()[-1] for line in words][:2] == ["created", "completed"] and "retrieved" in words[-1]
        assert id not in caplog.text, "the whole id is as good as a password"


@pytest.mark.spec("tasks.internal-error")
@pytest.mark.parametrize("end", [
    lambda client, id: client.get(id, "tasks/cancel"), lambda client, id: client.peer.connection.close(),
], ids=["cancelled", "the server closes the connection"])
def test_who_waits_for_a_result_that_will_not_come_gets_an_internal_error(end):
    """[2025-11-25 basic/utilities/tasks §Protocol Errors] MUST"""
    server = served()
    with Session(server) as client:
        id = client.begin("hold")
        waiting = client.send("tasks/result", {"taskId": id})
        assert client.get(id)["result"]["status"] == "working"
        end(client, id)
        error = client.answer_to(waiting)["error"]
        assert error["code"] == -32603 and error["message"]
        server.gate.open()


def test_who_cannot_be_told_apart_has_no_list():
    server = served()
    with server.listen("tcp://127.0.0.1:0") as listener:
        with connect(listener.address, era="legacy") as client:
            assert "list" not in client.connection.session.peer_capabilities["tasks"]
            with pytest.raises(PeerError) as raised:
                client.connection.request("tasks/cancel", {"taskId": "x"})
            assert raised.value.code == -32602


def test_all_that_a_client_of_a_handshake_declares_is_kept():
    server, seen = Server("kept"), []

    @server.tool(task="optional")
    def look(ctx: Context) -> str:
        seen.append((ctx.session.peer_capabilities, ctx.session.peer_info, ctx.meta, ctx.request_id))
        return ""

    with Session(server) as client:
        client.get(client.begin("look", _meta={"progressToken": 7}), "tasks/result")
    assert seen == [(EVERYTHING, {"name": "scripted", "version": "0"}, {"progressToken": 7}, 1)]


def test_a_question_that_was_just_answered_is_not_asked_again():
    server = served()
    with Session(server) as client:
        id = client.begin("asks")
        asked, read = client.question(), server.tasks.store.read
        stale = [read(id)] * 2
        client.peer.respond(asked["id"], accept(name="Ada"))
        second = client.question()
        server.tasks.store.read = lambda id: stale.pop() if stale else read(id)
        waiting = client.send("tasks/result", {"taskId": id})
        client.get(id)
        assert not stale
        client.peer.respond(second["id"], accept(sure=True))
        assert text(client.answer_to(waiting)["result"]) == "Ada: True"
        asked = [message["params"]["message"] for message in client.peer.seen
                 if message.get("method") == "elicitation/create"]
        assert asked == ["Who?", "Sure, Ada?"]
        assert not server.tasks.sessions._asked


class Gone(stores.MemoryTasks):
    """A store of which one method fails, from the moment that it is named."""

    fails = ""

    def __getattribute__(self, name):
        if name == object.__getattribute__(self, "fails"):
            raise OSError("the store is gone")
        return super().__getattribute__(name)


def call_as_task(client):
    return client.tool("asks", task={}) if isinstance(client, Session) else client.tool("asks")


def asked_by(method):
    return lambda client: client.call(method, {"taskId": client.begun})


@pytest.mark.spec("tasks.internal-error")
@pytest.mark.parametrize("made, request_of, fails", [
    (made, call_as_task, fails) for made in (Session, Extended) for fails in ("now", "clock", "create", "sweep")
] + [
    (made, asked_by(method), fails) for made in (Session, Extended) for fails in ("now", "read")
    for method in ("tasks/get", "tasks/cancel", "tasks/result")[:3 if made is Session else 2]
] + [
    (Session, lambda client: client.call("tasks/list", {}), "list"), (Session, asked_by("tasks/cancel"), "change"),
    (Extended, asked_by("tasks/cancel"), "change"),
])
def test_a_store_that_fails_has_an_error_of_its_own(made, request_of, fails, caplog, monkeypatch):
    monkeypatch.setattr(engine, "SWEEP", -1.0)
    server = served(tasks=Tasks(Gone()))
    with made(server) as client:
        client.begun = client.begin("hold")
        server.tasks.store.fails = fails
        answer = request_of(client)
        server.tasks.store.fails = ""
        assert answer["error"] == {"code": -32603, "message": "The store of tasks has failed; try again later"}
        plain = client.tool("plain", {"name": "x"}) if made is Session else client.tool("plain", name="x")
        assert text(plain["result"])
        server.gate.open()
    assert any("the store of tasks raised" in record.getMessage() and "the store is gone" in str(record.exc_info[1])
               for record in caplog.records if record.exc_info)


def test_what_is_cancelled_or_expires_in_the_queue_does_not_pile_up():
    server = served(limits=Limits(max_running_tasks=1, max_tasks_per_principal=10000))
    with Session(server) as client:
        running = client.begin("hold")
        queued = [client.begin("hold") for _ in range(20)]
        assert len(server.tasks._queue) == 20
        for id in queued[:-1]:
            assert client.get(id, "tasks/cancel")["result"]["status"] == "cancelled"
        assert list(server.tasks._queue) == queued[-1:] and set(server.tasks._runs) == {running, queued[-1]}
        server.gate.open()
        assert text(client.call("tasks/result", {"taskId": queued[-1]})["result"]) == "done"


def test_a_lifetime_beyond_all_numbers_is_cut_to_the_limit():
    with Session(served()) as client:
        task = client.tool("quick", task={"ttl": 10 ** 400})["result"]["task"]
        assert task["ttl"] == Limits().max_task_ttl * 1000
