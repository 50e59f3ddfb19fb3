"""Schemas of tools in words for a person: types of parameters, and signatures of tools and prompts.

Schemas come from a server, so nothing here raises for an odd one, and all work is bounded. Only references inside
a schema are followed, and of those that lead in a circle the first few.
"""

from itertools import islice
from json import dumps
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, Optional, Tuple

from ...messages.prompts import Prompt
from ...messages.tools import Tool
from ..output import one_line

TYPES: Dict[str, FrozenSet[type]] = {
    "string": frozenset((str,)),
    "integer": frozenset((int,)),
    "number": frozenset((int, float)),
    "boolean": frozenset((bool,)),
    "array": frozenset((list,)),
    "object": frozenset((dict,)),
    "null": frozenset((type(None),)),
}
"""The types of JSON Schema -> the Python types of their values."""

_STEPS = 5
"""Schemas inside each other that are looked into."""
_CHOICES = 8
"""Choices, and members of an object, that are shown."""
_PARAMETERS = 40
_LINES = 400
"""Lines about one tool."""
_LONGEST = 60
"""Characters of a name or of a default."""


def parameters(schema: Any) -> Dict[str, Any]:
    """Return the schemas of a tool's parameters by their names."""
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def types_of(schema: Any, whole: Any, steps: int = _STEPS) -> Optional[FrozenSet[str]]:
    """Return the types that a value may have, as JSON Schema names them; None if the schema does not say.

    whole: the schema that this one is a part of, in which its references lead.
    """
    if not isinstance(schema, dict) or not steps:
        return None
    found = [_named(schema.get("type")), _of_values(schema)]
    if isinstance(schema.get("$ref"), str):
        found.append(types_of(_target(schema["$ref"], whole), whole, steps - 1))
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            found.append(_any([types_of(each, whole, steps - 1) for each in schema[keyword][:_CHOICES]]))
    if isinstance(schema.get("allOf"), list):
        found += [types_of(each, whole, steps - 1) for each in schema["allOf"][:_CHOICES]]
    known = [types for types in found if types]
    return frozenset.intersection(*known) or None if known else None


def _named(value: Any) -> Optional[FrozenSet[str]]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in TYPES for name in names):
        return None
    return frozenset(names)


def _of_values(schema: Mapping[str, Any]) -> Optional[FrozenSet[str]]:
    """Return the types of the values in ``const`` or ``enum``."""
    values = schema.get("enum")
    if "const" in schema:
        values = [schema["const"]]
    if not isinstance(values, list) or not values:
        return None
    return frozenset(name for name, types in TYPES.items() if any(type(value) in types for value in values))


def _any(found: List[Optional[FrozenSet[str]]]) -> Optional[FrozenSet[str]]:
    known = [types for types in found if types]
    return frozenset().union(*known) if known and len(known) == len(found) else None


def _target(reference: str, whole: Any) -> Any:
    """Return the part of the schema that a reference such as ``#/$defs/Place`` leads to; None for any other."""
    if not reference.startswith("#"):
        return None
    for step in reference[1:].split("/")[1:]:
        whole = whole.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(whole, dict) else None
    return whole


