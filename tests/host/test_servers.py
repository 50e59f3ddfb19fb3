"""The servers of a host: connected side by side, lost one by one, started again, closed all at once."""
import json
import os
import signal
import sys
import threading

import pytest

from mcp_ref import Host, Limits, Server
from mcp_ref.errors import ConnectFailed, ConnectionLost, LocalProtocolError, McpError, RequestTimeout
from mcp_ref.host import Policy, allow
from mcp_ref.host.member import Member
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair
from tests.support.hosting import scripted, serving, tool
from tests.support.patience import patience
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, Gate, eventually, in_thread

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ECHO = [sys.executable, os.path.join(ROOT, "examples", "echo_server.py")]


def adding():
    server = Server("adding")

    @server.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    return server


class Losses:
    """What ``on_lost`` was told, and what it did about it."""

    def __init__(self, act=lambda server, reason: None):
        self.told = []
        self.act = act
        self._come = threading.Semaphore(0)

    def __call__(self, server, reason):
        self.told.append((server, reason))
        try:
            self.act(server, reason)
        finally:
            self._come.release()

    def wait(self):
        assert self._come.acquire(timeout=PATIENCE), "nobody was told"


# -- Connecting --------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_each_server_has_a_client_under_the_hosts_name(revision):
    with Host("my-host", "7") as host:
        near, far = pair()
        peer = ScriptedPeer(far)
        opening = in_thread(host.connect, "files", near, revisions=[revision])
        params = peer.accept_handshake(revision)
        client = opening.get()
        assert params["clientInfo"] == {"name": "my-host", "version": "7"} and params["capabilities"] == {}
        assert host.clients == {"files": client} and client.revision.name == revision


@pytest.mark.parametrize("name", ["files", "Files", "a__b", "", "a b"])
def test_a_name_that_is_taken_or_none_opens_nothing(name):
    opened = []
    with Host() as host:
        scripted(host, "files")
        with pytest.raises(ValueError):
            host.connect(name, lambda: opened.append(1))
        with pytest.raises(ValueError):
            host.connect_all({"good": lambda: opened.append(1), name: lambda: opened.append(1)})
        assert list(host.clients) == ["files"] and opened == []


def test_several_are_opened_at_the_same_time():
    together = threading.Barrier(4)

    def target():
        together.wait(PATIENCE)
        return serving(adding())()

    with Host() as host:
        assert host.connect_all(dict.fromkeys("abcd", target)) == {}
        assert sorted(host.clients) == list("abcd")


def test_the_failure_of_one_is_told_and_the_others_are_there():
    def broken():
        raise ConnectFailed("nobody at home")

    events = []
    limits = Limits(initialize_timeout=patience(0.5), probe_timeout=patience(0.5), shutdown_grace=0.2,
                    terminate_grace=0.2)
    with Host(limits=limits, audit=events.append, policy=Policy(tool_call=allow)) as host:
        mute, kept = pair()
        errors = host.connect_all({
            "a": serving(adding()), "b": "no-such-program-anywhere --x", "c": broken, "d": mute,
            "e": {"target": serving(adding()), "trusted": True},
        })
        assert {name: type(error) for name, error in errors.items()} == {
            "b": ConnectFailed, "c": ConnectFailed, "d": RequestTimeout}
        assert "no-such-program-anywhere" in str(errors["b"]) and host.failed == errors
        assert sorted(host.clients) == ["a", "e"]
        assert host.call_tool("e__add", {"a": 1, "b": 2}).content[0].text == "3"
        assert sorted(e["server"] for e in events if e.get("outcome") == "failed") == ["b", "c", "d"]
        assert host.connect("b", serving(adding())) is host.clients["b"] and sorted(host.failed) == ["c", "d"]
        kept.close()


@pytest.mark.parametrize("entry, error", [
    ({"trusted": True}, TypeError), ({"target": "x", "nonsense": 1}, TypeError), (lambda: 1 / 0, ZeroDivisionError),
])
def test_a_mistake_in_the_program_is_raised(entry, error):
    with Host() as host:
        with pytest.raises(error):
            host.connect_all({"a": entry})
        assert host.clients == {} and host.lost == {}
        host.connect("a", serving(adding()))


