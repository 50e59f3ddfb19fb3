"""Tasks of a client: sampling and elicitation whose answers a server of 2025-11-25 fetches later
[2025-11-25 basic/utilities/tasks §Behavior Requirements].

::

    Client(sampling=ask_model, elicitation=ask, tasks=True)

Without ``tasks=True`` none of it is declared, and a request with ``task`` is answered like any other. With it the
callbacks stay as they are. Each begins when its server has been sent the task.

=============================================  ==================  =================================================
what happens                                   status              `tasks/result`
=============================================  ==================  =================================================
the callback runs, or waits for others to end  ``working``         waits
it sends the server a request (`Context.call`) ``input_required``  waits
it returns, also that the user declines        ``completed``       the result that a plain request would have had
it raises, or the user rejects a sampling      ``failed``          the error that a plain request would have had
`tasks/cancel`; ``context.cancelled`` is set   ``cancelled``       error -32603
``ttl`` is over; ``context.cancelled`` is set  (deleted)           error -32602
the connection ends                            (deleted)
=============================================  ==================  =================================================

A task belongs to its connection, so no other server can ask for it. It is kept for the ``ttl`` that the server asks
for, up to ``max_task_ttl``, or TTL seconds; up to ``max_running_tasks`` callbacks run at a time, and
``max_tasks_per_principal``, ``max_task_bytes`` and ``max_tasks_bytes`` are those of one connection.
"""

import secrets
import threading
from collections import deque
from contextlib import contextmanager, suppress
from time import time
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from .... import deadline
from ....codec import DecodeError, decoder
from ....diagnostics.packagelog import get_logger
from ....errors import INTERNAL_ERROR, INVALID_PARAMS, McpError, RpcError
from ....jsonrpc import Notification, RequestId, ResultResponse, encode
from ....jsontext import dumps
from ....messages.pagination import PaginatedRequestParams
from ....messages.tasks import (
    ClientTaskRequestsCapability, ClientTasksCapability, TaskElicitationCapability, TaskIdParams, TaskMetadata,
    TaskSamplingCapability,
)
from ....methods import CANCEL_TASK, GET_TASK, LIST_TASKS, PROGRESS, TASK_RESULT, TASK_STATUS
from ....options import REQUEST_TIMEOUT, strict_options
from ....peer.context import Context, Route, params_reader
from ....peer.executors import Job
from ....peer.jobs import failure, reraise_interrupt
from ....protocol.extensions import CANCELLED, COMPLETED, FAILED, FINAL, INPUT_REQUIRED, WORKING, flat, naming_task
from ....revisions import R2025_11_25, revision
from ....threads import available, start_thread

if TYPE_CHECKING:
    from ....peer.dispatcher import Connection
    from ....peer.inflight import Incoming
    from ....peer.request_table import ProgressCallback

TTL = 3600.0
"""Seconds for which a task is kept where its server asks for no time."""
POLL = 1.0
"""Seconds that the server is told to wait between two looks; a task is kept for at least as long."""
TICK = 0.5
"""Seconds between two looks for tasks that have expired."""
LIMIT = "max_task_requests_per_second"
_RULES = revision(R2025_11_25)
_PAGE = 100
_SHOWN = 8
"""The characters of an id that the log has: who knows an id may have the task."""
_EXPIRED = "Task has expired"


class ReceivedTask:
    """A task of a server's. What changes is guarded by the lock of `ReceivedTasks`."""

    def __init__(self, context: Context, params: Dict[str, Any], route: Route, ttl: float, size: int) -> None:
        self.id = secrets.token_urlsafe(24)
        self.method = context.request.method
        self.given: Optional[Tuple[Context, Dict[str, Any]]] = context, params
        """The request, until the task is over."""
        self.route = route
        self.ttl, self.poll = ttl, POLL
        self.size = size
        """Bytes of the params, or of the answer in their place."""
        self.number = 0
        self.expires = deadline.clock() + ttl
        self.created = self.updated = time()
        self.status = WORKING
        self.message: Optional[str] = None
        self.answer: Union[None, Dict[str, Any], RpcError] = None
        self.incoming: "Optional[Incoming]" = None
        """The run of the callback, once it has begun: a request that is answered when the task is over."""
        self.asking = 0
        """The requests of the callback to the server that have no answer."""
        self.waiting: List[Context] = []
        """The `tasks/result` requests that wait for the end."""

    @property
    def final(self) -> bool:
        """True if the task is over; it stays as it is."""
        return self.status in FINAL

    def move(self, status: str, message: Optional[str] = None) -> None:
        """Enter a status."""
        self.status, self.updated = status, time()
        self.message = message or self.message

    def log(self, what: str) -> None:
        """Log a step in the life of the task [2025-11-25 basic/utilities/tasks §Audit and Logging] SHOULD."""
        get_logger(__name__).info("task %s... of the server (%s) %s", self.id[:_SHOWN], self.method, what)


