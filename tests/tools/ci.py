"""The steps of CI: what `.ci/run` and `make ci` run. Arguments choose steps by name (`make ci ARGS="interop soak"`).

Three lanes run side by side on two cores, each of them one step after the other, because a third of their time is
waiting for children and registries; a step starts although an earlier one has failed.
What a step prints is shown when it is over and stays in `build/ci/NAME.log`. The table at the end has the seconds of
each step and whether it passed.

Whoever adds a step to STEPS names its seconds, and what leaves: a test sums up each lane, and holds it to LANE_SECONDS.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import List, NamedTuple, Sequence, Tuple

import steady
from environments import BUILD, ROOT, in_ci, say

LANES = (1, 2, 3)
LANE_SECONDS = 50 * 60
AGAIN = tuple("tests/meta/test_%s.py" % name for name in ("docstring_examples", "patterns", "readme", "steady"))
"""What `newcomer` runs on the same interpreter, whatever the specification and the variable CI."""
LAST_LINES = 30  # of the output of a step that failed, shown again at the end


class Step(NamedTuple):
    """A step of CI.

    ``command`` is for the shell, in the checkout's root, or the name of a function here; ``seconds`` is what it takes
    on two idle cores beside the other lanes. ``needs`` are programs on PATH and variables, without which it fails.
    """

    name: str
    lane: int
    seconds: int
    command: str
    needs: Tuple[str, ...]
    proves: str


STEPS: Tuple[Step, ...] = (
    Step("newcomer", 1, 1200, "newcomer", ("git", "make"),
         "the first two commands of README pass in a bare clone; every connection keeps the checker's rules"),
    Step("newest", 1, 1700, "make matrix ARGS=--only=3.13", ("make",), "all but the tests of the sources, on 3.13"),

    Step("suites", 2, 20, "python3 tests/tools/fetch_suites.py", (), "the official test suites are here"),
    Step("versions", 2, 2900, "make matrix ARGS=--only=3.8,between", ("git", "make", "MCP_REF_SPEC"),
         "all tests on 3.8; all but the tests of the sources on one version between, drawn from the commit; the tests "
         "that depend on the interpreter on the others; every frame is legal by the official schema"),

    Step("interop", 3, 1600, "make interop", ("make", "npm", "node"),
         "servers and clients of other makers understand us, and we them"),
    Step("conformance", 3, 230, "make conformance", ("make", "npm", "node"), "the official suite finds nothing"),
    Step("page", 3, 90, "page", (), "the page of a session works in Chromium"),
    Step("check", 3, 300, 'make check ARGS="%s"' % " ".join("--ignore=" + path for path in AGAIN),
         ("make", "MCP_REF_SPEC"), "types, style, and what `newcomer` cannot say of the tree itself"),
    Step("soak", 3, 110, 'make soak ARGS="--scale 0.1"', ("make",), "sessions, streams and cuts leave nothing behind"),
    Step("bundled", 3, 190, "make bundled", ("make",), "the core of the suite passes with the package as one file"),
    Step("pyz", 3, 10, "make pyz", ("make",), "the zipapp is built and runs"),
    Step("wheel", 3, 60, "make wheel", ("make",), "the wheel is built, installed and runs"),
    Step("fuzz", 3, 30, 'make fuzz ARGS="--seconds 20 --seed $((16#$(git rev-parse --short=7 HEAD | cut -c1-7)))"',
         ("git", "make"), "the readers take random input; each commit explores elsewhere, and again the same"),
    Step("crosscheck", 3, 10, 'python3 -m mcp_ref crosscheck "$MCP_REF_SPEC"', ("MCP_REF_SPEC",),
         "the tables agree with the official schemas"),
    Step("coverage", 3, 10, 'python3 "$MCP_REF_SPEC/../tools/spec_coverage.py"', ("MCP_REF_SPEC",),
         "each requirement of the specification has a test"),
)


def newcomer() -> int:
    """Run the first two commands of README in a clone with nothing beside it."""
    block = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    commands = "".join(block).splitlines()[:2]
    print("README says: %s" % "; ".join(commands), flush=True)
    if commands[-1:] != ["make test"]:
        print("the second command of README is not 'make test'")
        return 1
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "MCP_REF_SPEC")}
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder, "für neue", "mcp ref")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        return subprocess.call(["bash", "-exc", "\n".join(commands)], cwd=str(clone), env=environment)


def page() -> int:
    """Drive the page. A machine without a browser that can be installed has said so, and passes."""
    code = subprocess.call([sys.executable, "tests/page/run.py", "--install"], cwd=str(ROOT))
    return 0 if code == 3 else code


class Outcome(NamedTuple):
    """How a step went."""

    step: Step
    code: int
    seconds: float


def run_step(step: Step) -> Outcome:
    """Run a step and show what it has printed."""
    log, started = BUILD / "ci" / (step.name + ".log"), time.monotonic()
    say("%s: %s" % (step.name, step.command))
    command = ["bash", "-c", step.command] if step.command not in FUNCTIONS else [
        sys.executable, __file__, "--function", step.command]
    lacking = [need for need in step.needs if not (os.environ.get(need) if need.isupper() else shutil.which(need))]
    with log.open("wb") as output:
        if lacking:
            output.write(("needs %s, not found here\n" % ", ".join(lacking)).encode())
        code = 1 if lacking else subprocess.call(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=output,
                                                 stderr=subprocess.STDOUT)
    seconds = time.monotonic() - started
    print("\n==== %s: %s\n%s==== %s: %s after %d s" % (
        step.name, step.command, log.read_text(encoding="utf-8", errors="replace"), step.name,
        "FAILED" if code else "passed", seconds), flush=True)
    return Outcome(step, code, seconds)


def run_lane(steps: Sequence[Step]) -> List[Outcome]:
    """Run steps one after the other."""
    return [run_step(step) for step in steps]


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a line for each step: its lane, its seconds, what they should be, and how it went."""
    lines = ["%-12s %4s %8s %8s  %s" % ("step", "lane", "seconds", "listed", "outcome")]
    lines += ["%-12s %4d %8.0f %8d  %s" % (step.name, step.lane, seconds, step.seconds, "FAILED" if code else "passed")
              for step, code, seconds in outcomes]
    return "\n".join(lines)


