"""The entries of `explain`, as objects: what the tables say of a method, a type, a code, a feature, a revision.

Each function gets a name and the revisions that count, and returns an object as the docstring of `explain` describes,
or None if none of these revisions has what is named.
"""

from typing import Any, Dict, List, Optional, Sequence

from ... import methods
from ...deprecations import DEPRECATED, NOT_DONE, deprecation
from ...errors import CODES
from ...model import alternatives, members
from ...protocol.lifecycle import PHASES, TABLE
from ...revisions import FEATURES, REVISIONS, VALUES, Revision, revision
from . import diff, facts, pages, sources, words
from .examples import example

Entry = Dict[str, Any]


def feature_names() -> List[str]:
    """Return the names of all features, those that are values last."""
    return [row.name for row in FEATURES] + list(VALUES)


def _window(span: facts.Span) -> List[str]:
    return [str(span.first), str(span.last)]


# One of the tables


def lifecycle(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return the phases of a connection with handshake and the table of what may be sent in each."""
    rows = [{"sender": sender, "phase": phase, "message": message, "next": following}
            for (sender, phase, message), following in TABLE.items()]
    return {"kind": "lifecycle", "phases": list(PHASES), "rows": rows} if any(r.handshake for r in among) else None


def deprecated(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return the registry of deprecated features."""
    rows = [row._asdict() for row in DEPRECATED.values() if any(r.has(row.since, None) for r in among)]
    return {"kind": "deprecated", "rows": rows} if rows else None


def readings() -> Entry:
    """Return the decisions of this package where the specification leaves a choice."""
    return {"kind": "readings", "rows": [{"place": each.place, "text": each.text, "citations": each.citations}
                                         for each in sources.readings()]}


def missing() -> Entry:
    """Return what is not done here."""
    return {"kind": "missing", "rows": [dict(row._asdict(), pages=list(row.pages)) for row in NOT_DONE]}


# A row of a table


def code(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return an error code, and the values of VALUES that it is."""
    row = CODES[int(name)]
    windows = facts.spans(lambda r: True if r.has(row.since, row.until) else None, among)
    if not windows:
        return None
    used = [{"name": value, "windows": [_window(span) for span in found]}
            for value, found in facts.values_equal_to(row.code)]
    return {"kind": "code", "code": row.code, "name": row.name, "page": row.page, "window": _window(windows[0]),
            "values": used, "url": pages.url(row.page, windows[-1].last)}


def feature(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a feature: where it is there, or its values, with a paragraph and an example."""
    row = facts.feature_named(name)
    found: Entry = {"kind": "feature", "name": name, "text": words.FEATURES[name], "example": _example(name, among)}
    if row is None:
        values = facts.spans(lambda r: getattr(r, name), among)
        page = words.VALUE_PAGES[name]
        return dict(found, page=page, url=_address(page, values[-1].last), values=[
            {"window": _window(span), "value": span.value} for span in values])
    windows = facts.spans(lambda r: getattr(r, name) or None, among)
    if not windows:
        return None
    return dict(found, page=row.page, window=_window(windows[0]), url=_address(row.page, windows[-1].last))


def method(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a method: its rows, their types, a paragraph and an example."""
    rows = facts.spans(lambda r: methods.lookup(name, r), among)
    if not rows:
        return None
    described = []
    for span in rows:
        leaving = deprecation(span.value.deprecated)
        described.append(dict(facts.traits(span.value), window=_window(span),
                              deprecated=None if leaving is None else leaving._asdict()))
    named = [row[part] for row in described for part in ("params", "result", "otherResult")]
    types = [type_(str(each), among) for each in dict.fromkeys(named) if each]
    return {"kind": "method", "name": name, "text": words.METHODS[name], "rows": described,
            "example": _example(name, among), "url": pages.url(rows[-1].value.page, rows[-1].last),
            "types": [each for each in types if each]}


def type_(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a type: the members of a message, or the alternatives of anything else."""
    hint = facts.type_named(name)
    windows = facts.spans(lambda r: True if facts.exists(hint, r) else None, among)
    if not windows:
        return None
    found: Entry = {"kind": "type", "name": name, "window": _window(windows[0])}
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


def _example(name: str, among: Sequence[Revision]) -> Optional[Dict[str, Any]]:
    """The example of the newest of these revisions that has it."""
    for there in reversed(among):
        found = example(name, there)
        if found is not None:
            return {"revision": there.name, "message": found.message, "text": found.text}
    return None


def _address(page: str, last: Revision) -> str:
    """The address of a page in a revision, or in the newest one that has the page if that is older."""
    there = pages.newest().get(page, last)
    return pages.url(page, there if there.rank < last.rank else last)


# A revision


def revision_(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a revision: what it has, and what came and went with it."""
    there = revision(name)
    if there not in among:
        return None
    before = REVISIONS[there.rank - 1] if there.rank else None
    rows = [row for row in pages.requirements().values() if there in row.stated]
    return {"kind": "revision", "name": there.name, "era": there.era,
            "features": [row.name for row in FEATURES if getattr(there, row.name)],
            "values": {value: getattr(there, value) for value in VALUES},
            "methods": [row.name for row in methods.methods(there)],
            "types": [each for each in facts.type_names() if facts.exists(facts.type_named(each), there)],
            "codes": sorted(facts.codes_in(there)), "requirements": len(rows),
            "changes": None if before is None else diff.changes(before, there), "url": pages.url("index", there)}


# A place in the specification, and what a word stands for


def requirement(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a requirement by its id: its row, the citations of its heading, and in a checkout its tests."""
    row = pages.requirements()[name]
    return pages.as_object(row) if any(each in among for each in row.stated) else None


def topic(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return what a word stands for, with an example of the first method or feature that it leads to."""
    found = words.find(name)
    if found is None:
        return None
    last = pages.newest()[found.page]
    shown = (_example(each, among) for each in found.see if each in words.METHODS or each in words.FEATURES)
    rows = [row for row in pages.requirements().values()
            if row.page == found.page and found.heading in ("", row.heading)]
    return {"kind": "topic", "name": found.word, "also": list(found.also), "text": found.text, "see": list(found.see),
            "page": found.page, "heading": found.heading, "url": pages.url(found.page, last, found.heading),
            "requirements": len(rows), "example": next((each for each in shown if each), None)}


def place(name: str, among: Sequence[Revision]) -> Optional[Entry]:
    """Return a page or a heading, with requirements and citations; the places, where a heading is on several pages."""
    found = [(page, heading, pages.place_object(page, heading, among)) for page, heading in pages.find(name)]
    there = [each for each in found if each[2] is not None]
    if len(there) == 1:
        return there[0][2]
    rows = [{"kind": "page", "name": "%s §%s" % (page, heading) if heading else page} for page, heading, _ in there]
    return {"kind": "matches", "name": name, "matches": rows} if rows else None
