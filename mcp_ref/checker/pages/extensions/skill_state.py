"""The skills of a server, as they have shown: entries, what was read of their files, and what a client acts on."""

import base64
import binascii
import re
from hashlib import sha256
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ....diagnostics.redaction import MASK
from ....messages.extensions.yaml import YamlError, read_front_matter
from ....messages.extensions.skills import DYNAMIC
from ....methods import GET_SKILL, LIST_SKILLS, READ_DIRECTORY, READ_RESOURCE, SKILLS
from ....wiretrace import CLIENT, SERVER
from ...bounds import Bounds, Forgetful
from ...listed import new_items
from ...observed import REQUEST, RESULT, Message
from ...rules import MESSAGE, CannotTell, observe
from ...values import has_mask, items, members

METHODS = (LIST_SKILLS, GET_SKILL, READ_DIRECTORY)
ENTRIES = (LIST_SKILLS, GET_SKILL)
FILE = "/SKILL.md"
DIRECTORY = "inode/directory"
MOST_FILES, MOST_BYTES = 512, 16 * 1024 * 1024
"""The limits that every host supports."""
_FILES = 4096
"""Files of one skill that are remembered."""
_DEEP = 64
"""Folders above a file that are looked at."""
_CHANGES = 3
"""Contents of one file that are remembered."""
UNSEEN = CannotTell("which client sent the request, and which entry it has: several may share the connection")
UNDECLARED = CannotTell("whether the server has the extension")

_UNCLEAR = re.compile(r"(?:y|n|yes|no|on|off|=|~|[-+]?\.(?:inf|nan))\Z|[-+.]*\d", re.IGNORECASE)
"""The texts in front matter that are none for some readers of YAML, or may be none."""
OK, MISMATCH, DIFFERENT, INVALID = "ok", "mismatch", "frontmatter", "invalid"
"""Findings about a `SKILL.md` that was read, against its entry."""


class Entry:
    """The newest entry of a skill."""

    __slots__ = ("uri", "root", "skill", "asked", "index", "time", "files", "valid")

    def __init__(self, skill: Mapping[str, Any], message: Message) -> None:
        self.uri: str = skill["uri"]
        self.root = root_of(self.uri)
        self.skill = skill
        self.asked = message.request.index if message.request is not None else message.index
        """The index of the request."""
        self.index = message.index
        self.time = message.time
        self.files: Optional[Dict[str, Mapping[str, Any]]] = None
        """The files by URI; None if the skill is dynamic, has too many, or the entry is not valid."""
        resources = skill.get("resources")
        self.valid = isinstance(resources, list) or resources == DYNAMIC
        if isinstance(resources, list) and len(resources) <= _FILES and not has_mask(resources):
            self.files = {each["uri"]: each for each in resources if isinstance(members(each).get("uri"), str)}


class Acting(NamedTuple):
    """A skill whose `SKILL.md` was read after its entry."""

    entry: int
    """The index of the result with the entry."""
    state: str
    """The finding, or "" if nothing could be compared."""


class Skills:
    """The skills of a connection."""

    def __init__(self) -> None:
        self.entries: "Forgetful[str, Entry]" = Forgetful(Bounds().entries)
        self.roots: "Forgetful[str, str]" = Forgetful(Bounds().entries)
        """The folders of skills -> their `SKILL.md`."""
        self.acting: "Forgetful[str, Acting]" = Forgetful(Bounds().entries)
        self.served: "Forgetful[str, int]" = Forgetful(Bounds().entries)
        """Files that were read, or are in a directory -> the index of the first message that has shown it."""
        self.children: "Forgetful[str, int]" = Forgetful(Bounds().entries)
        """Files in directories -> the index of the last result that has shown it."""
        self.contents: "Forgetful[str, Tuple[str, ...]]" = Forgetful(Bounds().entries)
        """Files -> the digests of their last contents that were not those of the entry."""
        self.listed: Optional[Message] = None
        """The last result of `skills/list`."""
        self.name = ""
        """The name that the server gives itself."""


def skills(message: Message) -> Skills:
    """Return the skills of a message's connection."""
    return message.connection.state(Skills)


def declared(message: Message) -> Optional[bool]:
    """Return whether the server has declared the extension; None if that is not known."""
    return message.has_extension(SERVER, SKILLS)


def root_of(uri: str) -> str:
    """Return the folder of a skill, by the URI of its `SKILL.md`."""
    return uri.rpartition("/")[0]


def segments(uri: str) -> List[str]:
    """Return the segments of a skill's path, the first of which is the authority; [] if it has none."""
    return root_of(uri).partition("://")[2].split("/") if "://" in uri else []


def new_entries(message: Message) -> List[Tuple[str, Mapping[str, Any]]]:
    """Return the entries of a result that were not seen before as they are, each with its place."""
    if message.method == GET_SKILL:
        skill = message.result.get("skill")
        return [("result.skill", skill)] if isinstance(skill, dict) else []
    return [("result.skills[%d]" % place, each) for place, each in new_items(message)]


def owners(message: Message, uri: str) -> List[Entry]:
    """Return the entries of the skills in whose folders a file is, the nearest first."""
    known, found, folder = skills(message), [], uri
    for _ in range(_DEEP):
        folder = folder.rpartition("/")[0]
        if not folder or folder.endswith("/"):
            break
        skill = known.roots.get(folder)
        entry = known.entries.get(skill) if skill is not None else None
        if entry is not None:
            found.append(entry)
    return found


