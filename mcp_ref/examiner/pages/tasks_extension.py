"""Scenes about the extension of tasks in 2026-07-28 [2026-07-28 extensions/tasks/tasks].

The server decides which call becomes a task: so tools that may be called are called, and the first that is answered by
a task serves. What a task looks like the checker sees.
"""

from typing import Any, Dict, List, Optional, Tuple

from ...errors import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY
from ...methods import CALL_TOOL, CANCEL_TASK, GET_TASK, LISTEN, TASKS, UPDATE_TASK
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, refused, scene
from ..stage import SceneStage
from ..talk import CAPABILITIES, Talk
from ..wire import Reaction, as_bytes
from .tasks import NO_TASK, TERMINAL, Tool, ended, guessable

_ABLE: Dict[str, Any] = {CAPABILITIES: {"extensions": {TASKS: {}}}}
"""The capabilities of a client that knows tasks; a server that asks for more is not led to."""
_ASKED: Dict[str, Any] = {CAPABILITIES: {"extensions": {TASKS: {}}, "elicitation": {"form": {}}}}
_INTERVAL = "pollIntervalMs"
_ABOUT_ONE: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    (GET_TASK, {}), (UPDATE_TASK, {"inputResponses": {}}), (CANCEL_TASK, {}))


def _extended(stage: SceneStage) -> Talk:
    """Return the conversation. Raises `NotExamined` without the extension."""
    extensions = stage.talk.capabilities.get("extensions")
    if not isinstance(extensions, dict) or TASKS not in extensions:
        raise NotExamined("the server does not declare the extension %s" % TASKS)
    return stage.talk


def _call(talk: Talk, tool: Tool, meta: Optional[Dict[str, Any]]) -> Reaction:
    return talk.request(CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1]}, meta)


def _id(answer: Reaction) -> Optional[str]:
    """Return the id of the task by which a call was answered; None if it was not."""
    result = answer.result or {}
    return result["taskId"] if result.get("resultType") == "task" and isinstance(result.get("taskId"), str) else None


def _created(stage: SceneStage, meta: Dict[str, Any]) -> List[Tuple[Tool, str]]:
    """Call what may be called; return the tools that were answered by tasks, with their ids. Raises `NotExamined`."""
    talk = _extended(stage)
    found = []
    for tool in stage.callable():
        id = _id(_call(talk, tool, meta))
        found += [(tool, id)] if id is not None else []
    if not found:
        raise NotExamined("no tool that may be called was answered by a task")
    return found


def _look(talk: Talk, id: str, patience: float, wanted: Tuple[str, ...] = TERMINAL) -> Optional[Dict[str, Any]]:
    """Look at a task until it has ended; None if it takes too long."""
    declared, talk.declared = talk.declared, _ASKED[CAPABILITIES]
    try:
        return ended(talk, id, patience, _INTERVAL, wanted)
    finally:
        talk.declared = declared


@scene("extension-task", "tasks-ext.durable-before-create-result", "tasks-ext.create-waits-for-consistency",
       "tasks-ext.id-unguessable", needs="tools",
       provokes="tasks-ext.result-type-task-on-create tasks-ext.result-type-task-only-on-create tasks-ext.get-working "
       "tasks-ext.get-completed tasks-ext.get-failed tasks-ext.get-result-type-complete "
       "tasks-ext.completed-carries-request-result tasks-ext.tool-error-is-completed "
       "tasks-ext.failed-only-for-protocol-errors tasks-ext.failed-carries-request-error "
       "tasks-ext.failed-status-message")
def extension_task(stage: SceneStage) -> Said:
    """A task that is answered can be looked at from then on, until it has ended; nobody can guess its id."""
    talk, found, ids = _extended(stage), [], []  # type: Talk, List[Verdict], List[str]
    for tool, id in _created(stage, _ABLE):
        answer = talk.request(GET_TASK, {"taskId": id}, _ABLE)
        found.append(KEPT if answer.result is not None else Broken(
            "the task of tool %s was answered, and tasks/get: %s" % (tool[0]["name"], answer))
            if answer.message is not None else CannotTell(str(answer)))
        ids += [each for each in (id, _id(_call(talk, tool, _ABLE))) if each is not None]
        _look(talk, id, stage.patience)
    durable = every(found)
    return {"tasks-ext.durable-before-create-result": durable, "tasks-ext.create-waits-for-consistency": durable,
            "tasks-ext.id-unguessable": guessable(ids)}


def _requires(answer: Reaction, more: bool = False) -> Verdict:
    """Return the verdict on an error that has to name the extension as a capability that is missing.

    ``more``: another capability may be missing, too, and be named in its place.
    """
    said = refused(answer, MISSING_CLIENT_CAPABILITY)
    data = (answer.error or {}).get("data")
    needed = data.get("requiredCapabilities") if isinstance(data, dict) else None
    extensions = needed.get("extensions") if isinstance(needed, dict) else None
    if said is KEPT and (not isinstance(extensions, dict) or TASKS not in extensions):
        what = "error.data.requiredCapabilities is %r" % (needed,)
        return CannotTell(what) if more and needed else Broken(what)
    return said


@scene("extension-undeclared", "tasks-ext.no-task-for-undeclared", "tasks-ext.missing-capability-error",
       "extension.fallback", needs="tools", only=lambda revision: revision.stateless)
