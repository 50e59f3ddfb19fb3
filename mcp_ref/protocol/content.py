"""The rules of content and of descriptions: annotations, icons, MIME types, base64, URIs.

The functions take messages (`mcp_ref.messages`) that an author made, and raise before anything is
sent: TypeError for a value of a wrong class, ValueError for a wrong value. The text begins with the
path of the member: ``content[0].annotations.priority: expected a number from 0 to 1, got 2``.

======================  ===========================================================================
what                    must be
======================  ===========================================================================
audience                a list of ``user`` and ``assistant`` [2025-06-18.. server/resources §Annotations]
priority                a number from 0 to 1
lastModified            an ISO 8601 time: a date, or a date and time
data, blob              base64 [.. server/prompts §Image Content] MUST
                        [2025-03-26.. server/prompts §Audio Content] MUST
MIME type               ``type/subtype``, perhaps with parameters [RFC 2045 §5.1]
URI                     absolute, that is, with a scheme; see `mcp_ref.protocol.uris`
icon                    an http, https or base64 data URI; sizes ``WxH`` or ``any``
                        [2025-11-25.. basic/index §`icons`]
`_meta`                 an object of JSON values whose keys keep the rules of `metakeys`
======================  ===========================================================================

Reading: of the many forms of ISO 8601, calendar dates and times in the extended format are taken:
``2025-01-12``, ``2025-01-12T15:00Z``, ``2025-01-12T15:00:58.5+01:00``, also without offset.
"""

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Type

from ..codec import Model
from ..messages.base import Annotations, Icon
from ..messages.content import (
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents,
)

