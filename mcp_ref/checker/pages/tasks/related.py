"""Rules of the messages of a task, and of how they name it
[2025-11-25 basic/utilities/tasks §Associating Task-Related Messages], [2025-11-25 basic/utilities/progress].
"""

from typing import Any

from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Exchange, Message, id_key
from ...rules import KEPT, RESPONSE, TASKED, Broken, CannotTell, Verdict, rule
from ...values import masked, short
from ..basic.progress import request_of_token
from ..server.errorcodes import INVALID_PARAMS
from .known import (
    ABOUT_ONE, ANSWER, ASKING, CANCEL, CROSSING, FETCH, GET, ID, LIST, OPERATIONS, OTHER_ID, RELATED, STATUS, Known,
    created, is_augmented, known, related, report, same_requestor, target, tasks,
)

_PROGRESS = "notifications/progress"
_ASKS = ("elicitation/create", "sampling/createMessage")
_FEW = 8
"""Requests of a client under way: with more of them it is not looked which one a question belongs to."""
_KEY = '"_meta": {"%s": {"taskId": "%s"}}'
_OWN = _KEY % (RELATED, ID)


def _names(message: Message, where: str, id: str) -> Verdict:
    """Judge a message that belongs to a task."""
    said = related(message)
    if said == id or masked(said):
        return KEPT
    return Broken("the task is %s" % (short(said) if RELATED in message.meta else "missing"),
                  "%s._meta.%s" % (where, RELATED))


# What belongs to a task


@rule("tasks.related-metadata", on=TASKED, scene=created() + """
    S #7 """ + ASKING + """
  + C #7 """ + ANSWER + """
  - C #7 {"action": "decline"}
""")
def related_metadata(message: Message) -> Verdict:
    """A message of a task names the task in its metadata: its progress, what it asks, and the answers."""
    if RELATED in message.meta and not isinstance(related(message), str):
        return Broken("the task is %s" % short(message.meta[RELATED]),
                      "%s._meta.%s" % ("result" if message.kind == RESULT else "params", RELATED))
    if message.kind not in (RESULT, NOTIFICATION) or message.method in OPERATIONS:
        return None
    if message.kind == RESULT:
        id = related(message.request) if message.request is not None else None
        if not isinstance(id, str) or is_augmented(message.request) or "task" in message.result:
            return None
        return _names(message, "result", id)
    task = _progressing(message)
    if task is None or task.created is None:
        return None
    if RELATED not in message.meta and message.exchange is not None and (
            message.exchange is not task.created.exchange or message.time - task.created.time <= CROSSING):
        return CannotTell("which of task and progress was sent first")
    return _names(message, "params", task.id)


def _progressing(message: Message) -> Any:
    """Return the task of the request that a progress notification is for; None if it is for no task."""
    if message.method != _PROGRESS:
        return None
    request = request_of_token(message)
    return request.notes.get("known") if request is not None else None


@rule("tasks.related-metadata-elicitation", on=REQUEST, method=_ASKS, party=SERVER, follows="tasks.related-metadata",
      scene=created() + """
  + S #7 """ + ASKING + """
  + C #7 """ + ANSWER + """
  - S #7 """ + ASKING.replace(ID, OTHER_ID) + """
  - C #7 """ + ANSWER.replace(ID, OTHER_ID) + """
""")
def related_to_a_task(message: Message) -> Verdict:
    """A question of a task to its requestor names that task, not another one."""
    id = related(message)
    if message.sender != SERVER or not isinstance(id, str) or masked(id):
        return None
    state = tasks(message.session)
    if id in state.of[SERVER] or id in state.named[SERVER]:
        return KEPT
    pending = message.connection.pending[CLIENT]
    if message.connection.http or not message.session.from_start or state.of[SERVER].forgot or (
            state.named[SERVER].forgot or len(pending) > _FEW or any(is_augmented(each) for each in pending.values())):
        return CannotTell("the tasks of the server")
    return Broken("there is no task %s" % short(id), "params._meta." + RELATED)


@rule("tasks.input-required-metadata", on=REQUEST, method=_ASKS, party=SERVER,
      reading="a question that comes while one task waits for input, and nothing else is under way, is that task's",
      scene=created() + """
    C #3 tasks/get {"taskId": "%s"}
    S #3 %s
    C #4 tasks/result {"taskId": "%s"}
  + S #7 %s
  + C #7 %s
  - S #7 %s
  - C #7 {"action": "decline"}
""" % (ID, report("input_required"), ID, ASKING, ANSWER, ASKING.replace(", " + _OWN, "")))
def asks_for_a_task(message: Message) -> Verdict:
    """A question of a task to its requestor names the task."""
    if message.sender != SERVER:
        return None
    if RELATED in message.meta:
        return KEPT
    wanting, pending = tasks(message.session).wanting, message.connection.pending[CLIENT]
    if len(wanting) != 1 or len(pending) > _FEW or message.session.mixed:
        return None
    task: Known = wanting.values()[0]
    under_way = [each for each in pending.values() if each.session is message.session]
    if task.asked or any(each.method not in OPERATIONS for each in under_way):
        return None
    return Broken("the task %s waits for input, and nothing else is under way" % short(task.id),
                  "params._meta." + RELATED)


# What has the id in its params


