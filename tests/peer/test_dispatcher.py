"""The dispatcher: requests in both directions at once, and what may not wait behind what."""
import json
import logging
import queue
import threading

import pytest

from mcp_ref.client import RequestFuture
from mcp_ref.errors import Busy, PeerError, PeerProtocolError, RequestCancelled
from mcp_ref.limits import Limits
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT
from tests.support.sides import (
    HANDSHAKE, ROLES, AskedClient, Both, Gate, Side, eventually, in_thread, said, sample_params, work_params,
    working_server,
)

in_both_roles = pytest.mark.parametrize("role", ROLES)
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE)


# --- Both directions --------------------------------------------------------------------------------------------------

@pytest.mark.race
@in_every_revision
def test_handlers_ask_back_and_forth_five_levels_deep_over_one_connection(revision):
    def asks(number, method, params):
        return lambda ctx: "%d %s" % (number, said(ctx.call(method, params)))

    server_handlers = {"1": asks(1, "sampling/createMessage", sample_params("2")),
                       "3": asks(3, "sampling/createMessage", sample_params("4")), "5": lambda ctx: "5"}
    client_handlers = {"2": asks(2, "tools/call", work_params("3")), "4": asks(4, "tools/call", work_params("5"))}
    with Both(server_handlers, client_handlers, client_options={"revisions": [revision]}) as both:
        assert both.work("1") == "1 2 3 4 5"
        futures = [both.submit("1") for _ in range(10)]
        assert [said(encoded(f.result(WAIT))) for f in futures] == ["1 2 3 4 5"] * 10


def encoded(result):
    return {"content": [{"text": result.content[0].text}]}


@pytest.mark.race
def test_many_threads_on_both_sides_get_their_own_answers():
    server_handlers = {str(n): (lambda n: lambda ctx: "server %d" % n)(n) for n in range(8)}
    client_handlers = {str(n): (lambda n: lambda ctx: "client %d" % n)(n) for n in range(8)}
    with Both(server_handlers, client_handlers) as both:
        def from_client(n):
            return {both.work(str(n)) for _ in range(15)}

        def from_server(n):
            request = both.server_side.request
            return {said(request("sampling/createMessage", sample_params(str(n)))) for _ in range(15)}

        callers = [(in_thread(from_client, n), {"server %d" % n}) for n in range(8)]
        callers += [(in_thread(from_server, n), {"client %d" % n}) for n in range(8)]
        assert [caller.get() for caller, _ in callers] == [expected for _, expected in callers]
        assert both.client.connection.counters.snapshot() == both.server_side.counters.snapshot() == {}


def test_ids_of_the_two_directions_have_nothing_to_do_with_each_other():
    with Side("server", handlers={"asks": lambda ctx: ctx.call("ping") and "" or "asked"}) as side:
        side.ask(1, "asks")
        nested = side.peer.receive()
        assert (nested["id"], nested["method"]) == (1, "ping")
        side.peer.respond(1, {})
        assert said(side.peer.receive()) == "asked"


# --- Nothing waits behind a handler -----------------------------------------------------------------------------------

@pytest.mark.race
@pytest.mark.parametrize("order", [["slow", "quick"], ["quick", "slow"], ["slow", "slow", "quick", "slow"]])
@in_both_roles
def test_a_quick_answer_does_not_wait_for_a_slow_handler_of_the_same_write(role, order):
    with Gate() as gate, Side(role, handlers={"slow": gate.hold, "quick": lambda ctx: "quick"}) as side:
        side.peer.send(*[side.asking("%s %d" % (do, n), do) for n, do in enumerate(order)])
        assert said(side.peer.receive()) == "quick"
        gate.entered(order.count("slow"))
        gate.open()
        assert {side.peer.receive()["id"].split()[0] for _ in range(order.count("slow"))} == {"slow"}


@pytest.mark.race
@in_both_roles
def test_a_quick_answer_does_not_wait_for_a_slow_handler_of_an_earlier_write(role):
    with Gate() as gate, Side(role, handlers={"slow": gate.hold, "quick": lambda ctx: "quick"}) as side:
        side.ask(1, "slow")
        gate.entered()
        for id in range(2, 30):
            side.ask(id, "quick")
            assert side.peer.receive()["id"] == id
        gate.open()
        assert side.peer.receive()["id"] == 1


