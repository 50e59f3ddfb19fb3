"""A docstring begins with its subject or with a verb, and speaks the language of the field.

Checked are the docstrings of modules, classes and functions, and the texts below attributes. The first word of each is
an imperative verb or a noun, never a word of `SUBJECTLESS`: "Return whether ..." or "True if ..." in place of
"Whether ...", "The function that ..." in place of "What ...". Words of `DIALECT` may not occur anywhere.
"""
import ast
import pathlib
import re
from typing import Iterator, NamedTuple

import pytest

from tests.meta.facts import PACKAGE, expect_nothing, python_files, shown, statements, tree_of

SUBJECTLESS = frozenset((
    "whether", "what", "whatever", "who", "whoever", "whom", "whose", "how", "where", "wherever", "which", "why",
    "and", "or", "but", "so", "also", "else", "likewise", "see", "it", "its", "they", "those", "that", "none", "once",
    "the same", "same", "again", "further", "back",
))
"""Openings that leave the reader without the thing that is described."""
DIALECT = ("whoever", "whosoever", "likewise", "once more", "errand", "grip", "crew", "standstill", "hang up", "let go")
"""Words and metaphors of the package's own, which say less than the field's words."""
_DIALECT = re.compile(r"(?<![\w.`])(%s)\b(?![.(])" % "|".join(DIALECT), re.IGNORECASE)
_FIRST = re.compile(r"[`\"'(]*(the same|\w*)", re.IGNORECASE)


class Text(NamedTuple):
    """A docstring, or the text below an attribute, and its place."""

    path: pathlib.Path
    line: int
    text: str

    def fault(self) -> str:
        """Return what is wrong with it, or ""."""
        first = _FIRST.match(self.text)
        if first and first.group(1).lower() in SUBJECTLESS:
            return "begins with %r" % first.group(1)
        found = _DIALECT.search(self.text)
        return "says %r" % found.group() if found else ""


def texts(path: pathlib.Path) -> Iterator[Text]:
    """Yield the texts of a module: every string that is a statement of its own."""
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Text(path, node.lineno, node.value.value.strip())


def test_every_docstring_opens_with_its_subject_and_speaks_the_language_of_the_field() -> None:
    expect_nothing(["%s:%d %s: %.60s" % (shown(path), each.line, each.fault(), each.text.replace("\n", " "))
                    for path in python_files("mcp_ref") for each in texts(path) if each.fault()])


@pytest.mark.parametrize("text, fault", [
    ("Return whether it is open.", ""), ("The request that is answered.", ""), ("True if it is open.", ""),
    ("Whether it is open.", "begins with 'Whether'"), ("the same, of a session", "begins with 'the same'"),
    ("None: nothing.", "begins with 'None'"), ("`Which` is a class.", "begins with 'Which'"), ("Whetstones.", ""),
    ("Tell the peer and whoever waits.", "says 'whoever'"), ("", ""),
])
def test_what_is_refused(text: str, fault: str) -> None:
    assert Text(PACKAGE, 1, text).fault() == fault
