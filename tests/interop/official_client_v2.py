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
from official_everything import LACKING, STATELESS, Person, walk_everything
from official_walk import bounded, report, run, stop, walk

SERVER_INFO = "io.modelcontextprotocol/serverInfo"


async def named(client: Client) -> str:
    """Who a server is that was not asked at the start: its results say so."""
    return str((await bounded(client.call_tool("echo", {"text": ""})))["_meta"][SERVER_INFO]["name"])


async def main(target: List[str]) -> None:
    """Connect, walk, close."""
    parameters = target[0] if "://" in target[0] else StdioServerParameters(
        command=target[0], args=target[1:], env=dict(os.environ))
    person, started = Person(), time.monotonic()
    mode = os.environ.get("MCP_MODE", "auto")
    async with Client(parameters, mode=mode, log_level="warning", **person.callbacks()) as client:
        server = getattr(client.server_info, "name", None) or await named(client)
        report("connect", started, protocol=client.protocol_version, server=server)
        await walk(client, stop)  # this version gives a call up by itself, in the way of the era and the transport
        if server in LACKING:
            await walk_everything(client, person, server, client.protocol_version == STATELESS)
        started = time.monotonic()
    report("close", started)


if __name__ == "__main__":
    raise SystemExit(run(main))