@pytest.mark.parametrize("option", [
    "sampling", "elicitation", "on_log", "on_update", "on_notification", "limits",
])
def test_nothing_goes_past_the_host(option):
    with Host() as host:
        with pytest.raises(TypeError, match="%s is for the Host" % option):
            host.connect("a", serving(adding()), **{option: lambda *given: True})
        assert host.clients == {}


def test_a_closed_host_connects_nobody():
    host = Host()
    host.close()
    with pytest.raises(ConnectionLost, match="host was closed"):
        host.connect("a", serving(adding()))
    assert isinstance(host.connect_all({"a": serving(adding())})["a"], ConnectionLost)


# -- Losing ------------------------------------------------------------------------------------


@pytest.mark.race
def test_a_server_that_dies_is_told_once_and_the_others_work():
    losses = Losses()
    events = []
    with Host(on_lost=losses, audit=events.append, policy=Policy(tool_call=allow)) as host:
        peer = scripted(host, "dying", tools=[tool("t")])
        host.connect("living", serving(adding()))
        host.tools()
        peer.transport.close()
        losses.wait()
        assert [name for name, _ in losses.told] == ["dying"] == list(host.lost)
        assert host.lost["dying"] == losses.told[0][1] and list(host.clients) == ["living"]
        assert host.call_tool("living__add", {"a": 1, "b": 2}).content[0].text == "3"
        assert [t.qualified for t in host.tools()] == ["living__add"]
        with pytest.raises(ConnectionLost, match=r"dying is lost \(Host.restart\('dying'\) starts it again\): "):
            host.call_tool("dying__t")
        host.disconnect("dying")
        assert host.lost == {}
    assert [e["event"] for e in events if e["server"] == "dying"] == ["connect", "lost"]
    assert len(losses.told) == 1


@pytest.mark.race
@pytest.mark.parametrize("before", [True, False])
def test_a_server_that_dies_as_it_is_connected_is_told_once(monkeypatch, before):
    """Just before or just after `open` counts it as connected, the reader sees the end."""
    keep, losses, shaken = Member._keep, Losses(), threading.Event()
    near, far = pair()
    peer = ScriptedPeer(far)

    def dies(member):
        kept = None if before else keep(member)
        assert shaken.wait(PATIENCE)
        peer.transport.close()
        eventually(lambda: member._client.end is not None)
        if not before:
            losses.wait()
        return keep(member) if before else kept

    monkeypatch.setattr(Member, "_keep", dies)
    with Host(on_lost=losses) as host:
        opening = in_thread(host.connect, "a", near)
        peer.accept_handshake()
        shaken.set()
        opening.get()
        if before:
            losses.wait()
        assert list(host.lost) == ["a"] and host.clients == {}
    assert len(losses.told) == 1


@pytest.mark.race
def test_a_lost_server_can_be_started_again_where_it_is_told():
    ends, server = [], adding()

    def target():
        near, far = pair()
        ends.append(server.connect(far))
        return near

    losses = Losses(lambda name, reason: host.restart(name))
    with Host(on_lost=losses, policy=Policy(tool_call=allow)) as host:
        first = host.connect("a", target)
        host.tools()
        ends[0].close()
        losses.wait()
        assert host.clients["a"] is not first and host.lost == {}
        assert host.call_tool("a__add", {"a": 1, "b": 2}).content[0].text == "3"


def test_a_callback_that_raises_harms_nobody():
    losses = Losses(lambda name, reason: 1 / 0)
    with Host(on_lost=losses) as host:
        scripted(host, "a").transport.close()
        losses.wait()
        eventually(lambda: host.counters["on_lost"] == 1)


@pytest.mark.race
def test_what_we_end_ourselves_is_not_lost():
    losses = Losses()
    with Host(on_lost=losses) as host:
        host.connect("a", serving(adding()))
        host.connect("b", serving(adding()))
        host.disconnect("a")
        assert list(host.clients) == ["b"]
        host.restart("b")
    assert losses.told == [] and host.lost == {} and host.clients == {}


def test_a_transport_of_ones_own_cannot_be_used_again():
    with Host() as host:
        scripted(host, "a")
        client = host.clients["a"]
        with pytest.raises(LocalProtocolError, match="function that makes a transport"):
            host.restart("a")
        assert host.clients == {"a": client}


