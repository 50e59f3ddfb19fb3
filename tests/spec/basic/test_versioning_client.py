"""A client that speaks revisions with and without handshake, and servers of every kind.

[2026-07-28 basic/versioning §Compatibility Matrix], [2026-07-28 basic/transports/stdio §Backward Compatibility].
Every pairing is played with a server of ours over memory, stdio and HTTP; what the page says of single messages, with
a scripted one.
"""
import contextlib
import json
import sys

import pytest

from mcp_ref import __version__, Client, Server, connect
from mcp_ref.errors import PeerError, PeerProtocolError, RequestTimeout
from mcp_ref.limits import Limits
from mcp_ref.protocol import envelope
from mcp_ref.server.serving.http_listener import HttpListener
from mcp_ref.transports.memory import pair
from mcp_ref.transports.tap import tap
from mcp_ref.wiretrace import Trace
from tests.support import official_schema
from tests.support.scene import SILENT, Failure, Scene, rounds
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import HANDSHAKE, eventually, in_thread

MODERN = "2026-07-28"
KINDS = {"modern": [MODERN], "legacy": HANDSHAKE, "dual": HANDSHAKE + [MODERN]}
LIMITS = Limits(request_timeout=PATIENCE, initialize_timeout=PATIENCE, probe_timeout=PATIENCE)
FULL = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}

PROGRAM = """
import sys
from mcp_ref import Server
server = Server("pairing", "1.0", revisions=sys.argv[1].split(","))

@server.tool
def add(a: int, b: int) -> int:
    return a + b

server.run()
"""

MATRIX = {
    ("modern", "modern"): MODERN,
    ("modern", "legacy"): PeerProtocolError,
    ("modern", "dual"): MODERN,
    ("dual", "modern"): MODERN,
    ("dual", "legacy"): "2025-11-25",
    ("dual", "dual"): MODERN,
    ("legacy", "modern"): PeerError,
    ("legacy", "legacy"): "2025-11-25",
    ("legacy", "dual"): "2025-11-25",
}
"""Client and server -> the revision that is spoken, or the error."""


def pairing_server(kind):
    """A server of this kind with one tool."""
    server = Server("pairing", "1.0", revisions=KINDS[kind])
    server.tool(add)
    return server


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@contextlib.contextmanager
def over_memory(server, **options):
    near, far = pair()
    connection = pairing_server(server).connect(far)
    try:
        with connect(near, **options) as client:
            yield client
    finally:
        connection.close()
        assert connection.wait_closed(PATIENCE)


@contextlib.contextmanager
def over_stdio(server, **options):
    with connect([sys.executable, "-S", "-c", PROGRAM, ",".join(KINDS[server])], **options) as client:
        yield client


@contextlib.contextmanager
def over_http(server, **options):
    listener = HttpListener(pairing_server(server), "http://127.0.0.1:0")
    listener.open()
    try:
        with connect(listener.address, **options) as client:
            yield client
    finally:
        listener.close()


WAYS = {"memory": over_memory, "stdio": over_stdio, "http": over_http}


@pytest.mark.spec("version.select-supported", "stdio.dual-era-probe", "stdio.modern-client-probe")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("client, server", MATRIX, ids=["%s-%s" % kinds for kinds in MATRIX])
def test_every_pairing_comes_out_as_the_page_says(client, server, way):
    """[2026-07-28 basic/versioning §Compatibility Matrix]"""
    expected = MATRIX[client, server]
    options = {"era": "auto" if client == "dual" else client, "limits": LIMITS}
    if isinstance(expected, str):
        with WAYS[way](server, **options) as found:
            assert str(found.revision) == expected
            assert found.server_info.name == "pairing" and "tools" in found.server_capabilities
            assert found.call_tool("add", {"a": 1, "b": 2}).structured_content == {"result": 3}
            assert [tool.name for tool in found.tools()] == ["add"]
            found.ping()
        return
    with pytest.raises(expected) as caught:
        with WAYS[way](server, **options):
            pass
    if expected is PeerError:  # no handshake there: the server says what it speaks, and the user sees it
        assert MODERN in str(caught.value) and caught.value.method == "initialize"
    else:  # the client says what can be done
        assert 'era="auto"' in str(caught.value) and "handshake" in str(caught.value)


@pytest.mark.spec("stdio.dual-era-probe", "stdio.modern-client-probe", "meta.required-fields", "meta.client-info")
@pytest.mark.parametrize("era", ["auto", "modern", MODERN])
def test_the_first_question_is_discovery_with_the_preferred_version(era):
    """[2026-07-28 basic/transports/stdio §Backward Compatibility] SHOULD"""
    near, far = pair()
    with ScriptedPeer(far) as peer:
        opening = in_thread(Client("me", "7", title="Me", era=era, roots=["/a"], tasks=False).open, near)
        first = peer.receive()
        assert first["method"] == "server/discover"
        assert first["params"] == {"_meta": {
            envelope.VERSION: MODERN, envelope.CAPABILITIES: {"roots": {}},
            envelope.CLIENT_INFO: {"name": "me", "version": "7", "title": "Me"},
        }}
        peer.respond(first["id"], {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {},
                                   "ttlMs": 0, "cacheScope": "private"})
        opening.get().close()


