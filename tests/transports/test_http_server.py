"""The HTTP engine: replies, streams, clients that go away, times, limits, TLS, and the end."""
import contextlib
import logging
import http.client
import os
import queue
import socket
import ssl
import sys
import threading
import time
from typing import Any, Iterator, List

import pytest

from mcp_ref.errors import ConnectFailed
from mcp_ref.http11.message import Exchange, HttpRequest
from mcp_ref.http11.server.server import HttpServer
from mcp_ref.limits import Limits
from tests.support.patience import WAIT
from tests.transports.http_raw import (CERTIFICATE, Clock, Raw, Reply, Streams, accepts, echo, get, post, records,
                                       replies, serving, still_serves, until)

CLOSE = "Connection: close"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def ask(server: HttpServer, *requests: bytes, methods: Any = ()) -> List[Reply]:
    """What comes back until the server ends the connection."""
    with Raw(server.address) as raw:
        raw.send(*requests)
        return replies(raw.rest(), methods)


# --- Requests and whole replies ---------------------------------------------------------------------------------------

def test_the_handler_sees_the_whole_request() -> None:
    seen: List[HttpRequest] = []

    def handler(exchange: Exchange) -> None:
        seen.append(exchange.request)
        exchange.reply(202)

    with serving(handler) as server:
        answer, = ask(server, post(b"body", "/a%20b?c=d?e", "X-One: 1", "x-one: 2", CLOSE))
    assert (answer.status, answer.body, answer.headers["content-length"]) == (202, b"", "0")
    assert "date" in answer.headers and answer.headers["connection"] == "close"
    request, = seen
    assert request[:2] == ("POST", "/a%20b") and (request.query, request.body) == ("c=d?e", b"body")
    assert (request.version, request.peer, request.secure) == ("HTTP/1.1", "127.0.0.1", False)
    assert request.headers.get_all("X-ONE") == ["1", "2"]


def test_a_connection_serves_many_requests() -> None:
    with serving() as server:
        client = http.client.HTTPConnection(*server.address, timeout=WAIT)
        for number in range(100):
            client.request("POST", "/%d?q" % number, b"x" * number)
            assert client.getresponse().read() == b"POST /%d?q " % number + b"x" * number
        assert server.connections == 1
        client.close()
        until(lambda: server.connections == 0)


def test_pipelined_requests_are_answered_in_order_one_at_a_time() -> None:
    running = threading.Semaphore(1)

    def handler(exchange: Exchange) -> None:
        assert running.acquire(timeout=0)
        answer = threading.Thread(target=lambda: (running.release(), echo(exchange)))
        answer.start()

    with serving(handler) as server:
        answers = ask(server, b"".join(post(b"%d" % number) for number in range(50)) + get("/", CLOSE))
    assert [answer.body for answer in answers[:-1]] == [b"POST /? %d" % number for number in range(50)]
    assert len(answers) == 51


