"""Rules of what clients do about tasks (page extensions/tasks/tasks): they ask, answer questions, and end it."""

from typing import List, Mapping, Optional, Union

from .....methods import CANCELLED, GET_TASK, LIST_ROOTS, TASK_NOTICE, UPDATE_TASK
from .....wiretrace import CLIENT, SERVER
from ...httpfacts import decoded, mask_of
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Message, ObservedConnection
from ...rules import FINISH, KEPT, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import members, short
from ..transports.http_headers import NAME, asking
from .task_requests import scene
from .task_state import (
    INPUT_REQUIRED, INVALID_PARAMS, METHODS, TERMINAL, ObservedTask, ObservedTasks, declared, digest, id_of, is_created,
    is_lost, state_of, task_of,
)

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


def _left(connection: ObservedConnection, task: ObservedTask, since: float) -> bool:
    """Return True if the client went on with other work for long, and asked no more about a task that was there."""
    last = connection.state(Work).last
    if last is None or task.terminal or task.cancelled or task.watched:
        return False
    return last.time - since > max(_PATIENCE, 10 * task.interval) and not task.over(last.time)


def _abandoned(connection: ObservedConnection, updated: bool) -> Verdict:
    found: List[Broken] = []
    judged = False
    for task in connection.state(ObservedTasks).known.values()[-_NEWEST:]:
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
def until_the_end(connection: ObservedConnection) -> Verdict:
    """A client that asks about a task does so until the task has ended, or it has cancelled it."""
    return _abandoned(connection, False)


@rule("tasks-ext.observe-after-update", on=FINISH, party=CLIENT, reading=_LEFT, scene=scene(_WORKS + """
    C #2 tasks/get {%(id)s}
    S #2 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s}}
    C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
    S #3 {}
""" + _GOES_ON))
def after_update(connection: ObservedConnection) -> Verdict:
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


UNDECIDED.update({
    "tasks-ext.input-like-standalone-request": "what a user is shown of a question, and how far it is trusted, leaves "
                                               "no message",
})

_CROSSING = 5.0
"""Seconds within which an answer may have been under way when the server's next word came."""
_QUICK, _PATIENT = 60.0, 86400.0
"""Seconds after which roots, which no user is asked for, and any answer, could have been given."""
_LOOKS = 20
"""Looks at a task after which a question is not new."""

_ASKED = """
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
"""
_AGAIN = """
    C #5 tasks/get {%(id)s}
"""
_ANSWER_A = """
    C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
    S #3 {}
"""
_OTHER = '{"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?", "requestedSchema": ' \
         '{"type": "object", "properties": {"name": {"type": "string"}}}}}'
_SECOND = """
  + S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
  - S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": """ + _OTHER + """}}
"""


def _questions(message: Message) -> Mapping[str, object]:
    return members(state_of(message).get("inputRequests"))


def _changed(message: Message, delivered: bool) -> Verdict:
    """Judge the keys whose answers were, or were not, delivered before."""
    task, verdict = task_of(message), None
    for key, question in _questions(message).items() if task is not None else ():
        first = task.questions.get(key) if task is not None else None
        if task is None or first is None or (key in task.delivered) != delivered:
            continue
        if digest(question) != first:
            return Broken("the key %s has another question than before" % short(key, 40),
                          "result.inputRequests.%s" % key[:40])
        verdict = KEPT
    return verdict


_SAME = "a question of another method or with other params is another one"


@rule("tasks-ext.input-key-unique-per-task", on=(RESULT, NOTIFICATION), method=(GET_TASK, TASK_NOTICE), party=SERVER,
      reading=_SAME, scene=scene(_ASKED + _AGAIN + _SECOND))
def unique(message: Message) -> Verdict:
    """A key stands for one question as long as the task lives."""
    return _changed(message, False)


@rule("tasks-ext.input-key-not-reused", on=(RESULT, NOTIFICATION), method=(GET_TASK, TASK_NOTICE), party=SERVER,
      reading=_SAME, scene=scene(_ASKED + _ANSWER_A + _AGAIN + _SECOND))
def not_reused(message: Message) -> Verdict:
    """The key of a question that was answered is not given to another one."""
    return _changed(message, True)


@rule("tasks-ext.get-all-outstanding-inputs", on=RESULT, method=GET_TASK,
      reading="a question that was left out, and is there again without an answer, was open all the time",
      scene=scene(_ASKED + _AGAIN + """
  + S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
  - S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s}}
    C #6 tasks/get {%(id)s}
    S #6 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
"""))
def all_open(message: Message) -> Verdict:
    """A task that waits for input shows all questions that are open."""
    task, asked = task_of(message), message.request
    if task is None or asked is None or not _questions(message):
        return None
    for key, question in _questions(message).items():
        gap = task.left_out.get(key)
        if gap is not None and asked.index > gap and key not in task.answered and (
                digest(question) == task.questions.get(key)):
            return Broken("the question %s was left out before" % short(key, 40), "result.inputRequests")
    return KEPT if task.snapshot is not None else None


# What the client answers


def _keys(message: Message) -> List[str]:
    return list(members(message.params.get("inputResponses")))


