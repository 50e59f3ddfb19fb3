"""Find the CPythons of this machine: `python3.X` on PATH and whatever stands below `pyenv root`.

A name on PATH proves nothing (pyenv puts shims there for versions that are not switched on), so each candidate is asked
what it is, and one that cannot make virtual environments does not count.
"""
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
from typing import Iterator, NamedTuple, Optional, Tuple

SUPPORTED: Tuple[Tuple[int, int], ...] = ((3, 8), (3, 9), (3, 10), (3, 11), (3, 12), (3, 13))
QUESTION = "import json, platform, sys, ensurepip, venv; print(json.dumps([platform.python_implementation(), " \
           "sys.version_info[:3], sys.executable]))"


class Interpreter(NamedTuple):
    """A CPython that runs: its full version and its path."""

    version: Tuple[int, ...]
    path: str

    @property
    def name(self) -> str:
        """Version as text, `3.8.18`."""
        return ".".join(map(str, self.version))


def find(minor: Tuple[int, int]) -> Optional[Interpreter]:
    """The first CPython of that minor version that answers, or None."""
    answers = (_ask(candidate) for candidate in _candidates("%d.%d" % minor))
    return next((found for found in answers if found and found.version[:2] == minor), None)


def _candidates(version: str) -> Iterator[str]:
    if "%d.%d" % sys.version_info[:2] == version:
        yield sys.executable
    for folder in _pyenv_folders():
        yield from sorted(glob.glob(os.path.join(folder, "versions", version + "*", "bin", "python")), reverse=True)
    for folder in os.get_exec_path():
        for name in ("python" + version, "python3", "python"):
            yield from filter(os.path.isfile, [os.path.join(folder, name)])


@functools.lru_cache(maxsize=None)
def _pyenv_folders() -> Tuple[str, ...]:
    folders = [os.environ.get("PYENV_ROOT", ""), os.path.join(os.path.expanduser("~"), ".pyenv")]
    pyenv = shutil.which("pyenv")
    if pyenv and not any(map(os.path.isdir, folders)):
        folders.append(subprocess.run([pyenv, "root"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60,
                                      universal_newlines=True).stdout.strip())
    return tuple(dict.fromkeys(folder for folder in folders if os.path.isdir(folder)))


@functools.lru_cache(maxsize=None)
def _ask(path: str) -> Optional[Interpreter]:
    try:
        answer = subprocess.run([path, "-c", QUESTION], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                                stdin=subprocess.DEVNULL, timeout=60).stdout
        implementation, version, executable = json.loads(answer.decode("utf-8"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(tuple(version), executable) if implementation == "CPython" else None
