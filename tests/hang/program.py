"""A server, or a client of one, in a process of its own, for `test_hang`. Public names of the package only.

    program.py ALIVE serve WHERE            WHERE: stdio, tcp, unix, http
    program.py ALIVE leave WHERE            the same, not over stdio; a line on standard input ends the main thread
    program.py ALIVE call WHERE HOW         a client with requests in flight, which leaves as HOW says

Each process, and each forked copy of it, holds a shared lock on the file ALIVE as long as it runs.
"""
import fcntl
import os
import pathlib
import sys
import threading
from typing import Any, Callable, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from mcp_ref import Context, Limits, McpError, Server, connect  # noqa: E402
from mcp_ref.client import Sampling  # noqa: E402

LIMITS = Limits(
    drain=0.2, shutdown_grace=0.3, terminate_grace=0.3, serve_grace=0.3, max_samplings_per_second=1e6,
    max_outbox_bytes=4 << 20, max_inflight=2000, max_questions=2000, max_http_requests=2000, http_write_timeout=600.0,
    request_timeout=600.0)
"""Short where something waits for a handler that does not end, so that rows do not take long."""
MANY = 8
NEVER = threading.Event()


def hold(alive: str) -> None:
    """Lock the file for as long as this process or a forked copy of it runs."""
    fcntl.flock(os.open(alive, os.O_RDWR), fcntl.LOCK_SH)


def say(line: str) -> None:
    """Write a line to standard error, in one piece."""
    os.write(2, (line + "\n").encode())


def fork() -> str:
    """Fork, and return in both processes; the parent says how the copy has ended."""
    copy = os.fork()
    return "copy" if copy == 0 else "the copy ended with %d" % os.waitpid(copy, 0)[1]


def made() -> Server:
    """Return the server of all rows."""
    server = Server("hang", limits=LIMITS)

    @server.tool
    def deep(depth: int, ctx: Context) -> str:
        return "0" if depth == 0 else "%d %s" % (depth, ctx.sample(str(depth - 1), 10).text)

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def big(size: int) -> str:
        return "x" * size

    @server.tool
    def wait(ctx: Context) -> str:
        ctx.progress(1)
        ctx.cancelled.wait(600)
        return "waited"

    @server.tool
    def stuck(ctx: Context) -> str:
        ctx.progress(1)
        NEVER.wait()
        return "never"

    @server.tool
    def asks(ctx: Context) -> str:
        ctx.progress(1)
        return ctx.sample("wait", 10).text

    @server.tool
    def forks() -> str:
        return fork()

    @server.tool
    def forked_there(ctx: Context) -> str:
        return ctx.sample("fork", 10).text

    return server


def address_of(where: str, alive: str) -> str:
    """Return the address to listen on."""
    return {"tcp": "tcp://127.0.0.1:0", "unix": "unix://%s.socket" % alive, "http": "http://127.0.0.1:0/mcp"}[where]


def serve(alive: str, where: str) -> None:
    """Serve until the client or a signal ends it. Standard output has the address, over stdio the protocol."""
    if where == "stdio":
        made().run()
    elif where == "http":
        made().run_http(port=0, ready=lambda url: print(url, flush=True))
    else:
        with made().listen(address_of(where, alive)) as listener:
            print(listener.address, flush=True)
            try:
                sys.stdin.readline()
            except KeyboardInterrupt:
                listener.close()
                sys.exit(130)


def leave(alive: str, where: str) -> None:
    """Serve in the background, and return after a line of standard input, without closing anything."""
    listener = made().listen(address_of(where, alive))
    print(listener.address, flush=True)
    sys.stdin.readline()


class Client:
    """A client with requests in flight: futures, waiting threads, and questions that its own handler has."""

    def __init__(self, alive: str, where: str) -> None:
        self.began = threading.Semaphore(0)
        self.told = threading.Lock()
        self.outcomes: List[str] = []
        self.listener: Any = None
        target: Any = made() if where == "memory" else [sys.executable, __file__, alive, "serve", "stdio"]
        if where not in ("memory", "stdio"):
            self.listener = made().listen(address_of(where, alive))
            target = self.listener.address
        self.client = connect(target, limits=LIMITS, era="legacy", sampling=Sampling(self.answer, model="none"))

    def answer(self, params: Any, context: Any) -> str:
        """Answer the question of a tool."""
        if params.messages[0].content.text == "fork":
            return fork()
        self.began.release()
        context.cancelled.wait(600)
        return "waited"

    def call(self, name: str) -> None:
        """Call a tool, and note what comes of it."""
        try:
            outcome = self.client.call_tool(name, progress=lambda *given: self.began.release(), timeout=None).text
        except McpError as error:
            outcome = type(error).__name__
        with self.told:
            self.outcomes.append(outcome)

    def begin(self) -> None:
        """Return when all are on their way: MANY futures, MANY threads, MANY questions."""
        for _ in range(MANY):
            self.client.submit_tool("wait", progress=lambda *given: self.began.release(), timeout=None)
            for name in ("wait", "asks"):
                threading.Thread(target=self.call, args=(name,), daemon=True).start()
        for _ in range(4 * MANY):
            self.began.acquire()


def call(alive: str, where: str, how: str) -> None:
    """Have requests in flight, and leave."""
    client = Client(alive, where)
    if how == "fork":
        client.call("forks")
        client.call("forked_there")
        client.call("forks")
        client.client.close()
        say("outcomes: %s" % ", ".join(client.outcomes))
        if client.listener:
            client.listener.close()
        return
    client.begin()
    say("begun")
    ways: "dict[str, Callable[[], Any]]" = {
        "return": lambda: None, "exit": lambda: sys.exit(3), "_exit": lambda: os._exit(4),
        "interrupt": lambda: client.call("wait"), "killed": lambda: client.call("stuck")}
    if how == "return":  # nothing is closed
        return
    try:
        with client.client:
            ways[how]()
    finally:
        if client.listener:
            client.listener.close()
        while len(client.outcomes) < 2 * MANY:
            NEVER.wait(0.001)
        say("outcomes: %s" % ", ".join(sorted(set(client.outcomes))))


if __name__ == "__main__":
    hold(sys.argv[1])
    {"serve": serve, "leave": leave, "call": call}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
