"""Streamable HTTP without sessions, what is asked of clients: what each request says in its head, and how it ends.

[2026-07-28 basic/transports/streamable-http §Sending Messages]; the transport by itself is tested in
`tests/transports/test_http_client_modern.py`.
"""
import json
import logging
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.client.sampling import Sampling
from mcp_ref.errors import (
    AnswerLost, ConnectFailed, ConnectionLost, HttpStatus, PeerError, PeerProtocolError, RequestTimeout,
)
from mcp_ref.protocol import envelope
from tests.support.scripted import PATIENCE
from tests.support.scripted_http import Request, ScriptedHttp, chunk, head, log, notification
from tests.support.sides import eventually, in_thread

MODERN = "2026-07-28"
CAPABILITIES: Dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}


class Modern(ScriptedHttp):
    """A server of the stateless era; ``tools`` is what it lists."""

    def __init__(self) -> None:
        super().__init__()
        self.tools: List[Dict[str, Any]] = []
        self.on["server/discover"] = lambda request: request.answer(complete(
            supportedVersions=[MODERN], capabilities=CAPABILITIES))
        self.on["tools/list"] = lambda request: request.answer(listed(tools=self.tools))
        self.on["resources/list"] = lambda request: request.answer(listed(resources=[]))
        self.on["prompts/list"] = lambda request: request.answer(listed(prompts=[]))
        self.on["resources/read"] = lambda request: request.answer(listed(contents=[]))
        self.on["prompts/get"] = lambda request: request.answer(complete(messages=[]))
        self.on["completion/complete"] = lambda request: request.answer(complete(completion={"values": []}))
        self.on["tools/call"] = lambda request: request.answer(said("done"))

    def heads(self, key: str) -> List[Dict[str, str]]:
        """What the heads of these requests say about the protocol."""
        return [{name: value for name, value in request.headers.items() if name.startswith("mcp-")}
                for request in self.seen(key)]


def complete(**members: Any) -> Dict[str, Any]:
    return dict(members, resultType="complete")


def listed(**members: Any) -> Dict[str, Any]:
    return complete(ttlMs=0, cacheScope="private", **members)


def said(text: str) -> Dict[str, Any]:
    return complete(content=[{"type": "text", "text": text}])


def tool(name: str, **properties: Any) -> Dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def mirrored(type: str, name: Any) -> Dict[str, Any]:
    return {"type": type, "x-mcp-header": name}


@pytest.fixture
def server() -> Iterator[Modern]:
    with Modern() as made:
        yield made


def open_client(server: ScriptedHttp, **options: Any) -> Client:
    return connect(server.url, revisions=[MODERN], **dict({"check_results": False}, **options))


def text_of(result: Any) -> str:
    return str(result.content[0].text)


# --- Sending messages -------------------------------------------------------------------------------------------------

@pytest.mark.spec("http.post-each-message", "http.client-uses-post", "http.accept-both", "http.post-body-single",
                  "http.header-version-every-post", "http.header-metadata-required", "http.header-version-matches-meta",
                  "http.header-standard-required", "http.header-standard-from-body", "transport.deliver")
def test_each_message_is_a_post_of_its_own_whose_head_says_what_its_body_says(server: Modern) -> None:
    with open_client(server) as client:
        client.list_tools()
        client.call_tool("it", {"name": "not this"})
        client.list_resources()
        client.read_resource("file:///a.txt")
        client.list_prompts()
        client.get_prompt("hello")
        client.complete("hello", "argument", "x")
        client.ping()
    names = {"tools/call": "it", "resources/read": "file:///a.txt", "prompts/get": "hello"}
    assert len(server.requests) == 9 and {request.method for request in server.requests} == {"POST"}
    for request in server.requests:
        assert isinstance(request.message, dict) and request.message["jsonrpc"] == "2.0"
        accepted = [kind.strip() for kind in request.headers["accept"].split(",")]
        assert {"application/json", "text/event-stream"} <= set(accepted)
        assert request.headers["mcp-protocol-version"] == MODERN
        assert request.message["params"]["_meta"][envelope.VERSION] == MODERN
        assert request.headers["mcp-method"] == request.message["method"]
        assert request.headers.get("mcp-name") == names.get(request.key)
        assert not {"mcp-session-id", "last-event-id"} & set(request.headers)