@rule("tasks.related-metadata-omitted", on=REQUEST, method=ABOUT_ONE, scene=created() + """
  + C #3 tasks/get {"taskId": "%s"}
  - C #3 tasks/get {"taskId": "%s", %s}
    S #3 %s
""" % (ID, ID, _OWN, report()))
def omitted(message: Message) -> Verdict:
    """A request about a task does not name it in its metadata as well."""
    return Broken("the task is named twice", "params._meta." + RELATED) if RELATED in message.meta else KEPT


@rule("tasks.related-metadata-omitted-results", on=RESULT, method=(GET, LIST, CANCEL), scene=created() + """
    C #3 tasks/get {"taskId": "%s"}
  + S #3 %s
  - S #3 %s
""" % (ID, report(), report(more={"_meta": {RELATED: {"taskId": ID}}})))
def omitted_in_results(message: Message) -> Verdict:
    """A report of a task does not name it in its metadata as well."""
    return Broken("the task is named twice", "result._meta." + RELATED) if RELATED in message.meta else KEPT


@rule("tasks.status-notification-no-metadata", on=NOTIFICATION, method=STATUS, scene=created() + """
  + S notifications/tasks/status %s
  - S notifications/tasks/status %s
""" % (report("completed"), report("completed", more={"_meta": {RELATED: {"taskId": ID}}})))
def omitted_in_status(message: Message) -> Verdict:
    """A notification of a task's status does not name the task in its metadata as well."""
    return Broken("the task is named twice", "params._meta." + RELATED) if RELATED in message.meta else KEPT


@rule("tasks.id-param-authoritative", on=RESULT, method=(GET, CANCEL), scene=created() + """
    C #3 tasks/get {"taskId": "%s"}
  + S #3 %s
  - S #3 %s
""" % (ID, report(), report(id=OTHER_ID)))
def answers_for_param(message: Message) -> Verdict:
    """The answer about a task is about the one that the params name."""
    id, said = target(message), message.result.get("taskId")
    if not isinstance(id, str) or not isinstance(said, str) or masked(id) or masked(said):
        return None
    return KEPT if said == id else Broken("the answer is about %s" % short(said), "result.taskId")


@rule("tasks.related-metadata-ignored", on=(RESULT, ERROR), method=ABOUT_ONE, provoked="tasks.related-metadata-omitted",
      follows="tasks.id-param-authoritative", scene=created() + """
    C #3 tasks/get {"taskId": "%s", %s}
  + S #3 %s
  - S #3 !-32602 "Task not found"
""" % (ID, _KEY % (RELATED, OTHER_ID), report()))
def ignores_metadata(message: Message) -> Verdict:
    """A request about a task is not refused because of another id in its metadata."""
    asked, task = message.request, known(message, target(message))
    if asked is None or task is None or RELATED not in asked.meta or related(asked) == task.id:
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS or (message.method == CANCEL and task.terminal is not None) or (
            message.method == FETCH):
        return None
    if not task.kept_until(message.time) or not same_requestor(message, task):
        return CannotTell("whether the task was still kept")
    return Broken("the task is refused that the params name", "error")


# Progress and streams


_WITH_TOKEN = created(more=', "_meta": {"progressToken": "p"}')


@rule("tasks.progress-same-token", "tasks.progress-token-lifetime", on=NOTIFICATION, method=_PROGRESS,
      scene=_WITH_TOKEN + """
  + S notifications/progress {"progressToken": "p", "progress": 1, %s}
  - S notifications/progress {"progressToken": "%s", "progress": 1, %s}
""" % (_OWN, ID, _OWN))
def same_token(message: Message) -> Verdict:
    """The progress of a task has the token of the request that runs as the task."""
    id = related(message)
    task: Any = tasks(message.session).of[message.sender].get(id) if isinstance(id, str) else None
    token = message.params.get("progressToken")
    if task is None or task.request is None or type(token) not in (str, int) or masked(token):
        return None
    wanted = task.request.meta.get("progressToken")
    return KEPT if id_key(token) == id_key(wanted) else Broken(
        "the token %s; the request has %s" % (short(token), short(wanted)), "params.progressToken")


@rule("tasks.progress-stops", on=NOTIFICATION, method=_PROGRESS, scene=_WITH_TOKEN + """
    C #3 tasks/get {"taskId": "%s"}
  + S notifications/progress {"progressToken": "p", "progress": 1, %s}
    S #3 %s
  - S notifications/progress {"progressToken": "p", "progress": 1, %s}
""" % (ID, _OWN, report("completed"), _OWN))
def progress_stops(message: Message) -> Verdict:
    """The progress of a task ends with the task."""
    task = _progressing(message)
    if task is None:
        return None
    if task.terminal is None:
        return KEPT
    if message.exchange is not None and message.time - task.terminal.time <= CROSSING:
        return CannotTell("which of report and progress was sent first")
    return "the task was %s before" % short(task.status)


@rule("tasks.get-no-sse", on=RESPONSE, method=GET, party=SERVER, needs="http",
      reading="a client takes JSON always, so that it is always possible", scene=created(on="http") + """
    C [9] #3 tasks/get {"taskId": "%s"}
  - S [9] stream
  - S [9] event {"id": "0", "data": ""}
    S [9] #3 %s
""" % (ID, report()))
def get_without_stream(exchange: Exchange) -> Verdict:
    """The answer to `tasks/get` comes as JSON, not as a stream."""
    if exchange.status != 200:
        return None
    return Broken("a stream of events", "Content-Type") if exchange.stream else KEPT
