"""What works where no threads can be started, and what says that it does not: STEPS, plain functions that assert.

They run in `tests/peer/test_threadless.py`, where starting threads is made impossible, and in a real Pyodide, which has
none: `make interop ARGS="--only pyodide"`. So nothing here needs more than this package.
"""
import contextlib
import io
import json
import sys
import tempfile
from typing import Any, Callable, Dict, List, Tuple, Type

from mcp_ref import Context, Host, Server, ToolError, connect
from mcp_ref.client import Client, to_text
from mcp_ref.devtools.playback.driver import compare
from mcp_ref.devtools.playback.player import Book, Player
from mcp_ref.devtools.playback.script import Recording
from mcp_ref.devtools.playback.web import Site
from mcp_ref.errors import ConnectionLost, LocalProtocolError, NoThreads
from mcp_ref.host import Policy
from mcp_ref.jsontext import JsonError, dumps, loads
from mcp_ref.server import Inline
from mcp_ref.server.serving.http_listener import endpoint_of
from mcp_ref.streamable.server.wsgi import Caller
from mcp_ref.transports.lines.stdio import StdioServer
from mcp_ref.transports.memory import pair
from mcp_ref.wiretrace import Trace

Step = Callable[[], None]
STEPS: Dict[str, Step] = {}
ERAS = ("legacy", "modern", "2024-11-05", "2025-03-26")
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Host": "localhost"}
INFO = {"name": "probe", "version": "1"}
LARGE = "x" * 200_000
"""More than fits into the pipe that the memory transport is like."""


def step(function: Step) -> Step:
    """Enter a step."""
    STEPS[function.__name__] = function
    return function


def expect_error(kind: Type[BaseException], words: str, call: Callable[[], Any]) -> None:
    """Expect this call to raise this kind, with these words in its text."""
    try:
        result = call()
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError("%r, and no %s" % (result, kind.__name__))


def demo(**options: Any) -> Server:
    """A server with something of everything."""
    server = Server("demo", features=["resources"], **options)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def count(to: int, ctx: Context) -> str:
        for number in range(1, to + 1):
            ctx.progress(number, to)
        ctx.log("warning", "counted")
        return "done"

    @server.tool
    def refuse() -> str:
        raise ToolError("not today")

    @server.tool
    def ask(ctx: Context) -> str:
        answer = ctx.elicit("Which region?", {"region": str})
        return "none" if answer is None else str(answer["region"])

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return "note " + name

    return server


