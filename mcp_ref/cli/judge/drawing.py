"""Conversations with what the checker finds at their messages, for the commands that draw them."""

from typing import Iterable, Iterator, List, Tuple

from ...devtools.checker import Checker, Finding
from ...devtools.ladder.conversation import Conversation, Remark, Scribe
from ...wiretrace import Event


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
    return drawn_with(checker, scribe), checker.findings


def drawn_with(checker: Checker, scribe: Scribe) -> Conversation:
    """End a check, and return the conversation with what was found."""
    checker.finish()
    return scribe.conversation(remarks(checker.findings))
