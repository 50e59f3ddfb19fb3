"""The command `pack`: an MCP bundle of a server, a zip archive that hosts install with one click.

    pack server.py -o demo.mcpb --author "Ada" --version 1.0.0 --description "Add numbers"
    pack --check demo.mcpb
    pack weather.py -o weather.mcpb --author "Ada" --env API_KEY=secret --arg=--folder=directory --try API_KEY=abc \\
        --try=--folder=/tmp
    pack --check weather.mcpb --try API_KEY=abc --try=--folder=/tmp

In the bundle are ``manifest.json``, the server's file and what ``--include`` names below ``server/app``, and the parts
of this package that it imports below ``server/lib``: it needs a Python, and nothing that is installed. The manifest's
tools and prompts are those of the server, which is started for that from the unpacked bundle as a host would do it, but
isolated from installed packages. ``--try NAME=VALUE`` gives it what a user would set, with ``--check``, too; variables
are also taken from the environment of this command. None of these values gets into the bundle.

Made again from the same files, a bundle has the same bytes. Hidden files are left out, and told; links, private keys
and files such as ``.env`` are refused. Other members of the manifest (homepage, keywords, privacy_policies, titles in
user_config) come from a JSON file of the same form: ``--manifest FILE``.

KIND, in ``--env NAME=KIND`` and ``--arg NAME=KIND``, says what a user may set:

    string secret number boolean directory file     the user has to give it
    KIND:VALUE                                      it has a default
    KIND?                                           it may be left empty (variables and flags)
    KIND* KIND+                                     any number, one or more (arguments without a flag)
    fixed:VALUE                                     always this value (variables; an --arg without = is such a word)
"""

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import tokenize
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ...errors import ConnectFailed, ConnectionLost, PeerError
from ..copying import parts
from ..copying.bundle import BundleError, Program, needed
from ..output import (
    DONE, FAILED, Command, Commands, UsageError, counted, noise_said, note, one_line, open_file, say, say_json,
)
from ..use.values import pairs_of
from .archive import MANIFEST_NAME, BadBundle, collected, read_bundle, unpack, write_bundle
from .manifest import (
    FLAGS, VERSIONS, ServerListed, Settings, Value, author_names, declared, expanded, faults, from_file, how_to_set,
    manifest_of, missing, server_json, unset,
)

if TYPE_CHECKING:
    from ...client import Client

_ISOLATED = ["-I", "-S", "-B"]
"""Options of an interpreter that finds only what a bundle brings."""
_QUOTED = 200
"""Characters that are quoted of a line."""


@contextlib.contextmanager
def running(
    content: Mapping[str, bytes], manifest: Mapping[str, Any], values: Mapping[str, Value], python: Sequence[str] = (),
    noise: Optional[List[str]] = None,
) -> "Iterator[Client]":
    """Start the server of a bundle as a host does, in a folder of its own. ``python`` is put in place of its command.

    ``noise`` gets the lines on stdout that are no messages. Raises what `mcp_ref.client.connect` raises.
    """
    from ...client import connect
    from ...wiretrace import MESSAGE, SERVER, Event, Trace

    def seen(event: Event) -> None:
        if noise is not None and event.kind == MESSAGE and event.direction == SERVER and event.message is None:
            noise.append(one_line(event.text)[:_QUOTED])

    with tempfile.TemporaryDirectory(prefix="mcpb-") as folder:
        home, place = os.path.join(folder, "bundle"), os.path.join(folder, "elsewhere")
        for each in (home, place):
            os.mkdir(each)
        unpack(dict(content), home)
        command, env = expanded(manifest, home, values, sys.platform)
        if not python and os.path.exists(os.path.join(home, command[0])):
            command[0] = os.path.join(home, command[0])
        with connect([*python, *command[1:]] if python else command, env=env, cwd=place,
                     trace=Trace(seen)) as client:
            yield client


