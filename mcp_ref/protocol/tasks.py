"""The names and rules of tasks that both sides and both generations have in common.

A task is a call whose answer is fetched later. 2025-11-25 has them in its core [2025-11-25 basic/utilities/tasks],
2026-07-28 as the extension `mcp_ref.methods.TASKS` [2026-07-28 extensions/tasks/tasks].

`mcp_ref.server.tasks` has the table of their differences.
"""

from typing import Any, Dict

from ..messages.tasks import RELATED_TASK

WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
FINAL = frozenset((COMPLETED, FAILED, CANCELLED))
"""The states that a task does not leave any more."""


def related(id: str) -> Dict[str, Any]:
    """Return the member of `_meta` that names a task
    [2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST."""
    return {RELATED_TASK: {"taskId": id}}


def naming_task(members: Dict[str, Any], id: str) -> Dict[str, Any]:
    """Return params, or a result, with a `_meta` that names a task beside what it has."""
    return dict(members, _meta=dict(members.get("_meta") or {}, **related(id)))
