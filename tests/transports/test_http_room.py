"""Sessions and connections of which there are too many: whose they are, who is refused, and who makes room."""
import contextlib
import json
import random
import socket
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Sequence

import pytest

from mcp_ref.http11.message import Headers, HttpRequest
from mcp_ref.http11.server.owners import Owners, network_of
from mcp_ref.limits import Limits
from mcp_ref.protocol.lifecycle import OPERATING
from mcp_ref.streamable.server.endpoint import Endpoint
from mcp_ref.streamable.server.session import HttpSession, SessionTable
from mcp_ref.streamable.server.wsgi import Caller
from tests.support.http_exchange import BOTH, ScriptedExchange, Web, exchange, opening
from tests.support.patience import WAIT
from tests.support.sides import in_thread, working_server
from tests.transports.http_raw import Clock, Raw, Streams, get, post, serving, until

A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"
CLOSE = "Connection: close"


# -- Whose -------------------------------------------------------------------------------------


@pytest.mark.parametrize("one, other, same", [
    (A, A, True), (A, B, False), ("::ffff:" + A, A, True), ("2001:db8::1", "2001:db8::ffff:2", True),
    ("2001:db8::1", "2001:db8:0:1::1", False), ("fe80::1%eth0", "fe80::2", True), ("::1", "127.0.0.1", False),
])
def test_what_counts_as_one_client(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) == same