def test_a_request_that_comes_while_the_one_before_it_is_served_waits_for_its_turn() -> None:
    begun: "queue.Queue[Exchange]" = queue.Queue()

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/still":
            echo(exchange)
        else:
            begun.put(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/0"))
        for number in range(1, 4):
            exchange = begun.get(timeout=WAIT)
            raw.send(get("/%d" % number))
            still_serves(server)
            assert begun.empty() and exchange.request.path == "/%d" % (number - 1)
            echo(exchange)
            assert raw.until(b"GET /%d? " % (number - 1))
        echo(begun.get(timeout=WAIT))
        assert raw.until(b"GET /3? ")


@pytest.mark.parametrize("body", [b"", b"x", b"y" * 70_000, b"z" * 16 * 1024 * 1024], ids=len)
def test_bodies_of_every_size_there_and_back(body: bytes) -> None:
    with serving(lambda exchange: exchange.reply(200, (), exchange.request.body)) as server:
        client = http.client.HTTPConnection(*server.address, timeout=WAIT)
        for chunked in (False, True):
            pieces = (body[start:start + 100_000] for start in range(0, len(body), 100_000))
            client.request("POST", "/", pieces if chunked else body, encode_chunked=chunked,
                           headers={"Transfer-Encoding": "chunked"} if chunked else {})
            assert client.getresponse().read() == body
        client.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW", "TRACE"])
def test_methods_pass_through(method: str) -> None:
    with serving() as server:
        answer, = ask(server, b"%s /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % method.encode())
    assert answer.body == b"%s /x? " % method.encode()


def test_head_gets_the_length_and_no_body() -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/stream":
            exchange.start(200)
            assert exchange.send(b"unseen")
            exchange.finish(b"unseen")
        else:
            echo(exchange)

    head = b"HEAD %s HTTP/1.1\r\nHost: a\r\n\r\n"
    with serving(handler) as server:
        answers = ask(server, head % b"/stream" + head % b"/x" + get("/y", CLOSE), methods=["HEAD", "HEAD"])
    assert [(answer.status, answer.body) for answer in answers] == [(200, b""), (200, b""), (200, b"GET /y? ")]
    assert answers[1].headers["content-length"] == "9"


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_has_none(status: int) -> None:
    with serving(lambda exchange: exchange.reply(status, (), b"unseen")) as server:
        answers = ask(server, get() + get("/", CLOSE))
    assert [(answer.status, answer.body) for answer in answers] == [(status, b"")] * 2
    assert "content-length" not in answers[0].headers


def test_http_1_0_gets_no_chunks_and_one_reply() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.start(200)
        exchange.send(b"one ")
        exchange.finish(b"two")

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(b"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n")
        answer = raw.rest()
    assert answer.endswith(b"\r\n\r\none two") and answer.count(b"HTTP/1.1 200 OK") == 1
    assert b"Transfer-Encoding" not in answer and b"Connection: close" in answer


def test_continue_is_said_when_the_client_waits_for_it_and_when_it_is_its_turn() -> None:
    gate = threading.Event()

    def handler(exchange: Exchange) -> None:
        assert gate.wait(WAIT)
        echo(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(post(b"1"), post(b"", "/", "Expect: 100-continue").replace(b"Content-Length: 0", b"Content-Length: 1"))
        gate.set()
        assert raw.until(b"POST /? 1").startswith(b"HTTP/1.1 200")
        assert raw.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.send(b"2")
        assert raw.until(b"POST /? 2").startswith(b"HTTP/1.1 200")
        raw.send(post(b"3", "/", "Expect: 100-continue"))  # it did not wait
        assert raw.until(b"POST /? 3").startswith(b"HTTP/1.1 200")


# --- Handlers that go wrong -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("error", [ValueError("secret"), SystemExit("secret"), KeyboardInterrupt()])
def test_a_handler_that_fails_is_a_500_without_its_words_and_a_record(error: BaseException, caplog: Any) -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/":
            raise error
        echo(exchange)

    with serving(handler) as server, records(caplog) as logged:
        answer, = ask(server, get() + get("/never"))
        assert answer.status == 500 and b"secret" not in answer.body
        until(lambda: logged)
        assert [record.name.rpartition(".")[0] for record in logged] == ["mcp_ref.http11.server"]
        assert logged[0].exc_info is not None and "GET /" in logged[0].getMessage()
        still_serves(server)


def test_a_handler_that_fails_in_a_stream_leaves_no_whole_reply(caplog: Any) -> None:
    closed = threading.Event()

    def handler(exchange: Exchange) -> None:
        exchange.on_close = closed.set
        exchange.start(200)
        exchange.send(b"half")
        raise ValueError

    with serving(handler) as server, Raw(server.address) as raw, records(caplog):
        raw.send(get())
        with pytest.raises(http.client.IncompleteRead):
            replies(raw.rest())
        assert closed.wait(WAIT)


@pytest.mark.parametrize("status, headers", [
    (200, [("X", "a\r\nSet-Cookie: b")]), (200, [("X\n", "a")]), (200, [("X", "a\0")]), (200, [("X", "\u20ac")]),
    (100, []), (0, []), (1000, []),
])
@pytest.mark.parametrize("how", ["reply", "start"])
def test_a_reply_that_cannot_be_sent_is_the_handlers_error(how: str, status: int, headers: Any, caplog: Any) -> None:
    raised: List[BaseException] = []

    def handler(exchange: Exchange) -> None:
        try:
            getattr(exchange, how)(status, headers)
        except ValueError as error:
            raised.append(error)
            raise

    with serving(handler) as server, records(caplog):
        answer, = ask(server, get())
    assert answer.status == 500 and len(raised) == 1 and "set-cookie" not in answer.headers


def test_a_second_reply_is_the_handlers_error() -> None:
    errors: List[str] = []

    def handler(exchange: Exchange) -> None:
        echo(exchange)
        for again in (exchange.reply, exchange.start):
            with pytest.raises(RuntimeError) as caught:
                again(200)
            errors.append(str(caught.value))
        assert exchange.send(b"x") is False
        exchange.finish()

    with serving(handler) as server:
        answers = ask(server, get() + get("/", CLOSE))
        until(lambda: len(errors) == 4)
    assert [answer.body for answer in answers] == [b"GET /? "] * 2


# --- Streams ----------------------------------------------------------------------------------------------------------

def test_a_stream_goes_on_after_the_handler_and_from_any_thread() -> None:
    streams = Streams()
    with serving(streams) as server, Raw(server.address) as raw:
        raw.send(get("/stream"))
        head = raw.until(b"\r\n\r\n")
        assert b"Transfer-Encoding: chunked" in head and b"Content-Length" not in head
        exchange = streams.next()
        for number in range(20):
            thread = threading.Thread(target=lambda: exchange.send(b"piece"))
            thread.start()
            thread.join(WAIT)
            assert raw.until(b"\r\n") + raw.until(b"\r\n") == b"5\r\npiece\r\n"
        assert exchange.send(b"") and exchange.send(b"large" * 40_000)
        assert raw.until(b"\r\n") == b"30d40\r\n" and raw.until(b"\r\n") == b"large" * 40_000 + b"\r\n"
        exchange.finish(b"last")
        assert raw.until(b"0\r\n\r\n") == b"4\r\nlast\r\n0\r\n\r\n"
        assert exchange.send(b"late") is False
        exchange.finish()
        raw.send(get("/next"))
        assert raw.until(b"GET /next? ")
        assert streams.closed.empty()


def test_nothing_of_a_stream_is_sent_before_its_first_piece_or_the_handlers_end() -> None:
    gate, begun = threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        exchange.start(200)
        begun.set()
        assert gate.wait(WAIT)
        if exchange.request.path == "/piece":
            exchange.send(b"x")

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/piece"))
        assert begun.wait(WAIT)
        still_waits = raw.sock
        still_waits.setblocking(False)
        with pytest.raises(BlockingIOError):
            still_waits.recv(1)
        still_waits.settimeout(WAIT)
        gate.set()
        assert raw.until(b"1\r\nx\r\n").startswith(b"HTTP/1.1 200 OK")
    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/end"))
        assert raw.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK")


@pytest.mark.time_limit(60)
def test_a_thousand_open_streams_cost_no_thread() -> None:
    streams, count = Streams(), min(1000, _descriptors() // 2 - 100)  # each stream has one at both ends
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(streams))
        clients = [stack.enter_context(Raw(server.address)) for _ in range(count)]
        for client in clients:
            client.send(get("/stream"))
        exchanges = [streams.next() for _ in range(count)]
        assert len([thread for thread in threading.enumerate() if thread.name.startswith("mcp-ref:")]) < count / 10
        for number, exchange in enumerate(exchanges):
            assert exchange.send(b"event %d." % number)
        received = sorted(client.until(b".\r\n").rpartition(b"event ")[2] for client in clients)
        assert received == sorted(b"%d.\r\n" % number for number in range(count))
        assert server.connections == count
        still_serves(server)
        for client in clients[:count // 2]:
            client.sock.close()
        for _ in range(count // 2):
            streams.closed.get(timeout=WAIT)
        until(lambda: server.connections == count - count // 2)


def _descriptors() -> int:
    """Return how many descriptors this process may have once the server has raised its limit."""
    try:
        import resource
    except ImportError:  # Windows
        return sys.maxsize
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return sys.maxsize if most == resource.RLIM_INFINITY else most


# --- Clients that go away ---------------------------------------------------------------------------------------------

@pytest.mark.race
@pytest.mark.parametrize("way", ["reset", "end", "close"])
def test_the_end_of_a_streams_client_is_told_once(way: str) -> None:
    streams = Streams()
    with serving(streams) as server, Raw(server.address) as raw:
        raw.send(get("/stream"))
        raw.until(b"\r\n\r\n")
        exchange = streams.next()
        {"reset": raw.reset, "end": raw.end, "close": raw.sock.close}[way]()
        assert streams.closed.get(timeout=WAIT) is exchange
        assert exchange.send(b"x") is False
        exchange.finish(b"x")
        until(lambda: server.connections == 0)
        still_serves(server)
        assert streams.closed.empty()


@pytest.mark.race
def test_the_end_of_a_client_is_told_while_the_handler_runs() -> None:
    closed, entered = threading.Event(), threading.Event()
    after: List[Any] = []

    def handler(exchange: Exchange) -> None:
        if exchange.request.path != "/":
            echo(exchange)
            return
        exchange.on_close = closed.set
        entered.set()
        assert closed.wait(WAIT)
        exchange.start(200)
        after.append(exchange.send(b"x"))
        exchange.reply(200)
        after.append("no error")

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(post(b"x"))
        assert entered.wait(WAIT)
        raw.reset()
        until(lambda: len(after) == 2)
        still_serves(server)
    assert after == [False, "no error"]


def test_on_close_may_wait_and_may_fail(caplog: Any) -> None:
    gate, streams = threading.Event(), Streams()

    def failing() -> None:
        assert gate.wait(WAIT)
        raise ValueError("of on_close")

    with serving(streams) as server, records(caplog) as logged:
        with Raw(server.address) as raw:
            raw.send(get("/stream"))
            streams.next().on_close = failing
        until(lambda: server.connections == 0)
        still_serves(server)
        gate.set()
        until(lambda: any("on_close" in record.getMessage() for record in logged))


@pytest.mark.race
def test_a_half_closed_client_gets_its_replies() -> None:
    gate = threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.path != "/still":
            assert gate.wait(WAIT)
        if exchange.request.path == "/stream":
            exchange.start(200)
            assert exchange.send(b"one ")
            exchange.finish(b"two")
        else:
            echo(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/first"))
        raw.send(post(b"second"), get("/stream"))
        raw.end()
        still_serves(server)
        gate.set()
        bodies = [reply.body for reply in replies(raw.rest())]
    assert bodies == [b"GET /first? ", b"POST /? second", b"one two"]


@pytest.mark.race
@pytest.mark.parametrize("first", [True, False], ids=["before it is watched", "while it is watched"])
@pytest.mark.parametrize("way", ["reset", "end", "close"])
def test_a_client_whose_reply_is_watched_is_gone_when_it_ends_its_side(way: str, first: bool) -> None:
    entered, ended, closed = threading.Event(), threading.Event(), threading.Event()
    after: List[Any] = []

    def handler(exchange: Exchange) -> None:
        if exchange.request.path != "/":
            echo(exchange)
            return
        exchange.on_close = closed.set
        if not first:
            exchange.watch()
        entered.set()
        assert ended.wait(WAIT)
        if first:
            exchange.watch()
        assert closed.wait(WAIT)
        exchange.reply(200)
        after.append("no error")

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(post(b"x"))
        assert entered.wait(WAIT)
        {"reset": raw.reset, "end": raw.end, "close": raw.sock.close}[way]()
        still_serves(server)
        ended.set()
        until(lambda: after and server.connections == 0)
        still_serves(server)


def test_watching_one_reply_has_nothing_to_do_with_the_next() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.watch()
        echo(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/1") + get("/2") + get("/3"))
        raw.until(b"GET /3? ")
        raw.send(get("/4"))
        raw.until(b"GET /4? ")
        still_serves(server)


def test_a_half_closed_client_that_goes_is_noticed() -> None:
    streams, gate = Streams(), threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/stream":
            assert gate.wait(WAIT)
        streams(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/stream"))
        raw.end()
        still_serves(server)
        raw.sock.close()
        gate.set()
        assert streams.closed.get(timeout=WAIT) is streams.next()


# --- Clients that read slowly -----------------------------------------------------------------------------------------

def test_a_stream_whose_client_does_not_read_is_let_go(caplog: Any) -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_stream_bytes=100_000)) as server, Raw(server.address) as raw:
        with records(caplog) as logged:
            raw.send(get("/stream"))
            exchange = streams.next()
            sent = 0
            while exchange.send(b"x" * 50_000):
                sent += 1
                assert sent < 2000
            assert streams.closed.get(timeout=WAIT) is exchange
            assert server.counters() == {"slow readers": 1}
            until(lambda: any("max_stream_bytes (100000)" in record.getMessage() for record in logged))
        with pytest.raises((ConnectionError, AssertionError)):
            raw.until(b"0\r\n\r\n")
        still_serves(server)


def test_one_message_may_be_larger_than_what_may_wait() -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_stream_bytes=1000)) as server, Raw(server.address) as raw:
        raw.send(get("/stream", CLOSE))
        exchange = streams.next()
        assert exchange.send(b"y" * 30_000_000)
        exchange.finish()
        assert replies(raw.rest())[0].body == b"y" * 30_000_000


def taken(raw: Raw, size: int) -> int:
    """Read so many bytes, or all that come until the end; how many that was."""
    read = 0
    while read < size:
        data = raw.sock.recv(min(size - read, 1 << 20))
        if not data:
            break
        read += len(data)
    return read


def test_a_client_that_reads_nothing_of_its_reply_is_let_go(clock: Clock, caplog: Any) -> None:
    size, limits = 40_000_000, Limits(http_body_timeout=1)
    with serving(lambda exchange: exchange.reply(200, (), b"x" * size), limits=limits) as server:
        with Raw(server.address) as raw, Raw(server.address) as other, records(caplog) as logged:
            clock.stop()
            for each in (raw, other):
                each.send(get("/", CLOSE))
                taken(each, 1_000_000)
            left = size - 1_000_000
            for _ in range(3):  # who reads gets time; this is more than the kernel holds
                left -= taken(raw, 9_000_000)
                clock.leap(server, 50)
            assert taken(raw, size) > left, "all of it, and its head"
            until(lambda: server.counters().get("slow readers") == 1 or clock.pass_by(1))
            assert taken(other, size) < size - 1_000_000
            until(lambda: any("read nothing for http_write_timeout (60 s)" in record.getMessage() for record in logged))


def test_a_stream_whose_client_reads_nothing_is_let_go_in_time(clock: Clock) -> None:
    streams = Streams()
    with serving(streams, limits=Limits(http_body_timeout=1)) as server, Raw(server.address) as raw:
        clock.stop()
        raw.send(get("/stream"))
        exchange = streams.next()
        assert exchange.send(b"x" * 50_000_000)
        clock.leap(server, 50)
        assert streams.closed.empty() and not exchange.gone
        clock.pass_by(11)
        assert streams.closed.get(timeout=WAIT) is exchange


# --- Times ------------------------------------------------------------------------------------------------------------

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
BEGINNINGS = [
    (b"", "header", None, get("/end")), (b"\r\n", "header", None, get("/end")),
    (b"G", "header", 408, b"ET /end HTTP/1.1\r\nHost: a\r\n\r\n"), (HEAD, "header", 408, b"\r\n"),
    (HEAD + b"Content-Length: 3\r\n\r\nab", "body", 408, b"c"),
    (HEAD + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n", "body", 408, b"abc"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\na", "body", 408, b"bcde\r\n0\r\n\r\n"),
    (b"", "idle", None, get("/end")),
]
"""What a client sends, which of the timeouts ends its connection, with which status, and what it would have sent."""


@pytest.mark.parametrize("short", ["header", "body", "idle"])
def test_who_takes_too_long_is_let_go_and_nobody_else(short: str, clock: Clock) -> None:
    long = {"http_%s_timeout" % name: 1e9 for name in ("header", "body", "idle")}
    limits = Limits(**{**long, "http_%s_timeout" % short: 10.0})  # type: ignore[arg-type]
    with serving(limits=limits) as server, contextlib.ExitStack() as stack:
        clock.stop()
        clients = [stack.enter_context(Raw(server.address)) for _ in BEGINNINGS]
        for raw, (beginning, which, status, _) in zip(clients, BEGINNINGS):
            if status or which == "idle":  # so it has come in whole when the first is answered
                raw.send(get("/one") + beginning)
                raw.until(b"GET /one? ")
            else:
                raw.send(beginning)
        slow = sum(which == short for _, which, _, _ in BEGINNINGS)
        until(lambda: clock.pass_by(1.0) or server.connections == len(clients) - slow)
        for raw, (beginning, which, status, rest) in zip(clients, BEGINNINGS):
            if which != short:
                raw.send(rest + get("/last", CLOSE))
                assert raw.rest().endswith(b"GET /last? "), beginning
                continue
            answers = [reply for reply in replies(raw.rest()) if reply.status != 100]
            assert [answer.status for answer in answers] == ([status] if status else []), beginning
            if status:
                assert b"http_%s_timeout" % short.encode() in answers[0].body
                assert answers[0].headers["connection"] == "close"
        told = sum(which == short and status == 408 for _, which, status, _ in BEGINNINGS)
        assert server.counters().get("requests answered 408", 0) == told


def test_a_body_that_comes_gets_more_time() -> None:
    with serving(limits=Limits(http_body_timeout=0.3)) as server, contextlib.ExitStack() as stack:
        raw, few = (stack.enter_context(Raw(server.address)) for _ in range(2))
        raw.send(post(b"x" * 200_000)[:-1])
        few.send(post(b"x" * 200_000)[:-199_900])
        assert [answer.status for answer in replies(few.rest())] == [408]
        raw.send(b"x")
        assert raw.until(b"x" * 200_000)


def test_running_requests_and_open_streams_have_no_end(clock: Clock) -> None:
    streams, gate, entered = Streams(), threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.method == "POST":
            entered.set()
            assert gate.wait(WAIT)
        streams(exchange)

    with serving(handler) as server, Raw(server.address) as one, Raw(server.address) as two:
        one.send(get("/stream"))
        two.send(post(b"x"))
        exchange = streams.next()
        assert entered.wait(WAIT)
        with Raw(server.address) as silent, Raw(server.address) as idle, Raw(server.address) as half:
            idle.send(get())
            half.send(get() + post(b"abc")[:-1])
            assert idle.until(b"GET /? ") and half.until(b"GET /? ")
            until(lambda: clock.pass_by(1.0) or server.connections == 2)
            assert (silent.rest(), idle.rest()) == (b"", b"") and b" 408 " in half.rest()
        gate.set()
        assert two.until(b"POST /? x")
        assert exchange.send(b"still there") and one.until(b"still there")


def test_a_client_that_keeps_sending_after_the_last_reply_is_let_go() -> None:
    with serving() as server, Raw(server.address) as raw:
        raw.send(b"nonsense\r\n\r\n")
        assert raw.rest().startswith(b"HTTP/1.1 400")
        until(lambda: raw.send(b"more") or server.connections == 0)


# --- Many at once -----------------------------------------------------------------------------------------------------

def test_handlers_that_block_do_not_keep_others_waiting() -> None:
    together = threading.Barrier(32)

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/together":
            together.wait(WAIT)
        echo(exchange)

    with serving(handler) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Raw(server.address)) for _ in range(32)]
        for client in clients[:-1]:
            client.send(get("/together"))
        still_serves(server)
        clients[-1].send(get("/together"))
        for client in clients:
            assert client.until(b"GET /together? ")


def test_requests_wait_when_all_workers_are_busy_but_the_rest_goes_on() -> None:
    gate, streams, entered = threading.Event(), Streams(), threading.Semaphore(0)

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/wait":
            entered.release()
            assert gate.wait(WAIT)
        streams(exchange)

    with serving(handler, limits=Limits(max_workers=2)) as server, contextlib.ExitStack() as stack:
        listener = stack.enter_context(Raw(server.address))
        listener.send(get("/stream"))
        exchange = streams.next()
        clients = [stack.enter_context(Raw(server.address)) for _ in range(5)]
        for client in clients:
            client.send(get("/wait"))
        assert entered.acquire(timeout=WAIT) and entered.acquire(timeout=WAIT)
        assert exchange.send(b"streams go on") and listener.until(b"streams go on")
        with Raw(server.address) as raw:
            raw.send(b"nonsense\r\n\r\n")
            assert raw.rest().startswith(b"HTTP/1.1 400")
        gate.set()
        for client in clients:
            assert client.until(b"GET /wait? ")


def test_silent_connections_and_open_streams_have_no_thread_each() -> None:
    streams = Streams()
    with serving(streams) as server, contextlib.ExitStack() as stack:
        before = threading.active_count()
        clients = [stack.enter_context(Raw(server.address)) for _ in range(400)]
        for client in clients[:200]:
            client.send(get("/stream"))
        for client in clients[200:]:
            client.send(get())
            client.until(b"GET /? ")
        exchanges = [streams.next() for _ in range(200)]
        until(lambda: threading.active_count() <= before + 20)
        for client in (clients[399], clients[200]):
            client.send(get("/again"))
            assert client.until(b"GET /again? ")
        assert all(exchange.send(b"event.") for exchange in exchanges)
        assert all(client.until(b"event.") for client in clients[:200])


def test_one_connection_too_many_is_told_so() -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_http_connections=2)) as server:
        with Raw(server.address) as one, Raw(server.address) as two:
            one.send(get("/stream"))
            two.send(get("/stream"))
            assert streams.next() and streams.next()
            answer, = ask(server, get())
            assert answer.status == 503 and b"max_http_connections (2)" in answer.body
            assert server.counters() == {"connections over the limit": 1, "requests answered 503": 1}
        until(lambda: server.connections == 0)
        still_serves(server)


def test_connections_far_over_the_limit_are_just_closed() -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_http_connections=1)) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Raw(server.address))]
        clients[0].send(get("/stream"))
        exchange = streams.next()
        clients += [stack.enter_context(Raw(server.address)) for _ in range(100)]
        for client in clients[1:]:
            with contextlib.suppress(ConnectionResetError):
                assert client.rest()[:12] in (b"HTTP/1.1 503", b"")
        assert exchange.send(b"streams go on") and clients[0].until(b"streams go on") and server.connections <= 65


