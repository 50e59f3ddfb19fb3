"""The account of what peers make a process hold, and what enters it: each structure by itself."""
import threading
from types import SimpleNamespace
from typing import Any, Dict, List


from mcp_ref import Limits
from mcp_ref.deadline import Deadline
from mcp_ref.errors import Rejected
from mcp_ref.http11.server.body_budget import VALUE, weight
from mcp_ref.jsonrpc import id_key
from mcp_ref.peer.jobs import SerialQueue
from mcp_ref.peer.outbox import CHUNK, Outbox
from mcp_ref.peer.request_table import Progress, RequestTable
from mcp_ref.streamable.server.reply_stream import EventId, Replay, ReplyStream
from mcp_ref.streamable.server.session import HttpSession
from mcp_ref.transports.base import Transport
from mcp_ref.transports.held import SLOT, SMALL, MemoryAccount, SharedMessage, peer_of
from mcp_ref.transports.lines.stdio import LineSplitter
from tests.support.http_exchange import exchange, opening
from tests.support.scripted import PATIENCE
from tests.support.sides import in_thread


MB = 1_000_000


def account(total: int = 100 * SMALL, peer: int = 50 * SMALL) -> MemoryAccount:
    return MemoryAccount(Limits(max_held_bytes=total, max_held_bytes_per_peer=peer))


def test_one_peer_has_a_bound_of_its_own_but_for_one_thing_that_is_larger() -> None:
    held = account()
    assert held.take("a", 40 * SMALL, "x") and not held.take("a", 20 * SMALL, "x") and held.take("a", 10 * SMALL, "x")
    assert held.take("b", 20 * SMALL, "x") and held.counters == {"x": 1}
    held.free("a", 50 * SMALL)
    assert (held.total, held.of("a"), held.of("b")) == (20 * SMALL, 0, 20 * SMALL)
    assert held.take("c", 55 * SMALL, "x") and not held.take("c", 1, "x")
    assert held.greedy("c") and not held.greedy("b")


def test_a_quarter_is_for_peers_that_hold_little() -> None:
    held = account()
    assert held.take("a", 50 * SMALL, "x") and held.take("b", 25 * SMALL, "x") and not held.take("c", SMALL + 1, "x")
    assert all(held.take(number, SMALL, "x") for number in range(25)) and not held.take("c", 1, "x")
    assert held.total == 100 * SMALL and not held.crowded()
    assert not held.add("d", 1) and held.crowded()


def test_what_can_be_done_without_has_half_of_the_room() -> None:
    held = account()
    assert not held.take("a", 50 * SMALL + 1, "x", True) and held.take("a", 50 * SMALL, "x", True)
    assert not held.take("b", 1, "x", True) and held.take("b", 1, "x")


def test_a_message_to_many_is_counted_once() -> None:
    held, message = account(), SharedMessage(b"m" * 10_000)
    assert all(held.queue(number, message, "x") for number in range(100))
    assert held.total == 10_000 + 100 * SLOT
    for number in range(100):
        held.unqueue(number, message)
    assert held.total == 0 and vars_of(held)["_peers"] == {}
    assert held.queue("a", b"m" * 10_000, "x") and held.total == 10_000 + SLOT


def vars_of(held: MemoryAccount) -> Dict[str, Any]:
    return {name: getattr(held, name) for name in MemoryAccount.__slots__}


def test_nothing_is_remembered_of_who_holds_nothing() -> None:
    held = account()
    assert held.take("a", 0, "x") and held.take("b", 5, "x")
    held.free("b", 5)
    held.free("b", 0)
    assert vars_of(held)["_peers"] == {}


def test_who_is_one_peer() -> None:
    assert peer_of(None, "session") == "session" and peer_of("ann", "session") == peer_of("ann", "other")
    assert peer_of({"not": "hashable"}, None) == peer_of({"not": "hashable"}, 1) != peer_of("ann", None)


def test_the_account_is_right_after_many_threads() -> None:
    held, message = account(10 ** 9, 10 ** 9), SharedMessage(b"m" * 100)

    def work(number: int) -> None:
        for _ in range(2000):
            assert held.queue(number % 3, message, "x") and held.take(number % 3, 7, "x")
            held.unqueue(number % 3, message)
            held.free(number % 3, 7)

    for outcome in [in_thread(work, number) for number in range(4)]:
        outcome.get()
    assert held.total == 0 and vars_of(held)["_places"] == {} and vars_of(held)["_peers"] == {}


def test_the_oldest_events_of_a_session_go_first() -> None:
    held = account(20 * SMALL, 20 * SMALL)
    replay = Replay(Limits(), "id")
    replay.held = held
    data = b"d" * SMALL
    assert all(replay.add(EventId("p", 1, place), data, 0.0) for place in range(20))
    kept = [event.id.place for event in replay.of("p", 1)]
    assert kept == list(range(20))[-len(kept):] and 0 < len(kept) <= 10
    assert held.total == len(kept) * (SLOT + SMALL)
    replay.take_back()
    assert held.total == (len(kept) - 1) * (SLOT + SMALL)
    assert not replay.add(EventId("p", 2, 0), b"d" * 30 * SMALL, 0.0), "not even alone"
    assert list(replay.of("p", 1)) == [] and held.total == 0
    replay.take_back()  # of what was not kept: nothing
    assert len(replay) == 0


