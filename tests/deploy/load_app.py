"""What the hosts of the proof serve: `examples/deploy/app.py` and more tools; `proof` sets the environment."""
import os
import pathlib
import sys
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "deploy")]

AHEAD, right = float(os.environ.get("MCP_TEST_AHEAD", "0")), time.time
if AHEAD:
    time.time = lambda: right() + AHEAD  # before anything else takes the function

import redis_store  # noqa: E402

SLOW = float(os.environ.get("MCP_TEST_SLOW", "0"))
if SLOW:
    run = redis_store.RedisStore._run

    def slowly(store: Any, name: str, *arguments: Any) -> Any:
        """Take time before each script."""
        time.sleep(SLOW)
        return run(store, name, *arguments)

    redis_store.RedisStore._run = slowly

from app import application, server  # noqa: E402,F401 - the application is what gunicorn serves
from mcp_ref import Context  # noqa: E402


@server.tool
def where() -> str:
    """Which host answers, and what it takes for the time."""
    return "%s %d" % (os.environ["MCP_TEST_HOST"], time.time())


@server.tool
def ask(turn: int, ctx: Context) -> str:
    """Ask the user who it is."""
    return "%s says %d" % (ctx.elicit("Who are you?", {"name": str})["name"], turn)


@server.tool
def slow(turn: int, ctx: Context) -> int:
    """Take a while, on a stream that is cut and resumed."""
    for step in range(1, 5):
        ctx.progress(step, 5)
        time.sleep(0.3)
    return turn


@server.tool(task="optional")
def work(turn: int) -> int:
    """Take a while, as a task."""
    time.sleep(1.0)
    return turn


@server.resource("item://{number}")
def item(number: str) -> str:
    """Something that changes."""
    return number


@server.tool
def touch(uri: str) -> bool:
    """Say that a resource has changed."""
    server.resource_updated(uri)
    return True
