"""Requests out of bytes: every case of `http_cases`, however it is split, and what it costs to be slow or large."""
import contextlib
import random
from typing import Any, Callable, List, Tuple

import pytest

from mcp_ref.http11.message import Headers
from mcp_ref.http11.server.body_budget import BodyBudget
from mcp_ref.http11.server.request_parser import RequestHead, RequestParser, parse_head
from mcp_ref.http11.server.responses import Refused
from mcp_ref.limits import Limits
from tests.transports.http_cases import ACCEPTED, CASES, LIMITS, Case, chunked, cut, request, sized
from tests.transports.http_raw import Raw, get, post, records, serving, still_serves, until


def told(read: Callable[[bytes], RequestHead], block: bytes) -> Tuple[object, ...]:
    """All that a head says, or how it is refused."""
    try:
        head = read(block)
    except Refused as refused:
        return refused.status, refused.reason
    return (*head[:3], head.headers.pairs(), *head[4:])


def parse(pieces: List[bytes], limits: Limits = LIMITS) -> Tuple[List[int], List[bytes]]:
    """Statuses and bodies, as the engine would come by them."""
    parser = RequestParser(limits)
    statuses, bodies = [], []
    for piece in pieces:
        parser.feed(piece)
        while True:
            try:
                found = parser.next()
            except Refused as refused:
                assert str(refused) and refused.reason.isascii()
                return statuses + [refused.status], bodies
            if found is None:
                break
            statuses.append(200)
            bodies.append(found[1])
            if found[0].close:
                return statuses, bodies
    return statuses, bodies


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_request_is_read_or_refused_however_it_is_split(case: Case) -> None:
    byte_by_byte = [case.data[place:place + 1] for place in range(len(case.data))]
    splits = [[case.data], byte_by_byte]
    if len(case.data) > 2:
        splits += [cut(case.data, seed) for seed in range(12)]
    for pieces in splits:
        statuses, bodies = parse(pieces)
        assert tuple(statuses) == case.statuses, pieces
        if not case.refused:
            assert tuple(bodies) == case.bodies, pieces


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_request_is_read_or_refused_likewise_when_it_is_not_the_first(case: Case) -> None:
    first = sized("5", b"first")
    statuses, bodies = parse([first, first.replace(b"5\r\n\r\nfirst", b"6\r\n\r\nsecond"), case.data])
    assert tuple(statuses[2:]) == case.statuses and bodies[:2] == [b"first", b"second"]
    if not case.refused:
        assert tuple(bodies[2:]) == case.bodies


def test_the_cases_are_many_and_have_names_of_their_own() -> None:
    assert len(CASES) > 150 and len({case.name for case in CASES}) == len(CASES)
    assert len({case.data for case in CASES}) == len(CASES)


