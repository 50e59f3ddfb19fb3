"""What a trace shows of HTTP, on both sides, and what it never shows; and findings over any transport."""
import re
import socket
import sys
import threading
import time
from typing import Any, Dict, List, Tuple

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.errors import McpError
from mcp_ref.streamable import http_trace
from mcp_ref.streamable.client.detect import HttpAuto
from mcp_ref.streamable.http_trace import HttpTrace
from mcp_ref.transports.lines import process
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace, to_object
from tests.support.patience import WAIT
from tests.support.scripted import ScriptedPeer
from tests.transports.makers import until

TOKEN = "hunter2-of-the-client"


def served() -> Server:
    server = Server("traced")

    @server.tool
    def slow(ctx: Context) -> str:
        ctx.progress(1, 2)
        return "done"

    return server


def inside(client: Any) -> Any:
    """The HTTP transport of a client, out of what watches it."""
    found = client.connection.transport
    while not isinstance(found, HttpAuto):
        found = found.inner
    return found


def kinds(events: List[Any], exchange: int) -> List[str]:
    """The kinds of the events of one exchange."""
    return [event.kind for event in events if event.exchange == exchange]


def fields_of(event: Any) -> Dict[str, str]:
    return {name.lower(): value for name, value in event.more["fields"]}


def exchanges(events: List[Any], method: str) -> List[int]:
    """The numbers of the exchanges of a method of HTTP."""
    return [event.exchange for event in events if event.kind == "request" and event.more["method"] == method]


def told(events: List[Any]) -> List[Tuple[str, str]]:
    """The messages: sender, and method or kind."""
    return [(event.direction, event.message.get("method") or ("error" if "error" in event.message else "result"))
            for event in events if event.kind == "message"]


CALLED = [("client", "tools/call"), ("server", "notifications/progress"), ("server", "result")]
MESSAGES = {
    "legacy": [("client", "initialize"), ("server", "result"), ("client", "notifications/initialized"), *CALLED],
    "modern": [("client", "server/discover"), ("server", "result"), *CALLED]}


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_each_exchange_has_its_heads_its_messages_and_its_end(side: str, era: str) -> None:
    events, _, ids = conversation(side, era)
    assert [event.kind for event in events[:2]] == ["trace", "open"]
    assert events[1].more == {"transport": "streamable-http"}
    assert told(events) == MESSAGES[era], "each message once"
    assert all(event.exchange for event in events if event.kind == "message")
    posts = exchanges(events, "POST")
    assert [kinds(events, number) for number in posts] == (
        [["request", "message", "response", "message", "end"], ["request", "message", "response", "end"],
         ["request", "message", "response", "event", "message", "message", "end"]] if era == "legacy" else
        [["request", "message", "response", "message", "end"],
         ["request", "message", "response", "message", "message", "end"]])
    heads = [event for event in events if event.kind == "request"]
    assert all(head.direction == "client" and head.more["target"] == "/mcp" for head in heads)
    assert all(head.more["url"].startswith("http://127.0.0.1:") for head in heads)
    assert len({fields_of(head)["authorization"] for head in heads}) == 1
    assert re.fullmatch(r"Bearer \*\*\*[0-9a-f]{8}", fields_of(heads[0])["authorization"])
    versions = [fields_of(head).get("mcp-protocol-version") for head in heads]
    assert set(versions[1:]) == {"2025-11-25" if era == "legacy" else "2026-07-28"}
    ends = [event for event in events if event.kind == "end" and event.exchange in posts]
    assert {(end.direction, end.more["complete"]) for end in ends} == {("server", True)}
    whole = repr(events)
    assert TOKEN not in whole and not any(id and id in whole for id in ids)
    if era == "modern":
        assert [fields_of(head).get("mcp-name") for head in heads] == [None, "slow"]
        return
    [get], [delete] = exchanges(events, "GET"), exchanges(events, "DELETE")
    assert kinds(events, get)[:3] == ["request", "response", "event"]
    assert kinds(events, delete) == ["request", "response", "end"]
    [first] = [event for event in events if event.kind == "response" and event.exchange == posts[0]]
    session = fields_of(first)["mcp-session-id"]
    assert re.fullmatch(r"\*\*\*[0-9a-f]{8}", session)
    assert [fields_of(head).get("mcp-session-id") for head in heads] == [None] + [session] * (len(heads) - 1)
    sse = [event.more["sse"] for event in events
           if event.exchange == posts[-1] and event.kind == "message" and event.direction == "server"]
    primed = [event.more for event in events if event.exchange == posts[-1] and event.kind == "event"]
    assert [part["id"].partition("-")[2] for part in primed + sse] == ["0", "1", "2"] and primed[0]["data"] == ""


