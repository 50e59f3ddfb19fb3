"""The tasks of a connection, as they have shown: what the rules of the extension for tasks remember."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .....diagnostics.redaction import MASK
from .....messages.extensions.tasks import TASK
from .....methods import CALL_TOOL, CANCEL_TASK, GET_TASK, TASKS, TASK_NOTICE, UPDATE_TASK
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Message, content
from ...rules import observe
from ...values import items, members
from ..basic.versioning import LONGEST
from ..tasks.known import digest_of_result

METHODS = (GET_TASK, UPDATE_TASK, CANCEL_TASK)
WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = (
    "working", "input_required", "completed", "failed", "cancelled")
STATUSES = (WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED)
TERMINAL = (COMPLETED, FAILED, CANCELLED)
INVALID_PARAMS = -32602
_KEYS = 64
"""Questions of one task that are remembered."""
_SHORTEST = 0.1
"""Seconds below which an interval is within what threads and clocks make of it."""
_EARLY = 0.5
"""Part of the interval before whose end asking is clearly too early."""


class Snapshot(NamedTuple):
    """A look at a task by `tasks/get`."""

    asked: int
    """The index of the request."""
    seen: int
    """The index of the result."""
    time: float
    keys: "Mapping[str, Any]"
    """The questions that are open."""


class ObservedTask:
    """A task, as far as it has shown."""

    __slots__ = ("id", "created", "request", "identity", "ttl", "status", "terminal", "terminal_at", "ended", "result",
                 "found", "interval", "polled", "hasty", "watched", "cancelled", "updated", "last_look", "questions",
                 "answered", "delivered", "left_out", "snapshot", "first_asked", "reproached")

    def __init__(self, id: str) -> None:
        self.id = id
        self.created: Optional[float] = None
        """When the result that created it was seen; None if it was not."""
        self.request: Optional[Message] = None
        """The request that has become the task; None if it was not seen."""
        self.identity = ""
        """The ``Authorization`` of the request that has become the task."""
        self.ttl: Any = None
        self.status = ""
        self.terminal = ""
        """The first status that is final."""
        self.terminal_at = 0
        """The index of the message that has shown it."""
        self.ended = 0.0
        """The time of that message."""
        self.result: Optional[int] = None
        """A digest of the result, as it came first."""
        self.found = False
        """True once `tasks/get` has found it, or a notification has told of it."""
        self.interval = 0.0
        """The last polling interval, in seconds."""
        self.polled: Optional[float] = None
        """When the client asked last."""
        self.hasty = 0
        """The number of times in a row that it has asked too early."""
        self.watched = False
        """True if the client listens for its notifications."""
        self.cancelled = False
        """True once the client has sent `tasks/cancel`."""
        self.updated: Optional[Message] = None
        """The last `tasks/update`, until the client looks again."""
        self.last_look: Optional[Message] = None
        """The last `tasks/get`."""
        self.questions: Dict[str, int] = {}
        """Digests of the questions by key, as they came first."""
        self.answered: Dict[str, None] = {}
        """The keys that the client has answered."""
        self.delivered: Dict[str, Message] = {}
        """The acknowledgement of the first update with the key."""
        self.left_out: Dict[str, int] = {}
        """Open keys that a later look did not show -> the index of its result."""
        self.snapshot: Optional[Snapshot] = None
        self.first_asked: Dict[str, "tuple[float, int]"] = {}
        """When a key was seen first, and the number of looks since."""
        self.reproached: Dict[str, None] = {}
        """The keys whose want of an answer was found."""

    def over(self, time: float) -> bool:
        """Return True if its time to live may be over, as far as that is known."""
        if self.created is None:
            return True
        return isinstance(self.ttl, int) and time >= self.created + max(0, min(self.ttl, LONGEST)) / 1000.0

    def is_hasty(self, time: float) -> bool:
        """Return True if asking now is clearly before the interval is over that the server has told last."""
        return self.polled is not None and self.interval >= _SHORTEST and time - self.polled < self.interval * _EARLY


class ObservedTasks:
    """The tasks of a connection by id."""

    def __init__(self) -> None:
        self.known: "Forgetful[str, ObservedTask]" = Forgetful(Bounds().entries)
        self.unknown: "Forgetful[str, Message]" = Forgetful(Bounds().entries)
        """Ids that `tasks/get` did not find -> the error."""
        self.misplaced: "Forgetful[str, str]" = Forgetful(Bounds().entries)
        """Ids of tasks in results of requests that cannot become tasks -> the method."""
        self.created: List[str] = []
        """The ids of the last tasks that were created."""


def tasks(message: Message) -> ObservedTasks:
    """Return the tasks of a message's connection."""
    return message.connection.state(ObservedTasks)


def id_of(message: Message) -> Optional[str]:
    """Return the task that a message, or its request, names; None if it names none, or the name is masked away."""
    asked = message.request if message.kind in (RESULT, ERROR) else message
    id = asked.params.get("taskId") if asked is not None else None
    return id if isinstance(id, str) and id != MASK else None


def task_of(message: Message) -> Optional[ObservedTask]:
    """Return the task that a message is about; None if it is not known."""
    id = id_of(message)
    found: Optional[ObservedTask] = tasks(message).known.get(id) if id is not None else None
    return found


def state_of(message: Message) -> Mapping[str, Any]:
    """Return the state of a task that a result or a notification of the server tells; empty for any other message."""
    if message.sender != SERVER or message.again:
        return _NONE
    return message.result if message.kind == RESULT else message.params if message.kind == NOTIFICATION else _NONE


