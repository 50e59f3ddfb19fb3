"""Folders that the make targets install things into: made once, reused, made anew when what they should hold changes.

A finished folder carries a stamp that says what it holds (an interpreter and its packages, say) and how many files. One
without the right stamp (another interpreter, other pins, a broken-off installation), or with fewer files, is made anew.

The folders are below `build/`, except `.venv`, and nothing is installed anywhere else. If the variable MCP_REF_CACHE
names a folder, what is missing is made there instead, where other clones find it: a folder for each content, which
nobody changes once it is finished. Several runs may use the cache at once. Nothing is ever removed from it.

What asks a registry is tried three times: see `ask`.
"""
import contextlib
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

from interpreters import SUPPORTED, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# 3.8 ends at 8.3, 3.9 at 8.4; the suite uses nothing newer.
PYTEST = ("pytest>=8.3,<10",)
CACHE = "MCP_REF_CACHE"
STAMP = "mcp_ref.stamp"
INSTALL_SECONDS, LOCK_SECONDS = 600, 300
PAUSES = (5, 30)
"""Seconds before an installer is tried for the second and for the third time."""


class SetupError(RuntimeError):
    """Something that a target needs cannot be had here; the text says what."""


def in_ci() -> bool:
    """Is this run a judge? Then what is missing is a failure, elsewhere it is said aloud and skipped."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def say(text: str) -> None:
    """Print a line of a tool at once, so that it stands before what child processes print; stdout is for results."""
    print("== " + text, file=sys.stderr, flush=True)


_say_once = functools.lru_cache(maxsize=None)(say)


def shown(path: pathlib.Path) -> str:
    """A path as a reader of the output wants it: below the checkout."""
    return str(path.relative_to(ROOT)) if ROOT in path.parents else str(path)


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
    """Make or reuse an environment, in `folder` or in the cache, and return the path of its interpreter."""
    def make(place: pathlib.Path) -> None:
        run([python, "-m", "venv", str(place)], "venv is missing or broken; on Debian install python3-venv")
        ask([python_of(place), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
            "the packages cannot be installed")

    return python_of(once(folder, [identity(python), *packages], make))


# --- folders that are made once ---------------------------------------------------------------------------------------

def once(folder: pathlib.Path, content: Sequence[str], make: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """Return a finished folder with that content: in the cache, if there is one that can be used, else `folder`.

    Where there is none, `make` is called with an empty folder to fill.
    """
    found = finished(folder, content)
    if found is None:
        *cached, here = places(folder, content)
        for place in cached:
            try:
                return _made(place, place.parent / "locks", content, make)
            except OSError as error:
                _say_once("the cache that %s names cannot be used (%s): what is missing is made in the checkout" % (
                    CACHE, error.strerror))
        found = _made(here, BUILD / "locks", content, make)
    return found


def finished(folder: pathlib.Path, content: Sequence[str]) -> Optional[pathlib.Path]:
    """Return a finished folder with that content, or None where it would have to be made."""
    return next((place for place in places(folder, content) if _whole(place, content)), None)


def places(folder: pathlib.Path, content: Sequence[str]) -> List[pathlib.Path]:
    """Return where a folder with that content may be: in the cache, if one is named, and at last `folder` itself."""
    cache = os.environ.get(CACHE)
    if not cache:
        return [folder]
    digest = hashlib.sha256(json.dumps(list(content)).encode("ascii")).hexdigest()[:12]
    return [pathlib.Path(cache).absolute() / sysconfig.get_platform() / ("%s-%s" % (folder.name, digest)), folder]


def _made(folder: pathlib.Path, locks: pathlib.Path, content: Sequence[str],
          make: Callable[[pathlib.Path], None]) -> pathlib.Path:
    with only_one(locks / folder.name):
        if not _whole(folder, content):
            say("making %s: %s" % (shown(folder), ", ".join(content)))
            shutil.rmtree(str(folder), ignore_errors=True)
            folder.mkdir(parents=True)
            make(folder)
            (folder / STAMP).write_text("%s\n%d" % (json.dumps(list(content)), _files(folder)), encoding="ascii")
    return folder


def _whole(folder: pathlib.Path, content: Sequence[str]) -> bool:
    try:
        kept, _, files = (folder / STAMP).read_text(encoding="ascii").partition("\n")
    except OSError:
        return False
    return kept == json.dumps(list(content)) and _files(folder) >= int(files or 0)


def _files(folder: pathlib.Path) -> int:
    """Count the files that can be opened, without bytecode, which comes and goes."""
    return sum(os.path.exists(os.path.join(parent, name)) for parent, _, names in os.walk(str(folder))
               if os.path.basename(parent) != "__pycache__" for name in names if name != STAMP)


@contextlib.contextmanager
def only_one(lock: pathlib.Path) -> Iterator[None]:
    """Keep two runs from making one folder at the same time; the second one waits and then reuses it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:  # the lock ends with the process, however that ends
        while not _locked(held.fileno()):
            time.sleep(0.1)
        yield


if sys.platform == "win32":
    import msvcrt

    def _locked(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _locked(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# --- running installers -----------------------------------------------------------------------------------------------

def run(command: Sequence[str], hint: str, cwd: Optional[pathlib.Path] = None, **variables: str) -> str:
    """Run an installer and return what it printed; SetupError with the hint and its last lines where it fails."""
    try:
        done = subprocess.run(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_SECONDS, cwd=str(cwd or ROOT), env=dict(os.environ, **variables))
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError("%s: %s" % (hint, error)) from error
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise SetupError("%s: %s ended with %d\n%s" % (hint, command[0], done.returncode, text[-2000:]))
    return text


def ask(command: Sequence[str], hint: str, cwd: Optional[pathlib.Path] = None, **variables: str) -> str:
    """Run an installer that asks a registry, which may fail for a moment: like `run`, but tried again twice."""
    for pause in PAUSES:
        try:
            return run(command, hint, cwd, **variables)
        except SetupError as error:
            first, *others = str(error).splitlines()
            say("%s%s; tried again in %d s" % (first, ": " + others[-1] if others else "", pause))
        time.sleep(pause)
    return run(command, hint, cwd, **variables)


def apt_get(*arguments: str, hint: str, cwd: Optional[pathlib.Path] = None) -> str:
    """Run `apt-get` like `ask`, and wait while another program installs something.

    Its option waits for one of its locks only; for the others, that of the package lists above all, it is run again.
    """
    if not shutil.which("apt-get"):
        raise SetupError("%s: there is no apt-get here" % hint)
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=%d" % LOCK_SECONDS, *arguments]
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return ask(command, hint, cwd, DEBIAN_FRONTEND="noninteractive", LC_ALL="C")
        except SetupError as error:
            if "Could not get lock" not in str(error) or time.monotonic() > end:
                raise
