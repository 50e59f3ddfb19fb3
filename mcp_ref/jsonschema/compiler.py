"""From a schema to closures, once.

`Compiler.compile` turns a place in a schema into a `Check`. Keyword functions (`keywords`, `applicators`, ...) do the
work; the compiler walks the schema, hands each of them a `Here`, and joins what they return. It knows no keyword by
name, only the rows of the dialect.

Three decisions make the result small and quick:

* **References become links.** A `$ref` gets a `Link` at once, and its target is compiled later from a queue, so
  recursive schemas cost nothing special and long chains of references no recursion here.
* **The dynamic scope is settled while compiling.** `$dynamicRef` asks which resource, of those entered on the way
  here, was the first to have a certain `$dynamicAnchor` [JSON Schema 2020-12 core §8.2.3.2]. All that matters of
  the way is the first owner of each name: a `Scope`. A subschema is compiled once for each scope that it is reached
  in (nearly always one), and at run time a `$dynamicRef` is a `$ref`.
* **Nothing is annotated** unless `unevaluatedItems` or `unevaluatedProperties` asks. Then a second kind of closure,
  `Collect`, says after a success what was evaluated (see `unevaluated`).
"""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .bounds import Bounds, Check, Fault, Run, accept
from .errors import BoundsExceeded, InvalidSchema, Path, Step, UnsupportedPattern, Violation
from .refs import Place, Registry, Resource
from .shapes import LAST, Keyword

Collect = Callable[[Any, Run, "Set[Any]"], None]
"""Adds the names or indices that a schema evaluated, on an instance that it has accepted."""

Search = Callable[[str], bool]
"""Whether a pattern matches anywhere in a string."""

Key = Tuple[str, Path, Tuple[Any, ...]]


class Scope(NamedTuple):
    """For each dynamic anchor name the place that owns it; `key` is the same, hashable."""

    owners: Dict[str, Place]
    key: Tuple[Any, ...] = ()

    def entering(self, resource: Resource) -> "Scope":
        """The scope inside `resource`: whoever came first keeps a name."""
        new = {name: place for name, place in resource.dynamic.items() if name not in self.owners}
        if not new:
            return self
        owners = {**self.owners, **new}
        return Scope(owners, tuple(sorted((name, at.resource.document, at.location) for name, at in owners.items())))


class Link:
    """What a reference calls: filled in when its target has been compiled."""

    __slots__ = ("check", "collect")

    def __init__(self) -> None:
        self.check: Check = accept
        self.collect: Optional[Collect] = None


