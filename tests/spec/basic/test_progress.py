"""Progress, of the peer's requests and of ours, as a server and as a client, in every revision.

Where there is no handshake, only servers report any [2026-07-28 basic/patterns/progress].
"""
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.errors import RequestCancelled
from mcp_ref.limits import Limits
from mcp_ref.peer.future import RequestFuture
from tests.support.conversation import answering, asking
from tests.support.requirements_table import STATELESS
from tests.support.scripted import PATIENCE
from tests.support.sides import HANDSHAKE, ROLES, Gate, Side, eventually, in_thread, said

in_both_roles = pytest.mark.parametrize("role", ROLES)
in_every_revision = pytest.mark.parametrize("revision", HANDSHAKE)
when_we_ask = pytest.mark.parametrize("role, revision", asking(HANDSHAKE + [STATELESS]))
when_we_answer = pytest.mark.parametrize("role, revision", answering(HANDSHAKE + [STATELESS]))

UNLIMITED = Limits(max_progress_burst=10**9)


def progress_of(messages):
    """The params of the progress notifications among messages; there is nothing else but one answer at the end."""
    assert all(m.get("method") == "notifications/progress" for m in messages[:-1]), messages
    assert "method" not in messages[-1], messages
    return [m["params"] for m in messages[:-1]]


def heard(side, id):
    """Everything up to the answer to this id."""
    messages = [side.peer.receive()]
    while messages[-1].get("id") != id:
        messages.append(side.peer.receive())
    return messages


# --- Tokens of ours ---------------------------------------------------------------------------------------------------

@pytest.mark.spec("progress.token-type", "progress.token-unique")
@when_we_ask
def test_our_tokens_are_integers_or_strings_and_differ_among_active_requests(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MUST"""
    with Side(role, revision) as side:
        open_request = side.connection.open_request
        pending = [open_request(side.any, on_progress=lambda *step: None) for _ in range(20)]
        tokens = [side.peer.receive()["params"]["_meta"]["progressToken"] for _ in pending]
        assert {type(token) for token in tokens} <= {int, str} and len(set(tokens)) == 20


@in_both_roles
@in_every_revision
def test_without_a_callback_no_progress_is_asked_for(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow]"""
    with Side(role, revision) as side:
        side.connection.open_request("ping")
        assert "params" not in side.peer.receive()


@pytest.mark.spec("progress.track-tokens")
@when_we_ask
def test_progress_reaches_the_request_of_its_token_and_no_other(role, revision):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] SHOULD"""
    steps = {"one": [], "two": []}
    with Side(role, revision) as side:
        callers, tokens = {}, {}
        for name in steps:
            note = lambda *step, name=name: steps[name].append(step)  # noqa: E731
            callers[name] = in_thread(side.connection.request, side.any, on_progress=note)
            tokens[name] = side.peer.receive()
        for name, value in (("two", 1), ("one", 5), ("two", 2.5), ("nobody", 3), ("one", 6)):
            token = tokens[name]["params"]["_meta"]["progressToken"] if name in tokens else 12345
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": value, "total": 10})
        for name in steps:
            side.peer.respond(tokens[name]["id"], {})
            callers[name].get()
        side.peer.notify("notifications/progress",
                         {"progressToken": tokens["one"]["params"]["_meta"]["progressToken"], "progress": 7})
        side.silent()
        assert steps == {"one": [(5, 10, None), (6, 10, None)], "two": [(1, 10, None), (2.5, 10, None)]}
        assert side.connection.counters["progress for no request"] == 2


MALFORMED = [
    {"progress": 1}, {"progressToken": None, "progress": 1}, {"progressToken": 1.0, "progress": 1},
    {"progressToken": True, "progress": 1}, {"progressToken": [1], "progress": 1}, {"progressToken": 1},
    {"progressToken": 1, "progress": "1"}, {"progressToken": 1, "progress": True},
    {"progressToken": 1, "progress": None}, {"progressToken": 1, "progress": 1, "total": "2"}, {}, None,
]


@in_both_roles
def test_malformed_progress_is_dropped_and_counted(role):
    """[..2025-11-25 basic/utilities/progress §Progress Flow]"""
    steps = []
    with Side(role) as side:
        caller = in_thread(side.connection.request, "ping", on_progress=lambda *step: steps.append(step))
        asked = side.peer.receive()
        for params in MALFORMED:
            if params and type(params.get("progressToken")) is int:
                params = dict(params, progressToken=asked["params"]["_meta"]["progressToken"])
            side.peer.notify("notifications/progress", params)
        side.peer.respond(asked["id"], {})
        caller.get()
        assert steps == [] and side.connection.counters.snapshot() == {"malformed progress": len(MALFORMED)}


@pytest.mark.spec("progress.carries-message", "progress.carries-total", "progress.carries-value", "progress.float")
@when_we_ask
def test_the_callback_gets_value_total_and_message(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MAY"""
    steps = []
    with Side(role, revision) as side:
        caller = in_thread(side.connection.request, side.any, on_progress=lambda *step: steps.append(step))
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for step in ({"progress": 0.25}, {"progress": 1, "total": 2.5}, {"progress": 2, "message": "half \u2028 way"}):
            side.peer.notify("notifications/progress", dict(step, progressToken=token))
        side.peer.respond(asked["id"], {})
        caller.get()
        assert steps == [(0.25, None, None), (1, 2.5, None), (2, None, "half \u2028 way")]


