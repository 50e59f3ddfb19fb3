"""The server that is measured: a tool of each kind, and one of each other feature.

    python3 tests/bench/subject.py [--tools N]                              # stdio
    python3 tests/bench/subject.py --http [--sse] [--none] [--tls]          # prints its URL, ends with its input
    python3 tests/bench/subject.py --workers N                              # `run` of this file, with N processes

`--many` adds tasks and takes the limits away; `--tools N` and `--depth N` add tools, the latter one whose schema has so
many levels. The start is measured, so that nothing is imported but what is needed; `argparse` alone would be a seventh
of it.
"""
import subprocess
import sys
import time
from typing import Any, Dict, List

from mcp_ref import Context, Server

WORK_SECONDS = 0.0005


def option(name: str) -> int:
    """Return the number after an option; 0 if it is missing."""
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else 0


def unlimited() -> Dict[str, Any]:
    """Return options of a server that holds a lot."""
    from mcp_ref import Limits
    from mcp_ref.server import Tasks

    limits = Limits(
        max_connections=12_000, max_sessions=100_000, max_session_share=1.0, max_tasks=100_000,
        max_tasks_per_principal=100_000, max_subscriptions=50_000, max_tool_calls_per_second=1e9,
        max_message_bytes=1 << 28, max_task_requests_per_second=1e9)
    return {"tasks": Tasks(ttl=3600.0), "limits": limits}


MANY = "--many" in sys.argv
server = Server("bench", version="1", **unlimited() if MANY else {})


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def order(items: List[Dict[str, int]], name: str, paid: bool = False) -> Dict[str, int]:
    """Count what is ordered; arguments and result are checked by their schemas."""
    return {"count": sum(item["count"] for item in items)}


@server.tool
def sleep(ms: int) -> str:
    """Block the handler's thread for that many milliseconds."""
    time.sleep(ms / 1000)
    return "slept"


@server.tool
def work(text: str) -> str:
    """Give the text back, after half a millisecond of processor time."""
    end = time.thread_time() + WORK_SECONDS
    while time.thread_time() < end:
        pass
    return text


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


@server.resource("item://{number}")
def item(number: int) -> str:
    """One of many items."""
    return "item %d" % number


@server.prompt
def review(code: str, language: str = "python") -> str:
    """Ask for a review of some code."""
    return "Please review this %s code:\n\n%s" % (language, code)


def quick(text: str) -> str:
    """End at once, as a task."""
    return text


def add_tools() -> None:
    """Register what the options ask for."""
    if MANY:
        server.tool(quick, task="optional")
    for number in range(option("--tools")):
        server.tool(echo, name="tool_%d" % number)
    if option("--depth"):
        schema: Dict[str, Any] = {"type": "object", "properties": {"leaf": {"type": "string"}}}
        for _ in range(option("--depth")):
            schema = {"type": "object", "properties": {"next": schema}, "required": ["next"]}
        server.tool(lambda next: True, name="deep", input_schema=schema)


def listen() -> None:
    """Serve over HTTP until the end of standard input."""
    options: Dict[str, Any] = {"json_response": False if "--sse" in sys.argv else None}
    if "--none" in sys.argv:
        options["sessions"] = "none"
    if "--tls" in sys.argv:
        import pathlib
        import ssl

        options["ssl_context"] = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        options["ssl_context"].load_cert_chain(
            str(pathlib.Path(__file__).resolve().parents[1] / "data" / "tls" / "localhost.pem"))
    if MANY:
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with server.listen("http%s://127.0.0.1:0/mcp" % ("s" if "--tls" in sys.argv else ""), **options) as listener:
        print(listener.address, flush=True)
        sys.stdin.read()


def processes(count: int) -> None:
    """Serve this file with so many processes until the end of standard input."""
    command = [sys.executable, "-m", "mcp_ref", "run", __file__, "--http", "127.0.0.1:0", "--workers", str(count)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        print(process.stderr.readline().decode().split()[2], flush=True)
        sys.stdin.read()
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    add_tools()
    if "--workers" in sys.argv:
        processes(option("--workers"))
    elif "--http" in sys.argv:
        listen()
    else:
        server.run()
