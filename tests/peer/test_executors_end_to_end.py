"""The executors under real conversations: inline, and the host's own thread."""
import json
import pathlib
import queue as queues
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from mcp_ref import connect
from mcp_ref.errors import Busy, LocalProtocolError, PeerError
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Job
from mcp_ref.server import Inline, MainThreadQueue
from mcp_ref.threads import count_waiting
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT
from tests.support.sides import (
    ROLES, AskedClient, Both, Gate, Side, eventually, in_thread, said, sample_params, work_params, working_server,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
in_both_roles = pytest.mark.parametrize("role", ROLES)


# --- Workers ----------------------------------------------------------------------------------------------------------

@in_both_roles
def test_handlers_that_all_ask_leave_workers_for_others(role):
    with Side(role, limits=Limits(max_workers=2, request_timeout=WAIT), handlers={
        "asks": lambda ctx: ctx.call("ping") or "asked", "quick": lambda ctx: "q",
    }) as side:
        for id in range(12):
            side.ask(id, "asks")
        questions = [side.peer.receive() for _ in range(12)]
        assert {question["method"] for question in questions} == {"ping"}
        side.ask("other", "quick")
        assert said(side.peer.receive()) == "q"
        for question in questions:
            side.peer.respond(question["id"], {})
        assert sorted(side.peer.receive()["id"] for _ in range(12)) == list(range(12))


@in_both_roles
def test_one_handler_too_many_that_wants_to_wait_is_told_so(role):
    refused = []

    def asks(ctx):
        try:
            ctx.call("ping")
        except Busy as error:
            refused.append(str(error))
            raise

    with Side(role, limits=Limits(max_workers=2, max_waiting=3), handlers={"asks": asks}) as side:
        for id in range(3):
            side.ask(id, "asks")
        questions = [side.peer.receive() for _ in range(3)]
        eventually(lambda: count_waiting() == 3)
        side.ask("one too many", "asks")
        answer = side.peer.receive()
        assert answer["id"] == "one too many" and "max_waiting (3)" in json.dumps(answer) and len(refused) == 1
        assert side.connection.counters["questions above the limit"] == 1
        for question in questions:
            side.peer.respond(question["id"], {})
        assert sorted(side.peer.receive()["id"] for _ in range(3)) == [0, 1, 2]


@pytest.mark.parametrize("future", [False, True])
def test_handlers_that_wait_for_another_server_leave_workers_for_others(future):
    near, far = pair()
    other = working_server({"slow": lambda ctx: gate.hold() or "slow"}).connect(far)
    with Gate() as gate, connect(near) as upstream:
        def ask(ctx):
            arguments = "work", {"do": "slow"}
            result = upstream.submit_tool(*arguments).result() if future else upstream.call_tool(*arguments)
            return result.content[0].text

        with Side("server", limits=Limits(max_workers=2), handlers={"ask": ask, "quick": lambda ctx: "q"}) as side:
            for id in range(8):
                side.ask(id, "ask")
            gate.entered(8)
            side.ask("other", "quick")
            assert said(side.peer.receive()) == "q"
            gate.open()
            assert [said(side.peer.receive()) for _ in range(8)] == ["slow"] * 8
    assert other.wait_closed(WAIT)


# --- Inline -----------------------------------------------------------------------------------------------------------

@in_both_roles
def test_inline_handlers_run_on_the_thread_that_reads(role):
    seen = []
    handlers = {"who": lambda ctx: seen.append(threading.current_thread().name)}
    with Side(role, handlers=handlers, executor=Inline()) as side:
        for id in range(3):
            side.ask(id, "who")
            assert side.peer.receive()["id"] == id
        assert seen == ["mcp-ref:reader:memory"] * 3


@in_both_roles
def test_an_inline_handler_that_asks_the_peer_is_refused_at_once(role):
    refused = []

    def asks(ctx):
        ctx.progress(1)
        try:
            ctx.call("ping")
        except LocalProtocolError as error:
            refused.append(str(error))
        return "not asked"

    with Side(role, handlers={"asks": asks}, executor=Inline()) as side:
        side.ask(1, "asks", "t")
        assert side.peer.receive()["method"] == "notifications/progress", "what does not wait is allowed"
        assert said(side.peer.receive()) == "not asked"
        assert len(refused) == 1 and "inline" in refused[0] and "ping" in refused[0]
        assert len(side.connection.table) == 0


def test_the_refusal_of_an_inline_handler_reaches_the_client_that_called_it():
    with Both({"asks": lambda ctx: ctx.call("ping")}, server_options={"executor": Inline()}) as both:
        result = both.client.call_tool("work", {"do": "asks"})
        assert result.is_error and "inline" in result.content[0].text
        both.client.ping()


@in_both_roles
def test_other_threads_may_wait_for_the_peer_beside_inline_handlers(role):
    with Side(role, handlers={"quick": lambda ctx: "q"}, executor=Inline()) as side:
        caller = in_thread(side.connection.request, "ping")
        asked = side.peer.receive()
        side.ask("other", "quick")
        assert said(side.peer.receive()) == "q"
        side.peer.respond(asked["id"], {})
        assert caller.get() == {}


@pytest.mark.race
def test_two_connections_with_one_inline_executor_do_not_mistake_each_others_threads():
    def asks(ctx):
        gates[ctx.connection].hold()
        ctx.call("ping", timeout=WAIT)

    server = working_server({"asks": asks}, executor=Inline())
    ends = [pair() for _ in range(2)]
    serving = [server.connect(far) for _, far in ends]
    alice, bob = [AskedClient({}, era="legacy").open(near) for near, _ in ends]
    with Gate() as one, Gate() as two, alice, bob:
        gates = dict(zip(serving, (one, two)))
        waiting = [in_thread(client.call_tool, "work", {"do": "asks"}) for client in (alice, bob)]
        one.entered()
        two.entered()
        one.open()
        assert "inline" in waiting[0].get().content[0].text
        assert serving[0].request("ping") == {}, "this thread is none of theirs"
        two.open()
        assert "inline" in waiting[1].get().content[0].text
    assert all(connection.wait_closed(WAIT) for connection in serving)


# --- The host's thread ------------------------------------------------------------------------------------------------

class Host:
    """A host's main thread: pumps a queue until it is told to stop."""

    def __init__(self, **options):
        self.queue = MainThreadQueue(**options)
        self._over = False
        self.thread = threading.Thread(target=self._loop, name="host", daemon=True)

    def _loop(self):
        while not self.queue.closed:
            if self.queue.wait(WAIT):
                self.queue.pump(max_ms=5)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.queue.close()
        self.thread.join(WAIT)
        assert not self.thread.is_alive()


@in_both_roles
def test_handlers_run_on_the_thread_that_pumps(role):
    seen = []
    with Host() as host, Side(role, handlers={"who": lambda ctx: seen.append(threading.current_thread())},
                              executor=host.queue) as side:
        for id in range(5):
            side.ask(id, "who")
        assert [side.peer.receive()["id"] for _ in range(5)] == list(range(5))
        assert seen == [host.thread] * 5


@pytest.mark.race
@pytest.mark.parametrize("pumped", ["server", "client", "both"])
def test_a_handler_on_the_hosts_thread_asks_back_three_levels_deep(pumped):
    """Each wait pumps, so what the peer asks meanwhile runs inside it."""
    server_handlers = {"1": lambda ctx: "1" + said(ctx.call("sampling/createMessage", sample_params("2"))),
                       "3": lambda ctx: "3" + said(ctx.call("sampling/createMessage", sample_params("4")))}
    client_handlers = {"2": lambda ctx: "2" + said(ctx.call("tools/call", work_params("3"))), "4": lambda ctx: "4"}
    with Host() as one, Host() as two:
        options = {"server_options": {"executor": one.queue} if pumped != "client" else {},
                   "client_options": {"executor": two.queue} if pumped != "server" else {}}
        with Both(server_handlers, client_handlers, **options) as both:
            assert [both.work("1") for _ in range(3)] == ["1234"] * 3


@pytest.mark.race
def test_the_thread_that_pumps_may_wait_outside_of_a_handler_too():
    seen = []
    queue = MainThreadQueue()
    queue.pump()  # this is the host's thread

    def sampled(ctx):
        seen.append(threading.current_thread())
        return "sampled"

    server_handlers = {"asks": lambda ctx: said(ctx.call("sampling/createMessage", sample_params("s")))}
    with Both(server_handlers, {"s": sampled}, client_options={"executor": queue}) as both:
        assert both.work("asks") == "sampled" and seen == [threading.current_thread()]
    queue.close()


@pytest.mark.race
def test_a_wait_on_the_hosts_thread_runs_other_handlers_meanwhile():
    with Host() as host, Side("server", executor=host.queue) as side:
        side.handlers.update(asks=lambda ctx: str(ctx.call("ping")), quick=lambda ctx: "q")
        side.ask(1, "asks")
        nested = side.peer.receive()
        side.ask(2, "quick")
        assert said(side.peer.receive()) == "q"
        side.peer.respond(nested["id"], {})
        assert said(side.peer.receive()) == "{}"


@in_both_roles
def test_a_host_that_does_not_pump_costs_an_error_and_not_a_hang(role):
    ran = []
    queue = MainThreadQueue(stall_after=0.02)
    with Side(role, handlers={"never": ran.append}, executor=queue) as side:
        side.ask(1, "never")
        error = side.peer.receive()["error"]
        assert error["code"] == -32603 and "not pumped its MainThreadQueue for 0.02 seconds" in error["message"]
        assert side.peer.call("p", "ping")["result"] == {}
        assert queue.pump() == 0 and ran == []
        queue._stall_after = WAIT  # so that even a busy machine pumps in time now
        side.ask(2, "never")
        assert queue.wait(WAIT) and queue.pump() == 1
        assert side.peer.receive()["id"] == 2
    queue.close()


@pytest.mark.race
@in_both_roles
def test_a_host_with_a_call_of_its_own_for_its_main_thread_needs_no_timer(role):
    functions, seen = queues.Queue(), []
    queue = MainThreadQueue(post=functions.put)
    loop = threading.Thread(target=lambda: [function() for function in iter(functions.get, None)], daemon=True)
    with Side(role, handlers={"who": lambda ctx: seen.append(threading.current_thread())}, executor=queue) as side:
        for id in range(5):
            side.ask(id, "who")
        loop.start()
        assert [side.peer.receive()["id"] for _ in range(5)] == list(range(5))
        assert seen == [loop] * 5
    queue.close()
    functions.put(None)
    loop.join(WAIT)
    assert not loop.is_alive()


def test_one_function_is_posted_for_each_job_so_that_none_is_left_behind():
    class Noted(Job):
        def run(self):
            ran.append(self)

    functions, ran, jobs = [], [], [Noted(), Noted(), Noted()]
    queue = MainThreadQueue(stall_after=WAIT, post=functions.append)
    assert queue.submit(jobs, SimpleNamespace(flush_soon=lambda: None))
    for number, function in enumerate(functions, 1):
        function()
        assert ran == jobs[:number]
    assert ran == jobs
    queue.close()
    assert not queue.submit([Noted()], None) and len(functions) == 3


@in_both_roles
def test_a_post_that_fails_is_logged_and_costs_an_error_and_not_the_connection(role, caplog):
    def post(function):
        raise RuntimeError("the loop is closed")

    queue = MainThreadQueue(stall_after=0.02, post=post)
    with Side(role, handlers={"never": lambda ctx: None}, executor=queue) as side:
        for id in range(2):
            side.ask(id, "never")
            assert "not pumped" in side.peer.receive()["error"]["message"]
    queue.close()
    assert "post of MainThreadQueue raised RuntimeError: the loop is closed" in caplog.text


def test_notifications_and_callbacks_of_a_host_that_does_not_pump_wait_for_it():
    seen = []
    queue = MainThreadQueue(stall_after=0.01)
    with Side("client", executor=queue, on_notification=lambda method, params: seen.append(params["data"])) as side:
        future = side.client.submit_tool("x", progress=lambda *step: seen.append("progress"))
        future.add_done_callback(lambda f: seen.append("done"))
        asked = side.peer.receive()
        side.peer.notify("notifications/message", {"level": "info", "data": "logged"})
        side.peer.notify("notifications/progress",
                         {"progressToken": asked["params"]["_meta"]["progressToken"], "progress": 1})
        side.peer.respond(asked["id"], {"content": []})
        assert future.result(WAIT).content == []
        side.ask(1, "stalled")
        assert "not pumped" in side.peer.receive()["error"]["message"], "so the others were overdue as well"
        assert seen == []
        while len(seen) < 3:
            assert queue.wait(WAIT)
            queue.pump()
        assert sorted(seen) == ["done", "logged", "progress"] and seen.index("progress") < seen.index("done")
    queue.close()


def test_a_queue_outlives_the_connections_that_share_it():
    server_handlers = {"w": lambda ctx: "w"}
    with Host() as host:
        server = working_server(server_handlers, executor=host.queue)
        for _ in range(3):
            near, far = pair()
            serving = server.connect(far)
            with AskedClient({}).open(near) as client:
                assert client.call_tool("work", {"do": "w"}).content[0].text == "w"
            assert serving.wait_closed(WAIT) and not host.queue.closed


def pump(queue, jobs):
    """Run so many jobs, as they come."""
    while jobs > 0:
        assert queue.wait(WAIT), "%d more were expected" % jobs
        jobs -= queue.pump()
    assert jobs == 0


@in_both_roles
def test_a_closed_queue_answers_with_an_error_what_waits_and_what_comes(role):
    ran = []
    queue = MainThreadQueue()
    with Side(role, handlers={"never": ran.append}, executor=queue) as side:
        side.ask(1, "never")
        assert queue.wait(WAIT)  # a ping may be answered before the job is in the queue
        queue.close()
        assert "has closed its MainThreadQueue" in side.peer.receive()["error"]["message"]
        side.ask(2, "never")
        assert side.peer.receive()["error"]["code"] == -32603
        assert ran == [] and side.connection.counters["refused work"] == 1


@in_both_roles
def test_ctrl_c_in_a_handler_reaches_the_pumping_main_thread_and_the_request_is_answered(role):
    def interrupted(ctx):
        raise KeyboardInterrupt

    queue = MainThreadQueue()
    with Side(role, handlers={"stop": interrupted, "quick": lambda ctx: "q"}, executor=queue) as side:
        side.ask(1, "stop")
        side.ask(2, "quick")
        with pytest.raises(KeyboardInterrupt):
            pump(queue, 1)
        pump(queue, 1)
        answers = {m["id"]: m for m in (side.peer.receive(), side.peer.receive())}
        assert set(answers) == {1, 2} and said(answers[2]) == "q"
    queue.close()


def test_ctrl_c_in_a_notification_handler_loses_no_notification():
    seen = []

    def on_notification(method, params):
        seen.append(params["data"])
        if params["data"] == 1:
            raise KeyboardInterrupt

    queue = MainThreadQueue()
    with Side("client", executor=queue, on_notification=on_notification) as side:
        for n in range(3):
            side.peer.notify("notifications/message", {"level": "info", "data": n})
        with pytest.raises(KeyboardInterrupt):
            pump(queue, 2)  # the second is a job of its own if it comes late
        while len(seen) < 3:
            pump(queue, 1)
        assert seen == [0, 1, 2]
    queue.close()


@pytest.mark.race
def test_a_call_cancelled_before_the_host_pumps_does_not_run():
    ran = []
    queue = MainThreadQueue()
    with Side("server", handlers={"never": ran.append, "now": lambda ctx: "now"}, executor=queue) as side:
        side.ask(1, "never")
        side.ask(2, "now")
        side.cancel(1)
        side.sync()
        pump(queue, 2)
        assert ran == []
        assert side.peer.receive()["id"] == 2
        side.silent()
    queue.close()


# --- A real process ---------------------------------------------------------------------------------------------------

PUMPED = '''
import sys, threading
from mcp_ref import Context, Limits, Server
from mcp_ref.server import MainThreadQueue
server = Server("pumped", executor=MainThreadQueue(), limits=Limits(shutdown_grace=0.1, drain=0.05))

@server.tool
def where() -> str:
    return threading.current_thread().name

@server.tool
def back(ctx: Context) -> str:
    ctx.call("ping")
    return where()

@server.tool
def stuck() -> str:
    print("stuck", file=sys.stderr, flush=True)
    threading.Event().wait()

server.run()
print("served", file=sys.stderr)
'''


def test_a_stdio_server_runs_its_handlers_on_the_main_thread_and_ends_with_its_client():
    limits = Limits(shutdown_grace=WAIT)
    child = StdioChild([sys.executable, "-c", PUMPED], env={"PYTHONPATH": str(ROOT)}, limits=limits)
    with connect(child, era="legacy") as client:  # so that the server may ask back
        assert client.call_tool("where").content[0].text == "MainThread"
        assert client.call_tool("back").content[0].text == "MainThread"
    assert child.stderr_tail() == b"served\n" and child._child.process.returncode == 0


def test_a_stdio_server_whose_main_thread_is_stuck_ends_with_its_client():
    child = subprocess.Popen([sys.executable, "-c", PUMPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, cwd=str(ROOT))
    opening = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
               '"capabilities":{},"clientInfo":{"name":"x","version":"0"}}}\n'
               '{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    child.stdin.write((opening + '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stuck"}}\n').encode())
    child.stdin.flush()
    assert child.stderr.readline() == b"stuck\n"
    _, errors = child.communicate(timeout=WAIT)  # closes stdin
    assert child.returncode == 0 and errors == b""


def test_a_peer_error_in_a_wait_on_the_hosts_thread_reaches_the_handler():
    seen = []

    def asks(ctx):
        try:
            ctx.call("ping")
        except PeerError as error:
            seen.append(error.code)

    with Host() as host, Side("server", handlers={"asks": asks}, executor=host.queue) as side:
        side.ask(1, "asks")
        nested = side.peer.receive()
        side.peer.send({"jsonrpc": "2.0", "id": nested["id"], "error": {"code": -7, "message": "no"}})
        assert side.peer.receive()["id"] == 1
        eventually(lambda: seen == [-7])
