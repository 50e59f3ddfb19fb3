"""Rules of requests that ask to run as tasks, and of the results that create tasks
[2025-11-25 basic/utilities/tasks §Capabilities], [2025-11-25 basic/utilities/tasks §Creating Tasks].
"""

import re
from typing import Any, Optional

from ....methods import lookup
from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, TASKED, Broken, CannotTell, Verdict, rule
from ...values import members, short
from ..server.tools import done, tool_of
from .known import AUGMENTED, CANCEL, FETCH, GET, ID, is_augmented, listed, report, tasks

_CALL = "tools/call"
_METHOD_NOT_FOUND, _INVALID_REQUEST = -32601, -32600
_TASK_WORDS = re.compile(r"\btask", re.IGNORECASE)
_PROMPT = 60.0
"""Seconds: the page has no number for "as soon as possible"."""
_NOBODY = "the capabilities of the %s"
_SAMPLE = 'sampling/createMessage {"messages": [], "maxTokens": 1%s}'
_SAID = '{"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}'


def _capability(request: Message) -> str:
    return "tasks.requests." + request.method.replace("/", ".")


def _runs_tasks(request: Message) -> Optional[bool]:
    """Return whether the receiver of a request has said that it runs such requests as tasks; None if unknown."""
    return request.has_capability(request.receiver, _capability(request))


def _support(request: Message) -> Optional[str]:
    """Return what the tool of a call says about tasks; None if it was not listed, or says something else."""
    tool = tool_of(request)
    if tool is None:
        return None
    value: Any = members(tool.get("execution")).get("taskSupport", "forbidden")
    return value if value in ("forbidden", "optional", "required") else None


# Requests


def _augmented_for(message: Message, capability: str) -> Verdict:
    if message.kind != REQUEST or not is_augmented(message) or message.revision is None or (
            lookup(message.method, message.revision) is None):
        return None
    declared = message.has_capability(message.receiver, capability)
    if declared is None:
        return CannotTell(_NOBODY % message.receiver)
    return KEPT if declared else Broken("the %s has not declared %s" % (message.receiver, capability), "params.task")


@rule("tasks.only-if-declared", on=TASKED, follows=("tasks.none-without-capability", "tasks.tools-call-capability"),
      scene="""
  + on stdio 2025-11-25 client={"sampling": {}, "tasks": {"requests": {"sampling": {"createMessage": {}}}}}
  - on stdio 2025-11-25 client={"sampling": {}, "tasks": {"requests": {"elicitation": {"create": {}}}}}
    S #1 """ + _SAMPLE % ', "task": {}' + """
  + C #1 {"task": """ + report() + """}
  - C #1 """ + _SAID + """
""")
def only_if_declared(message: Message) -> Verdict:
    """A request asks to run as a task only if its receiver has declared that for requests of its kind."""
    return _augmented_for(message, _capability(message))


@rule("tasks.none-without-capability", on=TASKED, follows="tasks.tools-call-capability", scene="""
  + on stdio 2025-11-25 client={"sampling": {}, "tasks": {"requests": {"sampling": {"createMessage": {}}}}}
  - on stdio 2025-11-25 client={"sampling": {}}
    S #1 """ + _SAMPLE % ', "task": {}' + """
  + C #1 {"task": """ + report() + """}
  - C #1 """ + _SAID + """
""")
def none_without_capability(message: Message) -> Verdict:
    """No request asks a party to run it as a task that has declared nothing about tasks."""
    return _augmented_for(message, "tasks")


@rule("tasks.tools-call-capability", on=TASKED, method=_CALL, scene="""
  + on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
  - on stdio 2025-11-25 server={"tools": {}, "tasks": {"list": {}}}
    C #1 tools/call {"name": "slow", "task": {}}
  + S #1 {"task": """ + report() + """}
  - S #1 {"content": []}
""")
def tools_call_capability(message: Message) -> Verdict:
    """A client calls a tool as a task only if the server has declared tasks for calls of tools."""
    return _augmented_for(message, _capability(message)) if message.sender == CLIENT else None


_HEAD = """
    on stdio 2025-11-25 server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}"""