def _stray(task: ObservedTask, key: str, time: float) -> str:
    """Return why a key is not open; "" if it may be."""
    if key not in task.questions:
        return "the server never asked %s" % short(key, 40)
    snapshot = task.snapshot
    if snapshot is None or key in snapshot.keys or time - snapshot.time < _CROSSING:
        return ""
    done = task.delivered.get(key)
    return "%s was answered before" % short(key, 40) if (
        done is not None and done.time < snapshot.time and not is_lost(done)) else ""


def _knows_all(message: Message, task: ObservedTask) -> bool:
    """Return True if all questions of a task were seen."""
    return task.created is not None and len(task.questions) < _MOST_KEYS and message.connection.from_start and not (
        message.connection.http and task.watched)


_MOST_KEYS = 64


@rule("tasks-ext.update-answers-outstanding-keys", on=REQUEST, method=UPDATE_TASK,
      follows="session:tasks-ext.get-input-required", scene=scene(_ASKED + """
  + C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
  - C #3 tasks/update {%(id)s, "inputResponses": {"z": %(answer)s}}
    S #3 {}
"""))
def answers_open(message: Message) -> Verdict:
    """A client answers questions that are open."""
    task = task_of(message)
    if task is None or message.sender != CLIENT or not _keys(message):
        return None
    found: List[Union[str, Broken]] = []
    for key in _keys(message)[:_MOST_KEYS]:
        why = _stray(task, key, message.time)
        if why and not _knows_all(message, task):
            return CannotTell("the questions that were asked before")
        if why:
            found.append(Broken(why, "params.inputResponses"))
    return found[:4] or KEPT


@rule("tasks-ext.client-answers-once", "tasks-ext.client-deduplicates-inputs", on=REQUEST, method=UPDATE_TASK,
      follows="tasks-ext.update-answers-outstanding-keys", scene=scene(_ASKED + _ANSWER_A + """
  + C #4 tasks/update {%(id)s, "inputResponses": {"b": %(answer)s}}
  - C #4 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s, "b": %(answer)s}}
    S #4 {}
"""))
def answers_once(message: Message) -> Verdict:
    """A client answers a question once."""
    task = task_of(message)
    if task is None or message.sender != CLIENT or not _keys(message):
        return None
    twice = [key for key in _keys(message)[:_MOST_KEYS] if key in task.delivered and not is_lost(task.delivered[key])]
    return Broken("%s was answered before" % short(twice[0], 40), "params.inputResponses") if twice else KEPT


@rule("tasks-ext.update-ignores-unknown-keys", on=(RESULT, ERROR), method=UPDATE_TASK, party=SERVER,
      provoked="tasks-ext.update-answers-outstanding-keys", scene=scene(_ASKED + """
    C #3 tasks/update {%(id)s, "inputResponses": {"z": %(answer)s}}
  + S #3 {}
  - S #3 !-32602 "Unknown key z"
"""))
def ignores(message: Message) -> Verdict:
    """A server passes over answers to questions that it has not asked."""
    task, request = task_of(message), message.request
    if task is None or request is None or declared(message) is not True or not _knows_all(message, task):
        return None
    keys = _keys(request)[:_MOST_KEYS]
    if not keys or not all(key not in task.questions or key in task.delivered for key in keys) or not all(
            isinstance(each, dict) for each in members(request.params.get("inputResponses")).values()):
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS or task.status in TERMINAL or task.cancelled or (
            task.over(message.time)):
        return None
    return Broken("error %s for an answer to %s, which is not open" % (
        message.error.get("code"), short(keys[0], 40)), "error.code")


def _patience(question: object) -> float:
    return _QUICK if members(question).get("method") == LIST_ROOTS else _PATIENT


_WAITS = """{"status": "input_required", %(task)s, "inputRequests": {"r": {"method": "roots/list"}}}"""
_ROOTS = """
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 """ + _WAITS + """
  + C #3 tasks/update {%(id)s, "inputResponses": {"r": {"roots": []}}}
  + S #3 {}
    repeat 20 C #10<n> tasks/get {%(id)s}
    repeat 20 S #10<n> """ + _WAITS + """
    @ 100
    C #50 tasks/get {%(id)s}
    S #50 """ + _WAITS + """
"""


@rule("tasks-ext.client-answers-by-update", on=RESULT, method=GET_TASK, party=CLIENT,
      reading="a client that looks on can list its roots in a minute, and has an answer of its user after a day",
      scene=scene(_ROOTS))
def answers(message: Message) -> Verdict:
    """A client that sees the questions of a task answers them."""
    task = task_of(message)
    if task is None or message.result.get("status") != INPUT_REQUIRED or task.cancelled:
        return None
    verdict = None
    for key, question in _questions(message).items():
        since, looks = task.first_asked.get(key, (message.time, 0))
        if key in task.answered:
            verdict = KEPT
        elif looks >= _LOOKS and message.time - since >= _patience(question) and key not in task.reproached:
            task.reproached[key] = None
            return Broken("no answer to %s after %d looks in %d seconds" % (
                short(key, 40), looks, min(message.time - since, 1e9)), "result.inputRequests")
    return verdict
