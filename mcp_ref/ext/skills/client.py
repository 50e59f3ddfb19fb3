"""The skills of a server, and their files, verified before they are used [2026-07-28 extensions/skills/skills].

    for skill in client.skills():
        print(skill.uri, skill.frontmatter["description"])
    loaded = client.load_skill("skill://pdf/SKILL.md")
    loaded.text                                 # the SKILL.md
    loaded.read("references/FORMS.md")          # another file of it, as bytes

Nothing is fetched ahead of need
[2026-07-28 extensions/skills/skills §Lazy Retrieval] MUST NOT: the list has all that a host needs to
show a skill and to ask the user, and a file is read when it is asked for. What is read has to have the size and the
digest of the entry, and the front matter of the file has to be that of the entry, field by field; a file that the entry
does not list is not read. Anything else is an `UnverifiedSkill`, whose text says what differs; `Client.load_skill` with
the URI asks for the entry anew, and an approval of the old one no longer holds
[2026-07-28 extensions/skills/skills §Verification on Read] MUST.

A match says that entry and content belong together. It says nothing of either being harmless: the text of a skill is
the server's, and untrusted
[2026-07-28 extensions/skills/skills §Digests Are Not a Trust Anchor]. ``allowed-tools`` and other front
matter that asks for permissions is data here; nothing acts on it, nor on that of a ``SKILL.md`` further down, which is
a file as any other [2026-07-28 extensions/skills/skills §Nested Skills] MUST NOT. A ``SKILL.md`` that
`Client.read_resource` has read is a text and no skill
[2026-07-28 extensions/skills/skills §Reading Skill Content] MUST NOT.
"""

import base64
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Union
from urllib.parse import quote

from ...codec import decode
from ...errors import CapabilityMissing, PeerProtocolError
from ...messages.content import BlobResourceContents
from ...messages.extensions.skills import (
    DIRECTORY_READ, DYNAMIC, GetSkillResult, ListSkillsResult, ReadDirectoryResult, Skill, SkillResource,
)
from ...methods import GET_SKILL, LIST_SKILLS, READ_DIRECTORY, SERVER, SKILLS, of_extension
from ...peer.extension import Extension
from ...protocol import extensions as rules
from ...yaml import YamlError, read_front_matter

if TYPE_CHECKING:
    from ...client.client import Client
    from ...messages.resources import Resource


