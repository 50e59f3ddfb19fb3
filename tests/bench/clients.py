"""A client, or a host over ten servers, in a process of its own; the benchmark asks for one measurement per line.

    python3 tests/bench/clients.py NAME

NAME is one of `CLIENTS`; the servers are floors. Each line names a function of `MEASURES` and how often it goes round;
the answer is the processor time of this process and the real time, in seconds. Answers are checked within that time,
because to read the answer is part of using a client.
"""
import itertools
import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from http.client import HTTPConnection
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Tuple
from urllib.parse import urlsplit

HERE = pathlib.Path(__file__).resolve().parent
FLOOR_SERVER = [sys.executable, str(HERE / "floor_server.py")]
HTTP_FLOOR_SERVER = [sys.executable, str(HERE / "http_floor.py"), "json"]
HTTP_FIELDS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
WINDOW = 64
SERVERS = 10
ANSWER_SECONDS = 60

Call = Callable[[str], str]


class Client(NamedTuple):
    """What is measured: a way to call `echo` for each thread, calls in flight, and the end."""

    caller: Callable[[], Call]
    close: Callable[[], Any]
    submit: Callable[[str], Any] = str
    wait: Callable[[Any], str] = str


class Bare:
    """The floor over stdio: a reader thread and a dict of queues. No lifecycle, no types, no end of stream."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(FLOOR_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = itertools.count(1)
        self.waiting: Dict[int, "queue.Queue[Any]"] = {}
        self.write_lock = threading.Lock()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.submit("initialize", {"protocolVersion": "2025-11-25"}).get(timeout=ANSWER_SECONDS)

    def read(self) -> None:
        """Hand each answer to the queue of its id; the reader thread's whole life."""
        for line in self.process.stdout:
            message = json.loads(line)
            self.waiting.pop(message["id"]).put(message)

    def submit(self, method: str, params: Dict[str, Any]) -> "queue.Queue[Any]":
        """Send one request; its answer comes out of the queue returned."""
        number = next(self.ids)
        answer: "queue.Queue[Any]" = queue.Queue()
        self.waiting[number] = answer
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"
        with self.write_lock:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        return answer

    def echo(self, text: str) -> "queue.Queue[Any]":
        """Send a call."""
        return self.submit("tools/call", {"name": "echo", "arguments": {"text": text}})

    @staticmethod
    def text(answer: "queue.Queue[Any]") -> str:
        """Wait for the answer of a call."""
        return str(answer.get(timeout=ANSWER_SECONDS)["result"]["content"][0]["text"])

    def close(self) -> None:
        """Close the server's stdin and wait until it has ended."""
        self.process.stdin.close()
        self.process.wait(timeout=ANSWER_SECONDS)
        self.reader.join()
        self.process.stdout.close()


def stdio_floor() -> Client:
    """The bare client."""
    bare = Bare()
    return Client(lambda: lambda text: bare.text(bare.echo(text)), bare.close, bare.echo, bare.text)


def over(server: Any, end: Callable[[], Any] = lambda: None) -> Client:
    """Our client."""
    from mcp_ref import connect

    client = connect(server).__enter__()

    def call(text: str) -> str:
        return client.call_tool("echo", {"text": text}).content[0].text

    return Client(
        lambda: call, lambda: (client.__exit__(None, None, None), end()),
        lambda text: client.submit_tool("echo", {"text": text}),
        lambda future: future.result(ANSWER_SECONDS).content[0].text)


