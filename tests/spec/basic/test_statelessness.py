"""Requests that stand alone: nothing is left of one when the next one comes, and errors have codes of their own.

[2026-07-28 basic/index §Statelessness], [2026-07-28 basic/index §Error Codes]
"""
import json
import subprocess
import sys
import threading
from typing import Any, Dict, List

import pytest

from mcp_ref.client import Client
from mcp_ref.errors import CODES, PeerError, RpcError
from mcp_ref.protocol import envelope
from mcp_ref.revisions import revision
from mcp_ref.server import Context, Server
from mcp_ref.server.elicitation import UrlElicitationRequired
from mcp_ref.transports.memory import pair
from tests.support.requirements_table import STATELESS
from tests.support.scene import Failure, Scene
from tests.support.scripted import PATIENCE, ScriptedPeer
from tests.support.sides import Gate, in_thread

RULES = revision(STATELESS)
REMOVED = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
FAILURES: Dict[str, Any] = {
    "legacy not found": lambda: RpcError(-32002, "not there"), "legacy link": lambda: RpcError(-32042, "follow it"),
    "link": lambda: UrlElicitationRequired([("Follow it", "https://example.com/")]),
    "free reserved": lambda: RpcError(-32050, "mine"), "last reserved": lambda: RpcError(-32099, "mine"),
    "application": lambda: RpcError(4711, "mine"), "plain": lambda: ValueError("oops"),
    "invalid": lambda: RpcError(-32602, "wrong"),
}


def busy_server(**options: Any) -> Server:
    """A server that shows what it knows of who asks, and that fails in every way."""
    server = Server("busy", **options)

    @server.tool
    def who(ctx: Context) -> str:
        """What is known of this request's sender."""
        session = ctx.session
        return "%s %s %s" % (session.peer_info.get("name"), sorted(session.peer_capabilities), session.log_level)

    @server.tool
    def fail(how: str) -> str:
        """Fail."""
        raise FAILURES[how]()

    @server.resource("fail://{how}")
    def failing(how: str) -> str:
        raise FAILURES[how.replace("-", " ")]()

    @server.prompt(name="fail")
    def failing_prompt(how: str) -> str:
        raise FAILURES[how]()

    return server


def of(name: str, level: Any = None, **capabilities: Any) -> Dict[str, Any]:
    """The params of a call of `who` by a client of this name."""
    meta = envelope.fields(RULES, capabilities, {"name": name, "version": "1"}, level)
    return {"name": "who", "arguments": {}, "_meta": meta}