def listed_by(
    content: Mapping[str, bytes], manifest: Mapping[str, Any], values: Mapping[str, Value],
    authored: Mapping[str, bytes], script: str, noise: List[str],
) -> ServerListed:
    """Return what the server says of itself, started from the bundle's files with nothing else to import.

    ``noise``: see `running`.
    """
    try:
        with running(content, manifest, values, [sys.executable, *_ISOLATED], noise) as client:
            info = client.server_info
            tools = [{"name": tool.name, **({"description": tool.description} if tool.description else {})}
                     for tool in _items(client, "tools")]
            prompts, others = static_prompts(client)
    except (ConnectFailed, ConnectionLost) as error:
        raise BadBundle("the server does not start from its bundle: %s%s" % (
            error, _hint(str(error), script))) from None
    identity: Dict[str, Optional[str]] = {}
    if info is not None:
        identity = {"name": re.sub(r"[^A-Za-z0-9._-]+", "-", info.name).strip("-."), "version": info.version,
                    "display_name": info.title, "description": info.description, "homepage": info.website_url}
    identity["description"] = identity.get("description") or _first_paragraph(authored[os.path.basename(script)])
    return ServerListed({member: value for member, value in identity.items() if value}, tools, prompts, others)


def _first_paragraph(source: bytes) -> Optional[str]:
    text = ast.get_docstring(ast.parse(source))
    return " ".join(text.split("\n\n")[0].split()) if text else None


def _hint(said: str, script: str) -> str:
    """Return what to do about a server that did not start, by what it said."""
    missing = re.search(r"No module named '([\w.]+)'", said)
    if missing:
        name = missing.group(1).split(".")[0]
        home = os.path.dirname(os.path.abspath(script))
        there = next((each for each in (name + ".py", name) if os.path.exists(os.path.join(home, each))), None)
        return "; a bundle has all that it needs in it: %s" % (
            "--include %s" % there if there else "put the package %s beside %s, and --include it" % (name, script))
    left_out = re.search(r"copy again with --only ([\w,-]+)", said)
    if left_out:
        return "; give --only %s" % left_out.group(1)
    return "; its file has to call server.run() at the end" if "code 0" in said else ""


def _items(client: "Client", what: str) -> List[Any]:
    """Return the tools or prompts of a server; none where it does not declare that it has any."""
    return list(getattr(client, what)()) if what in client.server_capabilities else []


def static_prompts(client: "Client") -> Tuple[List[Dict[str, Any]], bool]:
    """Return the prompts whose text is the same whatever the arguments are, and whether there are others.

    The arguments are asked for with the manifest's placeholders as values: they must come back as they are.
    """
    found, others = [], False
    for prompt in _items(client, "prompts"):
        names = [argument.name for argument in prompt.arguments or ()]
        texts = [_text_of(client, prompt.name, names) for _ in range(2)]
        if texts[0] is None or texts[0] != texts[1] or not all("${arguments.%s}" % name in texts[0] for name in names):
            others = True
            continue
        found.append({"name": prompt.name, **({"description": prompt.description} if prompt.description else {}),
                      **({"arguments": names} if names else {}), "text": texts[0]})
    return found, others


def _text_of(client: "Client", name: str, arguments: List[str]) -> Optional[str]:
    try:
        messages = client.get_prompt(name, {each: "${arguments.%s}" % each for each in arguments}).messages
    except PeerError:
        return None  # it takes not every text
    text = getattr(messages[0].content, "text", None) if len(messages) == 1 and messages[0].role == "user" else None
    return text if isinstance(text, str) else None


def differences(client: "Client", manifest: Mapping[str, Any]) -> List[str]:
    """Return how the lists of a running server differ from those of the manifest."""
    wrong = []
    for what, there in (("tools", [tool.name for tool in _items(client, "tools")]),
                        ("prompts", [prompt.name for prompt in _items(client, "prompts")])):
        named = [each["name"] for each in manifest.get(what, ())]
        wrong += ["manifest.json: %s: the server has no %s" % (what, one_line(name))
                  for name in named if name not in there]
        if not manifest.get(what + "_generated"):
            wrong += ["manifest.json: %s: %s of the server is missing" % (what, one_line(name))
                      for name in there if name not in named]
    return wrong


_ENTRY = "server/start.py"
_APP, _LIB = "server/app/", "server/lib/"
_MOST_SHOWN = 10
_SLICE = "stdio-server"
_LAUNCHER = '''"""Start the server of this bundle. Its files are in app, the packages that it needs in lib."""
import os
import runpy
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "app"), os.path.join(here, "lib")]
runpy.run_path(os.path.join(here, "app", %r), run_name="__main__")
'''


