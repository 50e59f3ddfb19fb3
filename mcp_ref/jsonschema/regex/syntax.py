"""The parser: the text of a pattern becomes a program in postfix order.

The syntax is that of ECMA-262 with the `u` flag [JSON Schema 2020-12 core §6.4]. Postfix means operands first:
`ab|c*` gives

    Chars(a) Chars(b) Join(2)  Chars(c) Repeat(0, None) Join(1)  Either(2)

so neither this parser nor the builder that evaluates the program recurses, and deep nesting cannot exhaust the stack.
Groups only group: what they capture is never asked for, hence a name is checked and forgotten, and lazy and greedy
quantifiers mean the same. A look-around is a program of its own; the main program refers to it by number, inner ones
first.

Reading: three leniencies, all without a second meaning, because schemas in the wild use them: an escaped punctuation
character stands for itself (`\\_`, `\\@`), a brace that begins no quantifier is a literal, and a hyphen beside a
class escape (`[\\w-.]`) is a hyphen. Whatever else the `u` flag forbids is refused, such as `\\a`, `[z-a]`, `a**`, a
lone `]`.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from .chars import (
    ANY_BUT_LINE_END, CLASS_ESCAPES, CharSet, PatternLimits, PatternRefused, char_set, one, others, property_set,
)

__all__ = ["Assertion", "Chars", "Either", "Join", "Look", "LookAround", "Op", "Parsed", "Repeat", "parse"]


class Chars(NamedTuple):
    """One character out of a set."""

    chars: CharSet


class Assertion(NamedTuple):
    """`start` (^), `end` ($), `boundary` (\\b) or `inside` (\\B): matches a gap between characters, not a character."""

    kind: str


class Look(NamedTuple):
    """The look-around of that number matches in this gap, or with `wanted` false: does not."""

    number: int
    wanted: bool


class Join(NamedTuple):
    """The last `operands` ones one after another; `Join(0)` is the empty pattern."""

    operands: int


class Either(NamedTuple):
    """Any of the last `operands` ones."""

    operands: int


class Repeat(NamedTuple):
    """The last operand from `low` to `high` times; None for `high` means without end."""

    low: int
    high: Optional[int]


Op = Union[Chars, Assertion, Look, Join, Either, Repeat]


class LookAround(NamedTuple):
    """The program in `(?=...)`, or with ``ahead`` false in `(?<=...)`."""

    ahead: bool
    program: List[Op]


class Parsed(NamedTuple):
    """The main program and the look-arounds that it, or one of higher number, refers to."""

    program: List[Op]
    lookarounds: List[LookAround]


class _Group(NamedTuple):
    """A group that is still open, and where the parser stood in the one around it."""

    opened: int
    first_op: int
    outer_items: int
    outer_branches: int
    look: Optional[Tuple[bool, bool]]


_QUANTIFIERS = {"*": Repeat(0, None), "+": Repeat(1, None), "?": Repeat(0, 1)}
_LOOKS = {"?<=": (False, True), "?<!": (False, False), "?=": (True, True), "?!": (True, False)}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = frozenset("0123456789")


def parse(pattern: str, limits: PatternLimits) -> Parsed:
    """Read a pattern. Raises PatternRefused with the reason and the index of the character where it was noticed."""
    if len(pattern) > limits.pattern_length:
        raise PatternRefused("pattern of {} characters: over the limit pattern_length = {}".format(
            len(pattern), limits.pattern_length))
    parser = _Parser(pattern, limits)
    try:
        return parser.parse()
    except PatternRefused as refusal:
        shown = pattern if len(pattern) <= 80 else pattern[:77] + "..."
        raise PatternRefused("pattern {!r} at {}: {}".format(shown, parser.noticed, refusal)) from None


class _Parser:
    def __init__(self, text: str, limits: PatternLimits) -> None:
        self.text = text
        self.limits = limits
        self.at = 0
        self.noticed = 0             # where the construct being read begins, for messages
        self.ops: List[Op] = []
        self.lookarounds: List[LookAround] = []
        self.groups: List[_Group] = []
        self.items = 0               # operands of the branch being read
        self.branches = 0            # finished branches of the group being read
        self.repeatable = False      # whether a quantifier may follow

    def parse(self) -> Parsed:
        while self.at < len(self.text):
            self.noticed = self.at
            char = self.text[self.at]
            self.at += 1
            action = _ACTIONS.get(char)
            if action is None:
                self.operand(one(ord(char)))
            else:
                action(self)
        if self.groups:
            self.noticed = self.groups[-1].opened
            raise PatternRefused("the group is not closed")
        self.finish_branches()
        return Parsed(self.ops, self.lookarounds)

    # -- operands

    def operand(self, chars: CharSet) -> None:
        self.ops.append(Chars(chars))
        self.items += 1
        self.repeatable = True

    def assertion(self, kind: str) -> None:
        self.ops.append(Assertion(kind))
        self.items += 1
        self.repeatable = False

    def escape(self) -> None:
        char = self.text[self.at:self.at + 1]
        if char in ("b", "B"):
            self.at += 1
            self.assertion("boundary" if char == "b" else "inside")
        elif char == "k" or char in _DIGITS and char != "0":
            raise PatternRefused("back-references are not supported: they cannot be matched in linear time")
        else:
            self.operand(self.escaped_set() or one(self.escaped_char()))

    # -- groups

    def open(self) -> None:
        if len(self.groups) >= self.limits.nesting:
            raise PatternRefused("over the limit nesting = {}".format(self.limits.nesting))
        self.groups.append(_Group(self.noticed, len(self.ops), self.items, self.branches, self.group_kind()))
        self.items = self.branches = 0
        self.repeatable = False

    def group_kind(self) -> Optional[Tuple[bool, bool]]:
        """Skip what follows `(`: (ahead, wanted) for a look-around, None for every other group."""
        for mark, look in _LOOKS.items():
            if self.eat(mark):
                return look
        if self.eat("?<"):
            name, _, _ = self.text[self.at:].partition(">")
            if not name.replace("$", "_").isidentifier():
                raise PatternRefused("the group name is malformed")
            self.at += len(name)
            if not self.eat(">"):
                raise PatternRefused("the group name is not closed")
        elif not self.eat("?:") and self.eat("?"):
            raise PatternRefused("unknown kind of group (known: (?: (?= (?! (?<= (?<! and (?<name>)")
        return None

    def alternative(self) -> None:
        self.ops.append(Join(self.items))
        self.branches += 1
        self.items = 0
        self.repeatable = False

    def finish_branches(self) -> None:
        self.alternative()
        if self.branches > 1:
            self.ops.append(Either(self.branches))

    def close(self) -> None:
        if not self.groups:
            raise PatternRefused("no group is open here")
        self.finish_branches()
        group = self.groups.pop()
        if group.look is not None:
            self.look_around(group.first_op, *group.look)
        self.items = group.outer_items + 1
        self.branches = group.outer_branches
        self.repeatable = group.look is None

    def look_around(self, first_op: int, ahead: bool, wanted: bool) -> None:
        """Move the operations since `first_op` into a program of their own."""
        if len(self.lookarounds) >= self.limits.lookarounds:
            raise PatternRefused("over the limit lookarounds = {}".format(self.limits.lookarounds))
        self.lookarounds.append(LookAround(ahead, self.ops[first_op:]))
        self.ops[first_op:] = [Look(len(self.lookarounds) - 1, wanted)]

    # -- quantifiers

    def quantifier(self) -> None:
        self.repeat(_QUANTIFIERS[self.text[self.noticed]])

    def brace(self) -> None:
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at:end].partition(",") if end > 0 else ("", "", "")
        if not _DIGITS.issuperset(low + high) or not low + high:
            self.operand(one(ord("{")))
            return
        if not low:
            raise PatternRefused("a quantifier needs its lower bound: {0,n}")
        self.at = end + 1
        least = self.count(low)
        most = self.count(high) if high else None if comma else least
        if most is not None and most < least:
            raise PatternRefused("the bounds of the quantifier are out of order")
        self.repeat(Repeat(least, most))

    def count(self, digits: str) -> int:
        """The number, without reading more digits than the limit on the program has."""
        significant = digits.lstrip("0") or "0"
        if len(significant) > len(str(self.limits.program_size)) or int(significant) > self.limits.program_size:
            raise PatternRefused("{} repetitions: over the limit program_size = {}".format(
                significant[:12], self.limits.program_size))
        return int(significant)

    def repeat(self, repeat: Repeat) -> None:
        if not self.repeatable:
            raise PatternRefused("nothing to repeat")
        self.eat("?")                # lazy: the same set of texts matches
        self.ops.append(repeat)
        self.repeatable = False

    # -- classes and escapes

    def char_class(self) -> None:
        negated = self.eat("^")
        parts: List[CharSet] = []
        while not self.eat("]"):
            low = self.class_member()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                parts.extend(self.class_range(low, self.class_member()))
            else:
                parts.append(low)
        self.operand(char_set(parts, negated))

    def class_member(self) -> CharSet:
        char = self.text[self.at:self.at + 1]
        if not char:
            raise PatternRefused("the character class is not closed")
        self.at += 1
        if char != "\\":
            return one(ord(char))
        if self.eat("b"):
            return one(0x08)
        return self.escaped_set() or one(self.escaped_char())

    @staticmethod
    def class_range(low: CharSet, high: CharSet) -> List[CharSet]:
        first, last = low.single(), high.single()
        if not first or not last:
            return [low, one(ord("-")), high]
        if first > last:
            raise PatternRefused("the range {!r} to {!r} is out of order".format(first, last))
        return [CharSet(((ord(first), ord(last)),))]

    def escaped_set(self) -> Optional[CharSet]:
        """The set that the escape at hand names, or None when it names a character."""
        char = self.text[self.at:self.at + 1]
        if char in CLASS_ESCAPES:
            self.at += 1
            return CLASS_ESCAPES[char]
        if char not in ("p", "P"):
            return None
        end = self.text.find("}", self.at)
        if not self.text.startswith("{", self.at + 1) or end < 0:
            raise PatternRefused("\\{} needs a property in braces".format(char))
        chars = property_set(self.text[self.at + 2:end])
        self.at = end + 1
        return chars if char == "p" else others(chars)

    def escaped_char(self) -> int:
        """The code point that the escape at hand stands for."""
        char = self.text[self.at:self.at + 1]
        self.at += 1
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0" and self.text[self.at:self.at + 1] not in _DIGITS:
            return 0
        if char == "c":
            letter = self.text[self.at:self.at + 1]
            if letter.isascii() and letter.isalpha():
                self.at += 1
                return ord(letter) % 32
            raise PatternRefused("\\c needs a letter")
        if char == "x":
            return self.hex_digits(2)
        if char == "u":
            return self.unicode_escape()
        if not char or char.isalnum():
            raise PatternRefused("\\{} is no escape of ECMA-262".format(char))
        return ord(char)

    def unicode_escape(self) -> int:
        if self.eat("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at:end].lstrip("0") or self.text[self.at:end][:1] if end > 0 else ""
            if not digits or len(digits) > 6 or not _HEX.issuperset(digits) or int(digits, 16) > 0x10FFFF:
                raise PatternRefused("\\u{...} needs a code point in hexadecimal")
            self.at = end + 1
            return int(digits, 16)
        code = self.hex_digits(4)
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", self.at):
            after = self.at
            self.at += 2
            low = 0 if self.text.startswith("{", self.at) else self.hex_digits(4)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00
            self.at = after
        return code

    def hex_digits(self, count: int) -> int:
        digits = self.text[self.at:self.at + count]
        if len(digits) < count or not _HEX.issuperset(digits):
            raise PatternRefused("{} hexadecimal digits expected".format(count))
        self.at += count
        return int(digits, 16)

    def stray_bracket(self) -> None:
        raise PatternRefused("a ] outside a class must be escaped")

    def eat(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False


_ACTIONS: Dict[str, Callable[[_Parser], None]] = {
    "(": _Parser.open, ")": _Parser.close, "|": _Parser.alternative, "[": _Parser.char_class,
    "]": _Parser.stray_bracket, "\\": _Parser.escape, "*": _Parser.quantifier, "+": _Parser.quantifier,
    "?": _Parser.quantifier, "{": _Parser.brace,
    ".": lambda parser: parser.operand(ANY_BUT_LINE_END),
    "^": lambda parser: parser.assertion("start"),
    "$": lambda parser: parser.assertion("end"),
}
