"""A server with tasks, made with fastmcp-tasks: `fastmcp_tasks_server.py`, over stdio, or with a port, over HTTP.

Runs inside the environment of fastmcp-tasks only.
"""
import asyncio
import sys
from datetime import timedelta
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

OPTIONAL = TaskConfig(mode="optional", poll_interval=timedelta(milliseconds=100))
REQUIRED = TaskConfig(mode="required", poll_interval=timedelta(milliseconds=100))
server = FastMCP("fast tasks")
server.add_extension(TasksExtension())


@server.tool
def plain(text: str) -> str:
    """Never a task."""
    return text


@server.tool(task=OPTIONAL)
async def slow(tenths: int) -> str:
    """Take some time."""
    await asyncio.sleep(tenths / 10)
    return "done %d" % tenths


@server.tool(task=REQUIRED)
async def always() -> str:
    """A task, or nothing."""
    return "as a task"


@server.tool(task=OPTIONAL)
async def fails() -> str:
    """Fail."""
    raise ValueError("this one never works")


@server.tool(task=OPTIONAL)
async def ask(ctx: Context) -> Any:
    """Ask for a name."""
    answers = ctx.input_responses
    if not answers:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        question = ElicitRequest(params=ElicitRequestFormParams(message="Who?", requested_schema=form))
        return InputRequiredResult(input_requests={"name": question}, request_state="asked")
    return "Hello %s" % answers["name"].content["name"]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="http", port=int(sys.argv[1]), show_banner=False)
    else:
        server.run(show_banner=False)
