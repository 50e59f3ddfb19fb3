"""The compiler: from a schema to closures, once.

`Compiler.compile` turns a place in a schema into a `Check`. Keyword functions (`keywords`, `applicators`, ...) do the
work; the compiler walks the schema, hands each of them a `Here`, and joins what they return. It knows no keyword by
name, only the rows of the dialect.

Three decisions make the result small and quick:

* **References become links.** A `$ref` gets a `ReferenceTarget` at once, which is compiled later from a queue, so
  recursive schemas cost nothing special and long chains of references no recursion here.
* **The dynamic scope is settled while compiling.** `$dynamicRef` asks which resource, of those entered on the way
  here, was the first to have a certain `$dynamicAnchor` [JSON Schema 2020-12 core §8.2.3.2]. All that matters of
  the way is the first owner of each name: a `DynamicScope`. A subschema is compiled once for each scope in which it is
  reached (nearly always one), and at run time a `$dynamicRef` is a `$ref`.
* **Nothing is annotated** unless `unevaluatedItems` or `unevaluatedProperties` asks. Then a second kind of closure,
  `Collect`, says after a success what was evaluated (see `keywords`).
"""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .errors import (
    BoundsExceeded, Check, Found, InvalidSchema, KeywordFault, Path, Run, SchemaBounds, Step, UnsupportedPattern,
    accept,
)
from .refs import LAST, Keyword, Registry, SchemaPlace, SchemaResource

Collect = Callable[[Any, Run, "Set[Any]"], None]
"""Adds the names or indices that a schema evaluated, on an instance that it has accepted."""

Search = Callable[[str], bool]
"""The function that returns True if a pattern matches anywhere in a string."""

Key = Tuple[str, Path, Tuple[Any, ...]]


class DynamicScope(NamedTuple):
    """The place that owns each dynamic anchor name; ``key`` has the same in a form that can be hashed."""

    owners: Dict[str, SchemaPlace]
    key: Tuple[Any, ...] = ()

    def entering(self, resource: SchemaResource) -> "DynamicScope":
        """Return the scope inside ``resource``: a name stays with the first resource that has it."""
        new = {name: place for name, place in resource.dynamic.items() if name not in self.owners}
        if not new:
            return self
        owners = {**self.owners, **new}
        key = sorted((name, at.resource.document, at.location) for name, at in owners.items())
        return DynamicScope(owners, tuple(key))


class ReferenceTarget:
    """The target of a reference; its check is filled in when the target has been compiled."""

    __slots__ = ("check", "collect")

    def __init__(self) -> None:
        self.check: Check = accept
        self.collect: Optional[Collect] = None


