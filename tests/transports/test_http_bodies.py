"""Bodies of requests that an HTTP server holds over all its connections: what is refused, and that all is let go."""
import contextlib
import queue
import ssl
import threading
from typing import Any, Callable, Dict, Iterator, List

import pytest

from mcp_ref.http11.message import Exchange
from mcp_ref.http11.server.body_budget import SMALL, BodyBudget, NoRoom
from mcp_ref.http11.server.server import HttpServer
from mcp_ref.limits import Limits
from tests.support.patience import WAIT
from tests.transports.http_raw import (CERTIFICATE, Clock, Raw, accepts, get, post, records, replies, serving,
                                       still_serves, until)

TOTAL = 400_000
LARGE = 300_000
"""What large bodies may have of it."""
LIMITS = Limits(max_body_bytes_total=TOTAL, max_message_bytes=1_000_000)
BODY = b"b" * 100_000
HALF = post(BODY)[:-len(BODY) // 2]
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(body: bytes, size: int = 10_000) -> bytes:
    """A body in chunks, without its end."""
    return b"".join(b"%x\r\n%s\r\n" % (len(body[at:at + size]), body[at:at + size])
                    for at in range(0, len(body), size))


class Site:
    """A server whose handler does what the path says, and what it holds.

    /wait: answers when ``gate`` is open. /later: the handler returns, and leaves the exchange to the test. /stream:
    begins a stream and returns. /slow: sends more than its client reads. /raise: fails. Anything else: the length.
    """

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered: "queue.Queue[Exchange]" = queue.Queue()
        self.server: HttpServer = None  # type: ignore[assignment]

    def handle(self, exchange: Exchange) -> None:
        path, length = exchange.request.path, b"%d" % len(exchange.request.body)
        if path == "/stream":
            exchange.start(200)
        self.entered.put(exchange)
        if path == "/wait":
            assert self.gate.wait(WAIT)
            assert len(exchange.request.body) == int(length), "it is there until the handler returns"
        if path == "/raise":
            raise ZeroDivisionError
        if path == "/slow":
            exchange.start(200)
            while exchange.send(b"x" * 65536):
                pass
        elif path not in ("/later", "/stream"):
            exchange.reply(200, (), length)

    def next(self) -> Exchange:
        return self.entered.get(timeout=WAIT)

    def holds(self, count: int) -> None:
        """Wait until it holds so much."""
        until(lambda: self.server.body_bytes == count)

    def client(self) -> Raw:
        return Raw(self.server.address)


class TlsSite(Site):
    """The same with TLS."""

    def client(self) -> Raw:
        raw = super().client()
        context = ssl.create_default_context(cafile=str(CERTIFICATE))
        raw.sock = context.wrap_socket(raw.sock, server_hostname="localhost")
        return raw


@contextlib.contextmanager
def running(site: Site, limits: Limits = LIMITS) -> Iterator[Site]:
    context = None
    if isinstance(site, TlsSite):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(CERTIFICATE))
    with serving(site.handle, limits=limits, ssl_context=context) as site.server:
        try:
            yield site
        finally:
            site.gate.set()


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as found:
        yield found
        found.gate.set()
        found.holds(0)


@pytest.fixture
def peak(monkeypatch: pytest.MonkeyPatch) -> List[int]:
    """How much was held at each step."""
    seen = [0]
    original = BodyBudget.add

    def add(bodies: BodyBudget, more: int, size: int) -> None:
        original(bodies, more, size)
        seen.append(bodies.held)

    monkeypatch.setattr(BodyBudget, "add", add)
    return seen


def refused(raw: Raw, status: int = 503) -> bytes:
    """The text of the refusal, which is the last reply of its connection."""
    answer, = replies(raw.rest())
    assert answer.status == status and answer.headers["connection"] == "close"
    assert (answer.headers.get("retry-after") == "5") == (status == 503)
    return answer.body


# --- The count --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("held, more, size, status", [
    (0, LARGE, LARGE, 0), (0, LARGE + 1, LARGE + 1, 413), (0, 1, LARGE + 1, 413),
    (LARGE - 100_000, 100_000, 100_000, 0), (LARGE - 100_000 + 1, 100_000, 100_000, 503),
    (LARGE, 1, SMALL + 1, 503), (LARGE, SMALL, SMALL, 0), (TOTAL - SMALL, SMALL, SMALL, 0),
    (TOTAL - SMALL + 1, SMALL, SMALL, 503), (TOTAL, 1, 1, 503),
])
def test_there_is_room_or_not(held: int, more: int, size: int, status: int) -> None:
    bodies = BodyBudget(LIMITS)
    bodies.held = held
    for ask in (bodies.check, bodies.add):
        if not status:
            ask(more, size)
            continue
        with pytest.raises(NoRoom, match=r"max_body_bytes_total \(%d\)" % TOTAL) as caught:
            ask(more, size)
        assert caught.value.status == status
    assert bodies.held == held + (0 if status else more)


