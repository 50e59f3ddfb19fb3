"""A client of the official Python SDK, or of fastmcp, that does everything that it can with a server.

    examined_client.py [--fastmcp] [--mode MODE] SERVER

SERVER is a URL (HTTP+SSE where its path ends in `/sse`), or the command of a server over stdio, as one word. MODE says
how version 2 and fastmcp connect: `auto`, `legacy` or a revision of the stateless era. Runs inside an environment that
has the library. See `examine_clients`.

What it does stands in `examined_steps`; it answers questions to the model and for roots as well, and asks for all
pages.
"""
import argparse
import asyncio
import datetime
import inspect
import os
import shlex
import warnings
from typing import Any, Awaitable, Callable, Dict, List

import mcp
import mcp.types as types
from examined_steps import SECONDS, SOON, elicited, filled, is_url, tried
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

FIRST = not hasattr(mcp, "Client")
"""True for version 1 of the SDK."""
warnings.simplefilter("ignore")


def either(model: Any, *names: str) -> Any:
    """The first attribute that there is: version 1 has the names of the wire."""
    return next((getattr(model, name) for name in names if getattr(model, name, None) is not None), None)


def schema_of(params: Any) -> Any:
    """The schema of a form; a link has none."""
    return either(params, "requested_schema", "requestedSchema")


class Person:
    """The person and the model behind a client of the official SDK."""

    def callbacks(self) -> Dict[str, Any]:
        """Options of either client; an early one knows fewer."""
        made = {"sampling_callback": self.sample, "elicitation_callback": self.elicit,
                "list_roots_callback": self.roots}
        known = inspect.signature(ClientSession.__init__).parameters
        return {name: value for name, value in made.items() if name in known}

    async def sample(self, context: Any, params: Any) -> Any:
        """The model."""
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="Yes."),
                                         model="none")

    async def elicit(self, context: Any, params: Any) -> Any:
        """The user, in front of a form or a link."""
        return types.ElicitResult(**elicited(getattr(params, "mode", "form"), schema_of(params)))

    async def roots(self, context: Any) -> Any:
        """Where a server may work."""
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="work")])  # type: ignore[arg-type]


async def pages(call: Callable[..., Awaitable[Any]], *names: str) -> List[Any]:
    """All pages of a list; fastmcp has them in one call, and so has a version without cursors."""
    found: List[Any] = []
    cursor = None
    while True:
        page = await tried(call(**({} if cursor is None else {"cursor": cursor})))
        if page is None or isinstance(page, list):
            return found + (page or [])
        found += either(page, *names) or []
        cursor = either(page, "next_cursor", "nextCursor")
        if cursor is None or "cursor" not in inspect.signature(call).parameters:
            return found


async def call_tool(client: Any, tool: Any, soon: Dict[str, Any]) -> None:
    """Call a tool with arguments that its schema allows."""
    arguments = filled(either(tool, "input_schema", "inputSchema"))
    await tried(client.call_tool(tool.name, arguments, **(soon if tool.name == "slow" else {})))


async def everything(client: Any, declared: Any, soon: Dict[str, Any]) -> None:
    """Do what can be done. `declared`: the server's capabilities; `soon`: the option by which a call is given up."""
    for tool in await pages(client.list_tools, "tools") if declared.tools is not None else []:
        await call_tool(client, tool, soon)
    if declared.resources is not None:
        for resource in await pages(client.list_resources, "resources"):
            await tried(client.read_resource(resource.uri))
        await pages(client.list_resource_templates, "resource_templates", "resourceTemplates")
    for prompt in await pages(client.list_prompts, "prompts") if declared.prompts is not None else []:
        await tried(client.get_prompt(prompt.name, {each.name: "x" for each in prompt.arguments or ()}))
        if getattr(declared, "completions", None) is not None:
            reference = types.PromptReference(type="ref/prompt", name=prompt.name)
            await tried(client.complete(reference, {"name": "code", "value": "o"}))


def transport(server: str) -> Any:
    """The official transport to a server."""
    if not is_url(server):
        command, *words = shlex.split(server)
        return stdio_client(StdioServerParameters(command=command, args=words, env=dict(os.environ)))
    if server.endswith("/sse"):
        return sse_client(server)
    import mcp.client.streamable_http as web
    found = getattr(web, "streamablehttp_client", None) or web.streamable_http_client  # type: ignore[attr-defined]
    return found(server)


async def first(server: str, mode: str) -> None:
    """Version 1 of the SDK."""
    async with transport(server) as (read, write, *_):
        async with ClientSession(read, write, **Person().callbacks()) as session:
            hello = await session.initialize()
            given = {"read_timeout_seconds": datetime.timedelta(seconds=SOON)}
            known = "read_timeout_seconds" in inspect.signature(session.call_tool).parameters
            await everything(session, hello.capabilities, given if known else {})


async def second(server: str, mode: str) -> None:
    """Version 2 of the SDK."""
    from mcp import Client
    async with Client(transport(server), mode=mode, **Person().callbacks()) as client:
        await everything(client, client.server_capabilities, {"read_timeout_seconds": SOON})


async def fast(server: str, mode: str) -> None:
    """The client of fastmcp."""
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

    async def elicit(message: Any, response_type: Any, params: Any, context: Any) -> Any:
        return ElicitResult(**elicited(getattr(params, "mode", "form"), schema_of(params)))

    async def sample(messages: Any, params: Any, context: Any) -> str:
        return "Yes."

    words = shlex.split(server)
    way: Any = (SSETransport(server) if server.endswith("/sse") else StreamableHttpTransport(server)) if (
        is_url(server)) else StdioTransport(words[0], words[1:], env=dict(os.environ), keep_alive=False)
    async with Client(way, mode=mode, roots=["file:///tmp"], sampling_handler=sample,
                      elicitation_handler=elicit) as client:
        await everything(client, client.server_capabilities, {"timeout": SOON})


async def main() -> None:
    """Connect, do everything, leave."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fastmcp", action="store_true")
    parser.add_argument("--mode", default="auto")
    parser.add_argument("server")
    given = parser.parse_args()
    play = fast if given.fastmcp else first if FIRST else second
    await asyncio.wait_for(play(given.server, given.mode), SECONDS)


if __name__ == "__main__":
    asyncio.run(main())
