"""Rules of errors about tasks, of listening for tasks and of who may ask (page extensions/tasks/tasks)."""

import re

from ....methods import ACKNOWLEDGED, CANCEL_TASK, GET_TASK, LISTEN, LOG_MESSAGE, PROGRESS, TASKS, UPDATE_TASK
from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, META_SUBSCRIPTION, NOTIFICATION, RESULT, Message
from ...rules import KEPT, Broken, CannotTell, Verdict, rule
from ...values import short
from ..basic.subscriptions import subscription_of
from ..basic.versioning import MODERN_CODES, speaks_modern
from ..server.errorcodes import INTERNAL, INVALID_REQUEST, code_and_text, internal
from .task_creation import names_tasks, scene
from .task_state import INVALID_PARAMS, METHODS, asked_ids, declared, id_of, identity_of, task_of, tasks

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
