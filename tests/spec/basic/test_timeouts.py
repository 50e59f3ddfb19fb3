"""Timeouts of our requests, as a server and as a client: there always is one, it cancels, progress may not stop it.

The pages are basic/lifecycle in the handshake era and [2026-07-28 basic/patterns/cancellation §Timeouts] since.
"""
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.errors import RequestTimeout
from mcp_ref.limits import DEFAULT, Limits
from mcp_ref.peer.future import RequestFuture
from tests.support.conversation import asking
from tests.support.requirements_table import STATELESS
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, ROLES, Gate, Side, eventually, in_thread

in_both_roles = pytest.mark.parametrize("role", ROLES)
when_we_ask = pytest.mark.parametrize("role, revision", asking(HANDSHAKE + [STATELESS]))
since_2025_03_26 = pytest.mark.parametrize("role, revision", asking(HANDSHAKE[1:] + [STATELESS]))
in_a_session = pytest.mark.parametrize("role, revision", asking(HANDSHAKE[1:]))

SOON = 0.01


class ManualClock:
    """A clock that goes on only when told."""

    def __init__(self, monkeypatch):
        self.now = 5000.0
        monkeypatch.setattr(deadline, "clock", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return ManualClock(monkeypatch)


def future_of(side, **options):
    return RequestFuture(side.connection, lambda result: result).send(side.any, None, **options)


# --- There is one -----------------------------------------------------------------------------------------------------

def plain(side):
    side.connection.request(side.any)


def with_progress(side):
    side.connection.request(side.any, on_progress=lambda *step: None, extend_on_progress=True)


def as_a_future(side):
    future_of(side).result(PATIENCE)


def in_a_handler(side):
    asked = []

    def handler(ctx):
        try:
            ctx.call("ping")
        except RequestTimeout as error:
            asked.append(error)
        return "given up"

    side.handlers["asks"] = handler
    side.ask("outer", "asks")
    eventually(lambda: asked)
    raise asked[0]


def in_each_way(ways, revisions):
    """Ways to ask, in each role that asks; a handler may do so only where both roles do."""
    return pytest.mark.parametrize("role, revision, ask", [
        (role, revision, ask) for role, revision in asking(revisions) for ask in ways
        if ask is not in_a_handler or revision in HANDSHAKE])


@pytest.mark.spec("timeout.establish")
@in_each_way([plain, with_progress, as_a_future, in_a_handler], HANDSHAKE + [STATELESS])
def test_a_request_that_nobody_answers_ends(role, revision, ask):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD; [2024-11-05 basic/lifecycle §Error Handling] SHOULD"""
    with Side(role, revision, limits=Limits(request_timeout=SOON)) as side:
        with pytest.raises(RequestTimeout, match=r"%s \(request \d+\) got no answer in time" % side.any):
            ask(side)
        assert len(side.connection.table) == 0


CALLS = [
    lambda c, **o: c.ping(**o), lambda c, **o: c.call_tool("x", **o), lambda c, **o: c.read_resource("x:y", **o),
    lambda c, **o: c.submit_tool("x", **o).result(PATIENCE), lambda c, **o: c.get_prompt("x", **o),
    lambda c, **o: c.submit_resource("x:y", **o).result(PATIENCE), lambda c, **o: c.request("tools/list", **o),
    lambda c, **o: c.submit_prompt("x", **o).result(PATIENCE),
]
LISTS = [
    lambda c: c.list_tools(), lambda c: list(c.tools()), lambda c: c.list_resources(), lambda c: list(c.resources()),
    lambda c: c.list_resource_templates(), lambda c: list(c.resource_templates()), lambda c: c.list_prompts(),
    lambda c: list(c.prompts()),
]


@pytest.mark.spec("timeout.establish")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", STATELESS])
def test_no_call_of_a_client_waits_for_ever(revision):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD; [2024-11-05 basic/lifecycle §Error Handling] SHOULD"""
    with Side("client", revision, limits=Limits(request_timeout=SOON)) as side:
        for call in CALLS + LISTS:
            with pytest.raises(RequestTimeout):
                call(side.client)


@pytest.mark.spec("timeout.establish", "timeout.maximum")
@when_we_ask
def test_even_a_request_without_a_timeout_has_the_ceiling(role, revision, clock):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side(role, revision) as side:
        open_request = side.connection.open_request
        for options, seconds in (({}, DEFAULT.request_timeout), ({"timeout": None}, DEFAULT.request_ceiling),
                                 ({"timeout": 1e9}, DEFAULT.request_ceiling), ({"timeout": 5}, 5)):
            assert open_request(side.any, **options).deadline.left() == seconds


# --- It cancels -------------------------------------------------------------------------------------------------------

@pytest.mark.spec("cancel.in-flight", "timeout.cancel")
@in_each_way([plain, as_a_future, in_a_handler], HANDSHAKE[1:] + [STATELESS])
def test_a_request_that_timed_out_is_cancelled_and_its_late_answer_ignored(role, revision, ask):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side(role, revision, limits=Limits(request_timeout=SOON)) as side:
        with pytest.raises(RequestTimeout):
            ask(side)
        asked = side.peer.receive(lambda m: m.get("method") == side.any)
        told = side.peer.receive(lambda m: "method" in m)
        assert told["method"] == "notifications/cancelled" and told["params"]["requestId"] == asked["id"]
        side.sync()
        side.peer.respond(asked["id"], {})
        side.silent()
        assert side.connection.counters["late response"] == 1


@pytest.mark.spec("cancel.in-flight")
@pytest.mark.race
@in_both_roles
def test_an_answer_that_comes_as_the_time_runs_out_counts(role, clock):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts]"""
    with Gate() as gate, Side(role, limits=Limits(request_ceiling=100.0)) as side:
        caller = in_thread(side.connection.request, side.any, timeout=10, on_progress=gate.hold)
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        side.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
        gate.entered()
        side.peer.respond(asked["id"], {"_meta": {"in": "time"}})
        side.sync()
        clock.now += 1000  # past the ceiling, too
        gate.open()
        assert caller.get() == {"_meta": {"in": "time"}}
        side.silent()


@in_both_roles
def test_no_request_is_cancelled_before_it_was_sent(role):
    """[..2025-11-25 basic/utilities/cancellation §Behavior Requirements] MUST"""
    with Side(role) as side:
        for _ in range(20):
            with pytest.raises(RequestTimeout):
                future_of(side, timeout=0.0).result(PATIENCE)
        messages = [side.peer.receive() for _ in range(40)]  # the last of them may come after the barrier
        sent = [(m["method"], m.get("id", m.get("params", {}).get("requestId"))) for m in messages]
        side.silent()
        for id in {id for _, id in sent}:
            assert [method for method, other in sent if other == id] == ["ping", "notifications/cancelled"]


# --- It is the caller's choice ----------------------------------------------------------------------------------------

@pytest.mark.spec("timeout.configurable")
@since_2025_03_26
def test_each_request_may_have_a_timeout_of_its_own(role, revision):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side(role, revision) as side:
        patient = in_thread(side.connection.request, side.any, timeout=PATIENCE)
        asked = side.peer.receive()
        with pytest.raises(RequestTimeout):
            side.connection.request(side.any, timeout=SOON)
        with pytest.raises(RequestTimeout):
            future_of(side, timeout=SOON).result(PATIENCE)
        assert not patient.over
        side.peer.respond(asked["id"], {"right": True})
        assert patient.get()["right"]


@pytest.mark.spec("timeout.configurable")
@pytest.mark.parametrize("revision", HANDSHAKE[1:] + [STATELESS])
def test_the_calls_of_a_client_take_a_timeout(revision):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side("client", revision) as side:
        for call in CALLS:
            with pytest.raises(RequestTimeout):
                call(side.client, timeout=SOON)


@pytest.mark.spec("timeout.configurable")
@in_a_session
def test_a_handler_chooses_the_timeout_of_what_it_asks(role, revision):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    ended = threading.Event()

    def handler(ctx):
        with pytest.raises(RequestTimeout):
            ctx.call("ping", timeout=SOON)
        ended.set()

    with Side(role, revision, {"asks": handler}) as side:
        side.ask(1, "asks")
        assert ended.wait(PATIENCE)


# --- Progress ---------------------------------------------------------------------------------------------------------

def endless_progress(side, clock, step, ask):
    """Ask, and let the peer report progress every ``step`` seconds; how many seconds it went on, and the outcome."""
    ticks = threading.Semaphore(0)

    def tick(*ignored):
        clock.now += step
        ticks.release()

    start = clock.now
    outcome = ask(tick)
    asked = side.peer.receive()
    token = asked["params"]["_meta"]["progressToken"]
    for value in range(1000):
        side.peer.notify("notifications/progress", {"progressToken": token, "progress": value})
        while not ticks.acquire(timeout=0.005):
            if not len(side.connection.table):
                return clock.now - start, outcome
    raise AssertionError("it goes on and on")


def waiting_caller(side, extend):
    options = {"timeout": 10, "extend_on_progress": extend}
    return lambda tick: in_thread(side.connection.request, side.any, on_progress=tick, **options)


@pytest.mark.spec("timeout.maximum", "timeout.reset-on-progress")
@since_2025_03_26
def test_progress_starts_the_time_again_but_never_past_the_ceiling(role, revision, clock):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side(role, revision, limits=Limits(request_ceiling=100.0)) as side:
        seconds, outcome = endless_progress(side, clock, 9.0, waiting_caller(side, True))
        with pytest.raises(RequestTimeout):
            outcome.get()
        assert 100 <= seconds <= 109
        assert side.peer.receive()["method"] == "notifications/cancelled"


@pytest.mark.spec("timeout.maximum")
@since_2025_03_26
def test_unless_asked_for_progress_does_not_start_the_time_again(role, revision, clock):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts]"""
    with Side(role, revision) as side:
        seconds, outcome = endless_progress(side, clock, 4.0, waiting_caller(side, False))
        with pytest.raises(RequestTimeout):
            outcome.get()
        assert 10 <= seconds <= 14


