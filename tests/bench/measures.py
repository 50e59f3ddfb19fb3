"""How each figure is measured.

A measure opens its two sides, floor and subject, and gives two functions that take one sample each; the caller takes
samples in turns, so that whatever else the machine does meanwhile falls on both. Times are seconds, memory bytes.

Where the issue leaves room, the stricter reading is taken: the import is timed inside the process (without the start of
the interpreter, which would flatter it), and the memory of a payload is the peak less what the server held before.
"""
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from machine import on_core
from peer import Peer, WrongAnswer

if TYPE_CHECKING:
    from http_peer import HttpPeer

WINDOW = 64
SLICE = 200
SECONDS = 120
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 "


@dataclass
class Setup:
    """What is compared: commands and interpreter of both sides, and the cores that they get."""

    python: str
    environment: Dict[str, str]
    floor_command: List[str]
    subject_command: List[str]
    sleeper_command: List[str]
    client_runner: List[str]
    host_runner_command: List[str]
    http_floor_command: List[str]
    http_subject_command: List[str]
    shim_command: List[str]
    client: str
    import_code: str
    cores: Optional[Tuple[int, int]] = None
    divisor: int = 1

    def _peer(self, command: List[str], arguments: Sequence[str]) -> Peer:
        return Peer([*command, *arguments], self.environment, self.cores[1] if self.cores else None)

    def floor(self, *arguments: str) -> Peer:
        """A floor server."""
        return self._peer(self.floor_command, arguments)

    def subject(self, *arguments: str) -> Peer:
        """A server of those that are judged."""
        return self._peer(self.subject_command, arguments)

    def shimmed(self, trace: str) -> Peer:
        """The same, behind a shim that records into a new file."""
        shim = [*self.shim_command, "--out", trace, "--"] if self.shim_command else []
        return self._peer(shim + self.subject_command, ())

    def sleeper(self) -> Peer:
        """The same, with the tool `sleep`."""
        return self._peer(self.sleeper_command, ())

    def http_floor(self, canned: bool) -> "HttpPeer":
        """A floor server over HTTP; see `http_floor.py`."""
        return self._http(self.http_floor_command, ["--canned"] if canned else [])

    def http_subject(self, *arguments: str) -> "HttpPeer":
        """The server over HTTP that is judged."""
        return self._http(self.http_subject_command, arguments)

    def _http(self, command: List[str], arguments: Sequence[str]) -> "HttpPeer":
        from http_peer import HttpPeer

        return HttpPeer([*command, *arguments], self.environment, self.cores[1] if self.cores else None)

    @contextlib.contextmanager
    def ready(self, *arguments: str, sleeper: bool = False) -> Iterator[Tuple[Peer, Peer]]:
        """Floor and subject after the handshake; ended on the way out."""
        with self.floor(*arguments) as floor, self.sleeper() if sleeper else self.subject(*arguments) as subject:
            floor.initialize()
            subject.initialize()
            yield floor, subject

    def runner(self, client: str) -> Peer:
        """A process with a client in it; it pins itself."""
        cores = [str(core) for core in self.cores] if self.cores else []
        return Peer([*self.client_runner, client, *cores], self.environment)

    def host_runner(self, client: str) -> Peer:
        """A process with a host in it, or with as many bare clients."""
        return Peer([*self.host_runner_command, client], self.environment)

    def count(self, full: int) -> int:
        """So many calls, or fewer in a quick run."""
        return max(WINDOW, full // self.divisor)


Sample = Callable[[], float]
Pair = Tuple[Sample, Sample]


# --- start-up ---------------------------------------------------------------------------------------------------------

def _timed(peer: Callable[[], Peer]) -> float:
    """Seconds from before the spawn until `initialize` is answered."""
    begin = time.perf_counter()
    with peer() as started:
        started.greet()
        return time.perf_counter() - begin


def _timed_process(setup: Setup, *arguments: str) -> float:
    begin = time.perf_counter()
    with on_core(setup.cores[1] if setup.cores else None):
        process = subprocess.Popen([setup.python, *arguments], env=setup.environment, stdin=subprocess.DEVNULL)
    if process.wait():  # with a timeout it would poll, in steps of up to 50 ms
        raise WrongAnswer("python %s failed" % " ".join(arguments))
    return time.perf_counter() - begin


@contextlib.contextmanager
def cold_start(setup: Setup, *arguments: str) -> Iterator[Pair]:
    """Spawn -> `initialize` answer, on both sides."""
    yield (lambda: _timed(lambda: setup.floor(*arguments))), (lambda: _timed(lambda: setup.subject(*arguments)))


@contextlib.contextmanager
def cold_start_and_nothing(setup: Setup) -> Iterator[Pair]:
    """Spawn -> `initialize` answer against the life of an interpreter that does nothing."""
    yield (lambda: _timed_process(setup, "-c", "pass")), (lambda: _timed(setup.subject))


@contextlib.contextmanager
def start_processor(setup: Setup) -> Iterator[Pair]:
    """Processor time from the start until `initialize` is answered: what others do on the machine counts for little.

    The subject reads no options, as the loop reads none: `argparse` with all that it loads is a seventh of the start of
    `examples/echo_server.py`.
    """
    yield (lambda: _processor_seconds(setup.floor)), (lambda: _processor_seconds(setup.sleeper))


@contextlib.contextmanager
def start_uncompiled(setup: Setup) -> Iterator[Pair]:
    """The same from a copy of the package without compiled files, where none may be written; the floor is with them."""
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(setup.environment["PYTHONPATH"], "mcp_ref")
        shutil.copytree(package, os.path.join(folder, "mcp_ref"), ignore=shutil.ignore_patterns("__pycache__"))
        environment = dict(setup.environment, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="1")
        bare = replace(setup, environment=environment)
        yield (lambda: _processor_seconds(setup.sleeper)), (lambda: _processor_seconds(bare.sleeper))


def _processor_seconds(peer: Callable[[], Peer]) -> float:
    with peer() as started:
        started.greet()
        return started.processor_seconds()


IMPORT = "import time; begin = time.perf_counter(); %s; print(time.perf_counter() - begin)"
STDLIB_IMPORTS = "import json, threading, dataclasses, inspect"
OUR_IMPORT = "import mcp_ref; mcp_ref.Server"


def _import_seconds(setup: Setup, code: str) -> float:
    with on_core(setup.cores[1] if setup.cores else None):
        done = subprocess.run([setup.python, "-c", IMPORT % code], env=setup.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS)
    if done.returncode:
        raise WrongAnswer("%s failed:\n%s" % (code, done.stderr[-1500:].decode("utf-8", "replace")))
    return float(done.stdout)


@contextlib.contextmanager
def imports(setup: Setup) -> Iterator[Pair]:
    """Seconds inside a fresh process that the import takes."""
    yield (lambda: _import_seconds(setup, STDLIB_IMPORTS)), (lambda: _import_seconds(setup, setup.import_code))


# --- calls ------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def sequential(setup: Setup, calls: int) -> Iterator[Pair]:
    """Median seconds of small calls, one after the other."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with setup.ready() as (floor, subject):
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


@contextlib.contextmanager
def shimmed(setup: Setup, calls: int) -> Iterator[Pair]:
    """Median seconds of small calls, one after the other, without and with a shim that records them.

    A few of each in turns: what else the machine does makes either a third slower from one second to the next. The shim
    adds two wake-ups, 17 us to a call of 65; a shim in C that records nothing adds 14.
    """
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with tempfile.TemporaryDirectory() as folder, setup.subject() as direct, \
            setup.shimmed(os.path.join(folder, "trace.jsonl")) as behind:
        direct.initialize()
        behind.initialize()
        measured: Tuple[List[float], List[float]] = [], []

        def sample(side: int) -> float:
            if not measured[side]:  # both are measured at once, and asked for one after the other
                taken: Tuple[List[float], List[float]] = [], []
                for start in range(0, len(texts), SLICE):
                    for seconds, peer in zip(taken, (direct, behind)):
                        seconds += peer.echoes(texts[start:start + SLICE])
                for kept, seconds in zip(measured, taken):
                    kept.append(statistics.median(seconds))
            return measured[side].pop()

        yield (lambda: sample(0)), (lambda: sample(1))


@contextlib.contextmanager
def in_flight(setup: Setup, calls: int) -> Iterator[Pair]:
    """Calls per second with 64 outstanding."""
    texts = ["call %d" % number for number in range(setup.count(calls))]
    with setup.ready() as (floor, subject):

        def sample(peer: Peer) -> float:
            return len(texts) / peer.echoes_in_flight(texts, WINDOW)

        yield (lambda: sample(floor)), (lambda: sample(subject))


def letters(size: int) -> str:
    """A text of so many characters, plain ASCII: what is measured is size, not escapes."""
    return (ALPHABET * (size // len(ALPHABET) + 1))[:size]


@contextlib.contextmanager
def payload(setup: Setup, size: int, calls: int) -> Iterator[Pair]:
    """Median seconds to send a text and get it back."""
    texts = [letters(size)] * max(1, calls // setup.divisor)
    with setup.ready() as (floor, subject):
        yield (lambda: statistics.median(floor.echoes(texts))), (lambda: statistics.median(subject.echoes(texts)))


# --- calls that block -------------------------------------------------------------------------------------------------

def _sleeping_threads(count: int, seconds: float) -> float:
    begin = time.perf_counter()
    threads = [threading.Thread(target=time.sleep, args=(seconds,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


@contextlib.contextmanager
def blocking(setup: Setup, count: int) -> Iterator[Pair]:
    """Seconds until the last of many 50 ms tools, called in one write, has answered."""
    calls = [("sleep", {"ms": 50}, "slept")] * count
    with setup.sleeper() as subject:
        subject.initialize()
        yield (lambda: _sleeping_threads(count, 0.05)), (lambda: max(subject.burst(calls)))


@contextlib.contextmanager
def ping_behind(setup: Setup, milliseconds: int) -> Iterator[Pair]:
    """Seconds that a ping takes while a tool blocks; the floor's answers with nothing beside it."""
    with setup.ready(sleeper=True) as (floor, subject):
        yield floor.ping, (lambda: subject.ping_behind("sleep", {"ms": milliseconds}, "slept"))


@contextlib.contextmanager
def mixed(setup: Setup, slow_first: bool, milliseconds: int) -> Iterator[Pair]:
    """Seconds until the quick one of two calls in one write has its answer; the floor's are both quick."""
    quick: Tuple[str, Dict[str, Any], str] = ("echo", {"text": "quick"}, "quick")
    slow: Tuple[str, Dict[str, Any], str] = ("sleep", {"ms": milliseconds}, "slept")
    at = 1 if slow_first else 0
    with setup.ready(sleeper=True) as (floor, subject):
        calls = [slow, quick] if slow_first else [quick, slow]
        yield (lambda: floor.burst([quick, quick])[at]), (lambda: subject.burst(calls)[at])


# --- memory -----------------------------------------------------------------------------------------------------------

def _idle(peer: Callable[[], Peer]) -> float:
    with peer() as started:
        started.initialize()
        return started.memory("VmRSS")


@contextlib.contextmanager
def idle_memory(setup: Setup) -> Iterator[Pair]:
    """Bytes in use after the handshake."""
    yield (lambda: _idle(setup.floor)), (lambda: _idle(setup.subject))


def _peak(peer: Callable[[], Peer], text: str) -> float:
    with peer() as started:
        started.initialize()
        before = started.memory("VmRSS")
        started.echoes([text, text])
        return (started.memory("VmHWM") - before) / len(text)


@contextlib.contextmanager
def payload_memory(setup: Setup, size: int) -> Iterator[Pair]:
    """Peak of a fresh server that echoes a text twice, less what it held idle, in sizes of the text."""
    text = letters(size)
    yield (lambda: _peak(setup.floor, text)), (lambda: _peak(setup.subject, text))


# --- many tools -------------------------------------------------------------------------------------------------------

def _list_all(peer: Peer, count: int) -> float:
    """Seconds until all pages of `tools/list` are here."""
    names: List[str] = []
    params: Dict[str, Any] = {}
    begin = time.perf_counter()
    while True:
        page = peer.ask("tools/list", params)
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    seconds = time.perf_counter() - begin
    if not len(names) == len(set(names)) >= count:
        raise WrongAnswer("%d tools listed, %d names, wanted %d" % (len(names), len(set(names)), count))
    return seconds


def _first_list(peer: Callable[[], Peer], count: int) -> float:
    with peer() as started:
        started.initialize()
        return _list_all(started, count)


@contextlib.contextmanager
def list_cold(setup: Setup, count: int) -> Iterator[Pair]:
    """Seconds of a fresh server's first whole list."""
    tools = ("--tools", str(count))
    yield (lambda: _first_list(lambda: setup.floor(*tools), count)), \
          (lambda: _first_list(lambda: setup.subject(*tools), count))


@contextlib.contextmanager
def list_warm(setup: Setup, count: int) -> Iterator[Pair]:
    """Seconds of a later whole list."""
    with setup.ready("--tools", str(count)) as (floor, subject):
        yield (lambda: _list_all(floor, count)), (lambda: _list_all(subject, count))


# --- clients ----------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def clients(setup: Setup, how: str, calls: int, over: str = "") -> Iterator[Pair]:
    """Calls per second of a client against the floor server; `over` is "http_" for those over HTTP."""
    count = setup.count(calls)
    with setup.runner(over + "floor") as floor, setup.runner(over + setup.client) as subject:

        def sample(peer: Peer) -> float:
            peer.write(b"%s %d\n" % (how.encode(), count))
            return count / float(peer.line())

        yield (lambda: sample(floor)), (lambda: sample(subject))