def conversation(side: str, era: str) -> Tuple[List[Any], str, List[str]]:
    """Both ends of one conversation, of which one side is traced: the events, the address, the session's id."""
    events: List[Any] = []
    trace = Trace(events.append)
    there: Dict[str, Any] = {"trace": trace} if side == "server" else {}
    here: Dict[str, Any] = {"trace": trace} if side == "client" else {}
    ids: List[str] = []

    def admit(headers: Any) -> str:
        ids[:] = [headers.get("Mcp-Session-Id")] if headers.get("Mcp-Session-Id") else ids
        return "anybody"

    with served().listen("http://127.0.0.1:0/mcp", authenticate=admit, **there) as listener:
        with connect(listener.address, era=era, token=TOKEN, **here) as client:
            client.call_tool("slow", progress=lambda *told: None)
            assert bool(ids) is (era == "legacy")
            address = listener.address
            until(lambda: all(kinds(events, number)[-1] == "end" for number in exchanges(events, "POST")))
            until(lambda: era == "modern" or "event" in [
                kind for number in exchanges(events, "GET") for kind in kinds(events, number)])
        until(lambda: era == "modern" or [
            kinds(events, number) for number in exchanges(events, "DELETE")] == [["request", "response", "end"]])
    return events, address, ids


def test_the_end_of_a_stream_says_who_has_ended_it() -> None:
    events, _, _ = conversation("client", "legacy")
    [get] = exchanges(events, "GET")
    until(lambda: kinds(events, get)[-1] == "end")
    [end] = [event for event in events if event.kind == "end" and event.exchange == get]
    assert (end.direction, end.more["complete"]) == ("client", False)


def test_a_trace_of_http_sse_shows_where_messages_go_and_not_the_session() -> None:
    events: List[Any] = []
    with served().listen("http://127.0.0.1:0/mcp") as listener:
        url = listener.address[:-len("/mcp")] + "/sse"
        with connect(url, era="legacy", trace=Trace(events.append)) as client:
            client.call_tool("slow")
            target = inside(client).inner._target
    session = target.partition("sessionId=")[2]
    assert len(session) > 10 and session not in repr(events)
    [endpoint] = [event.more for event in events if event.kind == "event"]
    assert re.fullmatch(r"/messages\?sessionId=\*\*\*[0-9a-f]{8}", endpoint["data"]) and endpoint["event"] == "endpoint"
    posted = [event.more["target"] for event in events if event.kind == "request" and event.more["method"] == "POST"]
    assert posted == ["/sse"] + [endpoint["data"]] * 3, "the same mask"
    assert [event.more["transport"] for event in events if event.kind == "open"] == ["streamable-http", "http+sse"]
    assert all(event.more["sse"] == {"event": "message"} for event in events
               if event.kind == "message" and event.exchange == exchanges(events, "GET")[0])


def test_a_traced_server_of_http_sse_is_a_connection_of_its_own() -> None:
    events: List[Any] = []
    with served().listen("http://127.0.0.1:0/mcp", trace=Trace(events.append)) as listener:
        with connect(listener.address, era="legacy") as client:
            client.ping()
        with connect(listener.address[:-len("/mcp")] + "/sse", era="legacy") as client:
            client.ping()
    opened = {event.connection: event.more["transport"] for event in events if event.kind == "open"}
    assert opened == {"": "streamable-http", "2": "http+sse"}
    assert sorted(event.connection for event in events if event.kind == "close") == ["", "2"]


def head_of(**given: Any) -> Dict[str, Any]:
    """The events of one exchange, request and response, as JSON."""
    events: List[Any] = []
    seen = HttpTrace(Trace(events.append), "").request(
        given.get("method", "POST"), given.get("target", "/mcp"), given.get("fields", ()), given.get("body"))
    seen.response(given.get("status", 200), given.get("answer", ()))
    seen.data(given.get("data", b""))
    seen.end("server")
    return {event.kind: to_object(event) for event in events}