def web() -> Tuple[str, Callable[[], Any]]:
    """A floor server: its URL, how to end it."""
    process = subprocess.Popen(HTTP_FLOOR_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return process.stdout.readline().decode().strip(), process.communicate


def http_floor(bare: bool) -> Client:
    """A loop over a connection of `http.client`, or over a bare socket."""
    from http_wire import Target, parts_of
    from peer import echo_request

    url, end = web()
    parts = urlsplit(url)
    target = Target(parts.hostname, parts.port, parts.path)

    def caller() -> Call:
        if bare:
            line = target.line()
            exchange = lambda data: parts_of(line.raw(target.request("POST", data))).body  # noqa: E731
        else:
            connection = HTTPConnection(parts.hostname, parts.port)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def exchange(data: bytes) -> bytes:
                connection.request("POST", parts.path, data, HTTP_FIELDS)
                return connection.getresponse().read()

        numbers = itertools.count(1)

        def call(text: str) -> str:
            number = next(numbers)
            message = json.loads(exchange(echo_request(number, text)))
            return str(message["result"]["content"][0]["text"]) if message["id"] == number else "another id"

        return call

    return Client(caller, end)


def host_floor(count: int) -> Tuple[List[Call], Callable[[], Any]]:
    """Bare clients, opened on a thread each: how to call each, how to close all."""
    clients: List[Any] = [None] * count

    def start(number: int) -> None:
        clients[number] = Bare()
        clients[number].submit("tools/list", {}).get(timeout=ANSWER_SECONDS)

    in_threads([lambda number=number: start(number) for number in range(count)])
    return ([lambda text, bare=bare: bare.text(bare.echo(text)) for bare in clients],
            lambda: [client.close() for client in clients])


def host(count: int) -> Tuple[List[Call], Callable[[], Any]]:
    """Our host: how to call each of its servers, how to close it."""
    from mcp_ref import Host
    from mcp_ref.host import Policy, allow

    opened = Host("bench", policy=Policy(tool_call=allow))
    opened.connect_all({"server%d" % number: FLOOR_SERVER for number in range(count)})
    tools = [tool.qualified for tool in opened.tools() if tool.name == "echo"]
    return [lambda text, tool=tool: opened.call_tool(tool, {"text": text}).content[0].text for tool in tools], \
        opened.close


def in_threads(work: List[Callable[[], Any]]) -> None:
    """Do each in a thread, and wait for all."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# --- what is measured -------------------------------------------------------------------------------------------------

def check(answer: str, text: str) -> None:
    """End the process, and with it the benchmark, where an answer is not what was sent."""
    if answer != text:
        print("wrong answer to %r: %r" % (text, answer), file=sys.stderr, flush=True)
        os._exit(1)


def sequential(client: Client, count: int) -> None:
    """One call after the other."""
    call = client.caller()
    for number in range(count):
        text = "call %d" % number
        check(call(text), text)


def in_threads_each(client: Client, count: int) -> None:
    """As many threads as the window is wide, each with its share of the calls."""
    in_threads([lambda: sequential(client, count // WINDOW)] * WINDOW)


def in_flight(client: Client, count: int) -> None:
    """A full window of calls: the oldest is waited for, then a new one goes out."""
    window: Deque[Tuple[Any, str]] = deque()
    for number in range(count):
        if len(window) == WINDOW:
            answer, text = window.popleft()
            check(client.wait(answer), text)
        text = "call %d" % number
        window.append((client.submit(text), text))
    for answer, text in window:
        check(client.wait(answer), text)


def opened(many: Any, count: int) -> None:
    """Open so many servers, list their tools, and close."""
    many(count)[1]()


def called(ten: Any, count: int) -> None:
    """Calls to one server after the other."""
    for number in range(count):
        text = "call %d" % number
        check(ten[0][number % SERVERS](text), text)


CLIENTS: Dict[str, Callable[[], Any]] = {
    "stdio-floor": stdio_floor, "stdio": lambda: over(FLOOR_SERVER),
    "http-floor": lambda: http_floor(bare=False), "http-sockets": lambda: http_floor(bare=True),
    "http": lambda: over(*web()),
    "open-floor": lambda: host_floor, "open": lambda: host,
    "ten-floor": lambda: host_floor(SERVERS), "ten": lambda: host(SERVERS),
}
MEASURES: Dict[str, Callable[[Any, int], None]] = {
    "sequential": sequential, "in-flight": in_flight, "threads": in_threads_each, "opened": opened, "called": called}


def main() -> None:
    """Connect, then measure until end of file."""
    client = CLIENTS[sys.argv[1]]()
    for line in sys.stdin:
        name, count = line.split()
        used, begin = time.process_time(), time.perf_counter()
        MEASURES[name](client, int(count))
        print(time.process_time() - used, time.perf_counter() - begin, flush=True)
    if isinstance(client, (Client, tuple)):
        (client.close if isinstance(client, Client) else client[1])()


if __name__ == "__main__":
    main()
