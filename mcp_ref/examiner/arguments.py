"""Arguments for tools, made from their input schemas: some that fit, and some that do not.

Nothing is sent as valid that `mcp_ref.jsonschema` does not find valid. Where nothing fits that can be made here (a
pattern, a condition) there are no arguments.
"""

from itertools import chain, islice
from typing import Any, Dict, Optional

from ..jsonschema import SchemaError, validate

_DEPTH = 8
"""The levels of a schema for which values are made; deeper ones are left out."""
_MOST_CHARACTERS = 200_000
"""The characters of all values that are made for one schema."""
_MOST_TRIED = 100
"""The arguments that are tried until some do not fit."""
_PLAIN: Dict[str, Any] = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "null": None}
_WRONG: Dict[str, Any] = {"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "null": 7,
                          "array": "seven", "object": "seven"}
_FORMATS = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "a@example.com",
            "uri": "https://example.com/", "uuid": "12345678-1234-4234-8234-123456789012", "ipv4": "127.0.0.1"}


def valid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema allows, as few as possible; None if none could be made."""
    try:
        made = _Maker(schema).made(schema, 0)
    except _TooLong:
        return None
    return made if isinstance(made, dict) and _fits(made, schema) else None


def invalid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema refuses: one of a wrong type, or one missing; None if everything is allowed."""
    good = valid(schema)
    if good is None:
        return None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    kinds = [(name, inner.get("type")) for name, inner in (properties if isinstance(properties, dict) else {}).items()
             if isinstance(inner, dict)]
    bad = chain(({**good, name: _WRONG[kind]} for name, kind in kinds if isinstance(kind, str) and kind in _WRONG),
                ({other: value for other, value in good.items() if other != name} for name in good))
    return next((each for each in islice(bad, _MOST_TRIED) if not _fits(each, schema)), None)


def _fits(value: Any, schema: Any) -> bool:
    try:
        return not validate(value, schema)
    except SchemaError:
        return False


class _TooLong(Exception):
    """The values for a schema would have more than _MOST_CHARACTERS characters."""


class _Maker:
    """Makes values for one schema, which may not fit.

    A schema that refers to itself stands for more values than anybody can send, so their characters are counted.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST_CHARACTERS

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise _TooLong()

    def made(self, schema: Any, depth: int) -> Any:
        """Return a value for a schema inside of the whole one. Raises `_TooLong`."""
        before = self._left
        value = self._value(schema, depth)
        self._spend(2 if before != self._left else 2 + len(str(value)))
        return value

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > _DEPTH:
            return "example"
        for name in ("const", "default"):
            if name in schema:
                return schema[name]
        for name in ("enum", "examples"):
            if isinstance(schema.get(name), list) and schema[name]:
                return schema[name][0]
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            found = self._root
            for part in reference[2:].split("/"):
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            return self.made(found, depth + 1)
        for name in ("anyOf", "oneOf"):
            if isinstance(schema.get(name), list) and schema[name]:
                return self.made(schema[name][0], depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        if kind == "object":
            properties, needed = schema.get("properties"), schema.get("required")
            value = {}
            for name in needed if isinstance(needed, list) else ():
                if isinstance(name, str):
                    self._spend(len(name))
                    value[name] = self.made(properties.get(name) if isinstance(properties, dict) else None, depth + 1)
            return value
        if kind == "array":
            least = schema.get("minItems")
            number = least if isinstance(least, int) and 0 < least < 100 else 0
            before = self._left
            item = [self.made(schema.get("items"), depth + 1)] if number else []
            self._spend((before - self._left) * (number - 1) if number else 0)
            return item * number
        if kind in ("integer", "number"):
            return _number(schema, kind)
        if kind == "string":
            return _text(schema)
        return _PLAIN.get(kind) if isinstance(kind, str) else None


def _number(schema: Dict[str, Any], kind: str) -> Any:
    for name, step in (("minimum", 0), ("exclusiveMinimum", 1), ("maximum", 0), ("exclusiveMaximum", -1)):
        if isinstance(schema.get(name), (int, float)) and not isinstance(schema[name], bool):
            return schema[name] + step
    return schema["multipleOf"] if isinstance(schema.get("multipleOf"), (int, float)) else _PLAIN[kind]


def _text(schema: Dict[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format")), "example")
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least < 10_000:
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and most >= 0 else text
