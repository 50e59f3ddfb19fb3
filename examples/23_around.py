"""One hook around every request: a log, measured times, a quota for each client, a cache.

A hook gets the method, its params, who asks, and a function that goes on. The first one that was registered is the
outermost: here the log sees also what the quota refuses and what comes from the cache.

A hook refuses by raising an error with a code. The codes from -32768 to -32000 belong to JSON-RPC and to the protocol;
all other integers are for applications [2026-07-28 basic/index §Error Codes].
"""
import collections
import json
import logging
import pathlib
import sys
import time
from typing import Any, Callable, Counter, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # so that it runs from a checkout

from course import Session  # noqa: E402

from mcp_ref import Server, connect  # noqa: E402
from mcp_ref.errors import PeerError  # noqa: E402
from mcp_ref.server import RpcError, access_log  # noqa: E402

server = Server("observed", version="1.0")
looked_up: List[str] = []
durations: Dict[str, List[float]] = collections.defaultdict(list)
calls: Counter[Any] = collections.Counter()
kept: Dict[str, Any] = {}
QUOTA = 3


@server.tool
def population(city: str) -> int:
    """Look up a number that does not change while the program runs."""
    looked_up.append(city)
    return {"Oslo": 717710, "Lima": 9674755}[city]


server.around(access_log)  # one line for each request, on the logger mcp_ref.access


@server.around
def measured(method: str, params: Dict[str, Any], principal: Any, proceed: Callable[..., Any]) -> Any:
    """Measure how long each request takes."""
    begun = time.monotonic()
    try:
        return proceed()
    finally:
        durations[method].append(time.monotonic() - begun)


@server.around
def quota(method: str, params: Dict[str, Any], principal: Any, proceed: Callable[..., Any]) -> Any:
    """Let each client call tools a few times only."""
    if method == "tools/call":
        calls[principal] += 1
        if calls[principal] > QUOTA:
            raise RpcError(-31001, "Quota exceeded: %d calls" % QUOTA)
    return proceed()


@server.around
def cached(method: str, params: Dict[str, Any], principal: Any, proceed: Callable[..., Any]) -> Any:
    """Answer the same call of a tool without calling it again."""
    if method != "tools/call":
        return proceed()
    key = json.dumps([params["name"], params.get("arguments")], sort_keys=True)
    if key not in kept:
        kept[key] = proceed()
    return kept[key]


def main() -> None:
    """Call the tool more often than the quota allows."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
    with Session() as session, connect(server, trace=session) as client:
        for city in ("Oslo", "Lima", "Oslo"):
            print(city, client.call_tool("population", {"city": city}).text)
        try:
            client.call_tool("population", {"city": "Lima"})
        except PeerError as error:
            print("refused:", error)
    counted = server.statistics()["requests"]["tools/call"]
    print("looked up:", looked_up)
    print("measured:", {method: len(each) for method, each in sorted(durations.items())})
    print("counted: %d answered, %d failed" % (counted["answered"], counted["failed"]))


if __name__ == "__main__":
    main()
