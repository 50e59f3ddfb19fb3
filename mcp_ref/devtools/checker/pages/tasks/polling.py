"""Rules of how a requestor looks at a task [2025-11-25 basic/utilities/tasks §Getting Tasks].

Others are about `tasks/result` [2025-11-25 basic/utilities/tasks §Result Retrieval], about tasks that want input
[2025-11-25 basic/utilities/tasks §Input Required Status], and about the errors of requests about tasks
[2025-11-25 basic/utilities/tasks §Error Handling].
"""

import re
from typing import Any, List, Optional, Union

from .....codec import DecodeError, decoder
from .....methods import CALL_TOOL, lookup, result_class
from .....wiretrace import CLIENT, SERVER
from ...observed import ERROR, OTHER, REQUEST, RESULT, Message, ObservedConnection, ObservedSession
from ...rules import FINISH, KEPT, Broken, CannotTell, Verdict, rule
from ...values import at, masked, members, short
from ..server.errorcodes import code_and_text, internal
from ..server.tools import fits_output, succeeded
from .known import (
    ABOUT_ONE, ANSWER, ASKING, CANCEL, DONE, FETCH, GET, ID, LIST, OPERATIONS, RELATED, Known, created, is_early,
    is_later, known, payload, related, report, same_requestor, seconds, target, tasks,
)

_INVALID_PARAMS, _METHOD_NOT_FOUND = -32602, -32601
_EARLY = re.compile(
    r"not (?:yet )?(?:ready|complete|completed|done|finished|available)|still (?:working|running|in progress|pending)"
    r"|has(?: not|n't) (?:completed|finished|ended)|in progress|non-terminal", re.IGNORECASE)
_GONE = re.compile(
    r"\btask\b.{0,80}(?:not found|does not exist|doesn't exist|not exist|expired|unknown)"
    r"|(?:unknown|no such|invalid|nonexistent) task\b", re.IGNORECASE | re.DOTALL)
_WORDS = "the cause is read off the text of the error"
_FOUND = created() + """
    C #3 tasks/get {"taskId": "%s"}
    S #3 %s
    C #4 tasks/result {"taskId": "%s"}
  + S #4 %s
  - S #4 %s
"""
_NO_TASK = '!-32602 "Task not found"'


def _ended(message: Message, *statuses: str) -> Optional[Known]:
    """Return the task of a response to `tasks/result` that had reported its end before it was asked."""
    task = known(message, target(message))
    if task is None or task.terminal is None or not is_later(message, task.terminal):
        return None
    return task if task.status in statuses else None


def _is_report(message: Message) -> bool:
    """Return True for a result that describes a task, and is no result of a tool, of a sample or of a form."""
    said = members(message.result.get("task")) or message.result
    return "taskId" in said and "status" in said and not {"content", "role", "action"} & set(said)


def _lost(message: Message, task: Known) -> Verdict:
    """Judge an error that says that a task is not there, though it has to be."""
    if not task.kept_until(message.time) or not same_requestor(message, task):
        return CannotTell("whether the task was still kept")
    return Broken("the task has %s, but: %s" % (task.status, short(code_and_text(message)[1])), "error")


@rule("tasks.result-terminal", on=(RESULT, ERROR), method=FETCH,
      scene=_FOUND % (ID, report("completed"), ID, DONE, _NO_TASK))
def result_terminal(message: Message) -> Verdict:
    """After the end of a task `tasks/result` is answered at once with what its request has come to."""
    task = _ended(message, "completed", "failed", "cancelled")
    if task is None:
        return None
    if message.kind == RESULT:
        return Broken("a report of the task", "result") if _is_report(message) else KEPT
    code, text = code_and_text(message)
    if _EARLY.search(text):
        return Broken("the task has ended, but: %s" % short(text), "error")
    if code == _INVALID_PARAMS and _GONE.search(text):
        return _lost(message, task)
    return KEPT if task.status != "completed" else None


