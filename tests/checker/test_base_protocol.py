"""What one scene of a rule cannot show: legal traffic that looks odd, what cannot be told, and other revisions."""
import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.rules import load
from mcp_ref.devtools.checker.scenes import trace

load()

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
OPENING = """
    C #%d initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    S #%d {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    C notifications/initialized
"""
PROBE = """
    C #1 server/discover {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", \
"io.modelcontextprotocol/clientCapabilities": {}}}
"""


def judged(scene):
    checker = Checker()
    checker.check(trace(scene, "+"))
    return checker


def roots(checker):
    return ["%s %s: %s" % (each.rule.id, each.party, each.evidence) for each in checker.findings if each.cause is None]


SILENT = {
    "a probe that an older server refuses, and its handshake": (
        "on stdio 2025-06-18 bare" + PROBE + 'S #1 !-32601 "Method not found"' + OPENING % (2, 2)),
    "a probe that an older server leaves, cancelled by the client, and the handshake": (
        "on stdio 2025-06-18 bare" + PROBE + '@ 10\n C notifications/cancelled {"requestId": 1}' + OPENING % (2, 2)),
    "pings and a log message before the handshake": (
        'on stdio 2025-06-18 bare\n C #7 ping\n S #7 {}\n S #7 ping\n C #7 {}\n'
        'S notifications/message {"level": "info", "data": "up"}' + OPENING % (1, 1)),
    "the same id as a number and as a string, and of both parties": """
        on stdio 2025-06-18
        C #1 ping
        C #"1" ping
        S #1 ping
        S #"1" {}
        S #1 {}
        C #1 {}
    """,
    "an id again, once the first request has its response": """
        on stdio 2026-07-28
        C #1 tools/list {}
        S #1 {"tools": []}
        C #1 tools/list {}
        S #1 {"tools": []}
    """,
    "a vendor's request whose name looks like a notification": """
        on stdio 2025-06-18
        C #1 notifications/acme/list {}
        S #1 !-32601 "Method not found"
    """,
    "a request that was sent once more after a 503": """
        on http 2025-06-18
        C [1] #1 tools/list {}
        S [1] 503 {}
        S [1] end
        C [2] #1 tools/list {}
        S [2] #1 {"tools": []}
    """,
    "two sessions over one connection with the same ids": """
        on http 2025-06-18
        C [1] #1 tools/list {}
        S [1] #1 {"tools": []}
        C [2] #0 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", \
"version": "1"}}
        S [2] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***0bad5eed"}
        S [2] #0 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", \
"version": "1"}}
        C [3 Mcp-Session-Id=***0bad5eed] notifications/initialized
        S [3] 202 {}
        S [3] end
        C [4 Mcp-Session-Id=***0bad5eed] #1 tools/list {}
        S [4] #1 {"tools": []}
    """,
    "an HTTP error that says nothing of ids": """
        on http 2025-11-25
        C [1] #1 tools/list {}
        S [1] 400 {"Content-Type": "application/json"}
        S [1]> {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Bad Request: no valid session"}}
        S [1] end
    """,
    "a response that crosses the cancellation of its request": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "slow", "arguments": {}}
        C notifications/cancelled {"requestId": 1}
        @ 2
        S #1 {"content": []}
    """,
    "a cancellation that crosses the response": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "slow", "arguments": {}}
        S #1 {"content": []}
        @ 2
        C notifications/cancelled {"requestId": 1}
        C #2 ping
        S #2 {}
    """,
    "the progress of a task after its request was answered": """
        on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
        C #9 tools/list
        S #9 {"tools": [{"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "optional"}}]}
        C #1 tools/call {"name": "slow", "arguments": {}, "task": {}, "_meta": {"progressToken": 1}}
        S #1 {"task": {"taskId": "786512e2-9e0d-44bd", "status": "working", "createdAt": "2026-01-01T00:00:00Z", \
"lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000}}
        S notifications/progress {"progressToken": 1, "progress": 1, \
"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "786512e2-9e0d-44bd"}}}
    """,
    "a server of an older revision that takes a request of the newest for its own": """
        on stdio 2026-07-28
        C #1 tools/list {}
        S> {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}
        C #2 resources/read {"uri": "file:///a"}
        S> {"jsonrpc": "2.0", "id": 2, "error": {"code": -32002, "message": "Failed"}}
        C #3 server/discover {}
        S> {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "Method not found"}}
    """,
    "a batch that is answered one by one": """
        on stdio 2025-03-26
        C> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/cancelled", \
"params": {"requestId": 1}}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
        S #2 {}
    """,
    "keys of _meta at the edge of what is allowed": """
        on stdio 2025-06-18
        C #1 tools/list {"_meta": {"a": 1, "x-1.b/": 1, "com.example/a_b.c-d": 1, "9": 1, "": 1}}
        S #1 {"tools": []}
    """,
    "trace context in full": """
        on stdio 2026-07-28
        C #1 tools/list {"_meta": {"traceparent": "cc-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more", \
"tracestate": "rojo=00f067aa0ba902b7,, t61rcwkgmze@c=x y", "baggage": "userId=alice , a=%20;p;q=1"}}
        S #1 {"tools": []}
    """,
    "empty lines between messages": """
        on stdio 2025-06-18
        C #1 ping
        S|
        S #1 {}
    """,
    "a signal that the client did not send, and an exit": """
        on stdio 2025-06-18
        C #1 tools/call {"name": "slow", "arguments": {}}
        * - process {"did": "signal", "signal": "INT"}
        * server process {"did": "exit", "code": -2}
    """,
    "a request over HTTP that overtakes notifications/initialized": """
        on http 2025-06-18 bare
        C [1] #0 initialize {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", \
"version": "1"}}
        S [1] 200 {"Content-Type": "application/json", "Mcp-Session-Id": "***5e551011"}
        S [1] #0 {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", \
"version": "1"}}
        C [2 Mcp-Session-Id=***5e551011 MCP-Protocol-Version=2025-06-18] #1 tools/list {}
        C [3 Mcp-Session-Id=***5e551011 MCP-Protocol-Version=2025-06-18] notifications/initialized
        S [3] 202 {}
        S [3] end
        S [2] #1 {"tools": []}
    """,
}


