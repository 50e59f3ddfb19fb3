"""Rules of requests that ask to run as tasks [2025-11-25 basic/utilities/tasks §Capabilities].

Others are about the results that create tasks [2025-11-25 basic/utilities/tasks §Creating Tasks], and about who sees
which task [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control]. Whose a token is nobody can see who
only observes, and a token that was renewed is another one for the same principal. A request without any, about a task
that was made with one, shows.
"""

import re
from typing import Any, Optional, Tuple

from .....methods import lookup
from .....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, REQUEST, RESULT, Message, ObservedExchange
from ...rules import KEPT, TASKED, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import masked, members, short
from ..server.tools import done, tool_of
from .known import (
    ABOUT_ONE, AUGMENTED, CANCEL, FETCH, GET, ID, LIST, credentials, is_augmented, listed, report, reports, target,
    tasks,
)

UNDECIDED.update({
    "tasks.requestor-track": "a requestor may ask for tasks that it has from elsewhere, and leave others alone",
    "tasks.no-reliance-on-notification": "a requestor that does not poll may have given the task up",
    "tasks.messages-any-stream": "a client that does not answer a question may still wait for its user",
    "tasks.http-compliance": "it repeats the page of Streamable HTTP, whose rules judge messages of tasks like others",
    "tasks.cancel-stop": "whether the work itself ends leaves no message",
    "tasks.rate-limit": "a limit shows only when it is reached, and the page names none",
    "tasks.limit-concurrent": "a limit shows only when it is reached, and the page names none",
    "tasks.audit-log": "a log inside the party leaves no message",
    "tasks.requestor-log": "a log inside the party leaves no message",
})

_FEWEST = 11
"""Characters of an id: as base64 they have 66 bits."""
_NUMBER = re.compile(r"(\d{1,18})\D*\Z")
_IDENTITY = re.compile(r"auth|key|token|cookie|cert|user|ident|forwarded|session|via", re.IGNORECASE)


class TaskOwners:
    """The tasks of a server: by id the credentials with which each was made, and the last id."""

    def __init__(self) -> None:
        self.of: "Forgetful[str, Optional[str]]" = Forgetful(Bounds().entries)
        self.last = ""


def _foreign(message: Message, id: Any) -> Verdict:
    """Judge that a task is told to whom sends the message's request."""
    owners = message.connection.state(TaskOwners).of
    if message.request is None or message.request.exchange is None or not isinstance(id, str) or id not in owners:
        return None
    owner, asker = owners.get(id), credentials(message.request)
    if owner is None or owner == asker:
        return KEPT if owner is not None else None
    if asker is not None:
        return CannotTell("whether two tokens are for the same principal")
    return Broken("the task was made with credentials, and is told without", "Authorization")


_LOGGED_IN = listed(on="http") + """
    C [3 Authorization="Bearer ***0a1b2c3d"] #2 tools/call {"name": "slow", "task": {}}
    S [3] #2 {"task": """ + report() + """}
"""


@rule("tasks.context-rejected", "tasks.bind-context", on=(RESULT, ERROR), method=ABOUT_ONE, party=SERVER,
      needs="http", provoked="auth.every-request", scene=_LOGGED_IN + """
    C [4] #3 tasks/get {"taskId": "%s"}
  + S [4] #3 !-32602 "Task not found"
  - S [4] #3 %s
""" % (ID, report()))
def rejects_others(message: Message) -> Verdict:
    """A task that was made with credentials is not told to whom has none."""
    verdict = _foreign(message, target(message)) if message.sender == SERVER else None
    return KEPT if isinstance(verdict, Broken) and message.kind == ERROR else verdict


