"""Trace context in `_meta`: handed to handlers, passed on to where they ask, and never a reason to fail."""
import pytest

from mcp_ref import Server
from mcp_ref.errors import LocalProtocolError
from mcp_ref.server import Context
from tests.support.patience import WAIT
from tests.support.requirements_table import HANDSHAKE
from tests.support.scene import Scene
from tests.support.serving import ask, served

STATELESS = "2026-07-28"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = {"traceparent": PARENT, "tracestate": "rojo=1,congo=2", "baggage": "user=alice;p=1,tier=gold"}
WRONG = [
    {"traceparent": "x"}, {"traceparent": PARENT.upper()}, {"traceparent": None}, {"traceparent": 1},
    {"tracestate": "A=1"}, {"tracestate": []}, {"baggage": "a b"}, {"baggage": {"a": 1}}, {"baggage": "x" * 100000},
    {"traceparent": "00-%s-%s-01" % ("0" * 32, "1" * 16)},
]


def traced():
    """A server whose handlers note the trace context that they see."""
    server, seen = Server("traced"), []

    @server.tool
    def trace(ctx: Context):
        seen.append(ctx.trace_context)

    @server.resource("test://trace")
    def read(ctx: Context):
        seen.append(ctx.trace_context)
        return "x"

    @server.prompt
    def prompt(ctx: Context):
        seen.append(ctx.trace_context)
        return "x"

    server.resource("test://{x}")(lambda x: x)

    @server.completion("test://{x}", "x")
    def complete(value, ctx: Context):
        seen.append(ctx.trace_context)
        return []

    return server, seen


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("revision", [*HANDSHAKE, STATELESS])
@pytest.mark.parametrize("method, params", [
    ("tools/call", {"name": "trace", "arguments": {}}), ("resources/read", {"uri": "test://trace"}),
    ("prompts/get", {"name": "prompt"}),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": "test://{x}"},
                             "argument": {"name": "x", "value": ""}}),
])
def test_each_handler_sees_the_trace_context_of_its_request(method, params, revision):
    """[2026-07-28 basic/index §`_meta`] MUST"""
    server, seen = traced()
    with served(server, revision) as peer:
        for meta in (TRACE, {}, {"traceparent": PARENT, "com.example/other": 1}):
            assert "result" in ask(peer, method, dict(params, _meta=meta))
    assert seen == [TRACE, {}, {"traceparent": PARENT}]


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_has_not_its_form_is_left_out_and_counted_and_the_request_served(wrong, strict):
    """W3C Trace Context §4: a trace that cannot be read is begun anew, nothing more."""
    server, seen = traced()
    server.strict = strict
    with served(server, STATELESS) as peer:
        meta = dict(TRACE, **wrong)
        answer = ask(peer, "tools/call", {"name": "trace", "arguments": {}, "_meta": meta})
        assert not answer["result"].get("isError")
        expected = {key: value for key, value in TRACE.items() if key not in wrong}
        if "traceparent" in wrong:
            expected.pop("tracestate")
        assert seen == [expected]
        assert peer.connection.counters["malformed trace context"] == 1


@pytest.mark.spec("meta.trace-context")
def test_a_client_called_in_a_handler_passes_it_on_as_it_came():
    """[2026-07-28 basic/index §`_meta`] MUST"""
    outer = Server("outer")
    with Scene(STATELESS, {"tools/call": {"content": [], "resultType": "complete"}}) as scene:
        @outer.tool
        def forward(ctx: Context):
            scene.client.call_tool("inner", {}, meta=ctx.trace_context)
            scene.client.submit_tool("inner", {}, meta=dict(ctx.trace_context, **{"com.example/x": 1})).result(WAIT)

        with served(outer, STATELESS) as peer:
            answer = ask(peer, "tools/call", {"name": "forward", "arguments": {}, "_meta": TRACE})
            assert not answer["result"].get("isError"), answer
        metas = [request["params"]["_meta"] for request in scene.requests]
    for meta in metas:
        assert {key: meta[key] for key in TRACE} == TRACE
        assert meta["io.modelcontextprotocol/protocolVersion"] == STATELESS
    assert metas[1]["com.example/x"] == 1


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_client_sends_none_that_has_not_its_form(wrong):
    """[2026-07-28 basic/index §`_meta`] MUST"""
    with Scene(STATELESS, {"tools/call": {"content": [], "resultType": "complete"}}) as scene:
        with pytest.raises(LocalProtocolError, match="_meta key (traceparent|tracestate|baggage)"):
            scene.client.call_tool("x", {}, meta=wrong)
        assert scene.asked == []


@pytest.mark.spec("meta.trace-context")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_sends_none_that_has_not_its_form(wrong):
    """[2026-07-28 basic/index §`_meta`] MUST: also in results and notifications."""
    from mcp_ref.messages.tools import CallToolResult

    server, refused = Server("x"), []

    @server.tool
    def result(ctx: Context):
        try:
            ctx.notify("notifications/progress", {"progressToken": 1, "progress": 1, "_meta": wrong})
        except LocalProtocolError as error:
            refused.append(error)
        return CallToolResult([], meta=wrong)

    with served(server, STATELESS) as peer:
        answer = ask(peer, "tools/call", {"name": "result", "arguments": {}, "_meta": {"progressToken": 1}})
        assert len(refused) == 1 and not any(key in str(answer.get("result", {}).get("_meta")) for key in wrong)


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_in_earlier_revisions_these_are_names_like_any_other(revision):
    with Scene(revision, {"tools/call": {"content": []}}) as scene:
        scene.client.call_tool("x", {}, meta={"traceparent": "anything"})
        assert scene.params("tools/call")[0]["_meta"]["traceparent"] == "anything"
