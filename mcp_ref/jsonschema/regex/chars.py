"""Sets of characters: what one position of a pattern accepts. Before them, the limits on what a pattern may cost.

`\\d`, `\\w` and `\\s` are the sets of ECMA-262, not those of Python: digits and word characters are ASCII, white
space is ECMA's list. `\\p{...}` knows the general categories (from `unicodedata`, so their content follows the
Unicode version of the interpreter), a few binary properties, and the scripts and emoji properties that are listed
here as ranges; any other property is refused by its name.
"""

from bisect import bisect_right
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

__all__ = ["ANY_BUT_LINE_END", "CLASS_ESCAPES", "CharSet", "DEFAULT_LIMITS", "MAX_CACHED_TRANSITIONS",
           "MAX_LOOKAROUNDS", "MAX_NESTING", "MAX_PATTERN_LENGTH", "MAX_PROGRAM_SIZE", "MAX_SEARCH_WORK",
           "PatternLimits", "PatternRefused", "WORD", "char_set", "one", "others", "property_set"]

# Limits
#
# A pattern usually comes from a peer: a server receives a schema for elicitation, a client the input schema of a tool.
# So every cost has a name, a default and a reason here, and a pattern above one of them is refused with that name.

MAX_PATTERN_LENGTH = 10_000
"""Characters of a pattern. Lists of words reach a few thousand."""

MAX_NESTING = 100
"""Groups inside groups. Each level is walked another time while the automaton is built."""

MAX_PROGRAM_SIZE = 10_000
"""Positions plus irregular edges of the automaton, and also the positions that counted repetitions such as `{3,2000}`
copy."""

MAX_LOOKAROUNDS = 8
"""Look-arounds in one pattern: each costs a pass over the text and one bit of the byte kept per gap between
characters."""

MAX_SEARCH_WORK = 20_000_000
"""Units of work of one pass over one text, about 0.05 microseconds each, for what the cache of transitions cannot
answer. A pattern of ordinary size needs some 50 units for such a character: no text below 400,000 characters reaches
the limit."""

MAX_CACHED_TRANSITIONS = 10_000
"""Transitions a pattern remembers (about 1 MB); over it the cache starts afresh, which refuses nothing."""


class PatternLimits(NamedTuple):
    """One value for each limit above; `PatternLimits()` holds the defaults."""

    pattern_length: int = MAX_PATTERN_LENGTH
    nesting: int = MAX_NESTING
    program_size: int = MAX_PROGRAM_SIZE
    lookarounds: int = MAX_LOOKAROUNDS
    search_work: int = MAX_SEARCH_WORK
    cached_transitions: int = MAX_CACHED_TRANSITIONS


DEFAULT_LIMITS = PatternLimits()


class PatternRefused(ValueError):
    """The pattern is malformed, uses what this matcher does not do, or goes over a named limit; the message says
    which."""


# Sets

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
    """Return the set that `_RANGES` lists under this name, such as `Script=Greek`, `Script=Grek` or `Emoji`."""
    listed = _RANGES.get(_ALIASES.get(name, name))
    if listed is None:
        return None
    edges = (each.partition("-") for each in listed.split())
    return CharSet(tuple((int(low, 16), int(high or low, 16)) for low, _, high in edges))


# Scripts and emoji properties of Unicode 17: facts of the Unicode Character Database that `unicodedata` does not carry.
# Only the scripts listed here are known.

_ALIASES = {
    "Script=Latn": "Script=Latin", "Script=Grek": "Script=Greek", "Script=Cyrl": "Script=Cyrillic",
    "Script=Hebr": "Script=Hebrew", "Script=Arab": "Script=Arabic", "Script=Deva": "Script=Devanagari",
    "Script=Hang": "Script=Hangul", "Script=Hira": "Script=Hiragana", "Script=Kana": "Script=Katakana",
    "Script=Hani": "Script=Han", "EPres": "Emoji_Presentation", "EMod": "Emoji_Modifier", "EComp": "Emoji_Component",
    "ExtPict": "Extended_Pictographic",
}

