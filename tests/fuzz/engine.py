"""Inputs by the thousand: make a case, check it, and make a case that fails as small as it gets.

A `Target` makes cases of plain data (numbers, texts, bytes, tuples, lists, dicts) from a random source and checks them.
Case number N of a seed is the same every time and on every CPython: `--only NAME --seed S --case N` shows it again.

A check fails by raising: `Broken` for a rule that does not hold, or any exception that the code under test should not
raise. It also fails when it takes longer than the target's `seconds` of processor time.
"""
import random
import time
import traceback
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

SHRINK_SECONDS = 5.0
SHRINK_TRIES = 3000
clock: Callable[[], float] = getattr(time, "thread_time", time.monotonic)


class Broken(Exception):
    """A rule that should hold for every input does not hold for this one."""


class Target(NamedTuple):
    """Something to feed."""

    name: str
    make: Callable[[random.Random], Any]
    check: Callable[[Any], None]
    seconds: float = 2.0
    """Processor time that one check may take."""


class Failure(NamedTuple):
    """How a check failed: two cases fail alike when their kinds are equal."""

    kind: str
    text: str


class Finding(NamedTuple):
    """A case that fails, as it came and as small as it got."""

    target: str
    seed: int
    number: int
    case: Any
    failure: Failure

    def __str__(self) -> str:
        return "%s: %s\n  %s\n  case: %s\n  again: --only %s --seed %d --case %d" % (
            self.target, self.failure.kind, self.failure.text.strip().replace("\n", "\n  "), repr(self.case)[:4000],
            self.target, self.seed, self.number)


def make_case(target: Target, seed: int, number: int) -> Any:
    """Case number N of a seed."""
    return target.make(random.Random("%s %d %d" % (target.name, seed, number)))


def failure_of(target: Target, case: Any) -> Optional[Failure]:
    """How the check of a case fails; None where it passes."""
    start = clock()
    try:
        target.check(case)
    except Broken as error:
        return Failure("broken: %s" % str(error).partition(":")[0], str(error))
    except Exception as error:
        step = traceback.extract_tb(error.__traceback__)[-1]
        place = "%s in %s of %s" % (type(error).__name__, step.name, step.filename.rpartition("/")[2])
        return Failure(place, "".join(traceback.format_exception(type(error), error, error.__traceback__)[-6:]))
    took = clock() - start
    return Failure("slow", "took %.1f s of processor time" % took) if took > target.seconds else None


def run_case(target: Target, seed: int, number: int) -> Optional[Finding]:
    """Make and check one case; what was found is made small."""
    case = make_case(target, seed, number)
    failure = failure_of(target, case)
    if failure is None:
        return None
    case, failure = shrink(target, case, failure)
    return Finding(target.name, seed, number, case, failure)


def shrink(target: Target, case: Any, failure: Failure) -> "tuple[Any, Failure]":
    """A smaller case that fails alike: takes any simpler case that does, until none does or the time is over."""
    end = time.monotonic() + SHRINK_SECONDS
    tries = 0
    changed = True
    while changed:
        changed = False
        for simpler in simpler_than(case):
            tries += 1
            if tries > SHRINK_TRIES or time.monotonic() > end:
                return case, failure
            found = failure_of(target, simpler)
            if found is not None and found.kind == failure.kind:
                case, failure, changed = simpler, found, True
                break
    return case, failure


def simpler_than(case: Any) -> Iterator[Any]:
    """Cases that are a step simpler, the boldest steps first; tuples keep their length."""
    if isinstance(case, tuple):
        for index, item in enumerate(case):
            for simpler in simpler_than(item):
                yield case[:index] + (simpler,) + case[index + 1:]
    elif isinstance(case, (bytes, str, list)):
        yield from _shorter(case)
        yield from _plainer(case)
    elif isinstance(case, dict):
        for key in case:
            yield {other: value for other, value in case.items() if other != key}
        for key, value in case.items():
            for simpler in simpler_than(value):
                yield {other: (simpler if other == key else kept) for other, kept in case.items()}
    elif isinstance(case, (int, float)) and case:
        yield type(case)(0)
        if isinstance(case, int) and abs(case) > 1:
            yield case // 2


def _shorter(case: Any) -> Iterator[Any]:
    size = len(case) // 2
    while size:
        for start in range(0, len(case), size):
            yield case[:start] + case[start + size:]
        size //= 2
    if len(case) == 1:
        yield case[:0]


def _plainer(case: Any) -> Iterator[Any]:
    if isinstance(case, list):
        for index, item in enumerate(case):
            for simpler in simpler_than(item):
                yield case[:index] + [simpler] + case[index + 1:]
    elif isinstance(case, str) and case.strip("a"):
        for index, sign in enumerate(case[:200]):
            if sign != "a":
                yield case[:index] + "a" + case[index + 1:]


def explore(target: Target, seed: int, seconds: float = 3600.0, cases: int = 1 << 60, most: int = 3) -> "Report":
    """Check cases until the time, the number of cases or of findings is reached; findings of one kind count once."""
    end = time.monotonic() + seconds
    found: List[Finding] = []
    number = 0
    while number < cases and time.monotonic() < end and len(found) < most:
        finding = run_case(target, seed, number)
        if finding and all(finding.failure.kind != other.failure.kind for other in found):
            found.append(finding)
        number += 1
    return Report(target.name, number, found)


class Report(NamedTuple):
    """What came of a target."""

    target: str
    cases: int
    findings: List[Finding]
