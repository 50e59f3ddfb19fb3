"""The calls of a client about tasks: begin one, take up one that was begun before, list those of the server."""

from typing import TYPE_CHECKING, Any, Dict, Mapping, MutableMapping, Optional

from ..methods import CALL_TOOL, LIST_TASKS
from ..options import spelt, with_defaults
from ..protocol.lifecycle import has
from .cache import by_name
from .options import REQUEST_DEFAULTS, takes_request_options
from .request_flow import is_manual, known

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..ext.tasks.client.task import ToolTask
    from ..messages.tasks import ListTasksResult
    from ..messages.tools import CallToolResult
    from ..peer.request_table import ProgressCallback
    from .options import Options, RequestOptions
    from .request_flow import Requests

FORBIDDEN, REQUIRED = "forbidden", "required"
"""The words by which a tool speaks of tasks, in 2025-11-25, besides ``optional``."""


class TaskCalls:
    """The calls about tasks; a part of `mcp_ref.client.calls.Calls`. Raise as all calls do."""

    _requests: "Requests"
    server_capabilities: Mapping[str, Any] = {}
    _tasks: "Optional[MutableMapping[str, ToolTask]]" = None
    """The tasks that somebody holds, by id."""
    _takes_tasks = True
    """False if no call may become a task."""

    @takes_request_options
    def start_tool(
        self: Any, name: str, arguments: Optional[Dict[str, Any]] = None, *,
        ttl: Optional[float] = None, rounds: Optional[str] = None, **options: "Unpack[RequestOptions]",
    ) -> "ToolTask":
        """Call a tool, and return the task as soon as the server has begun it, see `mcp_ref.ext.tasks.client`.

        Where the server, or the tool, has no tasks, the answer is waited for, and the task that is returned is over.
        ``ttl``: the seconds for which the server should keep the task (2025-11-25; later servers decide by themselves).
        The other options hold until the task has begun; ``progress`` is also called with each new message of the task,
        in the thread that waits for it.
        ``rounds="manual"``: the caller answers what the task asks, by `ToolTask.answer`; what is asked before it begins
        goes to the callbacks.
        """
        options = with_defaults(TaskCalls.start_tool, REQUEST_DEFAULTS, options)
        manual = is_manual(rounds)
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        if self._task_support(name) != FORBIDDEN:
            from ..ext.tasks.client.generations import start

            return start(self, params, ttl, options)
        from ..ext.tasks.client.generations import StatelessTask

        known(self.connection, "lists")
        result = self._requests.call(CALL_TOOL, params, options, lambda result: result, until="task")
        if result.get("resultType") != "task" or not self.revision.stateless:
            return StatelessTask.finished(self, result, name)
        return StatelessTask.created(self, result, name, manual, options["progress"])

    @spelt
    def task(
        self: Any, id: str, tool: Optional[str] = None, *, progress: "Optional[ProgressCallback]" = None,
        rounds: Optional[str] = None,
    ) -> "ToolTask":
        """Take up a task that was begun before, perhaps by another process; the server is asked how it is.

        ``tool``: the name of the tool, by which the result is checked. ``progress``, ``rounds``: as `start_tool`.
        Raises `PeerError` for an id that the server does not know (any more), and TypeError for no id, such as that of
        a call that was answered at once.
        """
        if not isinstance(id, str):
            raise TypeError("a task's id is a str, not %.80r: a call that was answered at once has no task" % (id,))
        manual = is_manual(rounds)
        if self.revision.stateless:
            from ..ext.tasks.client.generations import StatelessTask

            return StatelessTask(self, id, tool, manual, progress).refresh()
        from ..ext.tasks.client.generations import HandshakeTask

        return HandshakeTask(self, id, tool, manual, progress).refresh()

    @takes_request_options
    def list_tasks(
        self, cursor: Optional[str] = None, **options: "Unpack[RequestOptions]"
    ) -> "ListTasksResult":
        """Return one page of the tasks that the server has for us [2025-11-25 basic/utilities/tasks §Listing Tasks].

        ``cursor`` is the ``next_cursor`` of the page before. Other revisions have no such list: `LocalProtocolError`.
        """
        options = with_defaults(TaskCalls.list_tasks, REQUEST_DEFAULTS, options)
        params = {} if cursor is None else {"cursor": cursor}
        return self._requests.call(LIST_TASKS, params, options)  # type: ignore[no-any-return]

    # Which calls are tasks in 2025-11-25

    def _task_support(self: Any, name: str) -> str:
        """Return what a tool says of tasks; one whose server runs no calls as tasks forbids them, and so does a client
        with ``tasks=False`` [2025-11-25 basic/utilities/tasks §Tool-Level Negotiation] MUST."""
        runs = self.connection.session.rules.tasks and has(self.server_capabilities, "tasks.requests.tools.call")
        if not runs or not self._takes_tasks:
            return FORBIDDEN
        tools = self._cached.cache["tools"].named()
        if tools is None:
            tools = by_name(self.tools())
        execution = getattr(tools.get(name), "execution", None)
        return FORBIDDEN if execution is None else execution.task_support or FORBIDDEN

    def _needs_task(self, name: str) -> bool:
        """True for a tool that must be called as a task."""
        return bool(self._task_support(name) == REQUIRED)

    def _call_as_task(self: Any, params: Dict[str, Any], options: "Options") -> "CallToolResult":
        """Call a tool as a task, and wait as a call does."""
        from ..ext.tasks.client.generations import start
        from ..peer.extension import Waiting

        task = start(self, params, None, options)
        return task.checked(task.settled(Waiting(
            options["timeout"], options["progress"], options["extend_on_progress"])))
