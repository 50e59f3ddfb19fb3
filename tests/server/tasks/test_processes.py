"""Tasks that several processes share: who runs them, who ends them, and what becomes of those whose process has died.

Two servers with stores of their own on the same file stand for two processes, but for the one that is killed.
"""
import json
import signal
import subprocess
import sys

import pytest

from mcp_ref.ext.tasks.server import engine, generations
from mcp_ref.protocol import envelope
from mcp_ref.revisions import LATEST
from mcp_ref.server import Context, SqliteStore, Tasks
from mcp_ref.stores import TaskRecord, TaskRoom
from tests.support.by_hand import accept
from tests.support.patience import WAIT
from tests.support.sides import Gate, eventually

from .tasked import DECLARED, RELATED, Extended, Session, served, text

CHILD = """
import sys, threading
from mcp_ref.server import Context, Server, SqliteStore, Tasks
from mcp_ref.ext.tasks.server import engine
engine.LEASE = 0.6
server = Server("child", tasks=Tasks(SqliteStore(sys.argv[1])))

@server.tool(task="optional")
def hold(ctx: Context) -> str:
    open(sys.argv[1] + ".ran", "a").write("x")
    threading.Event().wait()

server.run()
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "TICK", 0.01)
    path = tmp_path / "tasks.db"
    servers = [served(tasks=Tasks(SqliteStore(path))) for _ in range(2)]
    yield servers
    for server in servers:
        server.gate.open()
    eventually(lambda: not any(server.tasks._watching for server in servers))
    for server in servers:
        server.tasks.store.close()


def test_any_process_answers_for_a_task(two):
    here, there = two
    with Extended(here) as one, Extended(there) as other:
        id = one.begin("hold")
        assert other.get(id)["result"]["status"] == "working"
        here.gate.open()
        assert text(other.until(id)["result"]) == "done"
        asking = one.begin("asks")
        other.until(asking, "input_required")
        other.update(asking, who=accept(name="Ada"))
        assert list(one.until(asking, "input_required")["inputRequests"]) == ["sure"]
        one.update(asking, sure=accept(sure=True))
        assert text(other.until(asking)["result"]) == "Ada: True"
        assert [getattr(server, "tickets", None) for server in two] == [None, ["Ada"]], "the process that was answered"


def test_a_task_is_cancelled_wherever_it_runs(two, monkeypatch):
    monkeypatch.setattr(engine, "LEASE", 3000.0)  # it does not have to be renewed for that
    here, there = two
    seen = []

    @here.tool(task="optional")
    def long(ctx: Context) -> str:
        seen.append(ctx.cancelled.wait(WAIT))
        return "late"

    with Extended(here) as one, Extended(there) as other:
        id = one.begin("long")
        other.get(id, "tasks/cancel")
        assert one.get(id)["result"]["status"] == "cancelled"
        eventually(lambda: seen == [True])
        eventually(lambda: one.count("late task results") == 1)


def test_progress_of_a_task_that_another_process_has_ended_changes_nothing(two, monkeypatch):
    monkeypatch.setattr(engine, "TICK", 3000.0)  # so that the process which runs it does not look
    here, there = two
    ended, said = Gate(), Gate()

    @here.tool(task="optional")
    def long(ctx: Context) -> str:
        ended.hold()
        ctx.progress(1, 2, "half")
        said.hold()
        return "late"

    with ended, said, Extended(here) as one, Extended(there) as other:
        id = one.begin("long")
        ended.entered()
        other.get(id, "tasks/cancel")
        before = other.get(id)["result"]
        ended.open()
        said.entered()
        assert before["status"] == "cancelled" and "cancelled" in before["statusMessage"]
        assert other.get(id)["result"] == before


def test_who_waits_or_listens_hears_of_tasks_of_other_processes(two):
    here, there = two
    with Session(here) as one, Session(there) as other:
        id = one.begin("hold")
        waiting = other.send("tasks/result", {"taskId": id})
        other.get(id)
        with Extended(here) as third, Extended(there) as fourth:
            listened = third.begin("hold")
            fourth.peer.begin("2026-07-28", DECLARED)
            fourth.peer.listen(taskIds=[listened])
            fourth.peer.envelope = None
            here.gate.open()
            assert other.answer_to(waiting)["result"]["_meta"] == {RELATED: {"taskId": id}}
            told = fourth.peer.receive(lambda message: message.get("method") == "notifications/tasks")
            assert told["params"]["taskId"] == listened and told["params"]["status"] == "completed"


def test_a_task_is_not_looked_at_any_more_once_nobody_listens(two, monkeypatch):
    here, there = two
    monkeypatch.setattr(generations, "_GRACE", 0.0)
    with Extended(here) as one, Extended(there) as other:
        id = one.begin("asks")
        one.until(id, "input_required")
        other.peer.begin("2026-07-28", DECLARED)
        other.peer.listen(taskIds=[id])
        assert there.tasks.extension.watched() == {id}
        there.listeners.end()
        eventually(lambda: not there.tasks.extension.watched())
        eventually(lambda: not there.tasks._watching)


def test_a_record_that_cannot_be_read_keeps_no_other_task_from_its_end(tmp_path):
    store = SqliteStore(tmp_path / "tasks.db")
    for id in ("odd", "lost"):
        record = TaskRecord(id, "", {"revision": "2025-11-25"}, None, 1.0, 1.0)
        record.until = 1e-9
        store.create(record, TaskRoom(9, 9, 1 << 20))
    with store._writing() as database:
        database.execute("UPDATE tasks SET record = '[1]' WHERE id = 'odd'")
    server = served(tasks=Tasks(store))
    server.tasks._look()
    assert store.read("lost").status == "failed"
    store.close()


def test_a_process_that_stood_still_has_lost_its_task(two, monkeypatch):
    here, there = two
    monkeypatch.setattr(engine, "LEASE", 0.2)
    monkeypatch.setattr(here.tasks, "_look", lambda: None)  # it renews nothing
    with Extended(here) as one, Extended(there) as other:
        id = one.begin("hold")
        end = other.until(id)
        assert end["status"] == "failed" and "process that ran the task" in end["statusMessage"]
        here.gate.open()
        eventually(lambda: one.count("late task results") == 1)
        assert one.get(id)["result"]["status"] == "failed"


def test_a_lease_is_renewed_as_long_as_the_task_runs(two, monkeypatch):
    here, there = two
    monkeypatch.setattr(engine, "LEASE", 0.3)
    with Extended(here) as one, Extended(there) as other:
        id = one.begin("hold")
        first = here.tasks.store.read(id).until
        eventually(lambda: here.tasks.store.read(id).until > first + 0.4)
        assert other.get(id)["result"]["status"] == "working"
        here.gate.open()
        other.until(id)


def test_a_task_of_a_process_that_was_killed_fails_and_does_not_run_again(tmp_path, monkeypatch):
    path = tmp_path / "tasks.db"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        params = {"name": "hold", "arguments": {}, "_meta": envelope.fields(LATEST, DECLARED)}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        child.stdin.write(json.dumps(message).encode() + b"\n")
        child.stdin.flush()
        id = json.loads(child.stdout.readline())["result"]["taskId"]
        ran = tmp_path / "tasks.db.ran"
        eventually(lambda: ran.exists() and ran.read_text() == "x")
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdin.close()
        child.stdout.close()
    server = served(tasks=Tasks(SqliteStore(path)))
    with Extended(server) as client:
        assert client.get(id)["result"]["taskId"] == id
        end = client.until(id)
        assert end["status"] == "failed" and end["error"]["code"] == -32603
        assert (tmp_path / "tasks.db.ran").read_text() == "x"
    server.tasks.store.close()


def later(servers):
    """Give each of these servers a tool that asks once its gate is open."""
    for server in servers:
        @server.tool(task="optional")
        def later(ctx: Context, server=server) -> str:
            server.gate.hold()
            return ctx.elicit("Who?", {"name": str}, key="who")["name"]


@pytest.mark.spec("tasks.input-required-metadata")
@pytest.mark.parametrize("stays", [True, False])
def test_who_waits_is_asked_what_a_task_of_another_process_asks(two, stays):
    here, there = two
    later(two)
    with Session(here) as one, Session(there) as other:
        id = one.begin("later")
        waiting = other.send("tasks/result", {"taskId": id})
        assert other.get(id)["result"]["status"] == "working"
        if not stays:
            one.peer.close()
            assert one.peer.connection.wait_closed(WAIT)
        here.gate.open()
        there.gate.open()
        asked = other.question()
        assert asked["params"]["message"] == "Who?" and asked["params"]["_meta"] == {RELATED: {"taskId": id}}
        if stays:
            also = one.question()
        other.peer.respond(asked["id"], accept(name="Ada"))
        assert text(other.answer_to(waiting)["result"]) == "Ada"
        if stays:
            withdrawn = one.peer.receive(lambda message: message.get("method") == "notifications/cancelled")
            assert withdrawn["params"]["requestId"] == also["id"], "another process was answered"
            one.peer.respond(also["id"], accept(name="Bob"))
            assert text(one.call("tasks/result", {"taskId": id})["result"]) == "Ada"


def test_a_client_that_cannot_be_asked_does_not_stop_those_who_can(two):
    here, there = two
    later(two)
    with Session(here) as one, Session(there, {}) as mute, Session(there) as other:
        id = one.begin("later")
        waiting = mute.send("tasks/result", {"taskId": id})
        mute.get(id)
        one.peer.close()
        here.gate.open()
        there.gate.open()
        counters = mute.peer.connection.counters
        eventually(lambda: counters["questions that a client cannot be asked"] == 1)
        also = other.send("tasks/result", {"taskId": id})
        other.peer.respond(other.question()["id"], accept(name="Ada"))
        assert text(other.answer_to(also)["result"]) == text(mute.answer_to(waiting)["result"]) == "Ada"
        assert counters["questions that a client cannot be asked"] == 1
