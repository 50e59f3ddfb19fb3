"""What WSGI servers are told to serve, `wsgi_module:application`; see `http_shells`.

`MCP_SESSIONS` is "memory" (then it is `examples/everything_server.py`, with GET streams) or "none" (a tool that tells
which process answers).
"""
import importlib
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

from mcp_ref import Context, Server  # noqa: E402
from mcp_ref.transports.http_endpoint import Endpoint  # noqa: E402
from mcp_ref.transports.wsgi import application as serve  # noqa: E402


def alone() -> Server:
    """A server whose requests stand alone."""
    server = Server("alone")

    @server.tool
    def process(ctx: Context) -> int:
        """Which process answers."""
        ctx.progress(1)
        return os.getpid()

    return server


SESSIONS = os.environ.get("MCP_SESSIONS", "memory")
server = importlib.import_module("everything_server").server if SESSIONS == "memory" else alone()
application = serve(Endpoint(server.connect, sessions=SESSIONS, streams=SESSIONS == "memory"))
