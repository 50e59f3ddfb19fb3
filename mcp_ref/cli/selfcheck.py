"""The command `selfcheck`: what works on this system, as a report to send; it needs nothing but the package.

The suite needs pytest, and runs where we develop. This runs where a user is (Windows, macOS, a BSD, PyPy), in less
than a minute: each check of the table CHECKS starts what it needs, with a time limit of its own, and ends it again. It
writes in a temporary folder, listens on loopback, and sends nothing anywhere.
"""

import argparse
import locale
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ..client import connect
from ..errors import ConnectFailed, McpError
from ..revisions import LATEST, LATEST_HANDSHAKE
from ..server import Server
from ..threads import available, need, start_thread
from ..transports.lines.process import split_for_windows
from ..version import __version__
from .output import DONE, FAILED, Command, Commands, say, say_json, write_file

SECONDS = 20.0
"""The time that one check may take."""
ODD_NAME = "a folder \u00e4\u00f1\u4e2d"
"""A name with a blank and with letters of several alphabets."""
ODD_TEXT = "\u00e9\u2028\U0001f40d\u05d0 \\ \" \t end"
PASSED, WRONG, LEFT_OUT = "ok", "FAILED", "left out"
_PACKAGE = __name__.rpartition(".cli.")[0]
_ROOT = os.path.abspath(__file__)
for _part in __name__.split("."):
    _ROOT = os.path.dirname(_ROOT)
_SERVER = """\
import os, sys, time
sys.path.insert(0, os.fsdecode({root!r}))
from {package} import Server
server = Server("selfcheck", version="1")

@server.tool
def echo(text: str) -> str:
    "Return a text."
    print("not for the client")
    print("a line of the log", file=sys.stderr)
    return text

@server.tool
def where() -> str:
    "Return the folder of the process."
    return os.getcwd()

{end}
"""


class LeftOut(Exception):
    """This system has nothing to check here; the text says why."""


class Workspace:
    """The folder in which the checks write, and the programs in it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def program(self, end: str = "server.run()") -> List[str]:
        """Return the command of a server; ``end``: the last lines of its program."""
        path = os.path.join(self.folder, "server %d.py" % len(os.listdir(self.folder)))
        with open(path, "w", encoding="utf-8") as file:
            file.write(_SERVER.format(root=os.fsencode(_ROOT), package=_PACKAGE, end=end))
        return [sys.executable, path]


class CheckOutcome(NamedTuple):
    """The outcome of one check."""

    area: str
    name: str
    state: str
    """ok, FAILED, or left out."""
    detail: str
    seconds: float


# --- Transports -------------------------------------------------------------------------------------------------------

def _small() -> Server:
    server = Server("selfcheck", version="1")

    @server.tool
    def echo(text: str) -> str:
        """Return a text."""
        return text
    return server


def _unheard(line: str) -> None:
    """Take a line of a server's standard error, which is not for the report."""


def _expect(truth: bool, text: str) -> None:
    if not truth:
        raise AssertionError(text)


def _echo(client: Any, text: str = ODD_TEXT) -> None:
    got = client.call_tool("echo", {"text": text}).text
    _expect(got == text, "sent %.80r, got %.80r back" % (text, got))


def _both_eras(target: Any, **options: Any) -> str:
    for revision in (LATEST_HANDSHAKE, LATEST):
        with connect(target, revisions=[revision], **options) as client:
            _echo(client)
    return "revisions %s and %s" % (LATEST_HANDSHAKE.name, LATEST.name)


def _listening(address: str) -> Callable[[Workspace], str]:
    def check(stage: Workspace) -> str:
        listener = _small().listen(address)
        try:
            return "%s: %s" % (listener.address, _both_eras(listener.address))
        finally:
            listener.close()
    return check


def _http_sse(stage: Workspace) -> str:
    listener = _small().listen("http://127.0.0.1:0/mcp")
    try:
        with connect(listener.address.replace("/mcp", "/sse"), revisions=["2024-11-05"]) as client:
            _echo(client)
        return ""
    finally:
        listener.close()


def _six(stage: Workspace) -> str:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::1", 0))
    except OSError as error:
        raise LeftOut("no IPv6 here: %s" % error) from None
    return _listening("http://[::1]:0/mcp")(stage)


def _unix(stage: Workspace) -> str:
    if not hasattr(socket, "AF_UNIX"):
        raise LeftOut("Python has no AF_UNIX here")
    folder = tempfile.mkdtemp(prefix="mcp")  # the path of a socket must be short
    try:
        return _listening("unix://%s/s" % folder)(stage)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- Child processes --------------------------------------------------------------------------------------------------

def _ends(stage: Workspace) -> str:
    marker = os.path.join(stage.folder, "ended")
    command = stage.program("server.run()\nopen(%r, 'w').close()" % marker)
    with connect(command, stderr=_unheard) as client:
        _echo(client)
    _wait_for(lambda: os.path.exists(marker), "the server did not end in order as its input ended")
    return "in order, by the end of its input"