@rule("tasks.result-success", on=(RESULT, ERROR), method=FETCH, follows="tasks.result-terminal",
      scene=_FOUND % (ID, report("completed"), ID, DONE, '!-32603 "The result cannot be told"'))
def result_success(message: Message) -> Verdict:
    """The result of a task that has completed is a result, no error."""
    task = _ended(message, "completed")
    if task is None:
        return None
    if message.kind == RESULT:
        return KEPT
    code = message.error.get("code")
    if code == _INVALID_PARAMS and not task.kept_until(message.time):
        return CannotTell("whether the task was still kept")
    if not same_requestor(message, task):
        return CannotTell("whether it is asked for by whom the task belongs to")
    return Broken("error %s, and the task has completed" % short(code), "error")


@rule("tasks.result-error", on=(RESULT, ERROR), method=FETCH, follows="tasks.result-terminal", scene=_FOUND % (
    ID, report("failed", more={"statusMessage": "The disk is full"}), ID, '!-32603 "The disk is full"', DONE))
def result_error(message: Message) -> Verdict:
    """The result of a task that has failed is the error of its request, each time the same."""
    task = _ended(message, "failed")
    if task is None:
        return None
    if message.kind == RESULT:
        fine = message.result.get("isError") is True or _is_report(message)
        return KEPT if fine else Broken("a result, and the task has failed", "result")
    code = message.error.get("code")
    if task.payload is not None and task.payload != payload(message) and _GONE.search(
            code_and_text(message)[1]) is None:
        return Broken("error %s; the answer before was %s" % (
            short(code), "a result" if task.payload[0] == RESULT else "error %s" % short(task.payload[1])), "error")
    return KEPT


@rule("tasks.result-exact", on=RESULT, method=FETCH, follows=("tasks.result-terminal", "tasks.result-blocks"),
      scene=_FOUND % (ID, report("completed"), ID, DONE, DONE.replace('"content": []', '"result": {"content": []}')))
def result_exact(message: Message) -> Verdict:
    """The result of a task is what its request would have had without a task: the same members, and each time."""
    task = known(message, target(message))
    if task is None or task.request is None or message.revision is None:
        return None
    fault = _misfit(message, task.request)
    if fault is not None:
        return fault
    if task.payload is not None and task.payload[0] == RESULT and task.payload != payload(message):
        return Broken("another result than before", "result")
    if task.request.method != CALL_TOOL or not succeeded(message):
        return KEPT
    output = fits_output(task.request, message.result, "result")
    return output if isinstance(output, Broken) else KEPT


def _misfit(message: Message, asked: Message) -> Optional[Broken]:
    row = lookup(asked.method, message.revision) if message.revision is not None else None
    if row is None or row.result is None or message.revision is None:
        return None
    try:
        decoder(result_class(row), message.revision)(message.data.get("result"), "result")
    except DecodeError as error:
        if not masked(at({"result": message.data.get("result")}, error.location)):
            return Broken("%s: expected %s, got %s (a result of %s)" % (
                short(error.path), short(error.expected), short(error.got), asked.method), error.path[:100])
    except RecursionError:
        pass
    return None


_WAITS = created() + """
    C #3 tasks/result {"taskId": "%s"}
  - S #3 %s
    C #4 tasks/get {"taskId": "%s"}
    S #4 %s
  + S #3 %s
"""


@rule("tasks.result-blocks", on=(RESULT, ERROR), method=(FETCH, GET), scene=_WAITS % (ID, DONE, ID, report(), DONE))
def result_blocks(message: Message) -> Verdict:
    """The answer to `tasks/result` waits for the end of the task."""
    task = known(message, target(message))
    if task is None:
        return None
    if message.method == FETCH:
        text = code_and_text(message)[1]
        if message.kind == ERROR and task.terminal is None and _EARLY.search(text):
            return Broken("error %s says: %s" % (short(message.error.get("code")), short(text)), "error")
        return KEPT if message.kind == RESULT else None
    asked, poll = task.fetch, message.request
    if message.kind != RESULT or asked is None or asked.answer != RESULT or poll is None or (
            task.terminal is not None or message.result.get("status") not in ("working", "input_required")):
        return None
    if poll.time <= asked.answered:
        return None
    return Broken("the answer came, and the task is %s after it" % short(message.result.get("status")),
                  party=task.receiver, at=asked)


