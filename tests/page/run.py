"""Drive the page of a session in a real browser: `make page-test`.

Debian's Chromium and its driver are used if they are there; with `--install`, as root, `apt-get` installs them. Each
walk of `walks` is one feature. Screenshots are left below `build/page/`.

Options: `--only NAME` (a beginning will do, may be repeated), `--install`. The exit code is 0 if no walk failed,
and 3 if there is no browser: nothing was tried then.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(ROOT), str(ROOT / "tests" / "tools")]

from browser import SetupError, browser  # noqa: E402
from live_walks import LIVE_WALKS  # noqa: E402
from walks import WALKS, Shown  # noqa: E402


def main() -> int:
    """Run the chosen walks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="may be repeated; a beginning will do")
    parser.add_argument("--install", action="store_true", help="have apt-get install what is missing, as root")
    options = parser.parse_args()
    pictures = ROOT / "build" / "page"
    shutil.rmtree(str(pictures), ignore_errors=True)
    pictures.mkdir(parents=True)
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="page ") as name:
        folder = pathlib.Path(name)
        try:
            with browser(options.install, folder) as window:
                for walk in (*WALKS, *LIVE_WALKS):
                    if options.only and not walk.__name__.startswith(tuple(options.only)):
                        continue
                    started = time.monotonic()
                    try:
                        walk(Shown(window, folder, pictures))
                        outcome, passed = "passed", passed + 1
                    except Exception:
                        traceback.print_exc(file=sys.stdout)
                        print("the page: %s\n%s" % (
                            window.complaints(), window.run("return document.body.innerText")[:1500]))
                        outcome, failed = "FAILED", failed + 1
                    print("%-24s %6.1f s  %s" % (walk.__name__, time.monotonic() - started, outcome), flush=True)
        except SetupError as error:
            print("page-test: NOT TRIED: %s" % error)
            return 3
    print("\n%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
