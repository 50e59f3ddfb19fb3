"""Tools whose arguments are mirrored: which the client leaves out, and what it tells the transport of the others.

[2026-07-28 basic/transports/streamable-http §Schema Extension]. What may be mirrored is tested in
tests/protocol/test_mirrored.py, the header fields with the transports.
"""
import logging

import pytest

from mcp_ref.transports.base import ExchangeTransport
from mcp_ref.transports.memory import MemoryTransport
from tests.support.scene import Scene

MODERN = "2026-07-28"


def tool(name, header=None, type="string", **more):
    """A tool with one argument, perhaps mirrored under this name."""
    argument = {"type": type} if header is None else {"type": type, "x-mcp-header": header}
    return dict({"name": name, "inputSchema": {"type": "object", "properties": {"region": argument}}}, **more)


LISTED = [tool("plain"), tool("good", "Region"), tool("empty", ""), tool("blank", "a b"), tool("number", "N", "number"),
          tool("object", "O", "object"), tool("last", "Last")]
KEPT = ["plain", "good", "last"]


@pytest.fixture
def mirroring(monkeypatch):
    """Memory transports that say they are exchanges, and mirror."""
    def send(self, messages):
        self.write([message.data for message in messages])

    members = {name: value for name, value in vars(ExchangeTransport).items() if name[0] != "_" and name != "write"}
    for name, value in dict(members, mirrors=True, send=send).items():
        monkeypatch.setattr(MemoryTransport, name, value, raising=False)


def scene(revision=MODERN, tools=LISTED):
    return Scene(revision, {"tools/list": {"tools": tools, "ttlMs": 0, "cacheScope": "private"}})


LISTINGS = [lambda c: c.tools(), lambda c: c.list_tools().tools, lambda c: c.tools(refresh=True)]


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_tool_with_an_annotation_that_is_not_allowed_is_left_out_and_the_others_stay(mirroring, caplog, listing):
    with caplog.at_level(logging.WARNING), scene() as acting:
        assert [each.name for each in listing(acting.client)] == KEPT
        assert acting.count("refused tool") == 4
    logged = [record.getMessage() for record in caplog.records if "refused tool" in record.getMessage()]
    assert len(logged) == 4
    for name, line in zip(["empty", "blank", "number", "object"], logged):
        assert name in line and "x-mcp-header" in line, "the name and the reason"


def test_such_a_tool_is_not_found_by_its_name(mirroring):
    with scene() as acting:
        with pytest.raises(LookupError, match="it has good, last, plain"):
            acting.client.tool("blank")


def test_other_transports_leave_no_tool_out():
    with scene() as acting:
        assert len(list(acting.client.tools())) == len(LISTED)


def test_other_revisions_leave_no_tool_out(mirroring):
    with scene("2025-11-25") as acting:
        assert len(list(acting.client.tools())) == len(LISTED)
        assert acting.client.connection.transport.annotations is None


@pytest.mark.parametrize("odd", [5, None, "x", [], {"name": 7}, {"inputSchema": 5}])
def test_what_is_no_tool_is_left_to_the_reader(mirroring, odd):
    from mcp_ref.errors import PeerProtocolError

    with scene(tools=[odd]) as acting:
        with pytest.raises(PeerProtocolError, match=r"result.tools\[0\]"):
            acting.client.list_tools()


def test_the_transport_is_told_what_is_mirrored_as_soon_as_the_tools_are_known(mirroring):
    with scene() as acting:
        find = acting.client.connection.transport.annotations
        assert find("good") is None, "nothing is known yet"
        list(acting.client.tools())
        assert [(each.name, each.path) for each in find("good")] == [("Region", ("region",))]
        assert list(find("plain")) == [] and find("blank") is None and find("unknown") is None
        acting.answers["tools/list"] = {"tools": [tool("good", "Zone")], "ttlMs": 0, "cacheScope": "private"}
        list(acting.client.tools(refresh=True))
        assert [each.name for each in find("good")] == ["Zone"] and find("last") is None
