"""Run the test suite in `.venv`, made where it is missing; arguments go to pytest (`make test ARGS="-k ping"`).

Without arguments two halves run side by side, where there are two cores: the output of the first one is shown as it
comes, that of the second one afterwards, and then how many tests were left out, and why. In `.ci/run` a test that
failed is tried again: see `steady`.
"""
import os
import subprocess
import sys
import tempfile
from typing import List

import steady
from environments import BUILD, PYTEST, ROOT, SetupError, environment, say
from fetch_suites import cached

HALVES = ("--part=1/2", "--part=2/2")
ALONE = 'one test alone: make test ARGS="tests/FOLDER/test_FILE.py::test_NAME", with the name as it stands above'


def main(arguments: List[str]) -> int:
    """Return pytest's exit code, the first that is not 0."""
    try:
        python = environment(ROOT / ".venv", PYTEST)
    except SetupError as error:
        print("make test: %s" % error, file=sys.stderr)
        return 2
    if arguments or (os.cpu_count() or 1) < 2:
        if not arguments:
            say("all tests, about 16 minutes on one idle core")
        code = subprocess.call([python, "-m", "pytest", *arguments], cwd=str(ROOT), env=cached())
    else:
        code = run_halves([steady.Run(python, [half], ROOT, BUILD / "journal" / ("half-%s.jsonl" % half[-3]),
                                      "make test", cached()) for half in HALVES])
    if code == steady.FAILED:
        say(ALONE)
    return code


def run_halves(halves: List[steady.Run]) -> int:
    """Run both halves, and show what they say one after the other."""
    one, other = halves
    with tempfile.TemporaryFile() as said:
        second = subprocess.Popen(other.command, cwd=str(ROOT), env=cached(), stdin=subprocess.DEVNULL,
                                  stdout=said, stderr=subprocess.STDOUT)
        try:
            say("all tests, 9 to 12 minutes on two idle cores; this is the first half, the second one runs beside it")
            first = subprocess.call(one.command, cwd=str(ROOT), env=cached())
            codes = [first, second.wait()]
        finally:
            if second.poll() is None:
                second.terminate()
                second.wait()
        say("the second half")
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    print(text, end="", flush=True)
    for line in steady.skips(half.journal for half in halves):
        say(line)
    codes = [half.judge(code) for half, code in zip(halves, codes)]
    say("both halves passed" if not any(codes) else "FAILED: %s" % ", ".join(
        "the %s half" % name for name, code in zip(("first", "second"), codes) if code))
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
