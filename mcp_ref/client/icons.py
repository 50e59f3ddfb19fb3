"""The icons that a user interface may show without harm [2025-11-25.. basic/index §`icons`].

A server names its icons, and the client decides. An icon is usable if it

- comes whole, in a ``data:`` URI: base64, of an image type of the list, of at most ``max_icon_bytes``, and
  beginning as such an image begins; or
- lies at an https URL of the server's own origin (scheme, host and port), or of a host that the
  caller trusts.

All others are left out: every other scheme, other hosts, user information in a URL, a port of its own,
types that are no image, and texts that are no URI at all. Where the server has no origin of its own (a
child process), only the first kind is left.

Nothing is fetched here. A program that fetches one of the second kind does so without credentials, follows no
redirect to another origin, limits the size, and looks at the first bytes (`image_type`)
[2025-11-25.. basic/index §`icons`] MUST.

Reading: the list of types is what the page asks a client for: PNG, JPEG, WebP. SVG may hold scripts, so
it needs ``svg=True`` of a caller that renders it as an image, without scripts.
"""

import re
from typing import Any, FrozenSet, List, Optional, Sequence, Tuple

from ..limits import DEFAULT, Limits
from ..messages.base import Icon
from ..options import strict_options
from ..protocol.elicitation import LinkError, read_link

SVG = "image/svg+xml"
_BEGINNINGS: Tuple[Tuple[str, int, bytes], ...] = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"), ("image/jpeg", 0, b"\xff\xd8\xff"), ("image/webp", 8, b"WEBP"),
)
"""The type of an image, a position, and the bytes that such an image has there."""
IMAGE_TYPES: Tuple[str, ...] = tuple(row[0] for row in _BEGINNINGS)
"""The types that are shown; ``image/jpg`` is another name of JPEG."""

_DATA = re.compile(r"data:([a-z]{1,20}/[a-z0-9.+-]{1,40});base64,([a-z0-9+/]*={0,2})", re.IGNORECASE)

Place = Tuple[str, int]
"""The host and port of an https URL."""


@strict_options
def usable_icons(
    item: Any, origin: Optional[str] = None, *, trusted: Sequence[str] = (), svg: bool = False,
    limits: Limits = DEFAULT,
) -> List[Icon]:
    """Return the icons of a tool, resource, template, prompt or implementation that may be shown, in their order.

    ``origin``: any URL of the server; None if it has none. ``trusted``: names of other hosts whose icons may be
    shown; a name does not stand for its subdomains. Raises ValueError for a trusted host that is no host name.
    """
    places = _places(origin, trusted, limits)
    return [icon for icon in item.icons or () if not _fault(icon, places, svg, limits)]


def fault(
    icon: Icon, origin: Optional[str] = None, *, trusted: Sequence[str] = (), svg: bool = False,
    limits: Limits = DEFAULT,
) -> str:
    """Return why an icon is not usable, in a few words; "" if it is. Arguments and exceptions as `usable_icons`."""
    return _fault(icon, _places(origin, trusted, limits), svg, limits)


def image_type(data: bytes) -> str:
    """Return the type of an image by its first bytes, whatever it is called; "" for a type that is not shown."""
    for name, at, beginning in _BEGINNINGS:
        if data.startswith(beginning, at) and (at == 0 or data.startswith(b"RIFF")):
            return name
    return SVG if data.lstrip().startswith((b"<svg", b"<?xml")) else ""


def _places(origin: Optional[str], trusted: Sequence[str], limits: Limits) -> FrozenSet[Place]:
    """Return the places where icons may lie."""
    found = {_place(origin, limits)} if origin is not None else set()
    for host in trusted:
        place = _place("https://%s/" % host, limits)
        if place != (host.lower(), 443):
            raise ValueError("trusted: %r is not a host name, such as cdn.example.com" % (host,))
        found.add(place)
    return frozenset(place for place in found if place is not None)


def _place(url: str, limits: Limits) -> Optional[Place]:
    try:
        link = read_link(url, limits.max_uri_length)
    except LinkError:
        return None
    return (link.host, link.port) if link.scheme == "https" else None


def _fault(icon: Icon, places: FrozenSet[Place], svg: bool, limits: Limits) -> str:
    types = IMAGE_TYPES + ((SVG,) if svg else ())
    stated = None if icon.mime_type is None else _plain(icon.mime_type)
    if stated is not None and stated not in types:
        return "images of type %.40s are not shown" % ascii(icon.mime_type)
    if icon.src[:5].lower() == "data:":
        return _fault_in_data(icon.src, stated, types, limits)
    return _fault_in_url(icon.src, places, svg, limits)


def _fault_in_data(src: str, stated: Optional[str], types: Tuple[str, ...], limits: Limits) -> str:
    """Return what is wrong with a ``data:`` URI: its type is checked, and must be that of the bytes
    [2025-11-25.. basic/index §`icons`] MUST."""
    if len(src) * 3 // 4 > limits.max_icon_bytes:
        return "its data: URI exceeds max_icon_bytes (%d)" % limits.max_icon_bytes
    parts = _DATA.fullmatch(src)
    if parts is None:
        return "its data: URI is not a type and base64"
    name = _plain(parts.group(1))
    if name not in types or stated not in (None, name):
        return "its data: URI is of type %s" % name
    from base64 import b64decode

    try:
        found = image_type(b64decode(parts.group(2), validate=True))
    except ValueError:
        return "its base64 is broken"
    return "" if found == name else "its bytes are no %s" % name


def _fault_in_url(src: str, places: FrozenSet[Place], svg: bool, limits: Limits) -> str:
    """Return what is wrong with a URL: it must be https [2025-11-25.. basic/index §`icons`] MUST, and of the server's
    own origin [2025-11-25.. schema.json §Icon] SHOULD."""
    place = _place(src, limits) if src.isascii() else None
    if place is None:
        return "it is neither an https URL nor a data: URI"
    if place not in places:
        return "it lies at %s, which is neither the server's origin nor trusted" % place[0]
    path = src.partition("?")[0].partition("#")[0].lower()
    return "it is an SVG" if path.endswith((".svg", ".svgz")) and not svg else ""


def _plain(name: str) -> str:
    name = name.lower()
    return "image/jpeg" if name == "image/jpg" else name