def test_an_answer_that_comes_after_the_end_of_its_session_is_not_kept() -> None:
    """Found by attack: a session that made room for another one while it began was counted for ever."""
    held = account()
    session = HttpSession("some-id", None, Limits())
    session.use_account(held)
    made = exchange("POST", {}, opening("2025-11-25"))
    session.connection = SimpleNamespace(session=SimpleNamespace(revision=None))
    stream = ReplyStream(made, (), False, True, keys=(id_key(1),), session=session)
    stream.held = []
    assert session.expect(stream) == ""
    session.post(b"{}" * 1000, 1, final=True)
    session.close()
    stream.answer(b"{}" * 1000)
    assert made.finished and held.total == 0 and vars_of(held)["_peers"] == {}


def test_values_weigh_more_than_their_json() -> None:
    assert weight(b"[" + b"{}," * 100_000, 10 ** 9) == VALUE * 200_001 and weight(b"{}," * 1000, 10 ** 9) == 0
    assert weight(b'"' + b"x" * 100_000 + b'",' * 3, 10 ** 9) == VALUE * 3
    assert weight(b"{}," * 100_000, 50) == VALUE * 50, "no more are ever made"


def test_a_line_for_which_there_is_no_room_is_refused_and_the_next_one_is_not() -> None:
    splitter, held = LineSplitter(10 * MB), account(20 * SMALL, 20 * SMALL)
    splitter.held, splitter.holder = held, "peer"
    assert splitter.feed(b"x" * 10 * SMALL) == [] and held.total == 10 * SMALL
    assert splitter.feed(b"x" * 10 * SMALL) == [] and held.total == 0
    assert splitter.feed(b"x" * SMALL) == []
    refused, whole = splitter.feed(b"x\n{}\n")
    assert isinstance(refused, Rejected) and refused.code == -32603 and "%d bytes" % (21 * SMALL + 1) in str(refused)
    assert whole == b"{}" and splitter.rejected == 1
    splitter.feed(b"x" * 5 * SMALL)
    splitter.drop()
    assert held.total == 0 and splitter.unfinished == 5 * SMALL


class Stuck(Transport):
    """A transport that writes when a gate is open."""

    name = "stuck"

    def __init__(self, held: MemoryAccount) -> None:
        self.held, self.holder = held, self
        self.gate = threading.Event()

    def write(self, messages: Any) -> None:
        assert self.gate.wait(PATIENCE)

    def close(self) -> None:
        self.gate.set()


def test_outboxes_are_counted_together_and_who_has_no_room_waits_for_its_own_peer() -> None:
    held = MemoryAccount(Limits(max_held_bytes=16 * CHUNK, max_held_bytes_per_peer=8 * CHUNK))
    first, second = [Outbox(Stuck(held), "test", 1 << 30) for _ in range(2)]
    message = b"m" * (CHUNK // 2)
    first.put(message)
    assert held.total == 0, "little is not counted"
    for _ in range(40):
        first.put(message, wait=False)
    assert first.full and 6 * CHUNK < held.total <= 8 * CHUNK
    second.put(message)
    assert not second.full, "one peer is not all"
    waiting = in_thread(first.put, message)
    first._transport.gate.set()  # type: ignore[attr-defined]
    first.flush()
    waiting.get()
    first.flush()
    assert held.total == 0 and not first.full
    for _ in range(10):
        second.put(message, wait=False)
    second.close()
    assert held.total == 0


def test_notifications_that_wait_for_a_callback_are_bounded_by_bytes() -> None:
    taken: List[int] = []
    lane: SerialQueue[int] = SerialQueue(taken.append, lambda job: None, 100, 1000)
    assert lane.put(0, size=5000) == (True, True), "alone it may be larger"
    assert lane.put(1, size=1) == (False, False)
    lane.run()
    assert [lane.put(number, size=400)[0] for number in (2, 3, 4)] == [True, True, False]
    lane.run()
    assert taken == [0, 2, 3] and lane.put(5, size=1000)[0]


def test_progress_that_waits_for_a_slow_callback_is_bounded() -> None:
    table = RequestTable(Limits(max_inflight=10))
    pending = table.add("x", Deadline(None), None, lambda *steps: None)
    for value in range(100):
        table.progress(pending.id, Progress(value, None, None))
    assert pending.waiting == 10 and table._counters["dropped progress"] == 90
    assert [pending.next(0).value for _ in range(10)] == list(range(10))  # type: ignore[union-attr]
    table.progress(pending.id, Progress(200, None, "m" * MB))
    table.progress(pending.id, Progress(201, None, "m" * MB))
    assert pending.waiting == 1, "long messages wait alone"
