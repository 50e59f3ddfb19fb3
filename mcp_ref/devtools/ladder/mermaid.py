"""A conversation as a sequence diagram of Mermaid.

Text of a peer stands in labels only, and every sign that could mean something to Mermaid, to HTML or to a fence of
Markdown is written by its number: ``#59;`` is a semicolon.
"""

from typing import Dict, Iterator, List, Sequence, Set

from ...wiretrace import CLIENT, MESSAGE, SERVER
from ...wiretrace.text import plain
from .conversation import HTTP, PHASE, ROUNDS, STREAM, TASK, Conversation, Gap, Group, LadderStep, Remark

_HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./_-,()[]+=")
_ARROWS = {CLIENT: "->>", SERVER: "-->>"}
_SHADE = "rect rgba(128, 128, 128, 0.15)"


def escaped(text: str) -> str:
    """Return a text as a label: one line in which nothing means anything to Mermaid."""
    return "".join(sign if sign in _HARMLESS else "#%d;" % ord(sign) for sign in plain(text))


def lines(drawn: Conversation) -> List[str]:
    """Return the lines of a conversation as a diagram."""
    names: Dict[str, int] = {}
    found = ["sequenceDiagram"]
    for lane in drawn.lanes:
        at = names.setdefault(lane.connection, len(names) + 1)
        found.append("    participant %s as %s" % (_name(lane.party, at), escaped(lane.title)))
    first = next(iter(names.values()), 1)
    begins = {group.steps[0]: group for group in drawn.groups if group.kind == PHASE and group.label and group.steps}
    opened: Dict[int, List[Group]] = {}
    closed: Dict[int, int] = {}
    for group in blocks(drawn.groups):
        opened.setdefault(group.steps[0], []).append(group)
        closed[group.steps[-1]] = closed.get(group.steps[-1], 0) + 1
    for place, step in enumerate(drawn.steps):
        at = names.get(step.connection, first) if isinstance(step, LadderStep) else first
        if place in begins:
            found.append(_note(names.get(begins[place].connection, first), "== %s ==" % begins[place].label))
        for group in opened.get(place, ()):
            found += ["    " + _SHADE, _note(names.get(group.connection, first), group.label)]
        found += [_note(at, step.label)] if isinstance(step, Gap) else list(_step(step, at))
        found += ["    end"] * closed.get(place, 0)
    found += [_note(first, _said(remark)) for remark in drawn.astray]
    return found


def _name(party: str, at: int) -> str:
    return "%s%d" % ("C" if party == CLIENT else "S", at)


def _note(at: int, text: str) -> str:
    return "    Note over C%d,S%d: %s" % (at, at, escaped(text))


def _step(step: LadderStep, at: int) -> Iterator[str]:
    if step.kind in (MESSAGE, HTTP) and step.direction:
        sender, receiver = _name(step.direction, at), _name(SERVER if step.direction == CLIENT else CLIENT, at)
        number = "%d. " % step.number if step.number else ""
        yield "    %s%s%s: %s" % (sender, _ARROWS[step.direction], receiver, escaped(number + step.label))
    else:
        yield _note(at, step.label)
    for remark in step.remarks:
        yield _note(at, _said(remark))


def _said(remark: Remark) -> str:
    return "%s by the %s, %s, %s" % (remark.verdict.upper(), remark.party or "unknown party", remark.title,
                                     remark.evidence)


def blocks(groups: Sequence[Group]) -> List[Group]:
    """Return the streams, rounds and tasks that can be drawn as blocks, outer ones first: none crosses another."""
    wanted = [group for group in groups if group.kind in (STREAM, ROUNDS, TASK) and len(group.steps) > 1]
    found: List[Group] = []
    stack: List[int] = []
    used: Set[int] = set()
    for group in sorted(wanted, key=lambda group: (group.steps[0], -group.steps[-1])):
        first, last = group.steps[0], group.steps[-1]
        while stack and stack[-1] < first:
            stack.pop()
        if (stack and last > stack[-1]) or (first in used and last in used):
            continue
        used.update((first, last))
        stack.append(last)
        found.append(group)
    return found