@pytest.mark.race
@in_both_roles
def test_ping_answers_progress_and_cancellation_pass_a_full_house(role):
    steps, handlers = queue.Queue(), {}
    with Gate() as gate, Side(role, handlers=handlers, limits=Limits(max_workers=2)) as side:
        handlers.update(held=gate.hold, never=lambda ctx: steps.put("it ran"))
        side.peer.send(*[side.asking("held %d" % n, "held") for n in range(2)])
        gate.entered(2)
        side.peer.send(side.asking("queued", "never"), side.asking("queued too", "never"))
        caller = in_thread(side.connection.request, "ping", on_progress=lambda *step: steps.put(step))
        asked = side.peer.receive()
        assert asked["method"] == "ping"

        assert side.peer.call("p", "ping") == {"jsonrpc": "2.0", "id": "p", "result": {}}
        token = asked["params"]["_meta"]["progressToken"]
        side.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
        assert steps.get(timeout=WAIT) == (1, None, None)
        side.peer.respond(asked["id"], {})
        assert caller.get() == {}
        side.cancel("queued")
        side.cancel("queued too")
        side.sync()
        gate.open()
        assert {side.peer.receive()["id"] for _ in range(2)} == {"held 0", "held 1"}
        eventually(lambda: not len(side.connection.inflight))
        side.silent()
        assert steps.empty(), "cancelled while queued, so it never ran"


@pytest.mark.race
@in_both_roles
def test_progress_comes_in_order_and_before_its_result(role):
    with Side(role) as side:
        for _ in range(5):
            steps = []
            caller = in_thread(side.connection.request, "ping", on_progress=lambda *step: steps.append(step[0]))
            asked = side.peer.receive()
            token = asked["params"]["_meta"]["progressToken"]
            side.peer.send(*[{"jsonrpc": "2.0", "method": "notifications/progress",
                              "params": {"progressToken": token, "progress": n}} for n in range(100)],
                           {"jsonrpc": "2.0", "id": asked["id"], "result": {}})
            caller.get()
            assert steps == list(range(100))


def test_a_progress_callback_runs_in_the_thread_of_its_caller_and_may_use_the_connection():
    seen = []

    def reports(ctx):
        ctx.progress(1)
        ctx.call("ping")
        ctx.progress(2, 2)
        return "done"

    with Both({"reports": reports}) as both:
        def callback(*step):
            both.client.ping()
            seen.append((step[0], threading.get_ident()))

        assert both.work("reports", progress=callback) == "done"
        assert seen == [(1, threading.get_ident()), (2, threading.get_ident())]


def test_an_exception_in_a_progress_callback_reaches_the_caller_and_cancels_the_request():
    class Stop(Exception):
        pass

    def stop(*step):
        raise Stop

    with Side("server") as side:
        caller = in_thread(side.connection.request, "ping", on_progress=stop)
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        side.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
        with pytest.raises(Stop):
            caller.get()
        assert side.peer.receive()["params"]["requestId"] == asked["id"]


# --- Limits -----------------------------------------------------------------------------------------------------------

@pytest.mark.race
@in_both_roles
def test_more_work_than_workers_waits_and_more_than_max_inflight_is_refused_by_name(role):
    limits = Limits(max_workers=2, max_inflight=5)
    with Gate() as gate, Side(role, handlers={"held": gate.hold}, limits=limits) as side:
        for id in range(5):
            side.ask(id, "held")
        gate.entered(2)
        side.ask("one too many", "held")
        refusal = side.peer.receive()
        assert refusal["id"] == "one too many" and refusal["error"]["code"] == -32603
        assert "max_inflight (5)" in refusal["error"]["message"]
        assert side.peer.call("p", "ping")["result"] == {}, "a ping has always room"
        assert side.connection.executor.counts()[0] == 2 and not gate.passed()
        gate.open()
        assert {side.peer.receive()["id"] for _ in range(5)} == set(range(5))
        side.ask("now", "held")
        assert "result" in side.peer.receive()


@in_both_roles
def test_a_full_request_table_refuses_the_caller_by_name(role):
    with Side(role, limits=Limits(max_pending=3)) as side:
        waiting = [side.connection.open_request("ping") for _ in range(3)]
        with pytest.raises(Busy, match="max_pending"):
            side.connection.request("ping")
        assert len([side.peer.receive() for _ in waiting]) == 3
        side.peer.respond(waiting[0].id, {})
        assert side.connection.wait(waiting[0]) == {}
        side.connection.open_request("ping")


