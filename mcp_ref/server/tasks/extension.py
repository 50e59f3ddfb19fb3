"""The tasks of 2026-07-28: the extension `io.modelcontextprotocol/tasks`, for a server.

The server decides which calls become tasks, by the option ``task`` of a tool; only clients that have declared the
extension in the request ever get one [2026-07-28 extensions/tasks/tasks §Capability Negotiation] MUST NOT. A tool whose
option is a function asks it, and the function may ask the client: that happens in rounds of the call, before there is a
task [2026-07-28 extensions/tasks/tasks §Task Creation] SHOULD.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Set

from ...codec import DecodeError, decode
from ...deadline import clock
from ...errors import INVALID_PARAMS, RpcError
from ...jsonrpc import json_type
from ...messages.extensions.tasks import TASK, TaskParams
from ...methods import CALL_TOOL, GET_TASK, TASK_NOTICE, TASKS, UPDATE_TASK, lookup, of_extension, result_class
from ...peer.context import Context, Route, params_reader
from ...peer.extension import Extension
from ...protocol.tasks import COMPLETED, FAILED, INPUT_REQUIRED, described, milliseconds, WORKING
from ...revisions import Revision
from ...stores.tasks import TaskRecord
from ..mrtr import wrap

if TYPE_CHECKING:
    from ...peer.role import Role
    from .engine import Tasks

IDS = "taskIds"
_GRACE = 10.0
"""Seconds in which a stream that asks for a task comes to be open."""


class TasksExtension(Extension):
    """The extension on a server's side; `mcp_ref.server.tasks.engine.Tasks` does the work."""

    identifier = TASKS
    methods = of_extension(TASKS)
    result_types = (TASK,)
    filters = (IDS,)

    def __init__(self, tasks: "Tasks") -> None:
        self._tasks = tasks
        self._watched: Dict[str, Any] = {}
        """The ids of tasks that somebody listens to, in a shared store -> when its stream must be open, and what was
        told last."""

    # Call

    def adapt(self, role: "Role", method: str, revision: Revision, route: Route) -> Route:
        """Return a route of `tools/call` that answers by a task where the tool and the client allow it."""
        if method != CALL_TOOL:
            return route

        def call(context: Context, params: Dict[str, Any]) -> Any:
            support = self._tasks.support_of(params.get("name"), context)
            if support is None or support == "forbidden":
                return route.call(context, params)
            if TASKS not in context.extensions:
                if support == "required":
                    context.require_extension(TASKS)
                return route.call(context, params)
            if callable(support):
                # Arguments that do not fit are refused as those of a plain call, before the function sees them.
                arguments = params.get("arguments") or {}
                if not self._tasks.fit(params["name"], arguments) or not support(context, arguments):
                    return route.call(context, params)
            record = self._tasks.create(context, params, None)
            return dict(detailed(record), resultType=TASK)

        return wrap(Route(call, route.fault), method, revision)

    # The methods

    def route(self, role: "Role", method: str, revision: Revision) -> Optional[Route]:
        """Return how the three methods are answered."""
        if method == UPDATE_TASK:
            return self._update_route(revision)
        read, tasks = params_reader(TaskParams, revision), self._tasks

        def get(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            return dict(detailed(tasks.find(context, read(params, context).task_id)), resultType="complete")

        def cancel(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            found = tasks.find(context, read(params, context).task_id)
            tasks.cancel(found.id, context.connection, context.principal)
            return {}

        return Route(get if method == GET_TASK else cancel)

    def _update_route(self, revision: Revision) -> Route:
        tasks = self._tasks

        def update(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            id, responses = params.get("taskId"), params.get("inputResponses")
            if not isinstance(id, str) or not isinstance(responses, dict):
                wrong = ("taskId: expected string, got %s" % json_type(id) if not isinstance(id, str) else
                         "inputResponses: expected object, got %s" % json_type(responses))
                raise RpcError(INVALID_PARAMS, "Invalid params: params.%s" % wrong)
            found = tasks.find(context, id)
            answers = {key: {"result": responses[key]} for key in found.questions if key in responses}
            for key in answers:  # other keys are ignored
                row = lookup(found.questions[key]["request"]["method"], revision)
                try:
                    decode(result_class(row), responses[key], revision, key,  # type: ignore[arg-type]
                           context.connection.forgive)
                except DecodeError as error:
                    where = error.within("inputResponses").within("params")
                    raise RpcError(INVALID_PARAMS, "Invalid params: %s" % where) from None
            tasks.answer(found.id, answers, context.connection, context.principal)
            return {}

        return Route(update)

    # Notifications

    def agree(self, context: Context, member: str, texts: Sequence[str]) -> Sequence[str]:
        """Return the ids of this client's tasks."""
        self._tasks.check_rate(context)
        found = []
        for id in texts:
            record = self._tasks.own(context, id)
            if record is not None:
                found.append(id)
                if self._tasks.store.shared and not record.final:
                    self._watched[id] = (clock() + _GRACE, _mark(record))
                    self._tasks.watch()
        return found

    def opened(self, member: str, texts: Sequence[str], tell: Callable[[str, Dict[str, Any]], None]) -> None:
        """Tell of those that have ended, or wait for input, already: nothing else would."""
        for record in map(self._tasks.store.read, texts):
            if record is not None and record.status != WORKING:
                tell(TASK_NOTICE, detailed(record))

    def changed(self, record: TaskRecord) -> None:
        """Tell those who listen to a task how it is."""
        server = self._tasks.server
        told = server.has_feature("listeners") and server.listeners.tell(
            IDS, record.id, TASK_NOTICE, detailed(record), self._tasks.seen_by(record))
        seen = self._watched.get(record.id)
        if seen is not None and (record.final or not told and seen[0] < clock()):
            del self._watched[record.id]
            self._tasks.idle()
        elif seen is not None:
            self._watched[record.id] = (seen[0], _mark(record))

    def watched(self) -> Set[str]:
        """Return the ids of the tasks that somebody listens to, where other processes may change them."""
        return set(self._watched)

    def looked(self, record: TaskRecord) -> None:
        """Take a look at a task that another process may have changed; forget it if nobody listens any more."""
        seen = self._watched.get(record.id)
        if seen is not None and seen[1] != _mark(record):
            self.changed(record)
        elif seen is not None and seen[0] < clock() and not self._tasks.server.listeners.has(IDS, record.id):
            self._watched.pop(record.id, None)

    def gone(self, id: str) -> None:
        """Forget a task that is not there any more."""
        self._watched.pop(id, None)


def _mark(record: TaskRecord) -> Any:
    return record.updated, record.status, record.message, len(record.questions)


def detailed(record: TaskRecord) -> Dict[str, Any]:
    """Return a task with what its status brings along, as on the wire
    [2026-07-28 extensions/tasks/tasks §Task Polling] MUST."""
    made = described(record)
    made.update(ttlMs=milliseconds(record.ttl), pollIntervalMs=milliseconds(record.poll))
    if record.status == INPUT_REQUIRED:
        made["inputRequests"] = {key: asked["request"] for key, asked in record.questions.items()}
    elif record.status in (COMPLETED, FAILED) and record.outcome is not None:
        made.update(record.outcome)
    return made
