"""The client's HTTP+SSE, and how a client finds out that it is what the server speaks."""
import threading
from typing import Any, Iterator, List

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, TransportError
from mcp_ref.limits import Limits
from mcp_ref.revisions import HANDSHAKE_REVISIONS
from mcp_ref.streamable.client.detect import HttpAuto
from mcp_ref.streamable.client.http_sse import HttpSse
from tests.support.patience import WAIT
from tests.support.scripted_http import Request, ScriptedHttp, chunk, log
from tests.support.scripted_sse import Older
from tests.support.sides import eventually, in_thread


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp(path="/sse") as made:
        yield made


@pytest.fixture
def older(server: ScriptedHttp) -> Older:
    return Older(server)


def sse(server: ScriptedHttp, **options: Any) -> Client:
    return connect(HttpSse(server.url), check_results=False, **options)


def text(client: Client) -> str:
    return str(client.call_tool("it").content[0].text)


# --- Finding out ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("offered", [str(revision) for revision in HANDSHAKE_REVISIONS])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406, 410, 415, 422, 500, 501])
def test_the_older_transport_is_tried_for_every_status_but_those_of_authorization(
        server: ScriptedHttp, older: Older, status: int, offered: str) -> None:
    older.refusal = status
    tried = status not in (401, 403)
    if tried:
        with connect(server.url, revisions=[offered], check_results=False) as client:
            assert text(client) == "tools/call" and client.connection.transport.reason()
    else:
        with pytest.raises(HttpStatus, match=str(status)):
            connect(server.url, revisions=[offered])
    assert len(server.seen("GET")) == tried


@pytest.mark.parametrize("then", [405, 200, 500])
def test_where_there_is_no_older_transport_the_first_refusal_stands(server: ScriptedHttp, then: int) -> None:
    server.on["*"] = lambda request: request.reply(404, b"nothing here", "text/plain")
    server.on["GET"] = lambda request: request.reply(then, b"<html>", "text/html")
    with pytest.raises(HttpStatus, match="404 Because: nothing here"):
        connect(server.url)


def test_a_json_rpc_refusal_that_is_no_older_transport_is_the_error(server: ScriptedHttp) -> None:
    server.on["*"] = lambda request: request.reply(
        400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unsupported"}}')
    server.on["GET"] = lambda request: request.reply(405)
    with pytest.raises(PeerError, match="unsupported"):
        connect(server.url)


def test_an_older_transport_that_ends_at_once_is_closed(
        server: ScriptedHttp, older: Older, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: HttpSse, messages: Any) -> None:
        raise ConnectionLost("the server closed the event stream")

    closed: List[HttpSse] = []
    close = HttpSse.close
    older.refusal = 405
    monkeypatch.setattr(HttpSse, "send", lost)
    monkeypatch.setattr(HttpSse, "close", lambda self: (closed.append(self), close(self))[1])
    with pytest.raises(HttpStatus, match="405"):
        connect(server.url)
    assert len(closed) == 1


def test_an_older_transport_that_refuses_too_is_tried_once(server: ScriptedHttp, older: Older) -> None:
    older.endpoint = b"/elsewhere"
    with pytest.raises(HttpStatus, match="/elsewhere answered 405"):
        connect(server.url)
    assert len(server.seen("GET")) == 1 and len(server.seen("initialize")) == 2


def test_a_later_refusal_does_not_change_the_transport(server: ScriptedHttp) -> None:
    server.on["tools/call"] = lambda request: request.reply(405)
    with connect(server.url) as client:
        with pytest.raises(HttpStatus):
            client.call_tool("it")
        client.ping()


@pytest.mark.race
def test_closing_while_it_is_being_found_out(server: ScriptedHttp, older: Older) -> None:
    asked = threading.Event()

    def listen(request: Request) -> None:
        asked.set()
        request.wait_gone()

    server.on["GET"] = listen
    client = Client()
    opening = in_thread(client.open, HttpAuto(server.url))
    assert asked.wait(WAIT)
    client.close()
    with pytest.raises(McpError):
        opening.get()


# --- Opening ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("endpoint, target", [
    (b"/messages?session=7", "/messages?session=7"), (b"messages", "/messages"), (b"./messages", "/messages"),
    (b"{origin}/messages?a=b", "/messages?a=b"), (b"?session=7", None),
])
def test_the_endpoint_is_resolved_against_the_url(
        server: ScriptedHttp, older: Older, endpoint: bytes, target: Any) -> None:
    older.endpoint = endpoint.replace(b"{origin}", server.origin.encode())
    if target is None:
        with pytest.raises(HttpStatus):
            sse(server)
        assert server.seen("POST")[0].target == "/sse?session=7"
    else:
        with sse(server) as client:
            assert text(client) == "tools/call"
        assert {post.target for post in server.seen("POST")} == {target}


