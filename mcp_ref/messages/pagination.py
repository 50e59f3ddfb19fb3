"""Pages of long lists. [.. server/utilities/pagination §Pagination Model]

A cursor has a meaning for the server only that made it. The empty string is a cursor like any
other; only a missing one ends the list. [.. server/utilities/pagination §Implementation Guidelines]
"""

from typing import Optional

from ..codec import Model, member, message
from .base import MetaObject, request_meta, result_meta, result_type

Cursor = str


@message
class PaginatedRequestParams(Model):
    """The params of every list request. [.. server/utilities/pagination §Request Format]"""

    cursor: Optional[Cursor] = member(default=None)
    """The ``next_cursor`` of the page before; None for the first page."""
    meta: Optional[MetaObject] = request_meta()


@message
class PaginatedResult(Model):
    """The base of every list result. [.. server/utilities/pagination §Response Format]"""

    next_cursor: Optional[Cursor] = member(default=None)
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()