def post(call: Callable[..., Any], message: Any, **headers: str) -> Tuple[int, Dict[str, str], bytes]:
    """One POST: status, headers and body."""
    fields = {**JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    answer = call("POST", "/mcp", fields, json.dumps(message).encode())
    return answer.status, dict(answer.headers), b"".join(answer.chunks)


def request(id: int, method: str, **params: Any) -> Dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def opened(call: Callable[..., Any], version: str = "2025-11-25") -> Dict[str, str]:
    """Begin a session; the header fields of what follows."""
    hello = request(0, "initialize", protocolVersion=version, capabilities={"elicitation": {}}, clientInfo=INFO)
    status, headers, body = post(call, hello)
    assert status == 200, body
    fields = {"Mcp_Session_Id": headers["Mcp-Session-Id"]}
    assert post(call, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **fields)[0] == 202
    return fields


def answer_to(body: bytes) -> Any:
    """The last message of a body, JSON or stream."""
    if body.startswith((b"{", b"[")):
        return json.loads(body)
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")][-1]


# -- In memory ---------------------------------------------------------------------------------------------------------

@step
def calls_in_memory() -> None:
    for era in ERAS:
        server, wire = demo(), io.StringIO()
        with connect(server, era=era, trace=to_text(wire)) as client:
            assert sorted(tool.name for tool in client.tools()) == ["add", "ask", "count", "echo", "refuse"]
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
            assert client.call_tool("refuse").text == "not today"
            assert client.read_resource("note://a").text == "note a"
            assert client.call_tool("echo", {"text": LARGE}).text == LARGE
            client.ping()
            future = client.submit_tool("add", {"a": 2, "b": 3})
            assert future.result().text == "5"
            assert client.submit_tool("missing").exception() is not None
            assert client.revision.name == (era if era[0] == "2" else client.revision.name)
        assert not server.connections and "tools/call" in wire.getvalue()
        expect_error(ConnectionLost, "closed", lambda: client.call_tool("add", {"a": 1, "b": 2}))


@step
def progress_logs_and_changes_are_heard() -> None:
    for era in ("legacy", "modern"):
        server, steps, heard = demo(), [], []  # type: Server, List[Any], List[str]
        logs, updates = [], []  # type: List[Any], List[str]
        with connect(server, era=era, on_log=lambda *log: logs.append(log[1]), on_update=updates.append,
                     on_notification=lambda method, params: heard.append(method)) as client:
            client.set_log_level("info")
            assert client.call_tool("count", {"to": 3}, progress=lambda *got: steps.append(got[0])).text == "done"
            assert (steps, logs) == ([1, 2, 3], ["counted"])
            with client.listen("tools", uris=["note://a"]):
                server.resource_updated("note://a")
                server.tool(lambda: "x", name="later", description="")
                assert updates == ["note://a"]
                assert "notifications/tools/list_changed" in heard
                assert "later" in [tool.name for tool in client.tools()]


@step
def a_question_is_asked_where_no_handler_waits() -> None:
    def answered(params: Any, context: Any) -> Dict[str, Any]:
        return {"region": "north"}

    with connect(demo(), era="modern", elicitation=answered) as client:
        assert client.call_tool("ask").text == "north"
        assert client.submit_tool("ask").result().text == "north"
    with connect(demo(), era="legacy", elicitation=answered) as client:
        result = client.call_tool("ask")
        assert result.is_error and "no other can be started here" in str(result.text), result


@step
def a_server_that_closed_the_connection_is_called_again() -> None:
    server, updates = demo(), []  # type: Server, List[str]
    with connect(server, era="modern", on_update=updates.append) as client, client.listen(uris=["note://a"]):
        transport: Any = client.connection.transport
        getattr(transport, "inner", transport)._theirs.close()
        server.resource_updated("note://a")
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        assert updates == ["note://a"], updates  # of what may have been missed
        server.resource_updated("note://a")
        assert updates == ["note://a"] * 2, updates


@step
def a_tool_may_end_the_connection() -> None:
    server = demo()

    @server.tool
    def leave() -> str:
        for connection in server.connections:
            connection.close("that is all")
        return "never seen"

    with connect(server, era="legacy") as client:
        expect_error(ConnectionLost, "the peer closed the connection", lambda: client.call_tool("leave"))


@step
def two_that_answer_each_other_take_turns() -> None:
    server, heard = Server("talkative"), []  # type: Server, List[str]
    server.on_notification("acme/again")(lambda connection, params: server.broadcast("acme/event", {}))

    def answer(method: str, params: Any) -> None:
        heard.append(method)
        if len(heard) < 2000:
            client.notify("acme/again", {})

    with connect(server, era="legacy", on_notification=answer) as client:
        server.broadcast("acme/event", {})
        assert heard == ["acme/event"] * 2000


@step
def what_only_another_thread_could_answer_is_told() -> None:
    server = Server("turning")
    clients: List[Client] = []

    @server.tool
    def call_back() -> str:
        return str(clients[0].call_tool("call_back"))

    @server.tool
    def call_back_later() -> str:
        return str(clients[0].submit_tool("call_back").result())

    with connect(server) as client:
        clients.append(client)
        for tool in ("call_back", "call_back_later"):
            result = client.call_tool(tool)
            assert result.is_error and "the answer cannot come" in str(result.text), result
        heard: List[str] = []

        def call_in_callback(method: str, params: Any) -> None:
            try:
                client.ping()
            except LocalProtocolError as error:
                heard.append(str(error))

        client.on_notification = call_in_callback
        with client.listen("tools"):
            server.tool(lambda: "x", name="later", description="")
        assert heard and "no other can be started" in heard[0], heard


@step
def a_pair_serves_a_connection_of_its_own() -> None:
    ours, theirs = pair()
    server = demo(executor=Inline())
    connection = server.connect(theirs)
    client = Client().open(ours)
    assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    connection.close()
    assert connection.closed and client.connection.closed
    client.close()


@step
def a_host_has_servers_in_memory() -> None:
    lost: List[str] = []
    left = demo()
    policy = Policy(tool_call=lambda call: True)
    with Host(policy=policy, era="legacy", on_lost=lambda name, reason: lost.append(name)) as host:
        host.connect_all({"left": left, "right": demo()})
        assert not host.failed, host.failed
        assert host.call_tool("left__add", {"a": 1, "b": 2}).text == "3"
        for connection in left.connections:
            connection.close()
        assert lost == ["left"]


# -- HTTP without sockets ----------------------------------------------------------------------------------------------

@step
def requests_are_handled_on_the_calling_thread() -> None:
    server = demo()
    fields = opened(server.handle)
    add = request(1, "tools/call", name="add", arguments={"a": 1, "b": 2})
    status, headers, body = post(server.handle, add, **fields)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["result"]["content"][0]["text"] == "3"
    count = request(2, "tools/call", name="count", arguments={"to": 3}, _meta={"progressToken": 7})
    status, headers, body = post(server.handle, count, **fields)
    assert headers["Content-Type"] == "text/event-stream" and body.count(b"notifications/progress") == 3
    assert answer_to(body)["result"]["content"][0]["text"] == "done"
    asked = answer_to(post(server.handle, request(3, "tools/call", name="ask", arguments={}), **fields)[2])
    assert asked["result"]["isError"] is True
    assert server.handle("GET", "/mcp", {**JSON, "Mcp-Session-Id": fields["Mcp_Session_Id"]}).status == 405
    assert server.handle("DELETE", "/mcp", {**JSON, "Mcp-Session-Id": fields["Mcp_Session_Id"]}).status == 204
    server.handler.close()


@step
def a_batch_and_a_request_that_stands_alone() -> None:
    server = demo()
    fields = opened(server.handle, "2025-03-26")
    batch = [request(id, "tools/call", name="add", arguments={"a": id, "b": 1}) for id in range(1, 5)]
    answers = answer_to(post(server.handle, batch, **fields)[2])
    assert sorted(answer["result"]["content"][0]["text"] for answer in answers) == ["2", "3", "4", "5"]
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    known = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "ask"}
    question = post(server.handle, request(1, "tools/call", name="ask", arguments={}, _meta=meta), **known)
    assert answer_to(question[2])["result"]["resultType"] == "input_required", question
    listen = request(2, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=meta)
    refused = post(server.handle, listen, MCP_Protocol_Version="2026-07-28", Mcp_Method="subscriptions/listen")
    assert refused[0] == 404 and b"no streams are offered here" in refused[2]


