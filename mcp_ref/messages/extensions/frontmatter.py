"""The front matter of a ``SKILL.md``: YAML between two lines ``---``, read as JSON values.

[2026-07-28 extensions/skills/skills §Frontmatter] has servers send it as a JSON object, and hosts compare that field
by field with the
file. So both sides must read the same, and what could be read in two ways is refused, with its line.

>>> read("---\\nname: pdf\\nmetadata: {version: '2.1', parts: [1, two]}\\n---\\n# Title\\n")
({'name': 'pdf', 'metadata': {'version': '2.1', 'parts': [1, 'two']}}, '# Title\\n')
>>> read("---\\nname: &x pdf\\n---\\n")
Traceback (most recent call last):
    ...
mcp_ref.messages.extensions.frontmatter.FrontMatterError: line 2: anchors (&) are not read: write the value itself

======================  ==============================================================================================
is read                 mappings and sequences by indentation, or ``{a: b}`` and ``[a, b]`` on one line; plain texts,
                        also over several lines; texts in quotes, on one line; blocks after ``|`` and ``>``; comments
is refused              anchors, aliases, tags, merge keys, directives, complex and repeated keys, keys that are no
                        texts, tabs that indent, quotes and brackets over several lines, infinities, integers that
                        JavaScript cannot hold, a second document, and whatever is not YAML
======================  ==============================================================================================

Reading: the types of plain values are those of the core schema of YAML 1.2: ``null`` and ``~``, ``true`` and ``false``
(not ``yes``), integers (also ``0x1f`` and ``0o17``), and floats. Everything else is a text, dates too.
"""

import re
from string import hexdigits
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

MAX_DEPTH = 32
"""The deepest nesting that is read."""
MAX_CHARACTERS = 256 * 1024
"""The longest front matter that is read."""
FENCE = "---"
SAFE = 2**53 - 1
"""The greatest integer that JavaScript holds exactly."""

_WORDS: Dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "True": True,
                          "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_KEY_END = re.compile(r":(?=[ \t]|\Z)")
_HEADER = re.compile(r"[|>]([-+]?)([1-9]?)([-+]?)[ \t]*(?:[ \t]#.*)?\Z")
_ODD = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
            "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028",
            "P": "\u2029"}
_CODES = {"x": 2, "u": 4, "U": 8}
_REFUSED = {
    "&": "anchors (&) are not read: write the value itself", "*": "aliases (*) are not read: write the value again",
    "!": "tags (!) are not read: leave the tag out", "%": "a text that begins with % needs quotes",
    "@": "a text that begins with @ needs quotes", "`": "a text that begins with ` needs quotes",
    ",": "a text that begins with , needs quotes", "]": "there is no [ for this ]", "}": "there is no { for this }",
}
"""First character of a plain value -> why it is refused."""


