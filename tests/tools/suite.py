"""Run the test suite in `.venv`, made where it is missing; arguments go to pytest (`make test ARGS="-k ping"`)."""
import subprocess
import sys
from typing import List

from environments import PYTEST, ROOT, SetupError, environment
from fetch_suites import cached


def main(arguments: List[str]) -> int:
    """Return pytest's exit code."""
    try:
        python = environment(ROOT / ".venv", PYTEST)
    except SetupError as error:
        print("make test: %s" % error, file=sys.stderr)
        return 2
    return subprocess.call([python, "-m", "pytest", *arguments], cwd=str(ROOT), env=cached())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
