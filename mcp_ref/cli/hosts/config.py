"""The command `config`: the entry by which a host starts or reaches a server, printed or written into its file.

The program and each argument that is the path of a file that is there become absolute: a host starts a server in a
folder and with a PATH of its own. A script that is not there is told, and not written. An entry that comes from a file
(SERVER is such as mcp.json:git) is copied as it stands, with its variables.

HOST is one of these; ``--project`` is for the file of the project in the current folder:

"""

import argparse
import os
import re
import shutil
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from ...host.catalogue import MAX_SERVER_NAME, check_server_name
from ...host.configuration import ServerEntry, shape
from ...options import closest
from ...transports.lines.process import arguments, instead
from ...urls import scheme_of
from ..output import DONE, Command, Commands, UsageError, note, one_line, program, say, say_json
from ..use.connecting import entry_named
from ..use.values import pairs_of
from .merging import CannotKeep, EntryPlace, merged, read, rendered, write

Members = Dict[str, Any]
SYSTEMS = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
_CODE = {"darwin": "~/Library/Application Support/Code/User/", "linux": "~/.config/Code/User/",
         "win32": "%APPDATA%\\Code\\User\\"}
_CLAUDE = {"darwin": "~/Library/Application Support/Claude/", "linux": "~/.config/Claude/",
           "win32": "%APPDATA%\\Claude\\"}


_INTERPRETER = re.compile(r"(?:python|pypy|node|pyw?(?=\.exe|\Z))[\d.w]*(?:\.exe)?\Z", re.IGNORECASE)
"""The programs whose first argument that ends in one of _SCRIPTS is a file of this machine; `npx` is none."""
_SCRIPTS = (".py", ".pyw", ".js", ".mjs", ".cjs")


def _in(folders: Dict[str, str], path: str) -> Dict[str, str]:
    """Return the path of a file on each system, in these folders."""
    return {system: folder + (path.replace("/", "\\") if system == "win32" else path)
            for system, folder in folders.items()}


def _home(path: str) -> Dict[str, str]:
    """Return the path of a file that is below the user's folder on every system."""
    return {system: ("%USERPROFILE%\\" + path.replace("/", "\\")) if system == "win32" else "~/" + path
            for system in SYSTEMS}


class HostFile(NamedTuple):
    """A host, its files, and the form of its entries."""

    title: str
    top: str
    user: Dict[str, str]
    """System -> the file of the user; empty where there is none."""
    project: Optional[str]
    """The file of a project, below its folder; None where there is none."""
    url: Optional[Tuple[str, Members]]
    """The member that holds a URL, and members beside it; None if it takes no URL."""
    local: Members = {}
    """Members beside the command."""
    cwd: bool = False
    """True if an entry may name the folder of the server."""
    headers: str = "headers"


_TYPED: Tuple[str, Members] = ("url", {"type": "http"})
HOSTS: Dict[str, HostFile] = {
    "claude-desktop": HostFile("Claude Desktop", "mcpServers", _in(_CLAUDE, "claude_desktop_config.json"), None, None),
    "claude-code": HostFile("Claude Code", "mcpServers", _home(".claude.json"), ".mcp.json", _TYPED),
    "vscode": HostFile("VS Code", "servers", _in(_CODE, "mcp.json"), ".vscode/mcp.json", _TYPED, {"type": "stdio"},
                       cwd=True),
    "cursor": HostFile("Cursor", "mcpServers", _home(".cursor/mcp.json"), ".cursor/mcp.json", ("url", {})),
    "cline": HostFile("Cline", "mcpServers", _in(
        _CODE, "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"), None,
        ("url", {"type": "streamableHttp"})),
    "windsurf": HostFile("Windsurf", "mcpServers", _home(".codeium/windsurf/mcp_config.json"), None,
                         ("serverUrl", {})),
    "gemini": HostFile("Gemini CLI", "mcpServers", _home(".gemini/settings.json"), ".gemini/settings.json",
                       ("httpUrl", {}), cwd=True),
    "codex": HostFile("Codex CLI", "mcp_servers", _home(".codex/config.toml"), ".codex/config.toml", ("url", {}),
                      cwd=True, headers="http_headers"),
    "opencode": HostFile("OpenCode", "mcp", _home(".config/opencode/opencode.json"), "opencode.json",
                         ("url", {"type": "remote"}), {"type": "local"}),
    "copilot": HostFile("Copilot CLI", "mcpServers", _home(".copilot/mcp-config.json"), None,
                        ("url", {"type": "http", "tools": ["*"]}), {"type": "local", "tools": ["*"]}),
    "junie": HostFile("IntelliJ, Junie", "mcpServers", {}, ".idea/mcp.json", _TYPED),
    "zed": HostFile("Zed", "context_servers", dict(_home(".config/zed/settings.json"), win32="%APPDATA%\\Zed\\"
                                                   "settings.json"), ".zed/settings.json", ("url", {})),
    "continue": HostFile("Continue", "mcpServers", _home(".continue/config.yaml"), ".continue/mcpServers/mcp.yaml",
                         ("url", {"type": "streamable-http"}), {"type": "stdio"}, cwd=True,
                         headers="requestOptions.headers"),
}
"""Name of a host -> what is known of it."""


