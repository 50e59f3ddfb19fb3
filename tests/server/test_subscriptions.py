"""Subscriptions to resources: who hears of a change, who does not, and what is left of those who went."""
import threading

import pytest

from mcp_ref import Server
from mcp_ref.limits import Limits
from mcp_ref.server.subscriptions import Subscriptions
from mcp_ref.transports.base import Transport
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import eventually

every_revision = pytest.mark.parametrize("revision", HANDSHAKE)


def make_server(**options):
    server = Server("changing", **options)
    server.resource("x://a")(lambda: "a")
    server.resource("x://b")(lambda: "b")
    server.resource("db://{table}")(lambda table: table)
    server.resource("n://{n}")(typed)
    server.resource("tree://{+path}")(lambda path: path)
    return server


def typed(n: int) -> str:
    return str(n)


def talk(server, revision="2025-11-25"):
    peer = ScriptedPeer.of_server(server)
    peer.handshake(revision)
    peer.barrier("ready")
    return peer


def subscribe(peer, uri, method="subscribe"):
    return peer.call("%s %s" % (method, uri), "resources/" + method, {"uri": uri})


def heard(peer):
    """The URIs of the updates that have come since the last message that the test took."""
    said = peer.barrier("heard %d" % len(peer.seen))
    assert {message["method"] for message in said} <= {"notifications/resources/updated"}
    assert all(list(message["params"]) == ["uri"] for message in said)
    return [message["params"]["uri"] for message in said]


@every_revision
def test_a_subscriber_hears_of_its_resource_and_of_no_other(revision):
    """[..2025-11-25 server/resources §Subscriptions]"""
    server = make_server()
    with talk(server, revision) as first, talk(server, revision) as second, talk(server, revision) as third:
        for uri in ["x://a", "db://users"]:
            assert subscribe(first, uri)["result"] == {}
        assert subscribe(second, "x://b")["result"] == {}
        for uri in ["x://a", "x://b", "db://users", "db://orders", "x://a/b", "x://A", "y://never"]:
            server.resource_updated(uri)
        assert (heard(first), heard(second), heard(third)) == (["x://a", "db://users"], ["x://b"], [])


@every_revision
def test_after_unsubscribing_nothing_is_heard_any_more(revision):
    """[..2025-11-25 server/resources §Subscriptions]"""
    server = make_server()
    with talk(server, revision) as peer:
        subscribe(peer, "x://a")
        subscribe(peer, "x://b")
        assert subscribe(peer, "x://a", "unsubscribe")["result"] == {}
        server.resource_updated("x://a")
        server.resource_updated("x://b")
        assert heard(peer) == ["x://b"]


@every_revision
def test_subscribing_twice_is_once_and_unsubscribing_from_nothing_succeeds(revision):
    """[..2025-11-25 server/resources §Subscriptions]"""
    server = make_server()
    with talk(server, revision) as peer:
        for number in range(3):
            assert peer.call(number, "resources/subscribe", {"uri": "x://a"})["result"] == {}
        server.resource_updated("x://a")
        assert heard(peer) == ["x://a"] and len(server.subscriptions) == 1
        for number, uri in enumerate(["x://a", "x://a", "x://b", "never://was"]):
            assert peer.call("u%d" % number, "resources/unsubscribe", {"uri": uri})["result"] == {}
        server.resource_updated("x://a")
        assert heard(peer) == [] and len(server.subscriptions) == 0


@every_revision
def test_what_the_server_does_not_have_cannot_be_subscribed_to(revision):
    """[..2025-11-25 server/resources §Error Handling] SHOULD"""
    with talk(make_server(), revision) as peer:
        for uri in ["x://c", "db://a/b", "db://", "y://a", "tree://"]:
            assert subscribe(peer, uri)["error"] == {
                "code": -32002, "message": "Resource not found", "data": {"uri": uri}}
        for uri in ["n://5", "n://not-there", "tree://a/"]:
            assert subscribe(peer, uri)["result"] == {}


@every_revision
def test_a_container_covers_what_lies_below_it_and_each_change_is_heard_of_once(revision, tmp_path):
    """[..2025-11-25 server/resources §Subscriptions]"""
    server = make_server()
    server.directory(tmp_path, uri="file:///d/")
    with talk(server, revision) as all_below, talk(server, revision) as both, talk(server, revision) as plain:
        wanted = {all_below: ["tree://a/", "file:///d/"], both: ["tree://a/", "tree://a/b/", "tree://a/b/c"],
                  plain: ["tree://a", "tree://a/b/c"]}
        for peer, uris in wanted.items():
            for uri in uris:
                assert subscribe(peer, uri)["result"] == {}
        for uri in ["tree://a/b/c", "tree://a/x", "tree://a/", "tree://ab/c", "tree://a", "file:///d/e/f.txt",
                    "file:///d"]:
            server.resource_updated(uri)
        assert heard(all_below) == ["tree://a/b/c", "tree://a/x", "tree://a/", "file:///d/e/f.txt"]
        assert heard(both) == ["tree://a/b/c", "tree://a/x", "tree://a/"]
        assert heard(plain) == ["tree://a/b/c", "tree://a"]


