"""Regular expressions of JSON Schema, matched in linear time: `compile(pattern).search(text)`.

Python's `re` backtracks: 34 characters can keep `^(a+)+$` busy for minutes, and nothing can stop it. Patterns come from
peers, so they are matched by an automaton that looks at each character once.

    syntax    text of the pattern -> postfix program
    chars     the limits on what a pattern may cost; sets of characters, Unicode properties
    patterns  program -> automaton, which it runs, remembering its transitions

Supported: the syntax of ECMA-262 with its `u` flag [JSON Schema 2020-12 core §6.4], look-ahead and look-behind
included. A look-around is an automaton too: one pass over the text (from the end for a look-ahead) notes for every gap
between two characters whether it holds there, and the passes after that read the notes. Inner look-arounds go first.

Refused, with a message that says so: back-references (no linear method exists), inline flags, and the Unicode
properties that `chars` does not know. Nothing is ever handed to `re`: the automaton takes about 40 ns per character
once warm.

The automaton has one state per character of the pattern (Glushkov's construction). Number the character sets of a
pattern from left to right: `a(b|c)*d` has positions 0 to 3. Having just read a character at position 1 (`b`), a match
may go on at 1, 2 or 3. So an automaton is fully told by four things: where a match can begin (`first`), where it can
end (`last`), which positions may follow which, and whether it matches the empty text. There are no empty moves to
chase, and a set of positions is one Python integer, bit n for position n.

Assertions are what one needs to know about a gap between two characters: is it the start, are its neighbours word
characters, does look-around 3 hold here. There are few such *contexts*, so each `first`, `last`, edge and emptiness
carries the set of contexts in which it counts, again as an integer; following two of them in one gap is the
intersection.

Edges come as (from positions, to positions, contexts). Most lead from one position to the next and hold everywhere:
those are kept apart in `shift`, and a machine follows all of them at once by shifting its state. A pattern such as
`x{2,2000}` has nothing but those, and one edge out. Built `backwards`, the automaton reads the text from its end; a
look-ahead needs that.
"""

from threading import Lock
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from .chars import DEFAULT_LIMITS, WORD as WORD_CHARS, CharSet, PatternLimits, PatternRefused
from .syntax import Assertion, Chars, Either, Join, Look, Op, Parsed, Repeat, parse

__all__ = ["DEFAULT_LIMITS", "Key", "Machine", "Pattern", "PatternLimits", "PatternRefused", "compile"]

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


# The machine that runs an automaton over a text: one step per character, for every pattern.
#
# The state of a run is the set of positions that may have read the last character, plus what kind of character that was
# (for `^` and `\b`). The next state depends on nothing but this state, the next character and the look-arounds that
# hold in between, so it is worked out once and then remembered: `MachineState` is a dictionary from the next input to
# the state after it. A text of which the machine has seen the like costs one look-up per character. (That is a
# deterministic automaton, built as far as texts ask for it. Built fully it may have 2^positions states; so the memory
# is bounded, and emptied when full.)
#
# Time is linear in the text: a step that has to be worked out costs at most one test per edge and per class of
# characters. Because 10,000 edges times a long text is still a long time, a run that works out too much is refused.

Key = Union[str, Tuple[str, int]]
"""The input of a step: the next character, with the look-arounds that hold before it if the pattern has some."""


class MachineState(Dict[Key, Any]):
    """Key -> next State (in a search) or (hit, next State) (in `hits`). A state with a verdict has no next one."""

    __slots__ = ("positions", "before", "verdict")

    def __init__(self, positions: int, before: int, verdict: Optional[bool] = None) -> None:
        self.positions = positions
        self.before = before
        self.verdict = verdict


FOUND = MachineState(0, OTHER, True)
HOPELESS = MachineState(0, OTHER, False)


class _Moves(NamedTuple):
    """The automaton as it looks in one context."""

    first: int
    last: int
    empty: bool
    edges: List[Tuple[int, int]]