class UnverifiedSkill(PeerProtocolError):
    """A server has sent something of a skill that is not what its entry says; do not use it. ``uri``: the file."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__("%s: %s" % (uri, reason))
        self.uri = uri


class ServedSkills(Extension):
    """The extension, for a client: its three methods. A client declares nothing."""

    identifier = SKILLS
    methods = of_extension(SKILLS)
    declared_by = SERVER


class LoadedSkill:
    """A skill that is acted on: its entry, its ``SKILL.md``, and its other files, as they are asked for."""

    def __init__(self, client: "Client", entry: Skill) -> None:
        wrong = rules.entry_fault(entry)
        if wrong is not None:
            raise UnverifiedSkill(entry.uri, wrong)
        self.entry = entry
        """The entry by which all files are verified."""
        self._client = client
        self._files: Dict[str, SkillResource] = {}
        if entry.resources != DYNAMIC:
            self._files = {file.uri: file for file in entry.resources}
        self._taken = 0
        self.text = self._verified_text()
        """The whole ``SKILL.md``, with its front matter."""

    @property
    def name(self) -> str:
        """The name, a label: what identifies a skill is its server and its URI
        [2026-07-28 extensions/skills/skills §Names]."""
        return str(self.entry.frontmatter["name"])

    @property
    def root(self) -> str:
        """The URI of its folder, with a slash at its end; what relative paths in its texts refer to."""
        return rules.root_of(self.entry.uri) or ""

    @property
    def files(self) -> List[str]:
        """The URIs of its files, as the entry has them; [] for a skill whose files are generated."""
        return list(self._files)

    def uri_of(self, path: str) -> str:
        """Return the URI of a file, given its path from the folder of the skill, or its URI
        [2026-07-28 extensions/skills/skills §Relative References].

        Raises `UnverifiedSkill` for one that leads out of the folder.
        """
        if path.startswith(self.root):
            return path
        parts = [part for part in path.split("/") if part != "."]
        if "" in parts or ".." in parts or "://" in path:
            raise UnverifiedSkill(path, "this is no file of the skill %s" % self.entry.uri)
        return self.root + "/".join(quote(part, safe="") for part in parts)

    def read(self, path: str) -> bytes:
        """Return a file. Raises `UnverifiedSkill` for one that differs, and as `read_resource`
        [2026-07-28 extensions/skills/skills §The Acting Window and the Held Entry] MUST. A file that the entry does not
        list is one that differs, also where a folder of the server has it by now
        [2026-07-28 extensions/skills/skills §Directory Reads and the Held Entry] MUST NOT."""
        uri = self.uri_of(path)
        listed = self._files.get(uri)
        if listed is None and self.entry.resources != DYNAMIC:
            raise UnverifiedSkill(uri, "the entry does not list this file; load the skill anew, as it may have changed")
        data = _bytes_of(self._client.read_resource(uri, True).contents, uri)
        if listed is None:
            self._taken += len(data)
            if self._taken > rules.MAX_SKILL_BYTES:
                raise UnverifiedSkill(uri, "its files have more than %d bytes together" % rules.MAX_SKILL_BYTES)
            return data
        if len(data) != listed.size:
            raise UnverifiedSkill(uri, "it has %d bytes; the entry says %d" % (len(data), listed.size))
        digest = rules.digest_of(data)
        if digest != listed.digest:
            raise UnverifiedSkill(uri, "its digest is %s; the entry says %s" % (digest, listed.digest))
        return data

    def _verified_text(self) -> str:
        """Return the SKILL.md [2026-07-28 extensions/skills/skills §Frontmatter Verification] MUST."""
        uri = self.entry.uri
        try:
            text = self.read(uri).decode("utf-8")
            found = read_front_matter(text)[0]
        except UnicodeDecodeError:
            raise UnverifiedSkill(uri, "it is no UTF-8") from None
        except YamlError as error:
            raise UnverifiedSkill(uri, "its front matter cannot be read: %s" % error) from None
        expected = self.entry.frontmatter
        for key in list(expected) + [key for key in found if key not in expected]:
            if key not in found or key not in expected or not _same(found[key], expected[key]):
                raise UnverifiedSkill(uri, "its front matter says %s of %s; the entry says %s" % (
                    _shown(found, key), key, _shown(expected, key)))
        return text


def list_skills(client: "Client") -> List[Skill]:
    """Return the skills that a server lists; see `Client.skills`."""
    prepare(client)
    return [skill for page in _pages(ListSkillsResult, client, LIST_SKILLS, {}) for skill in page.skills]


def get_skill(client: "Client", uri: str) -> Skill:
    """Return the entry of one skill, listed or not; see `Client.skill`
    [2026-07-28 extensions/skills/skills §Listing Skills > Response] MUST, MUST NOT."""
    prepare(client)
    if rules.root_of(uri) is None:
        # [2026-07-28 extensions/skills/skills §Getting a Skill > Response] MUST
        raise ValueError("a skill is named by the URI of its SKILL.md, which %.200s is not" % uri)
    result = _decoded(GetSkillResult, client.request(GET_SKILL, {"uri": uri}), client, GET_SKILL)
    skill: Skill = result.skill
    if skill.uri != uri:
        raise UnverifiedSkill(uri, "the server has sent the entry of %.200s" % skill.uri)
    return skill


def load_skill(client: "Client", skill: Union[str, Skill]) -> LoadedSkill:
    """Return a skill that is ready to be acted on; see `Client.load_skill`."""
    return LoadedSkill(client, get_skill(client, skill) if isinstance(skill, str) else skill)


def read_directory(client: "Client", uri: str) -> "List[Resource]":
    """Return the files and folders in a folder of a server; see `Client.read_directory`
    [2026-07-28 extensions/skills/skills §Capability Negotiation] MUST NOT."""
    prepare(client)
    if client.server_extensions.get(SKILLS, {}).get(DIRECTORY_READ) is not True:
        raise CapabilityMissing("the server has not declared %s for %s" % (DIRECTORY_READ, SKILLS), SKILLS)
    pages = _pages(ReadDirectoryResult, client, READ_DIRECTORY, {"uri": uri})
    return [resource for page in pages for resource in page.resources]


def prepare(client: "Client") -> None:
    """Give a client the extension, when it is first needed. Raises `CapabilityMissing` if the server has no skills."""
    if SKILLS not in client.server_extensions or not client.revision.stateless:
        raise CapabilityMissing("the server has not declared the extension %s" % SKILLS, SKILLS)
    if client.extensions is None or client.extensions.lookup(LIST_SKILLS, client.revision) is None:
        client._extend([ServedSkills()])
        client.connection.session.extensions = client.extensions


def _pages(cls: Any, client: "Client", method: str, params: Dict[str, Any]) -> Iterator[Any]:
    """Yield the pages of a list. Raises `PeerProtocolError` behind ``max_pages``, and for a page that is none."""
    cursor: Optional[str] = None
    for _ in range(client.limits.max_pages):
        given = params if cursor is None else dict(params, cursor=cursor)
        page = _decoded(cls, client.request(method, given), client, method)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
    raise PeerProtocolError("%s has more than %d pages (max_pages)" % (method, client.limits.max_pages))


def _decoded(cls: Any, result: Dict[str, Any], client: "Client", method: str) -> Any:
    try:
        return decode(cls, result, client.revision, "result", client.connection.forgive)
    except ValueError as error:
        raise PeerProtocolError("the answer to %s: %s" % (method, error)) from None


def _bytes_of(contents: List[Any], uri: str) -> bytes:
    """Return the raw content of a file [2026-07-28 extensions/skills/skills §Integrity and Verification]."""
    if len(contents) != 1 or contents[0].uri != uri:
        raise UnverifiedSkill(uri, "the server has sent %d contents, and not this file alone" % len(contents))
    content = contents[0]
    if not isinstance(content, BlobResourceContents):
        return str(content.text).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(content.blob, validate=True)
    except ValueError:
        raise UnverifiedSkill(uri, "its blob is no base64") from None


def _same(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal; True is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _shown(values: Dict[str, Any], key: str) -> str:
    return "%.80r" % (values[key],) if key in values else "nothing"
