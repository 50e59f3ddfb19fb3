"""Scenes about tasks [2025-11-25 basic/utilities/tasks], and about their extension [2026-07-28 extensions/tasks/tasks].

In 2025-11-25 tools run as tasks only if they may be called, and say that they can. With the extension the server
decides which call becomes a task: so tools that may be called are called, and the first that is answered by a task
serves. What a task looks like the checker sees; a scene knows which task it has asked for, and what the same call gives
without one.
"""

import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ....errors import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY
from ....jsontext import dumps
from ....methods import (
    CALL_TOOL, CANCEL_TASK, ELICIT, GET_TASK, LISTEN, LIST_TASKS, LIST_TOOLS, PING, TASKS, TASK_RESULT, UPDATE_TASK,
)
from ..scenes import KEPT, Broken, CannotTell, NotExamined, Said, Verdict, every, refused, scene
from ..stage import SceneStage
from ..talk import CAPABILITIES, ExaminerConversation
from ..wire import Reaction, as_bytes

TERMINAL = ("completed", "failed", "cancelled")
NO_TASK = "examiner-no-such-task"
_TTL = 60000
_RELATED = "io.modelcontextprotocol/related-task"
_LOOKS = 0.05
"""Seconds between two looks at a task that gives no interval."""
_SHORT = 2000
"""Milliseconds of a lifetime whose end is waited for."""
_LEAST_ID = 16
"""Characters of an id that nobody guesses: 64 random bits in hexadecimal digits."""
Tool = Tuple[Dict[str, Any], Dict[str, Any]]


def _support(tool: Dict[str, Any]) -> str:
    execution = tool.get("execution")
    return str(execution.get("taskSupport", "forbidden")) if isinstance(execution, dict) else "forbidden"


def _declared(talk: ExaminerConversation, *path: str) -> bool:
    found: Any = talk.capabilities.get("tasks")
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, dict)


def _tools(stage: SceneStage, *kinds: str) -> List[Tool]:
    """Return tools that may be called and support tasks in one of these ways. Raises `NotExamined`."""
    if not _declared(stage.talk, "requests", "tools", "call"):
        raise NotExamined("the server does not declare tasks.requests.tools.call")
    found = stage.callable(lambda tool: _support(tool) in kinds)
    return found


def begin(talk: ExaminerConversation, tool: Tool, meta: Optional[Dict[str, Any]] = None, ttl: int = _TTL) -> Reaction:
    """Call a tool as a task."""
    return talk.request(CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1], "task": {"ttl": ttl}}, meta)


def _task(answer: Reaction) -> Dict[str, Any]:
    """Return the task of an answer to a call. Raises `NotExamined` if there is none, which another scene tells."""
    found = (answer.result or {}).get("task")
    if not isinstance(found, dict) or not isinstance(found.get("taskId"), str):
        raise NotExamined("no task was created: %s" % answer)
    return found


def _begun(talk: ExaminerConversation, tools: List[Tool], tokens: bool = False) -> Iterator[Tuple[Tool, str]]:
    """Call tools as tasks, and yield each with the id of its task. Raises `NotExamined` if none gets one.

    ``tokens``: ask for progress, too.
    """
    created, why = 0, ""
    for number, tool in enumerate(tools):
        answer = begin(talk, tool, {"progressToken": "examiner-task-%d" % number} if tokens else None)
        task = (answer.result or {}).get("task")
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            created += 1
            yield tool, task["taskId"]
        else:
            why = str(answer)
    if not created:
        raise NotExamined("no task was created: %s" % why)


def ended(talk: ExaminerConversation, id: str, patience: float, interval: str = "pollInterval",
          wanted: Tuple[str, ...] = TERMINAL) -> Optional[Dict[str, Any]]:
    """Look at a task until it has a status that is wanted, no more often than it says; None if it takes too long."""
    until = time.monotonic() + patience
    while True:
        state = talk.request(GET_TASK, {"taskId": id}).result
        if state is None or state.get("status") in wanted:
            return state
        wait = state.get(interval)
        wait = wait / 1000 if isinstance(wait, (int, float)) and not isinstance(wait, bool) else _LOOKS
        if time.monotonic() + wait >= until:
            return None
        time.sleep(max(wait, _LOOKS))


