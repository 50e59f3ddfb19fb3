"""What a URI may look like [RFC 3986], and what stands above it.

`fault` says what is wrong with a text that should be a URI, in words for whoever sent it. Every URI of
a peer is checked before anything is looked up or opened
[.. server/resources §Security Considerations] MUST, and every URI of an author when it is registered
[2025-06-18.. server/resources §Custom URI Schemes] MUST.

Only the syntax is checked, nothing is resolved and no scheme has rules of its own here. A reference
without a scheme (``notes.txt``) is no URI. Letters outside ASCII, spaces and control characters have to
be percent-encoded.

>>> fault("file:///notes.txt", 100) is None
True
>>> fault("file:///my notes.txt", 100)
"character ' ' at 10 must be percent-encoded"
"""

import re
from typing import Iterator, Optional

_STRANGE = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_PORT = re.compile(r"[0-9]*")
_FUTURE_ADDRESS = re.compile(r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+")


def fault(uri: str, max_length: int) -> Optional[str]:
    """What is wrong with a URI, in one short line; None if nothing is. ``max_length`` is ``max_uri_length``."""
    if not uri:
        return "it is empty"
    if len(uri) > max_length:
        return "its %d characters exceed max_uri_length (%d)" % (len(uri), max_length)
    strange = _STRANGE.search(uri)
    if strange is not None:
        return "character %s at %d must be percent-encoded" % (ascii(strange.group()), strange.start())
    broken = _BROKEN_PERCENT.search(uri)
    if broken is not None:
        return "the percent sign at %d needs two hexadecimal digits behind it" % broken.start()
    scheme, colon, rest = uri.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return "it does not begin with a scheme such as file:"
    return _fault_behind_scheme(rest)


def _fault_behind_scheme(rest: str) -> Optional[str]:
    """[RFC 3986 §3.2..§3.5] Only the authority may hold brackets, and a fragment holds no further hash sign."""
    rest, _, fragment = rest.partition("#")
    if "#" in fragment:
        return "it has two fragments"
    authority = ""
    if rest.startswith("//"):
        end = min(at for at in (rest.find("/", 2), rest.find("?", 2), len(rest)) if at >= 0)
        authority, rest = rest[2:end], rest[end:]
    for sign in "[]":
        if sign in rest or sign in fragment:
            return "character '%s' outside an address must be percent-encoded" % sign
    return _fault_in_authority(authority)


def _fault_in_authority(authority: str) -> Optional[str]:
    """User, host and port [RFC 3986 §3.2]."""
    user, at, host = authority.rpartition("@")
    if "@" in user or "[" in user or "]" in user:
        return "its user information holds a character that must be percent-encoded"
    if host.startswith("["):
        address, bracket, port = host[1:].partition("]")
        if not bracket or not _is_address(address) or port and not port.startswith(":"):
            return "its host is no address in brackets"
        port = port[1:]
    else:
        host, _, port = host.partition(":")
        if "[" in host or "]" in host:
            return "its host is no address in brackets"
    return "its port is no number" if _PORT.fullmatch(port) is None else None


def _is_address(text: str) -> bool:
    """An IPv6 address without a zone, or one of a version to come [RFC 3986 §3.2.2]."""
    if _FUTURE_ADDRESS.fullmatch(text) is not None:
        return True
    import ipaddress

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text and "/" not in text


def containers(uri: str) -> Iterator[str]:
    """The URIs that end with a slash and that this one lies below, the nearest first [RFC 3986 §1.2.3].

    >>> list(containers("file:///a/b.txt"))
    ['file:///a/', 'file:///']
    """
    path = uri.partition("?")[0].partition("#")[0]
    authority = path.find("://")
    first = path.find("/", authority + 3 if authority >= 0 else 0)
    at = path.rfind("/", 0, len(uri) - 1)
    while at >= first >= 0:
        yield path[:at + 1]
        at = path.rfind("/", 0, at)
