"""The command `explain`: what a word of the protocol means, in every revision that has it.

A word is looked up in this order; the first that knows it answers:

===============  ==================================================  =========================================
it is            such as                                             the answer
===============  ==================================================  =========================================
a name           ``tools/call``, ``Tool``, ``-32002``, ``batching``  its row, an example, its page's address
one of two       ``lifecycle``, ``deprecated``                       a drawing; what is going to leave
a revision       ``2025-06-18``                                      what it has, what came and what went
a requirement    ``progress.token-active``                           its row, tests, how `check` decides it
any other word   ``session``, ``_meta``, ``401``, ``skill://``       a paragraph, what to explain next
a page           ``basic/lifecycle``, ``lifecycle``                  its requirements, what cites it
a heading        ``basic/lifecycle §Timeouts``, ``§Timeouts``        the same
a fault          ``ping.respond:ping-first``                         what a report of `examine` calls so
a scene          ``unknown-method``, ``scene:ping``                  what `examine` sends, and what it decides
a member         ``pollIntervalMs``                                  the types that have it, an example
two of these     ``2026-07-28 tasks``                                the word, as this revision has it
part of a name   ``timeout``, ``progress token``                     the names that have these words
===============  ==================================================  =========================================

Sentences of the specification are not in this package: the address of the page leads to them.

``--json`` gives an object whose ``kind`` is one of those below. A window is ``[first, last]``, two revisions; an
``example`` is null, or ``{"revision", "message", "text"}``, where a text takes the place of the message that is null:

=========== ============================================================================================
kind        its other members
=========== ============================================================================================
method      ``name``, ``text``, ``url``, ``example``; ``rows``: of ``window``, ``kind``, ``sender``, ``carrier``,
            ``capability``, ``params``, ``result``, ``otherResult``, ``page``, ``deprecated`` (null, or a row as
            below); ``types``: of each type named there, as below
type        ``name``, ``text``, ``page``, ``window``; of a message ``members``: of ``name``, ``note`` and
            ``spans``: of ``window``, ``type``, ``required``; of anything else ``spans`` of ``window``, ``type``
code        ``code``, ``name``, ``page``, ``url``, ``window``; ``values``: of ``name`` and ``windows``
feature     ``name``, ``text``, ``example``, ``url``, ``page``; ``window``, or ``values``: of ``window``, ``value``
lifecycle   ``phases``, and ``rows`` of ``sender``, ``phase``, ``message``, ``next`` (null: refused)
deprecated  ``rows``: of ``feature``, ``since``, ``removal``, ``migration``, ``page``
revision    ``name``, ``era``, ``features``, ``values``, ``methods``, ``types``, ``codes``, ``requirements`` (a number),
            ``url``; ``checked`` as below; ``changes``: what `diff` prints of it and the revision before, null for the
            oldest
requirement ``id``, ``level``, ``role`` (client, server, both, host, author, authserver), ``revisions``, ``page``,
            ``heading``, ``earlier`` (the places in older revisions, with ";" between), ``url`` ("" of an extension);
            ``citations``: of ``place`` (file and line), ``citation``; ``cites``: heading, or page
            where no line cites the heading; in a checkout ``tests``: of file and line; ``undecided``: the reason why
            the checker cannot decide it, or null; ``rule``: null, or the checker's: ``id``, ``also`` (requirements that
            say the same), ``text``, ``party``, ``verdict``, ``moments``, ``methods``, ``needs`` (what has to be
            recorded), ``reading``, ``disagreement``, ``advice``; ``kept`` and ``broken``, traces as lines of a drawing
topic       ``name``, ``also``, ``text``, ``see``, ``page``, ``heading``, ``url``, ``requirements`` (a number),
            ``example``
page        ``page``, ``heading``, ``url``; ``requirements``: of ``id``, ``level``, ``role``, ``revisions``,
            ``page``, ``heading``, ``earlier``; ``citations`` as above; ``checked``: null, or the numbers of
            requirements that the checker has a rule for (``decided``), that only permit (``permits``), that it has
            nothing for (``open``), and ``undecided``: of ``id``, ``reason``
scene       ``name``, ``text``, ``revisions``, ``wires`` (pipe, web), ``needs`` (a capability, or null); ``decides`` and
            ``provokes`` (what the checker decides then): of ``id``, ``level``, ``citation``, ``url``
matches     ``name``; ``matches``: of ``kind`` and ``name``
readings    ``rows``: of ``place``, ``text``, ``citations``
missing     ``rows``: of ``what``, ``why``, ``since`` (null: no revision asks for it), ``pages``
=========== ============================================================================================

Where another word answers than the one that was asked for (a synonym, the only name that has these words), ``asked`` is
that one.

``--html OUT`` writes a page for each method, type, code, feature, requirement and rule of the checker below a folder,
with an index; see `webpages`.
"""

