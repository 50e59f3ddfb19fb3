"""Tools: functions of a server that a model calls. [.. server/tools §Protocol Messages]

Arguments are described by a JSON Schema, and so, since 2025-06-18, is the structured part of a
result. Both schemas stay plain dicts here: they are documents with rules of their own (see
`mcp_ref.jsonschema`). `ToolInputSchema` and `ToolOutputSchema` say what this protocol adds to those.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional

from ..codec import NULL, Model, member, message
from ..jsontext import loads
from ..revisions import R2025_03_26, R2025_06_18, R2025_11_25, R2026_07_28
from .base import Icon, MetaObject, request_meta, result_meta, result_type
from .caching import CacheScope, cache_scope, ttl_ms
from .content import ContentBlock, TextContent, text_of
from .pagination import Cursor

if TYPE_CHECKING:
    from .mrtr import InputResponses  # noqa: F401
    from .tasks import TaskMetadata  # noqa: F401

JSONSchema = Dict[str, Any]


# -- What a tool is ----------------------------------------------------------------------------


@message
class ToolAnnotations(Model):
    """Hints on what a tool does; they are as trustworthy as its server. [2025-03-26.. server/tools §Tool]"""

    since = R2025_03_26

    title: Optional[str] = member(default=None)
    read_only_hint: Optional[bool] = member(default=None)
    """False if not given."""
    destructive_hint: Optional[bool] = member(default=None)
    """True if not given; it has a meaning for tools only that are not read-only."""
    idempotent_hint: Optional[bool] = member(default=None)
    """False if not given. True: a second call with the same arguments has no further effect."""
    open_world_hint: Optional[bool] = member(default=None)
    """True if not given: the tool works with things outside, as a web search does."""


@message
class ToolExecution(Model):
    """The rule whether a tool may, must or must not run as a task. [2025-11-25 basic/utilities/tasks §Tool-Level
    Negotiation]"""

    since = until = R2025_11_25

    task_support: Optional[Literal["required", "optional", "forbidden"]] = member(default=None)
    """Forbidden if not given."""


@message
class ToolInputSchema(Model):
    """The rule of an input schema: arguments are an object. [.. server/tools §Tool]"""

    dialect: Optional[str] = member(default=None, since=R2025_11_25)
    """``$schema``; without it the schema is of dialect 2020-12."""
    type: str = member(const="object")
    properties: Optional[Dict[str, Dict[str, Any]]] = member(default=None, until=R2025_11_25)
    required: Optional[List[str]] = member(default=None, until=R2025_11_25)


@message
class ToolOutputSchema(Model):
    """The rule of an output schema; the last revision allows any. [2025-06-18.. server/tools §Output Schema]"""

    since = R2025_06_18

    dialect: Optional[str] = member(default=None, since=R2025_11_25)
    type: str = member(const="object", until=R2025_11_25)
    properties: Optional[Dict[str, Dict[str, Any]]] = member(default=None, until=R2025_11_25)
    required: Optional[List[str]] = member(default=None, until=R2025_11_25)


@message
class Tool(Model):
    """A tool as `tools/list` shows it. [.. server/tools §Tool]"""

    name: str
    input_schema: JSONSchema = member(shape=ToolInputSchema)
    title: Optional[str] = member(default=None, since=R2025_06_18)
    description: Optional[str] = member(default=None)
    output_schema: Optional[JSONSchema] = member(
        default=None, since=R2025_06_18, shape=ToolOutputSchema, downgrade=True)
    annotations: Optional[ToolAnnotations] = member(default=None, since=R2025_03_26)
    execution: Optional[ToolExecution] = member(default=None, since=R2025_11_25, until=R2025_11_25)
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


# -- List --------------------------------------------------------------------------------------


@message
class ListToolsResult(Model):
    """A page of tools. [.. server/tools §Listing Tools]"""

    tools: List[Tool]
    next_cursor: Optional[Cursor] = member(default=None)
    ttl_ms: int = ttl_ms()
    cache_scope: CacheScope = cache_scope()
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()


# -- Call --------------------------------------------------------------------------------------


@message
class CallToolRequestParams(Model):
    """The params of `tools/call`: the name and the arguments. [.. server/tools §Calling Tools]"""

    name: str
    arguments: Optional[Dict[str, Any]] = member(default=None)
    task: "Optional[TaskMetadata]" = member(default=None, since=R2025_11_25, until=R2025_11_25)
    """A request to run the call as a task."""
    input_responses: "Optional[InputResponses]" = member(default=None, since=R2026_07_28)
    request_state: Optional[str] = member(default=None, since=R2026_07_28)
    meta: Optional[MetaObject] = request_meta()


@message
class CallToolResult(Model):
    """The result of a tool; ``is_error`` is true if the tool failed. [.. server/tools §Tool Result]"""

    content: List[ContentBlock]
    structured_content: Optional[Any] = member(
        default=None, since=R2025_06_18, was=((R2025_11_25, Dict[str, Any]),), downgrade=True)
    """Any JSON value, an object up to 2025-11-25; None if there is none.

    JSON null [2026-07-28 server/tools §Structured Content] is `mcp_ref.codec.NULL`, which is false like None.
    """
    is_error: Optional[bool] = member(default=None)
    """False if not given."""
    result_type: str = result_type()
    meta: Optional[MetaObject] = result_meta()

    @property
    def text(self) -> str:
        """The text of the content; see `mcp_ref.messages.content.text_of`."""
        return text_of(self.content)

    @property
    def data(self) -> Any:
        """The structured content, or else the JSON value in the only text block, so in every revision; None without
        either.

        Servers wrap a value that is not an object, because up to 2025-11-25 structured content is one. So of structured
        content ``{"result": value}`` whose text is the JSON of the value alone, this is the value.
        """
        structured = self.structured_content
        if structured is NULL:
            return None
        if structured is not None and not (isinstance(structured, dict) and list(structured) == ["result"]):
            return structured
        texts = [block.text for block in self.content if isinstance(block, TextContent)]
        try:
            value = loads(texts[0].encode("utf-8")) if len(texts) == 1 else None
        except ValueError:  # not JSON
            return structured
        return value if structured is None or structured == {"result": value} else structured

    @property
    def has_structured_content(self) -> bool:
        """True if there is structured content, JSON null among them."""
        return self.structured_content is not None