_NONE: Mapping[str, Any] = {}


def declared(message: Message) -> Optional[bool]:
    """Return whether the client has declared the extension in a request, or in that of a response."""
    return message.has_extension(CLIENT, TASKS)


def identity_of(message: Message) -> str:
    """Return the authorization that a request carries, masked; "" without one."""
    return (message.exchange.header("authorization") or "") if message.exchange is not None else ""


def is_created(message: Message) -> bool:
    """Return True for a result that is a task in place of an answer."""
    return message.sender == SERVER and message.request is not None and message.result.get("resultType") == TASK and (
        isinstance(message.result.get("taskId"), str))


def asked_ids(value: Any) -> List[str]:
    """Return the tasks that a filter of notifications names."""
    return [each for each in items(members(value).get("taskIds"))[:_KEYS] if isinstance(each, str)]


def digest(question: Any) -> int:
    """Return a digest of a question, without its ``_meta``."""
    params = members(question).get("params")
    bare = {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else params
    return content([members(question).get("method"), bare])


def is_lost(message: Message) -> bool:
    """Return True if a response may not have reached the client."""
    exchange = message.exchange
    return exchange is not None and (exchange.complete is False or exchange.ended_by == CLIENT)


# What messages change, after the rules were asked about them


@observe(on=RESULT, when="task")
def create(message: Message) -> None:
    """Note a task that a result has created."""
    if not is_created(message) or message.request is None or message.method in METHODS:
        return
    id, known = message.result["taskId"], tasks(message)
    if message.method != CALL_TOOL:
        known.misplaced[id] = message.method
        return
    made = ObservedTask(id)
    made.created, made.request, made.identity = message.time, message.request, identity_of(message.request)
    known.misplaced.pop(id)
    known.unknown.pop(id)
    known.known[id] = made
    known.created = (known.created + [id])[-3:]
    _learn(made, message.result, message)
    made.found = False


def _learn(task: ObservedTask, state: Mapping[str, Any], message: Message) -> None:
    """Note the status of a task."""
    interval, status = state.get("pollIntervalMs"), state.get("status")
    task.interval = max(0, min(interval, LONGEST)) / 1000.0 if type(interval) is int else 0.0
    task.ttl = state.get("ttlMs")
    task.found = True
    if isinstance(status, str):
        task.status = status
        if status in TERMINAL and not task.terminal:
            task.terminal, task.terminal_at, task.ended = status, message.index, message.time
    value = state.get("result")
    if status == COMPLETED and isinstance(value, dict) and task.result is None:
        task.result = digest_of_result(value)


@observe(on=(RESULT, NOTIFICATION), method=(GET_TASK, TASK_NOTICE))
def look(message: Message) -> None:
    """Note what is told of a task, and its questions."""
    id, known = id_of(message), tasks(message)
    if id is None or message.sender != SERVER or message.again:
        return
    found: ObservedTask = known.known.get(id) or ObservedTask(id)
    known.known[id] = found
    known.unknown.pop(id)
    state = state_of(message)
    _learn(found, state, message)
    questions = members(state.get("inputRequests"))
    for key in list(questions)[:_KEYS]:
        if len(found.questions) < _KEYS:
            found.questions.setdefault(key, digest(questions[key]))
            since, looks = found.first_asked.get(key, (message.time, 0))
            found.first_asked[key] = since, looks + 1
    if message.kind == RESULT and message.request is not None and found.status == INPUT_REQUIRED:
        _note_snapshot(found, message, message.request, questions)


def _note_snapshot(task: ObservedTask, message: Message, request: Message, questions: Mapping[str, Any]) -> None:
    before = task.snapshot
    for key in before.keys if before is not None and request.index > before.seen else ():
        if key not in questions and key not in task.answered and len(task.left_out) < _KEYS:
            task.left_out.setdefault(key, message.index)
    task.snapshot = Snapshot(request.index, message.index, message.time, questions)


@observe(on=ERROR, method=GET_TASK)
def miss(message: Message) -> None:
    """Note that a task was not found."""
    id = id_of(message)
    if id is not None and message.error.get("code") == INVALID_PARAMS and not message.again:
        tasks(message).unknown[id] = message


@observe(on=REQUEST, method=METHODS)
def ask(message: Message) -> None:
    """Note what the client asks about a task."""
    task = task_of(message)
    if task is None or message.sender != CLIENT:
        return
    if message.method == GET_TASK:
        task.hasty = task.hasty + 1 if task.is_hasty(message.time) else 0
        task.polled, task.updated, task.last_look = message.time, None, message
        return
    task.hasty, task.polled = 0, None
    if message.method == CANCEL_TASK:
        task.cancelled = True
        return
    task.updated = message
    for key in list(members(message.params.get("inputResponses")))[:_KEYS]:
        if len(task.answered) < _KEYS:
            task.answered[key] = None


@observe(on=RESULT, method=UPDATE_TASK)
def acknowledge(message: Message) -> None:
    """Note that answers were delivered."""
    task, request = task_of(message), message.request
    if task is not None and request is not None and not message.again:
        for key in list(members(request.params.get("inputResponses")))[:_KEYS]:
            if len(task.delivered) < _KEYS:
                task.delivered.setdefault(key, message)


@observe(on=NOTIFICATION, method="notifications/subscriptions/acknowledged")
def watch(message: Message) -> None:
    """Note the tasks whose notifications the server will send."""
    for id in asked_ids(message.params.get("notifications")):
        task = tasks(message).known.get(id)
        if task is not None:
            task.watched = True