def test_a_handler_that_says_more_than_the_peer_reads_waits():
    near, far = pair(capacity=1024)
    written = []

    def talks(ctx):
        for number in range(300):
            ctx.log("info", "x" * 1000)
            written.append(number)

    server = working_server({"talks": talks}, limits=Limits(max_outbox_bytes=20_000)).connect(near)
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mute", "version": "0"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": work_params("talks")}
    for message in ({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
                    {"jsonrpc": "2.0", "method": "notifications/initialized"}, call):
        far.write([json.dumps(message).encode()])
    eventually(lambda: server.outbox._size > 20_000)
    assert 15 <= len(written) < 40, "it stopped where the outbox was full"
    messages = []
    while not any(b'"id":2' in message for message in messages):
        messages += far.read()
    assert len(written) == 300 and sum(b"notifications/message" in m for m in messages) == 300
    far.close()
    assert server.wait_closed(WAIT)


@pytest.mark.race
def test_what_the_reader_leaves_to_the_writer_thread_is_written_however_quick_that_is(monkeypatch):
    """The writer thread wakes, and gives up at once if it finds another thread writing: it may not find the reader."""
    with Side("server") as side:
        outbox, tried = side.connection.outbox, threading.Semaphore(0)
        flush, writer = outbox.flush, outbox._writer

        def flush_and_tell():
            flush()
            tried.release()

        class Quick:
            """The writer thread's alarm, whose ringing takes effect before it returns."""

            def release(self):
                writer().release()
                assert tried.acquire(timeout=WAIT)

        monkeypatch.setattr(outbox, "flush", flush_and_tell)
        monkeypatch.setattr(outbox, "_writer", Quick)
        monkeypatch.setattr(side.connection.transport, "write_now", lambda messages: False)
        for id in range(3):
            side.peer.request(id, "ping")
            assert side.peer.receive() == {"jsonrpc": "2.0", "id": id, "result": {}}


# --- Giving up --------------------------------------------------------------------------------------------------------

def cancelled_by_the_peer(connection, pending):
    """The request of the peer in whose handler ours is waited for is cancelled, and something else waits for that."""
    incoming = connection.inflight.begin("of the peer")
    incoming.watch(lambda: pending.settle(pending, None))
    with pytest.raises(RequestCancelled):
        connection.request("ping", within=Asking(incoming, connection))


class Asking:
    """A request of the peer's that is cancelled as soon as a request of ours, in its handler, is waited for."""

    def __init__(self, incoming, connection):
        self.id, self.unwatch = incoming.id, incoming.unwatch
        self.incoming, self.connection = incoming, connection

    def watch(self, callback, **options):
        self.incoming.watch(callback, **options)
        self.connection.inflight.cancel(self.id, "enough")


@pytest.mark.parametrize("end", [
    lambda connection, pending: connection.cancel(pending, "enough"),
    lambda connection, pending: connection.give_up(pending),
    lambda connection, pending: connection.give_up_all("gone"),
    cancelled_by_the_peer,
], ids=["cancel", "timeout", "give up all", "cancelled by the peer"])
def test_the_peer_is_told_that_a_request_is_given_up_before_anybody_wakes(end):
    """Whoever wakes may end the stream that the notification takes."""
    order = []
    with Side("server") as side:
        pending = side.connection.open_request("ping", settle=lambda *_: order.append("woken"))
        send = side.connection.outbox.send
        side.connection.outbox.send = lambda message, *about: (
            order.append("told") if b"cancelled" in message else None, send(message, *about))
        end(side.connection, pending)
        assert order == ["told", "woken"]


# --- Odd answers ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("answers, counted", [
    ([{"id": 99, "result": {}}], {"unknown response": 1}),
    ([{"id": "a", "result": {}}], {"unknown response": 1}),
    ([{"id": 0, "error": {"code": -1, "message": "?"}}], {"unknown response": 1}),
    ([{"id": "FIRST", "result": {}}, {"id": "FIRST", "result": {}}], {"late response": 1}),
    ([{"id": None, "error": {"code": -32700, "message": "Parse error"}}], {"error without id": 1}),
])
@in_both_roles
def test_answers_to_nobody_are_counted_and_the_connection_goes_on(role, answers, counted):
    with Side(role) as side:
        first, second = in_thread(side.connection.request, "ping"), in_thread(side.connection.request, "ping")
        ids = sorted([side.peer.receive()["id"], side.peer.receive()["id"]])
        for answer in answers:
            id = ids[0] if answer["id"] == "FIRST" else answer["id"]
            side.peer.send(dict({"jsonrpc": "2.0"}, **dict(answer, id=id)))
        side.sync()
        assert side.connection.counters.snapshot() == counted
        assert first.over + second.over <= 1
        for id in ids:
            side.peer.respond(id, {})
        assert first.get() == second.get() == {}


