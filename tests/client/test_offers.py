"""What a client offers to its server: declared and answered exactly if it is given, and told when to announce."""
import pytest

from mcp_ref.client import Client, connect
from mcp_ref.client.client_capabilities import OFFERS, REQUESTS
from mcp_ref.client.elicitation import Elicitation
from mcp_ref.messages.base import Icon
from mcp_ref.messages.lifecycle import (
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
)
from mcp_ref.peer.context import Route
from mcp_ref.revisions import revision as revision_named
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Scene
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import Gate, eventually, in_thread

CAPABILITY = {
    "roots": (RootsCapability(list_changed=True), {"listChanged": True}),
    "sampling": (SamplingCapability(), {}),
    "elicitation": (ElicitationCapability(), {}),
}
RESULT = {"roots": {"roots": []}, "elicitation": {"action": "decline"},
          "sampling": {"role": "assistant", "model": "m", "content": {"type": "text", "text": ""}}}
COMPLETE = "notifications/elicitation/complete"
each_revision = pytest.mark.parametrize("revision", HANDSHAKE)


class Offer:
    """One that remembers what is done with it."""

    def __init__(self, name, notifications=None):
        self.name = name
        self.log = []
        if notifications is not None:
            self.notifications = notifications

    def capability(self):
        return CAPABILITY[self.name][0]

    def route(self, client, revision):
        self.log.append(("route", client, revision))
        return Route(lambda context, params: RESULT[self.name])

    def attach(self, client):
        self.log.append(("attach", client))

    def detach(self, client):
        self.log.append(("detach", client))


def ask(scene, number, method):
    """The server asks; the client's answer. (The scene's thread would take it, so look at what it has seen.)"""
    scene.peer.request(number, method, {})
    eventually(lambda: [m for m in scene.peer.seen if m.get("id") == number and "method" not in m])
    return [m for m in scene.peer.seen if m.get("id") == number and "method" not in m][0]


@pytest.mark.parametrize("given", [[], ["roots"], ["sampling"], ["elicitation"], list(OFFERS)])
@each_revision
def test_what_is_given_is_declared_and_answered_and_nothing_else(revision, given):
    offers = {name: Offer(name) for name in given}
    with Scene(revision, **offers) as scene:
        declared = {name: CAPABILITY[name][1] for name in given}
        assert scene.opening["capabilities"] == declared
        known = {name for name in given if name != "elicitation" or revision >= "2025-06-18"}
        assert scene.client.connection.session.capabilities == {name: declared[name] for name in known}
        for number, (method, name) in enumerate(REQUESTS.items(), 100):
            answer = ask(scene, number, method)
            if name in known:
                assert answer["result"] == RESULT[name]
                assert ("route", scene.client, revision_named(revision)) in offers[name].log
            else:
                assert answer["error"]["code"] == -32601


@each_revision
def test_an_offer_is_told_when_its_client_operates_and_when_that_is_over(revision):
    offer = Offer("roots")
    with Scene(revision, roots=offer) as scene:
        assert offer.log == [("attach", scene.client)]
        client = scene.client
    eventually(lambda: offer.log == [("attach", client), ("detach", client)])


def test_an_offer_is_told_nothing_of_a_client_that_never_operated():
    offer = Offer("roots")
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        opening = in_thread(Client(roots=offer).open, ours)
        peer.receive()
        peer.close()
        with pytest.raises(Exception):
            opening.get()
    assert offer.log == []


@pytest.mark.race
def test_a_connection_that_ends_while_it_is_told_leaves_nobody_attached():
    class Ending(Offer):
        def attach(self, client):
            gate.hold()
            assert client.connection.wait_closed(PATIENCE)
            super().attach(client)

    offer = Ending("roots")
    ours, theirs = pair()
    client = Client(roots=offer)
    with Gate() as gate, ScriptedPeer(theirs) as peer:
        opening = in_thread(client.open, ours)
        peer.accept_handshake()
        gate.entered()
        peer.close()
        gate.open()
        opening.get()
        client.close()
    eventually(lambda: offer.log == [("attach", client), ("detach", client)])


