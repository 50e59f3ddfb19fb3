"""The validation vocabulary and `format`: keywords that look at one value [JSON Schema 2020-12 validation §6].

One function per keyword, in the order of the standard. Each takes the keyword's value, whose shape the compiler has
checked, and a `Here`, and returns a check (see `compiler`).
"""

from typing import Any, Callable, Dict, Hashable, Optional

from .bounds import LONG, Check, Found, KeywordFault, Run
from .compiler import Here
from .errors import brief, brief_list, count, printable, type_name
from .shapes import ARRAY, equal, freeze, is_number

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
