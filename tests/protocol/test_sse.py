"""Server-Sent Events, by the rules of the HTML standard and split at every place [WHATWG HTML §9.2]."""
import itertools
from typing import Any, List, Optional

import pytest

from mcp_ref.protocol.streamable_http.header_values import SseEvent, SseParser, comment, encode_event

STREAMS = {
    "one event": (b"data: hello\n\n", [(b"hello", "message", None)]),
    "no blank after the colon": (b"data:hello\n\n", [(b"hello", "message", None)]),
    "only one blank is taken": (b"data:  hello\n\n", [(b" hello", "message", None)]),
    "lines are joined": (b"data: a\ndata: b\ndata\n\n", [(b"a\nb\n", "message", None)]),
    "empty data is an event": (b"data\n\ndata\ndata\n\ndata:test", [(b"", "message", None), (b"\n", "message", None)]),
    "no data, no event": (b"event: a\nid: 1\n\ndata: b\n\n", [(b"b", "message", "1")]),
    "an unfinished event is none": (b"data: a\n\ndata: b\n", [(b"a", "message", None)]),
    "CR": (b"data: a\rdata: b\r\rdata: c\r\r", [(b"a\nb", "message", None), (b"c", "message", None)]),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\n", [(b"a\nb", "message", None)]),
    "all line ends": (b"data: a\r\n\rdata: b\n\r\ndata: c\r\r", [(b"a", "message", None), (b"b", "message", None),
                                                                 (b"c", "message", None)]),
    "BOM": (b"\xef\xbb\xbfdata: a\n\n", [(b"a", "message", None)]),
    "a second BOM is part of a name": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [(b"b", "message", None)]),
    "half a BOM": (b"\xef\xbbdata: a\n\ndata: b\n\n", [(b"b", "message", None)]),
    "types": (b"event: endpoint\ndata: /m\n\ndata: b\n\n", [(b"/m", "endpoint", None), (b"b", "message", None)]),
    "the last type counts": (b"event: a\nevent\ndata: x\n\n", [(b"x", "message", None)]),
    "ids stay": (b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [(b"a", "message", "1"), (b"b", "message", "1"),
                                                                   (b"c", "message", "")]),
    "an id with NUL is ignored": (b"id: 1\nid: 2\0\ndata: a\n\n", [(b"a", "message", "1")]),
    "an id is text": ("id: \u00e9\ndata: a\n\n".encode(), [(b"a", "message", "\u00e9")]),
    "comments": (b": hello\n:\n\n:data: x\ndata: a\n: x\n\n", [(b"a", "message", None)]),
    "unknown fields": (b"data: a\nDATA: b\n data: c\nfoo\nfoo: bar\n\n", [(b"a", "message", None)]),
    "colons in values": (b"data: a:b: c\n\n", [(b"a:b: c", "message", None)]),
    "NUL in data": (b"data: a\0b\n\n", [(b"a\0b", "message", None)]),
    "line separators of Unicode are none": ("data: a\u2028b\u0085c\n\n".encode(),
                                            [("a\u2028b\u0085c".encode(), "message", None)]),
}


def parsed(*chunks: bytes) -> List[SseEvent]:
    """The events of a stream that comes in these pieces."""
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_streams_are_read_by_the_standard_wherever_they_are_split(name: str) -> None:
    data, wanted = STREAMS[name]
    expected = [SseEvent(*event) for event in wanted]
    assert parsed(data) == expected
    assert parsed(*(data[at:at + 1] for at in range(len(data)))) == expected
    for cut in range(len(data) + 1):
        assert parsed(data[:cut], data[cut:]) == expected
    for first, second in itertools.combinations(range(0, len(data), 3), 2):
        assert parsed(data[:first], data[first:second], b"", data[second:]) == expected


@pytest.mark.parametrize("value, milliseconds", [
    (b"1000", 1000), (b"0", 0), (b"007", 7), (b"-1", None), (b"1.5", None), (b"", None), (b"1s", None), (b" 5", None),
    (b"\xd9\xa1", None), (b"9" * 9, 999999999), (b"9" * 10, None), (b"9" * 5000, None),
])
def test_retry_is_a_number_of_ascii_digits(value: bytes, milliseconds: Optional[int]) -> None:
    parser = SseParser()
    assert parser.feed(b"retry: " + value + b"\n\n") == []
    assert parser.retry == milliseconds
    parser.feed(b"retry: 5\nretry: x\n")
    assert parser.retry == 5, "one that is no number changes nothing"


def test_an_event_with_empty_data_sets_the_id_that_a_client_resumes_from() -> None:
    """[2025-11-25 basic/transports §Sending Messages to the Server]"""
    parser = SseParser()
    assert parser.feed(encode_event(b"", id="a-1", retry=500)) == [SseEvent(b"", "message", "a-1")]
    assert (parser.last_id, parser.retry) == ("a-1", 500)
    parser.feed(b"id: a-2\n")
    assert parser.last_id == "a-1", "not before the blank line"
    parser.feed(b"\n")
    assert parser.last_id == "a-2"


MESSAGES = [b"", b"{}", b"a\nb", b"a\r\nb\rc\n", b" leading", b":colon", b"\xff\xfe", "\u2028".encode(), b"x" * 70000]


@pytest.mark.parametrize("data", MESSAGES, ids=range(len(MESSAGES)))
@pytest.mark.parametrize("event", [None, "message", "endpoint", "\u00e9"])
@pytest.mark.parametrize("id", [None, "", "7", "stream-1:\u00e9"])
def test_what_is_written_is_read_back(data: bytes, event: Optional[str], id: Optional[str]) -> None:
    written = encode_event(data, id, event)
    seen, = parsed(comment() + comment("still here") + written)
    assert seen == (data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), event or "message", id)


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b", "\n"])
def test_ids_and_types_that_would_break_the_stream_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="line end or NUL"):
        encode_event(b"", id=bad)
    with pytest.raises(ValueError, match="line end or NUL"):
        encode_event(b"", event=bad)


@pytest.mark.parametrize("stream", [
    [b"data: " + b"x" * 100], [b"data: "] + [b"x" * 10] * 20, [b"data: xxxxxxxxx\n"] * 20, [b"x" * 101],
    [b"data\n"] * 200,
], ids=["one piece", "many pieces", "many lines", "no field", "empty lines"])
def test_what_never_ends_is_refused_at_the_limit(stream: List[bytes]) -> None:
    parser = SseParser(max_bytes=100)
    with pytest.raises(ValueError, match="max_message_bytes"):
        for chunk in stream:
            parser.feed(chunk)


def test_long_data_in_many_pieces_takes_memory_in_proportion(tracemalloc: Any) -> None:
    """Nothing is joined again and again: the peak is a few times the data."""
    size, piece = 4 * 1024 * 1024, b"x" * 1024
    parser = SseParser()
    tracemalloc.start()
    parser.feed(b"data: ")
    for _ in range(size // len(piece)):
        assert parser.feed(piece) == []
    event, = parser.feed(b"\n\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(event.data) == size and peak < 5 * size
