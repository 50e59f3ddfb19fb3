"""The values of HTTP header fields that the transport pages have rules for: media types, hosts, origins, session ids.

The functions take the text of a field. They never raise for a text that a peer sends.

>>> accepts("application/json;q=0.5, text/*", "text/event-stream")
True
>>> Hosts(["localhost"]).allow("localhost:8000"), Hosts(["localhost"]).allow("evil.example")
(True, False)
"""

import re
from typing import Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ...urls import is_token

LOOPBACK: Tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
"""The names of this machine, as they stand in a URL."""
Names = Union[Sequence[str], Callable[[], Iterable[str]]]
"""Names of hosts, or a function that returns those of now, for names that change while a server runs."""

_USUAL_PORTS = {"http": "80", "https": "443"}
_QUALITY = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")
_SESSION_ID = re.compile(r"[\x21-\x7e]+\Z")
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


_Row = Tuple[str, Authority]


class Hosts:
    """The hosts that are allowed: ``example.com`` with any port, ``example.com:8000``, ``*`` for all.

    A name with a scheme, ``https://example.com``, is an origin as browsers send it, with the scheme's own port if it
    names none. Raises ValueError for a malformed name, and TypeError for a text in place of a list.

    ``names`` may be a function without parameters, which is called for each request that has the field: what it returns
    is allowed from then on, and nothing else. It has to be quick. What it raises is logged, and allows nothing; a
    malformed name among others is logged, and left out.
    """

    def __init__(self, names: Names) -> None:
        self._now: Optional[Callable[[], Iterable[str]]] = names if callable(names) else None
        self._read: Tuple[Tuple[str, ...], List[_Row]] = ((), [])
        """The names as they were read last, and their rows: one tuple, which threads replace."""
        if not callable(names):
            given = _listing(names)
            self._read = given, [_row(name) for name in given if name != "*"]

    @property
    def changing(self) -> bool:
        """True if a function says for each request which names are allowed."""
        return self._now is not None

    @property
    def names(self) -> List[str]:
        """The names that are allowed now."""
        return list(self._rows()[0])

    def allow(self, value: str) -> bool:
        """Return True if a Host field is allowed."""
        return self._allows("", authority(value))

    def allow_origin(self, value: str) -> bool:
        """Return True if an Origin field is allowed."""
        return self._allows(*(origin(value) or ("", None)))

    def _allows(self, scheme: str, found: Optional[Authority]) -> bool:
        names, rows = self._rows()
        return "*" in names or found is not None and any(
            (scheme, found) == (wanted, row) if wanted else row.host == found.host and row.port in ("", found.port)
            for wanted, row in rows
        )

    def _rows(self) -> Tuple[Tuple[str, ...], List[_Row]]:
        """Return the names that are allowed now, and what they stand for."""
        if self._now is None:
            return self._read
        try:
            names = _listing(self._now())
        except Exception as error:
            _log("the function of allowed names", error)
            return (), []
        if names != self._read[0]:
            rows = []
            for name in names:
                try:
                    rows += [] if name == "*" else [_row(name)]
                except ValueError as error:
                    _log("a name that is allowed from now on", error)
            self._read = names, rows
        return self._read


def _listing(names: Iterable[str]) -> Tuple[str, ...]:
    """Return the names as a tuple. Raises TypeError for a single text, whose letters would be names."""
    if isinstance(names, str):
        raise TypeError("allowed names are a list such as [%r], got the text %r" % (names, names))
    return tuple(names)


def _log(who: str, error: Exception) -> None:
    from ...diagnostics.usercode import log_raised

    log_raised(who, error)


def _row(name: str) -> _Row:
    """Parse an allowed name into scheme, "" for none, and authority."""
    if not isinstance(name, str):
        raise ValueError("%r is no host: a name is a text such as example.com" % (name,))
    found = origin(name) if "://" in name else None
    bare = authority(name) if "://" not in name else None
    if found is None and bare is None:
        raise ValueError("%r is no host: write example.com, example.com:8000, https://example.com or *" % name)
    return found or ("", bare)  # type: ignore[return-value]


# -- Other values ------------------------------------------------------------------------------


def is_session_id(value: str) -> bool:
    """Return True for visible ASCII [2025-03-26..2025-11-25 basic/transports §Session Management] MUST. Some ids carry
    state and are long; ``max_header_bytes`` bounds them as it does all headers."""
    return _SESSION_ID.match(value) is not None


def bearer(value: Optional[str]) -> Optional[str]:
    """Return the token of an Authorization field of the scheme Bearer [RFC 6750 §2.1]; None if there is none."""
    scheme, _, token = (value or "").strip().partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and token and " " not in token else None
