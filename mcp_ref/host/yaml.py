"""The part of YAML in which configuration files are written; of the rest it says where it is and what to write instead.

=====================  ================================================================================================
read                   maps and lists in block form; texts, quoted or not; ``[a, b]`` and ``{a: b}`` on one line; texts
                       in lines below ``|``; comments; ``---`` at the start
refused                tabs, anchors, aliases, tags, merge keys, several documents, ``>``, values that go on in the next
                       line, keys that are there twice; what one version of YAML takes for something else than another:
                       ``no``, ``on``, ``0x1``, ``012``, ``1e3``, ``12:30``, dates
=====================  ================================================================================================

YAML 1.1 and 1.2 agree on all that is read here [YAML 1.2.2 §10.3 Core Schema; YAML 1.1 types].
"""

import re
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Tuple

MAX_DEPTH = 50
_BREAKS = re.compile("\r\n|\n")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}\Z", re.ASCII)
_CONSTANTS: Dict[str, Any] = {word: value for name, value in (("null", None), ("true", True), ("false", False))
                              for word in (name, name.capitalize(), name.upper())}
_CONSTANTS["~"] = None
_DIFFERS = re.compile(
    r"(?:[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"
    r"|[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?0[box][0-9a-fA-F_]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?|=|<<)\Z", re.ASCII)
"""Unquoted values that some version or reader of YAML takes for no text."""
_QUOTED_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*') *:(?=\s|\Z)""")
_COLON = re.compile(r":(?=\s|\Z)")
_COMMENT = re.compile(" #")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
            " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
_REFUSED = {"&": "an anchor: write the value itself at each place", "*": "an alias: write the value itself",
            "!": "a tag: leave it out", "%": "a directive: leave it out, or put the text in quotes",
            "@": "no beginning of a text: put it in quotes", "`": "no beginning of a text: put it in quotes",
            ">": "a folded text: write it on one line in quotes, or below |",
            ",": "no beginning of a text: put it in quotes",
            "}": "a bracket that does not begin: put a text in quotes",
            "]": "a bracket that does not begin: put a text in quotes"}


class Block(NamedTuple):
    """The place of a member at the top of a file."""

    first: int
    """The number of its line, from 0."""
    last: int
    """The number of its last line that is not empty and no comment alone."""
    indent: int
    """The column in which its value's lines begin; -1 where it has no lines of its own."""


class _YamlLine(NamedTuple):
    number: int
    indent: int
    text: str
    """The line without indentation, and with its comment."""


def read_yaml(text: str) -> Any:
    """Return the value of a text. Raises ValueError that names the line."""
    return _YamlReader(text).document()


def blocks(text: str) -> Dict[str, Block]:
    """Return where the members of a map at the top stand. Raises ValueError as `read_yaml`."""
    reader = _YamlReader(text)
    reader.document()
    return reader.tops


def reads_as_text(word: str) -> bool:
    """Return True if a word without quotes is that text for every reader."""
    return bool(re.match(r"[A-Za-z_][\w.-]*\Z", word, re.ASCII)) and word not in _CONSTANTS and not _DIFFERS.match(word)


