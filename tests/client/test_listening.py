"""What a client that listens does when its streams, its server or its user do what nobody would like.

What listening is, see `tests/spec/basic/test_subscriptions_stateless.py`.
"""
import queue
from typing import Any, List

import pytest

from mcp_ref.client import Client
from mcp_ref.client.subscriptions import ChangeFilter
from mcp_ref.errors import Busy, ConnectionLost, LocalProtocolError, PeerError
from mcp_ref.limits import Limits
from mcp_ref.peer.executors import Inline
from mcp_ref.protocol.envelope import SUBSCRIPTION
from mcp_ref.revisions import LATEST_HANDSHAKE
from mcp_ref.transports.memory import pair
from tests.spec.basic.test_subscriptions_stateless import ACKNOWLEDGED, CHANGED, UPDATED, Streams
from tests.support.requirements_table import HANDSHAKE, STATELESS
from tests.support.scene import Failure, Scene
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import eventually, in_thread

LISTEN = "subscriptions/listen"


def ended(request: Any) -> List[Any]:
    """The acknowledgment of a stream and its end."""
    id = request["id"]
    meta = {SUBSCRIPTION: id}
    agreed = {"_meta": meta, "notifications": request["params"]["notifications"]}
    return [
        {"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": agreed},
        {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": meta}},
    ]


def listens(message: Any) -> bool:
    """Whether it opens a stream."""
    return bool(message.get("method") == LISTEN)


class Renewable(Streams):
    """Streams from a server that can be started once more: `again` speaks for that one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.fresh, theirs = pair()
        self.again = ScriptedPeer(theirs)
        self.renewable()

    def renewable(self, whether: bool = True) -> None:
        """Whether there is another life."""
        self.client.connection.transport.renew = (  # type: ignore[method-assign]
            lambda: self.fresh if whether else None)

    def __enter__(self) -> "Renewable":
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.again.close()


# -- In a session --------------------------------------------------------------------------------


SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_in_a_session_listening_is_subscribing_until_the_wish_is_closed(revision: str) -> None:
    """Lists are told of unasked there; what is not declared is not agreed to [.. server/resources §Subscriptions]."""
    heard: List[Any] = []
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}}
    with Scene(revision, {SUBSCRIBE: {}, UNSUBSCRIBE: {}}, capabilities) as scene:
        with scene.client.listen("tools", "prompts", uris=["x:b", "x:a"], callback=heard.append) as wish:
            assert [params["uri"] for params in scene.params(SUBSCRIBE)] == ["x:a", "x:b"]
            assert wish.agreed == ChangeFilter(frozenset(["tools"]), frozenset(["x:a", "x:b"]))
            assert wish.wanted.features == {"tools", "prompts"} and not wish.concerns("x:c") and wish.concerns("x:a")
            scene.tell(UPDATED, {"uri": "x:a"})
            eventually(lambda: heard == ["x:a"])
            assert scene.params(UNSUBSCRIBE) == []
        wish.close()
        assert sorted(params["uri"] for params in scene.params(UNSUBSCRIBE)) == ["x:a", "x:b"]
        assert wish.agreed.uris == frozenset()
        scene.tell(UPDATED, {"uri": "x:b"})
        assert heard == ["x:a"] and LISTEN not in scene.asked


def test_in_a_session_a_wish_that_is_refused_leaves_no_subscription() -> None:
    def subscribe(params: Any) -> Any:
        return {} if params["uri"] < "x:c" else Failure(-32602, "no such resource")

    with Scene(LATEST_HANDSHAKE.name, {SUBSCRIBE: subscribe, UNSUBSCRIBE: {}}) as scene:
        with pytest.raises(PeerError, match="no such resource"):
            scene.client.listen("tools", uris=["x:c", "x:a", "x:b", "x:d"])
        assert [params["uri"] for params in scene.params(SUBSCRIBE)] == ["x:a", "x:b", "x:c"]
        assert [params["uri"] for params in scene.params(UNSUBSCRIBE)] == ["x:b", "x:a"]
        for wrong in ({"uris": "x:a"}, {"uris": ["x:a"], "features": "everything"}):
            with pytest.raises(TypeError, match="listen to tools, prompts, resources"):
                scene.client.listen(*filter(None, [wrong.pop("features", None)]), **wrong)  # type: ignore[arg-type]
        assert len(scene.requests) == 5


# -- Streams that end ----------------------------------------------------------------------------


@pytest.mark.race
def test_a_stream_that_ends_as_soon_as_it_is_acknowledged_is_opened_again() -> None:
    """However often, and whoever notices first."""
    with Streams() as scene:
        wishing = in_thread(lambda: scene.client.listen("tools"))
        for _ in range(6):
            scene.peer.send(*ended(scene.peer.receive(listens)))
        request = scene.peer.receive(listens)
        scene.acknowledge(request["id"], request["params"]["notifications"])
        wish = wishing.get()
        eventually(lambda: wish.agreed == wish.wanted)
        scene.tell(request["id"], CHANGED["tools"])
        assert scene.told.get(timeout=PATIENCE) == (CHANGED["tools"], None)
        eventually(lambda: scene.count("stream ended") >= 6)
        assert scene.count("stream ended") == 6, "each once"


def test_a_stream_that_never_lasts_is_not_opened_again_and_again_at_once() -> None:
    with Streams(limits=Limits(restart_delay=PATIENCE, request_timeout=PATIENCE)) as scene:
        _, first = scene.wish("tools")
        scene.peer.send(ended(first)[1])
        scene.peer.send(*ended(scene.peer.receive(listens)))
        eventually(lambda: scene.count("stream ended") == 2)
        for _ in range(5):
            scene.quiet()
        assert sum(map(listens, scene.peer.seen)) == 2


@pytest.mark.parametrize("method", [ACKNOWLEDGED, UPDATED])
def test_what_a_server_says_too_often_or_too_much_changes_nothing(method: str) -> None:
    with Streams() as scene:
        wishing = in_thread(lambda: scene.client.listen("tools"))
        request = scene.accept({"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]})
        wish = wishing.get()
        scene.acknowledge(request["id"], {})
        scene.quiet()
        assert scene.client.listening.agreed == wish.agreed == wish.wanted
        lists = scene.client.connection.state["lists"]
        assert lists["tools"].server_notifies and not lists["prompts"].server_notifies


def test_only_a_request_to_listen_names_a_stream() -> None:
    """Not any other that waits for its answer, whatever the server acknowledges."""
    with Streams() as scene:
        asking = in_thread(scene.client.discover)
        other = scene.peer.receive()["id"]
        scene.acknowledge(other, {"toolsListChanged": True})
        scene.tell(other, CHANGED["tools"])
        scene.peer.respond(other, {
            "supportedVersions": [STATELESS], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        asking.get()
        scene.wish("tools")
        scene.quiet()
        assert scene.count("notification of no stream") == 2


def test_a_stream_that_is_torn_down_is_left_by_the_transport_too() -> None:
    """Over HTTP the server may go on holding it open."""
    with Streams() as scene:
        _, first = scene.wish("tools")
        left: "queue.Queue[Any]" = queue.Queue()
        scene.client.connection.abandon = lambda pending: left.put(pending.id)  # type: ignore
        scene.tell(first["id"], "notifications/cancelled", requestId=first["id"])
        assert left.get(timeout=PATIENCE) == first["id"]
        scene.accept()


def test_a_user_who_gives_up_waiting_leaves_no_stream() -> None:
    with Streams() as scene:
        stream_class: Any = scene.client.listening.__class__.__init__.__globals__["SubscriptionStream"]
        waiting = stream_class.wait

        def interrupted(self: Any, timeout: Any) -> None:
            raise KeyboardInterrupt

        stream_class.wait = interrupted
        try:
            with pytest.raises(KeyboardInterrupt):
                scene.client.listen("tools")
        finally:
            stream_class.wait = waiting
        request, cancelled = scene.peer.receive(), scene.peer.receive()
        assert cancelled["params"]["requestId"] == request["id"]


# -- Servers that end ----------------------------------------------------------------------------


def test_who_wishes_first_when_the_server_has_ended_has_it_started() -> None:
    with Renewable() as scene:
        scene.peer.close()
        eventually(lambda: scene.client.connection.closed)
        wishing = in_thread(lambda: scene.client.listen("tools"))
        scene.again.accept_handshake(STATELESS)
        request = scene.again.receive(listens)
        scene.again.send(ended(request)[0])
        assert wishing.get().agreed.to_json() == {"toolsListChanged": True}


@pytest.mark.spec("subscribe.stdio-resubscribe")
def test_a_server_that_is_started_later_by_a_request_is_listened_to_again() -> None:
    """[2026-07-28 basic/patterns/subscriptions §Graceful Closure] MUST"""
    with Renewable() as scene:
        scene.wish("tools")
        scene.renewable(False)
        scene.peer.close()
        eventually(lambda: scene.count("listening given up"))
        scene.renewable()
        asking = in_thread(scene.client.discover)
        scene.again.accept_handshake(STATELESS)
        requests = {scene.again.receive()["method"]: n for n in range(2)}
        assert requests.keys() == {"server/discover", LISTEN}
        scene.client.close()
        with pytest.raises(Exception):
            asking.get()


def test_a_server_that_nobody_listens_to_is_not_started_for_that() -> None:
    with Renewable(limits=Limits(restart_delay=PATIENCE)) as scene:
        wish, first = scene.wish("tools")
        scene.peer.send(ended(first)[1])
        scene.peer.send(*ended(scene.peer.receive(listens)))
        eventually(lambda: scene.count("stream ended") == 2)  # the next one is a while away
        thread = scene.client.listening._thread
        scene.peer.close()
        eventually(lambda: scene.client.connection.closed)
        wish.close()
        assert thread is not None and not scene.again.has_mail


def test_a_new_server_that_tells_of_changes_unasked_does_not_keep_us_from_hearing_what_it_is() -> None:
    """The reader waits for nobody who waits for it."""
    limits = Limits(initialize_timeout=PATIENCE / 2, request_timeout=PATIENCE / 2, restart_delay=0.0)
    with Renewable(limits=limits) as scene:
        scene.peer.close()
        eventually(lambda: scene.client.connection.closed)
        asking = in_thread(scene.client.discover)
        scene.again.stateless = True
        for _ in range(2):
            id = scene.again.receive()["id"]
            scene.again.notify(CHANGED["tools"], {})
            scene.again.respond(id, {
                "supportedVersions": [STATELESS], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        asking.get()
        assert scene.count("notification of no stream") == 2


# -- The end, and another beginning --------------------------------------------------------------


def test_closing_frees_who_waits_for_a_stream_in_no_time() -> None:
    with Streams(limits=Limits(shutdown_grace=2 * PATIENCE, restart_delay=0.0)) as scene:
        _, first = scene.wish("tools")
        scene.peer.send(ended(first)[1])
        scene.peer.receive(listens)  # and it is never acknowledged
        thread = scene.client.listening._thread
        in_thread(scene.client.close).get()
        assert thread is not None and not thread.is_alive()


@pytest.mark.parametrize("revision", [STATELESS, LATEST_HANDSHAKE.name])
def test_what_was_wished_for_ends_with_close_and_means_nothing_after_another_open(revision: str) -> None:
    heard: "queue.Queue[str]" = queue.Queue()
    limits = Limits(restart_delay=0.0, request_timeout=PATIENCE)
    with Streams(limits=limits) as scene:
        client, stale = scene.client, []  # type: ignore[var-annotated]
        wish, _ = scene.wish("tools", uris=["x://old"], callback=stale.append)
        client.close()
        client.revisions = Client(revisions=[LATEST_HANDSHAKE, STATELESS], era="auto").revisions
        ours, theirs = pair()
        peer = ScriptedPeer(theirs)
        opening = in_thread(client.open, ours)
        peer.accept_handshake(revision, {"resources": {"subscribe": True}})
        opening.get()
        subscribing = in_thread(client.subscribe_resource, "x://a", heard.put)
        request = peer.receive()
        meta = {}
        if revision == STATELESS:
            assert request["params"]["notifications"] == {"resourceSubscriptions": ["x://a"]}
            peer.send(ended(request)[0])
            meta = {"_meta": {SUBSCRIPTION: request["id"]}}
        else:
            peer.respond(request["id"], {})
        subscribing.get()
        wish.close()
        for uri in ("x://old", "x://a"):
            peer.notify(UPDATED, dict(meta, uri=uri))
        assert heard.get(timeout=PATIENCE) == "x://a" and stale == []
        client.close()
        assert not peer.has_mail
        peer.close()


# -- Users ---------------------------------------------------------------------------------------


def test_all_who_wish_to_hear_of_a_resource_do_until_they_close() -> None:
    with Streams() as scene:
        heard: "queue.Queue[Any]" = queue.Queue()
        one, first = scene.wish(uris=["x://a"], callback=lambda uri: heard.put((1, uri)))
        two = scene.client.listen(uris=["x://a"], callback=lambda uri: heard.put((2, uri)))
        scene.tell(first["id"], UPDATED, uri="x://a")
        assert {heard.get(timeout=PATIENCE) for _ in range(2)} == {(1, "x://a"), (2, "x://a")}
        one.close()
        scene.tell(first["id"], UPDATED, uri="x://a/part")
        assert heard.get(timeout=PATIENCE) == (2, "x://a/part")
        two.close()
        assert scene.client.listening.listeners("x://a") == [] and heard.empty()


def test_subscribing_twice_and_unsubscribing_once_leaves_nothing() -> None:
    with Streams(limits=Limits(max_subscriptions=1, request_timeout=PATIENCE)) as scene:
        subscribing = in_thread(scene.client.subscribe_resource, "x://a", print)
        scene.accept()
        subscribing.get()
        scene.client.subscribe_resource("x://a")
        with pytest.raises(Busy, match="max_subscriptions"):
            scene.client.subscribe_resource("x://b")
        scene.client.unsubscribe_resource("x://a")
        assert scene.client.listening.listeners("x://a") == []
        assert scene.peer.receive()["method"] == "notifications/cancelled"
        scene.wish(uris=["x://b"])


def test_on_the_thread_that_reads_listening_is_refused() -> None:
    """It would wait for what only that thread can bring."""
    said: "queue.Queue[Any]" = queue.Queue()

    def callback(uri: str) -> None:
        with pytest.raises(LocalProtocolError, match="on the thread that reads"):
            scene.client.listen("prompts")
        said.put(uri)

    with Streams(executor=Inline()) as scene:
        _, first = scene.wish(uris=["x://a"], callback=callback)
        scene.tell(first["id"], UPDATED, uri="x://a")
        assert said.get(timeout=PATIENCE) == "x://a"


@pytest.mark.race
def test_wishes_that_come_and_go_at_once_leave_the_stream_that_is_needed() -> None:
    with Streams() as scene:
        def serve() -> None:
            doomed = 4
            while True:
                request = scene.peer.receive(listens)
                scene.peer.send(*ended(request)[:2 if doomed else 1])
                doomed = max(0, doomed - 1)

        serving = in_thread(serve)
        wishing = [in_thread(scene.client.listen, uris=["x://%d" % n]) for n in range(6)]
        for wish in [wish.get() for wish in wishing][:3]:
            wish.close()
        eventually(lambda: scene.client.listening.agreed.uris == {"x://%d" % n for n in range(3, 6)})
        scene.client.close()
        with pytest.raises(ConnectionLost):
            serving.get()
