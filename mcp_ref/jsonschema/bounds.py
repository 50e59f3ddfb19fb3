"""Limits on what a schema may cost, and the meter that runs during a validation.

A schema is a small program, and a peer may have written it: twenty lines with `$ref` and `allOf` can ask for
2^40 steps, ``{"$ref": "#"}`` for infinitely many. Three limits stop that
[2026-07-28 basic/index §Composition-Keyword Resource Use] SHOULD:

* `depth` - how deep schemas nest when they are compiled, and how deep references nest while an instance is checked;
  with what nests between them, no deeper than LEVELS times as much, whatever the interpreter would allow: its limit
  may have been raised, and knows nothing of the thread's stack;
* `subschemas` - how many subschemas one document may have, and how many may be compiled in all;
* `seconds` - processor time of compiling the schema, and again of each validation.

The clock need not be read at every step: without references and loops over the instance, the work is at most the size
of the schema. So a reference and a turn of a loop each take a unit of fuel (`Run.spend`), and the clock is read after
FUEL units. A keyword that scans a long value in one go reads the clock first (`Run.look`).
"""

import time
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

from .errors import BoundsExceeded, Path, Step, Violation

# The thread's own processor time, so that a busy machine makes no schema illegal; wall time where there is none.
clock: Callable[[], float] = getattr(time, "thread_time", time.monotonic)

FUEL = 32
LEVELS = 2  # times `Bounds.depth`: subschemas that are checked inside each other, those behind references, too
LONG = 256  # items, properties or characters above which a scan counts as work


@dataclass(frozen=True)
class Bounds:
    """Limits of one schema and its use. Reaching one raises `BoundsExceeded` with its name, `violations` excepted."""

    depth: int = 128
    """Levels of nested subschemas, and of references inside references while validating."""
    subschemas: int = 10_000
    """Subschemas in one document; and what is compiled: a subschema counts once per dynamic scope it is used in."""
    seconds: float = 1.0
    """Processor time of compiling, and of each validation."""
    uri_length: int = 4096
    """Characters of a resolved URI: relative ones grow with their base."""
    violations: int = 100
    """The list of violations is cut off here."""


DEFAULT_BOUNDS = Bounds()

Found = Optional[List[Violation]]
"""The violations that a check found; None for none."""
Check = Callable[[Any, "Run"], Found]
"""A compiled subschema or keyword: None when the instance passes, else its violations, paths seen from the instance."""


class KeywordFault:
    """The complaint of one keyword: its schema path, and a function that makes the text for an instance that breaks
    it."""

    __slots__ = ("schema_path", "keyword", "message")

    def __init__(self, schema_path: Path, keyword: str, message: Callable[[Any], str]) -> None:
        self.schema_path = schema_path
        self.keyword = keyword
        self.message = message


# The violations of a check under which no messages are wanted (`Run.quiet`). Never changed.
UNSAID: List[Violation] = [Violation((), (), "", "")]


class Run:
    """The state of one validation: the meter, and whether messages are wanted.

    `quiet` is above zero while only yes or no matters (under `not`, `if`, `anyOf`, ...): then the first failure ends
    the search and no text is made.
    """

    # Defaults live in the class: most validations never change them, and so cost one attribute to start.
    quiet = 0
    depth = 0
    levels = 0
    fuel = FUEL
    started: Optional[float] = None

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds

    def enter(self, levels: int) -> None:
        """Follow a reference that stands ``levels`` subschemas below the last one; call `leave` afterwards.

        Raises BoundsExceeded if references nest too deep.
        """
        self.depth += 1
        self.levels += levels
        if self.depth > self.bounds.depth or self.levels > LEVELS * self.bounds.depth:
            raise BoundsExceeded("depth", self.bounds.depth, "references nest too deep (or refer to themselves)")
        self.spend(1)

    def leave(self, levels: int) -> None:
        """Return from a reference."""
        self.depth -= 1
        self.levels -= levels

    def spend(self, units: int) -> None:
        """Count work, and read the clock when the fuel is used up."""
        self.fuel -= units
        if self.fuel < 0:
            self.look()

    def look(self) -> None:
        """Read the clock. The time starts at the first reading, shortly after the validation did.

        Raises BoundsExceeded after ``Bounds.seconds``.
        """
        self.fuel = FUEL
        now = clock()
        if self.started is None:
            self.started = now
        elif now - self.started > self.bounds.seconds:
            raise BoundsExceeded("seconds", self.bounds.seconds, "the schema takes too long")

    def passes(self, check: Check, instance: Any) -> bool:
        """Return True if the instance passes the check; no messages are made."""
        self.quiet += 1
        found = check(instance, self)
        self.quiet -= 1
        return found is None

    def fail(self, fault: KeywordFault, instance: Any) -> List[Violation]:
        """Return the violations of a keyword for an instance that breaks it."""
        if self.quiet:
            return UNSAID
        return [Violation((), fault.schema_path, fault.keyword, fault.message(instance))]

    def add(self, found: Found, new: List[Violation], step: Step) -> List[Violation]:
        """Return the violations found before with those of the member ``step``."""
        if self.quiet:
            return UNSAID
        moved = [violation.under(step) for violation in new]
        return moved if found is None else found + moved

    def enough(self, found: List[Violation]) -> bool:
        """Return True if a loop may stop looking for more violations."""
        return self.quiet > 0 or len(found) >= self.bounds.violations


def accept(instance: Any, run: Run) -> Found:
    """Accept everything: the check of a schema that allows every instance."""
    return None
