"""Run pytest so that one bad test does not take the others with it, and report what happened.

A run of pytest writes a journal (`--journal FILE`, in `tests/conftest.py`): the tests that failed or were skipped, the
one that is running, and how the run ended. A test that ends the process (it reached a limit, or crashed the
interpreter) counts as a failure, and the run continues in a new process with the test after it.

In `.ci/run` a failure does not count at once. `.ci/run` names a file in the variable MCP_REF_UNSTEADY. Then whatever
fails (a test, a pairing of `make interop`, a leg of `make conformance`, a case of `make fuzz`, a run of `make soak`) is
tried again, alone, three times, on the same interpreter. If one of these fails, the failure counts. If all three pass,
it is *unsteady*: it is written to that file and does not count. Called as a program (`python3 tests/tools/steady.py`)
this prints the list, with the day since when each has been known (KNOWN), and exits with 1 if there are more than five.
The next change of the project starts with that list: an unsteady test is mended, or leaves the suite for `make stress`.
"""
import collections
import json
import os
import pathlib
import shlex
import subprocess
import sys
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

LEDGER = "MCP_REF_UNSTEADY"
TIMES = 3
MOST = 5
MESSAGE_LENGTH = 300
MOST_ENDED = 5
"""How many tests may end the process of a run before the run is given up."""
FAILED = 1
"""Exit code of pytest where tests failed; others say that the run itself went wrong."""
FEWEST: Dict[str, Tuple[int, int]] = {
    "tests": (75, 291),
    "tests/auth": (449, 13104),
    "tests/bridge": (391, 6626),
    "tests/cli": (353, 3107),
    "tests/client": (753, 11542),
    "tests/conformance": (70, 499),
    "tests/examiner": (384, 10105),
    "tests/frozen": (145, 2396),
    "tests/fuzz": (62, 631),
    "tests/host": (301, 4470),
    "tests/peer": (180, 7913),
    "tests/server": (969, 20411),
    "tests/spec": (5487, 60923),
    "tests/transports": (517, 8012),
}
"""Folder of tests -> the fewest connections and messages that a run of the whole suite judges: half of what it was."""
KNOWN: Dict[str, str] = {}
"""Tests and other names that are known to be unsteady -> since when, as a date."""


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
    """What a run of pytest has written down so far.

    ``failed`` and ``skipped`` map tests to messages and reasons, ``ended`` the tests that ended their process to the
    reason. ``running`` is the current test, "" before the first one, and ``end`` is pytest's exit code, None unless the
    last process came to its end. ``judged``: folder of tests -> connections and messages that the checker has judged.
    """

    failed: Dict[str, str]
    skipped: Dict[str, str]
    ended: Dict[str, str]
    uncollected: List[str]
    collected: int
    ran: int
    running: str
    end: Optional[int]
    judged: Dict[str, List[int]]


def read_journal(path: pathlib.Path) -> Journal:
    """Read the journal of a run, also while it runs."""
    failed: Dict[str, str] = {}
    skipped: Dict[str, str] = {}
    ended: Dict[str, str] = {}
    judged: Dict[str, List[int]] = {}
    uncollected: List[str] = []
    collected = before = 0
    end = None
    for entry in _entries(path):
        if "test" in entry:
            failed.setdefault(entry["test"], entry["message"])
        elif "skipped" in entry:
            skipped[entry["skipped"]] = entry["reason"]
        elif "ended" in entry:
            ended.setdefault(entry["ended"], entry["why"])
            before += entry.get("ran", 0)
        elif "uncollected" in entry:
            uncollected.append(entry["uncollected"])
        elif "collected" in entry:
            collected = collected or entry["collected"]  # the first process collects all of them
        elif "judged" in entry:
            for folder, counts in entry["judged"].items():
                judged[folder] = _sum(judged.get(folder, [0, 0]), counts)
        else:
            end = entry["end"]
    number, running = next(_entries(path.with_suffix(".running")), (0, ""))
    return Journal(failed, skipped, ended, uncollected, collected, before + number, running, end, judged)


def _entries(path: pathlib.Path) -> Iterator[Any]:
    """Yield the JSON lines of a file that another process may be writing."""
    for line in path.read_text(encoding="ascii").splitlines(True) if path.is_file() else []:
        if line.endswith("\n"):
            yield json.loads(line)


def _sum(*rows: List[int]) -> List[int]:
    return [sum(values) for values in zip(*rows)]


def unjudged(journals: Iterable[Journal]) -> List[str]:
    """Return a line for each folder of FEWEST in which too little was judged, after a run of the whole suite."""
    found = list(journals)
    lines = []
    for folder, fewest in FEWEST.items():
        counts = _sum([0, 0], *(journal.judged.get(folder, [0, 0]) for journal in found))
        if any(count < least for count, least in zip(counts, fewest)):
            lines.append("%s: the checker has judged %s connections and messages, and should have judged at least %s: "
                         "does `tests.support.judged` still see them?" % (folder, counts, list(fewest)))
    return lines


def skips(paths: Iterable[pathlib.Path]) -> List[str]:
    """Return a line for each reason why tests were skipped in the runs with these journals, the most frequent first."""
    reasons = collections.Counter(reason for path in paths for reason in read_journal(path).skipped.values())
    return ["left out: %d test%s: %s" % (count, "s" * (count > 1), reason) for reason, count in reasons.most_common()]


