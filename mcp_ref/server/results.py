"""The results: a handler's return value as content blocks, resource contents or the result of a tool.

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
[2025-06-18.. server/tools §Output Schema] MUST. A text block has the same value as JSON, for
clients that do not know structured content [2025-06-18.. server/tools §Structured Content] SHOULD.
Reading: the text block of a number or a list, whose structured content is ``{"result": value}``, has the JSON of the
value and not of the wrapping, which this package adds.

A handler may also return a whole `CallToolResult`. Its blocks, `_meta` and structured content have to obey
the same rules; if it says that the tool failed, it needs no structured content. A text block is
added only to a result with structured content and no block at all: an author who wrote blocks chose them.

Every result of 2026-07-28 has two members more, its type and the server that it comes from
[2026-07-28 basic/index §Result Responses] MUST, [2026-07-28 basic/index §ResultType] MUST, [2026-07-28 basic/index
§`_meta`] SHOULD. `Server.route` wraps each route of that revision in a `Stamp`.
"""

import os
from copy import copy
from typing import TYPE_CHECKING, Any, Dict, List, Union

from ..codec import NULL, Model, encode
from ..errors import ToolError
from ..jsonrpc import Encoded
from ..jsontext import dumps, is_deep
from ..limits import DEFAULT
from ..messages import content as _blocks
from ..messages.base import Implementation
from ..messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from ..messages.tools import CallToolResult
from ..options import spelt
from ..peer.context import Context, Route
from ..protocol.envelope import SERVER_INFO
from ..revisions import Revision
from .hints.values import BYTES, NO_TYPE, base64_text, to_json

if TYPE_CHECKING:
    from .server import Server
    from .tools import RegisteredTool

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
RESOURCE_CONTENTS = (TextResourceContents, BlobResourceContents)
PLAIN_TEXT = "text/plain"
PLAIN_BLOB = "application/octet-stream"
_IMAGES = {".webp": "image/webp", ".avif": "image/avif", ".svg": "image/svg+xml"}
"""The suffixes of images that `mimetypes` does not know everywhere."""


def image(data: bytes, mime_type: str) -> ImageContent:
    """Return an image block of these bytes."""
    return ImageContent(data=base64_text(data), mime_type=mime_type)


def image_file(path: "Union[str, os.PathLike[str]]") -> ImageContent:
    """Return an image block with the contents of a file, whose suffix tells the media type.

    Raises ValueError for a suffix that is none of an image, and OSError for a file that cannot be read.
    """
    from mimetypes import guess_type

    guessed = guess_type(os.fspath(path))[0] or ""
    mime_type = guessed if guessed.startswith("image/") else _IMAGES.get(os.path.splitext(os.fspath(path))[1].lower())
    if mime_type is None:
        raise ValueError("%s: the suffix is none of an image; use image(data, mime_type)" % os.fspath(path))
    with open(path, "rb") as file:
        return image(file.read(), mime_type)


def audio(data: bytes, mime_type: str) -> AudioContent:
    """Return an audio block of these bytes [2025-03-26.. server/tools §Audio Content]."""
    return AudioContent(data=base64_text(data), mime_type=mime_type)


@spelt
def blob(uri: str, data: bytes, mime_type: str = PLAIN_BLOB) -> EmbeddedResource:
    """Return an embedded binary resource of these bytes."""
    contents = BlobResourceContents(uri=uri, blob=base64_text(data), mime_type=mime_type)
    return EmbeddedResource(resource=contents)


def check_asking(context: Any, value: Any) -> None:
    """Unwind the handler if it returned an `InputRequiredResult`; see `mcp_ref.server.mrtr.returned`."""
    if getattr(value, "result_type", None) == "input_required":
        from .mrtr import returned

        returned(context, value)


