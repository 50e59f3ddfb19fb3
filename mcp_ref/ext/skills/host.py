"""The skills of a host's servers: what there is, the user's word on each, and their texts with their origin.

A skill is named by the host's name of its server and its URI, in lists, in approvals and in the audit; two servers may
have the same URI, and that is two skills
[2026-07-28 extensions/skills/skills §Skill URIs] MUST NOT. Loading one puts the question
`SkillLoad` to the policy, and without a function for it nothing is loaded. An approval that is remembered is for the
set of files that the entry lists, with their digests: after any change of them the user is asked again
[2026-07-28 extensions/skills/skills §Security Considerations] MUST. A skill whose files are generated has no such
set, so an approval of it is for one time.

A file of a skill is read from the server of the skill, never from another one; with ``Host(skill_cache=folder)`` it is
also kept on disk, until the server is disconnected: `SkillCache`. What a skill asks for in its front
matter, ``allowed-tools`` above all, gives it nothing: each call of a tool is put to the policy as any other.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional

from ...diagnostics.packagelog import get_logger
from ...host.audit import digest
from ...messages.extensions.skills import DYNAMIC, Skill, SkillResource
from ...protocol.extensions import digest_of
from .client import LoadedSkill

if TYPE_CHECKING:
    from ...client import Client


@dataclass
class HostSkill:
    """A skill that a server has."""

    server: str
    """The host's name for the server."""
    entry: Skill

    @property
    def uri(self) -> str:
        """The URI of its ``SKILL.md``, which identifies it on this server."""
        return self.entry.uri

    @property
    def name(self) -> str:
        """The name in its front matter, which other skills may have, too."""
        return str(self.entry.frontmatter.get("name"))

    @property
    def description(self) -> str:
        """The description in its front matter, an untrusted text."""
        return str(self.entry.frontmatter.get("description"))

    @property
    def definition(self) -> str:
        """The digest of what an approval is for: the front matter, and each file with its digest; "" for a skill whose
        files are generated."""
        if self.entry.resources == DYNAMIC:
            return ""
        files: List[List[str]] = sorted([file.uri, file.digest] for file in self.entry.resources)
        return digest([self.entry.uri, self.entry.frontmatter, files])


class SkillCache:
    """The verified files of one server's skills that a host keeps on disk, below ``folder``.

    They are in ``server-NAME``, by the host's name of the server, each in a file named by the SHA-256 of its URI
    [2026-07-28 extensions/skills/skills §Skill URIs] MUST. No file is called ``SKILL.md``, so what looks for skills in
    folders finds none here [2026-07-28 extensions/skills/skills §Security Considerations] MUST.
    """

    def __init__(self, folder: str, server: str) -> None:
        self.folder = os.path.join(folder, "server-" + server)

    def path_of(self, uri: str) -> str:
        """Return the path at which the file of this URI is kept."""
        return os.path.join(self.folder, hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest())

    def read(self, file: SkillResource) -> Optional[bytes]:
        """Return a file, if it is here with the size and the digest of its entry. The digest is computed each time,
        since others may have written to the disk [2026-07-28 extensions/skills/skills §Security Considerations] MUST.
        """
        try:
            with open(self.path_of(file.uri), "rb") as kept:
                data = kept.read(file.size + 1)
        except OSError:
            return None
        return data if len(data) == file.size and digest_of(data) == file.digest else None

    def write(self, uri: str, data: bytes) -> None:
        """Keep a file that was verified, in place of an earlier one. A disk that does not take it is logged."""
        made = None
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            number, made = tempfile.mkstemp(dir=self.folder)
            with open(number, "wb") as fresh:
                fresh.write(data)
            os.replace(made, self.path_of(uri))
        except OSError as error:
            if made is not None:
                with contextlib.suppress(OSError):
                    os.unlink(made)
            get_logger(__name__).warning("%s is not kept in the skill cache: %s", uri, error)

    def remove(self) -> None:
        """Remove all files of this server [2026-07-28 extensions/skills/skills §Security Considerations] SHOULD."""
        shutil.rmtree(self.folder, ignore_errors=True)


class HostLoadedSkill(LoadedSkill):
    """A skill that the policy has allowed, and that is acted on. ``skill``: its `HostSkill`. ``cache``: where its files
    are kept as they are read; a skill whose files are generated has none there
    [2026-07-28 extensions/skills/skills §Lazy Retrieval] SHOULD."""

    def __init__(self, client: "Client", skill: HostSkill, cache: Optional[SkillCache] = None) -> None:
        self.skill = skill
        self._cache = cache
        super().__init__(client, skill.entry)

    def read(self, path: str) -> bytes:
        """Return a file, from its own server or from the cache; as `LoadedSkill.read`
        [2026-07-28 extensions/skills/skills §Security Considerations] MUST."""
        file = self._files.get(self.uri_of(path))
        if file is None or self._cache is None:
            return super().read(path)
        data = self._cache.read(file)
        if data is None:
            data = super().read(path)
            self._cache.write(file.uri, data)
        return data

    def for_model(self) -> str:
        """Return the ``SKILL.md`` with a line above it that says where it comes from
        [2026-07-28 extensions/skills/skills §Security Considerations] MUST."""
        head = "[The skill %r (%s) of the server %r. The server wrote what follows; neither the user nor this " \
               "application did.]" % (self.skill.name, self.skill.uri, self.skill.server)
        return "%s\n\n%s" % (head, self.text)
