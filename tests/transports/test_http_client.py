"""The client's Streamable HTTP: what breaks, what is hostile, what is let go, and what is never sent."""
import gc
import json
import pathlib
import socket
import ssl
import threading
import weakref
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import (
    AnswerLost, ConnectFailed, ConnectionLost, HttpStatus, McpError, PeerError, PeerProtocolError, RequestTimeout,
    SessionExpired, TransportError,
)
from mcp_ref.http11.client import connection_pool
from mcp_ref.limits import Limits
from mcp_ref.streamable.client.streamable import StreamableHttp
from tests.support.patience import WAIT
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import EVERYTHING, SERVER, Request, ScriptedHttp, chunk, head, log, said
from tests.support.sides import Gate, eventually, in_thread

PEM = str(pathlib.Path(__file__).parents[1] / "data" / "tls" / "localhost.pem")


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


def call(client: Client, name: str = "it", **options: Any) -> str:
    return str(client.call_tool(name, **options).content[0].text)


def quiet(server: ScriptedHttp, **options: Any) -> Client:
    return connect(server.url, check_results=False, **options)


# --- Cut anywhere -----------------------------------------------------------------------------------------------------

def exchange_bytes(request: Request) -> bytes:
    """A stream with a priming event, a log message and the answer, as bytes."""
    events = [b"id: 1\ndata:\n\n", b"id: 2\ndata: %s\n\n" % json.dumps(log("news")).encode(),
              b"id: 3\ndata: %s\n\n" % request.result(said("answer"))]
    return head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]) + b"".join(
        map(chunk, events)) + chunk(b"")


def test_a_stream_cut_at_any_byte_delivers_everything_once_or_fails_clearly(server: ScriptedHttp) -> None:
    """Before the first event id nothing can be resumed; from then on nothing is lost and nothing comes twice."""
    calls: Dict[str, Tuple[Request, bytes]] = {}
    done = threading.Semaphore(0)  # a whole answer may be here before the connection is cut, and that be used again

    def begin(request: Request) -> None:
        position = int(request.message["params"]["name"])
        calls["last"] = request, exchange_bytes(request)
        try:
            request.send(calls["last"][1][:position])
            request.cut()
        finally:
            done.release()

    def resume(request: Request) -> None:
        last = request.headers.get("last-event-id")
        if last is None:
            request.reply(405)
            return
        asked, _ = calls["last"]
        rest = [("2", json.dumps(log("news")).encode()), ("3", asked.result(said("answer")))][int(last) - 1:]
        request.begin_events()
        for id, data in rest:
            request.event(data, id)
        request.end_events()

    server.on["tools/call"], server.on["GET"] = begin, resume
    heard: List[Any] = []
    outcomes: List[str] = []
    limits = Limits(min_reconnect_delay=0.0, max_reconnect_delay=0.0001)
    with quiet(server, limits=limits, on_log=lambda level, data, logger: heard.append(data)) as client:
        length = 1000
        position = 0
        while position <= length:
            heard.clear()
            try:
                outcomes.append(call(client, str(position), timeout=WAIT))
                eventually(lambda: heard == ["news"])
            except AnswerLost:
                outcomes.append("lost")
                assert len(heard) <= 1
            assert done.acquire(timeout=PATIENCE)
            length, position = len(calls["last"][1]), position + 1
        client.ping()
    primed = exchange_bytes(calls["last"][0]).index(b"id: 1\ndata:\n\n") + len(b"id: 1\ndata:\n\n")
    assert outcomes == ["lost"] * primed + ["answer"] * (len(outcomes) - primed)


