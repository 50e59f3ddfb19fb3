"""The client against a scripted server: typed results, pages, and answers that are not what they should be."""
import sys
import threading

import pytest

from mcp_ref import deadline
from mcp_ref.client import Client, connect
from mcp_ref.errors import ConnectFailed, ConnectionLost, LocalProtocolError, PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from mcp_ref.messages.tools import ListToolsResult
from mcp_ref.transports.memory import pair
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import Gate, in_thread

NAMED = {"name": "t", "inputSchema": {"type": "object"}}


class Scene:
    """A client and the scripted server it talks to."""

    def __init__(self, revision="2025-11-25", **options):
        ours, theirs = pair()
        self.peer = ScriptedPeer(theirs)
        self.client = Client(**options)
        opening = threading.Thread(target=self.client.open, args=(ours,))
        opening.start()
        self.peer.accept_handshake(revision)
        opening.join(PATIENCE)

    def run(self, function, *answers):
        """Run a call while the server answers each request with the next of these results (or errors)."""
        outcome = []

        def call():
            try:
                outcome.append(function(self.client))
            except Exception as error:
                outcome.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        asked = []
        for answer in answers:
            asked.append(self.peer.receive(lambda m: "id" in m and "method" in m))
            members = answer if "error" in answer else {"result": answer}
            self.peer.send(dict({"jsonrpc": "2.0", "id": asked[-1]["id"]}, **members))
        thread.join(PATIENCE)
        assert not thread.is_alive()
        return outcome[0], asked

    def close(self):
        self.client.close()
        self.peer.close()


@pytest.fixture
def scene():
    made = Scene()
    yield made
    made.close()


def test_pages_are_followed_until_there_is_no_cursor(scene):
    pages = [
        {"tools": [dict(NAMED, name="a")], "nextCursor": "1"},
        {"tools": [], "nextCursor": ""},
        {"tools": [dict(NAMED, name="b")]},
    ]
    found, asked = scene.run(lambda c: [tool.name for tool in c.tools()], *pages)
    assert found == ["a", "b"]
    assert [request.get("params") for request in asked] == [None, {"cursor": "1"}, {"cursor": ""}], "'' is a cursor"


def test_a_list_that_never_ends_is_an_error(scene):
    page = {"tools": [NAMED], "nextCursor": "same"}
    error, asked = scene.run(lambda c: list(c.tools()), page, page)
    assert isinstance(error, PeerProtocolError) and "same" in str(error) and len(asked) == 2


def test_a_list_of_too_many_pages_is_an_error():
    scene = Scene(limits=Limits(max_pages=2))
    try:
        pages = [{"tools": [], "nextCursor": str(number)} for number in range(2)]
        error, _ = scene.run(lambda c: list(c.tools()), *pages)
        assert isinstance(error, PeerProtocolError) and "max_pages" in str(error)
    finally:
        scene.close()


@pytest.mark.parametrize("call, answer, place", [
    (lambda c: c.list_tools(), {"tools": [{"name": 5, "inputSchema": {}}]}, "result.tools[0].name"),
    (lambda c: c.list_tools(), {}, "result.tools"),
    (lambda c: c.call_tool("x"), {"content": [{"type": "text"}]}, "result.content[0].text"),
    (lambda c: c.call_tool("x"), {"content": [{"type": "smell", "text": ""}]}, "result.content[0].type"),
    (lambda c: c.call_tool("x"), {"content": "text"}, "result.content: expected array, got string"),
    (lambda c: c.read_resource("x:y"), {"contents": [{"uri": "x:y"}]}, "result.contents[0]"),
    (lambda c: c.get_prompt("x"), {"messages": [{"role": "system", "content": {"type": "text", "text": ""}}]}, "role"),
    (lambda c: c.list_prompts(), {"prompts": None}, "result.prompts"),
    (lambda c: c.submit_tool("x").result(PATIENCE), {"content": [1]}, "result.content[0]"),
])
def test_an_answer_that_does_not_fit_is_told_by_place(scene, call, answer, place):
    error, _ = scene.run(call, answer)
    assert isinstance(error, PeerProtocolError) and place in str(error), error


def test_errors_keep_code_data_and_method(scene):
    answer = {"error": {"code": -32002, "message": "no", "data": {"u": 1}}}
    error, asked = scene.run(lambda c: c.read_resource("x:y"), answer)
    assert isinstance(error, PeerError)
    assert (error.code, error.data, error.method, error.request_id) == (
        -32002, {"u": 1}, "resources/read", asked[0]["id"])


def test_unknown_members_of_a_result_are_kept(scene):
    result, _ = scene.run(lambda c: c.call_tool("x"), {"content": [], "vendor": [1], "_meta": {"k": None}})
    assert result.extra == {"vendor": [1]} and result.meta == {"k": None}


def test_calls_pass_what_they_are_given(scene):
    _, asked = scene.run(lambda c: c.call_tool("t", {"a": None}, meta={"com.example/x": 1}), {"content": []})
    assert asked[0]["params"] == {"name": "t", "arguments": {"a": None}, "_meta": {"com.example/x": 1}}
    _, asked = scene.run(lambda c: c.get_prompt("p", {"a": "1"}), {"messages": []})
    assert asked[0]["params"] == {"name": "p", "arguments": {"a": "1"}}


def test_what_json_cannot_hold_is_refused_before_anything_is_sent(scene):
    error, _ = scene.run(lambda c: c.call_tool("t", {"a": float("nan")}))
    assert isinstance(error, LocalProtocolError) and "$.params.arguments.a is NaN" in str(error)
    assert scene.peer.barrier() == []


