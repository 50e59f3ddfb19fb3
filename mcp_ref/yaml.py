"""The subset of YAML read here: the front matter of a ``SKILL.md``, and configuration files of hosts.

Anything that two YAML readers could understand differently is rejected, with the line and what to write instead.
[2026-07-28 extensions/skills/skills §Frontmatter] has servers send front matter as a JSON object, which hosts compare
field by field with the file, so both sides have to read the same values.

>>> read_front_matter("---\\nname: pdf\\nmetadata: {version: '2.1', parts: [1, two]}\\n---\\n# Title\\n")
({'name': 'pdf', 'metadata': {'version': '2.1', 'parts': [1, 'two']}}, '# Title\\n')
>>> read_yaml("name: &x pdf")
Traceback (most recent call last):
    ...
mcp_ref.yaml.YamlError: line 1: anchors (&) are not supported: repeat the value

======================  ==============================================================================================
supported               mappings and sequences by indentation, or ``{a: b}`` and ``[a, b]`` on one line; plain strings,
                        also over several lines; quoted strings on one line; blocks after ``|`` and ``>``; comments
rejected                anchors, aliases, tags, merge keys, directives, complex and duplicate keys, keys that are not
                        strings, tabs that indent, quotes and brackets over several lines, infinities, integers that
                        JavaScript cannot represent, a second document
======================  ==============================================================================================

Reading: a plain value in front matter has the type that the core schema of YAML 1.2 gives it: ``null`` and ``~``,
``true`` and ``false`` (not ``yes``), integers (also ``0x1f`` and ``0o17``), and floats. Everything else is a string,
dates included. Configuration files are also read by readers of YAML 1.1, so there a value on which the versions
disagree (``no``, ``on``, ``0x1f``, ``012``, ``1e3``, ``12:30``, dates) has to be quoted, and tabs are rejected.
"""

import re
from string import hexdigits
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

MAX_DEPTH = 32
"""The maximum nesting depth."""
MAX_CHARACTERS = 256 * 1024
"""The maximum length of front matter."""
FENCE = "---"
SAFE = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""

_WORDS: Dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "True": True,
                          "TRUE": True, "false": False, "False": False, "FALSE": False}
_BREAK = "\r\n|\n"
_DOCUMENT = re.compile(r"(?:---|\.\.\.)(?:[ \t]|\Z)|%")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_AGREED = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?\Z")
"""Numbers that all versions of YAML read alike."""
_DIFFERS = re.compile(
    r"(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"
    r"|[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?0[box][0-9a-fA-F_]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?|=)\Z")
"""Plain values that some version of YAML does not read as a string."""
_KEY_END = re.compile(r":(?=[ \t]|\Z)")
_FLOW_END = re.compile(r"[,\[\]{}]|:(?=[ \t,\[\]{}]|\Z)|[ \t]#|\Z")
_HEADER = re.compile(r"[|>]([-+]?)([1-9]?)([-+]?)[ \t]*(?:[ \t]#.*)?\Z")
_ODD = re.compile("[^\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
            "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028",
            "P": "\u2029"}
_CODES = {"x": 2, "u": 4, "U": 8}
_REJECTED = {
    "&": "anchors (&) are not supported: repeat the value", "*": "aliases (*) are not supported: repeat the value",
    "!": "tags (!) are not supported: leave the tag out",
    "]": "there is no [ for this ]", "}": "there is no { for this }",
}
"""First character of a plain value -> why it is rejected."""
_QUOTES = "a string that begins with %s needs quotes"


