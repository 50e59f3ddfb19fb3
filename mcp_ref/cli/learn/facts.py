"""The facts of the tables about methods, types, codes and features, and the command `diff`, which compares revisions.

No fact is stated here: each is read from `methods`, `model`, `messages`, `errors` and `revisions`, revision by
revision, and runs of equal answers become windows. `explain` shows the same facts.

``diff --json`` prints ``{"from", "to", "features", "methods", "types", "codes"}``, the last four arrays of changes.
Each change has ``change`` (added, removed, changed) and ``name`` (``code`` and ``name`` for an error code); a
feature has ``page`` or, where it is a value, ``before`` and ``after``; a changed method has ``traits`` (of
``name``, ``before``, ``after``), a changed type ``members`` (of ``change``, ``name``, ``before``, ``after``, each
null or ``{"type", "required"}``) or, if it is no message, ``before`` and ``after``. Arrays are empty where nothing
differs, all of them for a revision and itself.
"""

import argparse
import re
from typing import (
    Any, Callable, Dict, FrozenSet, Iterator, List, Literal, NamedTuple, Optional, Sequence, Set, Tuple, Union,
)

from ... import messages, methods
from ...errors import CODES, Code
from ...model import Model, alternatives, members
from ...revisions import FEATURES, NAMES, REVISIONS, VALUES, Feature, Revision, differences, revision
from ..output import DONE, Command, Commands, say, say_json
from . import words as added

_PLAIN: Dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any",
                          type(None): "null"}


class Span(NamedTuple):
    """A value that holds in some successive revisions."""

    first: Revision
    last: Revision
    value: Any

    @property
    def window(self) -> str:
        """The form of citations: ``2025-06-18..``, ``..2025-11-25``, ``..`` for all, one revision as it is."""
        return window(self.first, self.last)


def window(first: Revision, last: Revision) -> str:
    """Return a run of revisions in the form of citations."""
    start = "" if first is REVISIONS[0] else str(first)
    end = "" if last is REVISIONS[-1] else str(last)
    return start if start and start == end else "%s..%s" % (start, end) if first is not last else str(first)


def spans(ask: Callable[[Revision], Any], among: Sequence[Revision] = REVISIONS) -> List[Span]:
    """Ask each revision a question, and return its answers; None is no answer, equal neighbours are one span."""
    found: List[Span] = []
    for each in among:
        value = ask(each)
        if value is None:
            continue
        before = found[-1] if found else None
        if before and before.last.rank == each.rank - 1 and before.value == value:
            found[-1] = before._replace(last=each)
        else:
            found.append(Span(each, each, value))
    return found


# Types


def page_of(name: str) -> Optional[str]:
    """Return the page of `mcp_ref.messages` that defines a type; None for a name that no page defines."""
    found = (page for pages in (messages.PAGES, added.TYPES) for page, names in pages.items() if name in names)
    return next(found, None)


def type_names() -> List[str]:
    """Return the names of all types, aliases too."""
    return [name for names in messages.PAGES.values() for name in names]


def type_named(name: str) -> Any:
    """Return the type of this name."""
    return methods.load("%s:%s" % (page_of(name), name))


def is_message(hint: Any) -> bool:
    """True if a type is a message class, with members."""
    return isinstance(hint, type) and issubclass(hint, Model)


def exists(hint: Any, revision: Revision) -> bool:
    """True if a revision has this type; it has a union if it has one of the alternatives."""
    parts = [part for part in alternatives(hint) if is_message(part)]
    return any(revision.has(part.since, part.until) for part in parts) if parts else True


def type_text(hint: Any, revision: Revision) -> str:
    """Return a type in the words of JSON: ``array of Tool``, ``string or integer``, ``"user" or "assistant"``."""
    origin: Any = getattr(hint, "__origin__", None)
    parts: Tuple[Any, ...] = getattr(hint, "__args__", ())
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return " or ".join('"%s"' % word for word in parts)
    if origin is Union:
        words = dict.fromkeys(type_text(part, revision) for part in parts if exists(part, revision))
        return _name_of_union(hint) or " or ".join(words)
    if origin is list:
        inner = type_text(parts[0], revision)
        return "array of (%s)" % inner if " or " in inner else "array of %s" % inner
    if origin is dict:
        return "object" if parts[1] is Any else "object of %s" % type_text(parts[1], revision)
    return str(getattr(hint, "__name__", hint))


def _name_of_union(hint: Any) -> Optional[str]:
    """The name that a page gives to a union with messages in it, which is shorter than its alternatives."""
    if not any(is_message(part) for part in alternatives(hint)):
        return None
    return next((name for name in type_names() if type_named(name) == hint), None)


class TypeShape(NamedTuple):
    """A member as one revision has it."""

    type: str
    required: bool


def shapes(cls: Any, revision: Revision) -> Dict[str, TypeShape]:
    """Return the members of a message in a revision, by their names on the wire."""
    if not revision.has(cls.since, cls.until):
        return {}
    return {m.wire: TypeShape(_member_type(m, revision), m.required_in(revision))
            for m in members(cls) if m.exists(revision)}


def _member_type(member: Any, revision: Revision) -> str:
    if member.constant:
        return '"%s"' % member.default
    text = type_text(member.type_in(revision), revision)
    shape = member.shape_in(revision)
    return text if shape is None else "%s (%s)" % (text, shape.__name__)


