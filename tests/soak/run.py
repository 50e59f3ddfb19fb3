"""`make soak`: much of everything over HTTP, and then a look at what the server still holds.

The server runs in a process of its own. Each phase goes through once with a tenth of what it is measured with, so that
whatever is made once has been made; then comes the start that everything is compared with. Exit code 1: something was
answered wrong or lost, a phase did not end, or the server did not come back to where it was. In `.ci/run` it is all
done again then, with a new server: see `tests/tools/steady.py`.
"""
import argparse
import os
import pathlib
import random
import sys
import time
from typing import Any, Dict, List, Optional, Sequence

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "bench"), str(TESTS / "tools")]  # the wire and the peer are the benchmark's

import steady  # noqa: E402
from machine import facts  # noqa: E402
from peer import WrongAnswer  # noqa: E402
from phases import PHASES  # noqa: E402
from soaked import ROOT, SERVER, Failed, Soaked  # noqa: E402

WARM_UP = 0.1
MORE = {"memory": 50_000_000, "blocks": 3000, "all objects": 1000}
"""How much more of each may be there than at the start. What leaks shows up in objects and blocks (pieces of memory in
use, however small): an idle session is some 60 of them. The process's memory is that and what allocators keep, in
pages of which a little is in use."""


COMPARED = ("threads", "children", "descriptors", "connections", "body bytes", "held bytes", "sessions", "tasks",
            "all objects", "blocks", "memory")


def compared(start: Dict[str, Any], end: Dict[str, Any]) -> List[str]:
    """What is more than it was; prints both."""
    faults = []
    rows = [(name, start[name], end[name]) for name in COMPARED]
    rows += [("objects: " + name, start["objects"][name], end["objects"][name]) for name in sorted(start["objects"])]
    for name, before, after in rows:
        bad = after > before + MORE.get(name, 0)
        print("  %-24s %12d %12d%s" % (name, before, after, "  NOT BACK" if bad else ""))
        if bad:
            faults.append("%s: %d at the start, %d at the end" % (name, before, after))
    return faults


def attempt(soaked: Soaked, row: Any, scale: float, seed: int, faults: List[str]) -> str:
    """Go through one phase, and wait until the server is quiet again; what there is to say."""
    name, count, phase = row
    scaled, begin = max(2, int(count * scale)), time.monotonic()
    try:
        said = phase(soaked, scaled, random.Random(seed))
    except (Failed, WrongAnswer, OSError) as error:
        said = "FAILED: %s: %s" % (type(error).__name__, error)
        faults.append("%d %s: %s" % (scaled, name, said))
    seconds = time.monotonic() - begin
    after = soaked.settle()
    return "%6d %-28s %5.1f s  %s; afterwards %d threads, %.1f MB" % (
        scaled, name, seconds, said, after["threads"], after["memory"] / 1e6)


def chosen(options: argparse.Namespace) -> List[Any]:
    """The phases that were asked for."""
    return [phase for phase in PHASES if not options.only or phase[0].startswith(tuple(options.only))]


def soak(soaked: Soaked, options: argparse.Namespace) -> List[str]:
    """All phases; what was wrong."""
    faults: List[str] = []
    phases = chosen(options)
    for phase in phases:
        attempt(soaked, phase, options.scale * WARM_UP, options.seed, faults)
    start = soaked.rested()
    print("at the start: %d threads, %.1f MB" % (start["threads"], start["memory"] / 1e6), flush=True)
    for phase in phases:
        print(attempt(soaked, phase, options.scale, options.seed, faults), flush=True)
    end = soaked.rested()
    print("\n  %-24s %12s %12s" % ("", "start", "end"))
    return faults + compared(start, end)


def main(arguments: Sequence[str]) -> int:
    """Soak and print; return the exit code."""
    parser = argparse.ArgumentParser(prog="make soak ARGS=... (or tests/soak/run.py)", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="so much of each (0.1: a quick run)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), metavar="N",
                        help="of everything random; by default another one each time")
    parser.add_argument("--only", action="append", metavar="PHASE", help="only phases whose names begin so")
    options = parser.parse_args(arguments)
    if not chosen(options):
        parser.error("--only: the phases are %s" % ", ".join(repr(name) for name, _, _ in PHASES))
    print("%s\nscale %g, seed %d" % (facts(), options.scale, options.seed), flush=True)
    wrong = go(options)
    failures = [steady.Failure("make soak --seed %d" % options.seed, "make soak", wrong)] if wrong else []
    return 1 if failures and not steady.unsteady(failures, lambda failure: go(options)) else 0


def go(options: argparse.Namespace) -> Optional[str]:
    """Soak a server of its own; what was wrong, or None."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    try:
        with Soaked([sys.executable, str(SERVER)], environment) as soaked:
            faults = soak(soaked, options)
    except (Failed, WrongAnswer, OSError) as error:
        faults = ["%s: %s" % (type(error).__name__, error)]
    print("\n" + ("\n".join(["NOT as it has to be:"] + ["  " + fault for fault in faults]) if faults else
                  "nothing was lost, and everything is back where it was"), flush=True)
    return "\n".join(faults) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
