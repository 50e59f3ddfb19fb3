"""An official Python client with a recipe: `official_client.py URL TOKEN CALLS`, in an environment that has `mcp`.

``CALLS`` is a JSON array of ``[tool, arguments]``. Prints the names of the tools and the texts of the results as JSON.
"""
import asyncio
import contextlib
import json
import sys
from typing import Any, AsyncIterator, Dict, List

SECONDS = 30.0


@contextlib.asynccontextmanager
async def connected(url: str, headers: Dict[str, str]) -> AsyncIterator[Any]:
    """A session with the server: of version 2 of the SDK where that is what is here, else of version 1."""
    try:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client
    except ImportError:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(url, headers=headers) as (read, write, _):
            async with ClientSession(read, write) as session:
                await session.initialize()
                yield session
        return
    async with create_mcp_http_client(headers=headers) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            yield client


async def main(url: str, token: str, calls: List[Any]) -> None:
    """Connect, list, call."""
    async with connected(url, {"Authorization": "Bearer " + token}) as session:
        tools = [tool.name for tool in (await session.list_tools()).tools]
        texts = []
        for name, arguments in calls:
            result = await asyncio.wait_for(session.call_tool(name, arguments), SECONDS)
            texts.append(" ".join(getattr(block, "text", "") for block in result.content))
    print(json.dumps({"tools": tools, "texts": texts}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
