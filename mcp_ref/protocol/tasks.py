"""The names and rules of tasks that both sides and both generations have in common.

A task is a call whose answer is fetched later. 2025-11-25 has them in its core [2025-11-25 basic/utilities/tasks],
2026-07-28 as the extension `mcp_ref.methods.TASKS` [2026-07-28 extensions/tasks/tasks].

`mcp_ref.server.tasks` has the table of their differences.
"""

from datetime import datetime, timezone
from typing import Any, Dict, Optional

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


# The wire form of an object with ``id``, ``status``, ``message``, ``created`` and ``updated`` (seconds since 1970), and
# ``ttl`` and ``poll`` (seconds).


def described(task: Any) -> Dict[str, Any]:
    """Return the members of a task that both generations have."""
    made = {"taskId": task.id, "status": task.status, "createdAt": _iso(task.created),
            "lastUpdatedAt": _iso(task.updated)}
    if task.message is not None:
        made["statusMessage"] = task.message
    return made


def flat(task: Any) -> Dict[str, Any]:
    """Return a task of 2025-11-25, from either side."""
    return dict(described(task), ttl=milliseconds(task.ttl), pollInterval=milliseconds(task.poll))


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    """Return a time as messages have it; None: without end."""
    return None if seconds is None else max(1, round(seconds * 1000))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
