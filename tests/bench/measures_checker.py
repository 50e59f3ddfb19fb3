"""How the figures about `check` and `examine` are measured: messages for each CPU second of the first, and its memory;
seconds of the second.
"""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import time
from shlex import quote
from typing import Iterator, List, Tuple

from measures import Pair, Setup, cold_start
from peer import NotHere, WrongAnswer

RUNNER = str(pathlib.Path(__file__).resolve().parent / "check_runner.py")


@contextlib.contextmanager
def judged(setup: Setup, wire: str, revision: str, calls: int) -> Iterator[Pair]:
    """Messages for each CPU second: `json.loads` of the lines of a trace, and `check` of it, with start and report."""
    with _trace(setup, wire, revision, calls) as (path, messages):

        def floor() -> float:
            return messages / float(_output(setup, [setup.python, RUNNER, "read", path]))

        yield floor, lambda: messages / _check(setup, path)[0]


@contextlib.contextmanager
def memory(setup: Setup, wire: str, revision: str, calls: int) -> Iterator[Pair]:
    """Bytes that `check` has at most: of a trace of a tenth of the length, and of the whole one."""
    with _trace(setup, wire, revision, calls // 10) as (short, _), _trace(setup, wire, revision, calls) as (path, _):
        yield lambda: _check(setup, short)[1], lambda: _check(setup, path)[1]


@contextlib.contextmanager
def examined(setup: Setup, web: bool) -> Iterator[Pair]:
    """Seconds of `examine` of a server in all revisions, and of one start of such a server."""
    with cold_start(setup) as (_, start):
        if web:
            with setup.http_subject() as subject:
                yield start, lambda: _examine(setup, subject.url)
        else:
            yield start, lambda: _examine(setup, " ".join(map(quote, setup.subject_command)))


def _examine(setup: Setup, server: str) -> float:
    """The seconds of the command. It has to find nothing."""
    begin = time.perf_counter()
    done = subprocess.run([setup.python, "-m", "mcp_ref", "examine", server], env=setup.environment,
                          stdout=subprocess.DEVNULL)
    if done.returncode:
        raise WrongAnswer("examine found something, or ended with status %d" % done.returncode)
    return time.perf_counter() - begin


@contextlib.contextmanager
def _trace(setup: Setup, wire: str, revision: str, calls: int) -> Iterator[Tuple[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.jsonl")
        yield path, int(_output(setup, [setup.python, RUNNER, "make", wire, revision, str(setup.count(calls)), path]))


def _output(setup: Setup, command: List[str]) -> bytes:
    return subprocess.run(command, env=setup.environment, stdout=subprocess.PIPE, check=True).stdout


def _check(setup: Setup, path: str) -> Tuple[float, float]:
    """The CPU seconds of the command, and the bytes that it had at most. It has to find nothing."""
    if not hasattr(os, "wait4"):
        raise NotHere("os.wait4, which tells what a process has used")
    running = subprocess.Popen([setup.python, "-m", "mcp_ref", "check", path], env=setup.environment,
                               stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = status
    if status:
        raise WrongAnswer("check found something, or ended with status %d" % status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0
