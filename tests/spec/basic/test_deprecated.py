"""Nothing that is deprecated is used unless somebody asks for it [2026-07-28 deprecated] SHOULD NOT."""
import pytest

from mcp_ref import Client, Server
from mcp_ref.client.roots import Roots
from mcp_ref.protocol.envelope import CAPABILITIES, LOG_LEVEL
from mcp_ref.server import Context
from mcp_ref.server.serving.http_listener import HttpListener
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Scene
from tests.support.serving import ask, served

STATELESS = "2026-07-28"


def add_nothing(server):
    pass


def add_plain(server):
    server.tool(lambda: "x", name="a")
    server.resource("test://a")(lambda: "x")
    server.resource("test://a/{x}")(lambda x: x)
    server.prompt(lambda x: x, name="a")
    server.completion("a", "x")(lambda value: [])


def tool(ctx: Context):
    pass


def prompt(ctx: Context):
    return "x"


LOGGING = {
    "tool": lambda server: server.tool(tool),
    "resource": lambda server: server.resource("test://ctx")(prompt),
    "template": lambda server: server.resource("test://ctx/{x}")(lambda x, ctx: x),
    "prompt": lambda server: server.prompt(prompt),
    "completion": lambda server: server.completion("a", "x")(lambda value, ctx: []),
}


@pytest.mark.spec("deprecation.logging", "deprecation.general", "logging.capability")
@pytest.mark.parametrize("add", [add_nothing, add_plain])
def test_a_server_of_which_nothing_can_log_does_not_seem_to(add):
    """[2026-07-28 server/utilities/logging §Capabilities]"""
    server = Server("quiet")
    add(server)
    with served(server, STATELESS) as peer:
        assert "logging" not in peer.capabilities
    for revision in HANDSHAKE:
        with served(server, revision) as peer:
            assert peer.capabilities["logging"] == {}


@pytest.mark.spec("deprecation.logging", "logging.capability")
@pytest.mark.parametrize("what", LOGGING)
def test_a_server_of_which_something_may_log_declares_it(what):
    """[2026-07-28 server/utilities/logging §Capabilities] MUST"""
    server = Server("loud")
    server.prompt(lambda x: x, name="a")
    with served(server, STATELESS) as peer:
        assert "logging" not in peer.capabilities
        ask(peer, "prompts/list")
        LOGGING[what](server)
        assert ask(peer, "server/discover")["result"]["capabilities"]["logging"] == {}


@pytest.mark.spec("logging.capability")
def test_who_may_log_can_log_also_where_it_was_registered_late():
    """[2026-07-28 server/utilities/logging §Capabilities] MUST: what was declared before was true before."""
    server = Server("loud")
    server.tool(lambda: "x", name="quiet")
    with served(server, STATELESS) as peer:
        ask(peer, "tools/call", {"name": "quiet", "arguments": {}})

        @server.tool
        def loud(ctx: Context):
            ctx.log("info", "here")

        answer = ask(peer, "tools/call", {"name": "loud", "arguments": {}, "_meta": {LOG_LEVEL: "debug"}})
        assert not answer["result"].get("isError"), answer
        assert any(message.get("method") == "notifications/message" for message in peer.seen)


@pytest.mark.spec("deprecation.roots", "deprecation.sampling", "deprecation.logging", "deprecation.general")
def test_a_client_declares_and_asks_for_nothing_of_it_by_itself():
    """[2026-07-28 client/roots], [2026-07-28 client/sampling], [2026-07-28 server/utilities/logging]"""
    with Scene(STATELESS, {"tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"}},
               tasks=False, elicitation=lambda params, context: None) as scene:
        list(scene.client.tools())
        for meta in (scene.opening["_meta"], scene.requests[-1]["params"]["_meta"]):
            assert set(meta[CAPABILITIES]) == {"elicitation"} and LOG_LEVEL not in meta


@pytest.mark.parametrize("options, declared", [
    ({"roots": ["/tmp"]}, {"roots"}), ({"sampling": lambda params, context: None}, {"sampling"}),
    ({"roots": Roots(["/tmp"]), "sampling": lambda params, context: None}, {"roots", "sampling"}), ({}, set()),
])
def test_a_client_declares_what_it_is_given(options, declared):
    with Scene(STATELESS, {}, tasks=False, **options) as scene:
        assert set(scene.opening["_meta"][CAPABILITIES]) == declared


@pytest.mark.spec("deprecation.http-sse")
@pytest.mark.parametrize("revisions, options, offered", [
    ([STATELESS], {}, False), ([STATELESS], {"legacy": True}, False), (None, {"legacy": False}, False),
    (None, {}, True),
])
def test_a_server_offers_http_with_sse_only_where_old_clients_are_served(revisions, options, offered):
    """[2026-07-28 deprecated §Deprecated] SHOULD NOT"""
    made = HttpListener(Server("x", revisions=revisions), "http://127.0.0.1:0/mcp", **options)
    assert (made.legacy is not None) == offered


def test_a_plain_client_is_a_modern_one_too():
    assert "roots" not in Client(era="modern").capabilities
