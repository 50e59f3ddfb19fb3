"""Content: the blocks that tool results, prompts and sampling messages are made of.

[2025-06-18.. server/tools §Tool Result] and [2025-06-18.. server/resources §Resource Contents].

The ``type`` of a block names its class. Older revisions lack some: audio came with 2025-03-26,
links to resources with 2025-06-18. `mcp_ref.messages.downgrade` has the blocks that are sent instead.
Binary data is base64 text here, as on the wire.
"""

from dataclasses import field
from typing import Any, List, Optional, Union

from ..codec import Mark, Model, member, message, tell_apart
from ..revisions import R2025_03_26, R2025_06_18, R2025_11_25
from .base import Annotations, Icon, MetaObject


@message
class TextContent(Model):
    """Plain text. [.. server/tools §Text Content]"""

    type: str = field(init=False, default="text")
    text: str
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class ImageContent(Model):
    """A picture. [.. server/tools §Image Content]"""

    type: str = field(init=False, default="image")
    data: str
    """base64"""
    mime_type: str
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class AudioContent(Model):
    """Sound. [2025-03-26.. server/tools §Audio Content]"""

    since = R2025_03_26

    type: str = field(init=False, default="audio")
    data: str
    """base64"""
    mime_type: str
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class ResourceLink(Model):
    """A resource to be read by its URI, whether or not it is listed. [2025-06-18.. server/tools §Resource Links]"""

    since = R2025_06_18

    type: str = field(init=False, default="resource_link")
    uri: str
    name: str
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    mime_type: Optional[str] = member(default=None)
    size: Optional[int] = member(default=None)
    """Bytes of the raw content."""
    icons: Optional[List[Icon]] = member(default=None, since=R2025_11_25)
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None)


@message
class TextResourceContents(Model):
    """A resource, or a part of one, that is text. [.. server/resources §Resource Contents]"""

    uri: str
    text: str
    mime_type: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


@message
class BlobResourceContents(Model):
    """A resource, or a part of one, that is binary. [.. server/resources §Resource Contents]"""

    uri: str
    blob: str
    """base64"""
    mime_type: Optional[str] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


AnyResourceContents = Union[TextResourceContents, BlobResourceContents]
tell_apart(Mark(TextResourceContents, "text"), Mark(BlobResourceContents, "blob"))


@message
class EmbeddedResource(Model):
    """A resource with its contents. [.. server/tools §Embedded Resources]"""

    type: str = field(init=False, default="resource")
    resource: AnyResourceContents
    annotations: Optional[Annotations] = member(default=None)
    meta: Optional[MetaObject] = member(default=None, since=R2025_06_18)


ContentBlock = Union[TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource]


def text_of(content: Any) -> str:
    """Return the text of some content, one block or a list of them, joined by line ends; other blocks are left out."""
    blocks = content if isinstance(content, list) else [content]
    texts = [getattr(block, "text", None) for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))
