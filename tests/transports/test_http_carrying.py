"""The thread that waits for an answer carries its request: when it does, when it does not, and that nothing is lost."""
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import AnswerLost, ConnectionLost, RequestCancelled, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.transports import http_carrying, http_crew
from mcp_ref.transports.http_carrying import is_whole
from mcp_ref.transports.http_channel import HttpChannel, Post
from mcp_ref.transports.http_crew import Crew
from mcp_ref.transports.http_inbox import Inbox
from mcp_ref.wiretrace import Event, Trace
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import Request, ScriptedHttp, head, notification
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

    def run_post(self: HttpChannel, post: Post, *begun: Any) -> None:
        seen.setdefault(post.method, []).append(threading.get_ident())
        run(self, post, *begun)

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
    return not channel._posts and not channel._waiting and not channel._crew._busy


def call(client: Client, name: str = "it", **options: Any) -> str:
    return str(client.call_tool(name, **options).content[0].text)


def said(text: str) -> Dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


# --- Which replies ----------------------------------------------------------------------------------------------------

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


def test_a_trace_sees_it_once_and_in_order(server: ScriptedHttp) -> None:
    events: List[Event] = []
    with opened(server, trace=Trace(events.append)) as client:
        events.clear()
        call(client)
        assert [(event.direction, set(event.message) - {"jsonrpc", "id"}) for event in events] == [
            ("client", {"method", "params"}), ("server", {"result"})]


# --- Giving up --------------------------------------------------------------------------------------------------------

@pytest.mark.race
def test_time_is_over_although_nothing_comes(server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_carrying, "_SLICE", 0.002)
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with pytest.raises(RequestTimeout):
            client.call_tool("it", timeout=0.01)
        assert server.wait_for("notifications/cancelled").message["params"]["requestId"] is not None
        eventually(lambda: at_rest(channel_of(client)))


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
    def interrupted(*ignored: Any) -> bool:
        raise KeyboardInterrupt

    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with monkeypatch.context() as patch:
            patch.setattr(http_carrying, "wait_readable", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.call_tool("it")
        server.wait_for("notifications/cancelled")
        eventually(lambda: at_rest(channel_of(client)))
        del server.on["tools/call"]
        gate.open()
        assert call(client) == "tools/call"


# --- The crew ---------------------------------------------------------------------------------------------------------

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
            eventually(lambda: len(channel_of(client)._crew._waiting) == 3)
            assert not gate.passed() and len(server.seen("tools/call")) == 3  # and the first
            gate.open()
            assert [each.get() for each in calls] == ["done"] * 5
            eventually(lambda: at_rest(channel_of(client)))


def test_a_place_is_given_to_who_waits_for_one_and_its_rest_is_done() -> None:
    crew = Crew("test", 1, lambda: None)
    done = threading.Semaphore(0)
    order: List[str] = []

    def job(name: str) -> Callable[[], None]:
        return lambda: (order.append(name), done.release())[1]

    try:
        assert crew.take_place() and not crew.take_place()
        assert crew.submit(job("waits"))
        crew.leave_place(job("rest"))
        assert done.acquire(timeout=PATIENCE) and done.acquire(timeout=PATIENCE)
        assert order == ["rest", "waits"]
        eventually(lambda: not crew._busy)
        assert crew.take_place() and crew.submit(job("waits too"))
        crew.leave_place()
        assert done.acquire(timeout=PATIENCE) and order[-1] == "waits too"
        eventually(lambda: not crew._busy)
    finally:
        crew.close()
    assert not crew.take_place()


@pytest.mark.parametrize("possible", [True, False], ids=["", "no thread left"])
def test_somebody_says_that_they_rest_if_nobody_of_the_crew_has_done_anything(
        monkeypatch: pytest.MonkeyPatch, possible: bool) -> None:
    monkeypatch.setattr(http_crew, "IDLE", 0.01)
    resting = threading.Event()
    crew = Crew("test", 1, resting.set)
    if not possible:
        monkeypatch.setattr(threading.Thread, "start", no_thread)
    try:
        assert crew.take_place()
        crew.leave_place()
        assert resting.wait(PATIENCE if possible else 0.05) is possible and not crew._busy
    finally:
        crew.close()


def no_thread(self: Optional[threading.Thread]) -> None:
    raise RuntimeError("can't start new thread")
