"""The parts of URLs, for all modules that speak over a network; and the token of header fields.

>>> read_url("https://Example.com/mcp?a=b").origin
'https://example.com'
>>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("127.example.com")
(True, True, True, False)
"""

import re
from typing import NamedTuple

PORTS = {"http": 80, "https": 443}
"""The port that each scheme has without saying so."""
TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""A token as a regular expression: the name of a header field, a method, a parameter [RFC 9110 §5.6.2]."""
is_token = re.compile(TOKEN).fullmatch
"""A function that finds out whether a text is a token: a match, or None."""

_FOUR = re.compile(r"127(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}\Z")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z")
_HERE = re.compile(r"(?:.*\.)?localhost(?:\.localdomain)?\Z")


def is_loopback(host: str) -> bool:
    """Return True if ``host`` (lower case, an IPv6 address without brackets) is this machine and nothing else.

    That is ``localhost``, ``::1``, and the addresses of 127.0.0.0/8 in four decimal numbers. Other spellings, which
    some resolvers know, are False: nothing is allowed for them that is allowed for this machine only. They are True
    for `perhaps_here`.
    """
    return host in ("localhost", "::1") or _FOUR.match(host) is not None


def perhaps_here(host: str) -> bool:
    """Return True if a host in small letters, without brackets, may be this machine; resolvers know many spellings.

    >>> perhaps_here("2130706433"), perhaps_here("localhost."), perhaps_here("example.com")
    (True, True, False)
    """
    import socket

    host = host[:-1] if host.endswith(".") else host
    try:
        if ":" in host:
            return _stays(socket.inet_pton(socket.AF_INET6, host))
        if _NUMBER.match(host.rpartition(".")[2]):
            return _stays(socket.inet_aton(host))
    except OSError:
        return True  # an address of a form that is unknown here
    return _HERE.match(host) is not None


def _stays(address: bytes) -> bool:
    """Return True if packets to this address stay on this machine: 127.0.0.0/8, 0.0.0.0/8, both within IPv6,
    ``::1``."""
    return address[:-4] in (b"", bytes(12), bytes(10) + b"\xff\xff") and address[-4] in (0, 127)


def scheme_of(target: object) -> str:
    """Return the scheme of a server's address, in lower case; "" for a command, and for what is no text."""
    if isinstance(target, str) and "://" in target.split(" ")[0]:
        return target.partition("://")[0].lower()
    return ""


class Url(NamedTuple):
    """An http or https URL in its parts. `read_url` makes one; the fragment is left out.

    ``scheme`` and ``host`` are in lower case, ``host`` is without brackets, ``port`` is that of the scheme where the
    text names none, and ``path`` and ``query`` are as they stood there.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def authority(self) -> str:
        """The host and, unless it is that of the scheme, the port, as in the field Host."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else "%s:%d" % (host, self.port)

    @property
    def origin(self) -> str:
        """The scheme, host and port, such as ``https://example.com``."""
        return "%s://%s" % (self.scheme, self.authority)

    @property
    def target(self) -> str:
        """The path and the query, as in a request line; ``/`` for no path."""
        return (self.path or "/") + ("?" + self.query if self.query else "")

    @property
    def url(self) -> str:
        """The URL as a text."""
        return self.origin + self.target

    @property
    def loopback(self) -> bool:
        """True if the host is this machine; see `is_loopback`."""
        return is_loopback(self.host)

    def __repr__(self) -> str:
        return "Url(%s%s)" % (self.origin, self.path)  # a query may hold secrets


class BadUrl(ValueError):
    """A text that is no URL to ask. ``fault`` is the part that is wrong: syntax, user, scheme, port or host."""

    def __init__(self, fault: str, text: str) -> None:
        super().__init__(text)
        self.fault = fault


def read_url(text: str) -> Url:
    """Read an http or https URL. Raises `BadUrl`, whose text repeats nothing that may be secret.

    Callers are stricter where it matters: characters and hosts are not checked here.
    """
    from urllib.parse import urlsplit  # late: the protocol's modules need only what is above

    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadUrl("syntax", str(error)) from None
    # First of all: an error about anything else may quote the URL.
    if "@" in parts.netloc:
        raise BadUrl("user", "a user or password before the host")
    if parts.scheme not in PORTS:
        raise BadUrl("scheme", "neither http nor https")
    if port == 0:
        raise BadUrl("port", "port 0")
    if not host:
        raise BadUrl("host", "no host")
    return Url(parts.scheme, host, PORTS[parts.scheme] if port is None else port, parts.path, parts.query)
