"""Run what `examples/deploy` shows, with a real Redis: `make deploy`.

Redis of Debian is unpacked below `build/`, unless there is one on PATH; the library `redis` and pytest are installed
there. Where that is not possible it is said, and the exit code is 3.
"""
import os
import pathlib
import subprocess
import sys
from typing import Dict

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

import peers  # noqa: E402
from environments import BUILD, PYTEST, SetupError, environment, say  # noqa: E402
from redis_process import LIBRARIES, PROGRAM  # noqa: E402

PINS = ("redis==8.1.0", *PYTEST)
NOT_HERE = 3


def settings() -> Dict[str, str]:
    """The environment of what is run, in which Redis is found."""
    program, variables = peers.redis_server()
    return dict(os.environ, **{PROGRAM: program, LIBRARIES: variables.get("LD_LIBRARY_PATH", "")})


def main() -> int:
    """Run all of it; return the exit code."""
    try:
        python = environment(BUILD / "venvs" / "deploy", PINS, peers.recent_python((3, 10)))
        found = settings()
    except SetupError as error:
        say("deploy: NOT CHECKED: %s" % error)
        return NOT_HERE
    say("the store on Redis keeps to the contract")
    return subprocess.call([python, "-m", "pytest", "-q", "tests/deploy"], cwd=str(ROOT), env=found)


if __name__ == "__main__":
    sys.exit(main())