class FrontMatterError(ValueError):
    """The front matter cannot be read. ``line`` is the line of the file, from 1; ``reason`` says what to write."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__("line %d: %s" % (line, reason))
        self.line = line
        self.reason = reason


class _Line(NamedTuple):
    """A line of the front matter: its number in the file, its indentation, and the rest without white space."""

    number: int
    indent: int
    text: str


def read(text: str) -> Tuple[Dict[str, Any], str]:
    """Return the front matter of a text as a JSON object, and what follows it. Raises `FrontMatterError`.

    [2026-07-28 extensions/skills/skills §Skill Format] MUST
    """
    lines = re.split("\r\n|\n|\r", text[:MAX_CHARACTERS + 1])
    if lines[0].rstrip(" \t") != FENCE:
        raise FrontMatterError(1, _no_fence(lines[0]))
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip(" \t") == FENCE), None)
    if end is None:
        far = "within max. %d characters " % MAX_CHARACTERS if len(text) > MAX_CHARACTERS else ""
        raise FrontMatterError(len(lines), "there is no second line --- %swhere the front matter ends" % far)
    for number, line in enumerate(lines[1:end], 2):
        odd = _ODD.search(line)
        if odd is not None:
            raise FrontMatterError(number, "YAML has no character U+%04X: remove it" % ord(odd.group()))
        if "\t" in line and not line.strip(" \t"):
            raise FrontMatterError(number, "a tab stands in a blank line: remove it")
    found = _FrontMatterReader(lines[1:end]).document()
    rest = re.split("(\r\n|\n|\r)", text, maxsplit=end + 1)
    return found, rest[-1] if len(rest) > 2 * (end + 1) else ""


def _no_fence(line: str) -> str:
    """Return what is wrong with the first line of a text without front matter."""
    if line.startswith("\ufeff"):
        return "a byte order mark stands before ---: save the file as UTF-8 without one"
    if line.strip() == FENCE:
        return "there are spaces before ---, where front matter begins: remove them"
    return "there is no front matter: begin the file with a line ---, name: and description:, and another line ---"


class _FrontMatterReader:
    """The lines between the fences, and the place up to which they are read."""

    def __init__(self, lines: List[str]) -> None:
        self._raw = lines
        self._at = 0
        self._pending: Optional[_Line] = None
        """The rest of a line behind the ``-`` of an item, which is read as if it stood alone."""

    def document(self) -> Dict[str, Any]:
        """Return the mapping that all lines are."""
        first = self._peek()
        if first is None:
            raise FrontMatterError(2, "the front matter is empty: it has at least name and description")
        found = self._block(0, 0)
        left = self._peek()
        if left is not None:
            raise FrontMatterError(left.number, "this line is not indented as those that it belongs to")
        if not isinstance(found, dict):
            raise FrontMatterError(first.number, "the front matter is a mapping, with lines such as name: pdf")
        return found

    # Lines

    def _peek(self) -> Optional[_Line]:
        """Return the next line that is neither blank nor a comment, without taking it; None at the end."""
        if self._pending is not None:
            return self._pending
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            text = raw.strip(" \t")
            if text and not text.startswith("#"):
                indent = len(raw) - len(raw.lstrip(" "))
                number = self._at + 2
                if raw[indent] == "\t":
                    raise FrontMatterError(number, "a tab indents this line: YAML indents by spaces")
                if not indent and (text == "..." or text.startswith(("... ", "%"))):
                    raise FrontMatterError(number, "directives and second documents are not read")
                return _Line(number, indent, text)
            self._at += 1
        return None

    def _take(self) -> None:
        """Take the line that `_peek` has returned."""
        if self._pending is not None:
            self._pending = None
        self._at += 1

    # Blocks

    def _block(self, least: int, depth: int) -> Any:
        """Return the value whose first line comes next, indented by ``least`` or more."""
        line = self._peek()
        if line is None or line.indent < least:
            return None
        if depth > MAX_DEPTH:
            raise FrontMatterError(line.number, "the nesting is deeper than %d levels" % MAX_DEPTH)
        if line.text == "-" or line.text.startswith(("- ", "-\t")):
            return self._sequence(line.indent, depth)
        if _key_of(line) is not None:
            return self._mapping(line.indent, depth)
        self._take()
        return self._value(line, line.text, least - 1, depth)

    def _sequence(self, indent: int, depth: int) -> List[Any]:
        """Return the items of a sequence whose ``-`` have this indentation."""
        found: List[Any] = []
        while True:
            line = self._peek()
            if line is None or line.indent < indent:
                return found
            if line.indent > indent or not (line.text == "-" or line.text.startswith(("- ", "-\t"))):
                if line.indent == indent:
                    return found  # a mapping goes on behind a sequence that is not indented more than its keys
                raise FrontMatterError(line.number, "this line is indented more than the items before it")
            rest = line.text[1:].lstrip(" ")
            if rest.startswith("\t"):
                raise FrontMatterError(line.number, "a tab follows the -: YAML indents by spaces")
            if not rest or rest.startswith("#"):
                self._take()
                found.append(self._block(indent + 1, depth + 1))
                continue
            # Behind the - the item's own lines begin: they are indented as its first text is.
            self._pending = _Line(line.number, indent + len(line.text) - len(rest), rest)
            found.append(self._block(indent + 1, depth + 1))

    def _mapping(self, indent: int, depth: int) -> Dict[str, Any]:
        """Return the members of a mapping whose keys have this indentation."""
        found: Dict[str, Any] = {}
        while True:
            line = self._peek()
            if line is None or line.indent < indent:
                return found
            if line.indent > indent:
                raise FrontMatterError(line.number, "this line is indented more than the keys before it")
            split = _key_of(line)
            if split is None:
                raise FrontMatterError(line.number, "a key and a colon with a space behind it are expected: name: pdf")
            key, rest = split
            if key in found:
                raise FrontMatterError(line.number, "the key %s is there twice" % key)
            self._take()
            if rest and not rest.startswith("#"):
                if rest == "-" or rest.startswith("- "):
                    raise FrontMatterError(line.number, "a sequence begins on a line of its own, below its key")
                found[key] = self._value(line, rest, indent, depth + 1)
                continue
            following = self._peek()
            same = following is not None and following.indent == indent and (
                following.text == "-" or following.text.startswith("- "))
            found[key] = self._block(indent if same else indent + 1, depth + 1)

    def _value(self, line: _Line, text: str, indent: int, depth: int) -> Any:
        """Return the value that begins with this text; ``indent``: that of what it belongs to."""
        if text[0] in "|>":
            return self._block_text(line, text, indent)
        if text[0] in "[{\"'":
            flow = _Flow(line.number, text, depth)
            found = flow.value()
            flow.end()
            following = self._peek()
            if following is not None and following.indent > indent:
                raise FrontMatterError(following.number, "this line is indented more than what it would belong to")
            return found
        return self._plain(line, text, indent)

    def _plain(self, line: _Line, text: str, indent: int) -> Any:
        """Return a plain value, which goes on over the lines that are indented more."""
        first, commented = _uncommented(_plain_part(line, text))
        parts, blanks, single = [first], 0, True
        while self._at < len(self._raw) and self._pending is None:
            raw, number = self._raw[self._at], self._at + 2
            stripped = raw.strip(" \t")
            if not stripped:
                blanks += 1
                self._at += 1
                continue
            if stripped.startswith("#"):
                commented = True
                self._at += 1
                continue
            following = self._peek()
            if following is None or following.indent <= indent:
                break
            if commented:
                raise FrontMatterError(number, "a comment stands inside of this text: put quotes around the text")
            if stripped.startswith("- ") or stripped == "-":
                raise FrontMatterError(number, "an item (-) stands inside of a text: put the text into quotes")
            more, commented = _uncommented(_plain_part(following, stripped, first=False))
            parts.append("\n" * blanks if blanks else " ")
            parts.append(more)
            blanks, single = 0, False
            self._at += 1
        whole = "".join(parts)
        return _resolved(line.number, whole) if single else whole

    def _block_text(self, line: _Line, header: str, indent: int) -> str:
        """Return the text of a block after ``|`` or ``>``."""
        match = _HEADER.match(header)
        if match is None or match.group(1) and match.group(3):
            raise FrontMatterError(line.number, "behind | or > stand +, -, a digit, or nothing; the text begins below")
        chomp = match.group(1) or match.group(3)
        rows: List[str] = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip(" ") and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            rows.append(raw)
            self._at += 1
        first = next((row for row in rows if row.strip(" ")), None)
        margin = max(indent, 0) + int(match.group(2)) if match.group(2) else (
            max(map(len, rows), default=0) if first is None else len(first) - len(first.lstrip(" ")))
        number = line.number
        for row in rows:
            number += 1
            blank = not row.strip(" ")
            if not blank and len(row) - len(row.lstrip(" ")) < margin:
                raise FrontMatterError(number, "this line is indented less than the first one of its text")
            if blank and len(row) > margin:
                raise FrontMatterError(number, "this blank line is indented more than its text: remove the spaces")
        return _folded([row[margin:] for row in rows], header[0] == ">", chomp)


def _folded(rows: List[str], folds: bool, chomp: str) -> str:
    """Return the text of the rows of a block. ``folds``: lines are joined by spaces; ``chomp``: as behind ``|``."""
    last = len(rows)
    while last and not rows[last - 1]:
        last -= 1
    parts: List[str] = []
    blanks, before = 0, ""
    for row in rows[:last]:
        if not row:
            blanks += 1
            continue
        if before:
            joined = folds and before[0] not in " \t" and row[0] not in " \t"
            parts.append("\n" * blanks if joined and blanks else " " if joined else "\n" * (blanks + 1))
        else:
            parts.append("\n" * blanks)
        parts.append(row)
        blanks, before = 0, row
    ends = "\n" if last else ""
    if chomp == "-":
        return "".join(parts)
    return "".join(parts) + (ends + "\n" * (len(rows) - last) if chomp == "+" else ends)


def _key_of(line: _Line) -> Optional[Tuple[str, str]]:
    """Return the key of a line and the text behind its colon; None for a line without a key."""
    text = line.text
    if text[0] in "\"'":
        flow = _Flow(line.number, text, 0)
        key = flow.quoted()
        rest = flow.rest().lstrip(" \t")
        if not rest.startswith(":"):
            return None
        if rest[1:2] not in ("", " ", "\t"):
            raise FrontMatterError(line.number, "a space belongs behind the colon of a key")
        return key, rest[1:].strip(" \t")
    if text[0] in "[{|>":
        return None
    if text == "?" or text.startswith("? "):
        raise FrontMatterError(line.number, "complex keys (?) are not read: write the key as a text")
    match = _KEY_END.search(text)
    if match is None or 0 <= _comment(text) < match.start():
        return None
    key = text[:match.start()].rstrip(" \t")
    _plain_part(line, key or ":")
    if key == "<<":
        raise FrontMatterError(line.number, "merge keys (<<) are not read: write the members themselves")
    if not isinstance(_resolved(line.number, key), str):
        raise FrontMatterError(line.number, "the key %s is no text: put it into quotes" % key)
    return key, text[match.end():].strip(" \t")


def _plain_part(line: _Line, text: str, first: bool = True) -> str:
    """Return one line of a plain value. Raises `FrontMatterError` if it is none."""
    if first:
        refused = _REFUSED.get(text[0])
        if refused is not None:
            raise FrontMatterError(line.number, refused)
        if text[0] in "?:-" and text[1:2] in ("", " ", "\t"):
            raise FrontMatterError(line.number, "a text that begins with %s needs quotes" % text[0])
    end, comment = _KEY_END.search(text), _comment(text)
    if end is not None and (comment < 0 or end.start() < comment):
        raise FrontMatterError(line.number, "a colon with a space behind it stands inside of a text: put the text into "
                                            "quotes")
    return text


def _uncommented(text: str) -> Tuple[str, bool]:
    """Return a plain text without the comment behind it, and True if there was one."""
    start = _comment(text)
    return (text, False) if start < 0 else (text[:start], True)


def _comment(text: str) -> int:
    """Return where a comment and the blanks before it start; -1 if there is none."""
    at = text.find("#")
    while at > 0 and text[at - 1] not in " \t":
        at = text.find("#", at + 1)
    return len(text[:at].rstrip(" \t")) if at > 0 else at


def _resolved(line: int, text: str) -> Any:
    """Return the value of a plain text, by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _NO_NUMBER.match(text):
        raise FrontMatterError(line, "JSON has no %s: put it into quotes" % text)
    if _INTEGER.match(text):
        if len(text) > 20:
            raise FrontMatterError(line, "the integer is too long for JavaScript: put it into quotes")
        value = int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        if abs(value) > SAFE:
            raise FrontMatterError(line, "the integer %s is too long for JavaScript: put it into quotes" % text)
        return value
    if _FLOAT.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise FrontMatterError(line, "the number %.40s is too large: put it into quotes" % text)
        return int(number) if number.is_integer() and abs(number) <= SAFE and number else number
    return text


