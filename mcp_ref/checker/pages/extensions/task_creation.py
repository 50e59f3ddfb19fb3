"""Rules of results that are tasks (page extensions/tasks/tasks): when, and of which form."""

import re
from typing import Any, Dict, List, Mapping, Tuple

from ....codec import DecodeError, decode
from ....messages.extensions.tasks import TASK
from ....methods import CALL_TOOL, GET_TASK, TASKS, is_vendor
from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import masked, members, short
from .task_state import (
    INVALID_PARAMS, METHODS, STATUSES, declared, id_of, identity_of, is_created, task_of, tasks,
)

UNDECIDED.update({
    "tasks-ext.client-handles-both-results": "a client that does not ask about a task may have no more use for it, and "
                                             "one that calls again may want a second one",
})

MISSING_CAPABILITY = -32021
ID = "786512e2-9e0d-44bd-8f29-789f320fe840"
WORDS: Dict[str, Any] = {
    "on": 'on stdio 2026-07-28 client={"elicitation": {"form": {}}, "roots": {}, "extensions": {"%s": {}}} '
          'server={"tools": {}, "extensions": {"%s": {}}}' % (TASKS, TASKS),
    "http": 'on http 2026-07-28 client={"extensions": {"%s": {}}} server={"tools": {}, "extensions": {"%s": {}}}' % (
        TASKS, TASKS),
    "none": 'on stdio 2026-07-28 client={} server={"tools": {}, "extensions": {"%s": {}}}' % TASKS,
    "discovered": 'C #90 server/discover {}\n    S #90 {"ttlMs": 60000}',
    "call": 'tools/call {"name": "t", "arguments": {}}',
    "id": '"taskId": "%s"' % ID,
    "times": '"createdAt": "2026-11-22T10:30:00Z", "lastUpdatedAt": "2026-11-22T10:30:00Z", "ttlMs": 3600000',
    "question": '{"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": '
                '{"type": "object", "properties": {"name": {"type": "string"}}}}}',
    "answer": '{"action": "accept", "content": {"name": "ann"}}',
}
WORDS["task"] = "%s, %s" % (WORDS["id"], WORDS["times"])
WORDS["created"] = 'C #1 %s\n    S #1 {"resultType": "task", "status": "working", %s}' % (WORDS["call"], WORDS["task"])
WORDS["missing"] = '{"requiredCapabilities": {"extensions": {"%s": {}}}}' % TASKS


def scene(text: str) -> str:
    """Return a scene with the words filled in."""
    return text % WORDS


@rule("tasks-ext.no-task-for-undeclared", on=RESULT, when="task", scene=scene("""
  + %(on)s
  - %(none)s
    %(created)s
"""))
def undeclared(message: Message) -> Verdict:
    """A request whose capabilities do not have the extension is not answered by a task, whatever others have said."""
    if message.sender != SERVER or message.result.get("resultType") != TASK or message.request is None:
        return None
    known = declared(message)
    if known is None:
        return CannotTell("the capabilities of the client")
    return KEPT if known else Broken("a task, and the request has not declared the extension", "result.resultType")


_FIELDS = {"taskId": str, "status": str, "createdAt": str, "lastUpdatedAt": str}


def _looks_like_task(result: Mapping[str, Any]) -> bool:
    return "content" not in result and result.get("status") in STATUSES and all(
        isinstance(result.get(name), kind) for name, kind in _FIELDS.items())


@rule("tasks-ext.result-type-task-on-create", on=RESULT, when="task", method=CALL_TOOL, scene=scene("""
    %(on)s
    C #1 %(call)s
  + S #1 {"resultType": "task", "status": "working", %(task)s}
  - S #1 {"resultType": "complete", "status": "working", %(task)s}
"""))
def typed(message: Message) -> Verdict:
    """A task in place of a result is of the type task."""
    result = message.result
    if message.sender != SERVER or not _looks_like_task(result):
        return None
    kind = result.get("resultType")
    return KEPT if kind == TASK else Broken(
        "a task whose resultType is %s" % short(kind) if kind is not None else "a task without resultType",
        "result.resultType")


