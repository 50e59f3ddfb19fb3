"""The commands `demo` and `crosscheck`, which need no server of yours.

`demo` goes through a session in numbered steps, each with a ladder of its messages: connect, list, call, answer the
server, read, close. `crosscheck` compares the dataclasses with the official schemas, see `mcp_ref.devtools.crosscheck`.
"""

import argparse
import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Set

from ..client import connect
from ..devtools.ladder import draw, rungs
from ..diagnostics.packagelog import own_process
from ..revisions import REVISIONS
from ..wiretrace import CLIENT, MESSAGE, Event, Trace
from ..wiretrace.text import TextForm, coloured, painted, terminal
from .output import DONE, FAILED, Command, Commands, OutputClosed, UsageError, program, say_json

if TYPE_CHECKING:
    from ..client import Client
    from ..server import Server


def make_server() -> "Server":
    """Return a server with a little of everything."""
    from ..server import Context, Server

    server = Server("demo", version="1.0", instructions="Say something with echo, or add two numbers.")

    @server.tool
    def echo(text: str) -> str:
        """Give back the text."""
        return text

    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def count(to: int, ctx: Context) -> str:
        """Count up to a number, reporting each step."""
        for step in range(1, to + 1):
            ctx.progress(step, to, "step %d" % step)
        return "counted to %d" % to

    @server.tool
    def reserve(ctx: Context) -> str:
        """Ask the user for a seat, and reserve it."""
        answer = ctx.elicit("Which seat?", {"seat": str})
        return "reserved %s" % answer["seat"] if answer else "nothing reserved"

    @server.resource("config://app", mime_type="application/json")
    def config() -> Any:
        """The settings of this server."""
        return {"name": "demo", "greeting": "hello"}

    @server.resource("greeting://{name}")
    def greeting(name: str) -> str:
        """A greeting for somebody."""
        return "Hello, %s!" % name

    @server.prompt
    def review(code: str, language: str = "python") -> str:
        """Ask for a review of some code."""
        return "Please review this %s code:\n\n%s" % (language, code)

    return server


def serve() -> None:
    """Serve over stdio: the main function of the child process."""
    make_server().run()


def command() -> List[str]:
    """Return the command that starts the child: this module, with the same ``sys.path``."""
    from ..server.serving.process import child_code

    return [sys.executable, "-c", child_code(__name__, "serve")]


class DemoStep(NamedTuple):
    """A step of the demonstration after the first, which connects."""

    name: str
    sentence: str
    act: Callable[["Client"], Any]


def _count(client: "Client") -> Any:
    seen: List[float] = []
    result = client.call_tool("count", {"to": 3}, progress=lambda value, total, message: seen.append(value))
    return {"progress": seen, "text": result.text}


STEPS = (
    DemoStep("tools",
             "List the tools: each has a name, a description for the model, and a JSON Schema of its arguments.",
             lambda client: [tool.name for tool in client.tools()]),
    DemoStep("echo", "Call a tool: the result is a list of content blocks, here a single text.",
             lambda client: client.call_tool("echo", {"text": "hello, wire"}).text),
    DemoStep("add",
             "Call a tool that returns a number: structuredContent is for programs, the text beside it for models.",
             lambda client: client.call_tool("add", {"a": 2, "b": 3}).structured_content),
    DemoStep("count", "Call a tool that takes its time: notifications tell how far it is, and then comes the result.",
             _count),
    DemoStep("reserve",
             "Call a tool that asks the user: the first result is its question, and the client calls again with "
             "the answer.", lambda client: client.call_tool("reserve").text),
    DemoStep("resources", "List the resources: data with a URI that the server offers to read.",
             lambda client: [resource.uri for resource in client.resources()]),
    DemoStep("config://app", "Read one of them: the contents come with a MIME type.",
             lambda client: client.read_resource("config://app").text),
    DemoStep("greeting://you", "Read one that is in no list: the server has a template for it, greeting://{name}.",
             lambda client: client.read_resource("greeting://you").text),
    DemoStep("prompts", "List the prompts: templates of messages that the user chooses, for example as commands.",
             lambda client: [prompt.name for prompt in client.prompts()]),
    DemoStep("review", "Get a prompt: the messages come filled in, ready for a model.",
             lambda client: _text(client.get_prompt("review", {"code": "x = 1"}).messages[0].content)),
)
"""The steps in the order of the demonstration."""


class Ladder:
    """Prints messages as arrows, of the client to the right and of the server to the left."""

    def __init__(self) -> None:
        self._coloured, columns = terminal(sys.stdout)
        self._width = min((columns or _COLUMNS) - _INDENT - 1, _LADDER)

    def __call__(self, event: Event) -> None:
        """Print the arrows of one event."""
        for rung in rungs([event]):
            line, = draw([rung], self._width)
            print(" " * _INDENT + (painted(line, "C>" if rung.direction == CLIENT else "S>")
                                   if self._coloured else line), flush=True)


