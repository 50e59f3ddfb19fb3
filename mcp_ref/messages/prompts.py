"""Prompts: templates that a user picks. [.. server/prompts §Protocol Messages]"""

from typing import TYPE_CHECKING, Dict, List, Optional

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2025_11_25, R2026_07_28
from .base import Icon, MetaObject, Role, request_meta, result_meta, result_type
from .caching import CacheScope, cache_scope, ttl_ms
from .content import ContentBlock, text_of
from .pagination import Cursor

if TYPE_CHECKING:
    from .mrtr import InputResponses  # noqa: F401


# -- What a prompt is --------------------------------------------------------------------------


@message
class PromptArgument(Model):
    """An argument of a prompt. [.. server/prompts §Prompt]"""

    name: str
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None)
    required: Optional[bool] = member(default=None)


@message
class Prompt(Model):
    """A prompt as `prompts/list` shows it. [.. server/prompts §Prompt]"""

    name: str
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None)
    arguments: Optional[List[PromptArgument]] = member(default=None)
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class PromptMessage(Model):
    """A message of a prompt. [.. server/prompts §PromptMessage]"""

    role: Role
    content: ContentBlock

    @property
    def text(self) -> str:
        """The text of the message; see `mcp_ref.messages.content.text_of`."""
        return text_of(self.content)


# -- List --------------------------------------------------------------------------------------


@message
class ListPromptsResult(Model):
    """A page of prompts. [.. server/prompts §Listing Prompts]"""

    prompts: List[Prompt]
    next_cursor: Optional[Cursor] = member(default=None)
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


# -- Get ---------------------------------------------------------------------------------------


@message
class GetPromptRequestParams(Model):
    """The params of `prompts/get`: the name and the arguments. [.. server/prompts §Getting a Prompt]"""

    name: str
    arguments: Optional[Dict[str, str]] = member(default=None)
    input_responses: "Optional[InputResponses]" = member(default=None, since=R2026_07_28)
    request_state: Optional[str] = member(default=None, since=R2026_07_28)
    meta: Optional[MetaObject] = request_meta()


@message
class GetPromptResult(Model):
    """The messages to put before the model. [.. server/prompts §Getting a Prompt]"""

    messages: List[PromptMessage]
    description: Optional[str] = member(default=None)
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()