def content_of(value: Any, path: str = "content") -> List["_blocks.ContentBlock"]:
    """Return the blocks of a returned value; see the table of the module. ``path`` begins the texts of errors.

    Raises TypeError for bytes, whose kind only the author knows, `JsonError` for a value that JSON cannot hold, and
    TypeError or ValueError with the place in a block that may not be sent: ``content[1].mimeType: expected a MIME type
    ...``.
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
    return [TextContent(text=value if isinstance(value, str) else dumps(to_json(value)))]


def checked_block(path: str, block: Any) -> Any:
    """Return a block that a handler made, checked and completed. Raises TypeError or ValueError, naming the place."""
    from ..protocol.content import check_block

    check_block(path, block)
    if isinstance(block, EmbeddedResource) and block.resource.mime_type is None:
        block = copy(block)
        block.resource = copy(block.resource)
        block.resource.mime_type = PLAIN_TEXT if isinstance(block.resource, TextResourceContents) else PLAIN_BLOB
    return block


def contents_of(uri: str, mime_type: Union[str, None], value: Any) -> List[Any]:
    """Return the contents of a resource whose handler returned a str, bytes, JSON, contents or a list of contents.

    Raises TypeError or ValueError for contents that may not be sent, naming the place, and `JsonError`.
    """
    if isinstance(value, RESOURCE_CONTENTS):
        return checked_contents([value])
    if isinstance(value, list) and value and all(isinstance(item, RESOURCE_CONTENTS) for item in value):
        return checked_contents(value)
    if isinstance(value, BYTES):
        return [BlobResourceContents(uri=uri, blob=base64_text(bytes(value)), mime_type=mime_type or PLAIN_BLOB)]
    if isinstance(value, str):
        return [TextResourceContents(uri=uri, text=value, mime_type=mime_type or PLAIN_TEXT)]
    return [TextResourceContents(uri=uri, text=dumps(to_json(value)), mime_type=mime_type or "application/json")]


def checked_contents(contents: List[Any]) -> List[Any]:
    """Return resource contents that a handler made, checked. Raises TypeError or ValueError, naming the place."""
    from ..protocol.content import check_contents

    for at, item in enumerate(contents):
        check_contents("contents[%d]" % at, item)
    return list(contents)


class BadResult(ToolError):
    """A result does not fit the tool's declaration: a mistake of the author, whose text the model gets, too."""


def result_of(tool: "RegisteredTool", value: Any) -> CallToolResult:
    """Return the result of a call whose function returned this value.

    The value is converted to JSON once: structured content and the text block are made of the same JSON.
    Raises `BadResult`, `JsonError` for a value that JSON cannot hold, and TypeError or ValueError for content that may
    not be sent.
    """
    if isinstance(value, CallToolResult):
        return _checked_result(tool, value)
    schema, wrapped = tool.returned()
    if schema is None:
        return CallToolResult(content=content_of(value))
    plain = to_json(value)
    structured = {"result": plain} if wrapped else plain
    violations = tool.outputs.validate(structured)
    if violations:
        raise _unlike_schema(violations)
    # For clients that read text only [2025-06-18.. server/tools §Structured Content] SHOULD
    text = TextContent(text=plain if isinstance(plain, str) else dumps(plain))
    return CallToolResult([text], NULL if structured is None else structured)


def _checked_result(tool: "RegisteredTool", given: CallToolResult) -> CallToolResult:
    """Return a copy of a result that the author made, checked and completed."""
    structured = given.structured_content
    if tool.output_schema is not None and not given.is_error:
        if structured is None:
            raise BadResult("the tool has an output schema, but the result has no structured content")
        if is_deep(structured, DEFAULT.max_depth):
            dumps(structured)  # raises `JsonError`; validation would recurse too deeply
        violations = tool.outputs.validate(None if structured is NULL else structured)
        if violations:
            raise _unlike_schema(violations)
    if given.meta is not None:
        from ..protocol.content import check_meta

        check_meta("_meta", given.meta)
    made = copy(given)
    made.content = [checked_block("content[%d]" % at, block) for at, block in enumerate(given.content)]
    if structured is not None and not made.content:
        made.content = [TextContent(text=dumps(None if structured is NULL else structured))]
    return made


def _unlike_schema(violations: List[Any]) -> BadResult:
    wrong = "; ".join(one.about("structuredContent") for one in violations[:5])
    return BadResult("the result does not fit the output schema: %s" % wrong)


class Stamp:
    """Add ``resultType`` and, unless ``Server(identify=False)``, the server's name and version to each result.

    Only the first three members of the identity are sent; `server/discover` has the others, which are for people.
    """

    def __init__(self, server: "Server", revision: Revision) -> None:
        self._own: Dict[str, Any] = {}
        if server.identify:
            self._own[SERVER_INFO] = encode(Implementation(*server.identity[:3]), revision)
        self._tail = ',"_meta":%s}' % dumps(self._own)

    def __call__(self, result: Any) -> Any:
        """Return the result with the members added; the given dict is not changed."""
        if isinstance(result, Encoded):  # a page of a list, or a text: it has members, and no `_meta` of its own
            return Encoded(result[:-1] + self._tail) if self._own else result
        made = result if "resultType" in result else dict(result, resultType="complete")
        return dict(made, _meta=dict(self._own, **made.get("_meta") or {})) if self._own else made

    def on(self, route: Route) -> Route:
        """Return a route with the same function whose results are stamped. A deferred route stays as it is."""
        call, fault = route.call, route.fault
        if route.deferred:
            return route

        def stamped(context: Context, params: Dict[str, Any]) -> Any:
            return self(call(context, params))

        def stamped_fault(context: Context, error: Exception) -> Any:
            result = None if fault is None else fault(context, error)
            return None if result is None else self(result)

        return Route(stamped, None if fault is None else stamped_fault, route.inline)
