"""Tasks of one generation as those of the other: the two that `mcp_ref.ext.tasks.server` compares.

==========================  ==========================================  ==============================================
what                        client of 2025-11-25, server of 2026-07-28  client of 2026-07-28, server of 2025-11-25
==========================  ==========================================  ==============================================
who decides                 every tool may be a task: the client asks   the bridge: each tool that may be a task is
                            for one, and the server begins one or       one for a client that declares the extension
                            answers; that answer is kept as a task
                            that is over
a call without a task       the bridge waits for a task that the        the call as it is; -32021 where the tool
                            server makes of it                          requires a task
id, times, message          the same                                    the same
lifetime                    that of the server; what the client         that of the server; none is asked for
                            asks for is not passed on
the result                  `tasks/result` waits for it                 in `tasks/get`; `tasks/result` fetches it
a tool that fails           completed is failed                         failed, with a result, is completed
questions                   requests to the client while its            ``inputRequests`` of `tasks/get`, answered by
                            `tasks/result` is open                      `tasks/update`
`tasks/cancel`              answered by the task, which is cancelled    acknowledged, also if the server cancels none
                            whatever the server makes of it             (what then becomes of it, `tasks/get` tells)
`tasks/list`                -32601: there is no list behind             -32601: there is none in this revision
changes                     `notifications/tasks/status`, while         not told: ``taskIds`` are not agreed to
                            `tasks/result` is open
progress                    until the task begins                       until the task begins
tasks of the client         what the client would make a task of is     not declared: a question of the server is
                            asked without one                           answered at once, ``task`` left out
==========================  ==========================================  ==============================================

A client that has not declared the extension gets no task
[2026-07-28 extensions/tasks/tasks §Capability Negotiation] MUST NOT.

A client of a revision before 2025-11-25 never has a task: the bridge waits for those that the server makes of its
calls, and calls tools as tasks that require it. Where several servers stand behind one bridge, their clients have none
either, for the id of a task does not say whose it is.

Ids go through as they are, so a task of a server that keeps its tasks over restarts can be asked for in a later session
of the bridge. What the bridge keeps for a session, questions and answers that came at once, ends with the session.
"""

import threading
from contextlib import contextmanager
from functools import partial
from secrets import token_urlsafe
from time import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Set

from ...client.options import REQUEST_DEFAULTS, Options
from ...codec import DecodeError, decode, encode
from ...deadline import Deadline, clock
from ...errors import (
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, CapabilityMissing, McpError, PeerError, RequestCancelled,
    RpcError,
)
from ...ext.tasks.client.generations import HandshakeTask, StatelessTask, start
from ...messages.base import COMPLETE
from ...messages.extensions.tasks import TASK, TaskParams, UpdateTaskParams
from ...messages.tasks import RELATED_TASK, TaskIdParams
from ...methods import (
    CALL_TOOL, CANCEL_TASK, GET_TASK, LIST_TASKS, LIST_TOOLS, TASKS, TASK_RESULT, UPDATE_TASK, lookup, result_class,
)
from ...peer.context import Context, params_reader
from ...peer.extension import Waiting
from ...protocol.extensions import CANCELLED, COMPLETED, FAILED, FINAL, INPUT_REQUIRED, WORKING, flat, naming_task
from ...protocol.lifecycle import has
from . import translation
from .translation import Json

if TYPE_CHECKING:
    from .link import UpstreamConnection

_NAMES = (("ttlMs", "ttl"), ("pollIntervalMs", "pollInterval"))
_BOTH = ("taskId", "status", "createdAt", "lastUpdatedAt", "statusMessage")
_SLICE = 0.5
Answer = Callable[[Context, Json], Json]


