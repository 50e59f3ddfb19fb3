'''The description of a function and of each of its parameters, read from its docstring.

Three styles are understood, also mixed::

    Args:                         Parameters                    :param city: where
        city (str): where         ----------                    :type city: str
            exactly               city : str                    @param city: where
        days: how many                where exactly

The description is the text before the first section about parameters, results or exceptions; a
section of another name (Example, Note) is ordinary text. Type texts are skipped: the schema has them.
'''

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

PARAMETER_SECTIONS = frozenset(
    "args arguments parameters params attributes".split() + ["keyword args", "keyword arguments", "other parameters"]
)
"""Headings, in lower case, under which parameters (or the fields of a class) are described."""

OTHER_SECTIONS = frozenset("return returns yield yields raises except exceptions warns receives".split())
"""Headings of what a caller of Python sees; they end the description."""

_HEADING = re.compile(r"([A-Za-z]+(?: [A-Za-z]+)?):?\s*$")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\)\s*)?:(?:\s+(.*)|$)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r"[:@](?:param|parameter|arg|argument|key|keyword)\s([^:]*):\s*(.*)")
_ANY_FIELD = re.compile(r"(?::|@)(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|yields?)\b.*:")


class Docstring(NamedTuple):
    """The description of the function, and parameter -> description in one line."""

    description: str
    parameters: Dict[str, str]


def parse(text: Optional[str]) -> Docstring:
    """Parse a docstring. None has an empty description and no parameters."""
    lines = clean(text or "")
    if len(lines) < 2:
        return Docstring("".join(lines), {})
    found: Dict[str, List[str]] = {}
    end = len(lines)
    for number in range(len(lines)):
        section = _section_at(lines, number)
        if section is None:
            continue
        end = min(end, number)
        for name, piece in section:
            found.setdefault(name, []).append(piece)
    parameters = {name: " ".join(" ".join(pieces).split()) for name, pieces in found.items()}
    return Docstring("\n".join(lines[:end]).strip(), {name: text for name, text in parameters.items() if text})


def clean(text: str) -> List[str]:
    """Return the lines without common indentation and without blank ones at the ends, as `inspect.cleandoc` does."""
    first, *rest = text.expandtabs().split("\n")
    margin = min((_indent(line) for line in rest if line.strip()), default=0)
    lines = [first.strip()] + [line[margin:].rstrip() for line in rest]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


Pieces = Iterator[Tuple[str, str]]
"""Pairs of a parameter and a piece of its text; a parameter may have several pieces."""


def _section_at(lines: List[str], number: int) -> Optional[Pieces]:
    """Return the descriptions from this line on, if a section or field begins here; None for ordinary text."""
    line = lines[number]
    if _ANY_FIELD.match(line):
        return _field(lines, number)
    heading = _HEADING.match(line)
    if heading is None:
        return None
    name = heading.group(1).lower()
    if name not in PARAMETER_SECTIONS and name not in OTHER_SECTIONS:
        return None
    following = lines[number + 1] if number + 1 < len(lines) else ""
    if len(following) >= 3 and not following.strip("-"):
        return _numpy(lines, number + 2) if name in PARAMETER_SECTIONS else iter(())
    if line.rstrip().endswith(":") and (not following or _indent(following)):
        return _google(lines, number + 1) if name in PARAMETER_SECTIONS else iter(())
    return None


def _google(lines: List[str], start: int) -> Pieces:
    """Yield the entries of an indented block; deeper lines continue the entry above."""
    base = None
    name = ""
    for line in lines[start:]:
        if not line.strip():
            continue
        indent = _indent(line)
        if not indent:
            return
        base = indent if base is None else base
        entry = _GOOGLE_ENTRY.match(line.strip()) if indent <= base else None
        if entry is not None:
            name = entry.group(1)
        if name:
            yield name, (entry.group(2) or "") if entry is not None else line.strip()


def _numpy(lines: List[str], start: int) -> Pieces:
    """Yield the entries at the margin with their indented text, up to the next underlined heading."""
    names: List[str] = []
    for number, line in enumerate(lines[start:], start):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if len(following) >= 3 and not following.strip("-"):
            return
        if _indent(line):
            for name in names:
                yield name, line.strip()
        elif line:
            entry = _NUMPY_ENTRY.match(line)
            names = [part.strip(" *") for part in entry.group(1).split(",")] if entry is not None else []


def _field(lines: List[str], start: int) -> Pieces:
    """Yield the pieces of one field; the lines below continue it until a blank one or the next field."""
    field = _FIELD.match(lines[start])
    name = field.group(1).rpartition(" ")[2].lstrip("*") if field is not None else ""
    if field is None or not name.isidentifier():
        return
    yield name, field.group(2)
    for line in lines[start + 1:]:
        if not line.strip() or line[0] in ":@":
            return
        yield name, line.strip()