@rule("tasks-ext.result-type-task-only-on-create", on=RESULT, when="task",
      follows=("tasks-ext.get-result-type-complete", "tasks-ext.update-result-type-complete",
               "tasks-ext.cancel-result-type-complete"),
      reading="a request that cannot become a task has no result that creates one", scene=scene("""
    %(on)s
    C #1 %(call)s
  + S #1 {"resultType": "task", "status": "working", %(task)s}
  - S #1 {"resultType": "task", "content": []}
"""))
def only_tasks(message: Message) -> Verdict:
    """A result of the type task is one that creates a task."""
    if message.sender != SERVER or message.result.get("resultType") != TASK or message.request is None:
        return None
    if message.method != CALL_TOOL:
        known = message.method not in METHODS and is_vendor(message.method)
        return None if known else Broken("the result of %s" % short(message.method), "result.resultType")
    return KEPT if isinstance(message.result.get("taskId"), str) else Broken("it has no task", "result.taskId")


@rule("tasks-ext.client-rejects-task-for-unsupported-request", on=REQUEST, method=METHODS,
      provoked="tasks-ext.result-type-task-only-on-create", scene=scene("""
    %(on)s
    C #1 server/discover {}
    S #1 {"resultType": "task", "status": "working", %(task)s}
  + C #2 tools/list {}
  + S #2 {"tools": []}
  + C #4 %(call)s
  + S #4 {"resultType": "task", "status": "working", %(task)s}
    C #3 tasks/get {%(id)s}
    S #3 {"status": "working", %(task)s}
"""))
def rejects(message: Message) -> Verdict:
    """A client does not take a task as the result of a request that cannot become one."""
    id = id_of(message)
    if id is None or message.sender != CLIENT:
        return None
    method = tasks(message).misplaced.get(id)
    if method is None:
        return KEPT if id in tasks(message).known else None
    return Broken("it asks about the task that %s was answered with" % short(method), "params.taskId")


_NAMES_EXTENSION = re.compile(r"io\.modelcontextprotocol/tasks|\btasks? extension\b", re.IGNORECASE)


def names_tasks(message: Message) -> bool:
    """Return True if an error says that the capability for tasks is missing, in the form that is prescribed."""
    required = members(members(message.error.get("data")).get("requiredCapabilities"))
    return message.error.get("code") == MISSING_CAPABILITY and TASKS in members(required.get("extensions"))


@rule("tasks-ext.missing-capability-error", on=ERROR, method=CALL_TOOL, follows="meta.capability-missing-error",
      reading="that the extension is missing is read off the text of the error", scene=scene("""
    %(none)s
    C #1 %(call)s
  + S #1 !-32021 "The tasks extension is required" %(missing)s
  - S #1 !-32602 "The tasks extension is required"
"""))
def missing(message: Message) -> Verdict:
    """A server that can only answer by a task refuses a client without the extension by an error that names it."""
    if message.sender != SERVER or declared(message) is not False:
        return None
    if names_tasks(message):
        return KEPT
    text = message.error.get("message")
    if not isinstance(text, str) or _NAMES_EXTENSION.search(text) is None:
        return None
    if message.error.get("code") != MISSING_CAPABILITY:
        return Broken("error %s says: %s" % (short(message.error.get("code")), short(text)), "error.code")
    return Broken("the error does not name the extension", "error.data.requiredCapabilities")


