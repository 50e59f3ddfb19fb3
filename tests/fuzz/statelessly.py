"""Targets: a server and a client of the stateless era, over memory, that are sent anything; see `conversations`.

To the server: envelopes that are in order or not, beside a handshake session or without one, streams, cancellations,
answers to questions and states, of which some are real. To the client: results that ask and results of no known kind,
notifications of streams that it has or never had, and requests, which it answers in no way.
"""
import json
import threading
from dataclasses import replace
from random import Random
from typing import Any, Dict, Iterator, List, Tuple

from mcp_ref.client import Client
from mcp_ref.errors import McpError
from mcp_ref.methods import METHODS
from mcp_ref.peer.dispatcher import Connection
from mcp_ref.protocol import envelope
from mcp_ref.protocol.requeststate import Keys, State, bind, digest, seal
from mcp_ref.revisions import HANDSHAKE_REVISIONS, LATEST
from mcp_ref.transports.base import Transport
from mcp_ref.transports.memory import pair
from tests.support.patience import WAIT

from .conversations import LAST, LIMITS, ROOM, checked_messages, end, make_server, opening
from .engine import Broken, Target
from .inventing import as_bytes, mutated, mutated_bytes, text, value
from .standalone import good_meta, meta
from .wire import frame_object

SECRET = "the key of the states that are real"
KEYS = Keys([SECRET])
NAMES = sorted({row.name for row in METHODS})
USUAL = ("tools/call", "subscriptions/listen", "server/discover", "tools/list", "resources/read", "prompts/get")
ASK = {"name": "ask"}
LISTEN = {"toolsListChanged": True, "resourceSubscriptions": ["x://1"]}
HASTY = replace(LIMITS, request_timeout=0.02, restart_delay=0.01)
"""For calls that nobody answers."""
PATIENT = replace(HASTY, request_timeout=5.0)
"""For what the server does answer, on a busy machine."""
Case = Tuple[List[bytes], int]

# -- The server ----------------------------------------------------------------------------------


def state(random: Random) -> Any:
    """What may stand as ``requestState`` for the tool `ask`: a real one, another tool's, or anything."""
    if random.random() < 0.3:
        return value(random, 1)
    question = digest({"method": "roots/list", "params": {}})
    answers = {"question-1": (question, value(random, 2))} if random.random() < 0.3 else {}
    asked = {"question-1": question} if random.random() < 0.7 else {}
    params = random.choice((ASK, ASK, {"name": "echo"}))
    return seal(State("1", 1 << 40, random.randrange(12), asked, answers), bind(None, "tools/call", params), KEYS)


def request(random: Random) -> Dict[str, Any]:
    """A request or notification that could be in order, with or without an envelope."""
    method = random.choice(USUAL if random.random() < 0.7 else NAMES)
    params: Dict[str, Any] = dict(random.choice((
        {"name": "echo", "arguments": {"text": "x"}}, ASK, ASK, {"name": "change"}, {"uri": "x://1"},
        {"name": "prompt", "arguments": {"code": "x"}}, {"requestId": random.randrange(4)}, {},
        {"notifications": LISTEN},
        {"notifications": {"promptsListChanged": True, "resourceSubscriptions": [text(random)]}},
    )))
    if random.random() < 0.4:
        params["inputResponses"] = random.choice((
            {"question-1": {"roots": [{"uri": "file:///x"}]}}, {"question-1": value(random, 2)}, value(random, 2)))
    if random.random() < 0.4:
        params["requestState"] = state(random)
    if random.random() < 0.85:
        params["_meta"] = meta(random) if random.random() < 0.4 else good_meta(random)
    found = {"jsonrpc": "2.0", "id": random.randrange(4), "method": method, "params": params}
    if random.random() < 0.15:
        found["method"] = random.choice(("notifications/cancelled", method))
        del found["id"]
    return found


def make_asked(random: Random) -> Case:
    """What is sent, and the rank of the revision of the handshake; -1: there is none, -2: the server knows none."""
    frames = []
    for _ in range(random.randrange(1, 8)):
        tree: Any = request(random) if random.random() < 0.9 else frame_object(random)
        data = as_bytes(mutated(random, tree, random.randrange(2)))
        frames.append(mutated_bytes(random, data, random.random() < 0.2).replace(b"\n", b" "))
    return frames, random.choice((-2, -2, -1, -1, random.randrange(len(HANDSHAKE_REVISIONS))))


def check_server(case: Case) -> None:
    """A last request is answered as ever, and whatever the server says stands alone where nothing else can."""
    frames, rank = case
    ours, theirs = pair(LIMITS, ROOM)
    theirs.open()
    revisions = [LATEST] if rank == -2 else [*HANDSHAKE_REVISIONS, LATEST]
    server = make_server(revisions=revisions, state_keys=[SECRET])

    @server.tool
    def change() -> str:
        server.tool(lambda: "", name="more")
        server.remove_tool("more")
        server.resource_updated("x://1")
        return ""

    connection = server.connect(ours)
    try:
        head = [as_bytes(each) for each in opening(str(HANDSHAKE_REVISIONS[rank]))] if rank >= 0 else []
        last = {"jsonrpc": "2.0", "id": LAST, "method": "server/discover",
                "params": {"_meta": envelope.fields(LATEST, {})}}
        theirs.write([*head, *(each for each in frames if each.strip()), as_bytes(last)])
        for message in _until_last(theirs):
            if rank == -2:
                _check_alone(message)
        server.listeners.end()
    finally:
        end(connection, theirs)
    if len(server.listeners):
        raise Broken("streams: still open after the end")


