"""The faults that other tests order do what they say."""
from typing import List

import pytest

from mcp_ref.errors import ConnectionLost, Rejected
from mcp_ref.transports.memory import pair
from tests.support.faults import ByteByByte, Cut, Delayed, Dropping, Garbled
from tests.transports.makers import Running, collect

MESSAGES = [b'{"a": 1}', b'{"b": 2}', b'{"c": 3}']
STREAM = b'{"a": 1}\n{"b": 2}\n{"c": 3}\n'


def test_delayed_waits_at_each_gate_until_it_opens() -> None:
    near, far = pair()
    slow = Delayed(far)
    slow.reading.clear()
    slow.writing.clear()
    reading, writing = Running(slow.read), Running(slow.write, [b"[]"])
    with near._outgoing._changed:  # so that one read gets them all
        near.write(MESSAGES)
    assert not slow.ready(1) and reading.is_alive() and writing.is_alive()
    slow.reading.set()
    assert reading.result() == MESSAGES and writing.is_alive()
    slow.writing.set()
    writing.result()
    assert near.read() == [b"[]"]


def test_close_opens_the_gates() -> None:
    near, far = pair()
    slow = Delayed(far)
    slow.writing.clear()
    writing = Running(slow.write, [b"[]"])
    slow.close()
    with pytest.raises(ConnectionLost):
        writing.result()
    near.close()


def test_dropping_loses_the_chosen_messages_across_calls() -> None:
    near, far = pair()
    lossy = Dropping(near, lambda number, message: number in (1, 2))
    lossy.write(MESSAGES[:2])
    lossy.write(MESSAGES[2:])
    lossy.write([b"{}"])
    assert far.read() == [MESSAGES[0], b"{}"] and lossy.dropped == MESSAGES[1:]


@pytest.mark.parametrize("after", range(len(STREAM) + 1))
def test_cut_delivers_the_whole_messages_before_the_cut_and_ends(after: int) -> None:
    near, far = pair()
    cut = Cut(far, after)
    near.write(MESSAGES)
    assert collect(cut) == MESSAGES[:STREAM[:after].count(b"\n")]
    assert cut.reason() == "the connection was cut"
    for end in (near, cut):
        with pytest.raises(ConnectionLost):
            end.write([b"{}"])


def test_garbled_replaces_bytes_of_the_stream() -> None:
    near, far = pair()
    garbled = Garbled(far, {2: b"\xff", 8: b"", 12: b"longer"})
    near.write(MESSAGES[:1])
    near.write(MESSAGES[1:])
    arrived = collect(garbled, 2)
    assert arrived == [b'{"\xff": 1}{"blonger: 2}', b'{"c": 3}']


def test_byte_by_byte_changes_nothing_and_keeps_the_limit() -> None:
    near, far = pair()
    near.write([*MESSAGES, b"x" * 50])
    items: List[object] = list(ByteByByte(far, 20).read() or [])
    assert items[:3] == MESSAGES and isinstance(items[3], Rejected)
