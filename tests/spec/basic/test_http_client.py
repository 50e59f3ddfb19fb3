"""Streamable HTTP, what is asked of clients: requests, sessions, streams and their resumption, the older transport.

[2025-03-26..2025-11-25 basic/transports §Streamable HTTP], [2024-11-05 basic/transports §HTTP with SSE]
"""
import json
import threading
import time
from typing import Any, Dict, Iterator, List

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.client.sampling import Sampling
from mcp_ref.errors import AnswerLost, RequestTimeout
from mcp_ref.revisions import HANDSHAKE_REVISIONS, revision
from mcp_ref.streamable.client.http_sse import HttpSse
from tests.support.patience import WAIT
from tests.support.scripted_http import SESSION, Request, ScriptedHttp, log, notification, said
from tests.support.sides import eventually, in_thread

STREAMABLE = ["2025-03-26", "2025-06-18", "2025-11-25"]
HANDSHAKE = [str(r) for r in HANDSHAKE_REVISIONS]
SAMPLE: Dict[str, Any] = {"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": {
    "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}}


@pytest.fixture(params=STREAMABLE)
def server(request: pytest.FixtureRequest) -> Iterator[ScriptedHttp]:
    with ScriptedHttp(request.param) as made:
        yield made


def open_client(server: ScriptedHttp, **options: Any) -> Client:
    return connect(server.url, revisions=[server.revision], **options)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


# --- Requests ---------------------------------------------------------------------------------------------------------

@pytest.mark.spec("http.post-each-message", "http.client-uses-post", "http.post-body-single-or-response",
                  "http.batch-body-single", "batch.initialize-not-batched", "http.accept-both")
@pytest.mark.sends_illegal("progress.token-active", why="a notification like any other: nobody has asked for progress")
def test_each_message_is_a_post_of_its_own_that_accepts_both_kinds_of_answer(server: ScriptedHttp) -> None:
    def ask(request: Request) -> None:
        request.begin_events()
        request.event(SAMPLE)
        server.wait_for("response")
        request.event(request.result(said("done")))
        request.end_events()

    server.on["tools/call"] = ask
    sampling = Sampling(lambda params, context: "blue", model="m")
    with open_client(server, sampling=sampling, check_results=False) as client:
        client.call_tool("ask")
        client.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        server.wait_for("notifications/progress")
    posts = server.seen("POST")
    assert [post.key for post in posts] == [
        "initialize", "notifications/initialized", "tools/call", "response", "notifications/progress"]
    for post in posts:
        assert isinstance(post.message, dict) and post.target == "/mcp"
        accepted = {part.strip() for part in post.headers["accept"].split(",")}
        assert accepted == {"application/json", "text/event-stream"}
        assert post.headers["content-type"] == "application/json"


@pytest.mark.spec("http.client-supports-json-and-sse")
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_answers_come_as_json_or_as_a_stream_of_events(server: ScriptedHttp, line_end: bytes) -> None:
    def stream(request: Request) -> None:
        request.begin_events()
        request.event(b": a comment\n".replace(b"\n", b" "), event="unknown")
        request.event(log("first"))
        data = request.result(said("streamed"))
        middle = data.index(b",") + 1
        raw = b": comment\nevent: message\ndata: " + data[:middle] + b"\ndata:" + data[middle:] + b"\n\n"
        for position, byte in enumerate(raw.replace(b"\n", line_end)):
            request.send(b"1\r\n%c\r\n" % byte)
        request.end_events()

    heard: List[Any] = []
    with open_client(server, on_log=lambda level, data, logger: heard.append(data), check_results=False) as client:
        assert text_of(client.call_tool("json")) == "tools/call"
        server.on["tools/call"] = stream
        assert text_of(client.call_tool("stream")) == "streamed"
        eventually(lambda: heard == ["first"])


@pytest.mark.spec("http.multiple-streams", "http.get-stream")
def test_several_streams_are_read_at_the_same_time(server: ScriptedHttp) -> None:
    together = threading.Barrier(4)

    def stream(request: Request) -> None:
        request.begin_events()
        together.wait(WAIT)
        if request.method == "POST":
            request.event(request.result(said(request.message["params"]["name"])))
            request.end_events()
        else:
            request.event(log("of the server's own accord"))
            request.wait_gone()

    server.on["tools/call"] = server.on["GET"] = stream
    heard: List[Any] = []
    with open_client(server, on_log=lambda level, data, logger: heard.append(data), check_results=False) as client:
        futures = [client.submit_tool(name) for name in "abc"]
        assert [text_of(future.result(WAIT)) for future in futures] == ["a", "b", "c"]
        eventually(lambda: heard == ["of the server's own accord"])


@pytest.mark.spec("http.get-accept")
def test_the_get_stream_is_asked_for_after_the_handshake_and_accepts_events(server: ScriptedHttp) -> None:
    with open_client(server):
        get = server.wait_for("GET")
    assert "text/event-stream" in get.headers["accept"] and get.body == b""
    keys = [request.key for request in server.seen()]
    assert keys.index("notifications/initialized") < keys.index("GET")


def test_the_get_stream_is_asked_for_before_the_first_request_goes_out(server: ScriptedHttp) -> None:
    """A server that has much to say at once finds the stream; and the request cannot be taken for older than it."""
    asked = threading.Event()

    def accept(request: Request) -> None:
        assert asked.wait(WAIT)
        request.reply(202)

    def stream(request: Request) -> None:
        request.begin_events()
        request.wait_gone()

    server.on["notifications/initialized"], server.on["GET"] = accept, stream
    with open_client(server, check_results=False) as client:
        future = client.submit_tool("held")
        asked.set()
        future.result(WAIT)
    accepted, = server.seen("notifications/initialized")
    assert [one.key for one in server.seen() if one.connection == accepted.connection][-2:] == [accepted.key, "GET"]


@pytest.mark.spec("http.get-client-close")
def test_the_client_closes_its_stream_when_it_is_closed(server: ScriptedHttp) -> None:
    gone = threading.Event()

    def stream(request: Request) -> None:
        request.begin_events()
        try:
            request.wait_gone()
        finally:
            gone.set()

    server.on["GET"] = stream
    with open_client(server):
        server.wait_for("GET")
    assert gone.wait(WAIT)


@pytest.mark.spec("http.cancel-explicit")
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_a_cancellation_is_sent_and_the_stream_is_let_go(server: ScriptedHttp, how: str) -> None:
    gone = threading.Event()

    def hang(request: Request) -> None:
        request.begin_events()
        try:
            request.wait_gone()
        finally:
            gone.set()

    server.on["tools/call"] = hang
    with open_client(server) as client:
        if how == "timeout":
            while not server.seen("tools/call"):  # on a busy machine the time may be over before it is sent
                with pytest.raises(RequestTimeout):
                    client.call_tool("hang", timeout=0.05)
        else:
            future = client.submit_tool("hang")
            server.wait_for("tools/call")
            assert future.cancel()
        id = server.wait_for("tools/call").message["id"]
        eventually(lambda: id in [r.message["params"]["requestId"] for r in server.seen("notifications/cancelled")])
        assert gone.wait(WAIT)


@pytest.mark.spec("http.header-version-after-init", "http.header-version-negotiated")
@pytest.mark.parametrize("agreed", HANDSHAKE)
def test_the_agreed_revision_is_named_in_every_request_after_the_first(agreed: str) -> None:
    with ScriptedHttp(agreed) as server:
        with connect(server.url, era="legacy") as client:
            client.ping()
            server.wait_for("GET")
        first, *others = server.seen()
        assert "mcp-protocol-version" not in first.headers and {r.method for r in others} == {"POST", "GET", "DELETE"}
        named = {request.headers.get("mcp-protocol-version") for request in others}
        assert named == {agreed if revision(agreed).version_header else None}


@pytest.mark.spec("http.disconnect-anytime")
def test_a_broken_stream_fails_its_request_alone_and_tells_nobody_of_a_cancellation(server: ScriptedHttp) -> None:
    def broken(request: Request) -> None:
        request.begin_events()
        request.event(log("on the way"))
        request.cut()

    server.on["tools/call"] = broken
    with open_client(server) as client:
        with pytest.raises(AnswerLost, match="no event id"):
            client.call_tool("broken")
        client.ping()
    assert server.seen("notifications/cancelled") == []


# --- The session ------------------------------------------------------------------------------------------------------

@pytest.mark.spec("http.session-id-echo", "http.session-delete")
def test_the_session_id_goes_with_every_request_and_the_session_is_ended(server: ScriptedHttp) -> None:
    with open_client(server) as client:
        client.ping()
        server.wait_for("GET")
    first, *others = server.seen()
    assert "mcp-session-id" not in first.headers
    assert {request.headers["mcp-session-id"] for request in others} == {SESSION}
    assert [request.method for request in server.seen()].count("DELETE") == 1 and others[-1].method == "DELETE"


@pytest.mark.parametrize("status", [200, 204, 404, 405, 500])
def test_whatever_a_server_says_to_a_delete_closing_goes_on(status: int) -> None:
    with ScriptedHttp() as server:
        server.on["DELETE"] = lambda request: request.reply(status)
        with connect(server.url):
            pass
        assert len(server.seen("DELETE")) == 1


def test_without_a_session_id_there_is_none_and_nothing_to_end(server: ScriptedHttp) -> None:
    server.session = None
    with open_client(server) as client:
        client.ping()
        server.wait_for("GET")
    assert [request for request in server.seen() if "mcp-session-id" in request.headers] == []
    assert server.seen("DELETE") == []


@pytest.mark.spec("http.session-reinitialize")
@pytest.mark.parametrize("noticed_by", [
    "request", "future", pytest.param("notification", marks=pytest.mark.sends_illegal("progress.token-active")),
    "stream"])
def test_a_session_that_the_server_forgot_is_followed_by_a_new_one(server: ScriptedHttp, noticed_by: str) -> None:
    forgotten: List[str] = []
    refused = threading.Event()

    def known(request: Request) -> None:
        if request.headers.get("mcp-session-id") in forgotten:
            refused.set()
            request.reply(404, b"who?", "text/plain")
        elif request.method == "GET" and noticed_by == "stream":
            request.begin_events()
            request.event(b"", retry=0)
            while not forgotten:
                time.sleep(0.001)
            request.cut()
        else:
            server.usual(request)

    server.on["*"] = known
    with open_client(server) as client:
        before = client.connection
        client.ping()
        server.wait_for("GET")
        server.session = "session-1"
        forgotten.append(SESSION)
        if noticed_by == "notification":
            client.connection.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        if noticed_by == "future":
            client.submit_tool("go").result(WAIT)
        elif noticed_by != "request":
            assert before.wait_closed(10) and refused.is_set()
        client.ping()
        assert client.connection is not before
    pings = [request.headers["mcp-session-id"] for request in server.seen("ping")]
    assert pings == [SESSION] + ([SESSION] if noticed_by == "request" else []) + ["session-1"]
    second = server.seen("initialize")[1]
    assert "mcp-session-id" not in second.headers and "mcp-protocol-version" not in second.headers
    assert [request.headers["mcp-session-id"] for request in server.seen("DELETE")] == ["session-1"]


# --- Resuming ---------------------------------------------------------------------------------------------------------

def polling(server: ScriptedHttp, retry: int = 0, rounds: int = 1) -> None:
    """Answer calls by a stream that ends after an event, and goes on where it is asked for again."""
    calls: Dict[str, Request] = {}

    def begin(request: Request) -> None:
        number = str(len(calls))
        calls[number] = request
        request.begin_events()
        request.event(b"", id=number + ".0", retry=retry)
        request.end_events()

    def resume(request: Request) -> None:
        last = request.headers.get("last-event-id")
        if last is None:
            request.reply(405)
            return
        call, _, at = last.partition(".")
        request.begin_events()
        if int(at) < rounds:
            request.event(log("round " + at), id="%s.%d" % (call, int(at) + 1))
        else:
            request.event(calls[call].result(said("at last")), id=call + ".x")
        request.end_events()

    server.on["tools/call"], server.on["GET"] = begin, resume


@pytest.mark.spec("http.resume-get", "http.resume-client-poll")
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_stream_that_ends_before_its_answer_is_asked_for_again_from_its_last_event(
        server: ScriptedHttp, rounds: int) -> None:
    polling(server, rounds=rounds)
    heard: List[Any] = []
    with open_client(server, on_log=lambda level, data, logger: heard.append(data), check_results=False) as client:
        assert text_of(client.call_tool("poll")) == "at last"
        eventually(lambda: heard == ["round %d" % number for number in range(rounds)])
    gets = [get.headers["last-event-id"] for get in server.seen("GET") if "last-event-id" in get.headers]
    assert gets == ["0.%d" % number for number in range(rounds + 1)]
    assert len(server.seen("tools/call")) == 1


@pytest.mark.spec("http.resume-respect-retry")
def test_retry_is_waited_out_in_full() -> None:
    with ScriptedHttp("2025-11-25") as server:
        polling(server, retry=300, rounds=0)
        with connect(server.url, check_results=False) as client:
            started = time.monotonic()
            client.call_tool("poll")
            assert time.monotonic() - started >= 0.3


def test_a_retry_beyond_the_deadline_ends_as_a_timeout() -> None:
    with ScriptedHttp("2025-11-25") as server:
        polling(server, retry=60_000)
        with connect(server.url) as client, pytest.raises(RequestTimeout):
            client.call_tool("poll", timeout=0.1)
        assert [get for get in server.seen("GET") if "last-event-id" in get.headers] == []


@pytest.mark.parametrize("how", ["end", "cut"])
def test_the_stream_of_the_server_is_opened_again_from_its_last_event(server: ScriptedHttp, how: str) -> None:
    def stream(request: Request) -> None:
        last = request.headers.get("last-event-id")
        request.begin_events()
        request.event(log("after %s" % last), id="g1" if last is None else "g2", retry=0)
        if last == "g1":
            request.wait_gone()
        if how == "cut":
            request.cut()
        request.end_events()

    server.on["GET"] = stream
    heard: List[Any] = []
    with open_client(server, on_log=lambda level, data, logger: heard.append(data)):
        eventually(lambda: heard == ["after None", "after g1"])
    assert [get.headers.get("last-event-id") for get in server.seen("GET")] == [None, "g1"]


# --- HTTP+SSE ---------------------------------------------------------------------------------------------------------

def older(server: ScriptedHttp, endpoint: str = "/messages?session=7", refusal: int = 405) -> None:
    """Make it a server of HTTP+SSE: whatever is asked is answered on the stream."""
    streams: List[Request] = []
    begun = threading.Event()

    def stream(request: Request) -> None:
        request.begin_events()
        request.event(endpoint.encode(), event="endpoint")
        streams.append(request)
        begun.set()
        request.wait_gone()

    def take(request: Request) -> None:
        if request.target != endpoint:
            request.reply(refusal)
            return
        request.reply(202, b"Accepted", "text/plain")
        assert begun.wait(WAIT)
        if request.key == "initialize":
            result: Any = {"protocolVersion": server.revision or request.message["params"]["protocolVersion"],
                           "capabilities": {"tools": {}}, "serverInfo": {"name": "older", "version": "0"}}
        else:
            result = said(request.key)
        if "id" in request.message and "method" in request.message:
            streams[-1].event(request.result(result), event="message")

    server.on["GET"], server.on["*"] = stream, take


@pytest.mark.spec("sse.client-posts")
@pytest.mark.parametrize("found_out", [True, False])
@pytest.mark.parametrize("agreed", HANDSHAKE)
def test_everything_is_posted_to_the_endpoint_of_http_with_sse(agreed: str, found_out: bool) -> None:
    with ScriptedHttp(agreed, path="/sse") as server:
        older(server)
        url = server.url if found_out else HttpSse(server.url)
        with connect(url, era="legacy", check_results=False) as client:
            assert text_of(client.call_tool("any")) == "tools/call" and str(client.revision) == agreed
        posts = [post for post in server.seen("POST") if post.target != "/sse"]
        assert [post.key for post in posts] == ["initialize", "notifications/initialized", "tools/call"]
        assert {post.target for post in posts} == {"/messages?session=7"}
        assert [get.target for get in server.seen("GET")] == ["/sse"]
        assert json.loads(posts[2].body)["params"] == {"name": "any"}


def test_nothing_is_left_when_a_call_is_given_up_while_its_stream_is_being_resumed() -> None:
    with ScriptedHttp("2025-11-25") as server:
        server.on["tools/call"] = lambda request: (request.begin_events(), request.event(b"", id="1"), request.cut())
        server.on["GET"] = lambda request: request.reply(503)
        with connect(server.url) as client:
            call = in_thread(client.call_tool, "poll", timeout=0.2)
            server.wait_for("tools/call")
            with pytest.raises(RequestTimeout):
                call.get()
            seen = len(server.seen("GET"))
            client.ping()
        assert len(server.seen("GET")) <= seen + 1


def test_a_server_may_ask_for_something_on_any_of_its_streams(server: ScriptedHttp) -> None:
    def stream(request: Request) -> None:
        request.begin_events()
        request.event(notification("notifications/tools/list_changed"))
        request.event(SAMPLE)
        request.wait_gone()

    server.on["GET"] = stream
    with open_client(server, sampling=Sampling(lambda params, context: "blue", model="m")):
        assert server.wait_for("response").message["result"]["content"]["text"] == "blue"
