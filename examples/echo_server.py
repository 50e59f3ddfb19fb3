"""A small server that shows one of everything; run it over stdio, or let a client start it.

    python3 examples/echo_server.py                          # speaks on standard input and output
    python3 examples/echo_server.py --http 127.0.0.1:8000    # Streamable HTTP
    python3 -m mcp_ref tools "python3 examples/echo_server.py"
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # so that it runs from a checkout

from mcp_ref import Context, Server  # noqa: E402

server = Server("echo", version="1.0", instructions="Say something with echo, or add two numbers.")


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
def slow(seconds: float, ctx: Context) -> str:
    """Take so many seconds; ends early when it is cancelled."""
    ctx.cancelled.wait(seconds)
    ctx.check()
    return "done"


@server.resource("config://app", mime_type="application/json")
def config() -> dict:  # type: ignore[type-arg]
    """The settings of this server."""
    return {"name": "echo", "greeting": "hello"}


@server.resource("greeting://{name}")
def greeting(name: str) -> str:
    """A greeting for somebody."""
    return "Hello, %s!" % name


@server.prompt
def review(code: str, language: str = "python") -> str:
    """Ask for a review of some code."""
    return "Please review this %s code:\n\n%s" % (language, code)


def main() -> None:
    """Parse the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=int, default=0, metavar="N", help="register N more tools")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over HTTP there instead")
    parser.add_argument("--stateless", action="store_true", help="over HTTP: no sessions, each request stands alone")
    options = parser.parse_args()
    for number in range(options.tools):
        server.tool(echo, name="echo_%d" % number)
    if options.http:
        serve_http(options.http, "none" if options.stateless else "memory")
    else:
        server.run()


def serve_http(address: str, sessions: str) -> None:
    """Serve until Ctrl-C."""
    host, _, port = address.rpartition(":")

    def ready(url: str) -> None:
        print("serving on %s; Ctrl-C ends it" % url, file=sys.stderr, flush=True)

    try:
        server.run_http(host.strip("[]"), int(port), sessions=sessions, ready=ready)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
