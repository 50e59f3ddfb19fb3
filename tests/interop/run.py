"""Talk to real, unmodified programs of other makers: `make interop`.

 - the official clients (Python 1.x and 2.x, TypeScript 2.x, the newer ones in both eras) and the inspector's command
   line against `examples/everything_server.py`, over stdio, Streamable HTTP and HTTP+SSE
 - our client against the reference servers (`everything`, `filesystem`, `memory`, `git`, `sqlite`, `time`) over stdio,
   against `everything` and servers of the official SDK over both kinds of HTTP (`http_walks`), and against servers of
   both eras in both (`both_eras`)
 - our host with five of those servers at once
 - our server below WSGI engines and in frameworks (`http_shells`), in several processes behind nginx (`http_scale`),
   and behind programs that carry one transport over another (`proxies`)
 - our bridge between them: official clients before our server, ours before the reference servers (`bridged`)
 - clients that have to be let in, ours and theirs, with an authorization server that is not ours (`authorization`)
 - tasks: clients and servers of both generations (`task_walks`)
 - a server is examined, and what is found is compared with what was judged by hand (`examine_servers`)
 - our readers of HTTP requests and of Server-Sent Events beside other makers', on the same random input (`http_heads`,
   `sse_readers`)
 - the pages about porting from other libraries: their programs, their servers beside ours, every name (`porting`)
 - what works in a web page, in Pyodide (`web_page`)
 - the recipes of `examples/hosts/` whose hosts are libraries: `recipe-...` (`tests/hosts/libraries.py`)
 - bundles of `pack`, judged and started by the official tools (`bundles`); our reader of YAML beside PyYAML
 - recordings of the official clients, replayed to them as their server (`replays`)
 - `theirs-...`: the official clients against the official servers; a walk that fails there is not our fault

The peers are pinned and installed below `build/peers` (`tests/tools/peers.py`). Prints one JSON line per step and ends
with the count; the exit code is 0 only if all passed. A peer that cannot be installed is a failure, not a skip. In
`.ci/run` a pairing that failed is tried again: see `tests/tools/steady.py`.

Options: `--only NAME` (one pairing, repeatable), `--server COMMAND` (another server for the official clients).
"""
import argparse
import contextlib
import os
import pathlib
import shlex
import subprocess
import sys
import time
import traceback
from functools import partial
from typing import Callable, Dict, Iterator, List, Optional, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(HERE.parent / "tools"), str(HERE.parent / "hosts")]
CLIENT_SECONDS = 600
# Pairing -> script of the official client, the peer that runs it, and how it connects.
OFFICIAL_CLIENTS: Dict[str, Tuple[str, str, str]] = {
    "client-v1": ("official_client_v1.py", "official_v1", ""),
    "client-v2": ("official_client_v2.py", "official_v2", "auto"),
    "client-v2-pinned": ("official_client_v2.py", "official_v2", "2026-07-28"),
    "client-v2-legacy": ("official_client_v2.py", "official_v2", "legacy"),
    "client-ts": ("typescript_client.cjs", "typescript", "auto"),
    "client-ts-pinned": ("typescript_client.cjs", "typescript", "2026-07-28"),
    "client-ts-legacy": ("typescript_client.cjs", "typescript", "legacy"),
}
# Pairing -> the same over HTTP, and the path of the URL.
OVER_HTTP: Dict[str, Tuple[str, str]] = {
    "client-v1-http": ("client-v1", "/mcp"), "client-v1-sse": ("client-v1", "/sse"),
    **{name + "-http": (name, "/mcp") for name in OFFICIAL_CLIENTS if name != "client-v1"},
    "inspector-http": ("inspector", "/mcp"), "inspector-sse": ("inspector", "/sse"),
}
SERVERS = ("everything", "filesystem", "memory", "time", "git", "sqlite")


class PairingFailed(Exception):
    """A pairing did not end well; what it printed says why."""


def official_client(script: str, program: str, mode: str, server: List[str]) -> None:
    """Let an official client walk through a server; it starts the server itself."""
    import peers
    environment = dict(os.environ, PYTHONPATH=str(ROOT), MCP_MODE=mode, PYTHONDONTWRITEBYTECODE="1",
                       **peers.node_path())
    code = subprocess.run([program, str(HERE / script), *server], env=environment, cwd=str(ROOT),
                          stdin=subprocess.DEVNULL, timeout=CLIENT_SECONDS).returncode
    if code:
        raise PairingFailed("%s ended with %d" % (script, code))


