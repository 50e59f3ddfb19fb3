"""Parts of a conversation, and a conversation without long stretches in which nothing happened."""

from collections import Counter
from typing import Dict, Iterable, List, Tuple, Union

from ..wiretrace import PROCESS, STDERR
from .conversation import ANSWERED, ASKED, NOTE, PHASE, Conversation, Gap, Step

LONGEST = 12
"""Steps of a stretch in which nothing happened, from which on its middle is left out."""
SHOWN = 3
"""The first and the last steps of such a stretch, which are shown."""
_KINDS = 4
"""The kinds of messages that are counted by name where a stretch is left out."""


def elided(whole: Conversation, longest: int = LONGEST) -> Conversation:
    """Return a conversation without the middle of long stretches in which nothing happened.

    A stretch has no remark, no phase begins in it, no process starts or ends. One of more than ``longest`` steps keeps
    its first and last ones.
    """
    begins = {group.steps[0] for group in whole.groups if group.kind == PHASE and group.steps}
    stretches: List[Tuple[int, int]] = []
    start = 0
    for place in range(len(whole.steps) + 1):
        step = whole.steps[place] if place < len(whole.steps) else None
        notable = not isinstance(step, Step) or bool(step.remarks) or step.kind in (PROCESS, NOTE)
        if notable or place in begins:
            if place - start > longest:
                stretches.append((start + SHOWN, place - SHOWN))
            start = place + notable
    return without(whole, stretches)


def between(whole: Conversation, first: int, last: int) -> Conversation:
    """Return the part of a conversation from one message to another, by number, with all that is between them.

    Remarks elsewhere are left out; the lines in place of the other steps count them.
    """
    begin, end = 0, len(whole.steps)
    for place, step in enumerate(whole.steps):
        if isinstance(step, Step) and step.number:
            if step.number < first:
                begin = place + 1
            if step.number > last:
                end = place
                break
    part = without(whole, [(0, begin), (end, len(whole.steps))])
    return part._replace(astray=())


def without(whole: Conversation, stretches: Iterable[Tuple[int, int]]) -> Conversation:
    """Return a conversation with a gap in place of each stretch, which is two places: ascending, and apart."""
    steps: List[Union[Step, Gap]] = []
    moved: Dict[int, int] = {}
    astray = list(whole.astray)
    done = 0
    for first, last in [*stretches, (len(whole.steps), len(whole.steps))]:
        for place in range(done, first):
            moved[place] = len(steps)
            steps.append(whole.steps[place])
        left = [step for step in whole.steps[first:last] if isinstance(step, Step)]
        if left:
            steps.append(Gap(_summary(left), len(left)))
            astray += [remark for step in left for remark in step.remarks]
        done = max(last, done)
    groups = [group._replace(steps=tuple(moved[place] for place in group.steps if place in moved))
              for group in whole.groups]
    return whole._replace(steps=tuple(steps), groups=tuple(group for group in groups if group.steps),
                          astray=tuple(astray))


def _summary(steps: List[Step]) -> str:
    """Return what a stretch was, in one line: the number of messages, and those that are most frequent."""
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
