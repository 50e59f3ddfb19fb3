"""Requests of a server of 2025-11-25 that have to do with tasks."""

from typing import Any, Dict

from ...messages.tasks import RELATED_TASK
from ...peer.context import Context, Route
from ...protocol.tasks import naming_task


def answers_naming_task(route: Route) -> Route:
    """Return a route whose results name the task that the request has named.

    [2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST
    """
    def call(context: Context, params: Dict[str, Any]) -> Any:
        result = route.call(context, params)
        related = context.meta.get(RELATED_TASK)
        if isinstance(related, dict) and isinstance(related.get("taskId"), str) and isinstance(result, dict):
            result = naming_task(result, related["taskId"])
        return result

    return route.calling(call)
