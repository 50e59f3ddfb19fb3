"""One client against the floor server, in a process of its own; the benchmark asks it for one measurement per line.

    python3 tests/bench/client_runner.py floor|mcp_ref|http_floor|http_mcp_ref [OUR_CORE SERVER_CORE]

Reads `sequential N` or `in_flight N` and writes the seconds that N calls took. Every answer is checked, inside the time
that is measured: to read the answer is part of using a client.
"""
import os
import pathlib
import sys
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Tuple

FLOOR_SERVER = [sys.executable, str(pathlib.Path(__file__).with_name("floor_server.py"))]
WINDOW = 64
ANSWER_SECONDS = 60

Submit = Callable[[str], Any]
Wait = Callable[[Any], str]
Client = Tuple[Submit, Wait, Callable[[str], str], Callable[[], None]]


def floor() -> Client:
    """The bare client: submit, wait, call, close."""
    from floor_client import FloorClient

    client = FloorClient(FLOOR_SERVER)

    def submit(text: str) -> Any:
        return client.submit_tool("echo", {"text": text})

    def wait(answer: Any) -> str:
        return str(answer.get(timeout=ANSWER_SECONDS)["result"]["content"][0]["text"])

    return submit, wait, lambda text: wait(submit(text)), client.close


def mcp_ref() -> Client:
    """Our client: submit, wait, call, close."""
    from mcp_ref import connect

    client: Any = connect(FLOOR_SERVER).__enter__()

    def submit(text: str) -> Any:
        return client.submit_tool("echo", {"text": text})

    def wait(future: Any) -> str:
        return str(future.result(ANSWER_SECONDS).content[0].text)

    def call(text: str) -> str:
        return str(client.call_tool("echo", {"text": text}).content[0].text)

    return submit, wait, call, lambda: client.__exit__(None, None, None)


def http(name: str) -> Client:
    """A client over HTTP."""
    import http_clients

    return http_clients.CLIENTS[name]()


def check(answer: str, text: str) -> None:
    """End the process, and with it the benchmark, where an answer is not what was sent."""
    if answer != text:
        raise SystemExit("wrong answer to %r: %r" % (text, answer))


def sequential(client: Client, count: int) -> float:
    """One call after the other."""
    call = client[2]
    begin = time.perf_counter()
    for number in range(count):
        text = "call %d" % number
        check(call(text), text)
    return time.perf_counter() - begin


def in_flight(client: Client, count: int) -> float:
    """A full window of calls: the oldest is waited for, then a new one goes out."""
    submit, wait = client[:2]
    window: Deque[Tuple[Any, str]] = deque()
    begin = time.perf_counter()
    for number in range(count):
        if len(window) == WINDOW:
            answer, text = window.popleft()
            check(wait(answer), text)
        text = "call %d" % number
        window.append((submit(text), text))
    for answer, text in window:
        check(wait(answer), text)
    return time.perf_counter() - begin


def pin(core: int) -> None:
    """Keep every thread of this process on one core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


CLIENTS: Dict[str, Callable[[], Client]] = {
    "floor": floor, "mcp_ref": mcp_ref,
    "http_floor": lambda: http("floor"), "http_mcp_ref": lambda: http("mcp_ref")}
MEASURES: Dict[str, Callable[[Client, int], float]] = {"sequential": sequential, "in_flight": in_flight}


def main() -> None:
    """Connect, then measure until end of file."""
    cores = [int(core) for core in sys.argv[2:4]]
    if cores:
        pin(cores[1])  # the server that the client starts inherits it
    client = CLIENTS[sys.argv[1]]()
    if cores:
        pin(cores[0])
    for line in sys.stdin:
        name, count = line.split()
        print(MEASURES[name](client, int(count)), flush=True)
    client[3]()


if __name__ == "__main__":
    main()
