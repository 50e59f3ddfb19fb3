"""The checker frees what it has forgotten at once: nothing of an HTTP exchange waits for the collector of garbage."""
import gc

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.bounds import Bounds
from mcp_ref.devtools.checker.observed import Message, ObservedExchange
from mcp_ref.devtools.checker.scenes import trace

CALLS = "\n".join('C #%d tools/call {"name": "add"}\nS #%d {"content": []}' % (id, id) for id in range(1, 60))


def _living(kind):
    return sum(type(each) is kind for each in gc.get_objects())


def test_forgotten_exchanges_wait_for_no_collector():
    events = trace("on http 2025-11-25\n%s" % CALLS, "+")
    gc.collect()
    before = _living(ObservedExchange), _living(Message)
    gc.disable()
    try:
        checker = Checker(Bounds(exchanges=8, answered=8))
        assert checker.check(events) == []
        exchanges, messages = _living(ObservedExchange) - before[0], _living(Message) - before[1]
    finally:
        gc.enable()
    assert checker.messages > 100
    assert exchanges <= 8 + 4, "the last, and those that a state of the session names"
    assert messages <= 2 * 12 + 8


def test_a_stream_that_is_over_keeps_its_messages():
    scene = """
        on http 2025-11-25
        C [3] #1 tools/call {"name": "slow"}
        S [3] stream
        S [3] event {"id": "a-0", "retry": 0, "data": ""}
        S [3] end
        C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-0"}
        S [5] stream
        S [5 id=a-1] #1 {"content": []}
        S [5] end
        C #2 ping
        S #2 {}
    """
    found = [[each.rule.id for each in Checker(Bounds(exchanges=most)).check(trace(scene, "+"))] for most in (1, 4096)]
    assert found[0] == found[1]


def test_exchanges_with_the_same_head_share_it_and_those_of_another_do_not():
    checker = Checker()
    checker.check(trace("""
        on http 2025-11-25
        C [3] #1 tools/list {}
        S [3] #1 {"tools": []}
        C [4 X-Other=1] #2 tools/list {}
        S [4] #2 {"tools": []}
    """, "+"))
    told = [each.header("x-other") for each in checker.connections[""].over.values()]
    assert told[-2:] == [None, "1"]
