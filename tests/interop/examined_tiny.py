"""The client of aiohttp-tiny-mcp, that does everything that it can with a server: `examined_tiny.py SERVER`.

SERVER is a URL, or the command of a server over stdio, as one word. The revision is that of the environment variable
`MCP_EXAMINER_REVISION`: this library has an adapter for each. Runs inside an environment that has it. It asks the
server for the same as `examined_client.py`.
"""
import asyncio
import os
import shlex
import sys
from typing import Any, Dict

from aiohttp_tiny_mcp import AdapterSet, Client, StdioClient
from examined_steps import SECONDS, SOON, elicited, filled, is_url, tried

OTHERS: Dict[str, Any] = {
    "roots/list": {"roots": []},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "none"},
}
"""What answers other requests."""


async def person(asked: Dict[str, Any]) -> Dict[str, Any]:
    """The user and the model. The library hands over every request, what it has not declared as well, and takes no
    refusal."""
    params = asked.get("params") or {}
    if asked["method"] == "elicitation/create":
        return elicited(params.get("mode", "form"), params.get("requestedSchema"))
    return OTHERS.get(asked["method"], {})


async def everything(client: Any) -> None:
    """Do what can be done."""
    declared = (await client.initialize()).get("capabilities", {})
    for tool in await tried(client.list_tools()) or [] if "tools" in declared else []:
        await tried(client.call_tool(tool.name, filled(tool.input_schema)), SOON if tool.name == "slow" else SECONDS)
    for resource in await tried(client.list_resources()) or [] if "resources" in declared else []:
        await tried(client.read_resource(resource.uri))
    for prompt in await tried(client.list_prompts()) or [] if "prompts" in declared else []:
        await tried(client.get_prompt(prompt.name, {"code": "x"}))
        if "completions" in declared:
            await tried(client.complete({"type": "ref/prompt", "name": prompt.name}, {"name": "code", "value": "o"}))


async def main(server: str) -> None:
    """Connect, do everything, leave."""
    adapters = {each.version: each for each in AdapterSet.default().adapters}
    adapter = adapters[os.environ["MCP_EXAMINER_REVISION"]]
    way: Any = Client(server, adapter, on_ask=person) if is_url(server) else StdioClient.spawn(
        *shlex.split(server), adapter=adapter, on_ask=person)
    async with way as client:
        await everything(client)


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(main(sys.argv[-1]), SECONDS))