@contextlib.contextmanager
def serving(path: str) -> Iterator[str]:
    """The URL of our example server, which runs over HTTP for the while."""
    command = [sys.executable, "-m", "mcp_ref", "run", str(ROOT / "examples" / "everything_server.py"),
               "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        line = process.stderr.readline().decode()
        if "serving on " not in line:
            raise PairingFailed("our server said %r" % line)
        yield line.split()[2].rstrip(";").replace("/mcp", path)
    finally:
        process.terminate()
        process.communicate()


def over_http(pairing: Callable[[List[str]], None], path: str) -> None:
    """A pairing with a URL in place of the command."""
    with serving(path) as url:
        pairing([url])


def elsewhere(pairing: Callable[[List[str]], None], script: List[str]) -> None:
    """A pairing with a server of another maker over HTTP."""
    import http_walks
    import peers
    with http_walks.serving([*script, "{port}"], "/mcp", **peers.node_path()) as url:
        pairing([url])


def inspector(command: List[str], server: List[str]) -> None:
    """Let the inspector's command line use a server of ours; it starts the server anew for each step."""
    import inspector_walk
    inspector_walk.use(command, server)


def our_host(commands: Dict[str, List[str]]) -> None:
    """Let our host use five servers at once."""
    import our_host as ours
    ours.use(commands)


def our_client(name: str, command: List[str]) -> None:
    """Let our client walk through a server of theirs."""
    import our_client as ours  # needs the package, which the other half does not
    ours.use(name, command)


def pairings(server: List[str]) -> Dict[str, Callable[[], None]]:
    """Every pairing by name; installs the peers."""
    import authorization
    import both_eras
    import bridged
    import bundles
    import examine_servers
    import http_heads
    import http_scale
    import http_shells
    import http_walks
    import libraries
    import peers
    import porting
    import proxies
    import replays
    import sse_readers
    import task_walks
    import web_page
    import yaml_readers
    commands = peers.install()
    theirs: Dict[str, Callable[[List[str]], None]] = {
        name: partial(official_client, script, commands[peer][0], mode)
        for name, (script, peer, mode) in OFFICIAL_CLIENTS.items()}
    theirs["inspector"] = partial(inspector, commands["inspector"])
    table: Dict[str, Callable[[], None]] = {name: partial(pairing, server) for name, pairing in theirs.items()}
    table.update({name: partial(over_http, theirs[like], path) for name, (like, path) in OVER_HTTP.items()})
    table.update({name: partial(our_client, name, commands[name]) for name in SERVERS})
    table["host"] = partial(our_host, commands)
    table.update({name: partial(walk, commands) for name, walk in http_walks.WALKS.items()})
    table.update({"era-" + name: partial(walk, commands) for name, walk in both_eras.WALKS.items()})
    for client in ("client-v2", "client-ts"):
        for name, made in both_eras.SERVERS.items():
            script = [*commands[made.peer], str(HERE / made.script)]
            table["theirs-%s-%s" % (client, name)] = partial(theirs[client], script)
            table["theirs-%s-%s-http" % (client, name)] = partial(elsewhere, theirs[client], script)
    table.update({name: partial(walk, commands, serving, theirs["client-v1"]) for name, walk in proxies.WALKS.items()})
    table.update(bridged.walks(theirs, our_client, commands, list(SERVERS)))
    table.update({name: partial(walk, commands) for name, walk in authorization.WALKS.items()})
    table.update({name: partial(walk, commands) for name, walk in task_walks.WALKS.items()})
    table.update({name: partial(walk, commands) for name, walk in porting.WALKS.items()})
    table.update({name: partial(walk, commands) for name, walk in replays.WALKS.items()})
    table.update({name: partial(walk, commands) for name, walk in examine_servers.QUICK.items()})
    table["http-heads"] = http_heads.walk
    table["bundles"] = bundles.walk
    table["yaml-readers"] = yaml_readers.walk
    table["sse-readers"] = partial(sse_readers.against_eventsource_parser, commands)
    table.update(http_shells.SHELLS)
    table.update(http_scale.SCALES)
    table.update(web_page.PAGES)
    table.update(libraries.WALKS)
    return table


def attempt(name: str, pairing: Callable[[], None]) -> Optional[str]:
    """Run one pairing and say how it went; what was wrong, or None."""
    print("\n---- %s" % name, flush=True)
    started = time.monotonic()
    try:
        pairing()
    except Exception as error:
        traceback.print_exc(file=sys.stdout)
        print("---- %s FAILED after %.1f s" % (name, time.monotonic() - started), flush=True)
        return "%s: %s" % (type(error).__name__, error)
    print("---- %s passed in %.1f s" % (name, time.monotonic() - started), flush=True)
    return None


def main() -> int:
    """Run the chosen pairings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="may be repeated; a beginning will do")
    parser.add_argument("--server", default="", help="command of another server for the official clients")
    options = parser.parse_args()
    import steady
    server = shlex.split(options.server) or [sys.executable, str(ROOT / "examples" / "everything_server.py")]
    try:
        table = pairings(server)
    except RuntimeError as error:
        print("interop: %s" % error, file=sys.stderr)
        return 2
    chosen = [name for name in table if not options.only or name.startswith(tuple(options.only))]
    wrong = {name: attempt(name, table[name]) for name in chosen}
    failures = [steady.Failure(name, "make interop", said) for name, said in wrong.items() if said]
    forgiven = steady.unsteady(failures, lambda failure: attempt(failure.name, table[failure.name]))
    for failure in failures:
        print("\n---- %s FAILED: %s" % (failure.name, failure.message))
    print("\ninterop: %d passed, %d failed%s" % (
        len(wrong) - len(failures), len(failures), ", but not again" if forgiven else ""))
    return 0 if wrong and (forgiven or not failures) else 1


if __name__ == "__main__":
    sys.exit(main())
