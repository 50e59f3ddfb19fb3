"""Rules of the values of tasks, in both forms that tasks have had (pages basic/utilities/tasks and
extensions/tasks/tasks), and of who offers the extension.
"""

from datetime import timedelta
from typing import Any, List, Mapping, Tuple, Union

from ....methods import CALL_TOOL, EMBEDDED, TASK_NOTICE, TASK_STATUS, TASKS, UPDATE_TASK, lookup, result_class
from ....requirements import Requirement
from ....wiretrace import CLIENT, SERVER
from ...observed import NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import has_mask, instant, is_time, masked, members, short
from ..basic.versioning import Era
from ..tasks.known import AUGMENTED, REPORTING, reports
from .task_creation import fits, scene
from .task_state import METHODS, declared, is_created, state_of, task_of

_PAGE = "extensions/tasks/tasks"
_TELLING = (*REPORTING, TASK_STATUS, TASK_NOTICE)
_SKEW = timedelta(seconds=1)
"""Two times of one task may come from two clocks."""


def _row(id: str, level: str, revisions: str, heading: str) -> Requirement:
    return Requirement(id, level, "both", revisions, _PAGE, heading)


def _told(message: Message) -> List[Tuple[str, Mapping[str, Any]]]:
    """Return the tasks that a message tells of, each with its place."""
    if message.method == CALL_TOOL and message.kind != NOTIFICATION and (
            "task" not in message.result and "taskId" not in message.result):
        return []  # as nearly always
    if message.revision is None or not message.revision.stateless:
        return reports(message)
    if message.method == CALL_TOOL and not is_created(message):
        return []
    state = state_of(message)
    return [("result" if message.kind == RESULT else "params", state)] if state else []


_AS_TOLD = """
    %%(on)s
    %%(created)s
    C #2 tasks/get {%%(id)s}
  + S #2 {"status": "working", %%(task)s}
  - S #2 {"status": "working", %%(id)s, %s}
"""


@rule("schema.task-times", on=(RESULT, NOTIFICATION), method=_TELLING,
      follows=("tasks.created-at", "tasks.last-updated-at"),
      row=_row("schema.task-times", "MUST", "2025-11-25..", "Tasks"),
      scene=scene(_AS_TOLD % '"createdAt": "yesterday", "lastUpdatedAt": "2026-11-22T10:30:00Z", "ttlMs": 60000'))
def times(message: Message) -> Verdict:
    """The times of a task are those of ISO 8601, and none of its changes is older than the task."""
    told = _told(message)
    if not told:
        return None
    found: List[Union[str, Broken]] = []
    for where, task in told:
        made, changed = task.get("createdAt"), task.get("lastUpdatedAt")
        for name, value in (("createdAt", made), ("lastUpdatedAt", changed)):
            if isinstance(value, str) and not masked(value) and not is_time(value):
                found.append(Broken("%s is %s" % (name, short(value)), "%s.%s" % (where, name)))
        first, last = instant(made), instant(changed)
        if first is not None and last is not None and last < first - _SKEW:
            found.append(Broken("changed at %s, and created at %s" % (short(changed), short(made)),
                                where + ".lastUpdatedAt"))
    return found[:4] or KEPT


_DURATIONS = ("ttl", "ttlMs", "pollInterval", "pollIntervalMs")


@rule("schema.task-durations", on=(REQUEST, RESULT, NOTIFICATION), method=_TELLING,
      follows=("tasks.ttl-reported", "schema.params", "schema.result"),
      row=_row("schema.task-durations", "SHOULD", "2025-11-25..", "Tasks"),
      reading="the schema has integers of either sign; a duration of less than nothing is none",
      scene=scene(_AS_TOLD % '%(times)s, "pollIntervalMs": -5000'))
def durations(message: Message) -> Verdict:
    """The lifetime of a task, and the time between two looks at it, are not negative."""
    if message.kind == REQUEST and message.method in AUGMENTED:
        if "task" not in message.params:
            return KEPT
        told = [("params.task", members(message.params["task"]))]
    else:
        told = _told(message)
    if not told:
        return None
    found: List[Union[str, Broken]] = [
        Broken("%s is %s" % (name, short(task[name])), "%s.%s" % (where, name))
        for where, task in told for name in _DURATIONS if type(task.get(name)) in (int, float) and task[name] < 0]
    return found[:4] or KEPT


# Who offers the extension


@rule("schema.task-extension", on=(RESULT, NOTIFICATION), method=(CALL_TOOL, *METHODS, TASK_NOTICE), party=SERVER,
      row=_row("schema.task-extension", "SHOULD", "2026-07-28", "Capability Negotiation"), scene=scene("""
  + %(on)s
  - on stdio 2026-07-28 client={"extensions": {"io.modelcontextprotocol/tasks": {}}} server={"tools": {}}
    %(discovered)s
    %(created)s
"""))
def offered(message: Message) -> Verdict:
    """A server that answers with tasks, or about them, has declared the extension."""
    if message.method == CALL_TOOL and not is_created(message):
        return None
    asked = message.request
    if message.sender != SERVER or (message.kind != NOTIFICATION and (asked is None or declared(asked) is not True)):
        return None
    known = message.has_extension(SERVER, TASKS)
    if known:
        return KEPT
    if known is None or (asked or message).time > message.connection.state(Era).fresh_until:
        return CannotTell("the capabilities of the server now")
    return Broken("%s, and the server has not declared the extension" % (
        message.method if message.method in METHODS else "a task"), "capabilities.extensions")


# What a client answers


_WRONG_ANSWERS = """
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s}}
  + C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
"""


def _answered(message: Message) -> List[Tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Return the answers in a `tasks/update` to questions that are open: each with its key and its question."""
    task = task_of(message)
    if task is None or task.snapshot is None or message.sender != CLIENT:
        return []
    return [(key, members(task.snapshot.keys.get(key)), answer)
            for key, answer in members(message.params.get("inputResponses")).items()
            if isinstance(answer, dict) and key in task.snapshot.keys and not has_mask(answer)]


@rule("schema.task-answers", on=REQUEST, method=UPDATE_TASK, follows="schema.params",
      row=_row("schema.task-answers", "MUST", "2026-07-28", "Task Update Requests"),
      scene=scene(_WRONG_ANSWERS + """
  - C #3 tasks/update {%(id)s, "inputResponses": {"a": {"roots": []}}}
    S #3 {}
"""))
def kinds(message: Message) -> Verdict:
    """The answer to a question of a task is a result of the method that the question has."""
    found: List[Union[str, Broken]] = []
    seen, revision = _answered(message), message.revision
    for key, question, answer in seen:
        row = lookup(str(question.get("method")), revision) if revision is not None else None
        if row is not None and row.carrier != EMBEDDED:
            continue  # the server may not ask that
        wrong = fits(result_class(row), answer, message) if row is not None and row.result is not None else ""
        if row is not None and wrong:
            found.append(Broken("%s (a result of %s)" % (wrong, row.name), "params.inputResponses.%s" % key[:40]))
    return found[:4] or (KEPT if seen else None)
