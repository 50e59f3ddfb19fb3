"""The command `ladder`: draw a recorded session as a sequence diagram, with what the checker found at its messages."""

import argparse
import os
from typing import Any, Dict, Tuple

from ...devtools.checker import Checker
from ...devtools.ladder.conversation import NOTE, LadderStep, Scribe
from ...devtools.ladder.text import between, elided
from ...wiretrace import Event
from ..output import DONE, Command, Commands, UsageError, note, say, write_file
from .check import judge_file
from .drawing import drawn_with

_HELP = """\
what is drawn:
  each message with its number and time, HTTP exchanges ([3] is the third), streams, rounds and tasks between brackets,
  the status of a task where a message tells it, processes, standard error; what breaks a rule stands below its message
  (check tells more of it). The middle of a long stretch in which nothing happened, and of many looks at a task, is left
  out; --from and --to show a part in full.

--html writes one file that any browser shows, offline: the whole session with times, filters, the bytes and the
meaning of each message, and what breaks a rule at the message that breaks it.

FILE is what the command check reads: a trace, a HAR, or JSON-RPC messages one a line."""


def _ladder(options: Any) -> int:
    from ...devtools.ladder import mermaid, text

    if options.html is not None:
        return _page(options)
    if options.width < text.LEAST:
        raise UsageError("--width %d is too narrow: at least %d" % (options.width, text.LEAST))
    checker, scribe = Checker(), Scribe()

    def take(event: Event, line: int) -> None:
        checker.feed(event, line)
        scribe.take(event)

    broke_off = judge_file(options.file, take, "drawn")
    whole = drawn_with(checker, scribe)
    if not any(isinstance(step, LadderStep) and step.kind != NOTE for step in whole.steps):
        raise UsageError("%s has no messages: there is nothing to draw" % options.file)
    if broke_off:
        note("mcp_ref: %s: %s" % (options.file, broke_off))
    if options.first is None and options.last is None:
        drawn = elided(whole)
    else:
        messages = max(getattr(step, "number", 0) for step in whole.steps)
        first, last = options.first or 1, messages if options.last is None else min(options.last, messages)
        if not 1 <= first <= last:
            raise UsageError("there is no message from %d to %d: the last one is %d" % (first, last, messages))
        drawn = between(whole, first, last)
    say("\n".join(mermaid.lines(drawn) if options.mermaid else text.lines(drawn, options.width)))
    return DONE


def _page(options: Any) -> int:
    """Write the page of a session."""
    from ...devtools.inspector import page

    if options.mermaid or options.first is not None or options.last is not None:
        raise UsageError("--html shows the whole session: leave out --mermaid, --from and --to")
    document, checker, broke_off = document_of(options.file)
    write_file(options.html, page(document))
    note("%s: %d messages, %d findings%s" % (
        options.html, checker.messages, sum(each.cause is None for each in checker.findings),
        broke_off and "; " + broke_off))
    return DONE


def document_of(file: str) -> Tuple[Dict[str, Any], Checker, str]:
    """Return a recorded session as a page reads it, its judge, and a note if the recording broke off. Raises
    `UsageError`."""
    from ...devtools.inspector import SessionRecord
    from ..learn.entries import glossary

    checker, record = Checker(), SessionRecord()

    def take(event: Event, line: int) -> None:
        checker.feed(event, line)
        record.take(event)

    broke_off = judge_file(file, take, "drawn")
    checker.finish()
    if not checker.messages:
        raise UsageError("%s has no messages: there is nothing to draw" % file)
    title = "Session" if file == "-" else os.path.basename(file)  # the page is passed on
    return record.document(title, checker.findings, glossary(record.methods())), checker, broke_off


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    parser.add_argument("file", metavar="FILE", help="a recording; - is standard input")
    parser.add_argument("--mermaid", action="store_true", help="print the source of a diagram for Mermaid")
    parser.add_argument("--html", metavar="OUT", help="write a page for browsers to a file")
    parser.add_argument("--from", dest="first", metavar="N", type=int, help="the number of the first message to draw")
    parser.add_argument("--to", dest="last", metavar="N", type=int, help="the number of the last message to draw")
    parser.add_argument("--width", type=int, default=80, help="columns of the text (80)")


COMMANDS: Commands = {"ladder": Command(_ladder, _options)}
