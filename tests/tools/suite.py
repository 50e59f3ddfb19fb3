"""Run the test suite in `.venv`, made where it is missing; arguments go to pytest (`make test ARGS="-k ping"`).

Without arguments the test files are run in PARTS parts, one more at a time than there are cores, because a third of
the time is waiting; the part that took longest the last time starts first. A line says from time to time how far they
are. Their output is in `build/journal`; of a part that failed it is printed. The last lines name each failed test, how
many ran, how many were left out and why, and the command for one of them alone. A test that hangs or crashes ends its
process only: see `steady`, also for what `.ci/run` does about failures.
"""
import concurrent.futures
import os
import re
import sys
import time
from typing import List, Sequence

import steady
from environments import BUILD, PYTEST, ROOT, SetupError, environment, say
from fetch_suites import cached

PARTS = 12  # so many that all cores have work to the end
PROGRESS_SECONDS = 15.0
PASSED = re.compile(r"^.* \[ *[0-9]+%\]\n", re.M)
"""The lines in which pytest shows its progress."""
SECONDS = re.compile(r" in ([0-9.]+)s\b")
"""The end of pytest's last line."""


def main(arguments: List[str]) -> int:
    """Return pytest's exit code, the first that is not 0."""
    try:
        python = environment(ROOT / ".venv", PYTEST)
    except SetupError as error:
        print("make test: %s" % error, file=sys.stderr)
        return 2
    given = [arguments] if arguments else [
        ["-p", "no:cacheprovider", "-rfE", "--part=%d/%d" % (number, PARTS)] for number in range(1, PARTS + 1)]
    runs = [steady.Run(python, each, ROOT, BUILD / "journal" / ("part-%d.jsonl" % number), "make test", cached())
            for number, each in enumerate(given, 1)]
    if arguments:
        codes = [runs[0].go()]
    else:
        say("all tests, in %d parts; ten minutes on two idle cores" % PARTS)
        codes = run_all(runs, (os.cpu_count() or 1) + 1)
        for line in steady.skips(run.journal for run in runs):
            say(line)
    if any(codes) or not arguments:
        for line in steady.report(runs):
            say(line)
    codes = [run.judge(code) for run, code in zip(runs, codes)]
    if not arguments:
        for line in steady.unjudged(steady.read_journal(run.journal) for run in runs):
            say(line)
            codes.append(steady.FAILED)
    say("FAILED" if any(codes) else "passed")
    return next((code for code in codes if code), 0)


def run_all(runs: Sequence[steady.Run], at_once: int) -> List[int]:
    """Run all of them, some at a time; show how far they are, then the output of those that failed."""
    for run in runs:
        run.forget()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        future_of = {run: pool.submit(run_into_log, run) for run in sorted(runs, key=seconds_before, reverse=True)}
        running = [future_of[run] for run in runs]
        started, seen = time.monotonic(), set()
        while concurrent.futures.wait(running, PROGRESS_SECONDS).not_done:
            journals = [steady.read_journal(run.journal) for run in runs]
            for test in (test for journal in journals for test in [*journal.failed, *journal.ended]):
                if test not in seen:
                    seen.add(test)
                    say("failed: %s" % test)
            say("%d s: %d tests, %d failed; %d of %d parts are done" % (
                time.monotonic() - started, sum(journal.ran for journal in journals), len(seen),
                sum(future.done() for future in running), len(runs)))
    codes = [future.result() for future in running]
    for run, code in zip(runs, codes):
        text = run.journal.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        print(PASSED.sub("", text) if code else (text.rstrip().splitlines() or [""])[-1], flush=True)
    return codes


def seconds_before(run: steady.Run) -> float:
    """Return how long a run took the last time, 0 if that is not known: the longest must not run alone at the end."""
    log = run.journal.with_suffix(".log")
    found = SECONDS.findall(log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else []
    return float(found[-1]) if found else 0.0


def run_into_log(run: steady.Run) -> int:
    """Run it with its output in the file beside its journal."""
    with run.journal.with_suffix(".log").open("wb") as log:
        return run.go(log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