def told(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.spec(
    "stateless.no-prior-requests", "stateless.no-inferred-capabilities", "stateless.multiple-conversations")
def test_what_one_request_says_holds_for_no_other() -> None:
    """[2026-07-28 basic/index §Statelessness] MUST NOT"""
    with ScriptedPeer.of_server(busy_server()) as peer:
        assert told(peer.call(1, "tools/call", of("ann", "debug", roots={}, sampling={}))) == (
            "ann ['roots', 'sampling'] debug")
        assert told(peer.call(2, "tools/call", of("bob"))) == "bob [] None"
        bare = of("", None)
        del bare["_meta"][envelope.CLIENT_INFO]
        assert told(peer.call(3, "tools/call", bare)) == "None [] None"
        assert peer.call(4, "tools/call", {"name": "who", "arguments": {}})["error"]["code"] == -32602
        assert peer.connection is not None and peer.connection.state == {}


@pytest.mark.spec("stateless.no-prior-requests")
def test_what_a_handshake_said_does_not_hold_for_requests_that_stand_alone_nor_the_other_way() -> None:
    """[2026-07-28 basic/versioning §Backward Compatibility with Initialization-Based Versions] MAY"""
    with ScriptedPeer.of_server(busy_server()) as peer:
        assert told(peer.call(1, "tools/call", of("ann", roots={}))) == "ann ['roots'] None"
        peer.handshake("2025-11-25", {"sampling": {}})
        assert told(peer.call(2, "tools/call", {"name": "who"})) == "scripted ['sampling'] None"
        assert told(peer.call(3, "tools/call", of("bob"))) == "bob [] None"
        assert told(peer.call(4, "tools/call", {"name": "who"})) == "scripted ['sampling'] None"
        assert "resultType" not in peer.call(5, "tools/list")["result"]


@pytest.mark.spec("stateless.multiple-conversations")
def test_requests_of_several_clients_may_be_answered_at_the_same_time() -> None:
    """[2026-07-28 basic/index §Statelessness] SHOULD"""
    server = Server("busy")
    with Gate() as gate:
        @server.tool
        def wait(ctx: Context) -> str:
            """Wait for the others."""
            gate.hold()
            return str(ctx.session.peer_info["name"])

        with ScriptedPeer.of_server(server) as peer:
            for name in ("ann", "bob", "eve"):
                peer.request(name, "tools/call", dict(of(name), name="wait"))
            gate.entered(3)
            gate.open()
            answers = {message["id"]: told(message) for message in (peer.receive() for _ in range(3))}
            assert answers == {"ann": "ann", "bob": "bob", "eve": "eve"}


@pytest.mark.spec("stateless.no-connection-affinity")
def test_what_belongs_together_may_come_on_several_connections_to_several_servers() -> None:
    """[2026-07-28 basic/index §Statelessness] SHOULD NOT"""
    keys = ["0123456789abcdef"]

    def asking() -> Server:
        server = Server("asking", state_keys=keys, page_size=1)

        @server.tool
        def ask(ctx: Context) -> str:
            """Ask twice."""
            first = ctx.elicit("First?", {"a": str})["a"]
            return str(first + ctx.elicit("Second?", {"b": str})["b"])

        server.tool(lambda: "x", name="other")
        return server

    def one(method: str, **params: Any) -> Any:
        with ScriptedPeer.of_server(asking()) as peer:
            meta = envelope.fields(RULES, {"elicitation": {}}, {"name": "nomad", "version": "1"})
            return peer.call(1, method, dict(params, _meta=meta))["result"]

    result, answers = one("tools/call", name="ask"), iter(("1", "2"))
    for _ in range(2):
        (key, question), = result["inputRequests"].items()
        (field,) = question["params"]["requestedSchema"]["properties"]
        given = {key: {"action": "accept", "content": {field: next(answers)}}}
        result = one("tools/call", name="ask", inputResponses=given, requestState=result["requestState"])
    assert result["content"][0]["text"] == "12"
    page = one("tools/list")
    rest = one("tools/list", cursor=page["nextCursor"])
    assert [page["tools"][0]["name"], rest["tools"][0]["name"]] == ["ask", "other"]


@pytest.mark.spec("jsonrpc.result-type-required", "version.base-required", "discover.server-must")
def test_every_result_has_a_type_and_every_server_the_base_of_the_protocol() -> None:
    """[2026-07-28 basic/index §ResultType] MUST"""
    server = busy_server()
    server.completion("fail", "how")(lambda value: ["x"])
    server.tool(lambda ctx: ctx.elicit("Who?", {"name": str}).action, name="ask")
    calls = {
        "server/discover": {}, "tools/list": {}, "prompts/list": {}, "resources/list": {},
        "resources/templates/list": {}, "tools/call": {"name": "who"}, "resources/read": {"uri": "plain://"},
        "prompts/get": {"name": "plain"},
        "completion/complete": {
            "ref": {"type": "ref/prompt", "name": "fail"}, "argument": {"name": "how", "value": ""}},
    }
    server.resource("plain://")(lambda: "x")
    server.prompt(lambda: "x", name="plain")
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        for number, (method, params) in enumerate(calls.items()):
            result = peer.call(number, method, params)["result"]
            assert result["resultType"] == "complete", method
            assert result["_meta"][envelope.SERVER_INFO]["name"] == "busy", method
        failed = peer.call("failed", "tools/call", {"name": "fail", "arguments": {"how": "plain"}})["result"]
        assert failed["isError"] and failed["resultType"] == "complete"
        for number, method in enumerate(REMOVED):
            assert peer.call("removed %d" % number, method, {})["error"]["code"] == -32601, method
    with ScriptedPeer.of_server(Server("empty")) as peer:
        assert peer.handshake(STATELESS)["supportedVersions"][0] == STATELESS


@pytest.mark.spec(
    "errors.no-32002", "errors.no-32042", "errors.reserved-range-undefined", "errors.reserved-range-meaning",
    "errors.legacy-range-avoid", "errors.app-codes-outside-reserved")
@pytest.mark.parametrize("way", ["tool", "resource", "prompt"])
@pytest.mark.parametrize("how", FAILURES)
def test_no_code_is_sent_that_the_revision_does_not_know(way: str, how: str) -> None:
    """[2026-07-28 basic/index §Error Codes] MUST NOT"""
    method, params = {
        "tool": ("tools/call", {"name": "fail", "arguments": {"how": how}}),
        "resource": ("resources/read", {"uri": "fail://%s" % how.replace(" ", "-")}),
        "prompt": ("prompts/get", {"name": "fail", "arguments": {"how": how}}),
    }[way]
    with ScriptedPeer.of_server(busy_server()) as peer:
        peer.begin(STATELESS)
        answer = peer.call(1, method, params)
    code = answer.get("error", {}).get("code")
    known = [row.code for row in CODES.values() if RULES.has(row.since, row.until)]
    assert code is None or code == 4711 or code in known
    assert code != -1, "which is for who refuses to sample"
    wanted = {"application": 4711, "legacy not found": -32602, "invalid": -32602}.get(how)
    assert wanted is None or code == wanted
    if how in ("link", "legacy link"):
        assert code in (None, -32021, -32603), "asked for, refused, or a failure; see `UrlElicitationRequired`"


@pytest.mark.spec("errors.app-codes-outside-reserved", "errors.reserved-range-undefined")
@pytest.mark.sends_illegal("meta.capability-missing-error", "version.unsupported-error", why="codes of a handler")
def test_the_range_that_is_the_protocols_is_kept_free_to_its_last_code() -> None:
    """[2026-07-28 basic/index §Error Codes] MUST NOT: -32020 to -32099; the others are for what was there before."""
    server = Server("codes")

    @server.resource("code://{code}")
    def refuse(code: int) -> str:
        raise RpcError(code, "mine")

    defined = {row.code for row in CODES.values() if RULES.has(row.since, row.until)}
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS)
        for code in range(-32102, -32010):
            sent = peer.call(code, "resources/read", {"uri": "code://%d" % code})["error"]["code"]
            ours = not -32099 <= code <= -32020 or code in defined
            assert sent == (code if ours else -32603), code