@step
def wsgi_answers_on_the_calling_thread() -> None:
    for options in ({}, {"json_response": True}, {"sessions": "none"}):  # type: Dict[str, Any]
        application, said = demo().wsgi(**options), []  # type: Any, List[Any]
        hello = request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO)
        body = json.dumps(hello).encode()
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "SCRIPT_NAME": "", "QUERY_STRING": "",
            "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body)), "HTTP_HOST": "localhost",
            "HTTP_ACCEPT": JSON["Accept"], "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.input": io.BytesIO(body),
            "wsgi.url_scheme": "http", "wsgi.multithread": False, "wsgi.multiprocess": False,
        }
        reply = b"".join(application(environ, lambda status, headers: said.append(status)))
        assert said == ["200 OK"] and json.loads(reply)["result"]["serverInfo"]["name"] == "demo"
        application.close()


@step
def a_long_stream_is_whole() -> None:
    server = demo()

    @server.tool
    def talk(ctx: Context) -> str:
        for _ in range(60):
            ctx.log("error", LARGE[:100_000])
        return "said"

    fields = opened(server.handle)
    body = post(server.handle, request(1, "tools/call", name="talk", arguments={}), **fields)[2]
    assert len(body) > 6_000_000 and answer_to(body)["result"]["content"][0]["text"] == "said"


