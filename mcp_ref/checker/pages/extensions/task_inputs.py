"""Rules of the questions of tasks and their answers (page extensions/tasks/tasks)."""

from typing import List, Mapping, Union

from ....methods import GET_TASK, LIST_ROOTS, TASK_NOTICE, UPDATE_TASK
from ....wiretrace import CLIENT, SERVER
from ...observed import ERROR, NOTIFICATION, REQUEST, RESULT, Message
from ...rules import KEPT, UNDECIDED, Broken, CannotTell, Verdict, rule
from ...values import members, short
from .task_creation import scene
from .task_state import INPUT_REQUIRED, INVALID_PARAMS, TERMINAL, Task, declared, digest, is_lost, state_of, task_of

UNDECIDED.update({
    "tasks-ext.input-like-standalone-request": "what a user is shown of a question, and how far it is trusted, leaves "
                                               "no message",
})

_CROSSING = 5.0
"""Seconds within which an answer may have been under way when the server's next word came."""
_QUICK, _PATIENT = 60.0, 86400.0
"""Seconds after which roots, which no user is asked for, and any answer, could have been given."""
_LOOKS = 20
"""Looks at a task after which a question is not new."""

_ASKED = """
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
"""
_AGAIN = """
    C #5 tasks/get {%(id)s}
"""
_ANSWER_A = """
    C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
    S #3 {}
"""
_OTHER = '{"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?", "requestedSchema": ' \
         '{"type": "object", "properties": {"name": {"type": "string"}}}}}'
_SECOND = """
  + S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
  - S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": """ + _OTHER + """}}
"""


def _questions(message: Message) -> Mapping[str, object]:
    return members(state_of(message).get("inputRequests"))


def _changed(message: Message, delivered: bool) -> Verdict:
    """Judge the keys whose answers were, or were not, delivered before."""
    task, verdict = task_of(message), None
    for key, question in _questions(message).items() if task is not None else ():
        first = task.questions.get(key) if task is not None else None
        if task is None or first is None or (key in task.delivered) != delivered:
            continue
        if digest(question) != first:
            return Broken("the key %s has another question than before" % short(key, 40),
                          "result.inputRequests.%s" % key[:40])
        verdict = KEPT
    return verdict


_SAME = "a question of another method or with other params is another one"


@rule("tasks-ext.input-key-unique-per-task", on=(RESULT, NOTIFICATION), method=(GET_TASK, TASK_NOTICE), party=SERVER,
      reading=_SAME, scene=scene(_ASKED + _AGAIN + _SECOND))
def unique(message: Message) -> Verdict:
    """A key stands for one question as long as the task lives."""
    return _changed(message, False)


@rule("tasks-ext.input-key-not-reused", on=(RESULT, NOTIFICATION), method=(GET_TASK, TASK_NOTICE), party=SERVER,
      reading=_SAME, scene=scene(_ASKED + _ANSWER_A + _AGAIN + _SECOND))
def not_reused(message: Message) -> Verdict:
    """The key of a question that was answered is not given to another one."""
    return _changed(message, True)


@rule("tasks-ext.get-all-outstanding-inputs", on=RESULT, method=GET_TASK,
      reading="a question that was left out, and is there again without an answer, was open all the time",
      scene=scene(_ASKED + _AGAIN + """
  + S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
  - S #5 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s}}
    C #6 tasks/get {%(id)s}
    S #6 {"status": "input_required", %(task)s, "inputRequests": {"a": %(question)s, "b": %(question)s}}
"""))
def all_open(message: Message) -> Verdict:
    """A task that waits for input shows all questions that are open."""
    task, asked = task_of(message), message.request
    if task is None or asked is None or not _questions(message):
        return None
    for key, question in _questions(message).items():
        gap = task.left_out.get(key)
        if gap is not None and asked.index > gap and key not in task.answered and (
                digest(question) == task.questions.get(key)):
            return Broken("the question %s was left out before" % short(key, 40), "result.inputRequests")
    return KEPT if task.snapshot is not None else None


# What the client answers


def _keys(message: Message) -> List[str]:
    return list(members(message.params.get("inputResponses")))


def _stray(task: Task, key: str, time: float) -> str:
    """Return why a key is not open; "" if it may be."""
    if key not in task.questions:
        return "the server never asked %s" % short(key, 40)
    snapshot = task.snapshot
    if snapshot is None or key in snapshot.keys or time - snapshot.time < _CROSSING:
        return ""
    done = task.delivered.get(key)
    return "%s was answered before" % short(key, 40) if (
        done is not None and done.time < snapshot.time and not is_lost(done)) else ""