ASKED = [
    {"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1}},
    {"jsonrpc": "2.0", "id": "s2", "method": "roots/list"},
    {"jsonrpc": "2.0", "id": "s3", "method": "ping"},
    {"jsonrpc": "2.0", "id": "s4", "method": "unknown/thing"},
    {"jsonrpc": "2.0", "id": "s5"},
    {"jsonrpc": "2.0", "id": "s6", "method": 7},
    {"jsonrpc": "1.0", "id": 10**6, "method": "ping"},
    [{"jsonrpc": "2.0", "id": "s7", "method": "ping"}],
]


@pytest.mark.spec("http.client-no-responses")
def test_a_client_answers_nothing_whatever_a_server_asks_or_breaks(server: Modern) -> None:
    def ask(request: Request) -> None:
        request.begin_events()
        for message in ASKED:
            request.event(message)
        request.send(chunk(b"data: {\n\n"))
        request.event(request.result(said("done")))
        request.end_events()

    server.on["tools/call"] = ask
    asked: List[Any] = []
    sampling = Sampling(lambda params, context: str(asked.append(params)), model="m")
    with open_client(server, sampling=sampling, roots=["file:///tmp"]) as client:
        assert text_of(client.call_tool("it")) == "done"
        client.ping()
        client.ping()
    assert not asked and not server.seen("response")
    assert [request.key for request in server.requests] == [
        "server/discover", "tools/call", "server/discover", "server/discover"]


@pytest.mark.parametrize("kind, length", [
    ("content-type", "content-length"), ("Content-Type", "Content-Length"), ("CONTENT-TYPE", "CONTENT-LENGTH")])
@pytest.mark.spec("http.client-supports-json-and-sse", "http.header-case-insensitive", "transport.deliver")
def test_answers_come_as_json_and_as_streams_whatever_the_case_of_the_header_fields(
        server: Modern, kind: str, length: str) -> None:
    def answer(request: Request) -> None:
        body, media = request.result(said("json")), "application/json"
        if request.message["params"]["name"] == "stream":
            events = json.dumps(log("news")).encode(), request.result(said("stream"))
            body, media = b"data: %s\n\ndata: %s\n\n" % events, "text/event-stream"
        request.send(head(200, [(kind, media), (length, str(len(body)))]) + body)

    server.on["tools/call"] = answer
    heard: List[Any] = []
    with open_client(server, on_log=lambda level, data, logger: heard.append(data)) as client:
        assert text_of(client.call_tool("json")) == "json"
        assert text_of(client.call_tool("stream")) == "stream"
        eventually(lambda: heard == ["news"])


@pytest.mark.spec("transport.utf8")
def test_messages_are_utf_8_in_both_directions(server: Modern) -> None:
    text = "gr\u00fc\u00df \u4e16\u754c \U0001f600"

    def echo(request: Request) -> None:
        body = {"jsonrpc": "2.0", "id": request.message["id"], "result": said(request.message["params"]["name"])}
        request.reply(200, json.dumps(body, ensure_ascii=False).encode("utf-8"))

    server.on["tools/call"] = echo
    with open_client(server) as client:
        assert text_of(client.call_tool(text, {"text": text})) == text
    (request,) = server.seen("tools/call")
    assert json.loads(request.body.decode("utf-8"))["params"]["arguments"] == {"text": text}


# --- Header fields ----------------------------------------------------------------------------------------------------

ENCODED = [
    ("plain", "plain"), ("us west 1", "us west 1"), ("", ""), ("a=b;c", "a=b;c"),
    ("Hello, \u4e16\u754c", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("a\r\nX-Injected: 1", "=?base64?YQ0KWC1JbmplY3RlZDogMQ==?="),
    ("tab\there", "=?base64?dGFiCWhlcmU=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ("=?BASE64?literal?=", "=?BASE64?literal?="), ("=?base64?open", "=?base64?open"),
]
"""What is said, and how it stands in a header field."""


@pytest.mark.parametrize("name, expected", ENCODED)
@pytest.mark.spec("http.header-standard-required",
                  "http.header-name-encoding", "http.param-sentinel-exact", "http.param-sentinel-escape")
def test_names_that_no_header_field_can_hold_go_in_base64(server: Modern, name: str, expected: str) -> None:
    with open_client(server) as client:
        client.call_tool(name)
        client.get_prompt(name)
        client.connection.request("resources/read", {"uri": name})
    for key in ("tools/call", "prompts/get", "resources/read"):
        assert server.heads(key) == [{"mcp-protocol-version": MODERN, "mcp-method": key, "mcp-name": expected}]


@pytest.mark.parametrize("value, expected", ENCODED)
@pytest.mark.spec("http.param-encode", "http.param-base64", "http.param-apply-encoding", "http.param-sentinel-exact",
                  "http.param-sentinel-escape")
def test_arguments_are_encoded_before_they_become_header_fields(server: Modern, value: str, expected: str) -> None:
    server.tools = [tool("it", text=mirrored("string", "Text"))]
    with open_client(server) as client:
        client.list_tools()
        client.call_tool("it", {"text": value})
    assert server.heads("tools/call")[0]["mcp-param-text"] == expected
    assert server.seen("tools/call")[0].message["params"]["arguments"] == {"text": value}


SQL = tool("sql", region=mirrored("string", "Region"), limit=mirrored("integer", "Limit"),
           dry=mirrored("boolean", "Dry-Run"), query={"type": "string"},
           place={"type": "object", "properties": {"zone": mirrored("string", "Zone")}})


@pytest.mark.parametrize("arguments, expected", [
    ({"region": "us-west1", "limit": 42, "dry": True, "query": "q", "place": {"zone": "a"}},
     {"region": "us-west1", "limit": "42", "dry-run": "true", "zone": "a"}),
    ({"region": "x", "limit": -7, "dry": False}, {"region": "x", "limit": "-7", "dry-run": "false"}),
    ({"limit": 2**53 - 1}, {"limit": "9007199254740991"}), ({"limit": -(2**53) + 1}, {"limit": "-9007199254740991"}),
    ({"region": ""}, {"region": ""}),
])
@pytest.mark.spec("http.param-client-support", "http.param-mirror", "http.param-extract", "http.param-append",
                  "http.param-provided")
def test_annotated_arguments_become_header_fields(
        server: Modern, arguments: Dict[str, Any], expected: Dict[str, str]) -> None:
    server.tools = [SQL]
    with open_client(server) as client:
        client.list_tools()
        client.call_tool("sql", arguments)
    assert params_in(server.heads("tools/call")[0]) == expected


@pytest.mark.parametrize("arguments", [
    {"region": None, "limit": None, "dry": None, "place": None}, {"place": {"zone": None}},
])
@pytest.mark.spec("http.param-null-omitted")
def test_null_has_no_header_field(server: Modern, arguments: Dict[str, Any]) -> None:
    server.tools = [SQL]
    with open_client(server) as client:
        client.list_tools()
        client.call_tool("sql", arguments)
        client.call_tool("sql", {"region": "here"})
    assert [params_in(found) for found in server.heads("tools/call")] == [{}, {"region": "here"}]


@pytest.mark.parametrize("arguments", [None, {}, {"query": "q"}, {"zone": "elsewhere", "place": {"region": "inside"}},
                                       {"place": {"place": {"zone": "too deep"}}}, {"place": "no object"}])
@pytest.mark.spec("http.param-absent-omitted", "http.param-extract")
def test_what_is_not_at_exactly_its_place_has_no_header_field(server: Modern, arguments: Any) -> None:
    server.tools = [SQL]
    with open_client(server) as client:
        client.list_tools()
        client.call_tool("sql", arguments)
        client.call_tool("sql", {"region": "here"})
    assert [params_in(found) for found in server.heads("tools/call")] == [{}, {"region": "here"}]


def params_in(found: Dict[str, str]) -> Dict[str, str]:
    return {name[len("mcp-param-"):]: value for name, value in found.items() if name.startswith("mcp-param-")}


BROKEN = {
    "empty": tool("empty", a=mirrored("string", "")),
    "blank": tool("blank", a=mirrored("string", "two words")),
    "colon": tool("colon", a=mirrored("string", "a:b")),
    "line": tool("line", a=mirrored("string", "a\r\nX-Evil")),
    "beyond": tool("beyond", a=mirrored("string", "caf\u00e9")),
    "number": tool("number", a=mirrored("number", "A")),
    "object": tool("object", a=mirrored("object", "A")),
    "array": tool("array", a=mirrored("array", "A")),
    "null": tool("null", a=mirrored("null", "A")),
    "untyped": tool("untyped", a={"x-mcp-header": "A"}),
    "no text": tool("no text", a=mirrored("string", 7)),
    "twice": tool("twice", a=mirrored("string", "A"), b=mirrored("string", "a")),
    "items": tool("items", a={"type": "array", "items": mirrored("string", "A")}),
    "either": tool("either", a={"anyOf": [mirrored("string", "A"), {"type": "integer"}]}),
    "elsewhere": {"name": "elsewhere", "inputSchema": {"type": "object", "$defs": {"d": mirrored("string", "A")}}},
    "root": {"name": "root", "inputSchema": {"type": "object", "x-mcp-header": "A"}},
}


@pytest.mark.spec("http.param-reject-tool", "http.param-exclude-tool")
def test_a_tool_whose_annotation_is_not_allowed_is_left_out_and_the_others_work(server: Modern) -> None:
    server.tools = [tool("first"), *BROKEN.values(), tool("last", a=mirrored("string", "A"))]
    with open_client(server) as client:
        assert [found.name for found in client.list_tools().tools] == ["first", "last"]
        assert [found.name for found in client.tools()] == ["first", "last"]
        assert text_of(client.call_tool("last", {"a": "x"})) == "done"
        with pytest.raises(LookupError):
            client.tool("empty")
    assert params_in(server.heads("tools/call")[0]) == {"a": "x"}


@pytest.mark.parametrize("name", sorted(BROKEN))
@pytest.mark.spec("http.param-log-warning", "http.param-reject-tool")
def test_the_warning_names_the_tool_and_the_reason(
        server: Modern, caplog: pytest.LogCaptureFixture, name: str) -> None:
    server.tools = [BROKEN[name]]
    with caplog.at_level(logging.WARNING), open_client(server) as client:
        assert client.list_tools().tools == []
    (warning,) = [record for record in caplog.records if name in record.getMessage()]
    assert warning.levelno == logging.WARNING and warning.name.startswith("mcp_ref.")
    assert "x-mcp-header" in warning.getMessage()


def mismatch(request: Request) -> None:
    """The refusal of a request whose header fields do not fit."""
    request.reply(400, json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "error": {
        "code": -32020, "message": "Mcp-Param-Region is missing"}}).encode())


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.spec("http.param-mismatch-refresh")
def test_a_mismatch_makes_the_client_list_the_tools_again_and_try_once_more(server: Modern, known: bool) -> None:
    """Whether it has never listed them, or they have changed since."""
    def call(request: Request) -> None:
        if "mcp-param-region" in request.headers:
            request.answer(said("right"))
        else:
            mismatch(request)

    server.on["tools/call"] = call
    with open_client(server) as client:
        server.tools = [tool("sql")]
        if known:
            client.list_tools()
        server.tools = [SQL]
        assert text_of(client.call_tool("sql", {"region": "eu"})) == "right"
        assert text_of(client.submit_tool("sql", {"region": "eu"}).result(PATIENCE)) == "right"
    keys = [request.key for request in server.requests]
    retried = ["tools/call", "tools/list", "tools/call"]
    assert keys == ["server/discover"] + ["tools/list"] * known + retried + ["tools/call"]
    assert len({request.message["id"] for request in server.requests}) == len(keys)


@pytest.mark.spec("http.param-mismatch-refresh")
def test_a_mismatch_that_stays_is_an_error(server: Modern) -> None:
    server.on["tools/call"] = mismatch
    with open_client(server) as client:
        with pytest.raises(PeerError) as refused:
            client.call_tool("it")
        assert (refused.value.code, refused.value.status) == (-32020, 400)
    assert [request.key for request in server.requests] == [
        "server/discover", "tools/call", "tools/list", "tools/call"]


# --- How a request ends -----------------------------------------------------------------------------------------------

def waiting(gone: threading.Event, begun: bool) -> Callable[[Request], None]:
    """A handler that never answers, and sees the client go."""
    def wait(request: Request) -> None:
        try:
            if begun:
                request.begin_events()
                request.event(log("begun"))
            request.wait_gone()
        finally:
            gone.set()
    return wait


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("how", ["timeout", "future"])
@pytest.mark.spec("timeout.cancel", "cancel.in-progress-only")
def test_who_gives_a_request_up_closes_its_stream_and_sends_nothing(server: Modern, how: str, begun: bool) -> None:
    gone = threading.Event()
    server.on["tools/call"] = waiting(gone, begun)
    with open_client(server) as client:
        if how == "timeout":
            with pytest.raises(RequestTimeout):
                client.call_tool("slow", timeout=0.05)
        else:
            future = client.submit_tool("slow")
            server.wait_for("tools/call")
            assert future.cancel()
        assert gone.wait(PATIENCE)
        client.ping()
    assert [request.key for request in server.requests] == ["server/discover", "tools/call", "server/discover"]


def lose(request: Request) -> None:
    """A stream that would be resumed where that is possible."""
    request.begin_events()
    request.event(log("begun"), "1", retry=1)
    request.end_events()


def test_a_stream_that_ends_early_is_not_resumed_and_the_request_may_have_run(server: Modern) -> None:
    server.on["tools/call"] = lose
    with open_client(server) as client:
        with pytest.raises(ConnectionLost) as lost:
            client.call_tool("it")
        assert lost.value.may_have_run and isinstance(lost.value.__cause__, AnswerLost)
        client.ping()
    assert [request.key for request in server.requests] == ["server/discover", "tools/call", "server/discover"]


def test_what_only_asks_is_asked_again_under_another_id_when_its_stream_ends_early(server: Modern) -> None:
    def once(request: Request) -> None:
        lose(request) if len(server.seen("tools/list")) == 1 else request.answer(listed(tools=[tool("it")]))

    server.on["tools/list"] = once
    with open_client(server) as client:
        assert [found.name for found in client.tools()] == ["it"]
    first, second = server.seen("tools/list")
    assert first.message["id"] != second.message["id"] and {"GET"}.isdisjoint(r.method for r in server.requests)


def test_a_request_for_which_there_is_no_connection_has_not_run(server: Modern) -> None:
    with open_client(server) as client:
        server.close()
        with pytest.raises((ConnectFailed, ConnectionLost)):
            client.call_tool("it")  # the connection that is open may be found broken only when the request is sent
        with pytest.raises(ConnectFailed):
            client.call_tool("it")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 429, 500, 502, 503])
