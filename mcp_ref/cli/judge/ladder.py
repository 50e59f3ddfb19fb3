"""The command `ladder`: draw a recorded session as a sequence diagram, with what the checker found at its messages."""

import argparse
from typing import Any, Iterable, Iterator, List, Tuple

from ...checker import Checker, Finding
from ...ladder.conversation import NOTE, Conversation, Remark, Scribe, Step
from ...ladder.stretches import between, elided
from ...wiretrace import Event
from ..command import Command, Commands
from ..output import DONE, UsageError, note, say
from .check import judge_file

_HELP = """\
what is drawn:
  each message with its number and time, HTTP exchanges ([3] is the third), streams, rounds and tasks between brackets,
  the status of a task where a message tells it, processes, standard error; what breaks a rule stands below its message
  (check tells more of it). The middle of a long stretch in which nothing happened, and of many looks at a task, is left
  out; --from and --to show a part in full.

FILE is what the command check reads: a trace, a HAR, or JSON-RPC messages one a line."""


def remarks(findings: Iterable[Finding]) -> Iterator[Remark]:
    """Yield findings as a drawing takes them."""
    for each in findings:
        follows = " (follows from %s)" % each.cause.rule.id if each.cause is not None else ""
        yield Remark(each.verdict, each.rule.id + follows, each.party,
                     each.evidence + " (%s)" % each.where * bool(each.where), each.number, each.exchange,
                     each.connection, each.time)


def judged(events: Iterable[Event]) -> Tuple[Conversation, List[Finding]]:
    """Return the conversation of events, with what the checker finds, and that."""
    checker, scribe = Checker(), Scribe()
    for event in events:
        checker.feed(event)
        scribe.take(event)
    return _finished(checker, scribe), checker.findings


def _finished(checker: Checker, scribe: Scribe) -> Conversation:
    checker.finish()
    return scribe.conversation(remarks(checker.findings))


def _ladder(options: Any) -> int:
    from ...ladder import mermaid, text

    if options.width < text.LEAST:
        raise UsageError("--width %d is too narrow: at least %d" % (options.width, text.LEAST))
    checker, scribe = Checker(), Scribe()

    def take(event: Event, line: int) -> None:
        checker.feed(event, line)
        scribe.take(event)

    broke_off = judge_file(options.file, take, "drawn")
    whole = _finished(checker, scribe)
    if not any(isinstance(step, Step) and step.kind != NOTE for step in whole.steps):
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


def _options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _HELP
    parser.add_argument("file", metavar="FILE", help="a recording; - is standard input")
    parser.add_argument("--mermaid", action="store_true", help="print the source of a diagram for Mermaid")
    parser.add_argument("--from", dest="first", metavar="N", type=int, help="the number of the first message to draw")
    parser.add_argument("--to", dest="last", metavar="N", type=int, help="the number of the last message to draw")
    parser.add_argument("--width", type=int, default=80, help="columns of the text (80)")


COMMANDS: Commands = {"ladder": Command(_ladder, _options)}
