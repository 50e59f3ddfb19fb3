"""Programs of other makers to talk to: installed into `build/peers`, pinned, cached. Prints their commands as JSON.

Nothing of theirs is changed. The npm packages' own dependencies are pinned by date, those of the Python ones stand in
the table where they matter. The Python ones need 3.10; where this interpreter is older, a newer one is looked for.
"""
import json
import os
import pathlib
import shutil
import sys
from typing import Dict, List, Tuple

from environments import BUILD, SetupError, environment, once, recent_python, run

PEERS = BUILD / "peers"
NPM_PINS: Dict[str, Tuple[str, str]] = {
    "everything": ("@modelcontextprotocol/server-everything@2026.8.31", "mcp-server-everything"),
    "filesystem": ("@modelcontextprotocol/server-filesystem@2026.8.31", "mcp-server-filesystem"),
}
NPM_BEFORE = "2026-11-01"
PYTHON_PINS: Dict[str, Tuple[str, ...]] = {
    "time": ("mcp-server-time==2026.10.19", "mcp==2.3.0"),
    "official_v1": ("mcp==1.30.0",),
    "official_v2": ("mcp==2.3.0",),
}
PYTHON_FLOOR = (3, 10)


def install() -> Dict[str, List[str]]:
    """Make what is missing; returns each peer's command: servers as they are, official clients as their interpreter."""
    python = recent_python(PYTHON_FLOOR)
    commands = {name: [environment(PEERS / name, pins, python)] for name, pins in PYTHON_PINS.items()}
    commands["time"] = [str(pathlib.Path(commands["time"][0]).with_name("mcp-server-time"))]
    commands.update(_install_npm())
    return commands


def _install_npm() -> Dict[str, List[str]]:
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise SetupError("npm and node are needed for the npm peers, and are not on PATH")
    folder = PEERS / "npm"
    packages = [package for package, _ in NPM_PINS.values()]

    def make() -> None:
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        run([str(npm), "install", "--before", NPM_BEFORE, "--ignore-scripts", "--no-audit", "--no-fund", *packages],
            "the npm peers cannot be installed", cwd=folder)

    once(folder, [*packages, "before " + NPM_BEFORE], make)
    ending = ".cmd" if os.name == "nt" else ""
    scripts = folder / "node_modules" / ".bin"
    return {name: [str(scripts / (command + ending))] for name, (_, command) in NPM_PINS.items()}


def main() -> int:
    """Print the commands."""
    try:
        print(json.dumps(install(), indent=1))
    except SetupError as error:
        print("peers: %s" % error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
