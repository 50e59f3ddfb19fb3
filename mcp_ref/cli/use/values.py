"""Arguments of a call as they are typed: ``name=value`` words, one JSON object, ``@file``, ``-``.

===========================  ==================================================================
typed                        means
===========================  ==================================================================
``title=1 count=1``          ``{"title": "1", "count": 1}``, if the tool's schema says that ``title`` is a string and
                             ``count`` an integer; a value that its type cannot have is refused
``a=1 text=hello``           ``{"a": 1, "text": "hello"}``, if the schema does not say: JSON if it can be, else text
``text='"1"'``               then ``{"text": "1"}``: JSON again, so that text may look like a number
``text=@notes.txt``          the text of a file (UTF-8); ``=@-`` and ``=-`` are standard input
``data:=@rows.json``         the JSON in a file; ``:=`` refuses what is not JSON
``text==@home``              ``==`` takes the rest as text, whatever it looks like
``'{"a": 1}'``               the arguments, as one JSON object
``@arguments.json``, ``-``   the same, from a file or standard input
===========================  ==================================================================
"""

import sys
from itertools import islice
from json import dumps
from typing import Any, Collection, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ...messages.prompts import Prompt
from ...messages.tools import Tool
from ..output import UsageError, one_line

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


FORM = "write arguments as name=value words, one JSON object, @file or -"


_EXAMPLES = {"boolean": "true", "array": "[1, 2]", "object": '{"a": 1}'}


class Typed(NamedTuple):
    """The text that was typed after ``name=``. Its value depends on the type that the tool wants."""

    text: str


def arguments_of(words: List[str], schema: Any = None) -> Dict[str, Any]:
    """Return the arguments in these words, for a tool with this input schema. Raises `UsageError`."""
    return settled(read_words(words), schema)


def settled(found: Dict[str, Any], schema: Any) -> Dict[str, Any]:
    """Return the arguments with a value in place of each `Typed`. Raises `UsageError`, which names the argument."""
    return {name: _fitting(name, value.text, schema) if isinstance(value, Typed) else value
            for name, value in found.items()}


def read_words(words: List[str]) -> Dict[str, Any]:
    """Return the arguments in these words: those that are clear without a schema as values, the others as `Typed`.

    Raises `UsageError`.
    """
    if len(words) == 1:
        word = words[0]
        if word == "-" or word.startswith("@"):
            return _object(_content("-" if word == "-" else word[1:]), word)
        if word.lstrip().startswith("{"):
            return _object(word, "the argument")
    found: Dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.rstrip(":"):
            raise UsageError("%r is no argument: %s" % (word, FORM))
        if name.rstrip(":") in found:
            raise UsageError("the argument %s is there twice" % name.rstrip(":"))
        found[name.rstrip(":")] = _value(name, value)
    return found


def texts_of(words: List[str]) -> Dict[str, str]:
    """Return the arguments of a prompt, where every value is a text; a JSON value stays as it was typed."""
    from json import dumps

    if len(words) == 1 and "=" not in words[0].partition("{")[0]:
        return {name: value if isinstance(value, str) else dumps(value, ensure_ascii=False)
                for name, value in arguments_of(words).items()}
    return arguments_of([_as_text(word) for word in words])


def pairs_of(words: List[str], option: str) -> Dict[str, str]:
    """Return the ``NAME=VALUE`` words of an option as a dict of texts. Raises `UsageError`."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError("%s %s: write NAME=VALUE" % (option, word))
        found[name] = value
    return found


def _as_text(word: str) -> str:
    """Return a word in the form ``name==value``, which is text, unless it names a file or standard input."""
    name, equals, value = word.partition("=")
    typed = equals and not name.endswith(":") and value != "-" and value[:1] not in ("@", "=")
    return "%s==%s" % (name, value) if typed else word


def _value(name: str, value: str) -> Any:
    strict = name.endswith(":")
    if value.startswith("=") and not strict:
        return value[1:]
    if value == "-" or value.startswith("@"):
        text = _content("-" if value == "-" else value[1:])
        return _parsed(text, value) if strict else text
    return _parsed(value, name) if strict else Typed(value)


def _fitting(name: str, text: str, schema: Any) -> Any:
    """Return the value of a type that the schema allows. Text stays text where only text (or null) is allowed."""

    types = types_of(parameters(schema).get(name), schema)
    if types is not None and types <= {"string", "null"} and "string" in types:
        return text
    try:
        value = _parsed(text, name)
    except UsageError:
        if types is None or "string" in types:
            return text
        raise _unfit(name, text, types) from None
    if types is None or any(type(value) in TYPES[each] for each in types):
        return value
    if type(value) is float and "integer" in types and value.is_integer():
        return value  # 2.0 is an integer, too
    if "string" in types:
        return text
    raise _unfit(name, text, types)


def _unfit(name: str, text: str, types: Collection[str]) -> UsageError:

    wanted = " or ".join(each for each in TYPES if each in types)
    example = _EXAMPLES.get(wanted)
    return UsageError("%s: the tool takes %s here%s, not %s; %s:=JSON is sent as it is" % (
        cut(name), wanted, " (such as %s)" % example if example else "", cut(text), cut(name)))


def _parsed(text: str, what: str) -> Any:
    from ...jsontext import JsonError, loads

    try:
        return loads(text.encode("utf-8", "surrogatepass"))
    except JsonError as error:
        raise UsageError("%s: %s" % (what, error)) from None


def _object(text: str, what: str) -> Dict[str, Any]:
    value = _parsed(text, what)
    if not isinstance(value, dict):
        raise UsageError("%s: the arguments are one JSON object; %s" % (what, FORM))
    return value


def _content(path: str) -> str:
    """Return the text of a file, or of standard input for ``-``."""
    try:
        if path == "-":
            return (sys.stdin.buffer.read() if sys.stdin is not None else b"").decode("utf-8")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("%s cannot be read: %s" % (path, error)) from None