@pytest.mark.parametrize("act", [Host.restart, Host.disconnect, Host.tools, lambda host, name: host.follow(name, None)])
def test_a_server_that_is_not_there_is_a_lookup_error(act):
    with Host() as host:
        scripted(host, "there")
        with pytest.raises(LookupError, match="'nobody'; there are there"):
            act(host, "nobody")


def test_a_restart_that_fails_can_be_tried_again():
    makers = [serving(adding()), lambda: 1 / 0, serving(adding())]

    def target():
        return makers.pop(0)()

    with Host() as host:
        host.connect("a", target)
        with pytest.raises(ZeroDivisionError):
            host.restart("a")
        assert host.clients == {} and "could not be opened" in host.lost["a"]
        assert host.restart("a") is host.clients["a"] and host.lost == {}


def test_approvals_and_names_survive_a_restart():
    asked = []

    def ask(call):
        asked.append(call.changed)
        return True

    descriptions = ["one", "two"]

    def target():
        server = Server("s")
        server.tool(lambda: "x", name="t", description=descriptions.pop(0))
        return serving(server)()

    with Host(policy=Policy(tool_call=ask)) as host:
        host.connect("a", target)
        host.call_tool("a__t")
        host.restart("a")
        host.call_tool("a__t")
    assert asked == [False, True]


# -- Closing -----------------------------------------------------------------------------------


def test_all_are_closed_at_the_same_time():
    together = threading.Barrier(3)

    def target():
        near = serving(adding())()
        end, ended = near.close, []

        def close():
            if not ended:
                ended.append(True)
                together.wait(PATIENCE)
            end()

        near.close = close
        return near

    host = Host()
    host.connect_all(dict.fromkeys("abc", target))
    host.close()
    assert not together.broken and host.clients == {}


@pytest.mark.race
def test_closing_is_for_any_thread_and_as_often_as_one_likes():
    host = Host()
    host.connect_all({name: serving(adding()) for name in "abc"})
    connections = [client.connection for client in host.clients.values()]
    closing = [in_thread(host.close) for _ in range(4)]
    for one in closing:
        one.get()
    host.close()
    assert all(connection.closed for connection in connections)


def test_closing_while_a_server_is_opened_ends_the_opening():
    host = Host()
    near, far = pair()
    peer = ScriptedPeer(far)
    opening = in_thread(host.connect, "slow", near)
    peer.receive()
    host.close()
    with pytest.raises(ConnectionLost):
        opening.get()
    assert peer.ended() and host.clients == {}


def test_closing_says_nothing_about_streams_that_end_with_it(caplog):
    host = Host(policy=Policy(tool_call=allow))
    host.connect("a", adding(), era="modern")
    listening = host.clients["a"].listening
    eventually(lambda: listening.agreed.features)
    host.close()
    assert not listening.agreed.features
    assert not [record.getMessage() for record in caplog.records if record.levelname != "INFO"]


def test_closing_frees_who_waits_for_an_answer():
    host = Host(policy=Policy(tool_call=allow))
    peer = scripted(host, "a", tools=[tool("t")])
    del peer.answers["tools/call"]
    waiting = in_thread(host.call_tool, "a__t")
    peer.receive(lambda message: message.get("method") == "tools/call")
    host.close()
    with pytest.raises(ConnectionLost):
        waiting.get()


def test_a_callback_may_close_the_host():
    def ask_model(request):
        host.close()
        closed.set()
        return "bye"

    closed = threading.Event()
    host = Host(sampling=ask_model, policy=Policy(sampling=allow))
    peer = scripted(host, "a")
    host.connect("b", serving(adding()))
    message = {"role": "user", "content": {"type": "text", "text": "?"}}
    peer.request(1, "sampling/createMessage", {"messages": [message], "maxTokens": 1})
    assert closed.wait(PATIENCE) and peer.ended()
    host.close()
    assert host.clients == {}


@pytest.mark.race
def test_closing_waits_for_who_tells_of_a_loss():
    gate, ended = Gate(), []

    def slow(name, reason):
        gate.hold()
        threading.Event().wait(0.05)  # work, in whose midst the host is closed
        ended.append(name)

    with gate:
        host = Host(on_lost=slow)
        scripted(host, "a").transport.close()
        gate.entered()
        gate.open()
        host.close()
    assert ended == ["a"]