@pytest.mark.parametrize("end", ["a connection closes", "a second is over"])
def test_no_descriptor_left_pauses_accepting(end: str, clock: Clock, caplog: Any) -> None:
    resource = pytest.importorskip("resource")
    with serving() as server, contextlib.ExitStack() as stack, records(caplog) as logged:
        one = stack.enter_context(Raw(server.address))
        one.send(get())
        one.until(b"GET /? ")
        waiting = [Raw(server.address, stack.enter_context(socket.socket())) for _ in range(3)]
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as lowest:  # the number that the next one would have
            number = lowest.fileno()
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (number, limits[1]))
            for raw in waiting:
                raw.sock.connect(server.address)
                raw.send(get("/", CLOSE))
            until(lambda: "pauses of accepting" in server.counters())
            one.send(get())
            assert one.until(b"GET /? "), "who is there is served"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        if end == "a second is over":
            clock.pass_by(1.5)
        else:
            clock.stop()
            one.sock.close()
        for raw in waiting:
            assert raw.rest().endswith(b"GET /? ")
        until(lambda: any("cannot accept" in record.getMessage() for record in logged))


def test_the_soft_limit_of_descriptors_is_raised_as_far_as_connections_need() -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
        with serving(limits=Limits(max_http_connections=300)) as server:
            still_serves(server)
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(556, limits[1])
        with serving(limits=Limits(max_http_connections=1)):
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(556, limits[1]), "never lowered"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


