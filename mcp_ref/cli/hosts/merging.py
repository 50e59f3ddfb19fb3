"""One entry more in a configuration file, and every other byte as it was: comments, order, spaces, line ends.

JSON, with comments and trailing commas or without, is changed by inserting text. TOML gets a table at its end, YAML an
item at the end of its list. What comes out is read again: if it says anything but what the file said and the entry,
nothing is written. The file is replaced at once, by one that is renamed; links are followed, the mode is kept, and what
was there is kept as a backup.
"""

import json
import os
import re
import stat
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ...host.configuration import MAX_FILE, parse, without_comments, without_last_commas
from ...yaml import blocks, reads_as_text
from ..output import open_file

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
_BOM = b"\xef\xbb\xbf"


class CannotKeep(ValueError):
    """The file cannot be changed without losing something of it; the text says what."""


class EntryPlace(NamedTuple):
    """The entry of a file that is to be set."""

    path: str
    top: str
    """The member of the file that holds the servers."""
    name: str

    @property
    def form(self) -> str:
        """The language of the file: json, toml or yaml."""
        ending = os.path.splitext(self.path)[1].lower()
        return {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}.get(ending, "json")


def merged(place: EntryPlace, data: bytes, entry: Mapping[str, Any], replace: bool = False) -> Optional[bytes]:
    """Return the bytes of a file with one entry more, or None if it is there already.

    ``replace``: an entry of this name may be replaced. Raises `CannotKeep`.
    """
    bom = _BOM if data.startswith(_BOM) else b""
    try:
        text = data[len(bom):].decode("utf-8")
        old: Any = parse(place.path, data) if text.strip() else {}
        old = {} if old is None and place.form == "yaml" else old  # nothing but comments
    except UnicodeDecodeError:
        raise CannotKeep("%s is not UTF-8" % place.path) from None
    except ValueError as error:
        raise CannotKeep("%s, so it cannot be kept as it is: mend it, or write the entry by hand" % error) from None
    servers = _servers(place, old)
    there = servers.get(place.name)
    if there == entry:
        return None
    if there is not None and not replace:
        raise CannotKeep("%s has another server %r already: --name gives this one another name, --replace takes its "
                         "place" % (place.path, place.name))
    made = {"toml": _toml, "yaml": _yaml, "json": _json}[place.form](place, text, old, entry)
    _check(place, made, old, entry)
    return bom + made.encode("utf-8")


def _servers(place: EntryPlace, old: Any) -> Dict[str, Any]:
    """Return the entries that are there, by name. Raises `CannotKeep`."""
    servers: Any = old.get(place.top, {}) if isinstance(old, dict) else None
    if place.form == "yaml" and isinstance(old, dict):
        items = servers or []
        if isinstance(items, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str)
                                           for each in items):
            return {each["name"]: {member: value for member, value in each.items() if member != "name"}
                    for each in items}
    elif isinstance(servers, dict):
        return servers
    raise CannotKeep("%s: %s is not %s: write the entry by hand" % (
        place.path, place.top, "a list of entries with a name" if place.form == "yaml" else
        "an object, name -> entry"))