def guessable(ids: List[str]) -> Verdict:
    """Return the verdict on ids that nobody must be able to guess."""
    if len(set(ids)) < len(ids):
        return Broken("%d tasks have %d ids" % (len(ids), len(set(ids))))
    if all(id.isdigit() and len(id) < _LEAST_ID for id in ids):
        return Broken("ids of tasks are numbers: %s" % ", ".join(ids))
    short = min(ids, key=len)
    return KEPT if len(short) >= _LEAST_ID else CannotTell("an id has %d characters" % len(short))


@scene("task-created", "tasks.create-result", "tasks.id-unique", "tasks.id-entropy", needs="tools",
       provokes="tasks.declare-capability tasks.create-result-promptly tasks.id-string tasks.starts-working "
       "tasks.created-at tasks.last-updated-at tasks.ttl-reported tasks.limit-ttl tasks.no-list-without-identity",
       only=lambda revision: revision.tasks)
def task_created(stage: SceneStage) -> Said:
    """A call that asks for a task gets one at once, and each time another one that nobody can guess.

    Reading: the entropy of ids is asked for only where nothing else keeps others away from tasks; nobody is worse off
    by it.
    """
    talk, found, ids = stage.talk, [], []  # type: ExaminerConversation, List[Verdict], List[str]
    tools = _tools(stage, "optional", "required")
    for tool in (*tools, tools[0], tools[0]):
        answer = begin(talk, tool)
        task = (answer.result or {}).get("task")
        id = task.get("taskId") if isinstance(task, dict) else None
        if isinstance(id, str):
            ids.append(id)
            found.append(KEPT)
            talk.request(GET_TASK, {"taskId": id})
        else:
            kind = CannotTell if answer.result is None else Broken
            found.append(kind("tool %s as a task: %s" % (tool[0]["name"], answer)))
    said = guessable(ids) if ids else None
    return {"tasks.create-result": every(found), "tasks.id-entropy": said,
            "tasks.id-unique": None if not ids else KEPT if len(set(ids)) == len(ids) else said}


def _payload(answer: Reaction) -> str:
    """Return what an answer says, without `_meta`."""
    if answer.error is not None:
        return dumps(["error", answer.error])
    return dumps(["result", {name: value for name, value in (answer.result or {}).items() if name != "_meta"}])


def _same(talk: ExaminerConversation, tool: Tool, got: Reaction) -> Verdict:
    """Compare the result of a task with that of the same call without one."""
    plain = [talk.request(CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1]}) for _ in range(2)]
    if any(each.message is None for each in (*plain, got)) or _payload(plain[0]) != _payload(plain[1]):
        return CannotTell("tool %s gives something else each time" % tool[0]["name"])
    return KEPT if _payload(got) == _payload(plain[0]) else Broken("the task of tool %s gives %s, a call %s" % (
        tool[0]["name"], got, plain[0]))


@scene("task-result", "tasks.result-exact", "tasks.result-error", "tasks.result-blocks", needs="tools",
       provokes="tasks.result-terminal tasks.result-success tasks.result-related-metadata tasks.from-working "
       "tasks.terminal-final tasks.related-metadata tasks.related-metadata-omitted-results "
       "tasks.status-notification-no-metadata tasks.get-no-sse tasks.status-message-on-failure",
       only=lambda revision: revision.tasks)
