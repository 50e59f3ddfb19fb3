"""Bad JSON has one answer in every transport, and the connection goes on."""
import json
import pathlib
import sys

import pytest

from mcp_ref import Server
from mcp_ref.limits import Limits
from mcp_ref.transports.lines.child import StdioChild
from mcp_ref.transports.lines.sockets import connect_socket
from mcp_ref.transports.memory import pair
from tests.support.scripted import ScriptedPeer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":%s}}'
LIMITS = Limits(max_depth=50, max_nodes=2000, max_message_bytes=100_000)

READABLE = [b"1e400", b'"\\ud800"', b"9" * 5000]  # they keep the grammar of JSON, so that the id can be read
HOSTILE = [
    *((value, -32700) for value in READABLE),
    (b"NaN", -32700), (b"-Infinity", -32700), (b'{"a":1,"a":2}', -32700), (b"[" * 200 + b"]" * 200, -32700),
    (b"{}," * 3000 + b"1", -32700), (b'"\xff"', -32700), (b'"\xed\xa0\x80"', -32700), (b"[" * 20000, -32700),
    (b'"' + b"x" * 100_000 + b'"', -32600),
]
SERVE = '''
import sys
sys.path.insert(0, %r)
from mcp_ref import Limits, Server
Server("hostile", limits=Limits(max_depth=50, max_nodes=2000, max_message_bytes=100_000)).run()
''' % str(ROOT)


@pytest.fixture(params=["memory", "tcp", "unix", "stdio"])
def peer(request, tmp_path):
    server = Server("hostile", limits=LIMITS)
    listener = None
    if request.param == "memory":
        ours, theirs = pair(LIMITS)
        server.connect(ours)
    elif request.param == "stdio":
        theirs = StdioChild([sys.executable, "-c", SERVE])
    else:
        listener = server.listen("tcp://127.0.0.1:0" if request.param == "tcp" else "unix://%s" % (tmp_path / "s"))
        theirs = connect_socket(listener.address)
    made = ScriptedPeer(theirs)
    yield made
    made.close()
    if listener is not None:
        listener.close()


def test_an_id_that_is_no_unicode_cannot_be_repeated_and_ends_nothing(peer):
    peer.handshake("2025-11-25")
    for text in ("\\ud800", "\\udc00\\ud800", "a\\udfff"):
        for message in ('{"jsonrpc":"2.0","id":"%s","method":"ping"}', '{"jsonrpc":"2.0","id":"%s","result":{}}'):
            peer.send((message % text).encode())
    assert peer.call("alive", "ping")["result"] == {}
    refusals = [message for message in peer.seen if "error" in message]
    assert [(each["error"]["code"], each.get("id")) for each in refusals] == [(-32700, None)] * 3


@pytest.mark.parametrize("revision, id_there", [("2025-06-18", True), ("2025-11-25", False)])
def test_each_oddity_is_refused_and_the_connection_lives(peer, revision, id_there):
    """[2025-11-25 basic/index §Error Responses] and [2025-06-18 basic/index §Responses]"""
    peer.handshake(revision)
    for number, (value, code) in enumerate(HOSTILE):
        peer.send(CALL % (number, value))
        answer = peer.receive()
        assert answer["error"]["code"] == code, (value[:40], answer)
        none = None if id_there else "none"
        assert answer.get("id", "none") == (number if value in READABLE else none), json.dumps(answer)
        assert peer.call("ok%d" % number, "ping") == {"jsonrpc": "2.0", "id": "ok%d" % number, "result": {}}
