"""Rules of polling, and of tasks that want input [2025-11-25 basic/utilities/tasks §Getting Tasks],
[2025-11-25 basic/utilities/tasks §Input Required Status].
"""

from typing import List, Union

from ....wiretrace import CLIENT, SERVER
from ...observed import OTHER, REQUEST, RESULT, Connection, Message, Session
from ...rules import FINISH, KEPT, Broken, Verdict, rule
from ...values import short
from .known import (
    ANSWER, ASKING, FETCH, GET, ID, Known, created, is_early, known, report, seconds, target, tasks,
)

_IN_A_ROW = 3
"""Polls: one that comes early may have a cause of its own."""
_LONG = 600.0
"""Seconds: the page names no number."""
_UNANSWERED = 30.0
"""Seconds until which a question counts as waiting: a server may give up without a word."""
_LEAVES = 60.0
"""Seconds after the last answer, the page has no number."""
_ASKS = ("elicitation/create", "sampling/createMessage")
_MOST = 8
"""Findings of one kind in a session."""
_GET = '    C #%d tasks/get {"taskId": "' + ID + '"}\n    S #%d %s\n'


# How often


@rule("tasks.respect-poll-interval", on=REQUEST, method=GET,
      reading="%d polls in a row, each within half of the interval, are too frequent" % _IN_A_ROW,
      scene=created(task={"pollInterval": 5000}) + "".join("  + @ 5\n    @ 0.1\n" + _GET % (
          number, number, report(more={"pollInterval": 5000})) for number in range(3, 8)))
def respects_interval(message: Message) -> Verdict:
    """Polls come as far apart as the receiver of the task suggests."""
    task = known(message, target(message))
    if task is None or task.poll is None or not task.interval or task.terminal is not None or message.session.mixed:
        return None
    if not is_early(task, message) or task.early + 1 != _IN_A_ROW:
        return KEPT
    return Broken("%d polls, each within half of the interval of %.1f seconds" % (_IN_A_ROW, task.interval))


# How long


def _given_up(session: Session, party: str, task: Known) -> bool:
    """Tell whether the requestor has left a task alone that still worked, and went on with other things for long."""
    if task.request is None or task.created is None or task.status != "working" or task.cancel is not None:
        return False
    if task.fetching() or (task.fetch is not None and task.fetch.answer == RESULT):
        return False
    last = max(each.time for each in (task.created, task.poll, task.fetch) if each is not None)
    until = tasks(session).last.get(party, 0.0)
    if task.ttl is not None:
        until = min(until, task.request.time + seconds(task.ttl))
    return until - last > max(_LONG, 20 * task.interval)


def _kind(task: Known) -> str:
    if task.fetch is not None and (task.poll is None or task.poll.index < task.fetch.index):
        return "fetched"
    return "polled" if task.polls else "never"


def _left(connection: Connection, kind: str, evidence: str) -> Verdict:
    found: List[Union[str, Broken]] = []
    seen = False
    for session in connection.every_session():
        if session.mixed:
            continue
        for receiver in (CLIENT, SERVER):
            for task in tasks(session).of[receiver].values():
                seen = seen or task.polls > 0
                if _kind(task) == kind and len(found) < _MOST and _given_up(session, OTHER[receiver], task):
                    found.append(Broken(evidence, party=OTHER[receiver],
                                        at=task.fetch if kind == "fetched" else task.poll or task.created))
    return found or (KEPT if seen else None)


_READING = "ten minutes of other requests, within the lifetime of the task, are long enough for a poll"
_LATER = """
    @ 700
    C #9 tools/call {"name": "slow"}
    S #9 {"content": []}
"""


@rule("tasks.keep-polling", on=FINISH, party=CLIENT, reading=_READING, scene=created() + """
  + C #3 tasks/get {"taskId": "%s"}
  + S #3 %s
""" % (ID, report("completed")) + _LATER)
def keeps_polling(connection: Connection) -> Verdict:
    """A party that has a task asks how it is, and does not only wait to be told."""
    return _left(connection, "never", "the task was never asked for")


@rule("tasks.poll-until-terminal", on=FINISH, party=CLIENT, reading=_READING,
      scene=created() + _GET % (3, 3, report()) + """
  + C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
""" % (ID, report("completed")) + _LATER)
def polls_to_the_end(connection: Connection) -> Verdict:
    """A party that polls a task goes on until the task has ended or wants input."""
    return _left(connection, "polled", "polls end while the task works")


@rule("tasks.poll-while-result-pending", on=FINISH, party=CLIENT, reading=_READING, scene=created() + """
    C #3 tasks/result {"taskId": "%s"}
    S #3 !-32603 "Internal error"
  + C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
""" % (ID, ID, report("completed")) + _LATER)
def polls_after_fetching(connection: Connection) -> Verdict:
    """A party whose `tasks/result` no longer waits goes on to poll the task."""
    return _left(connection, "fetched", "no poll after tasks/result has ended without a result")


# Input


@rule("tasks.input-required", on=RESULT, method=GET, scene=created() + """
    S #7 %s
    C #3 tasks/get {"taskId": "%s"}
  + S #3 %s
  - S #3 %s
    C #7 %s
""" % (ASKING, ID, report("input_required"), report(), ANSWER))
def input_required(message: Message) -> Verdict:
    """A task that waits for an answer of its requestor says that it wants input."""
    task, poll, status = known(message, target(message)), message.request, message.result.get("status")
    if task is None or poll is None or status not in ("working", "input_required"):
        return None
    for asked in task.asked:
        if asked.method in _ASKS and asked.answer is None and asked.cancelled is None and (
                asked.index < poll.index and message.time - asked.time <= _UNANSWERED):
            return KEPT if status == "input_required" else Broken(
                "the status is working, and %s #%s has no answer" % (asked.method, short(asked.id)), "result.status")
    return None


@rule("tasks.input-required-result-call", on=REQUEST, method=(GET, FETCH),
      reading="the third poll of a task that wants input", scene=created() + _GET % (
          3, 3, report("input_required")) + _GET % (4, 4, report("input_required")) + """
  + C #5 tasks/result {"taskId": "%s"}
  - C #5 tasks/get {"taskId": "%s"}
  - S #5 %s
""" % (ID, ID, report("input_required")))
def fetches_questions(message: Message) -> Verdict:
    """A party that finds that a task wants input calls `tasks/result`, to be asked for it."""
    task = known(message, target(message))
    if task is None or not task.wanting or message.session.mixed:
        return None
    if message.method == FETCH:
        return KEPT
    if task.wanting != 2 or task.fetching():
        return None
    return Broken("the third poll, and no tasks/result, since the task wants input")


@rule("tasks.input-required-leave", on=RESULT, method=GET,
      reading="a minute after the last answer, and nothing else is asked", scene=created() + """
    C #3 tasks/result {"taskId": "%s"}
    S #7 %s
    C #7 %s
    @ 90
    C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
  - S #4 %s
""" % (ID, ASKING, ANSWER, ID, report(), report("input_required")))
def leaves(message: Message) -> Verdict:
    """A task that has all the input that it wanted goes on."""
    task, poll = known(message, target(message)), message.request
    if task is None or poll is None or not task.asked or any(each.answer is None for each in task.asked):
        return None
    if max(each.answered for each in task.asked) + _LEAVES > poll.time:
        return None
    if message.result.get("status") != "input_required":
        return KEPT
    return Broken("all answers came %.0f seconds before" % (
        poll.time - max(each.answered for each in task.asked)), "result.status") if task.fetching() else None
