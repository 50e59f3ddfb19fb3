"""Rules of requests that become tasks, and of errors about tasks (page extensions/tasks/tasks).

They say when a result is a task and of which form, which errors there are, who may ask, and how a client listens.
"""

import re
from typing import Any, Dict, List, Mapping, Tuple

from .....codec import DecodeError, decode
from .....messages.extensions.tasks import TASK
from .....methods import (
    ACKNOWLEDGED, CALL_TOOL, CANCEL_TASK, GET_TASK, LISTEN, LOG_MESSAGE, PROGRESS, TASKS, UPDATE_TASK, is_vendor,
)
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import masked, members, short
from ..basic.subscriptions import subscription_of
from ..basic.versioning import MODERN_CODES, speaks_modern
from ..server.errorcodes import INTERNAL, INVALID_REQUEST, code_and_text, internal
from .task_state import (
    INVALID_PARAMS, METHODS, STATUSES, asked_ids, declared, id_of, identity_of, is_created, task_of, tasks,
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


_WORDS = "the cause is read off the text of the error"
_NO_TASK = re.compile(
    r"\b(?:(?:unknown|no such|invalid|non-?existent|expired) task|task (?:\S+ )?(?:was |is |has |does )?"
    r"(?:not found|unknown|not exist|expired))\b", re.IGNORECASE)
_PASSED = (*MODERN_CODES, INTERNAL, INVALID_REQUEST, -32700)
"""Codes of what is wrong before a server looks for a task, and inside it."""


def _not_found(message: Message) -> Verdict:
    """Judge the code of an error that says that there is no such task."""
    code, text = code_and_text(message)
    if message.sender != SERVER or declared(message) is not True:
        return None
    if code == INVALID_PARAMS:
        return KEPT
    return Broken("error %s says: %s" % (short(code), short(text)), "error.code") if _NO_TASK.search(text) else None


_MISSING = """
    %%(on)s
    C #2 %s {%%(id)s%s}
  + S #2 !-32602 "Task not found"
  - S #2 !-32603 "Task not found"
"""
_NONE = ', "inputResponses": {}'


@rule("tasks-ext.get-unknown-task-error", on=ERROR, method=GET_TASK, reading=_WORDS,
      scene=scene(_MISSING % (GET_TASK, "")))
def get_unknown(message: Message) -> Verdict:
    """Asking about a task that is not there is answered with the code of invalid params."""
    return _not_found(message)


def _acknowledged(message: Message) -> Verdict:
    """Judge an acknowledgement about a task that the server did not find a moment ago."""
    if message.kind == ERROR:
        return _not_found(message)
    id, asked = id_of(message), message.request
    before = tasks(message).unknown.get(id) if id is not None else None
    if before is None or asked is None or declared(message) is not True or asked.index < before.index:
        return None
    if before.request is None or identity_of(before.request) != identity_of(asked):
        return CannotTell("whether the one who asks may see the task")
    return Broken("acknowledged, and `tasks/get` did not find the task %s" % short(id, 40), "params.taskId")


@rule("tasks-ext.update-unknown-task-error", on=(RESULT, ERROR), method=UPDATE_TASK, party=SERVER, reading=_WORDS,
      scene=scene(_MISSING % (UPDATE_TASK, _NONE)))
def update_unknown(message: Message) -> Verdict:
    """Answers to a task that is not there are refused with the code of invalid params."""
    return _acknowledged(message)


@rule("tasks-ext.cancel-unknown-task-error", on=(RESULT, ERROR), method=CANCEL_TASK, party=SERVER, reading=_WORDS,
      scene=scene(_MISSING % (CANCEL_TASK, "")))
def cancel_unknown(message: Message) -> Verdict:
    """Cancelling a task that is not there is refused with the code of invalid params."""
    return _acknowledged(message)


@rule("tasks-ext.internal-error-code", on=ERROR, method=METHODS, reading=_WORDS, scene=scene("""
    %(on)s
    C #2 tasks/get {%(id)s}
  + S #2 !-32603 "Internal error"
  - S #2 !-32000 "Internal error"
"""))
def internal_code(message: Message) -> Verdict:
    """An internal error of a method of tasks has the code of internal errors."""
    return internal(message)


@rule("tasks-ext.informative-errors", on=ERROR, method=METHODS, scene=scene("""
    %(on)s
    C #2 tasks/get {%(id)s}
  + S #2 !-32602 "Task not found"
  - S #2 !-32602 ""
"""))
def informative(message: Message) -> Verdict:
    """The error of a method of tasks says something."""
    return says_something(message)


def says_something(message: Message) -> Verdict:
    """Judge whether an error has a text."""
    text = message.error.get("message")
    if message.sender != SERVER or not isinstance(text, str):
        return None
    return KEPT if text.strip() else Broken("the error has no text", "error.message")


# Without the extension


@rule("tasks-ext.task-methods-undeclared-error", on=(RESULT, ERROR), method=METHODS, party=SERVER,
      follows="meta.capability-missing-error", scene=scene("""
    %(none)s
    %(discovered)s
    C #2 tasks/get {%(id)s}
  + S #2 !-32021 "Missing required client capability" %(missing)s
  - S #2 !-32602 "Task not found"
"""))
def refused(message: Message) -> Verdict:
    """A server refuses the methods of tasks where a request has not declared the extension."""
    if message.sender != SERVER or message.request is None or message.request.sender != CLIENT:
        return None
    if declared(message) is not False:
        return None
    offered = message.has_extension(SERVER, TASKS)
    if message.kind == RESULT:
        if not (offered or "resultType" in message.result or speaks_modern(message.connection)):
            return CannotTell("whether the server is of a revision without handshake")
        return Broken("it is served, and the request has not declared the extension", "result")
    code = message.error.get("code")
    if names_tasks(message):
        return KEPT
    if code in _PASSED or offered is False:
        return None
    if offered is None:
        return CannotTell("whether the server has the extension")
    return Broken("error %s, and the request has not declared the extension" % short(code), "error.code")


_LISTEN = """
    %(none)s
    %(discovered)s
    C #2 subscriptions/listen {"notifications": {"taskIds": ["786512e2-9e0d-44bd-8f29-789f320fe840"]}}
  + S #2 !-32021 "Missing required client capability" %(missing)s
  - S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"taskIds": ["786512e2-9e0d-44bd-8f29-789f320fe840"]}}
"""


@rule("tasks-ext.listen-undeclared-error", on=(NOTIFICATION, ERROR), method=(ACKNOWLEDGED, LISTEN), party=SERVER,
      follows="meta.capability-missing-error", scene=scene(_LISTEN))
def listened(message: Message) -> Verdict:
    """A server refuses to tell of tasks where the request has not declared the extension."""
    if message.sender != SERVER:
        return None
    found = subscription_of(message) if message.kind == NOTIFICATION else None
    asked = found.request if found is not None else message.request
    if asked is None or not asked_ids(asked.params.get("notifications")) or declared(asked) is not False:
        return None
    offered = asked.has_extension(SERVER, TASKS)
    if message.kind == NOTIFICATION:
        if not asked_ids(message.params.get("notifications")) and not offered:
            return None  # a server that does not know the extension passes over its filter
        return Broken("the subscription is acknowledged, and it has not declared the extension",
                      "params.notifications.taskIds")
    if names_tasks(message):
        return KEPT
    if message.error.get("code") in _PASSED or not offered:
        return None
    return Broken("error %s, and the request has not declared the extension" % short(message.error.get("code")),
                  "error.code")


@rule("tasks-ext.no-progress-or-log-on-listen-stream", on=NOTIFICATION, method=(PROGRESS, LOG_MESSAGE),
      scene=scene("""
    %(on)s
    %(created)s
    C #2 subscriptions/listen {"notifications": {"taskIds": ["786512e2-9e0d-44bd-8f29-789f320fe840"]}}
    S notifications/subscriptions/acknowledged {"_meta": {"io.modelcontextprotocol/subscriptionId": 2}, \
        "notifications": {"taskIds": ["786512e2-9e0d-44bd-8f29-789f320fe840"]}}
    C #3 tools/call {"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}}
  + S notifications/progress {"progressToken": "p", "progress": 1}
  - S notifications/progress {"progressToken": "p", "progress": 1, \
        "_meta": {"io.modelcontextprotocol/subscriptionId": 2}}
    S #3 {"content": []}
"""))
def quiet(message: Message) -> Verdict:
    """A subscription to tasks has neither progress nor log messages."""
    if message.sender != SERVER:
        return None
    found = subscription_of(message)
    if found is not None and asked_ids(found.filter):
        return Broken("%s in a subscription to tasks" % message.method, "params._meta")
    return KEPT if META_SUBSCRIPTION not in message.meta and tasks(message).created else None


# Who may ask


_SECRETS = ("auth", "cookie", "key", "secret", "token")


def _is_anonymous(message: Message) -> bool:
    """Return True if a request carries nothing that may say who sends it."""
    exchange = message.exchange
    return exchange is not None and "token" not in exchange.query and not any(
        word in name.lower() for name, _ in exchange.fields for word in _SECRETS)


@rule("tasks-ext.authorize-each-request", on=(RESULT, ERROR), method=METHODS, party=SERVER, needs="http",
      reading="what was begun with a token is not for those who have none", scene=scene("""
    %(http)s
    C [1 Authorization="Bearer ***0a1b2c3d"] #1 %(call)s
    S [1] #1 {"resultType": "task", "status": "working", %(task)s}
    C [2] #2 tasks/get {%(id)s}
  + S [2] #2 !-32602 "Task not found"
  - S [2] #2 {"status": "working", %(task)s}
"""))
def authorized(message: Message) -> Verdict:
    """A server lets only those at a task who may see it."""
    task, asked = task_of(message), message.request
    if task is None or asked is None or not task.identity or message.sender != SERVER:
        return None
    own = identity_of(asked)
    if own == task.identity:
        return KEPT if message.kind == RESULT else None
    if own:
        return CannotTell("whether two tokens are of the same principal")
    if message.kind == ERROR:
        return KEPT
    return Broken("it is served without the authorization that the task was created with",
                  "Authorization") if _is_anonymous(asked) else None