def _is_killed(stage: Workspace) -> str:
    beat = os.path.join(stage.folder, "beat")
    command = stage.program("import threading\n"
                            "def forever():\n"
                            "    while True:\n"
                            "        open(%r, 'w').write(str(time.time()))\n"
                            "        time.sleep(0.05)\n"
                            "threading.Thread(target=forever).start()\n"
                            "server.run()" % beat)
    begun = time.monotonic()
    with connect(command, stderr=_unheard) as client:
        _echo(client)
    took = time.monotonic() - begun

    def silent() -> bool:
        before = os.stat(beat).st_mtime_ns
        time.sleep(0.5)
        return os.stat(beat).st_mtime_ns == before
    _wait_for(silent, "the process of a server that does not end by itself is still there")
    return "a server that does not end by itself is ended; %.1f s with its start" % took


def _missing(stage: Workspace) -> str:
    try:
        connect([os.path.join(stage.folder, "no such program")])
    except ConnectFailed as error:
        return str(error).splitlines()[0][:120]
    raise AssertionError("a program that is not there was started")


def _dies(stage: Workspace) -> str:
    try:
        connect(stage.program("sys.stderr.write('last words\\n'); sys.exit(7)"), stderr=_unheard)
    except McpError as error:
        _expect("7" in str(error), "the exit code is not in %r" % str(error))
        return str(error).splitlines()[0][:160]
    raise AssertionError("a server that ends at once was connected")


def _stderr(stage: Workspace) -> str:
    lines: List[str] = []
    with connect(stage.program(), stderr=lines.append) as client:
        _echo(client)
        _wait_for(lambda: any("a line of the log" in line for line in lines), "standard error did not arrive")
    _expect(any("not for the client" in line for line in lines), "what a tool prints did not go to standard error")
    return "standard error arrives; print() of a tool does too"


def _wait_for(truth: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + SECONDS / 2
    while not truth():
        _expect(time.monotonic() < until, otherwise)
        time.sleep(0.02)


# --- Encodings, paths, signals ----------------------------------------------------------------------------------------

def _narrow(stage: Workspace) -> str:
    """Check that a console of few characters spoils nothing."""
    narrow = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    with connect(stage.program(), env=narrow, stderr=_unheard) as client:
        _echo(client)
    return "the server had an ASCII console"


def _large(stage: Workspace) -> str:
    with connect(stage.program(), stderr=_unheard) as client:
        _echo(client, ODD_TEXT * 60000)
    return "%d characters there and back" % len(ODD_TEXT * 60000)


def _folder(stage: Workspace) -> str:
    with connect(stage.program(), cwd=stage.folder, stderr=_unheard) as client:
        got = client.call_tool("where", {}).text
    _expect(os.path.samefile(got, stage.folder), "the server runs in %r, not in %r" % (got, stage.folder))
    return got


def _words(stage: Workspace) -> str:
    words = ["a b", 'say "hi"', "back\\slash\\", "", "\u00e4"]
    again = split_for_windows(subprocess.list2cmdline(words))
    _expect(again == words, "%r is split as %r" % (words, again))
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    said = subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, timeout=SECONDS).stdout
    import json

    _expect(json.loads(said) == words, "the system passes %r as %r" % (words, said))
    return "arguments with blanks, quotes and backslashes"


def _roots(stage: Workspace) -> str:
    from ..client.roots import Roots

    roots = Roots([stage.folder])
    inside = os.path.join(stage.folder, "x")
    _expect(roots.contains(inside), "%r is not below %r" % (inside, stage.folder))
    _expect(not roots.contains(os.path.dirname(stage.folder)), "a folder contains its parent")
    return roots.listed()[0].uri


def _ended_by(number: str) -> Callable[[Workspace], str]:
    def check(stage: Workspace) -> str:
        import signal

        if not hasattr(signal, number) or number == "SIGINT" and os.name == "nt":
            raise LeftOut("this system has no %s for one process" % number)
        windows: Dict[str, Any] = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
        command = stage.program("server.run_http('127.0.0.1', 0, ready=lambda url: print(url, flush=True))")
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 **(windows if os.name == "nt" else {}))
        try:
            url = (child.stdout.readline() if child.stdout else b"").decode().strip()
            with connect(url) as client:
                _echo(client)
            child.send_signal(getattr(signal, number))
            child.communicate(timeout=SECONDS / 2)
            return "exit code %d" % child.returncode
        finally:
            child.kill()
            child.communicate()
    return check