class Compiler:
    """Compiles places of one registry. `assert_formats` makes `format` an assertion."""

    def __init__(self, registry: Registry, bounds: Bounds, assert_formats: bool = False) -> None:
        self.registry = registry
        self.bounds = bounds
        self.assert_formats = assert_formats
        self._meter = registry.meter
        self._number = 0
        # By depth, too: what a reference inside one counts for depends on it, see `Run.enter`.
        self._checks: Dict[Tuple[Key, int], Optional[Check]] = {}
        self._collects: Dict[Tuple[Key, int], Optional[Collect]] = {}
        self._links: Dict[Key, Link] = {}
        self._collect_links: Dict[Key, Link] = {}
        self._queue: List[Callable[[], None]] = []
        self._searches: Dict[str, Search] = {}

    def compile(self, place: Place) -> Check:
        """The check of a place and, through its references, of all that it can reach.

        Raises InvalidSchema, UnresolvedReference, UnsupportedPattern, UnsupportedDialect or BoundsExceeded.
        """
        link = self.link(place, Scope({}))
        while self._queue:
            self._queue.pop()()
        return link.check

    # References

    def link(self, place: Place, scope: Scope) -> Link:
        """A link to the check of a place."""
        scope = self.enter(place, scope)
        key = _key(place, scope)
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = Link()
            self._queue.append(lambda: self._fill_check(link, place, scope))
        return link

    def _fill_check(self, link: Link, place: Place, scope: Scope) -> None:
        link.check = self.check(place, scope, 0) or accept

    def collect_link(self, place: Place, scope: Scope) -> Link:
        """A link to the collector of a place."""
        scope = self.enter(place, scope)
        key = _key(place, scope)
        link = self._collect_links.get(key)
        if link is None:
            link = self._collect_links[key] = Link()
            self._queue.append(lambda: self._fill_collect(link, place, scope))
        return link

    def _fill_collect(self, link: Link, place: Place, scope: Scope) -> None:
        link.collect = self.collect(place, scope, 0)

    # Subschemas

    def check(self, place: Place, scope: Scope, depth: int) -> Optional[Check]:
        """The check of a subschema in a scope that has entered it; None when it accepts everything."""
        key = _key(place, scope), depth
        if key not in self._checks:
            self._count(1, depth)
            self._checks[key] = self._compile(place, scope, depth)
        return self._checks[key]

    def enter(self, place: Place, scope: Scope) -> Scope:
        """The scope inside a place. Making a new one costs as much as a subschema per name."""
        self._meter.spend(1 + len(place.resource.dynamic))
        inner = scope.entering(place.resource)
        if inner is not scope:
            self._count(len(inner.owners))
        return inner

    def _count(self, number: int, depth: int = 0) -> None:
        self._meter.spend(number)
        self._number += number
        if self._number > self.bounds.subschemas:
            raise BoundsExceeded("subschemas", self.bounds.subschemas, "the schema has too many subschemas")
        if depth > self.bounds.depth:
            raise BoundsExceeded("depth", self.bounds.depth, "subschemas nest too deep")

    def _compile(self, place: Place, scope: Scope, depth: int) -> Optional[Check]:
        if place.schema is True:
            return None
        if place.schema is False:
            return refuse(Fault(schema_path(place), "false", lambda instance: "nothing is allowed here"))
        if not isinstance(place.schema, dict):
            raise InvalidSchema(schema_path(place), "expected a schema (an object or a boolean)")
        stages: List[List[Check]] = [[], [], []]
        for here, row in self._rows(place, scope, depth):
            check = row.check(place.schema[here.keyword], here) if row.check is not None else None
            if check is not None:
                stages[row.stage].append(check)
        return in_stages([all_of(checks) for checks in stages if checks])

    def _rows(self, place: Place, scope: Scope, depth: int) -> Iterator["Tuple[Here, Keyword]"]:
        """The keywords of a schema object that its dialect knows, their values' shapes checked."""
        dialect = place.resource.dialect
        alone = dialect.legacy and "$ref" in place.schema
        for name in ("$ref",) if alone else place.schema:
            row = dialect.keywords.get(name)
            if row is not None:
                here = Here(self, place, scope, depth, name)
                if not row.shape.accepts(place.schema[name]):
                    raise here.error("expected " + row.shape.expected)
                yield here, row

    def collect(self, place: Place, scope: Scope, depth: int) -> Optional[Collect]:
        """The collector of a subschema in a scope that has entered it; None when it never evaluates anything."""
        key = _key(place, scope), depth
        if key not in self._collects:
            self._count(1, depth)
            self._collects[key] = self.collect_rows(place, scope, depth, LAST)
        return self._collects[key]

    def collect_rows(self, place: Place, scope: Scope, depth: int, last: int) -> Optional[Collect]:
        """The collectors of a schema's keywords up to the stage `last`, joined."""
        if not isinstance(place.schema, dict):
            return None
        parts: List[Collect] = []
        for here, row in self._rows(place, scope, depth):
            if row.collect is not None and row.stage <= last:
                part = row.collect(place.schema[here.keyword], here)
                if part is not None:
                    parts.append(part)
        return collect_all(parts)

    def search(self, text: str, location: Path) -> Search:
        """A compiled pattern. Python's own `re` never sees one: it may take exponential time."""
        if text not in self._searches:
            self._meter.look()
            self._searches[text] = _search(text, location)
        return self._searches[text]


