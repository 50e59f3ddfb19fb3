"""Streams of notifications that a client asks for [2026-07-28 basic/patterns/subscriptions §Opening a Stream].

Server: a scripted client listens. Client: a scripted server (`Streams`) tells.
"""
import itertools
import json
import queue
import socket
import sys
import textwrap
from typing import Any, Dict, List, Optional

import pytest

from mcp_ref import connect
from mcp_ref.client import Client
from mcp_ref.errors import Busy, ConnectionLost, LocalProtocolError, PeerError, RequestTimeout
from mcp_ref.jsonrpc import Request, encode
from mcp_ref.limits import Limits
from mcp_ref.protocol.envelope import SUBSCRIPTION, fields
from mcp_ref.revisions import LATEST
from mcp_ref.server import Server, subscriptions
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import STATELESS
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import eventually, in_thread

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
CHANGED = {kind: "notifications/%s/list_changed" % kind for kind in ("tools", "prompts", "resources")}
FILTERS = {kind: "%sListChanged" % kind for kind in CHANGED}
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
_NAMES = itertools.count()


# -- Server ------------------------------------------------------------------------------------------------------------

def full_server(**options: Any) -> Server:
    """A server with something of everything."""
    server = Server("full", **options)
    server.tool(lambda: "x", name="first")
    server.prompt(lambda: "x", name="first")
    server.resource("x://a")(lambda: "a")
    server.resource("x://items/")(lambda: "all")
    server.resource("x://items/{id}")(lambda id: id)
    return server


def change(server: Server, kind: str) -> None:
    """Make the list of this kind another one."""
    name = "n%d" % next(_NAMES)
    if kind == "resources":
        server.resource("x://%s" % name)(lambda: "")
    else:
        {"tools": server.tool, "prompts": server.prompt}[kind](lambda: "x", name=name)


class Listener:
    """A scripted client of a server; a context manager."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.peer = ScriptedPeer.of_server(server)
        self.peer.begin(STATELESS)
        assert self.peer.connection is not None
        self.connection = self.peer.connection

    def listen(self, id: Any, **wanted: Any) -> Dict[str, Any]:
        """Open a stream; what the server agrees to."""
        self.peer.request(id, "subscriptions/listen", {"notifications": wanted})
        first = self.peer.receive()
        assert first["method"] == ACKNOWLEDGED and first["params"]["_meta"] == {SUBSCRIPTION: id}, first
        return dict(first["params"]["notifications"])

    def heard(self) -> List[Any]:
        """What has come since the last message that the test took: stream, method and URI."""
        messages = self.peer.barrier("barrier %d" % next(_NAMES))
        return [(m["params"]["_meta"][SUBSCRIPTION], m["method"], m["params"].get("uri")) for m in messages]

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.peer.close()
        assert len(self.server.listeners) == 0, "the streams of a connection end with it"


@pytest.mark.spec("subscribe.only-requested", "subscribe.id-in-notifications")
@pytest.mark.parametrize("kind", CHANGED)
def test_a_client_hears_of_the_lists_that_it_asked_for_and_of_nothing_else(kind: str) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Opening a Stream] MUST NOT"""
    server = full_server()
    with Listener(server) as one:
        assert one.listen("s", **{FILTERS[kind]: True}) == {FILTERS[kind]: True}
        for each in CHANGED:
            change(server, each)
        server.resource_updated("x://a")
        assert one.heard() == [("s", CHANGED[kind], None)]


