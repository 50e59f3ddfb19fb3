"""Lines out of bytes: the same messages however the bytes are cut, and nothing kept that is too long."""
import random
from typing import Any, List, Union

import pytest

from mcp_ref.errors import LocalProtocolError, Rejected
from mcp_ref.transports.base import Received
from mcp_ref.transports.lines.stdio import LineSplitter, frame

LIMIT = 10
TOO_LONG = "message of %d bytes exceeds max_message_bytes (10)"

CASES = [  # bytes that arrive; messages that come out, a number for the size of a refused one; bytes left over
    (b"", [], 0),
    (b"\n", [], 0),
    (b"\r\n\n\r\n", [], 0),
    (b"{}\n", [b"{}"], 0),
    (b"{}\r\n", [b"{}"], 0),
    (b"{}\r\r\n", [b"{}\r"], 0),
    (b"a\rb\n", [b"a\rb"], 0),
    (b"{}\n[]\n{}\n", [b"{}", b"[]", b"{}"], 0),
    (b"\n{}\n\n\n[]\n\n", [b"{}", b"[]"], 0),
    (b"{}\n[", [b"{}"], 1),
    (b"{}", [], 2),
    (b" \n \t\r\n{}\n", [b"{}"], 0),
    ("\u2028\u0085\n".encode(), ["\u2028\u0085".encode()], 0),
    (b"\xff\xfe\n", [b"\xff\xfe"], 0),
    (b"\x0b\x0c\x1c\n", [b"\x0b\x0c\x1c"], 0),
    (b"0123456789\n", [b"0123456789"], 0),
    (b"0123456789\r\n", [b"0123456789"], 0),
    (b"0123456789\r\r\n", [11], 0),
    (b"0123456789X\n", [11], 0),
    (b"0123456789X\r\n", [11], 0),
    (b"0123456789XY\r\n", [12], 0),
    (b"{}\n" + b"x" * 99 + b"\n[]\n", [b"{}", 99, b"[]"], 0),
    (b"x" * 11 + b"\n" + b"y" * 12 + b"\r\n{}\n", [11, 12, b"{}"], 0),
    (b"{}\n" + b"x" * 50, [b"{}"], 50),
]


def shown(items: List[Received]) -> List[Union[bytes, str]]:
    return [str(item) if isinstance(item, Rejected) else item for item in items]


@pytest.mark.parametrize("data, expected, left", CASES)
def test_the_same_comes_out_however_the_bytes_are_cut(data: bytes, expected: List[Union[bytes, int]],
                                                      left: int) -> None:
    wanted = [TOO_LONG % item if isinstance(item, int) else item for item in expected]
    chooser = random.Random(0)
    cuts = [[data], [data[at:at + 1] for at in range(len(data))], [data[:1], b"", data[1:]]]
    cuts += [[data[:at], data[at:]] for at in range(len(data))]
    for _ in range(50):
        places = sorted(chooser.choices(range(len(data) + 1), k=3))
        cuts.append([data[start:end] for start, end in zip([0, *places], [*places, len(data)])])
    for chunks in cuts:
        splitter = LineSplitter(LIMIT)
        arrived = [item for chunk in chunks for item in splitter.feed(chunk)]
        assert shown(arrived) == wanted, chunks
        assert splitter.unfinished == left
        assert splitter.rejected == sum(isinstance(item, int) for item in expected)


def test_a_refused_line_carries_a_code_for_the_answer() -> None:
    (item,) = LineSplitter(1).feed(b"xx\n")
    assert isinstance(item, Rejected) and item.code == -32600


def test_a_line_that_is_too_long_is_not_kept(tracemalloc: Any) -> None:
    splitter = LineSplitter(1000)
    chunk = b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(200):
            splitter.feed(chunk)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(chunk)
    finally:
        tracemalloc.stop()
    assert splitter.unfinished == 200 * len(chunk)
    assert [type(item) for item in splitter.feed(b"\n")] == [Rejected] and splitter.feed(b"{}\n") == [b"{}"]


def test_a_line_of_64_mib_in_chunks_costs_little_more_than_itself(tracemalloc: Any) -> None:
    size, chunk = 64 * 1024 * 1024, b"x" * 65536
    splitter = LineSplitter(size)
    tracemalloc.start()
    try:
        for _ in range(size // len(chunk)):
            assert splitter.feed(chunk) == []
        (message,) = splitter.feed(b"\n")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(message, bytes) and len(message) == size
    assert peak < 1.3 * size


@pytest.mark.time_limit(15)
def test_many_small_pieces_of_a_long_line_take_linear_time() -> None:
    """Copying the line for each piece would move a hundred gigabytes, which the time limit notices."""
    splitter = LineSplitter(10**9)
    piece = b"y" * 64
    for _ in range(65536):
        splitter.feed(piece)
    (message,) = splitter.feed(b"\n")
    assert message == piece * 65536


SIZES = [[0], [1, 1, 1], [70_000], [65_535], [65_536, 1], [1, 65_536], [40_000, 40_000, 1, 1], [1] * 1000,
         [3_000] * 100, [100_000, 100_000], [1, 200_000, 2, 300_000, 3]]


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: "%d times %d" % (len(sizes), max(sizes)))
def test_framing_and_splitting_are_inverse(sizes: List[int]) -> None:
    messages = [bytes([65 + number % 26]) * size for number, size in enumerate(sizes)]
    pieces = frame(messages)
    assert b"".join(pieces) == b"".join(message + b"\n" for message in messages)
    splitter = LineSplitter(10**9)
    assert [item for piece in pieces for item in splitter.feed(piece)] == [message for message in messages if message]


def test_small_messages_share_a_piece_and_large_ones_are_not_copied() -> None:
    large = b"x" * 100_000
    assert len(frame([b"{}"] * 64)) == 1
    assert [piece is large for piece in frame([b"{}", large, b"{}", large])] == [False, True, False, True, False]
    assert frame([]) == [b""]


@pytest.mark.spec("stdio.no-embedded-newlines")
@pytest.mark.parametrize("messages", [[b"{\n}"], [b"{}", b"\n"], [b"{}" * 40_000, b"{\n}"], [b"{}" * 40_000 + b"\n"]],
                         ids=["one", "second", "small after large", "large"])
def test_a_message_with_a_newline_is_refused(messages: List[bytes]) -> None:
    """[..2025-11-25 basic/transports §stdio] MUST NOT"""
    with pytest.raises(LocalProtocolError, match="newline"):
        frame(messages)