class Here:
    """One keyword of one schema object, as its keyword function sees it."""

    def __init__(self, compiler: Compiler, place: Place, scope: Scope, depth: int, keyword: str) -> None:
        self._compiler = compiler
        self._place = place
        self._scope = scope
        self.depth = depth
        """Subschemas between the last reference, or the root, and this one."""
        self.keyword = keyword

    def value(self, keyword: str) -> Any:
        """A sibling keyword's value, its shape checked; None when it is absent or not in the dialect."""
        row = self._place.resource.dialect.keywords.get(keyword)
        if row is None or keyword not in self._place.schema:
            return None
        value = self._place.schema[keyword]
        if not row.shape.accepts(value):
            raise InvalidSchema(self.location(keyword), "expected " + row.shape.expected)
        return value

    @property
    def assert_formats(self) -> bool:
        return self._compiler.assert_formats or self._place.resource.dialect.assert_formats

    def location(self, *steps: Step) -> Path:
        """The schema path of something in this schema object."""
        return schema_path(self._place) + steps

    def fault(self, message: Callable[[Any], str], *steps: Step) -> Fault:
        """The complaint of this keyword; `steps` for a place inside its value."""
        return Fault(self.location(self.keyword, *steps), self.keyword, message)

    def error(self, problem: str) -> InvalidSchema:
        """To raise when the keyword's value cannot be used."""
        return InvalidSchema(self.location(self.keyword), problem)

    def sub(self, *steps: Step) -> Optional[Check]:
        """The check of the subschema `steps` below this schema object; None when it accepts everything."""
        place, scope = self._below(steps)
        return self._compiler.check(place, scope, self.depth + 1)

    def collect(self, *steps: Step) -> Optional[Collect]:
        """The collector of the same."""
        place, scope = self._below(steps)
        return self._compiler.collect(place, scope, self.depth + 1)

    def _below(self, steps: Path) -> Tuple[Place, Scope]:
        place = self._compiler.registry.child(self._place, steps)
        if place.resource is self._place.resource:
            return place, self._scope
        return place, self._compiler.enter(place, self._scope)

    def collect_before(self, stage: int) -> Optional[Collect]:
        """What this schema object's own keywords of earlier stages evaluate."""
        return self._compiler.collect_rows(self._place, self._scope, self.depth, stage - 1)

    def link(self, reference: str, dynamic: bool = False) -> Link:
        """A link to the check that a reference means here."""
        return self._compiler.link(self._target(reference, dynamic), self._scope)

    def collect_link(self, reference: str, dynamic: bool = False) -> Link:
        """A link to the collector that a reference means here."""
        return self._compiler.collect_link(self._target(reference, dynamic), self._scope)

    def search(self, pattern: str, *steps: Step) -> Search:
        """A compiled regular expression; `steps` as for `fault`."""
        return self._compiler.search(pattern, self.location(self.keyword, *steps))

    def _target(self, reference: str, dynamic: bool) -> Place:
        """[JSON Schema 2020-12 core §8.2.3] A dynamic reference to a dynamic anchor goes to the name's first owner."""
        place = self._compiler.registry.resolve(self._place.resource, reference, self.location(self.keyword))
        name = reference.partition("#")[2]
        if dynamic and name in place.resource.dynamic:
            return self._scope.owners.get(name, place)
        return place


def schema_path(place: Place) -> Path:
    """A location for people and for `Violation`: another document's URI comes first."""
    return ((place.resource.document,) if place.resource.document else ()) + place.location


def _key(place: Place, scope: Scope) -> Key:
    return place.resource.document, place.location, scope.key


def _search(pattern: str, location: Path) -> Search:
    """The matcher refuses some patterns at once and others when a text turns out too much for them."""
    from .regex.patterns import PatternRefused, compile as compile_pattern  # late: most schemas have no pattern

    try:
        matcher = compile_pattern(pattern)
    except PatternRefused as error:
        raise UnsupportedPattern(pattern, location, str(error)) from error

    def search(text: str) -> bool:
        try:
            return matcher.search(text)
        except PatternRefused as error:
            raise UnsupportedPattern(pattern, location, str(error)) from error

    return search


# Joining


def refuse(fault: Fault) -> Check:
    """A check that nothing passes."""

    def check(instance: Any, run: Run) -> Optional[List[Violation]]:
        return run.fail(fault, instance)

    return check


def all_of(checks: List[Check]) -> Check:
    """All checks, all violations."""
    if len(checks) == 1:
        return checks[0]
    members = tuple(checks)

    def check(instance: Any, run: Run) -> Optional[List[Violation]]:
        found: Optional[List[Violation]] = None
        for member in members:
            new = member(instance, run)
            if new is not None:
                found = new if found is None else found + new
                if run.enough(found):
                    break
        return found

    return check


def in_stages(checks: List[Check]) -> Optional[Check]:
    """One check after the other, until one fails."""
    if not checks:
        return None
    first = checks[0]
    rest = in_stages(checks[1:])
    if rest is None:
        return first
    then = rest

    def check(instance: Any, run: Run) -> Optional[List[Violation]]:
        found = first(instance, run)
        return then(instance, run) if found is None else found

    return check


def collect_all(parts: List[Collect]) -> Optional[Collect]:
    """Several collectors as one."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    members = tuple(parts)

    def collect(instance: Any, run: Run, seen: Set[Any]) -> None:
        for member in members:
            member(instance, run, seen)

    return collect
