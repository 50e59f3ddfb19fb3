"""From what a handler returns to content blocks, resource contents, and the result of a tool.

================================  =====================================================
a handler returns                 it becomes
================================  =====================================================
None                              no content
str                               one text block
a content block (`TextContent`,   that block
`ImageContent`, ...)
a list of str and content blocks  those blocks
anything `to_json` knows         one text block with its JSON
================================  =====================================================

`image`, `audio` and `blob` make blocks from bytes, because on the wire binary data is base64 text.
Blocks that a handler made are checked (`mcp_ref.protocol.content`), so that nothing illegal is
sent, and an embedded resource without a MIME type gets the plainest one of its kind
[.. server/prompts §Embedded Resources] MUST.

A tool that has an output schema gives structured content that fits it, or its call is an error
[2025-06-18.. server/tools §Output Schema] MUST. Beside it goes the value's JSON in a text block, for
clients that do not know structured content [2025-06-18.. server/tools §Structured Content] SHOULD.
Reading: a number or a list, whose structured content is ``{"result": value}``, has its own JSON there
and not that of the wrapping, which is ours.

A handler may also return a whole `CallToolResult`. Its blocks, `_meta` and structured content are
held to the same rules; where it says that the tool failed, there need be no structured content. Text is
added only where it has structured content and no block at all: an author who wrote blocks chose them.
"""

from base64 import b64encode
from copy import copy
from typing import TYPE_CHECKING, Any, List, Union

from ...codec import ABSENT, NULL, Model, held
from ...errors import ToolError
from ...jsontext import dumps, is_deep
from ...limits import DEFAULT
from ...messages import content as _blocks
from ...messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from ...messages.tools import CallToolResult
from ...options import spelt
from ..hints.values import BYTES, NO_TYPE, to_json

if TYPE_CHECKING:
    from ..interface import ToolInterface

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
RESOURCE_CONTENTS = (TextResourceContents, BlobResourceContents)
PLAIN_TEXT = "text/plain"
PLAIN_BLOB = "application/octet-stream"


def image(data: bytes, mime_type: str) -> ImageContent:
    """An image block of these bytes."""
    return ImageContent(data=b64encode(data).decode("ascii"), mime_type=mime_type)


def audio(data: bytes, mime_type: str) -> AudioContent:
    """An audio block of these bytes [2025-03-26.. server/tools §Audio Content]."""
    return AudioContent(data=b64encode(data).decode("ascii"), mime_type=mime_type)


@spelt
def blob(uri: str, data: bytes, mime_type: str = PLAIN_BLOB) -> EmbeddedResource:
    """An embedded binary resource of these bytes."""
    contents = BlobResourceContents(uri=uri, blob=b64encode(data).decode("ascii"), mime_type=mime_type)
    return EmbeddedResource(resource=contents)


def check_asking(context: Any, value: Any) -> None:
    """A handler may return an `InputRequiredResult`: then it unwinds here; see
    `mcp_ref.server.mrtr.rounds.returned`."""
    if getattr(value, "result_type", None) == "input_required":
        from ..mrtr.rounds import returned

        returned(context, value)


def content_of(value: Any, path: str = "content") -> List["_blocks.ContentBlock"]:
    """The blocks of a returned value; see the table of the module. ``path`` is what errors call it.

    Raises TypeError for bytes, whose kind only the author knows, `JsonError` for what JSON cannot hold, and TypeError
    or ValueError with the place in a block that may not be sent: ``content[1].mimeType: expected a MIME type ...``.
    """
    if type(value) is str:
        return [TextContent(text=value)]
    if value is None:
        return []
    if isinstance(value, BLOCKS):
        return [checked_block(path, value)]
    if isinstance(value, (list, tuple)) and any(isinstance(item, BLOCKS) for item in value):
        return [block for at, item in enumerate(value) for block in content_of(item, "%s[%d]" % (path, at))]
    if isinstance(value, BYTES):
        raise TypeError(NO_TYPE)
    if isinstance(value, Model):
        raise TypeError("a %s is not a content block" % type(value).__name__)
    return [TextContent(text=value)] if isinstance(value, str) else _json_content(to_json(value))


def _json_content(plain: Any) -> List["_blocks.ContentBlock"]:
    """Return the blocks of a JSON value: none for null, a string as it is, anything else as its JSON text."""
    if plain is None:
        return []
    return [TextContent(text=plain if isinstance(plain, str) else dumps(plain))]


def checked_block(path: str, block: Any) -> Any:
    """A block that a handler made, in order and complete. Raises TypeError or ValueError, naming the place."""
    from ...protocol.content import check_block

    check_block(path, block)
    if isinstance(block, EmbeddedResource) and block.resource.mime_type is None:
        block = copy(block)
        block.resource = copy(block.resource)
        block.resource.mime_type = PLAIN_TEXT if isinstance(block.resource, TextResourceContents) else PLAIN_BLOB
    return block


def contents_of(uri: str, mime_type: Union[str, None], value: Any) -> List[Any]:
    """The contents of a resource, from what its handler returned: str, bytes, JSON, contents or a list of these.

    Raises TypeError or ValueError for contents that may not be sent, naming the place, and `JsonError`.
    """
    if isinstance(value, RESOURCE_CONTENTS):
        return checked_contents([value])
    if isinstance(value, list) and value and all(isinstance(item, RESOURCE_CONTENTS) for item in value):
        return checked_contents(value)
    if isinstance(value, BYTES):
        data = b64encode(bytes(value)).decode("ascii")
        return [BlobResourceContents(uri=uri, blob=data, mime_type=mime_type or PLAIN_BLOB)]
    if isinstance(value, str):
        return [TextResourceContents(uri=uri, text=value, mime_type=mime_type or PLAIN_TEXT)]
    return [TextResourceContents(uri=uri, text=dumps(to_json(value)), mime_type=mime_type or "application/json")]


def checked_contents(contents: List[Any]) -> List[Any]:
    """Resource contents that a handler made, in order. Raises TypeError or ValueError, naming the place."""
    from ...protocol.content import check_contents

    for at, item in enumerate(contents):
        check_contents("contents[%d]" % at, item)
    return list(contents)


class BadResult(ToolError):
    """A result is not what the tool promised; a mistake of its author, which the model is told of, too."""


def result_of(tool: "ToolInterface", value: Any) -> CallToolResult:
    """Make the result of a call whose function returned this value.

    The value is converted to JSON once: structured content and the text block beside it are made of the same JSON.
    Raises `BadResult`, `JsonError` for what JSON cannot hold, TypeError or ValueError for content that may not be sent.
    """
    if isinstance(value, CallToolResult):
        return _checked_result(tool, value)
    if tool.output_schema is None:
        return CallToolResult(content=content_of(value))
    plain = to_json(value)
    structured = tool.to_structured(plain)
    _conform(tool, structured)
    return CallToolResult(_json_content(plain), NULL if structured is None else structured)


def _checked_result(tool: "ToolInterface", given: CallToolResult) -> CallToolResult:
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


def _conform(tool: "ToolInterface", structured: Any) -> None:
    found = tool.outputs.validate(structured)
    if found:
        wrong = "; ".join(one.about("structuredContent") for one in found[:5])
        raise BadResult("the result does not fit the output schema: %s" % wrong)