def test_a_refusal_without_a_json_rpc_error_is_told_as_it_is(server: Modern, status: int) -> None:
    server.on["tools/call"] = server.on["tools/list"] = lambda request: request.reply(status, b"no way", "text/plain")
    with open_client(server) as client:
        for ask in (lambda: client.call_tool("it"), lambda: client.list_tools()):
            with pytest.raises(HttpStatus, match="no way") as refused:
                ask()
            assert refused.value.status == status
    assert len(server.requests) == 3


@pytest.mark.parametrize("meta, item", [
    ({}, {"mcp//bad name": 1}), ({"mcp//bad name": 1}, {}), (None, {"mcp//bad name": 1}),
])
def test_a_strict_client_looks_at_every_name_in_the_meta_of_a_result(server: Modern, meta: Any, item: Any) -> None:
    """Though that of most results is known beforehand."""
    def answer(request: Request) -> None:
        content = {"type": "text", "text": "done", "_meta": item if request.message["params"]["name"] == "bad" else {}}
        found = complete(content=[content], _meta={envelope.SERVER_INFO: {"name": "s", "version": "0"}})
        if request.message["params"]["name"] == "bad":
            found["_meta"].update(meta or {})
            if meta is None:
                del found["_meta"]
        request.answer(found)

    server.on["tools/call"] = answer
    with open_client(server, strict=True) as client:
        assert text_of(client.call_tool("good")) == "done"
        with pytest.raises(PeerProtocolError, match="malformed result"):
            client.call_tool("bad")


