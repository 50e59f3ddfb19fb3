"""Python values that handlers return as JSON values, and the repair of arguments that careless clients send.

`to_json` makes JSON values for `jsontext.dumps` and for validation:

================================================  ==========================================
value                                             becomes
================================================  ==========================================
str, int, float, bool, None                       itself
list, tuple, set, frozenset, deque                array (a set sorted, where it can be)
dict                                              object; keys become strings
dataclass, named tuple                            object of its fields
Enum                                              its value, or its name (see `enum_word`)
Flag                                              array of the names of the members that are set
bytes, bytearray, memoryview                      base64 string
datetime, date, time                              ISO 8601 string
timedelta                                         ISO 8601 duration: ``P1DT2H``
UUID, Decimal, paths, IP addresses                string
a class with ``model_dump`` (pydantic's models)   the result of that method
anything else                                     itself: `dumps` refuses it and names its place
================================================  ==========================================

A subclass is converted as the nearest base class in the table. The writer of a class is looked up
once and cached for as long as the class lives.

Writing recurses, so it counts its levels itself: the interpreter's limit may have been raised, and does not know the
size of the thread's stack. More than ``max_depth`` levels of the default `Limits` are refused.

`coerce` repairs arguments where only one meaning is possible. Some clients send arrays, objects and numbers as strings
that hold JSON (``"[1, 2]"``), some send null for an argument without a value. Prompts and URI templates always have
strings. It is called after validation has refused the arguments, so valid ones cost nothing, and its result is
validated again. It reads the schema only, so it works with explicit schemas, too.

===============================  ====================================  =========================
argument                         where the schema                      becomes
===============================  ====================================  =========================
a string that holds JSON         allows the type of that JSON value,   that JSON value
                                 and no strings
``"True"``, ``"False"``          allows booleans, and no strings       the boolean
null                             allows no null and requires no value  left out
===============================  ====================================  =========================
"""

from __future__ import annotations  # unread, they cost nothing as the module is loaded

import enum
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, MutableMapping, Optional, Tuple, Union
from weakref import WeakKeyDictionary

from ...codec import Model
from ...jsonrpc import json_type
from ...jsontext import JsonError, loads
from ...limits import DEFAULT

Writer = Callable[[Any, int], Any]
"""A function that converts a value to JSON; the number is that of the levels that are left."""
Scalar = Union[str, int, float, bool, None]

BYTES = (bytes, bytearray, memoryview)
_OPEN: FrozenSet[str] = frozenset(("string", "null"))
NO_TYPE = "bytes have no type: return image(data, mime_type), audio(...) or blob(uri, data, mime_type)"
"""The text of the error for an author who returns bytes alone."""


def to_json(value: Any) -> Any:
    """Return the JSON value of a Python value; parts that are JSON already are shared, not copied.

    Raises `JsonError` for a value that contains itself or nests too deeply, TypeError for a message of the protocol.
    """
    writer = _WRITERS.get(type(value), _unseen)
    try:
        return value if writer is None else writer(value, DEFAULT.max_depth)
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def enum_word(member: enum.Enum, room: int = 0) -> Scalar:
    """Return the JSON of a member of an Enum: its value if all values are strings or all are integers, else its name.
    """
    values = {type(other.value) for other in type(member)}
    return member.value if values == {str} or values == {int} else member.name


def flag_names(cls: Any) -> Dict[str, Any]:
    """Return the members of a Flag that are one bit each, by name; a value is a set of these."""
    return {name: member for name, member in cls.__members__.items()
            if member.name == name and member.value > 0 and not member.value & (member.value - 1)}


def describes_itself(cls: Any) -> bool:
    """Return True if a class has a schema and conversions of its own: the methods of pydantic's models."""
    return all(callable(getattr(cls, name, None)) for name in ("model_json_schema", "model_validate", "model_dump"))


def _convert(value: Any, room: int) -> Any:
    writer = _WRITERS.get(type(value), _unseen)
    return value if writer is None else writer(value, room)


def _below(room: int) -> int:
    """Return the number of levels that are left inside an array or object. Raises `JsonError` if there is none."""
    if room <= 0:
        raise JsonError(_TOO_DEEP)
    return room - 1


def _array(value: Iterable[Any], room: int) -> Any:
    room = _below(room)
    if type(value) is list and _ATOMS.issuperset(map(type, value)):
        return value
    return [_convert(item, room) for item in value]


def _set(value: Iterable[Any], room: int) -> Any:
    room = _below(room)
    items = [_convert(item, room) for item in value]
    try:
        return sorted(items)
    except TypeError:
        return items


def _object(value: Dict[Any, Any], room: int) -> Dict[Any, Any]:
    room = _below(room)
    return {key if type(key) is str else _key(key, room): _convert(item, room) for key, item in value.items()}


def _key(key: Any, room: int) -> Any:
    """Return a key as `json` would write it. A key that is no scalar stays, and `dumps` refuses it with its place."""
    word = _convert(key, room)
    if isinstance(word, str):
        return str(word)
    if word is None or isinstance(word, (int, float)):
        from ...jsontext import dumps

        return dumps(word)
    return key


