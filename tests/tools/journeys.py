"""Record four journeys through the package: the functions that run on the way of one call, in order.

    python3 tests/tools/journeys.py                  # print all four, as this checkout has them
    python3 tests/tools/journeys.py "stdio server"   # print one

``.github/CONTRIBUTING.md`` names eight functions of each journey, and a test compares.
"""
import argparse
import ast
import functools
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PACKAGE = ROOT / "mcp_ref"
CALLS = 3
"""Recorded calls of each journey. The first is cold and does not count; a late thread disturbs one of the others."""
PAUSE = 0.03
"""Seconds without a call that end a recording."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "journeys", "version": "1"}}
SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
from mcp_ref import Server
server = Server("journeys", version="1")
@server.tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b
server.run_http("127.0.0.1", 0, ready=lambda url: print(url, flush=True))
"""


class Recorder:
    """Records the calls of functions of the package, on all threads that start after it and on this one."""

    def __init__(self) -> None:
        self.seen: List[Tuple[str, str, int]] = []
        self._base = str(PACKAGE) + os.sep

    def __enter__(self) -> "Recorder":
        threading.setprofile(self._hook)
        sys.setprofile(self._hook)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _hook(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self._base) and code.co_name[0] != "<":
            self.seen.append((threading.current_thread().name, code.co_filename, code.co_firstlineno))

    def call(self, function: Callable[[], Any]) -> List[str]:
        """Call the function, wait until no thread does anything any more, and return what was passed."""
        self._wait()
        start = len(self.seen)
        function()
        self._wait()
        return functions_of(self.seen[start:])

    def _wait(self) -> None:
        """Wait for a pause in which nothing is recorded; that is the end of a journey, for nobody announces it."""
        known = -1
        while known != len(self.seen):
            known = len(self.seen)
            time.sleep(PAUSE)


def functions_of(seen: List[Tuple[str, str, int]]) -> List[str]:
    """Return the functions as ``module.function``, each where a thread of the package or the main one enters it first.
    """
    found: Dict[str, None] = {}
    for thread, file, line in seen:
        if thread.startswith("mcp-ref:") or thread == "MainThread":
            module = ".".join(pathlib.Path(file).relative_to(PACKAGE).with_suffix("").parts).replace(".__init__", "")
            found["%s.%s" % (module, names_in(file).get(line, "?"))] = None
    return list(found)


@functools.lru_cache(maxsize=None)
def names_in(file: str) -> Dict[int, str]:
    """Return line -> qualified name for each function of a file; code objects have that name from 3.11 on only."""
    found: Dict[int, str] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = prefix + child.name + "."
                if isinstance(child, ast.FunctionDef):
                    found[min([child.lineno] + [each.lineno for each in child.decorator_list])] = name[:-1]
            walk(child, name)

    walk(ast.parse(pathlib.Path(file).read_text(encoding="utf-8")), "")
    return found


# The four journeys


def stdio_server() -> Iterator[List[str]]:
    """A stdio server in a handshake session: a message comes down the pipe, its answer goes up."""
    from mcp_ref import Server
    from mcp_ref.transports.lines.stdio import StdioServer

    server = Server("journeys", version="1")
    server.tool(add)
    (stdin, ours), (theirs, stdout) = os.pipe(), os.pipe()
    with Recorder() as recorder, os.fdopen(ours, "wb", 0) as to_server, os.fdopen(theirs, "rb") as from_server:
        connection = server.connect(StdioServer(descriptors=(stdin, stdout)))

        def ask(method: str, params: Dict[str, Any], number: Optional[int]) -> None:
            to_server.write(message(method, params, number) + b"\n")
            if number is not None:
                from_server.readline()

        ask("initialize", HELLO, 1)
        ask("notifications/initialized", {}, None)
        for number in range(2, 2 + CALLS):
            yield recorder.call(functools.partial(ask, "tools/call", arguments(number), number))
        connection.close()


def http_server() -> Iterator[List[str]]:
    """An HTTP server in a handshake session: a POST comes, and its reply goes, on one kept connection."""
    from mcp_ref import Server

    server = Server("journeys", version="1")
    server.tool(add)
    with Recorder() as recorder, server.listen("http://127.0.0.1:0/mcp") as listener:
        port = int(listener.address.rsplit(":", 1)[1].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            reply = post(connection, port, message("initialize", HELLO, 1), []).decode()
            session = next(line.split(": ", 1)[1] for line in reply.split("\r\n")
                           if line.lower().startswith("mcp-session-id"))
            fields = ["Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-11-25"]
            post(connection, port, message("notifications/initialized", {}, None), fields)
            for number in range(2, 2 + CALLS):
                yield recorder.call(functools.partial(
                    post, connection, port, message("tools/call", arguments(number), number), fields))


def http_client() -> Iterator[List[str]]:
    """An HTTP client in a handshake session: `Client.call_tool`."""
    from mcp_ref import connect

    command = [sys.executable, "-c", SERVER, str(ROOT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True) as child:
        assert child.stdout is not None
        try:
            with Recorder() as recorder, connect(child.stdout.readline().strip(), era="legacy") as client:
                for number in range(CALLS):
                    yield recorder.call(functools.partial(client.call_tool, "add", {"a": number, "b": 2}))
        finally:
            child.terminate()


def unauthorized() -> Iterator[List[str]]:
    """A client without a token: `connect` is answered with 401, gets a token, and opens the session."""
    from tests.support.authorized import Authorized

    for _ in range(CALLS):
        with Authorized("2025-11-25") as scene, Recorder() as recorder:
            opened: List[Any] = []
            passed = recorder.call(lambda: opened.append(scene.connect()))
            opened[0].close()
            yield passed


JOURNEYS: Dict[str, Callable[[], Iterator[List[str]]]] = {
    "stdio server": stdio_server, "HTTP server": http_server, "HTTP client": http_client, "401 to token": unauthorized}
"""Name -> a generator of one recording for each call."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def arguments(number: int) -> Dict[str, Any]:
    """Return params of `tools/call`."""
    return {"name": "add", "arguments": {"a": number, "b": 2}}


def message(method: str, params: Dict[str, Any], number: Optional[int]) -> bytes:
    """Return a request, or without a number a notification."""
    members = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(members if number is None else dict(members, id=number)).encode()


def post(connection: socket.socket, port: int, body: bytes, fields: List[str]) -> bytes:
    """Send a POST on an open connection, and return its reply, which is short."""
    head = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1:%d" % port, "Content-Type: application/json",
            "Accept: application/json, text/event-stream", "Content-Length: %d" % len(body), *fields]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return connection.recv(65536)


def in_a_process(name: str) -> List[List[str]]:
    """Record a journey in a process of its own, in which nothing else was loaded; one list for each warm call."""
    done = subprocess.run([sys.executable, __file__, "--json", name], cwd=str(ROOT), stdout=subprocess.PIPE, check=True,
                          timeout=60)
    found: List[List[str]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print what is passed on the way of a call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="JOURNEY", help=", ".join(JOURNEYS))
    parser.add_argument("--json", choices=sorted(JOURNEYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.json:
        print(json.dumps(list(JOURNEYS[options.json]())[1:]))
        return
    for name in options.names or JOURNEYS:
        print("%s\n  %s" % (name, "\n  ".join(in_a_process(name)[-1])))


if __name__ == "__main__":
    main()
