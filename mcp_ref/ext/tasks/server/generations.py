"""The two generations of tasks on the wire, for a server.

`SessionTasks` has those of 2025-11-25: the member ``task`` of a call, `tasks/get`, `tasks/result`, `tasks/list` and
`tasks/cancel` [2025-11-25 basic/utilities/tasks §Protocol Messages]. The client decides: a call with ``task`` becomes
one where the tool allows it. `tasks/result` is a deferred request: it waits without a thread, and what belongs to the
task goes on its stream. Over HTTP a client gets questions there, or on the stream of its GET; where there is one stream
for everything, they are sent at once.

`TasksExtension` is `io.modelcontextprotocol/tasks` of 2026-07-28. The server decides which calls become tasks, by the
option ``task`` of a tool; only clients that have declared the extension in the request get one
[2026-07-28 extensions/tasks/tasks §Capability Negotiation] MUST NOT. An option that is a function may ask the client:
that happens in rounds of the call, before there is a task [2026-07-28 extensions/tasks/tasks §Task Creation] SHOULD.
"""

import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Set

from ....codec import DecodeError, decode, decoder
from ....deadline import clock
from ....errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, LocalProtocolError, McpError, RpcError
from ....jsonrpc import ErrorResponse, ResultResponse, json_type
from ....messages.extensions.tasks import TASK, TaskParams
from ....messages.pagination import PaginatedRequestParams
from ....messages.tasks import (
    ServerTaskRequestsCapability, ServerTasksCapability, TaskIdParams, TaskMetadata, TaskToolsCapability,
)
from ....methods import (
    CALL_TOOL, GET_TASK, PROGRESS, TASKS, TASK_NOTICE, UPDATE_TASK, lookup, of_extension, result_class,
)
from ....peer.context import Context, Route, params_reader
from ....peer.extension import Extension
from ....peer.request_table import Pending
from ....protocol.extensions import (
    COMPLETED, FAILED, INPUT_REQUIRED, WORKING, described, flat, milliseconds, naming_task,
)
from ....revisions import R2025_11_25, Revision, revision
from ....server.announcements import send_to_client, those_who_see
from ....server.mrtr import wrap
from ....server.registry.listing import invalid_cursor
from ....stores import TaskRecord

if TYPE_CHECKING:
    from ....jsonrpc import RequestId
    from ....peer.dispatcher import Connection
    from ....peer.role import Role
    from .engine import Tasks
    from .running import TaskRun

STATUS = "notifications/tasks/status"
_RULES = revision(R2025_11_25)
_PAGE = 100
"""The tasks in one page of a list."""


class _SentRequest:
    """A question that was sent: to whom, on which stream, and its entry in the table of requests."""

    def __init__(self, connection: "Connection", about: Any) -> None:
        self.connection = connection
        self.about = about
        self.pending: Optional[Pending] = None


