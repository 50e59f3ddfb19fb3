"""Try a failure again before it counts, where a run may not hang on a coin: in `.ci/run`.

`.ci/run` names a file in the variable MCP_REF_UNSTEADY. Then whatever fails (a test, a pairing of `make interop`, a
leg of `make conformance`, a case of `make fuzz`, a run of `make soak`) is tried again, alone, three times, on the same
interpreter. If one of these fails, the failure counts. If all three pass, it is *unsteady*: it is written to that file
and does not count. Called as a program (`python3 tests/tools/steady.py`, the last step of `.ci/run`) this prints the
list, and ends with 1 if there are more than five. The next change of the project begins with that list: an unsteady
test is mended, or leaves the suite for `make stress`.

Without the variable, as in `make test`, each failure counts at once.

A run of pytest writes a journal for this (`--journal FILE`, in `tests/conftest.py`): the tests that failed or were
skipped, the one that is running, and how the run ended. A run that broke off (a test's time limit ends the process) is
made once more, after the test that was running has passed alone.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

LEDGER = "MCP_REF_UNSTEADY"
TIMES = 3
MOST = 5
MESSAGE_LENGTH = 300
TRY_SECONDS = 300
FAILED = 1
"""Exit code of pytest where tests failed; others say that the run itself went wrong."""


class Failure(NamedTuple):
    """Something that failed: its name, the interpreter or program that ran it, and what was said."""

    name: str
    where: str
    message: str


def merciful() -> bool:
    """Tell whether failures are tried again here."""
    return bool(os.environ.get(LEDGER))


def unsteady(failures: Sequence[Failure], attempt: Callable[[Failure], Optional[str]]) -> bool:
    """Try each failure again, alone, and write down those that passed each time; False if one of them counts.

    ``attempt`` runs one of them and returns what was wrong, or None. Where failures are not tried again, or too many
    are there already, all of them count.
    """
    if not failures or not merciful():
        return False
    if len(failures) + len(read()) > MOST:
        _say("%d failures, and at most %d in all may be unsteady: none is tried again" % (len(failures), MOST))
        return False
    return all([_passes_again(failure, attempt) for failure in failures])


def _passes_again(failure: Failure, attempt: Callable[[Failure], Optional[str]]) -> bool:
    for number in range(1, TIMES + 1):
        wrong = attempt(failure)
        _say("%s (%s), alone, time %d of %d: %s" % (failure.name, failure.where, number, TIMES, wrong or "passed"))
        if wrong:
            return False
    with open(os.environ[LEDGER], "a", encoding="ascii") as ledger:
        ledger.write(json.dumps(failure._replace(message=failure.message[:MESSAGE_LENGTH])) + "\n")
    return True


def read() -> List[Failure]:
    """Return what has been found unsteady so far."""
    path = pathlib.Path(os.environ.get(LEDGER) or os.devnull)
    if not path.is_file():
        return []
    return [Failure(*json.loads(line)) for line in path.read_text(encoding="ascii").splitlines()]


def _say(text: str) -> None:
    print("== again: " + text, file=sys.stderr, flush=True)


# --- runs of pytest ---------------------------------------------------------------------------------------------------

class Journal(NamedTuple):
    """What a run of pytest has written down; ``end`` is its exit code as pytest knew it, None if it broke off.

    ``skipped`` has the reason for each test that was skipped.
    """

    failed: Dict[str, str]
    skipped: Dict[str, str]
    uncollected: List[str]
    running: str
    end: Optional[int]


def read_journal(path: pathlib.Path) -> Journal:
    """Read the journal of a run that is over, whichever way it ended."""
    failed: Dict[str, str] = {}
    skipped: Dict[str, str] = {}
    uncollected: List[str] = []
    end = None
    lines = path.read_text(encoding="ascii").splitlines() if path.is_file() else []
    for line in lines:
        entry = json.loads(line)
        if "test" in entry:
            failed.setdefault(entry["test"], entry["message"])
        elif "skipped" in entry:
            skipped[entry["skipped"]] = entry["reason"]
        elif "uncollected" in entry:
            uncollected.append(entry["uncollected"])
        else:
            end = entry["end"]
    running = path.with_suffix(".running")
    name = running.read_text("ascii").rstrip("\n") if running.is_file() else ""
    return Journal(failed, skipped, uncollected, name, end)


def skips(paths: Iterable[pathlib.Path]) -> List[str]:
    """Return a line for each reason why tests were skipped in the runs with these journals, the most frequent first."""
    reasons = collections.Counter(reason for path in paths for reason in read_journal(path).skipped.values())
    return ["left out: %d test%s: %s" % (count, "s" * (count > 1), reason) for reason, count in reasons.most_common()]


class Run:
    """A run of pytest: ``command`` with ``arguments``, in ``root``; its journal is ``journal``.

    ``where`` names the interpreter in reports.
    """

    def __init__(self, python: str, arguments: Iterable[str], root: pathlib.Path, journal: pathlib.Path, where: str,
                 environment: Optional[Dict[str, str]] = None) -> None:
        self.root, self.journal, self.where = root, journal, where
        self.environment = environment
        self._pytest = [python, "-m", "pytest", "-p", "no:cacheprovider", "-rfE"]  # `skips` lists the others
        self.command = [*self._pytest, "--journal", str(journal), *arguments]
        journal.parent.mkdir(parents=True, exist_ok=True)
        self._forget()

    def _forget(self) -> None:
        for path in (self.journal, self.journal.with_suffix(".running")):
            if path.exists():
                path.unlink()

    def judge(self, code: int) -> int:
        """Return the exit code that counts for this run, which has ended with ``code``."""
        if code == 0 or not merciful():
            return code
        journal = read_journal(self.journal)
        whole = journal.end == code
        if journal.uncollected or (whole and code != FAILED):
            return code
        failures = [Failure(test, self.where, message) for test, message in journal.failed.items()]
        if not whole and journal.running not in journal.failed:
            failures.append(Failure(journal.running, self.where, "the run broke off with exit code %d" % code))
        if not unsteady(failures, self._alone):
            return code
        return 0 if whole else self._once_more()

    def _once_more(self) -> int:
        """Make the run again, as the tests behind the one that ended it have not run; now each failure counts."""
        _say("%s: the whole run once more, for it broke off" % self.where)
        self._forget()
        return subprocess.call(self.command, cwd=str(self.root), env=self.environment, stdin=subprocess.DEVNULL)

    def _alone(self, failure: Failure) -> Optional[str]:
        """Run one test; its last words if it fails."""
        chosen = self.journal.with_suffix(".chosen")
        chosen.write_text(json.dumps([failure.name]), encoding="ascii")
        command = [*self._pytest, "--only-ids", str(chosen), failure.name.partition("::")[0]]
        try:
            done = subprocess.run(command, cwd=str(self.root), env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TRY_SECONDS)
        except subprocess.TimeoutExpired:
            return "not done after %d s" % TRY_SECONDS
        return done.stdout.decode("utf-8", "replace")[-3000:] if done.returncode else None


def main() -> int:
    """Print what was unsteady; 1 if that is too much."""
    found = read()
    print("unsteady: %d (they failed once and passed %d times alone; at most %d may)" % (len(found), TIMES, MOST))
    for failure in found:
        print("  %s\n    on %s: %s" % (failure.name, failure.where, failure.message.replace("\n", "\n    ")))
    return int(len(found) > MOST)


if __name__ == "__main__":
    sys.exit(main())
