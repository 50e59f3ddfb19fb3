"""Which revision is spoken: every set of revisions of a client with every set of a server, and every odd wish."""
import itertools

import pytest

from mcp_ref.client import Client
from mcp_ref.errors import PeerProtocolError
from mcp_ref.revisions import REVISIONS
from mcp_ref.server import Server
from mcp_ref.transports.memory import pair
from tests.support.conversation import Opening, opening_params
from tests.support.requirements_table import HANDSHAKE, revisions_of
from tests.support.scripted import PATIENCE, ScriptedPeer

LATEST = HANDSHAKE[-1]
STATELESS = "2026-07-28"
SETS = [chosen for size in range(1, 5) for chosen in itertools.combinations(HANDSHAKE, size)]
"""Every set of handshake revisions that a party can speak."""
UNKNOWN = [
    "", " ", "1.0", "1.0.0", "latest", "draft", "DRAFT-2026-v1", "2024-11-5", "2024-11-06", "2025-06-18 ",
    " 2025-06-18", "2025-06-18\n", "2025-06-18T00:00:00Z", "2025-06-18-1", "20250618", "2025/06/18", "0000-00-00",
    "1999-12-31",
    "2024-10-07", "2026-07-29", "9999-99-99", "\u0662\u0660\u0662\u0665-06-18", "2025\u201306\u201318", "\U0001f600",
    "None", "null", "../2025-06-18", "x" * 100000,
]
"""Versions that nobody has, and what only looks like one."""
names = "-".join


def agreed_by(client, server):
    """What the page says two parties agree on, given what they speak; None: the client leaves."""
    wish = client[-1]
    answer = wish if wish in server else server[-1]
    return answer if answer in client else None


@pytest.mark.spec("version.client-sends-supported", "version.client-sends-latest", "version.server-same",
                  "version.server-other", "version.server-latest", "version.client-disconnect",
                  "version.client-must-disconnect")
@pytest.mark.parametrize("spoken", SETS, ids=names)
def test_two_parties_agree_or_the_client_leaves_whatever_they_speak(spoken):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] MUST"""
    for offered in SETS:
        server = Server("server", revisions=list(reversed(offered)))  # the order in which they are given says nothing
        client = Client("client", revisions=spoken)
        ours, theirs = pair()
        connection = server.connect(theirs)
        expected = agreed_by(spoken, offered)
        if expected is not None:
            client.open(ours)
            assert client.revision.name == connection.session.revision.name == expected, offered
            client.ping()
        else:
            with pytest.raises(PeerProtocolError, match="this client speaks %s" % spoken[0]):
                client.open(ours)
        client.close()
        assert connection.wait_closed(PATIENCE) and client.connection.closed


@pytest.mark.spec("version.client-sends-supported", "version.client-sends-latest")
@pytest.mark.parametrize("revision", revisions_of("version.client-sends-latest"))
def test_a_client_asks_for_the_newest_revision_it_speaks(revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD"""
    for spoken in SETS:
        if revision not in spoken:
            continue
        for choice in (spoken, spoken + (STATELESS,)):
            assert asked_version(Client("client", revisions=choice)) == spoken[-1]
    assert asked_version(Client("client")) == LATEST


def asked_version(client):
    """The version in a client's `initialize`; one that speaks both eras asks another question before."""
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        opening = Opening(client, ours)
        asked = peer.receive()
        if asked["method"] == "server/discover":
            peer.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
            asked = peer.receive()
        version = asked["params"]["protocolVersion"]
        peer.transport.close()
        assert opening.join() is not None
    return version


@pytest.mark.spec("version.server-same")
@pytest.mark.parametrize("revision", revisions_of("version.server-same"))
def test_a_server_answers_with_the_version_that_was_asked_for_if_it_speaks_it(revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] MUST"""
    for offered in SETS:
        if revision in offered:
            assert answered_version(offered, revision) == revision


@pytest.mark.spec("version.server-other", "version.server-latest")
@pytest.mark.parametrize("revision", revisions_of("version.server-other"))
def test_a_server_answers_with_its_newest_version_if_it_does_not_speak_the_one_asked_for(revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] MUST"""
    for offered in SETS:
        if offered[-1] == revision:
            for wish in [name for name in HANDSHAKE + (STATELESS,) if name not in offered]:
                assert answered_version(offered, wish) == revision
                assert answered_version(offered + (STATELESS,), wish) == revision
    for wish in UNKNOWN:
        assert answered_version((revision,), wish) == revision


