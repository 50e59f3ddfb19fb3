"""The bridge: one walk through every pairing of revisions and of transports, and what belongs to sessions."""
import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from mcp_ref import Context, Server, connect
from mcp_ref.client import Client
from mcp_ref.client.connecting import transport_to
from mcp_ref.devtools.bridge import Bridge
from mcp_ref.errors import ConnectionLost, LocalProtocolError, McpError, PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from mcp_ref.messages.completion import PromptReference
from mcp_ref.messages.content import EmbeddedResource, ResourceLink, TextContent, TextResourceContents
from mcp_ref.messages.sampling import CreateMessageResult
from mcp_ref.transports.lines.sockets import connect_socket
from tests.meta.facts import ROOT
from tests.support.patience import WAIT
from tests.support.sides import eventually

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
            ctx.cancelled.wait(WAIT)
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


@pytest.mark.parametrize("front", FRONT)
@pytest.mark.parametrize("behind", FRONT)
def test_each_side_learns_the_name_the_version_and_the_title_of_the_other(front, behind):
    inner, seen = Server("inner", "1.2", title="The inner one", revisions=[behind]), []

    @inner.tool
    def look(ctx: Context) -> str:
        seen.append(ctx.session.peer_info)
        return ""

    with Bridge(inner) as bridge, connect(
            bridge, name="asker", version="3.4", title="Who asks", revisions=[front]) as client:
        client.call_tool("look")
        info = client.server_info
        assert (info.name, info.version) == ("inner", "1.2")
        assert info.title == ("The inner one" if min(front, behind) >= "2025-06-18" else None)
    assert (seen[0]["name"], seen[0]["version"]) == ("asker", "3.4")
    # An `initialize` is written before it is known how old the server behind is.
    assert seen[0].get("title") == ("Who asks" if front >= "2025-06-18" else None)


SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parametrize("front", FRONT)
@pytest.mark.parametrize("behind", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("mounted", [False, True])
def test_a_server_has_one_name_everywhere(front, behind, mounted):
    """That of the server behind; that of the bridge where several are mounted."""
    inner = Inner([behind]).server
    with (Bridge(name="both") if mounted else Bridge(inner)) as bridge:
        if mounted:
            bridge.mount("one", inner)
            bridge.mount("two", Server("other"))
        prefix = "one__" if mounted else ""
        with connect(bridge, revisions=[front], elicitation=answer) as client:
            results = [client.list_tools(), client.call_tool(prefix + "add", {"a": 1, "b": 2}),
                       client.call_tool(prefix + "fail"), client.get_prompt(prefix + "review", {"code": "x"})]
            names = [client.server_info.name]
            for result in results:
                own = (result.meta or {}).get(SERVER_INFO, {})
                assert bool(own) == (front == "2026-07-28")
                names += [own["name"]] if own else []
    assert set(names) == {"both" if mounted else "inner"}


@pytest.mark.sends_illegal("*", why="a server that logs without having declared it")
@pytest.mark.parametrize("front", FRONT)
def test_log_messages_of_a_server_that_has_declared_none_are_in_the_log_of_the_bridge(front, tmp_path, caplog):
    script = tmp_path / "careless.py"
    script.write_text(CARELESS)
    with Bridge([sys.executable, str(script)], stderr=None) as bridge:
        with connect(bridge, revisions=[front], on_log=lambda *log: None) as client:
            client.call_tool("t")
        told = [record.getMessage() for record in caplog.records if "log message of a server" in record.getMessage()]
    assert len(told) == 1 and 'warning: "disk full' in told[0] and "careless.py" in told[0]
    assert "s3cret" not in told[0]


CARELESS = """
import json, sys

def out(**message):
    print(json.dumps(dict(message, jsonrpc="2.0")), flush=True)

for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        out(id=asked["id"], result={
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "careless", "version": "1"}})
    elif asked["method"] == "tools/call":
        out(method="notifications/message", params={"level": "warning", "data": "disk full, password=s3cret-s3cret"})
        out(id=asked["id"], result={"content": []})
    elif asked["method"] == "tools/list":
        out(id=asked["id"], result={"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
    elif "id" in asked:
        out(id=asked["id"], error={"code": -32601, "message": "Method not found"})
"""


def answer(params, context):
    return {"region": "eu"} if "region" in params.message else {"size": 3}


def sample(params, context):
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
    ("http", "2026-07-28"), ("http", "2025-11-25"), ("sse", "2024-11-05"), ("tcp", "2026-07-28")])
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
        assert inner.started.wait(WAIT)
        assert future.cancel()
        assert inner.cancelled.wait(WAIT)
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
            assert told.wait(WAIT)
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


# Several servers behind one

