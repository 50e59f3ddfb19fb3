"""How the HTTP server reads requests, seen by its clients: limits by name, 100 Continue, chunks, targets, odd bytes."""
import random
from typing import List, Tuple

import pytest

from mcp_ref.http11.message import Exchange, HttpRequest
from mcp_ref.limits import Limits
from tests.transports.http_cases import ACCEPTED, LIMITS, chunked, cut, request, sized
from tests.transports.http_raw import Raw, echo, get, replies, serving, still_serves

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("data, status, words", [
    (sized("1001"), 413, "body of 1001 bytes exceeds max_message_bytes (1000)"),
    (chunked(b"3e9\r\n"), 413, "body of 1001 bytes exceeds max_message_bytes (1000)"),
    (chunked(b"64\r\n%b\r\n" % (b"x" * 100) * 11), 413, "body of 1100 bytes exceeds max_message_bytes (1000)"),
    (request(line="GET /%s HTTP/1.1" % ("x" * 87)), 414, "max_request_line_bytes (100)"),
    (b"x" * 102, 414, "max_request_line_bytes (100)"),
    (request(*["X: y"] * 10), 431, "11 header fields exceed max_header_fields (10)"),
    (b"GET / HTTP/1.1\r\nX: " + b"y" * 800, 431, "max_header_bytes (600)"),
    (chunked(b"0\r\nA: " + b"b" * 800), 431, "max_header_bytes (600)"),
])
def test_a_refusal_names_the_limit(data: bytes, status: int, words: str) -> None:
    with serving(limits=LIMITS) as server, Raw(server.address) as raw:
        raw.send(data)
        answer, = replies(raw.rest())
    assert answer.status == status and words in answer.body.decode()
    assert answer.headers["content-type"].startswith("text/plain") and answer.headers["connection"] == "close"
    assert server.counters() == {"requests answered %d" % status: 1}


@pytest.mark.parametrize("line, fields, seen", [
    ("GET /a/b?c=d?e HTTP/1.1", ("Host: h:1",), ("/a/b", "c=d?e", "HTTP/1.1", "h:1")),
    ("GET https://real:8000/x?y HTTP/1.1", ("Host: other",), ("/x", "y", "HTTP/1.1", "real:8000")),
    ("GET http://real HTTP/1.1", ("Host: other",), ("/", "", "HTTP/1.1", "real")),
    ("GET http://real?q HTTP/1.1", ("Host: other",), ("/", "q", "HTTP/1.1", "real")),
    ("OPTIONS * HTTP/1.1", ("Host: h",), ("*", "", "HTTP/1.1", "h")),
    ("CONNECT h:1 HTTP/1.1", ("Host: h:1",), ("h:1", "", "HTTP/1.1", "h:1")),
    ("GET //h/x HTTP/1.1", ("Host: a",), ("//h/x", "", "HTTP/1.1", "a")),
    ("GET /%2e%2e/?%3f HTTP/1.9", ("Host: a",), ("/%2e%2e/", "%3f", "HTTP/1.1", "a")),
    ("GET / HTTP/1.0", (), ("/", "", "HTTP/1.0", None)),
    ("GET /? HTTP/1.0", ("Host: a",), ("/", "", "HTTP/1.0", "a")),
])
def test_a_target_is_taken_apart_and_not_decoded(line: str, fields: Tuple[str, ...], seen: Tuple[object, ...]) -> None:
    """The host of a target that is a URL counts [RFC 9112 §3.2.2]."""
    found: List[HttpRequest] = []

    def handler(exchange: Exchange) -> None:
        found.append(exchange.request)
        exchange.reply(200)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send("\r\n".join([line, *fields, "Connection: close", "", ""]).encode())
        raw.rest()
    asked, = found
    assert (asked.path, asked.query, asked.version, asked.headers.get("host")) == seen


def test_fields_are_stripped_and_kept_apart() -> None:
    found: List[HttpRequest] = []

    def handler(exchange: Exchange) -> None:
        found.append(exchange.request)
        exchange.reply(200)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/", "X-One: 1 ", "x-one:\t2\t", "Y:", "Z: \xe9\xff", "Connection: close"))
        raw.rest()
    headers = found[0].headers
    assert headers.get_all("X-ONE") == ["1", "2"] and headers.get("x-One") == "1, 2"
    assert (headers.get("y"), headers.get("z"), headers.get("via")) == ("", "\xe9\xff", None)
    assert headers.repeated(["host", "x-one"]) == "x-one"