def test_a_notification_reaches_the_offer_that_wants_it_before_the_user():
    heard = []
    offer = Offer("elicitation", {COMPLETE: lambda connection, params: heard.append((connection, params))})
    with Scene(elicitation=offer, capabilities={}, on_notification=lambda *what: heard.append(what)) as scene:
        scene.tell(COMPLETE, {"elicitationId": "7"})
        eventually(lambda: len(heard) == 2)
        assert heard == [(scene.client.connection, {"elicitationId": "7"}), (COMPLETE, {"elicitationId": "7"})]


@pytest.mark.parametrize("name, plain, declared", [
    ("roots", ["/srv/data"], {"roots": {"listChanged": True}}),
    ("sampling", lambda params, context: None, {"sampling": {}}),
    ("elicitation", lambda params, context: None, {"elicitation": {"form": {}}}),
])
def test_plain_values_are_wrapped(name, plain, declared):
    with Scene(**{name: plain}) as scene:
        assert scene.opening["capabilities"] == declared


@each_revision
def test_experimental_and_further_capabilities_are_declared_too(revision):
    experimental = {"com.example/thing": {"a": [1]}, "other": {}}
    base = ClientCapabilities(sampling=SamplingCapability())
    with Scene(revision, experimental=experimental, capabilities={}, roots=Offer("roots")) as scene:
        assert scene.opening["capabilities"] == {"experimental": experimental, "roots": {"listChanged": True}}
    client = Client(capabilities=base, experimental=experimental, roots=Offer("roots"), tasks=False)
    assert client.capabilities == {"sampling": {}, "experimental": experimental, "roots": {}}
    assert base == ClientCapabilities(sampling=SamplingCapability()), "the caller's own stays as it is"


@each_revision
def test_a_client_introduces_itself_with_all_that_the_revision_has(revision):
    with Scene(revision, revisions=[revision], name="n", version="1", title="t", description="d",
               website_url="https://example.com", icons=[Icon("https://example.com/i.png")]) as scene:
        expected = {"name": "n", "version": "1"}
        if revision >= "2025-06-18":
            expected["title"] = "t"
        if revision >= "2025-11-25":
            expected.update(description="d", websiteUrl="https://example.com",
                            icons=[{"src": "https://example.com/i.png"}])
        assert scene.opening["clientInfo"] == expected


@each_revision
def test_links_alone_are_not_declared_where_that_would_mean_forms(revision):
    """[2025-06-18 client/elicitation §Capabilities]: an empty object there; since 2025-11-25 the modes are named."""
    client = Client(elicitation=Elicitation(url=lambda request, context: False), revisions=[revision])
    near, far = pair()
    peer = ScriptedPeer(far)
    opening = in_thread(client.open, near)
    declared = peer.accept_handshake(revision)["capabilities"]
    opening.get()
    client.close()
    peer.close()
    assert declared == ({"elicitation": {"url": {}}} if revision == "2025-11-25" else {}) == client.capabilities


def test_connect_passes_every_option_on():
    ours, theirs = pair()
    log, update, note = (lambda *what: None), (lambda uri: None), (lambda *what: None)
    roots = Offer("roots")
    with ScriptedPeer(theirs) as peer:
        opening = in_thread(connect, ours, name="n", version="2", title="t", roots=roots, experimental={"x": {}},
                            on_log=log, on_update=update, on_notification=note, strict=True, check_results=False,
                            revisions=["2025-06-18"])
        peer.accept_handshake()
        with opening.get() as client:
            assert (client.info.name, client.info.title, client.on_log, client.on_update) == ("n", "t", log, update)
            assert client.on_notification is note and client.strict and not client.check_results
            assert client.capabilities["experimental"] == {"x": {}} and roots.log[-1] == ("attach", client)
            assert str(client.revision) == "2025-06-18"


def test_connect_refuses_an_option_that_there_is_not_before_it_starts_anything(tmp_path):
    mark = tmp_path / "started"
    with pytest.raises(TypeError, match="sampler"):
        connect(["touch", str(mark)], sampler=None)
    assert not mark.exists()