@rule("tasks.context-list", on=RESULT, method=LIST, party=SERVER, needs="http", provoked="auth.every-request",
      scene=_LOGGED_IN + """
    C [4] #3 tasks/list
  + S [4] #3 {"tasks": []}
  - S [4] #3 {"tasks": [%s]}
""" % report())
def lists_own(message: Message) -> Verdict:
    """A task that was made with credentials is not in the list of whom has none."""
    if message.sender != SERVER or message.request is None or message.request.exchange is None:
        return None
    verdict: Verdict = KEPT
    for place, each in reports(message):
        found = _foreign(message, each.get("taskId"))
        if isinstance(found, Broken):
            return found._replace(where=place)
        verdict = found if isinstance(found, CannotTell) else verdict
    return verdict


def _count(id: str) -> Optional[Tuple[str, int]]:
    """Return an id without its last number, and the number; None if it has none."""
    found = _NUMBER.search(id)
    return (id[:found.start()] + "#" + id[found.end(1):], int(found.group(1))) if found is not None else None


@rule("tasks.id-entropy", on=TASKED, method=AUGMENTED, party=SERVER,
      reading="an id of fewer than %d characters, or one that counts on from the last, can be guessed" % _FEWEST,
      scene=listed() + """
    C #2 tools/call {"name": "slow", "task": {}}
  + S #2 {"task": """ + report() + """}
  - S #2 {"task": """ + report(id="task-1") + """}
""")
def hard_to_guess(message: Message) -> Verdict:
    """The ids of tasks cannot be guessed where nothing binds tasks to a principal."""
    made = reports(message)
    id = made[0][1].get("taskId") if made and message.sender == SERVER else None
    if not isinstance(id, str) or masked(id) or message.request is None:
        return None
    exchange = message.request.exchange
    if exchange is not None and (message.session.id is not None or _identifies(exchange)):
        return CannotTell("whether tasks are bound to a session or a principal")
    before, now = _count(message.connection.state(TaskOwners).last), _count(id)
    if before is not None and now is not None and before[0] == now[0] and now[1] == before[1] + 1:
        return Broken("the id %s is the next after the last one" % short(id), "result.task.taskId")
    return KEPT if len(id) >= _FEWEST else Broken("the id %s" % short(id), "result.task.taskId")


def _identifies(exchange: ObservedExchange) -> bool:
    """Tell whether a request may say who has sent it."""
    return bool(exchange.query) or exchange.url.startswith("https:") or any(
        _IDENTITY.search(name) for name, _ in exchange.fields)


@rule("tasks.no-list-without-identity", on=RESULT, method="initialize", party=SERVER, needs="http",
      reading="over plain HTTP without session, credentials or parameters nothing tells clients apart", scene="""
  + on http 2025-11-25 nosession server={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
  - on http 2025-11-25 nosession server={"tools": {}, "tasks": {"list": {}, "requests": {"tools": {"call": {}}}}}
    C [9] #2 tools/list
    S [9] #2 {"tools": []}
""")
def no_list(message: Message) -> Verdict:
    """A server that cannot tell its clients apart does not offer the list of tasks."""
    exchange = message.exchange
    tasks = message.result.get("capabilities")
    declared = tasks.get("tasks") if isinstance(tasks, dict) else None
    if exchange is None or not isinstance(declared, dict) or message.sender != SERVER:
        return None
    if declared.get("list") in (None, False):
        return KEPT
    if exchange.answer_header("mcp-session-id") is not None or exchange.answer_header("set-cookie") is not None or (
            _identifies(exchange)):
        return CannotTell("whether the server tells its clients apart")
    return Broken("tasks.list is declared", "result.capabilities.tasks.list")


@observe(on=TASKED, method=AUGMENTED)
def note_owner(message: Message) -> None:
    """Note with which credentials a task was made."""
    made = reports(message)
    id = made[0][1].get("taskId") if made and message.sender == SERVER and not message.again else None
    if isinstance(id, str) and not masked(id) and message.request is not None:
        owners = message.connection.state(TaskOwners)
        owners.last = id
        if message.request.exchange is not None:
            owners.of[id] = credentials(message.request)


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
