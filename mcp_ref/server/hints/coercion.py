"""Repair of arguments that careless clients send, where only one meaning is possible.

Some clients send arrays, objects and numbers as strings that hold JSON (``"[1, 2]"``), some send null
for an argument without a value. Prompts and URI templates always have
strings. `coerce` is called after validation has refused the arguments, so valid ones cost nothing, and
its result is validated again. It reads the schema only, so it works with explicit schemas, too.

===============================  ====================================  =========================
argument                         where the schema                      becomes
===============================  ====================================  =========================
a string that holds JSON         allows the type of that JSON value,   that JSON value
                                 and no strings
``"True"``, ``"False"``          allows booleans, and no strings       the boolean
null                             allows no null and requires no value  left out
===============================  ====================================  =========================
"""

from typing import Any, Dict, List, Mapping, Tuple

from ...jsonrpc import json_type
from ...jsontext import JsonError, loads
from .members import types_of


def coerce(arguments: Dict[str, Any], schema: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the repaired arguments and one line for each repair; the same arguments if there was none."""
    notes: List[str] = []
    mended: Dict[str, Any] = _mend(arguments, schema, "arguments", notes)
    return mended, notes


def _mend(value: Any, schema: Any, path: str, notes: List[str]) -> Any:
    """Return a value repaired to fit its schema as far as possible; the same value if there is nothing to repair."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, str):
        value = _unstring(value, schema, path, notes)
    if type(value) is dict:
        return _mend_object(value, schema, path, notes)
    if type(value) is list and isinstance(schema.get("items"), Mapping):
        mended = [_mend(item, schema["items"], "%s[%d]" % (path, at), notes) for at, item in enumerate(value)]
        return value if all(new is old for new, old in zip(mended, value)) else mended
    return value


def _mend_object(value: Dict[str, Any], schema: Mapping[str, Any], path: str, notes: List[str]) -> Dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    mended: Dict[str, Any] = {}
    changed = False
    for name, old in value.items():
        below = properties.get(name)
        if old is None and below is not None and name not in required and "null" not in types_of(below):
            notes.append("%s.%s: null left out" % (path, name))
            changed = True
            continue
        mended[name] = _mend(old, below, "%s.%s" % (path, name), notes)
        changed = changed or mended[name] is not old
    return mended if changed else value


def _unstring(text: str, schema: Mapping[str, Any], path: str, notes: List[str]) -> Any:
    """Return the JSON value in a string if the schema allows its type and no string, else the string."""
    wanted = types_of(schema)
    if "string" in wanted:
        return text
    try:
        value = loads((text.lower() if text in ("True", "False") else text).encode("utf-8"))
    except (JsonError, UnicodeEncodeError):
        return text
    kind = json_type(value)
    integral = kind == "integer" or kind == "number" and value.is_integer()
    if kind in wanted or (integral and wanted & {"integer", "number"}):
        notes.append("%s: %s sent as a string" % (path, kind))
        return value
    return text
