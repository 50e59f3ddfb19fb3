"""The file of a configuration: text to values, the servers in it, and what its variables stand for."""

import os
import re
import sys
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

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
    from ..messages.extensions.yaml import read_yaml

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
