"""Names and rules of the extensions for skills and tasks that both sides share.

The extension ``io.modelcontextprotocol/skills`` [2026-07-28 extensions/skills/skills §Skill Format]: names, URIs,
digests and limits of skills. Its rows of requirements are in `mcp_ref.requirements`, area ``skills``.

A task is a call whose answer is fetched later. 2025-11-25 has tasks in its core [2025-11-25 basic/utilities/tasks],
2026-07-28 as the extension `mcp_ref.methods.TASKS` [2026-07-28 extensions/tasks/tasks]. Here are the names and rules
that both generations have in common; `mcp_ref.ext.tasks.server` has the table of their differences.
"""

import hashlib
import re
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

from ..messages.extensions.skills import DYNAMIC, Skill
from ..messages.tasks import RELATED_TASK

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


WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
FINAL = frozenset((COMPLETED, FAILED, CANCELLED))
"""The states that a task does not leave any more."""


def related(id: str) -> Dict[str, Any]:
    """Return the member of `_meta` that names a task
    [2025-11-25 basic/utilities/tasks §Associating Task-Related Messages] MUST."""
    return {RELATED_TASK: {"taskId": id}}


def naming_task(members: Dict[str, Any], id: str) -> Dict[str, Any]:
    """Return params, or a result, with a `_meta` that names a task beside what it has."""
    return dict(members, _meta=dict(members.get("_meta") or {}, **related(id)))


# The wire form of an object with ``id``, ``status``, ``message``, ``created`` and ``updated`` (seconds since 1970), and
# ``ttl`` and ``poll`` (seconds).


def described(task: Any) -> Dict[str, Any]:
    """Return the members of a task that both generations have."""
    made = {"taskId": task.id, "status": task.status, "createdAt": _iso(task.created),
            "lastUpdatedAt": _iso(task.updated)}
    if task.message is not None:
        made["statusMessage"] = task.message
    return made


def flat(task: Any) -> Dict[str, Any]:
    """Return a task of 2025-11-25, from either side."""
    return dict(described(task), ttl=milliseconds(task.ttl), pollInterval=milliseconds(task.poll))


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    """Return a time as messages have it; None: without end."""
    return None if seconds is None else max(1, round(seconds * 1000))


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