class _Flow:
    """A text in quotes, or a value in brackets, on one line."""

    def __init__(self, line: int, text: str, depth: int) -> None:
        self._line = line
        self._text = text
        self._depth = depth
        self._at = 0

    def rest(self) -> str:
        """Return what is not read."""
        return self._text[self._at:]

    def end(self) -> None:
        """Raise `FrontMatterError` if anything but a comment follows."""
        if not re.match(r"[ \t]*\Z|[ \t]+#", self.rest()):
            raise self._error("%.20r stands behind the end of a value" % self.rest().strip(" \t"))

    def value(self) -> Any:
        """Return the value that begins here."""
        sign = self._next("a value")
        if sign in "\"'":
            return self.quoted()
        if sign == "[":
            return self._inside("]", self._items)
        return self._inside("}", self._members) if sign == "{" else self._plain()

    def quoted(self) -> str:
        """Return the text in quotes that begins here."""
        quote, parts = self._text[self._at], []
        self._at += 1
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._at += 1
            if sign != quote:
                parts.append(self._escaped() if sign == "\\" and quote == '"' else sign)
            elif quote == "'" and self._text[self._at:self._at + 1] == "'":
                parts.append("'")
                self._at += 1
            else:
                return "".join(parts)
        raise self._error("the quotes are not closed on their line; a text of several lines is a block after | or >")

    def _escaped(self) -> str:
        """Return the character of an escape, behind its backslash."""
        sign = self._text[self._at:self._at + 1]
        self._at += 1
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        digits = self._text[self._at:self._at + _CODES.get(sign, 0)]
        if sign not in _CODES or len(digits) < _CODES[sign] or digits.strip(hexdigits):
            raise self._error("YAML has no escape \\%s" % sign)
        self._at += len(digits)
        code = int(digits, 16)
        if 0xd800 <= code < 0xe000 or code > 0x10ffff:
            raise self._error("\\%s%s is no character; write those beyond U+FFFF as \\U and eight digits" % (
                sign, digits))
        return chr(code)

    def _inside(self, close: str, read_one: Any) -> Any:
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error("the nesting is deeper than %d levels" % MAX_DEPTH)
        found = read_one(close)
        self._at += 1
        self._depth -= 1
        return found

    def _items(self, close: str) -> List[Any]:
        found: List[Any] = []
        while self._next(close) != close:
            found.append(self.value())
            self._comma(close)
        return found

    def _members(self, close: str) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        while self._next(close) != close:
            quoted = self._text[self._at] in "\"'"
            key = self.value()
            if not isinstance(key, str) or key == "<<" and not quoted:
                raise self._error("the key %.40r is no text: put it into quotes" % (key,))
            if key in found:
                raise self._error("the key %s is there twice" % key)
            if self._next("a colon") != ":" or not quoted and self._text[self._at + 1:self._at + 2] not in " \t,}":
                raise self._error("the key %s has no colon and space behind it" % key)
            self._at += 1
            if self._next("a value") in ",}":
                raise self._error("the key %s has no value: write null" % key)
            found[key] = self.value()
            self._comma(close)
        return found

    def _comma(self, close: str) -> None:
        sign = self._next(close)
        if sign == ",":
            self._at += 1
        elif sign != close:
            raise self._error("a comma or %s is expected before %.20r" % (close, self.rest()))

    def _plain(self) -> Any:
        start = self._at
        match = re.compile(r"[,\[\]{}]|:(?=[ \t,\[\]{}]|\Z)|[ \t]#|\Z").search(self._text, start)
        self._at = len(self._text) if match is None else match.start()
        text = self._text[start:self._at].rstrip(" \t")
        if not text:
            raise self._error("a value is expected before %.20r" % self.rest())
        _plain_part(_Line(self._line, 0, ""), text)
        if text[0] in "|>#":
            raise self._error("a text that begins with %s needs quotes" % text[0])
        return _resolved(self._line, text)

    def _next(self, wanted: str) -> str:
        """Return the next character that is no white space."""
        while self._at < len(self._text) and self._text[self._at] in " \t":
            self._at += 1
        if self._at == len(self._text):
            raise self._error("the line ends where %s is expected; brackets are closed on their line" % wanted)
        return self._text[self._at]

    def _error(self, reason: str) -> FrontMatterError:
        return FrontMatterError(self._line, reason)