# --- Which era --------------------------------------------------------------------------------------------------------

def refusal(status: int, code: Optional[int] = None, data: Any = None, id: Any = "same") -> Callable[[Request], None]:
    """A handler that refuses; ``code`` None: with a body that is no JSON-RPC error."""
    def refuse(request: Request) -> None:
        error: Dict[str, Any] = {"code": code, "message": "no"}
        if data is not None:
            error["data"] = data
        body = {"jsonrpc": "2.0", "id": request.message["id"] if id == "same" else id, "error": error}
        request.reply(status, b"Bad Request" if code is None else json.dumps(body).encode())
    return refuse


OLD = [
    refusal(400), refusal(404), refusal(405), refusal(406), refusal(422),
    refusal(400, -32600, id="server-error"), refusal(400, -32600, id=None), refusal(400, -32000, id=None),
    refusal(400, -32602), refusal(404, -32001, id=None), refusal(400, -32601), refusal(200, -32601),
    refusal(200, -32602), refusal(400, -32022), refusal(400, -32022, {"supported": "2026-07-28"}),
    refusal(400, -32022, {"supported": [MODERN]}, id="server-error"), refusal(400, -32021, {}),
    lambda request: request.answer({}), lambda request: request.answer({"content": []}),
    refusal(500), refusal(500, -32603), refusal(501), refusal(503), lambda request: request.cut(),
]
"""How servers with a handshake answer a request that they do not understand."""