def test_a_resumption_that_fails_is_tried_again_and_counted(server: ScriptedHttp) -> None:
    asked: List[Request] = []
    tried: List[str] = []

    def begin(request: Request) -> None:
        asked.append(request)
        request.begin_events()
        request.event(b"", id="1", retry=0)
        request.end_events()

    def resume(request: Request) -> None:
        if "last-event-id" not in request.headers:
            request.reply(405)
            return
        tried.append(request.headers["last-event-id"])
        if len(tried) <= 3:  # more often than a connection that had been idle is replaced
            request.cut()
        elif len(tried) == 4:
            request.reply(503)
        else:
            request.begin_events()
            request.event(asked[0].result(said("answer")), id="2")
            request.end_events()

    server.on["tools/call"], server.on["GET"] = begin, resume
    limits = Limits(min_reconnect_delay=0.0, max_reconnect_delay=0.0001)
    with quiet(server, limits=limits) as client:
        assert call(client, "x", timeout=PATIENCE) == "answer"
        counted = client.connection.transport.counters()
    assert tried == ["1"] * 5 and len(asked) == 1
    assert 1 <= counted["stream not resumed yet"] <= 3


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_json_answer_cut_at_any_byte_is_a_failure_of_its_request(server: ScriptedHttp, framing: str) -> None:
    whole: List[bytes] = [b""]

    def answer(request: Request) -> None:
        body = request.result(said("answer"))
        kind = ("Content-Type", "application/json")
        whole[0] = {
            "length": head(200, [kind, ("Content-Length", str(len(body)))]) + body,
            # The line ends after the 0 add nothing, and http.client does not insist on them.
            "chunked": head(200, [kind, ("Transfer-Encoding", "chunked")]) + chunk(body[:9]) + chunk(body[9:]) + b"0",
            "close": head(200, [kind, ("Connection", "close")]) + body,
        }[framing]
        request.send(whole[0][:int(request.message["params"]["name"])])
        request.cut()

    server.on["tools/call"] = answer
    with quiet(server) as client:
        position, length = 0, 1
        while position < length:
            with pytest.raises((AnswerLost, PeerProtocolError)):
                call(client, str(position), timeout=WAIT)
            position, length = position + 1, len(whole[0])
        assert call(client, str(length)) == "answer"


# --- Connections that are kept ----------------------------------------------------------------------------------------

def test_requests_one_after_the_other_share_one_connection(server: ScriptedHttp) -> None:
    server.on["GET"] = lambda request: request.reply(405)
    with quiet(server) as client:
        server.wait_for("GET")
        for _ in range(20):
            call(client)
        used = {request.connection for request in server.seen("tools/call")}
    assert len(used) <= 2 and server.connections <= 3


def test_a_connection_that_the_server_closed_is_not_used_again(server: ScriptedHttp) -> None:
    closing = threading.Semaphore(0)

    def answer(request: Request) -> None:
        request.answer(said("before the end"))
        request.sock.shutdown(socket.SHUT_RDWR)
        closing.release()
        request.cut()

    server.on["tools/call"] = answer
    with quiet(server) as client:
        for _ in range(20):
            assert call(client) == "before the end" and closing.acquire(timeout=WAIT)
    assert len(server.seen("tools/call")) == 20


def test_a_request_that_was_sent_whole_is_never_sent_again(server: ScriptedHttp) -> None:
    server.on["tools/call"] = lambda request: request.cut()
    with quiet(server) as client:
        client.ping()
        with pytest.raises(AnswerLost, match="no answer came"):
            call(client)
        client.ping()
    assert len(server.seen("tools/call")) == 1


@pytest.mark.parametrize("said_by_server, reused", [("timeout=5, max=9", True), ("timeout=1", False), ("max=5", True)])
def test_keep_alive_of_the_server_is_heeded(server: ScriptedHttp, said_by_server: str, reused: bool) -> None:
    def answer(request: Request) -> None:
        request.answer(said("x"), [("Keep-Alive", said_by_server)])

    def stream(request: Request) -> None:
        request.begin_events()
        request.wait_gone()

    server.on["tools/call"], server.on["GET"] = answer, stream
    with quiet(server) as client:
        server.wait_for("GET")
        call(client)
        call(client)
        first, second = server.seen("tools/call")
    assert (first.connection == second.connection) == reused


def test_a_server_that_answers_before_it_has_read_everything_is_heard(server: ScriptedHttp) -> None:
    def refuse(sock: socket.socket) -> None:
        sock.recv(10)
        sock.sendall(head(413, [("Content-Length", "8"), ("Connection", "close")]) + b"too much")
        sock.close()  # with bytes unread: the client's sending fails

    listener = socket.create_server(("127.0.0.1", 0))
    transport = StreamableHttp("http://127.0.0.1:%d/mcp" % listener.getsockname()[1])
    serving = in_thread(lambda: refuse(listener.accept()[0]))
    transport.open()
    transport.write([b'{"jsonrpc":"2.0","id":1,"method":"x","params":"%s"}' % (b"y" * 8_000_000)])
    (failed,) = transport.read() or []
    assert isinstance(failed.error, HttpStatus) and failed.error.status == 413  # type: ignore[union-attr]
    transport.close()
    serving.get()
    listener.close()


