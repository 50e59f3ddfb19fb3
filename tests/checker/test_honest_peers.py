"""What peers were seen to do, or could do, and the checker once misjudged: `make foreign` records such peers."""
from mcp_ref.checker import Checker
from mcp_ref.checker.scenes import traces
from mcp_ref.wiretrace import OPEN

UNDECLARED = """
    on http 2025-11-25 server={"tools": {}}
    C [3] #1 prompts/list {}
    S [3] #1 !-32601 "Method not found"
"""


def found(scene, change=list):
    events = change(traces(scene)[0])
    return [finding.rule.id for finding in Checker().check(events) if finding.cause is None]


def opened_late(events):
    """As a proxy tells it that knows the transport when the first message comes: after the head of its request."""
    place = next(number for number, event in enumerate(events) if event.kind == OPEN)
    return [*events[:place], events[place + 1], events[place], *events[place + 2:]]


def test_the_handshake_is_seen_where_the_transport_is_known_after_its_head():
    assert found(UNDECLARED) == found(UNDECLARED, opened_late) == ["lifecycle.negotiated-capabilities"]
