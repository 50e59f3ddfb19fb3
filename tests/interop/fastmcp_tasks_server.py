"""A server whose tools run as tasks, made with fastmcp-tasks (2026-07-28): over stdio, or `... PORT` over HTTP.

Runs inside the environment of fastmcp-tasks only.
"""
import asyncio
import sys
from typing import Any, Union

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp_tasks import TasksExtension

server = FastMCP("fast tasks")
server.add_extension(TasksExtension(url="memory://"))
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@server.tool
def plain() -> str:
    """Never a task."""
    return "plain"


@server.tool(task=True)
async def slow(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool(task=True)
async def fail() -> str:
    """Fail."""
    raise ValueError("no")


@server.tool(task=True)
async def greet(ctx: Context) -> Union[str, Any]:
    """Ask for a name, and greet."""
    if not ctx.input_responses:
        params = mcp_types.ElicitRequestFormParams(message="Who?", requested_schema=FORM)
        return mcp_types.InputRequiredResult(input_requests={"name": mcp_types.ElicitRequest(params=params)})
    answer = ctx.input_responses["name"]
    content = answer["content"] if isinstance(answer, dict) else answer.content
    return "Hello, %s!" % content["name"]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="http", port=int(sys.argv[1]), show_banner=False)
    else:
        server.run(show_banner=False)