def test_random_bytes_are_refused_or_waited_for() -> None:
    dice = random.Random(4)
    for _ in range(2000):
        parse([bytes(dice.choices(b"GET /\r\n: 0aH\0\xff;", k=dice.randrange(200))) for _ in range(3)])
    whole = [case.data for case in ACCEPTED if case.data]
    for number in range(2000):
        broken = bytearray(dice.choice(whole))
        for _ in range(dice.randrange(1, 4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        statuses, _ = parse(cut(bytes(broken) + b"\r\n\r\n", number))
        assert set(statuses) <= {200, 400, 413, 414, 417, 431, 505}, bytes(broken)


def test_a_head_is_read_into_its_parts() -> None:
    head = parse_head(b"GET /a/b?c=d?e HTTP/1.1\r\nHost: h:1\r\nX-One: 1 \r\nx-one:2\r\nContent-Length: 12")
    assert (head.method, head.target, head.version, head.length) == ("GET", "/a/b?c=d?e", "HTTP/1.1", 12)
    assert (head.close, head.expects) == (False, False)
    assert head.headers.get_all("X-ONE") == ["1", "2"] and head.headers.get("x-One") == "1, 2"
    assert head.headers.get("host") == "h:1" and "Via" not in head.headers
    assert parse_head(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked").length == -1
    assert parse_head(b"GET / HTTP/1.0").version == "HTTP/1.0"


def test_the_host_of_a_whole_url_counts() -> None:
    head = parse_head(b"GET https://real:8000/x?y HTTP/1.1\r\nHost: other")
    assert (head.target, head.headers.get("host")) == ("/x?y", "real:8000")
    assert parse_head(b"GET http://real HTTP/1.1\r\nHost: other").target == "/"


def test_a_repr_of_headers_shows_no_value() -> None:
    assert "secret" not in repr(Headers([("Authorization", "secret")]))


@pytest.mark.parametrize("data, status, words", [
    (sized("1001"), 413, "body of 1001 bytes exceeds max_message_bytes (1000)"),
    (chunked(b"3e9\r\n"), 413, "body of 1001 bytes exceeds max_message_bytes (1000)"),
    (request(line="GET /%s HTTP/1.1" % ("x" * 87)), 414,
     "request line of 101 bytes exceeds max_request_line_bytes (100)"),
    (b"x" * 102, 414, "max_request_line_bytes (100)"),
    (request(*["X: y"] * 10), 431, "11 header fields exceed max_header_fields (10)"),
    (b"GET / HTTP/1.1\r\nX: " + b"y" * 800, 431, "max_header_bytes (600)"),
    (chunked(b"0\r\nA: " + b"b" * 800), 431, "max_header_bytes (600)"),
])
def test_a_refusal_names_the_limit(data: bytes, status: int, words: str) -> None:
    parser = RequestParser(LIMITS)
    parser.feed(data)
    with pytest.raises(Refused) as caught:
        parser.next()
    assert caught.value.status == status and words in caught.value.reason


def test_the_parser_says_how_far_it_is() -> None:
    parser = RequestParser()
    seen = []
    for piece in (b"", b"POST / HTTP/1.1\r\n", b"Host: a\r\nContent-Length: 4\r\n\r\n", b"ab", b"cdGET"):
        parser.feed(piece)
        found = parser.next()
        seen.append((parser.stage, parser.received, len(parser.unread)))
    assert seen == [("idle", 0, 0), ("head", 0, 17), ("body", 0, 0), ("body", 2, 0), ("head", 0, 3)]
    assert found is not None and found[1] == b"abcd"


@pytest.mark.parametrize("fields, body, waits", [
    (("Expect: 100-continue", "Content-Length: 3"), b"", True),
    (("Expect: 100-Continue", "Transfer-Encoding: chunked"), b"", True),
    (("Expect: 100-continue", "Content-Length: 3"), b"a", False),
    (("Expect: 100-continue", "Transfer-Encoding: chunked"), b"1", False),
    (("Expect: 100-continue", "Transfer-Encoding: chunked"), b"1\r\n", False),
    (("Content-Length: 3",), b"", False),
])
def test_only_who_sends_nothing_waits_for_continue(fields: Tuple[str, ...], body: bytes, waits: bool) -> None:
    parser = RequestParser()
    assert not parser.waits_for_continue
    parser.feed(request(*fields, body=body))
    assert parser.next() is None and parser.waits_for_continue is waits


def test_a_body_in_many_pieces_and_chunks_costs_in_proportion() -> None:
    parser = RequestParser()
    parser.feed(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    pieces = [b"1\r\nx\r\n" * 500] * 20 + [b"40000\r\n" + b"y" * 0x40000 + b"\r\n"] * 20 + [b"0\r\n\r\n"]
    found = None
    for piece in pieces:
        assert found is None
        parser.feed(piece)
        found = parser.next()
    assert found is not None and found[1] == b"x" * 10000 + b"y" * (20 * 0x40000)


@pytest.mark.parametrize("size", [1, 2, 5, 10])
@pytest.mark.parametrize("step", [1 << 20, 1000, 7])
def test_chunks_of_a_few_bytes_are_refused_when_they_are_many(size: int, step: int) -> None:
    """0.5.0 took any number: 15 times the work of a body in one piece, while others wait."""
    limits = Limits(max_header_bytes=2000)
    chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
    wire = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 3000
    parser = RequestParser(limits)
    with pytest.raises(Refused, match=r"max_header_bytes \(2000\)") as refused:
        for start in range(0, len(wire), step):
            parser.feed(wire[start:start + step])
            parser.next()
    assert refused.value.status == 431
    assert parser.received <= 1000 * size + 2 * step


@pytest.mark.parametrize("step", [1 << 20, 1000, 7])
def test_chunks_of_more_bytes_are_as_many_as_a_body_may_have(step: int) -> None:
    limits = Limits(max_header_bytes=2000)
    body = b"".join(b"%02x" % (number % 256) * 12 for number in range(4000))
    chunks = b"".join(b"18\r\n%b\r\n" % body[start:start + 24] for start in range(0, len(body), 24))
    wire = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    parser, found = RequestParser(limits), []
    for start in range(0, len(wire), step):
        parser.feed(wire[start:start + step])
        found.append(parser.next())
    assert [taken[1] for taken in found if taken is not None] == [body] and parser.hand_over() == len(body)


def test_chunks_that_are_here_together_are_bounded_like_others() -> None:
    parser = RequestParser(LIMITS)
    parser.feed(chunked(b"64\r\n%b\r\n" % (b"x" * 100) * 11))
    with pytest.raises(Refused, match="body of 1100 bytes exceeds max_message_bytes"):
        parser.next()


def test_a_parser_counts_from_the_first_byte_until_it_hands_over() -> None:
    bodies = BodyBudget(Limits())
    parser = RequestParser(Limits(), bodies)
    seen = []
    for piece in (post(b"abcd")[:-2], b"cd", post(b"ef")[:-1]):
        parser.feed(piece)
        parser.next()
        seen.append(bodies.held)
    assert seen == [2, 4, 5]
    assert parser.hand_over() == 5 and parser.hand_over() == 0 and bodies.held == 5
    parser.feed(b"f")
    parser.next()
    parser.discard()
    parser.discard()
    assert bodies.held == 5


def test_a_mistake_of_ours_costs_one_connection(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def feed(parser: RequestParser, data: bytes) -> None:
        if b"mistake" in data:
            raise ZeroDivisionError
        original(parser, data)

    original = RequestParser.feed
    monkeypatch.setattr(RequestParser, "feed", feed)
    with serving() as server, records(caplog) as logged:
        for number in range(3):
            with Raw(server.address) as raw:
                raw.send(get("/mistake"))
                with contextlib.suppress(ConnectionResetError):
                    assert raw.rest() == b""
            until(lambda: [record for record in logged if record.exc_info][number:])
            still_serves(server)
        assert server.counters() == {"internal errors": 3}
