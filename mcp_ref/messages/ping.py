"""Ping: is the other side still there? [..2025-11-25 basic/utilities/ping §Message Format]

It carries nothing, and neither does its answer.
"""

from .base import EmptyResult, RequestParams

__all__ = ["EmptyResult", "RequestParams"]
