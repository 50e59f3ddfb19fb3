"""The servers of other makers that are examined: how each is started, and by which wires it is reached.

See `examine_servers`, which examines them and compares what is found with the fixture. A family is a program or a
library in one version: what one of its members does wrong the others do for the same reason.
"""
import contextlib
import os
import pathlib
import shlex
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import http_walks
import peers
import proxies
import small_servers

HERE = pathlib.Path(__file__).resolve().parent
_PORTED = "import runpy, sys, time; server = runpy.run_path(sys.argv[1])['server']; "
"""The beginning of a program that serves a server of a porting page over HTTP."""
_SERVES = {
    "mcp_1": "server.settings.port = int(sys.argv[2]); server.run(transport='streamable-http')",
    "zeromcp": "server.serve('127.0.0.1', int(sys.argv[2])); time.sleep(3600)",
}


class Programs(NamedTuple):
    """Where the programs are."""

    commands: Dict[str, List[str]]
    python: Dict[str, str]
    """Interpreters by the library that they have."""
    earlier: Dict[str, str]


class Examined(NamedTuple):
    """A server to be examined."""

    name: str
    family: str
    version: str
    """The package and its version; behind a plus sign the library that it is made with."""
    wire: str
    """stdio, http, sse; behind a plus sign the program between."""
    command: Callable[[Programs, str], List[str]]
    """Makes the command, for a folder to work in; over HTTP with ``{port}``."""
    options: Tuple[str, ...] = ()
    """Options of ``examine``."""
    path: str = "/mcp"


def install() -> Programs:
    """Fetch them. SetupError where that is not possible."""
    commands = {**peers.install(), **peers.examined()}
    python = {"fastmcp": peers.fastmcp(), "zeromcp": peers.zeromcp(), "mcp_1": commands["official_v1"][0],
              "mcp_2": commands["official_v2"][0]}
    return Programs(commands, python, peers.earlier())


def _peer(name: str, *more: str) -> Callable[[Programs, str], List[str]]:
    return lambda programs, folder: [*programs.commands[name], *(each.replace("{folder}", folder) for each in more)]


def _git(name: str) -> Callable[[Programs, str], List[str]]:
    def command(programs: Programs, folder: str) -> List[str]:
        small_servers.repository(folder)
        found = programs.commands.get(name) or [str(pathlib.Path(programs.earlier[name]).with_name("mcp-server-git"))]
        return [*found, "--repository", folder]
    return command


def _script(library: str, script: str, *more: str) -> Callable[[Programs, str], List[str]]:
    return lambda programs, folder: [programs.python[library], str(HERE / script), *more]


def _ported(library: str, web: bool = False) -> Callable[[Programs, str], List[str]]:
    """Return the command of the server on the page about porting from a library."""
    def command(programs: Programs, folder: str) -> List[str]:
        from tests.support import porting
        path = str(porting.write(porting.pairs(library)[0].theirs, pathlib.Path(folder), "theirs.py"))
        python = programs.python[library]
        return [python, "-c", _PORTED + _SERVES[library], path, "{port}"] if web else [python, path]
    return command


def _early_python(name: str, script: str = "") -> Callable[[Programs, str], List[str]]:
    return lambda programs, folder: [
        str(pathlib.Path(programs.earlier[name]).with_name(script))] if script else [
            programs.earlier[name], str(HERE / "official_everything_http.py"), "{port}", "streamable-http"]


def _early_everything(name: str, mode: str = "stdio") -> Callable[[Programs, str], List[str]]:
    def command(programs: Programs, folder: str) -> List[str]:
        path = os.path.join(programs.earlier[name], "@modelcontextprotocol", "server-everything", "dist", "index.js")
        return [*programs.commands["typescript"], path, mode]
    return command


def _gateway(command: Callable[[Programs, str], List[str]], mode: str) -> Callable[[Programs, str], List[str]]:
    """Return the command of supergateway before a server over stdio."""
    def before(programs: Programs, folder: str) -> List[str]:
        stdio = " ".join(map(shlex.quote, command(programs, folder)))
        return [peers.proxy("supergateway"), "--stdio", stdio, "--port", "{port}", "--logLevel", "none",
                "--outputTransport", *proxies.OUTPUTS[mode][0]]
    return before


