"""The validation vocabulary, `format`, and the unevaluated keywords [JSON Schema 2020-12 validation §6].

One function per keyword, in the order of the standard. Each takes the keyword's value, whose shape the compiler has
checked, and a `Here`, and returns a check (see `compiler`).

For `unevaluatedItems` and `unevaluatedProperties` the standard speaks of annotations that every keyword leaves behind
and that flow upwards [JSON Schema 2020-12 core §11]. Hardly any schema wants them, so nothing is annotated while
validating. Instead each keyword that evaluates members has a *collector* here. It is called on an instance that its
schema has just accepted, and adds the names (of an object) or indices (of an array) that the keyword evaluates.
Collectors rely on that acceptance: an `allOf` branch must have passed, so its collector runs at once; an `anyOf`
branch may have failed, and a failed schema leaves no annotations, so it is checked again.

Adjacent keywords and in-place applicators count, at any depth; cousins do not.
"""

from typing import Any, Callable, Dict, Hashable, Optional, Set

from .applicators import unexpected
from .compiler import Collect, Here, refuse
from .errors import LONG, Check, Found, KeywordFault, Run, accept, brief, brief_list, count, printable, type_name
from .refs import ARRAY, LAST, equal, freeze, is_number

LONGEST_PATTERN = 500
"""Characters of a pattern in a message; the reader who mends the value needs all of it, within reason."""

Is = Callable[[Any], bool]


# §6.1 Any type


def _is_integer(value: Any) -> bool:
    """Return True for 1 and for 1.0: JSON does not tell them apart [JSON Schema 2020-12 core §4.2.3]."""
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()


IS_TYPE: Dict[str, Is] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, ARRAY),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
}
# The same as Python types, where that is enough: isinstance is quicker than a function.
PLAIN_TYPES: Dict[str, type] = {"boolean": bool, "object": dict, "string": str}


def type_(value: Any, here: Here) -> Check:
    """Check `type`. Nearly every schema has it, so the common cases have their own closures."""
    names = value if isinstance(value, list) else [value]
    expected = "expected %s, got %%s" % " or ".join(names)
    fault = here.fault(lambda instance: expected % type_name(instance))
    if len(names) == 1:
        return _one_type(names[0], fault)
    tests = tuple(IS_TYPE[name] for name in names)

    def check(instance: Any, run: Run) -> Found:
        for test in tests:
            if test(instance):
                return None
        return run.fail(fault, instance)

    return check


def _one_type(name: str, fault: KeywordFault) -> Check:
    test = IS_TYPE[name]
    plain = PLAIN_TYPES.get(name, object)

    def check(instance: Any, run: Run) -> Found:
        return None if test(instance) else run.fail(fault, instance)

    def check_plain(instance: Any, run: Run) -> Found:
        return None if isinstance(instance, plain) else run.fail(fault, instance)

    def check_integer(instance: Any, run: Run) -> Found:
        return None if type(instance) is int or test(instance) else run.fail(fault, instance)

    if name == "integer":
        return check_integer
    return check_plain if name in PLAIN_TYPES else check


def enum(value: Any, here: Here) -> Check:
    """Check `enum` by one lookup, so that a long list costs an instance no more than a short one."""
    known = frozenset(map(freeze, value))
    fault = here.fault(lambda instance: "must be %s, got %s" % (brief_list(value), brief(instance)))

    def check(instance: Any, run: Run) -> Found:
        if isinstance(instance, (dict, list, tuple)):
            run.look()
        return None if freeze(instance) in known else run.fail(fault, instance)

    return check


def const(value: Any, here: Here) -> Check:
    """Check `const`, by JSON equality."""
    fault = here.fault(lambda instance: "must be %s, got %s" % (brief(value), brief(instance)))

    def check(instance: Any, run: Run) -> Found:
        return None if equal(value, instance) else run.fail(fault, instance)

    return check


# §6.2 Numbers


def multiple_of(value: Any, here: Here) -> Check:
    """Check `multipleOf` exactly: a float is the decimal number as which it is written, so 0.0075 is a multiple of
    0.0001."""
    fault = here.fault(lambda instance: "must be a multiple of %s, got %s" % (brief(value), brief(instance)))
    divides = _divides_int(value) if isinstance(value, int) else _divides_fraction(value)

    def check(instance: Any, run: Run) -> Found:
        return None if not is_number(instance) or divides(instance) else run.fail(fault, instance)

    return check


def _divides_int(divisor: int) -> Is:
    def divides(number: Any) -> bool:
        if isinstance(number, float):
            return number.is_integer() and int(number) % divisor == 0
        return bool(number % divisor == 0)

    return divides


def _divides_fraction(divisor: float) -> Is:
    from fractions import Fraction  # late: it needs decimal and numbers, and hardly any schema needs it

    exact = Fraction(repr(divisor))

    def divides(number: Any) -> bool:
        if isinstance(number, float):
            return number - number == 0 and Fraction(repr(number)) % exact == 0  # infinity is a multiple of nothing
        return bool(number % exact == 0)

    return divides