@in_both_roles
def test_a_malformed_answer_fails_the_request_that_it_names(role):
    with Side(role) as side:
        caller = in_thread(side.connection.request, "ping")
        side.peer.send({"jsonrpc": "2.0", "id": side.peer.receive()["id"], "result": "not an object"})
        with pytest.raises(PeerProtocolError, match="result: expected object"):
            caller.get()
        side.silent()


@in_both_roles
def test_a_request_whose_id_is_in_use_is_dropped_and_counted(role):
    with Gate() as gate, Side(role, handlers={"held": gate.hold}) as side:
        side.ask(1, "held")
        gate.entered()
        side.ask(1, "held")
        side.peer.request(1, "ping")
        side.silent()
        assert side.connection.counters.snapshot() == {"duplicate id": 2}
        gate.open()
        assert "result" in side.peer.receive()
        side.ask(1, "held")
        assert "result" in side.peer.receive(), "it was used before, which is the sender's fault and harms nobody"
        assert side.connection.counters["id used again"] == 1


# --- Handlers that misbehave ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
@in_both_roles
def test_whatever_a_handler_raises_is_logged_its_request_is_answered_and_the_worker_lives(role, error, caplog):
    def raises(ctx):
        raise error("by the handler")

    handlers = {"raises": raises, "works": lambda ctx: "works"}
    with Side(role, handlers=handlers, limits=Limits(max_workers=1)) as side:
        for id in range(3):
            side.ask(id, "raises")
            answer = side.peer.receive()
            assert answer["id"] == id and ("error" in answer or answer["result"]["isError"])
        side.ask("last", "works")
        assert said(side.peer.receive()) == "works"
        assert side.connection.executor.counts()[0] == 1
        assert side.connection.counters["handler errors"] == 3
    assert "raised %s: by the handler" % error.__name__ in caplog.text


@in_both_roles
def test_a_cancellation_error_of_another_request_is_no_cancellation_of_this_one(role):
    def confused(ctx):
        raise RequestCancelled("somebody else's")

    with Side(role, handlers={"confused": confused}) as side:
        side.ask(1, "confused")
        answer = side.peer.receive()
        assert answer["id"] == 1 and ("error" in answer or answer["result"]["isError"])


def test_an_error_of_the_peer_does_not_become_our_own_answer():
    with Side("client", handlers={"asks": lambda ctx: ctx.call("ping")}) as side:
        side.ask(1, "asks")
        nested = side.peer.receive()
        side.peer.send({"jsonrpc": "2.0", "id": nested["id"], "error": {"code": -1, "message": "secret", "data": "s"}})
        assert side.peer.receive()["error"] == {"code": -32603, "message": "Internal error"}


def test_a_peer_error_carries_our_request():
    with Side("client") as side:
        caller = in_thread(side.connection.request, "tools/list")
        asked = side.peer.receive()
        side.peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -5, "message": "no", "data": [1]}})
        with pytest.raises(PeerError) as caught:
            caller.get()
        error = caught.value
        assert (error.code, error.data, error.method, error.request_id) == (-5, [1], "tools/list", asked["id"])


# --- Notifications ----------------------------------------------------------------------------------------------------

def logged(n):
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": n}}


@pytest.mark.race
@pytest.mark.parametrize("error", [None, ValueError, SystemExit])
def test_notifications_reach_the_user_one_at_a_time_in_order_whatever_he_raises(error):
    seen, busy = [], threading.Lock()

    def on_notification(method, params):
        assert busy.acquire(blocking=False)
        seen.append(params["data"])
        busy.release()
        if error is not None:
            raise error("by the user's function")

    with Side("client", on_notification=on_notification) as side:
        for start in range(0, 30, 5):
            side.peer.send(*[logged(n) for n in range(start, start + 5)])
        eventually(lambda: len(seen) == 30)
        assert seen == list(range(30))


