"""The command `diff`: the differences between two revisions, read off the rows of the tables.

``--json`` gives ``{"from", "to", "features", "methods", "types", "codes"}``, the last four arrays of changes.
Each change has ``change`` (added, removed, changed) and ``name`` (``code`` and ``name`` for an error code); a
feature has ``page`` or, where it is a value, ``before`` and ``after``; a changed method has ``traits`` (of
``name``, ``before``, ``after``), a changed type ``members`` (of ``change``, ``name``, ``before``, ``after``, each
null or ``{"type", "required"}``) or, if it is no message, ``before`` and ``after``. Arrays are empty where nothing
differs, all of them for a revision and itself.
"""

import argparse
from typing import Any, Dict, List, Optional

from ... import methods
from ...model import alternatives
from ...revisions import NAMES, Revision, differences, revision
from ..command import Command, Commands
from ..output import DONE, say, say_json
from . import facts

Change = Dict[str, Any]
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
_SIGNS = {ADDED: "+", REMOVED: "-", CHANGED: "~"}


def _diff(options: Any) -> int:
    found = changes(revision(options.before), revision(options.after))
    if options.json:
        say_json(found)
    else:
        say("\n".join(_text(found)))
    return DONE


def changes(before: Revision, after: Revision) -> Dict[str, Any]:
    """Return the differences as the module's docstring describes; either revision may be the older one."""
    return {
        "from": str(before),
        "to": str(after),
        "features": _features(before, after),
        "methods": _methods(before, after),
        "types": [*filter(None, (_compare(name, before, after) for name in facts.type_names()))],
        "codes": _codes(before, after),
    }


def _change(before: Any, after: Any) -> str:
    """Return the word for a change; a side that is falsy does not have the thing."""
    return CHANGED if before and after else ADDED if after else REMOVED


def _features(before: Revision, after: Revision) -> List[Change]:
    found = []
    for row in differences(before, after):
        if row.page is None:
            found.append({"change": CHANGED, "name": row.name, "before": row.before, "after": row.after})
        else:
            found.append({"change": _change(row.before, row.after), "name": row.name, "page": row.page})
    return found


def _methods(before: Revision, after: Revision) -> List[Change]:
    found = []
    for name in facts.method_names():
        old, new = (row and facts.traits(row) for row in (methods.lookup(name, before), methods.lookup(name, after)))
        if old == new:
            continue
        change: Change = {"change": _change(old, new), "name": name}
        if old and new:
            change["traits"] = [{"name": trait, "before": old[trait], "after": new[trait]}
                                for trait in old if old[trait] != new[trait]]
        else:
            change["traits"] = []
        found.append(change)
    return found


def _compare(name: str, before: Revision, after: Revision) -> Optional[Change]:
    hint = facts.type_named(name)
    if facts.is_message(hint) and hint.__name__ != name:
        return None  # another name of a type that is compared under its own
    there = facts.exists(hint, before), facts.exists(hint, after)
    if there[0] != there[1]:
        return {"change": _change(*there), "name": name}
    if facts.is_message(hint):
        inside = _members(facts.shapes(hint, before), facts.shapes(hint, after))
        return {"change": CHANGED, "name": name, "members": inside} if inside else None
    old, new = _alternatives(hint, before), _alternatives(hint, after)
    return {"change": CHANGED, "name": name, "before": old, "after": new} if old != new else None


def _alternatives(hint: Any, there: Revision) -> List[str]:
    parts = [part for part in alternatives(hint) if facts.exists(part, there)]
    return list(dict.fromkeys(facts.type_text(part, there) for part in parts))


def _members(old: Dict[str, facts.TypeShape], new: Dict[str, facts.TypeShape]) -> List[Change]:
    found = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before != after:
            found.append({"change": _change(before, after), "name": name, "before": before and before._asdict(),
                          "after": after and after._asdict()})
    return found


def _codes(before: Revision, after: Revision) -> List[Change]:
    old, new = facts.codes_in(before), facts.codes_in(after)
    return [{"change": _change(code in old, code in new), "code": code, "name": row.name, "page": row.page}
            for code, row in {**old, **new}.items() if (code in old) != (code in new)]


# In words


def _text(found: Dict[str, Any]) -> List[str]:
    lines = ["%s -> %s" % (found["from"], found["to"])]
    for title, in_words in (("features", _feature_text), ("methods", _method_text), ("types", _type_text),
                            ("codes", _code_text)):
        if found[title]:
            lines += ["", "%s: %d" % (title, len(found[title]))]
            for change in found[title]:
                lines += ["  " + line for line in in_words(change)]
    return lines if len(lines) > 1 else lines + ["no difference"]


def _headline(change: Change, *words: str) -> str:
    return "  ".join([_SIGNS[change["change"]] + " " + str(change.get("code", change["name"])), *words])


def _feature_text(change: Change) -> List[str]:
    if "page" in change:
        return [_headline(change, "[%s]" % change["page"])]
    return [_headline(change, "%s -> %s" % (change["before"], change["after"]))]


def _method_text(change: Change) -> List[str]:
    return [_headline(change)] + ["    ~ %s  %s -> %s" % (trait["name"], trait["before"] or "none",
                                                          trait["after"] or "none") for trait in change["traits"]]


def _type_text(change: Change) -> List[str]:
    lines = [_headline(change)]
    for inside in change.get("members", ()):
        shapes = ["%s, %s" % (shape["type"], "required" if shape["required"] else "optional")
                  for shape in (inside["before"], inside["after"]) if shape]
        lines.append("    " + _headline(inside, " -> ".join(shapes)))
    if "before" in change:
        old, new = change["before"], change["after"]
        lines += ["    - " + part for part in old if part not in new]
        lines += ["    + " + part for part in new if part not in old]
    return lines


def _code_text(change: Change) -> List[str]:
    return [_headline(change, change["name"], "[%s]" % change["page"])]


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", choices=list(NAMES), metavar="REVISION", help="one of " + ", ".join(NAMES))
    parser.add_argument("after", choices=list(NAMES), metavar="REVISION", help="another; it may be the older one")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"diff": Command(_diff, _options)}