class YamlError(ValueError):
    """The document cannot be read. ``line`` is the line of the file, from 1; ``reason`` says what to change."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__("line %d: %s" % (line, reason))
        self.line = line
        self.reason = reason


class Block(NamedTuple):
    """The position of a top-level member in a file."""

    first: int
    """The index of its line, from 0."""
    last: int
    """The index of its last line that is neither blank nor a comment."""
    indent: int
    """The column in which the lines of its value start; -1 if it has no lines of its own."""


def read_yaml(text: str) -> Any:
    """Return the value of a configuration file. Raises `YamlError`."""
    return _Reader(re.split(_BREAK, text), strict=True).document()


def blocks(text: str) -> Dict[str, Block]:
    """Return the positions of the members of a top-level mapping. Raises `YamlError`."""
    reader = _Reader(re.split(_BREAK, text), strict=True)
    reader.document()
    return reader.blocks


def reads_as_text(word: str) -> bool:
    """Return True if every reader reads the unquoted word as that string."""
    plain = re.match(r"[A-Za-z_][\w.-]*\Z", word, re.ASCII)
    return plain is not None and word not in _WORDS and not _DIFFERS.match(word)


def read_front_matter(text: str) -> Tuple[Dict[str, Any], str]:
    """Return the front matter of a text as a JSON object, and the text that follows. Raises `YamlError`.

    [2026-07-28 extensions/skills/skills §Skill Format] MUST
    """
    lines = re.split(_BREAK, text[:MAX_CHARACTERS + 1])
    if lines[0].rstrip(" \t") != FENCE:
        raise YamlError(1, _no_fence(lines[0]))
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip(" \t") == FENCE), None)
    if end is None:
        far = "within %d characters " % MAX_CHARACTERS if len(text) > MAX_CHARACTERS else ""
        raise YamlError(len(lines), "there is no second line --- %swhere the front matter ends" % far)
    reader = _Reader(lines[1:end], 2)
    found = reader.document()
    if found is None and not reader.blocks:
        raise YamlError(2, "the front matter is empty: it needs at least name and description")
    if not isinstance(found, dict):
        raise YamlError(2, "front matter has to be a mapping, with lines such as name: pdf")
    rest = re.split("(%s)" % _BREAK, text, maxsplit=end + 1)
    return found, rest[-1] if len(rest) > 2 * (end + 1) else ""


def _no_fence(line: str) -> str:
    """Return what is wrong with the first line of a text without front matter."""
    if line.startswith("\ufeff"):
        return "there is a byte order mark before ---: save the file as UTF-8 without one"
    if line.strip() == FENCE:
        return "there are spaces before ---, where front matter begins: remove them"
    return "there is no front matter: begin the file with a line ---, name: and description:, and another line ---"


class _Line(NamedTuple):
    """A line: its number in the file, its indentation, and the rest without white space."""

    number: int
    indent: int
    text: str


class _Reader:
    """The lines of a document, and the place up to which they have been read.

    ``start``: the number of the first line in its file. ``strict``: reject what readers of YAML 1.1 read differently.
    """

    def __init__(self, lines: List[str], start: int = 1, strict: bool = False) -> None:
        self.blocks: Dict[str, Block] = {}
        self.strict = strict
        self._raw = lines
        self._start = start
        self._at = 0
        self._last = 0
        """The index of the last line that was taken."""
        self._pending: Optional[_Line] = None
        """The rest of a line after the ``-`` of an item, which is read as if it were a line of its own."""
        for number, line in enumerate(lines, start):
            odd = _ODD.search(line)
            if odd is not None:
                raise YamlError(number, "the character U+%04X is not allowed: write it as an escape in double quotes"
                                % ord(odd.group()))
            if "\t" in line and not line.strip(" \t"):
                raise YamlError(number, "a blank line contains a tab: remove it")

    def document(self) -> Any:
        """Return the value of all lines."""
        while self._at < len(self._raw) and not self._raw[self._at].split("#")[0].strip(" "):
            self._at += 1
        if self._start == 1 and self._at < len(self._raw) and re.match("---(?: *| +#.*)\\Z", self._raw[self._at]):
            self._at += 1
        found = self._block(0, 0)
        left = self._peek()
        if left is not None:
            raise YamlError(left.number, "unexpected indentation: the line does not belong to the lines before it")
        return found

    # Lines

    def _peek(self) -> Optional[_Line]:
        """Return the next line that is neither blank nor a comment, without taking it; None at the end."""
        if self._pending is not None:
            return self._pending
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            text = raw.strip(" \t")
            indent = len(raw) - len(raw.lstrip(" "))
            number = self._at + self._start
            if text and raw[indent] == "\t":
                raise YamlError(number, "the line is indented by a tab: indent by spaces")
            if text and not text.startswith("#"):
                if self.strict and ("\t" in raw.split(" #")[0] or raw.rstrip(" ").endswith("\t")):
                    raise YamlError(number, "the line contains a tab: write spaces, or \\t in double quotes")
                if not indent and _DOCUMENT.match(text):
                    raise YamlError(number, "directives and several documents are not supported: write one document")
                return _Line(number, indent, text)
            self._at += 1
        return None

    def _take(self) -> None:
        """Take the line that `_peek` has returned."""
        self._pending = None
        self._last = self._at
        self._at += 1

    # Blocks

    def _block(self, least: int, depth: int) -> Any:
        """Return the value whose first line is next, indented by ``least`` or more."""
        line = self._peek()
        if line is None or line.indent < least:
            return None
        if depth > MAX_DEPTH:
            raise YamlError(line.number, "nested deeper than %d levels" % MAX_DEPTH)
        if _is_item(line.text):
            return self._sequence(line.indent, depth)
        if self._key_of(line) is not None:
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
            if line.indent > indent:
                raise YamlError(line.number, "indented more than the items before it")
            if not _is_item(line.text):
                return found  # the next key of the mapping, whose sequence may have the same indentation
            rest = line.text[1:].lstrip(" ")
            if rest.startswith("\t"):
                raise YamlError(line.number, "a tab follows the -: write a space")
            if not rest or rest.startswith("#"):
                self._take()
                found.append(self._block(indent + 1, depth + 1))
                continue
            # The item's own lines begin after the -, and are indented like its first one.
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
                raise YamlError(line.number, "indented more than the keys before it")
            split = self._key_of(line)
            if split is None:
                if _is_item(line.text) and depth:
                    return found  # the next item of the sequence to which this mapping belongs
                raise YamlError(line.number, "expected KEY: VALUE, as in the lines before")
            key, rest = split
            if key in found:
                raise YamlError(line.number, "duplicate key %s" % key)
            self._take()
            inner = -1
            if rest and not rest.startswith("#"):
                if _is_item(rest):
                    raise YamlError(line.number, "a sequence begins on a line of its own, below its key")
                found[key] = self._value(line, rest, indent, depth + 1)
            else:
                following = self._peek()
                same = following is not None and following.indent == indent and _is_item(following.text)
                found[key] = self._block(indent if same else indent + 1, depth + 1)
                inner = following.indent if following is not None and found[key] is not None else -1
            if not depth:
                self.blocks[key] = Block(line.number - self._start, self._last, inner)

    def _value(self, line: _Line, text: str, indent: int, depth: int) -> Any:
        """Return the value that begins with ``text``; ``indent`` is the indentation of its key or item."""
        if text[0] in "|>":
            return self._block_text(line, text, indent)
        if text[0] not in "[{\"'":
            return self._plain(line, text, indent)
        flow = _Flow(line.number, text, depth, self.strict)
        found = flow.value()
        flow.end()
        following = self._peek()
        if following is not None and following.indent > indent:
            raise YamlError(following.number, "the value of the line before continues here: write it on one line")
        return found

    def _plain(self, line: _Line, text: str, indent: int) -> Any:
        """Return a plain value, which continues over the lines that are indented more."""
        first, commented = _uncommented(_plain_part(line.number, text))
        parts, blanks = [first], 0
        while self._at < len(self._raw) and self._pending is None:
            raw = self._raw[self._at]
            stripped = raw.strip(" \t")
            if not stripped:
                blanks += 1
                self._at += 1
                continue
            if raw.lstrip(" ").startswith("#"):
                commented = True
                self._at += 1
                continue
            following = self._peek()
            if following is None or following.indent <= indent:
                break
            if commented:
                raise YamlError(following.number, "a comment interrupts the string before: put the string in quotes")
            if _is_item(stripped):
                raise YamlError(following.number, "an item (-) inside a string: put the string in quotes")
            more, commented = _uncommented(_plain_part(following.number, stripped, first=False))
            parts += ["\n" * blanks if blanks else " ", more]
            blanks = 0
            self._take()
        if self.strict and "\t" in "".join(parts):
            raise YamlError(line.number, "the string contains a tab: write spaces, or \\t in double quotes")
        return "".join(parts) if len(parts) > 1 else _resolved(line.number, first, self.strict)

    def _block_text(self, line: _Line, header: str, indent: int) -> str:
        """Return the string of a block after ``|`` or ``>``."""
        match = _HEADER.match(header)
        if match is None or match.group(1) and match.group(3):
            raise YamlError(line.number, "after | or > only +, - and a digit are allowed; the string begins below")
        rows: List[str] = []
        while self._at < len(self._raw):
            raw = self._raw[self._at]
            if raw.strip(" "):
                if len(raw) - len(raw.lstrip(" ")) <= max(indent, 0) or _DOCUMENT.match(raw):
                    break
                self._last = self._at
            rows.append(raw)
            self._at += 1
        first = next((row for row in rows if row.strip(" ")), None)
        margin = max(indent, 0) + int(match.group(2)) if match.group(2) else (
            max(map(len, rows), default=0) if first is None else len(first) - len(first.lstrip(" ")))
        for number, row in enumerate(rows, line.number + 1):
            blank = not row.strip(" ")
            if not blank and len(row) - len(row.lstrip(" ")) < margin:
                raise YamlError(number, "indented less than the first line of its block")
            if blank and len(row) > margin:
                raise YamlError(number, "the blank line is indented more than its block: remove the spaces")
        ended = self._at < len(self._raw) or self._start != 1  # else the last line has no line break
        return _folded([row[margin:] for row in rows], header[0] == ">", match.group(1) or match.group(3), ended)

    def _key_of(self, line: _Line) -> Optional[Tuple[str, str]]:
        """Return the key of a line and the text after its colon; None for a line without a key."""
        text = line.text
        if text[0] in "\"'":
            flow = _Flow(line.number, text, 0, self.strict)
            key = flow.quoted()
            rest = flow.rest().lstrip(" " if self.strict else " \t")
            if not rest.startswith(":"):
                return None
            if rest[1:2] not in ("", " ") and (self.strict or rest[1] != "\t"):
                raise YamlError(line.number, "the colon of a key needs a space after it")
            return key, rest[1:].strip(" \t")
        if text[0] in "[{|>":
            return None
        if text == "?" or text.startswith("? "):
            raise YamlError(line.number, "complex keys (?) are not supported: write KEY: VALUE")
        match = _KEY_END.search(text)
        if match is None or 0 <= _comment(text) < match.start():
            return None
        key = text[:match.start()].rstrip(" \t")
        _check_key(line.number, key, _resolved(line.number, _plain_part(line.number, key or ":"), self.strict))
        return key, text[match.end():].strip(" \t")


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith(("- ", "-\t"))


def _check_key(line: int, key: str, value: Any) -> None:
    if key == "<<":
        raise YamlError(line, "merge keys (<<) are not supported: write the members themselves")
    if not isinstance(value, str):
        raise YamlError(line, "the key %.40s is not a string: put it in quotes" % key)


def _folded(rows: List[str], folds: bool, chomp: str, ended: bool) -> str:
    """Return the string of the rows of a block.

    ``folds``: lines are joined by spaces. ``chomp``: the sign after ``|``. ``ended``: the last row has a line break.
    """
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
    breaks = len(rows) - last + bool(last) - (not ended and bool(rows))
    if chomp != "+":
        breaks = 0 if chomp == "-" else min(breaks, 1 if last else 0)
    return "".join(parts) + "\n" * breaks


def _plain_part(line: int, text: str, first: bool = True) -> str:
    """Return one line of a plain value. Raises `YamlError` if it is not one."""
    if first:
        if text[0] in _REJECTED:
            raise YamlError(line, _REJECTED[text[0]])
        if text[0] in "%@`," or text[0] in "?:-" and text[1:2] in ("", " ", "\t"):
            raise YamlError(line, _QUOTES % text[0])
    end, comment = _KEY_END.search(text), _comment(text)
    if end is not None and (comment < 0 or end.start() < comment):
        raise YamlError(line, "a colon and a space inside a string: put the string in quotes%s" % (
            "" if first else ", or correct the indentation"))
    return text


def _uncommented(text: str) -> Tuple[str, bool]:
    """Return a plain value without the comment after it, and True if there was one."""
    start = _comment(text)
    return (text, False) if start < 0 else (text[:start], True)


def _comment(text: str) -> int:
    """Return the position of a comment and of the blanks before it; -1 if there is none."""
    at = text.find("#")
    while at > 0 and text[at - 1] not in " \t":
        at = text.find("#", at + 1)
    return len(text[:at].rstrip(" \t")) if at > 0 else at


def _resolved(line: int, text: str, strict: bool) -> Any:
    """Return the value of a plain string by the core schema of YAML 1.2; ``strict``: if YAML 1.1 agrees."""
    if text in _WORDS:
        return _WORDS[text]
    if strict and _DIFFERS.match(text) and not _AGREED.match(text):
        raise YamlError(line, "%.40s is a string for some YAML readers only: write \"%.40s\" if it is a string, "
                              "otherwise true, false, or a decimal number" % (text, text))
    if _NO_NUMBER.match(text):
        raise YamlError(line, "JSON has no %s: put it in quotes" % text)
    if _INTEGER.match(text):
        value = (int(text, 0) if text[:2] in ("0x", "0o") else int(text)) if len(text) <= 20 else SAFE + 1
        if abs(value) > SAFE:
            raise YamlError(line, "the integer %.40s is too large for JavaScript: put it in quotes" % text)
        return value
    if _FLOAT.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise YamlError(line, "the number %.40s is too large: put it in quotes" % text)
        return int(number) if not strict and number.is_integer() and abs(number) <= SAFE and number else number
    return text


class _Flow:
    """A quoted string, or a value in brackets, on one line."""

    def __init__(self, line: int, text: str, depth: int, strict: bool) -> None:
        self._line = line
        self._text = text
        self._depth = depth
        self._strict = strict
        self._blanks = " " if strict else " \t"
        self._at = 0

    def rest(self) -> str:
        """Return the unread text."""
        return self._text[self._at:]

    def end(self) -> None:
        """Raise `YamlError` if anything but a comment follows."""
        rest = self.rest()
        blanks = rest[:len(rest) - len(rest.lstrip(self._blanks))]
        if rest != blanks and not (blanks and rest[len(blanks)] == "#"):
            raise self._error("%.20r after the end of the value: put the whole string in quotes" % rest.strip())

    def value(self) -> Any:
        """Return the value that begins here."""
        sign = self._next("a value")
        if sign in "\"'":
            return self.quoted()
        if sign == "[":
            return self._inside("]", self._items)
        return self._inside("}", self._members) if sign == "{" else self._plain()

    def quoted(self) -> str:
        """Return the quoted string that begins here."""
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
        raise self._error("the quotes are not closed on their line; write a long string as a block after | or >")

    def _escaped(self) -> str:
        """Return the character of an escape, after its backslash."""
        sign = self._text[self._at:self._at + 1]
        self._at += 1
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        digits = self._text[self._at:self._at + _CODES.get(sign, 0)]
        if sign not in _CODES or len(digits) < _CODES[sign] or digits.strip(hexdigits):
            raise self._error("invalid escape \\%s: write \\\\%s, or use single quotes" % (sign, sign))
        self._at += len(digits)
        code = int(digits, 16)
        if 0xd800 <= code < 0xe000 or code > 0x10ffff:
            raise self._error("\\%s%s is not a character: write the character itself" % (sign, digits))
        return chr(code)

    def _inside(self, close: str, read_one: Any) -> Any:
        self._at += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error("nested deeper than %d levels" % MAX_DEPTH)
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
            if not quoted or not isinstance(key, str):
                _check_key(self._line, str(key), key)
            if key in found:
                raise self._error("duplicate key %s" % key)
            following = self._text[self._at + 1:self._at + 2]
            if self._next("a colon") != ":" or (self._strict or not quoted) and following not in " \t,}":
                raise self._error("expected \": \" after the key %s" % key)
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
            raise self._error("expected a comma or %s before %.20r: put the string in quotes" % (close, self.rest()))

    def _plain(self) -> Any:
        start = self._at
        match = _FLOW_END.search(self._text, start)
        self._at = len(self._text) if match is None else match.start()
        text = self._text[start:self._at].rstrip(" \t")
        if not text:
            raise self._error("expected a value before %.20r" % self.rest())
        _plain_part(self._line, text)
        if text[0] in "|>#" or self._strict and (text[0] == ":" or "?" in text):
            raise self._error(_QUOTES % text[0] if text[0] in "|>#:" else "a ? in brackets needs quotes")
        return _resolved(self._line, text, self._strict)

    def _next(self, wanted: str) -> str:
        """Return the next character that is not white space."""
        while self._at < len(self._text) and self._text[self._at] in self._blanks:
            self._at += 1
        if self._at == len(self._text) or self._text[self._at] == "#" and self._text[self._at - 1] in " \t":
            raise self._error("expected %s before the end of the line; close brackets on their line" % wanted)
        return self._text[self._at]

    def _error(self, reason: str) -> YamlError:
        return YamlError(self._line, reason)