@pytest.mark.spec("subscribe.only-requested", "subscribe.id-in-notifications")
def test_a_client_hears_of_the_resources_that_it_asked_for_and_of_what_lies_below_them() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Notification Filter]"""
    server = full_server()
    with Listener(server) as one:
        wanted = ["x://a", "x://items/"]
        assert one.listen(7, resourceSubscriptions=wanted)["resourceSubscriptions"] == wanted
        for uri in ("x://a", "x://items/1", "x://items/2/3", "x://items", "x://ab", "x://b"):
            server.resource_updated(uri)
        for each in CHANGED:
            change(server, each)
        assert one.heard() == [(7, UPDATED, uri) for uri in ("x://a", "x://items/1", "x://items/2/3")]
        with pytest.raises(ValueError, match="not the URI"):
            server.resource_updated("no uri")


@pytest.mark.spec("subscribe.only-requested")
@pytest.mark.parametrize("wanted", [{}, {"toolsListChanged": False}, {"resourceSubscriptions": []}])
def test_who_asks_for_nothing_hears_nothing(wanted: Dict[str, Any]) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Notification Filter]: a field left out is not subscribed to"""
    server = full_server()
    with Listener(server) as one:
        one.listen("s", **wanted)
        for each in CHANGED:
            change(server, each)
        server.resource_updated("x://a")
        assert one.heard() == []


@pytest.mark.spec("subscribe.ack-first")
def test_the_acknowledgment_names_what_the_server_has() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Acknowledgment] MUST"""
    server = Server("some")
    server.tool(lambda: "x", name="first")
    with Listener(server) as one:
        uris = ["x://a"]
        assert one.listen(1, **EVERYTHING, resourceSubscriptions=uris) == {"toolsListChanged": True}
    server = full_server(limits=Limits(max_uri_length=20))
    with Listener(server) as one:
        uris = ["x://a", "x://a", "x://nothing", "no uri", "x://items/1", "x://items/" + "a" * 20]
        agreed = one.listen(2, **EVERYTHING, resourceSubscriptions=uris)
        assert agreed == dict(EVERYTHING, resourceSubscriptions=["x://a", "x://items/1"])


@pytest.mark.spec("subscribe.nothing-before-ack", "subscribe.ack-first")
@pytest.mark.race
def test_nothing_is_told_before_the_acknowledgment_and_nothing_after_it_is_missed() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Acknowledgment] MUST NOT"""
    server = full_server()
    with Listener(server) as one:
        changing = in_thread(lambda: [server.resource_updated("x://a") for _ in range(50)])
        for number in range(20):
            one.peer.request(number, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["x://a"]}})
        changing.get()
        one.heard()
        server.resource_updated("x://a")
        one.heard()
        for number in range(20):
            told = [message for message in one.peer.seen if "method" in message]
            mine = [message["method"] for message in told if message["params"]["_meta"][SUBSCRIPTION] == number]
            assert mine[0] == ACKNOWLEDGED and set(mine[1:]) == {UPDATED}


@pytest.mark.spec("subscribe.stdio-interleave", "subscribe.id-in-notifications", "subscribe.multiple")
def test_each_stream_of_a_connection_is_told_by_its_own_id() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Multiple Concurrent Subscriptions] MAY"""
    server = full_server()
    with Listener(server) as one:
        one.listen(1, toolsListChanged=True)
        one.listen("1", toolsListChanged=True, resourceSubscriptions=["x://a"])
        change(server, "tools")
        server.resource_updated("x://a")
        assert one.heard() == [(1, CHANGED["tools"], None), ("1", CHANGED["tools"], None), ("1", UPDATED, "x://a")]
        one.peer.notify("notifications/cancelled", {"requestId": "1"})
        assert one.heard() == []
        change(server, "tools")
        assert one.heard() == [(1, CHANGED["tools"], None)] and len(server.listeners) == 1


@pytest.mark.spec("subscribe.graceful-close", "cancel.server-subscription-teardown", "cancel.server-references-listen")
def test_a_server_that_ends_its_streams_says_so_twice_and_names_them() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD
    [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST"""
    server = full_server()
    with Listener(server) as one, Listener(server) as other:
        for id in (5, "five"):
            one.listen(id, toolsListChanged=True)
        other.listen(5, toolsListChanged=True)
        server.listeners.end(one.connection)
        for id in (5, "five"):
            said, answer = one.peer.receive(), one.peer.receive()
            assert said["method"] == "notifications/cancelled" and said["params"]["requestId"] == id
            assert answer["id"] == id and answer["result"]["_meta"][SUBSCRIPTION] == id
            assert answer["result"]["resultType"] == "complete"
        change(server, "tools")
        assert one.heard() == [] and other.heard() == [(5, CHANGED["tools"], None)]
        server.listeners.end()
        assert [other.peer.receive().get("method") for _ in range(2)] == ["notifications/cancelled", None]