import argparse
import json
import os
import re
import textwrap
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ... import methods
from ...requirements import EXTENSIONS, requirements
from ...errors import CODES
from ...protocol.lifecycle import ANY, CLIENT, PHASES, SERVER, TABLE
from ...revisions import HANDSHAKE_REVISIONS, NAMES, REVISIONS, Revision, revision
from ..output import DONE, Command, Commands, UsageError, say, say_json
from . import entries, facts, pages, words

_WIDTH = 100
"""Columns of a paragraph."""
_MOST_ROWS = 8
"""Citations and tests that are shown of each; ``--json`` has all."""
_BOUND = {"both": "client and server", "host": "the host, the program around clients",
          "author": "the author of the server or client", "authserver": "the authorization server"}
"""The role of a requirement -> whom it binds, where the role is not the word for that."""
_MARKS = {CLIENT: "C>", SERVER: "S>"}


def when(found: Sequence[str], outer: Sequence[str] = (NAMES[0], NAMES[-1])) -> str:
    """Return a window in words; "" where it is the whole of the outer one."""
    if list(found) == list(outer):
        return ""
    return facts.window(revision(found[0]), revision(found[1]))


def _paragraph(text: str, indent: str = "  ") -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent) if text else []


def _example(found: Dict[str, Any]) -> List[str]:
    shown = found["example"]
    if shown is None:
        return []
    lines = shown["text"].split("\n") if shown["text"] else _json(shown["message"], _WIDTH)
    return ["", "  for example, in %s:" % shown["revision"]] + [("    " + line).rstrip() for line in lines]