def _knows_all(message: Message, task: Task) -> bool:
    """Return True if all questions of a task were seen."""
    return task.created is not None and len(task.questions) < _MOST_KEYS and message.connection.from_start and not (
        message.connection.http and task.watched)


_MOST_KEYS = 64


@rule("tasks-ext.update-answers-outstanding-keys", on=REQUEST, method=UPDATE_TASK,
      follows="session:tasks-ext.get-input-required", scene=scene(_ASKED + """
  + C #3 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s}}
  - C #3 tasks/update {%(id)s, "inputResponses": {"z": %(answer)s}}
    S #3 {}
"""))
def answers_open(message: Message) -> Verdict:
    """A client answers questions that are open."""
    task = task_of(message)
    if task is None or message.sender != CLIENT or not _keys(message):
        return None
    found: List[Union[str, Broken]] = []
    for key in _keys(message)[:_MOST_KEYS]:
        why = _stray(task, key, message.time)
        if why and not _knows_all(message, task):
            return CannotTell("the questions that were asked before")
        if why:
            found.append(Broken(why, "params.inputResponses"))
    return found[:4] or KEPT


@rule("tasks-ext.client-answers-once", "tasks-ext.client-deduplicates-inputs", on=REQUEST, method=UPDATE_TASK,
      follows="tasks-ext.update-answers-outstanding-keys", scene=scene(_ASKED + _ANSWER_A + """
  + C #4 tasks/update {%(id)s, "inputResponses": {"b": %(answer)s}}
  - C #4 tasks/update {%(id)s, "inputResponses": {"a": %(answer)s, "b": %(answer)s}}
    S #4 {}
"""))
def answers_once(message: Message) -> Verdict:
    """A client answers a question once."""
    task = task_of(message)
    if task is None or message.sender != CLIENT or not _keys(message):
        return None
    twice = [key for key in _keys(message)[:_MOST_KEYS] if key in task.delivered and not is_lost(task.delivered[key])]
    return Broken("%s was answered before" % short(twice[0], 40), "params.inputResponses") if twice else KEPT


@rule("tasks-ext.update-ignores-unknown-keys", on=(RESULT, ERROR), method=UPDATE_TASK, party=SERVER,
      provoked="tasks-ext.update-answers-outstanding-keys", scene=scene(_ASKED + """
    C #3 tasks/update {%(id)s, "inputResponses": {"z": %(answer)s}}
  + S #3 {}
  - S #3 !-32602 "Unknown key z"
"""))
def ignores(message: Message) -> Verdict:
    """A server passes over answers to questions that it has not asked."""
    task, request = task_of(message), message.request
    if task is None or request is None or declared(message) is not True or not _knows_all(message, task):
        return None
    keys = _keys(request)[:_MOST_KEYS]
    if not keys or not all(key not in task.questions or key in task.delivered for key in keys) or not all(
            isinstance(each, dict) for each in members(request.params.get("inputResponses")).values()):
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS or task.status in TERMINAL or task.cancelled or (
            task.over(message.time)):
        return None
    return Broken("error %s for an answer to %s, which is not open" % (
        message.error.get("code"), short(keys[0], 40)), "error.code")


def _patience(question: object) -> float:
    return _QUICK if members(question).get("method") == LIST_ROOTS else _PATIENT


_WAITS = """{"status": "input_required", %(task)s, "inputRequests": {"r": {"method": "roots/list"}}}"""
_ROOTS = """
    %(on)s
    %(created)s
    C #2 tasks/get {%(id)s}
    S #2 """ + _WAITS + """
  + C #3 tasks/update {%(id)s, "inputResponses": {"r": {"roots": []}}}
  + S #3 {}
    repeat 20 C #10<n> tasks/get {%(id)s}
    repeat 20 S #10<n> """ + _WAITS + """
    @ 100
    C #50 tasks/get {%(id)s}
    S #50 """ + _WAITS + """
"""


@rule("tasks-ext.client-answers-by-update", on=RESULT, method=GET_TASK, party=CLIENT,
      reading="a client that looks on can list its roots in a minute, and has an answer of its user after a day",
      scene=scene(_ROOTS))
def answers(message: Message) -> Verdict:
    """A client that sees the questions of a task answers them."""
    task = task_of(message)
    if task is None or message.result.get("status") != INPUT_REQUIRED or task.cancelled:
        return None
    verdict = None
    for key, question in _questions(message).items():
        since, looks = task.first_asked.get(key, (message.time, 0))
        if key in task.answered:
            verdict = KEPT
        elif looks >= _LOOKS and message.time - since >= _patience(question) and key not in task.reproached:
            task.reproached[key] = None
            return Broken("no answer to %s after %d looks in %d seconds" % (
                short(key, 40), looks, min(message.time - since, 1e9)), "result.inputRequests")
    return verdict
