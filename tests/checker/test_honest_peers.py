"""What peers were seen to do, or could do, and the checker once misjudged: `make foreign` records such peers."""
import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import RULES, load
from mcp_ref.devtools.checker.scenes import traces
from mcp_ref.wiretrace import OPEN

SLOW = '#1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}'
ASKS = '#7 elicitation/create {"message": "x", "requestedSchema": {"type": "object", "properties": {}}}'
SENT_AGAIN = """
    on http 2025-11-25
    C [3] %s
    S [3] stream
    S [3] event {"id": "a-0", "data": ""}
    S [3 id=a-1] notifications/progress {"progressToken": "p", "progress": 1}
    S [3 id=a-2] notifications/progress {"progressToken": "p", "progress": 2}
    S [3 id=a-3] %s
    S [3] end cut
    C [5] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
    S [5] stream
    S [5 id=a-2] notifications/progress {"progressToken": "p", "progress": 2}
    S [5 id=a-3] %s
    C [6] #7 {"action": "decline"}
    S [6] 202 {}
    S [6] end
    S [5 id=a-4] #1 {"content": []}
    S [5] end
""" % (SLOW, ASKS, ASKS)
"""What the recorder saw, and the client did not, comes again when the stream is resumed."""

OTHER_STREAMS = """
    on http 2025-11-25
    C [3] %s
    S [3] stream
    S [3] event {"id": "a-0", "data": ""}
    S [3 id=a-1] notifications/progress {"progressToken": "p", "progress": 1}
    S [3 id=a-2] notifications/progress {"progressToken": "p", "progress": 2}
    S [3 id=a-3] #1 {"content": []}
    S [3] end
    C [5] #2 tools/call {"name": "slow"}
    S [5] stream
    S [5] event {"id": "b-0", "data": ""}
    S [5] end cut
    C [6] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "b-0"}
    S [6] stream
    S [6 id=a-1] notifications/progress {"progressToken": "p", "progress": 1}
    S [6 id=b-1] #2 {"content": []}
    S [6] end
""" % SLOW
"""A server that sends the events of all streams again: one cause, and no fault of progress."""

TOO_EARLY = """
    on http 2025-11-25
    C [3] #1 ping {}
    S [3] stream
    S [3] event {"id": "a-0", "data": ""}
    S [3 id=a-1] #1 {}
    S [3] end
    C [5] #2 tools/call {"name": "slow"}
    S [5] stream
    S [5] event {"id": "b-0", "data": ""}
    S [5 id=b-1] notifications/message {"level": "info", "data": "b"}
    C [6] #3 ping {}
    C [7] GET /mcp {"Accept": "text/event-stream", "Last-Event-ID": "a-1"}
    S [7] stream
    S [7 id=b-1] notifications/message {"level": "info", "data": "b"}
    S [7 id=c-0] notifications/message {"level": "info", "data": "c"}
    S [7] end
    S [6] stream
    S [6 id=c-0] notifications/message {"level": "info", "data": "c"}
    S [6 id=c-1] #3 {}
    S [6] end
    S [5 id=b-2] #2 {"content": []}
"""
"""The same server sends an event of a stream before that stream has begun: the id is not given twice."""

NEVER_PRIMED = """
    on http 2025-11-25
    C [3] #1 tools/list {}
    S [3] stream
    S [3 id=a-1] #1 {"tools": []}
    C [4] #2 ping {}
    S [4] stream
    S [4 id=a-2] #2 {}
"""


OWN_ID = """
    on http 2025-11-25
    C [3] #1 ping {}
    S [3] 404 {"Content-Type": "application/json"}
    S [3] #%s !-32600 "Session terminated"
"""
"""An HTTP error with an id that nobody gave: the official Python server says "server-error"."""

UNDECLARED = """
    on http 2025-11-25 server={"tools": {}}
    C [3] #1 prompts/list {}
    S [3] #1 !-32601 "Method not found"
"""


def found(scene, change=list):
    events = change(traces(scene)[0])
    return [finding.rule.id for finding in Checker().check(events) if finding.cause is None]


@pytest.mark.parametrize("scene, expected", [
    (SENT_AGAIN, []),
    (OTHER_STREAMS, ["http.resume-no-cross-stream"]),
    (TOO_EARLY, ["http.resume-no-cross-stream", "http.resume-prime-event"]),
    (NEVER_PRIMED, ["http.resume-prime-event"]),
    (OWN_ID % '"server-error"', ["jsonrpc.error-same-id"]),
    (OWN_ID % 1, []),
    (OWN_ID % "null", []),
], ids=["sent again", "other streams", "too early", "never primed", "an id of its own", "the right id", "no id"])
def test_what_is_found(scene, expected):
    assert found(scene) == expected


@pytest.mark.parametrize("item", ["tools", "prompts", "resources"])
def test_a_list_may_differ_by_the_query_of_the_url(item):
    """A client with two connections to a server that has groups: the query is part of each request."""
    load()
    id = item + ".list-not-per-connection"
    one, two = RULES[id].scene, "\n".join(
        line.replace('"target": "/mcp"', '"target": "/mcp?group=b"') if '"connection": "b"' in line else line
        for line in RULES[id].scene.splitlines())
    assert [{finding.rule.id for finding in Checker().check(traces(scene)[1])} for scene in (one, two)] == [{id}, set()]


def opened_late(events):
    """As a proxy tells it that knows the transport when the first message comes: after the head of its request."""
    place = next(number for number, event in enumerate(events) if event.kind == OPEN)
    return [*events[:place], events[place + 1], events[place], *events[place + 2:]]


def test_the_handshake_is_seen_where_the_transport_is_known_after_its_head():
    assert found(UNDECLARED) == found(UNDECLARED, opened_late) == ["lifecycle.negotiated-capabilities"]
