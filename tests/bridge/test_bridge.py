"""The bridge: one walk through every pairing of revisions and of transports, and what belongs to sessions."""
import itertools
import sys
import textwrap
import threading

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.bridge import Bridge
from mcp_ref.errors import ConnectionLost, McpError, PeerError
from mcp_ref.limits import Limits

PATIENCE = 20.0
FRONT = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
ELICITS = FRONT[2:]


class Inner:
    """The server behind, and what a test sees of it."""

    def __init__(self, revisions=None):
        self.started, self.cancelled = threading.Event(), threading.Event()
        server = self.server = Server("inner", "1.2", instructions="add, then ask", revisions=revisions, page_size=2)

        @server.tool(meta={"acme/mark": 7})
        def add(a: int, b: int) -> int:
            "Add two numbers."
            return a + b

        @server.tool
        def ask(ctx: Context) -> str:
            region = ctx.elicit("Which region?", {"region": str})
            size = ctx.elicit("Which size?", {"size": int})
            return "%s %s" % (region["region"], size["size"])

        @server.tool
        def folders(ctx: Context) -> str:
            return " ".join(root.uri for root in ctx.list_roots())

        @server.tool
        def write(ctx: Context) -> str:
            return ctx.sample("Write", 20).content.text

        @server.tool
        def steps(ctx: Context) -> str:
            for number in range(3):
                ctx.progress(number + 1, 3, "step %d" % number)
                ctx.log("info", "at %d" % number, "walker")
            return "done"

        @server.tool
        def wait(ctx: Context) -> str:
            self.started.set()
            ctx.cancelled.wait(PATIENCE)
            self.cancelled.set()
            return "cancelled"

        @server.tool
        def fail() -> str:
            raise ValueError("no good")

        @server.resource("config://app")
        def config() -> str:
            return "blue"

        @server.prompt
        def review(code: str) -> str:
            return "Review " + code

        @server.completion("review", "code")
        def codes(value: str):
            return [code for code in ("alpha", "beta") if code.startswith(value)]


def texts(result):
    return [block.text for block in result.content]


def answer(params, context):
    return {"region": "eu"} if "region" in params.message else {"size": 3}


def sample(params, context):
    from mcp_ref.messages.content import TextContent
    from mcp_ref.messages.sampling import CreateMessageResult
    return CreateMessageResult(role="assistant", content=TextContent("written"), model="m")


def walk(client, behind, tmp_path, asks=True):
    """Use everything that both revisions have."""
    front = client.revision
    assert client.server_info.name == "inner" and client.instructions == "add, then ask"
    tools = client.tools()
    assert [tool.name for tool in tools] == ["add", "ask", "folders", "write", "steps", "wait", "fail"]
    if min(front.name, behind) >= "2025-06-18":
        assert tools[0].meta == {"acme/mark": 7}
    result = client.call_tool("add", {"a": 1, "b": 2})
    assert texts(result) == ["3"]
    if front.name >= "2025-06-18" and behind >= "2025-06-18":
        assert result.structured_content == {"result": 3}
    seen = []
    assert texts(client.call_tool("steps", progress=lambda *step: seen.append(step))) == ["done"]
    words = ["step 0", "step 1", "step 2"] if min(front.name, behind) >= "2025-03-26" else [None] * 3
    assert seen == list(zip((1, 2, 3), (3, 3, 3), words))
    assert client.call_tool("fail").is_error
    assert client.read_resource("config://app").contents[0].text == "blue"
    for wrong, code in ((lambda: client.read_resource("config://none"), front.resource_not_found_code),
                        (lambda: client.call_tool("none"), -32602), (lambda: client.get_prompt("none"), -32602)):
        with pytest.raises(PeerError) as failed:
            wrong()
        assert failed.value.code == code
    assert client.get_prompt("review", {"code": "x"}).messages[0].content.text == "Review x"
    from mcp_ref.messages.completion import PromptReference
    assert client.complete(PromptReference("review"), "code", "al").completion.values == ["alpha"]
    if asks:
        if front.name in ELICITS and behind in ELICITS:
            assert texts(client.call_tool("ask")) == ["eu 3"]
        assert texts(client.call_tool("folders")) == [tmp_path.as_uri()]
        assert texts(client.call_tool("write")) == ["written"]