class TaskTranslation:
    """The way of requests about tasks from one session to one server; the base calls tools that require a task.

    It is the one of clients that have no tasks, before a server that may want calls to be tasks.
    """

    def __init__(self, link: "UpstreamConnection") -> None:
        self.link = link
        self.methods: Dict[str, Answer] = {}
        """Request of the client -> what answers it here."""

    @property
    def _client(self) -> Any:
        return self.link.client  # the parts of a client take any

    @property
    def busy(self) -> bool:
        """True while a task goes on that ends with the session."""
        return False

    def way(self, context: Context, method: str, params: Json) -> Optional[Answer]:
        """Return what answers a request; None: it goes the way of any other. Raises as an answer."""
        if method == CALL_TOOL and self.link.client.revision.tasks and (
                self._support(context, params) == "required"):
            return self._call_as_task
        return None

    def declare(self, capabilities: Json) -> Json:
        """Return the capabilities of the server as they are declared to the client."""
        return capabilities

    def outward(self, method: str, result: Json) -> Json:
        """Return a result as the client gets it."""
        return result

    def _support(self, context: Context, params: Json) -> str:
        """Return what the tool of a call says of tasks; the tools are asked for once."""
        with self._failing(context, LIST_TOOLS):
            return str(self._client._task_support(str(params.get("name"))))

    def _start(self, context: Context, params: Json) -> HandshakeTask:
        link = self.link
        sent = translation.params_of(CALL_TOOL, params, context.session.rules, link.revision)
        with self._failing(context, CALL_TOOL):
            return start(self._client, sent, None, {
                **REQUEST_DEFAULTS, "timeout": None, "meta": link.meta(context, params) or None})

    def _call_as_task(self, context: Context, params: Json) -> Json:
        task = self._start(context, params)
        with self._failing(context, CALL_TOOL), self._waiting(context) as waiting:
            result = task.settled(waiting)
        return translation.result_of(CALL_TOOL, result, self.link.revision, context.session.rules)

    def _sent(self, context: Context, method: str, id: str) -> Json:
        """Send a request about a task, and return its result."""
        with self._failing(context, method):
            return self.link.client.request(method, {"taskId": id}, within=context.incoming)

    @contextmanager
    def _failing(self, context: Context, method: str) -> Iterator[None]:
        try:
            yield
        except McpError as error:
            raise self.link.failure(context, method, error) from error

    @contextmanager
    def _waiting(self, context: Context) -> Iterator[Waiting]:
        """Give the patience of a request of the client, which ends when it is cancelled."""
        waiting = Waiting(None)
        cancel = partial(waiting.cancel, "cancelled by the client")
        context.incoming.watch(cancel)
        try:
            yield waiting
        finally:
            context.incoming.unwatch(cancel)


class _BridgedTask:
    """One task, as far as a session keeps it: ``task``, or ``state`` and ``result`` of one that was over at once."""

    def __init__(self, task: Any = None, state: Optional[Json] = None, result: Any = None) -> None:
        self.task = task
        self.state = state
        self.result = result
        self.cancelled = False
        self.over = state is not None
        self.answered: Set[str] = set()
        """The keys of the questions that were answered."""
        self.lock = threading.Lock()
        """A lock that is held by the one thread that follows the task."""
        self.since = clock()

    def is_over(self) -> bool:
        """Return True if nothing more becomes of it."""
        return bool(self.task.done) if self.task is not None else self.over or self.cancelled


