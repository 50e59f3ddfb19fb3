"""Rules of who sees which task [2025-11-25 basic/utilities/tasks §Task Isolation and Access Control].

Whose a token is nobody can see who only observes, and a token that was renewed is another one for the same principal.
A request without any, about a task that was made with one, shows.
"""

import re
from typing import Any, Optional, Tuple

from ....wiretrace import SERVER
from ...bounds import Bounds, Forgetful
from ...observed import ERROR, RESULT, Exchange, Message
from ...rules import KEPT, TASKED, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import masked, short
from .known import ABOUT_ONE, AUGMENTED, ID, LIST, credentials, listed, report, reports, target

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


class Owners:
    """The tasks of a server: by id the credentials with which each was made, and the last id."""

    def __init__(self) -> None:
        self.of: "Forgetful[str, Optional[str]]" = Forgetful(Bounds().entries)
        self.last = ""


def _foreign(message: Message, id: Any) -> Verdict:
    """Judge that a task is told to whom sends the message's request."""
    owners = message.connection.state(Owners).of
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
    before, now = _count(message.connection.state(Owners).last), _count(id)
    if before is not None and now is not None and before[0] == now[0] and now[1] == before[1] + 1:
        return Broken("the id %s is the next after the last one" % short(id), "result.task.taskId")
    return KEPT if len(id) >= _FEWEST else Broken("the id %s" % short(id), "result.task.taskId")


def _identifies(exchange: Exchange) -> bool:
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
        owners = message.connection.state(Owners)
        owners.last = id
        if message.request.exchange is not None:
            owners.of[id] = credentials(message.request)