class Machine:
    """An automaton with its memory of transitions; several threads may run it at once."""

    def __init__(self, fragment: Fragment, lookarounds: int, words: bool, limits: PatternLimits) -> None:
        self._fragment = fragment
        self._words = words                       # whether it matters what a word character is
        self._limits = limits
        self._lock = Lock()                       # held while a transition is worked out
        self._states: Dict[Tuple[int, int], MachineState] = {}
        self._moves: Dict[int, _Moves] = {}
        self._readers: Dict[str, int] = {}        # character -> positions that accept it; forgotten with the states
        self._literals, self._classes = _by_chars(fragment.chars)
        self._start = MachineState(0, START)
        self._may_begin_late = _may_begin_late(fragment, lookarounds)
        self._weight = 1 + len(fragment.chars) // 256
        self._remembered = 0
        self.effort = 50 + len(fragment.edges) * (1 + len(fragment.chars) // 2000) + len(self._classes)
        self.worked_out = 0                       # transitions that were not remembered, ever (tests count them)

    def search(self, keys: Iterable[Key], looks_at_end: int = 0) -> bool:
        """Return True if a match begins anywhere. Raises PatternRefused over `limits.search_work`."""
        state = self._start
        work = 0
        for key in keys:
            try:
                state = state[key]
            except KeyError:
                if state.verdict is not None:
                    return state.verdict
                work = self._spend(work)
                with self._lock:
                    hit, reached = self._work_out(state, key)
                    if hit:
                        reached = FOUND
                    elif not reached.positions and not self._may_begin_late:
                        reached = HOPELESS
                    state[key] = reached
                state = reached
        return self._hit(state, END, looks_at_end) if state.verdict is None else state.verdict

    def hits(self, keys: Iterable[Key], looks_at_end: int = 0) -> Iterator[bool]:
        """Yield for the gap before each key, and for the one at the end, whether a match ends there."""
        state = self._start
        work = 0
        for key in keys:
            try:
                hit, state = state[key]
            except KeyError:
                work = self._spend(work)
                with self._lock:
                    hit, reached = state[key] = self._work_out(state, key)
                state = reached
            yield hit
        yield self._hit(state, END, looks_at_end)

    def _spend(self, work: int) -> int:
        work += self.effort
        if work > self._limits.search_work:
            raise PatternRefused("this text makes the pattern work too long: over the limit search_work = {}".format(
                self._limits.search_work))
        return work

    def _work_out(self, state: MachineState, key: Key) -> Tuple[bool, MachineState]:
        """Take one step: return whether a match ends before the character, and the state after it."""
        char, looks = key if isinstance(key, tuple) else (key, 0)
        kind = WORD if self._words and WORD_CHARS.has(char) else OTHER
        moves = self._moves_in(context(state.before, kind, looks))
        positions = state.positions
        reached = positions << 1 & self._fragment.shift | moves.first
        for sources, targets in moves.edges:
            if positions & sources:
                reached |= targets
        self.worked_out += 1
        self._make_room()
        hit = moves.empty or positions & moves.last != 0
        return hit, self._state(reached & self._accepting(char), kind)

    def _hit(self, state: MachineState, after: int, looks: int) -> bool:
        moves = self._moves_in(context(state.before, after, looks))
        return moves.empty or state.positions & moves.last != 0

    def _state(self, positions: int, before: int) -> MachineState:
        key = positions, before
        if key not in self._states:
            self._states[key] = MachineState(positions, before)
        return self._states[key]

    def _make_room(self) -> None:
        self._remembered += self._weight
        if self._remembered > self._limits.cached_transitions:
            for state in self._states.values():
                state.clear()
            self._start.clear()
            self._states.clear()
            self._readers.clear()
            self._remembered = 0

    def _accepting(self, char: str) -> int:
        """Return the positions that read this character."""
        if char not in self._readers:
            positions = self._literals.get(char, 0)
            for chars, readers in self._classes:
                if chars.has(char):
                    positions |= readers
            self._readers[char] = positions
        return self._readers[char]

    def _moves_in(self, number: int) -> _Moves:
        if number not in self._moves:
            bit = 1 << number
            whole = self._fragment
            self._moves[number] = _Moves(
                sum(positions for contexts, positions in whole.first.items() if contexts & bit),
                sum(positions for contexts, positions in whole.last.items() if contexts & bit),
                bool(whole.empty & bit),
                [(sources, targets) for sources, targets, contexts in whole.edges if contexts & bit])
        return self._moves[number]


def _by_chars(chars: List[CharSet]) -> Tuple[Dict[str, int], List[Tuple[CharSet, int]]]:
    """Return the positions that read a single character (by that character), and those that read a class."""
    literals: Dict[str, int] = {}
    classes: Dict[CharSet, int] = {}
    for number, each in enumerate(chars):
        single = each.single()
        if single:
            literals[single] = literals.get(single, 0) | 1 << number
        else:
            classes[each] = classes.get(each, 0) | 1 << number
    return literals, list(classes.items())


def _may_begin_late(fragment: Fragment, lookarounds: int) -> bool:
    """Return True if a match can begin after the first character: not if all of them begin with `^`."""
    late = sum(1 << number for number in range(16 << lookarounds) if number >> 2 & 3 != START)
    return bool(fragment.empty & late) or any(contexts & late for contexts in fragment.first)


# Patterns


class _LookMachine(NamedTuple):
    ahead: bool
    machine: Machine


class Pattern:
    """A compiled pattern. It can be shared between threads, and is worth keeping: it gets faster with use."""

    __slots__ = ("pattern", "_main", "_looks")

    def __init__(self, pattern: str, main: Machine, looks: List[_LookMachine]) -> None:
        self.pattern = pattern
        self._main = main
        self._looks = looks

    def __repr__(self) -> str:
        return "compile({!r})".format(self.pattern)

    def search(self, text: str) -> bool:
        """Return True if the pattern matches anywhere in the text [JSON Schema 2020-12 validation §6.3.3].

        Raises PatternRefused when this text would take more than `PatternLimits.search_work`, which ordinary
        patterns reach on no text below a megabyte.
        """
        text = _whole_characters(text)
        if not self._looks:
            return self._main.search(text)
        notes = self._notes(text)
        return self._main.search(zip(text, notes), notes[-1])

    def _notes(self, text: str) -> bytes:
        """Return one byte per gap between characters; bit n is set if look-around n holds there."""
        notes = bytes(len(text) + 1)
        for number, (ahead, machine) in enumerate(self._looks):
            step = -1 if ahead else 1
            known = notes[::step]
            found = bytes(machine.hits(zip(text[::step], known), known[-1]))[::step]
            notes = bytes(note | holds << number for note, holds in zip(notes, found))
        return notes

    @property
    def worked_out(self) -> int:
        """The number of steps that had to be worked out so far; at most one per character and pass."""
        return sum(machine.worked_out for machine in [self._main] + [look.machine for look in self._looks])


def compile(pattern: str, limits: PatternLimits = DEFAULT_LIMITS) -> Pattern:
    """Prepare a pattern. Raises PatternRefused when it is malformed, not supported, or over one of the limits."""
    parsed = parse(_whole_characters(pattern), limits)
    count = len(parsed.lookarounds)
    words = _asks_for_words(parsed)
    try:
        looks = [_LookMachine(look.ahead, Machine(build(look.program, count, limits, look.ahead), count, words, limits))
                 for look in parsed.lookarounds]
        return Pattern(pattern, Machine(build(parsed.program, count, limits), count, words, limits), looks)
    except PatternRefused as refusal:
        raise PatternRefused("pattern {!r}: {}".format(pattern[:80], refusal)) from None


def _asks_for_words(parsed: Parsed) -> bool:
    programs: List[List[Op]] = [parsed.program] + [look.program for look in parsed.lookarounds]
    kinds = {op.kind for program in programs for op in program if isinstance(op, Assertion)}
    return not kinds.isdisjoint(("boundary", "inside"))


def _whole_characters(text: str) -> str:
    """Return the text with each pair of surrogates as the one character that it stands for; lone ones stay."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
