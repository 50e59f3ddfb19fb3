"""Tasks with programs of other makers; `make interop` runs them.

 - the client of `@modelcontextprotocol/ext-tasks`, which knows both generations, against the server that the official
   suite is pointed at, over HTTP
 - the inspector's command line against the same server
 - our client against a server made with `fastmcp-tasks`, which knows that of 2026-07-28, over stdio and HTTP
 - our client against the reference server `everything`, which knows that of 2025-11-25 and has it run tasks, too, and
   against one of the official SDK that lists and cancels them

`WALKS` has each by name, as a function of the peers' commands.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any, Callable, Dict, List

import everything_walk
import inspector_walk
import peers
from http_walks import serving
from mcp_ref import connect
from mcp_ref.client import Sampling
from mcp_ref.errors import PeerError
from official_walk import expect
from steps import SECONDS, Steps

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE.parent / "conformance" / "server.py"


def theirs(mode: str, commands: Dict[str, List[str]]) -> None:
    """Their client, in one generation."""
    packages = peers.ext_tasks()
    with serving([sys.executable, str(FIXTURE), "--http", "127.0.0.1:{port}"], "/mcp") as url:
        environment = dict(os.environ, MCP_MODE=mode, **packages)
        done = subprocess.run([*commands["typescript"], str(HERE / "ext_tasks_client.mjs"), url], env=environment,
                              stdin=subprocess.DEVNULL, timeout=6 * SECONDS)
    expect(done.returncode == 0, "ext_tasks_client.mjs ended with", done.returncode)


def inspected(commands: Dict[str, List[str]]) -> None:
    """The inspector, in both generations."""
    with serving([sys.executable, str(FIXTURE), "--http", "127.0.0.1:{port}"], "/mcp") as url:
        inspector_walk.use_extensions(commands["inspector"], url)


def ours(over_http: bool, commands: Dict[str, List[str]]) -> None:
    """Our client, against their server."""
    script = [peers.fastmcp_tasks(), str(HERE / "fastmcp_tasks_server.py")]
    if over_http:
        with serving([*script, "{port}"], "/mcp") as url:
            _use(url, Steps("fastmcp-tasks http"))
    else:
        _use(script, Steps("fastmcp-tasks stdio"))


def _use(target: Any, steps: Steps) -> None:
    with connect(target, era="modern", elicitation=lambda params, context: {"name": "Ada"}) as client:
        expect(client.call_tool("plain", {"text": "at once"}).text == "at once", "plain")
        expect(client.call_tool("slow", {"tenths": 3}).text == "done 3", "slow")
        expect(client.call_tool("always").text == "as a task", "always")
        failed = client.call_tool("fails")
        expect(failed.is_error is True and "never works" in failed.text, "fails", failed)
        steps.done("results")
        expect(client.call_tool("ask").text == "Hello Ada", "ask")
        steps.done("a question")
        task = client.start_tool("slow", {"tenths": 5})
        expect(task.status == "working", "the status", task.status)
        expect(client.task(task.id).result(SECONDS).text == "done 5", "a task that is taken up again")
        steps.done("taken up again", id=task.id)
        long = client.start_tool("slow", {"tenths": 600})
        long.cancel()
        expect(long.wait(SECONDS) and long.status == "cancelled", "cancel", long.status)
        steps.done("cancelled")
        try:
            expect(False, "an unknown task", client.task("nobody's").result(SECONDS))
        except PeerError as error:
            expect(error.code == -32602, "the code", error)
            steps.done("unknown", refused=error.code)


def everything(commands: Dict[str, List[str]]) -> None:
    """Our client, which calls tools as tasks, and runs tasks of the server's."""
    steps, user = Steps("tasks everything"), everything_walk.User()
    with tempfile.TemporaryDirectory() as made:
        with connect(commands["everything"], **user.offers(made)) as client:
            everything_walk.tasks(client, user, steps)
            everything_walk.asked_as_tasks(client, user, steps)


def requestor(commands: Dict[str, List[str]]) -> None:
    """Our client, whose tasks a server of the official SDK begins, polls, lists and cancels."""
    steps, stopped = Steps("tasks of the official SDK"), []

    def model(params: Any, context: Any) -> str:
        stopped.append(context.cancelled.wait(SECONDS if stopped else 0.5))  # the second one is given up
        return "It is blue."

    with connect([*commands["typescript"], str(HERE / "task_requestor.cjs")], env=peers.first_typescript(),
                 era="legacy", tasks=True, sampling=Sampling(model, model="nobody"),
                 elicitation=lambda params, context: {"name": "Ada"}) as client:
        def seen(tool: str) -> Dict[str, Any]:
            found: Dict[str, Any] = json.loads(client.call_tool(tool, timeout=SECONDS).text)
            return found

        said = seen("write")
        expect(said["seen"][-2:] == ["completed", "result"] and said["result"]["content"]["text"] == "It is blue.",
               "write", said)
        expect(seen("ask")["result"]["content"] == {"name": "Ada"}, "ask")
        steps.done("results")
        left = seen("give_up")
        expect(left["listed"] and left["cancelled"] == left["state"] == "cancelled", "give_up", left)
        expect(left["again"]["code"] == left["unknown"]["code"] == -32602, "refusals", left)
        expect(stopped == [False, True], "the callback sees it", stopped)
        steps.done("cancelled")


WALKS: Dict[str, Callable[[Dict[str, List[str]]], None]] = {
    "tasks-ext-tasks": partial(theirs, "2026-07-28"), "tasks-ext-tasks-legacy": partial(theirs, "legacy"),
    "tasks-inspector": inspected,
    "tasks-fastmcp-stdio": partial(ours, False), "tasks-fastmcp-http": partial(ours, True),
    "tasks-everything": everything, "tasks-sdk-v1": requestor,
}
"""Every walk by name."""