@pytest.mark.spec("stdio.fallback-any-error", "stdio.dual-era-probe")
@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32700, -32000, -32002, -32099, -1, 0, 400, 2**31])
@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_fallback_hangs_on_no_error_code(code, revision):
    """[2026-07-28 basic/transports/stdio §Backward Compatibility] MUST NOT"""
    near, far = pair()
    with ScriptedPeer(far) as peer:
        opening = in_thread(Client(era="auto", limits=LIMITS).open, near)
        first = peer.receive()
        peer.send({"jsonrpc": "2.0", "id": first["id"], "error": {"code": code, "message": "what?"}})
        peer.accept_handshake(revision)
        client = opening.get()
        assert str(client.revision) == revision
        client.close()


@pytest.mark.spec("stdio.fallback-any-error", "stdio.dual-era-probe")
def test_silence_is_followed_by_a_handshake_too():
    """[2026-07-28 basic/transports/stdio §Backward Compatibility]"""
    near, far = pair()
    with ScriptedPeer(far) as peer:
        opening = in_thread(Client(era="auto", limits=Limits(probe_timeout=0.01)).open, near)
        assert peer.receive()["method"] == "server/discover"
        peer.accept_handshake("2025-11-25")
        opening.get().close()


@pytest.mark.spec("stdio.modern-client-probe")
@pytest.mark.parametrize("answer", [{"code": -32601, "message": "Method not found"}, None], ids=["error", "silence"])
def test_a_modern_client_fails_at_an_old_server_before_it_does_anything(answer):
    """[2026-07-28 basic/versioning §Compatibility Matrix] SHOULD"""
    near, far = pair()
    with ScriptedPeer(far) as peer:
        limits = LIMITS if answer else Limits(initialize_timeout=0.02)
        opening = in_thread(Client(era="modern", limits=limits).open, near)
        first = peer.receive()
        if answer:
            peer.send({"jsonrpc": "2.0", "id": first["id"], "error": answer})
        with pytest.raises(PeerProtocolError if answer else RequestTimeout, match="legacy"):
            opening.get()
        assert peer.ended() and [m["method"] for m in peer.wire] == ["server/discover"]


def refused(supported):
    """An answer that refuses a request over its version."""
    return Failure(-32022, "Unsupported protocol version", {"supported": supported, "requested": MODERN})


@pytest.mark.spec("version.select-supported", "discover.client-may")
@pytest.mark.parametrize("form", ["call", "future"])
@pytest.mark.parametrize("supported", [[MODERN], ["2025-11-25", MODERN], [MODERN, "2099-01-01"]], ids=str)
def test_a_refused_version_is_exchanged_in_operation_too(supported, form):
    """[2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD: and the request sent again."""
    with Scene(MODERN, {"tools/call": rounds(refused(supported), {"content": []})}) as scene:
        if form == "call":
            scene.client.call_tool("t")
        else:
            scene.client.submit_tool("t").result(PATIENCE)
        first, second = scene.requests
        assert first["id"] != second["id"] and first["params"] == second["params"]


@pytest.mark.spec("version.select-supported")
@pytest.mark.parametrize("form", ["call", "future"])
@pytest.mark.parametrize("supported, sent", [(["2025-11-25"], 1), (["2099-01-01"], 1), ([], 1), ([MODERN], 2)], ids=str)
def test_without_a_version_in_common_the_user_sees_an_error(supported, sent, form):
    """[2026-07-28 basic/versioning §Protocol Version Negotiation] SHOULD"""
    with Scene(MODERN, {"tools/call": refused(supported)}) as scene:
        with pytest.raises(PeerError) as caught:
            scene.client.call_tool("t") if form == "call" else scene.client.submit_tool("t").result(PATIENCE)
        assert caught.value.code == -32022 and len(scene.requests) == sent
        if sent == 1:
            assert MODERN in str(caught.value) and (supported or ["none"])[0] in str(caught.value)


@pytest.mark.spec("version.cache-era", "version.persist-era")
@pytest.mark.parametrize("server", ["modern", "legacy"])
def test_what_a_server_speaks_is_found_out_once_and_may_be_written_down(server, tmp_path):
    """[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] SHOULD, MAY"""
    written = tmp_path / "eras.json"
    asked, eras = [], {}
    for number in range(3):
        if number == 2:
            eras = json.loads(written.read_text())
        near, far = pair()
        near.address = "the same server"
        connection = pairing_server(server).connect(far)
        client = Client(era="auto", eras=eras, limits=LIMITS)
        heard = []
        client.open(tap(near, Trace(heard.append), "client"))
        client.call_tool("add", {"a": 1, "b": 1})
        client.close()
        connection.close()
        asked.append([one.message["method"] for one in heard if (one.kind, one.direction) == ("message", "client")])
        written.write_text(json.dumps(eras))
    first = {"modern": ["server/discover"], "legacy": ["server/discover", "initialize", "notifications/initialized"]}
    later = {"modern": ["server/discover"], "legacy": ["initialize", "notifications/initialized"]}
    assert [sent[:sent.index("tools/call")] for sent in asked] == [first[server], later[server], later[server]]