def _json(value: Any, width: int) -> List[str]:
    """JSON in as few lines as the width allows: what does not fit on one line has a line for each of its members."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= width or not isinstance(value, (dict, list)):
        return [whole]
    inside: List[List[str]] = []
    for name, each in value.items() if isinstance(value, dict) else ((None, each) for each in value):
        lines = _json(each, width - 2)
        inside.append(lines if name is None else ["%s: %s" % (json.dumps(name), lines[0]), *lines[1:]])
    ends = ("{", "}") if isinstance(value, dict) else ("[", "]")
    body = ["  " + line + ("," if last and number + 1 < len(inside) else "") for number, lines in enumerate(inside)
            for line, last in zip(lines, [False] * (len(lines) - 1) + [True])]
    return [ends[0], *body, ends[1]]


def _listed(title: str, found: Sequence[str]) -> List[str]:
    """Lines with a title and places, the first ones of many."""
    more = ["and %d more: --json has all" % (len(found) - _MOST_ROWS)] if len(found) > _MOST_ROWS else []
    return ["  %-11s %s" % ("" if number else title, each) for number, each in enumerate([*found[:_MOST_ROWS], *more])]


# The tables


def _lifecycle(found: Dict[str, Any]) -> List[str]:
    """Lines of text: the way from phase to phase, then what each side may send in each."""
    lines = ["lifecycle of a connection, %s; C> client, S> server" % facts.window(
        HANDSHAKE_REVISIONS[0], HANDSHAKE_REVISIONS[-1]), ""]
    for number, phase in enumerate(PHASES):
        edge = "  +-%s-+" % ("-" * len(phase))
        lines += [edge, "  | %s |" % phase, edge]
        following = PHASES[number + 1] if number + 1 < len(PHASES) else None
        if following:
            lines += ["       |  %s" % text for text in _steps(phase, following)] + ["       v"]
    lines += ["", "  %-14s %-34s %s" % ("phase", "the client may send", "the server may send")]
    for phase in PHASES:
        lines += _permissions(phase)
    return [line.rstrip() for line in lines]


def _steps(phase: str, following: str) -> List[str]:
    """The messages that lead on, and those that lead elsewhere."""
    found = []
    for (sender, before, message), after in TABLE.items():
        if before == phase and after is not None and after != phase:
            where = "" if after == following else "  (back to %s)" % after
            found.append("%s %s%s" % (_MARKS[sender], message, where))
    return found


def _permissions(phase: str) -> List[str]:
    columns = [_allowed(sender, phase) for sender in (CLIENT, SERVER)]
    lines = []
    for number in range(max(map(len, columns))):
        cells = [column[number] if number < len(column) else "" for column in columns]
        lines.append("  %-14s %-34s %s" % ("" if number else phase, *cells))
    return lines


def _allowed(sender: str, phase: str) -> List[str]:
    """The messages that one side may send in a phase, a line for each row of the table."""
    rows: List[Tuple[str, Optional[str]]] = [
        (message, following) for (who, where, message), following in TABLE.items() if (who, where) == (sender, phase)]
    return ["anything else" if message == ANY else message if following else "never " + message
            for message, following in sorted(rows, key=lambda row: row[0] == ANY)] or ["only answers"]


def _deprecated(found: Dict[str, Any]) -> List[str]:
    lines = ["deprecated features, still part of the protocol"]
    for row in found["rows"]:
        lines += ["", "  " + row["feature"]] + ["    " + line for line in _leaving(row)]
        lines += ["    page        " + row["page"]]
    return lines


def _leaving(row: Dict[str, str]) -> List[str]:
    """A deprecation: since when, until when at least, and what to do, a line each."""
    return ["deprecated  since " + row["since"], "removal     at the earliest " + row["removal"],
            "instead     " + row["migration"]]


def _readings(found: Dict[str, Any]) -> List[str]:
    lines = ["readings: %d decisions where the specification leaves a choice" % len(found["rows"])]
    for row in found["rows"]:
        lines += ["", row["place"]] + ["  " + each for each in row["citations"]] + _paragraph(row["text"], "    ")
    return lines


def _missing(found: Dict[str, Any]) -> List[str]:
    lines = ["not done: %d" % len(found["rows"])]
    for row in found["rows"]:
        lines += [""] + _paragraph("- " + row["what"]) + _paragraph(row["why"], "    ")
        of = ["since " + row["since"]] if row["since"] else []
        of += ["pages " + ", ".join(row["pages"])] if row["pages"] else []
        lines += ["    [%s]" % "; ".join(of)] if of else []
    return lines


# A row of a table


def _code(found: Dict[str, Any]) -> List[str]:
    lines = ["%d  %s" % (found["code"], found["name"]), "  revisions   %s" % (when(found["window"]) or "all"),
             "  page        %s" % found["page"], "  read it at  %s" % found["url"]]
    for value in found["values"]:
        windows = ", ".join(when(each) or "all" for each in value["windows"])
        lines.append("  answers     %s  (%s)" % (value["name"], windows))
    return lines


def _feature(found: Dict[str, Any]) -> List[str]:
    lines = ["%s  feature" % found["name"]] + _paragraph(found["text"])
    if "values" in found:
        lines += ["  %-24s%s" % (when(each["window"]) or "all", each["value"]) for each in found["values"]]
    else:
        lines.append("  revisions   %s" % (when(found["window"]) or "all"))
    lines += ["  page        %s" % found["page"], "  read it at  %s" % found["url"]]
    return lines + _example(found)


def _method(found: Dict[str, Any]) -> List[str]:
    lines = ["%s  %s" % (found["name"], found["rows"][0]["kind"])] + _paragraph(found["text"])
    lines += ["  read it at  %s" % found["url"]] + _example(found)
    for row in found["rows"]:
        label = when(row["window"]) or "all revisions"
        carried = "" if row["carrier"] == methods.WIRE else ", %s in a result" % row["carrier"]
        result = " or ".join(filter(None, (row["result"], row["otherResult"]))) or "none: a notification"
        lines += ["", "  " + label,
                  "    sent by     %s%s" % (_sender(found["name"], row), carried),
                  "    needs       %s" % (row["capability"] or "no capability"),
                  "    params      %s" % row["params"],
                  "    result      %s" % result,
                  "    page        %s" % row["page"]]
        lines += ["    " + line for line in _leaving(row["deprecated"])] if row["deprecated"] else []
    for each in found["types"]:
        lines += [""] + _type(each)
    return lines


def _sender(name: str, row: Dict[str, Any]) -> str:
    there = facts.method_in(name, revision(row["window"][0]))
    return facts.parties(there) if there else row["sender"]


def _type(found: Dict[str, Any]) -> List[str]:
    window = when(found["window"])
    lines = [found["name"] + ("  (%s)" % window if window else "")]
    if found["text"]:
        lines.append("  %s%s" % (found["text"], "  [%s]" % found["page"] if found["page"] else ""))
    for span in found.get("spans", ()):
        lines.append("    %s  %s" % (span["type"], when(span["window"], found["window"])))
    lines += _members(found)
    return [line.rstrip() for line in lines]


def _members(found: Dict[str, Any]) -> List[str]:
    listed = found.get("members", ())
    width = max([len(each["name"]) for each in listed] + [8])
    lines = []
    for each in listed:
        for number, span in enumerate(each["spans"]):
            facts_of = [span["type"], "required" if span["required"] else "optional",
                        when(span["window"], found["window"])]
            lines.append("    %-*s  %s" % (width, "" if number else each["name"], ", ".join(filter(None, facts_of))))
        if each["note"]:
            lines.append("    %-*s    %s" % (width, "", each["note"]))
    return lines


# A revision, and places in the specification


def _revision(found: Dict[str, Any]) -> List[str]:
    lines = ["%s  revision, %s era" % (found["name"], found["era"]), "  read it at  %s" % found["url"],
             "  states      %d requirements" % found["requirements"], *_checked(found["checked"], False)]
    changes = found["changes"]
    if changes is not None:
        lines.append("  details     diff %s %s" % (changes["from"], changes["to"]))
        for title, kind in (("came", "added"), ("went", "removed"), ("changed", "changed")):
            lines += ["", "  " + title]
            for group in ("features", "methods", "types", "codes"):
                names = [str(each.get("code", each["name"])) for each in changes[group] if each["change"] == kind]
                lines += _wrapped(group, names) if names else []
    lines += ["", "  has"]
    values = ["%s = %s" % item for item in found["values"].items()]
    for group, names in (("features", found["features"]), ("values", values), ("methods", found["methods"]),
                         ("codes", found["codes"]), ("types", found["types"])):
        lines += _wrapped(group, [str(name) for name in names])
    return lines


def _wrapped(title: str, names: List[str]) -> List[str]:
    lines = textwrap.wrap(", ".join(names), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return ["    %-12s%s" % ("" if number else title, line) for number, line in enumerate(lines)]


def _requirement(found: Dict[str, Any]) -> List[str]:
    where = "%s §%s" % (found["page"], found["heading"]) if found["heading"] else found["page"]
    lines = ["%s  %s" % (found["id"], found["level"]),
             "  binds       %s" % _BOUND.get(found["role"], "the " + found["role"]),
             "  revisions   %s" % (found["revisions"]),
             "  page        %s" % where]
    lines += _listed("before", [each for each in found["earlier"].split(";") if each])
    lines.append("  read it at  %s" % found["url"])
    cited = ["%s  %s" % (each["place"], each["citation"]) for each in found["citations"]]
    lines += _listed("cited at" if found["cites"] == "heading" else "page cited", cited) or ["  cited at    no line"]
    if "tests" in found:
        lines += _listed("tests", found["tests"]) or ["  tests       none"]
    if found["rule"] is not None:
        return lines + _rule(found["rule"])
    why = found["undecided"] or ("it only permits something" if found["level"] == "MAY" else "it has no rule for it")
    return lines + ["", "  the command check does not decide it:"] + _paragraph(why, "    ")


def _rule(rule: Dict[str, Any]) -> List[str]:
    """Return the lines of a rule of the checker: the rule, both traces, and what to do."""
    when_asked = ", ".join(rule["moments"]) + (" (%s)" % ", ".join(rule["methods"]) if rule["methods"] else "")
    lines = ["", "  the command check judges it by the rule %s:" % rule["id"], *_paragraph(rule["text"], "    ")]
    for title, said in (("party", rule["party"]), ("asked at", when_asked), ("verdict", rule["verdict"]),
                        ("needs", ", ".join(rule["needs"])), ("reading", rule["reading"]),
                        ("disagreeing", rule["disagreement"]), ("holds for", ", ".join(rule["also"]))):
        if said:
            lines += textwrap.wrap(said, _WIDTH, initial_indent="    %-12s" % title, subsequent_indent=" " * 16)
    for title in ("kept", "broken"):
        lines += ["", "  %s:" % title, *("    " + line for line in rule[title])]
    return lines + ["", "  what to do:", *_paragraph(rule["advice"], "    ")]


def _checked(found: Optional[Dict[str, Any]], reasons: bool) -> List[str]:
    """Return the lines about what the checker decides of some requirements, perhaps with reasons."""
    if found is None:
        return []
    hidden = found["undecided"]
    counts = ["%d have a rule" % found["decided"], "%d cannot be decided" % len(hidden),
              "%d only permit" % found["permits"]] + ["%d have none" % found["open"]] * bool(found["open"])
    lines = ["  checked     " + ", ".join(counts)]
    if not reasons:
        return lines + _wrapped("undecided", [each["id"] for each in hidden])
    for each in hidden:
        lines += textwrap.wrap("%s: %s" % (each["id"], each["reason"]), _WIDTH, initial_indent="    ",
                               subsequent_indent="      ")
    return lines


def _page(found: Dict[str, Any]) -> List[str]:
    where = "%s §%s" % (found["page"], found["heading"]) if found["heading"] else found["page"]
    lines = [where, "  read it at  %s" % found["url"], *_checked(found["checked"], True)]
    headings: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for row in found["requirements"]:
        headings.setdefault((row["page"], row["heading"]), []).append(row)
    for (page, heading), rows in headings.items():
        lines += ["", "  " + " ".join(filter(None, (
            page if page != found["page"] else "", "§" + heading if heading else "before the first heading")))]
        lines += ["    %-44s %-10s %-10s %s" % (row["id"], row["level"], row["role"], row["revisions"]) for row in rows]
    if found["citations"]:
        lines += ["", "  cited at"]
        lines += ["    %s  %s" % (each["place"], each["citation"]) for each in found["citations"]]
    return lines


def _scene(found: Dict[str, Any]) -> List[str]:
    """Return the lines of a scene of the examiner."""
    lines = [found["name"] + "  scene of the command examine"] + _paragraph(found["text"])
    lines += ["  revisions   %s" % ", ".join(found["revisions"]),
              "  played on   %s" % " and ".join(_WIRES.get(each, each) for each in found["wires"])]
    lines += ["  needs       the capability %s" % found["needs"]] if found["needs"] else []
    for title, rows in (("decides", found["decides"]), ("shown to the checker", found["provokes"])):
        lines += ["", "  %s:" % title] if rows else []
        for row in rows:
            lines += ["    %s  %s" % (row["id"], row["level"]), "      [%s]" % row["citation"]]
            lines += ["      " + row["url"]] if row["url"] else []
    advice = ("Play it alone, and look at the messages: examine SERVER --only %s --trace=FILE, then ladder FILE. A "
              "fault names the answer that came; the clauses above say which one is right: explain ID has each.")
    return lines + [""] + _paragraph(advice % found["name"])


_WIRES = {"pipe": "pipes and sockets", "web": "Streamable HTTP"}
"""Wire of a scene -> in words."""


def _topic(found: Dict[str, Any]) -> List[str]:
    where = "%s §%s" % (found["page"], found["heading"]) if found["heading"] else found["page"]
    lines = [found["name"] + "  topic"] + _paragraph(found["text"])
    lines += textwrap.wrap(", ".join(found["see"]), _WIDTH, initial_indent="  see         ", subsequent_indent=" " * 14)
    stated = "  (%d requirements: explain \"%s\")" % (found["requirements"], where) if found["requirements"] else ""
    lines += ["  page        %s%s" % (where, stated), "  read it at  %s" % found["url"]]
    return lines + _example(found)


def _matches(found: Dict[str, Any]) -> List[str]:
    lines = ["%s: found in %d names; explain one of them" % (found["name"], len(found["matches"]))]
    return lines + ["  %-12s%s" % (each["kind"], each["name"]) for each in found["matches"]]


TEXTS: Dict[str, Callable[[Dict[str, Any]], List[str]]] = {
    "code": _code, "deprecated": _deprecated, "feature": _feature, "lifecycle": _lifecycle, "matches": _matches,
    "method": _method, "missing": _missing, "page": _page, "readings": _readings, "requirement": _requirement,
    "revision": _revision, "scene": _scene, "topic": _topic, "type": _type,
}
"""Kind of an entry -> the function that gives its lines."""


LIFECYCLE = "lifecycle"
DEPRECATED = "deprecated"
_MOST = 60
"""Names that are listed for a part of a name."""


class Kind(NamedTuple):
    """A row of KINDS."""

    knows: Callable[[str], bool]
    make: Callable[[str, Sequence[Revision]], Optional[entries.Entry]]


KINDS: Tuple[Kind, ...] = (
    Kind(lambda name: name == LIFECYCLE, entries.lifecycle),
    Kind(lambda name: name == DEPRECATED, entries.deprecated),
    Kind(lambda name: name.lstrip("-").isdecimal() and int(name) in CODES, entries.code),
    Kind(lambda name: name in facts.method_names(), entries.method),
    Kind(lambda name: facts.page_of(name) is not None, entries.type_),
    Kind(lambda name: name in entries.feature_names(), entries.feature),
    Kind(lambda name: name in NAMES, entries.revision_),
    Kind(lambda name: name in requirements(), entries.requirement),
    Kind(lambda name: words.find(name) is not None, entries.topic),
    Kind(lambda name: bool(pages.find(name)), entries.place),
    Kind(lambda name: pages.owned(name) is not None, entries.requirement),
    Kind(lambda name: pages.fault_of(name) != "", entries.fault),
    Kind(lambda name: pages.scene_of(name) is not None, entries.scene),
    Kind(lambda name: bool(facts.types_with(name)), entries.member),
)
"""The kinds of words, in the order in which a word is looked up."""


def _explain(options: Any) -> int:
    among = REVISIONS if options.revision is None else (revision(options.revision),)
    if options.html is not None:
        return _html(options)
    if options.list:
        return _list(options, among)
    if options.readings or options.missing:
        if options.name is not None:
            raise UsageError("--readings and --missing print a whole table: leave %s out" % options.name)
        found = entries.readings() if options.readings else entries.missing()
    elif options.name is None:
        raise UsageError("explain what? A method, type, error code, feature, revision, page, requirement or any other "
                         "word of the protocol; --list shows all names")
    else:
        found = describe(options.name, among)
    if options.json:
        say_json(found)
    else:
        asked = ["%s: found under %s" % (found["asked"], entries.name_of(found)), ""] if "asked" in found else []
        say("\n".join(asked + TEXTS[found["kind"]](found)))
    return DONE


def describe(name: str, among: Sequence[Revision] = REVISIONS) -> Dict[str, Any]:
    """Return what is known of a word, as the module's docstring describes; only of these revisions.

    Raises `UsageError` for a word that nothing has, with the nearest ones, or that these revisions do not have.
    """
    for kind in KINDS:
        if kind.knows(name):
            found = kind.make(name, among) or _of_extension(name, among)
            if found is None:
                raise UsageError("revision %s has no %s" % (among[0], name))
            return found
    dated = [part for part in name.split() if part in NAMES]
    if len(dated) == 1 and dated != name.split():
        rest = " ".join(part for part in name.split() if part != dated[0])
        return dict(describe(rest, (revision(dated[0]),)), asked=name)
    matches = _matching(name, among)
    if len(matches) == 1:
        return dict(describe(matches[0]["name"], among), asked=name)
    if matches:
        return {"kind": "matches", "name": name, "matches": matches}
    raise UsageError("nothing is called %r; %s" % (name, _nearest(name)))


def _of_extension(name: str, among: Sequence[Revision]) -> Optional[entries.Entry]:
    """Return the topic of an extension, for a word of an older revision that the newest one has as an extension."""
    found = words.find(name)
    fits = found is not None and found.page.startswith(EXTENSIONS) and REVISIONS[-1] in among
    return entries.topic(name, among) if fits else None


def _matching(text: str, among: Sequence[Revision]) -> List[Dict[str, str]]:
    """The names that have all words of a text, each with its kind. Letters, digits and slashes count, in lower case."""
    parts = _folded(text).split()
    if not parts or max(map(len, parts)) < 3:
        return []
    rows = [row for row in requirements().values() if any(each in among for each in row.stated)]
    sought = [(kind, name, name) for kind, names in _names(among).items() for name in names]
    sought += [("heading", where, where) for where in dict.fromkeys(row.where for row in rows if row.heading)]
    sought += [("requirement", row.id, "%s %s" % (row.id, row.where)) for row in rows]
    return [{"kind": kind, "name": name} for kind, name, searched in sought
            if all(part in _folded(searched) for part in parts)][:_MOST]


def _folded(text: str) -> str:
    return re.sub("[^a-z0-9/]+", " ", text.lower())


def _nearest(name: str) -> str:
    """Advice for a word that nothing has: the names that are nearly the same, or where all are listed."""
    from difflib import get_close_matches

    every = [each for names in _names(REVISIONS).values() for each in names]
    every += [word for topic in words.TOPICS for word in (topic.word, *topic.also)]
    every += requirements()
    by_lower = {each.lower(): each for each in reversed(every)}
    close = [by_lower[each] for each in get_close_matches(name.lower(), by_lower, 3, 0.6)]
    return "did you mean %s?" % " or ".join(close) if close else "explain --list shows all names"


def _names(among: Sequence[Revision]) -> Dict[str, List[str]]:
    """The names of the tables, by the kind of each."""
    tables = ((LIFECYCLE, entries.lifecycle), (DEPRECATED, entries.deprecated))
    return {
        "method": [name for name in facts.method_names() if any(facts.method_in(name, r) for r in among)],
        "type": [name for name in facts.type_names() if any(facts.exists(facts.type_named(name), r) for r in among)],
        "code": [str(code) for code in CODES if any(code in facts.codes_in(r) for r in among)],
        "feature": [name for name in entries.feature_names() if any(getattr(r, name) for r in among)],
        "other": [name for name, make in tables if make(name, among)],
    }


def _list(options: Any, among: Sequence[Revision]) -> int:
    """Print every name of the tables."""
    groups = {kind + "s": names for kind, names in _names(among).items()}
    if options.json:
        say_json(groups)
        return DONE
    for title, names in groups.items():
        if names:
            say("%s: %d" % (title, len(names)))
            say("\n".join("  " + name for name in names))
    return DONE


def _html(options: Any) -> int:
    """Write the pages for browsers."""
    from . import webpages  # late: it loads the rules of the checker

    if options.name is not None or options.revision is not None or options.readings or options.missing or options.list:
        raise UsageError("--html writes all pages with all revisions: give it a folder and nothing else")
    number = webpages.write_pages(options.html)
    if options.json:
        say_json({"folder": options.html, "pages": number})
    else:
        say("%d pages; open %s" % (number, os.path.join(options.html, "index.html")))
    return DONE


_EXAMPLES = """examples:
  explain tools/call                       a method: a paragraph, an example message, params and result by revision
  explain Tool --revision 2024-11-05       a type, as one revision has it
  explain 2025-06-18                       a revision: what it has, what came, what went
  explain "basic/lifecycle §Timeouts"      a heading: its requirements, and the lines of this package that cite it
  explain progress.token-active            a requirement: where it stands, who cites it, how the command check judges it
  explain scene:ping                       a scene of the command examine: what is sent, what is expected, what to do
  explain Mcp-Session-Id                   any other word: session, 401, PKCE, MRTR, SSE, cursor ...
  explain "progress token"                 the names that have these words
  explain --readings                       decisions of this package where the specification leaves a choice
  explain --missing                        what this package does not do, and why
  explain --html pages                     all of it as HTML files below the folder pages: open pages/index.html
"""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("name", nargs="?", metavar="WORD",
                        help="a method, type, error code, feature, revision, page, heading (in quotes), requirement, "
                             "scene, id of a fault, or any other word of the protocol; or: lifecycle, deprecated")
    parser.add_argument("--list", action="store_true", help="list the names of all methods, types, codes and features")
    parser.add_argument("--readings", action="store_true",
                        help="print the decisions of this package where the specification leaves a choice")
    parser.add_argument("--missing", action="store_true", help="print what this package does not do, and why")
    parser.add_argument("--html", metavar="OUT", help="write a page for browsers for each method, type, code, feature, "
                                                      "requirement and rule, with an index, to a folder")
    parser.add_argument("--revision", choices=list(NAMES), help="only this revision")
    parser.add_argument("--json", action="store_true", help="print JSON")


COMMANDS: Commands = {"explain": Command(_explain, _options)}
