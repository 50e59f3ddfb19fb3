"""From a postfix program to an automaton that has one state per character of the pattern (Glushkov's construction).

Number the character sets of a pattern from left to right: `a(b|c)*d` has positions 0 to 3. Having just read a
character at position 1 (`b`), a match may go on at 1, 2 or 3. So an automaton is fully told by four things: where a
match can begin (`first`), where it can end (`last`), which positions may follow which, and whether it matches the
empty text. There are no empty moves to chase, and a set of positions is one Python integer, bit n for position n.

Assertions are what one needs to know about a gap between two characters: is it the start, are its neighbours word
characters, does look-around 3 hold here. There are few such *contexts*, so each `first`, `last`, edge and emptiness
carries the set of contexts in which it counts, again as an integer; following two of them in one gap is the
intersection.

Edges come as (from positions, to positions, contexts). Most lead from one position to the next and hold everywhere:
those are kept apart in `shift`, and a machine follows all of them at once by shifting its state. A pattern such as
`x{2,2000}` has nothing but those, and one edge out.

Built `backwards`, the automaton reads the text from its end; a look-ahead needs that.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from .chars import CharSet, PatternLimits, PatternRefused
from .syntax import Assertion, Chars, Either, Join, Look, Op, Repeat

Labels = Dict[int, int]                 # set of contexts -> set of positions
Edge = Tuple[int, int, int]             # from positions, to positions, set of contexts

START = END = 0                         # a gap with nothing on this side: the text begins or ends here
WORD = 1                                # a gap beside a word character
OTHER = 2                               # a gap beside any other character


def context(before: int, after: int, looks: int) -> int:
    """The number of the context with these neighbours, in which the look-arounds of the bits `looks` hold."""
    return looks << 4 | before << 2 | after


def everywhere(lookarounds: int) -> int:
    """The set of all contexts."""
    return (1 << (16 << lookarounds)) - 1


class Fragment(NamedTuple):
    """The automaton of a part of a pattern, its positions numbered from 0."""

    chars: List[CharSet]                # per position, what it reads
    first: Labels
    last: Labels
    empty: int                          # contexts of the gap in which nothing at all is a match
    shift: int                          # positions that follow the one before them, in every context
    edges: List[Edge]


def build(program: List[Op], lookarounds: int, limits: PatternLimits, backwards: bool = False) -> Fragment:
    """The automaton of a program. Raises PatternRefused when it grows over `limits.program_size`."""
    return _Builder(lookarounds, limits, backwards).build(program)


class _Builder:
    def __init__(self, lookarounds: int, limits: PatternLimits, backwards: bool) -> None:
        self.contexts = 16 << lookarounds
        self.everywhere = everywhere(lookarounds)
        self.limit = limits.program_size
        self.backwards = backwards
        self.copied = 0
        self.stack: List[Fragment] = []
        self.gaps: Dict[Op, int] = {}

    def build(self, program: List[Op]) -> Fragment:
        for op in program:
            self.stack.append(_STEPS[type(op)](self, op))
        fragment, = self.stack
        return fragment

    def take(self, count: int) -> List[Fragment]:
        start = len(self.stack) - count
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    # -- one step per kind of operation

    def chars(self, op: Chars) -> Fragment:
        at = {self.everywhere: 1}
        return Fragment([op.chars], at, at, 0, 0, [])

    def assertion(self, op: Assertion) -> Fragment:
        kind = _MIRRORED.get(op.kind, op.kind) if self.backwards else op.kind
        return self.gap(op, lambda before, after, looks: _HOLDS[kind](before, after))

    def look(self, op: Look) -> Fragment:
        return self.gap(op, lambda before, after, looks: bool(looks >> op.number & 1) == op.wanted)

    def join(self, op: Join) -> Fragment:
        items = self.take(op.operands)
        return items[0] if len(items) == 1 else self.chain(items[::-1] if self.backwards else items)

    def either(self, op: Either) -> Fragment:
        chars: List[CharSet] = []
        first: Labels = {}
        last: Labels = {}
        edges: List[Edge] = []
        shift = empty = 0
        for item in self.take(op.operands):
            size = len(chars)
            _add(first, _moved(item.first, size))
            _add(last, _moved(item.last, size))
            edges.extend(_moved_edges(item.edges, size))
            shift |= item.shift << size
            empty |= item.empty
            chars.extend(item.chars)
        return self.checked(Fragment(chars, first, last, empty, shift, edges))

    def repeat(self, op: Repeat) -> Fragment:
        """`x{2,4}` is `xx(x(x)?)?`, `x{2,}` is `xx+`; an `x` that may be empty needs no lower bound."""
        item, = self.take(1)
        low = 0 if item.empty == self.everywhere else op.low
        if op.high == 0:
            return self.chain([])
        if not item.chars:
            return item if low else item._replace(empty=self.everywhere)
        self.count_copies(item, max(low, op.high or 1))
        if op.high is None:
            loop = self.loop(item)
            return self.chain([item] * (low - 1) + [loop]) if low else loop._replace(empty=self.everywhere)
        tail = [self.chain([item] * (op.high - low), optional=True)] if op.high > low else []
        return self.chain([item] * low + tail)

    # -- putting fragments together

    def gap(self, op: Op, holds: Callable[[int, int, int], bool]) -> Fragment:
        """Return the fragment of an operation that reads nothing: empty in the contexts where it holds."""
        if op not in self.gaps:
            numbers = range(self.contexts)
            self.gaps[op] = sum(1 << each for each in numbers if holds(each >> 2 & 3, each & 3, each >> 4))
        return Fragment([], {}, {}, self.gaps[op], 0, [])

    def chain(self, items: List[Fragment], optional: bool = False) -> Fragment:
        """Return the fragment of items one after another; with ``optional`` (copies of one item only) any number of
        them."""
        chars: List[CharSet] = []
        first: Labels = {}
        last: Labels = {}
        ends: Labels = {}
        edges: List[Edge] = []
        shift = 0
        empty = self.everywhere
        for item in items:
            size = len(chars)
            begins, finishes = _moved(item.first, size), _moved(item.last, size)
            shift |= item.shift << size | self.connect(last, begins, edges)
            edges.extend(_moved_edges(item.edges, size))
            _add(first, _within(begins, empty))
            if optional:
                _add(ends, finishes)
            else:
                _add(finishes, _within(last, item.empty))
            last = finishes
            empty = 0 if optional else empty & item.empty
            chars.extend(item.chars)
            self.check_size(len(chars) + len(edges))
        return Fragment(chars, first, ends if optional else last, self.everywhere if optional else empty, shift, edges)

    def loop(self, item: Fragment) -> Fragment:
        """Return the fragment of one or more repetitions."""
        edges = list(item.edges)
        shift = item.shift | self.connect(item.last, item.first, edges)
        return self.checked(item._replace(shift=shift, edges=edges))

    def connect(self, last: Labels, first: Labels, edges: List[Edge]) -> int:
        """Let every ``first`` follow every ``last``: append the irregular edges, return the positions to add to
        `shift`."""
        self.check_size(len(last) * len(first))
        shift = 0
        for ending, sources in last.items():
            for beginning, targets in first.items():
                contexts = ending & beginning
                before = targets >> 1
                single = before and not targets & (targets - 1)
                if single and sources & before and contexts == self.everywhere:
                    shift |= targets
                    if sources == before:
                        continue
                if contexts:
                    edges.append((sources, targets, contexts))
        return shift

    # -- limits

    def count_copies(self, item: Fragment, copies: int) -> None:
        if copies > 1:
            self.copied += (len(item.chars) + len(item.edges)) * copies
            self.check_size(self.copied)

    def checked(self, fragment: Fragment) -> Fragment:
        self.check_size(len(fragment.chars) + len(fragment.edges))
        return fragment

    def check_size(self, size: int) -> None:
        if size > self.limit:
            raise PatternRefused("the pattern expands to {} or more: over the limit program_size = {}".format(
                size, self.limit))


def _moved(labels: Labels, by: int) -> Labels:
    return {contexts: positions << by for contexts, positions in labels.items()}


def _moved_edges(edges: List[Edge], by: int) -> List[Edge]:
    return [(sources << by, targets << by, contexts) for sources, targets, contexts in edges]


def _within(labels: Labels, contexts: int) -> Labels:
    """Return the labels, restricted to these contexts."""
    kept: Labels = {}
    if contexts:
        for each, positions in labels.items():
            if each & contexts:
                kept[each & contexts] = kept.get(each & contexts, 0) | positions
    return kept


def _add(labels: Labels, more: Labels) -> None:
    for contexts, positions in more.items():
        labels[contexts] = labels.get(contexts, 0) | positions


_HOLDS: Dict[str, Callable[[int, int], bool]] = {
    "start": lambda before, after: before == START,
    "end": lambda before, after: after == END,
    "boundary": lambda before, after: (before == WORD) != (after == WORD),
    "inside": lambda before, after: (before == WORD) == (after == WORD),
}
_MIRRORED = {"start": "end", "end": "start"}
_STEPS: Dict[type, Callable[[_Builder, Any], Fragment]] = {
    Chars: _Builder.chars, Assertion: _Builder.assertion, Look: _Builder.look, Join: _Builder.join,
    Either: _Builder.either, Repeat: _Builder.repeat,
}