class _YamlReader:
    """A text, line by line."""

    def __init__(self, text: str) -> None:
        self.tops: Dict[str, Block] = {}
        self._raw = _BREAKS.split(text)
        self._lines: List[_YamlLine] = []
        self._at = 0
        self._literal_end = 0
        for number, raw in enumerate(self._raw):
            found = _UNPRINTABLE.search(raw)
            if found:
                _refuse(number, "the character U+%04X: write it as an escape in double quotes" % ord(found.group()))
            stripped = raw.lstrip(" ")
            if stripped and not stripped.startswith("#"):
                self._lines.append(_YamlLine(number, len(raw) - len(stripped), stripped))

    def document(self) -> Any:
        if self._lines and re.match(r"---(?: |\Z)", self._lines[0].text) and not self._lines[0].indent:
            if _after_value(self._lines[0].text[3:]):
                _refuse(self._lines[0].number, "a value after ---: write it in the next line")
            self._at = 1
        value = None
        if self._line() is not None:
            value = self._node(self._lines[self._at].indent, 0)
        left = self._line()
        if left is not None:
            _refuse(left.number, "this line does not go with those before: look at its indentation")
        return value

    def _line(self) -> Optional[_YamlLine]:
        if self._at >= len(self._lines):
            return None
        line = self._lines[self._at]
        if not line.indent and re.match(r"(?:---|\.\.\.)(?: |\Z)", line.text):
            _refuse(line.number, "%s: write one document only, and leave this line out" % line.text[:3])
        if line.text.startswith("\t"):
            _refuse(line.number, "a tab before the text: indent by spaces")
        return line

    def _node(self, indent: int, depth: int) -> Any:
        """Read the value that begins in this line."""
        line = self._lines[self._at]
        if depth > MAX_DEPTH:
            _refuse(line.number, "nested deeper than %d levels" % MAX_DEPTH)
        if re.match(r"-(?:\s|\Z)", line.text):
            return self._list(indent, depth)
        if re.match(r"\?(?:\s|\Z)", line.text):
            _refuse(line.number, "a key after ?: write KEY: VALUE")
        if _key_end(line.text):
            return self._map(indent, depth)
        self._at += 1
        value = _inline(line.number, line.text)
        self._refuse_more(line.number, indent - 1)
        return value

    def _list(self, indent: int, depth: int) -> List[Any]:
        found: List[Any] = []
        while True:
            line = self._line()
            if line is None or line.indent != indent or not re.match(r"-(?:\s|\Z)", line.text):
                self._expect_less(line, indent)
                return found
            rest = line.text[1:].lstrip(" ")
            if rest.startswith("\t"):
                _refuse(line.number, "a tab after -: write a space")
            if not _after_value(line.text[1:]):
                self._at += 1
                found.append(self._below(indent + 1, depth))
            elif re.match(r"-(?:\s|\Z)", rest) or _key_end(rest):
                inner = indent + len(line.text) - len(rest)
                self._lines[self._at] = _YamlLine(line.number, inner, rest)
                found.append(self._node(inner, depth + 1))
            else:
                self._at += 1
                found.append(self._value(line.number, rest, indent))

    def _map(self, indent: int, depth: int) -> Dict[str, Any]:
        found: Dict[str, Any] = {}
        while True:
            line = self._line()
            if line is None or line.indent != indent:
                self._expect_less(line, indent)
                return found
            end = _key_end(line.text)
            if not end:
                if re.match(r"-(?:\s|\Z)", line.text):
                    return found  # of the list to which this map belongs
                _refuse(line.number, "no KEY: VALUE, as the lines before")
            key = _key(line.number, line.text[:end - 1].rstrip(" "))
            if key in found:
                _refuse(line.number, "%s is there already" % key)
            rest = line.text[end:]
            self._at += 1
            if _after_value(rest):
                found[key] = self._value(line.number, rest.strip(" "), indent)
                inner = -1
            else:
                below = self._line()
                inner = below.indent if below is not None else -1
                same = below is not None and inner == indent and re.match(r"-(?:\s|\Z)", below.text)
                found[key] = self._below(indent if same else indent + 1, depth)
                inner = inner if found[key] is not None else -1
            if not depth:
                self.tops[key] = Block(line.number, self._last(), inner)

    def _last(self) -> int:
        """Return the number of the last line that was read."""
        return max(self._lines[self._at - 1].number, self._literal_end)

    def _below(self, least: int, depth: int) -> Any:
        """Read the value that begins in the next line, if that is indented enough; None if there is none."""
        line = self._line()
        return None if line is None or line.indent < least else self._node(line.indent, depth + 1)

    def _value(self, number: int, text: str, indent: int) -> Any:
        """Read a value that begins behind a key or a dash, in a line of this indentation."""
        if text.startswith("|"):
            return self._literal(number, text, indent)
        value = _inline(number, text)
        self._refuse_more(number, indent)
        return value

    def _literal(self, number: int, text: str, indent: int) -> str:
        match = re.match(r"\|([-+]?) *(?: #.*)?\Z", text)
        if match is None:
            _refuse(number, "| with more behind it: write the text in quotes")
        lines: List[str] = []
        inner = None
        last = number
        for raw in self._raw[number + 1:]:
            here = len(raw) - len(raw.lstrip(" "))
            blank = not raw.strip(" ")
            if not blank and here <= indent:
                break
            if not blank and inner is None:
                inner = here
                if any(len(each) > inner for each in lines):
                    _refuse(number + 1, "an empty line with more spaces than the text below it: take them out")
            if not blank and here < (inner or 0):
                _refuse(last + 1, "less indented than the text before: look at its indentation")
            lines.append(raw)
            last += 1
            self._literal_end = self._literal_end if blank else last
        while self._at < len(self._lines) and self._lines[self._at].number <= last:
            self._at += 1
        text = "\n".join("" if inner is None else line[inner:] for line in lines)
        if lines:
            text += "\n"
        body = text.rstrip("\n") if inner is not None else ""
        if last + 1 == len(self._raw):
            text = text[:-1]  # the last line has no end
        if match.group(1) == "+":
            return text
        return body if match.group(1) == "-" or not body or not text.endswith("\n") else body + "\n"

    def _refuse_more(self, number: int, indent: int) -> None:
        line = self._line()
        if line is not None and line.indent > indent:
            _refuse(line.number, "the value of line %d goes on here: write it on one line" % (number + 1))

    def _expect_less(self, line: Optional[_YamlLine], indent: int) -> None:
        if line is not None and line.indent > indent:
            _refuse(line.number, "indented more than the lines before")


