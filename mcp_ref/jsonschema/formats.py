"""The formats of 2020-12, for those who ask for assertion [JSON Schema 2020-12 validation §7.3].

FORMATS maps a name to a test of a string. The regular expressions here are ours and, unlike a peer's `pattern`, safe:
no two ways to match the same text. Loaded only when `assert_formats` is on.
"""

import ipaddress
import re
import unicodedata
from typing import Callable, Dict

from . import hostnames

Test = Callable[[str], bool]


def _matches(pattern: str) -> Test:
    """A test by a regular expression for the whole string; \\d means ASCII digits."""
    full = re.compile(pattern, re.ASCII).fullmatch
    return lambda text: full(text) is not None


# Dates and times [RFC 3339 §5.6]

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (month == 2 and leap)


def is_time(text: str) -> bool:
    """A leap second exists only at 23:59:60 UTC."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hour, minute, second = (int(match.group(index)) for index in (1, 2, 3))
    offset_hour, offset_minute = int(match.group(5) or 0), int(match.group(6) or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return False
    offset = (offset_hour * 60 + offset_minute) * (-1 if match.group(4) == "-" else 1)
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


def is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and is_date(text[:10]) and is_time(text[11:])


# A year may be followed by months but not directly by days, and so on [RFC 3339 §A].
_DATE_PART = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
_TIME_PART = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
is_duration = _matches(r"P(?:%s(?:%s)?|%s|\d+W)" % (_DATE_PART, _TIME_PART, _TIME_PART))


# Addresses

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
is_ipv4 = _matches(r"%s(?:\.%s){3}" % (_OCTET, _OCTET))


def is_ipv6(text: str) -> bool:
    """Without a zone, which belongs to one machine [RFC 4291 §2.2]."""
    if "%" in text or "/" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


_ATEXT = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_is_local = _matches(r'[%s]+(?:\.[%s]+)*|"(?:[ !#-\[\]-~]|\\[ -~])*"' % (_ATEXT, _ATEXT))
_UTF8 = r"\u0080-\U0010ffff"
_is_idn_local = _matches(
    r'[%s%s]+(?:\.[%s%s]+)*|"(?:[ !#-\[\]-~%s]|\\[ -~])*"' % (_ATEXT, _UTF8, _ATEXT, _UTF8, _UTF8)
)


def _is_mailbox(text: str, is_local: Test, is_host: Test) -> bool:
    """[RFC 5321 §4.1.2]"""
    local, at, domain = text.rpartition("@")
    if not at or not is_local(local):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        literal = domain[1:-1]
        return is_ipv6(literal[5:]) if literal[:5].lower() == "ipv6:" else is_ipv4(literal)
    return is_host(domain)


def is_email(text: str) -> bool:
    return _is_mailbox(text, _is_local, hostnames.is_hostname)


def is_idn_email(text: str) -> bool:
    """The domain may be typed in any normal form; whoever looks it up makes it NFC [RFC 6531 §3.2]."""
    return _is_mailbox(text, _is_idn_local, lambda name: hostnames.is_idn_hostname(unicodedata.normalize("NFC", name)))


# Resource identifiers [RFC 3986 §3] [RFC 3987 §2.2]

# scheme, authority, path, query, fragment [RFC 3986 §B]
_PARTS = re.compile(r"(?:([^:/?#]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_is_scheme = _matches(r"[A-Za-z][A-Za-z0-9+.\-]*")
_is_future_address = _matches(r"[Vv][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+")
_UNRESERVED = r"A-Za-z0-9\-._~"
_SUB_DELIMITERS = r"!$&'()*+,;="
_IRI = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(r"\U%08x-\U%08x" % (plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14))
    + r"\U000e1000-\U000efffd"
)
_IRI_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


def _characters(allowed: str) -> Test:
    return _matches("(?:[%s]|%%[0-9A-Fa-f]{2})*" % allowed)


class _Identifier:
    """The tests of the parts: those of a URI, or with more letters those of an IRI."""

    def __init__(self, letters: str = "", private: str = "") -> None:
        plain = _UNRESERVED + _SUB_DELIMITERS + letters
        self.is_user = _characters(plain + ":")
        self.is_host = _characters(plain)
        self.is_path = _characters(plain + ":@/")
        self.is_query = _characters(plain + private + ":@/?")
        self.is_fragment = _characters(plain + ":@/?")

    def is_reference(self, text: str) -> bool:
        match = _PARTS.fullmatch(text)
        if match is None:
            return False
        scheme, authority, path, query, fragment = match.groups()
        return (
            (scheme is None or _is_scheme(scheme))
            and (authority is None or self._is_authority(authority))
            and self.is_path(path)
            and (query is None or self.is_query(query))
            and (fragment is None or self.is_fragment(fragment))
        )

    def is_absolute(self, text: str) -> bool:
        """With a scheme; the format `uri`."""
        match = _PARTS.fullmatch(text)
        return match is not None and match.group(1) is not None and self.is_reference(text)

    def _is_authority(self, authority: str) -> bool:
        user, at, host = authority.rpartition("@")
        if at and not self.is_user(user):
            return False
        if host.startswith("["):
            address, bracket, port = host[1:].partition("]")
            known = is_ipv6(address) or _is_future_address(address)
            return bool(bracket) and known and _is_port(port)
        name, colon, port = host.partition(":")
        return self.is_host(name) and _is_port(colon + port)


_is_port = _matches(r"(?::\d*)?")
_URI = _Identifier()
_INTERNATIONAL = _Identifier(_IRI, _IRI_PRIVATE)


# Others

_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9]\d{0,3}|\*)?"
# Literals exclude control characters, space and " < > \ ^ ` { | } [RFC 6570 §2.1], not the apostrophe (erratum)
_LITERAL = r"""(?:[^\x00-\x20"%<>\\^`{|}\x7f-\x9f]|%[0-9A-Fa-f]{2})"""
is_uri_template = _matches(r"(?:%s|\{[+#./;?&=,!@|]?%s(?:,%s)*\})*" % (_LITERAL, _VARIABLE, _VARIABLE))
_POINTER = r"(?:/(?:[^~/]|~[01])*)*"


def is_regex(text: str) -> bool:
    """What `pattern` would accept [JSON Schema 2020-12 validation §7.3.8]."""
    from .regex.patterns import PatternRefused, compile as compile_pattern

    try:
        compile_pattern(text)
    except PatternRefused:
        return False
    return True


FORMATS: Dict[str, Test] = {
    "date-time": is_date_time,
    "date": is_date,
    "time": is_time,
    "duration": is_duration,
    "email": is_email,
    "idn-email": is_idn_email,
    "hostname": hostnames.is_hostname,
    "idn-hostname": hostnames.is_idn_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "uri": _URI.is_absolute,
    "uri-reference": _URI.is_reference,
    "iri": _INTERNATIONAL.is_absolute,
    "iri-reference": _INTERNATIONAL.is_reference,
    "uuid": _matches(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "uri-template": is_uri_template,
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(r"(?:0|[1-9]\d*)(?:#|%s)" % _POINTER),
    "regex": is_regex,
}
