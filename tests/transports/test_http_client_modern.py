"""Streamable HTTP without sessions, the client's transport: heads, outcomes, streams that break, what is given up."""
import itertools
import json
import sys
import threading
from queue import SimpleQueue
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

from mcp_ref.deadline import Deadline
from mcp_ref.errors import (
    AnswerLost, ConnectFailed, HttpStatus, LocalProtocolError, PeerError, PeerProtocolError, TransportError,
)
from mcp_ref.limits import Limits
from mcp_ref.protocol import envelope, lifecycle
from mcp_ref.protocol.streamable_http import mirrored
from mcp_ref.revisions import LATEST, LATEST_HANDSHAKE
from mcp_ref.streamable.client.detect import HttpAuto
from mcp_ref.streamable.client.http_sse import HttpSse
from mcp_ref.streamable.client.streamable import StreamableHttp
from mcp_ref.transports.base import ExchangeTransport, Failed, Outgoing, Unanswered
from mcp_ref.transports.tap import Tap
from mcp_ref.wiretrace import Trace
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import Request, ScriptedHttp, chunk, head, log
from tests.support.sides import Gate

META = envelope.fields(LATEST, {}, {"name": "wire", "version": "0"})
OLDER = ("Mcp-Session-Id", "session-0")
TOOL = mirrored.annotations({"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}, "limit": {"type": "integer", "x-mcp-header": "Limit"},
    "where": {"type": "object", "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry-Run"}}},
    "query": {"type": "string"}}})


