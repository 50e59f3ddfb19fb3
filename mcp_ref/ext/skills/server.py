"""Skills: folders of instructions for a model, served as resources [2026-07-28 extensions/skills/skills].

    server.skills("skills")             # skills/pdf/SKILL.md, skills/acme/refunds/SKILL.md ...

A skill is a folder with a ``SKILL.md``, which begins with front matter; its other files may be anything, and it may
hold further skills. Each file is the resource ``skill://`` and its path, read by `resources/read`; a host learns of
skills by `skills/list` and `skills/get`, with the digest and the size of each file, and lists folders by
`resources/directory/read`.

========================================================  ============================================================
what is wrong                                             what happens
========================================================  ============================================================
a skill, when the folder is registered                    `BadSkill`, a ValueError, with the file, the line and what
                                                          to write
a skill that was changed while the server runs            it is left out of the list, counted and logged; the others
                                                          stay
a skill above the limits that every host takes            as any other fault
a link, to a file, a folder or a skill                    what it names is not served; counted and logged
========================================================  ============================================================

The folder is looked through at each request for a list or an entry; only files whose time or size has changed are
read again. Names that begin with a dot are not served. A client need not declare the extension: one
that does not know it sees ordinary resources [2026-07-28 extensions/skills/skills §Capability Negotiation].
"""

import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple, Union
from urllib.parse import quote

from ...codec import encode
from ...diagnostics.packagelog import Counters
from ...errors import INVALID_PARAMS, RpcError
from ...jsonrpc import Encoded, shown
from ...messages.extensions.skills import (
    DIRECTORY_READ, GetSkillParams, GetSkillResult, ListSkillsResult, ReadDirectoryParams, ReadDirectoryResult, Skill,
    SkillResource,
)
from ...messages.pagination import PaginatedRequestParams
from ...messages.resources import Resource
from ...methods import GET_SKILL, LIST_SKILLS, READ_DIRECTORY, SERVER, SKILLS, of_extension
from ...peer.context import Context, Route, params_reader
from ...peer.extension import Extension
from ...protocol import extensions as rules
from ...revisions import Revision
from ...server.registry.checks import Paging
from ...server.registry.directory import Directory, mime_type_of
from ...server.registry.listing import Listing, invalid_cursor
from ...server.registry.safefiles import Missing, Parts, TooLarge
from ...yaml import YamlError, read_front_matter

if TYPE_CHECKING:
    from ...peer.role import Role
    from ...server.registry.caching import Cache

SCHEME = "skill://"
FOLDER = "inode/directory"
"""The MIME type of a folder [2026-07-28 extensions/skills/skills §Directory Resources]."""


class BadSkill(ValueError):
    """A skill that cannot be served; the text names its file and what is wrong."""


class _KnownFile(NamedTuple):
    """A file as it was when it was read last."""

    seen: Tuple[int, int, int]
    """The time of change in nanoseconds, the size and the number."""
    digest: str
    frontmatter: Union[None, Dict[str, Any], YamlError]
    """The front matter of a ``SKILL.md``, or why it cannot be read; None for any other file."""