def _config(options: Any) -> int:
    host = _host(options.host)
    name, entry = _entry(options)
    try:
        check_server_name(name)
    except ValueError as error:
        raise UsageError("%s; --name NAME gives it one" % error) from None
    path = _file(options, host)
    place = EntryPlace(path, host.top, name)
    members = _members(host, entry)
    if options.write:
        return _write(options, host, place, members)
    if options.json:
        say_json({"host": options.host, "name": name, "file": path, "files": _files(host), "entry": members,
                  "text": rendered(place, members)})
        return DONE
    say(rendered(place, members).rstrip("\n"), raw=True)
    note("\nPaste this into one of these files of %s; if there is %s in it already, put only what is inside there:" % (
        host.title, host.top))
    for where, file in _files(host).items():
        note("  %-8s %s" % (where, file))
    note("or let --write do it: %s" % path)
    return DONE


def _host(name: Optional[str]) -> HostFile:
    if name in HOSTS:
        return HOSTS[name or ""]
    meant = closest((name or "").lower(), HOSTS)
    raise UsageError("%s%s --for takes one of: %s" % (
        "the host is missing" if name is None else "there is no host %s here" % one_line(name),
        ", did you mean %s?" % meant if meant else ";", ", ".join(HOSTS)))


def _files(host: HostFile) -> Dict[str, str]:
    files = {SYSTEMS[system]: path for system, path in host.user.items()}
    return dict(files, project=host.project) if host.project else files


def _file(options: Any, host: HostFile) -> str:
    """Return the path of the file on this system that the entry is for."""
    if options.file is not None:
        ending = os.path.splitext(host.project or host.user["linux"])[1]
        if (os.path.splitext(options.file)[1].lower().replace(".yml", ".yaml") != ending) and (
                ending != ".json" or options.file.lower().endswith((".toml", ".yaml", ".yml"))):
            raise UsageError("--file %s: the file of %s ends in %s" % (options.file, host.title, ending))
        return str(os.path.abspath(os.path.expanduser(options.file)))
    if options.project or not host.user:
        if host.project is None:
            raise UsageError("%s has no file for a project: leave out --project" % host.title)
        return os.path.join(os.getcwd(), *host.project.split("/"))
    path = host.user.get(sys.platform, host.user["linux"])
    return os.path.expanduser(os.path.expandvars(path) if sys.platform == "win32" else path)


# The entry


