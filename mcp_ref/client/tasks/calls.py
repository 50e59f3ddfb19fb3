"""The calls of a client about tasks."""

from typing import TYPE_CHECKING, Any, Dict, MutableMapping, Optional

from ...errors import LocalProtocolError
from ...methods import CALL_TOOL
from ...options import REQUEST_TIMEOUT, spelt
from ..owner import Options

if TYPE_CHECKING:
    from ...peer.request_table import ProgressCallback
    from ..requests import Requests
    from .task import ToolTask

MANUAL = "manual"
"""The value of ``rounds`` of a caller who answers the questions of a task by himself."""


class TaskCalls:
    """The calls about tasks; a part of `mcp_ref.client.calls.Calls`. Raise as all calls do."""

    _requests: "Requests"
    _tasks: "Optional[MutableMapping[str, ToolTask]]" = None
    """The tasks that somebody holds, by id."""

    @spelt
    def start_tool(
        self: Any, name: str, arguments: Optional[Dict[str, Any]] = None, *,
        timeout: Optional[float] = REQUEST_TIMEOUT, progress: "Optional[ProgressCallback]" = None,
        extend_on_progress: bool = False, meta: Optional[Dict[str, Any]] = None, rounds: Optional[str] = None,
    ) -> "ToolTask":
        """Call a tool, and return the task as soon as the server has begun it, see `mcp_ref.client.tasks`.

        Where the server answers without a task the answer is waited for, and the task that is returned is over.
        ``timeout`` (seconds) and the others are those of `Client.call_tool`, until the task has begun;
        ``progress`` is also called with each new message of the task, in the thread that waits for it.
        ``rounds="manual"``: the caller answers what the task asks, by `ToolTask.answer`; what is asked before it begins
        goes to the callbacks.
        """
        options, manual = Options(timeout, progress, extend_on_progress, meta), _is_manual(rounds)
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        from .stateless import StatelessTask

        result = self._requests.until("task", CALL_TOOL, params, options)
        if result.get("resultType") != "task":
            return StatelessTask.finished(self, result, name)
        return StatelessTask.created(self, result, name, manual, progress)

    @spelt
    def task(
        self: Any, id: str, tool: Optional[str] = None, *, progress: "Optional[ProgressCallback]" = None,
        rounds: Optional[str] = None,
    ) -> "ToolTask":
        """Take up a task that was begun before, perhaps by another process; the server is asked how it is.

        ``tool``: the name of the tool, by which the result is checked. ``progress``, ``rounds``: as `start_tool`.
        Raises `PeerError` for an id that the server does not know (any more).
        """
        from .stateless import StatelessTask

        return StatelessTask(self, id, tool, _is_manual(rounds), progress).refresh()


def _is_manual(rounds: Optional[str]) -> bool:
    if rounds not in (None, MANUAL):
        raise LocalProtocolError("rounds is %r, or is left out, not %.80r" % (MANUAL, rounds))
    return rounds is not None
