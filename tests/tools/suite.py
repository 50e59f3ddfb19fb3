"""Run the test suite in `.venv`, made where it is missing; arguments go to pytest (`make test ARGS="-k ping"`).

Without arguments two halves run side by side, where there are two cores; a line says from time to time how far they
are. Their output is in `build/journal`; of a half that failed it is printed. The last lines name each failed test, how
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

PROGRESS_SECONDS = 15.0
PASSED = re.compile(r"^.* \[ *[0-9]+%\]\n", re.M)
"""The lines in which pytest shows its progress."""


def main(arguments: List[str]) -> int:
    """Return pytest's exit code, the first that is not 0."""
    try:
        python = environment(ROOT / ".venv", PYTEST)
    except SetupError as error:
        print("make test: %s" % error, file=sys.stderr)
        return 2
    parts = 1 if arguments or (os.cpu_count() or 1) < 2 else 2
    runs = [steady.Run(python, arguments or ["-p", "no:cacheprovider", "-rfE", "--part=%d/%d" % (number, parts)], ROOT,
                       BUILD / "journal" / ("part-%d.jsonl" % number), "make test", cached())
            for number in range(1, parts + 1)]
    if arguments:
        codes = [runs[0].go()]
    else:
        say("all tests, in %d process%s; five minutes on two idle cores" % (parts, "es" * (parts > 1)))
        codes = run_all(runs)
        for line in steady.skips(run.journal for run in runs):
            say(line)
    if any(codes) or not arguments:
        for line in steady.report(runs):
            say(line)
    codes = [run.judge(code) for run, code in zip(runs, codes)]
    say("FAILED" if any(codes) else "passed")
    return next((code for code in codes if code), 0)


def run_all(runs: Sequence[steady.Run]) -> List[int]:
    """Run all of them side by side; show how far they are, then the output of those that failed."""
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        running = [pool.submit(run_into_log, run) for run in runs]
        started, seen = time.monotonic(), set()
        while concurrent.futures.wait(running, PROGRESS_SECONDS).not_done:
            journals = [steady.read_journal(run.journal) for run in runs]
            for test in (test for journal in journals for test in [*journal.failed, *journal.ended]):
                if test not in seen:
                    seen.add(test)
                    say("failed: %s" % test)
            say("%d s: %s, %d failed" % (time.monotonic() - started, ", ".join(
                "%d of %d" % (journal.ran, journal.collected) if journal.collected else "collecting"
                for journal in journals), len(seen)))
    codes = [future.result() for future in running]
    for run, code in zip(runs, codes):
        text = run.journal.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        print(PASSED.sub("", text) if code else (text.rstrip().splitlines() or [""])[-1], flush=True)
    return codes


def run_into_log(run: steady.Run) -> int:
    """Run it with its output in the file beside its journal."""
    with run.journal.with_suffix(".log").open("wb") as log:
        return run.go(log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
