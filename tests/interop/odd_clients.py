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
import pathlib
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
CHILD_SECONDS = 40.0


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
    limits = Limits(request_timeout=seconds, initialize_timeout=seconds, probe_timeout=probe)
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
                report("list", str(len((await client.list_tools()).tools)))
            except Exception as error:
                report("list", told(error))
            for name, arguments, right in CALLS:
                try:
                    report(name, seen(await client.call_tool(name, arguments), right))
                except Exception as error:
                    report(name, told(error))
        report("close", "ok")

    anyio.run(main)


def child(client: str, target: Any) -> None:
    """Print the steps of one client as JSON lines."""
    importlib.import_module({"ours": "mcp_ref", "theirs": "mcp"}[client])       # which is not to be measured
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


def outcome(row: odd_servers.Row, client: str, python: str) -> Dict[str, Any]:
    """Run one client against one row; return what each step came to."""
    with target_of(row) as target:
        process = subprocess.Popen([python, __file__, "--child", client, json.dumps(target)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, log = process.communicate(timeout=CHILD_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, log = process.communicate()
            out += json.dumps(["end", "no end within %g seconds" % CHILD_SECONDS, CHILD_SECONDS]).encode()
    steps = {name: (what, seconds) for name, what, seconds in map(json.loads, out.decode().splitlines())}
    return {"steps": steps, "log": log.decode("utf-8", "replace")}


def marks(found: Dict[str, Any]) -> Tuple[int, int, int, int]:
    """Return how far a client came: connected, tools, right calls, and closed without an error."""
    steps = found["steps"]
    listed = steps.get("list", ("", 0))[0]
    return ("connect" in steps, int(listed) if listed.isdigit() else -1,
            sum(steps.get(name, ("", 0))[0] == "ok" for name, _, _ in CALLS), "close" in steps)


def troubles(found: Dict[str, Any]) -> str:
    """Return the errors of a client in one line."""
    return "; ".join("%s after %.1f s: %.300s" % (name, seconds, what)
                     for name, (what, seconds) in found["steps"].items() if what != "ok" and not what.isdigit())


def main() -> int:
    """Run and judge."""
    parser = argparse.ArgumentParser(description="Our client and the official one against odd servers.")
    parser.add_argument("--only", default="", help="rows whose names start so")
    parser.add_argument("--theirs", help="an interpreter with mcp 2.x")
    parser.add_argument("--all", action="store_true", help="print each row")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], json.loads(options.child[1]))
        return 0
    clients = [("ours", sys.executable)] + ([("theirs", options.theirs)] if options.theirs else [])
    rows = [row for name, row in odd_servers.ROWS.items() if name.startswith(options.only)]
    worse, whole = [], {name: 0 for name, _ in clients}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, found in zip(rows, pool.map(lambda row: [outcome(row, *client) for client in clients], rows)):
            got = [marks(one) for one in found]
            for (name, _), mark in zip(clients, got):
                whole[name] += mark[1] >= 2 and mark[2] == 2
            less = len(got) == 2 and any(mine < other for mine, other in zip(got[0], got[1]))
            worse += [row.name] * less
            if options.all or less or any(mark[1] < 2 or mark[2] < 2 for mark in got):
                print("%s %s: %s" % ("LESS" if less else "    ", row.name, row.odd), flush=True)
                for (name, _), mark, one in zip(clients, got, found):
                    print("       %-7s %d tools, %d calls. %s" % (name, mark[1], mark[2], troubles(one)), flush=True)
    print("%d rows; both tools and both calls: %s; ours does less in %d: %s" % (
        len(rows), ", ".join("%s %d" % pair for pair in whole.items()), len(worse), " ".join(worse)))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
