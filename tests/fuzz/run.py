"""Feed the readers random and slightly wrong input for a while: `make fuzz ARGS="--seconds 60 --seed 7 --only codec"`.

Prints the seed, how many cases each target saw, and for each finding the smallest case that still shows it and how to
see it again; the exit code is 1 if there is one. In `.ci/run` the case of a finding is run again, as what was found may
have depended on the machine's load: see `tests/tools/steady.py`.
"""
import argparse
import os
import sys
import time
from typing import List, Optional, Sequence

from ..tools import steady
from .engine import Finding, Report, Target, explore, make_case, run_case
from .targets import TARGETS


def parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="over all targets (default: 30)")
    parser.add_argument("--seed", type=int, help="default: a new one each time")
    parser.add_argument("--only", action="append", choices=[target.name for target in TARGETS], help="these targets")
    parser.add_argument("--case", type=int, help="only this case of each target; prints it")
    return parser.parse_args(arguments)


def report(target: Target, seed: int, seconds: float) -> Report:
    """Run one target and print what came of it."""
    start = time.monotonic()
    found = explore(target, seed, seconds)
    took = time.monotonic() - start
    print("  %-12s %8d cases  %6.0f/s  %s" % (
        target.name, found.cases, found.cases / max(took, 0.001), "%d FOUND" % len(found.findings) if found.findings
        else "nothing found"), flush=True)
    return found


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the targets; 1 if one of them found something."""
    options = parsed(arguments)
    chosen = [target for target in TARGETS if not options.only or target.name in options.only]
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    print("seed %d" % seed, flush=True)
    if options.case is not None:
        findings = []
        for target in chosen:
            print("%s: %r" % (target.name, make_case(target, seed, options.case)))
            findings += [finding for finding in [run_case(target, seed, options.case)] if finding]
    else:
        findings = [finding for target in chosen
                    for finding in report(target, seed, options.seconds / len(chosen)).findings]
    for finding in findings:
        print("\n" + str(finding))
    return 1 if findings and not steady.unsteady([failure_of(finding) for finding in findings], once_more) else 0


def failure_of(finding: Finding) -> steady.Failure:
    """A finding as a failure; its name says how to see it again."""
    name = "make fuzz --only %s --seed %d --case %d" % (finding.target, finding.seed, finding.number)
    return steady.Failure(name, "make fuzz", "%s: %s" % (finding.failure.kind, finding.failure.text))


def once_more(failure: steady.Failure) -> Optional[str]:
    """Run the case of a finding; what was found, if anything."""
    only, seed, case = failure.name.split()[3::2]
    target = next(target for target in TARGETS if target.name == only)
    found = run_case(target, int(seed), int(case))
    return None if found is None else str(found)


if __name__ == "__main__":
    sys.exit(main())
