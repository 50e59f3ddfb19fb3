"""`connect(server)`: a server of the same process, in memory."""
import pytest

from mcp_ref import Client, Host, Server, connect
from mcp_ref.errors import ConnectionLost
from mcp_ref.host import Policy
from mcp_ref.revisions import REVISIONS


@pytest.fixture
def server():
    made = Server("demo", version="1.0")

    @made.tool
    def add(a: int, b: int) -> int:
        return a + b

    @made.tool
    def fail() -> str:
        raise RuntimeError("told in the same process")

    return made


@pytest.mark.parametrize("revision", [None, *(revision.name for revision in REVISIONS)])
def test_a_server_can_be_connected_to(server, revision):
    with connect(server, era=revision) as client:
        assert client.server_info.name == "demo" and client.revision.name == (revision or REVISIONS[-1].name)
        result = client.call_tool("add", {"a": 1, "b": 2})
        assert (result.text, result.data) == ("3", 3)
        assert "told in the same process" in client.call_tool("fail", {}).text


def test_several_clients_are_served_and_nothing_stays_behind(server):
    with connect(server) as one, connect(server, era="legacy") as other:
        assert [client.call_tool("add", {"a": 1, "b": 2}).text for client in (one, other)] == ["3", "3"]
        connections = list(server.connections)
        assert connections
    for connection in connections:
        assert connection.wait_closed(5.0)
    assert server.connections == []


def test_a_connection_that_the_server_ended_is_made_again_where_there_is_no_handshake(server):
    with connect(server, era="modern") as client:
        first = client.connection
        first.close()
        assert first.wait_closed(5.0)
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3" and client.connection is not first
    with connect(server, era="legacy") as client:
        client.connection.close()
        with pytest.raises(ConnectionLost):
            client.call_tool("add", {"a": 1, "b": 2})


@pytest.mark.parametrize("options, word", [
    ({"env": {"A": "b"}}, "env"), ({"cwd": "."}, "cwd"), ({"stderr": False}, "stderr"), ({"token": "x"}, "token"),
])
def test_options_for_other_targets_are_refused(server, options, word):
    with pytest.raises(ValueError) as caught:
        connect(server, **options)
    assert str(caught.value).startswith(word) and server.connections == []


def test_a_client_is_no_server():
    with pytest.raises(TypeError) as caught:
        connect(Client())
    assert str(caught.value) == "a Client is no server to connect to"


def test_a_host_takes_one_too(server):
    events = []
    with Host(policy=Policy(tool_call=lambda call: True), audit=events.append) as host:
        host.connect("here", server)
        assert host.call_tool("here__add", {"a": 1, "b": 2}).text == "3"
        host.restart("here")
        assert host.call_tool("here__add", {"a": 1, "b": 2}).text == "3"
    assert events[0]["target"] == "a Server of this process"