@pytest.mark.race
@pytest.mark.parametrize("ending", ["the client sends no more", "the connection is closed", "the listener is closed"])
def test_a_stream_ends_in_order_with_its_connection_and_holds_nobody_up(ending: str) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] SHOULD
    [2026-07-28 basic/transports/stdio §Shutdown] SHOULD"""
    patient = Limits(drain=10 * PATIENCE, shutdown_grace=10 * PATIENCE)
    server, served = full_server(limits=patient), []
    connect_to = server.connect
    server.connect = lambda transport: served.append(connect_to(transport)) or served[-1]  # type: ignore
    with server.listen("tcp://127.0.0.1:0") as listener:
        host, port = listener.address[len("tcp://"):].split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as wire, wire.makefile("rb") as arrived:
            params = {"notifications": {"toolsListChanged": True}, "_meta": fields(LATEST, {})}
            wire.sendall(encode(Request(7, "subscriptions/listen", params)) + b"\n")
            assert json.loads(arrived.readline())["method"] == ACKNOWLEDGED
            wire.sendall(encode(Request(8, "server/discover", {"_meta": fields(LATEST, {})})) + b"\n")
            assert json.loads(arrived.readline())["id"] == 8, "so the stream is open from both sides"
            if ending == "the client sends no more":
                wire.shutdown(socket.SHUT_WR)
            elif ending == "the connection is closed":
                served[0].close()
            else:
                listener.close()
            said, answer = map(json.loads, arrived)  # to the end, which comes at once
            assert said["method"] == "notifications/cancelled" and said["params"]["requestId"] == 7
            assert answer["id"] == 7 and answer["result"]["_meta"][SUBSCRIPTION] == 7
    assert len(server.listeners) == 0


def test_a_stream_that_could_not_be_opened_leaves_nothing(monkeypatch: Any) -> None:
    def interrupted(*ignored: Any) -> None:
        raise SystemExit("as a Ctrl-C may come in at any place")

    server = full_server()
    with Listener(server) as one:
        with monkeypatch.context() as patched:
            patched.setattr(subscriptions.Listener, "acknowledge", interrupted)
            answer = one.peer.call(1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["x://a"]}})
        assert answer["error"]["code"] == -32603 and len(server.listeners) == 0
        one.connection.close()
        assert one.connection.wait_closed(PATIENCE)


@pytest.mark.spec("cancel.no-further-messages", "cancel.server-no-other-purpose")
def test_a_stream_that_ends_while_it_is_opened_says_all_of_it_in_order(monkeypatch: Any) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Acknowledgment] MUST
    [2026-07-28 basic/patterns/cancellation §Behavior Requirements] MUST"""
    server = full_server()
    acknowledge = subscriptions.Listener.acknowledge

    def ended_before(listener: Any, agreed: Any) -> None:
        server.listeners.end()
        acknowledge(listener, agreed)

    monkeypatch.setattr(subscriptions.Listener, "acknowledge", ended_before)
    with Listener(server) as one:
        one.peer.request(1, "subscriptions/listen", {"notifications": {}})
        assert [one.peer.receive().get("method") for _ in range(3)] == [ACKNOWLEDGED, "notifications/cancelled", None]