def _refuse(number: int, what: str) -> NoReturn:
    raise ValueError("line %d: %s" % (number + 1, what))


def _after_value(text: str) -> str:
    """Return a text that may be a comment alone: "" if it is."""
    text = text.strip(" ")
    return "" if text.startswith("#") else text


def _key_end(text: str) -> int:
    """Return where the value begins in ``KEY: VALUE``, behind the colon; 0 in another text."""
    if text[0] in "[{":
        return 0
    if text[0] in "\"'":
        quoted = _QUOTED_KEY.match(text)
        return quoted.end() if quoted else 0
    colon, comment = _COLON.search(text), _COMMENT.search(text)
    return 0 if colon is None or comment is not None and comment.start() < colon.start() else colon.end()


def _key(number: int, text: str) -> str:
    if not text:
        _refuse(number, "a colon without a key")
    value = _scalar(number, text)
    if not isinstance(value, str):
        _refuse(number, "the key %s is no text: put it in quotes" % text)
    return value


# Values on one line

_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SPACES = re.compile(" *")
_PLAIN_INSIDE = re.compile(r"[^,\[\]{}:#?](?:[^,\[\]{}:#?]|:(?![\s,\[\]{}]|\Z)|(?<! )#)*")
"""A text without quotes inside brackets, where older readers take a question mark for something else."""


def _inline(number: int, text: str) -> Any:
    """Return the value of a text with a comment behind it, perhaps."""
    if text[0] in "[{":
        value, end = _flow(number, text, 0, 0)
    elif text[0] in "\"'":
        value, end = _quoted(number, text, 0)
    else:
        comment = _COMMENT.search(text)
        return _scalar(number, (text[:comment.start()] if comment else text).rstrip(" "))
    rest = text[end:]
    if rest and (_after_value(rest) or not rest.startswith(" ")):
        _refuse(number, "%.20s behind the value: put the whole text in quotes" % rest.strip())
    return value


