"""`mcp_ref.testing`: a client in memory, each revision in turn, and the wire of a test that has failed."""
import re

import pytest

from mcp_ref import Server, connect
from mcp_ref.errors import LocalProtocolError
from mcp_ref.revisions import REVISIONS
from mcp_ref.testing import connected, each_revision
from tests.meta.facts import PACKAGE
from tests.meta.test_docstring_examples import blocks_of

server = Server("tested", "1")
NAMES = [revision.name for revision in REVISIONS]


@server.tool
def add(a: int, b: int) -> int:
    return a + b


def test_a_client_is_connected_in_memory_and_closed(capsys):
    with connected(server) as client:
        assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        connection = client.connection
    assert connection.closed and capsys.readouterr().err == ""


def test_the_wire_of_a_failure_is_shown_once_with_secrets_masked(capsys):
    with pytest.raises(ZeroDivisionError):
        with connected(server, era="2025-06-18") as client:
            client.call_tool("add", {"a": 1, "b": 2}, meta={"token": "s3cret"})
            1 / 0
    said = capsys.readouterr().err
    assert said.startswith("What was sent before the test failed (2025-06-18):")
    assert len(re.findall("C> tools/call", said)) == 1 and "initialize" in said and "s3cret" not in said


def test_a_connection_that_fails_is_shown_too(capsys):
    with pytest.raises(Exception):
        with connected(Server("old", revisions=["2024-11-05"]), era="2026-07-28"):
            pass
    assert "What was sent before the test failed" in capsys.readouterr().err


def test_a_trace_of_the_callers_has_the_messages_instead(tmp_path, capsys):
    with pytest.raises(ZeroDivisionError):
        with connected(server, trace=tmp_path / "wire.jsonl"):
            1 / 0
    assert capsys.readouterr().err == "" and "server/discover" in (tmp_path / "wire.jsonl").read_text()


def test_each_revision_is_spoken_in_a_loop():
    spoken = []
    for connecting in each_revision(server):
        with connecting as client:
            assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"
            spoken.append((str(connecting), client.revision.name))
    assert spoken == [(name, name) for name in NAMES]


@pytest.mark.parametrize("connecting", each_revision(server), ids=str)
def test_each_revision_is_a_test_of_its_own(connecting, request):
    assert request.node.name.endswith("[%s]" % connecting)
    for _ in range(2):
        with connecting as client:
            assert client.revision.name == str(connecting)


def test_only_the_revisions_of_the_server():
    assert [str(each) for each in each_revision(Server("two", revisions=["2025-06-18", "2026-07-28"]))] \
        == ["2025-06-18", "2026-07-28"]


@pytest.mark.parametrize("option", ["era", "revisions"])
def test_the_revision_is_not_for_the_caller_to_choose(option):
    with pytest.raises(LocalProtocolError, match="leave out"):
        each_revision(server, **{option: "2025-06-18"})


def test_the_example_with_members_for_some_clients_holds():
    block = next(block for block in blocks_of(PACKAGE / "testing" / "__init__.py") if "authenticate=" in block.code)
    own = Server("own")
    own.tool(add)
    names = {"server": own, "connect": connect}
    with pytest.raises(AssertionError):
        exec(block.code, names)

    @own.tool(visible=lambda principal: principal == "ada")
    def close_all() -> str:
        return "closed"

    exec(block.code, names)
    with connected(own) as client:
        assert [tool.name for tool in client.tools()] == ["add"]


def test_one_client_at_a_time():
    connecting = connected(server)
    with connecting, pytest.raises(LocalProtocolError, match="connected already"):
        connecting.__enter__()
