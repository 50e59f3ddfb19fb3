"""Our client and the official one against each odd server of `odd_servers`: which lists, calls and explains more.

``python odd_clients.py --theirs PYTHON`` runs each client in a process of its own, PYTHON with ``mcp`` 2.x, prints a
line for each row in which they differ or ours is not whole (``--all``: for each row), and ends with exit
code 1 if theirs did more than ours anywhere. ``--only NAME`` chooses rows by the start of their names; without
``--theirs`` only ours runs.
"""
import argparse
import concurrent.futures
import contextlib
import importlib
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1])]

from tests.interop import odd_servers  # noqa: E402

TEXT = "grüße €"
CALLS: List[Tuple[str, Dict[str, Any], str]] = [("echo", {"text": TEXT}, TEXT), ("add", {"a": 1, "b": 2}, "3")]
REQUEST_SECONDS = 4.0
PROBE_SECONDS = 2.0
CHILD_SECONDS = 30
MOST_PAGES = 200
BARE = re.compile(r"(timed out|in time( \([0-9.]+ s\))?|Connection closed|returned an error response)$")
"""How an error text ends that names no cause."""
BY_RULE = {
    "modern-odd.result-type": "[2026-07-28 basic/index §ResultType] MUST",
    "json-syntax.twice": "two equal keys are refused: which one counts differs among readers, and so could be smuggled",
}
"""Rows in which ours refuses on purpose what theirs takes, and why."""
LANES = 4
Steps = Dict[str, Tuple[str, float]]


def told(error: BaseException) -> str:
    """Return the type and text of an error, and those of its only cause in a group."""
    inner = getattr(error, "exceptions", None)
    if inner:
        return " & ".join(told(one) for one in inner)
    return "%s: %s" % (type(error).__name__, " ".join(str(error).split()))


def seen(result: Any, right: str) -> str:
    """Return "ok" for a result with the RIGHT text or number, else what it is."""
    blocks = [getattr(block, "text", None) for block in result.content or []]
    structured = getattr(result, "structured_content", None)
    if getattr(result, "is_error", False):
        return "failed: %s" % blocks
    values = structured.values() if isinstance(structured, dict) else [structured]
    return "ok" if right in blocks or right in map(str, values) else "wrong: %.80r, %.80r" % (blocks, structured)


def ours(target: Any, report: Callable[[str, str], None], seconds: float = REQUEST_SECONDS,
         probe: float = PROBE_SECONDS) -> None:
    """Connect our client, list and call; REPORT each step with "ok" or what went wrong."""
    from mcp_ref import Limits, connect
    limits = Limits(request_timeout=seconds, initialize_timeout=seconds, probe_timeout=probe, max_pages=MOST_PAGES)
    with connect(target, limits=limits, stderr=False if isinstance(target, list) else None) as client:
        report("connect", "ok")
        step(report, "list", lambda: str(len(client.tools())))
        for name, arguments, right in CALLS:
            step(report, name, lambda: seen(client.call_tool(name, arguments), right))
    report("close", "ok")


def step(report: Callable[[str, str], None], name: str, act: Callable[[], str]) -> None:
    """Report what ACT returns or raises."""
    try:
        report(name, act())
    except Exception as error:
        report(name, told(error))


def theirs(target: Any, report: Callable[[str, str], None]) -> None:
    """The same with the official client, version 2.x."""
    import anyio
    from mcp import Client, StdioServerParameters

    async def main() -> None:
        server = StdioServerParameters(command=target[0], args=target[1:]) if isinstance(target, list) else target
        async with Client(server, read_timeout_seconds=REQUEST_SECONDS) as client:
            report("connect", "ok")
            try:
                listed = await client.list_tools()
                number, pages = len(listed.tools), 1
                while listed.next_cursor is not None and pages < MOST_PAGES:
                    listed = await client.list_tools(cursor=listed.next_cursor)
                    number, pages = number + len(listed.tools), pages + 1
                report("list", str(number) if pages < MOST_PAGES else "no end after %d pages" % pages)
            except Exception as error:
                report("list", told(error))
            for name, arguments, right in CALLS:
                try:
                    report(name, seen(await client.call_tool(name, arguments), right))
                except Exception as error:
                    report(name, told(error))
        report("close", "ok")

    anyio.run(main)


def child(client: str) -> None:
    """Run one client against each target that standard input names, in a process of its own; print steps as JSON."""
    importlib.import_module({"ours": "mcp_ref", "theirs": "mcp"}[client])       # which is not to be measured
    for line in iter(sys.stdin.readline, ""):
        process = os.fork()
        if process == 0:
            signal.alarm(CHILD_SECONDS)
            walk(client, json.loads(line))
            os._exit(0)                     # threads or not
        if os.waitpid(process, 0)[1]:
            print(json.dumps(["end", "no end within %d seconds" % CHILD_SECONDS, CHILD_SECONDS]))
        print("null", flush=True)