class Run:
    """A run of pytest: ``python -m pytest`` with ``arguments``, in ``root``; its journal is ``journal``.

    ``where`` names the interpreter in reports.
    """

    def __init__(self, python: str, arguments: Iterable[str], root: pathlib.Path, journal: pathlib.Path, where: str,
                 environment: Optional[Dict[str, str]] = None) -> None:
        self.python, self.root, self.journal, self.where = python, root, journal, where
        self.environment = environment
        self._command = [python, "-m", "pytest", "--journal=" + str(journal), *arguments]
        journal.parent.mkdir(parents=True, exist_ok=True)

    def forget(self) -> None:
        """Remove the journal of an earlier run."""
        for path in (self.journal, self.journal.with_suffix(".running")):
            if path.exists():
                path.unlink()

    def go(self, output: Optional[IO[bytes]] = None) -> int:
        """Run it, in as many processes as it takes; return pytest's exit code. ``output``: instead of the terminal."""
        self.forget()
        command = self._command
        while True:
            code = self._call(command, output)
            journal = read_journal(self.journal)
            if code and journal.end is None and journal.running:
                self._note_end(journal.running, code, output)
                command = [*self._command, "--after=" + journal.running]
                journal = read_journal(self.journal)
                if journal.ran < journal.collected and len(journal.ended) < MOST_ENDED:
                    continue
            return FAILED if journal.ended and journal.ran == journal.collected else code

    def _call(self, command: Sequence[str], output: Optional[IO[bytes]]) -> int:
        if output is None:  # somebody may be there, who uses a debugger
            return subprocess.call(command, cwd=str(self.root), env=self.environment)
        return subprocess.call(command, cwd=str(self.root), env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=subprocess.STDOUT)

    def _note_end(self, test: str, code: int, output: Optional[IO[bytes]]) -> None:
        """Write down that a test ended its process, and print the failures that pytest could not print any more."""
        unprinted: List[str] = []
        for entry in _entries(self.journal):
            if "collected" in entry:  # by another process
                unprinted.clear()
            elif "test" in entry:
                unprinted.append("\n___ %s\n%s\n" % (entry["test"], entry["text"]))
        (output or sys.stdout.buffer).write("".join(unprinted).encode("utf-8", "backslashreplace"))
        (output or sys.stdout.buffer).flush()
        running = self.journal.with_suffix(".running")
        number, _ = next(_entries(running))
        why = "its process exited with code %d" % code
        with self.journal.open("a", encoding="ascii") as lines:
            lines.write(json.dumps({"ended": test, "why": why, "ran": number}) + "\n")
        running.unlink()

    def judge(self, code: int) -> int:
        """Return the exit code that counts for this run, which has ended with ``code``."""
        journal = read_journal(self.journal)
        if code != FAILED or not merciful() or journal.uncollected or journal.ran < journal.collected:
            return code
        wrong = {**journal.failed, **journal.ended}
        failures = [Failure(test, self.where, message) for test, message in wrong.items()]
        return 0 if unsteady(failures, self._alone) else code

    def _alone(self, failure: Failure) -> Optional[str]:
        """Run one test; its last words if it fails."""
        chosen = self.journal.with_suffix(".chosen")
        chosen.write_text(json.dumps([failure.name]), encoding="ascii")
        command = [self.python, "-m", "pytest", "-p", "no:cacheprovider", "--only-ids=" + str(chosen),
                   failure.name.partition("::")[0]]
        done = subprocess.run(command, cwd=str(self.root), env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.decode("utf-8", "replace")[-3000:] if done.returncode else None


def report(runs: Sequence[Run]) -> List[str]:
    """Return the last lines for runs that are over: what went wrong, how many tests ran, how to run one alone."""
    journals = [read_journal(run.journal) for run in runs]
    lines, wrong = [], []
    for word, table in (("failed", [journal.failed for journal in journals]),
                        ("ended", [journal.ended for journal in journals])):
        for test, message in (item for entries in table for item in entries.items()):
            wrong.append(test)
            lines.append("%s: %s: %s" % (word, test, (message.splitlines() or [""])[0][:MESSAGE_LENGTH]))
    for path in (path for journal in journals for path in journal.uncollected):
        lines.append("failed: %s cannot be collected" % path)
    ran, collected = (sum(values) for values in zip(*((each.ran, each.collected) for each in journals)))
    lines.append("%d tests ran, %d failed, %d ended their process, %d never ran" % (
        ran, sum(len(each.failed) for each in journals), sum(len(each.ended) for each in journals), collected - ran))
    if wrong:
        lines.append("one alone: %s -m pytest %s" % (shlex.quote(_shown(runs[0])), shlex.quote(wrong[0])))
    return lines


def _shown(run: Run) -> str:
    return os.path.relpath(run.python, str(run.root)) if run.python.startswith(str(run.root)) else run.python


def main() -> int:
    """Print what was unsteady; 1 if that is too much."""
    found = read()
    print("unsteady: %d (they failed once and passed %d times alone; at most %d may)" % (len(found), TIMES, MOST))
    for failure in found:
        message = failure.message.replace("\n", "\n    ")
        print("  %s\n    on %s, %s: %s" % (failure.name, failure.where, since(failure.name), message))
    return int(len(found) > MOST)


def since(name: str) -> str:
    """Say since when something has been known to be unsteady."""
    return "known since " + KNOWN[name] if name in KNOWN else "new: mend it, or enter it in KNOWN with today's date"


if __name__ == "__main__":
    sys.exit(main())
