"""The names and rules of tasks that both sides and both generations have in common.

A task is a call whose answer is fetched later. 2025-11-25 has them in its core [2025-11-25 basic/utilities/tasks],
2026-07-28 as the extension `EXTENSION` [2026-07-28 extensions/tasks/tasks].

================================  ==================================  ==========================================
what                              2025-11-25                          2026-07-28
================================  ==================================  ==========================================
who decides                       who asks, by a member ``task``      who answers, call by call
who may run one                   both sides                          servers
the answer at first               ``{"task": {...}}``                 a result of type ``task``
the result                        `tasks/result`, which waits         in `tasks/get`
questions                         requests that name their task       in `tasks/get`, answered by `tasks/update`
a tool that says it has failed    status ``failed``                   status ``completed``
progress                          by the token of the request         the text of the status
`tasks/list`                      where it is declared                none
================================  ==================================  ==========================================
"""

from typing import Tuple

from ..methods import CANCEL_TASK, CLIENT, GET_TASK, NOTIFICATION, REQUEST, SERVER, Method
from ..revisions import R2026_07_28

EXTENSION = "io.modelcontextprotocol/tasks"
"""The identifier of the extension; `mcp_ref.messages.extensions.tasks` has it, too, and takes longer to load."""
UPDATE_TASK = "tasks/update"
TASK_TOLD = "notifications/tasks"
WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
FINAL = frozenset((COMPLETED, FAILED, CANCELLED))
"""The states that a task does not leave any more."""

_PAGE = "extensions/tasks/tasks"
_MESSAGES = "extensions.tasks:"


def _request(name: str, params: str, result: str) -> Method:
    return Method(name, REQUEST, CLIENT, _MESSAGES + params, result, R2026_07_28, None, _PAGE, named="taskId")


ROWS: Tuple[Method, ...] = (
    _request(GET_TASK, "TaskParams", _MESSAGES + "DetailedTask"),
    _request(UPDATE_TASK, "UpdateTaskParams", "base:EmptyResult"),
    _request(CANCEL_TASK, "TaskParams", "base:EmptyResult"),
    Method(TASK_TOLD, NOTIFICATION, SERVER, _MESSAGES + "DetailedTask", None, R2026_07_28, None, _PAGE),
)
"""The methods of the extension."""
