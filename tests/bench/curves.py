"""`make bench ARGS=--curves`: how cost grows with each number that may grow, as a table and a drawing (SVG) each.

Each point is the median of calls over HTTP on loopback, one after the other, while the server holds as many of what
is counted; three rounds, the best of which counts. A curve is *flat* if its last point costs at most twice its first,
*linear* if cost grows no faster than the number over its upper half; anything else needs a reason in the table below,
or is marked WORSE, and the exit code is 1.
"""
import contextlib
import http.client
import json
import math
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
REVISION = "2025-11-25"
CALLS, ROUNDS = 60, 3
SECONDS = 120
Points = List[Tuple[float, float]]


class Curve(NamedTuple):
    """The numbers, a function from them to points, and the reason if these are neither flat nor linear."""

    title: str
    numbers: Sequence[int]
    measure: Callable[["Setting", Sequence[int]], Points]
    unit: str = "us"
    reason: str = ""


class Setting(NamedTuple):
    """The interpreter, and the environment of servers."""

    python: str
    environment: Dict[str, str]


class Line:
    """A connection to the server, and perhaps a session."""

    def __init__(self, url: str) -> None:
        host = url.split("/")[2]
        self.connection = http.client.HTTPConnection(host, timeout=SECONDS)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session: Optional[str] = None
        self.last = 0

    def post(self, method: str, params: Dict[str, Any], notify: bool = False) -> Any:
        """Send a request, or a notification, and return the result."""
        self.last += 1
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notify:
            message["id"] = self.last
        headers = dict(HEADERS, **{"MCP-Protocol-Version": REVISION})
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        reply = self.connection.getresponse()
        body = reply.read()
        self.session = reply.getheader("Mcp-Session-Id") or self.session
        if notify:
            return None
        text = body.decode()
        if (reply.getheader("Content-Type") or "").startswith("text/event-stream"):
            text = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()][-1]
        answer = json.loads(text)
        if "result" not in answer or answer["result"].get("isError"):
            raise ValueError("%s was answered %.300s" % (method, text))
        return answer["result"]

    def open(self) -> "Line":
        """Begin a session."""
        self.session = None
        self.post("initialize", {"protocolVersion": REVISION, "capabilities": {},
                                 "clientInfo": {"name": "curves", "version": "1"}})
        self.post("notifications/initialized", {}, notify=True)
        return self

    def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool."""
        return self.post("tools/call", {"name": name, "arguments": arguments})


@contextlib.contextmanager
def served(setting: Setting, *arguments: str) -> Iterator[str]:
    """A server; its URL."""
    command = [setting.python, str(HERE / "subject.py"), *(arguments or ["--http", "--many"])]
    with subprocess.Popen(command, env=setting.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.stdin.close()
            process.wait(SECONDS)


def best(work: Callable[[], Any], calls: int = CALLS) -> float:
    """Microseconds of one step of work: the best of the medians of some rounds."""
    found = []
    for _ in range(ROUNDS):
        taken = []
        for _ in range(max(5, calls // ROUNDS)):
            begin = time.perf_counter()
            work()
            taken.append(time.perf_counter() - begin)
        found.append(statistics.median(taken))
    return min(found) * 1e6


def over_sizes(setting: Setting, numbers: Sequence[int]) -> Points:
    """A call with a text of so many bytes, which comes back."""
    with served(setting) as url:
        line = Line(url).open()
        return [(size, best(lambda: line.call("echo", text="x" * size), 15 if size > 100_000 else CALLS))
                for size in numbers]


def over_tools(setting: Setting, numbers: Sequence[int]) -> Points:
    """A call to a server with so many tools."""
    points: Points = []
    for number in numbers:
        with served(setting, "--http", "--many", "--tools", str(number)) as url:
            line = Line(url).open()
            points.append((number, best(lambda: line.call("echo", text="x"))))
    return points


def over_depth(setting: Setting, numbers: Sequence[int]) -> Points:
    """A call whose arguments are checked by a schema of so many levels."""
    points: Points = []
    for depth in numbers:
        value: Dict[str, Any] = {"leaf": "x"}
        for _ in range(depth - 1):
            value = {"next": value}
        with served(setting, "--http", "--many", "--depth", str(depth)) as url:
            line = Line(url).open()
            points.append((depth, best(lambda: line.call("deep", next=value))))
    return points


def held(more: Callable[[str, Line, int], Any], step: Callable[[Line, int], Any]) -> Callable[..., Points]:
    """What a step costs while so many of something are held; ``more`` makes one more."""
    def measure(setting: Setting, numbers: Sequence[int]) -> Points:
        points: Points = []
        kept: List[Any] = []
        with served(setting) as url:
            line = Line(url).open()
            spare = Line(url)
            for number in numbers:
                while len(kept) < number:
                    kept.append(more(url, spare if spare.session else line, len(kept)))
                points.append((number, best(lambda: step(line, number))))
            for each in kept:
                if isinstance(each, Line):
                    each.connection.close()
        return points

    return measure


def connected(url: str, line: Line, number: int) -> Line:
    """One more idle connection."""
    return Line(url)


def begun(url: str, line: Line, number: int) -> str:
    """One more session, on a connection that is there."""
    other = Line.__new__(Line)
    other.connection, other.session, other.last = line.connection, None, 0
    return str(other.open().session)


def subscribed(url: str, line: Line, number: int) -> int:
    """One more subscription."""
    line.post("resources/subscribe", {"uri": "item://%d" % number})
    return number


def tasked(url: str, line: Line, number: int) -> str:
    """One more task, which is kept."""
    found = line.post("tools/call", {"name": "quick", "arguments": {"text": "x"}, "task": {}})
    return str(found["task"]["taskId"])


def over_hosts(setting: Setting, numbers: Sequence[int]) -> Points:
    """Calls that take half a millisecond each, from as many clients, over so many processes."""
    points: Points = []
    for number in numbers:
        with served(setting, "--workers", str(number)) as url:
            def client(_: int) -> None:
                line = Line(url).open()
                for turn in range(CALLS * 2):
                    line.call("work", text="x")

            with ThreadPoolExecutor(12) as pool:
                begin = time.perf_counter()
                list(pool.map(client, range(12)))
                points.append((number, (time.perf_counter() - begin) / (12 * CALLS * 2) * 1e6))
    return points


def call(line: Line, number: int) -> None:
    """A small call."""
    line.call("echo", text="x")


CURVES: Dict[str, Curve] = {
    "message-size": Curve("a call against the bytes of its text", (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000),
                          over_sizes),
    "tools": Curve("a call against the tools of the server", (10, 100, 1_000, 10_000), over_tools),
    "connections": Curve("a call against idle connections", (1, 10, 100, 1_000, 5_000), held(connected, call)),
    "sessions": Curve("a call against open sessions", (10, 100, 1_000, 10_000, 50_000), held(begun, call)),
    "tasks": Curve("beginning a task against the tasks that are kept", (10, 100, 1_000, 5_000),
                   held(tasked, lambda line, number: tasked("", line, 0))),
    "subscriptions": Curve("an update against the subscriptions of a session", (10, 100, 1_000, 8_000),
                           held(subscribed, lambda line, number: line.call("touch", count=1))),
    "schema-depth": Curve("a call against the levels of its schema", (1, 4, 16, 32, 64), over_depth),
    "hosts": Curve("a call of 0.5 ms of work, 12 clients, against processes on one port", (1, 2, 3), over_hosts),
}


def judged(curve: Curve, points: Points) -> str:
    """Is the curve flat, linear, explained, or worse?"""
    (_, first), (_, last) = points[0], points[-1]
    if last <= 2 * first:
        return "flat"
    upper = points[-max(2, (len(points) + 1) // 2):]
    slope = math.log(upper[-1][1] / upper[0][1]) / math.log(upper[-1][0] / upper[0][0])
    if slope <= 1.15:
        return "linear, or less: exponent %.2f over the upper half" % slope
    return "explained: " + curve.reason if curve.reason else "WORSE than linear: exponent %.2f" % slope


def drawing(curve: Curve, points: Points, verdict: str) -> str:
    """The curve as SVG, on logarithmic scales."""
    wide, high, left, top = 560, 320, 80, 50
    spans = []
    for axis in (0, 1):
        logs = [math.log10(point[axis]) for point in points]
        spans.append((math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)))

    def at(axis: int, value: float) -> float:
        low, up = spans[axis]
        share = (math.log10(value) - low) / (up - low)
        return left + share * wide if axis == 0 else top + (1 - share) * high

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">'
             % (left + wide + 40, top + high + 60), '<rect width="100%" height="100%" fill="white"/>',
             '<text x="%d" y="20" font-size="15">%s</text><text x="%d" y="38" fill="gray">%s</text>' % (
                 left, curve.title, left, verdict)]
    for axis in (0, 1):
        for power in range(spans[axis][0], spans[axis][1] + 1):
            place = at(axis, 10.0 ** power)
            ends = (place, top, place, top + high) if axis == 0 else (left, place, left + wide, place)
            parts.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="lightgray"/>' % ends)
            where = (place - 10, top + high + 18) if axis == 0 else (8, place + 4)
            label = "{:,}".format(10 ** power) if power >= 0 else "%g" % 10 ** power
            parts.append('<text x="%.1f" y="%.1f">%s%s</text>' % (*where, label, "" if axis == 0 else " " + curve.unit))
    line = " ".join("%.1f,%.1f" % (at(0, x), at(1, y)) for x, y in points)
    parts.append('<polyline points="%s" fill="none" stroke="black" stroke-width="2"/>' % line)
    dot = '<circle cx="%.1f" cy="%.1f" r="3"><title>%g: %.0f %s</title></circle>'
    parts += [dot % (at(0, x), at(1, y), x, y, curve.unit) for x, y in points]
    return "\n".join([*parts, "</svg>", ""])


def main(setting: Setting, folder: pathlib.Path, only: Sequence[str], quick: bool) -> int:
    """Measure, print and draw; return the exit code."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder.mkdir(parents=True, exist_ok=True)
    worse = False
    measured = {}
    for name, curve in CURVES.items():
        if only and not name.startswith(tuple(only)):
            continue
        points = curve.measure(setting, curve.numbers[:2] if quick else curve.numbers)
        verdict = judged(curve, points)
        worse = worse or verdict.startswith("WORSE")
        measured[name] = {"points": points, "verdict": verdict}
        (folder / (name + ".svg")).write_text(drawing(curve, points, verdict), encoding="utf-8")
        print("%-14s %s: %s\n%14s %s" % (name, curve.title, verdict, "", ", ".join(
            "{:,}: {:,.0f} {}".format(int(x), y, curve.unit) for x, y in points)), flush=True)
    (folder / "curves.json").write_text(json.dumps(measured, indent=1), encoding="utf-8")
    print("drawn in %s" % folder)
    return int(worse)


if __name__ == "__main__":
    sys.exit("run it by tests/bench/run.py --curves")