MASKED = r"\*\*\*[0-9a-f]{8}"


@pytest.mark.parametrize("given, kind, member, shown", [
    (dict(answer=[("location", "https://u:hunter2@h.example/mcp?key=hunter2#access_token=hunter2")]), "response",
     "fields", r"https://u:M@h.example/mcp\?key=M#access_token=M"),
    (dict(answer=[("www-authenticate", 'Bearer realm="r", error="invalid_token", nonce=hunter2, opaque="hunter2"')]),
     "response", "fields", r'Bearer realm="r", error="invalid_token", nonce=M, opaque="M"'),
    (dict(target="/mcp?key=hunter2&session_id=hunter2"), "request", "target", r"/mcp\?key=M&session_id=M"),
    (dict(fields=[("Authorization", "Basic hunter2")]), "request", "fields", "Basic M"),
    (dict(fields=[("Authorization", "hunter2")]), "request", "fields", "M"),
    (dict(fields=[("Cookie", "a=hunter2; b=hunter2")]), "request", "fields", "a=M; b=M"),
    (dict(fields=[("X-Whatever", "hunter2")]), "request", "fields", "M"),
    (dict(fields=[("DPoP", "hunter2")]), "request", "fields", "M"),
    (dict(fields=[("Mcp-Param-Pass", "hunter2")], body=b'{"params":{"arguments":{"password":"hunter2"}}}'), "request",
     "fields", "M"),
    (dict(fields=[("Mcp-Param-Pass", "=?base64?aHVudGVyMg==?=")],
          body=b'{"params":{"arguments":{"password":"hunter2"}}}'), "request", "fields", "M"),
    (dict(answer=[("Set-Cookie", "a=hunter2; Path=/; HttpOnly")]), "response", "fields", "a=M; Path=/; HttpOnly"),
    (dict(answer=[("Mcp-Session-Id", "hunter2")]), "response", "fields", "M"),
    (dict(answer=[("Mcp-Session-Id", "hunter2\xe9")]), "response", "fields", "M!"),
    (dict(fields=[("Last-Event-ID", "p7-2")]), "request", "fields", "p7-2"),
    (dict(status=503, data=b'{"error": "Bearer hunter2-hunter2"}'), "body", "json", "Bearer M"),
    (dict(status=503, data=b"token=hunter2"), "body", "text", "token=M"),
], ids=str)
def test_secrets_in_heads_and_bodies_are_masked(given: Any, kind: str, member: str, shown: str) -> None:
    value = head_of(**given)[kind][member]
    if member == "fields":
        [[_, value]] = value
    elif member == "json":
        value = value["error"]
    assert re.fullmatch(shown.replace("M", MASKED), value), value
    assert "hunter2" not in repr(head_of(**given))


@pytest.mark.parametrize("header", ["Bearer " + 'a="' * 50000, "Bearer " + "a=" * 100000, '"' * 100000, "=" * 100000])
def test_a_hostile_challenge_takes_no_time(header: str) -> None:
    start = time.process_time()
    head_of(answer=[("www-authenticate", header)])
    assert time.process_time() - start < 2


@pytest.mark.parametrize("body, status, kind, member", [
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', 200, "message", "message"),
    (b'{"jsonrpc":"2.0","id":1,"error":{}}', 404, "message", "message"),
    (b'{"error":"invalid_token"}', 401, "body", "json"),
    (b'{"result":', 200, "message", "raw"),
    (b"<html>", 502, "body", "text"),
    (b"\x80\xff", 502, "body", "base64"),
])
def test_a_body_is_a_message_or_told_by_its_kind(body: bytes, status: int, kind: str, member: str) -> None:
    seen = head_of(status=status, data=body, answer=[("Content-Type", "application/json")])
    assert member in seen["message" if kind == "message" else "body"], seen


def test_a_body_that_is_too_long_is_shortened_and_says_its_size() -> None:
    seen = head_of(status=502, data=b"x" * 70000)["body"]
    assert (len(seen["text"]), seen["size"]) == (65536, 70000)