REFUSALS: List[Any] = [
    ("tools/call", {"name": "nothing"}, -32602), ("resources/read", {"uri": "nothing://"}, -32602),
    ("prompts/get", {"name": "nothing"}, -32602), ("tools/list", {"cursor": "nothing"}, -32602),
    ("nothing", {}, -32601), ("tools/call", {}, -32602), ("subscriptions/listen", {}, -32602),
]


@pytest.mark.spec("errors.reserved-range-meaning", "errors.legacy-range-avoid")
@pytest.mark.parametrize("method, params, code", REFUSALS)
def test_what_the_server_itself_refuses_has_a_standard_code(method: str, params: Dict[str, Any], code: int) -> None:
    """[2026-07-28 basic/index §Error Codes] SHOULD NOT"""
    with ScriptedPeer.of_server(busy_server()) as peer:
        peer.begin(STATELESS)
        assert peer.call(1, method, params)["error"]["code"] == code


@pytest.mark.spec("errors.legacy-range-no-meaning")
@pytest.mark.parametrize("code", [-32000, -32001, -32003, -32010, -32019])
def test_a_code_of_others_means_nothing_to_a_client(code: int) -> None:
    """[2026-07-28 basic/index §Error Codes] MUST NOT"""
    with Scene(STATELESS, {"tools/call": Failure(code)}) as scene:
        with pytest.raises(PeerError) as caught:
            scene.client.call_tool("x")
        assert caught.value.code == code and scene.asked == ["tools/call"]


