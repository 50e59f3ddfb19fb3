"""Of what follows from each other something stays the root, so that no fault gets lost."""
import pytest

from mcp_ref.checker import Checker
from mcp_ref.checker.findings import _without_rings
from mcp_ref.checker.scenes import trace
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


@pytest.mark.parametrize("line, expected", [
    ('S #9 {"tools": 5}', ["jsonrpc.response-same-id"]),
    ('S #1 {"tools": 5}', ["schema.result"]),
])
def test_what_is_wrong_with_a_message_of_which_nobody_knows_what_it_is_follows(line, expected):
    assert roots("on stdio 2025-11-25\nC #1 tools/list\n" + line) == expected
