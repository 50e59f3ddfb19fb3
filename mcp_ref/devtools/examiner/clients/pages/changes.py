"""Scenes about what a server chooses or says unasked, an older revision or a changed list, and about tasks.

[..2025-11-25 basic/lifecycle §Version Negotiation], [..2025-11-25 basic/lifecycle §Operation],
[.. server/tools §List Changed Notification], [2025-11-25 basic/utilities/tasks].

For tasks the server has a tool that must run as one, one that may and one that must not; a client chooses by that.
"""

import itertools
from functools import partial
from typing import Any, Dict, List

from .....methods import (
    CALL_TOOL, CREATE_MESSAGE, DISCOVER, GET_TASK, INITIALIZE, LIST_CHANGED, LIST_TOOLS, RESOURCE_UPDATED, TASK_RESULT,
    known_since, lookup,
)
from .....revisions import HANDSHAKE_REVISIONS, Revision
from .....wiretrace import CLIENT
from ...scenes import KEPT, WEB, Broken, CannotTell, NotExamined, Said, Verdict, every, scene
from ..script import ClientMessage, ClientRequest, ErrorAnswer, ScriptedTool, ServerScript, text
from ..stage import ClientStage, client_scene
from .features import SAMPLE, asked_of, tool
from .opening import BASE, base, bears, before

RESPECT = ("lifecycle.respect-version", "lifecycle.respect-version-should")


def _foreign(later: List[ClientMessage], agreed: Revision) -> Verdict:
    """Return the verdict on what a client sends after an older revision was agreed on."""
    for each in later:
        if isinstance(each.message, list) and not agreed.batching:
            return Broken("%s was agreed on, and a batch was sent" % agreed)
        if lookup(each.method, agreed) is None and known_since(each.method):
            return Broken("%s was agreed on, and %s was sent" % (agreed, each.method))
    return KEPT


def _header(later: List[ClientMessage], agreed: Revision) -> Verdict:
    """Return the verdict on the revision that requests name. Reading: where the one that was agreed on has no such
    header field, it may be there, and names no other."""
    values = {each.field("mcp-protocol-version") for each in later} - {None, agreed.name}
    return Broken("%s was agreed on, and MCP-Protocol-Version is %s" % (
        agreed, ", ".join(sorted(map(str, values))))) if values else KEPT


@client_scene("older-version", *RESPECT, "http.header-version-negotiated", wires="pipe web",
              provokes="http.header-version-after-init version.client-sends-supported",
              only=lambda revision: revision.handshake and revision.rank > 0)
def older_version(stage: ClientStage) -> Said:
    """`initialize` is answered with each older revision: a client that goes on does so in that one, with the header
    field that names it, and with nothing that only a later one has."""
    respect: List[Verdict] = []
    header: List[Verdict] = []
    for agreed in HANDSHAKE_REVISIONS[:stage.revision.rank]:
        script = stage.script()
        script.version = agreed.name
        later = [each for each in stage.run(script).after(INITIALIZE) if each.message is not None]
        if later:
            respect.append(_foreign(later, agreed))
            header.append(_header(later, agreed))
    if not respect:
        raise NotExamined("the client goes on in no older revision")
    said: Dict[str, Verdict] = dict.fromkeys(RESPECT, every(respect))
    return {**said, "http.header-version-negotiated": every(header) if stage.wire == WEB else None}


def _changed(asked: ClientRequest) -> None:
    for method in LIST_CHANGED.values():
        asked.note(method)


@client_scene("undeclared-changes", *BASE)
def undeclared_changes(stage: ClientStage) -> Said:
    """The server tells of changed lists, and of a resource, though it has not declared that, and nobody has subscribed:
    the client goes on."""
    script = stage.script()
    script.capabilities = {name: {} for name in script.capabilities}

    def say(asked: ClientRequest) -> None:
        _changed(asked)
        asked.note(RESOURCE_UPDATED, {"uri": "examiner://never-subscribed"})

    before(script, LIST_TOOLS, say)
    before(script, CALL_TOOL, say)
    return base(stage, stage.goes_on(stage.run(script), "after changes that were not declared"))


@client_scene("changes", *BASE, only=lambda revision: revision.handshake)
def changes(stage: ClientStage) -> Said:
    """The server tells of changed lists, as it has declared: the client goes on, and may list again."""
    return base(stage, bears(stage, "changed lists", _changed))


