"""The official Python client, version 1.x, against a server: `official_client_v1.py COMMAND [ARGUMENT ...]` over stdio.

`official_client_v1.py URL` talks Streamable HTTP, or HTTP+SSE where the path ends in `/sse`. Runs inside an environment
that has `mcp` 1.x; see `official_walk` for the steps and for what is printed.
"""
import asyncio
import os
import time
from typing import Any, List

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from official_everything import LACKING, Person, walk_everything
from official_walk import report, run, stop, walk


def transport(target: List[str]) -> Any:
    """The transport to a command or a URL."""
    if target[0].startswith(("http://", "https://")):
        return sse_client(target[0]) if target[0].endswith("/sse") else streamablehttp_client(target[0])
    return stdio_client(StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ)))


async def main(target: List[str]) -> None:
    """Connect, walk, close."""
    person, started = Person(), time.monotonic()
    async with transport(target) as (read, write, *_):
        async with ClientSession(read, write, **person.callbacks()) as session:
            hello = await session.initialize()
            report("connect", started, protocol=hello.protocolVersion, server=hello.serverInfo.name)

            async def abandon(task: "asyncio.Task[Any]") -> None:
                # This version tells the server nothing when a caller gives up, so a host has to do it.
                number = session._request_id - 1
                await session.send_notification(types.ClientNotification(types.CancelledNotification(
                    params=types.CancelledNotificationParams(requestId=number, reason="interop"))))
                await stop(task)

            await walk(session, abandon)
            if hello.serverInfo.name in LACKING:
                await walk_everything(session, person, hello.serverInfo.name)
            started = time.monotonic()
    report("close", started)


if __name__ == "__main__":
    raise SystemExit(run(main))
