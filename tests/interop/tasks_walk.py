"""Our client against a server of fastmcp-tasks: `tasks_walk.py PYTHON`, the interpreter of an environment that has it.

Over stdio, or with the URL of a server that runs in place of PYTHON.
"""
import pathlib
import sys

from mcp_ref import connect
from official_walk import expect
from steps import SECONDS, Steps

SERVER = str(pathlib.Path(__file__).resolve().parent / "fastmcp_tasks_server.py")


def walk(target: str) -> None:
    """A call that is no task, tasks that end well and badly, one that asks, and one that is cancelled."""
    steps = Steps("fastmcp-tasks")
    command = target if "://" in target else [target, SERVER]
    with connect(command, era="modern", elicitation=lambda params, context: {"name": "Ada"}) as client:
        expect(client.call_tool("plain").text == "plain", "a call")
        expect(client.call_tool("slow", {"seconds": 0.1}, timeout=SECONDS).text == "slept", "a task")
        expect(client.call_tool("fail", timeout=SECONDS).is_error, "a tool that fails")
        steps.done("calls")
        greeting = client.call_tool("greet", timeout=60.0)
        expect(greeting.text == "Hello, Ada!", "a task that asks", greeting)
        steps.done("questions")
        task = client.start_tool("slow", {"seconds": 60})
        again = client.task(task.id or "", "slow")
        again.cancel()
        expect(task.wait(SECONDS) and task.status == "cancelled", "a cancelled task", task)
        steps.done("a task by its id")


if __name__ == "__main__":
    walk(sys.argv[1])
