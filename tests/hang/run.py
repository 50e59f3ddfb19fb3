"""Repeat each row of `test_hang` on one core that busy loops share: ``python tests/hang/run.py --rounds 100``.

Further arguments go to pytest: ``-k "nested and http"``. The exit code is pytest's.
"""
import argparse
import os
import pathlib
import subprocess
import sys
from typing import List

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(100000))"
"""A loop that ends with the process that has started it."""


def main(arguments: List[str]) -> int:
    """Return pytest's exit code."""
    parser = argparse.ArgumentParser(description="Repeat each row of test_hang on one busy core.")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="run each row N times (default 100)")
    parser.add_argument("--busy", type=int, default=2, metavar="N", help="beside N busy loops (default 2)")
    options, rest = parser.parse_known_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # children inherit it
    loops = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(options.busy)]
    try:
        return subprocess.call([
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "hang"),
            "--repeat", str(options.rounds), "--judge", "none", *rest], cwd=str(ROOT))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
