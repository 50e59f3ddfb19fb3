"""What schemas of tools say to a person: of what type a parameter is.

Schemas come from a server, so nothing here raises for one that is odd, and all of it is bounded. Only references inside
a schema are followed, and of those that lead in a circle the first few.
"""

from typing import Any, Dict, FrozenSet, List, Mapping, Optional

from .output import one_line

TYPES: Dict[str, FrozenSet[type]] = {
    "string": frozenset((str,)),
    "integer": frozenset((int,)),
    "number": frozenset((int, float)),
    "boolean": frozenset((bool,)),
    "array": frozenset((list,)),
    "object": frozenset((dict,)),
    "null": frozenset((type(None),)),
}
"""The types of JSON Schema, and what Python reads as a value of each."""

_STEPS = 5
"""Schemas inside each other that are looked into."""
_CHOICES = 8
"""Choices that are looked at."""
_LONGEST = 60
"""Characters of a name or of a default."""


def parameters(schema: Any) -> Dict[str, Any]:
    """The schemas of a tool's parameters by their names."""
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def types_of(schema: Any, whole: Any, steps: int = _STEPS) -> Optional[FrozenSet[str]]:
    """The types that a value may have, as JSON Schema names them; None if the schema does not say.

    whole: the schema that this one is a part of, in which its references lead.
    """
    if not isinstance(schema, dict) or not steps:
        return None
    found = [_named(schema.get("type")), _of_values(schema)]
    if isinstance(schema.get("$ref"), str):
        found.append(types_of(_target(schema["$ref"], whole), whole, steps - 1))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            found.append(_any([types_of(each, whole, steps - 1) for each in schema[keyword][:_CHOICES]]))
    if isinstance(schema.get("allOf"), list):
        found += [types_of(each, whole, steps - 1) for each in schema["allOf"][:_CHOICES]]
    known = [types for types in found if types]
    return frozenset.intersection(*known) or None if known else None


def _named(value: Any) -> Optional[FrozenSet[str]]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in TYPES for name in names):
        return None
    return frozenset(names)


def _of_values(schema: Mapping[str, Any]) -> Optional[FrozenSet[str]]:
    """The types of the values that are allowed by name."""
    values = schema.get("enum")
    if "const" in schema:
        values = [schema["const"]]
    if not isinstance(values, list) or not values:
        return None
    return frozenset(name for name, types in TYPES.items() if any(type(value) in types for value in values))


def _any(found: List[Optional[FrozenSet[str]]]) -> Optional[FrozenSet[str]]:
    known = [types for types in found if types]
    return frozenset().union(*known) if known and len(known) == len(found) else None


def _target(reference: str, whole: Any) -> Any:
    """What a reference inside the schema means, such as ``#/$defs/Place``."""
    if not reference.startswith("#"):
        return None
    for step in reference[1:].split("/")[1:]:
        whole = whole.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(whole, dict) else None
    return whole


def cut(text: str) -> str:
    """The text in one printable line, at most `_LONGEST` characters of it."""
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST - 3] + "..."