class Compiler:
    """A compiler of the places of one registry. ``assert_formats`` makes `format` an assertion."""

    def __init__(self, registry: Registry, bounds: SchemaBounds, assert_formats: bool = False) -> None:
        self.registry = registry
        self.bounds = bounds
        self.assert_formats = assert_formats
        self._meter = registry.meter
        self._number = 0
        # By depth, too: what a reference inside one counts for depends on it, see `Run.enter`.
        self._checks: Dict[Tuple[Key, int], Optional[Check]] = {}
        self._collects: Dict[Tuple[Key, int], Optional[Collect]] = {}
        self._links: Dict[Key, ReferenceTarget] = {}
        self._collect_links: Dict[Key, ReferenceTarget] = {}
        self._queue: List[Callable[[], None]] = []
        self._searches: Dict[str, Search] = {}

    def compile(self, place: SchemaPlace) -> Check:
        """Return the check of a place and, through its references, of all places that it can reach.

        Raises InvalidSchema, UnresolvedReference, UnsupportedPattern, UnsupportedDialect or BoundsExceeded.
        """
        link = self.link(place, DynamicScope({}))
        while self._queue:
            self._queue.pop()()
        return link.check

    # References

    def link(self, place: SchemaPlace, scope: DynamicScope) -> ReferenceTarget:
        """Return a link to the check of a place."""
        scope = self.enter(place, scope)
        key = _key(place, scope)
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = ReferenceTarget()
            self._queue.append(lambda: self._fill_check(link, place, scope))
        return link

    def _fill_check(self, link: ReferenceTarget, place: SchemaPlace, scope: DynamicScope) -> None:
        link.check = self.check(place, scope, 0) or accept

    def collect_link(self, place: SchemaPlace, scope: DynamicScope) -> ReferenceTarget:
        """Return a link to the collector of a place."""
        scope = self.enter(place, scope)
        key = _key(place, scope)
        link = self._collect_links.get(key)
        if link is None:
            link = self._collect_links[key] = ReferenceTarget()
            self._queue.append(lambda: self._fill_collect(link, place, scope))
        return link

    def _fill_collect(self, link: ReferenceTarget, place: SchemaPlace, scope: DynamicScope) -> None:
        link.collect = self.collect(place, scope, 0)

    # Subschemas

    def check(self, place: SchemaPlace, scope: DynamicScope, depth: int) -> Optional[Check]:
        """Return the check of a subschema in a scope that has entered it; None if it accepts everything."""
        key = _key(place, scope), depth
        if key not in self._checks:
            self._count(1, depth)
            self._checks[key] = self._compile(place, scope, depth)
        return self._checks[key]

    def enter(self, place: SchemaPlace, scope: DynamicScope) -> DynamicScope:
        """Return the scope inside a place. A new scope counts as much as a subschema per name."""
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

    def _compile(self, place: SchemaPlace, scope: DynamicScope, depth: int) -> Optional[Check]:
        if place.schema is True:
            return None
        if place.schema is False:
            return refuse(KeywordFault(schema_path(place), "false", lambda instance: "nothing is allowed here"))
        if not isinstance(place.schema, dict):
            raise InvalidSchema(schema_path(place), "expected a schema (an object or a boolean)")
        stages: List[List[Check]] = [[], [], []]
        for here, row in self._rows(place, scope, depth):
            check = row.check(place.schema[here.keyword], here) if row.check is not None else None
            if check is not None:
                stages[row.stage].append(check)
        return in_stages([all_of(checks) for checks in stages if checks])

    def _rows(self, place: SchemaPlace, scope: DynamicScope, depth: int) -> Iterator["Tuple[Here, Keyword]"]:
        """Yield the keywords of a schema object that its dialect knows. Raises InvalidSchema for a value of the wrong
        shape."""
        dialect = place.resource.dialect
        alone = dialect.legacy and "$ref" in place.schema
        for name in ("$ref",) if alone else place.schema:
            row = dialect.keywords.get(name)
            if row is not None:
                here = Here(self, place, scope, depth, name)
                if not row.shape.accepts(place.schema[name]):
                    raise here.error("expected " + row.shape.expected)
                yield here, row

    def collect(self, place: SchemaPlace, scope: DynamicScope, depth: int) -> Optional[Collect]:
        """Return the collector of a subschema in a scope that has entered it; None if it never evaluates anything."""
        key = _key(place, scope), depth
        if key not in self._collects:
            self._count(1, depth)
            self._collects[key] = self.collect_rows(place, scope, depth, LAST)
        return self._collects[key]

    def collect_rows(self, place: SchemaPlace, scope: DynamicScope, depth: int, last: int) -> Optional[Collect]:
        """Return the collectors of a schema's keywords up to the stage ``last``, joined; None if there are none."""
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
        """Return a compiled pattern. Python's `re` never sees it: matching there may take exponential time."""
        if text not in self._searches:
            self._meter.look()
            self._searches[text] = _search(text, location)
        return self._searches[text]