class ReceivedTasks:
    """The tasks of one connection."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self.lock = threading.Lock()
        self._tasks: Dict[str, ReceivedTask] = {}
        """The tasks by id, in the order of their creation."""
        self._bytes = 0
        self._numbers = 0
        self._queue: Deque[ReceivedTask] = deque()
        self._running = 0
        self._watching = False

    # Create and run

    def create(self, context: Context, params: Dict[str, Any], asked: TaskMetadata, route: Route) -> Dict[str, Any]:
        """Keep a new task, which begins when the server has been sent it. Raises `RpcError` where there is no room."""
        limits, size = self._connection.limits, len(dumps(params))
        if size > limits.max_task_bytes:
            text = "The request is too large for a task: %d bytes, and max_task_bytes is %d; send it without task"
            raise RpcError(INVALID_PARAMS, text % (size, limits.max_task_bytes))
        wanted = TTL * 1000 if asked.ttl is None else asked.ttl
        ttl = max(POLL, min(wanted, limits.max_task_ttl * 1000) / 1000)
        self._sweep()
        task = ReceivedTask(context, params, route, ttl, size)
        with self.lock:
            counts = {"max_tasks_per_principal": len(self._tasks), "max_tasks_bytes": self._bytes}
            for name, count in counts.items():
                if count >= getattr(limits, name):
                    text = "Too many tasks: %s (%d) has been reached; send the request without task, or try again later"
                    raise RpcError(INTERNAL_ERROR, text % (name, getattr(limits, name)))
            self._numbers += 1
            task.number = self._numbers
            self._tasks[task.id] = task
            self._bytes += size
            made = flat(task)
        task.log("created")
        self._watch()
        context.incoming.after = lambda: self._announced(task, context)
        return naming_task({"task": made}, task.id)

    def _announced(self, task: ReceivedTask, context: Context) -> None:
        """Begin a task once the server has been sent it; without that it would never learn of the task."""
        if context.incoming.cancelled:
            with suppress(RpcError):  # the server has found it in the list, and was faster
                self.cancel(task)
            return
        self._connection.outbox.flush_soon()  # the callback may run on this thread
        with self.lock:
            if self._running >= self._connection.limits.max_running_tasks:
                self._queue.append(task)
                return
            self._running += 1
        if not self._begin(task):
            self._next()

    def _begin(self, task: ReceivedTask) -> bool:
        if self._connection.executor.submit([_CallbackJob(self, task)], self._connection.outbox):
            return True
        self.ended(task, RpcError(INTERNAL_ERROR, "The connection ends"))
        return False

    def _next(self) -> None:
        """Begin the task that has waited longest: one has ended."""
        while True:
            with self.lock:
                if not self._queue:
                    self._running -= 1
                    return
                task = self._queue.popleft()
            if self._begin(task):
                return

    def run(self, task: ReceivedTask) -> None:
        """Run the callback of a task. Raises what ends the program."""
        connection, escaped = self._connection, None
        with self.lock:
            given = task.given
            if given is not None:
                # An id of our own among those of the server's requests: what ends them ends the task, too.
                task.incoming = connection.inflight.begin(secrets.token_urlsafe(24))
        if given is not None and task.incoming is not None:
            if not connection.table.ended:
                context = ReceivedContext(self, task, given[0], task.incoming)
                answer, size, escaped = self._answer(task, context, given[1])
                connection.inflight.finish(task.incoming)  # before the status: no progress comes after it
                self.ended(task, answer, size)
            else:
                connection.inflight.finish(task.incoming)
            connection.inflight.release()
        self._next()
        if escaped is not None:
            reraise_interrupt(escaped)

    def _answer(
        self, task: ReceivedTask, context: Context, params: Dict[str, Any]
    ) -> Tuple[Union[Dict[str, Any], RpcError], int, Optional[BaseException]]:
        """Return what a plain request would be answered with, its bytes, and what the callback has raised."""
        try:
            result: Dict[str, Any] = task.route.call(context, params)
            return result, self._check(task, result), None
        except BaseException as error:
            # an `ErrorResponse`: callbacks of a client have no ``fault``
            made: Any = failure(error, context, task.route)
            return RpcError(made.code, made.message, made.data), 0, error

    def _check(self, task: ReceivedTask, result: Dict[str, Any]) -> int:
        """Return the bytes of a result. Raises for one that cannot be sent, as that of a plain request does, and for
        one that is too large."""
        connection, most = self._connection, self._connection.limits.max_task_bytes
        named = naming_task(result, task.id)
        data = encode(ResultResponse("", named), connection.limits)
        connection.check_meta(data, named)
        if len(data) > most:
            raise RpcError(INTERNAL_ERROR, "The result is too large for a task: %d bytes, and max_task_bytes is %d"
                           % (len(data), most))
        return len(data)

    def abandon(self, task: ReceivedTask, error: McpError) -> None:
        """Fail a task whose callback will not run."""
        self.ended(task, RpcError(INTERNAL_ERROR, str(error)))
        self._next()

    def ended(self, task: ReceivedTask, answer: Union[Dict[str, Any], RpcError], size: int = 0) -> None:
        """Take the answer of a task, unless it was cancelled or has expired meanwhile, and give it to who waits."""
        with self.lock:
            late = task.final
            if not late:
                if isinstance(answer, RpcError):
                    task.move(FAILED, answer.message)
                else:
                    task.move(COMPLETED)
                state, waiting = flat(task), self._settle(task, answer, size)
        if late:
            self._connection.counters.add("late task results")
            return
        task.log(task.status)
        self._complete(task, waiting)
        with suppress(McpError):  # the connection may have ended
            self._connection.notify(TASK_STATUS, state)

    def _settle(
        self, task: ReceivedTask, answer: Union[Dict[str, Any], RpcError], size: int = 0
    ) -> List[Context]:
        """Keep the answer in place of the request, and return the requests that wait for it."""
        if task.id in self._tasks:
            self._bytes += size - task.size
        if task.incoming is None and task in self._queue:
            self._queue.remove(task)
        task.answer, task.given, task.size = answer, None, size
        waiting, task.waiting = task.waiting, []
        return waiting

    # Look, wait, cancel

    def find(self, context: Context, id: str) -> ReceivedTask:
        """Return a task. Raises `RpcError` -32602 for an id of none, and for that of one that has expired."""
        check_rate(context)
        with self.lock:
            task = self._tasks.get(id)
        if task is None:
            context.connection.counters.note("unknown task", "%s asked for" % context.request.method)
            raise RpcError(INVALID_PARAMS, "Task not found")
        if task.expires <= deadline.clock():
            raise RpcError(INVALID_PARAMS, _EXPIRED)
        if task.final:
            task.log("retrieved")
        return task

    def page(self, cursor: Optional[str]) -> Dict[str, Any]:
        """Return one page of the list. Raises `RpcError` -32602 for a cursor that is none of ours."""
        now, after = deadline.clock(), 0
        with self.lock:
            if cursor is not None:
                known = cursor.isdigit() and cursor.isascii() and len(cursor) < 20
                after = int(cursor) if known else 0
                if not 0 < after <= self._numbers or str(after) != cursor:
                    raise RpcError(INVALID_PARAMS, "Invalid params: params.cursor is not one that this client gave")
            found = [task for task in self._tasks.values() if task.number > after and task.expires > now]
            made: Dict[str, Any] = {"tasks": [flat(task) for task in found[:_PAGE]]}
            if len(found) > _PAGE:
                made["nextCursor"] = str(found[_PAGE - 1].number)
        return made

    def wait(self, task: ReceivedTask, context: Context) -> None:
        """Answer a `tasks/result`, when the task is over [2025-11-25 basic/utilities/tasks §Result Retrieval] MUST."""
        with self.lock:
            final = task.final
            if not final:
                task.waiting.append(context)
        if final:
            self._complete(task, [context])
        else:
            context.incoming.watch(lambda: self._leave(task, context))

    def _leave(self, task: ReceivedTask, context: Context) -> None:
        with self.lock:
            found = context in task.waiting
            if found:
                task.waiting.remove(context)
        if found:
            context.complete(None)

    def _complete(self, task: ReceivedTask, waiting: Sequence[Context]) -> None:
        answer = task.answer
        for context in waiting:
            context.complete(naming_task(answer, task.id) if isinstance(answer, dict) else answer)

    def cancel(self, task: ReceivedTask) -> Dict[str, Any]:
        """Cancel a task, and return it. Raises `RpcError` -32602 for one that is over
        [2025-11-25 basic/utilities/tasks §Task Cancellation] MUST."""
        with self.lock:
            if task.final:
                raise RpcError(INVALID_PARAMS, "Cannot cancel task: it is %s already" % task.status)
            task.move(CANCELLED, "The task was cancelled by request.")
            waiting = self._settle(task, RpcError(INTERNAL_ERROR, "The task was cancelled"))
            state = flat(task)
        task.log(CANCELLED)
        self._stop(task, waiting)
        return state

    def _stop(self, task: ReceivedTask, waiting: Sequence[Context]) -> None:
        """Have the callback see that it is not wanted any more, and answer who waits for the task."""
        if task.incoming is not None:
            self._connection.inflight.cancel(task.incoming.id, "the task is over")
        self._complete(task, waiting)

    @contextmanager
    def asking(self, task: ReceivedTask) -> Iterator[None]:
        """Have a task wait for input [2025-11-25 basic/utilities/tasks §Input Required Status] SHOULD."""
        self._asks(task, 1)
        try:
            yield
        finally:
            self._asks(task, -1)

    def _asks(self, task: ReceivedTask, more: int) -> None:
        with self.lock:
            task.asking += more
            if not task.final:
                task.move(INPUT_REQUIRED if task.asking else WORKING)

    # Expiry

    def _watch(self) -> None:
        """Have a thread delete what expires, as long as there are tasks."""
        with self.lock:
            if self._watching or not available():
                return
            self._watching = True
        try:
            start_thread("mcp-ref:expiry:%s" % self._connection.transport.name, self._look)
        except RuntimeError:  # there is none left: the next creation deletes what has expired
            self._watching = False

    def _look(self) -> None:
        while not self._connection.wait_closed(TICK):
            self._sweep()
            with self.lock:
                if not self._tasks:
                    self._watching = False
                    return

    def _sweep(self) -> None:
        """Delete the tasks whose time is over [2025-11-25 basic/utilities/tasks §Resource Management] SHOULD."""
        now, stopped = deadline.clock(), []
        with self.lock:
            for task in [task for task in self._tasks.values() if task.expires <= now]:
                del self._tasks[task.id]
                self._bytes -= task.size
                if not task.final:
                    task.move(CANCELLED)
                    stopped.append((task, self._settle(task, RpcError(INVALID_PARAMS, _EXPIRED))))
        for task, waiting in stopped:
            task.log("expired")
            self._stop(task, waiting)


class ReceivedContext(Context):
    """The context of a callback that runs as a task: what it sends names the task."""

    __slots__ = ("_tasks", "_task")

    def __init__(self, tasks: ReceivedTasks, task: ReceivedTask, given: Context, incoming: "Incoming") -> None:
        super().__init__(given.connection, incoming, given.request, given.session)
        self._tasks = tasks
        self._task = task

    def _step(self, progress: float, total: Optional[float], message: Optional[str]) -> None:
        super()._step(progress, total, message)
        text = "%g" % progress if total is None else "%g of %g" % (progress, total)
        if not self._task.final:
            self._task.message, self._task.updated = message or text, time()

    def _put_progress(
        self, token: RequestId, progress: float, total: Optional[float], message: Optional[str]
    ) -> None:
        """Send progress under the token of the request, which holds as long as the task
        [2025-11-25 basic/utilities/progress §Behavior Requirements] MUST."""
        params = {"progressToken": token, "progress": progress, "total": total, "message": message}
        named = naming_task({name: value for name, value in params.items() if value is not None}, self._task.id)
        outbox = self.connection.outbox
        outbox.put(outbox.outgoing(encode(Notification(PROGRESS, named)), PROGRESS), wait=False)

    @strict_options
    def call(
        self, method: str, params: Optional[Dict[str, Any]] = None, timeout: Optional[float] = REQUEST_TIMEOUT,
        on_progress: "Optional[ProgressCallback]" = None, extend_on_progress: bool = False,
    ) -> Dict[str, Any]:
        """Send a request to the server and wait, as `Context.call`; the task waits for input meanwhile."""
        with self._tasks.asking(self._task):
            named = naming_task(params or {}, self._task.id)
            return super().call(method, named, timeout, on_progress, extend_on_progress)

    @strict_options
    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        """Send a notification that belongs to the task; nothing is sent after its end."""
        super().notify(method, naming_task(params or {}, self._task.id))


class _CallbackJob(Job):
    """The run of one task."""

    __slots__ = ("_tasks", "_task")

    def __init__(self, tasks: ReceivedTasks, task: ReceivedTask) -> None:
        self._tasks, self._task = tasks, task

    def run(self) -> None:
        self._tasks.run(self._task)

    def abandon(self, error: McpError) -> None:
        self._tasks.abandon(self._task, error)


# What `mcp_ref.client.client_capabilities` declares and answers


def capability(offered: Sequence[str]) -> ClientTasksCapability:
    """Return the capability of a client with these offers. Its list has the tasks of one server alone."""
    return ClientTasksCapability({}, {}, ClientTaskRequestsCapability(
        sampling=TaskSamplingCapability({}) if "sampling" in offered else None,
        elicitation=TaskElicitationCapability({}) if "elicitation" in offered else None))


def augmented(route: Route) -> Route:
    """Return a route that answers a request with ``task`` by a task, and others at once."""
    read = decoder(TaskMetadata, _RULES)

    def call(context: Context, params: Dict[str, Any]) -> Any:
        if params.get("task") is None:
            return route.call(context, params)
        check_rate(context)
        try:
            asked = read(params["task"], "task", context.connection.forgive)
        except DecodeError as error:
            raise RpcError(INVALID_PARAMS, "Invalid params: %s" % error.within("params")) from None
        params = {name: value for name, value in params.items() if name != "task"}
        return tasks_of(context).create(context, params, asked, route)

    return Route(call, route.fault)


def route(method: str) -> Optional[Route]:
    """Return how a request about tasks is answered: all but `tasks/result` on the reader, so that they never wait for
    a callback; None for other methods."""
    if method not in _ANSWERS:
        return None
    cls, answer = _ANSWERS[method]
    read, is_result = params_reader(cls, _RULES), method == TASK_RESULT
    return Route(lambda context, params: answer(context, read(params, context)), inline=not is_result,
                 deferred=is_result)


def tasks_of(context: Context) -> ReceivedTasks:
    """Return the tasks of the connection of a request; they are in its state, so that they end with it."""
    state = context.connection.state
    found: Optional[ReceivedTasks] = state.get("received tasks")
    return found or state.setdefault("received tasks", ReceivedTasks(context.connection))


def check_rate(context: Context) -> None:
    """Raise `RpcError` if the server asks about tasks too often
    [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control] SHOULD."""
    rate = context.rate(LIMIT)
    if not rate.take():
        raise RpcError(INTERNAL_ERROR, "Too many requests about tasks: %s is %g; try again later"
                       % (LIMIT, rate.per_second))


def _get(context: Context, params: TaskIdParams) -> Dict[str, Any]:
    tasks = tasks_of(context)
    task = tasks.find(context, params.task_id)
    with tasks.lock:
        return flat(task)


def _cancel(context: Context, params: TaskIdParams) -> Dict[str, Any]:
    tasks = tasks_of(context)
    return tasks.cancel(tasks.find(context, params.task_id))


def _list(context: Context, params: PaginatedRequestParams) -> Dict[str, Any]:
    check_rate(context)
    return tasks_of(context).page(params.cursor)


def _result(context: Context, params: TaskIdParams) -> None:
    tasks = tasks_of(context)
    tasks.wait(tasks.find(context, params.task_id), context)


_ANSWERS: Dict[str, Tuple[Any, Callable[[Context, Any], Optional[Dict[str, Any]]]]] = {
    GET_TASK: (TaskIdParams, _get), CANCEL_TASK: (TaskIdParams, _cancel), LIST_TASKS: (PaginatedRequestParams, _list),
    TASK_RESULT: (TaskIdParams, _result),
}
"""Request -> the class of its params, and the function that answers it."""