def task_result(stage: SceneStage) -> Said:
    """`tasks/result` waits until the task has ended, and gives what the call gives without a task."""
    talk = stage.talk
    exact, failed, waited = [], [], []  # type: List[Verdict], List[Verdict], List[Verdict]
    for tool, id in _begun(talk, _tools(stage, "optional", "required")):
        got = talk.request(TASK_RESULT, {"taskId": id})
        state = talk.request(GET_TASK, {"taskId": id}).result or {}
        if got.message is None:
            talk.request(CANCEL_TASK, {"taskId": id})
            waited.append(CannotTell("the task of tool %s was at work for %g s" % (tool[0]["name"], stage.patience)))
            continue
        status = state.get("status")
        waited.append(KEPT if status in TERMINAL else CannotTell("the task is gone") if status is None else Broken(
            "tasks/result was answered, and the task is %s" % status))
        if _support(tool[0]) == "optional":
            said = _same(talk, tool, got)
            (exact if got.error is None else failed).append(said)
    return {"tasks.result-exact": every(exact + failed), "tasks.result-error": every(failed),
            "tasks.result-blocks": every(waited)}


@scene("task-of-two", "tasks.id-param-authoritative", "tasks.related-metadata-ignored", needs="tools",
       only=lambda revision: revision.tasks)
def task_of_two(stage: SceneStage) -> Said:
    """Of two tasks `tasks/get` tells of the one that its params name, whatever its `_meta` says."""
    talk, tool = stage.talk, _tools(stage, "optional", "required")[0]
    one, two = (_task(begin(talk, tool))["taskId"] for _ in range(2))
    found: Dict[str, List[Verdict]] = {"tasks.id-param-authoritative": [], "tasks.related-metadata-ignored": []}
    for asked, other in ((one, two), (two, one)):
        for id, meta in (("tasks.id-param-authoritative", None),
                         ("tasks.related-metadata-ignored", {_RELATED: {"taskId": other}})):
            answer = talk.request(GET_TASK, {"taskId": asked}, meta)
            if (answer.result or {}).get("taskId") == asked:
                found[id].append(KEPT)
            elif answer.result is None and meta is None:
                found[id].append(CannotTell("the task is gone: %s" % answer))
            else:
                found[id].append(Broken("tasks/get for one task%s: %s" % (
                    ", and another one in _meta" if meta else "", answer)))
    return {id: every(verdicts) for id, verdicts in found.items()}


@scene("task-unknown", "tasks.invalid-id", provokes="tasks.informative-errors tasks.internal-error",
       only=lambda revision: revision.tasks)
def task_unknown(stage: SceneStage) -> Said:
    """A task that there is not, and an id that is none, are refused with -32602."""
    talk = stage.talk
    if not _declared(talk):
        raise NotExamined("the server does not declare tasks")
    methods = [GET_TASK, TASK_RESULT] + [CANCEL_TASK] * _declared(talk, "cancel")
    cases: List[Dict[str, Any]] = [{"taskId": NO_TASK}, {"taskId": ""}, {"taskId": 7}, {}]
    return every([refused(talk.request(method, params), INVALID_PARAMS) for method in methods for params in cases])


@scene("task-cancel", "tasks.cancel-terminal-error", "tasks.cancel-transition", "tasks.cancel-final", needs="tools",
       only=lambda revision: revision.tasks)
def task_cancel(stage: SceneStage) -> Said:
    """A task that has ended cannot be cancelled: -32602; one that is at work is cancelled, and stays so."""
    talk, tools = stage.talk, _tools(stage, "optional", "required")
    if not _declared(talk, "cancel"):
        raise NotExamined("the server does not declare tasks.cancel")
    found: Dict[str, List[Verdict]] = {
        "tasks.cancel-terminal-error": [], "tasks.cancel-transition": [], "tasks.cancel-final": []}
    for _, id in _begun(talk, tools):
        answer = talk.request(CANCEL_TASK, {"taskId": id})
        if answer.result is None:
            if ended(talk, id, stage.patience) is not None:
                found["tasks.cancel-terminal-error"].append(refused(
                    talk.request(CANCEL_TASK, {"taskId": id}), INVALID_PARAMS))
            continue
        status = answer.result.get("status")
        after = talk.request(GET_TASK, {"taskId": id})
        stays = (after.result or {}).get("status")
        found["tasks.cancel-transition"].append(
            KEPT if status == "cancelled" else Broken("tasks/cancel: status %r" % status))
        found["tasks.cancel-final"].append(KEPT if after.result is None or stays == "cancelled" else Broken(
            "a task that was cancelled is %r" % stays))
        if after.result is not None:
            found["tasks.cancel-terminal-error"].append(refused(
                talk.request(CANCEL_TASK, {"taskId": id}), INVALID_PARAMS))
    late = CannotTell("each task had ended before it was cancelled")
    return {id: every(verdicts) if verdicts else late for id, verdicts in found.items()}