@pytest.mark.spec("cancel.no-further-messages", "cancel.server-no-other-purpose")
def test_a_cancelled_stream_is_silent_and_has_no_answer() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Cancellation]"""
    server = full_server()
    with Listener(server) as one:
        one.listen("s", **EVERYTHING)
        one.peer.notify("notifications/cancelled", {"requestId": "s", "reason": "enough"})
        assert one.heard() == []
        for each in CHANGED:
            change(server, each)
        server.listeners.end()
        assert one.heard() == [] and len(one.connection.inflight) == 0


def test_changes_that_are_announced_together_are_told_once() -> None:
    server = full_server()
    with Listener(server) as one:
        one.listen("s", **EVERYTHING)
        with server.announce_once():
            for each in ("tools", "tools", "prompts"):
                change(server, each)
        assert one.heard() == [("s", CHANGED["tools"], None), ("s", CHANGED["prompts"], None)]


@pytest.mark.parametrize("params", [
    {}, {"notifications": None}, {"notifications": [1]}, {"notifications": {"toolsListChanged": "yes"}},
    {"notifications": {"resourceSubscriptions": "x://a"}}, {"notifications": {"resourceSubscriptions": [1]}},
])
def test_a_filter_that_is_none_is_invalid_params(params: Dict[str, Any]) -> None:
    server = full_server()
    with Listener(server) as one:
        assert one.peer.call(1, "subscriptions/listen", params)["error"]["code"] == -32602


def test_limits_are_named_and_what_is_refused_leaves_nothing() -> None:
    server = full_server(limits=Limits(max_listeners=2, max_subscriptions=2))
    with Listener(server) as one:
        uris = ["x://items/%d" % number for number in range(3)]
        answer = one.peer.call(1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
        assert answer["error"]["code"] == -32603 and "max_subscriptions (2)" in answer["error"]["message"]
        one.listen(2)
        one.listen(3)
        answer = one.peer.call(4, "subscriptions/listen", {"notifications": {}})
        assert "max_listeners (2)" in answer["error"]["message"] and len(server.listeners) == 2


# -- Client ------------------------------------------------------------------------------------------------------------

class Streams:
    """A client of ours, and a scripted server that it listens to; a context manager."""

    def __init__(self, **options: Any) -> None:
        self.told: "queue.Queue[Any]" = queue.Queue()
        options.setdefault("limits", Limits(restart_delay=0.001, request_timeout=PATIENCE))
        self.client = Client(
            revisions=[STATELESS], on_notification=lambda method, params: self.told.put((method, params.get("uri"))),
            **options)
        ours, theirs = pair()
        self.peer = ScriptedPeer(theirs)
        opening = in_thread(self.client.open, ours)
        self.peer.accept_handshake(STATELESS, {"tools": {"listChanged": True}, "resources": {"subscribe": True}})
        opening.get()

    def accept(self, agreed: Optional[Dict[str, Any]] = None) -> Any:
        """Wait for a request to listen, and acknowledge it; the request."""
        request = self.peer.receive()
        assert request["method"] == "subscriptions/listen", request
        self.acknowledge(request["id"], request["params"]["notifications"] if agreed is None else agreed)
        return request

    def acknowledge(self, id: Any, agreed: Dict[str, Any]) -> None:
        """Send the first message of a stream."""
        self.tell(id, ACKNOWLEDGED, notifications=agreed)

    def tell(self, id: Any, method: str, **params: Any) -> None:
        """Send a message of a stream."""
        self.peer.notify(method, dict(params, _meta={SUBSCRIPTION: id}))

    def wish(self, *features: str, **options: Any) -> Any:
        """Have the client listen; its wish and the request."""
        wishing = in_thread(lambda: self.client.listen(*features, **options))
        request = self.accept()
        return wishing.get(), request

    def quiet(self) -> None:
        """The client has taken all that was sent, and told nobody of it."""
        asked = in_thread(self.client.discover)
        self.peer.respond(self.peer.receive()["id"], {
            "supportedVersions": [STATELESS], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        asked.get()
        self.client.connection.hear(_Marker)
        assert self.told.get(timeout=PATIENCE) == (_Marker.method, None)

    def count(self, name: str) -> int:
        return self.client.connection.counters[name]

    def __enter__(self) -> "Streams":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.client.close()
        self.peer.close()


class _Marker:
    method = CHANGED["prompts"]
    params: Dict[str, Any] = {}


def test_a_client_asks_for_what_its_user_wants_and_no_more() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Notification Filter]"""
    with Streams() as scene:
        wish, request = scene.wish("tools", uris=["x://b", "x://a"])
        assert request["params"]["notifications"] == {
            "toolsListChanged": True, "resourceSubscriptions": ["x://a", "x://b"]}
        assert wish.agreed == wish.wanted
        scene.tell(request["id"], CHANGED["tools"])
        assert scene.told.get(timeout=PATIENCE) == (CHANGED["tools"], None)
        wish.close()
        cancelled = scene.peer.receive()
        assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", request["id"])
        assert wish.agreed.to_json() == {}