@step
def a_stream_that_stays_open_is_refused() -> None:
    caller = Caller(endpoint_of(demo()))
    session = opened(caller.call)["Mcp_Session_Id"]
    listen = {**JSON, "Accept": "text/event-stream", "Mcp-Session-Id": session}
    expect_error(NoThreads, "streams=False", lambda: caller.call("GET", "/mcp", listen))
    caller.close()


# -- Recordings --------------------------------------------------------------------------------------------------------

@step
def a_recording_is_played_and_compared() -> None:
    events: List[Any] = []
    with connect(demo(), era="legacy", trace=Trace(events.append)) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    script = Recording()
    for event in events:
        script.take(event)
    answers: List[Any] = []
    player = Player(Book(script.finish()), lambda message, place, apart: answers.append(message))
    player.receive(request(9, "tools/call", name="add", arguments={"a": 1, "b": 2}))
    assert answers[0]["id"] == 9 and answers[0]["result"]["content"][0]["text"] == "3", answers
    assert compare(script, script) == []
    expect_error(NoThreads, "replaying over HTTP needs threads", Site(Book(script)).open)
    expect_error(NoThreads, "needs threads", lambda: run_command(["selfcheck"]))


def run_command(words: List[str]) -> int:
    """Run a command as `main` does, without making its errors lines of text."""
    from mcp_ref.cli.selfcheck import COMMANDS

    return COMMANDS[words[0]].run(None)


# -- What does not work ------------------------------------------------------------------------------------------------

@step
def what_needs_threads_says_so_at_the_call() -> None:
    server = demo()
    calls: Dict[str, Callable[[], Any]] = {
        "server.run()": server.run,
        "listening at http://127.0.0.1:8000": server.run_http,
        "listening at http://127.0.0.1:0": lambda: server.listen("http://127.0.0.1:0/mcp"),
        "listening at tcp://127.0.0.1:0": lambda: server.listen("tcp://127.0.0.1:0"),
        "listening at unix:///": lambda: server.listen("unix:///%s/socket" % tempfile.gettempdir()),
        "the transport child": lambda: connect([sys.executable or "python", "server.py"]),
        "the transport http": lambda: connect("http://127.0.0.1:1/mcp"),
        "the transport socket": lambda: connect("tcp://127.0.0.1:1"),
        "the transport stdio": lambda: server.connect(StdioServer()),
        "keepalive": lambda: connect(server, era="legacy", keepalive=5.0),
        "keepalive:": lambda: connect(demo(keepalive=5.0), era="legacy"),
    }
    for what, call in calls.items():
        expect_error(NoThreads, what, call)
        expect_error(NoThreads, "use server.handle(...) or server.wsgi()", call)


# -- The rest ----------------------------------------------------------------------------------------------------------

@step
def deep_json_is_refused_and_ends_nothing() -> None:
    for sign in (b"[", b'{"a":'):
        expect_error(JsonError, "max_depth", lambda: loads(sign * 100_000))
    value: Any = []
    for _ in range(100_000):
        value = [value]
    expect_error(JsonError, "max_depth", lambda: dumps(value))
    while value:  # bit by bit: freeing it at once recurses, too
        value = value.pop()
    server = demo()
    status, _, body = post_bytes(server, b"[" * 100_000)
    assert status == 400 and b"max_depth" in body


def post_bytes(server: Server, body: bytes) -> Tuple[int, Dict[str, str], bytes]:
    """POST what is no JSON."""
    answer = server.handle("POST", "/mcp", JSON, body)
    return answer.status, dict(answer.headers), b"".join(answer.chunks)


def main() -> int:
    """Run all steps, and print one line of JSON for each; how many went wrong."""
    import traceback

    wrong = 0
    for name, run in STEPS.items():
        output = io.StringIO()
        try:
            with contextlib.redirect_stderr(output):
                run()
        except BaseException:
            wrong += 1
            print(output.getvalue() + traceback.format_exc())
        print(json.dumps({"step": name, "python": sys.version.split()[0], "platform": sys.platform}), flush=True)
    return wrong