def _referred(schema: Any, whole: Any) -> Any:
    """Return the schema that a reference leads to; any other schema itself."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return _target(reference, whole) if isinstance(reference, str) else schema


# For people


def signature(tool: Tool) -> str:
    """Return a tool in one line: ``name(param: type, param: type = default, param?: type) -> type``.

    A parameter, or a member of one, with a question mark may be left out, and the schema names no default.
    """
    output = "" if tool.output_schema is None else " -> " + shown(tool.output_schema, tool.output_schema)
    return "%s(%s)%s" % (one_line(tool.name), _joined(
        line for line, _ in _members(tool.input_schema, tool.input_schema)), output)


def prompt_signature(prompt: Prompt) -> str:
    """Return a prompt in one line: ``name(argument, argument?)``; those with a question mark may be left out."""
    arguments = (word(each.name) + ("" if each.required else "?") for each in prompt.arguments or ())
    return "%s(%s)" % (one_line(prompt.name), _joined(arguments))


def details(tool: Tool) -> Iterator[str]:
    """Yield lines about the parameters and the result of a tool: types, defaults, descriptions, and their members."""
    for title, schema in (("parameters", tool.input_schema), ("result", tool.output_schema)):
        lines = list(islice(_described(schema, schema), _LINES))
        if lines or schema is tool.input_schema:
            yield "%s:%s" % (title, "" if lines else " none")
        yield from ("  " + line for line in lines)
        if len(lines) == _LINES:
            yield "  ... (--long shows the whole schema)"


def prompt_details(prompt: Prompt) -> Iterator[str]:
    """Yield lines about the arguments of a prompt, each with its description."""
    yield "arguments:" + ("" if prompt.arguments else " none")
    for each in islice(prompt.arguments or (), _LINES):
        yield "  " + word(each.name) + ("" if each.required else "?")
        yield from ("      " + one_line(line) for line in (each.description or "").strip().splitlines())


def _described(schema: Any, whole: Any, steps: int = _STEPS) -> Iterator[str]:
    for line, member in _members(schema, whole):
        yield line
        about = member.get("description") if isinstance(member, dict) else None
        inside = _object_in(member, whole)
        below = _described(inside, whole, steps - 1) if steps else iter(())
        yield from ("    " + one_line(part) for part in (about if isinstance(about, str) else "").strip().splitlines())
        yield from ("    " + part for part in below)


def _object_in(schema: Any, whole: Any, steps: int = 3) -> Any:
    """Return the schema of the object that a value is or has in it: as an item, or as one of its choices."""
    schema = _referred(schema, whole)
    if not isinstance(schema, dict) or not steps or parameters(schema):
        return schema
    choices = [schema.get("items")]
    for keyword in ("anyOf", "oneOf"):
        choices += schema[keyword][:_CHOICES] if isinstance(schema.get(keyword), list) else []
    found = (_object_in(each, whole, steps - 1) for each in choices)
    return next((each for each in found if parameters(each)), None)


def _members(schema: Any, whole: Any, steps: int = 2) -> Iterator[Tuple[str, Any]]:
    """Yield the line of each member of an object, and its schema; those that are needed come first."""
    required = schema.get("required") if isinstance(schema, dict) else None
    needed = required if isinstance(required, list) else []
    for name, member in sorted(parameters(schema).items(), key=lambda item: item[0] not in needed):
        yield _parameter(name, member, name in needed, whole, steps), member


def _parameter(name: str, schema: Any, needed: bool, whole: Any, steps: int) -> str:
    default = " = " + cut(_compact(schema["default"])) if isinstance(schema, dict) and "default" in schema else ""
    if needed:
        default = ""
    return "%s%s: %s%s" % (word(name), "" if needed or default else "?", shown(schema, whole, steps), default)


def shown(schema: Any, whole: Any, steps: int = 2) -> str:
    """Return the type of a schema's values, such as ``string``, ``integer | null``, ``[string]``, ``{x: number}``."""
    schema = _referred(schema, whole)
    if not isinstance(schema, dict):
        return "any"
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        return _joined((cut(_compact(value)) for value in values), " | ", _CHOICES)
    types = types_of(schema, whole)
    return " | ".join(_shown_type(name, schema, whole, steps) for name in TYPES if name in types) if types else "any"


def _shown_type(name: str, schema: Mapping[str, Any], whole: Any, steps: int) -> str:
    if name == "array" and steps and isinstance(schema.get("items"), dict):
        return "[%s]" % shown(schema["items"], whole, steps - 1)
    if name == "object" and steps and parameters(schema):
        return "{%s}" % _joined((line for line, _ in _members(schema, whole, steps - 1)), most=_CHOICES)
    return name


def word(name: str) -> str:
    """Return a name that the server chose, in quotes unless it is a plain word."""
    return cut(name if name.isidentifier() else _compact(name))


def _compact(value: Any) -> str:
    try:
        return dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):  # deeper than it goes
        return "..."


def cut(text: str) -> str:
    """Return the text in one printable line of at most `_LONGEST` characters."""
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST - 3] + "..."


def _joined(parts: Iterable[str], between: str = ", ", most: int = _PARAMETERS) -> str:
    found: List[str] = []
    for part in parts:
        if len(found) == most:
            found.append("...")
            break
        found.append(part)
    return between.join(found)
