"""The subject of the curves: `echo`, tools without end, a deep one, tasks and resources, with limits that are far off.

    python3 tests/bench/curves_subject.py [--tools N] [--depth N]

The first line of output is the URL; end of file on standard input ends it. `curves_subject.py` is also what
``run --workers`` serves for the curve over hosts.
"""
import argparse
import resource
import sys
import time
from typing import Any, Dict

from mcp_ref import Limits, Server
from mcp_ref.server import Tasks

MANY = Limits(
    max_connections=12_000, max_sessions=100_000, max_session_share=1.0, max_tasks=100_000,
    max_tasks_per_principal=100_000, max_subscriptions=50_000, max_tool_calls_per_second=1e9, max_message_bytes=1 << 28,
    max_task_requests_per_second=1e9)
SECONDS = 0.002
server = Server("curves", version="1", tasks=Tasks(ttl=3600.0), limits=MANY)


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def work() -> bool:
    """Take some time of the processor."""
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass
    return True


@server.tool(task="optional")
def quick(text: str = "") -> str:
    """End at once, also as a task."""
    return text


@server.resource("item://{number}")
def item(number: str) -> str:
    """Something that changes."""
    return number


@server.tool
def touch(uri: str) -> bool:
    """Say that a resource has changed."""
    server.resource_updated(uri)
    return True


def deep(depth: int) -> Dict[str, Any]:
    """A schema of so many levels."""
    schema: Dict[str, Any] = {"type": "object", "properties": {"leaf": {"type": "string"}}}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"next": schema}, "required": ["next"]}
    return schema


def main() -> None:
    """Serve until the end of standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=int, default=0)
    parser.add_argument("--depth", type=int, default=1)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for number in range(options.tools):
        server.tool(lambda text: text, name="tool_%d" % number, input_schema={
            "type": "object", "properties": {"text": {"type": "string"}}})
    server.tool(lambda next: True, name="deep", input_schema=deep(options.depth))
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        print(listener.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
