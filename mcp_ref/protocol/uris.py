"""The syntax of URIs [RFC 3986], the URIs above one, and spellings that mean the same.

`fault` returns what is wrong with a text that should be a URI, in words for its sender. Every URI of
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

`normal` gives all equivalent spellings of a URI one form. `Folded` is for access control: it takes two URIs for the
same unless they are certainly different.
"""

import re
from typing import Iterator, List, NamedTuple, Optional, Tuple

_STRANGE = re.compile(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]")
BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_PORT = re.compile(r"[0-9]*")
_FUTURE_ADDRESS = re.compile(r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+")


def fault(uri: str, max_length: int) -> Optional[str]:
    """Return what is wrong with a URI, in one short line; None for a good URI. ``max_length`` is in characters."""
    if not uri:
        return "it is empty"
    if len(uri) > max_length:
        return "its %d characters exceed max_uri_length (%d)" % (len(uri), max_length)
    strange = _STRANGE.search(uri)
    if strange is not None:
        return "character %s at %d must be percent-encoded" % (ascii(strange.group()), strange.start())
    broken = BROKEN_PERCENT.search(uri)
    if broken is not None:
        return "the percent sign at %d needs two hexadecimal digits behind it" % broken.start()
    scheme, colon, rest = uri.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return "it does not begin with a scheme such as file:"
    return _fault_behind_scheme(rest)


def _fault_behind_scheme(rest: str) -> Optional[str]:
    """Check the parts: only the authority may hold brackets, and a fragment has no hash sign [RFC 3986 §3.2..§3.5]."""
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
    """Check user, host and port [RFC 3986 §3.2]."""
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
    """Return True for an IPv6 address without a zone, or one of a future version [RFC 3986 §3.2.2]."""
    if _FUTURE_ADDRESS.fullmatch(text) is not None:
        return True
    import ipaddress

    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text and "/" not in text


def containers(uri: str) -> Iterator[str]:
    """Yield the URIs that end with a slash and that this one lies below, the nearest first [RFC 3986 §1.2.3].

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


# -- Spellings ---------------------------------------------------------------------------------

_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def normal(uri: str) -> str:
    """Return the form that all equivalent spellings of a URI have in common [RFC 3986 §6.2.2] [RFC 3986 §6.2.3].

    Scheme and host are in small letters, only what has to be percent-encoded is, segments of dots are resolved, and the
    default port of http or https is left out. A text that is no URI is returned in some form, too.

    >>> normal("FILE:///docs/./x/../%73ecret%2etxt")
    'file:///docs/secret.txt'
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or _SCHEME.fullmatch(scheme) is None:
        return uri
    scheme, rest = scheme.lower(), _ENCODED.sub(_reencoded, rest)
    end = min((at for at in (rest.find("?"), rest.find("#")) if at >= 0), default=len(rest))
    path, tail, authority = rest[:end], rest[end:], ""
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        user, at, place = authority.rpartition("@")
        host, port = _ENCODED.sub(lambda found: found.group().upper(), place.lower()), ""
        if not host.endswith("]"):
            host, _, port = host.rpartition(":") if ":" in host else (host, "", "")
        shown_port = "" if port in ("", _DEFAULT_PORTS.get(scheme)) else ":" + port
        authority, path = "//%s%s%s%s" % (user, at, host, shown_port), slash + path
        if not path and scheme in _DEFAULT_PORTS:
            path = "/"
    return "%s:%s%s%s" % (scheme, authority, _without_dots(path) if path.startswith("/") else path, tail)


def _reencoded(found: "re.Match[str]") -> str:
    """Return an octet in the normal form: as a letter if that is allowed, else encoded with capital digits."""
    octet = chr(int(found.group(1), 16))
    return octet if _UNRESERVED.match(octet) else found.group().upper()


def _without_dots(path: str) -> str:
    """Return an absolute path without segments that are dots [RFC 3986 §5.2.4]."""
    if "/." not in path:
        return path
    kept = [""]
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in (".", ".."):
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept) or "/"


class Folded(NamedTuple):
    """A URI without everything that may make no difference when its resource is opened; made by `folded`.

    ``place``: scheme and authority. ``path``: the names on the way. ``query``: its parameters, sorted.
    """

    place: str
    path: Tuple[str, ...]
    query: Tuple[str, ...]
    is_folder: bool
    """True if the URI ends like one that other URIs lie below."""

    def lies_in(self, above: "Folded") -> bool:
        """Return True if this URI is the same as the other one, or below it."""
        return self.place == above.place and self.path[:len(above.path)] == above.path


def folded(uri: str) -> Folded:
    """Fold a URI, so that two spellings which may lead to the same thing become equal.

    Beyond `normal`, which a handler of a template or a file system may not tell apart either: all percent-encodings
    (``%2F`` and ``/``), case, forms of accented letters, ``\\`` and ``/``, slashes that are doubled or at the end, the
    order of parameters and those without a value, ``file://localhost/``, and fragments.

    >>> folded("file://localhost/docs//Secret%2etxt/?") .path == folded("file:/docs%2Fsecret.txt").path
    True
    """
    from unicodedata import normalize
    from urllib.parse import unquote

    def plain(text: str) -> str:
        text = unquote(text, errors="surrogateescape")
        return text.lower() if text.isascii() else normalize("NFC", normalize("NFC", text).casefold())

    scheme, colon, rest = normal(uri).partition("#")[0].partition(":")
    if not colon:
        scheme, rest = "", scheme
    rest, _, query = rest.partition("?")
    rest = plain(rest).replace("\\", "/")
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    segments = rest.split("/")
    path: List[str] = []
    for segment in segments:
        if segment == "..":
            del path[-1:]
        elif segment not in ("", "."):
            path.append(";".join(sorted(segment.split(";"))) if ";" in segment else segment)
    given = (plain(pair) for pair in query.split("&"))
    parameters = tuple(sorted(pair for pair in given if pair.partition("=")[2]))
    if scheme == "file" and authority == "localhost":
        authority = ""
    is_folder = "/" in rest and segments[-1] in ("", ".", "..")
    return Folded("%s://%s" % (scheme, authority), tuple(path), parameters, is_folder)