class Wire:
    """Prints messages, each in one short line. ``_meta``, which every message repeats, is shown the first time only."""

    def __init__(self) -> None:
        self._coloured, columns = terminal(sys.stdout)
        self._form = TextForm(_WIDTH, None if columns is None else columns - _INDENT + _TIME)
        self._shown: Set[str] = set()

    def __call__(self, event: Event) -> None:
        """Print one event, if it is a message."""
        if event.kind != MESSAGE:
            return
        if isinstance(event.message, dict):
            event = event._replace(message={name: self._without(event.direction, value)
                                            for name, value in event.message.items()})
        for line in self._form.lines(event):
            print(" " * _INDENT + (coloured(line) if self._coloured else line)[_TIME:])
        sys.stdout.flush()

    def _without(self, direction: str, value: Any) -> Any:
        if not isinstance(value, dict) or "_meta" not in value:
            return value
        if direction not in self._shown:
            self._shown.add(direction)
            return value
        return {name: member for name, member in value.items() if name != "_meta"}


_WIDTH = 180
_LADDER = 64
_COLUMNS = 80
"""Columns, where no terminal says how many there are."""
_INDENT = 3
_TIME = len("  0.000 ")


def main(program: str = "python3 -m " + str(__package__), wire: bool = False) -> int:
    """Run the demonstration; return 0 if all results were as expected, else 1.

    ``program``: the words that start us. ``wire``: show the messages whole in place of arrows.
    """
    _tell("C> is what the client sends, S> what the server answers; => is what the program gets. Long lines lose their "
          "middle, and _meta, which every message has, is shown in step 1 only." if wire else
          "Arrows to the right are messages of the client, to the left those of the server; => is what the program "
          "gets. --wire shows the messages themselves.")
    _tell("1. Connect: the client starts the server as a child process, and asks who it is and what it speaks.", "\n")
    seen = {}
    trace = Trace(Wire() if wire else Ladder())
    with connect(command(), trace=trace, elicitation=lambda params, context: {"seat": "12A"}) as client:
        _result(client)
        for number, step in enumerate(STEPS, 2):
            _tell("%d. %s" % (number, step.sentence), "\n")
            seen[step.name] = step.act(client)
            _result(seen[step.name])
        _tell("%d. Close: the client closes the pipe, and the server ends." % (len(STEPS) + 2), "\n")
    good = seen["add"] == {"result": 5} and seen["count"]["progress"] == [1, 2, 3]
    _result("done" if good else "not what was expected")
    _tell("Next: %s demo --wire shows the messages, explain tools/call tells what one is, call --trace shows the wire "
          "of your own server, and examples/README.md goes on from here." % program, "\n")
    return 0 if good else 1


def _tell(text: str, before: str = "") -> None:
    """Print a text in as many lines as the terminal needs."""
    columns = terminal(sys.stdout)[1] or _COLUMNS
    print(before + "\n".join(wrap(text, min(columns, 100), subsequent_indent=" " * _INDENT * bool(before))))


def _result(value: Any) -> None:
    print("   => %s" % (value,))


def _text(block: Any) -> str:
    return str(getattr(block, "text", "")).replace("\n", " ")


SCHEMA = "schema.json"


def _printing(main: Callable[..., int], *arguments: Any) -> int:
    """Run a function that prints by itself. A trace that ends because its output was closed is not logged."""
    own_process(False)
    try:
        code = main(*arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        raise OutputClosed() from None


def _demo(options: Any) -> int:

    return _printing(main, program(), options.wire)


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Nothing is installed or changed: the server is a child process that ends with the demonstration."
    parser.add_argument("--wire", action="store_true", help="show the messages themselves in place of arrows")


def _crosscheck(options: Any) -> int:
    from ..devtools.crosscheck import compare, errata_lines, main

    absent = [str(each) for each in REVISIONS if not os.path.isfile(os.path.join(options.folder, str(each), SCHEMA))]
    if absent:
        raise UsageError("%s has no %s for %s: the folder is to hold REVISION/%s" % (
            options.folder, SCHEMA, ", ".join(absent), SCHEMA))
    if not options.json:
        return _printing(main, options.folder)
    found = compare(options.folder)
    say_json({"differences": found, "errata": errata_lines()})
    return FAILED if found else DONE


def _crosscheck_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a folder with REVISION/%s of every revision" % SCHEMA)
    parser.add_argument("--json", action="store_true",
                        help="print {\"differences\": [...], \"errata\": {line: reason}}")


COMMANDS: Commands = {
    "demo": Command(_demo, _demo_options),
    "crosscheck": Command(_crosscheck, _crosscheck_options),
}
