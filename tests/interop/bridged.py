"""Our bridge between official clients and servers; `make interop` runs a few of the pairings.

=======================  ===================================================  ========================================
pairing                  client                                               server
=======================  ===================================================  ========================================
`bridge-client-...`      the official ones of both eras, over each transport  ours, over another transport
`bridge-everything` ...  ours, without a handshake, over stdio                the reference servers, over stdio
`bridge-through-...`     the official ones, TypeScript 1.x too, over both     `server-everything`: the same as without a
                         kinds of HTTP                                        bridge
=======================  ===================================================  ========================================

`pairing(FRONT, BEHIND)` makes any other: `stdio`, `http` or `sse` on either side.
"""
import contextlib
import pathlib
import subprocess
import sys
import tempfile
import threading
from functools import partial
from typing import Callable, Dict, Iterator, List

import foreign
import peers
import replays
from foreign_sessions import Session
from official_walk import expect

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "everything_server.py")
MODULE = [sys.executable, "-m", "mcp_ref"]
BRIDGE = [*MODULE, "bridge"]
PATHS = {"http": "/mcp", "sse": "/sse"}
LISTENS = ["--http", "127.0.0.1:0"]
PAIRINGS: Dict[str, List[str]] = {
    "client-v1": ["http", "stdio"], "client-v2-legacy": ["stdio", "http"], "client-v2-pinned": ["http", "sse"],
    "client-ts-legacy": ["stdio", "sse"], "client-ts-pinned": ["stdio", "stdio"],
}
"""An official client -> the transports in front and behind."""
Official = Callable[[List[str]], None]


@contextlib.contextmanager
def served(command: List[str], path: str) -> Iterator[str]:
    """The URL of a command that serves over HTTP, for the while."""
    process = subprocess.Popen(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        line = process.stderr.readline().decode()
        if "serving on " not in line:
            raise RuntimeError("%s said %r" % (command, line))
        threading.Thread(target=sys.stdout.buffer.writelines, args=(process.stderr,), daemon=True).start()
        yield line.split()[2].rstrip(";").replace("/mcp", path)
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def behind(kind: str) -> Iterator[List[str]]:
    """The words that name our example server to a bridge: its command, or the URL where it is served."""
    if kind == "stdio":
        yield ["--inherit-env", "--", sys.executable, EXAMPLE]
        return
    with served([*MODULE, "run", EXAMPLE, *LISTENS], PATHS[kind]) as url:
        yield [url]


def pairing(client: Official, front: str, back: str) -> None:
    """Let an official client walk through our example server, with the bridge between."""
    with behind(back) as server:
        if front == "stdio":
            client([*BRIDGE, *server])
            return
        with served([*BRIDGE, *LISTENS, *server], PATHS[front]) as url:
            client([url])


def through(kind: str, commands: Dict[str, List[str]]) -> None:
    """Let an official client do its steps at the reference server, and again behind the bridge over HTTP."""
    programs = foreign.Programs(commands, "", peers.first_typescript() if kind == "ts1" else {}, {})
    session = Session(kind, "everything", "stdio", replays.STEPS, "legacy" if kind.endswith("2") else "")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = [*commands["everything"], "stdio"]
        saw = replays.client(programs, session, folder, server)
        for front, path in PATHS.items():
            with served([*BRIDGE, *LISTENS, "--inherit-env", "--", *server], path) as url:
                again = replays.client(programs, session, folder, [url])
            other = [pair for pair in zip(saw, again) if pair[0] != pair[1]]
            expect(not other, "the same over %s: %s" % (front, other[:1]))


def walks(clients: Dict[str, Official], ours: Callable[[str, List[str]], None],
          commands: Dict[str, List[str]], servers: List[str]) -> Dict[str, Callable[[], None]]:
    """Each pairing by name. ``ours(name, command)`` lets our client walk through a server."""
    table: Dict[str, Callable[[], None]] = {
        "bridge-" + name: partial(pairing, clients[name], *ends) for name, ends in PAIRINGS.items()}
    # The database tells of a change that nobody has asked for, which no stateless client is told.
    table.update({"bridge-" + name: partial(ours, name, [*BRIDGE, "--inherit-env", "--", *commands[name]])
                  for name in servers if name != "sqlite"})
    table.update({"bridge-through-" + kind: partial(through, kind, commands) for kind in ("py1", "py2", "ts1", "ts2")})
    return table
