"""The clients of other makers that are examined: how each is started, and what it is put through.

See `examine_clients`, which examines them and compares what is found with the table. Libraries are driven by programs
of ours (`examined_client.py`, `examined_client.cjs`, `examined_tiny.py`), programs with a command line by their own
words; of a proxy it is the side that is a client, and a library drives the other. Two rows of one client are one
library in two modes: what either does wrong is the client's.
"""
import os
import pathlib
import shlex
import shutil
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

import peers

HERE = pathlib.Path(__file__).resolve().parent
FIRST, SECOND, THIRD, LEGACY, MODERN = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
PIPES = ("ordinary", "unknown-version", "ping", "unknown-request", "unreadable", "give-up", "stderr", "shutdown",
         "stays", "deaf")
"""The scenes over stdio: those in which a pipe differs from HTTP, and a few beside them."""
MODERN_PIPES = ("ordinary", "refused-version", "unknown-notification", "unreadable", "legacy-server", "state",
                "give-up", "stderr", "shutdown", "stays", "deaf")
"""The same in the revisions without handshake."""

EARLIER = ("ordinary", "unknown-version", "refused-opening", "ping", "unknown-request", "batch", "pages", "roots",
           "sample", "session-gone", "give-up")
"""The scenes for early versions of a library."""


class Programs(NamedTuple):
    """Where the programs are."""

    python: Dict[str, str]
    """Interpreters by the library that they have."""
    modules: Dict[str, str]
    """Folders ``node_modules`` by the library that they have."""
    inspector: List[str]

    def script(self, library: str, name: str) -> str:
        """The path of a command of npm."""
        return os.path.join(self.modules[library], ".bin", name)


class Run(NamedTuple):
    """A way in which a client is examined."""

    over: str
    revision: str
    scenes: Tuple[str, ...] = ()
    """The scenes; () for all."""


class Client(NamedTuple):
    """A client to be examined."""

    name: str
    client: str
    """The package, and where it comes from."""
    version: str
    words: Callable[[Programs, Run], List[str]]
    """Makes the words of the command."""
    library: str = ""
    """The one whose folder ``node_modules`` it needs."""
    runs: Tuple[Run, ...] = (Run("http", LEGACY), Run("stdio", LEGACY, PIPES))


def install() -> Programs:
    """Fetch them. SetupError where that is not possible."""
    commands, earlier = peers.install(), peers.earlier()
    python = {"mcp_1": commands["official_v1"][0], "mcp_2": commands["official_v2"][0], "fastmcp": peers.fastmcp(),
              "tiny": peers.tiny(), "mcp_1.2": earlier["py1.2"], "mcp_1.9": earlier["py1.9"]}
    modules = {"typescript_1": peers.first_typescript()["NODE_PATH"], "typescript_2": peers.node_path()["NODE_PATH"],
               "typescript_1.17": earlier["ts1.17"], "proxies": str(pathlib.Path(peers.proxy("mcp-remote")).parents[1]),
               "clients": peers.clients()}
    return Programs(python, modules, commands["inspector"])


def _python(library: str, *options: str, script: str = "examined_client.py") -> Callable[[Programs, Run], List[str]]:
    return lambda programs, run: [programs.python[library], str(HERE / script), *options]


def _node(kind: str, mode: str = "-") -> Callable[[Programs, Run], List[str]]:
    return lambda programs, run: [str(shutil.which("node")), str(HERE / "examined_client.cjs"), kind, mode]


def _proxy(name: str, before: Sequence[str], after: Sequence[str]) -> Callable[[Programs, Run], List[str]]:
    """Return the command of a library that starts a proxy, as its server over stdio."""
    def words(programs: Programs, run: Run) -> List[str]:
        proxy = [programs.script("proxies", name), *before, "SERVER", *after]
        return [*_node("second", "legacy")(programs, run),
                " ".join(map(shlex.quote, proxy)).replace("SERVER", "{server}")]
    return words


def _inspector(*options: str) -> Callable[[Programs, Run], List[str]]:
    return lambda programs, run: [
        *programs.inspector, "--cli", "{server}" if run.over == "http" else "{words}", *options, "--method",
        "tools/call", "--tool-name", "add_numbers", "--tool-arg", "a=1", "b=2"]


def _mcporter(programs: Programs, run: Run) -> List[str]:
    there = ["--allow-http", "--http-url"] if run.over == "http" else ["--stdio"]
    return [programs.script("clients", "mcporter"), "call", *there, "{server}", "--name", "examined", "--tool",
            "add_numbers", "a=1", "b=2"]


_MODERN_RUNS = (Run("http", MODERN), Run("stdio", MODERN, MODERN_PIPES))
_BOTH = (Run("http", LEGACY), Run("stdio", LEGACY, PIPES), *_MODERN_RUNS)
_WEB = (Run("http", LEGACY),)
CLIENTS: Tuple[Client, ...] = (
    Client("python1", "mcp (PyPI)", "1.30.0", _python("mcp_1")),
    Client("python2", "mcp (PyPI)", "2.3.0", _python("mcp_2"), runs=_MODERN_RUNS),
    Client("python2-legacy", "mcp (PyPI)", "2.3.0", _python("mcp_2", "--mode", "legacy")),
    Client("typescript1", "@modelcontextprotocol/sdk (npm)", "1.32.2", _node("first"), "typescript_1"),
    Client("typescript2", "@modelcontextprotocol/client (npm)", "2.4.0", _node("second", "auto"), "typescript_2",
           _MODERN_RUNS),
    Client("typescript2-legacy", "@modelcontextprotocol/client (npm)", "2.4.0", _node("second", "legacy"),
           "typescript_2"),
    Client("fastmcp", "fastmcp (PyPI)", "4.1.0", _python("fastmcp", "--fastmcp"), runs=_MODERN_RUNS),
    Client("fastmcp-legacy", "fastmcp (PyPI)", "4.1.0", _python("fastmcp", "--fastmcp", "--mode", "legacy")),
    Client("ai-sdk", "@ai-sdk/mcp (npm)", "2.0.88", _node("ai"), "clients", _BOTH),
    Client("tiny", "aiohttp-tiny-mcp (PyPI)", "0.5.8", _python("tiny", script="examined_tiny.py"), runs=_BOTH),
    Client("mcporter", "mcporter (npm)", "0.12.3", _mcporter),
    Client("inspector", "@modelcontextprotocol/inspector (npm)", "2.12.0", _inspector()),
    Client("inspector-modern", "@modelcontextprotocol/inspector (npm)", "2.12.0",
           _inspector("--protocol-era", "modern"), runs=(Run("http", MODERN),)),
    Client("mcp-remote", "mcp-remote (npm)", "0.15.1", _proxy("mcp-remote", (), ("--transport", "http-only")),
           "typescript_2", _WEB),
    Client("supergateway", "supergateway (npm)", "4.0.0", _proxy(
        "supergateway", ("--streamableHttp",), ("--logLevel", "none")), "typescript_2", _WEB),
    Client("python1.2", "mcp (PyPI)", "1.2.1", _python("mcp_1.2"), runs=(Run("http", FIRST, EARLIER),)),
    Client("python1.9", "mcp (PyPI)", "1.9.4", _python("mcp_1.9"), runs=(Run("http", SECOND, EARLIER),)),
    Client("typescript1.17", "@modelcontextprotocol/sdk (npm)", "1.17.5", _node("first"), "typescript_1.17",
           (Run("http", THIRD, EARLIER),)),
)
