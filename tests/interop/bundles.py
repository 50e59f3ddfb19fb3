"""Bundles that `pack` makes, judged, unpacked and started by the official tools (npm: @anthropic-ai/mcpb).

The command to start them comes from the official code that hosts use. Each is run on every CPython from 3.8 on that is
found here, without site-packages, and its tools are called. The official `pack` makes a bundle of the same files, too,
and ours reads it.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

import interpreters
import peers
from steps import Steps, names

from mcp_ref import connect

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 600
ECHO = ROOT / "examples" / "echo_server.py"
TOLD = """
import json, os, sys
from mcp_ref import Server
import helper

server = Server("told", version="2.0.0", description="Tells what it was given.")

@server.tool
def told() -> str:
    "Tell the arguments and some variables."
    return json.dumps([sys.argv[1:], {name: os.environ.get(name) for name in ("API_KEY", "EMPTY", "LIMIT", "MODE")},
                       helper.WORD])

@server.prompt
def ask(topic: str) -> str:
    "Ask about something."
    return "Tell me about %s." % topic

if __name__ == "__main__":
    server.run()
"""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000" "1f15c489")
OPTIONS = [
    "--author", "Ada <ada@example.com>", "--license", "MIT", "--icon", "icon.png", "--include", "helper.py",
    "--env", "API_KEY=secret", "--env", "EMPTY=string?", "--env", "LIMIT=number:10", "--env", "MODE=fixed:fast",
    "--arg=--read-only", "--arg=--folder=directory", "--arg", "roots=directory*", "--arg=--deep=boolean:false",
    "--try", "API_KEY=k", "--try", "folder=.", "--manifest-version", "0.4"]
USER: Dict[str, Any] = {"api_key": "k 1", "folder": "/some where", "roots": ["/a", "/b c"]}
WANTED = [["--read-only", "--folder=/some where", "/a", "/b c", "--deep=false"],
          {"API_KEY": "k 1", "EMPTY": "", "LIMIT": "10", "MODE": "fast"}, "helped"]


def run(command: List[str], folder: str, **environment: str) -> str:
    """Run a command; its standard output."""
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=SECONDS)
    assert done.returncode == 0, "%s: %s" % (command, done.stdout)
    return done.stdout


def pack(folder: str, script: str, target: str, *options: str) -> None:
    """Make a bundle by our command."""
    run([sys.executable, "-m", "mcp_ref", "pack", script, "-o", target, *options], folder, PYTHONPATH=str(ROOT))


def judged(modules: pathlib.Path, folder: str, bundle: str) -> str:
    """Have the official tools look at a bundle and unpack it; where to."""
    tool = [str(modules / ".bin" / "mcpb")]
    target = bundle + ".unpacked"
    assert "Size" in run([*tool, "info", bundle], folder)
    run([*tool, "unpack", bundle, target], folder)
    assert "validation passes" in run([*tool, "validate", target], folder)
    return target


def started(modules: pathlib.Path, target: str, user: Dict[str, Any], python: str) -> Any:
    """A client of the server of an unpacked bundle: the command is the official one, the interpreter this one."""
    config = json.loads(run([str(shutil.which("node")), str(HERE / "bundle_config.mjs"), str(modules), target,
                             json.dumps(user)], target))
    assert config["command"] == "python3", config
    return connect([python, "-I", "-S", "-B", *config["args"]], env=config.get("env", {}), cwd=os.sep)


def walk() -> None:
    """Make, judge, unpack, start and pack again."""
    steps = Steps("bundles")
    modules = peers.mcpb()
    pythons = [found.path for found in map(interpreters.find, interpreters.SUPPORTED) if found]
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("told.py", TOLD.encode()), ("helper.py", b"WORD = 'helped'\n"), ("icon.png", PNG)):
            pathlib.Path(folder, name).write_bytes(data)
        pack(folder, str(ECHO), "echo.mcpb", "--author", "Ada", "--version", "1.0.0")
        pack(folder, "told.py", "told.mcpb", *OPTIONS)
        steps.done("packed")
        echo, told = (judged(modules, folder, os.path.join(folder, name)) for name in ("echo.mcpb", "told.mcpb"))
        steps.done("valid by the official tools")
        for python in pythons:
            with started(modules, echo, {}, python) as client:
                assert names(client.tools()) == ["echo", "add", "count", "slow"]
                assert client.call_tool("add", {"a": 2, "b": 3}).structured_content == {"result": 5}
            with started(modules, told, USER, python) as client:
                assert json.loads(client.call_tool("told").content[0].text) == WANTED
            steps.done("ran", python=python)
        assert pythons
        run([str(modules / ".bin" / "mcpb"), "pack", told, "theirs.mcpb"], folder)
        said = run([sys.executable, "-m", "mcp_ref", "pack", "--check", "theirs.mcpb", "--try", "api_key=k", "--try",
                    "folder=/x"], folder, PYTHONPATH=str(ROOT))
        assert "is in order, starts" in said, said
        steps.done("a bundle of the official tools is read")
