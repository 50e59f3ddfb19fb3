"""The connection inside one process is as honest as a pipe: bounded, and it ends."""
import pytest

from mcp_ref.errors import ConnectionLost, Rejected
from mcp_ref.limits import Limits
from mcp_ref.transports.memory import pair
from tests.transports.makers import Running, until


def test_a_writer_waits_while_too_much_is_unread() -> None:
    near, far = pair(capacity=10)
    assert near.ready(10) and not near.ready(11)
    writing = Running(near.write, [b"12345", b"67890", b"third"])
    until(lambda: not near.ready(1))
    assert far.read() == [b"12345", b"67890"]
    writing.result()
    assert far.read() == [b"third"] and near.ready(10)


def test_a_message_larger_than_the_room_passes_alone() -> None:
    near, far = pair(capacity=10)
    writing = Running(near.write, [b"x" * 1000, b"y" * 1000])
    assert far.read() == [b"x" * 1000] and far.read() == [b"y" * 1000]
    writing.result()


def test_bytes_are_handed_over_and_not_copied() -> None:
    near, far = pair(capacity=10**9)
    message = b"x" * 1_000_000
    near.write([message])
    (arrived,) = far.read() or []
    assert arrived is message


def test_what_is_too_long_is_counted_where_it_is_read() -> None:
    near, far = pair(Limits(max_message_bytes=4))
    near.write([b"1234", b"12345"])
    fits, refused = far.read() or []
    assert fits == b"1234" and isinstance(refused, Rejected)
    assert (near.counters(), far.counters()) == ({"rejected": 0}, {"rejected": 1})


def test_the_reason_says_which_side_closed() -> None:
    near, far = pair()
    near.close()
    with pytest.raises(ConnectionLost, match="the peer closed the connection"):
        far.write([b"{}"])
    assert near.reason() == "the connection was closed" and near.ready(1)
