"""Tasks as an extension of 2026-07-28, `io.modelcontextprotocol/tasks`: a call that is answered by a task to ask about.

The page is ``extensions/tasks/tasks`` of `mcp_ref.requirements`. The names here are not those of its schema where
`mcp_ref.messages.tasks`, the tasks of 2025-11-25, has them already; the names of members and methods are:

=================================  ========================
schema of the extension            here
=================================  ========================
``Task``                           `TaskState`
``CreateTaskResult``               `TaskCreated`
``GetTaskResult``                  `DetailedTask`
``TaskStatusNotificationParams``   `DetailedTask`
``TaskSubscriptionNotifications``  `TaskSubscriptionFilter`
=================================  ========================

`tasks/update` and `tasks/cancel` are answered by an `EmptyResult`.
"""

from dataclasses import field
from typing import Any, Dict, List, Optional, Union

from ...codec import Model, member, message
from ...revisions import R2026_07_28
from ..base import Error, MetaObject, request_meta, result_type
from ..mrtr import InputRequests, InputResponses
from ..subscriptions import SubscriptionFilter
from ..tasks import TaskStatus

TASK = "task"
"""The type of a result that is a task in place of the answer."""
_ALWAYS = ((None, None),)


# -- What a task is ----------------------------------------------------------------------------


@message
class TaskState(Model):
    """A task and its status: what all its forms have in common."""

    since = R2026_07_28

    task_id: str
    status: TaskStatus
    created_at: str
    """An ISO 8601 time."""
    last_updated_at: str
    ttl_ms: Optional[int]
    """Milliseconds from creation; null: kept without limit."""
    poll_interval_ms: Optional[int] = member(default=None)
    """Milliseconds to wait between two looks."""
    status_message: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = member(default=None)


@message
class TaskCreated(TaskState):
    """The result of a call that goes on as a task; it has the task and neither result, error nor questions. It alone is
    of the type ``task`` [2026-07-28 extensions/tasks/tasks §Polymorphic Results] MUST, MUST NOT."""

    result_type: str = result_type(TASK)


@message
class _Detailed(TaskState):
    """A task with what its status brings along: the result of `tasks/get`, and the params of `notifications/tasks`
    [2026-07-28 extensions/tasks/tasks §Task Polling > Response] MUST.

    ``result_type`` is ``complete`` in a result; a notification has none.
    """

    result_type: Optional[str] = member(default=None)


@message
class WorkingTask(_Detailed):
    """A task that is at work."""

    status: TaskStatus = field(init=False, default="working")


@message
class InputRequiredTask(_Detailed):
    """A task that waits for answers; its questions are all that are open."""

    status: TaskStatus = field(init=False, default="input_required")
    input_requests: Optional[InputRequests] = member(default=None, required=_ALWAYS)


@message
class CompletedTask(_Detailed):
    """A task whose request has a result, which may say that the tool has failed."""

    status: TaskStatus = field(init=False, default="completed")
    result: Optional[Dict[str, Any]] = member(default=None, required=_ALWAYS)
    """The result that the request would have had without a task."""


@message
class FailedTask(_Detailed):
    """A task whose request has ended in an error."""

    status: TaskStatus = field(init=False, default="failed")
    error: Optional[Error] = member(default=None, required=_ALWAYS)
    """The error that the request would have had without a task."""


@message
class CancelledTask(_Detailed):
    """A task that was cancelled before its request had an answer."""

    status: TaskStatus = field(init=False, default="cancelled")


DetailedTask = Union[WorkingTask, InputRequiredTask, CompletedTask, FailedTask, CancelledTask]
"""The result of `tasks/get`, and the params of `notifications/tasks`."""


# -- Requests, and what a client listens for ---------------------------------------------------


@message
class TaskParams(Model):
    """The params of `tasks/get` and `tasks/cancel`."""

    since = R2026_07_28

    task_id: str
    meta: Optional[MetaObject] = request_meta()


@message
class UpdateTaskParams(Model):
    """The params of `tasks/update`: answers by the keys of their questions
    [2026-07-28 extensions/tasks/tasks §Task Update Requests > Request] MUST."""

    since = R2026_07_28

    task_id: str
    input_responses: InputResponses
    meta: Optional[MetaObject] = request_meta()


@message
class TaskSubscriptionFilter(SubscriptionFilter):
    """The changes that a client asks for, tasks among them; in `subscriptions/listen` and in its acknowledgement."""

    task_ids: Optional[List[str]] = member(default=None)