def _pack(options: Any) -> int:
    if options.check:
        return _check(options)
    if not (options.output or ".mcpb").lower().endswith(".mcpb"):
        raise UsageError("-o %s: the name of a bundle ends in .mcpb: -o NAME.mcpb" % options.output)
    if not os.path.isfile(options.server):
        raise UsageError("there is no file %s; the command is: pack SERVER.py -o NAME.mcpb" % options.server)
    describe = pairs_of(options.describe, "--describe")
    settings = declared(options.env, options.arg, describe)
    given, file = _given(options, settings, describe), from_file(options.manifest) if options.manifest else {}
    authored = collected(options.server, options.include, options.exclude)
    content = _content(options, authored.files)
    server = _server(settings, options.python)
    if options.icon:
        content["icon.png"] = _icon(options.icon)
    trial = {"server": server, "user_config": settings.user_config}
    names = {setting.name: setting.key for setting in settings.settings}
    values = _values(options, trial, names)
    lacking = [] if options.output else ["-o NAME.mcpb"]
    absent = unset(trial, values, names)
    if absent:
        lacking += [] if given.get("author") or file.get("author") else [FLAGS["author"]]
        raise UsageError("%s%s" % (how_to_set(absent), "; and give %s" % ", ".join(lacking) if lacking else ""))
    noise: List[str] = []
    listed = listed_by(content, trial, values, authored.files, options.server, noise)
    lacking += missing(listed, given, file)
    if lacking:
        raise UsageError("nothing was written; the bundle needs what the server does not say: %s" % ", ".join(lacking))
    manifest = manifest_of(options.manifest_version, server, listed, settings, given, file, options.generated)
    content[MANIFEST_NAME] = _json(manifest)
    wrong = faults(content)[1]
    if wrong:
        raise UsageError("; ".join(wrong))
    for text in _warnings(noise):
        note("mcp_ref: warning: %s" % text)
    return _write(options, options.output, content, manifest, settings, authored.left_out)


def _write(options: Any, target: str, content: Dict[str, bytes], manifest: Dict[str, Any], settings: Settings,
           left_out: List[str]) -> int:
    """Write the bundle, and the registry's description of it; tell what was made."""
    import hashlib

    if options.server_json:
        server_json(manifest, settings, options.registry_name, options.download_url, "0" * 64)  # refused before it is
    write_bundle(target, content)
    with open(target, "rb") as file:
        data = file.read()
    sha256 = hashlib.sha256(data).hexdigest()
    if options.server_json:
        with open(options.server_json, "wb") as file:
            file.write(_json(server_json(manifest, settings, options.registry_name, options.download_url, sha256)))
    for name in left_out[:_MOST_SHOWN]:
        note("left out: %s" % one_line(name))
    if len(left_out) > _MOST_SHOWN:
        note("left out: %d more" % (len(left_out) - _MOST_SHOWN))
    if options.json:
        say_json({"file": target, "size": len(data), "sha256": sha256, "files": sorted(content), "left_out": left_out,
                  "manifest": manifest})
        return DONE
    say("%s: %s %s, %s%s, %s%s, %s, %d KB" % (
        target, manifest["name"], manifest["version"], counted(len(manifest.get("tools", ())), "tool"),
        " and more" if manifest.get("tools_generated") else "", counted(len(manifest.get("prompts", ())), "prompt"),
        " and more" if manifest.get("prompts_generated") else "", counted(len(content), "file"),
        (len(data) + 1023) >> 10))
    say("sha256 %s" % sha256)
    return DONE


def _json(value: Any) -> bytes:
    import json

    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


# What goes in


