"""What every recipe of `examples/hosts/` must do, in its real host: the walk, and how a host is started and closed.

The walk, for each recipe: our client, in a session and without one, and both official Python clients list the tools and
call them; our client gives up a call that would go on for minutes, and the next one is answered at once; a client with
another token is refused; the host is closed, and no process of its session is left.
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECIPES = ROOT / "examples" / "hosts"
sys.path[:0] = [str(ROOT), str(HERE.parent / "tools")]

import peers  # noqa: E402
from environments import SetupError, apt_get, environment, recent_python, run, say  # noqa: E402
from mcp_ref import Client, McpError, connect  # noqa: E402

TOKEN = "only-for-this-test"
SECONDS = 60.0
"""The time that a host has to start, and to end."""
SOON = 5.0
"""The time in which a host is there again after a call was given up; the call itself would take minutes."""
SIGN = r"MCP at (http\S+/mcp)"


class Recipe(NamedTuple):
    """A recipe in its host."""

    start: Callable[[], ContextManager[str]]
    """Starts the host, gives the URL, and closes the host."""
    calls: Sequence[Tuple[str, Dict[str, Any], str]]
    """Tools, arguments, and a pattern of what they say; they are called by one client after the other."""
    endless: Tuple[str, Dict[str, Any]]
    """A call that takes minutes, and is given up."""

    @property
    def tools(self) -> Set[str]:
        """The names of its tools: each is called."""
        return {name for name, _, _ in self.calls} | {self.endless[0]}


class RecipeFailed(Exception):
    """A recipe did something else than it should."""


def expect(truth: bool, what: str, *values: Any) -> None:
    """Raise `RecipeFailed` where a step did not see what it should."""
    if not truth:
        raise RecipeFailed("%s: %s" % (what, ", ".join(map(repr, values))))


def report(step: str, started: float, **seen: Any) -> None:
    """Print one step."""
    print(json.dumps(dict(step=step, seconds=round(time.monotonic() - started, 3), **seen)), flush=True)


def walk(recipe: Recipe) -> None:
    """Start the host, use the recipe by every client, close the host."""
    started = time.monotonic()
    with recipe.start() as url:
        report("start", started, url=url)
        for revision in ("2025-11-25", "2026-07-28"):
            started = time.monotonic()
            use(url, recipe, revision)
            report("our client", started, revision=revision)
        for version in ("official_v1", "official_v2"):
            started = time.monotonic()
            official(url, recipe, version)
            report("official client", started, version=version)
        try:
            connect(url, token="another").close()
        except McpError as error:
            expect("401" in str(error), "another token", error)
        else:
            raise RecipeFailed("another token was let in")
        started = time.monotonic()
    report("close", started)


def use(url: str, recipe: Recipe, revision: str) -> None:
    """List, call, give a call up, and call again."""
    begun = threading.Event()
    with connect(url, token=TOKEN, revisions=[revision]) as client:
        expect(client.revision.name == revision, "the revision", client.revision)
        expect(recipe.tools == {tool.name for tool in client.tools()}, "the tools", list(client.tools()))
        call_all(client, recipe)
        future = client.submit_tool(*recipe.endless, progress=lambda *step: begun.set())
        begun.wait(1)  # one recipe tells no progress
        expect(not future.done(), "it should take minutes", recipe.endless)
        future.cancel()
        name, arguments, pattern = recipe.calls[-1]
        end = time.monotonic() + SOON
        while re.search(pattern, client.call_tool(name, arguments).text) is None:  # GDB needs a moment
            expect(time.monotonic() < end, "after a call was given up", name, arguments)
        expect(time.monotonic() < end, "a call that was given up goes on")
        call_all(client, recipe)  # the other one changes nothing of what these do


def call_all(client: Client, recipe: Recipe) -> None:
    """Make the calls, in their order."""
    for name, arguments, pattern in recipe.calls:
        text = client.call_tool(name, arguments).text
        expect(re.search(pattern, text) is not None, name, arguments, text, pattern)


def official(url: str, recipe: Recipe, version: str) -> None:
    """List and call by an official client."""
    python = environment(peers.PEERS / version, peers.PYTHON_PINS[version], recent_python(peers.PYTHON_FLOOR))
    calls = json.dumps([[name, arguments] for name, arguments, _ in recipe.calls])
    said = json.loads(run([python, str(HERE / "official_client.py"), url, TOKEN, calls], version).splitlines()[-1])
    expect(recipe.tools == set(said["tools"]), "the tools", said["tools"])
    for (name, arguments, pattern), text in zip(recipe.calls, said["texts"]):
        expect(re.search(pattern, text) is not None, name, arguments, text, pattern)


def terminate(process: "subprocess.Popen[bytes]", terminal: int) -> None:
    """Close a host from outside."""
    process.terminate()


@contextlib.contextmanager
def started(command: Sequence[str], sign: str = SIGN, cwd: pathlib.Path = RECIPES, url: str = "%s",
            close: Callable[["subprocess.Popen[bytes]", int], None] = terminate, **variables: str) -> Iterator[str]:
    """Run a host in a terminal of its own until it shows the sign; give what the sign has in brackets, as in ``url``.

    At the end ``close`` closes it. `RecipeFailed` with what it has printed if it does not start or end in time, or
    leaves a process behind.
    """
    terminal, inside = pty.openpty()
    settings = {**os.environ, "MCP_TOKEN": TOKEN, "MCP_URL": "http://127.0.0.1:0/mcp", "PYTHONPATH": str(ROOT),
                "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    settings = {name: value for name, value in settings.items() if value}  # an empty PYTHONPATH is one, too
    process = subprocess.Popen(list(command), cwd=str(cwd), env=settings, stdin=inside, stdout=inside, stderr=inside,
                               start_new_session=True)
    os.close(inside)
    output, seen, ended = bytearray(), threading.Event(), threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while not ended.is_set():
                output.extend(os.read(terminal, 4096))
                if re.search(sign, shown()):
                    seen.set()
        ended.set()
        seen.set()

    def shown() -> str:
        return output.decode("utf-8", "replace").replace("\r\n", "\n")

    threading.Thread(target=read, daemon=True).start()
    try:
        seen.wait(SECONDS)
        found = re.search(sign, shown())
        expect(found is not None, "it does not start", shown()[-3000:])
        yield url % found[1]  # type: ignore[index]  # expected above
        close(process, terminal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS)
        end = time.monotonic() + SOON
        while members(process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        expect(process.poll() is not None and not members(process.pid), "it does not end", members(process.pid),
               shown()[-3000:])
    except BaseException:
        print(shown()[-3000:], flush=True)
        raise
    finally:
        for pid in members(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(SECONDS)
        ended.wait(SOON)  # the terminal has ended with its last process
        os.close(terminal)


def members(session: int) -> List[int]:
    """The processes of a session that have not ended."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            state, _, _, of = stat.rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append(int(folder.name))
    return found


def debian(program: str, package: str, install: bool) -> str:
    """The path of a program of Debian; with ``install``, where this runs as root, its packages are installed."""
    if shutil.which(program) is None:
        if not install or os.geteuid():
            raise SetupError("%s is not installed: apt-get install %s" % (program, package))
        say("apt-get install %s, on this machine" % package)
        hint = "%s cannot be installed" % package
        apt_get("update", hint=hint)
        apt_get("install", "-y", "--no-install-recommends", *package.split(), hint=hint)
    return str(shutil.which(program))


@contextlib.contextmanager
def display(install: bool) -> Iterator[str]:
    """A screen that nobody sees: the value of DISPLAY."""
    xvfb = debian("Xvfb", "xvfb", install)
    reading, writing = os.pipe()
    process = subprocess.Popen([xvfb, "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
                               pass_fds=[writing], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as pipe:
            number = pipe.readline().strip()
        expect(bool(number), "Xvfb does not start", process.poll())
        yield ":" + number
    finally:
        process.terminate()
        process.wait(SECONDS)