# --- Refusals ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [400, 401, 403, 409, 413, 415, 429, 500, 502, 503])
def test_a_refusal_is_the_error_of_its_request_and_of_no_other(server: ScriptedHttp, status: int) -> None:
    def refuse(request: Request) -> None:
        request.reply(status, b"first line\nsecond", "text/plain", [("WWW-Authenticate", 'Bearer realm="x"')])

    server.on["tools/call"] = refuse
    with quiet(server) as client:
        with pytest.raises(HttpStatus, match="%d Because: first line second(;|$)" % status) as caught:
            call(client)
        assert caught.value.status == status and caught.value.challenges == ['Bearer realm="x"']
        assert ("pass token=" in str(caught.value)) == (status == 401)
        client.ping()


@pytest.mark.parametrize("id", ["own", None, "none"])
def test_a_json_rpc_error_in_a_refusal_is_the_answer(server: ScriptedHttp, id: Any) -> None:
    def refuse(request: Request) -> None:
        error: Dict[str, Any] = {"jsonrpc": "2.0", "error": {"code": -32000, "message": "no way", "data": [1]}}
        if id != "none":
            error["id"] = request.message["id"] if id == "own" else None
        request.reply(400, json.dumps(error).encode())

    server.on["tools/call"] = refuse
    with quiet(server) as client:
        with pytest.raises(PeerError, match="no way") as caught:
            call(client)
        assert (caught.value.code, caught.value.data, caught.value.method) == (-32000, [1], "tools/call")


@pytest.mark.parametrize("status, kind, body, words", [
    (200, "text/html", b"<html>", "content type 'text/html'"),
    (200, "application/json", b"not json", "holds no response"),
    (200, "application/json", b'{"jsonrpc":"2.0","id":99,"result":{}}', "holds no response"),
    (200, "application/json", b"[]", "holds no response"),
    (202, "application/json", b"", "202"),
    (204, "application/json", b"", "204"),
])
def test_an_answer_without_the_response_fails_the_request(
        server: ScriptedHttp, status: int, kind: str, body: bytes, words: str) -> None:
    server.on["tools/call"] = lambda request: request.reply(status, body, kind)
    with quiet(server) as client, pytest.raises(PeerProtocolError, match=words):
        call(client)


@pytest.mark.parametrize("reply", [
    b"nonsense\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n",
    b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70000 + b"\r\n\r\n", b"\x16\x03\x01\x00",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
])
def test_what_is_no_http_fails_the_request_and_the_next_one_works(server: ScriptedHttp, reply: bytes) -> None:
    def answer(request: Request) -> None:
        request.send(reply)
        request.cut()

    server.on["tools/call"] = answer
    with quiet(server) as client:
        with pytest.raises((TransportError, PeerProtocolError)):
            call(client, timeout=WAIT)
        client.ping()


@pytest.mark.parametrize("body", [b"zz\r\n", b"3\r\nab", b"1\r\nxy\r\n", b"-5\r\nhello\r\n0\r\n\r\n"])
def test_a_connection_whose_reply_was_broken_is_not_used_again(server: ScriptedHttp, body: bytes) -> None:
    """Though the server keeps it open: nobody knows where the next reply would begin."""
    broken: List[int] = []

    def answer(request: Request) -> None:
        broken.append(request.connection)
        request.send(head(200, [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]) + body)
        if body == b"3\r\nab":
            request.cut()

    server.on["tools/call"] = answer

    def pong(request: Request) -> None:
        broken.append(request.connection)
        request.answer({})

    server.on["ping"] = pong
    with quiet(server) as client:
        with pytest.raises(AnswerLost):
            call(client, timeout=WAIT)
        client.ping()
    assert broken[0] != broken[1]


def test_interim_replies_are_skipped(server: ScriptedHttp) -> None:
    def answer(request: Request) -> None:
        request.send(head(100) + head(103, [("Link", "</style.css>")]))
        request.answer(said("then"))

    server.on["tools/call"] = answer
    with quiet(server) as client:
        assert call(client) == "then"


@pytest.mark.parametrize("shape", ["length", "chunked", "event", "endless line"])
def test_an_answer_over_the_limit_is_refused_by_name(server: ScriptedHttp, shape: str) -> None:
    def answer(request: Request) -> None:
        body = b"x" * 100_000
        if shape == "length":
            request.reply(200, body)
            return
        kind = "application/json" if shape == "chunked" else "text/event-stream"
        request.send(head(200, [("Content-Type", kind), ("Transfer-Encoding", "chunked")]))
        request.send(chunk(b"data: ") if shape == "endless line" else b"")
        for _ in range(100):
            request.send(chunk(b"data: " + body[:10000] + b"\n" if shape == "event" else body[:10000]))
        request.wait_gone()

    server.on["tools/call"] = answer
    with quiet(server, limits=Limits(max_message_bytes=50_000)) as client:
        with pytest.raises(TransportError, match="max_message_bytes"):
            call(client)
        client.ping()