@pytest.mark.spec("jsonrpc.request-id-unique-inflight")
def test_no_two_requests_of_a_client_that_wait_have_one_id() -> None:
    """[2026-07-28 basic/index §Requests] MUST NOT"""
    ours, theirs = pair()
    peer = ScriptedPeer(theirs)
    client = Client(era="modern")
    opening = in_thread(client.open, ours)
    peer.accept_handshake(STATELESS)
    opening.get()
    calls = [in_thread(client.call_tool, "x") for _ in range(20)]
    ids = [peer.receive()["id"] for _ in calls]
    assert len(set(ids)) == len(ids) and all(type(id) in (int, str) for id in ids)
    for id in ids:
        peer.respond(id, {"content": []})
    for call in calls:
        call.get()
    client.close()
    peer.close()


@pytest.mark.spec("roots.capability-per-request", "sampling.capability-per-request", "elicit.capability-per-request")
def test_every_request_of_a_client_says_what_it_can_do() -> None:
    """[2026-07-28 client/roots §Capabilities] MUST, [2026-07-28 client/sampling §Capabilities] MUST,
    [2026-07-28 client/elicitation §Capabilities] MUST"""
    answers = {"tools/list": {"tools": []}, "tools/call": {"content": []}, "prompts/list": {"prompts": []}}
    able = {"roots": ["/tmp"], "sampling": lambda params, context: None, "elicitation": lambda params, context: None}
    for chosen in ((), ("roots",), ("sampling",), ("elicitation",), tuple(able)):
        with Scene(STATELESS, answers, tasks=False, **{name: able[name] for name in chosen}) as scene:
            scene.client.list_tools()
            scene.client.call_tool("x")
            scene.client.list_prompts()
            said = [message["params"]["_meta"][envelope.CAPABILITIES] for message in scene.requests]
            assert [sorted(one) for one in said] == [sorted(chosen)] * 3


@pytest.mark.spec("stdio.no-server-requests")
def test_a_server_writes_no_request_whatever_its_handlers_want() -> None:
    """[2026-07-28 basic/transports/stdio §Receiving Messages] MUST NOT"""
    server = Server("asking")
    server.tool(lambda ctx: ctx.call("ping"), name="call")
    server.tool(lambda ctx: ctx.elicit("Who?", {"name": str}).action, name="elicit")
    server.tool(lambda ctx: ctx.sample("hello", 5).model, name="sample")
    server.tool(lambda ctx: str(ctx.list_roots()), name="roots")
    capabilities = {"elicitation": {}, "sampling": {}, "roots": {}}
    with ScriptedPeer.of_server(server) as peer:
        peer.begin(STATELESS, capabilities)
        for name in ("call", "elicit", "sample", "roots"):
            meta = envelope.fields(RULES, capabilities)
            peer.send({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "_meta": meta}})
        for name in ("call", "elicit", "sample", "roots"):
            peer.call("after " + name, "server/discover")
        while len([message for message in peer.wire if "after" not in str(message["id"])]) < 4:
            peer.receive()
        assert not [message for message in peer.wire if "method" in message and "id" in message]


@pytest.mark.spec("stdio.exit-on-eof")
@pytest.mark.time_limit(60)
def test_a_server_exits_when_its_input_ends_also_with_open_streams() -> None:
    """[2026-07-28 basic/transports/stdio §Shutdown] SHOULD"""
    program = "from mcp_ref import Server; s = Server('x'); s.tool(lambda: 'x', name='a'); s.run()"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    timer = threading.Timer(PATIENCE, child.kill)
    timer.start()
    try:
        assert child.stdin is not None and child.stdout is not None
        params = {"notifications": {"toolsListChanged": True}, "_meta": envelope.fields(RULES, {})}
        request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        assert b"acknowledged" in child.stdout.readline()
        child.stdin.close()
        child.stdout.read()
        assert child.wait() == 0
    finally:
        timer.cancel()
        child.kill()
        child.wait()
        child.stdout.close()