def main(arguments: List[str]) -> int:
    """Run the chosen steps, or all of them; 1 if one failed."""
    if arguments[:1] == ["--function"]:
        return int(FUNCTIONS[arguments[1]]())
    unknown = sorted(set(arguments) - {step.name for step in STEPS})
    if unknown:
        print("make ci: no step is called %s; there are %s" % (
            ", ".join(unknown), ", ".join(step.name for step in STEPS)), file=sys.stderr)
        return 2
    (BUILD / "ci").mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    chosen = [step for step in STEPS if not arguments or step.name in arguments]
    with concurrent.futures.ThreadPoolExecutor(len(LANES)) as pool:
        lanes = list(pool.map(run_lane, [[step for step in chosen if step.lane == lane] for lane in LANES]))
    outcomes = [outcome for lane in lanes for outcome in lane]
    print("\n%s\nin all: %.0f s" % (table(outcomes), time.monotonic() - started), flush=True)
    failed = [outcome.step.name for outcome in outcomes if outcome.code]
    for name in failed:  # once more: what stands above is often cut
        text = (BUILD / "ci" / (name + ".log")).read_text(encoding="utf-8", errors="replace")
        print("==== the last lines of %s:\n%s" % (name, "\n".join(text.splitlines()[-LAST_LINES:])), flush=True)
    if in_ci() and steady.main():
        failed.append("steady")
    print("==== " + ("FAILED: " + ", ".join(failed) if failed else "all steps passed"))
    return int(bool(failed))


FUNCTIONS = {"newcomer": newcomer, "page": page}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
