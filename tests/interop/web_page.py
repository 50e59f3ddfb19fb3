"""Python in a web page (Pyodide, in Node): no threads, no sockets, no processes, and a CPython newer than our own.

 - `pyodide`: what works there, and what says that it does not: `tests/support/threadless.py`
 - `pyodide-tests`: tests of all that moves no bytes, and of signatures, whose annotations changed with Python 3.14

The package is pinned and installed below `build/peers`. The second one leaves out tests that need what is not there.
"""
import os
import pathlib
import subprocess
from typing import Callable, Dict, Sequence

import peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 1800
TESTS = (
    "tests/server/test_signature.py", "tests/protocol", "tests/test_codec.py", "tests/test_jsonrpc.py",
    "tests/test_jsontext.py", "tests/test_messages.py", "tests/test_uritemplate.py",
    "tests/test_jsonschema_keywords.py", "tests/playback",
)
LEFT_OUT = (
    "loads_no_inspect",  # starts a process
    "never_overflows_the_stack",  # raises max_depth to where the interpreter has to stop, which ends this one
    "pause",  # a recorded pause is a timer, which is a thread
    "any_depth_and_width",  # makes a value of 5,000 levels, and frees it
)


def run(*arguments: str) -> None:
    """Run `pyodide_walk.cjs`. Raises RuntimeError if that does not end well."""
    environment = dict(os.environ, NODE_PATH=peers.pyodide())
    code = subprocess.run(["node", str(HERE / "pyodide_walk.cjs"), *arguments], env=environment, cwd=str(ROOT),
                          stdin=subprocess.DEVNULL, timeout=SECONDS).returncode
    if code:
        raise RuntimeError("pyodide_walk.cjs ended with %d" % code)


def run_tests(tests: Sequence[str] = TESTS) -> None:
    """Run tests with pytest, whose packages are pure Python."""
    left_out = "not (%s)" % " or ".join(LEFT_OUT)
    run("tests", peers.pytest_folder(), "-q", "-k", left_out, *tests)


PAGES: Dict[str, Callable[[], None]] = {"pyodide": lambda: run("steps"), "pyodide-tests": run_tests}
