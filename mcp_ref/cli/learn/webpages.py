"""The entries of `explain` as HTML files: a page for each method, type, error code, feature, requirement and rule.

A page shows all revisions side by side: a table with a column for each. It links every name that has a page, and lists
the pages that name it. No page needs a script, a network or a server; the colours are those of the browser, light or
dark. The names of files are such as every system allows, and differ in more than upper and lower case.
"""

import json
import os
import re
from html import escape
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence, Set, Tuple

from ...requirements import Requirement, requirements
from ...devtools.checker import rules
from ...errors import CODES
from ...revisions import NAMES, REVISIONS
from ..output import UsageError, write_file
from . import entries, facts, pages, words

Entry = Dict[str, Any]
_TITLES = {"method": "Methods", "type": "Types", "code": "Error codes", "feature": "Features",
           "requirement": "Requirements", "rule": "Rules of the checker"}
"""Kind of a page -> the heading of its list. A name of several kinds leads to the first of them that has it."""
_STYLE = "explain.css"
_CSS = """:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 75rem; padding: 0 1rem 2rem; overflow-wrap: anywhere; }
pre, .wide { overflow-x: auto; }
pre { border: 1px solid GrayText; padding: .5rem; overflow-wrap: normal; }
table { border-collapse: collapse; overflow-wrap: normal; }
th, td { border: 1px solid GrayText; padding: .2rem .5rem; text-align: left; vertical-align: top; }
th { white-space: nowrap; }
ul.names { columns: 18rem; padding-left: 1.2rem; }
"""
_NAME = re.compile(r"(?:-?\w|(?<![$./-])\$)(?:[$./-]*\w)*")
_FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><link rel="stylesheet" href="%s"></head><body>
%s</body></html>
"""
_ALL = [NAMES[0], NAMES[-1]]


class PageKey(NamedTuple):
    """A page: its kind and the name of what it is about."""

    kind: str
    name: str

    @property
    def file(self) -> str:
        """The file below the folder of all pages."""
        return "%s/%s.html" % (self.kind, re.sub(r"[^\w.-]", "-", self.name).strip("-."))


def write_pages(folder: str) -> int:
    """Write all pages and their index into a folder, and return the number of pages.

    Raises `UsageError` for a folder with other files in it, or that cannot be written.
    """
    try:
        if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, _STYLE)):
            raise UsageError("%s has files of something else: name a new folder" % folder)
        for kind in _TITLES:
            os.makedirs(os.path.join(folder, kind), exist_ok=True)
    except OSError as error:
        raise UsageError("cannot write %s: %s" % (folder, error.strerror or error)) from None
    made = make_pages()
    for file, text in made.items():
        write_file(os.path.join(folder, *file.split("/")), text)
    return sum(file.endswith(".html") for file in made)


def make_pages() -> Dict[str, str]:
    """Return all files: path below the folder, with "/" -> text."""
    found = _entries()
    writer = _Writer(found)
    bodies = {place: _BODIES[place.kind](writer.at(place), entry) for place, entry in found.items()}
    made = {_STYLE: _CSS, "index.html": _index(found)}
    for place, body in bodies.items():
        naming = [other for other in found if place in writer.named[other] and other != place]
        back = _lists(naming, "../", "h3") if naming else "<p>No other page.</p>"
        text = "<p><a href=\"../index.html\">Index</a>: %s</p>\n<h1>%s</h1>\n%s<h2>Named on</h2>\n%s" % (
            place.kind, escape(place.name), body, back)
        made[place.file] = _FRAME % (escape("%s (%s)" % (place.name, place.kind)), "../" + _STYLE, text)
    return made


def _entries() -> Dict[PageKey, Entry]:
    """Return the places that have a page, with the entry that `explain` has of it."""
    types = [*facts.type_names(), *(name for names in words.TYPES.values() for name in names)]
    makers: Tuple[Tuple[str, Iterable[str], Callable[..., Any]], ...] = (
        ("method", facts.method_names(), entries.method), ("type", types, entries.type_),
        ("code", map(str, CODES), entries.code), ("feature", entries.feature_names(), entries.feature))
    found = {PageKey(kind, name): make(name, REVISIONS) for kind, names, make in makers for name in names}
    every = rules.load()
    by_rule = {id: row.id for row in every.values() for id in (row.id, *row.also)}
    for row in requirements().values():
        said = {"rule": by_rule.get(row.id), "undecided": rules.UNDECIDED.get(row.id)}
        found[PageKey("requirement", row.id)] = dict(pages.as_object(row), **said)
    for id, each in every.items():
        found[PageKey("rule", id)] = dict(pages.rule_of(id)["rule"], requirement=each.requirement)
    return found


def _index(found: Iterable[PageKey]) -> str:
    body = "<h1>The Model Context Protocol, %s to %s</h1>\n<p>%s</p>\n" % (*_ALL, " · ".join(
        "<a href=\"#%s\">%s</a>" % item for item in _TITLES.items()))
    return _FRAME % ("Index of the protocol", _STYLE, body + _lists(found, "", "h2"))


def _lists(places: Iterable[PageKey], up: str, heading: str) -> str:
    """A list of links for each kind, below its title."""
    lines: Dict[str, List[str]] = {}
    for place in places:
        lines.setdefault(place.kind, []).append("<li>%s</li>" % _link(place, up))
    return "".join("<%s id=\"%s\">%s: %d</%s>\n<ul class=\"names\">\n%s\n</ul>\n" % (
        heading, kind, _TITLES[kind], len(each), heading, "\n".join(each)) for kind, each in lines.items())


def _link(place: PageKey, up: str = "../") -> str:
    return "<a href=\"%s%s\">%s</a>" % (up, place.file, escape(place.name))


class _Writer:
    """Writes parts of a page, and keeps which pages it names."""

    def __init__(self, found: Iterable[PageKey]) -> None:
        self._places = {place.name: place for place in sorted(found, key=lambda each: -list(_TITLES).index(each.kind))}
        self.named: Dict[PageKey, Set[PageKey]] = {}
        self._here = PageKey("", "")

    def at(self, place: PageKey) -> "_Writer":
        """Begin a page."""
        self._here, self.named[place] = place, set()
        return self

    def to(self, kind: str, name: str) -> str:
        """A link to a page of this kind."""
        self.named[self._here].add(PageKey(kind, name))
        return _link(PageKey(kind, name))

    def text(self, text: Any) -> str:
        """A text with a link on each name that has a page; the rest is escaped."""
        parts, end = [], 0
        for found in _NAME.finditer(str(text)):
            place = self._places.get(found.group())
            if place not in (None, self._here):
                parts += [escape(str(text)[end:found.start()]), self.to(*place)]
                end = found.end()
        return "".join(parts) + escape(str(text)[end:])

    def said(self, said: Dict[str, Any]) -> str:
        """A paragraph for each text that is not empty, after its title."""
        return "".join("<p><b>%s:</b> %s</p>\n" % (escape(title), self.text(text))
                       for title, text in said.items() if text)

    def table(self, rows: Iterable[Tuple[str, Iterable[Tuple[Sequence[str], Any]]]]) -> str:
        """A table with a column for each revision; a row: its title, and windows with what holds in them."""
        lines = ["<tr><td></td>%s</tr>" % "".join("<th scope=\"col\">%s</th>" % name for name in NAMES)]
        for title, spans in rows:
            cells, next_ = [], 0
            for (first, last), value in sorted(spans, key=lambda span: NAMES.index(span[0][0])):
                start, end = NAMES.index(first), NAMES.index(last) + 1
                cells += ["<td>-</td>"] * (start - next_)
                cells.append("<td colspan=\"%d\">%s</td>" % (end - start, self.text(value)))
                next_ = end
            lines.append("<tr><th scope=\"row\">%s</th>%s</tr>" % (
                self.text(title), "".join(cells + ["<td>-</td>"] * (len(NAMES) - next_))))
        return "<div class=\"wide\"><table>\n%s\n</table></div>\n" % "\n".join(lines)

    def block(self, title: str, text: str) -> str:
        """Lines as they are, below a title."""
        return "<h2>%s</h2>\n<pre>%s</pre>\n" % (escape(title), self.text(text))

    def examples(self, name: str) -> str:
        """The example of a method or a feature in each revision, equal neighbours once."""
        shown = facts.spans(lambda there: _shown(entries.example(name, there)))
        return "".join(self.block("Example, revisions %s" % span.window, span.value) for span in shown)


def _shown(example: Any) -> Any:
    """The lines of an example; None if there is none."""
    return example and (example.text or json.dumps(example.message, ensure_ascii=False, indent=2))


def _read_at(entry: Entry) -> str:
    """A link to the page of the specification; "" for a type without an address."""
    address = "<p>Read it at <a href=\"%s\">%s</a>.</p>\n"
    return address % (escape(entry["url"]), escape(entry["url"])) if entry.get("url") else ""


def _method(page: _Writer, entry: Entry) -> str:
    leaving = "since %(since)s, instead: %(migration)s, removal at the earliest: %(removal)s"
    rows = [dict(row, deprecated=row["deprecated"] and leaving % row["deprecated"]) for row in entry["rows"]]
    titles = {"kind": "kind", "sender": "sent by", "carrier": "carried by", "capability": "needs", "params": "params",
              "result": "result", "otherResult": "or", "page": "page", "deprecated": "deprecated"}
    return page.said({"what": entry["text"]}) + _read_at(entry) + page.table(
        (title, [(row["window"], row[column] or "none") for row in rows]) for column, title in titles.items()
        if any(row[column] for row in rows)) + page.examples(entry["name"])


def _type(page: _Writer, entry: Entry) -> str:
    rows = [(each["name"], [(span["window"], "%s, %s" % (span["type"], "required" if span["required"] else "optional"))
                            for span in each["spans"]]) for each in entry.get("members", ())]
    rows += [("is", [(span["window"], span["type"]) for span in entry.get("spans", ())])] * ("spans" in entry)
    rows = rows or [("no members", [(entry["window"], "{}")])]
    return page.said({"what": entry["text"], "page": entry["page"]}) + page.table(rows) + page.said(
        {each["name"]: each["note"] for each in entry.get("members", ())})


def _code(page: _Writer, entry: Entry) -> str:
    return page.said({"name": entry["name"]}) + _read_at(entry) + page.table(
        [("defined", [(entry["window"], "yes")]),
         *((value["name"], [(window, "yes") for window in value["windows"]]) for value in entry["values"])])


def _feature(page: _Writer, entry: Entry) -> str:
    values = entry.get("values") or [{"window": entry["window"], "value": "yes"}]
    return page.said({"what": entry["text"]}) + _read_at(entry) + page.table(
        [("value", [(each["window"], each["value"]) for each in values])]) + page.examples(entry["name"])


def _stated(page: _Writer, row: Requirement) -> str:
    there = facts.spans(lambda each: row.stated_in(each).where if each in row.stated else None)
    return page.table([("stated in", [((str(span.first), str(span.last)), span.value) for span in there])])


def _requirement(page: _Writer, entry: Entry) -> str:
    rule = "<p>The command check judges it by the rule %s.</p>\n"
    rule = rule % page.to("rule", entry["rule"]) if entry["rule"] else ""
    cited = "\n".join("%s  %s" % (each["place"], each["citation"]) for each in entry["citations"])
    return page.said({"level": entry["level"], "binds": entry["role"]}) + _read_at(entry) + _stated(
        page, requirements()[entry["id"]]) + rule + page.said({"not decided": entry["undecided"]}) + page.block(
            "Cited in the package", cited or "no line") + page.block(
                "Tests", "\n".join(entry.get("tests", ())) or "none")


def _rule(page: _Writer, entry: Entry) -> str:
    row = entry["requirement"]
    of = [page.to("requirement", id) for id in (entry["id"], *entry["also"]) if id in requirements()]
    return page.said({"what": entry["text"]}) + _read_at({"url": row.url}) + _stated(page, row) + "<p>%s</p>\n" % (
        "Requirements: %s" % ", ".join(of) if of else "The schema asks for it.") + page.said({
            "verdict": entry["verdict"], "party": entry["party"], "asked at": ", ".join(entry["moments"]),
            "methods": ", ".join(entry["methods"]), "needs": ", ".join(entry["needs"]), "reading": entry["reading"],
            "disagreeing": entry["disagreement"], "what to do": entry["advice"]}) + page.block(
                "A trace that keeps it", "\n".join(entry["kept"])) + page.block(
                    "A trace that breaks it", "\n".join(entry["broken"]))


_BODIES: Dict[str, Callable[[_Writer, Entry], str]] = {
    "method": _method, "type": _type, "code": _code, "feature": _feature, "requirement": _requirement, "rule": _rule}
