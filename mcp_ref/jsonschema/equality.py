"""Equality of JSON values, which is not Python's: ``1 == 1.0``, but ``True != 1`` [JSON Schema 2020-12 core §4.2.2].

`equal` compares two values and stops at the first difference: its cost is bounded by the smaller one.
`freeze` makes a value hashable, so that a set finds duplicates in one pass. A peer chooses the values, so no hash
may be predictable: Python salts the hashes of strings and bytes, but not those of numbers (a hundred thousand
multiples of 2^61-1 all hash to 0). Numbers are therefore frozen as bytes.
"""

from typing import Any, Hashable

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
