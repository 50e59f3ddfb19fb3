"""Small functions that pages have in common: values as evidence, and the types of JSON."""

import json
import re
from typing import Any, Optional


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


_LABEL = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\Z")
_ENDS = re.compile(r"[A-Za-z0-9](?:.*[A-Za-z0-9])?\Z", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")


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