# --- Addresses --------------------------------------------------------------------------------------------------------

def test_no_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a name was looked up")

    for name in ("getfqdn", "gethostbyaddr", "gethostbyname", "getnameinfo", "gethostname"):
        monkeypatch.setattr(socket, name, never)
    with serving() as server:
        still_serves(server)
        assert server.url == "http://127.0.0.1:%d" % server.port


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
def test_ipv6_and_both_loopback_addresses() -> None:
    with serving(host="::1") as server:
        still_serves(server)
        assert server.url == "http://[::1]:%d" % server.port
    with serving(host="localhost") as server:
        for address in ("127.0.0.1", "::1"):
            with Raw((address, server.port)) as raw:
                raw.send(get("/", CLOSE))
                assert raw.rest().endswith(b"GET /? ")


def test_a_port_that_is_taken_and_one_that_was_just_left() -> None:
    with serving() as server:
        still_serves(server)
        with pytest.raises(ConnectFailed, match="port %d: Address already in use" % server.port):
            HttpServer(echo, "127.0.0.1", server.port).open()
    with serving(port=server.port) as again:
        still_serves(again)


# --- TLS --------------------------------------------------------------------------------------------------------------

@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(CERTIFICATE))
    return context


@pytest.fixture
def secure(tls: ssl.SSLContext) -> Iterator[HttpServer]:
    with serving(Streams(), ssl_context=tls) as server:
        yield server


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


