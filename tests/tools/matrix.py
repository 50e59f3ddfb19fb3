"""Run the whole suite on every CPython from 3.8 to 3.13 that is found here, two at a time; arguments go to pytest.

The oldest and the newest run all of it. Those between leave out ENDS_ONLY: the tests of the sources themselves, which
say the same on each version, and the tests of judging, which take a third of the time and use nothing of the language
and the library that the rest does not. In CI those between share the tests, each has a part of them, and the version on
which `make test` has just run is left out: with all of it CI would take longer than it may.

Each version has its environment in `build/venvs/3.X` and its log in `build/matrix/3.X.log`. The log of a failed run is
printed whole, and the table at the end has one line per version: how it ended, its figures, or that it is ABSENT. The
exit code is 0 only if all that ran passed, and at least one did; in CI none may be absent. In `.ci/run` a test that
failed is tried again, on the same interpreter: see `steady`.
"""
import concurrent.futures
import os
import re
import sys
import time
from typing import List, NamedTuple, Optional, Tuple

import steady
from environments import BUILD, PYTEST, ROOT, SetupError, environment, in_ci, say
from fetch_suites import cached
from interpreters import SUPPORTED, Interpreter, find

AT_ONCE = min(2, os.cpu_count() or 1)
ENDS_ONLY = ("tests/meta", "tests/bench", "tests/checker", "tests/examiner", "tests/fuzz")


class Outcome(NamedTuple):
    """How the suite went on one version; ``run`` is None where there was none."""

    label: str
    code: int
    text: str
    run: Optional[steady.Run] = None


def left_out(interpreter: Interpreter, arguments: List[str]) -> List[str]:
    """Pytest's options for what is not run on a version, where nobody has asked for others."""
    version = interpreter.version[:2]
    if arguments or version not in SUPPORTED[1:-1]:
        return []
    between = [minor for minor in SUPPORTED[1:-1] if minor != sys.version_info[:2]]
    share = ["--part=%d/%d" % (between.index(version) + 1, len(between))] if in_ci() and version in between else []
    return ["--ignore=" + folder for folder in ENDS_ONLY] + share


def run_suite(interpreter: Interpreter, arguments: List[str]) -> Outcome:
    """Run the suite on one interpreter; prints its log where it fails."""
    short, run = "%d.%d" % interpreter.version[:2], None
    log = BUILD / "matrix" / (short + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        python = environment(BUILD / "venvs" / short, PYTEST, interpreter.path)
        given = ["-p", "no:cacheprovider", "-rfE", *arguments, *left_out(interpreter, arguments)]
        run = steady.Run(python, given, ROOT, BUILD / "journal" / (short + ".jsonl"), interpreter.name, cached())
        with log.open("wb") as stream:
            code = run.go(stream)
        text = log.read_text(encoding="utf-8", errors="replace")
    except SetupError as error:
        code, text = 2, "no environment: %s" % error
    say("%s ended with %d after %.0f s" % (interpreter.name, code, time.monotonic() - started))
    if code:
        print(text, flush=True)
    return Outcome(interpreter.name, code, text, run)


def judged(outcome: Outcome) -> int:
    """The exit code that counts for an interpreter, after its failures were tried again: see `steady`."""
    return outcome.run.judge(outcome.code) if outcome.run and outcome.code == steady.FAILED else outcome.code


def closing_line(text: str) -> str:
    """The last line of a log, without pytest's frame of equals signs."""
    lines = [line for line in text.splitlines() if line.strip()] or ["printed nothing"]
    return re.sub(r"^=+ | =+$", "", lines[-1])


def run_all(found: List[Interpreter], arguments: List[str]) -> List[Outcome]:
    """Run the suite on all of them, those with the most to do first, and give the outcomes in this order."""
    ordered = sorted(found, key=lambda interpreter: len(left_out(interpreter, arguments)))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda interpreter: run_suite(interpreter, arguments), ordered))


def split(minors: Tuple[Tuple[int, int], ...]) -> Tuple[List[Interpreter], List[str]]:
    """Which versions are here, and which are absent."""
    pairs = [(minor, find(minor)) for minor in minors]
    return [found for _, found in pairs if found], ["%d.%d" % minor for minor, found in pairs if not found]


def main(arguments: List[str]) -> int:
    """Run and report."""
    tested = sys.version_info[:2] if in_ci() else ()  # by `make test`
    found, absent = split(tuple(minor for minor in SUPPORTED if minor != tested))
    say("found: %s; ABSENT: %s" % (", ".join(item.name for item in found) or "none", ", ".join(absent) or "none"))
    outcomes = run_all(found, arguments)
    say("matrix")
    codes = [judged(outcome) for outcome in outcomes]  # now, when nothing else runs: they run alone
    for outcome, code in zip(outcomes, codes):
        print("  %-8s %-7s %s" % (outcome.label, "FAILED" if code else "passed", closing_line(outcome.text)))
        for line in steady.skips([outcome.run.journal] if outcome.run else []):
            print("             " + line)
    for version in absent:
        print("  %-8s ABSENT  no such CPython on PATH or below `pyenv root`; NOT TESTED" % version)
    if absent and in_ci():
        say("FAILED: in CI all of them have to be there")
        return 1
    return 0 if codes and not any(codes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
