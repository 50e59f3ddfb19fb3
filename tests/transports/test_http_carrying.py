"""The thread that waits for an answer carries its request: when it does, when it does not, and that nothing is lost."""
import contextlib
import pathlib
import ssl
import threading
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.deadline import Deadline
from mcp_ref.errors import AnswerLost, ConnectionLost, RequestCancelled, RequestTimeout
from mcp_ref.http11.client import connection_pool
from mcp_ref.http11.client.connect import CancelScope
from mcp_ref.http11.client.connection_pool import ConnectionPool
from mcp_ref.http11.client.connection_pool import RequestPool
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Executor
from mcp_ref.server import MainThreadQueue
from mcp_ref.streamable.client import posts
from mcp_ref.streamable.client.base import HttpChannel
from mcp_ref.streamable.client.inbox import Inbox
from mcp_ref.streamable.client.posts import Post, is_whole
from mcp_ref.streamable.client.streamable import StreamableHttp
from mcp_ref.transports.exchanges import Outgoing
from mcp_ref.wiretrace import Event, Trace
from tests.support.patience import WAIT
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import Cut, Request, ScriptedHttp, head, notification, said
from tests.support.sides import Gate, eventually, in_thread


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> "Dict[str, List[int]]":
    """Which threads saw requests of a method through, and what they got was there beforehand."""
    seen: Dict[str, List[int]] = {}
    run = HttpChannel._run_post

    def run_post(self: HttpChannel, post: Post, *begun: Any) -> Any:
        seen.setdefault(post.method, []).append(threading.get_ident())
        return run(self, post, *begun)

    monkeypatch.setattr(HttpChannel, "_run_post", run_post)
    return seen


def opened(server: ScriptedHttp, **options: Any) -> Client:
    """A client with an idle connection: that of its first call, for which one had to be made."""
    client = connect(server.url, check_results=False, **options).__enter__()
    server.wait_for("GET")
    assert call(client, "first") == "tools/call"
    return client


def channel_of(client: Client) -> HttpChannel:
    """What is inside of what finds out which transport it is, and of what watches it."""
    found: Any = client.connection.transport
    while not isinstance(found, HttpChannel):
        found = found.inner
    return found


def at_rest(channel: HttpChannel) -> bool:
    """Whether no request and no place is taken; the stream of the GET is urgent and takes none."""
    return not channel._posts and not channel._waiting and not channel._threads._busy


def call(client: Client, name: str = "it", **options: Any) -> str:
    return str(client.call_tool(name, **options).content[0].text)


