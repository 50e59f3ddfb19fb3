"""Small functions that pages have in common: values as evidence, and the types of JSON."""

import json
from typing import Any

_LONGEST = 60


def shown(value: Any) -> str:
    """Return a JSON value as evidence: one line of ASCII, at most 60 characters."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= _LONGEST else text[:_LONGEST - 3] + "..."


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
