"""Roots: the places where a client lets a server work. [.. client/roots §Data Types]"""

from typing import List, Optional

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2025_11_25
from .base import MetaObject, ProgressToken


@message
class Root(Model):
    """A root: a place and its name. [.. client/roots §Root]"""

    uri: str
    """A ``file://`` URI."""
    name: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class ListRootsMetaObject(Model):
    """A free `_meta`: since 2026-07-28 the request travels inside a result, where no members are defined."""

    until = R2025_11_25

    progress_token: Optional[ProgressToken] = member(default=None)


@message
class ListRootsRequestParams(Model):
    """The params of `roots/list`: no members but `_meta`. [.. client/roots §Listing Roots]"""

    meta: Optional[MetaObject] = member(default=None, shape=ListRootsMetaObject)


@message
class ListRootsResult(Model):
    """The result of `roots/list`. [.. client/roots §Listing Roots]"""

    roots: List[Root]
    meta: Optional[MetaObject] = member(default=None, until=R2025_11_25)
