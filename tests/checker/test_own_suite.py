"""What our own suite has found wrong with rules and the checker: conversations, and the rule that is silent now."""
import pytest

from mcp_ref.devtools.checker.pages.auth.auth_registration import TRADES, exchanges, server
from tests.checker.helpers import roots

BATCH = """
    on http 2025-03-26
    C [3%s]> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    S [3] %d {"Content-Type": "application/json"}
    S [3]> {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}}
    S [3] end
"""
DPOP = server("2025-11-25") + exchanges(TRADES) + """
    C [9 Authorization="DPoP ***0000000a"%s] #2 tools/list {}
    S [9] #2 {"tools": []}
"""
ASKED = """
    on stdio 2026-07-28
    C #1 tools/call {"name": "t", "arguments": {}}
    S #1 {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, \
"requestState": "***0a1b2c3d"}
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {%s}, "requestState": "***0a1b2c3d"}
    S #2 {"content": []}
"""
ROOTS = '"a": {"roots": []}'
CASES = {
    "an error about what is no request": (["jsonrpc.error-same-id"], """
    on stdio 2025-11-25
    C> {"jsonrpc": "2.0", "id": "odd"}
    S #"odd" !-32600 "Invalid request"
"""),
    "a response to one of two requests with one id": (["schema.result", "jsonrpc.response-same-id"], """
    on stdio 2025-06-18
    C #1 tools/list
    C #1 prompts/list
    S #1 {"tools": []}
    S #1 {"prompts": []}
"""),
    "a notification of the wrong party": (["elicit.complete-id"], """
    on stdio 2025-11-25
    C notifications/elicitation/complete {}
"""),
    "the cancellation of one of two streams with one id": (["cancel.server-subscription-teardown"], """
    on http 2026-07-28
    C [1] #7 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S [1] stream
    S [1] notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}, \
"notifications": {"toolsListChanged": true}}
    C [2] #7 subscriptions/listen {"notifications": {"toolsListChanged": true}}
    S [2] stream
    S [2] notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 7}, \
"notifications": {"toolsListChanged": true}}
    S [1] notifications/cancelled {"requestId": 7, "_meta": {"io.modelcontextprotocol/subscriptionId": 7}}
    S [1] end
"""),
    "several responses in one event": (["http.resume-event-id-unique"], """
    on http 2025-03-26
    C [3]> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]
    S [3] stream
    S [3 id=a-1]> [{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 2, "result": {}}]
    S [3] end
"""),
    "a batch without the session's id": (["batch.receive"], BATCH % (" Mcp-Session-Id=", 400)),
    "a batch of somebody else": (["batch.receive"], BATCH % ("", 404)),
    "a batch with an id that is in use": (["batch.receive"], """
    on stdio 2025-03-26
    C #1 tools/call {"name": "slow"}
    C> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    S #null !-32600 "The id is in use"
"""),
    "a session that is deleted when the connection is closed": (["http.session-delete"], """
    on http 2025-06-18
    C [3] #1 ping
    S [3] #1 {}
    * client close {}
    C [4] DELETE /mcp {}
    S [4] 200
    S [4] end
"""),
    "two origins": (["http.origin-403"], """
    on http 2025-11-25
    C [3] POST /mcp {"Origin": "http://a.example", "origin": "http://b.example"}
    C [3] #1 tools/list {}
    S [3] 400 {"Content-Type": "text/plain"}
    S [3] body {"text": "Two fields Origin"}
    S [3] end
"""),
    "two names": (["http.header-case-insensitive"], """
    on http 2026-07-28
    C [3] POST /mcp {"mcp-protocol-version": "2026-07-28", "mcp-method": "prompts/get", "Mcp-Name": "a", \
"mcp-name": "b", "Accept": "application/json, text/event-stream"}
    C [3] #1 prompts/get {"name": "a, b"}
    S [3] 400 {"Content-Type": "application/json"}
    S [3] #1 !-32020 "Two fields Mcp-Name"
"""),
    "a path at which there is nothing": (["http.get-sse-or-405"], """
    on http 2025-11-25 bare
    C [3] POST /elsewhere {"Accept": "application/json, text/event-stream"}
    C [3] #1 initialize {"protocolVersion": "2025-11-25", "capabilities": {}, \
"clientInfo": {"name": "c", "version": "1"}}
    S [3] 404
    S [3] end
    C [4] GET /elsewhere {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    S [4] 404
    S [4] end
"""),
    "a stream of another client": (["sse.endpoint-post"], """
    on sse 2024-11-05
    C [3] POST /messages?sessionId=***5e551011 {"Content-Type": "application/json", "Authorization": "Bearer ***0a"}
    C [3] notifications/roots/list_changed
    S [3] 404
    S [3] end
"""),
    "a token that is bound to a key": (["auth.bearer-header"], DPOP % " DPoP=***00000001"),
    "a place with a slash at its end": (["auth.prm-well-known-order"], """
    on http 2025-11-25 nosession
    C [3] POST /mcp/ {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    C [3] #1 tools/list {}
    S [3] 401 {"WWW-Authenticate": "Bearer scope=\\"a\\""}
    S [3] end
    C [4] GET /.well-known/oauth-protected-resource/mcp/ {}
    S [4] 404
    S [4] end
    C [5] GET /.well-known/oauth-protected-resource {}
    S [5] 404
    S [5] end
"""),
    "an answer that nobody wanted, and that is none": (["mrtr.validate-responses"], ASKED % (ROOTS + ', "x": 7')),
}
BROKEN = {
    "jsonrpc.error-same-id": 'on stdio 2025-11-25\nS #"odd" !-32600 "Invalid request"',
    "batch.receive": BATCH % ("", 400),
    "auth.bearer-header": DPOP % "",
    "mrtr.validate-responses": ASKED % '"a": 7',
    "elicit.complete-id": "on stdio 2025-11-25\nS notifications/elicitation/complete {}",
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_is_silent_where_nobody_knows_better(name):
    rules, scene = CASES[name]
    assert set(roots(scene)).isdisjoint(rules)


@pytest.mark.parametrize("rule", BROKEN)
def test_and_says_so_where_it_is_broken(rule):
    assert rule in roots(BROKEN[rule])
