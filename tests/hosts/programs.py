"""The recipes whose hosts are programs of Debian, and Blender from PyPI; `run` walks through them, see `recipes`.

 - `gdb`: in a terminal, with a small program that `cc` compiles
 - `blender-module`: `bpy` of PyPI, which has no window; it needs the CPython that its wheel was made for
 - `blender-window`: Debian's, in a window under Xvfb, with the recipe as an add-on
 - `blender-background`: Debian's, without a window, with the recipe as a script
 - `libreoffice`: headless, with the recipe as a macro of the user
"""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from typing import ContextManager, Dict, Iterator, Sequence

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from recipes import (  # noqa: E402 - it knows where the tools are
    RECIPES, ROOT, Recipe, SetupError, debian, display, environment, expect, members, peers, run, started,
)
from interpreters import find  # noqa: E402

BPY_PYTHON, BPY_PINS = (3, 13), ("bpy==5.2.3",)
PROGRAM = """
static int twice(int n) { return n + n; }
int main(void) {
    volatile unsigned total = 0;
    for (int i = 0; i < 3; i++)
        total += twice(i);
    for (;;)
        total++;
}
"""
DEBIANS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": ""}
"""So that a Python inside a program finds its own library, and the package where the recipe says."""
SIGCHLD = 1 << 16
"""In the masks of /proc."""
MANY = 10000000


def vendored(folder: pathlib.Path) -> None:
    """Copy the package, as the recipes tell users to."""
    run([sys.executable, "-m", "mcp_ref", "vendor", str(folder)], "vendor failed", cwd=ROOT)


@contextlib.contextmanager
def gdb(install: bool) -> Iterator[str]:
    """GDB in a terminal; once it was used, no thread but the main one may take what GDB waits for."""
    program, compiler = debian("gdb", "gdb", install), debian("cc", "gcc libc6-dev", install)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "looping.c").write_text(PROGRAM, encoding="utf-8")
        run([compiler, "-g", "-O0", "-o", "looping", "looping.c"], "cc failed", cwd=pathlib.Path(folder))
        line = "python import sys; sys.path.append(%r); import in_gdb" % str(RECIPES)
        with started([program, "-q", "-nx", "-ex", "set confirm off", "-ex", line, folder + "/looping"],
                     close=_quit, PATH=DEBIANS["PATH"]) as url:
            yield url


def _quit(process: "subprocess.Popen[bytes]", terminal: int) -> None:
    taken = []
    for task in pathlib.Path("/proc/%d/task" % process.pid).iterdir():
        blocked = re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text(encoding="utf-8"))
        if blocked and not int(blocked[1], 16) & SIGCHLD:
            taken.append(int(task.name))
    expect(taken == [process.pid], "threads that take SIGCHLD", taken, process.pid)
    os.write(terminal, b"quit\n")


def blender_module(install: bool) -> ContextManager[str]:
    """Blender as a module."""
    found = find(BPY_PYTHON)
    if found is None:
        raise SetupError("the wheel of %s needs CPython %d.%d" % (*BPY_PINS, *BPY_PYTHON))
    return started([environment(peers.BUILD / "hosts" / "bpy", BPY_PINS, found.path), str(RECIPES / "in_blender.py")])


@contextlib.contextmanager
def blender(install: bool, arguments: Sequence[str], screen: str = "") -> Iterator[str]:
    """Blender of Debian, with the files where a user puts them."""
    program = debian("blender", "blender", install)
    with tempfile.TemporaryDirectory() as folder:
        scripts = pathlib.Path(folder)
        (scripts / "addons").mkdir()
        shutil.copy(str(RECIPES / "in_blender.py"), str(scripts / "addons"))
        vendored(scripts / "modules")
        with started([program, *arguments], DISPLAY=screen, HOME=folder, BLENDER_USER_SCRIPTS=folder,
                     LIBGL_ALWAYS_SOFTWARE="1", **DEBIANS) as url:
            yield url


@contextlib.contextmanager
def blender_window(install: bool) -> Iterator[str]:
    """Blender in a window, with the add-on switched on."""
    with display(install) as screen, blender(install, ["--addons", "in_blender"], screen) as url:
        yield url


@contextlib.contextmanager
def libreoffice(install: bool) -> Iterator[str]:
    """LibreOffice with a profile of its own, without a window."""
    program = debian("soffice", "libreoffice-calc libreoffice-script-provider-python", install)
    with tempfile.TemporaryDirectory() as folder:
        scripts = pathlib.Path(folder) / "user" / "Scripts" / "python"
        scripts.mkdir(parents=True)
        shutil.copy(str(RECIPES / "in_libreoffice.py"), str(scripts))
        vendored(scripts / "pythonpath")
        macro = "vnd.sun.star.script:in_libreoffice.py$start?language=Python&location=user"
        profile = "-env:UserInstallation=file://" + folder
        with started([program, profile, "--headless", "--norestore", "private:factory/scalc", macro],
                     close=_terminate_all, **DEBIANS) as url:
            yield url


def _terminate_all(process: "subprocess.Popen[bytes]", terminal: int) -> None:
    for pid in members(process.pid):  # a script, a process that shows a logo, and the program
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 15)


def programs(install: bool) -> Dict[str, Recipe]:
    """The recipes by name; with ``install`` their programs are installed, where this runs as root."""
    calls = [("add_cube", {"x": 1, "y": 2, "z": 3}, r"^Cube(\.[0-9]+)?$"),
             ("objects", {}, r'"Cube(\.[0-9]+)?": ?\[1(\.0)?, ?2(\.0)?, ?3(\.0)?\]')]
    return {
        "gdb": Recipe(partial(gdb, install), [
            ("execute", {"command": "delete"}, ""), ("execute", {"command": "print 6*7"}, "= 42$"),
            ("execute", {"command": "print nosuch"}, "No symbol"),
            ("execute", {"command": "break twice"}, "Breakpoint"), ("go", {"command": "run"}, r"twice \(n=0\)"),
            ("go", {"command": "finish"}, "main"), ("execute", {"command": "delete"}, ""),
            ("execute", {"command": "print total"}, "= [0-9]+$")], ("go", {"command": "continue"})),
        "blender-module": Recipe(partial(blender_module, install), calls, ("play", {"frames": MANY})),
        "blender-window": Recipe(partial(blender_window, install), calls, ("play", {"frames": MANY})),
        "blender-background": Recipe(
            partial(blender, install, ["-b", "-P", str(RECIPES / "in_blender.py")]), calls, ("play", {"frames": MANY})),
        "libreoffice": Recipe(partial(libreoffice, install), [
            ("write", {"name": "B1", "formula": "21"}, "^21$"), ("write", {"name": "B2", "formula": "=B1*2"}, "^42$")],
            ("fill", {"column": "A", "numbers": MANY})),
    }
