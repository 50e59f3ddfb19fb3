"""Citations and readings in the sources of this package, and the tests that hold a requirement.

Sources are read from the folder or the archive that the package was loaded from, each time a command asks. A citation
stands in brackets in a docstring or a comment: revisions, page, § and heading. A reading is the text behind that word
and a colon, up to the end of its paragraph: a decision where the specification leaves a choice.
"""

import ast
import io
import os
import re
import tokenize
from functools import lru_cache
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ..copying.parts import files, package_name

_DATE = r"20\d\d-\d\d-\d\d"
_WINDOW = r"(?:{0}\.\.{0}|{0}\.\.|\.\.{0}|\.\.|{0})".format(_DATE)
_CITATION = re.compile(r"\[(%s)\s+(?:#:?\s*)?([^\s§\[\]]+)(?:\s+(?:#:?\s*)?§([^\[\]]+))?\]" % _WINDOW)
_OTHER = re.compile(r"\[(?:RFC|JSON)[^\[\]]*\]")
"""A citation of another standard."""
_BREAK = re.compile(r"\s*\n\s*(?:#:?\s*)?")
_MARKER = re.compile(r"\bReadings?(?:, too)?: ")


class Citation(NamedTuple):
    """A citation of the specification; ``heading`` is "" where a page is cited as a whole."""

    window: str
    page: str
    heading: str
    file: str
    """The file below the package's folder, with the package's name in front."""
    line: int

    @property
    def place(self) -> str:
        """The place as editors and tracebacks write it: ``mcp_ref/jsonrpc.py:12``."""
        return "%s:%d" % (self.file, self.line)

    def __str__(self) -> str:
        return "[%s %s%s]" % (self.window, self.page, " §" + self.heading if self.heading else "")


class Passage(NamedTuple):
    """A docstring or a run of comments: its lines, without quotes, signs of comments and indentation."""

    file: str
    line: int
    """The number of its first line."""
    lines: List[str]


class Reading(NamedTuple):
    """A decision where the specification leaves a choice."""

    file: str
    line: int
    text: str
    citations: List[str]
    """The citations inside the reading, or else the last one before it in the same file."""

    @property
    def place(self) -> str:
        """The place, as in `Citation`."""
        return "%s:%d" % (self.file, self.line)


@lru_cache(maxsize=None)
def _texts() -> Tuple[Tuple[str, str], ...]:
    """The sources of the package: name and text of each file."""
    name = package_name().rpartition(".")[2]
    return tuple(("%s/%s" % (name, path), data.decode("utf-8")) for path, data in files().items()
                 if path.endswith(".py"))


@lru_cache(maxsize=None)
def citations() -> Tuple[Citation, ...]:
    """Return every citation of the specification in the package, in the order of the files."""
    return tuple(each for file, text in _texts() for each in _citations(file, text))


def _citations(file: str, text: str) -> Iterator[Citation]:
    for found in _CITATION.finditer(text):
        window, page, heading = found.groups("")
        yield Citation(window, page, _BREAK.sub(" ", heading).strip(), file, text.count("\n", 0, found.start()) + 1)


@lru_cache(maxsize=None)
def readings() -> Tuple[Reading, ...]:
    """Return every reading in the package, in the order of the files."""
    found = [each for file, text in _texts() if _MARKER.search(text.replace("\n", " "))
             for passage in _passages(file, text) for each in _readings(passage, text)]
    return tuple(sorted(found, key=lambda each: (each.file, each.line)))


def _passages(file: str, text: str) -> Iterator[Passage]:
    """The docstrings (those below attributes, too) and the comments of a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = node.value.value.split("\n")
            last = node.end_lineno if node.end_lineno is not None else node.lineno
            yield Passage(file, last - len(lines) + 1, [line.strip() for line in lines])
    run: List[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            behind = bool(token.line[:token.start[1]].strip())  # code on the same line: a passage of its own
            if run and (behind or token.start[0] != last + 1):
                yield Passage(file, last - len(run) + 1, run)
                run = []
            run.append(token.string.lstrip("#:").strip())
            last = token.start[0]
    if run:
        yield Passage(file, last - len(run) + 1, run)


def _readings(passage: Passage, source: str) -> Iterator[Reading]:
    text = "\n".join(passage.lines)
    marks = list(_MARKER.finditer(text.replace("\n", " ")))
    for number, mark in enumerate(marks):
        said = text[mark.end():marks[number + 1].start() if number + 1 < len(marks) else len(text)]
        said = said[:_paragraph_end(said)]
        line = passage.line + text.count("\n", 0, mark.start())
        cited = _cited(said) or _cited(text[:mark.start()])[-1:]
        if not cited:  # the last one of the file before it says which page is being read
            cited = [str(each) for each in _citations(passage.file, source) if each.line < line][-1:]
        yield Reading(passage.file, line, " ".join(said.split()), cited)


def _cited(text: str) -> List[str]:
    """The citations in a text, of other standards, too, in their order and each once."""
    found = sorted([*_CITATION.finditer(text), *_OTHER.finditer(text)], key=lambda each: each.start())
    return list(dict.fromkeys(" ".join(each.group(0).split()) for each in found))


def _paragraph_end(text: str) -> int:
    """The end of a paragraph: an empty line, the lower edge of a table, or the end. A list below belongs to it."""
    found = re.search(r"\n(?:\s*\n(?!- )|=+[ =]*(?:\n|$))", text)
    return found.start() if found else len(text)


def tests_of(requirement: str) -> Optional[List[str]]:
    """The lines of tests that name a requirement, as ``file:line``; None outside of a checkout."""
    checkout = os.path.dirname(os.path.realpath(_folder()))
    tests = os.path.join(checkout, "tests")
    if not os.path.isfile(os.path.join(tests, "requirements.py")):
        return None
    found, sought = [], '"%s"' % requirement
    for place, folders, names in os.walk(tests):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as file:
                    shown = os.path.relpath(path, checkout).replace(os.sep, "/")
                    found += ["%s:%d" % (shown, number) for number, line in enumerate(file, 1) if sought in line]
    return found


def _folder() -> str:
    from importlib import import_module

    return str(import_module(package_name()).__path__[0])