def _scalar(number: int, text: str) -> Any:
    """Return the value of a text that is quoted as a whole, or not at all."""
    if text[:1] in ("'", '"'):
        value, end = _quoted(number, text, 0)
        if text[end:]:
            _refuse(number, "%.20s behind the quotes" % text[end:])
        return value
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[:1] in _REFUSED:
        _refuse(number, "%s is %s" % (text[:1], _REFUSED[text[:1]]))
    if "\t" in text:
        _refuse(number, "a tab: write spaces, or \\t in double quotes")
    if _COLON.search(text) or text[:1] in "[{|" or re.match(r"[-?](?:\s|\Z)", text):
        _refuse(number, "%.40s is no plain text: put it in quotes" % text)
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _DIFFERS.match(text):
        _refuse(number, "%.40s is a text for some readers of YAML, and something else for others: write \"%.40s\" if "
                        "it is a text, or else true, false, or a decimal number" % (text, text))
    return text


def _quoted(number: int, text: str, at: int) -> Tuple[str, int]:
    """Return a text in quotes, and where it ends."""
    match = (_SINGLE if text[at] == "'" else _DOUBLE).match(text, at)
    if match is None:
        _refuse(number, "the quotes do not end in this line")
    if text[at] == "'":
        return match.group(1).replace("''", "'"), match.end()

    def sign(found: "re.Match[str]") -> str:
        name = found.group(1)
        if len(name) == 1:
            if name not in _ESCAPES:
                _refuse(number, "\\%s is no escape: write \\\\%s, or use single quotes" % (name, name))
            return _ESCAPES[name]
        code = int(name[1:], 16)
        if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
            _refuse(number, "\\%s is no character: write the character itself" % name)
        return chr(code)

    return _ESCAPE.sub(sign, match.group(1)), match.end()


def _flow(number: int, text: str, at: int, depth: int) -> Tuple[Any, int]:
    """Return a list or a map in brackets, and where it ends."""
    if depth > MAX_DEPTH:
        _refuse(number, "nested deeper than %d levels" % MAX_DEPTH)
    is_list, closing = text[at] == "[", "]" if text[at] == "[" else "}"
    items: List[Any] = []
    members: Dict[str, Any] = {}
    at = _after_spaces(text, at + 1)
    while not text.startswith(closing, at):
        value, at = _flow_value(number, text, at, depth)
        if is_list:
            items.append(value)
        else:
            if not text.startswith(": ", at) or not isinstance(value, str):
                _refuse(number, "in braces write KEY: VALUE, each KEY a text")
            if value in members:
                _refuse(number, "%s is there already" % value)
            members[value], at = _flow_value(number, text, _after_spaces(text, at + 1), depth)
        if text.startswith(",", at):
            at = _after_spaces(text, at + 1)
        elif not text.startswith(closing, at):
            _refuse(number, "%.20s in brackets: put the text in quotes" % text[at:]
                    if _after_value(text[at:at + 20]) else _OPEN)
    return (items if is_list else members), at + 1


_OPEN = "the bracket does not end in this line: write the whole value on one line"


def _flow_value(number: int, text: str, at: int, depth: int) -> Tuple[Any, int]:
    """Return a value inside brackets, and where the next sign behind it stands."""
    value: Any
    if text.startswith(("[", "{"), at):
        value, at = _flow(number, text, at, depth + 1)
    elif text.startswith(("'", '"'), at):
        value, at = _quoted(number, text, at)
    else:
        match = _PLAIN_INSIDE.match(text, at)
        if match is None:
            _refuse(number, "a value is missing in the brackets" if _after_value(text[at:at + 20]) else _OPEN)
        value, at = _scalar(number, match.group().rstrip(" ")), match.end()
    return value, _after_spaces(text, at)


def _after_spaces(text: str, at: int) -> int:
    return _SPACES.match(text, at).end()  # type: ignore[union-attr]