# --- Tokens of the peer's ---------------------------------------------------------------------------------------------

def three_steps(ctx):
    ctx.progress(1)
    ctx.progress(1.5, 3)
    ctx.progress(3, 3, "done")
    return "counted"


@pytest.mark.spec("progress.token-active", "progress.token-in-progress", "progress.carries-token")
@when_we_answer
def test_our_progress_carries_the_token_of_the_request(role, revision):
    """[..2025-11-25 basic/utilities/progress §Behavior Requirements] MUST"""
    with Side(role, revision, {"count": three_steps}) as side:
        for id, token in enumerate(["abc", "", 0, 7, -1, "7", 2**60]):
            side.ask(id, "count", token)
            sent = progress_of(heard(side, id))
            assert [(p["progressToken"], type(p["progressToken"])) for p in sent] == [(token, type(token))] * 3
            assert [p["progress"] for p in sent] == [1, 1.5, 3] and [p.get("total") for p in sent] == [None, 3, 3]
            assert [p.get("message") for p in sent] == [None, None, None if revision == "2024-11-05" else "done"]


@pytest.mark.spec("progress.token-active")
@when_we_answer
def test_without_a_token_nothing_is_sent(role, revision):
    """[..2025-11-25 basic/utilities/progress §Behavior Requirements] MUST"""
    with Side(role, revision, {"count": three_steps}) as side:
        side.ask(1, "count")
        assert progress_of(heard(side, 1)) == []