def walk(client: str, target: Any) -> None:
    """Print the steps of one client as JSON lines."""
    started = time.monotonic()

    def report(name: str, outcome: str) -> None:
        print(json.dumps([name, outcome, round(time.monotonic() - started, 2)]), flush=True)

    try:
        {"ours": ours, "theirs": theirs}[client](target, report)
    except BaseException as error:
        report("end", told(error))


@contextlib.contextmanager
def target_of(row: odd_servers.Row) -> Iterator[Any]:
    """Yield what a client connects to: a command, or the URL at which ROW is played."""
    if row.transport == "stdio":
        yield [sys.executable, "-S", str(HERE / "odd_servers.py"), row.name]
    elif row.options.get("path") == "REFUSED":
        yield "http://127.0.0.1:9/mcp"
    else:
        with odd_servers.Playing(row) as url:
            yield url


class Child:
    """A process that runs one client again and again."""

    def __init__(self, client: str, python: str) -> None:
        self.process = subprocess.Popen([python, __file__, "--child", client], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def walk(self, row: odd_servers.Row) -> Steps:
        """Return what each step against ROW came to, and after how many seconds."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        with target_of(row) as target:
            stdin.write(json.dumps(target).encode() + b"\n")
            stdin.flush()
            lines = iter(lambda: json.loads(stdout.readline().decode()), None)
            return {name: (what, seconds) for name, what, seconds in lines}


def marks(steps: Steps) -> Tuple[int, int]:
    """Return how far a client came: the tools that it listed, and the calls that returned what is right."""
    listed = steps.get("list", ("", 0))[0]
    return int(listed) if listed.isdigit() else -1, sum(steps.get(name, ("", 0))[0] == "ok" for name, _, _ in CALLS)


def explained(steps: Steps) -> bool:
    """Return whether each error names a cause."""
    return not any(BARE.search(what) for what, _ in steps.values())


def troubles(steps: Steps) -> str:
    """Return the errors of a client in one line."""
    return "; ".join("%s after %.1f s: %.300s" % (name, seconds, what) for name, (what, seconds) in steps.items()
                     if what != "ok" and not what.isdigit())


def compare(row: odd_servers.Row, children: Dict[str, Child], everything: bool) -> Tuple[List[bool], bool]:
    """Run the clients against ROW, print what is to be told; return which did all, and whether ours did less."""
    found = {client: child.walk(row) for client, child in children.items()}
    got = {client: marks(steps) for client, steps in found.items()}
    other = "theirs" if "theirs" in found else "ours"
    less = any(mine < yours for mine, yours in zip(got["ours"], got[other])) and row.name not in BY_RULE or (
        explained(found[other]) and not explained(found["ours"]))
    whole = [mark[0] >= 2 and mark[1] == 2 for mark in got.values()]
    if everything or less or not all(whole):
        print("\n".join(["%s %s: %s" % ("LESS" if less else "    ", row.name, row.odd)] + [
            "       %-7s %d tools, %d calls. %s" % (client, *got[client], troubles(found[client]))
            for client in found]), flush=True)
    return whole, less


def main() -> int:
    """Run and judge."""
    parser = argparse.ArgumentParser(description="Our client and the official one against odd servers.")
    parser.add_argument("--only", default="", help="rows whose names start so")
    parser.add_argument("--theirs", help="an interpreter with mcp 2.x")
    parser.add_argument("--all", action="store_true", help="print each row")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    pythons = {"ours": sys.executable, "theirs": options.theirs}
    rows = queue.Queue()    # type: queue.Queue[odd_servers.Row]
    for name, row in odd_servers.ROWS.items():
        if name.startswith(options.only):
            rows.put(row)
    verdicts: Dict[str, Tuple[List[bool], bool]] = {}

    def lane() -> None:
        children = {client: Child(client, python) for client, python in pythons.items() if python}
        with contextlib.suppress(queue.Empty):
            while True:
                row = rows.get_nowait()
                verdicts[row.name] = compare(row, children, options.all)

    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        for future in [pool.submit(lane) for _ in range(LANES)]:
            future.result()
    worse = sorted(name for name, (_, less) in verdicts.items() if less)
    print("%d rows; both tools and both calls: ours %d, theirs %d; ours does less in %d: %s" % (
        len(verdicts), sum(whole[0] for whole, _ in verdicts.values()),
        sum(whole[-1] for whole, _ in verdicts.values()), len(worse), " ".join(worse)))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