class _TaskTable(TaskTranslation):
    """Base of both translations: the tasks that a session keeps, by id."""

    def __init__(self, link: "UpstreamConnection") -> None:
        super().__init__(link)
        self._held: Dict[str, _BridgedTask] = {}
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """True while a task goes on, and is not older than any task may be."""
        most = self.link.session.bridge.limits.max_task_ttl
        return any(not each.is_over() and clock() - each.since < most for each in list(self._held.values()))

    def _hold(self, id: str, held: _BridgedTask) -> _BridgedTask:
        """Keep a task, or return the one that is kept. The oldest that is over goes where there are too many."""
        most = self.link.session.bridge.limits.max_tasks_per_principal
        with self._lock:
            known = self._held.get(id)
            if known is not None:
                return known
            if len(self._held) >= most:
                over = next((key for key, each in self._held.items() if each.is_over()), None)
                if over is None:
                    text = "Busy: max_tasks_per_principal (%d) tasks of this session go on"
                    raise RpcError(INTERNAL_ERROR, text % most)
                del self._held[over]
            self._held[id] = held
            return held

    @contextmanager
    def _following(self, context: Context, held: _BridgedTask) -> Iterator[None]:
        """Let one request at a time follow a task, so that nothing is asked twice."""
        while not held.lock.acquire(timeout=_SLICE):
            context.incoming.check()
        try:
            yield
        finally:
            held.lock.release()


class TasksOfHandshake(_TaskTable):
    """The tasks of a client of 2025-11-25 before a server of 2026-07-28 with the extension."""

    def __init__(self, link: "UpstreamConnection") -> None:
        super().__init__(link)
        self._read = params_reader(TaskIdParams, link.session.revision)
        self.methods = {
            GET_TASK: self._get, TASK_RESULT: self._result, CANCEL_TASK: self._cancel, LIST_TASKS: _unlisted}

    def way(self, context: Context, method: str, params: Json) -> Optional[Answer]:
        """Return what answers a request; a call goes on here if it asks for a task."""
        return self._create if method == CALL_TOOL and "task" in params else self.methods.get(method)

    def declare(self, capabilities: Json) -> Json:
        """Return the capabilities with tasks: calls of tools may be some, and can be cancelled."""
        return dict(capabilities, tasks={"cancel": {}, "requests": {"tools": {"call": {}}}})

    def outward(self, method: str, result: Json) -> Json:
        """Return a list of tools with the word that each may be a task: the server says that when it is called."""
        if method != LIST_TOOLS or not isinstance(result.get("tools"), list):
            return result
        return dict(result, tools=[dict(tool, execution={"taskSupport": "optional"}) for tool in result["tools"]])

    def _create(self, context: Context, params: Json) -> Json:
        link, front = self.link, context.session.rules
        sent = translation.params_of(CALL_TOOL, params, front, link.revision)
        options: Options = {
            **REQUEST_DEFAULTS, "timeout": None, "progress": link.progress(context, params),
            "meta": link.meta(context, params) or None}
        with self._failing(context, CALL_TOOL):
            result = link.client._requests.call(
                CALL_TOOL, sent, options, lambda result: result, until=TASK, within=context.incoming)
        if result.get("resultType") == TASK:
            with self._failing(context, CALL_TOOL):
                state = StatelessTask.created(self._client, result, params["name"]).state
            return _begun(older(state))
        link.let_be_heard()
        made = translation.result_of(CALL_TOOL, result, link.revision, front)
        now, limits = time(), link.session.bridge.limits
        state = flat(SimpleNamespace(
            id=token_urlsafe(24), created=now, updated=now, message=None, ttl=limits.max_task_ttl,
            poll=limits.poll_interval, status=FAILED if made.get("isError") is True else COMPLETED))
        self._hold(state["taskId"], _BridgedTask(None, state, made))
        return _begun(state)

    def _state(self, context: Context, id: str) -> Json:
        """Return how a task is, as the client is told; one that it has cancelled stays cancelled
        [2025-11-25 basic/utilities/tasks §Task Cancellation] MUST."""
        held = self._held.get(id)
        if held is not None and held.state is not None:
            return held.state
        state = older(self._sent(context, GET_TASK, id))
        return dict(state, status=CANCELLED) if held is not None and held.cancelled else state

    def _get(self, context: Context, params: Json) -> Json:
        return self._state(context, self._read(params, context).task_id)

    def _cancel(self, context: Context, params: Json) -> Json:
        id = self._read(params, context).task_id
        status = self._state(context, id)["status"]
        if status not in FINAL:
            self._sent(context, CANCEL_TASK, id)
            status = self._state(context, id)["status"]
            if status not in (COMPLETED, FAILED):
                self._hold(id, _BridgedTask()).cancelled = True
                return self._state(context, id)
        raise RpcError(INVALID_PARAMS, "Cannot cancel task: it is %s already" % status)

    def _result(self, context: Context, params: Json) -> Json:
        id = self._read(params, context).task_id
        held = self._held.get(id)
        if held is None:
            self._state(context, id)  # an id that nobody knows is kept nowhere
            held = self._hold(id, _BridgedTask())
        if held.state is not None:
            return naming_task(held.result, id)
        task = StatelessTask(self._client, id, None)
        task._answered = held.answered
        with self._following(context, held), self._failing(context, CALL_TOOL), self._waiting(context) as waiting:
            task.refresh()
            if not held.cancelled:
                task._follow(Deadline(None), waiting)
            held.over = True
            if held.cancelled or task.status == CANCELLED:
                raise RpcError(INTERNAL_ERROR, "The task was cancelled")
            result = task._settled()
        return naming_task(translation.result_of(CALL_TOOL, result, self.link.revision, context.session.rules), id)