def base64_text(data: Any, room: int = 0) -> str:
    """Return bytes as base64."""
    from base64 import b64encode  # late: few servers send any

    return b64encode(data).decode("ascii")


def _iso(value: Any, room: int) -> str:
    text: str = value.isoformat()
    return text


def _flag(value: Any, room: int) -> List[str]:
    set_ones = {name: member for name, member in flag_names(type(value)).items() if member in value}
    rest = value.value
    for member in set_ones.values():
        rest &= ~member.value
    if rest:
        raise ValueError("%r has bits that no member of %s names" % (value, type(value).__name__))
    return list(set_ones)


def _duration(value: Any, room: int = 0) -> str:
    """Return an ISO 8601 duration; a negative one begins with its sign."""
    if value.days < 0:
        return "-" + _duration(-value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    exact = "%d.%06d" % (seconds, value.microseconds) if value.microseconds else "%d" % seconds
    parts = [(hours, "%dH" % hours), (minutes, "%dM" % minutes),
             (seconds or value.microseconds, (exact.rstrip("0") if value.microseconds else exact) + "S")]
    time = "".join(text for number, text in parts if number)
    return "P" + ("%dD" % value.days if value.days else "") + ("T" + time if time else "") if value else "PT0S"


def _dumped(value: Any, room: int) -> Any:
    """Return the JSON of an object with ``model_dump``, in the form of its schema."""
    try:
        return _convert(value.model_dump(mode="json", by_alias=True), room)
    except TypeError:  # it knows no options
        return _convert(value.model_dump(), room)


def _text(value: Any, room: int) -> str:
    return str(value)


_TOO_DEEP = "the value contains itself or nests deeper than max_depth (%d)" % DEFAULT.max_depth
_ATOMS = {str, int, float, bool, type(None)}
_WRITERS: Dict[type, Optional[Writer]] = {
    str: None, int: None, float: None, bool: None, type(None): None,
    list: _array, tuple: _array, set: _set, frozenset: _set, dict: _object,
    **{cls: base64_text for cls in BYTES},
}

_ELSEWHERE: Dict[str, Writer] = {
    "datetime.date": _iso, "datetime.datetime": _iso, "datetime.time": _iso,
    "datetime.timedelta": _duration,
    "uuid.UUID": _text, "decimal.Decimal": _text, "pathlib.PurePath": _text, "collections.deque": _array,
    "ipaddress.IPv4Address": _text, "ipaddress.IPv6Address": _text,
}
"""Class, by the name of its top module and its own, -> writer; so the modules need not be loaded."""

_SEEN: MutableMapping[type, Optional[Writer]] = WeakKeyDictionary()


def _unseen(value: Any, room: int) -> Any:
    """Convert a value of a class that is not in the table."""
    cls = type(value)
    if cls not in _SEEN:
        _SEEN[cls] = _writer_of(cls)
    writer = _SEEN[cls]
    return value if writer is None else writer(value, room)


def _writer_of(cls: type) -> Optional[Writer]:
    """Return the writer for a class. It holds no reference to the class, so that the class can be freed."""
    if issubclass(cls, enum.Flag):
        return _flag
    if issubclass(cls, enum.Enum):
        return enum_word
    if issubclass(cls, Model):
        raise TypeError("a %s is a message, whose form depends on the revision: return it by itself or in a list of"
                        " content, not inside other data" % cls.__name__)
    if describes_itself(cls):
        return _dumped
    if hasattr(cls, "__dataclass_fields__"):
        from dataclasses import fields

        described: Any = cls
        return _fields_writer([field.name for field in fields(described)])
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _fields_writer(list(getattr(cls, "_fields")))
    for base in cls.__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
        name = qualified_name(base)
        if name in _ELSEWHERE:
            return _ELSEWHERE[name]
    return None


def qualified_name(cls: type) -> str:
    """Return top module and name: ``pathlib.Path``, wherever inside `pathlib` this Python version defines it."""
    return "%s.%s" % (cls.__module__.partition(".")[0], cls.__name__)


def _fields_writer(names: List[str]) -> Writer:
    def write(value: Any, room: int) -> Dict[str, Any]:
        room = _below(room)
        return {name: _convert(getattr(value, name), room) for name in names}

    return write


def coerce(arguments: Dict[str, Any], schema: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the repaired arguments and a line for each repair of a string; the same arguments if there was none."""
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
            changed = True  # and no note: many clients write null for what they leave out
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


def types_of(schema: Any) -> FrozenSet[str]:
    """Return the JSON types that the keywords of a schema allow; strings and null if they allow any."""
    if not isinstance(schema, Mapping):
        return _OPEN
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset((named,))
    if isinstance(named, list):
        return frozenset(name for name in named if isinstance(name, str))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return frozenset().union(*map(types_of, schema[keyword]))
    if isinstance(schema.get("enum"), list):
        return frozenset(map(json_type, schema["enum"]))
    return frozenset((json_type(schema["const"]),)) if "const" in schema else _OPEN
