"""The outcome of validation, and the limits on what it may cost.

An *instance* that breaks a schema raises no exception: each rule that it breaks is a `Violation`. Its message is for
the one who must mend the instance, often a language model, so it says what is wanted and what is there: ``$.count:
expected integer, got string``. Values are quoted in short form only: a message never grows with the instance.

A *schema* that cannot be used raises::

    SchemaError (a ValueError)
      InvalidSchema         a keyword has a value that the dialect does not allow
      UnsupportedDialect    `$schema` names a dialect, or a required vocabulary, that this validator lacks
      UnresolvedReference   `$ref` or `$dynamicRef` leads nowhere; nothing is ever fetched
      UnsupportedPattern    a regular expression that the linear-time matcher refuses
      BoundsExceeded        the schema, or its use on this instance, costs more than a named limit allows

A schema is a small program, and a peer may have written it: twenty lines with `$ref` and `allOf` can ask for 2^40
steps, ``{"$ref": "#"}`` for infinitely many. Three limits (`SchemaBounds`) stop that [2026-07-28 basic/index
§Composition-Keyword Resource Use] SHOULD:

* `depth` - how deep schemas nest when they are compiled, and how deep references nest while an instance is checked;
  with what nests between them, no deeper than LEVELS times as much, whatever the interpreter would allow: its limit
  may have been raised, and knows nothing of the thread's stack;
* `subschemas` - how many subschemas one document may have, and how many may be compiled in all;
* `seconds` - processor time of compiling the schema, and again of each validation.

The clock need not be read at every step: without references and loops over the instance, the work is at most the size
of the schema. So a reference and a turn of a loop each take a unit of fuel (`Run.spend`), and the clock is read after
FUEL units. A keyword that scans a long value in one go reads the clock first (`Run.look`).
"""

import json
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

Step = Union[str, int]
Path = Tuple[Step, ...]

LONGEST_QUOTE = 60
LONGEST_LIST = 10


class Violation(NamedTuple):
    """One rule that an instance breaks.

    `path` leads from the instance's root to the value at fault: ``("items", 0, "name")``.
    `schema_path` leads from the schema's root to the keyword: ``("properties", "name", "type")``. A keyword in another
    document (of `resources`, or a metaschema) has that document's URI as its first step.
    `keyword` is the last keyword of `schema_path`, or ``false`` where the schema `false` refused.
    `message` says what is wanted and what was found; ``str(violation)`` puts the path before it.
    """

    path: Path
    schema_path: Path
    keyword: str
    message: str

    @property
    def where(self) -> str:
        """The path in the form that people read: ``$.items[0].name``."""
        return show_path(self.path)

    def about(self, whole: str) -> str:
        """Return the sentence with a name for the instance in place of ``$``: ``arguments.count: expected integer,
        ...``."""
        return "%s: %s" % (show_path(self.path, whole), self.message)

    def under(self, step: Step) -> "Violation":
        """Return this violation with the path of one level higher in the instance."""
        return Violation((step,) + self.path, self.schema_path, self.keyword, self.message)

    def __str__(self) -> str:
        return "%s: %s" % (self.where, self.message)


def show_path(path: Path, whole: str = "$") -> str:
    """Return a path as ``$.a[0]``; names that are no identifiers are quoted: ``$["a b"]``.

    ``whole`` is written in place of ``$``.
    """
    parts = [whole]
    for step in path:
        if isinstance(step, int):
            parts.append("[%d]" % step)
        else:
            parts.append("." + step if step.isidentifier() and len(step) <= LONGEST_QUOTE else "[%s]" % brief(step))
    return "".join(parts)


def type_name(value: Any) -> str:
    """Return the JSON type of a Python value; `integer` for an int, `number` for a float."""
    if value is None:
        return "null"
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return type(value).__name__