STREAM = (b"id: p1-0\nretry: 1500\ndata:\n\n" b": keep-alive\n\n"
          b"event: endpoint\r\ndata: /messages?sessionId=abcdefgh\r\n\r\n"
          b'id: p1-1\ndata: {"a":\ndata: 1}\n\n' b"retry: 7\n\n" b'data: {"id":1}\n\n')


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_told_with_the_fields_that_they_had(size: int) -> None:
    events: List[Any] = []
    seen = HttpTrace(Trace(events.append), "").request("GET", "/mcp", (), None)
    seen.response(200, [("Content-Type", "text/event-stream; charset=utf-8")])
    for at in range(0, len(STREAM), size):
        seen.data(STREAM[at:at + size])
    seen.end("server", False, "cut off")
    objects = [to_object(event) for event in events[3:]]
    shown = [{name: value for name, value in item.items() if name not in ("time", "exchange", "from")}
             for item in objects]
    mask = shown[1]["data"]
    assert re.fullmatch(r"/messages\?sessionId=" + MASKED, mask)
    assert shown == [
        {"kind": "event", "id": "p1-0", "retry": 1500, "data": ""},
        {"kind": "event", "event": "endpoint", "data": mask},
        {"message": {"a": 1}, "raw": '{"a":\n1}', "sse": {"id": "p1-1"}},
        {"kind": "event", "retry": 7},
        {"message": {"id": 1}},
        {"kind": "end", "complete": False, "note": "cut off"}]


def test_an_event_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_trace, "LONGEST", 1000)
    events: List[Any] = []
    seen = HttpTrace(Trace(events.append), "").request("GET", "/mcp", (), None)
    seen.response(200, [("Content-Type", "text/event-stream")])
    for _ in range(30):
        seen.data(b"data: " + b"x" * 94)
    seen.data(b'\n\ndata: {"a":1}\n\n')
    seen.end("server")
    assert [event.kind for event in events].count("gap") >= 1
    assert events[-2].message == {"a": 1} and sum(len(repr(event)) for event in events) < 5000


def test_a_request_without_a_reply_is_seen() -> None:
    events: List[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WAIT)

        def hang_up() -> None:
            for _ in range(2):  # the first connection may be that of `open`
                with listening.accept()[0] as sock:
                    if sock.recv(65536):
                        return

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        with pytest.raises(McpError):
            connect("http://127.0.0.1:%d/mcp" % listening.getsockname()[1], era="legacy", trace=Trace(events.append))
        hanging_up.join(WAIT)
    [end] = [event for event in events if event.kind == "end"]
    assert end.direction == "server" and end.more == {"complete": False} and end.text.startswith("no response: ")


# --- Findings ---------------------------------------------------------------------------------------------------------

def findings(events: List[Any]) -> List[Any]:
    return [(event.direction, event.text) for event in events if event.kind == "finding"]