def encrypted(server: HttpServer) -> Raw:
    """A client that takes an end without a word for an error."""
    sock = socket.create_connection(server.address, WAIT)
    return Raw(server.address, trusting().wrap_socket(sock, server_hostname="localhost", suppress_ragged_eofs=False))


def test_tls_carries_everything(secure: HttpServer) -> None:
    assert secure.url.startswith("https://127.0.0.1:")
    client = http.client.HTTPSConnection("127.0.0.1", secure.port, timeout=WAIT, context=trusting())
    for size in (0, 1, 20_000, 3_000_000):
        client.request("POST", "/", b"x" * size)
        assert client.getresponse().read() == b"POST /? " + b"x" * size
    client.close()


def test_tls_reads_what_was_decrypted_ahead(secure: HttpServer) -> None:
    """One record with many requests, more than one read takes, and then silence."""
    with encrypted(secure) as raw:
        requests = [post(b"%04d" % number + b"." * 100) for number in range(400)]
        raw.send(b"".join(requests))
        for number in range(400):
            raw.until(b"%04d" % number + b"." * 100)
        for byte in get("/slowly"):
            raw.send(bytes([byte]))
        assert raw.until(b"GET /slowly? ")
        raw.send(get("/", CLOSE))
        assert raw.rest().endswith(b"GET /? ")


