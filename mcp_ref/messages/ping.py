"""Ping: a request that tests whether the peer answers. [..2025-11-25 basic/utilities/ping §Message Format]

The request has no members but `_meta`, and neither has its result.
"""

from .base import EmptyResult, RequestParams

__all__ = ["EmptyResult", "RequestParams"]
