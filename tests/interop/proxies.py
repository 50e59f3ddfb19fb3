"""Programs of other makers that carry one transport over another, between client and server; `make interop` runs them.

===========================  ========================================  ==============================================
pairing                      server                                    client
===========================  ========================================  ==============================================
`mcp-remote-http`, `-sse`    ours, over HTTP                           the official one, 1.x, over the proxy's stdio
`mcp-remote-ours`            the reference server, over HTTP           ours, over the proxy's stdio
`supergateway-http`, `-sse`  ours, over stdio, one for each session    the official one, 1.x, over the proxy's HTTP
`supergateway-ours`          the reference server, over stdio          ours, over the proxy's HTTP
`supergateway-from-http`,    ours, over HTTP                           ours, over the proxy's stdio; this direction of
`-from-sse`                                                            the proxy declares no capability of the client
===========================  ========================================  ==============================================

Our client is told to begin with a handshake: supergateway begins one by itself when the first message is none, and
answers -32601 with 404, which only a server without handshake does. Through it nothing is given up: it loses the way to
a client that has left one POST.

`WALKS` has each by name, as a function of the peers' commands.
"""
import contextlib
import os
import pathlib
import shlex
import sys
import tempfile
from functools import partial
from typing import Any, Callable, Dict, Iterator, List

import everything_walk
import peers
from http_walks import serving
from mcp_ref import connect
from official_walk import expect
from steps import Steps, names, texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = " ".join(map(shlex.quote, [sys.executable, str(ROOT / "examples" / "everything_server.py")]))

Commands = Dict[str, List[str]]
Ours = Callable[[str], Any]
"""Our example server over HTTP, at this path, for the while: its URL."""
Official = Callable[[List[str]], None]
"""The official client's walk through a server: a command, or a URL."""
OUTPUTS = {"http": (["streamableHttp", "--stateful"], "/mcp"), "sse": (["sse"], "/sse")}
"""What supergateway is told, and its path."""
INPUTS = {"http": ("--streamableHttp", "/mcp"), "sse": ("--sse", "/sse")}


@contextlib.contextmanager
def remote(url: str, kind: str) -> Iterator[List[str]]:
    """The command of mcp-remote before this URL; it keeps its notes in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MCP_REMOTE_CONFIG_DIR"] = folder
        try:
            yield [peers.proxy("mcp-remote"), url, "--transport", kind + "-only"]
        finally:
            del os.environ["MCP_REMOTE_CONFIG_DIR"]


def gateway(stdio: str, kind: str) -> Any:
    """supergateway before a server over stdio; its URL."""
    output, path = OUTPUTS[kind]
    command = [peers.proxy("supergateway"), "--stdio", stdio, "--port", "{port}", "--logLevel", "none",
               "--outputTransport", *output]
    return serving(command, path)


def official_by_remote(kind: str, commands: Commands, ours: Ours, official: Official) -> None:
    """The official client through mcp-remote."""
    with ours(OUTPUTS[kind][1]) as url, remote(url, kind) as command:
        official(command)


def official_by_gateway(kind: str, commands: Commands, ours: Ours, official: Official) -> None:
    """The official client through supergateway."""
    with gateway(EXAMPLE, kind) as url:
        official([url])


def ours_by_remote(commands: Commands, ours: Ours, official: Official) -> None:
    """Our client through mcp-remote."""
    with serving([*commands["everything"], "streamableHttp"], "/mcp", PORT="{port}") as url:
        with remote(url, "http") as command:
            everything(command, "mcp-remote")


def ours_by_gateway(commands: Commands, ours: Ours, official: Official) -> None:
    """Our client through supergateway."""
    with gateway(" ".join(map(shlex.quote, [*commands["everything"], "stdio"])), "http") as url:
        everything(url, "supergateway", cancelling=False)


def everything(target: Any, name: str, cancelling: bool = True) -> None:
    """Our client's walk through the reference server."""
    steps, user = Steps("everything by %s" % name), everything_walk.User()
    with tempfile.TemporaryDirectory() as made:
        with connect(target, era="legacy", **user.offers(str(pathlib.Path(made).resolve()))) as client:
            steps.done("connect", protocol=client.revision.name)
            everything_walk.walk(client, user, steps, cancelling)
    steps.done("close")


def both_ends(kind: str, commands: Commands, ours: Ours, official: Official) -> None:
    """Our client and our server, supergateway between them."""
    steps = Steps("supergateway from %s" % kind)
    option, path = INPUTS[kind]
    command = [peers.proxy("supergateway"), option]
    with ours(path) as url, connect([*command, url, "--logLevel", "none"], era="legacy") as client:
        steps.done("connect", protocol=client.revision.name)
        expect({"echo", "add"} <= set(names(client.tools())) and "config://app" in [
            resource.uri for resource in client.resources()], "lists")
        expect(texts(client.call_tool("add", {"a": 2, "b": 3})) == ["5"], "add")
        steps.done("tools")
        expect(bool(client.read_resource("config://app").contents), "a resource")
        expect(bool(client.get_prompt("review", {"code": "x = 1"}).messages), "a prompt")
        steps.done("resources and prompts")
    steps.done("close")


WALKS: Dict[str, Callable[[Commands, Ours, Official], None]] = {
    **{"mcp-remote-" + kind: partial(official_by_remote, kind) for kind in OUTPUTS},
    "mcp-remote-ours": ours_by_remote,
    **{"supergateway-" + kind: partial(official_by_gateway, kind) for kind in OUTPUTS},
    "supergateway-ours": ours_by_gateway,
    **{"supergateway-from-" + kind: partial(both_ends, kind) for kind in INPUTS},
}
"""Every walk by name."""