def test_a_session_id_that_cannot_be_one_is_refused(server: ScriptedHttp) -> None:
    server.session = "two words"
    with pytest.raises(PeerProtocolError, match="visible ASCII"):
        quiet(server)


def test_a_new_session_that_is_forgotten_at_once_is_an_error(server: ScriptedHttp) -> None:
    server.on["tools/call"] = lambda request: request.reply(404)
    with quiet(server) as client, pytest.raises(SessionExpired):
        call(client)
    assert len(server.seen("initialize")) == 2 and len(server.seen("tools/call")) == 2


RPC_ERROR = b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'


@pytest.mark.parametrize("status, body, renewed", [
    (404, b"", True), (410, b"gone", True), (400, b"Invalid session id", True),
    (400, RPC_ERROR % b"null", True), (400, RPC_ERROR % b"ID", True), (400, b"no such city", False),
    (409, b"session", False), (500, b"session", False),
])
def test_a_session_that_is_lost_is_opened_anew_however_the_server_says_it(
    server: ScriptedHttp, status: int, body: bytes, renewed: bool
) -> None:
    def answer(request: Request) -> None:
        if request.headers["mcp-session-id"] == "session-0":
            server.session = "session-1"
            request.reply(status, body.replace(b"ID", b"%d" % request.message["id"]) if b"jsonrpc" in body else body)
        else:
            request.answer(said("new"))

    server.on["tools/call"] = answer
    with quiet(server) as client:
        if renewed:
            assert call(client) == "new" and len(server.seen("initialize")) == 2
        else:
            with pytest.raises(McpError):
                call(client)
            assert len(server.seen("initialize")) == 1


@pytest.mark.parametrize("status, body", [(410, b""), (400, b"no session")])
def test_a_session_that_is_lost_again_at_once_is_an_error(server: ScriptedHttp, status: int, body: bytes) -> None:
    server.on["tools/call"] = lambda request: request.reply(status, body)
    with quiet(server) as client, pytest.raises(SessionExpired, match=str(status)):
        call(client)
    assert len(server.seen("initialize")) == 2 and len(server.seen("tools/call")) == 2


def test_what_was_under_way_when_the_session_ended_is_not_sent_again(server: ScriptedHttp) -> None:
    with Gate() as gate:
        def answer(request: Request) -> None:
            if request.message["params"]["name"] == "long":
                gate.hold()
                request.cut()
            if request.headers["mcp-session-id"] == "session-0":
                server.session = "session-1"
                request.reply(404)
            else:
                request.answer(said("new"))

        server.on["tools/call"] = answer
        with quiet(server) as client:
            long = in_thread(call, client, "long")
            gate.entered()
            assert call(client, "short") == "new"
            with pytest.raises(ConnectionLost):
                long.get()
    assert [request.message["params"]["name"] for request in server.seen("tools/call")] == ["long", "short", "short"]


@pytest.mark.race
def test_many_threads_find_the_session_forgotten_and_share_the_new_one(server: ScriptedHttp) -> None:
    def answer(request: Request) -> None:
        if request.headers["mcp-session-id"] == "session-0":
            request.reply(404)
        else:
            request.answer(said("new"))

    server.on["tools/call"] = answer
    with quiet(server) as client:
        server.session = "session-1"
        calls = [in_thread(call, client, "c%d" % number) for number in range(8)]
        for one in calls:
            try:
                assert one.get() == "new"
            except ConnectionLost as error:
                assert not error.unsent  # it was under way when another one heard of the end
    assert len(server.seen("initialize")) == 2


# --- Redirects, proxies, TLS, addresses -------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/mcp/", "{origin}/mcp/", "mcp/"])
def test_redirects_within_the_origin_are_followed_with_the_body(
        server: ScriptedHttp, status: int, location: str) -> None:
    def answer(request: Request) -> None:
        if request.target == "/mcp":
            request.reply(status, b"", headers=[("Location", location.format(origin=server.origin))])
        else:
            server.usual(request)

    server.on["*"] = answer
    with quiet(server, token="secret") as client:
        assert call(client) == "tools/call"
    assert {request.headers["authorization"] for request in server.seen()} == {"Bearer secret"}
    redirected = [request.key for request in server.seen() if request.target == "/mcp"]
    assert ("tools/call" in redirected) == (status == 307)