@contextlib.contextmanager
def interrupted(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a Ctrl-C come where this is called; whatever is done here ends with it."""
    def interrupt(*ignored: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, interrupt)
        yield


# --- Which replies ----------------------------------------------------------------------------------------------------

PEM = str(pathlib.Path(__file__).parents[1] / "data" / "tls" / "localhost.pem")
JSON = "Content-Type: application/json"
BODY = b'{"a":1}'


def reply(*fields: str, line: str = "HTTP/1.1 200 OK", body: bytes = BODY) -> bytes:
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1") + body


@pytest.mark.parametrize("data", [
    reply(JSON, "Content-Length: 7"),
    reply("Content-Length: 7", JSON),
    reply("content-length:7", "content-type:application/json"),
    reply("CONTENT-LENGTH: 7", "Content-Type: Application/JSON"),
    reply("Server: x", JSON + "; charset=utf-8", "Date: today", "Content-Length: 7", "Mcp-Session-Id: a", "X: "),
    reply(JSON, "Content-Length: 0", body=b""),
    reply(JSON, "Content-Length: 007"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 200 "),
])
def test_a_reply_that_is_whole(data: bytes) -> None:
    assert is_whole(data)
    assert not any(is_whole(data[:end]) for end in range(len(data))) and not is_whole(data + b"x")


@pytest.mark.parametrize("data", [
    b"", b"\r\n\r\n",
    reply(JSON, "Content-Length: 7", line="HTTP/1.0 200 OK"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 100 Continue"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 202 Accepted"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 307 Elsewhere"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 404 Not Found"),
    reply(JSON, "Content-Length: 7", line="HTTP/1.1 2000 OK"),
    reply(JSON), reply("Content-Length: 7"),
    reply("Content-Type: text/event-stream", "Content-Length: 7"),
    reply("Content-Type: application/jsonl", "Content-Length: 7"),
    reply("Content-Type: text/event-stream", JSON, "Content-Length: 7"),
    reply("X: " + JSON, "Content-Length: 7"), reply(JSON, "X: Content-Length: 7"),
    reply(JSON, "Content-Length: 7", "Content-Length: 7"), reply(JSON, "Content-Length: 7", "content-length: 8"),
    reply(JSON, "Content-Length: 7", "Transfer-Encoding: chunked"),
    reply("Transfer-Encoding: chunked", JSON, "Content-Length: 7"),
    reply("Transfer-Encoding: identity", "Content-Length: 7", JSON),
    reply(JSON, "Content-Length : 7"), reply(JSON, "Content-Length: 7 "), reply(JSON, "Content-Length: +7"),
    reply(JSON, "Content-Length: 7,7"), reply(JSON, "Content-Length: 0x7"), reply(JSON, "Content-Length: \xb7"),
    reply(JSON, "Content-Length:  7"), reply(JSON, "Content-Length: 7", " folded"),
    reply(JSON, "Content-Length:", " 7"),
    reply(JSON, "Content-Length: 7").replace(b"\r\n", b"\n"), reply(JSON, "Content-Length: 6"),
    reply(JSON, "Content-Length: 8"), reply(JSON, "Content-Length: 9999999999"),
])
def test_a_reply_that_is_left_to_the_crew(data: bytes) -> None:
    assert not is_whole(data)


@pytest.mark.parametrize("line", [
    "Transfer-Encoding : chunked", "\x0bTransfer-Encoding: chunked", "\xa0Transfer-Encoding: chunked",
    "Transfer-Encoding\x1f: chunked", "Content-Type : text/event-stream;", "\x0cContent-Type: text/event-stream;",
    "Content-Length : 8", ": x", "no colon", "",
])
def test_a_name_that_is_none_is_left_to_the_crew(line: str) -> None:
    assert not is_whole(reply(line, JSON, "Content-Length: 7")) and not is_whole(reply(JSON, "Content-Length: 7", line))


# --- Who carries ------------------------------------------------------------------------------------------------------

def test_a_small_call_is_carried_by_the_thread_that_waits_for_it(
        server: ScriptedHttp, threads: "Dict[str, List[int]]") -> None:
    with opened(server) as client:
        threads["tools/call"].clear()
        assert [call(client) for _ in range(3)] == ["tools/call"] * 3
        assert threads["tools/call"] == [threading.get_ident()] * 3
        assert threading.get_ident() not in threads["initialize"]
        eventually(lambda: at_rest(channel_of(client)))


def stream(request: Request) -> None:
    request.begin_events()
    request.event(request.result(said("streamed")))
    request.end_events()


@pytest.mark.parametrize("answer, arguments, text", [
    (stream, {}, "streamed"),
    (lambda request: request.answer(said("x" * 70_000)), {}, "x" * 70_000),
    (lambda request: request.answer(said("long")), {"a": "x" * 20_000}, "long"),
], ids=["a stream", "a large answer", "a large request"])
def test_what_may_take_longer_is_left_to_the_crew(
        server: ScriptedHttp, threads: "Dict[str, List[int]]", answer: Callable[[Request], None],
        arguments: Dict[str, Any], text: str) -> None:
    with opened(server) as client:
        threads.clear()
        server.on["tools/call"] = answer
        assert call(client, arguments=arguments) == text
        assert threading.get_ident() not in threads["tools/call"]
        eventually(lambda: at_rest(channel_of(client)))


def test_progress_is_told_while_a_call_is_waited_for(server: ScriptedHttp, threads: "Dict[str, List[int]]") -> None:
    told: List[float] = []

    def answer(request: Request) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        request.begin_events()
        request.event(notification("notifications/progress", progressToken=token, progress=1))
        eventually(lambda: told)
        request.event(request.result(said("streamed")))
        request.end_events()

    with opened(server) as client:
        threads.clear()
        server.on["tools/call"] = answer
        assert call(client, progress=lambda value, total, text: told.append(value)) == "streamed"
        assert threading.get_ident() not in threads["tools/call"] and told == [1]


def test_over_tls_the_crew_does_it(threads: "Dict[str, List[int]]") -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    with ScriptedHttp(tls=context) as server, opened(server, cafile=PEM) as client:
        assert [call(client) for _ in range(3)] == ["tools/call"] * 3
        assert threading.get_ident() not in threads["tools/call"] and len(threads["tools/call"]) == 4


@pytest.mark.sends_illegal("jsonrpc.request-id-unique-session", "schema.params", why="messages by hand")
def test_what_comes_with_more_than_an_answer_is_left_to_the_crew(server: ScriptedHttp) -> None:
    def sent_here(method: str) -> bool:
        message = Outgoing(b'{"jsonrpc":"2.0","id":77,"method":"%b"}' % method.encode(), 77, method)
        return channel_of(client).send_and_wait(message, Deadline(PATIENCE), lambda data: True)

    with opened(server) as client:
        assert [sent_here(method) for method in ("tools/call", "ping", "initialize", "subscriptions/listen")] == [
            True, True, False, False]
        assert [len(server.seen(method)) for method in ("ping", "initialize", "subscriptions/listen")] == [1, 1, 0]


@pytest.mark.race
def test_a_thread_that_has_other_work_while_it_waits_does_that(server: ScriptedHttp) -> None:
    """The server asks in the middle of a call, and only this thread may answer."""
    def listen(request: Request) -> None:
        server.on["GET"] = lambda request: request.reply(405)
        request.begin_events()
        asked.hold()
        request.event({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        server.wait_for("response")
        request.end_events()

    def answer(request: Request) -> None:
        asked.open()
        server.wait_for("response")
        request.answer(said("done"))

    server.on["GET"] = listen
    queue = MainThreadQueue()
    queue.pump()  # so it is this thread
    with contextlib.closing(queue), Gate() as asked, opened(server, executor=queue, roots=["/"]) as client:
        server.on["tools/call"] = answer
        assert call(client) == "done" and "result" in server.seen("response")[0].message


def test_a_large_body_is_not_copied_to_be_sent_and_a_small_one_goes_with_its_head() -> None:
    class Noting:
        def __init__(self) -> None:
            self.pieces: List[bytes] = []

        def sendall(self, data: bytes) -> None:
            self.pieces.append(data)

    pool: Any = ConnectionPool.__new__(ConnectionPool)
    for size, whole in ((0, True), (10, True), (65536, True), (65537, False), (1000000, False)):
        sock, body = Noting(), b"x" * size
        pool._write(sock, b"head", body)
        assert b"".join(sock.pieces) == b"head" + body and (len(sock.pieces) == 1) is whole
        assert whole or sock.pieces[1] is body


@pytest.mark.race
def test_progress_on_the_stream_of_the_server_is_told_while_a_call_is_waited_for(server: ScriptedHttp) -> None:
    told: List[float] = []
    token: List[Any] = []
    asked, over = Gate(), Gate()

    def listen(request: Request) -> None:
        request.begin_events()
        asked.hold()
        request.event(notification("notifications/progress", progressToken=token[0], progress=1))
        over.hold()
        request.end_events()

    def answer(request: Request) -> None:
        meta = request.message["params"].get("_meta", {})
        if "progressToken" in meta:
            token.append(meta["progressToken"])
            asked.open()
            eventually(lambda: told)
        request.answer(said("done"))

    server.on["GET"] = listen
    with opened(server) as client, asked, over:
        server.on["tools/call"] = answer
        assert call(client, progress=lambda value, total, text: told.append(value)) == "done" and told == [1]
        over.open()


@pytest.mark.parametrize("cut", [False, True])
def test_a_reply_in_two_parts_at_any_byte(server: ScriptedHttp, cut: bool) -> None:
    """The second part comes when the client has seen the first, or is given up."""
    whole: List[bytes] = []

    def answer(request: Request) -> None:
        body = request.result(said("parts"))
        data = head(200, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]) + body
        whole.append(data)
        place = int(request.message["params"]["name"]) % len(data)
        request.send(data[:place])
        if cut:
            request.cut()
        request.send(data[place:])

    with opened(server) as client:
        server.on["tools/call"] = answer
        for place in range(0, 150, 7):
            if cut:
                with pytest.raises((AnswerLost, ConnectionLost)):
                    call(client, str(place))
            else:
                assert call(client, str(place)) == "parts"
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.parametrize("body", [
    b"[]", b"null", b'"x"', b"{", b"\xff", b'{"jsonrpc":"2.0","id":%d}', b'{"jsonrpc":"2.0","id":%d,"result":[]}',
    b'{"jsonrpc":"2.0","id":7777,"result":{"content":[]}}', b'{"jsonrpc":"2.0","id":"%d","result":{"content":[]}}',
    b'{"jsonrpc":"2.0","id":%d,"meth\\u006fd":"ping"}', b'{"jsonrpc":"2.0","method":"notifications/x"}',
    b'{"jsonrpc":"1.0","id":%d,"result":{"content":[]}}', b'[{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}]', b"",
])
def test_a_body_that_is_no_answer_fails_the_call_at_once(
        server: ScriptedHttp, threads: "Dict[str, List[int]]", body: bytes) -> None:
    with opened(server) as client:
        threads.clear()
        server.on["tools/call"] = lambda request: request.reply(
            200, body.replace(b"%d", b"%d" % request.message["id"]) or b" ")
        with pytest.raises(Exception) as caught:
            client.call_tool("it", timeout=60)
        assert not isinstance(caught.value, RequestTimeout)
        assert threads["tools/call"] == [threading.get_ident()]
        del server.on["tools/call"]
        assert call(client) == "tools/call"
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.parametrize("body", [
    b'{"jsonrpc":"2.0","id":%d,"method":"ping"}',  # a request with this very id
    b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"_meta":{"a b/":1}}}',
])
def test_what_has_its_id_and_is_no_answer_fails_the_call_at_once(server: ScriptedHttp, body: bytes) -> None:
    with opened(server, strict=True) as client:
        server.on["tools/call"] = lambda request: request.reply(200, body.replace(b"%d", b"%d" % request.message["id"]))
        with pytest.raises(Exception) as caught:
            client.call_tool("it", timeout=60)
        assert "malformed" in str(caught.value) or "holds no response" in str(caught.value), caught.value
        assert channel_of(client).counters() == {}
        eventually(lambda: at_rest(channel_of(client)))


def test_an_answer_does_not_overtake_what_nobody_has_read(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: List[bytes] = []
    put = Inbox.put
    monkeypatch.setattr(Inbox, "put", lambda self, *items: (taken.extend(items), put(self, *items))[1])
    with opened(server) as client:
        eventually(lambda: channel_of(client)._inbox.quiet)
        taken.clear()
        assert call(client) == "tools/call" and taken == []
        monkeypatch.setattr(Inbox, "quiet", False)
        assert call(client) == "tools/call" and len(taken) == 2  # and what fails it should it be none


@pytest.mark.parametrize("text", ["", "x" * 20_000], ids=["sent here", "left to the pool"])
def test_a_trace_sees_it_once_and_in_order(server: ScriptedHttp, text: str) -> None:
    events: List[Event] = []
    with opened(server, trace=Trace(events.append)) as client:
        events.clear()
        call(client, arguments={"a": text})
        assert [(event.direction, set(event.message) - {"jsonrpc", "id"}) for event in events if event.message] == [
            ("client", {"method", "params"}), ("server", {"result"})]


# --- Giving up --------------------------------------------------------------------------------------------------------

@pytest.mark.race
def test_time_is_over_although_nothing_comes(server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posts, "_SLICE", 0.002)
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with pytest.raises(RequestTimeout):
            client.call_tool("it", timeout=0.01)
        assert server.wait_for("notifications/cancelled").message["params"]["requestId"] is not None
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.race
@pytest.mark.parametrize("line, body", [
    ("Transfer-Encoding : chunked", b"5\r\n"),
    ("Content-Type : text/event-stream;", b"id: 1\nretry: 3600000\ndata:\n\n"),
], ids=["chunks that do not come", "a stream that is resumed in an hour"])
def test_time_is_over_whatever_the_head_says(server: ScriptedHttp, line: str, body: bytes) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = lambda request: (request.send(reply(line, JSON, "Content-Length: %d" % len(body),
                                                                      body=body)), gate.hold())[1]
        waiting = in_thread(client.call_tool, "it", timeout=0.05)
        gate.entered()
        with pytest.raises(RequestTimeout):
            waiting.get(WAIT)


@pytest.mark.race
def test_time_is_over_although_the_server_reads_nothing(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers requests that it has not read, whose ids are easily guessed, until what is sent has no room."""
    sent = threading.Semaphore(0)
    begin = ConnectionPool.begin

    def begun(*arguments: Any) -> Any:
        found = begin(*arguments)
        sent.release()
        return found

    def answer(request: Request) -> None:
        id = request.message["id"]
        server.on["tools/call"] = lambda request: over.wait(PATIENCE)  # over another connection there is none
        while not over.is_set():
            assert sent.acquire(timeout=PATIENCE)
            body = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"x"}]}}' % id
            request.send(reply(JSON, "Content-Length: %d" % len(body), body=body))
            id += 1
        raise Cut()

    def calls() -> None:
        for _ in range(2000):
            client.call_tool("it", {"a": "x" * 15_000}, timeout=0.2)

    over = threading.Event()
    with opened(server) as client:
        server.on["tools/call"] = answer
        monkeypatch.setattr(ConnectionPool, "begin", begun)
        waiting = in_thread(calls)
        try:
            with pytest.raises(RequestTimeout):
                waiting.get()
        finally:
            over.set()
            sent.release()