@pytest.mark.parametrize("front, behind", list(itertools.product(FRONT, FRONT)))
def test_a_client_of_any_revision_uses_a_server_of_any(front, behind, tmp_path):
    logged = []
    with Bridge(Inner([behind]).server) as bridge, connect(
            bridge, revisions=[front], elicitation=answer, roots=[tmp_path], sampling=sample,
            on_log=lambda *message: logged.append(message)) as client:
        client.set_log_level("info")
        walk(client, behind, tmp_path)
        assert logged == [("info", "at %d" % number, "walker") for number in range(3)]
        assert bridge.sessions == 1
    assert bridge.sessions == 0


SCRIPT = textwrap.dedent("""
    import os, sys
    from mcp_ref import Server
    server = Server("inner", "1.2", revisions=sys.argv[1:] or None)

    @server.tool
    def pid() -> int:
        return os.getpid()

    @server.tool
    def die() -> str:
        print("dying words", file=sys.stderr, flush=True)
        os._exit(3)

    server.run()
""")


@pytest.fixture
def command(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "server.py").write_text(SCRIPT)
    import mcp_ref
    import pathlib
    root = str(pathlib.Path(mcp_ref.__file__).resolve().parents[1])
    return [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv.pop(0); "
            "exec(open(sys.argv[0]).read())", root, str(folder / "server.py")]


def quiet(line):
    """Show nothing of what the server writes on its stderr."""


FRONTS = {"http": ("http://127.0.0.1:0/mcp", "/mcp"), "sse": ("http://127.0.0.1:0/mcp", "/sse"),
          "tcp": ("tcp://127.0.0.1:0", "")}


@pytest.mark.parametrize("behind", ["http", "sse", "tcp"])
@pytest.mark.parametrize("front, revision", [
    ("http", "2026-07-28"), ("http", "2025-11-25"), ("sse", "2024-11-05"), ("tcp", "2026-07-28"),
    ("tcp", "2025-06-18")])
def test_any_transport_stands_before_any(front, revision, behind, tmp_path):
    """Over pairs of sockets; `test_the_command` has stdio on both sides."""
    spoken = "2024-11-05" if behind == "sse" else None
    address, path = FRONTS[behind]
    inner = Inner([spoken] if spoken else None)
    with inner.server.listen(address) as back:
        with Bridge(back.address.replace("/mcp", path) if path else back.address) as bridge:
            with bridge.listen(FRONTS[front][0]) as listener:
                target = listener.address.replace("/mcp", FRONTS[front][1]) if FRONTS[front][1] else listener.address
                with connect(target, revisions=[revision], elicitation=answer, roots=[tmp_path],
                             sampling=sample) as client:
                    walk(client, spoken or "2026-07-28", tmp_path)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("behind", ["2025-06-18", "2026-07-28"])
def test_a_call_that_is_cancelled_is_cancelled_behind(revision, behind):
    inner = Inner([behind])
    with Bridge(inner.server) as bridge, connect(bridge, revisions=[revision], elicitation=answer) as client:
        future = client.submit_tool("wait")
        assert inner.started.wait(PATIENCE)
        assert future.cancel()
        assert inner.cancelled.wait(PATIENCE)
        assert texts(client.call_tool("add", {"a": 1, "b": 1})) == ["2"]


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("behind", ["2025-11-25", "2026-07-28"])
def test_changes_are_told(revision, behind):
    inner = Inner([behind])
    heard, told = [], threading.Event()

    def hear(method, params):
        heard.append((method, params.get("uri")))
        if len(heard) >= 2:
            told.set()

    with Bridge(inner.server) as bridge, connect(bridge, revisions=[revision], on_notification=hear) as client:
        with client.listen("tools", uris=["config://app"]) as subscription:
            assert subscription.agreed.features == {"tools"} and subscription.agreed.uris == {"config://app"}
            inner.server.resource_updated("config://app")
            inner.server.tool(lambda: "", name="late")
            assert told.wait(PATIENCE)
            assert sorted(heard) == [("notifications/resources/updated", "config://app"),
                                     ("notifications/tools/list_changed", None)]
        assert [tool.name for tool in client.tools()][-1] == "late"


