"""Typed calls: one set of options for all, futures, and what happens before and after a connection."""
import pytest

from mcp_ref.client import Client
from mcp_ref.errors import LocalProtocolError, RequestTimeout
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import SILENT, Scene, tool
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import eventually, in_thread

EMPTY = {"tools/list": {"tools": []}, "resources/list": {"resources": []}, "prompts/list": {"prompts": []},
         "resources/templates/list": {"resourceTemplates": []}}
ANSWERS = dict(EMPTY, **{
    "tools/call": {"content": []}, "resources/read": {"contents": []}, "prompts/get": {"messages": []},
    "resources/subscribe": {}, "resources/unsubscribe": {}, "logging/setLevel": {}, "ping": {},
    "completion/complete": {"completion": {"values": []}},
})
CALLS = {
    "list_tools": lambda c, **o: c.list_tools(**o), "tools": lambda c, **o: list(c.tools(**o)),
    "call_tool": lambda c, **o: c.call_tool("x", **o),
    "submit_tool": lambda c, **o: c.submit_tool("x", **o).result(PATIENCE),
    "list_resources": lambda c, **o: c.list_resources(**o), "resources": lambda c, **o: list(c.resources(**o)),
    "list_resource_templates": lambda c, **o: c.list_resource_templates(**o),
    "resource_templates": lambda c, **o: list(c.resource_templates(**o)),
    "read_resource": lambda c, **o: c.read_resource("x:y", **o),
    "submit_resource": lambda c, **o: c.submit_resource("x:y", **o).result(PATIENCE),
    "subscribe_resource": lambda c, **o: c.subscribe_resource("x:y", **o),
    "unsubscribe_resource": lambda c, **o: c.unsubscribe_resource("x:y", **o),
    "list_prompts": lambda c, **o: c.list_prompts(**o), "prompts": lambda c, **o: list(c.prompts(**o)),
    "get_prompt": lambda c, **o: c.get_prompt("x", **o),
    "submit_prompt": lambda c, **o: c.submit_prompt("x", **o).result(PATIENCE),
    "complete": lambda c, **o: c.complete("x", "a", "", **o),
    "submit_completion": lambda c, **o: c.submit_completion("x", "a", "", **o).result(PATIENCE),
    "set_log_level": lambda c, **o: c.set_log_level("info", **o),
}
each_call = pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))


@each_call
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_every_call_takes_meta_and_a_progress_callback(revision, call):
    steps = []

    def stepping(answer):
        def step(params):
            progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 2}
            scene.peer.notify("notifications/progress", progress)
            return answer
        return step

    with Scene(revision, {method: stepping(answer) for method, answer in ANSWERS.items()}) as scene:
        call(scene.client, meta={"com.example/x": {"y": 1}}, progress=lambda *step: steps.append(step))
        assert [message["params"]["_meta"]["com.example/x"] for message in scene.requests] == [{"y": 1}]
        eventually(lambda: steps)
        assert steps == [(1, 2, None)]


@each_call
def test_every_call_takes_a_timeout(call):
    with Scene(answers={method: SILENT for method in ANSWERS}) as scene:
        with pytest.raises(RequestTimeout):
            call(scene.client, timeout=0.001)
        eventually(lambda: scene.notifications)
        assert [note["method"] for note in scene.notifications] == ["notifications/cancelled"]


@each_call
def test_every_call_refuses_an_option_that_there_is_not(call):
    with Scene(answers=ANSWERS) as scene:
        with pytest.raises(TypeError, match="timout"):
            call(scene.client, timout=5)


@each_call
def test_every_call_says_that_the_client_is_not_connected(call):
    with pytest.raises(LocalProtocolError, match="not connected"):
        call(Client())


@pytest.mark.parametrize("era, first", [("legacy", "initialize"), ("auto", "server/discover")])
@each_call
def test_every_call_before_the_opening_is_over_says_so(call, era, first):
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer, Client(era=era) as client:
        opening = in_thread(client.open, ours)
        assert peer.receive()["method"] == first
        with pytest.raises(LocalProtocolError, match="not connected yet" if era == "auto" else None):
            call(client)
        peer.close()
        with pytest.raises(Exception):
            opening.get()


def test_meta_is_not_shared_with_the_caller():
    meta = {"com.example/x": 1}
    with Scene(answers=ANSWERS) as scene:
        scene.client.call_tool("x", meta=meta, progress=lambda *step: None)
        assert meta == {"com.example/x": 1} and "progressToken" in scene.params("tools/call")[0]["_meta"]


def test_a_future_is_cancelled_on_the_wire():
    with Scene(answers={method: SILENT for method in ANSWERS}) as scene:
        for submit in ("tool", "resource", "prompt"):
            future = getattr(scene.client, "submit_" + submit)("x:y")
            assert future.cancel() and future.cancelled()
        future = scene.client.submit_completion("x", "a", "")
        assert future.cancel()
        eventually(lambda: len(scene.notifications) == 4)
        eventually(lambda: len(scene.requests) == 4)
        assert [note["params"]["requestId"] for note in scene.notifications] == [r["id"] for r in scene.requests]


def test_where_the_server_is():
    with Scene() as scene:
        assert scene.client.origin is None
        scene.client.connection.transport.origin = "https://example.com"
        assert scene.client.origin == "https://example.com"


def test_icons_of_the_server_itself_are_usable_where_it_has_an_origin():
    shown = dict(tool("a"), icons=[{"src": "https://example.com/i.png"}, {"src": "https://evil.example/i.png"}])
    with Scene(answers={"tools/list": {"tools": [shown]}}) as scene:
        item = scene.client.tool("a")
        assert scene.client.usable_icons(item) == []
        scene.client.connection.transport.origin = "https://example.com"
        assert [icon.src for icon in scene.client.usable_icons(item)] == ["https://example.com/i.png"]
        trusted = scene.client.usable_icons(item, trusted=["evil.example"])
        assert len(trusted) == 2