def read_uri(message: Message) -> str:
    """Return the URI that a request, or that of a response, reads; "" if there is none."""
    asked = message.request if message.kind not in (REQUEST,) else message
    uri = asked.params.get("uri") if asked is not None else None
    return uri if isinstance(uri, str) and MASK not in uri else ""


def bytes_of(message: Message) -> Optional[bytes]:
    """Return the content that a read has brought; None if it is not one file, or was not recorded as it was."""
    contents = items(message.result.get("contents"))
    if len(contents) != 1 or not isinstance(contents[0], dict):
        return None
    text, blob = contents[0].get("text"), contents[0].get("blob")
    try:
        if isinstance(text, str):
            return None if MASK in text else text.encode("utf-8")
        return base64.b64decode(blob, validate=True) if isinstance(blob, str) and MASK not in blob else None
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None


def digest_of(content: bytes) -> str:
    """Return the digest of a file as entries have it."""
    return "sha256:" + sha256(content).hexdigest()


def matches(file: Mapping[str, Any], content: bytes) -> bool:
    """Return True if a content is the one that an entry describes."""
    return file.get("digest") == digest_of(content) and file.get("size") == len(content)


def difference(entry: Entry, content: bytes) -> Optional[str]:
    """Return the field by which the frontmatter of a `SKILL.md` differs from that of its entry.

    "" if nothing is known to differ; None if it cannot be read without doubt.
    """
    try:
        found, said = read_front_matter(content.decode("utf-8").lstrip("\ufeff"))[0], entry.skill.get("frontmatter")
    except (UnicodeDecodeError, YamlError):
        return None
    if not isinstance(said, dict) or any(map(_is_unclear, found)):
        return ""
    return next((name for name in {**found, **said} if not _is_same(found.get(name), said.get(name))), "")


def _is_unclear(value: Any) -> bool:
    """Tell whether readers of YAML 1.1 see another type: words for true and false, dates, numbers of other bases."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) or isinstance(value, str) and bool(
        _UNCLEAR.match(value))


def _is_same(found: Any, said: Any) -> bool:
    if _is_unclear(found) or has_mask(said):
        return True
    if isinstance(found, dict) and isinstance(said, dict):
        return any(map(_is_unclear, found)) or all(
            _is_same(found.get(name), said.get(name)) for name in {**found, **said})
    if isinstance(found, list) and isinstance(said, list):
        return len(found) == len(said) and all(map(_is_same, found, said))
    if isinstance(found, str) and isinstance(said, str):
        return found.rstrip() == said.rstrip()
    return type(found) is type(said) and bool(found == said)


# What messages change, after the rules were asked about them


@observe(on=RESULT, method=ENTRIES)
def take_entries(message: Message) -> None:
    """Note the entries of a result."""
    if message.sender != SERVER or message.again or declared(message) is False:
        return
    known = skills(message)
    listed = items(message.result.get("skills")) if message.method == LIST_SKILLS else [message.result.get("skill")]
    for skill in map(members, listed[:Bounds().entries]):
        if isinstance(skill.get("uri"), str) and MASK not in skill["uri"]:
            entry = Entry(skill, message)
            known.entries[entry.uri] = entry
            if entry.uri.endswith(FILE):
                known.roots[entry.root] = entry.uri
    if message.method == LIST_SKILLS:
        known.listed = message


@observe(on=RESULT, method=READ_RESOURCE)
def take_read(message: Message) -> None:
    """Note that a file was read, and whether it is as its entry says."""
    uri, known, asked = read_uri(message), skills(message), message.request
    if not uri or not len(known.entries) or asked is None or message.again or "contents" not in message.result:
        return
    if uri not in known.served:
        known.served[uri] = message.index
    entry: Optional[Entry] = known.entries.get(uri)
    content = bytes_of(message)
    if entry is not None and asked.index > entry.index:
        known.acting[uri] = Acting(entry.index, _state(entry, uri, content))
    for owner in owners(message, uri):
        file = owner.files.get(uri) if owner.files is not None else None
        if file is not None and content is not None and file.get("digest") != digest_of(content):
            before: Tuple[str, ...] = known.contents.get(uri, ())
            known.contents[uri] = (*(each for each in before if each != digest_of(content)),
                                   digest_of(content))[-_CHANGES:]
            break


def _state(entry: Entry, uri: str, content: Optional[bytes]) -> str:
    if not entry.valid:
        return INVALID
    if entry.files is None or content is None or uri not in entry.files:
        return ""
    if not matches(entry.files[uri], content):
        return MISMATCH
    return DIFFERENT if difference(entry, content) else OK


@observe(on=RESULT, method=READ_DIRECTORY)
def take_directory(message: Message) -> None:
    """Note the files in a directory."""
    known = skills(message)
    for each in items(message.result.get("resources"))[:_FILES] if message.sender == SERVER else ():
        uri = members(each).get("uri")
        if isinstance(uri, str) and members(each).get("mimeType") != DIRECTORY:
            known.children[uri] = message.index
            if uri not in known.served:
                known.served[uri] = message.index


@observe(on=MESSAGE, method="server/discover")
def take_name(message: Message) -> None:
    """Note the name of a server."""
    name = members(message.result.get("serverInfo")).get("name")
    if message.kind == RESULT and isinstance(name, str):
        skills(message).name = name


def acting_on(message: Message, uri: str) -> List[Tuple[Entry, Acting]]:
    """Return the skills in whose folders a file is, and whose `SKILL.md` the client has read, the nearest first."""
    known = skills(message)
    found = [(entry, known.acting.get(entry.uri)) for entry in owners(message, uri)]
    return [(entry, acting) for entry, acting in found if acting is not None and message.sender == CLIENT]
