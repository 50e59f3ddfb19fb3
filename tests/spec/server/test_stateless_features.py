"""What 2026-07-28 alone says of tools, resources, prompts and pages."""
import pytest

from mcp_ref import Server
from mcp_ref.errors import PeerProtocolError
from mcp_ref.protocol.envelope import SUBSCRIPTION
from mcp_ref.server import ResourceNotFound
from tests.support.scene import Scene
from tests.support.serving import ask, served

STATELESS = "2026-07-28"
HINTS = {"ttlMs": 0, "cacheScope": "private"}
CHANGES = {
    "tools": (lambda server: server.tool(lambda: "x", name="new"), lambda server: server.remove_tool("new")),
    "prompts": (lambda server: server.prompt(lambda: "x", name="new"), lambda server: server.remove_prompt("new")),
    "resources": (lambda server: server.resource("test://new")(lambda: "x"),
                  lambda server: server.remove_resource("test://new")),
}


def full():
    server = Server("full")
    server.tool(lambda: "x", name="a")
    server.prompt(lambda: "x", name="a")
    server.resource("test://a")(lambda: "x")
    server.resource("test://a/{x}")(lambda x: x)
    return server


# --- changes of lists -------------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.list-changed-subscribed", "prompts.list-changed-subscribed")
@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_of_a_list_is_told_to_those_who_listen_for_it(kind):
    """[2026-07-28 server/tools §List Changed Notification] SHOULD"""
    server = full()
    add, remove = CHANGES[kind]
    with served(server, STATELESS) as peer, served(server, STATELESS) as other, served(server, STATELESS) as nobody:
        assert peer.capabilities[kind]["listChanged"] is True
        peer.request("wants", "subscriptions/listen", {"notifications": {"%sListChanged" % kind: True}})
        elsewhere = next(each for each in CHANGES if each != kind)
        other.request("other", "subscriptions/listen", {"notifications": {"%sListChanged" % elsewhere: True}})
        for each in (peer, other):
            each.receive(lambda m: m.get("method") == "notifications/subscriptions/acknowledged")
        for change in (add, remove):
            change(server)
            told = peer.receive(lambda m: "list_changed" in m.get("method", ""))
            assert told["method"] == "notifications/%s/list_changed" % kind
            assert told["params"]["_meta"][SUBSCRIPTION] == "wants"
        for each in (other, nobody):
            assert [m for m in each.barrier("done") if "method" in m] == []


# --- resources --------------------------------------------------------------------------------------------------------

def gone():
    raise ResourceNotFound("test://gone")


@pytest.mark.spec("resources.not-found-32602", "resources.not-found-not-empty")
@pytest.mark.parametrize("uri", [
    "test://nobody", "test://a/b/c/d", "other://x", "test://gone", "file:///served/none.txt", "file:///served/none/",
])
def test_a_resource_that_does_not_exist_is_invalid_params_and_no_empty_list(uri, tmp_path):
    """[2026-07-28 server/resources §Error Handling] MUST, MUST NOT"""
    server = full()
    server.resource("test://gone")(gone)
    server.directory(tmp_path, uri="file:///served/")
    with served(server, STATELESS) as peer:
        answer = ask(peer, "resources/read", {"uri": uri})
        assert answer["error"]["code"] == -32602 and answer["error"]["data"] == {"uri": uri} and "result" not in answer


