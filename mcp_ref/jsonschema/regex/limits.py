"""Limits on what a pattern may cost, and the one error that refuses it.

A pattern usually comes from a peer: a server receives a schema for elicitation, a client the input schema of a tool.
So every cost has a name, a default and a reason here, and a pattern above one of them is refused with that name.
"""

from typing import NamedTuple

__all__ = ["DEFAULT_LIMITS", "MAX_CACHED_TRANSITIONS", "MAX_LOOKAROUNDS", "MAX_NESTING", "MAX_PATTERN_LENGTH",
           "MAX_PROGRAM_SIZE", "MAX_SEARCH_WORK", "PatternLimits", "PatternRefused"]

MAX_PATTERN_LENGTH = 10_000
"""Characters of a pattern. Lists of words reach a few thousand."""

MAX_NESTING = 100
"""Groups inside groups. Each level is walked another time while the automaton is built."""

MAX_PROGRAM_SIZE = 10_000
"""Positions plus irregular edges of the automaton, and also the positions that counted repetitions such as `{3,2000}`
copy."""

MAX_LOOKAROUNDS = 8
"""Look-arounds in one pattern: each costs a pass over the text and one bit of the byte kept per gap between
characters."""

MAX_SEARCH_WORK = 20_000_000
"""Units of work of one pass over one text, about 0.05 microseconds each, for what the cache of transitions cannot
answer. A pattern of ordinary size needs some 50 units for such a character: no text below 400,000 characters reaches
the limit."""

MAX_CACHED_TRANSITIONS = 10_000
"""Transitions a pattern remembers (about 1 MB); over it the cache starts afresh, which refuses nothing."""


class PatternLimits(NamedTuple):
    """One value for each limit above; `PatternLimits()` holds the defaults."""

    pattern_length: int = MAX_PATTERN_LENGTH
    nesting: int = MAX_NESTING
    program_size: int = MAX_PROGRAM_SIZE
    lookarounds: int = MAX_LOOKAROUNDS
    search_work: int = MAX_SEARCH_WORK
    cached_transitions: int = MAX_CACHED_TRANSITIONS


DEFAULT_LIMITS = PatternLimits()


class PatternRefused(ValueError):
    """The pattern is malformed, uses what this matcher does not do, or goes over a named limit; the message says
    which."""
