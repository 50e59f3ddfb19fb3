"""Futures of requests: outcomes, cancelling on the wire, and callbacks that may use the connection."""
import asyncio
import concurrent.futures
import threading

import pytest

from mcp_ref.client import RequestFuture
from mcp_ref.errors import ConnectionLost, PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Workers
from tests.support.patience import WAIT
from tests.support.sides import ROLES, Both, Gate, Side, eventually, in_thread

in_both_roles = pytest.mark.parametrize("role", ROLES)


def future_of(side, method="ping", params=None, convert=lambda result: result, **options):
    return RequestFuture(side.connection, convert).send(method, params, **options)


# --- Outcomes ---------------------------------------------------------------------------------------------------------

@in_both_roles
def test_a_future_is_an_ordinary_one(role):
    with Side(role) as side:
        futures = [future_of(side) for _ in range(5)]
        assert not any(f.done() or f.cancelled() for f in futures)
        with pytest.raises(concurrent.futures.TimeoutError):
            futures[0].result(0.01)
        asked = [side.peer.receive()["id"] for _ in futures]
        for id in reversed(asked):
            side.peer.respond(id, {"_meta": {"n": id}})
        assert [f.result(WAIT)["_meta"]["n"] for f in futures] == asked
        done, waiting = concurrent.futures.wait(futures, WAIT)
        assert len(done) == 5 and not waiting
        assert set(concurrent.futures.as_completed(futures, WAIT)) == set(futures)


def test_a_client_makes_messages_of_results():
    with Both({"w": lambda ctx: "w"}) as both:
        futures = [both.submit("w") for _ in range(200)]
        assert {f.result(WAIT).content[0].text for f in futures} == {"w"}


@in_both_roles
def test_each_failure_is_an_exception_of_its_own(role):
    with Side(role) as side:
        refused, lost = future_of(side), future_of(side)
        unreadable = future_of(side, convert=lambda result: result["absent"])
        ids = [side.peer.receive()["id"] for _ in range(3)]
        side.peer.send({"jsonrpc": "2.0", "id": ids[0], "error": {"code": -9, "message": "no"}})
        side.peer.respond(ids[2], {})
        with pytest.raises(PeerError, match="no"):
            refused.result(WAIT)
        assert isinstance(unreadable.exception(WAIT), KeyError)
        side.peer.close()
        with pytest.raises(ConnectionLost, match="closed"):
            lost.result(WAIT)
        with pytest.raises(ConnectionLost):
            future_of(side)


def test_an_answer_that_does_not_fit_is_the_peers_fault():
    with Side("client") as side:
        future = side.client.submit_tool("x")
        side.peer.respond(side.peer.receive()["id"], {"content": "text"})
        with pytest.raises(PeerProtocolError, match="content"):
            future.result(WAIT)


def test_a_future_belongs_to_the_thread_pool_of_nobody():
    """Asking for the answer blocks the one who asks and costs no thread."""
    before = threading.active_count()
    with Side("client") as side:
        base = threading.active_count()
        futures = [future_of(side) for _ in range(50)]
        assert threading.active_count() <= base + 1, "one timer at the most"
        for future in futures:
            future.cancel()
    eventually(lambda: threading.active_count() <= before)


def test_a_future_that_is_sent_as_the_connection_ends_leaves_no_timer(monkeypatch):
    with Side("client") as side:
        send = side.connection.outbox.send

        def ends(*message):
            send(*message)
            side.connection.close()
            assert side.connection.wait_closed(WAIT)

        monkeypatch.setattr(side.connection.outbox, "send", ends)
        with pytest.raises(ConnectionLost):
            future_of(side).result(WAIT)
    eventually(lambda: "mcp-ref:timer:memory" not in [thread.name for thread in threading.enumerate()])


# --- Cancelling -------------------------------------------------------------------------------------------------------

@in_both_roles
def test_cancel_cancels_on_the_wire_once(role):
    with Side(role) as side:
        future = future_of(side)
        id = side.peer.receive()["id"]
        waiting = in_thread(future.result, WAIT)
        assert future.cancel() and future.cancel() and future.cancelled() and future.done()
        told = side.peer.receive()
        assert told["method"] == "notifications/cancelled" and told["params"]["requestId"] == id
        with pytest.raises(concurrent.futures.CancelledError):
            waiting.get()
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(0)
        side.peer.respond(id, {})
        side.silent()


@in_both_roles
def test_cancel_comes_too_late_after_the_answer(role):
    with Side(role) as side:
        future = future_of(side)
        side.peer.respond(side.peer.receive()["id"], {})
        assert future.result(WAIT) == {}
        assert not future.cancel() and not future.cancelled()
        side.silent()


def test_a_future_that_was_never_sent_cannot_be_cancelled():
    with Side("client") as side:
        assert RequestFuture(side.connection, dict).cancel() is False


def test_cancel_reaches_the_handler_of_the_other_side():
    heard = threading.Event()

    def long(ctx):
        started.open()
        assert ctx.cancelled.wait(WAIT)
        heard.set()
        ctx.check()

    with Gate() as started, Both({"long": long}) as both:
        future = both.submit("long")
        started.hold()
        assert future.cancel() and heard.wait(WAIT)
        eventually(lambda: not len(both.server_side.inflight))


@pytest.mark.race
def test_an_answer_and_a_cancellation_at_once_have_one_winner():
    with Both({"w": lambda ctx: "w"}) as both:
        won = {True: 0, False: 0}
        for number in range(60):
            future = both.submit("w")
            if number % 3 == 0:  # the answer is here before; else it may come at any moment
                assert future.result(WAIT).content[0].text == "w"
            elif number % 3 == 1:
                both.client.ping()
            cancelled = future.cancel()
            assert cancelled == future.cancelled() and future.done() >= cancelled
            if cancelled:
                with pytest.raises(concurrent.futures.CancelledError):
                    future.result(WAIT)
            else:
                assert future.result(WAIT).content[0].text == "w"
            won[cancelled] += 1
        assert won[False] >= 20, "an answer that was here first has won"
        both.client.ping()


