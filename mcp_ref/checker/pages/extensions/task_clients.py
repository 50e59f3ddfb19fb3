"""Rules of what clients do about tasks (page extensions/tasks/tasks): how often they ask, how long, and how they end
it.
"""

from typing import List, Optional

from ....methods import CANCELLED, GET_TASK
from ....wiretrace import CLIENT
from ...httpfacts import decoded, mask_of
from ...observed import NOTIFICATION, REQUEST, Connection, Message
from ...rules import FINISH, KEPT, Broken, CannotTell, Verdict, observe, rule
from ...values import short
from ..transports.http_headers import NAME, asking
from .task_creation import scene
from .task_state import METHODS, Task, Tasks, declared, id_of, is_created, task_of

_HASTE = 3
"""Times in a row that a client has to ask too early: once may be the wish of a user."""
_LATENCY = 5.0
"""Seconds within which a message may have been under way when another one was sent."""
_PATIENCE = 60.0
"""Seconds, or ten intervals if these are longer, for which a client that is at work has not looked at a task."""
_NEWEST = 256
"""Tasks of one connection that are looked at in its end."""

_PACED = """
    %(on)s
    C #1 %(call)s
    S #1 {"resultType": "task", "status": "working", %(task)s, "pollIntervalMs": 5000}
  + @ 5
    C #2 tasks/get {%(id)s}
    S #2 {"status": "working", %(task)s, "pollIntervalMs": 5000}
  + @ 5
    C #3 tasks/get {%(id)s}
    S #3 {"status": "working", %(task)s, "pollIntervalMs": 5000}
  + @ 5
    C #4 tasks/get {%(id)s}
    S #4 {"status": "working", %(task)s, "pollIntervalMs": 5000}
  + @ 5
    C #5 tasks/get {%(id)s}
    S #5 {"status": "completed", %(task)s, "result": {"content": []}}
"""


@rule("tasks-ext.respect-poll-interval", on=REQUEST, method=GET_TASK,
      reading="asking %d times in a row before half of the interval is over does not respect it" % _HASTE,
      scene=scene(_PACED))
def paced(message: Message) -> Verdict:
    """A client asks about a task no more often than the server has told it."""
    task = task_of(message)
    if task is None or task.polled is None or task.interval <= 0 or message.sender != CLIENT:
        return None
    if not task.is_hasty(message.time):
        return KEPT
    if task.hasty + 1 != _HASTE:
        return None
    return Broken("asked again after %.3f of %.3f seconds, the third time" % (
        message.time - task.polled, min(task.interval, 1e9)), "params.taskId")


# Until the end of a task


class Work:
    """The last request of a client on a connection that is about no task."""

    def __init__(self) -> None:
        self.last: Optional[Message] = None


def _left(connection: Connection, task: Task, since: float) -> bool:
    """Return True if the client went on with other work for long, and asked no more about a task that was there."""
    last = connection.state(Work).last
    if last is None or task.terminal or task.cancelled or task.watched:
        return False
    return last.time - since > max(_PATIENCE, 10 * task.interval) and not task.over(last.time)


def _abandoned(connection: Connection, updated: bool) -> Verdict:
    found: List[Broken] = []
    judged = False
    for task in connection.state(Tasks).known.values()[-_NEWEST:]:
        look = task.updated if updated else task.last_look
        judged = judged or (bool(task.answered) if updated else look is not None)
        if look is None or (not updated and task.updated is not None):
            continue
        if _left(connection, task, look.time):
            if connection.http or not connection.from_start:
                return CannotTell("whether another client, or another connection, looks at the task")
            found.append(Broken("the task %s is %s, and the client went on with other things" % (
                short(task.id, 40), short(task.status, 20)), at=look))
    return [each for each in found[:4]] or (KEPT if judged else None)


_WORKS = """
    %(on)s
    %(created)s
"""
_GOES_ON = """
    @ 1
  + C #4 tasks/get {%(id)s}
  + S #4 {"status": "completed", %(task)s, "result": {"content": []}}
    @ 100
    C #5 tools/list {}
    S #5 {"tools": []}
"""
_LEFT = "a client that works on for a minute or ten intervals without a look has given the task up"


@rule("tasks-ext.poll-until-terminal", on=FINISH, party=CLIENT, reading=_LEFT, scene=scene(_WORKS + """
    C #3 tasks/get {%(id)s}
    S #3 {"status": "working", %(task)s}
""" + _GOES_ON))
def until_the_end(connection: Connection) -> Verdict:
    """A client that asks about a task does so until the task has ended, or it has cancelled it."""
    return _abandoned(connection, False)


@rule("tasks-ext.observe-after-update", on=FINISH, party=CLIENT, reading=_LEFT, scene=scene(_WORKS + """
    C #2 tasks/get {%(id)s}
    S #2 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s}}
    C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
    S #3 {}
""" + _GOES_ON))
def after_update(connection: Connection) -> Verdict:
    """A client that has answered the questions of a task looks at it again until it has ended."""
    return _abandoned(connection, True)


@observe(on=REQUEST)
def work(message: Message) -> None:
    """Note that a client works on."""
    if message.sender == CLIENT and message.method not in METHODS:
        message.connection.state(Work).last = message


@rule("tasks-ext.no-cancelled-notification-for-task", on=NOTIFICATION, method=CANCELLED, scene=scene("""
    %(on)s
    C #7 %(call)s
  + C notifications/cancelled {"requestId": 7}
  - S #7 {"resultType": "task", "status": "working", %(task)s}
    @ 60
  - C notifications/cancelled {"requestId": 7}
    C #8 tools/list {}
    S #8 {"tools": []}
"""))
def not_so(message: Message) -> Verdict:
    """A task is cancelled by `tasks/cancel`, not by the notification that cancels its request."""
    request = message.request
    if message.sender != CLIENT:
        return None
    if isinstance(message.params.get("taskId"), str):
        return Broken("it names the task %s" % short(message.params["taskId"], 40), "params.taskId")
    if request is None or request.session is not message.session or not declared(request):
        return None
    if "became" not in request.notes:
        return KEPT
    if message.time - request.answered <= _LATENCY:
        return CannotTell("which of result and cancellation was sent first")
    if message.connection.http:
        return CannotTell("which client sent the request: several may share the connection")
    return Broken("the request #%s has become a task" % short(request.id), "params.requestId")


@observe(on="result", method="tools/call", when="task")
def become(message: Message) -> None:
    """Note on a request that it has become a task."""
    if is_created(message) and message.request is not None:
        message.request.notes["became"] = True


@rule("tasks-ext.http-name-header-is-task-id", on=REQUEST, method=METHODS, needs="http", scene=scene("""
    %(http)s
  + C [3] #1 tasks/get {%(id)s}
  - C [3 Mcp-Name=t] #1 tasks/get {%(id)s}
    S [3] 400 {"Content-Type": "application/json"}
    S [3] #1 !-32602 "Task not found"
"""))
def routed(message: Message) -> Verdict:
    """Over HTTP a request about a task has the task's id in its header."""
    exchange, id = asking(message), id_of(message)
    if exchange is None or id is None:
        return None
    value = exchange.header(NAME.lower())
    if value is None:
        return Broken("a request without it", NAME)
    if mask_of(value) or mask_of(id):
        return None
    return KEPT if decoded(value) == id else Broken("%s instead of %s" % (short(value, 40), short(id, 40)), NAME)
