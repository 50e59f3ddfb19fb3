"""The frontmatter of a text, as far as it can be read without doubt: YAML has many forms, and the plainest are enough.

>>> read("---\\nname: pdf\\nlicense: 'MIT'\\nsize: 3\\n---\\n# PDF").values
{'name': 'pdf', 'license': 'MIT'}
"""

import re
from typing import Dict, List, NamedTuple, Optional

_LINES = 1024
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*?))?[ \t]*\Z", re.DOTALL)
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_DOUBLE = re.compile(r'"([^"\\]*)"(?:[ \t]+#.*)?\Z')
_SINGLE = re.compile(r"'((?:[^']|'')*)'(?:[ \t]+#.*)?\Z")


class Frontmatter(NamedTuple):
    """The fields of a text's frontmatter."""

    values: Dict[str, str]
    """The fields that are strings without doubt."""
    others: List[str]
    """The fields whose values are not read: numbers, lists, objects, texts of several lines."""
    whole: bool
    """True if these are all the fields."""


def read(text: str) -> Optional[Frontmatter]:
    """Return the frontmatter of a text; None if it has none."""
    lines = text.lstrip("\ufeff").split("\n", _LINES)
    if lines[0].rstrip() != "---":
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return None
    values: Dict[str, str] = {}
    others: List[str] = []
    whole, last = True, ""
    for line in lines[1:end]:
        line = line.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line)
        if found is not None:
            last, value = found.group(1), _string(found.group(2) or "")
            if value is None:
                others.append(last)
            else:
                values[last] = value
        elif line[0] in " \t-" and last:  # the value goes on
            if values.pop(last, None) is not None:
                others.append(last)
        else:
            whole = False
    return Frontmatter(values, others, whole and len(lines) <= _LINES)


def _string(written: str) -> Optional[str]:
    """Return the string that a scalar is; None if it may be anything else."""
    double, single = _DOUBLE.match(written), _SINGLE.match(written)
    if double is not None:
        return double.group(1)
    if single is not None:
        return single.group(1).replace("''", "'")
    if not written[:1].isalpha() or written.lower() in _WORDS or ": " in written or " #" in written or (
            written.endswith(":") or "\t" in written):
        return None
    return written
