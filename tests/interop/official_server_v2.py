"""A server made with the official Python SDK 2.x: `official_server_v2.py [PORT]`, over stdio or over HTTP on that port.

It speaks both eras. What it offers is named and answers as in `examples/everything_server.py`, as far as that SDK has
the feature, so that the same walks suit both. Runs inside an environment that has `mcp` 2.x.
"""
import asyncio
import sys
from typing import Annotated, Any, Dict, List, Literal, Union

import mcp.types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp.shared.exceptions import MCPError
from mcp.types import CreateMessageResult, ListRootsResult, TextContent
from pydantic import BaseModel, Field

CITIES = ("Berlin", "Bern", "Bologna", "Brno", "Lima", "Lisbon", "London")
CONFIG = "config://app"
server = MCPServer("official-python", version="2")
visits: List[str] = []


class Person(BaseModel):
    """The form."""

    name: str
    colour: Literal["red", "green", "blue"]


class Weather(BaseModel):
    """A result with structured content."""

    city: str
    celsius: float
    wet: bool = False


@server.tool()
def echo(text: str) -> str:
    """Give back the text."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """A result with structured content."""
    return Weather(city=city, celsius=21.5)


@server.tool()
def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """An argument that is repeated in a header field of HTTP."""
    return "routed to %s" % region


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ToolError("This tool always fails: try another one.")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to, "step %d" % step)
    return "counted to %d" % to


@server.tool()
async def slow(seconds: float) -> str:
    """Take its time."""
    await asyncio.sleep(seconds)
    return "done"


@server.tool()
async def log(text: str, ctx: Context, level: str = "info") -> str:
    """Send a log message."""
    await ctx.log(level, {"text": text}, logger_name="everything")  # type: ignore[arg-type]
    return "logged"


# Asking the client: this SDK asks before the tool runs, by what its parameters are annotated with.


def who() -> Elicit[Person]:
    """The question to the user."""
    return Elicit("Who are you?", Person)


def question(question: str) -> Sample:
    """The question to the model."""
    message = types.SamplingMessage(role="user", content=TextContent(type="text", text=question))
    return Sample([message], max_tokens=100)


def about(person: Annotated[Person, Resolve(who)]) -> Sample:
    """The question to the model, which comes after the one to the user."""
    return question("What suits %s?" % person.name)


def folders(said: Annotated[CreateMessageResult, Resolve(about)]) -> ListRoots:
    """The question for the roots, which comes last."""
    return ListRoots()


@server.tool()
def ask_name(person: Annotated[Person, Resolve(who)]) -> str:
    """Ask the user."""
    return "%s likes %s" % (person.name, person.colour)


@server.tool()
def ask_model(question: str, said: Annotated[CreateMessageResult, Resolve(question)]) -> str:
    """Ask the model."""
    return str(said.content.text)  # type: ignore[union-attr]


@server.tool()
def show_roots(listed: Annotated[ListRootsResult, Resolve(lambda: ListRoots())]) -> List[str]:
    """Ask for the roots."""
    return [str(root.uri) for root in listed.roots]


@server.tool()
def interview(person: Annotated[Person, Resolve(who)], said: Annotated[CreateMessageResult, Resolve(about)],
              listed: Annotated[ListRootsResult, Resolve(folders)]) -> str:
    """Ask three times, one after the other."""
    return "%s, %s, %d" % (person.name, said.content.text, len(listed.roots))  # type: ignore[union-attr]


# Changes


@server.tool()
async def visit(ctx: Context) -> str:
    """Change config://app."""
    visits.append(CONFIG)
    await ctx.notify_resource_updated(CONFIG)
    return "visited %d times" % len(visits)


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Make one tool more."""
    server.add_tool(lambda: "I am new", name=name, description="A tool made by a tool.")
    await ctx.notify_tools_changed()
    return "learned %s" % name


# Resources and prompts


@server.resource(CONFIG, name="config", mime_type="application/json")
def config() -> Dict[str, Any]:
    """The settings."""
    return {"name": "everything", "visits": len(visits)}


@server.resource("city://{name}")
def city(name: str) -> str:
    """One city."""
    return "%s is a city we know." % name


@server.prompt()
def review(code: str, language: str = "python") -> str:
    """Ask for a review."""
    return "Please review this %s code:\n\n%s" % (language, code)


@server.prompt()
def travel(start: str, goal: str) -> str:
    """Ask for a way."""
    return "How do I get from %s to %s?" % (start, goal)


@server.prompt()
def letter(ctx: Context) -> Union[str, types.InputRequiredResult]:
    """Ask the user on the way to a prompt, which this SDK does by hand, and in the stateless era only."""
    answers = ctx.input_responses or {}
    if "to" not in answers:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        asked = types.ElicitRequest(params=types.ElicitRequestFormParams(message="To whom?", requested_schema=form))
        return types.InputRequiredResult(input_requests={"to": asked}, request_state="letter")
    if ctx.request_state != "letter":
        raise MCPError(types.INVALID_PARAMS, "no such state")
    return "Please write to %s." % answers["to"].content["name"]  # type: ignore[union-attr]


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    """Cities that begin so, but for the one where one is."""
    start = (context.arguments or {}).get("start") if context is not None else None
    values = [name for name in CITIES if name.lower().startswith(argument.value.lower()) and name != start]
    return types.Completion(values=values, total=len(values), has_more=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