def extension_undeclared(stage: SceneStage) -> Said:
    """A client that does not know tasks gets none: the result itself, or -32021 with the extension."""
    talk = _extended(stage)
    none: List[Verdict] = []
    missing: List[Verdict] = []
    for tool, _ in _created(stage, _ABLE):
        answer = _call(talk, tool, None)
        none.append(KEPT if _id(answer) is None else Broken("tool %s: a task for a client that does not know tasks" % (
            tool[0]["name"])))
        if answer.error is not None:
            missing.append(_requires(answer, more=True) if answer.code == MISSING_CLIENT_CAPABILITY else CannotTell(
                "the error may have another cause: %s" % answer))
    return {"tasks-ext.no-task-for-undeclared": every(none), "extension.fallback": every(none),
            "tasks-ext.missing-capability-error": every(missing)}


@scene("extension-methods", "tasks-ext.task-methods-undeclared-error", "tasks-ext.listen-undeclared-error",
       only=lambda revision: revision.stateless)
def extension_methods(stage: SceneStage) -> Said:
    """A client that does not say that it knows tasks may not ask about one, nor listen: -32021."""
    talk = _extended(stage)
    asked = [_requires(talk.request(method, {"taskId": NO_TASK, **more})) for method, more in _ABOUT_ONE]
    message = talk.message(LISTEN, {"notifications": {"taskIds": [NO_TASK]}}, id=talk.next_id)
    return {"tasks-ext.task-methods-undeclared-error": every(asked),
            "tasks-ext.listen-undeclared-error": _requires(_first(talk, message, stage.patience))}


def _first(talk: Talk, message: Dict[str, Any], patience: float) -> Reaction:
    """Send a request that opens a stream, and return the first message about it."""
    if talk.wire.is_web:
        return talk.web.send("POST", talk.header_fields(message, {}), as_bytes(message), patience,
                             lambda each: isinstance(each, dict))
    since = len(talk.pipe.messages)
    talk.say(message, seconds=0)
    found = talk.pipe.wait(lambda each: isinstance(each, dict) and each.get("id") in (None, message["id"]), patience,
                           since)
    return Reaction(found, "" if found is not None else "no answer in %g s" % patience)


@scene("extension-unknown", "tasks-ext.get-unknown-task-error", "tasks-ext.update-unknown-task-error",
       "tasks-ext.cancel-unknown-task-error", provokes="tasks-ext.informative-errors tasks-ext.internal-error-code",
       only=lambda revision: revision.stateless)
def extension_unknown(stage: SceneStage) -> Said:
    """A task that there is not is refused: -32602."""
    talk, found = _extended(stage), {}  # type: Talk, Dict[str, Verdict]
    for method, more in _ABOUT_ONE:
        id = "tasks-ext.%s-unknown-task-error" % method.partition("/")[2]
        found[id] = refused(talk.request(method, {"taskId": NO_TASK, **more}, _ABLE), INVALID_PARAMS)
    return found


@scene("extension-cancel", "tasks-ext.cancel-empty-ack", "tasks-ext.update-empty-ack",
       "tasks-ext.update-ignores-unknown-keys", needs="tools",
       provokes="tasks-ext.cancel-result-type-complete tasks-ext.update-result-type-complete tasks-ext.get-cancelled")
def extension_cancel(stage: SceneStage) -> Said:
    """Answers by keys that were never used are acknowledged and ignored, and so is the wish to cancel, by an empty
    result."""
    talk = _extended(stage)
    found: Dict[str, List[Verdict]] = {"tasks-ext.cancel-empty-ack": [], "tasks-ext.update-empty-ack": [],
                                       "tasks-ext.update-ignores-unknown-keys": []}
    for tool, id in _created(stage, _ABLE):
        responses = {"examiner-no-such-key": {"action": "decline"}}
        for name, answer in (
            ("update", talk.request(UPDATE_TASK, {"taskId": id, "inputResponses": responses}, _ABLE)),
            ("cancel", talk.request(CANCEL_TASK, {"taskId": id}, _ABLE)),
        ):
            more = set(answer.result or ()) - {"resultType", "_meta"}
            what = "tasks/%s of a task of tool %s: %s" % (name, tool[0]["name"], answer)
            found["tasks-ext.%s-empty-ack" % name].append(
                CannotTell(what) if answer.result is None else Broken(what) if more else KEPT)
            if name == "update":
                found["tasks-ext.update-ignores-unknown-keys"].append(
                    CannotTell(what) if answer.message is None else KEPT if answer.result is not None else Broken(what))
        talk.request(GET_TASK, {"taskId": id}, _ABLE)
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("extension-input", needs="tools", provokes="tasks-ext.get-input-required tasks-ext.get-all-outstanding-inputs "
       "tasks-ext.input-key-unique-per-task tasks-ext.input-key-not-reused tasks-ext.mrtr-before-create-result")
def extension_input(stage: SceneStage) -> Said:
    """Tasks of a client that can be asked are run to their end; each question is declined."""
    talk = _extended(stage)
    for _, id in _created(stage, _ASKED):
        for _ in range(3):
            state = _look(talk, id, stage.patience, (*TERMINAL, "input_required"))
            questions = (state or {}).get("inputRequests")
            if not isinstance(questions, dict) or (state or {}).get("status") != "input_required":
                break
            talk.request(UPDATE_TASK, {"taskId": id, "inputResponses": {
                key: {"action": "decline"} for key in questions}}, _ASKED)
    return None


@scene("extension-listen", provokes="tasks-ext.no-progress-or-log-on-listen-stream subscribe.ack-first", needs="tools",
       only=lambda revision: revision.stateless)
def extension_listen(stage: SceneStage) -> Said:
    """A task is listened to."""
    talk = _extended(stage)
    id = _created(stage, _ABLE)[0][1]
    message = talk.message(LISTEN, {"notifications": {"taskIds": [id]}}, id=talk.next_id, meta=_ABLE)
    _first(talk, message, stage.patience)
    _look(talk, id, stage.patience)
    return None
