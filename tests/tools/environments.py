"""Folders that the make targets install things into: made once, reused, made anew when what they should hold changes.

A finished folder carries a stamp that says what it holds (an interpreter and its packages, say); one without the right
stamp (another interpreter, other pins, a broken-off installation) is made anew. Nothing is installed anywhere else.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import Callable, Iterator, Optional, Sequence, Tuple

from interpreters import SUPPORTED, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# 3.8 ends at 8.3, 3.9 at 8.4; the suite uses nothing newer.
PYTEST = ("pytest>=8.3,<10",)
INSTALL_SECONDS = 600


class SetupError(RuntimeError):
    """Something that a target needs cannot be had here; the text says what."""


def in_ci() -> bool:
    """Is this run a judge? Then what is missing is a failure, elsewhere it is said aloud and skipped."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def say(text: str) -> None:
    """Print a line of a tool at once, so that it stands before what child processes print; stdout is for results."""
    print("== " + text, file=sys.stderr, flush=True)


def identity(python: str) -> str:
    """Tell which installation an interpreter belongs to: place and version. SetupError where it does not run."""
    code = "import sys; print(sys.base_prefix, sys.version.split()[0])"
    try:
        return subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=60, universal_newlines=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError("%s does not run: %s" % (python, error)) from error


def recent_python(floor: Tuple[int, int]) -> str:
    """The newest interpreter found here, whichever one runs this: what it makes is reused. SetupError below `floor`."""
    for minor in reversed([minor for minor in SUPPORTED if minor >= floor]):
        found = find(minor)
        if found:
            return found.path
    raise SetupError("CPython %d.%d or newer is needed for this, and none is here" % floor)


def python_of(folder: pathlib.Path) -> str:
    """Path of an environment's interpreter."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def environment(folder: pathlib.Path, packages: Sequence[str], python: str = sys.executable) -> str:
    """Make or reuse the environment in `folder` and return the path of its interpreter."""
    def make() -> None:
        run([python, "-m", "venv", str(folder)], "venv is missing or broken; on Debian install python3-venv")
        run([python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
            "the packages cannot be installed")

    once(folder, [identity(python), *packages], make)
    return python_of(folder)


def once(folder: pathlib.Path, content: Sequence[str], make: Callable[[], None]) -> None:
    """Call `make` to fill the empty `folder`, unless it holds that content already."""
    wanted = json.dumps(list(content))
    stamp = folder / "mcp_ref.stamp"
    with only_one(folder):
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
            say("making %s: %s" % (shown(folder), ", ".join(content)))
            shutil.rmtree(str(folder), ignore_errors=True)
            folder.mkdir(parents=True)
            make()
            stamp.write_text(wanted, encoding="utf-8")


def run(command: Sequence[str], hint: str, cwd: Optional[pathlib.Path] = None) -> str:
    """Run an installer and return what it printed; SetupError with the hint and its last lines where it fails."""
    try:
        done = subprocess.run(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_SECONDS, cwd=str(cwd or ROOT))
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError("%s: %s" % (hint, error)) from error
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise SetupError("%s: %s ended with %d\n%s" % (hint, command[0], done.returncode, text[-2000:]))
    return text


def shown(path: pathlib.Path) -> str:
    """A path as a reader of the output wants it: below the checkout."""
    return str(path.relative_to(ROOT)) if ROOT in path.parents else str(path)


@contextlib.contextmanager
def only_one(folder: pathlib.Path) -> Iterator[None]:
    """Keep two runs that start together from building one folder; the second one waits and then reuses it."""
    lock = BUILD / "locks" / folder.name  # below build/, which git ignores
    lock.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + INSTALL_SECONDS
    while True:
        try:
            os.close(os.open(str(lock), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() > end or _age(lock) > INSTALL_SECONDS:
                lock.unlink()  # left by a run that was killed
            time.sleep(0.1)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            lock.unlink()


def _age(path: pathlib.Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