def test_what_a_client_counts_of_a_server_is_a_finding() -> None:
    events: List[Any] = []

    def fail(method: str, params: Any) -> None:
        raise ValueError("token=hunter2")

    server = served()
    ours, theirs = pair()
    server.connect(theirs)
    with connect(ours, era="legacy", trace=Trace(events.append), on_notification=fail) as client:
        theirs.write([b'{"jsonrpc":"2.0","id":999,"result":{}}', b"{broken",
                      b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'])
        until(lambda: len(findings(events)) >= 3)
        assert client.ping() is None
    found = findings(events)
    assert any(who == "server" and "dropped the answer to request 999" in text for who, text in found), found
    assert any(who == "server" and text.startswith("malformed message: ") for who, text in found), found
    assert any(who == "client" and "raised: ValueError: token=***" in text for who, text in found), found


@pytest.mark.parametrize("where", ["memory", "http"])
def test_what_a_server_counts_of_a_client_is_a_finding(where: str) -> None:
    events: List[Any] = []
    server = served()
    if where == "memory":
        ours, theirs = pair()
        server.connect(tap(theirs, Trace(events.append), "server"))
        peer = ScriptedPeer(ours)
        peer.handshake("2025-06-18")
        peer.send(b'{"jsonrpc":"2.0","method":"notifications/nonsense"}')
        until(lambda: findings(events))
        peer.close()
    else:
        with server.listen("http://127.0.0.1:0/mcp", trace=Trace(events.append)) as listener:
            with connect(listener.address, era="legacy") as client:
                inside(client).write([b'{"jsonrpc":"2.0","method":"notifications/nonsense"}'])
                until(lambda: findings(events))
    assert [found for found in findings(events) if found[0] == "client"
            and found[1].startswith("unknown notification: notifications/nonsense")], findings(events)


def test_the_finding_of_a_handler_that_raises_is_short_and_on_one_line() -> None:
    server, events = Server("traced"), []  # type: Server, List[Any]

    @server.tool
    def city(name: str) -> str:
        raise ValueError("no such city: " + name)

    near, far = pair()
    server.connect(tap(far, Trace(events.append), "server"))
    with connect(near) as client:
        assert client.call_tool("city", {"name": "x\n" + "y" * 1_000_000}).is_error
    [text] = [text for _, text in findings(events) if text.startswith("handler errors")]
    assert "ValueError: no such city: x y" in text and len(text) < 1000 and "\n" not in text


def test_what_an_http_client_cannot_deliver_is_a_finding() -> None:
    events: List[Any] = []
    with served().listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="legacy", trace=Trace(events.append)) as client:
            client.connection.transport.write([b'{"jsonrpc":"2.0","method":"notifications/x"' + b"}" * 3])
            until(lambda: findings(events))
    assert any(text.startswith("undelivered: ") for _, text in findings(events)), findings(events)


# --- What is no trace -------------------------------------------------------------------------------------------------

def test_a_stream_is_no_sink_and_the_error_says_what_is_meant() -> None:
    with pytest.raises(TypeError, match=r"to_text\(stream\)"):
        Trace(sys.stdout)  # type: ignore[arg-type]
    before = len(process._LIVE)
    with pytest.raises(TypeError, match="trace is a Trace, such as .*to_text"):
        connect([sys.executable, "-c", ""], trace=sys.stdout)
    assert len(process._LIVE) == before


def test_a_request_that_is_given_up_is_over_for_the_client() -> None:
    events: List[Any] = []
    entered, leave = threading.Event(), threading.Event()
    server = Server("traced")

    @server.tool
    def wait() -> str:
        entered.set()
        leave.wait(WAIT)
        return "late"

    with server.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="modern", trace=Trace(events.append)) as client:
            future = client.submit_tool("wait", {})
            assert entered.wait(WAIT)
            future.cancel()
            number = exchanges(events, "POST")[-1]
            until(lambda: kinds(events, number)[-1] == "end")
            leave.set()
    [end] = [event for event in events if event.kind == "end" and event.exchange == number]
    assert (end.direction, end.more["complete"]) == ("client", False)
    assert ("server", "result") not in told([event for event in events if event.exchange == number])


def test_requests_that_come_at_once_open_a_connection_once() -> None:
    for _ in range(20):
        events: List[Any] = []
        http = HttpTrace(Trace(events.append), transport="streamable-http")
        gate = threading.Barrier(4)

        def ask() -> None:
            gate.wait(WAIT)
            http.request("POST", "/mcp", (), b"{}").end("server")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert [event.kind for event in events[:2]] == ["trace", "open"]
        assert [event.kind for event in events].count("open") == 1
        assert len({event.exchange for event in events if event.exchange}) == 4


def test_a_request_that_was_interrupted_before_it_was_sent_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    events: List[Any] = []

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    with served().listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="modern", trace=Trace(events.append)) as client:
            with monkeypatch.context() as patch:
                patch.setattr(inside(client)._first._pool, "begin", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    client.call_tool("slow")
            number = exchanges(events, "POST")[-1]
            until(lambda: kinds(events, number)[-1] == "end")
    [end] = [event for event in events if event.kind == "end" and event.exchange == number]
    assert (end.direction, end.more["complete"], end.text) == ("client", False, "given up")


@pytest.mark.parametrize("body", [b"{not json", b"", None])
def test_fields_that_repeat_a_message_nobody_can_read_are_masked(body: Any) -> None:
    events: List[Any] = []
    HttpTrace(Trace(events.append), "", "streamable-http").request(
        "POST", "/mcp", [("Mcp-Param-City", "SECRET99"), ("Mcp-Method", "tools/call")], body)
    assert "SECRET99" not in repr(events) and "tools/call" in repr(events)
