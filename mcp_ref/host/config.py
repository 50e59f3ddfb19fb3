"""The common configuration file of hosts: which servers to start, and how.

::

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "value"}, "cwd": "."}}}

Other members beside ``mcpServers`` belong to other programs and are left alone. So do those of a server's entry that
are unknown here, but they are logged, because one may be a misspelt ``env``. An entry with ``"disabled": true`` is
skipped. ``"connectTimeout"``, a number of seconds, is for one that takes longer to start, or is not worth waiting for;
``timeout`` of other programs is not read, because some mean milliseconds by it. An entry that is right, but not
supported here (a server at a ``url``, a name that no server can have here), does not keep the others from being used:
`Host.from_config` puts the reason into `Host.failed`.
"""

import os
from typing import Any, Dict, List, Mapping, MutableMapping, NamedTuple, Optional, Union

from ..options import closest, spelt
from .catalogue import check_server_name

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_KNOWN = {"command", "args", "env", "cwd", "type", "disabled", "connectTimeout"}


class ServerEntry(NamedTuple):
    """The way in which one server is started."""

    command: List[str]
    """The program and its arguments."""
    env: Optional[Dict[str, str]]
    """Variables that are added to the short list that a child inherits; see `mcp_ref.client.connect`."""
    cwd: Optional[str]
    timeout: Optional[float] = None
    """Seconds that connecting may take, as for `Host.connect`."""

    def __repr__(self) -> str:
        return "ServerEntry(%r and %d arguments, env=%r, cwd=%r)" % (
            self.command[0], len(self.command) - 1, sorted(self.env or ()), self.cwd)  # values may be secret


@spelt
def read_config(config: Config, unsupported: Optional[MutableMapping[str, str]] = None) -> Dict[str, ServerEntry]:
    """Return the servers of a configuration, a path or an object, by name. Starts nothing.

    ``unsupported`` is filled with the names of the entries that are not supported here, and why. Raises ValueError
    that names the entry and the member, also for an entry that is not supported if ``unsupported`` is not given;
    OSError for a file that cannot be read.
    """
    if isinstance(config, (str, os.PathLike)):
        config = _load(os.fspath(config))
    servers = config.get("mcpServers") if isinstance(config, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError("the configuration needs an object 'mcpServers', server name -> entry")
    entries: Dict[str, ServerEntry] = {}
    for name, entry in servers.items():
        where = "mcpServers.%s" % name
        if not isinstance(entry, Mapping):
            raise ValueError("%s: expected an object" % where)
        disabled = entry.get("disabled", False)
        if not isinstance(disabled, bool):
            raise ValueError("%s.disabled: expected true or false" % where)
        reason = _reason_against(name, where, entry, entries)
        if not reason:
            read = _entry(where, entry)
            if not disabled:
                entries[name] = read
        elif unsupported is None:
            raise ValueError(reason)
        elif not disabled:
            unsupported[str(name)] = reason
    return entries


def _reason_against(name: Any, where: str, entry: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """Return why an entry is not supported; "" if it is."""
    if entry.get("type", "stdio") != "stdio" or "url" in entry:
        return "%s: only servers that are started with a command are supported here, type \"stdio\"" % where
    try:
        check_server_name(name, others)
    except ValueError as error:
        return str(error)
    return ""


def _load(path: str) -> Any:
    from ..jsontext import loads

    with open(path, "rb") as file:
        data = file.read()
    try:
        return loads(data[3:] if data.startswith(b"\xef\xbb\xbf") else data)  # some editors write a BOM
    except ValueError as error:
        raise ValueError("%s: %s" % (path, error)) from None


def _entry(where: str, entry: Mapping[str, Any]) -> ServerEntry:
    unknown = sorted(set(entry) - _KNOWN)
    if unknown:
        from ..diagnostics.packagelog import get_logger

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
    timeout = entry.get("connectTimeout")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0):
        raise ValueError("%s.connectTimeout: expected a number of seconds, more than 0" % where)
    return ServerEntry([command] + list(args), None if env is None else dict(env), cwd, timeout)


def _with_meant(name: Any) -> str:
    """Return an unknown member with the one that was probably meant."""
    meant = closest(str(name), _KNOWN)
    return "%s (did you mean %s?)" % (name, meant) if meant else str(name)
