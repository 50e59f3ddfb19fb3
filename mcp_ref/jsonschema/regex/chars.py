"""Sets of characters: what one position of a pattern accepts.

`\\d`, `\\w` and `\\s` are the sets of ECMA-262, not those of Python: digits and word characters are ASCII, white
space is ECMA's list. `\\p{...}` knows the general categories (from `unicodedata`, so their content follows the
Unicode version of the interpreter), a few binary properties and the scripts of `ranges`; any other property
is refused by its name.
"""

from bisect import bisect_right
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from .limits import PatternRefused

__all__ = ["ANY_BUT_LINE_END", "CLASS_ESCAPES", "CharSet", "WORD", "char_set", "one", "others", "property_set"]

Range = Tuple[int, int]
Predicate = Callable[[str], bool]

LAST_CODE_POINT = 0x10FFFF


class CharSet(NamedTuple):
    """Sorted, disjoint ranges of code points, and predicates for what ranges cannot say; equal sets compare equal."""

    ranges: Tuple[Range, ...]
    predicates: Tuple[Tuple[Predicate, bool], ...] = ()
    negated: bool = False

    def has(self, char: str) -> bool:
        """Return True if the set holds this one character."""
        code = ord(char)
        below = bisect_right(self.ranges, (code, LAST_CODE_POINT))
        found = below > 0 and code <= self.ranges[below - 1][1]
        if not found and self.predicates:
            found = any(holds(char) == wanted for holds, wanted in self.predicates)
        return found != self.negated

    def single(self) -> str:
        """Return the only character of the set, or "" if it may hold another number of them."""
        if self.negated or self.predicates or len(self.ranges) != 1 or self.ranges[0][0] != self.ranges[0][1]:
            return ""
        return chr(self.ranges[0][0])


def char_set(parts: List[CharSet], negated: bool = False) -> CharSet:
    """Return the union of sets that are not negated themselves, or with ``negated`` everything else."""
    ranges: List[Range] = []
    predicates: List[Tuple[Predicate, bool]] = []
    for part in parts:
        ranges.extend(part.ranges)
        predicates.extend(part.predicates)
    return CharSet(_merged(ranges), tuple(dict.fromkeys(predicates)), negated)


def _merged(ranges: List[Range]) -> Tuple[Range, ...]:
    """Return these code points in ascending ranges that neither touch nor overlap."""
    merged: List[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def one(code: int) -> CharSet:
    """Return the set of one code point."""
    return CharSet(((code, code),))


def others(chars: CharSet) -> CharSet:
    """Return all characters that a set leaves out, as a set that is not negated, so that it can join a union."""
    if chars.predicates:
        (holds, wanted), = chars.predicates
        return CharSet((), ((holds, not wanted),))
    edges = [-1] + [edge for low, high in chars.ranges for edge in (low - 1, high)] + [LAST_CODE_POINT]
    return CharSet(tuple((low + 1, high) for low, high in zip(edges[::2], edges[1::2]) if low < high))


_DIGITS = CharSet(((0x30, 0x39),))
WORD = CharSet(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
_LINE_ENDS = CharSet(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
_SPACE = CharSet(((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
                  (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)))
ANY_BUT_LINE_END = others(_LINE_ENDS)
CLASS_ESCAPES = {"d": _DIGITS, "D": others(_DIGITS), "w": WORD, "W": others(WORD), "s": _SPACE, "S": others(_SPACE)}

# Short name of a general category -> its other names. A short name of one letter covers all that begin with it.
_CATEGORIES: Dict[str, Tuple[str, ...]] = {
    "L": ("Letter",), "LC": ("Cased_Letter",), "Lu": ("Uppercase_Letter",), "Ll": ("Lowercase_Letter",),
    "Lt": ("Titlecase_Letter",), "Lm": ("Modifier_Letter",), "Lo": ("Other_Letter",),
    "M": ("Mark", "Combining_Mark"), "Mn": ("Nonspacing_Mark",), "Mc": ("Spacing_Mark",), "Me": ("Enclosing_Mark",),
    "N": ("Number",), "Nd": ("Decimal_Number", "digit"), "Nl": ("Letter_Number",), "No": ("Other_Number",),
    "P": ("Punctuation", "punct"), "Pc": ("Connector_Punctuation",), "Pd": ("Dash_Punctuation",),
    "Ps": ("Open_Punctuation",), "Pe": ("Close_Punctuation",), "Pi": ("Initial_Punctuation",),
    "Pf": ("Final_Punctuation",), "Po": ("Other_Punctuation",),
    "S": ("Symbol",), "Sm": ("Math_Symbol",), "Sc": ("Currency_Symbol",), "Sk": ("Modifier_Symbol",),
    "So": ("Other_Symbol",),
    "Z": ("Separator",), "Zs": ("Space_Separator",), "Zl": ("Line_Separator",), "Zp": ("Paragraph_Separator",),
    "C": ("Other",), "Cc": ("Control", "cntrl"), "Cf": ("Format",), "Cs": ("Surrogate",), "Co": ("Private_Use",),
    "Cn": ("Unassigned",),
}
_BINARY = {
    "Any": CharSet(((0, LAST_CODE_POINT),)), "ASCII": CharSet(((0, 0x7F),)),
    "ASCII_Hex_Digit": CharSet(((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))),
    "Lowercase": CharSet((), ((str.islower, True),)), "Uppercase": CharSet((), ((str.isupper, True),)),
    "White_Space": CharSet(((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
                            (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000))),
}
_BINARY_ALIASES = {"AHex": "ASCII_Hex_Digit", "Lower": "Lowercase", "Upper": "Uppercase", "space": "White_Space"}
_CATEGORY_KEYS = ("General_Category", "gc")
_SCRIPT_KEYS = ("Script", "sc")
_known: Dict[str, CharSet] = {}


def property_set(expression: str) -> CharSet:
    """The set that `\\p{expression}` names: `Lu`, `Letter`, `gc=Nd`, `Script=Greek`, `ASCII`, ...

    The same expression gives the same object, so that a machine tests it once. Raises PatternRefused for a property or
    value that is unknown here.
    """
    if expression not in _known:
        found = _find_property(expression)
        if found is None:
            raise PatternRefused("the Unicode property {!r} is not supported (general categories, a few binary "
                                 "properties and the large scripts are)".format(expression[:60]))
        _known[expression] = found
    return _known[expression]


def _find_property(expression: str) -> Optional[CharSet]:
    if expression == "Assigned":
        return others(property_set("Unassigned"))
    key, equals, value = expression.partition("=")
    if not equals:
        return _category(key) or _BINARY.get(_BINARY_ALIASES.get(key, key)) or _listed(key)
    if key in _CATEGORY_KEYS:
        return _category(value)
    return _listed("Script=" + value) if key in _SCRIPT_KEYS else None


def _category(name: str) -> Optional[CharSet]:
    """The characters of one general category or of one family of them."""
    short = next((short for short, longer in _CATEGORIES.items() if name == short or name in longer), None)
    if short is None:
        return None
    from unicodedata import category
    family = ("Lu", "Ll", "Lt") if short == "LC" else tuple(each for each in _CATEGORIES if each.startswith(short))

    def belongs(char: str) -> bool:
        return category(char) in family
    return CharSet((), ((belongs, True),))


def _listed(name: str) -> Optional[CharSet]:
    """A set that is kept as ranges, in a module which only the patterns that name one load."""
    from .ranges import find
    ranges = find(name)
    return CharSet(ranges) if ranges else None
