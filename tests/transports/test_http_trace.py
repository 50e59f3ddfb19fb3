"""What a trace shows of HTTP, on both sides, and what it never shows; and findings over any transport."""
import re
import socket
import sys
import threading
from typing import Any, Dict, List

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.errors import McpError
from mcp_ref.protocol.streamable_http.sse import SseEvent, encode_event
from mcp_ref.streamable.client.detect import HttpAuto
from mcp_ref.streamable.http_trace import HttpTrace, digest_of
from mcp_ref.transports.lines import process
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.support.scripted import ScriptedPeer
from tests.transports.makers import PATIENCE, until

TOKEN = "hunter2-of-the-client"


def served() -> Server:
    server = Server("traced")

    @server.tool
    def slow(ctx: Context) -> str:
        ctx.progress(1, 2)
        return "done"

    return server


def lines(events: List[Any]) -> List[str]:
    """What is no message."""
    return [event.text for event in events if event.kind == "transport"]


def inside(client: Any) -> Any:
    """The HTTP transport of a client, out of what watches it."""
    found = client.connection.transport
    while not isinstance(found, HttpAuto):
        found = found.inner
    return found


LEGACY = [
    r"POST /mcp \(with authorization\) -> 200 application/json \(Mcp-Session-Id: (?P<id>~[0-9a-f]{8})\)",
    r"POST /mcp \(MCP-Protocol-Version: 2025-11-25, Mcp-Session-Id: (?P=id), with authorization\) -> 202",
    r"GET /mcp \(MCP-Protocol-Version: 2025-11-25, Mcp-Session-Id: (?P=id), with authorization\)"
    r" -> 200 text/event-stream",
    r"POST /mcp \(MCP-Protocol-Version: 2025-11-25, Mcp-Session-Id: (?P=id), with authorization\)"
    r" -> 200 text/event-stream",
    r"stream \d+ opened: [^|]*",
    r"stream \d+: id p\d+-0, no data",
    r"stream \d+: id p\d+-1",
    r"stream \d+ closed after 3 events",
    r"DELETE /mcp \(MCP-Protocol-Version: 2025-11-25, Mcp-Session-Id: (?P=id), with authorization\) -> 204",
]
MODERN = [
    r"POST /mcp \(MCP-Protocol-Version: 2026-07-28, Mcp-Method: server/discover, with authorization\)"
    r" -> 200 application/json",
    r"POST /mcp \(MCP-Protocol-Version: 2026-07-28, Mcp-Method: tools/call, Mcp-Name: slow, with authorization\)"
    r" -> 200 text/event-stream",
    r"stream \d+ opened: [^|]*",
    r"stream \d+ closed after 2 events",
]


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("era, wanted", [("legacy", LEGACY), ("modern", MODERN)], ids=["legacy", "modern"])
def test_a_trace_shows_each_exchange_with_its_status_fields_and_streams(
    side: str, era: str, wanted: List[str]
) -> None:
    events: List[Any] = []
    trace = Trace(events.append)
    there: Dict[str, Any] = {"trace": trace} if side == "server" else {}
    here: Dict[str, Any] = {"trace": trace} if side == "client" else {}
    with served().listen("http://127.0.0.1:0/mcp", token=TOKEN, **there) as listener:
        with connect(listener.address, era=era, token=TOKEN, **here) as client:
            client.call_tool("slow", progress=lambda *told: None)
            ids = [inside(client)._first._session] if side == "client" else []
        until(lambda: era == "modern" or any("DELETE" in line for line in lines(events)))
    text = "|".join(lines(events))
    if era == "legacy":
        first = re.search(wanted[0], text)
        assert first is not None, text
        for pattern in wanted:
            pattern = pattern.replace("(?P=id)", first.group("id")).replace("?P<id>", "?:")
            assert re.search(pattern, text), (pattern, text)
    else:
        for pattern in wanted:
            assert re.search(pattern, text), (pattern, text)
    whole = repr(events)
    assert TOKEN not in whole and "earer" not in text and not any(id and id in whole for id in ids)


