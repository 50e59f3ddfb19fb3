"""The common configuration file of hosts: which servers to start, and how.

::

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "value"}, "cwd": "."}}}

Other members beside ``mcpServers`` belong to other programs and are left alone. So do those of a server's entry that
are unknown here, but they are logged, because one may be a misspelt ``env``. An entry with ``"disabled": true`` is
skipped.
"""

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from ..options import closest
from .names import check_server_name

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_KNOWN = {"command", "args", "env", "cwd", "type", "disabled"}


class ServerEntry(NamedTuple):
    """How one server is started."""

    command: List[str]
    """The program and its arguments."""
    env: Optional[Dict[str, str]]
    """Added to the short list of variables that a child inherits; see `mcp_ref.client.connect`."""
    cwd: Optional[str]

    def __repr__(self) -> str:
        return "ServerEntry(%r and %d arguments, env=%r, cwd=%r)" % (
            self.command[0], len(self.command) - 1, sorted(self.env or ()), self.cwd)  # values may be secret


def read_config(config: Config) -> Dict[str, ServerEntry]:
    """The servers of a configuration, a path or an object, by name. Starts nothing.

    Raises ValueError that names the entry and the member, OSError for a file that cannot be read.
    """
    if isinstance(config, (str, os.PathLike)):
        config = _load(os.fspath(config))
    servers = config.get("mcpServers") if isinstance(config, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError("the configuration needs an object 'mcpServers', server name -> entry")
    entries: Dict[str, ServerEntry] = {}
    for name, entry in servers.items():
        check_server_name(name, entries)
        if not isinstance(entry, Mapping):
            raise ValueError("mcpServers.%s: expected an object" % name)
        if not isinstance(entry.get("disabled", False), bool):
            raise ValueError("mcpServers.%s.disabled: expected true or false" % name)
        entries[name] = _entry("mcpServers.%s" % name, entry)
    return {name: entry for name, entry in entries.items() if servers[name].get("disabled") is not True}


def _load(path: str) -> Any:
    from ..jsontext import loads

    with open(path, "rb") as file:
        data = file.read()
    try:
        return loads(data[3:] if data.startswith(b"\xef\xbb\xbf") else data)  # some editors write a BOM
    except ValueError as error:
        raise ValueError("%s: %s" % (path, error)) from None


def _entry(where: str, entry: Mapping[str, Any]) -> ServerEntry:
    if entry.get("type", "stdio") != "stdio" or "url" in entry:
        raise ValueError("%s: only servers that are started with a command are supported here, type \"stdio\"" % where)
    unknown = sorted(set(entry) - _KNOWN)
    if unknown:
        from ..packagelog import get_logger

        get_logger(__name__).warning(
            "%s: unknown members were ignored: %s", where, ", ".join(_with_meant(name) for name in unknown))
    command, args = entry.get("command"), entry.get("args", [])
    env, cwd = entry.get("env"), entry.get("cwd")
    if not isinstance(command, str) or not command:
        raise ValueError("%s.command: expected the program's name" % where)
    if not isinstance(args, (list, tuple)) or not all(isinstance(word, str) for word in args):
        raise ValueError("%s.args: expected an array of strings" % where)
    if env is not None and not (isinstance(env, Mapping) and all(isinstance(value, str) for value in env.values())):
        raise ValueError("%s.env: expected an object whose values are strings" % where)
    if cwd is not None and not isinstance(cwd, str):
        raise ValueError("%s.cwd: expected the path of a folder" % where)
    return ServerEntry([command] + list(args), None if env is None else dict(env), cwd)


def _with_meant(name: Any) -> str:
    """An unknown member, and the one that was probably meant."""
    meant = closest(str(name), _KNOWN)
    return "%s (did you mean %s?)" % (name, meant) if meant else str(name)
