"""An answer that cannot be used says so: at once where its id can be read, and else in the text of the timeout."""
import sys

import pytest

from mcp_ref import Limits, connect
from mcp_ref.errors import PeerProtocolError, RequestTimeout
from tests.support.patience import patience
from tests.support.scene import SILENT, Scene

BROKEN = [
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\ud83d"}]}}', "lone surrogate"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}', "not valid UTF-8"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":1e999}}}', "number out of range"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}', None),
    (b'{"jsonrpc":"2.0","id":ID,"result":5}', "result: expected object, got integer"),
]
USELESS = [
    (b'{"jsonrpc":"2.0","id":"rID","result":{"content":[]}}', "its id is a string, and ours are numbers"),
    (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"boom"}}', "error without id: .*boom"),
    (b'{"jsonrpc":"2.0","id":77,"result":{}}', "unknown response: dropped the answer to request 77"),
    (b'{"jsonrpc":"2.0","id":ID,"resu', "malformed message: Parse error: "),
]


def answering(data: bytes) -> Scene:
    """A client, and a server that answers the call of a tool by these bytes, with the id of the call for ID."""
    def answer(params):
        scene.peer.send(data.replace(b"ID", b"%d" % scene.requests[-1]["id"]))
        return SILENT

    scene = Scene("2025-11-25", {"tools/call": answer})
    return scene


@pytest.mark.parametrize("data, said", [(data, said) for data, said in BROKEN if said])
def test_a_broken_answer_whose_id_can_be_read_ends_its_request_at_once(data, said):
    with answering(data) as scene, pytest.raises(PeerProtocolError, match=said):
        scene.client.call_tool("t")


@pytest.mark.parametrize("data, said", USELESS + [(BROKEN[3][0], "malformed message: Parse error: .*twice|duplicate")])
def test_a_timeout_says_what_came_last_and_why_it_was_of_no_use(data, said):
    with answering(data) as scene:
        text = r"tools/call of 't' \(request \d+\) got no answer in time .*; what came last could not be used"
        with pytest.raises(TimeoutError, match="%s: .*%s" % (text, said)) as caught:
            scene.client.call_tool("t", timeout=patience(0.3))
        assert isinstance(caught.value, RequestTimeout)
        scene.answers["tools/call"] = SILENT
        with pytest.raises(RequestTimeout, match=r"in time \(0.1 s\)$"):  # another request's is not told
            scene.client.call_tool("t", timeout=0.1)


@pytest.mark.parametrize("data", [data for data, _ in BROKEN + USELESS])
def test_no_answer_gets_an_answer(data):
    with answering(data) as scene:
        with pytest.raises((PeerProtocolError, RequestTimeout)):
            scene.client.call_tool("t", timeout=patience(0.3))
        assert scene.client.ping() is None
        assert not [message for message in scene.peer.seen if "method" not in message]


LONG = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "long", "version": "1"}}
    else:
        result = {"content": [{"type": "text", "text": "x" * 5000}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def test_a_timeout_names_the_limit_that_an_answer_was_too_long_for():
    limits = Limits(max_message_bytes=3000)
    with connect([sys.executable, "-c", LONG], era="legacy", check_results=False, limits=limits) as client:
        with pytest.raises(RequestTimeout, match=r"could not be used: refused message: .*max_message_bytes \(3000\)"):
            client.call_tool("t", timeout=patience(0.3))
