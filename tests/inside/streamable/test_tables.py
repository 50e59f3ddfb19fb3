"""What the client of HTTP makes of URLs, pieces and waits, function by function."""
import socket
from typing import Any, List

import pytest

from mcp_ref.errors import AnswerLost, ConnectionLost
from mcp_ref.http11.client.connect import server_url
from mcp_ref.http11.client.response import Reply
from mcp_ref.limits import Limits
from mcp_ref.streamable.client.posts import Inbox, is_answer
from mcp_ref.streamable.client.streamable import StreamableHttp, Trail
from mcp_ref.transports.base import Outgoing
from tests.support.clocks import by_hand
from tests.support.scripted_http import ScriptedHttp
from tests.support.sides import in_thread


@pytest.mark.parametrize("body, pieces", [
    (b"Content-Length: 9\r\n\r\n12345", [b"12345", None]), (b"Content-Length: 5\r\n\r\n12345", [b"12345", b""]),
    (b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", [b"12345", None]), (b"\r\n12345", [b"12345", b""]),
])
def test_a_piece_that_is_missing_is_never_the_end(body: bytes, pieces: List[Any]) -> None:
    near, far = socket.socketpair()
    near.sendall(b"HTTP/1.1 200 OK\r\n" + body)
    near.close()
    reply = Reply(far, "GET")
    reply.begin()
    for piece in pieces:
        if piece is None:
            with pytest.raises(AnswerLost, match="too early"):
                reply.piece()
        else:
            assert reply.piece() == piece
    reply.close()
    far.close()


@pytest.mark.parametrize("url, origin, target", [
    ("http://Example.COM/mcp", "http://example.com", "/mcp"), ("https://example.com:443", "https://example.com", "/"),
    ("http://example.com:443/a b?c=d e#f", "http://example.com:443", "/a%20b?c=d%20e"),
    ("http://[::1]:80/", "http://[::1]", "/"), ("http://[::1]:81/", "http://[::1]:81", "/"),
    ("http://b\u00fccher.example/\u00fc", "http://xn--bcher-kva.example", "/%C3%BC"),
])
def test_urls(url: str, origin: str, target: str) -> None:
    assert (server_url(url).origin, server_url(url).target) == (origin, target)


def test_an_inbox_that_is_full_makes_its_writers_wait() -> None:
    inbox = Inbox(capacity=10)
    inbox.put(b"12345678")
    writer = in_thread(inbox.put, b"9012")
    assert not writer.over and inbox.take() == [b"12345678"]
    writer.get()
    waiting = in_thread(lambda: [inbox.put(b"x" * 100) for _ in range(3)])
    inbox.end(drop=True)
    waiting.get()
    assert inbox.take() == []


def test_a_transport_that_is_closed_takes_nothing_more_and_reads_none() -> None:
    with ScriptedHttp() as server:
        transport = StreamableHttp(server.url)
        transport.open()
        transport.close()
        transport.close()
        assert transport.read() is None and transport.read() is None
        with pytest.raises(ConnectionLost):
            transport.write([b"{}"])


@pytest.mark.parametrize("retry, tries, least, most", [
    (None, 0, 0.25, 0.5), (None, 3, 2.0, 4.0), (None, 50, 15.0, 30.0), (0, 0, 0.1, 0.1), (700, 0, 0.7, 0.7),
    (700, 3, 2.0, 4.0), (90_000, 0, 90.0, 90.0), (90_000, 9, 90.0, 90.0),
])
def test_how_long_is_waited_before_a_stream_is_asked_for_again(
        retry: Any, tries: int, least: float, most: float) -> None:
    trail = Trail()
    trail.retry, trail.tries, trail.heard = retry, tries, True
    assert all(least <= trail.delay(Limits()) <= most for _ in range(50))


def test_a_server_that_ends_streams_at_once_is_asked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = by_hand(monkeypatch)
    trail, waits = Trail(), []
    trail.retry = 0
    for _ in range(6):
        trail.begin()
        waits.append(trail.delay(Limits()))
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0], "retry: 0 was 100 attempts a second for ever"
    trail.begin()
    clock.now += 1.0
    assert trail.delay(Limits()) == 0.1, "it has lasted"
    trail.begin()
    assert trail.delay(Limits()) == 0.1
    trail.begin()
    trail.heard = True
    assert trail.delay(Limits()) == 0.1
    trail.retry = 700
    for _ in range(9):
        trail.begin()
        assert trail.delay(Limits(min_reconnect_delay=0.0)) == 0.7


@pytest.mark.parametrize("message, expected", [
    (b'{"jsonrpc":"2.0","id":7,"method":"ping"}', (7, "ping")),
    (b'{"jsonrpc":"2.0","method":"notifications/x"}', (None, "notifications/x")),
    (b'{"jsonrpc":"2.0","id":7,"result":{"method":"x"}}', (None, "")),
    (b'{"method":"a\\"b","id":"s","jsonrpc":"2.0"}', ("s", 'a"b')), (b"[]", (None, "")), (b"nonsense", (None, "")),
])
def test_what_is_read_of_a_message_of_which_only_the_bytes_are_known(message: bytes, expected: Any) -> None:
    read = Outgoing.read(message)
    assert (read.id, read.method) == expected and read.data is message


@pytest.mark.parametrize("data, expected", [
    (b'{"id":1,"result":{}}', True), (b'{"id":1,"result":{"method":"x"}}', True), (b'{"id":1,"method":"x"}', False),
    (b'[{"method":"x"},{"id":1,"result":{}}]', True), (b'[{"method":"x"}]', False), (b'"method" nonsense', False),
])
def test_what_looks_like_an_answer(data: bytes, expected: bool) -> None:
    assert is_answer(data) is expected