_TOOL = '{"tools": [{"name": "slow", "inputSchema": {"type": "object"}%s}]}'
_PLAIN_TOOL = ', "execution": {"taskSupport": "forbidden"}'
_NEEDY_TOOL = ', "execution": {"taskSupport": "required"}'


@rule("tasks.tool-forbidden", on=TASKED, method=_CALL, scene=_HEAD + """
    C #1 tools/list
  + S #1 """ + _TOOL % ', "execution": {"taskSupport": "optional"}' + """
  - S #1 """ + _TOOL % "" + """
  + C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - C #2 tools/call {"name": "slow", "task": {}}
  - S #2 !-32601 "Tasks are not supported"
""")
def tool_forbidden(message: Message) -> Verdict:
    """A client does not call a tool as a task that does not say it may be."""
    if message.kind != REQUEST or message.sender != CLIENT or not is_augmented(message) or not _runs_tasks(message):
        return None
    support = _support(message)
    if support is None:
        return CannotTell("what the tool says about tasks")
    return KEPT if support != "forbidden" else Broken(
        "the tool %s does not run as a task" % short(message.params.get("name")), "params.task")


@rule("tasks.tool-required", on=REQUEST, method=_CALL, when="needy", scene=listed(_NEEDY_TOOL) + """
  + C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - C #2 tools/call {"name": "slow"}
  - S #2 !-32601 "Call it as a task"
""")
def tool_required(message: Message) -> Verdict:
    """A client calls a tool as a task that says it has to be."""
    if not tasks(message.session).needy or message.sender != CLIENT or not _runs_tasks(message) or (
            _support(message) != "required"):
        return None
    return KEPT if is_augmented(message) else Broken(
        "the tool %s only runs as a task" % short(message.params.get("name")), "params.task")


# Answers


def _refusal(message: Message, why: str) -> Verdict:
    """Judge the answer to a call that the tool does not allow: an error for another cause is no fault."""
    code = message.error.get("code")
    if message.kind == RESULT:
        return Broken("a result, though the tool %s" % why, "result")
    if code == _METHOD_NOT_FOUND:
        return KEPT
    text = message.error.get("message")
    if isinstance(text, str) and _TASK_WORDS.search(text) is not None:
        return Broken("error %s says: %s" % (short(code), short(text)), "error.code")
    return CannotTell("whether the error has another cause")


