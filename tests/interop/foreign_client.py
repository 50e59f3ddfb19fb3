"""A client of the official Python SDK, 1.x or 2.x, that does the steps it is given: `foreign_client.py TARGET...`.

TARGET is a URL (HTTP+SSE where its path ends in `/sse`) or a command and its arguments. `FOREIGN_STEPS` has the steps
as JSON (see `foreign_sessions.py`), `FOREIGN_MODE` says how version 2 connects. Prints one JSON line per step, with the
error that it got, if any: an error is a result like another, what matters is what went over the wire.
"""
import asyncio
import inspect
import json
import os
import sys
import warnings
from typing import Any, Dict, List

import mcp.types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

try:
    from mcp import Client
except ImportError:
    Client = None

SECONDS = 120.0
warnings.simplefilter("ignore")


class Person:
    """The person and the model behind the client."""

    def callbacks(self) -> Dict[str, Any]:
        """Options of either client."""
        return {"sampling_callback": self.sample, "elicitation_callback": self.elicit,
                "list_roots_callback": self.roots, "logging_callback": self.log}

    async def sample(self, context: Any, params: Any) -> Any:
        """The model."""
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="42"), model="m")

    async def elicit(self, context: Any, params: Any) -> Any:
        """The user, in front of a form or a link."""
        if getattr(params, "mode", "form") == "url":
            return types.ElicitResult(action="accept")
        if os.environ.get("FOREIGN_ANSWER") == "decline":
            return types.ElicitResult(action="decline")
        schema = getattr(params, "requested_schema", None) or getattr(params, "requestedSchema", None) or {}
        known = {"name": "Ada", "colour": "green"}
        asked = schema.get("properties", {})
        return types.ElicitResult(action="accept", content={name: known[name] for name in known if name in asked})

    async def roots(self, context: Any) -> Any:
        """Where a server may work."""
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="work")])

    async def log(self, params: Any) -> None:
        """A log message."""


class Steps:
    """The words of the steps, as calls of a client."""

    def __init__(self, client: Any, first: bool) -> None:
        self.client = client
        self.first = first

    async def tools(self) -> Any:
        """List them."""
        return await self.client.list_tools()

    async def resources(self) -> Any:
        """List them."""
        return await self.client.list_resources()

    async def templates(self) -> Any:
        """List them."""
        return await self.client.list_resource_templates()

    async def prompts(self) -> Any:
        """List them."""
        return await self.client.list_prompts()

    async def call(self, name: str, arguments: Any) -> Any:
        """Call a tool."""
        return await self.client.call_tool(name, arguments)

    async def progress(self, name: str, arguments: Any) -> Any:
        """Call a tool and follow it."""
        async def heard(progress: float, total: Any = None, message: Any = None) -> None:
            """Hear of it."""

        return await self.client.call_tool(name, arguments, progress_callback=heard)

    async def both(self, name: str, arguments: Any) -> Any:
        """Call a tool three times at once."""
        return await asyncio.gather(*(self.client.call_tool(name, arguments) for _ in range(3)))

    async def cancel(self, name: str, arguments: Any) -> Any:
        """Call a tool and give up."""
        task = asyncio.ensure_future(self.client.call_tool(name, arguments))
        await asyncio.sleep(0.4)
        if self.first:  # it tells the server nothing by itself
            number = self.client._request_id - 1
            await self.client.send_notification(types.ClientNotification(types.CancelledNotification(
                params=types.CancelledNotificationParams(requestId=number, reason="enough"))))
        task.cancel()
        await asyncio.wait([task], timeout=SECONDS)

    async def read(self, uri: str) -> Any:
        """Read a resource."""
        return await self.client.read_resource(uri)

    async def prompt(self, name: str, arguments: Any) -> Any:
        """Get a prompt."""
        return await self.client.get_prompt(name, arguments)

    async def complete(self, kind: str, of: str, name: str, value: str) -> Any:
        """Complete an argument."""
        reference: Any = types.PromptReference(type="ref/prompt", name=of)
        if kind != "prompt":
            reference = types.ResourceTemplateReference(type="ref/resource", uri=of)
        return await self.client.complete(reference, {"name": name, "value": value})

    async def level(self, level: str) -> Any:
        """Set the log level."""
        return await self.client.set_logging_level(level)

    async def subscribe(self, uri: str) -> Any:
        """Subscribe to a resource."""
        return await self.client.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> Any:
        """Undo it."""
        return await self.client.unsubscribe_resource(uri)

    async def listen(self, uri: str, tool: str) -> Any:
        """Listen in the stateless era, while a tool is called."""
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[uri]):
            await self.client.call_tool(tool, {})
            await asyncio.sleep(0.3)

    async def ping(self) -> Any:
        """Ask whether it is there."""
        return await self.client.send_ping()

    async def roots(self) -> Any:
        """Tell that the roots have changed."""
        return await self.client.send_roots_list_changed()

    async def wait(self, seconds: float) -> None:
        """Let the server speak."""
        await asyncio.sleep(seconds)


async def walk(client: Any, first: bool) -> None:
    """All steps."""
    words = Steps(client, first)
    for word, *arguments in json.loads(os.environ["FOREIGN_STEPS"]):
        seen = None
        try:
            await asyncio.wait_for(getattr(words, word)(*arguments), SECONDS)
        except Exception as error:
            seen = repr(error)[:200]
        print(json.dumps({"step": [word, *arguments][:2], "error": seen}), flush=True)


async def main(target: List[str]) -> None:
    """Connect, walk, close."""
    url, callbacks = target[0] if "://" in target[0] else "", Person().callbacks()
    pipe = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    mode = os.environ.get("FOREIGN_MODE") or "auto"
    if Client is not None:
        aim: Any = (sse_client(url) if url.endswith("/sse") else url) if url else pipe
        async with Client(aim, mode=mode, log_level="info" if mode != "legacy" else None, **callbacks) as client:
            print(json.dumps({"protocol": client.protocol_version}), flush=True)
            await walk(client, False)
        return
    if url and not url.endswith("/sse"):
        from mcp.client.streamable_http import streamablehttp_client
    taken = inspect.signature(ClientSession.__init__).parameters  # earlier versions know fewer
    callbacks = {name: value for name, value in callbacks.items() if name in taken}
    transport = (sse_client(url) if url.endswith("/sse") else streamablehttp_client(url)) if url else stdio_client(pipe)
    async with transport as (read, write, *_):
        async with ClientSession(read, write, **callbacks) as session:
            hello = await session.initialize()
            print(json.dumps({"protocol": hello.protocolVersion}), flush=True)
            await walk(session, True)


asyncio.run(main(sys.argv[1:]))