class SessionTasks:
    """The side of `mcp_ref.ext.tasks.server.engine.Tasks` that speaks to sessions. The lock guards both tables."""

    def __init__(self, tasks: "Tasks") -> None:
        self._tasks = tasks
        self._lock = threading.Lock()
        self._waiting: Dict[str, List[Context]] = {}
        """Id of a task -> the `tasks/result` requests that wait for it."""
        self._asked: Dict[str, Dict[str, _SentRequest]] = {}
        """Id of a task -> key -> its question that a client is to answer."""

    # Call

    def augmented(self, route: Route) -> Route:
        """Return a route of `tools/call` that answers a call with ``task`` by a task."""
        read = decoder(TaskMetadata, _RULES)

        def call(context: Context, params: Dict[str, Any]) -> Any:
            support = self._tasks.support_of(params.get("name"), context)
            if support is None:
                return route.call(context, params)
            name = params["name"]
            if params.get("task") is None:
                if support == "required":
                    raise RpcError(METHOD_NOT_FOUND, "Method not found: tool %s runs as a task only" % name)
                return route.call(context, params)
            if support == "forbidden":
                raise RpcError(METHOD_NOT_FOUND, "Method not found: tool %s does not run as a task" % name)
            try:
                asked = read(params["task"], "task", context.connection.forgive)
            except DecodeError as error:
                raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error.within("params")) from None
            most = self._tasks.server.limits.max_task_ttl * 1000  # an integer may be larger than any float
            record = self._tasks.create(context, params, None if asked.ttl is None else min(asked.ttl, most) / 1000)
            return naming_task({"task": flat(record)}, record.id)

        return Route(call, route.fault)

    # The methods

    def get_route(self) -> Route:
        """Return the route of `tasks/get`."""
        read = params_reader(TaskIdParams, _RULES)
        return Route(lambda context, params: flat(self._tasks.find(context, read(params, context).task_id)))

    def cancel_route(self) -> Route:
        """Return the route of `tasks/cancel` [2025-11-25 basic/utilities/tasks §Task Cancellation] MUST."""
        read = params_reader(TaskIdParams, _RULES)

        def cancel(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            found = self._tasks.find(context, read(params, context).task_id)
            record = self._tasks.cancel(found.id, context.connection, context.principal)
            if record is None:
                now = self._tasks.find(context, found.id)
                raise RpcError(INVALID_PARAMS, "Cannot cancel task: it is %s already" % now.status)
            return flat(record)

        return Route(cancel)

    def list_route(self) -> Route:
        """Return the route of `tasks/list`."""
        read = params_reader(PaginatedRequestParams, _RULES)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            if not is_known(context.connection, context.principal):
                raise RpcError(METHOD_NOT_FOUND, "Method not found: tasks/list, for nothing tells clients apart here")
            self._tasks.check_rate(context)
            cursor = read(params, context).cursor
            found = self._tasks.page(context, 0 if cursor is None else _number(cursor), _PAGE + 1)
            made: Dict[str, Any] = {"tasks": [flat(record) for record in found[:_PAGE]]}
            if len(found) > _PAGE:
                made["nextCursor"] = _cursor(found[_PAGE - 1].number)
            return made

        return Route(answer)

    def result_route(self) -> Route:
        """Return the route of `tasks/result`, which waits until the task has ended
        [2025-11-25 basic/utilities/tasks §Result Retrieval] MUST."""
        read = params_reader(TaskIdParams, _RULES)

        def wait(context: Context, params: Dict[str, Any]) -> None:
            id = self._tasks.find(context, read(params, context).task_id).id
            with self._lock:
                self._waiting.setdefault(id, []).append(context)
            context.incoming.watch(lambda: self._leave(id, context))
            try:
                self._tasks.look(id)  # it may have ended, or have asked, before this waited
            except BaseException:
                self._take(id, context)  # it gets an error now, and no answer later
                raise
            if not context.incoming.done:
                self._tasks.watch()

        return Route(wait, deferred=True)

    def _leave(self, id: str, context: Context) -> None:
        """End a request whose client does not wait any more."""
        if self._take(id, context):
            context.complete(None)
            self._tasks.idle()

    def _take(self, id: str, context: Context) -> bool:
        with self._lock:
            found = self._waiting.get(id, [])
            if context not in found:
                return False
            found.remove(context)
            if not found:
                del self._waiting[id]
        return True

    def _end(self, id: str, answer: Any) -> None:
        with self._lock:
            found = self._waiting.pop(id, [])
        for context in found:
            context.complete(answer)
        if found:
            self._tasks.idle()

    # What becomes of a task

    def changed(self, record: TaskRecord, connection: "Optional[Connection]", principal: Any) -> None:
        """Tell the client how a task is, ask what it asks, and answer those who wait for its end."""
        if connection is not None and connection.session.rules is _RULES and not connection.closed:
            for each in those_who_see([connection], self._tasks.seen_by(record)):
                send_to_client(each, STATUS, flat(record))
        self.looked(record)
        if record.status == INPUT_REQUIRED and connection is not None and self.stream_of(record.id) is None:
            self._ask(record, connection, principal, None)

    def looked(self, record: TaskRecord) -> None:
        """Bring those who wait for a task what became of it, also in another process: what it asks, or its end."""
        self._withdraw(record.id)
        stream = self.stream_of(record.id)
        if stream is None:
            return
        if record.status == INPUT_REQUIRED:
            self._ask(record, stream.connection, stream.principal, stream.incoming.id)
        elif record.final:
            outcome = record.outcome or {}
            if "error" in outcome:
                error = outcome["error"]
                self._end(record.id, RpcError(error["code"], error["message"], error.get("data")))
            else:
                self._end(record.id, naming_task(outcome["result"], record.id))

    def gone(self, id: str) -> None:
        """Answer those who wait for a task that is not there any more."""
        self._withdraw(id)
        self._end(id, RpcError(INVALID_PARAMS, "Task has expired"))

    def progressed(self, run: "TaskRun", token: Any, progress: float, total: Any, message: Optional[str]) -> None:
        """Tell of progress under the token of the call, which holds as long as the task
        [2025-11-25 basic/utilities/tasks §Task Progress Notifications]."""
        if token is None:
            return
        params = {"progressToken": token, "progress": progress, "total": total, "message": message}
        said = {name: value for name, value in params.items() if value is not None}
        self.tell(run.record.id, run.connection, PROGRESS, said)

    def tell(self, id: str, connection: "Connection", method: str, params: Dict[str, Any]) -> None:
        """Send a notification that belongs to a task, on the stream of an open `tasks/result`, if there is one."""
        stream = self.stream_of(id)
        params = naming_task(params, id)
        if stream is not None:
            send_to_client(stream.connection, method, params, stream)
        elif not connection.closed:
            send_to_client(connection, method, params)

    def stream_of(self, id: str) -> Optional[Context]:
        """Return the newest `tasks/result` request that waits for a task; None if none does."""
        with self._lock:
            found = self._waiting.get(id)
            return found[-1] if found else None

    def waited(self) -> Set[str]:
        """Return the ids of the tasks that somebody waits for, and of those whose questions another process may see
        answered."""
        with self._lock:
            return set(self._waiting).union(self._asked if self._tasks.store.shared else ())

    def closing(self, connection: "Connection") -> bool:
        """Answer the requests of a connection that wait for a task; True if there were any."""
        with self._lock:
            found = [(id, context) for id, contexts in self._waiting.items() for context in contexts
                     if context.connection is connection]
        for id, context in found:
            if self._take(id, context):
                context.complete(RpcError(INTERNAL_ERROR, "The connection ends before the task has ended"))
        return bool(found)

    # Questions

    def _ask(
        self, record: TaskRecord, connection: "Connection", principal: Any, about: "Optional[RequestId]"
    ) -> None:
        """Send the questions of a task that no client has been sent, or whose stream may be gone.

        ``about``: the id of the `tasks/result` on whose stream they go. Over HTTP they go without one on a stream that
        the client has opened by a GET; without any, nothing is sent until there is one.

        Reading: where several processes share the tasks, over HTTP only `tasks/result` is asked, for none of them knows
        what the streams of the others carry, and a user is not to be asked twice. Each who waits is asked; the first
        answer counts, and the questions to the others are withdrawn.
        """
        replies, shared = connection.replies, self._tasks.store.shared
        heard = replies is None or replies.is_heard() and not shared
        if about is None and not heard:
            return
        for key, asked in record.questions.items():
            with self._lock:
                sent = self._asked.setdefault(record.id, {})
                before = sent.get(key)
                alive = before is not None and before.connection is connection and not connection.closed
                if alive and (before is None or before.about == about or replies is None
                              or before.about is None and heard):
                    continue
                question = sent[key] = _SentRequest(connection, about)
            if before is not None and before.pending is not None:
                before.connection.cancel(before.pending, "it is asked again on another stream")
            now = self._tasks.store.read(record.id)
            if now is None or key not in now.questions:  # answered since the record was read
                self._drop(record.id, key, question)
            else:
                self._send(record, key, question, asked["request"], principal)
        if shared:
            self._tasks.watch()

    def _withdraw(self, id: str) -> None:
        """Take back the questions of a task that were answered elsewhere, or that nobody has any more."""
        with self._lock:
            keys = list(self._asked.get(id, ()))
        if not keys:
            return
        now = self._tasks.store.read(id)  # after the keys were taken: what is not in it now was answered
        for key in keys:
            if now is not None and key in now.questions:
                continue
            with self._lock:
                question = self._asked.get(id, {}).get(key)
            if question is not None:
                self._drop(id, key, question)
                if question.pending is not None:
                    question.connection.cancel(question.pending, "the task does not wait for the answer any more")

    def _send(
        self, record: TaskRecord, key: str, question: _SentRequest, request: Dict[str, Any], principal: Any
    ) -> None:
        id, connection = record.id, question.connection

        def settle(pending: Pending, item: Any) -> None:
            with self._lock:
                if self._asked.get(id, {}).get(key) is not question:
                    return
            with suppress(RpcError):  # the store has failed: the question is open still, and asked again
                if isinstance(item, ResultResponse):
                    self._tasks.answer(id, {key: {"result": item.result}}, connection, principal)
                elif isinstance(item, ErrorResponse):
                    error = [item.code, item.message, item.data, pending.method, pending.id]
                    self._tasks.answer(id, {key: {"error": error}}, connection, principal)
            if isinstance(item, (ResultResponse, ErrorResponse, McpError)):
                self._drop(id, key, question)  # now, so that one that is not in the table is not open in the store

        params = naming_task(request.get("params") or {}, id)
        left = None if record.ttl is None else max(0.0, record.expires - self._tasks.store.now())
        try:
            question.pending = connection.open_request(
                request["method"], params, left, settle=settle, about=question.about)
        except LocalProtocolError as error:  # the client cannot be asked that: it is not tried on this stream again
            connection.counters.note("questions that a client cannot be asked", "task %s...: %s" % (id[:8], error))
        except McpError:  # the connection has ended, say: the question is asked when somebody calls `tasks/result`
            self._drop(id, key, question)

    def _drop(self, id: str, key: str, question: _SentRequest) -> None:
        with self._lock:
            sent = self._asked.get(id, {})
            if sent.get(key) is question:
                del sent[key]
                if not sent:
                    del self._asked[id]


def capability(connection: "Optional[Connection]") -> ServerTasksCapability:
    """Return what a server declares; the list only where something tells clients apart
    [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control] SHOULD NOT."""
    known = connection is not None and is_known(connection, connection.session.principal)
    return ServerTasksCapability({} if known else None, {}, ServerTaskRequestsCapability(TaskToolsCapability({})))


def is_known(connection: "Connection", principal: Any) -> bool:
    """Return True if a list of the tasks of a client has its own tasks and no others.

    Reading: who talks to us over stdio, in memory or on a Unix socket is one user, as its system says.
    """
    transport = connection.transport
    return transport.same_machine or transport.tells_apart and principal is not None


def _cursor(number: int) -> str:
    return urlsafe_b64encode(b"tasks %d" % number).decode("ascii")


def _number(cursor: str) -> int:
    """Return the number of the task behind which a page begins. Raises `RpcError` for a cursor that is none of ours
    [2025-11-25 basic/utilities/tasks §Protocol Errors] MUST."""
    try:
        number = int(urlsafe_b64decode(cursor.encode("ascii")).split(b" ")[-1]) if len(cursor) < 100 else 0
    except ValueError:
        raise invalid_cursor() from None
    if cursor != _cursor(number):
        raise invalid_cursor()
    return number


IDS = "taskIds"
_GRACE = 10.0
"""Seconds in which a stream that asks for a task comes to be open."""


class TasksExtension(Extension):
    """The extension on a server's side; `mcp_ref.ext.tasks.server.engine.Tasks` does the work."""

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