ALL, NONE = ("--all-tools",), ()
TS1, PY1, PY2 = " + @modelcontextprotocol/sdk 1.32.2", " + mcp 1.30.0", " + mcp 2.3.0"
SERVERS: Tuple[Examined, ...] = (
    Examined("everything", "typescript-1", "server-everything 2026.8.31" + TS1, "stdio", _peer("everything", "stdio"),
             ("--allow", "echo", "--allow", "get-sum", "--allow", "get-structured-content")),
    Examined("everything-http", "typescript-1", "server-everything 2026.8.31" + TS1, "http",
             _peer("everything", "streamableHttp"), ("--allow", "echo", "--allow", "get-sum")),
    Examined("filesystem", "typescript-1", "server-filesystem 2026.8.31" + TS1, "stdio",
             _peer("filesystem", "{folder}")),
    Examined("memory", "typescript-1", "server-memory 2026.8.31" + TS1, "stdio", _peer("memory")),
    Examined("thinking", "typescript-1", "server-sequential-thinking 2026.8.31" + TS1, "stdio", _peer("thinking"),
             ALL),
    Examined("typescript", "typescript-2", "@modelcontextprotocol/server 2.4.0", "stdio",
             _peer("typescript", str(HERE / "typescript_server.cjs"))),
    Examined("typescript-http", "typescript-2", "@modelcontextprotocol/server 2.4.0", "http",
             _peer("typescript", str(HERE / "typescript_server.cjs"), "{port}")),
    Examined("python1", "python-1", "mcp 1.30.0", "stdio", _ported("mcp_1")),
    Examined("python1-http", "python-1", "mcp 1.30.0", "http", _ported("mcp_1", True)),
    Examined("python1-json", "python-1", "mcp 1.30.0", "http",
             _script("mcp_1", "official_everything_http.py", "{port}", "json"), ("--allow", "add")),
    Examined("python1-stateless", "python-1", "mcp 1.30.0", "http",
             _script("mcp_1", "official_everything_http.py", "{port}", "stateless"), ("--allow", "add")),
    Examined("sqlite", "python-1", "mcp-server-sqlite 2025.4.25" + PY1, "stdio",
             _peer("sqlite", "--db-path", "{folder}/places.db"), ("--allow", "read_query", "--allow", "list_tables")),
    Examined("python2", "python-2", "mcp 2.3.0", "stdio", _script("mcp_2", "official_server_v2.py"),
             ("--allow", "add", "--allow", "echo")),
    Examined("python2-http", "python-2", "mcp 2.3.0", "http", _script("mcp_2", "official_server_v2.py", "{port}"),
             ("--allow", "add", "--allow", "echo")),
    Examined("time", "python-2", "mcp-server-time 2026.10.19" + PY2, "stdio", _peer("time")),
    Examined("git", "python-2", "mcp-server-git 2026.10.19" + PY2, "stdio", _git("git")),
    Examined("fetch", "python-2", "mcp-server-fetch 2026.10.24" + PY2, "stdio", _peer("fetch")),
    Examined("fastmcp", "fastmcp", "fastmcp 4.1.0", "stdio", _script("fastmcp", "fastmcp_server.py"),
             ("--allow", "add", "--allow", "echo")),
    Examined("fastmcp-http", "fastmcp", "fastmcp 4.1.0", "http",
             _script("fastmcp", "fastmcp_server.py", "{port}", "http"), ("--allow", "add", "--allow", "echo")),
    Examined("zeromcp", "zeromcp", "zeromcp 1.10.3", "stdio", _ported("zeromcp")),
    Examined("zeromcp-http", "zeromcp", "zeromcp 1.10.3", "http", _ported("zeromcp", True)),
    Examined("mcp-time", "mcp-time", "mcp-time 0.4.0 (Go)", "stdio", _peer("mcp-time")),
    Examined("mcp-cron", "mcp-cron", "mcp-cron 0.9.1 (Go)", "stdio", _peer(
        "mcp-cron", "-transport", "stdio", "-log-file", "{folder}/log.txt", "-db-path", "{folder}/results.db")),
    Examined("cortex", "cortex", "cortex-mcp 0.9.1 (Rust)", "stdio", _peer("cortex")),
    Examined("supergateway", "supergateway", "supergateway 4.0.0, before server-filesystem 2026.8.31",
             "http + supergateway", _gateway(_peer("filesystem", "{folder}"), "http")),
    Examined("mcp-remote", "mcp-remote", "mcp-remote 0.15.1, before server-everything 2026.8.31",
             "stdio + mcp-remote", _peer("everything", "streamableHttp"), ("--allow", "echo")),
    Examined("python1.2-time", "python-1.2", "mcp-server-time 0.6.2 + mcp 1.2.1", "stdio",
             _early_python("time0", "mcp-server-time")),
    Examined("python1.9-git", "python-1.9", "mcp-server-git 2025.1.14 + mcp 1.9.4", "stdio", _git("git0")),
    Examined("python1.9-http", "python-1.9-http", "mcp 1.9.4", "http", _early_python("py1.9"), ("--allow", "add"),
             "/mcp/"),
    Examined("python1.12-http", "python-1.12", "mcp 1.12.4", "http", _early_python("py1.12"), ("--allow", "add")),
    Examined("everything3", "typescript-1.0", "server-everything 2025.3.19 + @modelcontextprotocol/sdk 1.0.1", "stdio",
             _early_everything("everything3"), ("--allow", "echo", "--allow", "add")),
    Examined("everything5", "typescript-1.12", "server-everything 2025.5.12 + @modelcontextprotocol/sdk 1.12.3",
             "stdio", _early_everything("everything5"), ("--allow", "echo", "--allow", "add")),
    Examined("everything8-http", "typescript-1.17", "server-everything 2025.8.18 + @modelcontextprotocol/sdk 1.17.5",
             "http", _early_everything("everything8", "streamableHttp"), ("--allow", "echo", "--allow", "add")),
)


@contextlib.contextmanager
def reached(server: Examined, programs: Programs, folder: str) -> Iterator[List[str]]:
    """What ``examine`` is told of a server that is there for the while: an address, or a command behind ``--``."""
    command = server.command(programs, folder)
    variables: Dict[str, Any] = {
        "HOME": folder, "MEMORY_FILE_PATH": folder + "/memory.jsonl", "MCP_CATALOG_PATH": folder + "/catalog.json",
        **peers.node_path()}
    if server.wire.startswith("stdio") and server.name != "mcp-remote":
        given = [part for name, value in variables.items() for part in ("--env", "%s=%s" % (name, value))]
        yield [*given, "--cwd", folder, "--", *command]
        return
    with http_walks.serving(command, server.path, PORT="{port}", **variables) as url:
        if server.name == "mcp-remote":
            yield ["--env", "MCP_REMOTE_CONFIG_DIR=" + folder, "--cwd", folder, "--", peers.proxy("mcp-remote"), url,
                   "--transport", "http-only"]
        else:
            yield [url]