@rule("tasks.result-related-metadata", on=RESULT, method=FETCH, scene=_FOUND % (
    ID, report("completed"), ID, DONE, '{"content": []}'))
def result_names_task(message: Message) -> Verdict:
    """The result of a task names the task in its metadata."""
    id = target(message)
    if not isinstance(id, str) or masked(id):
        return None
    said = related(message)
    return KEPT if said == id else Broken(
        "the task is %s" % (short(said) if RELATED in message.meta else "missing"), "result._meta." + RELATED)


# Errors


_UNKNOWN = """
    C #7 tasks/get {"taskId": "00000000-0000-4000-8000-000000000000"}
  + S #7 !-32602 "Failed to retrieve task: Task not found"
  - S #7 %s
"""


@rule("tasks.invalid-id", on=ERROR, method=ABOUT_ONE, reading=_WORDS,
      scene=created() + _UNKNOWN % '!-32002 "Task not found"')
def invalid_id(message: Message) -> Verdict:
    """An id of no task is refused by the code of invalid params."""
    code, text = code_and_text(message)
    if _GONE.search(text) is None or code == _METHOD_NOT_FOUND:
        return None
    if message.method == FETCH and known(message, target(message)) is not None:
        return None  # perhaps the error of the request itself
    return KEPT if code == _INVALID_PARAMS else Broken("error %s says: %s" % (short(code), short(text)), "error.code")


@rule("tasks.internal-error", on=ERROR, method=(GET, LIST, CANCEL), reading=_WORDS, scene=created() + """
    C #7 tasks/list
  + S #7 !-32603 "Internal error"
  - S #7 !-32000 "Internal error"
""")
def internal_error(message: Message) -> Verdict:
    """An internal error of what is asked about tasks has the code of internal errors."""
    return internal(message)


@rule("tasks.informative-errors", on=ERROR, method=OPERATIONS, scene=created() + _UNKNOWN % '!-32602 ""')
def informative(message: Message) -> Verdict:
    """An error about tasks says what it is about."""
    text: Any = message.error.get("message")
    if not isinstance(text, str):
        return None
    return KEPT if any(char.isalpha() for char in text) else Broken("the text is %r" % short(text), "error.message")


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


def _given_up(session: ObservedSession, party: str, task: Known) -> bool:
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


def _left(connection: ObservedConnection, kind: str, evidence: str) -> Verdict:
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
def keeps_polling(connection: ObservedConnection) -> Verdict:
    """A party that has a task asks how it is, and does not only wait to be told."""
    return _left(connection, "never", "the task was never asked for")


@rule("tasks.poll-until-terminal", on=FINISH, party=CLIENT, reading=_READING,
      scene=created() + _GET % (3, 3, report()) + """
  + C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
""" % (ID, report("completed")) + _LATER)
def polls_to_the_end(connection: ObservedConnection) -> Verdict:
    """A party that polls a task goes on until the task has ended or wants input."""
    return _left(connection, "polled", "polls end while the task works")


@rule("tasks.poll-while-result-pending", on=FINISH, party=CLIENT, reading=_READING, scene=created() + """
    C #3 tasks/result {"taskId": "%s"}
    S #3 !-32603 "Internal error"
  + C #4 tasks/get {"taskId": "%s"}
  + S #4 %s
""" % (ID, ID, report("completed")) + _LATER)
def polls_after_fetching(connection: ObservedConnection) -> Verdict:
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
