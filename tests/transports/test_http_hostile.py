"""Hostile and broken clients against the whole server: each gets its answer, and nobody else notices."""
import contextlib
import random
import socket
import threading
import tracemalloc
from typing import Iterator, List

import pytest

from mcp_ref.http11.message import Exchange
from mcp_ref.http11.server.server import HttpServer
from tests.support.patience import WAIT
from tests.transports.http_cases import CASES, LIMITS, Case, cut
from tests.transports.http_raw import Raw, echo, get, post, replies, serving, still_serves


def body_only(exchange: Exchange) -> None:
    exchange.reply(200, (), exchange.request.body)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serving(body_only, limits=LIMITS) as running:
        yield running


@pytest.fixture
def neighbour(server: HttpServer) -> Iterator[Raw]:
    """Another client, whose connection was there before."""
    with Raw(server.address) as raw:
        yield raw
        raw.send(post(b"still here"))
        assert raw.until(b"still here").startswith(b"HTTP/1.1 200 OK\r\n")


FIRST = post(b"first") + post(b"second")


def check(server: HttpServer, case: Case, pieces: List[bytes], before: bytes = b"") -> None:
    with Raw(server.address) as raw:
        raw.send(before, *pieces)
        if not case.refused:
            raw.end()
        answers = [reply for reply in replies(raw.rest()) if reply.status != 100]
    if before:
        assert [reply.body for reply in answers[:2]] == [b"first", b"second"]
        del answers[:2]
    assert tuple(reply.status for reply in answers) == case.statuses
    if case.refused:
        assert answers[-1].headers["connection"] == "close"
        assert answers[-1].body.startswith(b"%d " % case.statuses[-1])
    else:
        assert tuple(reply.body for reply in answers) == case.bodies


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.usefixtures("neighbour")
def test_each_case_gets_its_answer_and_its_neighbour_too(server: HttpServer, case: Case) -> None:
    check(server, case, [case.data])
    check(server, case, [case.data], FIRST)
    check(server, case, [case.data[place:place + 1] for place in range(len(case.data))])
    if len(case.data) > 2:
        check(server, case, cut(case.data, len(case.data)))


@pytest.mark.usefixtures("neighbour")
def test_garbage_of_many_clients_stops_nobody(server: HttpServer) -> None:
    dice = random.Random(7)
    whole = [case.data for case in CASES if case.data]
    for number in range(300):
        broken = bytearray(dice.choice(whole))
        for _ in range(dice.randrange(4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        with Raw(server.address) as raw:
            raw.send(*cut(bytes(broken) * dice.randrange(1, 3) + b"\r\n\r\n", number))
            if number % 3 == 0:
                raw.reset()
            elif number % 3 == 1:
                raw.end()
                raw.rest()
    still_serves(server)


def test_who_sends_on_after_a_refusal_can_still_read_it(server: HttpServer) -> None:
    with Raw(server.address) as raw:
        raw.send(post(b"x" * 1001)[:-1001], *[b"y" * 60000] * 20)
        assert [reply.status for reply in replies(raw.rest())] == [413]


def test_a_body_over_the_limit_is_refused_before_it_is_sent(server: HttpServer) -> None:
    with Raw(server.address) as raw:
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
        answers = replies(raw.rest())
    assert [reply.status for reply in answers] == [413]
    assert b"max_message_bytes (1000)" in answers[0].body


def test_a_refusal_echoes_nothing_that_the_client_sent(server: HttpServer) -> None:
    with Raw(server.address) as raw:
        raw.send(b"GET /<script>secret</script> HTTP/1.1\r\nHost: secret host\r\n\r\n")
        answer = raw.rest()
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"secret" not in answer and b"script" not in answer
    assert b"Content-Type: text/plain" in answer


def test_many_pipelined_requests_are_answered_in_order_and_held_back_while_nobody_reads() -> None:
    """What is sent ahead fills the server's small buffer, then the kernel's, and then the client has to wait."""
    gate = threading.Event()

    def handler(exchange: Exchange) -> None:
        assert gate.wait(WAIT)
        echo(exchange)

    with serving(handler) as server, Raw(server.address) as raw:
        requests = [post(b"%06d" % number + b"." * 1000) for number in range(5000)]
        sender = threading.Thread(target=raw.send, args=requests)
        sender.start()
        still = threading.Thread(target=still_serves, args=(server,))
        still.start()
        gate.set()
        for number in range(5000):
            assert raw.until(b"." * 1000).endswith(b"%06d" % number + b"." * 1000)
        sender.join(WAIT)
        still.join(WAIT)
        assert not sender.is_alive() and not still.is_alive()


def test_a_client_that_only_sends_and_never_reads_is_held_back() -> None:
    with serving(limits=LIMITS) as server, Raw(server.address) as raw:
        raw.sock.settimeout(0.2)
        requests = post(b"x" * 900) * 50
        sent = 0
        tracemalloc.start()
        try:
            with contextlib.suppress(socket.timeout):
                while sent < 50_000_000:
                    sent += raw.sock.send(requests)
            assert tracemalloc.get_traced_memory()[0] < 1_000_000, "the kernel has the rest"
        finally:
            tracemalloc.stop()
        assert sent < 50_000_000
        still_serves(server)


def test_connections_that_say_nothing_are_just_sockets() -> None:
    with serving() as server:
        before = threading.active_count()
        sockets = [socket.create_connection(server.address, WAIT) for _ in range(400)]
        still_serves(server)
        assert threading.active_count() <= before + 2
        with Raw(server.address, sockets[200]) as raw:
            raw.send(get("/late", "Connection: close"))
            assert b"GET /late" in raw.rest()
        for sock in sockets:
            sock.close()