def _check(place: EntryPlace, made: str, old: Dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Raise `CannotKeep` unless a text says what was said before, and the entry."""
    wanted: Dict[str, Any] = dict(old)
    if place.form == "yaml":
        wanted[place.top] = (old.get(place.top) or []) + [dict(entry, name=place.name)]
        wanted = wanted if old else dict(_yaml_head(place), **wanted)
    else:
        wanted[place.top] = dict(old.get(place.top, {}), **{place.name: entry})
    new_file = place.form == "toml" and not old  # an older Python cannot read it
    try:
        same = new_file or parse(place.path, made.encode("utf-8")) == wanted
    except ValueError:
        same = False
    if not same:
        raise CannotKeep("%s is written in a way to which an entry cannot be added: write it by hand" % place.path)


# JSON


class _Object(NamedTuple):
    """An object in a text, by its places."""

    start: int
    end: int
    """The place of its closing brace."""
    members: Dict[str, Tuple[int, int, int]]
    """Name -> the places where the member begins, and its value begins and ends."""


def _json(place: EntryPlace, text: str, old: Dict[str, Any], entry: Mapping[str, Any]) -> str:
    if not text.strip():
        return rendered(place, entry)
    plain = without_comments(text)
    strict = without_last_commas(plain)
    root = _object(strict, _after_space(strict, 0))
    value: Any = entry
    owner, name = root, place.top
    if place.top in root.members:
        owner, name = _object(strict, root.members[place.top][1]), place.name
    else:
        value = {place.name: entry}
    if name not in owner.members:
        return _with_member(text, plain, owner, name, value)
    start, end = owner.members[name][1:]
    if text[start:end] != plain[start:end]:
        raise CannotKeep("%s: there are comments in the entry %s, which would be lost: change it by hand" % (
            place.path, place.name))
    return text[:start] + _indented(text, _indent_at(text, owner.members[name][0]), value) + text[end:]


def _object(strict: str, start: int) -> _Object:
    members: Dict[str, Tuple[int, int, int]] = {}
    at = _after_space(strict, start + 1)
    while strict[at] != "}":
        name, after = _DECODER.raw_decode(strict, at)
        value = _after_space(strict, _after_space(strict, after) + 1)
        end = _DECODER.raw_decode(strict, value)[1]
        members[name] = (at, value, end)
        at = _after_space(strict, end)
        at = _after_space(strict, at + 1) if strict[at] == "," else at
    return _Object(start, at, members)


def _with_member(text: str, plain: str, owner: _Object, name: str, value: Any) -> str:
    """Return the text with a member more at the end of an object."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    outside = _indent_at(text, owner.start)
    inside = outside + _unit(text)
    at = len(text[:owner.end].rstrip(" \t\r\n"))
    comma = last_comma = ""
    after = at
    if owner.members:
        first, _, after = list(owner.members.values())[0][:2] + list(owner.members.values())[-1][2:]
        if not text[:first].rpartition("\n")[2].strip():
            inside = text[:first].rpartition("\n")[2]
        if "," in plain[after:owner.end]:
            last_comma = ","  # as there was one before
        else:
            comma = ","
    member = line_end + inside + json.dumps(name, ensure_ascii=False) + ": " + _indented(text, inside, value)
    closing = "" if "\n" in text[at:owner.end] else line_end + outside
    return text[:after] + comma + text[after:at] + member + last_comma + closing + text[at:]


def _indented(text: str, indent: str, value: Any) -> str:
    """Return a value in the manner of the text, for a line that is indented so much."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", line_end + indent)


def _unit(text: str) -> str:
    """Return the indentation of one level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _indent_at(text: str, at: int) -> str:
    """Return the indentation of the line of a place."""
    return re.match(r"[ \t]*", text[:at].rpartition("\n")[2]).group()  # type: ignore[union-attr]


def _after_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


# TOML


def _toml(place: EntryPlace, text: str, old: Dict[str, Any], entry: Mapping[str, Any]) -> str:
    if place.name in old.get(place.top, {}):
        raise CannotKeep("%s: a table of TOML is not replaced: change [%s.%s] by hand" % (
            place.path, place.top, place.name))
    line_end = "\r\n" if "\r\n" in text else "\n"
    before = text if not text.strip() or text.endswith("\n") else text + line_end
    return before + (line_end if text.strip() else "") + rendered(place, entry).replace("\n", line_end)


# YAML


def _yaml(place: EntryPlace, text: str, old: Dict[str, Any], entry: Mapping[str, Any]) -> str:
    if place.name in _servers(place, old):
        raise CannotKeep("%s: an item of YAML is not replaced: change %s by hand" % (place.path, place.name))
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not old:
        before = text if not text or text.endswith("\n") else text + line_end
        return before + rendered(place, entry).replace("\n", line_end)
    lines = text.split(line_end)
    block = blocks(text).get(place.top)
    if block is None:
        at, made = len(lines) - (not lines[-1]), ["%s:" % place.top, *_yaml_item(place.name, entry, 2)]
    elif old[place.top] is None or block.indent >= 0:
        at, made = block.last + 1, _yaml_item(place.name, entry, block.indent if block.indent >= 0 else 2)
    else:
        raise CannotKeep("%s: %s is a list in brackets: write the entry by hand" % (place.path, place.top))
    return line_end.join(lines[:at] + made + (lines[at:] or [""]))


def _yaml_head(place: EntryPlace) -> Dict[str, str]:
    """Return what must stand before the servers in a file of its own."""
    return {"name": place.name, "version": "0.0.1", "schema": "v1"}


def _yaml_item(name: str, entry: Mapping[str, Any], indent: int) -> List[str]:
    lines = list(_yaml_members(dict({"name": name}, **entry)))
    return [" " * indent + ("  " if number else "- ") + line for number, line in enumerate(lines)]


def _yaml_members(members: Mapping[str, Any]) -> Iterator[str]:
    for name, value in members.items():
        key = name if reads_as_text(name) else _yaml_text(name)
        if isinstance(value, Mapping):
            yield key + ":"
            yield from ("  " + line for line in _yaml_members(value))
        elif isinstance(value, list):
            yield key + ":" if value else key + ": []"
            yield from ("  - " + _yaml_text(each) for each in value)
        else:
            yield "%s: %s" % (key, _yaml_text(value))


def _yaml_text(text: str) -> str:
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: "\\u%04x" % ord(found.group()),
                  json.dumps(text, ensure_ascii=False))