def test_each_session_has_a_child_of_its_own_which_ends_with_it(command):
    with Bridge(command, stderr=quiet) as bridge, bridge.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="legacy") as one, connect(listener.address, era="legacy") as two:
            pids = {client.call_tool("pid").structured_content["result"] for client in (one, two, one)}
            assert len(pids) == 2 and bridge.sessions == 2
        assert bridge.sessions == 0


def test_stateless_clients_share_a_child_only_if_they_are_the_same(command):
    with Bridge(command, stderr=quiet) as bridge, bridge.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address) as one, connect(listener.address) as two, connect(
                listener.address, name="other") as three:
            pids = [client.call_tool("pid").structured_content["result"] for client in (one, two, three)]
            assert pids[0] == pids[1] != pids[2] and bridge.sessions == 2


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_server_that_dies_is_an_error_with_its_last_words(command, revision):
    # An era that is not guessed, or the refusal of the guess would be among the words.
    behind = Bridge(command + ["2025-06-18"], stderr=quiet, era="legacy")
    with behind as bridge, connect(bridge, revisions=[revision]) as client:
        with pytest.raises((PeerError, ConnectionLost), match="dying words"):
            client.call_tool("die")


def test_a_client_on_another_machine_is_not_told_the_words_of_the_server(command):
    with Bridge(command + ["2025-06-18"], stderr=quiet) as bridge, bridge.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="modern") as client:
            with pytest.raises(PeerError, match="the bridge's log says why") as failed:
                client.call_tool("die")
            assert "dying" not in str(failed.value)
            assert client.call_tool("pid").content  # a new child: nothing of the client was in the old one's session


def test_a_session_over_http_ends_with_its_server(command):
    with Bridge(command + ["2025-06-18"], stderr=quiet) as bridge, bridge.listen("http://127.0.0.1:0/mcp") as listener:
        with connect(listener.address, era="legacy") as client:
            first = client.call_tool("pid").content[0].text
            with pytest.raises(McpError):
                client.call_tool("die")
            ended = threading.Event()
            for _ in range(1000):
                if not bridge.sessions:
                    break
                ended.wait(0.02)  # for a condition, bounded
            assert not bridge.sessions
            assert client.call_tool("pid").content[0].text != first  # 404, and a new session


def test_a_server_that_cannot_start_is_an_error_of_the_opening(command):
    with Bridge([sys.executable, "-c", "import sys; sys.exit('no luck')"], stderr=quiet) as bridge:
        with pytest.raises(McpError, match="no luck"):
            connect(bridge, era="legacy")
        assert bridge.sessions == 0 and "no luck" in str(bridge.failure)


def test_there_is_a_limit_of_sessions():
    with Bridge(Inner().server, limits=Limits(max_bridge_sessions=1)) as bridge:
        with connect(bridge, era="legacy"):
            with pytest.raises(PeerError, match="max_bridge_sessions"):
                connect(bridge, era="legacy")
        with connect(bridge, era="legacy") as client:
            client.ping()


def test_a_client_that_leaves_a_question_open_has_its_call_cancelled():
    inner = Inner(["2025-11-25"])
    with Bridge(inner.server) as bridge:
        with connect(bridge, era="modern", elicitation=answer) as client:
            first = client.call_tool("ask", rounds="manual")
            assert [request.method for request in first.input_requests.values()] == ["elicitation/create"]
            key, = first.input_requests
            second = client.call_tool("ask", rounds="manual", request_state=first.request_state, input_responses={
                key: {"action": "accept", "content": {"region": "us"}}})
            assert list(second.input_requests) != [key]
        # The leak check sees the rest: no call, thread or server is left.
