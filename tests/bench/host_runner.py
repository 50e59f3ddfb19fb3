"""Ten servers used by one process; the benchmark asks it for one measurement per line.

    python3 tests/bench/host_runner.py floor|mcp_ref

Reads `open N` (open N servers, list the tools of all, close) or `calls N` (N calls, one after the other, each to the
next of ten servers) and writes the seconds that it took.
"""
import pathlib
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Tuple

FLOOR_SERVER = [sys.executable, str(pathlib.Path(__file__).with_name("floor_server.py"))]
TEN = 10
ANSWER_SECONDS = 60

Echo = Callable[[int, str], str]
Close = Callable[[], None]


def floor(count: int) -> Tuple[Echo, Close]:
    """Bare clients: how to call one, how to close all."""
    from floor_client import FloorClient

    clients: List[Any] = [None] * count

    def start(number: int) -> None:
        clients[number] = FloorClient(FLOOR_SERVER)
        clients[number].submit("tools/list", {}).get(timeout=ANSWER_SECONDS)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def echo(number: int, text: str) -> str:
        answer = clients[number].submit_tool("echo", {"text": text}).get(timeout=ANSWER_SECONDS)
        return str(answer["result"]["content"][0]["text"])

    return echo, lambda: [client.close() for client in clients] and None


def mcp_ref(count: int) -> Tuple[Echo, Close]:
    """Our host: how to call one of its servers, how to close it."""
    from mcp_ref import Host
    from mcp_ref.host import Policy, allow

    host = Host("bench", policy=Policy(tool_call=allow))
    host.connect_all({"server%d" % number: FLOOR_SERVER for number in range(count)})
    tools = {tool.server: tool.qualified for tool in host.tools() if tool.name == "echo"}

    def echo(number: int, text: str) -> str:
        return str(host.call_tool(tools["server%d" % number], {"text": text}).content[0].text)

    return echo, host.close


def opened(many: Any, count: int) -> float:
    """Open, list, close."""
    begin = time.perf_counter()
    many(count)[1]()
    return time.perf_counter() - begin


def calls(many: Any, count: int) -> float:
    """Calls to one after the other; opening is not counted."""
    echo, close = many(TEN)
    begin = time.perf_counter()
    for number in range(count):
        text = "call %d" % number
        if echo(number % TEN, text) != text:
            raise SystemExit("wrong answer to %r" % text)
    seconds = time.perf_counter() - begin
    close()
    return seconds


MANY: Dict[str, Any] = {"floor": floor, "mcp_ref": mcp_ref}
MEASURES: Dict[str, Callable[[Any, int], float]] = {"open": opened, "calls": calls}


def main() -> None:
    """Measure until end of file."""
    for line in sys.stdin:
        name, count = line.split()
        print(MEASURES[name](MANY[sys.argv[1]], int(count)), flush=True)


if __name__ == "__main__":
    main()
