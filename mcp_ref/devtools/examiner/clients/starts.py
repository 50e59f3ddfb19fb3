"""Ways to start the client under examination: a command, once for each start; or a person, by hand.

A start is a function of an address and of entries for the environment; it returns a `Started`. A command is told where
the server is as the official suite tells it: over HTTP the URL is its last argument, over stdio the command of the
server, as one word. ``{server}`` in a word is replaced by that, ``{words}`` by the words of the server's command.

===============================  ====================================================================================
variable of the environment      value
===============================  ====================================================================================
MCP_EXAMINER_SCENE               the scene
MCP_EXAMINER_REVISION            the revision that the server speaks
MCP_EXAMINER_SERVER              the URL, or the command of the server
MCP_CONFORMANCE_SCENARIO         the scenario of the official suite that does what the scene needs
MCP_CONFORMANCE_PROTOCOL_VERSION the revision again
MCP_CONFORMANCE_CONTEXT          a JSON object: ``name``, the scenario again, and what it needs
===============================  ====================================================================================
"""

import os
import shlex
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ....jsontext import dumps
from ....threads import start_thread
from ....transports.lines.child import StdioChild
from ....transports.lines.process import arguments
from . import stub

_KEPT_LINES = 20
FIRST_SECONDS, FIRST_SECONDS_BY_HAND = 30.0, 600.0
BY_HAND = """\
By hand: for each scene a server waits, and a host, or a client, is connected to it by somebody.
1. Put the entry below into the file of the host, such as mcp.json, claude_desktop_config.json or .cursor/mcp.json.
   With --port it is the same for each scene over HTTP; on stdio it needs --port, too, to stay the same.
2. At each line that begins with "scene": restart the host, or reconnect that server in it. Have it list the tools, and
   call one, such as add_numbers; answer what it asks you.
3. The scene is over when nothing has come for the time of --timeout, and the next one begins. The report comes at the
   end; --only SCENE plays one alone, and --revision names the revision that the host speaks."""
Start = Callable[[str, Dict[str, str]], "Started"]


class Started:
    """A client that was started; subclasses say how it ends."""

    words = ""
    """The last that it has written, for evidence."""
    first_seconds = FIRST_SECONDS
    """The time in which it has to connect."""

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended; return False if it has not in time."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it."""
        raise NotImplementedError


def server_command(port: str) -> str:
    """Return the command of the server that a client of stdio starts, as a shell takes it."""
    return " ".join(map(shlex.quote, (sys.executable, os.path.abspath(stub.__file__), port)))


def environment(scene: str, scenario: str, revision: str, server: str, context: Mapping[str, Any]) -> Dict[str, str]:
    """Return the entries for the environment of a client; see the module."""
    return {
        "MCP_EXAMINER_SCENE": scene, "MCP_EXAMINER_REVISION": revision, "MCP_EXAMINER_SERVER": server,
        "MCP_CONFORMANCE_SCENARIO": scenario, "MCP_CONFORMANCE_PROTOCOL_VERSION": revision,
        "MCP_CONFORMANCE_CONTEXT": dumps({"name": scenario, **context})}


class CommandStart:
    """Starts a command; see the module."""

    def __init__(self, command: Union[str, Sequence[str]], env: Optional[Mapping[str, str]] = None,
                 cwd: "Union[str, os.PathLike[str], None]" = None) -> None:
        self._words = arguments(command)
        self._env, self._cwd = dict(env or {}), cwd

    def __call__(self, server: str, env: Dict[str, str]) -> Started:
        """Start it. Raises `ConnectFailed`."""
        return _Command(completed(self._words, server), {**self._env, **env}, self._cwd)


def completed(words: Sequence[str], server: str) -> List[str]:
    """Return the words of a command that was told where the server is."""
    found: List[str] = []
    for word in words:
        found += shlex.split(server) if word == "{words}" else [word.replace("{server}", server)]
    return found if found != list(words) else [*found, server]


class _Program(StdioChild):
    """A client, whose standard output is its own affair."""

    def _note_noise(self, lines: Sequence[bytes]) -> None:
        self.noise.extend(lines)


class _Command(Started):
    def __init__(self, words: List[str], env: Dict[str, str], cwd: Any) -> None:
        self._child = _Program(words, env, True, cwd)
        self._child.open()
        self._ended = threading.Event()
        start_thread("mcp-ref:examiner", self._read)

    def _read(self) -> None:
        while self._child.read() is not None:
            pass
        self._ended.set()

    @property
    def words(self) -> str:  # type: ignore[override]
        said = [line.decode("utf-8", "replace") for line in list(self._child.noise)[-_KEPT_LINES:]]
        return "\n".join([*said, self._child.stderr_tail().decode("utf-8", "replace")]).strip()

    def wait(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def stop(self) -> None:
        self._child.close()


class ByHand:
    """Has a person start the client, or have a host connect. ``show``: prints lines for that person.

    A start is over when nothing has come for as long as `ClientStage` waits.
    """

    def __init__(self, show: Callable[[str], Any]) -> None:
        self._show = show
        self._page = BY_HAND

    def __call__(self, server: str, env: Dict[str, str]) -> Started:
        """Say what to do."""
        for line in self._page.splitlines():
            self._show(line)
        self._page = ""
        url = "://" in server
        entry = {"url": server} if url else dict(zip(("command", "args"), (
            shlex.split(server)[0], shlex.split(server)[1:])))
        self._show("scene %s, revision %s: have the client connect to the server" % (
            env["MCP_EXAMINER_SCENE"] or "opening", env["MCP_EXAMINER_REVISION"]))
        self._show(dumps({"mcpServers": {"examiner": entry}}))
        return _Person()


class _Person(Started):
    first_seconds = FIRST_SECONDS_BY_HAND

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def wait(self, seconds: float) -> bool:
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        self._stopped.set()
