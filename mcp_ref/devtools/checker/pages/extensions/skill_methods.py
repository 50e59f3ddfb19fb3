"""Rules of the extension for skills (page extensions/skills/skills): capabilities, methods, types of results, errors.

Here is also what all rules of skills remember: the skills of a server as they have shown, with their entries, what was
read of their files, and what a client acts on.
"""

import base64
import binascii
import json
import re
from hashlib import sha256
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .....diagnostics.redaction import MASK
from .....messages.extensions.skills import DIRECTORY_READ, DYNAMIC
from .....methods import DISCOVER, GET_SKILL, LIST_SKILLS, READ_DIRECTORY, READ_RESOURCE, SKILLS
from .....wiretrace import CLIENT, SERVER
from .....yaml import YamlError, read_front_matter
from ...bounds import Bounds, Forgetful
from ...listed import new_items
from ...observed import ERROR, REQUEST, RESULT, Message
from ...rules import KEPT, MESSAGE, UNDECIDED, Broken, CannotTell, Verdict, observe, rule
from ...values import has_mask, items, masked, members, short
from ..basic.definitions import says_complete
from ..server.caching import hints_missing
from ..server.errorcodes import INTERNAL, INVALID_PARAMS, METHOD_NOT_FOUND, code_and_text, internal
from ..server.lists import STALE, stale
from .task_requests import says_something

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


class KnownSkills:
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


def skills(message: Message) -> KnownSkills:
    """Return the skills of a message's connection."""
    return message.connection.state(KnownSkills)


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


UNDECIDED.update({
    "skills.scheme-is-no-proof": "what a host takes for a skill is inside it",
    "skills.reserved-metadata-ignored": "a party that passes over what it does not know does nothing that shows",
    "skills.empty-list-proves-nothing": "a host that asks for no skill after an empty list may have no use for one",
    "skills.load-by-uri": "whether a host was given a URI, and by whom, leaves no message",
})

TEXT = "---\nname: refunds\ndescription: Refund a customer\n---\n# Refunds\n"
FORM = "Fill in the form.\n"
SKILL = "skill://acme/billing/refunds"


def entry(uri: str = SKILL + FILE, frontmatter: Optional[Dict[str, Any]] = None, resources: Any = ...) -> str:
    """Return the entry of a skill, as JSON: of two files, or of ``resources``; None leaves these away."""
    files = [file(SKILL + FILE, TEXT), file(SKILL + "/forms/a.md", FORM)] if resources is ... else resources
    made = {"uri": uri, "frontmatter": frontmatter or {"name": "refunds", "description": "Refund a customer"}}
    return json.dumps(made if files is None else {**made, "resources": files})


def file(uri: str, text: str, size: Optional[int] = None) -> Dict[str, Any]:
    """Return a file of an entry, with its size or another one."""
    return {"uri": uri, "digest": digest_of(text.encode()), "size": len(text) if size is None else size}


def content(uri: str, text: str) -> str:
    """Return the result of reading a file, as JSON."""
    return json.dumps({"contents": [{"uri": uri, "text": text, "mimeType": "text/markdown"}]})


SERVES = '{"resources": {}, "tools": {}, "extensions": {"%s": {"directoryRead": true}}}' % SKILLS
DISCOVERED = """
    C #90 server/discover {}
    S #90 {"ttlMs": 60000}
"""
START = "\n    on stdio 2026-07-28 server=%s%s" % (SERVES, DISCOVERED)
LISTED = """
    C #91 skills/list {}
    S #91 {"skills": [%s], "ttlMs": 60000}
""" % entry()


# Capabilities, and the methods that they promise


@rule("skills.resources-capability", on=RESULT, method=DISCOVER, scene="""
  + on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
  - on stdio 2026-07-28 server={"extensions": {"io.modelcontextprotocol/skills": {}}}
    C #1 server/discover {}
    S #1 {}
""")
def has_resources(message: Message) -> Verdict:
    """A server with skills has resources."""
    capabilities = message.result.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    if message.sender != SERVER or not isinstance(extensions, dict) or not isinstance(extensions.get(SKILLS), dict):
        return None
    return KEPT if isinstance(capabilities, dict) and isinstance(capabilities.get("resources"), dict) else Broken(
        "skills without resources", "result.capabilities.resources")


def _implemented(message: Message, promised: Optional[bool]) -> Verdict:
    """Judge whether a method that was promised is there."""
    if message.sender != SERVER or promised is False:
        return None
    if promised is None:
        return UNDECLARED
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != METHOD_NOT_FOUND:
        return None
    return STALE if stale(message) else Broken("the method is not found", "error.code")


_METHOD = START + """
    C #1 %s
  + S #1 %s
  - S #1 !-32601 "Method not found"
"""


@rule("skills.list-implemented", on=(RESULT, ERROR), method=LIST_SKILLS, party=SERVER,
      scene=_METHOD % ("skills/list {}", '{"skills": []}'))
def lists_skills(message: Message) -> Verdict:
    """A server with skills lists them."""
    return _implemented(message, declared(message))