@client_scene("answers-again", *BASE)
def answers_again(stage: ClientStage) -> Said:
    """The requests after the opening are answered twice, and before that come all answers that were given before."""
    script = stage.script()
    said: List[Any] = []

    def repeat(method: str, kept: Any) -> None:
        def answer(asked: ClientRequest) -> Any:
            value = kept(asked)
            again = asked.answer(value)
            for each in [*reversed(said), again] if method not in (INITIALIZE, DISCOVER) else []:
                asked.say(each)
            said.append(again)
            return value

        script.answers[method] = answer

    for method in (INITIALIZE, DISCOVER, LIST_TOOLS, CALL_TOOL):
        repeat(method, script.answers[method])
    verdict = stage.goes_on(stage.run(script), "after a second answer to the same request")
    if isinstance(verdict, Broken) and stage.wire == WEB:  # a stream may be taken to end with a response
        verdict = CannotTell(verdict.evidence)
    return base(stage, verdict)


task_scene = partial(scene, party=CLIENT, wires="pipe web", only=lambda revision: revision.tasks)
KINDS = ("required", "optional", "forbidden")
_INTERVAL, _LOOKS = 100, 2
"""The milliseconds between two looks at a task, and the looks after which it is completed."""
_AT = "2025-11-25T10:00:00Z"


def with_tasks(script: ServerScript) -> Dict[str, int]:
    """Have the server run tools as tasks; return how often each task was looked at."""
    looks: Dict[str, int] = {}
    numbers = itertools.count(1)

    def state(id: str) -> Dict[str, Any]:
        return {"taskId": id, "status": "completed" if looks[id] >= _LOOKS else "working", "createdAt": _AT,
                "lastUpdatedAt": _AT, "ttl": 60_000, "pollInterval": _INTERVAL}

    def play(asked: ClientRequest) -> Any:
        if "task" not in asked.params:
            return text("done")
        id = "examiner-task-%d" % next(numbers)
        looks[id] = 0
        return {"task": state(id)}

    def look(asked: ClientRequest) -> Any:
        id = asked.params.get("taskId")
        if id not in looks:
            return ErrorAnswer(-32602, "no such task")
        looks[id] += 1
        return state(id)

    def result(asked: ClientRequest) -> Any:
        id = asked.params.get("taskId")
        if id not in looks:
            return ErrorAnswer(-32602, "no such task")
        looks[id] = max(looks[id], _LOOKS)
        return {**text("done"), "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}}

    script.tools = {kind: ScriptedTool({**tool(kind).definition, "execution": {"taskSupport": kind}}, play)
                    for kind in KINDS}
    script.capabilities = {**script.capabilities, "tasks": {"requests": {"tools": {"call": {}}}}}
    script.answers.update({GET_TASK: look, TASK_RESULT: result})
    return looks


@task_scene("task-tools", "tasks.no-reliance-on-notification", needs=LIST_TOOLS,
            provokes="tasks.tool-required tasks.tool-forbidden tasks.respect-poll-interval tasks.poll-until-terminal")
def task_tools(stage: ClientStage) -> Said:
    """Tools must, may and must not run as tasks: a client calls them so, and asks how a task is, of which it is never
    told."""
    script = stage.script()
    looks = with_tasks(script)
    run = stage.run(script)
    if not script.sent(CALL_TOOL):
        raise NotExamined("the client calls no tool")
    if not looks:
        return CannotTell("the client has called no tool as a task")
    if script.sent(GET_TASK, TASK_RESULT):
        return KEPT
    return CannotTell("the client has ended without the result of its task") if run.ended else Broken(
        "the client has begun a task, and waits without asking about it")


@task_scene("undeclared-tasks", "tasks.tools-call-capability", needs=LIST_TOOLS)
def undeclared_tasks(stage: ClientStage) -> Said:
    """The server has declared no tasks, though its tools say that they run as such: no tool is called as a task."""
    script = stage.script()
    with_tasks(script)
    script.capabilities.pop("tasks")
    stage.run(script)
    augmented: List[str] = [str(each.params.get("name")) for each in script.sent(CALL_TOOL) if "task" in each.params]
    if not script.sent(CALL_TOOL):
        return CannotTell("the client calls no tool")
    return Broken("called as a task: %s" % augmented[0]) if augmented else KEPT


@task_scene("undeclared-task-question", "tasks.ignored-when-undeclared")
def undeclared_task_question(stage: ClientStage) -> Said:
    """A question to the model asks for a task, which the client has not declared: it is answered as any other."""
    stage.declares("sampling")
    requests = (stage.usual().script.declared.get("tasks") or {}).get("requests") or {}
    if "sampling" in requests:
        raise NotExamined("the client declares tasks of sampling")
    answer = asked_of(stage, CREATE_MESSAGE, {**SAMPLE, "task": {"ttl": 60_000}})
    if answer is None or "error" in answer:
        return CannotTell("sampling with a task: %s" % (answer,))
    return Broken("a task that was not declared was created") if "task" in answer["result"] else KEPT
