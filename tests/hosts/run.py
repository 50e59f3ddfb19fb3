"""Run the recipes of `examples/hosts/` in their real hosts: `make hosts`.

GDB, Blender (as the module of PyPI, and Debian's in a window), LibreOffice, and the hosts of `make interop`: Flask,
Django, Starlette, Jupyter, tkinter. `recipes` says what each must do. What comes from PyPI is installed below `build/`
(Blender is 350 MB to load, and 1 GB there). Programs of Debian are used if they are there; with `--install`, as root,
`apt-get` installs what is missing on this machine (Blender 174 packages, LibreOffice 63). It is no step of `.ci/run`.

Options: `--only NAME` (a beginning will do, may be repeated), `--install`. Ends with a table; the exit code is 0 if
none failed and one passed at least, and with `--install` only if none was missing.
"""
import argparse
import pathlib
import sys
import time
import traceback
from typing import List, Tuple

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from libraries import LIBRARIES  # noqa: E402
from programs import programs  # noqa: E402
from recipes import Recipe, SetupError, walk  # noqa: E402


def attempt(name: str, recipe: Recipe) -> str:
    """Run one recipe; return what the table says."""
    print("---- %s" % name, flush=True)
    try:
        walk(recipe)
    except SetupError as error:
        return "not here: %s" % str(error).splitlines()[0]
    except Exception as error:
        traceback.print_exc(file=sys.stdout)
        return "FAILED: %s" % (str(error).splitlines() or [type(error).__name__])[0][:200]
    return "passed"


def main() -> int:
    """Run the chosen recipes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="may be repeated; a beginning will do")
    parser.add_argument("--install", action="store_true", help="have apt-get install what is missing, as root")
    options = parser.parse_args()
    table = {**programs(options.install), **LIBRARIES}
    outcomes: List[Tuple[str, str, float]] = []
    for name, recipe in table.items():
        if not options.only or name.startswith(tuple(options.only)):
            started = time.monotonic()
            outcomes.append((name, attempt(name, recipe), time.monotonic() - started))
    print("\n%-16s %8s  outcome" % ("host", "seconds"))
    for name, outcome, seconds in outcomes:
        print("%-16s %8.1f  %s" % (name, seconds, outcome))
    said = [outcome.split(":")[0] for _, outcome, _ in outcomes]
    print("\nhosts: %d passed, %d failed, %d not here" % tuple(map(said.count, ("passed", "FAILED", "not here"))))
    whole = "passed" in said and "FAILED" not in said and not (options.install and "not here" in said)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
