"""Tasks over HTTP: the streams of 2025-11-25, the header fields of 2026-07-28, and principals in both."""
import threading

import pytest

from mcp_ref import connect, stores
from mcp_ref.ext.tasks.server import engine
from mcp_ref.server import Context, Server, SqliteStore, Tasks
from mcp_ref.server.serving import http_listener
from mcp_ref.stores import TaskRecord, TaskRoom
from tests.support.by_hand import EVERYTHING, accept
from tests.support.http_exchange import Web
from tests.support.http_modern import ModernWeb, made
from tests.support.sides import eventually

from .tasked import DECLARED, RELATED, served, text


def begun(web, name, id=1, **more):
    answer = web.ask(id, "tools/call", {"name": name, "arguments": {}, "task": {}, **more}).answer()
    return answer["result"]["task"]["taskId"]


def get(web, id, method="tasks/get", number=50):
    return web.ask(number, method, {"taskId": id}).answer()


@pytest.mark.spec("tasks.get-no-sse", "tasks.http-compliance", "tasks.input-required-metadata")
def test_questions_come_on_the_stream_of_a_request_for_the_result():
    server = served()
    with Web(server, capabilities=EVERYTHING, limits=server.limits) as web:
        id = begun(web, "asks")
        eventually(lambda: get(web, id)["result"]["status"] == "input_required")
        looked = web.ask(51, "tasks/get", {"taskId": id})
        assert looked.headers.get("content-type") == "application/json"
        assert not web.connection.table.waiting(), "nothing is asked as long as nobody has a stream for it"
        waiting = web.ask(2, "tasks/result", {"taskId": id})
        asked = waiting.next()
        assert asked["params"]["message"] == "Who?" and asked["params"]["_meta"][RELATED] == {"taskId": id}
        assert web.respond(asked["id"], accept(name="Ada")).status == 202
        asked = waiting.next()
        assert asked["params"]["message"] == "Sure, Ada?"
        web.respond(asked["id"], accept(sure=True))
        answer = waiting.answer()
        assert answer["id"] == 2 and text(answer["result"]) == "Ada: True"
        assert answer["result"]["_meta"][RELATED] == {"taskId": id}


def test_questions_come_on_the_stream_of_a_get_where_one_is_open():
    with Web(served(), capabilities=EVERYTHING) as web:
        stream = web.get()
        id = begun(web, "asks")
        asked = stream.next()
        while "id" not in asked:  # notifications of the status
            asked = stream.next()
        assert asked["params"]["message"] == "Who?"
        waiting = web.ask(2, "tasks/result", {"taskId": id})
        assert waiting.messages() == [], "it was heard, so it is not asked again"
        web.respond(asked["id"], accept(name="Ada"))
        sure = waiting.next()
        assert sure["params"]["message"] == "Sure, Ada?"
        web.respond(sure["id"], accept(sure=True))
        assert text(waiting.answer()["result"]) == "Ada: True"


def test_where_processes_share_tasks_only_a_request_for_the_result_is_asked(tmp_path):
    """Reading: the processes do not know each other's streams, and a user is not to be asked twice."""
    server = served(tasks=Tasks(SqliteStore(tmp_path / "tasks.db")))
    with Web(server, capabilities=EVERYTHING) as web:
        stream = web.get()
        id = begun(web, "asks")
        eventually(lambda: get(web, id)["result"]["status"] == "input_required")
        waiting = web.ask(2, "tasks/result", {"taskId": id})
        for answer in (accept(name="Ada"), accept(sure=True)):
            web.respond(waiting.next()["id"], answer)
        assert text(waiting.answer()["result"]) == "Ada: True"
        assert all("id" not in message for message in stream.messages())
    eventually(lambda: not server.tasks._watching)
    server.tasks.store.close()


@pytest.mark.spec("tasks.related-metadata", "tasks.progress-token-lifetime")
def test_what_belongs_to_a_task_goes_on_that_stream():
    server, go = Server("progress"), []

    @server.tool(task="optional")
    def work(ctx: Context) -> str:
        go.append(ctx)
        ctx.elicit("Go on?", {"yes": bool})
        ctx.progress(1, 2)
        ctx.log("error", "here")
        return "done"

    with Web(server, capabilities=EVERYTHING, limits=server.limits) as web:
        id = begun(web, "work", _meta={"progressToken": "p"})
        waiting = web.ask(2, "tasks/result", {"taskId": id})
        web.respond(waiting.next()["id"], accept(yes=True))
        waiting.done()
        sent = [(message.get("method"), (message.get("params") or {}).get("_meta")) for message in waiting.messages()]
        related = {RELATED: {"taskId": id}}
        assert sent == [("elicitation/create", related), ("notifications/progress", related),
                        ("notifications/message", related), (None, None)]


def test_a_question_whose_stream_is_gone_is_asked_again_on_the_next():
    with Web(served(), capabilities=EVERYTHING) as web:
        id = begun(web, "asks")
        first = web.ask(2, "tasks/result", {"taskId": id})
        lost = first.next()
        first.leave()
        second = web.ask(3, "tasks/result", {"taskId": id})
        again = second.next()
        assert again["params"] == lost["params"] and again["id"] != lost["id"]
        web.respond(lost["id"], accept(name="Late"))
        web.respond(again["id"], accept(name="Ada"))
        sure = second.next()
        web.respond(sure["id"], accept(sure=True))
        assert text(second.answer()["result"]) == "Ada: True"


