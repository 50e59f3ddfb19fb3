"""A server made with the official Python SDK, of either version, over HTTP: `official_everything_http.py PORT MODE`.

MODE: `streamable-http`, `json`, `stateless`, `resumable` (events are kept, streams may be closed and resumed) or `sse`.
Runs inside the environments of the official SDK only.
"""
import asyncio
import sys
from typing import Any, Dict, List, Tuple

from pydantic import BaseModel

try:
    from mcp.server.streamable_http import EventMessage, EventStore
except ImportError:  # a version of 2024
    EventStore = object

try:
    from mcp.server.mcpserver import Context, MCPServer as Server
    NEW = True
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP as Server
    NEW = False


class Kept(EventStore):
    """Events in a list; an id is the place in it."""

    def __init__(self) -> None:
        self.events: List[Tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep one."""
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> Any:
        """Send the later ones of the same stream."""
        stream, _ = self.events[int(last_event_id) - 1]
        for number, (other, message) in enumerate(self.events[int(last_event_id):], int(last_event_id) + 1):
            if other == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class Person(BaseModel):
    """What is asked for."""

    name: str


def options(port: int, mode: str) -> Dict[str, Any]:
    """How it is served."""
    made: Dict[str, Any] = {"host": "127.0.0.1", "port": port}
    if mode in ("json", "stateless"):
        made[{"json": "json_response", "stateless": "stateless_http"}[mode]] = True
    if mode == "resumable":
        made.update(event_store=Kept(), retry_interval=50)
    return made


def main() -> None:
    """Serve until the process is ended."""
    port, mode = int(sys.argv[1]), sys.argv[2]
    given = options(port, mode)
    server = Server("official") if NEW else Server("official", **given)

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def steps(ctx: Context) -> str:
        """Tell of progress."""
        for number in range(1, 4):
            await ctx.report_progress(number, 3)
        return "done"

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Who?", Person)
        return "Hello %s" % answer.data.name

    @server.tool()
    async def poll(ctx: Context) -> str:
        """Close the stream on the way."""
        await ctx.report_progress(1, 2)
        await ctx.close_sse_stream()
        await asyncio.sleep(0.2)
        await ctx.report_progress(2, 2)
        return "resumed"

    server.run(transport="sse" if mode == "sse" else "streamable-http", **(given if NEW else {}))


main()
