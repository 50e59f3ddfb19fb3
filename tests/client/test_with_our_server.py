"""The client and the server of this package together: what one announces, the other remembers, forgets and hears."""
import contextlib

import pytest

from mcp_ref.client import Client
from mcp_ref.server import Server
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import HANDSHAKE
from tests.support.scripted import PATIENCE
from tests.support.sides import eventually

each_revision = pytest.mark.parametrize("revision", HANDSHAKE)


@contextlib.contextmanager
def connected(server, revision, **options):
    """A client of this server."""
    near, far = pair()
    connection = server.connect(far)
    with Client(revisions=[revision], **options).open(near) as client:
        yield client
    assert connection.wait_closed(PATIENCE)


@pytest.fixture
def server():
    made = Server("ours")

    @made.tool
    def point(x: int) -> dict:
        """A point."""
        return {"x": x}

    @made.resource("test://{name}")
    def read(name: str) -> str:
        return name

    @made.prompt
    def review(language: str) -> str:
        return language

    @made.completion("review", "language")
    def languages(value: str) -> list:
        return [name for name in ("python", "perl", "pascal") if name.startswith(value)]

    return made


@each_revision
def test_a_tool_that_is_added_is_there_at_once(server, revision):
    with connected(server, revision) as client:
        assert [tool.name for tool in client.tools()] == ["point"]
        server.tool(lambda: "new", name="added")
        eventually(lambda: len(list(client.tools())) == 2)
        assert client.tool("added").name == "added" and client.call_tool("added").content[0].text == "new"
        server.remove_tool("point")
        eventually(lambda: [tool.name for tool in client.tools()] == ["added"])


@each_revision
def test_results_keep_what_their_tools_promise(server, revision):
    with connected(server, revision, strict=True) as client:
        for result in (client.call_tool("point", {"x": 1}), client.submit_tool("point", {"x": 1}).result(PATIENCE)):
            assert result.content[0].text.replace(" ", "") == '{"x":1}'
        assert [counter for counter in client.connection.counters.snapshot() if "unchecked" in counter] == []


@each_revision
def test_completions_updates_and_log_messages(server, revision):
    heard = []
    with connected(server, revision, on_log=lambda *what: heard.append(what)) as client:
        assert client.complete("review", "language", "p").completion.values == ["python", "perl", "pascal"]
        assert client.complete("review", "language", "py").completion.values == ["python"]
        client.subscribe_resource("test://a", heard.append)
        server.resource_updated("test://a")
        server.resource_updated("test://b")
        eventually(lambda: heard)
        client.set_log_level("warning")
        server.log("info", "quiet")
        server.log("error", {"loud": True}, "db")
        eventually(lambda: len(heard) == 2)
        assert heard == ["test://a", ("error", {"loud": True}, "db")]