@pytest.mark.spec("subscribe.client-checks-ack")
def test_what_the_server_does_not_agree_to_is_known() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Acknowledgment] SHOULD"""
    with Streams() as scene:
        wishing = in_thread(lambda: scene.client.listen("tools", "prompts", uris=["x://a", "x://b"]))
        scene.accept({"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["x://b"]})
        assert wishing.get().agreed.to_json() == {"toolsListChanged": True, "resourceSubscriptions": ["x://b"]}
        assert scene.count("not told") == 1
        subscribing = in_thread(scene.client.subscribe_resource, "x://c")
        scene.accept({"toolsListChanged": True})
        with pytest.raises(LocalProtocolError, match="x://c"):
            assert scene.peer.receive()["method"] == "notifications/cancelled"
            scene.accept({"toolsListChanged": True})
            subscribing.get()


@pytest.mark.spec("subscribe.stdio-correlate")
@pytest.mark.parametrize("id", [None, 99, "2", 2.5, True, [], {}])
def test_a_notification_that_names_no_stream_reaches_nobody(id: Any) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Receiving Notifications] MUST"""
    with Streams() as scene:
        scene.wish("tools", uris=["x://a"])
        for method in (CHANGED["tools"], UPDATED, ACKNOWLEDGED):
            scene.tell(id, method, uri="x://a", notifications={})
        scene.peer.notify(UPDATED, {"uri": "x://a"})
        scene.quiet()
        assert scene.count("notification of no stream") == 4 and scene.told.empty()


