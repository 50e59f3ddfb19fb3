"""The command `check`: judge a recorded session, clause by clause.

The trace is a file in the format of `mcp_ref.wiretrace`, as ``--trace=FILE`` and the command `trace` write it. Without
faults at or above ``--level`` the exit code is 0, with some it is 1; if the trace cannot be read, 2.
"""

import argparse
from typing import Any, Dict, List

from ...checker import Checker
from ...checker.checker import VIOLATION, WARNING
from ...checker.formats import FORMATS, as_json
from ...checker.report import AcceptError, Report, read_accepted
from ...checker.rules import Rule, load
from ...wiretrace import TraceError, read
from ..command import Command, Commands
from ..output import DONE, FAILED, UsageError, say, say_json

_LEVELS = (VIOLATION, WARNING)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Judge a recorded session: which rule of the specification was broken, by whom, at which message. "
        "Exit code 0: nothing found at or above --level; 1: something; 2: it could not be judged.")
    parser.add_argument("traces", metavar="FILE", nargs="*",
                        help="a trace (JSON Lines), as --trace=FILE writes it; - is standard input")
    parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="the form of the report (text)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--level", choices=_LEVELS, default=VIOLATION,
                        help="the least that makes the exit code 1: violation (of a MUST, the default) or warning")
    parser.add_argument("--accept", metavar="FILE", help="a file of faults that are accepted, each line an id from a "
                        "report and the reason")
    parser.add_argument("--out", metavar="FILE", help="write the report to a file in place of standard output")
    parser.add_argument("--unsure", action="store_true", help="list the rules that cannot be told, and why")
    parser.add_argument("--list", action="store_true", help="print the rules")


def _check(options: Any) -> int:
    if options.list:
        return _list(options)
    if not options.traces:
        raise UsageError("check what? A trace: python3 -m mcp_ref check FILE; --list prints the rules")
    accepted = _accepted(options.accept)
    reports = [_judged(name, accepted) for name in options.traces]
    form = "json" if options.json else options.format
    if form == "json" and not options.out:
        say_json([as_json(each) for each in reports] if len(reports) > 1 else as_json(reports[0]))
    else:
        _write(options, form, reports)
    return FAILED if any(report.open(options.level) for report in reports) else DONE


def _judged(name: str, accepted: Dict[str, str]) -> Report:
    import sys

    checker = Checker()
    try:
        checker.check(read(sys.stdin.buffer if name == "-" else name))
    except (TraceError, OSError) as error:
        raise UsageError("%s cannot be judged: %s" % (name, error)) from error
    if not checker.messages:
        raise UsageError("%s has no messages: there is nothing to judge" % name)
    return Report(checker, "standard input" if name == "-" else name, accepted)


def _accepted(path: Any) -> Dict[str, str]:
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as lines:
            return read_accepted(lines)
    except (AcceptError, OSError, UnicodeDecodeError) as error:
        raise UsageError("--accept %s: %s" % (path, error)) from error


def _write(options: Any, form: str, reports: List[Report]) -> None:
    if form == "text":
        text = "\n\n".join("\n".join(report.lines(options.unsure)) for report in reports) + "\n"
    else:
        text = "".join(FORMATS[form](report) for report in reports)
    if options.out:
        with open(options.out, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    else:
        say(text.rstrip("\n"))


def _list(options: Any) -> int:
    rows = list(load().values())
    if options.json:
        say_json([_row(row) for row in rows])
        return DONE
    for row in rows:
        say("%-44s %-10s %-7s %s" % (row.id, row.requirement.level, row.party, row.text))
    return DONE


def _row(row: Rule) -> Dict[str, Any]:
    return {"id": row.id, "also": list(row.also), "level": row.requirement.level, "party": row.party, "text": row.text,
            "citation": row.requirement.citation, "revisions": row.requirement.revisions,
            "reading": row.reading or None, "disagreement": row.disagree or None}


COMMANDS: Commands = {"check": Command(_check, _configure)}
