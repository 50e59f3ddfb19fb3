"""Arguments that careless clients send, mended where there is only one way to read them.

Some clients send arrays, objects and numbers as strings that hold JSON (``"[1, 2]"``), some send null
for an argument that they do not want to give. Prompts and URI templates carry nothing but strings
anyway. `coerce` is called after validation has refused the arguments, so right ones cost nothing, and
what it returns is validated again. It only reads the schema, so it serves explicit schemas too.

===============================  ====================================  =========================
argument                         where the schema                      becomes
===============================  ====================================  =========================
a string that holds JSON         allows the type of what it holds,     what it holds
                                 and no strings
``"True"``, ``"False"``          allows booleans, and no strings       the boolean
null                             allows no null and requires no value  nothing
===============================  ====================================  =========================
"""

from typing import Any, Dict, List, Mapping, Tuple

from ...jsonrpc import json_type
from ...jsontext import JsonError, loads
from .members import types_of


def coerce(arguments: Dict[str, Any], schema: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
    """The mended arguments and one line for each thing that was mended; the arguments themselves if none was."""
    notes: List[str] = []
    mended: Dict[str, Any] = _mend(arguments, schema, "arguments", notes)
    return mended, notes


def _mend(value: Any, schema: Any, path: str, notes: List[str]) -> Any:
    """A value mended to fit its schema as far as it can be; itself, where nothing was to mend."""
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
    """What a string holds, where the schema wants that and no string."""
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