@pytest.mark.parametrize("name", sorted(SILENT))
def test_legal_traffic_that_looks_odd_has_no_findings(name):
    checker = judged(SILENT[name])
    assert checker.messages and roots(checker) == []


UNSURE = {
    "jsonrpc.response-same-id": 'on stdio 2025-06-18 late\n S #5 {"tools": []}',
    "jsonrpc.error-same-id": 'on stdio 2026-07-28 late\n C #1 tools/list {}\n S #5 !-1 "no"\n S #1 {"tools": []}',
    "jsonrpc.request-id-unique-inflight": (
        'on http 2026-07-28\n C [1] #1 tools/list {}\n C [2] #1 tools/list {}\n S [1] #1 {"tools": []}'),
    "jsonrpc.result-type-required": (
        'on stdio 2026-07-28\n C #1 tools/list {}\n S> {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'),
    "cancel.client-issued": (
        'on stdio 2026-07-28 late\n C #2 tools/list {}\n S #2 {"tools": []}\n'
        'C notifications/cancelled {"requestId": 1}'),
    "progress.token-active": (
        'on stdio 2025-06-18 late\n C #1 ping\n S #1 {}\n'
        'S notifications/progress {"progressToken": 4, "progress": 1}'),
    "lifecycle.init-first": "on stdio 2025-06-18 bare without=start" + OPENING % (1, 1),
    "logging.capability": 'on stdio 2026-07-28 server={}\n C #1 server/discover {}\n'
                          'S #1 {"supportedVersions": ["2026-07-28"], "capabilities": {}}\n @ 1\n'
                          'C #2 tools/list {"_meta": {"io.modelcontextprotocol/logLevel": "info"}}\n'
                          'S notifications/message {"level": "info", "data": "new"}\n S #2 {"tools": []}',
    "stdio.server-stdout-only-mcp": 'on stdio 2025-06-18 without=bytes\n S| hello',
    "transport.utf8": "on stdio 2025-06-18 without=bytes\n C #1 ping\n S #1 {}",
    "stdio.exit-on-eof": 'on stdio 2026-07-28 without=process\n C #1 tools/list {}\n S #1 {"tools": []}',
    "version.server-same": ("on stdio 2025-06-18 bare" + OPENING % (1, 1)).replace(
        '"protocolVersion": "2025-06-18", "capabilities": {}', '"protocolVersion": "2025-03-26", "capabilities": {}'),
    "version.server-other": 'on stdio 2025-06-18 bare\n C #1 initialize {"protocolVersion": "2031-01-01", '
                            '"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}\n'
                            'S #1 !-32602 "Unsupported protocol version"',
}