_RANGES = {  # hexadecimal, ascending, ends included
    "Script=Latin": """
        41-5a 61-7a aa ba c0-d6 d8-f6 f8-2b8 2e0-2e4 1d00-1d25 1d2c-1d5c 1d62-1d65 1d6b-1d77 1d79-1dbe 1e00-1eff
        2071 207f 2090-209c 212a-212b 2132 214e 2160-2188 2c60-2c7f a722-a787 a78b-a7dc a7f1-a7ff ab30-ab5a
        ab5c-ab64 ab66-ab69 fb00-fb06 ff21-ff3a ff41-ff5a 10780-10785 10787-107b0 107b2-107ba 1df00-1df1e
        1df25-1df2a""",
    "Script=Greek": """
        370-373 375-377 37a-37d 37f 384 386 388-38a 38c 38e-3a1 3a3-3e1 3f0-3ff 1d26-1d2a 1d5d-1d61 1d66-1d6a 1dbf
        1f00-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fc4 1fc6-1fd3
        1fd6-1fdb 1fdd-1fef 1ff2-1ff4 1ff6-1ffe 2126 ab65 10140-1018e 101a0 1d200-1d245""",
    "Script=Cyrillic": """
        400-484 487-52f 1c80-1c8a 1d2b 1d78 2de0-2dff a640-a69f fe2e-fe2f 1e030-1e06d 1e08f""",
    "Script=Hebrew": """
        591-5c7 5d0-5ea 5ef-5f4 fb1d-fb36 fb38-fb3c fb3e fb40-fb41 fb43-fb44 fb46-fb4f""",
    "Script=Arabic": """
        600-604 606-60b 60d-61a 61c-61e 620-63f 641-64a 656-66f 671-6dc 6de-6ff 750-77f 870-891 897-8e1 8e3-8ff
        fb50-fd3d fd40-fdcf fdf0-fdff fe70-fe74 fe76-fefc 10e60-10e7e 10ec2-10ec7 10ed0-10ed8 10efa-10eff
        1ee00-1ee03 1ee05-1ee1f 1ee21-1ee22 1ee24 1ee27 1ee29-1ee32 1ee34-1ee37 1ee39 1ee3b 1ee42 1ee47 1ee49 1ee4b
        1ee4d-1ee4f 1ee51-1ee52 1ee54 1ee57 1ee59 1ee5b 1ee5d 1ee5f 1ee61-1ee62 1ee64 1ee67-1ee6a 1ee6c-1ee72
        1ee74-1ee77 1ee79-1ee7c 1ee7e 1ee80-1ee89 1ee8b-1ee9b 1eea1-1eea3 1eea5-1eea9 1eeab-1eebb 1eef0-1eef1""",
    "Script=Devanagari": """
        900-950 955-963 966-97f a8e0-a8ff 11b00-11b09""",
    "Script=Thai": """
        e01-e3a e40-e5b""",
    "Script=Hangul": """
        1100-11ff 302e-302f 3131-318e 3200-321e 3260-327e a960-a97c ac00-d7a3 d7b0-d7c6 d7cb-d7fb ffa0-ffbe
        ffc2-ffc7 ffca-ffcf ffd2-ffd7 ffda-ffdc""",
    "Script=Hiragana": """
        3041-3096 309d-309f 1b001-1b11f 1b132 1b150-1b152 1f200""",
    "Script=Katakana": """
        30a1-30fa 30fd-30ff 31f0-31ff 32d0-32fe 3300-3357 ff66-ff6f ff71-ff9d 1aff0-1aff3 1aff5-1affb 1affd-1affe
        1b000 1b120-1b122 1b155 1b164-1b167""",
    "Script=Han": """
        2e80-2e99 2e9b-2ef3 2f00-2fd5 3005 3007 3021-3029 3038-303b 3400-4dbf 4e00-9fff f900-fa6d fa70-fad9
        16fe2-16fe3 16ff0-16ff6 20000-2a6df 2a700-2b81d 2b820-2cead 2ceb0-2ebe0 2ebf0-2ee5d 2f800-2fa1d 30000-3134a
        31350-33479""",
    "Emoji": """
        23 2a 30-39 a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2
        25aa-25ab 25b6 25c0 25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f
        2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c
        26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5
        26f7-26fa 26fd 2702 2705 2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e
        2753-2755 2757 2763-2764 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297
        3299 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1e6-1f1ff 1f201-1f202 1f21a 1f22f 1f232-1f23a
        1f250-1f251 1f300-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd 1f4ff-1f53d
        1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8
        1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5
        1f6cb-1f6d2 1f6d5-1f6d8 1f6dc-1f6e5 1f6e9 1f6eb-1f6ec 1f6f0 1f6f3-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a
        1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fa8a 1fa8e-1fac6 1fac8 1facd-1fadc 1fadf-1faea 1faef-1faf8""",
    "Emoji_Presentation": """
        231a-231b 23e9-23ec 23f0 23f3 25fd-25fe 2614-2615 2648-2653 267f 2693 26a1 26aa-26ab 26bd-26be 26c4-26c5
        26ce 26d4 26ea 26f2-26f3 26f5 26fa 26fd 2705 270a-270b 2728 274c 274e 2753-2755 2757 2795-2797 27b0 27bf
        2b1b-2b1c 2b50 2b55 1f004 1f0cf 1f18e 1f191-1f19a 1f1e6-1f1ff 1f201 1f21a 1f22f 1f232-1f236 1f238-1f23a
        1f250-1f251 1f300-1f320 1f32d-1f335 1f337-1f37c 1f37e-1f393 1f3a0-1f3ca 1f3cf-1f3d3 1f3e0-1f3f0 1f3f4
        1f3f8-1f43e 1f440 1f442-1f4fc 1f4ff-1f53d 1f54b-1f54e 1f550-1f567 1f57a 1f595-1f596 1f5a4 1f5fb-1f64f
        1f680-1f6c5 1f6cc 1f6d0-1f6d2 1f6d5-1f6d8 1f6dc-1f6df 1f6eb-1f6ec 1f6f4-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a
        1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fa8a 1fa8e-1fac6 1fac8 1facd-1fadc 1fadf-1faea 1faef-1faf8""",
    "Emoji_Modifier": """
        1f3fb-1f3ff""",
    "Emoji_Component": """
        23 2a 30-39 200d 20e3 fe0f 1f1e6-1f1ff 1f3fb-1f3ff 1f9b0-1f9b3 e0020-e007f""",
    "Extended_Pictographic": """
        a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6
        25c0 25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640
        2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7
        26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd
        2702 2705 2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757
        2763-2764 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f004
        1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0c0 1f0cf-1f0d0 1f0f6-1f0ff 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a
        1f1ae-1f1e5 1f201-1f20f 1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f25f 1f266-1f321 1f324-1f393 1f396-1f397
        1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f3fa 1f400-1f4fd 1f4ff-1f53d 1f549-1f54e 1f550-1f567 1f56f-1f570
        1f573-1f57a 1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3
        1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6e5 1f6e9 1f6eb-1f6f0
        1f6f3-1f6ff 1f7da-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af 1f8bc-1f8bf 1f8c2-1f8cf
        1f8d9-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa58-1fa5f 1fa6e-1faff 1fc00-1fffd""",
}
