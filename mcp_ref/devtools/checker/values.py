"""Questions to single values: whether they were masked, and whether they are base64, a URI, a media type.

Values as evidence are here, too: `short` for a text, `shown` for any JSON value, `typed` for its type.

A recorder masks secrets, so a value may have been something else. `masked` and `has_mask` tell: about such a value no
rule says anything.
"""

import json
import re
from datetime import datetime, timedelta
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ...diagnostics.redaction import MASK
from ...jsonschema import DRAFT_07, DRAFT_2020_12, SchemaError, Validator, Violation, compile
from ...revisions import Revision

_EMPTY: Mapping[str, Any] = {}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_BLANKS = str.maketrans("", "", " \t\r\n")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*(?:;.*)?", re.DOTALL)
_LABEL = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\Z")
_ENDS = re.compile(r"[A-Za-z0-9](?:.*[A-Za-z0-9])?\Z", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_TIME = re.compile(
    r"(\d{4})-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-4])(?::?([0-5]\d)(?::?([0-6]\d)(?:[.,](\d+))?)?)?"
    r"([Zz]|[+-]\d\d(?::?\d\d)?)?")
_DEEPEST = 64


def masked(value: Any) -> bool:
    """Return True if a value, or a part of it, may have been masked by the recorder."""
    return isinstance(value, str) and MASK in value


def has_mask(value: Any, depth: int = _DEEPEST) -> bool:
    """Return True if a JSON value has a masked value in it, or is too deep to tell."""
    if depth == 0:
        return True
    if isinstance(value, dict):
        return any(has_mask(each, depth - 1) for each in value.values())
    if isinstance(value, list):
        return any(has_mask(each, depth - 1) for each in value)
    return masked(value)


def at(value: Any, path: Iterable[Any]) -> Any:
    """Return the value at a path of names and indices; None where it leads nowhere."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def members(value: Any) -> Mapping[str, Any]:
    """Return a value that is an object; else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def items(value: Any) -> List[Any]:
    """Return a value that is an array; else an empty one."""
    return value if isinstance(value, list) else []


def short(value: Any, most: int = 60) -> str:
    """Return a text for the evidence of a finding: cut, and without control characters."""
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= most else text[:most - 3] + "..."
    return text if text.isprintable() else repr(text)[1:-1]


def shown(value: Any, longest: int = 60) -> str:
    """Return a JSON value as evidence: one line of ASCII, at most so many characters."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= longest else text[:longest - 3] + "..."


def typed(value: Any) -> str:
    """Return the JSON type of a value, with an article."""
    names = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "an array",
             dict: "an object"}
    return names.get(type(value), "null")


def is_integer(value: Any) -> bool:
    """Return True for a JSON integer; 1.0 is one, since JSON has one type of numbers."""
    return type(value) is int or (type(value) is float and value.is_integer())


def is_object_text(text: str) -> bool:
    """Return True if bytes are a JSON object for a tolerant reader, though they are not canonical."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def is_base64(text: str) -> bool:
    """Return True for base64 with padding; line ends and blanks do not count."""
    if len(text) % 4 or _BASE64.fullmatch(text) is None:
        text = text.translate(_BLANKS)
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def has_scheme(text: str) -> bool:
    """Return True if a text begins as a URI does."""
    return _SCHEME.match(text) is not None


def is_media_type(text: str) -> bool:
    """Return True for a type and a subtype, perhaps with parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def prefix_of(key: str) -> Optional[str]:
    """Return what stands before the last slash of a key of ``_meta``; None without a slash."""
    prefix, slash, _ = key.rpartition("/")
    return prefix if slash else None


def prefix_has_labels(key: str) -> bool:
    """Return True if the prefix of a key is made of labels with dots between, or there is none."""
    prefix = prefix_of(key)
    return prefix is None or ("/" not in prefix and all(prefix.split(".")))


def labels_are_fit(key: str) -> bool:
    """Return True if each label of a key's prefix begins with a letter, and has letters, digits and hyphens."""
    prefix = prefix_of(key)
    return prefix is None or all(_LABEL.match(label) for label in prefix.replace("/", ".").split(".") if label)


def name_is_fit(key: str) -> bool:
    """Return True if the name of a key is empty, or begins and ends with a letter or digit."""
    name = key.rpartition("/")[2]
    return not name or _ENDS.match(name) is not None


def is_dated(version: Any) -> bool:
    """Return True if a version of the protocol looks like one: a date, perhaps of a draft."""
    return isinstance(version, str) and (_DATE.match(version) is not None or "draft" in version.lower())


def is_time(text: str) -> bool:
    """Return True for a date with a time of day in a form of ISO 8601."""
    return _TIME.fullmatch(text) is not None


def instant(text: Any) -> Optional[datetime]:
    """Return a time of ISO 8601 in UTC; None for what is none, and without an offset, for then nobody knows when it is.
    """
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None or not found.group(8):
        return None
    offset = found.group(8)
    year, month, day, hour, minute, second = (int(each or 0) for each in found.groups()[:6])
    part = int((found.group(7) or "0")[:6].ljust(6, "0"))
    digits = offset[1:].replace(":", "").ljust(4, "0")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) if len(offset) > 1 else timedelta()
    try:
        local = datetime(year, month, day, hour, minute, min(second, 59), part)
        return local + away if offset[0] == "-" else local - away
    except (ValueError, OverflowError):
        return None


def validators(schema: Any, revision: Revision) -> Tuple[Validator, ...]:
    """Return a validator of a schema for each dialect that it may be in; () if it cannot be used.

    Where the revision names no default dialect, a schema without ``$schema`` may be in either.
    """
    dialects = (DRAFT_2020_12,) if revision.schema_dialect == "2020-12" else (DRAFT_2020_12, DRAFT_07)
    made = []
    for dialect in dialects:
        try:
            made.append(compile(schema, default_dialect=dialect))
        except SchemaError:
            pass
    return tuple(made)


def violations(checks: Tuple[Validator, ...], value: Any) -> List[Violation]:
    """Return what is wrong with a value in every dialect: [] if one of them has nothing to say, or cannot tell."""
    found: List[Violation] = []
    for check in checks:
        try:
            found = check.validate(value)
        except SchemaError:
            return []
        if not found:
            return []
    return [each for each in found if not has_mask(at(value, each.path))]
