"""Rules of `tasks/get`, `tasks/update` and `tasks/cancel` (page extensions/tasks/tasks): what the results have."""

from typing import Any, Dict, Mapping, Optional

from ....messages.tools import CallToolResult
from ....methods import CANCEL_TASK, GET_TASK, TASK_NOTICE, UPDATE_TASK
from ....wiretrace import SERVER
from ...observed import NOTIFICATION, RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import has_mask, is_integer, members, short, typed
from ..basic.errors import says_complete
from ..server.tools import fits_output
from ..tasks.known import digest_of_result
from .task_creation import fits, scene
from .task_state import (
    CANCELLED, COMPLETED, FAILED, INPUT_REQUIRED, WORKING, declared, id_of, state_of, task_of,
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
