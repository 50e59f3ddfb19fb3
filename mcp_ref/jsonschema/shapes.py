"""The form of a keyword's value, and with it the form of the tables in `dialect`; and the equality of JSON values.

A `ValueShape` tests the value of a keyword and lists the subschemas inside it. The test makes a broken schema an
`InvalidSchema` with a location, and lets keyword functions trust their value. By the list `refs` finds every `$id` and
`$anchor`: only places that are schemas count, an ``$id`` inside `const` is data [JSON Schema 2020-12 core §9.4.2].

Equality is not Python's: ``1 == 1.0``, but ``True != 1`` [JSON Schema 2020-12 core §4.2.2]. `equal` compares two values
and stops at the first difference: its cost is bounded by the smaller one. `freeze` makes a value hashable, so that a
set finds duplicates in one pass. A peer chooses the values, so no hash may be predictable: Python salts the hashes of
strings and bytes, but not those of numbers (a hundred thousand multiples of 2^61-1 all hash to 0). Numbers are
therefore frozen as bytes.
"""

from typing import Any, Callable, Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Tuple

from .bounds import Check
from .errors import Path

ARRAY = (list, tuple)


def is_number(value: Any) -> bool:
    """Return True for an int or a float, but not for a bool [JSON Schema 2020-12 core §4.2.1]."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """Return True if two values are the same JSON value."""
    if isinstance(one, dict):
        if not isinstance(other, dict) or len(one) != len(other):
            return False
        return all(name in other and equal(value, other[name]) for name, value in one.items())
    if isinstance(one, ARRAY):
        if not isinstance(other, ARRAY) or len(one) != len(other):
            return False
        return all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def freeze(value: Any) -> Hashable:
    """Return a hashable stand-in: two values are equal JSON exactly if their stand-ins are equal.

    Strings, true, false and null stand for themselves, numbers become bytes, arrays tuples (with a salted first
    element), objects frozen sets of pairs; no two kinds can meet.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return b"%x" % value
    if isinstance(value, float):
        return b"%x" % int(value) if value.is_integer() else repr(value).encode()
    if isinstance(value, dict):
        return frozenset((name, freeze(member)) for name, member in value.items())
    return (b"[",) + tuple(map(freeze, value))


Children = Iterable[Tuple[Path, Any]]


def _none(value: Any) -> Children:
    return ()


class ValueShape(NamedTuple):
    """The form of a keyword's value: in words, as a test, and as a function that lists the subschemas inside."""

    expected: str
    accepts: Callable[[Any], bool]
    children: Callable[[Any], Children] = _none


class Keyword(NamedTuple):
    """One row of a vocabulary.

    ``check`` and ``collect`` take the value and a `compiler.Here`; None if the keyword asserts or evaluates nothing.
    Checks of a later ``stage`` run only if the earlier ones passed.
    """

    shape: ValueShape
    check: Optional[Callable[[Any, Any], Optional[Check]]] = None
    collect: Optional[Callable[[Any, Any], Any]] = None
    stage: int = 1


FIRST, NORMAL, LAST = 0, 1, 2


class Dialect(NamedTuple):
    """A dialect of schemas: keyword -> row. ``legacy``: it has the older rules of `$ref` and `$id` (see `dialect`)."""

    uri: str
    keywords: Mapping[str, Keyword]
    legacy: bool = False
    assert_formats: bool = False


def is_schema(value: Any) -> bool:
    """Return True for an object or a boolean, the two forms of a schema [JSON Schema 2020-12 core §4.3]."""
    return isinstance(value, (dict, bool))


def is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == value // 1


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value in TYPES


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _whole(value: Any) -> Children:
    yield (), value


def _items(value: Any) -> Children:
    return (((index,), item) for index, item in enumerate(value)) if isinstance(value, list) else ()


def _members(value: Any) -> Children:
    return (((name,), member) for name, member in value.items()) if isinstance(value, dict) else ()


def _whole_or_items(value: Any) -> Children:
    return _items(value) if isinstance(value, list) else _whole(value)


def _schema_members(value: Any) -> Iterator[Tuple[Path, Any]]:
    return ((steps, member) for steps, member in _members(value) if is_schema(member))


TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")

ANYTHING = ValueShape("any value", lambda value: True)
STRING = ValueShape("a string", lambda value: isinstance(value, str))
BOOLEAN = ValueShape("a boolean", lambda value: isinstance(value, bool))
NUMBER = ValueShape("a number", is_number)
POSITIVE = ValueShape("a number above 0", lambda value: is_number(value) and 0 < value < float("inf"))
COUNT = ValueShape("an integer of 0 or more", _is_count)
VALUES = ValueShape("an array", lambda value: isinstance(value, list))
STRINGS = ValueShape("an array of strings", is_strings)
TYPE = ValueShape(
    "one of %s, or an array of them" % ", ".join(TYPES),
    lambda value: all(map(_is_type, value)) and len(value) > 0 if isinstance(value, list) else _is_type(value),
)
OBJECT = ValueShape("an object", lambda value: isinstance(value, dict))
STRINGS_BY_NAME = ValueShape(
    "an object of arrays of strings", lambda value: isinstance(value, dict) and all(map(is_strings, value.values()))
)
SCHEMA = ValueShape("a schema", is_schema, _whole)
SCHEMAS = ValueShape("an array of schemas, not empty", _is_schemas, _items)
SCHEMAS_BY_NAME = ValueShape("an object of schemas", lambda value: isinstance(value, dict), _members)
SCHEMA_OR_SCHEMAS = ValueShape(
    "a schema or an array of schemas", lambda value: is_schema(value) or isinstance(value, list), _whole_or_items
)
DEPENDENCIES = ValueShape(
    "an object of schemas or arrays of strings",
    lambda value: isinstance(value, dict) and all(is_schema(item) or is_strings(item) for item in value.values()),
    _schema_members,
)