def test_announcements_reach_the_user_in_order():
    heard, done = [], threading.Event()

    def listen(method, params):
        heard.append((method, params.get("n")))
        if len(heard) == 100:
            done.set()

    scene = Scene(on_notification=listen)
    try:
        for number in range(100):
            scene.peer.notify("notifications/message", {"level": "info", "data": number, "n": number})
        assert done.wait(PATIENCE)
        assert heard == [("notifications/message", number) for number in range(100)]
    finally:
        scene.close()


@pytest.mark.parametrize("end", ["client", "peer"])
def test_what_has_arrived_is_told_before_the_client_is_closed(end):
    heard, started = [], threading.Event()

    def listen(method, params):
        started.set()
        threading.Event().wait(0.02)  # work, in whose midst the connection ends
        heard.append(params["data"])

    scene = Scene(on_notification=listen)
    for number in range(3):
        scene.peer.notify("notifications/message", {"level": "info", "data": number})
    assert scene.peer.barrier() == [] and started.wait(PATIENCE)
    getattr(scene, end).close()
    assert scene.client.connection.wait_closed(PATIENCE) and heard == [0, 1, 2]
    scene.close()


def test_a_callback_that_does_not_end_keeps_nobody_from_closing():
    with Gate() as gate:
        scene = Scene(on_notification=gate.hold, limits=Limits(drain=0.01))
        scene.peer.notify("notifications/message", {"level": "info", "data": 1})
        gate.entered()
        scene.close()
        assert scene.client.connection.closed


def test_a_client_that_was_never_opened_says_so():
    client = Client()
    with pytest.raises(LocalProtocolError, match="not connected"):
        client.ping()
    client.close()


@pytest.mark.parametrize("target, words", [
    ("this-command-does-not-exist --x", "this-command-does-not-exist"),
    (["/nowhere/at/all"], "/nowhere/at/all"),
    ("http://127.0.0.1:1/mcp", "cannot connect to 127.0.0.1:1"),
    ("tcp://127.0.0.1:1", "127.0.0.1"),
    ("unix:///nowhere/socket", "/nowhere/socket"),
])
def test_a_target_that_is_not_there_says_where_it_looked(target, words):
    with pytest.raises(ConnectFailed) as caught:
        connect(target)
    assert words in str(caught.value)


@pytest.mark.parametrize("option", ["auth", "cafile", "headers", "ssl_context", "token"])
@pytest.mark.parametrize("target", ["server.py", ["server.py"], "tcp://127.0.0.1:1", "unix:///x", "a transport"])
def test_an_option_about_http_is_not_ignored_by_other_targets(option, target):
    place = pair()[0] if target == "a transport" else target
    with pytest.raises(ValueError, match="^%s: only for a server at http" % option):
        connect(place, **{option: {"a": "b"}})


def test_a_server_that_dies_at_once_is_quoted():
    with pytest.raises(ConnectionLost) as caught:
        connect([sys.executable, "-c", "import sys; sys.exit('out of cheese')"])
    assert "exited with code 1" in str(caught.value) and "out of cheese" in str(caught.value)


def test_a_client_is_open_once_at_a_time(scene):
    ours, theirs = pair()
    with pytest.raises(LocalProtocolError, match="connected already"):
        scene.client.open(ours)
    assert theirs.read() is None, "the transport that was not taken is closed"
    scene.run(lambda c: c.ping(), {})


def test_a_client_can_be_opened_again_after_it_was_closed(scene):
    scene.client.close()
    ours, theirs = pair()
    peer = ScriptedPeer(theirs)
    opening = threading.Thread(target=scene.client.open, args=(ours,))
    opening.start()
    peer.accept_handshake("2025-06-18")
    opening.join(PATIENCE)
    assert str(scene.client.revision) == "2025-06-18"
    scene.client.close()
    peer.close()


@pytest.mark.parametrize("stated, got", [({}, "nothing"), ({"protocolVersion": None}, "null"),
                                         ({"protocolVersion": 5}, "integer"), ({"protocolVersion": ["x"]}, "array")])
def test_an_answer_without_a_revision_is_told_as_that(stated, got):
    ours, theirs = pair()
    peer = ScriptedPeer(theirs)
    outcome = []

    def call():
        with pytest.raises(PeerProtocolError) as caught:
            Client(era="legacy").open(ours)
        outcome.append(str(caught.value))

    thread = threading.Thread(target=call)
    thread.start()
    asked = peer.receive(lambda m: m.get("method") == "initialize")
    answer = dict({"capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}, **stated)
    peer.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
    thread.join(PATIENCE)
    peer.close()
    assert outcome and "result.protocolVersion: expected string, got %s" % got in outcome[0]


def test_a_list_whose_pages_take_for_ever_is_an_error(monkeypatch):
    scene = Scene()
    try:
        clock = deadline.clock
        late = []
        monkeypatch.setattr(deadline, "clock", lambda: clock() + sum(late))

        def page(method, cursor, refresh, options):
            late.append(2000.0)
            return ListToolsResult([], next_cursor=str(len(late)))

        monkeypatch.setattr(scene.client._cached, "page", page)
        with pytest.raises(PeerProtocolError, match="request_ceiling"):
            list(scene.client.tools())
        assert len(late) == 2
    finally:
        monkeypatch.undo()
        scene.close()


@pytest.mark.parametrize("era", ["legacy", "modern", "auto"])
def test_a_client_that_is_closed_while_it_connects_does_not_wait_for_the_server(era):
    """`close` comes when there is no connection that it could close."""
    limits = Limits(initialize_timeout=3 * PATIENCE, probe_timeout=3 * PATIENCE)
    client = Client(era=era, limits=limits)
    ours, theirs = pair()
    ours.open = client.close
    opening = in_thread(client.open, ours)
    with pytest.raises(ConnectionLost, match="closed meanwhile"):
        opening.get()
    assert theirs.read() is None