def _check_alone(message: Dict[str, Any]) -> None:
    if "method" in message and "id" in message:
        raise Broken("asked: a client without handshake: %r" % (message,))
    result = message.get("result")
    if "result" in message and (result.get("resultType") not in ("complete", "input_required")
                                or envelope.SERVER_INFO not in result.get("_meta", {})):
        raise Broken("result: %r" % (message,))


def _until_last(theirs: Transport) -> List[Dict[str, Any]]:
    found: List[Dict[str, Any]] = []
    while True:
        items = theirs.read()
        if items is None:
            raise Broken("ended: the connection, before the last request was answered")
        for item in items:
            found += checked_messages(json.loads(item))
            if found[-1].get("id") == LAST and "method" not in found[-1]:
                if "supportedVersions" not in found[-1].get("result", {}):
                    raise Broken("last: %r" % (found[-1],))
                return found


# -- The client ----------------------------------------------------------------------------------

COMPLETE: Dict[str, Any] = {"resultType": "complete", "content": []}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
QUESTIONS = ("roots/list", "sampling/createMessage", "elicitation/create", "ping", "tools/list")


def result(random: Random) -> Dict[str, Any]:
    """A result of a call, one that asks, or something else."""
    asks = {str(number): {"method": random.choice(QUESTIONS), "params": value(random, 2)}
            if random.random() < 0.5 else {"method": "roots/list"} for number in range(random.randrange(3))}
    return dict(random.choice((
        COMPLETE, {"content": [{"type": "text", "text": "x"}]},
        {"resultType": "input_required", "inputRequests": asks, "requestState": text(random)},
        {"resultType": "input_required", "inputRequests": asks}, {"resultType": text(random), "content": []},
        {"resultType": "complete", "_meta": value(random, 2)},
    )))


def make_told(random: Random) -> Case:
    """What a server sends, and how many calls it has before it; their ids count from 2, that of the stream is 1."""
    frames = []
    for _ in range(random.randrange(1, 8)):
        about = {envelope.SUBSCRIPTION: random.choice((1, 2, 3, text(random)))}
        tree: Any = random.choice((
            {"id": random.randrange(1, 5), "result": result(random)},
            {"id": random.randrange(1, 5), "result": result(random)},
            {"id": random.randrange(1, 5), "error": {"code": random.choice((-32022, -32021, -32020, -32602, 1)),
                                                     "message": "", "data": value(random, 2)}},
            {"method": ACKNOWLEDGED, "params": {"notifications": LISTEN, "_meta": about}},
            {"method": "notifications/tools/list_changed", "params": {"_meta": about}},
            {"method": "notifications/resources/updated", "params": {"uri": "x://1", "_meta": about}},
            {"method": "notifications/cancelled", "params": {"requestId": random.randrange(1, 5)}},
            request(random),
        ))
        data = as_bytes(mutated(random, dict({"jsonrpc": "2.0"}, **tree), random.randrange(3)))
        frames.append(mutated_bytes(random, data, random.random() < 0.2).replace(b"\n", b" "))
    return frames, random.randrange(1, 4)


def check_client(case: Case) -> None:
    """Each call has an outcome, a last one its answer, and nothing is ever answered to the server."""
    frames, calls = case
    ours, theirs = pair(LIMITS, ROOM)
    theirs.open()
    client = Client("fuzzed", limits=HASTY, roots=["file:///x"], sampling=lambda params, context: "x",
                    elicitation=lambda params, context: None)
    connection = client._connection = Connection(ours, client, PATIENT).start()
    try:
        client._handshake.assume(connection, LATEST)
        client._handshake.discovered(connection, {"capabilities": {"tools": {"listChanged": True}, "resources": {}}})
        _listen(client, theirs)
        connection.limits = HASTY
        waiting = [client.submit_tool("x") for _ in range(calls)]
        theirs.write([each for each in frames if each.strip()])
        for one in waiting:
            try:
                one.result(timeout=WAIT)
            except McpError:
                pass
        if not any(_answered(client, theirs) for _ in range(len(frames) + 1)):  # each may answer one, by its id
            raise Broken("last: never answered")
    finally:
        client.close()
        end(connection, theirs)


def _answered(client: Client, theirs: Transport) -> bool:
    """Call once more, and answer; whether that is what came of it."""
    last = client.submit_tool(LAST, timeout=WAIT)
    for message in _requests(theirs):
        if (message.get("params") or {}).get("name") == LAST:
            theirs.write([as_bytes({"jsonrpc": "2.0", "id": message["id"], "result": COMPLETE})])
            break
    try:
        return bool(last.result(timeout=WAIT).content == [])
    except McpError:
        return False


def _listen(client: Client, theirs: Transport) -> None:
    """Have a stream."""
    caller = threading.Thread(target=client.listen, args=("tools",), kwargs={"uris": ["x://1"]}, daemon=True)
    caller.start()
    id = next(_requests(theirs))["id"]
    theirs.write([as_bytes({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": {
        "notifications": LISTEN, "_meta": {envelope.SUBSCRIPTION: id}}})])
    caller.join(WAIT)


def _requests(theirs: Transport) -> Iterator[Dict[str, Any]]:
    """What the client sends: requests and notifications only."""
    while True:
        items = theirs.read()
        if items is None:
            raise Broken("ended: the connection, before the last call was answered")
        for item in items:
            for message in checked_messages(json.loads(item)):
                if "method" not in message:
                    raise Broken("answered: by a client without handshake: %r" % (message,))
                yield message


TARGETS = (
    Target("alone", make_asked, check_server),
    Target("told", make_told, check_client),
)
