"""The configuration files of hosts: which servers there are, and how each is reached. Text in, entries out.

There is no standard for these files, and a dozen dialects of one idea::

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "value"}, "cwd": "."},
                    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}}}}

=============  =======================================================================================================
what           how it may be written
=============  =======================================================================================================
the file       JSON, with comments, trailing commas and a BOM; TOML, if the name ends in ``.toml`` (Python 3.11); a
               subset of YAML (see `mcp_ref.yaml`), if it ends in ``.yaml`` or ``.yml``
the servers    an object, or an array of objects with ``name``, at each of ``mcpServers``, ``servers``,
               ``context_servers``, ``mcp``, ``mcp_servers``, also in ``mcp`` and in each of ``projects``; what stands
               beside it belongs to other programs. A name that two projects have is PROJECT-NAME in the second
a program      ``command``: a text, an array with the arguments, or an object with ``path``, ``args``, ``env``
an address     ``httpUrl``, ``serverUrl`` or ``url``; which HTTP transport is spoken there is found out, whatever
               ``type`` says. ``headers``, also in ``requestOptions``; ``bearer_token_env_var`` is an ``Authorization``
environment    ``env`` or ``environment``, ``env_vars`` (names of ours), ``envFile`` (lines ``NAME=VALUE``)
a variable     ``${NAME}``, ``${env:NAME}``, ``{env:NAME}``, each with ``:-default`` before the brace; ``${file:PATH}``;
               ``${{ secrets.NAME }}``, which is taken from our environment, too;
               ``${input:ID}``; ``${workspaceFolder}`` (the folder of the file, or the one above a ``.folder``),
               ``${userHome}``; in a folder ``.gemini`` also ``$NAME``
not to start   ``"disabled": true`` or ``"enabled": false``: the entry is skipped
=============  =======================================================================================================

Variables stand in ``command``, ``args``, ``env``, ``cwd``, ``url`` and ``headers``. What they stand for is not searched
for variables again. One that is not set, or is empty, is an error that names entry and member: an empty token
would be a failure that nobody sees.

What a host does with an entry and we do not is a note of the entry, and logged: approvals given in advance
(``autoApprove``), lists of tools, members that nobody knows, since one may be a misspelt ``env``. ``connectTimeout``,
a number of seconds, is for a server that takes longer to start; ``timeout`` of other programs is not read, because
some mean milliseconds by it. An entry that is right, but cannot be used here, leaves the others alone:
`Host.from_config` puts the reason into `Host.failed`.
"""

import os
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, MutableMapping, NamedTuple, Optional, Tuple, Union

from ..options import closest, strict_options
from ..streamable.client.posts import check
from ..urls import scheme_of
from .catalogue import server_name

AskInput = Callable[[str, str, bool], Optional[str]]
"""A function that answers ``${input:ID}``: id, description, and whether it is a secret; None for no answer."""
Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
TOP_KEYS = ("mcpServers", "servers", "context_servers", "mcp", "mcp_servers")
MAX_FILE = 16 * 1024 * 1024
"""Bytes of a file that is read; some hosts keep much beside the servers."""
_VARIABLE = re.compile(
    r"\$\{\{ *secrets\.(\w+) *\}\}|\$\{([^{}]*)(\}?)|\{((?:env|file):[^{}]*)\}|\$([A-Za-z_]\w*)")
_OUTSIDE_STRINGS = r'("[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z))|'
_COMMENT = re.compile(_OUTSIDE_STRINGS + r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_OUTSIDE_STRINGS + r"([\[{,]\s*,)|,(?=\s*[\]}])", re.DOTALL)
"""A comma before a bracket, unless no value is before it: JSON then refuses it."""


class EntryUnusable(ValueError):
    """The entry may be right, but cannot be used here and now; the others can."""