@rule("skills.get-implemented", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER,
      scene=_METHOD % ('skills/get {"uri": "%s"}' % (SKILL + FILE), '{"skill": %s}' % entry()))
def gets_skills(message: Message) -> Verdict:
    """A server with skills gives the entry of each."""
    return _implemented(message, declared(message))


def reads_directories(message: Message) -> Optional[bool]:
    """Return whether the server has declared that it reads directories; None if that is not known."""
    settings = message.settings(SERVER, SKILLS)
    return settings.get(DIRECTORY_READ) is True if settings is not None else declared(message)


@rule("skills.directory-read-implemented", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER,
      scene=_METHOD % ('resources/directory/read {"uri": "%s"}' % SKILL, '{"resources": []}'))
def directories(message: Message) -> Verdict:
    """A server that declares that it reads directories does so."""
    return _implemented(message, reads_directories(message))


@rule("skills.no-undeclared-directory-read", on=REQUEST, method=READ_DIRECTORY, scene="""
  + on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": \
{"directoryRead": true}}}
  - on stdio 2026-07-28 server={"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
    C #90 server/discover {}
    S #90 {"ttlMs": 60000}
    C #1 resources/directory/read {"uri": "skill://a"}
    S #1 !-32602 "No such directory"
""")
def only_declared(message: Message) -> Verdict:
    """A client reads directories only where the server has declared that it can."""
    known = reads_directories(message)
    if message.sender != CLIENT or known is None:
        return CannotTell("the capabilities of the server") if known is None else None
    if known:
        return KEPT
    return STALE if message.connection.http and stale(message) else Broken("directoryRead was not declared", "method")


# Results


def _complete(message: Message) -> Verdict:
    if message.sender != SERVER or message.request is None or declared(message) is not True:
        return None
    return says_complete(message)


def _type_of(id: str, method: str, params: str, result: str) -> Callable[[Message], Verdict]:
    """Return the rule that results of a method are complete."""
    def is_complete(message: Message) -> Verdict:
        return _complete(message)

    is_complete.__doc__ = "A result of `%s` is of the type complete." % method
    return rule(id, on=RESULT, method=method, follows="jsonrpc.result-type-required", scene=START + """
    C #1 %s %s
  + S #1 %s
  - S #1 {"resultType": "skill", %s
""" % (method, params, result, result[1:]))(is_complete)


_type_of("skills.list-result-type-complete", LIST_SKILLS, "{}", '{"skills": []}')
_type_of("skills.get-result-type-complete", GET_SKILL, '{"uri": "%s"}' % (SKILL + FILE), '{"skill": %s}' % entry())
_type_of("skills.directory-result-type-complete", READ_DIRECTORY, '{"uri": "%s"}' % SKILL, '{"resources": []}')


def _hints_of(id: str, method: str, params: str, result: str) -> Callable[[Message], Verdict]:
    """Return the rule that results of a method have hints."""
    def hints(message: Message) -> Verdict:
        return hints_missing(message) if declared(message) else None

    hints.__doc__ = "A result of `%s` says how long it may be kept, and by whom." % method
    return rule(id, on=RESULT, method=method, scene=START + """
    C #1 %s %s
  + S #1 {%s, "ttlMs": 60000, "cacheScope": "public"}
  - S> {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", %s, "ttlMs": 60000}}
""" % (method, params, result, result))(hints)


_hints_of("skills.list-cache-hints", LIST_SKILLS, "{}", '"skills": []')
_hints_of("skills.get-cache-hints", GET_SKILL, '{"uri": "%s"}' % (SKILL + FILE), '"skill": %s' % entry())


# Requests and errors


@rule("skills.get-names-skill-md", on=REQUEST, method=GET_SKILL, scene=START + """
  + C #1 skills/get {"uri": "skill://acme/billing/refunds/SKILL.md"}
  - C #1 skills/get {"uri": "skill://acme/billing/refunds"}
    S #1 !-32602 "Unknown skill"
""")
def names_file(message: Message) -> Verdict:
    """A client asks for a skill by the URI of its `SKILL.md`."""
    uri = message.params.get("uri")
    if message.sender != CLIENT or not isinstance(uri, str) or masked(uri) or not declared(message):
        return None
    return KEPT if uri.endswith(FILE) else Broken("the URI is %s" % short(uri), "params.uri")


_WORDS = "the cause is read off the text of the error"
_NONE = re.compile(
    r"\b(?:not found|no such|not exist|unknown (?:skill|resource|file|directory|uri)|not a (?:directory|skill))\b",
    re.IGNORECASE)
_LEGACY = -32002


def _unknown(message: Message) -> Verdict:
    """Judge the code of an error that says that there is nothing of the kind."""
    code, text = code_and_text(message)
    if message.sender != SERVER or not declared(message):
        return None
    if code == INVALID_PARAMS:
        return KEPT
    if code == METHOD_NOT_FOUND or (code != _LEGACY and _NONE.search(text) is None):
        return None
    return Broken("error %s says: %s" % (short(code), short(text)), "error.code")