CHECKS: Tuple[Tuple[str, str, Callable[[Workspace], str]], ...] = (
    ("transports", "memory", lambda stage: _both_eras(_small())),
    ("transports", "stdio", lambda stage: _both_eras(stage.program(), stderr=_unheard)),
    ("transports", "Streamable HTTP", _listening("http://127.0.0.1:0/mcp")), ("transports", "HTTP+SSE", _http_sse),
    ("transports", "HTTP over IPv6", _six), ("transports", "TCP", _listening("tcp://127.0.0.1:0")),
    ("transports", "Unix socket", _unix),
    ("child processes", "end with the client", _ends), ("child processes", "are ended", _is_killed),
    ("child processes", "that are not there", _missing), ("child processes", "that die at once", _dies),
    ("child processes", "standard error", _stderr),
    ("encodings", "a narrow console", _narrow), ("encodings", "a large message", _large),
    ("paths", "an odd folder", _folder), ("paths", "words of a command", _words), ("paths", "roots", _roots),
    ("signals", "SIGTERM", _ended_by("SIGTERM")), ("signals", "SIGINT", _ended_by("SIGINT")),
    ("signals", "CTRL_BREAK_EVENT", _ended_by("CTRL_BREAK_EVENT")),
)


# --- The report -------------------------------------------------------------------------------------------------------

def system() -> Dict[str, str]:
    """Return what a reader of the report wants to know of this system; nothing that names a person or a machine."""
    return {
        "mcp_ref": __version__, "python": "%s %s, %s" % (platform.python_implementation(), platform.python_version(),
                                                         platform.architecture()[0]),
        "system": "%s %s, %s" % (platform.system(), platform.release(), platform.machine()),
        "standard output": str(getattr(sys.stdout, "encoding", None)), "files": sys.getfilesystemencoding(),
        "locale": locale.getpreferredencoding(False), "UTF-8 mode": str(bool(sys.flags.utf8_mode)),
        "threads": "yes" if available() else "no",
        "lock of the interpreter": "yes" if getattr(sys, "_is_gil_enabled", lambda: True)() else "no",
    }


def attempt(area: str, name: str, check: Callable[[Workspace], str], stage: Workspace) -> CheckOutcome:
    """Run one check on a thread of its own, and return what came of it."""
    found: List[Tuple[str, str]] = []

    def run() -> None:
        try:
            found.append((PASSED, check(stage)))
        except LeftOut as error:
            found.append((LEFT_OUT, str(error)))
        except BaseException as error:
            found.append((WRONG, "%s: %s" % (type(error).__name__, error)))

    begun = time.monotonic()
    thread = start_thread("mcp-ref:selfcheck", run)
    thread.join(SECONDS)
    state, detail = found[0] if found else (WRONG, "no end after %g s" % SECONDS)
    for place, word in ((stage.folder, "FOLDER"), (os.path.dirname(stage.folder), "FOLDERS"),
                        (tempfile.gettempdir(), "TEMP"), (os.path.expanduser("~"), "HOME")):
        detail = detail.replace(place, word)  # it may have the name of a person
    return CheckOutcome(area, name, state, detail, round(time.monotonic() - begun, 2))


def _selfcheck(options: Any) -> int:
    need("selfcheck")
    outcomes: List[CheckOutcome] = []
    about = system()
    lines = ["%-24s%s" % item for item in about.items()] + [""]
    if not (options.json or options.out):
        say("\n".join(lines))
    home = tempfile.mkdtemp(prefix="mcp_ref-selfcheck-")
    try:
        for area, name, check in CHECKS:
            folder = os.path.join(home, "%d %s" % (len(outcomes), ODD_NAME))
            os.mkdir(folder)
            outcomes.append(attempt(area, name, check, Workspace(folder)))
            lines.append(_line(outcomes[-1]))
            if not (options.json or options.out):
                say(lines[-1])
    finally:
        shutil.rmtree(home, ignore_errors=True)
    wrong = sum(each.state == WRONG for each in outcomes)
    lines += ["", "%d checks, %d failed" % (len(outcomes), wrong)]
    if options.out:
        write_file(options.out, "\n".join(lines) + "\n")
    if options.json:
        say_json({"system": about, "checks": [each._asdict() for each in outcomes]})
    else:
        say("\n".join(lines[-2:]))
    return FAILED if wrong else DONE


def _line(outcome: CheckOutcome) -> str:
    return "%-9s%-17s%-22s%6.2f s  %s" % (outcome.state, outcome.area, outcome.name, outcome.seconds,
                                          " ".join(outcome.detail.split()))


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = ("Everything is made in a temporary folder and removed again. The report names no person and no "
                     "machine: send it with a report of a fault. Exit codes: 0: all passed. 1: some failed.")
    parser.add_argument("--out", metavar="FILE", help="write the report to a file")
    parser.add_argument("--json", action="store_true", help="write the report as JSON")


COMMANDS: Commands = {"selfcheck": Command(_selfcheck, _options)}