@scene("task-list", "tasks.list-complete", "tasks.list-next-cursor", "tasks.list-invalid-cursor", needs="tools",
       provokes="tasks.list-pagination tasks.context-list", only=lambda revision: revision.tasks)
def task_list(stage: SceneStage) -> Said:
    """Every task that can be got is in the list, over all its pages; a cursor that was never given is refused."""
    talk, tool = stage.talk, _tools(stage, "optional", "required")[0]
    if not _declared(talk, "list"):
        raise NotExamined("the server does not declare tasks.list")
    ids = [_task(begin(talk, tool))["taskId"] for _ in range(3)]
    listed: List[Any] = []
    for answer, items in talk.pages(LIST_TASKS, "tasks"):
        if answer.result is None:
            return {"tasks.list-complete": Broken("tasks/list: %s" % answer)}
        listed += [each.get("taskId") for each in items if isinstance(each, dict)]
    missing = [id for id in ids if id not in listed and talk.request(GET_TASK, {"taskId": id}).result is not None]
    said = Broken("%d of %d tasks are not in the list" % (len(missing), len(ids))) if missing else KEPT
    return {"tasks.list-complete": said, "tasks.list-next-cursor": said, "tasks.list-invalid-cursor": refused(
        talk.request(LIST_TASKS, {"cursor": "examiner-no-cursor"}), INVALID_PARAMS)}


@scene("task-support", "tasks.tool-forbidden-error", "tasks.tool-required-error", needs="tools",
       only=lambda revision: revision.tasks)
def task_support(stage: SceneStage) -> Said:
    """A tool that forbids tasks is refused as one, and one that requires them is refused without: -32601."""
    found: Dict[str, Verdict] = {}
    cases: Tuple[Tuple[str, str, Callable[[ExaminerConversation, Tool], Reaction]], ...] = (
        ("tasks.tool-forbidden-error", "forbidden", begin),
        ("tasks.tool-required-error", "required", lambda talk, tool: talk.request(
            CALL_TOOL, {"name": tool[0]["name"], "arguments": tool[1]})))
    for id, kind, call in cases:
        try:
            tools = _tools(stage, kind)
        except NotExamined as error:
            if "no tool" not in str(error):
                raise
            continue
        found[id] = every([refused(call(stage.talk, tool), METHOD_NOT_FOUND) for tool in tools])
    if not found:
        raise NotExamined("no tool that may be called forbids or requires tasks")
    return found


@scene("task-ignored", "tasks.ignored-when-undeclared", only=lambda revision: revision.tasks)
def task_ignored(stage: SceneStage) -> Said:
    """A request of a kind that never runs as a task is answered as if it had not asked for one."""
    found: List[Verdict] = []
    talk = stage.talk
    cases: List[Tuple[str, Dict[str, Any]]] = [(PING, {})]
    cases += [(LIST_TOOLS, {})] * ("tools" in talk.capabilities)
    if "tools" in talk.capabilities and not _declared(talk, "requests", "tools", "call"):
        try:
            cases += [(CALL_TOOL, {"name": tool["name"], "arguments": arguments})
                      for tool, arguments in stage.callable()[:1]]
        except NotExamined:
            pass
    for method, params in cases:
        answer = talk.request(method, {**params, "task": {"ttl": _TTL}})
        wrong = answer.result is None or "task" in answer.result
        found.append(CannotTell(str(answer)) if answer.message is None else
                     Broken("%s with a task: %s" % (method, answer)) if wrong else KEPT)
    return every(found)


