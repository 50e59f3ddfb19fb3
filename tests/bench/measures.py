"""How figures are measured: each factory here makes a *side* of a figure, the floor or the subject.

A side opens what it measures and yields a function that takes one sample. What decides is the processor time of the
process that is measured, user and system: what else the machine does moves it little. Real time is kept beside it.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from shlex import quote
from typing import Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from http_peer import HttpPeer
from peer import ENVELOPE, Ask, NotHere, Peer, WrongAnswer, tool_request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "
STREAMS, UPDATES = 1000, 300
ELICITED = {"action": "accept", "content": {"text": "yes"}}


class Bench(NamedTuple):
    """The interpreter and the environment of both sides; perhaps the command of another server."""

    python: str
    environment: Dict[str, str]
    divisor: int = 1
    server: Sequence[str] = ()

    def count(self, full: int) -> int:
        """So many calls, or fewer in a quick run."""
        return max(1, full // self.divisor)


class Sample(NamedTuple):
    """What decides (processor time in seconds, or bytes, or threads), and real time."""

    used: float
    wall: Optional[float] = None


Side = Callable[[Bench], ContextManager[Callable[[], Sample]]]


class Program(NamedTuple):
    """A file of this folder that serves, and its arguments."""

    file: str
    arguments: Tuple[str, ...] = ()
    web: bool = False
    judged: bool = False

    def start(self, bench: Bench) -> Peer:
        """Start it. `--server` takes the place of the one that is judged."""
        command = list(bench.server) if bench.server and self.judged else [bench.python, str(HERE / self.file)]
        return (HttpPeer if self.web else Peer)([*command, *self.arguments], bench.environment)

    def having(self, *arguments: str) -> "Program":
        """The same with more arguments."""
        return self._replace(arguments=self.arguments + arguments)


LOOP = Program("floor_server.py")
SERVER = Program("subject.py", judged=True)
WEB = Program("subject.py", ("--http",), web=True)
CANNED, JSON, SOCKETS, SELECTORS = (
    Program("http_floor.py", (kind,), web=True) for kind in ("canned", "json", "sockets", "selectors"))


# --- requests ---------------------------------------------------------------------------------------------------------

def tool(name: str, arguments: Callable[[str], Dict[str, Any]], answer: Callable[[str], str] = str) -> Ask:
    """A call whose result is this text."""
    return Ask("tools/call", lambda text: {"name": name, "arguments": arguments(text)},
               lambda result, text: not result.get("isError") and result["content"][0]["text"] == answer(text), name)


ECHO = tool("echo", lambda text: {"text": text})
SLEEP = tool("sleep", lambda text: {"ms": 50}, lambda text: "slept")
ORDER = Ask(
    "tools/call", lambda text: {"name": "order", "arguments": {
        "items": [{"number": number, "count": 2} for number in range(5)], "name": text, "paid": True}},
    lambda result, text: result["structuredContent"] == {"count": 10}, "order")
PING = Ask("ping", lambda text: {}, lambda result, text: result == {})
PROMPT = Ask("prompts/get", lambda text: {"name": "review", "arguments": {"code": text}},
             lambda result, text: result["messages"][0]["content"]["text"].endswith(text), "review")
ITEM = Ask("resources/read", lambda text: {"uri": "item://77"},
           lambda result, text: result["contents"][0]["text"] == "item 77", "item://77")


def letters(size: int) -> str:
    """A text of so many characters, plain ASCII: what is measured is size, not escapes."""
    return (ALPHABET * (size // len(ALPHABET) + 1))[:size]


# --- a server that runs -----------------------------------------------------------------------------------------------

def served(program: Program, work: Callable[[Any, int], float], count: int, stateless: bool = False,
           beside: Optional[Callable[[Any, Bench], ContextManager[Any]]] = None) -> Side:
    """What each of `count` pieces of work costs a running server; `work` returns their real seconds.

    `beside` is open while the samples are taken, and not measured.
    """
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        number = bench.count(count)
        with program.start(bench) as peer:
            peer.discover() if stateless else peer.initialize()

            def sample() -> Sample:
                before = peer.processor_seconds()
                wall = work(peer, number)
                return Sample((peer.processor_seconds() - before) / number, wall / number)

            with beside(peer, bench) if beside else contextlib.nullcontext():
                yield sample

    return side


def calls(program: Program, ask: Ask = ECHO, window: int = 1, count: int = 500, stateless: bool = False,
          size: int = 0, beside: Optional[Callable[[Any, Bench], ContextManager[Any]]] = None) -> Side:
    """What a request costs a running server, `window` of them in flight; `size` is that of the text."""
    def work(peer: Peer, number: int) -> float:
        return peer.asked(ask, [letters(size) if size else "call %d" % each for each in range(number)], window)

    return served(program, work, count, stateless, beside)


def one_by_one(once: Callable[[Peer], Any]) -> Callable[[Peer, int], float]:
    """Work that is done so many times; the seconds are those of all."""
    def work(peer: Peer, number: int) -> float:
        begin = time.perf_counter()
        for _ in range(number):
            once(peer)
        return time.perf_counter() - begin

    return work


def rounds(peer: Peer) -> None:
    """A call that asks twice before it answers."""
    more: Dict[str, Any] = {}
    for left in (2, 1, 0):
        result = peer.ask("tools/call", {"name": "ask_twice", "arguments": {}, **more, **ENVELOPE})
        asked = result.get("inputRequests", {})
        if bool(asked) != bool(left):
            raise WrongAnswer("ask_twice has asked another number of times than twice: %r" % result)
        more = {"inputResponses": dict.fromkeys(asked, ELICITED), "requestState": result.get("requestState")}
    if result["content"][0]["text"] != "yes yes":
        raise WrongAnswer("ask_twice was answered %r" % result)


def task(peer: Peer) -> None:
    """A call as a task: it is begun, and its result is fetched."""
    begun = peer.ask("tools/call", {"name": "quick", "arguments": {"text": "x"}, "task": {}})
    result = peer.ask("tasks/result", {"taskId": begun["task"]["taskId"]})
    if result["content"][0]["text"] != "x":
        raise WrongAnswer("the task's result is %r" % result)


def listed(peer: Peer) -> None:
    """All pages of a list of more than a thousand tools."""
    names: List[str] = []
    params: Dict[str, Any] = {}
    while True:
        page = peer.ask("tools/list", params)
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    if not len(names) == len(set(names)) > 1000:
        raise WrongAnswer("%d tools listed, %d names, wanted more than 1,000" % (len(names), len(set(names))))


def sessions(peer: HttpPeer, number: int) -> float:
    """Sessions that are opened, used once and deleted."""
    return peer.used_sessions(ECHO, ["call"] * number)


@contextlib.contextmanager
def subscribed(peer: Peer, bench: Bench) -> Iterator[None]:
    """Subscriptions to what `updates` changes."""
    for each in range(bench.count(UPDATES)):
        peer.ask("resources/subscribe", {"uri": "item://%d" % each})
    yield


def streaming(peer: HttpPeer, bench: Bench) -> ContextManager[None]:
    """Many sessions with an open stream each."""
    return peer.streams(bench.count(STREAMS))


def updates(peer: Peer, number: int) -> float:
    """So many subscribed resources that change."""
    call, = peer.numbers(1)
    begin = time.perf_counter()
    peer.write(tool_request(call, "touch", {"count": number}))
    messages = [json.loads(peer.line()) for _ in range(number + 1)]
    seconds = time.perf_counter() - begin
    told = {message["params"]["uri"] for message in messages if "id" not in message}
    if told != {"item://%d" % each for each in range(number)}:
        raise WrongAnswer("%d of %d updates came" % (len(told), number))
    return seconds


# --- a server that is started for each sample -------------------------------------------------------------------------

def fresh(program: Program, measured: Callable[[Bench, Any], float]) -> Side:
    """Something about a server that has just been started."""
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        def sample() -> Sample:
            begin = time.perf_counter()
            with program.start(bench) as peer:
                return Sample(measured(bench, peer), time.perf_counter() - begin)

        yield sample

    return side


def greeted(bench: Bench, peer: Peer) -> float:
    """Processor time until `initialize` is answered."""
    peer.greet()
    return peer.processor_seconds()


def greeted_and_listed(bench: Bench, peer: Peer) -> float:
    """Processor time until `initialize` and the list of tools are answered."""
    peer.greet()
    listed(peer)
    return peer.processor_seconds()


def held(bench: Bench, peer: Peer) -> float:
    """Bytes held after the handshake."""
    peer.initialize()
    return peer.status("VmRSS")


def peak(size: int) -> Callable[[Bench, Peer], float]:
    """Peak of a server that echoes a text twice, less what it held before, in sizes of the text."""
    def measured(bench: Bench, peer: Peer) -> float:
        peer.initialize()
        before = peer.status("VmRSS")
        peer.asked(ECHO, [letters(size)] * 2)
        return (peer.status("VmHWM") - before) / size

    return measured


def each_stream(bench: Bench, peer: HttpPeer) -> float:
    """Bytes that each session with its stream holds."""
    peer.initialize()
    return _each(bench, peer, peer.streams)


def each_listener(bench: Bench, peer: HttpPeer) -> float:
    """Bytes that each listening stream holds, without a session."""
    peer.discover()
    return _each(bench, peer, peer.listeners)


def _each(bench: Bench, peer: HttpPeer, opened: Callable[[int], ContextManager[None]]) -> float:
    number = bench.count(STREAMS)
    peer.asked(ECHO, ["call"] * 200)
    with opened(20):
        before = peer.status("VmRSS")
        with opened(number):
            return (peer.status("VmRSS") - before) / number


def threads(bench: Bench, peer: HttpPeer) -> float:
    """Threads of a server of which many sessions have a stream open each, and one calls."""
    peer.initialize()
    with streaming(peer, bench):
        peer.asked(ECHO, ["call"] * 20)
        return peer.status("Threads")


def started_as(kind: str) -> Side:
    """Processor time of the start of the server in another shape: a bundle, or the package as a zip, or uncompiled."""
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        with tempfile.TemporaryDirectory() as folder:
            file, path = str(HERE / SERVER.file), os.path.join(folder, kind)
            environment = dict(bench.environment, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
            if kind == "uncompiled":
                shutil.copytree(str(ROOT / "mcp_ref"), os.path.join(path, "mcp_ref"),
                                ignore=shutil.ignore_patterns("__pycache__"))
            elif kind == "zip":
                sys.path.insert(0, str(ROOT / "tests" / "tools"))
                import pyz  # the tool behind `make pyz`

                pathlib.Path(path).write_bytes(pyz.archive())
            else:
                output(bench, "-m", "mcp_ref", "bundle", file, "-o", path + ".py")
                file = path + ".py"
            with fresh(Program(file), greeted)(bench._replace(environment=environment)) as sample:
                yield sample

    return side


# --- other processes --------------------------------------------------------------------------------------------------

def client(name: str, how: str, count: int) -> Side:
    """What a call costs a client; see `clients.py`, which measures itself."""
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        number = bench.count(count)
        with Peer([bench.python, str(HERE / "clients.py"), name], bench.environment) as peer:

            def sample() -> Sample:
                peer.write(b"%s %d\n" % (how.encode(), number))
                used, wall = map(float, peer.line().split())
                return Sample(used / number, wall / number)

            yield sample

    return side


def output(bench: Bench, *arguments: str) -> str:
    """Run the interpreter to its end; return its output."""
    done = subprocess.run([bench.python, *arguments], env=bench.environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise WrongAnswer("python %s failed:\n%s" % (" ".join(arguments), done.stderr[-1500:]))
    return done.stdout


def command(bench: Bench, *arguments: str) -> Tuple[Sample, float]:
    """Run the command line to its end, which has to be a good one; its times, and the bytes that it had at most."""
    if not hasattr(os, "wait4"):
        raise NotHere("os.wait4, which tells what a process has used")
    begin = time.perf_counter()
    running = subprocess.Popen([bench.python, "-m", "mcp_ref", *arguments], env=bench.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, running.returncode, used = os.wait4(running.pid, 0)
    if running.returncode:
        raise WrongAnswer("%s found something, or failed: wait status %d" % (arguments[0], running.returncode))
    return Sample(used.ru_utime + used.ru_stime, time.perf_counter() - begin), used.ru_maxrss * 1024.0


def shimmed(program: Program, count: int) -> Side:
    """What a call costs the process of `trace -- CMD`, the server's own cost not counted."""
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        with tempfile.TemporaryDirectory() as folder:
            shim = [bench.python, "-m", "mcp_ref", "trace", "--out", os.path.join(folder, "trace.jsonl"), "--"]
            behind = bench._replace(server=[*shim, bench.python, str(HERE / program.file)])
            with calls(program, count=count)(behind) as sample:
                yield sample

    return side


def traced(wire: str, revision: str, exchanges: int, judge: bool, memory: bool = False) -> Side:
    """What a message of a trace costs `json.loads`, or `check`; or the bytes that `check` has at most."""
    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        runner = str(HERE / "check_runner.py")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.jsonl")
            messages = int(output(bench, runner, "make", wire, revision, str(bench.count(exchanges)), path))

            def sample() -> Sample:
                if not judge:
                    return Sample(float(output(bench, runner, "read", path)) / messages)
                times, most = command(bench, "check", path)
                return Sample(most if memory else times.used / messages, times.wall / messages)

            yield sample

    return side


def examined(web: bool) -> Side:
    """Seconds of `examine` of a server in all revisions, with those of the servers that it starts.

    It hands no PYTHONPATH to these, so that over stdio it has to be one that runs from a checkout.
    """
    example = str(ROOT / "examples" / "echo_server.py")

    @contextlib.contextmanager
    def side(bench: Bench) -> Iterator[Callable[[], Sample]]:
        if web:
            with WEB.start(bench) as peer:
                yield lambda: command(bench, "examine", peer.url)[0]
        else:
            yield lambda: command(bench, "examine", "%s %s" % (quote(bench.python), quote(example)))[0]

    return side
