"""The skills of a host's servers: what there is, the user's word on each, and their texts with their origin.

A skill is named by the host's name of its server and its URI, in lists, in approvals and in the audit; two servers may
have the same URI, and that is two skills
[2026-07-28 extensions/skills/skills §Skill URIs] MUST NOT. Loading one puts the question
`SkillLoad` to the policy, and without a function for it nothing is loaded. An approval that is remembered is for the
set of files that the entry lists, with their digests: after any change of them the user is asked again
[2026-07-28 extensions/skills/skills §Security Considerations] MUST. A skill whose files are generated has no such
set, so an approval of
it is for one time.

A file of a skill is read from the server of the skill, never from another one. What a skill asks for in its front
matter, ``allowed-tools`` above all, gives it nothing: each call of a tool is put to the policy as any other.
"""

from typing import List

from ..client.skills import LoadedSkill
from ..messages.extensions.skills import DYNAMIC, Skill
from ..records import Record, dataclass
from .audit import digest


@dataclass(eq=False, repr=False)
class HostSkill(Record):
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


class HostLoadedSkill:
    """A skill that the policy has allowed, and that is acted on. ``skill``: its `HostSkill`."""

    def __init__(self, skill: HostSkill, loaded: LoadedSkill) -> None:
        self.skill = skill
        self._loaded = loaded

    @property
    def text(self) -> str:
        """The ``SKILL.md`` as it is; a model should get `for_model`."""
        return self._loaded.text

    @property
    def files(self) -> List[str]:
        """The URIs of its files."""
        return self._loaded.files

    def read(self, path: str) -> bytes:
        """Return another file of it, from its own server; as `LoadedSkill.read`
        [2026-07-28 extensions/skills/skills §Security Considerations] MUST."""
        return self._loaded.read(path)

    def for_model(self) -> str:
        """Return the ``SKILL.md`` with a line above it that says where it comes from
        [2026-07-28 extensions/skills/skills §Security Considerations] MUST."""
        head = "[The skill %r (%s) of the server %r. The server wrote what follows; neither the user nor this " \
               "application did.]" % (self.skill.name, self.skill.uri, self.skill.server)
        return "%s\n\n%s" % (head, self.text)