class Configuration(NamedTuple):
    """A file, or an object, with the servers that it names."""

    path: str
    """The path of the file; "" for an object."""
    tops: Dict[str, str]
    """Name of a server -> the member that holds it."""
    servers: Dict[str, Any]
    inputs: Dict[str, Mapping[str, Any]]
    """Values that a person is asked for: id -> what describes it."""

    @classmethod
    def load(cls, config: Config) -> "Configuration":
        """Read a file, or take an object. Raises ValueError for what is no configuration, OSError."""
        path = ""
        if isinstance(config, (str, os.PathLike)):
            path = os.fspath(config)
            with open(path, "rb") as file:
                config = parse(path, file.read(MAX_FILE + 1))
        try:
            return cls._of(path, config)
        except ValueError as error:
            raise ValueError("%s: %s" % (path, error) if path else str(error)) from None

    @classmethod
    def _of(cls, path: str, config: Any) -> "Configuration":
        servers: Dict[str, Any] = {}
        tops: Dict[str, str] = {}
        maps = list(_maps(config))
        for top, named in maps:
            for name, entry in named.items():
                if name in servers and servers[name] != entry:
                    project = os.path.basename(top.partition("[")[2].rpartition("]")[0])
                    if not project or project + "-" + name in servers:
                        raise ValueError("%s and %s both have an entry %s: rename one" % (tops[name], top, name))
                    name = project + "-" + name
                servers.setdefault(name, entry)
                tops.setdefault(name, top)
        if not maps:
            raise ValueError("the configuration needs an object 'mcpServers', server name -> entry (or %s)" % ", ".join(
                TOP_KEYS[1:]))
        inputs = config.get("inputs")
        listed = inputs if isinstance(inputs, (list, tuple)) else ()
        return cls(path, tops, servers, {
            each["id"]: each for each in listed if isinstance(each, Mapping) and isinstance(each.get("id"), str)})

    def where(self, name: Any) -> str:
        """Return the words for an entry in errors."""
        top = self.tops.get(name) or next(iter(self.tops.values()), TOP_KEYS[0])  # a derived name has none
        return "%s%s.%s" % (self.path + ": " if self.path else "", top, name)

    @property
    def folder(self) -> str:
        """The folder to which the configuration belongs: of ``.vscode/mcp.json`` the one with ``.vscode`` in it."""
        folder = os.path.dirname(os.path.abspath(self.path)) if self.path else os.getcwd()
        return os.path.dirname(folder) if self.path and os.path.basename(folder).startswith(".") else folder


def _maps(config: Any, within: str = "") -> Iterator[Tuple[str, Mapping[str, Any]]]:
    """Yield each object of servers in a configuration, by the member that holds it."""
    if not isinstance(config, Mapping):
        return
    for top in TOP_KEYS:
        servers = config.get(top)
        if top == "mcp" and isinstance(servers, Mapping) and not within:
            nested = list(_maps(servers, "mcp."))
            if nested:
                yield from nested
                continue
        if isinstance(servers, (list, tuple)) and servers:
            servers = _by_name(within + top, servers)
        if not isinstance(servers, Mapping) or within == "mcp." and ("command" in servers or "url" in servers):
            continue  # the second is an entry that is called so
        if top != "mcp" or all(isinstance(each, Mapping) for each in servers.values()):
            yield within + top, servers
    projects = config.get("projects")
    for folder, project in projects.items() if isinstance(projects, Mapping) and not within else ():
        yield from _maps(project, "projects[%s]." % folder)


