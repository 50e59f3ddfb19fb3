"""A call over HTTP is sent and answered on the thread that waits for it, where nothing can keep that thread too long.

Which thread it was, a trace tells: it is told of a message by the thread that has it. What may not depend on that is
tested both ways, with a short request and with a long one, which another thread always sends.
"""
import contextlib
import pathlib
import ssl
import threading
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import AnswerLost, ConnectionLost, McpError, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.server import MainThreadQueue
from mcp_ref.wiretrace import Event, Trace
from tests.support.patience import WAIT
from tests.support.scripted_http import Request, ScriptedHttp, notification, said
from tests.support.sides import Gate, eventually, in_thread

LONG = {"a": "x" * 20_000}
"""Arguments of a call that another thread sends."""
ONE = Limits(max_http_requests=1)
"""Under which a place that is not given back is missed by the next call."""


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


class Threads:
    """The threads that had the answers, for a trace."""

    def __init__(self) -> None:
        self.seen: List[int] = []
        self.trace = Trace(self._note)

    def _note(self, event: Event) -> None:
        if event.direction == "server" and isinstance(event.message, dict) and "result" in event.message:
            self.seen.append(threading.get_ident())

    def here(self) -> List[bool]:
        """For each answer since the last time, whether it was this thread."""
        seen, self.seen = self.seen, []
        return [thread == threading.get_ident() for thread in seen]


def opened(server: ScriptedHttp, **options: Any) -> Client:
    """A client with an idle connection: that of its first call, for which one had to be made."""
    client = connect(server.url, check_results=False, **options).__enter__()
    server.wait_for("GET")
    assert call(client, "first") == "tools/call"
    return client


def call(client: Client, name: str = "it", **options: Any) -> str:
    return str(client.call_tool(name, **options).content[0].text)


def goes_on(server: ScriptedHttp, client: Client) -> None:
    """The next call has a place and an answer of its own."""
    server.on.pop("tools/call", None)
    assert call(client, timeout=WAIT) == "tools/call"


# --- Which replies ----------------------------------------------------------------------------------------------------

PEM = str(pathlib.Path(__file__).parents[1] / "data" / "tls" / "localhost.pem")
JSON = "Content-Type: application/json"
LENGTH = "Content-Length: %d"
SSE = "Content-Type: text/event-stream"


def reply(*fields: str, line: str = "HTTP/1.1 200 OK", body: bytes = b"", more: bytes = b"") -> bytes:
    """A reply with this body, of whose length `LENGTH` is the header field."""
    head = "\r\n".join([line, *fields, "", ""]).replace("%d", "%d" % len(body))
    return head.encode("latin-1") + body + more


def sends(*fields: str, line: str = "HTTP/1.1 200 OK", more: bytes = b"", cut: bool = False,
          ) -> Callable[[Request], None]:
    """A handler that answers with such a reply. ``cut``: and ends the connection."""
    def answer(request: Request) -> None:
        request.send(reply(*fields, line=line, body=request.result(said("it")), more=more))
        if cut:
            request.cut()

    return answer


SIMPLE: Dict[str, Callable[[Request], None]] = {
    "the usual": sends(JSON, LENGTH),
    "the other way round": sends(LENGTH, JSON),
    "no spaces": sends("content-length:%d", "content-type:application/json"),
    "other letters": sends("CONTENT-LENGTH: %d", "Content-Type: Application/JSON"),
    "fields around": sends("Server: x", JSON + "; charset=utf-8", "Date: today", LENGTH, "Mcp-Session-Id: a", "X: "),
    "no reason": sends(JSON, LENGTH, line="HTTP/1.1 200 "),
    "zeros before": sends(JSON, "Content-Length: 00%d"),
}
"""Replies that the waiting thread reads."""
ODD: Dict[str, Tuple[Callable[[Request], None], bool]] = {
    "HTTP/1.0": (sends(JSON, LENGTH, line="HTTP/1.0 200 OK"), True),
    "until the end": (sends(JSON, cut=True), True),
    "another type in a value": (sends("X: " + JSON, LENGTH), False),
    "202": (sends(JSON, LENGTH, line="HTTP/1.1 202 Accepted"), True),
    "no name": (sends(": x", JSON, LENGTH), True),
    "no colon": (sends("no colon", JSON, LENGTH), True),
    "a space behind": (sends(JSON, "Content-Length: %d "), True),
    "two spaces": (sends(JSON, "Content-Length:  %d"), True),
    "a body that was not asked for behind": (sends(JSON, LENGTH, more=b"x"), True),
    "404": (sends(JSON, LENGTH, line="HTTP/1.1 404 Not Found"), False),
    "a status of four digits": (sends(JSON, LENGTH, line="HTTP/1.1 2000 OK"), False),
    "no type": (sends(LENGTH), False),
    "a stream that is none": (sends(SSE, LENGTH), False),
    "jsonl": (sends("Content-Type: application/jsonl", LENGTH), False),
    "two lengths": (sends(JSON, LENGTH, "Content-Length: 8", cut=True), False),
    "a coding and a length": (sends(JSON, LENGTH, "Transfer-Encoding: chunked", cut=True), False),
    "a coding before": (sends("Transfer-Encoding: chunked", JSON, LENGTH, cut=True), False),
    "another coding": (sends("Transfer-Encoding: identity", LENGTH, JSON, cut=True), False),
    "a signed length": (sends(JSON, "Content-Length: +%d", cut=True), False),
    "a list of lengths": (sends(JSON, "Content-Length: %d,8", cut=True), False),
    "a length with 0x": (sends(JSON, "Content-Length: 0x%d", cut=True), False),
    "a length in other digits": (sends(JSON, "Content-Length: \xb7", cut=True), False),
    "a length that is too long": (sends(JSON, "Content-Length: 9999999", cut=True), False),
    "a length that is too short": (sends(JSON, "Content-Length: 6", cut=True), False),
    "a name with a space": (sends("Content-Type : text/event-stream;", JSON, LENGTH), False),
    "a coding with a space": (sends("Transfer-Encoding : chunked", JSON, LENGTH, cut=True), False),
    "a coding with a tab": (sends("\x0bTransfer-Encoding: chunked", JSON, LENGTH, cut=True), False),
}
"""Replies that another thread reads, and whether each is an answer."""


