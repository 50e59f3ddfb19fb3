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
"""

from textwrap import wrap
from typing import List, Sequence, Set

from ..wiretrace import CLIENT, MESSAGE, SERVER
from ..wiretrace.text import plain
from . import Rung, draw
from .conversation import HTTP, PHASE, ROUNDS, STREAM, TASK, Conversation, Gap, Group, Remark, Step, name_of

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


def _rung(step: Step, label: str, room: int) -> List[str]:
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
