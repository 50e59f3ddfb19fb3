"""What servers are told to serve, `wsgi_module:application`; see `http_shells` and `http_scale`.

`MCP_SESSIONS` is "memory" (then it is `examples/everything_server.py`, with GET streams), "none", or "store" with the
file `MCP_STORE` (then it is `server`, whose tools tell which process answers). `run --workers` serves `server` itself.
"""
import importlib
import os
import pathlib
import sys
import threading
from typing import Any, Dict

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

from mcp_ref import Context, Server  # noqa: E402
from mcp_ref.ext.stores.sqlite import SqliteStore  # noqa: E402
from mcp_ref.server.serving.http_listener import endpoint_of  # noqa: E402
from mcp_ref.streamable.server.wsgi import Application as serve  # noqa: E402

KEYS = "0123456789abcdef" * 4
"""For tests alone."""
SESSIONS = os.environ.get("MCP_SESSIONS", "memory")
server = Server("processes")
held = threading.Event()


@server.tool
def process(ctx: Context) -> int:
    """Which process answers."""
    ctx.progress(1)
    return os.getpid()


@server.tool
def double(number: int) -> Dict[str, Any]:
    """Twice a number."""
    return {"said": str(2 * number), "pid": os.getpid()}


@server.tool
def hold(ctx: Context) -> bool:
    """Say that it has begun, and wait for `let_go`."""
    ctx.progress(1)
    return held.wait(120)


@server.tool
def let_go() -> None:
    """Let `hold` go on, in this process."""
    held.set()


@server.tool
def ask(turn: int, ctx: Context) -> Dict[str, Any]:
    """Ask the user who it is."""
    first = ctx.once("first", os.getpid)
    answer = ctx.elicit("Who are you?", {"name": str})
    return {"said": "%s says %d" % (answer["name"], turn), "pid": os.getpid(), "first": first}


if SESSIONS == "memory":
    application = serve(endpoint_of(importlib.import_module("everything_server").server, streams=True))
else:
    application = server.wsgi(sessions=SqliteStore(os.environ["MCP_STORE"]) if SESSIONS == "store" else SESSIONS)
