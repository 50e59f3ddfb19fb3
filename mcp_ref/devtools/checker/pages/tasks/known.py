"""The tasks of a session [2025-11-25 basic/utilities/tasks]: what the rules of tasks have to remember.

Either party may run a request of the other as a task: the *receiver* has the task, the *requestor* asks for it. A
report is an object that describes a task: in the result that creates it, in those of `tasks/get`, `tasks/list` and
`tasks/cancel`, and in `notifications/tasks/status`.
"""

from collections import deque
from typing import Any, Deque, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from .....jsontext import dumps
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import new_items
from ...observed import ERROR, META_TASK, NOTIFICATION, REQUEST, RESULT, Message, ObservedSession, content
from ...rules import noted, observe
from ...values import items, masked, members

RELATED = META_TASK
STATUS = "notifications/tasks/status"
GET, LIST, FETCH, CANCEL = "tasks/get", "tasks/list", "tasks/result", "tasks/cancel"
ABOUT_ONE = (GET, FETCH, CANCEL)
OPERATIONS = (GET, FETCH, CANCEL, LIST)
AUGMENTED = ("tools/call", "sampling/createMessage", "elicitation/create")
"""The requests that may run as tasks."""
REPORTING = (*AUGMENTED, GET, LIST, CANCEL)
"""The methods whose results may describe tasks."""
TERMINAL = ("completed", "failed", "cancelled")
STATUSES = ("working", "input_required", *TERMINAL)
CROSSING = 5.0
"""Seconds within which messages on different streams of HTTP may overtake each other."""
_ASKED = 16
"""Requests of a task to its requestor that are remembered."""
_RUNS = 64
"""Runs through the list of tasks that may go on at once."""
_MOST_MS = 2 ** 53


class Known:
    """A task."""

    __slots__ = ("id", "receiver", "request", "created", "status", "report", "terminal", "cancel", "ttl", "interval",
                 "poll", "poll_interval", "polls", "early", "wanting", "fetch", "payload", "asked")

    def __init__(self, id: str, receiver: str) -> None:
        self.id = id
        self.receiver = receiver
        self.request: Optional[Message] = None
        """The request that runs as the task; None if that was not seen."""
        self.created: Optional[Message] = None
        """The result that has created it; None if that was not seen."""
        self.status = ""
        self.report: Optional[Message] = None
        """The message with the newest report."""
        self.terminal: Optional[Message] = None
        """The first message with a terminal status."""
        self.cancel: Optional[Message] = None
        """The first `tasks/cancel`."""
        self.ttl: Any = ""
        """Milliseconds as the newest report has them, None for unlimited; "" if it has none."""
        self.interval = 0.0
        """``pollInterval`` of the newest report that has one, in seconds."""
        self.poll: Optional[Message] = None
        """The newest `tasks/get`."""
        self.poll_interval = 0.0
        """The interval that was known when it was sent."""
        self.polls = 0
        self.early = 0
        """The number of polls in a row that came too early."""
        self.wanting = 0
        """The number of polls in a row that have found that input is wanted, while no `tasks/result` was sent."""
        self.fetch: Optional[Message] = None
        """The newest `tasks/result`."""
        self.payload: Optional[Tuple[str, Any]] = None
        """The first answer to `tasks/result` after the end: ``result`` or ``error``, with what it says."""
        self.asked: Deque[Message] = deque(maxlen=_ASKED)
        """The last requests of the task to its requestor."""

    def kept_until(self, time: float) -> bool:
        """Return True if the task has to be there at a time: its lifetime is known, and nobody cancels it."""
        if self.request is None or self.cancel is not None or self.status == "cancelled" or self.ttl == "":
            return False
        return self.ttl is None or time < self.request.time + seconds(self.ttl) - 1.0

    def fetching(self) -> bool:
        """Return True if a `tasks/result` waits for its answer."""
        asked = self.fetch
        return asked is not None and asked.answer is None and asked.cancelled is None and (
            asked.exchange is None or asked.exchange.ended is None)


class ListRun(NamedTuple):
    """A run through the list of tasks, from its first page on."""

    first: Message
    """The request of the first page."""
    last: Message
    """The newest page."""
    pages: int
    ids: Set[str]


class KnownTasks:
    """The tasks of a session."""

    def __init__(self) -> None:
        most = Bounds().entries
        self.of: "Dict[str, Forgetful[str, Known]]" = {party: Forgetful(most) for party in (CLIENT, SERVER)}
        """By receiver and id."""
        self.named: "Dict[str, Forgetful[str, None]]" = {party: Forgetful(most) for party in (CLIENT, SERVER)}
        """Ids that were asked for, by receiver."""
        self.wanting: "Forgetful[str, Known]" = Forgetful(most)
        """The tasks of the server that have reported that they want input."""
        self.open: "Forgetful[Tuple[str, str], ListRun]" = Forgetful(_RUNS)
        """Runs by receiver and the cursor that leads on."""
        self.complete: Dict[str, ListRun] = {}
        """The newest complete run by receiver."""
        self.needy = False
        """True once a tool was listed that only runs as a task."""
        self.last: Dict[str, float] = {}
        """When a party has sent its last request, other than `ping`."""