@pytest.mark.spec("meta.required-fields", "meta.client-info", "discover.client-may")
def test_every_request_says_version_capabilities_and_who_we_are():
    """[2026-07-28 basic/index §`_meta`] MUST, SHOULD; each is legal by the official schema."""
    shared = {"ttlMs": 0, "cacheScope": "private"}
    answers = {
        "tools/list": dict(shared, tools=[]), "tools/call": {"content": []}, "prompts/list": dict(shared, prompts=[]),
        "prompts/get": {"messages": []}, "resources/list": dict(shared, resources=[]),
        "resources/templates/list": dict(shared, resourceTemplates=[]),
        "resources/read": dict(shared, contents=[]), "completion/complete": {"completion": {"values": []}},
    }
    with Scene(MODERN, answers, capabilities=FULL, sampling=lambda p, c: "x", tasks=False) as scene:
        client = scene.client
        list(client.tools()), list(client.prompts()), list(client.resources()), list(client.resource_templates())
        client.call_tool("t"), client.call_tool("t", {"a": 1}, meta={"com.example/x": 1}), client.get_prompt("p")
        client.read_resource("x:y"), client.complete("p", "a", "v"), client.discover(), client.ping()
        client.submit_tool("t").result(PATIENCE)
        client.call_tool("t", progress=lambda *told: None)
        for message in scene.peer.wire:
            meta = message["params"]["_meta"]
            assert meta[envelope.VERSION] == MODERN
            assert meta[envelope.CAPABILITIES] == {"sampling": {}}
            assert meta[envelope.CLIENT_INFO] == {"name": "mcp_ref", "version": __version__}
            assert official_schema.violations(message, MODERN, None) == []
        assert len(scene.peer.wire) == 14
        assert len({message["id"] for message in scene.peer.wire}) == 14


@pytest.mark.spec("meta.required-fields")
def test_a_client_that_can_do_nothing_says_that_on_every_request_too():
    """[2026-07-28 basic/index §`_meta`] MUST: an empty object, not no capabilities."""
    with Scene(MODERN, {"tools/call": {"content": []}}, tasks=False) as scene:
        scene.client.call_tool("t"), scene.client.call_tool("t", meta={"com.example/x": 1})
        scene.client.submit_tool("t").result(PATIENCE)
        assert len(scene.peer.wire) > 3
        for message in scene.peer.wire:
            meta = message["params"]["_meta"]
            assert meta[envelope.CAPABILITIES] == {} and meta[envelope.VERSION] == MODERN
            assert official_schema.violations(message, MODERN, None) == []


@pytest.mark.spec("cancel.stdio-notification", "cancel.client-notifies", "cancel.client-issued")
def test_a_request_that_is_given_up_is_cancelled_by_a_notification():
    """[2026-07-28 basic/transports/stdio §Cancellation] MUST"""
    with Scene(MODERN, {"tools/call": SILENT, "tools/list": {"tools": [], "ttlMs": 0, "cacheScope": "private"}},
               era="modern") as scene:
        future = scene.client.submit_tool("t")
        eventually(lambda: scene.requests)
        assert future.cancel()
        with pytest.raises(RequestTimeout):
            scene.client.call_tool("t", timeout=0.01)
        done = scene.client.list_tools()
        eventually(lambda: len(scene.notifications) == 2)
        assert done.tools == []
        assert [note["method"] for note in scene.notifications] == ["notifications/cancelled"] * 2
        assert [note["params"]["requestId"] for note in scene.notifications] == [m["id"] for m in scene.requests[:2]]
        for note in scene.notifications:
            assert official_schema.violations(note, MODERN, None) == []


@pytest.mark.spec("stdio.client-no-responses")
@pytest.mark.parametrize("method", [
    "ping", "roots/list", "sampling/createMessage", "elicitation/create", "x/y", "tools/list",
])
def test_a_client_without_handshake_answers_no_request(method):
    """[2026-07-28 basic/transports/stdio §Sending Messages] MUST NOT"""
    with Scene(MODERN, {"tools/call": {"content": []}}, roots=["/a"], sampling=lambda p, c: "x",
               elicitation=lambda p, c: {}) as scene:
        for id in (1, "x", 10**9):
            scene.peer.request(id, method, {})
        scene.client.call_tool("t")
        scene.client.call_tool("t")
        assert [m["method"] for m in scene.peer.wire] == ["server/discover", "tools/call", "tools/call"]
        assert scene.count("refused request") == 3
