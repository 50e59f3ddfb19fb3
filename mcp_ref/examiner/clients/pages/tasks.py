"""Scenes about the tasks of 2025-11-25 [2025-11-25 basic/utilities/tasks].

The server has a tool that must run as a task, one that may and one that must not; a client chooses by that.
"""

import itertools
from functools import partial
from typing import Any, Dict, List

from ....methods import CALL_TOOL, CREATE_MESSAGE, GET_TASK, LIST_TOOLS, TASK_RESULT
from ....wiretrace import CLIENT
from ...scenes import KEPT, Broken, CannotTell, NotExamined, Said, scene
from ..script import Asked, Refusal, Script, Tool, text
from ..stage import ClientStage
from .features import SAMPLE, asked_of, tool

task_scene = partial(scene, party=CLIENT, wires="pipe web", only=lambda revision: revision.tasks)
KINDS = ("required", "optional", "forbidden")
_INTERVAL, _LOOKS = 100, 2
"""The milliseconds between two looks at a task, and the looks after which it is completed."""
_AT = "2025-11-25T10:00:00Z"


def with_tasks(script: Script) -> Dict[str, int]:
    """Have the server run tools as tasks; return how often each task was looked at."""
    looks: Dict[str, int] = {}
    numbers = itertools.count(1)

    def state(id: str) -> Dict[str, Any]:
        return {"taskId": id, "status": "completed" if looks[id] >= _LOOKS else "working", "createdAt": _AT,
                "lastUpdatedAt": _AT, "ttl": 60_000, "pollInterval": _INTERVAL}

    def play(asked: Asked) -> Any:
        if "task" not in asked.params:
            return text("done")
        id = "examiner-task-%d" % next(numbers)
        looks[id] = 0
        return {"task": state(id)}

    def look(asked: Asked) -> Any:
        id = asked.params.get("taskId")
        if id not in looks:
            return Refusal(-32602, "no such task")
        looks[id] += 1
        return state(id)

    def result(asked: Asked) -> Any:
        id = asked.params.get("taskId")
        if id not in looks:
            return Refusal(-32602, "no such task")
        looks[id] = max(looks[id], _LOOKS)
        return {**text("done"), "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}}}

    script.tools = {kind: Tool({**tool(kind).definition, "execution": {"taskSupport": kind}}, play) for kind in KINDS}
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