@pytest.mark.spec("progress.token-type")
@when_we_answer
def test_a_token_of_another_type_gets_no_progress(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MUST"""
    with Side(role, revision, {"count": three_steps}) as side:
        for id, token in enumerate([1.5, True, [1], {"a": 1}]):
            side.ask(id, "count", token)
            assert progress_of(heard(side, id)) == [], token
        side.silent()


@pytest.mark.spec("progress.token-active", "progress.token-in-progress")
@when_we_answer
def test_each_of_two_running_requests_reports_under_its_own_token(role, revision):
    """[..2025-11-25 basic/utilities/progress §Behavior Requirements] MUST"""

    def stepping(gate):
        def handler(ctx):
            ctx.progress(1)
            gate.hold()
            ctx.progress(2)
        return handler

    with Gate() as one, Gate() as two, Side(role, revision, {"one": stepping(one), "two": stepping(two)}) as side:
        side.ask("a", "one", "token a")
        one.entered()
        side.ask("b", "two", "token b")
        two.entered()
        two.open()
        first = heard(side, "b")
        one.open()
        second = heard(side, "a")
        assert [m["params"]["progressToken"] for m in first[:-1]] == ["token a", "token b", "token b"]
        assert [m["params"]["progressToken"] for m in second[:-1]] == ["token a"]


@pytest.mark.spec("progress.token-active")
@when_we_answer
def test_the_token_of_an_older_request_is_not_used_in_a_newer_one(role, revision):
    """[..2025-11-25 basic/utilities/progress §Behavior Requirements] MUST"""
    older = []

    def newer(ctx):
        older[0].progress(50)
        ctx.progress(1)
        older[0].progress(60)
        ctx.progress(2)

    with Side(role, revision, {"first": older.append, "newer": newer, "count": three_steps}) as side:
        side.ask(1, "first", "old")
        heard(side, 1)
        for id, token in ((2, "new"), (3, "newest"), (4, None)):
            side.ask(id, "newer", token)
            wanted = [] if token is None else [(token, 1), (token, 2)]
            assert [(p["progressToken"], p["progress"]) for p in progress_of(heard(side, id))] == wanted
        side.ask(5, "count")  # it has no token: the last one that was given is not its own
        assert progress_of(heard(side, 5)) == []


@pytest.mark.spec("progress.increases")
@when_we_answer
def test_progress_that_does_not_increase_is_refused_and_not_sent(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MUST"""
    lists = [[1, 1], [2, 1], [1, 0.5, 2], [0, -1], [0.1, 0.1], [1, 1.0], [5, 6, 5.5, 7]]
    refused = []

    def handler(ctx):
        for value in lists[ctx.request_id]:
            try:
                ctx.progress(value)
            except ValueError as error:
                refused.append(str(error))

    with Side(role, revision, {"wavering": handler}) as side:
        for id, values in enumerate(lists):
            side.ask(id, "wavering", "t")
            sent = [p["progress"] for p in progress_of(heard(side, id))]
            assert all(a < b for a, b in zip(sent, sent[1:])) and sent[0] == values[0], values
            assert len(sent) + len(refused) == len(values) and "must increase" in refused[0], values
            refused.clear()


@pytest.mark.spec("progress.increases")
@pytest.mark.race
@pytest.mark.parametrize("role, revision", answering(["2025-11-25", STATELESS]))
def test_threads_of_one_handler_do_not_make_its_progress_fall_back(role, revision):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MUST"""

    def handler(ctx):
        def report(first):
            for value in range(first, 200, 4):
                try:
                    ctx.progress(value)
                except ValueError:
                    pass

        threads = [threading.Thread(target=report, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)

    with Side(role, revision, {"crowd": handler}, limits=UNLIMITED) as side:
        side.ask(1, "crowd", "t")
        sent = [p["progress"] for p in progress_of(heard(side, 1))]
        assert sent == sorted(set(sent)) and sent[-1] == 199


@pytest.mark.spec("progress.increases")
@pytest.mark.race
@in_both_roles
def test_the_order_on_the_wire_is_the_order_in_which_progress_was_checked(role, monkeypatch):
    """[..2025-11-25 basic/utilities/progress §Progress Flow] MUST"""
    with Gate() as gate, Side(role) as side:
        put = side.connection.put_progress

        def held(token, progress, *rest):
            if progress == 1:
                gate.hold()
            put(token, progress, *rest)

        monkeypatch.setattr(side.connection, "put_progress", held)

        def handler(ctx):
            first = in_thread(ctx.progress, 1)
            gate.entered()
            second = in_thread(ctx.progress, 2)
            gate.open()
            first.get()
            second.get()

        side.handlers["crowd"] = handler
        side.ask(1, "crowd", "t")
        assert [p["progress"] for p in progress_of(heard(side, 1))] == [1, 2]


NO_PROGRESS = [
    (("1",), TypeError), ((True,), TypeError), ((None,), TypeError), ((float("nan"),), ValueError),
    ((float("inf"),), ValueError), ((1, "2"), TypeError), ((1, True), TypeError), ((1, float("nan")), ValueError),
    ((1, 2, 3), TypeError), ((1, 2, b"x"), TypeError),
]


@in_both_roles
def test_what_is_no_progress_is_refused_before_it_is_sent(role):
    """[..2025-11-25 basic/utilities/progress §Progress Flow]"""

    def handler(ctx):
        for step, error in NO_PROGRESS:
            with pytest.raises(error):
                ctx.progress(*step)
        return "refused"

    with Side(role, handlers={"odd": handler}) as side:
        side.ask(1, "odd", "t")
        answer = side.peer.receive()
        assert said(answer) == "refused"


# --- After completion -------------------------------------------------------------------------------------------------

@pytest.mark.spec("progress.stops", "progress.token-in-progress")
@when_we_answer
def test_after_the_answer_nothing_more_is_reported(role, revision):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] MUST"""
    kept = []

    def handler(ctx):
        ctx.progress(1)
        kept.append(ctx)

    with Side(role, revision, {"leaky": handler}) as side:
        side.ask(1, "leaky", "t")
        assert len(progress_of(heard(side, 1))) == 1
        kept[0].progress(2)
        kept[0].progress(3, 3)
        if role == "server":
            kept[0].log("info", "too late")
        side.silent()


@pytest.mark.spec("progress.stops", "progress.token-in-progress")
@when_we_answer
def test_after_a_cancellation_nothing_more_is_reported(role, revision):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] MUST"""
    refused = []

    def handler(ctx):
        ctx.progress(1)
        assert ctx.cancelled.wait(PATIENCE)
        for action in (lambda: ctx.progress(2), lambda: ctx.notify("notifications/message"), lambda: ctx.call("ping")):
            try:
                action()
            except RequestCancelled:
                refused.append(action)

    with Side(role, revision, {"long": handler}) as side:
        side.ask(1, "long", "t")
        assert side.peer.receive()["method"] == "notifications/progress"
        side.cancel(1)
        eventually(lambda: not len(side.connection.inflight))
        side.silent()
        assert len(refused) == 3


@pytest.mark.spec("progress.stops")
@pytest.mark.race
@pytest.mark.parametrize("role, revision", answering(["2024-11-05", "2025-11-25", STATELESS]))
def test_a_step_that_is_being_taken_as_the_handler_ends_comes_before_the_answer(role, revision, monkeypatch):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] MUST"""
    with Gate() as gate, Side(role, revision) as side:
        put = side.connection.put_progress
        monkeypatch.setattr(side.connection, "put_progress", lambda *step: (gate.hold(), put(*step)))
        steps = []

        def handler(ctx):
            steps.append(in_thread(ctx.progress, 1))
            gate.entered()

        side.handlers["racing"] = handler
        side.ask(1, "racing", "t")
        with pytest.raises(AssertionError, match="nothing came"):
            side.peer.receive(timeout=0.03)  # were there an answer, the step would come after it
        gate.open()
        assert len(progress_of(heard(side, 1))) == 1
        steps[0].get()
        side.silent()


