"""Servers that end by themselves: real child processes, started again without a handshake and given up with one.

[2026-07-28 basic/transports/stdio §Unexpected Termination] SHOULD.
"""
import json
import os
import queue
import signal
import sys
import threading

import pytest

from mcp_ref import Server, connect, deadline
from mcp_ref.client import Client
from mcp_ref.client.request_flow import Restarts
from mcp_ref.errors import ConnectionLost, LocalProtocolError, PeerProtocolError
from mcp_ref.limits import Limits
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually, in_thread

MODERN = "2026-07-28"
QUICK = Limits(restart_delay=0.0, request_timeout=PATIENCE, initialize_timeout=PATIENCE, probe_timeout=PATIENCE)

CHILD = r'''
import json, os, sys
folder, deadly, times, era = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with open(os.path.join(folder, "starts"), "a") as starts:
    starts.write("%d\n" % os.getpid())
SHARED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOLS = [
    {"name": "plain", "inputSchema": {"type": "object"}},
    {"name": "destructive", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
    {"name": "reads", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "again", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
]
DONE = {"resultType": "complete", "content": [{"type": "text", "text": str(os.getpid())}]}
ASKS = {"resultType": "input_required", "requestState": "state", "inputRequests": {"r": {"method": "roots/list"}}}
CAPABILITIES = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}}
ANSWERS = {
    "server/discover": dict(SHARED, supportedVersions=["2026-07-28"], capabilities=CAPABILITIES),
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES,
                   "serverInfo": {"name": "c", "version": "1"}},
    "tools/list": dict(SHARED, tools=TOOLS), "tools/call": DONE,
    "prompts/list": dict(SHARED, prompts=[]), "prompts/get": {"resultType": "complete", "messages": []},
    "resources/list": dict(SHARED, resources=[]), "resources/templates/list": dict(SHARED, resourceTemplates=[]),
    "resources/read": dict(SHARED, contents=[]),
    "completion/complete": {"resultType": "complete", "completion": {"values": ["x"]}},
}
for line in sys.stdin:
    message = json.loads(line)
    with open(os.path.join(folder, "log"), "a") as log:
        log.write(line)
    method, params = message["method"], message.get("params", {})
    name = params.get("name") if method == "tools/call" else None
    if deadly in (method, name):
        with open(os.path.join(folder, "deaths"), "a+") as deaths:
            deaths.seek(0)
            if len(deaths.read()) < times:
                deaths.write("x")
                deaths.flush()
                sys.stderr.write("last words\n")
                sys.stderr.flush()
                if os.path.exists(os.path.join(folder, "holds")):
                    import subprocess
                    held = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
                    with open(os.path.join(folder, "holds"), "a") as holds:
                        holds.write("%d\n" % held.pid)
                os._exit(3)
    if era == "legacy" and method == "server/discover":
        answer = {"error": {"code": -32601, "message": "no"}}
    elif method == "resources/subscribe" and os.path.exists(os.path.join(folder, "refuses")):
        answer = {"error": {"code": -32602, "message": "gone"}}
    elif name == "asks" and "requestState" not in params:
        answer = {"result": ASKS}
    else:
        answer = {"result": ANSWERS.get(method, {})}
    if "id" in message:
        print(json.dumps(dict(answer, jsonrpc="2.0", id=message["id"])), flush=True)
'''