@every_revision
def test_a_client_may_have_so_many_and_the_refusal_names_the_limit(revision):
    server = make_server(limits=Limits(max_subscriptions=3))
    with talk(server, revision) as peer, talk(server, revision) as other:
        answers = [peer.call(id, "resources/subscribe", {"uri": "db://t%d" % number})
                   for id, number in enumerate([0, 1, 2, 2, 0, 3])]
        assert ["result" in answer for answer in answers] == [True] * 5 + [False]
        assert answers[-1]["error"]["code"] == -32603 and "max_subscriptions (3)" in answers[-1]["error"]["message"]
        assert "result" in subscribe(other, "x://a")
        subscribe(peer, "db://t1", "unsubscribe")
        assert "result" in subscribe(peer, "x://b")


def test_with_room_for_none_nothing_is_kept():
    server = make_server(limits=Limits(max_subscriptions=0))
    with talk(server) as peer:
        assert "max_subscriptions (0)" in subscribe(peer, "x://a")["error"]["message"]
        assert vars(server.subscriptions)["_uris"] == {} and len(server.subscriptions) == 0


@pytest.mark.parametrize("uri", ["", "a", "x://a b", "x:\n", "x:" + "a" * 9000])
def test_an_author_who_announces_what_is_no_uri_is_told(uri):
    server = make_server()
    with talk(server) as peer:
        subscribe(peer, "x://a")
        with pytest.raises(ValueError, match="not the URI of a resource"):
            server.resource_updated(uri)
        assert heard(peer) == []


def test_announcing_before_anybody_subscribed_does_nothing():
    server = make_server()
    server.resource_updated("x://a")
    with talk(server) as peer:
        server.resource_updated("x://a")
        assert heard(peer) == []


def test_connections_that_ended_are_forgotten_however_many_there_were():
    server = make_server()
    for _ in range(5):
        with talk(server) as peer:
            peer.send(*[{"jsonrpc": "2.0", "id": n, "method": "resources/subscribe", "params": {"uri": "db://t%d" % n}}
                        for n in range(1000)])
            peer.answer_to(999)
            assert len(server.subscriptions) == 1000
        eventually(lambda: len(server.subscriptions) == 0)
        server.resource_updated("db://t5")
    assert vars(server.subscriptions)["_uris"] == {} and vars(server.subscriptions)["_subscribers"] == {}


class Ended:
    """A connection that is over; nothing may be kept for it."""

    closed = True
    limits = Limits()
    transport = Transport()


def test_a_subscription_that_comes_after_the_end_is_not_kept():
    subscriptions = Subscriptions()
    subscriptions.add(Ended(), "x://a", 10)
    assert len(subscriptions) == 0 and subscriptions.of("x://a") == []


def test_an_update_looks_only_at_its_own_subscribers():
    class Open(Ended):
        closed = False

    subscriptions, one = Subscriptions(), Open()
    looked_at = []

    class Watched(type(vars(subscriptions)["_subscribers"])):
        def get(self, key, default=None):
            looked_at.append(key)
            return super().get(key, default)

        def __iter__(self):
            raise AssertionError("walked through all subscriptions")

        items = values = keys = __iter__

    for number in range(10_000):
        subscriptions.add(Open(), "x://%d" % number, 10)
    subscriptions.add(one, "x://d/", 10)
    vars(subscriptions)["_subscribers"] = Watched(vars(subscriptions)["_subscribers"])
    assert subscriptions.of("x://d/e/f") == [one] and looked_at == ["x://d/e/f", "x://d/e/", "x://d/"]


def test_a_client_that_is_gone_does_not_keep_the_others_from_hearing():
    server = make_server()
    with talk(server) as first, talk(server) as second:
        subscribe(first, "x://a")
        subscribe(second, "x://a")
        first.transport.close()
        server.resource_updated("x://a")
        assert heard(second) == ["x://a"]


@pytest.mark.race
def test_subscriptions_come_and_go_while_updates_are_sent():
    server, stop, errors = make_server(), threading.Event(), []

    def update():
        try:
            while not stop.is_set():
                server.resource_updated("db://t1")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=update, daemon=True)
    with talk(server) as peer:
        subscribe(peer, "db://t0")
        thread.start()
        try:
            for _ in range(3):
                with talk(server) as other:
                    subscribe(other, "db://t1")
                    other.receive(lambda message: message.get("method") == "notifications/resources/updated")
                    subscribe(other, "db://t1", "unsubscribe")
        finally:
            stop.set()
            thread.join(PATIENCE)
        server.resource_updated("db://t0")
        assert heard(peer) == ["db://t0"]
    assert errors == [] and not thread.is_alive()
    eventually(lambda: len(server.subscriptions) == 0)
