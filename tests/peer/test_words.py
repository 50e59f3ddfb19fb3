"""What errors say of the lifecycle and of resources: in words that a reader has met before."""
import datetime
import json
from typing import Optional

import pytest

from mcp_ref import Server, connect
from mcp_ref.errors import LocalProtocolError, PeerError
from mcp_ref.protocol import lifecycle
from mcp_ref.transports.memory import pair


def answers_to(*messages):
    """What a server of the handshake era answers to each of these messages, one after the other."""
    ours, theirs = pair()
    connection = Server("x", revisions=["2025-03-26"]).connect(ours)
    found = []
    for message in messages:
        theirs.write([json.dumps(message).encode()])
        if "id" in message or isinstance(message, list):
            found.append(json.loads(theirs.read()[0].decode()))
    theirs.close()
    connection.close()
    return found


OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


def test_a_request_out_of_turn_is_refused_in_words():
    early, = answers_to(LIST)
    assert early["error"]["message"] == "Invalid request: tools/list is not allowed before initialize"
    again = answers_to(OPENING, READY, dict(OPENING, id=2))[-1]
    assert again["error"]["message"] == "Invalid request: initialize is not allowed after the handshake"
    early = answers_to(OPENING, dict(OPENING, id=2))[-1]
    assert early["error"]["message"] == "Invalid request: initialize is not allowed before notifications/initialized"


@pytest.mark.parametrize("phase", lifecycle.PHASES)
def test_every_phase_has_words(phase):
    with pytest.raises(LocalProtocolError) as caught:
        lifecycle.advance("server", phase, "initialize" if phase != "operating" else "notifications/initialized")
        lifecycle.advance("client", phase, "initialize")
    assert lifecycle.WHEN[phase] in str(caught.value) and "connection is" not in str(caught.value)


def test_a_resource_that_is_not_found_is_named():
    server = Server("x", version="1")
    server.resource("memo://there", name="there")(lambda: "x")
    with connect(server) as client:
        with pytest.raises(PeerError) as caught:
            client.read_resource("memo://nothing-there")
    assert str(caught.value).count("memo://nothing-there") == 1
    assert caught.value.message.find("memo://") == -1  # on the wire it is in the data, as before


@pytest.mark.parametrize("data, text", [
    ({"uri": "a:b"}, "m failed: Gone: a:b (-1)"), ({"uri": "Gone"}, "m failed: Gone (-1)"),
    ({"uri": 1}, "m failed: Gone (-1)"), (None, "m failed: Gone (-1)"), (["uri"], "m failed: Gone (-1)"),
    ({"uri": "a:\n\u2028"}, "m failed: Gone: a:\\n\\u2028 (-1)"),
    ({"uri": "a:" + "b" * 999}, "m failed: Gone: a:%s (-1)" % ("b" * 198)),
])
def test_what_the_data_of_an_error_names_is_told_once_and_on_one_line(data, text):
    assert str(PeerError(-1, "Gone", data, "m", 1)) == text


def test_a_person_reads_of_arguments_and_not_of_a_dollar_sign():
    """Who calls a tool, gets a prompt or asks a vendor's method is told the name of what does not fit."""
    server = Server("x")

    @server.tool
    def due(day: datetime.date, count: int = 1) -> str:
        return str(day)

    @server.prompt
    def plan(count: int) -> str:
        return str(count)

    @server.method("acme/plan")
    def method(count: int, day: Optional[datetime.date] = None) -> dict:
        return {}

    with connect(server) as client:
        for arguments, words in (({"day": "2024-01-01", "count": "x"}, "arguments.count: expected integer, got string"),
                                 ({"day": "2024-02-30"}, "arguments.day: day is out of range"),
                                 ({}, "arguments: ")):
            assert ("Invalid arguments for tool due: " + words) in client.call_tool("due", arguments).text
        with pytest.raises(PeerError, match="Prompt plan: arguments.count: expected integer"):
            client.get_prompt("plan", {"count": "x"})
        for params, words in (({"count": "x"}, "Invalid params: params.count: expected integer"),
                              ({"count": 1, "day": "2024-02-30"}, "Invalid params: params.day: day is out of range")):
            with pytest.raises(PeerError, match=words):
                client.request("acme/plan", params)