def mounted(*revisions):
    """A bridge with two servers behind, and these."""
    inner = [Inner([revision]) for revision in revisions]
    bridge = Bridge()
    for prefix, each in zip(("one", "two"), inner):
        bridge.mount(prefix, each.server)
    return bridge, inner


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_several_servers_behind_one_keep_their_names_apart(revision, tmp_path):
    bridge, inner = mounted("2025-11-25", "2026-07-28")
    heard, told = [], threading.Event()

    def hear(uri):
        heard.append(uri)
        told.set()

    with bridge, connect(bridge, revisions=[revision], elicitation=answer, on_update=hear) as client:
        assert client.server_info.name == "mcp_ref-bridge"
        assert client.instructions == "one: add, then ask\n\ntwo: add, then ask"
        assert len(client.tools()) == 14
        assert {tool.name.partition("__")[0] for tool in client.tools()} == {"one", "two"}
        assert [resource.uri for resource in client.resources()] == ["one+config://app", "two+config://app"]
        assert [prompt.name for prompt in client.prompts()] == ["one__review", "two__review"]
        for prefix in ("one", "two"):
            assert texts(client.call_tool(prefix + "__add", {"a": 1, "b": 2})) == ["3"]
            assert texts(client.call_tool(prefix + "__ask")) == ["eu 3"]
            assert client.read_resource(prefix + "+config://app").contents[0].uri == prefix + "+config://app"
            assert client.get_prompt(prefix + "__review", {"code": "x"}).messages
            assert client.complete(PromptReference(prefix + "__review"), "code", "b").completion.values == ["beta"]
        for wrong in (lambda: client.call_tool("add"), lambda: client.read_resource("config://app"),
                      lambda: client.get_prompt("three__review")):
            with pytest.raises(PeerError):
                wrong()
        with client.listen(uris=["two+config://app"]) as subscription:
            assert subscription.agreed.uris == {"two+config://app"}
            for each in inner:
                each.server.resource_updated("config://app")
            assert told.wait(WAIT)
        assert heard == ["two+config://app"]


def test_links_in_results_have_the_prefix_too():
    server = Server("linking")

    @server.tool
    def link() -> list:
        return [ResourceLink(uri="file:///a", name="a"), EmbeddedResource(TextResourceContents("file:///b", "text"))]

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    bridge = Bridge()
    bridge.mount("notes", server)
    with bridge, connect(bridge) as client:
        blocks = client.call_tool("notes__link").content
        assert [blocks[0].uri, blocks[1].resource.uri] == ["notes+file:///a", "notes+file:///b"]
        assert client.resource_templates()[0].uri_template == "notes+note://{name}"
        assert client.read_resource("notes+note://x").contents[0].text == "x"


@pytest.mark.parametrize("prefix", ["", "Git", "a_b", "a+b", "1a", "git"])
def test_a_prefix_that_would_not_tell_servers_apart_is_refused(prefix):
    bridge = Bridge()
    bridge.mount("git", Server("one"))
    with pytest.raises(ValueError):
        bridge.mount(prefix, Server("other"))


def test_a_bridge_of_one_server_takes_no_other():
    with pytest.raises(LocalProtocolError):
        Bridge(Server("one")).mount("git", Server("other"))
    with Bridge() as bridge, pytest.raises(PeerError, match="No server stands behind"):
        connect(bridge, era="legacy")


def test_the_options_about_a_server_behind_are_those_of_connect():
    """All by which `connect` reaches a server, with its defaults; but for who traces and judges."""
    def options(function, **renamed):
        return {renamed.get(each.name, each.name): each.default
                for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY}

    about_reaching = options(transport_to)
    del about_reaching["trace"], about_reaching["limits"]
    assert about_reaching.items() <= options(connect).items()
    wanted = {**about_reaching, "era": None}
    assert options(Bridge.mount) == wanted
    assert wanted.items() <= options(Bridge.__init__, auth="", auth_behind="auth").items()


# Several processes

def test_a_session_that_another_process_has_begun_is_refused_in_words():
    with Bridge(Inner().server) as bridge, connect(bridge, era="legacy") as client:
        connection, = bridge._sessions
        session = connection.state.pop("bridge")  # as where a store has handed the session over
        try:
            with pytest.raises(PeerError, match="serve it with sessions in memory"):
                client.list_tools()
        finally:
            connection.state["bridge"] = session


# The end of either side, at any moment

SLOW = textwrap.dedent("""
    import os, sys, time
    from mcp_ref import Context, Server
    server = Server("inner", "1.2", revisions=sys.argv[2:])
    print("pid", os.getpid(), file=sys.stderr, flush=True)
    if sys.argv[1] == "opening":
        sys.stdin.read()  # it answers nothing

    @server.tool
    def wait(ctx: Context) -> str:
        print("waiting", file=sys.stderr, flush=True)
        ctx.cancelled.wait(60)
        return ""

    @server.tool
    def ask(ctx: Context) -> str:
        return ctx.elicit("Which region?", {"region": str})["region"]

    server.run()
""")
MOMENTS = ("opening", "idle", "in a call", "in a question")