@pytest.mark.spec("progress.stops")
@pytest.mark.race
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
def test_what_a_handlers_thread_is_about_to_say_as_the_answer_goes_out_is_not_said(revision, monkeypatch):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] MUST"""
    with Gate() as gate, Side("server", revision) as side:
        check = side.connection.session.check_sending
        monkeypatch.setattr(side.connection.session, "check_sending", lambda *what: (check(*what), gate.hold()))
        late = []

        def handler(ctx):
            late.append(in_thread(ctx.log, "info", "late"))
            gate.entered()

        side.handlers["racing"] = handler
        side.ask(1, "racing", "t")
        assert progress_of(heard(side, 1)) == []
        gate.open()
        late[0].get()
        side.silent()


# --- Rate -------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("progress.rate-limit")
@when_we_answer
def test_a_flood_of_progress_is_thinned_out_but_its_end_is_told(role, revision, monkeypatch):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] SHOULD"""
    now = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])

    def flood(ctx):
        for value in range(1, 2001):
            ctx.progress(value, 4001)
        now[0] += 1.0
        for value in range(2001, 4001):
            ctx.progress(value, 4001)
        ctx.progress(4001, 4001)

    limits = Limits(max_progress_per_second=10, max_progress_burst=5)
    with Side(role, revision, {"flood": flood}, limits=limits) as side:
        side.ask(1, "flood", "t")
        sent = [p["progress"] for p in progress_of(heard(side, 1))]
        early, late = [v for v in sent if v <= 2000], [v for v in sent if v > 2000]
        assert 5 <= len(early) <= 7, "one and a burst"
        assert 6 <= len(late) <= 8, "another burst, and the end"
        assert sent[-1] == 4001


@pytest.mark.spec("progress.rate-limit")
@in_both_roles
def test_progress_within_the_rate_is_all_sent(role, monkeypatch):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] SHOULD"""
    now = [1000.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])

    def steady(ctx):
        for value in range(100):
            ctx.progress(value)
            now[0] += 0.1

    limits = Limits(max_progress_per_second=10, max_progress_burst=1)
    with Side(role, handlers={"steady": steady}, limits=limits) as side:
        side.ask(1, "steady", "t")
        assert len(progress_of(heard(side, 1))) == 100


@pytest.mark.spec("progress.rate-limit")
@pytest.mark.parametrize("role, revision", asking(["2025-11-25", STATELESS]))
def test_a_peer_that_floods_a_slow_callback_fills_no_memory(role, revision):
    """[..2025-11-25 basic/utilities/progress §Implementation Notes] SHOULD"""
    steps = []

    def slow(value, total, message):
        steps.append(value)
        gate.hold()

    with Gate() as gate, Side(role, revision, limits=Limits(max_inflight=10)) as side:
        future = RequestFuture(side.connection, lambda result: result).send(side.any, None, on_progress=slow)
        asked = side.peer.receive()
        token = asked["params"]["_meta"]["progressToken"]
        for value in range(100):
            side.peer.notify("notifications/progress", {"progressToken": token, "progress": value})
        side.sync()
        assert side.connection.counters["dropped progress"] >= 89
        gate.open()
        side.peer.respond(asked["id"], {"right": True})
        assert future.result(PATIENCE)["right"]
        eventually(lambda: 10 <= len(steps) <= 11 and steps == sorted(steps))
