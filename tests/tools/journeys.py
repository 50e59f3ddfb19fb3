"""Record four journeys through the package as lists of hops, and keep the lists in `mcp_ref.contributing` true.

    python3 tests/tools/journeys.py              # print the lists, as this checkout has them
    python3 tests/tools/journeys.py --write      # write them into the docstring of mcp_ref/contributing.py

A *hop* is a function of the package in which a thread enters a module for the first time on the way of one warm call.
The modules that every journey passes all the time (`INSIDES`) are left out. Each call is recorded several times, and a
list is that of most of them: a thread that happens to be late changes the record of one call, not of most.
"""
import argparse
import ast
import collections
import functools
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PACKAGE = ROOT / "mcp_ref"
PAGE = PACKAGE / "contributing.py"
PLACE = re.compile(r"(?<=\.\. journeys: written by tests/tools/journeys\.py --write\n\n).*?(?=\.\. end of journeys)",
                   re.DOTALL)
WIDTH = 120
CALLS = 9
"""Recorded calls of each journey; the list is that of most of them."""
PAUSE = 0.03
"""Seconds without a hop that end a recording."""
INSIDES = ("codec", "readers", "model", "records", "revisions", "limits", "errors", "jsontext", "deadline",
           "urls", "options", "methods", "messages.", "jsonschema", "diagnostics.",
           "transports.held", "http11.message", "server.registry.listing", "uritemplate")
SERVERS = ("server.", "streamable.server.", "auth.server.", "http11.server.")
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


class Hop(NamedTuple):
    """A thread's first function in a module: ``thread`` is its role, ``module`` and ``function`` as in Python."""

    thread: str
    module: str
    function: str


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

    def call(self, function: Callable[[], Any]) -> List[Hop]:
        """Call the function, wait until no thread does anything any more, and return the hops."""
        self._wait()
        start = len(self.seen)
        function()
        self._wait()
        return hops_of(self.seen[start:])

    def _wait(self) -> None:
        """Wait for a pause in which nothing is recorded; that is the end of a journey, for nobody announces it."""
        known = -1
        while known != len(self.seen):
            known = len(self.seen)
            time.sleep(PAUSE)


def hops_of(seen: List[Tuple[str, str, int]]) -> List[Hop]:
    """Return the first hop of each thread into each module, thread by thread."""
    found: Dict[str, Dict[str, Hop]] = collections.OrderedDict()
    for name, file, line in seen:
        thread = name.split(":")[1] if name.startswith("mcp-ref:") else "caller" if name == "MainThread" else ""
        module = ".".join(pathlib.Path(file).relative_to(PACKAGE).with_suffix("").parts).replace(".__init__", "")
        if thread and not module.startswith(INSIDES):
            hops, hop = found.setdefault(thread, collections.OrderedDict()), names_in(file).get(line, "?")
            if module not in hops or hops[module].function.endswith("__init__"):  # what is made is not what is done
                hops[module] = Hop(thread, module, hop)
    return [hop for hops in found.values() for hop in hops.values()]


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


def stdio_server() -> Iterator[List[Hop]]:
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


def http_server() -> Iterator[List[Hop]]:
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


def http_client() -> Iterator[List[Hop]]:
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


def unauthorized() -> Iterator[List[Hop]]:
    """A client without a token: `connect` is refused with 401, gets a token, and is let in. Modules of OAuth alone."""
    from tests.support.authorized import Authorized

    for _ in range(CALLS):
        with Authorized("2025-11-25") as scene, Recorder() as recorder:
            opened: List[Any] = []
            hops = recorder.call(lambda: opened.append(scene.connect()))
            opened[0].close()
            yield [hop for hop in hops if hop.module.startswith(("auth.", "streamable.client."))
                   and not hop.module.startswith("auth.server.")]


JOURNEYS: Dict[str, Callable[[], Iterator[List[Hop]]]] = {
    "stdio server": stdio_server, "HTTP server": http_server, "HTTP client": http_client, "401 to token": unauthorized}