# bool before int: in Python it is one.
_TYPE_NAMES: Tuple[Tuple[Union[type, Tuple[type, ...]], str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (dict, "object"),
    ((list, tuple), "array"),
)


def brief(value: Any) -> str:
    """Return a value in one short piece: strings cut, arrays and objects only described."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        return "an object with %s" % count(len(value), "property", "properties")
    if isinstance(value, (list, tuple)):
        return "an array of %s" % count(len(value), "item")
    if isinstance(value, int) and value.bit_length() > 128:
        return "an integer of %d bits" % value.bit_length()  # decimal digits of huge numbers are dear, or refused
    return json.dumps(value, default=repr)


def brief_list(values: Iterable[Any], last: str = "or") -> str:
    """Return several values as ``"a", "b" or "c"``, at most LONGEST_LIST of them."""
    shown: List[str] = []
    for value in values:
        if len(shown) == LONGEST_LIST:
            return ", ".join(shown) + ", ..."
        shown.append(brief(value))
    return (", ".join(shown[:-1]) + " %s " % last if len(shown) > 1 else "") + "".join(shown[-1:])


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 item``, ``2 items``."""
    return "%d %s" % (number, one if number == 1 else many or one + "s")


def cut(text: str, length: int) -> str:
    """Return the text, cut to at most ``length`` characters."""
    return text if len(text) <= length else text[: length - 3] + "..."


def printable(text: str, length: int) -> str:
    """Return text of a peer for one line of a message: cut, with what cannot be printed (also U+2028) escaped."""
    text = cut(text, length)
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def _quote(text: str) -> str:
    """Return a JSON string that is readable (not all ASCII) and safe to print."""
    return printable(json.dumps(cut(text, LONGEST_QUOTE), ensure_ascii=False), 10 * LONGEST_QUOTE)


class SchemaError(ValueError):
    """The base of errors in a schema; no instance is at fault."""


class InvalidSchema(SchemaError):
    """A keyword has a value that cannot be used; ``location`` is its place."""

    def __init__(self, location: Sequence[Union[str, int]], problem: str) -> None:
        super().__init__("invalid schema at %s: %s" % (pointer(location), problem))
        self.location = tuple(location)
        self.problem = problem


class UnsupportedDialect(SchemaError):
    """`$schema` (or a vocabulary that its metaschema requires) is unknown [JSON Schema 2020-12 core §8.1.1].

    [2025-11-25.. basic/index §Implementation Requirements] MUST: an error says that the dialect is not supported.
    """

    def __init__(self, dialect: str, supported: Iterable[str], reason: str = "") -> None:
        names = " and ".join(supported)
        super().__init__("unsupported schema dialect %s%s; supported: %s" % (_cut(dialect), reason, names))
        self.dialect = dialect


class UnresolvedReference(SchemaError):
    """The target of a reference is neither in the schema nor in `resources`."""

    def __init__(self, reference: str, location: Sequence[Union[str, int]], reason: str) -> None:
        super().__init__("unresolved reference %s at %s: %s" % (_cut(reference), pointer(location), reason))
        self.reference = reference
        self.location = tuple(location)


class UnsupportedPattern(SchemaError):
    """A `pattern`, or a name under `patternProperties`, that is not matched here."""

    def __init__(self, pattern: str, location: Sequence[Union[str, int]], reason: str) -> None:
        super().__init__("pattern %s at %s is refused: %s" % (_cut(pattern), pointer(location), reason))
        self.pattern = pattern
        self.location = tuple(location)


class BoundsExceeded(SchemaError):
    """A limit of `SchemaBounds` was reached; `limit` is its name."""

    def __init__(self, limit: str, allowed: Union[int, float], what: str) -> None:
        super().__init__("%s: more than the limit %s=%s allows" % (what, limit, allowed))
        self.limit = limit
        self.allowed = allowed


def pointer(location: Sequence[Union[str, int]]) -> str:
    """Return a location as a URI fragment with a JSON Pointer, for example ``#/properties/a`` [RFC 6901 §6]."""
    return _cut("#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in location), 200)


def _cut(text: str, length: int = 120) -> str:
    """Cut text from a peer, which has any length, for an error message."""
    return printable(text, length)


# The thread's own processor time, so that a busy machine makes no schema illegal; wall time where there is none.
clock: Callable[[], float] = getattr(time, "thread_time", time.monotonic)

FUEL = 32
LEVELS = 2  # times `SchemaBounds.depth`: subschemas that are checked inside each other, those behind references, too
LONG = 256  # items, properties or characters above which a scan counts as work


@dataclass(frozen=True)
class SchemaBounds:
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


DEFAULT_BOUNDS = SchemaBounds()

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

    def __init__(self, bounds: SchemaBounds) -> None:
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

        Raises BoundsExceeded after ``SchemaBounds.seconds``.
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