# --- Callbacks --------------------------------------------------------------------------------------------------------

@pytest.mark.race
@in_both_roles
def test_callbacks_run_off_the_reader_and_may_use_the_connection(role):
    seen = []

    def note(what):
        def callback(*ignored):
            side.connection.request("ping")
            seen.append((what, threading.current_thread().name.split(":")[1]))
        return callback

    with Side(role) as side:
        answering = threading.Thread(target=answer_pings, args=(side,), daemon=True)
        future = future_of(side, on_progress=note("progress"))
        future.add_done_callback(note("done"))
        future.add_done_callback(note("done too"))
        asked = side.peer.receive()
        answering.start()
        token = asked["params"]["_meta"]["progressToken"]
        for value in range(3):
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": value})
        side.peer.respond(asked["id"], {})
        eventually(lambda: len(seen) == 5)
        assert seen == [(what, "worker") for what in ["progress"] * 3 + ["done", "done too"]]
    answering.join(WAIT)


def answer_pings(side):
    try:
        while True:
            side.peer.respond(side.peer.receive(lambda m: m.get("method") == "ping")["id"], {})
    except ConnectionLost:
        pass


@pytest.mark.race
def test_progress_callbacks_come_one_at_a_time_in_order_however_slow():
    seen, busy = [], threading.Lock()
    with Gate() as gate, Side("client") as side:
        def slow(value, total, message):
            assert busy.acquire(blocking=False)
            if value == 0:
                gate.hold()
            seen.append(value)
            busy.release()

        future = future_of(side, on_progress=slow)
        future.add_done_callback(lambda f: seen.append("done"))
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for value in range(20):
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": value})
        side.peer.respond(asked["id"], {})
        assert future.result(WAIT) == {}
        gate.entered()
        gate.open()
        eventually(lambda: len(seen) == 21)
        assert seen == list(range(20)) + ["done"]


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_callback_that_raises_harms_nobody(error, caplog):
    ran = []

    def bad(*ignored):
        raise error("by the callback")

    with Side("client") as side:
        for _ in range(3):
            future = future_of(side, on_progress=bad)
            future.add_done_callback(bad)
            future.add_done_callback(ran.append)
            asked = side.peer.receive()
            token = asked["params"]["_meta"]["progressToken"]
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
            side.peer.respond(asked["id"], {})
            assert future.result(WAIT) == {}
            eventually(lambda: ran[-1:] == [future])
        said = [record.getMessage() for record in caplog.records if record.exc_info]
        for kind in ("progress", "done"):
            assert sum(text.startswith(kind + " callback") and "bad raised %s" % error.__name__ in text
                       for text in said) == 3


def test_a_callback_added_afterwards_runs_at_once_in_this_thread():
    seen = []
    with Side("client") as side:
        future = future_of(side)
        side.peer.respond(side.peer.receive()["id"], {})
        future.result(WAIT)
        future.add_done_callback(lambda f: seen.append(threading.current_thread()))
        assert seen == [threading.current_thread()]


@in_both_roles
def test_a_cancelled_future_calls_back_too(role):
    called = threading.Event()
    with Side(role) as side:
        future = future_of(side)
        future.add_done_callback(lambda f: called.set() if f.cancelled() else None)
        future.cancel()
        assert called.wait(WAIT)


@pytest.mark.race
@pytest.mark.parametrize("end", ["peer", "own"])
@in_both_roles
def test_the_end_of_the_connection_calls_back_for_every_future(role, end):
    called = threading.Semaphore(0)
    with Side(role) as side:
        for _ in range(50):
            future_of(side).add_done_callback(lambda f: f.exception() and called.release())
        if end == "peer":
            side.peer.close()
        else:
            side.connection.close()
        for _ in range(50):
            assert called.acquire(timeout=WAIT)


@pytest.mark.race
def test_a_callback_that_comes_as_the_workers_are_gone_still_runs(monkeypatch):
    """Between two threads that end a connection one may deliver after the other has closed the executor."""
    called = threading.Event()
    with Gate() as gate, Side("client") as side:
        future = future_of(side)
        future.add_done_callback(lambda f: called.set())

        monkeypatch.setattr(side.connection, "abandon", gate.hold)  # taken out of the table, and not delivered yet
        canceller = in_thread(future.cancel)
        gate.entered()
        side.connection.close()
        assert side.connection.wait_closed(WAIT)
        assert isinstance(side.connection.executor, Workers)
        gate.open()
        canceller.get()
        assert called.wait(WAIT)


def test_asyncio_can_await_and_cancel_a_future():
    heard = threading.Event()

    def long(ctx):
        started.open()
        assert ctx.cancelled.wait(WAIT)
        heard.set()

    async def main(both):
        futures = [asyncio.wrap_future(both.submit("w")) for _ in range(5)]
        results = await asyncio.wait_for(asyncio.gather(*futures), WAIT)
        given_up = asyncio.wrap_future(both.submit("long"))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(given_up, 0.01)
        lost = asyncio.wrap_future(both.submit("long"))
        both.client.close()
        with pytest.raises(ConnectionLost):
            await asyncio.wait_for(lost, WAIT)
        return [result.content[0].text for result in results]

    with Gate() as started, Both({"w": lambda ctx: "w", "long": long}, limits=Limits(drain=0.01)) as both:
        loop = asyncio.new_event_loop()
        try:
            assert loop.run_until_complete(main(both)) == ["w"] * 5
        finally:
            loop.close()
        assert heard.wait(WAIT)
