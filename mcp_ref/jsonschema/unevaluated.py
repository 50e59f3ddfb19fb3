"""`unevaluatedItems` and `unevaluatedProperties`, and what the other keywords evaluate [JSON Schema 2020-12 core §11].

The standard speaks of annotations that every keyword leaves behind and that flow upwards. Hardly any schema wants
them, so nothing is annotated while validating. Instead each keyword that evaluates members has a *collector* here. It
is called on an instance that its schema has just accepted, and adds the names (of an object) or indices (of an array)
that the keyword evaluates. Collectors rely on that acceptance: an `allOf` branch must have passed, so its collector
runs at once; an `anyOf` branch may have failed, and a failed schema leaves no annotations, so it is checked again.

Adjacent keywords and in-place applicators count, at any depth; cousins do not.
"""

from typing import Any, Optional, Set

from .applicators import unexpected
from .bounds import Check, Found, Run, accept
from .compiler import Collect, Here, refuse
from .shapes import ARRAY, LAST

Seen = Set[Any]


# The keywords


def unevaluated_items(value: Any, here: Here) -> Optional[Check]:
    """Check `unevaluatedItems`: the subschema for every item that no other keyword evaluates
    [JSON Schema 2020-12 core §11.2]."""
    one = here.sub(here.keyword)
    if one is None:
        return None
    child = refuse(here.fault(lambda instance: "unexpected item")) if value is False else one
    collect = here.collect_before(LAST)

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, ARRAY):
            seen = _collected(collect, instance, run)
            for index, item in enumerate(instance):
                run.spend(1)
                new = None if index in seen else child(item, run)
                if new is not None:
                    found = run.add(found, new, index)
                    if run.enough(found):
                        break
        return found

    return check


def unevaluated_properties(value: Any, here: Here) -> Optional[Check]:
    """Check `unevaluatedProperties`: the subschema for every property that no other keyword evaluates
    [JSON Schema 2020-12 core §11.3]."""
    one = here.sub(here.keyword)
    if one is None:
        return None
    child = refuse(here.fault(unexpected(here.value("properties")))) if value is False else one
    collect = here.collect_before(LAST)

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            seen = _collected(collect, instance, run)
            for name, member in instance.items():
                run.spend(1)
                new = None if name in seen else child(member, run)
                if new is not None:
                    found = run.add(found, new, name)
                    if run.enough(found):
                        break
        return found

    return check


def _collected(collect: Optional[Collect], instance: Any, run: Run) -> Seen:
    seen: Seen = set()
    if collect is not None:
        collect(instance, run, seen)
    return seen


# Collectors: members


def properties(value: Any, here: Here) -> Collect:
    """Collect the names that are there."""
    names = frozenset(value)

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, dict):
            seen.update(names & instance.keys())

    return collect


def pattern_properties(value: Any, here: Here) -> Collect:
    """Collect the names that a pattern matches."""
    searches = [here.search(text, text) for text in value]

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, dict):
            for name in instance:
                run.spend(1)
                if any(search(name) for search in searches):
                    seen.add(name)

    return collect


def every_property(value: Any, here: Here) -> Collect:
    """Collect all names, for additionalProperties and unevaluatedProperties: their neighbours evaluated the others."""

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, dict):
            run.spend(1)
            seen.update(instance)

    return collect


def prefix_items(value: Any, here: Here) -> Collect:
    """Collect as many items as the keyword has schemas."""
    number = len(value)

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, ARRAY):
            seen.update(range(min(number, len(instance))))

    return collect


def every_item(value: Any, here: Here) -> Collect:
    """Collect all items, for items and unevaluatedItems."""

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, ARRAY):
            run.spend(1)
            seen.update(range(len(instance)))

    return collect


def contains(value: Any, here: Here) -> Collect:
    """Collect exactly the items that match [JSON Schema 2020-12 core §10.3.1.3]."""
    one = here.sub(here.keyword) or accept

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, ARRAY):
            for index, item in enumerate(instance):
                run.spend(1)
                if run.passes(one, item):
                    seen.add(index)

    return collect


# Collectors: in place


def ref(value: Any, here: Here) -> Collect:
    """Collect what the target of `$ref` evaluates."""
    return _through(value, here, dynamic=False)


def dynamic_ref(value: Any, here: Here) -> Collect:
    """Collect what the target of `$dynamicRef` evaluates."""
    return _through(value, here, dynamic=True)


def _through(value: str, here: Here, dynamic: bool) -> Collect:
    link, levels = here.collect_link(value, dynamic), here.depth

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if link.collect is not None:
            run.enter(levels)
            link.collect(instance, run, seen)
            run.leave(levels)

    return collect


def all_of(value: Any, here: Here) -> Optional[Collect]:
    """Collect what any branch of `allOf` evaluates; all of them passed."""
    parts = [here.collect(here.keyword, index) for index in range(len(value))]
    branches = [part for part in parts if part is not None]

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        for branch in branches:
            branch(instance, run, seen)

    return collect if branches else None


def any_of(value: Any, here: Here) -> Optional[Collect]:
    """Collect what the matching branches of anyOf and oneOf evaluate."""
    branches = []
    for index in range(len(value)):
        part = here.collect(here.keyword, index)
        if part is not None:
            branches.append((here.sub(here.keyword, index) or accept, part))

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        for check, branch in branches:
            run.spend(1)
            if run.passes(check, instance):
                branch(instance, run, seen)

    return collect if branches else None


def if_(value: Any, here: Here) -> Optional[Collect]:
    """Collect what `if` evaluates if it matches, with or without `then`, and what `then` or `else` evaluates."""
    condition = here.sub("if") or accept
    parts = [here.collect(name) if here.value(name) is not None else None for name in ("if", "then", "else")]
    matched, then, otherwise = parts

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        run.spend(1)
        branches = (matched, then) if run.passes(condition, instance) else (otherwise,)
        for branch in branches:
            if branch is not None:
                branch(instance, run, seen)

    return collect if any(parts) else None


def dependent_schemas(value: Any, here: Here) -> Optional[Collect]:
    """Collect what the branches evaluate whose names are there."""
    parts = ((name, here.collect(here.keyword, name)) for name in value)
    branches = [(name, part) for name, part in parts if part is not None]

    def collect(instance: Any, run: Run, seen: Seen) -> None:
        if isinstance(instance, dict):
            for name, branch in branches:
                if name in instance:
                    branch(instance, run, seen)

    return collect if branches else None
