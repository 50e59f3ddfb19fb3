"""One contract for every transport, in both directions: the promises of `mcp_ref.transports.base`.

To run it over a transport of your own, add two connected ends of it to MAKERS in `makers.py`.
"""
import threading
from typing import Iterator, List

import pytest

from mcp_ref.errors import ConnectionLost, LocalProtocolError, Rejected
from mcp_ref.limits import Limits
from mcp_ref.transports.base import Transport, successor, why_ended
from tests.support.faults import ByteByByte
from tests.support.patience import WAIT
from tests.transports.makers import LINE_FRAMED, MAKERS, Ends, Running, collect, ready, until, write_now

LIMIT = 40_000
MEGABYTE = b"x" * 1_000_000
MESSAGES = [
    b"{}", b"[]", b'{"text": "plain"}', "{\"text\": \"\U0001F600 \u2028 \u2029 \u0085\"}".encode(),
    b'{"broken": "\xff\xfe\xc0"}', b'{"nul": "\0"}', b'{"return": "\r inside"}', b'{"tab":\t"\x0b\x0c\x1c\x1d"}',
    b'{"big": "' + b"b" * 30_000 + b'"}', b"{}",
]


def ends_of(kind: str, turned: bool, limits: Limits = Limits()) -> Iterator[Ends]:
    with MAKERS[kind](limits) as (first, second):
        near, far = (second, first) if turned else (first, second)
        near.open()
        far.open()
        try:
            yield near, far
        finally:
            second.close()  # a child that is stuck because nobody reads need not be killed
            first.close()


@pytest.fixture(params=[(kind, turned) for kind in MAKERS for turned in (False, True)],
                ids=lambda param: param[0] + (" back" if param[1] else " there"))
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    yield from ends_of(*request.param)


@pytest.fixture(params=[(kind, turned) for kind in MAKERS for turned in (False, True)],
                ids=lambda param: param[0] + (" back" if param[1] else " there"))
def narrow_ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    yield from ends_of(*request.param, limits=Limits(max_message_bytes=LIMIT))


@pytest.fixture(params=[(kind, turned) for kind in LINE_FRAMED for turned in (False, True)],
                ids=lambda param: param[0] + (" back" if param[1] else " there"))
def line_framed_ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    yield from ends_of(*request.param)


def test_messages_arrive_whole_once_and_in_order_whatever_bytes_they_hold(ends: Ends) -> None:
    near, far = ends
    near.write(MESSAGES)
    for message in MESSAGES:
        near.write([message])
    assert collect(far, 2 * len(MESSAGES)) == MESSAGES * 2


def test_both_directions_at_once_with_messages_larger_than_any_buffer(ends: Ends) -> None:
    near, far = ends
    bulk = MEGABYTE[:50_000] if isinstance(near, ByteByByte) else MEGABYTE * 8
    messages = [b'{"%d": "' % number + bulk + b'"}' for number in range(2)]
    writers = [Running(end.write, messages) for end in ends]
    readers = [Running(collect, end, len(messages)) for end in ends]
    for writer in writers:
        writer.result()
    assert [reader.result() == messages for reader in readers] == [True, True]


def test_the_messages_of_one_call_stay_together_whoever_else_writes(ends: Ends) -> None:
    near, far = ends
    reader = Running(collect, far, 4 * 50 * 3)
    start = threading.Barrier(4)

    def write(name: int) -> None:
        start.wait(WAIT)
        for number in range(50):
            near.write([b'{"%d": [%d, %d]}' % (name, number, part) for part in range(3)])

    for writer in [Running(write, name) for name in range(4)]:
        writer.result()
    arrived = reader.result()
    groups = [arrived[at:at + 3] for at in range(0, len(arrived), 3)]
    for name in range(4):
        own = [group for group in groups if group[0].startswith(b'{"%d"' % name)]
        assert own == [[b'{"%d": [%d, %d]}' % (name, number, part) for part in range(3)] for number in range(50)]


def test_what_was_written_before_the_end_is_delivered_and_then_comes_none(ends: Ends) -> None:
    near, far = ends
    near.write([b'{"%d": 0}' % number for number in range(500)])
    closing = Running(near.close)
    assert collect(far) == [b'{"%d": 0}' % number for number in range(500)]
    closing.result()
    assert "\n" not in why_ended(far) and why_ended(far)


def test_writing_to_a_peer_that_has_gone_raises_connection_lost(ends: Ends) -> None:
    near, far = ends
    closing = Running(near.close)
    assert far.read() is None
    closing.result()
    with pytest.raises(ConnectionLost, match=".+"):
        while True:  # a socket notices with the second message only; the time limit of the test bounds this
            far.write([b'{"anybody": "there"}'])


@pytest.mark.race
def test_close_frees_a_thread_inside_read(ends: Ends) -> None:
    near, _ = ends
    reading = Running(near.read)
    near.close()
    assert reading.result() is None


@pytest.mark.race
def test_close_frees_threads_inside_write_and_those_that_wait_for_their_turn(ends: Ends) -> None:
    near, far = ends

    def write_on() -> None:
        while True:
            near.write([MEGABYTE])

    writers = [Running(write_on) for _ in range(3)]
    until(lambda: not ready(near, 1))  # at least one is at it, or ready promises nothing here
    closing = Running(near.close)
    for writer in writers:
        with pytest.raises(ConnectionLost):
            writer.result()
    far.close()
    closing.result()