@pytest.mark.parametrize("address", [
    "", "unix", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.4\0", "::g", "a" * 1000, "\u0661"])
def test_what_is_no_address_is_nobodys(address: str) -> None:
    assert network_of(address) is None and Owners().of(of(address), None) is None


def of(peer: str, *forwarded: str) -> HttpRequest:
    return HttpRequest("POST", "/mcp", Headers([("X-Forwarded-For", value) for value in forwarded]), peer=peer)


@pytest.mark.parametrize("proxies, peer, forwarded, owner", [
    ([], A, ["198.51.100.9"], A),  # nobody is believed who was not named
    (["127.0.0.1"], A, ["198.51.100.9"], A),
    (["127.0.0.1"], "127.0.0.1", ["198.51.100.9"], "198.51.100.9"),
    (["127.0.0.1"], "127.0.0.1", [], "127.0.0.1"),
    (["127.0.0.1"], "127.0.0.1", ["203.0.113.5, 198.51.100.9"], "198.51.100.9"),  # the first one the client said itself
    (["127.0.0.1"], "127.0.0.1", ["203.0.113.5", "198.51.100.9"], "198.51.100.9"),
    (["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", ["198.51.100.9, 10.1.2.3"], "198.51.100.9"),
    (["10.0.0.0/8"], "::ffff:10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
    (["127.0.0.1"], "127.0.0.1", ["198.51.100.9:4711"], "198.51.100.9"),
    (["::1"], "::1", ["[2001:db8::5]:4711"], "2001:db8::1"),
    (["127.0.0.1"], "127.0.0.1", ["unknown"], "127.0.0.1"),
    (["127.0.0.1"], "127.0.0.1", ["198.51.100.9, "], "127.0.0.1"),
    (["unix"], "", ["198.51.100.9"], "198.51.100.9"),
    (["127.0.0.1"], "", ["198.51.100.9"], None),
])
def test_which_address_a_client_has(proxies: List[str], peer: str, forwarded: List[str], owner: Optional[str]) -> None:
    found = Owners(proxies).of(of(peer, *forwarded), None)
    assert found == (None if owner is None else ("address", network_of(owner)))


def test_who_shows_who_it_is_has_no_address() -> None:
    assert Owners().of(of(A), "anna") == Owners().of(of(B), "anna") != Owners().of(of(A), "bert")
    assert Owners().of(of(A), ["un", "hashable"]) == Owners().of(of(B), ["un", "hashable"])
    assert Owners(tells_apart=False).of(of(A), "token") == Owners().of(of(A), None)


@pytest.mark.parametrize("proxies", ["127.0.0.1", ["localhost"], ["10.0.0.1/8"], [""]])
def test_proxies_that_are_none_are_told_at_once(proxies: Any) -> None:
    with pytest.raises(ValueError):
        Web(working_server({}), None, trusted_proxies=proxies)


# -- Sessions ----------------------------------------------------------------------------------


class Site(Web):
    """An endpoint with few sessions, and clients at several addresses."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        super().__init__(working_server({"quick": lambda ctx: "done"}, limits=limits), None, limits=limits, **options)

    def enter(self, peer: str, finish: bool = True, **fields: str) -> ScriptedExchange:
        """Open a session from there, and ``finish`` the handshake."""
        made = exchange("POST", fields, opening("2025-11-25"))
        made.request = made.request._replace(peer=peer)
        self.handle(made)
        if made.status == 200 and finish:
            done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert self.post(done, {**self.of(made), **fields}).status == 202
        return made

    def of(self, made: ScriptedExchange) -> Dict[str, Optional[str]]:
        """The fields of the session that this has begun."""
        return {"Mcp-Session-Id": made.headers.get("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}

    def lives_on(self, made: ScriptedExchange) -> bool:
        """Whether its session does; asking is no use of it."""
        table: Any = self.endpoint.sessions
        return table.get(made.headers.get("Mcp-Session-Id")) is not None

    @property
    def table(self) -> Any:
        return self.endpoint.sessions


def test_an_address_has_its_share_and_others_have_theirs() -> None:
    with Site(Limits(max_sessions=8)) as site:
        assert [site.enter(A).status for _ in range(4)] == [200] * 4
        refused = site.enter(A)
        assert refused.status == 503 and refused.headers.get("Retry-After")
        text = refused.message["error"]["message"]
        assert "max_session_share leaves 4 of max_sessions" in text and "trusted_proxies" in text
        assert [site.enter(B).status for _ in range(4)] == [200] * 4
        assert site.endpoint.counters.snapshot()["refused: full share"] == 1


def test_a_subject_has_its_share_from_wherever_it_comes() -> None:
    with Site(Limits(max_sessions=4), authenticate=lambda headers: headers.get("who")) as site:
        assert [site.enter(peer, who="anna").status for peer in (A, B, C)] == [200, 200, 503]
        assert [site.enter(A, who="bert").status for _ in range(3)] == [200, 200, 503]


def test_a_framework_says_where_a_request_came_from() -> None:
    limits = Limits(max_sessions=4)
    caller = Caller(Endpoint(working_server({}, limits=limits).connect, limits=limits))
    headers = {"Host": "localhost", "Accept": BOTH, "Content-Type": "application/json"}
    for peer, wanted in [(A, 200), (A, 200), (A, 503), (B, 200)]:
        answer = caller.call("POST", "/mcp", headers, json.dumps(opening("2025-11-25")).encode(), WAIT, peer)
        id = dict(answer.headers).get("Mcp-Session-Id")
        assert answer.status == wanted and b"".join(answer.chunks)
        if id is not None:
            done = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            assert caller.call("POST", "/mcp", dict(headers, **{"Mcp-Session-Id": id}), done).status == 202
    caller.close()


def test_a_share_of_all_bounds_nobody() -> None:
    with Site(Limits(max_sessions=4, max_session_share=1.0)) as site:
        assert [site.enter(A).status for _ in range(5)] == [200] * 4 + [503]
        assert "max_sessions (4)" in site.enter(A).message["error"]["message"]


def test_clients_behind_a_proxy_are_told_apart_by_what_it_says() -> None:
    with Site(Limits(max_sessions=4), trusted_proxies=["127.0.0.1"]) as site:
        told = [site.enter("127.0.0.1", **{"X-Forwarded-For": "198.51.100.%d" % number}) for number in (1, 1, 1, 2)]
        assert [made.status for made in told] == [200, 200, 503, 200]


@pytest.mark.parametrize("peers", [[A], [A, B, C], [""]])
def test_handshakes_that_were_never_finished_make_room_and_the_oldest_first(peers: Sequence[str]) -> None:
    with Site(Limits(max_sessions=8)) as site:
        patient = site.enter(C)
        made = [site.enter(peers[number % len(peers)], finish=False) for number in range(200)]
        assert {one.status for one in made} == {200} and site.lives_on(patient)
        alive = [site.lives_on(one) for one in made]
        assert alive == sorted(alive) and any(alive), "the oldest went first"
        assert site.enter("198.51.100.1").status == 200 and len(site.table) <= 8
        assert site.endpoint.counters.snapshot()["sessions that made room"] >= 192


def test_an_idle_session_of_who_has_most_makes_room_for_who_has_less() -> None:
    with Site(Limits(max_sessions=8)) as site:
        of_a, of_b = [site.enter(A) for _ in range(4)], [site.enter(B) for _ in range(4)]
        site.handle(exchange("GET", site.of(of_a[0])))  # busy
        news = [site.enter(C) for _ in range(2)]
        assert [one.status for one in news] == [200] * 2
        assert [sum(map(site.lives_on, ones)) for ones in (of_a, of_b, news)] == [3, 3, 2]
        assert site.lives_on(of_a[0]), "it is in use"
        assert site.enter(C).status == 503, "nobody has so many more that one would be worth it"


def test_sessions_of_nobody_known_never_make_room_for_each_other() -> None:
    with Site(Limits(max_sessions=4)) as site:
        assert [site.enter("").status for _ in range(5)] == [200] * 4 + [503]


def test_sessions_in_use_never_make_room() -> None:
    with Site(Limits(max_sessions=4)) as site:
        for peer in (A, A, B, B):
            made = site.enter(peer, finish=False)
            site.handle(exchange("GET", site.of(made)))
        refused = site.enter(C)
        assert refused.status == 503 and "max_sessions (4)" in refused.message["error"]["message"]


def test_nothing_is_kept_of_sessions_that_have_ended() -> None:
    with Site(Limits(max_sessions=8)) as site:
        for number in range(50):
            made = site.enter(random.choice([A, B, C, ""]), finish=number % 2 == 0)
            assert made.status == 200 and site.handle(exchange("DELETE", site.of(made))).status == 204
        assert not len(site.table) and not site.table._owned and not site.table._fresh


def begun(table: SessionTable, owner: Any, busy: bool, finished: bool) -> HttpSession:
    """A session of the table that has a connection, or so it seems."""

    class Begun(HttpSession):
        busy = False

    session = Begun("%s-%d" % (owner, len(table)), None, Limits())
    session.owner, session.busy = owner, busy  # type: ignore[misc]
    session.connection = SimpleNamespace(session=SimpleNamespace(phase=OPERATING if finished else "opening"))
    assert table.add(session)
    return session


@pytest.mark.parametrize("share, newcomer", [(0.5, "c"), (1.0, "c"), (0.5, "a")])
def test_who_keeps_the_oldest_handshakes_busy_does_not_keep_others_from_making_room(
    share: float, newcomer: str
) -> None:
    """Found by attack: with a GET on each of 64 sessions whose handshake was not over, nobody ever made room."""
    table = SessionTable(Limits(max_sessions=300, max_session_share=share))
    for number in range(149):
        begun(table, "a", number < 100, finished=False)
    last = begun(table, "a", False, finished=False)
    for _ in range(150):
        begun(table, "b", True, finished=True)
    wanted = table.make(None)
    wanted.owner = newcomer
    found = table.replaceable(wanted)
    assert found is not None and found.owner == "a" and not found.busy
    for session in table.all():
        session.busy = session is not last  # type: ignore[misc]
    assert table.replaceable(wanted) is last
    last.busy = True  # type: ignore[misc]
    assert table.replaceable(wanted) is None


def test_where_all_unfinished_handshakes_are_busy_an_idle_session_of_who_has_most_makes_room() -> None:
    table = SessionTable(Limits(max_sessions=200))
    for _ in range(64):
        begun(table, "a", True, finished=False)
    for number in range(100):
        begun(table, "b", number < 70, finished=True)
    for number in range(36):
        begun(table, number, False, finished=True)
    wanted = table.make(None)
    wanted.owner = "c"
    found = table.replaceable(wanted)
    assert found is not None and found.owner == "b" and not found.busy


@pytest.mark.race
def test_however_many_come_at_once_there_are_never_too_many() -> None:
    table = SessionTable(Limits(max_sessions=40))
    most: List[int] = []

    def come(peer: int) -> None:
        mine: List[HttpSession] = []
        chance = random.Random(peer)
        for _ in range(300):
            session = table.make(None)
            session.owner = peer % 3
            if table.add(session):
                mine.append(session)
            elif mine and table.replaceable(session) is None:
                assert table.remove(mine.pop(chance.randrange(len(mine))))
            most.append(len(table))
        for session in mine:
            assert table.remove(session)

    callers = [in_thread(come, number) for number in range(6)]
    for caller in callers:
        caller.get()
    assert max(most) <= 40 and not len(table) and not table._owned and not table._fresh


# -- Connections -------------------------------------------------------------------------------


def is_served(server: Any) -> bool:
    """Whether a new client is."""
    with Raw(server.address) as raw:
        raw.send(get("/new", CLOSE))
        return raw.rest().startswith(b"HTTP/1.1 200")


def is_closed(raw: Raw) -> bool:
    """Whether the server has closed this connection."""
    with contextlib.suppress(ConnectionResetError):
        return raw.rest() == b""
    return True


def test_connections_that_never_say_anything_keep_nobody_out() -> None:
    with serving(limits=Limits(max_http_connections=50)) as server, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(Raw(server.address)) for _ in range(200)]
        assert all(is_served(server) for _ in range(5)) and server.connections <= 50
        assert all(map(is_closed, silent[:100]))
        assert server.counters()["connections that made room"] >= 150


def test_the_one_that_is_silent_for_longest_goes_first_before_it_those_that_never_sent_anything() -> None:
    with serving(limits=Limits(max_http_connections=4)) as server, contextlib.ExitStack() as stack:
        kept = [stack.enter_context(Raw(server.address)) for _ in range(3)]
        for raw in (kept[1], kept[0], kept[2]):
            raw.send(get())
            assert raw.until(b"GET /? ")
        fresh = stack.enter_context(Raw(server.address))
        until(lambda: server.connections == 4)
        assert is_served(server) and is_closed(fresh)
        until(lambda: server.connections == 3)
        stack.enter_context(Raw(server.address)).send(get("/stream"))
        until(lambda: server.connections == 4)
        for raw in (kept[0], kept[2]):
            raw.send(get())
            assert raw.until(b"GET /? ")


def test_requests_that_are_slow_to_come_make_room_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with serving(limits=Limits(max_http_connections=3)) as server, contextlib.ExitStack() as stack:
        clock.stop()
        slow = [stack.enter_context(Raw(server.address)) for _ in range(3)]
        for raw, data in zip(slow, (b"GET / HT", post(b"12345")[:-1], b"P")):
            raw.send(get() + data)  # it has come in whole when the first is answered
            raw.until(b"GET /? ")
        assert not is_served(server)
        clock.pass_by(1.5)
        until(lambda: server.connections == 3)
        assert is_served(server) and sum(map(is_alive, slow)) == 2


def is_alive(raw: Raw) -> bool:
    """Whether the server still waits for the rest of a request."""
    raw.sock.settimeout(0.05)
    with contextlib.suppress(ConnectionResetError):
        try:
            return raw.sock.recv(1) != b""
        except OSError:
            return True
    return False


def test_a_request_that_is_served_never_makes_room() -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_http_connections=2)) as server, contextlib.ExitStack() as stack:
        busy = [stack.enter_context(Raw(server.address)) for _ in range(2)]
        for raw in busy:
            raw.send(get("/stream"))
        exchanges = [streams.next() for _ in busy]
        assert not is_served(server)
        assert [exchange.send(b"still here") for exchange in exchanges] == [True, True]
        assert all(raw.until(b"still here") for raw in busy)


def test_a_stream_of_who_has_most_makes_room_for_who_has_less() -> None:
    streams = Streams()
    with serving(streams, limits=Limits(max_http_connections=4)) as server, contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(Raw(server.address)).send(get("/stream"))
            streams.next()
        assert not is_served(server), "the same client"
        sock = stack.enter_context(socket.socket())
        try:
            sock.bind(("127.0.0.2", 0))
        except OSError:
            pytest.skip("this system has one address of its own only")
        sock.settimeout(WAIT)
        sock.connect(server.address)
        raw = Raw(server.address, sock)
        raw.send(get("/new", CLOSE))
        assert raw.rest().startswith(b"HTTP/1.1 200")
        assert streams.closed.get(timeout=WAIT)