class SkillFolder(Directory):
    """The skills below a folder; options as `Server.skills` has them. Raises `BadSkill`, and as `Directory`."""

    def __init__(
        self, path: "Union[str, os.PathLike[str]]", prefix: str, cache: "Optional[Cache]", listed: bool,
    ) -> None:
        root = os.path.realpath(os.fspath(path))
        if os.path.isfile(os.path.join(root, rules.FILE)):  # the folder is one skill, whose name is its own
            prefix = "%s/%s" % (prefix, os.path.basename(root)) if prefix else os.path.basename(root)
        segments = [quote(part, safe="") for part in prefix.split("/")] if prefix else []
        if {"", ".", ".."} & set(segments):
            raise ValueError("the prefix of skills is names with slashes between, such as acme/billing, got %r" % (
                prefix,))
        super().__init__(root, uri=SCHEME + "".join(part + "/" for part in segments), cache=cache, listed=listed,
                         max_bytes=rules.MAX_SKILL_BYTES)
        self._lock = threading.Lock()
        self._known: Dict[Parts, _KnownFile] = {}
        self.links: List[str] = []
        """The paths of links, which are not served, as they were looked at last."""

    def entries(self) -> Tuple[Dict[str, Skill], List[str]]:
        """Return the skills by the URI of their ``SKILL.md``, as the files are now, and what is wrong with others."""
        with self._lock:
            try:
                files = self._look()
            except Missing:
                return {}, ["%s is gone" % self.tree.root]
            found: Dict[str, Skill] = {}
            wrong: List[str] = []
            for parts in files:
                if parts[-1] == rules.FILE:
                    uri = self.uri_of(parts)
                    made = self._entry(uri, parts, files)
                    if isinstance(made, Skill):
                        found[uri] = made
                    else:
                        wrong.append("%s: %s" % (os.path.join(self.tree.root, *parts), made))
            return found, wrong

    def _look(self) -> Dict[Parts, int]:
        """Return the files and their sizes; read those that are new or have changed. Raises `Missing`."""
        sizes: Dict[Parts, int] = {}
        known: Dict[Parts, _KnownFile] = {}
        links: List[str] = []
        for parts, status in self.tree.walk((), self._enters):
            if not self._allows(parts[-1]):
                continue
            if status is None:
                whole = os.path.join(self.tree.root, *parts)
                links += [whole] if os.path.islink(whole) else []
                continue
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            before = self._known.get(parts)
            try:
                known[parts] = before if before is not None and before.seen == seen else self._read(parts, seen)
            except (Missing, TooLarge):
                if status.st_size <= rules.MAX_SKILL_BYTES:
                    continue  # gone since it was listed
                known[parts] = _KnownFile(seen, "", None)
            sizes[parts] = status.st_size
        self._known, self.links = known, links
        return sizes

    def _read(self, parts: Parts, seen: Tuple[int, int, int]) -> _KnownFile:
        data = self.tree.read(parts, rules.MAX_SKILL_BYTES)
        if len(data) != seen[1]:
            raise Missing()  # it is being written: the next look will find it
        if parts[-1] != rules.FILE:
            return _KnownFile(seen, rules.digest_of(data), None)
        try:
            frontmatter: Any = read_front_matter(data.decode("utf-8"))[0]
        except UnicodeDecodeError as error:
            frontmatter = YamlError(data.count(b"\n", 0, error.start) + 1, "this is no UTF-8")
        except YamlError as error:
            frontmatter = error
        return _KnownFile(seen, rules.digest_of(data), frontmatter)

    def _entry(self, uri: str, parts: Parts, files: Dict[Parts, int]) -> Union[Skill, str]:
        """Return the entry of a skill, or why there is none
        [2026-07-28 extensions/skills/skills §Skill Entries] MUST."""
        frontmatter = self._known[parts].frontmatter
        if isinstance(frontmatter, YamlError):
            return str(frontmatter)
        root = parts[:-1]
        inside = [each for each in files if each[:len(root)] == root]
        wrong = rules.frontmatter_fault(frontmatter, uri) or rules.size_fault([files[each] for each in inside])
        if wrong is not None:
            return wrong
        return Skill(uri, frontmatter or {}, [
            SkillResource(self.uri_of(each), self._known[each].digest, files[each]) for each in inside])

    def children(self, uri: str) -> Optional[List[Resource]]:
        """Return the files and folders in the folder of this URI; None if there is no such folder
        [2026-07-28 extensions/skills/skills §Reading Directories] MUST."""
        above = self.uri[:-1]
        if uri != above and not uri.startswith(self.uri):
            return self._above(uri) if above.startswith(uri + "/") and "://" in uri else None
        parts = () if uri == above else self.parts_of(uri)
        if parts is None:
            return None
        try:
            inside = self.tree.entries(parts)
        except Missing:
            return None
        found: List[Resource] = []
        for name, is_folder in inside:
            if self._allows(name):
                kind = FOLDER if is_folder else mime_type_of(name)
                found.append(Resource(self.uri_of(parts + (name,)), name, mime_type=kind))
        return found

    def _above(self, uri: str) -> List[Resource]:
        """Return the one folder in a folder that only the prefix names."""
        name = self.uri[len(uri) + 1:].partition("/")[0]
        return [Resource("%s/%s" % (uri, name), name, mime_type=FOLDER)]

    def _resource(self, uri: str, parts: Parts, status: os.stat_result) -> Resource:
        made = super()._resource(uri, parts, status)
        known = self._known.get(parts)
        if known is not None and isinstance(known.frontmatter, dict):
            # [2026-07-28 extensions/skills/skills §Resource Metadata] SHOULD
            frontmatter = known.frontmatter
            if rules.frontmatter_fault(frontmatter, uri) is None:
                made.name, made.description = frontmatter["name"], frontmatter["description"]
                made.mime_type = "text/markdown"
        return made


