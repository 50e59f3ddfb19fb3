"""The check of a link that a server wants a user to visit, made before the user is asked.

A link is an absolute http or https URL. Everything that could lead a browser elsewhere than a person thinks is
refused: other schemes, user information before the host (RFC 9110 §4.2.4 says to treat it as an error),
control and invisible characters, backslashes, a percent-encoded host. Other oddities, which a person can judge, are
warnings, for example letters that look like others
[2025-11-25.. client/elicitation §Safe URL Handling] SHOULD. Nothing is resolved or fetched.

>>> read_link("https://example.com/connect?id=7", 1000).host
'example.com'
>>> read_link("https://xn--pple-43d.com/", 1000).warnings[1].endswith("mixes CYRILLIC and LATIN")
True
"""

import re
from typing import FrozenSet, Iterator, List, NamedTuple, Tuple

from ..errors import LocalProtocolError
from ..urls import BadUrl, is_loopback, read_url
from .uris import fault

LONG = 2000
"""Characters above which a person does not read a link to its end."""

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_\-]*[a-z0-9_])?")
_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "LATIN"))
"""Scripts that names in these languages usually mix."""
_FAULTS = {
    "syntax": "the link is no URL: %(why)s", "port": "the link is no URL: %(why)s",
    "scheme": "a link begins with https: or http:, not with %(scheme).40s:",
    "user": "the link has user information before its host, which only serves to deceive or to leak",
    "host": "the link has no host",
}
"""The error texts for the faults of a `BadUrl`."""


class LinkError(LocalProtocolError, ValueError):
    """A URL that no user should be sent to; the text says why."""


class Link(NamedTuple):
    """The parts of a link. ``host`` is the one that a browser asks for, in ASCII and small letters, without
    brackets."""

    url: str
    scheme: str
    host: str
    port: int
    unicode_host: str
    """The host with its letters decoded, as a browser may show it."""
    punycode: bool
    """True if the host has letters outside ASCII, in Punycode or raw."""
    warnings: Tuple[str, ...]

    @property
    def loopback(self) -> bool:
        """Return True if the link may lead to this machine."""
        return is_loopback(self.host) or self.host.endswith(".localhost")


def read_link(url: str, max_length: int) -> Link:
    """Check a URL of at most ``max_length`` characters and return its parts. Raises `LinkError`."""
    if not isinstance(url, str):
        raise LinkError("a link is a text, not %s" % type(url).__name__)
    if not url.isprintable():
        raise LinkError("the link holds control or invisible characters")
    wrong = fault("".join(sign if sign < "\x80" else "a" for sign in url), max_length)
    if wrong is not None:
        raise LinkError("the link is no URL: %s" % wrong)
    try:
        parts = read_url(url)
    except BadUrl as bad:
        raise LinkError(_FAULTS[bad.fault] % {"why": bad, "scheme": url.partition(":")[0].lower()}) from None
    ascii_host, unicode_host = _both_forms(parts.host)
    punycode = unicode_host != ascii_host or "xn--" in ascii_host
    link = Link(url, parts.scheme, ascii_host, parts.port, unicode_host, punycode, ())
    return link._replace(warnings=tuple(_warnings(link)))


def _both_forms(host: str) -> Tuple[str, str]:
    """Return the host as a browser asks for it, and as it looks. Raises `LinkError` for a text that is no host."""
    if ":" in host:
        return host, host
    if len(host) > 253:
        raise LinkError("the host of the link is longer than the 253 characters a name can have")
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise LinkError("the host of the link is no name") from None
    labels = ascii_host.split(".")
    named = labels[:-1] if labels[-1] == "" else labels  # a dot at the end is the root of all names
    if not all(len(label) <= 63 and _LABEL.fullmatch(label) for label in named):
        raise LinkError("the host of the link is no name")
    return ascii_host, ".".join(map(_shown, labels))


def _shown(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        text = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        raise LinkError("the host of the link is no name: %s is not Punycode" % label) from None
    if not text.isprintable():
        raise LinkError("the host of the link holds control or invisible characters")
    return text


def _warnings(link: Link) -> Iterator[str]:
    if link.scheme == "http" and not link.loopback:
        yield "the connection is not encrypted (http)"
    if link.punycode:
        yield "the host is written in Punycode: %s shows as %s" % (link.host, ascii(link.unicode_host))
    for label in link.unicode_host.split("."):
        scripts = _scripts(label)
        if len(scripts) > 1 and not scripts <= _EAST_ASIAN:
            yield "%s mixes %s" % (ascii(label), " and ".join(sorted(scripts)))
    if not link.loopback and (":" in link.host or link.host.rstrip(".").rpartition(".")[2][:1].isdigit()):
        yield "the host is an address instead of a name"
    if len(link.url) > LONG:
        yield "the link is very long (%d characters)" % len(link.url)


def _scripts(label: str) -> FrozenSet[str]:
    """Return the scripts of the letters of a label, by the first word of their names."""
    if label.isascii():
        return frozenset()
    from unicodedata import name

    words: List[str] = [name(sign, "UNKNOWN").partition(" ")[0] for sign in label if sign.isalpha()]
    return frozenset(words)
