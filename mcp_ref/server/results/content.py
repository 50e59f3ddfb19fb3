"""From what a handler returns to content blocks and resource contents.

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
"""

from base64 import b64encode
from copy import copy
from typing import Any, List, Union

from ...codec import Model
from ...jsontext import dumps
from ...messages import content as _blocks
from ...messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from ...options import spelt
from ..hints.values import BYTES, NO_TYPE, to_json

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
RESOURCE_CONTENTS = (TextResourceContents, BlobResourceContents)
PLAIN_TEXT = "text/plain"
PLAIN_BLOB = "application/octet-stream"

__all__ = [
    "BLOCKS", "audio", "blob", "check_asking", "checked_block", "checked_contents", "contents_of", "content_of",
    "image",
]


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
    return [TextContent(text=value if isinstance(value, str) else dumps(to_json(value)))]


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