@pytest.mark.parametrize("fields, body, waits", [
    (("Expect: 100-continue", "Content-Length: 3"), b"abc", True),
    (("Expect: 100-Continue", "Transfer-Encoding: chunked"), b"1\r\na\r\n0\r\n\r\n", True),
    (("Expect: 100-continue", "Content-Length: 0"), b"", False),
    (("Content-Length: 3",), b"abc", False),
])
def test_continue_is_said_once_and_only_where_it_is_expected(fields: Tuple[str, ...], body: bytes, waits: bool) -> None:
    with serving() as server, Raw(server.address) as raw:
        raw.send(request(*fields))
        if waits:
            assert raw.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        for place in range(len(body)):
            raw.send(body[place:place + 1])
        raw.send(get("/", "Connection: close"))
        assert [answer.status for answer in replies(raw.rest())] == [200, 200]


@pytest.mark.parametrize("beginning", [b"a", b"abc"])
def test_who_sends_the_body_at_once_does_not_wait_for_continue(beginning: bytes) -> None:
    with serving() as server, Raw(server.address) as raw:
        raw.send(request("Expect: 100-continue", "Content-Length: 3", body=beginning))
        still_serves(server)  # so this came alone
        raw.send(b"abc"[len(beginning):] + get("/", "Connection: close"))
        assert [answer.status for answer in replies(raw.rest())] == [200, 200]


def test_a_body_in_many_pieces_and_chunks_is_put_together() -> None:
    pieces = [b"1\r\nx\r\n" * 500] * 20 + [b"40000\r\n" + b"y" * 0x40000 + b"\r\n"] * 20 + [b"0\r\n\r\n"]
    with serving(lambda exchange: exchange.reply(200, (), exchange.request.body)) as server:
        with Raw(server.address) as raw:
            raw.send(CHUNKED, *pieces, get("/", "Connection: close"))
            first, _ = replies(raw.rest())
    assert first.body == b"x" * 10000 + b"y" * (20 * 0x40000)


@pytest.mark.parametrize("size", [1, 2, 5, 10])
@pytest.mark.parametrize("step", [1 << 20, 1000, 7])
def test_chunks_of_a_few_bytes_are_refused_when_they_are_many(size: int, step: int) -> None:
    """0.5.0 took any number: 15 times the work of a body in one piece, while others wait."""
    wire = CHUNKED + b"%x\r\n%b\r\n" % (size, b"x" * size) * 3000
    with serving(limits=Limits(max_header_bytes=2000)) as server, Raw(server.address) as raw:
        raw.send(*(wire[start:start + step] for start in range(0, len(wire), step)))
        answer, = replies(raw.rest())
    assert answer.status == 431 and b"max_header_bytes (2000)" in answer.body


@pytest.mark.parametrize("step", [1 << 20, 1000, 7])
def test_chunks_of_more_bytes_are_as_many_as_a_body_may_have(step: int) -> None:
    body = b"".join(b"%02x" % (number % 256) * 12 for number in range(4000))
    chunks = b"".join(b"18\r\n%b\r\n" % body[start:start + 24] for start in range(0, len(body), 24))
    wire = CHUNKED + chunks + b"0\r\n\r\n"
    with serving(echo, limits=Limits(max_header_bytes=2000)) as server, Raw(server.address) as raw:
        raw.send(*(wire[start:start + step] for start in range(0, len(wire), step)))
        assert raw.until(body).startswith(b"HTTP/1.1 200 ")


def test_changed_bytes_are_refused_or_waited_for() -> None:
    dice = random.Random(4)
    whole = [case.data for case in ACCEPTED if case.data]
    with serving(limits=LIMITS) as server:
        for number in range(500):
            broken = bytearray(dice.choice(whole))
            for _ in range(dice.randrange(1, 4)):
                broken[dice.randrange(len(broken))] = dice.randrange(256)
            with Raw(server.address) as raw:
                raw.send(*cut(bytes(broken) + b"\r\n\r\n", number))
                raw.end()
                said = b"\r\n" + raw.rest()
            statuses = {int(line[:3]) for line in said.split(b"\r\nHTTP/1.1 ")[1:]}
            assert statuses <= {100, 200, 400, 413, 414, 417, 431, 505}, bytes(broken)
        still_serves(server)


@pytest.mark.parametrize("changed", [
    b"0", b"00", b"012", b"1000", b"1001", b"9" * 19, b"9" * 20, b"", b"+1", b"-1", b"1_0", b" 1", b"1 ", b"1,1",
    "\u0661".encode(), b"\xb2", b"0x1", b"1\r\nContent-Length: 1", b"1\r\nTransfer-Encoding: chunked", b"1\r\n 2",
])
def test_a_head_that_is_much_like_the_one_before_is_read_as_if_it_came_alone(changed: bytes) -> None:
    usual = b"POST /mcp HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\nMcp-Session-Id: 5\r\n\r\nabcde"
    other = usual.replace(b"th: 5", b"th: " + changed)
    found = []
    with serving(limits=LIMITS) as server:
        for before in (b"", usual):
            with Raw(server.address) as raw:
                raw.send(before + other)
                raw.end()
                found.append([(answer.status, answer.body) for answer in replies(raw.rest())])
    assert found[1] == [(200, b"POST /mcp? abcde"), *found[0]]