@pytest.mark.spec("timeout.maximum", "timeout.reset-on-progress")
@since_2025_03_26
def test_the_ceiling_holds_for_futures_too(role, revision, clock):
    """[2025-03-26..2025-11-25 basic/lifecycle §Timeouts] SHOULD"""
    with Side(role, revision, limits=Limits(request_ceiling=100.0)) as side:
        future = future_of(side, timeout=10, on_progress=lambda *step: None, extend_on_progress=True)
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for value in range(11):
            clock.now += 9
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": value})
            side.sync()
            assert len(looked(side)) == 1 and not future.done(), "extended to %s" % (clock.now + 10)
        clock.now += 1  # that makes 100
        side.peer.notify("notifications/progress", {"progressToken": token, "progress": 99})
        side.sync()
        assert asked["id"] in looked(side) + looked(side)  # it may have read the clock before, the first time
        with pytest.raises(RequestTimeout):
            future.result(PATIENCE)


def looked(side):
    """Have the timer of the connection look at the (manual) clock, for it sleeps by the real one; the ids cancelled."""
    future = future_of(side, timeout=-1)
    future.exception(PATIENCE)
    cancelled = [None]
    while cancelled[-1] != future._pending.id:
        told = side.peer.receive(lambda m: m.get("method") == "notifications/cancelled")
        cancelled.append(told["params"]["requestId"])
    return cancelled[1:]