"""Name -> a generator of one recording for each call; its docstring is the title of the list."""


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


def recorded(name: str) -> List[Hop]:
    """Return the hops of a journey: the list of most recordings, the first of which are cold and do not count."""
    lists = [tuple(hops) for hops in JOURNEYS[name]()]
    return list(collections.Counter(lists[2:]).most_common(1)[0][0])


# The page


def role(hop: Hop) -> str:
    """Return what the function does: the first sentence of its docstring, else of its class or module."""
    tree: Any = ast.parse(file_of(hop.module).read_text(encoding="utf-8"))
    texts = [ast.get_docstring(tree)]
    for name in hop.function.split("."):
        tree = next((node for node in ast.walk(tree) if getattr(node, "name", "") == name), None)
        texts += [ast.get_docstring(tree)] if isinstance(tree, (ast.FunctionDef, ast.ClassDef)) else []
    text = next((text for text in reversed(texts) if text), "")
    return re.split(r"(?<=[.:;])\s|\s\[|\n\n", text.replace("\n", " ") if "\n\n" not in text else
                    text.split("\n\n")[0].replace("\n", " "))[0].rstrip(".:; ")


def page(lists: Dict[str, List[Hop]]) -> str:
    """Return the section of the docstring: for each journey its title, and a line for each hop."""
    lines: List[str] = []
    for name, hops in lists.items():
        lines += [*textwrap.wrap("%s. %s" % (name[0].upper() + name[1:], JOURNEYS[name].__doc__), WIDTH), "", "::", ""]
        thread, width = "", max(len(hop.module + hop.function) for hop in hops) + 1
        for hop in hops:
            if hop.thread != thread:
                thread = hop.thread
                lines.append("    on the thread ``%s``" % thread)
            line = "      %-*s  %s" % (width, "%s.%s" % (hop.module, hop.function), role(hop).replace("\\", "/"))
            lines.append(line if len(line) <= WIDTH else line[:WIDTH - 3].rstrip() + "...")
        lines.append("")
    return "\n".join(lines) + "\n"


def written() -> Dict[str, List[Hop]]:
    """Return the hops that stand on the page."""
    found: Dict[str, List[Hop]] = {}
    section = PLACE.search(PAGE.read_text(encoding="utf-8"))
    name = thread = ""
    for line in section.group().splitlines() if section else []:
        title = next((each for each in JOURNEYS if line.lower().startswith(each.lower() + ". ")), "")
        if title:
            name = title
            found[name] = []
        elif line.startswith("    on the thread ``"):
            thread = line.split("``")[1]
        elif line.startswith("      "):
            full = line.split()[0]
            module = longest_module(full)
            found[name].append(Hop(thread, module, full[len(module) + 1:]))
    return found


def file_of(module: str) -> pathlib.Path:
    """Return the file of a module, which need not be there."""
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if (path / "__init__.py").is_file() else path.with_suffix(".py")


def longest_module(full: str) -> str:
    """Return the module of a full name such as ``peer.outbox.Outbox.put``; what follows a module is no module."""
    parts = full.split(".")
    for count in range(len(parts) - 1, 0, -1):
        if file_of(".".join(parts[:count])).is_file():
            return ".".join(parts[:count])
    return parts[0]


def main() -> None:
    """Print the lists, or write them; ``--json NAME`` prints the hops of one journey, recorded in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the lists into mcp_ref/contributing.py")
    parser.add_argument("--json", choices=sorted(JOURNEYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.json:
        print(json.dumps(recorded(options.json)))
        return
    text = page({name: in_a_process(name) for name in JOURNEYS})
    if options.write:
        PAGE.write_text(PLACE.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(text)


def in_a_process(name: str) -> List[Hop]:
    """Record a journey in a process of its own, in which nothing else was loaded or compiled."""
    done = subprocess.run([sys.executable, __file__, "--json", name], cwd=str(ROOT), stdout=subprocess.PIPE, check=True,
                          timeout=60)
    return [Hop(*each) for each in json.loads(done.stdout)]


if __name__ == "__main__":
    main()