def tasks(session: ObservedSession) -> KnownTasks:
    """Return the tasks of a session."""
    return session.state(KnownTasks)


def seconds(value: Any) -> float:
    """Return a number of milliseconds in seconds, with a bound; 0 for what is no number."""
    return min(value, _MOST_MS) / 1000.0 if type(value) in (int, float) and value > 0 else 0.0


def known(message: Message, id: Any) -> Optional[Known]:
    """Return the task of a request about tasks, or of a response to one; None if it was not seen before."""
    receiver = message.receiver if message.kind == REQUEST else message.sender
    found: Optional[Known] = tasks(message.session).of[receiver].get(id) if isinstance(id, str) else None
    return found


def target(message: Message) -> Any:
    """Return ``taskId`` of a request, or of the request of a response."""
    request = message.request if message.kind in (RESULT, ERROR) else message
    return request.params.get("taskId") if request is not None else None


def is_augmented(request: Optional[Message]) -> bool:
    """Return True if a request asks to run as a task."""
    return request is not None and isinstance(request.params.get("task"), dict)


def related(message: Message) -> Any:
    """Return the id of the task that a message names in ``_meta``; None if it names none."""
    return members(message.meta.get(RELATED)).get("taskId")


def reports(message: Message) -> List[Tuple[str, Mapping[str, Any]]]:
    """Return the reports of a message, each with its place."""
    if message.kind == NOTIFICATION:
        return [("params", message.params)]
    if message.request is None or message.kind != RESULT:
        return []
    if message.method in (GET, CANCEL):
        return [("result", message.result)]
    if message.method == LIST:
        return [("result.tasks[%d]" % place, each) for place, each in enumerate(items(message.result.get("tasks")))
                if isinstance(each, dict)]
    task = message.result.get("task")
    return [("result.task", task)] if isinstance(task, dict) and is_augmented(message.request) else []


def is_later(message: Message, before: Optional[Message]) -> Optional[bool]:
    """Return True if a report was made after another had been seen; None if that cannot be told."""
    if before is None:
        return None
    if message.kind == NOTIFICATION:
        return True if message.time - before.time > CROSSING else None
    return True if message.request is not None and message.request.index > before.index else None


def same_requestor(message: Message, task: Known) -> bool:
    """Return True if a request, or that of a response, comes from whom the task is for, as far as it shows."""
    asked = message.request if message.kind in (RESULT, ERROR) else message
    if asked is None or task.request is None or message.session.mixed:
        return False
    return credentials(asked) == credentials(task.request)


def credentials(message: Message) -> Optional[str]:
    """Return the field `Authorization` that a message came with; None without HTTP or the field."""
    return message.exchange.header("authorization") if message.exchange is not None else None


def is_early(task: Known, poll: Message) -> bool:
    """Return True if a poll comes within half of the interval that the receiver has suggested."""
    before = task.poll
    return before is not None and before.answer == RESULT and (
        poll.time - before.time < min(task.interval, task.poll_interval) / 2)


# What is noted


@observe(on=(RESULT, NOTIFICATION), method=(*REPORTING, STATUS), when="task")
def note_reports(message: Message) -> None:
    """Note the state of the tasks that a message reports."""
    if message.again:
        return
    for _, report in reports(message):
        id, status, table = report.get("taskId"), report.get("status"), tasks(message.session).of[message.sender]
        if not isinstance(id, str) or masked(id) or not isinstance(status, str):
            continue
        task = table.get(id)
        if task is None or (message.method in AUGMENTED and task.request is not message.request):
            task = table[id] = Known(id, message.sender)
        if message.method in AUGMENTED and message.request is not None:
            task.request, task.created = message.request, message
            message.request.notes["known"] = task
        _note_report(task, message, report, status)
    if message.method == LIST and message.kind == RESULT:
        _note_page(message)


def _note_report(task: Known, message: Message, report: Mapping[str, Any], status: str) -> None:
    task.status, task.report = status, message
    task.ttl = report["ttl"] if type(report.get("ttl", "")) in (int, float, type(None)) else ""
    task.interval = seconds(report.get("pollInterval")) or task.interval
    if status in TERMINAL and task.terminal is None:
        task.terminal = message
    poll = message.request
    if message.method == GET and poll is not None and poll.cancelled is None:  # nobody reads what was cancelled
        task.wanting = task.wanting + 1 if status == "input_required" and not task.fetching() else 0
    if task.receiver == SERVER:
        wanting = tasks(message.session).wanting
        if status == "input_required":
            wanting[task.id] = task
        else:
            wanting.pop(task.id)


