"""URIs as text: their syntax [RFC 3986], the URIs above one, equivalent spellings, and the ``file://`` URIs of roots.

`fault` returns what is wrong with a text that should be a URI, in words for its sender. Every URI of a peer is checked
before anything is looked up or opened [.. server/resources §Security Considerations] MUST, and every URI of an author
when it is registered [2025-06-18.. server/resources §Custom URI Schemes] MUST. Only the syntax is checked; nothing is
resolved, and only roots have rules of their own. A reference without a scheme (``notes.txt``) is no URI. Letters
outside ASCII, spaces and control characters have to be percent-encoded.

>>> fault("file:///notes.txt", 100) is None
True
>>> fault("file:///my notes.txt", 100)
"character ' ' at 10 must be percent-encoded"

`normal` gives all equivalent spellings of a URI one form. `Folded` is for access control: it takes two URIs for the
same unless they are certainly different.

Roots are ``file://`` URIs and the places below them [.. client/roots §Root]. No function here reads a file system, so
paths of either kind can be judged on either system:

=============================  ===========================
path                           URI
=============================  ===========================
``/disk/user/my project``      ``file:///disk/user/my%20project``
``C:/x``, or with a backslash  ``file:///C:/x``
=============================  ===========================

Clients validate all root URIs to prevent path traversal [.. client/roots §Security Considerations] MUST. A URI that two
programs could understand in two ways is refused, rather than guessed at:

- anything but ``file://`` with a path from the top: no host other than ``localhost``, no query, no fragment;
- ``..`` and ``.``, plain or encoded; a slash, a backslash or a control character that was encoded; empty steps
  (``//``), which some systems take for the name of a host;
- percent signs that encode nothing, and bytes that are no UTF-8;
- on a drive: a colon, or a step that ends in a dot or a space, which Windows takes off.

Reading: the page says no more than ``file://``. The list above has what RFC 8089 leaves open or warns of.

A place lies *below* a root if its path begins with all steps of the root, so ``/disk/user2`` is not below
``/disk/user``. Upper and lower case differ, but not for ASCII letters on a drive. `contains` knows nothing of symbolic
links unless it is given a module that follows them.
"""

import re
from typing import Any, Iterator, List, NamedTuple, NoReturn, Optional, Tuple
from urllib.parse import quote, unquote_to_bytes

from ..errors import LocalProtocolError
from ..jsonrpc import shown

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


CITATION = ".. client/roots §Root"
SCHEME = "file://"

_DRIVE = re.compile(r"[A-Za-z]:")
_DRIVE_PATH = re.compile(r"[A-Za-z]:[\\/]")
_LIKE_A_DRIVE = re.compile(r"[A-Za-z][:|]")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\/]")
_NOT_IN_A_URI = re.compile(r"[^A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]")
_UPPER_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class AbsolutePath(NamedTuple):
    """An absolute path, taken apart."""

    drive: str
    """``C:``, or empty where there are no drives."""
    steps: List[str]

    def __str__(self) -> str:
        """The path, with slashes."""
        return "%s/%s" % (self.drive, "/".join(self.steps))


# -- Paths and URIs ----------------------------------------------------------------------------


def root_uri(path: str) -> str:
    """Return the ``file://`` URI of an absolute path, POSIX or Windows.

    Raises ValueError for a path that is relative, holds ``..`` or a control character, or names a network share.
    """
    place = _place_of_path(path)
    if place is None or _unsafe(place):
        raise ValueError("%r has no safe file:// URI: give an absolute path without '..'" % (path,))
    try:
        steps = [quote(step, safe="~!$&'()*+,;=:@") for step in place.steps]
    except UnicodeEncodeError:
        raise ValueError("%r has no file:// URI: it is not text" % (path,)) from None
    return SCHEME + ("/" + place.drive if place.drive else "") + "/" + "/".join(steps)


def root_path(uri: str) -> str:
    """Return the path of a ``file://`` URI, with slashes: the reverse of `root_uri`. Raises `LocalProtocolError`."""
    place = _place_of_uri(uri)
    if _unsafe(place):
        _refuse(uri, "'..' and other steps that lead elsewhere are not allowed")
    return str(place)


def check_root_uri(uri: str) -> None:
    """Raise `LocalProtocolError` if this may not be the URI of a root; see the module."""
    root_path(uri)
    if not uri.startswith(SCHEME):
        _refuse(uri, "it must begin with file://")
    if _NOT_IN_A_URI.search(uri):
        _refuse(uri, "characters that are not allowed in a URI must be percent-encoded; root_uri(path) does that")


