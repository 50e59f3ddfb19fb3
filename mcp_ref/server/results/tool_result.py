"""What a tool's returned value becomes: content, and structured content where the tool promises it.

A tool that has an output schema gives structured content that fits it, or its call is an error
[2025-06-18.. server/tools §Output Schema] MUST. Beside it goes the value's JSON in a text block, for
clients that do not know structured content [2025-06-18.. server/tools §Structured Content] SHOULD.
Reading: a number or a list, whose structured content is ``{"result": value}``, has its own JSON there
and not that of the wrapping, which is ours.

A handler may also return a whole `CallToolResult`. Its blocks, `_meta` and structured content are
held to the same rules; where it says that the tool failed, there need be no structured content. Text is
added only where it has structured content and no block at all: an author who wrote blocks chose them.
"""

from copy import copy
from typing import TYPE_CHECKING, Any

from ...codec import ABSENT, NULL, held
from ...errors import ToolError
from ...jsontext import dumps, is_deep
from ...limits import DEFAULT
from ...messages.content import TextContent
from ...messages.tools import CallToolResult
from ..hints.values import to_json
from .content import checked_block, content_of

if TYPE_CHECKING:
    from ..tools import RegisteredTool


class BadResult(ToolError):
    """A result is not what the tool promised; a mistake of its author, which the model is told of, too."""


def result_of(tool: "RegisteredTool", value: Any) -> CallToolResult:
    """The result of a call whose function returned this.

    Raises `BadResult`, `JsonError` for what JSON cannot hold, TypeError or ValueError for content that may not be sent.
    """
    if isinstance(value, CallToolResult):
        return _whole(tool, value)
    if tool.output_schema is None:
        return CallToolResult(content=content_of(value))
    structured = tool.to_structured(value)
    _conform(tool, structured)
    return CallToolResult(content_of(to_json(value)), NULL if structured is None else structured)


def _whole(tool: "RegisteredTool", given: CallToolResult) -> CallToolResult:
    """A result that the author made: the same, if it is in order."""
    structured = held(given, "structured_content")
    if tool.output_schema is not None and not given.is_error:
        if structured is ABSENT:
            raise BadResult("the tool has an output schema, but the result has no structured content")
        if is_deep(structured, DEFAULT.max_depth):
            dumps(structured)  # says so; what validates it recurses
        _conform(tool, structured)
    if given.meta is not None:
        from ...protocol.content import check_meta

        check_meta("_meta", given.meta)
    made = copy(given)
    made.content = [checked_block("content[%d]" % at, block) for at, block in enumerate(given.content)]
    if structured is not ABSENT and not made.content:
        made.content = [TextContent(text=dumps(structured))]
    return made


def _conform(tool: "RegisteredTool", structured: Any) -> None:
    found = tool.outputs.validate(structured)
    if found:
        wrong = "; ".join(one.about("structuredContent") for one in found[:5])
        raise BadResult("the result does not fit the output schema: %s" % wrong)
