"""An answer that cannot be used says so: at once where its id can be read, and else in the text of the timeout."""
import json
import socket
import sys

import pytest

from mcp_ref import Limits, Server, connect
from mcp_ref.errors import AnswerLost, ConnectionLost, HttpStatus, PeerError, PeerProtocolError, RequestTimeout
from tests.support.patience import patience
from tests.support.scene import SILENT, Scene
from tests.support.scripted_http import ScriptedHttp

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


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
MARK = b"\xef\xbb\xbf"


@pytest.mark.sends_illegal("*", why="blank lines and byte order marks are what is tested")
@pytest.mark.parametrize("first", [b"\n", b"\r\n", b"   \n", b"\t\r\n \n\n", b" \n" + PING + b"\n \n"])
def test_blank_lines_are_skipped_over_a_socket_also_in_front(first):
    with Server("it").listen("tcp://127.0.0.1:0") as listener:
        host, _, port = listener.address[len("tcp://"):].rpartition(":")
        with socket.create_connection((host, int(port)), patience(5)) as client, client.makefile("rb") as lines:
            client.sendall(first + PING.replace(b"1,", b"2,") + b"\n")
            answers = [json.loads(next(lines)) for _ in range(1 + first.count(PING))]
            assert answers[-1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


@pytest.mark.sends_illegal("*", why="blank lines and byte order marks are what is tested")
def test_a_byte_order_mark_is_named_to_both_sides():
    with Server("it").listen("tcp://127.0.0.1:0") as listener:
        host, _, port = listener.address[len("tcp://"):].rpartition(":")
        with socket.create_connection((host, int(port)), patience(5)) as client, client.makefile("rb") as lines:
            client.sendall(MARK + PING + b"\n")
            assert "byte order mark (BOM)" in json.loads(next(lines))["error"]["message"]
    marked = LONG.replace("print(", "print('\\ufeff' * (message['method'] == 'tools/call') + ")
    with connect([sys.executable, "-X", "utf8", "-c", marked], era="legacy", check_results=False) as client:
        with pytest.raises(PeerProtocolError, match="it begins with a byte order mark"):
            client.call_tool("t")


DISCOVERED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "supportedVersions": ["2026-07-28"],
              "capabilities": {"tools": {}}}
JSON, EVENTS = "application/json", "text/event-stream"
RESULT = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}'
UNREAD = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"boom"}}'
PAGE = b"<html>\n<title>Log in to the pro\x1bxy, sekrit-token</title>" + 300 * b"x"
PAGE_SAID = r"<html> <title>Log in to the pro\\x1bxy, \*\*\*</title>x{100,170}\.\.\."
WEB = [
    ("a page", 200, "text/html", PAGE, PeerProtocolError, "with 200 and content type 'text/html': " + PAGE_SAID),
    ("no type", 200, "", b"hello", PeerProtocolError, "with 200 and no content type: hello"),
    ("no word", 500, "", b"", HttpStatus, "answered 500 Because$"),
    ("accepted", 202, "", b"", PeerProtocolError, r"with 202 and no content type: \(empty\)"),
    ("a text", 200, JSON, PAGE, PeerProtocolError, "with 200, which holds no response .*not JSON.*: " + PAGE_SAID),
    ("nothing", 200, JSON, b"", PeerProtocolError, r"with 200, which holds no response to it: \(empty\)"),
    ("half", 200, JSON, RESULT[:-3], PeerProtocolError, r'with 200, .* \(Parse error.*\): \{"jsonrpc"'),
    ("another id", 200, JSON, RESULT.replace(b"ID", b"77"), PeerProtocolError, r'\(its id is 77, not \d\): \{"jso'),
    ("a text for an id", 200, JSON, RESULT.replace(b"ID", b'"0ID"'), PeerProtocolError, r"\(its id is '0\d', not \d\)"),
    ("a bare result", 200, JSON, b'{"content":[]}', PeerProtocolError, r'neither method.*: \{"content":\[\]\}'),
    ("a mark in front", 200, JSON, b"\xef\xbb\xbf" + RESULT, PeerProtocolError, r"byte order mark \(BOM\)"),
    ("an error without id", 200, JSON, UNREAD, PeerError, r"tools/call failed: boom \(-32700\)"),
    ("the same as 400", 400, JSON, UNREAD, PeerError, r"tools/call failed: boom \(-32700\)"),
    ("a page as 502", 502, "text/html", PAGE, HttpStatus, "answered 502 Because: " + PAGE_SAID),
    ("event: a text", 200, EVENTS, b"data: oops\n\n", PeerProtocolError, r"with 200, .*not JSON.*: oops"),
    ("event: another id", 200, EVENTS, b"data: %b\n\n" % RESULT.replace(b"ID", b"77"), PeerProtocolError, "id is 77"),
    ("event: an error without id", 200, EVENTS, b"data: %b\n\n" % UNREAD, PeerError, "tools/call failed: boom"),
    ("no events", 200, EVENTS, PAGE + b"\n", (AnswerLost, ConnectionLost), "with no event: " + PAGE_SAID),
    ("no events at all", 200, EVENTS, b"", (AnswerLost, ConnectionLost), "ended before the answer(?!, and began)"),
]


@pytest.mark.sends_illegal("*", why="the server's replies are what is tested")
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("status, kind, body, error, said", [row[1:] for row in WEB], ids=[row[0] for row in WEB])
def test_a_reply_of_no_use_is_quoted_with_its_status(status, kind, body, error, said, revision):
    with ScriptedHttp(revision) as server:
        server.on["tools/call"] = lambda request: request.reply(
            status, body.replace(b"ID", b"%d" % request.message["id"]), kind,
            [("Content-Type", kind)] * (kind != "" and not body))
        server.on["server/discover"] = lambda request: request.answer(DISCOVERED)
        with connect(server.url, era=revision, check_results=False, token="sekrit-token") as client:
            with pytest.raises(error, match=said) as caught:
                client.call_tool("t")
            if error is PeerProtocolError and "BOM" not in said:
                page = {"2025-11-25": "Messages to the Server", "2026-07-28": "2026-07-28 basic/transports/streamable"}
                assert page[revision] in caught.value.citation
