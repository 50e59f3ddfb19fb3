"""The answers to a batch are bounded: by ``max_batch_answer_bytes``, with an error for each that does not fit."""
import json
import threading

import pytest

from mcp_ref.limits import Limits
from mcp_ref.peer.jobs import BatchAnswer
from tests.support.http_exchange import Web
from tests.support.patience import WAIT
from tests.support.sides import ROLES, Side, said, work_params, working_server

in_both_roles = pytest.mark.parametrize("role", ROLES)
MOST = 12_000
LARGE = "x" * 3000


def named(answer):
    return answer["error"]["code"] == -32603 and "max_batch_answer_bytes (%d)" % MOST in answer["error"]["message"]


@in_both_roles
def test_what_does_not_fit_is_answered_with_an_error_and_what_has_not_begun_does_not_run(role):
    """[JSON-RPC 2.0 §6] SHOULD: each request has an answer."""
    ran = []
    limits = Limits(max_batch_answer_bytes=MOST, max_workers=1)
    with Side(role, "2025-03-26", {"large": lambda ctx: ran.append(1) or LARGE}, limits) as side:
        side.peer.send([side.asking(id, "large") for id in range(20)])
        answers = side.peer.receive()
        assert sorted(answer["id"] for answer in answers) == list(range(20))
        assert len(json.dumps(answers, separators=(",", ":"))) <= MOST
        whole = [answer for answer in answers if "error" not in answer]
        assert [said(answer) for answer in whole] == [LARGE, LARGE] and len(ran) == 3
        errors = [answer for answer in answers if "error" in answer]
        assert all(map(named, errors))
        texts = [answer["error"]["message"] for answer in errors]
        assert sum("was run, but its result is left out" in text for text in texts) == 1
        assert sum("was not run" in text for text in texts) == 17
        assert side.connection.counters["batch answer left out"] == 18
        assert len(side.connection.inflight) == 0
        side.peer.send([side.asking(20, "large"), side.asking(21, "large")])
        assert all(said(answer) == LARGE for answer in side.peer.receive()), "another batch has room of its own"


@in_both_roles
def test_handlers_that_end_at_the_same_time_have_no_more_room_together(role):
    together = threading.Barrier(8, timeout=WAIT)

    def large(ctx):
        together.wait()
        return LARGE

    limits = Limits(max_batch_answer_bytes=MOST)
    with Side(role, "2025-03-26", {"large": large}, limits) as side:
        side.peer.send([side.asking("\U0001f600" * id, "large") for id in range(8)])
        answers = side.peer.receive()
        assert sorted(len(answer["id"]) for answer in answers) == list(range(8))
        assert len(json.dumps(answers, separators=(",", ":"))) <= MOST
        assert sum("error" not in answer for answer in answers) >= 2
        assert all(named(answer) for answer in answers if "error" in answer)


def test_a_failure_may_be_too_long_as_well():
    def fails(ctx):
        raise ValueError(LARGE)

    with Side("server", "2025-03-26", {"fails": fails}, Limits(max_batch_answer_bytes=MOST, max_workers=1)) as side:
        side.peer.send([side.asking(id, "fails") for id in range(20)])
        answers = side.peer.receive()
        assert len(answers) == 20 and len(json.dumps(answers, separators=(",", ":"))) <= MOST
        assert all(map(named, [answer for answer in answers if "error" in answer]))


@pytest.mark.parametrize("sessions", ["memory", "none"])
def test_over_http(sessions):
    server = working_server({"large": lambda ctx: LARGE}, limits=Limits(max_batch_answer_bytes=MOST))
    with Web(server, "2025-03-26", sessions=sessions, limits=server.limits) as client:
        batch = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": work_params("large")}
                 for id in range(20)]
        reply = client.post(batch)
        reply.done()
        assert reply.status == 200 and len(reply.message) == 20
        assert len(json.dumps(reply.message, separators=(",", ":"))) <= MOST
        assert sum("error" in answer and named(answer) for answer in reply.message) >= 17


def test_answers_are_there_once(tracemalloc):
    """0.5.0 joined them from parts, which were there three times then."""
    part = 1_000_000
    batch = BatchAnswer()
    for number in range(20):
        batch.expect(number)
    tracemalloc.start()
    try:
        for number in range(20):
            assert batch.claim(part, number) and batch.add(b"x" * part) is None
        whole = batch.add(None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(whole) == 20 * part + 21 and whole[:2] == b"[x" and whole[-1:] == b"]"
    assert peak < 26 * part


def test_a_total_over_several_batches_may_refuse_more():
    batch = BatchAnswer(most=10_000)
    held = []
    batch.hold = lambda more: sum(held) + more <= 3000 and not held.append(more)
    for id in (1, 2, 3):
        batch.expect(id)
    assert [batch.claim(2000, 1), batch.claim(2000, 2), batch.claim(1000, 3)] == [True, False, True]
    assert batch.full and held == [2000, 1000]
    assert [batch.add(b"1"), batch.add(None), batch.add(b"3"), batch.add(None)] == [None, None, None, b"[1,3]"]


def test_nobody_in_a_batch_wants_an_answer():
    batch = BatchAnswer()
    batch.expect(1)
    assert batch.add(None) is None and batch.add(None) == b""
