"""Sampling: a server asks the client's model. [.. client/sampling §Creating Messages]

Since 2025-11-25 a message may have several blocks, and the model may use tools: it answers with
`ToolUseContent`, and the next message carries `ToolResultContent` back.
"""

from dataclasses import field
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Union

from ..codec import Model, member, message
from ..revisions import R2025_06_18, R2025_11_25
from .base import MetaObject, RequestMetaObject, Role
from .content import AudioContent, ContentBlock, ImageContent, TextContent, text_of

if TYPE_CHECKING:
    from .tasks import TaskMetadata  # noqa: F401
    from .tools import Tool  # noqa: F401


# -- Choosing a model --------------------------------------------------------------------------


@message
class ModelHint(Model):
    """A name, or a part of one, such as ``sonnet``. [.. client/sampling §Model Hints]"""

    name: Optional[str] = member(default=None)


@message
class ModelPreferences(Model):
    """The preferences of the server for a model; each priority from 0 to 1. [.. client/sampling §Model Preferences]"""

    hints: Optional[List[ModelHint]] = member(default=None)
    """Hints in order; the first that matches is taken."""
    cost_priority: Optional[float] = member(default=None)
    speed_priority: Optional[float] = member(default=None)
    intelligence_priority: Optional[float] = member(default=None)


@message
class ToolChoice(Model):
    """The rule whether the model may or must use tools. [2025-11-25.. client/sampling §Tool Choice Modes]"""

    since = R2025_11_25

    mode: Optional[Literal["auto", "required", "none"]] = member(default=None)
    """``auto`` if not given."""


# -- Messages ----------------------------------------------------------------------------------


@message
class ToolUseContent(Model):
    """The model wants a tool called. [2025-11-25.. client/sampling §Sampling with Tools]"""

    since = R2025_11_25

    type: str = field(init=False, default="tool_use")
    id: str
    name: str
    input: Dict[str, Any]
    meta: Optional[MetaObject] = member(default=None)


@message
class ToolResultContent(Model):
    """The result of a tool use. [2025-11-25.. client/sampling §Tool Result Messages]"""

    since = R2025_11_25

    type: str = field(init=False, default="tool_result")
    tool_use_id: str
    content: List[ContentBlock]
    structured_content: Optional[Any] = member(default=None, was=((R2025_11_25, Dict[str, Any]),), downgrade=True)
    """Structured content, as in `CallToolResult`."""
    is_error: Optional[bool] = member(default=None)
    meta: Optional[MetaObject] = member(default=None)


SamplingMessageContentBlock = Union[TextContent, ImageContent, AudioContent, ToolUseContent, ToolResultContent]
SamplingContent = Union[SamplingMessageContentBlock, List[SamplingMessageContentBlock]]


@message
class SamplingMessage(Model):
    """A message of the conversation. [.. client/sampling §Messages]"""

    role: Role
    content: SamplingContent = member(was=((R2025_06_18, SamplingMessageContentBlock),), downgrade=True)
    meta: Optional[MetaObject] = member(default=None, since=R2025_11_25)

    @property
    def text(self) -> str:
        """The text of the message; see `mcp_ref.messages.content.text_of`."""
        return text_of(self.content)


# -- Request and result ------------------------------------------------------------------------


@message
class CreateMessageRequestParams(Model):
    """The params of `sampling/createMessage`. [.. client/sampling §Creating Messages]"""

    messages: List[SamplingMessage]
    max_tokens: int
    model_preferences: Optional[ModelPreferences] = member(default=None)
    system_prompt: Optional[str] = member(default=None)
    include_context: Optional[Literal["none", "thisServer", "allServers"]] = member(default=None)
    temperature: Optional[float] = member(default=None)
    stop_sequences: Optional[List[str]] = member(default=None)
    metadata: Optional[Dict[str, Any]] = member(default=None)
    """Metadata for the provider of the model, in its own format."""
    tools: "Optional[List[Tool]]" = member(default=None, since=R2025_11_25, downgrade=True)
    tool_choice: Optional[ToolChoice] = member(default=None, since=R2025_11_25)
    task: "Optional[TaskMetadata]" = member(default=None, since=R2025_11_25, until=R2025_11_25)
    meta: Optional[MetaObject] = member(default=None, until=R2025_11_25, shape=RequestMetaObject)


@message
class CreateMessageResult(Model):
    """The result of `sampling/createMessage`. [.. client/sampling §Creating Messages]"""

    role: Role
    model: str
    """The name of the model that answered."""
    content: SamplingContent = member(was=((R2025_06_18, SamplingMessageContentBlock),), downgrade=True)
    stop_reason: Optional[str] = member(default=None)
    """``endTurn``, ``stopSequence``, ``maxTokens``, ``toolUse``, or a provider's own word."""
    meta: Optional[MetaObject] = member(default=None)

    @property
    def text(self) -> str:
        """The text of the message; see `mcp_ref.messages.content.text_of`."""
        return text_of(self.content)
