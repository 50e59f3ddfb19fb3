"""The values of HTTP header fields that the transport pages have rules for: media types, hosts, origins, session ids.

The functions take the text of a field. They never raise for a text that a peer sends.

>>> accepts("application/json;q=0.5, text/*", "text/event-stream")
True
>>> Hosts(["localhost"]).allow("localhost:8000"), Hosts(["localhost"]).allow("evil.example")
(True, False)
"""

import re
from typing import Iterable, List, NamedTuple, Optional, Tuple

from ...urls import is_token

LOOPBACK: Tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine, as they stand in a URL."""

_USUAL_PORTS = {"http": "80", "https": "443"}
_QUALITY = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,1024}\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_NAME = re.compile(r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._\-]{1,255})\Z")


# -- Media types -------------------------------------------------------------------------------


def media_type(value: Optional[str]) -> str:
    """Return the media type of a Content-Type, in lower case, without parameters; "" if it is none [RFC 9110 §8.3]."""
    kind, slash, subtype = (value or "").partition(";")[0].strip().lower().partition("/")
    return "%s/%s" % (kind, subtype) if slash and is_token(kind) and is_token(subtype) else ""


def accepts(value: Optional[str], wanted: str) -> bool:
    """Return True if an Accept field takes a media type; the most exact range decides [RFC 9110 §12.5.1].

    A missing field (None) takes everything. A range with ``q=0`` takes nothing; a malformed one is ignored.
    """
    if value is None:
        return True
    kind = wanted.partition("/")[0]
    best, taken = -1, False
    for media, quality in _ranges(value):
        exactness = {wanted: 2, kind + "/*": 1, "*/*": 0}.get(media, -1)
        if exactness > best:
            best, taken = exactness, quality > 0
        elif exactness == best and exactness >= 0:
            taken = taken or quality > 0
    return taken


def _ranges(value: str) -> Iterable[Tuple[str, float]]:
    for part in value.split(","):
        media, *parameters = [piece.strip() for piece in part.split(";")]
        quality: Optional[float] = 1.0
        for parameter in parameters:
            name, _, number = parameter.partition("=")
            if name.strip().lower() == "q":
                quality = float(number) if _QUALITY.match(number.strip()) else None
        if quality is not None:
            yield media.lower(), quality


# -- Where a request was sent, and from where --------------------------------------------------


class Authority(NamedTuple):
    """Host and port of a URL, in lower case; an IPv6 address keeps its brackets. ``port`` "" is the scheme's own."""

    host: str
    port: str


def authority(value: str) -> Optional[Authority]:
    """Parse ``host:port``, the value of a Host field [RFC 9110 §7.2]. Returns None for any other text."""
    host, colon, port = value.strip(" \t").rpartition(":")
    if not colon or port.endswith("]"):
        host, colon, port = value.strip(" \t"), "", ""
    if not _NAME.match(host) or (colon and not _PORT.match(port)):
        return None
    return Authority(host.lower().rstrip("."), port)


def origin(value: str) -> Optional[Tuple[str, Authority]]:
    """Parse an Origin field into scheme and authority. Returns None for ``null`` and any other text [RFC 6454 §7]."""
    scheme, separator, rest = value.strip(" \t").partition("://")
    found = authority(rest) if separator and is_token(scheme) else None
    if found is None:
        return None
    scheme = scheme.lower()
    return scheme, found._replace(port="") if found.port == _USUAL_PORTS.get(scheme) else found


class Hosts:
    """The hosts that are allowed: ``example.com`` with any port, ``example.com:8000``, ``*`` for all.

    A name with a scheme, ``https://example.com``, is an origin as browsers send it, with the scheme's own port if it
    names none. Raises ValueError for a malformed name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        self._any = "*" in self.names
        self._rows: List[Tuple[str, Authority]] = [_row(name) for name in self.names if name != "*"]

    def allow(self, value: str) -> bool:
        """Return True if a Host field is allowed."""
        found = authority(value)
        return self._any or (found is not None and self._listed("", found))

    def allow_origin(self, value: str) -> bool:
        """Return True if an Origin field is allowed."""
        found = origin(value)
        return self._any or (found is not None and self._listed(*found))

    def _listed(self, scheme: str, found: Authority) -> bool:
        return any(
            (scheme, found) == (wanted, row) if wanted else row.host == found.host and row.port in ("", found.port)
            for wanted, row in self._rows
        )


def _row(name: str) -> Tuple[str, Authority]:
    """Parse an allowed name into scheme, "" for none, and authority."""
    found = origin(name) if "://" in name else None
    bare = authority(name) if "://" not in name else None
    if found is None and bare is None:
        raise ValueError("%r is no host: write example.com, example.com:8000, https://example.com or *" % name)
    return found or ("", bare)  # type: ignore[return-value]


# -- Other values ------------------------------------------------------------------------------


def is_session_id(value: str) -> bool:
    """Return True for visible ASCII of at most 1,024 characters.

    [2025-03-26..2025-11-25 basic/transports §Session Management] MUST. Reading: no id is longer
    than 1,024 characters; the page has no bound.
    """
    return _SESSION_ID.match(value) is not None


def bearer(value: Optional[str]) -> Optional[str]:
    """Return the token of an Authorization field of the scheme Bearer [RFC 6750 §2.1]; None if there is none."""
    scheme, _, token = (value or "").strip().partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token and " " not in token else None
