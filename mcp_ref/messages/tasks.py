"""Tasks: a request whose answer is fetched later. Experimental, and in 2025-11-25 only.

[2025-11-25 basic/utilities/tasks §Protocol Messages]. Either side may run the other's requests as
tasks, as its capabilities say: a server `tools/call`, a client sampling and elicitation.
"""

from typing import Any, Dict, List, Literal, Optional

from ..codec import Model, member, message
from ..revisions import R2025_11_25
from .base import MetaObject, notification_meta, request_meta, result_meta
from .pagination import Cursor

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
"""The states of a task; the last three are final. [2025-11-25 basic/utilities/tasks §Task Status Lifecycle]"""

RELATED_TASK = "io.modelcontextprotocol/related-task"
"""The key in `_meta` under which a message names its task. [2025-11-25 basic/utilities/tasks §Related Task Metadata]"""


# -- Capabilities ------------------------------------------------------------------------------


@message
class TaskToolsCapability(Model):
    """The tool requests that a server runs as tasks. [2025-11-25 basic/utilities/tasks §Server Capabilities]"""

    since = until = R2025_11_25

    call: Optional[Dict[str, Any]] = member(default=None)


@message
class TaskSamplingCapability(Model):
    """The sampling requests that a client runs as tasks. [2025-11-25 basic/utilities/tasks §Client Capabilities]"""

    since = until = R2025_11_25

    create_message: Optional[Dict[str, Any]] = member(default=None)


@message
class TaskElicitationCapability(Model):
    """The elicitation requests that a client runs as tasks. [2025-11-25 basic/utilities/tasks §Client Capabilities]"""

    since = until = R2025_11_25

    create: Optional[Dict[str, Any]] = member(default=None)


@message
class ServerTaskRequestsCapability(Model):
    """The requests a server runs as tasks. [2025-11-25 basic/utilities/tasks §Server Capabilities]"""

    since = until = R2025_11_25

    tools: Optional[TaskToolsCapability] = member(default=None)


@message
class ClientTaskRequestsCapability(Model):
    """The requests a client runs as tasks. [2025-11-25 basic/utilities/tasks §Client Capabilities]"""

    since = until = R2025_11_25

    sampling: Optional[TaskSamplingCapability] = member(default=None)
    elicitation: Optional[TaskElicitationCapability] = member(default=None)


@message
class ServerTasksCapability(Model):
    """The capability ``tasks`` of a server. [2025-11-25 basic/utilities/tasks §Server Capabilities]
    [2025-11-25 basic/utilities/tasks §Capabilities] MUST"""

    since = until = R2025_11_25

    list: Optional[Dict[str, Any]] = member(default=None)
    cancel: Optional[Dict[str, Any]] = member(default=None)
    requests: Optional[ServerTaskRequestsCapability] = member(default=None)


@message
class ClientTasksCapability(Model):
    """The capability ``tasks`` of a client. [2025-11-25 basic/utilities/tasks §Client Capabilities]
    [2025-11-25 basic/utilities/tasks §Capabilities] MUST"""

    since = until = R2025_11_25

    list: Optional[Dict[str, Any]] = member(default=None)
    cancel: Optional[Dict[str, Any]] = member(default=None)
    requests: Optional[ClientTaskRequestsCapability] = member(default=None)


# -- What a task is ----------------------------------------------------------------------------


@message
class TaskMetadata(Model):
    """The member ``task`` of a request that shall run as one. [2025-11-25 basic/utilities/tasks §Task Parameters]"""

    since = until = R2025_11_25

    ttl: Optional[int] = member(default=None)
    """For how many milliseconds after its creation the task should be kept."""


@message
class RelatedTaskMetadata(Model):
    """The value under `RELATED_TASK`. [2025-11-25 basic/utilities/tasks §Related Task Metadata]"""

    since = until = R2025_11_25

    task_id: str


@message
class Task(Model):
    """A task and its status. [2025-11-25 basic/utilities/tasks §Task]

    The id is a text [2025-11-25 basic/utilities/tasks §Task ID Requirements] MUST. The times and the ttl, which may be
    null, are in every answer [2025-11-25 basic/utilities/tasks §TTL and Resource Management] MUST.
    """

    since = until = R2025_11_25

    task_id: str
    status: TaskStatus
    created_at: str
    """An ISO 8601 time."""
    last_updated_at: str
    ttl: Optional[int]
    """Milliseconds from creation; null: kept without limit."""
    poll_interval: Optional[int] = member(default=None)
    """Milliseconds to wait between two looks."""
    status_message: Optional[str] = member(default=None)


@message
class CreateTaskResult(Model):
    """The immediate result of a request that runs as a task. [2025-11-25 basic/utilities/tasks §Creating Tasks]"""

    since = until = R2025_11_25

    task: Task
    meta: Optional[MetaObject] = result_meta()


# -- List, get, fetch, cancel ------------------------------------------------------------------


@message
class ListTasksResult(Model):
    """The result of `tasks/list`, a page of it. [2025-11-25 basic/utilities/tasks §Listing Tasks]
    [2025-11-25 basic/utilities/tasks §Task Listing] SHOULD"""

    since = until = R2025_11_25

    tasks: List[Task]
    next_cursor: Optional[Cursor] = member(default=None)
    meta: Optional[MetaObject] = result_meta()


@message
class TaskIdParams(Model):
    """The params of every request about one task. [2025-11-25 basic/utilities/tasks §Getting Tasks]"""

    since = until = R2025_11_25

    task_id: str
    meta: Optional[MetaObject] = request_meta()


@message
class GetTaskResult(Task):
    """A task, as a result. [2025-11-25 basic/utilities/tasks §Getting Tasks]"""

    meta: Optional[MetaObject] = result_meta()


@message
class CancelTaskResult(Task):
    """A task, as a result. [2025-11-25 basic/utilities/tasks §Cancelling Tasks]"""

    meta: Optional[MetaObject] = result_meta()


@message
class GetTaskPayloadResult(Model):
    """The result that the request would have had without a task: its members are in `extra`.

    [2025-11-25 basic/utilities/tasks §Retrieving Task Results]
    """

    since = until = R2025_11_25

    meta: Optional[MetaObject] = result_meta()


# -- Notification ------------------------------------------------------------------------------


@message
class TaskStatusNotificationParams(Task):
    """A task with its new status. [2025-11-25 basic/utilities/tasks §Task Status Notification]"""

    meta: Optional[MetaObject] = notification_meta()
