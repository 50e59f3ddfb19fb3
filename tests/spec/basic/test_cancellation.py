"""Cancellation, of our requests and of the peer's, as a server and as a client, in every revision.

Where there is no handshake, clients ask and cancel, and servers answer [2026-07-28 basic/patterns/cancellation].
"""
import logging
import threading

import pytest

from mcp_ref.errors import ConnectionLost, PeerError, RequestCancelled, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.peer.future import RequestFuture
from mcp_ref.transports.memory import pair
from tests.support.conversation import answering, asking
from tests.support.requirements_table import STATELESS
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, ROLES, AskedClient, Gate, Side, eventually, in_thread, said

in_both_roles = pytest.mark.parametrize("role", ROLES)
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
when_we_ask = pytest.mark.parametrize("role, revision", asking(HANDSHAKE + [STATELESS]))
when_we_answer = pytest.mark.parametrize("role, revision", answering(HANDSHAKE + [STATELESS]))


def is_cancellation(message):
    return message.get("method") == "notifications/cancelled"


def ended_by_the_peer(ctx):
    """A handler that waits for its cancellation and then stops, as it should."""
    assert ctx.cancelled.wait(PATIENCE)
    ctx.check()


# --- What we send -----------------------------------------------------------------------------------------------------

@pytest.mark.spec("cancel.same-direction", "cancel.in-progress-only", "cancel.in-flight")
@in_both_roles
@in_every_revision
def test_only_a_request_of_ours_that_is_still_in_flight_is_cancelled(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST"""
    with Gate() as gate, Side(role, revision, {"held": gate.hold}) as side:
        answered, pending = side.connection.open_request("ping"), side.connection.open_request("ping")
        side.ask(pending.id, "held")  # the peer's request of the same id is another one
        gate.entered()
        sent = [side.peer.receive(), side.peer.receive()]
        assert [m["id"] for m in sent] == [answered.id, pending.id], "the request comes before its cancellation"
        side.peer.respond(answered.id, {})
        side.sync()

        assert side.connection.cancel(answered, "too late") is False
        assert side.connection.cancel(pending, "no longer needed") is True
        assert side.connection.cancel(pending, "again") is False
        told = side.peer.receive()
        assert told["method"] == "notifications/cancelled"
        assert told["params"] == {"requestId": pending.id, "reason": "no longer needed"}
        side.silent()
        gate.open()
        assert side.peer.receive()["id"] == pending.id, "the peer's own request goes on"


@pytest.mark.spec("cancel.in-progress-only", "cancel.in-flight")
def test_a_client_without_handshake_cancels_only_what_is_still_in_flight():
    """[2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST"""
    with Side("client", STATELESS) as side:
        answered, pending = side.connection.open_request("tools/list"), side.connection.open_request("tools/list")
        assert [side.peer.receive()["id"] for _ in range(2)] == [answered.id, pending.id]
        side.peer.respond(answered.id, {"tools": []})
        side.silent()
        assert side.connection.cancel(answered, "too late") is False
        assert side.connection.cancel(pending, "no longer needed") is True
        assert side.connection.cancel(pending, "again") is False
        told = side.peer.receive()
        assert told["method"] == "notifications/cancelled"
        assert told["params"] == {"requestId": pending.id, "reason": "no longer needed"}
        side.silent()


@pytest.mark.spec("cancel.in-flight", "cancel.in-progress-only")
@when_we_ask
@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -1, "message": "no"}}], ids=["result", "error"])
def test_a_request_that_was_answered_is_not_cancelled_when_its_caller_goes_on(role, revision, answer):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements]
    [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST"""
    with Side(role, revision) as side:
        caller = in_thread(lambda: side.connection.request("tools/list" if revision == STATELESS else "ping"))
        asked = side.peer.receive()
        side.peer.send(dict({"jsonrpc": "2.0", "id": asked["id"]}, **answer))
        try:
            caller.get()
        except PeerError:
            assert "error" in answer
        side.silent()


@pytest.mark.spec("cancel.same-direction", "cancel.in-progress-only")
@in_both_roles
@in_every_revision
def test_when_the_peer_cancels_what_we_answer_we_cancel_what_we_asked_for_it(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST"""
    seen = []

    def asks_back(ctx):
        try:
            ctx.call("ping")
        except RequestCancelled as error:
            seen.append(str(error))
            raise

    with Side(role, revision, {"asks back": asks_back}) as side:
        side.ask("outer", "asks back")
        nested = side.peer.receive()
        assert nested["method"] == "ping"
        side.cancel("outer", "the user left")
        told = side.peer.receive()
        assert is_cancellation(told) and told["params"]["requestId"] == nested["id"]
        eventually(lambda: not len(side.connection.inflight))
        side.silent()
        assert len(seen) == 1 and "the request it belongs to was cancelled" in seen[0]


@pytest.mark.spec("cancel.no-initialize")
@pytest.mark.parametrize("given_up", ["timeout", "close", "interrupt"])
@in_every_revision
def test_initialize_is_given_up_without_a_cancellation(revision, given_up, monkeypatch):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST NOT"""
    near, far = pair()
    peer = ScriptedPeer(far)
    limits = Limits(initialize_timeout=0.02 if given_up == "timeout" else 60)
    client = AskedClient({}, revisions=[revision], limits=limits)
    gate = Gate()
    if given_up == "interrupt":
        def interrupted(pending, timeout):
            gate.hold()
            raise KeyboardInterrupt

        monkeypatch.setattr("mcp_ref.peer.request_table.Pending.next", interrupted)
    opening = in_thread(client.open, near)
    assert peer.receive()["method"] == "initialize"
    if given_up == "close":
        client.close()
    gate.open()
    with pytest.raises({"timeout": RequestTimeout, "close": ConnectionLost, "interrupt": KeyboardInterrupt}[given_up]):
        opening.get()
    with pytest.raises(ConnectionLost):
        peer.receive()
    assert [m["method"] for m in peer.seen] == ["initialize"]
    peer.close()
    client.close()


def by_its_caller(connection):
    pending = connection.open_request("ping")
    connection.cancel(pending, "enough")
    return pending.id


def by_a_future(connection):
    future = RequestFuture(connection, lambda result: result).send("ping", None)
    assert future.cancel() is True
    return future._pending.id


def by_its_deadline(connection):
    pending = connection.open_request("ping", timeout=0.01)
    with pytest.raises(RequestTimeout):
        connection.wait(pending)
    return pending.id


def by_the_deadline_of_a_future(connection):
    future = RequestFuture(connection, lambda result: result).send("ping", None, timeout=0.01)
    with pytest.raises(RequestTimeout):
        future.result(PATIENCE)
    return future._pending.id


def by_a_caller_that_is_interrupted(connection):
    pending = connection.open_request("ping")
    with pytest.raises(KeyboardInterrupt):
        connection.wait(Interrupting(pending))
    return pending.id


class Interrupting:
    """A pending request in whose wait Ctrl-C is pressed."""

    def __init__(self, pending):
        self._pending = pending

    def __getattr__(self, name):
        return getattr(self._pending, name)

    def next(self, timeout):
        raise KeyboardInterrupt


@pytest.mark.spec("cancel.request-id-required")
@pytest.mark.parametrize("give_up", [by_its_caller, by_a_future, by_its_deadline, by_the_deadline_of_a_future,
                                     by_a_caller_that_is_interrupted])
@in_both_roles
def test_every_cancellation_says_which_request(role, give_up):
    """[2025-11-25 basic/utilities/cancellation §Cancellation Flow]"""
    with Side(role, "2025-11-25") as side:
        id = give_up(side.connection)
        assert side.peer.receive()["id"] == id
        told = side.peer.receive()
        assert is_cancellation(told) and told["params"]["requestId"] == id and told["params"]["reason"]
        side.silent()


@pytest.mark.spec("cancel.in-flight", "cancel.ignore-late-response", "cancel.race")
@pytest.mark.parametrize("answer", ["result", "error"])
@when_we_ask
def test_an_answer_to_a_request_that_we_cancelled_is_ignored(role, revision, answer):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    late = {"result": {"result": {}}, "error": {"error": {"code": -32603, "message": "cancelled"}}}[answer]
    with Side(role, revision) as side:
        waiting = side.connection.open_request(side.any)
        caller = in_thread(side.connection.wait, waiting)
        future = RequestFuture(side.connection, lambda result: result).send(side.any, None)
        assert side.connection.cancel(waiting, "enough") and future.cancel()
        for id in (waiting.id, future._pending.id):
            side.peer.send(dict({"jsonrpc": "2.0", "id": id}, **late))
        assert all(is_cancellation(m) or m["method"] == side.any for m in side.sync())
        with pytest.raises(RequestCancelled, match="enough"):
            caller.get()
        assert future.cancelled() and side.connection.counters["late response"] == 2
        side.silent()


# --- What we receive --------------------------------------------------------------------------------------------------

@pytest.mark.spec("cancel.stop-processing", "cancel.no-response")
@when_we_answer
def test_a_cancelled_handler_hears_of_it_stops_and_is_not_answered_for(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    events = []

    def handler(ctx):
        events.append("started")
        gate.hold()
        assert ctx.cancelled.wait(PATIENCE)
        events.append("heard")
        ctx.check()
        events.append("went on")

    with Gate() as gate, Side(role, revision, {"long": handler}) as side:
        side.ask(1, "long")
        gate.entered()
        side.cancel(1)
        gate.open()
        eventually(lambda: not len(side.connection.inflight))
        side.silent()
        assert events == ["started", "heard"]


@pytest.mark.spec("cancel.no-response")
@pytest.mark.parametrize("ending", ["returns", "raises"])
@when_we_answer
def test_a_handler_that_ignores_its_cancellation_answers_nobody(role, revision, ending):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""

    def stubborn(ctx):
        gate.hold()
        if ending == "raises":
            raise ValueError("too late")
        return "too late"

    with Gate() as gate, Side(role, revision, {"stubborn": stubborn}) as side:
        side.ask(1, "stubborn")
        gate.entered()
        side.cancel(1)
        side.sync()
        gate.open()
        eventually(lambda: not len(side.connection.inflight))
        side.silent()


@pytest.mark.spec("cancel.stop-processing")
@when_we_answer
def test_a_request_that_is_cancelled_before_a_worker_has_taken_it_never_runs(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    ran = []
    handlers = {"never": ran.append, "now": lambda ctx: "now"}
    with Gate() as gate, Side(role, revision, handlers, limits=Limits(max_workers=1)) as side:
        handlers["held"] = gate.hold
        side.ask("first", "held")
        gate.entered()
        side.ask(2, "never")
        side.cancel(2)
        side.ask(3, "now")
        side.sync()
        gate.open()
        assert [side.peer.receive()["id"] for _ in range(2)] == ["first", 3]
        side.silent()
        assert ran == []


@pytest.mark.spec("cancel.stop-processing", "cancel.no-response")
@when_we_answer
def test_a_request_and_its_cancellation_in_one_write_cost_nothing(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    ran = []
    with Side(role, revision, {"never": ran.append}) as side:
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        with side.peer.transport._outgoing._changed:  # so that the reader gets both at once
            side.peer.send(side.asking(1, "never"), cancelled)
        side.silent()
        eventually(lambda: not len(side.connection.inflight))
        assert ran == []


@pytest.mark.spec("cancel.free-resources")
@in_both_roles
@in_every_revision
def test_a_cancelled_request_gives_back_its_place_and_what_it_asked_for(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""

    def greedy(ctx):
        ctx.cancelled  # makes the event
        ctx.call("ping")

    limits = Limits(max_inflight=2, max_pending=2, max_workers=2)
    with Side(role, revision, {"greedy": greedy, "quick": lambda ctx: "done"}, limits=limits) as side:
        for number in range(10):
            side.ask(number, "greedy")
            assert side.peer.receive()["method"] == "ping"
            side.cancel(number)
            assert is_cancellation(side.peer.receive())
            eventually(lambda: not len(side.connection.inflight) and not len(side.connection.table))
        side.ask("last", "quick")
        assert said(side.peer.receive()) == "done"
        threads, awake, queued = side.connection.executor.counts()
        assert threads <= 2 and queued == 0


@pytest.mark.spec("cancel.free-resources", "cancel.stop-processing")
def test_a_cancelled_request_that_stood_alone_gives_back_its_place():
    """[2026-07-28 basic/patterns/cancellation §Behavior Requirements] SHOULD"""
    handlers = {"long": ended_by_the_peer, "quick": lambda ctx: "done"}
    with Side("server", STATELESS, handlers, limits=Limits(max_inflight=1, max_workers=1)) as side:
        for number in range(10):
            side.ask(number, "long")
            side.cancel(number)
            side.silent()
            eventually(lambda: not len(side.connection.inflight))
        side.ask("last", "quick")
        assert said(side.peer.receive()) == "done"
        threads, awake, queued = side.connection.executor.counts()
        assert threads <= 1 and queued == 0


@pytest.mark.spec("cancel.in-flight", "cancel.race", "cancel.ignore-completed")
@when_we_answer
def test_a_cancellation_after_the_answer_changes_nothing(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Timing Considerations] MUST"""
    with Side(role, revision, {"quick": lambda ctx: "done"}) as side:
        side.ask(1, "quick")
        assert said(side.peer.receive()) == "done"
        side.cancel(1)
        side.cancel(1, None)
        side.silent()
        side.ask(2, "quick")
        assert said(side.peer.receive()) == "done"


@pytest.mark.spec("cancel.in-flight", "cancel.race")
@pytest.mark.race
@pytest.mark.parametrize("first", ["cancellation", "answer"])
@pytest.mark.parametrize("role, revision", answering(["2024-11-05", "2025-11-25", STATELESS]))
def test_where_answer_and_cancellation_meet_the_first_one_wins(role, revision, first, monkeypatch):
    """[..2025-11-25 basic/utilities/cancellation §Timing Considerations] MUST"""
    with Gate() as before, Gate() as after, Side(role, revision, {"quick": lambda ctx: "done"}) as side:
        finish = side.connection.inflight.finish

        def meeting(incoming):
            if incoming.id != 1:
                return finish(incoming)
            before.hold()
            wanted = finish(incoming)
            after.hold()
            return wanted

        monkeypatch.setattr(side.connection.inflight, "finish", meeting)
        side.ask(1, "quick")
        before.entered()
        if first == "answer":
            before.open()
            after.entered()
        side.cancel(1)
        side.sync()
        before.open()
        after.open()
        if first == "answer":
            assert said(side.peer.receive()) == "done"
        eventually(lambda: not len(side.connection.inflight))
        side.silent()


@pytest.mark.spec("cancel.race")
@pytest.mark.race
@pytest.mark.parametrize("role, revision", answering(["2025-11-25", STATELESS]))
def test_cancellations_that_race_with_quick_answers_break_nothing(role, revision):
    """[..2025-11-25 basic/utilities/cancellation §Timing Considerations] MUST"""
    with Side(role, revision, {"quick": lambda ctx: "done"}) as side:
        for id in range(50):
            side.ask(id, "quick")
            side.cancel(id)
        answered = [m["id"] for m in side.sync()]
        eventually(lambda: not len(side.connection.inflight))
        side.ask("last", "quick")
        while answered[-1:] != ["last"]:
            answered.append(side.peer.receive()["id"])
        assert len(answered) == len(set(answered)) <= 51


NOTHING = {
    "unknown": [{"requestId": 99}, {"requestId": "1"}, {"requestId": -1, "reason": "?"}, {"requestId": ""}],
    "completed": [{"requestId": "done"}, {"requestId": "done", "reason": "too late"}],
    "malformed": [{"requestId": 1.0}, {"requestId": True}, {"requestId": None}, {"requestId": [1]},
                  {"requestId": {"id": 1}}, {"requestid": 1}, {"reason": "no id"}, {}, None],
    "no notification": [[1], 1, "1", False],
}


@pytest.mark.spec("cancel.in-flight", "cancel.ignore-unknown", "cancel.ignore-completed", "cancel.ignore-malformed")
@pytest.mark.parametrize("kind", NOTHING)
@when_we_answer
def test_a_cancellation_of_nothing_is_ignored(role, revision, kind):
    """[..2025-11-25 basic/utilities/cancellation §Error Handling] SHOULD"""
    with Gate() as gate, Side(role, revision, {"held": gate.hold, "done": lambda ctx: "done"}) as side:
        side.ask("done", "done")
        assert said(side.peer.receive()) == "done"
        side.ask(1, "held")
        gate.entered()
        for params in NOTHING[kind]:
            side.peer.notify("notifications/cancelled", params)
        side.silent()
        counted = "malformed message" if kind == "no notification" else "cancellation of nothing"
        assert side.connection.counters.snapshot() == {counted: len(NOTHING[kind])}
        gate.open()
        assert side.peer.receive()["id"] == 1, "nothing was cancelled"


@pytest.mark.spec("cancel.ignore-unknown")
@in_every_revision
def test_a_cancellation_before_the_handshake_is_ignored(revision):
    """[..2025-11-25 basic/utilities/cancellation §Error Handling] SHOULD"""
    from mcp_ref.server import Server

    with ScriptedPeer.of_server(Server("early")) as peer:
        peer.notify("notifications/cancelled", {"requestId": "init"})
        assert peer.handshake(revision)["protocolVersion"] == revision
        assert peer.barrier() == []


# --- The log ----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("cancel.log-reason")
@when_we_answer
def test_the_reason_is_logged_where_it_arrives(role, revision, caplog):
    """[..2025-11-25 basic/utilities/cancellation §Implementation Notes] SHOULD"""
    caplog.set_level(logging.INFO, logger="mcp_ref")
    with Side(role, revision, {"long": ended_by_the_peer}) as side:
        side.ask("job 7", "long")
        side.cancel("job 7", "the user pressed stop")
        side.sync()
        assert any("job 7" in r.getMessage() and "the user pressed stop" in r.getMessage() for r in caplog.records)


@pytest.mark.spec("cancel.log-reason")
@when_we_ask
def test_the_reason_is_logged_where_it_comes_from(role, revision, caplog):
    """[..2025-11-25 basic/utilities/cancellation §Implementation Notes] SHOULD"""
    caplog.set_level(logging.INFO, logger="mcp_ref")
    with Side(role, revision) as side:
        side.connection.cancel(side.connection.open_request(side.any), "the plan changed")
        assert any(side.any in r.getMessage() and "the plan changed" in r.getMessage() for r in caplog.records)


@pytest.mark.spec("cancel.log-reason")
def test_a_huge_reason_does_not_fill_the_log(caplog):
    """[..2025-11-25 basic/utilities/cancellation §Implementation Notes] SHOULD"""
    caplog.set_level(logging.INFO, logger="mcp_ref")
    with Side("server", "2025-11-25", {"long": ended_by_the_peer}) as side:
        side.ask(1, "long")
        side.cancel(1, "x" * 100_000)
        side.sync()
    assert max(len(r.getMessage()) for r in caplog.records) < 1000


# --- Two of ours ------------------------------------------------------------------------------------------------------

@pytest.mark.race
def test_a_cancellation_goes_down_through_all_that_was_asked_for_the_request():
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] SHOULD"""
    from tests.support.sides import Both, sample_params, work_params

    stopped, bottom = [], threading.Semaphore(0)

    def deeper(method, params):
        def handler(ctx):
            try:
                ctx.call(method, params)
            except RequestCancelled:
                stopped.append(ctx.connection.session.party)
                raise
        return handler

    def last(ctx):
        bottom.release()
        assert ctx.cancelled.wait(PATIENCE)
        stopped.append("bottom")
        ctx.check()

    server_handlers = {"1": deeper("sampling/createMessage", sample_params("2")),
                       "3": deeper("sampling/createMessage", sample_params("4")), "5": last}
    client_handlers = {"2": deeper("tools/call", work_params("3")), "4": deeper("tools/call", work_params("5"))}
    with Both(server_handlers, client_handlers) as both:
        future = both.submit("1")
        assert bottom.acquire(timeout=PATIENCE)
        assert future.cancel()
        eventually(lambda: len(stopped) == 5)
        assert sorted(stopped) == ["bottom", "client", "client", "server", "server"]
        eventually(lambda: not len(both.server_side.inflight) and not len(both.client.connection.inflight))
        assert len(both.server_side.table) == len(both.client.connection.table) == 0
        both.client.ping()