def _refuse(uri: object, reason: str) -> NoReturn:
    text = shown(uri, 200) if isinstance(uri, str) else type(uri).__name__
    raise LocalProtocolError("not a root URI: %s: %s" % (text, reason), CITATION)


# -- Below a root ------------------------------------------------------------------------------


def contains(root: str, target: str, links: Any = None) -> bool:
    """Return True if a path or ``file://`` URI is the place of this root URI, or lies below it.

    ``links`` is `os.path`, if symbolic links in both are to be followed on this machine; without it the text alone
    decides, in which ``..`` removes one step. Return False for a path that is relative or ambiguous, and for an illegal
    URI. Raises `LocalProtocolError` for an illegal root.
    """
    inner = _safe_place(target)
    outer = _place_of_path(root_path(root))
    if links is not None and inner is not None and outer is not None:
        inner, outer = _followed(inner, links), _followed(outer, links)
    if inner is None or outer is None:
        return False
    below, above = _comparable(inner), _comparable(outer)
    return below is not None and above is not None and below[:len(above)] == above


def _safe_place(target: str) -> Optional[AbsolutePath]:
    if target[:5].lower() != "file:":
        return _place_of_path(target)
    try:
        return _place_of_uri(target)
    except LocalProtocolError:
        return None


def _followed(place: AbsolutePath, links: Any) -> Optional[AbsolutePath]:
    """Return the path with its symbolic links followed; a path of another kind of machine stays as it is."""
    path = str(place)
    if not links.isabs(path):
        return place
    try:
        return _place_of_path(links.realpath(path))
    except (OSError, ValueError):
        return None


def _comparable(place: AbsolutePath) -> Optional[List[str]]:
    """Return the steps in a form in which equal places are equal; None if the place is ambiguous."""
    steps: List[str] = []
    for step in place.steps:
        if step == "..":
            del steps[-1:]
        elif step != ".":
            steps.append(step)
    if not place.drive:
        return [""] + steps
    if any(":" in step or step[-1] in ". " for step in steps):
        return None
    return [text.translate(_UPPER_TO_LOWER) for text in [place.drive] + steps]


# -- Taking apart ------------------------------------------------------------------------------


def _unsafe(place: AbsolutePath) -> bool:
    return "." in place.steps or ".." in place.steps or _comparable(place) is None


def _place_of_path(path: str) -> Optional[AbsolutePath]:
    """Return the steps of an absolute path; None for a relative path, and for one that systems read differently."""
    if _DRIVE_PATH.match(path):
        drive, rest = path[:2], path[2:].replace("\\", "/")
    elif path[:1] == "/" and path[:2] not in ("//", "/\\"):
        drive, rest = "", path
    else:
        return None
    steps = [step for step in rest.split("/") if step]
    if any(_UNSAFE.search(step) for step in steps) or (not drive and steps and _LIKE_A_DRIVE.match(steps[0])):
        return None
    return AbsolutePath(drive, steps)


def _place_of_uri(uri: str) -> AbsolutePath:
    """Return the steps of a ``file://`` URI, decoded once. Raises `LocalProtocolError`."""
    if not isinstance(uri, str) or uri[:len(SCHEME)].lower() != SCHEME:
        _refuse(uri, "it must begin with file://")
    host, slash, rest = uri[len(SCHEME):].partition("/")
    if host.lower() not in ("", "localhost") or not slash:
        _refuse(uri, "it must name no host and a path from the top, as in file:///disk/user")
    if "?" in rest or "#" in rest:
        _refuse(uri, "a query or fragment is not allowed; encode ? as %3F and # as %23")
    if BROKEN_PERCENT.search(rest):
        _refuse(uri, "a percent sign must be followed by two hexadecimal digits; encode it as %25")
    raw = rest.split("/")
    if raw[-1] == "":
        del raw[-1]
    steps = [_decoded(uri, step) for step in raw]
    if steps and _DRIVE.fullmatch(steps[0]):
        return AbsolutePath(steps[0], steps[1:])
    if steps and _LIKE_A_DRIVE.match(steps[0]):
        _refuse(uri, "it names half a drive; a whole one looks like file:///C:/x")
    return AbsolutePath("", steps)


def _decoded(uri: str, step: str) -> str:
    try:
        text = unquote_to_bytes(step).decode("utf-8")
    except UnicodeError:
        _refuse(uri, "the encoded bytes are not UTF-8")
    if not text:
        _refuse(uri, "an empty step (//) is not allowed")
    if _UNSAFE.search(text):
        _refuse(uri, "a step holds a slash, a backslash or a control character")
    return text
