"""Run the whole suite on every CPython from 3.8 to 3.13 that is found here, two at a time; arguments go to pytest.

Each version has its environment in `build/venvs/3.X` and its log in `build/matrix/3.X.log`. The log of a failed run is
printed whole, and the table at the end has one line per version: how it ended, its figures, or that it is ABSENT. The
exit code is 0 only if at least one version ran and all that ran passed.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from typing import List, NamedTuple, Tuple

from environments import BUILD, PYTEST, ROOT, SetupError, environment, say
from fetch_suites import cached
from interpreters import SUPPORTED, Interpreter, find

AT_ONCE = min(2, os.cpu_count() or 1)
RUN_SECONDS = 900


class Outcome(NamedTuple):
    """How the suite went on one version."""

    label: str
    passed: bool
    note: str


def run_suite(interpreter: Interpreter, arguments: List[str]) -> Outcome:
    """Run the suite on one interpreter; prints its log where it fails."""
    short = "%d.%d" % interpreter.version[:2]
    log = BUILD / "matrix" / (short + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        python = environment(BUILD / "venvs" / short, PYTEST, interpreter.path)
        with open(str(log), "wb") as stream:
            code = subprocess.run([python, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=str(ROOT),
                                  env=cached(), stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
                                  timeout=RUN_SECONDS).returncode
        text = log.read_text(encoding="utf-8", errors="replace")
    except SetupError as error:
        code, text = 2, "no environment: %s" % error
    except subprocess.TimeoutExpired:
        code, text = 3, log.read_text(encoding="utf-8", errors="replace") + "\nnot done after %d s" % RUN_SECONDS
    say("%s ended with %d after %.0f s" % (interpreter.name, code, time.monotonic() - started))
    if code:
        print(text, flush=True)
    return Outcome(interpreter.name, code == 0, closing_line(text))


def closing_line(text: str) -> str:
    """The last line of a log, without pytest's frame of equals signs."""
    lines = [line for line in text.splitlines() if line.strip()] or ["printed nothing"]
    return re.sub(r"^=+ | =+$", "", lines[-1])


def run_all(found: List[Interpreter], arguments: List[str]) -> List[Outcome]:
    """Run the suite on all of them and give the outcomes in their order."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda interpreter: run_suite(interpreter, arguments), found))


def split(minors: Tuple[Tuple[int, int], ...]) -> Tuple[List[Interpreter], List[str]]:
    """Which versions are here, and which are absent."""
    pairs = [(minor, find(minor)) for minor in minors]
    return [found for _, found in pairs if found], ["%d.%d" % minor for minor, found in pairs if not found]


def main(arguments: List[str]) -> int:
    """Run and report."""
    found, absent = split(SUPPORTED)
    say("found: %s; ABSENT: %s" % (", ".join(item.name for item in found) or "none", ", ".join(absent) or "none"))
    outcomes = run_all(found, arguments)
    say("matrix")
    for outcome in outcomes:
        print("  %-8s %-7s %s" % (outcome.label, "passed" if outcome.passed else "FAILED", outcome.note))
    for version in absent:
        print("  %-8s ABSENT  no such CPython on PATH or below `pyenv root`; NOT TESTED" % version)
    return 0 if outcomes and all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