def test_tls_streams_end_and_are_ended(tls: ssl.SSLContext) -> None:
    streams = Streams()
    with serving(streams, ssl_context=tls) as server:
        with encrypted(server) as raw:
            raw.send(get("/stream"))
            exchange = streams.next()
            assert exchange.request.secure
            assert exchange.send(b"x" * 3_000_000 + b"!") and raw.until(b"!")
        assert streams.closed.get(timeout=WAIT) is exchange
        with encrypted(server) as raw:
            raw.send(get("/stream"))
            streams.next().send(b"still there")
            raw.until(b"still there")
            server.close(0)
            assert raw.until(b"0\r\n\r\n")


def test_tls_requests_are_answered_in_order_and_a_last_one_ends_the_connection(secure: HttpServer) -> None:
    with encrypted(secure) as raw:
        raw.send(b"".join(post(b"%d" % number) for number in range(50)) + get("/", CLOSE) + get("/never"))
        answers = replies(raw.rest())
        assert [answer.body for answer in answers] == [b"POST /? %d" % number for number in range(50)] + [b"GET /? "]
    with encrypted(secure) as raw:
        raw.send(get() + b"nonsense\r\n\r\n" + b"more" * 1000)
        assert [answer.status for answer in replies(raw.rest())] == [200, 400]


def test_tls_says_continue_and_reads_a_body_in_pieces(secure: HttpServer) -> None:
    with encrypted(secure) as raw:
        raw.send(post(b"", "/", "Expect: 100-continue").replace(b"Length: 0", b"Length: 300000"))
        assert raw.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        raw.send(*[b"x" * 1000] * 300)
        assert raw.until(b"POST /? " + b"x" * 300_000)


def test_tls_clients_that_take_too_long_are_let_go(tls: ssl.SSLContext, clock: Clock) -> None:
    with serving(ssl_context=tls, limits=Limits(http_idle_timeout=1e9)) as server, encrypted(server) as idle:
        idle.send(get())
        idle.until(b"GET /? ")
        for number, half in enumerate((post(b"abc")[:-1], get()[:-1])):
            with encrypted(server) as raw:
                raw.send(get() + half)
                raw.until(b"GET /? ")
                until(lambda: clock.pass_by(1.0) or server.counters().get("requests answered 408", 0) > number)
                assert [answer.status for answer in replies(raw.rest())] == [408]
        idle.send(get("/", CLOSE))
        assert idle.rest().endswith(b"GET /? ")


@pytest.mark.race
@pytest.mark.parametrize("way", ["reset", "close"])
def test_tls_the_end_of_a_client_is_told_while_the_handler_runs(way: str, tls: ssl.SSLContext) -> None:
    closed, entered = threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        exchange.on_close = closed.set
        exchange.watch()
        entered.set()
        assert closed.wait(WAIT)

    with serving(handler, ssl_context=tls) as server, encrypted(server) as raw:
        raw.send(post(b"x"))
        assert entered.wait(WAIT)
        {"reset": raw.reset, "close": raw.sock.close}[way]()
        assert closed.wait(WAIT)
        until(lambda: server.connections == 0)


def test_tls_clients_that_read_nothing_are_let_go(tls: ssl.SSLContext) -> None:
    streams = Streams()
    with serving(streams, ssl_context=tls, limits=Limits(max_stream_bytes=100_000)) as server:
        with encrypted(server) as raw:
            raw.send(get("/stream"))
            exchange, sent = streams.next(), 0
            while exchange.send(b"x" * 50_000):
                sent += 1
                assert sent < 2000
            assert streams.closed.get(timeout=WAIT) is exchange and server.counters() == {"slow readers": 1}


