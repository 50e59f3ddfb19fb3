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
FAILING = {"failing_job": "The job has failed.", "protocol_error_job": "The job cannot be done."}
"""Tools of the server for the official suite, and what they say."""


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


def use_extensions(command: List[str], url: str) -> None:
    """The tasks of both generations, and skills, which it verifies, of the server that the official suite is pointed
    at. It asks for a task in 2025-11-25 only where the tool requires one."""
    steps = Steps("inspector")
    with tempfile.TemporaryDirectory() as folder:
        for era in ("legacy", "modern"):
            server = [url, "--transport", "http", "--protocol-era", era]
            call = ["--method", "tools/call", "--tool-name"]
            done = _run(command, server, folder, [*call, "slow_compute", "--tool-arg", "seconds=0.2"])
            expect("for 0.2 seconds" in done["content"][0]["text"], "slow_compute", done)
            for tool, said in FAILING.items():
                code, text, errors = _start(command, server, folder, [*call, tool])
                expect(code != 0 and said in text + errors, tool, code, text, errors)
            steps.done("tasks", era=era)
        code, text, errors = _start(command, server, folder, ["--method", "skills/list", "--verify"])
        expect(code == 0 and "no conformance errors" in errors, "skills", code, text, errors)
        steps.done("skills/list --verify")


def _run(command: List[str], server: List[str], folder: str, options: Sequence[str]) -> Dict[str, Any]:
    code, text, errors = _start(command, server, folder, options)
    expect(code == 0, " ".join(options), code, text, errors)
    result: Dict[str, Any] = json.loads(text)
    return result


def _start(command: List[str], server: List[str], folder: str, options: Sequence[str]) -> Tuple[int, str, str]:
    environment = dict(os.environ, MCP_CATALOG_PATH=str(pathlib.Path(folder) / "catalog.json"), HOME=folder)
    done = subprocess.run([*command, "--cli", *server, *options], env=environment, cwd=folder, timeout=SECONDS * 3,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")[-2000:]