@pytest.mark.spec("tasks.bind-context", "tasks.context-rejected", "tasks.context-list")
def test_a_task_belongs_to_its_principal():
    server = served()
    with server.listen("http://127.0.0.1:0/mcp", authenticate=lambda headers: headers.get("x-who")) as listener:
        sides = {who: connect(listener.address, headers={"X-Who": who}, era="legacy") for who in ("ada", "bob")}
        try:
            assert "list" in sides["ada"].connection.session.peer_capabilities["tasks"]
            ask = {who: side.connection.request for who, side in sides.items()}
            made = ask["ada"]("tools/call", {"name": "quick", "arguments": {}, "task": {}})
            id = made["task"]["taskId"]
            assert [task["taskId"] for task in ask["ada"]("tasks/list")["tasks"]] == [id]
            assert ask["bob"]("tasks/list")["tasks"] == []
            for method in ("tasks/get", "tasks/result", "tasks/cancel"):
                with pytest.raises(Exception, match="Task not found"):
                    ask["bob"](method, {"taskId": id})
            assert text(ask["ada"]("tasks/result", {"taskId": id})) == "done"
        finally:
            for side in sides.values():
                side.close()


@pytest.mark.spec("tasks.no-list-without-identity")
def test_without_identity_there_is_no_list():
    with Web(served(), revision=None) as web:
        declared = web.open("2025-11-25")["capabilities"]["tasks"]
        assert declared == {"cancel": {}, "requests": {"tools": {"call": {}}}}
        id = begun(web, "quick")
        assert get(web, id)["result"]["taskId"] == id, "who knows the id has it"
        assert web.ask(9, "tasks/list").answer()["error"]["code"] == -32601


def test_the_name_in_the_head_is_that_of_the_task():
    server = served()
    with ModernWeb(server) as web:
        task = web.ask(1, "tools/call", {"name": "quick", "arguments": {}}, capabilities=DECLARED).message["result"]
        head = {"Mcp-Name": task["taskId"]}
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            params = {"taskId": task["taskId"], "inputResponses": {}}
            answer = web.ask(2, method, params, headers=head, capabilities=DECLARED)
            assert answer.status == 200 and "result" in answer.message
            wrong = web.ask(3, method, params, headers={"Mcp-Name": "another"}, capabilities=DECLARED)
            assert wrong.status == 400 and wrong.code == -32020
        missing = web.ask(4, "tasks/get", {"taskId": task["taskId"]}, headers=head, capabilities={})
        assert missing.status == 400 and missing.code == -32021
        refused = web.ask(5, "tools/call", {"name": "fails", "arguments": {}}, capabilities={})
        assert refused.code == -32021


def test_a_client_that_left_before_it_knew_its_task_leaves_none_behind():
    server, entered = served(), []
    create = server.tasks.store.create

    def slowly(record, room):
        entered.append(record.id)
        exchange.leave()
        return create(record, room)

    server.tasks.store.create = slowly
    with ModernWeb(server) as web:
        exchange = made(web.message(1, "tools/call", {"name": "hold", "arguments": {}}, capabilities=DECLARED))
        web.handle(exchange)
        eventually(lambda: server.tasks.store.read(entered[0]).status == "cancelled")


def test_a_thousand_tasks_that_wait_or_are_queued_hold_few_threads():
    server = served()
    with ModernWeb(server) as web:
        before = threading.active_count()
        for number in range(500):
            for name in ("asks", "hold"):
                web.ask(number, "tools/call", {"name": name, "arguments": {}}, capabilities=DECLARED)
        statuses = [record.status for record in server.tasks.store.list("", 0, 2000)]
        assert len(statuses) == 1000
        assert threading.active_count() - before <= 40
        server.gate.open()

        def over() -> bool:
            records = server.tasks.store.list("", 0, 2000)
            return sorted({record.status for record in records}) == ["completed", "input_required"]

        eventually(over)
        eventually(lambda: threading.active_count() - before <= 1)
        records = server.tasks.store.list("", 0, 2000)
        assert sum(record.status == "input_required" for record in records) == 500


def test_an_idle_server_deletes_what_has_expired_and_fails_what_was_lost(monkeypatch, tmp_path):
    """No request comes any more."""
    now = [1000.0]
    monkeypatch.setattr(stores, "wall_clock", lambda: now[0])
    monkeypatch.setattr(http_listener, "_TICK", 0.01)
    store = SqliteStore(str(tmp_path / "tasks.db"))
    server = served(tasks=Tasks(store, ttl=10))
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address) as client:
            client.start_tool("quick").result()
        dead = TaskRecord("dead", "", {"revision": "2026-07-28"}, 1000.0, 2.0, now[0])
        dead.until = store.clock() - 1.0
        assert not store.create(dead, TaskRoom(9, 9, 1 << 20))
        now[0] += 9
        eventually(lambda: not server.tasks._watching)  # else that would see to it
        assert len(store.list("", 0, 9)) == 2
        now[0] += engine.IDLE_SWEEP
        eventually(lambda: len(store.list("", 0, 9)) == 1)
        eventually(lambda: store.read("dead").status == "failed")
    store.close()