@pytest.mark.parametrize("name", sorted(SIMPLE))
def test_a_simple_reply_is_read_by_the_thread_that_waits(server: ScriptedHttp, name: str) -> None:
    threads = Threads()
    with opened(server, trace=threads.trace, limits=ONE) as client:
        threads.here()
        server.on["tools/call"] = SIMPLE[name]
        for _ in range(50):  # a connection is idle a moment after the answer that came by it
            assert call(client) == "it"
            if threads.here() == [True]:
                break
        else:
            raise AssertionError("another thread read all of them")
        goes_on(server, client)


@pytest.mark.parametrize("name", sorted(ODD))
def test_an_odd_reply_is_the_same_to_whoever_reads_it(server: ScriptedHttp, name: str) -> None:
    threads = Threads()
    answer, whole = ODD[name]
    with opened(server, trace=threads.trace, limits=ONE) as client:
        threads.here()
        found = []
        for arguments in ({}, LONG):
            server.on["tools/call"] = answer
            try:
                found.append(call(client, arguments=arguments, timeout=WAIT))
            except RequestTimeout:
                raise
            except McpError as error:
                found.append(type(error).__name__)
            assert not any(threads.here())
            goes_on(server, client)
            threads.here()
        assert found[0] == found[1] and (found[0] == "it") is whole, found


# --- Who carries ------------------------------------------------------------------------------------------------------

def stream(request: Request) -> None:
    request.begin_events()
    request.event(request.result(said("streamed")))
    request.end_events()


@pytest.mark.parametrize("answer, arguments, text", [
    (stream, {}, "streamed"),
    (lambda request: request.answer(said("x" * 70_000)), {}, "x" * 70_000),
    (lambda request: request.answer(said("long")), LONG, "long"),
], ids=["a stream", "a large answer", "a large request"])
def test_what_may_take_longer_is_left_to_another_thread(
        server: ScriptedHttp, answer: Callable[[Request], None], arguments: Dict[str, Any], text: str) -> None:
    threads = Threads()
    with opened(server, trace=threads.trace, limits=ONE) as client:
        threads.here()
        server.on["tools/call"] = answer
        assert call(client, arguments=arguments) == text and threads.here() == [False]
        goes_on(server, client)


def test_progress_is_told_while_a_call_is_waited_for(server: ScriptedHttp) -> None:
    told: List[float] = []

    def answer(request: Request) -> None:
        token = request.message["params"]["_meta"]["progressToken"]
        request.begin_events()
        request.event(notification("notifications/progress", progressToken=token, progress=1))
        eventually(lambda: told)
        request.event(request.result(said("streamed")))
        request.end_events()

    with opened(server) as client:
        server.on["tools/call"] = answer
        assert call(client, progress=lambda value, total, text: told.append(value)) == "streamed" and told == [1]


def test_over_tls_another_thread_does_it() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    threads = Threads()
    with ScriptedHttp(tls=context) as server, opened(server, cafile=PEM, trace=threads.trace) as client:
        assert [call(client) for _ in range(3)] == ["tools/call"] * 3
        assert not any(threads.here())


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
    def answer(request: Request) -> None:
        data = reply(JSON, LENGTH, body=request.result(said("parts")))
        place = int(request.message["params"]["name"]) % len(data)
        request.send(data[:place])
        if cut:
            request.cut()
        request.send(data[place:])

    with opened(server, limits=ONE) as client:
        for place in range(0, 150, 7):
            server.on["tools/call"] = answer
            if cut:
                with pytest.raises((AnswerLost, ConnectionLost)):
                    call(client, str(place))
            else:
                assert call(client, str(place)) == "parts"
        goes_on(server, client)