def test_tls_draining_and_closing_end_each_connection_in_order(tls: ssl.SSLContext) -> None:
    gate, entered = threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/wait":
            entered.set()
            assert gate.wait(WAIT)
        echo(exchange)

    with serving(handler, ssl_context=tls) as server:
        with encrypted(server) as one, encrypted(server) as running:
            one.send(get())
            one.until(b"GET /? ")
            server.drain()
            one.send(get())
            answer, = replies(one.rest())
            assert answer.status == 200 and answer.headers["connection"] == "close"
            running.send(get("/wait"))
            assert entered.wait(WAIT)
            closing = threading.Thread(target=server.close, args=(WAIT,))
            closing.start()
            until(lambda: not accepts(server))
            gate.set()
            answer, = replies(running.rest())
            assert answer.body == b"GET /wait? " and answer.headers["connection"] == "close"
            closing.join(WAIT)
            assert not closing.is_alive()


def test_tls_handshakes_keep_nobody_waiting_and_are_given_up(tls: ssl.SSLContext, clock: Clock, caplog: Any) -> None:
    with serving(ssl_context=tls) as server, records(caplog) as logged:
        with Raw(server.address) as silent, Raw(server.address) as slow, Raw(server.address) as plain:
            slow.send(b"\x16\x03\x01")
            plain.send(get())
            with contextlib.suppress(ConnectionResetError):
                assert b"HTTP" not in plain.rest()
            with encrypted(server) as raw:
                raw.send(get())
                raw.until(b"GET /? ")
                clock.pass_by(11)
                for client in (silent, slow):
                    assert client.rest() == b""
                raw.send(get())
                raw.until(b"GET /? ")
        assert server.counters() == {"TLS handshakes that failed": 1, "TLS handshakes given up": 2}
        until(lambda: len(logged) == 2)


# --- Threads that cannot be started -----------------------------------------------------------------------------------

def test_a_request_for_which_no_thread_is_left_is_served_when_there_is_one(caplog: Any) -> None:
    with serving() as server, records(caplog) as logged, Raw(server.address) as raw:
        usual = threading.stack_size(1 << 47)  # more than there are addresses: no thread can be started
        try:
            raw.send(get("/late"))
            until(lambda: server.counters().get("connections without a thread"))
        finally:
            threading.stack_size(usual)
        raw.until(b"GET /late? ")
        until(lambda: any("can't start new thread" in record.getMessage() for record in logged))


# --- Handlers that go on, or fail -------------------------------------------------------------------------------------

def test_a_handler_that_goes_on_after_its_reply_keeps_no_request_of_its_client_waiting() -> None:
    gate, entered, over = threading.Event(), threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        exchange.reply(200, (), exchange.request.path.encode())
        if exchange.request.path == "/first":
            entered.set()
            gate.wait(WAIT)
            over.set()

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(get("/first"))
        raw.until(b"/first")
        assert entered.wait(WAIT)
        for _ in range(2):
            raw.send(get("/second"))
            raw.until(b"/second")
        assert not over.is_set()
        gate.set()
        assert over.wait(WAIT)


def test_a_client_whose_long_body_was_refused_is_not_waited_for(clock: Clock) -> None:
    body = b"".join(b"4000\r\n" + b"x" * 0x4000 + b"\r\n" for _ in range(20)) + b"no chunk\r\n"
    with serving() as server, Raw(server.address) as raw:
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
        raw.until(b"400 Bad Request")
        clock.pass_by(4)
        until(lambda: server.connections == 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # nobody else hears of a broken log
def test_a_body_is_freed_where_the_log_fails_with_the_handler() -> None:
    def handler(exchange: Exchange) -> None:
        raise ValueError("no")

    def broken(record: Any) -> bool:
        raise ZeroDivisionError

    log = logging.getLogger("mcp_ref.http11.server.connection")
    log.addFilter(broken)
    try:
        with serving(handler) as server, Raw(server.address) as raw:
            raw.send(post(b"x" * 1000))
            assert raw.rest().startswith(b"HTTP/1.1 500 ")
            until(lambda: server.body_bytes == 0)
    finally:
        log.removeFilter(broken)


def test_a_field_of_the_handler_does_not_keep_a_connection_that_has_to_end() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.start(200, (("Connection", "keep-alive"),))
        exchange.finish(b"all")

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(b"GET / HTTP/1.0\r\n\r\n")
        assert raw.rest().endswith(b"all")


# --- The end ----------------------------------------------------------------------------------------------------------

def test_closing_lets_running_requests_finish_and_ends_streams_in_order() -> None:
    streams, gate, entered = Streams(), threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.method == "POST":
            entered.set()
            assert gate.wait(WAIT)
        streams(exchange)

    with serving(handler) as server:
        with Raw(server.address) as idle, Raw(server.address) as stream, Raw(server.address) as running:
            idle.send(get())
            idle.until(b"GET /? ")
            stream.send(get("/stream"))
            exchange = streams.next()
            running.send(post(b"x"))
            assert entered.wait(WAIT)
            closing = threading.Thread(target=server.close, args=(WAIT,))
            closing.start()
            assert idle.rest() == b""
            with pytest.raises(OSError):
                socket.create_connection(server.address, WAIT).close()
            assert exchange.send(b"until the end")
            gate.set()
            answer, = replies(running.rest())
            assert answer.body == b"POST /? x" and answer.headers["connection"] == "close"
            assert replies(stream.rest())[0].body == b"until the end"
            closing.join(WAIT)
            assert not closing.is_alive() and streams.closed.get(timeout=WAIT) is exchange
    # A thread that has lost the lead, for its handler has blocked, ends by itself.
    until(lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("mcp-ref:")])