@rule("skills.get-unknown-skill-error", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER, reading=_WORDS,
      follows="errors.no-32002", scene=START + """
    C #1 skills/get {"uri": "skill://none/SKILL.md"}
  + S #1 !-32602 "Unknown skill"
  - S #1 !-32603 "Unknown skill"
""")
def get_unknown(message: Message) -> Verdict:
    """Asking for a skill that is not there is answered with the code of invalid params."""
    if message.kind == ERROR:
        return _unknown(message)
    if message.sender != SERVER or not declared(message) or message.result.get("resultType") != "complete":
        return None
    return Broken("a result without a skill", "result.skill") if message.result.get("skill") is None else None


_SOON = 60.0
"""Seconds after an entry was sent within which its skill is still there."""


def _is_fresh(found: Entry, message: Message) -> bool:
    return message.time - found.time <= _SOON


@rule("skills.get-answers-unlisted", on=(RESULT, ERROR), method=GET_SKILL, party=SERVER,
      reading="a skill whose entry came less than a minute before is served", scene=START + LISTED + """
    C #1 skills/get {"uri": "skill://acme/billing/refunds/SKILL.md"}
  + S #1 {"skill": %s}
  - S #1 !-32602 "Unknown skill"
""" % entry())
def answers(message: Message) -> Verdict:
    """A server gives the entry of each skill that it serves."""
    uri, asked = read_uri(message), message.request
    found: Optional[Entry] = skills(message).entries.get(uri)
    if found is None or asked is None or message.sender != SERVER or asked.index < found.index or not declared(message):
        return None
    if message.kind == RESULT:
        return KEPT
    if message.error.get("code") != INVALID_PARAMS or not _is_fresh(found, message):
        return None
    return Broken("%s has an entry, and is not found" % short(uri), "params.uri")


@rule("skills.directory-read-error", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER, reading=_WORDS,
      follows="errors.no-32002", scene=START + LISTED + """
    C #1 resources/directory/read {"uri": "skill://acme/billing/refunds/forms/a.md"}
  + S #1 !-32602 "Not a directory"
  - S #1 {"resources": []}
""")
def no_directory(message: Message) -> Verdict:
    """Reading a directory that is none is answered with the code of invalid params."""
    if message.kind == ERROR:
        return _unknown(message)
    uri = read_uri(message)
    for each in owners(message, uri) if uri and declared(message) and message.sender == SERVER else ():
        if each.files is not None and uri in each.files and message.result.get("resultType") == "complete":
            if any(other.startswith(uri + "/") for other in each.files):
                return None
            return Broken("%s is a file" % short(uri), "params.uri")
    return None


@rule("skills.directory-read-every-directory", on=(RESULT, ERROR), method=READ_DIRECTORY, party=SERVER,
      reading="a folder of a skill whose entry came less than a minute before is served", scene=START + LISTED + """
    C #1 resources/directory/read {"uri": "skill://acme/billing/refunds/forms"}
  + S #1 {"resources": [{"uri": "skill://acme/billing/refunds/forms/a.md", "name": "a.md"}]}
  - S #1 !-32602 "Not a directory"
""")
def each_directory(message: Message) -> Verdict:
    """A server that reads directories reads each folder of its skills."""
    uri, asked = read_uri(message), message.request
    if not uri or asked is None or message.sender != SERVER or not reads_directories(message):
        return None
    if "cursor" in asked.params:
        return None
    for each in owners(message, uri + "/"):
        if each.files is None or asked.index < each.index or not any(
                other.startswith(uri + "/") for other in each.files):
            continue
        if message.kind == RESULT:
            return KEPT
        if message.error.get("code") == INVALID_PARAMS and _is_fresh(each, message):
            return Broken("%s is a folder of the skill %s" % (short(uri), short(root_of(each.uri))), "params.uri")
    return None


@rule("skills.read-unknown-file-error", on=ERROR, method=READ_RESOURCE, reading=_WORDS,
      follows=("resources.not-found-32602", "errors.no-32002"), scene=START + LISTED + """
    C #1 resources/read {"uri": "skill://acme/billing/refunds/none.md"}
  + S #1 !-32602 "No such file"
  - S #1 !-32603 "No such file"
""")
def read_unknown(message: Message) -> Verdict:
    """Reading a file of a skill that is not there is answered with the code of invalid params."""
    uri = read_uri(message)
    if not uri or not (uri.startswith("skill://") or owners(message, uri)):
        return None
    return _unknown(message)


_ERRORS = START + """
    C #1 skills/list {}
  + S #1 !-32603 "Internal error"
  - S #1 !%d "%s"
"""


@rule("skills.internal-error-code", on=ERROR, method=METHODS, reading=_WORDS,
      scene=_ERRORS % (-32700, "Internal error"))
def internal_code(message: Message) -> Verdict:
    """An internal error of a method of skills has the code of internal errors."""
    return internal(message)


@rule("skills.informative-errors", on=ERROR, method=METHODS, scene=_ERRORS % (INTERNAL, " "))
def informative(message: Message) -> Verdict:
    """The error of a method of skills says something."""
    return says_something(message)
