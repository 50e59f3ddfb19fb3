"""The formats of 2020-12, for schemas in which `format` is asserted [JSON Schema 2020-12 validation §7.3].

FORMATS maps a name to a test of a string. The regular expressions here are ours and, unlike a peer's `pattern`, safe:
no two ways to match the same text. Loaded only when `assert_formats` is on.

Host names are plain [RFC 1123 §2.1] or international [RFC 5890 §2.3.2.1].
The tables of IDNA 2008 are not in the standard library (`encodings.idna` is the 2003 version). They are derived from
Unicode properties [RFC 5892 §2], and so is the rule here, from `unicodedata`: a letter, mark or digit that
compatibility folding leaves alone, and the listed exceptions. Characters that depend on their neighbours have their
rules in CONTEXT. A name with letters that run from right to left keeps the bidi rule in each label [RFC 5893 §2]. Not
done: the joining-type half of the rule for ZERO WIDTH NON-JOINER.
"""

import ipaddress
import re
import unicodedata
from typing import Callable, Dict, List

Test = Callable[[str], bool]


def _matches(pattern: str) -> Test:
    """Return a test by a regular expression for the whole string; \\d means ASCII digits."""
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
    """Return True for a time with its offset; a leap second exists only at 23:59:60 UTC."""
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
    """Return True for an address without a zone, which belongs to one machine [RFC 4291 §2.2]."""
    if "%" in text or "/" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


# Host names

LONGEST_LABEL = 63
LONGEST_NAME = 253
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?").fullmatch
# The ideographic full stops that people type for a dot [RFC 3490 §3.1]
_DOTS = re.compile("[.\u3002\uff0e\uff61]")

_ALLOWED = frozenset("\u00df\u03c2\u06fd\u06fe\u0f0b\u3007")
_REFUSED = frozenset("\u0640\u07fa\u302e\u302f\u3031\u3032\u3033\u3034\u3035\u303b")
_KINDS = frozenset(("Ll", "Lo", "Lm", "Mn", "Mc", "Nd"))
_VIRAMA = 9  # its combining class


def is_hostname(text: str) -> bool:
    """Return True for ASCII labels; those that claim to be encoded (``xn--``) must decode to a valid label."""
    labels = text.split(".")
    return len(text) <= LONGEST_NAME and all(map(_is_ascii_label, labels)) and _keeps_bidi_rule(labels)


def is_idn_hostname(text: str) -> bool:
    """Return True for labels in any script, or their ASCII form."""
    if len(text) > LONGEST_NAME:
        return False
    labels = _DOTS.split(text)
    return all(_is_ascii_label(label) if label.isascii() else _is_unicode_label(label) for label in labels) \
        and _keeps_bidi_rule(labels)


def _is_ascii_label(label: str) -> bool:
    if len(label) > LONGEST_LABEL or _LABEL(label) is None:
        return False
    if label[2:4] != "--":
        return True
    return label[:2].lower() == "xn" and _is_encoded_label(label[4:].lower())


def _is_encoded_label(encoded: str) -> bool:
    """Return True if the text decodes to a valid label outside ASCII whose encoding is this text."""
    try:
        label = encoded.encode("ascii").decode("punycode")
        again = label.encode("punycode").decode("ascii")
    except UnicodeError:
        return False
    return not label.isascii() and again == encoded and _is_unicode_label(label)


def _is_unicode_label(label: str) -> bool:
    """[RFC 5891 §4.2.3]"""
    if label.startswith("-") or label.endswith("-") or label[2:4] == "--":
        return False
    if unicodedata.category(label[0]).startswith("M") or unicodedata.normalize("NFC", label) != label:
        return False
    if len(label.encode("punycode", "surrogatepass")) + len("xn--") > LONGEST_LABEL:
        return False
    return all(_is_allowed(label, index) for index in range(len(label)))


def _is_allowed(label: str, index: int) -> bool:
    letter = label[index]
    if letter in CONTEXT:
        return CONTEXT[letter](label, index)
    if letter.isascii():
        return letter == "-" or letter.isdigit() or letter.islower()
    if letter in _ALLOWED:
        return True
    if letter in _REFUSED or unicodedata.category(letter) not in _KINDS:
        return False
    return _folded(letter) == letter


