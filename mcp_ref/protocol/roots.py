"""Roots: ``file://`` URIs and the places below them, as text [.. client/roots §Root].

No function here reads a file system, so paths of either kind can be judged on either system:

=============================  ===========================
path                           URI
=============================  ===========================
``/disk/user/my project``      ``file:///disk/user/my%20project``
``C:\\x`` or ``C:/x``            ``file:///C:/x``
=============================  ===========================

Clients validate all root URIs to prevent path traversal [.. client/roots §Security Considerations] MUST. A URI that
two programs could understand in two ways is refused, rather than guessed at:

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
from typing import Any, List, NamedTuple, NoReturn, Optional
from urllib.parse import quote, unquote_to_bytes

from ..errors import LocalProtocolError
from ..jsonrpc import shown
from .uris import BROKEN_PERCENT

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
