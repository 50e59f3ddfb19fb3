"""Run the test suite on every CPython from 3.8 to 3.13 that is found here, two at a time; arguments go to pytest.

`make test` judges every connection by the checker's rules, on one interpreter; that is not repeated here. Without
arguments the versions share the work:

- the oldest runs all tests, and compares every frame with the official schema where MCP_REF_SPEC is set
- the newest runs all but the tests of the sources (SOURCES), which say the same on each version
- of those between, one that changes from commit to commit runs what the newest does, the others those that depend on
  the interpreter (DEPENDENT). In CI the version on which `make test` has run is left out.

`--only=3.8,between` runs the oldest and those between, `--only=3.13` the newest. Each version has its environment in
`build/venvs/3.X` and its log in `build/matrix/3.X.log`. The log of a failed run is printed whole, and the table at the
end has one line per version: how it ended, its figures, or that it is ABSENT. The exit code is 0 only if all that ran
passed, and at least one did; in CI none may be absent. In `.ci/run` a test that failed is tried again, on the same
interpreter: see `steady`.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
from typing import List, NamedTuple, Optional, Tuple

import steady
from environments import BUILD, PYTEST, ROOT, SetupError, environment, in_ci, say
from fetch_suites import cached
from interpreters import SUPPORTED, Interpreter, find

AT_ONCE = min(2, os.cpu_count() or 1)
OLDEST, NEWEST = SUPPORTED[0], SUPPORTED[-1]
SOURCES = tuple("tests/meta/test_%s.py" % name for name in (
    "citations", "contributing", "features", "floor", "from_outside", "layers", "prose", "requirements",
    "requirements_table", "secrets", "tree"))
DEPENDENT = ("tests/client", "tests/host", "tests/peer", "tests/protocol", "tests/server", "tests/transports",
             "tests/test_codec.py", "tests/test_jsonrpc.py", "tests/test_jsontext.py", "tests/test_messages.py",
             "tests/test_usercode.py")


class Outcome(NamedTuple):
    """How the suite went on one version; ``run`` is None where there was none."""

    label: str
    code: int
    text: str
    run: Optional[steady.Run] = None


def share(version: Tuple[int, ...], drawn: Optional[Tuple[int, int]]) -> List[str]:
    """Return pytest's arguments for a version's share of the work; ``drawn`` is the one between that does most."""
    if version == OLDEST:
        return ["--judge=schema"]
    return ["--judge=none"] + (
        ["--ignore=" + path for path in SOURCES] if version in (NEWEST, drawn) else list(DEPENDENT))


def between() -> List[Tuple[int, int]]:
    """Return the versions between the oldest and the newest that run here."""
    return [minor for minor in SUPPORTED[1:-1] if not (in_ci() and minor == sys.version_info[:2])]


def draw() -> Tuple[int, int]:
    """Return the version between that does most for this commit; always the same one where git is missing."""
    commit = shutil.which("git") and subprocess.run(["git", "rev-parse", "HEAD"], cwd=str(ROOT), stdout=subprocess.PIPE,
                                                    stderr=subprocess.DEVNULL).stdout
    return between()[int(commit or b"0", 16) % len(between())]


def run_suite(interpreter: Interpreter, arguments: List[str]) -> Outcome:
    """Run the suite on one interpreter, with these arguments for pytest; prints its log where it fails."""
    short, run = "%d.%d" % interpreter.version[:2], None
    log = BUILD / "matrix" / (short + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        python = environment(BUILD / "venvs" / short, PYTEST, interpreter.path)
        run = steady.Run(python, ["-p", "no:cacheprovider", "-rfE", *arguments], ROOT,
                         BUILD / "journal" / (short + ".jsonl"), interpreter.name, cached())
        with log.open("wb") as stream:
            code = run.go(stream)
        text = log.read_text(encoding="utf-8", errors="replace")
    except SetupError as error:
        code, text = 2, "no environment: %s" % error
    say("%s ended with %d after %.0f s" % (interpreter.name, code, time.monotonic() - started))
    if code:
        print(text, flush=True)
    return Outcome(interpreter.name, code, text, run)


def counted(outcome: Outcome) -> int:
    """The exit code that counts for an interpreter, after its failures were tried again: see `steady`."""
    return outcome.run.judge(outcome.code) if outcome.run else outcome.code


def closing_line(text: str) -> str:
    """The last line of a log, without pytest's frame of equals signs."""
    lines = [line for line in text.splitlines() if line.strip()] or ["printed nothing"]
    return re.sub(r"^=+ | =+$", "", lines[-1])


def split(minors: List[Tuple[int, int]]) -> Tuple[List[Interpreter], List[str]]:
    """Which versions are here, and which are absent."""
    pairs = [(minor, find(minor)) for minor in minors]
    return [found for _, found in pairs if found], ["%d.%d" % minor for minor, found in pairs if not found]


def main(arguments: List[str]) -> int:
    """Run and report."""
    only = [each for argument in arguments if argument.startswith("--only=") for each in argument[7:].split(",")]
    given = [argument for argument in arguments if not argument.startswith("--only=")]
    drawn = draw()
    chosen = [minor for minor in (OLDEST, drawn, NEWEST, *between())  # those with the most to do first
              if not only or "%d.%d" % minor in only or "between" in only and minor in between()]
    found, absent = split(list(dict.fromkeys(chosen)))
    say("found: %s; ABSENT: %s" % (", ".join(item.name for item in found) or "none", ", ".join(absent) or "none"))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lambda interpreter: run_suite(
            interpreter, given or share(interpreter.version[:2], drawn)), found))
    say("matrix")
    codes = [counted(outcome) for outcome in outcomes]  # now, when nothing else runs: they run alone
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
