"""Rules of `tasks/get`, `tasks/update` and `tasks/cancel` (page extensions/tasks/tasks): what the results have.

The values of tasks are judged in both forms that tasks have had (pages basic/utilities/tasks and
extensions/tasks/tasks), and so is who offers the extension.
"""

from datetime import timedelta
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .....requirements import Requirement
from .....messages.tools import CallToolResult
from .....methods import (
    CALL_TOOL, CANCEL_TASK, EMBEDDED, GET_TASK, TASKS, TASK_NOTICE, TASK_STATUS, UPDATE_TASK, lookup, result_class,
)
from .....wiretrace import CLIENT, SERVER
from ...observed import NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import has_mask, instant, is_integer, is_time, masked, members, short, typed
from ..basic.definitions import says_complete
from ..basic.versioning import Era
from ..server.tools import fits_output
from ..tasks.known import AUGMENTED, REPORTING, digest_of_result, reports
from .task_requests import fits, scene
from .task_state import (
    CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED, METHODS, WORKING, declared, id_of, is_created, state_of, task_of,
)

_TOLD: Dict[str, Any] = {"on": (RESULT, NOTIFICATION), "method": (GET_TASK, TASK_NOTICE), "party": SERVER}
"""A notification says what `tasks/get` would."""
_CROSSING = 5.0
"""Seconds within which a notification may have been overtaken by what the server said later."""

_LOOK = """
    %%(on)s
    %%(created)s
    C #2 tasks/get {%%(id)s}
  + S #2 {"status": "%s", %%(task)s%s}
  - S #2 {"status": "%s", %s}
"""


def _looked(status: str, kept: str, broken: str) -> str:
    """Return the scene of a look at a task."""
    return scene(_LOOK % (status, kept, status, broken))


def _fault_of_task(result: Mapping[str, Any], id: Optional[str]) -> Optional[Broken]:
    """Return what a result lacks of a task; None if nothing."""
    for name in ("taskId", "createdAt", "lastUpdatedAt"):
        if not isinstance(result.get(name), str):
            return Broken("%s is %s" % (name, typed(result[name]) if name in result else "missing"), "result." + name)
    if "ttlMs" not in result or not (result["ttlMs"] is None or is_integer(result["ttlMs"])):
        return Broken("ttlMs is %s" % (typed(result["ttlMs"]) if "ttlMs" in result else "missing"), "result.ttlMs")
    if id is not None and result["taskId"] != id and not has_mask([result["taskId"], id]):
        return Broken("the task %s instead of %s" % (short(result["taskId"]), short(id)), "result.taskId")
    return None


def _is_state(message: Message, status: str) -> bool:
    return message.sender == SERVER and message.request is not None and not message.again and (
        message.result.get("status") == status and declared(message) is True)


def _moved(message: Message, final: str) -> Optional[Broken]:
    """Return that a task has left a status that is final; None if it has not.

    A server may mark a task as failed after its time to live.
    """
    task, asked, status = task_of(message), message.request, state_of(message).get("status")
    if task is None or task.terminal != final or status == final or (status == FAILED and task.over(message.time)):
        return None
    if message.time <= task.ended + _CROSSING if asked is None else asked.index < task.terminal_at:
        return None
    return Broken("%s after %s" % (short(status), final), "%s.status" % _place(message))


def _place(message: Message) -> str:
    return "result" if message.kind == RESULT else "params"


def _final(message: Message, status: str) -> Verdict:
    """Judge a result about a task that is, or was, in a final status."""
    if message.sender != SERVER or message.again or (message.kind == RESULT and declared(message) is not True):
        return None
    moved = _moved(message, status)
    if moved is not None:
        return moved
    if not _is_state(message, status):
        return None
    return _fault_of_task(message.result, id_of(message)) or KEPT


@rule("tasks-ext.get-working", on=RESULT, method=GET_TASK, scene=_looked("working", "", "%(id)s"))
def working(message: Message) -> Verdict:
    """A task at work is answered by its state."""
    if not _is_state(message, WORKING):
        return None
    return _fault_of_task(message.result, id_of(message)) or KEPT


@rule("tasks-ext.get-input-required", on=RESULT, method=GET_TASK,
      scene=_looked("input_required", ', "inputRequests": {"a": %(question)s}', "%(task)s"))
def input_required(message: Message) -> Verdict:
    """A task that waits for input is answered by its state and its questions."""
    if not _is_state(message, INPUT_REQUIRED):
        return None
    if not isinstance(message.result.get("inputRequests"), dict):
        return Broken("input_required without questions", "result.inputRequests")
    return _fault_of_task(message.result, id_of(message)) or KEPT


@rule("tasks-ext.get-completed", **_TOLD,
      scene=_looked("completed", ', "result": {"content": []}', "%(task)s"))
def completed(message: Message) -> Verdict:
    """A task that is completed is answered by its state and its result, and stays so."""
    if _is_state(message, COMPLETED) and not isinstance(message.result.get("result"), dict):
        return Broken("completed without a result", "result.result")
    return _final(message, COMPLETED)


@rule("tasks-ext.get-cancelled", **_TOLD, scene=scene("""
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 {"status": "cancelled", %(task)s}
    C #3 tasks/get {%(id)s}
  + S #3 {"status": "cancelled", %(task)s}
  - S #3 {"status": "working", %(task)s}
"""))
def cancelled(message: Message) -> Verdict:
    """A task that was cancelled is answered by its state, and stays so."""
    return _final(message, CANCELLED)


_ERROR = ', "statusMessage": "rate limit", "error": {"code": -32603, "message": "rate limit"}'


