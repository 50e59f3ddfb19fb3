"""What peers make a process hold: each kind has a bound for all and one for each peer, and all of it is let go."""
import json
import socket
from typing import Any, Dict, Iterator, List

import pytest

from mcp_ref import Context, Limits, Server, connect
from mcp_ref.http11.message import Exchange
from mcp_ref.protocol.streamable_http.header_values import SseParser
from mcp_ref.streamable.server.authenticate import OneToken
from mcp_ref.transports.lines.sockets import connect_socket
from tests.support.http_exchange import Web, opening, request
from tests.support.http_modern import ModernWeb
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import Gate, eventually
from tests.transports.http_raw import Clock, Raw, get, post, records, replies, serving, still_serves, until
from tests.transports.makers import opened

MB = 1_000_000


def server_with(**limits: Any) -> Server:
    """A server with a resource of any length, by its URI, and a tool that says something before it answers."""
    server = Server("held", limits=Limits(**limits))

    @server.resource("long://{length}")
    def long(length: int) -> str:
        return "x" * length

    @server.tool
    def noisy(ctx: Context) -> str:
        ctx.log("info", "on the way")
        return "done"

    return server


# --- The account ------------------------------------------------------------------------------------------------------

# --- Replay -----------------------------------------------------------------------------------------------------------

def test_the_events_of_all_sessions_together_are_bounded() -> None:
    server = server_with(max_held_bytes=8 * MB)
    webs = [Web(server, "2025-06-18", held=server.held, limits=server.limits) for _ in range(10)]
    only_stream = {"Accept": "text/event-stream"}
    for web in webs:
        asked = web.ask(1, "resources/read", {"uri": "long://%d" % MB}, headers=only_stream)
        assert len(asked.done().raw) > MB
    assert 3 * MB < server.held.total < 4.1 * MB, "half of the room is for events"
    first, last = webs[0].get("p1-0"), webs[-1].get("p1-0")
    assert first.status == 200, "the oldest that fit are kept"
    assert last.status == 400 and b"Last-Event-ID" in last.raw, "its stream cannot be resumed, and it is told"
    webs[0].delete()
    assert server.held.total < 3.1 * MB, "a session that ends lets go what it had"
    for web in webs:
        web.close()
    assert server.held.total == 0


# --- Messages that wait -----------------------------------------------------------------------------------------------

def test_a_session_that_never_opens_a_stream_keeps_few_messages_and_is_told_how_many_it_missed() -> None:
    server = server_with()
    with Web(server, "2025-06-18", limits=Limits()) as web, Web(server, "2025-06-18", limits=Limits()) as other:
        for number in range(100):
            server.log("info", "%d" % number)
        waiting, others = web.session._waiting, other.session._waiting
        assert len(waiting) == len(others) == 32
        assert all(mine is theirs for mine, theirs in zip(waiting, others)), "encoded once, and one piece of memory"
        *heard, told = web.get().messages()
        assert [message["params"]["data"] for message in heard] == ["%d" % number for number in range(68, 100)]
        assert told["params"]["level"] == "warning" and told["params"]["data"]["message"].endswith(": 68")
        server.log("info", "only now")
        assert len(web.get().messages()) == 0, "it was told once"


@pytest.mark.parametrize("how, waiting", [
    (how, waiting) for how in ("opened again", "resumed") for waiting in (1, 32, 99, 100)] + [("opened", 32)])
def test_a_listener_is_told_once_how_many_messages_it_missed(how: str, waiting: int) -> None:
    """Also one that resumes a stream after an event [2025-03-26..2025-11-25 basic/transports §Resumability and
    Redelivery]."""
    server = server_with()
    with Web(server, "2025-06-18", limits=Limits(max_waiting_messages=waiting)) as web:
        last = ""
        if how != "opened":
            stream = web.get()
            server.log("info", "before")
            last = stream.events[-1].id
            stream.leave()
        for number in range(100):
            server.log("info", "%d" % number)
        messages = (web.get(last) if how == "resumed" else web.get()).messages()
        heard = [message["params"]["data"] for message in messages if message["params"]["level"] == "info"]
        told = [message["params"]["data"]["message"] for message in messages if message["params"]["level"] != "info"]
        assert heard[-waiting:] == ["%d" % number for number in range(100 - waiting, 100)]
        assert [text.rpartition(": ")[2] for text in told] == [str(100 - waiting)][:100 - waiting]
        again = web.get()
        assert not again.messages(), "it was told once"