def notes(cls: Any) -> Dict[str, str]:
    """Return the text below the declaration of each member in the source, by the member's name on the wire."""
    import ast
    import inspect

    try:
        body = ast.parse(inspect.getsource(cls)).body[0]
    except (OSError, SyntaxError, TypeError):
        return {}  # no source here
    found = {}
    wires = {m.attr: m.wire for m in members(cls)}
    lines = list(getattr(body, "body", []))
    for declared, text in zip(lines, lines[1:]):
        if isinstance(declared, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            name = getattr(declared.target, "id", "")
            if name in wires:
                found[wires[name]] = " ".join(str(text.value.value).split())
    return found


_CITATION = re.compile(r"\[[\d.-]* ([a-z][\w/-]*)(?![\w/-])[^\[\]]*\]")


def page_in(text: str) -> Optional[str]:
    """Return the page of the specification that a docstring cites first; None if it cites none."""
    found = _CITATION.search(" ".join(text.split()))
    return found.group(1) if found else None


def said_of(cls: Any) -> str:
    """Return the docstring of a message, without its citations."""
    return _CITATION.sub("", " ".join((cls.__doc__ or "").split())).strip()


def types_with(wire: str) -> List[str]:
    """Return the names of the types that have a member of this name on the wire, upper and lower case alike."""
    every = [*type_names(), *(name for names in added.TYPES.values() for name in names)]
    return [name for name in every if is_message(type_named(name))
            and any(m.wire.lower() == wire.lower() for m in members(type_named(name)))]


# Methods


def method_names() -> List[str]:
    """Return the names of all methods of all revisions and of the extensions, in the order of the tables."""
    return list(dict.fromkeys(row.name for row in (*methods.METHODS, *methods.EXTENSION_METHODS)))


def method_in(name: str, revision: Revision) -> Optional[methods.Method]:
    """Return the row of a method in a revision, or that of an extension; None if it has none."""
    return methods.lookup(name, revision) or next((
        row for row in methods.EXTENSION_METHODS if row.name == name and revision.has(row.since, row.until)), None)


def parties(row: methods.Method) -> str:
    """Return the sender and the receiver of a method, in words."""
    other = {methods.CLIENT: methods.SERVER, methods.SERVER: methods.CLIENT}.get(row.sender)
    return "%s to %s" % (row.sender, other) if other else "either side"


def capability(row: methods.Method) -> Optional[str]:
    """Return the capability that a method needs and the side that declares it, in words; None if it needs none."""
    needed = row.capability or row.extension
    return needed and "%s, declared by the %s" % (needed, _receiver(row))


def _receiver(row: methods.Method) -> str:
    if row.sender == methods.BOTH:
        return row.holder
    ends = (methods.CLIENT, methods.SERVER)
    sender = ends.index(row.sender)
    return ends[sender if row.holder == methods.SENDER else 1 - sender]


def name_in(path: Optional[str]) -> Optional[str]:
    """Return the type's name in a ``page:Class`` of the table of methods."""
    return path.partition(":")[2] if path else None


def traits(row: methods.Method) -> Dict[str, Optional[str]]:
    """Return the columns of a row of the table of methods, in words."""
    return {
        "kind": row.kind,
        "sender": row.sender,
        "carrier": row.carrier,
        "capability": capability(row),
        "params": name_in(row.params),
        "result": name_in(row.result),
        "otherResult": name_in(row.other),
        "page": row.page,
        "deprecated": row.deprecated,
    }


def named_in(row: methods.Method) -> FrozenSet[str]:
    """Return the names of the types in params and result of a method, with those of their members."""
    found: Set[str] = set()
    for path in filter(None, (row.params, row.result)):
        for part in alternatives(methods.load(path)):
            last = next((each for each in reversed(REVISIONS) if exists(part, each)), REVISIONS[-1])
            found.update((str(getattr(part, "__name__", part)), str(name_in(path))))
            for shape in shapes(part, last).values() if is_message(part) else ():
                found.update(_NAME.findall(shape.type))
    return frozenset(found)


_NAME = re.compile(r"[A-Z]\w+")


# Codes and features


def codes_in(revision: Revision) -> Dict[int, Code]:
    """Return the error codes that a revision defines."""
    return {code: row for code, row in CODES.items() if revision.has(row.since, row.until)}


def feature_named(name: str) -> Optional[Feature]:
    """Return the row of FEATURES of this name; None if there is none."""
    return next((row for row in FEATURES if row.name == name), None)


def values_equal_to(code: int) -> Iterator[Tuple[str, List[Span]]]:
    """Yield the rows of VALUES in which a code stands, each with the spans of revisions."""
    for name, values in VALUES.items():
        found = spans(lambda revision: values[revision.rank] if values[revision.rank] == code else None)
        if found:
            yield name, found


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
        "types": [*filter(None, (_compare(name, before, after) for name in type_names()))],
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
    for name in method_names():
        old, new = (row and traits(row) for row in (methods.lookup(name, before), methods.lookup(name, after)))
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
    hint = type_named(name)
    if is_message(hint) and hint.__name__ != name:
        return None  # another name of a type that is compared under its own
    there = exists(hint, before), exists(hint, after)
    if there[0] != there[1]:
        return {"change": _change(*there), "name": name}
    if is_message(hint):
        inside = _members(shapes(hint, before), shapes(hint, after))
        return {"change": CHANGED, "name": name, "members": inside} if inside else None
    old, new = _alternatives(hint, before), _alternatives(hint, after)
    return {"change": CHANGED, "name": name, "before": old, "after": new} if old != new else None


def _alternatives(hint: Any, there: Revision) -> List[str]:
    parts = [part for part in alternatives(hint) if exists(part, there)]
    return list(dict.fromkeys(type_text(part, there) for part in parts))


def _members(old: Dict[str, TypeShape], new: Dict[str, TypeShape]) -> List[Change]:
    found = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before != after:
            found.append({"change": _change(before, after), "name": name, "before": before and before._asdict(),
                          "after": after and after._asdict()})
    return found


def _codes(before: Revision, after: Revision) -> List[Change]:
    old, new = codes_in(before), codes_in(after)
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
