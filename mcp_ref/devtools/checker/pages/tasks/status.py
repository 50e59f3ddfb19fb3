"""Rules of the state of a task, its times and its end [2025-11-25 basic/utilities/tasks §Behavior Requirements].

Others are about the messages of a task, and how they name it
[2025-11-25 basic/utilities/tasks §Associating Task-Related Messages], [2025-11-25 basic/utilities/progress].
"""

from typing import Any, Callable, List, Optional, Union

from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Message, ObservedExchange, id_key
from ...rules import KEPT, RESPONSE, TASKED, Broken, CannotTell, Verdict, rule
from ...values import is_time, masked, short
from ..basic.utilities import request_of_token
from ..server.errorcodes import INVALID_PARAMS, METHOD_NOT_FOUND
from .known import (
    ABOUT_ONE, ANSWER, ASKING, AUGMENTED, CANCEL, CROSSING, FETCH, GET, ID, LIST, OPERATIONS, OTHER_ID, RELATED,
    REPORTING, STATUS, STATUSES, TERMINAL, Known, created, is_augmented, is_later, known, listed, related, report,
    reports, same_requestor, seconds, target, tasks,
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
def get_without_stream(exchange: ObservedExchange) -> Verdict:
    """The answer to `tasks/get` comes as JSON, not as a stream."""
    if exchange.status != 200:
        return None
    return Broken("a stream of events", "Content-Type") if exchange.stream else KEPT


_PROMPTLY = 3600.0
"""Seconds after the end of its lifetime until which a task may still be there."""
_RACE = 5.0
"""Seconds within which the result with a task and the wish to cancel its request may cross."""
Faults = List[Union[str, Broken]]


def _each(message: Message, judge: Callable[[str, Any, Optional[Known]], Optional[Broken]]) -> Verdict:
    """Judge each report of a message, by its place, the report, and the task as it was known before."""
    found: Faults = []
    seen = reports(message)
    table = tasks(message.session).of[message.sender]
    for where, each in seen:
        id = each.get("taskId")
        task: Optional[Known] = table.get(id) if isinstance(id, str) else None
        if message.method in AUGMENTED and task is not None and task.request is not message.request:
            task = None
        broken = judge(where, each, task)
        if broken is not None:
            found.append(broken)
    return found or (KEPT if seen else None)


# Ids


@rule("tasks.id-string", on=TASKED, method=(*REPORTING, STATUS), scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - S #2 {"task": """ + report().replace('"%s"' % ID, "5") + """}
""")
def id_string(message: Message) -> Verdict:
    """The id of a task is a string."""
    return _each(message, lambda where, each, _: None if isinstance(each.get("taskId", ""), str) else Broken(
        "the id is %s" % short(each.get("taskId")), where + ".taskId"))


@rule("tasks.id-unique", on=TASKED, method=AUGMENTED, scene=created() + """
    C #3 tools/call {"name": "slow", "task": {}}
  + S #3 {"task": """ + report(id="0c5b7e5f-24b6-4a39-9d0e-4d0cc1b5a7d1") + """}
  - S #3 {"task": """ + report() + """}
""")
def id_unique(message: Message) -> Verdict:
    """No two tasks of a party have the same id while both are kept."""
    made = reports(message)
    if not made or message.again:
        return None
    table = tasks(message.session).of[message.sender]
    id = made[0][1].get("taskId")
    before: Optional[Known] = table.get(id) if isinstance(id, str) and not masked(id) else None
    if before is None or before.request is message.request:
        return CannotTell("the tasks before") if table.forgot else KEPT
    if not before.kept_until(message.time):
        return CannotTell("whether the task before was deleted")
    return Broken("the task of request #%s has the id, too" % (before.request and before.request.id),
                  "result.task.taskId")


# Statuses


@rule("tasks.starts-working", on=TASKED, method=AUGMENTED, scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - S #2 {"task": """ + report("completed") + """}
""")
def starts_working(message: Message) -> Verdict:
    """A task begins with the status working."""
    return _each(message, lambda where, each, _: None if each.get("status", "working") == "working" else Broken(
        "the first status is %s" % short(each.get("status")), where + ".status"))


def _from(message: Message, before: str) -> Verdict:
    """Judge the reports of tasks that were in a status: each next one is one of the page."""
    seen: List[bool] = []

    def judge(where: str, each: Any, task: Optional[Known]) -> Optional[Broken]:
        if task is None or task.status != before or message.again:
            return None
        seen.append(True)
        status = each.get("status", before)
        return None if status in STATUSES else Broken("%s after %s" % (short(status), before), where + ".status")

    found = _each(message, judge)
    return found if isinstance(found, list) else KEPT if seen else None


def _next_status(before: str, later: str, wrong: str) -> str:
    return created() + """
    C #3 tasks/get {"taskId": "%s"}
    S #3 %s
    C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
  - S #4 %s
""" % (ID, report(before), ID, report(later), report(wrong))


@rule("tasks.from-working", on=TASKED, method=(*REPORTING, STATUS),
      scene=_next_status("working", "completed", "paused"))
def from_working(message: Message) -> Verdict:
    """A task that works goes on to one of the statuses of the page."""
    return _from(message, "working")


@rule("tasks.from-input-required", on=TASKED, method=(*REPORTING, STATUS),
      scene=_next_status("input_required", "working", "pending"))
def from_input_required(message: Message) -> Verdict:
    """A task that wants input goes on to one of the statuses of the page."""
    return _from(message, "input_required")


def _after_end(message: Message, ends: "tuple[str, ...]") -> Verdict:
    seen, unsure = [], []

    def judge(where: str, each: Any, task: Optional[Known]) -> Optional[Broken]:
        end = task.terminal if task is not None else None
        if task is None or end is None or task.status not in TERMINAL or message.again:
            return None
        last = task.status
        if last not in ends or not isinstance(each.get("status"), str):
            return None
        seen.append(True)
        if each["status"] == last:
            return None
        if not is_later(message, end):
            unsure.append(True)
            return None
        return Broken("%s after %s" % (short(each["status"]), last), where + ".status")

    found = _each(message, judge)
    if isinstance(found, list):
        return found
    return CannotTell("which of two reports was made first") if unsure else KEPT if seen else None


@rule("tasks.terminal-final", on=TASKED, method=(*REPORTING, STATUS),
      scene=_next_status("completed", "completed", "working"))
def terminal_final(message: Message) -> Verdict:
    """A task that has completed or failed keeps that status."""
    return _after_end(message, ("completed", "failed"))


@rule("tasks.cancel-final", on=TASKED, method=(*REPORTING, STATUS), scene=created() + """
    C #3 tasks/cancel {"taskId": "%s"}
    S #3 %s
    C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
  - S #4 %s
""" % (ID, report("cancelled"), ID, report("cancelled"), report("completed")))
def cancel_final(message: Message) -> Verdict:
    """A task that was cancelled stays so, even if its work comes to an end."""
    return _after_end(message, ("cancelled",))


_FAILED = created() + """
    C #3 tasks/get {"taskId": "%s"}
  + S #3 %s
  - S #3 %s
"""


@rule("tasks.status-message-on-failure", on=RESULT, method=GET, scene=_FAILED % (
    ID, report("failed", more={"statusMessage": "The disk is full"}), report("failed")))
def status_message(message: Message) -> Verdict:
    """The report of a task that has failed says why."""
    if message.request is None or message.result.get("status") != "failed":
        return None
    text = message.result.get("statusMessage")
    if isinstance(text, str) and text.strip():
        return KEPT
    return Broken("failed, and no statusMessage", "result.statusMessage")


# Times


def _times(message: Message, name: str) -> Verdict:
    def judge(where: str, each: Any, _: Optional[Known]) -> Optional[Broken]:
        value = each.get(name)
        if isinstance(value, str) and (masked(value) or is_time(value)):
            return None
        return Broken("%s is %s" % (name, short(value) if name in each else "missing"), "%s.%s" % (where, name))

    return _each(message, judge)


@rule("tasks.created-at", on=TASKED, method=REPORTING, scene=_FAILED % (
    ID, report(), report().replace('"2025-11-25T10:30:00Z"', "1712", 1)))
def created_at(message: Message) -> Verdict:
    """The report of a task says when it was created, as a time of ISO 8601."""
    return _times(message, "createdAt")


@rule("tasks.last-updated-at", on=TASKED, method=REPORTING, scene=_FAILED % (
    ID, report(), report(more={"lastUpdatedAt": "yesterday"})))
def last_updated_at(message: Message) -> Verdict:
    """The report of a task says when it was changed last, as a time of ISO 8601."""
    return _times(message, "lastUpdatedAt")


@rule("tasks.ttl-reported", on=(RESULT, ERROR), method=GET,
      reading="a task that is unknown before its lifetime is over had another one than was reported", scene=_FAILED % (
          ID, report(), report().replace(', "ttl": 3600000', "").replace(',"ttl":3600000', "")))
def ttl_reported(message: Message) -> Verdict:
    """The answer to `tasks/get` has the lifetime for which the task is really kept: milliseconds, or null."""
    asked = message.request
    if asked is None:
        return None
    if message.kind == RESULT:
        ttl = message.result.get("ttl", "")
        if "ttl" in message.result and type(ttl) in (int, float, type(None)) and (ttl is None or ttl >= 0):
            return KEPT
        return Broken("ttl is %s" % (short(ttl) if "ttl" in message.result else "missing"), "result.ttl")
    task = known(message, target(message))
    if message.error.get("code") != INVALID_PARAMS or task is None or related(asked) is not None:
        return None
    if not task.kept_until(message.time) or not same_requestor(message, task):
        return CannotTell("whether the task was still kept")
    return Broken("the task is unknown, and its lifetime of %s is not over" % short(task.ttl), "error")


@rule("tasks.limit-ttl", on=TASKED, method=AUGMENTED, reading="a lifetime without limit is beyond any maximum",
      scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - S #2 {"task": """ + report(more={"ttl": None}) + """}
""")
def limit_ttl(message: Message) -> Verdict:
    """The lifetime of a task has a limit."""
    return _each(message, lambda where, each, _: None if each.get("ttl", 0) is not None else Broken(
        "the lifetime is unlimited", where + ".ttl"))


@rule("tasks.clean-up", on=RESULT, method=GET, reading="an hour after its lifetime a task should be gone",
      scene=created(task={"ttl": 60000}) + """
  - @ 9000
    C #3 tasks/get {"taskId": "%s"}
    S #3 %s
""" % (ID, report(more={"ttl": 60000})))
def clean_up(message: Message) -> Verdict:
    """A task whose lifetime is over is removed before long."""
    task, ttl = known(message, target(message)), message.result.get("ttl")
    if task is None or task.created is None or message.request is None or type(ttl) not in (int, float):
        return None
    over = message.request.time - task.created.time - seconds(ttl)
    return KEPT if over <= _PROMPTLY else Broken("still there %.0f seconds after its lifetime" % over, "result")


# Cancelling


@rule("tasks.cancel-not-notification", on=(NOTIFICATION, RESULT), method=("notifications/cancelled", CANCEL),
      scene=created() + """
    @ 20
  + C #3 tasks/cancel {"taskId": "%s"}
  + S #3 %s
  - C notifications/cancelled {"requestId": 2}
""" % (ID, report("cancelled")))
def not_by_notification(message: Message) -> Verdict:
    """A request that has become a task is cancelled by `tasks/cancel`, not by a notification."""
    request = message.request
    if message.kind == RESULT:
        return KEPT
    if request is None or request.sender != message.sender or not is_augmented(request) or (
            "task" not in request.notes):
        return None
    if message.time - request.answered <= _RACE:
        return CannotTell("whether the task was known when the notification was sent")
    return Broken("the request #%s is a task" % short(request.id), "params.requestId")


@rule("tasks.cancel-terminal-error", on=(RESULT, ERROR), method=CANCEL, scene=created() + """
    C #3 tasks/get {"taskId": "%s"}
    S #3 %s
    C #4 tasks/cancel {"taskId": "%s"}
  + S #4 !-32602 "The task has completed"
  - S #4 %s
""" % (ID, report("completed"), ID, report("completed")))
def cancel_terminal(message: Message) -> Verdict:
    """A wish to cancel a task that has ended is refused, by the code of invalid params."""
    task = known(message, target(message))
    if task is None or task.terminal is None or not is_later(message, task.terminal):
        return None
    code = message.error.get("code")
    if message.kind == RESULT:
        return Broken("a result, and the task was %s" % task.status, "result")
    if code == METHOD_NOT_FOUND and not message.has_capability(message.sender, "tasks.cancel"):
        return None
    return KEPT if code == INVALID_PARAMS else Broken("error %s" % short(code), "error.code")


@rule("tasks.cancel-transition", on=RESULT, method=CANCEL, follows="tasks.cancel-terminal-error", scene=created() + """
    C #3 tasks/cancel {"taskId": "%s"}
  + S #3 %s
  - S #3 %s
""" % (ID, report("cancelled"), report("working")))
def cancel_transition(message: Message) -> Verdict:
    """A task is cancelled before the wish to cancel it is answered."""
    status = message.result.get("status")
    if message.request is None or not isinstance(status, str):
        return None
    return KEPT if status == "cancelled" else Broken("the status is %s" % short(status), "result.status")