def _given(options: Any, settings: Settings, describe: Mapping[str, str]) -> Dict[str, Any]:
    """Return the members of the manifest that options give; those that they do not give are None."""
    author = None
    if options.author is not None:
        match = re.match(r"([^<>]+)(?:<([^<>]+)>)?\Z", options.author.strip())
        if match is None or not match.group(1).strip():
            raise UsageError("--author %s: write NAME or NAME <MAIL>" % options.author)
        author = {"name": match.group(1).strip(), **({"email": match.group(2)} if match.group(2) else {})}
    given = {
        "name": options.name, "display_name": options.title, "version": options.version,
        "description": options.description, "author": author, "license": options.license,
        "icon": "icon.png" if options.icon else None,
        "repository": {"type": "git", "url": options.repository} if options.repository else None,
        "compatibility": {"runtimes": {"python": options.requires_python}},
    }
    for number, setting in enumerate(settings.settings):
        if setting.name in describe:
            settings.settings[number] = setting._replace(description=describe[setting.name])
    return {member: value for member, value in given.items() if value is not None}


def _content(options: Any, authored: Dict[str, bytes]) -> Dict[str, bytes]:
    """Return the files of the bundle but for its manifest. Raises `UsageError`."""
    script = os.path.basename(options.server)
    floor = re.match(r">=\s*3\.(\d+)\b", options.requires_python)
    for name, data in authored.items():
        if name.endswith(".py"):
            try:
                ast.parse(data, name, feature_version=(3, int(floor.group(1)) if floor else 8))
            except (SyntaxError, ValueError) as error:
                raise UsageError("%s is no Python of version %s (%s); a newer one is named by --requires-python" % (
                    name, options.requires_python, error)) from None
    wanted = [name for names in options.only for name in names.split(",") if name] or _parts_of(authored)
    try:
        package = parts.subset(parts.files(), wanted)
    except ValueError as error:
        raise UsageError("--only: %s" % error) from None
    home = _LIB + parts.package_name().replace(".", "/") + "/"
    return {_ENTRY: (_LAUNCHER % script).encode("utf-8"),
            **{_APP + name: data for name, data in authored.items()},
            **{home + name: data for name, data in package.items()}}


def _parts_of(authored: Mapping[str, bytes]) -> List[str]:
    """Return the parts of this package that an author's files need. Raises `UsageError` for one that there is not."""
    found = {_SLICE}
    for path, data in authored.items():
        if path.endswith(".py"):
            text = io.TextIOWrapper(io.BytesIO(data), tokenize.detect_encoding(io.BytesIO(data).readline)[0]).read()
            try:
                found |= needed(Program(path, text, ast.parse(data, path)))
            except BundleError as error:
                raise UsageError(str(error)) from None
    return sorted(found)


def _server(settings: Settings, pythons: Sequence[str]) -> Dict[str, Any]:
    """Return the member ``server`` of the manifest. Raises `UsageError`."""
    commands = {"": "python3", "win32": "python"}
    for word in pythons:
        platform, equals, command = word.rpartition("=")
        if platform not in ("", "win32", "darwin", "linux") or not command:
            raise UsageError("--python %s: write COMMAND, or win32=COMMAND, darwin=COMMAND, linux=COMMAND" % word)
        commands[platform] = command
    config: Dict[str, Any] = {"command": commands.pop(""), "args": ["${__dirname}/" + _ENTRY, *settings.args]}
    if settings.env:
        config["env"] = settings.env
    other = {platform: {"command": command} for platform, command in sorted(commands.items())
             if command != config["command"]}
    if other:
        config["platform_overrides"] = other
    return {"type": "python", "entry_point": _ENTRY, "mcp_config": config}


def _icon(path: str) -> bytes:
    try:
        with open_file(path) as file:
            return file.read()
    except OSError as error:
        raise UsageError("--icon %s: %s" % (path, error.strerror or error)) from None


def _values(options: Any, manifest: Mapping[str, Any], names: Mapping[str, str]) -> Dict[str, Value]:
    """Return what the server gets for this once, by its keys: by --try, or from our environment.

    names: the author's -> the key. Raises `UsageError` for a name that is neither.
    """
    members = manifest.get("user_config", {})
    known = {**{key: key for key in members}, **names}
    variables = manifest["server"]["mcp_config"].get("env", {})
    values: Dict[str, Value] = {key: os.environ[name] for name, key in names.items()
                                if name in variables and os.environ.get(name)}
    for name, value in pairs_of(options.tried, "--try").items():
        if known.get(name) not in members:
            raise UsageError("--try %s: no --env and no --arg has that name; there %s" % (
                name, "are " + ", ".join(names or members) if members else "is none"))
        values[known[name]] = [value] if members[known[name]].get("multiple") else value
    return values


