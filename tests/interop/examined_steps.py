"""What the Python clients under examination have in common; see `examine_clients`. Imports no library of others.

It asks for what the server declares; it calls each tool, reads, gets, completes; it answers forms and links; it gives
up a tool named `slow`; it leaves. What a server refuses is told on standard error, and is no end of anything.
"""
import asyncio
import sys
from typing import Any, Awaitable, Dict

SECONDS = 40.0
SOON = 0.5
"""The seconds after which the tool `slow` is given up."""
VALUES: Dict[Any, Any] = {"number": 1, "integer": 1, "boolean": True, "string": "x", "array": [], "object": {}}


def is_url(server: str) -> bool:
    """Is this no command? The command of a proxy has a URL in it."""
    return server.startswith(("http://", "https://"))


def filled(schema: Any) -> Dict[str, Any]:
    """Values for what a schema asks for."""
    return {name: VALUES.get(each.get("type"), 1) for name, each in (schema or {}).get("properties", {}).items()}


def elicited(mode: str, schema: Any) -> Dict[str, Any]:
    """What the user does with a form or a link."""
    return {"action": "accept", **({} if mode == "url" else {"content": filled(schema)})}


async def tried(call: Awaitable[Any], seconds: float = SECONDS) -> Any:
    """Wait for something that the server may refuse."""
    try:
        return await asyncio.wait_for(call, seconds)
    except Exception as error:
        print("refused: %r" % error, file=sys.stderr)
        return None