class Moment:
    """A bridge before a child that has come to some moment of a session, and the client that it has come to it with."""

    def __init__(self, command, moment, front):
        self.pid, self.reached, self.failed = 0, threading.Event(), threading.Event()
        self.errors, self.moment = [], moment
        script = command[-1].replace("server.py", "slow.py")
        with open(script, "w") as file:
            file.write(SLOW)
        words = command[:-1] + [script, moment.split()[-1], "2025-06-18"]
        self.bridge = Bridge(words, stderr=self.hear, era="legacy", limits=Limits(shutdown_grace=0.2))
        self.front = front
        self.asked, self.release = threading.Event(), threading.Event()
        self.client = None

    def hear(self, line):
        if line.startswith("pid "):
            self.pid = int(line[4:])
            if self.moment == "opening":
                self.reached.set()
        if line == "waiting":
            self.reached.set()

    def answer(self, params, context):
        self.reached.set()
        self.release.wait(WAIT)
        return {"region": "eu"}

    def use(self, transport):
        """Come to the moment, and note the error by which it ends."""
        client = self.client = Client(revisions=[self.front], elicitation=self.answer)
        try:
            client.open(transport)
            if self.moment == "idle":
                self.reached.set()
                self.release.wait(WAIT)
            if self.moment != "opening":
                client.call_tool("wait" if self.moment == "in a call" else "ask")
        except McpError as error:
            self.errors.append(error)
        finally:
            client.close()
            self.failed.set()


def is_gone(pid):
    for _ in range(1000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        threading.Event().wait(0.02)  # for a condition, bounded
    return False


@pytest.mark.parametrize("front", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("killed", ["server", "client"])
def test_killing_either_side_at_any_moment_ends_the_other(command, killed, moment, front):
    here = Moment(command, moment, front)
    with here.bridge as bridge, bridge.listen("tcp://127.0.0.1:0") as listener:
        using = threading.Thread(target=here.use, args=(connect_socket(listener.address),))
        using.start()
        assert here.reached.wait(WAIT)
        if killed == "server":
            os.kill(here.pid, signal.SIGKILL)
        else:
            here.client.hang_up()
        here.release.set()
        assert here.failed.wait(WAIT)
        using.join(WAIT)
        assert is_gone(here.pid)
    if killed == "server" and (moment, front) != ("idle", "2026-07-28"):  # that call had a new server behind
        assert here.errors and isinstance(here.errors[0], (PeerError, ConnectionLost, PeerProtocolError))


# The command

def test_the_command_stands_between_two_pipes(command):
    words = [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); from mcp_ref.cli import main; "
             "sys.exit(main())", command[3], "bridge"]
    for era, behind in (("legacy", "2026-07-28"), ("modern", "2025-06-18")):
        with connect(words + ["--", *command, behind], era=era, stderr=False) as client:
            assert client.server_info.name == "inner" and client.call_tool("pid").content


def test_the_command_says_what_is_wrong(command):
    words = [sys.executable, "-m", "mcp_ref", "bridge"]
    for more, said, code in ((["--", "no-such-program"], "cannot start 'no-such-program'", 3),
                             (["--http", "127.0.0.1:0", "--listen", "tcp://[::1]:0", "python3"], "one of them", 2),
                             (["--front-token-env", "X", "python3"], "is for --http", 2)):
        done = subprocess.run(words + more, cwd=command[3], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=WAIT)
        assert done.returncode == code and said in done.stderr.decode()


def test_the_command_puts_all_servers_of_a_file_behind_one(command, tmp_path):
    words = [sys.executable, "-m", "mcp_ref", "bridge"]
    file = tmp_path / "mcp.json"
    entry = {"command": command[0], "args": command[1:] + ["2025-06-18"]}
    file.write_text(json.dumps({"mcpServers": {"One": entry, "two-b": entry, "off": dict(entry, disabled=True)}}))
    with connect(words + [str(file)], cwd=command[3], stderr=False) as client:
        assert [tool.name for tool in client.tools()] == ["one__pid", "one__die", "twob__pid", "twob__die"]
        pids = [client.call_tool(name).structured_content for name in ("one__pid", "twob__pid", "one__pid")]
        assert pids[0] == pids[2] != pids[1]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("listen", [["--http", "127.0.0.1:0"], ["--listen", "tcp://127.0.0.1:0"]])
def test_a_session_without_descriptors_is_refused_and_the_others_go_on(listen, tmp_path):
    """With 1,024 the bridge ended at its 101st session, and its limit was 256."""
    resource = pytest.importorskip("resource")
    words = [sys.executable, "-m", "mcp_ref", "bridge", *listen, "--", sys.executable, "examples/echo_server.py"]
    running = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=str(ROOT),
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)))
    try:
        address = running.stderr.readline().decode().split()[2].rstrip(";")
        with connect(address, era="legacy") as first, connect(address, era="legacy") as second:
            with pytest.raises(PeerError, match="Busy: 2 sessions are open, .* descriptors"):
                connect(address, era="legacy")
            assert [client.call_tool("add", {"a": 1, "b": 2}).text for client in (first, second)] == ["3", "3"]
        eventually(lambda: connects(address))
    finally:
        running.terminate()
        assert running.wait(WAIT) == 0
        running.stderr.close()


def connects(address):
    """True if there is room for another session."""
    try:
        with connect(address, era="legacy") as client:
            return client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    except PeerError:
        return False
