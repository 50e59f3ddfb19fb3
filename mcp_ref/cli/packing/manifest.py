"""The manifest of a bundle, and the registry's ``server.json`` for it: what stands in them, and what is wrong with one.

[MCPB MANIFEST.md 0.3 §Manifest Schema, with the schemas 0.3 and 0.4; MCP registry server.json 2025-12-11]
"""

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ...jsonschema import DRAFT_07, compile
from ...jsontext import JsonError, loads
from ..output import UsageError, open_file
from .archive import MANIFEST_NAME, BadBundle, fault_of_name
from .settings import Settings

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