@pytest.mark.parametrize("refuse", OLD)
@pytest.mark.spec("http.dual-era-probe", "http.dual-era-inspect-400")
def test_a_refusal_that_is_not_of_the_stateless_era_is_followed_by_a_handshake(refuse: Any) -> None:
    with ScriptedHttp() as server:
        server.on["server/discover"] = refuse
        with connect(server.url, era="auto", check_results=False) as client:
            assert str(client.revision) == "2025-11-25"
            client.call_tool("it")
    keys = [request.key for request in server.requests if request.method == "POST"]
    assert keys == ["server/discover", "initialize", "notifications/initialized", "tools/call"]
    assert server.seen("server/discover")[0].headers["mcp-protocol-version"] == MODERN
    assert not {"mcp-protocol-version", "mcp-method"} & set(server.seen("initialize")[0].headers)
    assert server.seen("tools/call")[0].headers["mcp-session-id"]


@pytest.mark.parametrize("refuse, then", [
    (refusal(400, -32022, {"supported": [MODERN], "requested": MODERN}), "asks again"),
    (refusal(400, -32022, {"supported": [MODERN], "requested": MODERN}, id=None), "asks again"),
    (refusal(400, -32022, {"supported": ["2099-01-01"], "requested": MODERN}), "fails"),
    (refusal(400, -32021, {"requiredCapabilities": {"roots": {}}}), "fails"),
    (refusal(400, -32020), "fails"),
    (refusal(404, -32601), "goes on"),
])
@pytest.mark.spec("http.dual-era-inspect-400", "version.select-supported")
def test_an_error_of_the_stateless_era_is_never_followed_by_a_handshake(server: Modern, refuse: Any, then: str) -> None:
    usual = server.on["server/discover"]
    server.on["server/discover"] = lambda request: (
        refuse(request) if len(server.seen("server/discover")) == 1 else usual(request))
    if then == "fails":
        with pytest.raises(Exception, match="2099-01-01|\\(-3202[01]\\)"):
            connect(server.url, era="auto")
    else:
        with connect(server.url, era="auto") as client:
            assert str(client.revision) == MODERN
    keys = [request.key for request in server.requests]
    assert keys == ["server/discover"] * (2 if then == "asks again" else 1)


