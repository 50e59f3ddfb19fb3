"""Our client against the servers of other makers: how each is started, and the walk through it.

A walk takes a connected client and asserts nothing by luck: it knows what that pinned version of the server answers.
"""
import pathlib
import tempfile
from typing import Any, Callable, Dict, List

import everything_walk
import small_servers
from mcp_ref import connect
from steps import Steps


def use(name: str, command: List[str]) -> None:
    """Start a server, walk through it, close it. Raises what went wrong."""
    with tempfile.TemporaryDirectory() as made:
        folder = str(pathlib.Path(made).resolve())
        WALKS[name](command, folder, Steps(name))


def _everything(command: List[str], folder: str, steps: Steps) -> None:
    user = everything_walk.User()
    with connect(command, **user.offers(folder)) as client:
        steps.done("connect", protocol=client.revision.name)
        everything_walk.walk(client, user, steps)
    steps.done("close")


def _git(command: List[str], folder: str, steps: Steps) -> None:
    small_servers.repository(folder)
    _simple(lambda client, steps: small_servers.git(client, steps, folder), "--repository", "{folder}")(
        command, folder, steps)


def _simple(walk: Callable[[Any, Steps], None], *arguments: str, **env: str) -> Callable[..., None]:
    """A server that needs nothing but arguments and variables, with ``{folder}`` in them."""

    def run(command: List[str], folder: str, steps: Steps) -> None:
        filled = [argument.format(folder=folder) for argument in arguments]
        variables = {name: value.format(folder=folder) for name, value in env.items()}
        with connect(command + filled, env=variables) as client:
            steps.done("connect", protocol=client.revision.name)
            walk(client, steps)
        steps.done("close")

    return run


WALKS: Dict[str, Callable[[List[str], str, Steps], None]] = {
    "everything": _everything,
    "filesystem": _simple(small_servers.filesystem, "{folder}"),
    "memory": _simple(small_servers.memory, MEMORY_FILE_PATH="{folder}/memory.json"),
    "time": _simple(small_servers.current_time),
    "git": _git,
    "sqlite": _simple(small_servers.sqlite, "--db-path", "{folder}/test.db"),
}