def test_closing_frees_who_is_still_reaching_for_a_server():
    class Unreachable(Transport):
        def __init__(self):
            self.reached, self.ended = threading.Event(), threading.Event()

        def open(self):
            self.reached.set()
            assert self.ended.wait(PATIENCE), "nobody gave up"
            raise ConnectFailed("given up")

        def read(self):
            return None

        def write(self, messages):
            raise ConnectionLost("given up")

        def close(self):
            self.ended.set()

    host, target = Host(), Unreachable()
    opening = in_thread(host.connect, "far", target)
    assert target.reached.wait(PATIENCE)
    host.close()
    with pytest.raises(ConnectFailed):
        opening.get()
    assert host.clients == {}


# -- What is heard -----------------------------------------------------------------------------


def test_logs_updates_and_notifications_come_with_the_servers_name():
    heard, done = [], threading.Semaphore(0)

    def hear(*what):
        heard.append(what)
        done.release()

    with Host(on_log=hear, on_update=hear, on_notification=lambda server, method, params: done.release()) as host:
        for name in ("a", "b"):
            peer = scripted(host, name, answers={"resources/subscribe": {}})
            host.clients[name].subscribe_resource("x:y")
            peer.notify("notifications/message", {"level": "info", "data": [name], "logger": "l"})
            peer.notify("notifications/resources/updated", {"uri": "x:y"})
            for _ in range(4):
                assert done.acquire(timeout=PATIENCE)
    assert heard == [("a", "info", ["a"], "l"), ("a", "x:y"), ("b", "info", ["b"], "l"), ("b", "x:y")]


# -- Real processes ----------------------------------------------------------------------------


def config_of(**servers):
    echo = {"command": ECHO[0], "args": ECHO[1:]}
    return {"mcpServers": {name: dict(echo, **more) for name, more in servers.items()}}


def pid_of(host, name):
    return host.clients[name].connection.transport.inner.pid  # inside the tap that every test has


def test_a_configuration_starts_real_servers(tmp_path):
    path = tmp_path / "servers.json"
    config = config_of(one={}, two={"env": {"MARK": "x"}, "cwd": str(tmp_path)}, off={"disabled": True})
    config["mcpServers"]["gone"] = {"command": "no-such-program-anywhere"}
    path.write_text(json.dumps(config), encoding="utf-8")
    with Host.from_config(str(path), policy=Policy(tool_call=allow)) as host:
        assert sorted(host.clients) == ["one", "two"] and list(host.failed) == ["gone"]
        assert host.call_tool("two__add", {"a": 20, "b": 22}).structured_content == {"result": 42}
        if os.path.isdir("/proc/self"):
            assert os.readlink("/proc/%d/cwd" % pid_of(host, "two")) == str(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_real_server_that_is_killed_is_lost_and_comes_back():
    losses = Losses()
    with Host.from_config(config_of(one={}, two={}), on_lost=losses, policy=Policy(tool_call=allow),
                          era="legacy") as host:
        os.kill(pid_of(host, "one"), signal.SIGKILL)
        losses.wait()
        assert losses.told[0][0] == "one" and "SIGKILL" in losses.told[0][1]
        assert host.call_tool("two__echo", {"text": "x"}).content[0].text == "x"
        host.restart("one")
        assert host.call_tool("one__echo", {"text": "y"}).content[0].text == "y"


def test_two_servers_have_an_environment_of_their_own():
    show = "import os, sys; sys.stderr.write(os.environ.get('MARK', 'none')); sys.exit(3)"
    with Host() as host:
        errors = host.connect_all({
            "a": {"target": [sys.executable, "-c", show], "env": {"MARK": "of a"}},
            "b": {"target": [sys.executable, "-c", show]},
        })
    assert "of a" in str(errors["a"]) and "none" in str(errors["b"])
    assert all(isinstance(error, McpError) for error in errors.values())


def test_an_option_that_no_client_has_is_told_at_once():
    with pytest.raises(TypeError, match="no_such_option"):
        Host(no_such_option=1)
