"""The command `explain`: what a method, type, error code or feature is, in every revision that has it.

A name is looked up as a method (``tools/call``), a type (``Tool``), a feature (``batching``), an error code
(``-32002``) or one of two words: ``lifecycle`` draws the phases of a connection from their table, ``deprecated``
prints the registry of what is going to leave the protocol.

``--json`` gives an object whose ``kind`` is one of those words. A window is ``[first, last]``, two revisions:

========== ============================================================================================
kind       its other members
========== ============================================================================================
method     ``name``; ``rows``: of ``window``, ``kind``, ``sender``, ``carrier``, ``capability``, ``params``,
           ``result``, ``otherResult``, ``page``, ``deprecated`` (null, or a row as below); ``types``: of
           each type named there, as below
type       ``name``, ``text``, ``page``, ``window``; of a message ``members``: of ``name``, ``note`` and
           ``spans``: of ``window``, ``type``, ``required``; of anything else ``spans`` of ``window``, ``type``
code       ``code``, ``name``, ``page``, ``window``; ``values``: of ``name`` and ``windows``
feature    ``name``, ``page``, ``window``; or ``values``: of ``window`` and ``value``
lifecycle  ``phases``, and ``rows`` of ``sender``, ``phase``, ``message``, ``next`` (null: refused)
deprecated ``rows``: of ``feature``, ``since``, ``removal``, ``migration``, ``page``
========== ============================================================================================
"""

import argparse
from typing import Any, Dict, List, Optional, Sequence

from ... import methods
from ...errors import CODES
from ...model import alternatives, members
from ...revisions import FEATURES, NAMES, REVISIONS, VALUES, Revision, revision
from ..command import Command, Commands
from ..failures import DONE, UsageError
from ..output import say, say_json
from . import facts
from .deprecated_table import deprecated, registry, registry_text, said_of
from .lifecycle_drawing import drawing, lifecycle_object

LIFECYCLE = "lifecycle"
DEPRECATED = "deprecated"


def _explain(options: Any) -> int:
    among = REVISIONS if options.revision is None else (revision(options.revision),)
    if options.list:
        return _list(options, among)
    if options.name is None:
        raise UsageError("explain what? A method, type, error code, feature, lifecycle or deprecated; --list shows all")
    found = describe(options.name, among)
    if options.json:
        say_json(found)
    else:
        say("\n".join(_TEXTS[found["kind"]](found)))
    return DONE


def describe(name: str, among: Sequence[Revision] = REVISIONS) -> Dict[str, Any]:
    """What is known of a name, as the module's docstring describes; only of these revisions.

    Raises `UsageError` for a name that nothing has, with the nearest ones, or that these revisions do not have.
    """
    for known, make in ((_is_lifecycle, _lifecycle), (_is_deprecated, _deprecated), (_is_code, _code),
                        (_is_method, _method), (_is_type, _type), (_is_feature, _feature)):
        if known(name):
            found = make(name, among)
            if found is None:
                raise UsageError("revision %s has no %s" % (among[0], name))
            return found
    from difflib import get_close_matches

    names = _all_names()
    by_lower = {each.lower(): each for each in names}
    close = [by_lower[each] for each in get_close_matches(name.lower(), by_lower, 3, 0.6)]
    raise UsageError("nothing is called %r; %s" % (
        name, "did you mean %s?" % " or ".join(close) if close else "explain --list shows all names"))


def _all_names() -> List[str]:
    return [*facts.method_names(), *facts.type_names(), *map(str, CODES), *_feature_names(), LIFECYCLE,
            DEPRECATED]


def _feature_names() -> List[str]:
    return [row.name for row in FEATURES] + list(VALUES)


# Which kind of name


def _is_lifecycle(name: str) -> bool:
    return name == LIFECYCLE


def _is_deprecated(name: str) -> bool:
    return name == DEPRECATED


def _is_code(name: str) -> bool:
    return name.lstrip("-").isdecimal() and int(name) in CODES


def _is_method(name: str) -> bool:
    return bool(methods.known_since(name))