def test_who_wants_to_hear_of_errors_only_is_told_as_of_an_error() -> None:
    server = server_with()
    with Web(server, "2025-11-25", limits=Limits(max_waiting_messages=1)) as web:
        web.ask(1, "logging/setLevel", {"level": "error"})
        for number in range(3):
            server.log("info", "not wanted")
            server.log("error", str(number))
        *heard, told = web.get().messages()
        assert [message["params"]["data"] for message in heard] == ["2"]
        assert told["params"]["level"] == "error" and told["params"]["data"]["message"].endswith(": 2")


def test_what_waits_for_sessions_is_bounded_for_the_process() -> None:
    server = server_with(max_held_bytes=2 * MB)
    webs = [Web(server, "2025-06-18", held=server.held, limits=server.limits) for _ in range(30)]
    for number, web in enumerate(webs):
        web.get().leave()
        for _ in range(10):  # to each its own: nothing is shared
            web.connection.notify("notifications/message", {"level": "info", "data": "x" * 20_000 + str(number)})
    assert server.held.total <= MB
    total = sum(len(web.session._waiting) for web in webs)
    missed = sum(web.session._missed for web in webs)
    assert total + missed == 300 and total >= 20
    for web in webs:
        web.close()
    assert server.held.total == 0


def test_a_broadcast_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_ref.server import announcements, logs

    encoded: List[Any] = []

    def counted(frame: Any) -> bytes:
        encoded.append(frame.method)
        return original(frame)

    original = announcements.encode
    monkeypatch.setattr(announcements, "encode", counted)
    monkeypatch.setattr(logs, "encode", counted)
    server = server_with()
    server.resource("one://a")(lambda: "a")
    with Web(server) as first, Web(server) as second, Web(server) as third:
        streams = [web.get() for web in (first, second, third)]
        for web in (first, second, third):
            web.ask(1, "resources/subscribe", {"uri": "one://a"})
        server.broadcast("notifications/tools/list_changed")
        server.resource_updated("one://a")
        server.log("info", "news")
        assert [[message["method"] for message in stream.messages()] for stream in streams] == [encoded] * 3
    assert encoded == ["notifications/tools/list_changed", "notifications/resources/updated", "notifications/message"]
    server.log("info", "to nobody")
    assert len(encoded) == 3


# --- Replies that nobody reads ----------------------------------------------------------------------------------------

def big(exchange: Exchange) -> None:
    """Answers with as many bytes as the path says; the last part of it is who asks."""
    _, length, who = exchange.request.path.split("/")
    exchange.holder = who or None
    exchange.reply(200, (), b"x" * int(length))


