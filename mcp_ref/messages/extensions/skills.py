"""Skills, the extension `io.modelcontextprotocol/skills` of 2026-07-28: folders of instructions, served as resources.

The page is ``extensions/skills/skills`` of `mcp_ref.requirements`.
"""

from typing import Any, Dict, List, Literal, Optional, Union

from ...codec import Model, member, message
from ...revisions import R2026_07_28
from ..base import MetaObject, request_meta, result_meta, result_type
from ..caching import CacheScope, cache_scope, ttl_ms
from ..pagination import Cursor
from ..resources import Resource

DIRECTORY_READ = "directoryRead"
"""The setting of the extension that promises `resources/directory/read`."""
DYNAMIC: Literal["dynamic"] = "dynamic"
"""The value of ``Skill.resources`` of a skill whose files have no digests that stay."""


# -- What a skill is ---------------------------------------------------------------------------


@message
class SkillResource(Model):
    """A file of a skill."""

    since = R2026_07_28

    uri: str
    digest: str
    """``sha256:`` and 64 hexadecimal digits in lower case, over the raw bytes."""
    size: int
    """Bytes of the raw content."""


@message
class SkillFrontmatter(Model):
    """The members that the frontmatter of every skill has; what else its author wrote is in `extra`."""

    since = R2026_07_28

    name: str
    description: str


@message
class Skill(Model):
    """The entry of a skill."""

    since = R2026_07_28

    uri: str
    """The URI of its ``SKILL.md``."""
    frontmatter: Dict[str, Any] = member(shape=SkillFrontmatter)
    resources: Union[List[SkillResource], Literal["dynamic"]] = member()
    """All its files, ``SKILL.md`` among them; or `DYNAMIC`."""


# -- List, get, and the children of a directory ------------------------------------------------


@message
class ListSkillsResult(Model):
    """A page of skills, the result of `skills/list`."""

    since = R2026_07_28

    skills: List[Skill]
    next_cursor: Optional[Cursor] = member(default=None)
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class GetSkillParams(Model):
    """The params of `skills/get`."""

    since = R2026_07_28

    uri: str
    """The URI of the ``SKILL.md`` of a skill."""
    meta: Optional[MetaObject] = request_meta()


@message
class GetSkillResult(Model):
    """One skill, the result of `skills/get`."""

    since = R2026_07_28

    skill: Skill
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


@message
class ReadDirectoryParams(Model):
    """The params of `resources/directory/read`."""

    since = R2026_07_28

    uri: str
    """The URI of the directory, without a slash at its end."""
    cursor: Optional[Cursor] = member(default=None)
    meta: Optional[MetaObject] = request_meta()


@message
class ReadDirectoryResult(Model):
    """A page of the direct children of a directory, the result of `resources/directory/read`."""

    since = R2026_07_28

    resources: List[Resource]
    """Files, and directories of MIME type ``inode/directory``."""
    next_cursor: Optional[Cursor] = member(default=None)
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()
