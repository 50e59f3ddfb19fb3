"""The manifest of an MCP bundle and its settings, the registry's ``server.json``, and the checks of both.

[MCPB MANIFEST.md 0.3 §Manifest Schema, with the schemas 0.3 and 0.4; MCP registry server.json 2025-12-11]

Settings are what a user enters before the server starts: environment variables and arguments.
``--env NAME=KIND`` and ``--arg FLAG=KIND`` (or ``--arg NAME=KIND``, for an argument without a flag) declare one each.
A KIND is followed by nothing (the user has to give it), ``:VALUE`` (a default), ``?`` (it may be left empty), or,
for an argument without a flag, ``+`` (one or more) or ``*`` (any number):

===================  ==================================================================================================
``string``           a text
``secret``           a text that the host hides and keeps safe
``number``           a number
``boolean``          true or false
``directory``        the path of a folder that the user chooses
``file``             the path of a file that the user chooses
``fixed:VALUE``      nothing to set: the server always gets this value (environment only)
===================  ==================================================================================================

An ``--arg`` without ``=KIND`` is a word that the server always gets.
"""

import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ...jsonschema import DRAFT_07, compile
from ...jsontext import JsonError, loads
from ...options import closest
from ..output import UsageError, open_file
from .archive import MANIFEST_NAME, BadBundle, fault_of_name

