"""A docstring begins with its subject or with a verb, and speaks the language of the field.

Checked are the docstrings of modules, classes and functions, and the texts below attributes. The first word of each is
an imperative verb or a noun, never a word of `SUBJECTLESS`: "Return whether ..." or "True if ..." in place of
"Whether ...", "The function that ..." in place of "What ...". Words of `DIALECT` may not occur anywhere.

Folders in `FOLDERS_DONE` have no such docstring. The others may have as many as `LEFT` says, and not one more or less:
`python3 tests/meta/test_prose.py` counts again, lowers the numbers, and moves to FOLDERS_DONE what has none left.
"""
import ast
import pathlib
import re
import sys
from typing import Dict, Iterator, List, NamedTuple

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tests.meta.facts import PACKAGE, expect_nothing, nodes_of, python_files, shown  # noqa: E402

# <table>
FOLDERS_DONE = (
    ".",
    "auth",
    "cli",
    "client",
    "crosscheck",
    "diagnostics",
    "host",
    "http11",
    "jsonschema",
    "messages",
    "peer",
    "protocol",
    "protocol/streamable_http",
    "server",
    "streamable",
    "transports",
    "uritemplate",
)
LEFT: Dict[str, int] = {}
# </table>

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
    for node in nodes_of(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Text(path, node.lineno, node.value.value.strip())


def folder_of(path: pathlib.Path) -> str:
    """Return the key of a module in the table: its folder below the package, "." for the modules beside the folders."""
    parts = path.relative_to(PACKAGE).parts[:-1]
    return "protocol/streamable_http" if parts[:2] == ("protocol", "streamable_http") else parts[0] if parts else "."


def faults() -> Dict[str, List[str]]:
    """Return by folder the texts that break a rule, one line each; every folder of the package is a key."""
    found: Dict[str, List[str]] = {}
    for path in python_files("mcp_ref"):
        lines = found.setdefault(folder_of(path), [])
        lines += ["%s:%d %s: %.60s" % (shown(path), each.line, each.fault(), each.text.replace("\n", " "))
                  for each in texts(path) if each.fault()]
    return found


def test_docstrings_of_finished_folders_open_with_their_subject() -> None:
    expect_nothing([line for folder, lines in faults().items() if folder in FOLDERS_DONE for line in lines])


def test_the_other_folders_have_as_many_as_the_table_says() -> None:
    found = faults()
    assert set(found) == set(FOLDERS_DONE) | set(LEFT), "run python3 tests/meta/test_prose.py"
    more = ["%s: %d instead of %d; the new ones are among:\n  %s" % (
        folder, len(found[folder]), LEFT[folder], "\n  ".join(found[folder]))
        for folder in LEFT if len(found[folder]) > LEFT[folder]]
    expect_nothing(more)
    expect_nothing(["%s: %d left, and LEFT says %d: run python3 tests/meta/test_prose.py" % (
        folder, len(found[folder]), LEFT[folder]) for folder in LEFT if len(found[folder]) < LEFT[folder]])


@pytest.mark.parametrize("text, fault", [
    ("Return whether it is open.", ""), ("The request that is answered.", ""), ("True if it is open.", ""),
    ("Whether it is open.", "begins with 'Whether'"), ("the same, of a session", "begins with 'the same'"),
    ("None: nothing.", "begins with 'None'"), ("`Which` is a class.", "begins with 'Which'"), ("Whetstones.", ""),
    ("Tell the peer and whoever waits.", "says 'whoever'"), ("", ""),
])
def test_what_is_refused(text: str, fault: str) -> None:
    assert Text(PACKAGE, 1, text).fault() == fault


def written(source: str, counts: Dict[str, int]) -> str:
    """Return the text of this module with the table for these counts."""
    done = "".join("\n    %r," % folder for folder in sorted(counts) if not counts[folder])
    left = "".join("\n    %r: %d," % (folder, counts[folder]) for folder in sorted(counts) if counts[folder])
    table = "FOLDERS_DONE = (%s)\nLEFT: Dict[str, int] = {%s}\n" % (done and done + "\n", left and left + "\n")
    return re.sub(r"(?<=# <table>\n).*?(?=# </table>)", lambda _: table.replace("'", '"'), source, flags=re.DOTALL)


def test_the_table_is_written_so_that_it_can_be_read() -> None:
    assert written("# <table>\nold\n# </table>\n", {"a": 0, "b": 2}) == (
        '# <table>\nFOLDERS_DONE = (\n    "a",\n)\nLEFT: Dict[str, int] = {\n    "b": 2,\n}\n# </table>\n')


if __name__ == "__main__":
    HERE = pathlib.Path(__file__)
    HERE.write_text(written(HERE.read_text(encoding="utf-8"), {folder: len(each) for folder, each in faults().items()}),
                    encoding="utf-8")
    if "-v" in sys.argv:
        print("\n".join(line for lines in faults().values() for line in lines))