@scene("task-progress", provokes="tasks.progress-token-lifetime tasks.progress-same-token tasks.progress-stops",
       needs="tools", only=lambda revision: revision.tasks)
def task_progress(stage: SceneStage) -> Said:
    """Tasks are begun with a token for progress, and looked at until they have ended."""
    talk = stage.talk
    for _, id in _begun(talk, _tools(stage, "optional", "required"), tokens=True):
        ended(talk, id, stage.patience)
        talk.request(TASK_RESULT, {"taskId": id})
    return None


@scene("task-expired", "tasks.invalid-id", provokes="tasks.ttl-reported tasks.clean-up", needs="tools",
       only=lambda revision: revision.tasks)
def task_expired(stage: SceneStage) -> Said:
    """A task whose lifetime is over is there, or is refused with -32602."""
    talk, tool = stage.talk, _tools(stage, "optional", "required")[0]
    task = _task(begin(talk, tool, ttl=1))
    lifetime = task.get("ttl")
    if not isinstance(lifetime, (int, float)) or lifetime > _SHORT:
        raise NotExamined("the server makes a lifetime of 1 ms one of %r" % (lifetime,))
    time.sleep(lifetime / 1000 + _LOOKS)
    answer = talk.request(GET_TASK, {"taskId": task["taskId"]})
    return KEPT if answer.result is not None else refused(answer, INVALID_PARAMS)


@scene("task-input", needs="tools", provokes="tasks.related-metadata-elicitation tasks.input-required-metadata "
       "tasks.from-input-required tasks.input-required tasks.input-required-leave",
       only=lambda revision: revision.tasks)
def task_input(stage: SceneStage) -> Said:
    """Tasks of a client that can be asked are run to their end, for the checker to see what they ask."""
    tools = _tools(stage, "optional", "required")
    with stage.fresh(declared={"elicitation": {"form": {}}}) as talk:
        talk.results[ELICIT] = {"action": "decline"}
        for _, id in _begun(talk, tools):
            ended(talk, id, min(1.0, stage.patience), wanted=(*TERMINAL, "input_required"))
            talk.request(TASK_RESULT, {"taskId": id})
            talk.request(GET_TASK, {"taskId": id})
    return None


_ABLE: Dict[str, Any] = {CAPABILITIES: {"extensions": {TASKS: {}}}}
"""The capabilities of a client that knows tasks; a server that asks for more is not led to."""
_ASKED: Dict[str, Any] = {CAPABILITIES: {"extensions": {TASKS: {}}, "elicitation": {"form": {}}}}
_INTERVAL = "pollIntervalMs"
_ABOUT_ONE: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    (GET_TASK, {}), (UPDATE_TASK, {"inputResponses": {}}), (CANCEL_TASK, {}))


def _extended(stage: SceneStage) -> ExaminerConversation:
    """Return the conversation. Raises `NotExamined` without the extension."""
    extensions = stage.talk.capabilities.get("extensions")
    if not isinstance(extensions, dict) or TASKS not in extensions:
        raise NotExamined("the server does not declare the extension %s" % TASKS)
    return stage.talk


def _call(talk: ExaminerConversation, tool: Tool, meta: Optional[Dict[str, Any]]) -> Reaction:
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


def _look(talk: ExaminerConversation, id: str, patience: float,
          wanted: Tuple[str, ...] = TERMINAL) -> Optional[Dict[str, Any]]:
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
    talk, found, ids = _extended(stage), [], []  # type: ExaminerConversation, List[Verdict], List[str]
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


def _first(talk: ExaminerConversation, message: Dict[str, Any], patience: float) -> Reaction:
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
    talk, found = _extended(stage), {}  # type: ExaminerConversation, Dict[str, Verdict]
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
