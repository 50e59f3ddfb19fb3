"""The entries of `explain` in words: lines of text for each kind of object that `entries` makes."""

import json
import textwrap
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ... import methods
from ...protocol.lifecycle import ANY, CLIENT, PHASES, SERVER, TABLE
from ...revisions import HANDSHAKE_REVISIONS, NAMES, revision
from . import facts

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