# Checking


def _check(options: Any) -> int:
    """Say whether a bundle is in order, and whether its server starts and has the tools that it names."""
    if not os.path.isfile(options.server):
        raise UsageError("there is no file %s; the command is: pack --check NAME.mcpb" % options.server)
    content = read_bundle(options.server)
    manifest, wrong = faults(content)
    noise: List[str] = []
    if not wrong:
        values = _values(options, manifest, author_names(manifest))
        with running(content, manifest, values, noise=noise) as client:
            wrong = differences(client, manifest)
    warnings = _warnings(noise)
    if options.json:
        say_json({"file": options.server, "manifest": manifest, "faults": wrong, "warnings": warnings})
    elif wrong:
        for each in wrong:
            say(each)
    else:
        say("%s: %s %s is in order, starts, and has the tools and prompts that it names" % (
            options.server, manifest["name"], manifest["version"]))
    if not options.json:
        for each in warnings:
            say("warning: %s" % each)
    return FAILED if wrong else DONE


def _warnings(noise: Sequence[str]) -> List[str]:
    return [noise_said(len(noise), noise[0]) + "; it has to go to stderr"] if noise else []


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = __doc__
    parser.usage = ("%(prog)s SERVER.py -o NAME.mcpb --author NAME [options]\n"
                    "       %(prog)s --check NAME.mcpb [--try NAME=VALUE ...]")
    add = parser.add_argument
    add("server", metavar="SERVER.py", help="the file that runs the server over stdio; with --check the bundle")
    add("-o", dest="output", metavar="NAME.mcpb", help="the bundle to write")
    add("--check", action="store_true", help="look at a bundle: its names, its manifest, whether its server starts")
    add("--name", help="the name of the bundle (default: the server's)")
    add("--title", help="the name that people see (default: the server's title)")
    add("--version", metavar="1.0.0", help="its semantic version (default: the server's)")
    add("--description", metavar="TEXT", help="one sentence (default: the server's, or that of its file's docstring)")
    add("--author", metavar="NAME", help="who made it: NAME, or NAME <MAIL>")
    add("--license", metavar="NAME", help="such as MIT")
    add("--repository", metavar="URL", help="where its source is")
    add("--icon", metavar="FILE.png", help="its icon, best with 512 x 512 points")
    add("--manifest", metavar="FILE", help="a JSON file with other members of the manifest")
    add("--manifest-version", choices=VERSIONS, default=VERSIONS[0], help="(default: %(default)s)")
    add("--env", action="append", default=[], metavar="NAME=KIND", help="a variable that the user sets; see below")
    add("--arg", action="append", default=[], metavar="NAME=KIND",
        help="an argument that the user sets, such as --arg=--folder=directory; in order; see below")
    add("--describe", action="append", default=[], metavar="NAME=TEXT", help="tell users what one of these is for")
    add("--try", dest="tried", action="append", default=[], metavar="NAME=VALUE",
        help="a value of one of these while the server is started here")
    add("--include", action="append", default=[], metavar="PATTERN",
        help="more files or folders, relative to the server's folder; may be repeated")
    add("--exclude", action="append", default=[], metavar="PATTERN", help="files or folders to leave out of these")
    add("--only", action="append", default=[], metavar="PART,...",
        help="the parts of this package, as for vendor (default: %s, and what the files import)" % _SLICE)
    add("--generated", action="append", default=[], choices=["tools", "prompts"],
        help="say that there are others, or others at times")
    add("--python", action="append", default=[], metavar="COMMAND",
        help="the command of the interpreter (default: python3, and win32=python); may be repeated")
    add("--requires-python", metavar="RANGE", default=">=3.8", help="(default: %(default)s)")
    add("--server-json", metavar="FILE", help="write the registry's server.json for it, too")
    add("--registry-name", metavar="NAME", help="its name there, such as io.github.USER/weather")
    add("--download-url", metavar="URL", help="where the bundle will be; the public registry takes release files of "
                                              "GitHub and GitLab only")
    add("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"pack": Command(_pack, _options)}
