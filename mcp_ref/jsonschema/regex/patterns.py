"""Regular expressions of JSON Schema, matched in linear time: `compile(pattern).search(text)`.

Python's `re` backtracks: 34 characters can keep `^(a+)+$` busy for minutes, and nothing can stop it. Patterns come
from peers, so they are matched by an automaton that looks at each character once.

    syntax    text of the pattern -> postfix program
    chars     sets of characters, Unicode properties (`ranges`: those that come as tables)
    builder   program -> automaton, one state per character of the pattern
    machine   runs the automaton, remembers its transitions
    limits    the limits on what a pattern may cost, and the error that refuses it

Supported: the syntax of ECMA-262 with its `u` flag [JSON Schema 2020-12 core §6.4], look-ahead and look-behind
included. A look-around is an automaton too: one pass over the text (from the end for a look-ahead) notes for every
gap between two characters whether it holds there, and the passes after that read the notes. Inner look-arounds go
first.

Refused, with a message that says so: back-references (no linear method exists), inline flags, and the Unicode
properties that `chars` does not know. Nothing is ever handed to `re`: the automaton takes about 40 ns per
character once warm.
"""

from typing import List, NamedTuple

from .builder import build
from .limits import DEFAULT_LIMITS, PatternLimits, PatternRefused
from .machine import Machine
from .syntax import Assertion, Op, Parsed, parse

__all__ = ["DEFAULT_LIMITS", "Pattern", "PatternLimits", "PatternRefused", "compile"]


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