@pytest.mark.parametrize("status, location, words", [
    (307, "http://localhost:{port}/mcp", "another origin"), (307, "https://127.0.0.1:{port}/mcp", "another origin"),
    (308, "http://127.0.0.1:1/mcp", "another origin"), (301, "/other", "name that URL"),
    (302, "/other", "name that URL"), (303, "/other", "name that URL"), (307, "/mcp", "redirects to itself"),
    (307, "", "it has no Location"),
    (307, "/a?next={n}", "more than 5 times"), (307, "http://user:pw@127.0.0.1:{port}/", "user or password"),
    (307, "ftp://127.0.0.1/", "no URL of the form"),
    (307, "http://[::1", r"redirects to 'http://\[::1', which is no URL"),
    (307, "//127.0.0.1:99999/", "is no URL"), (300, "/other", "name that URL"), (304, "", "it has no Location"),
])
def test_other_redirects_are_not_followed(
        server: ScriptedHttp, caplog: pytest.LogCaptureFixture, status: int, location: str, words: str) -> None:
    numbers = iter(range(100))
    server.on["*"] = lambda request: request.reply(
        status, b"", headers=[("Location", location.format(port=server.port, n=next(numbers)))])
    with pytest.raises(TransportError, match=words) as caught:
        quiet(server, token="secret")
    assert "user:pw" not in str(caught.value)
    assert not [record for record in caplog.records if record.exc_info], "no traceback for what a server says"
    assert {request.headers["host"] for request in server.seen()} == {"127.0.0.1:%d" % server.port}


class Forwarding:
    """An HTTP proxy: tunnels, or answers by itself what it is asked to forward."""

    def __init__(self, server: ScriptedHttp, refuse: bool = False) -> None:
        self.server = server
        self.heads: List[bytes] = []
        self._refuse = refuse
        self._socks: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://user:p%%40ss@127.0.0.1:%d" % self._listener.getsockname()[1]
        self._start(self._accept)

    def _start(self, function: Callable[..., None], *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=function, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                sock = self._listener.accept()[0]
            except OSError:
                return
            self._socks.append(sock)
            try:
                self._tunnel(sock)
            except OSError:  # the client has left
                pass

    def _tunnel(self, sock: socket.socket) -> None:
        head_bytes = b""
        while b"\r\n\r\n" not in head_bytes:
            piece = sock.recv(1)
            if not piece:
                return
            head_bytes += piece
        self.heads.append(head_bytes)
        if self._refuse:
            sock.sendall(head(407, [("Content-Length", "0")]))
            sock.shutdown(socket.SHUT_RDWR)
            return
        there = socket.create_connection(("127.0.0.1", self.server.port))
        self._socks.append(there)
        sock.sendall(head(200))
        self._start(self._pump, sock, there)
        self._start(self._pump, there, sock)

    def _pump(self, source: socket.socket, drain: socket.socket) -> None:
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                drain.sendall(data)
        except OSError:
            pass
        try:
            drain.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self) -> "Forwarding":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._socks:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in self._threads:
            thread.join(WAIT)
        for sock in self._socks:
            sock.close()


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def secure_server() -> ScriptedHttp:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return ScriptedHttp(tls=context)


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=PEM)
    context.check_hostname = False
    return context


def test_https_goes_through_the_proxy_of_the_environment(no_proxies: pytest.MonkeyPatch) -> None:
    with secure_server() as server, Forwarding(server) as proxy:
        no_proxies.setenv("HTTPS_PROXY", proxy.url)
        url = "https://mcp.example:8443/mcp"
        with connect(url, ssl_context=trusting(), token="secret", check_results=False) as client:
            assert call(client) == "tools/call"
        for top in proxy.heads:
            assert top.startswith(b"CONNECT mcp.example:8443 HTTP/1.1\r\n") and b"secret" not in top
            assert b"Proxy-Authorization: Basic dXNlcjpwQHNz\r\n" in top
        assert {request.headers.get("proxy-authorization") for request in server.seen()} == {None}
        assert {request.target for request in server.seen()} == {"/mcp"}


def test_http_asks_the_proxy_with_whole_urls(no_proxies: pytest.MonkeyPatch) -> None:
    with ScriptedHttp() as proxy:
        no_proxies.setenv("http_proxy", "127.0.0.1:%d" % proxy.port)
        with connect("http://mcp.example/mcp?a=b", check_results=False) as client:
            assert call(client) == "tools/call"
        assert {request.target for request in proxy.seen()} == {"http://mcp.example/mcp?a=b"}
        assert {request.headers["host"] for request in proxy.seen()} == {"mcp.example"}


@pytest.mark.parametrize("no_proxy", ["mcp.invalid", ".invalid", "*", "mcp.invalid:8443"])
def test_no_proxy_is_honoured(no_proxies: pytest.MonkeyPatch, no_proxy: str) -> None:
    no_proxies.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    no_proxies.setenv("NO_PROXY", no_proxy)
    with pytest.raises(ConnectFailed, match="cannot connect to mcp.invalid:8443: "):
        connect("https://mcp.invalid:8443/mcp")