@pytest.mark.race
def test_many_threads_count_right() -> None:
    bodies = BodyBudget(Limits(max_body_bytes_total=10_000))

    def work() -> None:
        for _ in range(1000):
            bodies.add(100, 100)
            bodies.release(100)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert bodies.held == 0


def test_the_default_has_room_for_a_message_of_every_size() -> None:
    limits = Limits()
    bodies = BodyBudget(limits)
    for _ in range(3):
        bodies.add(limits.max_message_bytes - 64 * 1024, limits.max_message_bytes - 64 * 1024)
    for _ in range(limits.max_http_connections):
        bodies.add(SMALL, SMALL)


# --- Every end lets go ------------------------------------------------------------------------------------------------

def gone(site: Site, *raws: Raw) -> None:
    """Have clients go away without a word."""
    for raw in raws:
        raw.reset()
    until(lambda: site.server.connections == 0)


End = Callable[[Site, Raw, Clock], None]
"""Sends what shall be held, waits for that, ends it."""


ENDS: Dict[str, End] = {}


def end(function: End) -> End:
    """Into the table, with its name in words."""
    ENDS[function.__name__.replace("_", " ")] = function
    return function


@end
def the_reply_of_its_handler(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/wait"))
    site.next()
    site.holds(len(BODY))
    site.gate.set()
    assert raw.until(b"%d" % len(BODY))


@end
def the_reply_to_a_chunked_body(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(CHUNKED.replace(b"/", b"/wait", 1), chunks(BODY)[:60_003])
    site.holds(until(lambda: site.server.body_bytes))
    raw.send(chunks(BODY)[60_003:], b"0\r\n\r\n")
    site.next()
    site.holds(len(BODY))
    site.gate.set()
    assert raw.until(b"\r\n\r\n100000")


@end
def a_reply_after_the_handler(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/later"))
    exchange = site.next()
    site.holds(len(BODY))
    assert exchange.request.body == BODY
    exchange.reply(200, (), b"at last")
    assert raw.until(b"at last")


@end
def a_stream_that_goes_on(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/stream"))
    exchange = site.next()
    site.holds(0)
    until(lambda: not exchange.request.body)
    assert exchange.send(b"and on") and raw.until(b"and on")


@end
def a_stream_begun_after_the_handler(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/later"))
    exchange = site.next()
    site.holds(len(BODY))
    exchange.start(200)
    assert raw.until(b"\r\n\r\n")
    assert not exchange.request.body


@end
def a_handler_that_fails(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/raise"))
    assert [reply.status for reply in replies(raw.rest())] == [500]


@end
def a_client_that_reads_too_slowly(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/slow"))
    site.next()
    until(lambda: site.server.connections == 0)


@end
def a_client_that_closes_in_the_middle(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(HALF)
    site.holds(len(BODY) // 2)
    raw.sock.close()


@end
def a_client_that_resets_in_the_middle(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(HALF)
    site.holds(len(BODY) // 2)
    raw.reset()


@end
def a_client_that_closes_in_the_middle_of_a_chunk(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(CHUNKED + chunks(BODY)[:45_000])
    until(lambda: site.server.body_bytes > 44_000)
    raw.sock.close()


@end
def chunks_that_are_none(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(CHUNKED + chunks(BODY))
    site.holds(len(BODY))
    raw.send(b"nonsense\r\n")
    refused(raw, 400)


@end
def a_body_that_takes_too_long(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(HALF)
    site.holds(len(BODY) // 2)
    clock.pass_by(LIMITS.http_body_timeout + 60)
    refused(raw, 408)


@end
def a_refusal_in_the_middle(site: Site, raw: Raw, clock: Clock) -> None:
    with site.client() as other:
        raw.send(post(b"b" * 200_000)[:150_000])
        until(lambda: site.server.body_bytes > 140_000)
        other.send(post(b"c" * 200_000)[:160_000])
        refused(other)
        until(lambda: site.server.body_bytes < 150_000)
    raw.sock.close()


@end
def a_refusal_that_nobody_reads(site: Site, raw: Raw, clock: Clock) -> None:
    """It is let go with the refusal, and not when the connection ends at last."""
    clock.stop()
    raw.send(CHUNKED + chunks(BODY))
    site.holds(len(BODY))
    raw.send(b"nonsense\r\n")
    site.holds(0)
    assert site.server.connections == 1


@end
def a_client_that_leaves_while_the_handler_runs(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/wait"))
    site.next()
    gone(site, raw)
    assert site.server.body_bytes == len(BODY), "the handler has it"
    site.gate.set()


@end
def a_client_that_leaves_after_the_handler(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/later"))
    exchange = site.next()
    site.holds(len(BODY))
    gone(site, raw)
    until(lambda: not exchange.request.body)


@end
def clients_that_leave_while_their_requests_wait(site: Site, raw: Raw, clock: Clock) -> None:
    """A request is served though its client has gone; so what waits for a worker stays counted."""
    raws = [raw] + [site.client() for _ in range(5)]
    for one in raws:
        one.send(post(b"w" * 20_000, "/wait"))
    site.holds(6 * 20_000)
    gone(site, *raws)
    assert site.server.body_bytes == 6 * 20_000
    site.gate.set()
    for _ in raws:
        assert len(site.next().request.body) in (20_000, 0)


@end
def a_request_sent_ahead_that_is_not_whole(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY) + post(b"x") + HALF)
    site.next()
    site.next()
    site.holds(len(BODY) // 2)
    raw.sock.close()


@end
def requests_sent_ahead(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send((post(BODY[:1000], "/wait") + post(BODY[:1000])) * 20 + get("/", "Connection: close"))
    site.next()
    site.gate.set()
    assert len(replies(raw.rest())) == 41


@end
def the_end_of_the_server(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(HALF)
    site.holds(len(BODY) // 2)
    site.server.close()


@end
def the_end_of_the_server_while_a_handler_runs(site: Site, raw: Raw, clock: Clock) -> None:
    raw.send(post(BODY, "/wait"))
    site.next()
    closing = threading.Thread(target=site.server.close)
    closing.start()
    until(lambda: site.server.connections == 0)
    assert site.server.body_bytes == len(BODY)
    site.gate.set()
    closing.join(WAIT)


@end
def a_whole_request_at_the_end_of_the_server(site: Site, raw: Raw, clock: Clock) -> None:
    with site.client() as other:
        raw.send(post() + HALF[:20])
        raw.until(b"\r\n\r\n0")
        site.next()
        other.send(post(b"", "/wait"))
        site.next()
        closing = threading.Thread(target=site.server.close, args=(WAIT,))
        closing.start()
        until(lambda: not accepts(site.server))
        raw.send(HALF[20:])
        site.holds(len(BODY) // 2)
        raw.send(BODY[len(BODY) // 2:])
        assert refused(raw).endswith(b"shutting down\n")
        site.gate.set()
        assert other.until(b"\r\n\r\n0")
        closing.join(WAIT)


@pytest.mark.parametrize("kind", [Site, TlsSite])
@pytest.mark.parametrize("name", sorted(ENDS))
def test_every_end_lets_go(name: str, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(max_body_bytes_total=TOTAL, max_workers=2, max_stream_bytes=100_000)
    with running(kind(), limits) as site, site.client() as raw:
        ENDS[name](site, raw, Clock(monkeypatch))
        site.holds(0)
        if kind is Site and accepts(site.server):
            site.gate.set()
            with site.client() as another:
                another.send(post(b"n" * 250_000))
                assert another.until(b"250000")


# --- What is refused, and what goes on --------------------------------------------------------------------------------

@contextlib.contextmanager
def full(site: Site, count: int = 3, size: int = 100_000) -> Iterator[List[Raw]]:
    """So many clients that have sent all of a body but its last byte."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(site.client()) for _ in range(count)]
        for client in clients:
            client.send(post(b"f" * size)[:-1])
        site.holds(count * (size - 1))
        yield clients


def test_a_body_without_room_is_refused_before_it_is_sent(site: Site) -> None:
    with full(site) as clients:
        for wanted in (b"Content-Length: 16385\r\n", b"Content-Length: 16385\r\nExpect: 100-continue\r\n",
                       b"Transfer-Encoding: chunked\r\n"):
            with site.client() as raw:
                raw.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + wanted + b"\r\n")
                if b"chunked" in wanted:
                    raw.send(b"4001\r\n")
                assert b"max_body_bytes_total (400000); try again later" in refused(raw)
        for client in clients:
            client.send(b"f")
            assert client.until(b"\r\n\r\n100000")
    site.holds(0)  # the handlers have returned, which may be after their replies have come
    with site.client() as raw:
        raw.send(post(b"x" * 250_000))
        assert raw.until(b"250000"), "later there is room again"


@pytest.mark.parametrize("data", [
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300001\r\n\r\n", CHUNKED + b"493e1\r\n",
    CHUNKED + chunks(b"x" * 300_000) + b"1\r\n"], ids=["length", "one chunk", "many chunks"])
def test_a_body_that_never_fits_is_told_so(site: Site, data: bytes) -> None:
    with site.client() as raw:
        raw.send(data)
        assert b"body of 300001 bytes exceeds what max_body_bytes_total (400000) leaves for one" in refused(raw, 413)


@pytest.mark.parametrize("how", ["length", "chunks"])
def test_a_body_that_grows_while_others_do_is_refused(site: Site, how: str) -> None:
    with site.client() as one, site.client() as two:
        whole = post(b"2" * 200_000) if how == "length" else CHUNKED + chunks(b"2" * 200_000)
        two.send(whole[:90_000])
        until(lambda: site.server.body_bytes > 80_000)
        one.send(post(b"1" * 200_000)[:-1])
        until(lambda: site.server.body_bytes > 280_000)
        two.send(whole[90_000:130_000])
        assert b"max_body_bytes_total (400000); try again later" in refused(two)
        site.holds(199_999)
        one.send(b"1")
        assert one.until(b"200000")


def test_small_requests_go_on_while_large_ones_have_no_room(site: Site) -> None:
    with full(site), site.client() as raw:
        for size in (0, 1, SMALL):
            raw.send(post(b"s" * size))
            assert raw.until(b"\r\n\r\n%d" % size)
        raw.send(get())
        assert raw.until(b"\r\n\r\n0")
        raw.send(CHUNKED + chunks(b"s" * SMALL) + b"0\r\n\r\n")
        assert raw.until(b"\r\n\r\n16384")


def test_many_small_bodies_are_bounded_as_well(site: Site, peak: List[int]) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(site.client()) for _ in range(40)]
        for client in clients:
            client.send(post(b"s" * SMALL)[:-1])
        until(lambda: site.server.counters().get("bodies without room", 0) == 40 - TOTAL // (SMALL - 1))
        assert TOTAL - SMALL < max(peak) <= TOTAL
        still_serves(site.server)


def test_who_only_says_how_much_will_come_takes_no_room(site: Site) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            client = stack.enter_context(site.client())
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
            client = stack.enter_context(site.client())
            client.send(CHUNKED + b"493e0\r\n")
        until(lambda: site.server.connections == 100)
        assert site.server.body_bytes == 0
        with site.client() as raw:
            raw.send(post(b"x" * 300_000))
            assert raw.until(b"300000")


def test_many_bodies_half_sent_at_once_while_others_are_served(site: Site, peak: List[int]) -> None:
    problems: List[Any] = []
    over = threading.Event()

    def serve() -> None:
        try:
            with site.client() as raw:
                while not over.is_set():
                    raw.send(post(b"s" * 1000))
                    raw.until(b"\r\n\r\n1000")
        except Exception as error:
            problems.append(error)

    neighbours = [threading.Thread(target=serve) for _ in range(2)]
    for neighbour in neighbours:
        neighbour.start()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(site.client()) for _ in range(30)]
        half = post(b"h" * 120_000, "/", "Connection: close")
        for part in range(4):
            for client in clients:
                client.send(half[part * 30_000:(part + 1) * 30_000] + (half[120_000:] if part == 3 else b""))
            if part == 1:
                until(lambda: site.server.counters().get("bodies without room"))
        served = sum(b"\r\n\r\n120000" in client.rest() for client in clients)
        over.set()
    for neighbour in neighbours:
        neighbour.join(WAIT)
    assert not problems and max(peak) <= TOTAL
    assert served + site.server.counters()["bodies without room"] == 30


def test_refusals_are_counted_and_logged_once_a_second(site: Site, monkeypatch: pytest.MonkeyPatch,
                                                       caplog: Any) -> None:
    clock = Clock(monkeypatch)
    clock.stop()
    with records(caplog) as logged, full(site):
        for _ in range(20):
            with site.client() as raw:
                raw.send(post(BODY))
                refused(raw)
        until(lambda: any("bodies without room" in record.getMessage() for record in logged))
        assert site.server.counters()["bodies without room"] == 20
        found = [record.getMessage() for record in logged if "bodies without room" in record.getMessage()]
        assert len(found) == 1 and "max_body_bytes_total (400000)" in found[0]


def test_who_sends_on_after_the_refusal_can_still_read_it(site: Site) -> None:
    with full(site), site.client() as raw:
        raw.send(post(b"x" * 250_000), b"y" * 250_000)
        assert b"max_body_bytes_total" in refused(raw)


@pytest.mark.parametrize("scarce", [True, False])
def test_a_body_earns_time_only_while_there_is_plenty(site: Site, scarce: bool,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends much at once and then nothing has earned hours; that must not be at the cost of the others."""
    clock = Clock(monkeypatch)
    with full(site, 2 if scarce else 1) as clients:
        clock.leap(site.server, LIMITS.http_body_timeout + 1)  # which costs a client that sent nothing its connection
        until(lambda: site.server.counters()["requests answered 408"] == 1 + scarce)  # then there is plenty
        answers = []
        for client in clients:
            client.send(b"f")
            client.end()
            answers += [reply.status for reply in replies(client.rest())]
        assert sorted(answers) == [200, 408][:len(clients)]
