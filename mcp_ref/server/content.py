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
"""

from base64 import b64encode
from typing import Any, List, Union

from ..codec import Model
from ..jsontext import dumps
from ..messages import content as _blocks
from ..messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)
from .tojson import to_json

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
RESOURCE_CONTENTS = (TextResourceContents, BlobResourceContents)

__all__ = ["BLOCKS", "audio", "blob", "contents_of", "content_of", "image"]


def image(data: bytes, mime_type: str) -> ImageContent:
    """An image block of these bytes."""
    return ImageContent(data=b64encode(data).decode("ascii"), mime_type=mime_type)


def audio(data: bytes, mime_type: str) -> AudioContent:
    """An audio block of these bytes [2025-03-26.. server/tools §Audio Content]."""
    return AudioContent(data=b64encode(data).decode("ascii"), mime_type=mime_type)


def blob(uri: str, data: bytes, mime_type: str = "application/octet-stream") -> EmbeddedResource:
    """An embedded binary resource of these bytes."""
    contents = BlobResourceContents(uri=uri, blob=b64encode(data).decode("ascii"), mime_type=mime_type)
    return EmbeddedResource(resource=contents)


def content_of(value: Any) -> List["_blocks.ContentBlock"]:
    """The blocks of a returned value; see the table of the module.

    Raises TypeError for bytes, whose kind only the author knows, and `JsonError` for what JSON cannot hold.
    """
    if type(value) is str:
        return [TextContent(text=value)]
    if value is None:
        return []
    if isinstance(value, BLOCKS):
        return [value]
    if isinstance(value, (list, tuple)) and any(isinstance(item, BLOCKS) for item in value):
        return [block for item in value for block in content_of(item)]
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("bytes have no type: return image(data, mime_type), audio(...) or blob(uri, data, mime_type)")
    if isinstance(value, Model):
        raise TypeError("a %s is not a content block" % type(value).__name__)
    return [TextContent(text=value if isinstance(value, str) else dumps(to_json(value)))]


def contents_of(uri: str, mime_type: Union[str, None], value: Any) -> List[Any]:
    """The contents of a resource, from what its handler returned: str, bytes, JSON, contents or a list of these."""
    if isinstance(value, RESOURCE_CONTENTS):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, RESOURCE_CONTENTS) for item in value):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        data = b64encode(bytes(value)).decode("ascii")
        return [BlobResourceContents(uri=uri, blob=data, mime_type=mime_type or "application/octet-stream")]
    if isinstance(value, str):
        return [TextResourceContents(uri=uri, text=value, mime_type=mime_type or "text/plain")]
    return [TextResourceContents(uri=uri, text=dumps(to_json(value)), mime_type=mime_type or "application/json")]
