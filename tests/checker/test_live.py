"""The judge in tests: what `checked` finds on each transport, and that it says so loudly."""
import pathlib
import sys

import pytest

from mcp_ref import Server, connect
from mcp_ref.devtools.checker import RulesBroken, checked
from mcp_ref.devtools.checker.rules import load
from mcp_ref.devtools.checker.scenes import trace as scene
from mcp_ref.wiretrace import MESSAGE, Event, Trace

ECHO = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "echo_server.py")


def demo():
    server = Server("demo")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server


def used(client):
    assert client.call_tool("add", {"a": 1, "b": 2}).text == "3"


def in_memory(trace):
    with connect(demo(), trace=trace) as client:
        used(client)


def by_pipe(trace):
    with connect([sys.executable, ECHO], trace=trace) as client:
        used(client)


def by_socket(trace):
    server = Server("demo", trace=trace)
    server.tool(lambda a, b: a + b, name="add", input_schema={"type": "object"})
    with server.listen("tcp://127.0.0.1:0") as listener, connect(listener.address) as client:
        used(client)


def by_http_at_the_client(trace):
    with demo().listen("http://127.0.0.1:0/mcp") as listener, connect(listener.address, trace=trace) as client:
        used(client)


def by_http_at_the_server(trace):
    with demo().listen("http://127.0.0.1:0/mcp", trace=trace) as listener, connect(listener.address) as client:
        used(client)


@pytest.mark.parametrize("way", [in_memory, by_pipe, by_socket, by_http_at_the_client, by_http_at_the_server])
def test_conversations_of_ours_keep_the_rules_whatever_carries_them(way):
    seen = []
    with checked(level="warning") as trace:
        judge = trace.judge

        def counting(event):
            seen.append(event.kind)
            judge(event)

        trace._sinks[0] = (counting, trace._sinks[0][1])
        way(trace)
    assert trace.findings == [] and seen.count(MESSAGE) >= 4


LIES = """
    on stdio 2025-06-18
    C #1 ping
    S #1 {}
    C #1 ping
    S #1 {}
"""


@pytest.fixture
def liar():
    """What tells a trace of a client that uses an id twice."""
    def told(trace):
        for event in scene(LIES, "+"):
            if event.kind == MESSAGE:
                trace.message(event.direction, event.data())

    return told


def test_a_broken_rule_is_raised_with_the_report(liar):
    with pytest.raises(RulesBroken) as raised, checked() as trace:
        liar(trace)
    said = str(raised.value)
    assert "VIOLATION by the client: jsonrpc.request-id-unique-session [MUST" in said and "#1 ping" in said
    assert [each.rule.id for each in trace.findings] == ["jsonrpc.request-id-unique-session"]


def test_a_rule_that_is_named_may_be_broken_and_has_to_be(liar):
    with checked("jsonrpc.request-id-unique-session") as trace:
        liar(trace)
    assert len(trace.findings) == 1
    with pytest.raises(RulesBroken, match="named, but not broken: progress.increases$"):
        with checked("progress.increases"):
            pass
    with pytest.raises(ValueError, match="no rule of the checker is called 'progress.rises'"):
        checked("progress.rises")


def test_a_side_that_is_not_asked_about_may_lie(liar):
    with checked(party="server") as trace:
        liar(trace)
    assert trace.findings == []
    with pytest.raises(RulesBroken), checked(party="client") as trace:
        liar(trace)


@pytest.mark.parametrize("options", [{"party": "host"}, {"level": "cannot tell"}])
def test_sides_and_levels_that_there_are_not_are_refused(options):
    with pytest.raises(ValueError, match="party is client, server or empty"):
        checked(**options)


def test_recommendations_count_where_they_are_asked_for():
    strict, relaxed = checked(level="warning"), checked()
    for event in scene(load()["cancel.no-response"].scene, "-"):
        strict.judge(event)
        relaxed.judge(event)
    assert relaxed.finish() == [] and {each.verdict for each in strict.finish()} == {"warning"}
    relaxed.settle()
    with pytest.raises(RulesBroken, match="WARNING by the server"):
        strict.settle()


def test_an_exception_of_the_test_is_not_replaced(liar):
    with pytest.raises(KeyError), checked() as trace:
        liar(trace)
        raise KeyError("of the test")
    with pytest.raises(RulesBroken):
        trace.settle()


def test_what_comes_after_the_end_does_not_count(liar):
    trace = checked()
    assert trace.finish() == []
    liar(trace)
    trace.settle()


def test_it_judges_what_another_trace_is_told(liar):
    trace = checked()
    liar(Trace(trace.judge))
    assert len(trace.finish()) == 1


def test_a_fault_of_the_checker_is_raised_and_not_just_logged():
    trace = checked()
    trace._checker.feed = lambda event: 1 / 0
    trace.judge(Event(0.0, "client", MESSAGE, {}))
    with pytest.raises(ZeroDivisionError):
        trace.settle()
