"""The inspector's command line against a server of ours: one process for each step, its output is JSON."""
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

from official_walk import expect
from steps import SECONDS, Steps

STEPS: Dict[str, Tuple[Sequence[str], str]] = {
    "tools/list": ((), "tools"),
    "resources/list": ((), "resources"),
    "resources/templates/list": ((), "resourceTemplates"),
    "prompts/list": ((), "prompts"),
    "tools/call": (("--tool-name", "weather", "--tool-arg", "city=Bern"), "structuredContent"),
    "resources/read": (("--uri", "config://app"), "contents"),
    "prompts/get": (("--prompt-name", "review", "--prompt-args", "code=x"), "messages"),
    "logging/setLevel": (("--log-level", "error"), ""),
}
"""Method -> options, and the member that the printed result must have."""


def use(command: List[str], server: List[str]) -> None:
    """Every step. Raises what went wrong."""
    steps = Steps("inspector")
    with tempfile.TemporaryDirectory() as folder:
        for method, (options, member) in STEPS.items():
            result = _run(command, server, folder, ["--method", method, *options])
            expect(bool(result.get(member)) if member else True, method, result)
            steps.done(method)
        # It judges whether the schemas of tools are portable, and exits with a code of its own if one is not.
        _run(command, server, folder, ["--method", "tools/list", "--strict"])
        steps.done("tools/list --strict")


def _run(command: List[str], server: List[str], folder: str, options: Sequence[str]) -> Dict[str, Any]:
    environment = dict(os.environ, MCP_CATALOG_PATH=str(pathlib.Path(folder) / "catalog.json"), HOME=folder)
    done = subprocess.run([*command, "--cli", *server, *options], env=environment, cwd=folder, timeout=SECONDS * 3,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = done.stdout.decode("utf-8", "replace")
    errors = done.stderr.decode("utf-8", "replace")[-2000:]
    expect(done.returncode == 0, " ".join(options), done.returncode, text, errors)
    result: Dict[str, Any] = json.loads(text)
    return result