ROLES = ("user", "assistant")

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`{|}~-]+"
_MIME_TYPE = re.compile(r'%s/%s(?:\s*;\s*%s=(?:%s|"(?:[^"\\\r\n]|\\[^\r\n])*"))*' % ((_TOKEN,) * 4))
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?"
    r"(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?", re.ASCII)
_ICON_SIZE = re.compile(r"[1-9]\d*x[1-9]\d*|any", re.ASCII)
_ICON_URI = re.compile(r"https?://[^/?#]|data:[^,]*;base64,", re.IGNORECASE)
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


# -- Words -------------------------------------------------------------------------------------


def is_mime_type(text: str) -> bool:
    """Return True for a MIME type, with or without parameters."""
    return _MIME_TYPE.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Return True for an ISO 8601 date, or date and time; see the module."""
    if _TIME.fullmatch(text) is None:
        return False
    from ..jsonschema.formats import is_date

    return is_date(text[:10])


def is_base64(text: str) -> bool:
    """Return True for base64 with its padding and nothing else in it [RFC 4648 §4]; takes a millisecond for a
    megabyte."""
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError:
        return False
    digits = raw.rstrip(b"=")
    return len(raw) % 4 == 0 and len(raw) - len(digits) <= 2 and not digits.translate(None, _BASE64)


def _check_words(path: str, expected: str, value: Any, test: Callable[[str], bool]) -> None:
    if not isinstance(value, str):
        raise TypeError("%s: expected %s, got %s" % (path, expected, type(value).__name__))
    if not test(value):
        raise ValueError("%s: expected %s, got %s" % (path, expected, _shown(value)))


def check_mime_type(path: str, value: Any) -> None:
    """Check a MIME type such as ``image/png``."""
    _check_words(path, "a MIME type such as image/png", value, is_mime_type)


def check_uri(path: str, value: Any) -> None:
    """Check a URI, see `mcp_ref.protocol.uris`. An author's own may have any length."""
    from .uris import fault

    _check_class(path, value, str)
    wrong = fault(value, len(value))
    if wrong is not None:
        raise ValueError("%s: expected a URI such as file:///notes.txt, got %s: %s" % (path, _shown(value), wrong))


def check_base64(path: str, value: Any) -> None:
    """Check binary data as base64 text."""
    _check_words(path, "base64", value, is_base64)


# -- What describes things ---------------------------------------------------------------------


def check_item(
    path: str, annotations: Optional[Annotations] = None, icons: Optional[List[Icon]] = None,
    meta: Optional[Mapping[str, Any]] = None,
) -> None:
    """Check what an author gives to a tool, a prompt, a resource or a block: annotations, icons, `_meta`."""
    if annotations is not None:
        check_annotations(path + ".annotations", annotations)
    if icons is not None:
        check_icons(path + ".icons", icons)
    if meta is not None:
        check_meta(path + "._meta", meta)


def check_annotations(path: str, value: Any) -> None:
    """Check annotations: audience, priority and time of the last change."""
    _check_class(path, value, Annotations)
    if value.audience is not None:
        _check_list(path + ".audience", value.audience)
        for number, role in enumerate(value.audience):
            check_role("%s.audience[%d]" % (path, number), role)
    priority = value.priority
    if priority is not None and (type(priority) not in (int, float) or not 0 <= priority <= 1):
        raise ValueError("%s.priority: expected a number from 0 to 1, got %s" % (path, _shown(priority)))
    if value.last_modified is not None:
        expected = "an ISO 8601 time such as 2025-01-12T15:00:58Z"
        _check_words(path + ".lastModified", expected, value.last_modified, is_time)


def check_role(path: str, value: Any) -> None:
    """Check a role: the author or the audience of content."""
    if value not in ROLES:
        raise ValueError('%s: expected "user" or "assistant", got %s' % (path, _shown(value)))


def check_icons(path: str, value: Any) -> None:
    """Check a list of icons. Clients show https and data only [2025-11-25.. basic/index §`icons`]; authors may use
    http."""
    _check_list(path, value)
    for number, icon in enumerate(value):
        place = "%s[%d]" % (path, number)
        _check_class(place, icon, Icon)
        expected = "an http, https or base64 data URI"
        _check_words(place + ".src", expected, icon.src, lambda text: _ICON_URI.match(text) is not None)
        if icon.mime_type is not None:
            check_mime_type(place + ".mimeType", icon.mime_type)
        if icon.theme not in (None, "light", "dark"):
            raise ValueError('%s.theme: expected "light" or "dark", got %s' % (place, _shown(icon.theme)))
        for at, size in enumerate(icon.sizes or ()):
            _check_words("%s.sizes[%d]" % (place, at), '"48x48" or "any"', size,
                         lambda text: _ICON_SIZE.fullmatch(text) is not None)


def check_meta(path: str, value: Any) -> None:
    """Check a `_meta` object of an author."""
    from ..jsontext import dumps
    from .metakeys import check_own

    if not isinstance(value, dict):
        raise TypeError("%s: expected a dict, got %s" % (path, type(value).__name__))
    try:
        check_own(value)
        dumps(value)
    except ValueError as error:
        raise ValueError("%s: %s" % (path, error)) from None


# -- Content -----------------------------------------------------------------------------------


def check_block(path: str, block: Any) -> None:
    """Check a content block of any type. `mcp_ref.messages.content` has the types."""
    check = next((check for cls, check in _BLOCKS.items() if isinstance(block, cls)), None)
    if check is None:
        raise TypeError("%s: expected a content block, got %s" % (path, type(block).__name__))
    check(path, block)
    check_item(path, block.annotations, getattr(block, "icons", None), block.meta)


def check_contents(path: str, contents: Any) -> None:
    """Check the contents of a resource, text or binary."""
    if isinstance(contents, TextResourceContents):
        _check_class(path + ".text", contents.text, str)
    else:
        _check_class(path, contents, BlobResourceContents)
        check_base64(path + ".blob", contents.blob)
    check_uri(path + ".uri", contents.uri)
    if contents.mime_type is not None:
        check_mime_type(path + ".mimeType", contents.mime_type)
    if contents.meta is not None:
        check_meta(path + "._meta", contents.meta)


def _check_binary(path: str, block: Any) -> None:
    check_base64(path + ".data", block.data)
    check_mime_type(path + ".mimeType", block.mime_type)


def _check_link(path: str, block: ResourceLink) -> None:
    check_uri(path + ".uri", block.uri)
    _check_class(path + ".name", block.name, str)
    if block.mime_type is not None:
        check_mime_type(path + ".mimeType", block.mime_type)
    if block.size is not None and (type(block.size) is not int or block.size < 0):
        raise ValueError("%s.size: expected a number of bytes, got %s" % (path, _shown(block.size)))


_BLOCKS: Dict[Type[Model], Callable[[str, Any], None]] = {
    TextContent: lambda path, block: _check_class(path + ".text", block.text, str),
    ImageContent: _check_binary,
    AudioContent: _check_binary,
    ResourceLink: _check_link,
    EmbeddedResource: lambda path, block: check_contents(path + ".resource", block.resource),
}


def _check_class(path: str, value: Any, cls: type) -> None:
    if not isinstance(value, cls):
        raise TypeError("%s: expected %s, got %s" % (path, cls.__name__, type(value).__name__))


def _check_list(path: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise TypeError("%s: expected a list, got %s" % (path, type(value).__name__))


def _shown(value: Any) -> str:
    """Return a value for an error text: one line, cut."""
    text = ascii(value[:80] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 80 else text[:77] + "..."