@pytest.mark.spec("resources.path-traversal")
@pytest.mark.parametrize("path", [
    "../secret", "..%2Fsecret", "%2e%2e/secret", "%2E%2E%2Fsecret", "sub/../../secret", "sub/%2e%2e/%2e%2e/secret",
    "./../secret", "..%5csecret", "..\\secret", "%2fetc/passwd", "/etc/passwd", "sub//../../secret", "link", "link/x",
    "..%00/secret", "....//secret", "%252e%252e/secret", "sub/..;/../secret",
])
def test_no_path_leads_out_of_a_directory(path, tmp_path):
    """[2026-07-28 server/resources §Security Considerations] MUST"""
    served_folder = tmp_path / "served"
    (served_folder / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("SECRET")
    (served_folder / "sub" / "fine.txt").write_text("fine")
    (served_folder / "link").symlink_to(tmp_path / "secret")
    server = Server("files")
    server.directory(served_folder, uri="file:///served/")
    with served(server, STATELESS) as peer:
        answer = ask(peer, "resources/read", {"uri": "file:///served/" + path})
        assert answer["error"]["code"] == -32602 and "SECRET" not in str(answer)
        fine = ask(peer, "resources/read", {"uri": "file:///served/sub/fine.txt"})
        assert fine["result"]["contents"][0]["text"] == "fine"


# --- capabilities -----------------------------------------------------------------------------------------------------

@pytest.mark.spec("prompts.capability-discover", "discover.server-must")
@pytest.mark.parametrize("add, declared", [
    (lambda server: None, set()), (CHANGES["tools"][0], {"tools"}), (CHANGES["prompts"][0], {"prompts"}),
    (CHANGES["resources"][0], {"resources"}),
])
def test_what_a_server_supports_stands_in_its_introduction(add, declared):
    """[2026-07-28 server/prompts §Capabilities] MUST"""
    server = Server("some")
    add(server)
    with served(server, STATELESS) as peer:
        found = ask(peer, "server/discover")["result"]
        assert set(found["capabilities"]) == declared and STATELESS in found["supportedVersions"]


# --- pages ------------------------------------------------------------------------------------------------------------

@pytest.mark.spec("pagination.empty-cursor")
@pytest.mark.parametrize("cursor", ["", " ", "0", "null", "\u2028"])
def test_any_text_is_a_cursor_the_empty_one_too(cursor):
    """[2026-07-28 server/utilities/pagination §Implementation Guidelines] MUST"""
    def page(params):
        items = [{"name": "b" if "cursor" in params else "a", "inputSchema": {"type": "object"}}]
        return dict(HINTS, tools=items, **({} if "cursor" in params else {"nextCursor": cursor}))

    with Scene(STATELESS, {"tools/list": page}) as scene:
        assert [tool.name for tool in scene.client.tools()] == ["a", "b"]
        assert scene.params("tools/list") == [None, {"cursor": cursor}]


# --- schemas ----------------------------------------------------------------------------------------------------------

@pytest.mark.spec("tools.ref-resolution")
@pytest.mark.parametrize("schema, structured, fits", [
    ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 1, True),
    ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, "1", False),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}, {"a": 1},
     True),
])
def test_a_client_follows_references_inside_a_schema(schema, structured, fits):
    """[2026-07-28 server/tools §Security Considerations] SHOULD"""
    listed = dict(HINTS, tools=[{"name": "x", "inputSchema": {"type": "object"}, "outputSchema": schema}])
    answers = {"tools/list": listed, "tools/call": {"content": [], "structuredContent": structured}}
    with Scene(STATELESS, answers) as scene:
        list(scene.client.tools())
        if fits:
            assert scene.client.call_tool("x", {}).structured_content == structured
        else:
            with pytest.raises(PeerProtocolError):
                scene.client.call_tool("x", {})


@pytest.mark.spec("tools.ref-resolution")
@pytest.mark.parametrize("strict", [True, False])
def test_a_client_fetches_no_schema_from_the_network(strict, monkeypatch):
    """[2026-07-28 basic/index §`$ref` Resolution] MUST NOT; such a schema is said to be unusable."""
    import socket

    monkeypatch.setattr(socket, "create_connection", lambda *arguments, **options: pytest.fail("it reached out"))
    schema = {"$ref": "http://127.0.0.1:9/schema.json"}
    listed = dict(HINTS, tools=[{"name": "x", "inputSchema": {"type": "object"}, "outputSchema": schema}])
    answers = {"tools/list": listed, "tools/call": {"content": [], "structuredContent": 1}}
    with Scene(STATELESS, answers, strict=strict) as scene:
        list(scene.client.tools())
        if strict:
            with pytest.raises(PeerProtocolError, match="schema"):
                scene.client.call_tool("x", {})
        else:
            assert scene.client.call_tool("x", {}).structured_content == 1 and scene.count("unchecked result") == 1