class Family:
    """The processes of one server, which ends itself the first ``times`` times it is asked for ``deadly``."""

    def __init__(self, folder, deadly="nothing", times=1, era="modern"):
        self.folder = folder
        self.command = [sys.executable, "-S", "-c", CHILD, str(folder), deadly, str(times), era]

    def client(self, limits=QUICK, **options):
        return connect(self.command, **dict({"era": "modern", "limits": limits}, **options))

    def _lines(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    @property
    def starts(self):
        """The ids of its processes, in order."""
        return [int(line) for line in self._lines("starts")]

    def got(self, *methods):
        """The requests of these methods that its processes have read."""
        return [m for m in map(json.loads, self._lines("log")) if m["method"] in methods or not methods]


def text(result):
    return result.content[0].text


@pytest.mark.skipif(sys.platform != "linux", reason="only there a pipe certainly says what was not read from it")
@pytest.mark.parametrize("end, starts", [
    ("sys.exit(3)", 1), ("import no_such_module", 1), ("os.close(0); sys.exit()", 1), ("sys.stdin.readline()", 2)])
@pytest.mark.parametrize("trace", [None, Trace(lambda event: None)], ids=["plain", "traced"])
def test_a_server_that_dies_at_start_is_started_once(trace, end, starts, tmp_path):
    """The last one has read the first request, and may be of a revision with handshake, which began otherwise."""
    begun = "import os, sys; open(%r, 'a').write('x'); " % str(tmp_path / "starts")
    with pytest.raises(ConnectionLost, match="server exited with code|closed its output"):
        connect([sys.executable, "-S", "-c", begun + end], era="auto", limits=QUICK, trace=trace)
    assert (tmp_path / "starts").read_text() == starts * "x"


ASKING = {
    "tools/list": lambda c: c.list_tools(), "prompts/list": lambda c: c.list_prompts(),
    "resources/list": lambda c: c.list_resources(), "resources/templates/list": lambda c: c.list_resource_templates(),
    "resources/read": lambda c: c.read_resource("x:y"), "prompts/get": lambda c: c.get_prompt("p"),
    "completion/complete": lambda c: c.complete("p", "a", "v"),
    "reads": lambda c: c.call_tool("reads"), "again": lambda c: c.call_tool("again"),
    "future read": lambda c: c.submit_resource("x:y").result(PATIENCE),
    "future prompt": lambda c: c.submit_prompt("p").result(PATIENCE),
    "future reads": lambda c: c.submit_tool("reads").result(PATIENCE),
    "future again": lambda c: c.submit_tool("again").result(PATIENCE),
}
DEADLY = {
    "future read": "resources/read", "future prompt": "prompts/get", "future reads": "reads", "future again": "again",
}


@pytest.mark.spec("stdio.restart")
@pytest.mark.parametrize("call", ASKING)
def test_what_may_be_asked_twice_is_asked_again_of_a_new_process(call, tmp_path):
    deadly = DEADLY.get(call, call)
    method = deadly if "/" in deadly else "tools/call"
    family = Family(tmp_path, deadly)
    with family.client() as client:
        list(client.tools(refresh=True)) if deadly != "tools/list" else None
        ASKING[call](client)
        assert len(family.starts) == 2
        ids = [message["id"] for message in family.got() if "id" in message]
        assert len(set(ids)) == len(ids), "also those of another process are new"
        assert len(family.got(method)) == 2
        assert client.server_capabilities["tools"] == {}


@pytest.mark.spec("stdio.restart")
def test_discovery_too(tmp_path):
    family = Family(tmp_path, "server/discover", 1)
    (tmp_path / "deaths").write_text("x")
    with family.client() as client:
        (tmp_path / "deaths").write_text("")
        assert client.discover().supported_versions == [MODERN]
        client.ping()
        assert len(family.starts) == 2


@pytest.mark.spec("stdio.restart")
@pytest.mark.parametrize("name", ["plain", "destructive", "unlisted"])
@pytest.mark.parametrize("form", ["call", "future"])
def test_a_tool_that_may_have_done_its_work_is_not_called_again(name, form, tmp_path):
    family = Family(tmp_path, name)
    with family.client() as client:
        if name != "unlisted":
            list(client.tools())
        with pytest.raises(ConnectionLost, match="exited with code 3; last stderr lines: last words") as caught:
            client.call_tool(name) if form == "call" else client.submit_tool(name).result(PATIENCE)
        assert caught.value.may_have_run and not caught.value.unsent
        assert len(family.got("tools/call")) == 1
        assert text(client.call_tool(name)) == str(family.starts[1]), "the next call starts a new process"
        assert len(family.starts) == 2


@pytest.mark.spec("stdio.restart")
def test_a_tool_of_which_nothing_is_known_is_not_called_again(tmp_path):
    family = Family(tmp_path, "reads")
    with family.client() as client:
        with pytest.raises(ConnectionLost) as caught:
            client.call_tool("reads")
        assert caught.value.may_have_run


@pytest.mark.spec("stdio.restart")
@pytest.mark.parametrize("form", ["call", "future"])
def test_a_process_that_ended_between_two_calls_is_not_noticed(form, tmp_path):
    family = Family(tmp_path)
    with family.client() as client:
        client.call_tool("plain")
        connection = client.connection
        os.kill(family.starts[0], signal.SIGKILL)
        assert connection.wait_closed(PATIENCE)
        found = client.call_tool("plain") if form == "call" else client.submit_tool("plain").result(PATIENCE)
        assert text(found) == str(family.starts[1]) and len(family.starts) == 2
        assert len(family.got("tools/call")) == 2, "nothing was sent twice"


@pytest.mark.spec("stdio.restart")
@pytest.mark.race
def test_many_callers_start_one_new_process(tmp_path):
    family = Family(tmp_path, "again")
    with family.client() as client:
        list(client.tools())
        start = threading.Barrier(8)

        def call():
            start.wait(PATIENCE)
            return text(client.call_tool("again"))

        outcomes = [in_thread(call) for _ in range(8)]
        assert {outcome.get() for outcome in outcomes} <= {str(pid) for pid in family.starts}
        assert len(family.starts) == 2


def lost(call, match):
    with pytest.raises(ConnectionLost, match=match) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("form", ["call", "future"])
@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_with_a_handshake_a_child_that_ended_is_an_error_until_it_is_reconnected(tmp_path, era, form):
    family = Family(tmp_path, "plain", era="legacy")
    with family.client(era=era) as client:
        assert str(client.revision) == "2025-11-25"
        kept = client.list_tools()
        advice = r"exited with code 3; last stderr lines: last words\nclient.reconnect\(\) .*restart=True"
        call = client.call_tool if form == "call" else lambda name: client.submit_tool(name).result(PATIENCE)
        assert not lost(lambda: call("plain"), r"tools/call \(request \d+\): server " + advice).unsent
        for call in (client.list_prompts, lambda: client.submit_tool("plain").result(PATIENCE)):
            assert lost(call, "was not sent: server " + advice).unsent
        assert len(family.starts) == 1
        assert client.reconnect() is client
        assert text(client.call_tool("plain")) == str(family.starts[1])
        assert client.list_tools() is not kept and len(family.got("tools/call")) == 2
        ids = [message["id"] for message in family.got() if "id" in message]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_client_can_be_reconnected_that_is_open_or_was_closed(tmp_path, era):
    family = Family(tmp_path, era=era)
    with family.client(era=era) as client:
        client.reconnect().call_tool("plain")
        client.close()
        client.reconnect().call_tool("plain")
        assert len(family.starts) == 3 and len(family.got("tools/call")) == 2
    with pytest.raises(ConnectionLost):
        client.ping()


@pytest.mark.parametrize("form", ["call", "future"])
def test_with_restart_the_next_request_starts_the_server_again_and_nothing_runs_twice(tmp_path, form):
    family = Family(tmp_path, "plain", 10**6, era="legacy")
    limits = Limits(max_restarts=2, restart_delay=0.0)
    with family.client(era="legacy", restart=True, limits=limits) as client:
        def call():
            return client.call_tool("plain") if form == "call" else client.submit_tool("plain").result(PATIENCE)

        for runs in (1, 2, 3):
            assert "reconnect" not in str(lost(call, r"tools/call \(request \d+\): server exited with code 3"))
            assert len(family.starts) == len(family.got("tools/call")) == runs
        lost(call, "restarted 2 times in a row, which is max_restarts; the last time tools/call was not sent")
        assert len(family.starts) == len(family.got("tools/call")) == 3


def test_what_a_server_remembered_of_its_session_is_asked_for_again(tmp_path):
    family = Family(tmp_path, era="legacy")
    heard = queue.SimpleQueue()
    with family.client(era="legacy") as client:
        client.set_log_level("warning")
        client.subscribe_resource("x:a", heard.put)
        with client.listen(uris=["x:b"], callback=heard.put):
            client.reconnect()
            asked = [m["params"] for m in family.got("logging/setLevel", "resources/subscribe")]
            assert asked == 2 * [{"level": "warning"}, {"uri": "x:a"}, {"uri": "x:b"}]
            assert [heard.get(timeout=PATIENCE) for _ in "ab"] == ["x:a", "x:b"]
        assert [m["params"] for m in family.got("resources/unsubscribe")] == [{"uri": "x:b"}]
        client.close()
        client.reconnect()
        assert len(family.got("resources/subscribe")) == 4, "a client that was closed wants nothing"


def test_what_cannot_be_asked_for_again_is_told(tmp_path, caplog):
    family = Family(tmp_path, era="legacy")
    with family.client(era="legacy") as client:
        client.subscribe_resource("x:a")
        (tmp_path / "refuses").touch()
        client.reconnect()
        assert client.connection.counters["not asked again"] == 1
        assert "resources/subscribe {'uri': 'x:a'}: " in caplog.text


def test_a_transport_that_cannot_be_opened_again_is_named():
    here, there = pair()
    Server("once").connect(there)
    with Client(era="legacy").open(here) as client:
        with pytest.raises(LocalProtocolError, match=r"a memory transport cannot be opened a second time: .*renew"):
            client.reconnect()
        client.close()
        with pytest.raises(ConnectionLost) as caught:
            client.ping()
        assert "reconnect" not in str(caught.value)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_servers_at_an_address_are_reconnected_to_as_well(era):
    server = Server("there")

    @server.tool
    def plain() -> str:
        return "yes"

    with server.listen("tcp://127.0.0.1:0") as listener, server.listen("http://127.0.0.1:0/mcp") as web:
        for target in (server, listener.address, web.address):
            with connect(target, era=era) as client:
                first = client.connection
                assert text(client.reconnect().call_tool("plain")) == "yes"
                assert client.connection is not first and first.closed


@pytest.mark.spec("stdio.restart")
def test_a_server_that_ends_each_time_is_given_up_and_the_limit_named(tmp_path):
    family = Family(tmp_path, "plain", 10**6)
    with family.client(limits=Limits(max_restarts=2, restart_delay=0.0)) as client:
        for _ in range(3):
            with pytest.raises(ConnectionLost) as caught:
                client.call_tool("plain")
            assert "max_restarts" not in str(caught.value)
        for _ in range(2):
            with pytest.raises(ConnectionLost, match="restarted 2 times in a row, which is max_restarts") as caught:
                client.call_tool("plain")
        assert len(family.starts) == 3


def test_a_request_is_sent_again_once(tmp_path):
    family = Family(tmp_path, "resources/read", 10**6)
    with family.client() as client:
        with pytest.raises(ConnectionLost):
            client.read_resource("x:y")
        assert len(family.got("resources/read")) == 2
        future = client.submit_resource("x:y")
        with pytest.raises(ConnectionLost):
            future.result(PATIENCE)
        assert len(family.got("resources/read")) == 3, "the first try found nobody, and was none of these"


def test_an_answer_goes_to_the_new_process_if_the_old_one_ended_meanwhile(tmp_path):
    """A question that is being answered belongs to no process [2026-07-28 basic/index §Statelessness]."""
    from mcp_ref.client.roots import Roots

    for form in ("call", "future"):
        folder = tmp_path / form
        folder.mkdir()
        family = Family(folder)

        class Fatal(Roots):
            """Roots that are listed when the server is gone."""

            def route(self, client, revision):
                route = super().route(client, revision)
                inner = route.call

                def call(context, params):
                    os.kill(family.starts[0], signal.SIGKILL)
                    eventually(lambda: context.connection.closed)
                    return inner(context, params)

                route.call = call
                return route

        with family.client(roots=Fatal(["/a"])) as client:
            found = client.call_tool("asks") if form == "call" else client.submit_tool("asks").result(PATIENCE)
            assert text(found) == str(family.starts[1])
            assert family.got("tools/call")[1]["params"]["requestState"] == "state"
            assert len(family.starts) == 2


def test_an_old_server_that_does_not_survive_the_first_question_is_shaken_hands_with(tmp_path):
    """Reading: its end is an answer like any other; the process that is asked anew hears no question."""
    family = Family(tmp_path, "server/discover", 10**6, "legacy")
    with family.client(era="auto") as client:
        assert str(client.revision) == "2025-11-25"
        assert text(client.call_tool("plain")) == str(family.starts[1])
        assert [m["method"] for m in family.got()][:3] == ["server/discover", "initialize", "notifications/initialized"]


def test_a_server_that_ends_for_another_reason_is_lost(tmp_path):
    """It has been offered a handshake already, or is known to need none."""
    family = Family(tmp_path, "initialize", 10**6, "legacy")
    with pytest.raises(ConnectionLost):
        family.client(era="auto")
    assert len(family.starts) == 1
    family = Family(tmp_path, "server/discover", 10**6)
    with pytest.raises(ConnectionLost):
        family.client(era="auto", eras={" ".join(family.command): MODERN})
    assert len(family.starts) == 2


def test_a_program_that_does_nothing_but_end_is_an_error_with_its_last_words():
    for era in ("auto", "modern", "legacy"):
        with pytest.raises(ConnectionLost, match="code 4; last stderr lines: oh no"):
            connect([sys.executable, "-S", "-c", "import sys; sys.stderr.write('oh no'); sys.exit(4)"], era=era)


@pytest.mark.parametrize("pidfd", [True, False])
def test_a_server_that_died_is_started_again_though_another_process_holds_its_streams(tmp_path, monkeypatch, pidfd):
    """[2026-07-28 basic/transports/stdio §Unexpected Termination] SHOULD"""
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    (tmp_path / "holds").touch()
    family = Family(tmp_path, "plain")
    try:
        with family.client() as client:
            started = deadline.clock()
            with pytest.raises(ConnectionLost, match="server exited with code 3; last stderr lines: last words"):
                client.call_tool("plain")
            assert text(client.call_tool("plain")) == str(family.starts[1])
            assert deadline.clock() - started < PATIENCE / 2  # it was the time limit of the request, before
    finally:
        for pid in family._lines("holds"):
            os.kill(int(pid), signal.SIGKILL)


def test_a_closed_client_starts_nothing(tmp_path):
    family = Family(tmp_path)
    client = family.client()
    client.close()
    for call in (lambda: client.list_tools(), lambda: client.submit_resource("x:y").result(PATIENCE)):
        with pytest.raises(ConnectionLost):
            call()
    assert len(family.starts) == 1


def test_a_client_may_be_opened_again_on_a_new_process(tmp_path):
    family = Family(tmp_path)
    client = family.client()
    client.close()
    client.open(StdioChild(family.command))
    assert text(client.call_tool("plain")) == str(family.starts[1])
    client.close()


def test_the_next_process_has_the_same_environment_folder_and_watchers(tmp_path):
    program = ("import json, os, sys\nprint('noise', os.getpid())\n"
               "for line in sys.stdin:\n m = json.loads(line)\n if m['method'] == 'tools/call': os._exit(1)\n"
               " print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'resultType': 'complete', 'ttlMs': 0,"
               " 'cacheScope': 'private', 'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}},"
               " 'instructions': os.environ['WHO'] + ' in ' + os.getcwd(), 'tools': []}}), flush=True)\n")
    noise, events = [], []
    child = StdioChild([sys.executable, "-S", "-c", program], env={"WHO": "me"}, cwd=tmp_path)
    child.on_noise = noise.append
    with Client(era="modern", limits=QUICK).open(tap(child, Trace(events.append), "client")) as client:
        expected = "me in %s" % tmp_path
        assert client.instructions == expected
        with pytest.raises(ConnectionLost):
            client.call_tool("t")
        client.instructions = None
        client.list_tools()
        assert client.instructions == expected and len(noise) == 2 and len(set(noise)) == 2
    seen = [event.message["method"] for event in events if event.message and event.direction == "client"]
    assert seen == ["server/discover", "tools/call", "server/discover", "tools/list"]
    assert len([event for event in events if event.text.startswith("noise")]) == 2, "each is seen once"


def test_a_server_behind_a_socket_is_connected_to_again():
    server = Server("socket")
    server.tool(lambda: "here", name="where")
    listener = server.listen("tcp://127.0.0.1:0")
    try:
        with connect(listener.address, era="modern", limits=QUICK) as client:
            assert text(client.call_tool("where")) == "here"
            first = client.connection
            for connection in server.connections:
                connection.close()
            first.transport.close()
            assert first.wait_closed(PATIENCE)
            assert text(client.call_tool("where")) == "here" and client.connection is not first
    finally:
        listener.close()


# --- When, and how often ----------------------------------------------------------------------


class Life:
    """What `Restarts` knows of a server: whether there is a next life."""

    def __init__(self, lives=10**6):
        self.transport = self
        self.lives = lives

    def renew(self):
        self.lives -= 1
        return self if self.lives >= 0 else None


class Waits:
    """An event that is never set, and writes down how long it was waited for."""

    def __init__(self):
        self.seconds = []

    def wait(self, seconds):
        self.seconds.append(seconds)
        return False


def test_the_first_restart_is_at_once_and_each_further_one_waits_twice_as_long(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(deadline, "clock", lambda: now[0])
    waits, life = Waits(), Life()
    restarts = Restarts(Limits(restart_delay=0.25, max_restarts=5, restart_healthy=30.0))
    for _ in range(5):
        assert restarts.next(life, ConnectionLost("gone"), waits) is life
        now[0] += 29.0
    assert waits.seconds == [0.0, 0.25, 0.5, 1.0, 2.0]
    with pytest.raises(ConnectionLost, match="restarted 5 times in a row, which is max_restarts; the last time gone"):
        restarts.next(life, ConnectionLost("gone"), waits)
    now[0] += 1.0
    assert restarts.next(life, ConnectionLost("gone"), waits) is life, "its last life was long enough"
    assert waits.seconds[5:] == [0.0]


def test_what_has_no_next_life_and_what_is_closed_meanwhile_is_not_restarted():
    restarts = Restarts(Limits(restart_delay=PATIENCE))
    assert restarts.next(Life(0), ConnectionLost("gone"), Waits()) is None
    stopped = threading.Event()
    stopped.set()
    assert restarts.next(Life(), ConnectionLost("gone"), stopped) is None


@pytest.mark.race
def test_closing_ends_the_wait_before_a_restart(tmp_path):
    family = Family(tmp_path, "plain", 10**6)
    client = family.client(limits=Limits(restart_delay=1000.0))
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            client.call_tool("plain")
    waiting = in_thread(client.call_tool, "plain")
    eventually(lambda: client._renewing.locked())
    client.close()
    with pytest.raises(ConnectionLost):
        waiting.get()
    assert len(family.starts) == 2


def test_a_new_process_that_speaks_otherwise_is_found_out(tmp_path):
    """It was replaced meanwhile: [2026-07-28 basic/versioning
    §Backward Compatibility with Initialization-Based Versions] MAY."""
    family = Family(tmp_path, "plain")
    with family.client(era="auto") as client:
        assert str(client.revision) == MODERN
        with pytest.raises(ConnectionLost):
            client.call_tool("plain")
        ended = client.connection
        ended.transport.renew = None
        replaced = Family(tmp_path, "nothing", 0, "legacy")
        inner = ended.transport
        inner.renew = lambda: StdioChild(replaced.command)
        assert text(client.call_tool("plain")) == str(family.starts[1])
        assert str(client.revision) == "2025-11-25"
    with pytest.raises(PeerProtocolError):
        Family(tmp_path, "nothing", 0, "legacy").client(era="modern")
