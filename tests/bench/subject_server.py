"""The subject where `examples/echo_server.py` does not do: a tool that blocks, and one of each feature."""
import time

from mcp_ref import Context, Server

server = Server("bench", version="1")


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def sleep(ms: int) -> str:
    """Block the handler's thread for that many milliseconds."""
    time.sleep(ms / 1000)
    return "slept"


@server.tool
def touch(count: int) -> str:
    """Say of so many items that they have changed."""
    for number in range(count):
        server.resource_updated("item://%d" % number)
    return "touched"


@server.tool
def ask_twice(ctx: Context) -> str:
    """Ask the user two things, one after the other."""
    form = {"text": str}
    return "%s %s" % (ctx.elicit("First?", form)["text"], ctx.elicit("Second?", form)["text"])


@server.resource("config://app", mime_type="application/json")
def config() -> str:
    """The settings."""
    return '{"name": "bench"}'


@server.resource("item://{number}")
def item(number: int) -> str:
    """One of many items."""
    return "item %d" % number


@server.prompt
def review(code: str, language: str = "python") -> str:
    """Ask for a review of some code."""
    return "Please review this %s code:\n\n%s" % (language, code)


if __name__ == "__main__":
    server.run()
