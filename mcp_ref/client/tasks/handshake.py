"""A task of 2025-11-25, as its caller holds it [2025-11-25 basic/utilities/tasks §Message Flow].

`tasks/result` waits at the server until the task is over, so it is sent at once: the server's questions may come on its
stream. `tasks/get` is sent beside it, for the status. A `tasks/result` that is lost is sent again where that is needed:
when the task is over, and when it waits for input. Announcements of the status are taken where they come, and none is
relied upon.

Questions of a task are requests of the server as any other, on any stream; the answer names the task as they do.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ... import deadline
from ...codec import DecodeError, decode
from ...deadline import Deadline
from ...errors import ConnectionLost, McpError, PeerError, PeerProtocolError
from ...messages.tasks import CreateTaskResult
from ...messages.tasks import Task as TaskMessage
from ...methods import CALL_TOOL, GET_TASK, TASK_RESULT
from ...peer.extension import Waiting
from ...peer.request_table import Pending, Progress
from ...protocol.tasks import CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED
from .task import ToolTask

if TYPE_CHECKING:
    from ...peer.dispatcher import Connection
    from ...peer.request_table import ProgressCallback
    from ..client import Client
    from ..options import Options

IMMEDIATE = "io.modelcontextprotocol/model-immediate-response"


class HandshakeTask(ToolTask):
    """A `ToolTask` of 2025-11-25; ``request`` is the call that has begun it, if this process has made it."""

    def __init__(
        self, client: "Client", id: Optional[str], tool: Optional[str], manual: bool = False,
        progress: "Optional[ProgressCallback]" = None, request: Optional[Pending] = None,
    ) -> None:
        super().__init__(client, id, tool, manual, progress)
        self._request = request
        self._asked: Optional[Pending] = None
        """Our `tasks/result` that is open."""
        self._arrived: Optional[Tuple[Pending, Any]] = None
        """The answer to that, until it is looked at."""
        self._wants_result = True
        self._has_progress = False

    @classmethod
    def created(
        cls, client: "Client", result: Dict[str, Any], tool: Optional[str],
        progress: "Optional[ProgressCallback]" = None, request: Optional[Pending] = None,
    ) -> "HandshakeTask":
        """Return the task that the first answer to a call announces. Raises `PeerProtocolError` for another answer."""
        try:
            made = decode(CreateTaskResult, result, client.revision, "result", client.connection.forgive)
        except DecodeError as error:
            raise PeerProtocolError("the answer to %s with a task: %s" % (CALL_TOOL, error),
                                    "2025-11-25 basic/utilities/tasks §Creating Tasks") from None
        task = cls(client, made.task.task_id, tool, False, progress, request)
        text = (made.meta or {}).get(IMMEDIATE)
        task.immediate_response = text if isinstance(text, str) else None
        task._take(result["task"])
        return task

    # Looking

    def _is_over(self) -> bool:
        """True if the result is here, or none comes: what has become of a task is told by `tasks/result`."""
        return self._outcome is not None or self._failure is not None or self.status == CANCELLED

    def _advance(self, until: Deadline) -> None:
        """Take what has come for `tasks/result`, or send it."""
        arrived, self._arrived = self._arrived, None
        if arrived is not None:
            self._collect(*arrived)
        if self._asked is None and self._wants_result and not self._is_over():
            self._wants_result = False
            self._asked = self._client.connection.open_request(
                TASK_RESULT, {"taskId": self.id}, timeout=None, settle=self._settle)
            self._asked.deadline = Deadline(None)  # it lasts as long as the task does
        if self._is_over():
            self._let_go()

    def _settle(self, pending: Pending, item: Any) -> None:
        """Take what arrives for `tasks/result`; runs on the reader."""
        if not isinstance(item, Progress):
            self._arrived = pending, item
            self._wake.set()

    def _collect(self, pending: Pending, item: Any) -> None:
        self._asked = None
        try:
            result = pending.answer(item)
        except PeerError as error:
            self._judge(error)
        except McpError as error:
            self._missed(error)
            self._wants_result = self.done
        else:
            with self._lock:
                self._outcome = result
                # [2025-11-25 basic/utilities/tasks §Task Execution Errors]
                self.status = FAILED if result.get("isError") is True else COMPLETED

    def _judge(self, error: PeerError) -> None:
        """Find out whether an error is the end of the task or of our request; a task that was cancelled has one, too.
        """
        try:
            self._take(self._client.request(GET_TASK, {"taskId": self.id}))
        except PeerError:
            pass
        if self.status != CANCELLED:
            self.status, self._failure = FAILED, error

    def _look(self, until: Deadline) -> None:
        if not self.done:
            super()._look(until)
            return
        # The task is over, and `tasks/result` has no answer: it may be lost.
        if self._asked is not None:
            self._client.connection.cancel(self._asked, "no answer though the task is over")
        self._due = deadline.clock() + self._client.limits.request_timeout

    def _take(self, told: Dict[str, Any]) -> None:
        state = self._read(TaskMessage, told, "task")
        with self._lock:
            if not self._note(told, state, state.ttl, state.poll_interval):
                return
            # [2025-11-25 basic/utilities/tasks §Input Required Status] SHOULD
            self._wants_result = self._wants_result or self.done or self.status == INPUT_REQUIRED
            if self.done:
                self._due = deadline.clock() + self._client.limits.request_timeout

    def _cancelled(self, answer: Dict[str, Any]) -> None:
        self._take(answer)
        self._let_go()

    def _report(self, until: Deadline, waiting: Waiting) -> None:
        """Hand over progress, too: the token of the call stays good as long as the task lasts
        [2025-11-25 basic/utilities/progress §Behavior Requirements] MUST."""
        request = self._request
        while request is not None and request.waiting:
            item = request.next(0)
            if isinstance(item, Progress):
                self._has_progress = True
                self._extend(until, waiting)
                request.report(item)
        if not self._has_progress:  # the message of the status says the same
            super()._report(until, waiting)

    def _let_go(self) -> None:
        """Keep nothing in the tables of the connection: the task is over."""
        connection = self._client.connection
        if self._request is not None:
            connection.table.let_go(self._request)
        if self._asked is not None:
            connection.cancel(self._asked, "the task is over")
            self._asked = None


def start(client: "Client", params: Dict[str, Any], ttl: Optional[float], options: "Options") -> HandshakeTask:
    """Call a tool as a task. ``ttl``: the seconds for which the server should keep it. Raises as a call does."""
    params = dict(params, task={} if ttl is None else {"ttl": round(ttl * 1000)})
    meta = options["meta"]
    if meta is not None:
        params["_meta"] = meta
    try:
        request, result = _create(client.connection, params, options)
    except ConnectionLost as error:
        request, result = _create(client.renewed(client.connection, error), params, options)
    return HandshakeTask.created(client, result, params["name"], options["progress"], request)


def _create(connection: "Connection", params: Dict[str, Any], options: "Options") -> Tuple[Pending, Dict[str, Any]]:
    pending = connection.open_request(
        CALL_TOOL, params, options["timeout"], options["progress"], options["extend_on_progress"])
    return pending, connection.wait(pending)


def finish(client: Any, params: Dict[str, Any], result: Dict[str, Any], waiting: Waiting) -> Dict[str, Any]:
    """Return the result of a call of a future that goes on as a task."""
    return HandshakeTask.created(client, result, params["name"]).settled(waiting)
