"""Host names, plain [RFC 1123 §2.1] and international [RFC 5890 §2.3.2.1].

The tables of IDNA 2008 are not in the standard library (`encodings.idna` is the 2003 version). They are derived from
Unicode properties [RFC 5892 §2], and so is the rule here, from `unicodedata`: a letter, mark or digit that
compatibility folding leaves alone, and the listed exceptions. Characters that depend on their neighbours have their
rules in CONTEXT. A name with letters that run from right to left keeps the bidi rule in each label [RFC 5893 §2]. Not
done: the joining-type half of the rule for ZERO WIDTH NON-JOINER.
"""

import re
import unicodedata
from typing import Callable, Dict, List

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
    """ASCII labels; those that claim to be encoded (``xn--``) must decode to a valid label."""
    labels = text.split(".")
    return len(text) <= LONGEST_NAME and all(map(_is_ascii_label, labels)) and _keeps_bidi_rule(labels)


def is_idn_hostname(text: str) -> bool:
    """Labels in any script, or their ASCII form."""
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
    """Decodes, to something that is no ASCII, is a valid label, and is encoded exactly so."""
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
    """What IDNA calls unstable changes here [RFC 5892 §2.2]."""
    normal = unicodedata.normalize("NFKC", letter)
    return unicodedata.normalize("NFKC", normal.casefold())


# Directions [RFC 5893 §2]

_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))
_NEUTRAL = frozenset(("EN", "ES", "CS", "ET", "ON", "BN", "NSM"))


def _keeps_bidi_rule(labels: List[str]) -> bool:
    """Whether each label of a name with right-to-left letters has its directions in order; other names do."""
    decoded = [label[4:].encode("ascii").decode("punycode") if label[:4].lower() == "xn--" else label
               for label in labels]
    directions = [[unicodedata.bidirectional(letter) for letter in label] for label in decoded]
    return not any(_RIGHT_TO_LEFT & set(each) for each in directions) or all(map(_is_in_order, directions))


def _is_in_order(directions: List[str]) -> bool:
    """The six conditions, by the direction of each letter of a label."""
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