@rule("tasks.tool-forbidden-error", on=TASKED, method=_CALL, party=SERVER, provoked="tasks.tool-forbidden",
      scene=listed(_PLAIN_TOOL) + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 !-32601 "Tasks are not supported"
  - S #2 {"task": """ + report() + """}
""")
def tool_forbidden_error(message: Message) -> Verdict:
    """A server refuses to run a tool as a task that does not say it may be, by the code of unknown methods."""
    asked = message.request
    if asked is None or message.kind not in (RESULT, ERROR) or asked.sender != CLIENT or not is_augmented(asked) or (
            not _runs_tasks(asked) or _support(asked) != "forbidden"):
        return None
    return _refusal(message, "does not run as a task")


@rule("tasks.tool-required-error", on=(RESULT, ERROR), method=_CALL, when="needy", party=SERVER,
      provoked="tasks.tool-required", scene=listed(_NEEDY_TOOL) + """
    C #2 tools/call {"name": "slow"}
  + S #2 !-32601 "Call it as a task"
  - S #2 {"content": []}
""")
def tool_required_error(message: Message) -> Verdict:
    """A server refuses a plain call of a tool that has to run as a task, by the code of unknown methods."""
    asked = message.request
    if not tasks(message.session).needy or asked is None or asked.sender != CLIENT or is_augmented(asked) or (
            not _runs_tasks(asked) or _support(asked) != "required"):
        return None
    if message.error.get("code") == _INVALID_REQUEST:
        return CannotTell("whether the server wants tasks for all calls: the page has another code for that")
    return _refusal(message, "only runs as a task")


_SENT_ANYHOW = """
    C #1 tools/call {"name": "slow", "task": {}}
  + S #1 {"content": []}
  - S #1 {"task": """ + report() + """}
"""


def _made_task(message: Message) -> Optional[bool]:
    """Return whether the result of a request that asked for a task is one; None for any other message."""
    if message.kind != RESULT or not is_augmented(message.request):
        return None
    return isinstance(message.result.get("task"), dict)


@rule("tasks.declare-capability", on=TASKED, method=(*AUGMENTED, GET, FETCH, CANCEL),
      provoked="tasks.tools-call-capability", scene="""
    on stdio 2025-11-25 server={"tools": {}}
""" + _SENT_ANYHOW)
def declare_capability(message: Message) -> Verdict:
    """A party that runs requests as tasks has declared the capability tasks."""
    served = message.method not in AUGMENTED and message.kind == RESULT and message.request is not None
    made, declared = served or _made_task(message), message.has_capability(message.sender, "tasks")
    if made is None:
        return None
    if declared is None:
        return CannotTell(_NOBODY % message.sender)
    return KEPT if declared or not made else Broken(
        "%s, and tasks was not declared" % ("it serves " + message.method if served else "a task"),
        "result" if served else "result.task")


@rule("tasks.ignored-when-undeclared", on=TASKED, method=AUGMENTED, follows="tasks.declare-capability",
      provoked="tasks.tools-call-capability", scene="""
    on stdio 2025-11-25 server={"tools": {}, "tasks": {"list": {}}}
""" + _SENT_ANYHOW)
def ignored(message: Message) -> Verdict:
    """A party that has not declared tasks for a kind of requests answers such a request as if it asked for none."""
    made = _made_task(message)
    declared = _runs_tasks(message.request) if message.request is not None else None
    if made is None:
        return None
    if declared is None:
        return CannotTell(_NOBODY % message.sender)
    return KEPT if declared or not made else Broken("a task, and %s was not declared" % _capability(message),
                                                    "result.task")


@rule("tasks.create-result", on=TASKED, method=AUGMENTED, scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - S #2 {"content": []}
""")
def create_result(message: Message) -> Verdict:
    """A party that runs a request as a task answers it with the task."""
    made, asked = _made_task(message), message.request
    if made is None or asked is None or not _runs_tasks(asked):
        return None
    if made:
        return KEPT
    if asked.method == _CALL:
        support = _support(asked)
        if support == "forbidden":
            return None
        if support is None:
            return CannotTell("what the tool says about tasks")
        if done(message) and message.result.get("isError") is True:
            return CannotTell("whether the call was refused before it became a task")
    return Broken("a result without a task", "result.task")


@rule("tasks.create-result-promptly", on=TASKED, method=_CALL, party=SERVER,
      reading="more than %d seconds, and no question to the client in between, are not soon" % _PROMPT,
      scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  - @ 90
    S #2 {"task": """ + report() + """}
""")
def promptly(message: Message) -> Verdict:
    """A server answers with the task soon, not only when the work is done."""
    asked = message.request
    if not _made_task(message) or asked is None:
        return None
    waited = message.time - asked.time
    if waited <= _PROMPT:
        return KEPT
    if tasks(message.session).last.get(SERVER, -1.0) >= asked.time:
        return CannotTell("whether the server has waited for an answer of the client")
    return Broken("the task came after %.0f seconds" % waited, "result.task")


@rule("tasks.id-by-receiver", on=TASKED, method=AUGMENTED, scene=listed() + """
  + C #2 tools/call {"name": "slow", "task": {}}
  - C #2 tools/call {"name": "slow", "task": {"taskId": \"""" + ID + """\"}}
    S #2 {"task": """ + report() + """}
""")
def id_by_receiver(message: Message) -> Verdict:
    """The party that runs a task makes its id; it does not take one from the request."""
    asked = message.request
    if not _made_task(message) or asked is None:
        return None
    id = members(message.result.get("task")).get("taskId")
    if isinstance(id, str) and id in (members(asked.params.get("task")).get("taskId"), asked.params.get("taskId")):
        return Broken("the request has brought the id %s" % short(id), "result.task.taskId")
    return KEPT