class Here:
    """One keyword of one schema object: the view that a keyword function has of it."""

    def __init__(self, compiler: Compiler, place: SchemaPlace, scope: DynamicScope, depth: int, keyword: str) -> None:
        self._compiler = compiler
        self._place = place
        self._scope = scope
        self.depth = depth
        """Subschemas between the last reference, or the root, and this one."""
        self.keyword = keyword

    def value(self, keyword: str) -> Any:
        """Return the value of a sibling keyword; None if it is absent or not in the dialect. Raises InvalidSchema."""
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
        """Return the schema path of a place in this schema object."""
        return schema_path(self._place) + steps

    def fault(self, message: Callable[[Any], str], *steps: Step) -> KeywordFault:
        """Return the complaint of this keyword; ``steps`` lead to a place inside its value."""
        return KeywordFault(self.location(self.keyword, *steps), self.keyword, message)

    def error(self, problem: str) -> InvalidSchema:
        """Return the exception to raise if the keyword's value cannot be used."""
        return InvalidSchema(self.location(self.keyword), problem)

    def sub(self, *steps: Step) -> Optional[Check]:
        """Return the check of the subschema ``steps`` below this schema object; None if it accepts everything."""
        place, scope = self._below(steps)
        return self._compiler.check(place, scope, self.depth + 1)

    def collect(self, *steps: Step) -> Optional[Collect]:
        """Return the collector of the subschema ``steps`` below this schema object; None if it evaluates nothing."""
        place, scope = self._below(steps)
        return self._compiler.collect(place, scope, self.depth + 1)

    def _below(self, steps: Path) -> Tuple[SchemaPlace, DynamicScope]:
        place = self._compiler.registry.child(self._place, steps)
        if place.resource is self._place.resource:
            return place, self._scope
        return place, self._compiler.enter(place, self._scope)

    def collect_before(self, stage: int) -> Optional[Collect]:
        """Return the collector of this schema object's own keywords of earlier stages; None if they evaluate
        nothing."""
        return self._compiler.collect_rows(self._place, self._scope, self.depth, stage - 1)

    def link(self, reference: str, dynamic: bool = False) -> ReferenceTarget:
        """Return a link to the check that a reference means here."""
        return self._compiler.link(self._target(reference, dynamic), self._scope)

    def collect_link(self, reference: str, dynamic: bool = False) -> ReferenceTarget:
        """Return a link to the collector that a reference means here."""
        return self._compiler.collect_link(self._target(reference, dynamic), self._scope)

    def search(self, pattern: str, *steps: Step) -> Search:
        """Return a compiled regular expression; ``steps`` as for `fault`."""
        return self._compiler.search(pattern, self.location(self.keyword, *steps))

    def _target(self, reference: str, dynamic: bool) -> SchemaPlace:
        """Return the target. A dynamic reference to a dynamic anchor leads to the name's first owner
        [JSON Schema 2020-12 core §8.2.3]."""
        place = self._compiler.registry.resolve(self._place.resource, reference, self.location(self.keyword))
        name = reference.partition("#")[2]
        if dynamic and name in place.resource.dynamic:
            return self._scope.owners.get(name, place)
        return place


def schema_path(place: SchemaPlace) -> Path:
    """Return the location for people and for `Violation`: the URI of another document comes first."""
    return ((place.resource.document,) if place.resource.document else ()) + place.location


def _key(place: SchemaPlace, scope: DynamicScope) -> Key:
    return place.resource.document, place.location, scope.key


def _search(pattern: str, location: Path) -> Search:
    """Return the search of a pattern, or raise UnsupportedPattern.

    The matcher refuses some patterns at once, and others when a text takes too much work.
    """
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


def refuse(fault: KeywordFault) -> Check:
    """Return a check that nothing passes."""

    def check(instance: Any, run: Run) -> Found:
        return run.fail(fault, instance)

    return check


def all_of(checks: List[Check]) -> Check:
    """Return one check that runs all checks and reports all violations."""
    if len(checks) == 1:
        return checks[0]
    members = tuple(checks)

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        for member in members:
            new = member(instance, run)
            if new is not None:
                found = new if found is None else found + new
                if run.enough(found):
                    break
        return found

    return check


def in_stages(checks: List[Check]) -> Optional[Check]:
    """Return one check that runs the checks in turn until one fails; None if there are none."""
    if not checks:
        return None
    first = checks[0]
    rest = in_stages(checks[1:])
    if rest is None:
        return first
    then = rest

    def check(instance: Any, run: Run) -> Found:
        found = first(instance, run)
        return then(instance, run) if found is None else found

    return check


def collect_all(parts: List[Collect]) -> Optional[Collect]:
    """Return several collectors as one; None if there are none."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    members = tuple(parts)

    def collect(instance: Any, run: Run, seen: Set[Any]) -> None:
        for member in members:
            member(instance, run, seen)

    return collect
