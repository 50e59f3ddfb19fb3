"""Target: a live server and a client, over memory, that are sent anything; afterwards a ping is answered as ever.

The frames begin or do not begin with a handshake, name tools that exist or not, repeat ids, cancel what runs, answer
what was never asked. Whatever comes back has to be a legal answer, and nothing answers a notification.
"""
import json
from random import Random
from typing import Any, Dict, List, Tuple

from mcp_ref.client import Client
from mcp_ref.limits import Limits
from mcp_ref.methods import METHODS
from mcp_ref.peer.dispatcher import Connection
from mcp_ref.revisions import HANDSHAKE_REVISIONS
from mcp_ref.server import Context, Server
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair

from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, value
from .wire import frame_object

LIMITS = Limits(max_depth=32, max_nodes=2000, max_workers=4, max_inflight=8, drain=0.05, shutdown_grace=0.2,
                request_timeout=0.05)
LAST = "the last ping"
ROOM = 1 << 24
NAMES = sorted({row.name for row in METHODS})


def make_server(**options: Any) -> Server:
    """A server with a little of everything."""
    server = Server("fuzzed", limits=LIMITS, page_size=2, **options)

    @server.tool
    def echo(text: str, ctx: Context) -> str:
        ctx.progress(1, 2)
        ctx.log("info", text)
        return text

    @server.tool
    def ask(ctx: Context) -> str:
        return str(ctx.list_roots())

    @server.resource("x://{a}")
    def read(a: str) -> str:
        return a

    @server.prompt
    def prompt(code: str) -> str:
        return code

    return server


def opening(revision: str) -> List[Dict[str, Any]]:
    """The handshake, as a client sends it."""
    return [{"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {
        "protocolVersion": revision, "capabilities": {"roots": {}}, "clientInfo": {"name": "c", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def request(random: Random) -> Dict[str, Any]:
    """A request or notification that could be in order."""
    params: Dict[str, Any] = random.choice((
        {"name": "echo", "arguments": {"text": "x"}}, {"name": "ask"}, {"uri": "x://1"},
        {"name": "prompt", "arguments": {"code": "x"}}, {"cursor": "x"}, {"requestId": random.randrange(3)},
        {"level": "debug"},
        {"ref": {"type": "ref/prompt", "name": "prompt"}, "argument": {"name": "code", "value": ""}}, {},
        {"progressToken": 1, "progress": 1}, {"_meta": {"progressToken": value(random, 1)}},
    ))
    found = {"jsonrpc": "2.0", "id": random.randrange(3), "method": random.choice(NAMES), "params": params}
    if random.random() < 0.3:
        del found["id"]
    return found


def make_frames(random: Random) -> Tuple[List[bytes], int]:
    """What is sent, and the rank of the revision of the handshake; -1: there is none."""
    frames = []
    for _ in range(random.randrange(1, 8)):
        tree: Any = request(random) if random.random() < 0.7 else frame_object(random)
        if random.random() < 0.15:
            tree = [tree, request(random)]
        data = as_bytes(mutated(random, tree, random.randrange(3)))
        frames.append(mutated_bytes(random, data, random.randrange(2)).replace(b"\n", b" "))
    return frames, random.randrange(-1, len(HANDSHAKE_REVISIONS))


def check_server(case: Tuple[List[bytes], int]) -> None:
    """The server answers the last ping, and everything before it as the rules have it."""
    frames, rank = case
    ours, theirs = pair(LIMITS, ROOM)
    theirs.open()
    connection = make_server().connect(ours)
    try:
        head = [as_bytes(each) for each in opening(str(HANDSHAKE_REVISIONS[rank]))] if rank >= 0 else []
        converse(theirs, head + frames)
    finally:
        end(connection, theirs)


def check_client(case: Tuple[List[bytes], int]) -> None:
    """The same for a client, whose server sends it anything."""
    frames, rank = case
    ours, theirs = pair(LIMITS, ROOM)
    theirs.open()
    client = Client("fuzzed", limits=LIMITS, roots=["file:///x"], sampling=lambda params, context: "x",
                    elicitation=lambda params, context: None)
    connection = Connection(ours, client, LIMITS).start()
    try:
        connection.session.capabilities = {"roots": {}, "sampling": {}, "elicitation": {}}
        connection.agree(HANDSHAKE_REVISIONS[rank])
        converse(theirs, frames)
    finally:
        end(connection, theirs)


def converse(theirs: Transport, frames: List[bytes]) -> None:
    """Send, then ping, and read up to the answer of the ping. Raises Broken for what should not have come."""
    ping = as_bytes({"jsonrpc": "2.0", "id": LAST, "method": "ping"})
    theirs.write([*(each for each in frames if each.strip()), ping])
    while True:
        items = theirs.read()
        if items is None:
            raise Broken("ended: the connection, before the last ping was answered")
        for item in items:
            for answer in checked_messages(json.loads(item)):
                if answer.get("id") == LAST and "method" not in answer:
                    if answer.get("result") != {}:
                        raise Broken("ping: %r" % (answer,))
                    return


def checked_messages(found: Any) -> List[Dict[str, Any]]:
    """The messages of one frame. Raises Broken for what is none."""
    messages = found if isinstance(found, list) else [found]
    for message in messages:
        kinds = [kind for kind in ("method", "result", "error") if kind in message]
        if message.get("jsonrpc") != "2.0" or len(kinds) != 1:
            raise Broken("sent: no message: %r" % (message,))
        if "error" in message and not isinstance(message["error"].get("code"), int):
            raise Broken("sent: no error: %r" % (message,))
    return messages


def end(connection: Any, theirs: Transport) -> None:
    """Close, and see that it does."""
    theirs.close()
    connection.close()
    if not connection.wait_closed(5.0):
        raise Broken("close: not closed after 5 seconds")


TARGETS = (
    Target("server", make_frames, check_server),
    Target("client", make_frames, check_client),
)