@rule("tasks-ext.mrtr-before-create-result", on=RESULT, when="task", method=CALL_TOOL,
      reading="a task that comes with the questions or the state of a result that wants input has left them open",
      scene=scene("""
    %(on)s
    C #1 %(call)s
    S #1 {"resultType": "input_required", "inputRequests": {"a": %(question)s}, "requestState": "***0a1b2c3d"}
    C #2 tools/call {"name": "t", "arguments": {}, "inputResponses": {"a": %(answer)s}, "requestState": "***0a1b2c3d"}
  + S #2 {"resultType": "task", "status": "working", %(task)s}
  - S #2 {"resultType": "task", "status": "working", %(task)s, "requestState": "***1a1b2c3d"}
"""))
def settled(message: Message) -> Verdict:
    """The questions that a server has before it creates a task are settled before the result that creates it."""
    if not is_created(message) or message.request is None:
        return None
    found = [name for name in ("inputRequests", "requestState") if name in message.result]
    if found:
        return Broken("a task with %s" % " and ".join(found), "result." + found[0])
    asked = message.request.params
    return KEPT if "inputResponses" in asked or "requestState" in asked else None


# The task is there from the moment on that its id is


_SOON = 60.0
"""Seconds after its creation within which a task without a time to live is not purged."""


@rule("tasks-ext.durable-before-create-result", "tasks-ext.create-waits-for-consistency", on=(RESULT, ERROR),
      method=GET_TASK, party=SERVER, scene=scene("""
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
  + S #2 {"status": "working", %(task)s}
  - S #2 !-32602 "Failed to retrieve task: Task not found"
"""))
def durable(message: Message) -> Verdict:
    """A task can be asked for as soon as the result that creates it is sent."""
    task, asked = task_of(message), message.request
    if task is None or asked is None or task.created is None or task.found or message.again:
        return None
    if asked.time < task.created or task.cancelled or not declared(message):
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS:
        return None
    if identity_of(asked) != task.identity:
        return CannotTell("whether the one who asks may see the task")
    if not message.connection.from_start or task.over(message.time) or (
            message.time - task.created > (_SOON if task.ttl is None else _LONG)):
        return CannotTell("whether the task is kept for so long")
    return Broken("the task is not found %.1f seconds after it was created" % (message.time - task.created),
                  "error.code")


_LONG = 86400.0
"""Seconds after which a server may have been started anew, with a task that is to live on."""


# The ids


_COUNTED = re.compile(r"(.*?)(\d{1,15})\Z", re.DOTALL)
_SHORT = 6
"""Characters of an id that can be found by trying."""


def _counts(ids: List[str]) -> bool:
    """Return True if ids differ by a number at their end only, and it goes up by one."""
    found: List[Tuple[str, int]] = []
    for id in ids:
        match = _COUNTED.match(id[-64:])
        if match is None or masked(id):
            return False
        found.append((id[:-64] + match.group(1), int(match.group(2))))
    return all(one[0] == next[0] and next[1] == one[1] + 1 for one, next in zip(found, found[1:]))


@rule("tasks-ext.id-unguessable", on=RESULT, when="task", method=CALL_TOOL,
      reading="an id of less than %d characters, and three ids in a row that count, can be guessed" % _SHORT,
      scene=scene("""
    %(on)s
    C #1 %(call)s
  + S #1 {"resultType": "task", "status": "working", %(task)s}
  - S #1 {"resultType": "task", "status": "working", "taskId": "t1", %(times)s}
"""))
def unguessable(message: Message) -> Verdict:
    """The id of a task cannot be guessed."""
    if not is_created(message):
        return None
    id = message.result["taskId"]
    if masked(id):
        return CannotTell("the id of the task")
    if len(id) < _SHORT:
        return Broken("the id is %s" % short(id), "result.taskId")
    last = [*tasks(message).created[-2:], id]
    if len(last) == 3 and _counts(last):
        return Broken("the ids count: %s" % ", ".join(short(each, 40) for each in last), "result.taskId")
    return KEPT


def fits(cls: Any, value: Any, message: Message) -> str:
    """Return what of a value does not fit a definition; "" if nothing."""
    if message.revision is None:
        return ""
    try:
        decode(cls, value, message.revision, "result")
    except DecodeError as error:
        return "%s: expected %s, got %s" % (short(error.path), short(error.expected, 80), short(error.got))
    except RecursionError:
        pass
    return ""