@rule("tasks-ext.failed-only-for-protocol-errors", "tasks-ext.tool-error-is-completed", on=RESULT, method=GET_TASK,
      scene=_looked("failed", _ERROR, '%(task)s, "statusMessage": "no such city", '
                                      '"result": {"content": [], "isError": true}'))
def tool_errors(message: Message) -> Verdict:
    """A tool that has failed has a result, so its task is completed: failed is for errors of the protocol."""
    if not _is_state(message, FAILED):
        return None
    held = members(message.result.get("result")) or members(message.result.get("error"))
    if "isError" in held or "content" in held:
        return Broken("failed with the result of a tool", "result.status")
    return KEPT


@rule("tasks-ext.get-failed", "tasks-ext.failed-carries-request-error", **_TOLD,
      follows="tasks-ext.failed-only-for-protocol-errors",
      scene=_looked("failed", _ERROR, '%(task)s, "statusMessage": "rate limit", "error": "rate limit"'))
def failed(message: Message) -> Verdict:
    """A task that has failed is answered by its state and the error of its request, and stays so."""
    if _is_state(message, FAILED):
        error = message.result.get("error")
        if not isinstance(error, dict):
            return Broken("the error is %s" % (typed(error) if "error" in message.result else "missing"),
                          "result.error")
        if not is_integer(error.get("code")) or not isinstance(error.get("message"), str):
            return Broken("an error without code or message", "result.error")
    return _final(message, FAILED)


@rule("tasks-ext.failed-status-message", on=RESULT, method=GET_TASK,
      scene=_looked("failed", _ERROR, '%(task)s, "error": {"code": -32603, "message": "rate limit"}'))
def explained(message: Message) -> Verdict:
    """A task that has failed says why in words."""
    if not _is_state(message, FAILED):
        return None
    said = message.result.get("statusMessage")
    return KEPT if isinstance(said, str) and said.strip() else Broken("failed without a message",
                                                                      "result.statusMessage")


@rule("tasks-ext.completed-carries-request-result", **_TOLD,
      scene=_looked("completed", ', "result": {"content": []}', '%(task)s, "result": {"text": "done"}'))
def carries_result(message: Message) -> Verdict:
    """The result of a completed task is what its request would have had without a task, and stays so."""
    state = state_of(message)
    value, place = state.get("result"), "%s.result" % _place(message)
    if state.get("status") != COMPLETED or not isinstance(value, dict) or (
            message.kind == RESULT and not _is_state(message, COMPLETED)):
        return None
    task = task_of(message)
    if task is None or task.request is None:
        return CannotTell("the request that has become the task")
    if has_mask(value):
        return KEPT
    wrong, kind = fits(CallToolResult, value, task.request), value.get("resultType", "complete")
    if wrong or kind != "complete":
        return Broken("no result of a call: %s" % (wrong or "its type is %s" % short(kind)), place)
    if task.result not in (None, digest_of_result(value)):
        return Broken("another result than before", place)
    output = fits_output(task.request, value, place) if value.get("isError", False) is False else KEPT
    return output if isinstance(output, Broken) else KEPT


# The type of the results, and acknowledgements


def _complete(message: Message) -> Verdict:
    if message.sender != SERVER or message.request is None or declared(message) is not True:
        return None
    return says_complete(message)


_TYPE = "jsonrpc.result-type-required"


@rule("tasks-ext.get-result-type-complete", on=RESULT, method=GET_TASK, follows=_TYPE, scene=scene("""
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
  + S #2 {"status": "working", %(task)s}
  - S #2 {"status": "working", %(task)s, "resultType": "task"}
"""))
def get_is_complete(message: Message) -> Verdict:
    """The result of `tasks/get` is of the type complete, whatever the task's status."""
    return _complete(message)


_ACK = """
    %%(on)s
    %%(created)s
    C #2 tasks/get {%%(id)s}
    S #2 {"status": "input_required", %%(task)s, "inputRequests": {"a": %%(question)s}}
    C #3 %s {%%(id)s%s}
  + S #3 {}
  - S #3 {%s}
"""
_UPDATE = (UPDATE_TASK, ', "inputResponses": {"a": %(answer)s}')
_CANCEL = (CANCEL_TASK, "")
_STATE = '"status": "working", %(task)s'


@rule("tasks-ext.update-result-type-complete", on=RESULT, method=UPDATE_TASK, follows=_TYPE,
      scene=scene(_ACK % (*_UPDATE, '"resultType": "task"')))
def update_is_complete(message: Message) -> Verdict:
    """The result of `tasks/update` is of the type complete."""
    return _complete(message)


@rule("tasks-ext.cancel-result-type-complete", on=RESULT, method=CANCEL_TASK, follows=_TYPE,
      scene=scene(_ACK % (*_CANCEL, '"resultType": "task"')))
def cancel_is_complete(message: Message) -> Verdict:
    """The result of `tasks/cancel` is of the type complete."""
    return _complete(message)


def _empty(message: Message) -> Verdict:
    if message.sender != SERVER or message.request is None or declared(message) is not True:
        return None
    more = [name for name in message.result if name not in ("resultType", "_meta")]
    return Broken("it has %s" % ", ".join(short(name, 30) for name in more[:4]), "result") if more else KEPT


@rule("tasks-ext.update-empty-ack", on=RESULT, method=UPDATE_TASK, scene=scene(_ACK % (*_UPDATE, _STATE)))
def update_is_empty(message: Message) -> Verdict:
    """Answers are acknowledged by a result that has nothing in it."""
    return _empty(message)


@rule("tasks-ext.cancel-empty-ack", on=RESULT, method=CANCEL_TASK, scene=scene(_ACK % (*_CANCEL, _STATE)))
def cancel_is_empty(message: Message) -> Verdict:
    """A cancellation is acknowledged by a result that has nothing in it."""
    return _empty(message)


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