KINDS = ("string", "secret", "number", "boolean", "directory", "file")
_KIND = re.compile(r"([a-z]+)([?*+]?)(?::(.*))?\Z", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\Z", re.ASCII)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_SYSTEM = {"DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads", "HOME": ""}
"""Variable of a manifest -> the folder below the user's that it stands for."""
Value = Union[str, List[str]]


class Setting(NamedTuple):
    """One thing that a user sets."""

    key: str
    """The name in the manifest."""
    name: str
    """The variable, the flag, or the name that the author gave to an argument without a flag."""
    kind: str
    option: str
    """``--env`` or ``--arg``."""
    many: bool = False
    required: bool = True
    default: Any = None
    description: str = ""

    @property
    def placeholder(self) -> str:
        """The text in place of which the host puts the value."""
        return "${user_config.%s}" % self.key

    def as_config(self) -> Dict[str, Any]:
        """Return the member of ``user_config``."""
        words = re.sub(r"[-_.]+", " ", self.name).strip()
        where = "%s in its environment" % self.name if self.option == "--env" else (
            "%s" % self.name if self.name.startswith("-") else "an argument")
        made: Dict[str, Any] = {
            "type": "string" if self.kind == "secret" else self.kind, "title": words[:1].upper() + words[1:],
            "description": self.description or "The server gets it as %s." % where, "required": self.required}
        if self.kind == "secret":
            made["sensitive"] = True
        if self.many:
            made["multiple"] = True
        if self.default is not None:
            made["default"] = self.default
        return made

    def as_input(self) -> Dict[str, Any]:
        """Return the input of the registry's ``server.json``."""
        made: Dict[str, Any] = {"description": self.as_config()["description"], "isRequired": self.required}
        if self.kind != "string":
            made["format"] = {"secret": "string", "directory": "filepath", "file": "filepath"}.get(self.kind, self.kind)
        if self.kind == "secret":
            made["isSecret"] = True
        if self.default not in (None, "", []):
            made["default"] = str(self.default).lower() if isinstance(self.default, bool) else str(self.default)
        return made


class Settings(NamedTuple):
    """All that the author declared."""

    settings: List[Setting]
    env: Dict[str, str]
    args: List[str]

    @property
    def user_config(self) -> Dict[str, Any]:
        """The member of the manifest."""
        return {setting.key: setting.as_config() for setting in self.settings}


def declared(env: Sequence[str], args: Sequence[str], describe: Mapping[str, str]) -> Settings:
    """Return what the words of ``--env``, ``--arg`` and ``--describe`` declare. Raises `UsageError`."""
    found = Settings([], {}, [])
    for word in env:
        name, equals, kind = word.partition("=")
        if not equals or not re.match(r"[A-Za-z_]\w*\Z", name, re.ASCII) or name in found.env:
            raise UsageError("--env %s: write NAME=KIND, each name once, with a KIND of: %s" % (word, ", ".join(KINDS)))
        if kind.startswith("fixed:"):
            found.env[name] = kind[len("fixed:"):]
        else:
            found.env[name] = _add(found, _setting("--env", word, name, kind))
    for word in args:
        name, equals, kind = word.partition("=")
        if not equals:
            found.args.append(word)
            continue
        text = _add(found, _setting("--arg", word, name, kind))
        found.args.append("%s=%s" % (name, text) if name.startswith("-") else text)
    unknown = set(describe) - {setting.name for setting in found.settings}
    if unknown:
        raise UsageError("--describe %s: no --env and no --arg has that name" % sorted(unknown)[0])
    return found


def _add(found: Settings, setting: Setting) -> str:
    other = next((each for each in found.settings if each.key == setting.key), None)
    if other is not None:
        raise UsageError("%s %s and %s %s would have the same name in the manifest, %s: rename one" % (
            other.option, other.name, setting.option, setting.name, setting.key))
    found.settings.append(setting)
    return setting.placeholder


def _setting(option: str, word: str, name: str, kind: str) -> Setting:
    """Return the setting that a word declares. Raises `UsageError`."""
    def wrong(what: str) -> UsageError:
        return UsageError("%s %s: %s" % (option, word, what))

    match = _KIND.match(kind)
    if match is None or match.group(1) not in KINDS:
        meant = closest(kind, KINDS)
        raise wrong("%s is none of the kinds %s%s%s" % (
            kind, ", ".join(KINDS), "" if option == "--arg" else ", fixed:VALUE",
            "; did you mean %s?" % meant if meant else ""))
    kind, sign, text = match.groups()
    key = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not key:
        raise wrong("the name needs a letter or a digit")
    if kind == "secret" and text is not None:
        raise wrong("a secret has no default: everybody who gets the bundle could read it")
    flagged = option == "--env" or name.startswith("-")
    if sign in ("*", "+") and sign:
        if flagged or text is not None:
            raise wrong("%s is for an argument without a flag, and without a default" % sign)
        return Setting(key, name, kind, option, True, sign == "+", None if sign == "+" else [])
    if text is not None:
        return Setting(key, name, kind, option, False, False, _default(kind, text, wrong))
    if sign == "?":
        # A host leaves the text ${user_config.x} where a value is missing, so an empty one has to be the default; and
        # it takes that for a missing one where an argument is nothing else.
        if kind in ("number", "boolean"):
            raise wrong("give it a default: %s:VALUE" % kind)
        if not flagged:
            raise wrong("%s=%s* is any number of them, none too; or give it a default: %s:VALUE" % (name, kind, kind))
        return Setting(key, name, kind, option, False, False, "")
    return Setting(key, name, kind, option)


def _default(kind: str, text: str, wrong: Any) -> Any:
    if kind == "number":
        if not _NUMBER.match(text):
            raise wrong("%s is no number" % text)
        return float(text) if "." in text else int(text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise wrong("a boolean is true or false")
        return text == "true"
    if not text:
        raise wrong("an empty default is written %s?" % kind)
    return text


# Starting it as a host does


def author_names(manifest: Mapping[str, Any]) -> Dict[str, str]:
    """Return the variables and flags by which the server of a manifest gets what a user sets: name -> key."""
    config = manifest["server"]["mcp_config"]
    pairs = list(config.get("env", {}).items())
    pairs += [(flag, text) for flag, _, text in (word.partition("=") for word in config.get("args", ())) if text]
    found = [(name, re.match(r"\$\{user_config\.([^{}]*)\}\Z", text)) for name, text in pairs]
    return {name: match.group(1) for name, match in found if match is not None}


def unset(manifest: Mapping[str, Any], values: Mapping[str, Value], names: Mapping[str, str]) -> List[str]:
    """Return what the user has to give and has not, by the author's names (name -> key) where they are known."""
    by_key = {key: name for name, key in names.items()}
    return [by_key.get(key, key) for key, member in manifest.get("user_config", {}).items()
            if member.get("required") and not values.get(key)]


def how_to_set(names: Sequence[str]) -> str:
    """Return what to do about what is not set."""
    return "the server needs %s to start: give it here by %s" % (
        ", ".join(names), " ".join("--try %s=VALUE" % name for name in names))


def expanded(manifest: Mapping[str, Any], folder: str, values: Mapping[str, Value], platform: str) -> Tuple[
        List[str], Dict[str, str]]:
    """Return the command and the environment by which a host starts a bundle that is unpacked in a folder.

    values: key of ``user_config`` -> what the user gave. Raises `UsageError` for a required one that is missing.
    """
    absent = unset(manifest, values, author_names(manifest))
    if absent:
        raise UsageError(how_to_set(absent))
    config = dict(manifest["server"]["mcp_config"])
    config.update({member: value for member, value in config.get("platform_overrides", {}).get(platform, {}).items()
                   if value})
    known: Dict[str, Value] = {"__dirname": folder, "pathSeparator": os.sep, "/": os.sep}
    known.update({name: os.path.join(os.path.expanduser("~"), below) if below else os.path.expanduser("~")
                  for name, below in _SYSTEM.items()})
    for key, member in manifest.get("user_config", {}).items():
        value = values.get(key, None if member.get("required") else member.get("default"))
        if value is not None:
            known["user_config." + key] = list(map(_text, value)) if isinstance(value, list) else _text(value)
    command = [_filled(config["command"], known)]
    for word in config.get("args", ()):
        match = _VARIABLE.match(word)
        many = known.get(match.group(1)) if match is not None and match.end() == len(word) else None
        command += many if isinstance(many, list) else [_filled(word, known)]
    return command, {name: _filled(value, known) for name, value in config.get("env", {}).items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(text: str, known: Mapping[str, Value]) -> str:
    def value(match: "re.Match[str]") -> str:
        found: Optional[Value] = known.get(match.group(1))
        return found if isinstance(found, str) else match.group()

    return _VARIABLE.sub(value, text)


VERSIONS = ("0.3", "0.4")
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
REGISTRY_DESCRIPTION = 100
"""Characters that a description may have in a ``server.json``."""
FLAGS = {"name": "--name NAME", "version": "--version 1.0.0", "description": "--description TEXT",
         "author": "--author NAME"}
"""Members that a manifest must have -> the option that gives them."""
_SEMVER = re.compile(r"(?:(?:0|[1-9]\d*)\.){2}(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z", re.ASCII)
_PNG = b"\x89PNG\r\n\x1a\n"
_REGISTRY_NAME = re.compile(r"[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+/[a-zA-Z0-9](?:[a-zA-Z0-9._-]*[a-zA-Z0-9])?\Z")
_TEXT = {"type": "string"}
_URI = {"type": "string", "format": "uri"}
_FLAG = {"type": "boolean"}


def _list(items: Dict[str, Any]) -> Dict[str, Any]:
    return {"type": "array", "items": items}


def _object(required: str, members: Dict[str, Any]) -> Dict[str, Any]:
    return {"type": "object", "properties": members, "required": required.split(), "additionalProperties": False}


def _map(values: Dict[str, Any]) -> Dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


_STARTED = {"command": _TEXT, "args": _list(_TEXT), "env": _map(_TEXT)}
_USER = _object("type title description", {
    "type": {"enum": ["string", "number", "boolean", "directory", "file"]}, "title": _TEXT, "description": _TEXT,
    "required": _FLAG, "default": {"anyOf": [_TEXT, {"type": "number"}, _FLAG, _list(_TEXT)]}, "multiple": _FLAG,
    "sensitive": _FLAG, "min": {"type": "number"}, "max": {"type": "number"}})
_MEMBERS: Dict[str, Any] = {
    "$schema": _TEXT, "manifest_version": {"enum": list(VERSIONS)}, "dxt_version": {"enum": list(VERSIONS)},
    "name": _TEXT, "display_name": _TEXT, "version": _TEXT, "description": _TEXT, "long_description": _TEXT,
    "author": _object("name", {"name": _TEXT, "email": {"type": "string", "format": "email"}, "url": _URI}),
    "repository": _object("type url", {"type": _TEXT, "url": _URI}),
    "homepage": _URI, "documentation": _URI, "support": _URI, "icon": _TEXT, "screenshots": _list(_TEXT),
    "icons": _list(_object("src size", {"src": _TEXT, "size": {"type": "string", "pattern": r"^\d+x\d+$"},
                                        "theme": {"type": "string", "minLength": 1}})),
    "localization": _object("resources default_locale", {
        "resources": {"type": "string", "pattern": r"\$\{locale\}"},
        "default_locale": {"type": "string", "pattern": "^[A-Za-z0-9]{2,8}(?:-[A-Za-z0-9]{1,8})*$"}}),
    "server": _object("type entry_point mcp_config", {
        "type": {"enum": ["python", "node", "binary", "uv"]}, "entry_point": _TEXT,
        "mcp_config": _object("command", dict(_STARTED, platform_overrides=_map(_object("", _STARTED))))}),
    "tools": _list(_object("name", {"name": _TEXT, "description": _TEXT})), "tools_generated": _FLAG,
    "prompts": _list(_object("name text", {"name": _TEXT, "description": _TEXT, "arguments": _list(_TEXT),
                                           "text": _TEXT})), "prompts_generated": _FLAG,
    "keywords": _list(_TEXT), "license": _TEXT, "privacy_policies": _list(_URI),
    "compatibility": _object("", {
        "claude_desktop": _TEXT, "platforms": _list({"enum": ["darwin", "win32", "linux"]}),
        "runtimes": _object("", {"python": _TEXT, "node": _TEXT})}),
    "user_config": _map(_USER), "_meta": _map({"type": "object"}),
}
SCHEMA = dict(_object("name version description author server", _MEMBERS), **{"$schema": DRAFT_07})
"""The rules of the official schemas, in our words."""
_MADE = ("server", "tools", "prompts", "manifest_version", "dxt_version")
"""Members that a file of the author cannot give."""


class ServerListed(NamedTuple):
    """The identity and the lists of a running server, as members of a manifest."""

    identity: Dict[str, str]
    """Members that the server knows: name, version, display_name, description, homepage."""
    tools: List[Dict[str, Any]]
    prompts: List[Dict[str, Any]]
    """The prompts whose text is the same whatever the arguments are."""
    prompts_generated: bool
    """True if there are others."""


def faults(content: Mapping[str, bytes]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the manifest of a bundle's files, and what is wrong with it. Raises `BadBundle` where there is none."""
    try:
        manifest = loads(content[MANIFEST_NAME])
    except KeyError:
        raise BadBundle("there is no %s at its top" % MANIFEST_NAME) from None
    except JsonError as error:
        raise BadBundle("%s: %s" % (MANIFEST_NAME, error)) from None
    violations = compile(SCHEMA, assert_formats=True).validate(manifest)
    if violations:
        return manifest if isinstance(manifest, dict) else {}, ["%s: %s" % (MANIFEST_NAME, each) for each in violations]
    found = []
    if "manifest_version" not in manifest and "dxt_version" not in manifest:
        found.append("manifest.json: manifest_version is missing")
    named = [("server.entry_point", manifest["server"]["entry_point"])]
    named += [("icon", path) for path in (manifest.get("icon"),) if path is not None and not _is_remote(path)]
    named += [("icons", each["src"]) for each in manifest.get("icons", ()) if not _is_remote(each["src"])]
    named += [("screenshots", path) for path in manifest.get("screenshots", ()) if not _is_remote(path)]
    for member, path in named:
        if fault_of_name(path) or path not in content:
            found.append("manifest.json: %s: there is no file %s in the bundle" % (member, path))
        elif member.startswith("icon") and not content[path].startswith(_PNG):
            found.append("manifest.json: %s: %s is no PNG" % (member, path))
    used = set(re.findall(r"\$\{user_config\.([^{}]*)\}", str(manifest["server"])))
    found += ["manifest.json: server: ${user_config.%s} is used, and user_config has no such member" % key
              for key in sorted(used - set(manifest.get("user_config", {})))]
    return manifest, found


def _is_remote(path: str) -> bool:
    return path.startswith(("http://", "https://"))


def from_file(path: str) -> Dict[str, Any]:
    """Return the members of a manifest that an author wrote. Raises `UsageError`."""
    try:
        with open_file(path) as file:
            found = loads(file.read())
    except OSError as error:
        raise UsageError("--manifest %s: %s" % (path, error.strerror or error)) from None
    except JsonError as error:
        raise UsageError("--manifest %s: %s" % (path, error)) from None
    if not isinstance(found, dict):
        raise UsageError("--manifest %s: expected an object" % path)
    for member in _MADE:
        if member in found:
            raise UsageError("--manifest %s: %s is made here: leave it out" % (path, member))
    return found


def missing(listed: ServerListed, given: Mapping[str, Any], file: Mapping[str, Any]) -> List[str]:
    """Return the options that have to be given, since a manifest needs what neither the server nor the file says."""
    known: Dict[str, Any] = {**listed.identity, **file, **given}
    found = [flag for member, flag in FLAGS.items() if not known.get(member)]
    if known.get("version") and not _SEMVER.match(str(known["version"])):
        found.append("%s (%s is no semantic version, by which hosts tell a newer bundle)" % (
            FLAGS["version"], known["version"]))
    return found


def manifest_of(
    version: str, server: Dict[str, Any], listed: ServerListed, settings: Settings, given: Mapping[str, Any],
    file: Mapping[str, Any], generated: List[str],
) -> Dict[str, Any]:
    """Return the manifest. What options say (``given``) goes before what the file says, and that before the server.

    Raises `UsageError`, which names the option, for what breaks a rule; see `missing` for what is not there.
    """
    known: Dict[str, Any] = {**listed.identity, **file, **given}
    user_config = dict(settings.user_config)
    for key, member in (file.get("user_config") or {}).items():
        if key not in user_config:
            raise UsageError("--manifest: user_config.%s: no --env and no --arg has that name" % key)
        user_config[key] = dict(user_config[key], **member) if isinstance(member, dict) else member
    made: Dict[str, Any] = {"manifest_version": version}
    for member in ("name", "display_name", "version", "description"):
        if known.get(member) is not None:
            made[member] = known.pop(member)
    made.update({member: value for member, value in known.items() if value is not None and member != "user_config"})
    made.update(server=server, tools=listed.tools, prompts=listed.prompts)
    if "tools" in generated or file.get("tools_generated"):
        made["tools_generated"] = True
    if listed.prompts_generated or "prompts" in generated or file.get("prompts_generated"):
        made["prompts_generated"] = True
    if user_config:
        made["user_config"] = user_config
    return {member: value for member, value in made.items() if member not in ("tools", "prompts") or value}


def server_json(
    manifest: Mapping[str, Any], settings: Settings, name: Optional[str], url: Optional[str], sha256: str
) -> Dict[str, Any]:
    """Return the registry's description of a bundle that lies at a URL. Raises `UsageError`, which names the option."""
    if name is None or not _REGISTRY_NAME.match(name) or len(name) > 200:
        raise UsageError("--registry-name: the registry needs a name such as io.github.USER/%s, in a namespace of "
                         "yours" % manifest["name"])
    if url is None or not re.match(r"https://[^\s/]+/\S+\Z", url) or "mcp" not in url.lower():
        raise UsageError("--download-url: the registry needs the https:// address at which the bundle will be, with "
                         "mcp somewhere in it")
    if len(manifest["description"]) > REGISTRY_DESCRIPTION:
        raise UsageError("the description has %d characters, and the registry takes %d: give a shorter one by "
                         "--description" % (len(manifest["description"]), REGISTRY_DESCRIPTION))
    # Without a version: the registry refuses one for bundles, since the address names it.
    package: Dict[str, Any] = {"registryType": "mcpb", "identifier": url, "fileSha256": sha256,
                               "transport": {"type": "stdio"}}
    variables = [dict(name=each.name, **each.as_input()) for each in settings.settings if each.option == "--env"]
    arguments = []
    for setting in settings.settings:
        if setting.option == "--arg":
            flagged = setting.name.startswith("-")
            made = {"type": "named", "name": setting.name} if flagged else {
                "type": "positional", "valueHint": setting.key}
            arguments.append(dict(made, **setting.as_input(), **({"isRepeated": True} if setting.many else {})))
    package.update({member: value for member, value in (
        ("environmentVariables", variables), ("packageArguments", arguments)) if value})
    made_of = {"title": "display_name", "websiteUrl": "homepage"}
    found = {"$schema": REGISTRY_SCHEMA, "name": name, "description": manifest["description"],
             "version": manifest["version"],
             **{member: manifest[ours] for member, ours in made_of.items() if manifest.get(ours)}}
    repository = manifest.get("repository")
    if repository:
        source = re.search(r"//(?:www\.)?(github|gitlab)\.com/", repository["url"])
        if source:  # the registry knows no others
            found["repository"] = {"url": repository["url"], "source": source.group(1)}
    return dict(found, packages=[package])
