"""The server that is soaked: `python3 tests/soak/server.py`.

The first line of output is its URL. Each line of input is answered with one line of JSON that says what the process
holds; end of file ends it. Its times are short, so that nothing has to be waited for long.
"""
import collections
import ctypes
import gc
import json
import os
import sys
import threading
from typing import Any, Dict

from mcp_ref import Context, Limits, Server

LIMITS = Limits(session_idle=4.0, http_write_timeout=3.0, http_body_timeout=3.0, http_header_timeout=3.0,
                max_stream_bytes=1 << 20, max_log_messages_per_second=1e6, max_progress_per_second=1e6,
                max_sessions=20_000)
WATCHED = ("HttpSession", "Connection", "HttpExchange", "Stream", "Context", "Session", "Replay")
"""Names of classes whose objects are counted."""

server = Server("soak", version="1", limits=LIMITS)


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool
def steps(count: int, ctx: Context) -> str:
    """Report so many steps, a moment between any two."""
    for step in range(1, count + 1):
        ctx.progress(step, count)
        ctx.cancelled.wait(0.001)
    return "done"


@server.tool
def flood(count: int, ctx: Context) -> str:
    """Send so many log messages of 16 KiB."""
    for _ in range(count):
        ctx.log("info", "x" * 16384)
    return "done"


@server.tool
def touch(count: int) -> str:
    """Say of so many items that they have changed."""
    for number in range(count):
        server.resource_updated("item://%d" % number)
    return "touched"


@server.resource("item://{number}")
def item(number: int) -> str:
    """One of many items."""
    return "item %d" % number


def given_back() -> None:
    """Have the C library's allocator give back what it keeps for later, where it can be asked to."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    trim(0)


def held(listener: Any) -> Dict[str, Any]:
    """What this process holds."""
    gc.collect()
    given_back()
    objects = collections.Counter(type(thing).__name__ for thing in gc.get_objects()
                                  if type(thing).__module__.startswith("mcp_ref."))
    with open("/proc/self/status", encoding="ascii") as status:
        rows = dict(line.split(":", 1) for line in status)
    return {
        "threads": threading.active_count(),
        "names": sorted(thread.name for thread in threading.enumerate()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "connections": listener.http.connections,
        "sessions": len(listener.endpoint.sessions),
        "memory": int(rows["VmRSS"].split()[0]) * 1024,
        "objects": {name: objects[name] for name in WATCHED},
        "all objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "counters": {**listener.http.counters(), **listener.endpoint.counters.snapshot()},
    }


def main() -> None:
    """Serve until the end of standard input."""
    with server.listen("http://127.0.0.1:0/mcp") as listener:
        print(listener.address, flush=True)
        for _ in sys.stdin:
            print(json.dumps(held(listener)), flush=True)


if __name__ == "__main__":
    main()