@pytest.mark.parametrize("id", sorted(UNSURE))
def test_what_was_not_seen_is_not_guessed(id):
    checker = judged(UNSURE[id])
    assert id not in {each.rule.id for each in checker.findings}
    assert checker.tallies()[id].unsure


# name -> the revisions, the lines after `on stdio REVISION`, the only rule that is named
BROKEN = {
    "a second result": (REVISIONS[:4], "C #1 ping\n S #1 {}\n S #1 {}", "jsonrpc.response-same-id"),
    "a second result without handshake": (
        REVISIONS[4:], 'C #1 tools/list {}\n S #1 {"tools": []}\n S #1 {"tools": []}', "jsonrpc.response-same-id"),
    "an error for nobody, where errors have ids": (
        REVISIONS[:3], 'C #1 ping\n S #7 !-32603 "failed"\n S #1 {}', "jsonrpc.response-same-id"),
    "an error for nobody": (
        REVISIONS[3:], 'C #1 tools/call {"name": "a", "arguments": {}}\n S #7 !-32603 "failed"',
        "jsonrpc.error-same-id"),
    "a request without id": (REVISIONS, "C tools/list", "jsonrpc.request-id-type"),
    "a response with both outcomes, where no row names it": (
        REVISIONS[3:], 'C #1 tools/call {"name": "a", "arguments": {}}\n'
                       'S> {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}, "error": null}',
        "jsonrpc.follow-spec"),
    "a batch after it was taken away": (
        REVISIONS[2:4], 'C> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n S #1 {}', "lifecycle.respect-version"),
    "a batch where there are only messages": (
        REVISIONS[4:],
        'C #1 tools/list {}\n S #1 {"tools": []}\n S> [{"jsonrpc": "2.0", "method": "notifications/x"}]',
        "stdio.server-stdout-only-mcp"),
    "lines that never become a message": (
        REVISIONS[:4], "C #1 ping\n S| {\n S| not JSON\n S #1 {}", "stdio.server-stdout-only-mcp"),
    "no answer to a ping, though its receiver speaks": (
        REVISIONS[:4], 'C #1 ping\n @ 100\n C #2 tools/list {}\n S #2 {"tools": []}', "ping.respond"),
    "a root that is no file, given with a request": (
        REVISIONS[4:], 'C #1 tools/call {"name": "a", "arguments": {}, "inputResponses": {"r": {"roots": '
                       '[{"uri": "http://a"}]}}}\n S #1 {"content": []}', "roots.file-uri"),
}


@pytest.mark.parametrize("name, revision", [(name, each) for name in sorted(BROKEN) for each in BROKEN[name][0]])
def test_a_fault_is_named_in_each_revision(name, revision):
    lines, id = BROKEN[name][1:]
    checker = judged("on stdio %s\n%s" % (revision, lines))
    assert {each.split()[0] for each in roots(checker)} == {id}, roots(checker)
