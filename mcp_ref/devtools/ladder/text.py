"""A conversation as text: a line for each step, the client on the left, the server on the right.

::

                      client                                            server
    == operation ==
        1    0.090    tools/call #1 ------------------------------------------>
        2    0.094    <------------------------------------ input_required #1
        !! violation by the server: mrtr.some-rule
           the evidence (the member)

The number of the message, the seconds since the start, two columns of brackets (streams that are open; rounds and
tasks that go on), and the arrow. Only ASCII; no line is wider than asked for.

`elided` leaves out the middle of long stretches in which nothing happens; `between` and `without` cut a conversation.
"""

from collections import Counter
from itertools import groupby
from textwrap import wrap
from typing import Dict, Iterable, Iterator, List, Sequence, Set, Tuple, Union

from ...methods import GET_TASK
from ...wiretrace import CLIENT, MESSAGE, PROCESS, SERVER, STDERR
from ...wiretrace.text import plain
from . import Rung, draw
from .conversation import (
    ANSWERED, ASKED, HTTP, NOTE, PHASE, ROUNDS, STREAM, TASK, Conversation, Gap, Group, LadderStep, Remark, name_of,
)

LONGEST = 12
"""Steps of a stretch in which nothing happened, from which on its middle is left out."""
SHOWN = 3
"""The first and the last steps of such a stretch, which are shown."""
POLLS, POLLS_SHOWN = 8, 2
"""Steps of looks at tasks that found nothing new, each a request and its answer, and how many of them are shown."""
_KINDS = 4
"""The kinds of messages that are counted by name where a stretch is left out."""


def elided(whole: Conversation, longest: int = LONGEST) -> Conversation:
    """Return a conversation without the middle of long stretches in which nothing happened.

    A stretch has no remark, no phase begins in it, no process starts or ends, and no task changes. One of more than
    ``longest`` steps keeps its first and last ones; of looks at tasks fewer are enough.
    """
    begins = {group.steps[0] for group in whole.groups if group.kind == PHASE and group.steps}
    stretches: List[Tuple[int, int]] = []
    for polls, run in _runs(whole, begins):
        head, tail = (POLLS_SHOWN, POLLS_SHOWN - _is_asked(whole.steps[run[-1]])) if polls else (SHOWN, SHOWN)
        if len(run) > (POLLS if polls else longest):
            stretches.append((run[0] + head, run[-1] + 1 - tail))
    return without(whole, stretches)


def _runs(whole: Conversation, begins: Set[int]) -> Iterator[Tuple[bool, range]]:
    """Yield the places of each stretch; of one with many looks at tasks these, and what is between them, apart."""
    start = 0
    for place in range(len(whole.steps) + 1):
        step = whole.steps[place] if place < len(whole.steps) else None
        notable = not isinstance(step, LadderStep) or bool(step.remarks) or step.turns or step.kind in (PROCESS, NOTE)
        if notable or place in begins:
            yield from _apart(whole, range(start, place))
            start = place + notable


def _apart(whole: Conversation, places: range) -> Iterator[Tuple[bool, range]]:
    start = places.start
    for quiet, run in groupby(places, key=lambda place: _is_quiet(whole.steps[place])):
        found = list(run)
        if quiet and len(found) > POLLS and any(_counted(whole.steps[place]) == GET_TASK for place in found):
            if start < found[0]:
                yield False, range(start, found[0])
            yield True, range(found[0], found[-1] + 1)
            start = found[-1] + 1
    if start < places.stop:
        yield False, range(start, places.stop)


def _counted(step: Union[LadderStep, Gap]) -> str:
    return step.counted if isinstance(step, LadderStep) else ""


def _is_quiet(step: Union[LadderStep, Gap]) -> bool:
    """Return True for a look at a task, its answer, and the HTTP around them."""
    return _counted(step) == GET_TASK or (isinstance(step, LadderStep) and step.kind == HTTP)


def _is_asked(step: Union[LadderStep, Gap]) -> bool:
    return isinstance(step, LadderStep) and step.sense == ASKED


def between(whole: Conversation, first: int, last: int) -> Conversation:
    """Return the part of a conversation from one message to another, by number, with all that is between them.

    Remarks elsewhere are left out; the lines in place of the other steps count them.
    """
    begin, end = 0, len(whole.steps)
    for place, step in enumerate(whole.steps):
        if isinstance(step, LadderStep) and step.number:
            if step.number < first:
                begin = place + 1
            if step.number > last:
                end = place
                break
    part = without(whole, [(0, begin), (end, len(whole.steps))])
    return part._replace(astray=())


def without(whole: Conversation, stretches: Iterable[Tuple[int, int]]) -> Conversation:
    """Return a conversation with a gap in place of each stretch, which is two places: ascending, and apart."""
    steps: List[Union[LadderStep, Gap]] = []
    moved: Dict[int, int] = {}
    astray = list(whole.astray)
    done = 0
    for first, last in [*stretches, (len(whole.steps), len(whole.steps))]:
        for place in range(done, first):
            moved[place] = len(steps)
            steps.append(whole.steps[place])
        left = [step for step in whole.steps[first:last] if isinstance(step, LadderStep)]
        if left:
            steps.append(Gap(_summary(left), len(left)))
            astray += [remark for step in left for remark in step.remarks]
        done = max(last, done)
    groups = [group._replace(steps=tuple(moved[place] for place in group.steps if place in moved))
              for group in whole.groups]
    return whole._replace(steps=tuple(steps), groups=tuple(group for group in groups if group.steps),
                          astray=tuple(astray))