def _entry(options: Any) -> Tuple[str, ServerEntry]:
    """Return the name and the entry of SERVER, with absolute paths. Raises `UsageError`."""
    named = entry_named(options.server)
    env, headers = pairs_of(options.env, "--env"), pairs_of(options.header, "--header")
    if named is not None:
        file, name = named
        try:
            entry = shape(file.where(name), file.servers[name])
        except ValueError as error:
            raise UsageError(str(error)) from None
        for text in entry.notes:
            note(one_line("%s: not copied: %s" % (file.where(name), text)))
        if entry.env_file is not None:
            raise UsageError("%s: its variables are in a file, %s: give them by --env" % (
                file.where(name), entry.env_file))
        _note_variables(entry)
    elif scheme_of(options.server) in ("http", "https"):
        name, entry = _name_of_url(options.server), ServerEntry([], None, None, url=options.server)
    elif scheme_of(options.server):
        raise UsageError("%s: hosts start a command, or reach a URL at http:// or https://" % options.server)
    else:
        given, folder = arguments(options.server), options.cwd or os.getcwd()
        words, more = _absolute(given, folder)
        _tell_missing(_missing_script(given, folder), folder, options.write)
        name, entry = _name_of_command(words), ServerEntry(words, more or None, None)
    for value, option, wrong in ((env, "--env", entry.url), (headers, "--header", not entry.url),
                                 (options.cwd, "--cwd", entry.url)):
        if value and wrong:
            raise UsageError("%s is for %s" % (option, "a command" if entry.url else "a server at a URL"))
    return options.name or name, entry._replace(
        env={**(entry.env or {}), **env} or None, headers={**(entry.headers or {}), **headers} or None,
        cwd=os.path.abspath(options.cwd) if options.cwd else entry.cwd)


def _note_variables(entry: ServerEntry) -> None:
    texts = [*entry.command, entry.url, *(entry.env or {}).values(), *(entry.headers or {}).values()]
    found = sorted(set(re.findall(r"\$?\{[^{}]*\}", " ".join(texts))))
    if found:
        note("variables are copied as they stand, and the host may not know their form: %s" % ", ".join(found))


def _absolute(words: List[str], folder: str) -> Tuple[List[str], Dict[str, str]]:
    """Return a command with absolute paths, and what it needs in its environment. Raises `UsageError`."""
    found = shutil.which(words[0])
    if found is None:
        meant = instead(words[0], folder)
        raise UsageError("%s is a file, not a program: %s" % (one_line(words[0]), meant) if meant else
                         "there is no program %s: no file of that name, and none on the PATH" % one_line(words[0]))
    made, env = [os.path.abspath(found)], {}
    for before, word in zip(words, words[1:]):
        path = os.path.join(folder, word)
        if before == "-m":
            module = os.path.join(folder, word.split(".")[0])
            if os.path.isdir(module) or os.path.isfile(module + ".py"):
                env["PYTHONPATH"] = os.path.abspath(folder)  # where it was found, as the folder comes first
        elif before != "-c" and not word.startswith("-") and ("." in word or os.sep in word) and os.path.exists(path):
            word = os.path.abspath(path)
        made.append(word)
    return made, env


def _missing_script(words: List[str], folder: str) -> Optional[str]:
    """Return the script that an interpreter is to run and that is not there; what follows it is its own affair."""
    runs = words[1:]
    if not _INTERPRETER.match(os.path.basename(words[0])):
        if os.path.basename(words[0]) != "uv" or words[1:2] != ["run"] or "--directory" in words:
            return None
        runs = words[2:]
    for word in runs:
        if word in ("-c", "-m", "-e", "-p"):
            return None
        if not word.startswith("-") and word.endswith(_SCRIPTS) and "$" not in word and "://" not in word:
            return None if os.path.exists(os.path.join(folder, word)) else word
    return None


def _tell_missing(script: Optional[str], folder: str, write: bool) -> None:
    """Warn of a script that is not there. Raises `UsageError` where the entry is to be written."""
    if script is not None:
        said = "there is no file %s in %s, so no host can start this" % (one_line(script), os.path.abspath(folder))
        if write:
            raise UsageError("nothing was written: %s; name it as it is there, or by its absolute path" % said)
        note("mcp_ref: warning: %s" % said)


def _name_of_command(words: List[str]) -> str:
    """Return the name of the script, the module or the package that a command runs."""
    stems = [os.path.basename(word).split(".")[0] for word in words[1:] if word and not word.startswith("-")]
    return _as_name(next((stem for stem in stems if stem not in ("run", "exec", "mcp_ref")), None) or os.path.basename(
        words[0]))


