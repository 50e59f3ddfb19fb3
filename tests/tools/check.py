"""Check the tree itself: everything in `tests/meta`, then types and style, and the tests that need packages.

`mypy --strict` reads the package and the programs of users in `tests/typed`, pyright in its strict mode the programs.
What needs a package runs where the interpreter that runs this has it. In CI (environment variable `CI`) the packages
are installed into `build/venvs/check`, so that all of it does run.
"""
import subprocess
import sys
from typing import List, Optional, Tuple

from environments import BUILD, PYTEST, ROOT, SetupError, environment, in_ci, say

LINTERS = ("mypy==2.4.1", "pyright==1.1.414", "flake8==7.5.0", "cryptography>=42", *PYTEST)
CHECKS: Tuple[Tuple[str, ...], ...] = (
    ("mypy", "--strict"), ("pyright", "--project", "tests/typed"), ("flake8", "mcp_ref", "tests", "examples"),
    ("pytest", "-p", "no:cacheprovider", "tests/auth/test_readme_signers.py"))


NEEDS = {"pytest": "pytest, cryptography"}


def has(python: str, module: str) -> bool:
    """Can that interpreter import the module, and what goes with it?"""
    return subprocess.call([python, "-c", "import " + NEEDS.get(module, module)], stderr=subprocess.DEVNULL) == 0


def linter(module: str) -> Optional[str]:
    """An interpreter that has the linter, or None; in CI always one."""
    if in_ci():
        return environment(BUILD / "venvs" / "check", LINTERS)
    return sys.executable if has(sys.executable, module) else None


def lint() -> List[str]:
    """Run what can be run; the names of those that found something."""
    failed = []
    for module, *arguments in CHECKS:
        python = linter(module)
        if python is None:
            say("%s: NOT CHECKED, it is not installed for %s (CI=true installs it)" % (module, sys.executable))
            continue
        say(" ".join([module, *arguments]))
        if subprocess.call([python, "-m", module, *arguments], cwd=str(ROOT)):
            failed.append(module)
    return failed


def main(arguments: List[str]) -> int:
    """Run all checks, also after one has failed, and say which failed."""
    try:
        python = environment(ROOT / ".venv", PYTEST)
        failed = lint()
    except SetupError as error:
        print("make check: %s" % error, file=sys.stderr)
        return 2
    say("tests/meta")
    if subprocess.call([python, "-m", "pytest", "tests/meta", *arguments], cwd=str(ROOT)):
        failed.append("tests/meta")
    say("check: " + ("FAILED: " + ", ".join(failed) if failed else "all passed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
