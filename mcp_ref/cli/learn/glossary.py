"""The words of a session for its page: methods and types, as `explain` describes them, in the revisions in force."""

import re
from typing import Any, Dict, Iterable, Tuple

from ...revisions import NAMES, revision
from . import entries, facts

_NAME = re.compile(r"[A-Z]\w+")


def glossary(used: Iterable[Tuple[str, str]]) -> Dict[str, Any]:
    """Return by revision an object of ``methods`` and ``types``, of the methods used and all types that they need.

    ``used``: revisions and methods; what this package does not know is left out.
    """
    found: Dict[str, Any] = {}
    for name, called in sorted(used):
        if name not in NAMES or called not in facts.method_names():
            continue
        words = found.setdefault(name, {"methods": {}, "types": {}})
        described = entries.method(called, (revision(name),))
        if described is None:
            continue
        row = described["rows"][-1]
        words["methods"][called] = {
            "text": described["text"], "url": described["url"], "page": row["page"], "params": row["params"] or "",
            "result": row["result"] or "", "otherResult": row["otherResult"] or ""}
        for part in ("params", "result", "otherResult"):
            _add_type(words["types"], row[part] or "", name)
    return found


def _add_type(types: Dict[str, Any], text: str, name: str) -> None:
    """Add the types that a text names, and those that these need."""
    waiting = _NAME.findall(text)
    while waiting:
        each = waiting.pop()
        if each in types or facts.page_of(each) is None:
            continue
        described = entries.type_(each, (revision(name),))
        if described is None:
            continue
        if "members" in described:
            types[each] = {"text": described["text"], "page": described["page"], "members": {
                row["name"]: {"type": row["spans"][-1]["type"], "required": row["spans"][-1]["required"],
                              "note": row["note"]} for row in described["members"]}}
            waiting += [found for row in described["members"] for found in _NAME.findall(row["spans"][-1]["type"])]
        else:
            types[each] = {"alternatives": str(described["spans"][-1]["type"])}
            waiting += _NAME.findall(types[each]["alternatives"])