def _by_name(top: str, servers: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for number, each in enumerate(servers):
        name = each.get("name") if isinstance(each, Mapping) else None
        if not isinstance(name, str) or name in found:
            raise ValueError("%s[%d].name: expected a text that no other entry has" % (top, number))
        found[name] = each
    return found


def parse(path: str, data: bytes) -> Any:
    """Return the value of a file's bytes, which are TOML or YAML if ``path`` ends so. Raises ValueError with the path.
    """
    try:
        if len(data) > MAX_FILE:
            raise ValueError("more than %d bytes: this is no configuration" % MAX_FILE)
        data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data  # some editors write a BOM
        ending = os.path.splitext(path)[1].lower()
        if ending == ".toml":
            return _toml(data)
        if ending in (".yaml", ".yml"):
            return _yaml(data)
        return _json(data)
    except ValueError as error:
        raise ValueError("%s: %s" % (path, error)) from None


def _json(data: bytes) -> Any:
    from ..jsontext import JsonError, loads

    try:
        return loads(data)
    except JsonError as error:
        if b"/" not in data and b"," not in data or "UTF-8" in str(error):
            raise
    return loads(without_last_commas(without_comments(data.decode("utf-8"))).encode("utf-8"))


def without_comments(text: str) -> str:
    """Return JSON text with spaces in place of comments, so that what is left keeps its place. Raises ValueError."""
    def blank(found: "re.Match[str]") -> str:
        comment = found.group()
        if found.group(1) is not None:
            return comment
        if comment.startswith("/*") and (len(comment) < 4 or not comment.endswith("*/")):
            raise ValueError("a comment that begins in line %d does not end" % (text.count("\n", 0, found.start()) + 1))
        return re.sub(r"[^\r\n]", " ", comment)

    return _COMMENT.sub(blank, text)


def without_last_commas(text: str) -> str:
    """Return JSON text without comments with a space in place of each comma before ``}`` or ``]``."""
    return _LAST_COMMA.sub(lambda found: found.group(1) or found.group(2) or " ", text)


def _yaml(data: bytes) -> Any:
    from ..yaml import read_yaml

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    return read_yaml(text)


def _toml(data: bytes) -> Any:
    from importlib import import_module

    if sys.version_info < (3, 11):
        raise ValueError("TOML is read from Python 3.11 on, and this is %d.%d: use a newer python3, or write the same "
                         "as JSON, {\"mcpServers\": {NAME: {...}}}" % sys.version_info[:2])
    try:
        return import_module("tomllib").loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("not TOML: nested too deep") from None
    except ValueError as error:
        raise ValueError("not TOML: %s" % error) from None


# Variables


class Variables:
    """The values of the variables of a configuration: our environment, files, the answers of a person."""

    def __init__(self, found: Configuration, ask_input: Optional[AskInput] = None) -> None:
        self._found = found
        self._ask = ask_input
        self._answers: Dict[str, Optional[str]] = {}
        self._bare = os.path.basename(os.path.dirname(os.path.abspath(found.path))) == ".gemini"

    def text(self, where: str, value: str) -> str:
        """Return a text with values in place of variables. ``where``: the member. Raises `EntryUnusable`."""
        return _VARIABLE.sub(lambda match: self._value(where, match), value)

    def _value(self, where: str, match: "re.Match[str]") -> str:
        """Return what one variable stands for."""
        secret, inner, end, other, bare = match.groups()
        shown = match.group() if end != "" else match.group() + "..."
        if bare is not None and not self._bare:
            return match.group()
        name = bare if bare is not None else other if other is not None else inner
        if secret is not None:  # which hosts keep in files .env; here they are in our environment
            inner, end, name = secret, "}}", "env:" + secret
        if inner is not None and not end:
            raise EntryUnusable("%s: %s is no variable that is known here; it may not hold another" % (where, shown))
        name, has_default, default = name.partition(":-")
        kind, colon, rest = name.partition(":")
        if not colon:
            kind, rest = ("place", name) if name in _PLACES else ("env", name)
        if kind not in _SOURCES or not rest:
            raise EntryUnusable("%s: %s is no variable that is known here: write its value, or ${NAME} of the "
                                "environment" % (where, shown))
        value = _SOURCES[kind](self, where, rest)
        if value:
            return value
        if has_default:
            return default
        raise EntryUnusable("%s: %s is not set, or empty: %s" % (where, shown, _ADVICE[kind] % rest))

    def _place(self, where: str, name: str) -> str:
        return _PLACES[name](self._found)

    def _environment(self, where: str, name: str) -> Optional[str]:
        return os.environ.get(name)

    def _file(self, where: str, path: str) -> str:
        try:
            with open(self._path(path), "rb") as file:
                return file.read(MAX_FILE).decode("utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise EntryUnusable("%s: %s cannot be read: %s" % (where, path, error)) from None

    def _input(self, where: str, id: str) -> Optional[str]:
        if self._ask is None:
            raise EntryUnusable("%s: ${input:%s} is for a person to answer: pass ask_input" % (where, id))
        if id not in self._answers:
            about = self._found.inputs.get(id, {})
            self._answers[id] = self._ask(id, str(about.get("description", "")), about.get("password") is True)
        return self._answers[id]

    def _path(self, path: str) -> str:
        return os.path.join(self._found.folder, os.path.expanduser(path))

    def lines(self, where: str, path: str) -> Dict[str, str]:
        """Return the variables of a file with lines NAME=VALUE. Raises `EntryUnusable`."""
        found = {}
        for number, line in enumerate(self._file(where, path).splitlines(), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                name, equals, value = line.partition("=")
                name, value = name.replace("export ", "", 1).strip(), value.strip()
                if not equals or not name:
                    raise EntryUnusable("%s: line %d of %s is not NAME=VALUE" % (where, number, path))
                quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
                found[name] = value[1:-1] if quoted else value
        return found


_PLACES: Dict[str, Callable[[Configuration], str]] = {
    "workspaceFolder": lambda found: found.folder,
    "workspaceFolderBasename": lambda found: os.path.basename(found.folder),
    "userHome": lambda found: os.path.expanduser("~"),
    "pathSeparator": lambda found: os.sep,
    "/": lambda found: os.sep,
}
_SOURCES: Dict[str, Callable[[Variables, str, str], Optional[str]]] = {
    "env": Variables._environment, "input": Variables._input, "file": Variables._file, "place": Variables._place,
}
"""Kind of a variable -> the method that knows its values."""
_ADVICE = {"env": "set %s in the environment of this program", "input": "there was no answer for %s",
           "file": "there is nothing in %s", "place": "%s"}


_NAMES: Dict[str, Tuple[str, ...]] = {
    "transport": ("type", "transport"),
    "command": ("command",),
    "args": ("args",),
    "env": ("env", "environment"),
    "env_vars": ("env_vars",),
    "env_file": ("envFile",),
    "cwd": ("cwd",),
    "url": ("httpUrl", "serverUrl", "url"),
    "headers": ("headers", "http_headers"),
    "env_headers": ("env_http_headers",),
    "bearer": ("bearer_token_env_var",),
    "timeout": ("connectTimeout", "startup_timeout_sec"),
    "disabled": ("disabled",),
    "enabled": ("enabled",),
}
"""Our name for something that an entry says -> the members that say it; the first that is there counts."""
_KNOWN = frozenset(name for names in _NAMES.values() for name in names)
_LABELS = frozenset(("name", "title", "description", "version", "icon", "icons", "source", "gallery", "$schema"))
"""Members that are for people."""
_NOT_DONE: Dict[str, str] = {
    **dict.fromkeys(("autoApprove", "alwaysAllow", "trust", "default_tools_approval_mode", "always_allow"),
                    "approvals are for the policy of the host"),
    **dict.fromkeys(("tools", "enabled_tools", "disabled_tools", "includeTools", "excludeTools", "disabledTools"),
                    "which tools may be called is for the policy of the host"),
    **dict.fromkeys(("timeout", "tool_timeout_sec", "initTimeout", "startup_timeout_ms"),
                    "hosts differ in what it limits and in which unit; connectTimeout, in seconds, is for connecting"),
    **dict.fromkeys(("auth", "oauth"), "authorization is for the program: Host.connect(name, url, auth=OAuth())"),
    **dict.fromkeys(("dev", "settings", "roots", "required"), "only the host that it is written for knows it"),
    "requestOptions": "of how requests are sent only headers are taken",
}
"""Member that some host acts on -> why it is not acted on here."""
_SANDBOX = re.compile("sandbox", re.IGNORECASE)
_NOTHING: Tuple[Any, ...] = (None, False, [], {}, "", ["*"])
"""Values by which a member of `_NOT_DONE` asks for nothing."""
_TRANSPORTS = {"stdio": "command", "local": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url",
               "streamable_http": "url", "remote": "url", "sse": "url"}
"""Type of an entry -> the member that it needs."""


class ServerEntry(NamedTuple):
    """The way in which one server is reached: ``command``, or ``url`` if that is empty."""

    command: List[str]
    """The program and its arguments."""
    env: Optional[Dict[str, str]]
    """Variables that are added to the short list that a child inherits; see `mcp_ref.client.connect`."""
    cwd: Optional[str]
    timeout: Optional[float] = None
    """Seconds that connecting may take, as for `Host.connect`."""
    url: str = ""
    headers: Optional[Dict[str, str]] = None
    env_file: Optional[str] = None
    """A file with more variables; None once they are in ``env``."""
    notes: Tuple[str, ...] = ()
    """Sentences about what the entry asks for that is not done here, and why."""

    def arguments(self) -> Dict[str, Any]:
        """Return the arguments of `Host.connect` but for the name."""
        if self.url:
            return {"target": self.url, "headers": self.headers, "timeout": self.timeout}
        return {"target": self.command, "env": self.env, "cwd": self.cwd, "timeout": self.timeout}

    def __repr__(self) -> str:
        reached = self.url.partition("?")[0] if self.url else "%r and %d arguments" % (
            self.command[0], len(self.command) - 1)
        return "ServerEntry(%s, env=%r, cwd=%r, headers=%r)" % (
            reached, sorted(self.env or ()), self.cwd, sorted(self.headers or ()))  # values may be secret


@strict_options
def read_config(
    config: Config, unsupported: Optional[MutableMapping[str, str]] = None, *, ask_input: Optional[AskInput] = None,
) -> Dict[str, ServerEntry]:
    """Return the servers of a configuration, a path or an object, by name. Starts nothing.

    A name that is none for a host, such as ``microsoft/playwright-mcp``, becomes one, and a note says so.
    ``unsupported`` is filled with the names of the entries that are wrong or cannot be used here, and why.
    ``ask_input``: see `Host.from_config`. Raises ValueError that names file, entry and member, also for such an entry
    if ``unsupported`` is not given; OSError for a file that cannot be read.
    """
    found = Configuration.load(config)
    variables = Variables(found, ask_input)
    entries: Dict[str, ServerEntry] = {}
    for name, raw in found.servers.items():
        where, off = found.where(name), False
        try:
            off = is_off(where, raw)
            entry = shape(where, raw)
            if not off:
                entry, ours = filled(where, entry, variables), server_name(str(name), entries)
                if ours != name:
                    entry = entry._replace(notes=entry.notes + ("it is called %s here" % ours,))
                entries[ours] = entry
        except ValueError as error:
            if unsupported is None:
                raise
            if not off:
                unsupported[str(name)] = str(error)
    _log(found, entries)
    return entries


def filled(where: str, entry: ServerEntry, variables: Variables) -> ServerEntry:
    """Return the entry with values in place of variables. Raises `EntryUnusable`, which names the member."""
    def text(member: str, value: str) -> str:
        return variables.text("%s.%s" % (where, member), value)

    def texts(member: str, values: Optional[Mapping[str, str]]) -> Optional[Dict[str, str]]:
        return None if values is None else {
            name: text("%s.%s" % (member, name), value) for name, value in values.items()}

    env = texts("env", entry.env)
    if entry.env_file is not None:
        env = {**variables.lines(where + ".envFile", text("envFile", entry.env_file)), **(env or {})}
    words = [text("args[%d]" % (number - 1) if number else "command", word)
             for number, word in enumerate(entry.command)]
    url = text("url", entry.url)
    if url and scheme_of(url) not in ("http", "https"):  # a command would be run
        raise EntryUnusable("%s.url: expected %s" % (where, _CHECKS["url"][1]))
    headers = texts("headers", entry.headers)
    try:
        for name, value in (headers or {}).items():
            check(name, value)
    except ValueError as error:
        raise EntryUnusable("%s.headers: %s" % (where, error)) from None
    return entry._replace(
        command=words, env=env, cwd=None if entry.cwd is None else text("cwd", entry.cwd), url=url,
        headers=headers, env_file=None)


def _log(found: Configuration, entries: Mapping[str, ServerEntry]) -> None:
    noted = [(found.where(name), note) for name, entry in entries.items() for note in entry.notes]
    if noted:
        from ..diagnostics.packagelog import get_logger

        for where, note in noted:
            get_logger(__name__).warning("%s: %s", where, note)


def is_off(where: str, raw: Any) -> bool:
    """Return True if an entry says that it shall not be used. Raises ValueError."""
    if not isinstance(raw, Mapping):
        raise ValueError("%s: expected an object" % where)
    for member in ("disabled", "enabled"):
        if not isinstance(raw.get(member, False), bool):
            raise ValueError("%s.%s: expected true or false" % (where, member))
    return raw.get("disabled", False) is True or raw.get("enabled", True) is False


def shape(where: str, raw: Mapping[str, Any]) -> ServerEntry:
    """Return an entry of any dialect in our form, its variables not replaced yet. Raises ValueError for a member of a
    wrong type, `EntryUnusable` for what is right elsewhere."""
    raw = _with_headers(raw)
    said = {what: next((name, raw[name]) for name in names if name in raw)
            for what, names in _NAMES.items() if not raw.keys().isdisjoint(names)}
    values: Dict[str, Any] = {}
    for what, (name, value) in said.items():
        if not _CHECKS[what][0](value):
            raise ValueError("%s.%s: expected %s" % (where, name, _CHECKS[what][1]))
        values[what] = value
    needed = _needed(where, raw, values)
    notes = tuple(_notes(where, raw, [name for name, _ in said.values()], needed))
    env, headers = values.get("env"), dict(values.get("headers", {}))
    headers.update({name: "${%s}" % variable for name, variable in values.get("env_headers", {}).items()})
    if "bearer" in values:
        headers["Authorization"] = "Bearer ${%s}" % values["bearer"]
    if needed == "url":
        return ServerEntry([], None, None, values.get("timeout"), values["url"], headers or None, None, notes)
    program = values["command"]
    words = [program] if isinstance(program, str) else list(program) if not isinstance(program, Mapping) else [
        program["path"], *program.get("args", ())]
    if isinstance(program, Mapping):
        env = {**program.get("env", {}), **(env or {})} or None
    if "env_vars" in values:
        env = {**{name: "${%s}" % name for name in values["env_vars"]}, **(env or {})}
    return ServerEntry(words + list(values.get("args", ())), None if env is None else dict(env), values.get("cwd"),
                       values.get("timeout"), "", None, values.get("env_file"), notes)


def _with_headers(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry with the headers of its ``requestOptions`` as its own, unless it has some."""
    options = raw.get("requestOptions")
    if not isinstance(options, Mapping) or "headers" not in options or not raw.keys().isdisjoint(_NAMES["headers"]):
        return raw
    left = {name: value for name, value in options.items() if name != "headers"}
    return dict(raw, headers=options["headers"], requestOptions=left)


def _needed(where: str, raw: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the member by which the server is reached: command or url."""
    transport = values.get("transport")
    if transport is None:
        needed = "url" if "url" in values and "command" not in values else "command"
    elif transport in _TRANSPORTS:
        needed = _TRANSPORTS[transport]
    else:
        raise EntryUnusable("%s.type: %.40r is no transport that is known here; these are: %s" % (
            where, transport, ", ".join(_TRANSPORTS)))
    if needed not in values:
        strange = ((name, closest(name, _NAMES["command"] + _NAMES["url"])) for name in map(str, raw)
                   if name not in _KNOWN | _LABELS | _NOT_DONE.keys())
        meant = next(("; %s is not known (did you mean %s?)" % pair for pair in strange if pair[1]), "")
        raise ValueError("%s.%s: expected %s%s" % (where, needed, _CHECKS[needed][1], meant))
    return needed


def _notes(where: str, raw: Mapping[str, Any], read: List[str], needed: str) -> List[str]:
    """Return what an entry asks for that is not done. Raises `EntryUnusable` for a sandbox, which must not be missed.
    """
    notes = []
    other = _OF_URLS if needed == "command" else _OF_COMMANDS
    for name in sorted(map(str, raw)):
        value = raw.get(name)
        if name in read and name not in other or name in _LABELS:
            continue
        if name in other:
            notes.append("%s was not read: the server is reached by its %s" % (name, needed))
        elif name in _KNOWN:
            notes.append("%s was not read: another member says the same" % name)
        elif _SANDBOX.search(name):
            if value not in _NOTHING:
                raise EntryUnusable("%s.%s: nothing is run in a sandbox here; leave it out if that is right" % (
                    where, name))
        elif name not in _NOT_DONE:
            meant = closest(name, _KNOWN)
            notes.append("%s%s is not known and was ignored" % (name, " (did you mean %s?)" % meant if meant else ""))
        elif value not in _NOTHING:
            notes.append("%s was not acted on: %s" % (name, _NOT_DONE[name]))
    return notes


_OF_COMMANDS = {name for what in ("command", "args", "env", "env_vars", "env_file", "cwd") for name in _NAMES[what]}
_OF_URLS = {name for what in ("url", "headers", "env_headers", "bearer") for name in _NAMES[what]}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in (*value, *value.values()))


def _is_seconds(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 < value < 1e9


def _is_program(value: Any) -> bool:
    """Return True for the three forms of ``command``."""
    if isinstance(value, Mapping):
        return _is_text(value.get("path")) and _is_list(value.get("args", [])) and _is_texts(value.get("env", {}))
    return _is_text(value) or (_is_list(value) and bool(value) and value[0] != "")


_TEXTS = "an object whose values are strings"
_CHECKS: Dict[str, Tuple[Callable[[Any], bool], str]] = {
    "transport": (_is_text, "a transport, such as stdio or http"),
    "command": (_is_program, "the program's name, or an array that begins with it"),
    "args": (_is_list, "an array of strings"),
    "env": (_is_texts, _TEXTS),
    "env_vars": (_is_list, "an array of strings"),
    "env_file": (_is_text, "the path of a file"),
    "cwd": (_is_text, "the path of a folder"),
    "url": (_is_text, "an address at http:// or https://"),
    "headers": (_is_texts, _TEXTS),
    "env_headers": (_is_texts, _TEXTS),
    "bearer": (_is_text, "the name of an environment variable"),
    "timeout": (_is_seconds, "a number of seconds, more than 0"),
    "disabled": (lambda value: isinstance(value, bool), "true or false"),
    "enabled": (lambda value: isinstance(value, bool), "true or false"),
}
"""Our name for something that an entry says -> the check of its value, and the words for what is expected."""