@pytest.mark.parametrize("body", [
    b"[]", b"null", b'"x"', b"{", b"\xff", b'{"jsonrpc":"2.0","id":%d}', b'{"jsonrpc":"2.0","id":%d,"result":[]}',
    b'{"jsonrpc":"2.0","id":7777,"result":{"content":[]}}', b'{"jsonrpc":"2.0","id":"0%d","result":{"content":[]}}',
    b'{"jsonrpc":"2.0","id":%d,"meth\\u006fd":"ping"}', b'{"jsonrpc":"2.0","method":"notifications/x"}',
    b'{"jsonrpc":"1.0","id":%d,"result":{"content":[]}}', b'[{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}]', b"",
])
def test_a_body_that_is_no_answer_fails_the_call_at_once(server: ScriptedHttp, body: bytes) -> None:
    with opened(server, limits=ONE) as client:
        server.on["tools/call"] = lambda request: request.reply(
            200, body.replace(b"%d", b"%d" % request.message["id"]) or b" ")
        with pytest.raises(McpError) as caught:
            client.call_tool("it", timeout=60)
        assert not isinstance(caught.value, RequestTimeout)
        goes_on(server, client)


@pytest.mark.parametrize("body", [
    b'{"jsonrpc":"2.0","id":%d,"method":"ping"}',  # a request with this very id
    b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"_meta":{"a b/":1}}}',
])
def test_what_has_its_id_and_is_no_answer_fails_the_call_at_once(server: ScriptedHttp, body: bytes) -> None:
    with opened(server, strict=True, limits=ONE) as client:
        server.on["tools/call"] = lambda request: request.reply(200, body.replace(b"%d", b"%d" % request.message["id"]))
        with pytest.raises(McpError) as caught:
            client.call_tool("it", timeout=60)
        assert "malformed" in str(caught.value) or "holds no response" in str(caught.value), caught.value
        goes_on(server, client)


@pytest.mark.parametrize("arguments", [{}, LONG], ids=["sent here", "left to the pool"])
def test_a_trace_sees_it_once_and_in_order(server: ScriptedHttp, arguments: Dict[str, Any]) -> None:
    events: List[Event] = []
    with opened(server, trace=Trace(events.append)) as client:
        events.clear()
        call(client, arguments=arguments)
        assert [(event.direction, set(event.message) - {"jsonrpc", "id"}) for event in events if event.message] == [
            ("client", {"method", "params"}), ("server", {"result"})]


# --- Giving up --------------------------------------------------------------------------------------------------------

@pytest.mark.race
@pytest.mark.parametrize("data", [
    b"",
    reply("Transfer-Encoding : chunked", JSON, LENGTH, body=b"5\r\n"),
    reply("Content-Type : text/event-stream;", JSON, LENGTH, body=b"id: 1\nretry: 3600000\ndata:\n\n"),
], ids=["nothing", "chunks that do not come", "a stream that is resumed in an hour"])
def test_time_is_over_whatever_comes(server: ScriptedHttp, data: bytes) -> None:
    with opened(server, limits=ONE) as client, Gate() as gate:
        server.on["tools/call"] = lambda request: (request.send(data), gate.hold())[1]
        waiting = in_thread(client.call_tool, "it", timeout=0.05)
        gate.entered()
        with pytest.raises(RequestTimeout if not data else McpError):
            waiting.get(WAIT)
        gate.open()
        goes_on(server, client)


@pytest.mark.race
def test_a_call_that_is_given_up_says_so_to_the_server(server: ScriptedHttp) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        with pytest.raises(RequestTimeout):
            client.call_tool("it", timeout=0.05)
        assert server.wait_for("notifications/cancelled").message["params"]["requestId"] is not None


@pytest.mark.race
def test_close_ends_a_call_of_another_thread(server: ScriptedHttp) -> None:
    with opened(server) as client, Gate() as gate:
        server.on["tools/call"] = gate.hold
        waiting = in_thread(call, client)
        gate.entered()
        client.close()
        with pytest.raises(ConnectionLost):
            waiting.get()


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


# --- The number of requests at a time ---------------------------------------------------------------------------------

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
            assert not gate.passed() and len(server.seen("tools/call")) == 3  # and the first
            gate.open()
            assert [each.get() for each in calls] == ["done"] * 5
            goes_on(server, client)


def test_a_timeout_that_is_no_number_costs_no_place(server: ScriptedHttp) -> None:
    with opened(server, limits=ONE) as client:
        with pytest.raises(TypeError):
            client.call_tool("it", timeout="5")  # type: ignore[arg-type]
        goes_on(server, client)