@pytest.mark.parametrize("status", [302, 401, 403, 408, 425, 429])
@pytest.mark.spec("http.dual-era-inspect-400")
def test_what_says_nothing_of_the_era_is_no_reason_for_a_handshake(server: Modern, status: int) -> None:
    for refuse in (refusal(status), refusal(status, -32603)):
        server.on["server/discover"] = refuse
        with pytest.raises((HttpStatus, PeerError)) as refused:
            connect(server.url, era="auto")
        assert refused.value.status == status  # type: ignore[union-attr]
    assert {request.key for request in server.requests} == {"server/discover"}


def test_nobody_there_is_no_sign_of_an_era(server: Modern) -> None:
    server.close()
    with pytest.raises(ConnectFailed):
        connect(server.url, era="auto")


# --- Several at a time ------------------------------------------------------------------------------------------------

def test_two_requests_at_a_time_are_told_apart_whatever_order_they_are_answered_in(server: Modern) -> None:
    first_may = threading.Event()

    def call(request: Request) -> None:
        name = request.message["params"]["name"]
        if name == "first":
            assert first_may.wait(PATIENCE)
        request.begin_events()
        request.event(notification("notifications/message", level="info", data=name))
        request.event(request.result(said(name)))
        request.end_events()

    server.on["tools/call"] = call
    with open_client(server) as client:
        first = in_thread(client.call_tool, "first")
        server.wait_for("tools/call")
        assert text_of(client.call_tool("second")) == "second"
        first_may.set()
        assert text_of(first.get()) == "first"