class TasksOfStateless(_TaskTable):
    """The tasks of a client of 2026-07-28 before a server of 2025-11-25 that runs calls of tools as tasks."""

    def __init__(self, link: "UpstreamConnection") -> None:
        super().__init__(link)
        revision = link.session.revision
        self._read, self._read_update = params_reader(TaskParams, revision), params_reader(UpdateTaskParams, revision)
        self.methods = {GET_TASK: self._get, UPDATE_TASK: self._update, CANCEL_TASK: self._cancel}

    def way(self, context: Context, method: str, params: Json) -> Optional[Answer]:
        """Return what answers a request; a call becomes a task where the tool allows that, and the client."""
        if method != CALL_TOOL:
            return self.methods.get(method)
        support = self._support(context, params)
        if support == "required":
            context.require_extension(TASKS)
        return self._create if support != "forbidden" and TASKS in context.extensions else None

    def declare(self, capabilities: Json) -> Json:
        """Return the capabilities with the extension."""
        return dict(capabilities, extensions=dict(capabilities.get("extensions") or {}, **{TASKS: {}}))

    def _create(self, context: Context, params: Json) -> Json:
        task = self._start(context, params)
        self._hold(str(task.id), _BridgedTask(task))
        return dict(newer(dict(task.state, status=WORKING)), resultType=TASK)

    def _find(self, context: Context, id: str) -> _BridgedTask:
        """Return a task; one that this session has not begun may be known to the server all the same."""
        held = self._held.get(id)
        if held is None:
            task = HandshakeTask(self._client, id, None)
            with self._failing(context, GET_TASK):
                task.refresh()
            held = self._hold(id, _BridgedTask(task))
        return held

    def _get(self, context: Context, params: Json) -> Json:
        id = self._read(params, context).task_id
        held = self._find(context, id)
        task, front = held.task, context.session.rules
        with self._following(context, held):
            with self._failing(context, GET_TASK):
                task.refresh()
                task._advance(Deadline(None))  # `tasks/result` is open early, for the questions
                if task.done:
                    task.wait(self.link.session.bridge.limits.request_timeout)
        made = dict(newer(task.state), resultType=COMPLETE, status=task.status)
        if not task.done:
            asked = self.link.session.parked.questions_of(id)
            made["status"] = INPUT_REQUIRED if asked else WORKING
            if asked:
                made["inputRequests"] = {
                    each.key: {"method": each.method, "params": encode(each.params, front)} for each in asked}
            return made
        return dict(made, **self._outcome(context, task))

    def _outcome(self, context: Context, task: HandshakeTask) -> Json:
        """Return what a task that is over has come to. A result without an error of the protocol is one, whatever the
        tool says in it [2026-07-28 extensions/tasks/tasks §Task Status] MUST."""
        try:
            result = dict(task._settled())
        except RequestCancelled:
            return {"status": CANCELLED}
        except PeerError as error:
            shown = translation.error_of(error, CALL_TOOL, self.link.revision, context.session.rules)
            made: Json = {"code": shown.code, "message": shown.message}
            return {"status": FAILED, "error": made if shown.data is None else dict(made, data=shown.data)}
        meta = {name: value for name, value in (result.pop("_meta", None) or {}).items() if name != RELATED_TASK}
        result = translation.result_of(
            CALL_TOOL, dict(result, _meta=meta) if meta else result, self.link.revision, context.session.rules)
        return {"status": COMPLETED, "result": result}

    def _update(self, context: Context, params: Json) -> Json:
        id, responses = self._read_update(params, context).task_id, params["inputResponses"]
        self._find(context, id)
        answers = {}
        for asked in self.link.session.parked.questions_of(id):
            row = lookup(asked.method, context.session.rules)
            if asked.key in responses and row is not None:
                try:
                    answers[asked.key] = decode(
                        result_class(row), responses[asked.key], context.session.rules, asked.key)
                except DecodeError as error:
                    where = error.within("inputResponses").within("params")
                    raise RpcError(INVALID_PARAMS, "Invalid params: %s" % where) from None
        self.link.session.parked.answer(id, answers)
        return {}

    def _cancel(self, context: Context, params: Json) -> Json:
        id = self._read(params, context).task_id
        task = self._find(context, id).task
        try:
            task.cancel()
        except (CapabilityMissing, PeerError) as error:  # it is over, or the server cancels none
            self.link.session.counters.note("task not cancelled", str(error))
        except McpError as error:
            raise self.link.failure(context, CANCEL_TASK, error) from error
        else:
            self.link.session.parked.withdraw(id)
        return {}