@pytest.mark.parametrize("name", ["a..b", "a" * 70 + ".example"])
def test_a_name_that_no_host_can_have_is_a_failed_connection(no_proxies: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(ConnectFailed, match="cannot connect to %s:80: no host can have this name" % name):
        connect("http://%s/mcp" % name)


@pytest.mark.parametrize("value, words", [
    ("http://127.0.0.1:1", r"127.0.0.1:1 \(proxy, for https://mcp.example\)"),
    ("socks5://127.0.0.1:1", "not of the form"),
    ("http://", "not of the form"), ("http://127.0.0.1:x", "not of the form"),
])
def test_a_proxy_that_is_not_there_is_named(no_proxies: pytest.MonkeyPatch, value: str, words: str) -> None:
    no_proxies.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConnectFailed, match=words):
        connect("https://mcp.example/mcp")


def test_a_proxy_that_refuses_is_quoted(no_proxies: pytest.MonkeyPatch, server: ScriptedHttp) -> None:
    with Forwarding(server, refuse=True) as proxy:
        no_proxies.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(ConnectFailed, match="the proxy answered 407") as caught:
            connect("https://mcp.example/mcp")
    assert "p@ss" not in str(caught.value) and "p%40ss" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_never_reached_through_a_proxy(
        no_proxies: pytest.MonkeyPatch, server: ScriptedHttp, host: str) -> None:
    no_proxies.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with connect("http://%s:%d/mcp" % (host, server.port)) as client:
        client.ping()


