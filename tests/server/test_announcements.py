"""What a server says to all its clients: list changes, grouped or not, and who hears them."""
import itertools
import threading

import pytest

from mcp_ref.limits import Limits
from mcp_ref.methods import LIST_CHANGED
from mcp_ref.server import Server
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, eventually

_NUMBERS = itertools.count()
CHANGES = {
    "tools": (lambda server: server.tool(lambda: "", name="new"), lambda server: server.remove_tool("new")),
    "resources": (lambda server: server.resource("test://new")(lambda: ""),
                  lambda server: server.remove_resource("test://new")),
    "prompts": (lambda server: server.prompt(lambda: "", name="new"), lambda server: server.remove_prompt("new")),
}


def full_server(**options):
    """A server with one of everything, so that every list is declared."""
    server = Server("announcing", **options)
    server.tool(lambda: "", name="old")
    server.resource("test://old")(lambda: "")
    server.resource("old://{name}")(lambda name: "")
    server.prompt(lambda: "", name="old")
    return server


def shaken(peer, revision="2025-11-25"):
    """Shake hands, and wait until the server knows that it is done; the capabilities."""
    capabilities = peer.handshake(revision)["capabilities"]
    assert said(peer) == []
    return capabilities


def said(peer):
    """Methods of what the server has said since, up to a barrier."""
    return [message["method"] for message in peer.barrier("barrier %d" % next(_NUMBERS))]


@pytest.mark.spec("tools.list-changed", "resources.list-changed", "prompts.list-changed")
@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize("feature", sorted(CHANGES))
def test_clients_are_told_when_a_list_changes(feature, revision):
    """[..2025-11-25 server/tools §List Changed Notification] SHOULD, and so for resources and prompts."""
    server = full_server()
    with ScriptedPeer.of_server(server) as peer:
        assert shaken(peer, revision)[feature]["listChanged"] is True
        for change in CHANGES[feature]:
            change(server)
            assert said(peer) == ["notifications/%s/list_changed" % feature]


def test_a_resource_template_that_comes_or_goes_is_a_change_of_the_resources():
    """[..2025-11-25 server/resources §List Changed Notification]"""
    server = full_server()
    with ScriptedPeer.of_server(server) as peer:
        shaken(peer)
        server.resource("new://{name}")(lambda name: "")
        server.remove_resource("old://{name}")
        assert said(peer) == [LIST_CHANGED["resources"]] * 2


def test_changes_made_within_announce_once_are_announced_once_for_each_list_at_its_end():
    server = full_server()
    with ScriptedPeer.of_server(server) as peer:
        shaken(peer)
        with pytest.raises(ZeroDivisionError), server.announce_once(), server.announce_once():
            for number in range(10):
                server.prompt(lambda: "", name="prompt%d" % number)
            server.remove_tool("old")
            assert said(peer) == []
            raise ZeroDivisionError  # what has changed is told nevertheless
        assert said(peer) == [LIST_CHANGED["tools"], LIST_CHANGED["prompts"]]
        with server.announce_once():
            pass
        assert said(peer) == []


def test_nothing_is_announced_before_the_client_is_initialized_nor_where_it_was_not_declared():
    """[..2025-11-25 basic/lifecycle §Initialization]: until then the server sends pings and log messages only."""
    server = Server("late")
    server.tool(lambda: "", name="old")
    with ScriptedPeer.of_server(server) as peer:
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "0"}}
        peer.call("init", "initialize", opening)
        server.remove_tool("old")
        assert said(peer) == []
        peer.notify("notifications/initialized")
        eventually(lambda: server.connections)
        server.tool(lambda: "", name="again")
        server.prompt(lambda: "", name="undeclared")
        assert said(peer) == [LIST_CHANGED["tools"]]


def test_connections_are_listed_while_they_operate():
    server = full_server()
    with ScriptedPeer.of_server(server) as peer, ScriptedPeer.of_server(server) as other:
        shaken(peer)
        shaken(other, "2024-11-05")
        assert [str(c.session.revision) for c in server.connections] == ["2025-11-25", "2024-11-05"]
        assert server.broadcast("notifications/tools/list_changed",
                                wanted=lambda c: str(c.session.revision) == "2024-11-05") == 1
        assert said(peer) == [] and said(other) == [LIST_CHANGED["tools"]]
        other.close()
        eventually(lambda: len(server.connections) == 1)
    eventually(lambda: not server.connections)


def test_a_client_that_reads_no_more_is_let_go_when_too_much_waits_for_it():
    """Others are told all the same, and nobody waits for it."""
    server = full_server(limits=Limits(max_outbox_bytes=2000))
    with ScriptedPeer.of_server(server) as deaf, ScriptedPeer.of_server(server) as reading:
        shaken(deaf)
        shaken(reading)
        connection = server.connections[0]
        connection.outbox._writing.acquire()  # as if a write to it never came back
        try:
            for _ in range(100):
                server.broadcast(LIST_CHANGED["tools"])
                assert reading.receive()["method"] == LIST_CHANGED["tools"]  # before too much waits for this one, too
            assert connection.wait_closed(PATIENCE)
        finally:
            connection.outbox._writing.release()
        assert said(reading) == []


@pytest.mark.race
def test_changes_from_many_threads_reach_a_client_that_comes_and_goes():
    server = full_server()
    start = threading.Barrier(4)

    def register(number):
        start.wait(PATIENCE)
        for turn in range(10):
            server.tool(lambda: "", name="tool-%d-%d" % (number, turn))

    threads = [threading.Thread(target=register, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    start.wait(PATIENCE)
    with ScriptedPeer.of_server(server) as peer:
        peer.handshake("2025-11-25")
        heard = said(peer)
        for thread in threads:
            thread.join(PATIENCE)
        server.tool(lambda: "", name="last")
        heard += said(peer)
        assert heard and set(heard) == {LIST_CHANGED["tools"]}
        assert len(peer.call("tools", "tools/list")["result"]["tools"]) == 32
