"""The blocks of SSE streams in traces: what the standard says they are, however the bytes come."""
from typing import Any, Dict, List, Optional, Tuple

import pytest

from mcp_ref.wiretrace.sse import SseBlock, SseSplitter

CASES: List[Tuple[bytes, List[Optional[Tuple[Dict[str, Any], Optional[bytes]]]]]] = [
    (b"data: a\n\n", [({}, b"a")]),
    (b"data:a\r\ndata: b\r\rid:7\n\n", [({}, b"a\nb"), ({"id": "7"}, None)]),
    (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [({}, b"a")]),
    (b"\n\xef\xbb\xbfdata: a\n\n", []),
    (b": comment\n\nother: x\n\n\n\n\ndata\n\n", [({}, b"")]),
    (b"id\nevent:\ndata: {}\n\n", [({"id": "", "event": ""}, b"{}")]),
    (b"id: a\0b\ndata: x\n\n", [({}, b"x")]),
    (b"retry: 12345678901234567890\n\nretry: 007\n\n", [({"retry": 12345678901234567890}, None), ({"retry": 7}, None)]),
    (b"retry: -1\ndata: x\n\nretry: 1.5\n\nretry: \xd9\xa1\n\nretry:\n\n", [({}, b"x")]),
    (b"retry: %s\ndata: x\n\n" % (b"9" * 4301), [({}, b"x")]),
    (b"data: %s\n\ndata: b\n\n" % (b"a" * 9000), [None, ({}, b"b")]),
    (b"data: unfinished\n", []),
]


@pytest.mark.parametrize("size", [1, 2, 3, 100000])
@pytest.mark.parametrize("stream, expected", CASES)
def test_blocks_are_those_of_the_standard_in_parts_of_any_size(stream: bytes, expected: Any, size: int) -> None:
    splitter = SseSplitter(8000)
    found: List[Optional[SseBlock]] = []
    for start in range(0, len(stream), size):
        found += splitter.feed(stream[start:start + size])
    assert found == expected


def test_a_block_is_a_message_if_it_has_data_and_no_other_type() -> None:
    blocks = SseSplitter(1000).feed(b"data: 1\n\nevent: message\ndata: 1\n\nevent:\ndata: 1\n\n"
                                    b"event: x\ndata: 1\n\ndata:\n\nid: 1\n\n")
    assert [block.is_message for block in blocks if block] == [True, True, True, False, False, False]


def test_what_has_no_end_yet_is_kept_in_one_buffer() -> None:
    splitter = SseSplitter(1000)
    assert splitter.feed(b"data: a\nda") == [] and splitter.rest == b"data: a\nda"
    splitter.feed(b"x" * 2000)
    assert splitter.rest == b"", "a block that is too long is not kept"