class Skills(Extension):
    """The extension of one server: its folders of skills, and the three methods. Thread-safe."""

    identifier = SKILLS
    methods = of_extension(SKILLS)
    declared_by = SERVER

    def __init__(self, paging: Paging, cache: "Optional[Cache]") -> None:
        self._folders: List[SkillFolder] = []
        self.counters = Counters()
        self._told: Set[str] = set()
        """The faults that were logged and are still there."""
        self._lock = threading.Lock()
        self.listing: Listing[Skill] = Listing(
            "skill", ListSkillsResult, "skills", lambda skill: skill, paging, None, cache)

    def settings(self, role: "Role") -> Dict[str, Any]:
        """Return what a server declares: folders can be read
        [2026-07-28 extensions/skills/skills §Capability Negotiation]."""
        return {DIRECTORY_READ: True}

    def add(self, folder: SkillFolder) -> None:
        """Add a folder of skills. Raises `BadSkill`."""
        found, wrong = folder.entries()
        if wrong:
            raise BadSkill("%d %s cannot be served:\n  %s" % (
                len(wrong), "skill" if len(wrong) == 1 else "skills", "\n  ".join(wrong)))
        if not found:
            hint = "; links are not followed: %s" % ", ".join(folder.links) if folder.links else ""
            raise BadSkill("%s: there is no SKILL.md in this folder nor below it%s" % (folder.tree.root, hint))
        self._folders.append(folder)
        self.refresh()

    def refresh(self) -> None:
        """Bring the list up to date with the files."""
        with self._lock:
            now: Dict[str, Skill] = {}
            told, self._told = self._told, set()
            for folder in self._folders:
                found, wrong = folder.entries()
                now.update(found)
                linked = ["%s: links are not followed: put a copy in its place" % each for each in folder.links]
                for what, text in [("skills not served", text) for text in wrong] + [
                        ("links not served", text) for text in linked]:
                    self._told.add(text)
                    if text not in told:
                        self.counters.note(what, text)
            for before in self.listing.values():
                if now.get(before.uri) != before:
                    self.listing.remove(before.uri)
            for uri, skill in now.items():
                if self.listing.get(uri) is None:
                    self.listing.add(uri, skill)

    def route(self, role: "Role", method: str, revision: Revision) -> Optional[Route]:
        """Return how a server answers the three methods."""
        return Route(_ROUTES[method](self, revision))

    def _list(self, revision: Revision) -> "Callable[[Context, Dict[str, Any]], Any]":
        """[2026-07-28 extensions/skills/skills §Listing Skills] MUST
        [2026-07-28 extensions/skills/skills §Listing Skills > Response] MUST"""
        reads = params_reader(PaginatedRequestParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Encoded:
            cursor = reads(params, context).cursor
            self.refresh()
            return self.listing.page(revision, cursor)

        return answer

    def _get(self, revision: Revision) -> "Callable[[Context, Dict[str, Any]], Any]":
        """[2026-07-28 extensions/skills/skills §Getting a Skill] MUST
        [2026-07-28 extensions/skills/skills §Getting a Skill > Response] MUST"""
        reads = params_reader(GetSkillParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            uri = reads(params, context).uri
            self.refresh()
            skill = self.listing.get(uri)
            if skill is None:
                # [2026-07-28 extensions/skills/skills §Error Handling] MUST, SHOULD
                raise RpcError(INVALID_PARAMS, "No skill is served at %s" % shown(uri))
            return encode(GetSkillResult(skill, **self.listing.hints), revision)

        return answer

    def _read_directory(self, revision: Revision) -> "Callable[[Context, Dict[str, Any]], Any]":
        """[2026-07-28 extensions/skills/skills §Reading Directories] MUST
        [2026-07-28 extensions/skills/skills §Reading Directories > Response] MUST"""
        reads = params_reader(ReadDirectoryParams, revision)

        def answer(context: Context, params: Dict[str, Any]) -> Dict[str, Any]:
            asked = reads(params, context)
            if asked.cursor is not None:
                raise invalid_cursor()  # a folder has one page
            found = [folder.children(asked.uri) for folder in self._folders]
            children = [child for each in found if each is not None for child in each]
            if all(each is None for each in found):
                raise RpcError(INVALID_PARAMS, "%s is not a directory resource" % shown(asked.uri))
            return encode(ReadDirectoryResult(list({child.uri: child for child in children}.values())), revision)

        return answer


_ROUTES = {
    LIST_SKILLS: Skills._list, GET_SKILL: Skills._get, READ_DIRECTORY: Skills._read_directory,
}