def _is_type(name: str) -> bool:
    return facts.page_of(name) is not None


def _is_feature(name: str) -> bool:
    return name in _feature_names()


# What is known of it; None where these revisions do not have it


def _window(span: facts.Span) -> List[str]:
    return [str(span.first), str(span.last)]


def _lifecycle(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    return dict(lifecycle_object(), kind=LIFECYCLE) if any(r.handshake for r in among) else None


def _deprecated(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    rows = registry(among)
    return {"kind": DEPRECATED, "rows": rows} if rows else None


def _code(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    row = CODES[int(name)]
    windows = facts.spans(lambda r: True if r.has(row.since, row.until) else None, among)
    if not windows:
        return None
    used = [{"name": value, "windows": [_window(span) for span in found]}
            for value, found in facts.values_equal_to(row.code)]
    return {"kind": "code", "code": row.code, "name": row.name, "page": row.page, "window": _window(windows[0]),
            "values": used}


def _feature(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    row = facts.feature_named(name)
    if row is None:
        values = facts.spans(lambda r: getattr(r, name), among)
        return {"kind": "feature", "name": name, "values": [
            {"window": _window(span), "value": span.value} for span in values]}
    windows = facts.spans(lambda r: getattr(r, name) or None, among)
    return {"kind": "feature", "name": name, "page": row.page, "window": _window(windows[0])} if windows else None


def _method(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    rows = facts.spans(lambda r: methods.lookup(name, r), among)
    if not rows:
        return None
    described = [dict(facts.traits(span.value), window=_window(span), deprecated=deprecated(span.value.deprecated))
                 for span in rows]
    named = [row[part] for row in described for part in ("params", "result", "otherResult")]
    types = [_type(str(each), among) for each in dict.fromkeys(named) if each]
    return {"kind": "method", "name": name, "rows": described, "types": [each for each in types if each]}


def _type(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    hint = facts.type_named(name)
    windows = facts.spans(lambda r: True if facts.exists(hint, r) else None, among)
    if not windows:
        return None
    found: Dict[str, Any] = {"kind": "type", "name": name, "window": _window(windows[0])}
    if not facts.is_message(hint):
        return dict(found, text="", page=None, spans=_plain_spans(hint, among))
    noted = facts.notes(hint)
    listed = []
    for wire in [m.wire for m in members(hint)]:
        found_spans = facts.spans(lambda r: facts.shapes(hint, r).get(wire), among)
        if found_spans:
            listed.append({"name": wire, "note": noted.get(wire, ""), "spans": [
                {"window": _window(span), "type": span.value.type, "required": span.value.required}
                for span in found_spans]})
    return dict(found, text=facts.said_of(hint), page=facts.page_in(hint.__doc__ or ""), members=listed)


def _plain_spans(hint: Any, among: Sequence[Revision]) -> List[Dict[str, Any]]:
    def text(r: Revision) -> Optional[str]:
        parts = [part for part in alternatives(hint) if facts.exists(part, r)]
        return " or ".join(dict.fromkeys(facts.type_text(part, r) for part in parts)) or None

    return [{"window": _window(span), "type": span.value} for span in facts.spans(text, among)]


# In words


def _when(found: Sequence[str], outer: Sequence[str] = (NAMES[0], NAMES[-1])) -> str:
    """A window in words; nothing where it is the whole of the outer one."""
    if list(found) == list(outer):
        return ""
    return facts.window(revision(found[0]), revision(found[1]))


def _lifecycle_text(found: Dict[str, Any]) -> List[str]:
    return drawing()


def _deprecated_text(found: Dict[str, Any]) -> List[str]:
    return ["deprecated features, still part of the protocol"] + registry_text(found["rows"])


def _code_text(found: Dict[str, Any]) -> List[str]:
    lines = ["%d  %s" % (found["code"], found["name"]), "  revisions   %s" % (_when(found["window"]) or "all"),
             "  page        %s" % found["page"]]
    for value in found["values"]:
        windows = ", ".join(_when(each) or "all" for each in value["windows"])
        lines.append("  answers     %s  (%s)" % (value["name"], windows))
    return lines


def _feature_text(found: Dict[str, Any]) -> List[str]:
    lines = ["%s  feature" % found["name"]]
    if "values" in found:
        return lines + ["  %-24s%s" % (_when(each["window"]) or "all", each["value"]) for each in found["values"]]
    return lines + ["  revisions   %s" % (_when(found["window"]) or "all"), "  page        %s" % found["page"]]


def _method_text(found: Dict[str, Any]) -> List[str]:
    lines = ["%s  %s" % (found["name"], found["rows"][0]["kind"])]
    for row in found["rows"]:
        label = _when(row["window"]) or "all revisions"
        carried = "" if row["carrier"] == methods.WIRE else ", %s in a result" % row["carrier"]
        result = " or ".join(filter(None, (row["result"], row["otherResult"]))) or "none: a notification"
        lines += ["", "  " + label,
                  "    sent by     %s%s" % (_sender(found["name"], row), carried),
                  "    needs       %s" % (row["capability"] or "no capability"),
                  "    params      %s" % row["params"],
                  "    result      %s" % result,
                  "    page        %s" % row["page"]]
        lines += ["    " + line for line in said_of(row["deprecated"])] if row["deprecated"] else []
    for each in found["types"]:
        lines += [""] + _type_text(each)
    return lines


def _sender(name: str, row: Dict[str, Any]) -> str:
    there = methods.lookup(name, revision(row["window"][0]))
    return facts.parties(there) if there else row["sender"]


def _type_text(found: Dict[str, Any]) -> List[str]:
    window = _when(found["window"])
    lines = [found["name"] + ("  (%s)" % window if window else "")]
    if found["text"]:
        lines.append("  %s%s" % (found["text"], "  [%s]" % found["page"] if found["page"] else ""))
    for span in found.get("spans", ()):
        lines.append("    %s  %s" % (span["type"], _when(span["window"], found["window"])))
    lines += _member_lines(found)
    return [line.rstrip() for line in lines]


def _member_lines(found: Dict[str, Any]) -> List[str]:
    listed = found.get("members", ())
    width = max([len(each["name"]) for each in listed] + [8])
    lines = []
    for each in listed:
        for number, span in enumerate(each["spans"]):
            facts_of = [span["type"], "required" if span["required"] else "optional",
                        _when(span["window"], found["window"])]
            lines.append("    %-*s  %s" % (width, "" if number else each["name"], ", ".join(filter(None, facts_of))))
        if each["note"]:
            lines.append("    %-*s    %s" % (width, "", each["note"]))
    return lines


_TEXTS = {LIFECYCLE: _lifecycle_text, DEPRECATED: _deprecated_text, "code": _code_text, "feature": _feature_text,
          "method": _method_text, "type": _type_text}


def _list(options: Any, among: Sequence[Revision]) -> int:
    """Every name that can be explained."""
    groups = {
        "methods": [name for name in facts.method_names() if any(methods.lookup(name, r) for r in among)],
        "types": [name for name in facts.type_names() if any(facts.exists(facts.type_named(name), r) for r in among)],
        "codes": [str(code) for code in CODES if any(code in facts.codes_in(r) for r in among)],
        "features": [name for name in _feature_names() if any(getattr(r, name) for r in among)],
        "others": [name for name, make in ((LIFECYCLE, _lifecycle), (DEPRECATED, _deprecated)) if make(name, among)],
    }
    if options.json:
        say_json(groups)
        return DONE
    for title, names in groups.items():
        if names:
            say("%s: %d" % (title, len(names)))
            say("\n".join("  " + name for name in names))
    return DONE


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME",
                        help="a method, a type, an error code, a feature, or: lifecycle, deprecated")
    parser.add_argument("--list", action="store_true", help="list every name that can be explained")
    parser.add_argument("--revision", choices=list(NAMES), help="only this revision")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"explain": Command(_explain, _options)}