@pytest.mark.race
def test_a_slow_notification_handler_delays_only_other_notifications():
    seen = []
    with Gate() as gate:
        def on_notification(method, params):
            seen.append(params["data"])
            gate.hold()

        with Side("client", handlers={"quick": lambda ctx: "q"}, on_notification=on_notification) as side:
            side.peer.send(logged(1), side.asking(1, "quick"), logged(2))
            assert said(side.peer.receive()) == "q"
            gate.entered()
            future = RequestFuture(side.connection, lambda r: r).send("ping", None)
            side.peer.respond(side.peer.receive()["id"], {})
            assert future.result(WAIT) == {} and seen == [1]
            gate.open()
            eventually(lambda: seen == [1, 2])


def test_more_notifications_than_the_user_takes_are_dropped_and_counted():
    with Gate() as gate, Side("client", limits=Limits(max_inflight=3), on_notification=gate.hold) as side:
        side.peer.send(logged(0))
        gate.entered()
        side.peer.send(*[logged(n) for n in range(1, 9)])
        side.sync()
        assert side.connection.counters.snapshot() == {"dropped notification": 5}
        gate.open()
        gate.entered(3)


def test_a_notification_handler_may_use_the_connection():
    answers = queue.Queue()
    with Both({"quick": lambda ctx: ctx.log("info", "hello") or "q"}) as both:
        both.client.on_notification = lambda method, params: answers.put(both.work("quick") if answers.empty() else "")
        both.work("quick")
        assert answers.get(timeout=WAIT) == "q"


def test_a_client_that_shares_nothing_is_usable_after_another_one_has_ended():
    server = working_server({"w": lambda ctx: "w"})
    for _ in range(3):
        near, far = pair()
        serving = server.connect(far)
        client = AskedClient({}).open(near)
        assert client.call_tool("work", {"do": "w"}).content[0].text == "w"
        client.close()
        assert serving.wait_closed(WAIT)


class Sour(logging.Filter):
    """A filter of the program's that fails."""

    def filter(self, record):
        raise ValueError("no")


@pytest.mark.parametrize("role", ROLES)
def test_a_log_filter_that_raises_costs_no_answer_and_no_worker(role):
    """Neither where a handler failed, nor on the reader, which logs what it drops."""
    logger, sour = logging.getLogger("mcp_ref.peer"), Sour()
    logger.addFilter(sour)
    try:
        with Side(role, handlers={"fail": lambda ctx: 1 / 0, "work": lambda ctx: "done"}) as side:
            for number in range(3):
                side.ask("fail %d" % number, "fail")
                answer = side.peer.answer_to("fail %d" % number)
                assert answer.get("error", {}).get("code", -32603) == -32603
            side.peer.send({"jsonrpc": "2.0", "id": "nobody asked", "result": {}}, "rubbish")
            assert side.peer.receive()["error"]["code"] == -32700
            side.ask("work", "work")
            assert said(side.peer.answer_to("work")) == "done"
            assert len(side.connection.inflight) == 0 and side.connection.counters["log records lost"]
    finally:
        logger.removeFilter(sour)


@in_both_roles
def test_words_of_a_peer_in_the_log_are_short_and_on_one_line(role, caplog):
    caplog.set_level(logging.INFO)
    hostile, gate = "\x1b[2J\x9b\nERROR forged " + "y" * 100_000, Gate()
    with gate, Side(role, handlers={"wait": lambda ctx: gate.hold()}) as side:
        side.peer.send({"jsonrpc": "2.0", "error": {"code": 1, "message": hostile}})
        side.ask(1, "wait")
        gate.entered()
        side.peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 1, "reason": hostile}})
        eventually(lambda: any("cancelled by the peer" in record.getMessage() for record in caplog.records))
        gate.open()
    told = [record.getMessage() for record in caplog.records if "forged" in record.getMessage()]
    assert len(told) == 2 and all(text.isprintable() and len(text) < 700 for text in told), told


def test_a_role_that_cannot_say_what_failed_answers_all_the_same():
    with Side("client", handlers={"fail": lambda ctx: 1 / 0}) as side:
        side.connection.role.answer_errors = lambda error: 1 / 0
        side.ask(1, "fail")
        assert side.peer.answer_to(1)["error"] == {"code": -32603, "message": "Internal error"}
        side.silent()


def test_limits_show_what_is_not_the_default():
    assert (repr(Limits()), repr(Limits(max_workers=8))) == ("Limits()", "Limits(max_workers=8)")
