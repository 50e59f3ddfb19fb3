"""A server made with fastmcp: `fastmcp_server.py`, over stdio, or `fastmcp_server.py PORT TRANSPORT`.

Runs inside the environment of fastmcp only.
"""
import asyncio
import sys
from typing import Any, Dict

from fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("fast")


class Person(BaseModel):
    """What is asked for."""

    name: str


@server.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def weather(city: str) -> Dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "celsius": 21.5}


@server.tool
def fail() -> str:
    """Fail."""
    raise ValueError("try another one")


@server.tool
async def count(to: int, ctx: Context) -> str:
    """Tell of progress."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return "done"


@server.tool
async def slow(seconds: float) -> str:
    """Take time."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool
async def log(text: str, ctx: Context) -> str:
    """Log something."""
    await ctx.info(text)
    await ctx.error(text)
    return "logged"


@server.tool
async def ask_name(ctx: Context) -> str:
    """Ask the user."""
    answer = await ctx.elicit("Who?", Person)
    return "Hello %s" % getattr(getattr(answer, "data", None), "name", answer.action)


@server.tool
async def ask_model(question: str, ctx: Context) -> str:
    """Ask the model."""
    return str(getattr(await ctx.sample(question), "text", ""))


@server.tool
async def show_roots(ctx: Context) -> str:
    """Ask for the roots."""
    return str([str(root.uri) for root in await ctx.list_roots()])


@server.resource("config://app", mime_type="application/json")
def config() -> str:
    """Settings."""
    return "{}"


@server.resource("city://{name}")
def city(name: str) -> str:
    """A city."""
    return name


@server.prompt
def review(code: str, language: str = "python") -> str:
    """Ask for a review."""
    return "Please review this %s code: %s" % (language, code)


if len(sys.argv) > 1:
    server.run(transport=sys.argv[2], host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
