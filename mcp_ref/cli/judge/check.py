"""The command `check`: judge a session, recorded or live, clause by clause.

A file is a trace in the format of `mcp_ref.wiretrace`, a HAR, or JSON-RPC messages one a line. Live, it stands between
a client and a server as the command `trace` does; the report comes when the conversation is over, on standard error or
in a file, because standard output is the wire.

The exit code is 0 without faults at or above ``--level``, 1 with some, 2 if nothing could be judged.
"""

import argparse
import gc
import itertools
from typing import Any, Callable, Dict, List

from ...devtools.checker import Checker
from ...devtools.checker.findings import VIOLATION, WARNING
from ...devtools.checker.report import FORMATS, AcceptError, Report, as_json, read_accepted
from ...devtools.checker.rules import Rule, load
from ...diagnostics.masking import Masker
from ...wiretrace import GAP, Event, Position, TraceCut, TraceError
from ..output import DONE, FAILED, Command, Commands, UsageError, as_json as json_text, note, say, say_json, write_file

_LEVELS = (VIOLATION, WARNING)
COLLECTED = 35_000
"""Events after which it is looked whether garbage is to be collected; it is at most about 40 MB then."""
_MADE = 250_000
"""Objects more than at the last collection for which garbage is collected: what the checker remembers are fewer."""
_HELP = """\
ways to use it:
  check FILE...                  judge what was recorded: a trace (--trace=FILE of the other commands, or the command
                                 trace), a HAR of a browser or proxy, or JSON-RPC messages one a line
  check -- CMD...                write this where the server's command stands now, in the client's settings: it judges
                                 while client and server talk
  check --http LISTEN URL        listen on LISTEN (HOST:PORT, or PORT on 127.0.0.1), pass all requests on to the server
                                 at URL, and judge; Ctrl-C ends it

Live, the report is written to standard error, or to --out FILE.

Exit codes: 0: no fault at or above --level. 1: there is one. 2: nothing could be judged. 3: the server could not be
started."""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    parser.add_argument("server", metavar="FILE", nargs="*", help="a recording; - is standard input")
    parser.add_argument("--http", nargs=2, metavar=("LISTEN", "URL"), help="stand before a server of the web")
    parser.add_argument("--keep-host", action="store_true",
                        help="with --http: pass the header field Host on as the client wrote it")
    parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="the form of the report (text)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--level", choices=_LEVELS, default=VIOLATION,
                        help="the least that makes the exit code 1: violation (of a MUST, the default) or warning")
    parser.add_argument("--accept", metavar="FILE", help="a file of faults that are accepted, each line an id from a "
                        "report and the reason")
    parser.add_argument("--out", metavar="FILE", help="write the report to a file")
    parser.add_argument("--unsure", action="store_true", help="list the rules that cannot be told, and why")
    parser.add_argument("--list", action="store_true", help="print the rules")


def _check(options: Any) -> int:
    if options.list:
        return _list(options)
    accepted = _accepted(options.accept)
    if options.http or options.live:
        reports = [_live(options, accepted)]
    elif options.server:
        reports = [_recorded(name, accepted) for name in options.server]
    else:
        raise UsageError("check what? A recording: check FILE; a server: check -- CMD; --list prints the rules")
    _write(options, reports)
    return FAILED if any(report.open(options.level) for report in reports) else DONE


def _recorded(name: str, accepted: Dict[str, str]) -> Report:
    checker, fed = Checker(), itertools.count(1)

    def take(event: Event, line: int) -> None:
        checker.feed(event, line)
        if next(fed) % COLLECTED == 0 and gc.get_count()[0] > _MADE:
            gc.collect()

    # The collector of garbage would look through all that is remembered again and again: a quarter of the time. Nearly
    # nothing waits for it (`ObservedExchange.forget`), so it is called when there are many more objects than before;
    # modules and rules, which were there before, are not looked through at all. PyPy has another collector.
    counted = hasattr(gc, "get_count")
    if counted:
        gc.disable()
        gc.freeze()
    try:
        note = judge_file(name, take if counted else checker.feed, "judged")
    finally:
        if counted:
            gc.unfreeze()
            gc.enable()
    checker.finish()
    if not checker.messages:
        raise UsageError("%s has no messages: there is nothing to judge" % name)
    return Report(checker, "standard input" if name == "-" else name, accepted, "" if name == "-" else name, note)


def judge_file(name: str, take: Callable[[Event, int], Any], done: str) -> str:
    """Give the events of a recording and their lines to a function; return a note, if it broke off.

    ``done``: what cannot be done, in the text of the `UsageError` for a file that cannot be read.
    """
    from ...devtools.recorder.imported import imported

    position, seen = Position(), {""}
    try:
        for event in imported(name, position=position):
            seen.add(event.connection)
            take(event, position.line)
    except TraceCut as error:
        for connection in sorted(seen):  # what came behind is not known
            take(Event(0.0, "", GAP, text="the recording broke off", connection=connection), position.line)
        return "%s; all before it was %s" % (error, done)
    except TraceError as error:
        raise UsageError("%s cannot be %s: %s" % (name, done, error)) from None
    except OSError as error:
        raise UsageError("%s cannot be %s: %s" % (name, done, error.strerror or error)) from None
    return ""


def _live(options: Any, accepted: Dict[str, str]) -> Report:
    from .tracing import through_proxy, through_shim

    checker = Checker()

    def take(event: Event) -> None:
        checker.feed(event)

    if options.http:
        try:
            through_proxy(options.http, options.keep_host, take)
        except KeyboardInterrupt:
            pass  # the way to end it: now comes the report
    else:
        through_shim(options.server, take)
    checker.finish()
    if not checker.messages:
        raise UsageError("no message went by: nothing was judged")
    masker = Masker()  # the name of a report is passed on, too
    name = masker.url(options.http[1]) if options.http else " ".join(masker.command(options.server))
    return Report(checker, name, accepted)


def _accepted(path: Any) -> Dict[str, str]:
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as lines:
            return read_accepted(lines)
    except (AcceptError, OSError, UnicodeDecodeError) as error:
        raise UsageError("--accept %s: %s" % (path, error)) from error


def _write(options: Any, reports: List[Report]) -> None:
    form = "json" if options.json else options.format
    if form == "json":
        text = json_text([as_json(each) for each in reports] if len(reports) > 1 else as_json(reports[0])) + "\n"
    elif form == "text":
        text = "\n\n".join("\n".join(report.lines(options.unsure)) for report in reports) + "\n"
    else:
        text = FORMATS[form](reports)
    if options.out:
        if options.out in options.server and not options.live:
            raise UsageError("--out %s is one of the recordings, and is not overwritten: name another file"
                             % options.out)
        write_file(options.out, text)
    elif options.http or options.live:
        for line in text.rstrip("\n").split("\n"):
            note(line)
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
            "citation": row.requirement.citation, "url": row.requirement.url or None,
            "revisions": row.requirement.revisions,
            "reading": row.reading or None, "disagreement": row.disagree or None}


COMMANDS: Commands = {"check": Command(_check, _configure, uses_server=True)}
