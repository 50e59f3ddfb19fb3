"""Rules of the state of a task, its times and its end [2025-11-25 basic/utilities/tasks §Behavior Requirements]."""

from typing import Any, Callable, List, Optional, Union

from ...observed import ERROR, NOTIFICATION, RESULT, Message
from ...rules import KEPT, TASKED, Broken, CannotTell, Verdict, rule
from ...values import is_time, masked, short
from ..server.errorcodes import INVALID_PARAMS, METHOD_NOT_FOUND
from .known import (
    AUGMENTED, CANCEL, GET, ID, REPORTING, STATUS, STATUSES, TERMINAL, Known, created, is_augmented, is_later, known,
    listed, related, report, reports, same_requestor, seconds, target, tasks,
)

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