class Wire:
    """A transport and who uses it: prepares and sends requests, and reads on a thread of its own."""

    def __init__(self, transport: ExchangeTransport) -> None:
        self.transport = transport
        self.items: List[Any] = []
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        transport.open()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        items = self.transport.read()
        while items is not None:
            with self._changed:
                self.items += [item if isinstance(item, Failed) else json.loads(item) for item in items]  # type: ignore
                self._changed.notify_all()
            items = self.transport.read()

    def prepared(self, method: str, params: Optional[Dict[str, Any]] = None) -> Tuple[int, Outgoing]:
        """The id of a request, and the request, which is still to be sent."""
        id, params = next(self._ids), dict(params or {}, _meta=META)
        message = Outgoing(
            encoded({"jsonrpc": "2.0", "id": id, "method": method, "params": params}), id, method, params)
        self.transport.prepare(message)
        return id, message

    def send(self, method: str, params: Optional[Dict[str, Any]] = None) -> int:
        """Send a request of the stateless era; its id."""
        id, message = self.prepared(method, params)
        self.transport.send([message])
        return id

    def plain(self, method: str, params: Optional[Dict[str, Any]] = None) -> int:
        """Send a request of a session, or one that was not prepared."""
        id = next(self._ids)
        self.transport.write([encoded({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})])
        return id

    def notify(self, method: str, **params: Any) -> None:
        self.transport.write([encoded({"jsonrpc": "2.0", "method": method, "params": params})])

    def outcome(self, id: int) -> Any:
        """The first thing that is an answer to this request: its result, or its failure is raised."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._answers(id), PATIENCE), "no answer to %r: %r" % (id, self.items)
            found = self._answers(id)[0]
        if isinstance(found, Failed):
            raise found.error
        return found.get("result", found)

    def _answers(self, id: int) -> List[Any]:
        return [item for item in self.items if (item.id if isinstance(item, Failed) else item.get("id")) == id]

    def call(self, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        return self.outcome(self.send(method, params))

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.transport.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def encoded(message: Dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


@pytest.fixture
def server() -> Iterator[ScriptedHttp]:
    with ScriptedHttp() as made:
        yield made


def wire(server: ScriptedHttp, **options: Any) -> Wire:
    return Wire(StreamableHttp(server.url, **options))


def mirrored_in(request: Request) -> Dict[str, str]:
    """The header fields that have to do with MCP."""
    return {name: value for name, value in request.headers.items() if name.startswith("mcp-")}


# --- Heads ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("http.header-metadata-required", "http.header-standard-required")
@pytest.mark.parametrize("method, params, expected", [
    ("server/discover", None, {}),
    ("tools/list", {}, {}),
    ("tools/call", {"name": "it", "arguments": {}}, {"mcp-name": "it"}),
    ("prompts/get", {"name": "hello world"}, {"mcp-name": "hello world"}),
    ("resources/read", {"uri": "file:///a/b.txt"}, {"mcp-name": "file:///a/b.txt"}),
    ("resources/read", {"uri": "file:///\u4e16"}, {"mcp-name": "=?base64?ZmlsZTovLy/kuJY=?="}),
    ("tools/call", {"name": " padded "}, {"mcp-name": "=?base64?IHBhZGRlZCA=?="}),
    ("tools/call", {"name": "a\r\nX-Evil: 1"}, {"mcp-name": "=?base64?YQ0KWC1FdmlsOiAx?="}),
    ("tools/call", {"name": "=?base64?literal?="}, {"mcp-name": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}),
    ("tools/call", {"name": ""}, {"mcp-name": ""}),
    ("completion/complete", {"name": "x", "uri": "y"}, {}),
    ("subscriptions/listen", {"notifications": {}}, {}),
])
def test_the_head_of_a_request_says_what_its_body_says(
        server: ScriptedHttp, method: str, params: Any, expected: Dict[str, str]) -> None:
    with wire(server) as client:
        client.call(method, params)
    (request,) = server.requests
    assert mirrored_in(request) == {"mcp-protocol-version": "2026-07-28", "mcp-method": method, **expected}
    assert request.headers["accept"] == "application/json, text/event-stream"
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize("arguments, expected", [
    ({"region": "us-west1", "limit": 42, "where": {"dry": True}, "query": "q"},
     {"region": "us-west1", "limit": "42", "dry-run": "true"}),
    ({"region": "", "limit": -7, "where": {"dry": False}}, {"region": "", "limit": "-7", "dry-run": "false"}),
    ({"region": None, "limit": None, "where": None}, {}),
    ({"where": {"dry": None, "region": "no"}, "dry": True}, {}),
    ({}, {}),
    (None, {}),
    ({"region": "line1\nline2"}, {"region": "=?base64?bGluZTEKbGluZTI=?="}),
    ({"region": "a b\tc"}, {"region": "=?base64?YSBiCWM=?="}),
    ({"limit": 2.0}, {"limit": "2"}),
])
def test_arguments_that_the_tool_wants_there_go_into_the_head(
        server: ScriptedHttp, arguments: Any, expected: Dict[str, str]) -> None:
    with wire(server) as client:
        client.transport.annotations = {"it": TOOL}.get
        client.call("tools/call", {"name": "it", "arguments": arguments} if arguments is not None else {"name": "it"})
        client.call("tools/call", {"name": "unknown", "arguments": arguments or {}})
        client.call("prompts/get", {"name": "it", "arguments": arguments or {}})
    found, *others = [{name: value for name, value in mirrored_in(request).items() if name.startswith("mcp-param-")}
                      for request in server.requests]
    assert found == {"mcp-param-" + name: value for name, value in expected.items()} and others == [{}, {}]


def test_what_is_known_of_a_tool_is_asked_for_each_call(server: ScriptedHttp) -> None:
    known: Dict[str, Any] = {}
    arguments = {"name": "it", "arguments": {"region": "eu"}}
    with wire(server) as client:
        client.transport.annotations = known.get
        client.call("tools/call", arguments)
        known["it"] = TOOL
        client.call("tools/call", arguments)
        client.transport.annotations = None
        client.call("tools/call", arguments)
    assert [request.headers.get("mcp-param-region") for request in server.requests] == [None, "eu", None]


@pytest.mark.parametrize("method, params", [
    ("tools/call\r\nX-Evil: 1", {}), ("tools call", {}), ("", {}), ("caf\u00e9", {}),
    ("tools/call", {"name": "\ud800"}),
    ("tools/call", {"name": "it", "arguments": {"limit": 2.5}}),
    ("tools/call", {"name": "it", "arguments": {"limit": 2**53}}),
    ("tools/call", {"name": "it", "arguments": {"limit": float("inf")}}),
    ("tools/call", {"name": "it", "arguments": {"region": ["eu"]}}),
    ("tools/call", {"name": "it", "arguments": {"region": "\udfff"}}),
])
def test_what_no_header_field_can_hold_is_refused_before_anything_is_sent(
        server: ScriptedHttp, method: str, params: Any) -> None:
    with wire(server) as client:
        client.transport.annotations = {"it": TOOL}.get
        with pytest.raises(LocalProtocolError):
            client.prepared(method, params)
        assert client.call("tools/list")
    assert [request.key for request in server.requests] == ["tools/list"]


@pytest.mark.parametrize("version", ["2026-07-28\r\nX-Evil: 1", "", 7, None, ["2026-07-28"]])
def test_a_version_that_is_no_token_is_refused(server: ScriptedHttp, version: Any) -> None:
    with wire(server) as client:
        with pytest.raises(LocalProtocolError, match="header field|no string"):
            client.transport.prepare(Outgoing(b"{}", 1, "tools/list", {"_meta": {envelope.VERSION: version}}))


@pytest.mark.spec("http.header-metadata-required", "http.header-standard-required", "http.header-version-every-post")
def test_a_message_that_was_not_prepared_has_the_fields_that_every_message_has(server: ScriptedHttp) -> None:
    """[2026-07-28 basic/transports/streamable-http §Protocol Version Header] MUST: notifications, too."""
    with wire(server) as client:
        client.call("server/discover")
        client.notify("notifications/com.example")
        client.notify("notifications/caf\u00e9")
        client.outcome(client.plain("tools/call", {"name": "it"}))
        server.wait_for("notifications/caf\u00e9")
    heads = {request.key: mirrored_in(request) for request in server.requests}
    version = {"mcp-protocol-version": "2026-07-28"}
    assert heads["notifications/com.example"] == dict(version, **{"mcp-method": "notifications/com.example"})
    assert heads["notifications/caf\u00e9"] == version
    assert heads["tools/call"] == dict(version, **{"mcp-method": "tools/call"})


def test_the_transport_keeps_nothing_of_a_request_that_was_prepared_and_not_sent(server: ScriptedHttp) -> None:
    with wire(server) as client:
        holders = [sys.getrefcount(client.prepared("tools/call", {"name": "it"})[1]) for _ in range(3)]
        assert holders == [sys.getrefcount(Outgoing(b""))] * 3


@pytest.mark.parametrize("name", ["Mcp-Method", "MCP-NAME", "mcp-protocol-version", "Mcp-Param-Region", "mcp-param-"])
def test_a_caller_cannot_set_what_is_mirrored(name: str) -> None:
    with pytest.raises(ValueError, match="no header field that you can set"):
        StreamableHttp("http://127.0.0.1:1/mcp", headers={name: "x"})


@pytest.mark.race
def test_each_of_many_requests_at_a_time_has_its_own_head(server: ScriptedHttp) -> None:
    with wire(server) as client:
        client.transport.annotations = {str(number): TOOL for number in range(40)}.get
        ids = [client.send("tools/call", {"name": str(number), "arguments": {"limit": number}})
               for number in range(40)]
        for id in ids:
            client.outcome(id)
    said = [(request.headers["mcp-name"], request.headers["mcp-param-limit"]) for request in server.requests]
    meant = [(request.message["params"]["name"], str(request.message["params"]["arguments"]["limit"]))
             for request in server.requests]
    assert said == meant and len(set(said)) == 40


# --- What there is not ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["json", "events"])
def test_there_is_no_session_no_stream_besides_and_no_farewell(server: ScriptedHttp, kind: str) -> None:
    def answer(request: Request) -> None:
        if kind == "json":
            request.answer({}, headers=[OLDER])
            return
        request.begin_events([OLDER])
        request.event(log("news"), "1", retry=1)
        request.event(request.result({}), "2")
        request.end_events()

    server.on["tools/list"] = answer
    with wire(server) as client:
        client.call("tools/list")
        client.call("tools/list")
        client.transport.agreed(LATEST)
        client.call("tools/list")
    assert [request.method for request in server.requests] == ["POST"] * 3
    assert not [request for request in server.requests if {"mcp-session-id", "last-event-id"} & set(request.headers)]
    assert {request.headers["mcp-protocol-version"] for request in server.requests} == {"2026-07-28"}


def test_a_request_with_an_envelope_in_a_session_stays_in_the_session(server: ScriptedHttp) -> None:
    """A caller may put anything into `_meta`; who has shaken hands goes on by that."""
    with wire(server) as client:
        client.outcome(client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name}))
        client.transport.agreed(LATEST_HANDSHAKE)
        client.call("tools/list")
    assert mirrored_in(server.seen("tools/list")[0]) == {
        "mcp-protocol-version": "2025-11-25", "mcp-session-id": "session-0"}


def test_initialize_begins_the_other_era_on_the_same_transport(server: ScriptedHttp) -> None:
    server.on["server/discover"] = lambda request: request.reply(400, b"Bad Request: no session", "text/plain")
    with wire(server) as client:
        with pytest.raises(HttpStatus) as refused:
            client.call("server/discover")
        assert refused.value.status == 400 and "no session" in str(refused.value)
        client.outcome(client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name}))
        client.transport.agreed(LATEST_HANDSHAKE)
        client.notify("notifications/initialized")
        client.outcome(client.plain("tools/list"))
        server.wait_for("GET")
    heads = [mirrored_in(request) for request in server.requests if request.method == "POST"]
    assert heads[1] == {}
    assert heads[2] == heads[3] == {"mcp-protocol-version": "2025-11-25", "mcp-session-id": "session-0"}
    assert server.seen("DELETE")


def test_the_late_answer_to_a_handshake_leaves_no_trace_in_requests_that_stand_alone(server: ScriptedHttp) -> None:
    """A client that offers both to a silent server, and hears from `server/discover` first."""
    with Gate() as gate:
        server.on["server/discover"] = lambda request: (gate.hold(), request.answer({}))[1]
        with wire(server) as client:
            asked = client.send("server/discover")
            gate.entered()
            client.outcome(client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name}))
            gate.open()
            client.outcome(asked)
            server.on["tools/list"] = lambda request: request.reply(404)
            with pytest.raises(HttpStatus):
                client.call("tools/list")
            client.call("server/discover")
    assert mirrored_in(server.seen("tools/list")[0]) == {
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}
    assert server.seen("DELETE"), "the session that nobody uses is given back"


# --- Answers ----------------------------------------------------------------------------------------------------------

def test_what_comes_before_the_answer_is_delivered_before_it(server: ScriptedHttp) -> None:
    def answer(request: Request) -> None:
        request.begin_events()
        request.send(chunk(b": keep-alive\n\n"))
        request.event(log("one"))
        request.event(log("two"))
        request.event(request.result({"done": True}))
        request.end_events()

    server.on["tools/call"] = answer
    with wire(server) as client:
        assert client.call("tools/call", {"name": "it"}) == {"done": True}
        assert [item["params"]["data"] for item in client.items[:2]] == ["one", "two"]


def stream(request: Request) -> bytes:
    """A stream with ids that would do to resume it."""
    events = [b"id: 1\nretry: 1\ndata:\n\n", b"id: 2\ndata: %s\n\n" % encoded(log("news")),
              b"id: 3\ndata: %s\n\n" % request.result({"done": True})]
    return head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]) + b"".join(
        map(chunk, events)) + chunk(b"")


def json_answer(request: Request) -> bytes:
    body = request.result({"done": True})
    return head(200, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]) + body


@pytest.mark.parametrize("make", [stream, json_answer])
def test_an_answer_cut_at_any_byte_is_lost_and_nobody_asks_for_the_rest(server: ScriptedHttp, make: Any) -> None:
    whole = [b"", b""]
    done = threading.Semaphore(0)

    def cut(request: Request) -> None:
        whole[0] = make(request)
        try:
            request.send(whole[0][:int(request.message["params"]["name"])])
            request.cut()
        finally:
            done.release()

    server.on["tools/call"] = cut
    outcomes = []
    with wire(server) as client:
        position, needed = 0, 1
        while position < needed:
            try:
                outcomes.append(client.call("tools/call", {"name": str(position)}))
            except AnswerLost as error:
                outcomes.append(error)
            assert done.acquire(timeout=PATIENCE)
            end = whole[0].find(b'true}}')
            position, needed = position + 1, end + len(b'true}}') if make is json_answer else end + len(b'true}}\n\n')
        assert all(isinstance(outcome, AnswerLost) for outcome in outcomes), outcomes
        assert client.call("tools/call", {"name": str(needed)}) == {"done": True}
    assert not server.seen("GET") and len(server.requests) == needed + 1


@pytest.mark.parametrize("begin", [
    lambda request: request.end_events(),
    lambda request: (request.event(log("news"), "7", retry=1), request.end_events()),
    lambda request: (request.send(chunk(b"id: 7\n\n: \n\nevent: other\ndata: {}\n\n")), request.end_events()),
])
def test_a_stream_that_ends_without_the_answer_has_lost_it(server: ScriptedHttp, begin: Any) -> None:
    server.on["tools/call"] = lambda request: (request.begin_events(), begin(request))[0]
    with wire(server) as client:
        with pytest.raises(AnswerLost, match="ended before the answer"):
            client.call("tools/call", {"name": "it"})
        assert client.call("tools/list")
    assert [request.method for request in server.requests] == ["POST", "POST"]


def test_a_request_that_could_not_be_sent_has_certainly_not_run(server: ScriptedHttp) -> None:
    with wire(server) as client:
        client.call("tools/list")
        server.close()
        with pytest.raises((ConnectFailed, AnswerLost)):
            client.call("tools/list")
        with pytest.raises(ConnectFailed):
            client.call("tools/list")


ERROR = {"code": -32022, "message": "Unsupported protocol version",
         "data": {"supported": ["2026-07-28"], "requested": "2099-01-01"}}


@pytest.mark.parametrize("status", [400, 404, 405, 409, 422, 500, 503])
@pytest.mark.parametrize("about", ["ours", "nobody", "null"])
def test_an_error_in_a_refusal_is_the_answer_to_its_request(server: ScriptedHttp, status: int, about: str) -> None:
    def refuse(request: Request) -> None:
        id = {"ours": {"id": request.message["id"]}, "nobody": {}, "null": {"id": None}}[about]
        request.reply(status, encoded(dict({"jsonrpc": "2.0", "error": ERROR}, **id)))

    server.on["tools/list"] = refuse
    with wire(server) as client:
        with pytest.raises(PeerError) as refused:
            client.call("tools/list")
        assert (refused.value.code, refused.value.data, refused.value.status) == (-32022, ERROR["data"], status)
        assert refused.value.method == "tools/list"


@pytest.mark.parametrize("body", [
    b"", b"Bad Request", b"<html>no</html>", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 2000,
    encoded({"jsonrpc": "2.0", "id": "server-error", "error": ERROR}),
    encoded({"jsonrpc": "2.0", "id": 99, "error": ERROR}),
    encoded({"jsonrpc": "2.0", "id": "1", "error": ERROR}),
    encoded({"jsonrpc": "2.0", "error": {"code": "-32022", "message": "x"}}),
    encoded({"jsonrpc": "2.0", "error": {"code": -32022}}),
    encoded({"jsonrpc": "2.0", "error": "x"}),
    encoded({"jsonrpc": "2.0", "result": {}}),
    encoded({"jsonrpc": "2.0", "error": {"code": -32022, "message": "x" * 70_000}}),
])
@pytest.mark.parametrize("status", [400, 404])
def test_a_refusal_that_is_no_error_about_our_request_is_just_a_status(
        server: ScriptedHttp, status: int, body: bytes) -> None:
    server.on["tools/list"] = lambda request: request.reply(status, body)
    with wire(server) as client:
        with pytest.raises(HttpStatus) as refused:
            client.call("tools/list")
        assert refused.value.status == status and len(str(refused.value)) < 500
        assert client.call("server/discover")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_for_want_of_authorization_is_that_whatever_its_body(server: ScriptedHttp, status: int) -> None:
    body = encoded({"jsonrpc": "2.0", "error": ERROR})
    server.on["*"] = lambda request: request.reply(status, body, headers=[("WWW-Authenticate", "Bearer")])
    with wire(server) as client:
        with pytest.raises(HttpStatus) as refused:
            client.call("server/discover")
        assert (refused.value.status, refused.value.challenges) == (status, ["Bearer"])


def test_an_error_that_is_a_proper_answer_has_no_status(server: ScriptedHttp) -> None:
    server.on["tools/list"] = lambda request: request.reply(
        200, encoded({"jsonrpc": "2.0", "id": request.message["id"], "error": ERROR}))
    with wire(server) as client:
        assert client.call("tools/list")["error"] == ERROR


def cut_after(request: Request, data: bytes) -> None:
    request.send(data)
    request.cut()


# --- Hostile servers --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("answer, expected", [
    (lambda request: request.reply(202), PeerProtocolError),
    (lambda request: request.reply(204), PeerProtocolError),
    (lambda request: request.reply(200, b"<html></html>", "text/html"), PeerProtocolError),
    (lambda request: request.reply(200, encoded({"jsonrpc": "2.0", "id": 12345, "result": {}})), PeerProtocolError),
    (lambda request: request.reply(302, headers=[("Location", "/other")]), HttpStatus),
    (lambda request: request.reply(307, headers=[("Location", "http://127.0.0.1:1/")]), HttpStatus),
    (lambda request: cut_after(request, head(200, [("Content-Type", "application/json"), ("Content-Length", "99999")])),
     TransportError),
    (lambda request: cut_after(request, head(200, [("Content-Type", "text/event-stream")]) + b"data: " + b"x" * 40_000),
     TransportError),
    (lambda request: cut_after(request, b"nonsense\r\n\r\n"), AnswerLost),
    (lambda request: cut_after(request, head(200, [("Transfer-Encoding", "gzip, chunked")])), AnswerLost),
])
def test_nonsense_fails_its_request_and_no_other(server: ScriptedHttp, answer: Any, expected: Any) -> None:
    server.on["tools/call"] = answer
    with wire(server, limits=Limits(max_message_bytes=20_000)) as client:
        with pytest.raises(expected):
            client.call("tools/call", {"name": "it"})
        assert client.call("tools/list")


def test_an_answer_to_somebody_else_on_the_stream_of_a_request_ends_it(
        server: ScriptedHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_ref.streamable.client.streamable._LINGER", 0.01)

    def answer(request: Request) -> None:
        request.begin_events()
        request.event({"jsonrpc": "2.0", "id": 77, "result": {}})
        request.wait_gone()

    server.on["tools/call"] = answer
    with wire(server) as client:
        with pytest.raises(PeerProtocolError, match="no response to it"):
            client.call("tools/call", {"name": "it"})


def test_a_redirect_within_the_origin_keeps_the_head(server: ScriptedHttp) -> None:
    server.on["tools/call"] = lambda request: (
        request.reply(307, headers=[("Location", "/elsewhere")]) if request.target == "/mcp" else request.answer({}))
    with wire(server) as client:
        client.call("tools/call", {"name": "it"})
    first, second = server.requests
    assert (second.target, mirrored_in(second), second.body) == ("/elsewhere", mirrored_in(first), first.body)


# --- What is given up -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("begun", ["nothing", "head of JSON", "stream", "news"])
def test_giving_a_request_up_closes_its_connection_and_says_nothing_more(server: ScriptedHttp, begun: str) -> None:
    entered, gone = threading.Event(), threading.Event()

    def wait(request: Request) -> None:
        if begun == "head of JSON":
            request.send(head(200, [("Content-Type", "application/json"), ("Content-Length", "99")]))
        elif begun != "nothing":
            request.begin_events()
        if begun == "news":
            request.event(log("news"))
        entered.set()
        try:
            request.wait_gone()
        finally:
            gone.set()

    server.on["tools/call"] = wait
    with wire(server) as client:
        id = client.send("tools/call", {"name": "it"})
        assert entered.wait(PATIENCE)
        client.transport.given_up(id)
        assert gone.wait(PATIENCE)
        assert client.call("tools/list")
    assert [request.key for request in server.requests] == ["tools/call", "tools/list"]


def test_a_request_that_is_given_up_before_it_is_sent_is_not_sent(server: ScriptedHttp) -> None:
    with wire(server) as client:
        id, message = client.prepared("tools/call", {"name": "it"})
        message.given_up = True
        client.transport.given_up(id)
        client.transport.send([message])
        assert client.transport.send_and_wait(message, Deadline(PATIENCE), pytest.fail)
        client.transport.given_up(98)
        assert client.call("tools/list")
    assert [request.key for request in server.requests] == ["tools/list"]


def test_a_request_that_is_given_up_while_it_waits_for_a_thread_is_not_sent(server: ScriptedHttp) -> None:
    with Gate() as gate:
        server.on["tools/call"] = lambda request: (gate.hold(), request.answer({}))[1]
        with wire(server, limits=Limits(max_http_requests=1)) as client:
            first = client.send("tools/call", {"name": "it"})
            gate.entered()
            second = client.send("prompts/list")
            client.transport.given_up(second)
            gate.open()
            client.outcome(first)
            assert client.call("tools/list")
    assert [request.key for request in server.requests] == ["tools/call", "tools/list"]


@pytest.mark.race
def test_giving_up_at_any_time_never_hurts_another_request(server: ScriptedHttp) -> None:
    with wire(server) as client:
        for _ in range(20):
            doomed = client.send("tools/call", {"name": "doomed"})
            other = client.send("tools/list")
            client.transport.given_up(doomed)
            assert client.outcome(other)
    assert not server.faults


def test_closing_ends_every_stream_at_once(server: ScriptedHttp) -> None:
    gone = threading.Semaphore(0)

    def wait(request: Request) -> None:
        request.begin_events()
        try:
            request.wait_gone()
        finally:
            gone.release()

    server.on["subscriptions/listen"] = server.on["tools/call"] = wait
    with wire(server) as client:
        client.send("subscriptions/listen")
        client.send("tools/call", {"name": "it"})
        server.wait_for("subscriptions/listen")
        server.wait_for("tools/call")
    assert gone.acquire(timeout=PATIENCE) and gone.acquire(timeout=PATIENCE)
    assert {request.method for request in server.requests} == {"POST"}


# --- Streams that last ------------------------------------------------------------------------------------------------

def test_streams_that_last_take_no_turn_of_other_requests(server: ScriptedHttp) -> None:
    with Gate() as gate:
        def listen(request: Request) -> None:
            request.begin_events()
            request.event(log("acknowledged"))
            gate.hold()
            request.event(request.result({}))
            request.end_events()

        server.on["subscriptions/listen"] = listen
        with wire(server, limits=Limits(max_http_requests=1)) as client:
            streams = [client.send("subscriptions/listen") for _ in range(3)]
            gate.entered(3)
            assert client.call("tools/list") and client.call("tools/list")
            gate.open()
            assert [client.outcome(id) for id in streams] == [{}] * 3


def test_comments_keep_a_stream_open_and_are_no_messages(server: ScriptedHttp) -> None:
    with Gate() as gate:
        def listen(request: Request) -> None:
            request.begin_events()
            for _ in range(50):
                request.send(chunk(b":\r\n"))
            gate.hold()
            request.send(chunk(b":\n\n: a longer one\n\n"))
            request.event(log("at last"))
            request.event(request.result({}))
            request.end_events()

        server.on["subscriptions/listen"] = listen
        with wire(server) as client:
            id = client.send("subscriptions/listen")
            gate.entered()
            assert not client.items
            gate.open()
            client.outcome(id)
            assert [item["params"]["data"] for item in client.items if isinstance(item, dict) and "params" in item] == [
                "at last"]


# --- Which server it is -----------------------------------------------------------------------------------------------

def sse_only(server: ScriptedHttp, status: int) -> None:
    """Make it a server of HTTP+SSE, which answers on its stream."""
    posted: "SimpleQueue[Request]" = SimpleQueue()

    def refuse(request: Request) -> None:
        if request.target == "/mcp":
            request.reply(status, b"no", "text/plain")
            return
        request.reply(202)
        posted.put(request)

    def stream(request: Request) -> None:
        request.begin_events()
        request.event(b"/messages", event="endpoint")
        request.event(posted.get(timeout=PATIENCE).result({"protocolVersion": "2024-11-05"}))
        request.wait_gone()

    server.on["*"], server.on["GET"] = refuse, stream


@pytest.mark.parametrize("status", [400, 404, 405])
def test_from_the_newest_transport_to_the_oldest(server: ScriptedHttp, status: int) -> None:
    """One request of the stateless era, `initialize`, then the stream of HTTP+SSE."""
    sse_only(server, status)
    with Wire(HttpAuto(server.url)) as client:
        with pytest.raises(HttpStatus) as refused:
            client.call("server/discover")
        assert refused.value.status == status
        opened = client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name})
        assert client.outcome(opened)["protocolVersion"] == "2024-11-05"
        assert client.transport.name == "sse"
    assert not mirrored_in(server.seen("initialize")[-1])
    assert len(server.seen("GET")) == 1


@pytest.mark.parametrize("first", ["server/discover", "initialize"])
def test_both_eras_at_a_time_and_it_is_the_oldest_transport(server: ScriptedHttp, first: str) -> None:
    """A client that offers both to a server that is slow; whichever is refused first, both come to an end."""
    sse_only(server, 405)
    refuse = server.on["*"]
    with Gate() as gate:
        def late(request: Request) -> None:
            if request.target == "/mcp":
                gate.hold()
            refuse(request)

        server.on["initialize" if first == "server/discover" else "server/discover"] = late
        with Wire(HttpAuto(server.url)) as client:
            asked = client.send("server/discover")
            opened = client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name})
            gate.entered()
            if first == "server/discover":
                with pytest.raises(HttpStatus, match="405"):
                    client.outcome(asked)
                gate.open()
            assert client.outcome(opened)["protocolVersion"] == "2024-11-05"
            with pytest.raises((HttpStatus, AnswerLost)):
                client.outcome(asked)
            client.transport.agreed(LATEST_HANDSHAKE)


def test_nothing_is_remembered_once_it_is_clear_what_the_server_is(server: ScriptedHttp) -> None:
    with Wire(HttpAuto(server.url)) as client:
        client.call("server/discover")
        client.transport.agreed(LATEST)
        for _ in range(3):
            client.call("tools/list")
        assert client.transport._asked == []  # type: ignore[attr-defined]


@pytest.mark.race
def test_both_eras_at_a_time_whatever_comes_first(server: ScriptedHttp) -> None:
    sse_only(server, 405)
    with Wire(HttpAuto(server.url)) as client:
        asked = client.send("server/discover")
        opened = client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name})
        assert client.outcome(opened)["protocolVersion"] == "2024-11-05"
        with pytest.raises((HttpStatus, AnswerLost)):
            client.outcome(asked)


@pytest.mark.parametrize("status, error, older", [
    (400, ERROR, False), (400, {"code": -32020, "message": "headers"}, False),
    (404, {"code": -32601, "message": "unknown"}, False), (400, {"code": -32601, "message": "unknown"}, True),
    (404, {"code": -32001, "message": "no session"}, True), (400, {"code": -32602, "message": "no _meta"}, True),
    (400, {"code": -32000, "message": "not initialized"}, True), (405, {"code": -32000, "message": "no"}, True),
    (500, {"code": -32603, "message": "broken"}, True),
])
def test_a_modern_error_to_initialize_ends_the_search(
        server: ScriptedHttp, status: int, error: Any, older: bool) -> None:
    body = encoded({"jsonrpc": "2.0", "id": None, "error": error})
    server.on["initialize"] = lambda request: request.reply(status, body)
    with Wire(HttpAuto(server.url)) as client:
        with pytest.raises(PeerError) as refused:
            client.outcome(client.plain("initialize", {"protocolVersion": LATEST_HANDSHAKE.name}))
        assert (refused.value.code, refused.value.status) == (error["code"], status)
    assert bool(server.seen("GET")) == older


def test_another_request_that_fails_says_nothing_of_initialize(server: ScriptedHttp) -> None:
    """The status is known a moment before the failure is read; what else failed comes in between."""
    auto = HttpAuto(server.url)
    auto.write([encoded({"jsonrpc": "2.0", "id": 2, "method": "initialize",
                         "params": {"protocolVersion": LATEST_HANDSHAKE.name}})])
    server.wait_for("initialize")
    auto._first.refusal = 405
    other, its = Failed(1, HttpStatus("no", 405)), Failed(2, HttpStatus("no", 405))
    assert [auto._about_initialize(item) for item in (b"{}", other, its, Unanswered(2, lambda: its.error))] == [
        False, False, True, False]
    auto.close()


SUPPORTED = {"supported": ["2026-07-28"], "requested": "x"}


@pytest.mark.parametrize("code, data, status, modern", [
    (-32022, SUPPORTED, 400, True), (-32022, SUPPORTED, None, True), (-32022, {"supported": []}, 400, True),
    (-32022, None, 400, False), (-32022, {"supported": "2026-07-28"}, 400, False),
    (-32022, {"supported": [7]}, 400, False),
    (-32022, [], None, False),
    (-32021, {"requiredCapabilities": {"roots": {}}}, 400, True), (-32021, {"requiredCapabilities": []}, 400, False),
    (-32021, None, None, False),
    (-32020, None, 400, True), (-32020, {"any": 1}, None, True),
    (-32601, None, 404, True), (-32601, None, 400, False), (-32601, None, None, False),
    (-32602, None, 400, False), (-32602, None, None, False), (-32600, None, 400, False), (-32600, None, 404, False),
    (-32000, None, 400, False), (-32001, None, 404, False), (-32603, None, 500, False), (0, SUPPORTED, 400, False),
])
def test_what_is_recognized_as_an_error_of_the_stateless_era(
        code: int, data: Any, status: Optional[int], modern: bool) -> None:
    assert lifecycle.recognized(code, data, status) is modern


# --- Seen by others ---------------------------------------------------------------------------------------------------

def test_a_trace_in_between_changes_nothing(server: ScriptedHttp) -> None:
    trace = Trace()
    with Wire(Tap(HttpAuto(server.url), trace, "client")) as client:
        assert client.transport.mirrors
        client.transport.annotations = {"it": TOOL}.get
        assert client.transport.annotations == client.transport.inner.annotations  # type: ignore[attr-defined]
        client.call("tools/call", {"name": "it", "arguments": {"region": "eu"}})
    assert server.requests[0].headers["mcp-param-region"] == "eu"


def test_only_streamable_http_mirrors() -> None:
    assert StreamableHttp.mirrors and HttpAuto("http://127.0.0.1:1").mirrors
    assert not ExchangeTransport.mirrors and not HttpSse.mirrors and ExchangeTransport.annotations is None
    ExchangeTransport().prepare(Outgoing(b"{}", 1, "tools/list", {}))
