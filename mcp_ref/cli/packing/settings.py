"""The settings of a bundle, which a user makes before the server starts: variables, and arguments.

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

from ...options import closest
from ..output import UsageError

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