def _summary(steps: List[LadderStep]) -> str:
    """Return what a stretch was, in one line: the number of messages, and those that are most frequent."""
    if all(_is_quiet(step) for step in steps) and any(step.sense == ANSWERED for step in steps):
        looks = sum(step.sense == ANSWERED for step in steps)
        seen = "".join(", " + status for status in sorted({step.status for step in steps if step.status}))
        return "... %d poll%s%s ..." % (looks, "s" * (looks != 1), seen)
    answered = Counter(step.counted for step in steps if step.sense == ANSWERED)
    asked = Counter(step.counted for step in steps if step.sense == ASKED)
    told = Counter(step.counted for step in steps if step.number and step.counted and not step.sense)
    kinds = Counter({"%s answered" % method: count for method, count in answered.items()})
    kinds.update({"%s asked" % method: count - answered[method] for method, count in asked.items()
                  if count > answered[method]})
    kinds.update(told)
    kinds.update({"line of stderr": sum(step.kind == STDERR for step in steps)})
    named = ["%d x %s" % (count, kind) for kind, count in kinds.most_common(_KINDS) if count]
    named += ["others"] * (len(+kinds) > _KINDS)
    messages = sum(bool(step.number) for step in steps)
    what = "%d message%s" % (messages, "s" * (messages != 1)) if messages else "%d line%s" % (
        len(steps), "s" * (len(steps) != 1))
    remarks = sum(len(step.remarks) for step in steps)
    found = "; %d finding%s" % (remarks, "s" * (remarks != 1)) if remarks else ""
    return "... %s%s%s ..." % (what, ": " * bool(named) + ", ".join(named), found)


LEAST = 60
"""Columns that are needed."""
_HEAD = 18
"""Columns before the arrow."""


def lines(drawn: Conversation, width: int = 80) -> List[str]:
    """Return the lines of a conversation, at most ``width`` columns wide: at least `LEAST`."""
    several = len(drawn.lanes) > 2
    columns = [_brackets([group for group in drawn.groups if group.kind in kinds], len(drawn.steps))
               for kinds in ((STREAM,), (ROUNDS, TASK))]
    begins = {group.steps[0]: group for group in drawn.groups if group.kind == PHASE and group.label and group.steps}
    room = max(width, LEAST) - _HEAD
    found = [" " * _HEAD + CLIENT + SERVER.rjust(room - len(CLIENT))]
    for place, step in enumerate(drawn.steps):
        if place in begins:
            group = begins[place]
            found.append("== %s%s ==" % (group.label, " of connection " + name_of(group.connection) if several else ""))
        marks = "".join(column[place] for column in columns)
        if isinstance(step, Gap):
            found += wrap(step.label, room + _HEAD, initial_indent=" " * (_HEAD - 3) + marks + " ",
                          subsequent_indent=" " * (_HEAD - 3) + marks + "     ")
            continue
        number = "%5d" % step.number if step.number else " " * 5
        label = step.label if not several else "%s: %s" % (name_of(step.connection), step.label)
        first, *more = _rung(step, label, room)
        found.append("%s %s %s %s" % (number, _seconds(step.time), marks, first))
        found += [" " * (_HEAD - 3) + marks + " " + each for each in more]
        for remark in step.remarks:
            found += remark_lines(remark, max(width, LEAST))
    for remark in drawn.astray:
        found += remark_lines(remark, max(width, LEAST), "message %d" % remark.number if remark.number else "no step")
    return found


def _rung(step: LadderStep, label: str, room: int) -> List[str]:
    """Return the lines of a step: one for an arrow, as many as the text needs for what is none."""
    if step.kind in (MESSAGE, HTTP) and step.direction and len(label) <= room - 2:
        return draw([Rung(step.direction, label)], room)
    if step.kind == MESSAGE:
        return draw([Rung(step.direction, label)], room)
    return wrap("-- " + label, room, subsequent_indent="   ")


def _seconds(time: float) -> str:
    return "%8.3f" % time if abs(time) < 1000 else "%8.2g" % time if abs(time) >= 1e6 else "%8.0f" % time


def remark_lines(remark: Remark, width: int, where: str = "") -> List[str]:
    """Return the lines of a remark; ``where``: the place, if it stands at no step."""
    said = "%s by the %s: %s%s" % (remark.verdict, remark.party or "unknown party", remark.title,
                                   where and " (%s)" % where)
    return (wrap("!! " + plain(said), width, initial_indent=" " * 6, subsequent_indent=" " * 9)
            + wrap(plain(remark.evidence), width, initial_indent=" " * 9, subsequent_indent=" " * 9))


def _brackets(groups: Sequence[Group], count: int) -> List[str]:
    """Return a sign for each place: ``+`` where a group begins or ends, ``|`` where one goes on."""
    change = [0] * (count + 1)
    ends: Set[int] = set()
    for group in groups:
        if len(group.steps) < 2:
            continue
        change[group.steps[0]] += 1
        change[group.steps[-1]] -= 1
        ends.update((group.steps[0], group.steps[-1]))
    signs, inside = [], 0
    for place in range(count):
        inside += change[place]
        signs.append("+" if place in ends else "|" if inside else " ")
    return signs
