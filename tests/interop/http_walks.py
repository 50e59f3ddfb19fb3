"""Our client against HTTP servers of other makers; `make interop` runs them.

 - the reference server `everything`, over Streamable HTTP and over HTTP+SSE
 - servers of the official Python SDK, 1.x and 2.x: streams, JSON answers, without sessions, with resumable streams,
   and HTTP+SSE; and what happens when they forget the session

`WALKS` has each by name, as a function of the peers' commands (`tests/tools/peers.py`). Each server gets a free
loopback port, and is ended by its own process id.
"""
import contextlib
import http.client
import os
import pathlib
import socket
import subprocess
import tempfile
import time
from functools import partial
from typing import Any, Callable, Dict, Iterator, List

import everything_walk
from mcp_ref import connect
from official_walk import expect
from steps import SECONDS, Steps, names, texts

HERE = pathlib.Path(__file__).resolve().parent

Commands = Dict[str, List[str]]
MODES = ("streamable-http", "json", "stateless", "resumable", "sse")


@contextlib.contextmanager
def serving(command: List[str], path: str, **env: str) -> Iterator[str]:
    """The URL of a server that is started for the while; ``{port}`` in its command and variables is filled in."""
    port = str(free_port())
    filled = {name: value.replace("{port}", port) for name, value in env.items()}
    process = subprocess.Popen([part.replace("{port}", port) for part in command], env=dict(os.environ, **filled),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + SECONDS
        while not _answers(int(port)):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("%s did not start" % command[-1])
            time.sleep(0.05)
        yield "http://127.0.0.1:%s%s" % (port, path)
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def everything(mode: str, path: str, commands: Commands) -> None:
    """The reference server."""
    steps, user = Steps("everything %s" % mode), everything_walk.User()
    with tempfile.TemporaryDirectory() as made, serving([*commands["everything"], mode], path, PORT="{port}") as url:
        with connect(url, **user.offers(str(pathlib.Path(made).resolve()))) as client:
            steps.done("connect", protocol=client.revision.name, transport=client.connection.transport.name)
            everything_walk.walk(client, user, steps)
        steps.done("close")


def official(peer: str, mode: str, commands: Commands) -> None:
    """A server of the official SDK: its sessions, that is, though the newer one does without, too (`both_eras`)."""
    steps = Steps("%s %s" % (peer, mode))
    script = [commands[peer][0], str(HERE / "official_everything_http.py"), "{port}", mode]
    with serving(script, "/sse" if mode == "sse" else "/mcp") as url:
        with connect(url, era="legacy", elicitation=lambda params, context: {"name": "Ada"}) as client:
            steps.done("connect", protocol=client.revision.name, transport=client.connection.transport.name)
            expect("add" in names(client.tools()), "lists")
            for number in range(20):
                expect(texts(client.call_tool("add", {"a": number, "b": 1})) == [str(number + 1)], "add")
            steps.done("tools")
            seen: List[float] = []
            client.call_tool("steps", progress=lambda value, total, message: seen.append(value))
            expect(seen == [1, 2, 3] or mode == "json", "progress", seen)
            steps.done("progress", seen=seen)
            if mode not in ("json", "stateless"):
                expect(texts(client.call_tool("ask")) == ["Hello Ada"], "a question")
                steps.done("elicitation")
            if mode == "resumable":
                started = time.monotonic()
                expect(texts(client.call_tool("poll")) == ["resumed"], "a stream that was closed")
                steps.done("resuming", took=round(time.monotonic() - started, 3))
            if mode not in ("stateless", "sse"):
                _forgotten(client, url, steps)
        steps.done("close")


def _forgotten(client: Any, url: str, steps: Steps) -> None:
    """End the session behind the client's back: the next call begins a new one."""
    before = client.connection
    session = before.transport.inner._session
    _, _, place, path = url.split("/", 3)
    behind = http.client.HTTPConnection(place)
    behind.request("DELETE", "/" + path, headers={"Mcp-Session-Id": session})
    behind.getresponse().read()
    behind.close()
    expect(texts(client.call_tool("add", {"a": 1, "b": 1})) == ["2"], "a call after the session was ended")
    expect(client.connection is not before and client.connection.transport.inner._session != session, "a new session")
    steps.done("new session")


WALKS: Dict[str, Callable[[Commands], None]] = {
    "everything-http": partial(everything, "streamableHttp", "/mcp"),
    "everything-sse": partial(everything, "sse", "/sse"),
    **{"%s-%s" % (peer, mode): partial(official, peer, mode)
       for peer in ("official_v1", "official_v2") for mode in MODES},
}
"""Every walk by name."""
