"""The conversion of Python values that handlers return to JSON values, for `jsontext.dumps` and for validation.

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
"""

import enum
from typing import Any, Callable, Dict, Iterable, List, MutableMapping, Optional, Union
from weakref import WeakKeyDictionary

from ...codec import Model
from ...jsontext import JsonError
from ...limits import DEFAULT

Writer = Callable[[Any, int], Any]
"""A function that converts a value to JSON; the number is that of the levels that are left."""
Scalar = Union[str, int, float, bool, None]

BYTES = (bytes, bytearray, memoryview)
NO_TYPE = "bytes have no type: return image(data, mime_type), audio(...) or blob(uri, data, mime_type)"
"""The text of the error for an author who returns bytes alone."""


def to_json(value: Any) -> Any:
    """Return the JSON value of a Python value; parts that are JSON already are shared, not copied.

    Raises `JsonError` for a value that contains itself or nests too deeply, TypeError for a message of the protocol.
    """
    try:
        return _convert(value, DEFAULT.max_depth)
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None


def enum_word(member: enum.Enum) -> Scalar:
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


def _base64(value: Any, room: int) -> str:
    from base64 import b64encode

    return b64encode(value).decode("ascii")


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


def _word(value: enum.Enum, room: int) -> Scalar:
    return enum_word(value)


_TOO_DEEP = "the value contains itself or nests deeper than max_depth (%d)" % DEFAULT.max_depth
_ATOMS = {str, int, float, bool, type(None)}
_WRITERS: Dict[type, Optional[Writer]] = {
    str: None, int: None, float: None, bool: None, type(None): None,
    list: _array, tuple: _array, set: _set, frozenset: _set, dict: _object,
    **{cls: _base64 for cls in BYTES},
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
        return _word
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