@pytest.mark.parametrize("how", ["context", "cafile", "SSL_CERT_FILE"])
def test_https_with_certificates_of_ones_own(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: Dict[str, Any] = {"context": {"ssl_context": trusting()}, "cafile": {"cafile": PEM}}.get(how, {})
    if how == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", PEM)
    with secure_server() as server:
        with connect("https://localhost:%d/mcp" % server.port, check_results=False, **options) as client:
            assert call(client) == "tools/call" and client.origin == "https://localhost:%d" % server.port


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with secure_server() as server, pytest.raises(ConnectFailed, match="(?i)certificate"):
        connect("https://localhost:%d/mcp" % server.port)
    assert server.seen() == []


def test_a_file_of_certificates_that_is_not_there_is_named() -> None:
    with pytest.raises(ConnectFailed, match=r"^cannot read the certificates in /nowhere\.pem: No such file"):
        connect("https://localhost/mcp", cafile="/nowhere.pem")
    with pytest.raises(ConnectFailed, match=r"^cannot read the certificates in .*test_http_client\.py: .*\w"):
        connect("https://localhost/mcp", cafile=__file__)


def test_ipv6_with_brackets() -> None:
    try:
        server = ScriptedHttp(host="::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with server, quiet(server) as client:
        assert call(client) == "tools/call" and client.origin == "http://[::1]:%d" % server.port
        assert {request.headers["host"] for request in server.seen()} == {"[::1]:%d" % server.port}


@pytest.mark.parametrize("url, words", [
    ("http://", "names no host"), ("http:///mcp", "names no host"), ("http://a b/", "names no host"),
    ("http://user:secret@example.com/", "pass token="), ("http://example.com:0/", "no URL of the form"),
    ("http://example.com:70000/", "no URL"), ("http://[::1/", "no URL"), ("http://exa\0mple.com/", "names no host"),
])
def test_what_is_no_url_is_refused_without_repeating_secrets(url: str, words: str) -> None:
    with pytest.raises(ConnectFailed, match=words) as caught:
        connect(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("step", ["refused", "no name"])
def test_nobody_there_says_where_it_was_tried(step: str) -> None:
    url, words = {"refused": ("http://127.0.0.1:1/mcp", "cannot connect to 127.0.0.1:1: Connection refused"),
                  "no name": ("http://nobody.invalid/mcp", "cannot connect to nobody.invalid:80: ")}[step]
    with pytest.raises(ConnectFailed, match=words):
        connect(url)


def test_a_tls_handshake_that_never_ends_is_given_up() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = "https://127.0.0.1:%d/mcp" % listener.getsockname()[1]
    with pytest.raises(ConnectFailed, match="timed out"):
        connect(url, limits=Limits(connect_timeout=0.1))
    listener.close()


# --- Headers ----------------------------------------------------------------------------------------------------------

@pytest.mark.sends_illegal("progress.token-active", why="a notification like any other: nobody has asked for progress")
def test_headers_and_token_go_with_every_request_and_into_no_text(
        server: ScriptedHttp, caplog: pytest.LogCaptureFixture) -> None:
    server.on["tools/call"] = lambda request: request.reply(403)
    server.on["notifications/progress"] = lambda request: request.reply(500)
    caplog.set_level(0)
    with quiet(server, token="s3cret", headers={"X-Team": "blue", "User-Agent": "mine"}) as client:
        server.wait_for("GET")
        with pytest.raises(HttpStatus) as caught:
            call(client)
        client.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        server.wait_for("notifications/progress")
    for request in server.seen():
        assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer s3cret", "blue")
        assert request.headers["user-agent"] == "mine"
    assert "s3cret" not in str(caught.value) + caplog.text + repr(client.connection.transport)


@pytest.mark.parametrize("options", [
    {"headers": {"X\r\nY": "z"}}, {"headers": {"X": "z\r\nEvil: 1"}}, {"headers": {"Mcp-Session-Id": "mine"}},
    {"headers": {"content-length": "0"}}, {"headers": {"": "x"}}, {"token": "a\nb"}, {"headers": {"X": "\u20ac"}},
])
def test_header_fields_that_cannot_be_sent_are_refused(options: Dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        connect("http://127.0.0.1:1/mcp", **options)


# --- Order and amount -------------------------------------------------------------------------------------------------

def test_nothing_follows_initialized_before_it_was_accepted(server: ScriptedHttp) -> None:
    with Gate() as gate:
        def accept(request: Request) -> None:
            gate.hold()
            request.reply(202)

        server.on["notifications/initialized"] = accept
        with quiet(server) as client:
            asked = in_thread(call, client)
            gate.entered()
            assert not asked.over and server.seen("tools/call") == []
            gate.open()
            assert asked.get() == "tools/call"


@pytest.mark.sends_illegal("progress.token-active", why="a notification like any other: nobody has asked for progress")
def test_notifications_arrive_in_order_and_one_that_is_refused_is_counted(server: ScriptedHttp) -> None:
    server.on["notifications/progress"] = lambda request: request.reply(
        500 if request.message["params"]["progress"] == 5 else 202)
    with quiet(server) as client:
        for number in range(20):
            client.connection.notify("notifications/progress", {"progressToken": 1, "progress": number})
        server.wait_for("notifications/progress", 20)
        arrived = [request.message["params"]["progress"] for request in server.seen("notifications/progress")]
        eventually(lambda: client.connection.transport.counters() == {"undelivered": 1})
    assert arrived == list(range(20))


@pytest.mark.sends_illegal("progress.token-active", why="a notification like any other: nobody has asked for progress")
def test_what_was_said_last_is_delivered_before_the_farewell(server: ScriptedHttp) -> None:
    with quiet(server) as client:
        for number in range(5):
            client.connection.notify("notifications/progress", {"progressToken": 1, "progress": number})
    keys = [request.key for request in server.seen()]
    assert keys.count("notifications/progress") == 5 and keys[-1] == "DELETE"


def test_more_requests_than_the_limit_wait_for_their_turn(server: ScriptedHttp) -> None:
    most, both = threading.Semaphore(2), threading.Barrier(2)

    def answer(request: Request) -> None:
        assert most.acquire(blocking=False), "more than max_http_requests at a time"
        both.wait(WAIT)  # as many as that do come at a time
        most.release()
        request.answer(said(request.message["params"]["name"]))

    def stream(request: Request) -> None:
        request.begin_events()
        request.wait_gone()

    server.on["tools/call"], server.on["GET"] = answer, stream
    with quiet(server, limits=Limits(max_http_requests=2)) as client:
        futures = [client.submit_tool("t%d" % number) for number in range(30)]
        assert [future.result(WAIT).content[0].text for future in futures] == ["t%d" % number for number in range(30)]


class Noted(str):
    """A text that can be referred to weakly."""


def test_a_future_that_is_done_keeps_nothing_of_its_request(server: ScriptedHttp) -> None:
    server.on["tools/call"] = lambda request: request.answer(said("done"))
    with quiet(server) as client:
        text = Noted("x" * 100_000)
        noted = weakref.ref(text)
        future = client.submit_tool("it", {"text": text})
        assert future.result(WAIT).content[0].text == "done"
        del text
        eventually(lambda: gc.collect() >= 0 and noted() is None)
        assert future.done()


def test_what_the_server_waits_for_goes_out_when_all_threads_are_busy(server: ScriptedHttp) -> None:
    def answer(request: Request) -> None:
        request.begin_events()
        request.event({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        server.wait_for("response")
        request.event(request.result(said("answered")))
        request.end_events()

    server.on["tools/call"] = answer
    with quiet(server, limits=Limits(max_http_requests=1)) as client:
        assert call(client) == "answered"


def test_idle_threads_and_connections_end_by_themselves(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "REQUEST_IDLE", 0.02)
    with quiet(server, limits=Limits(http_keep_alive=0.01)) as client:
        server.wait_for("GET")
        call(client)
        eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("mcp-ref:request:")])
        assert client.connection.transport.inner.inner._pool._idle == []  # type: ignore[attr-defined]
        assert call(client) == "tools/call"


# --- Closing ----------------------------------------------------------------------------------------------------------

@pytest.mark.race
@pytest.mark.parametrize("moment", ["initialize", "notifications/initialized", "GET", "tools/call", "DELETE"])
def test_close_at_any_moment_frees_everybody(server: ScriptedHttp, moment: str) -> None:
    with Gate() as gate:
        def hold(request: Request) -> None:
            gate.hold()
            server.usual(request)

        server.on[moment] = hold
        client = Client(check_results=False)
        limits = Limits(shutdown_grace=0.2)
        using = in_thread(lambda: (client.open(StreamableHttp(server.url, limits=limits)), call(client)))
        if moment == "DELETE":
            using.get()
        else:
            gate.entered()
        client.close()
        assert client.connection.wait_closed(WAIT)
        if moment != "DELETE":
            with pytest.raises(McpError):
                using.get()
                raise ConnectionLost("it was quicker")


def test_close_during_a_connect_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    full = [socket.socket() for _ in range(4)]
    for sock in full:
        sock.setblocking(False)
        sock.connect_ex(listener.getsockname())  # from now on the next one waits
    transport = StreamableHttp("http://127.0.0.1:%d/mcp" % listener.getsockname()[1])
    opening_it = in_thread(transport.open)
    eventually(lambda: transport._cancel_scope._sock is not None)
    transport.close()
    with pytest.raises(TransportError):
        opening_it.get()
        raise ConnectFailed("the system let it in")
    for sock in [*full, listener]:
        sock.close()


def test_a_timeout_frees_the_thread_and_the_connection_of_its_request(server: ScriptedHttp) -> None:
    gone = threading.Semaphore(0)

    def hang(request: Request) -> None:
        try:
            request.wait_gone()
        finally:
            gone.release()

    server.on["tools/call"] = hang
    with quiet(server) as client:
        while len(server.seen("tools/call")) < 3:  # on a busy machine the time may be over before one is sent
            with pytest.raises(RequestTimeout):
                call(client, timeout=0.02)
        for _ in range(3):
            assert gone.acquire(timeout=WAIT)
        client.ping()


@pytest.mark.parametrize("goes_on", [False, True], ids=["silent", "without a pause"])
def test_a_stream_that_goes_on_after_its_answer_is_let_go(
        goes_on: bool, server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_ref.streamable.client.streamable._LINGER", 0.05)

    def answer(request: Request) -> None:
        request.begin_events()
        request.event(request.result(said("answer")), id="1")
        request.event(log("after all"))
        while goes_on:
            request.send(chunk(b": go on\n\n"))  # raises once the client has left
        request.wait_gone()

    server.on["tools/call"] = answer
    heard: List[Any] = []
    with quiet(server, on_log=lambda level, data, logger: heard.append(data)) as client:
        assert call(client) == "answer"
        eventually(lambda: heard == ["after all"])
        eventually(lambda: not client.connection.transport.inner.inner._posts)  # type: ignore[attr-defined]
    assert [get for get in server.seen("GET") if "last-event-id" in get.headers] == []


# --- Waiting and pieces -----------------------------------------------------------------------------------------------

def test_the_capabilities_of_a_new_session_take_the_place_of_the_old_ones(server: ScriptedHttp) -> None:
    def initialize(request: Request) -> None:
        number = len(server.seen("initialize")) - 1
        capabilities = dict(EVERYTHING, experimental={"n%d" % number: {}})
        request.answer({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": SERVER},
                       [("Mcp-Session-Id", "session-%d" % number)])

    server.on["initialize"] = initialize
    server.on["tools/call"] = lambda request: request.reply(404) if request.headers["mcp-session-id"] == "session-0" \
        else request.answer(said("new"))
    with quiet(server) as client:
        assert call(client) == "new" and client.submit_tool("x").result(WAIT).content[0].text == "new"
        assert list(client.server_capabilities["experimental"]) == ["n1"]