def _name_of_url(url: str) -> str:
    parts = urlsplit(url)
    return _as_name(next((part for part in reversed(parts.path.split("/")) if part not in ("", "mcp", "sse")), None)
                    or _host_word(parts.hostname or ""))


def _host_word(host: str) -> str:
    """Return a word of a host's name: the first that says more than that it is a server; of an address, all of it."""
    if ":" in host or host.replace(".", "").isdigit():
        return host
    return next((word for word in host.split(".")[:-1] if word not in ("www", "mcp", "api")), host)


def _as_name(text: str) -> str:
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9-]+", "_", text)).strip("_-")[:MAX_SERVER_NAME].strip("_") or "server"


def _members(host: HostFile, entry: ServerEntry) -> Members:
    """Return an entry in the host's form. Raises `UsageError` for what the host does not take."""
    if entry.url:
        if host.url is None:
            raise UsageError("%s takes no URL in its file: add the server in its settings, as a connector" % host.title)
        member, beside = host.url
        outer, _, inner = host.headers.partition(".")
        headers: Members = {outer: {inner: entry.headers} if inner else entry.headers} if entry.headers else {}
        return {**beside, member: entry.url, **headers}
    if entry.cwd is not None and not host.cwd:
        raise UsageError("%s takes no folder for a server: leave out --cwd, and give absolute paths" % host.title)
    command: Members = {"command": entry.command[0], "args": entry.command[1:]}
    env = {"env": entry.env} if entry.env else {}
    if host.top == "mcp":
        command, env = {"command": entry.command}, {"environment": entry.env} if entry.env else {}
    return {**host.local, **command, **env, **({"cwd": entry.cwd} if entry.cwd is not None else {})}


def _write(options: Any, host: HostFile, place: EntryPlace, members: Members) -> int:
    path = os.path.realpath(place.path)
    try:
        old = read(path)
        new = merged(place, old or b"", members, options.replace)
        backup = None if new is None else write(path, old, new)
    except CannotKeep as error:
        raise UsageError("nothing was written: %s" % error) from None
    except OSError as error:
        raise UsageError("nothing was written: %s: %s" % (place.path, error.strerror or error)) from None
    if options.json:
        say_json({"host": options.host, "name": place.name, "file": place.path, "written": new is not None,
                  "backup": backup, "entry": members})
        return DONE
    say("%s is there already, the same: %s" % (place.name, place.path) if new is None else
        "%s was written into %s" % (place.name, place.path))
    if backup:
        note("what was there before: %s" % backup)
    entry = _quoted("%s:%s" % (place.path, place.name))
    note("start %s again; to try the entry: %s tools %s" % (host.title, program(), entry))
    if "command" in members and "cwd" not in members:
        note("and to start it as a host does, in another folder: %s doctor %s --cwd %s" % (program(), entry, os.sep))
    return DONE


def _quoted(word: str) -> str:
    from shlex import quote

    return '"%s"' % word if sys.platform == "win32" else quote(word)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", metavar="SERVER", help='a command in quotes, such as "python3 server.py", a URL, or '
                        "an entry of another host's file, such as mcp.json:git; or the command comes last, after --")
    parser.add_argument("--for", dest="host", metavar="HOST", help="one of: " + ", ".join(HOSTS))
    parser.add_argument("--name", help="the name of the entry (default: after the script, the package or the host)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="give the server this in its environment; may be repeated. It is in the file for all to "
                             "read who can read that")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE",
                        help="send this header field to a URL; may be repeated")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder of the server, for hosts that know one")
    parser.add_argument("--project", action="store_true", help="for the project's file, not the user's")
    parser.add_argument("--file", metavar="FILE", help="for this file")
    parser.add_argument("--write", action="store_true",
                        help="put the entry into the file, which keeps all else byte for byte, and make a backup")
    parser.add_argument("--replace", action="store_true", help="with --write: take the place of an entry of this name")
    parser.add_argument("--json", action="store_true", help="print entry, text and files as JSON")
    parser.epilog = (__doc__ or "") + "\n".join(
        "    %-16s%s%s" % (name, host.title, "" if host.url else " (commands only)") for name, host in HOSTS.items())


COMMANDS: Commands = {"config": Command(_config, _options, uses_server=True)}