def test_another_wish_opens_another_stream_before_the_first_is_left() -> None:
    with Streams() as scene:
        wish, first = scene.wish("tools")
        heard: "queue.Queue[str]" = queue.Queue()
        subscribing = in_thread(scene.client.subscribe_resource, "x://a", heard.put)
        second = scene.accept()
        assert second["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["x://a"]}
        assert scene.peer.receive()["params"]["requestId"] == first["id"]
        subscribing.get()
        scene.tell(second["id"], UPDATED, uri="x://a")
        assert heard.get(timeout=PATIENCE) == "x://a"
        scene.told.get(timeout=PATIENCE)
        scene.tell(first["id"], CHANGED["tools"])
        scene.quiet()
        assert scene.count("notification of no stream") == 1
        again = in_thread(wish.close)
        assert scene.accept()["params"]["notifications"] == {"resourceSubscriptions": ["x://a"]}
        assert scene.peer.receive()["params"]["requestId"] == second["id"]
        again.get()


@pytest.mark.spec("subscribe.reconnect")
@pytest.mark.parametrize("way", ["answer", "notification", "both"])
def test_a_stream_that_the_server_ends_is_opened_again_and_what_may_have_changed_is_told(way: str) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MAY"""
    with Streams() as scene:
        _, first = scene.wish("tools", uris=["x://a"])
        if way != "answer":
            scene.tell(first["id"], "notifications/cancelled", requestId=first["id"])
        if way != "notification":
            scene.peer.respond(first["id"], {"_meta": {SUBSCRIPTION: first["id"]}})
        second = scene.accept()
        assert second["id"] != first["id"]
        assert second["params"]["notifications"] == first["params"]["notifications"]
        assert scene.told.get(timeout=PATIENCE) == (UPDATED, "x://a")


def test_a_server_that_does_not_know_the_method_is_told_to_who_wished() -> None:
    with Streams() as scene:
        wishing = in_thread(lambda: scene.client.listen("tools"))
        request = scene.peer.receive()
        error = {"code": -32601, "message": "Method not found"}
        scene.peer.send({"jsonrpc": "2.0", "id": request["id"], "error": error})
        with pytest.raises(PeerError, match="Method not found"):
            wishing.get()


def test_a_server_that_refuses_the_second_time_is_left_alone() -> None:
    with Streams() as scene:
        _, first = scene.wish("tools")
        scene.peer.respond(first["id"], {"_meta": {SUBSCRIPTION: first["id"]}})
        request = scene.peer.receive()
        error = {"code": -32601, "message": "Method not found"}
        scene.peer.send({"jsonrpc": "2.0", "id": request["id"], "error": error})
        eventually(lambda: scene.count("listening given up"))
        scene.quiet()


def test_an_acknowledgment_that_never_comes_is_a_timeout_and_cancels() -> None:
    with Streams(limits=Limits(request_timeout=0.01)) as scene:
        with pytest.raises(RequestTimeout):
            scene.client.listen("tools")
        request, cancelled = scene.peer.receive(), scene.peer.receive()
        assert cancelled["params"]["requestId"] == request["id"]


def test_the_number_of_resources_is_limited() -> None:
    with Streams(limits=Limits(max_subscriptions=2)) as scene:
        with pytest.raises(Busy, match="max_subscriptions"):
            scene.client.listen(uris=["x://a", "x://b", "x://c"])
        scene.wish(uris=["x://a", "x://b"])


def test_wishes_that_mean_nothing_are_refused_at_once() -> None:
    with Streams() as scene:
        for features, uris in ((["tool"], ()), ([], "x://a")):
            with pytest.raises(TypeError, match="listen to"):
                scene.client.listen(*features, uris=uris)


def test_a_client_that_is_closed_leaves_its_stream_and_opens_no_other() -> None:
    with Streams() as scene:
        scene.wish("tools")
        scene.client.close()
        with pytest.raises(ConnectionLost):
            scene.peer.receive(lambda message: message.get("method") == "subscriptions/listen")


@pytest.mark.spec("subscribe.stdio-resubscribe", "subscribe.reconnect")
def test_a_restarted_child_is_listened_to_again(tmp_path: Any) -> None:
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST"""
    program = tmp_path / "server.py"
    program.write_text(textwrap.dedent("""\
        import os
        from mcp_ref import Server
        server = Server("dying")
        server.resource("x://a")(lambda: "a")
        server.tool(lambda: os._exit(1), name="die")
        server.tool(lambda: str(len(server.listeners)), name="listeners")
        server.tool(lambda: server.resource_updated("x://a"), name="update")
        server.run()
        """))
    heard: "queue.Queue[str]" = queue.Queue()
    limits = Limits(restart_delay=0.001)
    env = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    with connect([sys.executable, str(program)], env=env, era="modern", limits=limits) as client:
        client.subscribe_resource("x://a", heard.put)
        client.call_tool("update")
        assert heard.get(timeout=PATIENCE) == "x://a"
        with pytest.raises(ConnectionLost):
            client.call_tool("die")
        assert heard.get(timeout=PATIENCE) == "x://a", "it may have changed meanwhile"
        assert client.call_tool("listeners").text == "1"
        client.call_tool("update")
        assert heard.get(timeout=PATIENCE) == "x://a"