def _limit(wanted: str, breaks: Callable[[Any, Any], bool]) -> Callable[[Any, Here], Check]:
    """Return maximum, exclusiveMaximum, minimum or exclusiveMinimum. Python compares int and float exactly."""

    def keyword(value: Any, here: Here) -> Check:
        fault = here.fault(lambda instance: "must be %s %s, got %s" % (wanted, brief(value), brief(instance)))

        def check(instance: Any, run: Run) -> Found:
            return run.fail(fault, instance) if is_number(instance) and breaks(instance, value) else None

        return check

    return keyword


maximum = _limit("at most", lambda number, limit: bool(number > limit))
exclusive_maximum = _limit("less than", lambda number, limit: bool(number >= limit))
minimum = _limit("at least", lambda number, limit: bool(number < limit))
exclusive_minimum = _limit("greater than", lambda number, limit: bool(number <= limit))


# §6.3 - §6.5 Sizes


def _size(kind: Any, unit: str, plural: str, most: bool) -> Callable[[Any, Here], Check]:
    """Return maxLength, minLength and the like. Python counts strings in code points, as the standard wants."""

    def keyword(value: Any, here: Here) -> Check:
        wanted = "must have at %s %s, has %%d" % ("most" if most else "least", count(int(value), unit, plural))
        fault = here.fault(lambda instance: wanted % len(instance))

        def check_most(instance: Any, run: Run) -> Found:
            return run.fail(fault, instance) if isinstance(instance, kind) and len(instance) > value else None

        def check_least(instance: Any, run: Run) -> Found:
            return run.fail(fault, instance) if isinstance(instance, kind) and len(instance) < value else None

        return check_most if most else check_least

    return keyword


max_length = _size(str, "character", "characters", most=True)
min_length = _size(str, "character", "characters", most=False)
max_items = _size(ARRAY, "item", "items", most=True)
min_items = _size(ARRAY, "item", "items", most=False)
max_properties = _size(dict, "property", "properties", most=True)
min_properties = _size(dict, "property", "properties", most=False)


def pattern(value: Any, here: Here) -> Check:
    """Check `pattern`, which may match anywhere in the string [JSON Schema 2020-12 validation §6.3.3]."""
    search = here.search(value)
    fault = here.fault(lambda instance: "must match the pattern %s, got %s" % (
        printable(value, LONGEST_PATTERN), brief(instance)))

    def check(instance: Any, run: Run) -> Found:
        if not isinstance(instance, str):
            return None
        if len(instance) > LONG:
            run.look()
        return None if search(instance) else run.fail(fault, instance)

    return check


# §6.4 Arrays


def unique_items(value: Any, here: Here) -> Optional[Check]:
    """Check `uniqueItems` in one pass over a set; only the message looks for the pair."""
    if value is False:
        return None
    fault = here.fault(_first_pair)

    def check(instance: Any, run: Run) -> Found:
        if not isinstance(instance, ARRAY) or len(instance) < 2:
            return None
        run.look()
        return None if len(set(map(freeze, instance))) == len(instance) else run.fail(fault, instance)

    return check


def _first_pair(instance: Any) -> str:
    first: Dict[Hashable, int] = {}
    for index, item in enumerate(instance):
        earlier = first.setdefault(freeze(item), index)
        if earlier != index:
            return "items must differ, but items %d and %d are equal" % (earlier, index)
    return "items must differ"


# §6.5 Objects


def required(value: Any, here: Here) -> Optional[Check]:
    """Check `required`: properties that must be there."""
    names = tuple(dict.fromkeys(value))
    fault = here.fault(lambda name: "missing required property %s" % brief(name))

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            for name in names:
                if name not in instance:
                    found = (found or []) + run.fail(fault, name)
                    if run.enough(found):
                        break
        return found

    return check if names else None


def dependent_required(value: Any, here: Here) -> Optional[Check]:
    """Check `dependentRequired`: properties that must be there if another one is."""
    rules = [(name, needed) for name, names in value.items() for needed in names]
    fault = here.fault(lambda rule: "missing property %s, required beside %s" % (brief(rule[1]), brief(rule[0])))

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            for rule in rules:
                if rule[0] in instance and rule[1] not in instance:
                    found = (found or []) + run.fail(fault, rule)
                    if run.enough(found):
                        break
        return found

    return check if rules else None


# §7 Format


def format_(value: Any, here: Here) -> Optional[Check]:
    """Check `format` if formats are asserted [JSON Schema 2020-12 validation §7.2]; an unknown format fits all."""
    if not here.assert_formats:
        return None
    from .formats import FORMATS  # late: most of its weight is in tables that only assertion needs

    valid = FORMATS.get(value)
    if valid is None:
        return None
    test = valid
    fault = here.fault(lambda instance: "must be in the format %s, got %s" % (value, brief(instance)))

    def check(instance: Any, run: Run) -> Found:
        if not isinstance(instance, str):
            return None
        if len(instance) > LONG:
            run.look()
        return None if test(instance) else run.fail(fault, instance)

    return check


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