@pytest.mark.parametrize("endpoint", [
    b"http://localhost:%d/messages", b"https://127.0.0.1:%d/messages", b"//evil.example:%d/x", b"http://127.0.0.1:1/%d",
    b"ftp://127.0.0.1:%d/", b"http://user:pw@127.0.0.1:%d/messages", b"http://[::1/%d",
])
def test_an_endpoint_elsewhere_is_refused(server: ScriptedHttp, older: Older, endpoint: bytes) -> None:
    older.endpoint = endpoint % server.port
    with pytest.raises(ConnectFailed):
        sse(server, token=None)
    assert server.seen("POST") == []


@pytest.mark.parametrize("status, words", [(404, "404"), (401, "pass token="), (500, "500")])
def test_a_stream_that_is_refused_says_why(server: ScriptedHttp, status: int, words: str) -> None:
    server.on["GET"] = lambda request: request.reply(status)
    with pytest.raises(HttpStatus, match=words):
        sse(server)


def test_what_is_no_stream_of_events_is_refused(server: ScriptedHttp) -> None:
    server.on["GET"] = lambda request: request.reply(200, b"<html>", "text/html")
    with pytest.raises(ConnectFailed, match="text/html"):
        sse(server)


def test_a_stream_without_an_endpoint_is_given_up(server: ScriptedHttp) -> None:
    def listen(request: Request) -> None:
        request.begin_events()
        request.wait_gone()

    server.on["GET"] = listen
    with pytest.raises(ConnectFailed, match="no endpoint event in time"):
        connect(HttpSse(server.url, limits=Limits(initialize_timeout=0.05)))


# --- Messages ---------------------------------------------------------------------------------------------------------

def test_only_messages_after_the_endpoint_are_read(server: ScriptedHttp, older: Older) -> None:
    heard: List[Any] = []
    with sse(server, on_log=lambda level, data, logger: heard.append(data)) as client:
        older.stream.event(log("another event"), event="other")
        older.stream.event(log("heard"), event="message")
        older.stream.event(b"http://evil.example/", event="endpoint")
        eventually(lambda: heard)
        assert text(client) == "tools/call" and heard == ["heard"]


def test_a_post_that_is_refused_fails_its_request_alone(server: ScriptedHttp, older: Older) -> None:
    server.on["tools/call"] = lambda request: request.reply(400, b"no", "text/plain")
    with sse(server) as client:
        with pytest.raises(HttpStatus, match="400 Because: no") as caught:
            client.call_tool("it")
        assert "session=7" not in str(caught.value)
        client.ping()


@pytest.mark.parametrize("how", ["end", "cut", "too much"])
def test_the_end_of_the_stream_is_the_end_of_the_connection(server: ScriptedHttp, older: Older, how: str) -> None:
    limits = Limits(max_message_bytes=10_000)
    transport = HttpSse(server.url, limits=limits)
    with connect(transport, limits=limits) as client:
        server.on["tools/call"] = lambda request: request.reply(202)
        future = client.submit_tool("it")
        server.wait_for("tools/call")
        if how == "end":
            older.stream.end_events()
        elif how == "cut":
            older.stream.sock.shutdown(2)
        else:
            older.stream.send(chunk(b"data: " + b"x" * 20_000))
        assert client.connection.wait_closed(WAIT)
        with pytest.raises(ConnectionLost):
            future.result(WAIT)
        words = {"end": "closed the event stream", "cut": "cut off", "too much": "max_message_bytes"}[how]
        assert words in transport.reason()
        with pytest.raises(ConnectionLost):
            client.ping()


def test_a_stream_cut_at_any_byte_ends_the_connection_and_nothing_hangs() -> None:
    message = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    events = [b"event: endpoint\r\ndata: /messages\r\n\r\n", b"data: %s\r\n\r\n" % message]
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
        map(chunk, events)) + chunk(b"")
    opened = 0
    with ScriptedHttp(path="/sse") as server:
        for position in range(len(whole) + 1):
            def listen(request: Request, position: int = position) -> None:
                request.send(whole[:position])
                request.cut()

            server.on["GET"] = listen
            transport = HttpSse(server.url)
            try:
                transport.open()
                opened += 1
                items: List[Any] = []
                while True:
                    read = transport.read()
                    if read is None:
                        break
                    items += read
                assert items in ([], [message])
            except TransportError:
                pass
            transport.close()
    needed = whole.index(events[0]) + len(events[0]) - 1  # the last CR ends the line
    assert opened == len(whole) + 1 - needed


def test_close_ends_the_stream_and_says_no_more(server: ScriptedHttp, older: Older) -> None:
    with sse(server):
        pass
    assert server.seen("DELETE") == []