def test_the_end_of_the_peer_frees_a_thread_inside_write(ends: Ends) -> None:
    near, far = ends

    def write_on() -> None:
        while True:
            near.write([MEGABYTE])

    writer = Running(write_on)
    until(lambda: not ready(near, 1))
    far.close()
    with pytest.raises(ConnectionLost):
        writer.result()


def test_close_may_come_again_and_from_many_threads_and_from_the_reader(ends: Ends) -> None:
    near, far = ends
    for closing in [Running(end.close) for end in (near, far, near, near)]:
        closing.result()
    near.close()
    assert near.read() is None
    with pytest.raises(ConnectionLost):
        near.write([b"{}"])


def test_nothing_comes_after_close_not_even_what_had_arrived(ends: Ends) -> None:
    near, far = ends
    far.write([b"{}", b"{}"])
    assert (near.read() or [])[0] == b"{}"
    far.write([b"{}"])
    near.close()
    assert near.read() is None


def test_reading_goes_on_while_a_writer_waits(ends: Ends) -> None:
    near, far = ends

    def write_on() -> None:
        while True:
            near.write([MEGABYTE])

    writer = Running(write_on)
    until(lambda: not ready(near, 1))
    answers = Running(collect, near, 100)
    far.write([b'{"%d": 0}' % number for number in range(100)])
    assert len(answers.result()) == 100
    far.close()
    with pytest.raises(ConnectionLost):
        writer.result()


def test_a_message_that_is_too_long_comes_out_as_rejected_in_its_place(narrow_ends: Ends) -> None:
    near, far = narrow_ends
    fits, too_long = b'{"": "%s"}' % (b"y" * (LIMIT - 8)), b'{"": "%s"}' % (b"y" * (LIMIT - 7))
    assert len(fits) == LIMIT
    writer = Running(near.write, [b"{}", fits, too_long, b"[]", too_long * 5, b"{}"])
    arrived = collect(far, 6)
    writer.result()
    assert [arrived[number] for number in (0, 1, 3, 5)] == [b"{}", fits, b"[]", b"{}"]
    refusals = [str(item) for item in arrived if isinstance(item, Rejected)]
    assert len(refusals) == 2 and all("max_message_bytes (%d)" % LIMIT in text for text in refusals)
    assert str(LIMIT + 1) in refusals[0] and str(5 * (LIMIT + 1)) in refusals[1]


def test_ready_is_kept_and_ends_before_a_peer_that_does_not_read_is_full(ends: Ends) -> None:
    near, _ = ends
    message = b'{"": "%s"}' % (b"z" * 2000)
    while ready(near, len(message) + 1):
        near.write([message])  # the time limit of the test notices one that waits
    for size in (100_000, 100):
        assert not ready(near, size) or size == 100


@pytest.mark.parametrize("length", [2000, 20_000])
def test_write_now_sends_the_whole_or_nothing_and_never_waits(ends: Ends, length: int) -> None:
    near, far = ends
    message = b'{"": "%s"}' % (b"z" * length)
    sent = 0
    while sent < 20_000 and write_now(near, [message]):  # nobody reads; the time limit notices one that waits
        sent += 1
    assert sent < 20_000, "it cannot all have gone without waiting"
    end = b'{"end": true}'
    threading.Thread(target=near.write, args=([end],), daemon=True).start()
    assert collect(far, sent + 1) == [message] * sent + [end]


def test_a_burst_comes_in_few_reads(ends: Ends) -> None:
    near, far = ends
    most = 64 if far.name == "prefixed" else 8  # that example reads message by message
    near.write([b'{"%02d": 0}' % number for number in range(64)])
    reads: List[int] = []
    while sum(reads) < 64:
        reads.append(len(far.read() or []))
    assert len(reads) <= most


@pytest.mark.spec("stdio.no-embedded-newlines")
@pytest.mark.parametrize("bad", [b'{\n}', b"\n", b'{"large": "' + MEGABYTE + b'\n"}'], ids=["small", "bare", "large"])
def test_a_newline_inside_a_message_is_refused_before_anything_is_sent(line_framed_ends: Ends, bad: bytes) -> None:
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    near, far = line_framed_ends
    with pytest.raises(LocalProtocolError, match="newline"):
        near.write([b'{"first": 1}', bad])
    near.write([b'{"next": 1}'])
    assert collect(far, 1) == [b'{"next": 1}']


def test_names_and_counters_are_there(ends: Ends) -> None:
    for end in ends:
        counters = getattr(end, "counters", dict)
        assert end.name and all(isinstance(count, int) for count in counters().values())


def test_a_transport_that_can_do_no_more_than_its_contract_says_so() -> None:
    class Bare(Transport):
        pass

    bare = Bare()
    assert not any(hasattr(bare, name) for name in ("ready", "write_now", "park", "reason", "renew", "counters"))
    assert why_ended(bare) and successor(bare) is None
    bare.open()
    for call in (bare.read, bare.close, lambda: bare.write([b"{}"])):
        with pytest.raises(NotImplementedError):
            call()