@pytest.mark.race
def test_time_is_over_although_there_is_no_room_for_what_came(server: ScriptedHttp) -> None:
    with opened(server) as client:
        channel = channel_of(client)
        inbox = Inbox(1)  # nobody reads it
        inbox.put(b"xx")
        used, channel._inbox = channel._inbox, inbox
        try:
            waiting = in_thread(client.call_tool, "it", timeout=0.05)
            with pytest.raises(RequestTimeout):
                waiting.get(WAIT)
        finally:
            channel._inbox = used
            inbox.end(drop=True)


def test_it_waits_in_slices_and_never_longer_than_there_is_time(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: List[float] = []
    wait = posts.wait_ready

    def waited(sock: Any, seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) % 3 == 0 and wait(sock, seconds)  # two slices pass, and it waits on

    with opened(server) as client:
        monkeypatch.setattr(posts, "wait_ready", waited)
        assert call(client, timeout=60) == "tools/call" and waits == [posts._SLICE] * 3  # no less, no more
        waits.clear()
        assert call(client, timeout=0.4) == "tools/call" and 0 < max(waits) <= 0.4
        waits.clear()
        assert call(client, timeout=None) == "tools/call" and waits == [posts._SLICE] * 3


@pytest.mark.race
@pytest.mark.parametrize("how", ["cancel", "close"])
def test_another_thread_ends_it(server: ScriptedHttp, how: str) -> None:
    with Gate() as gate:
        client = opened(server)
        server.on["tools/call"] = gate.hold
        with client:
            waiting = in_thread(call, client)
            gate.entered()
            if how == "close":
                client.close()
            else:
                pending = next(iter(client.connection.table._pending.values()))
                client.connection.cancel(pending, "not needed any more")
            with pytest.raises(RequestCancelled if how == "cancel" else ConnectionLost):
                waiting.get()
            eventually(lambda: at_rest(channel_of(client)))


def test_an_interrupt_while_it_waits_loses_nothing_but_the_call(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with interrupted(posts, "wait_ready", monkeypatch):
            client.call_tool("it")
        server.wait_for("notifications/cancelled")
        eventually(lambda: at_rest(channel_of(client)))
        del server.on["tools/call"]
        gate.open()
        assert call(client) == "tools/call"


def test_an_interrupt_before_it_is_carried_costs_no_place(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(server, limits=Limits(max_http_requests=1)) as client:
        with interrupted(Executor, "wait_hook", monkeypatch):
            call(client)
        assert client.connection.table.empty
        assert call(client, timeout=WAIT) == "tools/call"
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.race
def test_a_call_of_the_same_thread_in_between_loses_nothing(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a handler of a signal makes it, or a finalizer."""
    hook = Executor.wait_hook
    inner: List[str] = []

    def entered(self: Executor) -> Any:
        monkeypatch.setattr(Executor, "wait_hook", hook)
        inner.append(call(client, "inner", timeout=WAIT))
        return hook(self)

    with opened(server) as client:
        monkeypatch.setattr(Executor, "wait_hook", entered)
        assert call(client, "outer", timeout=WAIT) == "tools/call" and inner == ["tools/call"]
        eventually(lambda: at_rest(channel_of(client)))


@pytest.mark.race
def test_an_interrupt_just_after_it_was_sent_does_not_send_it_again(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ConnectionPool.begin
    begun: List[Any] = []

    def interrupted(self: ConnectionPool, *arguments: Any) -> Any:
        begun.append(begin(self, *arguments))
        raise KeyboardInterrupt

    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        connection = client.connection
        withdraw, ran = connection._withdraw, threading.Event()
        run = HttpChannel._run_post

        def ran_post(self: HttpChannel, *arguments: Any) -> None:
            run(self, *arguments)
            ran.set()

        def withdrawn(*arguments: Any) -> bool:
            ran.wait(PATIENCE)  # the pool is quicker than this thread
            return withdraw(*arguments)

        monkeypatch.setattr(connection, "_withdraw", withdrawn)
        monkeypatch.setattr(HttpChannel, "_run_post", ran_post)
        with monkeypatch.context() as patch:
            patch.setattr(ConnectionPool, "begin", interrupted)
            with pytest.raises(KeyboardInterrupt):
                call(client, "once")
        gate.open()
        names = [request.message["params"]["name"] for request in server.seen("tools/call")]
        begun[0].link.sock.close()
        assert names.count("once") <= 1, names


# --- The end of the connection ----------------------------------------------------------------------------------------

@pytest.mark.race
def test_what_is_said_to_be_unsent_is_not_sent(server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, letting = Gate(), Gate()
    cancel, ids = CancelScope.cancel, []
    send_and_wait = StreamableHttp.send_and_wait

    def sent(self: StreamableHttp, message: Outgoing, *arguments: Any) -> bool:
        ids.append(message.id)
        taken.hold()
        return send_and_wait(self, message, *arguments)

    def let(self: CancelScope) -> None:
        letting.hold()
        cancel(self)

    with opened(server) as client, taken, letting:
        channel = channel_of(client)
        before = len(server.seen("tools/call"))
        monkeypatch.setattr(StreamableHttp, "send_and_wait", sent)
        waiting = in_thread(call, client)
        taken.entered()
        monkeypatch.setattr(CancelScope, "cancel", let)
        ending = in_thread(channel._end, "over")
        letting.entered()
        assert ids and channel.unsent(ids[0])
        taken.open()
        with pytest.raises(Exception):
            waiting.get()
        letting.open()
        ending.get()
        assert len(server.seen("tools/call")) == before


@pytest.mark.race
def test_what_was_sent_when_the_connection_ended_is_not_said_to_be_unsent(server: ScriptedHttp) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        channel = channel_of(client)
        waiting = in_thread(call, client)
        gate.entered()
        id, = channel._posts
        channel._end("over")
        assert not channel.unsent(id) and channel.unsent(id + 1)
        with pytest.raises(ConnectionLost):
            waiting.get()


@pytest.mark.race
@pytest.mark.parametrize("quiet", [True, False], ids=["carried", "read"])
def test_what_was_answered_as_the_connection_ended_is_not_said_to_be_unsent(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    ids: List[Any] = []
    put = Inbox.put

    def slow(self: Inbox, *items: Any) -> Any:
        if ids:
            gate.hold()
        return put(self, *items)

    with opened(server) as client, Gate() as gate:
        channel = channel_of(client)
        monkeypatch.setattr(Inbox, "quiet", False)
        if not quiet:
            server.on["tools/call"] = lambda request: request.answer(said("x" * 70_000))
        monkeypatch.setattr(Inbox, "put", slow)
        run_post = channel._run_post
        monkeypatch.setattr(channel, "_run_post", lambda post, *rest: (ids.append(post.id), run_post(post, *rest))[1])
        waiting = in_thread(call, client)
        gate.entered()
        channel._end("over")
        assert not channel.unsent(ids[0])
        gate.open()
        with pytest.raises(Exception) as caught:
            waiting.get()
        assert not getattr(caught.value, "unsent", False)


@pytest.mark.race
def test_two_requests_under_way_are_redirected_to_the_same_place(server: ScriptedHttp) -> None:
    first, second = Gate(), Gate()
    with opened(server) as client, first, second:
        def answer(request: Request) -> None:
            if request.target == "/new":
                request.answer(said("new"))
                return
            (first if request.message["params"]["name"] == "first" else second).hold()
            request.reply(308, headers=[("Location", "/new")])

        server.on["tools/call"] = answer
        one = in_thread(call, client, "first")
        first.entered()
        two = in_thread(call, client, "second")
        second.entered()
        second.open()
        assert two.get() == "new"
        first.open()
        assert one.get() == "new"


# --- The pool ---------------------------------------------------------------------------------------------------------

@pytest.mark.race
def test_no_more_requests_at_a_time_than_the_limit_says(server: ScriptedHttp) -> None:
    with Gate() as gate:
        def answer(request: Request) -> None:
            gate.hold()
            request.answer(said("done"))

        with opened(server, limits=Limits(max_http_requests=2)) as client:
            server.on["tools/call"] = answer
            calls = [in_thread(call, client) for _ in range(5)]
            gate.entered(2)
            eventually(lambda: len(channel_of(client)._threads._later) == 3)
            assert not gate.passed() and len(server.seen("tools/call")) == 3  # and the first
            gate.open()
            assert [each.get() for each in calls] == ["done"] * 5
            eventually(lambda: at_rest(channel_of(client)))


def test_a_place_is_given_to_who_waits_for_one_and_its_rest_is_done() -> None:
    pool = RequestPool("test", 1, lambda: None)
    done = threading.Semaphore(0)
    order: List[str] = []

    def job(name: str) -> Callable[[], None]:
        return lambda: (order.append(name), done.release())[1]

    try:
        assert pool.acquire_slot() and not pool.acquire_slot()
        assert pool.submit(job("waits"))
        pool.release_slot(job("rest"))
        assert done.acquire(timeout=PATIENCE) and done.acquire(timeout=PATIENCE)
        assert order == ["rest", "waits"]
        eventually(lambda: not pool._busy)
        assert pool.acquire_slot() and pool.submit(job("waits too"))
        pool.release_slot()
        assert done.acquire(timeout=PATIENCE) and order[-1] == "waits too"
        eventually(lambda: not pool._busy)
    finally:
        pool.close()
    assert not pool.acquire_slot()


def test_a_job_that_was_taken_while_no_thread_could_be_started_is_left_to_who_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = RequestPool("test", 1, lambda: None)

    def taken(count: int) -> None:
        pool._jobs.popleft()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_awaken", taken)
    assert pool.acquire_slot()
    pool.release_slot(lambda: None)
    assert pool._busy == 1 and not pool._later, "its place is given back by the thread that has the job"


def test_a_timeout_that_is_no_number_costs_no_place(server: ScriptedHttp) -> None:
    with opened(server, limits=Limits(max_http_requests=1)) as client:
        with pytest.raises(TypeError):
            client.call_tool("it", timeout="5")  # type: ignore[arg-type]
        assert call(client, timeout=WAIT) == "tools/call"
        eventually(lambda: at_rest(channel_of(client)))


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_job_that_waits_is_not_lost_where_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = RequestPool("test", 1, lambda: None)
    done = threading.Semaphore(0)
    try:
        assert pool.acquire_slot() and pool.submit(lambda: (done.release(), None)[1])
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_thread)
            pool.release_slot()  # whose own job is done: nothing to complain of
        pool.submit(lambda: (done.release(), None)[1])
        assert done.acquire(timeout=WAIT) and done.acquire(timeout=WAIT)
    finally:
        pool.close()


def test_of_those_that_rest_one_stays_while_others_do_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "REQUEST_IDLE", 0.02)
    rested: List[float] = []
    pool = RequestPool("test", 4, lambda: rested.append(time.monotonic()))
    try:
        with Gate() as gate:
            assert all([pool.submit(gate.hold) for _ in range(3)])
            gate.entered(3)
            assert pool.acquire_slot()
            pool.release_slot()
            last = pool._left = pool._left + 0.1  # as if another one had just been done then
        eventually(lambda: len(pool._idle) == 1 or rested)
        eventually(lambda: rested)
        assert len(rested) == 1 and rested[0] >= last + connection_pool.REQUEST_IDLE and not pool._idle
    finally:
        pool.close()


@pytest.mark.parametrize("possible", [True, False], ids=["", "no thread left"])
def test_somebody_says_that_they_rest_if_nobody_of_the_crew_has_done_anything(
        monkeypatch: pytest.MonkeyPatch, possible: bool) -> None:
    monkeypatch.setattr(connection_pool, "REQUEST_IDLE", 0.01)
    resting = threading.Event()
    pool = RequestPool("test", 1, resting.set)
    if not possible:
        monkeypatch.setattr(threading.Thread, "start", no_thread)
    try:
        assert pool.acquire_slot()
        pool.release_slot()
        assert resting.wait(PATIENCE if possible else 0.05) is possible and not pool._busy
    finally:
        pool.close()