def answered_version(offered, wish):
    """The version in a server's answer."""
    server = Server("server", revisions=offered)
    with ScriptedPeer.of_server(server) as peer:
        return peer.call(1, "initialize", opening_params(wish, {}))["result"]["protocolVersion"]


@pytest.mark.spec("version.server-other", "lifecycle.error-version-mismatch")
@pytest.mark.parametrize("revision", revisions_of("version.server-other"))
@pytest.mark.parametrize("wish", ["2024-10-07", STATELESS, ""])
def test_a_client_that_can_speak_what_the_server_answers_goes_on_in_it(wish, revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] MUST"""
    server = Server("server", revisions=[revision])
    server.tool(lambda: "", name="one")
    with ScriptedPeer.of_server(server) as peer:
        assert peer.call("init", "initialize", opening_params(wish, {}))["result"]["protocolVersion"] == revision
        peer.notify("notifications/initialized")
        assert peer.connection.session.revision.name == revision
        assert [tool["name"] for tool in peer.call(1, "tools/list")["result"]["tools"]] == ["one"]
        assert peer.call(2, "server/discover")["error"]["code"] == -32601, "the stateless era is not agreed on here"


@pytest.mark.spec("version.server-other", "lifecycle.error-version-mismatch")
@pytest.mark.parametrize("revision", revisions_of("lifecycle.error-version-mismatch"))
def test_a_client_that_leaves_over_the_version_ends_the_servers_connection_and_nothing_else(revision):
    """[..2025-11-25 basic/lifecycle §Error Handling] SHOULD"""
    server = Server("server", revisions=[revision])
    with ScriptedPeer.of_server(server) as peer:
        assert peer.call(1, "initialize", opening_params("1.0"))["result"]["protocolVersion"] == revision
        peer.transport.close()
        assert peer.connection.wait_closed(PATIENCE)
    assert answered_version([revision], revision) == revision


@pytest.mark.spec("version.client-disconnect", "version.client-must-disconnect", "lifecycle.error-version-mismatch")
@pytest.mark.parametrize("revision", revisions_of("version.client-must-disconnect"))
def test_a_client_leaves_a_server_that_answers_with_a_version_it_does_not_speak(revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD, and in the schema MUST"""
    odd = [None, 5, True, ["2025-06-18"], {"version": revision}]
    others = [name for name in HANDSHAKE if name != revision]
    for answer in others + [STATELESS] + UNKNOWN + odd:
        client = Client("client", revisions=[revision])
        ours, theirs = pair()
        with ScriptedPeer(theirs) as peer:
            opening = Opening(client, ours)
            info = {"name": "scripted", "version": "0"}
            result = {"protocolVersion": answer, "capabilities": {}, "serverInfo": info}
            peer.respond(peer.receive()["id"], result)
            error = opening.join()
            told = revision if isinstance(answer, str) else "result.protocolVersion: expected string"
            assert isinstance(error, PeerProtocolError) and told in str(error), answer
            assert len(str(error)) < 500
            assert peer.ended() and len(peer.seen) == 1, "it leaves, and sends no initialized"


@pytest.mark.spec("version.client-must-disconnect")
@pytest.mark.parametrize("revision", revisions_of("version.client-must-disconnect"))
def test_a_client_stays_with_any_version_that_it_speaks(revision):
    """[..2025-11-25 basic/lifecycle §Version Negotiation] SHOULD"""
    client = Client("client")
    ours, theirs = pair()
    with ScriptedPeer(theirs) as peer:
        opening = Opening(client, ours)
        assert peer.accept_handshake(revision)["protocolVersion"] == LATEST
        assert opening.join() is None and client.revision.name == revision
        client.close()


def test_revisions_are_names_that_exist():
    """[2026-07-28 basic/versioning §Terminology]: a party may speak those of one era or of both."""
    for bad in ([], ["2025-06-17"], ["2025-06-18", "latest"], [""]):
        with pytest.raises(ValueError):
            Server("me", revisions=bad)
        with pytest.raises(ValueError):
            Client("me", revisions=bad)
    assert Server("me").revisions == Server("me", revisions=[str(revision) for revision in REVISIONS]).revisions
    assert [str(revision) for revision in Server("me").revisions] == list(HANDSHAKE) + [STATELESS]
    assert Server("me", revisions=[STATELESS]).revisions == REVISIONS[-1:]
