"""Of what follows from each other something stays the root, so that no fault gets lost."""
import pytest

from mcp_ref.checker import Checker
from mcp_ref.checker.findings import _without_rings
from mcp_ref.checker.scenes import trace

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