def _begun(state: Json) -> Json:
    """Return the answer to a call of 2025-11-25 that is a task [2025-11-25 basic/utilities/tasks §Task Status
    Lifecycle] MUST: it begins as one at work."""
    return naming_task({"task": dict(state, status=WORKING)}, state["taskId"])


def _unlisted(context: Context, params: Json) -> Json:
    raise RpcError(METHOD_NOT_FOUND, "Method not found: tasks/list, which the server behind this bridge does not have")


def between(link: "UpstreamConnection") -> Optional[TaskTranslation]:
    """Return the way of tasks from a session to a server; None where nothing has to be translated."""
    front, client = link.session.revision, link.client
    if client.revision.stateless:
        if front.tasks and TASKS in client.server_extensions and not link.behind.prefix:
            return TasksOfHandshake(link)
        return None
    if not client.revision.tasks or front.tasks or not has(client.server_capabilities, "tasks.requests.tools.call"):
        return None
    return TasksOfStateless(link) if front.stateless and not link.behind.prefix else TaskTranslation(link)


def older(state: Any) -> Json:
    """Return a task of 2026-07-28 as one of 2025-11-25."""
    made = {name: state[name] for name in _BOTH if name in state}
    made.update({new: state[old] for old, new in _NAMES if old in state})
    result = state.get("result")
    if made.get("status") == COMPLETED and isinstance(result, dict) and result.get("isError") is True:
        made["status"] = FAILED
    return made


def newer(state: Any) -> Json:
    """Return a task of 2025-11-25 as one of 2026-07-28, without what its status brings along."""
    made = {name: state[name] for name in _BOTH if name in state}
    made.update({old: state[new] for old, new in _NAMES if new in state})
    return made


def task_of(params: Json) -> Optional[str]:
    """Return the id of the task that a request of a server of 2025-11-25 belongs to; None if it names none."""
    meta = params.get("_meta")
    named = meta.get(RELATED_TASK) if isinstance(meta, dict) else None
    id = named.get("taskId") if isinstance(named, dict) else None
    return id if isinstance(id, str) else None