def _folded(letter: str) -> str:
    """Return the letter folded; a letter that IDNA calls unstable changes [RFC 5892 §2.2]."""
    normal = unicodedata.normalize("NFKC", letter)
    return unicodedata.normalize("NFKC", normal.casefold())


# Directions [RFC 5893 §2]

_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))
_NEUTRAL = frozenset(("EN", "ES", "CS", "ET", "ON", "BN", "NSM"))


def _keeps_bidi_rule(labels: List[str]) -> bool:
    """Return True if each label of a name has its directions in order; names without right-to-left letters do."""
    decoded = [label[4:].encode("ascii").decode("punycode") if label[:4].lower() == "xn--" else label
               for label in labels]
    directions = [[unicodedata.bidirectional(letter) for letter in label] for label in decoded]
    return not any(_RIGHT_TO_LEFT & set(each) for each in directions) or all(map(_is_in_order, directions))


def _is_in_order(directions: List[str]) -> bool:
    """Check the six conditions, by the direction of each letter of a label."""
    letters, first = set(directions), directions[0]
    end = next((each for each in reversed(directions) if each != "NSM"), "")
    if first == "L":  # conditions 5 and 6
        return letters <= _NEUTRAL | {"L"} and end in ("L", "EN")
    if first not in ("R", "AL"):  # condition 1
        return False
    # conditions 2, 3 and 4
    return letters <= _NEUTRAL | _RIGHT_TO_LEFT and end in ("R", "AL", "EN", "AN") and not {"EN", "AN"} <= letters


# Neighbours [RFC 5892 §A]


def _script_of(letter: str, *scripts: str) -> bool:
    return unicodedata.name(letter, "").startswith(scripts)


def _between_l(label: str, index: int) -> bool:
    return label[index - 1:index] == "l" and label[index + 1:index + 2] == "l"


def _before_greek(label: str, index: int) -> bool:
    return index + 1 < len(label) and _script_of(label[index + 1], "GREEK")


def _after_hebrew(label: str, index: int) -> bool:
    return index > 0 and _script_of(label[index - 1], "HEBREW")


def _with_japanese(label: str, index: int) -> bool:
    others = (letter for letter in label if letter != "\u30fb")
    return any(_script_of(letter, "HIRAGANA", "KATAKANA", "CJK UNIFIED") for letter in others)


def _after_virama(label: str, index: int) -> bool:
    return index > 0 and unicodedata.combining(label[index - 1]) == _VIRAMA


def _no_extended_digits(label: str, index: int) -> bool:
    return not any("\u06f0" <= letter <= "\u06f9" for letter in label)


def _no_arabic_digits(label: str, index: int) -> bool:
    return not any("\u0660" <= letter <= "\u0669" for letter in label)


CONTEXT: Dict[str, Callable[[str, int], bool]] = {
    "\u00b7": _between_l,
    "\u0375": _before_greek,
    "\u05f3": _after_hebrew,
    "\u05f4": _after_hebrew,
    "\u30fb": _with_japanese,
    "\u200c": _after_virama,
    "\u200d": _after_virama,
    **{chr(code): _no_extended_digits for code in range(0x660, 0x66A)},
    **{chr(code): _no_arabic_digits for code in range(0x6F0, 0x6FA)},
}


# Mail addresses

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
    return _is_mailbox(text, _is_local, is_hostname)


def is_idn_email(text: str) -> bool:
    """Return True for a mailbox whose domain may be in any normal form; its lookup makes it NFC [RFC 6531 §3.2]."""
    return _is_mailbox(text, _is_idn_local, lambda name: is_idn_hostname(unicodedata.normalize("NFC", name)))


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
    """The tests of the parts of a URI, or with more letters those of an IRI."""

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
        """Return True for a reference with a scheme: the format `uri`."""
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
    """Return True for a pattern that `pattern` would accept [JSON Schema 2020-12 validation §7.3.8]."""
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
    "hostname": is_hostname,
    "idn-hostname": is_idn_hostname,
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
