"""The annotations by which a tool asks for header fields [2026-07-28 basic/transports/streamable-http §Schema
Extension]."""

from typing import Any, Dict, List, NamedTuple, Tuple

from ..urls import is_token

PREFIX = "Mcp-Param-"
_KEYWORD = "x-mcp-header"
_TYPES = ("string", "integer", "boolean")
_SCHEMAS = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
            "unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema")
"""Keywords whose value is a schema."""
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
"""Keywords whose value is an array of schemas."""
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
"""Keywords whose value is an object of schemas."""
_MOST = 4096
"""Schemas inside of one that are looked at."""


class Annotations(NamedTuple):
    """The parameters of a tool that have header fields."""

    headers: List[Tuple[Tuple[str, ...], str]]
    """The path of properties to each parameter, and the name of its field."""
    fault: str
    """The first thing that is not allowed: its kind (``name``, ``unique``, ``type``, ``chain``), a colon and words; ""
    if all is."""


def annotations_of(schema: Any) -> Annotations:
    """Return the annotations of an input schema."""
    headers: List[Tuple[Tuple[str, ...], str]] = []
    faults: List[str] = []
    rest: List[Tuple[Any, Tuple[str, ...], bool]] = [(schema, (), True)]
    looked = 0
    while rest and looked < _MOST:
        there, path, plain = rest.pop()
        looked += 1
        if not isinstance(there, dict):
            continue
        if _KEYWORD in there:
            name, fault = there[_KEYWORD], _fault(there, plain and bool(path))
            if fault:
                faults.append(fault)
            elif any(PREFIX.lower() + name.lower() == other.lower() for _, other in headers[:256]):
                faults.append("unique: %s twice" % name[:40])
            else:
                headers.append((path, PREFIX + name))
        rest.extend(_inside(there, path, plain))
    return Annotations(headers[:256], faults[0] if faults else "")


def _fault(schema: Dict[str, Any], reachable: bool) -> str:
    name = schema[_KEYWORD]
    if not isinstance(name, str) or not name or not is_token(name):
        return "name: %s is no name of a header field" % ascii(name)[:40]
    if not reachable:
        return "chain: %s is not reached by properties alone" % name[:40]
    types = schema.get("type", "string")
    if any(each not in _TYPES + ("null",) for each in (types if isinstance(types, list) else [types])):
        return "type: %s is of type %s" % (name[:40], ascii(types)[:40])
    return ""


def _inside(schema: Dict[str, Any], path: Tuple[str, ...], plain: bool) -> List[Tuple[Any, Tuple[str, ...], bool]]:
    found: List[Tuple[Any, Tuple[str, ...], bool]] = []
    for keyword in _NAMED:
        members = schema.get(keyword)
        if isinstance(members, dict):
            found += [(member, path + (name,), plain and keyword == "properties")
                      for name, member in list(members.items())[:_MOST]]
    for keyword in _SCHEMAS:
        if isinstance(schema.get(keyword), dict):
            found.append((schema[keyword], path, False))
    for keyword in _MANY:
        if isinstance(schema.get(keyword), list):
            found += [(member, path, False) for member in schema[keyword][:_MOST]]
    return found
