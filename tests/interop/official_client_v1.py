"""The official Python client, version 1.x, against a server over stdio: `official_client_v1.py COMMAND [ARGUMENT ...]`.

Runs inside an environment that has `mcp` 1.x; see `official_walk` for the steps and for what is printed.
"""
import asyncio
import os
import time
from typing import Any, List

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from official_everything import Person, walk_everything
from official_walk import report, run, stop, walk


async def main(command: List[str]) -> None:
    """Connect, walk, close."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    person, started = Person(), time.monotonic()
    async with stdio_client(parameters) as (read, write):
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
            if hello.serverInfo.name == "everything":
                await walk_everything(session, person)
            started = time.monotonic()
    report("close", started)


if __name__ == "__main__":
    raise SystemExit(run(main))