def test_a_trace_of_http_sse_shows_where_messages_go_and_not_the_session() -> None:
    events: List[Any] = []
    with served().listen("http://127.0.0.1:0/mcp") as listener:
        url = listener.address[:-len("/mcp")] + "/sse"
        with connect(url, era="legacy", trace=Trace(events.append)) as client:
            client.call_tool("slow")
            target = inside(client).inner._target
    session = target.partition("sessionId=")[2]
    shown = "/messages?sessionId=" + digest_of(session)
    assert len(session) > 10 and session not in repr(events)
    assert any(line.endswith(": event endpoint " + shown) for line in lines(events))
    assert sum(line.startswith("POST %s" % shown) and line.endswith(" -> 202") for line in lines(events)) >= 3
    assert any(line.startswith("POST /sse -> 405") or line.startswith("POST /sse -> 404") for line in lines(events))


def shown_of(**told: Any) -> str:
    """The line of one exchange."""
    events: List[Any] = []
    HttpTrace(Trace(events.append)).exchanged(**{**dict(
        method="POST", target="/mcp", fields=(), status=200, answer=()), **told})
    event, = events
    return str(event.text)


@pytest.mark.parametrize("told, shown", [
    (dict(status=307, answer=[("location", "https://u:hunter2@h.example/mcp?key=hunter2#hunter2")]),
     "POST /mcp -> 307 (Location: https://u:***@h.example/mcp?...)"),
    (dict(status=401, answer=[("www-authenticate", 'Bearer realm="r", error="invalid_token", '
                               'error_description="hunter2", resource_metadata="https://h.example/.well-known/x", '
                               'nonce=hunter2')]),
     "POST /mcp -> 401 (WWW-Authenticate: Bearer: realm=r error=invalid_token error_description=***"
     " resource_metadata=https://h.example/.well-known/x nonce=***)"),
    (dict(target="/mcp?key=hunter2"), "POST /mcp?... -> 200"),
    (dict(fields=[("Authorization", "Bearer hunter2"), ("Cookie", "a=hunter2"), ("X-Api-Key", "hunter2")]),
     "POST /mcp (with authorization) -> 200"),
    (dict(method="GET", fields=[("Last-Event-ID", "p7-2"), ("Mcp-Session-Id", "hunter2")],
          answer=[("Content-Type", "text/event-stream; charset=utf-8"), ("Set-Cookie", "a=hunter2")]),
     "GET /mcp (Mcp-Session-Id: %s, Last-Event-ID: p7-2) -> 200 text/event-stream" % digest_of("hunter2")),
    (dict(method="DELETE", status=503, answer=[("Retry-After", "5")], why='{"message": "Bearer hunter2-hunter2"}'),
     'DELETE /mcp -> 503 (Retry-After: 5): {"message": "Bearer ***"}'),
], ids=["redirect", "challenge", "query", "credentials", "resuming", "refused"])
def test_no_secret_is_in_a_line_of_an_exchange(told: Any, shown: str) -> None:
    assert shown_of(**told) == shown


@pytest.mark.parametrize("header", ["Bearer " + 'a="' * 50000, "Bearer " + "a=" * 100000, '"' * 100000, "=" * 100000])
def test_a_hostile_challenge_takes_no_time_and_no_room(header: str) -> None:
    assert len(shown_of(answer=[("www-authenticate", header)])) < 20000


def test_a_stream_tells_of_ids_and_when_to_come_again_on_both_sides() -> None:
    events: List[Any] = []
    trace = HttpTrace(Trace(events.append))
    one, two = trace.stream("GET"), trace.stream("GET")
    one.events([SseEvent(b"", id="p1-0"), SseEvent(b'{"id: fake": 1}', id="p1-1")], 1500)
    one.closed("the stream ended")
    two.sent(encode_event(b"", "p1-0", retry=1500) + b": keep-alive\n\n" + encode_event(b'{"a":\n"id: fake"}', "p1-1"))
    two.closed()
    two.closed("again")
    assert lines(events) == [
        "stream 1 opened: GET", "stream 2 opened: GET", "stream 1: id p1-0, retry 1500, no data", "stream 1: id p1-1",
        "stream 1 closed after 2 events: the stream ended", "stream 2: id p1-0, retry 1500, no data",
        "stream 2: id p1-1", "stream 2 closed after 2 events"]


def test_a_request_without_a_reply_is_seen() -> None:
    events: List[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)

        def hang_up() -> None:
            for _ in range(2):  # the first connection may be that of `open`
                with listening.accept()[0] as sock:
                    if sock.recv(65536):
                        return

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        with pytest.raises(McpError):
            connect("http://127.0.0.1:%d/mcp" % listening.getsockname()[1], era="legacy", trace=Trace(events.append))
        hanging_up.join(PATIENCE)
    assert any(line.startswith("POST /mcp -> no reply: ") for line in lines(events)), lines(events)


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
