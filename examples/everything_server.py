"""A server that offers every feature of the protocol's sessions, to try clients on.

    python3 examples/everything_server.py                  # speaks on standard input and output
    python3 -m mcp_ref tools "python3 examples/everything_server.py"

Each tool shows one thing; what asks the client something needs a client that offers it.
"""

import argparse
import base64
import pathlib
import sys
from dataclasses import dataclass
from typing import Any, List, Literal

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))  # so that it runs from a checkout

from mcp_ref import Context, Server, ToolError  # noqa: E402
from mcp_ref.messages.content import EmbeddedResource, ResourceLink, TextContent, TextResourceContents  # noqa: E402
from mcp_ref.server import (  # noqa: E402
    Annotations, Icon, ToolAnnotations, UrlElicitationRequired, audio, image,
)

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
SILENCE = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
"""A sound without any samples."""
ICON = Icon("data:image/png;base64," + base64.b64encode(DOT).decode("ascii"), "image/png", ["1x1"])
CITIES = ("Berlin", "Bern", "Bologna", "Brno", "Lima", "Lisbon", "London")
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

server = Server(
    "everything", version="1.0", title="One of everything", description="Shows what a server can offer.", icons=[ICON],
    instructions="Call any tool to see one feature of the protocol.", page_size=20,
)


@dataclass
class Weather:
    """What the sky does."""

    city: str
    celsius: float
    wet: bool = False


# Results


@server.tool(title="Echo", annotations=READ_ONLY, icons=[ICON])
def echo(text: str) -> str:
    """Give back the text."""
    return text


@server.tool(annotations=READ_ONLY)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def weather(city: str) -> Weather:
    """A result with structured content."""
    return Weather(city, 21.5)


@server.tool(input_schema={
    "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"],
})
def route(region: str) -> str:
    """An argument that is repeated in a header field of HTTP, so that proxies can route by it."""
    return "routed to %s" % region


@server.tool
def media() -> List[Any]:
    """Every kind of content: text for the user, picture, sound, a resource in full, and a link to one."""
    note = TextResourceContents(uri="note://inside", text="read me", mime_type="text/plain")
    return [
        TextContent("for the user", annotations=Annotations(audience=["user"], priority=0.9)), image(DOT, "image/png"),
        audio(SILENCE, "audio/wav"), EmbeddedResource(note), ResourceLink(uri="config://app", name="config"),
    ]


@server.tool
def fail() -> str:
    """A tool that fails, and tells the model why."""
    raise ToolError("This tool always fails: try another one.")


# While it runs


@server.tool
def count(to: int, ctx: Context) -> str:
    """Count up to a number, reporting each step."""
    for step in range(1, to + 1):
        ctx.progress(step, to, "step %d" % step)
    return "counted to %d" % to


@server.tool
def slow(seconds: float, ctx: Context) -> str:
    """Take so many seconds; ends early when it is cancelled."""
    ctx.cancelled.wait(seconds)
    ctx.check()
    return "done"


@server.tool
def log(text: str, ctx: Context, level: str = "info") -> str:
    """Send a log message."""
    ctx.log(level, {"text": text}, "everything")
    return "logged"


# Asking the client


@server.tool
def ask_name(ctx: Context) -> str:
    """Ask the user for a name and a colour."""
    answer = ctx.elicit("Who are you?", {"name": str, "colour": Literal["red", "green", "blue"]})
    return "%s likes %s" % (answer["name"], answer["colour"]) if answer else "you chose to %s" % answer.action


@server.tool
def ask_payment(ctx: Context) -> str:
    """Send the user to a page where something secret is entered, out of our sight."""
    answer = ctx.elicit_url("Please pay there.", "https://example.com/pay?order=7")
    return "the user said: %s" % answer.action


@server.tool
def needs_login() -> str:
    """Refuse until the user has been somewhere."""
    raise UrlElicitationRequired([("Please sign in.", "https://example.com/login")])


@server.tool
def ask_model(question: str, ctx: Context) -> str:
    """Let the client's model answer."""
    return ctx.sample(question, 100, system_prompt="Answer in one sentence.").text


@server.tool
def show_roots(ctx: Context) -> List[str]:
    """Where the client lets us work."""
    return [root.uri for root in ctx.list_roots()]


@server.tool
def interview(ctx: Context) -> str:
    """Ask the user, then the model about the user, then for the roots."""
    answer = ctx.elicit("Who are you?", {"name": str, "colour": Literal["red", "green", "blue"]})
    if not answer:
        return "you chose to %s" % answer.action
    said = ctx.sample("What suits %s?" % answer["name"], 100).text
    return "%s, %s, %d" % (answer["name"], said, len(ctx.list_roots()))


# Resources


@server.resource("config://app", mime_type="application/json", title="Settings", icons=[ICON])
def config() -> dict:  # type: ignore[type-arg]
    """The settings of this server."""
    return {"name": "everything", "visits": visits["count"]}


@server.resource("picture://dot", mime_type="image/png", annotations=Annotations(audience=["user"], priority=0.1))
def picture() -> bytes:
    """One pixel."""
    return DOT


@server.resource("city://{name}")
def city(name: str) -> str:
    """What we know of a city."""
    return "%s is %sa city we know." % (name, "" if name in CITIES else "not ")


server.directory(FOLDER)
visits = {"count": 0}


# Changes


@server.tool
def visit() -> str:
    """Change config://app, and tell those who have subscribed to it."""
    visits["count"] += 1
    server.resource_updated("config://app")
    return "visited %d times" % visits["count"]


@server.tool
def learn(name: str) -> str:
    """Make one tool more; clients are told that the list has changed."""
    server.tool(lambda: "I am new", name=name, description="A tool made by a tool.")
    return "learned %s" % name


# Prompts, and completion


@server.prompt(title="Code review", icons=[ICON])
def review(code: str, language: Literal["python", "javascript", "rust"] = "python") -> str:
    """Ask for a review of some code."""
    return "Please review this %s code:\n\n%s" % (language, code)


@server.prompt
def travel(start: str, goal: str) -> List[Any]:
    """Ask how to get from one city to another, with a picture."""
    return ["How do I get from %s to %s?" % (start, goal), image(DOT, "image/png")]


@server.prompt
def letter(ctx: Context) -> str:
    """Ask for a letter; to whom, the user is asked on the way."""
    answer = ctx.elicit("To whom?", {"name": str})
    return "Please write to %s." % (answer["name"] if answer else "whom you like")


@server.completion("travel", "start")
@server.completion("city://{name}", "name")
def cities(value: str) -> List[str]:
    """Cities that begin so."""
    return [name for name in CITIES if name.lower().startswith(value.lower())]


@server.completion("travel", "goal")
def goals(value: str, arguments: dict) -> List[str]:  # type: ignore[type-arg]
    """Cities that begin so, but for the one where one is."""
    return [name for name in cities(value) if name != arguments.get("start")]


def main() -> None:
    """Parse the options and serve."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    server.run()


if __name__ == "__main__":
    main()
