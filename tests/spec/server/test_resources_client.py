"""Resources as a client uses them: reading, and being told of updates."""
import threading

import pytest

from mcp_ref.errors import Busy, CapabilityMissing, PeerError, PeerProtocolError
from mcp_ref.limits import Limits
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Failure, Scene
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

SUBSCRIBE, UNSUBSCRIBE, UPDATED = "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated"
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)


class Heard(list):
    """Collects URIs; `next` waits for one."""

    def __init__(self, name, log):
        super().__init__()
        self.name, self.log = name, log

    def __call__(self, uri):
        self.log.append((self.name, uri))
        self.append(uri)


def subscribed(revision="2025-11-25", **options):
    return Scene(revision, {SUBSCRIBE: {}, UNSUBSCRIBE: {}}, **options)


@pytest.mark.parametrize("read", [
    lambda c, *a, **o: c.read_resource(*a, **o), lambda c, *a, **o: c.submit_resource(*a, **o).result(PATIENCE),
])
@each_revision
def test_a_resource_is_its_contents(revision, read):
    contents = [{"uri": "test://a", "text": "t"}, {"uri": "test://a/b", "blob": "aGk=", "mimeType": "x/y"}]
    with Scene(revision, {"resources/read": {"contents": contents}}) as scene:
        found = read(scene.client, "test://a", meta={"com.example/x": 1}).contents
        assert (found[0].text, found[1].blob, found[1].mime_type) == ("t", "aGk=", "x/y")
        assert scene.params("resources/read") == [{"uri": "test://a", "_meta": {"com.example/x": 1}}]
        scene.answers["resources/read"] = Failure(-32002, "Resource not found")
        with pytest.raises(PeerError, match="Resource not found") as caught:
            read(scene.client, "test://a")
        assert caught.value.code == -32002
        scene.answers["resources/read"] = {"contents": [{"uri": "test://a"}]}
        with pytest.raises(PeerProtocolError, match=r"result\.contents\[0\]"):
            read(scene.client, "test://a")


@each_revision
def test_updates_reach_the_callback_of_the_resource_and_of_the_client(revision):
    """[..2025-11-25 server/resources §Subscriptions]"""
    log = []
    with subscribed(revision, on_update=Heard("client", log), on_notification=lambda m, p: log.append((m, p["uri"]))) \
            as scene:
        assert scene.client.subscribe_resource("test://a", Heard("a", log)) is None
        scene.client.subscribe_resource("test://b")
        assert scene.params(SUBSCRIBE) == [{"uri": "test://a"}, {"uri": "test://b"}]
        for uri in ("test://a", "test://b", "test://unasked"):
            scene.tell(UPDATED, {"uri": uri})
        eventually(lambda: len(log) == 7)
        assert log == [("a", "test://a"), ("client", "test://a"), (UPDATED, "test://a"), ("client", "test://b"),
                       (UPDATED, "test://b"), ("client", "test://unasked"), (UPDATED, "test://unasked")]


@pytest.mark.parametrize("uri, heard", [
    ("test://a", ["a"]), ("test://a/x", ["a"]), ("test://a?q", ["a"]), ("test://a#f", ["a"]), ("test://ab", []),
    ("test://a/b/", ["ab"]), ("test://a/b/c", ["a", "ab"]), ("test://a/bc", ["a"]), ("test://", []), ("", []),
    ("test://a/b", ["a"]),
])
def test_whoever_subscribed_to_a_whole_hears_of_its_parts(uri, heard):
    log = []
    with subscribed(on_notification=lambda *what: log.append("over")) as scene:
        scene.client.subscribe_resource("test://a", lambda uri: log.append("a"))
        scene.client.subscribe_resource("test://a/b/", lambda uri: log.append("ab"))
        scene.tell(UPDATED, {"uri": uri})
        eventually(lambda: "over" in log)
        assert log[:-1] == heard


@each_revision
def test_after_unsubscribing_nothing_is_heard(revision):
    log = []
    with subscribed(revision, on_notification=lambda *what: log.append("over")) as scene:
        scene.client.subscribe_resource("test://a", lambda uri: log.append(uri))
        assert scene.client.unsubscribe_resource("test://a") is None
        assert scene.params(UNSUBSCRIBE) == [{"uri": "test://a"}]
        scene.tell(UPDATED, {"uri": "test://a"})
        eventually(lambda: log)
        assert log == ["over"]


@pytest.mark.race
def test_an_update_that_comes_with_the_answer_is_heard():
    heard = threading.Event()

    def answer(params):
        scene.peer.notify(UPDATED, params)
        return {}

    with Scene(answers={SUBSCRIBE: answer}) as scene:
        scene.client.subscribe_resource("test://a", lambda uri: heard.set())
        assert heard.wait(PATIENCE)


def test_a_subscription_that_was_refused_leaves_what_was_there():
    log = []
    with subscribed(on_notification=lambda *what: log.append("over"), limits=Limits(max_subscriptions=2)) as scene:
        scene.client.subscribe_resource("test://a", lambda uri: log.append("first"))
        scene.answers[SUBSCRIBE] = Failure(-32602)
        for uri in ("test://a", "test://b", "test://c"):
            with pytest.raises(PeerError):
                scene.client.subscribe_resource(uri, lambda uri: log.append("second"))
            scene.tell(UPDATED, {"uri": uri})
        eventually(lambda: log.count("over") == 3)
        assert log == ["first", "over", "over", "over"]


def test_a_second_callback_takes_the_place_of_the_first_and_counts_once():
    log = []
    with subscribed(on_notification=lambda *what: log.append("over"), limits=Limits(max_subscriptions=1)) as scene:
        scene.client.subscribe_resource("test://a", lambda uri: log.append("first"))
        scene.client.subscribe_resource("test://a", lambda uri: log.append("second"))
        scene.tell(UPDATED, {"uri": "test://a"})
        eventually(lambda: "over" in log)
        assert log == ["second", "over"]
        with pytest.raises(Busy, match="max_subscriptions"):
            scene.client.subscribe_resource("test://b")
        scene.client.unsubscribe_resource("test://a")
        scene.client.subscribe_resource("test://b")
        assert len(scene.params(SUBSCRIBE)) == 3


@pytest.mark.parametrize("declared", [{}, {"resources": {}}, {"resources": {"subscribe": False}}])
@each_revision
def test_a_server_without_subscriptions_is_not_asked(revision, declared):
    """[..2025-11-25 server/resources §Capabilities]"""
    with Scene(revision, capabilities=declared) as scene:
        for call in (scene.client.subscribe_resource, scene.client.unsubscribe_resource):
            with pytest.raises(CapabilityMissing, match="resources.subscribe"):
                call("test://a")
        scene.client.ping()
        assert scene.asked == []


@pytest.mark.parametrize("params", [None, {}, {"uri": 5}, {"uri": None}, {"uri": ["test://a"]}])
@each_revision
def test_an_update_of_nothing_is_dropped(revision, params):
    log = []
    with subscribed(revision, on_update=log.append, on_notification=lambda *what: log.append("over")) as scene:
        scene.tell(UPDATED, params)
        scene.tell(UPDATED, {"uri": "test://a"})
        eventually(lambda: "over" in log)
        assert log == ["test://a", "over"] and scene.count("malformed notification") == 1
