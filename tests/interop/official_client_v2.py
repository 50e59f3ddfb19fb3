"""The official Python client, version 2.x, against a server: `official_client_v2.py COMMAND [ARGUMENT ...]` over stdio.

`official_client_v2.py URL` talks Streamable HTTP. Runs inside an environment that has `mcp` 2.x; see `official_walk`
for the steps and for what is printed. The environment variable `MCP_MODE` chooses how it connects: `auto` (its default:
ask `server/discover` first, fall back to `initialize`), `legacy` (`initialize` at once), or a revision of the stateless
era.
"""
import os
import time
from typing import List

from mcp import Client, StdioServerParameters
from official_everything import Person, walk_everything
from official_walk import report, run, stop, walk


async def main(target: List[str]) -> None:
    """Connect, walk, close."""
    parameters = target[0] if "://" in target[0] else StdioServerParameters(
        command=target[0], args=target[1:], env=dict(os.environ))
    person, started = Person(), time.monotonic()
    async with Client(parameters, mode=os.environ.get("MCP_MODE", "auto"), **person.callbacks()) as client:
        report("connect", started, protocol=client.protocol_version, server=getattr(client.server_info, "name", None))
        await walk(client, stop)  # this version sends `notifications/cancelled` by itself
        if getattr(client.server_info, "name", None) == "everything":
            await walk_everything(client, person)
        started = time.monotonic()
    report("close", started)


if __name__ == "__main__":
    raise SystemExit(run(main))
