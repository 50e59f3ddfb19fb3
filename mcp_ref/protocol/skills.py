"""The rules for skills that servers and hosts share: names, URIs, digests, and limits.

``io.modelcontextprotocol/skills``
[2026-07-28 extensions/skills/skills §Skill Format]. The page is of the extension; its rows of
requirements are in `mcp_ref.requirements`, area ``skills``.
"""

import hashlib
import re
from typing import Any, Dict, List, Optional

from ..messages.extensions.skills import DYNAMIC, Skill

FILE = "SKILL.md"
MAX_SKILL_FILES = 512
"""The files of a skill that every host takes [2026-07-28 extensions/skills/skills §Limits]."""
MAX_SKILL_BYTES = 16 * 1024 * 1024
"""The bytes of all files of a skill together that every host takes."""
MAX_DESCRIPTION = 1024
"""The characters of a description, by the format of skills."""

_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?\Z")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


def digest_of(data: bytes) -> str:
    """Return the digest of a file as skills have it: ``sha256:`` and 64 hexadecimal digits
    [2026-07-28 extensions/skills/skills §Integrity and Verification]."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def root_of(uri: str) -> Optional[str]:
    """Return the URI of a skill's folder, with a slash at its end; None for a URI that is no ``SKILL.md``'s."""
    return uri[:-len(FILE)] if uri.endswith("/" + FILE) else None


def frontmatter_fault(frontmatter: Any, uri: str) -> Optional[str]:
    """Return why this cannot be the front matter of the skill at this URI; None if it can
    [2026-07-28 extensions/skills/skills §Resource Mapping] MUST."""
    if not isinstance(frontmatter, dict):
        return "the front matter is no mapping"
    name, description = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not _NAME.match(name):
        return "name is 1 to 64 of a-z, 0-9 and single hyphens inside, not %.80r" % (name,)
    root = root_of(uri)
    if root is None or root[:-1].rpartition("/")[2] != name:
        return "name is %s, but the folder is called %s: they have to be equal" % (
            name, (root or uri)[:-1].rpartition("/")[2] or "nothing")
    if not isinstance(description, str) or not description.strip() or len(description) > MAX_DESCRIPTION:
        return "description is a text of 1 to %d characters, not %.80r" % (MAX_DESCRIPTION, description)
    return None


def size_fault(sizes: List[int]) -> Optional[str]:
    """Return why a skill whose files have these sizes exceeds the limits; None if it does not
    [2026-07-28 extensions/skills/skills §Limits] SHOULD NOT."""
    if len(sizes) > MAX_SKILL_FILES:
        return "it has %d files; hosts take %d (max_skill_files)" % (len(sizes), MAX_SKILL_FILES)
    if sum(sizes) > MAX_SKILL_BYTES:
        return "its files have %d bytes together; hosts take %d (max_skill_bytes)" % (sum(sizes), MAX_SKILL_BYTES)
    return None


def entry_fault(skill: Skill) -> Optional[str]:
    """Return why a host must not load the skill of this entry; None if it may
    [2026-07-28 extensions/skills/skills §Resources] MUST NOT.
    """
    wrong = frontmatter_fault(skill.frontmatter, skill.uri)
    if wrong is not None or skill.resources == DYNAMIC:
        return wrong
    files: Dict[str, Any] = {}
    root = root_of(skill.uri) or ""
    for file in skill.resources:
        inside = file.uri[len(root):] if file.uri.startswith(root) else ""
        if not inside or any(part in ("", ".", "..") for part in inside.split("/")):
            return "%.200s is no file of the skill" % file.uri
        if file.uri in files:
            return "%.200s is listed twice" % file.uri
        if not _DIGEST.match(file.digest):
            return "the digest of %.200s is sha256: and 64 hexadecimal digits, not %.80r" % (file.uri, file.digest)
        if file.size < 0:
            return "the size of %.200s is %d" % (file.uri, file.size)
        files[file.uri] = file
    if skill.uri not in files:
        return "its own SKILL.md is not among its files"
    return size_fault([file.size for file in files.values()])