def lazy(server: Any, path: str) -> Raw:
    """A client that asks and reads nothing; its buffer is small, so the reply waits in the server."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(server.address)
    raw = Raw(server.address, sock)
    raw.send(get(path))
    return raw


UNREAD = 8 * MB
"""More than the kernel takes of a reply that nobody reads."""


def test_replies_that_nobody_reads_are_bounded_and_who_reads_is_served() -> None:
    with serving(big, limits=Limits(max_held_bytes=3 * UNREAD)) as server:
        held = server.held
        raws = [lazy(server, "/%d/" % UNREAD) for _ in range(10)]
        until(lambda: server.counters().get("unread replies", 0) >= 7)
        assert held.total <= 3 * UNREAD + 1000
        still = lazy(server, "/10/")
        assert still.until(b"x" * 10).endswith(b"x" * 10)
        with Raw(server.address) as raw:
            raw.send(get("/%d/" % UNREAD, "Connection: close"))
            assert len(replies(raw.rest())[0].body) == UNREAD, "who reads gets all of it"
        for each in (*raws, still):
            each.sock.close()
        until(lambda: held.total == 0)


@pytest.mark.parametrize("most, clients, lost", [(2, 2, 0), (1, 2, 1), (2, 3, 1), (1, 1, 0)])
def test_of_clients_that_read_nothing_as_many_stay_as_there_is_room_for(most: int, clients: int, lost: int) -> None:
    """The last one stays whatever it is sent; two that have more together than there is room for do not."""
    with serving(big, limits=Limits(max_held_bytes=most * UNREAD)) as server:
        raws = []
        for number in range(clients):
            raws.append(lazy(server, "/%d/%d" % (UNREAD, number)))
            until(lambda: server.held.of(str(number)) > 0 or server.counters().get("unread replies", 0) > 0)
        until(lambda: server.counters().get("unread replies", 0) == lost and not server.held.crowded()
              or clients == 1 and server.held.total > 0)
        assert server.counters().get("unread replies", 0) == lost and server.connections == clients - lost
        for each in raws:
            each.sock.close()


def test_one_principal_does_not_take_the_room_of_all() -> None:
    limits = Limits(max_held_bytes=10 * UNREAD, max_held_bytes_per_peer=2 * UNREAD + UNREAD // 2)
    with serving(big, limits=limits) as server:
        other = lazy(server, "/%d/bob" % UNREAD)
        until(lambda: server.held.of("bob") > 0)
        raws = [lazy(server, "/%d/ann" % UNREAD) for _ in range(6)]
        until(lambda: server.counters().get("unread replies", 0) >= 4)
        until(lambda: server.held.of("ann") <= 2 * UNREAD + UNREAD // 2)  # the fourth is counted before it is ended
        assert server.held.of("bob") >= UNREAD
        for raw in (*raws, other):
            raw.sock.close()
        until(lambda: server.held.total == 0)


def test_one_reply_may_be_larger_than_the_limits() -> None:
    with serving(big, limits=Limits(max_held_bytes=MB, max_held_bytes_per_peer=MB)) as server:
        raw = lazy(server, "/%d/ann" % UNREAD)
        until(lambda: server.held.of("ann") >= UNREAD)
        answer, = replies(raw.until(b"\r\n\r\n") + raw.until(b"x" * UNREAD))
        assert len(answer.body) == UNREAD and not server.counters().get("unread replies")
        raw.sock.close()
        until(lambda: server.held.total == 0)


@pytest.mark.parametrize("rate, whole", [(1024.0, True), (1_000_000.0, False)])
def test_who_reads_slowly_has_to_read_steadily(rate: float, whole: bool, monkeypatch: pytest.MonkeyPatch,
                                               caplog: pytest.LogCaptureFixture) -> None:
    """A client that reads a little each time must not hold a reply for ever; one that reads enough gets all of it."""
    clock = Clock(monkeypatch)
    with serving(big, limits=Limits(min_read_rate=rate, http_body_timeout=1)) as server, records(caplog) as logged:
        clock.stop()
        raw, size, taken = lazy(server, "/%d/" % (3 * UNREAD)), 3 * UNREAD, 0
        until(lambda: server.held.total)
        while taken < size:
            data, wanted = b"-", min(taken + 5 * MB, size)  # more than half of what the kernel holds
            while data and taken < wanted:
                data = raw.sock.recv(1 << 20)
                taken += len(data)
            if not data:
                break
            clock.leap(server, 50.0)  # less than http_write_timeout
        assert (taken >= size) is whole
        if not whole:
            until(lambda: any("reads less than min_read_rate" in record.getMessage() for record in logged))
        assert server.counters().get("slow readers", 0) == (not whole)
        raw.sock.close()


# --- Subscriptions and introductions ----------------------------------------------------------------------------------

def test_a_stream_of_too_many_bytes_of_uris_is_refused() -> None:
    uris = ["long://%d?%s" % (number, "y" * 1000) for number in range(5000)]
    with ModernWeb(server_with()) as web:
        answer = web.ask(1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}).answer()
        assert "max_subscribed_bytes (4194304)" in answer["error"]["message"]
        fine = web.begin(2, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["long://1"]}})
        assert fine.next()["params"]["notifications"] == {"resourceSubscriptions": ["long://1"]}


def test_clients_with_one_token_are_not_one_peer() -> None:
    """Found by attack: one of them held all that a peer may, and no other could begin a session or subscribe."""
    server = server_with(max_held_bytes=10 * MB, max_held_bytes_per_peer=MB)
    token = OneToken("secret")
    shown = {"Authorization": "Bearer secret"}
    filter = {"notifications": {"resourceSubscriptions": ["long://%0900d" % number for number in range(900)]}}
    with ModernWeb(server, shown, authenticate=token) as modern:
        for number in range(2):
            assert "params" in modern.begin(number, "subscriptions/listen", filter).next()
    with Web(server, None, limits=server.limits, headers=shown, authenticate=token, held=server.held) as web:
        first = opened_by(web, "f")
        for number in range(900):
            web.post(request(number, "resources/subscribe", {"uri": "long://%01000d" % number}), first).done()
        assert server.held.total > 900_000
        second = opened_by(web, "s")
        answer = web.post(request(1, "resources/subscribe", {"uri": "long://%0900d" % 1}), second).answer()
        assert answer["result"] == {}
    assert server.held.total == 0


def opened_by(web: Web, letter: str) -> Dict[str, str]:
    """Open a session by a long introduction; its header fields."""
    made = web.post(opening("2025-11-25", capabilities={"experimental": {letter: {"x": letter * 100_000}}}))
    assert "result" in made.answer(), made.answer()
    fields = {"Mcp-Session-Id": made.headers.get("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
    assert web.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, fields).status == 202
    return fields  # type: ignore[return-value]


def test_streams_that_subscribe_are_counted_until_they_end_and_keep_no_request() -> None:
    server = server_with(max_held_bytes=MB)
    junk = {"io.example/junk": "j" * 100_000}
    with ModernWeb(server) as web:
        filter = {"notifications": {"resourceSubscriptions": ["long://%0900d" % number for number in range(300)]}}
        first = web.begin(1, "subscriptions/listen", filter, **junk)
        first.next()
        assert 300_000 < server.held.total < 500_000
        listener, = server.listeners._open
        assert "junk" not in str(listener.context.request.params)
        second = web.ask(2, "subscriptions/listen", filter).answer()
        assert "max_held_bytes (%d)" % MB in second["error"]["message"]
        first.leave()
        eventually(lambda: server.held.total == 0)
        third = web.begin(3, "subscriptions/listen", filter)
        third.next()
        web.begin(4, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}).next()
    assert server.held.total == 0


def test_subscriptions_of_a_session_are_bounded_by_bytes_and_let_go() -> None:
    server = server_with(max_subscribed_bytes=5000)
    with Web(server, "2025-06-18", held=server.held, limits=server.limits) as web:
        uris = ["long://%01900d" % number for number in range(3)]
        for uri in uris[:2]:
            for again in "ab":
                assert web.ask(uri[-1] + again, "resources/subscribe", {"uri": uri}).message["result"] == {}
        before = server.held.total
        assert 3800 < before < 6000, "twice is once"
        refused = web.ask(3, "resources/subscribe", {"uri": uris[2]}).message["error"]["message"]
        assert "max_subscribed_bytes (5000)" in refused
        web.ask(4, "resources/unsubscribe", {"uri": uris[0]})
        assert web.ask(5, "resources/subscribe", {"uri": uris[2]}).message["result"] == {}
        assert server.held.total == before
    assert server.held.total == 0


def test_what_a_client_says_of_itself_is_bounded_and_counted() -> None:
    server = server_with()
    with Web(server, None, held=server.held, limits=server.limits) as web:
        long = opening("2025-06-18")
        long["params"]["clientInfo"]["title"] = "t" * 300_000
        refused = web.post(long)
        assert "max_introduction_bytes (262144)" in refused.message["error"]["message"]
        assert len(web.endpoint.sessions or ()) == 0
        long["params"]["clientInfo"]["title"] = "t" * 100_000
        assert "result" in web.post(long).answer()
        assert server.held.total > 100_000
    assert server.held.total == 0


# --- Parsed bodies ----------------------------------------------------------------------------------------------------

def test_bodies_of_many_values_that_are_handled_at_a_time_are_bounded() -> None:
    gate = Gate()
    body = b"[" + b"{}," * 60_000 + b"{}]"  # 180 KB, and 3.8 MB when parsed

    def handler(exchange: Exchange) -> None:
        if exchange.request.path == "/hold":
            gate.hold()
        exchange.reply(200, (), b"done")

    with gate, serving(handler, limits=Limits(max_body_bytes_total=12 * MB)) as server:
        raws = [Raw(server.address) for _ in range(6)]
        for raw in raws[:2]:
            raw.send(post(body, "/hold"))
        gate.entered(2)
        for raw in raws[2:]:
            raw.send(post(body, "/hold", "Connection: close"))
        answers = [replies(raw.rest())[0] for raw in raws[2:]]
        assert [answer.status for answer in answers] == [503] * 4 and b"max_body_bytes_total" in answers[0].body
        assert answers[0].headers["retry-after"] == "5" and server.counters()["bodies without room"] == 4
        still_serves(server)
        gate.open()
        for raw in raws[:2]:
            assert raw.until(b"done")
        until(lambda: server.body_bytes == 0)
        for raw in raws:
            raw.sock.close()


# --- Lines over sockets -----------------------------------------------------------------------------------------------

@pytest.fixture
def sockets() -> Iterator[Any]:
    """A server on TCP with little room, and a function that makes connections to it."""
    server = server_with(max_held_bytes=4 * MB, max_held_bytes_per_peer=2 * MB)
    made: List[socket.socket] = []
    with server.listen("tcp://127.0.0.1:0", 0.05) as listener:
        host, port = listener.address[6:].rsplit(":", 1)

        def dial() -> socket.socket:
            made.append(socket.create_connection((host, int(port)), PATIENCE))
            return made[-1]

        yield server, listener, dial
        for sock in made:
            sock.close()
        until(lambda: listener.connections == 0)
        until(lambda: server.held.total == 0)


def test_lines_without_an_end_are_bounded_together(sockets: Any) -> None:
    server, listener, dial = sockets
    socks = [dial() for _ in range(5)]
    for sock in socks:
        sock.sendall(b"{" + b"x" * (MB - 1001))
        until(lambda: server.held.counters.get("unfinished lines") or server.held.total > 0)
    until(lambda: server.held.counters.get("unfinished lines", 0) >= 1)
    assert server.held.total <= 3 * MB
    socks[-1].sendall(b"\n")
    refused = json.loads(socks[-1].makefile("rb").readline())
    for sock in socks[:-1]:
        sock.sendall(b"\n")
    until(lambda: server.held.total == 0)
    assert refused["error"]["code"] in (-32603, -32700), refused
    if refused["error"]["code"] == -32603:
        assert "max_held_bytes" in refused["error"]["message"]


def test_a_line_without_an_end_has_a_time(sockets: Any, monkeypatch: pytest.MonkeyPatch,
                                          caplog: pytest.LogCaptureFixture) -> None:
    server, listener, dial = sockets
    clock = Clock(monkeypatch)
    quiet, begun = dial(), dial()
    begun.sendall(b'{"jsonrpc":')
    until(lambda: any(transport.unfinished for transport in list(listener._connections)))
    clock._ahead += 29.0
    listener._signal()
    clock._ahead += 3.0
    assert begun.recv(100) == b"", "it is closed"
    until(lambda: listener.connections == 1)
    assert [record for record in caplog.records if "line_timeout (30 s)" in record.getMessage()]
    quiet.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert b'"id":1' in quiet.recv(1000), "who is silent between messages stays"


def test_the_end_of_a_connection_lets_its_unfinished_line_go_at_once() -> None:
    server = server_with()
    listener: Any = server.listen("tcp://127.0.0.1:0")
    with listener, opened(connect_socket(listener.address)) as client:
        client.socket.sendall(b"x" * MB)
        until(lambda: [each for each in list(listener._connections) if each.unfinished == MB])
        transport, = listener._connections
        client.close()
        until(lambda: listener.connections == 0)
        until(lambda: transport._splitter._buffer is None)
        assert transport.counters()["unfinished"] == 1 and server.held.total == 0


# --- What waits for a peer that does not read -------------------------------------------------------------------------

# --- What a peer can have a connection queue, on either side ----------------------------------------------------------

def test_large_requests_that_run_are_bounded_by_bytes() -> None:
    server = Server("held", limits=Limits(max_held_bytes=2 * MB))
    gate = Gate()

    @server.tool
    def hold(text: str) -> str:
        gate.hold()
        return "done"

    peer = ScriptedPeer.of_server(server)
    with gate:
        peer.handshake("2025-06-18")
        for id in range(1, 5):
            peer.request(id, "tools/call", {"name": "hold", "arguments": {"text": "x" * (MB // 2)}})
        refused = peer.receive(lambda message: "error" in message)
        assert refused["id"] == 3 and "max_held_bytes (%d)" % (2 * MB) in refused["error"]["message"]
        peer.request(9, "ping")
        peer.receive(lambda message: message.get("id") == 9)
        gate.open()
        assert {peer.receive(lambda message: "result" in message)["id"] for _ in range(2)} == {1, 2}
    peer.request(10, "tools/call", {"name": "hold", "arguments": {"text": "x" * (MB // 2)}})
    assert "result" in peer.receive(lambda message: message.get("id") == 10)
    assert peer.connection is not None and peer.connection.large == {}
    peer.transport.close()


def test_a_client_with_a_slow_callback_does_not_keep_what_a_server_floods_it_with() -> None:
    server = Server("flood")

    @server.tool
    def flood(ctx: Context) -> str:
        for _ in range(20):
            ctx.log("info", "x" * 10_000)
        return "done"

    with Gate() as gate, server.listen("tcp://127.0.0.1:0") as listener:
        limits = Limits(max_unheard_bytes=50_000)
        with connect(listener.address, era="legacy", limits=limits, on_log=lambda *log: gate.hold()) as client:
            client.call_tool("flood")
            eventually(lambda: client.connection.counters["dropped notification"] >= 14)
            gate.open()


def test_a_server_that_sends_a_stream_in_small_pieces_costs_no_more_than_its_bytes() -> None:
    parser = SseParser()
    for _ in range(1000):
        assert parser.feed(b"da") == []
    assert not isinstance(parser._line, list)
    assert parser.feed(b"\n\nid: 1\ndata: x\n\nid: " + b"9" * 5000 + b"\ndata: y\n\n")[-1].id == "1"


def test_sessions_do_not_leave_anything_in_the_account() -> None:
    """A stream, a question, a reply as a stream, and all that may be kept for them."""
    server = server_with()
    with Web(server, "2025-11-25", held=server.held, limits=server.limits) as web:
        for _ in range(3):
            web.get().leave()
            server.log("info", "x" * 1000)
            web.ask(1, "tools/call", {"name": "noisy", "arguments": {}}, headers={"Accept": "text/event-stream"})
        assert server.held.total > 0
        web.delete()
        assert server.held.total == 0
