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
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Dict, List

from tokens import AUDIENCE, ISSUER, SECRET

from mcp_ref import Context, Limits, Server, threads
from mcp_ref.auth import JwtVerifier, ResourceServer
from mcp_ref.devtools.bridge import Bridge
from mcp_ref.errors import Busy
from mcp_ref.ext.stores import table
from mcp_ref.ext.tasks.server import engine
from mcp_ref.server import SqliteStore, Tasks

TASK_SECONDS = 4.0
"""How long tasks are kept."""
LIMITS = Limits(session_idle=4.0, http_write_timeout=2.0, http_body_timeout=3.0, http_header_timeout=3.0,
                max_stream_bytes=1 << 20, max_log_messages_per_second=1e6, max_progress_per_second=1e6,
                max_sessions=20_000, max_session_share=1.0, question_grace=1.0, max_cached_tokens=20,
                max_held_bytes=64_000_000, max_task_requests_per_second=1e6, max_tasks_per_principal=20_000)
PATIENT = replace(LIMITS, session_idle=60.0, http_header_timeout=30.0)
"""For as many clients as it takes a while to make."""
WATCHED = ("HttpSession", "ReplicaSession", "Connection", "HttpExchange", "ReplyStream", "Context", "Session", "Replay",
           "Listener", "TaskRun")
"""Names of classes whose objects are counted."""
engine.SWEEP = 0.2
threads.IDLE = table.REPLICA_SECONDS = table._SWEEP_SECONDS = 2.0

server = Server("soak", version="1", limits=LIMITS, tasks=Tasks(ttl=TASK_SECONDS, poll=0.1))
patient = Server("patient", version="1", limits=PATIENT)
asking: "collections.Counter[str]" = collections.Counter()
"""What became of the calls of `ask`."""


@patient.tool
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


@server.tool(task="optional")
def job(what: str, ctx: Context) -> str:
    """Do something at once, ask for a word, or wait for the end."""
    ctx.progress(1, 2)
    if what == "asks":
        return ctx.elicit("Which word?", {"word": str})["word"]
    if what == "waits":
        ctx.cancelled.wait(2 * TASK_SECONDS)
    return "done"


@server.tool
def announce(count: int) -> str:
    """Send so many log messages of 1 KB to every client."""
    for _ in range(count):
        server.log("info", "x" * 1000)
    return "said"


@server.tool
def touch(count: int) -> str:
    """Say of so many items that they have changed."""
    for number in range(count):
        server.resource_updated("item://%d" % number)
    return "touched"


@patient.tool
def ask(ctx: Context) -> str:
    """Ask for a word."""
    asking["now"] += 1
    try:
        return "thanks for %s" % ctx.elicit("Which word?", {"word": str})["word"]
    except Busy:
        asking["refused"] += 1
        raise
    finally:
        asking["now"] -= 1
        asking["ended"] += 1


@server.resource("item://{number}")
def item(number: int) -> str:
    """One of many items."""
    return "item %d" % number


CHILD = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "child", "version": "1"}}
    else:
        reply["result"] = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
    print(json.dumps(reply), flush=True)
"""
"""A server that starts quickly, of which each session with the bridge has one."""


def given_back() -> None:
    """Have the C library's allocator give back what it keeps for later, where it can be asked to."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    trim(0)


def children() -> int:
    """How many child processes there are, ended but unreaped ones among them."""
    with open("/proc/self/task/%d/children" % os.getpid(), encoding="ascii") as found:
        count = len(found.read().split())
    for thread in os.listdir("/proc/self/task"):
        if thread != str(os.getpid()):
            try:
                with open("/proc/self/task/%s/children" % thread, encoding="ascii") as found:
                    count += len(found.read().split())
            except OSError:
                pass  # the thread has ended
    return count


def held(listeners: Dict[str, Any], store: SqliteStore) -> Dict[str, Any]:
    """What this process holds."""
    gc.collect()
    given_back()
    objects = collections.Counter(type(thing).__name__ for thing in gc.get_objects()
                                  if type(thing).__module__.startswith("mcp_ref."))
    with open("/proc/self/status", encoding="ascii") as status:
        rows = dict(line.split(":", 1) for line in status)
    https = [listener.http for listener in listeners.values()]
    endpoints = [listener.endpoint for listener in listeners.values()]
    counters: "collections.Counter[str]" = collections.Counter()
    for counted in [http.counters() for http in https] + [endpoint.counters.snapshot() for endpoint in endpoints]:
        counters.update(counted)
    return {
        "addresses": {name: listener.address for name, listener in listeners.items()},
        "threads": threading.active_count(),
        "names": sorted(thread.name for thread in threading.enumerate()),
        "children": children(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "connections": sum(http.connections for http in https),
        "body bytes": sum(http.body_bytes for http in https),
        "held bytes": server.held.total,
        "most held bytes": LIMITS.max_held_bytes,
        "sessions": sum(len(endpoint.sessions.all()) for endpoint in endpoints) + store.count_sessions(),
        "tasks": len(server.tasks.store),
        "memory": int(rows["VmRSS"].split()[0]) * 1024,
        "objects": {name: objects[name] for name in WATCHED},
        "all objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
        "counters": counters,
        "asking": asking,
    }


def main() -> None:
    """Serve until the end of standard input."""
    where = "http://127.0.0.1:0/mcp"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores: List[SqliteStore] = [SqliteStore(os.path.join(folder, "sessions.db")) for _ in range(2)]
        verify = JwtVerifier(ISSUER, keys=SECRET, algorithms=["HS256"], limits=LIMITS)
        guard = ResourceServer(AUDIENCE, [ISSUER], verify, needs={"tools/call:touch": ["change"]}, limits=LIMITS)
        options: Dict[str, Dict[str, Any]] = {
            "main": {}, "one": {"sessions": stores[0]}, "two": {"sessions": stores[1]}, "guarded": {"auth": guard}}
        listeners = {name: stack.enter_context(server.listen(where, **options[name])) for name in options}
        bridge = stack.enter_context(Bridge([sys.executable, "-S", "-c", CHILD], era="legacy", limits=LIMITS))
        listeners["bridged"] = stack.enter_context(bridge.listen(where))
        listeners["patient"] = stack.enter_context(patient.listen(where))
        for store in stores:
            stack.callback(store.close)
        print(listeners["main"].address, flush=True)
        for _ in sys.stdin:
            print(json.dumps(held(listeners, stores[0])), flush=True)


if __name__ == "__main__":
    main()