def test_closing_waits_no_longer_than_its_grace() -> None:
    gate, entered, closed = threading.Event(), threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        exchange.on_close = closed.set
        exchange.start(200)
        exchange.send(b"half")
        entered.set()
        assert gate.wait(WAIT)

    with serving(handler) as server, Raw(server.address) as raw:
        raw.send(post(b"x"))
        assert entered.wait(WAIT)
        begin = time.monotonic()
        server.close(0.05)
        assert time.monotonic() - begin < 5
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            replies(raw.rest())
        assert closed.wait(WAIT)
        gate.set()


def test_a_request_that_comes_while_closing_is_refused() -> None:
    gate, entered = threading.Event(), threading.Event()

    def handler(exchange: Exchange) -> None:
        if exchange.request.method == "POST":
            entered.set()
            assert gate.wait(WAIT)
        echo(exchange)

    with serving(handler) as server, Raw(server.address) as running, Raw(server.address) as late:
        late.send(get() + get()[:-1])  # it has come in whole when the first is answered
        late.until(b"GET /? ")
        running.send(post(b"x"))
        assert entered.wait(WAIT)
        closing = threading.Thread(target=server.close, args=(WAIT,))
        closing.start()
        until(lambda: not accepts(server))
        late.send(get()[-1:])
        assert replies(late.rest())[0].status == 503
        gate.set()
        assert replies(running.rest())[0].body == b"POST /? x"
        closing.join(WAIT)


def test_draining_goes_on_serving_but_ends_each_connection() -> None:
    with serving() as server, Raw(server.address) as raw:
        raw.send(get())
        raw.until(b"GET /? ")
        server.drain()
        raw.send(get())
        answer, = replies(raw.rest())
        assert answer.status == 200 and answer.headers["connection"] == "close"
        still_serves(server)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here only")
def test_closing_in_a_forked_copy_leaves_the_original_and_its_clients_alone() -> None:
    streams = Streams()
    with serving(streams) as server, Raw(server.address) as raw, Raw(server.address) as stream:
        raw.send(get())
        raw.until(b"GET /? ")
        stream.send(get("/stream"))
        exchange = streams.next()
        child = os.fork()
        if not child:
            begin = time.monotonic()
            server.close(WAIT)  # would wait for threads that run in the original only
            os._exit(0 if time.monotonic() - begin < WAIT / 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        raw.send(get("/after"))
        assert raw.until(b"GET /after? ") and exchange.send(b"goes on") and stream.until(b"goes on")
        still_serves(server)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here only")
def test_a_forked_copy_that_lives_on_holds_neither_port_nor_connections() -> None:
    streams = Streams()
    read, write = os.pipe()
    with serving(streams) as server:
        with Raw(server.address) as raw, Raw(server.address) as idle:
            idle.send(get())
            idle.until(b"GET /? ")
            raw.send(get("/stream"))
            streams.next()
            child = os.fork()
            if not child:
                os.close(write)
                os.read(read, 1)  # until the parent has closed its end
                os._exit(0)
            try:
                server.close()
                assert raw.rest().endswith(b"0\r\n\r\n") and idle.rest() == b""
                with serving(port=server.port) as again:
                    still_serves(again)
            finally:
                os.close(write)
                os.waitpid(child, 0)
                os.close(read)


def test_closing_twice_before_opening_and_from_several_threads() -> None:
    HttpServer(echo).close()
    with serving() as server:
        threads = [threading.Thread(target=server.close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        server.close(1)
        assert server.connections == 0


@pytest.mark.race
def test_closing_while_clients_come_and_go_leaves_nothing_behind() -> None:
    with serving() as server:
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                with contextlib.suppress(OSError, AssertionError), Raw(server.address) as raw:
                    raw.send(get() + get("/", CLOSE))
                    raw.rest()

        threads = [threading.Thread(target=busy) for _ in range(4)]
        for thread in threads:
            thread.start()
        still_serves(server)
        server.close(0.5)
        stop.set()
        for thread in threads:
            thread.join(WAIT)
            assert not thread.is_alive()


# --- Sockets of others ------------------------------------------------------------------------------------------------

def test_a_socket_that_listens_already_is_served_and_outlives_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as shared:
        port = shared.getsockname()[1]
        for _ in range(2):  # as another process would, when the first has ended
            server = HttpServer(echo, fds=[shared.dup().detach()])
            server.open()
            try:
                assert server.address == ("127.0.0.1", port)
                assert ask(server, post(b"x", "/", CLOSE))[0].body == b"POST /? x"
            finally:
                server.close()
        shared.setblocking(True)
        with socket.create_connection(("127.0.0.1", port), WAIT), shared.accept()[0]:
            pass


def test_servers_that_share_a_socket_all_get_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as shared, contextlib.ExitStack() as stack:
        servers = [HttpServer(echo, fds=[shared.dup().detach()]) for _ in range(2)]
        for server in servers:
            server.open()
            stack.callback(server.close)
        raws = [stack.enter_context(Raw(servers[0].address)) for _ in range(40)]
        until(lambda: sum(server.connections for server in servers) == len(raws))
        for raw in raws:
            raw.send(post(b"x", "/", CLOSE))
            assert replies(raw.rest())[0].body == b"POST /? x"


@pytest.mark.parametrize("kind", ["file", "unconnected", "unix", "closed"])
def test_a_descriptor_that_is_no_listening_socket_is_refused(kind: str, tmp_path: Any) -> None:
    with contextlib.ExitStack() as stack:
        if kind == "file":
            fd = stack.enter_context(open(str(tmp_path / "file"), "w")).fileno()
        elif kind == "closed":
            fd = 999
        else:
            made = stack.enter_context(socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET))
            fd = made.detach()
        with pytest.raises(ConnectFailed, match="descriptor %d is no socket" % fd):
            HttpServer(echo, fds=[fd]).open()