def rendered(place: EntryPlace, entry: Mapping[str, Any]) -> str:
    """Return the text of a file that has this entry alone."""
    if place.form == "yaml":
        head = ["%s: %s" % (name, _yaml_text(value)) for name, value in _yaml_head(place).items()]
        return "\n".join([*head, place.top + ":", *_yaml_item(place.name, entry, 2), ""])
    if place.form == "json":
        return json.dumps({place.top: {place.name: entry}}, ensure_ascii=False, indent=2) + "\n"
    lines = ["%s = %s" % (member, _toml_value(value)) for member, value in entry.items()]
    return "\n".join(["[%s.%s]" % (place.top, place.name), *lines, ""])


def _toml_value(value: Any) -> str:
    """Return a text, an array of texts or an object of texts as TOML, whose texts have JSON's escapes."""
    if isinstance(value, Mapping):
        return "{ %s }" % ", ".join("%s = %s" % (_toml_value(name), _toml_value(each)) for name, each in value.items())
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# The file


def read(path: str) -> Optional[bytes]:
    """Return the bytes of a file, None if there is none. Raises `CannotKeep` for a file that must not be replaced,
    OSError.

    ``path`` has no links in it, here as for `write`: a link may be changed between the two calls.
    """
    try:
        with open_file(path) as file:
            if os.fstat(file.fileno()).st_nlink > 1:
                raise CannotKeep("%s has other names (hard links), which would keep the old text: write it by hand"
                                 % path)
            if not os.access(path, os.W_OK):
                raise CannotKeep("%s may not be written by you" % path)
            return file.read(MAX_FILE + 1)
    except FileNotFoundError:
        return None


def write(path: str, old: Optional[bytes], new: bytes) -> Optional[str]:
    """Replace a file that had these bytes (None: there was none), and return the path of the backup.

    Raises `CannotKeep` if the file has changed meanwhile, or its owner cannot be kept; OSError.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    number, made = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))  # mode 600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            _keep(path, os.stat(path), made)
        if read(path) != old:
            raise CannotKeep("%s was changed by another program meanwhile: try again" % path)
        backup = None if old is None else _backup(path, old)
        os.replace(made, path)
        return backup
    except BaseException:
        os.unlink(made)
        raise


def _keep(path: str, found: os.stat_result, made: str) -> None:
    """Give a new file the owner and the mode of the one that it is to replace."""
    fresh = os.stat(made)
    if (fresh.st_uid, fresh.st_gid) != (found.st_uid, found.st_gid):
        try:
            os.chown(made, found.st_uid, found.st_gid)
        except OSError:
            raise CannotKeep("%s belongs to others, and would not any more: write it by hand" % path) from None
    os.chmod(made, stat.S_IMODE(found.st_mode))


def _backup(real: str, old: bytes) -> str:
    number, path = 1, real + ".backup"
    while True:
        try:
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            number, path = number + 1, "%s.backup-%d" % (real, number + 1)
            continue
        with os.fdopen(opened, "wb") as file:
            file.write(old)
        return path