def _note_page(message: Message) -> None:
    known, asked = tasks(message.session), message.request
    if asked is None:
        return
    ids = {each["taskId"] for _, each in reports(message) if isinstance(each.get("taskId"), str)}
    cursor = asked.params.get("cursor")
    run = ListRun(asked, message, 1, ids)
    if "cursor" in asked.params:
        before = known.open.pop((message.sender, cursor)) if isinstance(cursor, str) else None
        if before is None or len(before.ids) > Bounds().entries:
            return
        before.ids.update(ids)
        run = ListRun(before.first, message, before.pages + 1, before.ids)
    following = message.result.get("nextCursor")
    if isinstance(following, str):
        known.open[message.sender, following] = run
    elif following is None:
        known.complete[message.sender] = run


@observe(on=RESULT, method="tools/list")
def note_needy(message: Message) -> None:
    """Note that a tool only runs as a task."""
    if any(members(each.get("execution")).get("taskSupport") == "required" for _, each in new_items(message)):
        tasks(message.session).needy = True
        noted(message.connection, "needy")


@observe(on=REQUEST)
def note_request(message: Message) -> None:
    """Note what is asked of a task, and what a task asks."""
    if message.method == "ping":
        return
    state = tasks(message.session)
    state.last[message.sender] = message.time
    if message.method in ABOUT_ONE:
        id = message.params.get("taskId")
        if isinstance(id, str):
            state.named[message.receiver][id] = None
        task = known(message, id)
        if task is not None:
            _note_asked(task, message)
    elif RELATED in message.meta:
        id = related(message)
        owner: Optional[Known] = state.of[message.sender].get(id) if isinstance(id, str) else None
        if owner is not None:
            owner.asked.append(message)


def _note_asked(task: Known, message: Message) -> None:
    if message.method == GET:
        task.early = task.early + 1 if is_early(task, message) else 0
        task.poll, task.poll_interval, task.polls = message, task.interval, task.polls + 1
    elif message.method == FETCH:
        task.fetch, task.wanting = message, 0
    else:
        task.cancel = task.cancel or message


@observe(on=(RESULT, ERROR), method=FETCH)
def note_payload(message: Message) -> None:
    """Note what a task has ended with."""
    task = known(message, target(message))
    if task is not None and task.payload is None and not message.again and (
            message.kind == RESULT or task.terminal is not None):
        task.payload = payload(message)


def payload(message: Message) -> Tuple[str, Any]:
    """Return what a response says, without its metadata: its kind, with a digest or the code of its error."""
    if message.kind == ERROR:
        return ERROR, message.error.get("code")
    return RESULT, digest_of_result(message.result)


def digest_of_result(result: Mapping[str, Any]) -> int:
    """Return a digest of a result without its metadata, whatever the order of its members."""
    return content(_sorted({name: value for name, value in result.items() if name != "_meta"}))


def _sorted(value: Any, depth: int = 32) -> Any:
    """Return a JSON value with the members of its objects in one order; what is deeper stays as it is."""
    if depth and isinstance(value, dict):
        return {name: _sorted(value[name], depth - 1) for name in sorted(value)}
    return [_sorted(each, depth - 1) for each in value] if depth and isinstance(value, list) else value


# Scenes

ID = "786512e2-9e0d-44bd-8f29-789f320fe840"
OTHER_ID = "0c5b7e5f-24b6-4a39-9d0e-4d0cc1b5a7d1"
_CAPABLE = 'server={"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}'
ASKING = ('elicitation/create {"message": "Name?", "requestedSchema": {"type": "object", "properties": '
          '{"name": {"type": "string"}}}, "_meta": {"%s": {"taskId": "%s"}}}' % (RELATED, ID))
ANSWER = '{"action": "decline", "_meta": {"%s": {"taskId": "%s"}}}' % (RELATED, ID)
DONE = '{"content": [], "_meta": {"%s": {"taskId": "%s"}}}' % (RELATED, ID)


def report(status: str = "working", id: str = ID, more: Mapping[str, Any] = {}) -> str:
    """Return a report for a scene."""
    return str(dumps({"taskId": id, "status": status, "createdAt": "2025-11-25T10:30:00Z",
                      "lastUpdatedAt": "2025-11-25T10:30:00Z", "ttl": 3600000, **more}))


def listed(support: str = ', "execution": {"taskSupport": "optional"}', on: str = "stdio") -> str:
    """Return the beginning of a scene: a session with a server that runs tools as tasks, and the list of its tool."""
    return """
    on %s 2025-11-25 %s
    C #1 tools/list
    S #1 {"tools": [{"name": "slow", "inputSchema": {"type": "object"}%s}]}
""" % (on, _CAPABLE, support)


def created(more: str = "", on: str = "stdio", task: Mapping[str, Any] = {}) -> str:
    """Return the beginning of a scene in which the tool runs as a task.

    ``more``: members of the params of the call. ``task``: members of the report.
    """
    return listed(on=on) + """
    C #2 tools/call {"name": "slow", "task": {"ttl": 3600000}%s}
    S #2 {"task": %s}
""" % (more, report(more=task))
