"""The main job, with the wire visible: start a server as a child, connect, list, call, be asked, read, close.

The server is in this module, too, so that the demonstration runs wherever the package does: from a
checkout, a wheel, a zip archive, or a copy under another name.
"""

import sys
from typing import TYPE_CHECKING, Any, List

from .client import connect
from .wiretrace import to_text

if TYPE_CHECKING:
    from .server import Server


def make_server() -> "Server":
    """A server with a little of everything."""
    from .server import Context, Server

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
    """What the child process runs: that server over stdio."""
    make_server().run()


def command() -> List[str]:
    """The command that starts the child: this module, found where it was found here."""
    code = "import sys; sys.path[:] = %r; from importlib import import_module; import_module(%r).serve()"
    return [sys.executable, "-c", code % (sys.path, __name__)]


def main() -> int:
    """Run the demonstration; 0 if everything came back as expected, 1 if not."""
    print("# C> is what the client sends, S> what the server answers; one line for each message.\n")
    steps: List[float] = []
    with connect(command(), trace=to_text(sys.stdout), elicitation=lambda params, context: {"seat": "12A"}) as client:
        seen = [
            ("tools", [tool.name for tool in client.tools()]),
            ("echo", _text(client.call_tool("echo", {"text": "hello, wire"}).content)),
            ("2 + 3", client.call_tool("add", {"a": 2, "b": 3}).structured_content),
            ("count", _text(client.call_tool("count", {"to": 3}, progress=lambda *at: steps.append(at[0])).content)),
            ("progress", steps),
            ("reserve", _text(client.call_tool("reserve").content)),
            ("resources", [resource.uri for resource in client.resources()]),
            ("config://app", _text(client.read_resource("config://app").contents)),
            ("greeting://you", _text(client.read_resource("greeting://you").contents)),
            ("prompts", [prompt.name for prompt in client.prompts()]),
            ("review", _text([client.get_prompt("review", {"code": "x = 1"}).messages[0].content])),
        ]
        revision = client.revision
    print("\n# What came of it, in revision %s:" % revision)
    for what, value in seen:
        print("  %s: %s" % (what, value))
    return 0 if dict(seen)["2 + 3"] == {"result": 5} and steps == [1, 2, 3] else 1


def _text(blocks: List[Any]) -> str:
    return str(getattr(blocks[0], "text", "")).replace("\n", " ")
