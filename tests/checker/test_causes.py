"""Of what follows from each other something stays the root, so that no fault gets lost."""
import pytest

from mcp_ref.devtools.checker import Checker
from mcp_ref.devtools.checker.findings import _without_rings
from mcp_ref.devtools.checker.scenes import trace
from tests.checker.helpers import roots

SCENE = """
    on stdio 2025-06-18
    C #1 tools/call {"name": "slow", "_meta": {"progressToken": "p"}}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S notifications/progress {"progressToken": "p", "progress": 1}
    S notifications/progress {"progressToken": "p", "progress": 1}
"""


@pytest.mark.parametrize("causes, roots", [
    ([None, None, None], [None, None, None]),
    ([None, 0, 1], [None, 0, 0]),
    ([1, 0, None], [None, 0, None]),
    ([1, 2, 0], [None, 0, 0]),
    ([0, None, None], [None, None, None]),
    ([1, 0, 0], [None, 0, 0]),
])
def test_rings_are_opened_at_the_first(causes, roots):
    checker = Checker()
    findings = checker.check(trace(SCENE, "-"))[:3]
    assert len(findings) == 3
    found = _without_rings(findings, [None if each is None else findings[each] for each in causes])
    assert [each and findings.index(each) if each is not None else None for each in found] == roots


LISTED = """
    on stdio 2025-11-25
    C #1 tools/list
    S #1 {"tools": [{"name": %s, "inputSchema": {"type": "object"}}]%s}
"""


@pytest.mark.parametrize("name, more, expected", [
    ('"my tool"', "", ["tools.name-charset"]),
    ('"my tool"', ', "nextCursor": 5', ["schema.result", "tools.name-charset"]),
    ("5", "", ["schema.result"]),
], ids=["one", "two members", "the schema alone"])
def test_faults_of_two_members_of_a_message_are_two_causes(name, more, expected):
    assert roots(LISTED % (name, more)) == expected


@pytest.mark.parametrize("result, expected", [
    ('{"content": []}', ["tools.capability"]),
    ('{"content": [{"type": "text"}]}', ["schema.result", "tools.capability"]),
])
def test_what_is_wrong_in_a_result_does_not_follow_from_a_capability_that_lacks(result, expected):
    """The server has declared prompts alone."""
    assert roots("""
        on stdio 2025-06-18 server={"prompts": {}}
        C #1 tools/call {"name": "t", "arguments": {}}
        S #1 %s""" % result) == expected


@pytest.mark.parametrize("line, expected", [
    ('S #9 {"tools": 5}', ["jsonrpc.response-same-id"]),
    ('S #1 {"tools": 5}', ["schema.result"]),
])
def test_what_is_wrong_with_a_message_of_which_nobody_knows_what_it_is_follows(line, expected):
    assert roots("on stdio 2025-11-25\nC #1 tools/list\n" + line) == expected


@pytest.mark.parametrize("scene, expected", [
    ('S> {"jsonrpc": "2.0", "id": null, "result": {}}', ["jsonrpc.notification-no-response"]),
    ('S> {"jsonrpc": "2.0", "result": {}}', ["jsonrpc.notification-no-response"]),
    ('S> {"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "x"}}', [
        "jsonrpc.notification-no-response"]),
    ("C> []", ["jsonrpc.follow-spec"]),
    ('C> [{"jsonrpc": "2.0", "id": 9, "method": "ping"}]', ["lifecycle.respect-version"]),
    ('S #1 sampling/createMessage {"messages": [], "maxTokens": 1}', ["lifecycle.negotiated-capabilities"]),
    ('S #1 sampling/createMessage {"messages": [], "maxTokens": 1}\nC #1 !-1 "no"', [
        "lifecycle.negotiated-capabilities"]),
], ids=["result", "result without id", "error", "empty array", "batch", "no answer", "refused"])
def test_the_most_telling_rule_is_the_root(scene, expected):
    begin = 'on stdio 2025-06-18 client={"roots": {"listChanged": true}}\nC notifications/roots/list_changed\n'
    assert roots(begin + scene) == expected


def test_a_pipe_without_any_handshake_breaks_the_rule_of_the_handshake():
    assert roots('on stdio 2025-06-18 bare\nC #1 tools/list\nS #1 {"tools": []}') == ["lifecycle.init-first"]
