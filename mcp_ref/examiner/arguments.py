"""Arguments for tools, made from their input schemas: some that fit, and some that do not.

Nothing is sent as valid that `mcp_ref.jsonschema` does not find valid. Where nothing fits that can be made here (a
pattern, a condition) there are no arguments.
"""

from typing import Any, Dict, List, Optional

from ..jsonschema import SchemaError, validate

_DEPTH = 8
"""The levels of a schema for which values are made; deeper ones are left out."""
_PLAIN: Dict[str, Any] = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "null": None}
_WRONG: Dict[str, Any] = {"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "null": 7,
                          "array": "seven", "object": "seven"}
_FORMATS = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "email": "a@example.com",
            "uri": "https://example.com/", "uuid": "12345678-1234-4234-8234-123456789012", "ipv4": "127.0.0.1"}


def valid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema allows, as few as possible; None if none could be made."""
    made = _made(schema, schema, 0)
    return made if isinstance(made, dict) and _fits(made, schema) else None


def invalid(schema: Any) -> Optional[Dict[str, Any]]:
    """Return arguments that a schema refuses: one of a wrong type, or one missing; None if everything is allowed."""
    good = valid(schema)
    if good is None:
        return None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    bad: List[Dict[str, Any]] = []
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        kind = inner.get("type") if isinstance(inner, dict) else None
        if isinstance(kind, str) and kind in _WRONG:
            bad.append({**good, name: _WRONG[kind]})
    bad += [{other: value for other, value in good.items() if other != name} for name in good]
    return next((each for each in bad if not _fits(each, schema)), None)


def _fits(value: Any, schema: Any) -> bool:
    try:
        return not validate(value, schema)
    except SchemaError:
        return False


def _made(schema: Any, root: Any, depth: int) -> Any:
    """Return a value for a schema, which may not fit."""
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
        found = root
        for part in reference[2:].split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return _made(found, root, depth + 1)
    for name in ("anyOf", "oneOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return _made(schema[name][0], root, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        properties, needed = schema.get("properties"), schema.get("required")
        return {name: _made(properties.get(name) if isinstance(properties, dict) else None, root, depth + 1)
                for name in (needed if isinstance(needed, list) else ()) if isinstance(name, str)}
    if kind == "array":
        least = schema.get("minItems")
        return [_made(schema.get("items"), root, depth + 1)] * (least if isinstance(least, int) and least < 100 else 0)
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
